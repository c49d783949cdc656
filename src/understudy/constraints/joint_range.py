"""A joint stays within its range [Gleicher98, sec. 3.5, kind 1].

Ranges are either of angles about the joint's own axes (hinges, universal joints, Euler angles of a ball), or of swing
and twist: how far the bone may lean away from where it points, which way, and how far it may turn about itself. The
second has no gimbal and treats a shoulder as one thing, which limits on its single angles cannot [Vanderhyde03].
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from understudy.angles import SQUARE
from understudy.constraints.base import Constraint, Relation, Rows, Spot, View, world
from understudy.constraints.course import check_turns
from understudy.constraints.ranges import (
    beyond_cone,
    how_far_beyond_cone,
    how_far_outside,
    middle,
    near,
    outside,
    reaching,
    reaching_cone,
)
from understudy.constraints.turning import across, by_three_angles, swing, twist, twist_angles, two_angles
from understudy.errors import OptionError
from understudy.geometry.quaternion import IDENTITY, Array, conjugate, cross, from_axis_angle, multiply
from understudy.skeleton import NUM_AXES, Skeleton

GIMBAL = 1e-9
"""Sine of half an angle below which two turns about one line cannot be told apart."""


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
        axes = np.array(self.axes, float)
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
        ranges = _range(self.ranges, (len(axes), 2), f"{where}: ranges")
        if not np.any(np.isfinite(ranges)):
            raise OptionError(f"{where}: expected at least one finite limit, got none")
        self._set(axes=axes, ranges=ranges)

    def _check_swing(self, where: str) -> None:
        axis = world(self.axis, f"{where}: bone axis")
        if np.linalg.norm(axis) < 1e-12:
            raise OptionError(f"{where}: the bone axis must have a direction")
        axis = axis / np.linalg.norm(axis)
        reference = across(axis)[0] if self.reference is None else world(self.reference, f"{where}: reference")
        reference = reference - (reference @ axis) * axis
        if np.linalg.norm(reference) < 1e-6:
            raise OptionError(f"{where}: the reference must not be along the bone axis")
        values: dict[str, Any] = {"axis": axis, "reference": reference / np.linalg.norm(reference)}
        if self.swing is None and self.twist is None:
            raise OptionError(f"{where}: expected a range of swing, of twist or of both; got neither")
        if self.swing is not None:
            cone = np.array(self.swing, float)
            if cone.shape in ((), (2,)):
                half = np.broadcast_to(cone, 2)
                cone = np.stack([-half, half], -1)
            if cone.shape != (2, 2) or not np.all(np.isfinite(cone)) or np.any(cone * [-1.0, 1.0] <= 0.0):
                raise OptionError(
                    f"{where}: swing must reach to both sides of zero; expected half-angles above zero or (2, 2) "
                    f"least and greatest angles, got {np.array(self.swing).tolist()}"
                )
            values["swing"] = cone
        if self.twist is not None:
            values["twist"] = _range(self.twist, (2,), f"{where}: twist")
        self._set(**values)

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
        turns = multiply(conjugate(self.rest), view.turns[:, 0])
        if self.axes is not None and self.ranges is not None:
            values, by_turns = outside(*self.angles(turns), self.ranges)
            return Rows(values=values, by_turns=by_turns[:, :, None])
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
        if self.ranges is not None:
            turns = multiply(conjugate(self.rest), view.turns[:, 0])
            return Rows(values=how_far_outside(self._angles(turns), self.ranges))
        lean, turned = self._swing_and_twist(view.turns[:, 0])
        parts = [] if self.swing is None else [how_far_beyond_cone(lean, self.swing)]
        if self.twist is not None:
            parts.append(how_far_outside(turned, self.twist[None]))
        return Rows(values=np.concatenate(parts, 1))

    def _swing_and_twist(self, turns: Array) -> tuple[Array, Array]:
        """(N, 2) swing and (N, 1) twist, next to the middle of its range, of local rotations (N, 4)."""
        x, y, z, w = (turns @ self._upright).T
        across, along = np.hypot(x, y), np.hypot(z, w)
        angle, sine = 2.0 * np.arctan2(across, along), across * along
        # The bone is taken to (2 (xz + wy), 2 (yz - wx), cosine); turned all the way round it leans the first way.
        some = sine > 1e-12
        ratio = angle / np.where(some, sine, 1.0)
        lean = np.stack([np.where(some, (w * x - y * z) * ratio, angle), (x * z + w * y) * ratio], -1)
        return lean, near(2.0 * np.arctan2(z, w)[:, None], self._centre)

    @cached_property
    def _upright(self) -> Array:
        """(4, 4) what local rotations are multiplied by to see them from rest, as x, y, z, w, with the bone along z and
        the reference along x: quaternion products with constants are linear."""
        assert self.axis is not None
        assert self.reference is not None
        seen = multiply(conjugate(self.rest), np.eye(4))
        frame = np.stack([self.reference, cross(self.axis, self.reference), self.axis], -1)
        return np.concatenate([seen[:, 1:] @ frame, seen[:, :1]], 1)

    @cached_property
    def _centre(self) -> Array:
        return np.zeros(1) if self.twist is None else middle(self.twist[None])

    def _by_turns(self, turns: Array, angles: Array) -> Array:
        """(N, A, 3) derivatives of angles (N, A) about its axes."""
        assert self.axes is not None
        if len(self.axes) == 1:
            return twist(turns, self.axes[0])[1][:, None]
        return two_angles(turns, self.axes)[1] if len(self.axes) == 2 else by_three_angles(angles, self.axes)

    def angles(self, turns: Array) -> tuple[Array, Array]:
        """(N, A) angles about its axes of rotations (N, 4) from rest, and their derivatives (N, A, 3)."""
        angles = self._angles(turns)
        return angles, self._by_turns(turns, angles)

    def _angles(self, turns: Array) -> Array:
        """(N, A) angles about its axes of rotations (N, 4) from rest.

        Angles repeat, and a ball has two triples of them: those that break the ranges least are taken.
        """
        assert self.axes is not None
        assert self.ranges is not None
        centre = middle(self.ranges)
        if len(self.axes) == 1:
            return near(twist_angles(turns, self.axes[0])[:, None], centre)
        if len(self.axes) == 2:
            return near(two_angles(turns, self.axes)[0], centre)
        to_proper, lean = self._proper
        # Turns about a, b and a again: half their sums and differences stand apart in the quaternion.
        w, x, y, z = (turns @ to_proper).T
        outer, inner = np.hypot(y, z), np.hypot(w, x)
        total = np.where(inner > GIMBAL, 2.0 * np.arctan2(x, w), centre[0] + centre[2])
        apart = np.where(outer > GIMBAL, 2.0 * np.arctan2(z, y), centre[0] - centre[2])
        angles = near(
            np.stack([0.5 * (total + apart), 2.0 * np.arctan2(outer, inner) - lean, 0.5 * (total - apart)], -1), centre
        )
        other = near(np.stack([angles[:, 0] + np.pi, -angles[:, 1] - 2.0 * lean, angles[:, 2] + np.pi], -1), centre)
        worse = [np.maximum(each - self.ranges[:, 1], self.ranges[:, 0] - each) for each in (angles, other)]
        broken = [np.maximum(each, 0.0).sum(-1) for each in worse]
        return np.where((broken[1] < broken[0])[:, None], other, angles)

    def widened(self, turns: Array, margin: float = 0.0) -> JointRange:
        """The same, wide enough for given local rotations (F, 4) and, where it had to be widened, a margin more."""
        changes: dict[str, Any] = {}
        if self.ranges is not None:
            turned = multiply(conjugate(self.rest), turns)
            changes["ranges"] = reaching(self.ranges, self._angles(turned), margin)
        if self.axis is not None:
            lean, angles = self._swing_and_twist(turns)
        if self.twist is not None:
            changes["twist"] = reaching(self.twist[None], angles, margin)[0]
        if self.swing is not None:
            changes["swing"] = reaching_cone(self.swing, lean, margin)
        wide = all(np.array_equal(getattr(self, key), value) for key, value in changes.items())
        return self if wide else replace(self, **changes)

    @cached_property
    def _proper(self) -> tuple[Array, float]:
        """What three axes a, b, c are reduced to: (4, 4) what rotations from rest are multiplied by to see them as
        turns about a, b and a, as w and the parts along a, b and a x b; and how far c leans from a about b."""
        assert self.axes is not None
        first, second, third = self.axes
        across = cross(first, second)
        lean = float(np.arctan2(-third @ across, third @ first))
        seen = multiply(np.eye(4), from_axis_angle(second, lean))
        return np.concatenate([seen[:, :1], seen[:, 1:] @ np.stack([first, second, across], -1)], 1), lean

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


def _range(value: Any, shape: tuple[int, ...], where: str) -> Array:
    out = np.array(np.full(shape, np.nan) if value is None else value, float)
    if out.shape != shape or np.any(np.isnan(out)):
        raise OptionError(f"{where}: expected a least and a greatest angle each, shape {shape}; got {out.tolist()}")
    if np.any(out[..., 0] > out[..., 1]):
        raise OptionError(f"{where}: the least angle is above the greatest: {out.tolist()}")
    return out


CONSTRAINT = JointRange
