"""Pictures: views, what is drawn of a body, where it goes on the page, and the files that come out."""

from __future__ import annotations

import struct
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

from understudy.base.errors import FileError, MissingPackageError, OptionError
from understudy.figure.contacts import Contact
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.stick import LEFT, MIDDLE, PALETTES, RIGHT, check_views, hull, stick, view_of
from understudy.samples.scene import Prop, Scene
from understudy.show.filmstrip import (
    INNER_WIDTH,
    PAGE_WIDTH,
    PictureRow,
    acts_of,
    distinct_poses,
    poses_in_line,
    strip_of,
    strip_scale,
)
from understudy.show.pen import FLOOR, PROP, compose, draw_pose, mix_with_white
from understudy.show.pen import PicturePanel as Panel
from understudy.show.picture import draw

UP5, BESIDE = np.array([0.0, 5.0, 0.0]), np.array([1.0, 0.0, 0.5])

MAN = {
    "Reference": ("", (0.0, 0.0, 0.0)),
    "Hips": ("Reference", (0.0, 0.9, 0.0)),
    "Spine": ("Hips", (0.0, 0.25, 0.0)),
    "Neck": ("Spine", (0.0, 0.25, 0.0)),
    "Head": ("Neck", (0.0, 0.1, 0.0)),
    "LeftArm": ("Spine", (0.2, 0.2, 0.0)),
    "LeftForeArm": ("LeftArm", (0.3, 0.0, 0.0)),
    "LeftHand": ("LeftForeArm", (0.25, 0.0, 0.0)),
    "RightArm": ("Spine", (-0.2, 0.2, 0.0)),
    "RightForeArm": ("RightArm", (-0.3, 0.0, 0.0)),
    "RightHand": ("RightForeArm", (-0.25, 0.0, 0.0)),
    "LeftUpLeg": ("Hips", (0.1, 0.0, 0.0)),
    "LeftLeg": ("LeftUpLeg", (0.0, -0.4, 0.0)),
    "LeftFoot": ("LeftLeg", (0.0, -0.42, 0.0)),
    "RightUpLeg": ("Hips", (-0.1, 0.0, 0.0)),
    "RightLeg": ("RightUpLeg", (0.0, -0.4, 0.0)),
    "RightFoot": ("RightLeg", (0.0, -0.42, 0.0)),
    "RightFootTwist": ("RightFoot", (0.0, 0.0, 0.0)),
}


def man() -> Skeleton:
    """A human of 1.7 m under a root on the floor, with one bone of no length."""
    names = list(MAN)
    ends = (
        Point(name="HeadTop", joint="Head", offset=np.array([0.0, 0.2, 0.0])),
        Point(name="LeftToes", joint="LeftFoot", offset=np.array([0.0, -0.06, 0.18])),
        Point(name="RightToes", joint="RightFoot", offset=np.array([0.0, -0.06, 0.18])),
    )
    parents = [names.index(parent) if parent else -1 for parent, _ in MAN.values()]
    return Skeleton(names=tuple(names), parents=parents, offsets=[place for _, place in MAN.values()], ends=ends)


def turn(axis: int, angles: np.ndarray) -> np.ndarray:
    rotations = np.zeros((*angles.shape, 4))
    rotations[..., 0], rotations[..., 1 + axis] = np.cos(0.5 * angles), np.sin(0.5 * angles)
    return rotations


def walk(num_frames: int = 61, speed: float = 1.0) -> Motion:
    """The man goes along +Z, swinging arms and legs."""
    skeleton, times = man(), np.arange(num_frames) / 30.0
    rotations = np.tile(skeleton.rest, (num_frames, 1, 1))
    swing = 0.5 * np.sin(2.0 * np.pi * times)
    for joint, angle in {"LeftUpLeg": -swing, "RightUpLeg": swing}.items():
        rotations[:, skeleton.joint(joint)] = turn(0, angle)
    for joint, angle in {"LeftArm": -1.4 + 0.0 * swing, "RightArm": 1.4 + 0.0 * swing}.items():
        rotations[:, skeleton.joint(joint)] = turn(2, angle)
    root = np.stack([0.0 * times, 0.0 * times, speed * times], axis=-1)
    return Motion(skeleton=skeleton, fps=30.0, root=root, rotations=rotations, name="walk")


