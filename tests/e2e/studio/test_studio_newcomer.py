"""A newcomer's path: own files, a footplant deleted and painted, a hand pinned to a box, a bone pair, an export."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy import read, samples, write
from understudy.base.quaternion import multiply, rotate
from understudy.figure.motion import Motion, rest_motion

pytestmark = pytest.mark.xdist_group("studio")

FRAME = 1 / 30


def places(motion: Motion, joint: str) -> np.ndarray:
    """(F, 3) the path of a joint, by this test's own kinematics: down the chain from the root."""
    skeleton = motion.skeleton
    chain = [skeleton.names.index(joint)]
    while skeleton.parents[chain[-1]] >= 0:
        chain.append(int(skeleton.parents[chain[-1]]))
    chain.reverse()
    # Below the root a file may move a joint, too.
    offsets = skeleton.offsets if motion.offsets is None else motion.offsets
    offsets = np.broadcast_to(offsets, (motion.num_frames, *skeleton.offsets.shape))
    position, rotation = motion.root.copy(), multiply(skeleton.rest[chain[0]], motion.rotations[:, chain[0]])
    for index in chain[1:]:
        position = position + rotate(rotation, offsets[:, index])
        rotation = multiply(rotation, multiply(skeleton.rest[index], motion.rotations[:, index]))
    return position


# Files dragged from the desktop and dropped on the stage, as a browser tells the page of them.
DROP = """(files) => {
  const carried = new DataTransfer();
  for (const { name, content } of files) {
    const bytes = Uint8Array.from(atob(content), (each) => each.charCodeAt(0));
    carried.items.add(new File([bytes], name));
  }
  const stage = document.querySelector("[data-testid=canvas]");
  for (const kind of ["dragenter", "dragover", "drop"]) {
    stage.dispatchEvent(new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true }));
  }
}"""


def let_go(desk: Any, *paths: Path) -> None:
    """Drop files on the page."""
    files = [{"name": path.name, "content": b64encode(path.read_bytes()).decode()} for path in paths]
    desk.page.evaluate(DROP, files)


def drop(desk: Any, *paths: Path) -> None:
    """Drop files on the page; for each the page says what it would be, and that is agreed to."""
    let_go(desk, *paths)
    for path, role in zip(paths, ("source", "target"), strict=True):
        button = desk.at("open-as").locator(f"[data-testid=open-as-{role}]")
        desk.at("open-as").get_by_text(path.name).wait_for()
        assert "primary" in (button.get_attribute("class") or ""), f"{path.name} is not taken for a {role}"
        button.click()
        desk.until(f"JSON.stringify(state.value.document.recipe.actor).includes('{path.name}')")
        desk.settle()


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (800, 600)])
def test_no_words_of_the_question_what_a_file_is_are_cut_off(
    desk: Any, tmp_path: Path, width: int, height: int
) -> None:
    desk.page.set_viewport_size({"width": width, "height": height})
    motion = tmp_path / "a_walk_with_a_name_as_long_as_of_studios_that_number_their_takes_0001_final.bvh"
    write(samples.motion("walk", fps=30.0, seconds=1.0).motion, motion)
    let_go(desk, motion)
    desk.at("open-as").wait_for()
    desk.picture(f"{width}_open_as")
    assert desk.page.evaluate((Path(__file__).parent / "looks.js").read_text())["cut off"] == []


def plants(desk: Any, point: str) -> list[tuple[int, dict[str, Any]]]:
    listed = enumerate(desk.document["recipe"]["contact"])
    return sorted(((n, c) for n, c in listed if c["point"] == point), key=lambda entry: entry[1]["start"])


def pair_by_hand(desk: Any, source: list[str], target: list[str]) -> None:
    """Click bones of both trees and make them one pair."""
    for side, bones in (("source", source), ("target", target)):
        for number, bone in enumerate(bones):
            desk.at(f"bone-{side}-{bone}").click(modifiers=["Control"] if number else [])
    desk.at("pair-bones").click()
    first = source[0]
    wanted = target[0] if len(target) == 1 else target
    desk.wait(
        f"() => window.understudy.state.value.document.pairs?.some((pair) => String(pair.source) === '{first}' "
        f"&& String(pair.target) === '{','.join(np.atleast_1d(wanted))}')"
    )
    desk.settle()


