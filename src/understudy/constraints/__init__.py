"""Kinds of constraints, one file each; a module with a `CONSTRAINT` is found by itself.

Imports `base` and `figure`. The rooms from `solve` up may import it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from understudy.base.plugins import scan
from understudy.constraints.base import Constraint, ConstraintInput, PointRef, Relation, Residuals, Unit

if TYPE_CHECKING:
    from understudy.constraints.apart import Apart as Apart
    from understudy.constraints.attach import Attach as Attach
    from understudy.constraints.balance import Balance as Balance
    from understudy.constraints.direction import Direction as Direction
    from understudy.constraints.distance import Distance as Distance
    from understudy.constraints.follow import Follow as Follow
    from understudy.constraints.function import Function as Function
    from understudy.constraints.joint_range import JointRange as JointRange
    from understudy.constraints.on_line import OnLine as OnLine
    from understudy.constraints.place import Place as Place
    from understudy.constraints.pose import FixedPose as FixedPose
    from understudy.constraints.region import Region as Region
    from understudy.constraints.same_place import SamePlace as SamePlace

_KINDS = {
    "Apart": "apart",
    "Attach": "attach",
    "Balance": "balance",
    "Direction": "direction",
    "Distance": "distance",
    "FixedPose": "pose",
    "Follow": "follow",
    "Function": "function",
    "JointRange": "joint_range",
    "OnLine": "on_line",
    "Place": "place",
    "Region": "region",
    "SamePlace": "same_place",
}
"""The classes of the kinds that come with the package, and the modules that define them."""

__all__ = [
    "Apart",
    "Attach",
    "Balance",
    "Constraint",
    "ConstraintInput",
    "Direction",
    "Distance",
    "FixedPose",
    "Follow",
    "Function",
    "JointRange",
    "OnLine",
    "Place",
    "PointRef",
    "Region",
    "Relation",
    "Residuals",
    "SamePlace",
    "Unit",
    "kinds",
]


@cache
def kinds() -> dict[str, type[Constraint]]:
    """Every kind of constraint by its name in recipes."""
    return {constraint.kind: constraint for _, constraint in scan(__name__, "CONSTRAINT")}


# Only at run time: a type checker knows the names above, and no others.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Load a kind when it is first used."""
        if name not in _KINDS:
            raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
        return getattr(import_module(f"{__name__}.{_KINDS[name]}"), name)
