"""Writes a clip in other ways that mean the same: other joint frames, names, units, axes, helper bones, hinges.

Every function of TRANSFORMS takes a clip and a seed and returns a `Variant`, in which the joints of the clip are at the
same places in the world at every frame, to `MAX_SHIFT_METRES`. What a program makes of a variant must not differ from
what it makes of the clip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from hashlib import sha1
from pathlib import Path

import numpy as np
import pytest

import understudy
from understudy import samples
from understudy.base.quaternion import (
    Array,
    between,
    conjugate,
    from_axis_angle,
    identity,
    multiply,
    normalize,
    rotate,
    twist_angle,
    unrotate,
)
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.io import Clip
from understudy.retarget.actor import ActorSpec, assign, in_memory, label_of
from understudy.retarget.driver import Prepared, prepare
from understudy.retarget.spec import Recipe

MAX_SHIFT_METRES = 1e-6
"""How far a joint of a variant may be from where the clip has it."""

MIN_BONE_METRES = 0.02
"""Bones shorter than this get no twist bones."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Body:
    """A clip in world coordinates, which say nothing of joint frames: what the transforms change."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    kinds: tuple[JointKind, ...]
    axes: Array
    """(J, 3, 3) in the joints' own frames."""
    limits: Array
    ends: tuple[Point, ...]
    rest: tuple[Array, Array]
    """(J, 3) positions and (J, 4) orientations of the rest pose in the world."""
    moved: tuple[Array, Array] | None
    """(F, J, 3) positions and (F, J, 4) orientations in the world; None without a motion."""
    fps: float = 30.0
    name: str = ""

    @staticmethod
    def of(clip: Clip) -> Body:
        skeleton, motion = clip.skeleton, clip.motion
        pose = None if motion is None else fk(motion)
        return Body(
            names=skeleton.names, parents=tuple(skeleton.parents.tolist()), kinds=skeleton.kinds, axes=skeleton.axes,
            limits=skeleton.limits, ends=skeleton.ends, rest=skeleton.rest_world, name=skeleton.name,
            moved=None if pose is None else (pose.positions, pose.rotations),
            fps=30.0 if motion is None else motion.fps,
        )  # fmt: skip

    def clip(self) -> Clip:
        """The body as a clip; offsets vary over the frames only if bones change their length."""
        offsets, rest = _local(self.parents, *self.rest)
        skeleton = Skeleton(
            names=self.names, parents=np.array(self.parents), offsets=offsets, rest=rest, kinds=self.kinds,
            axes=self.axes, limits=self.limits, ends=self.ends, name=self.name,
        )  # fmt: skip
        if self.moved is None:
            return Clip(skeleton=skeleton)
        moving, rotations = _local(self.parents, *self.moved)
        stretched = len(offsets) > 1 and np.abs(moving[:, 1:] - offsets[1:]).max() > 1e-9
        motion = Motion(
            skeleton=skeleton, fps=self.fps, root=self.moved[0][:, 0], rotations=rotations,
            offsets=moving if stretched else None, name=self.name,
        )  # fmt: skip
        return Clip(skeleton=skeleton, motion=motion)

    def poses(self) -> list[tuple[Array, Array]]:
        """The rest pose and the motion, with the joints on the last axis but one."""
        return [self.rest] if self.moved is None else [self.rest, self.moved]

    def posed(self, poses: list[tuple[Array, Array]], **changes: object) -> Body:
        """The body with other poses, in the order of `poses`."""
        return replace(self, rest=poses[0], moved=poses[1] if len(poses) > 1 else None, **changes)  # type: ignore[arg-type]

    def with_joint(
        self, name: str, parent: int, positions: list[Array], rotations: list[Array], kind: JointKind = JointKind.BALL
    ) -> Body:
        """The body with one more joint at the end of the list; positions and rotations as in `poses`."""
        poses = [
            (np.concatenate([p, at[..., None, :]], axis=-2), np.concatenate([r, turn[..., None, :]], axis=-2))
            for (p, r), at, turn in zip(self.poses(), positions, rotations)
        ]
        return self.posed(
            poses, names=(*self.names, self.unused(name)), parents=(*self.parents, parent), kinds=(*self.kinds, kind),
            axes=np.concatenate([self.axes, (np.eye(3) if kind is JointKind.BALL else np.zeros((3, 3)))[None]]),
            limits=np.concatenate([self.limits, np.tile([-np.inf, np.inf], (1, 3, 1))]),
        )  # fmt: skip

    def unused(self, name: str) -> str:
        """The name, or one like it that no joint has."""
        while name in self.names:
            name += "_"
        return name

    def sorted(self) -> Body:
        """The joints in an order that has parents before their children."""
        order: list[int] = []
        waiting = [self.parents.index(-1)]
        while waiting:
            order.append(waiting.pop())
            waiting += [j for j in reversed(range(len(self.names))) if self.parents[j] == order[-1]]
        place = {old: new for new, old in enumerate(order)} | {-1: -1}
        return self.posed(
            [(p[..., order, :], r[..., order, :]) for p, r in self.poses()],
            names=tuple(self.names[j] for j in order), parents=tuple(place[self.parents[j]] for j in order),
            kinds=tuple(self.kinds[j] for j in order), axes=self.axes[order], limits=self.limits[order],
        )  # fmt: skip


