"""USD: written files come back, small test files are read correctly, and no file outside the folder is opened."""

from __future__ import annotations

import io
import os
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.base.errors import FileError, MissingPackageError, UnderstudyError, UnknownNameError
from understudy.base.quaternion import angle_between, from_axis_angle, rotate
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.figure.skin import skinned
from understudy.io import child, formats, read, write
from understudy.io.clip import Clip, ReadOptions

pytest.importorskip("pxr")

HEAD = '#usda 1.0\n(\n    metersPerUnit = 0.01\n    upAxis = "{up}"\n    timeCodesPerSecond = 24\n)\n'
ONE = "( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1) )"


def moved(x: float, y: float, z: float) -> str:
    return f"( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), ({x}, {y}, {z}, 1) )"


def arm(*, extra: str = "", animation: str = "", binds: bool = True, form: str = "") -> str:
    """Shoulder, elbow and hand along X, 30 and 25 units apart, the shoulder 140 high."""
    places = [moved(0, 140, 0), moved(30, 140, 0), moved(55, 140, 0)]
    bind = f"uniform matrix4d[] bindTransforms = [{', '.join(places)}]" if binds else ""
    return f"""
def SkelRoot "Root" {{
{form}
    def Skeleton "Arm" (prepend apiSchemas = ["SkelBindingAPI"]) {{
        uniform token[] joints = ["Shoulder", "Shoulder/Elbow", "Shoulder/Elbow/Hand"]
        uniform matrix4d[] restTransforms = [{moved(0, 140, 0)}, {moved(30, 0, 0)}, {moved(25, 0, 0)}]
        {bind}
        {"rel skel:animationSource = </Root/Bend>" if animation else ""}
    }}
{animation}
{extra}
}}
"""


BEND = """
    def SkelAnimation "Bend" {
        uniform token[] joints = ["Shoulder/Elbow"]
        float3[] translations = [(30, 0, 0)]
        quatf[] rotations.timeSamples = { 0: [(1, 0, 0, 0)], 24: [(0.70710678, 0, 0, 0.70710678)] }
        half3[] scales = [(1, 1, 1)]
    }
"""


def save_text(folder: Path, text: str, name: str = "arm.usda", up: str = "Y") -> Path:
    path = folder / name
    path.write_text(HEAD.format(up=up) + text)
    return path


def figure() -> Motion:
    """A body with rotated joint frames, unusual names and end points, and a motion that also changes bone lengths."""
    skeleton = Skeleton(
        names=("mixamorig:Hips", "Left Leg", "左足", "Head"),
        parents=[-1, 0, 1, 0],
        offsets=[[0.1, 0.9, 0.2], [0.1, -0.1, 0], [0, -0.4, 0], [0, 0.6, 0]],
        rest=from_axis_angle(np.array([0.0, 0.6, 0.8]), np.array([0.3, -0.2, 0.5, 1.0])),
        ends=(Point(name="toe tip", joint="左足", offset=np.array([0, -0.4, 0.1])),),
        name="figure",
    )
    rng = np.random.default_rng(4)
    turns = from_axis_angle(np.array([0.6, 0.0, 0.8]), np.cumsum(rng.normal(0.0, 0.1, (20, 4)), axis=0))
    offsets = skeleton.offsets * rng.uniform(0.9, 1.1, (20, 4, 1))
    root = np.cumsum(rng.normal(0.0, 0.02, (20, 3)), axis=0)
    return Motion(skeleton=skeleton, fps=29.97, root=root, rotations=turns, offsets=offsets, name="Take 1")


