"""glTF 2.0, as text (.gltf) and binary (.glb): characters with skins, meshes and animations.

glTF is in metres with Y up. Some files have a body of impossible size in metres; then the unit is guessed as for files
that give none, and `unit_reason` says so.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import BinaryIO

import numpy as np

from understudy.base.errors import FileError, MotionError, SkeletonError
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io.clip import Clip, ReadOptions, choose_clip_index, describe_clip_choice, name_unit
from understudy.io.gltf.animation import (
    VALUE_TYPES,
    check_length,
    find_empty_animations,
    find_timing,
    ignored_channels,
    make_motion,
    moving_curves,
    names_of_animations,
    read_curves,
    scale_notes,
    stored_fps,
    timing_note,
)
from understudy.io.gltf.character import Character, find_joints, make_skeleton, read_character, read_meshes
from understudy.io.gltf.document import Accessors, Document, GltfNodes, parse, read_nodes
from understudy.io.gltf.writer import GltfLayout
from understudy.io.guess import MAX_BODY_SIZE_METRES, MIN_BODY_JOINTS, MIN_BODY_SIZE_METRES, guess


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a glTF or GLB file.

    Args:
        stream: The file's bytes.
        name: The file as the user named it, for errors and to find files beside it.
        options: Which animation, and unit and up axis if they differ from the format's.
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
    choose_clip_index(names, options.clip, document.name)
    character = read_character(document, nodes, find_joints(document, nodes, _animated(document)), accessors)
    title = PurePath(document.name).stem
    unit, unit_reason = _unit(make_skeleton(character, nodes, 1.0, "Y", title), options)
    up = options.up or "Y"
    skeleton = make_skeleton(character, nodes, unit, up, title)
    notes, dropped = [*character.joints.notes, *character.notes], [*character.joints.dropped]
    empty = tuple(names[i] for i in find_empty_animations(document, nodes, character))
    still: tuple[str, ...] = ()
    if options.clip is None and len(names) > 1:
        still = _still_animations(document, nodes, character, accessors, names, empty)
    # The first that moves joints; else the first that holds them in a pose; else the first.
    kinds = [(name in empty, name in still) for name in names]
    chosen = choose_clip_index(names, options.clip, document.name, kinds.index(min(kinds)) if kinds else 0)
    notes += describe_clip_choice(names, chosen, empty, options.clip, document.name)
    motion, start = None, 0.0
    if chosen is not None:
        motion, start, more, lost = _motion(document, nodes, character, skeleton, accessors, chosen, unit, up)
        motion = None if motion is None else replace(motion, name=names[chosen])
        notes, dropped = [*notes, *more], [*dropped, *lost]
    try:
        meshes, left = read_meshes(document, nodes, character, skeleton, accessors, unit, up)
    except FileError as error:
        if not options.lenient:
            raise
        meshes, left = (), [f"all meshes: {error.message.removeprefix(f'{document.name}: ')}"]
    return Clip(
        skeleton=skeleton, motion=motion, format="gltf", unit=unit, unit_reason=unit_reason, up=up,
        up_reason=f"{up} is up: {'given' if options.up else 'by definition of glTF'}",
        notes=tuple(notes), dropped=(*dropped, *left), clips=names, empty_clips=empty,
        still_clips=still, meshes=meshes,
        layout=GltfLayout(
            document=document, nodes=nodes, character=character, animation=chosen, start=start, motion=motion,
            skeleton=skeleton,
        ),
    )  # fmt: skip


def _still_animations(
    document: Document, nodes: GltfNodes, character: Character, accessors: Accessors, names: tuple[str, ...],
    empty: tuple[str, ...],
) -> tuple[str, ...]:  # fmt: skip
    """The animations that hold the character in one pose."""
    still = []
    for i, name in enumerate(names):
        if name in empty:
            continue
        try:
            curves = moving_curves(nodes, character, read_curves(document, i, accessors))
        except FileError:
            # A damaged animation is reported when it is read.
            continue
        if not any(np.any(curve.values != curve.values[0]) for curve in curves):
            still.append(name)
    return tuple(still)


def _motion(
    document: Document, nodes: GltfNodes, character: Character, skeleton: Skeleton, accessors: Accessors, number: int,
    unit: float, up: str,
) -> tuple[Motion | None, float, list[str], list[str]]:  # fmt: skip
    """An animation as a motion, its start in seconds, notes, and what was left out."""
    curves = read_curves(document, number, accessors)
    moving = moving_curves(nodes, character, curves)
    lost = ignored_channels(document, number, len(curves), len(moving))
    if not moving:
        return None, 0.0, [], lost
    timing = find_timing([curve.times for curve in moving], stored_fps(document, number))
    check_length(document, timing, moving, skeleton.num_joints)
    motion = make_motion(nodes, character, skeleton, moving, timing, unit, up)
    return motion, timing.start, [timing_note(timing)], [*lost, *scale_notes(nodes, character, moving, timing.times)]


def _animated(document: Document) -> set[int]:
    """The nodes that any animation moves."""
    animated = set()
    for animation in document.objects(document.list_of("animations"), "animations"):
        channels = animation.get("channels", [])
        for channel in channels if isinstance(channels, list) else []:
            target = channel.get("target") if isinstance(channel, dict) else None
            node = (
                target.get("node")
                if isinstance(target, dict) and document.text(target, "path") in VALUE_TYPES
                else None
            )
            if isinstance(node, int) and 0 <= node < len(document.list_of("nodes")):
                animated.add(int(node))
    return animated


def _unit(skeleton: Skeleton, options: ReadOptions) -> tuple[float, str]:
    """The file's unit in metres, and the reason: metres, unless that makes a body of impossible size."""
    if options.unit is not None:
        return options.unit, f"{name_unit(options.unit)}: given"
    positions = np.concatenate([skeleton.rest_world[0], skeleton.rest_ends])
    size = float(np.ptp(positions, axis=0).max())
    if size == 0.0 or skeleton.num_joints < MIN_BODY_JOINTS or MIN_BODY_SIZE_METRES <= size <= MAX_BODY_SIZE_METRES:
        return 1.0, "m: by definition of glTF"
    guessed = guess(skeleton, up=options.up or "Y")
    return guessed.unit, f"{guessed.unit_reason}; glTF means metres, which would make {size:.3g} m"
