"""What differs between two sets of constraints: which stay, and at which frames the others hold."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from understudy.constraints.base import Constraint, Relation
from understudy.constraints.function import Function
from understudy.geometry.quaternion import Array

TIMING = ("start", "end", "instants", "pauses")


@dataclass(frozen=True, eq=False, kw_only=True)
class Change:
    """How new constraints differ from old ones."""

    common: tuple[int, ...]
    """Those of the new that were there before."""
    span: tuple[int, int] | None
    """The first frame at which anything differs, and the one behind the last; None if nothing does."""


def compare(old: Sequence[Constraint], new: Sequence[Constraint], times: Array) -> Change:
    """What differs between constraints on frames at given times (F,)."""
    known = {id(constraint) for constraint in old}
    left: dict[Hashable, list[Constraint]] = {}
    same = known & {id(constraint) for constraint in new}
    for constraint in old:
        if id(constraint) not in same:
            left.setdefault(signature(constraint), []).append(constraint)
    common, fresh = [], []
    for number, constraint in enumerate(new):
        if id(constraint) in same:
            common.append(number)
        elif left.get(signature(constraint)):
            left[signature(constraint)].pop()
            common.append(number)
        else:
            fresh.append(constraint)
    gone = [constraint for group in left.values() for constraint in group]
    touched = _touched(gone, fresh, times)
    frames = np.flatnonzero(touched)
    return Change(common=tuple(common), span=(int(frames[0]), int(frames[-1]) + 1) if len(frames) else None)


def _touched(gone: list[Constraint], fresh: list[Constraint], times: Array) -> np.ndarray:
    """(F,) the frames at which one of the constraints that come or go holds.

    A bound that only holds at other times than before differs only there; what has a place differs all along.
    """
    touched = np.zeros(len(times), bool)
    partners: dict[Hashable, list[Constraint]] = {}
    for constraint in gone:
        if constraint.relation is Relation.AT_MOST:
            partners.setdefault(signature(constraint, timed=False), []).append(constraint)
    for constraint in fresh:
        before = partners.get(signature(constraint, timed=False)) if constraint.relation is Relation.AT_MOST else None
        if before:
            partner = before.pop()
            gone = [each for each in gone if each is not partner]
            touched[np.setxor1d(constraint.frames(times), partner.frames(times))] = True
        else:
            touched[constraint.frames(times)] = True
    for constraint in gone:
        touched[constraint.frames(times)] = True
    return touched


def signature(constraint: Constraint, *, timed: bool = True) -> Hashable:
    """What a constraint asks for, and when; its name apart."""
    leave = ("name",) if timed else ("name", *TIMING)
    values = [_plain(getattr(constraint, each.name)) for each in fields(constraint) if each.name not in leave]
    return constraint.kind, *values


def _plain(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return tuple(_plain(each) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        return tuple(_plain(getattr(value, each.name)) for each in fields(value))
    if callable(value):
        # A function of the user's is read anew with every recipe, and is the same for all that.
        return getattr(value, "__module__", ""), getattr(value, "__qualname__", repr(value))
    found: Hashable = value
    return found


def moved_in_time(constraint: Constraint, begin: float, end: float) -> Constraint:
    """A constraint on the clock of a window from one second to another."""
    values: dict[str, Any] = {
        "start": max(constraint.start, begin) - begin,
        "end": min(constraint.end, end) - begin,
        "instants": tuple(t - begin for t in constraint.instants if begin - 1e-6 <= t <= end + 1e-6),
        "pauses": tuple((a - begin, b - begin) for a, b in constraint.pauses if b >= begin and a <= end),
    }
    if constraint.instants:
        values |= {"start": -np.inf, "end": np.inf}
    times = getattr(constraint, "times", None)
    if times is not None:
        values["times"] = times - begin
    if isinstance(constraint, Function) and constraint.timed:
        function = constraint.function
        values["function"] = lambda points, clock: function(points, clock + begin)
    return replace(constraint, **values)