def _local(parents: tuple[int, ...], positions: Array, rotations: Array) -> tuple[Array, Array]:
    """Offsets and local rotations from world positions (..., J, 3) and orientations (..., J, 4)."""
    above = list(parents[1:])
    offsets, local = positions.copy(), rotations.copy()
    offsets[..., 1:, :] = unrotate(rotations[..., above, :], positions[..., 1:, :] - positions[..., above, :])
    local[..., 1:, :] = multiply(conjugate(rotations[..., above, :]), rotations[..., 1:, :])
    return offsets, normalize(local)


@dataclass(frozen=True, eq=False, kw_only=True)
class Variant:
    """A clip written in another way."""

    clip: Clip
    joint: dict[str, str]
    """The variant's joint for each of the clip's joints: the one whose frame moves as the clip's."""
    origin: dict[str, str]
    """The clip's joint for each of the variant's; bones that were added are left out."""
    turns: dict[str, Array] = field(default_factory=dict)
    """(4,) rotation from the clip's frame of a joint to the variant's; the identity where not given."""
    world: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))
    """(4,) rotation from the clip's world to the variant's."""
    twists: bool = True
    """Whether a joint of the variant must twist as the clip's; not where a bone's twist may be shared out."""

    def places(self, motion: Motion, names: tuple[str, ...]) -> tuple[Array, Array]:
        """World positions (F, J, 3) and orientations (F, J, 4) of the clip's joints in a motion of the variant."""
        pose = fk(motion)
        joints = [motion.skeleton.joint(self.joint[name]) for name in names]
        turns = np.array([self.turns.get(name, np.array([1.0, 0.0, 0.0, 0.0])) for name in names])
        return pose.positions[:, joints], multiply(pose.rotations[:, joints], conjugate(turns))


def plain(clip: Clip) -> Variant:
    """The clip itself."""
    same = {name: name for name in clip.skeleton.names}
    return Variant(clip=clip, joint=same, origin=same)


def _checked(clip: Clip, variant: Variant, *, rest: bool = True) -> Variant:
    """The variant, after a check that every joint of the clip is where it was.

    Args:
        clip: The clip.
        variant: What was made of it.
        rest: Whether the rest pose must be the same, too.
    """
    names = clip.skeleton.names
    if clip.motion is not None:
        assert variant.clip.motion is not None
        before = fk(clip.motion)
        positions, rotations = variant.places(variant.clip.motion, names)
        assert np.abs(positions - rotate(variant.world, before.positions)).max() < MAX_SHIFT_METRES
        turned = multiply(variant.world, before.rotations)
        assert np.abs(np.abs(np.sum(rotations * turned, axis=-1)) - 1.0).max() < 1e-9
    if rest:
        joints = [variant.clip.skeleton.joint(variant.joint[name]) for name in names]
        found = variant.clip.skeleton.rest_world[0][joints]
        assert np.abs(found - rotate(variant.world, clip.skeleton.rest_world[0])).max() < MAX_SHIFT_METRES
    return variant


