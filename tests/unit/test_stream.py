"""Windows and streams: the same as at once, however the frames arrive, and no seam to be seen."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from understudy import samples
from understudy.errors import MotionError, OptionError
from understudy.geometry.quaternion import angle_between
from understudy.kinematics import fk
from understudy.motion import Motion, join
from understudy.pipeline import Options, retarget
from understudy.samples import Scene
from understudy.skeleton import Skeleton
from understudy.stream import Stream, Window, continued, retarget_in_windows

FPS = 30.0
WINDOW = Window(step=2.0, ahead=1.0, back=1.0)


@cache
def scene(name: str = "walk") -> Scene:
    return samples.motion(name, seconds=9.0)


def walk() -> Motion:
    return scene().motion


@cache
def shins() -> Skeleton:
    """Longer below the knee only: nothing that scaling alone would solve."""
    body = walk().skeleton
    return body.scaled([1.3 if name in ("LeftFoot", "RightFoot") else 1.0 for name in body.names])


def stream(**options: object) -> Stream:
    fields: dict[str, object] = {"window": WINDOW, "contacts": scene().contacts, **options}
    return Stream(source=walk().skeleton, target=shins(), fps=FPS, **fields)  # type: ignore[arg-type]


def run(feed: Stream, sizes: list[int]) -> list[Motion]:
    """All that a stream gives for the walk in pieces of these sizes, over and over."""
    given, first, turn = [], 0, 0
    while first < walk().num_frames:
        size = sizes[turn % len(sizes)]
        given += feed.push(walk()[first : first + size])
        first, turn = first + size, turn + 1
    return given + feed.finish()


def joined(parts: list[Motion]) -> Motion:
    whole = parts[0]
    for part in parts[1:]:
        whole = join(whole, part)
    return whole


@cache
def windowed() -> Motion:
    return retarget_in_windows(walk(), shins(), window=WINDOW, contacts=scene().contacts)[0]


@cache
def at_once() -> Motion:
    return retarget(walk(), shins(), contacts=scene().contacts).motion


def seams() -> np.ndarray:
    """The first frame of each window but the first."""
    return np.arange(60, walk().num_frames - 60, 60)


@pytest.mark.parametrize("sizes", [[1], [7, 1, 53], [1000], [60], [89, 91]])
def test_how_frames_arrive_does_not_matter(sizes: list[int]) -> None:
    parts = run(stream(), sizes)
    found = joined(parts)
    np.testing.assert_array_equal(found.rotations, windowed().rotations)
    np.testing.assert_array_equal(found.root, windowed().root)
    assert [part.num_frames for part in parts[:-1]] == [60] * (len(parts) - 1)


def test_windows_agree_with_the_whole_solve() -> None:
    """Poses within 15 mm of the whole solve's everywhere, 5 mm RMS, measured in the frame of the root.

    Where plants are free, a step placed a little elsewhere moves everything after it: the path is allowed 40 mm.
    """
    whole, parts = fk(at_once()).positions, fk(windowed()).positions
    shape = np.linalg.norm((whole - whole[:, :1]) - (parts - parts[:, :1]), axis=-1)
    assert shape.max() < 0.015
    assert np.sqrt((shape**2).mean()) < 0.005
    assert np.linalg.norm(whole - parts, axis=-1).max() < 0.04
    changed = angle_between(at_once().rotations, walk().rotations).max()
    assert changed > 0.04, "there must be something to solve"


def test_plants_hold_across_seams() -> None:
    pose = fk(windowed())
    across = 0
    for contact in scene().contacts:
        frames = contact.frames(FPS, walk().num_frames)
        if len(frames) == 0:
            continue
        path = pose.points([contact.point.name])[frames, 0]
        assert np.abs(path - path.mean(axis=0)).max() < 1.5e-3
        across += any(frames[0] < seam <= frames[-1] for seam in seams())
    assert across >= 4, "some must stand across a seam for this to mean anything"


def test_there_is_no_seam_to_be_seen() -> None:
    """Steps and changes of speed around seams: at most 1.2 times the largest elsewhere in the source's own motion."""
    positions = fk(windowed()).positions
    speed = np.linalg.norm(np.diff(positions, axis=0), axis=-1).max(axis=1)
    hardness = np.linalg.norm(np.diff(positions, n=2, axis=0), axis=-1).max(axis=1)
    for curve, order in ((speed, 1), (hardness, 2)):
        near = np.unique(np.concatenate([np.arange(s - order - 1, s + 2) for s in seams()]))
        near = near[(near >= 0) & (near < len(curve))]
        elsewhere = np.delete(curve, near).max()
        assert curve[near].max() <= 1.2 * elsewhere


def test_what_was_given_out_is_what_follows_on() -> None:
    """The first frame of a window goes on from the last of the one before as the source does."""
    turned = angle_between(windowed().rotations[1:], windowed().rotations[:-1]).max(axis=1)
    source = angle_between(walk().rotations[1:], walk().rotations[:-1]).max(axis=1)
    for seam in seams():
        assert turned[seam - 1] < 1.5 * source[seam - 3 : seam + 2].max()


def test_the_delay_is_the_step_and_the_look_ahead() -> None:
    feed = stream()
    due = round((WINDOW.step + WINDOW.ahead) * FPS)
    assert feed.push(walk()[: due - 1]) == []
    assert [part.num_frames for part in feed.push(walk()[due - 1 : due])] == [60]
    assert feed.push(walk()[due : due + 59]) == []
    assert [part.num_frames for part in feed.push(walk()[due + 59 : due + 60])] == [60]


