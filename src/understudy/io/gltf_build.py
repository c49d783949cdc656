"""A glTF file from scratch: a node for each joint, a skin, and a surface, of bones where there is no other."""

from __future__ import annotations

import numpy as np

from understudy.geometry.quaternion import Array, between, conjugate, continuous, multiply, rotate, to_matrix
from understudy.io.clip import Clip
from understudy.io.gltf_accessor import UNSIGNED_INT, UNSIGNED_SHORT
from understudy.io.gltf_builder import ELEMENTS, VERTICES, Builder
from understudy.io.gltf_document import Json
from understudy.io.gltf_tracks import STILL, Track
from understudy.io.units import world_from_file
from understudy.motion import Motion
from understudy.skeleton import JointKind, Skeleton
from understudy.skin import Mesh, binds_of_rest

THICKNESS, WAIST = 0.08, 0.15
"""Half the width of a bone's thickest place and where along it that is, as shares of its length."""
BALL = 0.03
"""Half the width of what shows a joint without bones, as a share of the body's size."""

_CORNERS = np.array([[1, 0, 0], [0, 0, 1], [-1, 0, 0], [0, 0, -1]], float)
_FACES = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [5, 2, 1], [5, 3, 2], [5, 4, 3], [5, 1, 4]])


def bone_mesh(skeleton: Skeleton) -> Mesh:
    """A surface that shows a skeleton: a long double pyramid for each bone, carried by the joint it starts at."""
    places, _ = skeleton.rest_world
    bones = [(parent, places[parent], places[joint]) for joint, parent in enumerate(skeleton.parents) if parent >= 0]
    bones += [
        (skeleton.index[end.joint], places[skeleton.index[end.joint]], tip)
        for end, tip in zip(skeleton.ends, skeleton.rest_ends)
    ]
    size = max(float(np.ptp(places, axis=0).max()), 1e-3)
    bones = [bone for bone in bones if np.linalg.norm(bone[2] - bone[1]) > 1e-4 * size]
    lone = set(range(skeleton.num_joints)) - {joint for joint, _, _ in bones} if not bones else set()
    bones += [(joint, places[joint] - [0, BALL * size, 0], places[joint] + [0, BALL * size, 0]) for joint in lone]
    corners = np.concatenate([_bone(start, tip) for _, start, tip in bones])
    faces = np.concatenate([_FACES + 6 * i for i in range(len(bones))])
    joints = np.repeat([joint for joint, _, _ in bones], 6)[:, None]
    return Mesh(
        name="bones",
        vertices=corners,
        triangles=faces,
        joints=joints,
        weights=np.ones(joints.shape),
        joint_from_mesh=binds_of_rest(skeleton),
    )


def _bone(start: Array, tip: Array) -> Array:
    """(6, 3) the corners of a double pyramid: start, four around, tip."""
    along = tip - start
    length = float(np.linalg.norm(along))
    around = _CORNERS * [THICKNESS * length, 0.0, THICKNESS * length] + [0.0, WAIST * length, 0.0]
    local = np.concatenate([np.zeros((1, 3)), around, [[0.0, length, 0.0]]])
    return start + rotate(between(np.array([0.0, 1.0, 0.0]), along), local)


def build(clip: Clip, unit: float, up: str, name: str) -> tuple[Builder, list[str]]:
    """A file of a clip's joints, meshes and motion, in that unit with that axis up; and what it does not hold."""
    skeleton = clip.skeleton
    builder = Builder({"asset": {"version": "2.0", "generator": "Understudy"}, "scene": 0})
    tree = builder.tree
    tree["nodes"] = _joint_nodes(skeleton, unit, up)
    roots = [0]
    fitting = [mesh for mesh in clip.meshes if mesh.num_joints == skeleton.num_joints and len(mesh.triangles)]
    for mesh in fitting or [bone_mesh(skeleton)]:
        roots.append(_add_mesh(builder, mesh, skeleton.num_joints, unit, up))
    tree["scenes"] = [{"nodes": roots, **({"name": skeleton.name} if skeleton.name else {})}]
    if clip.motion is not None:
        times = np.arange(clip.motion.num_frames) / clip.motion.fps
        tracks = _tracks(clip.motion, unit, up)
        tree["animations"] = [builder.animation(name, times, clip.motion.fps, tracks)]
    return builder, _losses(clip, len(fitting))


