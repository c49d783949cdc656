"""Frozen records made from others of their kind: parts that have been checked are not checked again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

Record = TypeVar("Record")


def unchecked(like: Record, kept: Iterable[str], **parts: Any) -> Record:
    """A record with some parts of another, where it has them, and others of its own, none of them checked."""
    found = object.__new__(type(like))
    found.__dict__.update({name: like.__dict__[name] for name in kept if name in like.__dict__}, **parts)
    return found
