"""Tries a map before it is believed: poses the target through a small range of motion and looks at what a viewer sees.

The source is put into its neutral pose, its limbs are bent one by one, and everything is carried over to the target. A
map of two bodies that stand alike must keep the feet lowest and the head on top, bend knees and elbows the way the
source's bend, and leave nothing unmoved. Of other bodies only the last is asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from understudy.base.quaternion import Array, conjugate, cross, from_axis_angle, multiply
from understudy.correspondence.alignment import Alignment, align
from understudy.correspondence.carry import transfer_motion
from understudy.correspondence.pairs import Correspondence
from understudy.correspondence.parts import BodyPlan, Limb
from understudy.figure.contacts import Floor
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import UP
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import JointKind, Skeleton

MAX_TRIAL_FRAMES = 48
"""Frames of a long motion that are looked at for the neutral pose."""

BENDS_DEGREES = {"upper": 30.0, "lower": 45.0}
"""Turns of the parts of a limb: all swing to the front, but shins to the back."""

WIGGLE_DEGREES = 8.0
"""Turn of every bone against its parent about each axis of the world, to see what moves."""

MIN_MOVED_DEGREES = 1.0
"""Turn of a bone against its parent below which it is unmoved."""

MIN_BEND_SHARE = {"leg": 0.2, "arm": -0.1}
"""Share of the source's movement, in limb lengths, that the end of a limb must make the same way; an arm of few motors
has to take other ways."""

MIN_VISIBLE_BEND = 0.15
"""Movement of the end of the source's limb, in limb lengths, that can be asked of the target."""

MAX_FOOT_RISE_SHARE = 0.12
"""Height of the feet above the lowest point, as a share of the body's height."""

MIN_FOOT_SHARE = 0.05
"""Length that a foot reaches ahead of its ankle, in lengths of the leg."""

MIN_HEAD_SHARE = 0.6
"""Height of the head as a share of the body's height."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """What a viewer would find wrong about a map."""

    sentence: str
    bones: frozenset[str] = frozenset()
    """The target's bones that show it; empty if it concerns the whole body."""
    stops: bool = False
    """Whether no motion can be made with such a map."""
    exchanged: bool = False
    """Whether left and right seem to be exchanged."""


def try_map(
    correspondence: Correspondence,
    source: BodyPlan,
    target: BodyPlan,
    *,
    source_motion: Motion | None = None,
    target_motion: Motion | None = None,
) -> tuple[Failure, ...]:
    """Find what a viewer would find wrong about a map; nothing if it passes.

    Args:
        correspondence: The map.
        source: The parts of the source.
        target: The parts of the target.
        source_motion: A motion of the source, for its neutral pose.
        target_motion: A motion of the target.
    """
    alignment = align(correspondence, source_motion=_thinned(source_motion), target_motion=_thinned(target_motion))
    trial = _Trial(alignment, source, target)
    failures = trial.check_moved()
    if source.kind == target.kind == "biped" and trial.stands:
        failures = [*trial.check_standing(), *trial.check_limbs(), *failures]
    return tuple(failures)


def _thinned(motion: Motion | None) -> Motion | None:
    if motion is None or motion.num_frames <= MAX_TRIAL_FRAMES:
        return motion
    return motion[np.unique(np.linspace(0, motion.num_frames - 1, MAX_TRIAL_FRAMES).astype(int))]


