"""Bone pairs, quality, transitions and analogies, made in the page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from understudy import samples
from understudy.io import write

pytestmark = pytest.mark.xdist_group("studio")


def choose(desk: Any, role: str, sample: str) -> None:
    """Choose a sample for a part of a transition or an analogy."""
    desk.at(f"choose-{role}").click()
    desk.at(f"chooser-{role}").get_by_test_id(f"sample-{sample}").click()
    desk.until(f'JSON.stringify(state.value.document).includes(\'"{role}":"sample:{sample}"\')')


def pair(desk: Any, source: str, target: str) -> None:
    desk.at(f"bone-source-{source}").click()
    desk.at(f"bone-target-{target}").click()
    desk.at("pair-bones").click()
    desk.until(
        f"state.value.document.pairs?.some((pair) => `${{pair.source}}>${{pair.target}}` === '{source}>{target}')"
    )
    desk.settle()


def test_a_wrong_pair_of_bones_is_put_right(desk: Any) -> None:
    desk.sample("walk", "source")
    desk.sample("other", "target")
    right = desk.motion()[1]
    suggested = {str(each["source"]): each["target"] for each in desk.value("state.value.correspondence.pairs")}
    left, wrong = suggested["LeftArm"], suggested["RightArm"]
    desk.panel("correspondence")
    desk.picture("bones")
    pair(desk, "LeftArm", wrong)
    # One bone has one partner: the pair that it was in is gone.
    pairs = desk.document["pairs"]
    assert [each["source"] for each in pairs if each["target"] == wrong] == ["LeftArm"]
    assert np.abs(desk.motion()[1] - right).max() > 0.05
    pair(desk, "LeftArm", left)
    pair(desk, "RightArm", wrong)
    assert {str(each["source"]): each["target"] for each in desk.document["pairs"]} == suggested
    assert np.allclose(desk.motion()[1], right, atol=1e-3)
    desk.at("pair-detail").wait_for()
    desk.at("pair-twist-number").fill("20")
    desk.page.keyboard.press("Enter")
    desk.until("state.value.document.pairs.some((pair) => pair.twist === 20)")
    desk.settle()
    desk.at("as-suggested").click()
    desk.until("state.value.document.pairs === null")
    desk.settle()


def test_a_reference_pose_is_counted_as_the_file_counts(desk: Any, server: Any) -> None:
    squat = samples.motion("squat", fps=30.0, seconds=2.0).motion
    rotations = squat.rotations.copy()
    rotations[0] = squat.skeleton.rest
    write(replace(squat, rotations=rotations), server.work / "stands.bvh")
    desk.file("stands.bvh")
    desk.until("state.value.document.recipe.actor[0]?.source.endsWith('stands.bvh')")
    desk.sample("other", "target")
    desk.panel("correspondence")
    desk.unfold("Alignment and reference poses")
    desk.go_to(0.5)
    desk.at("source_reference-playhead").click()
    # The file's frame 0 is left out: half a second is its frame 16.
    desk.until("state.value.document.recipe.actor[0].source_reference === 16")
    desk.settle()


def test_a_bad_figure_leads_to_its_frame(desk: Any) -> None:
    desk.sample("walk", "source")
    desk.panel("quality")
    desk.until("quality.value?.which === 'result'")
    measured = desk.value("quality.value.measurements")
    assert {"good", "noticeable", "bad", "not graded"} >= {each["verdict"] for each in measured}
    told = next(each for each in measured if each["time"] not in (None, 0) and each["joint"])
    part = desk.at(f"metric-{told['metric']}")
    if part.get_attribute("open") is None:
        part.locator("summary").click()
    desk.picture("quality")
    desk.at(f"go-{told['metric']}").click()
    desk.until(f"Math.abs(clock.time.value - {told['time']}) < 0.02 && selection.value.joint === '{told['joint']}'")


def test_a_transition_from_a_walk_into_a_run(desk: Any) -> None:
    desk.at("mode-transition").click()
    desk.until("state.value.document.mode === 'transition'")
    choose(desk, "first", "walk")
    choose(desk, "second", "run")
    desk.settle()
    blend = desk.value("result.value.blend")
    assert 0 < blend["start"] < blend["end"]
    times, _ = desk.motion("result")
    assert blend["end"] < times[-1]
    desk.picture("transition")
    desk.at("transition-leave").fill("2")
    desk.page.keyboard.press("Enter")
    desk.until("Math.abs(result.value.blend.leave - 2) < 0.02")
    desk.settle()
    desk.at("mode-retarget").click()
    desk.until("state.value.document.mode === 'retarget'")


def test_a_dog_marches_by_analogy(desk: Any) -> None:
    desk.at("mode-analogy").click()
    desk.until("state.value.document.mode === 'analogy'")
    for role, sample in (("a_example", "walk"), ("b_example", "dog_walk"), ("a_new", "march")):
        choose(desk, role, sample)
    desk.settle()
    markers = desk.value("result.value.markers")
    assert len({marker["pair"] for marker in markers}) >= 3
    assert "LeftHindPaw" in desk.names("result")
    _, places = desk.motion("result")
    assert np.linalg.norm(places[-1, 0] - places[0, 0]) > 1.0
    desk.picture("analogy")
    # A paw is put elsewhere at a frame, without a mouse; the whole motion goes there.
    desk.go_to(1.0)
    desk.at("canvas").focus()
    desk.page.keyboard.press("n")
    desk.until("selection.value.kind === 'joint' && selection.value.which.startsWith('result')")
    desk.page.keyboard.press("Alt+Shift+ArrowUp")
    desk.until("state.value.document.analogy.poses.length === 1")
    desk.settle()
    (pose,) = desk.document["analogy"]["poses"]
    ((point, target),) = pose["drags"].items()
    row = desk.names("result").index(point)
    times, after = desk.motion("result")
    frame = int(np.argmin(np.abs(times - pose["frame"] / desk.value("state.value.fps"))))
    assert np.linalg.norm(after[frame, row] - target) < 0.005
    assert np.linalg.norm(places[frame, row] - target) > 0.03
    desk.at("mode-retarget").click()
    desk.until("state.value.document.mode === 'retarget'")
