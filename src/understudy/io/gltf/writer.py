"""Writes glTF: a motion into the file that the character was read from, or a new file of a character."""

from __future__ import annotations

import base64
import copy
import json
import struct
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, between, conjugate, continuous, multiply, rotate, to_matrix
from understudy.base.records import cached, record
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Material, Mesh, binds_of_rest
from understudy.io.clip import Clip, WriteOptions, describe_lost_joints, name_unit, world_from_file
from understudy.io.gltf.animation import frames_per_block, names_of_animations
from understudy.io.gltf.character import NO_NODE, Character
from understudy.io.gltf.document import (
    BINARY_CHUNK,
    COMPONENTS,
    FLOAT,
    JSON_CHUNK,
    MAGIC,
    SHAPES,
    UNSIGNED_INT,
    UNSIGNED_SHORT,
    Document,
    GltfNodes,
    Json,
)
from understudy.io.matrices import (
    MIN_DETERMINANT,
    apply_affine,
    extract_rotations_of_components,
    find_cofactors,
    multiply_components,
)

MIN_TRANSLATION_PER_BODY_SIZE = 1e-6
"""A node's translation is written if it differs by more than this, in body sizes, from the one in the file."""


@record
class Track:
    """The animation of a node."""

    node: int
    rotations: Array
    """(F, 4) local, scalar first, neighbours on one hemisphere."""
    translations: Array | None
    """(F, 3) local; None if the node keeps its translation in the file."""


def make_tracks(
    nodes: GltfNodes, character: Character, motion: Motion, unit: float, up: str, *, bake: bool = False
) -> list[Track]:
    """A track for each joint that has a node; with the place of every joint if baked.

    Positions are exact for any scales of the nodes: each node is placed relative to the actual transform of its parent.
    """
    pose = fk(motion)
    file_from_world = conjugate(world_from_file(up))
    # Components come first: what follows is done for many joints and frames at once.
    positions = np.moveaxis(rotate(file_from_world, pose.positions) / unit, -1, 0)
    world_rotations = multiply(file_from_world, pose.rotations)
    frames, count = motion.num_frames, len(character.joints.nodes)
    rotations, translations = np.zeros((frames, count, 4)), np.zeros((frames, count, 3))
    distances = np.zeros(count)
    levels, step = find_levels(nodes, character), frames_per_block(count)
    for start in range(0, frames, step):
        part = slice(start, start + step)
        worlds = np.empty((3, 4, positions[0, part].shape[0], count))
        for level in levels:
            joints = level.joints
            parent = level.parents(worlds)
            inverse, size = invert_affine(parent)
            turned = np.moveaxis(to_matrix(world_rotations[part, joints]), (-2, -1), (0, 1))
            linear = multiply_components(inverse[:, :3], turned)
            if level.is_stretched:
                linear = multiply_components(linear, level.stretches)
            rotation = extract_rotations_of_components(linear / level.divisors)
            move = apply_affine(inverse, positions[:, part, joints])
            turned = np.moveaxis(to_matrix(rotation), (-2, -1), (0, 1)) * level.scales
            worlds[:, :3][..., joints] = multiply_components(parent[:, :3], turned)
            worlds[:, 3][..., joints] = apply_affine(parent, move)
            rotations[part, joints], translations[part, joints] = rotation, np.moveaxis(move, 0, -1)
            farthest = np.abs(move - level.translations).max(axis=(0, 1)) * size.max(axis=0) * unit
            distances[joints] = np.maximum(distances[joints], farthest)
    min_translation = MIN_TRANSLATION_PER_BODY_SIZE * float(np.ptp(motion.skeleton.rest_world[0], axis=0).max())
    rotations = continuous(rotations)
    return [
        Track(
            node=node,
            rotations=rotations[:, joint],
            translations=translations[:, joint] if bake or distances[joint] > min_translation else None,
        )
        for joint, node in enumerate(character.joints.nodes)
        if node != NO_NODE
    ]


