"""FBX, binary and text, through the library `ufbx`: characters with skins, meshes and animation stacks.

The library runs in a child process (`child.py`), because its Python bindings can crash. An animation stack becomes a
clip. It is sampled at the file's frame rate, or at the rate of its keys if that is higher.
"""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import FileError
from understudy.base.quaternion import Array, to_matrix
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.skin import Mesh, binds_of_rest
from understudy.io.child import Arrays, ask, need, refuse_bodies_of_bad_numbers
from understudy.io.clip import Clip, ReadOptions, choose_clip_index, describe_clip_choice, name_unit, world_from_file
from understudy.io.fbx.joints import EMPTY, NO_NODE, STILL, FbxJoints, find_joints, nodes_of
from understudy.io.fbx.writer import FbxLayout
from understudy.io.look import read_look, read_shapes
from understudy.io.matrices import MIN_DETERMINANT, Rig, make_rig

FIRST_DUAL_QUATERNION_METHOD = 2
"""The library's skinning methods from this number on use dual quaternions."""


def read_meshes(
    info: dict[str, Any],
    arrays: Arrays,
    joints: FbxJoints,
    rig: Rig,
    skeleton: Skeleton,
    to_world: Array,
    folder: Path,
) -> tuple[tuple[Mesh, ...], list[str]]:
    """The meshes in metres with Y up, bound to the skeleton, and notes on what was left out.

    Args:
        info: The child's description of the file.
        arrays: The child's arrays.
        joints: The joints of the character.
        rig: Their matrices.
        skeleton: The skeleton made of them.
        to_world: (4, 4) matrix from the file's world to ours.
        folder: The file's folder, in which images are looked up.
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
        corner_numbers, faces = triangulate_corners(arrays[f"{key}_faces"], corners, len(vertices))
        world = bound.pop("world")
        look = read_look(mesh["number"], mesh["materials"], arrays, corner_numbers, faces, world, folder)
        shapes = read_shapes(f"mesh{mesh['number']}", mesh["shapes"], arrays, len(vertices), world)
        triangles = corners[corner_numbers].astype(np.intp)
        meshes.append(Mesh(name=mesh["name"], triangles=triangles, look=look, shapes=shapes, **bound))
        if mesh["method"] >= FIRST_DUAL_QUATERNION_METHOD:
            dropped.append(f"mesh `{mesh['name']}` is skinned by dual quaternions; linear blending is used instead")
        if mesh["skins"] > 1:
            dropped.append(f"mesh `{mesh['name']}` has {mesh['skins']} skins; the first is read")
    if unattached:
        dropped.append(f"{unattached} of the meshes hang from no joint of the character")
    return tuple(meshes), dropped


def triangulate_corners(faces: np.ndarray, corners: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(T, 3) triangles as numbers of corners, each face as a fan from its first corner; and (T,) their faces.

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
    out = np.stack([start, start + step + 1, start + step + 2], axis=1).astype(np.intp).reshape(-1, 3)
    vertices = corners[out]
    good = np.all((vertices >= 0) & (vertices < count), axis=1)
    return out[good], of_face[good]


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
    return {"vertices": positions, "joints": joints, "weights": weights, "joint_from_mesh": binds, "world": world}


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
        "world": world,
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
        return _clip(info, arrays, data, name, options)


def _clip(info: dict[str, Any], arrays: Arrays, data: bytes, name: str, options: ReadOptions) -> Clip:
    names = tuple(info["stacks"])
    effects = info["effects"]
    chosen = choose_clip_index(names, options.clip, name, effects.index(max(effects)) if effects else 0)
    empty = tuple(title for title, effect in zip(names, effects) if effect == EMPTY)
    still = tuple(title for title, effect in zip(names, effects) if effect == STILL)
    unit, unit_reason = _unit(info["unit"], options)
    to_world, up, up_reason = _axes(info["axes"], unit, options)
    joints = find_joints(nodes_of(info, arrays, set(info.get("animated", []))), name)
    current = _joint_worlds(arrays["worlds"], joints, to_world)
    rig = make_rig(joints.names, joints.parents, current, _bind_worlds(info, arrays, joints, to_world))
    skeleton = rig.skeleton(PurePath(name).stem, _ends(info, arrays, joints, rig, to_world))
    notes, dropped = [*joints.notes, *rig.notes], [*joints.dropped]
    motion = None
    notes += describe_clip_choice(names, chosen, empty, options.clip, name)
    if chosen is not None and effects[chosen] != EMPTY:
        motion, motion_notes, lost = _motion(info, arrays, joints, rig, skeleton, to_world, names[chosen])
        notes += motion_notes
        dropped += lost
    meshes, left = read_meshes(info, arrays, joints, rig, skeleton, to_world, Path(name).parent)
    return Clip(
        skeleton=skeleton, motion=motion, format="fbx", unit=unit, unit_reason=unit_reason, up=up, up_reason=up_reason,
        notes=tuple(notes), dropped=(*dropped, *left), clips=names, empty_clips=empty,
        still_clips=still, meshes=meshes,
        layout=FbxLayout(
            data=data, names=info["names"], parents=info["parents"], worlds=arrays["worlds"], nodes=joints.nodes,
            joint_parents=joints.parents, joint_names=joints.names, stretches=rig.stretches, to_world=to_world,
            motion=motion, skeleton=skeleton,
        ),
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
) -> tuple[Motion, list[str], list[str]]:
    """The motion of the chosen stack, notes, and what was left out."""
    column_of = {node: i for i, node in enumerate(arrays["moving"].tolist())}
    frames = len(arrays["moved"])
    worlds = np.empty((frames, len(joints.nodes), 4, 4))
    for joint, node in enumerate(joints.nodes):
        worlds[:, joint] = np.eye(4) if node == NO_NODE else to_world @ arrays["moved"][:, column_of[node]]
    notes = []
    if info["fps"] > 1.01 * info["scene_fps"]:
        notes.append(f"the keys are set at {info['fps']:g} a second, more often than the file's {info['scene_fps']:g}")
    if info["begin"] != 0.0:
        notes.append(f"animation `{title}` starts at {info['begin']:.6g} s of the file's clock")
    motion, dropped = rig.motion(skeleton, worlds, info["fps"], title)
    return motion, notes, dropped
