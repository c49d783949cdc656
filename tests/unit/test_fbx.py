"""FBX: small text files with transforms, units, axes, stacks and skins are read and written; wrong ones refused."""

from __future__ import annotations

import io
import random
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import FileError, MissingPackageError, UnderstudyError, UnknownNameError
from understudy.base.quaternion import angle_between, exp, from_axis_angle, multiply, rotate
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import BlendShape, Look, Material, Mesh, skinned
from understudy.io import child, formats, read, write
from understudy.io.clip import Clip, ReadOptions
from understudy.io.fbx import document, transforms
from understudy.io.fbx.scene import LOST_IMAGES
from understudy.io.fbx.writer import FIRST_NUMBER
from understudy.io.gltf.writer import bone_mesh
from understudy.io.look import read_image
from understudy.retarget.root_motion import with_root_motion

pytest.importorskip("ufbx")

SECOND = 46186158000
"""FBX time units in a second."""
X, Y, Z = np.eye(3)


class Scene:
    """Builds an FBX text file."""

    def __init__(
        self, *, unit: float = 1.0, up: int = 1, front: int = 2, front_sign: int = 1, fps_mode: int = 6
    ) -> None:
        self.settings = {
            "UpAxis": up, "UpAxisSign": 1, "FrontAxis": front, "FrontAxisSign": front_sign, "CoordAxis": 0,
            "CoordAxisSign": 1, "TimeMode": fps_mode,
        }  # fmt: skip
        self.unit = unit
        self.objects: list[str] = []
        self.links: list[str] = []
        self.nodes: dict[str, int] = {}
        self.count = 1000

    def add(self, kind: str, name: str, sub: str, body: str) -> int:
        self.count += 1
        self.objects.append(f'\t{kind}: {self.count}, "{name}", "{sub}" {{\n{body}\t}}\n')
        return self.count

    def link(self, below: int, above: int, prop: str = "") -> None:
        self.links.append(f'\tC: "OP",{below},{above}, "{prop}"\n' if prop else f'\tC: "OO",{below},{above}\n')

    def node(
        self, name: str, parent: int = 0, *, sub: str = "LimbNode", inherit: int = 1, **vectors: Iterable[float]
    ) -> int:
        """Add a node. Vectors are its properties by name, with _ for a blank."""
        lines = f'\t\t\tP: "InheritType", "enum", "", "",{inherit}\n\t\t\tP: "RotationActive", "bool", "", "",1\n'
        for key, value in vectors.items():
            title = key.replace("_", " ")
            kind = f'"{title}", ""' if title.startswith("Lcl") else '"Vector3D", "Vector"'
            lines += f'\t\t\tP: "{title}", {kind}, "A",{",".join(str(float(v)) for v in value)}\n'
        result = self.add("Model", f"Model::{name}", sub, f"\t\tVersion: 232\n\t\tProperties70:  {{\n{lines}\t\t}}\n")
        self.link(result, parent)
        self.nodes[name] = result
        if sub in ("LimbNode", "Null"):
            flags = "Skeleton" if sub == "LimbNode" else "Null"
            self.link(self.add("NodeAttribute", "NodeAttribute::", sub, f'\t\tTypeFlags: "{flags}"\n'), result)
        return result

    def stack(self, name: str, seconds: float | None, curves: dict[tuple[int, str, str], dict[float, float]]) -> None:
        """Add an animation, with or without its length. Curves are by node, property and axis, keys by seconds."""
        ends = {} if seconds is None else {"LocalStart": 0, "LocalStop": round(seconds * SECOND)}
        times = "".join(f'\t\t\tP: "{key}", "KTime", "Time", "",{value}\n' for key, value in ends.items())
        stack = self.add("AnimationStack", f"AnimStack::{name}", "", f"\t\tProperties70:  {{\n{times}\t\t}}\n")
        layer = self.add("AnimationLayer", "AnimLayer::Base", "", "")
        self.link(layer, stack)
        values: dict[tuple[int, str], int] = {}
        for (node, prop, axis), keys in curves.items():
            if (node, prop) not in values:
                value = values[node, prop] = self.add("AnimationCurveNode", "AnimCurveNode::c", "", "")
                self.link(value, layer)
                self.link(value, node, prop)
            value = values[node, prop]
            curve = self.add("AnimationCurve", "AnimCurve::", "", _curve(keys))
            self.link(curve, value, f"d|{axis}")

    def text(self) -> str:
        lines = "".join(f'\t\tP: "{key}", "int", "Integer", "",{value}\n' for key, value in self.settings.items())
        lines += f'\t\tP: "UnitScaleFactor", "double", "Number", "",{self.unit}\n'
        return (
            "; FBX 7.4.0 project file\nFBXHeaderExtension:  {\n\tFBXHeaderVersion: 1003\n\tFBXVersion: 7400\n}\n"
            f"GlobalSettings:  {{\n\tVersion: 1000\n\tProperties70:  {{\n{lines}\t}}\n}}\n"
            f"Objects:  {{\n{''.join(self.objects)}}}\nConnections:  {{\n{''.join(self.links)}}}\n"
        )

    def read(self, **options: object) -> Clip:
        return formats()["fbx"].read(io.BytesIO(self.text().encode()), "made.fbx", ReadOptions(**options))  # type: ignore


def _curve(keys: dict[float, float]) -> str:
    """A curve with linear interpolation."""
    times = ",".join(str(round(t * SECOND)) for t in keys)
    values = ",".join(str(v) for v in keys.values())
    return (
        f"\t\tDefault: 0\n\t\tKeyVer: 4009\n\t\tKeyTime: *{len(keys)} {{\n\t\t\ta: {times}\n\t\t}}\n"
        f"\t\tKeyValueFloat: *{len(keys)} {{\n\t\t\ta: {values}\n\t\t}}\n\t\tKeyAttrFlags: *1 {{\n\t\t\ta: 4\n\t\t}}\n"
        "\t\tKeyAttrDataFloat: *4 {\n\t\t\ta: 0,0,0,0\n\t\t}\n"
        f"\t\tKeyAttrRefCount: *1 {{\n\t\t\ta: {len(keys)}\n\t\t}}\n"
    )


def leg(scene: Scene, **knee: Iterable[float]) -> list[int]:
    """Hip, knee and ankle, in centimetres, the hip at 100."""
    hip = scene.node("Hip", Lcl_Translation=(0, 100, 0))
    lower = scene.node("Knee", hip, Lcl_Translation=(0, -50, 0), **knee)
    return [hip, lower, scene.node("Ankle", lower, Lcl_Translation=(0, -45, 0))]


