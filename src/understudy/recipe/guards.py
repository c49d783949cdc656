"""What the guard is asked about transitions and analogies: each part against what it was to be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.base.quaternion import from_axis_angle, multiply, rotate
from understudy.constraints.joint_range import JointRange
from understudy.correspondence.limits import joint_limits
from understudy.figure.contacts import contact_points, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing, leg_length
from understudy.figure.motion import Motion
from understudy.figure.naming import side
from understudy.figure.skeleton import Skeleton
from understudy.figure.symmetry import partners
from understudy.metrics.base import ADULT, percent
from understudy.metrics.comparison import Comparison
from understudy.metrics.guard import (
    LOST,
    NEAR,
    UP,
    ahead_of,
    away_from,
    failures,
    frozen,
    off_limits,
    opposite,
    scattered,
    stands_of,
    uprooted,
)
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.base import solution

if TYPE_CHECKING:
    from understudy.analogy.result import Analogy
    from understudy.transition import Transition


def transition_failures(found: Transition, first: Motion, second: Motion) -> list[str]:
    """What makes a transition no use: before and after the blend it must be the two motions, and move between them."""
    count = found.end - found.start
    if second.fps != first.fps:
        second = second.resampled(first.fps)
    parts = (
        (0, "the first part", found.motion[: found.start + 1], first[: found.start + 1]),
        (0, "the blend", found.motion[found.start : found.end + 1], first[found.start : found.start + count + 1]),
        (1, "the last part", found.motion[found.end :], _turned_by(second[found.entry :], found.turn)),
    )
    said = []
    for which, name, result, source in parts:
        own = result
        if found.meta is not None:
            own = (found.meta.to_source, found.meta.to_target)[which](result)
        if name == "the blend":
            # Over the blend only the beginning is the first motion's: it has to move, within its limits, and to stand.
            sentences = [scattered(source, own), "stands still" if frozen(source, own) else ""]
            sentences += [] if sentences[0] else [_bent(found, result, first, second), _sliding(found)]
        else:
            sentences = [*failures(own, source, contacts=detect_contacts(source, contact_points(source)))]
        said += [f"{name} {sentence}" for sentence in sentences if sentence]
    return said


def _bent(found: Transition, blend: Motion, first: Motion, second: Motion) -> str:
    """Whether a joint is off its limits over a blend; a body that turns into another has none of its own."""
    if found.meta is not None:
        return ""
    both = [np.concatenate([getattr(each, name) for each in (first, second)]) for name in ("root", "rotations")]
    limits, _ = joint_limits(replace(first, root=both[0], rotations=both[1]))
    return off_limits(Comparison(result=blend), limits)


def _sliding(found: Transition) -> str:
    """Whether what is to stand over a blend does not: of most of it, the point is not near its place on average."""
    if found.solution is None:
        return ""
    asked, count = found.solution.problem.constraints, len(found.solution.problem.times)
    end = min(found.end + 2, found.motion.num_frames)
    now = Problem(actors=(Actor(motion=found.motion[end - count : end]),), constraints=asked)
    outcomes = solution(now, now.bodies, solver="", steps=0, seconds=0.0).outcomes
    near = NEAR * found.leg / ADULT
    # A height alone, or the floor, is kept by what slides over it.
    kept = [
        o.mean <= near for o in outcomes if o.constraint.kind != "region" and getattr(o.constraint, "axes", "") != "y"
    ]
    share = sum(kept) / len(kept) if kept else 1.0
    if share >= LOST:
        return ""
    return f"is without its source's contacts: {percent(1.0 - share)} of what should stand does not stay there"


def _turned_by(motion: Motion, angle: float) -> Motion:
    """A motion turned about the vertical, radians."""
    turn = from_axis_angle(UP, np.array(angle))
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    return replace(motion, root=rotate(turn, motion.root), rotations=rotations)


def analogy_failures(found: Analogy) -> list[str]:
    """What makes an analogy no use, a sentence each; none for a sound one.

    B's facing is compared with its example's and its sides with what the matches ask of them, not with A's own: a crab
    may go sideways, and which leg of a dog steps with which of a man is for the examples to say.
    """
    said = scattered(found.new.motion, found.motion)
    if said:
        return [f"the result {said}"]
    if frozen(found.new.motion, found.motion):
        return ["the result stands still while the source moves"]
    example = None if found.b is None else found.b.course.off(found.b.motion)
    if example is not None:
        ways = [facing(each).mean(axis=0) for each in (example, found.level)]
        if away := away_from(ways[0], ways[1], np.array([True])):
            return [f"the result faces the other way: {away:.0f} degrees from where B's example faces on its way"]
        exchanged = _exchanged(found) if found.motion.num_frames == len(found.wanted) else ""
        if exchanged:
            return [f"the result {exchanged}"]
    asked = () if found.solution is None else found.solution.problem.constraints
    limits = [each for each in asked if isinstance(each, JointRange)]
    take = Comparison(result=found.motion)
    sentences = off_limits(take, limits), uprooted(take.pose, stands_of(asked, found.motion))
    return [f"the result {sentence}" for sentence in sentences if sentence]


def _exchanged(found: Analogy) -> str:
    """Whether the markers of B's left do what those of its right are to do, where the two are not to do the same."""
    goal, skeleton = found.attempt.goal, found.motion.skeleton
    rows = _opposite(goal.joints, skeleton)
    if not rows.size:
        return ""
    pose = fk(found.motion)
    made = pose.positions[:, goal.joints] + rotate(pose.rotations[:, goal.joints], goal.offsets)
    # What is wanted is told of a body without a way of its own, headed as the level motion is.
    forward = np.broadcast_to(facing(found.level).mean(axis=0), (len(made), 3))
    ahead = []
    for places, way in ((found.wanted, forward), (made, facing(found.motion))):
        more = ahead_of(places, rows, way) / leg_length(skeleton)
        ahead.append(more - more.mean(axis=0))
    together = opposite(*ahead)
    if together is None:
        return ""
    return f"is mirrored: its left does what its right is to do (correlation of the sides {together:.2f})"


def _opposite(joints: np.ndarray, skeleton: Skeleton) -> np.ndarray:
    """(2, N) rows of matched markers on a joint of the left and on its partner, as many as both have."""
    pair = partners(skeleton)
    found: list[tuple[int, int]] = []
    for joint in dict.fromkeys(joints.tolist()):
        if side(skeleton.names[joint]) == "left" and pair[joint] != joint:
            found += list(zip(np.flatnonzero(joints == joint), np.flatnonzero(joints == pair[joint])))
    return np.array(found, dtype=np.intp).reshape(-1, 2).T