@pytest.mark.parametrize("ending", ["usda", "usdc", "usdz", "usd"])
@pytest.mark.parametrize(("unit", "up"), [(None, None), ("cm", "Z")])
def test_a_motion_comes_back_in_every_kind_of_file(
    ending: str, unit: str | None, up: str | None, tmp_path: Path
) -> None:
    motion = figure()
    path = tmp_path / f"figure.{ending}"
    assert write(motion, path, unit=unit, up=up) == ()
    clip = read(path)
    assert clip.skeleton.names == motion.skeleton.names
    assert (clip.unit, clip.up) == (0.01 if unit else 1.0, up or "Y")
    assert clip.motion is not None
    assert (clip.motion.name, clip.motion.fps, clip.clips) == ("Take 1", pytest.approx(29.97), ("Take 1",))
    assert np.abs(fk(clip.motion).positions - fk(motion).positions).max() < 1e-6
    assert np.max(angle_between(fk(clip.motion).rotations, fk(motion).rotations)) < 1e-6
    assert np.allclose(clip.skeleton.rest_world[0], motion.skeleton.rest_world[0], atol=1e-9)
    assert [end.name for end in clip.skeleton.ends] == ["toe tip"]
    assert np.allclose(clip.skeleton.rest_ends, motion.skeleton.rest_ends, atol=1e-9)
    kinds = {"usda": b"#usda 1.0", "usdc": b"PXR-USDC", "usd": b"PXR-USDC", "usdz": b"PK\x03\x04"}
    assert path.read_bytes().startswith(kinds[ending])


def test_the_library_itself_finds_nothing_wrong_with_what_is_written(tmp_path: Path) -> None:
    validation = pytest.importorskip("pxr.UsdValidation")
    from pxr import Usd

    write(figure(), tmp_path / "figure.usdz")
    context = validation.ValidationContext(validation.ValidationRegistry().GetOrLoadAllValidators())
    result = context.Validate(Usd.Stage.Open(str(tmp_path / "figure.usdz")))
    assert [error.GetMessage() for error in result] == []


def test_open_usd_computes_the_same_joints_from_what_is_written(tmp_path: Path) -> None:
    from pxr import Usd, UsdSkel

    motion = figure()
    write(motion, tmp_path / "figure.usdc", unit="cm", up="Z")
    stage = Usd.Stage.Open(str(tmp_path / "figure.usdc"))
    cache = UsdSkel.Cache()
    cache.Populate(UsdSkel.Root.Get(stage, "/Character"), Usd.PrimDefaultPredicate)
    query = cache.GetSkelQuery(UsdSkel.Skeleton.Get(stage, "/Character/Skeleton"))
    for frame in (0, 7, 19):
        result = np.array(query.ComputeJointSkelTransforms(Usd.TimeCode(frame)))[:, 3, :3] / 100.0
        expected = fk(motion).positions[frame]
        assert np.abs(result - expected @ np.array([[1, 0, 0], [0, 0, 1], [0, -1, 0]])).max() < 1e-6


def test_a_mesh_comes_back(tmp_path: Path) -> None:
    motion = figure()
    write(motion, tmp_path / "first.usda")
    clip = read(tmp_path / "first.usda")
    assert [mesh.name for mesh in clip.meshes] == ["bones"]
    assert "of the meshes only the shape and the skin weights are written, no materials" in write(
        replace(clip, layout=None), tmp_path / "second.usdz"
    )
    back = read(tmp_path / "second.usdz")
    assert clip.motion is not None
    assert back.motion is not None
    assert np.abs(skinned(back.meshes[0], back.motion) - skinned(clip.meshes[0], clip.motion)).max() < 1e-6
    assert np.array_equal(back.meshes[0].triangles, clip.meshes[0].triangles)


def test_a_mesh_bound_in_another_pose_is_bound_anew(tmp_path: Path) -> None:
    write(figure(), tmp_path / "first.usda")
    clip = read(tmp_path / "first.usda")
    bent = replace(clip.skeleton, rest=from_axis_angle(np.array([1.0, 0, 0]), np.full(4, 0.4)))
    notes = write(Clip(skeleton=bent, meshes=clip.meshes), tmp_path / "bent.usda")
    assert "mesh `bones` was bound in another pose than the rest pose, and is bound anew in that" in notes
    back = read(tmp_path / "bent.usda")
    assert np.abs(skinned(back.meshes[0], back.skeleton) - skinned(clip.meshes[0], bent)).max() < 1e-6


