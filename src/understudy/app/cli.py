"""The `understudy` command: loads its subcommands, and turns errors into messages and exit codes.

Exit codes: 0 done, 1 the work failed, 2 wrong use, 130 stopped by the user.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click

import understudy
from understudy.app.output import print_usage_error, warn_style
from understudy.base.errors import OptionError, UnderstudyError, UnknownNameError, nearest_names
from understudy.base.plugins import scan

PACKAGE = "understudy.app"


class Commands(click.Group):
    """A group whose commands are the modules of this folder, loaded when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, _ in scan(PACKAGE, "COMMAND")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if not cmd_name.isidentifier() or find_spec(f"{PACKAGE}.{cmd_name}") is None:
            return None
        command: click.Command | None = getattr(import_module(f"{PACKAGE}.{cmd_name}"), "COMMAND", None)
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
    except BrokenPipeError:
        raise
    except OSError as error:
        # For example a full disk under stdout. Errors in reading and writing files are `UnderstudyError`s.
        report(UnderstudyError(f"{error.filename or 'the output'}: {error.strerror or error}"))
        ctx.exit(1)
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
        ctx.exit(130)


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
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Make one character perform another's motion."""
    if os.environ.get("NO_COLOR"):
        ctx.color = False


def main() -> None:
    """The entry point of the `understudy` script."""
    # The solver uses many small matrices: multi-threading each one costs far more than it gains.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    cli(prog_name="understudy")
