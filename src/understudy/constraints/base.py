"""What a constraint is: a residual over its frames, and how it changes with the points and joints it names."""

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
    """What residuals are measured in."""

    METRE = "m"
    RADIAN = "rad"


class Relation(StrEnum):
    """When a residual is satisfied."""

    EQUAL = "equal"
    """At zero."""
    AT_MOST = "at_most"
    """At zero or below; above zero is violation."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PointRef:
    """A point of an actor. Where a constraint takes one, a name alone means a point of the first actor."""

    point: Point | str
    """The point, or the name of a joint or end."""
    actor: str = ""
    """Whose; the first actor's if empty."""

    @classmethod
    def from_name(cls, name: str) -> PointRef:
        """A point of the first actor."""
        return cls(point=name)

    def as_table(self) -> dict[str, object]:
        """The point as files keep it."""
        point = self.point if isinstance(self.point, str) else self.point.as_table()
        return {"point": point, **({"actor": self.actor} if self.actor else {})}


PointLike = PointRef | str
"""A point of an actor, or the name of a joint or end of the first actor."""


def as_refs(*points: PointLike) -> tuple[PointRef, ...]:
    """Points with their actors; names are taken for points of the first actor."""
    return tuple(PointRef(point=point) if isinstance(point, str) else point for point in points)


@dataclass(frozen=True, eq=False, kw_only=True)
class ConstraintInput:
    """What a constraint sees: its frames, and at each the places and local rotations it asked for."""

    times: Array
    """(N,) seconds."""
    points: Array
    """(N, P, 3) metres, world: the places of its spots."""
    local_rotations: Array
    """(N, T, 4) local rotations of its joints."""

    def some(self, at: slice | np.ndarray) -> ConstraintInput:
        """Some of its frames."""
        return ConstraintInput(times=self.times[at], points=self.points[at], local_rotations=self.local_rotations[at])


@dataclass(frozen=True, eq=False, kw_only=True)
class Residuals:
    """Residuals at each frame, in metres or radians, and their derivatives."""

    values: Array
    """(N, R) residuals."""
    d_points: Array | None = None
    """(N, R, P, 3) derivative by each point's place."""
    d_rotations: Array | None = None
    """(N, R, T, 3) derivative by a small turn of each joint about its own axes."""
    same_as_previous: np.ndarray | None = None
    """(R,) True where a row is not to be zero itself but equal to its value one frame before."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Constraint(ABC):
    """Something that must hold over an interval or at instants. A class is abstract or final."""

    kind: ClassVar[str] = ""
    """Its name in recipes."""
    unit: ClassVar[Unit]
    """What its residuals are in; every kind must say it."""

    start: float = -np.inf
    """Seconds: when it begins to hold."""
    end: float = np.inf
    """Seconds: when it ends, included."""
    instants: tuple[float, ...] = ()
    """Seconds: if given, it holds at these times only."""
    pauses: tuple[tuple[float, float], ...] = ()
    """Seconds: intervals, ends included, in which it does not hold."""
    weight: float = 1.0
    """How heavily its error counts where not everything can be met."""
    priority: int = 0
    """Each step up counts ten times as heavily as the step below."""
    tolerance: float = 1e-3
    """Metres or radians up to which it counts as met."""
    name: str = ""
    """What reports call it."""

    def __init_subclass__(cls) -> None:
        # A dataclass keeps a `__repr__` of its own.
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
        """Whether its residuals are radians, not metres."""
        return self.unit is Unit.RADIAN

    @property
    def relation(self) -> Relation:
        """Whether its residuals are to be zero or at most zero."""
        return Relation.EQUAL

    @abstractmethod
    def point_refs(self) -> tuple[PointRef, ...]:
        """The points it looks at, in the order of `ConstraintInput.points`."""

    def joints(self) -> tuple[PointRef, ...]:
        """The joints whose local rotations it looks at, in the order of `ConstraintInput.local_rotations`."""
        return ()

    @abstractmethod
    def rows(self, view: ConstraintInput) -> Residuals:
        """Its residuals and their derivatives at the frames in view."""

    def measure(self, view: ConstraintInput) -> Residuals:
        """Its residuals at the frames in view, without derivatives where that is cheaper."""
        return self.rows(view)

    @classmethod
    def measure_all(cls, constraints: Sequence[Any], views: Sequence[ConstraintInput]) -> list[Residuals]:
        """What `measure` gives for each of several of this kind; together where that is cheaper."""
        return [each.measure(view) for each, view in zip(constraints, views, strict=True)]

    def constant(self) -> Array | None:
        """(R, P, 3) the derivative of its residuals by each point's place, if it is the same whatever happens and there
        is none by turns; None if only the rows can tell."""
        return None

    def pull(self, view: ConstraintInput) -> Array | None:
        """(N, 3) metres: how far the body would have to be shifted at each frame for it to hold, nan along axes it
        leaves open; None for constraints that fix nothing in the world [Gleicher98, sec. 3.8]."""
        return None

    @classmethod
    @abstractmethod
    def example(cls, rng: np.random.Generator) -> Constraint:
        """One with random settings on joints `root`, `upper`, `lower`, `tip`, for the contract tests.

        It may name an actor `second` besides the first.
        """

    def check_times(self) -> None:
        """Refuse intervals and numbers that cannot be."""
        if not self.start <= self.end:
            raise OptionError(f"Constraint `{self.label}` must end after it starts; got {self.start} to {self.end} s")
        if not (math.isfinite(self.weight) and self.weight > 0.0):
            raise OptionError(f"Constraint `{self.label}`: expected a weight above zero, got {self.weight}")
        if not (math.isfinite(self.tolerance) and self.tolerance > 0.0):
            raise OptionError(f"Constraint `{self.label}`: expected a tolerance above zero, got {self.tolerance}")

    @property
    def label(self) -> str:
        """Its name, or its kind and what it is on."""
        named = [s.point if isinstance(s.point, str) else s.point.name for s in (*self.point_refs(), *self.joints())]
        return self.name or f"{self.kind} {' '.join(named[:2])}".strip()

    def frames(self, times: Array) -> np.ndarray:
        """The frames, of those at given times (F,), at which it holds; instants take the nearest frame."""
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


def everywhere(by: Array, view: ConstraintInput) -> Array:
    """(N, R, P, 3) a constant derivative (R, P, 3), as rows give it at the frames in view."""
    return np.broadcast_to(by, (len(view.times), *by.shape))


def world(array: object, what: str) -> Array:
    """(3,) finite numbers, or an error that says what they are for."""
    out = np.array(array, float)
    if out.shape != (3,) or not np.isfinite(out).all():
        raise OptionError(f"{what}: expected three finite numbers, got {np.array2string(out)}")
    out.setflags(write=False)
    return out
