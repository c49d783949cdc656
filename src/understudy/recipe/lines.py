"""Which line of a recipe a key is on, so that errors can point at it."""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEADER = re.compile(r"^\s*(\[\[?)\s*([A-Za-z_][\w.-]*)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*([A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')\s*(?:\.\s*[\w-]+\s*)*=""")

Place = tuple[str | int, ...]
"""Keys and numbers of entries, outermost first: ("contact", 2, "start")."""


def find_lines(text: str) -> dict[Place, int]:
    """The line, from 1, of every table and key that stands at the beginning of one."""
    found: dict[Place, int] = {}
    counts: dict[str, int] = {}
    table: Place = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header:
            name = header[2]
            table = tuple(name.split("."))
            if header[1] == "[[":
                counts[name] = counts.get(name, -1) + 1
                table = (*table, counts[name])
            found.setdefault(table, number)
            continue
        key = _KEY.match(line)
        if key:
            found.setdefault((*table, key[1].strip("\"'")), number)
    return found


def line_of(lines: dict[Place, int], place: Sequence[str | int]) -> int | None:
    """The line of a place, or of the nearest table around it."""
    for length in range(len(place), 0, -1):
        if tuple(place[:length]) in lines:
            return lines[tuple(place[:length])]
    return None
