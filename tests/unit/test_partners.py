"""Contacts between two actors are found in their motions and kept on bodies of other sizes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.partners import MAX_TOUCH_METRES, find_touches
from understudy.figure.roles import roles
from understudy.io import write
from understudy.io.clip import Clip
from understudy.retarget.actor import ActorSpec
from understudy.retarget.driver import prepare
from understudy.retarget.spec import Recipe


def couple(gap: float) -> tuple[Motion, Motion]:
    """Two samples stand side by side for two seconds, the left hand of the first beside the right hand of the second,
    with `gap` metres between the wrists."""
    motion = samples.motion("squat").motion[:60]
    still = replace(
        motion, rotations=np.repeat(motion.rotations[:1], 60, axis=0), root=np.repeat(motion.root[:1], 60, axis=0)
    )
    pose, joint_of = fk(still), roles(still.skeleton)
    left, right = (pose.positions[0, joint_of[f"{side}_hand"]] for side in ("left", "right"))
    across = (left - right) / np.linalg.norm(left - right)
    return still, replace(still, root=still.root + (left - right) + gap * across)


def test_hands_that_are_held_are_a_contact() -> None:
    touches = find_touches(*couple(0.06), ("ann", "bob"))
    hands = [touch for touch in touches if "Hand" in touch.point.joint or "Hand" in (touch.other or touch.point).joint]
    assert hands
    for touch in hands:
        assert (touch.actor, touch.on) == ("ann", "bob")
        assert touch.end - touch.start > 1.5
        assert 0.0 < touch.confidence <= 1.0


def test_the_two_points_of_a_contact_are_at_one_place() -> None:
    first, second = couple(0.06)
    for touch in find_touches(first, second, ("ann", "bob")):
        assert touch.other is not None
        places = fk(first).points([touch.point])[:, 0], fk(second).points([touch.other])[:, 0]
        assert np.linalg.norm(places[0] - places[1], axis=-1).max() < 1e-6


@pytest.mark.parametrize("gap", [0.3, 1.0])
def test_people_who_stand_apart_do_not_touch(gap: float) -> None:
    assert find_touches(*couple(gap + MAX_TOUCH_METRES), ("ann", "bob")) == []


def test_held_hands_are_kept_between_a_small_and_a_large_body(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    for name, motion in zip(("ann", "bob"), couple(0.06), strict=True):
        write(Clip(skeleton=motion.skeleton, motion=motion), folder / f"{name}.bvh")
    actors = tuple(
        ActorSpec(source=f"{name}.bvh", scale=scale, name=name) for name, scale in (("ann", 0.7), ("bob", 1.2))
    )
    found = prepare(Recipe(actors=actors, folder=folder))
    between = [contact for contact in found.contacts if contact.other is not None]
    assert between
    result = found.solve()
    for contact in between:
        constraint = next(c for c in result.problem.constraints if c.kind == "attach" and contact.point.joint in c.name)
        poses = [fk(motion) for motion in result.solution.motions]
        one, two = constraint.point_refs()
        gap = poses[0].points([one.point])[:, 0] - poses[1].points([two.point])[:, 0]
        assert np.linalg.norm(gap, axis=-1).max() < 0.02
