"""Limits of joints: a skeleton's own, or a human's for bodies that bring none.

Human ranges are counted from standing upright with the arms hanging. Where a motion itself goes farther, its own range
counts: nobody's capture is called impossible.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from understudy.base import quaternion
from understudy.base.arrays import median
from understudy.base.quaternion import Array, between, conjugate, cross, from_axis_angle, multiply, rotate, unrotate
from understudy.base.records import remembered
from understudy.constraints.base import Spot
from understudy.constraints.joint_range import JointRange
from understudy.constraints.turning import twist_angles
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import chain_length, feet, is_humanoid, leg_length, rest_pose_kind
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import NUM_AXES, JointKind, Skeleton


@dataclass(frozen=True, kw_only=True)
class Normal:
    """The range of a joint that turns any way, degrees."""

    ahead: float
    """How far the bone leans forwards (a foot: upwards)."""
    back: float
    out: float
    """Away from the body's middle; a bone of the middle leans this far to both sides."""
    inward: float
    twist: float
    """To either side."""
    centre: tuple[float, float, float] | None = None
    """Where the bone points when it does not lean: outwards, up, forwards. None: where the neutral pose has it."""


BALLS = {
    "upper_leg": Normal(ahead=120, back=30, out=45, inward=30, twist=45, centre=(0.0, -1.0, 0.0)),
    # Raised, hanging, reached back or across the chest, an arm is within this cone, whose middle is out and forwards.
    "upper_arm": Normal(ahead=115, back=115, out=115, inward=115, twist=90, centre=(0.64, -0.43, 0.64)),
    "shoulder": Normal(ahead=35, back=35, out=35, inward=35, twist=30),
    "foot": Normal(ahead=20, back=50, out=20, inward=20, twist=35),
    # Which way a palm faces is not known, so its range is round; rigs often turn the forearm at the wrist.
    "hand": Normal(ahead=80, back=80, out=80, inward=80, twist=80),
}

SPINE = Normal(ahead=80, back=25, out=35, inward=35, twist=45)
"""The whole of the back from the hips to the chest."""

NECK = Normal(ahead=45, back=45, out=45, inward=45, twist=60)
"""The neck and head together."""

HINGES = {"lower_leg": (10.0, 135.0, 30.0), "lower_arm": (10.0, 150.0, 90.0)}
"""Degrees that a knee or elbow overstretches, bends, and twists to either side."""

SHARED = 1.5
"""How much more than its even share of the whole's range one of several parts of a spine or neck may take."""

STRAY = np.radians(15.0)
"""How far the axis of a knee or elbow may lean in a rig that lets it."""

BENT = np.radians(10.0)
"""How far it bends in a motion at least for that to show its axis,"""

ALONE = 0.95
"""the share of its turning that is about that axis at least,"""

ALIKE = 0.8
"""and how closely turning about it goes with bending, at least."""


class Bending(NamedTuple):
    """A knee or elbow."""

    joint: int
    upper: int
    """The joint at the other end of the bone above it."""
    far: int
    """The one at the end of the bone below, -1 for tips."""
    knee: bool
    over: float
    """Radians it bends the wrong way, at most."""
    bend: float
    """Radians it bends, at most."""
    turn: float
    """Radians it turns about the bone below, at most, to either side."""


def stance(motion: Motion, actor: str) -> Stance | None:
    """The body in its rest pose if it stands in it, else in the middle of its motion."""
    if rest_pose_kind(motion.skeleton) != "no pose":
        return _standing(motion.skeleton, actor)
    return Stance.of(motion.skeleton, quaternion.mean(motion.rotations), actor)