def test_a_newcomer_gets_a_motion_right(desk: Any, server: Any, tmp_path: Path) -> None:
    write(samples.motion("walk", fps=30.0, seconds=2.5).motion, tmp_path / "mine.bvh")
    write(rest_motion(samples.character("other")), tmp_path / "hero.glb")
    drop(desk, tmp_path / "mine.bvh", tmp_path / "hero.glb")
    # A wrong footplant is deleted, and one that is missing now is painted over the empty row.
    point = next(c["point"] for c in desk.document["recipe"]["contact"] if 0.6 < c["start"] < 1.2)
    number, plant = next(entry for entry in plants(desk, point) if 0.6 < entry[1]["start"] < 1.2)
    count = len(desk.document["recipe"]["contact"])
    desk.page.locator(f'[data-path="recipe/contact/{number}"]').click()
    desk.at("delete").click()
    desk.until(f"state.value.document.recipe.contact.length === {count - 1}")
    desk.settle()
    lane = desk.at(f"lane-{point}").bounding_box()
    x = [lane["x"] + lane["width"] * plant[key] / desk.value("state.value.duration") for key in ("start", "end")]
    desk.page.mouse.move(x[0], lane["y"] + 12)
    desk.page.mouse.down()
    desk.page.mouse.move(x[1], lane["y"] + 12, steps=5)
    desk.page.mouse.up()
    desk.until(f"state.value.document.recipe.contact.length === {count}")
    desk.settle()
    assert desk.document["recipe"]["contact"][-1]["on"] == "floor"
    # One bone pair is wrong: the head of the source plays the neck of the target, too. It is taken out and set right.
    pairs = {str(each["source"]): each["target"] for each in desk.value("state.value.correspondence.pairs")}
    neck = next(name for name in desk.names() if "neck" in name.lower())
    desk.panel("correspondence")
    pair_by_hand(desk, ["Head"], [neck, pairs["Head"]])
    wrong = desk.motion()[1]
    pair_by_hand(desk, ["Neck"], [neck])
    pair_by_hand(desk, ["Head"], [pairs["Head"]])
    chosen = {str(each["source"]): each["target"] for each in desk.document["pairs"]}
    assert (chosen["Head"], chosen["Neck"]) == (pairs["Head"], neck)
    assert np.abs(desk.motion()[1] - wrong).max() > 1e-3, "the motion follows the pair"
    # A box is put at a hand, dragged by its arrows, and the hand is pinned to it.
    hand = pairs["LeftHand"]
    desk.go_to(2.0)
    desk.rest()
    at = desk.value(f"screen('result', '{hand}')")
    desk.page.mouse.click(at["x"], at["y"])
    desk.until(f"selection.value.joint === '{hand}'")
    desk.panel("inspector")
    desk.unfold("Props")
    desk.at("add-prop").click()
    desk.until("state.value.props.length === 1 && selection.value.kind === 'prop'")
    desk.settle()
    first = desk.document["recipe"]["prop"][0]["positions"][0]
    desk.rest()
    desk.page.mouse.move(at["x"], at["y"])
    desk.page.mouse.down()
    desk.page.mouse.move(at["x"] + 8, at["y"] - 12, steps=6)
    desk.page.mouse.up()
    desk.until(f"state.value.document.recipe.prop[0].positions[0][1] !== {first[1]}")
    desk.settle()
    box = np.array(desk.document["recipe"]["prop"][0]["positions"][0])
    assert 0.005 < np.linalg.norm(box - first) < 0.3
    desk.page.keyboard.down("Control")
    at = desk.value(f"screen('result', '{hand}')")
    desk.page.mouse.click(at["x"], at["y"])
    desk.page.keyboard.up("Control")
    desk.until(f"selection.value.joint === '{hand}' && selection.value.prop === 'box1'")
    desk.at("pin-box1").click()
    desk.until("state.value.document.recipe.constraint.length === 1")
    desk.settle()
    (pin,) = desk.document["recipe"]["constraint"]
    desk.picture("newcomer")
    out = server.work / "right.bvh"
    desk.panel("files")
    desk.unfold("Write into a folder")
    desk.at("export-path").fill(str(out))
    desk.at("export-write").click()
    desk.until("document.querySelector('[data-testid=export-said]').textContent.includes('Written')")
    motion = read(out).motion
    assert motion is not None
    times = np.arange(motion.num_frames) / motion.fps
    held = (times >= pin["start"] - 1e-6) & (times <= pin["end"] + 1e-6)
    assert np.linalg.norm(places(motion, hand)[held] - box, axis=-1).max() < 0.01
    # While the painted plant holds, the joint of its foot drifts by no more than a foot rolls over its point.
    foot = pairs[desk.document["recipe"]["contact"][-1]["joint"]]
    stands = (times >= plant["start"] + FRAME) & (times <= plant["end"] - FRAME)
    steps = np.linalg.norm(np.diff(places(motion, foot)[stands][:, [0, 2]], axis=0), axis=-1)
    assert steps.mean() * motion.fps < 0.35
