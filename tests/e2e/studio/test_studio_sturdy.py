"""What may go wrong: broken files, hostile names, a crashed page, a killed server; and use without mouse or eyes."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from understudy import read, samples
from understudy.io import write

pytestmark = pytest.mark.xdist_group("studio")

HOSTILE = "<img src=x onerror=alert(1)>"
# Roles whose elements must have a name that can be read out.
NAMED = (
    "button",
    "link",
    "textbox",
    "searchbox",
    "combobox",
    "checkbox",
    "radio",
    "slider",
    "spinbutton",
    "tab",
    "treeitem",
)


def test_names_from_files_are_shown_as_text(desk: Any, server: Any) -> None:
    path = server.work / "hostile.bvh"
    write(samples.motion("squat", fps=30.0, seconds=1.0).motion, path)
    path.write_text(path.read_text().replace("LeftHand", HOSTILE.replace(" ", "\u00a0")))
    said: list[str] = []
    desk.page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    desk.file("hostile.bvh")
    desk.until("state.value.document.recipe.actor.length === 1")
    desk.settle()
    name = next(name for name in desk.names() if "onerror" in name)
    at = desk.value(f"screen('result', {name!r})")
    desk.page.mouse.click(at["x"], at["y"])
    desk.until("selection.value.kind === 'joint'")
    desk.panel("body")
    desk.at("find-bone").fill("onerror")
    assert desk.page.locator(".dock").get_by_text("onerror").first.is_visible()
    assert desk.page.locator("img").count() == 0
    assert said == []


def test_a_broken_file_is_told_of_and_the_work_goes_on(desk: Any, server: Any) -> None:
    desk.sample("squat", "source")
    before = desk.document
    (server.work / "broken.bvh").write_text("HIERARCHY\nROOT Hips\n{\n  OFFSET 0 0\n}\n")
    desk.file("broken.bvh")
    message = desk.at("troubles")
    message.get_by_text("broken.bvh:4").wait_for()
    assert desk.document == before
    desk.picture("broken")
    message.get_by_role("button").first.click()
    desk.at("step-forward").click()
    desk.panel("body")
    desk.at("body-all-number").fill("1.1")
    desk.page.keyboard.press("Enter")
    desk.until("state.value.document.recipe.actor[0].scale === 1.1")
    desk.settle()


def test_a_trouble_of_a_solve_goes_with_the_next_that_succeeds(desk: Any, server: Any) -> None:
    path = server.work / "changing.bvh"
    write(samples.motion("squat", fps=30.0, seconds=1.0).motion, path)
    good = path.read_bytes()
    desk.file("changing.bvh")
    desk.until("state.value.document.recipe.actor[0]?.source.endsWith('changing.bvh')")
    desk.settle()
    path.write_bytes(good[:100])
    desk.panel("body")
    desk.at("body-all-number").fill("1.1")
    desk.page.keyboard.press("Enter")
    message = desk.at("troubles").get_by_text("changing.bvh")
    message.first.wait_for()
    path.write_bytes(good)
    desk.at("undo").click()
    desk.settle()
    desk.sees(message.count, 0)


def test_a_dropped_file_is_opened(desk: Any, tmp_path: Path) -> None:
    path = tmp_path / "mine.bvh"
    write(samples.motion("squat", fps=30.0, seconds=1.0).motion, path)
    desk.panel("files")
    desk.at("upload").set_input_files(path)
    desk.page.get_by_role("dialog").get_by_role("button", name="motion").first.click()
    desk.until("state.value.document.recipe.actor[0]?.source.endsWith('mine.bvh')")
    desk.settle()
    assert desk.value("state.value.duration") == pytest.approx(1.0, abs=0.05)


def test_a_crashed_page_and_a_killed_server_lose_nothing(desk: Any, server: Any) -> None:
    desk.sample("squat", "source")
    desk.panel("body")
    desk.at("body-legs-number").fill("1.2")
    desk.page.keyboard.press("Enter")
    desk.until("state.value.undo?.includes('legs')")
    desk.settle()
    kept, places = desk.document, desk.motion()[1]
    desk.sees(lambda: server.view().get("panel"), "body")
    with pytest.raises(Exception, match="crash"):
        desk.page.goto("chrome://crash")
    other = type(desk)(desk.page.context.new_page(), server.url)
    other.visit()
    assert other.document == kept
    other.at("panel-body").wait_for()
    server.end(signal.SIGKILL)
    other.until("!window.understudy.connected.value")
    assert "No connection" in other.page.locator(".away").inner_text()
    other.page.close()
    server.start()
    again = type(desk)(desk.page.context.new_page(), server.url)
    again.visit()
    assert again.document == kept
    assert abs(again.motion()[1] - places).max() < 1e-6
    again.at("undo").click()
    again.until("!state.value.document.recipe.actor[0].scale")
    assert again.faults == []


def reach(desk: Any, testid: str) -> None:
    """Tab until something has the focus."""
    for _ in range(200):
        if desk.page.evaluate("() => document.activeElement.dataset.testid") == testid:
            return
        desk.page.keyboard.press("Tab")
    pytest.fail(f"`{testid}` is not reached by tabs")


def test_the_main_path_by_keyboard_alone(desk: Any, server: Any) -> None:
    keys = desk.page.keyboard
    keys.press("1")
    reach(desk, "sample-squat")
    keys.press("Enter")
    desk.until("state.value.document.recipe.actor.length === 1")
    desk.settle()
    reach(desk, "canvas")
    keys.press("Space")
    desk.until("clock.time.value > 0.3")
    keys.press("Space")
    desk.until("!clock.playing.value")
    reach(desk, "interval")
    path = desk.page.evaluate("() => document.activeElement.dataset.path").split("/")
    before = desk.document["recipe"][path[1]][int(path[2])]["end"]
    keys.press("ArrowLeft")
    desk.until(f"state.value.document.recipe.{path[1]}[{path[2]}].end < {before}")
    desk.settle()
    keys.press("1")
    reach(desk, "export-format")
    keys.type(".bvh")
    reach(desk, "download")
    with desk.page.expect_download() as download:
        keys.press("Enter")
    path = server.work / download.value.suggested_filename
    download.value.save_as(path)
    assert read(path).motion is not None


def nameless(node: dict[str, Any]) -> list[str]:
    """Controls of an accessibility tree that have no name."""
    properties = {entry["name"]: entry["value"].get("value") for entry in node.get("properties", [])}
    role = node.get("role", {}).get("value", "")
    unnamed = role in NAMED and not node.get("ignored") and not node.get("name", {}).get("value", "").strip()
    return [f"{role} {properties}"] if unnamed else []


def test_every_control_has_a_name(desk: Any) -> None:
    desk.sample("walk", "source")
    desk.sample("other", "target")
    session = desk.page.context.new_cdp_session(desk.page)
    session.send("Accessibility.enable")
    for panel in ("files", "inspector", "body", "correspondence", "transition", "analogy", "variants", "quality"):
        desk.panel(panel)
        desk.page.evaluate("() => document.querySelectorAll('details').forEach((part) => { part.open = true; })")
        nodes = session.send("Accessibility.getFullAXTree")["nodes"]
        assert sum(node.get("role", {}).get("value") == "button" for node in nodes) > 10
        assert [fault for node in nodes for fault in nameless(node)] == [], panel
