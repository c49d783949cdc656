"""glTF 2.0, as text (.gltf) and binary (.glb): characters with skins, meshes and animations.

glTF is in metres with Y up. Files whose body is impossibly large or small for that are met all the same; then the unit
is guessed as for files that give none, and it is said.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import BinaryIO

import numpy as np

from understudy.base.errors import FileError, MotionError, SkeletonError
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io.clip import Clip, ReadOptions, choose_clip
from understudy.io.gltf.animation import (
    WIDTHS,
    check_length,
    find_timing,
    given_rate,
    growing,
    make_motion,
    moving_curves,
    names_of_animations,
    others,
    read_curves,
    spoken,
)
from understudy.io.gltf.character import Character, find_joints, make_skeleton, read_character, read_meshes
from understudy.io.gltf.document import Accessors, Document, GltfNodes, parse, read_nodes
from understudy.io.gltf.writer import GltfLayout
from understudy.io.guess import FEWEST_JOINTS, guess
from understudy.io.units import unit_name

SMALLEST, LARGEST = 0.02, 25.0
"""Metres between which the longest side of a body is believed."""


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a glTF or GLB file.

    Args:
        stream: The file's bytes.
        name: The file as the user named it, for errors and to find files beside it.
        options: Which animation, and unit and up axis where they are not the format's own.
    """
    document = parse(stream.read(), name)
    try:
        with np.errstate(all="ignore"):
            return _clip(document, options)
    except (SkeletonError, MotionError) as error:
        raise FileError(name, None, f"the numbers make no body: {error.message}") from None
    except np.linalg.LinAlgError:
        raise FileError(name, None, "the numbers make no body: a transform cannot be worked out") from None


def _clip(document: Document, options: ReadOptions) -> Clip:
    nodes, accessors = read_nodes(document), Accessors(document)
    if not np.all(np.isfinite(nodes.worlds)):
        raise document.error("nodes", "their transforms multiply to numbers without end")
    names = names_of_animations(document)
    chosen = choose_clip(names, options.clip, document.name)
    character = read_character(document, nodes, find_joints(document, nodes, _animated(document)), accessors)
    title = PurePath(document.name).stem
    unit, unit_reason = _unit(make_skeleton(character, nodes, 1.0, "Y", title), options)
    up = options.up or "Y"
    skeleton = make_skeleton(character, nodes, unit, up, title)
    notes, dropped = [*character.joints.notes, *character.notes], [*character.joints.dropped]
    motion, start = None, 0.0
    if chosen is not None:
        if len(names) > 1 and options.clip is None:
            notes.append(f"{len(names)} animations; `{names[chosen]}`, the first, is read")
        motion, start, said, lost = _motion(document, nodes, character, skeleton, accessors, chosen, unit, up)
        motion = None if motion is None else replace(motion, name=names[chosen])
        notes, dropped = [*notes, *said], [*dropped, *lost]
    try:
        meshes, left = read_meshes(document, nodes, character, skeleton, accessors, unit, up)
    except FileError as error:
        if not options.lenient:
            raise
        meshes, left = (), [f"all meshes: {error.message.removeprefix(f'{document.name}: ')}"]
    return Clip(
        skeleton=skeleton, motion=motion, format="gltf", unit=unit, unit_reason=unit_reason, up=up,
        up_reason=f"{up} is up: {'given' if options.up else 'by definition of glTF'}",
        notes=tuple(notes), dropped=(*dropped, *left), clips=names, meshes=meshes,
        layout=GltfLayout(
            document=document, nodes=nodes, character=character, animation=chosen, start=start, motion=motion,
            skeleton=skeleton,
        ),
    )  # fmt: skip


def _motion(
    document: Document, nodes: GltfNodes, character: Character, skeleton: Skeleton, accessors: Accessors, number: int,
    unit: float, up: str,
) -> tuple[Motion | None, float, list[str], list[str]]:  # fmt: skip
    """An animation as a motion, the second it begins at, what is to be said about it and what was left out."""
    curves = read_curves(document, number, accessors)
    mine = moving_curves(nodes, character, curves)
    lost = others(document, number, curves, mine)
    if not mine:
        return None, 0.0, ["the animation moves no joint of the character"], lost
    timing = find_timing([curve.times for curve in mine], given_rate(document, number))
    check_length(document, timing, mine, skeleton.num_joints)
    motion = make_motion(nodes, character, skeleton, mine, timing, unit, up)
    return motion, timing.start, [spoken(timing)], [*lost, *growing(nodes, character, mine, timing.times)]


def _animated(document: Document) -> set[int]:
    """The nodes that any animation moves."""
    found = set()
    for animation in document.objects(document.list_of("animations"), "animations"):
        channels = animation.get("channels", [])
        for channel in channels if isinstance(channels, list) else []:
            target = channel.get("target") if isinstance(channel, dict) else None
            node = target.get("node") if isinstance(target, dict) and document.text(target, "path") in WIDTHS else None
            if isinstance(node, int) and 0 <= node < len(document.list_of("nodes")):
                found.add(int(node))
    return found


def _unit(skeleton: Skeleton, options: ReadOptions) -> tuple[float, str]:
    """Metres in one unit of the file and why: metres, unless that makes a body of impossible size."""
    if options.unit is not None:
        return options.unit, f"{unit_name(options.unit)}: given"
    places = np.concatenate([skeleton.rest_world[0], skeleton.rest_ends])
    size = float(np.ptp(places, axis=0).max())
    if size == 0.0 or skeleton.num_joints < FEWEST_JOINTS or SMALLEST <= size <= LARGEST:
        return 1.0, "m: by definition of glTF"
    found = guess(skeleton, up=options.up or "Y")
    return found.unit, f"{found.unit_reason}; glTF means metres, which would make {size:.3g} m"
