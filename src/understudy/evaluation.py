"""A problem evaluated: residuals of all constraints at some frames, and their derivatives.

A solver never sees a skeleton: it asks for residuals and derivatives at some frames, by the coordinates of
`coordinates.Ensemble`. Derivatives are chained here, once for every kind: constraint, points and turns, coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from understudy.constraints.base import Rows, View
from understudy.coordinates import Body, Ensemble, Places, Posture
from understudy.geometry.quaternion import Array
from understudy.problem import Problem, Target


@dataclass(frozen=True, eq=False, kw_only=True)
class Sample:
    """The problem at some of its frames, around a base motion: what a solver evaluates."""

    problem: Problem
    bodies: tuple[Body, ...]
    """The base at all frames."""
    frames: np.ndarray
    """(N,) the frames looked at, rising."""
    only: tuple[int, ...] | None = None
    """The constraints looked at; None for all."""

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The constraints looked at, with what they name found."""
        everything = self.problem.targets
        return everything if self.only is None else tuple(everything[i] for i in self.only)

    @cached_property
    def times(self) -> Array:
        return self.problem.times[self.frames]

    @cached_property
    def ensemble(self) -> Ensemble:
        """The bodies at the frames looked at."""
        whole = len(self.frames) == len(self.problem.times)
        bodies = [body if whole else replace(body, motion=body.motion[self.frames]) for body in self.bodies]
        return Ensemble(bodies=tuple(bodies))

    @property
    def places(self) -> Places:
        return self.problem.places

    @cached_property
    def holds(self) -> tuple[np.ndarray, ...]:
        """For each constraint, the positions (n,) among the frames looked at where it holds."""
        position = np.full(len(self.problem.times), -1)
        position[self.frames] = np.arange(len(self.frames))
        which = range(len(self.problem.constraints)) if self.only is None else self.only
        held = [position[self.problem.held[i]] for i in which]
        return tuple(at[at >= 0] for at in held)

    def views(self, postures: tuple[Posture, ...]) -> list[View]:
        """What each constraint sees of postures."""
        positions = self.ensemble.points(postures, self.places)
        return [
            View(
                times=self.times[at],
                points=positions[at][:, target.points],
                turns=_turns(self.bodies, postures, target, at),
            )
            for target, at in zip(self.targets, self.holds, strict=True)
        ]

    def evaluate(self, d: Array) -> Evaluation:
        """Everything at coordinates d (N, D)."""
        postures = self.ensemble.displaced(d)
        views = self.views(postures)
        rows = tuple(t.constraint.rows(view) for t, view in zip(self.targets, views, strict=True))
        return Evaluation(sample=self, postures=postures, rows=rows)


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation:
    """Residuals of all constraints at some coordinates, and their derivatives on demand."""

    sample: Sample
    postures: tuple[Posture, ...]
    rows: tuple[Rows, ...]
    """One for each constraint, at the frames where it holds."""

    def jacobian(self, which: int, entries: tuple[np.ndarray, np.ndarray]) -> Array:
        """(M, D) derivatives by the coordinates of chosen residuals of a constraint: (frame position, row) each."""
        at, row = entries
        rows, target = self.rows[which], self.sample.targets[which]
        out = np.zeros((len(at), self.sample.ensemble.num_coordinates))
        needed, place = np.unique(at, return_inverse=True)
        frames = self.sample.holds[which][needed]
        if rows.by_points is not None:
            for column, point in enumerate(target.points):
                body, moved = self._point_jacobian(int(point), frames)
                by = rows.by_points[needed, :, column]
                out[:, self.sample.ensemble.columns(body)] += (by @ moved)[place, row]
        if rows.by_turns is not None:
            for column, (actor, name) in enumerate(target.joints):
                body_ = self.sample.bodies[actor]
                mine = np.flatnonzero(body_.joint_of == body_.skeleton.index[name])
                start = self.sample.ensemble.columns(actor).start + body_.num_shifts
                axes = self.postures[actor].local_axes[frames][:, mine]
                turned = np.einsum("nri,nci->nrc", rows.by_turns[needed, :, column], axes)
                out[:, start + mine] += turned[place, row]
        return out

    @cached_property
    def _moves(self) -> dict[int, Array]:
        """How points asked for so far move (N, 3, d) with their body's coordinates; constraints share points."""
        return {}

    def _point_jacobian(self, point: int, frames: np.ndarray) -> tuple[int, Array]:
        """The body of one of the problem's points, and how it moves (n, 3, d) with that body's coordinates."""
        places = self.sample.places
        body = int(places.bodies[point])
        if point not in self._moves:
            every = np.arange(len(self.sample.frames))
            joint, offset = int(places.joints[point]), places.offsets[point]
            self._moves[point] = self.postures[body].point_jacobian_at(every, joint, offset)
        return body, self._moves[point][frames]


def _turns(bodies: tuple[Body, ...], postures: tuple[Posture, ...], target: Target, at: np.ndarray) -> Array:
    if not target.joints:
        return np.empty((len(at), 0, 4))
    return np.stack([postures[w].local[at, bodies[w].skeleton.index[name]] for w, name in target.joints], 1)


def pulls(problem: Problem) -> tuple[Array, ...]:
    """For each actor (F, 3): how far constraints that fix it in the world would shift it, on average; nan where
    none does."""
    whole = Sample(problem=problem, bodies=problem.bodies, frames=np.arange(len(problem.times)))
    views = whole.views(whole.ensemble.displaced(np.zeros((len(problem.times), whole.ensemble.num_coordinates))))
    total = np.zeros((len(problem.actors), len(problem.times), 3))
    count = np.zeros_like(total)
    for target, held, view in zip(problem.targets, whole.holds, views, strict=True):
        asked = target.constraint.pull(view)
        if asked is not None:
            which = problem.resolve(target.constraint, (*target.constraint.spots(), *target.constraint.joints())[0])[0]
            total[which, held] += np.nan_to_num(asked)
            count[which, held] += np.isfinite(asked)
    return tuple(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def merged(bodies: Sequence[Body], sample: Sample, d: Array) -> tuple[Body, ...]:
    """The bodies at all frames after a displacement d (F, D) of every frame."""
    out = []
    for which, body in enumerate(bodies):
        root, rotations = body.moved(d[:, sample.ensemble.columns(which)])
        rotations.setflags(write=False)
        out.append(replace(body, motion=replace(body.motion, root=root, rotations=rotations)))
    return tuple(out)
