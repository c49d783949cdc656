"""The comparison with other packages on tiny cases: its measures, its peers, and what it says where one is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from understudy.base.quaternion import from_axis_angle, multiply, rotate, unrotate
from understudy.figure.kinematics import fk
from understudy.io import read
from understudy.io.robot.trajectory import WORLD, motion_of

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
STICKBOT = Path(__file__).resolve().parents[1] / "data" / "stickbot.xml"
PIECES = ("bodies", "robot", "solvers", "kinematics")


@pytest.fixture
def load(monkeypatch):
    """A module of the benchmarks' folder by name."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def module(name: str) -> ModuleType:
        return __import__(name)

    return module


@pytest.fixture
def quick(load, monkeypatch):
    """Nothing is timed for longer than it takes."""
    monkeypatch.setattr(load("retarget_cases"), "REPEAT_SECONDS", 0.0)


@pytest.fixture
def walk(load):
    """Two seconds of the sample walk on longer legs."""
    cases = load("retarget_cases")
    return cases.case("sample walk", cases.made("walk", 2.0), "legs x 1.3")


@pytest.fixture
def stickbot(load):
    """Two seconds of the sample walk on a small robot."""
    robot, cases = load("peers_robot"), load("retarget_cases")
    return robot.Act(name="walk, stickbot", motion=cases.made("walk", 2.0), robot=read(STICKBOT), file=STICKBOT)


@pytest.fixture
def clean(load, walk):
    """What measures the walk, and the walk as solved: nothing skates or sinks."""
    plan = walk.plan()
    return load("peers_measures").Yardstick.of(plan), plan.solve().motion


def figures(measures, **given):
    usual = {"skate": 1.0, "drift": 0.0, "sink": 0.0, "off": 0.0, "breach": 0.0, "fast": 0.0, "jerk": 1.0}
    return measures.Figures(**(usual | {"joint_jerk": 1.0} | given))


def without(measures, monkeypatch, module, *names):
    """Let a module find some packages not installed."""
    loaded = measures.packages

    def some(wanted):
        missing = tuple(name for name in wanted if name in names)
        return measures.Missing(packages=missing) if missing else loaded(wanted)

    monkeypatch.setattr(module, "packages", some)


def test_clean_motion_has_no_defects(clean):
    yardstick, motion = clean
    found = yardstick.measure(motion)
    assert found.skate < 0.05
    assert found.drift < 0.01
    assert found.sink < 1.01
    assert found.off < 0.01
    assert found.breach < 0.01


def test_skate_of_known_speed_is_measured(clean):
    yardstick, motion = clean
    sliding = replace(motion, root=motion.root + motion.times[:, None] * np.array([0.018, 0.0, 0.024]))
    found = yardstick.measure(sliding)
    assert found.skate == pytest.approx(3.0, abs=0.05)
    longest = max(len(stance.frames) - 1 for stance in yardstick.stances) / motion.fps
    assert found.drift == pytest.approx(3.0 * longest, abs=0.02)
    assert found.sink == pytest.approx(yardstick.measure(motion).sink)


def test_sink_and_float_of_known_depth_are_measured(clean):
    yardstick, motion = clean
    before = yardstick.measure(motion)
    sunk, floating = (
        yardstick.measure(replace(motion, root=motion.root + np.array([0.0, rise, 0.0]))) for rise in (-0.01, 0.01)
    )
    assert sunk.sink == pytest.approx(before.sink + 10.0, abs=1e-6)
    assert (sunk.off, floating.off) == (pytest.approx(10.0, abs=0.01), pytest.approx(10.0, abs=0.01))
    assert floating.sink == 0.0
    assert sunk.skate == pytest.approx(before.skate)


