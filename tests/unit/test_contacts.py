"""Contacts found by themselves: against samples whose contacts are known, and paths made for the purpose."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import OptionError
from understudy.base.quaternion import from_axis_angle, multiply, rotate
from understudy.figure.contacts import Contact, Detection, Floor, contact_points, detect_contacts, step_heights
from understudy.figure.kinematics import fk
from understudy.figure.measures import hands, leg_length
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.samples import Scene

RATES = (30.0, 60.0, 120.0)
FOOT = Point(name="foot", joint="root")


@cache
def scene(name: str, fps: float = 30.0) -> Scene:
    return samples.motion(name, fps=fps)


def frames_of(contacts: tuple[Contact, ...], motion: Motion, points: tuple[Point, ...]) -> np.ndarray:
    """(F, P) the frames at which each point touches something."""
    out = np.zeros((motion.num_frames, len(points)), bool)
    column = {point.name: i for i, point in enumerate(points)}
    for contact in contacts:
        if contact.point.name in column:
            out[contact.frames(motion.fps, motion.num_frames), column[contact.point.name]] = True
    return out


def scaled(motion: Motion, factor: float) -> Motion:
    return replace(motion, skeleton=motion.skeleton.scaled(factor), root=motion.root * factor)


def one_point(path: np.ndarray, fps: float = 60.0) -> Motion:
    """A body whose root goes along a path, with a limb of one metre beside it: its legs are as long as that."""
    skeleton = Skeleton(
        names=("root", "limb"),
        parents=[-1, 0],
        offsets=np.array([[0.0, 0.0, 0.0], [0.0, -1.0, 0.0]]),
    )
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (len(path), 2, 1))
    return Motion(skeleton=skeleton, fps=fps, root=path, rotations=rotations)


def steps(stays: list[tuple[float, float]], travel: float = 0.4, fps: float = 60.0) -> np.ndarray:
    """A path along x that stays for so many seconds at each place, with a smooth way of `travel` seconds between."""
    parts = [np.full(round(stays[0][0] * fps), stays[0][1])]
    for (_, a), (stay, b) in pairwise(stays):
        share = np.arange(1, round(travel * fps)) / round(travel * fps)
        parts += [a + (b - a) * share**2 * (3.0 - 2.0 * share), np.full(round(stay * fps), b)]
    x = np.concatenate(parts)
    return np.stack([x, np.zeros_like(x), np.zeros_like(x)], axis=1)


@pytest.mark.parametrize("fps", RATES)
@pytest.mark.parametrize(
    ("name", "precision", "recall"),
    [("walk", 0.93, 0.99), ("run", 0.92, 0.91), ("march", 0.93, 0.99), ("squat", 0.99, 0.99), ("dog_walk", 0.92, 0.99)],
)
def test_contacts_of_samples_are_found(name: str, precision: float, recall: float, fps: float) -> None:
    """Frame by frame over heels and balls of all feet, against the contacts the sample was made with."""
    sample = scene(name, fps)
    motion = sample.motion
    points = contact_points(motion)
    truth = frames_of(sample.contacts, motion, points)
    detected = frames_of(detect_contacts(motion, points), motion, points)
    assert truth.any(axis=0).all(), "every point must touch the floor at some time for this to say anything"
    both = np.count_nonzero(truth & detected)
    assert both / np.count_nonzero(detected) > precision
    assert both / np.count_nonzero(truth) > recall


@pytest.mark.parametrize("name", ["walk", "dog_walk", "spider_walk"])
def test_places_are_where_the_points_touch(name: str) -> None:
    """Within a hundredth of a leg of the sample's own places, and each overlapping one of its contacts."""
    sample = scene(name)
    leg = leg_length(sample.motion.skeleton)
    for contact in detect_contacts(sample.motion, contact_points(sample.motion)):
        same = [
            c
            for c in sample.contacts
            if c.point.name == contact.point.name and c.start <= contact.end and contact.start <= c.end
        ]
        assert same, f"{contact.point.name} at {contact.start} s touches nothing in the sample"
        assert min(np.linalg.norm(c.place - contact.place) for c in same) < 0.01 * leg
        assert contact.on == "floor"
        assert 0.0 <= contact.confidence <= 1.0