def degrees(angle: float, axis: np.ndarray) -> np.ndarray:
    return from_axis_angle(axis, np.radians(angle))


def test_places_are_in_metres() -> None:
    scene = Scene()
    leg(scene)
    clip = scene.read()
    assert clip.skeleton.names == ("Hip", "Knee", "Ankle")
    assert np.allclose(clip.skeleton.rest_world[0], [[0, 1, 0], [0, 0.5, 0], [0, 0.05, 0]], atol=1e-9)
    assert (clip.unit, clip.up, clip.motion, clip.clips) == (0.01, "Y", None, ())
    assert clip.unit_reason == "cm: the file says so"


@pytest.mark.parametrize(("factor", "metres", "word"), [(100.0, 1.0, "m"), (2.54, 0.0254, "inch"), (0.1, 0.001, "mm")])
def test_the_unit_is_the_files(factor: float, metres: float, word: str) -> None:
    scene = Scene(unit=factor)
    leg(scene)
    clip = scene.read()
    assert clip.unit == pytest.approx(metres)
    assert clip.unit_reason == f"{word}: the file says so"
    assert np.allclose(clip.skeleton.offsets[1], [0, -50 * metres, 0])
    assert np.allclose(scene.read(unit=0.5).skeleton.offsets[1], [0, -25, 0])


def test_z_up_is_turned_to_y_up() -> None:
    scene = Scene(up=2, front=1, front_sign=-1)
    hip = scene.node("Hip", Lcl_Translation=(10, 20, 100))
    scene.node("Knee", hip, Lcl_Translation=(0, 0, -50))
    clip = scene.read()
    assert (clip.up, clip.up_reason) == ("Z", "Z is up: the file says so")
    assert np.allclose(clip.skeleton.rest_world[0], [[0.1, 1.0, -0.2], [0.1, 0.5, -0.2]])
    as_y = scene.read(up="Y")
    assert np.allclose(as_y.skeleton.rest_world[0], [[0.1, 0.2, 1.0], [0.1, 0.2, 0.5]])


def test_pre_and_post_rotations_and_orders_make_the_rest_pose() -> None:
    scene = Scene()
    # Rotation order 5 is ZYX as the file counts: about X first, then Y, then Z of what is turned already.
    leg(
        scene,
        PreRotation=(0, 0, 90),
        PostRotation=(0, 30, 0),
        Lcl_Rotation=(10, 20, 0),
    )
    clip = scene.read()
    turn = multiply(degrees(20, Y), degrees(10, X))
    expected = multiply(multiply(degrees(90, Z), turn), degrees(-30, Y))
    assert angle_between(clip.skeleton.rest[1], expected) < 1e-9


def test_inherit_types_say_whether_a_scale_is_passed_on() -> None:
    ankles = {}
    for inherit in (0, 1, 2):
        scene = Scene()
        hip = scene.node("Hip", inherit=inherit, Lcl_Scaling=(2, 2, 2))
        knee = scene.node("Knee", hip, inherit=inherit, Lcl_Translation=(0, -50, 0))
        scene.node("Ankle", knee, inherit=inherit, Lcl_Translation=(0, -50, 0))
        ankles[inherit] = scene.read().skeleton.rest_world[0][2, 1]
    # The knee is two scaled units below the hip in any case; only without inheritance it does not scale what it holds.
    assert ankles == {0: pytest.approx(-2.0), 1: pytest.approx(-2.0), 2: pytest.approx(-1.5)}


def test_stacks_are_clips() -> None:
    scene = Scene()
    hip, knee, _ = leg(scene)
    scene.stack("bend", 1.0, {(knee, "Lcl Rotation", "X"): {0.0: 0.0, 1.0: 90.0}})
    scene.stack("walk", 2.0, {(hip, "Lcl Translation", "Z"): {0.0: 0.0, 2.0: 300.0}})
    clip = scene.read()
    assert clip.clips == ("bend", "walk")
    assert clip.motion is not None
    assert (clip.motion.name, clip.motion.fps, clip.motion.num_frames) == ("bend", 30.0, 31)
    assert angle_between(clip.motion.rotations[15, 1], degrees(45, X)) < 1e-6
    assert any(note.startswith("2 animations; `bend`, the first, is read") for note in clip.notes)
    walk = scene.read(clip="walk").motion
    assert walk is not None
    assert np.allclose(walk.root[[0, 30, 60], 2], [0.0, 1.5, 3.0], atol=1e-6)
    with pytest.raises(UnknownNameError, match="holds no animation `walks`; nearest: `walk`"):
        scene.read(clip="walks")


def test_the_first_stack_that_moves_the_character_is_read() -> None:
    scene = Scene()
    _, knee, _ = leg(scene)
    other = scene.node("Prop", sub="Null")
    scene.stack("Take 001", 1.0, {})
    scene.stack("prop only", 1.0, {(other, "Lcl Translation", "X"): {0.0: 0.0, 1.0: 5.0}})
    scene.stack("pose", 1.0, {(knee, "Lcl Rotation", "X"): {0.0: 10.0, 1.0: 10.0}})
    scene.stack("mixamo.com", 1.0, {(knee, "Lcl Rotation", "X"): {0.0: 0.0, 1.0: 90.0}})
    clip = scene.read()
    assert clip.motion is not None
    assert clip.motion.name == "mixamo.com"
    assert clip.empty_clips == ("Take 001", "prop only")
    assert "4 animations; `mixamo.com`, the first that moves joints, is read; others: `made.fbx#pose`" in clip.notes
    assert "animation `Take 001` moves no joint of the character" in clip.notes
    assert scene.read(clip="Take 001").motion is None
    pose = scene.read(clip="pose").motion
    assert pose is not None
    assert angle_between(pose.rotations[0, 1], degrees(10, X)) < 1e-6


def test_a_stack_of_another_skeleton_is_empty_for_the_character() -> None:
    scene = Scene()
    _, knee, _ = leg(scene)
    small = scene.node("Other", Lcl_Translation=(50, 0, 0))
    scene.node("OtherTip", small, Lcl_Translation=(0, 10, 0))
    scene.stack("of the other", 1.0, {(small, "Lcl Rotation", "X"): {0.0: 0.0, 1.0: 90.0}})
    scene.stack("bend", 1.0, {(knee, "Lcl Rotation", "X"): {0.0: 0.0, 1.0: 90.0}})
    clip = scene.read()
    assert clip.motion is not None
    assert (clip.motion.name, clip.empty_clips) == ("bend", ("of the other",))


