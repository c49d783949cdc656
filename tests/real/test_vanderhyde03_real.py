"""Vanderhyde03's study on the squat of CMU 13_29: the left hand holds on while the body goes down and up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from papers.vanderhyde03 import ARM, Handhold, captured_hold

from understudy.figure.bands import choose_spacing, energy_above
from understudy.figure.kinematics import fk
from understudy.retarget.plan import Assignment, plan
from understudy.solve.solvers.base import Outcome, Solution
from understudy.solve.solvers.keyed import Keyed
from understudy.solve.solvers.spacetime import Spacetime


@pytest.fixture(scope="module")
def hold(data: Path) -> Handhold:
    """A place in front of the shoulder's way, half-way up it, always in reach of the arm."""
    given = captured_hold(data)
    skeleton = given.motion.skeleton
    reach = float(skeleton.lengths[[skeleton.joint(name) for name in ARM[1:]]].sum())
    away = given.place - fk(given.motion).points([ARM[0]])[:, 0]
    assert np.linalg.norm(away, axis=-1).max() < reach
    assert away[:, 1].min() < -0.1
    assert away[:, 1].max() > 0.1
    return given


def held(found: Solution) -> Outcome:
    return next(o for o in found.outcomes if o.constraint.name == "handhold")


def test_shoulder_has_a_limit_of_swing_and_twist(hold):
    """ "We could not figure out a way to do this through quaternions": here it is given by itself."""
    shoulder = next(each for each in hold.limits if each.joints()[0].point == ARM[0])
    assert shoulder.swing is not None
    assert shoulder.twist is not None


def test_more_keys_hold_more_tightly(hold):
    """Results: mean error falls from four to five to six keys, and none holds: each is off by over 3 cm somewhere."""
    found = [held(hold.solve(Keyed(count=count))) for count in (4, 5, 6)]
    assert found[0].mean > found[1].mean > found[2].mean
    assert min(outcome.worst for outcome in found) > 0.03


def test_ours_holds_within_a_millimetre_over_the_whole_range(hold):
    """Every one of the 396 frames within 1 mm in the world, limits within 0.1 degree, energy above 4, 8 and 12 Hz
    within 5% of the capture's, body and root untouched."""
    found = hold.solve(Spacetime(spacing=choose_spacing(hold.motion)))
    assert hold.off(found).max() < 1e-3
    assert max(o.worst for o in found.outcomes if o.constraint.kind == "joint_range") < np.radians(0.1)
    bands = (4.0, 8.0, 12.0)
    np.testing.assert_allclose(energy_above(found.motion, bands) / energy_above(hold.motion, bands), 1.0, atol=0.05)
    np.testing.assert_array_equal(found.motion.root, hold.motion.root)


def test_the_whole_body_may_lean(hold):
    """With every joint free and the feet planted, which the study left out: all constraints are met."""
    found = plan([Assignment(motion=hold.motion, target=hold.motion.skeleton)], constraints=[hold.constraint]).solve()
    assert not found.unmet
    assert held(found).worst < 1e-3
