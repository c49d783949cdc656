"""A problem evaluated: residuals of all constraints at some frames, and their derivatives.

A solver never sees a skeleton: it asks for residuals and derivatives at some frames, by the coordinates of
`coordinates.Ensemble`. Derivatives are chained here, once for every kind: constraint, points and turns, coordinates.
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
    """All residuals of some constraints in one row: constraint by constraint, residual by residual, each with all its
    frames. Whatever is asked of all of them is asked once, not constraint by constraint."""

    constraint: np.ndarray
    """(T,) which of the constraints looked at."""
    time: np.ndarray
    """(T,) which of the frames looked at."""
    one_sided: np.ndarray
    """(T,) whether it only must not be above zero."""
    before: np.ndarray
    """(T,) the entry whose value it is to equal, being linked; -1 for none, -2 for the first of a chain."""
    starts: np.ndarray
    """(S,) the first entry of each residual."""
    sizes: np.ndarray
    """(S,) how many entries it has."""
    same_as_previous: np.ndarray
    """(S,) whether it is to equal its value one frame before."""

    @cached
    def row(self) -> np.ndarray:
        """(T,) which of its constraint's residuals each entry is of."""
        of = self.constraint[self.starts]
        return np.repeat(np.arange(len(of)) - np.searchsorted(of, of), self.sizes)

    @cached
    def at(self) -> np.ndarray:
        """(T,) at which of its own frames."""
        return np.arange(len(self.time)) - np.repeat(self.starts, self.sizes)

    @staticmethod
    def of(constraints: Sequence[Constraint], rows: Sequence[Residuals], holds: Sequence[np.ndarray]) -> ResidualIndex:
        """The residuals of constraints, by what they make of the frames (n,) at which each holds."""
        linked: list[bool] = []
        counts, lengths = [], []
        held: list[np.ndarray] = [np.zeros(0, dtype=np.intp)]
        for own, frames in zip(rows, holds, strict=True):
            count, length = own.values.shape[1], len(frames)
            counts.append(count if length else 0)
            lengths.append(length)
            linked += (
                [False] * counts[-1] if own.same_as_previous is None else own.same_as_previous.tolist()[: counts[-1]]
            )
            held += [frames] * counts[-1]
        relations = [constraint.relation is Relation.AT_MOST for constraint in constraints]
        of = np.repeat(np.arange(len(counts)), counts)
        sizes, chained = np.array(lengths, dtype=np.intp)[of], np.array(linked, dtype=bool)
        starts = sizes.cumsum() - sizes
        before = np.where(np.repeat(chained, sizes), np.arange(-1, int(sizes.sum()) - 1), -1)
        before[starts[chained]] = -2
        return ResidualIndex(
            constraint=np.repeat(of, sizes),
            time=np.concatenate(held),
            one_sided=np.repeat(np.array(relations, dtype=bool)[of], sizes),
            before=before,
            starts=starts,
            sizes=sizes,
            same_as_previous=chained,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class ProblemAtFrames:
    """The problem at some of its frames, around a base motion: what a solver evaluates."""

    problem: Problem
    bodies: tuple[Body, ...]
    """The base at all frames."""
    frames: np.ndarray
    """(N,) the frames looked at, rising."""
    only: tuple[int, ...] | None = None
    """The constraints looked at; None for all."""

    @cached
    def targets(self) -> tuple[Target, ...]:
        """The constraints looked at, with what they name found."""
        everything = self.problem.targets
        return everything if self.only is None else tuple(everything[i] for i in self.only)

    @cached
    def times(self) -> Array:
        return self.problem.times[self.frames]

    @cached
    def ensemble(self) -> Bodies:
        """The bodies at the frames looked at."""
        whole = len(self.frames) == len(self.problem.times)
        return Bodies(bodies=tuple(body if whole else body.at(self.frames) for body in self.bodies))

    @property
    def places(self) -> Places:
        return self.problem.places

    @cached
    def holds(self) -> tuple[np.ndarray, ...]:
        """For each constraint, the positions (n,) among the frames looked at where it holds."""
        which = range(len(self.problem.constraints)) if self.only is None else self.only
        held = [self.problem.held[i] for i in which]
        if len(self.frames) == len(self.problem.times):
            return tuple(held)
        position = np.full(len(self.problem.times), -1)
        position[self.frames] = np.arange(len(self.frames))
        return tuple(at[at >= 0] for at in (position[frames] for frames in held))

    @cached
    def windows(self) -> list[tuple[Target, slice | np.ndarray, slice | np.ndarray, Array]]:
        """For each constraint, with what it names: the positions and the points it sees, as slices where they follow
        one another, which are seen without copying; and its times."""
        found = []
        for target, at in zip(self.targets, self.holds, strict=True):
            span = slice(at[0], at[-1] + 1) if len(at) and at[-1] - at[0] == len(at) - 1 else at
            found.append((target, span, target.columns, self.times[span]))
        return found

    def views(self, postures: tuple[Posture, ...]) -> list[ConstraintInput]:
        """What each constraint sees of postures."""
        # Joint limits alone need no places, and so no walk down the body.
        seen = any(len(target.points) for target in self.targets)
        positions = self.ensemble.points(postures, self.places) if seen else np.empty((len(self.frames), 0, 3))
        return [
            ConstraintInput(
                times=times, points=positions[at][:, points], local_rotations=_turns(self.bodies, postures, target, at)
            )
            for target, at, points, times in self.windows
        ]

    def evaluate(self, d: Array) -> Evaluation:
        """Everything at coordinates d (N, D)."""
        postures = self.ensemble.displaced(d)
        views = self.views(postures)
        rows = tuple(t.constraint.rows(view) for t, view in zip(self.targets, views, strict=True))
        return Evaluation(sample=self, postures=postures, views=tuple(views), rows=rows)

    def measure(self, d: Array | None = None) -> Evaluation:
        """Everything at coordinates d (N, D), zero if not given; dear derivatives are found only when asked for."""
        bodies = self.ensemble.bodies
        postures = self.ensemble.displaced(d) if d is not None and d.any() else tuple(body.posture for body in bodies)
        views = self.views(postures)
        return Evaluation(sample=self, postures=postures, views=tuple(views), rows=self._measured(views))

    @cached
    def _kinds(self) -> list[tuple[type[Constraint], list[int], list[Constraint]]]:
        """The constraints by kind: their numbers, and themselves."""
        found: dict[type[Constraint], list[int]] = {}
        for number, target in enumerate(self.targets):
            found.setdefault(type(target.constraint), []).append(number)
        return [(kind, mine, [self.targets[i].constraint for i in mine]) for kind, mine in found.items()]

    @cached
    def _registers(self) -> list[ResidualIndex]:
        return []

    def register(self, rows: Sequence[Residuals]) -> ResidualIndex:
        """All residuals in one row, whose order what the constraints make of any posture tells alike."""
        if not self._registers:
            self._registers.append(ResidualIndex.of([target.constraint for target in self.targets], rows, self.holds))
        return self._registers[0]

    def _measured(self, views: Sequence[ConstraintInput]) -> tuple[Residuals, ...]:
        """What each constraint makes of what it sees."""
        out: dict[int, Residuals] = {}
        for kind, mine, constraints in self._kinds:
            out.update(zip(mine, kind.measure_all(constraints, [views[i] for i in mine]), strict=True))
        return tuple(out[i] for i in range(len(views)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation:
    """Residuals of all constraints at some coordinates, and their derivatives on demand."""

    sample: ProblemAtFrames
    postures: tuple[Posture, ...]
    views: tuple[ConstraintInput, ...]
    """What each constraint sees."""
    rows: tuple[Residuals, ...]
    """One for each constraint, at the frames where it holds; some without derivatives."""

    def bodies(self) -> tuple[Body, ...]:
        """The bodies displaced, at the frames looked at."""
        return tuple(posture.settled() for posture in self.postures)

    def completed(self) -> Evaluation:
        """The same with all constraints of the problem: those that were not looked at are measured now."""
        looked = self.sample.only
        if looked is None:
            return self
        problem, frames, bodies = self.sample.problem, self.sample.frames, self.bodies()
        others = tuple(sorted(set(range(len(problem.constraints))) - set(looked)))
        rest = ProblemAtFrames(problem=problem, bodies=bodies, frames=frames, only=others).measure()
        order = np.argsort([*looked, *others]).tolist()
        views, rows, off = (*self.views, *rest.views), (*self.rows, *rest.rows), (*self.violation, *rest.violation)
        found = Evaluation(
            sample=ProblemAtFrames(problem=problem, bodies=bodies, frames=frames),
            postures=rest.postures,
            views=tuple(views[i] for i in order),
            rows=tuple(rows[i] for i in order),
        )
        found.__dict__["violation"] = tuple(off[i] for i in order)
        return found

    @property
    def register(self) -> ResidualIndex:
        """What the residuals are, in one row."""
        return self.sample.register(self.rows)

    @cached
    def values(self) -> Array:
        """(T,) all residuals, as the register lists them."""
        return np.concatenate([np.zeros(0), *(rows.values.T.ravel() for rows in self.rows)])

    @cached
    def off(self) -> Array:
        """(T,) how far each is from being satisfied, never negative.

        Linked residuals are measured from their own mean: the value that the solver leaves open.
        """
        register, values = self.register, self.values
        if register.same_as_previous.any():
            means = np.add.reduceat(values, register.starts) / register.sizes
            values = values - np.repeat(np.where(register.same_as_previous, means, 0.0), register.sizes)
        return np.where(register.one_sided, np.maximum(values, 0.0), np.abs(values))

    @cached
    def violation(self) -> tuple[Array, ...]:
        """For each constraint (n, R): how far each residual is from being satisfied, never negative."""
        shapes = [rows.values.T.shape for rows in self.rows]
        ends = np.cumsum([0, *(rows * frames for rows, frames in shapes)]).tolist()
        pieces = (self.off[first:last] for first, last in itertools.pairwise(ends))
        return tuple(off.reshape(shape).T for off, shape in zip(pieces, shapes, strict=True))

    def jacobian(self, which: int, entries: tuple[np.ndarray, np.ndarray]) -> Array:
        """(M, D) derivatives by the coordinates of chosen residuals of a constraint: (frame position, row) each."""
        at, row = entries
        target = self.sample.targets[which]
        out = np.zeros((len(at), self.sample.ensemble.num_coordinates))
        needed, place = np.unique(at, return_inverse=True)
        frames = self.sample.holds[which][needed]
        d_points, d_rotations = self.derivatives(which, needed)
        if d_points is not None:
            for column, point in enumerate(target.points):
                moved = self._moves_of(int(point))[frames]
                out += (d_points[:, :, column] @ moved)[place, row]
        if d_rotations is not None:
            for column, (actor, name) in enumerate(target.joints):
                body_ = self.sample.bodies[actor]
                mine = np.flatnonzero(body_.joint_of == body_.skeleton.index[name])
                start = self.sample.ensemble.columns(actor).start + body_.num_shifts
                axes = self.postures[actor].local_axes[frames][:, mine]
                turned = np.einsum("nri,nci->nrc", d_rotations[:, :, column], axes)
                out[:, start + mine] += turned[place, row]
        return out

    def derivatives(self, which: int, at: slice | np.ndarray) -> tuple[Array | None, Array | None]:
        """A constraint's derivatives by points (n, R, P, 3) and by turns (n, R, T, 3) at some of its frames (n,)."""
        rows = self.rows[which]
        if rows.d_points is None and rows.d_rotations is None:
            rows = self.sample.targets[which].constraint.rows(self.views[which].some(at))
            return rows.d_points, rows.d_rotations
        d_points, d_rotations = (None if by is None else by[at] for by in (rows.d_points, rows.d_rotations))
        return d_points, d_rotations

    def point_moves(self, points: np.ndarray) -> Iterator[tuple[slice, Array]]:
        """How points (P,) of the problem, body by body, move (n, P, 3, D) with the coordinates, some frames at a time.

        What is given for one piece is gone with the next: their place is used again.
        """
        places, ensemble, count = self.sample.places, self.sample.ensemble, len(self.sample.frames)
        # Pieces of one length: a last one of few frames would take as many calls as a whole one.
        size = -(-count // max(round(count / BLOCK), 1))
        whole = np.zeros((size, len(points), 3, ensemble.num_coordinates))
        of = [np.flatnonzero(places.bodies[points] == body) for body in range(len(self.postures))]
        for start in range(0, count, size):
            part = slice(start, min(start + size, count))
            out = whole[: part.stop - start]
            for body, (posture, mine) in enumerate(zip(self.postures, of, strict=True)):
                if len(mine):
                    joints, offsets = places.joints[points[mine]], places.offsets[points[mine]]
                    first, last = mine[0], mine[-1] + 1
                    _fill_moves(posture, part, joints, offsets, out[:, first:last, :, ensemble.columns(body)])
            yield part, out

    @cached
    def _moves(self) -> dict[int, Array]:
        return {}

    def _moves_of(self, point: int) -> Array:
        """(N, 3, D) how one of the problem's points moves with the coordinates; kept: constraints share points."""
        if point not in self._moves:
            parts = [moved[:, 0].copy() for _, moved in self.point_moves(np.array([point]))]
            self._moves[point] = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return self._moves[point]


BLOCK = 192
"""Frames at a time, about, whose derivatives are worked on."""


def _fill_moves(posture: Posture, frames: slice, joints: np.ndarray, offsets: Array, out: Array) -> None:
    """Fill in how points (P,) of a body move (n, P, 3, d) with its coordinates at some frames.

    `out` is zero, or as it was left for the same points at other frames.
    """
    body = posture.body
    turned = posture.rotations[frames], posture.positions[frames], posture.local_axes[frames], body.joint_of
    move_points(*turned, joints, offsets, posture.carries(joints), out[..., body.num_shifts :])
    if body.root_moves:
        out[..., :3] = np.eye(3)


def _turns(bodies: tuple[Body, ...], postures: tuple[Posture, ...], target: Target, at: slice | np.ndarray) -> Array:
    if not target.joints:
        return postures[0].local[at, :0]
    if len(target.joints) == 1:
        which, name = target.joints[0]
        joint = bodies[which].skeleton.index[name]
        return postures[which].local[at, joint : joint + 1]
    return np.stack([postures[w].local[at, bodies[w].skeleton.index[name]] for w, name in target.joints], 1)


def merged(bodies: Sequence[Body], sample: ProblemAtFrames, d: Array) -> tuple[Body, ...]:
    """The bodies at all frames after a displacement d (F, D) of every frame."""
    out = []
    for which, body in enumerate(bodies):
        out.append(body.displaced(d[:, sample.ensemble.columns(which)]).settled())
    return tuple(out)
