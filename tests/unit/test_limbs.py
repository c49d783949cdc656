"""Levels that move limbs only: which joints those are, how contacts fade, and the normal equations of keys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import Array, exp, multiply
from understudy.base.splines import Knots, every_frame
from understudy.constraints.base import PointRef
from understudy.constraints.joint_range import JointRange
from understudy.constraints.place import Place
from understudy.constraints.pose import FixedPose
from understudy.constraints.same_place import SamePlace
from understudy.figure.contacts import Contact, find_creeps
from understudy.figure.kinematics import fk
from understudy.figure.limbs import limb_joints
from understudy.figure.motion import Motion, rest_motion
from understudy.retarget.driver import retarget
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers import dual
from understudy.solve.solvers.dual import (
    Curves,
    FactoredGroup,
    FactoredKeys,
    FactoredMatrix,
    Pattern,
    keys_of_forces,
)
from understudy.solve.solvers.limbs import (
    HeldLimbs,
    LimbProblem,
    agreeing_shifts,
    faded,
    split_by_part,
    steadying_part,
    stretch_of_tilted_foot,
    turned_joint,
)
from understudy.solve.solvers.newton import NEGLIGIBLE_PULL, Keys, LinearizedStep
from understudy.solve.solvers.spacetime import Level, Spacetime, levels


def walk() -> Motion:
    return samples.motion("walk", seconds=3.0).motion


def test_limbs_begin_where_they_leave_the_trunk() -> None:
    skeleton = walk().skeleton
    limbs = {name for name, is_limb in zip(skeleton.names, limb_joints(skeleton), strict=True) if is_limb}
    assert {"LeftUpLeg", "LeftLeg", "LeftFoot", "RightArm", "RightForeArm", "RightHand"} <= limbs
    assert not limbs & {"Hips", "Spine"}, "root and trunk carry several limbs"


def test_a_body_without_branches_has_no_limbs() -> None:
    can = samples.character("can")
    assert not limb_joints(can)[0]


def test_a_change_fades_to_zero_beside_the_frames_that_need_it() -> None:
    change = np.full((40, 3), np.nan)
    change[10:20] = [0.01, 0.0, -0.02]
    held = np.isfinite(change[:, 0])
    out = faded(change, held, np.zeros(40, bool), 6)
    assert np.allclose(out[10:20], change[10:20])
    assert np.isnan(out[:5]).all(), "nothing is asked far away"
    assert np.isnan(out[25:]).all()
    shares = out[20:25, 0] / 0.01
    assert np.all(np.diff(shares) < 0.0)
    assert shares[0] > 0.9
    assert shares[-1] < 0.1


def test_a_change_stays_while_the_point_is_slow_and_fades_after_that() -> None:
    change = np.full((60, 3), np.nan)
    change[10:20] = 0.01
    slow = np.zeros(60, bool)
    slow[20:30] = slow[50:55] = True
    out = faded(change, np.isfinite(change[:, 0]), slow, 6)
    assert np.allclose(out[20:30], 0.01)
    assert 0.0 < out[32, 0] < 0.01
    assert np.isnan(out[50:55]).all(), "a slow stretch of its own is left alone"


def test_a_change_between_two_stretches_goes_from_one_to_the_other() -> None:
    change = np.full((30, 3), np.nan)
    change[:10], change[14:] = 0.01, 0.03
    out = faded(change, np.isfinite(change[:, 0]), np.zeros(30, bool), 12)
    assert np.all(np.diff(out[9:15, 0]) > 0.0)


@pytest.mark.parametrize("num_groups", [1, 2])
def test_the_normal_equations_of_keys_give_the_same_forces_as_the_matrix_of_forces(num_groups: int) -> None:
    rng = np.random.default_rng(3)
    times = np.linspace(0.0, 2.0, 61)
    basis = Knots.uniform(2.0, 0.2).basis(times)
    groups = tuple(np.array_split(np.arange(6), num_groups))
    curves = Curves(bases=(basis,) * num_groups, groups=groups, cost=rng.uniform(0.5, 2.0, 6))
    at = np.sort(rng.integers(0, 61, 150))
    jacobian = rng.normal(size=(150, 6))
    for row, group in enumerate(rng.integers(0, num_groups, 150)):
        jacobian[row, np.setdiff1d(np.arange(6), groups[group])] = 0.0
    pattern = Pattern(times=at, previous=np.full(150, -1), is_residual=np.ones(150, bool), curves=curves)
    compliance, residuals = rng.uniform(1e-3, 1e-2, 150), rng.normal(size=150)
    excluded = rng.random(150) < 0.1
    by_forces = FactoredMatrix.of(pattern, pattern.band(jacobian).copy(), compliance, 0.5, excluded).forces(residuals)
    by_keys = FactoredKeys.of(pattern, jacobian, compliance, 0.5, excluded).forces(residuals)
    assert np.allclose(by_keys, by_forces, atol=1e-8 * np.abs(by_forces).max())


@pytest.mark.parametrize("spacing", [None, 0.2])
def test_few_residuals_get_the_same_forces_from_a_small_dense_matrix(
    spacing: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fingers that touch the floor at few frames: the dense matrix of their forces against the band of their keys."""
    rng = np.random.default_rng(4)
    times = np.linspace(0.0, 2.0, 61)
    basis = every_frame(times) if spacing is None else Knots.uniform(2.0, spacing).basis(times)
    curves = Curves(bases=(basis,), groups=(np.arange(12),), cost=rng.uniform(0.5, 2.0, 12), roughness=30.0)
    at = np.sort(rng.integers(0, 61, 9))
    pattern = Pattern(times=at, previous=np.full(9, -1), is_residual=np.ones(9, bool), curves=curves)
    jacobian, compliance, residuals = rng.normal(size=(9, 12)), rng.uniform(1e-3, 1e-2, 9), rng.normal(size=9)
    excluded = np.arange(9) == 4
    factored = FactoredKeys.of(pattern, jacobian, compliance, 0.5, excluded)
    assert factored.groups[0].prefers_forces
    by_forces = factored.forces(residuals)
    monkeypatch.setattr(FactoredGroup, "prefers_forces", False)
    by_keys = FactoredKeys.of(pattern, jacobian, compliance, 0.5, excluded).forces(residuals)
    assert by_forces[4] == 0.0
    assert np.allclose(by_forces, by_keys, rtol=1e-9)


