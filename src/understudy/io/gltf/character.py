"""The character of a glTF file: its joints, its bind pose, and the meshes that its joints carry.

Meshes are either skinned, or rigid and attached to one joint.
Source: Khronos glTF 2.0 specification, sections 3.7.2 (meshes) and 3.7.3 (skins).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import Array, conjugate, multiply, rotate, to_matrix, unrotate
from understudy.base.records import record
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.skin import BlendShape, Mesh, binds_of_rest
from understudy.io.clip import world_from_file
from understudy.io.gltf.document import MAX_NUMBER, Accessors, Document, GltfNodes, Json
from understudy.io.gltf.look import Piece, read_look
from understudy.io.matrices import (
    MAX_BIND_SIZE_RATIO,
    MIN_DETERMINANT,
    extract_rotations,
    make_affine,
    make_unique,
    polar_decompose,
    scale_problems,
)

NO_NODE = -1
"""Stands for the node of a root joint that is not in the file."""


@record
class Skin:
    """A skin: the nodes that carry a mesh, and the accessor with their inverse bind matrices."""

    number: int
    joints: tuple[int, ...]
    inverse_binds: int | None


@record
class GltfJoints:
    """The joints of a character."""

    nodes: tuple[int, ...]
    """The node of each joint, parents before children; `NO_NODE` for a root that is not in the file."""
    parents: np.ndarray
    """(J,) index of each joint's parent."""
    names: tuple[str, ...]
    """All different."""
    ends: tuple[tuple[int, int], ...]
    """The joint and the node of each end point: a node without content at the end of a chain."""
    skins: tuple[Skin, ...]
    """The skins of this character."""
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def read_skins(document: Document, count: int) -> list[Skin]:
    """The skins of a file with `count` nodes."""
    skins = []
    for i, skin in enumerate(document.objects(document.list_of("skins"), "skins")):
        joints = document.indices(skin.get("joints"), count, f"skins[{i}].joints")
        if not joints:
            raise document.error(f"skins[{i}].joints", "expected at least one joint")
        skins.append(Skin(number=i, joints=tuple(joints), inverse_binds=skin.get("inverseBindMatrices")))
    return skins


def find_joints(document: Document, nodes: GltfNodes, animated: set[int]) -> GltfJoints:
    """Choose the joints of the character.

    Args:
        document: The file.
        nodes: Its nodes.
        animated: The nodes that any animation moves.
    """
    skins, dropped = _choose_character(nodes, read_skins(document, nodes.count))
    members = {joint for skin in skins for joint in skin.joints} if skins else _moving_trees(nodes, animated)
    if not members:
        raise document.error("nodes", "there are none, so the file holds no character")
    members, notes = _add_common_root(nodes, members)
    ancestors = _nearest_ancestors(nodes, members)
    order = [node for node in nodes.order if node in members]
    if sum(ancestors[node] == NO_NODE for node in order) > 1:
        order.insert(0, NO_NODE)
    joint_of = {node: joint for joint, node in enumerate(order)}
    parents = [-1] + [joint_of[ancestors[node]] for node in order[1:]]
    ends = _find_ends(document, nodes, members) if skins else []
    return GltfJoints(
        nodes=tuple(order),
        parents=np.array(parents, np.intp),
        names=make_unique([nodes.names[node] if node != NO_NODE else "root" for node in order]),
        ends=tuple((joint_of[nodes.parents[node]], node) for node in ends),
        skins=tuple(skins),
        notes=tuple(notes),
        dropped=tuple(dropped),
    )


def _choose_character(nodes: GltfNodes, skins: list[Skin]) -> tuple[list[Skin], list[str]]:
    """The skins of the character with the most joints, and a note on the characters that are not read."""
    groups = _group_skins(nodes, skins)
    if len(groups) < 2:
        return skins, []
    chosen = max(groups, key=lambda group: len({joint for skin in group for joint in skin.joints}))
    left = len(skins) - len(chosen)
    return chosen, [f"{len(groups)} characters; the one with the most joints is read, {left} skins of others are not"]


