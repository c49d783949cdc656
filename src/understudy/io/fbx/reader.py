"""FBX, binary and text, through the library `ufbx`: characters with skins, meshes and animation stacks.

The library runs in a child process (`child.py`), because its Python bindings can crash. An animation stack becomes a
clip. It is sampled at the file's frame rate, or at the rate of its keys if that is higher.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import FileError
from understudy.base.quaternion import Array, to_matrix
from understudy.figure.motion import Motion
from understudy.figure.roles import words
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.skin import Mesh, binds_of_rest
from understudy.io.child import Arrays, ask, need, refuse_bodies_of_bad_numbers
from understudy.io.clip import Clip, ReadOptions, choose_clip_index, name_unit, world_from_file
from understudy.io.matrices import MIN_DETERMINANT, Rig, make_rig, make_unique

SCENE, NO_NODE = 0, -1
"""The scene's root node, which the library adds, and a stand-in for the node of a root that is not in the file."""

END_WORDS = {"end", "nub", "tip", "site", "ende", "endsite"}
"""Last words in the names of bones that only mark the end of a chain."""

NON_JOINT_KINDS = {"CAMERA", "LIGHT", "CAMERA_SWITCHER", "STEREO_CAMERA"}


@dataclass(frozen=True, eq=False, kw_only=True)
class FbxJoints:
    """The joints of a character."""

    nodes: tuple[int, ...]
    """The node of each joint, parents before children."""
    parents: np.ndarray
    """(J,) index of each joint's parent."""
    names: tuple[str, ...]
    ends: tuple[tuple[int, int], ...]
    """The joint and the node of each end point."""
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class FbxNodes:
    """The nodes of a file."""

    names: list[str]
    parents: list[int]
    """The parent of each node; -1 for the scene's root."""
    kinds: list[str]
    """The kind of each node's attribute; empty if it has none."""
    skins: list[set[int]]
    """The nodes of each skin."""
    weighted: set[int]
    """The nodes with skin weights above zero."""
    animated: set[int]
    """The nodes with curves of the chosen animation."""


def find_joints(nodes: FbxNodes, file: str) -> FbxJoints:
    """Choose the joints of the character in a file."""
    tree = _NodeTree(nodes.parents)
    members, notes = _find_members(nodes, tree, file)
    members, others = _choose_character(tree, members, nodes.skins)
    roots = [node for node in tree.order if node in members and tree.parent_in(node, members) is None]
    members, root, root_notes = _add_common_root(tree, members, roots, nodes.names)
    order = [node for node in tree.order if node in members]
    ends = {node for node in order[1:] if _is_end(node, tree, members, nodes)}
    order = [node for node in order if node not in ends]
    order = [NO_NODE, *order] if root == NO_NODE else order
    joint_of = {node: joint for joint, node in enumerate(order)}
    parents = {node: joint_of.get(tree.parent_in(node, members, NO_NODE), -1) for node in (*order[1:], *sorted(ends))}
    return FbxJoints(
        nodes=tuple(order),
        parents=np.array([-1, *(parents[node] for node in order[1:])], np.intp),
        names=make_unique(["root" if node == NO_NODE else nodes.names[node] for node in order]),
        ends=tuple((parents[node], node) for node in sorted(ends)),
        notes=(*notes, *root_notes),
        dropped=(f"{others + 1} characters; the one with the most joints is read",) if others else (),
    )


def _find_members(nodes: FbxNodes, tree: _NodeTree, file: str) -> tuple[set[int], list[str]]:
    """The nodes that are joints of any character, and notes."""
    members = {i for i, kind in enumerate(nodes.kinds) if kind == "BONE"}.union(*nodes.skins) - {SCENE}
    if members:
        return members, []
    moving = {node for top in {tree.top(node) for node in nodes.animated} for node in tree.below(top)}
    members = {node for node in moving if nodes.kinds[node] not in NON_JOINT_KINDS} - {SCENE}
    if not members:
        raise FileError(file, None, f"holds no character: of its {len(nodes.names) - 1} nodes none is a bone")
    return members, ["there are no bones; every node of what is animated is a joint"]