def _joint_nodes(skeleton: Skeleton, unit: float, up: str) -> list[Json]:
    back = conjugate(world_from_file(up))
    offsets, rest = skeleton.offsets / unit, np.array(skeleton.rest)
    offsets[0], rest[0] = rotate(back, offsets[0]), multiply(back, rest[0])
    nodes: list[Json] = []
    for joint, name in enumerate(skeleton.names):
        node: Json = {
            "name": name,
            "translation": offsets[joint].tolist(),
            "rotation": rest[joint][[1, 2, 3, 0]].tolist(),
        }
        if skeleton.children[joint]:
            node["children"] = list(skeleton.children[joint])
        nodes.append(node)
    for end in skeleton.ends:
        nodes[skeleton.index[end.joint]].setdefault("children", []).append(len(nodes))
        # Marked, because a bare node under a joint with joints below it could be anything.
        nodes.append({"name": end.name, "translation": (end.offset / unit).tolist(), "extras": {"end": True}})
    return nodes


def _add_mesh(builder: Builder, mesh: Mesh, num_joints: int, unit: float, up: str) -> int:
    """Add a mesh with a skin and the node that shows it; returns the node."""
    turn = to_matrix(world_from_file(up))
    to_world, from_metres = np.eye(4), np.eye(4)
    to_world[:3, :3] = unit * turn
    from_metres[:3, :3] /= unit
    vertices = mesh.vertices @ turn / unit
    weights = np.pad(mesh.weights, ((0, 0), (0, -mesh.weights.shape[1] % 4)))
    joints = np.where(weights > 0.0, np.pad(mesh.joints, ((0, 0), (0, -mesh.joints.shape[1] % 4))), 0)
    attributes: Json = {"POSITION": builder.add(vertices, target=VERTICES, bounds=True)}
    for i in range(weights.shape[1] // 4):
        four = slice(4 * i, 4 * i + 4)
        attributes[f"JOINTS_{i}"] = builder.add(joints[:, four], component=UNSIGNED_SHORT, target=VERTICES)
        attributes[f"WEIGHTS_{i}"] = builder.add(_rounded(weights)[:, four], target=VERTICES)
    faces = builder.add(mesh.triangles.ravel(), component=UNSIGNED_INT, target=ELEMENTS)
    tree = builder.tree
    binds = from_metres @ mesh.joint_from_mesh @ to_world
    skin: Json = {"inverseBindMatrices": builder.add(binds), "joints": list(range(num_joints)), "skeleton": 0}
    tree.setdefault("skins", []).append(skin)
    primitive = {"attributes": attributes, "indices": faces}
    tree.setdefault("meshes", []).append({"name": mesh.name or "mesh", "primitives": [primitive]})
    node = {"name": mesh.name or "mesh", "mesh": len(tree["meshes"]) - 1, "skin": len(tree["skins"]) - 1}
    tree["nodes"].append(node)
    return len(tree["nodes"]) - 1


def _rounded(weights: Array) -> Array:
    """Weights that sum to one after they are rounded to single precision: the largest takes up the rest."""
    out = weights.astype(np.float32).astype(float)
    rows, largest = np.arange(len(out)), out.argmax(axis=1)
    out[rows, largest] += 1.0 - out.sum(axis=1)
    return out


def _tracks(motion: Motion, unit: float, up: str) -> list[Track]:
    """What each joint's node does, translations only where the motion leaves the node's own."""
    skeleton = motion.skeleton
    back = conjugate(world_from_file(up))
    rotations = np.array(motion.rotations)
    rotations[:, 0] = multiply(back, rotations[:, 0])
    still = STILL * float(np.ptp(skeleton.rest_world[0], axis=0).max())
    tracks = []
    for joint in range(skeleton.num_joints):
        moved = motion.root if joint == 0 else None if motion.offsets is None else motion.offsets[:, joint]
        if moved is not None and np.abs(moved - skeleton.offsets[joint]).max() <= still:
            moved = None
        if moved is not None:
            moved = (rotate(back, moved) if joint == 0 else moved) / unit
        tracks.append(Track(node=joint, rotations=continuous(rotations[:, joint]), translations=moved))
    return tracks


def _losses(clip: Clip, meshes: int) -> list[str]:
    skeleton = clip.skeleton
    said = []
    special = [kind for kind in skeleton.kinds[1:] if kind is not JointKind.BALL]
    if special:
        said.append(
            f"glTF has no kinds of joints: {len(special)} of {', '.join(sorted(set(special)))} kind turn freely"
        )
    limited = int(np.count_nonzero(np.isfinite(skeleton.limits).any(axis=(1, 2))))
    if limited:
        said.append(f"glTF has no limits: those of {limited} joints are left out")
    if meshes < len(clip.meshes):
        said.append(f"{len(clip.meshes) - meshes} meshes are for other joints or have no faces, and are left out")
    if meshes:
        said.append("of the meshes only the shape and the skin weights are written, no materials")
    return said
