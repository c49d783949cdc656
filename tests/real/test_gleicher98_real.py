"""Gleicher98's examples on captured motion: walks, a ladder, a dance for two, boxes picked up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from papers.base import capture
from papers.gleicher98_captured import BOXES, WALKS, Climb, Salsa, box
from papers.gleicher98_captured import climb as found_climb
from papers.gleicher98_captured import salsa as found_salsa

from understudy.base.quaternion import Array, angle_between
from understudy.figure.bands import choose_spacing, energy_above
from understudy.figure.contacts import contact_points, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.retarget.driver import morph, naive, retarget
from understudy.retarget.plan import Options
from understudy.solve.solvers.base import Solution
from understudy.solve.solvers.ik import Ik
from understudy.solve.solvers.ik_lowpass import IkLowpass
from understudy.solve.solvers.least_squares import LeastSquares
from understudy.solve.solvers.lmult import Lmult
from understudy.solve.solvers.sqp import Sqp

SMALL = 0.6
BANDS = (4.0, 8.0, 12.0)


def spectrum(motion: Motion, source: Motion) -> Array:
    return energy_above(motion, BANDS) / energy_above(source, BANDS)


def worst(found: Solution, *kinds: str) -> float:
    return max((o.worst for o in found.outcomes if o.constraint.kind in kinds), default=0.0)


def largest_jump(motion: Motion) -> float:
    """Degrees that a joint turns from a frame to the next at most."""
    q = motion.rotations
    cosines = np.abs(np.einsum("fji,fji->fj", q[1:], q[:-1]))
    return float(np.degrees(2.0 * np.arccos(np.clip(cosines, 0.0, 1.0))).max())


@pytest.mark.parametrize("name", WALKS)
def test_naive_walk_skates_above_the_floor(data, name):
    """Fig. 2: copied to a figure 60% as large, planted points slide by more than 15 cm and are off by more than 25 cm
    in height."""
    walk = capture(data, name)
    contacts = detect_contacts(walk, contact_points(walk))
    small = walk.skeleton.scaled(SMALL)
    pose = fk(naive(walk, small))
    slides, heights = [], []
    for contact in contacts:
        point = replace(contact.point, offset=SMALL * contact.point.offset)
        path = pose.points([point])[contact.frames(walk.fps, walk.num_frames), 0]
        slides.append(np.linalg.norm((path - path[0])[:, [0, 2]], axis=-1).max())
        heights.append(float(np.min(path[:, 1])) - contact.place[1])
    assert max(slides) > 0.15
    assert min(heights) > 0.25


@pytest.mark.parametrize("name", WALKS)
def test_walk_in_the_original_footsteps(data, name):
    """Fig. 3, sec. 7.1: at 60% in the original's footsteps.

    Ours meets all (plants 1 mm) with energy above 4, 8 and 12 Hz within 5% of the capture's. Inverse kinematics meets
    them too and adds more than 5% in every band, at least four times what ours does. Low-passed it misses by over 2 cm.
    """
    walk = capture(data, name)
    target, options = walk.skeleton.scaled(SMALL), Options(plants="fixed")
    ours, ik, lowpass = (retarget(walk, target, options=options, solver=s) for s in (None, Ik(), IkLowpass()))
    assert not ours.unmet
    assert worst(ours, "region") < 2e-3
    added, added_by_ik = spectrum(ours.motion, walk) - 1.0, spectrum(ik.motion, walk) - 1.0
    assert np.abs(added).max() < 0.05
    assert worst(ik, "place", "same_place") < 1e-3
    assert added_by_ik.min() > 0.05
    assert np.all(added_by_ik > 4.0 * np.abs(added))
    assert worst(lowpass, "place", "same_place") > 0.02


@pytest.mark.parametrize("name", WALKS)
def test_walks_are_recommended_four_frames(data, name):
    """Sec. 3.7 and 7.1: the pyramid recommends keys every 4 frames for a walk."""
    assert choose_spacing(capture(data, name)) == pytest.approx(4.0 / 30.0)


@pytest.mark.parametrize("plants", ["fixed", "free"])
def test_walk_morphs_to_sixty_percent(data, plants):
    """Fig. 6: plants within 1 mm, or half of what the foot shrinks while it stands; energy above 4 Hz within 5%."""
    walk = capture(data, "02_01")
    found = morph(walk, walk.skeleton.scaled(SMALL), options=Options(plants=plants))
    foot = np.linalg.norm(found.motion.offsets[:, walk.skeleton.joint("LeftToeBase")], axis=-1)
    for outcome in found.outcomes:
        if outcome.constraint.kind in ("place", "same_place"):
            shrinks = float(np.ptp(foot[outcome.constraint.frames(found.motion.times)]))
            assert outcome.worst < max(1e-3, 0.5 * shrinks), outcome.constraint.label
    assert worst(found, "region") < 2e-3
    assert spectrum(found.motion, walk)[0] == pytest.approx(1.0, abs=0.05)


def test_short_legs_in_long_footsteps(data):
    """Fig. 8 on 16_15: legs 70% as long in the original's footsteps: all met, and legs open a fifth wider."""
    walk = capture(data, "16_15")
    factors = np.where([any(k in n for k in ("Leg", "Foot", "Toe")) for n in walk.skeleton.names], 0.7, 1.0)
    found = retarget(walk, walk.skeleton.scaled(factors), options=Options(plants="fixed"))
    assert not found.unmet
    opens = []
    for motion in (walk, found.motion):
        pose = fk(motion)
        ways = pose.points(["LeftFoot", "RightFoot"]) - pose.points(["LeftUpLeg", "RightUpLeg"])
        ways /= np.linalg.norm(ways, axis=-1, keepdims=True)
        opens.append(float(np.arccos(np.clip(np.einsum("fi,fi->f", ways[:, 0], ways[:, 1]), -1, 1)).max()))
    assert opens[1] > 1.2 * opens[0]


