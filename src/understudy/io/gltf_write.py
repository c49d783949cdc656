"""Writing glTF: an animation into the character's own file, or a character made of what we know."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, BinaryIO

import numpy as np

from understudy.io.clip import Clip, WriteOptions
from understudy.io.gltf_animation import names_of_animations
from understudy.io.gltf_build import build
from understudy.io.gltf_builder import Builder
from understudy.io.gltf_character import Character
from understudy.io.gltf_document import Document, Json
from understudy.io.gltf_nodes import Nodes
from understudy.io.gltf_tracks import Track, make_tracks
from understudy.io.units import unit_name
from understudy.motion import Motion
from understudy.skeleton import Skeleton


@dataclass(frozen=True, eq=False, kw_only=True)
class GltfLayout:
    """A glTF file as it was read, to write an animation into it and leave all else as it is."""

    document: Document
    nodes: Nodes
    character: Character
    animation: int | None = None
    """The number of the animation that was read."""
    start: float = 0.0
    """Seconds of the file's clock at its first frame."""
    motion: Motion | None = None
    """What was read of it, to know it again."""
    skeleton: Skeleton | None = None
    """What was read of the joints."""

    def fits(self, skeleton: Skeleton) -> bool:
        """Whether a skeleton has the joints of the file; bone lengths may differ."""
        joints = self.character.joints
        return skeleton.names == joints.names and np.array_equal(skeleton.parents, joints.parents)


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write a glTF file, as text if its name ends in .gltf, else as GLB.

    A clip read from glTF goes back into its own file: the motion becomes the first animation, in the place of one of
    the same name, and all else stays. Anything else becomes a file of its joints and meshes, with a surface of bones
    where there is no mesh.

    Args:
        clip: What to write.
        stream: Where to.
        options: The file's name; unit and up axis for a file made anew.

    Returns:
        What glTF could not hold, a sentence each.
    """
    layout = clip.layout if isinstance(clip.layout, GltfLayout) and clip.layout.fits(clip.skeleton) else None
    text = options.path.lower().endswith(".gltf")
    said: list[str]
    if layout is None:
        name = clip.motion.name if clip.motion is not None and clip.motion.name else "motion"
        builder, said = build(clip, options.unit or 1.0, options.up or "Y", name)
    else:
        builder, said = _into_own_file(clip, layout, options)
    builder.write(stream, text=text)
    return tuple(said)


def _into_own_file(clip: Clip, layout: GltfLayout, options: WriteOptions) -> tuple[Builder, list[str]]:
    """The character's own file with the clip's motion in it; as it is, where that is the motion that was read."""
    said = []
    if (options.unit or clip.unit) != clip.unit or (options.up or clip.up) != clip.up:
        said.append(f"the character's own file keeps its unit ({unit_name(clip.unit)}) and its up axis ({clip.up})")
    said += _left_behind(layout.document, options.path)
    motion = clip.motion
    if motion is None and layout.skeleton is not None and clip.skeleton is not layout.skeleton:
        said.append(
            "without a motion the character's own file is written as it is: bones of other lengths are not kept"
        )
    if motion is None or motion is layout.motion:
        return Builder(copy.deepcopy(layout.document.tree), layout.document.buffers), said
    builder = Builder(copy.deepcopy(layout.document.tree), layout.document.buffers)
    tracks = make_tracks(layout.nodes, layout.character, motion, clip.unit, clip.up)
    _untie(builder.tree, layout.nodes, tracks)
    names = names_of_animations(layout.document)
    # A motion that is called like its character has no name of its own yet; the file's is more telling.
    name = motion.name if motion.name != clip.skeleton.name else PurePath(options.path).stem or motion.name
    name = name or "motion"
    old = names.index(name) if name in names else None
    start = layout.start if old is not None and old == layout.animation else 0.0
    times = start + np.arange(motion.num_frames) / motion.fps
    made = builder.animation(name, times, motion.fps, tracks)
    animations: list[Any] = builder.tree.setdefault("animations", [])
    if old is not None:
        _keep_others(made, animations.pop(old), layout)
    # Viewers play the first animation by themselves, and it is what reads back where none is named.
    animations.insert(0, made)
    return builder, said


def _untie(tree: Json, nodes: Nodes, tracks: list[Track]) -> None:
    """Write matrices of nodes that are to be animated as translation, rotation and scale, as the format demands."""
    for track in tracks:
        node = tree["nodes"][track.node]
        if nodes.has_matrix[track.node]:
            del node["matrix"]
            node["translation"] = nodes.translations[track.node].tolist()
            node["rotation"] = nodes.rotations[track.node][[1, 2, 3, 0]].tolist()
            node["scale"] = nodes.scales[track.node].tolist()


def _keep_others(made: Json, old: Json, layout: GltfLayout) -> None:
    """Carry over what the replaced animation does to anything but the joints and the nodes that move them."""
    moved = layout.nodes.with_above(layout.character.joints.nodes)
    for channel in old.get("channels", []):
        target = channel.get("target", {})
        if target.get("path") in ("translation", "rotation", "scale") and target.get("node") in moved:
            continue
        made["channels"].append({**channel, "sampler": len(made["samplers"])})
        made["samplers"].append(old["samplers"][channel["sampler"]])


def _left_behind(document: Document, path: str) -> list[str]:
    """A sentence about images that lie beside the original file, where the new one is elsewhere."""
    images = [each.get("uri") for each in document.list_of("images") if isinstance(each, dict)]
    outside = [uri for uri in images if isinstance(uri, str) and not uri.startswith("data:")]
    if not outside or not path or Path(path).parent.resolve() == Path(document.folder).resolve():
        return []
    return [f"{len(outside)} images, from `{outside[0][:60]}`, lie beside the original file and are not copied"]
