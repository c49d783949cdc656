"""A new binary FBX file of a character: joints, meshes with skins, a bind pose, and an animation.

Version 7.4, which every program that reads FBX takes. In centimetres with Y up unless asked otherwise: that is what
game engines expect. The root joint hangs from the scene, and every joint is a bone whose rest rotation is fixed before
the animated one, so that all angles are zero in the rest pose.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import PurePath
from typing import Any, BinaryIO

import numpy as np

import understudy
from understudy.base.quaternion import Array, conjugate, exp, multiply, rotate, to_euler, to_matrix, unrotate
from understudy.figure.motion import Motion
from understudy.figure.roles import words
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Look, Material, Mesh
from understudy.io.clip import Clip, WriteOptions, describe_lost_joints, world_from_file
from understudy.io.fbx.curves import KINDS, Animation, NodeCurves, link, make_animation, make_take, usual_rate
from understudy.io.fbx.document import (
    CREATION_TIME,
    FILE_ID,
    SECOND,
    FbxDocument,
    FbxRecord,
    Typed,
    fbx_record,
    join_name,
    write_binary,
)
from understudy.io.fbx.joints import END_WORDS
from understudy.io.fbx.transforms import ORDERS, SCALE_BY_MATRIX, NodeTransform
from understudy.io.matrices import make_affine

VERSION = 7400

CENTIMETRE = 0.01
"""The unit of the format in metres; files give theirs as a multiple of it."""

MIN_TRANSLATION_PER_BODY_SIZE = 1e-6
"""A joint's translation is animated if it differs by more than this, in body sizes, from the rest pose."""

FIRST_NUMBER = 1_000_000

MIN_MOVE_METRES, MAX_STRAIGHT_TANGENT = 1e-6, 1e-2
"""How far a joint moves from its place on its parent, and how far off the parent's Y axis it counts as on it."""

LOST_IMAGES = {"roughness_image": "roughness and metal", "occlusion_image": "occlusion"}
"""By the field of a material: images that materials of Phong's kind do not have."""

Y_FROM_Z = exp(np.array([-0.5 * np.pi, 0.0, 0.0]))
"""(4,) the rotation that takes the Z axis to the Y axis."""


def write_scene(clip: Clip, stream: BinaryIO, options: WriteOptions) -> list[str]:
    """Write a clip as a new file; returns what the format cannot hold, a sentence each."""
    unit, up = options.unit or CENTIMETRE, options.up or "Y"
    clip = _turn_from_moving_children(clip)
    scene = _Scene(skeleton=clip.skeleton, unit=unit, up=up)
    scene.add_joints()
    meshes = [mesh for mesh in clip.meshes if mesh.num_joints == clip.skeleton.num_joints and len(mesh.triangles)]
    for mesh in meshes:
        scene.add_mesh(mesh)
    scene.add_bind_pose()
    animations: dict[str, Animation] = {}
    for motion in (clip.motion, *clip.more_motions) if clip.motion is not None else ():
        name = motion.name or PurePath(options.path).stem or "motion"
        curves = scene.curves(motion, bake=options.bake)
        animations[name] = make_animation(name, motion.fps, motion.num_frames, curves, scene.numbers)
    fps = 30.0 if clip.motion is None else clip.motion.fps
    root = FbxRecord(name="", children=_top_records(scene, animations, fps))
    write_binary(FbxDocument(root=root, version=VERSION), stream)
    notes = describe_lost_joints(clip.skeleton, "FBX as written here has")
    lost = {name for mesh in meshes if mesh.look for material in mesh.look.materials for name in material.images}
    notes += [
        f"FBX has no place for an image of {LOST_IMAGES[name]}: it is left out"
        for name in sorted(lost & {*LOST_IMAGES})
    ]
    if len(meshes) < len(clip.meshes):
        notes.append(f"{len(clip.meshes) - len(meshes)} meshes are for other joints or have no faces, and are left out")
    return notes