def test_coordinates_that_only_excluded_residuals_move_take_no_part() -> None:
    rng = np.random.default_rng(6)
    basis = every_frame(np.linspace(0.0, 1.0, 31))
    curves = Curves(bases=(basis,), groups=(np.arange(5),), cost=np.ones(5), roughness=30.0)
    pattern = Pattern(times=np.arange(6), previous=np.full(6, -1), is_residual=np.ones(6, bool), curves=curves)
    jacobian = rng.normal(size=(6, 5))
    jacobian[:3, 2:] = 0.0
    first = FactoredKeys.of(pattern, jacobian, np.full(6, 1e-3), 0.0, np.arange(6) >= 3)
    assert first.groups[0].jacobian.shape == (6, 2)
    second = FactoredKeys.of(pattern, jacobian, np.full(6, 1e-3), 0.0, np.zeros(6, bool), first)
    assert second.groups[0].jacobian.shape == (6, 5)
    again = FactoredKeys.of(pattern, jacobian, np.full(6, 1e-3), 0.0, np.zeros(6, bool), second)
    assert again.groups[0] is second.groups[0]


@pytest.mark.parametrize("spacing", [None, 0.05])
def test_a_factor_is_renewed_only_near_the_residuals_that_change(
    spacing: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(8)
    times = np.linspace(0.0, 60.0, 3601)
    basis = every_frame(times) if spacing is None else Knots.uniform(60.0, spacing).basis(times)
    curves = Curves(bases=(basis,), groups=(np.arange(4),), cost=rng.uniform(0.5, 2.0, 4), roughness=2000.0)
    at = np.sort(rng.integers(0, 3601, 6000))
    pattern = Pattern(times=at, previous=np.full(6000, -1), is_residual=np.ones(6000, bool), curves=curves)
    jacobian, compliance, residuals = rng.normal(size=(6000, 4)), rng.uniform(1e-6, 1e-5, 6000), rng.normal(size=6000)
    excluded, changed = rng.random(6000) < 0.3, np.zeros(6000, bool)
    changed[[0, 1, 2700, 2702, 2750, 5998]] = True
    factored = FactoredKeys.of(pattern, jacobian, compliance, 0.0, excluded)
    factored.forces(residuals)
    sizes: list[int] = []
    factor = dual.cholesky_factor
    monkeypatch.setattr(dual, "cholesky_factor", lambda band: sizes.append(len(band)) or factor(band))
    renewed = FactoredKeys.of(pattern, jacobian, compliance, 0.0, excluded ^ changed, factored).forces(residuals)
    assert 0 < sum(sizes) < 0.5 * 4 * basis.num_keys
    fresh = FactoredKeys.of(pattern, jacobian, compliance, 0.0, excluded ^ changed).forces(residuals)
    assert np.abs(renewed - fresh).max() < 1e-6 * np.abs(fresh).max()


@pytest.mark.parametrize("hold", [-np.inf, 0.5])
def test_rough_keys_cost_what_their_second_differences_say(hold: float) -> None:
    """The keys of a step by the normal equations against a dense solution; keys before `hold` stay zero."""
    rng = np.random.default_rng(5)
    times = np.linspace(0.0, 2.0, 41)
    basis = every_frame(times, hold)
    curves = Curves(bases=(basis,), groups=(np.arange(3),), cost=rng.uniform(0.5, 2.0, 3), roughness=50.0)
    at = np.sort(rng.integers(12, 41, 60))
    jacobian, residuals = rng.normal(size=(60, 3)), rng.normal(size=60)
    compliance = rng.uniform(1e-3, 1e-2, 60)
    pattern = Pattern(times=at, previous=np.full(60, -1), is_residual=np.ones(60, bool), curves=curves)
    forces = FactoredKeys.of(pattern, jacobian, compliance, 0.0, np.zeros(60, bool)).forces(residuals)
    keys = keys_of_forces(pattern, jacobian, forces)[0]
    moving = np.flatnonzero(basis.weights[:, 0])
    second = np.diff(np.eye(41), 2, axis=0)[:, moving]
    cost = np.kron(np.eye(len(moving)) + 50.0 * second.T @ second, np.diag(curves.cost))
    rows = np.zeros((60, 3 * len(moving)))
    for row, time in enumerate(at):
        rows[row, 3 * (time - moving[0]) : 3 * (time - moving[0]) + 3] = jacobian[row]
    weighted = rows.T / compliance
    expected = -np.linalg.solve(cost + weighted @ rows, weighted @ residuals).reshape(-1, 3)
    np.testing.assert_allclose(basis.values(keys)[moving], expected, atol=1e-6 * np.abs(expected).max())
    assert np.all(basis.values(keys)[: moving[0]] == 0.0)


def test_a_contact_takes_hold_without_a_spike() -> None:
    """A planted foot that is 5 mm away gets there over many frames, and the plant is exact from its first frame on."""
    motion = walk()
    path = fk(motion).points(["LeftFoot"])[:, 0]
    frame = int(np.argmin(path[20:40, 1])) + 20
    goal = path[frame] + [0.005, 0.0, 0.0]
    constraint = Place(
        point=PointRef(point="LeftFoot"), target=goal, start=motion.times[frame], end=motion.times[frame + 6]
    )
    problem = Problem(actors=(Actor(motion=motion),), constraints=(constraint,))
    only_last = tuple(level for level in levels(4 / 30, motion.fps) if level.limbs and not level.spacing)
    solution = Spacetime(levels=only_last).solve(problem)
    moved = fk(solution.motion).points(["LeftFoot"])[:, 0] - path
    assert solution.outcomes[0].worst < 1e-3
    assert np.linalg.norm(moved[frame - 1]) > 0.002, "it is on its way a frame before"
    assert np.linalg.norm(np.diff(moved[: frame + 1], 2, axis=0), axis=1).max() < 0.003


def test_contacts_of_one_step_agree() -> None:
    """A heel and a toe that are held one after the other keep the distance of one foot."""
    motion = walk()
    names = ("LeftFoot", "LeftToeBase")
    paths = dict(zip(names, np.moveaxis(fk(motion).points(list(names)), 1, 0), strict=True))
    heel = SamePlace(point=PointRef(point="LeftFoot"), start=0.5, end=0.7)
    toe = SamePlace(point=PointRef(point="LeftToeBase"), start=0.7, end=1.2)
    problem = Problem(actors=(Actor(motion=motion),), constraints=(heel, toe))
    spans = problem.constraint_frames
    of = {0: paths["LeftFoot"][spans[0]], 1: paths["LeftToeBase"][spans[1]]}
    goals = {number: np.broadcast_to(path.mean(axis=0), path.shape) for number, path in of.items()}
    shifts = agreeing_shifts(problem, goals, of)
    needs = {number: goals[number] + shifts[number] - of[number] for number in goals}
    shared, first, second = np.intersect1d(*spans, return_indices=True)
    assert len(shared)
    before = np.linalg.norm((goals[0] - of[0])[first].mean(axis=0) - (goals[1] - of[1])[second].mean(axis=0))
    after = np.linalg.norm(needs[0][first].mean(axis=0) - needs[1][second].mean(axis=0))
    assert after < 0.2 * before


def test_the_points_of_a_foot_move_as_one_rigid_body() -> None:
    """Heel and toe ask for a small turn and a shift of the foot: the ankle gets the displacement of that rigid foot."""
    motion = walk()
    names = ("LeftFoot", "LeftToeBase", "LeftLeg")
    spans = {"start": 0.5, "end": 1.0}
    held = [SamePlace(point=PointRef(point=name), **spans) for name in names[:2]]
    slow = SamePlace(point=PointRef(point=names[2]), soft=True, priority=-1, **spans)
    problem = Problem(actors=(Actor(motion=motion),), constraints=(*held, slow))
    frames = problem.constraint_frames[0]
    paths = fk(motion).points(list(names))[frames]
    across = np.cross(paths[:, 1] - paths[:, 0], [0.0, 1.0, 0.0])
    turn = 1e-3 * across / np.linalg.norm(across, axis=-1, keepdims=True)
    shift = np.array([0.002, 0.001, -0.003])
    wanted = shift + np.cross(turn[:, None], paths - paths[:, :1])
    limbs = HeldLimbs(problem=problem, bodies=problem.bodies)
    for number in (0, 1):
        limbs.add(number, wanted[:, number])
    limbs.add_slow(2, paths[:, 2])
    ((number, place),) = limbs.slow_paths()
    # A turn about the line from heel to toe is the one that they cannot ask for, and this one is across it.
    assert number == 2
    assert np.abs(place - paths[:, 2] - wanted[:, 2]).max() < 1e-6


def test_goals_of_a_tilted_foot_are_as_far_apart_as_the_foot_is_long() -> None:
    """A level foot of 0.2 m whose goals differ in height by 0.12 m must stand 0.16 m apart along the ground."""
    line, rise = np.tile([0.0, 0.0, 0.2], (5, 1)), np.array([0.0, 0.12, 0.0])
    assert stretch_of_tilted_foot(line, line + rise) == pytest.approx([0.0, 0.0, -0.04])
    assert stretch_of_tilted_foot(line, line) == pytest.approx([0.0, 0.0, 0.0])
    bending = line * np.linspace(1.0, 1.01, 5)[:, None]
    assert not stretch_of_tilted_foot(bending, bending + rise).any()


@pytest.mark.parametrize(("name", "target"), [("walk", "giant"), ("dance", "child"), ("walk", "dog")])
def test_no_one_sided_residual_pulls(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The floor pushes and never pulls: no step ends with a force on it that draws a foot down."""
    pulls = []
    step = LinearizedStep.step

    def watched(self: LinearizedStep, keys: Keys, damping: float, *rest: float, **named: bool) -> tuple[Array, Keys]:
        forces, new = step(self, keys, damping, *rest, **named)
        one_sided = forces[self.step_pattern.layout.one_sided]
        pulls.append(-one_sided.min(initial=0.0) / np.abs(forces).max())
        return forces, new

    monkeypatch.setattr(LinearizedStep, "step", watched)
    retarget(f"sample:{name}", f"sample:{target}")
    assert pulls
    assert max(pulls) <= NEGLIGIBLE_PULL


def hand_up() -> Place:
    target = fk(walk()).points(["LeftHand"])[45, 0] + [0.0, 0.1, 0.0]
    return Place(point=PointRef(point="LeftHand"), target=target, start=1.2, end=1.6)


def test_limb_levels_leave_root_and_trunk_as_they_are() -> None:
    """Whatever the limbs have to do, hips, chest and head move only as the band-limited level moves them."""
    problem = Problem(actors=(Actor(motion=walk()),), constraints=(hand_up(),))
    only_limbs = tuple(level for level in levels(4 / 30, walk().fps) if level.limbs)
    moved = Spacetime(levels=only_limbs).solve(problem).motion
    trunk = ~limb_joints(walk().skeleton)
    assert np.array_equal(moved.root, walk().root)
    assert np.array_equal(moved.rotations[:, trunk], walk().rotations[:, trunk])
    assert not np.array_equal(moved.rotations, walk().rotations)


def test_a_constraint_that_no_limb_can_meet_moves_the_trunk() -> None:
    motion = walk()
    goal = Place(point=PointRef(point="Hips"), target=motion.root[45] + [0.05, 0.0, 0.0], start=1.4, end=1.6)
    problem = Problem(actors=(Actor(motion=motion),), constraints=(goal,))
    assert split_by_part(problem, (0,)) == ((0,), ())
    assert Spacetime().solve(problem).unmet == ()


def test_limbs_do_not_feel_what_only_the_trunk_can_meet() -> None:
    """A limit of the spine beside a hand that is held: every limb is still solved by itself."""
    motion = walk()
    limit = JointRange(joint="Spine", axes=np.eye(3), ranges=np.tile([-0.1, 0.1], (3, 1)))
    problem = Problem(actors=(Actor(motion=motion),), constraints=(hand_up(), limit))
    assert split_by_part(problem, (0, 1)) == ((1,), (0,))
    limb = LimbProblem.of(problem, problem.bodies, (0,), final=True)
    trunk = LimbProblem.of(problem, problem.bodies, (1,), final=True, trunk=True)
    assert limb.problem.bodies[0].num_shifts == 0
    assert trunk.problem.bodies[0].num_shifts == 3
    assert len(limb.problem.metric) + len(trunk.problem.metric) == len(problem.metric)


def test_a_pose_of_trunk_and_limbs_is_met_by_both() -> None:
    motion = walk()
    pose = FixedPose(posed=("Spine", "LeftArm"), rotations=motion.rotations[40, [1, 2]], instants=(1.0,))
    problem = Problem(actors=(Actor(motion=motion),), constraints=(pose,))
    assert split_by_part(problem, (0,)) == ((0,), (0,))
    assert Spacetime().solve(problem).unmet == ()


def test_levels_of_the_whole_body_may_still_be_given() -> None:
    every_frame = (Level(spacing=0.0, rate=walk().fps, stiffness=1e6, steps=4),)
    problem = Problem(actors=(Actor(motion=walk()),), constraints=(hand_up(),))
    assert Spacetime(levels=every_frame).solve(problem).unmet == ()


def test_a_slow_foot_beside_a_contact_creeps() -> None:
    """A foot that stands for a second and rolls off slowly: the creep begins at the contact's last frame."""
    skeleton = walk().skeleton
    motion = rest_motion(skeleton, num_frames=90, fps=30.0)
    root = motion.root.copy()
    root[30:, 2] += 0.02 * np.arange(60) / 30.0
    root[60:, 2] += 1.5 * np.arange(30) / 30.0
    motion = motion.derived(root=root)
    point = skeleton.point("LeftToeBase")
    place = fk(motion).points([point])[0, 0]
    contact = Contact(point=point, start=0.0, end=1.0, place=place)
    (creep,) = [one for one in find_creeps(motion, (contact,), [point]) if one.times[0] <= 1.0]
    assert creep.times[0] == pytest.approx(1.0)
    assert 1.3 < creep.times[-1] < 2.1
    assert find_creeps(motion, (), [skeleton.point("LeftHand")])[0].times[0] == 0.0


@pytest.mark.parametrize("axis", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.6, 0.6, 0.5]])
def test_a_standing_foot_that_twitches_is_turned_back_at_the_ankle(axis: list[float]) -> None:
    """A captured foot turns by 2.5 degrees for one frame of a squat: the knee once swung aside by 46 mm, for 0.4 s."""
    clean = samples.motion("squat", fps=120.0).motion
    foot, knee = clean.skeleton.index["LeftFoot"], clean.skeleton.index["LeftLeg"]
    deepest, rotations = int(np.argmin(clean.root[:, 1])), clean.rotations.copy()
    twitch = exp(np.radians(2.5) * np.array(axis) / np.linalg.norm(axis))
    rotations[deepest, foot] = multiply(rotations[deepest, foot], twitch)
    wanted = retarget(clean, scale={"all": 0.8})
    found = retarget(replace(clean, rotations=rotations), scale={"all": 0.8}, contacts=wanted.contacts)
    assert not found.unmet
    away = np.linalg.norm(fk(found.motion).positions - fk(wanted.motion).positions, axis=-1)
    assert away[:, knee].max() < 0.01
    assert away[:, foot].max() < 0.003


