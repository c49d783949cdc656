"""The neutral pose of a body, made from its geometry and from all of its motion: upright, limbs straight, feet flat.

Joint frames and zero rotations are conventions of a file. A neutral pose is made of what the body itself shows, so that
corresponding bones of two bodies mean the same in their neutral poses:

- The trunk, from the hips to the neck, is vertical. Hips and spine are as they are, on average,
  when trunk and legs are in line.
- The lines of the hips and of the shoulders point to the left.
- The legs point down and the arms sideways. The axis about which a knee or elbow bends, averaged over the motion, gives
  the twist of both of its bones: knees bend backwards and elbows forwards.
- The feet are as they are when they stand: low and slow.

A rest pose is used where the motion does not show a part, and as a whole where it agrees with what the motion shows.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from understudy.base.quaternion import (
    Array,
    angle_between,
    between,
    conjugate,
    continuous,
    cross,
    from_axis_angle,
    from_matrix,
    identity,
    mean,
    multiply,
    rotate,
    unrotate,
)
from understudy.base.records import cached, median, record
from understudy.figure.kinematics import Pose, fk, pose_of
from understudy.figure.main_bones import main_bones
from understudy.figure.measures import UP, facing, find_sole, is_humanoid, leg_length, rest_pose_fits, rest_pose_kind
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import JointKind, Skeleton

LEFT, DOWN, FORWARD = np.array([1.0, 0.0, 0.0]), np.array([0.0, -1.0, 0.0]), np.array([0.0, 0.0, 1.0])

HORIZONTAL = np.array([1.0, 0.0, 1.0])
"""Factor that projects a vector onto the ground."""

MAX_FRAMES = 2000
"""Frames of a motion that are examined, evenly spread."""

STRAIGHT_RADIANS = np.radians(15.0)
"""Standard deviation of the weight of a frame by the angle between trunk and legs."""

MAX_STRAIGHT_RADIANS = np.radians(15.0)
"""Smallest angle between trunk and legs in a motion above which it does not show how the hips are held upright, and a
standing rest pose is believed."""

MIN_BEND_SINE = 0.05
"""Mean sine of the bend of a knee or elbow that is needed to measure its axis."""

MIN_BEND_RANGE_SINE = 0.1
"""Range of that sine that is needed."""

MIN_BENT_SINE = 0.25
"""Mean sine above which a limb that keeps its bend shows its axis as well."""

MAX_HYPEREXTENDED_SINE = 0.5
"""Mean sine of the bend of a knee, against the way in which knees bend, up to which it is a leg that a capture shows as
straight or beyond; with more, the body's knees do bend that way."""

MAX_TWIST_RADIANS = np.radians(120.0)
"""Angle about itself by which a bone of a leg may differ from a standing rest pose; what shows more is a knee that is
hardly bent, or captured bent the wrong way."""

MAX_ALONG_COSINE = 0.5
"""Cosine between the axis of a hinge and its bone above which the hinge twists the bone instead of bending it."""

MIN_COHERENCE = 0.8
"""Length of the mean of unit directions in a bone's frame above which they show one direction."""

MIN_FLAT_COHERENCE = 0.95
"""The same for the vertical in the frame of a standing foot."""

MIN_STANDING_FRAMES = 3
"""Frames in which a foot stands that are needed to correct its rest pose."""

MIN_FOOT_COSINE = 0.5
"""Cosine of the tilt of a foot in a standing rest pose, as the motion shows it, above which it is corrected; and of the
angle between the shin and the normal of the sole of a foot that stands. Some captures have feet that flip over."""

MAX_FLAT_SLOPE_RADIANS = np.radians(40.0)
"""Largest slope of the bone from ankle to toe of a flat human foot; with more, it stands on its toes."""

MAX_ANKLE_DROP_LEGS = 0.15
"""Height of an ankle above the toe, in leg lengths, in a rest pose with flat feet; with more, the feet hang down."""

MAX_SLOPE_RADIANS = np.radians(70.0)
"""Slope of the bone of a standing foot or toe above which it does not show where the foot points."""

SETTLING_SECONDS = 0.2
"""Seconds that weight the speed of a foot against its height when searching for frames in which it stands."""

MIN_HEADING_COSINE = 0.7
"""Cosine between the longer side of a sole and the way that the body faces from which the sole leads there."""

STANDING_SHARE = 0.2
"""Share of the frames, those in which a foot is lowest and slowest, that show how it stands."""

MIN_STANDING_TRUNK_SINE = 0.5
"""Sine of the angle of the trunk above the ground in a body that stands."""

MAX_UNEVEN_SLOPE_RADIANS = np.radians(15.0)
"""Angle by which one foot may stand steeper than the other: captured feet differ by a few degrees, and one that is
steeper still stands on its toes."""

MAX_AGREEING_RADIANS = np.radians(3.0)
"""Largest angle between the rest pose and the constructed pose, in any part, for which the rest pose is used."""

