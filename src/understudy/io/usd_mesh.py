"""The meshes of a USD file that its skeleton carries.

Source: OpenUSD, "UsdSkel: skinning an arbitrary point": a point is in skeleton space the weighted sum of
joint * inverse bind * geometry bind * point.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.errors import FileError
from understudy.geometry.quaternion import Array
from understudy.io.child import Arrays
from understudy.io.fbx_mesh import fan, pack
from understudy.io.matrices import FLAT, Rig
from understudy.skeleton import Skeleton
from understudy.skin import Mesh, binds_of_rest


def read_meshes(
    said: dict[str, Any], arrays: Arrays, name: str, order: list[int], rig: Rig, skeleton: Skeleton, turn: Array
) -> tuple[tuple[Mesh, ...], list[str]]:
    """The meshes in metres with Y up, bound to the skeleton, and what was left out.

    Args:
        said: What the child says about the file.
        arrays: The child's arrays.
        name: The file, for errors.
        order: The number in the file of each joint of the skeleton.
        rig: The joints' matrices.
        skeleton: The skeleton made of them.
        turn: (4, 4) what takes the skeleton's space into our world.
    """
    place = {number: joint for joint, number in enumerate(order)}
    numbers = {path: place[i] for i, path in enumerate(said["joints"])}
    found, dropped = [], []
    for i, told in enumerate(said["meshes"]["told"]):
        world = turn @ arrays[f"mesh{i}_bind"]
        if not np.all(np.isfinite(world)) or abs(np.linalg.det(world[:3, :3])) < FLAT:
            dropped.append(f"mesh `{told['name']}` has a bind transform without an inverse")
            continue
        joints, weights = _influences(arrays, i, told, _own_joints(told, said["joints"], numbers, name), name)
        places = arrays[f"mesh{i}_vertices"] @ world[:3, :3].T + world[:3, 3]
        triangles = _triangles(arrays[f"mesh{i}_counts"], arrays[f"mesh{i}_corners"], len(places))
        found.append(
            Mesh(
                name=told["name"], vertices=places, joints=joints, weights=weights,
                triangles=triangles[:, ::-1] if told["left_handed"] else triangles,
                joint_from_mesh=_binds(rig, skeleton),
            )
        )  # fmt: skip
        dropped += _unread(told)
    if said["meshes"]["others"]:
        dropped.append(f"{said['meshes']['others']} skinned things that are no meshes (curves, spheres, ...)")
    return tuple(found), dropped


def _own_joints(told: dict[str, Any], paths: list[str], numbers: dict[str, int], name: str) -> np.ndarray:
    """The joints in the order in which a mesh counts them."""
    mine = paths if told["order"] is None else told["order"]
    unknown = [path for path in mine if path not in numbers]
    if unknown:
        problem = f"mesh `{told['name']}` names the joint `{unknown[0]}`, which its skeleton does not have"
        raise FileError(name, None, problem)
    return np.array([numbers[path] for path in mine], np.intp)


def _unread(told: dict[str, Any]) -> list[str]:
    said = []
    if told["method"] == "dualQuaternion":
        said.append(f"mesh `{told['name']}` is skinned by dual quaternions, here by linear blending")
    if told["blend_shapes"]:
        said.append(f"mesh `{told['name']}` has blend shapes (faces, mostly), which are not read")
    return said


def _binds(rig: Rig, skeleton: Skeleton) -> Array:
    """(J, 4, 4) joint from mesh: the same for all meshes, since vertices are put into the bind pose's world."""
    solid = np.abs(np.linalg.det(rig.bound[:, :3, :3])) >= FLAT
    out = np.array(binds_of_rest(skeleton))
    out[solid] = rig.joint_from_local()[solid] @ np.linalg.inv(rig.bound[solid])
    return out


def _influences(
    arrays: Arrays, mesh: int, told: dict[str, Any], mine: np.ndarray, name: str
) -> tuple[np.ndarray, Array]:
    """Joints (V, K) of the skeleton and weights (V, K) of a mesh's vertices."""
    count, width = len(arrays[f"mesh{mesh}_vertices"]), max(told["per_vertex"], 1)
    joints, weights = arrays[f"mesh{mesh}_joints"], arrays[f"mesh{mesh}_weights"]
    if told["rigid"]:
        joints, weights = np.tile(joints[:width], count), np.tile(weights[:width], count)
    if len(joints) != count * width or len(weights) != count * width:
        found = f"{len(joints)} joints and {len(weights)} weights"
        raise FileError(name, None, f"mesh `{told['name']}` has {found} for {count} vertices of {width} each")
    used = weights > 0.0
    if np.any((joints[used] < 0) | (joints[used] >= len(mine))):
        raise FileError(name, None, f"mesh `{told['name']}` names a joint beyond the {len(mine)} there are")
    joints = mine[np.where(used, joints, 0)]
    return pack(np.repeat(np.arange(count), width), joints, weights, count, int(mine[0]))


def _triangles(counts: np.ndarray, corners: np.ndarray, vertices: int) -> np.ndarray:
    counts = np.clip(counts, 0, len(corners))
    return fan(np.stack([np.cumsum(counts) - counts, counts], axis=1), corners, vertices)
