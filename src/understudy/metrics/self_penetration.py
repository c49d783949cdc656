"""Self-penetration: how deep parts of a body are in each other, by its skin where it has one, else as capsules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.kinematics import Pose
from understudy.figure.measures import is_humanoid
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Mesh
from understudy.metrics.base import CAPTURED, Curve, Figure, Grade, Measurement, Metric, millimetres, percent
from understudy.metrics.comparison import Comparison
from understudy.metrics.surface import Surface, capsules, resting_depths, surface

DEEP = 0.01
"""Metres on an adult body from which parts count as in each other: skin gives that much."""

FRAMES = 60
"""Frames at which a skin is looked at: a longer clip is looked at evenly."""


@dataclass(frozen=True, kw_only=True)
class SelfPenetration(Metric):
    """Depth of parts in parts that do not hang from each other, beyond what the rest pose has."""

    name: ClassVar[str] = "self_penetration"
    title: ClassVar[str] = "self-penetration"
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="added_depth", noticeable=DEEP, bad=0.04, metres=True),
        Grade(figure="worst_depth", noticeable=0.06, bad=0.15, source=CAPTURED, metres=True),
    )

    def measure(self, take: Comparison) -> Measurement:
        skin = skin_of(take.result.skeleton, take.meshes)
        if skin is None and len(capsules(take.result.skeleton).ends) < 2:
            return self.absent("the body has no parts that could meet")
        frames = looked_at(take.result.num_frames) if skin is not None else np.arange(take.result.num_frames)
        found = _depths(take.pose, take.meshes, frames)
        # Depths can be compared part by part only between bodies that have the same parts.
        same = take.source is not None and (take.alike or both_human(take))
        own = _depths(take.shown_pose, take.source_meshes, frames) if same and take.shown_pose is not None else {}
        zero = np.zeros(len(frames))
        depth = np.max([zero, *found.values()], axis=0)
        added = np.max([zero, *(d - take.ratio * own.get(key, zero) for key, d in found.items())], axis=0)
        limit = DEEP * take.size
        share = float(np.mean(depth > limit))
        figures = [
            Figure(name="worst_depth", value=depth.max(), unit="m", about="deepest two parts are in each other"),
            Figure(name="added_depth", value=added.max(), unit="m", about="deepest beyond the source's own depth"),
            Figure(name="penetrating_share", value=share, unit="share",
                   about=f"frames with parts deeper than {millimetres(limit)} in each other"),
        ]  # fmt: skip
        words = "no part of the body passes through another"
        facts: dict[str, Any] = {}
        if found and depth.max() > limit:
            worst = int(np.argmax(depth))
            pair = max(found, key=lambda key: float(found[key][worst]))
            facts = {"parts": list(pair), "time": float(frames[worst] / take.result.fps)}
            words = _told(take, pair, facts["time"], depth, added, limit)
        if skin is not None:
            facts["skin"] = True
            words += f" (by its skin, in {len(frames)} of {take.result.num_frames} frames)"
        # How thick a body is that is no human one and has no skin is too uncertain for a verdict by itself.
        sure = skin is not None or is_humanoid(take.result.skeleton)
        judged = ("added_depth",) if same else ("worst_depth",) if sure else ()
        values = np.interp(np.arange(take.result.num_frames), frames, depth)
        return self.made(take, words, figures, [Curve(name="depth", values=values, unit="m")], judged=judged, **facts)


def _told(take: Comparison, pair: tuple[str, str], time: float, depth: Array, added: Array, limit: float) -> str:
    """What is in what, in words."""
    words = (
        f"{_said(pair[0])} and {_said(pair[1])} are {millimetres(float(depth.max()))} in each other at {time:.2f} s; "
        f"{percent(float(np.mean(depth > limit)))} of the frames have parts deeper than {millimetres(limit)}"
    )
    return words if take.source is None else f"{words}; {millimetres(float(added.max()))} more than the source at worst"


def looked_at(count: int) -> np.ndarray:
    """(N,) the frames of so many at which a skin is looked at, evenly spaced."""
    return np.unique(np.linspace(0, count - 1, min(count, FRAMES)).round().astype(np.intp))


def skin_of(skeleton: Skeleton, meshes: tuple[Mesh, ...]) -> Surface | None:
    """The skin of a body taken apart; None where it has none or it is all one part."""
    if not sum(len(mesh.triangles) for mesh in meshes):
        return None
    found = surface(skeleton, meshes)
    return found if len(found.parts) > 1 else None


def _said(part: str) -> str:
    """A part of a human body in words; a bone of another as it is called."""
    return part.replace("_", " ") if part.startswith(("left ", "right ")) else part


def both_human(take: Comparison) -> bool:
    """Whether source and result are both human bodies."""
    return take.source is not None and all(is_humanoid(m.skeleton) for m in (take.source, take.result))


def _depths(pose: Pose, meshes: tuple[Mesh, ...], frames: np.ndarray) -> dict[tuple[str, str], Array]:
    """(N,) metres for each two parts, beyond how deep they are in the rest pose: of the skin, else of capsules."""
    skin = skin_of(pose.skeleton, meshes)
    if skin is not None:
        return skin.depths(pose, frames)
    resting = resting_depths(pose.skeleton)
    found = capsules(pose.skeleton).depths(pose)
    return {key: np.maximum(depth - resting.get(key, 0.0), 0.0)[frames] for key, depth in found.items()}


METRIC = SelfPenetration()