def _turn_from_moving_children(clip: Clip) -> Clip:
    """A clip in which no joint's Y axis points straight at a joint that moves away from it; nothing moves in the world.

    Blender joins such a bone to the end of its parent, and then leaves its translations out. A root on the floor with
    the hips above it has its Z axis up instead, as Unreal expects it.
    """
    skeleton = clip.skeleton
    motions = [motion for motion in (clip.motion, *clip.more_motions) if motion is not None]
    changing = [motion.offsets for motion in motions if motion.offsets is not None]
    if not changing:
        return clip
    moves = np.max([np.abs(offsets - skeleton.offsets).max(axis=(0, 2)) for offsets in changing], axis=0)
    moves = moves > MIN_MOVE_METRES
    aside = np.linalg.norm(skeleton.offsets[:, [0, 2]], axis=1)
    moves &= (skeleton.offsets[:, 1] > 0.0) & (aside <= MAX_STRAIGHT_TANGENT * np.abs(skeleton.offsets[:, 1]))
    turns = np.tile([1.0, 0.0, 0.0, 0.0], (skeleton.num_joints, 1))
    turns[[int(skeleton.parents[joint]) for joint in np.flatnonzero(moves[1:]) + 1]] = Y_FROM_Z
    above = np.concatenate([[[1.0, 0.0, 0.0, 0.0]], turns[skeleton.parents[1:]]])
    ends = (replace(end, offset=unrotate(turns[skeleton.index[end.joint]], end.offset)) for end in skeleton.ends)
    turned = replace(
        skeleton, offsets=unrotate(above, skeleton.offsets), ends=tuple(ends),
        rest=multiply(conjugate(above), multiply(skeleton.rest, turns)),
    )  # fmt: skip
    moved = [
        replace(
            motion, skeleton=turned, offsets=None if motion.offsets is None else unrotate(above, motion.offsets),
            rotations=multiply(conjugate(above), multiply(motion.rotations, turns)),
        )
        for motion in motions
    ]  # fmt: skip
    matrices = make_affine(to_matrix(conjugate(turns)), np.zeros((len(turns), 3)))
    meshes = tuple(
        replace(mesh, joint_from_mesh=matrices @ mesh.joint_from_mesh) if mesh.num_joints == len(turns) else mesh
        for mesh in clip.meshes
    )
    return replace(clip, skeleton=turned, motion=moved[0], more_motions=tuple(moved[1:]), meshes=meshes)


