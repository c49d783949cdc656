"""The problem as solvers see it: pruned bodies, costs of coordinates, residuals and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import OptionError, UnknownNameError
from understudy.base.quaternion import exp, multiply
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.distance import Distance
from understudy.constraints.place import Place
from understudy.constraints.pose import FixedPose as PoseConstraint
from understudy.constraints.region import Region
from understudy.constraints.same_place import SamePlace
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.solve.coordinates import UNUSED_JOINT_FACTOR
from understudy.solve.evaluation import MAX_REACH_SHARE, ProblemAtFrames, requested_shifts
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.spacetime import Spacetime, levels

ORIGIN = np.zeros(3)


@cache
def walk() -> Motion:
    return samples.motion("walk", seconds=2.0).motion


def place(point: str, target: np.ndarray = ORIGIN, **options: object) -> Place:
    return Place(point=PointRef(point=point), target=target, **options)  # type: ignore[arg-type]


def posed(problem: Problem) -> tuple[ProblemAtFrames, np.ndarray]:
    """A problem at all frames, and coordinates of zero displacement."""
    whole = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(len(problem.times)))
    return whole, np.zeros((len(problem.times), whole.bodies_at_frames.num_coordinates))


def cost(problem: Problem, which: int = 0) -> dict[str, float]:
    """The cost of each coordinate of an actor, by name."""
    before = sum(body.num_coordinates for body in problem.bodies[:which])
    body = problem.bodies[which]
    return dict(zip(body.names, problem.metric[before : before + body.num_coordinates], strict=True))


def test_bodies_are_pruned_to_joints_that_affect_constraints_and_keep_positions() -> None:
    problem = Problem(actors=(Actor(motion=walk()),), constraints=(place("LeftToeTip"), place("RightHand")))
    body = problem.bodies[0]
    names = set(body.skeleton.names)
    assert {"Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase", "RightHand"} <= names
    assert not {"LeftHand", "RightFoot", "Head"} & names
    points = ["LeftToeTip", "RightHand", "LeftFoot"]
    np.testing.assert_allclose(fk(body.motion).points(points), fk(walk()).points(points), atol=1e-12)


def test_pruning_keeps_positions_of_any_body(
    make_skeleton: Callable, make_motion: Callable, rng: np.random.Generator
) -> None:
    for morph in (False, True):
        motion = make_motion(make_skeleton(rng, 12), rng, morph=morph)
        problem = Problem(actors=(Actor(motion=motion),), constraints=(place("joint5"), place("tip")))
        np.testing.assert_allclose(
            fk(problem.bodies[0].motion).points(["joint5", "tip"]), fk(motion).points(["joint5", "tip"]), atol=1e-12
        )


@pytest.mark.parametrize("is_turned", [False, True])
def test_derivatives_match_central_differences(
    is_turned: bool, make_skeleton: Callable, make_motion: Callable, rng: np.random.Generator
) -> None:
    """The chain rule goes through points, rotations and two actors, in the joints' own frames or in others."""
    actors = tuple(Actor(motion=make_motion(make_skeleton(rng, 8), rng, 3), name=name) for name in ("a", "b"))
    constraints = (
        Place(point=PointRef(point="tip", actor="b"), target=rng.normal(size=3)),
        SamePlace(point=PointRef(point="joint4", actor="a"), height=0.2, start=0.03),
        Distance(first=PointRef(point="tip", actor="a"), second=PointRef(point="joint3", actor="b"), length=0.4),
        PoseConstraint(posed=(PointRef(point="joint5", actor="b"),), rotations=exp(rng.normal(size=(1, 3)))),
    )
    sample, zero = posed(Problem(actors=actors, constraints=constraints))
    if is_turned:
        turns = [exp(rng.normal(size=(*body.motion.rotations.shape[:2], 3))) for body in sample.bodies]
        bodies = (replace(body, frame_turns=turn) for body, turn in zip(sample.bodies, turns, strict=True))
        sample = replace(sample, bodies=tuple(bodies))
    d = zero + 0.2 * rng.normal(size=zero.shape)
    evaluation, step = sample.evaluate(d), 1e-6
    for which, rows in enumerate(evaluation.rows):
        frames, count = rows.values.shape
        at, row = (grid.ravel() for grid in np.meshgrid(np.arange(frames), np.arange(count), indexing="ij"))
        jacobian = evaluation.jacobian(which, (at, row))
        expected = np.zeros_like(jacobian)
        for k in range(d.shape[1]):
            nudge = np.zeros_like(d)
            nudge[:, k] = step
            ahead, behind = (sample.evaluate(d + sign * nudge).rows[which].values for sign in (1.0, -1.0))
            expected[:, k] = ((ahead - behind) / (2.0 * step)).ravel()
        assert np.abs(expected).max() > 0.1
        np.testing.assert_allclose(jacobian, expected, atol=1e-6)


