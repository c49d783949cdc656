"""Maps are tried before they are believed, and what fails is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.rigs.conventions import RIGS

import understudy
from understudy import samples
from understudy.correspondence.carry import floor_carriers, settle_floor_root
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, Pair, from_names
from understudy.correspondence.parts import BodyPlan
from understudy.correspondence.suggest import Failure, check_trial, match, split_body, suggest, suggest_and_try, try_map
from understudy.figure.kinematics import fk
from understudy.figure.main_bones import main_bones
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton


def walk() -> Motion:
    return next(iter(samples.motion("walk").actors.values()))


def renamed(skeleton: Skeleton, names: dict[str, str]) -> Skeleton:
    """A skeleton with some joints called otherwise, so that its structure counts as another."""
    new = {name: names.get(name, f"{name}_x") for name in skeleton.names}
    ends = tuple(replace(end, joint=new[end.joint]) for end in skeleton.ends)
    return replace(skeleton, names=tuple(new.values()), ends=ends)


def test_a_right_map_passes() -> None:
    adult, child = samples.character("adult"), renamed(samples.character("child"), {})
    found, failures = suggest_and_try(adult, child)
    assert failures == ()
    assert max(pair.confidence for pair in found.pairs) > 0.9


def test_legs_and_arms_exchanged_fail() -> None:
    adult, child = samples.character("adult"), renamed(samples.character("child"), {})
    plan, other = split_body(adult), split_body(child)
    wrong = replace(other, limbs=other.limbs[::-1])
    wrong = replace(
        wrong,
        limbs=tuple(
            tuple(replace(limb, kind=kind) for limb in pair) for kind, pair in zip(("leg", "arm"), wrong.limbs)
        ),
    )
    correspondence = Correspondence(source=adult, target=child, pairs=tuple(match(plan, wrong)))
    failures = try_map(correspondence, plan, wrong)
    assert any(failure.stops and "above the arms" in failure.sentence for failure in failures)
    with pytest.raises(CorrespondenceError, match="No map can be believed") as error:
        check_trial(correspondence, failures)
    assert "understudy map" in str(error.value.hint)


def parts_moved(plan: BodyPlan, kind: str, order: tuple[str, ...]) -> BodyPlan:
    """A body whose limbs of a kind have the joints of other parts: upper, lower, end and tip are those of `order`."""
    moved = {
        limb: replace(limb, parts={part: limb.parts[old] for part, old in zip(PARTS, order) if limb.parts.get(old)})
        for pair in plan.limbs
        for limb in pair
        if limb.kind == kind
    }
    return replace(plan, limbs=tuple((moved.get(a, a), moved.get(b, b)) for a, b in plan.limbs))


PARTS = ("upper", "lower", "end", "tip")
ORDERS = {
    "leg one down": ("leg", ("lower", "end", "tip", "")), "leg one up": ("leg", ("girdle", "upper", "lower", "end")),
    "arm one down": ("arm", ("lower", "end", "tip", "")), "arm one up": ("arm", ("girdle", "upper", "lower", "end")),
}  # fmt: skip


@pytest.mark.parametrize("wrong", ORDERS)
@pytest.mark.parametrize("rig", ["Mixamo", "Unreal 4", "Unity humanoid", "MMD", "3ds Max Biped", "Daz Genesis 3 and 8"])
def test_limbs_one_bone_off_fail(rig: str, wrong: str) -> None:
    adult, body = samples.character("adult"), main_bones(RIGS[rig].clip().skeleton).skeleton
    plans = split_body(adult), split_body(body)
    right = Correspondence(source=adult, target=body, pairs=tuple(match(*plans)))
    assert try_map(right, *plans) == ()
    other = parts_moved(plans[1], *ORDERS[wrong])
    correspondence = Correspondence(source=adult, target=body, pairs=tuple(match(plans[0], other)))
    assert try_map(correspondence, plans[0], other)


@pytest.mark.parametrize("rig", ["Mixamo", "Unreal 4", "MMD", "Daz Genesis 3 and 8", "Rokoko"])
def test_a_hand_played_by_a_finger_fails(rig: str) -> None:
    adult, body = samples.character("adult"), main_bones(RIGS[rig].clip().skeleton).skeleton
    plans = split_body(adult), split_body(body)
    hands = {limb.parts["end"][0]: limb for pair in plans[1].limbs for limb in pair if limb.kind == "arm"}
    wrong = {
        body.names[hand]: body.names[next(bones[0] for finger, bones in limb.digits.items() if "index" in finger)]
        for hand, limb in hands.items()
    }
    pairs = [replace(pair, target=tuple(wrong.get(bone, bone) for bone in pair.target)) for pair in match(*plans)]
    taken = {bone for pair in pairs for bone in pair.target if bone in wrong.values()}
    pairs = [p for p in pairs if not (taken & set(p.target)) or p.source[0] in ("LeftHand", "RightHand")]
    correspondence = Correspondence(source=adult, target=body, pairs=tuple(pairs))
    failures = [f.sentence for f in try_map(correspondence, *plans)]
    for hand in wrong:
        assert any(f"`{hand}` stays unmoved" in sentence and "plays the" in sentence for sentence in failures), failures


@pytest.mark.parametrize("part", ["head", "spine"])
def test_a_head_below_the_arms_and_a_stiff_back_fail(part: str) -> None:
    body = main_bones(RIGS["Unreal 4"].clip().skeleton).skeleton
    adult = samples.character("adult")
    plans = split_body(adult), split_body(body)
    trunk = dict(plans[1].trunk)
    spine, _ = trunk.pop("spine"), trunk.pop("neck")
    trunk |= {"head": spine[:1]} if part == "head" else {}
    other = replace(plans[1], trunk=trunk)
    correspondence = Correspondence(source=adult, target=body, pairs=tuple(match(plans[0], other)))
    sentences = " ".join(failure.sentence for failure in try_map(correspondence, plans[0], other))
    assert ("turns the arms with the head" if part == "head" else "the back does not bend") in sentences


def test_a_given_map_is_tried_and_what_is_wrong_is_said() -> None:
    source, child = walk(), renamed(samples.character("child"), {})
    right = {name: f"{name}_x" for name in source.skeleton.names}
    wrong = right | {
        f"{side}{a}": f"{side}{b}_x" for side in ("Left", "Right") for a, b in (("UpLeg", "Leg"), ("Leg", "Foot"))
    }
    wrong = {a: b for a, b in wrong.items() if a not in ("LeftFoot", "RightFoot", "LeftToeBase", "RightToeBase")}
    said = [
        [
            note
            for note in understudy.retarget(source, child, correspondence=names).notes
            if "the given map looks wrong" in note
        ]
        for names in (right, wrong)
    ]
    assert said[0] == []
    assert len(said[1]) == 1
    assert "`LeftUpLeg_x` stays unmoved" in said[1][0]


def test_what_fails_lowers_the_confidence() -> None:
    pair = Pair(source=("a",), target=("b",), confidence=0.95, reason="by name")
    from understudy.correspondence.suggest import _lowered

    assert _lowered(pair, ()).confidence == 0.95
    assert _lowered(pair, [Failure(sentence="c stays unmoved", bones=frozenset("c"))]).confidence == 0.9
    lowered = _lowered(pair, [Failure(sentence="`b` stays unmoved", bones=frozenset("b"))])
    assert lowered.confidence == 0.54
    assert lowered.reason == "by name; in the trial, `b` stays unmoved"


def with_floor_root(skeleton: Skeleton) -> Skeleton:
    """A rig for games: the body hangs from a joint between its feet."""
    place = skeleton.offsets[0] * [1.0, 0.0, 1.0]
    offsets = np.concatenate([[place], skeleton.offsets])
    offsets[1] = skeleton.offsets[0] - place
    return Skeleton(
        names=("root", *skeleton.names),
        parents=np.concatenate([[-1], skeleton.parents + 1]),
        offsets=offsets,
        rest=np.concatenate([[[1.0, 0.0, 0.0, 0.0]], skeleton.rest]),
        ends=skeleton.ends,
        name="game",
    )


def test_a_root_on_the_floor_follows_below_the_hips() -> None:
    source, rig = walk(), with_floor_root(samples.character("child"))
    found = suggest(source.skeleton, rig, source_motion=source)
    assert found.root is not None
    assert found.root.target == (samples.character("child").names[0],)
    assert floor_carriers(found) == ("root",)
    result = understudy.retarget(source, rig)
    pose = fk(result.motion)
    assert np.ptp(pose.positions[:, 0, 1]) < 1e-9
    level = (pose.positions[:, 0] - pose.positions[:, 1])[:, [0, 2]]
    assert np.abs(level).max() < 0.02
    assert any("`root` lies on the floor" in note for note in result.notes)
    plain = understudy.retarget(source, renamed(samples.character("child"), {}))
    assert np.abs(fk(plain.motion).positions - pose.positions[:, 1:]).max() < 0.005


def test_a_root_on_the_floor_may_stay() -> None:
    rig = with_floor_root(samples.character("child"))
    motion = understudy.retarget(walk(), rig).motion
    still = settle_floor_root(motion, 1, "stay")
    assert np.ptp(still.root, axis=0).max() < 1e-12
    assert np.abs(fk(still).positions[:, 1:] - fk(motion).positions[:, 1:]).max() < 1e-9


def test_a_map_that_names_the_root_is_kept() -> None:
    source, rig = walk(), with_floor_root(samples.character("child"))
    hips = source.skeleton.names[0]
    found = from_names(source.skeleton, rig, {hips: "root"})
    assert floor_carriers(found) == ()


def make_body(
    names: list[str], parents: list[int], offsets: list[list[float]], ends: dict[str, list[float]]
) -> Skeleton:
    points = tuple(Point(name=f"{joint}_end", joint=joint, offset=np.array(end)) for joint, end in ends.items())
    return Skeleton(names=tuple(names), parents=np.array(parents), offsets=np.array(offsets), ends=points, name="thing")


STRANGE = {
    "snake": make_body(
        [f"b{i}" for i in range(12)], [-1, *range(11)], [[0.0, 0.05, 0.0]] + [[0.0, 0.0, -0.1]] * 11, {}
    ),
    "table": make_body(
        list("tabcd"), [-1, 0, 0, 0, 0],
        [[0.0, 0.8, 0.0], [0.5, 0.0, 0.3], [-0.5, 0.0, 0.3], [0.5, 0.0, -0.3], [-0.5, 0.0, -0.3]],
        {joint: [0.0, -0.8, 0.0] for joint in "abcd"},
    ),
    "two joints": make_body(["x", "y"], [-1, 0], [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]], {}),
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_strange_bodies_are_told_as_what_they_are_understood(name: str) -> None:
    result = understudy.retarget(walk(), STRANGE[name])
    assert any("understood as" in note and "--map" in note for note in result.notes)


def test_all_joints_at_one_point_are_refused_with_a_hint() -> None:
    body = make_body(["x", "y", "z"], [-1, 0, 1], [[0.0, 0.0, 0.0]] * 3, {})
    with pytest.raises(understudy.UnderstudyError, match="lie at one point") as error:
        understudy.retarget(walk(), body)
    assert "understudy info" in str(error.value.hint)
