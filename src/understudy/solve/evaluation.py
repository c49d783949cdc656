"""Evaluation of a problem: residuals of all constraints at some frames, and their derivatives.

A solver never sees a skeleton: it reads residuals and their derivatives by the coordinates of `coordinates.Bodies`.
This module applies the chain rule from constraints over points and rotations to coordinates, for all kinds. It also
shifts start motions to where constraints fix the body in the world [Gleicher98, sec. 3.8].
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import cached, gaussian_smoothed, record, widened
from understudy.constraints.base import Constraint, ConstraintInput, Residuals
from understudy.figure.kinematics import move_points, paths_of
from understudy.figure.limbs import first_of_limb, reaching_chain
from understudy.figure.measures import leg_length
from understudy.figure.skeleton import Point
from understudy.solve.coordinates import Bodies, Body, BodyPoints, Posture
from understudy.solve.problem import HeldFrames, Problem, Target
from understudy.solve.residuals import PointSums, ResidualIndex

MIN_FRAME_WEIGHT = 0.02
"""The least weight of a frame."""


@record
class ProblemAtFrames:
    """The problem at some of its frames, around a base motion; solvers evaluate this."""

    problem: Problem
    bodies: tuple[Body, ...]
    """The bodies with the base motion, at all frames."""
    frames: np.ndarray
    """(N,) the evaluated frames, rising."""
    constraint_indices: tuple[int, ...] | None = None
    """The indices of the evaluated constraints; None for all."""
    shared_frames: np.ndarray | None = None
    """Those of the frames at which every constraint is evaluated, rising; None for all. At the other frames only those
    constraints are evaluated that begin or end there."""

    @cached
    def targets(self) -> tuple[Target, ...]:
        """The evaluated constraints, with the indices of their points and joints."""
        targets = self.problem.targets
        return targets if self.constraint_indices is None else tuple(targets[i] for i in self.constraint_indices)

    @cached
    def times(self) -> Array:
        return self.problem.times[self.frames]

    @cached
    def bodies_at_frames(self) -> Bodies:
        """The bodies at the evaluated frames."""
        whole = len(self.frames) == len(self.problem.times)
        return Bodies(bodies=tuple(body if whole else body.at(self.frames) for body in self.bodies))

    @property
    def body_points(self) -> BodyPoints:
        return self.problem.body_points

    @cached
    def _held(self) -> HeldFrames:
        """The frames of the problem at which the evaluated constraints hold."""
        held = self.problem.held_frames
        return held if self.constraint_indices is None else held.select(self.constraint_indices)

    @cached
    def _evaluated(self) -> np.ndarray:
        """(H,) whether a constraint is evaluated at a frame of `_held`."""
        frames, held = np.zeros(len(self.problem.times), bool), self._held
        if len(self.frames) == len(frames):
            return np.ones(len(held.frames), bool)
        frames[self.frames] = True
        if self.shared_frames is None:
            return frames[held.frames]
        shared = np.zeros(len(frames), bool)
        shared[self.shared_frames] = True
        return (shared[held.frames] | held.is_end) & frames[held.frames]

    @cached
    def _times_and_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The indices (h,) into `frames` at which the constraints are evaluated, one constraint after the other, and
        where (C + 1,) those of each constraint begin and end."""
        held, index = self._held, np.zeros(len(self.problem.times), dtype=np.intp)
        if len(self.frames) == len(index):
            return held.frames, held.bounds
        index[self.frames] = np.arange(len(self.frames))
        before = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(self._evaluated)])
        return index[held.frames[self._evaluated]], before[held.bounds]

    @cached
    def frame_indices(self) -> tuple[np.ndarray, ...]:
        """For each constraint, the indices (n,) into `frames` at which it is evaluated."""
        times, bounds = self._times_and_bounds
        return tuple(times[first:last] for first, last in itertools.pairwise(bounds.tolist()))

    @cached
    def _flat_weights(self) -> Array | None:
        """(h,) the weight of each frame of each constraint, one constraint after the other; None if all weigh the same.

        A shared frame near an end of the constraint counts less, so that an end may pass it without a jump of the
        result.
        """
        if self.shared_frames is None or len(self.shared_frames) < 2:
            return None
        step, held = float(np.max(np.diff(self.shared_frames))), self._held
        # Every constraint begins and ends with an end, so that no distance reaches into another one.
        some = self._evaluated | held.is_end
        frames, is_end, every = held.frames[some], held.is_end[some], np.arange(np.count_nonzero(some))
        last = np.maximum.accumulate(np.where(is_end, every, 0))
        following = np.minimum.accumulate(np.where(is_end, every, len(every) - 1)[::-1])[::-1]
        distance = np.minimum(frames - frames[last], frames[following] - frames)[self._evaluated[some]]
        return np.where(distance > 0, np.minimum(np.maximum(distance / step, MIN_FRAME_WEIGHT), 1.0), 1.0)

    @cached
    def frame_weights(self) -> tuple[Array, ...] | None:
        """For each constraint, the weights (n,) of its frames; None if all weigh the same."""
        weights = self._flat_weights
        if weights is None:
            return None
        pairs = itertools.pairwise(self._times_and_bounds[1].tolist())
        return tuple(weights[first:last] for first, last in pairs)

    @cached
    def windows(self) -> list[tuple[Target, slice | np.ndarray, slice | np.ndarray, Array]]:
        """For each constraint: its target, the indices of its frames and of its points, and its times. Consecutive
        indices are slices, so that arrays are not copied."""
        windows = []
        for target, at in zip(self.targets, self.frame_indices, strict=True):
            first, last = (int(at[0]), int(at[-1])) if len(at) else (0, -1)
            span = slice(first, last + 1) if last - first == len(at) - 1 else at
            windows.append((target, span, target.columns, self.times[span]))
        return windows

    def positions(self, postures: tuple[Posture, ...]) -> Array:
        """(N, P, 3) metres, world: the points of the problem; none if all constraints are on joints, such as limits."""
        if not any(len(target.points) for target in self.targets):
            return np.empty((len(self.frames), 0, 3))
        return self.bodies_at_frames.points(postures, self.body_points)

    def inputs(self, postures: tuple[Posture, ...], positions: Array | None = None) -> list[ConstraintInput]:
        """The input of each constraint for postures, from the positions of the problem's points if they are known."""
        positions = self.positions(postures) if positions is None else positions
        return [self.input(number, postures, positions) for number in range(len(self.targets))]

    def input(self, number: int, postures: tuple[Posture, ...], positions: Array) -> ConstraintInput:
        """The input of one constraint."""
        target, at, points, times = self.windows[number]
        return ConstraintInput(
            times=times,
            points=positions[at][:, points],
            local_rotations=_read_joints(self.bodies, postures, target, at),
        )

    def evaluate(self, displacement: Array) -> Evaluation:
        """All residuals and derivatives at a displacement (N, D)."""
        evaluation = Evaluation(sample=self, postures=self.bodies_at_frames.displaced(displacement))
        rows = tuple(target.constraint.rows(evaluation.inputs[i]) for i, target in enumerate(self.targets))
        evaluation.__dict__["rows"] = rows
        return evaluation

    def measure(self, displacement: Array | None = None) -> Evaluation:
        """All residuals at a displacement (N, D), zero if None; expensive derivatives are computed on demand."""
        postures = tuple(body.posture for body in self.bodies_at_frames.bodies)
        if displacement is not None and displacement.any():
            postures = self.bodies_at_frames.displaced(displacement)
        return Evaluation(sample=self, postures=postures)

    def values(self, evaluation: Evaluation) -> Array:
        """(T,) all residuals of an evaluation, in the order of the index.

        Those that are sums of point coordinates are computed for all constraints at once, from how far the points are
        from where they were in the first evaluation.
        """
        index = self.residual_index(evaluation)
        if not self._first:
            values = np.concatenate([np.zeros(0), *(rows.values.T.ravel() for rows in evaluation.rows)])
            self._first.append((evaluation.positions, values))
            return values
        positions, values = self._first[0]
        out = self.point_sums.values(values, evaluation.positions - positions)
        for kind, numbers, constraints in self._by_kind:
            others = [i for i, number in enumerate(numbers) if number in self.point_sums.others]
            inputs = [evaluation.input(numbers[i]) for i in others]
            rows = kind.measure_all([constraints[i] for i in others], inputs) if others else []
            for i, residuals in zip(others, rows, strict=True):
                out[index.entries(numbers[i])] = residuals.values.T.ravel()
        return out

    @cached
    def _first(self) -> list[tuple[Array, Array]]:
        """The positions of the points (N, P, 3) and all residuals (T,) in the first evaluation, if there was one."""
        return []

    @cached
    def point_sums(self) -> PointSums:
        """The residuals that are sums of point coordinates; an evaluation comes first."""
        return PointSums.of(self.targets, self._index_cache[0], len(self.body_points.bodies))

    @cached
    def _by_kind(self) -> list[tuple[type[Constraint], list[int], list[Constraint]]]:
        """The constraints grouped by kind, with their indices."""
        numbers: dict[type[Constraint], list[int]] = {}
        for number, target in enumerate(self.targets):
            numbers.setdefault(type(target.constraint), []).append(number)
        return [(kind, indices, [self.targets[i].constraint for i in indices]) for kind, indices in numbers.items()]

    @cached
    def _index_cache(self) -> list[ResidualIndex]:
        return []

    def residual_index(self, evaluation: Evaluation) -> ResidualIndex:
        """The index of all residuals, cached: it is the same for the residuals of any posture."""
        if not self._index_cache:
            constraints = [target.constraint for target in self.targets]
            self._index_cache.append(ResidualIndex.of(constraints, evaluation.rows, *self._times_and_bounds))
        return self._index_cache[0]

    @cached
    def _weights_cache(self) -> list[Array]:
        return []

    def residual_weights(self, evaluation: Evaluation) -> Array:
        """(T,) the weight of the frame of each residual, cached: it is the same for the residuals of any posture."""
        if not self._weights_cache:
            index, weights = self.residual_index(evaluation), self._flat_weights
            by_frame = self._times_and_bounds[1][index.constraint] + index.at
            self._weights_cache.append(np.ones(len(by_frame)) if weights is None else weights[by_frame])
        return self._weights_cache[0]

    def measure_by_kind(self, inputs: Sequence[ConstraintInput]) -> tuple[Residuals, ...]:
        """The residuals of each constraint for its input."""
        out: dict[int, Residuals] = {}
        for kind, indices, constraints in self._by_kind:
            out.update(zip(indices, kind.measure_all(constraints, [inputs[i] for i in indices]), strict=True))
        return tuple(out[i] for i in range(len(inputs)))