def test_every_coordinate_has_a_cost_and_the_root_costs_more_than_an_ankle() -> None:
    feet = tuple(place(f"{side}ToeTip") for side in ("Left", "Right"))
    costs = cost(Problem(actors=(Actor(motion=walk()),), constraints=feet))
    assert min(costs.values()) > 0.0
    turns = {
        joint: [value for name, value in costs.items() if name.startswith(f"{joint}.")]
        for joint in ("Hips", "LeftUpLeg", "LeftFoot")
    }
    assert min(turns["Hips"]) > max(turns["LeftFoot"])
    assert max(turns["Hips"]) > 2.5 * max(turns["LeftFoot"])
    assert max(turns["Hips"]) > max(turns["LeftUpLeg"]) > max(turns["LeftFoot"])
    np.testing.assert_allclose([costs[f"root.{axis}"] for axis in "xyz"], 1.0, atol=1e-9)


def test_cost_does_not_depend_on_other_constraints() -> None:
    """A coordinate costs the same however many joints of the body take part."""
    few = cost(Problem(actors=(Actor(motion=walk()),), constraints=(place("LeftFoot"),)))
    many = cost(Problem(actors=(Actor(motion=walk()),), constraints=(place("LeftToeTip"), place("Head"))))
    assert set(few) < set(many)
    for name, value in few.items():
        assert many[name] == pytest.approx(value)


def test_cost_of_rotations_grows_with_the_square_of_body_size() -> None:
    small, large = (
        cost(Problem(actors=(Actor(motion=replace(walk(), skeleton=body)),), constraints=(place("LeftToeTip"),)))
        for body in (walk().skeleton, walk().skeleton.scaled(10.0))
    )
    for name, value in small.items():
        factor = 1.0 if name.startswith("root.") else 100.0
        assert large[name] == pytest.approx(factor * value)


def test_stiffness_multiplies_the_cost_of_a_joint() -> None:
    plain = cost(Problem(actors=(Actor(motion=walk()),), constraints=(place("LeftToeTip"),)))
    stiff = Actor(motion=walk(), stiffness={"LeftUpLeg": 7.0})
    for name, value in cost(Problem(actors=(stiff,), constraints=(place("LeftToeTip"),))).items():
        assert value == pytest.approx(plain[name] * (7.0 if name.startswith("LeftUpLeg.") else 1.0))


def test_joints_that_never_rotate_cost_more() -> None:
    rotations = walk().rotations.copy()
    joint = walk().skeleton.joint("LeftFoot")
    rotations[:, joint] = rotations[0, joint]
    stiff = replace(walk(), rotations=rotations)
    assert stiff.still_joints - walk().still_joints == {joint}
    before, after = (
        cost(Problem(actors=(Actor(motion=m),), constraints=(place("LeftToeTip"),)))["LeftFoot.0"]
        for m in (walk(), stiff)
    )
    assert after == pytest.approx(UNUSED_JOINT_FACTOR * before, rel=0.1)


