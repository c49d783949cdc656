"""FBX, binary and text, through the library `ufbx`: characters with skins, meshes and animation stacks.

The library runs in a child process (`child.py`), because its Python side can crash. A stack is a clip, sampled on the
file's frames, or on those of its keys where they are set more often.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, BinaryIO

import numpy as np

from understudy.errors import FileError, MotionError, SkeletonError
from understudy.geometry.quaternion import Array, to_matrix
from understudy.io.child import Arrays, ask, need
from understudy.io.clip import Clip, Format, ReadOptions, choose_clip
from understudy.io.fbx_joints import MADE_UP, Joints, Nodes, find_joints
from understudy.io.fbx_mesh import read_meshes
from understudy.io.matrices import Rig, make_rig
from understudy.io.units import unit_name, world_from_file
from understudy.motion import Motion
from understudy.skeleton import Point, Skeleton

MOST_BYTES = 1 << 30
SMALLEST_UNIT, LARGEST_UNIT = 1e-6, 1e6
"""Metres between which a file's unit is believed."""
AXES = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float)
"""Directions as the library numbers them."""


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read an FBX file.

    Args:
        stream: The file's bytes.
        name: The file as the user named it, for errors.
        options: Which animation, and unit and up axis where the file's own are not to be believed.
    """
    need("ufbx", "ufbx", "fbx", "Reading FBX")
    data = stream.read(MOST_BYTES + 1)
    if not data:
        raise FileError(name, None, "the file is empty; expected FBX")
    if len(data) > MOST_BYTES:
        raise FileError(name, None, f"is larger than {MOST_BYTES >> 20} MiB, the most that is read")
    said, arrays = ask("understudy.io.fbx_child", {"clip": options.clip}, data, name)
    try:
        with np.errstate(all="ignore"):
            return _clip(said, arrays, name, options)
    except (SkeletonError, MotionError) as error:
        raise FileError(name, None, f"the numbers make no body: {error.message}") from None
    except np.linalg.LinAlgError:
        raise FileError(name, None, "the numbers make no body: a transform cannot be worked out") from None


def _clip(said: dict[str, Any], arrays: Arrays, name: str, options: ReadOptions) -> Clip:
    names = tuple(said["stacks"])
    chosen = choose_clip(names, options.clip, name)
    unit, unit_reason = _unit(said["unit"], options)
    turn, up, up_reason = _axes(said["axes"], unit, options)
    joints = _joints(said, arrays, name)
    here = _matrices(arrays["worlds"], joints, turn)
    rig = make_rig(joints.names, joints.parents, here, _bound(said, arrays, joints, turn))
    skeleton = rig.skeleton(PurePath(name).stem, _ends(said, arrays, joints, rig, turn))
    notes, dropped = [*joints.notes, *rig.notes], [*joints.dropped]
    motion = None
    if chosen is not None:
        if len(names) > 1 and options.clip is None:
            notes.append(f"{len(names)} animations; `{names[chosen]}`, the first, is read")
        motion, more = _motion(said, arrays, joints, rig, skeleton, turn, names[chosen])
        notes += more[0]
        dropped += more[1]
    if said["blend_shapes"]:
        dropped.append(f"{said['blend_shapes']} blend shapes (faces, mostly) are not read")
    meshes, left = read_meshes(said, arrays, joints, rig, skeleton, turn)
    return Clip(
        skeleton=skeleton, motion=motion, format="fbx", unit=unit, unit_reason=unit_reason, up=up, up_reason=up_reason,
        notes=tuple(notes), dropped=(*dropped, *left), clips=names, meshes=meshes,
    )  # fmt: skip


def _unit(unit: float, options: ReadOptions) -> tuple[float, str]:
    """Metres in one unit of the file and why."""
    if options.unit is not None:
        return options.unit, f"{unit_name(options.unit)}: given"
    if not SMALLEST_UNIT <= unit <= LARGEST_UNIT:
        return 0.01, f"cm: as FBX is by default; the file says {unit:g} m, which is not believed"
    return unit, f"{unit_name(unit)}: the file says so"


def _axes(axes: list[int], unit: float, options: ReadOptions) -> tuple[Array, str, str]:
    """What takes the file's world into ours (4, 4), the letter of its up axis, and how it was found."""
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


