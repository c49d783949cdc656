"""One attempt at an analogy: match markers, set up the objective, solve, and score the result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.analogy.conditions import Conditions, MarkerAt, PoseAt
from understudy.analogy.limbs import LimbGoal, add_limbs, on_limbs
from understudy.analogy.matching import MIN_SIMILARITY, SIZE_PREFERENCE_WIDTH, MarkerMatch, match, match_scores
from understudy.analogy.solving import (
    NUM_SAMPLE_FRAMES,
    PULL,
    CoordinationResult,
    MarkerObjective,
    Task,
    make_goal,
    reduce_frames,
    solve,
)
from understudy.analogy.stepping import FootPair
from understudy.analogy.study import JointChart, Study
from understudy.base.errors import MotionError, OptionError, UnderstudyError
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.constraints.joint_range import JointRange
from understudy.figure.kinematics import locate
from understudy.figure.measures import leg_length
from understudy.figure.skeleton import Point

STRANGENESS_WIDTH_RADIANS = 0.35
"""Root mean square deviation of the mean pose from B's own at which the score falls to 1 / e."""


class AnalogyError(UnderstudyError):
    """Two example motions have too little in common to learn from."""


@record
class Attempt:
    """The result of one set of choices."""

    threshold: float | None
    """Least match score; None for pairs given by hand."""
    components: int
    orthonormal: bool
    matches: tuple[MarkerMatch, ...]
    goal: MarkerObjective
    outcome: CoordinationResult
    course: Array
    """(F, K) A's new eigenmotion in joint space."""
    coordinates: Array
    """(F, D) B's coordinates at every frame of A's new motion."""
    coverage: float
    """Share of the movement in B's example that the matched markers make; 1 without an example."""
    fidelity: float
    """Share of the wanted movement of the matched markers that the result makes."""
    strangeness: float
    """Root mean square deviation of the mean pose from its start (B's own, adjusted to poses), radians."""
    feet: tuple[FootPair, ...] = ()
    """Feet paired by the examples, whose limbs follow their partners; none if markers alone are matched."""

    @property
    def score(self) -> float:
        """From 0 to 1: coverage times fidelity, reduced for a mean pose unlike B's own."""
        naturalness = float(np.exp(-((self.strangeness / STRANGENESS_WIDTH_RADIANS) ** 2)))
        return self.coverage * max(self.fidelity, 0.0) * naturalness


def find_matches(
    a: Study,
    b: Study,
    new: Study,
    *,
    eigenvectors: int,
    together: bool = False,
    threshold: float | None,
    similar: float = MIN_SIMILARITY,
    like_size: float | None = SIZE_PREFERENCE_WIDTH,
    refine: bool = True,
    unit_scales: bool = False,
) -> tuple[list[MarkerMatch], float]:
    """Match B's markers with A's by the first eigenvectors of their examples, refined by A's new motion.

    Args:
        a: A's example.
        b: B's example.
        new: A's new motion.
        eigenvectors: How many of them.
        together: Whether to match by all at once, as one direction, instead of one objective per eigenvector.
        threshold: Least match score; chosen by the share of movement matched if None.
        similar: Least similarity in the refinement.
        like_size: Width of the preference for partners that move as far as the marker; None for no preference.
        refine: Whether to refine the matches by A's new motion.
        unit_scales: Whether to compute scales from eigenvectors of unit length.

    Returns:
        The matches, and the threshold used for the first eigenvector.
    """
    count = min(a.marker.num_components, b.marker.num_components, new.marker.num_components)
    if not 1 <= eigenvectors <= count:
        raise OptionError(f"Expected 1 to {count} eigenvectors, as there are components; got {eigenvectors}")
    groups = [list(range(eigenvectors))] if together else [[number] for number in range(eigenvectors)]
    matches: list[MarkerMatch] = []
    first_threshold = 0.0
    for group in groups:
        movements = [study.part(group, unit=unit_scales) for study in (b, a, new)]
        weight = float(b.marker.variances[group[0]] / b.marker.variances[0])
        group_matches, group_threshold = match(
            *movements[: 3 if refine else 2],
            threshold=threshold,
            similar=similar,
            like_size=like_size,
            eigenvector=group[0],
            weight=weight,
        )
        matches += group_matches
        first_threshold = first_threshold or group_threshold
    if not matches:
        best = float(np.abs(match_scores(*movements[:2])).max(initial=0.0))
        raise AnalogyError(
            f"No marker of `{b.motion.skeleton.name}` moves as any of `{a.motion.skeleton.name}` does: the best match "
            f"score is {best:.2f}, below the threshold of {first_threshold:g}",
            hint="check that both examples show one behaviour; lower the threshold, add markers, or pair them by hand",
        )
    return matches, first_threshold