def can() -> Motion:
    corners = [(x, y, z) for x in (-0.2, 0.2) for y in (-0.4, 0.4) for z in (-0.2, 0.2)]
    ends = tuple(Point(name=f"corner{i}", joint="Can", offset=np.array(at)) for i, at in enumerate(corners))
    body = Skeleton(names=("Can",), parents=[-1], offsets=[[0.0, 0.4, 0.0]], ends=ends, name="can")
    return rest_motion(body, num_frames=3)


def pixels(path: Path) -> np.ndarray:
    from matplotlib.image import imread

    return np.asarray(imread(path))[..., :3]


def share_of(picture: np.ndarray, colour: str) -> float:
    """How much of a picture has a colour, to within a few steps of 255."""
    return float(np.mean(np.abs(picture - np.array(mix_with_white(colour, 1.0))).max(axis=-1) < 0.02))


# Views


def test_side_view_is_from_the_right_and_goes_left_to_right() -> None:
    view = view_of("side", [0.0, 0.0, 1.0])
    forward, up, left = np.eye(3)[[2, 1, 0]]
    assert view.project(forward) == pytest.approx([1.0, 0.0, 0.0])
    assert view.project(up) == pytest.approx([0.0, 1.0, 0.0])
    assert view.project(left) == pytest.approx([0.0, 0.0, -1.0])


def test_front_view_looks_at_the_face() -> None:
    view = view_of("front", [0.0, 0.0, 1.0])
    assert view.project([0.0, 0.0, 1.0]) == pytest.approx([0.0, 0.0, 1.0])
    assert view.project([1.0, 0.0, 0.0]) == pytest.approx([1.0, 0.0, 0.0])


def test_top_view_looks_down_and_stands_under_the_side_view() -> None:
    view = view_of("top", [0.0, 0.0, 1.0])
    assert view.project([0.0, 0.0, 1.0]) == pytest.approx([1.0, 0.0, 0.0])
    assert view.project([1.0, 0.0, 0.0]) == pytest.approx([0.0, 1.0, 0.0])
    assert view.project([0.0, 1.0, 0.0]) == pytest.approx([0.0, 0.0, 1.0])


