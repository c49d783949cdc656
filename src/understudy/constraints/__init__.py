"""Kinds of constraints, one file each; a module with a `CONSTRAINT` is found by itself."""

from __future__ import annotations

from functools import cache

from understudy.base.plugins import scan
from understudy.constraints.base import Constraint, ConstraintInput, PointRef, Relation, Residuals

__all__ = ["Constraint", "ConstraintInput", "PointRef", "Relation", "Residuals", "kinds"]


@cache
def kinds() -> dict[str, type[Constraint]]:
    """Every kind of constraint by its name in recipes."""
    return {found.kind: found for _, found in scan(__name__, "CONSTRAINT")}
