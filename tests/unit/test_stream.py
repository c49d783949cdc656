"""Windows and streams: the same as at once, however the frames arrive, and no seam to be seen."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import MotionError, OptionError
from understudy.base.quaternion import angle_between
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, join
from understudy.figure.skeleton import Skeleton
from understudy.retarget.driver import retarget
from understudy.retarget.plan import Options
from understudy.retarget.stream import Stream, Window, continued, retarget_in_windows
from understudy.samples import Scene

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
    return np.arange(60, walk().num_frames, 60)


@pytest.mark.parametrize("sizes", [[1], [7, 1, 53], [1000], [60], [89, 91]])
def test_how_frames_arrive_does_not_matter(sizes: list[int]) -> None:
    parts = run(stream(), sizes)
    found = joined(parts)
    np.testing.assert_array_equal(found.rotations, windowed().rotations)
    np.testing.assert_array_equal(found.root, windowed().root)
    assert [part.num_frames for part in parts[:-1]] == [60] * (len(parts) - 1)


def test_windows_agree_with_the_whole_solve() -> None:
    """Places of joints about the root within 8 mm RMS of the whole solve's, and never more than 60 mm off, which is
    the toe of a swinging foot. The path, which free steps carry along, within 70 mm over 13 m.
    """
    whole, parts = fk(at_once()).positions, fk(windowed()).positions
    shape = np.linalg.norm((whole - whole[:, :1]) - (parts - parts[:, :1]), axis=-1)
    assert shape.max() < 0.06
    assert np.sqrt((shape**2).mean()) < 0.008
    assert np.linalg.norm(whole - parts, axis=-1).max() < 0.07
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


def test_a_window_leaves_what_was_given_out_as_it_is() -> None:
    """Whatever a window does to its new frames, those it looks back on come out of it to the last bit."""
    looked_back = []

    class Watched(Stream):
        def _retarget(self, part: Motion, begin: int, back: int) -> Motion:
            result = super()._retarget(part, begin, back)
            if back and self._output is not None:
                looked_back.append(back)
                np.testing.assert_array_equal(result.rotations[:back], self._output.rotations[-back:])
                np.testing.assert_array_equal(result.root[:back], self._output.root[-back:])
            return result

    run(
        Watched(source=walk().skeleton, target=shins(), fps=FPS, window=WINDOW, contacts=scene().contacts),
        [walk().num_frames],
    )
    assert looked_back == [30] * 4


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
            assert feed._input is not None
            assert feed._input.num_frames <= most
            assert feed._output is None or feed._output.num_frames <= WINDOW.back * FPS
            assert len(feed._lowest_contacts) <= 8
        assert feed._num_output > 150 + 270 * turn


def test_contacts_are_found_as_frames_arrive() -> None:
    """Without being told: what is found window by window holds too, and lands near the whole solve."""
    feed = stream(contacts=None)
    found = joined(run(feed, [30]))
    assert feed.unmet == []
    assert feed.floor is not None
    whole = retarget(walk(), shins()).motion
    a, b = fk(found).positions, fk(whole).positions
    shape = np.linalg.norm((a - a[:, :1]) - (b - b[:, :1]), axis=-1)
    assert np.sqrt((shape**2).mean()) < 0.008
    assert shape.max() < 0.07


def test_a_short_motion_is_one_window() -> None:
    short = walk()[:20]
    found, unmet = retarget_in_windows(short, shins(), window=WINDOW)
    # A stream does not solve again to keep shins apart.
    whole = retarget(short, shins(), options=Options(clearance=False)).motion
    assert unmet == []
    np.testing.assert_allclose(found.rotations, whole.rotations, atol=1e-3)


def test_an_evenly_scaled_body_moves_as_the_source_does() -> None:
    found, unmet = retarget_in_windows(walk(), walk().skeleton.scaled(0.7), window=WINDOW, contacts=scene().contacts)
    assert unmet == []
    assert angle_between(found.rotations, walk().rotations).max() < 1e-6
    np.testing.assert_allclose(found.root, 0.7 * walk().root, atol=1e-6)


@pytest.mark.parametrize("plants", ["fixed", "none"])
def test_options_are_obeyed_in_every_window(plants: str) -> None:
    options = Options(plants=plants, floor=plants != "none")
    target = walk().skeleton.scaled(0.8)
    found, unmet = retarget_in_windows(walk(), target, window=WINDOW, contacts=scene().contacts, options=options)
    assert unmet == []
    whole = retarget(walk(), target, contacts=scene().contacts, options=options).motion
    a, b = fk(found).positions, fk(whole).positions
    shape = np.linalg.norm((a - a[:, :1]) - (b - b[:, :1]), axis=-1)
    assert np.sqrt((shape**2).mean()) < (0.012 if plants == "fixed" else 1e-9)


def test_fixed_plants_across_a_seam_pin_one_point_of_a_foot() -> None:
    """A heel that stands across a seam is the foot's anchor: the toe that comes down after it only keeps still."""
    heel = next(c for c in scene().contacts if c.point.name == "LeftHeel" and c.start < 2.0 < c.end)
    toe = next(c for c in scene().contacts if c.point.name == "LeftToeBase" and heel.start < c.start < heel.end)
    assert toe.start > 2.0
    target = walk().skeleton.scaled(0.8)
    found, unmet = retarget_in_windows(
        walk(), target, window=WINDOW, contacts=(heel, toe), options=Options(plants="fixed")
    )
    assert unmet == []
    for contact in (heel, toe):
        path = fk(found).points([contact.point.name])[contact.frames(FPS, walk().num_frames), 0]
        assert np.abs(path - path.mean(axis=0)).max() < 1.5e-3


def test_what_cannot_be_met_is_said_with_the_time_of_the_whole_motion() -> None:
    """Footsteps of a giant: the sentences speak of times beyond the first window too."""
    target = walk().skeleton.scaled(0.25)
    short = walk()[:130]
    contacts = [c for c in scene().contacts if c.end <= short.duration]
    found, unmet = retarget_in_windows(short, target, window=WINDOW, contacts=contacts, options=Options(plants="fixed"))
    assert np.isfinite(found.rotations).all()
    assert unmet
    assert all(re.match(r"\w+ of `\w+` is off by [\d.e-]+ at [\d.]+ s$", sentence) for sentence in unmet)
    times = [float(sentence.rsplit(" at ", 1)[1].removesuffix(" s")) for sentence in unmet]
    assert max(times) > 2.0
    assert max(times) <= short.duration + 1e-6


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


def test_a_step_shorter_than_a_frame_is_one_frame() -> None:
    """However short the step, a window gives at least a frame."""
    feed = stream(window=Window(step=0.001, ahead=0.1, back=0.1))
    parts = feed.push(walk()[:12]) + feed.finish()
    assert sum(part.num_frames for part in parts) == 12
    assert all(part.num_frames >= 1 for part in parts)
