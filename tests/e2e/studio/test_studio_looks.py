"""How the page looks: nothing is cut off, too small or over anything else, and all can be read, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.xdist_group("studio")

PANELS = ("files", "inspector", "body", "correspondence", "transition", "analogy", "variants", "quality", "batch")

LOOKS = (Path(__file__).parent / "looks.js").read_text()
# One of each fault that is looked for.
SPOIL = """() => {
  const add = (kind, text, styles) => {
    const element = document.body.appendChild(document.createElement(kind));
    element.textContent = text;
    Object.assign(element.style, { position: "fixed", top: "0", left: "0", zIndex: 9, ...styles });
  };
  add("button", "over the bar", { left: "130px", width: "150px" });
  add("p", "cut off text", { top: "300px", width: "20px", overflow: "hidden", whiteSpace: "nowrap" });
  add("button", "x", { top: "400px", width: "18px", height: "18px", minHeight: "0", padding: "0" });
  add("p", "faint text", { top: "200px", color: "#999", background: "#bbb" });
}"""


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (800, 600)])
def test_nothing_overlaps_is_cut_small_or_faint(desk: Any, width: int, height: int) -> None:
    desk.page.set_viewport_size({"width": width, "height": height})
    desk.sample("walk", "source")
    desk.sample("other", "target")
    desk.go_to(1.2)
    faults = []
    for theme in ("light", "dark"):
        desk.at("theme").select_option(theme)
        desk.wait(f"() => document.documentElement.dataset.theme === '{theme}'")
        desk.rest()
        for panel in PANELS:
            desk.panel(panel)
            desk.settle()
            desk.page.mouse.move(5, 5)
            desk.picture(f"{width}_{theme}_{panel}")
            for fault, found in desk.page.evaluate(LOOKS).items():
                faults += [f"{theme}, {panel}: {fault}: {which}" for which in found]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (800, 600)])
def test_tools_hide_nothing_of_a_body_that_fits(desk: Any, width: int, height: int) -> None:
    desk.page.set_viewport_size({"width": 1440, "height": 900})
    desk.sample("walk", "source")
    desk.sample("giant", "target")
    desk.page.set_viewport_size({"width": width, "height": height})
    desk.rest()
    desk.at("fit").click()
    desk.rest()
    tools = desk.page.locator(".stage .tools").bounding_box()
    stage = desk.at("stage").bounding_box()
    for joint in ("Head", "LeftFoot", "RightFoot"):
        at = desk.value(f"screen('result', '{joint}')")
        assert tools["y"] + tools["height"] < at["y"] < stage["y"] + stage["height"], joint
        assert stage["x"] < at["x"] < stage["x"] + stage["width"], joint
    desk.picture(f"fit_{width}")


def test_panels_as_wide_and_high_as_they_go_leave_everything_in_reach(desk: Any) -> None:
    desk.page.set_viewport_size({"width": 1280, "height": 720})
    desk.sample("walk", "source")
    desk.sample("other", "target")
    faults = []
    for label, key in (("Width of the panels", "ArrowLeft"), ("Height of the timeline", "ArrowUp")):
        border = desk.page.get_by_label(label)
        border.focus()
        before = int(border.get_attribute("aria-valuenow"))
        for _ in range(60):
            desk.page.keyboard.press(key)
        most = int(border.get_attribute("aria-valuemax"))
        assert most > before
        desk.sees(lambda border=border: int(border.get_attribute("aria-valuenow")), most)
        for panel in PANELS:
            desk.panel(panel)
            desk.settle()
            desk.page.mouse.move(5, 5)
            for fault, found in desk.page.evaluate(LOOKS).items():
                faults += [f"{label}, {panel}: {fault}: {which}" for which in found]
        desk.picture(f"wide_{key}")
    assert not faults, "\n".join(faults)
    stage = desk.at("canvas").bounding_box()
    assert stage["width"] > 200
    assert stage["height"] > 100


def test_a_panel_begins_at_its_top(desk: Any) -> None:
    desk.sample("walk", "source")
    desk.page.set_viewport_size({"width": 1280, "height": 600})
    desk.panel("variants")
    top = "document.getElementById('panel').scrollTop"
    desk.wait(f"() => {{ {top} = 300; return {top} > 0; }}")
    desk.panel("quality")
    desk.wait(f"() => {top} === 0")


def test_faults_of_looks_are_found(desk: Any) -> None:
    desk.page.evaluate(SPOIL)
    found = desk.page.evaluate(LOOKS)
    assert any("over the bar" in each for each in found["over each other"])
    assert "cut off text" in found["cut off"]
    assert "18x18 x" in found["too small"]
    assert any("faint text" in each for each in found["too faint"])


def test_the_first_picture_comes_soon(desk: Any, capsys: pytest.CaptureFixture[str]) -> None:
    desk.sample("walk", "source")
    desk.page.reload()
    desk.wait("() => window.understudy?.drawn() > 0 && window.understudy.motions.has('result')")
    took = desk.page.evaluate("() => performance.now()") / 1000
    with capsys.disabled():
        print(f"\nfirst picture: {took:.2f} s after the page was asked for")
    assert took < 15
    desk.settle()


def test_help_lists_the_keys(desk: Any) -> None:
    desk.page.keyboard.press("?")
    desk.at("help-dialog").wait_for()
    text = desk.at("help-dialog").inner_text()
    assert all(word in text for word in ("play, pause", "undo", "a frame back", "cut the chosen interval"))
    desk.picture("help")
    desk.page.keyboard.press("Escape")
    desk.at("help-dialog").wait_for(state="hidden")
