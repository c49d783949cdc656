"""Chains of hinges that act together like one joint."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.base.quaternion import Array, angle_between, exp, from_axis_angle, identity, multiply, rotate
from understudy.correspondence.hinge import hinge_groups, turn_hinges
from understudy.correspondence.pairs import Correspondence, Pair
from understudy.figure.skeleton import JointKind, Skeleton

X, Y, Z = np.eye(3)
FRAMES = 90


def chain(axes: list[Array], limits: list[tuple[float, float]], rest: Array | None = None) -> Skeleton:
    """A free root and a chain of hinges below it."""
    count = len(axes) + 1
    rows, ranges = np.zeros((count, 3, 3)), np.tile([-np.inf, np.inf], (count, 3, 1))
    rows[0], rows[1:, 0], ranges[1:, 0] = np.eye(3), axes, limits
    return Skeleton(
        names=("root", *(f"left_hip_{k}" for k in range(count - 1))),
        parents=np.arange(-1, count - 1),
        offsets=np.tile([0.0, -0.1, 0.0], (count, 1)),
        rest=identity(count) if rest is None else rest,
        kinds=(JointKind.FREE,) + (JointKind.HINGE,) * (count - 1),
        axes=rows,
        limits=ranges,
    )


def product(local: Array) -> Array:
    out = local[:, 0]
    for k in range(1, local.shape[1]):
        out = multiply(out, local[:, k])
    return out


def swaying(size: float, seed: int) -> Array:
    """(F, 4) a smooth rotation forth and back about one axis."""
    axis = np.random.default_rng(seed).normal(size=3)
    return exp(np.outer(np.sin(np.linspace(0, 6, FRAMES)), size * axis / np.linalg.norm(axis)))


def best_of_a_grid(skeleton: Skeleton, goals: Array, count: int) -> Array:
    """(F,) radians between the goals and the nearest of many angles within the limits."""
    axes, limits = skeleton.axes[1:, 0], skeleton.limits[1:, 0]
    sides = [np.linspace(low, high, count) for low, high in limits]
    angles = np.stack(np.meshgrid(*sides, indexing="ij"), -1).reshape(-1, len(axes))
    turned = identity(len(angles))
    for k, axis in enumerate(axes):
        turned = multiply(multiply(turned, skeleton.rest[k + 1]), from_axis_angle(axis, angles[:, k]))
    return 2.0 * np.arccos(np.clip(np.abs(goals @ turned.T).max(axis=1), 0.0, 1.0))


WIDE = [(-3.0, 3.0)] * 3
ORDERS = {
    "pitch roll yaw": [Y, X, Z],
    "yaw roll pitch": [Z, X, Y],
    "first again": [X, Y, X],
    "left-handed": [-X, Z, -Y],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", range(3))
def test_three_hinges_turn_any_way(order: str, seed: int) -> None:
    skeleton = chain(ORDERS[order], WIDE)
    # The rotation axis is tilted a little: at a zero middle angle, X Y X is in gimbal lock.
    goals = multiply(from_axis_angle(ORDERS[order][1], 0.8), swaying(0.7, seed))
    rotations = turn_hinges(skeleton, (1, 2, 3), goals)
    assert angle_between(product(rotations), goals).max() < 1e-12


def test_rest_rotations_between_the_hinges_count() -> None:
    rest = np.concatenate([identity(1), exp(np.array([[0.0, -0.2, 0.0], [0.0, 0.17, 0.0], [0.0, 0.0, 0.3]]))])
    skeleton = chain([Y, X, Z], WIDE, rest)
    goals = multiply(product(rest[None, 1:]), swaying(0.9, 1))
    rotations = turn_hinges(skeleton, (1, 2, 3), goals)
    assert angle_between(product(rotations), goals).max() < 1e-12
    for joint, axis in ((1, Y), (2, X), (3, Z)):
        turned = multiply(np.array([1.0, -1.0, -1.0, -1.0]) * rest[joint], rotations[:, joint - 1])
        assert np.abs(np.cross(turned[:, 1:], axis)).max() < 1e-12, "each turns about its own axis only"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("axes", "limits"),
    [
        ([Y, X, Z], [(-0.5, 0.6), (-0.2, 0.9), (-0.3, 0.3)]),
        ([Y, X], [(-0.9, 0.5), (-0.26, 0.26)]),
        ([np.array([2.0, -1.0, 1.0]) / np.sqrt(6.0), np.array([0.0, 1.0, 1.0]) / np.sqrt(2.0)], [(-1.0, 1.5)] * 2),
        ([Z], [(-0.4, 0.2)]),
    ],
)
def test_limits_are_kept_at_the_least_cost(axes: list[Array], limits: list[tuple[float, float]], seed: int) -> None:
    skeleton = chain(axes, limits)
    goals = swaying(1.1, seed)
    joints = tuple(range(1, len(axes) + 1))
    rotations = turn_hinges(skeleton, joints, goals)
    angles = 2.0 * np.arctan2(np.einsum("fji,ji->fj", rotations[..., 1:], np.array(axes)), rotations[..., 0])
    low, high = np.array(limits).T
    assert np.all(angles > low - 1e-9)
    assert np.all(angles < high + 1e-9)
    off = angle_between(product(rotations), goals)
    assert np.max(off - best_of_a_grid(skeleton, goals, 61 if len(axes) < 3 else 31)) < 1e-6
    assert angle_between(rotations[1:], rotations[:-1]).max() < 0.3, "no leaps from frame to frame"


def test_slanted_axes_are_solved_too() -> None:
    slanted = [Y, np.array([1.0, 0.4, 0.0]) / np.hypot(1.0, 0.4), Z]
    goals = swaying(0.5, 2)
    rotations = turn_hinges(chain(slanted, WIDE), (1, 2, 3), goals)
    assert angle_between(product(rotations), goals).max() < 1e-5


def test_a_wide_range_is_left_on_one_side_only() -> None:
    skeleton = chain([Z], [(-0.5, 4.5)])
    goals = exp(np.outer(np.linspace(0.0, -2.0, FRAMES), Z))
    rotations = turn_hinges(skeleton, (1,), goals)[:, 0]
    angles = 2.0 * np.arctan2(rotations[:, 3], rotations[:, 0])
    np.testing.assert_allclose(angles, np.maximum(np.linspace(0.0, -2.0, FRAMES), -0.5), atol=1e-9)


def test_room_inside_the_limits() -> None:
    skeleton = chain([Z], [(-0.5, 0.5)])
    rotations = turn_hinges(skeleton, (1,), exp(np.outer(np.linspace(0, 1, FRAMES), Z)), margin=0.05)[:, 0]
    assert np.max(2.0 * np.arctan2(rotations[:, 3], rotations[:, 0])) == pytest.approx(0.45)
    narrow = turn_hinges(chain([Z], [(0.0, 0.1)]), (1,), exp(np.outer(np.ones(3), Z)), margin=0.3)[:, 0]
    np.testing.assert_allclose(2.0 * np.arctan2(narrow[:, 3], narrow[:, 0]), 0.09)


def test_a_capture_that_flips_is_bridged() -> None:
    skeleton = chain([Y, X], [(-0.9, 0.6), (-0.3, 0.3)])
    clean = exp(np.outer(0.3 * np.sin(np.linspace(0, 3, FRAMES)), Y))
    flipped = clean.copy()
    flipped[30:40] = multiply(clean[30:40], from_axis_angle(Z, np.radians(165.0)))
    rotations = turn_hinges(skeleton, (1, 2), flipped)
    assert angle_between(rotations[1:], rotations[:-1]).max() < 0.05
    assert angle_between(product(rotations), clean).max() < 0.02


def test_groups_follow_pairs_and_parts() -> None:
    axes = [Y, X, Z, Y, X, Y, X, Z, Z]
    target = chain(axes, [(-1.0, 1.0)] * 9)
    names = (
        "pelvis",
        "hip_pitch",
        "hip_roll",
        "hip_yaw",
        "knee",
        "twist",
        "waist_yaw",
        "waist_roll",
        "waist_pitch",
        "hand",
    )
    target = Skeleton(
        names=names, parents=target.parents, offsets=target.offsets, kinds=target.kinds, axes=target.axes,
        limits=target.limits,
    )  # fmt: skip
    source = Skeleton(names=tuple("abcdefg"), parents=np.arange(-1, 6), offsets=np.ones((7, 3)))
    pairs = [("a", ("pelvis",)), ("b", ("hip_pitch", "hip_roll", "hip_yaw")), ("c", ("knee", "twist"))]
    pairs += [("d", ("waist_yaw",)), ("e", ("waist_roll",)), ("f", ("waist_pitch",)), ("g", ("hand",))]
    whole = Correspondence(source=source, target=target, pairs=tuple(Pair(source=(a,), target=b) for a, b in pairs))
    assert hinge_groups(whole) == {1: (1, 2, 3), 4: (4, 5), 6: (6, 7, 8), 9: (9,)}


@pytest.mark.parametrize("angle", [0.0, 0.7, -1.2])
def test_groups_do_not_depend_on_the_zero_of_the_motors(angle: float) -> None:
    """A shoulder whose first and third motors are in line at some angle of the second, as in many robots."""
    rest = identity(4)
    rest[2] = from_axis_angle(X, angle)
    target = chain([Y, X, Y], [(-1.0, 1.0)] * 3, rest)
    source = Skeleton(names=("a", "b"), parents=np.array([-1, 0]), offsets=np.ones((2, 3)))
    pairs = (Pair(source=("a",), target=("root",)), Pair(source=("b",), target=target.names[1:]))
    assert hinge_groups(Correspondence(source=source, target=target, pairs=pairs)) == {1: (1, 2, 3)}


def test_long_rows_are_split_into_threes() -> None:
    target = chain([Z, Y, X] * 2 + [Z], [(-1.0, 1.0)] * 7)
    source = Skeleton(names=("a", "b"), parents=np.array([-1, 0]), offsets=np.ones((2, 3)))
    pairs = (Pair(source=("a",), target=("root",)), Pair(source=("b",), target=target.names[1:]))
    assert hinge_groups(Correspondence(source=source, target=target, pairs=pairs)) == {
        1: (1, 2, 3), 4: (4, 5, 6), 7: (7,),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_two_hinges_point_a_bone_rather_than_turn_it(seed: int) -> None:
    """Two axes cannot reach every rotation. The bone comes nearer to its goal, and no frame jumps."""
    skeleton = chain([Y, X], [(-2.0, 2.0)] * 2)
    goals = swaying(0.7, seed)
    off = []
    for bone in (None, Z):
        rotations = turn_hinges(skeleton, (1, 2), goals, bone=bone)
        cosines = np.einsum("fi,fi->f", rotate(product(rotations), Z), rotate(goals, Z))
        off.append(np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))).max())
        assert angle_between(rotations[1:], rotations[:-1]).max() < 0.3
    assert off[1] < 0.5 * off[0] + 1e-6


def test_limits_give_up_the_twist_before_the_direction() -> None:
    skeleton = chain([Y, X, Z], [(-1.5, 1.5), (-1.5, 1.5), (-0.1, 0.1)])
    goals = swaying(0.8, 3)
    off = []
    for bone in (None, Z):
        cosines = np.einsum(
            "fi,fi->f", rotate(product(turn_hinges(skeleton, (1, 2, 3), goals, bone=bone)), Z), rotate(goals, Z)
        )
        off.append(np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))).max())
    assert off[1] < 0.6 * off[0]
    assert off[1] < 2.0


@pytest.mark.parametrize("seed", range(4))
def test_a_goal_far_outside_the_limits_is_followed_without_jumps(seed: int) -> None:
    """An arm that cannot be lowered all the way points low in one way, not now in front and now behind."""
    skeleton = chain([Z, Y, X], [(-1.06, 1.5), (-1.5, 1.5), (-1.0, 1.5)])
    goals = multiply(from_axis_angle(Z, -1.6), swaying(0.4, seed))
    rotations = product(turn_hinges(skeleton, (1, 2, 3), goals, bone=X))
    steps, own = (np.degrees(angle_between(turn[1:], turn[:-1]).max()) for turn in (rotations, goals))
    assert steps < 3.0 * own + 1.0