@record
class Level:
    """Joints whose nodes hang from those of earlier levels, or from no joint at all; K of them."""

    joints: np.ndarray
    """(K,)"""
    carriers: np.ndarray
    """(K,) the joint that each hangs from; -1 for none."""
    between: Array
    """(3, 4, 1, K) from the carrier's node, or the world, to the node's parent: nodes that do not move."""
    stretches: Array
    """(3, 3, 1, K) of the joints."""
    scales: Array
    """(3, 1, K) of the nodes."""
    divisors: Array
    """(3, 1, K) the same with 1 in place of 0."""
    translations: Array
    """(3, 1, K) of the nodes in the file."""

    @cached
    def is_stretched(self) -> bool:
        """Whether any of the joints is stretched."""
        return not np.array_equal(self.stretches, np.broadcast_to(np.eye(3)[:, :, None, None], self.stretches.shape))

    def parents(self, worlds: Array) -> Array:
        """(3, 4, F, K) world from the parents of the nodes; `worlds` (3, 4, F, J) are those of earlier levels."""
        if self.carriers[0] < 0:
            return np.tile(self.between, (1, 1, worlds.shape[2], 1))
        carrier = worlds[:, :, :, self.carriers]
        if np.array_equal(self.between, np.broadcast_to(np.eye(3, 4)[:, :, None, None], self.between.shape)):
            return carrier
        linear = multiply_components(carrier[:, :3], self.between[:, :3])
        return np.concatenate([linear, apply_affine(carrier, self.between[:, 3])[:, None]], axis=1)


def find_levels(nodes: GltfNodes, character: Character) -> list[Level]:
    """The joints that have a node, in levels; those that hang from no joint are the first."""
    members = {node: joint for joint, node in enumerate(character.joints.nodes) if node != NO_NODE}
    depths: dict[int, int] = {}
    groups: dict[int, list[tuple[int, int, int, Array]]] = {}
    for node, joint in members.items():
        matrix, parent = np.eye(4), int(nodes.parents[node])
        while parent >= 0 and members.get(parent, joint) >= joint:
            matrix = nodes.locals[parent] @ matrix
            parent = int(nodes.parents[parent])
        carrier = members[parent] if parent >= 0 else -1
        depths[joint] = depths[carrier] + 1 if carrier >= 0 else 0
        groups.setdefault(depths[joint], []).append((joint, node, carrier, matrix))
    levels = []
    for group in groups.values():
        joints, chosen, carriers, matrices = zip(*group, strict=True)
        scales = nodes.scales[list(chosen)].T[:, None]
        levels.append(
            Level(
                joints=np.array(joints),
                carriers=np.array(carriers),
                between=np.moveaxis(np.array(matrices)[:, :3], 0, -1)[:, :, None],
                stretches=np.moveaxis(character.stretches[list(joints)], 0, -1)[:, :, None],
                scales=scales,
                divisors=np.where(np.abs(scales) > 1e-12, scales, 1.0),
                translations=nodes.translations[list(chosen)].T[:, None],
            )
        )
    return levels


def invert_affine(matrices: Array) -> tuple[Array, Array]:
    """The inverse of matrices (3, 4, F, K), and (F, K) their sizes.

    Nothing can be seen to move below a joint whose parent has a size of zero at some frame. The linear part of such a
    parent is set to the identity, in place, since any invertible one will do.
    """
    linear = matrices[:, :3]
    cofactors, determinant = find_cofactors(linear)
    singular = np.any(np.abs(determinant) < MIN_DETERMINANT, axis=0)
    if singular.any():
        linear[..., singular] = np.eye(3)[:, :, None, None]
        cofactors, determinant = find_cofactors(linear)
    inverse = np.empty_like(matrices)
    inverse[:, :3] = cofactors / determinant
    inverse[:, 3] = 0.0
    inverse[:, 3] = -apply_affine(inverse, matrices[:, 3])
    return inverse, np.cbrt(np.abs(determinant))


