"""The skeleton of a glTF file: rest pose from the skins' bind pose, in metres with Y up.

A joint's node may be scaled, sheared or mirrored against the world (an armature of scale 100 is common). What is left
of its matrix when the rotation is taken out is its `stretch`: world_from_node = (position, rotation) * stretch. The
stretch of the unmoved file is taken to hold throughout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.geometry.quaternion import Array, conjugate, multiply, rotate, unrotate
from understudy.io.gltf_accessor import Accessors
from understudy.io.gltf_document import Document
from understudy.io.gltf_joints import MADE_UP, Joints, Skin
from understudy.io.gltf_nodes import Nodes, polar, turned
from understudy.io.units import world_from_file
from understudy.skeleton import Point, Skeleton

LIKE_SIZE = 1.5
"""How many times larger or smaller a bind pose may be than the pose of the nodes."""
LIKE_PLACE = 0.7
"""How far joints of the bind pose may be on average from where the nodes are, as a share of the body's spread."""
UNEVEN = 1e-3
"""Relative difference of the scales along a joint's axes from which on its orientation is only nearly kept."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Character:
    """The joints of a file in its own unit and axes, as they are bound."""

    joints: Joints
    stretches: Array
    """(J, 3, 3) what is left of each joint's matrix without its rotation."""
    places: Array
    """(J, 3) where the joints are in the bind pose."""
    rotations: Array
    """(J, 4) how they are turned, in the world."""
    ends: Array
    """(E, 3) the end points in their joints' frames, lengths of the file's world."""
    inverse_binds: dict[int, Array]
    """By skin, (n, 4, 4) joint from mesh of each of its joints."""
    mesh_worlds: dict[int, Array]
    """By skin, (4, 4) what takes its mesh into the world of the bind pose."""
    notes: tuple[str, ...] = ()


def read_character(document: Document, nodes: Nodes, joints: Joints, accessors: Accessors) -> Character:
    """The character as bound: by the inverse bind matrices where a joint has one, else as its node is."""
    worlds = np.array([np.eye(4) if node == MADE_UP else nodes.worlds[node] for node in joints.nodes])
    stretches, notes = _stretches(worlds, joints)
    bound, binds, mesh_worlds = worlds.copy(), {}, {}
    known: set[int] = set()
    place = {node: joint for joint, node in enumerate(joints.nodes)}
    carriers = _carriers(document)
    for skin in joints.skins:
        inverse = _inverse_binds(document, skin, accessors)
        binds[skin.number] = np.tile(np.eye(4), (len(skin.joints), 1, 1)) if inverse is None else inverse
        mesh_worlds[skin.number] = np.eye(4)
        if inverse is None:
            continue
        mine = [place[node] for node in skin.joints]
        if np.any(np.abs(np.linalg.det(inverse)) < 1e-30):
            notes.append(
                f"skin {skin.number} has bind matrices without an inverse: the nodes' own pose is the rest pose"
            )
            continue
        poses: Array = np.linalg.inv(inverse).astype(float)
        mesh_worlds[skin.number] = _mesh_world(nodes, skin, carriers.get(skin.number, []), poses, inverse)
        fresh = [(i, joint) for i, joint in enumerate(mine) if joint not in known]
        for i, joint in fresh:
            bound[joint] = mesh_worlds[skin.number] @ poses[i]
        known |= {joint for _, joint in fresh}
    _follow(bound, worlds, joints, known)
    rotations = turned(bound[:, :3, :3] @ np.linalg.inv(stretches))
    ends = [
        unrotate(polar_turn(nodes.worlds[joints.nodes[j]], stretches[j]), _gap(nodes, joints.nodes[j], node))
        for j, node in joints.ends
    ]
    return Character(
        joints=joints, stretches=stretches, places=bound[:, :3, 3], rotations=rotations,
        ends=np.array(ends).reshape(-1, 3), inverse_binds=binds, mesh_worlds=mesh_worlds, notes=tuple(notes),
    )  # fmt: skip


def polar_turn(world: Array, stretch: Array) -> Array:
    """(..., 4) the rotation in node matrices, given what else is in them."""
    return turned(world[..., :3, :3] @ np.linalg.inv(stretch))


def _gap(nodes: Nodes, joint: int, end: int) -> Array:
    return nodes.worlds[end][:3, 3] - nodes.worlds[joint][:3, 3]


