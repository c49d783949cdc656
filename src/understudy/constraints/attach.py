"""A point stays together with a point of another actor, or with a thing that moves: dancers' hands, a carried box."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import IDENTITY, Array, normalize, rotate
from understudy.constraints.base import (
    Constraint,
    ConstraintInput,
    PointLike,
    PointRef,
    Residuals,
    Unit,
    as_refs,
    everywhere,
    world,
)
from understudy.constraints.track import check_clock, check_turns, check_values, read, read_turns


@dataclass(frozen=True, eq=False, kw_only=True)
class Attach(Constraint):
    """A point is where another actor's point is, or where a prop is held."""

    kind: ClassVar[str] = "attach"
    unit: ClassVar[Unit] = Unit.METRE

    spot: PointLike
    to: PointLike | None = None
    """The point it is attached to, mostly another actor's."""
    path: Array | None = None
    """(T, 3) metres, world: where a prop is; or (3,) for one that stays."""
    rotations: Array | None = None
    """(T, 4) or (4,) from the prop's frame to the world; not turned if not given."""
    times: Array | None = None
    """(T,) seconds of the prop's places and rotations."""
    grip: Array = field(default_factory=lambda: np.zeros(3))
    """(3,) metres, in the prop's frame: where it is held."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        if (self.to is None) == (self.path is None):
            raise OptionError(f"{where}: expected either a point to attach to or the path of a prop")
        if self.path is None:
            if self.rotations is not None or np.any(self.grip):
                raise OptionError(f"{where}: rotations and grip are a prop's, which needs a path too")
            return
        path = check_values(self.path, (3,), f"{where}: path")
        turns = check_turns(IDENTITY if self.rotations is None else self.rotations, (), f"{where}: rotations")
        count = max(len(path), len(turns))
        if len(path) not in (1, count) or len(turns) not in (1, count):
            raise OptionError(f"{where}: a prop with {len(path)} places cannot have {len(turns)} rotations")
        grip = world(self.grip, f"{where}: grip")
        clock = check_clock(self.times, count, where)
        for key, value in {"path": path, "rotations": turns, "times": clock, "grip": grip}.items():
            object.__setattr__(self, key, value)

    def point_refs(self) -> tuple[PointRef, ...]:
        return as_refs(self.spot) if self.to is None else as_refs(self.spot, self.to)

    def rows(self, view: ConstraintInput) -> Residuals:
        place = view.points[:, 0]
        d_points = everywhere(self.constant(), view)
        if self.to is not None:
            return Residuals(values=place - view.points[:, 1], d_points=d_points)
        assert self.path is not None
        assert self.rotations is not None
        assert self.times is not None
        turned = read_turns(self.rotations, self.times, view.times)
        held = read(self.path, self.times, view.times) + rotate(turned, self.grip)
        return Residuals(values=place - held, d_points=d_points)

    def constant(self) -> Array:
        signs = np.array([1.0] if self.to is None else [1.0, -1.0])
        return np.eye(3)[:, None] * signs[:, None]

    @classmethod
    def example(cls, rng: np.random.Generator) -> Attach:
        if rng.random() < 0.5:
            return cls(spot=PointRef(point="tip"), to=PointRef(point="tip", actor="second"))
        return cls(
            spot=PointRef(point="tip"),
            path=rng.normal(size=(5, 3)),
            rotations=normalize(rng.normal(size=(5, 4))),
            times=np.cumsum(rng.uniform(0.01, 0.1, 5)),
            grip=rng.normal(size=3),
        )


CONSTRAINT = Attach
