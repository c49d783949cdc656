"""The pieces of the retargeting benchmark run on tiny cases. What they time is not checked; what they state is."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def load(monkeypatch):
    """A module of the benchmarks' folder by name."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def module(name: str) -> ModuleType:
        return __import__(name)

    return module


@pytest.fixture
def walk(load):
    """Two seconds of the sample walk on a body of 60 %."""
    cases = load("retarget_cases")
    return cases.case("walk", cases.made("walk", 2.0), "60 %")


def test_table_lines_up_and_shows_numbers_short(load):
    cases = load("retarget_cases")
    table = cases.Table(
        title="T", columns=("name", "value"), rows=(("a", 1234.5), ("long name", 0.00123)), notes=("n",)
    )
    assert table.text() == "T\n  name         value\n  a             1234\n  long name  0.00123\n  n"
    assert [cases.shown(v) for v in (math.inf, 12.345, 3, "x", 2e-7)] == ["-", "12.3", "3", "x", "2e-07"]


def test_best_takes_each_of_the_times_alone(load, monkeypatch):
    cases = load("retarget_cases")
    monkeypatch.setattr(cases, "REPEAT_SECONDS", 0.0)
    found = iter([(3.0, 1.0), (1.0, 5.0), (2.0, 2.0)])
    assert cases.best(lambda: next(found), 3) == (1.0, 1.0)


def test_captures_are_none_where_there_is_no_data(load, monkeypatch, tmp_path):
    cases = load("retarget_cases")
    monkeypatch.setenv("UNDERSTUDY_DATA", str(tmp_path))
    assert cases.data_folder() is None
    assert cases.captures() == {}


def test_samples_are_at_the_rate_of_the_captures_and_bodies_differ(load):
    cases = load("retarget_cases")
    motion = cases.made("squat", 1.0)
    assert motion.fps == cases.FPS
    assert motion.duration == pytest.approx(1.0)
    small, legs = (cases.case("squat", motion, body).target for body in cases.BODIES)
    np.testing.assert_allclose(small.lengths, 0.6 * motion.skeleton.lengths)
    ratio = legs.lengths[1:] / motion.skeleton.lengths[1:]
    assert set(np.round(ratio, 6)) == {1.0, 1.3}


def test_speed_states_steps_plants_and_what_is_missed(load, walk, monkeypatch):
    speed, cases = load("retarget_speed"), load("retarget_cases")
    monkeypatch.setattr(cases, "REPEAT_SECONDS", 0.0)
    monkeypatch.setattr(speed, "REAL_TIME", math.inf)
    table = speed.real_time({"walk": walk.motion}, ["walk"])
    assert len(table.rows) == len(cases.BODIES)
    assert len(table.missed) == len(cases.BODIES)
    assert speed.real_time({"walk": walk.motion}).missed == ()
    for name, seconds, solve, times, everything, _, steps, plant, unmet in table.rows:
        assert name.startswith("walk, ")
        assert times == pytest.approx(1e3 * seconds / solve)
        assert everything > 0.0
        assert steps >= 1
        assert plant < 1.0
        assert unmet == 0


def test_breakdown_adds_up_to_the_whole(load, walk):
    shares = load("retarget_speed").shares_of(walk)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert all(share >= 0.0 for share in shares.values())
    assert shares["evaluation"] > 0.0


def test_breakdown_says_when_a_part_is_no_longer_there(load, walk, monkeypatch):
    speed = load("retarget_speed")
    monkeypatch.setattr(speed, "PARTS", {"gone": (("dual.py", "no_such"),)})
    with pytest.raises(LookupError, match=r"no_such in dual\.py"):
        speed.shares_of(walk)


def test_there_and_back_has_no_jump(load, walk):
    motion = walk.motion
    long = load("retarget_growth").there_and_back(motion, 5.0)
    assert long.duration == pytest.approx(5.0)
    step = np.linalg.norm(np.diff(motion.root, axis=0), axis=1).max()
    assert np.linalg.norm(np.diff(long.root, axis=0), axis=1).max() <= step * (1.0 + 1e-9)
    last = motion.num_frames - 1
    np.testing.assert_array_equal(long.root[last + 7], motion.root[last - 7])
    np.testing.assert_array_equal(long.root[2 * last + 3], motion.root[3])