class _NodeTree:
    """The nodes of a file as a tree."""

    def __init__(self, parents: list[int]) -> None:
        self.parents = parents
        self.children: list[list[int]] = [[] for _ in parents]
        for node, parent in enumerate(parents):
            if parent >= 0:
                self.children[parent].append(node)
        self.order = self.below(SCENE)

    def below(self, node: int) -> list[int]:
        """A node and all its descendants in depth-first order."""
        nodes, stack = [], [node]
        while stack:
            nodes.append(stack.pop())
            stack += reversed(self.children[nodes[-1]])
        return nodes

    def above(self, node: int) -> list[int]:
        """A node and all its ancestors, the node first, without the scene's root."""
        nodes = []
        while node > SCENE:
            nodes.append(node)
            node = self.parents[node]
        return nodes

    def top(self, node: int) -> int:
        return self.above(node)[-1] if node > SCENE else SCENE

    def parent_in(self, node: int, members: set[int], default: Any = None) -> Any:
        """The nearest ancestor of a node that is a member."""
        return next((ancestor for ancestor in self.above(node)[1:] if ancestor in members), default)


def _choose_character(tree: _NodeTree, members: set[int], skins: Iterable[set[int]]) -> tuple[set[int], int]:
    """The joints of the character with the most joints, and the number of other characters.

    Joints belong to one character if they have a common ancestor below the scene's root, or a common skin.
    """
    groups: list[tuple[set[int], set[int]]] = []
    bundles: list[set[int]] = [{node} for node in members] + [set(skin) & members for skin in skins]
    for bundle in filter(None, bundles):
        tops, joints = {tree.top(node) for node in bundle}, set(bundle)
        for group in [group for group in groups if group[0] & tops]:
            groups.remove(group)
            tops, joints = tops | group[0], joints | group[1]
        groups.append((tops, joints))
    largest = max(groups, key=lambda group: (len(group[1]), -min(group[1])))
    return largest[1], len(groups) - 1


def _add_common_root(
    tree: _NodeTree, members: set[int], roots: list[int], names: list[str]
) -> tuple[set[int], int, list[str]]:
    """Add the nearest common ancestor if there are several roots. Returns the members, the root and a note."""
    if len(roots) == 1:
        return members, roots[0], []
    shared = set(tree.above(roots[0])).intersection(*(tree.above(root) for root in roots[1:]))
    problem = f"{len(roots)} joints hang from no other joint"
    if not shared:
        return members, NO_NODE, [f"{problem}; a root at the origin was made up for them"]
    nearest = next(node for node in tree.above(roots[0]) if node in shared)
    return members | {nearest}, nearest, [f"{problem}; `{names[nearest]}` above them was taken as their root"]


def _is_end(node: int, tree: _NodeTree, members: set[int], nodes: FbxNodes) -> bool:
    """Whether a bone has no weights and no joints below it, and its name says that it ends a chain."""
    unused = node not in nodes.weighted and not any(below in members for below in tree.below(node)[1:])
    name_words = words(nodes.names[node])
    return unused and bool(name_words) and name_words[-1] in END_WORDS


FIRST_DUAL_QUATERNION_METHOD = 2
"""The library's skinning methods from this number on use dual quaternions."""


def read_meshes(
    info: dict[str, Any], arrays: Arrays, joints: FbxJoints, rig: Rig, skeleton: Skeleton, to_world: Array
) -> tuple[tuple[Mesh, ...], list[str]]:
    """The meshes in metres with Y up, bound to the skeleton, and notes on what was left out.

    Args:
        info: The child's description of the file.
        arrays: The child's arrays.
        joints: The joints of the character.
        rig: Their matrices.
        skeleton: The skeleton made of them.
        to_world: (4, 4) matrix from the file's world to ours.
    """
    joint_of = {node: joint for joint, node in enumerate(joints.nodes)}
    joint_of |= {node: joint for joint, node in joints.ends}
    meshes, dropped = [], []
    unattached = 0
    for mesh in info["meshes"]:
        key = f"mesh{mesh['number']}"
        vertices, corners = arrays[f"{key}_vertices"], arrays[f"{key}_corners"]
        if not len(vertices):
            continue
        bound = _bind_skinned(mesh, arrays, joint_of, rig, skeleton, to_world) or _bind_rigid(
            mesh, arrays, joint_of, info["parents"], joints, rig, skeleton, to_world
        )
        if bound is None:
            unattached += 1
            continue
        triangles = triangulate(arrays[f"{key}_faces"], corners, len(vertices))
        meshes.append(Mesh(name=mesh["name"], triangles=triangles, **bound))
        if mesh["method"] >= FIRST_DUAL_QUATERNION_METHOD:
            dropped.append(f"mesh `{mesh['name']}` is skinned by dual quaternions; linear blending is used instead")
        if mesh["skins"] > 1:
            dropped.append(f"mesh `{mesh['name']}` has {mesh['skins']} skins; the first is read")
    if unattached:
        dropped.append(f"{unattached} of the meshes hang from no joint of the character")
    return tuple(meshes), dropped


