"""The meshes of a glTF file that its joints carry: skinned ones, and stiff ones that hang from a joint.

Source: Khronos glTF 2.0 specification, sections 3.7.2 (meshes) and 3.7.3 (skins).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.errors import SkeletonError
from understudy.geometry.quaternion import Array, to_matrix
from understudy.io.gltf_accessor import Accessors
from understudy.io.gltf_character import Character, polar_turn
from understudy.io.gltf_document import LARGEST, Document, Json
from understudy.io.gltf_nodes import Nodes, affine
from understudy.io.units import world_from_file
from understudy.skeleton import Skeleton
from understudy.skin import Mesh, binds_of_rest

MOST_VERTICES, MOST_CORNERS, MOST_BINDS = 1 << 22, 1 << 24, 1 << 21
"""Vertices, corners of triangles and bind matrices of all meshes: a file may use the same numbers over and over."""
TRIANGLES, STRIP, FAN = 4, 5, 6
DRACO = "KHR_draco_mesh_compression"


def read_meshes(
    document: Document,
    nodes: Nodes,
    character: Character,
    skeleton: Skeleton,
    accessors: Accessors,
    unit: float,
    up: str,
) -> tuple[tuple[Mesh, ...], list[str]]:
    """The meshes in metres with Y up, bound to the skeleton, and what was left out."""
    found: list[Mesh] = []
    said: dict[str, int] = {}
    left = _Room(document)
    binds = _Binds(document, character, skeleton, unit, up)
    place = {node: joint for joint, node in enumerate(character.joints.nodes)}
    for number, node in enumerate(document.objects(document.list_of("nodes"), "nodes")):
        if "mesh" not in node:
            continue
        mesh = document.item("meshes", node["mesh"], f"nodes[{number}].mesh")
        surface = _Surface(document, accessors, left, mesh, f"meshes[{node['mesh']}]", skinned="skin" in node)
        for sentence in surface.said:
            said[sentence] = said.get(sentence, 0) + 1
        if not len(surface.vertices):
            continue
        if node.get("skin") in character.inverse_binds:
            bound = binds.skinned(surface, node["skin"])
        elif "skin" in node or (joint := _carrier(nodes, place, number)) is None:
            said["hangs from no joint of the character"] = said.get("hangs from no joint of the character", 0) + 1
            continue
        else:
            bound = binds.stiff(surface, nodes.worlds[number], nodes.worlds[character.joints.nodes[joint]], joint)
        title = document.text(node, "name") or document.text(mesh, "name") or f"mesh{node['mesh']}"
        try:
            found.append(Mesh(name=title, triangles=surface.triangles, **bound))
        except SkeletonError as error:
            raise document.error(f"meshes[{node['mesh']}]", error.message) from None
    return tuple(found), [f"{count} of the meshes {sentence}" for sentence, count in said.items()]


class _Room:
    """How many vertices and corners of triangles may still come."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._left = {"vertices": MOST_VERTICES, "corners of triangles": MOST_CORNERS}

    def take(self, what: str, count: int) -> None:
        """Make room for so many more, or refuse the file."""
        self._left[what] -= count
        if self._left[what] < 0:
            raise self._document.error(
                "meshes", f"make more {what} than any character has, using the same over and over"
            )