def _added(clip: Clip, body: Body) -> Variant:
    """A variant with more joints; the clip's keep their names."""
    names = {name: name for name in clip.skeleton.names}
    return _checked(clip, Variant(clip=body.sorted().clip(), joint=names, origin=names))


def turn_frames(clip: Clip, seed: int = 0) -> Variant:
    """Every joint's frame is turned at random; the rest pose looks the same."""
    body = Body.of(clip)
    turns = normalize(np.random.default_rng(seed).normal(size=(len(body.names), 4)))
    body = body.posed(
        [(p, multiply(r, turns)) for p, r in body.poses()],
        axes=unrotate(turns[:, None], body.axes),
        ends=tuple(replace(end, offset=unrotate(turns[body.names.index(end.joint)], end.offset)) for end in body.ends),
    )
    names = {name: name for name in body.names}
    by_name = dict(zip(body.names, turns, strict=True))
    return _checked(clip, Variant(clip=body.clip(), joint=names, origin=names, turns=by_name))


def change_zero_pose(clip: Clip, seed: int = 0) -> Variant:
    """Joint frames turned at random, and a rest pose that is whatever these frames give, as in many BVH files.

    Balls without limits get the identity as their rest rotation; hinges and the first axis of universal joints start
    at another angle, within their limits. The motion is the same; without one the variant is not the same body.
    """
    assert clip.motion is not None, "a body without motion cannot lose its rest pose"
    rng = np.random.default_rng(seed)
    turned = turn_frames(clip, seed)
    skeleton, motion = turned.clip.skeleton, turned.clip.motion
    assert motion is not None
    rest, limits = skeleton.rest.copy(), skeleton.limits.copy()
    for joint, kind in enumerate(skeleton.kinds):
        limited = bool(np.isfinite(limits[joint]).any())
        if kind is JointKind.FREE or (kind is JointKind.BALL and not limited):
            rest[joint] = [1.0, 0.0, 0.0, 0.0]
        elif kind in (JointKind.HINGE, JointKind.UNIVERSAL):
            low, high = np.clip(limits[joint, 0], -1.0, 1.0)
            angle = rng.uniform(low, high)
            rest[joint] = multiply(rest[joint], from_axis_angle(skeleton.axes[joint, 0], angle))
            limits[joint, 0] -= angle
    changed = replace(skeleton, rest=rest, limits=limits)
    made = Clip(skeleton=changed, motion=replace(motion, skeleton=changed))
    return _checked(clip, replace(turned, clip=made), rest=False)


def hash_names(clip: Clip, seed: int = 0) -> Variant:
    """All names of joints and ends are replaced by hashes, which start with a letter that says nothing."""
    skeleton = clip.skeleton
    new = {name: _hashed(name, seed) for name in skeleton.names}
    ends = tuple(
        Point(name=_hashed(end.name + "/end", seed), joint=new[end.joint], offset=end.offset) for end in skeleton.ends
    )
    made = replace(skeleton, names=tuple(new.values()), ends=ends, name="")
    motion = None if clip.motion is None else replace(clip.motion, skeleton=made, name="")
    variant = Variant(
        clip=Clip(skeleton=made, motion=motion), joint=new, origin={after: before for before, after in new.items()}
    )
    return _checked(clip, variant)


def _hashed(name: str, seed: int) -> str:
    # No letters from which a word, or the mark of a side, could be read: digits alone.
    return "q" + str(int(sha1(f"{seed}{name}".encode()).hexdigest()[:12], 16))


def turn_world(clip: Clip, rotation: Array) -> Variant:
    """The whole world is turned, rest pose and motion."""
    body = Body.of(clip)
    body = body.posed([(rotate(rotation, p), multiply(rotation, r)) for p, r in body.poses()])
    names = {name: name for name in body.names}
    return _checked(clip, Variant(clip=body.clip(), joint=names, origin=names, world=rotation))


def turn_about_vertical(clip: Clip, seed: int = 0) -> Variant:
    """The body stands and moves another way round; up is up."""
    angle = np.random.default_rng(seed).uniform(0.5, 5.5)
    return turn_world(clip, from_axis_angle([0.0, 1.0, 0.0], angle))