VERTICES, ELEMENTS = 34962, 34963
"""The target of a buffer view: vertex attributes or vertex indices."""

MAX_GLB_BYTES = 2**32 - 1
"""A GLB file stores its length in 32 bits."""

_TYPES = {shape: kind for kind, shape in SHAPES.items()}


class Builder:
    """Builds a glTF file. New data is appended to the first buffer; existing data keeps its place."""

    def __init__(self, tree: Json, buffers: tuple[bytes, ...] = ()) -> None:
        self.tree = tree
        self._rest = buffers[1:]
        self._data = bytearray(buffers[0] if buffers else b"")
        self._materials: dict[Material, int] = {}
        self._textures: dict[bytes, int] = {}

    def _list(self, key: str) -> list[Any]:
        items: list[Any] = self.tree.setdefault(key, [])
        return items

    def add(
        self, values: np.ndarray, *, component: int = FLOAT, target: int | None = None, bounds: bool = False
    ) -> int:
        """Store numbers (N,), (N, n) or matrices (N, 4, 4) and return the index of their accessor."""
        packed = values.swapaxes(1, 2) if values.ndim == 3 else values
        packed = np.ascontiguousarray(packed, COMPONENTS[component])
        shape = (4, 4) if values.ndim == 3 else (1, 1 if values.ndim == 1 else values.shape[1])
        self._data += bytes(-len(self._data) % 4)
        view: Json = {"buffer": 0, "byteOffset": len(self._data), "byteLength": packed.nbytes}
        if target is not None:
            view["target"] = target
        self._data += packed.tobytes()
        self._list("bufferViews").append(view)
        accessor: Json = {
            "bufferView": len(self.tree["bufferViews"]) - 1,
            "componentType": component,
            "count": len(values),
            "type": _TYPES[shape],
        }
        if bounds:
            flat = packed.reshape(len(packed), -1)
            accessor["min"], accessor["max"] = flat.min(axis=0).tolist(), flat.max(axis=0).tolist()
        self._list("accessors").append(accessor)
        return len(self.tree["accessors"]) - 1

    def animation(self, name: str, times: Array, fps: float, tracks: list[Track]) -> Json:
        """An animation with a key on every frame of every channel."""
        clock = self.add(times, bounds=True)
        channels: list[Json] = []
        samplers: list[Json] = []
        for track in tracks:
            moves = {"translation": track.translations, "rotation": track.rotations[:, [1, 2, 3, 0]]}
            for path, values in moves.items():
                if values is None:
                    continue
                channels.append({"sampler": len(samplers), "target": {"node": track.node, "path": path}})
                samplers.append({"input": clock, "interpolation": "LINEAR", "output": self.add(values)})
        return {"name": name, "channels": channels, "samplers": samplers, "extras": {"fps": fps}}

    def material(self, material: Material) -> int:
        """Store a material with its image and return its number; one that is stored already is not repeated."""
        if material in self._materials:
            return self._materials[material]
        red, green, blue, opacity = material.colour
        # An image replaces the colour: programs multiply the two, and FBX does not.
        colour = [1.0, 1.0, 1.0, opacity] if material.image else [red, green, blue, opacity]
        surface: Json = {
            "baseColorFactor": colour,
            "metallicFactor": material.metallic,
            "roughnessFactor": material.roughness,
        }
        entry: Json = {"name": material.name, "pbrMetallicRoughness": surface}
        for table, key, image, title in (
            (surface, "baseColorTexture", material.image, material.image_name),
            (surface, "metallicRoughnessTexture", material.roughness_image, "roughness"),
            (entry, "normalTexture", material.normal_image, "normals"),
            (entry, "occlusionTexture", material.occlusion_image, "occlusion"),
            (entry, "emissiveTexture", material.emission_image, "emission"),
        ):
            if image:
                table[key] = {"index": self.texture(image, title)}
        if any(material.emission):
            entry["emissiveFactor"] = list(material.emission)
        if material.blended or opacity < 1.0:
            entry["alphaMode"] = "BLEND"
        elif material.cutoff:
            entry |= {"alphaMode": "MASK", "alphaCutoff": material.cutoff}
        if material.double_sided:
            entry["doubleSided"] = True
        self._list("materials").append(entry)
        self._materials[material] = len(self.tree["materials"]) - 1
        return self._materials[material]

    def texture(self, image: bytes, name: str) -> int:
        """Store an image as a texture and return its number; one that is stored already is not repeated."""
        if image in self._textures:
            return self._textures[image]
        self._data += bytes(-len(self._data) % 4)
        view = {"buffer": 0, "byteOffset": len(self._data), "byteLength": len(image)}
        self._data += image
        self._list("bufferViews").append(view)
        kind = "image/png" if image.startswith(b"\x89PNG") else "image/jpeg"
        stored = {"name": name, "mimeType": kind, "bufferView": len(self.tree["bufferViews"]) - 1}
        self._list("images").append(stored)
        self._list("textures").append({"source": len(self.tree["images"]) - 1})
        self._textures[image] = len(self.tree["textures"]) - 1
        return self._textures[image]

    def write(self, stream: BinaryIO, *, text: bool) -> None:
        """Write the file with all buffers inside it: as text with base64, or as a binary container."""
        if self._data:
            self._data += bytes(-len(self._data) % 4)
            first: Json = self._list("buffers")[0] if self.tree.get("buffers") else {}
            first = {key: value for key, value in first.items() if key != "uri"} | {"byteLength": len(self._data)}
            self._list("buffers")[:1] = [first | {"uri": _data_uri(bytes(self._data))} if text else first]
        for number, data in enumerate(self._rest, start=1):
            buffer = self.tree["buffers"][number]
            if not str(buffer.get("uri", "")).startswith("data:"):
                self.tree["buffers"][number] = {**buffer, "uri": _data_uri(data)}
        if text:
            stream.write(json.dumps(self.tree, ensure_ascii=False, indent=1).encode())
            return
        head = json.dumps(self.tree, ensure_ascii=False, separators=(",", ":")).encode()
        head += b" " * (-len(head) % 4)
        chunks = struct.pack("<II", len(head), JSON_CHUNK) + head
        if self._data:
            chunks += struct.pack("<II", len(self._data), BINARY_CHUNK)
        length = 12 + len(chunks) + len(self._data)
        if length > MAX_GLB_BYTES:
            raise OptionError(f"The file would have {length} bytes, and GLB holds at most {MAX_GLB_BYTES}")
        stream.write(MAGIC + struct.pack("<II", 2, length) + chunks)
        stream.write(self._data)