def test_what_usd_cannot_hold_is_said(tmp_path: Path) -> None:
    skeleton = Skeleton(
        names=("a", "b"), parents=[-1, 0], offsets=[[0, 1, 0], [0, 0.5, 0]], kinds=(JointKind.FREE, JointKind.HINGE),
        axes=[np.eye(3), [[1, 0, 0], [0, 0, 0], [0, 0, 0]]], limits=np.tile([-1.0, 1.0], (2, 3, 1)),
    )  # fmt: skip
    notes = write(skeleton, tmp_path / "a.usda", up="X")
    assert notes == (
        "USD cannot have X up: it is written with Y up",
        "USD skeletons have no kinds of joints: 1 of hinge kind turn freely",
        "USD skeletons have no limits: those of 2 joints are left out",
    )
    assert np.allclose(read(tmp_path / "a.usda").skeleton.rest_world[0], skeleton.rest_world[0])


def test_unit_axis_and_sparse_keys_are_read(tmp_path: Path) -> None:
    clip = read(save_text(tmp_path, arm(animation=BEND)))
    assert (clip.unit_reason, clip.up_reason) == ("cm: the file says so", "Y is up: the file says so")
    assert np.allclose(clip.skeleton.rest_world[0], [[0, 1.4, 0], [0.3, 1.4, 0], [0.55, 1.4, 0]])
    assert clip.motion is not None
    assert (clip.motion.num_frames, clip.motion.fps, clip.motion.name) == (25, 24.0, "Bend")
    half = fk(clip.motion).positions[12, 2]
    assert np.allclose(half, [0.3 + 0.25 * np.sqrt(0.5), 1.4 + 0.25 * np.sqrt(0.5), 0], atol=1e-6)


def test_z_up_is_turned_to_y_up(tmp_path: Path) -> None:
    path = save_text(tmp_path, arm(animation=BEND), up="Z")
    clip = read(path)
    assert np.allclose(clip.skeleton.rest_world[0][0], [0, 0, -1.4])
    assert np.allclose(read(path, up="Y").skeleton.rest_world[0][0], [0, 1.4, 0])


def test_a_file_without_a_unit_is_in_centimetres(tmp_path: Path) -> None:
    path = tmp_path / "arm.usda"
    path.write_text("#usda 1.0\n" + arm())
    clip = read(path)
    assert (clip.unit, clip.unit_reason) == (0.01, "cm: by default of USD; the file does not say")
    assert clip.up_reason == "Y is up: by default of USD"
    assert read(path, unit="m").skeleton.offsets[1, 0] == pytest.approx(30)


def test_a_rest_pose_serves_where_there_is_no_bind_pose(tmp_path: Path) -> None:
    clip = read(save_text(tmp_path, arm(binds=False)))
    assert np.allclose(clip.skeleton.rest_world[0], [[0, 1.4, 0], [0.3, 1.4, 0], [0.55, 1.4, 0]])
    assert clip.motion is None


def test_a_skeleton_that_is_carried_moves(tmp_path: Path) -> None:
    form = """
    double3 xformOp:translate.timeSamples = { 0: (0, 0, 0), 24: (0, 0, 200) }
    uniform token[] xformOpOrder = ["xformOp:translate"]
"""
    clip = read(save_text(tmp_path, arm(animation=BEND, form=form)))
    assert clip.motion is not None
    assert np.allclose(clip.motion.root[[0, 12, 24], 2], [0.0, 1.0, 2.0])


def test_several_animations_are_clips(tmp_path: Path) -> None:
    wave = BEND.replace('"Bend"', '"Wave"').replace("24: [(0.70710678, 0, 0, 0.70710678)]", "48: [(0, 1, 0, 0)]")
    path = save_text(tmp_path, arm(animation=BEND + wave))
    clip = read(path)
    assert clip.clips == ("Bend", "Wave")
    assert any(note.startswith("2 animations; `Bend`, the first, is read") for note in clip.notes)
    other = read(f"{path}#Wave").motion
    assert other is not None
    assert other.num_frames == 49
    with pytest.raises(UnknownNameError, match="holds no animation `Jump`"):
        read(path, clip="Jump")


