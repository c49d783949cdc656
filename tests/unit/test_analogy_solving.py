"""The solve for basis vectors and mean pose: derivatives against finite differences, and known answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from understudy.analogy.conditions import Conditions
from understudy.analogy.solving import (
    MarkerObjective,
    Task,
    _TrustRegion,
    misfit,
    orthonormalise,
    orthonormality_hessian,
    reduce_frames,
    solve,
)
from understudy.analogy.study import JointChart
from understudy.base.quaternion import Array
from understudy.constraints.base import PointRef
from understudy.constraints.joint_range import JointRange
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind, Skeleton

COMPONENTS = 3


def periodic(frames: int, components: int) -> Array:
    """(F, K) courses of mean zero that cross each other as little as sines and cosines do."""
    at = 2.0 * np.pi * np.arange(frames) / frames
    waves = [np.sin(at), np.cos(at), np.sin(2.0 * at), np.cos(2.0 * at), np.sin(3.0 * at)]
    return np.stack(waves[:components], -1) * (0.5 / np.arange(1, components + 1))


@pytest.fixture
def task(rng: np.random.Generator, make_skeleton: Callable[..., Skeleton], make_motion: Callable[..., Motion]) -> Task:
    """A body of every kind of joint whose markers move as one of its own tables makes them."""
    skeleton = make_skeleton(rng, 9)
    base = make_motion(skeleton, rng, 1).rotations[0]
    chart = JointChart(skeleton=skeleton, base=base)
    course = periodic(24, COMPONENTS)
    known = np.concatenate(
        [0.1 * rng.normal(size=(1, chart.size)), np.linalg.qr(rng.normal(size=(chart.size, 3)))[0].T]
    )
    joints = np.array([8, 8, 7, 6, 5, 4, 3, 8])
    offsets = rng.normal(size=(8, 3))
    places = chart.posture(known[0] + course @ known[1:]).points(joints, offsets)
    moved = places - places.mean(axis=0)
    # Movement that a table really makes is told in as many components as there are frames.
    left, sizes, right = np.linalg.svd(moved.reshape(24, -1), full_matrices=False)
    goal = MarkerObjective(
        joints=joints,
        offsets=offsets,
        weights=np.full(8, 1.0 / 8.0),
        movement=(right.T * sizes).reshape(8, 3, -1),
        markers=np.arange(8),
    )
    start = known + 0.1 * rng.normal(size=known.shape)
    return Task(
        chart=chart,
        goal=goal,
        conditions=Conditions(size=chart.size, unit=1.0),
        course=course,
        marker_course=left,
        share=np.full(24, 1.0 / 24.0),
        start=start,
        near=known,
        free=np.arange(chart.size),
        orthonormal=False,
        pull=1e-3,
    )


def conditioned(task: Task, rng: np.random.Generator) -> Task:
    """The same with a pose, a place and a limit, and means that count."""
    skeleton = task.chart.skeleton
    hinge = next(j for j, kind in enumerate(skeleton.kinds) if kind is JointKind.HINGE)
    limit = JointRange(
        joint=PointRef(point=skeleton.names[hinge]), axes=skeleton.axes[hinge, :1], ranges=np.array([[-0.1, 0.1]])
    )
    columns = np.flatnonzero(task.chart.joint_of == hinge)
    conditions = replace(
        task.conditions,
        poses=((3, np.array([1, 2, 4]), 0.1 * rng.normal(size=3)),),
        places=((7, 6, rng.normal(size=3), rng.normal(size=3)),),
        limits=((hinge, columns, limit),),
        limited=np.arange(24),
    )
    goal = replace(task.goal, means=rng.normal(size=(8, 3)), mean_weights=rng.uniform(0.1, 1.0, 8))
    return replace(task, conditions=conditions, goal=goal)


def test_slope_of_the_merit_is_its_derivative(task: Task, rng: np.random.Generator) -> None:
    search = _TrustRegion(conditioned(task, rng))
    search.watched = [0]
    table = search.table + 0.3 * rng.normal(size=search.table.shape)
    search.multipliers = rng.normal(size=len(search.task.conditions.rows(search._posture(table)).values))
    search.table = table
    slope = search._normal(search.at(table, slopes=True))[1]
    for _ in range(5):
        way = rng.normal(size=table.shape)
        ahead, behind = (search.at(table + step * way, slopes=False).merit for step in (1e-6, -1e-6))
        assert (ahead - behind) / 2e-6 == pytest.approx(float(np.sum(slope * way)), rel=1e-5, abs=1e-7)


def test_normal_matrix_is_that_of_the_whole_jacobian(task: Task, rng: np.random.Generator) -> None:
    """The sum of small products is J'J of all residuals, the mean of the markers taken off, built the long way."""
    goal = replace(task.goal, means=rng.normal(size=(8, 3)), mean_weights=rng.uniform(0.1, 1.0, 8))
    some = replace(task, goal=goal, pull=0.0)
    search = _TrustRegion(some)
    matrix = search._normal(search.at(search.table, slopes=True))[0]

    def residuals(table: Array) -> Array:
        posture = some.chart.posture(some.places @ table)
        away = posture.points(goal.joints, goal.offsets) - goal.wanted(some.marker_course)
        mean = away.mean(axis=0)
        size = np.sqrt(goal.weights)[:, None]
        off = np.sqrt(goal.mean_weights)[:, None] * (mean - goal.means) * size
        return np.concatenate([((away - mean) * size * np.sqrt(1.0 / 24.0)).ravel(), off.ravel()])

    columns = []
    for index in np.ndindex(search.table.shape):
        step = np.zeros(search.table.shape)
        step[index] = 1e-6
        columns.append((residuals(search.table + step) - residuals(search.table - step)) / 2e-6)
    whole = np.stack(columns, -1)
    assert np.allclose(matrix, whole.T @ whole, atol=1e-6 * float(np.abs(matrix).max()))
    # Half the sum of squares is the value itself.
    assert search.at(search.table, slopes=False).fit.value == pytest.approx(0.5 * np.sum(residuals(search.table) ** 2))