MAX_TRUE_POSE_RADIANS = np.radians(30.0)
"""Median of those angles above which the rest pose is no pose of a body."""

MAX_BIND_POSE_RADIANS = np.radians(10.0)
"""The same for a body without a motion: its rest pose was made upright, and rigs put the joint of the hips anywhere in
the pelvis."""

MAX_GAZE_RADIANS = np.radians(75.0)
"""Angle between the head or a hand of a standing rest pose and its mean in the motion up to which the rest pose is
believed. No bone shows where a face or a palm looks, and a capture may look aside all the time."""

MIN_REPORTED_RADIANS = np.radians(20.0)
"""Angle between rest pose and constructed pose above which a part is mentioned."""

UNKNOWN_STANCE = (
    "its rest pose does not stand, so that it is taken to stand as it does on average in its motion "
    "(--source-reference or --target-reference names a frame in which it stands)"
)

UNKNOWN_BACK = (
    "its rest pose does not stand, and it is bent all the time, so that how it holds its back upright is a guess "
    "(--source-reference or --target-reference names a frame in which it stands)"
)

MIN_HANGING_WEIGHT = 0.05
"""Weight of a frame in which an arm is raised, against 1 for one in which it hangs, to measure how the collar bone is
held."""

MIN_LENGTH_LEGS = 1e-3
"""Length below which a line between joints has no direction."""


@record
class NeutralPose:
    """A neutral pose, and where it comes from."""

    local: Array
    """(J, 4) local rotations."""
    origin: str
    """"rest pose", "motion", "geometry" (of a rest pose without a motion) or "given"."""
    upright: bool
    """Whether the vertical of the pose is known."""
    level: bool
    """Whether the feet are flat on the floor and the head is straight."""
    bent: bool = False
    """Whether neither the rest pose nor the motion shows trunk and legs in line: how the back is held is a guess."""
    differences: dict[str, float] = field(default_factory=dict)
    """Radians between the rest pose, if it stands, and the constructed pose, by part."""

    def __repr__(self) -> str:
        return f"<NeutralPose of {len(self.local)} joints from the {self.origin}>"

    def notes(self) -> list[str]:
        """Parts of a standing rest pose that differ from what the motion shows, or that nothing shows a stance."""
        if self.origin == "motion" and self.upright and not self.level:
            return [UNKNOWN_STANCE]
        if self.bent:
            return [UNKNOWN_BACK]
        parts = [
            f"{part} by {np.degrees(radians):.0f}"
            for part, radians in sorted(self.differences.items(), key=lambda item: -item[1])
            if radians > MIN_REPORTED_RADIANS
        ]
        if not parts or self.origin != "motion":
            return []
        sentence = f"the rest pose differs from the neutral pose that the motion shows: {', '.join(parts[:4])} degrees"
        return [f"{sentence}; the motion is followed"]


def pose_skeleton(skeleton: Skeleton, local: Array) -> Pose:
    """The one-frame pose of a body with local rotations (J, 4)."""
    return fk(replace(rest_motion(skeleton), rotations=local[None]))


def stands_at_rest(skeleton: Skeleton) -> bool:
    """Whether the body can stand in its rest pose; True where that cannot be decided."""
    return rest_pose_kind(skeleton) != "no pose"


def find_neutral_pose(skeleton: Skeleton, motion: Motion | None = None, *, given: Array | None = None) -> NeutralPose:
    """Find the neutral pose of a body.

    Args:
        skeleton: The body.
        motion: A motion of the body, if there is one.
        given: (J, 4) local rotations of the pose, if it is known.
    """
    if given is not None:
        return NeutralPose(local=given, origin="given", upright=True, level=False)
    main = main_bones(skeleton)
    if motion is None:
        found = _neutral_pose_at_rest(main.skeleton)
    else:
        found = _find_neutral_pose(main.skeleton, main.of_motion(motion))
    return replace(found, local=main.to_pose(found.local, motion))


@lru_cache(maxsize=16)
def _neutral_pose_at_rest(skeleton: Skeleton) -> NeutralPose:
    """The neutral pose of a body of main bones without a motion: that of the target of many retargets."""
    return _find_neutral_pose(skeleton, None)