@pytest.mark.parametrize("name", ["walk", "run", "dog_walk"])
@pytest.mark.parametrize("factor", [0.01, 100.0])
def test_size_does_not_matter(name: str, factor: float) -> None:
    motion = scene(name).motion
    plain, other = detect_contacts(motion), detect_contacts(scaled(motion, factor))
    assert len(plain) > 10
    assert [(c.point.name, c.start, c.end, c.on) for c in plain] == [
        (c.point.name, c.start, c.end, c.on) for c in other
    ]
    for a, b in zip(plain, other, strict=True):
        np.testing.assert_allclose(b.place, factor * a.place, rtol=1e-9, atol=1e-9 * factor)
        assert a.confidence == pytest.approx(b.confidence, abs=2e-3)


@pytest.mark.parametrize("name", ["walk", "march", "dog_walk"])
def test_the_rate_does_not_matter(name: str) -> None:
    """The same contacts begin and end within a frame and a half of the slower rate."""
    slow, fast = (
        detect_contacts(scene(name, fps).motion, contact_points(scene(name, fps).motion)) for fps in (30, 120)
    )
    assert len(slow) == len(fast)
    for a, b in zip(slow, fast, strict=True):
        assert a.point.name == b.point.name
        assert abs(a.start - b.start) < 1.5 / 30
        assert abs(a.end - b.end) < 1.5 / 30


def test_turning_and_shifting_the_scene_does_not_matter() -> None:
    motion = scene("walk").motion
    turn, shift = from_axis_angle(np.array([0.0, 1.0, 0.0]), np.array(0.7)), np.array([3.0, 0.0, -2.0])
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    moved = replace(motion, root=rotate(turn, motion.root) + shift, rotations=rotations)
    plain, other = detect_contacts(motion), detect_contacts(moved)
    assert [(c.point.name, c.start, c.end) for c in plain] == [(c.point.name, c.start, c.end) for c in other]
    for a, b in zip(plain, other, strict=True):
        # The median is taken along each axis: it turns with the scene only as far as the point stands still.
        np.testing.assert_allclose(b.place, rotate(turn, a.place) + shift, atol=0.005)


def test_nothing_that_swims_touches_anything() -> None:
    swim = scene("swim").motion
    every = [swim.skeleton.point(name) for name in (*swim.skeleton.names, *(e.name for e in swim.skeleton.ends))]
    assert detect_contacts(swim, every) == ()


def test_hands_that_stay_still_hold_something() -> None:
    climb = scene("ladder")
    detected = [c for c in detect_contacts(climb.motion) if c.on == "hold"]
    assert {c.point.name for c in detected} == {p.name for p in hands(climb.motion.skeleton)}
    grips = [c for c in climb.contacts if "Palm" in c.point.name]
    assert len(detected) >= len(grips) > 2
    for grip in grips:
        side = grip.point.name.removesuffix("Palm")
        over = [c for c in detected if c.point.name.startswith(side) and c.start <= grip.end and grip.start <= c.end]
        held = sum(min(c.end, grip.end) - max(c.start, grip.start) for c in over)
        assert held > 0.8 * (grip.end - grip.start)


def test_still_all_along_is_one_contact_of_each_point() -> None:
    motion = rest_motion(samples.character("adult"), num_frames=50)
    detected = detect_contacts(motion, contact_points(motion))
    assert len(detected) == len(contact_points(motion)) == 4
    for contact in detected:
        assert (contact.start, contact.end) == (0.0, motion.duration)
        assert contact.confidence == 1.0


def test_one_frame_has_no_contacts() -> None:
    assert detect_contacts(scene("walk").motion[:1]) == ()


def test_a_heel_is_made_for_a_foot_without_one() -> None:
    """Taken from the walk, heels are found again: below the ankle, where the foot's own heel touches the floor."""
    walk = scene("walk").motion
    bare = replace(walk.skeleton, ends=tuple(e for e in walk.skeleton.ends if "Heel" not in e.name))
    motion = replace(walk, skeleton=bare)
    heels = [p for p in contact_points(motion) if p.name.endswith("_heel")]
    assert [p.name for p in heels] == ["LeftFoot_heel", "RightFoot_heel"]
    standing = [c for c in scene("walk").contacts if c.point.name == "LeftToeBase"]
    soles = [float(c.place[1]) for c in standing]
    for contact in detect_contacts(motion, [heels[0]]):
        assert contact.place[1] == pytest.approx(np.mean(soles), abs=0.01)
    heights = fk(motion).points([heels[0]])[:, 0, 1]
    assert heights.min() > min(soles) - 0.01, "a heel never goes below the floor"
    assert len(detect_contacts(motion, [heels[0]])) == len(
        [c for c in scene("walk").contacts if c.point.name == "LeftHeel"]
    )


