"""Output of commands: JSON, notes, and the progress line."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from understudy.io.clip import Clip


def print_json(data: Any) -> None:
    """Print data as JSON on stdout."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


QUIET = "understudy.quiet"
"""Where a command's context says whether notes are printed."""

VERBOSE = "understudy.verbose"
"""Where a command's context says whether every note is printed."""

QUIET_WORDS = ("note", "left out", "not kept")
"""Notes that `--quiet` leaves out; warnings and failures are printed always."""


def note(sentences: Iterable[str], word: str = "note") -> None:
    """Print sentences on stderr, one a line, each after a word such as `note:`; fewer if the command is quiet."""
    context = click.get_current_context(silent=True)
    if context is not None and context.meta.get(QUIET) and word in QUIET_WORDS:
        return
    for sentence in sentences:
        click.echo(f"{warn_style(f'{word}:', 'yellow')} {sentence}", err=True)


def fold_notes(sentences: Iterable[str], *, verbose: bool | None = None) -> list[str]:
    """Sentences to print as notes: all of them if verbose, else widened joint ranges as one sentence.

    Args:
        sentences: The notes.
        verbose: Whether all are printed; None as the command's options say.
    """
    from understudy.correspondence.limits import WIDENED

    context = click.get_current_context(silent=True)
    if verbose is None:
        verbose = context is not None and bool(context.meta.get(VERBOSE))
    notes = list(sentences)
    widened = [sentence for sentence in notes if WIDENED in sentence]
    if verbose or len(widened) < 2:
        return notes
    folded = f"{len(widened)} normal ranges of joints are widened, since the motion itself goes there (-v lists them)"
    return [sentence for sentence in notes if sentence not in widened] + [folded]


def warn_style(text: str, colour: str) -> str:
    """Text in bold colour; click removes the colour if the output is no terminal or NO_COLOR is set."""
    return click.style(text, fg=colour, bold=True)


COLOURS = {"good": "green", "noticeable": "yellow", "bad": "red"}
"""The colour of each verdict; others have none."""


def paint_verdict(text: str, verdict: str) -> str:
    """Text in the colour of a verdict."""
    return warn_style(text, COLOURS[verdict]) if verdict in COLOURS else text


def paint_conclusions(text: str) -> str:
    """A report with its verdicts in colour."""
    for verdict in COLOURS:
        text = re.sub(rf"(?<=verdict: ){verdict}\b", lambda match: paint_verdict(match[0], match[0]), text)
        text = re.sub(rf"(?m)^(  \S[^\n]*?  ){verdict}( *)  ", _painted_cell(verdict), text)
    return text


def _painted_cell(verdict: str) -> Callable[[re.Match[str]], str]:
    return lambda match: f"{match[1]}{paint_verdict(verdict, verdict)}{match[2]}  "