def add_floor_root(clip: Clip, seed: int = 0, *, follows: bool = True) -> Variant:
    """A root on the floor carries the former root, which keeps its own path.

    Args:
        clip: The clip.
        seed: Not used: there is one way.
        follows: Whether the new root goes where the former root goes, on the floor; it stays at the origin if not.
    """
    body = Body.of(clip)
    grounds = [p[..., body.parents.index(-1), :] * ([1.0, 0.0, 1.0] if follows else 0.0) for p, _ in body.poses()]
    # In the rest pose a root on the floor is below the body.
    low = min(float(body.rest[0][:, 1].min()), float(clip.skeleton.rest_ends[:, 1].min(initial=np.inf)))
    grounds[0] = body.rest[0][0] * [1.0, 0.0, 1.0] + [0.0, low, 0.0]
    still = [np.broadcast_to(identity(), (*ground.shape[:-1], 1, 4)) for ground in grounds]
    poses = [
        (np.concatenate([ground[..., None, :], p], axis=-2), np.concatenate([turn, r], axis=-2))
        for ground, turn, (p, r) in zip(grounds, still, body.poses())
    ]
    body = body.posed(
        poses, names=(body.unused("root_on_floor"), *body.names), parents=(-1, *(p + 1 for p in body.parents)),
        kinds=(JointKind.FREE, JointKind.BALL, *body.kinds[1:]),
        axes=np.concatenate([np.eye(3)[None], body.axes]),
        limits=np.concatenate([np.tile([-np.inf, np.inf], (1, 3, 1)), body.limits]),
    )  # fmt: skip
    return _added(clip, body)


def add_still_floor_root(clip: Clip, seed: int = 0) -> Variant:
    """A root on the floor that never moves."""
    return add_floor_root(clip, seed, follows=False)


def _bones(body: Body) -> list[tuple[int, int]]:
    """Joints with exactly one child at a distance, and that child: the bones that twist bones are added to."""
    found = []
    for joint in range(len(body.names)):
        below = [j for j, parent in enumerate(body.parents) if parent == joint]
        if len(below) == 1 and np.linalg.norm(body.rest[0][below[0]] - body.rest[0][joint]) > MIN_BONE_METRES:
            found.append((joint, below[0]))
    return found


def add_twist_bones(clip: Clip, seed: int = 0) -> Variant:
    """Beside every bone of a limb hangs a twist bone that begins half way along it, as in Unreal."""
    body = Body.of(clip)
    for joint, child in _bones(body):
        middles = [0.5 * (p[..., joint, :] + p[..., child, :]) for p, _ in body.poses()]
        rotations = [r[..., joint, :] for _, r in body.poses()]
        body = body.with_joint(f"{body.names[joint]}_twist_01", joint, middles, rotations)
    return _added(clip, body)


def split_bones(clip: Clip, seed: int = 0) -> Variant:
    """Every bone of a limb is cut in two by a twist bone that carries the rest of the limb, as in Daz figures.

    Chains of motors are left as they are: with a ball between its motors a robot would be another machine.
    """
    body = Body.of(clip)
    free = (JointKind.FREE, JointKind.BALL)
    for joint, child in _bones(body):
        if body.kinds[joint] not in free or body.kinds[child] not in free:
            continue
        middles = [0.5 * (p[..., joint, :] + p[..., child, :]) for p, _ in body.poses()]
        rotations = [r[..., joint, :] for _, r in body.poses()]
        body = body.with_joint(f"{body.names[joint]}Twist", joint, middles, rotations)
        parents = list(body.parents)
        parents[child] = len(body.names) - 1
        body = replace(body, parents=tuple(parents))
    return replace(_added(clip, body), twists=False)


def add_helpers(clip: Clip, seed: int = 0) -> Variant:
    """Helper bones hang from joints in any direction; every third joint gets one."""
    body, rng = Body.of(clip), np.random.default_rng(seed)
    size = float(np.ptp(body.rest[0], axis=0).max())
    for joint in range(1, len(clip.skeleton.names), 3):
        away = rng.normal(size=3)
        away *= 0.04 * size / np.linalg.norm(away)
        positions = [p[..., joint, :] + rotate(r[..., joint, :], away) for p, r in body.poses()]
        rotations = [r[..., joint, :] for _, r in body.poses()]
        body = body.with_joint(f"{body.names[joint]}_helper", joint, positions, rotations)
    return _added(clip, body)


