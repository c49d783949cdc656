"""TOML text: reading files, writing values without loss of digits, and the lines of keys in a text."""

from __future__ import annotations

import json
import re
import textwrap
import tomllib
from collections.abc import Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy.base.errors import FileError
from understudy.base.fields import default_of, required, settable
from understudy.base.files import open_to_read, open_to_write

_HEADER = re.compile(r"^\s*(\[\[?)\s*([A-Za-z_][\w.-]*)\s*\]\]?\s*(?:#.*)?$")

_KEY = re.compile(r"""^\s*([A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')\s*(?:\.\s*[\w-]+\s*)*=""")

MAX_TOML_BYTES = 64 << 20
"""A file of settings that is larger is refused."""

MAX_DEPTH = 100
"""Tables or lists in each other; recipes have up to five."""

_DEEP = re.compile(rf"(?:[\[{{]\s*+){{{MAX_DEPTH}}}|(?<![\w\"'.-])(?:[\w\"'-]++\s*+\.\s*+){{{MAX_DEPTH}}}")

Place = tuple[str | int, ...]
"""Keys and entry numbers, outermost first: ("contact", 2, "start")."""


def read_toml(path: str | Path, *, hint: str = "") -> tuple[dict[str, Any], dict[Place, int]]:
    """The tables of a file and the lines of its keys; an error names its line and has the given hint."""
    with open_to_read(path) as stream:
        data = stream.read()
    if len(data) > MAX_TOML_BYTES:
        raise FileError(str(path), None, f"has more than {MAX_TOML_BYTES >> 20} MiB, too much for settings")
    try:
        text = data.decode("utf-8")
        _refuse_depth(text, str(path))
        return tomllib.loads(text), find_lines(text)
    except UnicodeDecodeError:
        raise FileError(str(path), None, "the text is not UTF-8") from None
    except RecursionError:
        raise FileError(str(path), None, "not valid TOML: it is nested too deeply", hint=hint) from None
    except tomllib.TOMLDecodeError as error:
        position = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        problem = re.sub(r"\s*\(at .*\)$", "", str(error))
        line = int(position[1]) if position else max(len(text.splitlines()), 1)
        raise FileError(str(path), line, f"not valid TOML: {problem}", hint=hint) from None
    except ValueError as error:
        # An integer with thousands of digits.
        raise FileError(str(path), None, f"not valid TOML: {str(error).partition(';')[0]}", hint=hint) from None


def write_toml(path: str | Path, text: str) -> None:
    """Write a TOML file; an old file is replaced when the new one is complete.

    A name of a file that is not UTF-8 is refused: TOML has no way to write it.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        line = text[: error.start].rpartition("\n")[2] + text[error.start :].partition("\n")[0]
        shown = line.strip().encode("utf-8", "backslashreplace").decode()[:80]
        problem = f"cannot hold a name that is not UTF-8: {shown}"
        raise FileError(str(path), None, problem, hint="rename that file") from None
    with open_to_write(path) as stream:
        stream.write(data)


def _refuse_depth(text: str, name: str) -> None:
    """Refuse keys and brackets nested so deeply that parsing them takes gigabytes or exceeds Python's own limit."""
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > MAX_DEPTH and (match := _DEEP.search(line)):
            raise FileError(name, number, f"not valid TOML: nested more than {MAX_DEPTH} deep at `{match[0][:20]}...`")


def find_lines(text: str) -> dict[Place, int]:
    """The line, from 1, of every table and every key that begins a line."""
    lines: dict[Place, int] = {}
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
            lines.setdefault(table, number)
            continue
        key = _KEY.match(line)
        if key:
            lines.setdefault((*table, key[1].strip("\"'")), number)
    return lines


def line_of(lines: dict[Place, int], place: Sequence[str | int]) -> int | None:
    """The line of a place, or of the innermost table around it."""
    for length in range(len(place), 0, -1):
        if tuple(place[:length]) in lines:
            return lines[tuple(place[:length])]
    return None


COMMENT_COLUMNS = 110
"""Columns at which comments are wrapped."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def value_text(value: Any) -> str:
    """A value as TOML text; a dataclass becomes a table of the fields that differ from their defaults."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return _number(float(value))
    if isinstance(value, str):
        # JSON strings are valid TOML, except that TOML also wants this one character escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, np.ndarray):
        return value_text(value.tolist())
    if isinstance(value, dict):
        inside = ", ".join(f"{key_text(key)} = {value_text(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(value_text(item) for item in value)}]"
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
    """The fields of a dataclass that differ from their defaults."""
    if hasattr(thing, "as_table"):
        return dict(thing.as_table())
    out = {}
    for field in settable(type(thing)):
        value = getattr(thing, field.name)
        if value is None or (not required(field) and same(value, default_of(field))):
            continue
        out[field.name] = value
    return out


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, arrays included."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is not None and other is not None and np.array_equal(np.asarray(one), np.asarray(other))
    return bool(one == other)


def comment(text: str, lead: str = "# ") -> list[str]:
    """A note as comment lines."""
    return [(lead + line).rstrip() for line in textwrap.wrap(text, COMMENT_COLUMNS - len(lead)) or [""]]


def entry(key: str, value: Any, note: str = "") -> list[str]:
    """A key with its value and a note: on the same line if there is room, else above."""
    line = f"{key_text(key)} = {value_text(value)}"
    if note and len(line) + len(note) + 4 <= COMMENT_COLUMNS:
        return [f"{line}  # {note}"]
    return [*(comment(note) if note else []), line]


def example_entry(key: str, shown: str, note: str = "") -> list[str]:
    """An unset key as a comment, ready to be uncommented."""
    line = f"#{key_text(key)} = {shown}"
    if note and len(line) + len(note) + 4 <= COMMENT_COLUMNS:
        return [f"{line}  # {note}"]
    return [*(comment(note) if note else []), line]