def test_rows_of_conditions_are_derived_right(task: Task, rng: np.random.Generator) -> None:
    chart, conditions = task.chart, conditioned(task, rng).conditions
    q = 0.3 * rng.normal(size=(24, chart.size))
    rows = conditions.rows(chart.posture(q))
    assert rows.slopes is not None
    for _ in range(4):
        way = rng.normal(size=q.shape)
        ahead, behind = (conditions.rows(chart.posture(q + s * way), slopes=False).values for s in (1e-6, -1e-6))
        wide = np.concatenate([way, np.zeros((24, 1))], axis=1)
        told = np.sum(rows.slopes * np.take_along_axis(wide[rows.frames], rows.columns, axis=1), axis=1)
        assert np.allclose((ahead - behind) / 2e-6, told, atol=1e-6)


def test_a_known_table_is_found_again(task: Task) -> None:
    found = solve(task)
    assert found.misfit < 1e-8
    assert np.abs(found.table - task.near).max() < 1e-3


def test_orthonormal_vectors_stay_so_to_rounding(task: Task) -> None:
    found = solve(replace(task, orthonormal=True))
    assert found.skew < 1e-12
    assert found.misfit < 1e-6
    assert np.abs(found.table - task.near).max() < 0.02


def test_only_free_coordinates_move(task: Task) -> None:
    free = np.array([0, 1, 2, 5, 6, 7])
    rest = np.setdiff1d(np.arange(task.chart.size), free)
    for orthonormal in (False, True):
        start = task.start.copy()
        start[1:, rest] *= 0.3
        found = solve(replace(task, start=start, near=None, free=free, orthonormal=orthonormal))
        assert np.array_equal(found.table[:, rest], start[:, rest])
        if orthonormal:
            assert found.skew < 1e-9


def test_poses_places_and_limits_are_met(task: Task, rng: np.random.Generator) -> None:
    chart = task.chart
    skeleton = chart.skeleton
    hinge = next(j for j, kind in enumerate(skeleton.kinds) if kind is JointKind.HINGE)
    column = np.flatnonzero(chart.joint_of == hinge)
    angles = (task.places @ task.near)[:, column[0]]
    base = JointRange(joint=skeleton.names[hinge], rest=chart.base[hinge], axes=skeleton.axes[hinge, :1],
                      ranges=np.array([[-9.0, 0.5 * angles.max()]]))  # fmt: skip
    pose = 0.2 * rng.normal(size=3)
    at = chart.posture(task.places @ task.near).points(np.array([8]), np.zeros((1, 3)))[11, 0] + [0.05, 0.0, 0.05]
    conditions = Conditions(
        size=chart.size, unit=1.0, poses=((3, np.array([0, 1, 2]), pose),), places=((11, 8, np.zeros(3), at),),
        limits=((hinge, column, base),), limited=np.arange(24),
    )  # fmt: skip
    for orthonormal in (False, True):
        found = solve(replace(task, conditions=conditions, orthonormal=orthonormal))
        assert found.violation < 1e-4
        posture = chart.posture(task.places @ found.table)
        assert np.abs(posture.displacement[3, :3] - pose).max() < 1e-6
        assert np.linalg.norm(posture.points(np.array([8]), np.zeros((1, 3)))[11, 0] - at) < 1e-4
        assert posture.displacement[:, column[0]].max() < 0.5 * angles.max() + 0.021


def test_poses_that_fight_orthonormality_are_met_as_nearly_as_can_be(task: Task) -> None:
    """Two poses fix the difference of two frames, whose length unit vectors cannot change [Analogies, sec. 5.2]."""
    columns = np.arange(task.chart.size)
    start = task.places @ task.near
    poses = ((2, columns, start[2]), (14, columns, start[14] + 2.0 * (start[14] - start[2])))
    conditions = replace(task.conditions, poses=poses)
    firm = solve(replace(task, conditions=conditions, orthonormal=True))
    assert np.all(np.isfinite(firm.table))
    assert firm.skew < 1e-12
    assert firm.violation > 0.01
    assert solve(replace(task, conditions=conditions)).violation < 1e-9


