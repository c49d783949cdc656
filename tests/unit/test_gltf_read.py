"""Reading glTF: all ways to store numbers, to arrange joints, and to interpolate between keys."""

from __future__ import annotations

import base64
import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.base.errors import FileError, OptionError, UnknownNameError
from understudy.base.quaternion import angle_between, from_axis_angle, slerp, to_matrix
from understudy.figure.kinematics import fk
from understudy.figure.skin import skinned
from understudy.io import Clip, read
from understudy.io.clip import ReadOptions
from understudy.io.gltf.document import Accessors, parse
from understudy.io.gltf.reader import read as read_stream

KINDS = {"i1": 5120, "u1": 5121, "<i2": 5122, "<u2": 5123, "<u4": 5125, "<f4": 5126}
SHAPES = {(): "SCALAR", (2,): "VEC2", (3,): "VEC3", (4,): "VEC4", (4, 4): "MAT4"}


class Maker:
    """Builds a glTF file without the library's writer."""

    def __init__(self, **tree: Any) -> None:
        self.tree: dict[str, Any] = {"asset": {"version": "2.0"}, **tree, "accessors": [], "bufferViews": []}
        self.data = b""

    def view(self, data: bytes, **more: Any) -> int:
        self.data += bytes(-len(self.data) % 4)
        self.tree["bufferViews"].append({"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data), **more})
        self.data += data
        return len(self.tree["bufferViews"]) - 1

    def add(self, values: Any, kind: str = "<f4", **more: Any) -> int:
        array = np.asarray(values, kind)
        stored = array.swapaxes(1, 2) if array.ndim == 3 else array
        accessor = {
            "bufferView": self.view(np.ascontiguousarray(stored).tobytes()), "componentType": KINDS[kind],
            "count": len(array), "type": SHAPES[array.shape[1:]], **more,
        }  # fmt: skip
        self.tree["accessors"].append(accessor)
        return len(self.tree["accessors"]) - 1

    def animate(self, name: str, *channels: tuple[int, str, list[float], Any, str]) -> None:
        """Add an animation of (node, path, times, values, interpolation)."""
        samplers = [{"input": self.add(t), "output": self.add(v), "interpolation": how} for _, _, t, v, how in channels]
        targets = [{"sampler": i, "target": {"node": c[0], "path": c[1]}} for i, c in enumerate(channels)]
        self.tree.setdefault("animations", []).append({"name": name, "samplers": samplers, "channels": targets})

    def glb(self) -> bytes:
        tree = {**self.tree, "buffers": [{"byteLength": len(self.data)}]}
        head = json.dumps(tree).encode()
        head += b" " * (-len(head) % 4)
        body = self.data + bytes(-len(self.data) % 4)
        chunks = struct.pack("<II", len(head), 0x4E4F534A) + head + struct.pack("<II", len(body), 0x004E4942) + body
        return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks

    def read(self, **options: Any) -> Clip:
        return read_stream(io.BytesIO(self.glb()), "made.glb", ReadOptions(**options))


def matrix(place: Any = (0, 0, 0), turn: Any = (1, 0, 0, 0), scale: float = 1.0) -> np.ndarray:
    out = np.eye(4)
    out[:3, :3] = to_matrix(np.array(turn, float)) * scale
    out[:3, 3] = place
    return out


def turn(axis: str, degrees: float) -> np.ndarray:
    """A rotation, scalar first."""
    return from_axis_angle(np.eye(3)["xyz".index(axis)], np.radians(degrees))


def xyzw(q: np.ndarray) -> list[float]:
    return q[..., [1, 2, 3, 0]].tolist()


def legged(scale: float = 1.0, turned: np.ndarray | None = None) -> tuple[Maker, np.ndarray]:
    """A body under a scaled, turned armature, with a bare node between its joints; and its joints' places.

    The nodes stand in another pose than the one the mesh was bound in.
    """
    turned = np.array([1.0, 0, 0, 0]) if turned is None else turned
    armature = matrix((0.5, 0.0, 0.0), turned, scale)
    bound = [matrix((0, 1, 0)), matrix((0, 1.4, 0), turn("z", 20)), matrix((0.3, 1.4, 0), turn("x", 10))]
    maker = Maker(
        nodes=[
            {"name": "rig", "children": [1, 4], "matrix": armature.T.ravel().tolist()},
            {"name": "hips", "children": [2], "translation": [0, 1 / scale, 0]},
            {"name": "socket", "children": [3], "translation": [0, 0.4 / scale, 0], "scale": [2, 2, 2]},
            {"name": "arm", "children": [5], "rotation": xyzw(turn("z", -30)), "scale": [0.5] * 3},
            {"name": "body", "mesh": 0, "skin": 0},
            {"name": "hand", "children": [6], "translation": [0.3 / scale, 0, 0], "rotation": xyzw(turn("y", 5))},
            {"name": "hand_end", "translation": [0.1 / scale, 0, 0]},
        ],
        scenes=[{"nodes": [0]}],
    )  # fmt: skip
    # Bound in the armature's own axes: armature * inverse(IBM) is the joint's bound world, scaled like its node.
    worlds = [
        armature @ matrix((pose[:3, 3]) / scale) @ np.block([[pose[:3, :3], np.zeros((3, 1))], [0, 0, 0, 1]])
        for pose in bound
    ]
    binds = [np.linalg.inv(world) @ armature for world in worlds]
    maker.tree["skins"] = [{"joints": [1, 3, 5], "inverseBindMatrices": maker.add(np.array(binds))}]
    vertices = np.array([[0, 1, 0.1], [0.1, 1.4, 0], [0.4, 1.4, 0.05]]) / scale
    maker.tree["meshes"] = [
        {
            "primitives": [
                {
                    "attributes": {
                        "POSITION": maker.add(vertices),
                        "JOINTS_0": maker.add([[0, 0, 0, 0], [1, 0, 0, 0], [2, 1, 0, 0]], "u1"),
                        "WEIGHTS_0": maker.add(
                            [[255, 0, 0, 0], [255, 0, 0, 0], [204, 51, 0, 0]], "u1", normalized=True
                        ),
                    },
                    "indices": maker.add([0, 1, 2], "<u2"),
                }
            ]
        }
    ]
    return maker, np.array([world[:3, 3] for world in worlds])


@pytest.mark.parametrize("scale", [1.0, 0.01, 100.0])
def test_the_rest_pose_is_the_bind_pose_in_metres(scale: float) -> None:
    maker, places = legged(scale, turn("x", -90))
    clip = maker.read()
    assert clip.skeleton.names == ("hips", "arm", "hand")
    assert clip.skeleton.parents.tolist() == [-1, 0, 1]
    assert np.allclose(clip.skeleton.rest_world[0], places, atol=1e-6)
    assert angle_between(clip.skeleton.rest_world[1][0], turn("x", -90)) < 1e-6
    assert np.allclose(clip.skeleton.lengths[1:], [0.4, 0.3], atol=1e-6)
    assert [(end.name, end.joint) for end in clip.skeleton.ends] == [("hand_end", "hand")]
    assert np.allclose(clip.skeleton.ends[0].offset, [0.1, 0, 0], atol=1e-6)
    assert (clip.unit, clip.up, clip.format) == (1.0, "Y", "gltf")
    mesh = clip.meshes[0]
    assert np.allclose(skinned(mesh, clip.skeleton)[0], mesh.vertices, atol=1e-6)
    upright = np.array([[0, 1, 0.1], [0.1, 1.4, 0], [0.4, 1.4, 0.05]]) @ to_matrix(turn("x", -90)).T + [0.5, 0, 0]
    assert np.allclose(mesh.vertices, upright, atol=1e-6)
    assert np.allclose(mesh.weights[2], [0.8, 0.2, 0, 0])


@pytest.mark.parametrize("scale", [1.0, 0.01, 100.0])
def test_a_motion_is_where_the_nodes_go(scale: float) -> None:
    maker, _ = legged(scale)
    path = np.array([[0, 1, 0], [0, 1.2, 0.5]]) / scale
    sway = np.array([turn("z", -30), turn("z", 40)])
    maker.animate(
        "wave",
        (1, "translation", [0, 1], path, "LINEAR"),
        (3, "rotation", [0, 1], xyzw(sway), "LINEAR"),
        (0, "rotation", [0, 1], xyzw(np.array([turn("y", 0), turn("y", 90)])), "LINEAR"),
    )
    clip = maker.read()
    assert clip.motion is not None
    assert (clip.motion.num_frames, clip.motion.fps, clip.clips) == (25, 24.0, ("wave",))
    halfway = matrix((0.5, 0, 0), turn("y", 45), scale) @ matrix(path.mean(0))
    arm = halfway @ matrix((0, 0.4 / scale, 0), scale=2.0) @ matrix(turn=turn("z", 5), scale=0.5)
    hand = arm @ matrix((0.3 / scale, 0, 0), turn("y", 5))
    pose = fk(clip.motion)
    expected = np.array([halfway[:3, 3], arm[:3, 3], hand[:3, 3]])
    assert np.allclose(pose.positions[12], expected, atol=2e-6)
    assert angle_between(pose.rotations[12, 2], _rotation(hand)) < 1e-6
    binds = np.array(Accessors(parse(maker.glb(), "made.glb")).numbers(0, "MAT4", "binds"))
    point = np.array([0.4 / scale, 1.4 / scale, 0.05 / scale, 1.0])
    skin = 0.8 * (hand @ binds[2] @ point) + 0.2 * (arm @ binds[1] @ point)
    assert np.allclose(skinned(clip.meshes[0], clip.motion)[12, 2], skin[:3], atol=2e-6)


def _rotation(world: np.ndarray) -> np.ndarray:
    from understudy.base.quaternion import from_matrix

    return from_matrix(world[:3, :3] / np.cbrt(np.linalg.det(world[:3, :3])))


def test_steps_lines_and_splines() -> None:
    from scipy.interpolate import CubicHermiteSpline

    maker = Maker(nodes=[{"children": [1]}, {"translation": [0, 1, 0], "children": [2]}, {"translation": [0, 1, 0]}])
    keys = [0.0, 0.25, 1.0]
    values, slopes = np.array([[0, 0, 0], [1, 2, 3], [-1, 0, 4.0]]), np.array([[1, 0, 0], [0, 5, 0], [2, 2, 2.0]])
    cubic = np.stack([slopes, values, slopes], axis=1).reshape(-1, 3)
    turns = np.array([turn("x", 0), turn("x", 80), turn("y", 30)])
    maker.animate(
        "all",
        (0, "translation", keys, cubic, "CUBICSPLINE"),
        (1, "rotation", keys, xyzw(turns), "LINEAR"),
        (2, "rotation", keys, xyzw(turns), "STEP"),
    )
    clip = maker.read()
    motion = clip.motion
    assert motion is not None
    assert clip.skeleton.names == ("joint0", "joint1", "joint2")
    assert (motion.fps, motion.num_frames) == (24.0, 25)
    assert np.allclose(motion.root, CubicHermiteSpline(keys, values, slopes)(motion.times), atol=1e-6)
    assert np.max(angle_between(motion.rotations[6, 1], turns[1])) < 1e-6
    assert angle_between(motion.rotations[15, 1], slerp(turns[1], turns[2], np.array(0.5))) < 1e-6
    assert np.max(angle_between(motion.rotations[:6, 2], turns[0])) < 1e-6
    assert np.max(angle_between(motion.rotations[6:24, 2], turns[1])) < 1e-6
    assert angle_between(motion.rotations[24, 2], turns[2]) < 1e-6


@pytest.mark.parametrize(
    ("times", "fps", "frames"),
    [
        ([0, 1.25], 24.0, 31),
        (np.arange(1, 13) / 30, 30.0, 12),
        ([0, 0.04, 0.2], 25.0, 6),
        ([0, 1 / 24, 139 / 120], 120.0, 140),
        (np.arange(50) / 59.94, 59.94, 50),
        ([0, 0.7], 30.0, 22),
        ([0, 0.1234567, 0.7], 60.0, 43),
        ([0, 0.5077], None, None),
    ],
)  # fmt: skip
def test_the_frame_rate_puts_keys_on_frames(times: Any, fps: float | None, frames: int | None) -> None:
    maker = Maker(nodes=[{}])
    times = np.asarray(times, float)
    maker.animate("move", (0, "translation", times.tolist(), np.outer(times, [1, 2, 3]), "LINEAR"))
    clip = maker.read()
    assert clip.motion is not None
    if fps is not None:
        assert clip.motion.fps == pytest.approx(fps, rel=1e-6)
        assert clip.motion.num_frames == frames
    on = clip.motion.times[:-1] + times[0]
    assert np.allclose(clip.motion.root[:-1], np.outer(on, [1, 2, 3]), atol=1e-6)
    assert any("glTF has no frame rate" in note for note in clip.notes)
    assert ("sampled anew" in clip.notes[-1]) == (fps == 60.0)


def test_numbers_stored_in_every_way() -> None:
    maker = Maker(nodes=[{}])
    signed = maker.add([[-128, 127, 0, 64]], "i1", normalized=True)
    plain = maker.add([[7, 9]], "<u2")
    columns = np.arange(16.0).reshape(1, 4, 4)
    square = maker.add(columns)
    woven = np.zeros((3, 5), "<f4")
    woven[:, 1:4] = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    view = maker.view(woven.tobytes(), byteStride=20)
    accessors = maker.tree["accessors"]
    accessors.append({"bufferView": view, "byteOffset": 4, "componentType": 5126, "count": 3, "type": "VEC3"})
    sparse = {
        "count": 2,
        "indices": {"bufferView": maker.view(np.array([1, 4], "u1").tobytes()), "componentType": 5121},
        "values": {"bufferView": maker.view(np.array([5, 6], "<f4").tobytes())},
    }
    accessors.append({"componentType": 5126, "count": 6, "type": "SCALAR", "sparse": sparse})
    accessors.append({**accessors[3], "sparse": {**sparse, "count": 1, "values": {"bufferView": view}}})
    result = Accessors(parse(maker.glb(), "made.glb"))
    assert np.allclose(result.numbers(signed, "VEC4", "x"), [[-1.0, 1.0, 0.0, 64 / 127]])
    assert result.whole(plain, "VEC2", "x").tolist() == [[7, 9]]
    assert np.array_equal(result.numbers(square, "MAT4", "x"), columns)
    assert result.numbers(3, "VEC3", "x").tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert result.numbers(4, "SCALAR", "x").tolist() == [0, 5, 0, 0, 6, 0]
    assert result.numbers(5, "VEC3", "x").tolist() == [[1, 2, 3], [0, 1, 2], [7, 8, 9]]


def test_joints_without_a_common_root_get_one() -> None:
    nodes: list[dict[str, Any]] = [
        {"name": "rig", "children": [1, 2], "translation": [0, 0, 1]},
        {"name": "left", "translation": [0, 1, 0]},
        {"name": "right", "translation": [0, 2, 0]},
    ]
    clip = Maker(nodes=nodes, skins=[{"joints": [1, 2]}]).read()
    assert clip.skeleton.names == ("rig", "left", "right")
    assert clip.notes[0] == "2 joints hang from no other joint; `rig` above them was taken as their root"
    apart = [{"name": "a", "translation": [0, 1, 0]}, {"name": "a", "translation": [0, 2, 0]}]
    clip = Maker(nodes=apart, skins=[{"joints": [0, 1]}]).read()
    assert clip.skeleton.names == ("root", "a", "a_2")
    assert clip.notes[0] == "2 joints hang from no other joint; a root at the origin was made up for them"
    assert np.allclose(clip.skeleton.rest_world[0], [[0, 0, 0], [0, 1, 0], [0, 2, 0]])


def test_of_several_characters_the_largest_is_read() -> None:
    nodes: list[dict[str, Any]] = [
        {"children": [1]},
        {"name": "one"},
        {"children": [3]},
        {"name": "two", "children": [4]},
        {"name": "three"},
    ]
    clip = Maker(nodes=nodes, skins=[{"joints": [1]}, {"joints": [3, 4]}, {"joints": [4]}]).read()
    assert clip.skeleton.names == ("two", "three")
    assert clip.dropped == ("2 characters; the one with the most joints is read, 1 skins of others are not",)


def test_skins_that_hang_below_each_other_are_of_one_character() -> None:
    # As FBX2glTF writes them: joints that carry no vertex are in no skin.
    nodes: list[dict[str, Any]] = [
        {"name": "body", "children": [1]},
        {"name": "spine", "translation": [0, 1, 0], "children": [2]},
        {"name": "neck", "translation": [0, 1, 0], "children": [3]},
        {"name": "head", "translation": [0, 1, 0]},
    ]
    clip = Maker(nodes=nodes, skins=[{"joints": [0]}, {"joints": [3]}]).read()
    assert clip.skeleton.names == ("body", "head")
    assert clip.dropped == ()
    assert np.allclose(clip.skeleton.rest_world[0], [[0, 0, 0], [0, 3, 0]])


@pytest.mark.parametrize(("scale", "uneven"), [([-2, 2, 2], False), ([-2, -2, -2], False), ([-2, 2, 2.1], True)])
def test_mirrored_joints_are_not_called_uneven(scale: list[float], uneven: bool) -> None:
    nodes = [{"name": "hip", "children": [1], "scale": scale}, {"name": "knee", "translation": [0, -0.5, 0]}]
    clip = Maker(nodes=nodes, skins=[{"joints": [0, 1]}], scenes=[{"nodes": [0]}]).read()
    assert any("unevenly" in note for note in clip.notes) == uneven


def test_a_stiff_mesh_moves_with_the_joint_it_hangs_from() -> None:
    maker, _ = legged()
    maker.tree["nodes"][6] |= {"mesh": 1, "rotation": xyzw(turn("x", 30))}
    maker.tree["nodes"].append({"mesh": 1, "name": "prop"})
    strip = {"attributes": {"POSITION": maker.add(np.random.default_rng(3).normal(size=(5, 3)))}, "mode": 5}
    maker.tree["meshes"].append({"primitives": [strip, {**strip, "mode": 0}]})
    clip = maker.read()
    mesh = next(mesh for mesh in clip.meshes if mesh.name == "hand_end")
    assert mesh.triangles.tolist() == [[0, 1, 2], [2, 1, 3], [2, 3, 4]]
    assert set(mesh.joints.ravel()) == {2}
    assert np.allclose(skinned(mesh, clip.skeleton)[0], mesh.vertices, atol=1e-12)
    assert clip.dropped == (
        "2 of the meshes has points or lines, which are not read",
        "1 of the meshes hangs from no joint of the character",
    )


def test_the_first_animation_that_moves_joints_is_read(tmp_path: Path) -> None:
    maker = Maker(nodes=[{"name": "hip"}, {"name": "prop"}])
    maker.animate("empty")
    maker.animate("pose", (0, "translation", [0, 1], [[1, 0, 0], [1, 0, 0]], "LINEAR"))
    maker.animate("walk", (0, "translation", [0, 1], [[0, 0, 0], [2, 0, 0]], "LINEAR"))
    path = tmp_path / "made.glb"
    path.write_bytes(maker.glb())
    clip = read(path)
    assert clip.motion is not None
    assert (clip.motion.name, clip.empty_clips) == ("walk", ("empty",))
    assert "3 animations; `walk`, the first that moves joints, is read; others: `made.glb#pose`" in clip.notes
    assert read(path, clip="empty").motion is None


def test_an_animation_is_chosen_by_name(tmp_path: Path) -> None:
    maker = Maker(nodes=[{"name": "hip"}])
    for name, far in (("Walk", 1.0), ("", 2.0), ("Walk", 3.0)):
        maker.animate(name, (0, "translation", [0, 1], [[0, 0, 0], [far, 0, 0]], "LINEAR"))
    path = tmp_path / "made.glb"
    path.write_bytes(maker.glb())
    assert read(path).clips == ("Walk", "animation0", "Walk_2")
    for name, far in (("Walk", 1.0), ("animation0", 2.0), ("Walk_2", 3.0)):
        for clip in (read(path, clip=name), read(f"{path}#{name}")):
            assert clip.motion is not None
            assert (clip.motion.name, clip.motion.root[-1, 0]) == (name, far)
    assert any(note.startswith("3 animations; `Walk`, the first, is read") for note in read(path).notes)
    with pytest.raises(UnknownNameError, match="holds no animation `walk`; nearest: `Walk`"):
        read(path, clip="walk")
    with pytest.raises(UnknownNameError, match="holds no animation `Fly`"):
        read(f"{path}#Fly")
    bare = tmp_path / "bare.glb"
    bare.write_bytes(Maker(nodes=[{}], skins=[{"joints": [0]}]).glb())
    with pytest.raises(OptionError, match="holds no named animations, so there is no `Walk` to choose"):
        read(bare, clip="Walk")


def test_buffers_inside_and_beside_the_file(tmp_path: Path) -> None:
    maker, places = legged()
    for uri in ("numbers of it.bin", "data:application/gltf-buffer;base64," + base64.b64encode(maker.data).decode()):
        (tmp_path / "numbers of it.bin").write_bytes(maker.data)
        tree = {**maker.tree, "buffers": [{"byteLength": len(maker.data), "uri": uri.replace(" ", "%20")}]}
        path = tmp_path / "made.gltf"
        path.write_text(json.dumps(tree))
        assert np.allclose(read(path).skeleton.rest_world[0], places, atol=1e-6)


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("../secret.bin", "lies outside the folder"),
        ("%2e%2e/secret.bin", "lies outside the folder"),
        ("link.bin", "lies outside the folder"),
        ("{folder}/secret.bin", "lies outside the folder"),
        ("file:///etc/passwd", "is no file beside this one"),
        ("https://example.com/a.bin", "is no file beside this one"),
        ("//server/a.bin", "is no file beside this one"),
        ("..\\secret.bin", "is no file beside this one"),
        ("none.bin", "there is no file `none.bin` beside this one"),
        ("short.bin", "`short.bin` has 3 bytes; expected 8"),
        ("data:text/plain,hello", "expected `data:...;base64,`"),
        ("data:;base64,@@@@", "is no base64"),
    ],
)  # fmt: skip
def test_only_files_beside_it_are_opened(uri: str, problem: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(8))
    (home / "short.bin").write_bytes(bytes(3))
    (home / "link.bin").symlink_to(tmp_path / "secret.bin")
    tree = {
        "asset": {"version": "2.0"},
        "nodes": [{}],
        "buffers": [{"byteLength": 8, "uri": uri.format(folder=tmp_path)}],
    }
    (home / "made.gltf").write_text(json.dumps(tree))
    with pytest.raises(FileError) as caught:
        read(home / "made.gltf")
    assert problem in caught.value.message
    assert "buffers[0].uri" in caught.value.message


def test_a_body_of_impossible_size_is_not_in_metres() -> None:
    nodes: list[dict[str, Any]] = [
        {"translation": [0, 12.0, 0], "children": [i + 1] if i < 11 else []} for i in range(12)
    ]
    clip = Maker(nodes=nodes).read()
    assert clip.unit == 0.01
    assert clip.unit_reason.endswith("glTF means metres, which would make 132 m")
    assert np.allclose(clip.skeleton.lengths[1:], 0.12)
    assert Maker(nodes=nodes).read(unit=1.0).unit == 1.0
