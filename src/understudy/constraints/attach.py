"""A point stays attached to a point of another actor or to a moving prop: dancers' hands, a carried box."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import IDENTITY, Array, normalize, rotate
from understudy.base.records import record, set_fields
from understudy.constraints.base import (
    Constraint,
    ConstraintInput,
    PointLike,
    PointRef,
    Residuals,
    Unit,
    interpolate,
    interpolate_rotations,
    repeat_frames,
)


@record
class Attach(Constraint):
    """A point is where another actor's point is, or where a prop is held."""

    kind: ClassVar[str] = "attach"
    unit: ClassVar[Unit] = Unit.METRE

    point: PointLike
    to: PointLike | None = None
    """The point it is attached to, usually of another actor."""
    path: Array | None = None
    """(T, 3) metres, world: the positions of a prop; (3,) if the prop stays in place."""
    rotations: Array | None = None
    """(T, 4) or (4,) rotations from the prop's frame to the world; identity if not given."""
    times: Array | None = None
    """(T,) seconds of the prop's positions and rotations."""
    grip: Array = field(default_factory=lambda: np.zeros(3))
    """(3,) metres, in the prop's frame: the point where it is held."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        if (self.to is None) == (self.path is None):
            raise OptionError(f"{where}: expected either a point to attach to or the path of a prop")
        if self.path is None:
            if self.rotations is not None or np.any(self.grip):
                raise OptionError(f"{where}: `rotations` and `grip` describe a prop, which needs a `path` too")
            return
        path = self._check_values(self.path, (3,), "path")
        rotations = self._check_rotations(IDENTITY if self.rotations is None else self.rotations, (), "rotations")
        count = max(len(path), len(rotations))
        if len(path) not in (1, count) or len(rotations) not in (1, count):
            raise OptionError(f"{where}: a prop with {len(path)} positions cannot have {len(rotations)} rotations")
        grip = self._check_vector(self.grip, "grip")
        times = self._check_track_times(self.times, count)
        set_fields(self, path=path, rotations=rotations, times=times, grip=grip)

    def point_refs(self) -> tuple[PointRef, ...]:
        return self.refs(self.point) if self.to is None else self.refs(self.point, self.to)

    def rows(self, view: ConstraintInput) -> Residuals:
        position = view.points[:, 0]
        d_points = repeat_frames(self.constant(), view)
        if self.to is not None:
            return Residuals(values=position - view.points[:, 1], d_points=d_points)
        assert self.path is not None
        assert self.rotations is not None
        assert self.times is not None
        rotations = interpolate_rotations(self.rotations, self.times, view.times)
        grip_position = interpolate(self.path, self.times, view.times) + rotate(rotations, self.grip)
        return Residuals(values=position - grip_position, d_points=d_points)

    def constant(self) -> Array:
        signs = np.array([1.0] if self.to is None else [1.0, -1.0])
        return np.eye(3)[:, None] * signs[:, None]

    @classmethod
    def example(cls, rng: np.random.Generator) -> Attach:
        if rng.random() < 0.5:
            return cls(point=PointRef(point="tip"), to=PointRef(point="tip", actor="second"))
        return cls(
            point=PointRef(point="tip"),
            path=rng.normal(size=(5, 3)),
            rotations=normalize(rng.normal(size=(5, 4))),
            times=np.cumsum(rng.uniform(0.01, 0.1, 5)),
            grip=rng.normal(size=3),
        )


CONSTRAINT = Attach