def _joints(said: dict[str, Any], arrays: Arrays, name: str) -> Joints:
    skins = [{cluster["node"] for cluster in mesh["clusters"]} for mesh in said["meshes"]]
    weighted = {
        cluster["node"]
        for mesh in said["meshes"]
        for i, cluster in enumerate(mesh["clusters"])
        if np.any(arrays[f"mesh{mesh['number']}_cluster{i}_weights"] > 0.0)
    }
    nodes = Nodes(
        names=said["names"], parents=said["parents"], kinds=said["kinds"], skins=skins, weighted=weighted,
        animated=set(said.get("animated", [])),
    )  # fmt: skip
    return find_joints(nodes, name)


def _matrices(worlds: Array, joints: Joints, turn: Array) -> Array:
    """(J, 4, 4) the joints' matrices among those of all nodes (N, 4, 4), in our world."""
    return np.array([np.eye(4) if node == MADE_UP else turn @ worlds[node] for node in joints.nodes])


def _bound(said: dict[str, Any], arrays: Arrays, joints: Joints, turn: Array) -> Array:
    """(J, 4, 4) where joints were bound: by their skin, else by the file's bind pose, else no numbers."""
    by_node = dict(zip(arrays["bind_nodes"].tolist(), arrays["bind_worlds"]))
    by_skin: dict[int, Array] = {}
    for mesh in said["meshes"]:
        for i, cluster in enumerate(mesh["clusters"]):
            by_skin.setdefault(cluster["node"], arrays[f"mesh{mesh['number']}_cluster{i}_bind"])
    by_node |= by_skin
    nothing = np.full((4, 4), np.nan)
    return np.array([turn @ by_node[node] if node in by_node else nothing for node in joints.nodes])


def _ends(said: dict[str, Any], arrays: Arrays, joints: Joints, rig: Rig, turn: Array) -> list[Point]:
    """The end points, in the frames of the joints they hang from."""
    taken, found = set(joints.names), []
    for joint, node in joints.ends:
        parent = joints.nodes[joint]
        above = np.eye(4) if parent == MADE_UP else turn @ arrays["worlds"][parent]
        local = np.linalg.solve(above, (turn @ arrays["worlds"][node])[:, 3])[:3]
        title = said["names"][node]
        while title in taken:
            title += "_"
        taken.add(title)
        found.append(Point(name=title, joint=joints.names[joint], offset=rig.stretches[joint] @ local))
    return found


def _motion(
    said: dict[str, Any], arrays: Arrays, joints: Joints, rig: Rig, skeleton: Skeleton, turn: Array, title: str
) -> tuple[Motion | None, tuple[list[str], list[str]]]:
    """The motion of the chosen stack, what is to be said about it, and what of it is left out."""
    place = {node: i for i, node in enumerate(arrays["moving"].tolist())}
    over = set(place)
    if not over & set(said["animated"]):
        return None, ([f"animation `{title}` moves no joint of the character"], [])
    frames = len(arrays["moved"])
    worlds = np.empty((frames, len(joints.nodes), 4, 4))
    for joint, node in enumerate(joints.nodes):
        worlds[:, joint] = np.eye(4) if node == MADE_UP else turn @ arrays["moved"][:, place[node]]
    notes = []
    if said["fps"] != said["scene_fps"]:
        notes.append(f"the keys are set at {said['fps']:g} a second, more often than the file's {said['scene_fps']:g}")
    if said["begin"] != 0.0:
        notes.append(f"animation `{title}` starts at {said['begin']:.6g} s of the file's clock")
    motion, dropped = rig.motion(skeleton, worlds, said["fps"], title)
    return motion, (notes, dropped)


FORMAT = Format(name="fbx", title="FBX", suffixes=(".fbx",), read=read, meshes=True)
