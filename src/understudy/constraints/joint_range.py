"""A joint stays within its range [Gleicher98, sec. 3.5, kind 1].

A range limits either the angles about the joint's own axes (hinges, universal joints, Euler angles of a ball), or swing
and twist: how far the bone may swing from its rest direction, towards each side, and how far it may twist about itself.
Swing and twist have no gimbal lock and limit a shoulder as a whole, which limits of angles cannot [Vanderhyde03].
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import field, fields
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import IDENTITY, Array, conjugate, cross, from_axis_angle, multiply, perpendicular_pair
from understudy.base.records import cached, record, unchecked
from understudy.constraints.base import (
    Constraint,
    ConstraintInput,
    PointLike,
    PointRef,
    Relation,
    Residuals,
    Unit,
    check_vector,
    d_three_angles,
    swing,
    twist,
    two_angles,
)
from understudy.figure.kinematics import MAX_SQUARE_COSINE
from understudy.figure.skeleton import NUM_AXES, Skeleton

MIN_SWING_RADIANS = 1e-9
"""Radians: a smaller swing has no direction."""


def find_centres(ranges: Array) -> Array:
    """(A,) radians: the centres around which angles are wrapped: the middle of a range, or inside an open one."""
    low, high = ranges[:, 0], ranges[:, 1]
    no_low, no_high = np.isinf(low), np.isinf(high)
    if not (no_low.any() or no_high.any()):
        return 0.5 * (low + high)
    low = np.where(no_low, np.where(no_high, 0.0, high - 3.0), low)
    return 0.5 * (low + np.where(no_high, np.where(no_low, 0.0, low + 3.0), high))


def wrap_near(angles: Array, centre: Array) -> Array:
    """Angles wrapped to within half a turn of the centres of their ranges."""
    return centre + np.remainder(angles - centre + np.pi, 2.0 * np.pi) - np.pi


def find_rows(angles: Array, d_angles: Array, ranges: Array) -> tuple[Array, Array]:
    """For every finite limit, how far angles (N, A) exceed it, and the derivatives of that; d_angles: (N, A, 3)."""
    low, high = np.flatnonzero(np.isfinite(ranges[:, 0])), np.flatnonzero(np.isfinite(ranges[:, 1]))
    return measure_excess(angles, ranges), np.concatenate([-d_angles[:, low], d_angles[:, high]], 1)


def measure_excess(angles: Array, ranges: Array) -> Array:
    """For every finite limit, how far angles (N, A) exceed it."""
    if np.all(np.isfinite(ranges)):
        return np.concatenate([ranges[:, 0] - angles, angles - ranges[:, 1]], -1)
    low, high = np.flatnonzero(np.isfinite(ranges[:, 0])), np.flatnonzero(np.isfinite(ranges[:, 1]))
    return np.concatenate([ranges[low, 0] - angles[:, low], angles[:, high] - ranges[high, 1]], -1)


def find_cone_row(angles: Array, d_angles: Array, cone: Array) -> tuple[Array, Array]:
    """One row: how far a swing (N, 2) is beyond the cone, measured radially from its centre, and its derivatives.

    At the centre of the cone the row is the negative distance to the nearest side.
    """
    half, size, ratio, values = measure_cone(angles.T, cone[..., None])
    d_size = angles / np.where(size < MIN_SWING_RADIANS, 1.0, size)[:, None]
    d_ratio = angles / half.T**2 / ratio[:, None]
    gradient = d_size * (1.0 - 1.0 / ratio)[:, None] + (size / ratio**2)[:, None] * d_ratio
    return values[:, None], np.einsum("nk,nki->ni", gradient, d_angles)[:, None]


def measure_cone(swings: Array, cone: Array) -> tuple[Array, Array, Array, Array]:
    """For swings (..., 2, N) and cones (..., 2, 2, 1): the half-angles (..., 2, N) on the sides of the swings, their
    sizes (..., N), their ratios (..., N) to the cone's edge (1 for no swing), and their excess (..., N)."""
    half = np.where(swings < 0.0, -cone[..., 0, :], cone[..., 1, :])
    parts = swings / half
    size = np.hypot(swings[..., 0, :], swings[..., 1, :])
    ratio = np.hypot(parts[..., 0, :], parts[..., 1, :])
    still = size < MIN_SWING_RADIANS
    if still.any():
        ratio = np.where(still, 1.0, ratio)
        return half, size, ratio, size - np.where(still, np.abs(cone).min(axis=(-3, -2)), size / ratio)
    return half, size, ratio, size - size / ratio


