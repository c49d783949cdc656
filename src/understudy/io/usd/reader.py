"""USD (UsdSkel), as text, binary and package: skeletons, animations and skinned meshes, through OpenUSD.

Reading runs in a child process (`child.py`), and opens nothing outside the file's own folder (`usd_layers.py`).
"""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePath
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import FileError, MotionError, SkeletonError
from understudy.base.quaternion import Array, to_matrix
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.skin import Mesh, binds_of_rest
from understudy.io.child import Arrays, ask, need
from understudy.io.clip import Clip, ReadOptions, choose_clip
from understudy.io.fbx.reader import fan, pack
from understudy.io.guess import FEWEST_JOINTS, guess
from understudy.io.matrices import FLAT, Rig, affine, differing, make_rig
from understudy.io.units import unit_name, world_from_file


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


SMALLEST, LARGEST = 0.02, 25.0
"""Metres between which the longest side of a body is believed where a file does not give its unit."""

DEFAULT_UNIT = 0.01
"""What USD says a stage is in if it does not say."""


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a USD file.

    Args:
        stream: The file's bytes; used where the name is no file on the disk, and then it can refer to no others.
        name: The file as the user named it.
        options: Which animation, and unit and up axis where the file's own are not to be believed.
    """
    need("pxr", "usd-core", "usd", "Reading USD")
    if Path(name).is_file():
        said, arrays = _ask(str(Path(name).resolve()), name, options)
    else:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / f"given{PurePath(name).suffix.lower() or '.usd'}"
            copy.write_bytes(stream.read())
            said, arrays = _ask(str(copy), name, options)
    try:
        with np.errstate(all="ignore"):
            return _clip(said, arrays, name, options)
    except (SkeletonError, MotionError) as error:
        raise FileError(name, None, f"the numbers make no body: {error.message}") from None
    except np.linalg.LinAlgError:
        raise FileError(name, None, "the numbers make no body: a transform cannot be worked out") from None


def _ask(path: str, name: str, options: ReadOptions) -> tuple[dict[str, Any], Arrays]:
    if Path(path).stat().st_size == 0:
        raise FileError(name, None, "the file is empty; expected USD")
    return ask("understudy.io.usd.child", {"path": path, "clip": options.clip}, b"", name)


def _clip(said: dict[str, Any], arrays: Arrays, name: str, options: ReadOptions) -> Clip:
    clips = tuple(said["clips"])
    choose_clip(clips, options.clip, name)
    order, parents, tops = _tree(said["joints"])
    title = PurePath(name).stem
    up = options.up or ("Z" if said["up"] == "Z" else "Y")
    plain, _ = _body(said, arrays, name, order, parents, 1.0, up, title)
    unit, unit_reason = _unit(plain, said, options, up)
    skeleton, rig = _body(said, arrays, name, order, parents, unit, up, title)
    notes, dropped = [*rig.notes, *said["missing"]], []
    if tops > 1:
        notes.append(f"{tops} joints hang from no other joint; a root at the origin was made up for them")
    if len(said["skeletons"]) > 1:
        dropped.append(f"{len(said['skeletons'])} skeletons; read is `{said['skeleton']}`")
    if len(clips) > 1 and options.clip is None:
        notes.append(f"{len(clips)} animations; `{clips[0]}`, the first, is read")
    motion = None
    if "moved" in arrays:
        worlds = _moved(said, arrays, order, parents, unit, up)
        motion, grown = rig.motion(skeleton, worlds, said["fps"], said["clip"])
        dropped += grown
        if not said["exact"]:
            notes.append(f"the keys lie on no common frames, and are sampled anew at {said['fps']:g} fps")
    meshes, left = read_meshes(said, arrays, name, order, rig, skeleton, _turn(unit, up) @ arrays["world"])
    up_reason = "given" if options.up else "the file says so" if said["up_given"] else "by default of USD"
    return Clip(
        skeleton=skeleton, motion=motion, format="usd", unit=unit, unit_reason=unit_reason, up=up,
        up_reason=f"{up} is up: {up_reason}", notes=tuple(notes), dropped=(*dropped, *left), clips=clips, meshes=meshes,
    )  # fmt: skip


def _tree(paths: list[str]) -> tuple[list[int], np.ndarray, int]:
    """The joints in an order with parents first (-1: a root made up), their parents, and how many roots there were."""
    place: dict[str, int] = {}
    for i, path in enumerate(paths):
        place.setdefault(path.strip("/"), i)
    above: list[int] = []
    for path in paths:
        parts = path.strip("/").split("/")
        upper = ("/".join(parts[:n]) for n in range(len(parts) - 1, 0, -1))
        above.append(next((place[each] for each in upper if each in place), -1))
    order = sorted(range(len(paths)), key=lambda i: _depth(i, above))
    if all(above[i] < i for i in range(len(paths))):
        order = list(range(len(paths)))
    tops = above.count(-1)
    order = [-1, *order] if tops > 1 else order
    number = {joint: i for i, joint in enumerate(order)}
    return order, np.array([-1] + [number[above[joint]] for joint in order[1:]], np.intp), tops


def _depth(joint: int, above: list[int]) -> int:
    depth = 0
    while joint >= 0:
        joint, depth = above[joint], depth + 1
    return depth


def _turn(unit: float, up: str) -> Array:
    """(4, 4) what takes the stage's world into ours."""
    return affine(unit * to_matrix(world_from_file(up)), np.zeros(3))


