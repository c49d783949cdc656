"""Who does the clips, one file a kind; a module with an `ENGINE` is found by itself."""

from __future__ import annotations

from functools import cache

from understudy.base.errors import UnknownNameError, nearest_names
from understudy.base.plugins import scan
from understudy.batch.engines.base import Engine

__all__ = ["Engine", "engines", "find_engine"]


@cache
def engines() -> dict[str, type[Engine]]:
    """Every engine by name."""
    return {found.name: found for _, found in scan("understudy.batch.engines", "ENGINE")}


def find_engine(name: str) -> type[Engine]:
    """An engine by name, or an error that names the nearest ones."""
    if name not in engines():
        raise UnknownNameError(
            f"There is no engine `{name}`; {nearest_names(name, engines())}", hint=f"known: {', '.join(engines())}"
        )
    return engines()[name]
