"""Paths of head and shoulders on bodies of other proportions are as smooth as the source's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import Array, angle_between, conjugate, exp, multiply
from understudy.correspondence.alignment import PairTree, align
from understudy.correspondence.carry import anchors, find_chords, transfer_motion
from understudy.correspondence.pairs import Correspondence, Pair
from understudy.figure.contacts import Floor
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton

LEVEL = Floor(slope=np.zeros(2))
TRUNK = ("LowerBack", "Spine", "Spine1")


def namesakes(source: Skeleton, target: Skeleton) -> Correspondence:
    pairs = tuple(Pair(source=(name,), target=(name,)) for name in source.names)
    return Correspondence(source=source, target=target, pairs=pairs)


def carried(motion: Motion, target: Skeleton, ratio: float = 1.0) -> Motion:
    return transfer_motion(motion, align(namesakes(motion.skeleton, target)), floor=LEVEL, ratio=ratio)


def jitters(motion: Motion, degrees: float, seed: int) -> Motion:
    """The motion with noise in the lower back that the spine takes back: the shoulders hardly move."""
    body, pose = motion.skeleton, fk(motion)
    lower, upper, top = (body.joint(name) for name in TRUNK)
    noise = np.radians(degrees) * np.random.default_rng(seed).normal(size=(motion.num_frames, 3))
    world = pose.rotations.copy()
    # The two bones are rotated against each other, in proportion to their lengths.
    share = body.lengths[upper] / body.lengths[top]
    world[:, lower] = multiply(exp(noise), world[:, lower])
    world[:, upper] = multiply(exp(-share * noise), world[:, upper])
    rotations = motion.rotations.copy()
    for joint in range(1, body.num_joints):
        if joint in (lower, upper, top) or int(body.parents[joint]) in (lower, upper, top):
            rotations[:, joint] = multiply(conjugate(world[:, body.parents[joint]]), world[:, joint])
    return replace(motion, rotations=rotations)


def long_backed(body: Skeleton, **factors: float) -> Skeleton:
    offsets = body.offsets.copy()
    for name, factor in factors.items():
        offsets[body.joint(name)] *= factor
    return replace(body, offsets=offsets)


def jumps(path: Array) -> Array:
    return np.linalg.norm(np.diff(path, 2, axis=0), axis=-1)


@pytest.mark.parametrize("point", ["Head", "LeftArm", "RightHand"])
@pytest.mark.parametrize("seed", [0, 1])
def test_noise_that_the_source_takes_back_does_not_show(point: str, seed: int) -> None:
    """A body with a long lower back shakes no more than 1.25 times as much as the source, in legs."""
    motion = jitters(samples.motion("walk").motion, 3.0, seed)
    target = long_backed(motion.skeleton, Spine=1.8, Spine1=0.6)
    result = carried(motion, target)
    own, found = (jumps(fk(m)[point]) / leg_length(m.skeleton) for m in (motion, result))
    assert np.sqrt(np.mean(found**2)) < 1.25 * np.sqrt(np.mean(own**2))
    chest = fk(motion).rotations[:, motion.skeleton.joint("Spine1")]
    plain = multiply(chest, conjugate(chest[0]))
    turned = fk(result).rotations[:, target.joint("Spine1")]
    assert np.degrees(angle_between(multiply(turned, conjugate(turned[0])), plain)).max() < 15.0


def test_a_long_trunk_does_not_enlarge_fast_movement() -> None:
    """Noise of the whole trunk moves a head on a trunk twice as long by no more than the source's."""
    motion = samples.motion("walk").motion
    rotations = motion.rotations.copy()
    joint = motion.skeleton.joint("LowerBack")
    noise = np.radians(1.0) * np.random.default_rng(3).normal(size=(motion.num_frames, 3))
    rotations[:, joint] = multiply(exp(noise), rotations[:, joint])
    motion = replace(motion, rotations=rotations)
    target = long_backed(motion.skeleton, Spine=2.0, Spine1=2.0, Neck=2.0)
    own, found = (jumps(fk(m)["Head"]) for m in (motion, carried(motion, target)))
    assert np.sqrt(np.mean(found**2)) < 1.25 * np.sqrt(np.mean(own**2))


def test_the_same_body_moves_the_same() -> None:
    motion = jitters(samples.motion("march").motion, 2.0, 4)
    result = carried(motion, motion.skeleton)
    np.testing.assert_allclose(fk(result).positions, fk(motion).positions, atol=1e-9)


def test_posture_stays_that_of_the_bones() -> None:
    """A held bow is not a fast movement: every bone of the trunk turns as the source's."""
    motion = samples.motion("walk").motion[:40]
    bow = multiply(exp(np.array([0.6, 0.0, 0.0])), motion.skeleton.rest)
    still = replace(motion, rotations=np.repeat(bow[None], 40, axis=0), root=np.repeat(motion.root[:1], 40, axis=0))
    target = long_backed(motion.skeleton, Spine=1.8)
    result = carried(still, target)
    for name in TRUNK:
        joint = target.joint(name)
        assert angle_between(fk(result).rotations[:, joint], fk(still).rotations[:, joint]).max() < 1e-7


def test_chords_lead_over_trunk_neck_and_collars() -> None:
    adult = samples.character("adult")
    whole = namesakes(adult, adult)
    aligned = align(whole)
    tree = PairTree(correspondence=whole, source=aligned.source, target=aligned.target, upright=True)
    found = [(tuple(p.target[0] for p in c.pairs), [adult.names[j] for j in c.end[1]]) for c in
             find_chords(tree, anchors(whole))]  # fmt: skip
    assert found[0][0] == TRUNK
    assert (("LeftShoulder",), ["LeftArm"]) in found
    assert (("RightShoulder",), ["RightArm"]) in found
    assert any(end == ["Head"] for _, end in found)


def test_the_frame_rate_does_not_matter() -> None:
    motion = samples.motion("walk").motion
    target = long_backed(motion.skeleton, Spine=1.6)
    fast = motion.resampled(2.0 * motion.fps)
    plain, other = fk(carried(motion, target))["Head"], fk(carried(fast, target))["Head"][::2]
    count = min(len(plain), len(other))
    np.testing.assert_allclose(other[:count], plain[:count], atol=2e-3)
