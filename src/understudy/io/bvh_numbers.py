"""Rows of decimal numbers in text, read many at a time.

Most numbers in a motion block look like `-12.3456`: up to seven digits, a point, up to eight digits. Those are read
with arithmetic on eight characters at once, held in one 64-bit word, for all numbers of a block together; the
result is the same double that `float` gives, since both digits and power of ten are exact in a double. All others
(exponents, more digits) go through `float` one by one. `benchmarks/bvh.py` measures it against numpy's own readers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.geometry.quaternion import Array

BLOCK = 1 << 18
"""Characters worked on at a time, so that the intermediate arrays stay in the processor's cache."""

Words = np.ndarray

_PAD = b" " * 9
_ZEROS = np.uint64(0x3030303030303030)
_HIGH = np.uint64(0x8080808080808080)
_TOO_BIG = np.uint64(0x7676767676767676)
_FIRST = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
"""By n: a mask for the first n characters of a word."""
_LAST = np.array([((1 << 64) - 1) ^ ((1 << 8 * (8 - n)) - 1) for n in range(9)], np.uint64)
"""By n: a mask for the last n characters of a word."""


@dataclass(frozen=True, kw_only=True)
class Damage:
    """The first line of a number block that cannot be used."""

    line: int
    """Counted from 0 at the start of the block."""
    row: int
    """How many whole rows came before."""
    problem: str
    extra: bool = False
    """The row is one too many, and otherwise not looked at."""


def read_rows(data: bytes, width: int, most: int, start: int = 0) -> tuple[Array, Damage | None]:
    """Rows of numbers, one a line, blank lines skipped, up to the first damage.

    Args:
        data: Text in ASCII, lines ended by a line feed.
        width: How many numbers stand in a row.
        most: How many rows there should be at most; the next one counts as damage.
        start: Where in the text the rows begin.

    Returns:
        (R, width) the whole rows, and what stopped the reading, if anything did.
    """
    # A number takes two characters at least, so what a file promises never decides how much memory is taken.
    rows = np.empty((min(most, (len(data) - start) // (2 * width) + 1), width))
    done = line = 0
    while start < len(data):
        stop = len(data) if start + BLOCK >= len(data) else data.find(b"\n", start + BLOCK) + 1
        stop = stop or len(data)
        values, counts, problem = _read_block(data[start:stop], width)
        found = len(values)
        if done + found > most:
            bad = int(np.flatnonzero(counts)[most - done])
            rows[done:most] = values[: most - done]
            return rows[:most], Damage(line=line + bad, row=most, problem="", extra=True)
        rows[done : done + found] = values
        done += found
        if problem is not None:
            bad, text = problem
            extra = done == most
            return rows[:done], Damage(line=line + bad, row=done, problem=text, extra=extra)
        line += len(counts)
        start = stop
    return rows[:done], None


def _read_block(block: bytes, width: int) -> tuple[Array, np.ndarray, tuple[int, str] | None]:
    """The whole rows of some lines, how many numbers stand in each line, and the first bad line with its fault."""
    text = _PAD + block + _PAD
    raw = np.frombuffer(text, np.uint8)
    space = raw <= 32
    edges = np.flatnonzero(space[1:] != space[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    newlines = np.flatnonzero(raw == 10)
    if not block.endswith(b"\n"):
        newlines = np.append(newlines, len(text) - 1)
    counts = np.diff(np.searchsorted(starts, newlines), prepend=0)
    problem = None
    wrong = np.flatnonzero((counts != width) & (counts != 0))
    usable = len(starts)
    if len(wrong):
        bad = int(wrong[0])
        usable = int(counts[:bad].sum())
        problem = (bad, f"has {counts[bad]} values; expected {width}, one for each channel")
        junk = _first_junk(text, starts[usable : usable + counts[bad]], ends[usable : usable + counts[bad]])
        if junk is not None:
            problem = (bad, junk)
    values, fault = _numbers(text, raw, starts[:usable], ends[:usable])
    if fault is not None:
        number, description = fault
        bad = int(np.searchsorted(np.cumsum(counts), number, side="right"))
        problem = (bad, description)
        values = values[: number // width * width]
    return values.reshape(-1, width), counts, problem


def _numbers(text: bytes, raw: np.ndarray, starts: Words, ends: Words) -> tuple[Array, tuple[int, str] | None]:
    """The numbers between starts and ends, and the first that is none, with what it is."""
    if len(starts) == 0:
        return np.empty(0), None
    first = raw[starts]
    minus = first == 45
    digits = starts + (minus | (first == 43))
    points = _points(raw, starts, ends)
    whole, part = points - digits, ends - points - 1
    slow = (whole > 7) | (part > 8) | (whole + part < 1)
    np.maximum(part, 0, out=part)
    np.minimum(part, 8, out=part)
    np.minimum(whole, 8, out=whole)
    words: Words = np.ndarray((len(text) - 7,), "<u8", text, strides=(1,))
    above = (words[points - 8] ^ _ZEROS) & _LAST[whole]
    below = (words[points + 1] ^ _ZEROS) & _FIRST[part]
    slow |= (((above + _TOO_BIG) | above | (below + _TOO_BIG) | below) & _HIGH) != 0
    values = (_eight_digits(above) * np.uint64(100_000_000) + _eight_digits(below)).astype(float)
    values /= 1e8
    np.negative(values, out=values, where=minus)
    for number in np.flatnonzero(slow).tolist():
        token = text[starts[number] : ends[number]]
        value = _one_number(token)
        if value is None:
            return values[:number], (number, _fault(token))
        values[number] = value
    return values, None


def _points(raw: np.ndarray, starts: Words, ends: Words) -> Words:
    """Where each number has its decimal point, or its end if it has none."""
    found = np.flatnonzero(raw == 46)
    if len(found) >= len(starts):
        same = found[: len(starts)]
        if np.all((starts <= same) & (same < ends)):
            return same
    points = ends.copy()
    owner = np.searchsorted(starts, found, side="right") - 1
    kept = owner < len(starts)
    # Written backwards, so that of two points in one number the first is kept and the rest fails as a digit.
    points[owner[kept][::-1]] = found[kept][::-1]
    return np.minimum(points, ends)


def _eight_digits(word: Words) -> Words:
    """The numbers written by eight digits each, first digit in the lowest byte."""
    word = (word * np.uint64(10) + (word >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    word = (word * np.uint64(100) + (word >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (word * np.uint64(10000) + (word >> np.uint64(32))) & np.uint64(0xFFFFFFFF)


def _one_number(token: bytes) -> float | None:
    """A finite number, or None."""
    try:
        value = float(token)
    except ValueError:
        return None
    return value if np.isfinite(value) and b"_" not in token else None


def _fault(token: bytes) -> str:
    shown = token[:40].decode("ascii", "backslashreplace")
    return f"`{shown}` is not a finite number"


def _first_junk(text: bytes, starts: Words, ends: Words) -> str | None:
    """What is wrong with the first of some tokens that is not a number, if one is."""
    for start, end in zip(starts.tolist(), ends.tolist()):
        token = text[start:end]
        if _one_number(token) is None:
            return _fault(token)
    return None
