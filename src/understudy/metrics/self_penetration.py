"""Self-penetration: how deep parts of a body are in each other, by its skin, else by capsules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.kinematics import Pose
from understudy.figure.measures import is_humanoid
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Mesh
from understudy.metrics.base import CAPTURED, Curve, Figure, Grade, Measurement, Metric, millimetres, percent
from understudy.metrics.comparison import Comparison

# Every metric is loaded to be listed; surfaces only when they are measured.
if TYPE_CHECKING:
    from understudy.figure.surface import Surface

MAX_CONTACT_DEPTH_METRES = 0.01
"""Depth on an adult body up to which parts only touch: skin is soft."""

FRAMES = 60
"""Most frames at which a skin is checked, evenly spaced."""


@record(eq=True)
class SelfPenetration(Metric):
    """Depth of parts in parts that are not joined, beyond the depth in the rest pose."""

    name: ClassVar[str] = "self_penetration"
    title: ClassVar[str] = "self-penetration"
    by_skin: ClassVar[bool] = True
    remedy: ClassVar[str] = "the target is wider than the source: keep parts apart in a recipe (constraint `apart`)"
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="added_depth", noticeable=MAX_CONTACT_DEPTH_METRES, bad=0.04, metres=True),
        Grade(figure="worst_depth", noticeable=0.06, bad=0.15, source=CAPTURED, metres=True),
    )

    def measure(self, case: Comparison) -> Measurement:
        from understudy.figure.surface import capsules

        skin = skin_of(case.result.skeleton, case.meshes)
        if skin is None and len(capsules(case.result.skeleton).ends) < 2:
            return self.not_measured("the body has no parts that could meet")
        frames = looked_at(case.result.num_frames) if skin is not None else np.arange(case.result.num_frames)
        depths = _depths(case.pose, case.meshes, frames)
        # Depths can be compared part by part only between bodies that have the same parts.
        same = case.source is not None and (case.same_structure or both_human(case))
        source_depths = (
            _depths(case.source_pose, case.source_meshes, frames) if same and case.source_pose is not None else {}
        )
        zero = np.zeros(len(frames))
        depth = np.max([zero, *depths.values()], axis=0)
        added = np.max([zero, *(d - case.ratio * source_depths.get(key, zero) for key, d in depths.items())], axis=0)
        limit = MAX_CONTACT_DEPTH_METRES * case.size
        share = float(np.mean(depth > limit))
        figures = [
            Figure(name="worst_depth", value=depth.max(), unit="m", about="deepest two parts are in each other"),
            Figure(name="added_depth", value=added.max(), unit="m", about="deepest beyond the source's own depth"),
            Figure(name="penetrating_share", value=share, unit="share",
                   about=f"frames with parts deeper than {millimetres(limit)} in each other"),
        ]  # fmt: skip
        words = "no part of the body passes through another"
        facts: dict[str, Any] = {}
        if depths and depth.max() > limit:
            worst = int(np.argmax(depth))
            pair = max(depths, key=lambda key: float(depths[key][worst]))
            facts = {"parts": list(pair), "time": float(frames[worst] / case.result.fps)}
            words = _describe_depth(case, pair, facts["time"], depth, added, limit)
        if skin is not None:
            facts["skin"] = True
            words += f" (by its skin, in {len(frames)} of {case.result.num_frames} frames)"
        # Without a skin the thickness of a body that is not human is too uncertain for a verdict.
        sure = skin is not None or is_humanoid(case.result.skeleton)
        judged = ("added_depth",) if same else ("worst_depth",) if sure else ()
        values = np.interp(np.arange(case.result.num_frames), frames, depth)
        curves = [Curve(name="depth", values=values, unit="m")]
        return self.measurement(case, words, figures, curves, judged=judged, **facts)


def _describe_depth(
    case: Comparison, pair: tuple[str, str], time: float, depth: Array, added: Array, limit: float
) -> str:
    """Describe the deepest penetration."""
    parts = " and ".join(_part_in_words(part) for part in pair)
    words = (
        f"{parts} are {millimetres(float(depth.max()))} in each other at {time:.2f} s; "
        f"{percent(float(np.mean(depth > limit)))} of the frames have parts deeper than {millimetres(limit)}"
    )
    return words if case.source is None else f"{words}; {millimetres(float(added.max()))} more than the source at worst"


def looked_at(count: int) -> np.ndarray:
    """(N,) the frames, of `count`, at which a skin is checked, evenly spaced."""
    return np.unique(np.linspace(0, count - 1, min(count, FRAMES)).round().astype(np.intp))


def skin_of(skeleton: Skeleton, meshes: tuple[Mesh, ...]) -> Surface | None:
    """The skin of a body split into parts; None if it has no skin or only one part."""
    if not sum(len(mesh.triangles) for mesh in meshes):
        return None
    from understudy.figure.surface import surface

    skin = surface(skeleton, meshes)
    return skin if len(skin.parts) > 1 else None


def _part_in_words(part: str) -> str:
    """A part of a human body in words; a bone of another body by its name."""
    return part.replace("_", " ") if part.startswith(("left ", "right ")) else part


def both_human(case: Comparison) -> bool:
    """Whether source and result are both human bodies."""
    return case.source is not None and all(is_humanoid(m.skeleton) for m in (case.source, case.result))


def _depths(pose: Pose, meshes: tuple[Mesh, ...], frames: np.ndarray) -> dict[tuple[str, str], Array]:
    """(N,) metres for each two parts beyond their depth in the rest pose: by the skin, else by capsules."""
    from understudy.figure.surface import capsules, resting_depths

    skin = skin_of(pose.skeleton, meshes)
    if skin is not None:
        return skin.depths(pose, frames)
    resting = resting_depths(pose.skeleton)
    depths = capsules(pose.skeleton).depths(pose)
    return {key: np.maximum(depth - resting.get(key, 0.0), 0.0)[frames] for key, depth in depths.items()}


METRIC = SelfPenetration()