def test_a_stack_that_does_not_say_lasts_as_long_as_its_keys() -> None:
    scene = Scene()
    _, knee, _ = leg(scene)
    scene.stack("bend", None, {(knee, "Lcl Rotation", "X"): {0.5: 0.0, 1.5: 90.0}})
    clip = scene.read()
    assert clip.motion is not None
    assert clip.motion.num_frames == 31
    assert angle_between(clip.motion.rotations[-1, 1], degrees(90, X)) < 1e-6
    assert "animation `bend` starts at 0.5 s of the file's clock" in clip.notes


def test_keys_that_are_denser_than_the_files_rate_are_all_frames() -> None:
    scene = Scene()
    _, knee, _ = leg(scene)
    keys = {i / 120: float(i % 7) for i in range(121)}
    scene.stack("shake", 1.0, {(knee, "Lcl Rotation", "X"): keys})
    clip = scene.read()
    assert clip.motion is not None
    assert (clip.motion.fps, clip.motion.num_frames) == (120.0, 121)
    assert angle_between(clip.motion.rotations[3, 1], degrees(3, X)) < 1e-5
    assert any("120 a second, more often than the file's 30" in note for note in clip.notes)


def test_a_stack_that_moves_no_joint_is_no_motion() -> None:
    scene = Scene()
    leg(scene)
    lamp = scene.node("Lamp", sub="Null")
    scene.stack("light", 1.0, {(lamp, "Lcl Translation", "X"): {0.0: 0.0, 1.0: 10.0}})
    clip = scene.read()
    assert clip.motion is None
    assert "animation `light` moves no joint of the character" in clip.notes


def test_what_moves_above_the_joints_moves_them() -> None:
    scene = Scene()
    cart = scene.node("Cart", sub="Null")
    hip = scene.node("Hip", cart, Lcl_Translation=(0, 100, 0))
    scene.node("Knee", hip, Lcl_Translation=(0, -50, 0))
    scene.stack("roll", 1.0, {(cart, "Lcl Translation", "X"): {0.0: 0.0, 1.0: 100.0}})
    clip = scene.read()
    assert clip.skeleton.names == ("Hip", "Knee")
    assert clip.motion is not None
    assert np.allclose(clip.motion.root[-1], [1, 1, 0], atol=1e-6)


def test_joints_that_stretch_have_offsets_of_their_own() -> None:
    scene = Scene()
    _, knee, _ = leg(scene)
    scene.stack("stretch", 1.0, {(knee, "Lcl Translation", "Y"): {0.0: -50.0, 1.0: -80.0}})
    motion = scene.read().motion
    assert motion is not None
    assert motion.offsets is not None
    assert np.allclose(fk(motion).positions[-1, 2], [0, 1 - 0.8 - 0.45, 0], atol=1e-6)


def test_bones_that_grow_are_told() -> None:
    scene = Scene()
    _, knee, _ = leg(scene)
    scene.stack("grow", 1.0, {(knee, "Lcl Scaling", "X"): {0.0: 1.0, 1.0: 3.0}})
    clip = scene.read()
    assert any("joints grow or shrink, from `Knee`" in sentence for sentence in clip.dropped)


def test_bare_bones_named_as_ends_are_ends() -> None:
    scene = Scene()
    ankle = leg(scene)[2]
    scene.node("Ankle_end", ankle, Lcl_Translation=(0, 0, 20))
    clip = scene.read()
    assert clip.skeleton.names == ("Hip", "Knee", "Ankle")
    assert [(end.name, end.joint) for end in clip.skeleton.ends] == [("Ankle_end", "Ankle")]
    assert np.allclose(clip.skeleton.rest_ends, [[0, 0.05, 0.2]])


def test_several_tops_get_the_node_above_them_or_a_root() -> None:
    scene = Scene()
    rig = scene.node("Rig", sub="Null", Lcl_Translation=(0, 10, 0))
    for side in ("Left", "Right"):
        scene.node(f"{side}Hip", rig, Lcl_Translation=(10, 0, 0))
    clip = scene.read()
    assert clip.skeleton.names == ("Rig", "LeftHip", "RightHip")
    assert "2 joints hang from no other joint; `Rig` above them was taken as their root" in clip.notes


def test_of_two_characters_the_larger_is_read() -> None:
    scene = Scene()
    leg(scene)
    scene.node("Other")
    clip = scene.read()
    assert clip.skeleton.names == ("Hip", "Knee", "Ankle")
    assert "2 characters; the one with the most joints is read" in clip.dropped


def test_same_names_are_made_different() -> None:
    scene = Scene()
    hip = scene.node("Hip")
    scene.node("Bone", scene.node("Bone", hip))
    assert scene.read().skeleton.names == ("Hip", "Bone", "Bone_2")


def test_animated_nodes_without_bones_are_joints() -> None:
    scene = Scene()
    arm = scene.node("Arm", sub="Null")
    scene.node("Claw", arm, sub="Null", Lcl_Translation=(0, 50, 0))
    scene.stack("turn", 1.0, {(arm, "Lcl Rotation", "Z"): {0.0: 0.0, 1.0: 90.0}})
    clip = scene.read()
    assert clip.skeleton.names == ("Arm", "Claw")
    assert "there are no bones; every node of what is animated is a joint" in clip.notes


