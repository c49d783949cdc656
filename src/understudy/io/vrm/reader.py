"""Reads VRM 0.x, VRM 1.0 and VRM animations: glTF, with a table of which node is which bone of a human.

Source: the specifications of VRM 0.x, VRMC_vrm-1.0 and VRMC_vrm_animation-1.0 by the VRM Consortium.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, BinaryIO

from understudy.base.errors import FileError
from understudy.io.clip import Clip, ReadOptions
from understudy.io.gltf import reader as gltf_reader
from understudy.io.gltf.writer import GltfLayout

MODEL_0, MODEL_1, ANIMATION = "VRM", "VRMC_vrm", "VRMC_vrm_animation"
"""The glTF extensions that make a file a VRM 0.x model, a VRM 1.0 model, or a VRM animation."""

SPRINGS = "VRMC_springBone"
"""The extension with the spring bones of a VRM 1.0 model."""

TRUNK = {"hips": "hips", "spine": "spine", "chest": "chest", "neck": "neck", "head": "head"}

LIMBS = {
    "UpperLeg": "upper_leg", "LowerLeg": "lower_leg", "Foot": "foot", "Toes": "toe", "Shoulder": "shoulder",
    "UpperArm": "upper_arm", "LowerArm": "lower_arm", "Hand": "hand",
}  # fmt: skip

ROLE_OF_BONE = TRUNK | {f"{side}{bone}": f"{side}_{role}" for side in ("left", "right") for bone, role in LIMBS.items()}
"""Our name of a part by the format's name of a bone."""


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a VRM model of either version."""
    return _with_roles(gltf_reader.read(stream, name, options), (MODEL_1, MODEL_0), "vrm", name)


def read_animation(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a VRM animation."""
    return _with_roles(gltf_reader.read(stream, name, options), (ANIMATION,), "vrma", name)


def _with_roles(clip: Clip, extensions: tuple[str, ...], format_name: str, name: str) -> Clip:
    """A clip whose skeleton has the roles that the file gives its joints."""
    layout = clip.layout
    assert isinstance(layout, GltfLayout)
    tree = layout.document.tree.get("extensions")
    known = [key for key in extensions if isinstance(tree, dict) and isinstance(tree.get(key), dict)]
    if not known:
        raise FileError(
            name, None, f"is glTF without the extension {' or '.join(f'`{key}`' for key in extensions)}",
            hint="a file of another kind of character ends in .glb",
        )  # fmt: skip
    bones = human_bones(tree[known[0]])  # type: ignore[index]
    joint_of = {node: joint for joint, node in enumerate(layout.character.joints.nodes)}
    if "chest" not in bones and "upperChest" in bones:
        bones["chest"] = bones["upperChest"]
    roles = {
        role: clip.skeleton.names[joint_of[bones[bone]]]
        for bone, role in ROLE_OF_BONE.items()
        if bones.get(bone) in joint_of
    }
    if "hips" not in roles:
        raise FileError(name, None, f"`{known[0]}` does not say which joint the hips are")
    skeleton = replace(clip.skeleton, role_joints=roles, roles_given=True)
    motion = None if clip.motion is None else replace(clip.motion, skeleton=skeleton)
    version = "0.x" if known[0] == MODEL_0 else "1.0"
    return replace(
        clip, skeleton=skeleton, motion=motion, format=format_name,
        notes=(*clip.notes, f"VRM {version}; the file names {len(roles)} main bones of a human"),
        layout=replace(layout, motion=motion, skeleton=skeleton), extras=_extras(tree),  # type: ignore[arg-type]
    )  # fmt: skip


EXTRAS = {"licence": "meta", "expressions": "expressions", "gaze": "lookAt", "first-person view": "firstPerson"}
"""What else of a character VRM 1.0 holds, in words, and its key."""

EXTRAS_0 = {"licence": "meta", "expressions": "blendShapeMaster", "first-person view": "firstPerson",
            "spring bones": "secondaryAnimation"}  # fmt: skip
"""The same for VRM 0.x."""


def _extras(extensions: dict[str, Any]) -> tuple[str, ...]:
    """What else of a character the extensions of a VRM model hold, in words."""
    words = []
    for model, table in ((MODEL_1, EXTRAS), (MODEL_0, EXTRAS_0)):
        held = extensions.get(model)
        if isinstance(held, dict):
            words += [word for word, key in table.items() if held.get(key)]
    if extensions.get(SPRINGS):
        words.append("spring bones")
    return tuple(dict.fromkeys(words))


def human_bones(extension: dict[str, Any]) -> dict[str, int]:
    """The node of each bone that an extension names."""
    humanoid = extension.get("humanoid")
    table = humanoid.get("humanBones") if isinstance(humanoid, dict) else None
    bones: dict[str, int] = {}
    if isinstance(table, dict):
        entries = [(bone, entry) for bone, entry in table.items() if isinstance(entry, dict)]
    else:
        listed = table if isinstance(table, list) else []
        entries = [(entry.get("bone"), entry) for entry in listed if isinstance(entry, dict)]
    for bone, entry in entries:
        node = entry.get("node")
        if isinstance(bone, str) and isinstance(node, int) and not isinstance(node, bool):
            bones[bone] = node
    return bones
