"""The meta-skeleton: both bodies live on it exactly, shared bones are one, the others between or beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import MotionError
from understudy.base.quaternion import Array, angle_between
from understudy.correspondence.alignment import Alignment, align
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, Pair, PointPair
from understudy.figure.contacts import contact_points
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.transition.meta_skeleton import MetaSkeleton, matched, meta_skeleton, unite

LEGS = (("UpLeg", "Thigh"), ("Leg", "Shin"), ("Foot", "Metatarsus"), ("ToeBase", "HindPaw"))
ARMS = (("Shoulder", "Scapula"), ("Arm", "UpperArm"), ("ForeArm", "Forearm"), ("Hand", "Metacarpus"))


def human_to_dog() -> Correspondence:
    """The sample human's bones and the sample dog's."""
    pairs = [
        Pair(source=("Hips",), target=("Hips",)),
        Pair(source=("LowerBack", "Spine", "Spine1"), target=("Spine", "Spine1", "Spine2", "Chest")),
        Pair(source=("Neck",), target=("Neck", "Neck1")),
        Pair(source=("Head",), target=("Head",)),
    ]
    for side in ("Left", "Right"):
        pairs += [Pair(source=(side + a,), target=(side + b,)) for a, b in (*LEGS, *ARMS)]
    human, dog = (samples.motion(name).motion.skeleton for name in ("walk", "dog_walk"))
    return Correspondence(source=human, target=dog, pairs=tuple(pairs))


def tree(shape: dict[str, str], name: str = "", ends: tuple[Point, ...] = ()) -> Skeleton:
    """A body from child -> parent, in order; every bone a tenth of a metre, each in another direction."""
    names = tuple(shape)
    rng = np.random.default_rng(len(names))
    offsets = rng.normal(size=(len(names), 3))
    offsets *= 0.1 / np.linalg.norm(offsets, axis=-1, keepdims=True)
    parents = np.array([names.index(above) if above else -1 for above in shape.values()])
    return Skeleton(names=names, parents=parents, offsets=offsets, name=name, ends=ends)


def as_they_rest(whole: Correspondence) -> Alignment:
    """Both rest poses as reference poses."""
    return align(whole, mode="stance")


def put_together(
    source: Skeleton, target: Skeleton, *pairs: tuple[str, str], points: tuple[PointPair, ...] = ()
) -> MetaSkeleton:
    made = tuple(Pair(source=tuple(a.split()), target=tuple(b.split())) for a, b in pairs)
    whole = Correspondence(source=source, target=target, pairs=made, points=points)
    return meta_skeleton(whole, as_they_rest(whole))


def hung(meta: MetaSkeleton) -> dict[str, str]:
    """Each joint of the meta-skeleton and what it hangs from."""
    names = meta.skeleton.names
    return {name: names[p] if p >= 0 else "" for name, p in zip(names, meta.skeleton.parents, strict=True)}


def off_place(meta: MetaSkeleton, side: str, motion: Motion) -> float:
    """Metres by which any joint or end of a motion is elsewhere on the meta-skeleton."""
    moved = (meta.from_source if side == "source" else meta.from_target)(motion)
    here, there = fk(motion), fk(moved)
    which = ("source", "target").index(side)
    worst = 0.0
    for joint in range(motion.skeleton.num_joints):
        gap = there.positions[:, meta.number(side, joint)] - here.positions[:, joint]
        worst = max(worst, float(np.abs(gap).max()))
    for number, end in enumerate(motion.skeleton.ends):
        joint = int(np.flatnonzero(meta.ends[:, which] == number)[0])
        worst = max(worst, float(np.abs(there.positions[:, joint] - here.points([end])[:, 0]).max()))
    return worst


@pytest.fixture(scope="module")
def both() -> MetaSkeleton:
    whole = human_to_dog()
    return meta_skeleton(whole, align(whole))


@pytest.fixture(scope="module")
def walks() -> tuple[Motion, Motion]:
    return samples.motion("walk").motion, samples.motion("dog_walk").motion


def test_both_motions_live_on_it_exactly(both: MetaSkeleton, walks: tuple[Motion, Motion]) -> None:
    assert off_place(both, "source", walks[0]) < 1e-9
    assert off_place(both, "target", walks[1]) < 1e-9


def test_a_body_that_changes_size_lives_on_it_exactly(both: MetaSkeleton, walks: tuple[Motion, Motion]) -> None:
    growth = np.linspace(1.0, 1.4, walks[0].num_frames)[:, None, None]
    morphing = replace(walks[0], offsets=growth * walks[0].skeleton.offsets)
    assert off_place(both, "source", morphing) < 1e-9


def test_bones_keep_their_lengths_and_those_a_body_lacks_have_none(
    both: MetaSkeleton, walks: tuple[Motion, Motion]
) -> None:
    for which, moved in enumerate((both.from_source(walks[0]), both.from_target(walks[1]))):
        assert moved.offsets is not None
        lengths = np.linalg.norm(moved.offsets[:, 1:], axis=-1)
        assert np.ptp(lengths, axis=0).max() < 1e-9
        lacking = (both.joints[1:, which] < 0) & (both.ends[1:, which] < 0)
        assert lacking.any()
        assert lengths[:, lacking].max() == pytest.approx(0.0, abs=1e-12)
        at_rest = angle_between(moved.rotations[:, 1:][:, lacking], both.skeleton.rest[1:][lacking])
        assert at_rest.max() < 1e-7


def test_frames_agree_in_the_aligned_reference_poses(both: MetaSkeleton) -> None:
    whole = both.correspondence
    found = align(whole)
    poses = [
        replace(rest_motion(body), rotations=local[None])
        for body, local in ((whole.source, found.source), (whole.target, found.target))
    ]
    first, second = both.from_source(poses[0]), both.from_target(poses[1])
    assert angle_between(first.rotations, second.rotations).max() < 1e-7
    assert angle_between(first.rotations[0], both.skeleton.rest).max() < 1e-7


def test_motions_come_back_from_it(both: MetaSkeleton, walks: tuple[Motion, Motion]) -> None:
    for motion, back in (
        (walks[0], both.to_source(both.from_source(walks[0]))),
        (walks[1], both.to_target(both.from_target(walks[1]))),
    ):
        assert np.abs(fk(back).positions - fk(motion).positions).max() < 1e-9
        assert angle_between(back.rotations, motion.rotations).max() < 1e-7
        assert back.skeleton.names == motion.skeleton.names
        assert back.offsets is None


def test_points_of_either_body_are_found_on_it(both: MetaSkeleton, walks: tuple[Motion, Motion]) -> None:
    for side, motion, moved in (
        ("source", walks[0], both.from_source(walks[0])),
        ("target", walks[1], both.from_target(walks[1])),
    ):
        made = Point(name="spot", joint=motion.skeleton.names[4], offset=np.array([0.1, -0.2, 0.3]))
        points = [*contact_points(motion), made]
        there = fk(moved).points([both.point(side, point) for point in points])
        assert np.abs(there - fk(motion).points(points)).max() < 1e-9


def test_the_names_say_whose_bone_it_is(both: MetaSkeleton) -> None:
    names = both.skeleton.names
    assert len(set(names)) == len(names)
    assert hung(both)["dog_Spine1"] == "LowerBack"  # the human has a Spine1 of its own
    assert "dog_HeadTop" not in names  # an end of the same name on the shared head is shared
    assert {"Tail4", "LeftForePaw", "Jaw", "TailTip", "Nose"} <= set(names)
    assert both.num_shared == 22  # hips, three of the back, neck, head, and four of each limb
    assert both.skeleton.kinds[names.index("TailTip")] is JointKind.FIXED


def test_a_long_chain_keeps_the_bones_that_the_short_one_lacks() -> None:
    long = tree({"a": "", "b": "a", "c": "b", "d": "c", "e": "d"})
    short = tree({"x": "", "y": "x", "z": "y"})
    whole = Correspondence(source=long, target=short, pairs=(Pair(source=("a",), target=("x",)),))
    for source, target, wanted in (
        (("b", "c", "d", "e"), ("y", "z"), [("b", "y"), ("e", "z")]),
        (("b",), ("y", "z"), [("b", "y")]),
        (("b", "c"), ("y", "z"), [("b", "y"), ("c", "z")]),
    ):
        assert matched(whole, Pair(source=source, target=target)) == wanted
    back = whole.reversed()
    assert matched(back, Pair(source=("x", "y", "z"), target=("a", "b", "c", "d", "e"))) == [
        ("x", "a"), ("y", "c"), ("z", "e"),
    ]  # fmt: skip


def test_unmatched_bones_of_both_stand_in_series() -> None:
    source = tree({"hips": "", "one": "hips", "two": "one", "hand": "two"})
    target = tree({"Hips": "", "first": "Hips", "Hand": "first"})
    meta = put_together(source, target, ("hips", "Hips"), ("hand", "Hand"))
    assert hung(meta) == {"hips": "", "one": "hips", "two": "one", "first": "two", "hand": "first"}


def test_a_bone_that_leads_to_more_stands_higher() -> None:
    source = tree({"hips": "", "left": "hips", "right": "hips", "l": "left", "r": "right"})
    target = tree({"Hips": "", "pelvis": "Hips", "L": "pelvis", "R": "pelvis", "tail": "pelvis"})
    meta = put_together(source, target, ("hips", "Hips"), ("l", "L"), ("r", "R"))
    assert hung(meta) == {
        "hips": "", "pelvis": "hips", "left": "pelvis", "l": "left", "right": "pelvis", "r": "right", "tail": "pelvis",
    }  # fmt: skip


def test_a_body_with_joints_above_the_shared_root() -> None:
    source = tree({"hips": "", "leg": "hips"})
    target = tree({"world": "", "mark": "world", "Hips": "world", "Leg": "Hips"})
    meta = put_together(source, target, ("hips", "Hips"), ("leg", "Leg"))
    assert hung(meta) == {"world": "", "hips": "world", "leg": "hips", "mark": "world"}
    rng = np.random.default_rng(3)
    for side, body in (("source", source), ("target", target)):
        assert off_place(meta, side, turned(body, rng)) < 1e-9
    lying = meta.from_source(turned(source, rng))
    assert lying.offsets is not None
    assert np.abs(lying.offsets[:, 1]).max() < 1e-12  # the human's hips are where the world joint is


def test_bodies_that_disagree_on_what_hangs_from_what_still_live_on_it() -> None:
    """Some rigs hang the thighs from the spine, others from the hips: here they hang from what both agree on."""
    source = tree({"hips": "", "spine": "hips", "thigh": "hips", "shin": "thigh"})
    target = tree({"Hips": "", "Spine": "Hips", "extra": "Spine", "Thigh": "extra", "Shin": "Thigh"})
    meta = put_together(source, target, ("hips", "Hips"), ("spine", "Spine"), ("thigh", "Thigh"), ("shin", "Shin"))
    assert hung(meta) == {"hips": "", "spine": "hips", "extra": "spine", "thigh": "hips", "shin": "thigh"}
    assert meta.loose == ("thigh",)
    rng = np.random.default_rng(4)
    assert off_place(meta, "source", turned(source, rng)) < 1e-9
    assert off_place(meta, "target", turned(target, rng)) < 1e-9


def test_ends_are_shared_by_the_map_by_name_or_where_each_is_alone() -> None:
    def end(name: str, joint: str) -> Point:
        return Point(name=name, joint=joint, offset=np.array([0.0, 0.0, 0.1]))

    source = tree({"hips": "", "foot": "hips", "hand": "hips"}, ends=(end("toe", "foot"), end("tip", "hand")))
    target = tree(
        {"Hips": "", "paw": "Hips", "claw": "Hips"}, name="cat",
        ends=(end("pad", "paw"), end("toe", "paw"), end("nail", "claw"), end("tip", "Hips")),
    )  # fmt: skip
    shared = (("hips", "Hips"), ("foot", "paw"), ("hand", "claw"))
    assert hung(put_together(source, target, *shared)) == {
        "hips": "", "foot": "hips", "hand": "hips", "toe": "foot", "tip": "hand", "pad": "foot", "cat_tip": "hips",
    }  # fmt: skip
    said = put_together(source, target, *shared, points=(PointPair(source="toe", target="pad"),))
    assert hung(said)["cat_toe"] == "foot"
    assert "pad" not in said.skeleton.names


def test_bones_that_do_not_follow_each_other_are_refused() -> None:
    source = tree({"hips": "", "left_leg": "hips", "right_leg": "hips"})
    target = tree({"body": "", "fin": "body"})
    with pytest.raises(CorrespondenceError) as caught:
        put_together(source, target, ("hips", "body"), ("left_leg right_leg", "fin"))
    assert "ambiguous" in caught.value.message
    assert "`left_leg`, `right_leg` of the source do not form a chain" in caught.value.message
    with pytest.raises(CorrespondenceError, match="of the target do not form a chain"):
        put_together(target, source, ("body", "hips"), ("fin", "left_leg right_leg"))


def test_bones_that_lead_to_crossing_parts_are_refused() -> None:
    source = tree({"hips": "", "u": "hips", "a": "u", "b": "u", "c": "hips"})
    target = tree({"Hips": "", "v": "Hips", "A": "Hips", "B": "v", "C": "v"})
    with pytest.raises(CorrespondenceError) as caught:
        put_together(source, target, ("hips", "Hips"), ("a", "A"), ("b", "B"), ("c", "C"))
    assert "`u` of the source and `v` of the target both lead to `b`" in caught.value.message
    assert caught.value.hint


def test_a_motion_of_another_body_is_refused(both: MetaSkeleton, walks: tuple[Motion, Motion]) -> None:
    with pytest.raises(MotionError, match=r"Expected a motion of the target, `dog` with 32 joints.*got one of `adult`"):
        both.from_target(walks[0])
    with pytest.raises(MotionError, match="Expected a motion of the meta-skeleton"):
        both.to_source(walks[0])


def turned(body: Skeleton, rng: np.random.Generator, num_frames: int = 4) -> Motion:
    """A motion at random."""
    rotations: Array = rng.normal(size=(num_frames, body.num_joints, 4))
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    return Motion(skeleton=body, fps=30.0, root=rng.normal(size=(num_frames, 3)), rotations=rotations)


@pytest.mark.parametrize("seed", range(40))
def test_any_two_bodies_live_on_it_exactly(seed: int, make_skeleton: Callable[..., Skeleton]) -> None:
    """Random trees and random pairs: whatever is not refused holds both bodies, every joint once."""
    rng = np.random.default_rng(seed)
    source, target = (make_skeleton(rng, int(rng.integers(3, 12))) for _ in range(2))
    whole = Correspondence(
        source=source, target=target, pairs=(Pair(source=(source.names[0],), target=(target.names[0],)),)
    )
    for _ in range(20):
        pair = Pair(source=(str(rng.choice(source.names)),), target=(str(rng.choice(target.names)),))
        try:
            more = replace(whole, pairs=(*whole.pairs, pair))
            unite(more)
        except CorrespondenceError:
            continue
        whole = more
    meta = meta_skeleton(whole, as_they_rest(whole))
    for which, body in enumerate((source, target)):
        assert sorted(meta.joints[meta.joints[:, which] >= 0, which]) == list(range(body.num_joints))
        assert off_place(meta, ("source", "target")[which], turned(body, rng)) < 1e-9
    assert meta.num_shared == len(whole.pairs)
