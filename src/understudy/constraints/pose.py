"""Joints are turned as given: a pose to be hit at a time, or kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, conjugate, log, multiply, normalize, right_jacobian_inverse
from understudy.constraints.base import Constraint, ConstraintInput, PointLike, PointRef, Residuals, Unit, as_refs
from understudy.constraints.track import check_clock, check_turns, read_turns
from understudy.figure.motion import Motion


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedPose(Constraint):
    """Joints have given local rotations; the rows are the rotation vectors that are left over."""

    kind: ClassVar[str] = "pose"
    unit: ClassVar[Unit] = Unit.RADIAN

    posed: tuple[PointLike, ...]
    """The joints."""
    rotations: Array
    """(K, 4) local rotations, or (T, K, 4) that change with time."""
    times: Array | None = None
    """(T,) seconds of rotations that change."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        object.__setattr__(self, "posed", tuple(self.posed))
        if not self.posed:
            raise OptionError(f"{where}: expected at least one joint, got none")
        turns = check_turns(self.rotations, (len(self.posed),), f"{where}: rotations")
        object.__setattr__(self, "rotations", turns)
        if self.times is not None or len(turns) > 1:
            object.__setattr__(self, "times", check_clock(self.times, len(turns), where))

    @staticmethod
    def of(motion: Motion, joints: tuple[str, ...], actor: str = "", **options: Any) -> FixedPose:
        """The rotations that a motion gives some joints, at all of its times."""
        numbers = [motion.skeleton.joint(name) for name in joints]
        posed = tuple(PointRef(point=name, actor=actor) for name in joints)
        return FixedPose(posed=posed, rotations=motion.rotations[:, numbers], times=motion.times, **options)

    def point_refs(self) -> tuple[PointRef, ...]:
        return ()

    def joints(self) -> tuple[PointRef, ...]:
        return as_refs(*self.posed)

    def rows(self, view: ConstraintInput) -> Residuals:
        goal = read_turns(self.rotations, np.zeros(1) if self.times is None else self.times, view.times)
        left = log(multiply(conjugate(goal), view.local_rotations))
        count, joints = left.shape[:2]
        d_rotations = np.zeros((count, joints, 3, joints, 3))
        d_rotations[:, np.arange(joints), :, np.arange(joints)] = np.swapaxes(right_jacobian_inverse(left), 0, 1)
        return Residuals(
            values=left.reshape(count, 3 * joints), d_rotations=d_rotations.reshape(count, 3 * joints, joints, 3)
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
