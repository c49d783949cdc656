"""Contacts made into constraints: footplants free, fixed and none, anchors, holds, carried things, held hands."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from understudy import samples
from understudy.constraints.attach import Attach
from understudy.constraints.distance import Distance
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.correspondence.pairs import ContactContext
from understudy.figure.contacts import Contact, Floor
from understudy.figure.kinematics import fk
from understudy.figure.skeleton import Point
from understudy.retarget.ground import contact_constraints
from understudy.samples import Scene

FLAT = Floor(slope=np.zeros(2))
HALF = 0.5


@cache
def scene(name: str) -> Scene:
    return samples.motion(name)


def stage(name: str = "walk", scale: float = HALF, actor: str = "", **options: object) -> ContactContext:
    motion = scene(name).actors[actor] if actor else scene(name).motion
    fields: dict[str, object] = {"floor": FLAT, **options}
    return ContactContext(source=motion, target=motion.skeleton.scaled(scale), actor=actor, **fields)  # type: ignore[arg-type]


def contact(
    point: str, start: float, end: float, place: tuple[float, float, float] | None, **options: object
) -> Contact:
    found = scene("walk").motion.skeleton.point(point)
    where = None if place is None else np.array(place)
    return Contact(point=found, start=start, end=end, place=where, **options)  # type: ignore[arg-type]


def test_free_plants_stay_where_they_land_at_the_height_of_the_target() -> None:
    contacts = scene("walk").contacts
    made = contact_constraints(stage(), contacts, [stage()], fixed=False)
    assert len(made) == len(contacts)
    for constraint, given in zip(made, contacts, strict=True):
        assert isinstance(constraint, SamePlace)
        assert (constraint.start, constraint.end) == (given.start, given.end)
        assert constraint.height == pytest.approx(HALF * given.place[1])
        assert constraint.label == f"{given.point.name} {given.start:.2f}-{given.end:.2f} s"


def test_fixed_plants_pin_one_point_of_a_foot_and_keep_the_others_still() -> None:
    contacts = (
        contact("LeftHeel", 0.0, 0.5, (0.1, 0.0, 0.2)),
        contact("LeftToeBase", 0.1, 0.8, (0.1, 0.02, 0.4)),
        contact("RightHeel", 0.2, 0.7, (-0.1, 0.0, 0.5)),
        contact("LeftHeel", 1.0, 1.5, (0.1, 0.0, 1.2)),
    )
    made = contact_constraints(stage(), contacts, [stage()], fixed=True)
    assert [type(c) for c in made] == [Place, SamePlace, Place, Place]
    for pinned, given in zip(made, contacts, strict=True):
        if isinstance(pinned, Place):
            np.testing.assert_allclose(pinned.target[[0, 2]], given.place[[0, 2]], atol=1e-12)
            assert pinned.axes == "xyz"


def test_the_anchor_is_the_first_to_touch_whatever_the_order_given() -> None:
    toe, heel = contact("LeftToeBase", 0.4, 0.8, (0.1, 0.0, 0.4)), contact("LeftHeel", 0.0, 0.5, (0.1, 0.0, 0.2))
    made = contact_constraints(stage(), (toe, heel), [stage()], fixed=True)
    assert [type(c) for c in made] == [SamePlace, Place]


def test_the_height_of_a_point_above_the_floor_grows_with_the_foot() -> None:
    """Bones below the ankle decide, not the legs; on a floor that is not at zero."""
    body = scene("walk").motion.skeleton
    factors = [3.0 if name.startswith("LeftToeBase") else 0.7 for name in body.names]
    mixed = ContactContext(
        source=scene("walk").motion, target=body.scaled(factors), floor=Floor(height=0.2, slope=np.zeros(2))
    )
    ankle = contact("LeftFoot", 0.0, 1.0, (0.0, 0.3, 0.0))
    assert mixed.bone_ratio(ankle.point) == pytest.approx(3.0)
    assert mixed.rise(ankle) == pytest.approx(0.1 * 3.0)
    made = contact_constraints(mixed, [ankle], [mixed], fixed=False)[0]
    assert isinstance(made, SamePlace)
    assert made.height == pytest.approx(0.2 + 0.3)


def test_points_are_found_on_the_target() -> None:
    """An end the target has of that name is its own; a point of the user's own grows with the bones."""
    here = stage(scale=2.0)
    heel = scene("walk").motion.skeleton.point("LeftHeel")
    np.testing.assert_allclose(here.point(heel).offset, 2.0 * heel.offset)
    longer = tuple(replace(e, offset=5.0 * e.offset) if e.name == "LeftHeel" else e for e in here.target.ends)
    own = replace(here, target=replace(here.target, ends=longer))
    np.testing.assert_allclose(own.point(heel).offset, 10.0 * heel.offset)
    marker = Point(name="marker", joint="LeftFoot", offset=np.array([0.0, -0.1, 0.0]))
    np.testing.assert_allclose(here.point(marker).offset, [0.0, -0.2, 0.0])


