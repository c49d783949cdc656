"""Checks and reports of transitions and analogies: the result is compared with the motions it is made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.base.quaternion import Array, from_axis_angle, multiply, rotate
from understudy.constraints.joint_range import JointRange
from understudy.correspondence.limits import joint_limits
from understudy.figure.contacts import contact_points, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing, leg_length, partners
from understudy.figure.motion import Motion
from understudy.figure.roles import side
from understudy.figure.skeleton import Skeleton
from understudy.metrics.base import ADULT_LEG_METRES, Report, evaluate_quickly, percent
from understudy.metrics.comparison import Comparison, MainPaths, Reference, main_joints, main_path, match_main_joints
from understudy.metrics.guard import (
    MAX_PLANT_DISTANCE_METRES,
    MIN_KEPT_CONTACT_SHARE,
    UP,
    describe_limit_breach,
    describe_lost_contacts,
    describe_scatter,
    find_failures,
    find_stands,
    is_frozen,
    opposite_correlation,
    side_differences,
    wrong_way_degrees,
)

if TYPE_CHECKING:
    from understudy.analogy.result import Analogy
    from understudy.transition import Transition


def transition_failures(transition: Transition, first: Motion, second: Motion) -> list[str]:
    """Why a transition is unusable, a sentence each; empty for a usable one.

    Before and after the blend it must follow the two motions. During the blend it must move.
    """
    num_blend = transition.end - transition.start
    if second.fps != first.fps:
        second = second.resampled(first.fps)
    parts = (
        (0, "the first part", transition.motion[: transition.start + 1], first[: transition.start + 1]),
        (
            0,
            "the blend",
            transition.motion[transition.start : transition.end + 1],
            first[transition.start : transition.start + num_blend + 1],
        ),
        (
            1,
            "the last part",
            transition.motion[transition.end :],
            _rotate_about_vertical(second[transition.entry :], transition.turn),
        ),
    )
    messages = []
    for body, name, part, source in parts:
        result = part
        if transition.meta is not None:
            result = (transition.meta.to_source, transition.meta.to_target)[body](part)
        if name == "the blend":
            # Only the start of the blend follows the first motion. The blend must move, keep the limits and not slide.
            sentences = [describe_scatter(source, result), "stands still" if is_frozen(source, result) else ""]
            sentences += [] if sentences[0] else [_limit_failure(transition, part, first, second), _sliding(transition)]
        elif _is_same_movement(result, source):
            sentences = []
        else:
            sentences = [*find_failures(result, source, contacts=detect_contacts(source, contact_points(source)))]
        messages += [f"{name} {sentence}" for sentence in sentences if sentence]
    return messages


def _is_same_movement(result: Motion, source: Motion) -> bool:
    """Whether a part of a transition is its source, wherever it is on the floor: then nothing is wrong with it."""
    if result.rotations.shape != source.rotations.shape:
        return False
    paths = [fk(motion).positions for motion in (result, source)]
    away = paths[0] - paths[1]
    return bool(np.abs(away - away[:1, :1]).max(initial=0.0) < MAX_COPY_ERROR_METRES)


MAX_COPY_ERROR_METRES = 1e-6
"""A part of a transition that is nearer to its source is a copy of it."""


def transition_report(transition: Transition, first: Motion, second: Motion, failures: Sequence[str] = ()) -> Report:
    """The quick metrics of a transition against both its motions.

    At a frame of the blend the rougher of the two motions at the matched times is what it is compared with.

    Args:
        transition: The transition.
        first: The motion that it leaves.
        second: The motion that it enters.
        failures: Why it is unusable (`transition_failures`).
    """
    motion = transition.motion
    if second.fps != first.fps:
        second = second.resampled(first.fps)
    bodies = [main_joints(body.skeleton) for body in (first, second)]
    joints = match_main_joints(motion.skeleton, None)
    joints = joints.taken([i for i, role in enumerate(joints.roles) if all(role in body for body in bodies)])
    legs = leg_length(first.skeleton), leg_length(second.skeleton)
    references = tuple(
        Reference(path=main_path(body, [body_joints[role] for role in joints.roles]), leg=leg, frames=frames)
        for body, body_joints, leg, frames in zip(
            (first, second), bodies, legs, _source_frames(transition, first.fps), strict=True
        )
    )
    paths = MainPaths(
        joints=joints,
        result=main_path(motion, joints.result),
        source=None,
        carried=None,
        result_leg=_legs_over_blend(transition, legs),
        source_leg=legs[0],
        fps=motion.fps,
        references=references,
    )
    outcomes = () if transition.solution is None else transition.solution.outcomes
    case = Comparison(result=motion, outcomes=outcomes, known_paths=paths)
    remedy = "another --leave or --enter, or a longer --seconds, may be smoother"
    return evaluate_quickly(case, failures, only=("path_jerk", "pop", "goal"), remedy=remedy)


def _source_frames(transition: Transition, fps: float) -> tuple[np.ndarray, np.ndarray]:
    """For each frame of a transition the frames of the first and of the second motion; -1 for none."""
    num_frames, num_blend = transition.motion.num_frames, transition.end - transition.start + 1
    frames = np.full((2, num_frames), -1)
    frames[0, : transition.start] = np.arange(transition.start)
    for row, times in zip(frames, (transition.match.first, transition.match.second), strict=True):
        matched = np.interp(np.linspace(0.0, 1.0, num_blend), np.linspace(0.0, 1.0, len(times)), times)
        row[transition.start : transition.end + 1] = np.rint(matched * fps)
    frames[1, transition.end :] = transition.entry + np.arange(num_frames - transition.end)
    return frames[0], frames[1]


def _legs_over_blend(transition: Transition, legs: tuple[float, float]) -> Array:
    """(F,) metres: the leg length of each frame, from that of the first body to that of the second."""
    frames = np.arange(transition.motion.num_frames)
    return np.interp(frames, [transition.start, transition.end], legs)


def analogy_report(analogy: Analogy, failures: Sequence[str] = ()) -> Report:
    """The quick metrics of an analogy against the same motion before its feet were planted.

    Args:
        analogy: The analogy.
        failures: Why it is unusable (`analogy_failures`).
    """
    outcomes = () if analogy.solution is None else analogy.solution.outcomes
    case = Comparison(result=analogy.motion, source=analogy.raw, contacts=analogy.stepping.contacts, outcomes=outcomes)
    remedy = "--no-clean leaves the feet as they are; other examples, --without or marker pairs may fit better"
    return evaluate_quickly(case, failures, remedy=remedy)


def _limit_failure(transition: Transition, blend: Motion, first: Motion, second: Motion) -> str:
    """How a joint exceeds its limits during a blend; empty if none does, or if the body changes and has no limits."""
    if transition.meta is not None:
        return ""
    root = np.concatenate([first.root, second.root])
    rotations = np.concatenate([first.rotations, second.rotations])
    limits, _ = joint_limits(replace(first, root=root, rotations=rotations))
    return describe_limit_breach(Comparison(result=blend), limits)


def _sliding(transition: Transition) -> str:
    """A sentence if most contacts slide during the blend: their points are far from their places on average."""
    near = MAX_PLANT_DISTANCE_METRES * transition.leg / ADULT_LEG_METRES
    # A sliding point still keeps its height and stays on the floor, so constraints on those tell nothing.
    kept = [
        o.mean <= near
        for o in transition.measure()
        if o.constraint.kind != "region" and getattr(o.constraint, "axes", "") != "y"
    ]
    share = sum(kept) / len(kept) if kept else 1.0
    if share >= MIN_KEPT_CONTACT_SHARE:
        return ""
    return f"is without its source's contacts: {percent(1.0 - share)} of what should stand does not stay there"


def _rotate_about_vertical(motion: Motion, angle: float) -> Motion:
    """A motion rotated about the vertical by an angle in radians."""
    rotation = from_axis_angle(UP, np.array(angle))
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(rotation, rotations[:, 0])
    return replace(motion, root=rotate(rotation, motion.root), rotations=rotations)


def analogy_failures(analogy: Analogy) -> list[str]:
    """Why an analogy is unusable, a sentence each; empty for a usable one.

    B's facing is compared with that of its example, and its sides with what the matches ask of them; neither is
    compared with A. A crab may walk sideways, and the examples decide which leg of a dog steps with which leg of a man.
    """
    fault = describe_scatter(analogy.new.motion, analogy.motion)
    if fault:
        return [f"the result {fault}"]
    if is_frozen(analogy.new.motion, analogy.motion):
        return ["the result stands still while the source moves"]
    example = None if analogy.b is None else analogy.b.course.off(analogy.b.motion)
    if example is not None:
        facings = [facing(motion).mean(axis=0) for motion in (example, analogy.level)]
        if angle := wrong_way_degrees(facings[0], facings[1], np.array([True])):
            return [f"the result faces the other way: {angle:.0f} degrees from where B's example faces as it moves"]
        mirrored = _mirrored(analogy) if analogy.motion.num_frames == len(analogy.wanted) else ""
        if mirrored:
            return [f"the result {mirrored}"]
    constraints = () if analogy.solution is None else analogy.solution.problem.constraints
    limits = [constraint for constraint in constraints if isinstance(constraint, JointRange)]
    comparison = Comparison(result=analogy.motion)
    sentences = (
        describe_limit_breach(comparison, limits),
        describe_lost_contacts(comparison.pose, find_stands(constraints, analogy.motion)),
    )
    return [f"the result {sentence}" for sentence in sentences if sentence]


def _mirrored(analogy: Analogy) -> str:
    """A sentence if the markers on B's left move as those on its right should, where the sides should differ."""
    goal, skeleton = analogy.attempt.goal, analogy.motion.skeleton
    rows = _opposite_markers(goal.joints, skeleton)
    if not rows.size:
        return ""
    pose = fk(analogy.motion)
    markers = pose.positions[:, goal.joints] + rotate(pose.rotations[:, goal.joints], goal.offsets)
    # The goal positions belong to a body without a path, which faces as the level motion does.
    forward = np.broadcast_to(facing(analogy.level).mean(axis=0), (len(markers), 3))
    leads = []
    for positions, forwards in ((analogy.wanted, forward), (markers, facing(analogy.motion))):
        lead = side_differences(positions, rows, forwards) / leg_length(skeleton)
        leads.append(lead - lead.mean(axis=0))
    correlation = opposite_correlation(*leads)
    if correlation is None:
        return ""
    return f"is mirrored: its left does what its right should do (correlation of the sides {correlation:.2f})"


def _opposite_markers(joints: np.ndarray, skeleton: Skeleton) -> np.ndarray:
    """(2, N) indices of matched markers on a left joint and on its partner on the right, as many as both have."""
    partner = partners(skeleton)
    pairs: list[tuple[int, int]] = []
    for joint in dict.fromkeys(joints.tolist()):
        if side(skeleton.names[joint]) == "left" and partner[joint] != joint:
            pairs += list(zip(np.flatnonzero(joints == joint), np.flatnonzero(joints == partner[joint])))
    return np.array(pairs, dtype=np.intp).reshape(-1, 2).T
