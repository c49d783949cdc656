"""The studio by hand and eye: a motion is opened, played, changed by dragging, undone, and taken away as files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy import read
from understudy.figure.kinematics import fk

pytestmark = pytest.mark.xdist_group("studio")

FRAME = 1 / 30


@pytest.fixture
def walk(desk: Any) -> Any:
    """An easy walk, performed by the body it was made for."""
    desk.sample("walk", "source")
    return desk


def interval(desk: Any, path: str) -> Any:
    return desk.page.locator(f'[data-testid="interval"][data-path="{path}"]')


def contact(desk: Any, number: int) -> dict[str, Any]:
    return desk.document["recipe"]["contact"][number]


def long_contact(desk: Any, point: str) -> int:
    """The number of a contact in the middle of the walk that has room to grow and shrink."""
    contacts = desk.document["recipe"]["contact"]
    return next(
        n for n, c in enumerate(contacts) if c["point"] == point and c["start"] > 0.5 and c["end"] - c["start"] > 0.3
    )


def test_open_and_play(walk: Any) -> None:
    assert [body["which"] for body in walk.value("state.value.bodies")] == ["source", "result"]
    walk.sees(lambda: "met" in walk.at("status").inner_text())
    assert walk.value("state.value.duration") == pytest.approx(5.0, abs=2 * FRAME)
    drawn, place = walk.value("drawn()"), walk.value("screen('result', 'Head')")
    walk.at("play").click()
    # Pictures follow each other, however long each takes.
    walk.until(f"clock.time.value > 1.5 && window.understudy.drawn() > {drawn} + 5")
    walk.at("play").click()
    walk.until("!clock.playing.value")
    # The head has gone where the walk went by then, whenever the film was stopped.
    walk.go_to(1.5)
    moved = walk.value("screen('result', 'Head')")
    assert np.hypot(moved["x"] - place["x"], moved["y"] - place["y"]) > 3
    now = walk.value("clock.time.value")
    walk.at("step-forward").click()
    assert walk.value("clock.time.value") == pytest.approx(round(now / FRAME) * FRAME + FRAME, abs=0.6 * FRAME)
    # Nothing moves now: nothing is drawn again and again.
    walk.rest()
    drawn = walk.value("drawn()")
    walk.page.wait_for_timeout(500)
    assert walk.value("drawn()") <= drawn + 1


def test_end_of_a_plant_by_dragging_and_by_keys(walk: Any) -> None:
    number = long_contact(walk, "LeftToeBase")
    before = contact(walk, number)
    button = interval(walk, f"recipe/contact/{number}")
    box = button.bounding_box()
    lane = walk.page.locator(".lane").first.bounding_box()
    by = round(lane["width"] * 4 * FRAME / walk.value("state.value.duration"))
    x, y = box["x"] + box["width"] - 2, box["y"] + box["height"] / 2
    walk.page.mouse.move(x, y)
    walk.page.mouse.down()
    walk.page.mouse.move(x - by / 2, y, steps=3)
    walk.page.mouse.move(x - by, y, steps=3)
    walk.page.mouse.up()
    walk.until(f"state.value.document.recipe.contact[{number}].end < {before['end'] - FRAME}")
    walk.settle()
    dragged = contact(walk, number)
    assert dragged["end"] == pytest.approx(before["end"] - 4 * FRAME, abs=1.01 * FRAME)
    assert dragged["start"] == before["start"]
    # One drag is one step back, and its words say what it was.
    assert "LeftToeBase" in walk.at("undo").get_attribute("title")
    button.focus()
    walk.page.keyboard.press("ArrowLeft")
    walk.until(f"state.value.document.recipe.contact[{number}].end < {dragged['end']}")
    walk.settle()
    assert contact(walk, number)["end"] == pytest.approx(dragged["end"] - FRAME, abs=0.1 * FRAME)
    walk.page.keyboard.press("Shift+ArrowRight")
    walk.until(f"state.value.document.recipe.contact[{number}].start > {before['start']}")
    walk.settle()
    moved = contact(walk, number)
    assert moved["end"] - moved["start"] == pytest.approx(dragged["end"] - FRAME - dragged["start"], abs=1e-5)
    count = len(walk.document["recipe"]["contact"])
    walk.page.keyboard.press("Delete")
    walk.until(f"state.value.document.recipe.contact.length === {count - 1}")
    walk.settle()


def test_a_dragged_hand_arrives_in_every_frame(walk: Any, capsys: pytest.CaptureFixture[str]) -> None:
    hand = "LeftHand"
    walk.go_to(2.5)
    walk.rest()
    at = walk.value(f"screen('result', '{hand}')")
    walk.page.mouse.click(at["x"], at["y"])
    walk.until(f"selection.value.joint === '{hand}'")
    walk.rest()
    walk.page.evaluate(
        """() => {
          const seen = (window.seen = new Set());
          const answers = (window.answers = []);
          window.understudy.result.subscribe((result) => {
            if (!result || result.seq === null) return;
            seen.add(result.seq);
            answers.push(result.seq);
          });
        }"""
    )
    walk.page.mouse.move(at["x"], at["y"])
    walk.page.mouse.down()
    began, steps = time.perf_counter(), 40
    for step in range(1, steps + 1):
        walk.page.mouse.move(at["x"] + 0.8 * step, at["y"] - 0.6 * step)
        walk.page.wait_for_timeout(40)
    lasted = time.perf_counter() - began
    answers = walk.page.evaluate("() => window.seen.size")
    # A drag that rests is answered twice: at last by the finished solve, so that nothing jumps when it is let go.
    walk.page.wait_for_function("() => window.answers.at(-1) === window.answers.at(-2)")
    resting = walk.motion("result")[1]
    walk.page.mouse.up()
    walk.until("state.value.document.recipe.constraint.length === 1")
    walk.settle()
    assert np.linalg.norm(walk.motion("result")[1] - resting, axis=-1).max() < 0.02
    with capsys.disabled():
        print(f"\nlive: {answers} answers in {lasted:.1f} s of dragging, {answers / lasted:.1f} a second")
    assert answers >= 3
    (asked,) = walk.document["recipe"]["constraint"]
    assert asked["kind"] == "place"
    assert asked["point"] == hand
    assert asked["start"] < 2.5 < asked["end"]
    times, places = walk.motion("result")
    during = (times > asked["start"] - 1e-6) & (times < asked["end"] + 1e-6)
    assert during.sum() >= 10
    hands = places[:, walk.names().index(hand)]
    away = np.linalg.norm(hands[during] - asked["target"], axis=-1)
    assert away.max() < 0.005
    # It was not there before, and the feet still stand where they stood.
    source = walk.motion("source")[1][:, walk.names("source").index(hand)]
    assert np.linalg.norm(source[during] - asked["target"], axis=-1).min() > 0.03
    assert all(track["met"] for track in walk.tracks("contact"))


def test_longer_legs(walk: Any) -> None:
    names = walk.names()
    thigh, shin = names.index("LeftUpLeg"), names.index("LeftLeg")
    before = walk.motion()[1]
    walk.panel("body")
    walk.at("body-legs-number").fill("1.25")
    walk.page.keyboard.press("Enter")
    walk.until("state.value.undo?.includes('legs')")
    walk.settle()
    assert walk.document["recipe"]["actor"][0]["scale"] == {"legs": 1.25}
    after = walk.motion()[1]
    length = [np.linalg.norm(places[:, shin] - places[:, thigh], axis=-1) for places in (before, after)]
    assert np.allclose(length[1] / length[0], 1.25, atol=1e-4)
    assert all(track["met"] for track in walk.tracks("contact"))
    # By the slider's own keys, live and then kept.
    walk.at("body-arms").focus()
    for _ in range(5):
        walk.page.keyboard.press("ArrowRight")
    walk.until("state.value.document.recipe.actor[0].scale?.arms > 1.04")
    walk.settle()


def test_variants_beside_each_other(walk: Any) -> None:
    walk.panel("body")
    walk.at("body-legs-number").fill("0.7")
    walk.page.keyboard.press("Enter")
    walk.until("state.value.document.recipe.actor[0].scale?.legs === 0.7")
    walk.settle()
    walk.panel("variants")
    for name in ("2", "8", "ik", "ik_lowpass", "4", "naive"):
        walk.at(f"variant-{name}").set_checked(name in ("8", "ik"))
    walk.at("solve-variants").click()
    walk.until("result.value?.variants.length >= 2")
    walk.settle()
    figures = {variant["which"]: variant["figures"] for variant in walk.value("result.value.variants")}
    assert {"variant:8", "variant:ik"} <= figures.keys()
    assert any(value is not None for value in figures["variant:ik"].values())
    walk.at("choose-b").select_option("variant:ik")
    walk.at("show-b").click()
    walk.until("view.value.shown === 'variant:ik'")
    walk.picture("variants")
    walk.sees(lambda: walk.at("variant-figures").locator("tbody tr").count() >= 3)
    ours, other = walk.motion("result")[1], walk.motion("variant:ik")[1]
    assert ours.shape == other.shape
    assert np.abs(ours - other).max() > 1e-3
    walk.at("swap-ab").click()
    walk.until("view.value.shown === 'result'")


def test_everything_is_undone_redone_and_survives_a_reload(walk: Any, server: Any) -> None:
    steps = [walk.document]
    walk.panel("body")
    for number in ("1.1", "1.2"):
        walk.at("body-all-number").fill(number)
        walk.page.keyboard.press("Enter")
        walk.until(f"state.value.document.recipe.actor[0].scale === {number}")
        steps.append(walk.document)
    walk.page.locator("h1").click()
    walk.page.keyboard.press("Control+z")
    walk.until("state.value.document.recipe.actor[0].scale === 1.1")
    assert walk.document == steps[1]
    walk.at("undo").click()
    walk.until("state.value.document.recipe.actor[0].scale !== 1.1")
    assert walk.document == steps[0]
    walk.at("redo").click()
    walk.page.keyboard.press("Control+y")
    walk.until("state.value.document.recipe.actor[0].scale === 1.2")
    assert walk.document == steps[2]
    walk.sees(walk.at("redo").is_disabled)
    walk.settle()
    walk.go_to(1.5)
    walk.sees(lambda: (server.view().get("time"), server.view().get("panel")), (1.5, "body"))
    places = walk.motion()[1]
    walk.page.reload()
    walk.wait("() => window.understudy?.state.value")
    walk.settle()
    assert walk.document == steps[2]
    assert walk.value("clock.time.value") == pytest.approx(1.5)
    walk.at("panel-body").wait_for()
    assert np.allclose(walk.motion()[1], places)
    walk.at("undo").click()
    walk.until("state.value.document.recipe.actor[0].scale === 1.1")
    walk.settle()


def test_files_are_what_was_seen(walk: Any, server: Any, tmp_path: Path) -> None:
    walk.panel("body")
    walk.at("body-legs-number").fill("0.8")
    walk.page.keyboard.press("Enter")
    walk.until("state.value.undo?.includes('legs')")
    walk.settle()
    times, places = walk.motion()
    with walk.page.expect_download() as download:
        walk.at("export").select_option(label=walk.at("export").locator("option", has_text="bvh").first.inner_text())
    bvh = tmp_path / download.value.suggested_filename
    assert bvh.suffix == ".bvh"
    download.value.save_as(bvh)
    glb = server.work / "walk_short.glb"
    walk.panel("files")
    walk.unfold("Write into a folder")
    walk.at("export-path").fill(str(glb))
    walk.at("export-write").click()
    walk.until("document.querySelector('[data-testid=export-said]').textContent.includes('Written')")
    for file, near in ((bvh, 2e-4), (glb, 2e-4)):
        motion = read(file).motion
        assert motion is not None
        assert motion.num_frames == len(times)
        joints = [name for name in walk.names() if name in motion.skeleton.index]
        assert len(joints) > 15
        mine = fk(motion).points(joints)
        shown = places[:, [walk.names().index(name) for name in joints]]
        assert np.abs(mine - shown).max() < near, file.name
