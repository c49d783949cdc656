"""Rules for every file format: what is written can be read again, and is the same."""

from __future__ import annotations

import io
import pickle
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import FileError, OptionError
from understudy.base.quaternion import angle_between, exp
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.io.clip import Clip, Format, WriteOptions, formats, read, write
from understudy.retarget.root_motion import with_root_motion

NAMES = (
    "Hips", "Spine", "Chest", "Neck", "Head", "LeftArm", "LeftForeArm", "LeftHand",
    "RightArm", "RightForeArm", "RightHand", "LeftUpLeg", "LeftLeg", "LeftFoot", "RightUpLeg", "RightLeg", "RightFoot",
)  # fmt: skip
PARENTS = np.array([-1, 0, 1, 2, 3, 2, 5, 6, 2, 8, 9, 0, 11, 12, 0, 14, 15])
OFFSETS = np.array(
    [
        [0, 0.95, 0], [0, 0.15, 0], [0, 0.2, 0], [0, 0.2, 0], [0, 0.1, 0.02],
        [0.2, 0.15, 0], [0.28, 0, 0], [0.25, 0, 0], [-0.2, 0.15, 0], [-0.28, 0, 0], [-0.25, 0, 0],
        [0.1, -0.05, 0], [0, -0.42, 0], [0, -0.42, 0], [-0.1, -0.05, 0], [0, -0.42, 0], [0, -0.42, 0],
    ]
)  # fmt: skip
TOLERANCE = 1e-5
"""Largest error of a joint's position after writing and reading, in metres."""


def writable() -> list[str]:
    """Formats that are written and read; a format that is only written has tests of its own."""
    return [name for name, item in formats().items() if item.write is not None and item.read is not None]


@cache
def person() -> Motion:
    """A walking man of ordinary size. Every format should find his unit and up axis."""
    tips = {"Head": [0, 0.2, 0], "LeftHand": [0.1, 0, 0], "RightHand": [-0.1, 0, 0]}
    tips |= {"LeftFoot": [0, -0.05, 0.15], "RightFoot": [0, -0.05, 0.15]}
    ends = tuple(Point(name=f"{joint}_end", joint=joint, offset=np.array(tip, float)) for joint, tip in tips.items())
    skeleton = Skeleton(names=NAMES, parents=PARENTS, offsets=OFFSETS, ends=ends)
    rng = np.random.default_rng(3)
    phase = np.linspace(0, 12, 45)[:, None, None]
    turns = 0.35 * np.sin(phase + rng.uniform(0, 6, (1, len(NAMES), 3)))
    root = np.stack([0.02 * np.sin(phase[:, 0, 0]), np.full(45, 0.95), np.linspace(0, 1.5, 45)], axis=1)
    return Motion(skeleton=skeleton, fps=30.0, root=root, rotations=exp(turns))


def written(file_format: Format, clip: Clip) -> bytes:
    assert file_format.write is not None
    stream = io.BytesIO()
    notes = file_format.write(clip, stream, WriteOptions())
    assert all(isinstance(sentence, str) and sentence for sentence in notes)
    return stream.getvalue()


def assert_same_movement(result: Clip, expected: Motion) -> None:
    """Check that no joint is missing and that every joint has the same position in every frame."""
    assert result.motion is not None
    assert result.motion.num_frames == expected.num_frames
    assert result.motion.fps == pytest.approx(expected.fps, rel=1e-6)
    assert set(expected.skeleton.names) <= set(result.skeleton.names)
    joints = [result.skeleton.joint(name) for name in expected.skeleton.names]
    error = np.abs(fk(result.motion).positions[:, joints] - fk(expected).positions)
    assert error.max() < TOLERANCE


def numpy_file(values: list[list[float]]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array(values))
    return stream.getvalue()


QPOS = [[0, 0, 1, 1, 0, 0, 0, 0.1, 0.2], [0.1, 0, 1, 0.8, 0, 0, 0.6, -0.1, 0.4]]

