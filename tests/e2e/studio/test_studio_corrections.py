"""Corrections in a browser: things that are carried, constraints that fade, chains of bones, a folder as a batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy
from understudy import samples

pytestmark = pytest.mark.xdist_group("studio")

TENT = (
    "v -0.1 0 -0.1\nv 0.1 0 -0.1\nv 0.1 0 0.1\nv -0.1 0 0.1\nv 0 0.2 0\nf 1 2 3 4\nf 1 5 2\nf 2 5 3\nf 3 5 4\nf 4 5 1\n"
)


def click_joint(desk: Any, which: str, joint: str, *, more: bool = False) -> None:
    at = desk.value(f"screen('{which}', '{joint}')")
    if more:
        desk.page.keyboard.down("Control")
    desk.page.mouse.click(at["x"], at["y"])
    if more:
        desk.page.keyboard.up("Control")


def test_a_mesh_from_a_file_is_carried_by_a_hand(desk: Any, tmp_path: Path) -> None:
    (tmp_path / "tent.obj").write_text(TENT)
    desk.sample("walk", "source")
    desk.sample("child", "target")
    desk.go_to(1.2)
    desk.rest()
    click_joint(desk, "result", "LeftHand")
    desk.until("selection.value.joint === 'LeftHand'")
    desk.at("upload").set_input_files(tmp_path / "tent.obj")
    desk.at("open-as-prop").click()
    desk.until("state.value.props.length === 1 && selection.value.kind === 'prop'")
    desk.settle()
    (prop,) = desk.value("state.value.props")
    assert prop["shape"] == "mesh"
    assert np.allclose(prop["boxes"][0]["size"], 0.2, atol=1e-6)
    click_joint(desk, "result", "LeftHand", more=True)
    desk.until("selection.value.joint === 'LeftHand' && selection.value.prop === 'tent'")
    desk.at("carry-tent").click()
    desk.until("state.value.props[0].moves")
    desk.settle()
    course = np.array(desk.page.evaluate("() => Array.from(window.understudy.motions.get('result').props)"))
    times, places = desk.motion()
    course = course.reshape(len(times), 7)
    hand = places[:, desk.names().index("LeftHand")]
    held = times > 1.21
    away = np.linalg.norm(course[held, :3] - hand[held], axis=-1)
    assert np.ptp(away) < 1e-3
    assert np.linalg.norm(course[held][-1, :3] - course[0, :3]) > 0.5
    desk.picture("carried")


def test_a_constraint_fades_by_its_handles(desk: Any) -> None:
    desk.sample("walk", "source")
    desk.sample("child", "target")
    desk.go_to(2.0)
    desk.rest()
    desk.panel("inspector")
    click_joint(desk, "result", "LeftHand")
    desk.until("selection.value.joint === 'LeftHand'")
    desk.at("hold-here").click()
    desk.until("state.value.document.recipe.constraint.length === 1")
    desk.settle()
    desk.at("ease-out").wait_for()
    desk.rest()
    for side, way in (("in", -50), ("out", 50)):
        box = desk.at(f"ease-{side}").bounding_box()
        x, y = box["x"] + 12, box["y"] + 12
        desk.page.mouse.move(x, y)
        desk.page.mouse.down()
        desk.page.mouse.move(x + way, y, steps=4)
        desk.page.mouse.up()
        desk.until(f"(state.value.document.recipe.constraint[0].ease_{side} ?? 0) > 0.1")
        desk.settle()
    desk.at("ease-in").focus()
    before = desk.document["recipe"]["constraint"][0]["ease_in"]
    desk.page.keyboard.press("ArrowLeft")
    desk.until(f"state.value.document.recipe.constraint[0].ease_in > {before}")
    desk.settle()
    desk.picture("eased")


def test_chains_are_paired_on_the_stage(desk: Any) -> None:
    desk.sample("walk", "source")
    desk.sample("other", "target")
    target = {str(pair["source"]): pair["target"] for pair in desk.value("state.value.correspondence.pairs")}
    desk.at("layout").click()
    desk.rest()
    desk.panel("inspector")
    click_joint(desk, "source", "LeftArm")
    desk.until("selection.value.joint === 'LeftArm'")
    click_joint(desk, "result", target["LeftArm"], more=True)
    desk.until("selection.value.other !== undefined")
    desk.at("pair-chains").click()
    desk.until("state.value.document.pairs !== null")
    desk.settle()
    pair = next(pair for pair in desk.document["pairs"] if "LeftArm" in np.atleast_1d(pair["source"]))
    assert target["LeftArm"] in np.atleast_1d(pair["target"])
    assert pair["reason"] == "given by hand"


def test_a_folder_is_a_batch_and_each_clip_opens(desk: Any, server: Any) -> None:
    clips = server.work / "clips"
    clips.mkdir(exist_ok=True)
    for name in ("walk", "squat"):
        understudy.write(samples.motion(name, seconds=0.5).motion, clips / f"{name}.bvh")
    (clips / "broken.bvh").write_text("HIERARCHY")
    desk.sample("walk", "source")
    desk.sample("child", "target")
    desk.panel("batch")
    desk.at("batch-choose").click()
    desk.at("batch-listing").locator(f'button[title="{server.work}"]').click()
    desk.at("batch-listing").locator('button[title$="clips"]').click()
    desk.at("batch-take").click()
    desk.at("batch-start").click()
    desk.page.wait_for_function("() => document.querySelectorAll('[data-testid=batch-rows] li').length === 3")
    assert desk.at("batch-rows").locator("li").first.inner_text().startswith("✕ failed")
    desk.picture("batch")
    desk.at("batch-clip-squat.bvh").click()
    desk.until("state.value.document.recipe.actor[0].source.endsWith('squat.bvh')")
    desk.settle()
    assert desk.document["recipe"]["actor"][0]["target"] == "sample:child"


def test_the_neutral_pose_is_posed_on_the_stage(desk: Any) -> None:
    desk.sample("walk", "source")
    desk.sample("other", "target")
    arm = next(
        pair["target"] for pair in desk.value("state.value.correspondence.pairs") if pair["source"] == "LeftForeArm"
    )
    before = desk.motion()[1]
    desk.panel("correspondence")
    desk.at("pose-neutral").click()
    desk.at("posing").wait_for()
    desk.rest()
    desk.picture("neutral_poses")
    click_joint(desk, "result", arm)
    desk.until(f"selection.value.joint === '{arm}'")
    desk.sees(lambda: "rings" in desk.at("chosen-joint").inner_text())
    desk.rest()
    # One of the rings is dragged; which one is under the pointer depends on how the bone is turned.
    at = desk.value(f"screen('result', '{arm}')")
    for angle in np.radians(np.arange(0, 360, 15)):
        x, y = at["x"] + 68 * np.cos(angle), at["y"] + 68 * np.sin(angle)
        desk.page.mouse.move(x, y)
        if desk.value("grip()"):
            break
    assert desk.value("grip()"), "no ring is under the pointer"
    desk.page.mouse.down()
    desk.page.mouse.move(at["x"] + 68 * np.cos(angle + 0.5), at["y"] + 68 * np.sin(angle + 0.5), steps=6)
    desk.picture("neutral_posed")
    desk.page.mouse.up()
    desk.until("state.value.document.pairs?.some((pair) => pair.turn)")
    desk.settle()
    (turned,) = [pair for pair in desk.document["pairs"] if pair.get("turn")]
    assert arm in np.atleast_1d(turned["target"])
    degrees = float(np.linalg.norm(turned["turn"]))
    assert 3.0 < degrees < 90.0
    # The same by keys, and back by the number in the panel.
    desk.at("canvas").focus()
    desk.page.keyboard.press("Alt+Shift+ArrowUp")
    desk.until(
        f"Math.hypot(...state.value.document.pairs.find((pair) => pair.turn).turn.map("
        f"(angle, axis) => angle - {turned['turn']}[axis])) > 0.5"
    )
    desk.settle()
    assert "Pose" in desk.value("state.value.undo")
    desk.at("posing-done").click()
    desk.at("posing").wait_for(state="hidden")
    after = desk.motion()[1]
    assert 0.005 < np.abs(after - before).max() < 1.0
    names = desk.names()
    foot = next(number for number, name in enumerate(names) if "foot" in name.lower())
    assert np.abs(after[:, foot] - before[:, foot]).max() < 0.01, "the feet stay where they were"
