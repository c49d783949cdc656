"""One line on stderr that says how far long work is, where somebody is watching."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

import click

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