def _balls(skeleton: Skeleton) -> list[tuple[int, int | None, Normal, str]]:
    """Joints that turn any way: the joint, the one its bone leads to (-1: its tips), its range, its side."""
    found = roles(skeleton)
    out: list[tuple[int, int | None, Normal, str]] = []
    nexts = {"upper_leg": "lower_leg", "upper_arm": "lower_arm", "shoulder": "upper_arm", "foot": "toe", "hand": ""}
    for part, normal in BALLS.items():
        for side in ("left", "right"):
            joint = found.get(f"{side}_{part}")
            if joint is not None:
                out.append((joint, found.get(f"{side}_{nexts[part]}", _tips(skeleton, joint)), normal, side))
    top = found.get("neck", found.get("head"))
    if "spine" in found and "chest" in found:
        path = skeleton.chain(found["chest"])
        parts = path[path.index(found["spine"]) :] if found["spine"] in path else [found["chest"]]
        last = top if top is not None else _tips(skeleton, parts[-1])
        out += [(j, far, _share(SPINE, len(parts)), "") for j, far in zip(parts, [*parts[1:], last], strict=True)]
    if top is not None:
        path = skeleton.chain(found.get("head", top))
        parts = path[path.index(top) :] if top in path else [top]
        tips = _tips(skeleton, parts[-1])
        out += [(j, far, _share(NECK, len(parts)), "") for j, far in zip(parts, [*parts[1:], tips], strict=True)]
    return out


def _share(whole: Normal, parts: int) -> Normal:
    share = min(1.0, SHARED / parts)
    kept = {key: share * getattr(whole, key) for key in ("ahead", "back", "out", "inward", "twist")}
    return replace(whole, **kept)


