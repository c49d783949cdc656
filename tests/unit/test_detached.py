"""Bodies with another tree: feet that hang from the ground, chests that carry the hips; mended, and put back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import SkeletonError
from understudy.base.quaternion import exp, from_axis_angle, identity, multiply, unrotate
from understudy.correspondence.detached import (
    attach,
    change_parents,
    describe_detached_feet,
    find_detached_feet,
    find_detached_limbs,
    find_waist,
)
from understudy.figure.kinematics import fk, joint_angle_curves
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.retarget.driver import retarget


def rig(**changes: object) -> Skeleton:
    """Two legs whose feet hang from the root, with a handle in front of each knee."""
    names = ["Root", "Body", "Foot.L", "Foot.R", "Knee.L", "Thigh.L", "Shin.L", "Thigh.R", "Shin.R"]
    parents = [-1, 0, 0, 0, 0, 1, 5, 1, 7]
    places = np.array([
        [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.1, 0.1, -0.02], [-0.1, 0.1, -0.02], [0.1, 0.5, 1.0],
        [0.1, 0.9, 0.0], [0.1, 0.5, 0.05], [-0.1, 0.9, 0.0], [-0.1, 0.5, 0.05],
    ])  # fmt: skip
    offsets = places - np.where(np.array(parents)[:, None] >= 0, places[parents], 0.0)
    ends = [Point(name=f"Shin{s}_end", joint=f"Shin{s}", offset=np.array([0.0, -0.4, -0.07])) for s in (".L", ".R")] + [
        Point(name=f"Foot{s}_end", joint=f"Foot{s}", offset=np.array([0.0, -0.08, 0.15])) for s in (".L", ".R")
    ]
    rest = identity(len(names))
    rest[2] = from_axis_angle(np.array([0.0, 1.0, 0.0]), 0.3)
    fields = {
        "names": tuple(names),
        "parents": np.array(parents),
        "offsets": offsets,
        "rest": rest,
        "ends": tuple(ends),
    }
    return Skeleton(**(fields | {"name": "rig"} | changes))  # type: ignore[arg-type]


def moved(skeleton: Skeleton, frames: int = 7) -> Motion:
    """Random rotations of all joints, and a path."""
    rng = np.random.default_rng(3)
    turns = exp(0.3 * rng.normal(size=(frames, skeleton.num_joints, 3)))
    return Motion(
        skeleton=skeleton, fps=30.0, root=rng.normal(size=(frames, 3)), rotations=multiply(skeleton.rest, turns)
    )


def test_feet_apart_are_found() -> None:
    assert find_detached_feet(rig()) == {"Foot.L": "Shin.L", "Foot.R": "Shin.R"}


@pytest.mark.parametrize("name", samples.characters())
def test_samples_have_none(name: str) -> None:
    skeleton = samples.character(name)
    assert find_detached_feet(skeleton) == {}
    assert attach(skeleton) is skeleton


def test_a_foot_somewhere_else_is_none() -> None:
    offsets = rig().offsets.copy()
    offsets[2] += [0.0, 0.0, 0.1]
    assert find_detached_feet(rig(offsets=offsets)) == {"Foot.R": "Shin.R"}


def test_a_foot_of_the_other_side_is_none() -> None:
    names = [
        name.replace("Foot.L", "Foot.X").replace("Foot.R", "Foot.L").replace("Foot.X", "Foot.R") for name in rig().names
    ]
    ends = tuple(end for end in rig().ends if end.joint.startswith("Shin"))
    assert find_detached_feet(rig(names=tuple(names), ends=ends)) == {}


def test_a_handle_that_carries_nothing_is_none() -> None:
    assert find_detached_feet(rig(ends=rig().ends[:2])) == {}


def test_hung_on_the_leg_it_rests_as_before() -> None:
    skeleton, attached = rig(), attach(rig())
    order = [attached.index[name] for name in skeleton.names]
    for before, after in zip(skeleton.rest_world, attached.rest_world):
        np.testing.assert_allclose(after[order], before, atol=1e-12)
    assert {attached.names[attached.parents[attached.index[f"Foot{s}"]]] for s in (".L", ".R")} == {"Shin.L", "Shin.R"}
    assert {end.joint for end in attached.ends} == {"Foot.L", "Foot.R"}
    assert find_detached_feet(attached) == {}


def test_limits_and_axes_go_with_their_joints() -> None:
    limits = np.tile([-np.inf, np.inf], (9, 3, 1))
    limits[2] = [-0.5, 0.25]
    attached = attach(rig(limits=limits))
    np.testing.assert_array_equal(attached.limits[attached.index["Foot.L"]], limits[2])
    np.testing.assert_array_equal(attached.limits[attached.index["Shin.L"]], limits[6])


@pytest.mark.parametrize("back", [False, True])
def test_rehung_nothing_moves(back: bool) -> None:
    one, other = (attach(rig()), rig()) if back else (rig(), attach(rig()))
    motion = moved(one)
    result = change_parents(motion, other)
    poses = fk(motion), fk(result)
    order = [other.index[name] for name in one.names]
    np.testing.assert_allclose(poses[1].positions[:, order], poses[0].positions, atol=1e-12)
    dots = np.abs(np.einsum("fji,fji->fj", poses[1].rotations[:, order], poses[0].rotations))
    np.testing.assert_allclose(dots, 1.0, atol=1e-12)
    again = change_parents(result, one)
    np.testing.assert_allclose(fk(again).positions, poses[0].positions, atol=1e-12)
    assert again.offsets is None


def test_put_back_only_the_feet_have_places_of_their_own() -> None:
    skeleton = rig()
    result = change_parents(moved(attach(skeleton)), skeleton)
    assert result.offsets is not None
    strays = np.abs(result.offsets - skeleton.offsets).max(axis=(0, 2)) > 1e-6
    assert {skeleton.names[j] for j in np.flatnonzero(strays)} == {"Foot.L", "Foot.R"}


def test_rehung_on_its_own_skeleton_it_is_the_same() -> None:
    motion = moved(rig())
    assert change_parents(motion, motion.skeleton) is motion


def test_what_is_told_of_it() -> None:
    assert describe_detached_feet(rig()).startswith("`Foot.L`, `Foot.R` hang apart from the legs")
    assert describe_detached_feet(attach(rig())) == ""


def test_other_joints_are_refused() -> None:
    other = replace(rig(), names=("Root", "Body", "Foot.L", "Foot.R", "Hand", *rig().names[5:]))
    with pytest.raises(SkeletonError, match=r"with other parents; these differ: Hand, Knee\.L"):
        change_parents(moved(rig()), other)


def make_cut_rig() -> Skeleton:
    """A human of deforming bones only, as exporters leave it: every piece hangs from the armature on the floor."""
    joints: dict[str, tuple[str, tuple[float, float, float]]] = {"rig": ("", (0.0, 0.0, 0.0))}
    above = "rig"
    for number, height in enumerate((0.97, 1.08, 1.2, 1.35, 1.5, 1.55, 1.6)):
        name = f"DEF-spine.{number:03}" if number else "DEF-spine"
        joints[name] = above, (0.0, height, 0.0)
        above = name
    joints["DEF-nose"] = "rig", (0.0, 1.68, 0.12)
    for mark, x in (("L", 1.0), ("R", -1.0)):
        pieces = (
            (("shoulder", 0.02, 1.45, 0.03),),
            (("upper_arm", 0.19, 1.44, -0.03), ("forearm", 0.45, 1.44, -0.04), ("hand", 0.69, 1.44, -0.02)),
            (("f_index.01", 0.78, 1.44, 0.02), ("f_index.02", 0.82, 1.44, 0.02)),
            (("thigh", 0.1, 0.93, 0.01), ("shin", 0.1, 0.5, 0.0), ("foot", 0.1, 0.08, -0.02), ("toe", 0.1, 0.02, 0.1)),
        )
        for piece in pieces:
            above = "rig"
            for part, along, height, depth in piece:
                joints[f"DEF-{part}.{mark}"] = above, (x * along, height, depth)
                above = f"DEF-{part}.{mark}"
    names = list(joints)
    parents = np.array([names.index(parent) if parent else -1 for parent, _ in joints.values()])
    places = np.array([place for _, place in joints.values()])
    offsets = np.concatenate([places[:1], places[1:] - places[parents[1:]]])
    tips = {"DEF-spine.006": (0.0, 0.2, 0.0), "DEF-nose": (0.0, 0.0, 0.02)}
    for mark, x in (("L", 1.0), ("R", -1.0)):
        tips |= {f"DEF-shoulder.{mark}": (0.15 * x, 0.0, -0.05), f"DEF-toe.{mark}": (0.0, 0.0, 0.07)}
        tips |= {f"DEF-f_index.02.{mark}": (0.02 * x, 0.0, 0.0)}
    ends = tuple(Point(name=f"{joint}_end", joint=joint, offset=np.array(tip)) for joint, tip in tips.items())
    return Skeleton(names=tuple(names), parents=parents, offsets=offsets, ends=ends, name="cut")


def test_a_rig_cut_into_pieces_is_put_together() -> None:
    rig = make_cut_rig()
    limbs = find_detached_limbs(rig)
    assert {name: limbs[name] for name in limbs if name.endswith(".L") or name == "DEF-nose"} == {
        "DEF-shoulder.L": "DEF-spine.003", "DEF-upper_arm.L": "DEF-shoulder.L", "DEF-f_index.01.L": "DEF-hand.L",
        "DEF-thigh.L": "DEF-spine", "DEF-nose": "DEF-spine.006",
    }  # fmt: skip
    joints = roles(attach(rig))
    names = attach(rig).names
    assert {part: names[joints[part]] for part in ("hips", "chest", "neck", "head")} == {
        "hips": "DEF-spine", "chest": "DEF-spine.003", "neck": "DEF-spine.004", "head": "DEF-spine.006",
    }  # fmt: skip
    assert "cut into pieces that all hang from `rig`" in describe_detached_feet(rig)


def test_a_whole_rig_has_no_detached_limbs() -> None:
    for name in samples.characters():
        assert find_detached_limbs(samples.character(name)) == {}


def chest_rig(floor_root: bool = False) -> Skeleton:
    """A robot whose chest carries its pelvis by a hinge and a universal joint, its arms and its legs."""
    joints: dict[str, tuple[str, tuple[float, float, float]]] = {"floor": ("", (0.0, 0.0, 0.0))} if floor_root else {}
    joints |= {
        "torso": ("floor" if floor_root else "", (0.0, 1.3, 0.02)),
        "waist_yaw": ("torso", (0.01, 1.1, 0.0)),
        "waist_pitch": ("waist_yaw", (0.0, 1.0, -0.01)),
        "head": ("torso", (0.0, 1.6, 0.0)),
    }
    for which, sign in (("left", 1.0), ("right", -1.0)):
        for part, above, place in (
            ("shoulder", "torso", (0.2, 1.5, 0.0)), ("elbow", "shoulder", (0.2, 1.25, -0.01)),
            ("wrist", "elbow", (0.2, 1.0, 0.0)), ("hip", "waist_pitch", (0.1, 0.95, 0.0)),
            ("knee", "hip", (0.1, 0.5, 0.01)), ("ankle", "knee", (0.1, 0.08, 0.0)),
        ):  # fmt: skip
            above = above if above in joints else f"{which}_{above}"
            joints[f"{which}_{part}"] = above, (sign * place[0], place[1], place[2])
    names, index = tuple(joints), {name: number for number, name in enumerate(joints)}
    parents = np.array([index.get(above, -1) for above, _ in joints.values()])
    places = np.array([place for _, place in joints.values()])
    kinds = [JointKind.FREE] + [JointKind.BALL] * (len(names) - 1)
    axes, limits = np.tile(np.eye(3), (len(names), 1, 1)), np.tile([-np.inf, np.inf], (len(names), 3, 1))
    kinds[index["waist_yaw"]], kinds[index["waist_pitch"]] = JointKind.HINGE, JointKind.UNIVERSAL
    axes[index["waist_yaw"]] = [[0.0, 1.0, 0.0], [0.0] * 3, [0.0] * 3]
    axes[index["waist_pitch"]] = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0] * 3]
    limits[index["waist_yaw"], 0], limits[index["waist_pitch"], :2] = [-0.4, 0.9], [[-0.2, 0.7], [-0.3, 0.1]]
    rest = identity(len(names))
    rest[index["waist_pitch"]] = from_axis_angle(np.array([0.0, 1.0, 0.0]), 0.4)
    turned = Skeleton(names=names, parents=parents, offsets=np.zeros_like(places), rest=rest).rest_world[1]
    offsets = np.array([
        place if parent < 0 else unrotate(turned[parent], place - places[parent])
        for place, parent in zip(places, parents, strict=True)
    ])  # fmt: skip
    return Skeleton(
        names=names, parents=parents, offsets=offsets, rest=rest, kinds=tuple(kinds), axes=axes, limits=limits,
        ends=(Point(name="back", joint="torso", offset=np.array([0.0, 0.1, -0.1])),), name="chest rig",
    )  # fmt: skip


def performed(skeleton: Skeleton, angles: dict[str, tuple[float, ...]]) -> Motion:
    """Random rotations of the balls, given angles of the other joints, and a path; a root on the floor stands still."""
    motion = moved(skeleton)
    rotations = motion.rotations.copy()
    for name, turns in angles.items():
        joint = skeleton.index[name]
        rotation = skeleton.rest[joint]
        for axis, angle in zip(skeleton.axes[joint], turns, strict=False):
            rotation = multiply(rotation, from_axis_angle(axis, angle))
        rotations[:, joint] = rotation
    return replace(motion, rotations=rotations)


@pytest.mark.parametrize("floor_root", [False, True])
def test_a_chest_that_carries_the_hips_is_carried_by_them(floor_root: bool) -> None:
    """Bones are where they were, joints have inverse rotations within the same limits, and back all is as before."""
    skeleton = chest_rig(floor_root)
    assert find_waist(skeleton) == ("torso", "waist_yaw", "waist_pitch")
    assert describe_detached_feet(skeleton).startswith("its chest `torso` carries `waist_pitch`")
    turned = attach(skeleton)
    assert find_waist(turned) == ()
    assert attach(turned) is turned
    assert turned.names[1 if floor_root else 0] == "waist_pitch"
    assert {n: turned.names[turned.parents[turned.index[n]]] for n in ("torso", "waist_yaw", "head", "left_hip")} == {
        "torso": "waist_yaw", "waist_yaw": "waist_pitch", "head": "torso", "left_hip": "waist_pitch",
    }  # fmt: skip
    motion = performed(skeleton, {"waist_yaw": (0.8,), "waist_pitch": (0.6, -0.25)})
    result = change_parents(motion, turned)
    limbs = [n for n in skeleton.names if n not in ("torso", "waist_yaw")]
    before, after = fk(motion), fk(result)
    order, others = [skeleton.index[n] for n in limbs], [turned.index[n] for n in limbs]
    np.testing.assert_allclose(after.positions[:, others], before.positions[:, order], atol=1e-12)
    np.testing.assert_allclose(after.points(turned.ends), before.points(skeleton.ends), atol=1e-12)
    assert result.offsets is None or floor_root
    angles = joint_angle_curves(turned, result.rotations)
    np.testing.assert_allclose(angles[:, turned.index["torso"], 0], 0.8, atol=1e-9)
    np.testing.assert_allclose(angles[:, turned.index["waist_yaw"], :2], [[-0.25, 0.6]] * 7, atol=1e-9)
    np.testing.assert_array_equal(turned.limits[turned.index["torso"], 0], [-0.4, 0.9])
    np.testing.assert_array_equal(turned.limits[turned.index["waist_yaw"], :2], [[-0.3, 0.1], [-0.2, 0.7]])
    again = change_parents(result, skeleton)
    np.testing.assert_allclose(fk(again).positions, fk(motion).positions, atol=1e-12)


def test_the_waist_of_such_a_robot_bends_as_a_spine() -> None:
    walk = samples.motion("walk", fps=30.0, seconds=1.0).motion
    result = retarget(walk, chest_rig())
    assert any("plays the hips" in note for note in result.notes)
    assert result.motion.skeleton.names == chest_rig().names
    assert result.motion.offsets is None
    alignment = result.prepared.plan.assignments[0].alignment if result.prepared.plan else None
    assert alignment is not None
    partner = {pair.source[0]: pair.target for pair in alignment.correspondence.pairs}
    assert partner["Hips"] == ("waist_pitch",)
    assert partner["LowerBack"] == ("waist_yaw", "torso")


def test_a_root_in_the_pelvis_is_no_chest() -> None:
    """A spine without joints of its own hangs the arms from the root; the legs have a joint of their own below it."""
    low = chest_rig()
    offsets = low.offsets.copy()
    offsets[0, 1] -= 0.35
    for joint in low.children[0]:
        offsets[joint, 1] += 0.35
    assert find_waist(replace(low, offsets=offsets)) == ()
