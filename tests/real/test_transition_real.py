"""Transitions of captured motion: a man's walk into a real dog's and back, and one man's walk into his run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy.base.quaternion import angle_between, from_axis_angle, multiply, rotate
from understudy.correspondence.pairs import Correspondence, Pair
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.io import read
from understudy.transition import Transition, transition

LIMBS = (
    ("UpLeg", "LegUpper"), ("Leg", "Leg"), ("Foot", "Leg1"), ("ToeBase", "Ankle"),
    ("Shoulder", "Clav"), ("Arm", "Arm"), ("ForeArm", "ForeArm"), ("Hand", "Hand"),
)  # fmt: skip


def motion_of(path: Path) -> Motion:
    found = read(path).motion
    assert found is not None
    return found


def man(data: Path, name: str) -> Motion:
    """A CMU clip without the reference pose that is its first frame."""
    return motion_of(data / "cmu_bvh" / f"{name}.bvh")[1:]


def man_to_dog(human: Motion, dog: Motion) -> Correspondence:
    spine = tuple(f"b_Spine{k}" for k in ("", "1", "2", "3"))
    pairs = [
        Pair(source=("Hips",), target=("b_Hips",)),
        Pair(source=("LowerBack", "Spine", "Spine1"), target=spine),
        Pair(source=("Neck", "Neck1"), target=("b__Neck", "b__Neck1", "b__Neck2")),
        Pair(source=("Head",), target=("b_Head",)),
    ]
    for side in ("Left", "Right"):
        pairs += [Pair(source=(side + a,), target=(f"b_{side}{b}",)) for a, b in LIMBS]
    return Correspondence(source=human.skeleton, target=dog.skeleton, pairs=tuple(pairs))


Case = tuple[Motion, Motion, Transition]


@pytest.fixture(scope="module", params=["02_01 into dog", "dog into 02_01", "16_15 into dog", "dog into 16_15"])
def case(request: pytest.FixtureRequest, data: Path) -> Case:
    words = request.param.split(" into ")
    human = man(data, words[0] if words[1] == "dog" else words[1])
    dog = motion_of(data / "animals" / "dog_walk_30fps.bvh")
    whole = man_to_dog(human, dog)
    if words[0] == "dog":
        return dog, human, transition(dog, human, correspondence=whole.reversed())
    return human, dog, transition(human, dog, correspondence=whole)


def test_the_ends_are_the_two_motions(case: Case) -> None:
    first, second, found = case
    second = second.resampled(first.fps)
    assert found.meta is not None
    pose = fk(found.motion)
    numbers = [found.meta.number("source", joint) for joint in range(first.skeleton.num_joints)]
    before = slice(0, found.start + 1)
    assert np.abs(pose.positions[before][:, numbers] - fk(first).positions[before]).max() < 1e-9
    placed = moved(second, found)[found.entry :]
    numbers = [found.meta.number("target", joint) for joint in range(second.skeleton.num_joints)]
    assert np.abs(pose.positions[found.end :][:, numbers] - fk(placed).positions).max() < 1e-9


def moved(motion: Motion, found: Transition) -> Motion:
    turn = from_axis_angle(np.array([0.0, 1.0, 0.0]), np.array(found.turn))
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    return replace(motion, root=rotate(turn, motion.root) + found.shift, rotations=rotations)


def test_plants_hold_and_bones_grow_one_way(case: Case) -> None:
    *_, found = case
    assert len(found.plants) >= 3
    pose = fk(found.motion)
    for plant in found.plants:
        path = pose.points([plant.point])[:, 0]
        there = path[found.start] if plant.at_start else path[found.end] if plant.at_end else path[plant.first]
        assert np.abs((path[plant.first : plant.last + 1] - there)[:, [0, 2]]).max() < 2e-3, plant.name
    assert found.contact_error < 2e-3
    assert found.relapse < 1e-9


def test_no_joint_jumps(case: Case) -> None:
    *_, found = case
    assert found.steps.over(found.allowed) <= 1.0


def test_shared_joints_do_not_jump_against_the_motions_near_the_blend(case: Case) -> None:
    """The dog's clip ends in a run, and markers of its rig leap: the joints that both bodies have, and the two seconds
    on either side of the blend, are the stricter measure."""
    first, second, found = case
    assert found.meta is not None
    second = second.resampled(first.fps)
    shared = np.flatnonzero((found.meta.joints >= 0).all(axis=1))
    fps = round(first.fps)
    near = (
        (found.meta.from_source(first[max(found.start - 2 * fps, 0) : found.start + 2 * fps]), first.skeleton),
        (found.meta.from_target(second[max(found.entry - 2 * fps, 0) : found.entry + 2 * fps]), second.skeleton),
    )
    largest = max(leg_length(body) for _, body in near)
    blended = found.motion[max(found.start - 2, 0) : found.end + 3]
    for order in (1, 2):
        own = max(step(motion, shared, order) / leg_length(body) for motion, body in near)
        assert step(blended, shared, order) / largest <= own
    turned = max(float(turn(motion, shared)) for motion, _ in near)
    assert turn(blended, shared) <= turned


def step(motion: Motion, joints: np.ndarray, order: int) -> float:
    places = fk(motion).positions[:, joints]
    return float(np.linalg.norm(np.diff(places, order, axis=0), axis=-1).max())


def turn(motion: Motion, joints: np.ndarray) -> float:
    turned = motion.rotations[:, joints]
    return float(angle_between(turned[1:], turned[:-1]).max())


def test_the_trunk_turns_from_upright_to_level(case: Case) -> None:
    first, _, found = case
    assert found.meta is not None
    names = found.meta.skeleton.names
    hips, neck = ("Hips", "Neck") if "Hips" in names else ("b_Hips", "b__Neck")
    pose = fk(found.motion[found.start : found.end + 1])
    line = (pose.points([neck]) - pose.points([hips]))[:, 0]
    pitch = np.degrees(np.arcsin(line[:, 1] / np.linalg.norm(line, axis=-1)))
    way = -1.0 if "Hips" in first.skeleton.names else 1.0
    assert way * (pitch[-1] - pitch[0]) > 60.0
    assert (np.maximum.accumulate(way * pitch) - way * pitch).max() < 8.0


def test_a_walk_into_a_run_of_one_man(data: Path) -> None:
    walk, run = man(data, "02_01"), man(data, "02_03")
    found = transition(walk, run)
    assert found.meta is None
    assert found.motion.offsets is None
    assert found.motion.skeleton is walk.skeleton
    assert np.array_equal(found.motion.rotations[: found.start + 1], walk.rotations[: found.start + 1])
    rest = moved(run, found)[found.entry :]
    assert np.abs(fk(found.motion[found.end :]).positions - fk(rest).positions).max() < 1e-9
    assert found.steps.over(found.allowed) <= 1.0
    assert found.contact_error < 2e-3
    speed = np.linalg.norm(np.diff(found.motion.root[:, [0, 2]], axis=0), axis=-1) * found.motion.fps
    slow, fast = np.median(speed[: found.start]), np.median(speed[found.end :])
    assert fast > 1.5 * slow
    assert speed[found.start : found.end].min() > 0.8 * slow


def test_maps_are_suggested_for_a_man_and_a_dog(data: Path) -> None:
    human, dog = man(data, "02_01"), motion_of(data / "animals" / "dog_walk_30fps.bvh")
    found = transition(human, dog)
    assert found.meta is not None
    assert found.meta.num_shared >= 15
    assert found.contact_error < 2e-3
    assert found.steps.over(found.allowed) <= 1.0
    assert found.relapse < 1e-9
