"""The meshes of an FBX file that its joints carry: skinned ones, and stiff ones that hang from a joint."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.geometry.quaternion import Array
from understudy.io.child import Arrays
from understudy.io.fbx_joints import Joints
from understudy.io.matrices import FLAT, Rig
from understudy.skeleton import Skeleton
from understudy.skin import Mesh, binds_of_rest

BLEND_SHARES = 2
"""From this skinning method of the library on, a file asks for dual quaternions."""


def read_meshes(
    said: dict[str, Any], arrays: Arrays, joints: Joints, rig: Rig, skeleton: Skeleton, turn: Array
) -> tuple[tuple[Mesh, ...], list[str]]:
    """The meshes in metres with Y up, bound to the skeleton, and what was left out.

    Args:
        said: What the child says about the file.
        arrays: The child's arrays.
        joints: The joints of the character.
        rig: Their matrices.
        skeleton: The skeleton made of them.
        turn: (4, 4) what takes the file's world into ours.
    """
    place = {node: joint for joint, node in enumerate(joints.nodes)}
    place |= {node: joint for joint, node in joints.ends}
    found, dropped = [], []
    loose = 0
    for told in said["meshes"]:
        key = f"mesh{told['number']}"
        vertices, corners = arrays[f"{key}_vertices"], arrays[f"{key}_corners"]
        if not len(vertices):
            continue
        bound = _skinned(told, arrays, place, rig, skeleton, turn) or _stiff(
            told, arrays, place, said["parents"], joints, rig, skeleton, turn
        )
        if bound is None:
            loose += 1
            continue
        triangles = fan(arrays[f"{key}_faces"], corners, len(vertices))
        found.append(Mesh(name=told["name"], triangles=triangles, **bound))
        if told["method"] >= BLEND_SHARES:
            dropped.append(f"mesh `{told['name']}` is skinned by dual quaternions, here by linear blending")
        if told["skins"] > 1:
            dropped.append(f"mesh `{told['name']}` has {told['skins']} skins; the first is read")
    if loose:
        dropped.append(f"{loose} of the meshes hang from no joint of the character")
    return tuple(found), dropped


def fan(faces: np.ndarray, corners: np.ndarray, count: int) -> np.ndarray:
    """(T, 3) triangles of faces (n, 2), which are the first corner and how many; each as a fan from its first.

    Faces that name a vertex beyond `count` are left out.
    """
    first, number = faces[:, 0], np.maximum(faces[:, 1] - 2, 0)
    number = np.where(first + faces[:, 1] <= len(corners), number, 0)
    of_face = np.repeat(np.arange(len(faces)), number)
    step = np.arange(len(of_face)) - np.repeat(np.cumsum(number) - number, number)
    start = first[of_face]
    out = np.stack([corners[start], corners[start + step + 1], corners[start + step + 2]], axis=1)
    return out[np.all((out >= 0) & (out < count), axis=1)].astype(np.intp)


def pack(vertices: np.ndarray, joints: np.ndarray, weights: Array, count: int, fallback: int) -> tuple[Array, Array]:
    """Joints (V, K) and weights (V, K) of single influences (n,); a vertex without any is the fallback joint's."""
    good = (weights > 0.0) & np.isfinite(weights) & (vertices >= 0) & (vertices < count)
    vertices, joints, weights = vertices[good], joints[good], weights[good]
    order = np.argsort(vertices, kind="stable")
    vertices, joints, weights = vertices[order], joints[order], weights[order]
    each = np.bincount(vertices, minlength=count)
    column = np.arange(len(vertices)) - np.repeat(np.cumsum(each) - each, each)
    shape = (count, max(int(each.max(initial=0)), 1))
    out_joints, out_weights = np.full(shape, fallback), np.zeros(shape)
    out_joints[vertices, column], out_weights[vertices, column] = joints, weights
    out_weights[each == 0, 0] = 1.0
    return out_joints, out_weights


def _skinned(
    told: dict[str, Any], arrays: Arrays, place: dict[int, int], rig: Rig, skeleton: Skeleton, turn: Array
) -> dict[str, Any] | None:
    """The vertices in the world of the bind pose, and their joints and binds; None for a mesh without a skin."""
    key = f"mesh{told['number']}"
    mine = [(i, place[cluster["node"]]) for i, cluster in enumerate(told["clusters"]) if cluster["node"] in place]
    if not mine:
        return None
    own = {i: arrays[f"{key}_cluster{i}_bone_from_mesh"] for i, _ in mine}
    worlds = [arrays[f"{key}_cluster{i}_bind"] @ own[i] for i, _ in mine]
    world = turn @ next((each for each in worlds if _solid(each)), arrays[f"{key}_world"])
    if not _solid(world):
        return None
    binds = np.array(binds_of_rest(skeleton))
    local, back = rig.joint_from_local(), np.linalg.inv(world)
    for i, joint in mine:
        binds[joint] = local[joint] @ own[i] @ back
    parts = [(arrays[f"{key}_cluster{i}_vertices"], arrays[f"{key}_cluster{i}_weights"], joint) for i, joint in mine]
    vertices = np.concatenate([part[0] for part in parts])
    shares = np.concatenate([part[1][: len(part[0])] for part in parts])
    numbers = np.repeat([joint for _, _, joint in parts], [len(part[0]) for part in parts])
    joints, weights = pack(vertices, numbers, shares, len(arrays[f"{key}_vertices"]), mine[0][1])
    places = arrays[f"{key}_vertices"] @ world[:3, :3].T + world[:3, 3]
    return {"vertices": places, "joints": joints, "weights": weights, "joint_from_mesh": binds}


def _solid(matrix: Array) -> bool:
    return bool(np.all(np.isfinite(matrix)) and abs(np.linalg.det(matrix[:3, :3])) >= FLAT)


def _stiff(
    told: dict[str, Any],
    arrays: Arrays,
    place: dict[int, int],
    parents: list[int],
    joints: Joints,
    rig: Rig,
    skeleton: Skeleton,
    turn: Array,
) -> dict[str, Any] | None:
    """A mesh that one joint carries, placed where it is in the bind pose; None if it hangs from no joint."""
    node = int(told["node"])
    while node >= 0 and node not in place:
        node = parents[node]
    if node < 0 or joints.nodes[place[node]] < 0:
        return None
    joint = place[node]
    here = turn @ arrays["worlds"][joints.nodes[joint]]
    if not _solid(here):
        return None
    world = rig.bound[joint] @ np.linalg.inv(here) @ turn @ arrays[f"mesh{told['number']}_world"]
    vertices = arrays[f"mesh{told['number']}_vertices"] @ world[:3, :3].T + world[:3, 3]
    return {
        "vertices": vertices,
        "joints": np.full((len(vertices), 1), joint),
        "weights": np.ones((len(vertices), 1)),
        "joint_from_mesh": binds_of_rest(skeleton),
    }