def skinned_scene() -> tuple[Scene, np.ndarray]:
    """A leg with a mesh of four vertices, bound in a straight pose while the file's pose is bent; and the vertices."""
    scene = Scene()
    hip, knee, _ = leg(scene, Lcl_Rotation=(90, 0, 0))
    points = np.array([[0, 90, 0], [10, 60, 0], [0, 50, 5], [0, 20, 0]], float)
    mesh = scene.node("Skin", sub="Mesh")
    row = ",".join(str(v) for v in points.ravel())
    body = f"\t\tVertices: *12 {{\n\t\t\ta: {row}\n\t\t}}\n\t\tPolygonVertexIndex: *4 {{\n\t\t\ta: 0,1,2,-4\n\t\t}}\n"
    geometry = scene.add("Geometry", "Geometry::Skin", "Mesh", body)
    scene.link(geometry, mesh)
    skin = scene.add("Deformer", "Deformer::Skin", "Skin", "")
    scene.link(skin, geometry)
    for bone, height, indices, weights in ((hip, 100, "0,1,2", "1,1,0.5"), (knee, 50, "2,3", "0.5,1")):
        there = ",".join(str(float(v)) for v in _moved(height).ravel())
        back = ",".join(str(float(v)) for v in _moved(-height).ravel())
        count = indices.count(",") + 1
        cluster = (
            f"\t\tIndexes: *{count} {{\n\t\t\ta: {indices}\n\t\t}}\n"
            f"\t\tWeights: *{count} {{\n\t\t\ta: {weights}\n\t\t}}\n"
            f"\t\tTransform: *16 {{\n\t\t\ta: {back}\n\t\t}}\n\t\tTransformLink: *16 {{\n\t\t\ta: {there}\n\t\t}}\n"
        )
        result = scene.add("Deformer", "SubDeformer::", "Cluster", cluster)
        scene.link(result, skin)
        scene.link(bone, result)
    return scene, points


def _moved(height: float) -> np.ndarray:
    """An FBX matrix (for row vectors) that translates upwards."""
    out = np.eye(4)
    out[3, 1] = height
    return out


def test_the_bind_pose_is_the_rest_pose_and_skins_follow_the_joints() -> None:
    scene, points = skinned_scene()
    clip = scene.read()
    assert np.allclose(clip.skeleton.rest_world[0][:2], [[0, 1, 0], [0, 0.5, 0]], atol=1e-9)
    assert np.allclose(clip.skeleton.rest[1], [1, 0, 0, 0], atol=1e-9)
    (mesh,) = clip.meshes
    assert np.allclose(mesh.vertices, points / 100)
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert np.allclose(skinned(mesh, clip.skeleton)[0], points / 100)


def test_a_skin_follows_a_motion() -> None:
    scene, points = skinned_scene()
    scene.stack("bend", 1.0, {(scene.nodes["Knee"], "Lcl Rotation", "X"): {0.0: 0.0, 1.0: 90.0}})
    clip = scene.read()
    assert clip.motion is not None
    result = skinned(clip.meshes[0], clip.motion)
    assert np.allclose(result[0], points / 100, atol=1e-6)
    # A quarter turn about X at the knee (0, 0.5, 0): 0.3 m below becomes 0.3 m behind.
    assert np.allclose(result[-1, 3], [0, 0.5, -0.3], atol=1e-6)
    turned = np.array([0, 0.45, 0.0])
    assert np.allclose(result[-1, 2], (points[2] / 100 + turned) / 2, atol=1e-6)


def test_a_mesh_below_a_bone_is_carried_stiffly() -> None:
    scene = Scene()
    hip, knee, _ = leg(scene)
    hat = scene.node("Hat", knee, sub="Mesh", Lcl_Translation=(0, 0, 10))
    body = (
        "\t\tVertices: *9 {\n\t\t\ta: 0,0,0,1,0,0,0,1,0\n\t\t}\n\t\tPolygonVertexIndex: *3 {\n\t\t\ta: 0,1,-3\n\t\t}\n"
    )
    scene.link(scene.add("Geometry", "Geometry::Hat", "Mesh", body), hat)
    loose = scene.node("Floor", sub="Mesh")
    scene.link(scene.add("Geometry", "Geometry::Floor", "Mesh", body), loose)
    clip = scene.read()
    (mesh,) = clip.meshes
    assert np.allclose(mesh.vertices, np.array([[0, 50, 10], [1, 50, 10], [0, 51, 10]]) / 100)
    assert set(mesh.joints.ravel().tolist()) == {1}
    assert "1 of the meshes hang from no joint of the character" in clip.dropped
    assert hip


def test_a_file_without_bones_is_refused() -> None:
    scene = Scene()
    scene.node("Lamp", sub="Null")
    with pytest.raises(FileError, match=r"made\.fbx: holds no character: of its 1 nodes none is a bone"):
        scene.read()


