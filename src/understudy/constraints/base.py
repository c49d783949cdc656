"""The base class of constraints: residuals over frames, with derivatives by the points and joints they name."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.figure.skeleton import Point


class Unit(StrEnum):
    """The unit of residuals."""

    METRE = "m"
    RADIAN = "rad"


class Relation(StrEnum):
    """The condition under which a residual is satisfied."""

    EQUAL = "equal"
    """Satisfied at zero."""
    AT_MOST = "at_most"
    """Satisfied at zero or below; a positive residual is a violation."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PointRef:
    """A point of an actor. Constraints also accept a plain name, which means a point of the first actor."""

    point: Point | str
    """The point, or the name of a joint or end."""
    actor: str = ""
    """The actor's name; the first actor if empty."""

    @classmethod
    def from_name(cls, name: str) -> PointRef:
        """A point of the first actor."""
        return cls(point=name)

    def as_table(self) -> dict[str, object]:
        """The point as a table, as it is stored in files."""
        point = self.point if isinstance(self.point, str) else self.point.as_table()
        return {"point": point, **({"actor": self.actor} if self.actor else {})}


PointLike = PointRef | str
"""A point of an actor, or the name of a joint or end of the first actor."""


def as_refs(*points: PointLike) -> tuple[PointRef, ...]:
    """Convert names to points of the first actor; keep point references as they are."""
    return tuple(PointRef(point=point) if isinstance(point, str) else point for point in points)


@dataclass(frozen=True, eq=False, kw_only=True)
class ConstraintInput:
    """The input of a constraint: the times of its frames, its points and the local rotations of its joints."""

    times: Array
    """(N,) seconds."""
    points: Array
    """(N, P, 3) metres, world: the positions of its points."""
    local_rotations: Array
    """(N, T, 4) local rotations of its joints."""

    def at_frames(self, at: slice | np.ndarray) -> ConstraintInput:
        """The input at some of the frames."""
        return ConstraintInput(times=self.times[at], points=self.points[at], local_rotations=self.local_rotations[at])


