"""Reports: clean samples get good verdicts, unusable results fail, and everything is plain data."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import OptionError, UnknownNameError
from understudy.base.quaternion import from_axis_angle, multiply
from understudy.correspondence.suggest import suggest
from understudy.figure.kinematics import Pose
from understudy.figure.measures import mirror
from understudy.figure.motion import Motion, rest_motion
from understudy.metrics.base import Figure, Grade, Measurement, Report, Verdict, evaluate, evaluate_comparison, metrics
from understudy.metrics.guard import find_failures
from understudy.retarget.driver import naive, retarget

NAMES = tuple(samples.motions())
DOCS = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


def walk() -> Motion:
    return samples.motion("walk").motion


def test_a_report_in_a_notebook_shows_numbers_with_units_and_escapes_them() -> None:
    figures = (
        Figure(name="worst", value=0.1234567, unit="<m>", about=""),
        Figure(name="mean", value=None, unit="", about=""),
    )
    measured = Measurement(metric="a&b", title="", verdict=Verdict.GOOD, words="", figures=figures)
    report = replace(evaluate(walk(), only=()), measurements=(measured,))
    assert "<td>a&amp;b</td><td>good</td><td>worst 0.1235 &lt;m&gt;, mean -</td>" in report._repr_html_()


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_against_itself_is_perfect(name: str) -> None:
    clean = samples.motion(name)
    report = evaluate(clean.motion, clean.motion)
    assert report.usable
    assert report.verdict is Verdict.GOOD
    for metric, figure in (
        ("similarity", "direction"),
        ("similarity", "local_angle"),
        ("similarity", "end_path"),
        ("self_penetration", "added_depth"),
        ("smoothness", "shake"),
        ("smoothness", "added_jump"),
    ):
        assert report[metric][figure] == pytest.approx(0.0, abs=1e-6), (metric, figure)
    assert report["smoothness"]["jerk_rms_ratio"] == pytest.approx(1.0)
    assert report["joint_limit"]["worst_angle"] < 0.1
    if report["contact_timing"].figures:
        assert report["contact_timing"]["recall"] == report["contact_timing"]["precision"] == 1.0
        assert report["contact_timing"]["timing"] == 0.0


@pytest.mark.parametrize("name", [name for name in NAMES if samples.motion(name).contacts])
def test_a_sample_by_itself_stands_where_it_says(name: str) -> None:
    clean = samples.motion(name)
    actor = next(iter(clean.actors))
    contacts = [contact for contact in clean.contacts if contact.actor in ("", actor)]
    report = evaluate(clean.motion, contacts=contacts, floor=clean.floor)
    assert report["foot_skate"]["worst_drift"] < 1e-3
    assert report["floor"]["worst_depth"] < 1e-3
    assert report["floor"]["worst_float"] < 1e-3
    assert report["foot_skate"].verdict is report["floor"].verdict is Verdict.GOOD


@pytest.mark.parametrize("name", ["walk", "run", "march", "dog_walk", "spider_walk", "squat"])
def test_plants_that_nobody_tells_are_found(name: str) -> None:
    assert evaluate(samples.motion(name).motion)["foot_skate"].verdict is Verdict.GOOD


@pytest.mark.parametrize("size", [0.6, 1.4])
def test_a_retarget_beats_a_copy(size: float) -> None:
    source = walk()
    target = source.skeleton.scaled(size)
    ours, copied = evaluate(retarget(source, target).motion, source), evaluate(naive(source, target), source)
    assert ours.usable
    assert ours["foot_skate"]["worst_drift"] < 1e-3 < 0.1 < copied["foot_skate"]["worst_drift"]
    off = [max(r["floor"]["mean_float"], r["floor"]["worst_depth"]) for r in (ours, copied)]
    assert off[0] < 0.005 < 0.1 < off[1]
    assert ours["contact_timing"]["kept_2cm"] == 1.0
    assert copied["contact_timing"]["kept_2cm"] < 0.1


def test_a_frozen_result_has_failed() -> None:
    source = walk()
    still = rest_motion(source.skeleton, num_frames=source.num_frames)
    assert evaluate(still, source).failures[0] == "the result stands still while the source moves"
    alone = evaluate(still)
    assert alone.failures == ("the result stands still: nothing in it moves",)
    assert alone.verdict is Verdict.BAD
    assert evaluate(still[:1]).failures == ("the result is a single frame",)
    assert evaluate(still, still).usable


def test_a_body_that_only_travels_is_not_frozen() -> None:
    source = walk()
    still = rest_motion(source.skeleton, num_frames=30)
    assert evaluate(replace(still, root=still.root + np.linspace(0.0, 1.0, 30)[:, None])).usable


def test_a_result_without_its_contacts_has_failed() -> None:
    source = walk()
    away = replace(source, root=source.root + np.array([0.0, 0.5, 0.0]))
    assert any(
        sentence.startswith("the result is without its source's contacts")
        for sentence in evaluate(away, source).failures
    )


def test_a_result_off_its_limits_has_failed() -> None:
    source = walk()
    rotations = source.rotations.copy()
    joint = source.skeleton.joint("LeftLeg")
    rotations[:, joint] = multiply(rotations[:, joint], from_axis_angle([1.0, 0.0, 0.0], np.radians(-100.0)))
    report = evaluate(replace(source, rotations=rotations), source).failures
    assert any(sentence.startswith("the result is off its joint limits: `LeftLeg`") for sentence in report)


def test_guards_hold_with_few_metrics() -> None:
    source = walk()
    report = evaluate(source, source, only=["floor"])
    assert [m.metric for m in report.measurements] == ["floor"]
    assert report.usable
    assert evaluate(mirror(source), source, only=["goal"]).failures[0].startswith("the result is mirrored: ")


def test_a_report_and_a_retarget_are_guarded_alike() -> None:
    """The guard is shared: whatever fails a retarget fails an evaluation of the same motion with the same words."""
    source = walk()
    contacts = samples.motion("walk").contacts
    away = replace(source, root=source.root + np.array([0.0, 0.5, 0.0]))
    for result in (mirror(source), away, source[np.zeros(source.num_frames, int)]):
        sentence = find_failures(result, source, contacts=contacts)
        assert evaluate(result, source, contacts=contacts).failures == tuple(f"the result {each}" for each in sentence)
        assert sentence


def test_every_metric_is_found_and_complete() -> None:
    assert set(metrics()) == {
        "balance", "contact_timing", "floor", "foot_skate", "goal", "joint_limit", "limb_direction", "path_jerk", "pop",
        "physics", "self_penetration", "similarity", "smoothness", "standing", "tracking",
    }  # fmt: skip
    source = walk()
    report = evaluate(source, source)
    for name, metric in metrics().items():
        assert metric.name == name
        assert metric.title
        assert metric.__class__.__doc__
        if metric.for_robots:
            continue
        figures = {figure.name for figure in report[name].figures}
        if figures:
            assert {grade.figure for grade in metric.grades} <= figures
        for curve in report[name].curves:
            assert curve.values.shape == (source.num_frames,)


def test_the_page_defines_every_figure_and_threshold() -> None:
    text = DOCS.read_text()
    source = walk()
    report = evaluate(source, source)
    for name, metric in metrics().items():
        assert f"`{name}`" in text
        for figure in () if metric.for_robots else report[name].figures:
            assert f"`{figure.name}`" in text, f"{name} {figure.name}"
        for grade in metric.grades:
            assert f"| `{grade.figure}` | {grade.noticeable:g} | {grade.bad:g} |" in text, (name, grade.figure)


def test_data_is_json() -> None:
    source = walk()
    report = evaluate(source, source)
    text = json.dumps(report.data(curves=True), allow_nan=False)
    data = json.loads(text)
    assert data["verdict"] == "good"
    assert data["metrics"]["foot_skate"]["figures"]["mean_drift"]["unit"] == "m"
    assert data["metrics"]["foot_skate"]["thresholds"]["added_drift"]["bad"] == pytest.approx(0.021)
    assert "Prazak" in data["metrics"]["foot_skate"]["thresholds"]["added_drift"]["source"]
    assert len(data["metrics"]["floor"]["curves"]["depth"]["values"]) == source.num_frames
    assert "curves" not in report.data()["metrics"]["floor"]
    assert data["metrics"]["goal"]["words"] == "not measured: no constraints are given"


def test_thresholds_grow_with_the_body() -> None:
    grade = Grade(figure="x", noticeable=0.01, bad=0.02, metres=True)
    assert grade.verdict(0.015) is Verdict.NOTICEABLE
    assert grade.verdict(0.015, 2.0) is Verdict.GOOD
    assert grade.verdict(0.015, 0.5) is Verdict.BAD
    less = Grade(figure="x", noticeable=0.9, bad=0.6)
    assert [less.verdict(v) for v in (0.95, 0.7, 0.5)] == [Verdict.GOOD, Verdict.NOTICEABLE, Verdict.BAD]


def test_a_body_of_another_size_is_judged_alike() -> None:
    clean = samples.motion("squat").motion
    for size in (0.3, 3.0):
        large = replace(clean, skeleton=clean.skeleton.scaled(size), root=size * clean.root)
        drift = np.linspace(0.0, 0.03 * size, clean.num_frames)[:, None] * [1.0, 0.0, 0.0]
        report = evaluate(replace(large, root=large.root + drift), large)
        assert report["foot_skate"]["worst_drift"] == pytest.approx(0.03 * size, rel=0.01)
        assert report["foot_skate"].verdict is Verdict.BAD


def test_a_given_map_is_used() -> None:
    source, other = walk(), samples.character("other")
    result = retarget(source, other).motion
    whole = suggest(source.skeleton, other)
    report = evaluate(result, source, whole)
    assert report["similarity"]["direction"] == pytest.approx(
        evaluate(result, source)["similarity"]["direction"], abs=0.5
    )
    arms = {"LeftArm": "RightArm", "RightArm": "LeftArm", "LeftForeArm": "RightForeArm", "RightForeArm": "LeftForeArm"}
    pairs = [replace(p, source=tuple(arms.get(bone, bone) for bone in p.source)) for p in whole.pairs
             if not any("Hand" in bone or "Shoulder" in bone for bone in p.source)]  # fmt: skip
    crossed = evaluate(result, source, replace(whole, pairs=tuple(pairs)))
    assert crossed["similarity"]["direction"] > 2.0 * report["similarity"]["direction"] + 2.0


def test_a_shorter_result_is_said_to_be_shorter() -> None:
    source = walk()
    report = evaluate(source[:90], source)
    assert "the result lasts 2.97 s and its source 5.00 s" in report.notes[0]
    assert report["similarity"]["direction"] < 1e-6


def test_wrong_use_is_told() -> None:
    source = walk()
    with pytest.raises(OptionError, match="floor's height in metres, got nan"):
        evaluate(source, floor=float("nan"))
    with pytest.raises(OptionError, match="needs a source to compare with"):
        evaluate(source, correspondence=suggest(source.skeleton, source.skeleton))
    with pytest.raises(UnknownNameError, match="no metric `foot_skat`; nearest: `foot_skate`"):
        evaluate(source, only=["foot_skat"])
    report = evaluate(source, only=["foot_skate"])
    with pytest.raises(UnknownNameError, match="no metric `flor`"):
        report["flor"]
    with pytest.raises(UnknownNameError, match="`foot_skate` has no figure `mean_sped`; nearest: `mean_speed`"):
        report["foot_skate"]["mean_sped"]


def test_measurements_are_frozen() -> None:
    report = evaluate(walk(), only=["floor"])
    assert fields(Measurement)
    with pytest.raises(AttributeError):
        report.measurements[0].words = "fine"  # type: ignore[misc]


@pytest.mark.parametrize("frames", [1, 2, 3, 5])
def test_short_motions_are_measured(frames: int) -> None:
    source = walk()[:frames]
    json.dumps(evaluate(source, source).data(curves=True), allow_nan=False)
    json.dumps(evaluate(source).data(curves=True), allow_nan=False)


def assert_same_figures(measured: Report, expected: Report) -> None:
    """Two reports agree in every figure, to rounding, and in every verdict."""
    assert measured.failures == expected.failures
    for measurement, other in zip(measured.measurements, expected.measurements, strict=True):
        assert (measurement.metric, measurement.verdict) == (other.metric, other.verdict)
        for figure in measurement.figures:
            value = other[figure.name]
            assert figure.value == (None if value is None else pytest.approx(value, rel=1e-9, abs=1e-12)), figure


@pytest.mark.parametrize(("source", "target"), [("walk", "child"), ("dance", "giant"), ("march", None)])
def test_what_the_solve_knows_gives_the_same_figures(source: str, target: str | None) -> None:
    motion = samples.motion(source).motion[:60]
    result = retarget(motion, None if target is None else f"sample:{target}", scale=0.6 if target is None else None)
    report = result.evaluate()
    case = result._cases[0]
    # Floor, landing and carried motion are made again from the alignment.
    assert_same_figures(report, evaluate_comparison(replace(case, known_context=None)))
    # Somebody who has the files alone also gets these verdicts, with reference poses that the result shows.
    by_files = evaluate(
        result.solution.motion, motion, case.user_map, contacts=result.contacts, outcomes=result.outcomes
    )
    assert {m.metric: m.verdict for m in report.measurements} == {m.metric: m.verdict for m in by_files.measurements}


def test_the_quick_metrics_and_the_others_share_one_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    from understudy.correspondence import alignment, carry, landing
    from understudy.metrics import comparison

    result = retarget(samples.motion("walk").motion[:40], "sample:child")
    calls: list[str] = []
    for module, name in ((alignment, "align"), (carry, "transfer_motion"), (landing, "find_landing")):
        monkeypatch.setattr(module, name, lambda *_, name=name, **__: calls.append(name))
    forward = comparison.fk

    def counted(motion: Motion) -> Pose:
        calls.append("fk")
        return forward(motion)

    monkeypatch.setattr(comparison, "fk", counted)
    quick = {m.metric: m for m in result.reports[0].measurements}
    sampled = calls.count("fk")
    full = result.evaluate()
    assert calls.count("fk") - sampled == 2
    assert set(calls) == {"fk"}
    assert all(full[name] is measurement for name, measurement in quick.items())
    assert result.evaluate().measurements == full.measurements
