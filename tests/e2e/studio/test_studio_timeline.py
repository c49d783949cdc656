"""The timeline by mouse and keys: contacts painted, cut, joined, stretched, deleted, several at once; names, rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from understudy import write
from understudy.io import Clip
from understudy.retarget.actor import sample_scene
from understudy.retarget.root_motion import rename_joints

pytestmark = pytest.mark.xdist_group("studio")

FRAME = 1 / 30


@pytest.fixture
def walk(desk: Any) -> Any:
    desk.sample("walk", "source")
    return desk


def contacts(desk: Any, point: str) -> list[tuple[int, dict[str, Any]]]:
    listed = desk.document["recipe"]["contact"]
    return sorted(((n, c) for n, c in enumerate(listed) if c["point"] == point), key=lambda entry: entry[1]["start"])


def interval(desk: Any, number: int) -> Any:
    return desk.page.locator(f'[data-testid="interval"][data-path="recipe/contact/{number}"]')


def paint(desk: Any, point: str, start: float, end: float) -> None:
    """Drag over the row of a point."""
    lane = desk.at(f"lane-{point}")
    lane.scroll_into_view_if_needed()
    box, length = lane.bounding_box(), desk.value("state.value.duration")
    x = [box["x"] + box["width"] * time / length for time in (start, (start + end) / 2, end)]
    y = box["y"] + box["height"] / 2
    desk.page.mouse.move(x[0], y)
    desk.page.mouse.down()
    desk.page.mouse.move(x[1], y, steps=3)
    desk.page.mouse.move(x[2], y, steps=3)
    desk.page.mouse.up()


def test_a_contact_is_painted_on_an_empty_row_and_holds(walk: Any) -> None:
    assert not contacts(walk, "Head")
    walk.at("more-rows").select_option(label="Head")
    paint(walk, "Head", 1.0, 1.5)
    walk.until("state.value.document.recipe.contact.some((each) => each.point === 'Head' && each.place)")
    walk.settle()
    ((number, contact),) = contacts(walk, "Head")
    assert contact["start"] == pytest.approx(1.0, abs=1.01 * FRAME)
    assert contact["end"] == pytest.approx(1.5, abs=1.01 * FRAME)
    assert contact["on"] == "hold"
    walk.sees(lambda: walk.value("selection.value.path"), ["recipe", "contact", number])
    walk.sees(lambda: "Paint a contact of Head" in walk.at("undo").get_attribute("title"))
    times, places = walk.motion()
    held = (times >= contact["start"] - 1e-3) & (times <= contact["end"] + 1e-3)
    head = places[held][:, walk.names().index("Head")]
    assert np.ptp(head, axis=0).max() < 5e-3
    # The walking body's head goes on for half a metre in that time.
    source = walk.motion("source")[1][held][:, walk.names("source").index("Head")]
    assert np.ptp(source, axis=0).max() > 0.3
    walk.at("undo").click()
    walk.until("!state.value.document.recipe.contact.some((each) => each.point === 'Head')")
    walk.settle()


def test_a_footplant_is_deleted_and_painted_again(walk: Any) -> None:
    number, plant = next(entry for entry in contacts(walk, "LeftHeel") if entry[1]["start"] > 0.5)
    before = len(contacts(walk, "LeftHeel"))
    interval(walk, number).click()
    walk.at("delete").click()
    walk.until(
        f"state.value.document.recipe.contact.filter((each) => each.point === 'LeftHeel').length === {before - 1}"
    )
    walk.settle()
    paint(walk, "LeftHeel", plant["start"], plant["end"])
    walk.until(f"state.value.document.recipe.contact.filter((each) => each.point === 'LeftHeel').length === {before}")
    walk.settle()
    again = next(c for _, c in contacts(walk, "LeftHeel") if abs(c["start"] - plant["start"]) < 2 * FRAME)
    assert again["on"] == "floor"
    assert np.allclose(again["place"], plant["place"], atol=0.02)
    # Painting never runs over a neighbour, and Escape gives it up.
    count = len(walk.document["recipe"]["contact"])
    following = next(c for _, c in contacts(walk, "LeftHeel") if c["start"] > plant["end"])
    lane, length = walk.at("lane-LeftHeel").bounding_box(), walk.value("state.value.duration")
    start = lane["x"] + lane["width"] * (plant["end"] + 0.2) / length
    walk.page.mouse.move(start, lane["y"] + 15)
    walk.page.mouse.down()
    walk.page.mouse.move(start + 40, lane["y"] + 15, steps=4)
    walk.page.keyboard.press("Escape")
    walk.page.mouse.up()
    walk.settle()
    assert len(walk.document["recipe"]["contact"]) == count
    paint(walk, "LeftHeel", plant["end"] + 0.2, following["end"])
    walk.until(f"state.value.document.recipe.contact.length === {count + 1}")
    walk.settle()
    assert walk.document["recipe"]["contact"][-1]["end"] == pytest.approx(following["start"] - FRAME, abs=1e-3)


def test_several_are_cut_joined_moved_and_deleted(walk: Any) -> None:
    (one, first), (other, second) = [entry for entry in contacts(walk, "RightHeel") if entry[1]["start"] > 0.1][:2]
    interval(walk, one).click()
    interval(walk, other).click(modifiers=["Control"])
    walk.sees(walk.page.locator('[data-testid="interval"][aria-pressed="true"]').count, 2)
    # Moved together: the end of both, by a frame.
    interval(walk, other).focus()
    walk.page.keyboard.press("ArrowLeft")
    walk.until(f"state.value.document.recipe.contact[{one}].end < {first['end']}")
    walk.settle()
    listed = walk.document["recipe"]["contact"]
    assert listed[one]["end"] == pytest.approx(first["end"] - FRAME, abs=0.6 * FRAME)
    assert listed[other]["end"] == pytest.approx(second["end"] - FRAME, abs=0.6 * FRAME)
    count = len(listed)
    walk.at("join").click()
    walk.until(f"state.value.document.recipe.contact.length === {count - 1}")
    walk.settle()
    joined = next(c for _, c in contacts(walk, "RightHeel") if c["start"] == pytest.approx(first["start"]))
    assert joined["end"] == pytest.approx(listed[other]["end"], abs=1e-3)
    # Cut where the playhead is, with what was joined still chosen.
    walk.until("selection.value.path?.length === 3")
    walk.go_to(first["end"])
    walk.page.keyboard.press("c")
    walk.until(f"state.value.document.recipe.contact.length === {count}")
    walk.settle()
    # A whole row at once.
    walk.page.keyboard.press("Control+a")
    row = len(contacts(walk, "RightHeel"))
    walk.sees(walk.at("delete").inner_text, f"Delete {row}")
    walk.page.keyboard.press("Delete")
    walk.until("!state.value.document.recipe.contact.some((each) => each.point === 'RightHeel')")
    walk.settle()
    walk.sees(walk.at("lane-RightHeel").count, 1)  # The row stays, to paint on.
    walk.at("undo").click()
    walk.until(f"state.value.document.recipe.contact.filter((each) => each.point === 'RightHeel').length === {row}")
    walk.settle()


def test_contacts_by_keys_alone(walk: Any) -> None:
    """A row is chosen by its name, `+` adds a contact at the playhead, brackets move its ends there."""
    walk.go_to(1.0)
    walk.page.locator('[data-testid="track-RightToeTip"] .name').focus()
    point = walk.page.evaluate("() => document.activeElement.closest('[role=listitem]').getAttribute('aria-label')")
    before = len(contacts(walk, point))
    walk.page.keyboard.press("+")
    walk.until(
        f"state.value.document.recipe.contact.filter((each) => each.point === '{point}').length === {before + 1}"
    )
    walk.settle()
    walk.until("selection.value.path?.length === 3")
    number = walk.value("selection.value.path")[2]
    walk.go_to(1.6)
    walk.page.keyboard.press("]")
    walk.until(f"Math.abs(state.value.document.recipe.contact[{number}].end - 1.6) < 0.001")
    walk.settle()


def settled(desk: Any, what: str, side: str, expected: float) -> float:
    """The width or height of a part of the timeline, once it is as expected or after three seconds."""
    for _ in range(30):
        size = float(desk.page.locator(f".timeline {what}").first.bounding_box()[side])
        if abs(size - expected) <= 1.0:
            break
        desk.page.wait_for_timeout(100)
    return size


def test_rows_are_grouped_named_and_resized(desk: Any, server: Any) -> None:
    clip = rename_joints(Clip.of(sample_scene("sample:walk")[0].motion), add="mixamorig:")
    write(clip, server.work / "mixamo.bvh")
    desk.file("mixamo.bvh")
    desk.until("state.value.document.recipe.actor[0]?.source.includes('mixamo')")
    desk.settle()
    desk.page.locator(".timeline .track .name").first.wait_for()
    names = desk.page.locator(".timeline .track .name").all_inner_texts()
    assert not any("mixamorig" in name for name in names)
    assert desk.page.locator(".timeline .track .name").first.get_attribute("title").startswith("mixamorig:")
    groups = desk.page.locator(".timeline .limb button")
    assert [text.split()[-2:] for text in groups.all_inner_texts()][:2] == [["Left", "leg"], ["Right", "leg"]]
    # A closed group takes no room.
    before = desk.page.locator(".timeline .track").first.get_attribute("data-testid")
    groups.first.click()
    desk.sees(lambda: desk.page.locator(".timeline .track").first.get_attribute("data-testid") != before)
    groups.first.click()
    # Names are made wider by the border beside them, rows higher by choice.
    width = desk.page.locator(".timeline .head").first.bounding_box()["width"]
    desk.page.get_by_label("Width of the names").focus()
    for _ in range(3):
        desk.page.keyboard.press("ArrowRight")
    assert settled(desk, ".head", "width", width + 60) == pytest.approx(width + 60, abs=2)
    desk.at("row-height").select_option("48")
    assert settled(desk, ".track", "height", 48.0) == pytest.approx(48, abs=1)
    desk.at("row-height").select_option("34")


def test_defects_are_marked_and_lead_to_their_frame(desk: Any) -> None:
    desk.sample("walk", "source")
    desk.sample("giant", "target")
    desk.at("mark").first.wait_for()
    desk.picture("marks")
    mark = desk.at("mark").last
    time = float(mark.get_attribute("data-time"))
    mark.click()
    desk.until(f"Math.abs(clock.time.value - {time}) < {0.6 * FRAME}")
    assert desk.value("quality.value.verdict") in ("noticeable", "bad")


def test_a_file_of_somebody_else_is_only_replaced_when_asked_for(walk: Any, server: Any) -> None:
    foreign = server.work / "precious.bvh"
    foreign.write_text("not ours")
    walk.panel("files")
    walk.unfold("Write into a folder")
    walk.at("export-path").fill(str(foreign))
    walk.at("export-write").click()
    walk.at("replace-ask").wait_for()
    assert foreign.read_text() == "not ours"
    walk.at("replace").click()
    walk.until("document.querySelector('[data-testid=export-said]').textContent.includes('Written')")
    assert foreign.read_text().startswith("HIERARCHY")
    # What the studio wrote itself is written again without a question.
    written = foreign.stat().st_mtime_ns
    walk.at("export-write").click()
    walk.sees(lambda: foreign.stat().st_mtime_ns != written)
    assert walk.at("replace-ask").count() == 0
