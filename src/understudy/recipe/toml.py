"""Values as TOML text, numbers to the last bit."""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from understudy.constraints.base import Spot
from understudy.recipe.fields import default_of, required, settable
from understudy.skeleton import Point

WIDTH = 110
"""Columns that comments are wrapped at."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def value_text(value: Any) -> str:
    """A value as TOML writes it; dataclasses become tables of the fields that are not their defaults."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return _number(float(value))
    if isinstance(value, str):
        # JSON's strings are TOML's too, but for the one character that TOML wants escaped besides.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, np.ndarray):
        return value_text(value.tolist())
    if isinstance(value, dict):
        inside = ", ".join(f"{key_text(key)} = {value_text(each)}" for key, each in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(value_text(each) for each in value)}]"
    if callable(value):
        return value_text(f"{value.__module__}:{value.__qualname__}")
    if is_dataclass(value):
        return value_text(changed(value))
    raise TypeError(f"TOML cannot hold {value!r}")


def _number(value: float) -> str:
    if np.isinf(value):
        return "inf" if value > 0.0 else "-inf"
    # repr gives the shortest digits that read back as the same number.
    return repr(value)


def key_text(key: str) -> str:
    """A key, in quotes where TOML needs them."""
    return key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def changed(thing: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not as by default."""
    if isinstance(thing, Spot) and not isinstance(thing.point, str):
        point = {"name": thing.point.name, "joint": thing.point.joint, "offset": thing.point.offset}
        return {"point": point, **({"actor": thing.actor} if thing.actor else {})}
    if isinstance(thing, Point):
        return {"name": thing.name, "joint": thing.joint, "offset": thing.offset}
    out = {}
    for each in settable(type(thing)):
        value = getattr(thing, each.name)
        if value is None or (not required(each) and same(value, default_of(each))):
            continue
        out[each.name] = value
    return out


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, arrays included."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is not None and other is not None and np.array_equal(np.asarray(one), np.asarray(other))
    return bool(one == other)


def comment(text: str, lead: str = "# ") -> list[str]:
    """A remark as lines of comment."""
    return [(lead + line).rstrip() for line in textwrap.wrap(text, WIDTH - len(lead)) or [""]]


def entry(key: str, value: Any, note: str = "") -> list[str]:
    """A key with its value and a remark: behind it if there is room, else above."""
    line = f"{key_text(key)} = {value_text(value)}"
    if note and len(line) + len(note) + 4 <= WIDTH:
        return [f"{line}  # {note}"]
    return [*(comment(note) if note else []), line]


def example_entry(key: str, shown: str, note: str = "") -> list[str]:
    """A key that is not given, as a comment that can be made one."""
    line = f"#{key_text(key)} = {shown}"
    if note and len(line) + len(note) + 4 <= WIDTH:
        return [f"{line}  # {note}"]
    return [*(comment(note) if note else []), line]