def _data_uri(data: bytes) -> str:
    return f"data:application/octet-stream;base64,{base64.b64encode(data).decode('ascii')}"


BONE_HALF_WIDTH, BONE_WAIST = 0.08, 0.15
"""Half the width of a bone at its thickest point, and the position of that point, as shares of its length."""

LONE_JOINT_HALF_WIDTH = 0.03
"""Half the width of the shape that shows a joint without bones, as a share of the body's size."""

_CORNERS = np.array([[1, 0, 0], [0, 0, 1], [-1, 0, 0], [0, 0, -1]], float)

_FACES = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [5, 2, 1], [5, 3, 2], [5, 4, 3], [5, 1, 4]])


def bone_mesh(skeleton: Skeleton) -> Mesh:
    """A mesh that shows a skeleton: a double pyramid for each bone, bound to the joint at its start."""
    positions, _ = skeleton.rest_world
    bones = [
        (parent, positions[parent], positions[joint]) for joint, parent in enumerate(skeleton.parents) if parent >= 0
    ]
    bones += [
        (skeleton.index[end.joint], positions[skeleton.index[end.joint]], tip)
        for end, tip in zip(skeleton.ends, skeleton.rest_ends)
    ]
    size = max(float(np.ptp(positions, axis=0).max()), 1e-3)
    bones = [bone for bone in bones if np.linalg.norm(bone[2] - bone[1]) > 1e-4 * size]
    lone = set(range(skeleton.num_joints)) if not bones else set()
    up = np.array([0, LONE_JOINT_HALF_WIDTH * size, 0])
    bones += [(joint, positions[joint] - up, positions[joint] + up) for joint in lone]
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
    around = _CORNERS * [BONE_HALF_WIDTH * length, 0.0, BONE_HALF_WIDTH * length] + [0.0, BONE_WAIST * length, 0.0]
    local = np.concatenate([np.zeros((1, 3)), around, [[0.0, length, 0.0]]])
    return start + rotate(between(np.array([0.0, 1.0, 0.0]), along), local)