OWN_FILES: dict[str, str | bytes] = {
    "asf": """:version 1.10
:name leg
:units
  length 0.45
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name thigh
    direction 0 -1 0
    length 8
    axis 0 0 20 XYZ
    dof rx ry rz
    limits (-160 20) (-70 70) (-60 70)
  end
  begin
    id 2
    name shin
    direction 0 -1 0
    length 7.5
    axis 0 0 20 XYZ
    dof rx
    limits (-10 170)
  end
:hierarchy
  begin
    root thigh
    thigh shin
  end
""",
    "urdf": """<robot name="leg">
  <link name="pelvis"/><link name="thigh"/><link name="shin"/>
  <joint name="hip" type="revolute"><parent link="pelvis"/><child link="thigh"/><origin xyz="0 0.1 -0.1"/>
    <axis xyz="0 1 0"/><limit lower="-1.5" upper="0.8"/></joint>
  <joint name="knee" type="revolute"><parent link="thigh"/><child link="shin"/><origin xyz="0 0 -0.4"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="2.5"/></joint>
</robot>
""",
    "csv": "# fps: 30\nroot_x,root_y,root_z,root_qw,root_qx,root_qy,root_qz,hip,knee\n"
    "0,0,1,1,0,0,0,0.1,0.2\n0.1,0,1,0.8,0,0,0.6,-0.1,0.4\n",
    "gmr": pickle.dumps(
        {
            "fps": 30,
            "root_pos": [r[:3] for r in QPOS],
            "root_rot": [[*r[4:7], r[3]] for r in QPOS],
            "dof_pos": [r[7:] for r in QPOS],
            "local_body_pos": None,
            "link_body_list": None,
        }
    ),
    "qpos": numpy_file(QPOS),
    "vrm": """{"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "extensionsUsed": ["VRMC_vrm"],
"nodes": [{"name": "a", "translation": [0, 1, 0], "children": [1]}, {"name": "b", "translation": [0, 0.5, 0]}],
"animations": [{"name": "nod", "channels": [{"sampler": 0, "target": {"node": 1, "path": "rotation"}}],
"samplers": [{"input": 0, "output": 1}]}],
"buffers": [{"byteLength": 40,
"uri": "data:application/octet-stream;base64,AAAAAAAAgD8AAAAAAAAAAAAAAAAAAIA/AAAAPwAAAD8AAAA/AAAAPw=="}],
"bufferViews": [{"buffer": 0, "byteLength": 8}, {"buffer": 0, "byteOffset": 8, "byteLength": 32}],
"accessors": [{"bufferView": 0, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1]},
{"bufferView": 1, "componentType": 5126, "count": 2, "type": "VEC4"}],
"extensions": {"VRMC_vrm": {"humanoid": {"humanBones": {"hips": {"node": 0}, "spine": {"node": 1}}}}}}""",
    "amc": ":FULLY-SPECIFIED\n:DEGREES\n"
    "1\nroot 1 16 3 0 10 0\nthigh 1 2 3\nshin 4\n2\nroot 2 17 4 0 20 5\nthigh 10 20 30\nshin 40\n",
}
"""Files of the formats that only write clips which were read from a file of the same format."""


def source(name: str, folder: Path) -> Path:
    """A file of a format: written from our person if the format can, else the file above with those it needs."""
    for other, data in OWN_FILES.items():
        path = folder / f"made{formats()[other].suffixes[0]}"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    path = folder / f"made{formats()[name].suffixes[0]}"
    if name not in OWN_FILES:
        write(person(), path)
    return path


@pytest.mark.parametrize("name", writable())
def test_a_motion_comes_back(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"made{formats()[name].suffixes[0]}"
    if name in OWN_FILES:
        with pytest.raises(OptionError) as caught:
            write(person(), path)
        assert caught.value.hint
        assert not path.exists()
        return
    write(person(), path)
    clip = read(path)
    assert clip.format == name
    assert_same_movement(clip, person())


@pytest.mark.parametrize("name", [name for name in writable() if name not in OWN_FILES])
def test_a_skeleton_comes_back(name: str, tmp_path: Path) -> None:
    skeleton = person().skeleton
    path = tmp_path / f"made{formats()[name].suffixes[0]}"
    write(skeleton, path)
    result = read(path).skeleton
    joints = [result.joint(joint) for joint in skeleton.names]
    places = result.rest_world[0][joints]
    expected = skeleton.rest_world[0]
    # A format may lose where the root stands in the rest pose, never how the body is built.
    assert np.abs((places - places[0]) - (expected - expected[0])).max() < TOLERANCE


@pytest.mark.parametrize("name", writable())
def test_what_was_read_is_written_the_same_again(name: str, tmp_path: Path) -> None:
    clip = read(source(name, tmp_path))
    second = tmp_path / f"again{formats()[name].suffixes[0]}"
    write(clip, second)
    back = read(second, skeleton=tmp_path / "made.asf" if name == "amc" else None)
    assert (back.unit, back.up) == (clip.unit, clip.up)
    assert back.skeleton.names == clip.skeleton.names
    assert np.array_equal(back.skeleton.parents, clip.skeleton.parents)
    assert np.allclose(back.skeleton.offsets, clip.skeleton.offsets, atol=1e-7)
    assert np.allclose(back.skeleton.rest, clip.skeleton.rest, atol=1e-7)
    assert back.skeleton.kinds == clip.skeleton.kinds
    assert np.allclose(back.skeleton.limits, clip.skeleton.limits, atol=1e-6)
    assert [end.name for end in back.skeleton.ends] == [end.name for end in clip.skeleton.ends]
    assert (back.motion is None) == (clip.motion is None)
    if clip.motion is not None and back.motion is not None:
        assert np.max(angle_between(back.motion.rotations, clip.motion.rotations)) < 1e-5
        assert np.allclose(back.motion.root, clip.motion.root, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in writable() if name not in OWN_FILES])
