"""Analogies on captured motion: CMU walks, a march and a sneak, and a real dog's walk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from papers.analogies_captured import ANKLES, TAILS, human
from papers.analogies_captured import dog as captured_dog
from papers.analogies_variety import performed

from understudy import samples
from understudy.analogy.make import analogy
from understudy.analogy.preparation import Settings
from understudy.analogy.result import Analogy
from understudy.analogy.study import make_study, period, spread_markers
from understudy.base.quaternion import angle_between
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing, leg_length
from understudy.figure.motion import Motion


@pytest.fixture(scope="module")
def dog(data: Path) -> Motion:
    return captured_dog(data)


@pytest.fixture(scope="module")
def walk(data: Path) -> Motion:
    return human(data, "02_01")


def goes_well(result: Analogy, *, correlation: float) -> None:
    found = result.measures
    assert found["correlation"] > correlation
    assert found["period_result"] == pytest.approx(found["period_source"], rel=0.05)
    assert found["contacts"]["count"] > 8
    assert found["contacts"]["after"] < 1e-3
    assert result.attempt.outcome.seconds < 10.0
    # It goes the source's way, scaled, and faces as the source does.
    gone = result.motion.root[-1] - result.motion.root[0]
    wanted = result.new.motion.root[-1] - result.new.motion.root[0]
    level = np.array([1.0, 0.0, 1.0])
    assert gone * level @ (wanted * level) > 0.95 * np.linalg.norm(gone * level) * np.linalg.norm(wanted * level)
    along = np.sum(facing(result.motion) * facing(result.new.motion), axis=-1)
    assert along.mean() > 0.8


def stands_on_the_ground(result: Analogy) -> None:
    """The capture's ground is at 0; its flipping ankles put the middle of its contacts at 10 cm."""
    body = result.motion.skeleton
    lowest = fk(result.motion).points([*body.names, *body.ends])[..., 1].min(axis=1)
    assert abs(float(np.median(lowest))) < 0.03


def test_the_dogs_walk_is_found_under_its_drift(dog: Motion) -> None:
    """Its body turns slowly this way and that as it walks; the first component is the step all the same."""
    markers = [m for m in spread_markers(dog.skeleton) if "Tail" not in m.joint]
    found = make_study(dog, markers, what="the dog's walk")
    assert period(found.marker.course[:, 0], dog.fps) == pytest.approx(0.53, abs=0.04)


def test_dog_march(data: Path, walk: Motion, dog: Motion) -> None:
    result = analogy(walk, dog, human(data, "138_01", 139), settings=Settings(without=(*TAILS, *ANKLES)))
    goes_well(result, correlation=0.85)
    assert result.attempt.coverage > 0.9
    assert result.measures["lift"] > 2.0 * result.measures["lift_example"]
    partners = result.stepping.partners
    assert partners["b_LeftToe"] != partners["b_RightToe"]
    stands_on_the_ground(result)
    assert not result.warnings


def test_dog_sneak_from_a_standing_start(data: Path, walk: Motion, dog: Motion) -> None:
    """The man sneaks straight ahead. Only while he hardly moves his path points elsewhere, by sixty degrees."""
    new = human(data, "120_08", 99)
    result = analogy(walk, dog, new, settings=Settings(without=TAILS))
    goes_well(result, correlation=0.8)
    assert np.degrees(np.ptp(result.new.course.heading)) < 10.0
    assert result.measures["period_result"] > 2.0
    # A mark between the footsteps hangs on the root of this rig: it is no part of the body that could be in the floor.
    assert result.quality.sunk < 0.06
    assert len(result.stepping.pairs) == 4


def test_spider_and_sample_dog_march_after_a_captured_human(data: Path) -> None:
    walk, new = human(data, "16_15"), human(data, "138_01", 139)
    for name in ("dog_walk", "spider_walk"):
        example = samples.motion(name, fps=30.0, seconds=3.9).motion
        result = analogy(walk, example, new, settings=Settings(without=ANKLES))
        goes_well(result, correlation=0.9)
        assert result.measures["lift"] > 1.3 * result.measures["lift_example"]
        stands_on_the_ground(result)


def test_a_capture_that_flips_is_left_out_and_named(data: Path) -> None:
    walk, new = human(data, "16_15"), human(data, "138_01", 139)
    example = samples.motion("dog_walk", fps=30.0, seconds=3.9).motion
    settings = Settings(clean=False, retries=False)
    loose = analogy(walk, example, new, settings=settings)
    assert any("`LeftFoot`, `RightFoot` flips" in s and "left out" in s for s in loose.notes)
    assert not any("flips" in s for s in loose.warnings)
    held = analogy(walk, example, new, settings=replace(settings, without=ANKLES))
    # Left out by name it is the same.
    assert np.abs(loose.raw.rotations - held.raw.rotations).max() < 1e-9
    assert not any("flips" in s for s in held.notes)
    # What is left is what markers alone do: fore paws that fly.
    assert held.score < 0.5
    assert held.attempt.fidelity > 0.85


def test_one_human_learns_anothers_march(data: Path) -> None:
    """Three captured people of one skeleton and different builds: two walk, the third marches for one of them."""
    a, b, new = human(data, "02_01"), human(data, "16_15")[:86], human(data, "138_01", 139)
    result = analogy(a, b, new, settings=Settings(without=ANKLES))
    succeeded = result.measures
    assert succeeded["correlation"] > 0.95
    stands_on_the_ground(result)
    assert succeeded["period_result"] == pytest.approx(succeeded["period_source"], rel=0.02)
    assert succeeded["contacts"]["after"] < 1e-3
    assert succeeded["lift"] > 2.0 * succeeded["lift_example"]
    wanted = result.new.course.off(new).rotations
    body = new.skeleton
    legs = [body.joint(f"{side}{part}") for side in ("Left", "Right") for part in ("UpLeg", "Leg")]
    assert result.b is not None
    off = [
        np.degrees(angle_between(each, wanted))[:, legs].mean()
        for each in (result.level.rotations, result.b.chart.base)
    ]
    assert off[0] < 0.75 * off[1]
    assert result.stepping.partners == {"LeftFoot_heel": "LeftFoot_heel", "RightFoot_heel": "RightFoot_heel"}


def test_the_paws_of_a_rig_for_inverse_kinematics_march_with_the_legs(data: Path, walk: Motion) -> None:
    """Paws that hang from the ground, apart from the legs, stayed where they were, and the score fell for it."""
    example = performed(data, data, "animals/quaternius_Husky.glb#AnimalArmature|Walk")
    result = analogy(walk, example, human(data, "138_01", 139), settings=Settings(any_length=True))
    pose, leg = fk(result.motion), leg_length(result.planted.skeleton)
    for limb in ("Front", "Back"):
        for side in ("L", "R"):
            gap = pose.points([f"{limb}LowerLeg.{side}_end"])[:, 0] - pose.points([f"IK{limb}Leg.{side}"])[:, 0]
            assert np.linalg.norm(gap, axis=-1).max() < 0.01 * leg
    assert all(0.6 < ratio < 1.6 for ratio in result.quality.lifts.values())
    assert result.quality.sunk < 0.02
    assert result.quality.above_hips < 0.0
    assert result.measures["contacts"]["after"] < 1e-3
    assert result.score > 0.5
