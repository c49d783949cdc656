"""One line on stderr that says how far long work is, where somebody is watching."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
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
    from understudy.base.errors import FileError
    from understudy.io.files import format_of

    if path is None:
        return
    if motion and format_of(path).write is None:
        raise click.UsageError(f"`{path}`: files of this kind can be read, not written.")
    if Path(path).is_dir():
        raise FileError(path, None, "is a folder, not a file")
    if not Path(path).parent.is_dir():
        raise FileError(path, None, f"there is no folder `{Path(path).parent}` to write it into")


AFTER = 1.0
"""Seconds that work takes before anything is said."""

EVERY = 0.1
"""Seconds between two looks."""

WIDTH = 24
"""Characters of the bar."""


class Progress:
    """Told what is done and how much of it; shows a line on a terminal after a second, and takes it away at the end.

    Used as a context, and called as a solver calls its watch. Where stderr is no terminal nothing is shown.
    """

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()
        self._text, self._share = "", 0.0
        self._began = time.monotonic()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Progress:
        if self.shown:
            self._thread = threading.Thread(target=self._draw, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def __call__(self, text: str, share: float) -> None:
        self._text, self._share = text, min(max(share, 0.0), 1.0)

    def _draw(self) -> None:
        drawn = 0
        while not self._done.wait(EVERY):
            seconds = time.monotonic() - self._began
            if seconds < AFTER:
                continue
            line = bar(self._text, self._share, seconds)
            click.echo("\r" + line.ljust(drawn), err=True, nl=False)
            drawn = len(line)
        if drawn:
            click.echo("\r" + " " * drawn + "\r", err=True, nl=False)


def bar(text: str, share: float, seconds: float) -> str:
    """The line: a bar, the share, the seconds and what is being done."""
    full = round(WIDTH * share)
    return f"[{'#' * full}{'.' * (WIDTH - full)}] {100 * share:3.0f} %  {seconds:.0f} s  {text}"
