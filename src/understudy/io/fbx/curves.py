"""Records of an animation in an FBX file: a stack, its layer, and a curve for each animated number of a node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.io.fbx.document import SECOND, FbxRecord, Typed, fbx_record, join_name

TIME_MODES = {
    1: 120.0, 2: 100.0, 3: 60.0, 4: 50.0, 5: 48.0, 6: 30.0, 9: 30000 / 1001, 10: 25.0, 11: 24.0, 12: 1000.0,
    13: 24000 / 1001, 15: 96.0, 16: 72.0, 17: 60000 / 1001,
}  # fmt: skip
"""Frame rates that the format has a number for."""

CUSTOM_RATE = 14
"""The number for any other rate, which is then written beside it."""

MAX_RATE_DIFFERENCE = 1e-4
"""Relative difference up to which a rate counts as one of the usual rates: files round the length of a frame."""

LINEAR = 4
"""Interpolation of a key: along a straight line to the next."""

KINDS = ("AnimationStack", "AnimationLayer", "AnimationCurveNode", "AnimationCurve")
"""Classes of objects that an animation consists of."""


PROPERTIES = {"Lcl Translation": "translations", "Lcl Rotation": "angles", "Lcl Scaling": "scales"}
"""The animated properties of a node, with the field of `NodeCurves` that holds their values."""


@record
class NodeCurves:
    """The animated values of a node."""

    node: int
    """The node's number in the file."""
    angles: Array | None = None
    """(F, 3) degrees about X, Y and Z; one row for a node that is held. None for no curves."""
    translations: Array | None = None
    """(F, 3) in the file's unit, likewise."""
    scales: Array | None = None
    """(F, 3), likewise."""


@dataclass(eq=False, kw_only=True)
class Animation:
    """The records of an animation: objects, and links between them."""

    objects: list[FbxRecord] = field(default_factory=list)
    links: list[FbxRecord] = field(default_factory=list)
    layer: int = 0
    """The number of the layer."""
    start: int = 0
    stop: int = 0
    """The times of the first and last frame."""

    def count(self, kind: str) -> int:
        return sum(item.name == kind for item in self.objects)


def usual_rate(fps: float) -> tuple[float, int]:
    """The usual rate that a rate is meant to be, or the rate itself, and the number that the format has for it."""
    for mode, rate in TIME_MODES.items():
        if abs(fps - rate) <= MAX_RATE_DIFFERENCE * rate:
            return rate, mode
    whole = round(fps)
    return (float(whole) if whole and abs(fps - whole) <= MAX_RATE_DIFFERENCE * whole else fps), CUSTOM_RATE


def make_animation(
    name: str, fps: float, num_frames: int, nodes: list[NodeCurves], numbers: Iterator[int], second: int = SECOND
) -> Animation:
    """The records of an animation with a key on every frame, from time 0 on.

    Args:
        name: The name of the animation.
        fps: Frames a second.
        num_frames: Number of frames.
        nodes: What is animated.
        numbers: Numbers for new objects, none of which is in the file.
        second: The file's units of time in a second.
    """
    times = np.round(np.arange(num_frames) * (second / usual_rate(fps)[0])).astype(np.int64)
    out = Animation(stop=int(times[-1]))
    stack, out.layer = next(numbers), next(numbers)
    spans = {"LocalStart": 0, "LocalStop": out.stop, "ReferenceStart": 0, "ReferenceStop": out.stop}
    table = [fbx_record("P", key, "KTime", "Time", "", Typed("L", value)) for key, value in spans.items()]
    out.objects.append(
        _object("AnimationStack", stack, join_name(name, "AnimStack"), [fbx_record("Properties70", children=table)])
    )
    out.objects.append(_object("AnimationLayer", out.layer, join_name(name, "AnimLayer"), []))
    out.links.append(link(out.layer, stack))
    out.links.append(link(stack, 0))
    for item in nodes:
        for prop, field_name in PROPERTIES.items():
            values = getattr(item, field_name)
            if values is not None:
                short = prop.removeprefix("Lcl ")[0]
                _add_curves(out, item.node, short, prop, values, times[: len(values)], numbers)
    return out


def _add_curves(
    out: Animation, node: int, short: str, prop: str, values: Array, times: np.ndarray, numbers: Iterator[int]
) -> None:
    """Add the three curves of a property."""
    holder = next(numbers)
    table = [fbx_record("P", f"d|{axis}", "Number", "", "A", float(values[0, i])) for i, axis in enumerate("XYZ")]
    out.objects.append(
        _object(
            "AnimationCurveNode",
            holder,
            join_name(short, "AnimCurveNode"),
            [fbx_record("Properties70", children=table)],
        )
    )
    out.links += [link(holder, out.layer), link(holder, node, prop)]
    for i, axis in enumerate("XYZ"):
        curve = next(numbers)
        keys = [
            fbx_record("Default", float(values[0, i])),
            fbx_record("KeyVer", 4009),
            fbx_record("KeyTime", times),
            fbx_record("KeyValueFloat", values[:, i].astype(np.float32)),
            fbx_record("KeyAttrFlags", np.array([LINEAR], np.int32)),
            fbx_record("KeyAttrDataFloat", np.zeros(4, np.float32)),
            fbx_record("KeyAttrRefCount", np.array([len(times)], np.int32)),
        ]
        out.objects.append(_object("AnimationCurve", curve, join_name("", "AnimCurve"), keys))
        out.links.append(link(curve, holder, f"d|{axis}"))


def _object(kind: str, number: int, name: str, children: list[FbxRecord]) -> FbxRecord:
    return fbx_record(kind, Typed("L", number), name, "", children=children)


def link(below: int, above: int, prop: str = "") -> FbxRecord:
    """A connection of an object to another, or to a property of it."""
    ends = (Typed("L", below), Typed("L", above))
    return fbx_record("C", "OP", *ends, prop) if prop else fbx_record("C", "OO", *ends)


def make_take(name: str, animation: Animation) -> FbxRecord:
    """The entry of an animation in the list of takes."""
    span = (Typed("L", animation.start), Typed("L", animation.stop))
    return fbx_record(
        "Take", name, children=[
            fbx_record("FileName", f"{name}.tak"), fbx_record("LocalTime", *span), fbx_record("ReferenceTime", *span)
        ],
    )  # fmt: skip