def build(clip: Clip, unit: float, up: str, name: str, *, bake: bool = False) -> tuple[Builder, list[str]]:
    """Build a new file of a clip's joints, meshes and motion. Returns it with notes on what it does not hold."""
    skeleton = clip.skeleton
    builder = Builder({"asset": {"version": "2.0", "generator": "Understudy"}, "scene": 0})
    tree = builder.tree
    tree["nodes"] = _joint_nodes(skeleton, unit, up)
    roots = [0]
    meshes = [mesh for mesh in clip.meshes if mesh.num_joints == skeleton.num_joints and len(mesh.triangles)]
    for mesh in meshes or [bone_mesh(skeleton)]:
        roots.append(_add_mesh(builder, mesh, skeleton.num_joints, unit, up))
    tree["scenes"] = [{"nodes": roots, **({"name": skeleton.name} if skeleton.name else {})}]
    if clip.motion is not None:
        times = np.arange(clip.motion.num_frames) / clip.motion.fps
        tracks = _tracks(clip.motion, unit, up, bake=bake)
        tree["animations"] = [builder.animation(name, times, clip.motion.fps, tracks)]
    for motion in clip.more_motions:
        times = np.arange(motion.num_frames) / motion.fps
        tracks = _tracks(motion, unit, up, bake=bake)
        tree["animations"].append(builder.animation(motion.name, times, motion.fps, tracks))
    return builder, _losses(clip, len(meshes))


def build_joints(motion: Motion, unit: float, up: str, name: str) -> Builder:
    """Build a new file of a motion alone: a node for each joint, and the animation."""
    builder = Builder({"asset": {"version": "2.0", "generator": "Understudy"}, "scene": 0})
    tree = builder.tree
    tree["nodes"] = _joint_nodes(motion.skeleton, unit, up)
    tree["scenes"] = [{"nodes": [0]}]
    times = np.arange(motion.num_frames) / motion.fps
    tree["animations"] = [builder.animation(name, times, motion.fps, _tracks(motion, unit, up))]
    return builder


def _joint_nodes(skeleton: Skeleton, unit: float, up: str) -> list[Json]:
    file_from_world = conjugate(world_from_file(up))
    offsets, rest = skeleton.offsets / unit, np.array(skeleton.rest)
    offsets[0], rest[0] = rotate(file_from_world, offsets[0]), multiply(file_from_world, rest[0])
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
        # The mark is needed because a node without content below a joint could be anything.
        nodes.append({"name": end.name, "translation": (end.offset / unit).tolist(), "extras": {"end": True}})
    return nodes