class _Trial:
    """A range of motion of the source, carried over to the target."""

    def __init__(self, alignment: Alignment, source: BodyPlan, target: BodyPlan) -> None:
        self.alignment, self.correspondence = alignment, alignment.correspondence
        self.source, self.target = source, target
        skeleton = self.correspondence.source
        still = replace(rest_motion(skeleton), rotations=alignment.source[None])
        self.still = fk(still)
        self.left = _find_left(source, self.still)
        self.frames: dict[str, int] = {"still": 0}
        poses = [alignment.source]
        for name, turns in self._turns():
            self.frames[name] = len(poses)
            poses.append(_turn(skeleton, alignment.source, turns))
        motion = Motion(
            skeleton=skeleton, fps=30.0, root=np.repeat(still.root, len(poses), axis=0), rotations=np.array(poses)
        )
        self.source_pose = fk(motion)
        floor = Floor(slope=np.zeros(2))
        self.carried = transfer_motion(motion, alignment, floor=floor, ratio=1.0)
        self.target_pose = fk(self.carried)

    def _turns(self) -> Iterable[tuple[str, dict[int, Array]]]:
        """Names of frames and the world turns (4,) of joints in them."""
        for limb, _ in self._limbs() if self.left is not None else ():
            for part in BENDS_DEGREES:
                if part in limb.parts:
                    yield f"{limb.side} {limb.kind} {part}", {limb.parts[part][0]: self._bend(limb, part)}
        index = self.correspondence.source.index
        paired = [index[bone] for pair in self.correspondence.pairs for bone in pair.source]
        for axis in range(3):
            turn = from_axis_angle(np.eye(3)[axis], np.radians(WIGGLE_DEGREES))
            yield f"wiggle {axis}", dict.fromkeys(paired, turn)

    def _bend(self, limb: Limb, part: str) -> Array:
        """(4,) the turn in the world that swings a part of the source's limb to the front, or a shin to the back."""
        assert self.left is not None
        along = _limb_vector(self.source, limb, part, self.still, 0)
        forward = cross(self.left, UP) * (-1.0 if limb.kind == "leg" and part == "lower" else 1.0)
        axis = cross(along, forward)
        # What already points there is raised.
        axis = axis if np.linalg.norm(axis) > 0.3 * np.linalg.norm(along) else cross(along, UP)
        length = float(np.linalg.norm(axis))
        axis = axis / length if length > 1e-9 else self.left
        return from_axis_angle(axis, np.radians(BENDS_DEGREES[part]))

    def _limbs(self) -> list[tuple[Limb, Limb]]:
        """Limbs of the source, each with the limb of the target that plays it."""
        pairs = []
        for limbs, others in zip(self.source.limbs, self.target.limbs):
            pairs += [(a, b) for a, b in zip(limbs, others) if a.kind == b.kind]
        return pairs

    @property
    def stands(self) -> bool:
        """Whether the source itself stands in its neutral pose, so that the target can be asked to."""
        return self.left is not None and not list(_standing_failures(self.source, self.source_pose))

    def check_standing(self) -> list[Failure]:
        """Feet lowest, head on top, feet pointing ahead."""
        failures = list(_standing_failures(self.target, self.target_pose))
        assert self.left is not None
        forward = cross(self.left, UP)
        feet = [
            float(_foot_direction(plan, limb, pose) @ forward)
            for plan, pose, number in ((self.source, self.source_pose, 0), (self.target, self.target_pose, 1))
            for limb in (pair[number] for pair in self._limbs() if pair[0].kind == "leg")
        ]
        ahead, behind = feet[: len(feet) // 2], feet[len(feet) // 2 :]
        if feet and min(ahead) > MIN_FOOT_SHARE and max(behind) < -MIN_FOOT_SHARE:
            sentence = "the feet point backwards, as if left and right were exchanged"
            failures.append(Failure(sentence=sentence, exchanged=True))
        return failures

    def check_limbs(self) -> list[Failure]:
        """Knees and elbows bend the way the source's bend."""
        failures = []
        for limb, other in self._limbs():
            for part in BENDS_DEGREES:
                frame = self.frames.get(f"{limb.side} {limb.kind} {part}")
                if frame is None or part not in other.parts:
                    continue
                goal = _end_movement(self.source, limb, part, self.source_pose, frame)
                moved = _end_movement(self.target, other, part, self.target_pose, frame)
                if np.linalg.norm(goal) < MIN_VISIBLE_BEND or not moved.any():
                    continue
                if float(moved @ goal) > MIN_BEND_SHARE[limb.kind] * float(goal @ goal):
                    continue
                joint = self.target.skeleton.names[other.parts[part][0]]
                what = {"upper": "swings", "lower": "bends"}[part]
                failures.append(
                    Failure(
                        sentence=f"the {limb.side} {limb.kind} {what} at `{joint}` the other way, or not at all",
                        bones=frozenset(self.target.skeleton.names[j] for j in other.bones),
                    )
                )
        return failures

    def check_moved(self) -> list[Failure]:
        """Every bone in a pair moves."""
        skeleton, failures = self.correspondence.target, []
        wiggles = [frame for name, frame in self.frames.items() if name.startswith("wiggle")]
        for pair in self.correspondence.pairs:
            joints = [skeleton.index[bone] for bone in pair.target]
            if pair is self.correspondence.root or all(skeleton.kinds[j] is JointKind.FIXED for j in joints):
                continue
            local = self.carried.rotations[:, joints]
            dots = np.abs(np.einsum("fji,ji->fj", local[wiggles], local[0]))
            if 2.0 * np.degrees(np.arccos(np.clip(dots.min(), 0.0, 1.0))) < MIN_MOVED_DEGREES:
                names = ", ".join(f"`{bone}`" for bone in pair.target)
                failures.append(Failure(sentence=f"{names} stays unmoved", bones=frozenset(pair.target)))
        return failures


def _find_left(plan: BodyPlan, pose: Pose) -> Array | None:
    """(3,) the level direction to the left of a body in the first frame; None if it has no limbs apart."""
    lines = [
        pose.positions[0, left.bones[0]] - pose.positions[0, right.bones[0]]
        for left, right in plan.limbs
        if left.bones and right.bones
    ]
    across = np.sum(lines, axis=0) * [1.0, 0.0, 1.0] if lines else np.zeros(3)
    length = float(np.linalg.norm(across))
    return across / length if length > 1e-9 else None


def _turn(skeleton: Skeleton, local: Array, turns: dict[int, Array]) -> Array:
    """(J, 4) local rotations with some joints turned in the world."""
    world = np.empty_like(local)
    result = local.copy()
    for joint in range(skeleton.num_joints):
        parent = int(skeleton.parents[joint])
        above = np.array([1.0, 0.0, 0.0, 0.0]) if parent < 0 else world[parent]
        world[joint] = multiply(above, local[joint])
        if joint in turns:
            world[joint] = multiply(turns[joint], world[joint])
        result[joint] = multiply(conjugate(above), world[joint])
    return result


def _standing_failures(plan: BodyPlan, pose: Pose) -> Iterable[Failure]:
    skeleton = plan.skeleton
    heights = pose.positions[0, :, 1]
    body = skeleton.below(plan.root)
    tips = pose.points(skeleton.ends)[0][:, 1] if skeleton.ends else np.empty(0)
    lowest = min(float(heights[body].min()), float(tips.min(initial=np.inf)))
    height = max(float(heights[body].max()), float(tips.max(initial=-np.inf))) - lowest
    legs = [limb for pair in plan.limbs for limb in pair if limb.kind == "leg" and limb.bones]
    for limb in legs:
        below = skeleton.below(limb.bones[-1])
        ends = [float(tips[i]) for i, end in enumerate(skeleton.ends) if below[skeleton.index[end.joint]]]
        foot = min([float(heights[below].min()), *ends])
        if foot - lowest > MAX_FOOT_RISE_SHARE * height:
            name = skeleton.names[limb.bones[-1]]
            yield Failure(sentence=f"the {limb.side} foot, `{name}`, is not on the ground", stops=True)
    arms = [limb for pair in plan.limbs for limb in pair if limb.kind == "arm" and limb.bones]
    if legs and arms:
        hips, shoulders = (np.mean([heights[limb.bones[0]] for limb in limbs]) for limbs in (legs, arms))
        if hips >= shoulders:
            yield Failure(sentence="the legs begin above the arms", stops=True)
    for joint in plan.trunk.get("head", ())[:1]:
        if heights[joint] - lowest < MIN_HEAD_SHARE * height:
            yield Failure(sentence=f"the head, `{skeleton.names[joint]}`, is not on top", stops=True)


def _foot_direction(plan: BodyPlan, limb: Limb, pose: Pose) -> Array:
    """(3,) level vector from the ankle to the ends of the foot in the first frame, in leg lengths; 0 without a foot."""
    if "end" not in limb.parts:
        return np.zeros(3)
    skeleton, foot = plan.skeleton, limb.parts["end"][0]
    below = skeleton.below(foot)
    points = [*pose.positions[0, below & (np.arange(skeleton.num_joints) != foot)]]
    points += [*pose.points([end for end in skeleton.ends if below[skeleton.index[end.joint]]])[0]]
    leg = np.linalg.norm(pose.positions[0, limb.bones[0]] - pose.positions[0, foot])
    if not points or leg < 1e-9:
        return np.zeros(3)
    return (np.mean(points, axis=0) - pose.positions[0, foot]) * [1.0, 0.0, 1.0] / leg


def _limb_vector(plan: BodyPlan, limb: Limb, part: str, pose: Pose, frame: int) -> Array:
    """(3,) metres from a part of a limb to the end of the limb."""
    skeleton, top = plan.skeleton, limb.parts[part][0]
    last = limb.bones[-1]
    tips = [end for end in skeleton.ends if skeleton.index[end.joint] == last]
    end = pose.points(tips)[frame].mean(axis=0) if tips else pose.positions[frame, last]
    return end - pose.positions[frame, top]


def _end_movement(plan: BodyPlan, limb: Limb, part: str, pose: Pose, frame: int) -> Array:
    """(3,) movement of a limb's end against a part of the limb, in lengths of the limb below it; 0 if it ends there."""
    still, moved = (_limb_vector(plan, limb, part, pose, number) for number in (0, frame))
    length = float(np.linalg.norm(still))
    return (moved - still) / length if length > 1e-6 else np.zeros(3)