def _find_neutral_pose(skeleton: Skeleton, motion: Motion | None) -> NeutralPose:
    """`find_neutral_pose` for a body of main bones."""
    stands = stands_at_rest(skeleton)
    if stands and motion is not None and not is_humanoid(skeleton):
        stands = rest_pose_fits(motion)
    at_rest = NeutralPose(local=skeleton.rest, origin="rest pose", upright=stands, level=stands)
    if motion is None and not stands:
        return at_rest
    shown = rest_motion(skeleton) if motion is None else _spread_frames(motion)
    if not is_humanoid(skeleton):
        if stands:
            return at_rest
        return NeutralPose(local=_to_local(skeleton, _mean_pose(shown)), origin="motion", upright=True, level=False)
    human = _Human(motion=shown, stands=stands)
    if not human.has_width or (stands and not human.is_straight):
        # A flat figure has no left and right, and a motion that only sits does not show the hips upright.
        return at_rest if stands else replace(at_rest, local=_to_local(skeleton, human.base), origin="motion")
    world = human.construct()
    differences = human.differences(world) if stands else {}
    if stands and float(median(np.array(list(differences.values())))) > MAX_TRUE_POSE_RADIANS:
        # Zero rotations of arbitrary joint frames looked upright by chance.
        stands, world = False, _Human(motion=shown, stands=False).construct()
    limit = MAX_BIND_POSE_RADIANS if shown.num_frames == 1 else MAX_AGREEING_RADIANS
    if stands and max(differences.values()) < limit:
        return replace(at_rest, differences=differences)
    origin = "geometry" if motion is None else "motion"
    return NeutralPose(
        local=_to_local(skeleton, world), origin=origin, upright=True, level=True, differences=differences,
        bent=motion is not None and not stands and not human.is_straight,
    )  # fmt: skip


def _spread_frames(motion: Motion) -> Motion:
    if motion.num_frames <= MAX_FRAMES:
        return motion
    return motion[np.linspace(0, motion.num_frames - 1, MAX_FRAMES).astype(int)]


def _mean_pose(motion: Motion) -> Array:
    """(J, 4) the mean of the world rotations of all bones, each frame turned to face forwards."""
    ways = facing(motion)
    turns = from_axis_angle(UP, -np.arctan2(ways[:, 0], ways[:, 2]))
    return mean(multiply(turns[:, None], fk(motion).rotations))


def _to_local(skeleton: Skeleton, world: Array) -> Array:
    """(J, 4) local rotations of world rotations (J, 4)."""
    parents = np.concatenate([identity(1), world])[skeleton.parents + 1]
    return multiply(conjugate(parents), world)


MIN_SOLE_SINE = 0.3
"""Sine of the angle between the bone of a foot and its shin, or the normal of its sole, from which the two show how the
foot is turned about its bone."""

MAX_FOOT_JUMP_RADIANS = np.radians(45.0)
"""Turn of a foot from one frame to the next that may be left where a half turn is taken out."""

MAX_FOOT_ROLL, MIN_OVER_ROLL, MIN_OVER_SECONDS = np.radians(60.0), np.radians(110.0), 0.02
"""Radians about its own bone by which a foot may be rolled against its shin; a foot that is rolled by more than the
second for longer than the third is turned over."""


def turn_feet_back(motion: Motion) -> tuple[Motion, list[str]]:
    """A motion whose feet are not turned over about their own bones, and a note for each foot that was.

    In some captures a foot jumps by half a turn from one frame to the next, rolls over while it is in line with the
    shin, or is turned over all the time: its bone points where it should, but the sole looks up and the toe bends down.
    The shin shows which side is up.
    """
    skeleton, joints = motion.skeleton, roles(motion.skeleton)
    if not is_humanoid(skeleton) or rest_pose_kind(skeleton) == "no pose":
        return motion, []
    notes: list[str] = []
    rotations = motion.rotations
    for side in ("left", "right"):
        foot, toe, shin = (joints.get(f"{side}_{part}") for part in ("foot", "toe", "lower_leg"))
        if foot is None or toe is None or shin is None or skeleton.kinds[foot] is not JointKind.BALL:
            continue
        if skeleton.parents[toe] != foot or skeleton.lengths[toe] < MIN_LENGTH_LEGS * leg_length(skeleton):
            continue
        bone, (clear, rolls) = unit(skeleton.offsets[toe]), _foot_rolls(motion, foot, toe, shin)
        over = np.abs(rolls) > MIN_OVER_ROLL
        if np.count_nonzero(over) <= MIN_OVER_SECONDS * motion.fps:
            continue
        back = np.interp(np.arange(motion.num_frames), clear, np.unwrap(rolls - folded_roll(rolls)))
        turned = multiply(rotations[:, foot], from_axis_angle(bone, back))
        switches = np.flatnonzero(np.abs(np.diff(back)) > MAX_FOOT_JUMP_RADIANS)
        if np.any(angle_between(turned[switches], turned[switches + 1]) > MAX_FOOT_JUMP_RADIANS):
            # The foot also jumps in other ways: this is not what is wrong with it.
            continue
        rotations = rotations.copy() if rotations is motion.rotations else rotations
        rotations[:, foot] = turned
        notes.append(
            f"`{skeleton.names[foot]}` is turned over about its own bone for {over.sum() / motion.fps:.2f} s: "
            "it is turned back"
        )
    return (motion.derived(rotations=continuous(rotations)), notes) if notes else (motion, [])