def _group_skins(nodes: GltfNodes, skins: list[Skin]) -> list[list[Skin]]:
    """Skins by character (union-find).

    Skins of one character share a joint, or a parent node of a joint, or hang one below the other, through nodes that
    are no joints as well: some converters leave out of a skin what carries none of its vertices.
    """
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
    above = _nearest_ancestors(nodes, {node for skin in skins for node in skin.joints})
    for i, skin in enumerate(skins):
        for node in skin.joints:
            if above[node] != NO_NODE:
                group[first(i)] = first(owner[above[node]])
    characters: dict[int, list[Skin]] = {}
    for i, skin in enumerate(skins):
        characters.setdefault(first(i), []).append(skin)
    return list(characters.values())


def _moving_trees(nodes: GltfNodes, animated: set[int]) -> set[int]:
    """All nodes of the trees with an animated node; all nodes of the file if none is animated."""
    roots = {node for node in nodes.with_ancestors(animated) if nodes.parents[node] < 0}
    if not roots:
        return set(range(nodes.count))
    members: set[int] = set()
    for node in nodes.order:
        if node in roots or int(nodes.parents[node]) in members:
            members.add(node)
    return members


def _nearest_ancestors(nodes: GltfNodes, members: set[int]) -> dict[int, int]:
    """The nearest ancestor of each node that is a member; `NO_NODE` if none is."""
    ancestors: dict[int, int] = {}
    for node in nodes.order:
        parent = int(nodes.parents[node])
        ancestors[node] = parent if parent in members else ancestors.get(parent, NO_NODE)
    return ancestors


def _add_common_root(nodes: GltfNodes, members: set[int]) -> tuple[set[int], list[str]]:
    """Add the nearest common ancestor if the members have several roots. Returns the members and a note."""
    ancestors = _nearest_ancestors(nodes, members)
    roots = [node for node in nodes.order if node in members and ancestors[node] == NO_NODE]
    if len(roots) < 2:
        return members, []
    num_roots_below = np.zeros(nodes.count, np.intp)
    num_roots_below[roots] = 1
    for node in reversed(nodes.order):
        if nodes.parents[node] >= 0:
            num_roots_below[nodes.parents[node]] += num_roots_below[node]
    shared = np.flatnonzero(num_roots_below == len(roots))
    problem = f"{len(roots)} joints hang from no other joint"
    if not len(shared):
        return members, [f"{problem}; a root at the origin was made up for them"]
    nearest = int(shared[np.argmax(nodes.depths[shared])])
    name = f"`{nodes.names[nearest]}`" if nodes.names[nearest] else "the node"
    return members | {nearest}, [f"{problem}; {name} above them was taken as their root"]


def _find_ends(document: Document, nodes: GltfNodes, members: set[int]) -> list[int]:
    """Nodes without content below the last joint of a chain, and nodes that our writer marked as end points."""
    ends = []
    with_joints_below = nodes.with_ancestors(int(nodes.parents[member]) for member in members)
    for node in nodes.order:
        parent = int(nodes.parents[node])
        if parent not in members or node in members or nodes.children[node]:
            continue
        record = document.list_of("nodes")[node]
        marked = isinstance(record.get("extras"), dict) and record["extras"].get("end") is True
        if (marked or parent not in with_joints_below) and not {"mesh", "camera", "skin", "extensions"} & set(record):
            ends.append(node)
    return ends


MAX_BIND_DISTANCE_PER_SPREAD = 0.7
"""Mean distance of the joints of a bind pose from their nodes, as a share of the body's spread."""


@record
class Character:
    """The joints of a file in their bind pose, in the file's unit and axes."""

    joints: GltfJoints
    stretches: Array
    """(J, 3, 3) the rest of each joint's matrix without its rotation."""
    positions: Array
    """(J, 3) world positions of the joints in the bind pose."""
    rotations: Array
    """(J, 4) world rotations of the joints in the bind pose."""
    ends: Array
    """(E, 3) the end points in their joints' frames, in the file's unit."""
    inverse_binds: dict[int, Array]
    """By skin, (n, 4, 4) joint from mesh of each of its joints."""
    mesh_worlds: dict[int, Array]
    """By skin, (4, 4) world from mesh in the bind pose."""
    notes: tuple[str, ...] = ()


