"""The meshes of a glTF file that its joints carry: skinned ones, and stiff ones that hang from a joint.

Source: Khronos glTF 2.0 specification, sections 3.7.2 (meshes) and 3.7.3 (skins).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import Array, conjugate, multiply, rotate, to_matrix, unrotate
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.skin import Mesh, binds_of_rest
from understudy.io.gltf.document import LARGEST, Accessors, Document, GltfNodes, Json
from understudy.io.matrices import affine, polar, turned
from understudy.io.units import world_from_file

MADE_UP = -1
"""The node of a joint that is none of the file's."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Skin:
    """A skin: the nodes that carry a mesh, and which accessor says how it was bound to them."""

    number: int
    joints: tuple[int, ...]
    inverse_binds: int | None


@dataclass(frozen=True, eq=False, kw_only=True)
class GltfJoints:
    """The joints of a character."""

    nodes: tuple[int, ...]
    """The node of each joint, parents before children; `MADE_UP` for a root that the file does not have."""
    parents: np.ndarray
    """(J,) number of each joint's parent."""
    names: tuple[str, ...]
    """All different."""
    ends: tuple[tuple[int, int], ...]
    """The joint and the node of each end: a bare node at the tip of a chain."""
    skins: tuple[Skin, ...]
    """Those whose joints are all among these."""
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def read_skins(document: Document, count: int) -> list[Skin]:
    """The skins of a file of that many nodes."""
    found = []
    for i, skin in enumerate(document.objects(document.list_of("skins"), "skins")):
        joints = document.indices(skin.get("joints"), count, f"skins[{i}].joints")
        if not joints:
            raise document.error(f"skins[{i}].joints", "expected at least one joint")
        found.append(Skin(number=i, joints=tuple(joints), inverse_binds=skin.get("inverseBindMatrices")))
    return found


def find_joints(document: Document, nodes: GltfNodes, animated: set[int]) -> GltfJoints:
    """Choose the joints of the character.

    Args:
        document: The file.
        nodes: Its nodes.
        animated: Those that some animation moves.
    """
    skins, dropped = _largest(nodes, read_skins(document, nodes.count))
    members = {joint for skin in skins for joint in skin.joints} if skins else _moving_trees(nodes, animated)
    if not members:
        raise document.error("nodes", "there are none, so the file holds no character")
    members, notes = _rooted(nodes, members)
    above = _nearest(nodes, members)
    order = [node for node in nodes.order if node in members]
    if sum(above[node] == MADE_UP for node in order) > 1:
        order.insert(0, MADE_UP)
    place = {node: joint for joint, node in enumerate(order)}
    parents = [-1] + [place[above[node]] for node in order[1:]]
    ends = _ends(document, nodes, members) if skins else []
    return GltfJoints(
        nodes=tuple(order),
        parents=np.array(parents, np.intp),
        names=_names(nodes, order),
        ends=tuple((place[nodes.parents[node]], node) for node in ends),
        skins=tuple(skins),
        notes=tuple(notes),
        dropped=tuple(dropped),
    )


def _largest(nodes: GltfNodes, skins: list[Skin]) -> tuple[list[Skin], list[str]]:
    """The skins of the character with most joints, and what is to be said about others."""
    groups = _characters(nodes, skins)
    if len(groups) < 2:
        return skins, []
    chosen = max(groups, key=lambda group: len({joint for skin in group for joint in skin.joints}))
    left = len(skins) - len(chosen)
    return chosen, [f"{len(groups)} characters; read is the one with most joints, {left} skins of others are not"]


def _characters(nodes: GltfNodes, skins: list[Skin]) -> list[list[Skin]]:
    """Skins by character: those that share a joint, hang from each other's joints or from the same node."""
    group = list(range(len(skins)))

    def first(skin: int) -> int:
        while group[skin] != skin:
            group[skin] = group[group[skin]]
            skin = group[skin]
        return skin

    owner: dict[int, int] = {}
    for i, skin in enumerate(skins):
        for node in skin.joints:
            for near in (node, int(nodes.parents[node])):
                if near >= 0:
                    group[first(i)] = first(owner.setdefault(near, i))
    found: dict[int, list[Skin]] = {}
    for i, skin in enumerate(skins):
        found.setdefault(first(i), []).append(skin)
    return list(found.values())


def _moving_trees(nodes: GltfNodes, animated: set[int]) -> set[int]:
    """All nodes of the trees in which something moves; all there are if nothing does."""
    roots = {node for node in nodes.with_above(animated) if nodes.parents[node] < 0}
    if not roots:
        return set(range(nodes.count))
    found: set[int] = set()
    for node in nodes.order:
        if node in roots or int(nodes.parents[node]) in found:
            found.add(node)
    return found