def _foot_rolls(motion: Motion, foot: int, toe: int, shin: int) -> tuple[np.ndarray, Array]:
    """The frames (n,) that show how a foot is rolled about its bone, and (n,) radians from its rest pose."""
    skeleton = motion.skeleton
    bone = unit(skeleton.offsets[toe])
    sole = _perpendicular(unrotate(skeleton.rest_world[1][foot], UP), bone)
    if np.linalg.norm(sole) < MIN_SOLE_SINE:
        return np.zeros(0, np.intp), np.zeros(0)
    pose = pose_of(motion, [foot])
    at = [pose.skeleton.index[skeleton.names[joint]] for joint in (foot, shin)]
    line = unit(pose.positions[:, at[1]] - pose.positions[:, at[0]])
    up = _perpendicular(unrotate(pose.rotations[:, at[0]], line), bone)
    clear = np.flatnonzero(np.linalg.norm(up, axis=-1) > MIN_SOLE_SINE)
    return clear, np.arctan2(up[clear] @ cross(bone, unit(sole)), up[clear] @ unit(sole))


def folded_roll(rolls: Array) -> Array:
    """Rolls (n,) of feet, radians, without half turns: a foot that rolls over goes back to the other side meanwhile."""
    size = np.abs(rolls)
    between = MAX_FOOT_ROLL - 2.0 * MAX_FOOT_ROLL * (size - MAX_FOOT_ROLL) / (np.pi - 2.0 * MAX_FOOT_ROLL)
    folded = np.where(size > np.pi - MAX_FOOT_ROLL, size - np.pi, np.where(size > MAX_FOOT_ROLL, between, size))
    return np.asarray(np.sign(rolls) * folded)


def _perpendicular(vectors: Array, axis: Array) -> Array:
    """The parts of vectors (..., 3) at right angles to a unit axis (3,)."""
    return np.asarray(vectors - (vectors @ axis)[..., None] * axis, float)


def unit(vectors: Array) -> Array:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def _orient(first: Array, second: Array, first_goal: Array, second_goal: Array) -> Array:
    """(4,) the rotation that takes one direction to its goal, and another one as near to its goal as it can."""
    frames = []
    for along, beside in ((first, second), (first_goal, second_goal)):
        along = unit(along)
        beside = unit(beside - (beside @ along) * along)
        frames.append(np.stack([along, beside, cross(along, beside)], axis=1))
    return from_matrix(frames[1] @ frames[0].T)


