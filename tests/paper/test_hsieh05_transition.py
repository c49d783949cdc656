"""Hsieh, Chen and Ouhyoung, "Motion Retargetting and Transition in Different Articulated Figures" (2005), section 4.

The paper shows pictures. Here its claims are measured on transitions from a human's walk into a dog's, and back.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import Array, angle_between, from_axis_angle, multiply, rotate
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, Pair
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.transition import Transition, transition
from understudy.transition.meta_skeleton import MetaSkeleton, meta_skeleton, standing_alignment

LIMBS = (
    ("UpLeg", "Thigh"), ("Leg", "Shin"), ("Foot", "Metatarsus"), ("ToeBase", "HindPaw"),
    ("Shoulder", "Scapula"), ("Arm", "UpperArm"), ("ForeArm", "Forearm"), ("Hand", "Metacarpus"),
)  # fmt: skip


def human_to_dog() -> Correspondence:
    """The correspondence that figure 4 draws, on the sample human and dog; the dog's tail, jaw and paws have none."""
    pairs = [
        Pair(source=("Hips",), target=("Hips",)),
        Pair(source=("LowerBack", "Spine", "Spine1"), target=("Spine", "Spine1", "Spine2", "Chest")),
        Pair(source=("Neck",), target=("Neck", "Neck1")),
        Pair(source=("Head",), target=("Head",)),
    ]
    for side in ("Left", "Right"):
        pairs += [Pair(source=(side + a,), target=(side + b,)) for a, b in LIMBS]
    human, dog = (samples.motion(name).motion.skeleton for name in ("walk", "dog_walk"))
    return Correspondence(source=human, target=dog, pairs=tuple(pairs))


Case = tuple[Motion, Motion, Transition]


@pytest.fixture(scope="module", params=["human into dog", "dog into human"])
def case(request: pytest.FixtureRequest) -> Case:
    first, second = samples.motion("walk").motion, samples.motion("dog_walk").motion
    whole = human_to_dog()
    if request.param == "dog into human":
        first, second, whole = second, first, whole.reversed()
    return first, second, transition(first, second, correspondence=whole)


def meta_of(found: Transition) -> MetaSkeleton:
    assert found.meta is not None
    return found.meta


def test_the_meta_skeleton_contains_both_skeletons() -> None:
    """Section 4.1, figure 6: every bone of both, the corresponding ones once."""
    whole = human_to_dog()
    first, second = samples.motion("walk").motion, samples.motion("dog_walk").motion
    meta = meta_skeleton(whole, standing_alignment(whole, first, second))
    joints = int(np.all(meta.ends < 0, axis=1).sum())
    assert joints == whole.source.num_joints + whole.target.num_joints - meta.num_shared
    for motion, moved, side in (
        (first, meta.from_source(first), "source"),
        (second, meta.from_target(second), "target"),
    ):
        numbers = [meta.number(side, joint) for joint in range(motion.skeleton.num_joints)]
        assert np.abs(fk(moved).positions[:, numbers] - fk(motion).positions).max() < 1e-9


def test_a_correspondence_that_is_ambiguous_is_prevented() -> None:
    """Section 4.1: "we have to prevent users from assigning ambiguous bone correspondence"."""
    human, shark = samples.motion("walk").motion, samples.motion("swim").motion
    root, fin = shark.skeleton.names[0], shark.skeleton.names[-1]
    pairs = (Pair(source=("Hips",), target=(root,)), Pair(source=("LeftUpLeg", "RightUpLeg"), target=(fin,)))
    with pytest.raises(CorrespondenceError, match="ambiguous"):
        transition(
            human, shark, correspondence=Correspondence(source=human.skeleton, target=shark.skeleton, pairs=pairs)
        )


def test_the_ends_are_the_two_motions(case: Case) -> None:
    """Section 4: the transition concatenates the motions; outside it they are themselves, each body's parts exact."""
    first, second, found = case
    meta, pose = meta_of(found), fk(found.motion)
    numbers = [meta.number("source", joint) for joint in range(first.skeleton.num_joints)]
    before = slice(0, found.start + 1)
    assert np.abs(pose.positions[before][:, numbers] - fk(first).positions[before]).max() < 1e-9
    turn = from_axis_angle(np.array([0.0, 1.0, 0.0]), np.array(found.turn))
    rotations = second.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    placed = replace(second, root=rotate(turn, second.root) + found.shift, rotations=rotations)[found.entry :]
    numbers = [meta.number("target", joint) for joint in range(second.skeleton.num_joints)]
    assert np.abs(pose.positions[found.end :][:, numbers] - fk(placed).positions).max() < 1e-9
    ends = [meta.point("target", end) for end in second.skeleton.ends]
    assert np.abs(fk(found.motion[found.end :]).points(ends) - fk(placed).ends()).max() < 1e-9


def test_the_transition_is_seamless(case: Case) -> None:
    """Abstract: "a seamless transition sequence". No joint turns or moves further from frame to frame, nor changes its
    step more suddenly, than in the two motions, both taken as done by the larger body."""
    first, second, found = case
    meta = meta_of(found)
    inputs = (meta.from_source(first), first.skeleton), (meta.from_target(second), second.skeleton)
    largest = max(leg_length(first.skeleton), leg_length(second.skeleton))
    frames = slice(found.start - 2, found.end + 3)
    for measure in (turns, turn_changes, moves, move_changes):
        scaled = measure in (moves, move_changes)
        own = max(measure(motion) / (leg_length(body) if scaled else 1.0) for motion, body in inputs)
        assert measure(found.motion[frames]) / (largest if scaled else 1.0) <= own, measure.__name__


