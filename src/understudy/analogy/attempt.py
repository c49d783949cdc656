"""One attempt at an analogy: match, aim, solve, and a score of how well it went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.analogy.conditions import Conditions, MarkerAt, PoseAt
from understudy.analogy.matching import LIKE_SIZE, SIMILAR, MarkerMatch, match, match_scores
from understudy.analogy.solving import (
    FRAMES,
    PULL,
    CoordinationResult,
    MarkerObjective,
    Task,
    make_goal,
    reduce_frames,
    solve,
)
from understudy.analogy.study import JointChart, Study
from understudy.base.errors import MotionError, OptionError, UnderstudyError
from understudy.base.quaternion import Array
from understudy.constraints.joint_range import JointRange
from understudy.figure.kinematics import locate
from understudy.figure.measures import leg_length
from understudy.figure.skeleton import Point

STRANGE = 0.35
"""Radians, root mean square, by which the mean pose strays from B's own at which a result is strange."""


class AnalogyError(UnderstudyError):
    """Two example motions have too little in common to learn from."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Attempt:
    """What one set of choices came to."""

    threshold: float | None
    """The match score that counted; None for pairs given by hand."""
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
    """Share of the movement in B's example that its matched markers hold; 1 where there is no example."""
    fidelity: float
    """Share of the wanted movement of the matched markers that the result makes, 1 for all of it."""
    strangeness: float
    """Radians, root mean square, by which the mean pose strays from where it started: B's own, or as poses ask."""

    @property
    def score(self) -> float:
        """From 0 to 1: coverage times fidelity, less for a mean pose that B never takes."""
        return self.coverage * max(self.fidelity, 0.0) * float(np.exp(-((self.strangeness / STRANGE) ** 2)))


def find_matches(
    a: Study,
    b: Study,
    new: Study,
    *,
    eigenvectors: int,
    together: bool = False,
    threshold: float | None,
    similar: float = SIMILAR,
    like_size: float | None = LIKE_SIZE,
    refine: bool = True,
    unit_scales: bool = False,
) -> tuple[list[MarkerMatch], float]:
    """Match B's markers with A's by the first eigenvectors of their examples, refined by A's new motion.

    Args:
        a: A's example.
        b: B's example.
        new: A's new motion.
        eigenvectors: How many of them.
        together: All as one direction of movement, instead of each by itself with an objective of its own.
        threshold: The match score that counts; chosen by how much is matched if None.
        similar: Similarity asked for in refinement.
        like_size: How much partners that move as far as the marker are preferred; None: not.
        refine: Whether A's new motion selects among the markers matched.
        unit_scales: Scales by eigenvectors of unit length.

    Returns:
        The matches, and the threshold used for the first eigenvector.
    """
    count = min(a.marker.num_components, b.marker.num_components, new.marker.num_components)
    if not 1 <= eigenvectors <= count:
        raise OptionError(f"Expected 1 to {count} eigenvectors, as there are components; got {eigenvectors}")
    groups = [list(range(eigenvectors))] if together else [[number] for number in range(eigenvectors)]
    found: list[MarkerMatch] = []
    used = 0.0
    for group in groups:
        parts = [study.part(group, unit=unit_scales) for study in (b, a, new)]
        weight = float(b.marker.variances[group[0]] / b.marker.variances[0])
        some, at = match(
            *parts[: 3 if refine else 2],
            threshold=threshold,
            similar=similar,
            like_size=like_size,
            eigenvector=group[0],
            weight=weight,
        )
        found += some
        used = used or at
    if not found:
        best = float(np.abs(match_scores(*parts[:2])).max(initial=0.0))
        raise AnalogyError(
            f"No marker of `{b.motion.skeleton.name}` moves as any of `{a.motion.skeleton.name}` does: the best match "
            f"score is {best:.2f}, and {used:g} is asked for",
            hint="check that both examples show one behaviour; lower the threshold, add markers, or pair them by hand",
        )
    return found, used


