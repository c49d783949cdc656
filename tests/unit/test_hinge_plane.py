"""Hinges bend in the plane of the source's joint: known answers on arms of two bones, and smoothness."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import Array, angle_between, exp, from_axis_angle, multiply, rotate
from understudy.correspondence.alignment import Alignment, PairTree, align
from understudy.correspondence.carry import transfer_motion
from understudy.correspondence.hinge import find_bends, hinge_groups, split_bends
from understudy.correspondence.pairs import Correspondence, Pair
from understudy.figure.contacts import Floor
from understudy.figure.kinematics import fk, joint_angles, joint_rotations, pointing_angles
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import JointKind, Point, Skeleton

LEVEL = Floor(slope=np.zeros(2))
X, Y, Z = np.eye(3)
FRAMES = 120
PARTS = ("Arm", "ForeArm", "Hand")

Joints = list[tuple[str, str, Array, Array | None]]
"""Name, parent, offset, and the axis of a hinge; None for a ball."""


def built(joints: Joints) -> Skeleton:
    """A body of balls and hinges, with a fingertip at each hand."""
    names = [name for name, *_ in joints]
    axes = np.tile(np.eye(3), (len(joints), 1, 1))
    kinds = [JointKind.FREE] + [JointKind.BALL] * (len(joints) - 1)
    for number, (*_, axis) in enumerate(joints):
        if axis is not None:
            axes[number], kinds[number] = 0.0, JointKind.HINGE
            axes[number, 0] = axis
    return Skeleton(
        names=tuple(names),
        parents=np.array([names.index(parent) if parent else -1 for _, parent, *_ in joints]),
        offsets=np.array([offset for *_, offset, _ in joints], float),
        axes=axes,
        kinds=tuple(kinds),
        ends=tuple(Point(name=f"{n}Tip", joint=n, offset=0.1 * _out(n)) for n in names if n.endswith("Hand")),
    )


def _out(name: str) -> Array:
    return X if name.startswith("Left") else -X


def body(elbow: Array | None = None, shoulder: tuple[Array, ...] = (), forearm: float = 0.3) -> Skeleton:
    """A trunk with two arms in a T-pose.

    Args:
        elbow: (3,) axis of the hinge of the left elbow, mirrored on the right; a ball if not given.
        shoulder: Axes of the hinges of the shoulder, from the body outwards; a ball if not given.
        forearm: Metres.
    """
    joints: Joints = [("Hips", "", Y, None), ("Chest", "Hips", 0.3 * Y, None), ("Head", "Chest", 0.3 * Y, None)]
    for side in ("Left", "Right"):
        out, parent = _out(side), "Chest"
        for number, axis in enumerate(shoulder):
            name = f"{side}Arm{number}" if number + 1 < len(shoulder) else f"{side}Arm"
            joints.append((name, parent, (0.2 if number == 0 else 0.0) * out, axis))
            parent = name
        if not shoulder:
            joints.append((f"{side}Arm", "Chest", 0.2 * out, None))
        axis = None if elbow is None else elbow * (1.0 if side == "Left" else np.array([1.0, -1.0, -1.0]))
        joints.append((f"{side}ForeArm", f"{side}Arm", 0.25 * out, axis))
        joints.append((f"{side}Hand", f"{side}ForeArm", forearm * out, None))
    return built(joints)


def mapped(source: Skeleton, target: Skeleton) -> Correspondence:
    names = ["Hips", "Chest", "Head", *(side + part for side in ("Left", "Right") for part in PARTS)]
    chains = {n: tuple(t for t in target.names if t.startswith(n) and not t.endswith("Hand")) for n in names}
    pairs = (Pair(source=(n,), target=chains[n] if n.endswith("Arm") and "Fore" not in n else (n,)) for n in names)
    return Correspondence(source=source, target=target, pairs=tuple(pairs))


def waving(skeleton: Skeleton, *, bend: Array, plane: Array, seed: int = 0) -> Motion:
    """Arms that swing at random. The elbows bend (F,) in planes turned by angles (F,) about the upper arm."""
    rng = np.random.default_rng(seed)
    motion = rest_motion(skeleton, num_frames=len(bend), fps=60.0)
    rotations = motion.rotations.copy()
    times = np.linspace(0.0, 1.0, len(bend))[:, None]
    for side in ("Left", "Right"):
        swing = sum(np.sin(2.0 * np.pi * k * times + rng.uniform(0, 6, 3)) * rng.normal(0.0, 0.4, 3) for k in (1, 2))
        rotations[:, skeleton.joint(f"{side}Arm")] = exp(swing)
        axis = rotate(from_axis_angle(X, plane), -_out(side)[0] * Y)
        rotations[:, skeleton.joint(f"{side}ForeArm")] = from_axis_angle(axis, bend)
    return replace(motion, rotations=rotations)


def directions(motion: Motion) -> Array:
    """(F, 4, 3) unit directions of both upper arms and forearms."""
    pose = fk(motion)
    bones = [pose[side + b] - pose[side + a] for side in ("Left", "Right") for a, b in pairwise(PARTS)]
    lines = np.stack(bones, 1)
    return lines / np.linalg.norm(lines, axis=-1, keepdims=True)


def degrees_off(source: Motion, result: Motion) -> Array:
    """(F, 4) degrees between the limb bones of two motions."""
    cosines = np.einsum("fbi,fbi->fb", directions(source), directions(result))
    return np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))


def carried(motion: Motion, target: Skeleton) -> tuple[Motion, Alignment]:
    aligned = align(mapped(motion.skeleton, target), mode="direction")
    return transfer_motion(motion, aligned, floor=LEVEL, ratio=1.0), aligned


BENT = np.radians(50.0 + 30.0 * np.sin(np.linspace(0.0, 9.0, FRAMES)))
SHOULDERS = {
    "ball": (),
    "pitch roll yaw": (Z, Y, X),
    "roll pitch yaw": (Y, Z, X),
    "yaw first": (X, Y, Z),
}


@pytest.mark.parametrize("shoulder", SHOULDERS)
@pytest.mark.parametrize("axis", [-Y, Z, np.array([0.0, 0.6, 0.8])], ids=["up", "front", "slanted"])
def test_a_hinge_elbow_reproduces_both_bones_of_a_ball_elbow(axis: Array, shoulder: str) -> None:
    """Elbow and hand point as the source's to 1e-5 degrees, whatever plane the elbow bends in."""
    plane = np.radians(60.0) * np.sin(np.linspace(0.0, 5.0, FRAMES))
    motion = waving(body(), bend=BENT, plane=plane)
    result, _ = carried(motion, body(elbow=axis, shoulder=SHOULDERS[shoulder]))
    assert degrees_off(motion, result).max() < 1e-5
    target = result.skeleton
    again = joint_rotations(target, joint_angles(target, result.rotations))
    assert angle_between(again, result.rotations).max() < 1e-7, "hinges turn about their axes only"