def test_bones_of_the_pelvis_that_never_turn_stay_rigid() -> None:
    """In CMU captures a bone leads from the middle of the hips to each hip, and a solve once bent the pelvis there."""
    walk, hip = samples.motion("walk").motion, "LeftUpLeg"
    skeleton, index = walk.skeleton, walk.skeleton.index[hip]
    names = (*skeleton.names[:index], "LHipJoint", *skeleton.names[index:])
    parents = [p + (p >= index) for p in skeleton.parents.tolist()]
    parents.insert(index, int(skeleton.parents[index]))
    parents[index + 1] = index
    offsets = np.insert(skeleton.offsets, index, skeleton.offsets[index], axis=0)
    offsets[index + 1] = 0.0
    rotations = np.insert(walk.rotations, index, [1.0, 0.0, 0.0, 0.0], axis=1)
    made = Skeleton(names=names, parents=np.array(parents), offsets=offsets, ends=skeleton.ends)
    foot = SamePlace(point=PointRef(point="LeftFoot"), start=0.2, end=0.6)

    def movable(turned: bool, **fields: object) -> set[str]:
        some = rotations.copy()
        if turned:
            some[:, index] = exp(0.1 * np.sin(walk.times)[:, None] * [1.0, 0.0, 0.0])
        motion = Motion(skeleton=made, root=walk.root, rotations=some, fps=walk.fps)
        problem = Problem(actors=(Actor(motion=motion, **fields),), constraints=(foot,))  # type: ignore[arg-type]
        return {made.names[joint] for joint in problem.movable_joints(0)}

    assert {"LeftUpLeg", "LeftLeg"} <= movable(False) == movable(True) - {"LHipJoint"}
    assert "LHipJoint" in movable(True)
    assert "LHipJoint" in movable(False, joints=("LHipJoint",))


def test_toes_bend_where_they_begin_and_divided_bones_stay_straight() -> None:
    """A foot with five toes of three bones each made a solve eight times as dear, for no better a foot."""
    walk = samples.motion("walk").motion
    foot, arm = walk.skeleton.index["LeftFoot"], walk.skeleton.index["LeftArm"]
    names, parents, offsets = list(walk.skeleton.names), walk.skeleton.parents.tolist(), list(walk.skeleton.offsets)
    for toe in ("LeftToe2", "LeftToe3"):
        for name, parent in ((toe, foot), (f"{toe}Tip", len(names))):
            names.append(name)
            parents.append(parent)
            offsets.append(np.array([0.0, -0.02, 0.05]))
    elbow = names.index("LeftForeArm")
    names.append("LeftArmTwist")
    parents.append(arm)
    offsets.append(0.5 * offsets[elbow])
    # A joint comes after its parent: the lower arm and the hand go to the end, behind the joint that divides their arm.
    order = [j for j in range(len(names)) if j not in (elbow, elbow + 1)] + [elbow, elbow + 1]
    assert names[elbow + 1] == "LeftHand"
    parents[elbow], offsets[elbow] = len(names) - 1, 0.5 * offsets[elbow]
    made = Skeleton(
        names=tuple(names[j] for j in order),
        parents=np.array([-1 if parents[j] < 0 else order.index(parents[j]) for j in order]),
        offsets=np.array([offsets[j] for j in order]),
    )
    rotations = np.zeros((walk.num_frames, len(names), 4))
    rotations[..., 0] = 1.0
    for j, place in ((j, order.index(j)) for j in range(walk.skeleton.num_joints)):
        rotations[:, place] = walk.rotations[:, j]
    motion = Motion(skeleton=made, root=walk.root, rotations=rotations, fps=walk.fps)
    asked = (
        Region(point=PointRef(point="LeftToe2Tip"), shape="above", centre=np.zeros(3)),
        Place(point=PointRef(point="LeftHand"), target=np.zeros(3), start=0.2, end=0.3),
    )
    movable = Problem(actors=(Actor(motion=motion),), constraints=asked).movable_joints(0)
    moved = {made.names[joint] for joint in movable}
    assert {"LeftFoot", "LeftToe2", "LeftArm", "LeftForeArm"} <= moved
    assert moved.isdisjoint({"LeftToe2Tip", "LeftArmTwist"})


