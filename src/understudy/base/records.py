"""Frozen records: how they are declared, properties computed on first use, and fast copies without checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import FrozenInstanceError, dataclass, field, is_dataclass
from operator import attrgetter
from typing import Any, Generic, Self, TypeVar, dataclass_transform, overload

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import SkeletonError
from understudy.base.quaternion import Array

Record = TypeVar("Record")

Value = TypeVar("Value")


@overload
def record(kind: type[Record], *, eq: bool = False) -> type[Record]: ...
@overload
def record(kind: None = None, *, eq: bool = False) -> Callable[[type[Record]], type[Record]]: ...
@dataclass_transform(frozen_default=True, eq_default=False, kw_only_default=True, field_specifiers=(field,))
def record(kind: type[Record] | None = None, *, eq: bool = False) -> Any:
    """Make a class a frozen dataclass whose fields are given by name; `eq` compares two of them by their fields.

    It is `dataclass(frozen=True, eq=eq, kw_only=True)` and costs a third of its time, which is noticeable in a short
    retarget: that compiles five methods for every class, this one only `__init__` and shares the others.
    """
    if kind is None:
        return lambda kind: record(kind, eq=eq)
    if any(is_dataclass(base) for base in kind.__mro__[1:]):
        return _with_getter(dataclass(frozen=True, eq=eq, kw_only=True)(kind))
    methods: dict[str, Callable[..., Any]] = {"__setattr__": _set_once, "__delattr__": _keep, "__repr__": _describe}
    if eq:
        methods |= {"__eq__": _is_equal, "__hash__": _hash}
    for name, method in methods.items():
        if name not in kind.__dict__ or (name == "__hash__" and kind.__dict__[name] is None):
            setattr(kind, name, method)
    made: Any = dataclass(eq=False, repr=False, kw_only=True)(kind)
    # A subclass may be a frozen dataclass in its turn.
    made.__dataclass_params__.frozen = True
    made.__dataclass_params__.eq = eq
    return _with_getter(made)


def _set_once(self: Any, name: str, value: object) -> None:
    """Set a field that has no value yet, as `__init__` does."""
    if name in self.__dict__ or name not in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    self.__dict__[name] = value


def _keep(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _describe(self: Any) -> str:
    shown = (name for name, part in self.__dataclass_fields__.items() if part.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _with_getter(made: Any) -> Any:
    """A record with a function that gets the fields to compare without a Python loop: they are compared very often."""
    names = [name for name, part in made.__dataclass_fields__.items() if part.compare]
    made.__compared_fields__ = staticmethod(attrgetter(*names) if names else lambda _: ())
    return made


def _is_equal(self: Any, other: Any) -> bool:
    if type(other) is not type(self):
        return NotImplemented
    return bool(self.__compared_fields__(self) == self.__compared_fields__(other))


def _hash(self: Any) -> int:
    return hash(self.__compared_fields__(self))


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


def set_fields(record: object, **values: Any) -> None:
    """Set fields of a frozen record, in its `__post_init__`."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


def unchecked(like: Record, kept: Iterable[str], **parts: Any) -> Record:
    """A record with the named fields of another, where it has them, and new fields; nothing is checked."""
    record = object.__new__(type(like))
    record.__dict__.update({name: like.__dict__[name] for name in kept if name in like.__dict__}, **parts)
    return record


def read_only(value: ArrayLike, shape: tuple[int, ...], what: str, *, finite: bool = True) -> Array:
    """A read-only array of a shape (-1: any length), or an error that names the array and its actual shape.

    A read-only array is returned as it is; any other is copied, so that the caller cannot change it.
    """
    array = np.asarray(value, float)
    if array.ndim != len(shape) or any(n not in (-1, m) for n, m in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("any" if n < 0 else str(n) for n in shape)
        raise SkeletonError(f"{what}: expected shape ({wanted}), got {array.shape}")
    if finite and not np.all(np.isfinite(array)):
        place = np.argwhere(~np.isfinite(array))[0].tolist()
        raise SkeletonError(f"{what}: expected finite numbers, got {array[tuple(place)]} at {place}")
    if array.flags.writeable:
        array = array.copy()
        array.setflags(write=False)
    return array


def evenly(numbers: np.ndarray) -> slice | np.ndarray:
    """Rising indices (N,) as a slice if they are evenly spaced, else unchanged."""
    gaps = np.diff(numbers)
    if len(numbers) == 0 or len(set(gaps.tolist())) > 1 or gaps.min(initial=1) < 1:
        return numbers
    step = int(gaps[0]) if len(gaps) else 1
    return slice(int(numbers[0]), int(numbers[-1]) + 1, step)


def distinct(values: np.ndarray) -> np.ndarray:
    """(D,) the distinct values of an array (N,), rising: `np.unique` without the time that its import of `numpy.ma`
    takes."""
    ordered = np.sort(values)
    return ordered[np.concatenate([np.ones(min(1, len(ordered)), bool), ordered[1:] != ordered[:-1]])]


MAX_SORTED_VALUES = 64
"""Number of values up to which a full sort is faster than a partition."""


def median(values: Array) -> Array:
    """(...) the median of values (N, ...)."""
    half, odd = len(values) // 2, len(values) % 2
    if len(values) <= MAX_SORTED_VALUES:
        ordered = np.sort(values, axis=0)
    else:
        ordered = np.partition(values, half if odd else (half - 1, half), axis=0)
    return np.asarray(ordered[half] if odd else 0.5 * (ordered[half - 1] + ordered[half]))


def percentile(values: Array, percent: float) -> Array:
    """(...) a percentile of values (N, ...), linear between values."""
    place = 0.01 * percent * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    near = np.partition(values, (low, high), axis=0)
    return np.asarray(near[low] + (place - low) * (near[high] - near[low]))


def gaussian_smoothed(values: Array, deviation: float) -> Array:
    """(N,) values smoothed by a Gaussian of a deviation in samples; beyond either end they stay as they are there.

    What `scipy.ndimage.gaussian_filter1d` gives, without the time that importing it takes.
    """
    reach = int(4.0 * deviation + 0.5)
    weights = np.exp(-0.5 / deviation**2 * np.arange(-reach, reach + 1) ** 2)
    weights = weights / weights.sum()
    padded = np.concatenate([np.full(reach, values[0]), values, np.full(reach, values[-1])])
    # In the order of that function, so that the last bit is the same too.
    out = values * weights[reach]
    for offset in range(reach, 0, -1):
        both = padded[reach - offset : len(padded) - reach - offset] + padded[reach + offset :][: len(values)]
        out = out + both * weights[reach - offset]
    return out


def widened(mask: np.ndarray, reach: int) -> np.ndarray:
    """(N,) True within so many entries of one that is True."""
    counts = np.concatenate([np.zeros(reach, int), np.cumsum(mask), np.full(reach, np.count_nonzero(mask))])
    return counts[2 * reach :] - np.concatenate([np.zeros(1, int), counts])[: len(mask)] > 0