def test_of_several_skeletons_the_animated_one_is_read(tmp_path: Path) -> None:
    other = arm().replace('"Root"', '"Other"').replace("Shoulder", "Hip")
    clip = read(save_text(tmp_path, other + arm(animation=BEND)))
    assert clip.skeleton.names == ("Shoulder", "Elbow", "Hand")
    assert "2 skeletons; `/Root/Arm` is read" in clip.dropped


def test_several_roots_get_one(tmp_path: Path) -> None:
    text = f"""
def Skeleton "Two" {{
    uniform token[] joints = ["Left", "Right"]
    uniform matrix4d[] restTransforms = [{moved(10, 0, 0)}, {moved(-10, 0, 0)}]
}}
"""
    clip = read(save_text(tmp_path, text))
    assert clip.skeleton.names == ("root", "Left", "Right")
    assert any("2 joints hang from no other joint" in note for note in clip.notes)


def test_skins_follow_the_joints_in_their_own_order(tmp_path: Path) -> None:
    mesh = f"""
    def Mesh "Sleeve" (prepend apiSchemas = ["SkelBindingAPI"]) {{
        uniform token orientation = "leftHanded"
        int[] faceVertexCounts = [4]
        int[] faceVertexIndices = [0, 1, 2, 3]
        point3f[] points = [(0, 0, 0), (20, 0, 0), (40, 0, 0), (50, 0, 0)]
        rel skel:skeleton = </Root/Arm>
        uniform token[] skel:joints = ["Shoulder/Elbow", "Shoulder"]
        matrix4d primvars:skel:geomBindTransform = {moved(0, 140, 0)}
        int[] primvars:skel:jointIndices = [1, 0, 1, 0, 0, 1, 0, 0] (elementSize = 2; interpolation = "vertex")
        float[] primvars:skel:jointWeights = [1, 0, 1, 0, 1, 0, 1, 0] (elementSize = 2; interpolation = "vertex")
    }}
    def Sphere "Ball" (prepend apiSchemas = ["SkelBindingAPI"]) {{
        rel skel:skeleton = </Root/Arm>
        int[] primvars:skel:jointIndices = [0] (elementSize = 1; interpolation = "constant")
        float[] primvars:skel:jointWeights = [1] (elementSize = 1; interpolation = "constant")
    }}
"""
    clip = read(save_text(tmp_path, arm(animation=BEND, extra=mesh)))
    (sleeve,) = clip.meshes
    assert sleeve.triangles.tolist() == [[2, 1, 0], [3, 2, 0]]
    assert np.allclose(sleeve.vertices[:, 1], 1.4)
    assert clip.motion is not None
    last = skinned(sleeve, clip.motion)[-1]
    assert np.allclose(last, [[0, 1.4, 0], [0.2, 1.4, 0], [0.3, 1.5, 0], [0.3, 1.6, 0]], atol=1e-6)
    assert "1 skinned things that are no meshes (curves, spheres, ...)" in clip.dropped


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"arm\.usda: holds no skeleton with joints; it has 0 prims"),
        ("\ndef Xform {", r"arm\.usda:8: is no USD that can be read: does not parse at"),
        (
            '\ndef Skeleton "S" {\nuniform token[] joints = ["a"]\n}\n',
            r"arm\.usda: the skeleton `/S` has neither bind nor rest transforms for its joints",
        ),
        (
            arm()
            .replace("uniform token[] joints", "uniform int joints")
            .replace('["Shoulder", "Shoulder/Elbow", "Shoulder/Elbow/Hand"]', "3"),
            r"arm\.usda: is no USD that can be read: a value is of another kind than USD demands there",
        ),
        (
            arm(animation=BEND.replace("[(30, 0, 0)]", "[(30, 0, 0), (1, 1, 1)]")),
            r"arm\.usda: the animation `/Root/Bend` does not have a transform for every joint",
        ),
        (
            arm(animation=BEND.replace("24: [", "1e30: [")),
            r"arm\.usda: has time samples that are no times",
        ),
        (
            arm(animation=BEND.replace("24: [", "240000000: [")),
            r"arm\.usda: the animation makes 240000001 frames of 1 joints",
        ),
        (arm().replace("(30, 0, 0, 1)", "(inf, 0, 0, 1)").replace("(30, 140, 0, 1)", "(inf, 0, 0, 1)"), "no body"),
    ],
    ids=["none", "syntax", "no pose", "kind", "animation", "times", "length", "infinite"],
)
def test_what_cannot_be_read_is_said(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=message):
        read(save_text(tmp_path, text))


