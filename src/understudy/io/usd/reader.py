"""USD (UsdSkel), as text, binary and package: skeletons, animations and skinned meshes, through OpenUSD.

Reading runs in a child process (`child.py`), which opens no file outside the folder of the given one.
"""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePath
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import FileError
from understudy.base.files import note_opened
from understudy.base.quaternion import Array, to_matrix
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.skin import Mesh, binds_of_rest
from understudy.io.child import Arrays, ask, need, refuse_bodies_of_bad_numbers
from understudy.io.clip import Clip, ReadOptions, choose_clip_index, describe_clip_choice, name_unit, world_from_file
from understudy.io.fbx.reader import pack_influences, triangulate_corners
from understudy.io.guess import MAX_BODY_SIZE_METRES, MIN_BODY_JOINTS, MIN_BODY_SIZE_METRES, guess
from understudy.io.look import read_look, read_shapes
from understudy.io.matrices import MIN_DETERMINANT, Rig, make_affine, make_rig, make_unique
from understudy.io.usd.layout import UsdLayout


def read_meshes(
    info: dict[str, Any], arrays: Arrays, name: str, order: list[int], rig: Rig, skeleton: Skeleton, to_world: Array
) -> tuple[tuple[Mesh, ...], list[str]]:
    """The meshes in metres with Y up, bound to the skeleton, and notes on what was left out.

    Args:
        info: The child's description of the file.
        arrays: The child's arrays.
        name: The file, for errors.
        order: The index in the file of each joint of the skeleton.
        rig: The joints' matrices.
        skeleton: The skeleton made of them.
        to_world: (4, 4) matrix from the skeleton's space to our world.
    """
    joint_of = {number: joint for joint, number in enumerate(order)}
    joint_of_path = {path: joint_of[i] for i, path in enumerate(info["joints"])}
    meshes, dropped = [], []
    for i, mesh in enumerate(info["meshes"]["meshes"]):
        world = to_world @ arrays[f"mesh{i}_bind"]
        if not np.all(np.isfinite(world)) or abs(np.linalg.det(world[:3, :3])) < MIN_DETERMINANT:
            dropped.append(f"mesh `{mesh['name']}` has a bind transform without an inverse")
            continue
        joints, weights = _influences(arrays, i, mesh, _mesh_joints(mesh, info["joints"], joint_of_path, name), name)
        positions = arrays[f"mesh{i}_vertices"] @ world[:3, :3].T + world[:3, 3]
        counts, corners = arrays[f"mesh{i}_counts"], arrays[f"mesh{i}_corners"]
        numbers, faces = _triangle_corners(counts, corners, len(positions))
        numbers = numbers[:, ::-1] if mesh["left_handed"] else numbers
        meshes.append(
            Mesh(
                name=mesh["name"], vertices=positions, joints=joints, weights=weights, triangles=corners[numbers],
                look=read_look(i, mesh["materials"], arrays, numbers, faces, world, Path(name).parent),
                joint_from_mesh=_binds(rig, skeleton),
                shapes=read_shapes(f"mesh{i}", mesh["shapes"], arrays, len(positions), world),
            )
        )  # fmt: skip
        dropped += _mesh_losses(mesh)
    if info["meshes"]["others"]:
        dropped.append(f"{info['meshes']['others']} skinned things that are no meshes (curves, spheres, ...)")
    return tuple(meshes), dropped


def _mesh_joints(mesh: dict[str, Any], paths: list[str], joint_of_path: dict[str, int], name: str) -> np.ndarray:
    """The joints in the order in which a mesh numbers them."""
    order = paths if mesh["order"] is None else mesh["order"]
    unknown = [path for path in order if path not in joint_of_path]
    if unknown:
        problem = f"mesh `{mesh['name']}` names the joint `{unknown[0]}`, which its skeleton does not have"
        raise FileError(name, None, problem)
    return np.array([joint_of_path[path] for path in order], np.intp)


def _mesh_losses(mesh: dict[str, Any]) -> list[str]:
    """Notes on what of a mesh is not read."""
    notes = []
    if mesh["method"] == "dualQuaternion":
        notes.append(f"mesh `{mesh['name']}` is skinned by dual quaternions; linear blending is used instead")
    return notes


