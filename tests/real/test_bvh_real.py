"""Real BVH files: all load or are refused as they should, agree with what others found in them, and come back."""

# ruff: noqa: E501 (the messages are whole)

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.base.errors import FileError
from understudy.base.quaternion import Array, angle_between, conjugate, from_euler, multiply, rotate, to_euler, unrotate
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.io.bvh.reader import BvhLayout, columns_of, read
from understudy.io.bvh.writer import write
from understudy.io.clip import UNITS, Clip, ReadOptions, WriteOptions, name_unit, world_from_file
from understudy.io.guess import find_reference_frame

RAW = ReadOptions(unit=1.0, up="Y")
"""Numbers as they stand in the file."""

REFUSED = {
    "dali_test-empty.bvh": "1: the file is empty; expected `HIERARCHY`",
    "dali_test-invalid-hierarchy0.bvh": "15: `MOTION` begins while joint `root` is still open: a closing brace `}` is missing",
    "dali_test-invalid-hierarchy2.bvh": "3: expected `{` to open joint `root`, found `OFFSET`",
    "dali_test-invalid-hierarchy4.bvh": "11: expected `{` to open the End Site of joint `first`, found `OFFSET`",
    "dali_test-invalid-hierarchy6.bvh": "12: found `{` in the End Site of joint `first`; expected OFFSET or `}`",
    "dali_test-invalid-hierarchy7.bvh": "4: a second `{` in joint `root`; expected OFFSET, CHANNELS, JOINT, End Site or `}`",
    "dali_test-invalid-motion0.bvh": "21: the motion ends after 2 frames; `Frames:` promises 3",
    "dali_test-invalid-motion2.bvh": "17: expected `Frames:` and how many there are, found `Frame Time:\t0.3`",
    "pybvh_inline_bad_count.bvh": "15: the motion ends after 2 frames; `Frames:` promises 3",
}  # fmt: skip

TRUTH = {
    "cmu_bvh/*.bvh": ("cmu", "Y"),
    "humans/cmu_131_03_3dsmax.bvh": ("cmu", "Y"),
    "humans/animdraw_cmu_jumping_jacks.bvh": ("cmu", "Y"),
    "humans/cmu_131_03_metres.bvh": ("m", "Y"),
    "humans/cmu_11_01_daz.bvh": ("cm", "Y"),
    "humans/rokoko_jesse_dance.bvh": ("cm", "Y"),
    "humans/xsens_like_pybvh_test2.bvh": ("cm", "Y"),
    "humans/milad_all_position_channels.bvh": ("cm", "Y"),
    "bvh_conformance/bvhpython_test_mocapbank.bvh": ("cm", "Y"),
    "bvh_conformance/bvhtoolbox_walk01.bvh": ("cm", "Y"),
    "animals/dog_*.bvh": ("cm", "Y"),
    "humans/makehuman_*.bvh": ("dm", "Z"),
    "animals/synthetic_*.bvh": ("m", "Y"),
    # Hips 24 and 36 units above the floor along Z; 1.17 m and 1.70 m along the bones in inches.
    "humans/animdraw_fair1_zombie.bvh": ("inch", "Z"),
    "humans/pybvh_test1_mixed_orders.bvh": ("inch", "Z"),
    "bvh_conformance/bvhio_example.bvh": ("inch", "Y"),
    # Too few joints to judge by: what most files have.
    "bvh_conformance/momentum_simple.bvh": ("cm", "Y"),
    "bvh_conformance/fairmotion_sinusoidal.bvh": ("cm", "Y"),
    "bvh_conformance/dali_test.bvh": ("cm", "Y"),
    "bvh_conformance/bvh_anim_test_simple.bvh": ("cm", "Y"),
    "bvh_conformance/pybvh_[fr]*.bvh": ("cm", "Y"),
    "bvh_conformance/pybvh_inline_blank_lines.bvh": ("cm", "Y"),
    "bvh_conformance/univrm_hierarchy_cgspeed.bvh": ("cmu", "Y"),
    "bvh_conformance/univrm_hierarchy_louise.bvh": ("cm", "Y"),
    "bvh_conformance/univrm_hierarchy_mocap.bvh": ("cm", "Y"),
    "bvh_conformance/univrm_hierarchy_mocapdatacom.bvh": ("inch", "Y"),
}


