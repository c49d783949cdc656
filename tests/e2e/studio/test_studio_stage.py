"""The stage: several actors, props, skins, overlays, footsteps that can be moved, and pictures of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.xdist_group("studio")

DATA = Path(os.environ.get("UNDERSTUDY_DATA", Path(__file__).parents[4] / "shared" / "data"))


def drawn(desk: Any) -> bytes:
    """The picture on the stage, once it has come to rest."""
    desk.page.mouse.move(5, 5)
    desk.rest()
    return desk.at("canvas").screenshot()


def points(desk: Any) -> set[tuple[str, str]]:
    """Actors with the points of their first footplants: those whose tracks are seen without scrolling."""
    plants = [contact for contact in desk.document["recipe"]["contact"] if contact["on"] == "floor"]
    return {(contact["actor"], contact["point"]) for contact in plants[:2]}


def test_two_dancers_and_all_that_can_be_shown(desk: Any) -> None:
    desk.sample("dance", "source")
    which = [body["which"] for body in desk.value("state.value.bodies")]
    assert sum(name.startswith("result:") for name in which) == 2
    assert sum(name.startswith("source:") for name in which) == 2
    legend = desk.page.locator(".legend").inner_text()
    actors = ("lead", "follow")
    for actor in actors:
        assert f"{actor}: source" in legend
        assert f"{actor}: result" in legend
    groups = desk.at("export").locator("optgroup").evaluate_all("(all) => all.map((each) => each.label)")
    assert groups == [f"{actor}: result" for actor in actors]
    assert all(desk.at(f"track-{actor}: {point}").count() for actor, point in points(desk))
    desk.go_to(3.0)
    before = drawn(desk)
    for button in ("traces", "mass", "onion", "plants", "source"):
        toggle = desk.at(f"show-{button}")
        on = toggle.get_attribute("aria-pressed")
        toggle.click()
        desk.sees(lambda toggle=toggle, on=on: toggle.get_attribute("aria-pressed") != on)
        after = drawn(desk)
        assert after != before, button
        before = after
    desk.picture("dance_overlays")
    desk.at("layout").click()
    assert drawn(desk) != before
    desk.picture("dance_side")
    desk.at("layout").click()
    for button in ("traces", "mass", "onion", "plants", "source"):
        desk.at(f"show-{button}").click()


def test_a_box_is_carried(desk: Any) -> None:
    desk.sample("pick_up", "source")
    props = desk.value("state.value.props")
    assert props
    assert props[0]["boxes"]
    desk.go_to(4.0)
    drawn(desk)
    desk.picture("pick_up")


def test_a_footstep_is_moved(desk: Any) -> None:
    desk.sample("walk", "source")
    number, step = next(
        (number, contact)
        for number, contact in enumerate(desk.document["recipe"]["contact"])
        if contact["point"] == "LeftToeBase" and contact["start"] > 0.8
    )
    middle = (step["start"] + step["end"]) / 2
    desk.go_to(middle)
    before = desk.motion()[1][:, desk.names().index("LeftToeBase")]
    desk.page.locator(f'[data-testid="interval"][data-path="recipe/contact/{number}"]').click()
    desk.until(f"selection.value.path?.join('/') === 'recipe/contact/{number}'")
    desk.at("canvas").focus()
    desk.page.keyboard.press("Alt+Shift+ArrowRight")
    desk.until("state.value.document.recipe.constraint.length === 1")
    desk.settle()
    (asked,) = desk.document["recipe"]["constraint"]
    assert asked["name"].startswith("step ")
    assert asked["axes"] == "xz"
    times, places = desk.motion()
    foot = places[:, desk.names().index("LeftToeBase")]
    during = (times > step["start"] - 1e-6) & (times < step["end"] + 1e-6)
    away = (foot - asked["target"])[during][:, [0, 2]]
    assert np.abs(away).max() < 0.005
    assert np.linalg.norm((foot - before)[during], axis=-1).min() > 0.03
    # A step elsewhere is not touched by it.
    assert np.linalg.norm((foot - before)[times > step["end"] + 1.5], axis=-1).max() < 0.02


def test_nudges_in_a_row_are_one_step(desk: Any) -> None:
    desk.sample("squat", "source")
    desk.go_to(1.0)
    opened = desk.value("state.value.undo")
    place = desk.motion()[1][round(desk.value("state.value.fps")), desk.names().index("LeftHand")]
    at = desk.value("screen('result', 'LeftHand')")
    desk.page.mouse.click(at["x"], at["y"])
    desk.until("selection.value.joint === 'LeftHand'")
    desk.at("canvas").focus()
    for _ in range(3):
        desk.page.keyboard.press("Alt+ArrowUp")
        desk.page.wait_for_timeout(150)
    assert desk.document["recipe"]["constraint"] == []
    desk.until("state.value.document.recipe.constraint.length === 1")
    desk.settle()
    (asked,) = desk.document["recipe"]["constraint"]
    assert asked["target"] == pytest.approx([place[0], place[1] + 0.03, place[2]], abs=2e-3)
    # Whoever takes a step back before the pause is over takes the nudge back, and what was kept stays.
    desk.page.keyboard.press("Alt+Shift+ArrowUp")
    desk.page.keyboard.press("Control+z")
    desk.until("state.value.redo !== null")
    desk.settle()
    assert desk.document["recipe"]["constraint"] == [asked]
    desk.at("canvas").focus()
    desk.page.keyboard.press("Control+z")
    desk.until("state.value.document.recipe.constraint.length === 0")
    desk.settle()
    assert desk.value("state.value.undo") == opened
    # Escape gives a nudge up.
    desk.page.keyboard.press("Alt+ArrowUp")
    desk.page.keyboard.press("Escape")
    desk.page.wait_for_timeout(1300)
    assert desk.document["recipe"]["constraint"] == []


def test_nothing_is_chosen_or_exported_of_what_is_no_longer_open(desk: Any) -> None:
    export = desk.at("export")
    desk.sees(export.is_disabled)
    desk.sees(export.locator("option:checked").inner_text, "Nothing to export")
    assert "open a motion" in export.get_attribute("title")
    for leave in ("open", "fresh"):
        desk.sample("squat", "source")
        desk.sees(export.is_enabled)
        desk.page.locator("h1").click()
        desk.page.keyboard.press("n")
        desk.until("selection.value.kind === 'joint'")
        desk.sample("march", "source") if leave == "open" else desk.fresh()
        desk.sees(lambda: desk.value("selection.value.kind"), "none")
    desk.sees(export.is_disabled)
    desk.picture("empty")


def test_a_picture_of_the_stage(desk: Any, tmp_path: Path) -> None:
    desk.sample("squat", "source")
    for choice, start in (("view/png", b"\x89PNG"), ("picture/svg", b"<?xml")):
        with desk.page.expect_download() as download:
            desk.at("picture").select_option(choice)
        file = tmp_path / choice.replace("/", ".")
        download.value.save_as(file)
        assert file.read_bytes().startswith(start), choice


@pytest.mark.skipif(not DATA.is_dir(), reason="no folder of real files")
def test_a_skinned_character_performs(desk: Any) -> None:
    desk.sample("walk", "source")
    desk.panel("files")
    desk.at("upload").set_input_files(DATA / "gltf" / "m2m_human_male.glb")
    desk.page.get_by_role("dialog").get_by_role("button", name="character").first.click()
    desk.until("state.value.document.recipe.actor[0].target?.endsWith('m2m_human_male.glb')")
    desk.settle()
    body = next(body for body in desk.value("state.value.bodies") if body["which"] == "result")
    assert body["mesh"]
    desk.go_to(1.2)
    skinned = drawn(desk)
    desk.picture("skinned")
    desk.at("show-meshes").click()
    desk.sees(lambda: drawn(desk) != skinned)
    desk.at("show-meshes").click()


RED, GREEN = (220, 30, 20), (20, 200, 60)


def painted_character(path: Path) -> None:
    """A file with a box around the body of an adult: the image on it is red on the left and green on the right."""
    from dataclasses import replace
    from io import BytesIO

    from PIL import Image

    from understudy import samples, write
    from understudy.figure.skin import Look, Material, Mesh, binds_of_rest
    from understudy.io import Clip

    image = Image.new("RGB", (2, 1), RED)
    image.putpixel((1, 0), GREEN)
    stream = BytesIO()
    image.resize((64, 32), Image.Resampling.NEAREST).save(stream, format="PNG")
    skeleton = samples.character("adult")
    top = skeleton.rest_world[0][:, 1].max()
    corners = np.array([[x, y, z] for x in (-0.4, 0.4) for y in (0.2, top) for z in (-0.2, 0.2)])
    faces = np.array([[1, 5, 7], [1, 7, 3], [0, 2, 6], [0, 6, 4]])
    across = (corners[faces][..., 0] + 0.4) / 0.8
    look = Look(
        uvs=np.stack([across * 0.98 + 0.01, np.full_like(across, 0.5)], axis=-1),
        materials=(Material(image=stream.getvalue(), colour=(1.0, 1.0, 1.0, 1.0)),),
        material_numbers=np.zeros(4, int),
    )
    mesh = Mesh(
        vertices=corners,
        triangles=faces,
        joints=np.zeros((8, 1), int),
        weights=np.ones((8, 1)),
        joint_from_mesh=binds_of_rest(skeleton),
        look=look,
    )
    write(replace(Clip(skeleton=skeleton), meshes=(mesh,)), path)


def share_of(picture: bytes, colour: tuple[int, int, int]) -> float:
    """The share of a picture's points that have a colour's hue, however bright they are."""
    from io import BytesIO

    from PIL import Image

    points = np.asarray(Image.open(BytesIO(picture)).convert("RGB"), float).reshape(-1, 3)
    wanted = np.array(colour) / np.linalg.norm(colour)
    bright = np.linalg.norm(points, axis=1)
    return float(np.mean((points @ wanted > 0.96 * bright) & (bright > 60.0)))


def test_an_image_on_a_character_is_seen_on_the_stage(desk: Any, server: Any) -> None:
    painted_character(server.work / "painted.glb")
    # A small stage: fine light is much work where the processor draws.
    desk.page.set_viewport_size({"width": 800, "height": 600})
    desk.sample("walk", "source")
    before = drawn(desk)
    assert max(share_of(before, RED), share_of(before, GREEN)) < 0.002
    desk.file("painted.glb", "target")
    desk.until("state.value.document.recipe.actor[0].target?.endsWith('painted.glb')")
    desk.settle()
    desk.at("show-source").click()
    for light in ("quick", "fine"):
        desk.at("shading").select_option(light)
        for _ in range(40):
            desk.page.wait_for_timeout(250)
            picture = drawn(desk)
            if min(share_of(picture, RED), share_of(picture, GREEN)) > 0.004:
                break
        assert share_of(picture, RED) > 0.004, light
        assert share_of(picture, GREEN) > 0.004, light
        desk.picture(f"painted_{light}")
    desk.at("shading").select_option("auto")
    desk.at("show-source").click()


def test_a_new_body_is_brought_into_the_view(desk: Any) -> None:
    desk.sample("walk", "source")
    desk.sample("giant", "target")
    desk.rest()
    stage, tools = desk.at("canvas").bounding_box(), desk.page.locator(".stage .tools").bounding_box()
    for joint in ("Head", "LeftFoot", "RightFoot"):
        at = desk.value(f"screen('result', '{joint}')")
        assert tools["y"] + tools["height"] < at["y"] < stage["y"] + stage["height"], joint
    desk.picture("giant_fits")


def test_a_source_in_the_same_place_does_not_tint_the_result(desk: Any) -> None:
    from io import BytesIO

    from PIL import Image

    desk.sample("walk", "source")
    desk.go_to(1.2)
    desk.rest()
    at = desk.value("screen('result', 'Spine')")
    colours = []
    for _ in range(2):
        shot = desk.page.screenshot(clip={"x": at["x"] - 6, "y": at["y"] - 15, "width": 12, "height": 30})
        colours.append(np.asarray(Image.open(BytesIO(shot)).convert("RGB"), float))
        desk.page.get_by_role("button", name="Source").click()
        desk.page.mouse.move(5, 5)
        desk.rest()
    desk.picture("not_tinted")
    assert np.abs(colours[0] - colours[1]).mean() < 6.0


def test_the_graph_shows_the_source_against_the_result(desk: Any) -> None:
    desk.sample("walk", "source")
    desk.sample("child", "target")
    desk.at("graph-open").click()
    curves = desk.at("graph").locator("path")
    desk.sees(curves.count, 2)
    desk.sees(lambda: "m/s²" in desk.at("graph").inner_text())
    # The child's hips are lower: the result's curve of heights is below the source's, which spans both.
    accelerations = curves.last.get_attribute("d")
    desk.at("graph-channel").select_option("height")
    desk.sees(lambda: curves.last.get_attribute("d") != accelerations)
    drawn_heights = [
        [float(pair.split(" ")[1]) for pair in path.replace("M", "L").split("L")[1:]]
        for path in curves.evaluate_all("(all) => all.map((each) => each.getAttribute('d'))")
    ]
    assert min(drawn_heights[1]) > max(drawn_heights[0])
    desk.at("graph-joint").select_option(label="LeftLeg")
    desk.at("graph-channel").select_option("bend")
    desk.sees(lambda: "°" in desk.at("graph").inner_text())
    desk.picture("graph")
    desk.at("graph-open").click()
    desk.at("graph").wait_for(state="hidden")
