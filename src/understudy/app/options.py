"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


class FrameRange(click.ParamType):
    """Frames A:B as Python counts them: from 0, B not included, either may be left out, negative from the end."""

    name = "A:B"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> slice:
        if isinstance(value, slice):
            return value
        found = re.fullmatch(r"\s*(-?\d+)?\s*:\s*(-?\d+)?\s*", value)
        if not found:
            self.fail(f"expected frames as A:B, such as 10:50, 10: or :50; got `{value}`", param, ctx)
        first, last = (int(part) if part else None for part in found.groups())
        return slice(first, last)


def reading_options(command: Command) -> Command:
    """Options that say how to read a file where it does not say itself."""
    options = [
        click.option("--unit", help="Unit of the input: m, dm, cm, mm, inch, foot, cmu, or metres as a number."),
        click.option("--up", help="Up axis of the input: X, Y or Z."),
        click.option("--lenient", is_flag=True, help="Read a damaged motion up to the damage."),
        click.option("--skeleton", metavar="FILE", help="The skeleton's file, where the format keeps it apart (AMC)."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def clip_option(command: Command) -> Command:
    """The option that names one of a file's animations."""
    return click.option(
        "--clip", metavar="NAME", help="Which animation, where the file holds several [the first]; also as FILE#NAME."
    )(command)


def json_option(command: Command) -> Command:
    """The flag that makes a command print JSON."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout, and nothing else there.")(
        command
    )
