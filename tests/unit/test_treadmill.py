"""Motion in place: the floor that moves under it is found, feet are planted on it, and loops stay loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import conjugate, exp, log, multiply
from understudy.figure.contacts import contact_points, detect_contacts, detect_on_treadmill, find_period, floor_velocity
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.io.clip import Clip, write
from understudy.metrics.base import evaluate
from understudy.recipe.reading import read_recipe
from understudy.recipe.writing import write_recipe
from understudy.retarget.actor import ActorSpec
from understudy.retarget.driver import prepare, retarget
from understudy.retarget.ground import feet_on_floor
from understudy.retarget.loop import repeat_contacts
from understudy.retarget.spec import Recipe


def in_place() -> tuple[Motion, np.ndarray]:
    """The walk on a treadmill, and the velocity of its belt: the mean velocity of the walk, backwards."""
    motion = samples.motion("walk").motion
    steady = motion[30:-30]
    velocity = -(steady.root[-1] - steady.root[0]) / steady.duration * [1.0, 0.0, 1.0]
    return replace(steady, root=steady.root + steady.times[:, None] * velocity), velocity


def test_the_velocity_of_a_moving_floor_is_found() -> None:
    motion, velocity = in_place()
    found = floor_velocity(motion, contact_points(motion))
    assert found is not None
    np.testing.assert_allclose(found, velocity, atol=0.02 * np.linalg.norm(velocity))


@pytest.mark.parametrize("name", ["walk", "squat", "dance"])
def test_a_floor_at_rest_does_not_move(name: str) -> None:
    motion = samples.motion(name).motion
    points = contact_points(motion)
    contacts = detect_contacts(motion, points)
    assert detect_on_treadmill(motion, contacts, points) == contacts


def test_feet_are_planted_on_a_moving_floor_and_stay_on_it_on_another_body() -> None:
    motion, velocity = in_place()
    found = retarget(motion, motion.skeleton.scaled(0.6))
    contacts = [contact for contact in found.contacts if contact.velocity is not None]
    assert len(contacts) >= 6
    assert any("a floor that moves" in note for note in found.notes)
    pose = fk(found.motion)
    leg = leg_length(motion.skeleton)
    for contact in contacts:
        frames = contact.frames(motion.fps, motion.num_frames)
        point = replace(contact.point, offset=0.6 * contact.point.offset)
        path = pose.points([point])[frames, 0] - 0.6 * motion.times[frames, None] * velocity
        # The belt's speed as found differs from the true one by a few millimetres a second.
        assert np.ptp(path[:, [0, 2]], axis=0).max() < 0.01 * leg
        assert np.ptp(path[:, 1]) < 2e-3
    skate = evaluate(found.motion, source=motion, contacts=found.contacts)["foot_skate"]
    assert skate["worst_drift"] < 3e-3


def test_contacts_on_a_moving_floor_are_entries_of_a_recipe(tmp_path) -> None:
    motion, _ = in_place()
    write(Clip(skeleton=motion.skeleton, motion=motion), tmp_path / "walk.bvh")
    recipe = Recipe(actors=(ActorSpec(source=str(tmp_path / "walk.bvh"), scale=0.6),))
    prepared = prepare(recipe)
    write_recipe(replace(recipe, contacts=prepared.contacts), tmp_path / "walk.toml")
    again = read_recipe(tmp_path / "walk.toml").contacts
    assert again is not None
    for before, after in zip(prepared.contacts, again, strict=True):
        assert before.velocity is not None
        assert after.velocity is not None
        np.testing.assert_allclose(after.velocity, before.velocity, atol=1e-6)


def loop() -> Motion:
    """Two steps of the walk on a treadmill, whose last frame is exactly the first again."""
    motion = in_place()[0]
    positions = fk(motion).positions
    period = 20 + int(np.argmin(np.linalg.norm(positions[20:60] - positions[0], axis=-1).max(axis=-1)))
    motion = motion[: period + 1]
    share = np.arange(period + 1) / period
    turned = log(multiply(conjugate(motion.rotations[0]), motion.rotations[-1]))
    rotations = multiply(motion.rotations, exp(-share[:, None, None] * turned))
    return replace(motion, root=motion.root - share[:, None] * (motion.root[-1] - motion.root[0]), rotations=rotations)


def test_a_loop_is_known_by_its_ends() -> None:
    motion = loop()
    assert find_period(motion) == motion.num_frames - 1
    assert find_period(motion[:-1]) == motion.num_frames - 1
    assert find_period(samples.motion("walk").motion) is None


def test_a_loop_stays_a_loop() -> None:
    motion = loop()
    found = retarget(motion, motion.skeleton.scaled(0.7))
    source, result = fk(motion).positions, fk(found.motion).positions
    seam = np.abs(source[-1] - source[0]).max()
    assert np.abs(result[-1] - result[0]).max() < seam + 2e-3
    other = retarget(motion, samples.character("other"))
    ends = fk(other.motion).positions
    assert np.abs(ends[-1] - ends[0]).max() < seam + 2e-3


def test_contacts_are_joined_across_the_ends_of_a_round() -> None:
    motion = loop()
    point = contact_points(motion)[0]
    contacts = detect_on_treadmill(motion, (), [point])
    assert contacts
    first, last = replace(contacts[0], start=0.0, end=0.2), replace(contacts[0], start=0.8, end=1.0)
    repeated = repeat_contacts([first, last], 1.0, 1.0 / 30.0)
    spans = [(round(c.start, 3), round(c.end, 3)) for c in repeated]
    assert spans == [(0.0, 0.2), (0.8, 1.2), (1.8, 2.2), (2.8, 2.967)]


def test_feet_without_contacts_show_where_the_floor_is() -> None:
    motion, _ = in_place()
    shown = feet_on_floor(motion)
    assert shown
    assert all(contact.end < 0.0 for contact in shown)
    lowest = fk(motion).points([contact.point for contact in shown])[..., 1].min(axis=0)
    np.testing.assert_allclose([contact.place[1] for contact in shown if contact.place is not None], lowest)