def covered(b: Study, matches: Sequence[MarkerMatch]) -> float:
    """Share of B's movement, over all components, in the markers that are matched."""
    moved = np.einsum("nk,k->n", b.marker.vectors**2, b.marker.spread**2).reshape(-1, 3).sum(axis=1)
    return float(moved[sorted({m.marker for m in matches})].sum() / moved.sum())


@dataclass(frozen=True, eq=False, kw_only=True)
class Brief:
    """What one attempt is given."""

    chart: JointChart
    """B's joint coordinates."""
    markers: tuple[Point, ...]
    """B's markers."""
    new: Study
    """A's new motion."""
    matches: tuple[MarkerMatch, ...]
    """Which markers of B go with which of A."""
    threshold: float | None = None
    """By which they were found."""
    coverage: float = 1.0
    """How much of B's movement they cover."""
    start: Array
    """(1 + K, D) mean pose and basis vectors to start from."""
    near: Array | None = None
    """(1 + K, D) those to stay near; the start, as it is turned, if not given."""
    metric: Array | None = None
    """(D, D) what straying from it counts as."""
    pull: float = PULL
    """How heavily that counts."""
    means: tuple[Array, Array] | None = None
    """What B's mean pose is to follow, as `make_goal` takes it."""
    mean_weight: float = 0.0
    """How heavily that counts."""
    orthonormal: bool = True
    """Whether basis vectors must be orthonormal."""
    poses: tuple[PoseAt, ...] = ()
    """Poses, headed along +Z, that B has to take."""
    places: tuple[MarkerAt, ...] = ()
    """Places that its points have to be at."""
    limits: tuple[JointRange, ...] = ()
    """Ranges of its joints."""
    aligned: bool = True
    """Turn the starting basis vectors among themselves to where they do best."""
    frames: int = FRAMES
    """How many frames stand for all."""


def attempt(brief: Brief) -> Attempt:
    """Solve for B's coordinations with matches that are known, and judge what comes out."""
    chart, new = brief.chart, brief.new
    goal = make_goal(
        brief.markers, chart, brief.matches, new.marker.vectors, means=brief.means, mean_weight=brief.mean_weight
    )
    outcome = solve(_task(brief, goal))
    course = new.joint.course
    coordinates = outcome.table[0] + course @ outcome.table[1:]
    return Attempt(
        threshold=brief.threshold,
        components=course.shape[1],
        orthonormal=brief.orthonormal,
        matches=brief.matches,
        goal=goal,
        outcome=outcome,
        course=course,
        coordinates=coordinates,
        coverage=brief.coverage,
        fidelity=_fidelity(chart, goal, coordinates, new.marker.course),
        strangeness=float(np.sqrt(np.mean((outcome.table[0] - outcome.begun[0]) ** 2))),
    )


def _task(brief: Brief, goal: MarkerObjective) -> Task:
    """The problem that is solved: the goal and the conditions over frames that stand for all."""
    chart, course, marker_course = brief.chart, brief.new.joint.course, brief.new.marker.course
    unit = leg_length(chart.skeleton)
    chosen, share = reduce_frames(np.concatenate([course, marker_course], axis=1), brief.frames)
    extra = _frames_of(brief.poses, brief.places, len(course))
    view = np.concatenate([chosen, extra])
    row = {int(frame): len(chosen) + i for i, frame in enumerate(extra)}
    conditions = Conditions(
        size=chart.size,
        unit=unit,
        poses=tuple(_posed(chart, pose, row[pose.frame]) for pose in brief.poses),
        places=tuple(_placed(chart, place, row[place.frame]) for place in brief.places),
        limits=tuple(_limited(chart, limit) for limit in brief.limits),
        limited=np.arange(0, len(view), 3),
    )
    start = _aligned(chart, goal, brief.start, course, marker_course) if brief.aligned else brief.start.copy()
    free = _felt(chart, goal, conditions)
    if brief.near is not None:
        held = np.setdiff1d(np.arange(chart.size), free)
        start[:, held] = brief.near[:, held]
    return Task(
        chart=chart,
        goal=goal,
        conditions=conditions,
        course=course[view],
        marker_course=marker_course[view],
        share=np.concatenate([share, np.zeros(len(extra))]),
        start=start,
        free=free,
        near=brief.near,
        metric=brief.metric,
        pull=brief.pull,
        orthonormal=brief.orthonormal,
        unit=unit,
    )


