"""Real USD files: joint counts, OpenUSD's own baked skinning, and the same figure as in glTF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from understudy import fk, read, retarget, write
from understudy.base.quaternion import angle_between
from understudy.figure.skin import skinned

pytest.importorskip("pxr")

FILES = {
    "RiggedFigure.usdz": (19, 1),
    "usd_lbs.usda": (3, 3),
    "usd_lbs.baked.usda": (3, 0),
    "usd_skinnedArm.usda": (3, 1),
}
"""Joints and skinned meshes."""


@pytest.mark.parametrize("name", FILES)
def test_every_file_loads_as_open_usd_counts_it(data: Path, name: str) -> None:
    from pxr import Usd, UsdGeom, UsdSkel

    stage = Usd.Stage.Open(str(data / "fbx_usd" / name))
    (skeleton,) = [UsdSkel.Skeleton(prim) for prim in stage.Traverse() if prim.IsA(UsdSkel.Skeleton)]
    clip = read(data / "fbx_usd" / name)
    assert (clip.skeleton.num_joints, len(clip.meshes)) == FILES[name]
    assert [path.rpartition("/")[2] for path in skeleton.GetJointsAttr().Get()] == list(clip.skeleton.names)
    assert clip.unit == UsdGeom.GetStageMetersPerUnit(stage)
    assert clip.motion is not None
    assert clip.motion.num_frames == stage.GetEndTimeCode() - stage.GetStartTimeCode() + 1


@pytest.mark.parametrize("name", FILES)
def test_joints_are_where_open_usd_computes_them(data: Path, name: str) -> None:
    from pxr import Usd, UsdGeom, UsdSkel

    stage = Usd.Stage.Open(str(data / "fbx_usd" / name))
    cache = UsdSkel.Cache()
    for prim in stage.Traverse():
        if prim.IsA(UsdSkel.Root):
            cache.Populate(UsdSkel.Root(prim), Usd.PrimDefaultPredicate)
    (skeleton,) = [UsdSkel.Skeleton(prim) for prim in stage.Traverse() if prim.IsA(UsdSkel.Skeleton)]
    query = cache.GetSkelQuery(skeleton)
    assert query.GetAnimQuery()
    clip = read(data / "fbx_usd" / name)
    assert clip.motion is not None
    places = fk(clip.motion).positions / clip.unit
    for frame in range(clip.motion.num_frames):
        time = Usd.TimeCode(stage.GetStartTimeCode() + frame)
        local = np.array(query.ComputeJointSkelTransforms(time))
        world = np.array(UsdGeom.Imageable(skeleton.GetPrim()).ComputeLocalToWorldTransform(time))
        assert np.abs((local @ world)[:, 3, :3] - places[frame]).max() < 1e-5


def test_skinning_is_that_of_open_usds_own_bake(data: Path) -> None:
    from pxr import Usd, UsdGeom

    clip = read(data / "fbx_usd" / "usd_lbs.usda")
    baked = Usd.Stage.Open(str(data / "fbx_usd" / "usd_lbs.baked.usda"))
    assert {mesh.name for mesh in clip.meshes} == {"Mesh", "MeshWithFaceVaryingNormals", "MeshWithNormals"}
    assert clip.motion is not None
    for mesh in clip.meshes:
        shape = UsdGeom.Mesh(baked.GetPrimAtPath(f"/Root/{mesh.name}"))
        times = shape.GetPointsAttr().GetTimeSamples()
        assert times == list(range(1, 31))
        found = skinned(mesh, clip.motion) / clip.unit
        for frame, time in enumerate(times):
            world = np.array(shape.ComputeLocalToWorldTransform(time))
            wanted = np.array(shape.GetPointsAttr().Get(time)) @ world[:3, :3] + world[3, :3]
            assert np.abs(found[frame] - wanted).max() < 1e-6


def test_the_figure_is_the_same_in_gltf_and_usd(data: Path) -> None:
    gltf, usd = read(data / "gltf" / "RiggedFigure.glb"), read(data / "fbx_usd" / "RiggedFigure.usdz")
    assert usd.skeleton.names == gltf.skeleton.names
    assert np.array_equal(usd.skeleton.parents, gltf.skeleton.parents)
    assert np.abs(usd.skeleton.rest_world[0] - gltf.skeleton.rest_world[0]).max() < 1e-6
    assert usd.motion is not None
    assert gltf.motion is not None
    assert (usd.motion.fps, usd.motion.num_frames) == (gltf.motion.fps, gltf.motion.num_frames)
    a, b = fk(usd.motion), fk(gltf.motion)
    assert np.abs(a.positions - b.positions).max() < 1e-6
    assert np.max(angle_between(a.rotations, b.rotations)) < 1e-5
    (mesh,), (other,) = usd.meshes, gltf.meshes
    # The two files cut the surface at other seams, so the vertices are compared as a set of places.
    found, wanted = skinned(mesh, usd.motion)[15], skinned(other, gltf.motion)[15]
    apart = np.linalg.norm(wanted[:, None] - found[None], axis=-1).min(axis=1)
    assert apart.max() < 1e-5


@pytest.mark.parametrize(
    "name", ["cmu_bvh/02_01.bvh", "humans/pybvh_test1_mixed_orders.bvh", "animals/dog_walk_30fps.bvh"]
)
@pytest.mark.parametrize("ending", ["usda", "usdc", "usdz"])
def test_bvh_to_usd_to_bvh_keeps_world_positions(data: Path, name: str, ending: str, tmp_path: Path) -> None:
    clip = read(data / name)
    write(clip, tmp_path / f"there.{ending}")
    middle = read(tmp_path / f"there.{ending}")
    write(middle, tmp_path / "back.bvh", unit="m")
    back = read(tmp_path / "back.bvh", unit="m", up="Y")
    assert clip.motion is not None
    for found in (middle, back):
        assert found.motion is not None
        assert found.motion.fps == pytest.approx(clip.motion.fps, rel=1e-6)
        mine = [found.skeleton.joint(joint) for joint in clip.skeleton.names]
        apart = np.abs(fk(found.motion).positions[:, mine] - fk(clip.motion).positions)
        assert apart.max() < 1e-5
        assert len(found.skeleton.ends) == len(clip.skeleton.ends)


def test_a_walk_onto_the_figure_keeps_its_feet_planted(data: Path, tmp_path: Path) -> None:
    source, target = read(data / "cmu_bvh" / "02_01.bvh"), read(data / "fbx_usd" / "RiggedFigure.usdz")
    assert source.motion is not None
    result = retarget(source.motion[1:], target.skeleton)
    heights = fk(result.motion).positions[:, :, 1]
    assert heights.min() > -0.01
    feet = [target.skeleton.joint(f"leg_joint_{side}_5") for side in "LR"]
    lowest = heights[:, feet].min(axis=1)
    # Somebody who walks always stands on one of both feet.
    assert lowest.max() - lowest.min() < 0.1
    path = tmp_path / "walk.usdz"
    write(result.motion, path)
    back = read(path).motion
    assert back is not None
    assert np.abs(fk(back).positions - fk(result.motion).positions).max() < 1e-5