def _tips(skeleton: Skeleton, joint: int) -> int | None:
    """-1 where bones or ends of some length hang from a joint, None where none do."""
    below = skeleton.below(joint)
    lengths = [skeleton.lengths[j] for j in np.flatnonzero(below) if j != joint]
    lengths += [float(np.linalg.norm(end.offset)) for end in skeleton.ends if below[skeleton.index[end.joint]]]
    return -1 if max(lengths, default=0.0) > 1e-6 else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Stance:
    """A body in a neutral pose."""

    skeleton: Skeleton
    actor: str
    pose: Pose
    neutral: Array
    """(J, 4) local rotations."""
    left: Array
    up: Array
    forward: Array

    @staticmethod
    def of(skeleton: Skeleton, neutral: Array, actor: str) -> Stance | None:
        found = roles(skeleton)
        pose = fk(replace(rest_motion(skeleton), rotations=neutral[None]))
        place = pose.positions[0]
        across = sum(place[found[f"left_{p}"]] - place[found[f"right_{p}"]] for p in ("upper_leg", "upper_arm"))
        up = place[found.get("neck", found.get("head", 0))] - place[found["hips"]]
        up = up / np.linalg.norm(up)
        forward = cross(across, up)
        if np.linalg.norm(forward) < 1e-3 * leg_length(skeleton):
            # A flat figure has no width; its feet still point forwards.
            tips = pose.points(feet(skeleton))[0]
            ankles = 0.5 * (place[found["left_foot"]] + place[found["right_foot"]])
            forward = tips.mean(0) - ankles
            forward = forward - (forward @ up) * up
        if np.linalg.norm(forward) < 1e-9:
            return None
        forward = forward / np.linalg.norm(forward)
        return Stance(
            skeleton=skeleton, actor=actor, pose=pose, neutral=neutral, left=cross(up, forward), up=up, forward=forward
        )

    @remembered
    def balls(self) -> dict[str, JointRange | None]:
        """The ranges of the joints that turn any way, by name; None for one that has no bone to measure by."""
        found: dict[str, JointRange | None] = {}
        for joint, far, normal, side in _balls(self.skeleton):
            if self.skeleton.kinds[joint] is not JointKind.FIXED:
                own = None if far is None else self.ball(joint, self.bone(joint, far), normal, side)
                found[self.skeleton.names[joint]] = own
        return found

    def bone(self, joint: int, far: int) -> Array:
        """(3,) the unit direction, world, of a joint's bone, towards another joint or its tips."""
        skeleton, place = self.skeleton, self.pose.positions[0]
        if far >= 0:
            end = place[far]
        else:
            below = skeleton.below(joint)
            ends = [end for end in skeleton.ends if below[skeleton.index[end.joint]]]
            end = np.concatenate([place[below], self.pose.points(ends)[0]]).mean(0)
        vector = end - place[joint]
        size = float(np.linalg.norm(vector))
        return vector / size if size > 1e-6 else self.up

    def ball(self, joint: int, bone: Array, normal: Normal, side: str) -> JointRange:
        """The range of a joint that turns any way, its bone pointing somewhere (3,), world, in the neutral pose."""
        outward = -self.left if side == "right" else self.left
        centre = bone
        if normal.centre is not None:
            centre = np.array(normal.centre) @ np.stack([outward, self.up, self.forward])
            centre = centre / np.linalg.norm(centre)
        # A bone that points forwards already, a foot's, leans up and down instead.
        ahead = self.up if abs(float(centre @ self.forward)) > 0.8 else self.forward
        cone = np.radians([[-normal.back, normal.ahead], [-normal.inward, normal.out]])
        return self._cone(joint, bone, centre, (ahead, outward), cone, np.radians([-normal.twist, normal.twist]))

    def _cone(
        self, joint: int, bone: Array, centre: Array, ways: tuple[Array, Array], cone: Array, turn: Array
    ) -> JointRange:
        """Swing and twist limits about a centre (3,), world: how far towards each of two ways, and away from them."""
        world = self._above(joint)
        frame = self.pose.rotations[0, joint]
        rest = multiply(between(bone, centre), frame)
        first = cross(centre, ways[0])
        first = first / np.linalg.norm(first)
        sides = cone[1] if first @ ways[1] > 0.0 else -cone[1, ::-1]
        return JointRange(
            joint=Spot(point=self.skeleton.names[joint], actor=self.actor),
            rest=multiply(conjugate(world), rest), axis=unrotate(frame, bone), reference=unrotate(rest, first),
            swing=np.stack([cone[0], sides]), twist=turn,
        )  # fmt: skip

    def _above(self, joint: int) -> Array:
        """(4,) the world rotation of the frame that a joint's local rotation leads to."""
        return multiply(self.pose.rotations[0, joint], conjugate(self.neutral[joint]))

    def _straight(self, joint: int, upper: int, far: int) -> tuple[Array, Array, Array]:
        """The unit direction of the bone below a joint, in the world and in the joint's own frame, and that of the bone
        above it in the frame that its local rotation leads to."""
        key = joint, upper, far
        if key not in self._known:
            bone, place = self.bone(joint, far), self.pose.positions[0]
            above = place[joint] - place[upper]
            above = unrotate(self._above(joint), above / np.linalg.norm(above))
            self._known[key] = bone, unrotate(self.pose.rotations[0, joint], bone), above
        return self._known[key]

    @remembered
    def _known(self) -> dict[tuple[int, int, int], tuple[Array, Array, Array]]:
        return {}

    def hinges(self, wanted: Sequence[Bending], rotations: Array) -> list[JointRange]:
        """The ranges of knees and elbows: about the one axis that local rotations (F, J, 4) of the whole body show each
        to turn about, or in the plane it bends in."""
        joints = [each.joint for each in wanted]
        straight = [self._straight(each.joint, each.upper, each.far) for each in wanted]
        turns = rotations[:, joints].swapaxes(0, 1)
        above = np.array([upper for _, _, upper in straight]).reshape(-1, 1, 3)
        leads = rotate(turns, np.array([own for _, own, _ in straight]).reshape(-1, 1, 3))
        normals = cross(above, leads)
        sines = np.sqrt(np.einsum("jfi,jfi->jf", normals, normals))
        bends = np.arctan2(sines, np.einsum("jfi,jki->jf", leads, above))
        from_neutral = multiply(conjugate(self.neutral[joints])[:, None], turns)
        found = []
        for number, (each, axis) in enumerate(zip(wanted, _single_axes(from_neutral, bends), strict=True)):
            if axis is not None:
                found.append(self._hinge(each, axis, from_neutral[number], bends[number]))
            else:
                bone, _, upper = straight[number]
                found.append(self._plane(each, bone, upper, normals[number].sum(axis=0), sines[number]))
        return found

    def _hinge(self, wanted: Bending, axis: Array, turns: Array, bends: Array) -> JointRange:
        """The range of one that turns (F, 4) about an axis (3,), and bends (F,) with that."""
        joint, rest = wanted.joint, self.neutral[wanted.joint]
        angles = np.unwrap(twist_angles(turns, axis))
        straight = float(median((angles - bends)[bends >= median(bends)]))
        straight -= 2.0 * np.pi * round(straight / (2.0 * np.pi))
        limits = straight + np.array([-wanted.over, wanted.bend])
        spot = Spot(point=self.skeleton.names[joint], actor=self.actor)
        if self.skeleton.kinds[joint] is JointKind.HINGE:
            return JointRange(joint=spot, rest=rest, axes=axis[None], ranges=limits[None])
        return JointRange(joint=spot, rest=rest, axis=axis, swing=np.array(STRAY), twist=limits)

    def _plane(self, wanted: Bending, bone: Array, above: Array, across: Array, sines: Array) -> JointRange:
        """The range of one that bends in the plane whose normals, each as long as the sine (F,) of its bend, add up to
        some vector (3,), in the frame that its local rotation leads to; straight ahead or back if that says little."""
        frame, sizes = self._above(wanted.joint), sines.sum()
        normal = rotate(frame, across)
        if np.linalg.norm(across) < 0.9 * sizes or sizes < 0.1 * len(sines):
            normal = cross(rotate(frame, above), -self.forward if wanted.knee else self.forward)
        normal = normal / np.linalg.norm(normal)
        middle, half = 0.5 * (wanted.bend - wanted.over), 0.5 * (wanted.bend + wanted.over)
        centre = rotate(from_axis_angle(normal, middle), rotate(frame, above))
        cone = np.array([[-half, half], [-STRAY, STRAY]])
        turn = np.array([-wanted.turn, wanted.turn])
        return self._cone(wanted.joint, bone, centre, (cross(normal, centre), normal), cone, turn)


