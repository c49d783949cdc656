"""An animation of a glTF file as a motion: sampled on frames, in metres with Y up."""

from __future__ import annotations

from itertools import count

import numpy as np

from understudy.base.quaternion import Array, multiply, normalize, rotate, slerp
from understudy.base.records import record
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io.clip import world_from_file
from understudy.io.gltf.character import NO_NODE, Character, world_rotation
from understudy.io.gltf.document import Accessors, Document, GltfNodes, Json
from understudy.io.matrices import compose, local_from_world, make_unique

VALUE_TYPES = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}
"""The animated properties that move a node, and the accessor type of their values."""

MAX_KEY_DELAY_SECONDS = 1e-5
"""A key that is later than a frame by less than this counts as reached: key times have single precision."""


@record
class AnimationCurve:
    """The keys of one property of a node."""

    node: int
    path: str
    """translation, rotation or scale."""
    interpolation: str
    times: Array
    """(K,) seconds, rising."""
    values: Array
    """(K, n); (K, 3, n) tangent in, value, tangent out for cubic splines. Rotations are scalar first."""

    def at(self, times: Array) -> Array:
        """(F, n) the values at some times; constant before the first key and after the last."""
        clipped = np.clip(times, self.times[0], self.times[-1])
        if self.interpolation == "STEP":
            return self.values[np.searchsorted(self.times, clipped + MAX_KEY_DELAY_SECONDS, side="right") - 1]
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
        values = (2 * t3 - 3 * t2 + 1) * start + (t3 - 2 * t2 + t) * out + (3 * t2 - 2 * t3) * end + (t3 - t2) * into
        return normalize(values) if self.path == "rotation" else values


def read_curves(document: Document, number: int, accessors: Accessors) -> list[AnimationCurve]:
    """The curves of an animation that move nodes. Others, such as weights of morph targets, are ignored."""
    where = f"animations[{number}]"
    animation = document.item("animations", number, where)
    samplers = document.objects(animation.get("samplers", []), f"{where}.samplers")
    count = len(document.list_of("nodes"))
    curves, seen = [], set()
    for i, channel in enumerate(document.objects(animation.get("channels", []), f"{where}.channels")):
        at = f"{where}.channels[{i}]"
        target = document.object(channel.get("target"), f"{at}.target")
        node, path = target.get("node"), document.text(target, "path")
        if node is None or path not in VALUE_TYPES:
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
    values = accessors.numbers(sampler.get("output"), VALUE_TYPES[path], f"{where}.output")
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


COMMON_FPS = (24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 72.0, 75.0, 90.0, 96.0, 100.0, 120.0, 144.0, 150.0, 200.0, 240.0)
"""Frame rates that animations commonly have, in rising order."""

MIN_KEY_FPS, MAX_KEY_FPS = 12.0, 1000.0
"""Evenly spaced keys give the frame rate if it lies between these; sparser keys are sampled more finely."""

DEFAULT_FPS = 60.0
"""The frame rate for keys that lie on the frames of no common rate."""

MAX_RATE_DIFFERENCE = 1e-6
"""Relative difference below which a measured rate is replaced by a common one."""


@record
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
    """Choose the frames of an animation from its key times.

    Args:
        times: The key times of each curve.
        wanted: The frame rate that the file gives. It is used if all keys lie on its frames.
    """
    keys = np.unique(np.concatenate(times))
    start, end = float(keys[0]), float(keys[-1])
    # Keys of different curves may differ by rounding.
    keys = keys[np.concatenate([[True], np.diff(keys) > MAX_KEY_DELAY_SECONDS])]
    even = (len(keys) - 1) / (end - start) if len(keys) > 1 else 0.0
    rate, exact = DEFAULT_FPS, False
    for candidate in (wanted, even if MIN_KEY_FPS <= even <= MAX_KEY_FPS else None, *COMMON_FPS):
        if candidate is not None and _on_frames(keys, candidate):
            rate, exact = candidate, True
            break
    else:
        # A few keys seconds apart give a very low rate, which is multiplied until it reaches a common one.
        if 0.0 < even < MIN_KEY_FPS and _on_frames(keys, even):
            rate, exact = even * float(np.ceil(COMMON_FPS[0] / even)), True
    if wanted is None or rate != wanted:
        rate = next((common for common in COMMON_FPS if abs(common / rate - 1.0) < MAX_RATE_DIFFERENCE), rate)
    frames = int(np.ceil((end - start) * rate - MAX_KEY_DELAY_SECONDS * rate)) + 1
    return Timing(start=start, fps=rate, num_frames=max(frames, 1), exact=exact)