def test_an_animation_of_nothing_is_refused() -> None:
    scene = Scene()
    scene.stack("Take 001", 1.0, {})
    with pytest.raises(FileError, match=r"made\.fbx: holds no character: of its 0 nodes none is a bone"):
        scene.read()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty; expected FBX"),
        (b"Kaydara FBX Binary  \x00\x1a\x00\xe8\x1c\x00\x00\xff", "is no FBX file that can be read"),
        (b"o cube\nv 0 0 0\n", "is no FBX file that can be read|holds no character"),
    ],
)
def test_what_is_no_fbx_is_said(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.fbx"
    path.write_bytes(data)
    with pytest.raises(FileError, match=message) as caught:
        read(path)
    assert "wrong.fbx" in caught.value.message


def test_numbers_without_end_make_no_body() -> None:
    scene = Scene()
    hip = scene.node("Hip", Lcl_Translation=(float("1e308"), 0, 0))
    scene.node("Knee", hip, Lcl_Scaling=(float("1e308"), 1, 1), Lcl_Translation=(float("1e308"), 0, 0))
    with pytest.raises(FileError, match="the numbers make no body"):
        scene.read()


def test_an_animation_without_end_is_refused() -> None:
    scene = Scene()
    _, knee, _ = leg(scene)
    scene.stack("long", 4e7, {(knee, "Lcl Rotation", "X"): {0.0: 0.0, 4e7: 90.0}})
    with pytest.raises(FileError, match="the animation `long` lasts 4e\\+07 s"):
        scene.read()


def swing(skeleton: Skeleton, frames: int = 9, name: str = "swing") -> Motion:
    """A motion in which every joint turns about every axis and the root travels."""
    rng = np.random.default_rng(5)
    phase = np.linspace(0, 4, frames)[:, None, None]
    turns = 0.5 * np.sin(phase + rng.uniform(0, 6, (1, skeleton.num_joints, 3)))
    rest = np.broadcast_to(skeleton.rest, (frames, skeleton.num_joints, 4))
    root = skeleton.offsets[0] + np.linspace(0, 1, frames)[:, None] * [0.1, 0.0, 0.8]
    return Motion(skeleton=skeleton, fps=30.0, root=root, rotations=multiply(rest, exp(turns)), name=name)


def write_and_read(clip: Clip, motion: Motion, path: Path) -> Clip:
    """Write a motion on a clip's character, read it, and check every joint at every frame."""
    write(replace(clip, motion=motion), path)
    back = read(path, clip=motion.name)
    assert back.motion is not None
    assert (back.motion.name, back.motion.fps, back.motion.num_frames) == (motion.name, motion.fps, motion.num_frames)
    joints = [back.skeleton.joint(name) for name in motion.skeleton.names]
    assert np.abs(fk(back.motion).positions[:, joints] - fk(motion).positions).max() < 2e-6
    assert angle_between(fk(back.motion).rotations[:, joints], fk(motion).rotations).max() < 1e-5
    return back


def odd_leg() -> Scene:
    """A leg with pivots, fixed rotations, another rotation order and a scaled armature that leans."""
    scene = Scene(unit=2.54)
    armature = scene.node("Armature", sub="Null", Lcl_Scaling=(4, 4, 4), Lcl_Rotation=(-90, 0, 10))
    hip = scene.node("Hip", armature, Lcl_Translation=(0, 0, 10), PreRotation=(20, 30, 40), Lcl_Rotation=(5, 6, 7))
    knee = scene.node(
        "Knee", hip, Lcl_Translation=(0, -5, 0), RotationPivot=(0.5, 0.1, 0.2), RotationOffset=(0.1, 0, 0.3),
        ScalingPivot=(0.2, 0.3, 0), ScalingOffset=(0, 0.1, 0), PostRotation=(10, -20, 15), Lcl_Scaling=(2, 2, 2),
    )  # fmt: skip
    helper = scene.node("Helper", knee, sub="Null", Lcl_Translation=(0, -0.5, 0), Lcl_Rotation=(0, 15, 0))
    scene.node("Ankle", helper, Lcl_Translation=(0, -4, 0), inherit=0)
    return scene


@pytest.mark.parametrize("frames", [1, 9])
def test_a_motion_goes_into_the_characters_own_text_file(tmp_path: Path, frames: int) -> None:
    scene = odd_leg()
    scene.stack("old", 1.0, {(scene.nodes["Knee"], "Lcl Rotation", "X"): {0.0: 0.0, 1.0: 90.0}})
    clip = scene.read()
    back = write_and_read(clip, swing(clip.skeleton, frames), tmp_path / "out.fbx")
    assert back.clips == ("swing", "old")
    first = read(tmp_path / "out.fbx").motion
    assert first is not None
    assert first.name == ("old" if frames == 1 else "swing")
    text = (tmp_path / "out.fbx").read_text()
    # Everything that was in the file is still there, character for character.
    for part in (*scene.objects, *scene.links):
        assert part.strip() in text
    old = read(tmp_path / "out.fbx", clip="old").motion
    assert old is not None
    assert clip.motion is not None
    assert np.allclose(fk(old).positions, fk(clip.motion).positions, atol=1e-9)


def test_a_new_file_is_binary_in_centimetres_with_one_root(tmp_path: Path) -> None:
    clip = replace(odd_leg().read(), layout=None)
    back = write_and_read(clip, swing(clip.skeleton), tmp_path / "out.fbx")
    assert (tmp_path / "out.fbx").read_bytes().startswith(b"Kaydara FBX Binary")
    assert (back.unit_reason, back.up_reason) == ("cm: the file says so", "Y is up: the file says so")
    assert back.skeleton.names == clip.skeleton.names
    # A motion goes into the binary file, too; the other stays.
    more = write_and_read(back, swing(back.skeleton, 5, "second"), tmp_path / "more.fbx")
    assert more.clips == ("second", "swing")


def test_nodes_of_a_new_file_name_their_attribute(tmp_path: Path) -> None:
    # Autodesk's library takes a node without it for empty: meshes and bones were not there.
    walk = samples.motion("walk").motion[:3]
    clip = Clip(skeleton=walk.skeleton, motion=walk, meshes=(bone_mesh(walk.skeleton),))
    write(clip, tmp_path / "out.fbx")
    objects = document.parse((tmp_path / "out.fbx").read_bytes()).top("Objects")
    assert objects is not None
    kinds = set()
    for model in objects.all("Model"):
        table = model.child("Properties70")
        assert table is not None
        values = {entry.value(0): entry.value(4) for entry in table.children}
        assert (values["DefaultAttributeIndex"], values["InheritType"]) == (0, 1)
        kinds.add(model.value(2))
    assert kinds == {"LimbNode", "Mesh"}


def test_a_motion_in_its_own_file_is_the_one_that_is_shown(tmp_path: Path) -> None:
    walk = samples.motion("walk").motion[:3]
    write(walk, tmp_path / "one.fbx")
    clip = read(tmp_path / "one.fbx")
    write_and_read(clip, swing(clip.skeleton, 4, "second"), tmp_path / "two.fbx")
    for file, name in (("one", "walk"), ("two", "second")):
        top = document.parse((tmp_path / f"{file}.fbx").read_bytes()).top
        takes, documents = top("Takes"), top("Documents")
        assert takes is not None
        assert documents is not None
        current, scene = takes.child("Current"), documents.child("Document")
        assert current is not None
        assert scene is not None
        table = scene.child("Properties70")
        assert table is not None
        shown = [entry.value(4) for entry in table.children if entry.value(0) == "ActiveAnimStackName"]
        assert (current.value(0), shown) == (name, [name])


@pytest.mark.parametrize("up", ["Z", "X", "-Y"])
def test_axes_of_a_new_file_can_be_chosen(tmp_path: Path, up: str) -> None:
    motion = swing(odd_leg().read().skeleton)
    write(motion, tmp_path / "out.fbx", unit="m", up=up)
    back = read(tmp_path / "out.fbx")
    assert back.motion is not None
    assert back.unit == 1.0
    assert np.abs(fk(back.motion).positions - fk(motion).positions).max() < 2e-6


@pytest.mark.parametrize("up", ["Y", "Z"])
def test_a_root_below_moving_hips_has_its_z_axis_up(tmp_path: Path, up: str) -> None:
    # Blender takes a bone that its parent's Y axis points at for joined to it, and leaves its translations out.
    walk = samples.motion("walk").motion[:20]
    clip, _, _ = with_root_motion(Clip(skeleton=walk.skeleton, motion=walk, meshes=(bone_mesh(walk.skeleton),)))
    assert clip.motion is not None
    write(clip, tmp_path / "out.fbx", up=up)
    back = read(tmp_path / "out.fbx")
    assert back.motion is not None
    assert np.abs(fk(back.motion).positions - fk(clip.motion).positions).max() < 2e-6
    assert np.abs(skinned(back.meshes[0], back.motion) - skinned(clip.meshes[0], clip.motion)).max() < 5e-6
    assert np.allclose(rotate(back.skeleton.rest[0], Z), Y, atol=1e-6)
    assert angle_between(fk(back.motion).rotations[:, 1:], fk(clip.motion).rotations[:, 1:]).max() < 1e-5


def test_an_animation_of_the_same_name_is_replaced_and_its_other_curves_kept(tmp_path: Path) -> None:
    scene = Scene()
    _, knee, _ = leg(scene)
    prop = scene.node("Prop", sub="Null")
    bend = {(knee, "Lcl Rotation", "X"): {0.0: 0.0, 1.0: 90.0}, (prop, "Lcl Translation", "Y"): {0.0: 0.0, 1.0: 7.0}}
    scene.stack("bend", 1.0, bend)
    clip = scene.read()
    back = write_and_read(clip, swing(clip.skeleton, name="bend"), tmp_path / "out.fbx")
    assert back.clips == ("bend",)
    text = (tmp_path / "out.fbx").read_text()
    assert text.count("AnimationStack:") == 1
    # Seven curves of three axes: rotations of three joints, places of the hip; and the prop's.
    assert text.count("AnimationCurve:") == 4 * 3 + 1


def test_what_other_animations_move_is_held_in_the_new_one(tmp_path: Path) -> None:
    scene = Scene()
    cart = scene.node("Cart", sub="Null", Lcl_Translation=(3, 0, 0))
    hip = scene.node("Hip", cart, Lcl_Translation=(0, 100, 0))
    knee = scene.node("Knee", hip, Lcl_Translation=(0, -50, 0))
    roll = {
        (cart, "Lcl Translation", "X"): {0.0: 3.0, 1.0: 100.0}, (cart, "Lcl Rotation", "Y"): {0.0: 0.0, 1.0: 90.0},
        (knee, "Lcl Translation", "Y"): {0.0: -50.0, 1.0: -60.0}, (knee, "Lcl Scaling", "X"): {0.0: 1.0, 1.0: 2.0},
    }  # fmt: skip
    scene.stack("roll", 1.0, roll)
    clip = scene.read()
    write_and_read(clip, swing(clip.skeleton), tmp_path / "out.fbx")
    links = document.parse((tmp_path / "out.fbx").read_bytes()).top("Connections")
    assert links is not None
    ends = [[item.value(place) for place in (1, 2, 3)] for item in links.all("C")]
    new = {below for below, above, _ in ends if above in (cart, hip, knee) and below > FIRST_NUMBER}
    moved = {(above, prop) for below, above, prop in ends if below in new}
    assert moved >= {(node, prop) for node, prop, _ in roll}


def scaled_leg(knee_scales: dict[float, float]) -> Scene:
    """A leg of joints that repeat the scale of the node above them, as HumanIK rigs of Maya have it."""
    scene, small = Scene(unit=100.0), (0.01, 0.01, 0.01)
    above = scene.node("Reference", sub="Null", Lcl_Scaling=small)
    for name, height in (("Hip", 100.0), ("Knee", -50.0), ("Ankle", -45.0)):
        above = scene.node(name, above, inherit=2, Lcl_Scaling=small, Lcl_Translation=(0, height, 0))
    knee = scene.nodes["Knee"]
    scales = {(knee, "Lcl Scaling", axis): knee_scales for axis in "XYZ"}
    scene.stack("old", 1.0, {(knee, "Lcl Rotation", "X"): {0.0: 0.0, 1.0: 60.0}, **scales})
    return scene


def test_joints_that_repeat_their_parents_scale_inherit_it_when_a_motion_is_written(tmp_path: Path) -> None:
    clip = scaled_leg({0.0: 0.01, 1.0: 0.01}).read()
    motion = swing(clip.skeleton)
    lost = write(replace(clip, motion=motion), tmp_path / "out.fbx")
    assert lost == (
        "3 joints that repeated their parent's scale now inherit it: their size is the same, in Blender too",
    )
    back, old = read(tmp_path / "out.fbx"), read(tmp_path / "out.fbx", clip="old")
    assert back.motion is not None
    assert old.motion is not None
    assert clip.motion is not None
    assert np.abs(fk(back.motion).positions - fk(motion).positions).max() < 1e-6
    assert np.abs(fk(old.motion).positions - fk(clip.motion).positions).max() < 1e-6
    table = transforms.ModelTable(document.parse((tmp_path / "out.fbx").read_bytes()))
    nodes = [table.transform(number) for number in table.models]
    # A program that takes every scale for inherited gets the same sizes.
    assert [(float(node.scale[0]), node.inherit) for node in nodes] == [(0.01, 1), (1.0, 1), (1.0, 1), (1.0, 1)]


@pytest.mark.parametrize("scales", [{0.0: 0.01, 1.0: 0.02}, {0.0: 0.03}])
def test_scales_that_an_animation_changes_stay_as_they_are(tmp_path: Path, scales: dict[float, float]) -> None:
    clip = scaled_leg(scales).read()
    assert write(replace(clip, motion=swing(clip.skeleton)), tmp_path / "out.fbx") == ()
    table = transforms.ModelTable(document.parse((tmp_path / "out.fbx").read_bytes()))
    assert [table.transform(number).inherit for number in table.models] == [1, 2, 2, 2]


def test_the_frame_rate_is_that_of_the_motion(tmp_path: Path) -> None:
    scene = Scene(fps_mode=3)
    leg(scene)
    clip = scene.read()
    motion = swing(clip.skeleton)
    for fps, expected in ((30.0003, 30.0), (24000 / 1001, 24000 / 1001), (12.5, 12.5), (120.00048, 120.0)):
        write(replace(clip, motion=replace(motion, fps=fps)), tmp_path / "out.fbx")
        back = read(tmp_path / "out.fbx").motion
        assert back is not None
        assert (back.num_frames, back.fps) == (motion.num_frames, pytest.approx(expected, rel=1e-9))


@pytest.mark.parametrize(("header", "definition"), [(1004, 0), (1004, 127), (1003, 0)])
def test_the_units_of_time_are_those_of_the_file(header: int, definition: int, tmp_path: Path) -> None:
    scene = Scene()
    leg(scene)
    flags = f"\tOtherFlags:  {{\n\t\tTCDefinition: {definition}\n\t}}\n"
    text = scene.text().replace("FBXHeaderVersion: 1003\n", f"FBXHeaderVersion: {header}\n{flags}")
    path = tmp_path / "timed.fbx"
    path.write_text(text)
    clip = read(path)
    motion = replace(rest_motion(clip.skeleton, num_frames=13, fps=24.0), name="Bend")
    turned = motion.derived(rotations=multiply(motion.rotations, exp(np.linspace(0, 1, 13)[:, None, None] * X)))
    assert write(replace(clip, motion=turned), path) == ()
    back = read(path).motion
    assert back is not None
    assert (back.num_frames, back.fps) == (13, 24.0)
    assert np.abs(fk(back).positions - fk(turned).positions).max() < 1e-6


def test_an_unchanged_clip_is_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "in.fbx"
    path.write_text(odd_leg().text())
    write(read(path), tmp_path / "out.fbx")
    assert (tmp_path / "out.fbx").read_bytes() == path.read_bytes()


def test_a_file_that_cannot_be_changed_becomes_a_new_one_with_a_note(tmp_path: Path) -> None:
    clip = odd_leg().read()
    broken = replace(clip, layout=replace(clip.layout, data=b"Kaydara FBX Binary  \x00\x1a\x00\xe8\x1c\x00\x00\xff"))
    lost = write(replace(broken, motion=swing(clip.skeleton)), tmp_path / "out.fbx")
    assert "the character's own file could not be changed (a record begins at byte 27 " in lost[0]
    assert read(tmp_path / "out.fbx").clips == ("swing",)


def test_records_come_back_and_damaged_ones_are_refused() -> None:
    made = document.FbxRecord(name="", braces=True)
    inner = made.add("Objects", children=[])
    inner.add("Geometry", document.Typed("L", 7), "a\x00\x01Geometry", 1.5, True, 12345678901, b"raw")
    inner.add("Vertices", np.arange(300.0))
    for version in (7400, 7500):
        stream = io.BytesIO()
        document.write_binary(document.FbxDocument(root=made, version=version), stream)
        data = stream.getvalue()
        result = document.parse(data)
        assert result.version == version
        first, second = result.root.children[0].children
        assert [first.value(i) for i in range(6)] == [7, "a\x00\x01Geometry", 1.5, True, 12345678901, b"raw"]
        assert second.value(0).tolist() == list(range(300))
        again = io.BytesIO()
        document.write_binary(result, again)
        assert again.getvalue() == data
        generator = random.Random(version)
        for _ in range(200):
            damaged = bytearray(data)
            for _ in range(3):
                damaged[generator.randrange(len(data))] = generator.randrange(256)
            with suppress(document.DocumentError, UnicodeError):
                document.parse(bytes(damaged[: generator.choice((len(data), generator.randrange(len(data))))]))


def test_a_skinned_mesh_is_written_with_its_weights(tmp_path: Path) -> None:
    walk = samples.motion("walk").motion
    mesh = bone_mesh(walk.skeleton)
    clip = Clip(skeleton=walk.skeleton, motion=walk[:5], meshes=(mesh,))
    back = write_and_read(clip, replace(walk[:5], name="walk"), tmp_path / "out.fbx")
    assert [len(each.triangles) for each in back.meshes] == [len(mesh.triangles)]
    assert back.motion is not None
    assert np.abs(skinned(back.meshes[0], back.motion) - skinned(mesh, walk[:5])).max() < 1e-5
    assert {end.name.removesuffix("_end") for end in back.skeleton.ends} == {
        end.name.removesuffix("_end") for end in walk.skeleton.ends
    }


def painted(mesh: Mesh) -> Mesh:
    """A mesh with normals and texture coordinates at its corners, and two materials."""
    rng, count = np.random.default_rng(2), len(mesh.triangles)
    normals = rng.normal(size=(count, 3, 3))
    images = [b"\x89PNG\r\n" + bytes(range(number, 200)) for number in range(5)]
    materials = (
        Material(
            name="red", colour=(1.0, 0.1, 0.2, 0.6), metallic=0.25, roughness=0.4, emission=(0.1, 0.0, 0.3),
            blended=True,
        ),
        Material(
            name="i", colour=(1.0, 1.0, 1.0, 1.0), image=images[0], image_name="a.png", metallic=0.5, roughness=0.75,
            emission=(0.5, 1.0, 0.25), emission_image=images[1], normal_image=images[2], roughness_image=images[3],
            occlusion_image=images[4], blended=True,
        ),
    )  # fmt: skip
    look = Look(
        normals=normals / np.linalg.norm(normals, axis=-1, keepdims=True), uvs=rng.uniform(size=(count, 3, 2)),
        materials=materials, material_numbers=np.arange(count) // (count // 2 + 1),
    )  # fmt: skip
    rows = np.arange(mesh.num_vertices)[:, None]
    smile = np.where(rows < 7, rng.normal(scale=0.01, size=(mesh.num_vertices, 3)), 0.0)
    blink = np.where(rows % 5 == 0, rng.normal(scale=0.01, size=(mesh.num_vertices, 3)), 0.0)
    shapes = (BlendShape(name="Smile wide", offsets=smile), BlendShape(name="blink.L", offsets=blink))
    return replace(mesh, look=look, shapes=shapes)


@pytest.mark.parametrize(("first", "second"), [("glb", "fbx"), ("fbx", "usdz"), ("usdz", "glb")])
def test_normals_coordinates_materials_and_shapes_go_from_format_to_format(
    tmp_path: Path, first: str, second: str
) -> None:
    if "usdz" in (first, second):
        pytest.importorskip("pxr")
    walk = samples.motion("walk").motion[:3]
    mesh = painted(bone_mesh(walk.skeleton))
    write(Clip(skeleton=walk.skeleton, motion=walk, meshes=(mesh,)), tmp_path / f"one.{first}", up="Z")
    clip = read(tmp_path / f"one.{first}", up="Z")
    notes = write(replace(clip, layout=None), tmp_path / f"two.{second}")
    back = read(tmp_path / f"two.{second}")
    assert mesh.look is not None
    assert sum("FBX has no place for an image" in note for note in notes) == (2 if second == "fbx" else 0)
    for result, lossless in ((clip.meshes[0], first != "fbx"), (back.meshes[0], "fbx" not in (first, second))):
        look = result.look
        assert look is not None
        assert look.normals is not None
        assert look.uvs is not None
        assert np.abs(look.normals - mesh.look.normals).max() < 1e-6
        assert np.abs(look.uvs - mesh.look.uvs).max() < 1e-6
        assert np.array_equal(look.material_numbers, mesh.look.material_numbers)
        assert [material.name for material in look.materials] == ["red", "i"]
        for material, wanted_material in zip(look.materials, mesh.look.materials):
            expected = {
                name: value for name, value in wanted_material.images.items() if lossless or name not in LOST_IMAGES
            }
            assert material.images == expected
            assert material.image_name == wanted_material.image_name
            assert material.colour == pytest.approx(wanted_material.colour)
            assert material.emission == pytest.approx(wanted_material.emission)
            assert (material.metallic, material.roughness) == pytest.approx(
                (wanted_material.metallic, wanted_material.roughness), abs=1e-6
            )
            assert (material.blended, material.double_sided) == (True, True)
        assert np.abs(result.vertices[result.triangles] - mesh.vertices[mesh.triangles]).max() < 1e-5
        assert [shape.name for shape in result.shapes] == ["Smile wide", "blink.L"]
        for shape, wanted in zip(result.shapes, mesh.shapes):
            assert np.abs(shape.offsets[result.triangles] - wanted.offsets[mesh.triangles]).max() < 1e-6


def test_an_image_beside_the_file_is_read_and_one_elsewhere_is_not(tmp_path: Path) -> None:
    (tmp_path / "in" / "textures").mkdir(parents=True)
    (tmp_path / "in" / "textures" / "skin.png").write_bytes(b"\x89PNG\r\nhere")
    (tmp_path / "other.png").write_bytes(b"\x89PNG\r\nelsewhere")
    folder = tmp_path / "in"
    assert read_image("textures/skin.png", folder) == b"\x89PNG\r\nhere"
    assert read_image("../other.png", folder) == b""
    assert read_image("C:/models/none.png", folder) == b""


def test_a_missing_package_is_named_with_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    leg(scene)
    monkeypatch.setattr(child.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match="Reading FBX needs the package `ufbx`") as caught:
        scene.read()
    assert caught.value.hint == "pip install 'understudy-motion[fbx]'"


BROKEN = {
    "crash": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
    "hang": "import time\ntime.sleep(60)",
    "raise": "raise KeyError('odd')",
    "greed": "from understudy.io.child import answer\nanswer(lambda request, data: ({}, {'a': bytearray(1 << 40)}))",
}


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("crash", r"x\.fbx: the reader crashed on it \(SIGSEGV\); the file is damaged"),
        ("hang", r"x\.fbx: was not read within 2 s, and was given up"),
        ("raise", r"x\.fbx: the reader failed on it: KeyError: 'odd'"),
        ("greed", r"x\.fbx: needs more than 4 GiB of memory"),
    ],
)
def test_a_child_that_fails_is_an_error_in_words(
    how: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"broken_{how}.py").write_text(BROKEN[how])
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(FileError, match=message):
        child.ask(f"broken_{how}", {}, b"", "x.fbx", seconds=2.0 if how == "hang" else 60.0)