@dataclass(frozen=True, eq=False, kw_only=True)
class Residuals:
    """Residuals of a constraint at each frame, in its unit, and their derivatives."""

    values: Array
    """(N, R) residuals."""
    d_points: Array | None = None
    """(N, R, P, 3) derivatives by the position of each point."""
    d_rotations: Array | None = None
    """(N, R, T, 3) derivatives by a small rotation of each joint about the axes of its own frame."""
    same_as_previous: np.ndarray | None = None
    """(R,) True for rows that must equal their value at the previous frame instead of zero."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Constraint(ABC):
    """A condition that must hold over an interval or at instants. Every subclass is abstract or final."""

    kind: ClassVar[str] = ""
    """The name of the kind in recipes."""
    unit: ClassVar[Unit]
    """The unit of the residuals; every kind must set it."""

    start: float = -np.inf
    """Seconds: the start of the interval."""
    end: float = np.inf
    """Seconds: the end of the interval, inclusive."""
    instants: tuple[float, ...] = ()
    """Seconds: if given, the constraint holds at these times only."""
    pauses: tuple[tuple[float, float], ...] = ()
    """Seconds: intervals, ends inclusive, in which it does not hold."""
    weight: float = 1.0
    """The weight of its squared error when not all constraints can be met."""
    priority: int = 0
    """Each level weighs ten times as much as the level below."""
    tolerance: float = 1e-3
    """Metres or radians: the largest violation that counts as met."""
    name: str = ""
    """The name that reports use."""

    def __init_subclass__(cls) -> None:
        # The dataclass decorator keeps a `__repr__` that the class defines.
        cls.__repr__ = Constraint.__repr__  # type: ignore[method-assign]
        if cls.kind and not hasattr(cls, "unit"):
            raise TypeError(
                f"Constraint kind `{cls.kind}` must say the unit of its residuals: Unit.METRE or Unit.RADIAN"
            )

    def __repr__(self) -> str:
        when = f"{len(self.instants)} instants" if self.instants else f"{self.start:g} to {self.end:g} s"
        return f"<{type(self).__name__} {self.label}: {when}>"

    @property
    def angular(self) -> bool:
        """Whether the residuals are in radians rather than metres."""
        return self.unit is Unit.RADIAN

    @property
    def relation(self) -> Relation:
        """Whether the residuals must be zero or at most zero."""
        return Relation.EQUAL

    @abstractmethod
    def point_refs(self) -> tuple[PointRef, ...]:
        """The points that it reads, in the order of `ConstraintInput.points`."""

    def joints(self) -> tuple[PointRef, ...]:
        """The joints whose local rotations it reads, in the order of `ConstraintInput.local_rotations`."""
        return ()

    @abstractmethod
    def rows(self, view: ConstraintInput) -> Residuals:
        """The residuals and their derivatives at the frames of the input."""

    def measure(self, view: ConstraintInput) -> Residuals:
        """The residuals; derivatives may be left out where that is cheaper."""
        return self.rows(view)

    @classmethod
    def measure_all(cls, constraints: Sequence[Any], views: Sequence[ConstraintInput]) -> list[Residuals]:
        """`measure` for several constraints of this kind; kinds override it where one pass for all is cheaper."""
        return [constraint.measure(view) for constraint, view in zip(constraints, views, strict=True)]

    def constant(self) -> Array | None:
        """(R, P, 3) the derivatives of the residuals by the points, if they are the same for every input and the
        constraint reads no joints; None otherwise."""
        return None

    def pull(self, view: ConstraintInput) -> Array | None:
        """(N, 3) metres: the shift of the body at each frame that satisfies the constraint, nan along free axes. None
        if the constraint fixes no position in the world [Gleicher98, sec. 3.8]."""
        return None

    @classmethod
    @abstractmethod
    def example(cls, rng: np.random.Generator) -> Constraint:
        """A random constraint on the joints `root`, `upper`, `lower` and `tip`, for the contract tests.

        It may also name points of a second actor, `second`.
        """

    def check_times(self) -> None:
        """Raise an error if the interval, weight or tolerance is invalid."""
        if not self.start <= self.end:
            raise OptionError(f"Constraint `{self.label}` must end after it starts; got {self.start} to {self.end} s")
        if not (math.isfinite(self.weight) and self.weight > 0.0):
            raise OptionError(f"Constraint `{self.label}`: expected a weight above zero, got {self.weight}")
        if not (math.isfinite(self.tolerance) and self.tolerance > 0.0):
            raise OptionError(f"Constraint `{self.label}`: expected a tolerance above zero, got {self.tolerance}")

    @property
    def label(self) -> str:
        """The name, or the kind and the first points or joints."""
        points = [ref.point for ref in (*self.point_refs(), *self.joints())]
        names = [point if isinstance(point, str) else point.name for point in points]
        return self.name or f"{self.kind} {' '.join(names[:2])}".strip()

    def frames(self, times: Array) -> np.ndarray:
        """The indices of the frames at times (F,) at which it holds; an instant selects the nearest frame."""
        if self.instants:
            inside = [t for t in self.instants if times[0] - 1e-6 <= t <= times[-1] + 1e-6]
            return np.unique([int(np.argmin(np.abs(times - t))) for t in inside]).astype(np.intp)
        first, last = times.searchsorted(self.start - 1e-6), times.searchsorted(self.end + 1e-6, side="right")
        if not self.pauses:
            return np.arange(first, last)
        held = np.zeros(len(times), bool)
        held[first:last] = True
        pauses = np.array(self.pauses)
        begins, ends = times.searchsorted(pauses[:, 0] - 1e-6), times.searchsorted(pauses[:, 1] + 1e-6, side="right")
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            held[begin:end] = False
        return np.flatnonzero(held)


def repeat_frames(by: Array, view: ConstraintInput) -> Array:
    """(N, R, P, 3) constant derivatives (R, P, 3), repeated for every frame of the input."""
    return np.broadcast_to(by, (len(view.times), *by.shape))


def check_vector(array: object, what: str) -> Array:
    """(3,) finite numbers; the error message starts with `what`."""
    out = np.array(array, float)
    if out.shape != (3,) or not np.isfinite(out).all():
        raise OptionError(f"{what}: expected three finite numbers, got {np.array2string(out)}")
    out.setflags(write=False)
    return out