def test_growth_measures_every_way_in_a_process_of_its_own(load, walk):
    growth = load("retarget_growth")
    # Two seconds are solved before: what those take and set free is used again, and only more than that counts.
    longer = replace(walk, motion=growth.there_and_back(walk.motion, 8.0))
    for way in growth.WAYS:
        seconds, megabytes, result = growth.in_process(way, longer, 1)
        assert seconds > 0.0
        assert megabytes > 0.0
        assert result == longer.motion.num_frames or way == "at once"


def test_windows_agree_with_the_whole(load):
    growth, cases = load("retarget_growth"), load("retarget_cases")
    table = growth.agreement(cases.case("walk", cases.made("walk", 7.0), "60 %"))
    assert [row[0].split(",")[0] for row in table.rows] == [
        "places in the world", "places from the root", "joint rotations",
    ]  # fmt: skip
    for _, mean, most_of_it, most in table.rows:
        assert 0.0 < mean <= most_of_it <= most
    assert table.rows[0][3] < 20.0


def test_solvers_side_by_side_state_who_is_quicker_and_as_exact(load, walk, monkeypatch):
    solvers = load("retarget_solvers")
    chosen = {name: s for name, s in solvers.solvers(120.0, 5.0).items() if name in ("spacetime", "ik", "ik_lowpass")}
    monkeypatch.setattr(solvers, "solvers", lambda fps, limit: chosen)
    monkeypatch.setattr(solvers, "LEAST_REPEATS", 0)
    table = solvers.side_by_side(walk, "fixed", 5.0)
    by_name = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert by_name["spacetime"]["x spacetime"] == 1.0
    assert by_name["spacetime"]["unmet"] == 0
    assert by_name["ik_lowpass"]["worst mm or mrad"] > by_name["spacetime"]["worst mm or mrad"]
    quicker = by_name["ik"]["x spacetime"] < 1.0 and by_name["ik"]["unmet"] == 0
    assert any("ik meets everything" in each for each in table.missed) == quicker
    assert not any("ik_lowpass" in each for each in table.missed)


def test_every_solver_of_the_table_has_a_time_limit(load):
    solvers = load("retarget_solvers").solvers(120.0, 3.0)
    assert {"spacetime", "least_squares", "lmult", "sqp", "ik", "ik_lowpass"} < set(solvers)
    assert all(solver.seconds == 3.0 for name, solver in solvers.items() if name != "spacetime")


def test_reference_unfinished_is_a_lower_bound(load, walk, monkeypatch):
    pytest.importorskip("nlopt", reason="the `reference` solver needs nlopt")
    solvers = load("retarget_solvers")
    monkeypatch.setattr(solvers, "LEAST_REPEATS", 0)
    races = [solvers.Race(plants="fixed", frames=frames, limit=0.5) for frames in ("every", "some")]
    table = solvers.against_reference(walk, races)
    for row in table.rows:
        found = dict(zip(table.columns, row, strict=True))
        assert found["reference"].startswith("unfinished after ")
        assert found["x ours"].startswith("> ")
        assert found["it, at every"] > found["ours off by"]
    assert table.missed == ()


def test_reference_is_timed_to_where_it_first_meets_the_tolerance(load, walk, monkeypatch):
    pytest.importorskip("nlopt", reason="the `reference` solver needs nlopt")
    solvers = load("retarget_solvers")
    monkeypatch.setattr(solvers, "LEAST_REPEATS", 0)
    monkeypatch.setattr(solvers, "TOLERANCE", 10.0)
    monkeypatch.setattr(solvers, "AHEAD", math.inf)
    table = solvers.against_reference(walk, [solvers.Race(plants="free", frames="every", limit=60.0)])
    assert table.rows[0][3].startswith("met after ")
    assert not table.rows[0][5].startswith(">")
    assert len(table.missed) == 1


def test_command_line_prints_tables_and_what_is_missed(load, monkeypatch, capsys):
    benchmark, cases = load("retarget"), load("retarget_cases")
    table = cases.Table(title="Found", columns=("a",), rows=((1.0,),), missed=("too slow",))
    monkeypatch.setattr(benchmark, "pieces", lambda chosen: [table])
    monkeypatch.setattr("sys.argv", ["retarget.py", "--only", "speed"])
    assert benchmark.main() == 1
    out, err = capsys.readouterr()
    assert "Found\n  a\n  1" in out
    assert "load average" in out or "load unknown" in out
    assert "not reached:\n  too slow" in err