def test_other_lengths_point_alike() -> None:
    motion = waving(body(), bend=BENT, plane=np.full(FRAMES, 0.7))
    result, _ = carried(motion, body(elbow=-Y, forearm=0.5))
    assert degrees_off(motion, result).max() < 1e-5


def test_a_constant_plane_gives_a_constant_twist() -> None:
    """The upper arm turns exactly as the source's does, also where the arm is straight or bent backwards."""
    bend = np.radians(25.0 + 40.0 * np.sin(np.linspace(0.0, 9.0, FRAMES)))
    motion = waving(body(), bend=bend, plane=np.full(FRAMES, np.radians(35.0)))
    assert bend.min() < np.radians(-14.0)
    result, _ = carried(motion, body(elbow=-Y))
    for side in ("Left", "Right"):
        upper = [fk(m).rotations[:, m.skeleton.joint(f"{side}Arm")] for m in (motion, result)]
        between = multiply(upper[0] * [1.0, -1.0, -1.0, -1.0], upper[1])
        assert angle_between(between, between[0]).max() < 1e-7
        assert angle_between(between, between[0] * 0 + [1, 0, 0, 0])[0] == pytest.approx(np.radians(35.0), abs=1e-7)
    assert degrees_off(motion, result).max() < 1e-5


@pytest.mark.parametrize("bend", [-1.0, -0.2, 0.0, 0.2, 1.0])
@pytest.mark.parametrize("plane", [0.0, 40.0, 150.0])
def test_a_straight_arm_is_not_twisted(bend: float, plane: float) -> None:
    """An elbow that bends by a degree, either way and in any plane, shows no plane: the upper arm keeps its own."""
    bends = np.radians(bend * (1.0 + 0.1 * np.sin(np.linspace(0.0, 9.0, FRAMES))))
    motion = waving(body(), bend=bends, plane=np.full(FRAMES, np.radians(plane)))
    result, _ = carried(motion, body(elbow=-Y))
    for side in ("Left", "Right"):
        upper = [fk(m).rotations[:, m.skeleton.joint(f"{side}Arm")] for m in (motion, result)]
        assert np.degrees(angle_between(*upper)).max() < 60.0
    assert degrees_off(motion, result).max() < 1.2 * abs(bend) + 1e-5


