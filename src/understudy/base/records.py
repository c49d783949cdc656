"""Frozen records: parts found when they are first asked for, and records made from others of their kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Self, TypeVar, overload

Record = TypeVar("Record")

Value = TypeVar("Value")


class cached(Generic[Value]):  # noqa: N801, it decorates
    """A property that is found once, as by `functools.cached_property`; that of Python 3.11 takes a lock each time,
    which a short retarget feels."""

    def __init__(self, find: Callable[[Any], Value]) -> None:
        self.find, self.__doc__ = find, find.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, record: None, owner: type) -> Self: ...
    @overload
    def __get__(self, record: object, owner: type) -> Value: ...
    def __get__(self, record: object, owner: type) -> Self | Value:
        if record is None:
            return self
        # What stands among a record's own parts is found there from now on.
        value = record.__dict__[self.name] = self.find(record)
        return value


def unchecked(like: Record, kept: Iterable[str], **parts: Any) -> Record:
    """A record with some parts of another, where it has them, and others of its own, none of them checked."""
    found = object.__new__(type(like))
    found.__dict__.update({name: like.__dict__[name] for name in kept if name in like.__dict__}, **parts)
    return found
