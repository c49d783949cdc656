"""Matching actors: when angles are copied, when two bodies are mapped and aligned, and how that is chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import OptionError
from understudy.base.quaternion import angle_between, from_axis_angle, multiply, normalize
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, Pair, pair_same_names, same_structure
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.retarget.actor import MAX_REST_POSE_ANGLE_DEGREES, is_driven, match_actor, max_rest_pose_angle
from understudy.retarget.driver import retarget
from understudy.retarget.plan import Assignment, Options, plan

Z = np.array([0.0, 0.0, 1.0])
PLAIN = Options(plants="none", floor=False, limits=False)


def walk() -> Motion:
    return samples.motion("walk", seconds=1.0).motion


def lowered(body: Skeleton, degrees: float) -> Skeleton:
    """The same body with its left arm lowered in the rest pose."""
    rest, joint = body.rest.copy(), body.joint("LeftArm")
    rest[joint] = multiply(rest[joint], from_axis_angle(Z, -np.radians(degrees)))
    return replace(body, rest=rest)


def rebuilt(body: Skeleton, degrees: float) -> Skeleton:
    """The same joints with the left forearm at another angle."""
    offsets, joint = body.offsets.copy(), body.joint("LeftForeArm")
    turn = np.radians(degrees)
    x, y, z = offsets[joint]
    offsets[joint] = [np.cos(turn) * x + np.sin(turn) * y, np.cos(turn) * y - np.sin(turn) * x, z]
    return replace(body, offsets=offsets)


def test_a_target_of_the_same_build_takes_the_angles() -> None:
    motion = walk()
    part = match_actor(motion, motion.skeleton.scaled(0.7), name="small")
    assert part.alignment is None
    assert part.name == "small"
    result = retarget(motion, motion.skeleton.scaled(0.7), options=PLAIN)
    np.testing.assert_array_equal(result.motion.rotations, motion.rotations)


@pytest.mark.parametrize(
    ("degrees", "mapped"),
    [(0.9 * MAX_REST_POSE_ANGLE_DEGREES, False), (1.1 * MAX_REST_POSE_ANGLE_DEGREES, True), (80.0, True)],
)
def test_the_same_joints_in_another_rest_pose_are_aligned(degrees: float, mapped: bool) -> None:
    """Up to ten degrees are a difference of build; beyond, the same angles would be another pose."""
    motion = walk()
    part = match_actor(motion, rebuilt(motion.skeleton, degrees))
    assert (part.alignment is not None) == mapped
    if part.alignment is not None:
        whole = part.alignment.correspondence
        assert [pair.source for pair in whole.pairs] == [(name,) for name in motion.skeleton.names]
        assert {pair.reason for pair in whole.pairs} == {"the same joint"}


def test_arms_down_is_no_stumbling_block() -> None:
    """With another rest pose, copying the angles lifts the arm; alignment keeps it."""
    loose = replace(walk().skeleton, kinds=(), axes=np.empty((0, 3, 3)), limits=np.empty((0, 3, 2)))
    motion = replace(walk(), skeleton=loose)
    body = rebuilt(loose, 80.0)
    joints = [motion.skeleton.joint(name) for name in ("LeftArm", "LeftForeArm", "LeftHand")]
    result = retarget(motion, body, options=PLAIN).motion
    np.testing.assert_allclose(fk(result).positions[:, joints], fk(motion).positions[:, joints], atol=1e-9)
    copied = fk(replace(motion, skeleton=body)).positions[:, joints]
    assert np.abs(copied - fk(motion).positions[:, joints]).max() > 0.2


def test_asking_for_an_alignment_gets_one() -> None:
    motion = walk()
    body = motion.skeleton
    for options in ({"align_by": "direction"}, {"source_pose": body.rest}, {"target_pose": body.rest}):
        part = match_actor(motion, body, **options)
        assert part.alignment is not None
        assert not part.alignment.stance
    stood = match_actor(motion, body, align_by="stance").alignment
    assert stood is not None
    assert stood.stance
    with pytest.raises(OptionError, match="Expected an alignment, one of direction, stance; got `loose`"):
        match_actor(motion, body, align_by="loose")


def test_a_given_map_is_the_map() -> None:
    """A given map is used even for bodies of the same build, and even if it crosses left and right."""
    motion = walk()
    body = motion.skeleton
    pairs = [Pair(source=("Hips",), target=("Hips",)), Pair(source=("LeftArm",), target=("RightArm",))]
    whole = Correspondence(source=body, target=body, pairs=tuple(pairs))
    part = match_actor(motion, body, correspondence=whole)
    assert part.alignment is not None
    assert part.alignment.correspondence is whole
    result = retarget(motion, body, correspondence=whole, options=PLAIN).motion
    still, moved = body.joint("LeftArm"), body.joint("RightArm")
    assert angle_between(result.rotations[1:, still], result.rotations[:-1, still]).max() < 1e-9
    assert angle_between(result.rotations, result.rotations[:1])[:, moved].max() > 0.2


def test_one_of_another_build_is_mapped_by_itself() -> None:
    part = match_actor(walk(), samples.character("other"))
    assert part.alignment is not None
    assert not part.alignment.stance
    assert not is_driven(part)
    whole = part.alignment.correspondence
    for bone, partner in (("LeftUpLeg", "thigh_l"), ("RightForeArm", "lowerarm_r"), ("Hips", "pelvis")):
        pair = whole.pair_of("source", bone)
        assert pair is not None
        assert partner in pair.target


def test_one_without_limbs_is_driven() -> None:
    part = match_actor(walk(), samples.character("can"))
    assert is_driven(part)
    assert not is_driven(match_actor(walk(), walk().skeleton))


def test_nothing_in_common_is_refused_with_what_was_found() -> None:
    strange = Skeleton(
        names=("a", "b", "c"), parents=np.array([-1, 0, 0]), offsets=np.array([[0, 1, 0], [0, -1, 0], [0, -1, 0.5]])
    )
    with pytest.raises(CorrespondenceError, match="Nothing but the root corresponds") as caught:
        match_actor(walk(), strange)
    assert "understudy map SOURCE TARGET" in caught.value.hint


def test_reference_poses_are_passed_on() -> None:
    motion = walk()
    pose = motion.rotations[3]
    part = match_actor(motion, samples.character("other"), source_pose=pose)
    assert part.alignment is not None
    np.testing.assert_array_equal(part.alignment.source, pose)


def test_a_targets_own_motion_tells_how_it_stands() -> None:
    """A target with a random rest pose and a motion: the walk comes out upright."""
    motion = walk()
    rng = np.random.default_rng(9)
    march = samples.motion("march", seconds=1.0).motion
    heap = replace(march.skeleton, name="heap", rest=normalize(rng.normal(size=(march.skeleton.num_joints, 4))))
    heap = replace(heap, kinds=(), axes=np.empty((0, 3, 3)), limits=np.empty((0, 3, 2)))
    result = retarget(
        motion,
        heap,
        correspondence=pair_same_names(motion.skeleton, heap),
        target_motion=replace(march, skeleton=heap),
        options=PLAIN,
    ).motion
    names = ["LeftFoot", "RightFoot", "LeftHand", "RightHand", "Neck"]
    apart = fk(result).points(names) - fk(motion).points(names)
    assert np.linalg.norm(apart, axis=-1).max() < 0.12


def test_same_structure_is_names_and_tree() -> None:
    body = walk().skeleton
    assert same_structure(body, body.scaled(2.0))
    assert not same_structure(body, samples.character("other"))
    parents = body.parents.copy()
    parents[body.joint("Neck")] = body.joint("Spine")
    assert not same_structure(body, replace(body, parents=parents))


def test_rest_poses_are_compared_as_the_joints_above_see_them() -> None:
    body = walk().skeleton
    assert max_rest_pose_angle(body, body.scaled(0.5))[0] == pytest.approx(0.0, abs=1e-5)
    angle, joint = max_rest_pose_angle(body, rebuilt(body, 30.0))
    assert angle == pytest.approx(30.0, abs=1e-6)
    assert joint == "LeftForeArm"
    angle, joint = max_rest_pose_angle(body, lowered(body, 40.0))
    assert angle == pytest.approx(40.0, abs=1e-6)
    assert joint == "LeftForeArm"
    point = replace(body, offsets=np.zeros_like(body.offsets))
    assert max_rest_pose_angle(point, point) == (0.0, "")


def test_one_of_another_build_cannot_be_morphed_into_or_stand_in() -> None:
    part = match_actor(walk(), samples.character("other"))
    wrong = "Only a target of the same structure can be morphed into, or stand in unchanged"
    for change in ({"moves": False}, {"share": np.zeros(walk().num_frames)}):
        with pytest.raises(OptionError, match=wrong):
            plan([replace(part, **change)])


def test_several_of_different_build_are_one_plan() -> None:
    """Two dancers, one of another rig: their hands stay together."""
    scene = samples.motion("dance", seconds=2.0)
    lead, follow = scene.actors["lead"], scene.actors["follow"]
    parts = [
        match_actor(lead, samples.character("other"), name="lead"),
        Assignment(motion=follow, target=follow.skeleton, name="follow"),
    ]
    result = plan(parts, contacts=scene.contacts).solve()
    assert not result.unmet
    assert [m.skeleton.name for m in result.motions] == ["other", follow.skeleton.name]
    assert any(o.constraint.kind == "attach" for o in result.outcomes)
