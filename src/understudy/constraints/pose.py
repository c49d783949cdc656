"""Joints have given rotations: a pose to reach at an instant or to keep."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, conjugate, log, multiply, normalize, right_jacobian_inverse
from understudy.base.records import record
from understudy.constraints.base import (
    Constraint,
    ConstraintInput,
    PointLike,
    PointRef,
    Residuals,
    Unit,
    interpolate_rotations,
)
from understudy.figure.motion import Motion


@record
class FixedPose(Constraint):
    """Joints have given local rotations; the residuals are the rotation vectors from them."""

    kind: ClassVar[str] = "pose"
    unit: ClassVar[Unit] = Unit.RADIAN

    posed: tuple[PointLike, ...]
    """The joints."""
    rotations: Array
    """(K, 4) local rotations, or (T, K, 4) if they change over time."""
    times: Array | None = None
    """(T,) seconds of rotations that change."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        object.__setattr__(self, "posed", tuple(self.posed))
        if not self.posed:
            raise OptionError(f"{where}: expected at least one joint, got none")
        rotations = self._check_rotations(self.rotations, (len(self.posed),), "rotations")
        object.__setattr__(self, "rotations", rotations)
        if self.times is not None or len(rotations) > 1:
            object.__setattr__(self, "times", self._check_track_times(self.times, len(rotations)))

    @staticmethod
    def of(motion: Motion, joints: tuple[str, ...], actor: str = "", **options: Any) -> FixedPose:
        """The pose of some joints in a motion, at all of its times."""
        indices = [motion.skeleton.joint(name) for name in joints]
        posed = tuple(PointRef(point=name, actor=actor) for name in joints)
        return FixedPose(posed=posed, rotations=motion.rotations[:, indices], times=motion.times, **options)

    def point_refs(self) -> tuple[PointRef, ...]:
        return ()

    def joints(self) -> tuple[PointRef, ...]:
        return self.refs(*self.posed)

    def rows(self, view: ConstraintInput) -> Residuals:
        goal = interpolate_rotations(self.rotations, np.zeros(1) if self.times is None else self.times, view.times)
        error = log(multiply(conjugate(goal), view.local_rotations))
        count, joints = error.shape[:2]
        d_rotations = np.zeros((count, joints, 3, joints, 3))
        d_rotations[:, np.arange(joints), :, np.arange(joints)] = np.swapaxes(right_jacobian_inverse(error), 0, 1)
        return Residuals(
            values=error.reshape(count, 3 * joints), d_rotations=d_rotations.reshape(count, 3 * joints, joints, 3)
        )

    @classmethod
    def example(cls, rng: np.random.Generator) -> FixedPose:
        posed = (PointRef(point="upper"), PointRef(point="lower", actor="second"), PointRef(point="tip"))[
            : int(rng.integers(1, 4))
        ]
        if rng.random() < 0.5:
            return cls(posed=posed, rotations=normalize(rng.normal(size=(len(posed), 4))))
        times = np.cumsum(rng.uniform(0.01, 0.1, 3))
        return cls(posed=posed, rotations=normalize(rng.normal(size=(3, len(posed), 4))), times=times)


CONSTRAINT = FixedPose
