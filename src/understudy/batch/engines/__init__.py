"""Engines, which run the jobs of a batch: one file each; every module here that defines `ENGINE` is registered."""

from __future__ import annotations

from functools import cache

from understudy.base.errors import UnknownNameError, nearest_names
from understudy.base.plugins import scan
from understudy.batch.engines.base import Engine

__all__ = ["Engine", "engines", "find_engine"]


@cache
def engines() -> dict[str, type[Engine]]:
    """Every engine by name."""
    return {engine.name: engine for _, engine in scan("understudy.batch.engines", "ENGINE")}


def find_engine(name: str) -> type[Engine]:
    """The engine of a name; an unknown name raises an error that lists the nearest ones."""
    if name not in engines():
        raise UnknownNameError(
            f"There is no engine `{name}`; {nearest_names(name, engines())}", hint=f"known: {', '.join(engines())}"
        )
    return engines()[name]
