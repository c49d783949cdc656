"""Constraints that are eased in and out: the way there and back is smooth, and as long as asked for."""

from __future__ import annotations

import numpy as np
import pytest

import understudy
from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.constraints.attach import Attach
from understudy.constraints.base import Constraint
from understudy.constraints.distance import Distance
from understudy.constraints.place import Place
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.retarget.ease import easing_constraints, is_easing, smooth_step

FPS = 30.0


def hand(motion: Motion) -> Array:
    return fk(motion).points(["RightHand"])[:, 0]


@pytest.fixture(scope="module")
def plain() -> Motion:
    return understudy.retarget("sample:walk", "sample:child").motion


def held(plain: Motion, **fields: float) -> Constraint:
    target = hand(plain)[round(2.2 * FPS)] + [-0.05, 0.25, 0.1]
    return Place(point="RightHand", target=target, start=2.0, end=2.4, **fields)  # type: ignore[arg-type]


def test_a_longer_ease_moves_more_slowly(plain: Motion) -> None:
    times = np.arange(plain.num_frames) / FPS
    inside = (times >= 2.0) & (times <= 2.4)
    speeds, moves = [], []
    for ease in (0.0, 0.7):
        constraint = held(plain, ease_in=ease, ease_out=ease)
        made = understudy.retarget("sample:walk", "sample:child", constraints=[constraint]).motion
        move = hand(made) - hand(plain)
        moves.append(move[inside])
        speeds.append(float(np.linalg.norm(np.diff(move, axis=0), axis=-1)[~inside[1:]].max() * FPS))
    assert np.allclose(*moves, atol=2e-3)
    assert speeds[1] < 0.75 * speeds[0]


def test_the_way_is_that_of_a_smooth_step(plain: Motion) -> None:
    constraint = held(plain, ease_in=0.6)
    (easing,) = easing_constraints([constraint], {"": plain})
    assert is_easing(easing)
    assert easing.soft
    made = understudy.retarget("sample:walk", "sample:child", constraints=[constraint]).motion
    frames = np.flatnonzero((np.arange(plain.num_frames) / FPS > 1.41) & (np.arange(plain.num_frames) / FPS < 1.99))
    share = smooth_step((frames / FPS - 1.4) / 0.6)
    offset = np.asarray(constraint.target) - hand(plain)[round(2.0 * FPS)]  # type: ignore[attr-defined]
    wanted = hand(plain)[frames] + share[:, None] * offset
    assert np.linalg.norm(hand(made)[frames] - wanted, axis=-1).max() < 0.03


def test_a_pinned_prop_can_be_eased_along_its_path(plain: Motion) -> None:
    path = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    pin = Attach(point="RightHand", path=path, times=np.array([0.0, 4.0]), start=2.0, end=3.0, ease_in=0.5)
    (easing,) = easing_constraints([pin], {"": plain})
    frame = round(1.9 * FPS)
    share = float(smooth_step(np.array(0.8)))
    offset = np.array([0.5, 1.0, 0.0]) - hand(plain)[round(2.0 * FPS)]
    eased = easing.path[np.searchsorted(easing.times, 1.9 - 1e-6)]  # type: ignore[attr-defined]
    assert np.allclose(eased, hand(plain)[frame] + share * offset, atol=1e-6)


def test_what_has_no_place_cannot_be_eased(plain: Motion) -> None:
    apart = Distance(first="RightHand", second="LeftHand", length=0.3, start=1.0, end=2.0, ease_in=0.2)
    with pytest.raises(OptionError, match="cannot be eased"):
        easing_constraints([apart], {"": plain})
    with pytest.raises(OptionError, match="`ease_out` of zero or more"):
        Place(point="RightHand", target=np.zeros(3), ease_out=-0.1).check_times()
