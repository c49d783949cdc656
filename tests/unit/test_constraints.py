"""The meaning of each constraint: known inputs with known residuals, signs of violations, and error messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from understudy.base.errors import OptionError
from understudy.base.quaternion import IDENTITY, exp, from_axis_angle, from_euler, identity, multiply, normalize
from understudy.constraints import Constraint, ConstraintInput, PointRef, Relation
from understudy.constraints.apart import Apart
from understudy.constraints.attach import Attach
from understudy.constraints.balance import Balance
from understudy.constraints.direction import Direction
from understudy.constraints.distance import Distance
from understudy.constraints.follow import Follow
from understudy.constraints.function import Function
from understudy.constraints.joint_range import JointRange
from understudy.constraints.on_line import OnLine
from understudy.constraints.pose import FixedPose
from understudy.figure.kinematics import fk
from understudy.figure.mass import centre_of_mass
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.figure.surface import closest_points
from understudy.samples import character, motion

X, Y, Z = np.eye(3)
TIP, LOWER, UPPER, ROOT = (PointRef(point=name) for name in ("tip", "lower", "upper", "root"))


def view(*points: Any, turns: Any = None, times: Any = (0.0,)) -> ConstraintInput:
    """The input of one frame, or of one frame per time, with the same points."""
    times = np.array(times, float)
    places = np.array(points, float).reshape(-1, 3)
    return ConstraintInput(
        times=times,
        points=np.broadcast_to(places, (len(times), *places.shape)),
        local_rotations=np.empty((len(times), 0, 4)) if turns is None else np.asarray(turns)[:, None],
    )


def residuals(constraint: Constraint, *points: Any, **options: Any) -> np.ndarray:
    return constraint.rows(view(*points, **options)).values


class TestJointRange:
    def hinge(self, low: float, high: float) -> JointRange:
        return JointRange(joint=UPPER, rest=from_axis_angle(Y, 0.7), axes=[X], ranges=[[low, high]])

    def test_hinge_says_how_far_it_is_beyond_each_limit(self) -> None:
        bent = multiply(from_axis_angle(Y, 0.7), from_axis_angle(X, np.array([0.5, 1.3, -0.4])))
        turned = ConstraintInput(times=np.zeros(3), points=np.empty((3, 0, 3)), local_rotations=bent[:, None])
        rows = self.hinge(-0.1, 1.0).rows(turned).values
        np.testing.assert_allclose(rows, [[-0.6, -0.5], [-1.4, 0.3], [0.3, -1.4]], atol=1e-12)
        assert self.hinge(-0.1, 1.0).relation is Relation.AT_MOST

    def test_angle_is_read_next_to_its_range(self) -> None:
        bent = multiply(from_axis_angle(Y, 0.7), from_axis_angle(X, np.array([3.3])))
        rows = self.hinge(0.0, 3.0).rows(
            ConstraintInput(times=np.zeros(1), points=np.empty((1, 0, 3)), local_rotations=bent[:, None])
        )
        np.testing.assert_allclose(rows.values, [[-3.3, 0.3]], atol=1e-12)

    def test_only_finite_limits_have_rows(self) -> None:
        assert residuals(self.hinge(-np.inf, 1.0), turns=[IDENTITY]).shape == (1, 1)

    def test_ball_takes_whichever_of_its_two_triples_fits(self) -> None:
        limits = [[2.0, 4.0], [1.0, 3.0], [2.0, 4.0]]
        inside = from_euler([[3.0, 2.0, 2.5]], "XYZ")
        ball = JointRange(joint=UPPER, axes=np.eye(3), ranges=limits)
        assert np.all(residuals(ball, turns=inside) < 0.0)
        np.testing.assert_allclose(ball.angles(inside)[0], [[3.0, 2.0, 2.5]], atol=1e-12)

    def test_derivative_stays_finite_at_gimbal_lock(self) -> None:
        locked = from_euler([[0.3, 0.5 * np.pi, 0.2], [0.3, -0.5 * np.pi, 0.2]], "XYZ")
        rows = JointRange(joint=UPPER, axes=np.eye(3), ranges=np.tile([-0.5, 0.5], (3, 1))).rows(
            ConstraintInput(times=np.zeros(2), points=np.empty((2, 0, 3)), local_rotations=locked[:, None])
        )
        assert np.all(np.isfinite(rows.d_rotations))
        assert np.all(np.abs(rows.d_rotations) < 2e4)

    def cone(self, **options: Any) -> JointRange:
        return JointRange(joint=UPPER, axis=Y, reference=X, **options)

    def test_cone_counts_the_lean_and_nothing_of_the_twist(self) -> None:
        twisted = from_axis_angle(Y, np.array([0.0, 1.0, -2.0]))
        leant = multiply(from_axis_angle((X + Z) / np.sqrt(2.0), np.array([0.7, 0.7, 0.2])), twisted)
        turned = ConstraintInput(times=np.zeros(3), points=np.empty((3, 0, 3)), local_rotations=leant[:, None])
        np.testing.assert_allclose(self.cone(swing=0.5).rows(turned).values[:, 0], [0.2, 0.2, -0.3], atol=1e-12)
        twist = self.cone(twist=[-0.5, 0.5]).rows(turned).values
        np.testing.assert_allclose(twist, [[-0.5, -0.5], [-1.5, 0.5], [1.5, -2.5]], atol=1e-12)

    @pytest.mark.parametrize(
        ("axis", "angle", "beyond"), [(X, 0.9, 0.1), (-X, 0.9, 0.6), (-Z, 0.9, 0.4), (Z, 0.9, -0.1)]
    )
    def test_cone_has_its_own_reach_on_every_side(self, axis: np.ndarray, angle: float, beyond: float) -> None:
        cone = self.cone(swing=[[-0.3, 0.8], [-1.0, 0.5]])
        np.testing.assert_allclose(residuals(cone, turns=[from_axis_angle(axis, angle)]), [[beyond]], atol=1e-12)

    def test_elliptic_cone_between_its_axes(self) -> None:
        lean = np.array([0.6 * np.cos(0.4), 0.0, -0.3 * np.sin(0.4)])
        cone = self.cone(swing=[0.6, 0.3])
        np.testing.assert_allclose(residuals(cone, turns=exp([lean])), 0.0, atol=1e-12)
        np.testing.assert_allclose(residuals(cone, turns=exp([1.5 * lean])), 0.5 * np.linalg.norm(lean), atol=1e-12)

    def test_swing_beyond_a_right_angle_and_no_swing_are_finite(self) -> None:
        turns = np.array([IDENTITY, from_axis_angle(X, np.pi), from_axis_angle(Z, np.pi - 1e-7)])
        rows = self.cone(swing=[0.6, 0.3], twist=[-1.0, 1.0]).rows(
            ConstraintInput(times=np.zeros(3), points=np.empty((3, 0, 3)), local_rotations=turns[:, None])
        )
        assert np.all(np.isfinite(rows.values))
        assert np.all(np.isfinite(rows.d_rotations))
        assert rows.values[0, 0] < 0.0 < rows.values[1, 0]

    def test_taken_from_the_skeleton(self) -> None:
        body = character("adult")
        knee = JointRange.of(body, "LeftLeg", actor="first")
        np.testing.assert_allclose(knee.ranges, np.radians([[0.0, 155.0]]))
        assert knee.joint.actor == "first"
        assert knee.label == "joint_range LeftLeg"
        with pytest.raises(OptionError, match="Joint `Hips` has no limits of its own"):
            JointRange.of(body, "Hips")

    def test_widened_just_enough(self, rng: np.random.Generator) -> None:
        turns = exp(rng.normal(size=(200, 3)) * [0.6, 0.2, 0.6])
        tight = self.cone(swing=[[-0.3, 0.8], [-1.0, 0.5]], twist=[-0.1, 0.1])
        seen = ConstraintInput(times=np.zeros(200), points=np.empty((200, 0, 3)), local_rotations=turns[:, None])
        assert tight.rows(seen).values.max() > 0.1
        wide = tight.widened(turns)
        assert wide.rows(seen).values.max() < 1e-9
        assert wide.widened(turns, margin=0.1).rows(seen).values.max() < 1e-9
        np.testing.assert_array_equal(wide.widened(turns, margin=0.1).twist, wide.twist)
        assert tight.widened(turns[:1] * 0.0 + IDENTITY).swing.tolist() == tight.swing.tolist()


class TestFollow:
    def test_path_between_its_times(self) -> None:
        path = Follow(point=TIP, path=[[0, 0, 0], [1, 0, 0], [1, 2, 0]], times=[0.0, 1.0, 2.0], offset=[0, 0, 1])
        values = residuals(path, [0, 0, 1], times=[-1.0, 0.5, 1.5, 9.0])
        np.testing.assert_allclose(values, [[0, 0, 0], [-0.5, 0, 0], [-1, -1, 0], [-1, -2, 0]])
        assert path.relation is Relation.EQUAL

    def test_another_point(self) -> None:
        follow = Follow(point=TIP, target=PointRef(point="tip", actor="second"), axes="xz")
        np.testing.assert_allclose(residuals(follow, [1, 2, 3], [0.5, 9, 5]), [[0.5, -2.0]])

    def test_within_a_distance_that_shrinks(self) -> None:
        near = Follow(point=TIP, path=[0, 0, 0], times=[0.0, 2.0], within=[0.5, 0.0])
        assert near.relation is Relation.AT_MOST
        values = residuals(near, [0.3, 0.0, 0.0], times=[0.0, 1.0, 2.0])
        np.testing.assert_allclose(values, [[-0.2], [0.05], [0.3]])


class TestPoints:
    @pytest.mark.parametrize(("bound", "expected"), [("equal", 2.0), ("at_least", -2.0), ("at_most", 2.0)])
    def test_distance(self, bound: str, expected: float) -> None:
        constraint = Distance(first=TIP, second=LOWER, length=3.0, bound=bound)
        np.testing.assert_allclose(residuals(constraint, [3, 4, 0], [0, 0, 0]), [[expected]])
        assert constraint.relation is (Relation.EQUAL if bound == "equal" else Relation.AT_MOST)

    def test_distance_can_leave_the_same_place(self) -> None:
        rows = Distance(first=TIP, second=LOWER, length=1.0, bound="at_least").rows(view([1, 1, 1], [1, 1, 1]))
        assert rows.values == 1.0
        assert np.abs(rows.d_points).max() == 1.0

    def test_direction_is_an_angle_and_opposite_is_half_a_turn(self) -> None:
        along = Direction(tail=LOWER, head=TIP, direction=[0, 0, 5])
        for angle in (0.0, 0.3, 2.0, 3.0, np.pi):
            values = residuals(along, [1, 1, 1], [1 + 0.2 * np.sin(angle), 1, 1 + 0.2 * np.cos(angle)])
            np.testing.assert_allclose(np.linalg.norm(values), angle, atol=1e-9)
        opposite = along.rows(view([0, 0, 0], [0, 0, -1]))
        assert np.all(np.isfinite(opposite.d_points))

    def test_direction_that_turns(self) -> None:
        turning = Direction(tail=LOWER, head=TIP, direction=[X, Y], times=[0.0, 1.0])
        values = residuals(turning, [0, 0, 0], X, times=[0.0, 0.5, 1.0])
        np.testing.assert_allclose(np.linalg.norm(values, axis=-1), [0.0, np.pi / 4, np.pi / 2], atol=1e-12)

    def test_level_foot(self) -> None:
        level = Direction(tail=LOWER, head=TIP, direction=Y, angle=0.5 * np.pi)
        values = [residuals(level, [0, 0, 0], [np.cos(a), np.sin(a), 0.0])[0, 0] for a in (0.0, 0.2, -0.3)]
        np.testing.assert_allclose(values, [0.0, -0.2, 0.3], atol=1e-12)

    def test_attached_to_a_prop_that_turns(self) -> None:
        prop = Attach(
            point=TIP, path=[[0, 0, 0], [2, 0, 0]], rotations=[IDENTITY, from_axis_angle(Y, np.pi / 2)],
            times=[0.0, 1.0], grip=[0, 0, 1],
        )  # fmt: skip
        values = residuals(prop, [0, 0, 0], times=[0.0, 0.5, 1.0])
        half = np.sqrt(0.5)
        np.testing.assert_allclose(values, [[0, 0, -1], [-1 - half, 0, -half], [-3, 0, 0]], atol=1e-12)

    def test_attached_to_another_actor(self) -> None:
        hands = Attach(point=TIP, to=PointRef(point="tip", actor="second"))
        np.testing.assert_allclose(residuals(hands, [1, 2, 3], [1, 1, 1]), [[0, 1, 2]])

    def test_on_line(self) -> None:
        rung = OnLine(point=TIP, first=[0, 1, 0], last=[2, 1, 0])
        sizes = [np.linalg.norm(residuals(rung, p)) for p in ([0.5, 1, 0], [1.5, 1, 0.3], [2.5, 1, 0], [-3, 5, 0])]
        np.testing.assert_allclose(sizes, [0.0, 0.3, 0.5, 5.0], atol=1e-12)
        assert residuals(OnLine(point=TIP, first=[0, 1, 0], last=[2, 1, 0], endless=True), [9, 1, 0]).max() < 1e-12

    def test_pose_is_the_rotation_left_over(self) -> None:
        goal = normalize([[0.3, 0.2, -0.5, 0.7]])
        pose = FixedPose(posed=(UPPER,), rotations=goal)
        np.testing.assert_allclose(residuals(pose, turns=multiply(goal, exp([[0.1, 0.2, 0.3]]))), [[0.1, 0.2, 0.3]])
        np.testing.assert_allclose(residuals(pose, turns=-goal), 0.0, atol=1e-12)

    def test_pose_of_a_motion(self) -> None:
        walk = motion("walk", seconds=1.0).motion
        pose = FixedPose.of(walk, ("LeftArm", "Head"))
        numbers = [walk.skeleton.joint(name) for name in ("LeftArm", "Head")]
        seen = ConstraintInput(
            times=walk.times, points=np.empty((len(walk), 0, 3)), local_rotations=walk.rotations[:, numbers]
        )
        np.testing.assert_allclose(pose.rows(seen).values, 0.0, atol=1e-7)

    def test_function(self) -> None:
        height = Function(function=lambda p: p[:, 0, 1] - 2.0, points=(TIP,), bound="at_most")
        rows = height.rows(view([0, 5, 0]))
        np.testing.assert_allclose(rows.values, [[3.0]])
        np.testing.assert_allclose(rows.d_points, [[[Y]]])
        assert height.relation is Relation.AT_MOST


class TestBalance:
    masses = (PointRef(point="root"),)
    square = ((1, 1), (-1, -1), (1, -1), (-1, 1), (0.2, 0.1))

    def test_fixed_support(self) -> None:
        balance = Balance(masses=self.masses, shares=[1.0], support=self.square, margin=0.25)
        assert len(balance.support) == 4
        worst = [residuals(balance, p).max() for p in ([0, 9, 0], [0.5, 0, 0], [0, 0, -2])]
        np.testing.assert_allclose(worst, [-0.75, -0.25, 1.25])

    def test_feet_give_the_same_support(self, rng: np.random.Generator) -> None:
        fixed = Balance(masses=self.masses, shares=[1.0], support=self.square)
        feet = tuple(PointRef(point=f"foot{i}") for i in range(5))
        moving = Balance(masses=self.masses, shares=[1.0], feet=feet)
        places = [[x, 0.3, z] for x, z in self.square]
        for centre in rng.uniform(-2, 2, (40, 3)):
            a, b = residuals(fixed, centre).max(), residuals(moving, centre, *places).max()
            assert np.sign(a) == np.sign(b)
            assert b >= a - 1e-12

    def test_one_foot_point_or_two_are_a_support_too(self) -> None:
        one = Balance(masses=self.masses, shares=[1.0], feet=(TIP,), margin=-0.1)
        assert residuals(one, [0.05, 1, 0], [0, 0, 0]).max() < 0.0
        np.testing.assert_allclose(residuals(one, [0.5, 1, 0], [0, 0, 0]).max(), 0.4)
        two = Balance(masses=self.masses, shares=[1.0], feet=(TIP, LOWER))
        values = [residuals(two, p, [0, 0, 0], [0, 0, 2]).max() for p in ([0, 1, 1], [0.3, 1, 1], [0, 1, 2.5])]
        np.testing.assert_allclose(values, [0.0, 0.3, 0.5], atol=1e-12)

    def test_of_a_body(self) -> None:
        scene = motion("squat", seconds=1.0)
        body = scene.motion.skeleton
        pose = fk(scene.motion)
        balance = Balance.of(body, [[9, 9], [9, 8], [8, 9]])
        points = pose.points([s.point for s in balance.point_refs()])
        seen = ConstraintInput(times=scene.motion.times, points=points, local_rotations=np.empty((len(points), 0, 4)))
        slanted = np.array([-1.0, -1.0]) / np.sqrt(2.0)
        expected = (centre_of_mass(pose)[:, [0, 2]] - [9, 8]) @ slanted
        np.testing.assert_allclose(balance.rows(seen).values.max(-1), expected, atol=1e-9)
        assert balance.label == "balance"


class TestApart:
    def test_known_distances(self) -> None:
        limbs = Apart(part=(LOWER, TIP), radius=0.1, other=(ROOT, UPPER), other_radius=0.2)
        cases = {
            "crossing above": ([[-1, 1, 0], [1, 1, 0], [0, 0, -1], [0, 0, 1]], 1.0),
            "parallel": ([[0, 0, 0], [1, 0, 0], [0.5, 0, 0.7], [3, 0, 0.7]], 0.7),
            "end to end": ([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]], 1.0),
            "end to side": ([[0, 0, 0], [1, 0, 0], [1.5, -1, 0], [1.5, 1, 0]], 0.5),
            "no length": ([[0, 0, 0], [0, 0, 0], [0, 2, 0], [0, 2, 0]], 2.0),
        }
        for name, (points, distance) in cases.items():
            np.testing.assert_allclose(residuals(limbs, *points), [[0.3 - distance]], atol=1e-12, err_msg=name)

    def test_lines_that_cross_are_driven_out_across_both(self) -> None:
        limbs = Apart(part=(LOWER, TIP), radius=0.1, other=(ROOT, UPPER), other_radius=0.2)
        rows = limbs.rows(view([-1, 0, 0], [1, 0, 0], [0, 0, -1], [0, 0, 1]))
        np.testing.assert_allclose(rows.values, [[0.3]])
        np.testing.assert_allclose(np.abs(rows.d_points[0, 0]), [[0, 0.5, 0]] * 4, atol=1e-12)

    def test_sphere_and_floor(self) -> None:
        ball = Apart(part=(LOWER, TIP), radius=0.1, fixed=[0, 3, 0], other_radius=1.0)
        np.testing.assert_allclose(residuals(ball, [-1, 0, 0], [1, 0, 0]), [[-1.9]])
        floor = Apart(part=(LOWER, TIP), radius=0.1, floor=0.5)
        np.testing.assert_allclose(residuals(floor, [0, 1, 0], [1, 0.3, 0]), [[-0.4, 0.3]])

    def test_nearest_is_as_near_as_a_search_finds(self, rng: np.random.Generator) -> None:
        ends = rng.normal(size=(4, 300, 3))
        ends[:, :50] = np.round(ends[:, :50])
        s, t = closest_points(*ends)
        values = np.linalg.norm(
            ends[0] + s[:, None] * (ends[1] - ends[0]) - ends[2] - t[:, None] * (ends[3] - ends[2]), axis=-1
        )
        grid = np.linspace(0, 1, 101)
        first = ends[0] + grid[:, None, None] * (ends[1] - ends[0])
        second = ends[2] + grid[:, None, None] * (ends[3] - ends[2])
        searched = np.linalg.norm(first[:, None] - second[None], axis=-1).min((0, 1))
        assert np.all(values <= searched + 1e-9)
        assert np.all(values >= searched - 0.1)


NAN = [np.nan, 0.0, 0.0]
ERRORS: dict[str, tuple[Callable[[], Any], str]] = {
    "range: neither": (lambda: JointRange(joint=UPPER), "either axes .* or a bone axis"),
    "range: nan": (lambda: JointRange(joint=UPPER, axes=[X], ranges=[[0, np.nan]]), "a least and a greatest angle"),
    "range: crossed": (lambda: JointRange(joint=UPPER, axes=[X], ranges=[[1, 0]]), "least angle is above the greatest"),
    "range: open": (lambda: JointRange(joint=UPPER, axes=[X], ranges=[[-np.inf, np.inf]]), "at least one finite limit"),
    "range: slanted": (
        lambda: JointRange(joint=UPPER, axes=[X, X + Y, Z], ranges=np.tile([0, 1], (3, 1))), "at right angles to both",
    ),
    "range: parallel": (lambda: JointRange(joint=UPPER, axes=[X, -X], ranges=[[0, 1]] * 2), "must not be parallel"),
    "range: zero axis": (lambda: JointRange(joint=UPPER, axes=[0 * X], ranges=[[0, 1]]), "must have a direction"),
    "range: axes": (lambda: JointRange(joint=UPPER, axes=np.eye(4), ranges=[[0, 1]]), "one to three axes"),
    "range: bone": (lambda: JointRange(joint=UPPER, axis=0 * X, swing=1.0), "bone axis must have a direction"),
    "range: along": (lambda: JointRange(joint=UPPER, axis=X, reference=X, swing=1.0), "not be along the bone"),
    "range: nothing": (lambda: JointRange(joint=UPPER, axis=X), "of swing, of twist or of both"),
    "range: swing": (lambda: JointRange(joint=UPPER, axis=X, swing=[0.5, -0.1]), "to both sides of zero"),
    "range: rest": (lambda: JointRange(joint=UPPER, rest=2 * IDENTITY, axis=X, swing=1.0), "unit quaternions"),
    "follow: nothing": (lambda: Follow(point=TIP), "either a target point or a path"),
    "follow: nan": (lambda: Follow(point=TIP, path=[NAN]), "path: expected finite numbers, got nan"),
    "follow: no times": (lambda: Follow(point=TIP, path=np.zeros((3, 3))), "3 values over time need their times"),
    "follow: falling": (lambda: Follow(point=TIP, path=np.zeros((2, 3)), times=[1, 0]), "2 finite, rising times"),
    "follow: axes": (lambda: Follow(point=TIP, path=X, axes="q"), "axes out of `xyz`, got `q`"),
    "follow: within": (lambda: Follow(point=TIP, path=X, within=-0.1), "zero or more, got -0.1 m"),
    "follow: lengths": (
        lambda: Follow(point=TIP, path=np.zeros((2, 3)), within=[1, 2, 3], times=[0, 1, 2]), "cannot have 3 distances",
    ),
    "follow: shape": (lambda: Follow(point=TIP, path=np.zeros((2, 2))), r"expected shape \(times, 3\) or \(3\), got"),
    "distance: negative": (lambda: Distance(first=TIP, second=ROOT, length=-1.0), "zero or more, got -1.0 m"),
    "distance: nan": (lambda: Distance(first=TIP, second=ROOT, length=np.nan), "zero or more, got nan m"),
    "distance: bound": (lambda: Distance(first=TIP, second=ROOT, length=1.0, bound="x"), "one of equal, at_least"),
    "distance: none": (lambda: Distance(first=TIP, second=ROOT, length=0.0), "no direction\n\nhint: use `attach`"),
    "direction: zero": (lambda: Direction(tail=ROOT, head=TIP, direction=0 * X), "must not be zero"),
    "direction: turn": (lambda: Direction(tail=ROOT, head=TIP, direction=[X, -X], times=[0, 1]), "nearly opposite"),
    "direction: angle": (lambda: Direction(tail=ROOT, head=TIP, direction=X, angle=4.0), "half a turn, got 4.0"),
    "attach: nothing": (lambda: Attach(point=TIP), "a point to attach to or the path of a prop"),
    "attach: both": (lambda: Attach(point=TIP, to=ROOT, grip=X), "describe a prop, which needs a `path`"),
    "attach: count": (
        lambda: Attach(point=TIP, path=np.zeros((2, 3)), rotations=identity(3), times=[0, 1, 2]), "have 3 rotations",
    ),
    "line: one place": (lambda: OnLine(point=TIP, first=X, last=X), "must differ\n\nhint: use `place`"),
    "line: nan": (lambda: OnLine(point=TIP, first=NAN, last=X), "first end: expected three finite"),
    "pose: none": (lambda: FixedPose(posed=(), rotations=np.empty((0, 4))), "at least one joint"),
    "pose: shape": (lambda: FixedPose(posed=(UPPER,), rotations=IDENTITY), "expected shape"),
    "balance: shares": (lambda: Balance(masses=(TIP,), shares=[0.5], support=X), "sum to one, got 0.5"),
    "balance: negative": (lambda: Balance(masses=(TIP,), shares=[-1], support=X), "1 shares of mass of zero or more"),
    "balance: nothing": (lambda: Balance(masses=(TIP,), shares=[1.0]), "either a support on the ground or points"),
    "balance: line": (lambda: Balance(masses=(TIP,), shares=[1], support=[[0, 0], [1, 1], [2, 2]]), "not lie on one"),
    "balance: few": (lambda: Balance(masses=(TIP,), shares=[1], support=[[0, 0], [1, 1]]), "at least three finite"),
    "balance: margin": (lambda: Balance(masses=(TIP,), shares=[1], feet=(TIP,), margin=np.nan), "margin in metres"),
    "apart: nothing": (lambda: Apart(part=(TIP, ROOT), radius=0.1), "one thing to keep clear of"),
    "apart: radius": (lambda: Apart(part=(TIP, ROOT), radius=-0.1, floor=0.0), "radius of zero or more, got -0.1 m"),
    "apart: fixed": (lambda: Apart(part=(TIP, ROOT), radius=0.1, fixed=NAN), "the finite ends"),
    "apart: floor": (lambda: Apart(part=(TIP, ROOT), radius=0.1, floor=np.inf), "height in metres, got inf"),
    "apart: ends": (lambda: Apart(part=(TIP,), radius=0.1, floor=0.0), "two ends of a capsule, got 1"),
    "function: what": (lambda: Function(function=3, points=(TIP,)), "expected a function of points, got int"),
    "function: where": (lambda: Function(function=abs, points=()), "at least one point"),
    "function: bound": (lambda: Function(function=abs, points=(TIP,), bound="x"), "`equal` or `at_most`; got `x`"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors_read(case: str) -> None:
    make, expected = ERRORS[case]
    with pytest.raises(OptionError, match=expected) as caught:
        make()
    assert caught.value.message.startswith("Constraint `")


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda p: np.linalg.eigvalsh(p), "Constraint `mine`: .* through np.linalg.eigvalsh"),
        (lambda p: 1.0, "must return what it computed from them, got float"),
        (lambda p: np.sqrt(p[:, 0, 0] - 9.0), "not finite at these points"),
    ],
)
def test_function_that_cannot_be(function: Any, expected: str) -> None:
    constraint = Function(function=function, points=(TIP,), name="mine")
    with np.errstate(invalid="ignore"), pytest.raises(OptionError, match=expected):
        constraint.rows(view([0, 0, 0]))


def test_a_hinge_on_a_skeleton_reads_its_own_angle() -> None:
    body = Skeleton(
        names=("root", "upper"), parents=[-1, 0], offsets=np.zeros((2, 3)), rest=identity(2),
        kinds=(JointKind.FREE, JointKind.HINGE), axes=[np.eye(3), [X, 0 * X, 0 * X]],
        limits=[[[-np.inf, np.inf]] * 3, [[0.0, 1.0], [-np.inf, np.inf], [-np.inf, np.inf]]],
    )  # fmt: skip
    bent = Motion(skeleton=body, fps=1.0, root=np.zeros((1, 3)), rotations=[[IDENTITY, from_axis_angle(X, 1.5)]])
    rows = JointRange.of(body, "upper").rows(
        ConstraintInput(times=np.zeros(1), points=np.empty((1, 0, 3)), local_rotations=bent.rotations[:, 1:])
    )
    np.testing.assert_allclose(rows.values, [[-1.5, 0.5]])