def test_one_frame_snap_is_seen_at_its_size(load, clean):
    yardstick, motion = clean
    leg = load("peers_measures").leg_length(motion.skeleton)
    snap, path = 0.05, motion.root.copy()
    path[motion.num_frames // 2, 0] += snap
    before, after = yardstick.measure(motion), yardstick.measure(replace(motion, root=path))
    # A pulse has third differences 1, -3, 3, -1: 20 in squares.
    pulse = np.sqrt(20.0 * (snap / leg) ** 2 / (motion.num_frames - 3)) * motion.fps**3
    source = load("peers_measures")._jerk(yardstick._paths(yardstick.source, 0), motion.fps)
    assert after.jerk == pytest.approx(np.hypot(before.jerk, pulse / source), rel=0.01)
    assert after.fast > before.fast + 100.0
    assert after.joint_jerk == pytest.approx(before.joint_jerk)


def test_knee_bent_backwards_is_a_breach_of_that_angle(load, stickbot):
    plan = stickbot.plan()
    yardstick, motion = load("peers_measures").Yardstick.of(plan), plan.solve().motion
    assert yardstick.measure(motion).breach < 0.01
    knee = motion.skeleton.index["left_knee_joint"]
    rotations = motion.rotations.copy()
    # Its range is -2 to 140 degrees.
    bent = from_axis_angle(motion.skeleton.axes[knee, 0], np.radians(-12.0))
    rotations[30, knee] = multiply(motion.skeleton.rest[knee], bent)
    assert yardstick.measure(replace(motion, rotations=rotations)).breach == pytest.approx(10.0, abs=1e-6)


def test_source_that_skates_is_said_to(load, walk):
    measures = load("peers_measures")
    yardstick = measures.Yardstick.of(walk.plan())
    assert float(yardstick.own.split()[-2]) < 0.1
    source = yardstick.source
    sliding = replace(source, root=source.root + source.times[:, None] * np.array([0.03, 0.0, 0.0]))
    assert replace(yardstick, source=sliding).own == "The source's own feet skate 3 cm/s."


def test_missing_packages_are_named_with_how_to_install_them(load):
    measures = load("peers_measures")
    assert measures.packages(("numpy", "math"))[0] is np
    missing = measures.packages(("numpy", "no_such_package", "nor_this_one"))
    assert missing.packages == ("no_such_package", "nor_this_one")
    assert missing.note == "no_such_package, nor_this_one are not installed: pip install 'understudy-motion[peers]'"
    assert measures.Missing(packages=("a",)).note.startswith("a is not installed")


def test_bodies_show_who_skates_and_who_shakes(load, walk, quick):
    table = load("peers_bodies").compare(walk)
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert set(rows) == {"spacetime (ours)", "ik", "ik_lowpass", "joint copy", "joint copy, path scaled"}
    assert rows["spacetime (ours)"]["skate cm/s"] < 0.05
    assert rows["joint copy"]["sink mm"] > 200.0
    assert rows["joint copy, path scaled"]["sink mm"] < rows["joint copy"]["sink mm"]
    assert rows["ik"]["jerk x"] > 2.0 * rows["spacetime (ours)"]["jerk x"]
    assert all(row["frames/s"] > 0.0 for row in rows.values())
    assert table.missed == ()


def test_bodies_say_what_is_not_reached(load):
    bodies, measures = load("peers_bodies"), load("peers_measures")
    found = {name: figures(measures, jerk=4.0) for name in ("ik", "ik_lowpass", "joint copy")}
    found[bodies.OURS] = figures(measures, skate=0.5, jerk=3.0)
    said = bodies.missed(found)
    assert [text.split()[0] for text in said] == ["joint", "ik"]
    assert "not 10 times" in said[0]
    found[bodies.OURS] = figures(measures, skate=1.0)
    assert any("ik_lowpass skates no more" in text for text in bodies.missed(found))
    found[bodies.OURS] = figures(measures, skate=0.01)
    assert bodies.missed(found) == []


def test_robot_file_is_freed_of_meshes(load, tmp_path):
    file = tmp_path / "meshes.xml"
    file.write_text(
        '<mujoco><default><geom type="mesh"/></default><asset><mesh name="m" file="m.stl"/><material name="k"/></asset>'
        '<worldbody><body name="b"><geom mesh="m"/><geom type="mesh" mesh="m"/><geom type="sphere" size="1"/></body>'
        '</worldbody><actuator><motor joint="j"/></actuator></mujoco>'
    )
    text = load("peers_robot").without_meshes(file)
    assert "mesh" not in text
    assert 'type="sphere" size="1"' in text
    assert 'name="k"' in text
    assert "motor" not in text
    assert 'boundmass="1e-3"' in text


@pytest.mark.parametrize("by", ["ankle", "ball"])
def test_aims_are_the_humans_scaled_and_on_the_floor(load, stickbot, by):
    aims = load("peers_aims")
    plan = stickbot.plan()
    found = {aim.joint: aim for aim in aims.aims(plan, by)}
    assert [aim.kind for aim in found.values()].count("foot") == 2
    assert [aim.kind for aim in found.values()].count("root") == 1
    assert found["waist_pitch_joint"].kind == "trunk"
    assert "waist_yaw_joint" not in found
    start = plan.starts[0]
    elbow = start.skeleton.index["left_elbow_joint"]
    np.testing.assert_allclose(found["left_elbow_joint"].places, unrotate(WORLD, fk(start).positions[:, elbow]))
    assert aims.strayed(start, list(found.values())) > 1e-3
    # The ankle is 4 cm above the sole, and the ball of the foot on it: each stands as high above the floor.
    foot = found["left_ankle_roll_joint"]
    toes = [end.offset for end in start.skeleton.ends if end.joint == foot.joint and "toe" in end.name]
    assert len(toes) == 2
    lever = np.mean(toes, axis=0) if by == "ball" else np.zeros(3)
    heights = (foot.places + rotate(foot.turns, lever))[:, 2]
    assert np.percentile(heights, 10) == pytest.approx(0.04 if by == "ankle" else 0.0, abs=1e-3)
    # What was planted stays planted: over a stance of the human's ball the robot's does not move.
    if by == "ball":
        stance = next(c for c in plan.contacts if "Left" in c.point.joint and "Toe" in c.point.joint)
        path = (foot.places + rotate(foot.turns, lever))[stance.frames(start.fps, start.num_frames)]
        assert np.ptp(path[:, :2], axis=0).max() < 1e-3


def test_robot_without_mink_is_compared_with_what_is_there(load, stickbot, quick, monkeypatch):
    robot, measures = load("peers_robot"), load("peers_measures")
    without(measures, monkeypatch, robot, "mink")
    table = robot.compare(stickbot)
    assert [row[0] for row in table.rows] == ["spacetime (ours)", "ik", "angles carried over"]
    assert table.notes[-1] == "mink: skipped; mink is not installed: pip install 'understudy-motion[peers]'"
    assert table.missed == ()
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert rows["spacetime (ours)"]["skate cm/s"] < 0.05 < rows["angles carried over"]["skate cm/s"]


def test_mink_follows_its_aims_inside_the_limits(load, stickbot):
    robot, aims, measures = load("peers_robot"), load("peers_aims"), load("peers_measures")
    mink, mujoco = (pytest.importorskip(name, reason="per-frame IK needs it") for name in ("mink", "mujoco"))
    pytest.importorskip("daqp", reason="per-frame IK needs it")
    one = replace(stickbot, motion=stickbot.motion[:40])
    plan = one.plan()
    wanted = aims.aims(plan, "ankle")
    model = mujoco.MjModel.from_xml_string(robot.without_meshes(one.file))
    motion = robot.by_mink(mink, model, one, plan, wanted)
    assert motion.num_frames == 40
    assert aims.strayed(motion, wanted) < 0.01
    assert measures.Yardstick.of(plan).measure(motion).breach < 1e-6


def test_robot_says_what_is_not_reached(load):
    robot, measures = load("peers_robot"), load("peers_measures")
    name = next(iter(robot.MINK))
    found = {robot.OURS: figures(measures, skate=0.5), "ik": figures(measures, jerk=3.0), name: figures(measures)}
    said = robot.missed(found, {robot.OURS: 100.0, name: 90.0})
    assert len(said) == 2
    assert "not 1.5 times as many" in said[0]
    assert "not 10 times" in said[1]
    found[robot.OURS] = figures(measures, skate=0.01)
    assert robot.missed(found, {robot.OURS: 1000.0, name: 90.0}) == []


def test_scipy_meets_the_same_problem(load, walk):
    solvers, cases = load("peers_solvers"), load("retarget_cases")
    problem = solvers.small(walk, 8).plan("fixed").problem()
    found = solvers.Slsqp(seconds=60.0).solve(problem)
    assert found.steps > 1
    assert cases.worst(found) < 1e-4
    assert solvers.change(found) > 0.0


def test_scipy_is_stopped_when_its_time_is_up(load, walk):
    solvers = load("peers_solvers")
    said = []
    problem = solvers.small(walk, 12).plan("fixed").problem()
    found = solvers.Slsqp(seconds=1e-6).solve(problem, lambda text, share: said.append(text))
    assert said == ["scipy SLSQP: stopped after 1e-06 s"]
    assert solvers.change(found) == pytest.approx(0.0, abs=1e-12)


def test_rows_that_follow_from_others_are_left_out(load):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(4, 9))
    kept = load("peers_solvers")._independent(np.vstack([rows, rows[0] - 2.0 * rows[3], 3.0 * rows[1]]))
    assert len(kept) == 4
    assert len(set(kept) & {1, 5}) == 1


