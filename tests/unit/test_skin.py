"""Linear blend skinning: vertices follow their joints, each by its share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy.base.errors import OptionError, SkeletonError
from understudy.base.quaternion import from_axis_angle, identity, rotate
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Mesh, binds_of_rest, skinned


@pytest.fixture
def arm() -> Skeleton:
    """A bone of one metre along x from a shoulder that is turned in its rest pose."""
    rest = np.array([from_axis_angle([0.0, 1.0, 0.0], 0.7), [1.0, 0.0, 0.0, 0.0]])
    return Skeleton(names=("shoulder", "elbow"), parents=[-1, 0], offsets=[[0, 1.5, 0], [1, 0, 0]], rest=rest)


def tube(skeleton: Skeleton, weights: list[list[float]]) -> Mesh:
    """Points along the arm in its rest pose."""
    places = skeleton.rest_world[0]
    along = np.linspace(0.0, 2.0, len(weights))[:, None]
    return Mesh(
        name="tube",
        vertices=places[0] + along * (places[1] - places[0]) + [0.0, 0.05, 0.0],
        joints=np.tile([0, 1], (len(weights), 1)),
        weights=weights,
        joint_from_mesh=binds_of_rest(skeleton),
        triangles=[[0, 1, 2]],
    )


def bent(skeleton: Skeleton, angle: float) -> Motion:
    turns = np.stack([skeleton.rest, skeleton.rest])
    turns[1, 1] = from_axis_angle([0.0, 0.0, 1.0], angle)
    root = np.array([skeleton.offsets[0], skeleton.offsets[0] + [0.0, 0.0, 3.0]])
    return Motion(skeleton=skeleton, fps=30.0, root=root, rotations=turns)


def test_the_bind_pose_gives_the_mesh_itself(arm: Skeleton) -> None:
    mesh = tube(arm, [[1, 0], [0.5, 0.5], [0, 1]])
    assert np.allclose(skinned(mesh, arm)[0], mesh.vertices, atol=1e-12)


def test_a_vertex_of_one_joint_moves_stiffly_with_it(arm: Skeleton) -> None:
    mesh = tube(arm, [[1, 0], [0, 1], [0, 1]])
    motion = bent(arm, 1.2)
    pose = fk(motion)
    local = rotate(identity(1), mesh.vertices) - arm.rest_world[0][[0, 1, 1]]
    vertices = skinned(mesh, motion)
    turns = pose.rotations[:, [0, 1, 1]]
    rest = arm.rest_world[1][[0, 1, 1]]
    rest[:, 1:] *= -1.0
    assert np.allclose(vertices, pose.positions[:, [0, 1, 1]] + rotate(turns, rotate(rest, local)), atol=1e-12)


def test_weights_blend_straight_between_what_the_joints_say(arm: Skeleton) -> None:
    motion = bent(arm, 1.2)
    ends = [skinned(tube(arm, [share] * 3), motion) for share in ([1, 0], [0, 1])]
    blend = skinned(tube(arm, [[3.0, 1.0]] * 3), motion)
    assert np.allclose(blend, 0.75 * ends[0] + 0.25 * ends[1], atol=1e-12)


def test_frames_can_be_chosen_and_blocks_do_not_matter(arm: Skeleton, monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = tube(arm, [[1, 0], [0.5, 0.5], [0, 1]])
    motion = bent(arm, 1.2)
    every = skinned(mesh, motion)
    assert np.array_equal(skinned(mesh, fk(motion)), every)
    assert np.allclose(skinned(mesh, motion, np.array([1])), every[1:])
    assert np.allclose(skinned(mesh, motion, slice(0, 1)), every[:1])
    monkeypatch.setattr("understudy.figure.skin.NUMBERS_AT_ONCE", 1)
    assert np.allclose(skinned(mesh, motion), every, atol=1e-14)


def test_a_changing_body_carries_its_mesh(arm: Skeleton) -> None:
    mesh = tube(arm, [[0, 1]] * 3)
    motion = bent(arm, 0.0)
    longer = replace(motion, offsets=np.tile(arm.offsets * [[1.0], [1.5]], (2, 1, 1)))
    moved = fk(longer).positions[:, 1] - fk(motion).positions[:, 1]
    assert np.allclose(skinned(mesh, longer) - skinned(mesh, motion), moved[:, None], atol=1e-12)


def test_a_mesh_without_vertices_is_no_trouble(arm: Skeleton) -> None:
    nothing = Mesh(
        vertices=np.empty((0, 3)), joints=np.empty((0, 1), int), weights=np.empty((0, 1)),
        joint_from_mesh=binds_of_rest(arm),
    )  # fmt: skip
    assert skinned(nothing, bent(arm, 0.5)).shape == (2, 0, 3)


def test_what_does_not_fit_is_refused(arm: Skeleton) -> None:
    mesh = tube(arm, [[1, 0], [0.5, 0.5], [0, 1]])
    with pytest.raises(SkeletonError, match=r"Mesh `tube` joint numbers: expected numbers from 0 to 1, got 2"):
        replace(mesh, joints=np.full((3, 2), 2))
    with pytest.raises(SkeletonError, match=r"Mesh `tube` triangles: expected numbers from 0 to 2, got 3"):
        replace(mesh, triangles=[[0, 1, 3]])
    with pytest.raises(SkeletonError, match=r"vertex 1 has \[0.0, 0.0\]"):
        replace(mesh, weights=[[1, 0], [0, 0], [0, 1]])
    with pytest.raises(SkeletonError, match=r"weights: expected shape \(3, any\), got \(2, 2\)"):
        replace(mesh, weights=np.ones((2, 2)))
    alone = Skeleton(names=("hip",), parents=[-1], offsets=np.zeros((1, 3)))
    with pytest.raises(OptionError, match="is for a skeleton of 2 joints; this one has 1"):
        skinned(mesh, alone)
    with pytest.raises(ValueError, match="read-only"):
        mesh.weights[0, 0] = 2.0