def _binds(rig: Rig, skeleton: Skeleton) -> Array:
    """(J, 4, 4) joint from mesh: the same for all meshes, since vertices are in the world of the bind pose."""
    invertible = np.abs(np.linalg.det(rig.bound[:, :3, :3])) >= MIN_DETERMINANT
    out = np.array(binds_of_rest(skeleton))
    out[invertible] = rig.joint_from_local()[invertible] @ np.linalg.inv(rig.bound[invertible])
    return out


def _influences(
    arrays: Arrays, number: int, mesh: dict[str, Any], mesh_joints: np.ndarray, name: str
) -> tuple[np.ndarray, Array]:
    """Joints (V, K) of the skeleton and weights (V, K) of a mesh's vertices."""
    count, width = len(arrays[f"mesh{number}_vertices"]), max(mesh["per_vertex"], 1)
    joints, weights = arrays[f"mesh{number}_joints"], arrays[f"mesh{number}_weights"]
    if mesh["rigid"]:
        joints, weights = np.tile(joints[:width], count), np.tile(weights[:width], count)
    if len(joints) != count * width or len(weights) != count * width:
        counts = f"{len(joints)} joints and {len(weights)} weights"
        raise FileError(name, None, f"mesh `{mesh['name']}` has {counts} for {count} vertices of {width} each")
    used = weights > 0.0
    if np.any((joints[used] < 0) | (joints[used] >= len(mesh_joints))):
        raise FileError(name, None, f"mesh `{mesh['name']}` names a joint beyond the {len(mesh_joints)} there are")
    joints = mesh_joints[np.where(used, joints, 0)]
    return pack_influences(np.repeat(np.arange(count), width), joints, weights, count, int(mesh_joints[0]))


def _triangle_corners(counts: np.ndarray, corners: np.ndarray, vertices: int) -> tuple[np.ndarray, np.ndarray]:
    """(T, 3) the corners of the triangles of all faces, and (T,) their faces."""
    counts = np.clip(counts, 0, len(corners))
    return triangulate_corners(np.stack([np.cumsum(counts) - counts, counts], axis=1), corners, vertices)


