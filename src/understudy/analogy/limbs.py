"""Limbs that step: which foot of B steps with which of A, and what B's feet should do in A's new motion.

Markers matched by one eigenvector do not tell a leg from an arm, and one scale for all axes does not know how high a
foot is lifted. Here limbs are paired by how they swing and when they stand in the two examples. A foot then goes as far
as B's example says, is lifted as high as A's in legs, and the body crouches as much as A's in legs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.analogy.quality import MAX_CROUCH_SHARE, MAX_LIFT_SHARE, hip_height, lift, lift_habit
from understudy.analogy.solving import MarkerObjective
from understudy.analogy.stepping import FootPair, feet_of, foot_heights, limb_length, limb_top
from understudy.analogy.study import Study
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.kinematics import Pose, fk, locate
from understudy.figure.measures import is_humanoid, leg_length, partners
from understudy.figure.motion import Motion
from understudy.figure.roles import side
from understudy.figure.skeleton import Point, Skeleton

NUM_PHASES = 24
"""Number of phases at which the cycles of two examples are compared."""

STANCE_SHARE = 0.3
"""A foot that is lifted by less than this share of its lift stands."""

STANCE_WEIGHT = 0.5
"""Weight of the likeness of stance patterns beside the correlation of movements."""

STEP_SCALES = (0.5, 1.5)
"""Bounds of how far B's foot goes per way of A's, relative to the ratio of their legs."""

STRETCHED = 0.85
"""A limb whose foot is nearer to its top than this share of its length is bent, for a viewer."""

STRETCH_TOLERANCE = 0.03
"""A limb that is stretched by this share of its length more than in the example is stretched as much."""

MIN_STEP = 0.4
"""Steps are shortened to no less than this share, however far limbs are stretched."""

KNEE_SHARES = (0.5, 0.75)
"""Where on a limb of a two-legged body its movement is compared with the partner's, as shares of its length."""

LIMB_WEIGHT = 0.8
"""Weight of the feet among all markers; the rest of the body has what remains."""

FOOT_MEAN_WEIGHT = 1.0
"""Weight of the mean position of a foot relative to its movement."""


def cycle_phase(study: Study) -> Array:
    """(F,) radians: the phase of the first component, zero where it is greatest."""
    from scipy.signal import hilbert

    course = study.marker.course[:, 0]
    return np.angle(hilbert(course - course.mean()))


def _by_phase(values: Array, phase: Array) -> Array:
    """(NUM_PHASES, ...) values (F, ...) averaged over the frames of each phase, about their mean."""
    centres = np.linspace(-np.pi, np.pi, NUM_PHASES, endpoint=False)
    near = np.exp(4.0 * (np.cos(phase[None] - centres[:, None]) - 1.0))
    cycle = np.einsum("pf,f...->p...", near / near.sum(axis=1, keepdims=True), values)
    return cycle - cycle.mean(axis=0)


def _likeness(a: Array, b: Array) -> float:
    """Correlation of two curves about their means."""
    size = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    return float(np.sum(a * b)) / size if size > 1e-12 else 0.0


def pair_limbs(a: Study, b: Study, a_points: Sequence[Point], b_points: Sequence[Point]) -> tuple[FootPair, ...]:
    """Pair B's feet with A's by the examples: by how they swing over a cycle, and when they stand.

    The two feet of a left and a right limb get different partners if A has as many.
    """
    curves = [_cycles(study, points) for study, points in ((a, a_points), (b, b_points))]
    (a_feet, a_paths, a_stances), (b_feet, b_paths, b_stances) = curves
    if not a_feet or not b_feet:
        return ()
    scores = np.array(
        [
            [
                _likeness(path, a_path) + STANCE_WEIGHT * _likeness(stance, a_stance)
                for a_path, a_stance in zip(a_paths, a_stances, strict=True)
            ]
            for path, stance in zip(b_paths, b_stances, strict=True)
        ]
    )
    choice = np.argmax(scores, axis=1)
    skeleton = b.motion.skeleton
    sides = [_side(a.motion.skeleton, foot) for foot in a_feet]
    for left, right in _opposite_feet(skeleton, b_feet):
        if is_humanoid(skeleton) and sorted(sides) == ["left", "right"]:
            # Of two humans left goes with left, whichever leg begins.
            choice[[left, right]] = [sides.index(_side(skeleton, b_feet[i]) or "left") for i in (left, right)]
        elif len(a_feet) == 2:
            straight = scores[left, 0] + scores[right, 1], scores[left, 1] + scores[right, 0]
            choice[[left, right]] = (0, 1) if straight[0] >= straight[1] else (1, 0)
    return tuple(FootPair(foot=b_feet[i], source=a_feet[k]) for i, k in enumerate(choice))