def test_a_heel_without_a_name_is_known_by_where_it_is() -> None:
    """As in a BVH, whose ends have no names; what lies before the ankle, such as a little toe, is no heel."""
    walk = scene("walk").motion
    named = {"LeftHeel": "LeftFoot_end", "RightHeel": "RightFoot_end"}
    plain = tuple(replace(end, name=named.get(end.name, end.name)) for end in walk.skeleton.ends)
    motion = replace(walk, skeleton=replace(walk.skeleton, ends=plain))
    assert [p.name for p in contact_points(motion)] == ["LeftFoot_end", "LeftToeBase", "RightFoot_end", "RightToeBase"]
    ball = walk.skeleton.offsets[walk.skeleton.joint("LeftToeBase")]
    ahead = tuple(
        replace(e, offset=ball + np.array([0.03, 0.0, 0.02])) if e.name == "LeftFoot_end" else e for e in plain
    )
    motion = replace(walk, skeleton=replace(walk.skeleton, ends=ahead))
    assert contact_points(motion)[0].name == "LeftFoot_heel"


def test_a_foot_that_shifts_stands_twice_with_time_to_move_between() -> None:
    """Five centimetres, in a quarter of a second, on legs of a metre."""
    motion = one_point(steps([(0.8, 0.0), (0.8, 0.05)], travel=0.25))
    detected = detect_contacts(motion, [FOOT])
    assert len(detected) == 2
    np.testing.assert_allclose([c.place[0] for c in detected], [0.0, 0.05], atol=0.006)
    assert detected[1].start - detected[0].end >= Detection().gap - 1e-9
    assert detected[0].start == 0.0
    assert detected[1].end == motion.duration


@pytest.mark.parametrize("second", [0.6, 0.8, 3.0])
def test_a_slow_shift_keeps_both_stays(second: float) -> None:
    """Never faster than a foot at rest may be, but 5 cm apart: two places, each for the time it was stood on."""
    motion = one_point(steps([(0.8, 0.0), (second, 0.05)], travel=0.4))
    detected = detect_contacts(motion, [FOOT])
    assert len(detected) == 2
    np.testing.assert_allclose([c.place[0] for c in detected], [0.0, 0.05], atol=0.006)
    assert detected[0].start == 0.0
    assert detected[1].end == motion.duration
    assert detected[0].end > 0.7
    assert detected[1].start < motion.duration - second + 0.1
    assert detected[1].start - detected[0].end >= Detection().gap - 1e-9


def test_a_foot_that_only_trembles_stands_once() -> None:
    """A wobble of three millimetres does not end a contact, nor does a twitch that comes back at once."""
    path = steps([(1.5, 0.0)])
    path[:, 0] += 0.003 * np.sin(2.0 * np.pi * 3.0 * np.arange(len(path)) / 60.0)
    path[40, 1] += 0.01
    detected = detect_contacts(one_point(path), [FOOT])
    assert [(c.start, c.end) for c in detected] == [(0.0, pytest.approx((len(path) - 1) / 60.0))]
    assert 0.0 < detected[0].confidence < 1.0


def test_a_foot_that_wriggles_in_its_place_has_not_left() -> None:
    """Faster than rest, slower than leaving, all within the radius: one contact. With less patience: two."""
    for speed, count in ((0.9, 1), (3.0, 2)):
        t = np.arange(60) / 60.0
        circle = 0.005 * np.stack(
            [np.cos(2 * np.pi * 5.5 * t) - 1.0, np.zeros(60), np.sin(2 * np.pi * 5.5 * t)], axis=1
        )
        stay = np.zeros((40, 3))
        path = np.concatenate([stay, circle, np.tile(circle[-1], (40, 1))])
        detected = detect_contacts(one_point(path), [FOOT], Detection(speed=0.12 / speed, share=0.0))
        assert len(detected) == count


def test_a_slow_slide_is_cut_where_it_leaves_the_radius() -> None:
    """Slower than the speed of rest, but over ten centimetres: no contact spans more than twice the radius."""
    path = np.zeros((240, 3))
    path[:, 0] = 0.1 * np.arange(240) / 240
    motion, how = one_point(path), Detection()
    detected = detect_contacts(motion, [FOOT], how)
    assert detected
    for contact in detected:
        span = np.ptp(path[contact.frames(60.0, 240), 0])
        assert span <= 2.0 * 1.25 * how.radius + 1e-9
    for a, b in pairwise(detected):
        assert b.start - a.end >= how.gap - 1e-9


