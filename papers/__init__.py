"""The papers, reproduced: each one's experiments run on samples and captures, beside what the paper says.

A module of this folder that ends in `PAPER = ...` is found by itself.
"""

from __future__ import annotations

from functools import cache

from papers.base import Capture, Experiment, Findings, Paper, Table
from understudy.base.errors import UnknownNameError, nearest_names
from understudy.base.plugins import scan

__all__ = ["Capture", "Experiment", "Findings", "Paper", "Table", "paper", "papers"]


@cache
def papers() -> dict[str, Paper]:
    """Every paper by name."""
    return {found.name: found for _, found in scan(__name__, "PAPER")}


def paper(name: str) -> Paper:
    """A paper by name."""
    if name not in papers():
        raise UnknownNameError(f"There is no paper `{name}`; {nearest_names(name, papers())}")
    return papers()[name]
