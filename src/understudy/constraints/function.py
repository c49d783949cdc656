"""A user-defined constraint: a plain function of points, differentiated automatically and exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from understudy.base.autodiff import derive
from understudy.base.errors import OptionError
from understudy.base.records import record
from understudy.constraints.base import Constraint, ConstraintInput, PointLike, PointRef, Relation, Residuals, Unit


@record
class Function(Constraint):
    """A function of world points is zero, or at most zero."""

    kind: ClassVar[str] = "function"
    unit: ClassVar[Unit] = Unit.METRE

    function: Callable[..., Any]
    """Takes the points (N, P, 3), metres, of all frames and returns residuals (N,) or (N, R), metres or radians. The
    residuals of a frame may depend only on the points of that frame. `autodiff` lists the numpy functions allowed."""
    points: tuple[PointLike, ...]
    """The points that the function takes."""
    bound: str = "equal"
    """`equal` to zero, or `at_most` zero."""
    timed: bool = False
    """Whether the function also takes the frames' times (N,), seconds."""
    angles: bool = False
    """Whether the residuals are in radians rather than metres."""

    def __post_init__(self) -> None:
        where = f"Constraint `{self.label}`"
        object.__setattr__(self, "points", tuple(self.points))
        object.__setattr__(self, "unit", Unit.RADIAN if self.angles else Unit.METRE)
        if not callable(self.function):
            raise OptionError(f"{where}: expected a function of points, got {type(self.function).__name__}")
        if not self.points:
            raise OptionError(f"{where}: expected at least one point, got none")
        if self.bound not in ("equal", "at_most"):
            raise OptionError(f"{where}: expected a bound, `equal` or `at_most`; got `{self.bound}`")

    @property
    def relation(self) -> Relation:
        return Relation(self.bound)

    def point_refs(self) -> tuple[PointRef, ...]:
        return self.refs(*self.points)

    def rows(self, view: ConstraintInput) -> Residuals:
        try:
            values, d_points = derive(self.function, view.points, *((view.times,) if self.timed else ()))
        except OptionError as error:
            raise OptionError(f"Constraint `{self.label}`: {error.message}", hint=error.hint) from None
        except (KeyboardInterrupt, MemoryError):
            raise
        except BaseException as error:
            # Also `SystemExit`: a function must not end a studio or a batch.
            message = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise OptionError(
                f"Constraint `{self.label}`: its function failed: {message}",
                hint="it gets the points (frames, points, 3) and returns residuals (frames,) or (frames, rows)",
            ) from error
        if not (np.all(np.isfinite(values)) and np.all(np.isfinite(d_points))):
            raise OptionError(f"Constraint `{self.label}`: its function or derivative is not finite at these points")
        return Residuals(values=values, d_points=d_points)

    @classmethod
    def example(cls, rng: np.random.Generator) -> Function:
        chosen = int(rng.integers(3))
        return cls(
            function=(_area, _bend, _wave)[chosen],
            points=(PointRef(point="upper"), PointRef(point="lower"), PointRef(point="tip", actor="second")),
            bound=str(rng.choice(["equal", "at_most"])),
            timed=chosen == 2,
        )


def _area(points: Any) -> Any:
    """The area of the triangle of three points, less 0.1."""
    return 0.5 * np.linalg.norm(np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]), axis=-1) - 0.1


def _bend(points: Any) -> Any:
    """The angle at the second of three points, and the height of the lowest."""
    one, two = points[:, 0] - points[:, 1], points[:, 2] - points[:, 1]
    angle = np.arctan2(np.linalg.norm(np.cross(one, two), axis=-1), np.einsum("ni,ni->n", one, two))
    return np.stack([angle - 1.0, 0.1 - np.min(points[..., 1], axis=1)], axis=-1)


def _wave(points: Any, times: Any) -> Any:
    """The mean of the points moves up and down."""
    return points.mean(axis=1)[:, 1] - np.sin(3.0 * times) * np.exp(-(points[:, 0, 0] ** 2))


CONSTRAINT = Function