@dataclass(eq=False, kw_only=True)
class _Scene:
    """The objects of a new file and the links between them."""

    skeleton: Skeleton
    unit: float
    """Metres in a unit of the file."""
    up: str
    objects: list[FbxRecord] = field(default_factory=list)
    links: list[FbxRecord] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: count(FIRST_NUMBER))
    joints: list[int] = field(default_factory=list)
    """The number of each joint's node."""
    textures: dict[bytes, int] = field(default_factory=dict)
    """The number of each image's texture."""
    posed: list[tuple[int, Array]] = field(default_factory=list)
    """Nodes and their world matrices (4, 4) in the bind pose."""

    def add(self, kind: str, name: str, sub: str, children: list[FbxRecord], above: int | None = None) -> int:
        """Add an object, below another if given; returns its number."""
        number = next(self.numbers)
        self.objects.append(fbx_record(kind, Typed("L", number), name, sub, children=children))
        if above is not None:
            self.links.append(link(number, above))
        return number

    def transforms(self) -> list[NodeTransform]:
        """The transform of each joint: its offset, and its rest rotation before the animated one."""
        file_from_world = conjugate(world_from_file(self.up))
        offsets, rest = self.skeleton.offsets / self.unit, np.array(self.skeleton.rest)
        offsets[0], rest[0] = rotate(file_from_world, offsets[0]), multiply(file_from_world, rest[0])
        zero, none = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
        return [
            NodeTransform(
                translation=offsets[joint], angles=zero, scale=np.ones(3), order=ORDERS[0], pre=rest[joint], post=none,
                rotation_offset=zero, rotation_pivot=zero, scaling_offset=zero, scaling_pivot=zero,
                inherit=SCALE_BY_MATRIX,
            )
            for joint in range(self.skeleton.num_joints)
        ]  # fmt: skip

    def add_joints(self) -> None:
        """Add a node with a bone for each joint, and one for each end point."""
        worlds = self.rest_worlds()
        for joint, transform in enumerate(self.transforms()):
            parent = int(self.skeleton.parents[joint])
            pre = np.degrees(to_euler(transform.pre, "ZYX"))[::-1]
            number = self._add_bone(
                self.skeleton.names[joint], self.joints[parent] if parent >= 0 else 0, transform.translation, pre
            )
            self.joints.append(number)
            self.posed.append((number, worlds[joint]))
        for end in self.skeleton.ends:
            name_words = words(end.name)
            # Readers, ours too, know the end of a chain by its name.
            name = end.name if name_words and name_words[-1] in END_WORDS else f"{end.name}_end"
            self._add_bone(name, self.joints[self.skeleton.index[end.joint]], end.offset / self.unit, np.zeros(3))

    def _add_bone(self, name: str, above: int, translation: Array, pre: Array) -> int:
        table = [
            _property("RotationActive", "bool", "", True),
            _property("PreRotation", "Vector3D", "Vector", *pre),
            fbx_record("P", "Lcl Translation", "Lcl Translation", "", "A", *(float(value) for value in translation)),
        ]
        number = self.add("Model", join_name(name, "Model"), "LimbNode", _model(table), above)
        bone = [fbx_record("Properties70", children=[_property("Size", "double", "Number", 1.0)])]
        bone.append(fbx_record("TypeFlags", "Skeleton"))
        self.add("NodeAttribute", join_name(name, "NodeAttribute"), "LimbNode", bone, number)
        return number

    def rest_worlds(self) -> Array:
        """(J, 4, 4) world from joint in the rest pose, in the file's unit and axes."""
        positions, rotations = self.skeleton.rest_world
        file_from_world = conjugate(world_from_file(self.up))
        return make_affine(
            to_matrix(multiply(file_from_world, rotations)), rotate(file_from_world, positions) / self.unit
        )

    def add_mesh(self, mesh: Mesh) -> None:
        """Add a mesh with its skin and a grey material."""
        name = mesh.name or "mesh"
        world_from_file_matrix = to_matrix(world_from_file(self.up))
        number = self.add("Model", join_name(name, "Model"), "Mesh", _model([]), 0)
        self.posed.append((number, np.eye(4)))
        geometry = self.add(
            "Geometry", join_name(name, "Geometry"), "Mesh",
            _shape(mesh.vertices @ world_from_file_matrix / self.unit, mesh, world_from_file_matrix), number,
        )  # fmt: skip
        for material in (mesh.look.materials if mesh.look is not None else ()) or (Material(name=name),):
            self._add_material(material, number)
        if mesh.shapes:
            self._add_shapes(mesh, name, geometry, world_from_file_matrix)
        skin = self.add(
            "Deformer", join_name(name, "Deformer"), "Skin",
            [fbx_record("Version", 101), fbx_record("Link_DeformAcuracy", 50.0)], geometry,
        )  # fmt: skip
        to_world, from_metres = np.eye(4), np.eye(4)
        to_world[:3, :3] = self.unit * world_from_file_matrix
        from_metres[:3, :3] /= self.unit
        binds, worlds = from_metres @ mesh.joint_from_mesh @ to_world, self.rest_worlds()
        rows, slots = np.nonzero(mesh.weights > 0.0)
        joints, weights = mesh.joints[rows, slots], mesh.weights[rows, slots]
        for joint in np.unique(joints).tolist():
            of_joint = joints == joint
            children = [
                fbx_record("Version", 100),
                fbx_record("UserData", "", ""),
                fbx_record("Indexes", rows[of_joint].astype(np.int32)),
                fbx_record("Weights", weights[of_joint].astype(np.float64)),
                fbx_record("Transform", _flat(binds[joint])),
                fbx_record("TransformLink", _flat(worlds[joint])),
            ]
            cluster = self.add(
                "Deformer", join_name(self.skeleton.names[joint], "SubDeformer"), "Cluster", children, skin
            )
            self.links.append(link(self.joints[joint], cluster))

    def _add_shapes(self, mesh: Mesh, name: str, geometry: int, world_from_file_matrix: Array) -> None:
        """Add the blend shapes of a mesh, each with the vertices that it moves."""
        blend = self.add("Deformer", join_name(name, "Deformer"), "BlendShape", [fbx_record("Version", 100)], geometry)
        for shape in mesh.shapes:
            offsets = shape.offsets @ world_from_file_matrix / self.unit
            moved = np.flatnonzero(np.any(offsets != 0.0, axis=1))
            percent = 100.0 * shape.weight
            channel = self.add(
                "Deformer", join_name(shape.name, "SubDeformer"), "BlendShapeChannel",
                [fbx_record("Version", 100), fbx_record("DeformPercent", percent),
                 fbx_record("FullWeights", np.array([100.0])),
                 fbx_record("Properties70", children=[
                     fbx_record("P", "DeformPercent", "Number", "", "A", percent)])],
                blend,
            )  # fmt: skip
            self.add(
                "Geometry", join_name(shape.name, "Geometry"), "Shape",
                [fbx_record("Version", 100), fbx_record("Indexes", moved.astype(np.int32)),
                 fbx_record("Vertices", np.ascontiguousarray(offsets[moved]).ravel()),
                 fbx_record("Normals", np.zeros(3 * len(moved)))],
                channel,
            )  # fmt: skip

    def _add_material(self, material: Material, above: int) -> None:
        """Add a material, with its images inside the file."""
        number = self.add("Material", join_name(material.name, "Material"), "", _material(material), above)
        see_through = ["TransparentColor"] if material.blended or material.cutoff else []
        for image, name, places in (
            (material.image, material.image_name or "image.png", ["DiffuseColor", *see_through]),
            (material.normal_image, "normals.png", ["NormalMap"]),
            (material.emission_image, "emission.png", ["EmissiveColor"]),
        ):
            for place in places if image else ():
                self.links.append(link(self._add_texture(image, name), number, place))

    def _add_texture(self, image: bytes, name: str) -> int:
        """Add an image and the texture that shows it; one that is there already is not repeated."""
        if image in self.textures:
            return self.textures[image]
        names = [fbx_record("FileName", name), fbx_record("RelativeFilename", name)]
        texture = self.add(
            "Texture", join_name(name, "Texture"), "",
            [fbx_record("Type", "TextureVideoClip"), fbx_record("Version", 202),
             fbx_record("TextureName", join_name(name, "Texture")),
             fbx_record("Media", join_name(name, "Video")), *names],
        )  # fmt: skip
        # Without the path among its properties, Autodesk's library does not take the image out of the file.
        path = fbx_record("Properties70", children=[fbx_record("P", "Path", "KString", "XRefUrl", "", name)])
        self.add(
            "Video", join_name(name, "Video"), "Clip",
            [fbx_record("Type", "Clip"), path, fbx_record("UseMipMap", 0), fbx_record("Filename", name), names[1],
             fbx_record("Content", image)],
            texture,
        )  # fmt: skip
        self.textures[image] = texture
        return texture

    def add_bind_pose(self) -> None:
        """Add the pose in which the meshes are bound to the joints."""
        nodes = [
            fbx_record(
                "PoseNode", children=[fbx_record("Node", Typed("L", number)), fbx_record("Matrix", _flat(matrix))]
            )
            for number, matrix in self.posed
        ]
        head = [fbx_record("Type", "BindPose"), fbx_record("Version", 100), fbx_record("NbPoseNodes", len(nodes))]
        self.add("Pose", join_name("BindPose", "Pose"), "BindPose", [*head, *nodes])

    def curves(self, motion: Motion, *, bake: bool) -> list[NodeCurves]:
        """The animated values of each joint."""
        skeleton = self.skeleton
        file_from_world = conjugate(world_from_file(self.up))
        min_translation = MIN_TRANSLATION_PER_BODY_SIZE * float(np.ptp(skeleton.rest_world[0], axis=0).max())
        out = []
        for joint, transform in enumerate(self.transforms()):
            rotations = motion.rotations[:, joint]
            places = motion.root if joint == 0 else None if motion.offsets is None else motion.offsets[:, joint]
            if joint == 0:
                rotations = multiply(file_from_world, rotations)
            if bake and places is None:
                places = np.broadcast_to(skeleton.offsets[joint], (motion.num_frames, 3))
            if not bake and places is not None and np.abs(places - skeleton.offsets[joint]).max() <= min_translation:
                places = None
            if places is not None:
                places = (rotate(file_from_world, places) if joint == 0 else places) / self.unit
            angles = transform.animated_angles(rotations)
            out.append(NodeCurves(node=self.joints[joint], angles=angles, translations=places))
        return out