def _frames_of(poses: Sequence[PoseAt], places: Sequence[MarkerAt], count: int) -> np.ndarray:
    """The frames that conditions are on, each once."""
    frames = sorted({pose.frame for pose in poses} | {place.frame for place in places})
    for frame in frames:
        if not 0 <= frame < count:
            raise MotionError(
                f"A pose or place is asked for at frame {frame}, and the new motion has {count}, counted from 0"
            )
    return np.array(frames, dtype=np.intp)


def _posed(chart: JointChart, pose: PoseAt, row: int) -> tuple[int, np.ndarray, Array]:
    joints = chart.joint_of
    if pose.rotations.shape != (chart.skeleton.num_joints, 4):
        raise OptionError(
            f"The pose at frame {pose.frame} has rotations of shape {pose.rotations.shape}; "
            f"`{chart.skeleton.name}` has {chart.skeleton.num_joints} joints"
        )
    kept = np.ones(len(joints), bool)
    if pose.joints is not None:
        kept = np.isin(joints, [chart.skeleton.joint(name) for name in pose.joints])
    columns = np.flatnonzero(kept)
    return row, columns, chart.coordinates(pose.rotations[None])[0, columns]


def _placed(chart: JointChart, place: MarkerAt, row: int) -> tuple[int, int, Array, Array]:
    joints, offsets = locate(chart.skeleton, [place.point])
    return row, int(joints[0]), offsets[0], place.place


def _limited(chart: JointChart, limit: JointRange) -> tuple[int, np.ndarray, JointRange]:
    point = limit.joints()[0].point
    joint = chart.skeleton.joint(point if isinstance(point, str) else point.joint)
    return joint, np.flatnonzero(chart.joint_of == joint), limit


def _felt(chart: JointChart, goal: MarkerObjective, conditions: Conditions) -> np.ndarray:
    """(N,) the coordinates that move a matched marker or a place, or are posed."""
    joints = {int(j) for j in goal.joints} | {joint for _, joint, _, _ in conditions.places}
    above = {j for joint in joints for j in chart.skeleton.chain(joint)}
    posed = [columns for _, columns, _ in conditions.poses]
    return np.unique(np.concatenate([np.flatnonzero(np.isin(chart.joint_of, list(above))), *posed]))


def _aligned(chart: JointChart, goal: MarkerObjective, start: Array, course: Array, marker_course: Array) -> Array:
    """A start whose basis vectors are turned among themselves so that B's own coordinations do what is wanted.

    The order and signs of B's eigenvectors say nothing about which of A's courses each should be driven by. To first
    order about the mean pose the best turn is that of an orthogonal Procrustes problem.
    """
    posture = chart.posture(start[:1])
    size = np.sqrt(goal.weights)[:, None, None]
    by = posture.point_jacobian(goal.joints, posture.points(goal.joints, goal.offsets))[0] * size
    moved = by.reshape(-1, chart.size) @ start[1:].T
    wanted = (goal.movement * size).reshape(len(moved), -1) @ (marker_course.T @ course / len(course))
    left, _, right = np.linalg.svd(moved.T @ wanted)
    return np.concatenate([start[:1], (left @ right).T @ start[1:]])


def _fidelity(chart: JointChart, goal: MarkerObjective, coordinates: Array, marker_course: Array) -> float:
    made = chart.posture(coordinates).points(goal.joints, goal.offsets)
    made = made - made.mean(axis=0)
    wanted = goal.wanted(marker_course)
    left = np.einsum("p,fpc->", goal.weights, (made - wanted) ** 2)
    return 1.0 - float(left / np.einsum("p,fpc->", goal.weights, wanted**2))
