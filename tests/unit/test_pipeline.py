"""Retargeting from end to end on the samples: what is kept, what is honoured, and what comes of bad input."""

from __future__ import annotations

import gc
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import understudy
from understudy import samples
from understudy.base.errors import OptionError, SkeletonError, UnknownNameError
from understudy.base.quaternion import angle_between
from understudy.constraints.base import PointRef
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.correspondence.pairs import CorrespondenceError
from understudy.figure.contacts import Contact, Detection, Floor, leg_ratio
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.retarget.driver import morph, naive, retarget
from understudy.retarget.plan import Assignment, Options, plan
from understudy.samples import Scene
from understudy.solve.solvers.base import Solution
from understudy.solve.solvers.ik import Ik


@cache
def scene(name: str = "walk") -> Scene:
    return samples.motion(name)


def walk() -> Motion:
    return scene().motion


def scaled(factor: float, *parts: str) -> Skeleton:
    """The walker with some of its bones longer; all of them if none is named."""
    body = walk().skeleton
    return body.scaled([factor if not parts or any(p in n for p in parts) else 1.0 for n in body.names])


@cache
def shins() -> Skeleton:
    """Longer below the knee only: nothing that scaling alone would solve."""
    body = walk().skeleton
    return body.scaled([1.3 if name in ("LeftFoot", "RightFoot") else 1.0 for name in body.names])


@cache
def striding() -> Solution:
    """A smaller walker in the original's footsteps."""
    return retarget(walk(), scaled(0.8), contacts=scene().contacts, options=Options(plants="fixed"))


def slides(solution: Solution, contacts: tuple[Contact, ...]) -> float:
    """How far the worst planted point strays from its mean place, metres."""
    pose, motion = fk(solution.motion), solution.motion
    paths = [pose.points([c.point.name])[c.frames(motion.fps, motion.num_frames), 0] for c in contacts]
    return max(float(np.linalg.norm(path - path.mean(axis=0), axis=-1).max()) for path in paths if len(path))


def jump(motion: Motion) -> float:
    """The longest way of any joint from one frame to the next, metres."""
    return float(np.linalg.norm(np.diff(fk(motion).positions, axis=0), axis=-1).max())


def assert_sound(solution: Solution) -> None:
    for motion in solution.motions:
        assert np.isfinite(motion.rotations).all()
        assert np.isfinite(motion.root).all()
    assert all(np.isfinite(o.worst) for o in solution.outcomes)


@pytest.mark.parametrize("name", ["walk", "run", "squat", "dog_walk", "spider_walk"])
@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_an_evenly_scaled_body_moves_as_the_source_does(name: str, factor: float) -> None:
    """With exact contacts nothing is left to solve: rotations to 1e-6, places scaled to a micrometre a metre."""
    given = scene(name)
    found = retarget(given.motion, given.motion.skeleton.scaled(factor), contacts=given.contacts)
    assert not found.unmet
    assert found.outcomes
    assert angle_between(found.motion.rotations, given.motion.rotations).max() < 1e-6
    np.testing.assert_allclose(fk(found.motion).positions, factor * fk(given.motion).positions, atol=1e-6 * factor)


def test_free_plants_stay_still_and_the_rest_of_the_body_is_left_alone() -> None:
    found = retarget(walk(), shins(), contacts=scene().contacts)
    assert not found.unmet
    assert slides(found, scene().contacts) < 1e-3
    copied = fk(naive(walk(), shins()))
    first = next(c for c in scene().contacts if c.start > 0.5)
    path = copied.points([first.point.name])[first.frames(30.0, walk().num_frames), 0]
    assert np.ptp(path, axis=0).max() > 5e-3, "copying must slide for this to mean anything"
    for name in ("LeftArm", "RightHand", "Head", "Spine"):
        joint = walk().skeleton.joint(name)
        np.testing.assert_array_equal(found.motion.rotations[:, joint], walk().rotations[:, joint])