def widen_ranges(ranges: Array, angles: Array, margin: float) -> Array:
    """Ranges (A, 2) widened where angles (F, A) leave them, to include the angles and a margin."""
    low, high = angles.min(0), angles.max(0)
    below = np.where(low < ranges[:, 0], low - margin, ranges[:, 0])
    return np.stack([below, np.where(high > ranges[:, 1], high + margin, ranges[:, 1])], -1)


def widen_cone(cone: Array, swings: Array, margin: float) -> Array:
    """A cone (2, 2) widened to contain swings (F, 2): on the sides where they leave it, then as a whole if needed."""
    half = np.where(swings < 0.0, -cone[:, 0], cone[:, 1])
    parts = np.abs(swings) / half
    ratios = np.linalg.norm(parts, axis=-1)
    if ratios.max() <= 1.0:
        return cone
    out = cone.copy()
    for angle in (0, 1):
        for side in (0, 1):
            leaving = (ratios > 1.0) & (np.argmax(parts, -1) == angle) & ((swings[:, angle] >= 0.0) == bool(side))
            out[angle, side] *= ratios[leaving].max(initial=1.0)
    half = np.where(swings < 0.0, -out[:, 0], out[:, 1])
    out *= max(1.0, float(np.linalg.norm(swings / half, axis=-1).max()))
    return np.where(out != cone, out + margin * np.array([-1.0, 1.0]), out)


MIN_GIMBAL_SINE = 1e-9
"""Sine of half an angle: below it two rotations about one line cannot be separated."""

FRAMES_PER_BLOCK = 1024
"""Frames processed at a time, so that intermediate arrays stay in the processor's cache."""


def _apply_in_blocks(function: Callable[[Array], Array], rotations: Array) -> Array:
    """(L, A, N) the results of a function of local rotations (L, 4, N), computed block by block."""
    if rotations.shape[2] <= FRAMES_PER_BLOCK:
        return function(rotations)
    starts = range(0, rotations.shape[2], FRAMES_PER_BLOCK)
    return np.concatenate([function(rotations[..., start : start + FRAMES_PER_BLOCK]) for start in starts], axis=2)


@record
class AngleReader(ABC):
    """The angles of joints with the same type of range, and their limits."""

    matrix: Array
    """(L, R, 4) the matrix that each joint's local rotation is multiplied by."""
    centre: Array
    """(L, A, 1) radians: the angles around which angles are wrapped."""
    low: Array
    """(L, A, 1) radians: the lower limits."""
    high: Array
    """(L, A, 1) radians: the upper limits."""

    @abstractmethod
    def angles(self, rotations: Array) -> Array:
        """(L, A or more, N) radians: the angles of local rotations (L, 4, N); those with `low` and `high` come last."""

    @abstractmethod
    def excess_of(self, angles: Array) -> Array:
        """(L, R, N) how far angles exceed their limits, with one row for every possible limit."""

    def read(self, rotations: Array) -> Array:
        """The result of `angles`, computed block by block."""
        return _apply_in_blocks(self.angles, rotations)

    def excess(self, rotations: Array) -> Array:
        """(L, R, N) how far local rotations (L, 4, N) exceed their limits."""
        return _apply_in_blocks(lambda part: self.excess_of(self.angles(part)), rotations)