def _add_mesh(builder: Builder, mesh: Mesh, num_joints: int, unit: float, up: str) -> int:
    """Add a mesh with a skin and the node that shows it; returns the node's index."""
    world_from_file_matrix = to_matrix(world_from_file(up))
    to_world, from_metres = np.eye(4), np.eye(4)
    to_world[:3, :3] = unit * world_from_file_matrix
    from_metres[:3, :3] /= unit
    mesh, normals, uvs = _split_corners(mesh)
    vertices = mesh.vertices @ world_from_file_matrix / unit
    weights = np.pad(mesh.weights, ((0, 0), (0, -mesh.weights.shape[1] % 4)))
    joints = np.where(weights > 0.0, np.pad(mesh.joints, ((0, 0), (0, -mesh.joints.shape[1] % 4))), 0)
    attributes: Json = {"POSITION": builder.add(vertices, target=VERTICES, bounds=True)}
    for i in range(weights.shape[1] // 4):
        four = slice(4 * i, 4 * i + 4)
        attributes[f"JOINTS_{i}"] = builder.add(joints[:, four], component=UNSIGNED_SHORT, target=VERTICES)
        attributes[f"WEIGHTS_{i}"] = builder.add(_round_weights(weights)[:, four], target=VERTICES)
    if normals is not None:
        attributes["NORMAL"] = builder.add(normals @ world_from_file_matrix, target=VERTICES)
    if uvs is not None:
        # Texture coordinates of glTF begin at the upper edge of an image.
        attributes["TEXCOORD_0"] = builder.add(np.stack([uvs[:, 0], 1.0 - uvs[:, 1]], axis=1), target=VERTICES)
    tree = builder.tree
    binds = from_metres @ mesh.joint_from_mesh @ to_world
    skin: Json = {"inverseBindMatrices": builder.add(binds), "joints": list(range(num_joints)), "skeleton": 0}
    tree.setdefault("skins", []).append(skin)
    primitives = []
    for material, triangles in _by_material(mesh):
        faces = builder.add(triangles.ravel(), component=UNSIGNED_INT, target=ELEMENTS)
        primitive: Json = {"attributes": attributes, "indices": faces}
        if material is not None:
            primitive["material"] = builder.material(material)
        primitives.append(primitive)
    tree.setdefault("meshes", []).append({"name": mesh.name or "mesh", "primitives": primitives})
    if mesh.shapes:
        moved = [shape.offsets @ world_from_file_matrix / unit for shape in mesh.shapes]
        targets = [{"POSITION": builder.add(offsets, target=VERTICES, bounds=True)} for offsets in moved]
        for primitive in primitives:
            primitive["targets"] = targets
        tree["meshes"][-1]["weights"] = [shape.weight for shape in mesh.shapes]
        # No part of glTF itself, but all programs name the targets so.
        tree["meshes"][-1]["extras"] = {"targetNames": [shape.name for shape in mesh.shapes]}
    node = {"name": mesh.name or "mesh", "mesh": len(tree["meshes"]) - 1, "skin": len(tree["skins"]) - 1}
    tree["nodes"].append(node)
    return len(tree["nodes"]) - 1


def _split_corners(mesh: Mesh) -> tuple[Mesh, Array | None, Array | None]:
    """A mesh whose vertices have one normal and one texture coordinate each, with those (V, 3) and (V, 2).

    Vertices whose corners differ are repeated.
    """
    look = mesh.look
    if look is None or (look.normals is None and look.uvs is None):
        return mesh, None, None
    parts = [
        part.reshape(-1, part.shape[-1]).astype(np.float32) for part in (look.normals, look.uvs) if part is not None
    ]
    corners = np.concatenate([mesh.triangles.reshape(-1, 1).astype(np.float64), *parts], axis=1)
    _, first, number = np.unique(corners, axis=0, return_index=True, return_inverse=True)
    number = number.reshape(-1)
    vertices = mesh.triangles.ravel()[first]
    split = replace(
        mesh, vertices=mesh.vertices[vertices], triangles=number.reshape(-1, 3), joints=mesh.joints[vertices],
        weights=mesh.weights[vertices],
        shapes=tuple(replace(shape, offsets=shape.offsets[vertices]) for shape in mesh.shapes),
    )  # fmt: skip
    normals = None if look.normals is None else look.normals.reshape(-1, 3)[first]
    return split, normals, None if look.uvs is None else look.uvs.reshape(-1, 2)[first]


def _by_material(mesh: Mesh) -> list[tuple[Material | None, np.ndarray]]:
    """The triangles of each material of a mesh."""
    look = mesh.look
    if look is None or not look.materials:
        return [(None, mesh.triangles)]
    return [
        (look.materials[number], mesh.triangles[look.material_numbers == number])
        for number in np.unique(look.material_numbers)
    ]


def _round_weights(weights: Array) -> Array:
    """Round weights to single precision and correct the largest so that they sum to one."""
    out = weights.astype(np.float32).astype(float)
    rows, largest = np.arange(len(out)), out.argmax(axis=1)
    out[rows, largest] += 1.0 - out.sum(axis=1)
    return out


def _tracks(motion: Motion, unit: float, up: str, *, bake: bool = False) -> list[Track]:
    """The track of each joint's node. Translations are included if they differ from the skeleton's, or if baked."""
    skeleton = motion.skeleton
    file_from_world = conjugate(world_from_file(up))
    rotations = np.array(motion.rotations)
    rotations[:, 0] = multiply(file_from_world, rotations[:, 0])
    min_translation = MIN_TRANSLATION_PER_BODY_SIZE * float(np.ptp(skeleton.rest_world[0], axis=0).max())
    tracks = []
    for joint in range(skeleton.num_joints):
        translations = motion.root if joint == 0 else None if motion.offsets is None else motion.offsets[:, joint]
        if bake and translations is None:
            translations = np.broadcast_to(skeleton.offsets[joint], (motion.num_frames, 3))
        if (
            not bake
            and translations is not None
            and np.abs(translations - skeleton.offsets[joint]).max() <= min_translation
        ):
            translations = None
        if translations is not None:
            translations = (rotate(file_from_world, translations) if joint == 0 else translations) / unit
        tracks.append(Track(node=joint, rotations=continuous(rotations[:, joint]), translations=translations))
    return tracks


def _losses(clip: Clip, num_meshes: int) -> list[str]:
    """Notes on what glTF cannot hold."""
    notes = describe_lost_joints(clip.skeleton, "glTF has")
    if num_meshes < len(clip.meshes):
        notes.append(f"{len(clip.meshes) - num_meshes} meshes are for other joints or have no faces, and are left out")
    if num_meshes and any(mesh.look is None for mesh in clip.meshes):
        notes.append("of the meshes only the shape and the skin weights are written, no materials")
    return notes


@record
class GltfLayout:
    """A glTF file as it was read, kept so that an animation can be written into it without other changes."""

    document: Document
    nodes: GltfNodes
    character: Character
    animation: int | None = None
    """The index of the animation that was read."""
    start: float = 0.0
    """Time of the first frame in the file, in seconds."""
    motion: Motion | None = None
    """The motion that was read, to recognise a clip with an unchanged motion."""
    skeleton: Skeleton | None = None
    """The skeleton that was read."""

    def fits(self, skeleton: Skeleton) -> bool:
        """Whether a skeleton has the joints of the file; bone lengths may differ."""
        joints = self.character.joints
        return skeleton.names == joints.names and np.array_equal(skeleton.parents, joints.parents)


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write a glTF file, as text if its name ends in .gltf, else as GLB.

    A clip read from glTF goes back into its own file: the motion becomes the first animation and replaces one of the
    same name; the rest of the file is unchanged. Any other clip becomes a new file of its joints and meshes, with a
    mesh of bones if it has none.

    Args:
        clip: What to write.
        stream: The file to write to.
        options: The file's name; unit and up axis of a new file.

    Returns:
        What glTF could not hold, a sentence each.
    """
    layout = clip.layout if isinstance(clip.layout, GltfLayout) and clip.layout.fits(clip.skeleton) else None
    text = options.path.lower().endswith(".gltf")
    if layout is None:
        name = clip.motion.name if clip.motion is not None and clip.motion.name else "motion"
        builder, notes = build(clip, options.unit or 1.0, options.up or "Y", name, bake=options.bake)
    else:
        builder, notes = _insert_motion(clip, layout, options)
    builder.write(stream, text=text)
    return tuple(notes)


def _insert_motion(clip: Clip, layout: GltfLayout, options: WriteOptions) -> tuple[Builder, list[str]]:
    """The file that the character was read from with the clip's motion; unchanged if the motion is unchanged."""
    notes = []
    if (options.unit or clip.unit) != clip.unit or (options.up or clip.up) != clip.up:
        notes.append(f"the character's own file keeps its unit ({name_unit(clip.unit)}) and its up axis ({clip.up})")
    notes += _missing_images(layout.document, options.path)
    motion = clip.motion
    if motion is None and layout.skeleton is not None and clip.skeleton is not layout.skeleton:
        notes.append(
            "without a motion the character's own file is written as it is: bones of other lengths are not kept"
        )
    builder = Builder(copy.deepcopy(layout.document.tree), layout.document.buffers)
    if motion is None or motion is layout.motion:
        return builder, notes
    tracks = make_tracks(layout.nodes, layout.character, motion, clip.unit, clip.up, bake=options.bake)
    _split_matrices(builder.tree, layout.nodes, tracks)
    names = names_of_animations(layout.document)
    # A motion with the name of its character has no name of its own; the file's name says more.
    name = motion.name if motion.name != clip.skeleton.name else PurePath(options.path).stem or motion.name
    name = name or "motion"
    old = names.index(name) if name in names else None
    start = layout.start if old is not None and old == layout.animation else 0.0
    times = start + np.arange(motion.num_frames) / motion.fps
    animation = builder.animation(name, times, motion.fps, tracks)
    animations: list[Any] = builder.tree.setdefault("animations", [])
    if old is not None:
        _keep_other_channels(animation, animations.pop(old), layout)
    # Viewers play the first animation by default, and our reader reads it if none is named.
    animations.insert(0, animation)
    return builder, notes


def _split_matrices(tree: Json, nodes: GltfNodes, tracks: list[Track]) -> None:
    """Replace the matrices of animated nodes by translation, rotation and scale, as the format requires."""
    for track in tracks:
        node = tree["nodes"][track.node]
        if nodes.has_matrix[track.node]:
            del node["matrix"]
            node["translation"] = nodes.translations[track.node].tolist()
            node["rotation"] = nodes.rotations[track.node][[1, 2, 3, 0]].tolist()
            node["scale"] = nodes.scales[track.node].tolist()


def _keep_other_channels(new: Json, old: Json, layout: GltfLayout) -> None:
    """Copy the channels of the replaced animation that do not move the joints or their ancestors."""
    moving_nodes = layout.nodes.with_ancestors(layout.character.joints.nodes)
    for channel in old.get("channels", []):
        target = channel.get("target", {})
        if target.get("path") in ("translation", "rotation", "scale") and target.get("node") in moving_nodes:
            continue
        new["channels"].append({**channel, "sampler": len(new["samplers"])})
        new["samplers"].append(old["samplers"][channel["sampler"]])


def _missing_images(document: Document, path: str) -> list[str]:
    """A note on images beside the original file that are not beside a new file elsewhere."""
    images = [image.get("uri") for image in document.list_of("images") if isinstance(image, dict)]
    outside = [uri for uri in images if isinstance(uri, str) and not uri.startswith("data:")]
    if not outside or not path or Path(path).parent.resolve() == Path(document.folder).resolve():
        return []
    return [f"{len(outside)} images, from `{outside[0][:60]}`, lie beside the original file and are not copied"]