def _flat(matrix: Array) -> Array:
    """A matrix as the format stores it: the images of the axes one after the other."""
    return np.ascontiguousarray(matrix.T).ravel().astype(np.float64)


def _property(name: str, kind: str, label: str, *values: Any) -> FbxRecord:
    stored = [int(value) if isinstance(value, bool) else value for value in values]
    stored = [value if isinstance(value, int | str | Typed) else float(value) for value in stored]
    return fbx_record("P", name, kind, label, "", *stored)


def _model(table: list[FbxRecord]) -> list[FbxRecord]:
    """The records of a node. Without the index of its attribute, Autodesk's library takes it for empty."""
    common = [
        _property("DefaultAttributeIndex", "int", "Integer", 0),
        _property("InheritType", "enum", "", SCALE_BY_MATRIX),
    ]
    return [
        fbx_record("Version", 232), fbx_record("Properties70", children=[*common, *table]), fbx_record("Shading", True),
        fbx_record("Culling", "CullingOff"),
    ]  # fmt: skip


def _shape(vertices: Array, mesh: Mesh, world_from_file_matrix: Array) -> list[FbxRecord]:
    """The records of a triangle mesh with its vertices in the file's unit and axes."""
    corners = np.array(mesh.triangles, np.int32)
    # The last corner of each face is marked by its complement.
    corners[:, 2] = ~corners[:, 2]
    look = mesh.look or Look()
    layers = []
    if look.normals is not None:
        values = (look.normals.reshape(-1, 3) @ world_from_file_matrix).ravel()
        layers.append(_layer("LayerElementNormal", "ByPolygonVertex", "Direct", "Normals", values))
    if look.uvs is not None:
        layers.append(_layer("LayerElementUV", "ByPolygonVertex", "Direct", "UV", look.uvs.reshape(-1).astype(float)))
    several = len(look.materials) > 1
    numbers = look.material_numbers if several else np.zeros(1)
    mapping = "ByPolygon" if several else "AllSame"
    layers.append(_layer("LayerElementMaterial", mapping, "IndexToDirect", "Materials", numbers.astype(np.int32)))
    entries = [
        fbx_record("LayerElement", children=[fbx_record("Type", item.name), fbx_record("TypedIndex", 0)])
        for item in layers
    ]
    return [
        fbx_record("GeometryVersion", 124),
        fbx_record("Vertices", np.ascontiguousarray(vertices, np.float64).ravel()),
        fbx_record("PolygonVertexIndex", corners.ravel()),
        *layers,
        fbx_record("Layer", 0, children=[fbx_record("Version", 100), *entries]),
    ]


