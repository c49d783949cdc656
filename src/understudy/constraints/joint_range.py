"""A joint stays within its range [Gleicher98, sec. 3.5, kind 1].

Ranges are either of angles about the joint's own axes (hinges, universal joints, Euler angles of a ball), or of swing
and twist: how far the bone may lean away from where it points, which way, and how far it may turn about itself. The
second has no gimbal and treats a shoulder as one thing, which limits on its single angles cannot [Vanderhyde03].
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import IDENTITY, Array, conjugate, cross, from_axis_angle, multiply
from understudy.base.records import cached, unchecked
from understudy.constraints.base import (
    Constraint,
    ConstraintInput,
    PointLike,
    PointRef,
    Relation,
    Residuals,
    Unit,
    as_refs,
    world,
)
from understudy.constraints.tilt import across, by_three_angles, swing, twist, two_angles
from understudy.constraints.track import check_turns
from understudy.figure.angles import SQUARE
from understudy.figure.skeleton import NUM_AXES, Skeleton

STILL = 1e-9
"""Radians below which a swing has no direction."""


def middle(ranges: Array) -> Array:
    """(A,) the angles that wrapped ones are read next to: the middle of a range, inside one that is open."""
    low, high = ranges[:, 0], ranges[:, 1]
    low_open, high_open = np.isinf(low), np.isinf(high)
    if not (low_open.any() or high_open.any()):
        return 0.5 * (low + high)
    low = np.where(low_open, np.where(high_open, 0.0, high - 3.0), low)
    return 0.5 * (low + np.where(high_open, np.where(low_open, 0.0, low + 3.0), high))


def near(angles: Array, centre: Array) -> Array:
    """Angles without whole turns, next to the middle of their range."""
    return centre + np.remainder(angles - centre + np.pi, 2.0 * np.pi) - np.pi


def outside(angles: Array, by: Array, ranges: Array) -> tuple[Array, Array]:
    """Rows for every finite limit: how far angles (N, A), with derivatives (N, A, 3), are outside."""
    low, high = np.flatnonzero(np.isfinite(ranges[:, 0])), np.flatnonzero(np.isfinite(ranges[:, 1]))
    return how_far_outside(angles, ranges), np.concatenate([-by[:, low], by[:, high]], 1)


def how_far_outside(angles: Array, ranges: Array) -> Array:
    """For every finite limit, how far angles (N, A) are outside."""
    if np.all(np.isfinite(ranges)):
        return np.concatenate([ranges[:, 0] - angles, angles - ranges[:, 1]], -1)
    low, high = np.flatnonzero(np.isfinite(ranges[:, 0])), np.flatnonzero(np.isfinite(ranges[:, 1]))
    return np.concatenate([ranges[low, 0] - angles[:, low], angles[:, high] - ranges[high, 1]], -1)


def beyond_cone(angles: Array, by: Array, cone: Array) -> tuple[Array, Array]:
    """One row: how far a swing (N, 2) leans beyond the cone, measured straight away from its middle.

    Well inside the cone next to its middle the row says how far away the nearest side is.
    """
    half, size, share, values = cone_edge(angles.T, cone[..., None])
    by_size = angles / np.where(size < STILL, 1.0, size)[:, None]
    by_share = angles / half.T**2 / share[:, None]
    gradient = by_size * (1.0 - 1.0 / share)[:, None] + (size / share**2)[:, None] * by_share
    return values[:, None], np.einsum("nk,nki->ni", gradient, by)[:, None]


def cone_edge(leans: Array, cone: Array) -> tuple[Array, Array, Array, Array]:
    """The half-angles (..., 2, N) of cones (..., 2, 2, 1) towards swings (..., 2, N), each swing's size (..., N), its
    share (..., N) of the way to the cone's edge (1 for none), and how far (..., N) it leans beyond."""
    half = np.where(leans < 0.0, -cone[..., 0, :], cone[..., 1, :])
    parts = leans / half
    size = np.hypot(leans[..., 0, :], leans[..., 1, :])
    share = np.hypot(parts[..., 0, :], parts[..., 1, :])
    still = size < STILL
    if still.any():
        share = np.where(still, 1.0, share)
        return half, size, share, size - np.where(still, np.abs(cone).min(axis=(-3, -2)), size / share)
    return half, size, share, size - size / share