@pytest.fixture(scope="module")
def climb(data: Path) -> Climb:
    return found_climb(data)


def test_holds_of_the_climb_are_found(climb):
    """Sec. 3.5: both hands and both feet are found to hold the ladder, ever higher, several times each."""
    contacts = climb.contacts
    for side in ("Left", "Right"):
        for part in ("Hand", "ToeBase"):
            mine = [c for c in contacts if c.point.joint == f"{side}{part}" and c.on == "ladder"]
            assert len(mine) >= 2, f"{side}{part}"
            heights = [c.place[1] for c in sorted(mine, key=lambda c: c.start)]
            assert heights[-1] > heights[0]


@pytest.mark.parametrize("scale", [0.85, 1.2])
def test_climb_on_the_original_holds(climb, scale):
    """Fig. 4 and sec. 7.2 on 13_33: hands and feet on the original's holds by a smaller and a larger figure.

    Ours: all within 1 mm, energy above 4, 8 and 12 Hz within 5%. Inverse kinematics adds more than a fifth in every
    band; low-passed it misses holds by over 4 cm.
    """
    motion, contacts = climb.motion, climb.contacts
    target = motion.skeleton.scaled(scale)
    ours, ik, lowpass = (retarget(motion, target, contacts=contacts, solver=s) for s in (None, Ik(), IkLowpass()))
    assert not ours.unmet
    added = spectrum(ours.motion, motion) - 1.0
    assert np.abs(added).max() < 0.05
    assert (spectrum(ik.motion, motion) - 1.0).min() > 0.2
    assert worst(lowpass, "place") > 0.04