@lru_cache(maxsize=64)
def _standing(skeleton: Skeleton, actor: str) -> Stance | None:
    return Stance.of(skeleton, skeleton.rest, actor)


def _single_axes(turns: Array, bends: Array) -> list[Array | None]:
    """The axis (3,) that the rotations (J, F, 4) of each of some joints are all about, turning so as to bend (J, F);
    None if there is no such one."""
    vectors = quaternion.log(turns)
    around = vectors - vectors.mean(axis=1, keepdims=True)
    squares, axes = np.linalg.eigh(around.swapaxes(1, 2) @ around)
    axis = axes[:, :, 2]
    turned, bent = np.einsum("jfi,ji->jf", around, axis), bends - bends.mean(axis=1, keepdims=True)
    spread = np.minimum(*(each.max(axis=1) - each.min(axis=1) for each in (turned, bent)))
    single = (spread >= BENT) & (squares[:, 2] >= ALONE * squares.sum(axis=1))
    both, own, other = (np.einsum("jf,jf->j", a, b) for a, b in ((turned, bent), (turned, turned), (bent, bent)))
    single &= np.abs(both) >= ALIKE * np.sqrt(own * other)
    signed = np.copysign(1.0, both)[:, None] * axis
    return [each if alone else None for each, alone in zip(signed, single, strict=True)]


MARGIN = np.radians(3.0)
"""How much farther than the motion itself a widened range reaches."""


