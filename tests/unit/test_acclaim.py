"""Acclaim skeleton and motion files: their meaning, errors for wrong files, and writing them back."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.base.errors import FileError, OptionError
from understudy.base.quaternion import Array, angle_between, exp, from_axis_angle, multiply, rotate, to_matrix
from understudy.figure.kinematics import fk, joint_rotations
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.io import formats, read, write
from understudy.io.clip import Clip, ReadOptions, WriteOptions

FIGURE = """\
# a leg, an arm and nothing else
:version 1.10
:name Half a man
:units
  mass 1.0
  length 0.5
  angle deg
:documentation
   begin end 17 # not data
:root
   order TX TY TZ RX RY RZ
   axis XYZ
   position 0 0 0
   orientation 0 0 0
:bonedata
  begin
     id 1
     name hip
     direction 1 0 0
     length 2
     axis 0 0 0 XYZ
  end
  begin
     id 2
     name thigh
     direction 0 -1 0
     length 10
     axis 0 0 20 XYZ
    bodymass 7.5
    cofmass 0.5
    dof rx ry rz
    limits (-160.0 20.0)
           (-70.0 70.0)
           (-60.0 inf)
  end
  begin
     id 3
     name shin
     direction 0 -1 0
     length 9
     axis 0 90 0 XYZ
    dof rx
    limits (-10, 170)
  end
  begin
     id 4
     name foot
     direction 0 0 1
     length 3
     axis -90 0 20 XYZ
    dof rx rz
    limits (-45
      90) (
     -70 20)
  end
:hierarchy
  begin
    root hip
    hip thigh
    thigh shin
    shin foot
  end