@pytest.mark.parametrize("seed", range(4))
def test_no_frame_jumps_more_than_the_source(seed: int) -> None:
    """A noisy, nearly straight elbow whose plane is anywhere: no bone turns faster than the source's by 3 degrees."""
    rng = np.random.default_rng(seed)
    bend = np.radians(8.0 + 10.0 * np.sin(np.linspace(0.0, 12.0, FRAMES)) + rng.normal(0.0, 0.4, FRAMES))
    plane = np.cumsum(rng.normal(0.0, 0.02, FRAMES))
    motion = waving(body(), bend=bend, plane=plane, seed=seed)
    result, _ = carried(motion, body(elbow=-Y))
    for name in ("LeftArm", "LeftForeArm", "RightArm", "RightForeArm"):
        steps = []
        for case in (motion, result):
            world = fk(case).rotations[:, case.skeleton.joint(name)]
            steps.append(np.degrees(angle_between(world[1:], world[:-1])).max())
        assert steps[1] < steps[0] + 3.0
    jumps = [np.linalg.norm(np.diff(fk(m)["LeftHand"], 2, axis=0), axis=1).max() for m in (motion, result)]
    assert jumps[1] < 1.25 * jumps[0]


def test_a_straight_arm_stays_as_it_is() -> None:
    motion = waving(body(), bend=np.zeros(FRAMES), plane=np.zeros(FRAMES))
    result, _ = carried(motion, body(elbow=-Y))
    assert angle_between(fk(result).rotations, fk(motion).rotations).max() < 1e-6


def test_one_frame_is_enough() -> None:
    motion = waving(body(), bend=BENT, plane=np.full(FRAMES, 0.5))[7:8]
    result, _ = carried(motion, body(elbow=-Y))
    assert degrees_off(motion, result).max() < 1e-5


def test_feet_are_not_twisted_for_their_toes() -> None:
    walk = samples.motion("walk").motion
    other = samples.character("other")
    names = {"Hips": "pelvis"}
    for side, letter in (("Left", "l"), ("Right", "r")):
        chain = {"UpLeg": "thigh", "Leg": "calf", "Foot": "foot", "ToeBase": "ball"}
        names |= {side + a: f"{b}_{letter}" for a, b in chain.items()}
    pairs = tuple(Pair(source=(a,), target=(b,)) for a, b in names.items())
    whole = Correspondence(source=walk.skeleton, target=other, pairs=pairs)
    aligned = align(whole)
    tree = PairTree(correspondence=whole, source=aligned.source, target=aligned.target, upright=True)
    hinges = [other.names[bend.hinge] for bend in find_bends(aligned, tree, hinge_groups(whole))]
    assert sorted(hinges) == ["calf_l", "calf_r"]