def test_fixed_plants_are_in_the_original_footsteps() -> None:
    found = striding()
    assert not found.unmet
    assert slides(found, scene().contacts) < 1e-3
    pinned = [o.constraint for o in found.outcomes if isinstance(o.constraint, Place)]
    assert len(pinned) >= 8
    pose = fk(found.motion)
    for place in pinned:
        given = next(c for c in scene().contacts if place.label.startswith(f"{c.point.name} {c.start:.2f}"))
        frames = given.frames(30.0, walk().num_frames)
        assert np.abs(pose.points([given.point.name])[frames, 0][:, [0, 2]] - given.place[[0, 2]]).max() < 1e-3
    assert found.motion.root[-1, 2] - found.motion.root[0, 2] == pytest.approx(np.ptp(walk().root[:, 2]), rel=0.1)


def test_no_plants_is_the_start_as_it_is() -> None:
    found = retarget(walk(), scaled(0.8), contacts=scene().contacts, options=Options(plants="none", floor=False))
    np.testing.assert_array_equal(found.motion.rotations, walk().rotations)
    np.testing.assert_allclose(found.motion.root, 0.8 * walk().root, atol=1e-12)


def test_kept_joints_keep_their_rotations_to_the_last_bit() -> None:
    kept = ("LeftFoot", "RightFoot", "LeftUpLeg")
    options = Options(plants="fixed", keep=kept)
    found = retarget(walk(), scaled(0.8), contacts=scene().contacts, options=options)
    for name in kept:
        joint = walk().skeleton.joint(name)
        np.testing.assert_array_equal(found.motion.rotations[:, joint], walk().rotations[:, joint])
    other = walk().skeleton.joint("RightUpLeg")
    assert angle_between(found.motion.rotations[:, other], walk().rotations[:, other]).max() > 0.01
    with pytest.raises(UnknownNameError, match="Option keep: no joint `LeftFot`; nearest: `LeftFoot`"):
        retarget(walk(), scaled(0.8), contacts=scene().contacts, options=Options(keep=("LeftFot",)))


def test_a_constraint_of_the_users_own_is_honoured_beside_the_contacts() -> None:
    target = fk(walk()).points(["RightHand"])[75, 0] + np.array([0.1, 0.25, 0.1])
    wave = Place(point=PointRef(point="RightHand"), target=target, start=2.4, end=2.6, name="wave")
    found = retarget(walk(), scaled(1.0), contacts=scene().contacts, constraints=[wave])
    assert not found.unmet
    held = fk(found.motion).points(["RightHand"])[72:79, 0]
    assert np.abs(held - target).max() < 1e-3
    assert slides(found, scene().contacts) < 1e-3


def test_feet_stay_above_the_floor() -> None:
    """Feet twice as long would go through the floor as they swing."""
    big = scaled(2.0, "ToeBase")
    loose = retarget(walk(), big, contacts=scene().contacts, options=Options(floor=False, limits=False))
    found = retarget(walk(), big, contacts=scene().contacts, options=Options(limits=False))
    names = ["LeftToeTip", "RightToeTip", "LeftToeBase", "RightToeBase", "LeftHeel", "RightHeel"]
    lowest = [float(fk(each.motion).points(names)[..., 1].min()) for each in (loose, found)]
    assert lowest[0] < -0.01, "without the floor they must go through for this to mean anything"
    assert lowest[1] > -0.004


def test_one_frame_two_frames_and_no_contacts_are_motions_too() -> None:
    for count in (1, 2, 3):
        found = retarget(walk()[:count], shins())
        assert_sound(found)
        assert found.motion.num_frames == count
        assert not found.unmet
    told = retarget(walk()[:1], shins(), contacts=[c for c in scene().contacts if c.start == 0.0])
    assert not told.unmet
    assert len(told.outcomes) > 0
    swim = scene("swim").motion
    free = retarget(swim, swim.skeleton.scaled(3.0))
    np.testing.assert_array_equal(free.motion.rotations, swim.rotations)
    assert not free.unmet


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_a_target_a_thousand_times_as_large_or_small(factor: float) -> None:
    found = retarget(walk(), shins().scaled(factor), contacts=scene().contacts)
    assert_sound(found)
    assert slides(found, scene().contacts) < max(1e-3, 1e-3 * factor)
    plain = retarget(walk(), shins(), contacts=scene().contacts)
    apart = fk(found.motion).positions / factor - fk(plain.motion).positions
    assert np.abs(apart).max() < 0.15, "it still walks"