def read_character(document: Document, nodes: GltfNodes, joints: GltfJoints, accessors: Accessors) -> Character:
    """The character in its bind pose: from the inverse bind matrices where a joint has one, else from its node."""
    worlds = np.array([np.eye(4) if node == NO_NODE else nodes.worlds[node] for node in joints.nodes])
    stretches, notes = _stretches(worlds, joints)
    bound, binds, mesh_worlds = worlds.copy(), {}, {}
    with_bind: set[int] = set()
    joint_of = {node: joint for joint, node in enumerate(joints.nodes)}
    mesh_nodes = _mesh_nodes(document)
    for skin in joints.skins:
        inverse = _inverse_binds(document, skin, accessors)
        binds[skin.number] = np.tile(np.eye(4), (len(skin.joints), 1, 1)) if inverse is None else inverse
        mesh_worlds[skin.number] = np.eye(4)
        if inverse is None:
            continue
        if np.any(np.abs(np.linalg.det(inverse)) < MIN_DETERMINANT):
            notes.append(
                f"skin {skin.number} has bind matrices without an inverse: the nodes' own pose is the rest pose"
            )
            continue
        poses: Array = np.linalg.inv(inverse).astype(float)
        mesh_worlds[skin.number] = _mesh_world(nodes, skin, mesh_nodes.get(skin.number, []), poses, inverse)
        new = [(i, joint_of[node]) for i, node in enumerate(skin.joints) if joint_of[node] not in with_bind]
        for i, joint in new:
            bound[joint] = mesh_worlds[skin.number] @ poses[i]
        with_bind |= {joint for _, joint in new}
    _place_unbound_joints(bound, worlds, joints, with_bind)
    rotations = extract_rotations(bound[:, :3, :3] @ np.linalg.inv(stretches))
    ends = [
        unrotate(world_rotation(nodes.worlds[joints.nodes[j]], stretches[j]), _gap(nodes, joints.nodes[j], node))
        for j, node in joints.ends
    ]
    return Character(
        joints=joints, stretches=stretches, positions=bound[:, :3, 3], rotations=rotations,
        ends=np.array(ends).reshape(-1, 3), inverse_binds=binds, mesh_worlds=mesh_worlds, notes=tuple(notes),
    )  # fmt: skip


def world_rotation(world: Array, stretch: Array) -> Array:
    """(..., 4) the rotations of world matrices with a known stretch."""
    return extract_rotations(world[..., :3, :3] @ np.linalg.inv(stretch))


def _gap(nodes: GltfNodes, joint: int, end: int) -> Array:
    return nodes.worlds[end][:3, 3] - nodes.worlds[joint][:3, 3]


def _stretches(worlds: Array, joints: GltfJoints) -> tuple[Array, list[str]]:
    """(J, 3, 3) the scale and shear in the joint matrices, and notes on them."""
    stretches = polar_decompose(worlds[:, :3, :3])[1]
    singular = np.abs(np.linalg.det(stretches)) < MIN_DETERMINANT
    stretches[singular] = np.eye(3)
    return stretches, scale_problems(joints.names, singular, stretches)


def _mesh_nodes(document: Document) -> dict[int, list[int]]:
    """The nodes that show a mesh, by skin."""
    by_skin: dict[int, list[int]] = {}
    for i, node in enumerate(document.objects(document.list_of("nodes"), "nodes")):
        if "skin" in node:
            document.item("skins", node["skin"], f"nodes[{i}].skin")
            by_skin.setdefault(node["skin"], []).append(i)
    return by_skin


def _inverse_binds(document: Document, skin: Skin, accessors: Accessors) -> Array | None:
    """(n, 4, 4) a skin's inverse bind matrices; None if it has none."""
    if skin.inverse_binds is None:
        return None
    where = f"skins[{skin.number}].inverseBindMatrices"
    matrices = accessors.numbers(skin.inverse_binds, "MAT4", where)
    if len(matrices) < len(skin.joints):
        raise document.error(where, f"expected {len(skin.joints)} matrices, one for each joint; got {len(matrices)}")
    matrices = matrices[: len(skin.joints)].copy()
    matrices[:, 3] = [0.0, 0.0, 0.0, 1.0]
    return matrices


