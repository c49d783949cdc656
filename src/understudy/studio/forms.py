"""Forms for everything that can be chosen, made from dataclasses by their fields: new kinds appear by themselves."""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from understudy.analogy.preparation import Settings
from understudy.base.fields import default_of, names_of, notes_of, required, settable
from understudy.constraints import kinds
from understudy.constraints.base import Constraint, PointLike, PointRef
from understudy.figure.contacts import Detection
from understudy.io import formats as known_formats
from understudy.retarget.plan import Options
from understudy.retarget.spec import ActorSpec, Reading
from understudy.solve.solvers import solvers

QUOTED = re.compile(r"`([a-z_]+)`")

VECTORS = {"direction": "direction", "normal": "direction", "size": "size"}
"""What a vector by such a name is on the stage; any other of three numbers in the world is a place."""

SPACING = {
    "name": "spacing", "type": "text", "required": False, "default": "auto",
    "note": "How far apart keys are: auto, seconds, or frames at 30 Hz as in `4 frames`.",
}  # fmt: skip

CONTACTS = {
    "name": "contacts", "type": "choice", "required": False, "default": "detect", "choices": ["listed", "detect"],
    "note": "listed: those of the timeline and no others; detect: found anew each time.",
}  # fmt: skip

Table = dict[str, Any]


@cache
def forms() -> Table:
    """Every form by what it is for."""
    return {
        "constraint": {name: form(kind, last=names_of(Constraint)) for name, kind in kinds().items()},
        "solver": {name: form(kind, leave=("spacing",)) for name, kind in solvers().items()},
        "options": _options(),
        "detection": form(Detection),
        "reading": form(Reading),
        "actor": form(ActorSpec, leave=("map",)),
        "analogy": form(Settings),
    }


@cache
def formats() -> list[Table]:
    """The formats that a result can be written in."""
    return [
        {"name": each.name, "ending": suffix, "about": each.title}
        for each in known_formats().values()
        if each.write is not None
        for suffix in each.suffixes
    ]


def _options() -> Table:
    made = form(Options, leave=("detection", "spacing"))
    return {**made, "fields": [*made["fields"], SPACING, CONTACTS]}


def form(kind: type, *, leave: tuple[str, ...] = (), last: list[str] | None = None) -> Table:
    """A form for a dataclass: what it is, and its fields, those that it shares with others behind its own."""
    hints, notes = get_type_hints(kind), notes_of(kind)
    each = [one for one in settable(kind) if one.name not in leave]
    each.sort(key=lambda one: (one.name in (last or []), not required(one)))
    return {
        "about": " ".join((kind.__doc__ or "").strip().split("\n\n")[0].split()),
        "fields": [
            _field(
                one.name,
                hints[one.name],
                notes.get(one.name, ""),
                None if required(one) else _plain(default_of(one)),
                needed=required(one),
                others=names_of(kind),
            )
            for one in each
        ],
    }


def _field(name: str, hint: Any, note: str, default: Any, *, needed: bool, others: list[str]) -> Table:
    kind = _type(hint, note)
    made: Table = {"name": name, "type": kind, "required": needed, "default": default, "note": note}
    choices = [word for word in _choices(note) if word not in others] if kind == "text" else []
    if len(choices) > 1 and (default is None or default in choices):
        made |= {"type": "choice", "choices": choices}
    gizmo = _gizmo(name, kind, note)
    return made | ({} if gizmo is None else {"gizmo": gizmo})


def _type(hint: Any, note: str) -> str:
    """How a field is edited, from the type it is declared with."""
    options = [each for each in get_args(hint) if each is not type(None)] if _is_union(hint) else [hint]
    if PointRef in options:
        return "spot"
    if len(options) > 1:
        # A text or number, a number or table: whatever it is, it can be written down.
        return "text" if str in options and float not in options else "other"
    hint, origin = options[0], get_origin(options[0])
    plain = {bool: "flag", int: "whole", float: "number", str: "text"}
    if hint in plain:
        return plain[hint]
    if hint is np.ndarray or origin is np.ndarray:
        return "vector" if note.startswith("(3,)") else "numbers"
    if origin is tuple:
        inner = {each for each in get_args(hint) if each is not Ellipsis}
        return {frozenset({PointLike}): "spots", frozenset({str}): "names"}.get(frozenset(inner), _numeric(inner))
    if origin is Callable or (isinstance(origin, type) and issubclass(origin, Callable)):  # type: ignore[arg-type]
        return "text"
    return "other"


def _numeric(inner: set[Any]) -> str:
    """Numbers, however they are nested, or something that has no form."""
    flat = {leaf for each in inner for leaf in (get_args(each) or (each,)) if leaf is not Ellipsis}
    return "numbers" if flat <= {float, int} else "other"


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)


def _choices(note: str) -> list[str]:
    """The words that a note offers, as in "`free`: where it likes; `fixed`: where it was"."""
    return list(dict.fromkeys(QUOTED.findall(note)))


def _gizmo(name: str, kind: str, note: str) -> str | None:
    """What the stage can show and drag of a field."""
    if kind == "numbers" and name == "path":
        return "path"
    if kind != "vector":
        return None
    return VECTORS.get(name) or ("place" if "world" in note and name != "offset" else None)


def _plain(value: Any) -> Any:
    """A default as JSON has it; what has no end is None."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return (
        {each.name: _plain(getattr(value, each.name)) for each in settable(type(value))}
        if is_dataclass(value)
        else None
    )