def count_of(number: int, noun: str) -> str:
    """A number with its noun: `1 frame`, `2 frames`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def check_output(path: str | None, *, motion: bool = True) -> None:
    """Refuse an output file that cannot be written, before any work is done.

    Args:
        path: The output file; None for none.
        motion: Whether it is a motion file, whose suffix must be that of a writable format.
    """
    from understudy.base.errors import FileError
    from understudy.io.clip import format_of

    if path is None:
        return
    if motion and format_of(path, written=True).write is None:
        raise click.UsageError(
            f"`{path}`: files of this kind can be read, not written; written are {writable_endings()}."
        )
    if Path(path).is_dir():
        raise FileError(path, None, "is a folder, not a file")
    if not Path(path).parent.is_dir():
        raise FileError(path, None, f"there is no folder `{Path(path).parent}` to write it into")


def writable_endings() -> str:
    """The endings of files that can be written, with commas."""
    from understudy.io import formats

    return ", ".join(suffix for item in formats().values() if item.write is not None for suffix in item.suffixes)


def foresee_losses(clip: Clip, output: str | Path, new_file: str = "", *, others: bool = True) -> list[str]:
    """What a file will not hold of a character, and the way that loses less; said before the work is done.

    Args:
        clip: The character.
        output: The file that will be written.
        new_file: Which option asks for joints that the character's own file does not have; empty for none.
        others: Whether a new file gets the other animations of the character's, where its format holds several.
    """
    from understudy.base.errors import OptionError
    from understudy.io import formats
    from understudy.io.clip import format_of, in_own_file

    own, other = formats().get(clip.format), format_of(output, written=True)
    if other.name == "vrm" and (new_file or not in_own_file(clip, other)):
        same = own is not None and own.name == "vrm"
        raise OptionError(
            f"{new_file} asks for joints that the model does not have, and a VRM file is only written as the model is"
            if same
            else "A VRM file is written only for a character that was read from one: it needs a licence and a face",
            hint="write .glb for any character, or .vrma for the motion of any human",
        )
    if own is None or own.write is None or (in_own_file(clip, other) and not new_file):
        return []
    losses = {
        "meshes": bool(clip.meshes) and not other.meshes,
        "other animations": not (others and clip.others is not None and other.several and other.meshes)
        and (len(clip.clips) > 1 or (bool(clip.clips) and clip.motion is None)),
    } | dict.fromkeys(clip.extras, other.meshes)
    lost = [thing for thing, is_lost in losses.items() if is_lost]
    if not lost:
        return []
    things = " and ".join(lost) if len(lost) < 3 else f"{', '.join(lost[:-1])} and {lost[-1]}"
    if new_file and in_own_file(clip, other):
        return [f"{new_file} makes a new file, without the character's {things}: without it they stay"]
    if lost == ["other animations"] and other.several and other.meshes:
        chosen = "a name of one" if others else "the preset"
        return [f"one animation will be written: without {chosen} the character's others are written, too"]
    better = Path(output).with_suffix(own.suffixes[0]).name
    return [f"{other.title} will not hold the character's {things}: `{better}`, its own format, keeps them"]


def refuse_overwriting(output: str, inputs: Iterable[str | None], *, force: bool) -> None:
    """Refuse to write over a file that is read, unless that is wanted."""
    from understudy.base.errors import OptionError
    from understudy.io.clip import split_clip

    if force:
        return
    for name in inputs:
        if name is None or name == STANDARD_STREAM or name.startswith("sample:"):
            continue
        file = split_clip(name)[0]
        if file.is_file() and Path(output).is_file() and file.samefile(output):
            raise OptionError(f"`{output}` is also an input, and would be overwritten", hint="--force allows it")


STANDARD_STREAM = "-"
"""The name of a file that stands for stdin or stdout."""


def refuse_stream_with(output: str, *, as_json: bool, in_place: bool = False) -> None:
    """Refuse options that need stdout, or a file beside OUT, where OUT is `-`."""
    if output == STANDARD_STREAM and as_json:
        raise click.UsageError("Expected --json or `-` as OUT, got both: each needs stdout.")
    if output == STANDARD_STREAM and in_place:
        raise click.UsageError("--in-place writes the path beside OUT, which therefore cannot be `-`.")


@contextmanager
def input_file(name: str, kind: str | None) -> Iterator[str]:
    """A file to read: the named one, or a temporary one with the bytes of stdin for `-`.

    Args:
        name: The name, or `-`.
        kind: The format of stdin, as an ending or a format's name.
    """
    if name != STANDARD_STREAM:
        yield name
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"stdin{_ending(kind, '--from')}"
        file.write_bytes(sys.stdin.buffer.read())
        yield str(file)


@contextmanager
def output_file(name: str, kind: str | None) -> Iterator[str]:
    """A file to write: the named one, or a temporary one for `-`, whose bytes go to stdout at the end."""
    if name != STANDARD_STREAM:
        yield name
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"stdout{_ending(kind, '--to')}"
        try:
            yield str(file)
        finally:
            # A result that did not meet all constraints is written, too.
            if file.is_file():
                sys.stdout.buffer.write(file.read_bytes())
                sys.stdout.buffer.flush()


def _ending(kind: str | None, option: str) -> str:
    """The ending of files of a format that is given by its name or ending."""
    from understudy.io import formats

    if not kind:
        raise click.UsageError(f"`-` has no ending to tell its format by: add {option} FORMAT, such as bvh or glb.")
    known = formats().get(kind.lower())
    return known.suffixes[0] if known is not None else f".{kind.lower().lstrip('.')}"


def print_usage_error(error: click.UsageError) -> None:
    """Print an error about wrong use like all other errors, with the way to the command's help."""
    click.echo(f"{warn_style('error:', 'red')} {error.format_message()}", err=True)
    if error.ctx is not None:
        click.echo(f"\n{warn_style('hint:', 'cyan')} `{error.ctx.command_path} --help` lists the options", err=True)


PROGRESS_DELAY_SECONDS = 1.0
"""Time before the progress line appears."""

PROGRESS_UPDATE_SECONDS = 0.1
"""Time between two updates of the progress line."""

BAR_WIDTH = 24
"""Characters of the bar."""


class Progress:
    """A progress line on stderr, which appears after a second and is removed at the end.

    Use it as a context, and pass it as `watch` to a solver, which calls it with a text and a share from 0 to 1. It
    shows nothing if stderr is no terminal.
    """

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()
        self._text, self._share = "", 0.0
        self._start = time.monotonic()
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
        length = 0
        while not self._done.wait(PROGRESS_UPDATE_SECONDS):
            seconds = time.monotonic() - self._start
            if seconds < PROGRESS_DELAY_SECONDS:
                continue
            line = bar(self._text, self._share, seconds)
            click.echo("\r" + line.ljust(length), err=True, nl=False)
            length = len(line)
        if length:
            click.echo("\r" + " " * length + "\r", err=True, nl=False)


def bar(text: str, share: float, seconds: float) -> str:
    """The progress line: a bar, the share in percent, the seconds, and a text."""
    full = round(BAR_WIDTH * share)
    return f"[{'#' * full}{'.' * (BAR_WIDTH - full)}] {100 * share:3.0f} %  {seconds:.0f} s  {text}"
