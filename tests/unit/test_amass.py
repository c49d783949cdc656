"""Motions of SMPL bodies, as AMASS publishes them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.base.errors import FileError, OptionError
from understudy.base.quaternion import Array, angle_between, exp, multiply, rotate
from understudy.correspondence.suggest import suggest
from understudy.figure.kinematics import fk
from understudy.figure.measures import height, is_humanoid, leg_length, rest_pose_kind
from understudy.figure.roles import roles
from understudy.io import read, write
from understudy.io.clip import world_from_file
from understudy.io.npz.amass import KINDS, PELVIS_OFFSET, AmassLayout, bones
from understudy.samples import character, motion

WORLD = world_from_file("Z")
FRAMES = 6


def arrays(joints: int = 52, **changed: object) -> dict[str, object]:
    rng = np.random.default_rng(2)
    result: dict[str, object] = {
        "poses": rng.normal(0.0, 0.3, (FRAMES, 3 * joints)),
        "trans": rng.normal(size=(FRAMES, 3)),
        "mocap_framerate": 120.0,
        "betas": rng.normal(size=16),
        "gender": "male",
        "dmpls": np.zeros((FRAMES, 8)),
    }
    return {**result, **changed}


def saved(path: Path, data: dict[str, object]) -> Path:
    np.savez(path, **{key: value for key, value in data.items() if value is not None})  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize("joints", KINDS)
def test_rotations_are_those_of_the_vectors(joints: int, tmp_path: Path) -> None:
    data = arrays(joints)
    clip = read(saved(tmp_path / "a_poses.npz", data))
    assert clip.motion is not None
    assert clip.skeleton.num_joints == joints
    assert clip.motion.fps == 120.0
    vectors = np.asarray(data["poses"]).reshape(FRAMES, joints, 3)
    expected = exp(vectors)
    expected[:, 0] = multiply(WORLD, expected[:, 0])
    assert angle_between(clip.motion.rotations, expected).max() < 1e-12
    np.testing.assert_allclose(clip.motion.root, rotate(WORLD, np.asarray(data["trans"]) + PELVIS_OFFSET), atol=1e-12)


def test_a_body_that_stands_in_amass_stands_here(tmp_path: Path) -> None:
    # In AMASS a body stands upright by a quarter turn of its root about x: Z is up there, Y in the body.
    upright = np.zeros((2, 66))
    upright[:, 0] = np.pi / 2.0
    clip = read(saved(tmp_path / "a.npz", arrays(22, poses=upright, trans=np.zeros((2, 3)))))
    assert clip.motion is not None
    places = fk(clip.motion).positions[0]
    skeleton = clip.skeleton
    assert places[skeleton.index["head"], 1] > places[skeleton.index["pelvis"], 1] + 0.4
    assert places[skeleton.index["left_hip"], 0] > places[skeleton.index["right_hip"], 0]


@pytest.mark.parametrize("joints", KINDS)
def test_the_average_body_is_a_human_in_a_t_pose(joints: int, tmp_path: Path) -> None:
    skeleton = read(saved(tmp_path / "a.npz", arrays(joints))).skeleton
    assert is_humanoid(skeleton)
    assert rest_pose_kind(skeleton) == "T-pose"
    assert 1.6 < height(skeleton) < 1.85
    assert 0.75 < leg_length(skeleton) < 0.9
    result = roles(skeleton)
    assert skeleton.names[result["left_upper_leg"]] == "left_hip"
    assert skeleton.names[result["right_hand"]] == "right_wrist"
    lowest = min(skeleton.rest_world[0][:, 1].min(), skeleton.rest_ends[:, 1].min())
    assert abs(lowest) < 0.02, "it stands on the floor"
    places = dict(zip(skeleton.names, skeleton.rest_world[0], strict=True))
    for name, place in places.items():
        if name.startswith("left_"):
            other = places[name.replace("left_", "right_")]
            np.testing.assert_allclose(other, place * [-1.0, 1.0, 1.0], atol=1e-12)


def test_what_is_not_used_is_said(tmp_path: Path) -> None:
    notes = read(saved(tmp_path / "a.npz", arrays())).notes
    assert notes == (
        "The body's shape (`betas`) is not used: it needs the SMPL model.",
        "The soft-tissue motion (`dmpls`) is not used.",
        "The bone lengths are those of an average body; --skeleton FILE gives others.",
    )


@pytest.mark.parametrize(
    ("changed", "fps", "noted"),
    [
        ({"mocap_framerate": None, "mocap_frame_rate": 60.0}, 60.0, False),
        ({"mocap_framerate": None, "fps": 25.0}, 25.0, False),
        ({"mocap_framerate": None}, 30.0, True),
    ],
)
def test_frame_rates_by_any_name(changed: dict[str, object], fps: float, noted: bool, tmp_path: Path) -> None:
    clip = read(saved(tmp_path / "a.npz", arrays(**changed)))
    assert clip.motion is not None
    assert clip.motion.fps == fps
    assert any("gives no frame rate; 30 frames per second are assumed" in note for note in clip.notes) == noted


def test_poses_in_parts(tmp_path: Path) -> None:
    data = arrays(55)
    whole = np.asarray(data.pop("poses"))
    parts = {"root_orient": slice(0, 3), "pose_body": slice(3, 66), "pose_jaw": slice(66, 69)}
    parts |= {"pose_eye": slice(69, 75), "pose_hand": slice(75, 165)}
    apart = read(saved(tmp_path / "a.npz", data | {key: whole[:, part] for key, part in parts.items()}))
    one = read(saved(tmp_path / "b.npz", arrays(55)))
    assert apart.motion is not None
    assert one.motion is not None
    np.testing.assert_array_equal(apart.motion.rotations, one.motion.rotations)
    short = {key: whole[: 3 if key == "pose_jaw" else None, part] for key, part in parts.items()}
    with pytest.raises(FileError, match="the parts of the pose have different numbers of frames"):
        read(saved(tmp_path / "c.npz", data | short))


def test_what_was_read_is_written_the_same(tmp_path: Path) -> None:
    data = arrays(mocap_framerate=None, mocap_frame_rate=60.0)
    clip = read(saved(tmp_path / "a.npz", data))
    notes = write(clip, tmp_path / "b.npz")
    assert notes == ("The bone lengths: an SMPL file holds the body's shape as `betas`, which are written unchanged.",)
    with np.load(tmp_path / "b.npz", allow_pickle=False) as result:
        assert set(result.files) == {"poses", "trans", "mocap_frame_rate", "betas", "gender"}
        np.testing.assert_allclose(result["poses"], np.asarray(data["poses"]), atol=1e-12)
        np.testing.assert_allclose(result["trans"], np.asarray(data["trans"]), atol=1e-12)
        np.testing.assert_array_equal(result["betas"], np.asarray(data["betas"]))
        assert (str(result["gender"]), float(result["mocap_frame_rate"])) == ("male", 60.0)


def test_another_rig_with_these_joints_can_be_written(tmp_path: Path) -> None:
    clip = read(saved(tmp_path / "a.npz", arrays(24)))
    assert clip.motion is not None
    # Other frames in the rest pose, other names, joints in another order: a BVH of the same movement.
    names = {f"left_{part}": f"L_{part.title()}" for part in ("hip", "knee", "ankle", "wrist")}
    names = {name: names.get(name, name) for name in clip.skeleton.names}
    renamed = replace(clip.skeleton, names=tuple(names.values()), ends=())
    write(replace(clip.motion, skeleton=renamed), tmp_path / "a.bvh", unit="m")
    other = read(tmp_path / "a.bvh", unit="m", up="Y")
    write(other, tmp_path / "b_poses.npz")
    with np.load(tmp_path / "b_poses.npz") as result:
        turned: Array = exp(result["poses"].reshape(FRAMES, 24, 3))
        expected = exp(np.asarray(arrays(24)["poses"]).reshape(FRAMES, 24, 3))
        assert angle_between(turned, expected).max() < 1e-6
        assert not np.any(result["betas"])
    back = read(tmp_path / "b_poses.npz", skeleton=tmp_path / "a.bvh")
    assert back.motion is not None
    np.testing.assert_allclose(fk(back.motion).positions, fk(clip.motion).positions, atol=1e-5)


def test_offsets_come_from_a_skeleton_file(tmp_path: Path) -> None:
    clip = read(saved(tmp_path / "a.npz", arrays(52)))
    taller = clip.skeleton.scaled(1.1)
    write(taller, tmp_path / "tall.npz")
    result = read(tmp_path / "a.npz", skeleton=tmp_path / "tall.npz").skeleton
    np.testing.assert_allclose(result.offsets[1:], 1.1 * clip.skeleton.offsets[1:], atol=1e-12)
    np.testing.assert_allclose(
        [e.offset for e in result.ends], [1.1 * e.offset for e in clip.skeleton.ends], atol=1e-12
    )
    small = read(saved(tmp_path / "b.npz", arrays(22))).skeleton
    write(small.scaled(1.1), tmp_path / "small.npz")
    part = read(tmp_path / "a.npz", skeleton=tmp_path / "small.npz")
    assert any(note.startswith("30 joints are not in") and "from `left_index1`" in note for note in part.notes)


def test_a_skeleton_of_other_joints_is_refused(tmp_path: Path) -> None:
    write(character("adult"), tmp_path / "adult.bvh")
    saved(tmp_path / "a.npz", arrays())
    with pytest.raises(OptionError, match=r"adult.bvh: has \d+ of the 52 joints of an SMPL\+H body; expected them all"):
        read(tmp_path / "a.npz", skeleton=tmp_path / "adult.bvh")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"poses": np.zeros((6, 70))}, "`poses` has shape (6, 70); expected rows of 66 (SMPL body), 72 (SMPL)"),
        ({"poses": np.zeros(72)}, "`poses` has shape (72,)"),
        ({"poses": np.zeros((0, 72)), "trans": np.zeros((0, 3))}, "expected finite numbers and at least one frame"),
        ({"poses": np.full((6, 72), np.inf)}, "expected finite numbers and at least one frame"),
        ({"trans": np.zeros((5, 3))}, "`trans`: expected shape (6, 3), got (5, 3)"),
        ({"trans": np.full((6, 3), np.nan)}, "the numbers make no motion"),
        ({"mocap_framerate": 0.0}, "the numbers make no motion: Expected frames per second above zero"),
    ],
)
def test_what_is_wrong_is_said(changed: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        read(saved(tmp_path / "a.npz", arrays(24, **changed)))
    assert message in caught.value.message


def test_only_such_bodies_are_written(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="its skeleton has no `pelvis`"):
        write(motion("walk").motion, tmp_path / "a_poses.npz")
    with pytest.raises(OptionError, match="it holds no motion"):
        write(character("adult"), tmp_path / "b.amass.npz")


def test_an_odd_gender_is_left_alone(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.npz", arrays(24, gender=np.array(["male", "x"])))
    layout = read(path).layout
    assert isinstance(layout, AmassLayout)
    assert layout.gender == "neutral"


def test_joints_correspond_to_other_characters(tmp_path: Path) -> None:
    skeleton = read(saved(tmp_path / "a.npz", arrays(24))).skeleton
    pairs = {pair.source[0]: pair.target[0] for pair in suggest(skeleton, character("adult")).pairs}
    assert pairs["pelvis"] == "Hips"
    assert pairs["left_knee"] == "LeftLeg"
    assert pairs["right_elbow"] == "RightForeArm"


def test_the_trees_hang_together() -> None:
    for count in KINDS:
        tree = bones(count)
        assert tree is not None
        assert len(tree) == count
        seen = {""}
        for name, parent, _ in tree:
            assert parent in seen
            seen.add(name)
    assert bones(23) is None