def triangulate(faces: np.ndarray, corners: np.ndarray, count: int) -> np.ndarray:
    """(T, 3) triangles of faces, each face as a fan from its first corner.

    Args:
        faces: (n, 2) the first corner and the number of corners of each face.
        corners: (C,) the vertex of each corner.
        count: Number of vertices. Triangles with a vertex beyond it are left out.
    """
    first, number = faces[:, 0], np.maximum(faces[:, 1] - 2, 0)
    number = np.where(first + faces[:, 1] <= len(corners), number, 0)
    of_face = np.repeat(np.arange(len(faces)), number)
    step = np.arange(len(of_face)) - np.repeat(np.cumsum(number) - number, number)
    start = first[of_face]
    out = np.stack([corners[start], corners[start + step + 1], corners[start + step + 2]], axis=1)
    return out[np.all((out >= 0) & (out < count), axis=1)].astype(np.intp)


def pack_influences(
    vertices: np.ndarray, joints: np.ndarray, weights: Array, count: int, fallback: int
) -> tuple[Array, Array]:
    """Joints (V, K) and weights (V, K) from single influences (n,). Vertices without any get the fallback joint."""
    valid = (weights > 0.0) & np.isfinite(weights) & (vertices >= 0) & (vertices < count)
    vertices, joints, weights = vertices[valid], joints[valid], weights[valid]
    order = np.argsort(vertices, kind="stable")
    vertices, joints, weights = vertices[order], joints[order], weights[order]
    counts = np.bincount(vertices, minlength=count)
    column = np.arange(len(vertices)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = (count, max(int(counts.max(initial=0)), 1))
    out_joints, out_weights = np.full(shape, fallback), np.zeros(shape)
    out_joints[vertices, column], out_weights[vertices, column] = joints, weights
    out_weights[counts == 0, 0] = 1.0
    return out_joints, out_weights


def _bind_skinned(
    mesh: dict[str, Any], arrays: Arrays, joint_of: dict[int, int], rig: Rig, skeleton: Skeleton, to_world: Array
) -> dict[str, Any] | None:
    """The vertices in the world of the bind pose, their joints and bind matrices; None for a mesh without a skin."""
    key, nodes = f"mesh{mesh['number']}", [cluster["node"] for cluster in mesh["clusters"]]
    clusters = [(i, joint_of[node]) for i, node in enumerate(nodes) if node in joint_of]
    if not clusters:
        return None
    bone_from_mesh = {i: arrays[f"{key}_cluster{i}_bone_from_mesh"] for i, _ in clusters}
    worlds = [arrays[f"{key}_cluster{i}_bind"] @ bone_from_mesh[i] for i, _ in clusters]
    world = to_world @ next((matrix for matrix in worlds if _is_invertible(matrix)), arrays[f"{key}_world"])
    if not _is_invertible(world):
        return None
    binds = np.array(binds_of_rest(skeleton))
    joint_from_bone, mesh_from_world = rig.joint_from_local(), np.linalg.inv(world)
    for i, joint in clusters:
        binds[joint] = joint_from_bone[joint] @ bone_from_mesh[i] @ mesh_from_world
    keys = [(f"{key}_cluster{i}", joint) for i, joint in clusters]
    parts = [(arrays[f"{name}_vertices"], arrays[f"{name}_weights"], joint) for name, joint in keys]
    vertices = np.concatenate([part[0] for part in parts])
    shares = np.concatenate([part[1][: len(part[0])] for part in parts])
    numbers = np.repeat([joint for _, _, joint in parts], [len(part[0]) for part in parts])
    joints, weights = pack_influences(vertices, numbers, shares, len(arrays[f"{key}_vertices"]), clusters[0][1])
    positions = arrays[f"{key}_vertices"] @ world[:3, :3].T + world[:3, 3]
    return {"vertices": positions, "joints": joints, "weights": weights, "joint_from_mesh": binds}


def _is_invertible(matrix: Array) -> bool:
    return bool(np.all(np.isfinite(matrix)) and abs(np.linalg.det(matrix[:3, :3])) >= MIN_DETERMINANT)


def _bind_rigid(
    mesh: dict[str, Any],
    arrays: Arrays,
    joint_of: dict[int, int],
    parents: list[int],
    joints: FbxJoints,
    rig: Rig,
    skeleton: Skeleton,
    to_world: Array,
) -> dict[str, Any] | None:
    """The vertices of a mesh that one joint carries, in the bind pose; None if it hangs from no joint."""
    node = int(mesh["node"])
    while node >= 0 and node not in joint_of:
        node = parents[node]
    if node < 0 or joints.nodes[joint_of[node]] < 0:
        return None
    joint = joint_of[node]
    current = to_world @ arrays["worlds"][joints.nodes[joint]]
    if not _is_invertible(current):
        return None
    world = rig.bound[joint] @ np.linalg.inv(current) @ to_world @ arrays[f"mesh{mesh['number']}_world"]
    vertices = arrays[f"mesh{mesh['number']}_vertices"] @ world[:3, :3].T + world[:3, 3]
    return {
        "vertices": vertices,
        "joints": np.full((len(vertices), 1), joint),
        "weights": np.ones((len(vertices), 1)),
        "joint_from_mesh": binds_of_rest(skeleton),
    }


MAX_FILE_BYTES = 1 << 30

MIN_UNIT_METRES, MAX_UNIT_METRES = 1e-6, 1e6
"""Limits between which a file's unit is believed."""

AXES = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float)
"""Directions as the library numbers them."""


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read an FBX file.

    Args:
        stream: The file's bytes.
        name: The file as the user named it, for errors.
        options: Which animation; unit and up axis to use instead of the file's.
    """
    need("ufbx", "ufbx", "fbx", "Reading FBX")
    data = stream.read(MAX_FILE_BYTES + 1)
    if not data:
        raise FileError(name, None, "the file is empty; expected FBX")
    if len(data) > MAX_FILE_BYTES:
        raise FileError(name, None, f"is larger than {MAX_FILE_BYTES >> 20} MiB, the most that is read")
    info, arrays = ask("understudy.io.fbx.child", {"clip": options.clip}, data, name)
    with refuse_bodies_of_bad_numbers(name):
        return _clip(info, arrays, name, options)


def _clip(info: dict[str, Any], arrays: Arrays, name: str, options: ReadOptions) -> Clip:
    names = tuple(info["stacks"])
    chosen = choose_clip_index(names, options.clip, name)
    unit, unit_reason = _unit(info["unit"], options)
    to_world, up, up_reason = _axes(info["axes"], unit, options)
    joints = _joints(info, arrays, name)
    current = _joint_worlds(arrays["worlds"], joints, to_world)
    rig = make_rig(joints.names, joints.parents, current, _bind_worlds(info, arrays, joints, to_world))
    skeleton = rig.skeleton(PurePath(name).stem, _ends(info, arrays, joints, rig, to_world))
    notes, dropped = [*joints.notes, *rig.notes], [*joints.dropped]
    motion = None
    if chosen is not None:
        if len(names) > 1 and options.clip is None:
            notes.append(f"{len(names)} animations; `{names[chosen]}`, the first, is read")
        motion, motion_notes, lost = _motion(info, arrays, joints, rig, skeleton, to_world, names[chosen])
        notes += motion_notes
        dropped += lost
    if info["blend_shapes"]:
        dropped.append(f"{info['blend_shapes']} blend shapes (faces, mostly) are not read")
    meshes, left = read_meshes(info, arrays, joints, rig, skeleton, to_world)
    return Clip(
        skeleton=skeleton, motion=motion, format="fbx", unit=unit, unit_reason=unit_reason, up=up, up_reason=up_reason,
        notes=tuple(notes), dropped=(*dropped, *left), clips=names, meshes=meshes,
    )  # fmt: skip


def _unit(unit: float, options: ReadOptions) -> tuple[float, str]:
    """The file's unit in metres, and the reason."""
    if options.unit is not None:
        return options.unit, f"{name_unit(options.unit)}: given"
    if not MIN_UNIT_METRES <= unit <= MAX_UNIT_METRES:
        return 0.01, f"cm: as FBX is by default; the file says {unit:g} m, which is not believed"
    return unit, f"{name_unit(unit)}: the file says so"


