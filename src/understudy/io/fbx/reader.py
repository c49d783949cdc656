"""FBX, binary and text, through the library `ufbx`: characters with skins, meshes and animation stacks.

The library runs in a child process (`child.py`), because its Python side can crash. A stack is a clip, sampled on the
file's frames, or on those of its keys where they are set more often.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import FileError, MotionError, SkeletonError
from understudy.base.quaternion import Array, to_matrix
from understudy.figure.motion import Motion
from understudy.figure.naming import words
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.skin import Mesh, binds_of_rest
from understudy.io.child import Arrays, ask, need
from understudy.io.clip import Clip, ReadOptions, choose_clip
from understudy.io.matrices import FLAT, Rig, differing, make_rig
from understudy.io.units import unit_name, world_from_file

SCENE, MADE_UP = 0, -1
"""The node that the library puts above all others, and the node of a root that the file does not have."""

ENDS = {"end", "nub", "tip", "site", "ende", "endsite"}
"""Last words in the names of bones that only mark where a chain ends."""

NO_JOINTS = {"CAMERA", "LIGHT", "CAMERA_SWITCHER", "STEREO_CAMERA"}


@dataclass(frozen=True, eq=False, kw_only=True)
class FbxJoints:
    """The joints of a character."""

    nodes: tuple[int, ...]
    """The node of each joint, parents before children."""
    parents: np.ndarray
    """(J,) number of each joint's parent."""
    names: tuple[str, ...]
    ends: tuple[tuple[int, int], ...]
    """The joint and the node of each end."""
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class FbxNodes:
    """The nodes of a file."""

    names: list[str]
    parents: list[int]
    """The parent of each node; -1 for the scene's."""
    kinds: list[str]
    """What each node is; empty where nothing is attached to it."""
    skins: list[set[int]]
    """The nodes that each skin names."""
    weighted: set[int]
    """The nodes that carry some of a skin."""
    animated: set[int]
    """The nodes with curves of the chosen animation."""


def find_joints(nodes: FbxNodes, file: str) -> FbxJoints:
    """Choose the joints of the character in a file."""
    tree = _NodeTree(nodes.parents)
    members, notes = _members(nodes, tree, file)
    members, others = _one_character(tree, members, nodes.skins)
    tops = [node for node in tree.order if node in members and tree.parent_in(node, members) is None]
    members, root, said = _rooted(tree, members, tops, nodes.names)
    order = [node for node in tree.order if node in members]
    ends = {node for node in order[1:] if _is_end(node, tree, members, nodes)}
    order = [node for node in order if node not in ends]
    order = [MADE_UP, *order] if root == MADE_UP else order
    place = {node: joint for joint, node in enumerate(order)}
    above = {node: place.get(_or_root(tree.parent_in(node, members)), -1) for node in (*order[1:], *sorted(ends))}
    return FbxJoints(
        nodes=tuple(order),
        parents=np.array([-1, *(above[node] for node in order[1:])], np.intp),
        names=differing(["root" if node == MADE_UP else nodes.names[node] for node in order]),
        ends=tuple((above[node], node) for node in sorted(ends)),
        notes=(*notes, *said),
        dropped=(f"{others + 1} characters; read is the one with most joints",) if others else (),
    )


def _members(nodes: FbxNodes, tree: _NodeTree, file: str) -> tuple[set[int], list[str]]:
    """The nodes that are joints of any character, and what is to be said about it."""
    members = {i for i, kind in enumerate(nodes.kinds) if kind == "BONE"}.union(*nodes.skins) - {SCENE}
    if members:
        return members, []
    moving = {node for top in {tree.top(node) for node in nodes.animated} for node in tree.below(top)}
    members = {node for node in moving if nodes.kinds[node] not in NO_JOINTS} - {SCENE}
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
        """A node and all that hangs from it, each right before all that hangs from it."""
        found, waiting = [], [node]
        while waiting:
            found.append(waiting.pop())
            waiting += reversed(self.children[found[-1]])
        return found

    def above(self, node: int) -> list[int]:
        """The nodes from a node up, the node first, without the scene's."""
        found = []
        while node > SCENE:
            found.append(node)
            node = self.parents[node]
        return found

    def top(self, node: int) -> int:
        return self.above(node)[-1] if node > SCENE else SCENE

    def parent_in(self, node: int, members: set[int]) -> int | None:
        """The nearest node above one that is a member too."""
        return next((above for above in self.above(node)[1:] if above in members), None)