@record
class _Human:
    """A human body in motion, and its bones as the motion shows them."""

    motion: Motion
    stands: bool
    """Whether the rest pose stands."""

    @cached
    def pose(self) -> Pose:
        return fk(self.motion)

    @cached
    def joints(self) -> dict[str, int]:
        return roles(self.motion.skeleton)

    @cached
    def min_length(self) -> float:
        return MIN_LENGTH_LEGS * leg_length(self.motion.skeleton)

    def line(self, start: str, end: str) -> Array:
        """(F, 3) from the joint of one role to that of another."""
        return self.pose.positions[:, self.joints[end]] - self.pose.positions[:, self.joints[start]]

    @cached
    def hip_line(self) -> Array:
        return self.line("right_upper_leg", "left_upper_leg")

    @cached
    def shoulder_line(self) -> Array:
        return self.line("right_upper_arm", "left_upper_arm")

    @cached
    def has_width(self) -> bool:
        """Whether hips and shoulders show where left is."""
        lines = (self.hip_line, self.shoulder_line)
        return all(float(median(np.linalg.norm(line, axis=1))) > self.min_length for line in lines)

    def _middle(self, part: str) -> Array:
        return self.pose.positions[:, [self.joints[f"{side}_{part}"] for side in ("left", "right")]].mean(axis=1)

    @cached
    def trunk(self) -> Array:
        """(F, 3) unit direction from the hips to the neck, or to the middle of the shoulders if there is no neck."""
        neck = self.joints.get("neck")
        top = self._middle("upper_arm") if neck is None else self.pose.positions[:, neck]
        return unit(top - self.pose.positions[:, self.joints["hips"]])

    @cached
    def bends(self) -> Array:
        """(F,) radians between trunk and legs."""
        legs = unit(self._middle("upper_leg") - self._middle("foot"))
        return np.arccos(np.clip(np.sum(self.trunk * legs, axis=1), -1.0, 1.0))

    @cached
    def is_straight(self) -> bool:
        """Whether trunk and legs are in line at some time."""
        return float(self.bends.min()) < MAX_STRAIGHT_RADIANS

    @cached
    def straightness(self) -> Array:
        """(F,) the weights of frames, larger the nearer trunk and legs are to one line."""
        squares = (self.bends / STRAIGHT_RADIANS) ** 2
        weights = np.exp(-0.5 * (squares - squares.min()))
        return weights / weights.sum()

    def seen(self, joint: int, directions: Array, weights: Array | None = None) -> Array:
        """(3,) the mean of world directions (F, 3) in the frame of a joint."""
        local = unrotate(self.pose.rotations[:, joint], directions)
        return local.mean(axis=0) if weights is None else weights @ local

    @cached
    def base(self) -> Array:
        """(J, 4) world rotations, facing forwards, of the rest pose if it stands, else of the mean pose."""
        return _mean_pose(rest_motion(self.motion.skeleton) if self.stands else self.motion)

    def construct(self) -> Array:
        """(J, 4) world rotations of the neutral pose, facing forwards."""
        known = self._trunk_rotations()
        known |= self._collar_rotations(known)
        for side in ("left", "right"):
            known |= self._arm_rotations(side)
            known |= self._limb_rotations(side, ("upper_leg", "lower_leg", "foot"), DOWN, -FORWARD)
        for part in ("foot", "toe"):
            known |= self._foot_rotations(part)
        skeleton, base = self.motion.skeleton, self.base
        world = base.copy()
        for joint in range(skeleton.num_joints):
            parent = int(skeleton.parents[joint])
            if joint in known:
                world[joint] = known[joint]
            elif parent >= 0 and any(j in known for j in skeleton.chain(joint)):
                world[joint] = multiply(world[parent], multiply(conjugate(base[parent]), base[joint]))
        return world

    def _trunk_rotations(self) -> dict[int, Array]:
        """World rotations of hips, spine, neck and head."""
        skeleton, joints = self.motion.skeleton, self.joints
        hips = joints["hips"]
        across, up = self.seen(hips, self.hip_line), self.seen(hips, self.trunk, self.straightness)
        known = {hips: _orient(across, up, LEFT, UP)}
        for joint in skeleton.chain(hips)[:-1]:
            # A root above the hips, on the floor or in the body, has no bone: it is upright as the body is on average.
            up = self.seen(joint, np.broadcast_to(UP, self.trunk.shape), self.straightness)
            known[joint] = _orient(up, self.seen(joint, unit(self.hip_line)), UP, LEFT)
        chain = skeleton.chain(joints["chest"]) if "chest" in joints else []
        spine = [joint for joint in chain if joint not in skeleton.chain(hips)]
        for number, joint in enumerate(spine, start=1):
            share = number / len(spine)
            across = (1.0 - share) * unit(self.hip_line) + share * unit(self.shoulder_line)
            up = self.seen(joint, self.trunk, self.straightness)
            known[joint] = _orient(up, self.seen(joint, across), UP, LEFT)
        neck, head = joints.get("neck"), joints.get("head")
        chain = [] if head is None else skeleton.chain(head)[:-1]
        for joint in chain[chain.index(neck) :] if neck in chain else ():
            bone = self.seen(joint, self.line("neck", "head"), self.straightness)
            if np.linalg.norm(bone) > self.min_length:
                known[joint] = _orient(bone, self.seen(joint, unit(self.shoulder_line)), UP, LEFT)
        if head is not None:
            known[head] = self._head_rotation(head)
        return known

    def _head_rotation(self, head: int) -> Array:
        """(4,) the head of a standing rest pose if it is near the mean of the motion; else that mean, made level."""
        ahead = cross(unit(self.hip_line) + unit(self.shoulder_line), self.trunk)
        upright = np.maximum(self.trunk @ UP, 0.0) ** 4
        level = UP if upright.sum() > 0.1 else self.trunk
        up = self.seen(head, np.broadcast_to(level, ahead.shape), upright if level is UP else None)
        shown = _orient(up, self.seen(head, unit(ahead)), UP, FORWARD)
        return self._believed(self.base[head], shown)

    def _believed(self, rest: Array, shown: Array) -> Array:
        """(4,) the rotation in a standing rest pose, or the one that the motion shows if they are far apart."""
        return rest if self.stands and float(angle_between(shown, rest)) < MAX_GAZE_RADIANS else shown

    def _collar_rotations(self, trunk: dict[int, Array]) -> dict[int, Array]:
        """World rotations of the collar bones: as they are on the chest while the arms hang, the same on both sides."""
        joints, chest = self.joints, self.joints.get("chest")
        collars = [joints.get(f"{side}_shoulder") for side in ("left", "right")]
        if chest not in trunk or any(collar in (None, chest) for collar in collars):
            return {}
        known: dict[int, Array] = {}
        bones = []
        for side, collar in zip(("left", "right"), (joint for joint in collars if joint is not None)):
            turns = multiply(conjugate(self.pose.rotations[:, chest]), self.pose.rotations[:, collar])
            arm = unit(self.line(f"{side}_upper_arm", f"{side}_lower_arm"))
            hanging = np.maximum(-np.sum(arm * self.trunk, axis=1), 0.0) + MIN_HANGING_WEIGHT
            known[collar] = multiply(trunk[chest], mean(turns, hanging))
            bones.append(
                rotate(known[collar], unit(self.seen(collar, self.line(f"{side}_shoulder", f"{side}_upper_arm"))))
            )
        mirrored = np.array([-1.0, 1.0, 1.0])
        middle = bones[0] + mirrored * bones[1]
        for collar, bone, goal in zip(known, bones, (middle, mirrored * middle)):
            known[collar] = multiply(between(bone, unit(goal)), known[collar])
        return known

    def _arm_rotations(self, side: str) -> dict[int, Array]:
        outward = LEFT if side == "left" else -LEFT
        known: dict[int, Array] = {}
        joints = self.joints
        known |= self._limb_rotations(side, ("upper_arm", "lower_arm", "hand"), outward, FORWARD)
        hand, lower = joints.get(f"{side}_hand"), joints[f"{side}_lower_arm"]
        if hand is not None and lower in known:
            turns = multiply(conjugate(self.pose.rotations[:, lower]), self.pose.rotations[:, hand])
            bone = self.line(f"{side}_lower_arm", f"{side}_hand")
            forearm = self._swung(lower, self.seen(lower, bone), outward)
            rest = multiply(forearm, multiply(conjugate(self.base[lower]), self.base[hand]))
            known[hand] = self._believed(rest, multiply(known[lower], mean(turns)))
        return known

    def _limb_rotations(self, side: str, parts: tuple[str, str, str], goal: Array, bend: Array) -> dict[int, Array]:
        """World rotations of the two bones of a limb that point to a goal (3,) and bend towards a direction (3,)."""
        upper, lower, end = (f"{side}_{part}" for part in parts)
        # A forearm without a hand leads to its own end.
        last = self.line(lower, end) if end in self.joints else self._bone(self.joints[lower])
        if last is None:
            return {}
        bones = {self.joints[upper]: self.line(upper, lower), self.joints[lower]: last}
        axes = cross(*(unit(bone) for bone in bones.values()))
        # The motors of a robot's hip or shoulder turn one after the other: the last of them carries the bone.
        bones |= dict.fromkeys(self._between(self.joints[upper], self.joints[lower]), self.line(upper, lower))
        if end in self.joints:
            bones |= dict.fromkeys(self._between(self.joints[lower], self.joints[end]), last)
        hinge = self._hinge_axes(self.joints[lower], bones[self.joints[lower]], axes)
        is_leg = end.endswith("foot")
        if hinge is not None:
            axes = hinge
        elif is_leg:
            # Of a leg that stands straight, or a little beyond, the line of the hips shows which way its knee bends.
            ahead = float(np.sum(axes * unit(self.hip_line), axis=1).mean())
            bent = float(np.linalg.norm(axes, axis=1).mean())
            if ahead < -MIN_COHERENCE * bent and bent < MAX_HYPEREXTENDED_SINE:
                axes = -axes
        sines = np.linalg.norm(axes, axis=1)
        moves = float(np.ptp(sines)) > MIN_BEND_RANGE_SINE or float(sines.mean()) > MIN_BENT_SINE
        moves = hinge is not None or (moves and self.motion.num_frames > 1)
        known: dict[int, Array] = {}
        for joint, bone in bones.items():
            along, axis = self.seen(joint, bone), self.seen(joint, axes)
            if np.linalg.norm(along) < self.min_length:
                continue
            if moves and np.linalg.norm(axis) > max(MIN_COHERENCE * sines.mean(), MIN_BEND_SINE):
                shown, swung = _orient(along, axis, goal, cross(goal, bend)), self._swung(joint, along, goal)
                contradicts = self.stands and float(angle_between(shown, swung)) > MAX_TWIST_RADIANS
                is_wrong = is_leg and hinge is None and contradicts
                known[joint] = swung if is_wrong else shown
            else:
                known[joint] = self._swung(joint, along, goal)
        return known

    def _between(self, upper: int, lower: int) -> list[int]:
        """The joints between two joints of a limb, motors of the upper one."""
        chain = self.motion.skeleton.chain(lower)
        return chain[chain.index(upper) + 1 : -1] if upper in chain else []

    def _hinge_axes(self, joint: int, bone: Array, bends: Array) -> Array | None:
        """(F, 3) the world axes of a hinge that bends its bone (F, 3), signed as the bends (F, 3) that are shown.

        Of a limb that is shown straight, the larger range of the hinge bends it.
        """
        skeleton = self.motion.skeleton
        if skeleton.kinds[joint] is not JointKind.HINGE:
            return None
        axes = rotate(self.pose.rotations[:, joint], skeleton.axes[joint, 0])
        if abs(float(np.sum(axes * unit(bone), axis=1).mean())) > MAX_ALONG_COSINE:
            return None
        bend, limits = float(np.sum(axes * bends, axis=1).mean()), skeleton.limits[joint, 0]
        if abs(bend) < MIN_BENT_SINE and np.all(np.isfinite(limits)):
            bend = float(limits.sum())
        return -axes if bend < 0.0 else axes

    def _swung(self, joint: int, along: Array, goal: Array) -> Array:
        """(4,) a bone of the base pose, swung without twist so that its direction (3,), own frame, is at a goal."""
        current = rotate(self.base[joint], unit(along))
        return multiply(between(current, goal), self.base[joint])

    @cached
    def support(self) -> Array:
        """(F,) the height of the lowest joint of the feet; the floor of some captures drifts."""
        parts = [self.joints.get(f"{side}_{part}") for side in ("left", "right") for part in ("foot", "toe")]
        return self.pose.positions[:, [joint for joint in parts if joint is not None], 1].min(axis=1)

    def _standing_frames(self, joints: list[int]) -> np.ndarray:
        """Frames in which the last joint of a foot is lowest, and all of them, ankle and toe, are slowest.

        The height of the ankle does not count: where it is lowest, the toe is raised. A foot may stand flat and on its
        toes: of these frames, the half counts in which the ankle is most nearly at one height above the toe.
        """
        costs = self.pose.positions[:, joints[-1], 1] - self.support
        for path in self.pose.positions[:, joints].swapaxes(0, 1) if len(costs) > 1 else ():
            costs = costs + SETTLING_SECONDS * np.linalg.norm(np.gradient(path, 1.0 / self.motion.fps, axis=0), axis=1)
        upright = np.flatnonzero(self.trunk[:, 1] > MIN_STANDING_TRUNK_SINE)
        shown = upright if len(upright) >= MIN_STANDING_FRAMES else np.arange(len(costs))
        standing = shown[np.argsort(costs[shown], kind="stable")[: max(int(STANDING_SHARE * len(shown)), 1)]]
        rises = self.pose.positions[standing, joints[0], 1] - self.pose.positions[standing, joints[-1], 1]
        order, half = np.argsort(rises, kind="stable"), (len(rises) + 1) // 2
        spreads = rises[order[half - 1 :]] - rises[order[: len(rises) - half + 1]]
        first = int(np.argmin(spreads))
        return standing[order[first : first + half]]

    def _bone(self, joint: int) -> Array | None:
        """(F, 3) from a joint to the middle of its children and ends; None if they are where it is.

        From one motor of a robot's joint to the next leads no bone.
        """
        skeleton = self.motion.skeleton
        kinds = {skeleton.kinds[other] for other in (joint, *skeleton.children[joint])}
        if len(skeleton.children[joint]) == 1 and kinds == {JointKind.HINGE}:
            return None
        ends = [end for end in skeleton.ends if end.joint == skeleton.names[joint]]
        tips = [self.pose.positions[:, child] for child in skeleton.children[joint]]
        tips += list(self.pose.points(ends).swapaxes(0, 1)) if ends else []
        bone = np.mean(tips, axis=0) - self.pose.positions[:, joint] if tips else np.zeros((1, 3))
        return bone if float(np.linalg.norm(bone, axis=1).min()) > self.min_length else None

    def _foot_rotations(self, part: str) -> dict[int, Array]:
        """World rotations of both feet, or toes: as they are on the floor, and pointing forwards.

        Feet of a capture slope by some degrees more or less than each other. If one is much steeper, the flatter one
        counts: the other one stood on its toes. Toes lie on the floor either way, each with its own slope.
        """
        ups: dict[int, Array] = {}
        bones: dict[int, Array] = {}
        known: dict[int, Array] = {}
        for side in ("left", "right"):
            foot, toe, joint = (self.joints.get(f"{side}_{name}") for name in ("foot", "toe", part))
            if foot is None or joint is None:
                continue
            if joint == foot and (on_sole := self._rotations_on_sole(foot)):
                known |= on_sole
                continue
            frames = self._standing_frames([foot] if toe is None else [foot, toe])
            shown = unrotate(self.pose.rotations[frames, joint], UP).mean(axis=0)
            rest = unrotate(self.base[joint], UP)
            upright = float(self.trunk[frames, 1].mean()) > MIN_STANDING_TRUNK_SINE
            is_flat = upright and float(np.linalg.norm(shown)) > MIN_FLAT_COHERENCE
            if self.stands and self.motion.num_frames > 1:
                is_flat &= len(frames) >= MIN_STANDING_FRAMES and self._shows_sole(side, joint, frames, shown, rest)
            ups[joint] = unit(shown if is_flat else rest)
            bone = self._bone(joint) if joint != foot or toe is None else self.line(f"{side}_foot", f"{side}_toe")
            bones[joint] = unit(unrotate(self.base[joint], FORWARD) if bone is None else self.seen(joint, bone))
        slopes = {joint: float(np.arcsin(np.clip(-ups[joint] @ bones[joint], -1.0, 1.0))) for joint in ups}
        for joint, up in ups.items():
            if abs(slopes[joint]) > MAX_SLOPE_RADIANS:
                bones[joint] = unrotate(self.base[joint], FORWARD)
            else:
                flatter, own = min(slopes.values()), slopes[joint]
                flat = own if part == "toe" or own < flatter + MAX_UNEVEN_SLOPE_RADIANS else flatter
                excess = own - min(flat, self._max_flat_slope(joint, bones[joint]))
                up = rotate(from_axis_angle(unit(cross(up, bones[joint])), excess), up)
            known[joint] = _orient(up, bones[joint], UP, FORWARD)
        return known

    def _rotations_on_sole(self, foot: int) -> dict[int, Array]:
        """World rotations of the motors of a foot that stands on a flat sole, ahead and with level hinges."""
        skeleton, sole = self.motion.skeleton, find_sole(self.motion.skeleton, foot)
        if sole is None or sole.along is None:
            return {}
        ahead = self.seen(sole.joint, cross(unit(self.hip_line), UP))
        along = sole.along * np.sign(ahead @ sole.along)
        if float(along @ unit(ahead)) < MIN_HEADING_COSINE:
            return {}
        known = {sole.joint: _orient(sole.up, along, UP, FORWARD)}
        chain = skeleton.chain(sole.joint)
        for below, joint in pairwise(reversed(chain[chain.index(foot) :])):
            # The hinge below is at the angle at which the one above is as level as it can be.
            rest, axis = skeleton.rest[below], skeleton.axes[below, 0]
            upper = unrotate(rest, skeleton.axes[joint, 0])
            level = unrotate(known[below], cross(rotate(known[below], axis), UP))
            level = level * np.sign(
                level @ self.seen(below, rotate(self.pose.rotations[:, joint], skeleton.axes[joint, 0]))
            )
            angle = np.arctan2(axis @ cross(level, upper), level @ upper - (level @ axis) * (upper @ axis))
            known[joint] = multiply(known[below], conjugate(multiply(rest, from_axis_angle(axis, angle))))
        return known

    def _max_flat_slope(self, joint: int, bone: Array) -> float:
        """Radians that the bone of a flat foot may slope down, given its direction (3,) in the foot's frame.

        A short foot of a standing rest pose may be steep: from an ankle at the usual height to a toe just ahead of it.
        """
        if not self.stands:
            return float(MAX_FLAT_SLOPE_RADIANS)
        sine = float(np.clip(-(rotate(self.base[joint], bone) @ UP), -1.0, 1.0))
        tips = [float(self.motion.skeleton.lengths[child]) for child in self.motion.skeleton.children[joint]]
        drop = sine * max(tips, default=np.inf) / leg_length(self.motion.skeleton)
        return float(max(MAX_FLAT_SLOPE_RADIANS, np.arcsin(sine) if drop < MAX_ANKLE_DROP_LEGS else 0.0))

    def _shows_sole(self, side: str, joint: int, frames: np.ndarray, shown: Array, rest: Array) -> bool:
        """Whether the direction (3,) that is up in some frames, in the frame of a foot, is believed against that of the
        rest pose: if they are near each other, or if the shin stands on what is shown and not on the other, and the
        foot does not flip over."""
        shins = unrotate(self.pose.rotations[:, joint], -unit(self.line(f"{side}_lower_leg", f"{side}_foot")))
        above, shown = unit(shins[frames].mean(axis=0)), unit(shown)
        if float(shown @ rest) > MIN_FOOT_COSINE:
            return True
        stands = float(shown @ above) > MIN_FOOT_COSINE > float(rest @ above)
        return stands and float(np.linalg.norm(shins.mean(axis=0))) > MIN_COHERENCE

    def differences(self, world: Array) -> dict[str, float]:
        """Radians between world rotations (J, 4) and the standing rest pose by part; of limbs, the twist alone."""
        result = {}
        for part, joint in self.joints.items():
            name = part.removeprefix("left_").removeprefix("right_")
            base = self.base[joint]
            if name in ("upper_arm", "lower_arm", "upper_leg", "lower_leg"):
                below = {"upper_arm": "lower_arm", "lower_arm": "hand", "upper_leg": "lower_leg", "lower_leg": "foot"}
                end = part.replace(name, below[name])
                if end not in self.joints:
                    continue
                along = unit(self.seen(joint, self.line(part, end)))
                goal = rotate(world[joint], along)
                base = multiply(between(rotate(base, along), goal), base)
            elif name not in ("hips", "spine", "chest", "foot", "head"):
                continue
            if name == "foot":
                # The heading of a foot is given by its bone.
                base = multiply(between(rotate(base, unrotate(world[joint], UP)), UP), world[joint])
            result[part.replace("_", " ")] = float(angle_between(base, world[joint]))
        return result