def covered(b: Study, matches: Sequence[MarkerMatch], limbs: np.ndarray | None = None) -> float:
    """Share of B's movement, over all components, that the matched markers make, and those on limbs (J,) that step."""
    energy = np.einsum("nk,k->n", b.marker.vectors**2, b.marker.spread**2).reshape(-1, 3).sum(axis=1)
    matched = np.isin(np.arange(len(energy)), [m.marker for m in matches])
    if limbs is not None:
        matched |= limbs[[b.motion.skeleton.index[marker.joint] for marker in b.markers]]
    return float(energy[matched].sum() / energy.sum())


@record
class AttemptInput:
    """The inputs of one attempt."""

    chart: JointChart
    """B's joint coordinates."""
    markers: tuple[Point, ...]
    """B's markers."""
    new: Study
    """A's new motion."""
    matches: tuple[MarkerMatch, ...]
    """Which markers of B go with which of A."""
    threshold: float | None = None
    """The threshold of the matches."""
    coverage: float = 1.0
    """Share of B's movement that the matches cover."""
    start: Array
    """(1 + K, D) mean pose and basis vectors to start from."""
    near: Array | None = None
    """(1 + K, D) mean pose and basis vectors to stay near; the aligned start if not given."""
    metric: Array | None = None
    """(D, D) metric of the deviation from them."""
    pull: float = PULL
    """Weight of the deviation."""
    means: tuple[Array, Array] | None = None
    """Means of the markers for B's mean pose, as `make_goal` takes them."""
    mean_weight: float = 0.0
    """Weight of these means."""
    orthonormal: bool = True
    """Whether basis vectors must be orthonormal."""
    poses: tuple[PoseAt, ...] = ()
    """Poses that B must take, with heading +Z."""
    places: tuple[MarkerAt, ...] = ()
    """Positions at which points of B must be."""
    limits: tuple[JointRange, ...] = ()
    """Joint limits of B."""
    aligned: bool = True
    """Whether to rotate the starting basis vectors among themselves to fit the goal best."""
    frames: int = NUM_SAMPLE_FRAMES
    """How many frames represent the motion."""
    feet: tuple[FootPair, ...] = ()
    """Feet paired by the examples."""
    limbs: tuple[LimbGoal, ...] = ()
    """What the limbs of these feet should do."""


def attempt(inputs: AttemptInput) -> Attempt:
    """Solve for B's coordinations with given matches, and measure the result."""
    chart, new = inputs.chart, inputs.new
    goal = None
    if inputs.matches:
        wanted = new.marker.vectors
        goal = make_goal(
            inputs.markers, chart, inputs.matches, wanted, means=inputs.means, mean_weight=inputs.mean_weight
        )
    if inputs.limbs:
        goal = add_limbs(goal, inputs.limbs, chart.skeleton, new.marker.course, on_limbs(chart.skeleton, inputs.feet))
    assert goal is not None
    outcome = solve(_task(inputs, goal))
    course = new.joint.course
    coordinates = outcome.table[0] + course @ outcome.table[1:]
    return Attempt(
        threshold=inputs.threshold,
        components=course.shape[1],
        orthonormal=inputs.orthonormal,
        matches=inputs.matches,
        goal=goal,
        outcome=outcome,
        course=course,
        coordinates=coordinates,
        coverage=inputs.coverage,
        fidelity=_fidelity(chart, goal, coordinates, new.marker.course),
        strangeness=float(np.sqrt(np.mean((outcome.table[0] - outcome.initial[0]) ** 2))),
        feet=inputs.feet,
    )


def _task(inputs: AttemptInput, goal: MarkerObjective) -> Task:
    """The problem to solve: the objective and the conditions over sampled frames."""
    chart, course, marker_course = inputs.chart, inputs.new.joint.course, inputs.new.marker.course
    unit = leg_length(chart.skeleton)
    chosen, share = reduce_frames(np.concatenate([course, marker_course], axis=1), inputs.frames)
    condition_frames = _condition_frames(inputs.poses, inputs.places, len(course))
    frames = np.concatenate([chosen, condition_frames])
    row_of = {int(frame): len(chosen) + i for i, frame in enumerate(condition_frames)}
    conditions = Conditions(
        size=chart.size,
        unit=unit,
        poses=tuple(_pose_condition(chart, pose, row_of[pose.frame]) for pose in inputs.poses),
        places=tuple(_place_condition(chart, place, row_of[place.frame]) for place in inputs.places),
        limits=tuple(_limit_condition(chart, limit) for limit in inputs.limits),
        limited=np.arange(0, len(frames), 3),
    )
    start = _align_start(chart, goal, inputs.start, course, marker_course) if inputs.aligned else inputs.start.copy()
    free = _free_coordinates(chart, goal, conditions)
    if inputs.near is not None:
        fixed = np.setdiff1d(np.arange(chart.size), free)
        start[:, fixed] = inputs.near[:, fixed]
    return Task(
        chart=chart,
        goal=goal,
        conditions=conditions,
        course=course[frames],
        marker_course=marker_course[frames],
        share=np.concatenate([share, np.zeros(len(condition_frames))]),
        start=start,
        free=free,
        near=inputs.near,
        metric=inputs.metric,
        pull=inputs.pull,
        orthonormal=inputs.orthonormal,
        unit=unit,
    )


