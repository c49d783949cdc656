"""Forms of the page, made from the fields of dataclasses: new constraints and solvers appear automatically."""

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
from understudy.io import formats as file_formats
from understudy.retarget.actor import ActorSpec, Reading
from understudy.retarget.plan import Options
from understudy.retarget.spec import solvers

QUOTED_WORD = re.compile(r"`([a-z_]+)`")

CITATION = re.compile(r"\s*\[[A-Z][a-z]+[0-9]*(?:,[^\]]*)?\]")
"""A reference to a paper in a docstring, such as `[Gleicher98, sec. 3.5]`: nothing for the help of a form."""

SHAPE = re.compile(r"^\((?:[A-Z0-9]+, ?)+[A-Z0-9]*\)(?: or \([0-9, ]+\))? ")
"""The shape of an array at the beginning of a note."""

UNITS = (
    (re.compile(r"^metres or radians\b", re.IGNORECASE), ""),
    (re.compile(r"\bleg lengths a second\b", re.IGNORECASE), "legs/s"),
    (re.compile(r"\bleg lengths?\b", re.IGNORECASE), "legs"),
    (re.compile(r"\bframes a second\b", re.IGNORECASE), "1/s"),
    (re.compile(r"\bmetres\b|^height of the targets", re.IGNORECASE), "m"),
    (re.compile(r"\bradians\b", re.IGNORECASE), "rad"),
    (re.compile(r"\bdegrees\b", re.IGNORECASE), "°"),
    (re.compile(r"\bseconds\b", re.IGNORECASE), "s"),
)
"""Units by the words of a note; the first that fits counts."""

NUMERIC_TYPES = ("number", "whole", "vector", "numbers")

VECTOR_GIZMOS = {"direction": "direction", "normal": "direction", "size": "size"}
"""Gizmo of a vector field by its name; other vectors in world coordinates are places."""

SPACING_FIELD = {
    "name": "spacing", "type": "text", "required": False, "default": "auto",
    "note": "Time between keys: auto, seconds, or frames at 30 Hz as in `4 frames`.",
}  # fmt: skip

CONTACTS_FIELD = {
    "name": "contacts", "type": "choice", "required": False, "default": "detect", "choices": ["listed", "detect"],
    "note": "listed: only those of the timeline; detect: detected again at every solve.",
}  # fmt: skip

Table = dict[str, Any]


@cache
def forms() -> Table:
    """All forms, by subject."""
    return {
        "constraint": {name: form(kind, shared=names_of(Constraint)) for name, kind in kinds().items()},
        "solver": {name: form(kind, skip=("spacing",)) for name, kind in solvers().items()},
        "options": _options_form(),
        "detection": form(Detection),
        "reading": form(Reading),
        "actor": form(ActorSpec, skip=("map",)),
        "analogy": form(Settings),
    }


@cache
def formats() -> list[Table]:
    """The formats that a result can be written in."""
    return [
        {"name": file_format.name, "ending": suffix, "about": file_format.title}
        for file_format in file_formats().values()
        if file_format.write is not None
        for suffix in file_format.suffixes
    ]


def _options_form() -> Table:
    options_form = form(Options, skip=("detection", "spacing"))
    return {**options_form, "fields": [*options_form["fields"], SPACING_FIELD, CONTACTS_FIELD]}


def form(kind: type, *, skip: tuple[str, ...] = (), shared: list[str] | None = None) -> Table:
    """The form of a dataclass: its description and fields, required ones first, `shared` ones last."""
    hints, notes = get_type_hints(kind), notes_of(kind)
    form_fields = [form_field for form_field in settable(kind) if form_field.name not in skip]
    form_fields.sort(key=lambda form_field: (form_field.name in (shared or []), not required(form_field)))
    return {
        "about": CITATION.sub("", " ".join((kind.__doc__ or "").strip().split("\n\n")[0].split())),
        "fields": [
            _field(
                form_field.name,
                hints[form_field.name],
                notes.get(form_field.name, ""),
                None if required(form_field) else _json_value(default_of(form_field)),
                needed=required(form_field),
                others=names_of(kind),
                violation_unit=getattr(getattr(kind, "unit", None), "value", ""),
            )
            for form_field in form_fields
        ],
    }


def _field(
    name: str, hint: Any, note: str, default: Any, *, needed: bool, others: list[str], violation_unit: str
) -> Table:
    kind = _field_type(hint, note)
    table: Table = {"name": name, "type": kind, "required": needed, "default": default, "note": plain_note(note)}
    if kind in NUMERIC_TYPES and (unit := violation_unit if name == "tolerance" else unit_of(note)):
        table["unit"] = unit
    choices = [word for word in _choices(note) if word not in others] if kind == "text" else []
    if len(choices) > 1 and (default is None or default in choices):
        table |= {"type": "choice", "choices": choices}
    gizmo = _gizmo(name, kind, note)
    return table | ({} if gizmo is None else {"gizmo": gizmo})


def plain_note(note: str) -> str:
    """A note without references to papers and without the shape of its array."""
    text = SHAPE.sub("", CITATION.sub("", note))
    return text[:1].upper() + text[1:]


def unit_of(note: str) -> str:
    """The unit that a note states, as it is printed; empty if it states none."""
    return next((unit for pattern, unit in UNITS if pattern.search(note)), "")


def _field_type(hint: Any, note: str) -> str:
    """The type of input for a field, from its type hint."""
    options = [option for option in get_args(hint) if option is not type(None)] if _is_union(hint) else [hint]
    if PointRef in options:
        return "point"
    if len(options) > 1:
        # A union with numbers or tables is edited as JSON text.
        return "text" if str in options and float not in options else "other"
    hint, origin = options[0], get_origin(options[0])
    simple = {bool: "flag", int: "whole", float: "number", str: "text"}
    if hint in simple:
        return simple[hint]
    if hint is np.ndarray or origin is np.ndarray:
        return "vector" if note.startswith("(3,)") else "numbers"
    if origin is tuple:
        item_types = {item for item in get_args(hint) if item is not Ellipsis}
        return "points" if item_types == {PointLike} else "names" if item_types == {str} else _numeric(item_types)
    if origin is Callable or (isinstance(origin, type) and issubclass(origin, Callable)):  # type: ignore[arg-type]
        return "text"
    return "other"


def _numeric(item_types: set[Any]) -> str:
    """`numbers` for nested numbers, else `other`."""
    flat = {leaf for item_type in item_types for leaf in (get_args(item_type) or (item_type,)) if leaf is not Ellipsis}
    return "numbers" if flat <= {float, int} else "other"


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, types.UnionType)


def _choices(note: str) -> list[str]:
    """The quoted words of a note, as in "`free`: where it likes; `fixed`: where it was"."""
    return list(dict.fromkeys(QUOTED_WORD.findall(note)))


def _gizmo(name: str, kind: str, note: str) -> str | None:
    """The gizmo that shows and drags a field, if it has one."""
    if kind == "numbers" and name == "path":
        return "path"
    if kind != "vector":
        return None
    return VECTOR_GIZMOS.get(name) or ("place" if "world" in note and name != "offset" else None)


def _json_value(value: Any) -> Any:
    """A default as JSON; None for infinity and for values without a JSON form."""
    if isinstance(value, np.ndarray):
        return _json_value(value.tolist())
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, tuple | list):
        return [_json_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _json_value(item) for key, item in value.items()}
    return (
        {field.name: _json_value(getattr(value, field.name)) for field in settable(type(value))}
        if is_dataclass(value)
        else None
    )