def _stretches(worlds: Array, joints: Joints) -> tuple[Array, list[str]]:
    """(J, 3, 3) what joint matrices hold besides rotation, and what is to be said about it."""
    stretches = polar(worlds[:, :3, :3])[1]
    flat = np.abs(np.linalg.det(stretches)) < 1e-30
    stretches[flat] = np.eye(3)
    scale = np.cbrt(np.abs(np.linalg.det(stretches)))[:, None, None]
    uneven = np.max(np.abs(stretches / scale - np.eye(3)), axis=(1, 2)) > UNEVEN
    notes = []
    for which, what in ((flat, "have no size: their scale is 0"), (uneven & ~flat, "are scaled unevenly")):
        if np.any(which):
            first = joints.names[int(np.argmax(which))]
            notes.append(
                f"{int(which.sum())} joints {what}, from `{first}`; how they are turned is kept as nearly as it can be"
            )
    return stretches, notes


def _carriers(document: Document) -> dict[int, list[int]]:
    """The nodes that have a mesh with each skin."""
    found: dict[int, list[int]] = {}
    for i, node in enumerate(document.objects(document.list_of("nodes"), "nodes")):
        if "skin" in node:
            document.item("skins", node["skin"], f"nodes[{i}].skin")
            found.setdefault(node["skin"], []).append(i)
    return found


def _inverse_binds(document: Document, skin: Skin, accessors: Accessors) -> Array | None:
    """(n, 4, 4) a skin's inverse bind matrices; None where it gives none."""
    if skin.inverse_binds is None:
        return None
    where = f"skins[{skin.number}].inverseBindMatrices"
    found = accessors.numbers(skin.inverse_binds, "MAT4", where)
    if len(found) < len(skin.joints):
        raise document.error(where, f"expected {len(skin.joints)} matrices, one for each joint; got {len(found)}")
    found = found[: len(skin.joints)].copy()
    found[:, 3] = [0.0, 0.0, 0.0, 1.0]
    return found


def _mesh_world(nodes: Nodes, skin: Skin, carriers: list[int], poses: Array, inverse: Array) -> Array:
    """(4, 4) where the mesh was while it was bound, which a glTF does not say.

    Exporters mean the transform of the mesh's node, of what the joints hang from, or nothing at all; whichever puts
    the bound joints where the nodes about are. If none does, the first joint is where its node is.
    """
    here = nodes.worlds[list(skin.joints)]
    first = int(np.argmin(nodes.depths[list(skin.joints)]))
    parent = nodes.parents[skin.joints[first]]
    candidates = [nodes.worlds[node] for node in carriers]
    candidates += [nodes.worlds[parent]] if parent >= 0 else []
    candidates.append(np.eye(4))
    for candidate in candidates:
        if _alike(candidate @ poses, here):
            return candidate
    return here[first] @ inverse[first]


def _alike(bound: Array, here: Array) -> bool:
    """Whether joints (n, 4, 4) are about as large and about where the nodes are."""
    sizes = [np.cbrt(np.abs(np.linalg.det(each[:, :3, :3]))).mean() for each in (bound, here)]
    spreads = [float(np.sqrt(np.var(each[:, :3, 3], axis=0).sum())) for each in (bound, here)]
    tiny = 1e-9 * (1.0 + float(np.abs(here[:, :3, 3]).max()))
    for a, b in (sizes, spreads):
        if max(a, b) > LIKE_SIZE * min(a, b) + tiny:
            return False
    gap = np.linalg.norm(bound[:, :3, 3] - here[:, :3, 3], axis=1).mean()
    return bool(gap <= LIKE_PLACE * spreads[1] + tiny)


def _follow(bound: Array, worlds: Array, joints: Joints, known: set[int]) -> None:
    """Let the joints that no skin binds hang from the bound ones as their nodes do; in place."""
    for joint, parent in enumerate(joints.parents.tolist()):
        if joint in known or parent < 0 or not known:
            continue
        above = worlds[parent]
        if abs(np.linalg.det(above[:3, :3])) > 1e-30:
            bound[joint] = bound[parent] @ np.linalg.inv(above) @ worlds[joint]


def make_skeleton(character: Character, nodes: Nodes, unit: float, up: str, name: str) -> Skeleton:
    """The skeleton in metres with Y up."""
    joints, turn = character.joints, world_from_file(up)
    parents = joints.parents
    rotations, places = multiply(turn, character.rotations), rotate(turn, character.places) * unit
    offsets, rest = places.copy(), rotations.copy()
    offsets[1:] = unrotate(rotations[parents[1:]], places[1:] - places[parents[1:]])
    rest[1:] = multiply(conjugate(rotations[parents[1:]]), rotations[1:])
    taken = set(joints.names)
    ends = []
    for (joint, node), offset in zip(joints.ends, character.ends):
        title = nodes.names[node] or f"{joints.names[joint]}_end"
        while title in taken:
            title += "_end"
        taken.add(title)
        ends.append(Point(name=title, joint=joints.names[joint], offset=offset * unit))
    return Skeleton(names=joints.names, parents=parents, offsets=offsets, rest=rest, ends=tuple(ends), name=name)