def test_a_body_that_never_moves_has_no_still_joints() -> None:
    """A single pose does not show which joints can move."""
    assert walk()[:1].still_joints == set()


def as_balls(motion: Motion) -> Motion:
    """The same motion on a skeleton with ball joints only, as BVH files store it."""
    body = motion.skeleton
    kinds = (JointKind.FREE, *[JointKind.BALL] * (body.num_joints - 1))
    plain = replace(body, kinds=kinds, axes=np.empty((0, 3, 3)), limits=np.empty((0, 3, 2)))
    return replace(motion, skeleton=plain)


def test_knees_that_bend_about_one_axis_are_hinges_and_shoulders_are_not() -> None:
    rotations = walk().rotations.copy()
    arm = walk().skeleton.joint("RightArm")
    times = walk().times
    rotations[:, arm] = multiply(
        rotations[:1, arm], exp(np.stack([0.5 * np.sin(3.0 * times), 0.0 * times, 0.0 * times], 1))
    )
    motion = as_balls(replace(walk(), rotations=rotations))
    points = (place("LeftToeTip"), place("RightHand"), place("LeftHand"))
    skeleton = Problem(actors=(Actor(motion=motion),), constraints=points).bodies[0].skeleton
    kinds = dict(zip(skeleton.names, skeleton.kinds, strict=True))
    assert kinds["LeftLeg"] is JointKind.HINGE
    assert kinds["LeftForeArm"] is JointKind.HINGE
    assert kinds["LeftUpLeg"] is kinds["LeftArm"] is JointKind.BALL
    assert kinds["RightArm"] is JointKind.BALL, "a shoulder that happens to swing about one axis stays a shoulder"
    axis = skeleton.axes[skeleton.index["LeftLeg"], 0]
    expected = walk().skeleton.axes[walk().skeleton.joint("LeftLeg"), 0]
    assert abs(axis @ expected) > 0.999


def test_a_knee_that_also_twists_stays_a_ball() -> None:
    rotations = walk().rotations.copy()
    knee = walk().skeleton.joint("LeftLeg")
    twist = np.zeros((walk().num_frames, 3))
    twist[:, 1] = 0.2 * np.sin(5.0 * walk().times)
    rotations[:, knee] = multiply(rotations[:, knee], exp(twist))
    motion = as_balls(replace(walk(), rotations=rotations))
    skeleton = Problem(actors=(Actor(motion=motion),), constraints=(place("LeftToeTip"),)).bodies[0].skeleton
    assert skeleton.kinds[skeleton.index["LeftLeg"]] is JointKind.BALL


def test_a_detected_hinge_costs_as_much_as_a_declared_hinge() -> None:
    """A ball joint used as a hinge costs the same as a knee that is declared a hinge."""
    hinge, ball = (
        cost(Problem(actors=(Actor(motion=m),), constraints=(place("LeftToeTip"),)))["LeftLeg.0"]
        for m in (walk(), as_balls(walk()))
    )
    assert ball == pytest.approx(hinge, rel=0.05)


def test_two_actors_share_one_coordinate_vector_and_the_same_frames() -> None:
    actors = (Actor(motion=walk(), name="lead"), Actor(motion=walk(), name="follow", moves=False))
    bar = Distance(
        first=PointRef(point="LeftHand", actor="lead"), second=PointRef(point="RightHand", actor="follow"), length=1.0
    )
    problem = Problem(actors=actors, constraints=(bar,))
    assert problem.bodies[0].num_coordinates > 0
    assert problem.bodies[1].num_coordinates == 0, "an actor that keeps its motion has no coordinates"
    assert len(problem.metric) == problem.bodies[0].num_coordinates
    assert [w for w, _ in problem.points] == [0, 1]
    sample, zero = posed(problem)
    positions = [fk(m).points([p])[:, 0] for m, p in ((walk(), "LeftHand"), (walk(), "RightHand"))]
    expected = np.linalg.norm(positions[0] - positions[1], axis=1) - 1.0
    np.testing.assert_allclose(sample.evaluate(zero).rows[0].values[:, 0], expected, atol=1e-9)