@pytest.mark.parametrize("joints", [("LeftToeBase", "RightToeBase"), ("LeftLeg", "RightLeg"), ("Spine1", "LeftArm")])
def test_bones_without_length_are_borne(joints: tuple[str, ...]) -> None:
    offsets = walk().skeleton.offsets.copy()
    offsets[[walk().skeleton.joint(name) for name in joints]] = 0.0
    found = retarget(walk(), replace(walk().skeleton, offsets=offsets), contacts=scene().contacts)
    assert_sound(found)
    assert slides(found, tuple(c for c in scene().contacts if "Tip" not in c.point.name)) < 2e-3
    assert jump(found.motion) < 2.0 * jump(walk())


def test_targets_that_cannot_be_are_refused() -> None:
    body = walk().skeleton
    with pytest.raises(SkeletonError, match="The target's bones all have length zero"):
        retarget(walk(), replace(body, offsets=np.zeros_like(body.offsets)))
    with pytest.raises(SkeletonError, match="expected finite numbers, got nan"):
        retarget(walk(), replace(body, offsets=np.full_like(body.offsets, np.nan)))
    strange = Skeleton(names=("a", "b", "c"), parents=[-1, 0, 0], offsets=[[0, 1, 0], [0, -1, 0], [0, -1, 0.5]])
    with pytest.raises(CorrespondenceError, match="Nothing but the root corresponds: the source is biped `adult`"):
        retarget(walk(), strange)
    with pytest.raises(OptionError, match="target: expected three finite numbers"):
        Place(point=PointRef(point="Head"), target=np.array([0.0, np.nan, 0.0]))


@pytest.mark.parametrize(("aside", "frames"), [(0.2, 30), (1.5, 3)])
def test_a_hand_put_somewhere_leaves_the_rest_of_the_walk_where_it_was(aside: float, frames: int) -> None:
    """The body is shifted only around the time the hand is asked for: for a place near by it stays, in the first and
    last second, within 2 cm of the walk without it; for one that is far, which takes longer to get to, at both ends."""
    plain = retarget(walk(), walk().skeleton, contacts=scene().contacts).motion
    place = fk(plain).points(["LeftHand"])[75, 0] + [aside, 0.1, 0.0]
    asked = Place(point=PointRef(point="LeftHand"), target=place, start=2.4, end=2.6, name="there")
    found = retarget(walk(), walk().skeleton, contacts=scene().contacts, constraints=[asked])
    assert not found.unmet
    away = np.linalg.norm(found.motion.root - plain.root, axis=-1)
    assert max(away[:frames].max(), away[-frames:].max()) < 0.02
    assert away[75] > 0.5 * (aside - 0.2)


def beyond(height: float) -> Place:
    place = np.array([0.2, height, walk().root[63, 2]])
    return Place(point=PointRef(point="LeftHand"), target=place, start=2.0, end=2.2, name="moon")


@cache
def reaching(height: float) -> Solution:
    return retarget(walk(), walk().skeleton, contacts=scene().contacts, constraints=[beyond(height)])


@pytest.mark.parametrize("height", [2.3, 2.6, 2.8, 3.0, 9.0])
def test_what_cannot_be_reached_is_named_and_the_rest_is_met(height: float) -> None:
    """Plants still, no joint faster than two and a half times the walk's fastest, and a sentence that says why."""
    found = reaching(height)
    assert_sound(found)
    assert [o.constraint.label for o in found.unmet] == ["moon"]
    assert found.result.startswith("1 of ")
    assert "the worst is `moon`, off by" in found.result
    assert len(found.conflicts) == 1
    assert found.conflicts[0].startswith("`moon` cannot hold at ")
    assert slides(found, scene().contacts) < 1e-3
    assert jump(found.motion) < 2.5 * jump(walk())