@record
class Evaluation:
    """The residuals of all constraints at some coordinates, and their derivatives on demand."""

    sample: ProblemAtFrames
    postures: tuple[Posture, ...]

    @cached
    def positions(self) -> Array:
        """(N, P, 3) metres, world: the points of the problem."""
        return self.sample.positions(self.postures)

    @cached
    def inputs(self) -> tuple[ConstraintInput, ...]:
        """The input of each constraint."""
        return tuple(self.sample.inputs(self.postures, self.positions))

    def input(self, number: int) -> ConstraintInput:
        """The input of one constraint."""
        if "inputs" in self.__dict__:
            return self.inputs[number]
        return self.sample.input(number, self.postures, self.positions)

    @cached
    def rows(self) -> tuple[Residuals, ...]:
        """The residuals of each constraint at the frames where it holds; derivatives may be missing."""
        return self.sample.measure_by_kind(self.inputs)

    def displaced_bodies(self) -> tuple[Body, ...]:
        """The displaced bodies at the evaluated frames."""
        return tuple(posture.as_body() for posture in self.postures)

    def completed(self) -> Evaluation:
        """The evaluation of all constraints of the problem; those not evaluated yet are measured now."""
        evaluated = self.sample.constraint_indices
        if evaluated is None:
            return self
        problem, frames, bodies = self.sample.problem, self.sample.frames, self.displaced_bodies()
        others = tuple(sorted(set(range(len(problem.constraints))) - set(evaluated)))
        rest = ProblemAtFrames(problem=problem, bodies=bodies, frames=frames, constraint_indices=others).measure()
        violation, order = self.violation + rest.violation, np.argsort([*evaluated, *others]).tolist()
        evaluation = Evaluation(
            sample=ProblemAtFrames(problem=problem, bodies=bodies, frames=frames), postures=rest.postures
        )
        evaluation.__dict__["violation"] = tuple(violation[i] for i in order)
        return evaluation

    @property
    def residual_index(self) -> ResidualIndex:
        """The index of the flat array of residuals."""
        return self.sample.residual_index(self)

    @cached
    def values(self) -> Array:
        """(T,) all residuals, in the order of the index."""
        return self.sample.values(self)

    @property
    def weights(self) -> Array:
        """(T,) the weight of the frame of each residual."""
        return self.sample.residual_weights(self)

    @cached
    def flat_violation(self) -> Array:
        """(T,) the violation of each residual, never negative.

        The violation of a linked residual is its distance from the mean of its row.
        """
        index, values = self.residual_index, self.values
        if index.same_as_previous.any():
            means = np.add.reduceat(values, index.starts) / index.sizes
            values = values - np.repeat(np.where(index.same_as_previous, means, 0.0), index.sizes)
        return np.where(index.one_sided, np.maximum(values, 0.0), np.abs(values))

    @property
    def largest_violation(self) -> float:
        """Metres or radians: the largest violation of any constraint."""
        return max((float(v.max()) for v in self.violation if v.size), default=0.0)

    @cached
    def violation(self) -> tuple[Array, ...]:
        """For each constraint (n, R): the violation of each residual, never negative."""
        index = self.residual_index
        return tuple(
            self.flat_violation[index.entries(number)].reshape(count, -1 if count else 0).T
            for number, count in enumerate(index.counts.tolist())
        )

    def jacobian(self, number: int, entries: tuple[np.ndarray, np.ndarray]) -> Array:
        """(M, D) derivatives by the coordinates of some residuals of a constraint, given as (frame index, row)."""
        at, row = entries
        target = self.sample.targets[number]
        out = np.zeros((len(at), self.sample.bodies_at_frames.num_coordinates))
        unique, inverse = np.unique(at, return_inverse=True)
        frames = self.sample.frame_indices[number][unique]
        d_points, d_rotations = self.derivatives(number, unique)
        if d_points is not None:
            for column, point in enumerate(target.points):
                point_derivatives = self._point_derivatives(int(point))[frames]
                out += (d_points[:, :, column] @ point_derivatives)[inverse, row]
        if d_rotations is not None:
            for column, (actor, name) in enumerate(target.joints):
                body = self.sample.bodies[actor]
                columns = np.flatnonzero(body.joint_of == body.skeleton.index[name])
                start = self.sample.bodies_at_frames.columns(actor).start + body.num_shifts
                axes = self.postures[actor].local_axes[frames][:, columns]
                products = np.einsum("nri,nci->nrc", d_rotations[:, :, column], axes)
                out[:, start + columns] += products[inverse, row]
        return out

    def derivatives(self, number: int, at: slice | np.ndarray) -> tuple[Array | None, Array | None]:
        """Derivatives of a constraint by points (n, R, P, 3) and rotations (n, R, T, 3) at some of its frames (n,)."""
        rows = self.__dict__["rows"][number] if "rows" in self.__dict__ else None
        if rows is None or (rows.d_points is None and rows.d_rotations is None):
            rows = self.sample.targets[number].constraint.rows(self.input(number).at_frames(at))
            return rows.d_points, rows.d_rotations
        d_points, d_rotations = (None if part is None else part[at] for part in (rows.d_points, rows.d_rotations))
        return d_points, d_rotations

    def point_jacobian_blocks(self, points: np.ndarray) -> Iterator[tuple[slice, Array]]:
        """Derivatives (n, P, 3, D) by the coordinates of points (P,) of the problem, sorted by body, block by block.

        The array of a block is overwritten by the next block.
        """
        body_points, bodies, count = self.sample.body_points, self.sample.bodies_at_frames, len(self.sample.frames)
        # Blocks have equal lengths: a short last block would take as many calls as a full one.
        size = -(-count // max(round(count / FRAMES_PER_BLOCK), 1))
        buffer = np.zeros((size, len(points), 3, bodies.num_coordinates))
        point_indices = [np.flatnonzero(body_points.bodies[points] == body) for body in range(len(self.postures))]
        for start in range(0, count, size):
            part = slice(start, min(start + size, count))
            out = buffer[: part.stop - start]
            for body, (posture, indices) in enumerate(zip(self.postures, point_indices, strict=True)):
                if len(indices):
                    joints, offsets = body_points.joints[points[indices]], body_points.offsets[points[indices]]
                    first, last = indices[0], indices[-1] + 1
                    _fill_derivatives(posture, part, joints, offsets, out[:, first:last, :, bodies.columns(body)])
            yield part, out

    @cached
    def _point_cache(self) -> dict[int, Array]:
        return {}

    def _point_derivatives(self, point: int) -> Array:
        """(N, 3, D) derivatives of a point by the coordinates; cached because constraints share points."""
        if point not in self._point_cache:
            parts = [block[:, 0].copy() for _, block in self.point_jacobian_blocks(np.array([point]))]
            self._point_cache[point] = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return self._point_cache[point]


FRAMES_PER_BLOCK = 192
"""The approximate number of frames per block of derivatives."""


def _fill_derivatives(posture: Posture, frames: slice, joints: np.ndarray, offsets: Array, out: Array) -> None:
    """Write derivatives (n, P, 3, d) of points (P,) of a body by its coordinates into `out`.

    `out` is zero, or holds the result for the same points at other frames.
    """
    body = posture.body
    joint_state = posture.rotations[frames], posture.positions[frames], posture.local_axes[frames], body.joint_of
    move_points(*joint_state, joints, offsets, posture.carries(joints), out[..., body.num_shifts :])
    if body.root_moves:
        out[..., :3] = np.eye(3)


def _read_joints(bodies: Sequence[Body], postures: Sequence[Posture], target: Target, at: slice | np.ndarray) -> Array:
    """(n, T, 4) the local rotations of a constraint's joints at some frames."""
    if not target.joints:
        return postures[0].local[at, :0]
    if len(target.joints) == 1:
        actor, name = target.joints[0]
        joint = bodies[actor].skeleton.index[name]
        return postures[actor].local[at, joint : joint + 1]
    return np.stack([postures[a].local[at, bodies[a].skeleton.index[name]] for a, name in target.joints], 1)


def displace_bodies(bodies: Sequence[Body], sample: ProblemAtFrames, displacement: Array) -> tuple[Body, ...]:
    """The bodies at all frames, displaced by (F, D)."""
    columns = [sample.bodies_at_frames.columns(number) for number in range(len(bodies))]
    return tuple(body.displaced(displacement[:, part]).as_body() for body, part in zip(bodies, columns, strict=True))


MAX_SHIFT_SPEED_LEGS_PER_S = 1.0
"""Leg lengths a second: a larger shift is spread over more time."""


def translation_signal(
    shifts: Array, fps: float, smoothing_seconds: float = 0.25, fade_seconds: float = np.inf
) -> Array:
    """(F, 3) metres by which to shift a body at each frame, interpolated from the shifts that constraints request.

    Args:
        shifts: (F, 3) metres; nan where no constraint requests a shift along an axis.
        fps: Frames a second.
        smoothing_seconds: Standard deviation of the Gaussian low-pass filter.
        fade_seconds: The shift is zero at frames that are further than this from every request.
    """
    frames = np.arange(len(shifts))
    signal = np.zeros_like(shifts)
    for axis in range(3):
        known = np.isfinite(shifts[:, axis])
        if known.any():
            values = np.where(known, shifts[:, axis], 0.0)
            if np.isfinite(fade_seconds):
                # A fade longer than the motion is cut to its length.
                known |= ~widened(known, max(round(min(fade_seconds * fps, len(shifts))), 1))
            interpolated = np.interp(frames, frames[known], values[known])
            signal[:, axis] = gaussian_smoothed(interpolated, smoothing_seconds * fps)
    return signal


MAX_REACH_SHARE = 0.95
"""The share of its length to which a free limb is straightened before the body is shifted; or what it is already."""


def shift_starts(
    problem: Problem, indices: tuple[int, ...], reaching: Collection[int] = (), fade_seconds: float = np.inf
) -> Problem:
    """The problem with its start motions shifted towards what some of its constraints request [Gleicher98, sec. 3.8].

    Args:
        problem: The problem.
        indices: The indices of these constraints.
        reaching: Those among them whose limbs, where they do not stand, reach before the body is shifted.
        fade_seconds: The shift fades to zero over this time before and after the constraints; over more if it is large.
    """
    if not indices:
        return problem
    signals: list[Array | None] = []
    for actor, shifts in zip(problem.actors, requested_shifts(problem, indices, reaching), strict=True):
        signals.append(None)
        if actor.moves and actor.root_moves:
            largest = float(np.nanmax(np.abs(shifts), initial=0.0))
            fade = max(fade_seconds, largest / (MAX_SHIFT_SPEED_LEGS_PER_S * leg_length(actor.motion.skeleton)))
            signals[-1] = translation_signal(shifts, actor.motion.fps, fade_seconds=fade)
    return problem.shifted(signals)


def requested_shifts(
    problem: Problem, only: Sequence[int] | None = None, reaching: Collection[int] = ()
) -> tuple[Array, ...]:
    """For each actor (F, 3) metres: the mean shift that satisfies the constraints that fix it in the world, all or
    `only` those of some indices; nan where there is none. Of those in `reaching` only what the limb does not reach."""
    frames = np.arange(len(problem.times))
    numbers = range(len(problem.constraints)) if only is None else only
    sample = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=frames, constraint_indices=tuple(numbers))
    inputs = sample.inputs(tuple(body.posture for body in problem.bodies))
    total = np.zeros((len(problem.actors), len(problem.times), 3))
    count = np.zeros(total.shape, dtype=int)
    standing = dict[tuple[int, int], np.ndarray]()
    """Whether a limb, by actor and first joint, stands at a frame (F,)."""
    asked = []
    for number, (target, held, _, _), constraint_input in zip(numbers, sample.windows, inputs, strict=True):
        constraint = target.constraint
        shifts = constraint.pull(constraint_input)
        if shifts is not None:
            actor, point = problem.resolve(constraint, (*constraint.point_refs(), *constraint.joints())[0])
            skeleton = problem.actors[actor].motion.skeleton
            limb = actor, first_of_limb(skeleton, skeleton.index[point.joint])
            asked.append((number, limb, point, held, constraint_input, shifts))
            if number not in reaching:
                standing.setdefault(limb, np.zeros(len(frames), bool))[held] = True
    for number, limb, point, held, constraint_input, shifts in asked:
        if number in reaching:
            beyond = _beyond_reach(problem, limb[0], point, held, constraint_input.points[:, 0], shifts)
            shifts = np.where(standing.get(limb, np.zeros(len(frames), bool))[held, None], shifts, beyond)
        known = np.isfinite(shifts)
        total[limb[0], held] += np.where(known, shifts, 0.0)
        count[limb[0], held] += known
    return tuple(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def _beyond_reach(
    problem: Problem, actor: int, point: Point, held: slice | np.ndarray, places: Array, shifts: Array
) -> Array:
    """(n, 3) metres: the part of the shifts (n, 3) of a point that its limb cannot reach without the body.

    Args:
        problem: The problem.
        actor: The index of the point's actor.
        point: The point.
        held: The n frames.
        places: (n, 3) metres, world: where the point is.
        shifts: (n, 3) metres: how far it should move; nan along free axes.
    """
    motion = problem.actors[actor].motion
    chain = reaching_chain(motion.skeleton, motion.skeleton.index[point.joint])
    if len(chain) < 2 or not problem.movable_joints(actor).issuperset(chain[:-1]):
        return shifts
    longest = float(motion.skeleton.lengths[chain[1:]].sum() + np.linalg.norm(point.offset))
    line = places - paths_of(motion, chain[:1])[held, 0]
    goal = line + np.where(np.isfinite(shifts), shifts, 0.0)
    away, wanted = (np.linalg.norm(each, axis=-1, keepdims=True) for each in (line, goal))
    missing = np.maximum(wanted - np.maximum(MAX_REACH_SHARE * longest, away), 0.0)
    beyond: Array = np.where(np.isfinite(shifts), goal / np.maximum(wanted, 1e-9) * missing, np.nan)
    return beyond