def load(path: Path, options: ReadOptions = RAW) -> Clip:
    with path.open("rb") as stream:
        return read(stream, path.name, options)


def motion_of(clip: Clip) -> Motion:
    assert clip.motion is not None
    return clip.motion


def layout_of(clip: Clip) -> BvhLayout:
    assert isinstance(clip.layout, BvhLayout)
    return clip.layout


def numbers_of(clip: Clip) -> Array:
    values = layout_of(clip).values
    assert values is not None
    return values


def valid(data: Path) -> list[Path]:
    return [path for path in sorted(data.rglob("*.bvh")) if path.name not in REFUSED]


@pytest.mark.parametrize("name", REFUSED)
def test_malformed_files_are_refused_with_their_line(data: Path, name: str) -> None:
    with pytest.raises(FileError) as caught:
        load(data / "bvh_conformance" / name)
    assert caught.value.message == f"{name}:{REFUSED[name]}"


def test_every_other_file_loads(data: Path) -> None:
    paths = valid(data)
    assert len(paths) >= 59
    for path in paths:
        clip = load(path, ReadOptions())
        assert (clip.motion is None) == path.name.startswith("univrm_"), path.name
        assert not clip.dropped, path.name
        assert clip.unit_reason, path.name
        assert clip.up_reason, path.name


def test_every_file_comes_back_number_by_number(data: Path) -> None:
    for path in valid(data):
        clip = load(path, ReadOptions())
        stream = io.BytesIO()
        said = write(clip, stream, WriteOptions())
        stream.seek(0)
        back = read(stream, path.name, ReadOptions())
        a, b = layout_of(clip), layout_of(back)
        assert (a.names, a.parents, a.channels, a.site_labels) == (b.names, b.parents, b.channels, b.site_labels)
        assert (clip.unit, clip.up) == (back.unit, back.up), path.name
        assert np.allclose(back.skeleton.offsets, clip.skeleton.offsets, rtol=0, atol=1e-5 * clip.unit)
        assert [end.name for end in back.skeleton.ends] == [end.name for end in clip.skeleton.ends]
        assert np.allclose(
            [end.offset for end in back.skeleton.ends], [end.offset for end in clip.skeleton.ends],
            rtol=0, atol=1e-5 * clip.unit,
        )  # fmt: skip
        if clip.motion is None:
            assert said == ("there is no motion: one frame of the rest pose is written",)
            continue
        assert said == (), path.name
        assert a.frame_time == b.frame_time
        columns = columns_of(a.channels)
        angles, places = columns.rotations[columns.rotations >= 0], columns.positions[columns.positions >= 0]
        error = np.abs(numbers_of(back) - numbers_of(clip))
        assert error[:, angles].max() < 1e-4, path.name
        assert error[:, places].max() < 1e-5, path.name


@pytest.mark.parametrize("pattern", TRUTH)
def test_unit_and_up_axis_are_guessed(data: Path, pattern: str) -> None:
    paths = sorted(data.glob(pattern))
    assert paths
    for path in paths:
        clip = load(path, ReadOptions())
        assert (name_unit(clip.unit), clip.up) == TRUTH[pattern], f"{path.name}: {clip.unit_reason}; {clip.up_reason}"