def robot_arm(*axes: Array) -> tuple[Correspondence, Alignment, PairTree]:
    """An arm of hinges: two at the shoulder, the rest at the elbow, paired as upper arm and forearm."""
    joints: Joints = [("Hips", "", Y, None), ("Chest", "Hips", 0.3 * Y, None), ("Head", "Chest", 0.3 * Y, None)]
    for side in ("Left", "Right"):
        parent, out = "Chest", _out(side)
        for number, axis in enumerate(axes):
            offset = {0: 0.2 * out, 2: 0.1 * out, 3: 0.15 * out}.get(number, 0.0 * out)
            joints.append((f"{side}_{number}", parent, offset, axis))
            parent = f"{side}_{number}"
        joints.append((f"{side}Hand", parent, 0.3 * out, None))
    target, source = built(joints), body()
    pairs = [("Hips", ("Hips",)), ("Chest", ("Chest",)), ("Head", ("Head",))]
    for side in ("Left", "Right"):
        pairs.append((f"{side}Arm", (f"{side}_0", f"{side}_1")))
        pairs.append((f"{side}ForeArm", tuple(f"{side}_{k}" for k in range(2, len(axes)))))
        pairs.append((f"{side}Hand", (f"{side}Hand",)))
    whole = Correspondence(source=source, target=target, pairs=tuple(Pair(source=(a,), target=b) for a, b in pairs))
    aligned = align(whole, mode="direction")
    tree = PairTree(correspondence=whole, source=aligned.source, target=aligned.target, upright=True)
    return whole, aligned, tree


def test_a_twist_hinge_of_the_forearm_completes_the_shoulder() -> None:
    """Shoulder pitch and roll, and an elbow that twists and bends: one ball of three hinges and one bend."""
    whole, aligned, tree = robot_arm(Z, Y, X, -Y)
    motion = waving(whole.source, bend=BENT, plane=0.3 * np.sin(np.linspace(0.0, 5.0, FRAMES)))
    rotations = {j: np.tile([1.0, 0.0, 0.0, 0.0], (1, 1)) for j in range(whole.target.num_joints)}
    groups = split_bends(aligned, tree, hinge_groups(whole), rotations)
    named = [tuple(whole.target.names[j] for j in group) for group in groups.values()]
    assert named == [("Left_0", "Left_1", "Left_2"), ("Left_3",), ("Right_0", "Right_1", "Right_2"), ("Right_3",)]
    result = transfer_motion(motion, aligned, floor=LEVEL, ratio=1.0)
    pose, goal = fk(result), directions(motion)
    for number, side in enumerate(("Left", "Right")):
        for bone, (start, end) in enumerate(((f"{side}_0", f"{side}_3"), (f"{side}_3", f"{side}Hand"))):
            line = pose[end] - pose[start]
            cosine = np.einsum("fi,fi->f", line, goal[:, 2 * number + bone]) / np.linalg.norm(line, axis=1)
            assert np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))).max() < 1e-4


def test_a_twist_hinge_after_the_elbow_is_by_itself() -> None:
    whole, aligned, tree = robot_arm(Z, Y, -Y, X)
    groups = split_bends(aligned, tree, hinge_groups(whole), {})
    named = [tuple(whole.target.names[j] for j in group) for group in groups.values()]
    assert named[:3] == [("Left_0", "Left_1"), ("Left_2",), ("Left_3",)]


@pytest.mark.parametrize("seed", range(5))
def test_pointing_angles_reach_the_goal_in_two_ways(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second, vector = (v / np.linalg.norm(v) for v in rng.normal(size=(3, 3)))
    angles = rng.uniform(-np.pi, np.pi, (50, 2))
    goal = rotate(multiply(from_axis_angle(first, angles[:, 0]), from_axis_angle(second, angles[:, 1])), vector)
    both = pointing_angles(first, second, vector, goal)
    for branch in range(2):
        turned = multiply(from_axis_angle(first, both[:, branch, 0]), from_axis_angle(second, both[:, branch, 1]))
        np.testing.assert_allclose(rotate(turned, vector), goal, atol=1e-7)
    off = np.remainder(both - angles[:, None] + np.pi, 2.0 * np.pi) - np.pi
    assert np.abs(off).sum(-1).min(-1).max() < 1e-5, "one of the two is the pair of angles that made the goal"


def test_pointing_angles_stop_where_a_goal_is_out_of_reach() -> None:
    """A direction at 30 degrees to an axis that is at right angles to the first never points along the first."""
    slanted = np.array([np.cos(np.pi / 6), np.sin(np.pi / 6), 0.0])
    found = pointing_angles(Y, X, slanted, np.array([Y, -Y]))
    turned = multiply(from_axis_angle(Y, found[:, 0, 0]), from_axis_angle(X, found[:, 0, 1]))
    np.testing.assert_allclose(rotate(turned, slanted)[:, 1], [0.5, -0.5], atol=1e-9)