def _on_frames(keys: Array, rate: float) -> bool:
    """Whether every key lies on a frame of that rate, counted from the first key."""
    frames = (keys - keys[0]) * rate
    slack = np.maximum(MAX_KEY_DELAY_SECONDS, 4e-7 * keys) * rate
    return bool(np.all(np.abs(frames - np.rint(frames)) <= np.minimum(slack, 0.2)))


def timing_note(timing: Timing) -> str:
    """A sentence that explains the choice of frames."""
    why = "every key lies on a frame" if timing.exact else "the keys lie on no common frames, and are sampled anew"
    begin = f", from {timing.start:.4g} s on" if timing.start > 0.0 else ""
    return f"glTF has no frame rate; {timing.fps:.6g} fps was chosen: {why}{begin}"


MAX_MATRICES_PER_BLOCK = 1 << 19
"""Matrices computed together. This bounds the memory."""

MAX_JOINT_ROTATIONS = 1 << 23
"""Joint rotations of a motion that are accepted whatever the number of keys in the file."""


def frames_per_block(num_nodes: int) -> int:
    """How many frames of `num_nodes` nodes are computed together."""
    return max(1, min(512, MAX_MATRICES_PER_BLOCK // max(num_nodes, 1)))


def names_of_animations(document: Document) -> tuple[str, ...]:
    """A name for each animation, all different."""
    animations = document.objects(document.list_of("animations"), "animations")
    # Only animations without a name are counted, so that a named one in front of them does not rename them.
    number = count()
    names = [document.text(animation, "name").strip() or f"animation{next(number)}" for animation in animations]
    return make_unique(names)


def stored_fps(document: Document, number: int) -> float | None:
    """The frame rate that our own writer stored with an animation; None if there is none."""
    extras = document.list_of("animations")[number].get("extras")
    value = extras.get("fps") if isinstance(extras, dict) else None
    valid = isinstance(value, int | float) and not isinstance(value, bool) and 0.0 < value < 1e5
    return float(value) if valid else None  # type: ignore[arg-type]


def moving_curves(nodes: GltfNodes, character: Character, curves: list[AnimationCurve]) -> list[AnimationCurve]:
    """The curves of the joints and of their ancestors."""
    relevant = nodes.with_ancestors(character.joints.nodes)
    return [curve for curve in curves if curve.node in relevant]


def find_empty_animations(document: Document, nodes: GltfNodes, character: Character) -> list[int]:
    """The animations with no channel that moves a joint or an ancestor of one. Damaged channels are passed over."""
    relevant = nodes.with_ancestors(character.joints.nodes)
    empty = []
    for i, animation in enumerate(document.list_of("animations")):
        channels = animation.get("channels") if isinstance(animation, dict) else None
        entries = channels if isinstance(channels, list) else []
        targets = [entry.get("target") for entry in entries if isinstance(entry, dict)]
        moved = False
        for target in targets:
            if isinstance(target, dict) and isinstance(target.get("node"), int) and isinstance(target.get("path"), str):
                moved = moved or (target["path"] in VALUE_TYPES and target["node"] in relevant)
        if not moved:
            empty.append(i)
    return empty


def check_length(document: Document, timing: Timing, curves: list[AnimationCurve], num_joints: int) -> None:
    """Refuse an animation with far more frames than keys."""
    stored = sum(len(curve.times) for curve in curves)
    if timing.num_frames * num_joints > max(MAX_JOINT_ROTATIONS, 64 * stored):
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
    """The motion that the curves give the joints, in metres with Y up."""
    positions, world_rotations = _sample(nodes, character, curves, timing.times)
    world = world_from_file(up)
    if up != "Y":
        positions, world_rotations = rotate(world, positions), multiply(world, world_rotations)
    positions *= unit
    rotations, offsets = local_from_world(skeleton, positions, world_rotations)
    return Motion(skeleton=skeleton, fps=timing.fps, root=positions[:, 0], rotations=rotations, offsets=offsets)


def _sample(nodes: GltfNodes, character: Character, curves: list[AnimationCurve], times: Array) -> tuple[Array, Array]:
    """World positions (F, J, 3) and rotations (F, J, 4) of the joints, in the file's unit and axes."""
    joints = character.joints.nodes
    positions, rotations = np.empty((len(times), len(joints), 3)), np.empty((len(times), len(joints), 4))
    by_node: dict[int, dict[str, AnimationCurve]] = {}
    for curve in curves:
        by_node.setdefault(curve.node, {})[curve.path] = curve
    needed = nodes.with_ancestors(joints)
    order = [node for node in nodes.order if node in needed]
    step = frames_per_block(len(order))
    for start in range(0, len(times), step):
        part = slice(start, start + step)
        worlds = _worlds(nodes, order, by_node, times[part])
        for joint, node in enumerate(joints):
            if node == NO_NODE:
                positions[part, joint], rotations[part, joint] = 0.0, [1.0, 0.0, 0.0, 0.0]
                continue
            positions[part, joint] = worlds[node][:, :3, 3]
            rotations[part, joint] = world_rotation(worlds[node], character.stretches[joint])
    return positions, rotations


def _worlds(
    nodes: GltfNodes, order: list[int], curves: dict[int, dict[str, AnimationCurve]], times: Array
) -> dict[int, Array]:
    """World from node (F, 4, 4) at some times, by node."""
    worlds: dict[int, Array] = {}
    for node in order:
        node_curves = curves.get(node)
        if node_curves is None:
            local = np.broadcast_to(nodes.locals[node], (len(times), 4, 4))
        else:
            defaults = {
                "translation": nodes.translations[node], "rotation": nodes.rotations[node], "scale": nodes.scales[node],
            }  # fmt: skip
            parts = [
                node_curves[path].at(times) if path in node_curves else np.broadcast_to(value, (len(times), len(value)))
                for path, value in defaults.items()
            ]
            local = compose(*parts)
        parent = int(nodes.parents[node])
        worlds[node] = local if parent < 0 else worlds[parent] @ local
    return worlds


def ignored_channels(document: Document, number: int, num_curves: int, num_moving: int) -> list[str]:
    """Notes on the channels of an animation that do not move the character."""
    notes = []
    if num_curves > num_moving:
        notes.append(f"{num_curves - num_moving} channels of the animation move what is no part of the character")
    paths = [channel["target"].get("path") for channel in document.list_of("animations")[number].get("channels", [])]
    if "weights" in paths:
        notes.append(f"{paths.count('weights')} channels of the animation change morph targets (faces, mostly)")
    return notes


def scale_notes(nodes: GltfNodes, character: Character, curves: list[AnimationCurve], times: Array) -> list[str]:
    """A note on joints that change their scale, which a motion cannot hold."""
    joints = set(character.joints.nodes)
    scaled = [
        curve.node
        for curve in curves
        if curve.path == "scale" and np.max(np.abs(curve.at(times) / _nonzero(curve.at(times[:1])) - 1.0)) > 1e-3
    ]
    if not scaled:
        return []
    first = nodes.names[scaled[0]] or f"node {scaled[0]}"
    what = "joints" if set(scaled) <= joints else "nodes"
    return [
        f"{len(scaled)} {what} change their scale, from `{first}`: where joints go is kept, how thick they get is not"
    ]


def _nonzero(values: Array) -> Array:
    return np.where(np.abs(values) > 1e-12, values, 1.0)