def _cycles(study: Study, points: Sequence[Point]) -> tuple[list[tuple[Point, ...]], list[Array], list[Array]]:
    """The feet of a body, their paths over a cycle, and how much they are down over a cycle."""
    level = study.course.off(study.motion)
    phase = cycle_phase(study)
    pose, feet = fk(level), [sorted_points(foot, level) for foot in feet_of(level.skeleton, points)]
    paths = [_by_phase(pose.points(foot).mean(axis=1)[:, [0, 2]], phase) for foot in feet]
    stances = [_by_phase(stands(study.motion, foot).astype(float), phase) for foot in feet]
    return feet, paths, stances


def stands(motion: Motion, foot: Sequence[Point]) -> np.ndarray:
    """(F,) whether a foot is down, by its height alone: a body that walks in place stands, too."""
    heights = foot_heights(motion, foot)
    low, high = np.percentile(heights, (5, 95))
    return heights < low + STANCE_SHARE * (high - low)


def sorted_points(foot: Sequence[Point], level: Motion) -> tuple[Point, ...]:
    """The points of a foot from heel to toe, in a motion with heading +Z."""
    forward = fk(level).points(foot)[..., 2].mean(axis=0)
    return tuple(foot[i] for i in np.argsort(forward))


def _side(skeleton: Skeleton, foot: Sequence[Point]) -> str:
    """The side of a foot, by the name of the lowest joint of its leg that tells one; empty if none does."""
    names = (skeleton.names[joint] for joint in reversed(skeleton.chain(skeleton.joint(foot[0].joint))))
    return next((found for name in names if (found := side(name))), "")


def _opposite_feet(skeleton: Skeleton, feet: Sequence[Sequence[Point]]) -> list[tuple[int, int]]:
    """Indices of feet on opposite sides of the body."""
    partner = partners(skeleton)
    joints = [skeleton.joint(foot[0].joint) for foot in feet]
    return [(i, joints.index(int(partner[j]))) for i, j in enumerate(joints) if int(partner[j]) in joints[i + 1 :]]


@record
class LimbGoal:
    """The wanted movement of a point of B's limb, in the frame of a body without a path."""

    point: Point
    path: Array
    """(F, 3) metres about the mean: in A's new motion."""
    mean: Array
    """(3,) metres from the root."""
    weight: float


def limb_goals(a: Study, b: Study, new: Study, pairs: Sequence[FootPair]) -> list[LimbGoal]:
    """What the feet of B should do: the path of the partner's in A's new motion, scaled.

    Args:
        a: A's example.
        b: B's example.
        new: A's new motion.
        pairs: Which feet step together.

    On a two-legged body with a two-legged partner, points half-way down the limb follow too, so that knees bend. Where
    a limb would be stretched farther than its example and its partner show, all feet step less far.
    """
    levels = [study.course.off(study.motion) for study in (a, b, new)]
    poses = [fk(level) for level in levels]
    both_two_legged = is_humanoid(a.motion.skeleton) and is_humanoid(b.motion.skeleton)
    goals: list[LimbGoal] = []
    scales = [_limb_scale(pair, a.motion, b.motion, new.motion, levels) for pair in pairs]
    # What stands goes back as fast as the body goes on: one share for all feet.
    share = min((_step_within_reach(*each, levels, poses) for each in zip(pairs, scales, strict=True)), default=1.0)
    for pair, scale in zip(pairs, scales, strict=True):
        for point, a_path, a_new_path, b_path in _followed(pair, levels, poses, knees=both_two_legged):
            shift = scale.legs * a_new_path.mean(axis=0) - scale.example_legs * a_path.mean(axis=0)
            shift[1] = min(shift[1], MAX_CROUCH_SHARE * hip_height(b.motion, pair.foot))
            movement = a_new_path - a_new_path.mean(axis=0)
            goals.append(
                LimbGoal(
                    point=point,
                    path=movement * np.array([share * scale.step, scale.lift, share * scale.step]),
                    mean=b_path.mean(axis=0) + shift,
                    weight=1.0,
                )
            )
    return goals


