"""What robots look like: meshes of their folder, shapes of their file, capsules of their bones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from understudy import read
from understudy.figure.skin import skinned
from understudy.io.robot.look import MAX_TRIANGLES

URDF = """<robot name="arm">
  <link name="base"><visual><geometry><box size="0.2 0.2 0.4"/></geometry></visual></link>
  <joint name="left_elbow" type="revolute">
    <parent link="base"/><child link="left_forearm"/><origin xyz="0 0 0.5"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1"/>
  </joint>
  <link name="left_forearm">
    <visual><geometry><mesh filename="package://arm/meshes/forearm.stl" scale="0.001 0.001 0.001"/></geometry></visual>
    <collision><geometry><sphere radius="0.1"/></geometry></collision>
  </link>
  <joint name="right_wrist" type="revolute">
    <parent link="left_forearm"/><child link="right_hand"/><origin xyz="0 0 0.5"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1"/>
  </joint>
  <link name="right_hand"><collision><geometry><cylinder radius="0.05" length="0.3"/></geometry></collision></link>
</robot>"""

STL = """solid forearm
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 100 0 0
vertex 0 0 400
endloop
endfacet
endsolid
"""


def test_shapes_stand_for_links_without_meshes(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(URDF)
    clip = read(tmp_path / "arm.urdf")
    (mesh,) = clip.shown_meshes()
    corners = skinned(mesh, clip.skeleton)[0]
    base = corners[mesh.joints[:, 0] == clip.skeleton.index["base"]]
    # The robot's Z is up, which is Y here.
    assert np.allclose(base.max(axis=0) - base.min(axis=0), [0.2, 0.4, 0.2])
    forearm = corners[mesh.joints[:, 0] == clip.skeleton.index["left_elbow"]]
    assert np.allclose(np.ptp(forearm, axis=0), 0.2, atol=0.01)
    assert mesh.look is not None
    names = {mesh.look.materials[number].name for number in mesh.look.material_numbers}
    assert names == {"shell", "left shell", "right shell"}


def test_a_mesh_of_the_folder_is_taken_instead(tmp_path: Path) -> None:
    (tmp_path / "urdf").mkdir()
    (tmp_path / "meshes").mkdir()
    (tmp_path / "urdf" / "arm.urdf").write_text(URDF)
    (tmp_path / "meshes" / "forearm.stl").write_text(STL)
    clip = read(tmp_path / "urdf" / "arm.urdf")
    (mesh,) = clip.shown_meshes()
    forearm = skinned(mesh, clip.skeleton)[0][mesh.joints[:, 0] == clip.skeleton.index["left_elbow"]]
    assert len(forearm) == 3
    assert np.allclose(np.ptp(forearm, axis=0).max(), 0.4)
    # Out of the package's folders nothing is read.
    (tmp_path / "urdf" / "arm.urdf").write_text(URDF.replace("package://arm/meshes/", "../../meshes/"))
    (mesh,) = read(tmp_path / "urdf" / "arm.urdf").shown_meshes()
    assert (mesh.joints[:, 0] == clip.skeleton.index["left_elbow"]).sum() > 3


def test_bones_are_capsules_where_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(URDF.replace('<box size="0.2 0.2 0.4"/>', '<mesh filename="none.stl"/>'))
    clip = read(tmp_path / "arm.urdf")
    (mesh,) = clip.shown_meshes()
    base = skinned(mesh, clip.skeleton)[0][mesh.joints[:, 0] == clip.skeleton.index["base"]]
    assert 0.5 < np.ptp(base, axis=0)[1] < 0.6


def grid_stl(cells: int) -> bytes:
    """A binary STL of a closed box of 0.2 x 0.2 x 0.4 units, each side cut into so many squares a side."""
    corners = np.stack(np.meshgrid(np.arange(cells + 1), np.arange(cells + 1), indexing="ij"), axis=-1) / cells
    a, b, c, d = (corners[i : i + cells, j : j + cells].reshape(-1, 2) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
    flat = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    sides = []
    for axis in range(3):
        for height in (0.0, 1.0):
            side = np.insert(flat, axis, height, axis=2)
            outwards = bool(height) != (axis == 1)
            sides.append((side if outwards else side[:, ::-1]) * [0.2, 0.2, 0.4])
    triangles = np.concatenate(sides).astype("<f4")
    rows = np.zeros(len(triangles), [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")])
    rows["corners"] = triangles
    return bytes(80) + len(triangles).to_bytes(4, "little") + rows.tobytes()


def test_fine_meshes_are_made_coarser_and_none_is_left_out(tmp_path: Path) -> None:
    scaled = 'filename="package://arm/meshes/forearm.stl" scale="0.001 0.001 0.001"'
    urdf = URDF.replace(scaled, 'filename="forearm.stl"').replace(
        '<box size="0.2 0.2 0.4"/>', '<mesh filename="base.stl"/>'
    )
    (tmp_path / "arm.urdf").write_text(urdf)
    for name, cells in (("base", 80), ("forearm", 60)):
        (tmp_path / f"{name}.stl").write_bytes(grid_stl(cells))
    clip = read(tmp_path / "arm.urdf")
    (mesh,) = clip.shown_meshes()
    assert 12 * (80**2 + 60**2) > MAX_TRIANGLES >= len(mesh.triangles) > 0.3 * MAX_TRIANGLES
    corners = skinned(mesh, clip.skeleton)[0]
    for joint in ("base", "left_elbow"):
        # Each keeps its extent to a cube, and its volume: no side has gone, and none is turned inside out.
        carried = mesh.joints[:, 0] == clip.skeleton.index[joint]
        link = corners[carried]
        extent = np.sort(np.ptp(link, axis=0))
        assert np.allclose(extent, [0.2, 0.2, 0.4], atol=0.02)
        a, b, c = np.moveaxis(corners[mesh.triangles[carried[mesh.triangles[:, 0]]]], 1, 0)
        volume = np.einsum("ti,ti->t", a, np.cross(b, c)).sum() / 6.0
        assert volume == pytest.approx(0.016, rel=0.05)