def test_further_out_of_reach_is_reached_for_as_far() -> None:
    """As nearly as possible: the hand goes no less high for a thing that is higher still (to 15 cm)."""
    heights = {
        height: float(fk(reaching(height).motion).points(["LeftHand"])[63, 0, 1]) for height in (2.3, 2.6, 4.0, 9.0)
    }
    assert heights[2.3] > 2.0
    assert min(heights.values()) > heights[2.3] - 0.15, heights


def test_contradictory_places_give_way_and_the_feet_do_not() -> None:
    here, there = (
        Place(
            point=PointRef(point="LeftHand"), target=np.array([x, 1.2, walk().root[60, 2]]), instants=(2.0,), name=name
        )
        for x, name in ((0.2, "here"), (0.6, "there"))
    )
    found = retarget(walk(), shins(), contacts=scene().contacts, constraints=[here, there])
    assert {o.constraint.label for o in found.unmet} <= {"here", "there"}
    assert found.unmet
    assert slides(found, scene().contacts) < 1e-3
    assert any("`here`" in sentence and "`there`" in sentence for sentence in found.conflicts)


def test_the_same_input_gives_the_same_bytes() -> None:
    first, again = (retarget(walk(), shins(), contacts=scene().contacts).motion for _ in range(2))
    assert first.rotations.tobytes() == again.rotations.tobytes()
    assert first.root.tobytes() == again.root.tobytes()


def test_the_source_is_left_as_it_is() -> None:
    before = walk().rotations.copy(), walk().root.copy()
    retarget(walk(), shins(), contacts=scene().contacts)
    np.testing.assert_array_equal(walk().rotations, before[0])
    np.testing.assert_array_equal(walk().root, before[1])


def test_another_solver_gets_the_same_problem() -> None:
    """Shins are kept apart where a solver brings them together: that is left out here."""
    options = Options(clearance=False)
    found = retarget(walk(), shins(), contacts=scene().contacts, solver=Ik(), options=options)
    assert found.solver == "ik"
    ours = retarget(walk(), shins(), contacts=scene().contacts, options=options)
    assert [o.constraint.label for o in found.outcomes] == [o.constraint.label for o in ours.outcomes]


def test_progress_is_told() -> None:
    heard: list[float] = []
    retarget(walk(), shins(), contacts=scene().contacts, watch=lambda _, share: heard.append(share))
    assert heard
    assert all(0.0 <= share <= 1.0 for share in heard)


def test_detection_is_by_the_options() -> None:
    found = plan([Assignment(motion=walk(), target=shins())]).contacts
    deaf = plan(
        [Assignment(motion=walk(), target=shins())], options=Options(detection=Detection(shortest=60.0))
    ).contacts
    assert len(found) > 10
    assert deaf == ()


def test_a_stiff_joint_turns_less() -> None:
    names = ("LeftUpLeg", "LeftLeg")
    joint = walk().skeleton.joint("LeftUpLeg")
    options = [Options(plants="fixed", stiffness=s) for s in (None, dict.fromkeys(names, 50.0))]
    turned = [
        angle_between(found.motion.rotations[:, joint], walk().rotations[:, joint]).max()
        for found in (retarget(walk(), scaled(0.8), contacts=scene().contacts, options=o) for o in options)
    ]
    assert turned[1] < 0.5 * turned[0]