@record(eq=True)
class _LimbScale:
    """Metres of B per metre of A."""

    legs: float
    """By leg length, for A's new motion."""
    example_legs: float
    """By leg length, for A's example, which may be another person's."""
    step: float
    """Level."""
    lift: float
    """Vertical."""


def _limb_scale(pair: FootPair, a: Motion, b: Motion, new: Motion, levels: Sequence[Motion]) -> _LimbScale:
    legs, example_legs = (leg_length(b.skeleton) / leg_length(motion.skeleton) for motion in (new, a))
    spreads = [
        float(np.std(fk(level).points(foot).mean(axis=1)[:, 2]))
        for level, foot in ((levels[0], pair.source), (levels[1], pair.foot))
    ]
    step = legs * np.clip(spreads[1] / max(spreads[0] * example_legs, 1e-6), *STEP_SCALES)
    source_lift, hips = lift(new, pair.source), hip_height(b, pair.foot)
    share = max(MAX_LIFT_SHARE, source_lift / max(hip_height(new, pair.source), 1e-6))
    highest = share * hips / max(source_lift, 1e-6)
    return _LimbScale(
        legs=legs, example_legs=example_legs, step=float(step), lift=min(legs * lift_habit(pair, (a, b)), highest)
    )


def _step_within_reach(pair: FootPair, scale: _LimbScale, levels: Sequence[Motion], poses: Sequence[Pose]) -> float:
    """Share of a step, 1 or less, at which B's limb is not stretched farther than its example and its partner show.

    Args:
        pair: A foot of B and one of A.
        scale: Metres of B per metre of A.
        levels: A's example, B's example and A's new motion, without their courses.
        poses: Their poses.
    """
    feet = (pair.source, pair.foot, pair.source)
    tops, lengths, paths = [], [], []
    for level, pose, foot in zip(levels, poses, feet, strict=True):
        tops.append(pose.positions[:, limb_top(level.skeleton, foot[0])].mean(axis=0))
        lengths.append(limb_length(level.skeleton, foot[-1]))
        paths.append(pose.points(foot[-1:])[:, 0])

    def stretch(which: int, path: Array) -> float:
        return float(np.percentile(np.linalg.norm(path - tops[which], axis=-1), 98)) / lengths[which]

    grown = stretch(2, paths[2]) - stretch(0, paths[0])
    most = max(stretch(1, paths[1]) + max(grown, 0.0), STRETCHED) + STRETCH_TOLERANCE
    means = [path.mean(axis=0) for path in paths]
    mean = means[1] + scale.legs * means[2] - scale.example_legs * means[0]
    movement = (paths[2] - means[2]) * np.array([scale.step, scale.lift, scale.step])
    shares = np.arange(1.0, MIN_STEP, -0.02)
    within = (share for share in shares if stretch(1, mean + movement * [share, 1.0, share]) <= most)
    return float(next(within, MIN_STEP))


