"""Tables of a recipe turned into dataclasses by their fields alone: a new kind or option needs no change here."""

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
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from understudy.base.errors import UnderstudyError, nearest_names


class FieldError(UnderstudyError):
    """A key of a table cannot be used; the reader adds the file and line.

    Args:
        message: What was found and what was expected.
        keys: Where in the table: keys and numbers of entries, outermost first.
        hint: What to do next.
    """

    def __init__(self, message: str, keys: tuple[str | int, ...] = (), *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.keys = keys


def build(kind: type, table: Any, *, folder: Path = Path(), besides: tuple[str, ...] = ()) -> Any:
    """A dataclass from a table whose keys are its fields.

    Args:
        kind: The dataclass.
        table: What the recipe holds.
        folder: Where functions of the user are looked for.
        besides: Keys that the caller deals with.
    """
    if not isinstance(table, dict):
        raise FieldError(f"expected a table with {_listed(names_of(kind))}; got {_found(table)}")
    hints, known = get_type_hints(kind), {each.name: each for each in settable(kind)}
    values = {}
    for key, value in table.items():
        if key in besides:
            continue
        if key not in known:
            raise unknown_key(key, [*known, *besides])
        try:
            values[key] = convert(value, hints[key], folder)
        except FieldError as error:
            raise FieldError(error.message, (key, *error.keys), hint=error.hint) from None
    missing = [name for name, each in known.items() if name not in values and required(each)]
    if missing:
        raise FieldError(f"`{missing[0]}` is missing", hint=f"it needs {_listed(missing)}")
    try:
        return kind(**values)
    except FieldError:
        raise
    except UnderstudyError as error:
        raise FieldError(error.message, hint=error.hint) from None


def settable(kind: type) -> tuple[Field[Any], ...]:
    """The fields that a table may give."""
    return tuple(each for each in fields(kind) if each.init)


def names_of(kind: type) -> list[str]:
    """The names of the fields that a table may give."""
    return [each.name for each in settable(kind)]


def required(each: Field[Any]) -> bool:
    """Whether a field must be given."""
    return each.default is MISSING and each.default_factory is MISSING


def default_of(each: Field[Any]) -> Any:
    """What a field is if it is not given."""
    if each.default_factory is not MISSING:
        return each.default_factory()
    return each.default


def unknown_key(key: str, known: list[str]) -> FieldError:
    """The error for a key that is none."""
    return FieldError(f"there is no key `{key}`; {nearest_names(key, known)}", (key,), hint=f"known: {_listed(known)}")


def convert(value: Any, hint: Any, folder: Path = Path()) -> Any:
    """A value of a recipe as a type wants it, or an error that says what was expected."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _one_of(value, [each for each in get_args(hint) if each is not type(None)], folder)
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
    if str in hints and any(is_dataclass(each) for each in hints):
        # What has a name may be given by that alone, or by a table of all its parts.
        hints = [str] if isinstance(value, str) else [each for each in hints if each is not str]
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
        return value
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        if np.isnan(value):
            raise FieldError("expected a number, got nan")
        return float(value)
    if hint is str and isinstance(value, str):
        return value
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes"}
    raise FieldError(f"expected {words.get(hint, 'something else')}, got {_found(value)}")


def _array(value: Any) -> np.ndarray:
    try:
        out = np.array(value, float)
        if isinstance(value, str | bool | dict) or out.dtype != float:
            raise ValueError
    except (ValueError, TypeError):
        raise FieldError(f"expected numbers in brackets, evenly nested; got {_found(value)}") from None
    if np.any(np.isnan(out)):
        raise FieldError(f"expected numbers, got nan at {np.argwhere(np.isnan(out))[0].tolist()}")
    return out


def _entries(value: Any, hints: tuple[Any, ...], folder: Path) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise FieldError(f"expected a list in brackets, got {_found(value)}")
    if hints[-1] is not Ellipsis and len(value) != len(hints):
        raise FieldError(f"expected {len(hints)} entries, got {len(value)}")
    out = []
    for number, each in enumerate(value):
        try:
            out.append(convert(each, hints[0] if hints[-1] is Ellipsis else hints[number], folder))
        except FieldError as error:
            raise FieldError(f"entry {number + 1}: {error.message}", (number, *error.keys), hint=error.hint) from None
    return tuple(out)


def _named(value: Any, hint: Any, folder: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FieldError(f"expected a table such as {{ NAME = 1.0 }}, got {_found(value)}")
    out = {}
    for key, each in value.items():
        try:
            out[key] = convert(each, hint, folder)
        except FieldError as error:
            raise FieldError(f"`{key}`: {error.message}", (key, *error.keys), hint=error.hint) from None
    return out


def _function(value: Any, folder: Path) -> Callable[..., Any]:
    """A user's own function, named as `module:function`; a module beside the recipe comes first."""
    hint = 'write it as "module:function", the module in a file beside the recipe or installed'
    module, _, name = value.partition(":") if isinstance(value, str) else ("", "", "")
    if not (module and name and all(part.isidentifier() for part in (*module.split("."), name))):
        raise FieldError(f"expected a function as `module:function`, got {_found(value)}", hint=hint)
    beside = folder / f"{module}.py"
    try:
        if beside.is_file():
            spec = importlib.util.spec_from_file_location(module, beside)
            assert spec is not None
            assert spec.loader is not None
            found = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(found)
        else:
            found = importlib.import_module(module)
        made = getattr(found, name)
    except AttributeError:
        raise FieldError(f"module `{module}` has no function `{name}`; {nearest_names(name, vars(found))}") from None
    except Exception as error:
        raise FieldError(f"module `{module}` cannot be loaded: {error}", hint=hint) from None
    if not callable(made):
        raise FieldError(f"`{value}` is no function but a {type(made).__name__}", hint=hint)
    function: Callable[..., Any] = made
    return function


def _found(value: Any) -> str:
    """A value as an error names it, not too long."""
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
    """What is written below each field of a dataclass and of those it comes from, in one line each."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if not is_dataclass(each):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
        assert isinstance(body, ast.ClassDef)
        for first, second in zip(body.body, body.body[1:]):
            said = isinstance(second, ast.Expr) and isinstance(second.value, ast.Constant)
            if isinstance(first, ast.AnnAssign) and isinstance(first.target, ast.Name) and said:
                found[first.target.id] = " ".join(str(second.value.value).split())  # type: ignore[attr-defined]
    return found
