"""Errors, split by what the user can do next.

Every message says what was found and what was expected; a hint, where there is one, follows after a blank line.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


class UnderstudyError(Exception):
    """The base class of every error that the user can fix.

    Args:
        message: What was found, and what was expected or exists.
        hint: What to do next, in one line.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n\nhint: {self.hint}" if self.hint else self.message


class FileError(UnderstudyError):
    """A file cannot be read or written; the message begins with `file:line`.

    Args:
        name: The file name as the user gave it.
        line: The line, from 1; None for formats without lines.
        problem: What is wrong.
        hint: What to do next.
    """

    def __init__(self, name: str, line: int | None, problem: str, *, hint: str = "") -> None:
        place = name if line is None else f"{name}:{line}"
        super().__init__(f"{place}: {problem}", hint=hint)
        self.name = name
        self.line = line
        self.problem = problem


class SkeletonError(UnderstudyError):
    """A skeleton's parts do not fit together."""


class MotionError(UnderstudyError):
    """A motion's arrays do not fit together or hold values that are not finite."""


class UnknownNameError(UnderstudyError):
    """A joint, point or other named thing does not exist."""


class OptionError(UnderstudyError):
    """An option or argument has a value that cannot be used."""


class MissingPackageError(UnderstudyError):
    """A request needs an optional package that is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package `{package}`, which is not installed",
            hint=f"pip install 'understudy-motion[{extra}]'",
        )


def nearest_names(wanted: str, names: Iterable[str], count: int = 3) -> str:
    """The names most like the wanted one, as a phrase for an error message."""
    import difflib

    choices = list(names)
    folded = {name.casefold(): name for name in reversed(choices)}
    close = difflib.get_close_matches(wanted.casefold(), list(folded), n=count, cutoff=0.4)
    if close:
        return "nearest: " + ", ".join(f"`{folded[name]}`" for name in close)
    shown = ", ".join(f"`{name}`" for name in choices[:count])
    return f"there are {len(choices)}, from {shown}" if choices else "there are none"


def refuse_unknown_keywords(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Wrap a function so that an unknown keyword raises an error that names the nearest ones."""
    parameters = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        for name in kwargs:
            if name not in parameters:
                raise UnknownNameError(f"`{function.__name__}` takes no `{name}`; {nearest_names(name, parameters)}")
        return function(*args, **kwargs)

    return checked