@pytest.mark.parametrize("name", ["side", "front", "top"])
@pytest.mark.parametrize("facing", [[0.3, 0.7, -0.5], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
def test_views_neither_stretch_nor_mirror(name: str, facing: list[float]) -> None:
    matrix = view_of(name, facing).page_from_world
    assert matrix @ matrix.T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(matrix) == pytest.approx(1.0)


def test_views_are_read_from_text() -> None:
    assert check_views("top, side,top") == ("top", "side")
    with pytest.raises(OptionError, match="Expected views among side, front, top; got `back`"):
        check_views("side,back")
    with pytest.raises(OptionError, match="at least one view"):
        check_views(",")


# What is drawn of a body


def bones_by_name(motion: Motion) -> dict[tuple[str, str], int]:
    figure = stick(motion)
    names = [*motion.skeleton.names, *(end.name for end in motion.skeleton.ends)]
    return {(names[a], names[b]): int(side) for (a, b), side in zip(figure.bones, figure.sides)}


def test_limbs_have_sides_and_the_trunk_carries_them() -> None:
    bones = bones_by_name(walk(2))
    assert bones["LeftUpLeg", "LeftLeg"] == bones["LeftFoot", "LeftToes"] == bones["LeftForeArm", "LeftHand"] == LEFT
    assert bones["RightArm", "RightForeArm"] == bones["RightLeg", "RightFoot"] == RIGHT
    assert bones["Hips", "Spine"] == bones["Spine", "LeftArm"] == bones["Hips", "RightUpLeg"] == MIDDLE


def test_what_is_no_bone_is_not_drawn() -> None:
    bones = bones_by_name(walk(2))
    assert ("Reference", "Hips") not in bones, "what is above the hips is no part of the body"
    assert ("RightFoot", "RightFootTwist") not in bones, "a bone of no length is none"
    assert ("Head", "HeadTop") not in bones, "the head is a ball"


def test_head_is_a_ball_over_the_neck() -> None:
    figure = stick(walk(2))
    assert figure.head is not None
    joint = figure.nodes[0, list(MAN).index("Head")]
    assert np.linalg.norm(figure.head[0] - joint) == pytest.approx(figure.head_radius)
    assert figure.head[0, 1] > joint[1]
    assert 0.05 < figure.head_radius < 0.15


def test_bones_that_carry_more_are_thicker() -> None:
    motion = walk(2)
    figure = stick(motion)
    names = [*motion.skeleton.names, *(end.name for end in motion.skeleton.ends)]
    width = {names[bone[1]]: width for bone, width in zip(figure.bones, figure.widths)}
    assert width["Spine"] > width["LeftLeg"] > width["LeftFoot"] > width["LeftToes"]


def test_feet_and_hands_leave_traces() -> None:
    traces = {trace.name: trace for trace in stick(walk()).traces}
    assert set(traces) == {"LeftFoot", "RightFoot", "LeftHand", "RightHand"}
    assert traces["LeftFoot"].foot
    assert not traces["LeftHand"].foot
    assert traces["LeftFoot"].side == LEFT
    assert traces["RightHand"].side == RIGHT


def test_unnamed_sides_come_from_the_rest_pose() -> None:
    spider = Skeleton(
        names=("body", "leg1", "leg2"),
        parents=[-1, 0, 0],
        offsets=[[0.0, 0.3, 0.0], [0.2, 0.0, 0.0], [-0.2, 0.0, 0.0]],
        ends=tuple(
            Point(name=f"tip{i}", joint=f"leg{i}", offset=np.array([0.2 * x, -0.3, 0.0]))
            for i, x in ((1, 1.0), (2, -1.0))
        ),
    )
    bones = bones_by_name(rest_motion(spider))
    assert bones["leg1", "tip1"] == LEFT, "+X is left of a body that faces +Z"
    assert bones["leg2", "tip2"] == RIGHT


def test_left_limbs_are_hollow_and_right_ones_solid() -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.0, 4.0), dpi=200)
    canvas, axes = FigureCanvasAgg(figure), figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0.0, 4.0), ylim=(0.0, 4.0))
    axes.axis("off")
    panel = Panel(view=view_of("front", [0, 0, 1]), origin=np.array([2.0, 0.2]), corner=np.zeros(2), scale=2.0)
    body = stick(rest_motion(man()))
    draw_pose(axes, panel, body, 0, PALETTES[0], 1.0, 1.0)
    canvas.draw()
    picture = np.asarray(canvas.buffer_rgba())[::-1, :, :3] / 255.0
    names = list(MAN)
    for side, colour in (("Left", "#ffffff"), ("Right", PALETTES[0].right)):
        thigh = 0.6 * body.nodes[0, names.index(f"{side}UpLeg")] + 0.4 * body.nodes[0, names.index(f"{side}Leg")]
        column, row = np.rint(panel.at(thigh) * 200).astype(int)
        assert picture[row, column] == pytest.approx(mix_with_white(colour, 1.0), abs=0.02), side
        across = picture[row, column - 15 : column + 15]
        assert share_of(across, PALETTES[0].of(LEFT if side == "Left" else RIGHT)) > 0.05, side


# The page


def test_filmstrip_poses_do_not_overlap() -> None:
    act = acts_of([walk()], count=7)[0]
    strip = strip_of(act, "side")
    scale = strip_scale([strip], 7)
    slot = INNER_WIDTH / 7
    reach = []
    for i, time in enumerate(act.times):
        figure = act.sticks[0]
        across = strip.view.project(figure.nodes[round(time * 30)][figure.drawn])[:, 0]
        middle = (i + 0.5) * slot
        reach.append([middle + (edge - strip.middles[i]) * scale for edge in (across.min(), across.max())])
    gaps = [later[0] - earlier[1] for earlier, later in pairwise(reach)]
    assert min(gaps) > 0.02
    assert reach[0][0] > 0.0
    assert reach[-1][1] < INNER_WIDTH


def test_long_filmstrips_break_into_even_lines() -> None:
    assert [poses_in_line(count) for count in (1, 8, 10, 12, 21)] == [1, 8, 10, 6, 7]


def test_overlay_drops_poses_that_would_cover_each_other() -> None:
    still = rest_motion(man(), num_frames=50)
    act = acts_of([still], count=6)[0]
    assert distinct_poses(act, view_of("side", act.facing)) == [5]
    moving = acts_of([walk(speed=2.0)], count=6)[0]
    assert distinct_poses(moving, view_of("side", moving.facing)) == [0, 1, 2, 3, 4, 5]
    assert distinct_poses(moving, view_of("front", moving.facing))[-1] == 5


