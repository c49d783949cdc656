"""An animation of a glTF file as a motion: sampled on frames, in metres with Y up."""

from __future__ import annotations

from itertools import count

import numpy as np

from understudy.geometry.quaternion import Array, conjugate, multiply, rotate, unrotate
from understudy.io.gltf_character import Character, polar_turn
from understudy.io.gltf_document import Document
from understudy.io.gltf_joints import MADE_UP, distinct
from understudy.io.gltf_nodes import Nodes, composed
from understudy.io.gltf_rate import Timing
from understudy.io.gltf_sampling import Curve
from understudy.io.units import world_from_file
from understudy.motion import Motion
from understudy.skeleton import Skeleton

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


def moving_curves(nodes: Nodes, character: Character, curves: list[Curve]) -> list[Curve]:
    """The curves of the joints and of the nodes above and between them."""
    over = nodes.with_above(character.joints.nodes)
    return [curve for curve in curves if curve.node in over]


def check_length(document: Document, timing: Timing, curves: list[Curve], num_joints: int) -> None:
    """Refuse an animation that would be far longer than what is stored of it."""
    stored = sum(len(curve.times) for curve in curves)
    if timing.num_frames * num_joints > max(MOST, 64 * stored):
        raise document.error(
            "animations",
            f"lasts {timing.num_frames / timing.fps:.3g} s, which makes {timing.num_frames} frames of {stored} keys",
        )


def make_motion(
    nodes: Nodes, character: Character, skeleton: Skeleton, curves: list[Curve], timing: Timing, unit: float, up: str
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


def _sampled(nodes: Nodes, character: Character, curves: list[Curve], times: Array) -> tuple[Array, Array]:
    """World places (F, J, 3) and orientations (F, J, 4) of the joints, in the file's unit and axes."""
    joints = character.joints.nodes
    places, turns = np.empty((len(times), len(joints), 3)), np.empty((len(times), len(joints), 4))
    by_node: dict[int, dict[str, Curve]] = {}
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


def _worlds(nodes: Nodes, order: list[int], curves: dict[int, dict[str, Curve]], times: Array) -> dict[int, Array]:
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


def others(document: Document, number: int, curves: list[Curve], mine: list[Curve]) -> list[str]:
    """What else an animation does than move the character, a sentence each."""
    said = []
    if len(curves) > len(mine):
        said.append(f"{len(curves) - len(mine)} channels of the animation move what is no part of the character")
    paths = [channel["target"].get("path") for channel in document.list_of("animations")[number].get("channels", [])]
    if "weights" in paths:
        said.append(f"{paths.count('weights')} channels of the animation change morph targets (faces, mostly)")
    return said


def growing(nodes: Nodes, character: Character, curves: list[Curve], times: Array) -> list[str]:
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