def test_guesses_hold_without_the_reference_pose_and_for_short_cuts(data: Path) -> None:
    from understudy.io.guess import guess

    for path in sorted(data.glob("cmu_bvh/*.bvh")):
        motion = motion_of(load(path))
        found = guess(motion.skeleton, motion[motion.num_frames // 2 :])
        # Get-ups, rolls and crawls have no upright part of their own in every cut; the others do.
        if path.stem not in ("140_01", "133_01", "127_23"):
            assert found.up == "Y", f"{path.name}: {found.up_reason}"
        assert found.unit == UNITS["cmu"]


def test_cmu_files_begin_with_a_reference_pose(data: Path) -> None:
    for path in sorted(data.glob("cmu_bvh/*.bvh")):
        clip = load(path, ReadOptions())
        assert layout_of(clip).reference_frame == find_reference_frame(motion_of(clip)) == 0, path.name
    assert layout_of(load(data / "humans" / "cmu_11_01_daz.bvh")).reference_frame == 0
    others = ("cmu_131_03_3dsmax", "rokoko_jesse_dance", "makehuman_walk1", "animdraw_fair1_zombie")
    for name in others:
        assert layout_of(load(data / "humans" / f"{name}.bvh")).reference_frame is None, name


def test_three_encodings_of_one_take_agree(data: Path) -> None:
    original = load(data / "cmu_bvh" / "131_03.bvh", ReadOptions())
    other = load(data / "humans" / "cmu_131_03_3dsmax.bvh", ReadOptions())
    metres = load(data / "humans" / "cmu_131_03_metres.bvh", ReadOptions())
    assert metres.notes == ("the last 146 frames are copies of frame 1101",)
    wanted = fk(motion_of(original)).positions[1:]
    # The releases name joints differently and keep their order; fingers and thumbs differ, as the data says.
    body = [j for j, name in enumerate(other.skeleton.names) if not re.search("Finger|Thumb|Index", name)]
    assert len(body) >= 25
    assert original.skeleton.parents.tolist() == other.skeleton.parents.tolist() == metres.skeleton.parents.tolist()
    found = fk(motion_of(other)).positions
    assert np.abs(found[:, body] - wanted[:, body]).max() < 2e-4 * UNITS["cmu"]
    found = fk(motion_of(metres)).positions
    assert np.abs(found[:1102][:, body] - wanted[:, body]).max() < 2e-4
    assert np.array_equal(found[1102:], np.repeat(found[1101:1102], 146, axis=0))


def test_makehuman_adds_and_stands(data: Path) -> None:
    for name, head, toe in (("tpose", "head", "toe1-1.L"), ("walk1", "Head", "LeftToe")):
        clip = load(data / "humans" / f"makehuman_{name}.bvh", ReadOptions())
        assert len(clip.notes) == 1
        assert "added to" in clip.notes[0]
        positions = fk(motion_of(clip)).positions[0]
        assert motion_of(clip).offsets is None
        names = {label.casefold(): j for j, label in enumerate(clip.skeleton.names)}
        low = positions[:, 1].min()
        assert positions[names[head.casefold()], 1] - low > 1.3
        assert toe.casefold() not in names or positions[names[toe.casefold()], 1] - low < 0.2


def test_position_channels_of_dog_and_milad(data: Path) -> None:
    dog = load(data / "animals" / "dog_run_30fps.bvh", ReadOptions())
    assert motion_of(dog).offsets is None
    assert all(len(channels) == 6 for channels in layout_of(dog).channels)
    # Said to copy OFFSET, but twenty joints of this take do not: the feet by ten centimetres.
    milad = load(data / "humans" / "milad_all_position_channels.bvh", ReadOptions())
    offsets = motion_of(milad).offsets
    assert offsets is not None
    changed = np.abs(offsets - milad.skeleton.offsets).max(axis=(0, 2))
    assert np.count_nonzero(changed[1:] > 1e-5) == 20
    assert changed[milad.skeleton.joint("LeftFoot")] == pytest.approx(0.09967, abs=1e-4)


# --- what other projects' tests expect ---


def expected_cases(data: Path) -> list[dict[str, Any]]:
    return json.loads((data / "bvh_conformance" / "expected.json").read_text())["cases"]


def test_expectations_of_other_projects_hold(data: Path) -> None:
    folder = data / "bvh_conformance"
    cases = expected_cases(data)
    assert len(cases) >= 20
    for case in cases:
        path = folder / case["file"]
        if case["expect"] == "error":
            with pytest.raises(FileError, match=rf"^{re.escape(path.name)}:\d+: "):
                load(path)
            continue
        clip = load(path)
        for key, value in case.items():
            if key.startswith("_") or key in ("file", "source", "expect", "fps_tol", "frame_time_note"):
                continue
            _check(key, value, case, clip, folder)


def _check(key: str, value: Any, case: dict[str, Any], clip: Clip, folder: Path) -> None:
    """One entry of a case; an entry of unknown meaning fails."""
    skeleton, motion = clip.skeleton, motion_of(clip)
    simple: dict[str, Callable[[], object]] = {
        "joints": lambda: skeleton.num_joints,
        "frames": lambda: motion.num_frames,
        "root": lambda: skeleton.names[0],
        "joint_names": lambda: list(skeleton.names),
        "depth": lambda: skeleton.depths.tolist(),
        "offsets": lambda: skeleton.offsets.tolist(),
        "parents": lambda: skeleton.parents.tolist(),
        "end_offset": lambda: skeleton.ends[0].offset.tolist(),
        "end_sites_excluded": lambda: not any(name.endswith("_end") for name in skeleton.names),
        "nodes_incl_end_sites_count": lambda: skeleton.num_joints + len(skeleton.ends),
        "root_rotation_order": lambda: columns_of(layout_of(clip).channels).orders[0],
    }
    if key in simple:
        assert simple[key]() == value, (case["file"], key)
    elif key == "frame_time":
        assert float(layout_of(clip).frame_time) == pytest.approx(value, abs=5e-7)
    elif key == "fps":
        assert motion.fps == pytest.approx(value, abs=case["fps_tol"])
    elif key == "duration_s":
        assert motion.duration == pytest.approx(value)
    elif key == "local_pose":
        _check_local_pose(value["values"], motion)
    elif key == "world_RestPoseWorld":
        assert np.allclose(skeleton.rest_world[0], np.array(value)[:, 0], atol=1e-4)
    elif key == "world_Pose0World":
        assert np.allclose(fk(motion).positions[0], np.array(value)[:, 0], atol=1e-4)
    elif key.startswith("golden_"):
        GOLDEN[key](folder / value, clip)
    elif key == "checks":
        for check in value:
            _check_detail(check, clip)
    else:
        pytest.fail(f"{case['file']}: nothing here checks `{key}`")


def _check_local_pose(values: list[Any], motion: Motion) -> None:
    for joint, frames in enumerate(values):
        for frame, (place, rotation) in enumerate(frames):
            wanted = motion.root[frame] if joint == 0 else motion.skeleton.offsets[joint]
            assert np.allclose(wanted, place, atol=1e-5)
            assert angle_between(motion.rotations[frame, joint], np.array(rotation)) < 2e-5


def _check_detail(check: dict[str, Any] | str, clip: Clip) -> None:
    skeleton, motion, layout = clip.skeleton, motion_of(clip), layout_of(clip)
    values, columns = numbers_of(clip), columns_of(layout_of(clip).channels)

    def column(joint: str, channel: str) -> int:
        before = sum(len(names) for names in layout.channels[: skeleton.joint(joint)])
        return before + layout.channels[skeleton.joint(joint)].index(channel)

    if isinstance(check, str):
        assert "decompose back (XYZ, degrees)" in check
        angles = to_euler(motion.rotations, "XYZ", near=np.radians(values[:, columns.rotations]))
        assert np.allclose(np.degrees(angles), values[:, columns.rotations], atol=1e-9)
        assert skeleton.ends == ()
    elif "joint_offset" in check:
        assert skeleton.offsets[skeleton.joint(check["joint_offset"])].tolist() == check["value"]
    elif "channels" in check:
        assert list(layout.channels[skeleton.joint(check["channels"])]) == check["value"]
    elif "channel" in check:
        assert values[check["frame"], column(*check["channel"])] == check["value"]
    elif "XYZrotation" in check:
        found = [values[check["frame"], column(check["joint"], f"{axis}rotation")] for axis in "XYZ"]
        assert found == check["XYZrotation"]
    elif "sum_over_frames" in check:
        assert values[:, column(*check["sum_over_frames"])].sum() == pytest.approx(check["value"], abs=check["tol"])
    elif "joint_index" in check:
        assert skeleton.joint(check["joint_index"]) == check["value"]
    elif "parent_index" in check:
        assert skeleton.parents[skeleton.joint(check["parent_index"])] == check["value"]
    elif "children" in check:
        assert [skeleton.names[j] for j in skeleton.children[skeleton.joint(check["children"])]] == check["value"]
    elif "root_translation" in check or "root_position" in check:
        wanted = check.get("root_translation", check.get("root_position"))
        assert motion.root[check["frame"]].tolist() == wanted
    elif "rotation" in check:
        assert check["rotation"].startswith("Rz(10)*Rx(20)*Ry(30)")
        wanted = from_euler(np.radians([10, 20, 30]), "ZXY")
        assert angle_between(motion.rotations[check["frame"], skeleton.joint(check["joint"])], wanted) < 1e-9
    elif "all_zero" in check:
        assert not values[check["frame"]].any()
    elif "position_channels" in check:
        joint = skeleton.joint(check["last_frame"])
        assert values[-1, columns.positions[joint]].tolist() == check["position_channels"]
    elif "world_delta" in check:
        path = fk(motion).positions[:, skeleton.joint(check["last_frame_minus_first"])]
        assert np.allclose(path[-1] - path[0], check["world_delta"])
    else:
        pytest.fail(f"nothing here checks {check}")


def _table(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(newline="") as stream:
        head, *rows = list(csv.reader(stream))
    return head, rows


def _check_positions(path: Path, clip: Clip) -> None:
    head, rows = _table(path)
    wanted = np.array(rows, float)
    pose = fk(motion_of(clip))
    places = dict(zip(clip.skeleton.names, pose.positions.transpose(1, 0, 2), strict=True))
    places |= {f"{end.joint}_End": pose.ends()[:, i] for i, end in enumerate(clip.skeleton.ends)}
    assert len(head) == 1 + 3 * len(places)
    for at in range(1, len(head), 3):
        name = head[at].removesuffix(".x")
        assert np.abs(places[name] - wanted[:, at : at + 3]).max() < 1e-5, name


def _check_rotations(path: Path, clip: Clip) -> None:
    head, rows = _table(path)
    wanted = np.radians(np.array(rows, float))
    # Called rotations of the world, but the table has each joint's own: only the root's are both.
    local = motion_of(clip).rotations
    for at in range(1, len(head), 3):
        name, order = head[at].split(".")[0], "".join(column.split(".")[1].upper() for column in head[at : at + 3])
        turned = from_euler(wanted[:, at : at + 3], order)
        assert np.max(angle_between(turned, local[:, clip.skeleton.joint(name)])) < 1e-6, name


def _check_hierarchy(path: Path, clip: Clip) -> None:
    _, rows = _table(path)
    ends = {f"{end.joint}_End": end for end in clip.skeleton.ends}
    assert len(rows) == clip.skeleton.num_joints + len(ends)
    for name, parent, *offset in rows:
        if name in ends:
            found, above = ends[name].offset, ends[name].joint
        else:
            joint = clip.skeleton.joint(name)
            found = clip.skeleton.offsets[joint]
            above = clip.skeleton.names[clip.skeleton.parents[joint]] if joint else ""
        assert above == parent
        assert np.allclose(found, np.array(offset, float), atol=1e-5)


GOLDEN = {
    "golden_world_positions": _check_positions,
    "golden_world_rotations_deg": _check_rotations,
    "golden_hierarchy": _check_hierarchy,
}


def test_z_up_files_stand_upright_inside(data: Path) -> None:
    path = data / "humans" / "pybvh_test1_mixed_orders.bvh"
    raw, clip = load(path), load(path, ReadOptions())
    turn = world_from_file("Z")
    found, wanted = fk(motion_of(clip)), fk(motion_of(raw))
    assert np.allclose(found.positions, clip.unit * rotate(turn, wanted.positions), atol=1e-9)
    assert np.allclose(unrotate(turn, found.positions) / clip.unit, wanted.positions, atol=1e-9)
    assert np.max(angle_between(multiply(conjugate(turn), found.rotations), wanted.rotations)) < 1e-7


def test_real_files_cut_off_anywhere_are_refused_or_read_up_to_the_cut(data: Path) -> None:
    path = data / "cmu_bvh" / "09_01.bvh"
    whole = path.read_bytes()
    values = numbers_of(load(path))
    start = whole.index(b"\n", whole.index(b"Frame Time")) + 1
    rng = np.random.default_rng(11)
    for cut in rng.integers(0, len(whole) - 8, 60).tolist():
        part = whole[:cut]
        with pytest.raises(FileError, match=r"^cut\.bvh:\d+: "):
            read(io.BytesIO(part), "cut.bvh", RAW)
        # Rows end in a line feed; the last one may be whole to look at with its last number cut short.
        lines = part[start:].count(b"\n") if cut > start else 0
        if lines < 1:
            continue
        clip = read(io.BytesIO(part), "cut.bvh", ReadOptions(unit=1.0, up="Y", lenient=True))
        found = numbers_of(clip)
        assert len(found) in (lines, lines + 1)
        assert np.array_equal(found[:lines], values[:lines])
        assert len(clip.dropped) == 1
        assert str(len(values)) in clip.dropped[0]
