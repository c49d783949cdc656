"""Distance fields of the parts of a body, against shapes whose distances are known."""

from __future__ import annotations

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import rotate
from understudy.figure.kinematics import Pose
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Mesh, binds_of_rest, rest_pose
from understudy.figure.solid import nearest_solids, resting_overlaps, solid_body
from understudy.figure.surface import capsules


def ball(radius: float) -> tuple[Skeleton, Mesh]:
    """A skeleton of two joints, and a ball of skin around the first."""
    skeleton = Skeleton(names=("root", "tip"), parents=(-1, 0), offsets=[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    rows, columns = 24, 36
    polar = np.pi * np.arange(rows + 1) / rows
    around = 2.0 * np.pi * np.arange(columns) / columns
    vertices = radius * np.stack(
        [np.outer(np.sin(polar), np.cos(around)), np.outer(np.cos(polar), np.ones(columns)),
         np.outer(np.sin(polar), np.sin(around))], axis=-1,
    ).reshape(-1, 3)  # fmt: skip
    triangles = []
    for i in range(rows):
        for j in range(columns):
            a, b = i * columns + j, i * columns + (j + 1) % columns
            triangles += [(a, b, a + columns), (b, b + columns, a + columns)]
    joints = np.zeros((len(vertices), 1), int)
    mesh = Mesh(
        vertices=vertices, triangles=np.array(triangles), joints=joints, weights=np.ones(joints.shape),
        joint_from_mesh=binds_of_rest(skeleton),
    )  # fmt: skip
    return skeleton, mesh


def posed(skeleton: Skeleton) -> Pose:
    return rest_pose(skeleton)


def test_distances_to_a_ball_of_skin_are_those_of_a_ball() -> None:
    skeleton, mesh = ball(0.2)
    body = solid_body(skeleton, (mesh,))
    rng = np.random.default_rng(3)
    directions = rng.normal(size=(200, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    distances = rng.uniform(0.1, 0.21, 200)
    number, metres, away = nearest_solids(
        body.solids, posed(skeleton), np.zeros(200, int), distances[:, None] * directions
    )
    assert (number == 0).all()
    assert np.abs(metres - (distances - 0.2)).max() < 0.25 * body.solids[0].spacing
    assert np.einsum("ni,ni->n", away, directions).min() > 0.95


def test_places_far_from_all_skin_are_near_no_solid() -> None:
    skeleton, mesh = ball(0.2)
    number, metres, _ = nearest_solids(
        solid_body(skeleton, (mesh,)).solids, posed(skeleton), np.zeros(1, int), np.array([[1.0, 0.0, 0.0]])
    )
    assert number[0] == -1
    assert np.isinf(metres[0])


def test_a_body_without_skin_is_its_capsules() -> None:
    skeleton = samples.character("adult")
    body, shapes, pose = solid_body(skeleton), capsules(skeleton), posed(skeleton)
    index = shapes.parts.index("left upper_leg")
    near, far = pose.points(list(shapes.ends[index]))[0]
    middle = 0.5 * (near + far)
    side = np.cross(far - near, [0.0, 0.0, 1.0])
    side /= np.linalg.norm(side)
    radius = float(shapes.radii[index])
    places = middle + np.array([0.3, 0.8, 1.1])[:, None] * radius * side
    pieces = [piece for piece in body.solids if piece.part == "left upper_leg"]
    _, metres, away = nearest_solids(pieces, pose, np.zeros(3, int), places)
    np.testing.assert_allclose(metres, (np.array([0.3, 0.8, 1.1]) - 1.0) * radius, atol=0.15 * radius)
    assert (away @ side).min() > 0.9


@pytest.mark.parametrize("name", ["adult", "child", "giant"])
def test_samples_stand_with_no_arm_in_the_body(name: str) -> None:
    overlaps = resting_overlaps(samples.character(name))
    assert not [pair for pair in overlaps if any("hand" in part or "lower_arm" in part for part in pair)]


def test_probes_move_with_their_joint() -> None:
    skeleton = samples.character("adult")
    body, pose = solid_body(skeleton), posed(skeleton)
    turn = np.array([np.cos(0.4), 0.0, np.sin(0.4), 0.0])
    turned = Pose(skeleton=skeleton, positions=rotate(turn, pose.positions),
                  rotations=np.array([[_product(turn, q) for q in pose.rotations[0]]]))  # fmt: skip
    for part in ("left hand", "trunk"):
        before, after = body.probe_places(pose, part), body.probe_places(turned, part)
        np.testing.assert_allclose(after, rotate(turn, before), atol=1e-9)


def _product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    from understudy.base.quaternion import multiply

    return multiply(first, second)