def test_a_plan_can_be_looked_at_and_changed() -> None:
    drawn = plan([Assignment(motion=walk(), target=shins())], contacts=scene().contacts)
    assert len(drawn.constraints) > len(scene().contacts)
    few = tuple(c for c in drawn.constraints if "Left" in c.label)
    found = replace(drawn, constraints=few).solve()
    assert len(found.outcomes) == sum(not constraint.soft for constraint in few)
    right = walk().skeleton.joint("RightUpLeg")
    np.testing.assert_array_equal(found.motion.rotations[:, right], drawn.starts[0].rotations[:, right])


def test_a_hand_asked_for_on_another_planet_is_no_traceback() -> None:
    far = Place(point=PointRef(point="LeftHand"), target=np.array([1e8, 0.0, 0.0]), start=1.0, end=1.2)
    found = plan([Assignment(motion=walk(), target=shins())], constraints=[far], contacts=scene().contacts).solve()
    assert np.isfinite(found.motion.root).all()
    assert np.isfinite(found.motion.rotations).all()


def test_a_plan_makes_its_problem_once_and_one_that_is_changed_makes_its_own() -> None:
    drawn = plan([Assignment(motion=walk(), target=shins())], contacts=scene().contacts)
    assert drawn.problem() is drawn.problem()
    assert drawn.problem().constraints == drawn.constraints
    assert tuple(actor.motion for actor in drawn.problem().actors) == drawn.starts
    fewer = replace(drawn, constraints=drawn.constraints[:2])
    assert fewer.problem().constraints == drawn.constraints[:2]


def test_the_start_is_shifted_to_what_fixes_it_in_the_world() -> None:
    """Everything a metre to the side: the start goes there, and nothing is left to turn."""
    shift = np.array([1.0, 0.0, 0.0])
    contacts = [replace(c, place=c.place + shift) for c in scene().contacts]
    options = Options(plants="fixed", limits=False)
    drawn = plan([Assignment(motion=walk(), target=walk().skeleton)], contacts=contacts, options=options)
    assert np.abs(drawn.starts[0].root - walk().root - shift).max() < 0.02
    found = drawn.solve()
    assert not found.unmet
    assert angle_between(found.motion.rotations, walk().rotations).max() < 0.02


def test_a_given_floor_is_the_floor() -> None:
    high = Floor(height=0.5, slope=np.zeros(2))
    drawn = plan([Assignment(motion=walk(), target=scaled(0.5))], contacts=(), floor=high)
    np.testing.assert_allclose(drawn.starts[0].root[:, 1], 0.5 + 0.5 * (walk().root[:, 1] - 0.5), atol=1e-12)


def test_only_some_joints_may_turn() -> None:
    legs = tuple(name for name in walk().skeleton.names if "Leg" in name or "Foot" in name)
    part = Assignment(motion=walk(), target=scaled(0.8), joints=legs)
    found = plan([part], contacts=scene().contacts, options=Options(plants="fixed")).solve()
    turned = angle_between(found.motion.rotations, walk().rotations).max(axis=0)
    for name, angle in zip(walk().skeleton.names, turned, strict=True):
        assert name in legs or angle < 1e-12
    assert turned.max() > 0.01


def test_one_who_does_not_move_keeps_the_motion() -> None:
    lead, follow = (scene("dance").actors[name] for name in ("lead", "follow"))
    parts = [
        Assignment(motion=lead, target=lead.skeleton, name="lead", moves=False),
        Assignment(motion=follow, target=follow.skeleton.scaled(0.9), name="follow"),
    ]
    found = plan(parts, contacts=scene("dance").contacts).solve()
    assert_sound(found)
    np.testing.assert_array_equal(found.motions[0].rotations, lead.rotations)
    np.testing.assert_array_equal(found.motions[0].root, lead.root)
    held = [c for c in scene("dance").contacts if c.other is not None and c.actor in ("", "lead")]
    assert held
    for contact in held:
        frames = contact.frames(lead.fps, lead.num_frames)
        mine = fk(found.motions[0]).points([contact.point.name])[frames, 0]
        other = fk(found.motions[1]).points([contact.other.name])[frames, 0]
        assert np.abs(mine - other).max() < 2e-3