@record
class OneAngle(AngleReader):
    """Joints with one axis. The matrix gives sine and cosine of half the angle."""

    def angles(self, rotations: Array) -> Array:
        sine_cosine = self.matrix @ rotations
        return wrap_near(2.0 * np.arctan2(sine_cosine[:, :1], sine_cosine[:, 1:]), self.centre)

    def excess_of(self, angles: Array) -> Array:
        return np.concatenate([self.low - angles, angles - self.high], axis=1)


@record
class ThreeAngles(OneAngle):
    """Joints with three axes a, b, c, treated as rotations about a, b and a again.

    The matrix gives w and the parts along a, b and a x b. Every rotation has two triples of angles: the one that
    violates the ranges less is taken.
    """

    lean: Array
    """(L, 1) radians: the angle from a to c about b."""

    def angles(self, rotations: Array) -> Array:
        # The quaternion separates half the sum and half the difference of the first and last angle.
        w, x, y, z = (self.matrix @ rotations).swapaxes(0, 1)
        outer, inner = np.hypot(y, z), np.hypot(w, x)
        first, last = self.centre[:, 0], self.centre[:, 2]
        total = np.where(inner > MIN_GIMBAL_SINE, 2.0 * np.arctan2(x, w), first + last)
        apart = np.where(outer > MIN_GIMBAL_SINE, 2.0 * np.arctan2(z, y), first - last)
        angles = np.empty((len(w), 3, w.shape[1]))
        angles[:, 0] = 0.5 * (total + apart)
        angles[:, 1] = 2.0 * np.arctan2(outer, inner) - self.lean
        angles[:, 2] = 0.5 * (total - apart)
        angles = wrap_near(angles, self.centre)
        excess = self._total_excess(angles)
        if not excess.any():
            return angles
        other = angles + np.pi
        other[:, 1] = -angles[:, 1] - 2.0 * self.lean
        other = wrap_near(other, self.centre)
        return np.where((self._total_excess(other) < excess)[:, None], other, angles)

    def _total_excess(self, angles: Array) -> Array:
        """(L, N) radians: the sum of how far angles exceed their ranges."""
        return np.maximum(np.maximum(angles - self.high, self.low - angles), 0.0).sum(axis=1)


@record
class SwingTwist(AngleReader):
    """Joints whose bone swings within a cone and twists about itself: two angles of swing, then the twist.

    The matrix gives x, y, z and w with the bone along z and its reference along x.
    """

    cone: Array
    """(L, 2, 2, 1) radians: the limits of the two swing angles, below and above zero."""

    def angles(self, rotations: Array) -> Array:
        x, y, z, w = (self.matrix @ rotations).swapaxes(0, 1)
        across, along = np.hypot(x, y), np.hypot(z, w)
        angle, sine = 2.0 * np.arctan2(across, along), across * along
        # The bone moves to (2 (xz + wy), 2 (yz - wx), cosine); at half a turn the swing is about the first axis.
        has_direction = sine > 1e-12
        ratio = angle / np.where(has_direction, sine, 1.0)
        out = np.empty((len(w), 3, w.shape[1]))
        out[:, 0] = np.where(has_direction, (w * x - y * z) * ratio, angle)
        out[:, 1] = (x * z + w * y) * ratio
        out[:, 2] = wrap_near(2.0 * np.arctan2(z, w), self.centre[:, 0])
        return out

    def excess_of(self, angles: Array) -> Array:
        out = np.empty_like(angles)
        out[:, 0] = measure_cone(angles[:, :2], self.cone)[-1]
        out[:, 1:2] = self.low - angles[:, 2:]
        out[:, 2:] = angles[:, 2:] - self.high
        return out


