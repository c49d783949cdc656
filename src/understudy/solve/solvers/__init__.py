"""Solvers of the spacetime problem, one file each. Every module that defines `SOLVER` is registered."""

from understudy.solve.solvers.base import find_solver, has_keys, make_solver, solvers

__all__ = ["find_solver", "has_keys", "make_solver", "solvers"]