def test_frames_that_stand_for_all_have_their_moments(rng: np.random.Generator) -> None:
    course = np.cumsum(rng.normal(size=(2000, 10)), axis=0)
    course -= course.mean(axis=0)
    frames, weights = reduce_frames(course)
    assert len(frames) <= 72
    assert np.all(weights >= 0.0)
    assert weights.sum() == pytest.approx(1.0)
    spread = np.sqrt(np.mean(course**2, axis=0))
    assert np.abs(weights @ course[frames] / spread).max() < 0.02
    kept = (course[frames] * weights[:, None]).T @ course[frames] / np.outer(spread, spread)
    assert np.abs(kept - course.T @ course / 2000 / np.outer(spread, spread)).max() < 0.02
    smooth = periodic(1000, 5)
    frames, weights = reduce_frames(smooth)
    assert np.allclose((smooth[frames] * weights[:, None]).T @ smooth[frames], smooth.T @ smooth / 1000, atol=1e-5)
    few, even = reduce_frames(smooth[:50])
    assert np.array_equal(few, np.arange(50))
    assert np.all(even == 0.02)


def test_reduced_objective_is_nearly_the_whole_one(task: Task) -> None:
    course = periodic(600, COMPONENTS)
    at = np.linspace(0.0, 24.0, 600, endpoint=False)
    # The marker courses of the task, read between its frames as the periodic curves they are.
    spectrum = np.fft.rfft(task.marker_course, axis=0)
    waves = np.exp(2j * np.pi * np.outer(at / 24.0, np.arange(len(spectrum))))
    scale = np.where(np.arange(len(spectrum)) % 12 == 0, 1.0, 2.0)[:, None] / 24.0
    marker_course = np.real(waves @ (spectrum * scale))
    table = task.near + 0.1
    values = []
    for frames, share in (
        (np.arange(600), np.full(600, 1.0 / 600.0)),
        reduce_frames(np.concatenate([course, marker_course[:, :5]], axis=1)),
    ):
        posture = task.chart.posture(table[0] + course[frames] @ table[1:])
        values.append(misfit(task.goal, posture, marker_course[frames], share, 1.0, slopes=False).value)
    assert values[1] == pytest.approx(values[0], rel=0.02)


def test_coming_back_to_orthonormal_vectors_moves_little(rng: np.random.Generator) -> None:
    table = np.concatenate([rng.normal(size=(1, 12)), np.linalg.qr(rng.normal(size=(12, 4)))[0].T])
    every = np.arange(12)
    assert np.allclose(orthonormalise(table, every), table, atol=1e-12)
    off = orthonormalise(table + 1e-4 * rng.normal(size=table.shape), every)
    assert np.allclose(off[1:] @ off[1:].T, np.eye(4), atol=1e-12)
    assert np.abs(off[1:] - table[1:]).max() < 1e-3


def test_bending_of_the_surface(rng: np.random.Generator) -> None:
    """Along the surface a linear function changes to second order by the term that is added, where that is positive."""
    basis = np.linalg.qr(rng.normal(size=(9, 3)))[0].T
    slope = -rng.uniform(0.5, 1.0, (3, 1)) * basis
    way = rng.normal(size=(3, 9))
    way -= 0.5 * (way @ basis.T + basis @ way.T) @ basis
    table = np.concatenate([np.zeros((1, 9)), basis])
    values = []
    for step in (1e-3, -1e-3, 0.0):
        moved = orthonormalise(table + np.concatenate([np.zeros((1, 9)), step * way]), np.arange(9))[1:]
        values.append(float(np.sum(slope * moved)))
    second = (values[0] + values[1] - 2.0 * values[2]) / 1e-6
    told = float(way.ravel() @ orthonormality_hessian(basis, slope, 0.0) @ way.ravel())
    assert second == pytest.approx(told, rel=1e-4)


def test_no_worse_than_a_general_solver(task: Task) -> None:
    """Sequential quadratic programming with the same constraints ends no lower."""
    from scipy.optimize import minimize

    some = replace(task, orthonormal=True)
    search = _TrustRegion(some)
    shape = search.table.shape

    def merit(x: Array) -> tuple[float, Array]:
        search.table = x.reshape(shape)
        state = search.at(search.table, slopes=True)
        search.task = replace(some, orthonormal=False)
        slope = search._normal(state)[1]
        search.task = some
        return state.merit, slope.ravel()

    rows, columns = np.triu_indices(COMPONENTS)

    def skew(x: Array) -> Array:
        basis = x.reshape(shape)[1:]
        return (basis @ basis.T - np.eye(COMPONENTS))[rows, columns]

    general = minimize(
        merit, search.table.ravel(), jac=True, method="SLSQP", constraints={"type": "eq", "fun": skew},
        options={"maxiter": 200, "ftol": 1e-12},
    )  # fmt: skip
    found = solve(some)
    assert _TrustRegion(some).at(found.table, slopes=False).merit <= general.fun + 1e-6
