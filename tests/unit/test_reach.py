"""Bodies sink where their straight legs do not reach what they stand on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import understudy
from understudy import samples
from understudy.base.quaternion import conjugate, from_axis_angle, multiply
from understudy.constraints.base import PointRef
from understudy.constraints.place import Place
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.reach import (
    MIN_BEND_SHARE,
    SINK_SECONDS,
    folded,
    limb_chain,
    lowered,
    missing_height,
    smooth_envelope,
    two_bones,
)


def leg(angle: float, bend: float = 0.0, num_frames: int = 1) -> np.ndarray:
    """(F, 3, 3) hip, knee and ankle of a leg of two bones of 0.4 m, from the vertical by an angle, its knee bent."""
    knee = 0.4 * np.array([0.0, -np.cos(angle - bend / 2), np.sin(angle - bend / 2)])
    ankle = knee + 0.4 * np.array([0.0, -np.cos(angle + bend / 2), np.sin(angle + bend / 2)])
    places = np.array([np.zeros(3), knee, ankle])
    places[:, 1] += 1.0
    return np.tile(places, (num_frames, 1, 1))


@pytest.mark.parametrize("angle", [0.0, 0.2, -0.5])
def test_a_straight_leg_lacks_what_it_cannot_reach(angle: float) -> None:
    """The ankle should be 1 cm lower: the hip has to come down until the leg, almost straight, reaches there."""
    places = leg(angle)
    missing = missing_height(places, np.array([[0.0, -0.01, 0.0]]))
    goal = places[0, 2] - [0.0, 0.01, 0.0]
    length = np.linalg.norm(places[0, 0] - [0.0, missing[0], 0.0] - goal)
    assert length == pytest.approx((1.0 - MIN_BEND_SHARE) * 0.8, abs=1e-12)
    assert missing[0] > 0.009


def test_a_bent_leg_lacks_nothing() -> None:
    assert missing_height(leg(0.1, bend=0.6), np.array([[0.0, -0.01, 0.0]])) == 0.0


def test_a_leg_far_from_vertical_and_one_much_too_short_are_left_alone() -> None:
    assert missing_height(leg(1.3), np.array([[0.0, -0.01, 0.0]])) == 0.0
    assert missing_height(leg(0.0), np.array([[0.0, -0.2, 0.0]])) == 0.0


def test_the_envelope_is_nowhere_below_and_has_no_corner() -> None:
    values = np.zeros(600)
    values[300:310] = 0.01
    envelope = smooth_envelope(values, 120.0, SINK_SECONDS)
    assert np.all(envelope >= values - 1e-15)
    assert envelope.max() == pytest.approx(0.01)
    # Twice the time before and after: nothing is left far away.
    assert envelope[: 300 - int(120 * SINK_SECONDS) - 1].max() == 0.0
    acceleration = np.abs(np.diff(envelope, 2)).max() * 120.0**2
    assert acceleration < 0.01 * (2.0 * np.pi / SINK_SECONDS) ** 2


NUM_FRAMES = 240


def on_hip_bones(skeleton: Skeleton) -> Skeleton:
    """A body whose thighs hang from bones that point aside, as those of the CMU collection do."""
    names, parents = list(skeleton.names), skeleton.parents.tolist()
    offsets, rest = list(skeleton.offsets), list(skeleton.rest)
    for side in ("Left", "Right"):
        thigh = names.index(f"{side}UpLeg")
        parents = [parent + (parent >= thigh) for parent in parents]
        parents[thigh : thigh + 1] = [parents[thigh], thigh]
        names.insert(thigh, f"{side}HipJoint")
        aside = offsets[thigh] * [1.0, 0.0, 1.0]
        offsets[thigh : thigh + 1] = [offsets[thigh] - aside, aside]
        rest.insert(thigh, np.array([1.0, 0.0, 0.0, 0.0]))
    tree = {"names": tuple(names), "parents": np.array(parents)}
    return Skeleton(**tree, offsets=np.array(offsets), rest=np.array(rest), ends=skeleton.ends)  # type: ignore[arg-type]


def test_a_bone_from_the_middle_of_the_hips_makes_a_leg_that_missed_no_longer() -> None:
    """Feet of straight legs are held 1 cm lower: with the bone counted, the legs seem long enough. The body sinks
    where the contacts were missed."""
    motion = rest_motion(on_hip_bones(adult()), num_frames=NUM_FRAMES, fps=60.0)
    feet = {name: fk(motion).points([name])[0, 0] - [0.0, 0.01, 0.0] for name in ("LeftFoot", "RightFoot")}
    places = tuple(Place(point=PointRef(point=name), target=place) for name, place in feet.items())
    problem = Problem(actors=(Actor(motion=motion),), constraints=places)
    assert lowered(problem, problem.bodies, (0, 1), -np.inf, np.inf)[0] is problem.bodies[0]
    (body,) = lowered(problem, problem.bodies, (0, 1), -np.inf, np.inf, missed=(0, 1))
    sunk = motion.root[:, 1] - body.motion.root[:, 1]
    assert sunk[NUM_FRAMES // 2] == pytest.approx(0.01, abs=1e-3)


def adult() -> Skeleton:
    return samples.character("adult")


def bones_of(skeleton: Skeleton, foot: str) -> tuple[int, int, int] | None:
    return two_bones(skeleton, limb_chain(skeleton, skeleton.index[foot]))


def standing(bend: float = 0.0) -> Motion:
    """The adult at rest, its left knee bent by an angle."""
    motion = rest_motion(adult(), num_frames=NUM_FRAMES, fps=60.0)
    rotations = motion.rotations.copy()
    rotations[:, adult().index["LeftLeg"]] = from_axis_angle([1.0, 0.0, 0.0], bend)
    return motion.derived(rotations=rotations)


def test_two_bones_are_those_that_a_limb_bends_between() -> None:
    names = adult().names
    bones = bones_of(adult(), "LeftToeBase")
    assert bones is not None
    assert [names[joint] for joint in bones] == ["LeftUpLeg", "LeftLeg", "LeftFoot"]
    # A hip with a joint of its own does not count as a bone of the leg.
    offsets = {"Hips": (0, 1, 0), "HipJoint": (0.02, 0, 0), "Thigh": (0.08, 0, 0), "Shin": (0, -0.4, 0),
               "Foot": (0, -0.4, 0)}  # fmt: skip
    chain = Skeleton(
        names=tuple(offsets), parents=np.arange(-1, 4), offsets=np.array(list(offsets.values()), float),
        ends=(Point(name="Toe", joint="Foot", offset=np.array([0.0, 0.0, 0.2])),),
    )  # fmt: skip
    assert two_bones(chain, [1, 2, 3, 4]) == (2, 3, 4)
    # Bones without length, as in damaged files, bend nowhere.
    assert two_bones(replace(chain, offsets=np.zeros((5, 3))), [1, 2, 3, 4]) is None


@pytest.mark.parametrize("bend", [0.0, 0.01, 0.5])
def test_a_folded_leg_lifts_its_foot_and_keeps_its_rotation(bend: float) -> None:
    motion, bones = standing(bend), bones_of(adult(), "LeftFoot")
    assert bones is not None
    rise = np.full(NUM_FRAMES, 0.02)
    before, after = fk(motion), fk(folded(motion, bones, rise))
    moved = after.positions - before.positions
    np.testing.assert_allclose(moved[:, bones[2]], np.tile([0.0, 0.02, 0.0], (NUM_FRAMES, 1)), atol=1e-9)
    turned = multiply(conjugate(before.rotations[:, bones[2]]), after.rotations[:, bones[2]])
    np.testing.assert_allclose(np.abs(turned[:, 0]), 1.0, atol=1e-9)
    # The knee comes forward, and nothing else moves.
    assert np.all(moved[:, bones[1], 2] > 0.005)
    np.testing.assert_array_equal(moved[:, ~adult().below(bones[0])], 0.0)


def test_a_leg_that_is_bent_backwards_does_not_jump_to_the_other_side() -> None:
    bones = bones_of(adult(), "LeftFoot")
    assert bones is not None
    knees = np.concatenate([np.linspace(-0.2, 0.2, 120), np.linspace(0.2, -0.2, 120)])
    rotations = standing().rotations.copy()
    rotations[:, bones[1]] = from_axis_angle(np.tile([1.0, 0.0, 0.0], (NUM_FRAMES, 1)), knees)
    motion = standing().derived(rotations=rotations)
    bent = 2.0 * np.arcsin(folded(motion, bones, np.full(NUM_FRAMES, 0.005)).rotations[:, bones[1], 1])
    assert bent[0] == pytest.approx(-0.2, abs=1e-3)
    assert bent.max() > 0.2
    # From one side to the other over several frames: as a jump it would be 0.3 radians.
    assert np.abs(np.diff(bent)).max() < 0.06


def test_the_knee_of_a_straight_leg_moves_smoothly_while_it_folds() -> None:
    """Where a captured leg is bent backwards by some degrees and straight for a moment, a tenth of a millimetre more or
    less bends the knee by two degrees: the knee once jumped by two centimetres from one frame to the next."""
    bones = bones_of(adult(), "LeftFoot")
    assert bones is not None
    knees = 0.08 - 0.16 * np.sin(np.linspace(0.0, np.pi, NUM_FRAMES)) ** 2
    rotations = standing().rotations.copy()
    rotations[:, bones[1]] = from_axis_angle(np.tile([1.0, 0.0, 0.0], (NUM_FRAMES, 1)), knees)
    motion = standing().derived(rotations=rotations)
    before, after = (fk(m).positions[:, bones[1]] for m in (motion, folded(motion, bones, np.full(NUM_FRAMES, 0.001))))
    assert np.linalg.norm(after - before, axis=-1).max() > 0.005
    assert np.linalg.norm(np.diff(after, 3, axis=0), axis=-1).max() < 0.001


def test_feet_of_straight_legs_stay_under_a_body_that_bobs(tmp_path: Path) -> None:
    """A captured leg is straight while the hips sway and bob by some millimetres, and takes the foot with it. On a
    giant the foot stands. Its leg once swung the foot 16 cm ahead instead of bending the knee."""
    motion = standing()
    root, times = motion.root.copy(), motion.times
    root[:, 0] += 0.02 * np.sin(2.0 * np.pi * 0.4 * times)
    root[:, 1] += 0.004 * np.sin(2.0 * np.pi * 1.7 * times + 3.0) + 0.002 * np.sin(2.0 * np.pi * 4.1 * times)
    file = tmp_path / "bobbing.bvh"
    understudy.write(motion.derived(root=root), file)
    result = understudy.retarget(file, "sample:giant").motion
    feet = [result.skeleton.index[name] for name in ("LeftFoot", "RightFoot")]
    assert np.ptp(fk(result).positions[:, feet, 2], axis=0).max() < 0.01