def add_end_bones(clip: Clip, seed: int = 0) -> Variant:
    """Every end point becomes a joint of its own, as exporters write them."""
    body = Body.of(clip)
    for end in body.ends:
        joint = body.names.index(end.joint)
        positions = [p[..., joint, :] + rotate(r[..., joint, :], end.offset) for p, r in body.poses()]
        rotations = [r[..., joint, :] for _, r in body.poses()]
        body = body.with_joint(f"{end.name}_end", joint, positions, rotations)
    return _added(clip, replace(body, ends=()))


def write_as_hinges(clip: Clip, seed: int = 0) -> Variant:
    """Every ball without limits is three hinges at one point, about its parent's axes in any order, as in a robot."""
    body, rng = Body.of(clip), np.random.default_rng(seed)
    joint_of = {name: name for name in body.names}
    origin = dict(joint_of)
    for joint in range(1, len(clip.skeleton.names)):
        if body.kinds[joint] is not JointKind.BALL or np.isfinite(body.limits[joint]).any():
            continue
        name, parent = body.names[joint], body.parents[joint]
        order = rng.permutation(3)
        frames = [(r[..., parent, :], r[..., joint, :]) for _, r in body.poses()]
        turned = _hinge_frames(frames, order)
        here = [p[..., joint, :] for p, _ in body.poses()]
        above = parent
        for number in range(2):
            letter = "xyz"[order[number]]
            body = body.with_joint(f"{name}_r{letter}", above, here, [t[number] for t in turned], JointKind.FIXED)
            above = len(body.names) - 1
            body = _as_hinge(body, above, np.eye(3)[order[number]])
            origin[body.names[above]] = name
        parents = list(body.parents)
        parents[joint] = above
        body = replace(body, parents=tuple(parents))
        # The axis of the last hinge is given in the rest frame of the middle one; the joint's own frame is the clip's.
        rest_frames = turned[0][1], body.rest[1][joint]
        last = rotate(rest_frames[0], np.eye(3)[order[2]])
        body = _as_hinge(body, joint, unrotate(rest_frames[1], last))
    return _checked(clip, Variant(clip=body.sorted().clip(), joint=joint_of, origin=origin))


def _as_hinge(body: Body, joint: int, axis: Array) -> Body:
    kinds, axes = list(body.kinds), body.axes.copy()
    kinds[joint] = JointKind.HINGE
    axes[joint] = [axis, [0.0] * 3, [0.0] * 3]
    return replace(body, kinds=tuple(kinds), axes=axes)


def _hinge_frames(frames: list[tuple[Array, Array]], order: np.ndarray) -> list[tuple[Array, Array]]:
    """World orientations below the first and second hinge, for the rest pose and the motion.

    In the rest pose all hinges are at zero. A ball's rotation from there is a product of rotations about three axes of
    the parent's rest frame.
    """
    axes = np.eye(3)[order]
    sign = float(np.dot(np.cross(axes[0], axes[1]), axes[2]))
    parent_rest, joint_rest = frames[0]
    made = []
    for parent, joint in frames:
        # Rotation from the rest pose, seen in the parent's frame: turn(a0) turn(a1) turn(a2).
        change = multiply(multiply(conjugate(parent), joint), conjugate(multiply(conjugate(parent_rest), joint_rest)))
        image = rotate(change, axes[2])
        second = np.arcsin(np.clip(sign * (image @ axes[0]), -1.0, 1.0))
        first = np.arctan2(-sign * (image @ axes[1]), image @ axes[2])
        turn_first, turn_second = from_axis_angle(axes[0], first), from_axis_angle(axes[1], second)
        left = multiply(conjugate(multiply(turn_first, turn_second)), change)
        assert np.abs(np.cos(0.5 * twist_angle(left, axes[2])) - np.abs(left[..., 0])).max() < 1e-7
        upper = multiply(parent, turn_first)
        made.append((upper, multiply(upper, turn_second)))
    return made


