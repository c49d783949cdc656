"""The `understudy` command: loads its subcommands, and turns errors into messages and exit codes.

Exit codes: 0 done, 1 the work failed, 2 wrong use, 130 stopped by the user, 143 and 129 by SIGTERM and SIGHUP.
"""

from __future__ import annotations

import io
import os
import platform
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import understudy
from understudy.app.options import complete_files
from understudy.app.output import print_usage_error, warn_style
from understudy.base.errors import OptionError, UnderstudyError, UnknownNameError, nearest_names
from understudy.base.plugins import scan

if TYPE_CHECKING:
    from understudy.base.consent import FunctionSource

PACKAGE = "understudy.app"

MAX_BUG_CHARACTERS = 300
"""Characters of an unforeseen error's message that are printed."""


class Commands(click.Group):
    """A group whose commands are the modules of this folder, loaded when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, _ in scan(PACKAGE, "COMMAND")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if not cmd_name.isidentifier() or find_spec(f"{PACKAGE}.{cmd_name}") is None:
            return None
        command: click.Command | None = getattr(import_module(f"{PACKAGE}.{cmd_name}"), "COMMAND", None)
        if command is not None:
            complete_files(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            ctx.fail(f"There is no command `{name}`; {nearest_names(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with print_errors(ctx):
            return super().invoke(ctx)


@contextmanager
def print_errors(ctx: click.Context) -> Iterator[None]:
    """Turn errors of a command into a message on stderr and an exit code."""
    try:
        yield
    except click.UsageError as error:
        print_usage_error(error)
        ctx.exit(2)
    except UnderstudyError as error:
        report(error)
        ctx.exit(2 if isinstance(error, OptionError | UnknownNameError) else 1)
    except (BrokenPipeError, click.exceptions.ClickException, click.exceptions.Abort, click.exceptions.Exit):
        raise
    except OSError as error:
        # For example a full disk under stdout. Errors in reading and writing files are `UnderstudyError`s.
        report(UnderstudyError(f"{error.filename or 'the output'}: {error.strerror or error}"))
        ctx.exit(1)
    except KeyboardInterrupt as stop:
        click.echo("stopped", err=True)
        ctx.exit(128 + (stop.args[0] if stop.args else signal.SIGINT))
    except Exception as error:
        if ctx.params.get("debug"):
            raise
        if isinstance(error, MemoryError):
            report(UnderstudyError("There is not enough memory for this", hint="take fewer frames: --frames A:B"))
        else:
            report_bug(error)
        ctx.exit(1)


def report_bug(error: Exception) -> None:
    """Print an error that nobody foresaw as a sentence, and keep what is needed to find its cause in a file."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "understudy" in frame.filename] or frames
    where = f" ({Path(inside[-1].filename).name}:{inside[-1].lineno})" if inside else ""
    text = " ".join(f"{type(error).__name__}: {error}".split())[:MAX_BUG_CHARACTERS]
    lines = [
        f"understudy {understudy.__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"command: {' '.join(sys.argv)}",
        "".join(traceback.format_exception(error)),
    ]
    hint = "run it again with `understudy --debug ...` to see the cause"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="understudy-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as stream:
            stream.write("\n".join(lines))
        hint = f"the report {stream.name} says what happened: please send it; `understudy --debug ...` shows it"
    except OSError:
        pass
    report(UnderstudyError(f"This is a fault of understudy, not of yours: {text}{where}", hint=hint))


def ask_on_terminal(source: FunctionSource) -> bool:
    """Show the function that a recipe would run, and ask for consent; no where nobody sits at a terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    click.echo(f"The recipe names the function `{source.name}`. It is in {source.path}:\n", err=True)
    click.echo("\n".join(f"  {line}" for line in source.text.splitlines()), err=True)
    question = "\nRun it, now and whenever a recipe names it, until the file changes?"
    return click.confirm(question, default=False, err=True)


def report(error: UnderstudyError) -> None:
    """Print an error and its hint on stderr."""
    click.echo(f"{warn_style('error:', 'red')} {error.message}", err=True)
    if error.hint:
        click.echo(f"\n{warn_style('hint:', 'cyan')} {error.hint}", err=True)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: understudy samples walk -o walk.bvh && understudy info walk.bvh",
)
@click.version_option(understudy.__version__, prog_name="understudy", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show where an unforeseen error comes from.")
@click.option("--trust", is_flag=True, help="Run the functions that a recipe names without asking.")
@click.pass_context
def cli(ctx: click.Context, debug: bool, trust: bool) -> None:
    """Make one character perform another's motion."""
    from understudy.base.consent import ask_with, trust_all

    ask_with(trust_all if trust else ask_on_terminal)
    if os.environ.get("NO_COLOR"):
        ctx.color = False


def main() -> None:
    """The entry point of the `understudy` script."""
    # The solver uses many small matrices: multi-threading each one costs far more than it gains.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    stop_like_ctrl_c()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # File names that are not UTF-8 are printed with escapes.
            stream.reconfigure(errors="backslashreplace")
    cli(prog_name="understudy")


def stop_like_ctrl_c() -> None:
    """Make a request to end, or the end of the terminal, stop a command as Ctrl-C does: what is done is kept."""

    def stop(number: int, _: object) -> None:
        raise KeyboardInterrupt(number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # `nohup` ignores the signal, which stays so.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, stop)
