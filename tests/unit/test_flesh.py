"""Skins made around skeletons: closed, smooth, well weighted, the same every time, and of no influence on results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import Array
from understudy.figure.flesh import Piece, Tube, flesh, surface_net
from understudy.figure.motion import rest_motion
from understudy.figure.skin import Material, Mesh, skinned
from understudy.io import read
from understudy.retarget.driver import retarget

SKINNED = ("adult", "child", "giant", "stretched", "other", "dog", "spider", "bird", "shark", "can")


def volume(mesh: Mesh) -> float:
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    return float(np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0)


def open_edges(triangles: np.ndarray) -> int:
    """Edges that do not belong to exactly one triangle in each direction."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    return len(set(map(tuple, edges.tolist())) ^ set(map(tuple, edges[:, ::-1].tolist())))


def test_the_surface_of_a_ball_has_its_volume_and_faces_outwards() -> None:
    lines = np.linspace(-1.5, 1.5, 31)
    x, y, z = np.meshgrid(lines, lines, lines, indexing="ij")
    vertices, quads = surface_net(np.sqrt(x**2 + y**2 + z**2) - 1.0)
    places: Array = lines[0] + 0.1 * vertices
    triangles = np.concatenate([quads[:, :3], quads[:, [0, 2, 3]]])
    a, b, c = (places[triangles[:, k]] for k in range(3))
    assert np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0 == pytest.approx(4.0 * np.pi / 3.0, rel=0.02)


@pytest.mark.parametrize("tubes", [1, 2])
def test_a_capsule_has_its_radius(tubes: int) -> None:
    tube = Tube.through([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 0.2, 0)
    piece = Piece(material=Material(), tubes=[tube] * tubes, spacing=0.05, blend=0.02)
    mesh = flesh(samples.character("can"), [piece])
    beyond = mesh.vertices - np.clip(mesh.vertices, [0.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    # The smooth minimum of two equal distances is less by the blend width times ln 2.
    radius = 0.2 + 0.02 * np.log(tubes)
    np.testing.assert_allclose(np.linalg.norm(beyond, axis=1), radius, atol=1e-3)
    assert open_edges(mesh.triangles) == 0
    assert volume(mesh) == pytest.approx(np.pi * radius**2 * (1.0 + 4.0 / 3.0 * radius), rel=0.06)


@pytest.mark.parametrize("name", SKINNED)
def test_sample_skins(name: str) -> None:
    skeleton = samples.character(name)
    (mesh,) = samples.skin(skeleton)
    assert mesh.num_joints == skeleton.num_joints
    assert mesh.num_vertices < 8000, "light enough for a page"
    assert volume(mesh) > 0.0
    assert name == "can" or open_edges(mesh.triangles) == 0, "no cracks"
    assert mesh.look is not None
    assert mesh.look.normals is not None
    np.testing.assert_allclose(np.linalg.norm(mesh.look.normals, axis=-1), 1.0, atol=1e-6)
    names = {material.name for material in mesh.look.materials}
    assert {"left limbs", "right limbs"} <= names, "left and right are told apart"
    np.testing.assert_allclose(skinned(mesh, rest_motion(skeleton))[0], mesh.vertices, atol=1e-9)
    body = np.concatenate([skeleton.rest_world[0], skeleton.rest_ends])
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    assert np.all(low <= body.min(axis=0) + 0.03)
    assert np.all(high >= body.max(axis=0) - 0.03)
    if name != "shark":
        assert low[1] == pytest.approx(0.0, abs=0.006), "soles are on the floor"


def test_skins_are_the_same_every_time() -> None:
    first, second = (samples.skin.__wrapped__(samples.character("child"))[0] for _ in range(2))
    np.testing.assert_array_equal(first.vertices, second.vertices)
    np.testing.assert_array_equal(first.weights, second.weights)


def test_bending_stretches_no_triangle_far() -> None:
    motion = samples.motion("squat").motion
    (mesh,) = samples.skin(motion.skeleton)
    ends = np.concatenate([mesh.triangles[:, [0, 1]], mesh.triangles[:, [1, 2]]])
    rest = np.linalg.norm(mesh.vertices[ends[:, 0]] - mesh.vertices[ends[:, 1]], axis=1)
    posed = skinned(mesh, motion, np.array([motion.num_frames // 2]))[0]
    length = np.linalg.norm(posed[ends[:, 0]] - posed[ends[:, 1]], axis=1)
    assert np.max(length - rest) < 0.06


def test_a_result_is_written_with_its_skin_and_measured_without(tmp_path: Path) -> None:
    result = retarget("sample:walk", "sample:child")
    assert result.clip.meshes == (), "metrics use capsules, as before"
    result.write(tmp_path / "child.glb")
    (mesh,) = read(tmp_path / "child.glb").meshes
    assert len(mesh.triangles) > 5000
    assert mesh.look is not None
    assert "left limbs" in {material.name for material in mesh.look.materials}
