"""What commands print: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
from collections.abc import Iterable
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
