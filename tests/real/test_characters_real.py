"""A walk on every real character: humans, robots and four-legged animals, as they come out of their files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import understudy
from understudy import samples
from understudy.base.quaternion import Array
from understudy.correspondence.alignment import PairTree
from understudy.correspondence.detached import attach, change_parents
from understudy.correspondence.parts import PARTS
from understudy.correspondence.suggest import split_body
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing, leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.retarget.actor import match_actor
from understudy.retarget.driver import retarget
from understudy.solve.solvers.base import Solution

# Degrees by which no bone but the feet points otherwise than the walker's, on average over the walk. Hinges of robots
# cannot follow everywhere.
HUMANS = {
    "gltf/CesiumMan.glb": 4.0,
    "gltf/RiggedFigure.glb": 4.0,
    "gltf/m2m_human_male.glb": 4.0,
    "gltf/m2m_rig_human.glb": 4.0,
    "gltf/quaternius_man_Casual.glb": 4.0,
    "gltf/RobotExpressive.glb": 4.0,
    "fbx_usd/maya_human_ik_7400_binary.fbx": 4.0,
    "fbx_usd/maya_kenney_character_7700_binary.fbx": 4.0,
    "fbx_usd/maya_character_7500_ascii.fbx": 4.0,
    "fbx_usd/100style_character.fbx": 4.0,
    "fbx_usd/RiggedFigure.usdz": 4.0,
    "robots/unitree_g1.xml": 20.0,
    "robots/unitree_g1_29dof.urdf": 20.0,
    "robots/unitree_h1.xml": 20.0,
    "robots/dm_humanoid.xml": 20.0,
    "robots/humanoid_CMU_V2020.xml": 22.0,
}
# The chest carries the legs: it turns as the hips do, and what is counted from shoulders with them.
TURNED = {"robots/dm_humanoid.xml": 25.0}
QUADRUPEDS = (
    "animals/m2m_fox_animated.glb", "animals/m2m_fox-dog.glb", "animals/m2m_horse_animated.glb",
    "animals/quaternius_Husky.glb", "gltf/Fox.glb", "robots/unitree_go2.xml",
)  # fmt: skip


def apart(a: Array, b: Array) -> Array:
    """(...,) degrees between vectors."""
    size = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return np.degrees(np.arccos(np.clip(np.sum(a * b, axis=-1) / size, -1.0, 1.0)))


@cache
def source(data: Path, name: str) -> Motion:
    """Two seconds at 30 Hz of a human, a real dog or the sample's."""
    if name == "sample dog":
        return samples.motion("dog_walk").motion[:60]
    motion = understudy.read(
        data / {"human": "cmu_bvh/02_01.bvh", "real dog": "animals/dog_walk_30fps.bvh"}[name]
    ).motion
    assert motion is not None
    return motion[1::4][:60] if name == "human" else motion[:60]


@cache
def played(data: Path, name: str, whose: str) -> tuple[Motion | None, Solution]:
    """A motion of the character's own, and the walk on it; feet that hang apart from the leg are hung on it."""
    package = {".fbx": "ufbx", ".usdz": "pxr"}.get(Path(name).suffix)
    if package:
        pytest.importorskip(package)
    clip = understudy.read(data / name)
    body = attach(clip.skeleton)
    own = None if clip.motion is None else change_parents(clip.motion, body)
    return own, retarget(source(data, whose), body, target_motion=own)


def bone_angles(walk: Motion, found: Motion, own: Motion | None) -> dict[str, float]:
    """Degrees, on average, between the bones of each pair in a row that leads to a single next one."""
    aligned = match_actor(walk, found.skeleton, target_motion=own).alignment
    assert aligned is not None
    whole = aligned.correspondence
    layout = PairTree(correspondence=whole, source=aligned.source, target=aligned.target, upright=True)
    places, angles = (fk(walk).positions, fk(found).positions), {}
    for pair in whole.pairs:
        below = layout.children[pair]
        # A spine keeps its own curve.
        if pair is whole.root or len(below) != 1 or pair in layout.trunk:
            continue
        lines = [
            pose[:, body.index[getattr(below[0], which)[0]]] - pose[:, body.index[getattr(pair, which)[0]]]
            for pose, body, which in zip(places, (whole.source, whole.target), ("source", "target"), strict=True)
        ]
        if min(float(np.linalg.norm(line, axis=-1).min()) for line in lines) > 1e-3:
            angles[pair.target[0]] = float(apart(*lines).mean())
    necks = [roles(body).get("neck") for body in (whole.source, whole.target)]
    if necks[0] is not None and necks[1] is not None and layout.trunk:
        trunks = [
            pose[:, neck] - pose[:, roles(body)["hips"]]
            for pose, neck, body in zip(places, necks, (whole.source, whole.target), strict=True)
        ]
        angles["the trunk as a whole"] = float(apart(*trunks).mean())
    return angles