class _Surface:
    """The primitives of a mesh put together; those with the same vertices share them."""

    def __init__(
        self, document: Document, accessors: Accessors, room: _Room, mesh: Json, where: str, *, skinned: bool
    ) -> None:
        self.said: list[str] = []
        parts: dict[tuple[Any, ...], tuple[int, list[Array]]] = {}
        triangles, count = [np.empty((0, 3), np.intp)], 0
        for i, primitive in enumerate(document.objects(mesh.get("primitives", []), f"{where}.primitives")):
            at = f"{where}.primitives[{i}]"
            if DRACO in document.object(primitive.get("extensions", {}), f"{at}.extensions"):
                self._say("is packed by Draco, which cannot be read")
                continue
            if primitive.get("mode", TRIANGLES) not in (TRIANGLES, STRIP, FAN):
                self._say("has points or lines, which are not read")
                continue
            if primitive.get("targets"):
                self._say("has morph targets, which are not applied")
            attributes = document.object(primitive.get("attributes"), f"{at}.attributes")
            key = tuple(sorted((name, str(value)) for name, value in attributes.items() if _counts(name)))
            if key not in parts:
                parts[key] = (count, _vertices(document, accessors, attributes, f"{at}.attributes", skinned=skinned))
                count += len(parts[key][1][0])
                room.take("vertices", len(parts[key][1][0]))
            first, arrays = parts[key]
            row = _corners(document, accessors, primitive, len(arrays[0]), at)
            room.take("corners of triangles", 3 * len(row))
            triangles.append(first + _triangles(row, primitive.get("mode", TRIANGLES)))
        self.triangles = np.concatenate(triangles)
        self.vertices = np.concatenate([np.empty((0, 3)), *(arrays[0] for _, arrays in parts.values())])
        width = max((arrays[1].shape[1] for _, arrays in parts.values()), default=0)
        self.joints = _stacked([arrays[1] for _, arrays in parts.values()], width).astype(np.intp)
        self.weights = _stacked([arrays[2] for _, arrays in parts.values()], width)

    def _say(self, sentence: str) -> None:
        if sentence not in self.said:
            self.said.append(sentence)


def _counts(attribute: str) -> bool:
    """Whether an attribute says where vertices are and what carries them."""
    return attribute == "POSITION" or attribute.startswith(("JOINTS_", "WEIGHTS_"))


def _stacked(arrays: list[Array], width: int) -> Array:
    padded = [np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in arrays]
    return np.concatenate([np.empty((0, width)), *padded])


def _vertices(document: Document, accessors: Accessors, attributes: Json, where: str, *, skinned: bool) -> list[Array]:
    """Places (V, 3), numbers within the skin (V, K) and weights (V, K) of a primitive's vertices."""
    if "POSITION" not in attributes:
        return [np.empty((0, 3)), np.empty((0, 0)), np.empty((0, 0))]
    places = accessors.numbers(attributes["POSITION"], "VEC3", f"{where}.POSITION")
    joints, weights = [], []
    sets = 0
    while skinned and f"JOINTS_{sets}" in attributes and f"WEIGHTS_{sets}" in attributes:
        joints.append(accessors.whole(attributes[f"JOINTS_{sets}"], "VEC4", f"{where}.JOINTS_{sets}"))
        weights.append(accessors.any_numbers(attributes[f"WEIGHTS_{sets}"], "VEC4", f"{where}.WEIGHTS_{sets}"))
        for what in (joints[-1], weights[-1]):
            if len(what) != len(places):
                raise document.error(where, f"{len(places)} vertices have {len(what)} joints or weights of set {sets}")
        sets += 1
    if not sets:
        return [places, np.zeros((len(places), 1)), np.ones((len(places), 1))]
    shares = np.concatenate(weights, axis=1)
    # Exporters are known to write weights that are no numbers.
    shares = np.where(np.abs(shares) < LARGEST, np.maximum(shares, 0.0), 0.0)
    # A vertex that nothing carries would fall into the origin; like other programs we give it to the first joint.
    shares[shares.sum(axis=1) <= 0.0, 0] = 1.0
    return [places, np.concatenate(joints, axis=1).astype(float), shares]


def _corners(document: Document, accessors: Accessors, primitive: Json, count: int, where: str) -> np.ndarray:
    """(C,) the vertices of a primitive in the order in which they make triangles."""
    if "indices" not in primitive:
        return np.arange(count)
    row = accessors.whole(primitive["indices"], "SCALAR", f"{where}.indices")
    if len(row) and row.max() >= count:
        raise document.error(f"{where}.indices", f"vertex {int(row.max())} of {count} does not exist")
    return row