def test_a_joint_without_bones_of_its_own_grows_with_the_bone_above() -> None:
    body = scene("walk").motion.skeleton
    tip = body.point("LeftFingertips")
    factors = [4.0 if name == tip.joint else 1.0 for name in body.names]
    here = ContactContext(source=scene("walk").motion, target=body.scaled(factors), floor=FLAT)
    assert not body.children[body.joint(tip.joint)]
    assert here.bone_ratio(tip) == pytest.approx(4.0)


def test_a_plant_on_a_tilted_floor_is_on_the_floor_where_it_is_scaled_to() -> None:
    tilted = Floor(height=0.1, slope=np.array([0.05, 0.0]))
    here = stage(floor=tilted)
    made = contact_constraints(here, [contact("LeftHeel", 0.0, 1.0, (4.0, 0.3, 0.0))], [here], fixed=False)[0]
    assert isinstance(made, SamePlace)
    assert made.height == pytest.approx(0.1 + 0.05 * 2.0)


def test_a_hold_stays_and_a_fixed_thing_is_where_it_was() -> None:
    hold = contact("LeftHand", 0.0, 1.0, (0.1, 1.5, 0.0), on="hold")
    rung = contact("LeftHand", 1.2, 1.5, (0.1, 1.8, 0.0), on="ladder")
    made = contact_constraints(stage(), (hold, rung), [stage()], fixed=False)
    assert isinstance(made[0], SamePlace)
    assert made[0].height is None
    assert isinstance(made[1], Place)
    np.testing.assert_array_equal(made[1].target, [0.1, 1.8, 0.0])


def test_a_carried_box_keeps_its_width_and_is_picked_up_where_it_was() -> None:
    given = scene("pick_up")
    carrying = [c for c in given.contacts if c.on == "box" and c.place is None]
    assert {c.point.name for c in carrying} == {"LeftPalm", "RightPalm"}
    here = stage("pick_up")
    made = contact_constraints(here, carrying, [here], fixed=False)
    grasps = [c for c in made if isinstance(c, Place)]
    widths = [c for c in made if isinstance(c, Distance)]
    assert len(grasps) + len(widths) == len(made)
    palms = fk(given.motion).points(["LeftPalm", "RightPalm"])
    for grasp in grasps:
        frame = round(grasp.instants[0] * given.motion.fps)
        column = ["LeftPalm", "RightPalm"].index(grasp.label.split()[0])
        np.testing.assert_allclose(grasp.target, palms[frame, column], atol=1e-9)
        assert "picks up box at" in grasp.label
    assert len(widths) == 1
    held = slice(round(carrying[0].start * given.motion.fps), round(carrying[0].end * given.motion.fps))
    gap = np.linalg.norm(palms[held, 0] - palms[held, 1], axis=1)
    assert widths[0].length == pytest.approx(np.median(gap), abs=1e-3)
    assert widths[0].label == "LeftPalm and RightPalm carry box"


def test_things_carried_at_different_times_or_by_different_hands_do_not_meet() -> None:
    cup = contact("LeftPalm", 0.0, 1.0, None, on="cup")
    plate = contact("RightPalm", 0.0, 1.0, None, on="plate")
    later = contact("RightPalm", 2.0, 3.0, None, on="cup")
    made = contact_constraints(stage(), (cup, plate, later), [stage()], fixed=False)
    assert [type(c) for c in made] == [Place] * 3


def test_held_hands_stay_together_on_both_targets() -> None:
    given = scene("dance")
    lead, follow = stage("dance", 1.0, "lead"), stage("dance", 0.8, "follow")
    held = [c for c in given.contacts if c.other is not None and c.actor == "lead"]
    assert held
    made = contact_constraints(lead, held, [lead, follow], fixed=False)
    for constraint, contact_ in zip(made, held, strict=True):
        assert isinstance(constraint, Attach)
        assert constraint.to is not None
        assert (constraint.point.actor, constraint.to.actor) == ("lead", "follow")
        assert isinstance(constraint.to.point, Point)
        np.testing.assert_allclose(constraint.to.point.offset, 0.8 * contact_.other.offset)
        assert constraint.label.startswith("lead ")


def test_on_a_body_that_changes_size_plants_are_sized_for_their_time() -> None:
    """One point of a foot stays still; the others, which come nearer as the foot shrinks, only keep on the floor until
    it has lifted."""
    share = np.linspace(0.0, 1.0, scene("walk").motion.num_frames)
    here = stage(share=share)
    assert here.size(HALF, 0.0) == 1.0
    assert here.size(HALF, scene("walk").motion.duration) == pytest.approx(HALF)
    early, late = (contact("LeftHeel", t, t + 0.4, (0.0, 0.1, 1.0)) for t in (0.0, 4.0))
    toe = contact("LeftToeBase", 0.1, 0.5, (0.0, 0.1, 1.2))
    made = contact_constraints(here, (early, late, toe), [here], fixed=False)
    heights = [c.height for c in made if isinstance(c, SamePlace)]
    assert heights[:2] == pytest.approx([0.1 * (1.0 - 0.5 * 0.2 / 5.0), 0.1 * (1.0 - 0.5 * 4.2 / 5.0)])
    assert isinstance(made[2], Place)
    assert made[2].axes == "y"
    assert [(c.start, c.end) for c in made[3:]] == [(0.4, 0.5)]
    assert isinstance(made[3], SamePlace)
