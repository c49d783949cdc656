"""Self-penetration by the skin: known depths on bodies with constructed skins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import Array, unrotate
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Skeleton
from understudy.figure.skin import Mesh, binds_of_rest
from understudy.figure.surface import PROBES, depth_inside, solid_angles, surface
from understudy.metrics.base import Verdict, evaluate, millimetres
from understudy.metrics.self_penetration import FRAMES, looked_at, skin_of

ONLY = ["self_penetration"]
TRUNK, ARM = 0.15, 0.04
"""Radii in metres."""


def tube(centre: Array, axis: int, radius: float, length: float, around: int, along: int) -> tuple[Array, np.ndarray]:
    """Vertices and triangles, seen from outside counterclockwise, of a tube that is open at both ends."""
    angles = 2.0 * np.pi * np.arange(around) / around
    ways = np.linspace(-0.5 * length, 0.5 * length, along)
    vertices = np.zeros((along, around, 3))
    first, second = (axis + 1) % 3, (axis + 2) % 3
    vertices[..., axis] = ways[:, None]
    vertices[..., first], vertices[..., second] = radius * np.cos(angles), radius * np.sin(angles)
    i, j = (grid.ravel() for grid in np.meshgrid(np.arange(along - 1), np.arange(around), indexing="ij"))
    corner, beside = i * around + j, i * around + (j + 1) % around
    squares = np.stack([corner, beside, beside + around, corner + around], -1)
    return vertices.reshape(-1, 3) + centre, np.concatenate([squares[:, [0, 1, 2]], squares[:, [0, 2, 3]]])


def skin(skeleton: Skeleton, pieces: list[tuple[str, Array, np.ndarray]]) -> Mesh:
    """A mesh of pieces, each bound to one joint."""
    starts = np.cumsum([0, *(len(vertices) for _, vertices, _ in pieces)])
    owners = np.concatenate([np.full(len(vertices), skeleton.joint(name)) for name, vertices, _ in pieces])
    return Mesh(
        name="skin",
        vertices=np.concatenate([vertices for _, vertices, _ in pieces]),
        triangles=np.concatenate([triangles + start for (_, _, triangles), start in zip(pieces, starts)]),
        joints=owners[:, None],
        weights=np.ones((len(owners), 1)),
        joint_from_mesh=binds_of_rest(skeleton),
    )


def trunk_and_forearm(way: Array) -> tuple[Motion, Mesh]:
    """A body whose left forearm lies level across its chest, touching it, and is shifted by (F, 3) metres, world."""
    skeleton = samples.character("adult")
    places = skeleton.rest_world[0]
    centre = places[skeleton.joint("Spine")]
    before = centre + np.array([0.0, 0.0, TRUNK + ARM])
    pieces = [("Spine", *tube(centre, 1, TRUNK, 0.6, 64, 31)), ("LeftForeArm", *tube(before, 0, ARM, 0.24, 40, 49))]
    still = rest_motion(skeleton, num_frames=len(way))
    offsets = np.tile(skeleton.offsets, (len(way), 1, 1))
    elbow = skeleton.joint("LeftForeArm")
    # The shift is in the world, the offsets are in the rotated frame of the parent.
    offsets[:, elbow] += unrotate(skeleton.rest_world[1][skeleton.parents[elbow]], way)
    return replace(still, offsets=offsets), skin(skeleton, pieces)


@pytest.mark.parametrize("depth", [0.0, 0.01, 0.03, 0.05])
def test_a_forearm_put_into_the_trunk(depth: float) -> None:
    motion, mesh = trunk_and_forearm(np.linspace([0.0, 0.0, 0.0], [0.0, 0.0, -depth], 11))
    measured = evaluate(motion, meshes=[mesh], only=ONLY)["self_penetration"]
    assert measured["worst_depth"] == pytest.approx(depth, abs=2e-3)
    assert measured.curves[0].values == pytest.approx(np.linspace(0.0, depth, 11), abs=2e-3)
    assert measured.facts["skin"]
    if depth > 0.02:
        assert measured.facts["parts"] == ["left lower_arm", "trunk"]
        assert measured.words.startswith(
            f"left lower arm and trunk are {millimetres(measured['worst_depth'])} in each other at"
        )
        assert measured.words.endswith("(by its skin, in 11 of 11 frames)")


def test_capsules_do_not_know_the_skin() -> None:
    motion, _ = trunk_and_forearm(np.linspace([0.0, 0.0, 0.0], [0.0, 0.0, -0.03], 11))
    assert "skin" not in evaluate(motion, only=ONLY)["self_penetration"].facts


def test_what_the_skin_was_made_with_is_no_fault() -> None:
    """Sleeves in a coat: the forearm is 2 cm in the trunk in the bind pose, and 1 cm deeper later."""
    motion, mesh = trunk_and_forearm(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -0.01]]))
    owners = mesh.joints[:, 0] == motion.skeleton.joint("LeftForeArm")
    vertices = mesh.vertices + np.where(owners[:, None], [0.0, 0.0, -0.02], 0.0)
    measured = evaluate(motion, meshes=[replace(mesh, vertices=vertices)], only=ONLY)["self_penetration"]
    assert measured.curves[0].values == pytest.approx([0.0, 0.01], abs=5e-4)


def test_a_source_with_the_same_depth_is_no_fault_of_the_result() -> None:
    motion, mesh = trunk_and_forearm(np.linspace([0.0, 0.0, 0.0], [0.0, 0.0, -0.05], 11))
    clean, _ = trunk_and_forearm(np.zeros((11, 3)))
    alone, same, worse = (
        evaluate(motion, source, meshes=[mesh], source_meshes=[mesh], only=ONLY)["self_penetration"]
        for source in (None, motion, clean)
    )
    assert alone["worst_depth"] == same["worst_depth"] == worse["worst_depth"]
    assert same["added_depth"] == 0.0
    assert same.verdict is Verdict.GOOD
    assert worse["added_depth"] == pytest.approx(0.05, abs=2e-3)
    assert worse.verdict is Verdict.BAD


def test_parts_that_hang_together_do_not_count() -> None:
    motion, mesh = trunk_and_forearm(np.zeros((2, 3)))
    fore, arm = motion.skeleton.joint("LeftForeArm"), motion.skeleton.joint("LeftArm")
    owners = np.where(mesh.joints == fore, arm, mesh.joints)
    upper = replace(mesh, joints=owners, vertices=mesh.vertices + np.where(owners == arm, [0.0, 0.0, -0.05], 0.0))
    measured = surface(motion.skeleton, (upper,))
    assert {part.name for part in measured.parts} == {"trunk", "left upper_arm"}
    assert measured.facing == ()
    assert evaluate(motion, meshes=[upper], only=ONLY)["self_penetration"]["worst_depth"] == 0.0


def test_a_fold_at_a_seam_does_not_count() -> None:
    """Two thighs of one skin: the skin may fold next to the seam, but not away from it."""
    skeleton = samples.character("adult")
    vertices, triangles = tube(np.array([0.0, 0.5, 0.0]), 0, 0.08, 0.4, 32, 41)
    names = np.where(vertices[:, 0] > 0.0, skeleton.joint("LeftUpLeg"), skeleton.joint("RightUpLeg"))
    whole = Mesh(vertices=vertices, triangles=triangles, joints=names[:, None], weights=np.ones((len(names), 1)),
                 joint_from_mesh=binds_of_rest(skeleton))  # fmt: skip
    measured = surface(skeleton, (whole,))
    assert [sorted((measured.parts[a].name, measured.parts[b].name)) for a, b, _ in measured.facing] == 2 * [
        ["left upper_leg", "right upper_leg"]
    ]
    for one, _, counts in measured.facing:
        far = np.abs(vertices[measured.parts[one].probes].mean(axis=1)[:, 0])
        assert counts[far > 0.08].all()
        assert not counts[far < 0.03].any()


def test_bodies_without_skin_have_capsules() -> None:
    motion, mesh = trunk_and_forearm(np.zeros((2, 3)))
    assert skin_of(motion.skeleton, ()) is None
    assert skin_of(motion.skeleton, (replace(mesh, triangles=np.empty((0, 3), int)),)) is None
    one = replace(mesh, joints=np.full_like(mesh.joints, motion.skeleton.joint("Spine")))
    assert skin_of(motion.skeleton, (one,)) is None, "one part has nothing to meet"


def test_long_clips_and_fine_skins_are_looked_at_in_part() -> None:
    assert looked_at(11).tolist() == list(range(11))
    long = looked_at(5000)
    assert (len(long), long[0], long[-1]) == (FRAMES, 0, 4999)
    assert np.ptp(np.diff(long)) <= 1
    motion, mesh = trunk_and_forearm(np.zeros((2, 3)))
    for part in surface(motion.skeleton, (mesh,)).parts:
        assert PROBES - 1 <= len(part.probes) <= PROBES + 1
    way = np.zeros((300, 3))
    way[100:, 2] = -0.03
    moved, mesh = trunk_and_forearm(way)
    measured = evaluate(moved, meshes=[mesh], only=ONLY)["self_penetration"]
    assert f"in {FRAMES} of 300 frames" in measured.words
    assert measured["penetrating_share"] == pytest.approx(200 / 300, abs=0.02)
    assert measured.curves[0].values.shape == (300,)


def sphere(count: int = 24) -> Array:
    """(T, 3, 3) a closed ball of radius one."""
    vertices, triangles = tube(np.zeros(3), 1, 1.0, 2.0, count, count)
    lean = 0.5 * np.pi * vertices[:, 1]
    return np.stack([vertices[:, 0] * np.cos(lean), np.sin(lean), vertices[:, 2] * np.cos(lean)], -1)[triangles]


def test_inside_and_outside_of_a_ball() -> None:
    ball = sphere()
    inner, outer = np.array([[0.0, 0.0, 0.0], [0.5, 0.4, 0.2]]), np.array([[1.5, 0.0, 0.0], [0.0, -1.01, 0.3]])
    assert depth_inside(inner, ball) == pytest.approx([1.0, 1.0 - np.linalg.norm(inner[1])], abs=0.02)
    assert depth_inside(outer, ball).tolist() == [0.0, 0.0]
    assert depth_inside(inner, ball[:, ::-1]).tolist() == [0.0, 0.0], "turned inside out it encloses nothing"
    assert solid_angles(ball - inner[1]).sum() == pytest.approx(4.0 * np.pi)
    assert solid_angles(ball - outer[1]).sum() == pytest.approx(0.0, abs=1e-9)


def test_inside_is_told_exactly_where_it_matters(rng: np.random.Generator) -> None:
    """Compared with the exact winding number around a skin of large and small triangles with a hole."""
    ball = sphere(12)
    cut = ball[ball.mean(axis=1)[:, 1] < 0.8]
    places = rng.uniform(-1.2, 1.2, size=(400, 3))
    exact = np.array([solid_angles(cut - place).sum() for place in places]) / (4.0 * np.pi)
    sure = np.abs(exact - 0.5) > 0.05
    assert sure.sum() > 350
    assert np.array_equal((depth_inside(places, cut) > 0.0)[sure], (exact > 0.5)[sure])


def test_depths_agree_with_a_search(rng: np.random.Generator) -> None:
    """Compared with the nearest of many places on each triangle, for triangles of all sizes."""
    ball = sphere(20) * np.array([1.0, 0.4, 2.0])
    places = rng.uniform(-0.3, 0.3, size=(40, 3))
    steps = np.linspace(0.0, 1.0, 21)
    u, v = (grid.ravel() for grid in np.meshgrid(steps, steps))
    u, v = u[u + v <= 1.0 + 1e-9], v[u + v <= 1.0 + 1e-9]
    spread = np.einsum("sk,tki->tsi", np.stack([1.0 - u - v, u, v], -1), ball).reshape(-1, 3)
    searched = np.array([np.sqrt(np.square(place - spread).sum(-1)).min() for place in places])
    measured = depth_inside(places, ball)
    assert np.all(measured <= searched + 1e-9)
    assert measured == pytest.approx(searched, abs=5e-3)