def check_axes(values: Any, where: str) -> Array:
    """(1, 3) to (3, 3) unit rotation axes."""
    axes = np.array(values, float)
    if axes.ndim != 2 or axes.shape[1] != 3 or len(axes) not in (1, 2, 3) or not np.all(np.isfinite(axes)):
        raise OptionError(f"{where}: expected one to three axes of three finite numbers, got shape {axes.shape}")
    size = np.linalg.norm(axes, axis=-1, keepdims=True)
    if np.any(size < 1e-12):
        raise OptionError(f"{where}: every axis must have a direction")
    axes /= size
    if len(axes) == 3 and max(abs(axes[1] @ axes[0]), abs(axes[1] @ axes[2])) > MAX_SQUARE_COSINE:
        raise OptionError(f"{where}: of three axes the second must be at right angles to both others")
    if len(axes) == 2 and abs(axes[0] @ axes[1]) > 1.0 - 1e-6:
        raise OptionError(f"{where}: two axes must not be parallel")
    return axes


def check_ranges(values: Any, axes: int, where: str) -> Array:
    """(A, 2) radians: the ranges of the angles about `axes` axes."""
    ranges = check_range(values, (axes, 2), f"{where}: ranges")
    if not np.any(np.isfinite(ranges)):
        raise OptionError(f"{where}: expected at least one finite limit, got none")
    return ranges


def check_range(values: Any, shape: tuple[int, ...], where: str) -> Array:
    """Lower and upper limits of angles, radians."""
    out = np.array(np.full(shape, np.nan) if values is None else values, float)
    if out.shape != shape or np.any(np.isnan(out)):
        raise OptionError(f"{where}: expected a least and a greatest angle, shape {shape}; got {out.tolist()}")
    if np.any(out[..., 0] > out[..., 1]):
        raise OptionError(f"{where}: the least angle is above the greatest: {out.tolist()}")
    return out


def check_bone(axis: Any, reference: Any, where: str) -> tuple[Array, Array]:
    """(3,) the unit direction of a bone, and (3,) a unit vector perpendicular to it: any, if no reference is given."""
    bone = check_vector(axis, f"{where}: bone axis")
    size = math.sqrt(bone @ bone)
    if size < 1e-12:
        raise OptionError(f"{where}: the bone axis must have a direction")
    bone = bone / size
    if reference is None:
        return bone, perpendicular_pair(bone)[0]
    side = check_vector(reference, f"{where}: reference")
    side = side - (side @ bone) * bone
    size = math.sqrt(side @ side)
    if size < 1e-6:
        raise OptionError(f"{where}: the reference must not be along the bone axis")
    return bone, side / size


def check_cone(values: Any, where: str) -> Array:
    """(2, 2) radians: a swing cone from one, two or four half-angles."""
    cone = np.array(values, float)
    if cone.shape in ((), (2,)):
        half = cone * np.ones(2)
        cone = np.array([-half, half]).T
    if cone.shape != (2, 2) or not np.all(np.isfinite(cone)) or np.any(cone * [-1.0, 1.0] <= 0.0):
        raise OptionError(
            f"{where}: swing must reach to both sides of zero; expected half-angles above zero or (2, 2) "
            f"least and greatest angles, got {np.array(values).tolist()}"
        )
    return cone


ONE_ANGLE, TWO_ANGLES, THREE_ANGLES, SWING_AND_TWIST = "one angle", "two angles", "three angles", "swing and twist"
"""The types of range."""


