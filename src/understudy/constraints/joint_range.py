"""A joint stays within its range [Gleicher98, sec. 3.5, kind 1].

Ranges are either of angles about the joint's own axes (hinges, universal joints, Euler angles of a ball), or of swing
and twist: how far the bone may lean away from where it points, which way, and how far it may turn about itself. The
second has no gimbal and treats a shoulder as one thing, which limits on its single angles cannot [Vanderhyde03].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from understudy.constraints.base import Constraint, Relation, Rows, Spot, View
from understudy.constraints.course import check_turns
from understudy.constraints.limit_checks import checked_axes, checked_bone, checked_cone, checked_range, checked_ranges
from understudy.constraints.ranges import beyond_cone, middle, near, outside, reaching, reaching_cone
from understudy.constraints.reading import OneAngle, Reading, SwingTwist, ThreeAngles
from understudy.constraints.turning import across, by_three_angles, swing, twist, two_angles
from understudy.errors import OptionError
from understudy.geometry.quaternion import IDENTITY, Array, conjugate, cross, from_axis_angle, multiply
from understudy.records import remembered, unchecked
from understudy.skeleton import NUM_AXES, Skeleton

ONE, TWO, THREE, SWING = "one angle", "two angles", "three angles", "swing and twist"
"""The sorts of range."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JointRange(Constraint):
    """A joint's angles, or its swing and twist, stay within limits."""

    kind: ClassVar[str] = "joint_range"
    angular: ClassVar[bool] = True

    joint: Spot
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
            joint=Spot(point=joint, actor=actor),
            rest=skeleton.rest[number],
            axes=skeleton.axes[number, :count],
            ranges=skeleton.limits[number, :count],
            **options,
        )

    @property
    def relation(self) -> Relation:
        return Relation.AT_MOST

    def spots(self) -> tuple[Spot, ...]:
        return ()

    def joints(self) -> tuple[Spot, ...]:
        return (self.joint,)

    def rows(self, view: View) -> Rows:
        if self.axes is not None and self.ranges is not None:
            values, by_turns = outside(*self.angles(view.turns[:, 0]), self.ranges)
            return Rows(values=values, by_turns=by_turns[:, :, None])
        turns = multiply(conjugate(self.rest), view.turns[:, 0])
        assert self.axis is not None
        assert self.reference is not None
        parts = []
        if self.swing is not None:
            parts.append(beyond_cone(*swing(turns, self.axis, self.reference), self.swing))
        if self.twist is not None:
            angle, by = twist(turns, self.axis)
            ranges = self.twist[None]
            parts.append(outside(near(angle[:, None], middle(ranges)), by[:, None], ranges))
        values, by_turns = (np.concatenate(each, 1) for each in zip(*parts, strict=True))
        return Rows(values=values, by_turns=by_turns[:, :, None])

    def measure(self, view: View) -> Rows:
        return self.measure_all((self,), [view])[0]

    @classmethod
    def measure_all(cls, constraints: Sequence[JointRange], views: Sequence[View]) -> list[Rows]:
        out: list[Rows | None] = [None] * len(constraints)
        alike: dict[tuple[str, int], list[int]] = {}
        for number, (each, view) in enumerate(zip(constraints, views, strict=True)):
            alike.setdefault((each._sort, len(view.turns)), []).append(number)
        for (sort, _), mine in alike.items():
            if sort == TWO:
                for number in mine:
                    out[number] = constraints[number].rows(views[number])
                continue
            ranges = tuple(constraints[number] for number in mine)
            reading = ranges[0].reading if len(ranges) == 1 else _reading_of(ranges)
            found = reading.outside(np.array([views[number].turns[:, 0].T for number in mine]))
            for number, each, values in zip(mine, ranges, found, strict=True):
                out[number] = Rows(values=values.T if each._limited is None else values[each._limited].T)
        return [rows for rows in out if rows is not None]

    @remembered
    def _sort(self) -> str:
        return SWING if self.axes is None else (ONE, TWO, THREE)[len(self.axes) - 1]

    @remembered
    def _limited(self) -> np.ndarray | None:
        """Which rows of a reading stand for limits that are there; None if all do."""
        if self.ranges is not None:
            there = np.isfinite(self.ranges.T.ravel())
        else:
            turns = np.full(2, np.inf) if self.twist is None else self.twist
            there = np.array([self.swing is not None, *np.isfinite(turns)])
        return None if there.all() else np.flatnonzero(there)

    @remembered
    def reading(self) -> Reading:
        """How its joint alone is read."""
        return _reading_of.__wrapped__((self,))

    @remembered
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

    @remembered
    def _lean(self) -> float:
        """Radians: how far the last of three axes leans from the first about the second."""
        assert self.axes is not None
        first, second, third = self.axes
        return float(np.arctan2(-third @ cross(first, second), third @ first))

    @remembered
    def _bounds(self) -> Array:
        """(A, 2) radians: the ranges of its angles, or of its twist."""
        if self.ranges is not None:
            return self.ranges
        return np.array([[-np.inf, np.inf]]) if self.twist is None else self.twist[None]

    @remembered
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
        joint = Spot(point=str(rng.choice(["upper", "lower"])))
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
def _reading_of(ranges: tuple[JointRange, ...]) -> Reading:
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
