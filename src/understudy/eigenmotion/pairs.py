"""Marker pairs given by hand, for bodies without an example motion [Analogies, sec. 5.4], and their file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy.eigenmotion.matching import Match
from understudy.errors import FileError, OptionError, UnknownNameError, nearest_names
from understudy.skeleton import Point, Skeleton


@dataclass(frozen=True, kw_only=True)
class MarkerPair:
    """A marker of B and the markers of A that it moves with, as somebody says."""

    b: str
    """A marker, joint or end of B, by name."""
    a: tuple[str, ...]
    """Markers, joints or ends of A."""
    scale: float = 1.0
    """How much B's moves for each movement of A's; below zero the opposite way."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", (self.a,) if isinstance(self.a, str) else tuple(self.a))
        if not self.a:
            raise OptionError(f"Marker `{self.b}` is paired with nothing")
        if not np.isfinite(self.scale) or self.scale == 0.0:
            raise OptionError(f"Marker `{self.b}`: expected a finite scale other than zero, got {self.scale}")


@dataclass(frozen=True, eq=False, kw_only=True)
class MarkerFile:
    """What a file of markers says; empty where it says nothing."""

    a: tuple[Point, ...] = ()
    b: tuple[Point, ...] = ()
    pairs: tuple[MarkerPair, ...] = ()


def with_named(markers: Sequence[Point], skeleton: Skeleton, names: Sequence[str]) -> tuple[Point, ...]:
    """Markers and, after them, the named joints and ends that are not among them."""
    known = {marker.name for marker in markers}
    missing = dict.fromkeys(name for name in names if name not in known)
    found = []
    for name in missing:
        try:
            found.append(skeleton.point(name))
        except UnknownNameError:
            names_known = [*known, *skeleton.names, *(end.name for end in skeleton.ends)]
            raise UnknownNameError(
                f"Marker `{name}` is neither a marker nor a joint or end of `{skeleton.name}`; "
                f"{nearest_names(name, names_known)}"
            ) from None
    return (*markers, *found)


def pair_matches(pairs: Sequence[MarkerPair], b: Sequence[Point], a: Sequence[Point]) -> list[Match]:
    """Pairs as matches between markers of B and of A, all of them counted as certain."""
    mine, theirs = ({marker.name: i for i, marker in enumerate(markers)} for markers in (b, a))
    return [
        Match(
            marker=mine[pair.b],
            partners=np.array([theirs[name] for name in pair.a], dtype=np.intp),
            scales=np.full(len(pair.a), pair.scale),
            scores=np.full(len(pair.a), np.sign(pair.scale)),
            shares=np.full(len(pair.a), 1.0 / len(pair.a)),
        )
        for pair in pairs
    ]


def read_markers(path: str | Path) -> MarkerFile:
    """Read markers and pairs from a TOML or JSON file.

    Tables `a` and `b` list markers (`name`, `joint`, and `offset` in metres in the joint's frame); `pair` lists pairs
    (`b`, a name; `a`, a name or several; `scale`).
    """
    name = str(path)
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise FileError(name, None, f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileError(name, None, "is not a text file") from None
    try:
        data = json.loads(text) if Path(path).suffix.lower() == ".json" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(name, None, f"is not well formed: {error}") from None
    if not isinstance(data, dict) or not set(data) <= {"a", "b", "pair"}:
        found = ", ".join(f"`{key}`" for key in data) if isinstance(data, dict) else "no tables"
        raise FileError(name, None, f"expected tables `a`, `b` and `pair`; got {found}")
    return MarkerFile(
        a=tuple(_point(row, name) for row in _rows(data, "a", name)),
        b=tuple(_point(row, name) for row in _rows(data, "b", name)),
        pairs=tuple(_pair(row, name) for row in _rows(data, "pair", name)),
    )


def _rows(data: Mapping[str, Any], key: str, name: str) -> list[Mapping[str, Any]]:
    rows = data.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise FileError(name, None, f"`{key}` must be a list of tables", hint=f"write each as [[{key}]]")
    return rows


def _point(row: Mapping[str, Any], name: str) -> Point:
    offset = row.get("offset", [0.0, 0.0, 0.0])
    numbers = isinstance(offset, list) and len(offset) == 3 and all(isinstance(x, int | float) for x in offset)
    if not isinstance(row.get("joint"), str) or not numbers or set(row) - {"name", "joint", "offset"}:
        raise FileError(name, None, f"expected a marker with `joint` and perhaps `name` and `offset`; got {dict(row)}")
    return Point(name=str(row.get("name", row["joint"])), joint=row["joint"], offset=np.array(offset, float))


def _pair(row: Mapping[str, Any], name: str) -> MarkerPair:
    partners = row.get("a")
    partners = [partners] if isinstance(partners, str) else partners
    good = isinstance(row.get("b"), str) and isinstance(partners, list) and all(isinstance(a, str) for a in partners)
    scale = row.get("scale", 1.0)
    if not good or not isinstance(scale, int | float) or set(row) - {"a", "b", "scale"}:
        raise FileError(name, None, f"expected a pair with `b`, `a` and perhaps `scale`; got {dict(row)}")
    return MarkerPair(b=row["b"], a=tuple(partners or ()), scale=float(scale))