def test_unit_and_axis_can_be_chosen(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"made{formats()[name].suffixes[0]}"
    write(person(), path, unit="mm", up="Z")
    assert_same_movement(read(path, unit="mm", up="Z"), person())


@pytest.mark.parametrize("name", [name for name, item in formats().items() if item.read is not None])
@pytest.mark.parametrize("data", [b"", b"\x00\x01\x02\x03" * 50, b"hello, world\n"], ids=["empty", "binary", "text"])
def test_what_is_no_such_file_is_refused_with_its_name(name: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"wrong{formats()[name].suffixes[0]}"
    path.write_bytes(data)
    with pytest.raises(FileError) as caught:
        read(path)
    assert "wrong" in caught.value.message


def test_suffixes_belong_to_one_format_each() -> None:
    suffixes = [suffix for item in formats().values() for suffix in item.suffixes]
    assert len(suffixes) == len(set(suffixes))
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in suffixes)


def test_a_clip_of_another_format_can_be_written_as_bvh() -> None:
    clip = replace(Clip.of(person()), format="elsewhere", unit=0.3048, up="Z", layout={"not": "a BVH layout"})
    data = written(formats()["bvh"], clip)
    assert b"OFFSET 0.0 95.0 0.0" in data


@pytest.mark.parametrize("suffix", [".glb", ".fbx", ".usda", ".usdz"])
@pytest.mark.parametrize("source", [".glb", ".fbx", ".usda"])
def test_other_animations_go_into_new_files(source: str, suffix: str, tmp_path: Path) -> None:
    for needed in {"ufbx" if ".fbx" in (source, suffix) else "", "pxr" if "usd" in source + suffix else ""} - {""}:
        pytest.importorskip(needed)
    walk = samples.motion("walk").motion[:24]
    first = with_root_motion(Clip.of(replace(walk, name="Walk")))[0]
    assert first.motion is not None
    run = replace(first.motion[[*range(0, 24, 2)]], name="Run", fps=24.0)
    write(first, tmp_path / f"hero{source}")
    clip = read(tmp_path / f"hero{source}")
    write(replace(clip, motion=replace(run, skeleton=clip.skeleton)), tmp_path / f"hero{source}")
    clip = read(tmp_path / f"hero{source}")
    assert set(clip.clips) == {"Walk", "Run"}
    new = replace(clip.motion, name="New") if clip.motion is not None else None
    lost = write(replace(clip, motion=new, layout=None), tmp_path / f"out{suffix}")
    assert not any("animations" in sentence for sentence in lost)
    out = read(tmp_path / f"out{suffix}")
    assert (out.clips[0], set(out.clips)) == ("New", {"New", "Walk", "Run"})
    for expected in (first.motion, run):
        found = read(tmp_path / f"out{suffix}", clip=expected.name).motion
        assert found is not None
        back = found if found.num_frames == expected.num_frames else found.resampled(expected.fps)
        joints = [back.skeleton.joint(name) for name in expected.skeleton.names]
        places = fk(back).positions[: expected.num_frames, joints]
        assert np.abs(places - fk(expected).positions).max() < 1e-4
    # Who names an animation wants this one alone, and so does who asks for no others.
    write(replace(read(tmp_path / f"hero{source}#Run"), layout=None), tmp_path / f"one{suffix}")
    assert read(tmp_path / f"one{suffix}").clips == ("Run",)
    write(replace(clip, layout=None), tmp_path / f"one{suffix}", others=False)
    assert len(read(tmp_path / f"one{suffix}").clips) == 1