def _mesh_world(nodes: GltfNodes, skin: Skin, mesh_nodes: list[int], poses: Array, inverse: Array) -> Array:
    """(4, 4) world from mesh in the bind pose, which a glTF file does not give.

    Exporters use the transform of the mesh's node, of the parent of the joints, or the identity. The first of these
    that puts the bound joints near their nodes is chosen. If none does, the first joint is put at its node.
    """
    current = nodes.worlds[list(skin.joints)]
    first = int(np.argmin(nodes.depths[list(skin.joints)]))
    parent = nodes.parents[skin.joints[first]]
    candidates = [nodes.worlds[node] for node in mesh_nodes]
    candidates += [nodes.worlds[parent]] if parent >= 0 else []
    candidates.append(np.eye(4))
    for candidate in candidates:
        if _similar(candidate @ poses, current):
            return candidate
    return current[first] @ inverse[first]


def _similar(bound: Array, current: Array) -> bool:
    """Whether the bound joints (n, 4, 4) have about the size and position of their nodes (n, 4, 4)."""
    sizes = [np.cbrt(np.abs(np.linalg.det(pose[:, :3, :3]))).mean() for pose in (bound, current)]
    spreads = [float(np.sqrt(np.var(pose[:, :3, 3], axis=0).sum())) for pose in (bound, current)]
    tiny = 1e-9 * (1.0 + float(np.abs(current[:, :3, 3]).max()))
    for a, b in (sizes, spreads):
        if max(a, b) > MAX_BIND_SIZE_RATIO * min(a, b) + tiny:
            return False
    distance = np.linalg.norm(bound[:, :3, 3] - current[:, :3, 3], axis=1).mean()
    return bool(distance <= MAX_BIND_DISTANCE_PER_SPREAD * spreads[1] + tiny)


def _place_unbound_joints(bound: Array, worlds: Array, joints: GltfJoints, with_bind: set[int]) -> None:
    """Give joints without a bind matrix their node's transform relative to the parent; in place."""
    for joint, parent in enumerate(joints.parents.tolist()):
        if joint in with_bind or parent < 0 or not with_bind:
            continue
        if abs(np.linalg.det(worlds[parent][:3, :3])) > MIN_DETERMINANT:
            bound[joint] = bound[parent] @ np.linalg.inv(worlds[parent]) @ worlds[joint]


def make_skeleton(character: Character, nodes: GltfNodes, unit: float, up: str, name: str) -> Skeleton:
    """The skeleton in metres with Y up."""
    joints, world = character.joints, world_from_file(up)
    parents = joints.parents
    rotations, positions = multiply(world, character.rotations), rotate(world, character.positions) * unit
    offsets, rest = positions.copy(), rotations.copy()
    offsets[1:] = unrotate(rotations[parents[1:]], positions[1:] - positions[parents[1:]])
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