def _or_root(node: int | None) -> int:
    return MADE_UP if node is None else node


def _one_character(tree: _NodeTree, members: set[int], skins: Iterable[set[int]]) -> tuple[set[int], int]:
    """The joints of the character with most, and how many others there are.

    Joints belong together that hang from one node below the scene's, or that one skin binds.
    """
    groups: list[tuple[set[int], set[int]]] = []
    bundles: list[set[int]] = [{node} for node in members] + [set(skin) & members for skin in skins]
    for bundle in filter(None, bundles):
        tops, mine = {tree.top(node) for node in bundle}, set(bundle)
        for group in [each for each in groups if each[0] & tops]:
            groups.remove(group)
            tops, mine = tops | group[0], mine | group[1]
        groups.append((tops, mine))
    largest = max(groups, key=lambda group: (len(group[1]), -min(group[1])))
    return largest[1], len(groups) - 1


def _rooted(tree: _NodeTree, members: set[int], tops: list[int], names: list[str]) -> tuple[set[int], int, list[str]]:
    """The members with one root, that root, and what is to be said about it."""
    if len(tops) == 1:
        return members, tops[0], []
    shared = set(tree.above(tops[0])).intersection(*(tree.above(top) for top in tops[1:]))
    said = f"{len(tops)} joints hang from no other joint"
    if not shared:
        return members, MADE_UP, [f"{said}; a root at the origin was made up for them"]
    nearest = next(node for node in tree.above(tops[0]) if node in shared)
    return members | {nearest}, nearest, [f"{said}; `{names[nearest]}` above them was taken as their root"]


def _is_end(node: int, tree: _NodeTree, members: set[int], nodes: FbxNodes) -> bool:
    """Whether a bone carries nothing and is named as the end of a chain."""
    bare = node not in nodes.weighted and not any(below in members for below in tree.below(node)[1:])
    said = words(nodes.names[node])
    return bare and bool(said) and said[-1] in ENDS


BLEND_SHARES = 2
"""From this skinning method of the library on, a file asks for dual quaternions."""


def read_meshes(
    said: dict[str, Any], arrays: Arrays, joints: FbxJoints, rig: Rig, skeleton: Skeleton, turn: Array
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
    joints: FbxJoints,
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
    said, arrays = ask("understudy.io.fbx.child", {"clip": options.clip}, data, name)
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


def _joints(said: dict[str, Any], arrays: Arrays, name: str) -> FbxJoints:
    skins = [{cluster["node"] for cluster in mesh["clusters"]} for mesh in said["meshes"]]
    weighted = {
        cluster["node"]
        for mesh in said["meshes"]
        for i, cluster in enumerate(mesh["clusters"])
        if np.any(arrays[f"mesh{mesh['number']}_cluster{i}_weights"] > 0.0)
    }
    nodes = FbxNodes(
        names=said["names"], parents=said["parents"], kinds=said["kinds"], skins=skins, weighted=weighted,
        animated=set(said.get("animated", [])),
    )  # fmt: skip
    return find_joints(nodes, name)


def _matrices(worlds: Array, joints: FbxJoints, turn: Array) -> Array:
    """(J, 4, 4) the joints' matrices among those of all nodes (N, 4, 4), in our world."""
    return np.array([np.eye(4) if node == MADE_UP else turn @ worlds[node] for node in joints.nodes])


def _bound(said: dict[str, Any], arrays: Arrays, joints: FbxJoints, turn: Array) -> Array:
    """(J, 4, 4) where joints were bound: by their skin, else by the file's bind pose, else no numbers."""
    by_node = dict(zip(arrays["bind_nodes"].tolist(), arrays["bind_worlds"]))
    by_skin: dict[int, Array] = {}
    for mesh in said["meshes"]:
        for i, cluster in enumerate(mesh["clusters"]):
            by_skin.setdefault(cluster["node"], arrays[f"mesh{mesh['number']}_cluster{i}_bind"])
    by_node |= by_skin
    nothing = np.full((4, 4), np.nan)
    return np.array([turn @ by_node[node] if node in by_node else nothing for node in joints.nodes])


def _ends(said: dict[str, Any], arrays: Arrays, joints: FbxJoints, rig: Rig, turn: Array) -> list[Point]:
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
    said: dict[str, Any], arrays: Arrays, joints: FbxJoints, rig: Rig, skeleton: Skeleton, turn: Array, title: str
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
