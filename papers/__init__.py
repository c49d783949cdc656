"""Reproductions of papers: their experiments run on samples and captures, compared with the published results.

Every module of this folder with a `PAPER` is found automatically.
"""

from __future__ import annotations

from functools import cache

from papers.base import Capture, Experiment, Findings, Fresh, Paper, Table
from understudy.base.errors import UnknownNameError, nearest_names
from understudy.base.plugins import scan

__all__ = ["Capture", "Experiment", "Findings", "Fresh", "Paper", "Table", "paper", "papers"]


@cache
def papers() -> dict[str, Paper]:
    """Every paper by name."""
    return {entry.name: entry for _, entry in scan(__name__, "PAPER")}


def paper(name: str) -> Paper:
    """A paper by name."""
    if name not in papers():
        raise UnknownNameError(f"There is no paper `{name}`; {nearest_names(name, papers())}")
    return papers()[name]