def reaching(ranges: Array, angles: Array, margin: float) -> Array:
    """Ranges (A, 2) widened, where angles (F, A) leave them, to a margin beyond those."""
    low, high = angles.min(0), angles.max(0)
    below = np.where(low < ranges[:, 0], low - margin, ranges[:, 0])
    return np.stack([below, np.where(high > ranges[:, 1], high + margin, ranges[:, 1])], -1)


def reaching_cone(cone: Array, leans: Array, margin: float) -> Array:
    """A cone (2, 2) widened so that swings (F, 2) keep to it: on the side they leave by, then as a whole if need be."""
    half = np.where(leans < 0.0, -cone[:, 0], cone[:, 1])
    parts = np.abs(leans) / half
    shares = np.linalg.norm(parts, axis=-1)
    if shares.max() <= 1.0:
        return cone
    out = cone.copy()
    for way in (0, 1):
        for side in (0, 1):
            mine = (shares > 1.0) & (np.argmax(parts, -1) == way) & ((leans[:, way] >= 0.0) == bool(side))
            out[way, side] *= shares[mine].max(initial=1.0)
    half = np.where(leans < 0.0, -out[:, 0], out[:, 1])
    out *= max(1.0, float(np.linalg.norm(leans / half, axis=-1).max()))
    return np.where(out != cone, out + margin * np.array([-1.0, 1.0]), out)


GIMBAL = 1e-9
"""Sine of half an angle below which two turns about one line cannot be told apart."""

BLOCK = 1024
"""Frames worked on at a time, so that what is being computed stays in the processor's cache."""


def _in_pieces(work: Callable[[Array], Array], turns: Array) -> Array:
    """(L, A, N) what work makes of local rotations (L, 4, N)."""
    if turns.shape[2] <= BLOCK:
        return work(turns)
    starts = range(0, turns.shape[2], BLOCK)
    return np.concatenate([work(turns[..., start : start + BLOCK]) for start in starts], axis=2)


@dataclass(frozen=True, eq=False, kw_only=True)
class AngleReader(ABC):
    """Joints of one sort, and the ranges that they are to keep."""

    seen: Array
    """(L, R, 4) what each joint's local rotation is multiplied by."""
    centre: Array
    """(L, A, 1) the angles that wrapped ones are read next to."""
    low: Array
    """(L, A, 1) radians: the least of each angle."""
    high: Array
    """(L, A, 1) radians: the greatest."""

    @abstractmethod
    def angles(self, turns: Array) -> Array:
        """(L, A or more, N) radians, of local rotations (L, 4, N); those with a range come last."""

    @abstractmethod
    def beyond(self, angles: Array) -> Array:
        """(L, R, N) how far such angles are outside their limits, one row for each limit that there could be."""

    def read(self, turns: Array) -> Array:
        """What `angles` gives, a piece at a time."""
        return _in_pieces(self.angles, turns)

    def outside(self, turns: Array) -> Array:
        """(L, R, N) how far local rotations (L, 4, N) are outside their limits."""
        return _in_pieces(lambda part: self.beyond(self.angles(part)), turns)


