"""The base class of constraints: residuals over frames, with derivatives by the points and joints they name."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import OptionError
from understudy.base.quaternion import (
    Array,
    conjugate,
    cross,
    from_axis_angle,
    normalize,
    rotate,
    skew,
    slerp,
    to_matrix,
)
from understudy.base.records import record
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


@record
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


@record
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


@record
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


MAX_WEIGHT_DECADES = 5.0
"""The powers of ten by which the weight of a constraint may differ from 1 in a solve. Beyond seven, the forces of the
others are lost in rounding, and their matrix has no Cholesky factor any more."""


def relative_weights(constraints: Sequence[Constraint]) -> list[float]:
    """The weight of each constraint times ten to the power of its priority.

    Where one of them is too large or too small for the solvers, all powers of ten are scaled by one factor: the order
    of the constraints stays.
    """
    powers = [math.log10(c.weight) + min(max(c.priority, -1000), 1000) for c in constraints]
    largest = max(map(abs, powers), default=0.0)
    if largest <= MAX_WEIGHT_DECADES:
        return [constraint.weight * 10.0**constraint.priority for constraint in constraints]
    return [float(10.0 ** (power * MAX_WEIGHT_DECADES / largest)) for power in powers]


@record
class Constraint(ABC):
    """A condition that must hold over an interval or at instants. Every subclass is abstract or final."""

    kind: ClassVar[str] = ""
    """The name of the kind in recipes."""
    unit: ClassVar[Unit]
    """The unit of the residuals; every kind must set it."""
    yields: ClassVar[bool] = False
    """Whether a solver may miss it by less than a viewer sees if hips would jump for it."""

    start: float = -np.inf
    """Seconds: the start of the interval."""
    end: float = np.inf
    """Seconds: the end of the interval, inclusive."""
    instants: tuple[float, ...] = ()
    """Seconds: if given, the constraint holds at these times only."""
    pauses: tuple[tuple[float, float], ...] = ()
    """Seconds: intervals, ends inclusive, in which it does not hold."""
    ease_in: float = 0.0
    """Seconds before it begins over which its point goes over to it smoothly; as quickly as it can if zero."""
    ease_out: float = 0.0
    """Seconds after it ends over which its point goes back smoothly."""
    weight: float = 1.0
    """The weight of its squared error when not all constraints can be met."""
    priority: int = 0
    """Each level weighs ten times as much as the level below. Levels that are more than five apart from zero are moved
    closer together, in their order."""
    tolerance: float = 1e-3
    """Metres or radians: the largest violation that counts as met."""
    slack: float = 0.0
    """Metres: fast shaking of a held point up to this distance from its place stays as it is."""
    soft: bool = False
    """A preference: it shapes the motion, but it is never made exact, and no other constraint gives way to it. With a
    priority below zero it moves limbs only."""
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

    @staticmethod
    def refs(*points: PointLike) -> tuple[PointRef, ...]:
        """Points with their actors; a name means a point of the first actor."""
        return tuple(PointRef(point=point) if isinstance(point, str) else point for point in points)

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

    def goal(self, view: ConstraintInput) -> Array | None:
        """(N, 3) metres, world: where its only point should be at each frame, nan along free axes. None if the
        constraint is not of that kind."""
        return None

    def chosen_axes(self) -> np.ndarray:
        """(3,) True along the axes of the world in which the solver chooses the place of its `goal`."""
        return np.zeros(3, bool)

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
        for name, seconds in (("ease_in", self.ease_in), ("ease_out", self.ease_out)):
            if not (math.isfinite(seconds) and seconds >= 0.0):
                raise OptionError(
                    f"Constraint `{self.label}`: expected `{name}` of zero or more seconds, got {seconds}"
                )
        if not (math.isfinite(self.tolerance) and self.tolerance > 0.0):
            raise OptionError(f"Constraint `{self.label}`: expected a tolerance above zero, got {self.tolerance}")

    def ends(self, frames: np.ndarray) -> np.ndarray:
        """Of the frames (n,) at which it holds, those that a solver must not leave out: the ends of intervals."""
        return frames if self.instants else frames[[0, -1]]

    @property
    def label(self) -> str:
        """The name, or the kind and the first points or joints."""
        points = [ref.point for ref in (*self.point_refs(), *self.joints())]
        names = [point if isinstance(point, str) else point.name for point in points]
        return self.name or f"{self.kind} {' '.join(names[:2])}".strip()

    def _check_vector(self, array: object, what: str) -> Array:
        """(3,) finite numbers of a field, which errors call `what`."""
        return check_vector(array, f"Constraint `{self.label}`: {what}")

    def _check_track_times(self, times: ArrayLike | None, count: int) -> Array:
        """(T,) rising seconds for T values; a single value needs no time."""
        where = f"Constraint `{self.label}`"
        if times is None and count == 1:
            out = np.zeros(1)
        elif times is None:
            raise OptionError(f"{where}: {count} values over time need their times, in seconds; got none")
        else:
            out = np.array(times, float)
        if out.shape != (count,) or not np.all(np.isfinite(out)) or np.any(np.diff(out) <= 0.0):
            shown = np.array2string(out, threshold=6)
            raise OptionError(f"{where}: expected {count} finite, rising times; got {shown}")
        out.setflags(write=False)
        return out

    def _check_values(self, values: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
        """Finite numbers of shape (T, *shape); values of shape `shape` get a time axis of length 1."""
        where = f"Constraint `{self.label}`: {what}"
        out = np.array(values, float)
        if out.shape == shape:
            out = out[None]
        if out.ndim != len(shape) + 1 or out.shape[1:] != shape or len(out) == 0:
            expected = ", ".join(str(n) for n in shape)
            raise OptionError(f"{where}: expected shape (times, {expected}) or ({expected}), got {np.shape(values)}")
        if not np.all(np.isfinite(out)):
            index = np.argwhere(~np.isfinite(out))[0].tolist()
            raise OptionError(f"{where}: expected finite numbers, got {out[tuple(index)]} at {index}")
        out.setflags(write=False)
        return out

    def _check_rotations(self, rotations: ArrayLike, shape: tuple[int, ...], what: str) -> Array:
        """Unit quaternions of shape (T, *shape, 4)."""
        out = self._check_values(rotations, (*shape, 4), what)
        worst = float(np.abs(np.sqrt(np.einsum("...i,...i->...", out, out)) - 1.0).max())
        if worst > 1e-3:
            raise OptionError(
                f"Constraint `{self.label}`: {what}: expected unit quaternions, one is off by {worst:.2g}"
            )
        if worst > 1e-12:
            out = normalize(out)
            out.setflags(write=False)
        return out

    def frames(self, times: Array) -> np.ndarray:
        """The indices of the frames at times (F,) at which it holds; an instant selects the nearest frame."""
        if self.instants:
            inside = [t for t in self.instants if times[0] - 1e-6 <= t <= times[-1] + 1e-6]
            inside = [t for t in inside if not any(start - 1e-6 <= t <= end + 1e-6 for start, end in self.pauses)]
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


def interpolate(values: Array, times: Array, at: Array) -> Array:
    """(N, ...) values (T, ...) interpolated linearly at other times (N,), constant outside the given ones."""
    if len(values) == 1:
        return np.broadcast_to(values, (len(at), *values.shape[1:]))
    first, share = _locate(times, at)
    share = share.reshape(-1, *(1,) * (values.ndim - 1))
    return (1.0 - share) * values[first] + share * values[first + 1]


def interpolate_rotations(rotations: Array, times: Array, at: Array) -> Array:
    """(N, ..., 4) rotations (T, ..., 4) at other times (N,), by slerp along the shortest way."""
    if len(rotations) == 1:
        return np.broadcast_to(rotations, (len(at), *rotations.shape[1:]))
    first, share = _locate(times, at)
    return slerp(rotations[first], rotations[first + 1], share.reshape(-1, *(1,) * (rotations.ndim - 2)))


def _locate(times: Array, at: Array) -> tuple[np.ndarray, Array]:
    """The interval (N,) of each time, and the share (N,) of the interval that has passed."""
    first = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 2)
    return first, np.clip((at - times[first]) / (times[first + 1] - times[first]), 0.0, 1.0)


MIN_SINE = 1e-4
"""Derivatives are bounded where this sine, of the angle to gimbal lock or to the opposite direction, is smaller."""


def tilt(direction: Array, centre: Array, pair: Array) -> tuple[Array, Array]:
    """The tilt of directions from a centre, as an angle towards each of two vectors perpendicular to it.

    The norm of the two angles is the angle from the centre, up to pi. The opposite direction has no unique tilt and
    counts as tilted towards the first vector.

    Args:
        direction: (N, 3) unit directions.
        centre: (3,) or (N, 3) unit.
        pair: (2, 3) or (N, 2, 3) unit vectors perpendicular to the centre and to each other.

    Returns:
        (N, 2) radians and their derivatives (N, 2, 3) by the directions.
    """
    pair, centre = np.broadcast_to(pair, (len(direction), 2, 3)), np.broadcast_to(centre, direction.shape)
    parts = np.einsum("nki,ni->nk", pair, direction)
    sine = np.sqrt(np.einsum("nk,nk->n", parts, parts))
    cosine = np.einsum("ni,ni->n", centre, direction)
    angle = np.arctan2(sine, cosine)
    towards = np.where(sine[:, None] > 1e-12, parts / np.maximum(sine, 1e-12)[:, None], [1.0, 0.0])
    away = cosine[:, None] * np.einsum("nk,nki->ni", towards, pair) - sine[:, None] * centre
    across = np.eye(2) - towards[:, :, None] * towards[:, None]
    ratio = np.where((sine < 1e-6) & (cosine > 0.0), 1.0, angle / np.maximum(sine, MIN_SINE * (cosine < 0.0) + 1e-12))
    derivatives = towards[:, :, None] * away[:, None] + ratio[:, None, None] * np.einsum("nkl,nli->nki", across, pair)
    return angle[:, None] * towards, derivatives


def swing(rotations: Array, axis: Array, reference: Array) -> tuple[Array, Array]:
    """The rotation vector of a joint's swing: its rotation without the twist about the bone axis.

    Args:
        rotations: (N, 4) rotations relative to zero swing and twist.
        axis: (3,) unit bone axis, in the joint's own frame.
        reference: (3,) unit, perpendicular to the axis: the first angle is about it, the second about axis x reference.

    Returns:
        (N, 2) radians and their derivatives (N, 2, 3) by a small rotation.
    """
    second = cross(axis, reference)
    matrices = to_matrix(rotations)
    angles, by_direction = tilt(matrices @ axis, axis, np.stack([-second, reference]))
    return angles, by_direction @ (-matrices @ skew(axis))


def twist_angles(rotations: Array, axis: Array) -> Array:
    """(N,) radians: the angles of `twist`, without derivatives."""
    return 2.0 * np.arctan2(rotations[:, 1:] @ axis, rotations[:, 0])


def twist(rotations: Array, axis: Array) -> tuple[Array, Array]:
    """(N,) radians, in (-2 pi, 2 pi]: the twist of rotations (N, 4) about a unit axis, and derivatives (N, 3)."""
    angle, by = _arctangent(rotations, np.array([0.0, *axis]), np.array([1.0, 0.0, 0.0, 0.0]))
    return 2.0 * angle, 2.0 * by


def two_angles(rotations: Array, axes: Array) -> tuple[Array, Array]:
    """(N, 2) angles about two axes (2, 3) of the nearest rotation about both, and derivatives (N, 2, 3).

    The method is that of `angles.joint_angles`: from half sums and half differences of the angles.
    """
    first, second = axes
    normal, slant = cross(first, second), float(first @ second)
    less, by_less = _arctangent(rotations, np.array([0.0, *(first - second)]), np.array([1.0 - slant, *normal]))
    more, by_more = _arctangent(rotations, np.array([0.0, *(first + second)]), np.array([1.0 + slant, *-normal]))
    return np.stack([more + less, more - less], -1), np.stack([by_more + by_less, by_more - by_less], 1)


def d_three_angles(angles: Array, axes: Array) -> Array:
    """(N, 3, 3) derivatives of angles (N, 3) about three axes (3, 3), bounded at gimbal lock.

    A small rotation is the sum of the angles' changes, each about its axis as seen after the later rotations. The
    rows of the inverse are cross products of these axes.
    """
    back_third = conjugate(from_axis_angle(axes[2], angles[:, 2]))
    back_second = conjugate(from_axis_angle(axes[1], angles[:, 1]))
    first = rotate(back_third, rotate(back_second, axes[0]))
    second = rotate(back_third, axes[1])
    third = np.broadcast_to(axes[2], first.shape)
    rows = np.stack([cross(second, third), cross(third, first), cross(first, second)], 1)
    volume = np.einsum("ni,ni->n", first, rows[:, 0])
    bounded = np.where(volume < 0.0, -1.0, 1.0) * np.maximum(np.abs(volume), MIN_SINE)
    return rows / bounded[:, None, None]


def _arctangent(rotations: Array, numerator: Array, denominator: Array) -> tuple[Array, Array]:
    """atan2 of two linear functions of quaternions, and its derivative (N, 3) by a small rotation."""
    high, low = rotations @ numerator, rotations @ denominator
    size = np.maximum(high**2 + low**2, MIN_SINE**2)
    d_quaternion = (low[:, None] * numerator - high[:, None] * denominator) / size[:, None]
    w, v = rotations[:, :1], rotations[:, 1:]
    d_rotation = 0.5 * (d_quaternion[:, 1:] * w - d_quaternion[:, :1] * v + cross(d_quaternion[:, 1:], v))
    return np.arctan2(high, low), d_rotation
