"""Constraints: how well those of a solve are met, and how often and how far joints leave their ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.constraints.base import ConstraintInput
from understudy.constraints.joint_range import JointRange
from understudy.correspondence.limits import human_limits, skeleton_limits
from understudy.figure.measures import rest_pose_kind
from understudy.figure.motion import Motion, rest_motion
from understudy.metrics.base import CAPTURED, Curve, Figure, Grade, Measurement, Metric, millimetres, percent
from understudy.metrics.comparison import Comparison

REACHED_SOURCE = "Lommers13 sec. 7.1: constraints count as met within 1.5 cm"


@record(eq=True)
class GoalMetric(Metric):
    """Residuals of the constraints: metres for places, degrees for angles."""

    name: ClassVar[str] = "goal"
    title: ClassVar[str] = "goal reached"
    quick: ClassVar[bool] = True
    remedy: ClassVar[str] = (
        "what is missed is out of reach or against others: --plants free lets the target step where it can, and a "
        "recipe can shorten or remove a constraint"
    )
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="worst_distance", noticeable=0.005, bad=0.015, source=REACHED_SOURCE, metres=True),
        Grade(figure="worst_angle", noticeable=2.0, bad=10.0),
    )

    def measure(self, case: Comparison) -> Measurement:
        if not case.outcomes:
            return self.not_measured("no constraints are given")
        places = [outcome for outcome in case.outcomes if not outcome.constraint.angular]
        angles = [outcome for outcome in case.outcomes if outcome.constraint.angular]
        missed = [outcome for outcome in case.outcomes if not outcome.met]
        distance = max((outcome.worst for outcome in places), default=None)
        angle = max((float(np.degrees(outcome.worst)) for outcome in angles), default=None)
        figures = [
            Figure(name="constraints", value=float(len(case.outcomes)), unit="count", about="what was asked for"),
            Figure(name="missed", value=float(len(missed)), unit="count", about="constraints beyond their tolerance"),
            Figure(name="worst_distance", value=distance, unit="m", about="farthest from a place or path"),
            Figure(name="mean_distance", value=float(np.mean([o.mean for o in places])) if places else None, unit="m",
                   about="mean over the constraints and their frames"),
            Figure(name="worst_angle", value=angle, unit="degrees", about="farthest from an angle or range"),
        ]  # fmt: skip
        words = f"all {len(case.outcomes)} constraints are met"
        facts: dict[str, Any] = {}
        if missed:
            worst = max(missed, key=lambda outcome: outcome.worst / outcome.constraint.tolerance)
            size = f"{np.degrees(worst.worst):.1f} degrees" if worst.constraint.angular else millimetres(worst.worst)
            words = (
                f"{len(missed)} of {len(case.outcomes)} constraints are missed; `{worst.constraint.label}` is off by "
                f"{size} at {worst.time:.2f} s"
            )
            facts = {"constraint": worst.constraint.label, "time": worst.time}
        return self.measurement(case, words, figures, **facts)


MAX_EXCESS_RADIANS = np.radians(1.0)
"""Excess above which a frame counts as outside."""


@record(eq=True)
class JointLimit(Metric):
    """Breaches of the skeleton's ranges, or of human ranges widened to the source's motion."""

    name: ClassVar[str] = "joint_limit"
    title: ClassVar[str] = "joint limits"
    remedy: ClassVar[str] = (
        "what the joint must reach is too far: a recipe can remove the contact that pulls at it, or lift the "
        "limits (limits = false)"
    )
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="added_angle", noticeable=2.0, bad=10.0),
        Grade(figure="worst_angle", noticeable=2.0, bad=10.0),
        Grade(figure="beyond_normal", noticeable=50.0, bad=170.0, source=CAPTURED),
    )

    def measure(self, case: Comparison) -> Measurement:
        ranges, sure = case.once(ranges_of)
        if not ranges:
            return self.not_measured("no limits are known for this body")
        excess = measure_breaches(ranges, case.result)
        worst_excess = excess.max(axis=1)
        frame, joint = np.unravel_index(int(np.argmax(excess)), excess.shape)
        name = str(ranges[int(joint)].joints()[0].point)
        share = float(np.mean(worst_excess > MAX_EXCESS_RADIANS))
        worst = float(np.degrees(worst_excess.max()))
        added = None
        if case.same_structure and case.resampled is not None:
            # A capture often exceeds the limits of its own file; the result may do the same.
            source_excess = measure_breaches(ranges, case.resampled)
            added = float(np.degrees(np.max(excess - source_excess, initial=0.0)))
        figures = [
            Figure(name="worst_angle", value=worst, unit="degrees", about="farthest outside a range"),
            Figure(name="added_angle", value=added, unit="degrees", about="farthest beyond where the source's own is"),
            Figure(name="mean_angle", value=np.degrees(worst_excess.mean()), unit="degrees",
                   about="worst joint of each frame, mean"),
            Figure(name="outside_share", value=share, unit="share", about="frames with a joint over 1 degree outside"),
            Figure(name="joints_outside", value=float(np.sum(excess.max(axis=0) > MAX_EXCESS_RADIANS)), unit="count",
                   about=f"joints that leave their range, of {len(ranges)}"),
            Figure(name="beyond_normal", value=None if sure else worst, unit="degrees",
                   about="farthest outside a human's normal range, where nothing says what this body may do"),
        ]  # fmt: skip
        words = "every joint stays in its range"
        if worst > np.degrees(MAX_EXCESS_RADIANS):
            words = (
                f"`{name}` goes {worst:.1f} degrees beyond its range at {frame / case.result.fps:.2f} s; some joint "
                f"is outside in {percent(share)} of the frames"
            )
        curve = Curve(name="breach", values=np.degrees(worst_excess), unit="degrees")
        judged = ("beyond_normal",) if not sure else ("worst_angle",) if added is None else ("added_angle",)
        if not sure and worst > np.degrees(MAX_EXCESS_RADIANS):
            words += " (a human's normal ones: the skeleton brings none and no source is given)"
        facts = {"joint": name, "time": float(frame / case.result.fps), "sure": sure}
        return self.measurement(case, words, figures, [curve], judged=judged, **facts)


def ranges_of(case: Comparison) -> tuple[Sequence[JointRange], bool]:
    """The ranges that a result should keep: its skeleton's, else human ones; and whether they are certain."""
    ranges = skeleton_limits(case.result.skeleton)
    if ranges:
        return ranges, True
    if case.source is None:
        # The motion cannot be its own limit; only a standing rest pose shows the neutral pose.
        if rest_pose_kind(case.result.skeleton) in ("no pose", "not humanoid"):
            return [], False
        return human_limits(rest_motion(case.result.skeleton))[0], False
    if case.same_structure:
        motion: Motion = replace(case.source, skeleton=case.result.skeleton)
    else:
        motion = case.transferred
    return human_limits(motion)[0], True


def measure_breaches(limits: Sequence[JointRange], motion: Motion) -> Array:
    """(F, L) radians of joints outside their ranges."""
    times, no_points = motion.times, np.empty((motion.num_frames, 0, 3))
    joints = [motion.skeleton.joint(str(limit.joints()[0].point)) for limit in limits]
    states = [
        ConstraintInput(times=times, points=no_points, local_rotations=motion.rotations[:, [joint]]) for joint in joints
    ]
    breaches = np.zeros((motion.num_frames, len(limits)))
    for column, residuals in enumerate(JointRange.measure_all(limits, states)):
        breaches[:, column] = residuals.values.max(axis=1, initial=0.0)
    return breaches


METRICS = (GoalMetric(), JointLimit())
