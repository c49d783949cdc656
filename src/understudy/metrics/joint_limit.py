"""Joint-limit breach: how often and how far joints leave their ranges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.constraints.base import ConstraintInput
from understudy.constraints.joint_range import JointRange
from understudy.correspondence.carry import carry
from understudy.correspondence.limits import human_limits, skeleton_limits
from understudy.figure.measures import rest_pose_kind
from understudy.figure.motion import Motion, rest_motion
from understudy.metrics.base import CAPTURED, Curve, Figure, Grade, Measurement, Metric, percent
from understudy.metrics.comparison import Comparison

OUTSIDE = np.radians(1.0)
"""Radians beyond which a frame counts as outside."""


@dataclass(frozen=True, kw_only=True)
class JointLimit(Metric):
    """The skeleton's own ranges; a human's, widened to what the source itself does, where a human brings none."""

    name: ClassVar[str] = "joint_limit"
    title: ClassVar[str] = "joint limits"
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="added_angle", noticeable=2.0, bad=10.0),
        Grade(figure="worst_angle", noticeable=2.0, bad=10.0),
        Grade(figure="beyond_normal", noticeable=50.0, bad=170.0, source=CAPTURED),
    )

    def measure(self, take: Comparison) -> Measurement:
        ranges, sure = ranges_of(take)
        if not ranges:
            return self.absent("no limits are known for this body")
        over = np.stack([breach(each, take.result) for each in ranges], -1)
        by_frame = over.max(axis=1)
        frame, joint = np.unravel_index(int(np.argmax(over)), over.shape)
        name = str(ranges[int(joint)].joints()[0].point)
        share = float(np.mean(by_frame > OUTSIDE))
        worst = float(np.degrees(by_frame.max()))
        more = None
        if take.alike and take.shown is not None:
            # A capture often leaves the limits of its own file, and doing the same is no fault.
            own = np.stack([breach(each, take.shown) for each in ranges], -1)
            more = float(np.degrees(np.max(over - own, initial=0.0)))
        figures = [
            Figure(name="worst_angle", value=worst, unit="degrees", about="farthest outside a range"),
            Figure(name="added_angle", value=more, unit="degrees", about="farthest beyond where the source's own is"),
            Figure(name="mean_angle", value=np.degrees(by_frame.mean()), unit="degrees",
                   about="worst joint of each frame, mean"),
            Figure(name="outside_share", value=share, unit="share", about="frames with a joint over 1 degree outside"),
            Figure(name="joints_outside", value=float(np.sum(over.max(axis=0) > OUTSIDE)), unit="count",
                   about=f"joints that leave their range, of {len(ranges)}"),
            Figure(name="beyond_normal", value=None if sure else worst, unit="degrees",
                   about="farthest outside a human's normal range, where nothing says what this body may do"),
        ]  # fmt: skip
        words = "every joint stays in its range"
        if worst > np.degrees(OUTSIDE):
            words = (
                f"`{name}` goes {worst:.1f} degrees beyond its range at {frame / take.result.fps:.2f} s; some joint "
                f"is outside in {percent(share)} of the frames"
            )
        curve = Curve(name="breach", values=np.degrees(by_frame), unit="degrees")
        judged = ("beyond_normal",) if not sure else ("worst_angle",) if more is None else ("added_angle",)
        if not sure and worst > np.degrees(OUTSIDE):
            words += " (a human's normal ones: the skeleton brings none and no source is given)"
        facts = {"joint": name, "time": float(frame / take.result.fps), "sure": sure}
        return self.made(take, words, figures, [curve], judged=judged, **facts)


def ranges_of(take: Comparison) -> tuple[Sequence[JointRange], bool]:
    """The ranges that a result is to keep, its skeleton's own, else a human's; and whether they are no guess."""
    own = skeleton_limits(take.result.skeleton)
    if own:
        return own, True
    if take.source is None:
        # What the motion does itself cannot be its own limit; only a rest pose that stands tells neutral from bent.
        if rest_pose_kind(take.result.skeleton) in ("no pose", "not humanoid"):
            return [], False
        return human_limits(rest_motion(take.result.skeleton))[0], False
    if take.alike:
        done: Motion = replace(take.source, skeleton=take.result.skeleton)
    else:
        done = carry(take.source, take.alignment, floor=take.floor, ratio=take.ratio)
    return human_limits(done)[0], True


def breach(limit: JointRange, motion: Motion) -> Array:
    """(F,) radians: how far a joint is outside its range."""
    joint = motion.skeleton.joint(str(limit.joints()[0].point))
    view = ConstraintInput(
        times=motion.times, points=np.empty((motion.num_frames, 0, 3)), local_rotations=motion.rotations[:, [joint]]
    )
    values = limit.measure(view).values
    return np.maximum(values.max(axis=1), 0.0) if values.shape[1] else np.zeros(motion.num_frames)


METRIC = JointLimit()