def travel(walk: Motion, found: Motion) -> float:
    """Degrees between the ways that the hips of two motions go: lines through their paths, whatever they sway.

    The hips are the middle between the tops of the hind legs: the root of a robot dog is the middle of its trunk.
    """
    tops = {m: [limb.bones[0] for limb in split_body(m.skeleton, m).limbs[0]] for m in (walk, found)}
    paths = ((m.times, fk(m).positions[:, joints].mean(axis=1)) for m, joints in tops.items())
    return float(apart(*(np.polyfit(times, path[:, [0, 2]], 1)[0] for times, path in paths)))


@pytest.mark.parametrize("name", HUMANS)
def test_a_human_walk_on_every_humanoid(data: Path, name: str) -> None:
    walk = source(data, "human")
    own, found = played(data, name, "human")
    assert not found.unmet, found.result
    assert apart(facing(walk), facing(found.motion)).max() < TURNED.get(name, 6.0)
    assert travel(walk, found.motion) < 1.5
    # Feet are level whichever way their bones point, and each body keeps its own collar bones.
    own_ways = ("foot", "shoulder")
    ends = {
        found.motion.skeleton.names[j] for part, j in roles(found.motion.skeleton).items() if part.endswith(own_ways)
    }
    angles = bone_angles(walk, found.motion, own)
    angles = {bone: off for bone, off in angles.items() if bone not in ends and "Palm" not in bone}
    assert len(angles) >= 5
    assert max(angles.values()) < HUMANS[name], max(angles, key=angles.__getitem__)


@pytest.mark.parametrize("whose", ["real dog", "sample dog"])
@pytest.mark.parametrize("name", QUADRUPEDS)
def test_a_dogs_walk_on_every_quadruped(data: Path, name: str, whose: str) -> None:
    """Nothing unmet; it goes and faces as the dog does; legs stay on their sides, under it and out of the floor."""
    walk = source(data, whose)
    own, found = played(data, name, whose)
    motion = found.motion
    assert not found.unmet, found.result
    assert travel(walk, motion) < 3.0
    assert apart(facing(walk).mean(0), facing(motion).mean(0)) < 5.0
    limbs = split_body(motion.skeleton, own).limbs
    positions, across = fk(motion).positions, np.cross([0.0, 1.0, 0.0], facing(motion).mean(0))
    assert len(limbs) == 2
    for left, right in limbs:
        assert left.stands
        tops, feet = ([limb.bones[i] for limb in (left, right)] for i in (0, -1))
        for joints in (tops, feet):
            off = (positions[:, joints[0]] - positions[:, joints[1]]) @ across
            assert off.mean() > 0.0
        rest = motion.skeleton.rest_world[0][feet]
        ways = facing(motion)
        widths = np.sum((positions[:, feet[0]] - positions[:, feet[1]]) * np.cross([0.0, 1.0, 0.0], ways), axis=1)
        assert np.median(widths) < 1.6 * np.linalg.norm((rest[0] - rest[1]) * [1.0, 0.0, 1.0])
    # The tips of toes beyond what is planted may dip when a paw rolls over it.
    assert lowest(motion, own, ("upper", "lower", "end")) > min(lowest(walk, walk), 0.0) - 0.01


def lowest(motion: Motion, own: Motion | None, parts: tuple[str, ...] = PARTS) -> float:
    """How low parts of the legs come, in leg lengths."""
    limbs = [limb for pair in split_body(motion.skeleton, own).limbs for limb in pair]
    joints = [joint for limb in limbs for part in parts for joint in limb.parts.get(part, ())]
    return float(fk(motion).positions[:, joints, 1].min()) / leg_length(motion.skeleton)