def _triangles(row: np.ndarray, mode: int) -> np.ndarray:
    """(T, 3) the triangles of a list, a strip or a fan."""
    if mode == TRIANGLES:
        return row[: len(row) // 3 * 3].reshape(-1, 3)
    if len(row) < 3:
        return np.empty((0, 3), np.intp)
    if mode == FAN:
        return np.stack([np.full(len(row) - 2, row[0]), row[1:-1], row[2:]], axis=1)
    strip = np.stack([row[:-2], row[1:-1], row[2:]], axis=1)
    strip[1::2] = strip[1::2, [1, 0, 2]]
    return strip


def _carrier(nodes: Nodes, place: dict[int, int], node: int) -> int | None:
    """The joint that a stiff mesh's node is or hangs from."""
    while node >= 0 and node not in place:
        node = int(nodes.parents[node])
    return place.get(node)


class _Binds:
    """How meshes are bound to the skeleton, in metres with Y up; meshes of one skin share the matrices."""

    def __init__(self, document: Document, character: Character, skeleton: Skeleton, unit: float, up: str) -> None:
        self._document, self._character, self._skeleton, self._unit = document, character, skeleton, unit
        self._world = affine(to_matrix(world_from_file(up)) * unit, np.zeros(3))
        self._rest = binds_of_rest(skeleton)
        self._rest.setflags(write=False)
        self._made: dict[int, tuple[np.ndarray, Array, Array]] = {}

    def _of_skin(self, number: int) -> tuple[np.ndarray, Array, Array]:
        """A skin's joints (n,), what takes its mesh into the world (4, 4), and the binds (J, 4, 4)."""
        if number in self._made:
            return self._made[number]
        character = self._character
        if (len(self._made) + 1) * self._skeleton.num_joints > MOST_BINDS:
            raise self._document.error("skins", f"bind {self._skeleton.num_joints} joints more often than can be held")
        place = {node: joint for joint, node in enumerate(character.joints.nodes)}
        skin = next(each for each in character.joints.skins if each.number == number)
        joints = np.array([place[node] for node in skin.joints], np.intp)
        world = character.mesh_worlds[number]
        if abs(np.linalg.det(world[:3, :3])) < 1e-30:
            world = np.eye(4)
        world = self._world @ world
        binds = np.array(self._rest)
        stretched = affine(character.stretches[joints] * self._unit, np.zeros(3))
        binds[joints] = stretched @ character.inverse_binds[number] @ np.linalg.inv(world)
        binds.setflags(write=False)
        self._made[number] = joints, world, binds
        return self._made[number]

    def skinned(self, surface: _Surface, number: int) -> dict[str, Any]:
        """The vertices in the world of the bind pose, their joints and binds."""
        joints, world, binds = self._of_skin(number)
        carried = surface.weights > 0.0
        if surface.joints.size and np.any(surface.joints[carried] >= len(joints)):
            worst = int(surface.joints[carried].max())
            raise self._document.error(f"skins[{number}]", f"a mesh names its joint {worst}, and it has {len(joints)}")
        return {
            "vertices": surface.vertices @ world[:3, :3].T + world[:3, 3],
            "joints": joints[np.where(carried, surface.joints, 0)],
            "weights": surface.weights,
            "joint_from_mesh": binds,
        }

    def stiff(self, surface: _Surface, world_from_mesh: Array, world_from_joint: Array, joint: int) -> dict[str, Any]:
        """A mesh that one joint carries, placed where it is in the bind pose."""
        turn = to_matrix(polar_turn(world_from_joint, self._character.stretches[joint]))
        local = (surface.vertices @ world_from_mesh[:3, :3].T + world_from_mesh[:3, 3] - world_from_joint[:3, 3]) @ turn
        places, rotations = self._skeleton.rest_world
        return {
            "vertices": (local * self._unit) @ to_matrix(rotations[joint]).T + places[joint],
            "joints": np.full((len(local), 1), joint),
            "weights": np.ones((len(local), 1)),
            "joint_from_mesh": self._rest,
        }