def turns(motion: Motion) -> float:
    return float(angle_between(motion.rotations[1:], motion.rotations[:-1]).max())


def turn_changes(motion: Motion) -> float:
    """How much the angle of the step differs from the one before, whichever way it turns."""
    steps = angle_between(motion.rotations[1:], motion.rotations[:-1])
    return float(np.abs(np.diff(steps, axis=0)).max())


def moves(motion: Motion) -> float:
    return float(np.linalg.norm(np.diff(fk(motion).positions, axis=0), axis=-1).max())


def move_changes(motion: Motion) -> float:
    return float(np.linalg.norm(np.diff(fk(motion).positions, 2, axis=0), axis=-1).max())


def test_bone_lengths_are_blended_one_way(case: Case) -> None:
    """Section 6: "we can blend corresponding frames and bone length to produce a skeleton morphing result"."""
    first, second, found = case
    meta = meta_of(found)
    lengths = found.lengths[:, 1:]
    assert found.relapse < 1e-9
    for row, body, column in ((lengths[0], first.skeleton, 0), (lengths[-1], second.skeleton, 1)):
        lacking = (meta.joints[1:, column] < 0) & (meta.ends[1:, column] < 0)
        assert lacking.sum() > 5
        assert row[lacking].max() < 1e-9
        assert row.sum() == pytest.approx(
            body.lengths.sum() + sum(np.linalg.norm(end.offset) for end in body.ends), rel=1e-9
        )


def test_what_stands_stays_where_it_stands(case: Case) -> None:
    """Section 6 leaves "spacetime constraints ... to correct the path" as future work: here plants hold to 2 mm."""
    *_, found = case
    assert len(found.plants) >= 5
    assert any(plant.at_start for plant in found.plants)
    assert any(plant.at_end for plant in found.plants)
    pose = fk(found.motion)
    for plant in found.plants:
        path = pose.points([plant.point])[:, 0]
        there = path[found.start] if plant.at_start else path[found.end] if plant.at_end else path[plant.first]
        assert np.abs((path[plant.first : plant.last + 1] - there)[:, [0, 2]]).max() < 2e-3, plant.name
    assert found.contact_error < 2e-3


def test_the_feet_never_sink(case: Case) -> None:
    """Both samples stand on a floor at zero; every end that either stands on stays above it."""
    first, second, found = case
    meta = meta_of(found)
    soles = [meta.point("source", end) for end in first.skeleton.ends if sole(end.name)]
    soles += [meta.point("target", end) for end in second.skeleton.ends if sole(end.name)]
    heights = fk(found.motion[found.start : found.end + 1]).points(soles)[..., 1]
    assert heights.min() > -0.02


def sole(name: str) -> bool:
    return any(word in name for word in ("Heel", "Toe", "Pad"))


def trunk_pitch(found: Transition, side: str) -> Array:
    """(N,) degrees by which the line from the hips to the neck rises above the level, over the blend."""
    meta, pose = meta_of(found), fk(found.motion[found.start : found.end + 1])
    line = pose.points(["Neck"])[:, 0] - pose.positions[:, meta.number(side, 0)]
    return np.degrees(np.arcsin(line[:, 1] / np.linalg.norm(line, axis=-1)))


def test_the_trunk_goes_down_or_up_without_turning_back(case: Case) -> None:
    """Figure 9: from upright to level in one move: never more than a few degrees back, the sway of walking."""
    first, _, found = case
    pitch = trunk_pitch(found, "source")
    down = first.skeleton.name == "adult"
    assert pitch[0 if down else -1] > 75.0
    assert abs(pitch[-1 if down else 0]) < 20.0
    way = -1.0 if down else 1.0
    back = np.maximum.accumulate(way * pitch) - way * pitch
    assert back.max() < 5.0


def test_the_forelegs_are_arms_before_and_stand_after(case: Case) -> None:
    """Figure 9: hands come down to the floor where the dog begins, and leave it where it ends."""
    first, second, found = case
    meta = meta_of(found)
    side, body = ("target", second.skeleton) if first.skeleton.name == "adult" else ("source", first.skeleton)
    toes = [meta.point(side, body.point(f"{which}ForeToe")) for which in ("Left", "Right")]
    heights = fk(found.motion).points(toes)[..., 1]
    human = slice(0, found.start) if side == "target" else slice(found.end, None)
    dog = slice(found.end, None) if side == "target" else slice(0, found.start)
    assert heights[human].min() > 0.5
    assert np.all(heights[dog].min(axis=0) < 0.01)


def test_facing_and_travel_go_on(case: Case) -> None:
    """The joined path has no turn or stop that neither motion has: both walk straight along z."""
    *_, found = case
    steps = np.diff(found.motion.root, axis=0)[:, 2] * found.motion.fps
    assert steps[found.start : found.end].min() > 0.3
    assert np.abs(np.diff(found.motion.root[:, 0])).max() < 0.03