TRANSFORMS: dict[str, Callable[[Clip, int], Variant]] = {
    "frames turned": turn_frames,
    "zero pose changed": change_zero_pose,
    "names hashed": hash_names,
    "turned about the vertical": turn_about_vertical,
    "floor root added": add_floor_root,
    "still floor root added": add_still_floor_root,
    "twist bones added": add_twist_bones,
    "bones split": split_bones,
    "helpers added": add_helpers,
    "end bones added": add_end_bones,
    "balls as hinges": write_as_hinges,
}
"""Every way to write a clip anew, by name."""


def in_turn(*names: str) -> Callable[[Clip, int], Variant]:
    """The transform that writes a clip in several ways, one after the other."""

    def transform(clip: Clip, seed: int = 0) -> Variant:
        made = plain(clip)
        for name in names:
            step = TRANSFORMS[name](made.clip, seed)
            turns = {
                joint: multiply(made.turns.get(joint, identity()), step.turns.get(between, identity()))
                for joint, between in made.joint.items()
            }
            made = Variant(
                clip=step.clip,
                joint={joint: step.joint[between] for joint, between in made.joint.items()},
                origin={last: made.origin[between] for last, between in step.origin.items() if between in made.origin},
                turns=turns,
                world=multiply(step.world, made.world),
                twists=made.twists and step.twists,
            )
        return made

    return transform


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How far the result for a variant is from the result for the clip."""

    degrees: float
    """The greatest angle between the orientations of a joint."""
    legs: float
    """The greatest distance between the places of a joint, in lengths of a leg."""
    joint: str = ""
    """The joint whose orientations differ most."""

    def __str__(self) -> str:
        return f"{self.degrees:.1f} degrees at {self.joint}, {100.0 * self.legs:.1f} % of a leg"


def difference(
    expected: tuple[Array, Array],
    found: tuple[Array, Array],
    skeleton: Skeleton,
    leg: float,
    *,
    twists: bool = True,
    joints: list[int] | None = None,
) -> Difference:
    """The difference of two results.

    Args:
        expected: (F, J, 3) positions and (F, J, 4) orientations in the world, of the clip's result.
        found: The same of the variant's result.
        skeleton: The skeleton whose joints these are.
        leg: Metres.
        twists: Whether orientations are compared; else the directions of bones, for bodies that may share a bone's
            twist out among more bones.
        joints: The joints that are compared; all if not given.
    """
    joints = list(range(skeleton.num_joints)) if joints is None else joints
    shifts = np.linalg.norm(expected[0] - found[0], axis=-1)[:, joints]
    if twists:
        cosines = np.abs(np.sum(expected[1] * found[1], axis=-1))[:, joints]
        angles = np.degrees(2.0 * np.arccos(np.clip(cosines, 0.0, 1.0)))
    else:
        joints = [joint for joint in joints if skeleton.lengths[joint] > MIN_BONE_METRES]
        bones = [p[:, joints] - p[:, skeleton.parents[joints]] for p, _ in (expected, found)]
        bones = [bone / np.linalg.norm(bone, axis=-1, keepdims=True) for bone in bones]
        angles = np.degrees(2.0 * np.arcsin(np.clip(0.5 * np.linalg.norm(bones[0] - bones[1], axis=-1), 0.0, 1.0)))
    worst = angles.max(axis=0)
    return Difference(
        degrees=float(worst.max()), legs=float(shifts.max()) / leg, joint=skeleton.names[joints[int(np.argmax(worst))]]
    )


def leg_length(motion: Motion) -> float:
    """Metres: half of the height of the body, where it is highest."""
    heights = fk(motion).positions[..., 1]
    return 0.5 * float(np.ptp(heights, axis=1).max())


Pairs = frozenset[tuple[tuple[str, ...], tuple[str, ...]]]


def original_pairs(pairs: list[tuple[tuple[str, ...], tuple[str, ...]]], source: Variant, target: Variant) -> Pairs:
    """The pairs of a map by the clips' names: added bones left out, hinges of one ball counted once."""
    found = set()
    for row, other in pairs:
        one, two = (
            tuple(dict.fromkeys(variant.origin[bone] for bone in bones if bone in variant.origin))
            for bones, variant in ((row, source), (other, target))
        )
        # A pair of added bones, or one that is cut in two by them, says nothing of the clip's.
        if one and two:
            found.add((one, two))
    return frozenset(found)