def test_a_turned_foot_takes_along_what_hangs_from_it() -> None:
    """The places that are kept are those of the new rotations."""
    motion = walk()
    body = Problem(
        actors=(Actor(motion=motion),), constraints=(SamePlace(point=PointRef(point="LeftToeBase")),)
    ).bodies[0]
    turn = 0.1 * np.random.default_rng(2).normal(size=(motion.num_frames, 3))
    turned = turned_joint(body, body.skeleton.index["LeftFoot"], turn)
    pose = fk(turned.motion)
    np.testing.assert_allclose(turned.world[0], pose.positions, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(turned.world[1], pose.rotations, rtol=0.0, atol=1e-9)
    assert np.abs(turned.world[0] - body.world[0]).max() > 1e-3


def test_what_stops_a_held_point_moves_others_only_where_it_stops_them_too() -> None:
    """A sliding foot is stopped as a whole. An ankle that is still while the heel under it turns is left alone."""
    drift = np.linspace(-0.004, 0.004, 50)[:, None] * np.array([1.0, 0.0, 0.0])
    shift = np.array([0.01, 0.002, 0.0])
    np.testing.assert_allclose(drift + steadying_part(drift, shift - drift), np.tile(shift, (50, 1)), atol=1e-12)
    still = np.zeros((50, 3))
    np.testing.assert_allclose(steadying_part(still, shift - drift), np.tile(shift, (50, 1)), atol=1e-12)
    # A change that would add to the drift is made on average only.
    np.testing.assert_allclose(steadying_part(drift, shift + drift), np.tile(shift, (50, 1)), atol=1e-12)


def test_a_creep_goes_as_far_as_the_source_does() -> None:
    """The contacts beside it have places of their own, to which the path is not stretched."""
    skeleton = walk().skeleton
    motion = rest_motion(skeleton, num_frames=90, fps=30.0)
    root = motion.root.copy()
    root[30:60, 2] += np.linspace(0.0, 0.01, 30)
    root[60:, 2] += 0.01
    motion, point = motion.derived(root=root), skeleton.point("LeftToeBase")
    path = fk(motion).points([point])[:, 0]
    contacts = (
        Contact(point=point, start=0.0, end=1.0, place=path[0] - [0.0, 0.0, 0.02]),
        Contact(point=point, start=2.0, end=3.0, place=path[-1] + [0.0, 0.0, 0.02]),
    )
    (creep,) = find_creeps(motion, contacts, [point])
    frames = np.round(creep.times * 30.0).astype(int)
    np.testing.assert_allclose(creep.path, path[frames], atol=1e-12)