SECRET = 'def SkelRoot "Root" {\ndef Skeleton "Arm" {\nuniform token[] joints = ["secret"]\n}\n}\n'


def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A folder for test files, and one beside it with a file that must not be opened."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.usda").write_text(HEAD.format(up="Y") + SECRET)
    return inside, outside


@pytest.mark.parametrize("way", ["references", "payload"])
@pytest.mark.parametrize("how", ["above", "absolute", "link", "variant"])
def test_layers_outside_the_folder_are_not_opened(way: str, how: str, tmp_path: Path) -> None:
    inside, outside = folders(tmp_path)
    target = {"above": "../outside/secret.usda", "absolute": str(outside / "secret.usda"), "link": "./link.usda"}
    os.symlink(outside / "secret.usda", inside / "link.usda")
    named = target.get(how, "../outside/secret.usda")
    text = f'def "Root" (prepend {way} = @{named}@</Root>) {{ }}\n'
    if how == "variant":
        text = (
            'def "Root" (prepend variantSets = "v"; variants = { string v = "no" }) {\n    variantSet "v" = {\n'
            f'"no" {{\n}}\n"yes" (prepend {way} = @{named}@</Root>) {{\n}}\n    }}\n}}\n'
        )
    with pytest.raises(FileError, match="is outside the file's folder and is not opened"):
        read(save_text(inside, text))


def test_sublayers_outside_the_folder_are_not_opened(tmp_path: Path) -> None:
    inside, _ = folders(tmp_path)
    (inside / "arm.usda").write_text("#usda 1.0\n(\n    subLayers = [@../outside/secret.usda@]\n)\n")
    with pytest.raises(FileError, match="outside the file's folder"):
        read(inside / "arm.usda")


def test_layers_of_layers_outside_the_folder_are_not_opened(tmp_path: Path) -> None:
    inside, _ = folders(tmp_path)
    save_text(inside, 'def "Root" (references = @../outside/secret.usda@</Root>) { }\n', "middle.usda")
    with pytest.raises(FileError, match="outside the file's folder"):
        read(save_text(inside, 'def "Root" (references = @./middle.usda@</Root>) { }\n'))


@pytest.mark.parametrize("how", ["above", "absolute"])
def test_packages_do_not_reach_outside_themselves(how: str, tmp_path: Path) -> None:
    from pxr import Sdf

    inside, outside = folders(tmp_path)
    named = "../outside/secret.usda" if how == "above" else str(outside / "secret.usda")
    layer = save_text(outside, f'def "Root" (references = @{named}@</Root>) {{ }}\n', "root.usda")
    package = Sdf.ZipFileWriter.CreateNew(str(inside / "arm.usdz"))
    package.AddFile(str(layer), "root.usda")
    package.Save()
    with pytest.raises(FileError, match=r"outside the file's folder|holds no skeleton with joints"):
        read(inside / "arm.usdz")


@pytest.mark.parametrize("named", ["https://example.com/a.usda", '`"${SECRET}"`'])
def test_addresses_and_expressions_are_not_followed(named: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"which is not fetched|which is not followed"):
        read(save_text(tmp_path, f'def "Root" (references = @{named}@</Root>) {{ }}\n'))