MAX_DEGREES, MAX_LEGS = 1.0, 0.005
"""How far the result for a variant may be from the result for the clip: degrees, and shares of a leg."""


def without_ball_limits(clip: Clip) -> Clip:
    """The clip without the limits of its balls, which depend on the joint frames that the transforms change."""
    skeleton = clip.skeleton
    limits = skeleton.limits.copy()
    limits[[kind is JointKind.BALL for kind in skeleton.kinds]] = [-np.inf, np.inf]
    skeleton = replace(skeleton, limits=limits)
    return Clip(skeleton=skeleton, motion=None if clip.motion is None else replace(clip.motion, skeleton=skeleton))


def cut(clip: Clip, start: float, *, seconds: float = 1.0, fps: float = 10.0) -> Clip:
    """A part of a clip at a lower rate, from a start in seconds; nothing of the file but skeleton and motion."""
    motion = clip.motion
    assert motion is not None
    step = max(round(motion.fps / fps), 1)
    first = round(start * motion.fps)
    motion = motion[first : first + round(seconds * motion.fps) + 1 : step]
    return Clip(skeleton=clip.skeleton, motion=motion)


def performed(clip: Clip, source: Clip) -> Clip:
    """A character with the motion that it gets from a source."""
    assert source.motion is not None
    motion = understudy.retarget(source.motion, clip.skeleton).motion
    return Clip(skeleton=clip.skeleton, motion=replace(motion, skeleton=clip.skeleton))


@cache
def walk() -> Clip:
    """The source for every target: a walk of the sample human."""
    return without_ball_limits(Clip.of(samples.motion("walk", fps=10.0, seconds=1.0).actors["adult"]))


@cache
def adult() -> Clip:
    """The target for every source."""
    return Clip(skeleton=walk().skeleton)


UNSHOWN_ROLES = ("head", "left_hand", "right_hand")
"""Parts whose orientation no bone shows: only a rest pose tells where a face or a palm looks."""


def shown_joints(skeleton: Skeleton) -> list[int]:
    """The joints of a body without its head, its hands and what hangs from them."""
    hidden = np.zeros(skeleton.num_joints, bool)
    for role, joint in roles(skeleton).items():
        if role in UNSHOWN_ROLES:
            hidden |= skeleton.below(joint)
    return np.flatnonzero(~hidden).tolist()


def carried(source: Clip, target: Clip) -> tuple[Prepared, Motion]:
    """A prepared retarget and its start: what is carried over before the solve."""
    spec = ActorSpec(source=label_of(source), target=label_of(target))
    prepared = prepare(
        Recipe(actors=(spec,)),
        load=lambda spec, reading, _folder: in_memory(spec, reading, source, target),
        assign=lambda data, folder: assign(data, folder),
    )
    return prepared, prepared.actors[0].on_given_tree(prepared.start(0))


def solved(source: Clip, target: Clip) -> tuple[Prepared, Motion]:
    """A retarget and its result."""
    result = understudy.retarget(source, target)
    return result.prepared, result.motion


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a retarget makes of a variant, beside what it makes of the clip."""

    difference: Difference
    wanted: Pairs
    """The map for the clip."""
    found: Pairs
    """The map for the variant, by the clip's names."""

    def check(self) -> None:
        """Fails if the variant's result or map is another than the clip's."""
        lost, instead = sorted(self.wanted - self.found)[:4], sorted(self.found - self.wanted)[:4]
        words = f"{self.difference}; pairs lost: {lost}, pairs instead: {instead}"
        assert self.found == self.wanted, words
        assert self.difference.degrees <= MAX_DEGREES, words
        assert self.difference.legs <= MAX_LEGS, words