def test_the_radius_decides_what_one_place_is() -> None:
    path = steps([(0.6, 0.0), (0.6, 0.03)], travel=0.3)
    loose = detect_contacts(one_point(path), [FOOT], Detection(radius=0.1, speed=1.0))
    tight = detect_contacts(one_point(path), [FOOT], Detection(radius=0.005, speed=1.0))
    assert len(loose) == 1
    assert len(tight) == 2


def test_a_touch_shorter_than_the_shortest_is_none() -> None:
    path = steps([(0.3, 0.0), (0.2, 0.5), (0.3, 1.0)])
    standing = {round(float(c.place[0]), 1) for c in detect_contacts(one_point(path), [FOOT])}
    assert standing == {0.0, 0.5, 1.0}
    longer = Detection(shortest=0.28)
    assert {round(float(c.place[0]), 1) for c in detect_contacts(one_point(path), [FOOT], longer)} == {0.0, 1.0}


def test_frames_of_a_contact_include_both_ends_and_stay_in_the_motion() -> None:
    contact = Contact(point=FOOT, start=0.1, end=0.3)
    assert contact.frames(30.0, 100).tolist() == list(range(3, 10))
    assert contact.frames(30.0, 5).tolist() == [3, 4]
    assert contact.frames(30.0, 2).tolist() == []
    assert Contact(point=FOOT, start=-1.0, end=0.05).frames(30.0, 10).tolist() == [0, 1]
    assert Contact(point=FOOT, start=0.101, end=0.132).frames(30.0, 10).tolist() == []


@pytest.mark.parametrize(("start", "end"), [(1.0, 0.5), (np.nan, 1.0), (0.0, np.inf)])
def test_a_contact_that_cannot_be_is_refused(start: float, end: float) -> None:
    with pytest.raises(OptionError, match=f"must end after it starts; got {start} to {end} s"):
        Contact(point=FOOT, start=start, end=end)


def test_a_foot_stands_on_its_ball_not_on_its_instep() -> None:
    """Rigs with bones of the instep have joints between ankle and ball, well above the sole."""
    motion = samples.motion("walk").motion
    whole, before = motion.skeleton, motion.skeleton.joint("LeftToeBase")
    parents = np.insert(whole.parents + (whole.parents >= before), before, whole.parents[before])
    parents[before + 1] = before
    offsets = np.insert(whole.offsets, before, 0.5 * whole.offsets[before], axis=0)
    offsets[before + 1] *= 0.5
    names = (*whole.names[:before], "LeftInstep", *whole.names[before:])
    longer = replace(
        motion,
        skeleton=Skeleton(names=names, parents=parents, offsets=offsets, ends=whole.ends),
        rotations=np.insert(motion.rotations, before, [1.0, 0.0, 0.0, 0.0], axis=1),
    )
    np.testing.assert_allclose(fk(longer).points(["LeftToeBase"]), fk(motion).points(["LeftToeBase"]), atol=1e-12)
    assert [point.name for point in contact_points(longer)] == [point.name for point in contact_points(motion)]


def test_steps_are_what_the_lowest_point_of_a_foot_stands_on() -> None:
    skeleton = scene("walk").motion.skeleton
    heel, toe = (skeleton.point(name) for name in ("LeftHeel", "LeftToeBase"))
    leg = leg_length(skeleton)

    def stands(point: Point, start: float, height: float) -> Contact:
        return Contact(point=point, start=start, end=start + 0.5, place=np.array([start, height * leg, 0.0]))

    contacts = [
        stands(heel, 0.0, 0.01), stands(toe, 0.0, 0.02),  # on the floor, as it was captured
        stands(heel, 1.0, 0.14), stands(toe, 1.0, 0.01),  # a tilted foot on the floor
        stands(heel, 2.0, 0.31), stands(toe, 2.2, 0.32),  # on a step
        stands(heel, 3.0, 0.33), stands(toe, 3.0, 0.34),  # on the same step
        stands(toe, 4.0, 0.62),  # on the next one
    ]  # fmt: skip
    steps = np.array(step_heights(skeleton, contacts, Floor(slope=np.zeros(2)))) / leg
    assert steps[:4].tolist() == [0.0, 0.0, 0.0, 0.0]
    assert steps[4:8] == pytest.approx(steps[4], abs=1e-12)
    assert steps[4] == pytest.approx(0.31, abs=0.02)
    assert steps[8] == pytest.approx(0.605, abs=0.02)