DEFAULT_UNIT_METRES = 0.01
"""The unit of a stage that gives none, according to USD."""


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a USD file.

    Args:
        stream: The file's bytes. They are used if `name` is no file on the disk; then references are not followed.
        name: The file as the user named it.
        options: Which animation; unit and up axis to use instead of the file's.
    """
    need("pxr", "usd-core", "usd", "Reading USD")
    data = stream.read()
    if Path(name).is_file():
        info, arrays = _ask(str(Path(name).resolve()), name, options)
    else:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / f"given{PurePath(name).suffix.lower() or '.usd'}"
            copy.write_bytes(data)
            info, arrays = _ask(str(copy), name, options)
    with refuse_bodies_of_bad_numbers(name):
        return _clip(info, arrays, name, options, data)


def _ask(path: str, name: str, options: ReadOptions) -> tuple[dict[str, Any], Arrays]:
    if Path(path).stat().st_size == 0:
        raise FileError(name, None, "the file is empty; expected USD")
    info, arrays = ask("understudy.io.usd.child", {"path": path, "clip": options.clip}, b"", name)
    for layer in info["layers"]:
        note_opened(layer)
    return info, arrays


def _clip(info: dict[str, Any], arrays: Arrays, name: str, options: ReadOptions, data: bytes) -> Clip:
    clips = tuple(info["clips"])
    choose_clip_index(clips, options.clip, name)
    order, parents, num_roots = _tree(info["joints"])
    title = PurePath(name).stem
    up = options.up or ("Z" if info["up"] == "Z" else "Y")
    unscaled, _ = _body(info, arrays, name, order, parents, 1.0, up, title)
    unit, unit_reason = _unit(unscaled, info, options, up)
    skeleton, rig = _body(info, arrays, name, order, parents, unit, up, title)
    notes, dropped = [*rig.notes, *info["missing"]], []
    if num_roots > 1:
        notes.append(f"{num_roots} joints hang from no other joint; a root at the origin was made up for them")
    if len(info["skeletons"]) > 1:
        dropped.append(f"{len(info['skeletons'])} skeletons; `{info['skeleton']}` is read")
    notes += describe_clip_choice(clips, 0 if clips else None, (), options.clip, name)
    motion = None
    if "moved" in arrays:
        worlds = _moved_worlds(info, arrays, order, parents, unit, up)
        motion, lost = rig.motion(skeleton, worlds, info["fps"], info["clip"])
        dropped += lost
        if not info["exact"]:
            notes.append(f"the keys lie on no common frames, and are sampled anew at {info['fps']:g} fps")
    meshes, left = read_meshes(info, arrays, name, order, rig, skeleton, _to_world(unit, up) @ arrays["world"])
    up_reason = "given" if options.up else "the file says so" if info["up_given"] else "by default of USD"
    return Clip(
        skeleton=skeleton, motion=motion, format="usd", unit=unit, unit_reason=unit_reason, up=up,
        up_reason=f"{up} is up: {up_reason}", notes=tuple(notes), dropped=(*dropped, *left), clips=clips, meshes=meshes,
        layout=UsdLayout(
            data=data, path=str(Path(name).resolve()), skeleton_path=info["skeleton"], joints=info["joints"],
            order=order, joint_names=skeleton.names, parents=skeleton.parents, stretches=rig.stretches,
            to_world=_to_world(unit, up) @ arrays["world"], codes_per_second=info["codes_per_second"],
            problem=info["problem_in_place"], motion=motion, skeleton=skeleton,
        ),
    )  # fmt: skip


def _tree(paths: list[str]) -> tuple[list[int], np.ndarray, int]:
    """The joints' indices, parents first (-1: an added root), their parents, and the number of roots in the file."""
    index: dict[str, int] = {}
    for i, path in enumerate(paths):
        index.setdefault(path.strip("/"), i)
    parents: list[int] = []
    for path in paths:
        parts = path.strip("/").split("/")
        ancestors = ("/".join(parts[:n]) for n in range(len(parts) - 1, 0, -1))
        parents.append(next((index[ancestor] for ancestor in ancestors if ancestor in index), -1))
    order = sorted(range(len(paths)), key=lambda i: _depth(i, parents))
    if all(parents[i] < i for i in range(len(paths))):
        order = list(range(len(paths)))
    num_roots = parents.count(-1)
    order = [-1, *order] if num_roots > 1 else order
    number = {joint: i for i, joint in enumerate(order)}
    return order, np.array([-1] + [number[parents[joint]] for joint in order[1:]], np.intp), num_roots


def _depth(joint: int, parents: list[int]) -> int:
    depth = 0
    while joint >= 0:
        joint, depth = parents[joint], depth + 1
    return depth


def _to_world(unit: float, up: str) -> Array:
    """(4, 4) matrix from the stage's world to ours."""
    return make_affine(unit * to_matrix(world_from_file(up)), np.zeros(3))


def _body(
    info: dict[str, Any],
    arrays: Arrays,
    name: str,
    order: list[int],
    parents: np.ndarray,
    unit: float,
    up: str,
    title: str,
) -> tuple[Skeleton, Rig]:
    """The skeleton and its matrices, in the bind pose if the file has a usable one, else in the rest pose."""
    to_world = _to_world(unit, up) @ arrays["world"]
    pose = _bound(info, arrays, name, order, parents)
    worlds = to_world @ pose
    if order[0] == -1:
        worlds[0] = np.eye(4)
    joint_names = info["names"] or [path.strip("/").rpartition("/")[2] for path in info["joints"]]
    names = make_unique(["root" if joint < 0 else joint_names[joint] for joint in order])
    rig = make_rig(names, parents, worlds, worlds)
    return rig.skeleton(title, _ends(info, names, order, joint_names, unit)), rig


