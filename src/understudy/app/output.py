"""What commands print: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click


def print_json(data: Any) -> None:
    """Print data as JSON, the only thing on stdout."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def note(sentences: Iterable[str], word: str = "note") -> None:
    """Print remarks on stderr, a line each."""
    for sentence in sentences:
        click.echo(f"{warn_style(f'{word}:', 'yellow')} {sentence}", err=True)


def warn_style(text: str, colour: str) -> str:
    """Text in bold colour; click takes the colour away where the output is no terminal or NO_COLOR is set."""
    return click.style(text, fg=colour, bold=True)


def count_of(number: int, noun: str) -> str:
    """A number with its noun: `1 frame`, `2 frames`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def check_output(path: str | None, *, motion: bool = True) -> None:
    """Refuse, before any work is done, a file that cannot be written.

    Args:
        path: Where a result is to go; None for one that nobody wants.
        motion: Whether it is to hold a motion, so that its ending must name a format for one.
    """
    from understudy.errors import FileError
    from understudy.io.files import format_of

    if path is None:
        return
    if motion and format_of(path).write is None:
        raise click.UsageError(f"`{path}`: files of this kind can be read, not written.")
    if Path(path).is_dir():
        raise FileError(path, None, "is a folder, not a file")
    if not Path(path).parent.is_dir():
        raise FileError(path, None, f"there is no folder `{Path(path).parent}` to write it into")