MAX_VERTICES, MAX_CORNERS, MAX_BIND_MATRICES, MAX_SHAPE_VERTICES = 1 << 22, 1 << 24, 1 << 21, 1 << 24
"""Limits for all meshes together. They are needed because a small file may use the same numbers many times."""

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
    """The meshes in metres with Y up, bound to the skeleton, and notes on what was left out."""
    meshes: list[Mesh] = []
    problems: Counter[str] = Counter()
    budget = _MeshBudget(document)
    binder = _MeshBinder(document, character, skeleton, unit, up)
    joint_of = {node: joint for joint, node in enumerate(character.joints.nodes)}
    for number, node in enumerate(document.objects(document.list_of("nodes"), "nodes")):
        if "mesh" not in node:
            continue
        mesh = document.item("meshes", node["mesh"], f"nodes[{number}].mesh")
        surface = _Surface(document, accessors, budget, mesh, f"meshes[{node['mesh']}]", skinned="skin" in node)
        problems.update(surface.problems)
        if not len(surface.vertices):
            continue
        if node.get("skin") in character.inverse_binds:
            bound = binder.bind_skinned(surface, node["skin"])
        elif "skin" in node or (joint := _joint_above(nodes, joint_of, number)) is None:
            problems["hangs from no joint of the character"] += 1
            continue
        else:
            world_from_joint = nodes.worlds[character.joints.nodes[joint]]
            bound = binder.bind_rigid(surface, nodes.worlds[number], world_from_joint, joint)
        linear = bound.pop("linear")
        look = read_look(document, accessors, surface.pieces, linear)
        shapes = tuple(replace(shape, offsets=shape.offsets @ linear.T) for shape in surface.shapes)
        title = document.text(node, "name") or document.text(mesh, "name") or f"mesh{node['mesh']}"
        try:
            meshes.append(Mesh(name=title, triangles=surface.triangles, look=look, shapes=shapes, **bound))
        except SkeletonError as error:
            raise document.error(f"meshes[{node['mesh']}]", error.message) from None
    return tuple(meshes), [f"{count} of the meshes {problem}" for problem, count in problems.items()]


