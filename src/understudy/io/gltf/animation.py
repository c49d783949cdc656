"""An animation of a glTF file as a motion: sampled on frames, in metres with Y up."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np

from understudy.base.quaternion import Array, conjugate, multiply, normalize, rotate, slerp, unrotate
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io.gltf.character import MADE_UP, Character, distinct, polar_turn
from understudy.io.gltf.document import Accessors, Document, GltfNodes, Json
from understudy.io.matrices import composed
from understudy.io.units import world_from_file

WIDTHS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}
"""What of a node can be animated that moves it, and the type of the values."""

SLACK = 1e-5
"""Seconds that a key may be later than a frame and still be reached: key times are rounded to single precision."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AnimationCurve:
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


def read_curves(document: Document, number: int, accessors: Accessors) -> list[AnimationCurve]:
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


def _curve(document: Document, sampler: Json, where: str, node: int, path: str, accessors: Accessors) -> AnimationCurve:
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
    return AnimationCurve(node=node, path=path, interpolation=interpolation, times=times, values=values)


RATES = (24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 72.0, 75.0, 90.0, 96.0, 100.0, 120.0, 144.0, 150.0, 200.0, 240.0)
"""Rates that animations are made at, the lowest first."""

SLOWEST, FASTEST = 12.0, 1000.0
"""Evenly spaced keys give the rate if it is between these; fewer keys a second are drawn finer."""

DEFAULT = 60.0
"""The rate for keys that lie on no frames at all."""

SAME = 1e-6
"""Relative difference below which a measured rate is the usual one next to it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Timing:
    """The frames of an animation."""

    start: float
    """Seconds of the first key, which is the first frame."""
    fps: float
    num_frames: int
    exact: bool
    """Whether every key lies on a frame."""

    @property
    def times(self) -> Array:
        """(F,) seconds on the file's clock."""
        return self.start + np.arange(self.num_frames) / self.fps


def find_timing(times: list[Array], wanted: float | None = None) -> Timing:
    """The frames that an animation's keys call for.

    Args:
        times: The key times of each curve.
        wanted: The rate that the file itself gives, taken if keys lie on its frames.
    """
    keys = np.unique(np.concatenate(times))
    start, end = float(keys[0]), float(keys[-1])
    # Keys of different curves may differ by rounding.
    keys = keys[np.concatenate([[True], np.diff(keys) > SLACK])]
    even = (len(keys) - 1) / (end - start) if len(keys) > 1 else 0.0
    rate, exact = DEFAULT, False
    for candidate in (wanted, even if SLOWEST <= even <= FASTEST else None, *RATES):
        if candidate is not None and _on_frames(keys, candidate):
            rate, exact = candidate, True
            break
    else:
        # Two lone keys seconds apart lie on frames of their own rate, multiplied until it is usual.
        if 0.0 < even < SLOWEST and _on_frames(keys, even):
            rate, exact = even * float(np.ceil(RATES[0] / even)), True
    if wanted is None or rate != wanted:
        rate = next((usual for usual in RATES if abs(usual / rate - 1.0) < SAME), rate)
    frames = int(np.ceil((end - start) * rate - SLACK * rate)) + 1
    return Timing(start=start, fps=rate, num_frames=max(frames, 1), exact=exact)


def _on_frames(keys: Array, rate: float) -> bool:
    """Whether every key lies on a frame of that rate, counted from the first key."""
    frames = (keys - keys[0]) * rate
    slack = np.maximum(SLACK, 4e-7 * keys) * rate
    return bool(np.all(np.abs(frames - np.rint(frames)) <= np.minimum(slack, 0.2)))


def spoken(timing: Timing) -> str:
    """Why the frames are what they are, in a sentence."""
    why = "every key lies on a frame" if timing.exact else "the keys lie on no common frames, and are sampled anew"
    begin = f", from {timing.start:.4g} s on" if timing.start > 0.0 else ""
    return f"glTF has no frame rate; {timing.fps:.6g} fps was chosen: {why}{begin}"


MATRICES_AT_ONCE = 1 << 19
"""Transforms worked on together, which bounds the memory it takes."""

MOST = 1 << 23
"""Joint rotations of a motion that are taken without asking how many keys the file holds."""

ROUNDING = 5e-6
"""Share of the body's size by which an animated joint may be off its bind place and still be meant there."""