def test_walking_along_any_direction_looks_the_same() -> None:
    motion = walk()
    half = np.sqrt(0.5)
    quarter = np.array([half, 0.0, half, 0.0])
    rotations = motion.rotations.copy()
    rotations[:, 0] = quarter
    turned = Motion(skeleton=motion.skeleton, fps=30.0, root=motion.root[:, [2, 1, 0]], rotations=rotations)
    one, other = (acts_of([m])[0] for m in (motion, turned))
    for name in ("side", "front", "top"):
        places = [view_of(name, act.facing).project(act.sticks[0].nodes) for act in (one, other)]
        assert places[0] == pytest.approx(places[1], abs=1e-9)


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("style", ["filmstrip", "overlay", "both"])
@pytest.mark.parametrize("count", [1, 3, 13])
def test_texts_stay_on_the_page_and_apart(style: str, count: int, together: bool) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    labels = ["the first of them", "the second of them", "the third of them"]
    acts = acts_of([walk(), can(), walk(5)], labels=labels, count=count, together=together)
    figure = compose(acts, views=("side", "front", "top"), style=style, title="A title")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    page = figure.bbox
    texts = [text for text in figure.axes[0].texts if text.get_text().strip()]
    boxes = [(text.get_text(), text.get_window_extent(canvas.get_renderer())) for text in texts]
    assert {"A title", *([", ".join(labels)] if together else labels)} <= {name for name, _ in boxes}
    for name, box in boxes:
        assert page.x0 <= box.x0, name
        assert box.x1 <= page.x1, name
        assert page.y0 <= box.y0, name
        assert box.y1 <= page.y1, name
    for (name, box), (other, second) in combinations(boxes, 2):
        apart = box.x1 <= second.x0 or second.x1 <= box.x0 or box.y1 <= second.y0 or second.y1 <= box.y0
        assert apart, f"`{name}` and `{other}` overlap"


def test_floor_is_drawn_only_where_there_is_one() -> None:
    assert acts_of([walk()])[0].floor == 0.0
    motion = walk()
    flying = Motion(skeleton=motion.skeleton, fps=30.0, root=motion.root + UP5, rotations=motion.rotations)
    assert acts_of([flying])[0].floor is None


def test_hull_is_the_smallest_convex_shape() -> None:
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.5], [0.5, 0.0]])
    corners = {tuple(corner) for corner in hull(square).tolist()}
    assert corners == {(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)}


# Files


@pytest.mark.parametrize("style", ["filmstrip", "overlay", "both"])
def test_png_shows_left_right_and_floor(style: str, tmp_path: Path) -> None:
    path = tmp_path / "walk.png"
    draw(walk(), path, style=style)
    header = path.read_bytes()[:24]
    assert header.startswith(b"\x89PNG\r\n\x1a\n")
    assert struct.unpack(">I", header[16:20])[0] == PAGE_WIDTH * 150
    picture = pixels(path)
    inked = float(np.mean(picture.min(axis=-1) < 0.9))
    assert 0.005 < inked < 0.3
    for colour in (PALETTES[0].left, PALETTES[0].right, PALETTES[0].middle):
        assert share_of(picture, colour) > 2e-4, colour
    assert share_of(picture, FLOOR) > 2e-4
    assert picture[:10].min() == picture[-10:].min() == picture[:, :10].min() == picture[:, -10:].min() == 1.0


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_same_motion_gives_the_same_file(suffix: str, tmp_path: Path) -> None:
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    draw(walk(), first, title="again")
    draw(walk(), second, title="again")
    assert first.read_bytes() == second.read_bytes()


def test_svg_is_xml_with_its_words_as_text(tmp_path: Path) -> None:
    path = tmp_path / "walk.svg"
    draw([walk(), can()], path, labels=["the walk", "the can"], title="Über & <under>")
    root = ElementTree.parse(path).getroot()
    words = {"".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"the walk", "the can", "Über & <under>", "side view", "left (hollow)", "0.00 s"} <= words


def test_two_actors_in_one_picture_have_colours_of_their_own(tmp_path: Path) -> None:
    path, motion = tmp_path / "pair.png", walk()
    beside = Motion(skeleton=motion.skeleton, fps=30.0, root=motion.root + BESIDE, rotations=motion.rotations)
    draw([motion, beside], path, labels=["he", "she"], together=True, count=3)
    above_key = pixels(path)[:-120]
    for palette in PALETTES[:2]:
        for colour in (palette.left, palette.right):
            assert share_of(above_key, colour) * above_key[..., 0].size > 300, colour
    # Edges blend into any colour here and there; a third character would fill hundreds of pixels.
    assert share_of(above_key, PALETTES[2].left) * above_key[..., 0].size < 20


