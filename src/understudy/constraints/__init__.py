"""The kinds of constraints, one per file. Every module here that defines `CONSTRAINT` is registered automatically."""

from __future__ import annotations

from functools import cache

from understudy.base.plugins import scan
from understudy.constraints.base import Constraint, ConstraintInput, PointRef, Relation, Residuals

__all__ = ["Constraint", "ConstraintInput", "PointRef", "Relation", "Residuals", "kinds"]


@cache
def kinds() -> dict[str, type[Constraint]]:
    """All kinds of constraints by their names in recipes."""
    return {constraint.kind: constraint for _, constraint in scan(__name__, "CONSTRAINT")}