class _MeshBudget:
    """Counts the vertices and triangle corners that may still be read."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._left = {"vertices": MAX_VERTICES, "corners of triangles": MAX_CORNERS}

    def take(self, what: str, count: int) -> None:
        """Use up part of the budget; raises if it is exceeded."""
        self._left[what] -= count
        if self._left[what] < 0:
            raise self._document.error(
                "meshes", f"make more {what} than any character has, by using the same ones many times"
            )


class _Surface:
    """The primitives of a mesh joined into one. Primitives with the same vertices share them."""

    def __init__(
        self, document: Document, accessors: Accessors, budget: _MeshBudget, mesh: Json, where: str, *, skinned: bool
    ) -> None:
        self.problems: list[str] = []
        self.pieces: list[Piece] = []
        """The triangles of each primitive, in the order of `triangles`."""
        parts: dict[tuple[Any, ...], tuple[int, list[Array]]] = {}
        triangles, count = [np.empty((0, 3), np.intp)], 0
        targets: list[tuple[int, int, list[Any], str]] = []
        for i, primitive in enumerate(document.objects(mesh.get("primitives", []), f"{where}.primitives")):
            at = f"{where}.primitives[{i}]"
            if DRACO in document.object(primitive.get("extensions", {}), f"{at}.extensions"):
                self._add_problem("is packed by Draco, which cannot be read")
                continue
            if primitive.get("mode", TRIANGLES) not in (TRIANGLES, STRIP, FAN):
                self._add_problem("has points or lines, which are not read")
                continue
            attributes = document.object(primitive.get("attributes"), f"{at}.attributes")
            key = tuple(sorted((name, str(value)) for name, value in attributes.items() if _is_used(name)))
            if key not in parts:
                parts[key] = (count, _vertices(document, accessors, attributes, f"{at}.attributes", skinned=skinned))
                targets.append((count, len(parts[key][1][0]), primitive.get("targets") or [], at))
                count += len(parts[key][1][0])
                budget.take("vertices", len(parts[key][1][0]))
            first, arrays = parts[key]
            corners = _corners(document, accessors, primitive, len(arrays[0]), at)
            budget.take("corners of triangles", 3 * len(corners))
            faces = _triangles(corners, primitive.get("mode", TRIANGLES))
            triangles.append(first + faces)
            self.pieces.append(Piece(primitive=primitive, corners=faces))
        self.triangles = np.concatenate(triangles)
        self.vertices = np.concatenate([np.empty((0, 3)), *(arrays[0] for _, arrays in parts.values())])
        width = max((arrays[1].shape[1] for _, arrays in parts.values()), default=0)
        self.joints = _stack(width, [arrays[1] for _, arrays in parts.values()]).astype(np.intp)
        self.weights = _stack(width, [arrays[2] for _, arrays in parts.values()])
        self.shapes = _shapes(document, accessors, mesh, targets, len(self.vertices))

    def _add_problem(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def _shapes(
    document: Document, accessors: Accessors, mesh: Json, parts: list[tuple[int, int, list[Any], str]], count: int
) -> list[BlendShape]:
    """The morph targets of a mesh, in the file's unit and axes.

    Args:
        document: The file.
        accessors: Its numbers.
        mesh: The mesh.
        parts: For each primitive with vertices of its own: the first of them, how many, its targets, and where it is.
        count: Number of vertices of all primitives.
    """
    number = max((len(targets) for _, _, targets, _ in parts if isinstance(targets, list)), default=0)
    if number * count > MAX_SHAPE_VERTICES:
        raise document.error("meshes", f"have {number} morph targets of {count} vertices, which are too many")
    extras = mesh.get("extras")
    names = extras.get("targetNames") if isinstance(extras, dict) else None
    weights = mesh.get("weights")
    out = []
    for i in range(number):
        offsets = np.zeros((count, 3))
        for first, length, targets, at in parts:
            entry = targets[i] if isinstance(targets, list) and i < len(targets) else None
            if isinstance(entry, dict) and "POSITION" in entry:
                values = accessors.numbers(entry["POSITION"], "VEC3", f"{at}.targets[{i}].POSITION")
                if len(values) != length:
                    raise document.error(f"{at}.targets[{i}]", f"expected {length} vertices, got {len(values)}")
                offsets[first : first + length] = values
        name = names[i] if isinstance(names, list) and i < len(names) and isinstance(names[i], str) else f"shape{i}"
        weight = weights[i] if isinstance(weights, list) and i < len(weights) else 0.0
        good = isinstance(weight, int | float) and abs(weight) < MAX_NUMBER
        out.append(BlendShape(name=name, offsets=offsets, weight=float(weight) if good else 0.0))
    return out


def _is_used(attribute: str) -> bool:
    """Whether an attribute holds positions, joints or weights of vertices; others are not read."""
    return attribute == "POSITION" or attribute.startswith(("JOINTS_", "WEIGHTS_"))


def _stack(width: int, arrays: list[Array]) -> Array:
    """The rows of all arrays, padded with zeros to a width."""
    padded = [np.pad(array, ((0, 0), (0, width - array.shape[1]))) for array in arrays]
    return np.concatenate([np.empty((0, width)), *padded])


def _vertices(document: Document, accessors: Accessors, attributes: Json, where: str, *, skinned: bool) -> list[Array]:
    """Positions (V, 3), joint indices within the skin (V, K) and weights (V, K) of a primitive's vertices."""
    if "POSITION" not in attributes:
        return [np.empty((0, 3)), np.empty((0, 0)), np.empty((0, 0))]
    positions = accessors.numbers(attributes["POSITION"], "VEC3", f"{where}.POSITION")
    joints, weights = [], []
    sets = 0
    while skinned and f"JOINTS_{sets}" in attributes and f"WEIGHTS_{sets}" in attributes:
        joints.append(accessors.whole(attributes[f"JOINTS_{sets}"], "VEC4", f"{where}.JOINTS_{sets}"))
        weights.append(accessors.any_numbers(attributes[f"WEIGHTS_{sets}"], "VEC4", f"{where}.WEIGHTS_{sets}"))
        for rows in (joints[-1], weights[-1]):
            if len(rows) != len(positions):
                counts = f"{len(positions)} vertices have {len(rows)} joints or weights of set {sets}"
                raise document.error(where, counts)
        sets += 1
    if not sets:
        return [positions, np.zeros((len(positions), 1)), np.ones((len(positions), 1))]
    shares = np.concatenate(weights, axis=1)
    # Some exporters write weights that are NaN.
    shares = np.where(np.abs(shares) < MAX_NUMBER, np.maximum(shares, 0.0), 0.0)
    # A vertex without weights would collapse to the origin. Like other programs, we bind it to the first joint.
    shares[shares.sum(axis=1) <= 0.0, 0] = 1.0
    return [positions, np.concatenate(joints, axis=1).astype(float), shares]


