"""Conversion of recipe tables to dataclasses by their fields: a new kind or option needs no change here."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import textwrap
import types
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from understudy.base.errors import UnderstudyError, nearest_names

MAX_INTEGER = 2**53
"""The largest whole number of a recipe."""


class FieldError(UnderstudyError):
    """A key of a table has an unusable value; the reader of the file adds file and line.

    Args:
        message: What was found and what was expected.
        keys: The place in the table: keys and entry numbers, outermost first.
        hint: What to do next.
    """

    def __init__(self, message: str, keys: tuple[str | int, ...] = (), *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.keys = keys


def build(kind: type, table: Any, *, folder: Path = Path(), besides: tuple[str, ...] = ()) -> Any:
    """Build a dataclass from a table whose keys are its fields.

    Args:
        kind: The dataclass.
        table: The table of the recipe.
        folder: Where to look for the user's functions.
        besides: Keys that the caller handles.
    """
    if not isinstance(table, dict):
        raise FieldError(f"expected a table with {_listed(names_of(kind))}; got {_describe(table)}")
    hints, known_fields = _hints(kind), {field.name: field for field in settable(kind)}
    values = {}
    for key, value in table.items():
        if key in besides:
            continue
        if key not in known_fields:
            raise unknown_key(key, [*known_fields, *besides])
        try:
            values[key] = convert(value, hints[key], folder)
        except FieldError as error:
            raise FieldError(error.message, (key, *error.keys), hint=error.hint) from None
    missing = [name for name, field in known_fields.items() if name not in values and required(field)]
    if missing:
        raise FieldError(f"`{missing[0]}` is missing", hint=f"it needs {_listed(missing)}")
    try:
        return kind(**values)
    except FieldError:
        raise
    except UnderstudyError as error:
        raise FieldError(error.message, hint=error.hint) from None


@cache
def _hints(kind: type) -> dict[str, Any]:
    """The types of the fields of a dataclass."""
    return get_type_hints(kind)


def settable(kind: type) -> tuple[Field[Any], ...]:
    """The fields that a table may set."""
    return tuple(field for field in fields(kind) if field.init)


def names_of(kind: type) -> list[str]:
    """The names of the fields that a table may set."""
    return [field.name for field in settable(kind)]


def required(field: Field[Any]) -> bool:
    """Whether a field has no default."""
    return field.default is MISSING and field.default_factory is MISSING


def default_of(field: Field[Any]) -> Any:
    """The default value of a field."""
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


def unknown_key(key: str, choices: list[str]) -> FieldError:
    """The error for a key that does not exist."""
    return FieldError(
        f"there is no key `{key}`; {nearest_names(key, choices)}", (key,), hint=f"known: {_listed(choices)}"
    )


def convert(value: Any, hint: Any, folder: Path = Path()) -> Any:
    """Convert a value of a recipe to a type, or raise an error that says what was expected."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _one_of(value, [option for option in get_args(hint) if option is not type(None)], folder)
    if hint is Any:
        return value
    if origin is np.ndarray or hint is np.ndarray:
        return _array(value)
    if origin is tuple:
        return _entries(value, get_args(hint), folder)
    if origin is dict:
        return _named(value, get_args(hint)[1], folder)
    if origin is Callable:
        return _function(value, folder)
    if isinstance(hint, type) and is_dataclass(hint):
        if isinstance(value, str) and hasattr(hint, "from_name"):
            return hint.from_name(value)
        return build(hint, value, folder=folder)
    return _plain(value, hint)


def _one_of(value: Any, hints: list[Any], folder: Path) -> Any:
    if str in hints and any(is_dataclass(option) for option in hints):
        # A named thing may be given by its name, or by a table of its fields.
        hints = [str] if isinstance(value, str) else [option for option in hints if option is not str]
    errors = []
    for hint in hints:
        try:
            return convert(value, hint, folder)
        except FieldError as error:
            errors.append(error)
    raise errors[0]


def _plain(value: Any, hint: Any) -> Any:
    if hint is bool and isinstance(value, bool):
        return value
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        if abs(value) > MAX_INTEGER:
            raise FieldError(f"expected a whole number up to {MAX_INTEGER}, got one with {len(str(value))} digits")
        return value
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            raise FieldError(f"expected a number, got one with {len(str(value))} digits") from None
        if np.isnan(number):
            raise FieldError("expected a number, got nan")
        return number
    if hint is str and isinstance(value, str):
        return value
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes"}
    raise FieldError(f"expected {words.get(hint, 'something else')}, got {_describe(value)}")