def _body(
    said: dict[str, Any],
    arrays: Arrays,
    name: str,
    order: list[int],
    parents: np.ndarray,
    unit: float,
    up: str,
    title: str,
) -> tuple[Skeleton, Rig]:
    """The skeleton and its matrices: the bind pose, where the file gives one that can be used, else the rest pose."""
    turn = _turn(unit, up) @ arrays["world"]
    pose = _bound(said, arrays, name, order, parents)
    here = turn @ pose
    if order[0] == -1:
        here[0] = np.eye(4)
    shown = said["names"] or [path.strip("/").rpartition("/")[2] for path in said["joints"]]
    names = differing(["root" if joint < 0 else shown[joint] for joint in order])
    rig = make_rig(names, parents, here, here)
    return rig.skeleton(title, _ends(said, names, order, shown, unit)), rig


def _bound(said: dict[str, Any], arrays: Arrays, name: str, order: list[int], parents: np.ndarray) -> Array:
    """(J, 4, 4) skeleton from joint in the bind pose, or in the rest pose where there is none."""
    if "bind" in arrays and np.all(np.isfinite(arrays["bind"])):
        given = np.concatenate([arrays["bind"], np.eye(4)[None]])[order]
        if np.all(np.abs(np.linalg.det(given[:, :3, :3])) > 0.0):
            return given
    if "rest" not in arrays:
        raise FileError(
            name, None, f"the skeleton `{said['skeleton']}` has neither bind nor rest transforms for its joints"
        )
    return _chain(np.concatenate([arrays["rest"], np.eye(4)[None]])[order], parents)


def _chain(local: Array, parents: np.ndarray) -> Array:
    """(..., J, 4, 4) skeleton from joint of local matrices."""
    out = np.array(local)
    for joint, parent in enumerate(parents.tolist()):
        if parent >= 0:
            out[..., joint, :, :] = out[..., parent, :, :] @ out[..., joint, :, :]
    return out


def _moved(said: dict[str, Any], arrays: Arrays, order: list[int], parents: np.ndarray, unit: float, up: str) -> Array:
    """(F, J, 4, 4) world from joint of the animation; joints that it does not move stay in the rest pose."""
    count = len(said["joints"])
    if "rest" in arrays:
        rest = arrays["rest"]
    else:
        bound = np.concatenate([arrays["bind"], np.eye(4)[None]])[order]
        rest = np.empty((count, 4, 4))
        for joint, number in enumerate(order):
            if number >= 0:
                above = bound[parents[joint]] if parents[joint] >= 0 else np.eye(4)
                rest[number] = np.linalg.inv(above) @ bound[joint]
    local = np.tile(np.concatenate([rest, np.eye(4)[None]]), (len(arrays["moved"]), 1, 1, 1))
    place = {path: i for i, path in enumerate(said["joints"])}
    for column, path in enumerate(said["moved_joints"]):
        if path in place:
            local[:, place[path]] = arrays["moved"][:, column]
    out = _turn(unit, up) @ arrays["moved_worlds"][:, None] @ _chain(local[:, order], parents)
    if order[0] == -1:
        out[:, 0] = np.eye(4)
    return out


def _ends(said: dict[str, Any], names: tuple[str, ...], order: list[int], shown: list[str], unit: float) -> list[Point]:
    """The end points that our own writer left with the skeleton."""
    titles, joints, offsets = (said["ends"][key] for key in ("names", "joints", "offsets"))
    if titles is None or joints is None or offsets is None or not len(titles) == len(joints) == len(offsets):
        return []
    place = {shown[joint]: names[i] for i, joint in enumerate(order) if joint >= 0}
    return [
        Point(name=title, joint=place[joint], offset=np.array(offset, float) * unit)
        for title, joint, offset in zip(titles, joints, offsets)
        if joint in place and title not in names
    ]


def _unit(plain: Skeleton, said: dict[str, Any], options: ReadOptions, up: str) -> tuple[float, str]:
    """Metres in one unit of the file and why; a file that does not say means centimetres, if that makes a body."""
    if options.unit is not None:
        return options.unit, f"{unit_name(options.unit)}: given"
    if said["unit_given"] and np.isfinite(said["unit"]) and said["unit"] > 0.0:
        return said["unit"], f"{unit_name(said['unit'])}: the file says so"
    places = np.concatenate([plain.rest_world[0], plain.rest_ends])
    size = float(np.ptp(places, axis=0).max()) * DEFAULT_UNIT
    if size == 0.0 or plain.num_joints < FEWEST_JOINTS or SMALLEST <= size <= LARGEST:
        return DEFAULT_UNIT, "cm: by default of USD; the file does not say"
    found = guess(plain, up=up)
    return found.unit, f"{found.unit_reason}; USD means cm where a file does not say, which would make {size:.3g} m"