def test_joints_and_root_that_may_not_move_have_no_coordinates() -> None:
    actor = Actor(motion=walk(), joints=("LeftLeg", "LeftUpLeg", "RightArm"), root_moves=False)
    names = Problem(actors=(actor,), constraints=(place("LeftToeTip"),)).bodies[0].names
    assert {name.rpartition(".")[0] for name in names} == {"LeftLeg", "LeftUpLeg"}


def test_restored_motions_differ_only_in_moved_joints() -> None:
    problem = Problem(actors=(Actor(motion=walk()),), constraints=(place("LeftToeTip"),))
    body = problem.bodies[0]
    d = np.zeros((walk().num_frames, body.num_coordinates))
    d[:, body.names.index("LeftUpLeg.0")] = 0.3
    d[:, 0] = 0.5
    restored = problem.restored([replace(body, motion=body.displaced(d).motion())])[0]
    changed = np.abs(restored.rotations - walk().rotations).max(axis=(0, 2)) > 0.0
    assert [walk().skeleton.names[j] for j in np.flatnonzero(changed)] == ["LeftUpLeg"]
    np.testing.assert_allclose(restored.root - walk().root, np.tile([0.5, 0.0, 0.0], (walk().num_frames, 1)))
    assert restored.skeleton is walk().skeleton


def test_pulls_are_the_mean_shift_to_fixed_positions() -> None:
    left, right = (fk(walk()).points([name])[:, 0] for name in ("LeftHand", "RightHand"))
    frame = 10
    time = frame / walk().fps
    constraints: tuple[Constraint, ...] = (
        place("LeftHand", left[frame] + [0.2, 0.0, 0.0], instants=(time,)),
        place("RightHand", right[frame] + [0.4, 0.5, 9.0], axes="xy", instants=(time,)),
        Region(point=PointRef(point="Head"), centre=np.array([0.0, 50.0, 0.0])),
    )
    shifts = requested_shifts(Problem(actors=(Actor(motion=walk()),), constraints=constraints))[0]
    np.testing.assert_allclose(shifts[frame], [0.3, 0.25, 0.0], atol=1e-12)
    assert np.isnan(np.delete(shifts, frame, axis=0)).all(), "frames without a fixed position have no pull"


def test_a_free_limb_reaches_before_the_body_is_shifted() -> None:
    """The body follows by what an arm lacks that is as straight as it was, or nearly straight."""
    shoulder, hand = fk(walk()).points(["LeftArm", "LeftHand"])[10]
    body = walk().skeleton
    longest = float(body.lengths[[body.index["LeftForeArm"], body.index["LeftHand"]]].sum())
    reach = max(MAX_REACH_SHARE * longest, float(np.linalg.norm(hand - shoulder)))
    forward = np.array([0.0, 0.0, 1.0])
    instants = (10 / walk().fps,)

    def shift(point: str, target: np.ndarray, *others: Constraint, **actor: Any) -> np.ndarray:
        constraints = (place(point, target, instants=instants), *others)
        problem = Problem(actors=(Actor(motion=walk(), **actor),), constraints=constraints)
        return requested_shifts(problem, reaching={0})[0][10]

    near, far = shoulder + 0.9 * reach * forward, shoulder + (reach + 0.2) * forward
    np.testing.assert_allclose(shift("LeftHand", near), 0.0, atol=1e-12)
    np.testing.assert_allclose(shift("LeftHand", far), 0.2 * forward, atol=1e-12)
    np.testing.assert_allclose(shift("LeftHand", near, joints=("Spine",)), near - hand, err_msg="an arm that is kept")
    held = place("LeftHand", hand, instants=instants)
    np.testing.assert_allclose(shift("LeftHand", near, held), 0.5 * (near - hand), err_msg="a hand that stands")
    hips = walk().root[10]
    np.testing.assert_allclose(shift("Hips", hips + forward), forward, atol=1e-12, err_msg="the trunk has no limb")


