"""Frozen records: properties computed on first use, and fast copies without checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Self, TypeVar, overload

Record = TypeVar("Record")

Value = TypeVar("Value")


class cached(Generic[Value]):  # noqa: N801, it decorates
    """A property that is computed once, like `functools.cached_property`, but without the lock of Python 3.11, whose
    cost is noticeable in a short retarget."""

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
        # An entry in the instance's `__dict__` takes precedence over this descriptor from now on.
        value = record.__dict__[self.name] = self.find(record)
        return value


def unchecked(like: Record, kept: Iterable[str], **parts: Any) -> Record:
    """A record with the named fields of another, where it has them, and new fields; nothing is checked."""
    record = object.__new__(type(like))
    record.__dict__.update({name: like.__dict__[name] for name in kept if name in like.__dict__}, **parts)
    return record