def test_solvers_are_compared_and_nlopt_may_be_missing(load, walk, monkeypatch):
    solvers, measures = load("peers_solvers"), load("peers_measures")
    without(measures, monkeypatch, solvers, "nlopt")
    table = solvers.compare(walk, (8,), 30.0)
    assert [row[0] for row in table.rows] == ["8 frames, spacetime (ours)", "8 frames, scipy SLSQP"]
    assert table.notes[-1] == "NLopt: skipped; nlopt is not installed: pip install 'understudy-motion[peers]'"
    first, second = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert first["x ours"] == 1.0
    assert first["worst mm or mrad"] < 1.0
    assert second["unknowns"] == first["unknowns"]
    assert solvers._missed("scipy SLSQP", 8, 2.0, 0.0) == [
        "scipy SLSQP takes 2.0 times as long as ours on 8 frames, 5 asked for"
    ]
    assert solvers._missed("scipy SLSQP", 8, 2.0, 0.01) == []
    assert solvers._missed(solvers.OURS, 8, 1.0, 0.01) == ["ours is off by 10 mm on 8 frames"]


def test_our_derivatives_are_those_of_finite_differences(load, stickbot):
    kinematics = load("peers_kinematics")
    one = replace(stickbot, motion=stickbot.motion[:5])
    task = kinematics.Task.of(one)
    assert set(task.tips) == {
        "left_ankle_roll_joint", "right_ankle_roll_joint", "left_elbow_joint", "right_elbow_joint",
    }  # fmt: skip
    _, derivatives = kinematics.ours(task)
    step = 1e-6
    for name in ("left_knee_joint", "waist_yaw_joint", "right_shoulder_roll_joint"):
        column = task.values.joint_names.index(name)
        ends = []
        for sign in (-1.0, 1.0):
            values = task.values.joint_values.copy()
            values[:, column] += sign * step
            moved = motion_of(replace(task.values, joint_values=values), one.robot, "moved")[0]
            ends.append(unrotate(WORLD, fk(moved).positions[:, task.joints]))
        np.testing.assert_allclose(derivatives[..., column], (ends[1] - ends[0]) / (2.0 * step), atol=1e-8)


