"""Markers, pairs and their file, tempo, rhythm, posing, stepping and the picture of markers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy import samples
from understudy.analogy.conditions import reach
from understudy.analogy.matching import MarkerMatch, MarkerPair, pair_matches, read_markers, with_named
from understudy.analogy.preparation import Settings, choose_markers, find_jumps
from understudy.analogy.stepping import Tempo, feet_of, read_course, standing_heights
from understudy.analogy.study import likeness, make_study, marker_paths, parts, period, spread_markers
from understudy.base.errors import FileError, OptionError, UnknownNameError
from understudy.base.quaternion import from_axis_angle, multiply
from understudy.figure.contacts import Contact, contact_points
from understudy.figure.kinematics import fk, locate
from understudy.figure.measures import leg_length
from understudy.figure.motion import rest_motion
from understudy.figure.skeleton import Skeleton
from understudy.show.markers import draw_markers, marker_groups


@pytest.mark.parametrize("name", ["adult", "dog", "spider"])
def test_markers_cover_every_long_bone_and_every_tip(name: str) -> None:
    body = samples.character(name)
    markers = spread_markers(body)
    names = [marker.name for marker in markers]
    assert len(set(names)) == len(names)
    leg = leg_length(body)
    assert {end.name for end in body.ends if np.linalg.norm(end.offset) > 0.02 * leg} <= set(names)
    carrying = {body.names[j] for j in range(1, body.num_joints) for _ in [0] if body.lengths[j] > 0.05 * leg}
    bones = {body.names[body.parents[body.index[joint]]] for joint in carrying}
    assert bones <= {marker.joint for marker in markers}


def test_markers_are_as_many_as_asked_for() -> None:
    body = samples.character("adult")
    assert abs(len(spread_markers(body, count=120)) - 120) <= 12
    few, many = len(spread_markers(body, density=3.0)), len(spread_markers(body, density=30.0))
    assert few < len(spread_markers(body)) < many
    with pytest.raises(OptionError, match=r"count of markers above zero or a density, not both; got 5 and 2\.0"):
        spread_markers(body, count=5, density=2.0)
    with pytest.raises(OptionError, match="density of markers above zero, got -1"):
        spread_markers(body, density=-1.0)
    point = Skeleton(names=("root",), parents=np.array([-1]), offsets=np.zeros((1, 3)), name="dot")
    with pytest.raises(OptionError, match=r"Skeleton `dot` has no bone longer than .* m to put a marker on"):
        spread_markers(point)


def test_markers_are_mirrored_and_feel_twist() -> None:
    body = samples.character("adult")
    places = marker_paths(rest_motion(body), spread_markers(body))[0]
    mirrored = places * [-1.0, 1.0, 1.0]
    away = np.linalg.norm(places[:, None] - mirrored[None], axis=-1).min(axis=1)
    sided = np.abs(places[:, 0]) > 0.06
    assert away[sided].max() < 1e-6
    joints, offsets = locate(body, [m for m in spread_markers(body) if "~" in m.name])
    across = [
        np.linalg.norm(np.cross(o, body.offsets[body.children[j][0]]))
        for j, o in zip(joints, offsets)
        if body.children[j]
    ]
    assert np.median(across) > 1e-3


def test_pairs_become_matches() -> None:
    body = samples.character("spider")
    markers = with_named(spread_markers(body), body, ["LeftLeg1Tip", "LeftLeg1Coxa"])
    assert [m.name for m in markers].count("LeftLeg1Tip") == 1
    assert markers[-1].name == "LeftLeg1Coxa"
    found = pair_matches([MarkerPair(b="LeftLeg1Coxa", a="LeftLeg2Tip", scale=-0.5)], markers, markers)
    assert found[0].marker == len(markers) - 1
    assert found[0].scales.tolist() == [-0.5]
    assert found[0].scores.tolist() == [-1.0]
    with pytest.raises(UnknownNameError, match=r"Marker `LeftLeg1Tp` is neither.*`LeftLeg1Tip`"):
        with_named(markers, body, ["LeftLeg1Tp"])
    with pytest.raises(OptionError, match=r"Marker `x`: expected a finite scale other than zero, got 0\.0"):
        MarkerPair(b="x", a="y", scale=0.0)
    with pytest.raises(OptionError, match="Marker `x` is paired with nothing"):
        MarkerPair(b="x", a=())


TOML = """
[[a]]
name = "left foot"
joint = "LeftFoot"
offset = [0.0, -0.05, 0.1]
[[pair]]
b = "LeftLeg1Tip"
a = ["left foot", "LeftToeTip"]
scale = 0.8
"""


def test_marker_files_are_read(tmp_path: Path) -> None:
    file = tmp_path / "markers.toml"
    file.write_text(TOML)
    found = read_markers(file)
    assert (found.a[0].name, found.a[0].joint, found.a[0].offset.tolist()) == (
        "left foot",
        "LeftFoot",
        [0.0, -0.05, 0.1],
    )
    assert found.b == ()
    assert found.pairs == (MarkerPair(b="LeftLeg1Tip", a=("left foot", "LeftToeTip"), scale=0.8),)
    again = tmp_path / "markers.json"
    again.write_text('{"pair": [{"b": "x", "a": "y"}]}')
    assert read_markers(again).pairs == (MarkerPair(b="x", a=("y",)),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[pair]\n", "is not well formed"),
        ("[[marks]]\nb = 1\n", "expected tables `a`, `b` and `pair`; got `marks`"),
        ("pair = 3\n", "`pair` must be a list of tables"),
        ("[[pair]]\nb = 'x'\n", "expected a pair with `b`, `a` and perhaps `scale`"),
        ("[[pair]]\nb = 'x'\na = 'y'\nscal = 2\n", "expected a pair with `b`, `a` and perhaps `scale`"),
        ("[[a]]\njoint = 'x'\noffset = [1, 2]\n", "expected a marker with `joint`"),
    ],
)
def test_bad_marker_files_are_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    with pytest.raises(FileError) as caught:
        read_markers(file)
    assert said in str(caught.value)
    assert str(file) in str(caught.value)


def test_missing_marker_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read"):
        read_markers(tmp_path / "none.toml")


def test_tempo_moves_frames_and_contacts() -> None:
    tempo = Tempo(source=(0.0, 1.0, 3.0), result=(0.0, 2.0, 3.0))
    times = tempo.times(10.0)
    assert len(times) == 31
    at = tempo.sources(times)
    assert at[[0, 20, 30]] == pytest.approx([0.0, 1.0, 3.0])
    assert np.all(np.diff(at) > 0.0)
    point = samples.character("adult").point("LeftHeel")
    moved = tempo.contacts([Contact(point=point, start=0.0, end=1.0), Contact(point=point, start=1.0, end=9.0)])
    assert [(c.start, c.end) for c in moved] == [
        (0.0, pytest.approx(2.0, abs=1e-3)),
        (pytest.approx(2.0, abs=1e-3), 3.0),
    ]
    course = np.stack([np.arange(31.0), np.arange(31.0) ** 2], -1)
    assert read_course(course, 10.0, np.array([0.05, 1.0])) == pytest.approx(np.array([[0.5, 0.25], [10.0, 100.0]]))
    assert Tempo.factor(2.0, 4.0).times(30.0)[-1] == pytest.approx(2.0)
    with pytest.raises(OptionError, match=r"two times or more, rising in both motions; got \[0.0, 0.0\]"):
        Tempo(source=(0.0, 0.0), result=(0.0, 1.0))
    with pytest.raises(OptionError, match="speed above zero, got 0"):
        Tempo.factor(0.0, 1.0)


def test_period_is_found_between_frames() -> None:
    times = np.arange(200) / 30.0
    wave = np.stack([np.sin(2.0 * np.pi * times / 1.27), 0.3 * np.cos(4.0 * np.pi * times / 1.27)], -1)
    assert period(wave, 30.0) == pytest.approx(1.27, abs=0.005)
    assert period(wave + 2.0 * times[:, None], 30.0) == pytest.approx(1.27, abs=0.02)
    assert period(times[:, None], 30.0) is None
    assert period(np.zeros((50, 3)), 30.0) is None
    assert period(wave[:5], 30.0) is None


def test_likeness_does_not_mind_timing_or_sign() -> None:
    times = np.arange(300) / 60.0
    shape = [
        np.sin(2.0 * np.pi * times * f + p) + 0.3 * np.sin(4.0 * np.pi * times * f + 2.0 * p)
        for f, p in ((1.0, 0.0), (0.7, 1.0))
    ]
    assert likeness(shape[0], -shape[1], (60.0, 60.0)) > 0.95
    spikes = np.where(np.arange(300) % 60 < 4, 1.0, 0.0)
    assert likeness(shape[0], spikes, (60.0, 60.0)) < 0.7


def test_a_pose_reaches_for_places() -> None:
    dog = samples.character("dog")
    start = fk(rest_motion(dog)).points(["LeftForeToe"])[0, 0]
    found = reach(
        dog, {"LeftForeToe": start + np.array([0.0, 0.15, 0.1])}, keep=("Hips", "Spine", "Spine1", "Spine2", "Chest")
    )
    assert not found.unmet
    assert np.linalg.norm(fk(found.motion).points(["LeftForeToe"])[0, 0] - start - [0.0, 0.15, 0.1]) < 1e-3
    kept = [dog.index[name] for name in ("Hips", "Chest", "RightForearm")]
    assert np.allclose(found.motion.rotations[0, kept], dog.rest[kept])
    far = reach(dog, {"LeftForeToe": start + np.array([0.0, 0.0, 2.0])}, keep=("Hips",))
    assert far.unmet
    assert far.unmet[0].constraint.name == "LeftForeToe"


def test_points_of_a_foot_belong_together() -> None:
    for name, count in (("adult", 2), ("dog", 4), ("spider", 8)):
        motion = rest_motion(samples.character(name))
        feet = feet_of(motion.skeleton, contact_points(motion))
        assert len(feet) == count
        assert all(len({point.name[:4] for point in foot}) == 1 for foot in feet)


def test_groups_of_the_picture_join_what_shares_a_marker() -> None:
    def one(marker: int, *partners: int) -> MarkerMatch:
        return MarkerMatch(
            marker=marker,
            partners=np.array(partners),
            scales=np.ones(len(partners)),
            scores=np.ones(len(partners)),
            shares=np.ones(len(partners)),
        )

    groups = marker_groups(7, [one(0, 0, 1), one(1, 1, 2), one(2, 4)])
    assert groups.tolist() == [0, 0, 0, -1, 1, -1, -1]


def test_picture_of_markers(tmp_path: Path) -> None:
    adult, dog = (samples.motion(name, seconds=1.0).motion for name in ("walk", "dog_walk"))
    markers = spread_markers(adult.skeleton), spread_markers(dog.skeleton)
    matches = [
        MarkerMatch(
            marker=i, partners=np.array([i, i + 1]), scales=np.full(2, s), scores=np.full(2, s), shares=np.full(2, 0.5)
        )
        for i, s in ((0, 1.0), (5, -1.0), (20, 1.0))
    ]
    file = tmp_path / "markers.svg"
    draw_markers((adult, dog), markers, matches, file, labels=("A", "B"))
    text = file.read_text()
    assert text.startswith("<?xml")
    assert text.count("#d55e00") > 0
    assert text.count("#0072b2") > 0
    first = file.read_bytes()
    draw_markers((adult, dog), markers, matches, file, labels=("A", "B"))
    assert file.read_bytes() == first
    with pytest.raises(OptionError, match=r"Pictures are written as \.png or \.svg"):
        draw_markers((adult, dog), markers, matches, tmp_path / "markers.gif")


def test_what_is_left_out_carries_no_markers_and_drives_nothing() -> None:
    walk = samples.motion("walk", seconds=2.0).motion
    arms = ("LeftArm", "RightArm", "Tail")
    held = choose_markers(walk.skeleton, samples.character("dog"), (), ((), ()), Settings(without=arms))
    assert not any("Arm" in m.joint or "Hand" in m.joint for m in held[0])
    assert not any("Tail" in m.joint for m in held[1])
    study = make_study(walk, held[0], what="it", without=arms)
    moved = np.abs(study.joint.vectors).sum(axis=1)
    out = parts(walk.skeleton, arms)
    assert moved[out[study.chart.joint_of]].max() < 1e-12
    assert moved[~out[study.chart.joint_of]].max() > 0.1
    with pytest.raises(OptionError, match="No marker is left on `adult` without Hips"):
        choose_markers(walk.skeleton, walk.skeleton, (), ((), ()), Settings(without=("Hips",)))


def test_joints_that_flip_are_found() -> None:
    walk = samples.motion("walk", seconds=1.0).motion
    assert find_jumps(walk) == []
    rotations = walk.rotations.copy()
    knee = walk.skeleton.joint("LeftLeg")
    rotations[10:, knee] = multiply(rotations[10:, knee], from_axis_angle(np.array([0.0, 1.0, 0.0]), np.pi))
    assert find_jumps(replace(walk, rotations=rotations)) == ["LeftLeg"]
    assert find_jumps(walk[:1]) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"similar": 0.0}, "similarity above 0 and up to 1, got 0.0"),
        ({"threshold": 1.5}, "match threshold above 0 and up to 1, got 1.5"),
        ({"eigenvectors": 0}, "at least one eigenvector, got 0"),
        ({"travel": "far"}, 'Expected travel "feet", "legs" or a number of zero or more, got \'far\''),
        ({"travel": -1.0}, "or a number of zero or more, got -1.0"),
        ({"pull": float("nan")}, "a pull of zero or more, got nan"),
        ({"mean_weight": -0.1}, "a mean_weight of zero or more, got -0.1"),
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(OptionError) as caught:
        Settings(**wrong)
    assert said in str(caught.value)


def test_points_rise_above_the_lowest_of_their_feet() -> None:
    """Joints of the toes stand as high as the soles are thick, here 3 cm; what hangs below a paw is no part of it."""
    walk = samples.motion("walk").motion
    balls = [walk.skeleton.point(f"{side}ToeBase") for side in ("Left", "Right")]
    thick = tuple(
        replace(end, offset=end.offset - np.array([0.0, 0.03, 0.0])) if "ToeTip" in end.name else end
        for end in walk.skeleton.ends
    )
    found = standing_heights(replace(walk, skeleton=replace(walk.skeleton, ends=thick)), balls)
    assert set(found) == {"LeftToeBase", "RightToeBase"}
    assert all(rise == pytest.approx(0.03, abs=2e-3) for rise in found.values())
    dog = samples.motion("dog_walk").motion
    paws = contact_points(dog)
    hung = tuple(replace(end, offset=end.offset * 3.0) if end not in paws else end for end in dog.skeleton.ends)
    bare = standing_heights(replace(dog, skeleton=replace(dog.skeleton, ends=hung)), paws)
    assert bare == standing_heights(dog, paws)
    assert min(bare.values()) == 0.0
    assert standing_heights(walk, []) == {}
