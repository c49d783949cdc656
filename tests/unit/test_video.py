"""Videos: what a frame shows, how many there are and how fast, and errors in words."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from understudy import samples
from understudy.base.errors import FileError, MissingPackageError, OptionError
from understudy.figure.contacts import Contact
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Point
from understudy.figure.stick import PALETTES
from understudy.show.brush import HOLDS, PAPER, rgb
from understudy.show.video import Film, film, grid_step, nearest_gif_fps, write_video

SIZE = (320, 180)
LABEL = 18
"""Rows that the label takes."""
SMALL = {"size": SIZE, "fps": 10.0}


@pytest.fixture(scope="module")
def walk() -> Motion:
    return samples.motion("walk", seconds=1.0).motion


def frames(made: Film) -> list[np.ndarray]:
    """Each (H, W, 3)."""
    return [np.asarray(frame, int) for frame in made.frames()]


def near(picture: np.ndarray, colour: str | tuple[int, int, int]) -> np.ndarray:
    """(H, W) which dots are of a colour."""
    wanted = rgb(colour) if isinstance(colour, str) else colour
    return np.abs(picture - wanted).max(axis=-1) < 12


def rows_of(picture: np.ndarray, colour: str) -> np.ndarray:
    """The rows, below the label, in which a colour is found."""
    return np.flatnonzero(near(picture, colour)[LABEL:].any(axis=1)) + LABEL


def standing(num_frames: int = 11, shift: float = 0.0) -> Motion:
    still = rest_motion(samples.character("adult"), num_frames=num_frames, fps=10.0)
    return replace(still, root=still.root + np.array([0.0, 0.0, shift]))


def test_the_figure_is_drawn_in_its_colours_and_stands_on_the_floor() -> None:
    picture = frames(film([standing()], **SMALL, contacts=[()]))[0]
    palette = PALETTES[0]
    for colour in (palette.middle, palette.right):
        assert near(picture, colour).sum() > 50
    rows = rows_of(picture, palette.middle)
    legs = rows_of(picture, palette.right)
    # Head above, feet below, both within the picture.
    assert rows[0] < 0.3 * SIZE[1]
    assert 0.7 * SIZE[1] < legs[-1] < SIZE[1] - 5


def test_dots_change_where_the_figure_moves_and_nowhere_else() -> None:
    still = standing()
    rotations = still.rotations.copy()
    arm = still.skeleton.joint("RightArm")
    angle = np.linspace(0.0, 1.2, 11)
    turn = np.stack([np.cos(angle / 2), 0 * angle, 0 * angle, np.sin(angle / 2)], axis=-1)
    rotations[:, arm] = turn
    waving = replace(still, rotations=rotations)
    before, *_, after = frames(film([waving], **SMALL, contacts=[()], view="front"))
    clock = slice(SIZE[1] - 20, None)
    changed = np.abs(after - before).max(axis=-1) > 40
    changed[clock] = False
    assert changed.sum() > 100
    # Seen from the front its right arm is on the left side of the picture.
    assert not changed[:, SIZE[0] // 2 :].any()
    legs = slice(int(0.6 * SIZE[1]), SIZE[1] - 20)
    assert not changed[legs].any()
    frozen = frames(film([still], **SMALL, contacts=[()]))
    same = np.abs(frozen[5] - frozen[0]).max(axis=-1)
    same[clock] = 0
    assert not same.any()


def test_the_camera_goes_along_and_the_floor_passes() -> None:
    still = standing(num_frames=21)
    glide = replace(still, root=still.root + np.linspace(0.0, 2.07, 21)[:, None] * [0.0, 0.0, 1.0])
    pictures = frames(film([glide], **SMALL, contacts=[()]))
    columns = [float(np.flatnonzero(near(p, PALETTES[0].right).any(axis=0)).mean()) for p in pictures]
    assert np.ptp(columns) < 3.0
    # The floor's upright lines are elsewhere: they stand still in the world.
    floor = np.abs(pictures[10] - pictures[0])[int(0.8 * SIZE[1]) : SIZE[1] - 20, :60]
    assert floor.max() > 10


def test_it_is_at_the_right_place_in_time() -> None:
    still = standing()
    jump = replace(still, root=still.root + np.array([[0.0, 0.3, 0.0]]) * (np.arange(11) >= 5)[:, None])
    head = [rows_of(p, PALETTES[0].middle)[0] for p in frames(film([jump], **SMALL))]
    assert head[0] == head[4]
    assert head[5] == head[10] < head[4] - 10


def test_frames_between_the_motions_own_are_read_between() -> None:
    still = standing(num_frames=2)
    rise = replace(still, root=still.root + np.array([[0.0, 0.0, 0.0], [0.0, 0.4, 0.0]]))
    made = film([rise], size=SIZE, fps=40.0, contacts=[()])
    assert made.num_frames == 5
    head = [rows_of(p, PALETTES[0].middle)[0] for p in frames(made)]
    assert np.all(np.diff(head) < 0)
    assert np.ptp(np.diff(head)) <= 2


def test_panels_stand_side_by_side_on_one_level(walk: Motion) -> None:
    adult, child = standing(), rest_motion(samples.character("child"), num_frames=11, fps=10.0)
    made = film([adult, child], size=(640, 360), fps=10.0, contacts=[(), ()])
    assert made.scales[0] == made.scales[1]
    assert made.levels[0] == made.levels[1]
    picture = frames(made)[0]
    left, right = picture[:, :320], picture[:, 320:]
    assert near(left, PALETTES[0].right).any()
    assert not near(right, PALETTES[0].right).any()
    ground = [rows_of(p, PALETTES[i].right)[-1] for i, p in enumerate((left, right))]
    assert abs(int(ground[0]) - int(ground[1])) < 12
    tops = [rows_of(p, PALETTES[i].middle)[0] for i, p in enumerate((left, right))]
    assert tops[1] - tops[0] > 60


def test_a_small_figure_beside_a_large_one_has_its_own_scale() -> None:
    adult = samples.character("adult")
    large, small = (rest_motion(adult.scaled(scale)) for scale in (1.0, 0.05))
    made = film([large, small], size=SIZE, fps=10.0)
    assert made.scales[1] == pytest.approx(20.0 * made.scales[0], rel=0.05)
    assert made.steps == (0.5, 0.02)


def test_floor_squares_are_round() -> None:
    assert [grid_step(size) for size in (2.0, 1.4, 0.65, 0.3, 40.0)] == pytest.approx([0.5, 0.2, 0.2, 0.1, 10.0])


def test_a_climber_is_followed_upwards() -> None:
    still = standing()
    climb = replace(still, root=still.root + np.linspace(0.0, 8.0, 11)[:, None] * [0.0, 1.0, 0.0])
    for picture in frames(film([climb], **SMALL, contacts=[()])):
        rows = rows_of(picture, PALETTES[0].right)
        assert len(rows)
        assert rows[0] > 0
        assert rows[-1] < SIZE[1] - 1


def test_contacts_are_filled_while_they_hold() -> None:
    still = standing()
    point = Point(name="LeftFoot", joint="LeftFoot")
    contact = Contact(point=point, start=0.3, end=0.6, place=np.array([0.0, 0.0, 0.4]))
    shown = [bool(near(p, HOLDS).any()) for p in frames(film([still], **SMALL, contacts=[[contact]]))]
    assert shown == [3 <= i <= 6 for i in range(11)]


def test_contacts_are_found_where_they_are_not_given() -> None:
    picture = frames(film([standing()], **SMALL))[5]
    assert near(picture, HOLDS).any()


def test_labels_are_cut_to_their_panel(walk: Motion) -> None:
    long = "a very long name indeed " * 20
    pictures = [frames(film([walk, walk], **SMALL, labels=[name, ""], contacts=[(), ()]))[0] for name in (long, "a")]
    assert np.array_equal(pictures[0][:, 161:], pictures[1][:, 161:])
    assert not np.array_equal(pictures[0][:20, :160], pictures[1][:20, :160])


def test_an_mp4_has_the_frames_the_rate_and_the_pictures(tmp_path: Path, walk: Motion) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    path = tmp_path / "walk.mp4"
    made = write_video([walk, walk], path, size=SIZE, labels=("one", "other"))
    assert made.num_frames == walk.num_frames == 31
    command = [ffmpeg, "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    about = done.stderr.decode("utf-8", "replace")
    for words in ("Video: h264", "yuv420p", "320x180", " 30 fps"):
        assert words in about
    shown = np.frombuffer(done.stdout, np.uint8).reshape(-1, SIZE[1], SIZE[0], 3).astype(int)
    assert len(shown) == 31
    for number, drawn in ((0, frames(made)[0]), (30, frames(made)[30])):
        assert np.abs(shown[number] - drawn).mean() < 4.0
    assert np.abs(shown[0] - frames(made)[15]).mean() > np.abs(shown[0] - frames(made)[0]).mean() + 1.0


def test_a_gif_has_the_frames_and_repeats(tmp_path: Path, walk: Motion) -> None:
    path = tmp_path / "walk.gif"
    made = write_video(walk, path, size=SIZE)
    assert made.fps == 20.0
    with Image.open(path) as shown:
        assert shown.size == SIZE
        assert shown.n_frames == made.num_frames == 21
        assert shown.info["loop"] == 0
        shown.seek(10)
        assert shown.info["duration"] == 50
        picture = np.asarray(shown.convert("RGB"), int)
    # Few colours, but those that are drawn in are among them exactly.
    drawn = frames(made)[10]
    assert np.abs(picture - drawn).mean() < 1.0
    for colour in (HOLDS, rgb(PALETTES[0].left), rgb(PALETTES[0].right)):
        pure = (drawn == colour).all(axis=-1)
        assert pure.any()
        assert (picture[pure] == colour).all()


def test_a_gif_takes_the_nearest_rate_that_it_can() -> None:
    assert [nearest_gif_fps(fps) for fps in (30.0, 25.0, 24.0, 240.0, 10.0)] == pytest.approx(
        [100 / 3, 25.0, 25.0, 50.0, 10.0]
    )


def test_speed_and_rate_tell_how_many_frames(walk: Motion) -> None:
    assert film([walk], size=SIZE, fps=30.0, speed=0.5).num_frames == 61
    assert film([walk], size=SIZE, fps=24.0).num_frames == 25
    assert film([walk], size=SIZE, fps=30.0, speed=2.0).times[-1] == pytest.approx(1.0)
    short = walk[:5]
    assert film([short, walk], size=SIZE, fps=30.0).num_frames == walk.num_frames


def test_every_sample_body_can_be_filmed() -> None:
    for name in samples.characters():
        picture = frames(film([rest_motion(samples.character(name))], **SMALL))[0]
        assert (np.abs(picture - PAPER).max(axis=-1) > 60).sum() > 150, name


def test_progress_is_told(tmp_path: Path, walk: Motion) -> None:
    shares: list[float] = []
    write_video(walk, tmp_path / "a.gif", size=SIZE, watch=lambda _text, share: shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_wrong_use_is_told_in_words(tmp_path: Path, walk: Motion) -> None:
    wrong = {
        r"Videos are written as \.mp4 or \.gif; got `.*a\.avi`": {"path": tmp_path / "a.avi"},
        "Expected at least one motion to film; got none": {"motions": []},
        "Expected 1 labels, one for each motion; got 2": {"labels": ("a", "b")},
        "Expected 1 lists of contacts, one for each motion; got 2": {"contacts": ((), ())},
        "Expected a rate above 0 and up to 240 frames a second; got -1": {"fps": -1.0},
        "Expected a speed above 0 and up to 100; got 0": {"speed": 0.0},
        "Expected a view, one of side, front; got `top`": {"view": "top"},
        "Expected a size of even numbers from 64 to 4096; got 321x180": {"size": (321, 180)},
        "Expected a size of even numbers from 64 to 4096; got 8000x180": {"size": (8000, 180)},
    }
    for message, options in wrong.items():
        given = {"motions": [walk], "path": tmp_path / "a.gif", **options}
        with pytest.raises(OptionError, match=message):
            write_video(**given)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written_are_told(tmp_path: Path, walk: Motion) -> None:
    pytest.importorskip("imageio_ffmpeg")
    for name in ("a.gif", "a.mp4"):
        with pytest.raises(FileError, match="cannot be written: No such file or directory"):
            write_video(walk, tmp_path / "none" / name, size=SIZE)


@pytest.mark.parametrize(("module", "name"), [("imageio_ffmpeg", "a.mp4"), ("PIL", "a.gif")])
def test_missing_packages_are_told_before_any_work(
    tmp_path: Path, walk: Motion, monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError) as found:
        write_video(walk, tmp_path / name, size=SIZE)
    assert found.value.hint == "pip install 'understudy-motion[video]'"
    assert list(tmp_path.iterdir()) == []


def test_a_failing_encoder_is_told_and_leaves_the_old_file(
    tmp_path: Path, walk: Motion, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "ffmpeg"
    broken.write_text("#!/bin/sh\necho 'no such codec' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr("understudy.show.video.find_encoder", lambda: str(broken))
    path = tmp_path / "a.mp4"
    path.write_bytes(b"old")
    with pytest.raises(FileError, match="ffmpeg could not make the video: no such codec"):
        write_video(walk, path, size=SIZE)
    assert path.read_bytes() == b"old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.mp4", "ffmpeg"]


def test_an_interrupted_film_leaves_the_old_file(tmp_path: Path, walk: Motion) -> None:
    pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "a.mp4"
    path.write_bytes(b"old")

    def stop(_text: str, share: float) -> None:
        if share > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_video(walk, path, size=SIZE, watch=stop)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.mp4"]
