"""Animation samplers of a glTF file: steps, straight lines and cubic splines, evaluated at any times.

Source: Khronos glTF 2.0 specification, section 3.11 and appendix C (animation sampler interpolation modes).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.geometry.quaternion import Array, normalize, slerp
from understudy.io.gltf_accessor import Accessors
from understudy.io.gltf_document import Document, Json

WIDTHS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}
"""What of a node can be animated that moves it, and the type of the values."""
SLACK = 1e-5
"""Seconds that a key may be later than a frame and still be reached: key times are rounded to single precision."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Curve:
    """How one property of a node changes."""

    node: int
    path: str
    """translation, rotation or scale."""
    interpolation: str
    times: Array
    """(K,) seconds, rising."""
    values: Array
    """(K, n); (K, 3, n) tangent in, value, tangent out for cubic splines. Rotations are scalar first."""

    def at(self, times: Array) -> Array:
        """(F, n) the values at some times; before the first key and after the last, theirs."""
        clipped = np.clip(times, self.times[0], self.times[-1])
        if self.interpolation == "STEP":
            return self.values[np.searchsorted(self.times, clipped + SLACK, side="right") - 1]
        before = np.clip(np.searchsorted(self.times, clipped, side="right") - 1, 0, max(len(self.times) - 2, 0))
        after = np.minimum(before + 1, len(self.times) - 1)
        step = self.times[after] - self.times[before]
        share = np.where(step > 0.0, (clipped - self.times[before]) / np.where(step > 0.0, step, 1.0), 0.0)
        if self.interpolation == "CUBICSPLINE":
            return self._spline(before, after, step[:, None], share[:, None])
        if self.path == "rotation":
            return slerp(self.values[before], self.values[after], share)
        return self.values[before] * (1.0 - share[:, None]) + self.values[after] * share[:, None]

    def _spline(self, before: np.ndarray, after: np.ndarray, step: Array, t: Array) -> Array:
        start, out = self.values[before, 1], self.values[before, 2] * step
        end, into = self.values[after, 1], self.values[after, 0] * step
        t2, t3 = t * t, t * t * t
        found = (2 * t3 - 3 * t2 + 1) * start + (t3 - 2 * t2 + t) * out + (3 * t2 - 2 * t3) * end + (t3 - t2) * into
        return normalize(found) if self.path == "rotation" else found


def read_curves(document: Document, number: int, accessors: Accessors) -> list[Curve]:
    """The curves of an animation that move nodes; others, such as the weights of morph targets, are passed over."""
    where = f"animations[{number}]"
    animation = document.item("animations", number, where)
    samplers = document.objects(animation.get("samplers", []), f"{where}.samplers")
    count = len(document.list_of("nodes"))
    curves, seen = [], set()
    for i, channel in enumerate(document.objects(animation.get("channels", []), f"{where}.channels")):
        at = f"{where}.channels[{i}]"
        target = document.object(channel.get("target"), f"{at}.target")
        node, path = target.get("node"), document.text(target, "path")
        if node is None or path not in WIDTHS:
            continue
        document.indices([node], count, f"{at}.target.node")
        sampler = document.indices([channel.get("sampler")], len(samplers), f"{at}.sampler")[0]
        if (node, path) in seen:
            raise document.error(at, f"the {path} of node {node} is animated twice")
        seen.add((node, path))
        curves.append(_curve(document, samplers[sampler], f"{where}.samplers[{sampler}]", node, path, accessors))
    return curves


def _curve(document: Document, sampler: Json, where: str, node: int, path: str, accessors: Accessors) -> Curve:
    interpolation = sampler.get("interpolation", "LINEAR")
    if interpolation not in ("LINEAR", "STEP", "CUBICSPLINE"):
        raise document.error(f"{where}.interpolation", f"expected LINEAR, STEP or CUBICSPLINE, got {interpolation!r}")
    times = accessors.numbers(sampler.get("input"), "SCALAR", f"{where}.input")
    values = accessors.numbers(sampler.get("output"), WIDTHS[path], f"{where}.output")
    if len(times) == 0:
        raise document.error(f"{where}.input", "expected at least one key, got none")
    if np.any(np.diff(times) < 0.0) or times[0] < 0.0:
        raise document.error(f"{where}.input", "key times must be at least 0 and rise")
    cubic = interpolation == "CUBICSPLINE"
    if len(values) != len(times) * (3 if cubic else 1):
        raise document.error(f"{where}.output", f"{len(values)} values do not fit {len(times)} keys of {interpolation}")
    if path == "rotation":
        values = values[:, [3, 0, 1, 2]]
        values = values if cubic else normalize(values)
    if cubic:
        values = values.reshape(len(times), 3, -1)
    return Curve(node=node, path=path, interpolation=interpolation, times=times, values=values)