def test_hands_that_slide_along_the_rail(climb):
    """Sec. 7.2 on 13_33 at 85%: hands may take hold anywhere up or down the rail and feet anywhere along the rung.

    All is met within 1 mm, and the motion resembles the original more closely: its joints change, RMS, less than
    three quarters as much as on the original's holds.
    """
    motion, contacts = climb.motion, climb.contacts
    target = motion.skeleton.scaled(0.85)
    floor = [c for c in contacts if c.on == "floor"]
    fixed = retarget(motion, target, contacts=contacts)
    slid = retarget(motion, target, contacts=floor, constraints=climb.sliding())
    assert not slid.unmet
    changes = [float((angle_between(m.rotations, motion.rotations) ** 2).mean()) for m in (fixed.motion, slid.motion)]
    assert np.sqrt(changes[1]) < 0.75 * np.sqrt(changes[0])


def test_three_solvers_on_the_climb(climb, record_property):
    """Sec. 6 and 7.2 on 13_33: at 30 Hz and keys every 4 frames all three reach the paper's half inch."""
    for solver in (Sqp(), Lmult(), LeastSquares()):
        found = solver.solve(climb.problem())
        record_property(f"seconds {found.solver}", round(found.seconds, 2))
        assert worst(found, "place", "same_place") < 0.5 * 0.0254, found.solver


@pytest.fixture(scope="module")
def salsa(data: Path) -> Salsa:
    found = found_salsa(data)
    assert len(found.holds) >= 4
    return found


@pytest.mark.parametrize("both", [False, True])
def test_salsa_partners_keep_their_holds(salsa, both):
    """Sec. 7.3 on 60_10 and 61_10: the follower 80% of her size, alone or with the leader's upper body adapted.

    Without the holds she is out of them by more than 3 cm; with them every hold and plant is met within 1 mm, the
    leader's root is untouched, and her energy above 4, 8 and 12 Hz is within 5% of the capture's.
    """
    lead, follow = salsa.lead, salsa.follow
    without = salsa.laid_out(0.8, both=both, held=False).solve()
    found = salsa.laid_out(0.8, both=both).solve()
    assert not found.unmet
    assert salsa.broken(without) > 0.03
    assert salsa.broken(found) < 1e-3
    np.testing.assert_array_equal(found.motions[0].root, lead.root)
    assert np.abs(spectrum(found.motions[1], follow) - 1.0).max() < 0.05
    assert (largest_jump(found.motions[1]) - largest_jump(follow)) < 3.0


def test_salsa_follower_shrinks_as_they_dance(salsa):
    """Fig. 10 on 61_10: she becomes a figure 75% as large between 2.5 and 4 s; the leader's upper body responds.

    Holds within 1 mm in the world; plants within 2 mm, her feet shrink under her; energy above 4 Hz within 5%.
    """
    found = salsa.laid_out(0.75, both=True, share=salsa.shrinking).solve()
    assert salsa.broken(found) < 1e-3
    assert worst(found, "same_place") < 2e-3
    assert spectrum(found.motions[1], salsa.follow)[0] == pytest.approx(1.0, abs=0.05)
    sizes = np.linalg.norm(found.motions[1].offsets[[0, -1], 1:], axis=-1).sum(1)
    assert sizes[1] == pytest.approx(0.75 * sizes[0])


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("scale", [0.8, 1.2])
def test_box_is_picked_up_and_carried(data, name, scale):
    """Sec. 1.1 on 69_70 and 115_06: the hands are where they picked the box up, and keep its width while carrying.

    In the capture that distance varies by less than 3 cm. On a figure of other size without the constraints the hands
    are more than 10 cm from the box; with them all is met within 1 mm, plants too, and energy above 4 Hz is within 5%.
    """
    given = box(data, name)
    assert np.ptp(given.gap) < 0.03
    target = given.motion.skeleton.scaled(scale)
    assert given.measure(retarget(given.motion, target).motion)[0] > 0.1
    found = retarget(given.motion, target, constraints=given.constraints)
    assert not found.unmet
    assert max(given.measure(found.motion)) < 1e-3
    assert spectrum(found.motion, given.motion)[0] == pytest.approx(1.0, abs=0.05)