def _axes(axes: list[int], unit: float, options: ReadOptions) -> tuple[Array, str, str]:
    """The matrix from the file's world to ours (4, 4), the file's up axis, and the reason."""
    out = np.eye(4)
    if options.up is not None:
        out[:3, :3] = unit * to_matrix(world_from_file(options.up))
        return out, options.up, f"{options.up} is up: given"
    if all(0 <= axis < len(AXES) for axis in axes) and len({axis // 2 for axis in axes}) == 3:
        out[:3, :3] = unit * AXES[axes]
        up = "XYZ"[axes[1] // 2]
        return out, up, f"{'-' if axes[1] % 2 else ''}{up} is up: the file says so"
    out[:3, :3] *= unit
    return out, "Y", "Y is up: as FBX is by default; the file does not say"


def _joints(info: dict[str, Any], arrays: Arrays, name: str) -> FbxJoints:
    skins = [{cluster["node"] for cluster in mesh["clusters"]} for mesh in info["meshes"]]
    weighted = {
        cluster["node"]
        for mesh in info["meshes"]
        for i, cluster in enumerate(mesh["clusters"])
        if np.any(arrays[f"mesh{mesh['number']}_cluster{i}_weights"] > 0.0)
    }
    nodes = FbxNodes(
        names=info["names"], parents=info["parents"], kinds=info["kinds"], skins=skins, weighted=weighted,
        animated=set(info.get("animated", [])),
    )  # fmt: skip
    return find_joints(nodes, name)


def _joint_worlds(worlds: Array, joints: FbxJoints, to_world: Array) -> Array:
    """(J, 4, 4) our world from joint, from the matrices of all nodes (N, 4, 4) in the file's world."""
    return np.array([np.eye(4) if node == NO_NODE else to_world @ worlds[node] for node in joints.nodes])


def _bind_worlds(info: dict[str, Any], arrays: Arrays, joints: FbxJoints, to_world: Array) -> Array:
    """(J, 4, 4) world from joint in the bind pose: from the skin, else from the file's bind pose, else NaN."""
    by_node = dict(zip(arrays["bind_nodes"].tolist(), arrays["bind_worlds"]))
    by_skin: dict[int, Array] = {}
    for mesh in info["meshes"]:
        for i, cluster in enumerate(mesh["clusters"]):
            by_skin.setdefault(cluster["node"], arrays[f"mesh{mesh['number']}_cluster{i}_bind"])
    by_node |= by_skin
    missing = np.full((4, 4), np.nan)
    return np.array([to_world @ by_node[node] if node in by_node else missing for node in joints.nodes])


def _ends(info: dict[str, Any], arrays: Arrays, joints: FbxJoints, rig: Rig, to_world: Array) -> list[Point]:
    """The end points in the frames of their joints."""
    taken, ends = set(joints.names), []
    for joint, node in joints.ends:
        parent = joints.nodes[joint]
        parent_world = np.eye(4) if parent == NO_NODE else to_world @ arrays["worlds"][parent]
        local = np.linalg.solve(parent_world, (to_world @ arrays["worlds"][node])[:, 3])[:3]
        title = info["names"][node]
        while title in taken:
            title += "_"
        taken.add(title)
        ends.append(Point(name=title, joint=joints.names[joint], offset=rig.stretches[joint] @ local))
    return ends


def _motion(
    info: dict[str, Any], arrays: Arrays, joints: FbxJoints, rig: Rig, skeleton: Skeleton, to_world: Array, title: str
) -> tuple[Motion | None, list[str], list[str]]:
    """The motion of the chosen stack, notes, and what was left out."""
    column_of = {node: i for i, node in enumerate(arrays["moving"].tolist())}
    if not set(column_of) & set(info["animated"]):
        return None, [f"animation `{title}` moves no joint of the character"], []
    frames = len(arrays["moved"])
    worlds = np.empty((frames, len(joints.nodes), 4, 4))
    for joint, node in enumerate(joints.nodes):
        worlds[:, joint] = np.eye(4) if node == NO_NODE else to_world @ arrays["moved"][:, column_of[node]]
    notes = []
    if info["fps"] != info["scene_fps"]:
        notes.append(f"the keys are set at {info['fps']:g} a second, more often than the file's {info['scene_fps']:g}")
    if info["begin"] != 0.0:
        notes.append(f"animation `{title}` starts at {info['begin']:.6g} s of the file's clock")
    motion, dropped = rig.motion(skeleton, worlds, info["fps"], title)
    return motion, notes, dropped