"""

WALK = """\
#!OML:ASF walk
:FULLY-SPECIFIED
:DEGREES
1
root 1 20 3 0 0 0
thigh 0 0 0
shin 0
foot 0 0
2
root 1 20 3 10 20 30
thigh 11 12 13
shin 90
foot 5 -7
3
root 1.5 20 3.25 -170 80 -1e-14
thigh 190 100 200
shin -270
foot 365 -7
"""


def read_figure(text: str, **options: object) -> Clip:
    assert formats()["asf"].read is not None
    return formats()["asf"].read(io.BytesIO(text.encode()), "half.asf", ReadOptions(**options))  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "half.asf").write_text(FIGURE)
    return tmp_path


def read_walk(folder: Path, text: str = WALK, **options: object) -> Clip:
    assert formats()["amc"].read is not None
    options = {"skeleton": str(folder / "half.asf"), **options}
    return formats()["amc"].read(io.BytesIO(text.encode()), "half_01.amc", ReadOptions(**options))  # type: ignore[arg-type]


def written(clip: Clip, **options: object) -> tuple[str, tuple[str, ...]]:
    assert formats()["amc"].write is not None
    stream = io.BytesIO()
    notes = formats()["amc"].write(clip, stream, WriteOptions(**options))  # type: ignore[arg-type]
    return stream.getvalue().decode(), notes


def about(axis: str, degrees: float) -> Array:
    return to_matrix(from_axis_angle(np.eye(3)["XYZ".index(axis)], np.deg2rad(degrees)))


class TestSkeleton:
    def test_joints_stand_where_bones_start(self) -> None:
        clip = read_figure(FIGURE)
        assert clip.motion is None
        assert clip.skeleton.names == ("root", "hip", "thigh", "shin", "foot")
        assert clip.skeleton.parents.tolist() == [-1, 0, 1, 2, 3]
        unit = 0.0254 / 0.5
        expected = np.array([[0, 0, 0], [0, 0, 0], [2, 0, 0], [2, -10, 0], [2, -19, 0]]) * unit
        assert clip.skeleton.rest_world[0] == pytest.approx(expected)
        assert [end.name for end in clip.skeleton.ends] == ["foot_end"]
        assert clip.skeleton.rest_ends == pytest.approx(np.array([[2, -19, 3]]) * unit)

    def test_what_the_file_says(self) -> None:
        clip = read_figure(FIGURE)
        assert clip.skeleton.name == "Half a man"
        assert (clip.format, clip.up, clip.notes) == ("asf", "Y", ())
        assert clip.unit == pytest.approx(0.0508)
        assert clip.unit_reason == "the file's `length 0.5`: 1/0.5 inch"

    def test_kinds_follow_from_the_freedoms(self) -> None:
        kinds = read_figure(FIGURE).skeleton.kinds
        assert kinds == tuple(JointKind(kind) for kind in ("free", "fixed", "ball", "hinge", "universal"))

    def test_axes_are_those_of_the_bone_last_turn_first(self) -> None:
        axes = read_figure(FIGURE).skeleton.axes
        assert axes[2] == pytest.approx((about("Z", 20) @ np.eye(3)[:, ::-1]).T)
        assert axes[3, 0] == pytest.approx([0, 0, -1], abs=1e-12)
        frame = about("Z", 20) @ about("X", -90)
        assert axes[4, :2] == pytest.approx(frame[:, [2, 0]].T)

    def test_limits_go_with_their_axes(self) -> None:
        limits = np.rad2deg(read_figure(FIGURE).skeleton.limits)
        assert limits[2] == pytest.approx(np.array([[-60, np.inf], [-70, 70], [-160, 20]]))
        assert limits[3, 0] == pytest.approx([-10, 170])
        assert limits[4, :2] == pytest.approx(np.array([[-70, 20], [-45, 90]]))
        assert np.all(np.isinf(limits[1]))

    def test_spelling_does_not_matter(self) -> None:
        plain = read_figure(FIGURE).skeleton
        shouted = FIGURE.replace("begin", "BEGIN").replace(":bonedata", ":BoneData").replace("dof rx", "DOF RX")
        for text in (FIGURE.replace("\n", "\r\n"), FIGURE.replace("\n", "\r"), "\ufeff" + FIGURE, shouted):
            other = read_figure(text.replace("axis 0 0 20 XYZ", "axis 0,0,20 xyz  # why not"))
            assert other.skeleton.names == plain.names
            assert np.array_equal(other.skeleton.axes, plain.axes)
            assert np.array_equal(other.skeleton.limits, plain.limits)
            assert np.array_equal(other.skeleton.offsets, plain.offsets)

    def test_bytes_that_are_no_utf8(self) -> None:
        assert formats()["asf"].read is not None
        data = FIGURE.replace("Half a man", "André").encode("latin-1")
        assert formats()["asf"].read(io.BytesIO(data), "half.asf", ReadOptions()).skeleton.name == "André"

    def test_the_hierarchy_may_stand_anywhere(self) -> None:
        head, rest = FIGURE.split(":root")
        root, tree = rest.split(":hierarchy")
        moved = read_figure(head + ":hierarchy" + tree + ":root" + root)
        assert moved.skeleton.names == read_figure(FIGURE).skeleton.names

    def test_radians(self) -> None:
        text = FIGURE.replace("angle deg", "angle rad").replace("0 90 0 XYZ", "0 1.5707963267948966 0 XYZ")
        skeleton = read_figure(text).skeleton
        assert skeleton.axes[3, 0] == pytest.approx([0, 0, -1], abs=1e-12)
        assert skeleton.limits[3, 0] == pytest.approx([-10, 170])

    def test_unit_and_up_can_be_given(self) -> None:
        clip = read_figure(FIGURE, unit=0.01, up="Z")
        assert (clip.unit, clip.unit_reason, clip.up, clip.up_reason) == (0.01, "given", "Z", "given")
        plain = read_figure(FIGURE)
        places = plain.skeleton.rest_world[0] / plain.unit
        expected = np.stack([places[:, 0], places[:, 2], -places[:, 1]], -1) * 0.01
        assert clip.skeleton.rest_world[0] == pytest.approx(expected, abs=1e-12)

    def test_no_unit_means_inches(self) -> None:
        clip = read_figure(FIGURE.replace("  length 0.5\n", "", 1))
        assert clip.unit == 0.0254
        assert clip.unit_reason == "inches, as the file gives no unit of length"

    def test_a_preset_root(self, folder: Path) -> None:
        text = FIGURE.replace("position 0 0 0", "position 1 2 3").replace("orientation 0 0 0", "orientation 0 90 0")
        clip = read_figure(text)
        unit = clip.unit
        assert clip.notes == ("The root has a preset position: 1 2 3.", "The root has a preset orientation: 0 90 0.")
        places = clip.skeleton.rest_world[0] / unit
        assert places[0] == pytest.approx([1, 2, 3])
        assert places[2] == pytest.approx([1, 2, 1])
        (folder / "half.asf").write_text(text)
        walk = read_walk(folder)
        assert walk.motion is not None
        assert walk.motion.root[0] / unit == pytest.approx([2, 22, 6])
        turn = about("Z", 30) @ about("Y", 20) @ about("X", 10) @ about("Y", 90)
        assert to_matrix(walk.motion.rotations[1, 0]) == pytest.approx(turn)
        assert written(walk)[0].splitlines()[4] == "root 1.0 20.0 3.0 0.0 0.0 0.0"

    def test_order_of_the_axis_angles(self) -> None:
        text = FIGURE.replace("axis 0 90 0 XYZ", "axis 10 90 30 ZXY")
        frame = about("Y", 90) @ about("X", 10) @ about("Z", 30)
        assert read_figure(text).skeleton.axes[3, 0] == pytest.approx(frame[:, 0])

    def test_order_of_the_freedoms(self, folder: Path) -> None:
        (folder / "half.asf").write_text(FIGURE.replace("dof rx ry rz", "dof rz rx ry"))
        clip = read_walk(folder)
        assert clip.motion is not None
        frame = about("Z", 20)
        turn = frame @ about("Y", 13) @ about("X", 12) @ about("Z", 11) @ frame.T
        assert to_matrix(clip.motion.rotations[1, 2]) == pytest.approx(turn)
        assert np.rad2deg(clip.skeleton.limits[2, 2]) == pytest.approx([-160, 20])

    @pytest.mark.parametrize(
        ("old", "new", "note"),
        [
            (":root", ":skin\n  man.obj\n:root", "Section `:skin` was not read."),
            ("(-10, 170)", "(170 -10)", "Limits of bone `shin` are in the wrong order and were swapped."),
            ("direction 0 0 1", "direction 0 0 2", "The direction of bone `foot` has length 2; it was brought to 1."),
            ("length 0.5", "length 50", "The body measures 0.00965 m when a unit is 0.000508 m: perhaps another unit"),
        ],
    )
    def test_oddities_are_noted(self, old: str, new: str, note: str) -> None:
        clip = read_figure(FIGURE.replace(old, new, 1))
        assert len(clip.notes) == 1
        assert clip.notes[0].startswith(note)

    def test_turned_limits_and_long_directions_are_put_right(self) -> None:
        changed = FIGURE.replace("(-10, 170)", "(170 -10)").replace("direction 0 0 1", "direction 0 0 2")
        skeleton, plain = read_figure(changed).skeleton, read_figure(FIGURE).skeleton
        assert np.array_equal(skeleton.limits, plain.limits)
        assert np.array_equal(skeleton.rest_ends, plain.rest_ends)

    def test_freedoms_that_do_not_turn(self, folder: Path) -> None:
        text = FIGURE.replace("dof rx\n    limits (-10, 170)", "dof rx l\n    limits (-10, 170) (0 5)")
        with pytest.raises(FileError, match=r"half.asf:42: bone `shin` moves by `l`; of bones other than") as error:
            read_figure(text)
        assert "lenient reading" in error.value.hint
        clip = read_figure(text, lenient=True)
        assert clip.skeleton.kinds[3] is JointKind.HINGE
        assert clip.dropped == ("Channels l of bone `shin` were left out: they do not turn it.",)
        (folder / "half.asf").write_text(text)
        walk = WALK.replace("shin 90", "shin 90 4").replace("shin 0", "shin 0 1").replace("-270", "-270 2")
        moved = read_walk(folder, walk, lenient=True)
        assert moved.motion is not None
        assert angle_between(moved.motion.rotations, read_plain(folder).rotations).max() < 1e-12
        text, notes = written(moved)
        assert "shin 90.0 4.0" in text
        assert notes == (
            "Channels that do not rotate a bone are not part of the motion; they are as they were, or zero.",
        )


def read_plain(folder: Path) -> Motion:
    (folder / "half.asf").write_text(FIGURE)
    motion = read_walk(folder).motion
    assert motion is not None
    return motion


BROKEN_FIGURES = [
    ("", None, "holds no section; expected an Acclaim file"),
    ("hello\n", 1, "expected a section such as `:root`; found `hello`"),
    (("# a leg", ":\n# a leg"), 1, "expected a keyword after `:`"),
    ((":documentation", ":units"), 8, "a second section `:units`; the first is in line 4"),
    ((":hierarchy", ":tree"), None, "has no section `:hierarchy`; expected an Acclaim skeleton"),
    ((":bonedata", ":bones"), None, "has no section `:bonedata`"),
    ((":root", ":rot"), None, "has no section `:root`"),
    (("length 0.5", "length 0"), 6, "expected a unit of length above zero; found 0"),
    (("length 0.5", "length long"), 6, "expected the unit of length, a number; found `long`"),
    (("angle deg", "angle grad"), 7, "expected angles in `deg` or `rad`; found `grad`"),
    (("mass 1.0", "weight 1.0"), 5, "expected a unit, one of mass, length, angle; found `weight`"),
    (("  angle deg\n", "  angle\n"), 7, "section `:units` ends where `deg` or `rad` was expected"),
    (("axis XYZ", "axis XYX"), 12, "expected the order of the root's orientation, one of XYZ, XZY"),
    (("order TX", "order QX"), 11, "the root has a channel `QX`; known: tx, ty, tz, rx, ry, rz"),
    (("RX RY RZ", "RX RX RZ"), 11, "the root names its channel `RX` twice"),
    (("   order TX TY TZ RX RY RZ\n", ""), 13, "the root gives no `order` of its channels"),
    (("   position 0 0 0", "   place 0 0 0"), 13, "expected a property of the root, one of order, axis, position"),
    (("position 0 0 0", "position 0 0 nan"), 13, "expected the root's position, a number; found `nan`"),
    (("position 0 0 0", "position 0 0 1_0"), 13, "expected the root's position, a number; found `1_0`"),
    (("orientation 0 0 0", "orientation 0 0"), 14, "section `:root` ends where the root's orientation was expected"),
    (("  begin\n     id 1", "  start\n     id 1"), 16, "expected `begin` of a bone; found `start`"),
    (("     name hip\n", ""), 16, "this bone has no `name`"),
    (("     length 2\n", ""), 16, "this bone has no `length`"),
    (("     direction 1 0 0\n", ""), 16, "this bone has no `direction`"),
    (("name shin", "name hip"), 38, "a second bone is called `hip`"),
    (("name hip", "name root"), 18, "a second bone is called `root`"),
    (("id 1", "length 2"), 20, "a second `length` of one bone, which began in line 16"),
    (("length 10", "length -10"), 27, "bone `thigh` has a length below zero: -10"),
    (("length 10", "length 1e300"), 27, "expected the bone's length, a number; found `1e300`"),
    (("direction 0 -1 0", "direction 0 0 0"), 26, "bone `thigh` is 10 long and has no direction"),
    (("direction 1 0 0", "direction 1 0"), 20, "expected the bone's direction, a number; found `length`"),
    (("axis 0 0 20 XYZ", "axis 0 0 20"), 29, "expected the order of the bone's axis angles, one of XYZ"),
    (("axis 0 0 20 XYZ", "axes 0 0 20 XYZ"), 28, "expected a property of a bone, one of id, name, direction"),
    (("dof rx ry rz", "dof rx ry rw"), 31, "a bone has a channel `rw`; known: rx, ry, rz, tx, ty, tz, l"),
    (("dof rx ry rz", "dof rx ry rx"), 31, "a bone names its channel `rx` twice"),
    (("(-70.0 70.0)", "(-70.0)"), 32, "bone `thigh` has 3 freedoms, so 6 limits; found 5"),
    (("(-70.0 70.0)", "(-70.0 nan)"), 33, "a limit is not a number: `nan`"),
    (("(-70.0 70.0)", "(-70.0 wide)"), 33, "expected a property of a bone, one of id, name"),
    (("  end\n:hierarchy", ":hierarchy"), 54, "section `:bonedata` ends where `end` of a bone was expected"),
    (("  begin\n    root", "    root"), 57, "expected `begin` of the hierarchy; found `root`"),
    (("hip thigh", "hip thihg"), 59, "the hierarchy names bone `thihg`, which has no data; nearest: `thigh`"),
    (("hip thigh", "hip thigh root"), 59, "the root cannot hang from `hip`"),
    (("shin foot", "shin foot thigh"), 61, "bone `thigh` hangs from both `hip` and `shin`"),
    (("    shin foot\n", ""), 45, "bone `foot` does not hang from the root in the hierarchy"),
    (("root hip\n    hip thigh", "hip thigh\n    foot hip"), 16, "bone `hip` does not hang from the root"),
    (("    shin foot\n  end\n", "    shin foot\n"), 61, "section `:hierarchy` ends where `end` of the hierarchy"),
    (("    shin foot\n  end\n", "    shin foot\n  end\n  more\n"), 63, "expected nothing after the hierarchy's `end`"),
]


@pytest.mark.parametrize(("change", "line", "message"), BROKEN_FIGURES)
def test_broken_skeletons(change: str | tuple[str, str], line: int | None, message: str) -> None:
    text = change if isinstance(change, str) else FIGURE.replace(*change, 1)
    assert text != FIGURE
    with pytest.raises(FileError) as error:
        read_figure(text)
    place = "half.asf" if line is None else f"half.asf:{line}"
    assert str(error.value).startswith(f"{place}: {message}")


class TestMotion:
    def test_rotations_are_those_of_the_format(self, folder: Path) -> None:
        clip = read_walk(folder)
        motion = clip.motion
        assert motion is not None
        assert (motion.num_frames, motion.fps, motion.name, clip.format) == (3, 120.0, "half_01", "amc")
        assert motion.root[2] == pytest.approx(np.array([1.5, 20, 3.25]) * clip.unit)
        root = about("Z", 30) @ about("Y", 20) @ about("X", 10)
        assert to_matrix(motion.rotations[1, 0]) == pytest.approx(root)
        frame = about("Z", 20)
        thigh = frame @ about("Z", 13) @ about("Y", 12) @ about("X", 11) @ frame.T
        assert to_matrix(motion.rotations[1, 2]) == pytest.approx(thigh)
        frame = about("Z", 20) @ about("X", -90)
        foot = frame @ about("Z", -7) @ about("X", 5) @ frame.T
        assert to_matrix(motion.rotations[1, 4]) == pytest.approx(foot)

    def test_positions_by_hand(self, folder: Path) -> None:
        still = WALK.split("2\n", 1)[0].replace("shin 0", "shin 90")
        clip = read_walk(folder, still)
        assert clip.motion is not None
        places = fk(clip.motion).points(["root", "thigh", "shin", "foot"])[0] / clip.unit
        # The shin turns about -Z, which takes it from pointing down to pointing along -X.
        assert places == pytest.approx(np.array([[1, 20, 3], [3, 20, 3], [3, 10, 3], [-6, 10, 3]]))

    def test_notes(self, folder: Path) -> None:
        rate = "The file gives no frame rate; 120 frames per second are assumed."
        assert read_walk(folder).notes == (rate,)
        bare = read_walk(folder, WALK.replace(":FULLY-SPECIFIED\n", "").replace(":DEGREES\n", ""))
        assert bare.notes == (
            rate,
            "The file does not say what its angles are; degrees are assumed, as in the skeleton file.",
            "The file does not say `:FULLY-SPECIFIED`; every frame was checked to be so.",
        )

    def test_radians(self, folder: Path) -> None:
        clip = read_walk(folder, WALK.replace(":DEGREES", ":RADIANS").replace("shin 90", "shin 1.5"))
        assert clip.motion is not None
        assert angle_between(clip.motion.rotations[1, 3], clip.motion.rotations[0, 3]) == pytest.approx(1.5)

    def test_the_rate_where_the_file_gives_it(self, folder: Path) -> None:
        clip = read_walk(folder, ":SAMPLES-PER-SECOND 59.94\n" + WALK)
        assert clip.motion is not None
        assert (clip.motion.fps, clip.notes) == (59.94, ())
        text, notes = written(clip)
        assert (":SAMPLES-PER-SECOND 59.94\n" in text, notes) == (True, ())

    def test_lines_may_be_in_any_order_and_case(self, folder: Path) -> None:
        plain = read_walk(folder).motion
        shuffled = WALK.replace("thigh 11 12 13\nshin 90\n", "SHIN 90\n\n  # a comment\nthigh 11 12\t13 # another\n")
        clip = read_walk(folder, shuffled.replace("\n", "\r\n"))
        assert clip.motion is not None
        assert plain is not None
        assert np.array_equal(clip.motion.rotations, plain.rotations)

    def test_names_that_differ_in_case_only(self, folder: Path) -> None:
        (folder / "half.asf").write_text(FIGURE.replace("foot", "SHIN"))
        clip = read_walk(folder, WALK.replace("foot", "SHIN"))
        assert clip.motion is not None
        assert np.array_equal(clip.motion.rotations, read_plain(folder).rotations)

    def test_a_bone_that_does_not_move_may_have_a_line(self, folder: Path) -> None:
        plain = read_walk(folder).motion
        clip = read_walk(folder, WALK.replace("thigh 11", "hip\nthigh 11"))
        assert clip.motion is not None
        assert plain is not None
        assert np.array_equal(clip.motion.rotations, plain.rotations)
        everywhere = read_walk(folder, WALK.replace("thigh", "hip\nthigh"))
        assert "\nhip\nthigh 11.0" in written(everywhere)[0]

    def test_z_up(self, folder: Path) -> None:
        plain, turned = read_walk(folder), read_walk(folder, up="Z")
        assert plain.motion is not None
        assert turned.motion is not None
        before, after = (fk(clip.motion).positions for clip in (plain, turned) if clip.motion)
        assert after == pytest.approx(rotate(turned.skeleton.rest[0], before), abs=1e-12)
        assert written(turned)[0] == written(plain)[0]

    def test_a_root_with_few_channels(self, folder: Path) -> None:
        (folder / "half.asf").write_text(FIGURE.replace("TX TY TZ RX RY RZ", "RY TY"))
        text = "1\nroot 30 5\nthigh 0 0 0\nshin 0\nfoot 0 0\n"
        clip = read_walk(folder, text)
        assert clip.motion is not None
        assert clip.motion.root[0] / clip.unit == pytest.approx([0, 5, 0])
        assert to_matrix(clip.motion.rotations[0, 0]) == pytest.approx(about("Y", 30))
        assert "root 30.0 5.0" in written(clip)[0]


BROKEN_WALKS = [
    ("", None, "holds no frame; expected an Acclaim motion (AMC) file", 0),
    (":DEGREES\n# nothing\n", None, "holds no frame; expected an Acclaim motion (AMC) file", 0),
    (("1\nroot", "root"), 4, "expected the number of the first frame; found `root 1 20 3 0 0 0`", 0),
    (":DEGREES\n" + "9" * 5000 + "\n", 2, "expected the number of the first frame; found `9999", 0),
    ((":DEGREES", ":SAMPLES-PER-SECOND none"), 3, "expected a number of samples per second above zero", 0),
    (("2\nroot", "3\nroot"), 9, "expected frame 2; found frame 3", 1),
    (("shin 90", "shine 90"), 12, "`shine` is not a bone of the skeleton; nearest: `shin`", 1),
    (("shin 90", "shin 90 91"), 12, "expected the numbers of bone `shin`, 1 (rx); found 2", 1),
    (("thigh 11 12 13", "thigh 11 12"), 11, "expected the numbers of bone `thigh`, 3 (rx, ry, rz); found 2", 1),
    (("thigh 11 12 13", "hip 1\nthigh 11 12 13"), 11, "expected the numbers of bone `hip`, none; found 1", 1),
    (("thigh 11 12 13", "thigh 11 twelve 13"), 11, "expected a number of bone `thigh`; found `twelve`", 1),
    (("thigh 11 12 13", "thigh 11 nan 13"), 11, "expected a number of bone `thigh`; found `nan`", 1),
    (("thigh 11 12 13", "thigh 11 1e400 13"), 11, "expected a number of bone `thigh`; found `1e400`", 1),
    (("thigh 11 12 13", "thigh 11 1_2 13"), 11, "expected a number of bone `thigh`; found `1_2`", 1),
    (("thigh 11 12 13", "shin 5"), 12, "bone `shin` stands twice in frame 2", 1),
    (("thigh 11 12 13\n", ""), 12, "frame 2 has no line for bone `thigh`", 1),
    (("foot 365 -7\n", ""), 17, "the file ends early: frame 3 has no line for bone `foot`", 2),
    (("shin -270\nfoot 365 -7\n", ""), 16, "the file ends early: frame 3 has no line for bone `shin` and 1 more", 2),
    (("foot 365 -7\n", "foot 365"), 18, "expected the numbers of bone `foot`, 2 (rx, rz); found 1", 2),
    (("shin 0", "shin"), 7, "expected the numbers of bone `shin`, 1 (rx); found 0", 0),
]


@pytest.mark.parametrize(("change", "line", "message", "kept"), BROKEN_WALKS)
def test_broken_motions(folder: Path, change: str | tuple[str, str], line: int | None, message: str, kept: int) -> None:
    text = change if isinstance(change, str) else WALK.replace(*change, 1)
    assert text != WALK
    with pytest.raises(FileError) as error:
        read_walk(folder, text)
    place = "half_01.amc" if line is None else f"half_01.amc:{line}"
    assert str(error.value).startswith(f"{place}: {message}")
    if kept == 0:
        with pytest.raises(FileError):
            read_walk(folder, text, lenient=True)
        return
    assert error.value.hint == "a lenient reading keeps the frames before it"
    clip = read_walk(folder, text, lenient=True)
    assert clip.motion is not None
    assert clip.motion.num_frames == kept
    whole = read_walk(folder).motion
    assert whole is not None
    assert np.array_equal(clip.motion.rotations, whole.rotations[:kept])
    assert clip.dropped == (f"Frames from {kept + 1} on ({3 - kept} of 3) were left out: {error.value.message}.",)


class TestFindingTheSkeleton:
    @pytest.mark.parametrize("name", ["half.amc", "half_01.amc", "HALF_01.amc", "quite_other.amc"])
    def test_beside_the_motion(self, folder: Path, name: str) -> None:
        (folder / name).write_text(WALK)
        assert read(folder / name).skeleton.name == "Half a man"

    def test_the_nearest_name_wins(self, folder: Path) -> None:
        (folder / "half_01.asf").write_text(FIGURE.replace("Half a man", "the right one"))
        (folder / "half_01.amc").write_text(WALK)
        assert read(folder / "half_01.amc").skeleton.name == "the right one"
        (folder / "half_01.amc").write_text(":ASF-FILE C:\\mocap\\half.asf\n" + WALK)
        assert read(folder / "half_01.amc").skeleton.name == "Half a man"

    def test_none_or_several(self, folder: Path) -> None:
        (folder / "other.asf").write_text(FIGURE)
        (folder / "walk.amc").write_text(WALK)
        with pytest.raises(FileError, match=r"walk.amc: its skeleton file was not found beside it") as error:
            read(folder / "walk.amc")
        assert error.value.hint == "name the skeleton: --skeleton FILE.asf"
        assert read(folder / "walk.amc", skeleton=folder / "half.asf").motion is not None

    def test_a_skeleton_that_is_not_there(self, folder: Path) -> None:
        (folder / "walk.amc").write_text(WALK)
        with pytest.raises(FileError, match=r"its skeleton file `none.asf` cannot be opened: there is no such file"):
            read(folder / "walk.amc", skeleton="none.asf")

    def test_a_folder_that_is_not_there(self) -> None:
        assert formats()["amc"].read is not None
        with pytest.raises(FileError, match="its skeleton file was not found beside it"):
            formats()["amc"].read(io.BytesIO(WALK.encode()), "nowhere/walk.amc", ReadOptions())

    def test_errors_of_the_skeleton_name_its_file(self, folder: Path) -> None:
        (folder / "half.asf").write_text(FIGURE.replace("hip thigh", "hip thihg"))
        with pytest.raises(FileError, match=r"half\.asf:59: the hierarchy names"):
            read_walk(folder)


class TestWriting:
    def test_the_numbers_come_back_as_they_were(self, folder: Path) -> None:
        clip = read_walk(folder)
        text, notes = written(clip)
        assert notes == ()
        assert text.startswith("#!OML:ASF walk\n:FULLY-SPECIFIED\n:DEGREES\n1\nroot 1.0 20.0 3.0 0.0 0.0 0.0\n")
        again = read_walk(folder, text)
        assert np.array_equal(again.layout.values, clip.layout.values)
        assert again.layout.lines == clip.layout.lines
        assert again.motion is not None
        assert clip.motion is not None
        assert np.array_equal(again.motion.rotations, clip.motion.rotations)
        assert np.array_equal(again.motion.root, clip.motion.root)

    def test_through_files(self, folder: Path) -> None:
        (folder / "half_01.amc").write_text(WALK)
        clip = read(folder / "half_01.amc")
        assert write(clip, folder / "half_02.amc") == ()
        assert np.array_equal(read(folder / "half_02.amc").layout.values, clip.layout.values)

    def test_only_what_changed_is_counted_anew(self, folder: Path) -> None:
        clip = read_walk(folder)
        assert clip.motion is not None
        rotations = clip.motion.rotations.copy()
        thigh = clip.skeleton.joint("thigh")
        rotations[2, thigh] = multiply(rotations[2, thigh], exp(np.array([0.01, -0.02, 0.005])))
        root = clip.motion.root + np.array([0.0, 1e-3, 0.0])
        moved = replace(clip, motion=replace(clip.motion, rotations=rotations, root=root))
        text, notes = written(moved)
        again = read_walk(folder, text)
        changed = again.layout.values != clip.layout.values
        assert np.flatnonzero(changed[0]).tolist() == [1]
        assert np.flatnonzero(changed[2]).tolist() == [1, 6, 7, 8]
        # In the file's own branch: near its 190, 100 and 200 degrees.
        assert np.abs(again.layout.values - clip.layout.values).max() < 3.0
        assert notes == ()
        assert again.motion is not None
        assert angle_between(again.motion.rotations, rotations).max() < 1e-9
        assert again.motion.root == pytest.approx(root, abs=1e-9)

    def test_a_motion_of_another_length(self, folder: Path, rng: np.random.Generator) -> None:
        figure = read_figure(FIGURE)
        frames = np.linspace(0.0, 1.0, 50)[:, None, None]
        angles = frames * rng.uniform(-9.0, 9.0, (5, 3)) * np.any(figure.skeleton.axes != 0.0, axis=-1)
        motion = Motion(
            skeleton=figure.skeleton,
            fps=120.0,
            root=rng.normal(size=(50, 3)),
            rotations=joint_rotations(figure.skeleton, angles),
        )
        text, notes = written(replace(figure, motion=motion))
        assert notes == ()
        again = read_walk(folder, text)
        assert again.motion is not None
        assert angle_between(again.motion.rotations, motion.rotations).max() < 1e-8
        assert again.motion.root == pytest.approx(motion.root, abs=1e-9)
        assert np.abs(np.diff(again.layout.values[:, 3:], axis=0)).max() < 30.0
        assert again.layout.lines == ("root", "thigh", "shin", "foot")

    def test_what_leaves_the_freedoms_is_told(self, folder: Path) -> None:
        clip = read_walk(folder)
        assert clip.motion is not None
        rotations = clip.motion.rotations.copy()
        rotations[1, 3] = multiply(rotations[1, 3], exp(np.array([0.0, 0.2, 0.0])))
        rotations[2, 1] = exp(np.array([0.1, 0.0, 0.0]))
        text, notes = written(replace(clip, motion=replace(clip.motion, rotations=rotations)))
        nearest = "the nearest they allow was written."
        assert notes == (
            f"Bone `hip` is rotated up to 5.73 degrees out of its freedoms (none), most in frame 3; {nearest}",
            f"Bone `shin` is rotated up to 11.5 degrees out of its freedoms (rx), most in frame 2; {nearest}",
        )
        assert read_walk(folder, text).layout.values[1, 9] == pytest.approx(90.0)

    def test_other_losses_are_told(self, folder: Path) -> None:
        clip = read_walk(folder)
        assert clip.motion is not None
        bigger = clip.skeleton.scaled(1.5)
        offsets = np.tile(bigger.offsets, (3, 1, 1))
        motion = replace(clip.motion, skeleton=bigger, offsets=offsets, fps=60.0)
        text, notes = written(replace(clip, skeleton=bigger, motion=motion))
        assert [sentence.split()[0:4] for sentence in notes] == [
            ["The", "character's", "bones", "are"],
            ["The", "motion", "changes", "the"],
            ["The", "rate", "of", "60"],
        ]
        again = read_walk(folder, text)
        assert again.motion is not None
        assert again.motion.fps == 60.0

    def test_what_cannot_be_written(self, folder: Path) -> None:
        clip = read_walk(folder)
        assert clip.motion is not None
        for wrong, options, message in [
            (read_figure(FIGURE), {}, "An AMC file holds a motion, and this clip has none"),
            (Clip.of(clip.motion), {}, r"An AMC file goes with a skeleton file \(ASF\), and this character is from no"),
            (clip, {"unit": 0.01}, "An AMC file has the unit of its ASF file, 0.0508 m; cannot write cm"),
            (clip, {"up": "Z"}, "An AMC file has the up axis of its ASF file, Y; cannot write Z"),
            (renamed(clip), {}, r"no longer those of its ASF file; they differ in \['foot', 'paw'\]"),
        ]:
            with pytest.raises(OptionError, match=message):
                written(wrong, **options)


def written_figure(clip: Clip, **options: object) -> tuple[str, tuple[str, ...]]:
    assert formats()["asf"].write is not None
    stream = io.BytesIO()
    notes = formats()["asf"].write(clip, stream, WriteOptions(**options))  # type: ignore[arg-type]
    return stream.getvalue().decode(), notes


def assert_same_figure(a: Skeleton, b: Skeleton) -> None:
    assert (a.names, a.kinds, a.name) == (b.names, b.kinds, b.name)
    for what in ("parents", "offsets", "rest", "axes", "limits", "rest_ends"):
        assert np.array_equal(getattr(a, what), getattr(b, what)), what


class TestWritingSkeletons:
    def test_the_same_comes_back(self) -> None:
        odd = FIGURE.replace("position 0 0 0", "position 1 2 3").replace("dof rx ry rz", "dof rz rx ry")
        odd = odd.replace("orientation 0 0 0", "orientation 5 6 7").replace("20 XYZ", "20 ZXY")
        for text in (FIGURE, odd, odd.replace("angle deg", "angle rad"), odd.replace("  length 0.5\n", "", 1)):
            clip = read_figure(text)
            out, notes = written_figure(clip)
            again = read_figure(out)
            assert notes == ()
            assert_same_figure(again.skeleton, clip.skeleton)
            assert again.unit == clip.unit
            assert again.layout.documentation == clip.layout.documentation == ("begin end 17",)
            assert again.layout.mass == 1.0
            assert [bone.extras for bone in again.layout.bones] == [bone.extras for bone in clip.layout.bones]
            assert written_figure(again)[0] == out

    def test_limits_may_be_missing(self) -> None:
        clip = read_figure(FIGURE.replace("    limits (-10, 170)\n", ""))
        out, _ = written_figure(clip)
        assert out.count("limits") == 2
        assert_same_figure(read_figure(out).skeleton, clip.skeleton)

    def test_other_lengths_and_limits(self) -> None:
        clip = read_figure(FIGURE)
        limits = clip.skeleton.limits.copy()
        limits[3, 0] = np.deg2rad([-5.0, 95.0])
        bigger = replace(clip.skeleton.scaled([1.0, 1.0, 2.0, 1.5, 1.25]), limits=limits)
        again = read_figure(written_figure(replace(clip, skeleton=bigger))[0]).skeleton
        assert again.offsets == pytest.approx(bigger.offsets, abs=1e-12)
        assert again.rest_ends == pytest.approx(bigger.rest_ends, abs=1e-12)
        assert again.limits == pytest.approx(limits)

    def test_another_unit(self) -> None:
        clip = read_figure(FIGURE)
        out, _ = written_figure(clip, unit=0.01)
        again = read_figure(out)
        assert again.unit == pytest.approx(0.01)
        assert again.skeleton.offsets == pytest.approx(clip.skeleton.offsets)
        assert again.layout.bones[1].length == pytest.approx(50.8)

    def test_through_files_with_a_motion(self, folder: Path) -> None:
        (folder / "half_01.amc").write_text(WALK)
        clip = read(folder / "half_01.amc")
        assert write(clip, folder / "new.asf") == ("An ASF file holds no motion; that goes into an AMC file.",)
        assert_same_figure(read(folder / "new.asf").skeleton, clip.skeleton)

    def test_end_points_that_no_bone_ends_in_are_told(self) -> None:
        clip = read_figure(FIGURE)
        heel = Point(name="heel", joint="foot", offset=np.array([0.0, 0.0, -0.1]))
        _, notes = written_figure(replace(clip, skeleton=replace(clip.skeleton, ends=(heel,))))
        assert notes == ("End points that are no bone's end were left out: heel.",)

    def test_what_cannot_be_written(self) -> None:
        forked = read_figure(FIGURE.replace("    shin foot", "").replace("thigh shin", "thigh shin foot"))
        plain = read_figure(FIGURE)
        rest, axes, offsets = plain.skeleton.rest.copy(), plain.skeleton.axes.copy(), forked.skeleton.offsets.copy()
        rest[2], axes[3, 0], offsets[4] = exp(np.full(3, 0.1)), [1.0, 0.0, 0.0], [0.0, 0.1, 0.0]
        away = plain.skeleton.offsets.copy()
        away[1, 0] = 0.5
        for clip, changes, options, message in [
            (Clip.of(plain.skeleton), {}, {}, "Only a character read from an ASF file can be .* is from no file"),
            (plain, {}, {"up": "Z"}, "An ASF file keeps its up axis, Y; cannot write Z"),
            (plain, {"names": ("root", "hip", "thigh", "shin", "paw"), "ends": ()}, {}, "joints are no longer those"),
            (plain, {"rest": rest}, {}, "Joint `thigh` rests another way than in its ASF file"),
            (plain, {"axes": axes}, {}, "Joint `shin` turns about other axes than in its ASF file"),
            (forked, {"offsets": offsets}, {}, "All children of bone `thigh` must start where it ends"),
            (plain, {"offsets": away}, {}, "Bone `hip` must start at the root, and it starts elsewhere"),
        ]:
            changed = replace(clip, skeleton=replace(clip.skeleton, **changes))  # type: ignore[arg-type]
            with pytest.raises(OptionError, match=message):
                written_figure(changed, **options)


def renamed(clip: Clip) -> Clip:
    skeleton: Skeleton = replace(clip.skeleton, names=("root", "hip", "thigh", "shin", "paw"), ends=())
    assert clip.motion is not None
    return replace(clip, skeleton=skeleton, motion=replace(clip.motion, skeleton=skeleton))


def mutated(text: str, rng: np.random.Generator) -> str:
    """A text with a few words, lines or characters changed, repeated, swapped or removed."""
    for _ in range(int(rng.integers(1, 4))):
        lines = text.split("\n")
        at = int(rng.integers(len(lines)))
        words = lines[at].split(" ")
        word = int(rng.integers(len(words)))
        kind = rng.integers(8)
        odd = ["nan", "-inf", "1e309", "", "(", ":", "#", "end", "begin", "root", "-1", "0", "é", "1_1", "\x00", "٣"]
        if kind == 0:
            del lines[at]
        elif kind == 1:
            lines.insert(at, lines[int(rng.integers(len(lines)))])
        elif kind == 2:
            lines = lines[: at + 1]
        elif kind == 3:
            lines[at] = lines[at][: int(rng.integers(len(lines[at]) + 1))]
        elif kind == 4:
            words[word] = str(rng.choice(odd))
            lines[at] = " ".join(words)
        elif kind == 5:
            words.insert(word, str(rng.choice(odd)))
            lines[at] = " ".join(words)
        elif kind == 6:
            other = int(rng.integers(len(lines)))
            lines[at], lines[other] = lines[other], lines[at]
        else:
            del words[word]
            lines[at] = " ".join(words)
        text = "\n".join(lines)
    return text


@pytest.mark.parametrize("lenient", [False, True])
def test_damage_gives_a_file_error_or_a_good_clip(folder: Path, rng: np.random.Generator, lenient: bool) -> None:
    good = bad = 0
    for _ in range(400):
        for text, reader in ((mutated(FIGURE, rng), read_figure), (mutated(WALK, rng), None)):
            try:
                clip = reader(text, lenient=lenient) if reader else read_walk(folder, text, lenient=lenient)
            except FileError:
                bad += 1
            else:
                assert np.all(np.isfinite(clip.skeleton.offsets))
                good += 1
    assert good > 50
    assert bad > 50