@pytest.mark.parametrize("seed", range(16))
def test_mutated_files_end_in_an_error_in_words_or_a_body(seed: int) -> None:
    rng = random.Random(seed)
    scene, _ = skinned_scene()
    scene.stack("bend", 1.0, {(scene.nodes["Knee"], "Lcl Rotation", "X"): {0.0: 0.0, 1.0: 90.0}})
    data = bytearray(scene.text().encode())
    for _ in range(rng.choice([1, 3, 20])):
        place = rng.randrange(len(data))
        kind = rng.randrange(3)
        if kind == 0:
            data[place] = rng.randrange(256)
        elif kind == 1:
            del data[place : place + rng.randrange(1, 60)]
        else:
            start = rng.randrange(len(data))
            data[place:place] = data[start : start + rng.randrange(1, 60)]
    clip, message = None, ""
    try:
        clip = formats()["fbx"].read(io.BytesIO(bytes(data)), "made.fbx", ReadOptions())  # type: ignore[misc]
    except UnderstudyError as error:
        message = error.message
    if clip is None:
        assert message.startswith("made.fbx: ")
        assert "failed on it" not in message
    else:
        assert np.all(np.isfinite(clip.skeleton.rest_world[0]))


def test_a_file_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene()
    leg(scene)
    monkeypatch.setattr("understudy.io.fbx.reader.MAX_FILE_BYTES", 1 << 10)
    with pytest.raises(FileError, match="is larger than 0 MiB, the most that is read"):
        scene.read()