@pytest.mark.parametrize("name", ["pinocchio", "mujoco"])
def test_others_agree_with_our_kinematics(load, stickbot, name):
    package = pytest.importorskip(name, reason="it is what is asked")
    kinematics = load("peers_kinematics")
    one = replace(stickbot, motion=stickbot.motion[:9])
    task = kinematics.Task.of(one)
    peer = kinematics.PEERS[name][1].of(package, one, task)
    places, derivatives = kinematics.ours(task)
    np.testing.assert_allclose(peer.places(), places, atol=1e-12)
    np.testing.assert_allclose(peer.derivatives(), derivatives, atol=1e-12)


def test_kinematics_alone_where_the_others_are_missing(load, stickbot, quick, monkeypatch):
    kinematics = load("peers_kinematics")
    without(load("peers_measures"), monkeypatch, kinematics, "pinocchio", "mujoco")
    table = kinematics.compare(replace(stickbot, motion=stickbot.motion[:9]))
    assert len(table.rows) == 1
    assert [note.split(":")[0] for note in table.notes[-2:]] == ["pinocchio", "mujoco"]
    assert table.missed == ()


def test_kinematics_that_differ_or_are_quicker_are_said(load, stickbot, quick, monkeypatch):
    kinematics = load("peers_kinematics")
    one = replace(stickbot, motion=stickbot.motion[:9])
    places, derivatives = kinematics.ours(kinematics.Task.of(one))
    wrong = {"other": (lambda: places + 1e-3, lambda: derivatives)}
    monkeypatch.setattr(kinematics, "peers", lambda one, task: (wrong, []))
    missed = kinematics.compare(one).missed
    assert missed[0] == "other: places or derivatives differ by 0.001"
    assert "times as long as ours" in missed[1]


def test_command_line_prints_tables_and_what_is_missed(load, monkeypatch, capsys):
    peers, cases = load("peers"), load("retarget_cases")
    table = cases.Table(title="Found", columns=("a",), rows=((1.0,),), missed=("not ten times",))
    for name in PIECES:
        monkeypatch.setattr(load(f"peers_{name}"), "tables", lambda table=table: [table])
    monkeypatch.setattr("sys.argv", ["peers.py", "--only", "robot", "bodies"])
    monkeypatch.setattr(peers, "PACKAGES", ("numpy", "no-such-package"))
    assert peers.main() == 1
    out, err = capsys.readouterr()
    assert out.count("Found\n  a\n  1") == 2
    assert err.count("not ten times") == 2
    assert f"numpy {np.__version__}, no-such-package not installed\n" in out
    monkeypatch.setattr("sys.argv", ["peers.py", "--json"])
    monkeypatch.setattr(peers, "pieces", lambda chosen: [replace(table, missed=())])
    assert peers.main() == 0
    assert '"title": "Found"' in capsys.readouterr().out


def test_benchmarks_page_finds_the_comparison_once(load):
    found = load("run").found()
    assert "peers" in found
    assert not [name for name in found if name.startswith("peers_")]


def test_without_captures_samples_are_compared(load, monkeypatch, tmp_path):
    monkeypatch.setenv("UNDERSTUDY_DATA", str(tmp_path))
    assert load("peers_bodies").walk().name == "sample walk, legs x 1.3"
    assert load("peers_robot").act().name == "sample walk, stickbot"
