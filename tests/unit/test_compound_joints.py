"""Hinges that form one joint of the body, in any order and whatever their names."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from understudy import read, samples
from understudy.base.quaternion import angle_between, identity
from understudy.correspondence.neutral_pose import _Human
from understudy.correspondence.suggest import suggest
from understudy.figure.motion import rest_motion
from understudy.figure.roles import compound_joints, leaf_helpers, roles
from understudy.figure.skeleton import JointKind, Point, Skeleton

X, Y, Z = np.eye(3)


def make_chain(*motors: tuple[str, np.ndarray, tuple[float, ...]]) -> Skeleton:
    """A chain of motors below a root: names, axes and offsets from the one before."""
    axes = np.zeros((len(motors) + 1, 3, 3))
    axes[0] = np.eye(3)
    for number, (_, axis, _) in enumerate(motors, start=1):
        axes[number, 0] = axis
    return Skeleton(
        names=("pelvis", *(name for name, _, _ in motors)),
        parents=np.arange(len(motors) + 1) - 1,
        offsets=np.array([(0.0, 1.0, 0.0), *(offset for _, _, offset in motors)]),
        kinds=(JointKind.FREE, *(JointKind.HINGE for _ in motors)),
        axes=axes,
        ends=(Point(name="toe", joint=motors[-1][0], offset=np.array([0.0, -0.05, 0.15])),),
    )


def groups(skeleton: Skeleton) -> list[int]:
    """How many joints each compound joint below the root has."""
    return [len(compound.joints) for compound in compound_joints(skeleton, range(1, skeleton.num_joints))]


@pytest.mark.parametrize("order", list(permutations((X, Y, Z))))
def test_hip_of_three_motors_in_any_order(order: tuple[np.ndarray, ...]) -> None:
    """The twist of the thigh may sit anywhere along it; the knee and the ankle stay joints of their own."""
    leg = make_chain(
        ("a", order[0], (0.1, -0.05, 0.0)), ("b", order[1], (0.0, -0.03, 0.02)), ("c", order[2], (0.0, -0.02, 0.0)),
        ("d", X, (0.0, -0.4, 0.0)), ("e", X, (0.0, -0.4, 0.0)), ("f", Z, (0.0, -0.02, 0.0)),
    )  # fmt: skip
    assert groups(leg) == [3, 1, 2]


def test_twist_belongs_to_the_bone_that_it_is_in() -> None:
    arm = make_chain(
        ("pitch", X, (0.0, 0.0, 0.0)), ("roll", Z, (0.02, 0.0, 0.0)), ("elbow_yaw", Y, (0.0, -0.25, 0.0)),
        ("elbow", X, (0.0, -0.05, 0.0)), ("wrist_roll", Y, (0.0, -0.2, 0.0)), ("wrist", X, (0.0, -0.08, 0.0)),
    )  # fmt: skip
    compounds = compound_joints(arm, range(1, arm.num_joints))
    assert [[arm.names[j] for j in compound.joints] for compound in compounds] == [
        ["pitch", "roll", "elbow_yaw"], ["elbow", "wrist_roll"], ["wrist"],
    ]  # fmt: skip
    assert [arm.names[compound.centre] for compound in compounds] == ["roll", "elbow", "wrist"]


def test_ball_joints_stay_by_themselves() -> None:
    leg = Skeleton(names=tuple("pabc"), parents=np.arange(4) - 1, offsets=np.tile([0.0, -0.01, 0.0], (4, 1)))
    assert groups(leg) == [1, 1, 1]


def test_numbered_motors_are_no_thigh_shin_and_foot() -> None:
    """Names only number the motors; their axes show the knee and the ankle."""
    offsets = [(0.1, -0.05, 0.0), (0.0, -0.03, 0.0), (0.0, 0.0, 0.0), (0.0, -0.4, 0.0), (0.0, -0.4, 0.0), (0.0,) * 3]
    axes = [Y, Z, X, X, X, Z]
    leg = make_chain(*((f"leg_left_{i + 1}_joint", axes[i], offsets[i]) for i in range(6)))
    joints = roles(leg)
    found = {part: leg.names[joints[f"left_{part}"]] for part in ("upper_leg", "lower_leg", "foot")}
    assert found == {"upper_leg": "leg_left_1_joint", "lower_leg": "leg_left_4_joint", "foot": "leg_left_5_joint"}


STICKBOT = Path(__file__).resolve().parents[1] / "data" / "stickbot.xml"


def with_gears() -> Skeleton:
    """The stickbot with gears: motors that carry nothing, in its shoulders, hips and elbows."""
    bot = read(STICKBOT).skeleton
    above = [
        bot.index[f"{which}_{part}_joint"]
        for which in ("left", "right")
        for part in ("shoulder_roll", "hip_roll", "shoulder_yaw")
    ]
    gears = tuple(f"{bot.names[joint]}_gear" for joint in above)
    place = np.tile([0.02, 0.01, 0.03], (len(gears), 1))
    return replace(
        bot, names=(*bot.names, *gears), parents=np.append(bot.parents, above),
        kinds=(*bot.kinds, *[JointKind.HINGE] * len(gears)),
        offsets=np.concatenate([bot.offsets, place]), rest=np.concatenate([bot.rest, identity(len(gears))]),
        axes=np.concatenate([bot.axes, np.tile([Y, 0.0 * Y, 0.0 * Y], (len(gears), 1, 1))]),
        limits=np.concatenate([bot.limits, np.tile([-np.inf, np.inf], (len(gears), 3, 1))]),
    )  # fmt: skip


def test_gears_are_no_parts_of_a_limb() -> None:
    bot, geared = read(STICKBOT).skeleton, with_gears()
    assert {part: bot.names[joint] for part, joint in roles(bot).items()} == {
        part: geared.names[joint] for part, joint in roles(geared).items()
    }
    assert {geared.names[joint] for joint in leaf_helpers(geared)} == set(geared.names[bot.num_joints :])
    walk = samples.motion("walk").motion
    pairs = [suggest(walk.skeleton, body, source_motion=walk).pairs for body in (bot, geared)]
    assert [(pair.source, pair.target) for pair in pairs[0]] == [(pair.source, pair.target) for pair in pairs[1]]


def test_motors_of_an_ankle_do_not_show_where_a_foot_points() -> None:
    """The second motor of an ankle may sit behind the first: the foot points ahead all the same."""
    bot = read(STICKBOT).skeleton
    offsets = bot.offsets.copy()
    rolls = [bot.index[f"{which}_ankle_roll_joint"] for which in ("left", "right")]
    offsets[rolls] += [-0.05, 0.0, 0.0]
    ends = tuple(
        replace(end, offset=end.offset + 0.05 * X) if bot.index[end.joint] in rolls else end for end in bot.ends
    )
    bodies = (bot, replace(bot, offsets=offsets, ends=ends))
    poses = [_Human(motion=rest_motion(body), stands=True).construct() for body in bodies]
    assert angle_between(poses[0], poses[1]).max() < 1e-6