@record
class JointRange(Constraint):
    """A joint's angles, or its swing and twist, stay within limits."""

    kind: ClassVar[str] = "joint_range"
    unit: ClassVar[Unit] = Unit.RADIAN
    yields: ClassVar[bool] = True

    joint: PointLike
    rest: Array = field(default_factory=lambda: IDENTITY)
    """(4,) the local rotation at which all angles are zero."""
    axes: Array | None = None
    """(1, 3) to (3, 3) unit axes in the order of rotation, if angles about them are limited."""
    ranges: Array | None = None
    """(A, 2) radians: lower and upper limit of the angle about each axis; infinite for no limit."""
    axis: Array | None = None
    """(3,) the bone's direction in the joint's own frame, if swing and twist are limited."""
    reference: Array | None = None
    """(3,) perpendicular to the bone: the first swing angle is about it, the second about bone x reference."""
    swing: Array | None = None
    """(2, 2) radians: the limits of the two swing angles, below and above zero: a cone of four quarter ellipses. One
    number is a round cone, two are the half-angles of an ellipse. None: no limit."""
    twist: Array | None = None
    """(2,) radians: lower and upper limit of the twist about the bone. None: no limit."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        object.__setattr__(self, "rest", self._check_rotations(self.rest, (), "rest rotation")[0])
        if (self.axes is None) == (self.axis is None):
            raise OptionError(f"{where}: expected either axes (with ranges) or a bone axis (with swing or twist)")
        if self.axes is not None:
            self._check_angles(where)
        else:
            self._check_swing(where)

    def _check_angles(self, where: str) -> None:
        axes = check_axes(self.axes, where)
        self._set(axes=axes, ranges=check_ranges(self.ranges, len(axes), where))

    def _check_swing(self, where: str) -> None:
        axis, reference = check_bone(self.axis, self.reference, where)
        if self.swing is None and self.twist is None:
            raise OptionError(f"{where}: expected a range of swing, of twist or of both; got neither")
        self._set(axis=axis, reference=reference)
        if self.swing is not None:
            self._set(swing=check_cone(self.swing, where))
        if self.twist is not None:
            self._set(twist=check_range(self.twist, (2,), f"{where}: twist"))

    def _set(self, **values: Array) -> None:
        for key, value in values.items():
            value.setflags(write=False)
            object.__setattr__(self, key, value)

    @staticmethod
    def of(skeleton: Skeleton, joint: str, actor: str = "", **options: Any) -> JointRange:
        """The range of a joint in its skeleton: from its axes, rest rotation and limits."""
        index = skeleton.joint(joint)
        count = NUM_AXES[skeleton.kinds[index]]
        if count == 0 or not np.any(np.isfinite(skeleton.limits[index, :count])):
            raise OptionError(f"Joint `{joint}` has no limits of its own", hint="use `human_limits` for a human body")
        return JointRange(
            joint=PointRef(point=joint, actor=actor),
            rest=skeleton.rest[index],
            axes=skeleton.axes[index, :count],
            ranges=skeleton.limits[index, :count],
            **options,
        )

    @property
    def relation(self) -> Relation:
        return Relation.AT_MOST

    def point_refs(self) -> tuple[PointRef, ...]:
        return ()

    def joints(self) -> tuple[PointRef, ...]:
        return self.refs(self.joint)

    def rows(self, view: ConstraintInput) -> Residuals:
        if self.axes is not None and self.ranges is not None:
            values, d_rotations = find_rows(*self.angles(view.local_rotations[:, 0]), self.ranges)
            return Residuals(values=values, d_rotations=d_rotations[:, :, None])
        rotations = multiply(conjugate(self.rest), view.local_rotations[:, 0])
        assert self.axis is not None
        assert self.reference is not None
        parts = []
        if self.swing is not None:
            parts.append(find_cone_row(*swing(rotations, self.axis, self.reference), self.swing))
        if self.twist is not None:
            angle, d_angle = twist(rotations, self.axis)
            ranges = self.twist[None]
            parts.append(find_rows(wrap_near(angle[:, None], find_centres(ranges)), d_angle[:, None], ranges))
        values, d_rotations = (np.concatenate(pair, 1) for pair in zip(*parts, strict=True))
        return Residuals(values=values, d_rotations=d_rotations[:, :, None])

    def measure(self, view: ConstraintInput) -> Residuals:
        return self.measure_all((self,), [view])[0]

    @classmethod
    def measure_all(cls, constraints: Sequence[JointRange], views: Sequence[ConstraintInput]) -> list[Residuals]:
        out: list[Residuals | None] = [None] * len(constraints)
        groups: dict[tuple[str, int], list[int]] = {}
        for number, (constraint, view) in enumerate(zip(constraints, views, strict=True)):
            groups.setdefault((constraint._type, len(view.local_rotations)), []).append(number)
        for (range_type, _), numbers in groups.items():
            if range_type == TWO_ANGLES:
                for number in numbers:
                    out[number] = constraints[number].rows(views[number])
                continue
            ranges = tuple(constraints[number] for number in numbers)
            reader = ranges[0].reader if len(ranges) == 1 else _make_reader(ranges)
            excesses = reader.excess(np.array([views[number].local_rotations[:, 0].T for number in numbers]))
            for number, constraint, values in zip(numbers, ranges, excesses, strict=True):
                rows = constraint._limit_rows
                out[number] = Residuals(values=values.T if rows is None else values[rows].T)
        return [residuals for residuals in out if residuals is not None]

    @cached
    def _type(self) -> str:
        return SWING_AND_TWIST if self.axes is None else (ONE_ANGLE, TWO_ANGLES, THREE_ANGLES)[len(self.axes) - 1]

    @cached
    def _limit_rows(self) -> np.ndarray | None:
        """The rows of a reader that belong to existing limits; None for all rows."""
        if self.ranges is not None:
            exists = np.isfinite(self.ranges.T.ravel())
        else:
            limits = np.full(2, np.inf) if self.twist is None else self.twist
            exists = np.array([self.swing is not None, *np.isfinite(limits)])
        return None if exists.all() else np.flatnonzero(exists)

    @cached
    def reader(self) -> AngleReader:
        """The reader of this joint alone."""
        return _make_reader.__wrapped__((self,))

    @cached
    def _matrix(self) -> Array:
        """(R, 4) the matrix that the reader multiplies local rotations by."""
        from_rest = multiply(conjugate(self.rest), np.eye(4))
        if self.axes is None:
            assert self.axis is not None
            assert self.reference is not None
            frame = np.stack([self.reference, cross(self.axis, self.reference), self.axis], -1)
            return np.concatenate([from_rest[:, 1:] @ frame, from_rest[:, :1]], 1).T
        if len(self.axes) == 1:
            return np.stack([from_rest[:, 1:] @ self.axes[0], from_rest[:, 0]])
        first, second, _ = self.axes
        from_second = multiply(from_rest, from_axis_angle(second, self._lean))
        frame = np.stack([first, second, cross(first, second)], -1)
        return np.concatenate([from_second[:, :1], from_second[:, 1:] @ frame], 1).T

    @cached
    def _lean(self) -> float:
        """Radians: the angle from the first of three axes to the last, about the second."""
        assert self.axes is not None
        first, second, third = self.axes
        return float(np.arctan2(-third @ cross(first, second), third @ first))

    @cached
    def _bounds(self) -> Array:
        """(A, 2) radians: the limits of its angles or of its twist."""
        if self.ranges is not None:
            return self.ranges
        return np.array([[-np.inf, np.inf]]) if self.twist is None else self.twist[None]

    @cached
    def _centres(self) -> Array:
        """(A,) radians: the angles around which its angles are wrapped."""
        return find_centres(self._bounds)

    def _d_angles(self, rotations: Array, angles: Array) -> Array:
        """(N, A, 3) derivatives of angles (N, A) about its axes."""
        assert self.axes is not None
        if len(self.axes) == 1:
            return twist(rotations, self.axes[0])[1][:, None]
        return two_angles(rotations, self.axes)[1] if len(self.axes) == 2 else d_three_angles(angles, self.axes)

    def angles(self, rotations: Array) -> tuple[Array, Array]:
        """(N, A) angles about its axes of local rotations (N, 4), and their derivatives (N, A, 3)."""
        from_rest = multiply(conjugate(self.rest), rotations)
        angles = self._angles(rotations)
        return angles, self._d_angles(from_rest, angles)

    def _angles(self, rotations: Array) -> Array:
        """(N, A) angles of local rotations (N, 4): about its axes, or two of swing and one of twist."""
        if self._type != TWO_ANGLES:
            return self.reader.read(rotations.T[None])[0].T
        assert self.axes is not None
        from_rest = multiply(conjugate(self.rest), rotations)
        return wrap_near(two_angles(from_rest, self.axes)[0], self._centres)

    def widened(self, rotations: Array, margin: float = 0.0) -> JointRange:
        """The range widened to contain local rotations (F, 4); widened limits get an additional margin, radians."""
        return self._widened_to(self._angles(rotations), margin)

    @staticmethod
    def widened_all(ranges: Sequence[JointRange], rotations: Sequence[Array], margin: float = 0.0) -> list[JointRange]:
        """`widened` for several ranges, each with its own rotations (F, 4)."""
        out = [
            one if one._type == SWING_AND_TWIST else one.widened(of_joint, margin)
            for one, of_joint in zip(ranges, rotations, strict=True)
        ]
        swings = [number for number, one in enumerate(ranges) if one._type == SWING_AND_TWIST]
        if swings:
            reader = _make_reader(tuple(ranges[number] for number in swings))
            angles = reader.read(np.array([rotations[number].T for number in swings]))
            # Most ranges are wide enough already.
            narrow = reader.excess_of(angles).max(axis=2).max(axis=1) > 0.0
            for index in np.flatnonzero(narrow).tolist():
                out[swings[index]] = ranges[swings[index]]._widened_to(angles[index].T, margin)
        return out

    def _widened_to(self, angles: Array, margin: float) -> JointRange:
        """The range widened to contain angles (N, A) as returned by `_angles`."""
        changes: dict[str, Any] = {}
        if self.ranges is not None:
            changes["ranges"] = widen_ranges(self.ranges, angles, margin)
        if self.twist is not None:
            changes["twist"] = widen_ranges(self.twist[None], angles[:, 2:], margin)[0]
        if self.swing is not None:
            changes["swing"] = widen_cone(self.swing, angles[:, :2], margin)
        unchanged = all(np.array_equal(getattr(self, key), value) for key, value in changes.items())
        if unchanged:
            return self
        widened = unchecked(self, (*FIELD_NAMES, "_type", "_matrix", "_lean"))
        widened._set(**changes)
        return widened

    @classmethod
    def example(cls, rng: np.random.Generator) -> JointRange:
        joint = PointRef(point=str(rng.choice(["upper", "lower"])))
        rest = from_axis_angle(perpendicular_pair(np.array([0.0, 0.0, 1.0]))[0], rng.uniform(-1.0, 1.0))
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
def _make_reader(ranges: tuple[JointRange, ...]) -> AngleReader:
    """One reader for the joints of several ranges of one type."""
    bounds = np.array([one._bounds for one in ranges])
    shared = {
        "matrix": np.array([one._matrix for one in ranges]),
        "centre": np.array([one._centres for one in ranges])[:, :, None],
        "low": bounds[:, :, :1],
        "high": bounds[:, :, 1:],
    }
    if ranges[0]._type == ONE_ANGLE:
        return OneAngle(**shared)
    if ranges[0]._type == THREE_ANGLES:
        return ThreeAngles(**shared, lean=np.array([[one._lean] for one in ranges]))
    no_limit = np.array([[-np.pi, np.pi]] * 2)
    cones = [no_limit if one.swing is None else one.swing for one in ranges]
    return SwingTwist(**shared, cone=np.array(cones)[..., None])


FIELD_NAMES = tuple(part.name for part in fields(JointRange))
"""The fields of a range."""

CONSTRAINT = JointRange