def test_finish_gives_what_is_left_and_then_nothing() -> None:
    feed = stream()
    parts = feed.push(walk())
    rest = feed.finish()
    assert sum(part.num_frames for part in parts + rest) == walk().num_frames
    assert feed.finish() == []
    assert stream().finish() == []


def test_a_stream_keeps_no_more_than_its_windows() -> None:
    """However long it runs, frames behind the look-back are dropped."""
    feed = stream(contacts=None)
    most = round((WINDOW.step + WINDOW.ahead + WINDOW.back) * FPS)
    for turn in range(3):
        for first in range(0, 270, 15):
            feed.push(walk()[first : first + 15])
            assert feed._frames is not None
            assert feed._frames.num_frames <= most
            assert feed._given is None or feed._given.num_frames <= WINDOW.back * FPS
            assert len(feed._seen) <= 8
        assert feed._done > 150 + 270 * turn


def test_contacts_are_found_as_frames_arrive() -> None:
    """Without being told: what is found window by window holds too, and lands near the whole solve."""
    feed = stream(contacts=None)
    found = joined(run(feed, [30]))
    assert feed.unmet == []
    assert feed.floor is not None
    whole = retarget(walk(), shins()).motion
    a, b = fk(found).positions, fk(whole).positions
    assert np.linalg.norm((a - a[:, :1]) - (b - b[:, :1]), axis=-1).max() < 0.03


def test_a_short_motion_is_one_window() -> None:
    short = walk()[:20]
    found, unmet = retarget_in_windows(short, shins(), window=WINDOW)
    whole = retarget(short, shins()).motion
    assert unmet == []
    np.testing.assert_allclose(found.rotations, whole.rotations, atol=1e-3)


def test_an_evenly_scaled_body_moves_as_the_source_does() -> None:
    found, unmet = retarget_in_windows(walk(), walk().skeleton.scaled(0.7), window=WINDOW, contacts=scene().contacts)
    assert unmet == []
    assert angle_between(found.rotations, walk().rotations).max() < 1e-6
    np.testing.assert_allclose(found.root, 0.7 * walk().root, atol=1e-6)


@pytest.mark.parametrize("options", [Options(plants="fixed"), Options(plants="none", floor=False)])
def test_options_are_obeyed_in_every_window(options: Options) -> None:
    target = walk().skeleton.scaled(0.8)
    found, _ = retarget_in_windows(walk(), target, window=WINDOW, contacts=scene().contacts, options=options)
    whole = retarget(walk(), target, contacts=scene().contacts, options=options).motion
    a, b = fk(found).positions, fk(whole).positions
    assert np.linalg.norm(a - b, axis=-1).max() < 0.06
    if options.plants == "none":
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_what_cannot_be_met_is_said_with_the_time_of_the_whole_motion() -> None:
    """Footsteps of a giant: the sentences speak of times beyond the first window too."""
    target = walk().skeleton.scaled(0.25)
    found, unmet = retarget_in_windows(
        walk(), target, window=WINDOW, contacts=scene().contacts, options=Options(plants="fixed")
    )
    assert np.isfinite(found.rotations).all()
    assert unmet
    assert all(sentence.startswith("`") and " is off by " in sentence for sentence in unmet)
    times = [float(sentence.rsplit(" at ", 1)[1].removesuffix(" s")) for sentence in unmet]
    assert max(times) > 3.0
    assert max(times) <= walk().duration + 1e-6


def test_a_continued_start_begins_as_what_is_known_and_eases_back() -> None:
    start = walk()
    known = Motion(
        skeleton=start.skeleton,
        fps=FPS,
        root=start.root[:10] + np.array([0.2, 0.1, 0.0]),
        rotations=start.rotations[1:11],
    )
    found = continued(start, known, 15)
    np.testing.assert_array_equal(found.rotations[:10], known.rotations)
    np.testing.assert_array_equal(found.root[:10], known.root)
    np.testing.assert_allclose(found.rotations[24:], start.rotations[24:], atol=1e-9)
    np.testing.assert_allclose(found.root[24:, 1], start.root[24:, 1], atol=1e-9)
    np.testing.assert_allclose(found.root[24:, 0], start.root[24:, 0] + 0.2, atol=1e-9)
    lift = found.root[:, 1] - start.root[:, 1]
    assert np.all(np.diff(lift[9:25]) <= 1e-12)


@pytest.mark.parametrize("times", [{"step": 0.0}, {"step": -1.0}, {"ahead": -0.1}, {"back": np.nan}, {"step": np.nan}])
def test_windows_that_cannot_be_are_refused(times: dict[str, float]) -> None:
    with pytest.raises(OptionError, match="Expected window times above zero"):
        Window(**times)


def test_frames_of_another_rate_or_body_are_refused() -> None:
    feed = stream()
    with pytest.raises(OptionError, match="Expected frames at 30 a second, got 60"):
        feed.push(samples.motion("walk", fps=60.0, seconds=1.0).motion)
    feed.push(walk()[:5])
    with pytest.raises(MotionError, match="one skeleton structure"):
        feed.push(samples.motion("dog_walk", seconds=1.0).motion)


@pytest.mark.skip(reason="probe")
def test_a_window_shorter_than_a_frame_is_refused_or_runs() -> None:
    """A step that rounds to no frames must not run for ever."""
    tiny = Window(step=0.001, ahead=0.1, back=0.1)
    feed = stream(window=tiny)
    parts = feed.push(walk()[:12]) + feed.finish()
    assert sum(part.num_frames for part in parts) == 12