def test_a_shifted_problem_equals_the_problem_of_shifted_actors() -> None:
    constraints = (place("LeftHand", start=0.5, end=1.0), Region(point=PointRef(point="RightToeTip"), centre=ORIGIN))
    partner = Actor(motion=walk(), name="partner")
    problem = Problem(actors=(Actor(motion=walk(), name="lead"), partner), constraints=constraints)
    shift = np.random.default_rng(1).normal(size=(walk().num_frames, 3))
    for cached in (False, True):
        if cached:
            # Fill the caches, which the shifted problem takes over.
            ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=np.arange(walk().num_frames)).measure()
        shifted = problem.shifted([shift, None])
        moved = replace(problem.actors[0], motion=replace(walk(), root=walk().root + shift))
        expected = Problem(actors=(moved, partner), constraints=constraints)
        assert shifted.actors[1] is partner
        np.testing.assert_allclose(shifted.actors[0].motion.root, moved.motion.root)
        for a, b in zip(shifted.bodies, expected.bodies, strict=True):
            assert a.skeleton is b.skeleton
            assert a.joints == b.joints
            np.testing.assert_allclose(a.posture.positions, b.posture.positions, atol=1e-12)
            np.testing.assert_allclose(a.posture.rotations, b.posture.rotations, atol=1e-12)
        np.testing.assert_allclose(shifted.metric, expected.metric, rtol=1e-12)
        measured = [
            ProblemAtFrames(problem=one, bodies=one.bodies, frames=np.arange(walk().num_frames)).measure().values
            for one in (shifted, expected)
        ]
        np.testing.assert_allclose(*measured, atol=1e-12)


@pytest.mark.parametrize(("joint", "same"), [("LeftArm", True), ("RightArm", False)])
def test_an_extended_problem_equals_the_problem_of_all_constraints(joint: str, same: bool) -> None:
    first = place("LeftHand", start=0.5, end=1.0)
    more = PoseConstraint(posed=(PointRef(point=joint),), rotations=exp(np.full((1, 3), 0.1)))
    problem = Problem(actors=(Actor(motion=walk()),), constraints=(first,))
    bodies = problem.bodies
    extended, expected = problem.extended([more]), Problem(actors=(Actor(motion=walk()),), constraints=(first, more))
    assert (extended.bodies is bodies) == same, "a joint that affected no constraint before makes a new body"
    assert extended.bodies[0].skeleton.names == expected.bodies[0].skeleton.names
    assert extended.bodies[0].joints == expected.bodies[0].joints
    assert [f.tolist() for f in extended.constraint_frames] == [f.tolist() for f in expected.constraint_frames]
    np.testing.assert_allclose(extended.metric, expected.metric)
    with pytest.raises(OptionError, match="holds at no frame"):
        problem.extended([place("Head", start=50.0, end=60.0)])
    with pytest.raises(UnknownNameError, match="LeftHnd"):
        problem.extended([place("LeftHnd")])


def test_a_problem_at_frames_evaluates_these_frames_only() -> None:
    problem = Problem(
        actors=(Actor(motion=walk()),), constraints=(place("LeftHand", start=0.5, end=1.0), place("Head"))
    )
    frames = np.array([0, 14, 15, 20, 30, 31])
    sample = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=frames)
    assert [held.tolist() for held in sample.frame_indices] == [[2, 3, 4], [0, 1, 2, 3, 4, 5]]
    rows = sample.evaluate(np.zeros((6, sample.bodies_at_frames.num_coordinates))).rows[0]
    np.testing.assert_allclose(rows.values, fk(walk()).points(["LeftHand"])[[15, 20, 30], 0], atol=1e-12)
    only = replace(sample, constraint_indices=(1,))
    assert [t.constraint.label for t in only.targets] == ["place Head"]


def test_an_unknown_joint_is_reported_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match=r"Constraint `place LeftHnd`: .*nearest: `LeftHand`"):
        Problem(actors=(Actor(motion=walk()),), constraints=(place("LeftHnd"),))