@pytest.mark.parametrize("style", ["filmstrip", "overlay"])
def test_props_and_planted_spots_are_drawn(style: str, tmp_path: Path) -> None:
    box = Prop(
        name="box",
        sizes=np.array([[0.4, 0.4, 0.4]]),
        positions=np.array([[0.0, 0.2, 1.2]]),
        rotations=np.array([[1.0, 0.0, 0.0, 0.0]]),
    )
    plant = Contact(point=Point(name="toes", joint="LeftFoot"), start=0.0, end=0.5, place=np.array([0.1, 0.0, 0.3]))
    scene = Scene(name="box", actors={"man": walk()}, contacts=(plant,), props=(box,))
    bare, full = tmp_path / "bare.png", tmp_path / "full.png"
    draw(walk(), bare, style=style)
    draw(scene, full, style=style)
    brown = "#" + "".join(f"{round(255 * part):02x}" for part in mix_with_white(PROP, 0.8))
    assert share_of(pixels(bare), brown) < 1e-5
    assert share_of(pixels(full), brown) > 1e-3
    act = acts_of([scene])[0]
    assert act.spots().tolist() == [[0.1, 0.0, 0.3]]
    assert len(act.spots((1.0, 2.0))) == 0


def test_moving_props_follow_their_frames() -> None:
    positions = np.zeros((61, 1, 3))
    positions[:, 0, 2] = np.arange(61) / 30.0
    box = Prop(name="box", sizes=np.ones((1, 3)), positions=positions, rotations=np.array([[1.0, 0.0, 0.0, 0.0]]))
    act: PictureRow = acts_of([Scene(name="s", actors={"man": walk()}, contacts=(), props=(box,))])[0]
    assert act.boxes(box, 1.5)[0].mean(axis=0) == pytest.approx([0.0, 0.0, 1.5])


@pytest.mark.parametrize("seed", range(4))
def test_any_body_can_be_drawn(seed: int, make_skeleton: Callable, make_motion: Callable, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    motion = make_motion(make_skeleton(rng, 2 + 6 * seed), rng, 4)
    draw(motion, tmp_path / "any.png", dots_per_inch=50)
    assert pixels(tmp_path / "any.png").min() < 0.5


@pytest.mark.parametrize("frames", [1, 3])
def test_a_single_joint_is_drawn_as_a_dot(frames: int, tmp_path: Path) -> None:
    dot = Skeleton(names=("only",), parents=[-1], offsets=[[0.0, 0.0, 0.0]])
    draw(rest_motion(dot, num_frames=frames), tmp_path / "dot.png", dots_per_inch=50)
    assert pixels(tmp_path / "dot.png").min() < 0.5


def test_a_rigid_body_is_drawn_as_its_outline(tmp_path: Path) -> None:
    draw(can(), tmp_path / "can.png")
    fill = np.array(mix_with_white(PALETTES[0].left, 0.25)) * 0.8 + 0.2
    picture = pixels(tmp_path / "can.png")
    assert float(np.mean(np.abs(picture - fill).max(axis=-1) < 0.02)) > 0.01


# Refusals


def test_refusals_say_what_was_found(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    with pytest.raises(OptionError, match="Expected a style, one of filmstrip, overlay, both; got `comic`"):
        draw(walk(), path, style="comic")
    with pytest.raises(OptionError, match=r"Pictures are written as \.png or \.svg; got `.*a\.bmp`"):
        draw(walk(), tmp_path / "a.bmp")
    with pytest.raises(OptionError, match="at least one motion to draw; got none"):
        draw([], path)
    with pytest.raises(OptionError, match="at least one pose to draw; got 0"):
        draw(walk(), path, count=0)
    with pytest.raises(OptionError, match="Expected 1 labels, one for each motion; got 2"):
        draw(walk(), path, labels=["a", "b"])
    with pytest.raises(OptionError, match="No frame of `walk` is in the range asked for; it has 61"):
        draw(walk(), path, frames=slice(100, 200))
    assert list(tmp_path.iterdir()) == []


def test_missing_matplotlib_is_said_with_the_way_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'understudy-motion\[picture\]'"):
        draw(walk(), tmp_path / "a.png")


def test_an_old_picture_stays_until_the_new_one_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    def fail(self: Figure, stream: object, **options: object) -> None:
        stream.write(b"half a picture")  # type: ignore[attr-defined]
        raise OSError(28, "No space left on device")

    path = tmp_path / "walk.png"
    path.write_bytes(b"old")
    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(FileError, match=r"walk\.png: cannot be written: No space left on device"):
        draw(walk(), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