@pytest.mark.parametrize("where", ["prim", "variant"])
def test_value_clips_are_refused(where: str, tmp_path: Path) -> None:
    clips = "clips = { dictionary default = { asset[] assetPaths = [@/etc/x.usda@] } }"
    text = f'def "Root" ({clips}) {{ }}\n'
    if where == "variant":
        text = (
            f'def "Top" (variantSets = "v") {{\nvariantSet "v" = {{\n"a" {{\ndef "Root" ({clips}) {{\n}}\n}}\n}}\n}}\n'
        )
    with pytest.raises(FileError, match="Root` from other files"):
        read(save_text(tmp_path, text))


def test_search_paths_of_the_user_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, outside = folders(tmp_path)
    monkeypatch.setenv("PXR_AR_DEFAULT_SEARCH_PATH", str(outside))
    with pytest.raises(FileError, match="holds no skeleton"):
        read(save_text(inside, 'def "Root" (references = @secret.usda@</Root>) { }\n'))


def test_layers_inside_the_folder_are_composed(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    save_text(tmp_path / "parts", arm(animation=BEND), "body.usda")
    clip = read(save_text(tmp_path, 'def "Root" (references = @./parts/body.usda@</Root>) { }\n', "whole.usda"))
    assert clip.skeleton.names == ("Shoulder", "Elbow", "Hand")
    assert clip.motion is not None


def test_a_missing_layer_is_told(tmp_path: Path) -> None:
    text = arm() + 'def "Hat" (references = @./hat.usda@</Hat>) { }\n'
    assert "the layer `./hat.usda` is not there" in read(save_text(tmp_path, text)).notes


def test_a_stream_that_is_no_file_is_read(tmp_path: Path) -> None:
    data = (HEAD.format(up="Y") + arm()).encode()
    clip = formats()["usd"].read(io.BytesIO(data), "nowhere/arm.usda", ReadOptions())  # type: ignore[misc]
    assert clip.skeleton.names == ("Shoulder", "Elbow", "Hand")


@pytest.mark.parametrize("doing", ["Reading", "Writing"])
def test_a_missing_package_is_named_with_the_install_line(
    doing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save_text(tmp_path, arm())
    monkeypatch.setattr(child.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=f"{doing} USD needs the package `usd-core`") as caught:
        read(path) if doing == "Reading" else write(figure(), tmp_path / "out.usda")
    assert caught.value.hint == "pip install 'understudy-motion[usd]'"
    assert not (tmp_path / "out.usda").exists()


@pytest.mark.parametrize("ending", ["usda", "usdc", "usdz"])
@pytest.mark.parametrize("seed", range(6))
def test_mutated_files_end_in_an_error_in_words_or_a_body(ending: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    path = tmp_path / f"figure.{ending}"
    write(figure()[:5], path)
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 3, 20])):
        place = rng.randrange(len(data))
        kind = rng.randrange(3)
        if kind == 0:
            data[place] = rng.randrange(256)
        elif kind == 1:
            del data[place : place + rng.randrange(1, 60)]
        else:
            data[place : place + 4] = rng.choice([b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\xff\xff\xff\xff"])
    path.write_bytes(data)
    clip, message = None, ""
    try:
        clip = read(path)
    except UnderstudyError as error:
        message = error.message
    if clip is None:
        assert f"figure.{ending}" in message
        assert "failed on it" not in message
    else:
        assert np.all(np.isfinite(rotate(clip.skeleton.rest, clip.skeleton.offsets)))


def sleeve(**changes: str) -> str:
    """A mesh of one triangle on the arm, with some of its properties changed."""
    lines = {
        "points": "point3f[] points = [(0, 0, 0), (20, 0, 0), (40, 0, 0)]",
        "skeleton": "rel skel:skeleton = </Root/Arm>",
        "indices": 'int[] primvars:skel:jointIndices = [0, 1, 2] (elementSize = 1; interpolation = "vertex")',
        "weights": 'float[] primvars:skel:jointWeights = [1, 1, 1] (elementSize = 1; interpolation = "vertex")',
        "bind": f"matrix4d primvars:skel:geomBindTransform = {ONE}",
        **changes,
    }
    body = "\n        ".join(lines.values())
    return f"""
    def Mesh "Sleeve" (prepend apiSchemas = ["SkelBindingAPI"]) {{
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
        {body}
    }}
"""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"order": 'uniform token[] skel:joints = ["Shoulder", "Wing", "Tail"]'},
            "mesh `Sleeve` names the joint `Wing`, which its skeleton does not have",
        ),
        (
            {"indices": 'int[] primvars:skel:jointIndices = [0, 1, 9] (elementSize = 1; interpolation = "vertex")'},
            "mesh `Sleeve` names a joint beyond the 3 there are",
        ),
        (
            {"points": "point3f[] points = [(0, 0, 0), (20, 0, 0), (40, 0, 0), (1, 1, 1)]"},
            "mesh `Sleeve` has 3 joints and 3 weights for 4 vertices of 1 each",
        ),
    ],
    ids=["joint", "number", "count"],
)
def test_meshes_that_do_not_fit_their_skeleton_are_refused(
    changes: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(FileError, match=message):
        read(save_text(tmp_path, arm(extra=sleeve(**changes))))


@pytest.mark.parametrize(
    ("changes", "message", "meshes"),
    [
        (
            {"method": 'uniform token primvars:skel:skinningMethod = "dualQuaternion"'},
            "by dual quaternions; linear blending",
            1,
        ),
        ({"bind": f"matrix4d primvars:skel:geomBindTransform = {ONE.replace('1', '0')}"}, "without an inverse", 0),
    ],
    ids=["method", "bind"],
)
def test_what_of_a_mesh_is_not_read_is_said(changes: dict[str, str], message: str, meshes: int, tmp_path: Path) -> None:
    clip = read(save_text(tmp_path, arm(extra=sleeve(**changes))))
    assert len(clip.meshes) == meshes
    assert any(message in sentence for sentence in clip.dropped)


def test_blend_shapes_are_read(tmp_path: Path) -> None:
    shapes = 'uniform token[] skel:blendShapes = ["smile"]\nrel skel:blendShapeTargets = </Root/Smile>'
    smile = 'def BlendShape "Smile" {\nuniform vector3f[] offsets = [(0, 0, 1)]\nuniform int[] pointIndices = [0]\n}\n'
    (mesh,) = read(save_text(tmp_path, arm(extra=sleeve(shapes=shapes) + smile))).meshes
    assert [shape.name for shape in mesh.shapes] == ["smile"]
    assert np.allclose(mesh.shapes[0].offsets[0], [0.0, 0.0, 0.01])
    assert not np.any(mesh.shapes[0].offsets[1:])


def test_a_rigid_mesh_hangs_from_its_joint(tmp_path: Path) -> None:
    rigid = {
        "indices": 'int[] primvars:skel:jointIndices = [1] (elementSize = 1; interpolation = "constant")',
        "weights": 'float[] primvars:skel:jointWeights = [1] (elementSize = 1; interpolation = "constant")',
    }
    (mesh,) = read(save_text(tmp_path, arm(extra=sleeve(**rigid)))).meshes
    assert mesh.joints.tolist() == [[1], [1], [1]]


def test_joints_that_grow_are_told(tmp_path: Path) -> None:
    grow = BEND.replace(
        "half3[] scales = [(1, 1, 1)]", "half3[] scales.timeSamples = { 0: [(1, 1, 1)], 24: [(2, 2, 2)] }"
    )
    clip = read(save_text(tmp_path, arm(animation=grow)))
    assert any("joints grow or shrink, from `Elbow`" in sentence for sentence in clip.dropped)


def test_keys_off_the_frames_are_sampled_anew(tmp_path: Path) -> None:
    odd = BEND.replace("24: [", "7.123: [(1, 0, 0, 0)], 24.7: [")
    clip = read(save_text(tmp_path, arm(animation=odd)))
    assert any("the keys lie on no common frames, and are sampled anew at 60 fps" in note for note in clip.notes)
