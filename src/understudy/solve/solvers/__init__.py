"""Solvers of the spacetime problem, one file each. Every module that defines `SOLVER` is registered."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from understudy.base.errors import UnknownNameError, nearest_names
from understudy.base.plugins import find_module, scan
from understudy.solve.solvers.base import Solver


@cache
def solvers() -> dict[str, type[Solver]]:
    """Every solver by its name in recipes."""
    return {solver.name: solver for _, solver in scan(__name__, "SOLVER")}


def find_solver(name: str) -> type[Solver]:
    """A solver by name, or an error that names the nearest ones."""
    # The file of a solver has its name, so that the other files need not be loaded.
    solver: type[Solver] | None = getattr(find_module(__name__, name), "SOLVER", None)
    if solver is not None and solver.name == name:
        return solver
    if name not in solvers():
        raise UnknownNameError(
            f"There is no solver `{name}`; {nearest_names(name, solvers())}", hint=f"known: {', '.join(solvers())}"
        )
    return solvers()[name]


def make_solver(name: str, options: dict[str, object], spacing: float) -> Solver:
    """A solver with its options; the key spacing in seconds is used if the solver has evenly spaced keys."""
    values: dict[str, Any] = dict(options)
    if has_keys(name):
        values.setdefault("spacing", spacing)
    return find_solver(name)(**values)


def has_keys(name: str) -> bool:
    """Whether a solver's unknowns are evenly spaced keys."""
    return any(field.name == "spacing" and field.init for field in fields(find_solver(name)))
