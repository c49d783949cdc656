"""BVH: reading and writing small test files, in all common variants, and errors for damaged files."""

# ruff: noqa: E501 (the tables of errors read best with one case to a line)

from __future__ import annotations

import io
import re
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.base.errors import FileError
from understudy.base.quaternion import angle_between, from_euler, identity, multiply, normalize
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.io.bvh.reader import BvhLayout, columns_of, read
from understudy.io.bvh.writer import write
from understudy.io.clip import Clip, ReadOptions, WriteOptions, world_from_file
from understudy.io.guess import find_reference_frame

PLAIN = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Spine
  {
    OFFSET 0 10 0
    CHANNELS 3 Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 5 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.025
1 2 3 10 20 30 40 50 60
4 5 6 11 21 31 41 51 61
"""
KNOWN = ReadOptions(unit=1.0, up="Y")


def load(text: str | bytes, options: ReadOptions = KNOWN) -> Clip:
    data = text.encode() if isinstance(text, str) else text
    return read(io.BytesIO(data), "walk.bvh", options)


def saved(clip: Clip, options: WriteOptions | None = None) -> tuple[bytes, tuple[str, ...]]:
    stream = io.BytesIO()
    notes = write(clip, stream, options or WriteOptions())
    return stream.getvalue(), notes


def again(clip: Clip) -> Clip:
    return load(saved(clip)[0], ReadOptions(unit=clip.unit, up=clip.up))


def motion_of(clip: Clip) -> Motion:
    assert clip.motion is not None
    return clip.motion


def layout_of(clip: Clip) -> BvhLayout:
    assert isinstance(clip.layout, BvhLayout)
    return clip.layout


# --- what is read ---


def test_a_plain_file_gives_names_tree_angles_and_ends() -> None:
    clip = load(PLAIN)
    motion = motion_of(clip)
    assert clip.skeleton.names == ("Hips", "Spine")
    assert clip.skeleton.parents.tolist() == [-1, 0]
    assert clip.skeleton.offsets.tolist() == [[0, 0, 0], [0, 10, 0]]
    assert [(end.name, end.joint, end.offset.tolist()) for end in clip.skeleton.ends] == [
        ("Spine_end", "Spine", [0, 5, 0])
    ]
    assert motion.fps == pytest.approx(40.0)
    assert motion.root.tolist() == [[1, 2, 3], [4, 5, 6]]
    expected = from_euler(np.radians([[[10, 20, 30], [40, 50, 60]], [[11, 21, 31], [41, 51, 61]]]), "ZXY")
    assert np.allclose(motion.rotations, expected, atol=1e-15)
    assert motion.offsets is None
    assert (clip.notes, clip.dropped) == ((), ())


@pytest.mark.parametrize(
    "changed",
    [
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        PLAIN.replace("\n", "\r\n", 9),
        "\ufeff" + PLAIN,
        PLAIN.replace("  ", "\t"),
        PLAIN.replace("\n", "\n\n"),
        PLAIN.rstrip("\n"),
        PLAIN + "\n \n",
        PLAIN.replace("\n  {", " {").replace("\n{", " {"),
        PLAIN.replace("Frames: 2", "Frames:2").replace("Frame Time: 0.025", "Frame Time:\t 0.025 "),
        PLAIN.replace("Frames: 2", " FRAMES : 2").replace("Frame Time:", "frame time :"),
        PLAIN.lower().replace("hips", "Hips").replace("spine", "Spine"),
        PLAIN.replace("OFFSET 0 10 0", "OFFSET 0.0e+000 1e1 -2.2e-300"),
        PLAIN.replace("1 2 3 10", "\t1.0   2.000 +3. 1e1\t"),
        PLAIN.replace("4 5 6", "4.000000000000000000 5 .6e1"),
    ],
    ids=[
        "crlf", "cr", "mixed", "bom", "tabs", "blank lines", "no last newline", "blank end", "brace on the line",
        "tight header", "spaced header", "lower case", "exponents in OFFSET", "number styles", "many digits",
    ],
)  # fmt: skip
def test_ways_of_writing_the_same_file(changed: str) -> None:
    expected, result = load(PLAIN), load(changed)
    assert result.skeleton.names == expected.skeleton.names
    assert np.allclose(result.skeleton.offsets, expected.skeleton.offsets, atol=1e-12)
    assert np.array_equal(layout_of(result).values, layout_of(expected).values)
    assert np.array_equal(motion_of(result).rotations, motion_of(expected).rotations)


def test_names_of_any_kind_are_kept() -> None:
    named = PLAIN.replace("ROOT Hips", "ROOT Hüfte links").replace("JOINT Spine", "JOINT End")
    for encoding in ("utf-8", "latin-1"):
        clip = load(named.encode(encoding))
        assert clip.skeleton.names == ("Hüfte links", "End")
        assert [end.name for end in clip.skeleton.ends] == ["End_end"]
        data, notes = saved(clip)
        assert "Hüfte links".encode(encoding) in data
        assert notes == ()


def test_several_end_sites_get_names_of_their_own() -> None:
    site = "    End Site\n    {\n      OFFSET 0 5 0\n    }\n"
    text = PLAIN.replace(site, 2 * site).replace("Hips", "Spine_end2")
    assert [end.name for end in load(text).skeleton.ends] == ["Spine_end", "Spine_end3"]


def test_a_leaf_without_end_site_loads() -> None:
    text = re.sub(r" *End Site\s*\{[^}]*\}\n", "", PLAIN)
    assert load(text).skeleton.ends == ()


def test_hierarchy_alone_is_a_character() -> None:
    clip = load(PLAIN[: PLAIN.index("MOTION")])
    assert clip.motion is None
    assert clip.skeleton.names == ("Hips", "Spine")
    data, notes = saved(clip)
    assert notes == ("there is no motion: one frame of the rest pose is written",)
    assert motion_of(load(data)).num_frames == 1


def test_orders_and_channel_sets_may_differ_by_joint() -> None:
    text = (
        PLAIN.replace("CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation",
                      "CHANNELS 5 Yrotation Xrotation Zrotation Zposition Xposition")
        .replace("CHANNELS 3 Zrotation Xrotation Yrotation", "CHANNELS 1 Xrotation")
        .replace("1 2 3 10 20 30 40 50 60", "10 20 30 1 2 40").replace("4 5 6 11 21 31 41 51 61", "11 21 31 4 5 41")
        .replace("OFFSET 0 0 0", "OFFSET 7 8 9")
    )  # fmt: skip
    clip = load(text)
    motion = motion_of(clip)
    assert motion.root.tolist() == [[2, 8, 1], [5, 8, 4]]
    assert np.allclose(motion.rotations[0, 0], from_euler(np.radians([10, 20, 30]), "YXZ"))
    assert np.allclose(motion.rotations[1, 1], from_euler(np.radians([41, 0, 0]), "XYZ"))
    assert clip.skeleton.kinds[1] is JointKind.BALL
    assert np.array_equal(clip.skeleton.axes[0], np.eye(3)[[1, 0, 2]])
    assert np.allclose(layout_of(again(clip)).values, layout_of(clip).values, atol=1e-6)
    assert layout_of(again(clip)).channels == layout_of(clip).channels


def test_a_joint_without_channels_keeps_its_rest_pose() -> None:
    text = PLAIN.replace("CHANNELS 3 Zrotation Xrotation Yrotation", "CHANNELS 0").replace(" 40 50 60", "")
    clip = load(text.replace(" 41 51 61", ""))
    assert np.array_equal(motion_of(clip).rotations[:, 1], identity(2))
    assert layout_of(again(clip)).channels[1] == ()


# --- position channels below the root ---

PLACED = PLAIN.replace(
    "CHANNELS 3 Zrotation Xrotation Yrotation", "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation"
)


def placed(first: str, second: str, text: str = PLACED) -> str:
    return text.replace("40 50 60", f"{first} 40 50 60").replace("41 51 61", f"{second} 41 51 61")


def test_position_channels_that_copy_offset_make_no_offsets_per_frame() -> None:
    clip = load(placed("0 10.00005 0", "0 10 0"))
    assert motion_of(clip).offsets is None
    assert np.array_equal(layout_of(again(clip)).values, layout_of(clip).values)


def test_position_channels_that_move_stand_in_the_place_of_offset() -> None:
    clip = load(placed("0 10 0", "1 12 0"))
    offsets = motion_of(clip).offsets
    assert offsets is not None
    assert offsets[:, 1].tolist() == [[0, 10, 0], [1, 12, 0]]
    assert clip.notes == ("1 joints below the root have position channels that differ from OFFSET",)
    assert np.array_equal(layout_of(again(clip)).values, layout_of(clip).values)


def test_position_channels_that_stay_at_zero_are_added_to_offset() -> None:
    clip = load(placed("0 0 0", "0 0.00001 0"))
    assert motion_of(clip).offsets is None
    assert clip.notes == ("the position channels of 1 of 1 joints below the root stay at zero and are added to OFFSET",)
    assert np.array_equal(layout_of(again(clip)).values, layout_of(clip).values)


def test_a_root_that_stays_at_zero_is_added_to_offset() -> None:
    text = PLAIN.replace("OFFSET 0 0 0", "OFFSET 1 90 2").replace("\n1 2 3", "\n0 0 0").replace("\n4 5 6", "\n0 0 0")
    clip = load(text)
    assert motion_of(clip).root.tolist() == [[1, 90, 2]] * 2
    assert clip.notes == ("the root's position channels stay at zero and are added to its OFFSET",)
    assert np.array_equal(layout_of(again(clip)).values, layout_of(clip).values)
    moved = replace(motion_of(clip), root=motion_of(clip).root + np.array([[0, 0, 0], [1, 0, 0]]))
    assert np.allclose(motion_of(again(replace(clip, motion=moved))).root, moved.root)


def test_a_changed_motion_of_a_file_that_adds_is_the_same_for_programs_that_do_not() -> None:
    clip = load(placed("0 0 0", "0 0.00001 0"))
    motion = motion_of(clip)
    turned = replace(motion, rotations=motion.rotations[:, ::-1])
    back = again(replace(clip, motion=turned))
    assert np.allclose(fk(motion_of(back)).positions, fk(turned).positions)
    assert back.notes == ()
    assert not layout_of(back).adds.any()
    # The channels hold what Blender takes from them: the whole offset.
    assert np.allclose(layout_of(back).values[:, 6:9], clip.skeleton.offsets[1] / clip.unit)


def test_a_root_at_the_origin_is_not_mistaken_for_one_that_adds() -> None:
    skeleton = Skeleton(names=("a", "b"), parents=np.array([-1, 0]), offsets=np.array([[0, 1.0, 0], [0, 1.0, 0]]))
    motion = Motion(skeleton=skeleton, fps=30, root=np.zeros((3, 3)), rotations=identity(3, 2))
    data, notes = saved(Clip.of(motion))
    assert np.allclose(motion_of(load(data, ReadOptions(unit=0.01, up="Y"))).root, 0.0)
    assert notes == (
        "OFFSET of 1 joints whose position channels stay at zero is written as zero, or they would be added",
    )


# --- unit, axes, time ---


@pytest.mark.parametrize("up", ["X", "Y", "Z"])
def test_inside_all_is_metres_and_y_up_and_the_file_comes_back(up: str) -> None:
    text = PLAIN.replace("OFFSET 0 0 0", "OFFSET 1 2 3")
    clip = load(text, ReadOptions(unit=0.01, up=up))
    plain = load(text)
    turn = world_from_file(up)
    result, expected = fk(motion_of(clip)), fk(motion_of(plain))
    axis = "XYZ".index(up)
    assert np.allclose(result.positions[..., 1], 0.01 * expected.positions[..., axis])
    assert np.allclose(result.rotations, multiply(turn, expected.rotations))
    assert np.allclose(clip.skeleton.rest[0], turn)
    assert np.allclose(clip.skeleton.offsets[1], [0, 0.1, 0])
    assert (clip.unit, clip.up) == (0.01, up)
    assert (clip.unit_reason, clip.up_reason) == ("cm: given", f"{up} is up: given")
    data, _ = saved(clip)
    raw = load(data)
    assert np.allclose(layout_of(raw).values, layout_of(plain).values, atol=1e-6)
    assert np.allclose(raw.skeleton.offsets, plain.skeleton.offsets, atol=1e-9)


def test_a_file_can_be_written_in_another_unit_with_another_axis_up() -> None:
    clip = load(PLAIN, ReadOptions(unit=0.01, up="Y"))
    data, _ = saved(clip, WriteOptions(unit=0.001, up="Z"))
    back = load(data, ReadOptions(unit=0.001, up="Z"))
    assert np.allclose(fk(motion_of(back)).positions, fk(motion_of(clip)).positions, atol=1e-8)
    assert np.allclose(fk(motion_of(back)).ends(), fk(motion_of(clip)).ends(), atol=1e-8)
    assert np.allclose(layout_of(back).values[0, :3], [10, -30, 20])


@pytest.mark.parametrize("text", ["0.0417083750417", ".0083333", "1e-2", "0.03333333333333333"])
def test_frame_time_is_kept_to_the_letter(text: str) -> None:
    clip = load(PLAIN.replace("0.025", text))
    assert motion_of(clip).fps == 1.0 / float(text)
    assert f"Frame Time: {text}\n".encode() in saved(clip)[0]
    faster = replace(clip, motion=replace(motion_of(clip), fps=50.0))
    assert b"Frame Time: 0.02\n" in saved(faster)[0]


# --- what is refused ---

BAD = [
    ("", 1, "the file is empty; expected `HIERARCHY`"),
    (" \n\n", 1, "the file is empty; expected `HIERARCHY`"),
    ("\x00\x01binary", 1, "found a zero byte: this is a binary file, not a BVH"),
    ("glTF and more", 1, "expected `HIERARCHY`, found `glTF`; this is not a BVH file"),
    ("HIERARCHY\n", 2, "expected `ROOT` and the name of the first joint, found the end of the file"),
    ("HIERARCHY\nJOINT a\n", 2, "expected `ROOT` and the name of the first joint, found `JOINT`"),
    (("ROOT Hips", "ROOT"), 2, "a joint needs a name here; found none"),
    (("ROOT Hips\n{", "ROOT Hips\n"), 4, "expected `{` to open joint `Hips`, found `OFFSET`"),
    (("End Site\n    {", "End Site\n"), 12, "expected `{` to open the End Site of joint `Spine`, found `OFFSET`"),
    (("  }\n}\nMOTION", "  }\nMOTION"), 15, "`MOTION` begins while joint `Hips` is still open: a closing brace `}` is missing"),
    (("  }\n}\nMOTION", "MOTION"), 14, "`MOTION` begins while 2 joints are still open: a closing brace `}` is missing"),
    ("HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n", 5, "the file ends while joint `a` is still open: a closing brace `}` is missing"),
    (("ROOT Hips\n{", "ROOT Hips\n{ {"), 3, "a second `{` in joint `Hips`; expected OFFSET, CHANNELS, JOINT, End Site or `}`"),
    (("OFFSET 0 5 0", "{ OFFSET 0 5 0 }"), 12, "found `{` in the End Site of joint `Spine`; expected OFFSET or `}`"),
    (("      OFFSET 0 5 0\n", ""), 12, "the End Site of joint `Spine` has no OFFSET"),
    (("}\nMOTION", "}\n}\nMOTION"), 16, "found `}` after the closing brace of joint `Hips`; expected `MOTION` or the end of the file"),
    (("}\nMOTION", "}\nROOT b\n{\n}\nMOTION"), 16, "a second `ROOT` begins here; the first is on line 2, and a skeleton has one"),
    (("    OFFSET 0 10 0\n", ""), 6, "joint `Spine` has no OFFSET before its closing brace on line 13"),
    (("OFFSET 0 10 0", "OFFSET 0 10"), 8, "OFFSET of joint `Spine` has 2 numbers; expected 3"),
    (("OFFSET 0 10 0", "OFFSET 0 10 0 1"), 8, "OFFSET of joint `Spine` has more than 3 numbers"),
    (("OFFSET 0 10 0", "OFFSET 0 ten 0"), 8, "OFFSET of joint `Spine`: `ten` is not a finite number"),
    (("OFFSET 0 10 0", "OFFSET 0 nan 0"), 8, "OFFSET of joint `Spine`: `nan` is not a finite number"),
    (("OFFSET 0 10 0", "OFFSET 0 1e300 0"), 8, "OFFSET of joint `Spine`: `1e300` is too large for a body"),
    (("OFFSET 0 10 0", "OFFSET 0 10 0\nOFFSET 1 1 1"), 9, "joint `Spine` has a second OFFSET"),
    (("    CHANNELS 3 Zrotation Xrotation Yrotation\n", ""), 6, "joint `Spine` has no CHANNELS before its closing brace on line 13"),
    (("CHANNELS 3 Zrotation", "CHANNELS 4 Zrotation"), 9, "joint `Spine` declares 4 channels but names 3"),
    (("CHANNELS 3 Zrotation", "CHANNELS 2 Zrotation"), 9, "joint `Spine` declares 2 channels but names 3"),
    (("CHANNELS 3 Zrotation", "CHANNELS Zrotation"), 9, "CHANNELS of joint `Spine`: expected how many there are, found `Zrotation`"),
    (("CHANNELS 3 Zrotation", "CHANNELS 0\nCHANNELS 3 Zrotation"), 10, "joint `Spine` has a second CHANNELS line"),
    (("3 Zrotation X", "3 Zrotaton X"), 9, "joint `Spine` has no channel `Zrotaton` known to BVH; nearest: `Zrotation`, `Yrotation`, `Xrotation`"),
    (("3 Zrotation X", "3 Xrotation X"), 9, "joint `Spine` names the channel `Xrotation` twice"),
    (("JOINT Spine", "JOINT Hips"), 6, "joint `Hips` has the name of the joint on line 2; names must differ"),
    (("    OFFSET 0 10", "    WHAT\n    OFFSET 0 10"), 8, "found `WHAT` in joint `Spine`; expected OFFSET, CHANNELS, JOINT, End Site or `}`"),
    (("Frames: 2\n", ""), 17, "expected `Frames:` and how many there are, found `Frame Time: 0.025`"),
    (("Frames: 2", "Frames: two"), 17, "`Frames:` needs a whole number, found `two`"),
    (("Frames: 2", "Frames: 0"), 17, "`Frames:` says `0`; expected at least 1"),
    (("Frames: 2", "Frames: -3"), 17, "`Frames:` says `-3`; expected at least 1"),
    (("Frame Time: 0.025\n", ""), 18, "expected `Frame Time:` and the seconds of a frame, found `1 2 3 10 20 30 40 50 60`"),
    (("0.025", "soon"), 18, "`Frame Time:` needs a number of seconds, found `soon`"),
    (("0.025", "0"), 18, "`Frame Time:` says `0`; expected seconds above zero"),
    (("0.025", "-0.1"), 18, "`Frame Time:` says `-0.1`; expected seconds above zero"),
    (("0.025", "nan"), 18, "`Frame Time:` says `nan`; expected seconds above zero"),
    (("0.025", "1e-320"), 18, "`Frame Time:` says `1e-320`; expected seconds above zero"),
    (("Frames: 2", "Frames: 3"), 20, "the motion ends after 2 frames; `Frames:` promises 3"),
    (("Frames: 2", "Frames: 2000000000"), 20, "the motion ends after 2 frames; `Frames:` promises 2000000000"),
    (("Frames: 2", "Frames: 1"), 20, "there is more after the 1 frames that `Frames:` promises"),
    ((" 41 51 61", " 41 51"), 20, "frame 1 has 8 values; expected 9, one for each channel"),
    ((" 40 50 60", " 40 50 60 70"), 19, "frame 0 has 10 values; expected 9, one for each channel"),
    (("1 2 3 10", "1 nan 3 10"), 19, "frame 0: `nan` is not a finite number"),
    (("4 5 6 11", "4 5 -inf 11"), 20, "frame 1: `-inf` is not a finite number"),
    (("4 5 6 11", "4 5 1e999 11"), 20, "frame 1: `1e999` is not a finite number"),
    (("4 5 6 11", "4 5 1_0 11"), 20, "frame 1: `1_0` is not a finite number"),
    (("4 5 6 11", "4 5 6.7.8 11"), 20, "frame 1: `6.7.8` is not a finite number"),
    (("4 5 6 11", "4 5 6- 11"), 20, "frame 1: `6-` is not a finite number"),
    (("4 5 6 11", "4 5 . 11"), 20, "frame 1: `.` is not a finite number"),
    (("4 5 6 11", "4 5 - 11"), 20, "frame 1: `-` is not a finite number"),
    (("4 5 6 11", "4 5 --6 11"), 20, "frame 1: `--6` is not a finite number"),
    (("4 5 6 11", "4,0 5 6 11"), 20, "frame 1: `4,0` is not a finite number"),
    (("4 5 6 11 21", "4 5 six"), 20, "frame 1: `six` is not a finite number"),
    ((" 61\n", " 61\nthe end\n"), 21, "there is more after the 2 frames that `Frames:` promises"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "line", "problem"), BAD, ids=[f"{i} {case[2][:40]}" for i, case in enumerate(BAD)])
def test_what_is_wrong_is_said_with_its_line(change: str | tuple[str, str], line: int, problem: str) -> None:
    text = change if isinstance(change, str) else PLAIN.replace(*change)
    assert text != PLAIN
    with pytest.raises(FileError) as caught:
        load(text)
    assert caught.value.message == f"walk.bvh:{line}: {problem}"


def test_line_numbers_hold_with_any_line_ends() -> None:
    for end in ("\r\n", "\r"):
        with pytest.raises(FileError, match=r"^walk.bvh:20: frame 1: `x` is not a finite number"):
            load(PLAIN.replace("4 5 6", "x 5 6").replace("\n", end))


def test_utf16_is_named() -> None:
    with pytest.raises(FileError, match=r"walk.bvh:1: the text is UTF-16\n\nhint: save it as UTF-8"):
        load(PLAIN.encode("utf-16"))


def test_motion_for_no_channels_is_refused() -> None:
    text = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 0\n}\nMOTION\nFrames: 2\nFrame Time: 1\n\n\n"
    with pytest.raises(FileError, match=r"walk.bvh:9: there is a MOTION section, but no joint has a channel"):
        load(text)


def test_numbers_too_large_for_a_body_are_refused() -> None:
    with pytest.raises(FileError, match=r"walk.bvh: the numbers make no body: a position in frame 1 is 1e\+308"):
        load(PLAIN.replace("4 5 6 11", "4 1e308 6 11"))
    assert motion_of(load(PLAIN.replace("4 5 6 11", "4 5 6 1e308"))).num_frames == 2


@pytest.mark.parametrize(
    ("change", "frames", "dropped"),
    [
        (("Frames: 2", "Frames: 5"), 2, "line 20: the motion ends after 2 frames; `Frames:` promises 5; the missing 3 frames were left out"),
        (("Frames: 2", "Frames: 1"), 1, "line 20: there is more after the 1 frames that `Frames:` promises; it was left out"),
        ((" 51 61", ""), 1, "line 20: frame 1 has 7 values; expected 9, one for each channel; that frame and all after it were left out: 1 of 2"),
        (("11 21", "11 x"), 1, "line 20: frame 1: `x` is not a finite number; that frame and all after it were left out: 1 of 2"),
    ],
)  # fmt: skip
def test_lenient_reading_keeps_what_is_whole_and_says_what_not(
    change: tuple[str, str], frames: int, dropped: str
) -> None:
    clip = load(PLAIN.replace(*change), replace(KNOWN, lenient=True))
    assert clip.dropped == (dropped,)
    assert np.array_equal(motion_of(clip).root, motion_of(load(PLAIN)).root[:frames])


def test_lenient_reading_needs_one_whole_frame() -> None:
    with pytest.raises(FileError, match=r"walk.bvh:19: frame 0: `x` is not"):
        load(PLAIN.replace("1 2 3 10", "x 2 3 10"), replace(KNOWN, lenient=True))


def test_a_promise_of_frames_takes_no_memory() -> None:
    text = PLAIN.replace("Frames: 2", "Frames: 2000000000")
    tracemalloc.start()
    clip = load(text, replace(KNOWN, lenient=True))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert motion_of(clip).num_frames == 2
    assert peak < 4e6


def test_a_chain_of_ten_thousand_joints_loads_quickly_and_comes_back() -> None:
    count = 10_000
    joints = "".join(f"JOINT j{i}\n{{\nOFFSET 0 1 0\nCHANNELS 1 Xrotation\n" for i in range(count))
    text = f"HIERARCHY\nROOT r\n{{\nOFFSET 0 0 0\nCHANNELS 1 Zrotation\n{joints}{'}' * (count + 1)}\n"
    text += "MOTION\nFrames: 1\nFrame Time: 1\n" + "0.5 " * (count + 1)
    start = time.perf_counter()
    clip = load(text)
    assert time.perf_counter() - start < 5.0
    data, _ = saved(clip)
    assert len(data) < 10e6
    assert np.allclose(motion_of(load(data)).rotations, motion_of(clip).rotations)


# --- large blocks of numbers ---


def rows_text(values: np.ndarray, style: str) -> str:
    rows = "\n".join(" ".join(style % value for value in row) for row in values.tolist())
    head = PLAIN[: PLAIN.index("Frames")]
    return f"{head}Frames: {len(values)}\nFrame Time: 0.01\n{rows}\n"


@pytest.mark.parametrize("style", ["%.4f", "%.6f", "%.8f", "%.9f", "%r", "%.3e", "%+.2f", "%d"])
def test_numbers_are_read_to_the_last_bit(style: str, rng: np.random.Generator) -> None:
    values = rng.normal(size=(9000, 9)) * 10.0 ** rng.integers(-6, 8, size=(9000, 9))
    text = rows_text(values, style)
    expected = [[float(style % value) for value in row] for row in values.tolist()]
    assert np.array_equal(layout_of(load(text)).values, expected)


def test_damage_far_down_is_found_on_its_line(rng: np.random.Generator) -> None:
    lines = rows_text(rng.normal(size=(20_000, 9)), "%.5f").splitlines()
    first = lines.index("Frame Time: 0.01") + 1
    for number, token in ((first + 12_345, "oops"), (first + 19_999, "1e400")):
        broken = list(lines)
        broken[number] = broken[number].rsplit(" ", 1)[0] + " " + token
        with pytest.raises(FileError) as caught:
            load("\n".join(broken))
        assert caught.value.line == number + 1
        assert f"frame {number - first}: `{token}`" in caught.value.message


# --- writing what was made here ---


def test_a_made_motion_comes_back_in_centimetres(make_motion, make_skeleton, rng: np.random.Generator) -> None:
    skeleton = make_skeleton(rng, 12)
    for morph in (False, True):
        motion = make_motion(skeleton, rng, 6, morph=morph)
        data, notes = saved(Clip.of(motion))
        back = load(data, ReadOptions(unit=0.01, up="Y"))
        result, expected = fk(motion_of(back)), fk(motion)
        order = [skeleton.index[name] for name in back.skeleton.names]
        assert np.allclose(result.positions, expected.positions[:, order], atol=1e-6)
        assert np.allclose(result.ends(), expected.ends(), atol=1e-6)
        assert np.allclose(back.skeleton.rest_world[0], skeleton.rest_world[0][order], atol=1e-9)
        assert layout_of(back).channels[1][-3:] == ("Zrotation", "Xrotation", "Yrotation")
        assert any("no kinds of joints" in sentence for sentence in notes)
        assert "BVH has no names for end points: those of 1, such as `tip`, are left out" in notes


def test_zero_angles_show_the_rest_pose(make_skeleton, rng: np.random.Generator) -> None:
    skeleton = make_skeleton(rng, 7)
    back = load(saved(Clip(skeleton=skeleton))[0], ReadOptions(unit=0.01, up="Y"))
    assert np.array_equal(motion_of(back).rotations, identity(1, 7))
    order = [skeleton.index[name] for name in back.skeleton.names]
    assert np.allclose(fk(motion_of(back)).positions[0], skeleton.rest_world[0][order], atol=1e-8)


def test_a_plain_skeleton_comes_back_rotation_by_rotation(rng: np.random.Generator) -> None:
    skeleton = Skeleton(
        names=("a", "b", "c"),
        parents=np.array([-1, 0, 1]),
        offsets=rng.normal(size=(3, 3)),
        ends=(Point(name="c_end", joint="c", offset=rng.normal(size=3)),),
    )
    motion = Motion(
        skeleton=skeleton, fps=60.0, root=rng.normal(size=(20, 3)), rotations=normalize(rng.normal(size=(20, 3, 4)))
    )
    data, notes = saved(Clip.of(motion))
    back = motion_of(load(data, ReadOptions(unit=0.01, up="Y")))
    assert notes == ()
    assert np.max(angle_between(back.rotations, motion.rotations)) < 1e-6
    assert np.allclose(back.root, motion.root, atol=1e-8)
    assert back.fps == pytest.approx(60.0, rel=1e-15)


def test_what_bvh_cannot_hold_is_said() -> None:
    limits = np.tile([-np.inf, np.inf], (3, 3, 1))
    limits[1, 0] = [0, 1]
    skeleton = Skeleton(
        names=("my hips", "my{hips", "my_hips"),
        parents=np.array([-1, 0, 0]),
        offsets=np.zeros((3, 3)),
        kinds=(JointKind.FREE, JointKind.HINGE, JointKind.BALL),
        axes=np.array([np.eye(3), [[1, 0, 0], [0, 0, 0], [0, 0, 0]], np.eye(3)]),
        limits=limits,
    )
    data, notes = saved(Clip(skeleton=skeleton))
    assert notes == (
        "BVH has no kinds of joints: 1 of hinge kind turn freely",
        "BVH has no limits: those of 1 joints are left out",
        "there is no motion: one frame of the rest pose is written",
        "BVH names have no spaces or braces: wrote `my hips` as `my_hips_2`, `my{hips` as `my_hips_3`",
    )
    assert load(data).skeleton.names == ("my_hips_2", "my_hips_3", "my_hips")


def test_joints_out_of_tree_order_are_put_in_order(rng: np.random.Generator) -> None:
    skeleton = Skeleton(names=tuple("abcd"), parents=np.array([-1, 0, 0, 1]), offsets=rng.normal(size=(4, 3)))
    motion = Motion(
        skeleton=skeleton, fps=30, root=rng.normal(size=(4, 3)), rotations=normalize(rng.normal(size=(4, 4, 4)))
    )
    data, notes = saved(Clip.of(motion))
    back = load(data, ReadOptions(unit=0.01, up="Y"))
    assert back.skeleton.names == tuple("abdc")
    assert notes == ("BVH lists joints in tree order: read back, they come in another order",)
    assert np.allclose(fk(motion_of(back)).positions, fk(motion).positions[:, [0, 1, 3, 2]], atol=1e-7)


def test_channels_grow_where_the_motion_needs_them(rng: np.random.Generator) -> None:
    text = PLAIN.replace("CHANNELS 3 Zrotation Xrotation Yrotation", "CHANNELS 1 Xrotation").replace(" 50 60", "")
    clip = load(text.replace(" 51 61", ""))
    motion = motion_of(clip)
    turned = motion.rotations.copy()
    turned[:, 1] = normalize(rng.normal(size=(2, 4)))
    offsets = np.tile(clip.skeleton.offsets, (2, 1, 1))
    offsets[1, 1] += 3.0
    grown = replace(clip, motion=replace(motion, rotations=turned, offsets=offsets))
    data, notes = saved(grown)
    assert notes == ("1 joints move in ways their channels did not allow and were given more channels",)
    assert np.allclose(fk(motion_of(load(data))).ends(), fk(motion_of(grown)).ends(), atol=1e-6)


def test_angles_stay_in_the_files_own_branch() -> None:
    values = "\n1 2 3 370 100 -200 40 90 60\n4 5 6 371 101 -201 41 -90 61\n"
    clip = load(PLAIN[: PLAIN.index("\n1 2 3")] + values)
    assert np.allclose(layout_of(again(clip)).values, layout_of(clip).values, atol=1e-6)
    longer = replace(clip, motion=motion_of(clip)[[0, 0, 1]])
    assert np.allclose(layout_of(again(longer)).values[0, 3:6], [370, 100, -200], atol=1e-6)


def test_a_changed_motion_keeps_the_layout(rng: np.random.Generator) -> None:
    clip = load(PLAIN)
    changed = replace(motion_of(clip), rotations=normalize(rng.normal(size=(2, 2, 4))))
    back = again(replace(clip, motion=changed))
    assert layout_of(back).channels == layout_of(clip).channels
    assert np.max(angle_between(motion_of(back).rotations, changed.rotations)) < 1e-6


@pytest.mark.parametrize("ended", [True, False])
def test_other_programs_read_what_is_written(tmp_path, ended: bool, rng: np.random.Generator) -> None:
    skeleton = Skeleton(
        names=("Hips", "Spine", "Head", "Leg"),
        parents=np.array([-1, 0, 1, 0]),
        offsets=rng.normal(size=(4, 3)),
        ends=tuple(Point(name=f"{joint}_end", joint=joint, offset=np.ones(3)) for joint in ("Head", "Leg") if ended),
    )
    motion = Motion(
        skeleton=skeleton, fps=30, root=rng.normal(size=(5, 3)), rotations=normalize(rng.normal(size=(5, 4, 4)))
    )
    data, _ = saved(Clip.of(motion))
    path = tmp_path / "made.bvh"
    path.write_bytes(data)
    bvh, toolbox, bvhio = (pytest.importorskip(name) for name in ("bvh", "bvhtoolbox", "bvhio"))
    for parsed in (bvh.Bvh(data.decode()), toolbox.BvhTree(data.decode())):
        assert parsed.nframes == 5
        assert float(parsed.frame_joint_channel(3, "Hips", "Yposition")) == pytest.approx(
            100 * motion.root[3, 1], abs=1e-5
        )
    root = bvhio.readAsHierarchy(str(path))
    positions = fk(motion).positions
    for frame in range(5):
        root.loadPose(frame)
        result = {joint.Name: np.array(joint.PositionWorld) for joint, _, _ in root.layout()}
        for number, name in enumerate(skeleton.names):
            assert np.allclose(result[name], 100 * positions[frame, number], atol=1e-3)


# --- any hierarchy, any damage ---


@st.composite
def files(draw: st.DrawFn) -> tuple[str, np.ndarray]:
    """A random BVH text and its numbers."""
    count = draw(st.integers(1, 8))
    parents = [-1] + [draw(st.integers(0, joint - 1)) for joint in range(1, count)]
    children: dict[int, list[int]] = {joint: [] for joint in range(count)}
    for joint, parent in enumerate(parents[1:], start=1):
        children[parent].append(joint)
    kinds = ["Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation"]
    number = st.floats(-500, 500, allow_nan=False, width=32)
    lines, width = ["HIERARCHY"], 0

    def put(joint: int) -> None:
        nonlocal width
        chosen = draw(st.lists(st.sampled_from(kinds), unique=True, min_size=0 if joint else 1))
        width += len(chosen)
        offset = " ".join(f"{draw(number):.5f}" for _ in range(3))
        lines.extend(["JOINT " if joint else "ROOT ", "{", f"OFFSET {offset}"])
        lines[-3] += f"n{joint}"
        lines.append(" ".join(["CHANNELS", str(len(chosen)), *chosen]))
        if draw(st.booleans()):
            lines.extend(["End Site", "{", "OFFSET 1 2 3", "}"])
        for child in children[joint]:
            put(child)
        lines.append("}")

    put(0)
    frames = draw(st.integers(1, 4))
    values = np.array([[round(draw(number), 4) for _ in range(width)] for _ in range(frames)])
    lines += ["MOTION", f"Frames: {frames}", "Frame Time: 0.01"]
    lines += [" ".join(repr(value) for value in row) for row in values.tolist()]
    return "\n".join(lines), values


@settings(max_examples=60, deadline=None)
@given(files(), st.sampled_from("XYZ"))
def test_any_file_comes_back_number_by_number(made: tuple[str, np.ndarray], up: str) -> None:
    text, values = made
    clip = load(text, ReadOptions(unit=0.01, up=up))
    assert np.array_equal(layout_of(clip).values, values)
    data, notes = saved(clip)
    back = load(data, ReadOptions(unit=0.01, up=up))
    assert notes == ()
    assert layout_of(back).channels == layout_of(clip).channels
    columns = columns_of(layout_of(clip).channels)
    angles = columns.rotations[columns.rotations >= 0]
    places = columns.positions[columns.positions >= 0]
    assert np.allclose(layout_of(back).values[:, angles], values[:, angles], atol=1e-4)
    assert np.allclose(layout_of(back).values[:, places], values[:, places], atol=1e-5)
    assert np.allclose(fk(motion_of(back)).positions, fk(motion_of(clip)).positions, atol=1e-6)


def damaged(source: bytes, rng: np.random.Generator) -> bytes:
    """A text with one to three random deletions, insertions, changes or repetitions."""
    pieces = [
        b"{", b"}", b"-", b"1e999", b"nan", b"\n", b"\x00", b"\xff", b"JOINT x", b"MOTION", b"Frames: 9", b"9" * 400, b" ",
    ]  # fmt: skip
    data = bytearray(source)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(0, len(data)))
        kind = rng.integers(0, 4)
        if kind == 0:
            del data[at : at + int(rng.integers(1, 30))]
        elif kind == 1:
            data[at:at] = pieces[int(rng.integers(0, len(pieces)))]
        elif kind == 2:
            data[at] = int(rng.integers(0, 256))
        else:
            data[at:at] = data[at : at + int(rng.integers(1, 60))]
    return bytes(data)


def test_damaged_files_end_in_a_clip_or_an_error_with_a_name() -> None:
    rng = np.random.default_rng(7)
    refused = 0
    for _ in range(600):
        data = damaged(PLAIN.encode(), rng)
        for lenient in (False, True):
            try:
                clip = load(data, ReadOptions(lenient=lenient))
            except FileError:
                refused += 1
            else:
                assert np.all(np.isfinite(clip.skeleton.offsets))
                saved(clip)
    assert 300 < refused < 1200


def test_the_reference_frame_is_kept_in_the_layout(rng: np.random.Generator) -> None:
    rows = np.concatenate([np.zeros((1, 9)), 40 + np.cumsum(rng.normal(size=(30, 9)) * 0.1, axis=0)])
    clip = load(rows_text(rows, "%.4f"))
    assert find_reference_frame(motion_of(clip)) == layout_of(clip).reference_frame == 0
    assert clip.notes == ("frame 0 is a reference pose, not part of the movement: the pose leaps from it to the next",)
    cut = replace(clip, motion=motion_of(clip)[1:])
    assert np.array_equal(layout_of(again(cut)).values, layout_of(clip).values[1:])
    still = load(rows_text(np.concatenate([rows[1:], np.tile(rows[-1:], (7, 1))]), "%.4f"))
    assert layout_of(still).reference_frame is None
    assert still.notes == ("the last 7 frames are copies of frame 29",)
