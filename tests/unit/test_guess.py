"""Guesses of unit, up axis and reference frames for bodies with known answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, exp, from_axis_angle, identity, multiply, rotate
from understudy.figure.measures import height
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.io import read, write
from understudy.io.clip import UNITS, name_unit, world_from_file
from understudy.io.guess import count_still_tail, find_reference_frame, guess

NAMES = (
    "Hips", "Spine", "Chest", "Neck", "Head",
    "LeftArm", "LeftForeArm", "LeftHand", "RightArm", "RightForeArm", "RightHand",
    "LeftUpLeg", "LeftLeg", "LeftFoot", "RightUpLeg", "RightLeg", "RightFoot",
)  # fmt: skip
PARENTS = np.array([-1, 0, 1, 2, 3, 2, 5, 6, 2, 8, 9, 0, 11, 12, 0, 14, 15])
OFFSETS = np.array(
    [
        [0, 0.95, 0], [0, 0.15, 0], [0, 0.2, 0], [0, 0.2, 0], [0, 0.1, 0],
        [0.2, 0.15, 0], [0.28, 0, 0], [0.25, 0, 0], [-0.2, 0.15, 0], [-0.28, 0, 0], [-0.25, 0, 0],
        [0.1, -0.05, 0], [0, -0.42, 0], [0, -0.42, 0], [-0.1, -0.05, 0], [0, -0.42, 0], [0, -0.42, 0],
    ]
)  # fmt: skip


def person(size: float = 1.0, names: tuple[str, ...] = NAMES) -> Skeleton:
    """A man of 1.75 m in some unit, standing along Y."""
    ends = (
        Point(name="top", joint=names[4], offset=np.array([0, 0.2, 0]) * size),
        Point(name="toe", joint=names[13], offset=np.array([0, -0.05, 0.15]) * size),
    )
    return Skeleton(names=names, parents=PARENTS, offsets=OFFSETS * size, ends=ends)


def walk(skeleton: Skeleton, size: float, frames: int = 40) -> Motion:
    """Legs and arms swing, and the body goes forward."""
    swing = 0.5 * np.sin(np.linspace(0, 12, frames))
    turns = np.zeros((frames, len(NAMES), 3))
    for joint, sign in ((11, 1), (14, -1), (5, -1), (8, 1)):
        turns[:, joint, 0] = sign * swing
    root = np.stack([np.zeros(frames), np.full(frames, 0.95), np.linspace(0, 2, frames)], axis=1)
    return Motion(skeleton=skeleton, fps=30.0, root=root * size, rotations=exp(turns))


def turned(motion: Motion, up: str) -> Motion:
    """The motion in a file with another axis up. Only the root changes."""
    x, y, z, w = -world_from_file(up)[1], -world_from_file(up)[2], -world_from_file(up)[3], world_from_file(up)[0]
    back = np.array([w, x, y, z])
    rotations: Array = motion.rotations.copy()
    rotations[:, 0] = multiply(back, rotations[:, 0])
    return replace(motion, root=rotate(back, motion.root), rotations=rotations)


@pytest.mark.parametrize("unit", ["m", "dm", "cm", "mm", "inch", "foot"])
@pytest.mark.parametrize("up", ["X", "Y", "Z", "-X", "-Y", "-Z"])
def test_a_walking_person_tells_unit_and_up(unit: str, up: str) -> None:
    size = 1.0 / UNITS[unit]
    motion = turned(walk(person(size), size), up)
    result = guess(motion.skeleton, motion)
    assert (name_unit(result.unit), result.up) == (unit, up)
    assert result.unit_reason.startswith(f"{unit}: the body measures ")
    assert result.unit_reason.endswith(" m")
    assert result.up_reason.startswith(
        f"{up} is up: legs hang down along {up}, the head is above the feet along {up}, "
    )


def test_the_posed_body_counts_and_not_the_rest_pose() -> None:
    """A body whose rest pose lies along X and that stands up only in its motion."""
    lying = replace(person(100.0), offsets=rotate(from_axis_angle([0.0, 0.0, 1.0], -np.pi / 2), OFFSETS * 100.0))
    assert guess(lying).up == "X"
    upright = Motion(skeleton=lying, fps=30.0, root=np.tile([0.0, 95.0, 0.0], (20, 1)), rotations=identity(20, 17))
    rotations = upright.rotations.copy()
    rotations[:, 0] = from_axis_angle([0.0, 0.0, 1.0], np.pi / 2)
    result = guess(lying, replace(upright, rotations=rotations))
    assert (name_unit(result.unit), result.up) == ("cm", "Y")


@pytest.mark.parametrize("sway", [0.06, 0.12])
def test_a_swimmer_shows_no_floor(sway: float) -> None:
    """A body that swims along Z, to and fro by some centimetres, and whose rest pose stands along Y: Y is up."""
    times = np.arange(200) / 50.0
    turns = np.zeros((200, len(NAMES), 3))
    for joint, sign in ((11, 1), (14, -1), (5, -1), (8, 1)):
        turns[:, joint, 0] = 0.4 * sign * np.sin(2.0 * np.pi * 1.2 * times)
    rotations = exp(turns)
    rotations[:, 0] = from_axis_angle([1.0, 0.0, 0.0], 0.5 * np.pi)
    root = np.zeros((200, 3))
    root[:, 1], root[:, 2] = 0.5, sway * np.sqrt(2.0) * np.sin(2.0 * np.pi * 0.6 * times)
    swimmer = Motion(skeleton=person(), fps=50.0, root=root, rotations=rotations)
    assert guess(swimmer.skeleton, swimmer).up == "Y"


def test_who_lies_with_slow_feet_shows_no_floor_below_them() -> None:
    """A man on his back slides slowly along the floor: his feet are slow, but only what is below his back is steady."""
    root = np.zeros((200, 3))
    root[:, 1], root[:, 2] = 0.1, np.linspace(0.0, 0.5, 200)
    rotations = identity(200, len(NAMES)).copy()
    rotations[:, 0] = from_axis_angle([1.0, 0.0, 0.0], -0.5 * np.pi)
    lying = Motion(skeleton=person(), fps=20.0, root=root, rotations=rotations)
    assert guess(lying.skeleton, lying).up == "Y"


def test_who_sits_on_the_floor_with_straight_legs_sits_upright() -> None:
    """Legs point ahead and hardly move: the trunk shows what is up, and the rest pose agrees."""
    still = walk(person(), 1.0)
    turns = np.zeros((40, len(NAMES), 3))
    turns[:, [11, 14], 0] = -np.pi / 2
    turns[:, 1, 0] = np.linspace(0.1, 0.5, 40)
    root = np.tile([0.0, 0.1, 0.0], (40, 1))
    sitting = replace(still, root=root, rotations=exp(turns))
    for up in ("Y", "Z", "X"):
        # The rest pose of a file with another axis up stands along that axis.
        rest = person().rest.copy()
        rest[0] = turned(sitting, up).rotations[0, 0]
        body = replace(person(), rest=rest)
        found = guess(body, turned(replace(sitting, skeleton=body), up))
        assert found.up == up, found.up_reason
        assert "as of who sits" in found.up_reason


def test_the_unit_of_cmu_is_known_by_its_names() -> None:
    names = (*NAMES[:5], "LHipJoint", "RHipJoint", *NAMES[7:])
    size = 1.0 / UNITS["cmu"]
    assert guess(person(size, names)).unit == UNITS["cmu"]
    assert guess(person(size, names)).unit_reason.startswith("cmu: joints are named as in the CMU database")
    assert guess(person(1.0, names)).unit == 1.0
    assert guess(person(size)).unit != UNITS["cmu"]


def test_creatures_without_feet_are_judged_by_their_longest_side_and_stand() -> None:
    legs = [np.array([np.cos(a), 0.0, np.sin(a)]) for a in np.linspace(0, 2 * np.pi, 8, endpoint=False)]
    count = 1 + 2 * len(legs)
    offsets = np.zeros((count, 3))
    offsets[0] = [0, 30, 0]
    parents = [-1]
    for number, leg in enumerate(legs):
        offsets[1 + 2 * number], offsets[2 + 2 * number] = 20 * leg, 30 * leg + np.array([0, 10, 0])
        parents += [0, 1 + 2 * number]
    ends = tuple(
        Point(name=f"e{n}", joint=f"j{2 + 2 * n}", offset=10 * leg + np.array([0, -40, 0]))
        for n, leg in enumerate(legs)
    )
    spider = Skeleton(names=tuple(f"j{n}" for n in range(count)), parents=np.array(parents), offsets=offsets, ends=ends)
    result = guess(spider)
    assert (name_unit(result.unit), result.up) == ("cm", "Y")
    assert result.unit_reason == "cm: the body measures 120 along its longest side, which makes 1.2 m"
    assert result.up_reason == (
        "Y is up: no joint is named as a foot, but ends stand on one level along Y (from the rest pose)"
    )
    tipped = rotate(from_axis_angle([1.0, 0.0, 0.0], np.pi / 2), offsets)
    moved = tuple(replace(end, offset=rotate(from_axis_angle([1.0, 0.0, 0.0], np.pi / 2), end.offset)) for end in ends)
    assert guess(replace(spider, offsets=tipped, ends=moved)).up == "Z"


@pytest.mark.parametrize("name", ["walk", "dance", "squat", "dog_walk"])
@pytest.mark.parametrize("up", ["X", "Y", "Z", "-X", "-Y", "-Z"])
def test_a_body_without_names_stands_on_what_does_not_move(up: str, name: str) -> None:
    motion = samples.motion(name).motion
    names = {joint: f"q{number}" for number, joint in enumerate(motion.skeleton.names)}
    ends = tuple(replace(end, name=f"e{n}", joint=names[end.joint]) for n, end in enumerate(motion.skeleton.ends))
    skeleton = replace(motion.skeleton, names=tuple(names.values()), ends=ends)
    found = guess(skeleton, turned(replace(motion, skeleton=skeleton), up), unit=1.0)
    assert found.up == up
    assert f"it stands or steps along {up}" in found.up_reason


@pytest.mark.parametrize("unit", ["m", "cm", "mm", "inch", "foot"])
@pytest.mark.parametrize("up", ["Y", "Z"])
def test_a_human_without_names_is_as_tall_as_a_human(up: str, unit: str) -> None:
    motion = samples.motion("walk").motion
    names = {joint: f"q{number}" for number, joint in enumerate(motion.skeleton.names)}
    ends = tuple(
        replace(end, name=f"e{n}", joint=names[end.joint], offset=end.offset / UNITS[unit])
        for n, end in enumerate(motion.skeleton.ends)
    )
    offsets = motion.skeleton.offsets / UNITS[unit]
    skeleton = replace(motion.skeleton, names=tuple(names.values()), ends=ends, offsets=offsets)
    walking = turned(replace(motion, skeleton=skeleton, root=motion.root / UNITS[unit]), up)
    found = guess(skeleton, walking)
    assert (name_unit(found.unit), found.up) == (unit, up)
    assert "from foot to head along its bones" in found.unit_reason


@pytest.mark.parametrize("up", ["X", "Y", "Z", "-X", "-Y", "-Z"])
@pytest.mark.parametrize("unit", ["m", "cm", "mm", "inch"])
def test_twist_bones_and_helpers_hide_no_feet(unit: str, up: str) -> None:
    """Bones beside those of a leg: what hangs from a thigh, a shin and a foot."""
    size = 1.0 / UNITS[unit]
    body = person(size)
    extra = {"LeftUpLegTwist": 11, "LeftLegTwist": 12, "LeftFootHelper": 13, "RightUpLegTwist": 14, "RightLegTwist": 15}
    made = Skeleton(
        names=(*body.names, *extra),
        parents=np.concatenate([body.parents, list(extra.values())]),
        offsets=np.concatenate([body.offsets, np.tile([0.0, -0.2 * size, 0.0], (len(extra), 1))]),
        ends=body.ends,
    )
    motion = walk(body, size)
    still = np.tile([1.0, 0.0, 0.0, 0.0], (motion.num_frames, len(extra), 1))
    motion = replace(motion, skeleton=made, rotations=np.concatenate([motion.rotations, still], axis=1))
    found = guess(made, turned(motion, up))
    assert (name_unit(found.unit), found.up) == (unit, up)
    assert "legs hang down" in found.up_reason


def test_too_little_to_judge_by_is_said() -> None:
    stick = Skeleton(names=("a", "b"), parents=np.array([-1, 0]), offsets=np.array([[0, 0, 0], [0, 30.0, 0]]))
    result = guess(stick)
    assert (result.unit, result.up) == (0.01, "Y")
    assert result.unit_reason == "cm: 2 joints of size 30 are too few to judge by"
    assert result.up_reason == "Y is up: no joint is named as a foot, and most files have Y up (from the rest pose)"
    point = Skeleton(names=("a",), parents=np.array([-1]), offsets=np.zeros((1, 3)))
    assert guess(point).unit_reason == "cm: the body has no size to judge by, and most files are in centimetres"


def test_bodies_too_large_for_arithmetic_end_in_a_guess() -> None:
    assert guess(person(1e300)).up == "Y"
    assert np.isfinite(guess(person(1e-300)).unit)


def test_a_reference_pose_in_front_is_found() -> None:
    motion = walk(person(), 1.0)
    rotations = multiply(from_axis_angle([1.0, 0.0, 0.0], 0.3), motion.rotations)
    moving = replace(motion, rotations=rotations)
    assert find_reference_frame(moving) is None
    first = replace(moving, rotations=np.concatenate([identity(1, 17), rotations[1:]]))
    assert find_reference_frame(first) == 0
    assert find_reference_frame(first[1:]) is None
    assert find_reference_frame(first[:3]) is None
    fault = first.rotations.copy()
    fault[20] = multiply(fault[20], from_axis_angle([0.0, 1.0, 0.0], 3.0))
    assert find_reference_frame(replace(first, rotations=fault)) == 0


def test_a_start_from_rest_is_no_reference_pose() -> None:
    turns = np.zeros((60, 17, 3))
    turns[:, :, 0] = np.linspace(0, 4, 60)[:, None]
    assert find_reference_frame(replace(walk(person(), 1.0, 60), rotations=exp(turns))) is None


def test_copies_at_the_end_are_counted() -> None:
    motion = walk(person(), 1.0)
    assert count_still_tail(motion) == 0
    frames = [*range(40), *[39] * 12]
    assert count_still_tail(motion[frames]) == 12
    assert count_still_tail(motion[[5] * 9]) == 8
    root_only = replace(motion[[5] * 9], root=motion.root[:9])
    assert count_still_tail(root_only) == 0


def test_a_root_on_the_floor_adds_nothing_to_the_height() -> None:
    body = person(100.0)
    offsets = np.concatenate([np.zeros((1, 3)), body.offsets])
    rooted = Skeleton(
        names=("root", *body.names), parents=np.concatenate([[-1], body.parents + 1]), offsets=offsets, ends=body.ends
    )
    assert guess(rooted).unit_reason == guess(body).unit_reason


def test_a_height_takes_the_place_of_a_unit(tmp_path: Path) -> None:
    path = tmp_path / "walk.bvh"
    write(samples.motion("walk").motion, path)
    assert height(read(path, height=1.2).skeleton) == pytest.approx(1.2, rel=1e-6)
    with pytest.raises(OptionError, match="Expected a unit or a height, got both"):
        read(path, height=1.2, unit="cm")
    with pytest.raises(OptionError, match="Expected a height in metres above zero, got -1"):
        read(path, height=-1.0)