def _followed(
    pair: FootPair, levels: Sequence[Motion], poses: Sequence[Pose], *, knees: bool
) -> list[tuple[Point, Array, Array, Array]]:
    """Points of B's limb, with the paths (F, 3) of the matching places: A's example, A's new motion, B's example."""
    rows = []
    for rank, point in enumerate(pair.foot):
        source = pair.source[round(rank * (len(pair.source) - 1) / max(len(pair.foot) - 1, 1))]
        if len(pair.foot) == 1:
            paths = [poses[i].points(pair.source).mean(axis=1) for i in (0, 2)]
        else:
            paths = [poses[i].points([source])[:, 0] for i in (0, 2)]
        rows.append((point, paths[0], paths[1], poses[1].points([point])[:, 0]))
    for share in KNEE_SHARES if knees else ():
        a_place = _on_limb(levels[0].skeleton, pair.source[0], share)
        b_place = _on_limb(levels[1].skeleton, pair.foot[0], share)
        paths = [poses[i].points([place])[:, 0] for i, place in ((0, a_place), (2, a_place), (1, b_place))]
        rows.append((b_place, paths[0], paths[1], paths[2]))
    return rows


def _on_limb(skeleton: Skeleton, foot: Point, share: float) -> Point:
    """The place at a share of the way from the top of a limb to the joint of its foot, along its bones."""
    top = limb_top(skeleton, foot)
    chain = [j for j in skeleton.chain(skeleton.joint(foot.joint)) if skeleton.below(top)[j]][1:]
    lengths = skeleton.lengths[chain]
    left = share * float(lengths.sum())
    for joint, length in zip(chain, lengths, strict=True):
        if left <= length + 1e-9:
            parent = int(skeleton.parents[joint])
            offset = skeleton.offsets[joint] * (left / max(length, 1e-9))
            return Point(name=f"{skeleton.names[parent]}~{share:g}", joint=skeleton.names[parent], offset=offset)
        left -= float(length)
    return foot


def add_limbs(
    goal: MarkerObjective | None, goals: Sequence[LimbGoal], skeleton: Skeleton, course: Array, below: np.ndarray
) -> MarkerObjective:
    """An objective in which limbs that step follow their partners, and other matched markers what they matched.

    Args:
        goal: The objective of the matched markers.
        goals: What points of the limbs should do.
        skeleton: B.
        course: (F, K) the eigenmotion of A's new motion in marker space.
        below: (J,) whether a joint is on a limb that steps: markers on it are left out.
    """
    joints, offsets = locate(skeleton, [limb.point for limb in goals])
    # The components of a course are orthogonal, so that each coefficient is a projection.
    movement = np.stack([(course.T @ limb.path).T / np.maximum(np.sum(course**2, axis=0), 1e-12) for limb in goals])
    weights = np.array([limb.weight for limb in goals])
    weights = weights / weights.sum()
    means, mean_weights = np.stack([limb.mean for limb in goals]), np.full(len(goals), FOOT_MEAN_WEIGHT)
    markers = np.full(len(goals), -1, dtype=np.intp)
    rest = np.zeros(0, dtype=np.intp) if goal is None else np.flatnonzero(~below[goal.joints])
    if goal is not None and len(rest):
        rest_weights = goal.weights[rest] / goal.weights[rest].sum() * (1.0 - LIMB_WEIGHT)
        has_means = goal.means is not None
        joints, offsets = np.concatenate([joints, goal.joints[rest]]), np.concatenate([offsets, goal.offsets[rest]])
        movement = np.concatenate([movement, goal.movement[rest]])
        weights = np.concatenate([LIMB_WEIGHT * weights, rest_weights])
        rest_means = goal.means[rest] if goal.means is not None else np.zeros((len(rest), 3))
        means = np.concatenate([means, rest_means])
        rest_mean_weights = goal.mean_weights[rest] if has_means else np.zeros(len(rest))
        mean_weights = np.concatenate([mean_weights, rest_mean_weights])
        markers = np.concatenate([markers, goal.markers[rest]])
    return MarkerObjective(
        joints=joints,
        offsets=offsets,
        weights=weights,
        movement=movement,
        markers=markers,
        means=means,
        mean_weights=mean_weights,
    )


def on_limbs(skeleton: Skeleton, pairs: Sequence[FootPair]) -> np.ndarray:
    """(J,) whether a joint is on a limb that steps."""
    tops = [limb_top(skeleton, pair.foot[0]) for pair in pairs]
    return np.any([skeleton.below(top) for top in tops], axis=0) if tops else np.zeros(skeleton.num_joints, bool)