def _bound(info: dict[str, Any], arrays: Arrays, name: str, order: list[int], parents: np.ndarray) -> Array:
    """(J, 4, 4) skeleton from joint in the bind pose, or in the rest pose if there is none."""
    if "bind" in arrays and np.all(np.isfinite(arrays["bind"])):
        bind = np.concatenate([arrays["bind"], np.eye(4)[None]])[order]
        if np.all(np.abs(np.linalg.det(bind[:, :3, :3])) > 0.0):
            return bind
    if "rest" not in arrays:
        raise FileError(
            name, None, f"the skeleton `{info['skeleton']}` has neither bind nor rest transforms for its joints"
        )
    return _chain(np.concatenate([arrays["rest"], np.eye(4)[None]])[order], parents)


def _chain(local: Array, parents: np.ndarray) -> Array:
    """(..., J, 4, 4) skeleton from joint, from parent-from-joint matrices."""
    out = np.array(local)
    for joint, parent in enumerate(parents.tolist()):
        if parent >= 0:
            out[..., joint, :, :] = out[..., parent, :, :] @ out[..., joint, :, :]
    return out


def _moved_worlds(
    info: dict[str, Any], arrays: Arrays, order: list[int], parents: np.ndarray, unit: float, up: str
) -> Array:
    """(F, J, 4, 4) world from joint during the animation. Joints that it does not move stay in the rest pose."""
    count = len(info["joints"])
    if "rest" in arrays:
        rest = arrays["rest"]
    else:
        bound = np.concatenate([arrays["bind"], np.eye(4)[None]])[order]
        rest = np.empty((count, 4, 4))
        for joint, number in enumerate(order):
            if number >= 0:
                parent = bound[parents[joint]] if parents[joint] >= 0 else np.eye(4)
                rest[number] = np.linalg.inv(parent) @ bound[joint]
    local = np.tile(np.concatenate([rest, np.eye(4)[None]]), (len(arrays["moved"]), 1, 1, 1))
    index = {path: i for i, path in enumerate(info["joints"])}
    for column, path in enumerate(info["moved_joints"]):
        if path in index:
            local[:, index[path]] = arrays["moved"][:, column]
    out = _to_world(unit, up) @ arrays["moved_worlds"][:, None] @ _chain(local[:, order], parents)
    if order[0] == -1:
        out[:, 0] = np.eye(4)
    return out


def _ends(
    info: dict[str, Any], names: tuple[str, ...], order: list[int], joint_names: list[str], unit: float
) -> list[Point]:
    """The end points that our own writer stored with the skeleton."""
    titles, joints, offsets = (info["ends"][key] for key in ("names", "joints", "offsets"))
    if titles is None or joints is None or offsets is None or not len(titles) == len(joints) == len(offsets):
        return []
    unique = {joint_names[joint]: names[i] for i, joint in enumerate(order) if joint >= 0}
    return [
        Point(name=title, joint=unique[joint], offset=np.array(offset, float) * unit)
        for title, joint, offset in zip(titles, joints, offsets)
        if joint in unique and title not in names
    ]


def _unit(unscaled: Skeleton, info: dict[str, Any], options: ReadOptions, up: str) -> tuple[float, str]:
    """The file's unit in metres, and the reason. The default is centimetres, unless the body's size is impossible."""
    if options.unit is not None:
        return options.unit, f"{name_unit(options.unit)}: given"
    if info["unit_given"] and np.isfinite(info["unit"]) and info["unit"] > 0.0:
        return info["unit"], f"{name_unit(info['unit'])}: the file says so"
    positions = np.concatenate([unscaled.rest_world[0], unscaled.rest_ends])
    size = float(np.ptp(positions, axis=0).max()) * DEFAULT_UNIT_METRES
    if size == 0.0 or unscaled.num_joints < MIN_BODY_JOINTS or MIN_BODY_SIZE_METRES <= size <= MAX_BODY_SIZE_METRES:
        return DEFAULT_UNIT_METRES, "cm: by default of USD; the file does not say"
    guessed = guess(unscaled, up=up)
    return guessed.unit, f"{guessed.unit_reason}; USD means cm where a file does not say, which would make {size:.3g} m"