def _condition_frames(poses: Sequence[PoseAt], places: Sequence[MarkerAt], count: int) -> np.ndarray:
    """The frames that have conditions, each once."""
    frames = sorted({pose.frame for pose in poses} | {place.frame for place in places})
    for frame in frames:
        if not 0 <= frame < count:
            raise MotionError(
                f"A pose or place is set at frame {frame}, but the new motion has frames 0 to {count - 1}"
            )
    return np.array(frames, dtype=np.intp)


def _pose_condition(chart: JointChart, pose: PoseAt, row: int) -> tuple[int, np.ndarray, Array]:
    joints = chart.joint_of
    if pose.rotations.shape != (chart.skeleton.num_joints, 4):
        raise OptionError(
            f"The pose at frame {pose.frame} has rotations of shape {pose.rotations.shape}; "
            f"`{chart.skeleton.name}` has {chart.skeleton.num_joints} joints"
        )
    posed = np.ones(len(joints), bool)
    if pose.joints is not None:
        posed = np.isin(joints, [chart.skeleton.joint(name) for name in pose.joints])
    columns = np.flatnonzero(posed)
    return row, columns, chart.coordinates(pose.rotations[None])[0, columns]


def _place_condition(chart: JointChart, place: MarkerAt, row: int) -> tuple[int, int, Array, Array]:
    joints, offsets = locate(chart.skeleton, [place.point])
    return row, int(joints[0]), offsets[0], place.place


def _limit_condition(chart: JointChart, limit: JointRange) -> tuple[int, np.ndarray, JointRange]:
    point = limit.joints()[0].point
    joint = chart.skeleton.joint(point if isinstance(point, str) else point.joint)
    return joint, np.flatnonzero(chart.joint_of == joint), limit


def _free_coordinates(chart: JointChart, goal: MarkerObjective, conditions: Conditions) -> np.ndarray:
    """(N,) the coordinates that are posed or move a matched marker or placed point."""
    joints = {int(j) for j in goal.joints} | {joint for _, joint, _, _ in conditions.places}
    above = {j for joint in joints for j in chart.skeleton.chain(joint)}
    posed = [columns for _, columns, _ in conditions.poses]
    return np.unique(np.concatenate([np.flatnonzero(np.isin(chart.joint_of, list(above))), *posed]))


def _align_start(chart: JointChart, goal: MarkerObjective, start: Array, course: Array, marker_course: Array) -> Array:
    """A start whose basis vectors are rotated among themselves so that B's own coordinations fit the goal best.

    The order and signs of B's eigenvectors do not tell which of A's courses should drive each. To first order about the
    mean pose the best rotation solves an orthogonal Procrustes problem.
    """
    posture = chart.posture(start[:1])
    root_weights = np.sqrt(goal.weights)[:, None, None]
    jacobian = posture.point_jacobian(goal.joints, posture.points(goal.joints, goal.offsets))[0] * root_weights
    movement = jacobian.reshape(-1, chart.size) @ start[1:].T
    goal_movement = (goal.movement * root_weights).reshape(len(movement), -1) @ (marker_course.T @ course / len(course))
    left, _, right = np.linalg.svd(movement.T @ goal_movement)
    return np.concatenate([start[:1], (left @ right).T @ start[1:]])


def _fidelity(chart: JointChart, goal: MarkerObjective, coordinates: Array, marker_course: Array) -> float:
    movement = chart.posture(coordinates).points(goal.joints, goal.offsets)
    movement = movement - movement.mean(axis=0)
    wanted = goal.wanted(marker_course)
    error = np.einsum("p,fpc->", goal.weights, (movement - wanted) ** 2)
    return 1.0 - float(error / np.einsum("p,fpc->", goal.weights, wanted**2))
