"""Self-penetration: how deep parts of a body are in each other, as capsules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from understudy.body import is_humanoid
from understudy.geometry.quaternion import Array
from understudy.kinematics import Pose
from understudy.metrics.base import CAPTURED, Curve, Figure, Grade, Measurement, Metric, millimetres, percent
from understudy.metrics.capsules import capsules, resting_depths
from understudy.metrics.take import Take

DEEP = 0.01
"""Metres on an adult body from which parts count as in each other: skin gives that much."""


@dataclass(frozen=True, kw_only=True)
class SelfPenetration(Metric):
    """Depth of parts in parts that do not hang from each other, beyond what the rest pose has."""

    name: ClassVar[str] = "self_penetration"
    title: ClassVar[str] = "self-penetration"
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="added_depth", noticeable=DEEP, bad=0.04, metres=True),
        Grade(figure="worst_depth", noticeable=0.06, bad=0.15, source=CAPTURED, metres=True),
    )

    def measure(self, take: Take) -> Measurement:
        if len(capsules(take.result.skeleton).ends) < 2:
            return self.absent("the body has no parts that could meet")
        found = _depths(take.pose)
        own = {} if take.shown_pose is None else _depths(take.shown_pose)
        zero = np.zeros(take.result.num_frames)
        depth = np.max([zero, *found.values()], axis=0)
        added = np.max([zero, *(d - take.ratio * own.get(key, zero) for key, d in found.items())], axis=0)
        limit = DEEP * take.size
        figures = [
            Figure(name="worst_depth", value=depth.max(), unit="m", about="deepest two parts are in each other"),
            Figure(name="added_depth", value=added.max(), unit="m", about="deepest beyond the source's own depth"),
            Figure(name="penetrating_share", value=np.mean(depth > limit), unit="share",
                   about=f"frames with parts deeper than {millimetres(limit)} in each other"),
        ]  # fmt: skip
        words = "no part of the body passes through another"
        facts: dict[str, Any] = {}
        if found and depth.max() > limit:
            frame = int(np.argmax(depth))
            pair = max(found, key=lambda key: float(found[key][frame]))
            words = (
                f"{_said(pair[0])} and {_said(pair[1])} are {millimetres(depth.max())} in each other at "
                f"{frame / take.result.fps:.2f} s; {percent(float(np.mean(depth > limit)))} of the frames have parts "
                f"deeper than {millimetres(limit)}"
            )
            if take.source is not None:
                words += f"; {millimetres(added.max())} more than the source at worst"
            facts = {"parts": list(pair), "time": frame / take.result.fps}
        # Depths can be compared part by part only between bodies that have the same parts; and how thick a body is
        # that is no human one is too uncertain for a verdict by itself.
        same = take.source is not None and (take.alike or both_human(take))
        judged = ("added_depth",) if same else ("worst_depth",) if is_humanoid(take.result.skeleton) else ()
        curve = Curve(name="depth", values=depth, unit="m")
        return self.made(take, words, figures, [curve], judged=judged, **facts)


def _said(part: str) -> str:
    """A part of a human body in words; a bone of another as it is called."""
    return part.replace("_", " ") if part.startswith(("left ", "right ")) else part


def both_human(take: Take) -> bool:
    """Whether source and result are both human bodies."""
    return take.source is not None and all(is_humanoid(m.skeleton) for m in (take.source, take.result))


def _depths(pose: Pose) -> dict[tuple[str, str], Array]:
    """(F,) metres for each two parts, beyond how deep they are in the rest pose."""
    resting = resting_depths(pose.skeleton)
    found = capsules(pose.skeleton).depths(pose)
    return {key: np.maximum(depth - resting.get(key, 0.0), 0.0) for key, depth in found.items()}


METRIC = SelfPenetration()