def test_a_unit_that_cannot_be_is_not_believed() -> None:
    scene = Scene(unit=1e12)
    leg(scene)
    clip = scene.read()
    assert clip.unit == 0.01
    assert clip.unit_reason == "cm: as FBX is by default; the file says 1e+10 m, which is not believed"


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ((0, 0, 0), "joints have no size: their scale is 0, from `Knee`"),
        ((1, 3, 1), "are scaled unevenly, from `Knee`"),
    ],
)
def test_odd_scales_are_told(scale: tuple[float, float, float], message: str) -> None:
    scene = Scene()
    leg(scene, Lcl_Scaling=scale)
    assert any(message in note for note in scene.read().notes)


def test_mirrored_joints_are_placed_right() -> None:
    scene = Scene()
    hip = scene.node("Hip", Lcl_Translation=(0, 100, 0), Lcl_Scaling=(-1, 1, 1))
    knee = scene.node("Knee", hip, Lcl_Translation=(20, -50, 0))
    scene.stack("turn", 1.0, {(hip, "Lcl Rotation", "Y"): {0.0: 0.0, 1.0: 90.0}})
    clip = scene.read()
    assert knee
    assert clip.motion is not None
    assert not any("unevenly" in note for note in clip.notes)
    places = fk(clip.motion).positions
    assert np.allclose(places[0, 1], [-0.2, 0.5, 0], atol=1e-6)
    assert np.allclose(places[-1, 1], [0, 0.5, 0.2], atol=1e-6)


def test_a_bind_pose_of_another_size_is_passed_over() -> None:
    scene, _ = skinned_scene()
    scene.objects = [text.replace("50.0", "5000.0") if "TransformLink" in text else text for text in scene.objects]
    clip = scene.read()
    assert any("the bind pose is of another size than the joints" in note for note in clip.notes)
    assert angle_between(clip.skeleton.rest[1], degrees(90, X)) < 1e-9