def _nearest(nodes: GltfNodes, members: set[int]) -> dict[int, int]:
    """For each node the nearest member above it, `MADE_UP` where there is none."""
    found: dict[int, int] = {}
    for node in nodes.order:
        parent = int(nodes.parents[node])
        found[node] = parent if parent in members else found.get(parent, MADE_UP)
    return found


def _rooted(nodes: GltfNodes, members: set[int]) -> tuple[set[int], list[str]]:
    """The members, with the nearest node above all of them where they have several roots, and what is to be said."""
    above = _nearest(nodes, members)
    tops = [node for node in nodes.order if node in members and above[node] == MADE_UP]
    if len(tops) < 2:
        return members, []
    carried = np.zeros(nodes.count, np.intp)
    carried[tops] = 1
    for node in reversed(nodes.order):
        if nodes.parents[node] >= 0:
            carried[nodes.parents[node]] += carried[node]
    shared = np.flatnonzero(carried == len(tops))
    said = f"{len(tops)} joints hang from no other joint"
    if not len(shared):
        return members, [f"{said}; a root at the origin was made up for them"]
    nearest = int(shared[np.argmax(nodes.depths[shared])])
    name = f"`{nodes.names[nearest]}`" if nodes.names[nearest] else "the node"
    return members | {nearest}, [f"{said}; {name} above them was taken as their root"]


def _ends(document: Document, nodes: GltfNodes, members: set[int]) -> list[int]:
    """Bare nodes that hang from joints without joints below, where chains end; and those marked as ends by us."""
    found = []
    full = nodes.with_above(int(nodes.parents[member]) for member in members)
    for node in nodes.order:
        parent = int(nodes.parents[node])
        if parent not in members or node in members or nodes.children[node]:
            continue
        given = document.list_of("nodes")[node]
        marked = isinstance(given.get("extras"), dict) and given["extras"].get("end") is True
        if (marked or parent not in full) and not {"mesh", "camera", "skin", "extensions"} & set(given):
            found.append(node)
    return found


def _names(nodes: GltfNodes, order: list[int]) -> tuple[str, ...]:
    """A name for each joint, all different: the file's own where it has one and no joint before has it."""
    own = [nodes.names[node].strip() if node != MADE_UP else "root" for node in order]
    return distinct([name or f"joint{i}" for i, name in enumerate(own)])


def distinct(names: list[str]) -> tuple[str, ...]:
    """The names, those that another had before with a number behind them."""
    known, taken = set(names), set[str]()
    numbers: dict[str, int] = {}
    out = []
    for name in names:
        fresh = name
        while fresh in taken or (fresh != name and fresh in known):
            numbers[name] = numbers.get(name, 1) + 1
            fresh = f"{name}_{numbers[name]}"
        taken.add(fresh)
        out.append(fresh)
    return tuple(out)


LIKE_SIZE = 1.5
"""How many times larger or smaller a bind pose may be than the pose of the nodes."""

LIKE_PLACE = 0.7
"""How far joints of the bind pose may be on average from where the nodes are, as a share of the body's spread."""

UNEVEN = 1e-3
"""Relative difference of the scales along a joint's axes from which on its orientation is only nearly kept."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Character:
    """The joints of a file in its own unit and axes, as they are bound."""

    joints: GltfJoints
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


def read_character(document: Document, nodes: GltfNodes, joints: GltfJoints, accessors: Accessors) -> Character:
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


def _gap(nodes: GltfNodes, joint: int, end: int) -> Array:
    return nodes.worlds[end][:3, 3] - nodes.worlds[joint][:3, 3]


def _stretches(worlds: Array, joints: GltfJoints) -> tuple[Array, list[str]]:
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


def _mesh_world(nodes: GltfNodes, skin: Skin, carriers: list[int], poses: Array, inverse: Array) -> Array:
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


def _follow(bound: Array, worlds: Array, joints: GltfJoints, known: set[int]) -> None:
    """Let the joints that no skin binds hang from the bound ones as their nodes do; in place."""
    for joint, parent in enumerate(joints.parents.tolist()):
        if joint in known or parent < 0 or not known:
            continue
        above = worlds[parent]
        if abs(np.linalg.det(above[:3, :3])) > 1e-30:
            bound[joint] = bound[parent] @ np.linalg.inv(above) @ worlds[joint]


def make_skeleton(character: Character, nodes: GltfNodes, unit: float, up: str, name: str) -> Skeleton:
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


MOST_VERTICES, MOST_CORNERS, MOST_BINDS = 1 << 22, 1 << 24, 1 << 21
"""Vertices, corners of triangles and bind matrices of all meshes: a file may use the same numbers over and over."""

TRIANGLES, STRIP, FAN = 4, 5, 6

DRACO = "KHR_draco_mesh_compression"


def read_meshes(
    document: Document,
    nodes: GltfNodes,
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


def _carrier(nodes: GltfNodes, place: dict[int, int], node: int) -> int | None:
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