def _array(value: Any) -> np.ndarray:
    try:
        out = np.array(value, float)
        if isinstance(value, str | bool | dict) or out.dtype != float:
            raise ValueError
    except (ValueError, TypeError, OverflowError):
        raise FieldError(f"expected numbers in brackets, evenly nested; got {_describe(value)}") from None
    if np.any(np.isnan(out)):
        raise FieldError(f"expected numbers, got nan at {np.argwhere(np.isnan(out))[0].tolist()}")
    return out


def _entries(value: Any, hints: tuple[Any, ...], folder: Path) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise FieldError(f"expected a list in brackets, got {_describe(value)}")
    if hints[-1] is not Ellipsis and len(value) != len(hints):
        raise FieldError(f"expected {len(hints)} entries, got {len(value)}")
    out = []
    for number, item in enumerate(value):
        try:
            out.append(convert(item, hints[0] if hints[-1] is Ellipsis else hints[number], folder))
        except FieldError as error:
            raise FieldError(f"entry {number + 1}: {error.message}", (number, *error.keys), hint=error.hint) from None
    return tuple(out)


def _named(value: Any, hint: Any, folder: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FieldError(f"expected a table such as {{ NAME = 1.0 }}, got {_describe(value)}")
    out = {}
    for key, item in value.items():
        try:
            out[key] = convert(item, hint, folder)
        except FieldError as error:
            raise FieldError(f"`{key}`: {error.message}", (key, *error.keys), hint=error.hint) from None
    return out


def _function(value: Any, folder: Path) -> Callable[..., Any]:
    """Load a user's function, named as `module:function`; a module beside the recipe comes first."""
    hint = 'write it as "module:function", the module in a file beside the recipe or installed'
    module, _, name = value.partition(":") if isinstance(value, str) else ("", "", "")
    if not (module and name and all(part.isidentifier() for part in (*module.split("."), name))):
        raise FieldError(f"expected a function as `module:function`, got {_describe(value)}", hint=hint)
    from understudy.base.consent import check_consent, find_source, is_standard

    beside = folder / f"{module}.py"
    if is_standard(module) and not beside.is_file():
        raise FieldError(f"`{value}` is a function of Python itself; expected one of points", hint=hint)
    source = find_source(module, name, folder)
    if source is None:
        raise FieldError(f"module `{module}` cannot be loaded: there is no such module", hint=hint)
    check_consent(source)
    try:
        if beside.is_file():
            spec = importlib.util.spec_from_file_location(module, beside)
            assert spec is not None
            assert spec.loader is not None
            loaded = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(loaded)
        else:
            loaded = importlib.import_module(module)
        function = getattr(loaded, name)
    except AttributeError:
        raise FieldError(f"module `{module}` has no function `{name}`; {nearest_names(name, vars(loaded))}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Also `SystemExit`: a module that ends the program must not end a studio.
        message = f"{type(error).__name__}: {error}".rstrip(": ")
        raise FieldError(f"module `{module}` cannot be loaded: {message}", hint=hint) from None
    if not callable(function):
        raise FieldError(f"`{value}` is no function but a {type(function).__name__}", hint=hint)
    return cast("Callable[..., Any]", function)


def _describe(value: Any) -> str:
    """A short description of a value for an error message."""
    if isinstance(value, dict):
        return "a table"
    text = repr(value)
    if isinstance(value, bool):
        text = text.lower()
    kinds = {str: "the text ", list: "the list ", bool: "", int: "the number ", float: "the number "}
    return kinds.get(type(value), f"a {type(value).__name__} ") + (text if len(text) < 60 else text[:57] + "...")


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


@cache
def notes_of(kind: type) -> dict[str, str]:
    """The docstring below each field of a dataclass and its base classes, as one line."""
    notes: dict[str, str] = {}
    for cls in reversed(kind.__mro__):
        if not is_dataclass(cls):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
        assert isinstance(body, ast.ClassDef)
        for first, second in zip(body.body, body.body[1:]):
            is_note = isinstance(second, ast.Expr) and isinstance(second.value, ast.Constant)
            if isinstance(first, ast.AnnAssign) and isinstance(first.target, ast.Name) and is_note:
                notes[first.target.id] = " ".join(str(second.value.value).split())  # type: ignore[attr-defined]
    return notes