def _corners(document: Document, accessors: Accessors, primitive: Json, count: int, where: str) -> np.ndarray:
    """(C,) the vertex indices of a primitive in the order in which they form triangles."""
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


def _joint_above(nodes: GltfNodes, joint_of: dict[int, int], node: int) -> int | None:
    """The joint of a rigid mesh's node or of its nearest ancestor with one."""
    while node >= 0 and node not in joint_of:
        node = int(nodes.parents[node])
    return joint_of.get(node)


class _MeshBinder:
    """Binds meshes to the skeleton, in metres with Y up. Meshes of one skin share the bind matrices."""

    def __init__(self, document: Document, character: Character, skeleton: Skeleton, unit: float, up: str) -> None:
        self._document, self._character, self._skeleton, self._unit = document, character, skeleton, unit
        self._world = make_affine(to_matrix(world_from_file(up)) * unit, np.zeros(3))
        self._rest = binds_of_rest(skeleton)
        self._rest.setflags(write=False)
        self._by_skin: dict[int, tuple[np.ndarray, Array, Array]] = {}

    def _bind_skin(self, number: int) -> tuple[np.ndarray, Array, Array]:
        """A skin's joints (n,), world from mesh in its bind pose (4, 4), and joint from mesh (J, 4, 4)."""
        if number in self._by_skin:
            return self._by_skin[number]
        character = self._character
        if (len(self._by_skin) + 1) * self._skeleton.num_joints > MAX_BIND_MATRICES:
            raise self._document.error("skins", f"bind {self._skeleton.num_joints} joints more often than can be held")
        joint_of = {node: joint for joint, node in enumerate(character.joints.nodes)}
        skin = next(skin for skin in character.joints.skins if skin.number == number)
        joints = np.array([joint_of[node] for node in skin.joints], np.intp)
        world = character.mesh_worlds[number]
        if abs(np.linalg.det(world[:3, :3])) < MIN_DETERMINANT:
            world = np.eye(4)
        world = self._world @ world
        binds = np.array(self._rest)
        stretched = make_affine(character.stretches[joints] * self._unit, np.zeros(3))
        binds[joints] = stretched @ character.inverse_binds[number] @ np.linalg.inv(world)
        binds.setflags(write=False)
        self._by_skin[number] = joints, world, binds
        return self._by_skin[number]

    def bind_skinned(self, surface: _Surface, number: int) -> dict[str, Any]:
        """The vertices of a skinned mesh in the world of the bind pose, with their joints and bind matrices."""
        joints, world, binds = self._bind_skin(number)
        used = surface.weights > 0.0
        if surface.joints.size and np.any(surface.joints[used] >= len(joints)):
            worst = int(surface.joints[used].max())
            raise self._document.error(f"skins[{number}]", f"a mesh names its joint {worst}, and it has {len(joints)}")
        return {
            "vertices": surface.vertices @ world[:3, :3].T + world[:3, 3],
            "joints": joints[np.where(used, surface.joints, 0)],
            "weights": surface.weights,
            "joint_from_mesh": binds,
            "linear": world[:3, :3],
        }

    def bind_rigid(
        self, surface: _Surface, world_from_mesh: Array, world_from_joint: Array, joint: int
    ) -> dict[str, Any]:
        """The vertices of a mesh that one joint carries, in the world of the bind pose."""
        rotation = to_matrix(world_rotation(world_from_joint, self._character.stretches[joint]))
        vertices = surface.vertices @ world_from_mesh[:3, :3].T + world_from_mesh[:3, 3]
        local = (vertices - world_from_joint[:3, 3]) @ rotation
        positions, rotations = self._skeleton.rest_world
        linear = self._unit * to_matrix(rotations[joint]) @ rotation.T @ world_from_mesh[:3, :3]
        if abs(np.linalg.det(linear)) < MIN_DETERMINANT:
            linear = np.eye(3)
        return {
            "linear": linear,
            "vertices": (local * self._unit) @ to_matrix(rotations[joint]).T + positions[joint],
            "joints": np.full((len(local), 1), joint),
            "weights": np.ones((len(local), 1)),
            "joint_from_mesh": self._rest,
        }
