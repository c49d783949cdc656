"""Evaluation of a problem: residuals of all constraints at some frames, and their derivatives.

A solver never sees a skeleton: it reads residuals and their derivatives by the coordinates of `coordinates.Bodies`.
The chain rule from constraints over points and rotations to coordinates is applied here, for all kinds alike.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import cached
from understudy.constraints.base import Constraint, ConstraintInput, Relation, Residuals
from understudy.figure.kinematics import move_points
from understudy.solve.coordinates import Bodies, Body, Places, Posture
from understudy.solve.problem import Problem, Target


@dataclass(frozen=True, eq=False, kw_only=True)
class ResidualIndex:
    """All residuals of some constraints as one flat array, ordered by constraint, then by residual row, then by frame.

    Operations on all residuals become single array operations instead of loops over constraints.
    """

    constraint: np.ndarray
    """(T,) the index of the constraint."""
    time: np.ndarray
    """(T,) the index of the frame."""
    one_sided: np.ndarray
    """(T,) whether the residual must be at most zero."""
    before: np.ndarray
    """(T,) the entry that a linked residual must equal; -1 if it is not linked, -2 for the first of a chain."""
    starts: np.ndarray
    """(S,) the first entry of each residual row."""
    sizes: np.ndarray
    """(S,) the number of entries of each row."""
    same_as_previous: np.ndarray
    """(S,) whether the row must equal its value at the previous frame."""

    @cached
    def row(self) -> np.ndarray:
        """(T,) the residual row of each entry within its constraint."""
        of = self.constraint[self.starts]
        return np.repeat(np.arange(len(of)) - np.searchsorted(of, of), self.sizes)

    @cached
    def at(self) -> np.ndarray:
        """(T,) the index of each entry among the frames of its row."""
        return np.arange(len(self.time)) - np.repeat(self.starts, self.sizes)

    @staticmethod
    def of(constraints: Sequence[Constraint], rows: Sequence[Residuals], holds: Sequence[np.ndarray]) -> ResidualIndex:
        """The index of the residuals of constraints, which hold at frames (n,) each."""
        is_linked: list[bool] = []
        counts, lengths = [], []
        held: list[np.ndarray] = [np.zeros(0, dtype=np.intp)]
        for residuals, frames in zip(rows, holds, strict=True):
            count, length = residuals.values.shape[1], len(frames)
            counts.append(count if length else 0)
            lengths.append(length)
            linked = residuals.same_as_previous
            is_linked += [False] * counts[-1] if linked is None else linked.tolist()[: counts[-1]]
            held += [frames] * counts[-1]
        relations = [constraint.relation is Relation.AT_MOST for constraint in constraints]
        of = np.repeat(np.arange(len(counts)), counts)
        sizes, linked_rows = np.array(lengths, dtype=np.intp)[of], np.array(is_linked, dtype=bool)
        starts = sizes.cumsum() - sizes
        before = np.where(np.repeat(linked_rows, sizes), np.arange(-1, int(sizes.sum()) - 1), -1)
        before[starts[linked_rows]] = -2
        return ResidualIndex(
            constraint=np.repeat(of, sizes),
            time=np.concatenate(held),
            one_sided=np.repeat(np.array(relations, dtype=bool)[of], sizes),
            before=before,
            starts=starts,
            sizes=sizes,
            same_as_previous=linked_rows,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ProblemAtFrames:
    """The problem at some of its frames, around a base motion; solvers evaluate this."""

    problem: Problem
    bodies: tuple[Body, ...]
    """The bodies with the base motion, at all frames."""
    frames: np.ndarray
    """(N,) the evaluated frames, rising."""
    only: tuple[int, ...] | None = None
    """The indices of the evaluated constraints; None for all."""

    @cached
    def targets(self) -> tuple[Target, ...]:
        """The evaluated constraints, with the indices of their points and joints."""
        targets = self.problem.targets
        return targets if self.only is None else tuple(targets[i] for i in self.only)

    @cached
    def times(self) -> Array:
        return self.problem.times[self.frames]

    @cached
    def ensemble(self) -> Bodies:
        """The bodies at the evaluated frames."""
        whole = len(self.frames) == len(self.problem.times)
        return Bodies(bodies=tuple(body if whole else body.at(self.frames) for body in self.bodies))

    @property
    def places(self) -> Places:
        return self.problem.places

    @cached
    def holds(self) -> tuple[np.ndarray, ...]:
        """For each constraint, the indices (n,) into `frames` at which it holds."""
        indices = range(len(self.problem.constraints)) if self.only is None else self.only
        held = [self.problem.held[i] for i in indices]
        if len(self.frames) == len(self.problem.times):
            return tuple(held)
        position = np.full(len(self.problem.times), -1)
        position[self.frames] = np.arange(len(self.frames))
        return tuple(at[at >= 0] for at in (position[frames] for frames in held))

    @cached
    def windows(self) -> list[tuple[Target, slice | np.ndarray, slice | np.ndarray, Array]]:
        """For each constraint: its target, the indices of its frames and of its points, and its times. Consecutive
        indices are slices, so that arrays are not copied."""
        windows = []
        for target, at in zip(self.targets, self.holds, strict=True):
            span = slice(at[0], at[-1] + 1) if len(at) and at[-1] - at[0] == len(at) - 1 else at
            windows.append((target, span, target.columns, self.times[span]))
        return windows

    def views(self, postures: tuple[Posture, ...]) -> list[ConstraintInput]:
        """The input of each constraint for postures."""
        # Joint limits need no positions; without other constraints forward kinematics is skipped.
        needed = any(len(target.points) for target in self.targets)
        positions = self.ensemble.points(postures, self.places) if needed else np.empty((len(self.frames), 0, 3))
        return [
            ConstraintInput(
                times=times,
                points=positions[at][:, points],
                local_rotations=_read_joints(self.bodies, postures, target, at),
            )
            for target, at, points, times in self.windows
        ]

    def evaluate(self, d: Array) -> Evaluation:
        """All residuals and derivatives at coordinates d (N, D)."""
        postures = self.ensemble.displaced(d)
        views = self.views(postures)
        rows = tuple(t.constraint.rows(view) for t, view in zip(self.targets, views, strict=True))
        return Evaluation(sample=self, postures=postures, views=tuple(views), rows=rows)

    def measure(self, d: Array | None = None) -> Evaluation:
        """All residuals at coordinates d (N, D), zero if None; expensive derivatives are computed on demand."""
        bodies = self.ensemble.bodies
        postures = self.ensemble.displaced(d) if d is not None and d.any() else tuple(body.posture for body in bodies)
        views = self.views(postures)
        return Evaluation(sample=self, postures=postures, views=tuple(views), rows=self._measure_by_kind(views))

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

    def register(self, rows: Sequence[Residuals]) -> ResidualIndex:
        """The index of all residuals, cached: it is the same for the residuals of any posture."""
        if not self._index_cache:
            self._index_cache.append(ResidualIndex.of([target.constraint for target in self.targets], rows, self.holds))
        return self._index_cache[0]

    def _measure_by_kind(self, views: Sequence[ConstraintInput]) -> tuple[Residuals, ...]:
        """The residuals of each constraint for its input."""
        out: dict[int, Residuals] = {}
        for kind, indices, constraints in self._by_kind:
            out.update(zip(indices, kind.measure_all(constraints, [views[i] for i in indices]), strict=True))
        return tuple(out[i] for i in range(len(views)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation:
    """The residuals of all constraints at some coordinates, and their derivatives on demand."""

    sample: ProblemAtFrames
    postures: tuple[Posture, ...]
    views: tuple[ConstraintInput, ...]
    """The input of each constraint."""
    rows: tuple[Residuals, ...]
    """The residuals of each constraint at the frames where it holds; derivatives may be missing."""

    def bodies(self) -> tuple[Body, ...]:
        """The displaced bodies at the evaluated frames."""
        return tuple(posture.as_body() for posture in self.postures)

    def completed(self) -> Evaluation:
        """The evaluation of all constraints of the problem; those not evaluated yet are measured now."""
        evaluated = self.sample.only
        if evaluated is None:
            return self
        problem, frames, bodies = self.sample.problem, self.sample.frames, self.bodies()
        others = tuple(sorted(set(range(len(problem.constraints))) - set(evaluated)))
        rest = ProblemAtFrames(problem=problem, bodies=bodies, frames=frames, only=others).measure()
        order = np.argsort([*evaluated, *others]).tolist()
        views, rows, off = (*self.views, *rest.views), (*self.rows, *rest.rows), (*self.violation, *rest.violation)
        evaluation = Evaluation(
            sample=ProblemAtFrames(problem=problem, bodies=bodies, frames=frames),
            postures=rest.postures,
            views=tuple(views[i] for i in order),
            rows=tuple(rows[i] for i in order),
        )
        evaluation.__dict__["violation"] = tuple(off[i] for i in order)
        return evaluation

    @property
    def register(self) -> ResidualIndex:
        """The index of the flat array of residuals."""
        return self.sample.register(self.rows)

    @cached
    def values(self) -> Array:
        """(T,) all residuals, in the order of the index."""
        return np.concatenate([np.zeros(0), *(rows.values.T.ravel() for rows in self.rows)])

    @cached
    def off(self) -> Array:
        """(T,) the violation of each residual, never negative.

        The violation of a linked residual is its distance from the mean of its row.
        """
        register, values = self.register, self.values
        if register.same_as_previous.any():
            means = np.add.reduceat(values, register.starts) / register.sizes
            values = values - np.repeat(np.where(register.same_as_previous, means, 0.0), register.sizes)
        return np.where(register.one_sided, np.maximum(values, 0.0), np.abs(values))

    @cached
    def violation(self) -> tuple[Array, ...]:
        """For each constraint (n, R): the violation of each residual, never negative."""
        shapes = [rows.values.T.shape for rows in self.rows]
        ends = np.cumsum([0, *(rows * frames for rows, frames in shapes)]).tolist()
        pieces = (self.off[first:last] for first, last in itertools.pairwise(ends))
        return tuple(off.reshape(shape).T for off, shape in zip(pieces, shapes, strict=True))

    def jacobian(self, which: int, entries: tuple[np.ndarray, np.ndarray]) -> Array:
        """(M, D) derivatives by the coordinates of some residuals of a constraint, given as (frame index, row)."""
        at, row = entries
        target = self.sample.targets[which]
        out = np.zeros((len(at), self.sample.ensemble.num_coordinates))
        needed, place = np.unique(at, return_inverse=True)
        frames = self.sample.holds[which][needed]
        d_points, d_rotations = self.derivatives(which, needed)
        if d_points is not None:
            for column, point in enumerate(target.points):
                moved = self._point_derivatives(int(point))[frames]
                out += (d_points[:, :, column] @ moved)[place, row]
        if d_rotations is not None:
            for column, (actor, name) in enumerate(target.joints):
                body = self.sample.bodies[actor]
                columns = np.flatnonzero(body.joint_of == body.skeleton.index[name])
                start = self.sample.ensemble.columns(actor).start + body.num_shifts
                axes = self.postures[actor].local_axes[frames][:, columns]
                products = np.einsum("nri,nci->nrc", d_rotations[:, :, column], axes)
                out[:, start + columns] += products[place, row]
        return out

    def derivatives(self, which: int, at: slice | np.ndarray) -> tuple[Array | None, Array | None]:
        """Derivatives of a constraint by points (n, R, P, 3) and rotations (n, R, T, 3) at some of its frames (n,)."""
        rows = self.rows[which]
        if rows.d_points is None and rows.d_rotations is None:
            rows = self.sample.targets[which].constraint.rows(self.views[which].at_frames(at))
            return rows.d_points, rows.d_rotations
        d_points, d_rotations = (None if by is None else by[at] for by in (rows.d_points, rows.d_rotations))
        return d_points, d_rotations

    def point_moves(self, points: np.ndarray) -> Iterator[tuple[slice, Array]]:
        """Derivatives (n, P, 3, D) by the coordinates of points (P,) of the problem, sorted by body, block by block.

        The array of a block is overwritten by the next block.
        """
        places, ensemble, count = self.sample.places, self.sample.ensemble, len(self.sample.frames)
        # Blocks have equal lengths: a short last block would take as many calls as a full one.
        size = -(-count // max(round(count / FRAMES_PER_BLOCK), 1))
        buffer = np.zeros((size, len(points), 3, ensemble.num_coordinates))
        point_indices = [np.flatnonzero(places.bodies[points] == body) for body in range(len(self.postures))]
        for start in range(0, count, size):
            part = slice(start, min(start + size, count))
            out = buffer[: part.stop - start]
            for body, (posture, indices) in enumerate(zip(self.postures, point_indices, strict=True)):
                if len(indices):
                    joints, offsets = places.joints[points[indices]], places.offsets[points[indices]]
                    first, last = indices[0], indices[-1] + 1
                    _fill_derivatives(posture, part, joints, offsets, out[:, first:last, :, ensemble.columns(body)])
            yield part, out

    @cached
    def _point_cache(self) -> dict[int, Array]:
        return {}

    def _point_derivatives(self, point: int) -> Array:
        """(N, 3, D) derivatives of a point by the coordinates; cached because constraints share points."""
        if point not in self._point_cache:
            parts = [moved[:, 0].copy() for _, moved in self.point_moves(np.array([point]))]
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
        which, name = target.joints[0]
        joint = bodies[which].skeleton.index[name]
        return postures[which].local[at, joint : joint + 1]
    return np.stack([postures[w].local[at, bodies[w].skeleton.index[name]] for w, name in target.joints], 1)


def displace_bodies(bodies: Sequence[Body], sample: ProblemAtFrames, d: Array) -> tuple[Body, ...]:
    """The bodies displaced by d (F, D) at all frames."""
    out = []
    for which, body in enumerate(bodies):
        out.append(body.displaced(d[:, sample.ensemble.columns(which)]).as_body())
    return tuple(out)