def test_casts_that_cannot_be_are_refused() -> None:
    part = Assignment(motion=walk(), target=walk().skeleton, name="twin")
    with pytest.raises(OptionError, match=r"needs a name of its own; got \['twin', 'twin'\]"):
        plan([part, part])
    with pytest.raises(OptionError, match="at least one motion and one target"):
        plan([])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"plants": "glued"}, "Expected plants, one of free, fixed, none; got `glued`"),
        ({"spacing": 0.0}, "Expected a key spacing above zero seconds, got 0.0"),
        ({"spacing": np.nan}, "Expected a key spacing above zero seconds, got nan"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        Options(**options)  # type: ignore[arg-type]


def test_shares_of_a_morph_are_checked() -> None:
    for share in (np.zeros(3), np.full(walk().num_frames, np.nan)):
        with pytest.raises(OptionError, match=f"Expected {walk().num_frames} finite shares, one for each frame"):
            morph(walk(), scaled(0.5), share=share)


def test_a_morph_that_does_not_change_is_the_motion() -> None:
    """A share of zero throughout: the source as it is, on the target's skeleton with the source's lengths.

    Ends of bones are the target's all along, so only joints are planted here.
    """
    contacts = [c for c in scene().contacts if c.point.name.endswith("ToeBase")]
    found = morph(walk(), scaled(0.6), share=np.zeros(walk().num_frames), contacts=contacts)
    assert not found.unmet
    np.testing.assert_allclose(fk(found.motion).positions, fk(walk()).positions, atol=2e-3)


@pytest.mark.parametrize("plants", ["free", "fixed"])
def test_a_toe_of_a_growing_foot_stands_still_once_the_heel_has_lifted(plants: str) -> None:
    """Of a foot that changes its length only the first point is held; the next one is, when the first has lifted."""
    found = morph(walk(), scaled(1.25), contacts=scene().contacts, options=Options(plants=plants))
    heels = {c.end: c for c in scene().contacts if "Heel" in c.point.name}
    still = [o for o in found.outcomes if isinstance(o.constraint, SamePlace) and o.constraint.start in heels]
    assert len(still) >= 2
    assert all("Toe" in o.constraint.label for o in still)
    assert max(o.worst for o in still) < 1e-3


def test_a_contact_named_for_an_unknown_actor_is_not_forgotten_silently() -> None:
    """Everybody a contact names must be there."""
    odd = replace(scene().contacts[0], actor="nobody")
    with pytest.raises(UnknownNameError, match="nobody"):
        plan([Assignment(motion=walk(), target=shins())], contacts=[odd])


def test_a_contact_with_an_unknown_other_is_refused() -> None:
    hand = walk().skeleton.point("LeftHand")
    odd = Contact(point=hand, start=0.0, end=1.0, on="ghost", other=hand)
    with pytest.raises(UnknownNameError, match="ghost"):
        plan([Assignment(motion=walk(), target=shins())], contacts=[odd])


def test_the_newcomers_names_are_there() -> None:
    assert understudy.retarget is retarget
    assert understudy.morph is morph
    assert understudy.Options is Options


def test_plants_are_named_so_that_they_can_be_found() -> None:
    found = retarget(walk(), shins(), contacts=scene().contacts)
    labels = [
        o.constraint.label for o in found.outcomes if isinstance(o.constraint, SamePlace) and not o.constraint.soft
    ]
    assert len(set(labels)) == len(labels) == len(scene().contacts)
    assert leg_ratio(walk().skeleton, shins()) == pytest.approx(1.15, abs=0.05)


def test_what_a_retarget_used_is_free_as_soon_as_it_is_done() -> None:
    """No two things hold each other: a stream or a batch would keep megabytes of each part until the next round-up."""
    body = shins()
    retarget(walk(), body)
    gc.collect()
    gc.disable()
    try:
        retarget(walk(), body).report()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left = [type(each).__name__ for each in gc.garbage if type(each).__module__.startswith("understudy")]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert left == []