def joint_limits(
    motion: Motion, *, actor: str = "", only: Collection[str] | None = None, widen: bool = True
) -> tuple[list[JointRange], list[str]]:
    """The skeleton's own limits, or a human's if it is one and brings none; and what there is to say about them.

    Args:
        motion: The body with a motion that it can do.
        actor: Whose joints they are.
        only: The joints asked for, by name; all if not given.
        widen: Whether what the motion does is taken for possible, however far it goes.
    """
    own = skeleton_limits(motion.skeleton, actor=actor)
    if own:
        return [limit for limit in own if only is None or limit.joint.point in only], []
    return human_limits(motion, actor=actor, only=only, widen=widen)


@lru_cache(maxsize=64)
def skeleton_limits(skeleton: Skeleton, *, actor: str = "") -> tuple[JointRange, ...]:
    """The ranges that a skeleton gives its joints; joints without a finite one are left out."""
    found = []
    for name, kind, limits in zip(skeleton.names, skeleton.kinds, skeleton.limits, strict=True):
        if np.any(np.isfinite(limits[: NUM_AXES[kind]])):
            found.append(JointRange.of(skeleton, name, actor=actor))
    return tuple(found)


def human_limits(
    motion: Motion, *, actor: str = "", only: Collection[str] | None = None, widen: bool = True
) -> tuple[list[JointRange], list[str]]:
    """Normal human ranges for the joints of a body, wide enough for its own motion.

    Args:
        motion: The body with a motion that it can do.
        actor: Whose joints they are.
        only: The joints asked for, by name; all if not given.
        widen: Whether ranges are widened where the motion goes farther.

    Returns:
        The ranges, and a sentence for each that was widened or could not be given.
    """
    if not is_humanoid(motion.skeleton):
        return [], ["The body is not a human one: no joint limits are known for it."]
    neutral = stance(motion, actor)
    if neutral is None:
        return [], ["Which way the body faces cannot be told: no joint limits are given."]
    ranges: list[JointRange] = []
    said: list[str] = []
    for name, ball in neutral.balls.items():
        if only is not None and name not in only:
            continue
        if ball is None:
            said.append(f"`{name}` has no bone to measure by: its range is left open.")
        else:
            ranges.append(ball)
    found = roles(motion.skeleton)
    bent: list[Bending] = []
    for upper, lower, end in (("upper_leg", "lower_leg", "foot"), ("upper_arm", "lower_arm", "hand")):
        for side in ("left", "right"):
            joint, far = found[f"{side}_{lower}"], found.get(f"{side}_{end}", -1)
            wanted = only is None or motion.skeleton.names[joint] in only
            whole = chain_length(motion.skeleton, found[f"{side}_{upper}"], joint) > 1e-9
            if wanted and not whole:
                said.append(f"`{motion.skeleton.names[joint]}` has no bone to measure by: its range is left open.")
            elif wanted and motion.skeleton.kinds[joint] is not JointKind.FIXED:
                bent.append(Bending(joint, found[f"{side}_{upper}"], far, end == "foot", *np.radians(HINGES[lower])))
    ranges += neutral.hinges(bent, motion.rotations) if bent else []
    if not widen:
        return ranges, said
    turned = [motion.rotations[:, motion.skeleton.index[str(each.joint.point)]] for each in ranges]
    widened = JointRange.widened_all(ranges, turned, MARGIN)
    for each, wider in zip(ranges, widened, strict=True):
        said += _compared(str(each.joint.point), each, wider) if wider is not each else []
    return widened, said


def _compared(name: str, normal: JointRange, wider: JointRange) -> list[str]:
    """A sentence for each way in which a range had to be widened."""
    said = []
    for what, field in (("bending", "ranges"), ("turning", "twist"), ("leaning", "swing")):
        before, after = getattr(normal, field), getattr(wider, field)
        more = 0.0 if before is None else float(np.degrees(np.abs(after - before).max()))
        if more > 0.0:
            said.append(
                f"`{name}`: the normal range of {what} is widened by {more:.0f} degrees: the motion itself goes there."
            )
    return said