def _layer(kind: str, mapping: str, reference: str, key: str, values: np.ndarray) -> FbxRecord:
    """Values at the corners or faces of a mesh."""
    name = "UVMap" if kind == "LayerElementUV" else ""
    return fbx_record(
        kind, 0, children=[
            fbx_record("Version", 101), fbx_record("Name", name), fbx_record("MappingInformationType", mapping),
            fbx_record("ReferenceInformationType", reference), fbx_record(key, np.ascontiguousarray(values)),
        ],
    )  # fmt: skip


def _material(material: Material) -> list[FbxRecord]:
    """A material of Phong's kind. Metal and roughness are where Blender has them; the format has no other place."""
    red, green, blue, opacity = material.colour
    colours = (("DiffuseColor", (red, green, blue)), ("EmissiveColor", material.emission))
    transparent = 1.0 - opacity
    numbers = (
        ("EmissiveFactor", float(any(material.emission))), ("TransparencyFactor", transparent), ("Opacity", opacity),
        ("ShininessExponent", (10.0 * (1.0 - material.roughness)) ** 2), ("ReflectionFactor", material.metallic),
    )  # fmt: skip
    return [
        fbx_record("Version", 102), fbx_record("ShadingModel", "phong"), fbx_record("MultiLayer", 0),
        fbx_record("Properties70", children=[
            *(fbx_record("P", name, "Color", "", "A", *map(float, colour)) for name, colour in colours),
            fbx_record("P", "TransparentColor", "Color", "", "A", 1.0, 1.0, 1.0),
            *(fbx_record("P", name, "Number", "", "A", float(value)) for name, value in numbers),
        ]),
    ]  # fmt: skip