def block_of(num_nodes: int) -> int:
    """How many frames of so many nodes are worked on together."""
    return max(1, min(512, MATRICES_AT_ONCE // max(num_nodes, 1)))


def names_of_animations(document: Document) -> tuple[str, ...]:
    """A name for each animation, all different."""
    animations = document.objects(document.list_of("animations"), "animations")
    # Those without a name are counted by themselves, so that one put before them does not rename them.
    number = count()
    return distinct([document.text(each, "name").strip() or f"animation{next(number)}" for each in animations])


def given_rate(document: Document, number: int) -> float | None:
    """The frames per second that our own writer left with an animation."""
    extras = document.list_of("animations")[number].get("extras")
    value = extras.get("fps") if isinstance(extras, dict) else None
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0.0 < value < 1e5
    return float(value) if good else None  # type: ignore[arg-type]


def moving_curves(nodes: GltfNodes, character: Character, curves: list[AnimationCurve]) -> list[AnimationCurve]:
    """The curves of the joints and of the nodes above and between them."""
    over = nodes.with_above(character.joints.nodes)
    return [curve for curve in curves if curve.node in over]


def check_length(document: Document, timing: Timing, curves: list[AnimationCurve], num_joints: int) -> None:
    """Refuse an animation that would be far longer than what is stored of it."""
    stored = sum(len(curve.times) for curve in curves)
    if timing.num_frames * num_joints > max(MOST, 64 * stored):
        raise document.error(
            "animations",
            f"lasts {timing.num_frames / timing.fps:.3g} s, which makes {timing.num_frames} frames of {stored} keys",
        )


def make_motion(
    nodes: GltfNodes,
    character: Character,
    skeleton: Skeleton,
    curves: list[AnimationCurve],
    timing: Timing,
    unit: float,
    up: str,
) -> Motion:
    """The motion of curves that move the joints."""
    places, turns = _sampled(nodes, character, curves, timing.times)
    turn = world_from_file(up)
    if up != "Y":
        places, turns = rotate(turn, places), multiply(turn, turns)
    places *= unit
    parents = skeleton.parents
    rotations, offsets = turns.copy(), places.copy()
    rotations[:, 1:] = multiply(conjugate(turns[:, parents[1:]]), turns[:, 1:])
    offsets[:, 1:] = unrotate(turns[:, parents[1:]], places[:, 1:] - places[:, parents[1:]])
    size = float(np.ptp(skeleton.rest_world[0], axis=0).max())
    moving = np.abs(offsets - skeleton.offsets).max(axis=(0, 2)) > ROUNDING * size
    moving[0] = False
    offsets[:, ~moving] = skeleton.offsets[~moving]
    return Motion(
        skeleton=skeleton,
        fps=timing.fps,
        root=places[:, 0],
        rotations=rotations,
        offsets=offsets if moving.any() else None,
    )


def _sampled(nodes: GltfNodes, character: Character, curves: list[AnimationCurve], times: Array) -> tuple[Array, Array]:
    """World places (F, J, 3) and orientations (F, J, 4) of the joints, in the file's unit and axes."""
    joints = character.joints.nodes
    places, turns = np.empty((len(times), len(joints), 3)), np.empty((len(times), len(joints), 4))
    by_node: dict[int, dict[str, AnimationCurve]] = {}
    for curve in curves:
        by_node.setdefault(curve.node, {})[curve.path] = curve
    needed = nodes.with_above(joints)
    order = [node for node in nodes.order if node in needed]
    step = block_of(len(order))
    for start in range(0, len(times), step):
        part = slice(start, start + step)
        worlds = _worlds(nodes, order, by_node, times[part])
        for joint, node in enumerate(joints):
            if node == MADE_UP:
                places[part, joint], turns[part, joint] = 0.0, [1.0, 0.0, 0.0, 0.0]
                continue
            places[part, joint] = worlds[node][:, :3, 3]
            turns[part, joint] = polar_turn(worlds[node], character.stretches[joint])
    return places, turns


def _worlds(
    nodes: GltfNodes, order: list[int], curves: dict[int, dict[str, AnimationCurve]], times: Array
) -> dict[int, Array]:
    """By node, (F, 4, 4) world from node at some times."""
    worlds: dict[int, Array] = {}
    for node in order:
        mine = curves.get(node)
        if mine is None:
            local = np.broadcast_to(nodes.locals[node], (len(times), 4, 4))
        else:
            defaults = {
                "translation": nodes.translations[node], "rotation": nodes.rotations[node], "scale": nodes.scales[node],
            }  # fmt: skip
            parts = [
                mine[path].at(times) if path in mine else np.broadcast_to(value, (len(times), len(value)))
                for path, value in defaults.items()
            ]
            local = composed(*parts)
        parent = int(nodes.parents[node])
        worlds[node] = local if parent < 0 else worlds[parent] @ local
    return worlds


def others(document: Document, number: int, curves: list[AnimationCurve], mine: list[AnimationCurve]) -> list[str]:
    """What else an animation does than move the character, a sentence each."""
    said = []
    if len(curves) > len(mine):
        said.append(f"{len(curves) - len(mine)} channels of the animation move what is no part of the character")
    paths = [channel["target"].get("path") for channel in document.list_of("animations")[number].get("channels", [])]
    if "weights" in paths:
        said.append(f"{paths.count('weights')} channels of the animation change morph targets (faces, mostly)")
    return said


def growing(nodes: GltfNodes, character: Character, curves: list[AnimationCurve], times: Array) -> list[str]:
    """A sentence about joints that grow or shrink, which a motion cannot hold."""
    known = set(character.joints.nodes)
    scaled = [
        curve.node
        for curve in curves
        if curve.path == "scale" and np.max(np.abs(curve.at(times) / _nonzero(curve.at(times[:1])) - 1.0)) > 1e-3
    ]
    if not scaled:
        return []
    first = nodes.names[scaled[0]] or f"node {scaled[0]}"
    what = "joints" if set(scaled) <= known else "nodes"
    return [
        f"{len(scaled)} {what} change their scale, from `{first}`: where joints go is kept, how thick they get is not"
    ]


def _nonzero(values: Array) -> Array:
    return np.where(np.abs(values) > 1e-12, values, 1.0)