@dataclass(frozen=True, eq=False, kw_only=True)
class OneAngle(AngleReader):
    """Joints that turn about one axis: sine and cosine of half the angle are seen."""

    def angles(self, turns: Array) -> Array:
        seen = self.seen @ turns
        return near(2.0 * np.arctan2(seen[:, :1], seen[:, 1:]), self.centre)

    def beyond(self, angles: Array) -> Array:
        return np.concatenate([self.low - angles, angles - self.high], axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class ThreeAngles(OneAngle):
    """Joints that turn about three axes a, b, c, seen as turning about a, b and a again.

    What is seen are w and the parts along a, b and a x b. Angles repeat, and a ball has two triples of them: those that
    break the ranges least are taken.
    """

    lean: Array
    """(L, 1) radians: how far c leans from a about b."""

    def angles(self, turns: Array) -> Array:
        # Half the sums and differences of the first and the last turn stand apart in the quaternion.
        w, x, y, z = (self.seen @ turns).swapaxes(0, 1)
        outer, inner = np.hypot(y, z), np.hypot(w, x)
        first, last = self.centre[:, 0], self.centre[:, 2]
        total = np.where(inner > GIMBAL, 2.0 * np.arctan2(x, w), first + last)
        apart = np.where(outer > GIMBAL, 2.0 * np.arctan2(z, y), first - last)
        angles = np.empty((len(w), 3, w.shape[1]))
        angles[:, 0] = 0.5 * (total + apart)
        angles[:, 1] = 2.0 * np.arctan2(outer, inner) - self.lean
        angles[:, 2] = 0.5 * (total - apart)
        angles = near(angles, self.centre)
        broken = self._broken(angles)
        if not broken.any():
            return angles
        other = angles + np.pi
        other[:, 1] = -angles[:, 1] - 2.0 * self.lean
        other = near(other, self.centre)
        return np.where((self._broken(other) < broken)[:, None], other, angles)

    def _broken(self, angles: Array) -> Array:
        """(L, N) radians by which angles leave their ranges, summed."""
        return np.maximum(np.maximum(angles - self.high, self.low - angles), 0.0).sum(axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class SwingTwist(AngleReader):
    """Joints whose bone leans within a cone and turns about itself: two angles of swing, and the twist, are read.

    What is seen are x, y, z and w with the bone along z and its reference along x.
    """

    cone: Array
    """(L, 2, 2, 1) radians: how far the bone may lean each way, below zero and above."""

    def angles(self, turns: Array) -> Array:
        x, y, z, w = (self.seen @ turns).swapaxes(0, 1)
        across, along = np.hypot(x, y), np.hypot(z, w)
        angle, sine = 2.0 * np.arctan2(across, along), across * along
        # The bone is taken to (2 (xz + wy), 2 (yz - wx), cosine); turned all the way round it leans the first way.
        some = sine > 1e-12
        ratio = angle / np.where(some, sine, 1.0)
        out = np.empty((len(w), 3, w.shape[1]))
        out[:, 0] = np.where(some, (w * x - y * z) * ratio, angle)
        out[:, 1] = (x * z + w * y) * ratio
        out[:, 2] = near(2.0 * np.arctan2(z, w), self.centre[:, 0])
        return out

    def beyond(self, angles: Array) -> Array:
        out = np.empty_like(angles)
        out[:, 0] = cone_edge(angles[:, :2], self.cone)[-1]
        out[:, 1:2] = self.low - angles[:, 2:]
        out[:, 2:] = angles[:, 2:] - self.high
        return out


def checked_axes(given: Any, where: str) -> Array:
    """(1, 3) to (3, 3) unit axes to turn about."""
    axes = np.array(given, float)
    if axes.ndim != 2 or axes.shape[1] != 3 or len(axes) not in (1, 2, 3) or not np.all(np.isfinite(axes)):
        raise OptionError(f"{where}: expected one to three axes of three finite numbers, got shape {axes.shape}")
    size = np.linalg.norm(axes, axis=-1, keepdims=True)
    if np.any(size < 1e-12):
        raise OptionError(f"{where}: every axis must have a direction")
    axes /= size
    if len(axes) == 3 and max(abs(axes[1] @ axes[0]), abs(axes[1] @ axes[2])) > SQUARE:
        raise OptionError(f"{where}: of three axes the second must be at right angles to both others")
    if len(axes) == 2 and abs(axes[0] @ axes[1]) > 1.0 - 1e-6:
        raise OptionError(f"{where}: two axes must not be parallel")
    return axes


def checked_ranges(given: Any, axes: int, where: str) -> Array:
    """(A, 2) radians: the ranges of angles about so many axes."""
    ranges = checked_range(given, (axes, 2), f"{where}: ranges")
    if not np.any(np.isfinite(ranges)):
        raise OptionError(f"{where}: expected at least one finite limit, got none")
    return ranges


def checked_range(given: Any, shape: tuple[int, ...], where: str) -> Array:
    """Least and greatest angles, radians."""
    out = np.array(np.full(shape, np.nan) if given is None else given, float)
    if out.shape != shape or np.any(np.isnan(out)):
        raise OptionError(f"{where}: expected a least and a greatest angle each, shape {shape}; got {out.tolist()}")
    if np.any(out[..., 0] > out[..., 1]):
        raise OptionError(f"{where}: the least angle is above the greatest: {out.tolist()}")
    return out


def checked_bone(axis: Any, reference: Any, where: str) -> tuple[Array, Array]:
    """(3,) the unit direction of a bone, and (3,) one across it: any, if none is given."""
    bone = world(axis, f"{where}: bone axis")
    size = math.sqrt(bone @ bone)
    if size < 1e-12:
        raise OptionError(f"{where}: the bone axis must have a direction")
    bone = bone / size
    if reference is None:
        return bone, across(bone)[0]
    side = world(reference, f"{where}: reference")
    side = side - (side @ bone) * bone
    size = math.sqrt(side @ side)
    if size < 1e-6:
        raise OptionError(f"{where}: the reference must not be along the bone axis")
    return bone, side / size


def checked_cone(given: Any, where: str) -> Array:
    """(2, 2) radians: a cone of swing, from one half-angle, two, or all four."""
    cone = np.array(given, float)
    if cone.shape in ((), (2,)):
        half = cone * np.ones(2)
        cone = np.array([-half, half]).T
    if cone.shape != (2, 2) or not np.all(np.isfinite(cone)) or np.any(cone * [-1.0, 1.0] <= 0.0):
        raise OptionError(
            f"{where}: swing must reach to both sides of zero; expected half-angles above zero or (2, 2) "
            f"least and greatest angles, got {np.array(given).tolist()}"
        )
    return cone


ONE, TWO, THREE, SWING = "one angle", "two angles", "three angles", "swing and twist"
"""The sorts of range."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JointRange(Constraint):
    """A joint's angles, or its swing and twist, stay within limits."""

    kind: ClassVar[str] = "joint_range"
    unit: ClassVar[Unit] = Unit.RADIAN

    joint: PointLike
    rest: Array = field(default_factory=lambda: IDENTITY)
    """(4,) the local rotation at which all angles are zero."""
    axes: Array | None = None
    """(1, 3) to (3, 3) unit axes in order of turning, if angles about them are limited."""
    ranges: Array | None = None
    """(A, 2) radians: least and greatest angle about each of the axes; infinite where there is none."""
    axis: Array | None = None
    """(3,) the bone's direction in the joint's own frame, if swing and twist are limited."""
    reference: Array | None = None
    """(3,) the direction across the bone that the first swing turns about; the second turns about bone x reference."""
    swing: Array | None = None
    """(2, 2) radians: how far the bone may lean about each of the two, below zero and above: a cone of four quarter
    ellipses. One number is a round cone, two are an ellipse's half-angles. None: any way."""
    twist: Array | None = None
    """(2,) radians: least and greatest turn about the bone. None: any."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        object.__setattr__(self, "rest", check_turns(self.rest, (), f"{where}: rest rotation")[0])
        if (self.axes is None) == (self.axis is None):
            raise OptionError(f"{where}: expected either axes (with ranges) or a bone axis (with swing or twist)")
        if self.axes is not None:
            self._check_angles(where)
        else:
            self._check_swing(where)

    def _check_angles(self, where: str) -> None:
        axes = checked_axes(self.axes, where)
        self._set(axes=axes, ranges=checked_ranges(self.ranges, len(axes), where))

    def _check_swing(self, where: str) -> None:
        axis, reference = checked_bone(self.axis, self.reference, where)
        if self.swing is None and self.twist is None:
            raise OptionError(f"{where}: expected a range of swing, of twist or of both; got neither")
        self._set(axis=axis, reference=reference)
        if self.swing is not None:
            self._set(swing=checked_cone(self.swing, where))
        if self.twist is not None:
            self._set(twist=checked_range(self.twist, (2,), f"{where}: twist"))

    def _set(self, **values: Array) -> None:
        for key, value in values.items():
            value.setflags(write=False)
            object.__setattr__(self, key, value)

    @staticmethod
    def of(skeleton: Skeleton, joint: str, actor: str = "", **options: Any) -> JointRange:
        """The range that a skeleton itself gives a joint: its axes, its rest rotation and its limits."""
        number = skeleton.joint(joint)
        count = NUM_AXES[skeleton.kinds[number]]
        if count == 0 or not np.any(np.isfinite(skeleton.limits[number, :count])):
            raise OptionError(f"Joint `{joint}` has no limits of its own", hint="human_limits gives a human body some")
        return JointRange(
            joint=PointRef(point=joint, actor=actor),
            rest=skeleton.rest[number],
            axes=skeleton.axes[number, :count],
            ranges=skeleton.limits[number, :count],
            **options,
        )

    @property
    def relation(self) -> Relation:
        return Relation.AT_MOST

    def point_refs(self) -> tuple[PointRef, ...]:
        return ()

    def joints(self) -> tuple[PointRef, ...]:
        return as_refs(self.joint)

    def rows(self, view: ConstraintInput) -> Residuals:
        if self.axes is not None and self.ranges is not None:
            values, d_rotations = outside(*self.angles(view.local_rotations[:, 0]), self.ranges)
            return Residuals(values=values, d_rotations=d_rotations[:, :, None])
        turns = multiply(conjugate(self.rest), view.local_rotations[:, 0])
        assert self.axis is not None
        assert self.reference is not None
        parts = []
        if self.swing is not None:
            parts.append(beyond_cone(*swing(turns, self.axis, self.reference), self.swing))
        if self.twist is not None:
            angle, by = twist(turns, self.axis)
            ranges = self.twist[None]
            parts.append(outside(near(angle[:, None], middle(ranges)), by[:, None], ranges))
        values, d_rotations = (np.concatenate(each, 1) for each in zip(*parts, strict=True))
        return Residuals(values=values, d_rotations=d_rotations[:, :, None])

    def measure(self, view: ConstraintInput) -> Residuals:
        return self.measure_all((self,), [view])[0]

    @classmethod
    def measure_all(cls, constraints: Sequence[JointRange], views: Sequence[ConstraintInput]) -> list[Residuals]:
        out: list[Residuals | None] = [None] * len(constraints)
        alike: dict[tuple[str, int], list[int]] = {}
        for number, (each, view) in enumerate(zip(constraints, views, strict=True)):
            alike.setdefault((each._sort, len(view.local_rotations)), []).append(number)
        for (sort, _), mine in alike.items():
            if sort == TWO:
                for number in mine:
                    out[number] = constraints[number].rows(views[number])
                continue
            ranges = tuple(constraints[number] for number in mine)
            reading = ranges[0].reading if len(ranges) == 1 else _reading_of(ranges)
            found = reading.outside(np.array([views[number].local_rotations[:, 0].T for number in mine]))
            for number, each, values in zip(mine, ranges, found, strict=True):
                out[number] = Residuals(values=values.T if each._limited is None else values[each._limited].T)
        return [rows for rows in out if rows is not None]

    @cached
    def _sort(self) -> str:
        return SWING if self.axes is None else (ONE, TWO, THREE)[len(self.axes) - 1]

    @cached
    def _limited(self) -> np.ndarray | None:
        """Which rows of a reading stand for limits that are there; None if all do."""
        if self.ranges is not None:
            there = np.isfinite(self.ranges.T.ravel())
        else:
            turns = np.full(2, np.inf) if self.twist is None else self.twist
            there = np.array([self.swing is not None, *np.isfinite(turns)])
        return None if there.all() else np.flatnonzero(there)

    @cached
    def reading(self) -> AngleReader:
        """How its joint alone is read."""
        return _reading_of.__wrapped__((self,))

    @cached
    def _seen(self) -> Array:
        """(R, 4) what a reading of its sort multiplies local rotations by."""
        from_rest = multiply(conjugate(self.rest), np.eye(4))
        if self.axes is None:
            assert self.axis is not None
            assert self.reference is not None
            frame = np.stack([self.reference, cross(self.axis, self.reference), self.axis], -1)
            return np.concatenate([from_rest[:, 1:] @ frame, from_rest[:, :1]], 1).T
        if len(self.axes) == 1:
            return np.stack([from_rest[:, 1:] @ self.axes[0], from_rest[:, 0]])
        first, second, _ = self.axes
        seen = multiply(from_rest, from_axis_angle(second, self._lean))
        frame = np.stack([first, second, cross(first, second)], -1)
        return np.concatenate([seen[:, :1], seen[:, 1:] @ frame], 1).T

    @cached
    def _lean(self) -> float:
        """Radians: how far the last of three axes leans from the first about the second."""
        assert self.axes is not None
        first, second, third = self.axes
        return float(np.arctan2(-third @ cross(first, second), third @ first))

    @cached
    def _bounds(self) -> Array:
        """(A, 2) radians: the ranges of its angles, or of its twist."""
        if self.ranges is not None:
            return self.ranges
        return np.array([[-np.inf, np.inf]]) if self.twist is None else self.twist[None]

    @cached
    def _middle(self) -> Array:
        """(A,) radians: the angles next to which it is read."""
        return middle(self._bounds)

    def _by_turns(self, turns: Array, angles: Array) -> Array:
        """(N, A, 3) derivatives of angles (N, A) about its axes."""
        assert self.axes is not None
        if len(self.axes) == 1:
            return twist(turns, self.axes[0])[1][:, None]
        return two_angles(turns, self.axes)[1] if len(self.axes) == 2 else by_three_angles(angles, self.axes)

    def angles(self, turns: Array) -> tuple[Array, Array]:
        """(N, A) angles about its axes of local rotations (N, 4), and their derivatives (N, A, 3)."""
        from_rest = multiply(conjugate(self.rest), turns)
        angles = self._angles(turns)
        return angles, self._by_turns(from_rest, angles)

    def _angles(self, turns: Array) -> Array:
        """(N, A) angles about its axes, or two of swing and one of twist, of local rotations (N, 4)."""
        if self._sort != TWO:
            return self.reading.read(turns.T[None])[0].T
        assert self.axes is not None
        from_rest = multiply(conjugate(self.rest), turns)
        return near(two_angles(from_rest, self.axes)[0], self._middle)

    def widened(self, turns: Array, margin: float = 0.0) -> JointRange:
        """The same, wide enough for given local rotations (F, 4) and, where it had to be widened, a margin more."""
        return self._reaching(self._angles(turns), margin)

    @staticmethod
    def widened_all(ranges: Sequence[JointRange], turns: Sequence[Array], margin: float = 0.0) -> list[JointRange]:
        """`widened` for several ranges, each by rotations (F, 4) of its own."""
        out = [
            each if each._sort == SWING else each.widened(by, margin) for each, by in zip(ranges, turns, strict=True)
        ]
        alike = [number for number, each in enumerate(ranges) if each._sort == SWING]
        if alike:
            reading = _reading_of(tuple(ranges[number] for number in alike))
            read = reading.read(np.array([turns[number].T for number in alike]))
            # Most are wide enough.
            narrow = reading.beyond(read).max(axis=2).max(axis=1) > 0.0
            for place in np.flatnonzero(narrow).tolist():
                out[alike[place]] = ranges[alike[place]]._reaching(read[place].T, margin)
        return out

    def _reaching(self, angles: Array, margin: float) -> JointRange:
        """The same, wide enough for angles (N, A) as `_angles` gives them."""
        changes: dict[str, Any] = {}
        if self.ranges is not None:
            changes["ranges"] = reaching(self.ranges, angles, margin)
        if self.twist is not None:
            changes["twist"] = reaching(self.twist[None], angles[:, 2:], margin)[0]
        if self.swing is not None:
            changes["swing"] = reaching_cone(self.swing, angles[:, :2], margin)
        wide = all(np.array_equal(getattr(self, key), value) for key, value in changes.items())
        if wide:
            return self
        found = unchecked(self, (*PARTS, "_sort", "_seen", "_lean"))
        found._set(**changes)
        return found

    @classmethod
    def example(cls, rng: np.random.Generator) -> JointRange:
        joint = PointRef(point=str(rng.choice(["upper", "lower"])))
        rest = from_axis_angle(across(np.array([0.0, 0.0, 1.0]))[0], rng.uniform(-1.0, 1.0))
        if rng.random() < 0.5:
            count = int(rng.integers(1, 4))
            axes = np.linalg.qr(rng.normal(size=(3, 3)))[0][:count]
            ranges = np.stack([rng.uniform(-1.0, 0.0, count), rng.uniform(0.0, 1.0, count)], -1)
            return cls(joint=joint, rest=rest, axes=axes, ranges=ranges)
        cones = (rng.uniform(0.3, 1.5, ()), rng.uniform(0.3, 1.5, 2), rng.uniform(0.3, 1.5, (2, 2)) * [-1.0, 1.0])
        return cls(
            joint=joint, rest=rest, axis=rng.normal(size=3), reference=rng.normal(size=3),
            swing=cones[rng.integers(3)], twist=np.sort(rng.uniform(-1.0, 1.0, 2)),
        )  # fmt: skip


@lru_cache(maxsize=64)
def _reading_of(ranges: tuple[JointRange, ...]) -> AngleReader:
    """How the joints of some ranges of one sort are read together."""
    bounds = np.array([each._bounds for each in ranges])
    shared = {
        "seen": np.array([each._seen for each in ranges]),
        "centre": np.array([each._middle for each in ranges])[:, :, None],
        "low": bounds[:, :, :1],
        "high": bounds[:, :, 1:],
    }
    if ranges[0]._sort == ONE:
        return OneAngle(**shared)
    if ranges[0]._sort == THREE:
        return ThreeAngles(**shared, lean=np.array([[each._lean] for each in ranges]))
    any_way = np.array([[-np.pi, np.pi]] * 2)
    cones = [any_way if each.swing is None else each.swing for each in ranges]
    return SwingTwist(**shared, cone=np.array(cones)[..., None])


PARTS = tuple(part.name for part in fields(JointRange))
"""What makes a range."""

CONSTRAINT = JointRange