def _top_records(scene: _Scene, animations: dict[str, Animation], fps: float) -> list[FbxRecord]:
    """The records at the top of the file; the first animation is the one that is shown."""
    name = next(iter(animations), "")
    creator = f"Understudy {understudy.__version__}"
    objects = [*scene.objects, *(item for animation in animations.values() for item in animation.objects)]
    links = [*scene.links, *(item for animation in animations.values() for item in animation.links)]
    takes = [make_take(title, animation) for title, animation in animations.items()]
    document = [
        fbx_record("Properties70", children=[
            _property("SourceObject", "object", ""), _property("ActiveAnimStackName", "KString", "", name)
        ]),
        fbx_record("RootNode", Typed("L", 0)),
    ]  # fmt: skip
    return [
        _header(creator),
        fbx_record("FileId", FILE_ID),
        fbx_record("CreationTime", CREATION_TIME),
        fbx_record("Creator", creator),
        _settings(scene, next(iter(animations.values()), None), fps),
        fbx_record("Documents", children=[
            fbx_record("Count", 1),
            fbx_record("Document", Typed("L", next(scene.numbers)), "Scene", "Scene", children=document),
        ]),
        fbx_record("References", children=[]),
        _definitions(objects),
        fbx_record("Objects", children=objects),
        fbx_record("Connections", children=links),
        fbx_record("Takes", children=[fbx_record("Current", name), *takes]),
    ]  # fmt: skip


def _header(creator: str) -> FbxRecord:
    parts = zip(("Year", "Month", "Day", "Hour", "Minute", "Second", "Millisecond"), (1970, 1, 1, 10, 0, 0, 0))
    stamp = [fbx_record("Version", 1000), *(fbx_record(key, value) for key, value in parts)]
    return fbx_record(
        "FBXHeaderExtension",
        children=[
            fbx_record("FBXHeaderVersion", 1003), fbx_record("FBXVersion", VERSION), fbx_record("EncryptionType", 0),
            fbx_record("CreationTimeStamp", children=stamp), fbx_record("Creator", creator),
        ],
    )  # fmt: skip


def _settings(scene: _Scene, animation: Animation | None, fps: float) -> FbxRecord:
    """Axes, unit and frame rate of the scene."""
    rows = to_matrix(world_from_file(scene.up))
    axes = {}
    for title, row in zip(("CoordAxis", "UpAxis", "FrontAxis"), rows):
        axis = int(np.argmax(np.abs(row)))
        axes[title], axes[f"{title}Sign"] = axis, int(np.sign(row[axis]))
    axes |= {"OriginalUpAxis": -1, "OriginalUpAxisSign": 1}
    rate, mode = usual_rate(fps)
    factor = scene.unit / CENTIMETRE
    stop = SECOND if animation is None else animation.stop
    return fbx_record(
        "GlobalSettings",
        children=[
            fbx_record("Version", 1000),
            fbx_record("Properties70", children=[
                *(_property(title, "int", "Integer", value) for title, value in axes.items()),
                _property("UnitScaleFactor", "double", "Number", factor),
                _property("OriginalUnitScaleFactor", "double", "Number", factor),
                _property("TimeMode", "enum", "", mode),
                _property("TimeSpanStart", "KTime", "Time", Typed("L", 0)),
                _property("TimeSpanStop", "KTime", "Time", Typed("L", stop)),
                _property("CustomFrameRate", "double", "Number", rate),
            ]),
        ],
    )  # fmt: skip


def _definitions(objects: list[FbxRecord]) -> FbxRecord:
    """How many objects of each class there are."""
    counts = {"GlobalSettings": 1}
    for item in objects:
        counts[item.name] = counts.get(item.name, 0) + 1
    order = [kind for kind in counts if kind not in KINDS] + [kind for kind in KINDS if kind in counts]
    kinds = [fbx_record("ObjectType", kind, children=[fbx_record("Count", counts[kind])]) for kind in order]
    return fbx_record(
        "Definitions", children=[fbx_record("Version", 100), fbx_record("Count", sum(counts.values())), *kinds]
    )