def test_an_unknown_actor_is_reported_with_the_nearest_name() -> None:
    odd = Place(point=PointRef(point="Head", actor="leed"), target=ORIGIN, name="nod")
    with pytest.raises(UnknownNameError, match="Constraint `nod`: no actor `leed`; nearest: `lead`"):
        Problem(actors=(Actor(motion=walk(), name="lead"),), constraints=(odd,))


@pytest.mark.parametrize("when", [{"start": 5.0}, {"start": -3.0, "end": -1.0}, {"instants": (9.0,)}])
def test_an_interval_outside_the_motion_is_refused(when: dict[str, object]) -> None:
    with pytest.raises(OptionError, match=r"`place Head` holds at no frame: .* the motion 0 to 2 s"):
        Problem(actors=(Actor(motion=walk()),), constraints=(place("Head", **when),))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": 1.0, "end": 0.5}, "must end after it starts; got 1.0 to 0.5 s"),
        ({"start": np.nan}, "must end after it starts; got nan"),
        ({"weight": 0.0}, "expected a weight above zero, got 0.0"),
        ({"weight": np.inf}, "expected a weight above zero, got inf"),
        ({"tolerance": -1.0}, "expected a tolerance above zero, got -1.0"),
    ],
)
def test_invalid_numbers_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Problem(actors=(Actor(motion=walk()),), constraints=(place("Head", **options),))


def test_actors_with_different_frames_or_rates_are_refused() -> None:
    for other in (walk()[:-1], replace(walk(), fps=31.0)):
        with pytest.raises(OptionError, match="same number of frames and the same rate"):
            Problem(actors=(Actor(motion=walk(), name="a"), Actor(motion=other, name="b")), constraints=())
    with pytest.raises(OptionError, match="at least one actor"):
        Problem(actors=(), constraints=())


def test_points_on_the_same_joint_are_distinguished_by_offset() -> None:
    """Two grips on one hand are two points; the same grip twice is one point."""
    hand = walk().skeleton.point("LeftHand")
    grips = [replace(hand, name="grip", offset=np.array([x, 0.0, 0.0])) for x in (0.0, 0.1, 0.1)]
    constraints = tuple(Place(point=PointRef(point=grip), target=ORIGIN) for grip in grips)
    problem = Problem(actors=(Actor(motion=walk()),), constraints=constraints)
    assert len(problem.points) == 2
    assert [t.points.tolist() for t in problem.targets] == [[0], [1], [1]]


def test_a_window_has_the_coordinates_costs_and_keys_of_the_whole_motion() -> None:
    """The hand holds still in the window, the foot outside it: both legs and the arm still have coordinates."""
    motion = walk()
    constraints = (place("RightHand", start=2.0, end=2.4), place("LeftFoot", start=0.0, end=0.4))
    whole = Problem(actors=(Actor(motion=motion),), constraints=constraints)
    first, last = 37, 121
    moved = replace(motion[first:last], root=motion.root[first:last] + np.array([0.1, 0.0, 0.0]))
    inside = place("RightHand", start=2.0 - first / 30, end=2.4 - first / 30)
    window = Problem(actors=(Actor(motion=moved),), constraints=(inside,), whole=whole, first=first)
    assert window.bodies[0].names == whole.bodies[0].names
    assert window.movable_joints(0) == whole.movable_joints(0)
    assert np.array_equal(window.metric, whole.metric)
    assert np.allclose(fk(window.restored(window.bodies)[0]).positions, fk(moved).positions)
    solver = Spacetime(spacing=4 / 30, trunk_spacing=0.4)
    for level in levels(solver.spacing, motion.fps):
        of_window, of_whole = solver.curves(window, level), solver.curves(whole, level)
        for part, basis in zip(of_window.bases, of_whole.bases, strict=True):
            assert np.allclose(part.weights, basis.weights[first:last])
            assert np.array_equal(np.diff(part.first), np.diff(basis.first[first:last]))