class Experiment:
    """A body in a retarget, as source or as target, written plainly and in other ways.

    Args:
        clip: The body with a motion.
        make: How a retarget is made: `carried` or `solved`.
    """

    def __init__(self, clip: Clip, make: Callable[[Clip, Clip], tuple[Prepared, Motion]] = carried) -> None:
        self.clip, self.make = clip, make

    @cached_property
    def as_source(self) -> tuple[Prepared, Motion]:
        return self.make(self.clip, adult())

    @cached_property
    def as_target(self) -> tuple[Prepared, Motion]:
        return self.make(walk(), self.clip)

    def run(self, transform: str, side: str, seed: int = 1) -> Outcome:
        """What becomes of transforms of this body, joined by ` + `, on one side, "source" or "target"."""
        steps = transform.split(" + ")
        variant, before = in_turn(*steps)(self.clip, seed), plain(self.clip)
        if side == "source":
            expected, found = self.as_source, self.make(variant.clip, adult())
            pose, back = fk(found[1]), conjugate(variant.world)
            places = rotate(back, pose.positions), multiply(back, pose.rotations)
            other, twists = plain(adult()), True
            maps = [original_pairs(pairs_of(p), v, other) for p, v in ((expected[0], before), (found[0], variant))]
        else:
            expected, found = self.as_target, self.make(walk(), variant.clip)
            places = variant.places(found[1], self.clip.skeleton.names)
            other, twists = plain(walk()), variant.twists
            maps = [original_pairs(pairs_of(p), other, v) for p, v in ((expected[0], before), (found[0], variant))]
        skeleton, pose = expected[1].skeleton, fk(expected[1])
        # A changed zero pose is no T-pose any more, and nothing else tells where a face or a palm looks.
        joints = shown_joints(skeleton) if "zero pose changed" in steps else None
        made = difference(
            (pose.positions, pose.rotations), places, skeleton, leg_length(expected[1]), twists=twists, joints=joints
        )
        return Outcome(difference=made, wanted=maps[0], found=maps[1])


def pairs_of(prepared: Prepared) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The map that a retarget uses."""
    assert prepared.plan is not None, "the body is driven by features: it has no map"
    alignment = prepared.plan.assignments[0].alignment
    assert alignment is not None, "the bodies have the same structure: there is no map"
    return [(pair.source, pair.target) for pair in alignment.correspondence.pairs]


UPS = ("+X", "-X", "+Y", "-Y", "+Z", "-Z")
UNITS = {"mm": 0.001, "cm": 0.01, "m": 1.0, "inch": 0.0254}


def write_in(clip: Clip, path: Path, unit: str, up: str) -> None:
    """Write a clip as a BVH file, which says neither its unit nor its axes, with any of both."""
    away = np.eye(3)["XYZ".index(up[1])] * (1.0 if up[0] == "+" else -1.0)
    turned = turn_world(clip, between(np.array([0.0, 1.0, 0.0]), away)).clip
    understudy.write(turned, path, unit=UNITS[unit], up="Y")


def check_read(clip: Clip, path: Path) -> None:
    """Fails if a file that was written by `write_in` is read with another size or another side up.

    Only heights are compared: a file says nothing of where its body looks.
    """
    read = understudy.read(path)
    assert clip.motion is not None
    assert read.motion is not None
    expected, found = (fk(motion).positions[..., 1] for motion in (clip.motion, read.motion))
    joints = [read.skeleton.joint(name) for name in clip.skeleton.names]
    shifts = np.abs((found[:, joints] - found.min()) - (expected - expected.min()))
    shift = float(shifts.max()) / leg_length(clip.motion)
    words = f"heights differ by {shift:.2f} legs; read in {read.unit:g} m, {read.up} up"
    assert shift <= MAX_LEGS, f"{words}: {read.unit_reason}; {read.up_reason}"


Known = dict[tuple[str, ...], str]


def marked(cases: Iterable[tuple[str, ...]], known: Known) -> list[object]:
    """Cases as parameters of a test; those that are known to fail must fail, so that a mended one leaves the list."""
    return [
        pytest.param(
            *case,
            id="-".join(case),
            marks=[pytest.mark.xfail(strict=True, reason=known[case])] if case in known else [],
        )
        for case in cases
    ]
