"""`python -m papers`: the experiments of the papers behind Understudy, run again on samples and captures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.app.cli import errors_in_words
from understudy.app.options import json_option
from understudy.app.output import note, print_json

if TYPE_CHECKING:
    from papers import Findings, Paper


class PaperCommand(click.Command):
    """A command whose errors are told as those of `understudy` are."""

    def invoke(self, ctx: click.Context) -> Any:
        with errors_in_words(ctx):
            return super().invoke(ctx)


@click.command(
    cls=PaperCommand,
    epilog="Example: python -m papers lommers13 vanderhyde03 -o papers",
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "-o", "--output", metavar="FOLDER", help="Write a page of tables for each paper, and its pictures, there."
)
@click.option(
    "--data",
    "captures",
    metavar="FOLDER",
    help="Also run the experiments on captured motion whose files are in there; those that are not are named.",
)
@json_option
def papers(names: tuple[str, ...], output: str | None, captures: str | None, as_json: bool) -> None:
    """Run every experiment of the papers NAME, or of all of them, on samples, beside what the paper says.

    Exits with 1 where a paper did better than Understudy, and says where.
    """
    from papers import paper
    from papers import papers as every

    chosen = [paper(name) for name in dict.fromkeys(names)] or list(every().values())
    source = None if captures is None else find_folder(captures)
    folder = None if output is None else make_folder(output)
    report, worse, skipped = [], [], []
    for one in chosen:
        data, texts, remarks = run_paper(one, folder, source)
        report.append(data)
        worse += remarks
        skipped += data["skipped"]
        if not as_json:
            click.echo("\n\n".join([one.title, *texts]) + "\n")
    if as_json:
        print_json(report)
    note(skipped, "skipped")
    note(worse, "worse than the paper")
    if worse:
        raise click.exceptions.Exit(1)


def find_folder(captures: str) -> Path:
    """The folder of captured motion."""
    from understudy.base.errors import FileError

    folder = Path(captures)
    if not folder.is_dir():
        raise FileError(captures, None, "there is no such folder", hint="--data takes a folder of captured motion")
    return folder


def make_folder(output: str) -> Path:
    """The folder to write into, made if it is not there."""
    from understudy.base.errors import FileError

    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(output, None, f"the folder cannot be made: {error.strerror}") from None
    return folder


def run_paper(
    paper: Paper, folder: Path | None, captures: Path | None = None
) -> tuple[dict[str, Any], list[str], list[str]]:
    """Run a paper's experiments: what to report, the tables in words, and where the paper did better."""
    began = time.perf_counter()
    found: list[tuple[str, Findings]] = []
    skipped: list[str] = []
    for experiment in paper.experiments:
        found.append((experiment.name, experiment.run(folder, lambda text: tell(paper.name, text))))
    for capture in paper.captures if captures is not None else ():
        assert captures is not None
        missing = capture.missing(captures)
        if missing:
            skipped.append(f"{paper.name}: {capture.about}: there is no {', '.join(missing)} in {captures}")
        else:
            found.append((capture.name, capture.run(captures, folder, lambda text: tell(paper.name, text))))
    files = (
        [] if folder is None else [write_page(paper, found, folder), *(p for _, each in found for p in each.pictures)]
    )
    worse = [sentence for _, each in found for sentence in each.worse]
    data = {
        "name": paper.name,
        "title": paper.title,
        "experiments": [{"name": name, "tables": [table.data() for table in each.tables]} for name, each in found],
        "skipped": skipped,
        "worse": worse,
        "files": [str(file) for file in files],
        "seconds": time.perf_counter() - began,
    }
    texts = [table.text() for _, each in found for table in each.tables]
    return data, [*texts, *(["\n".join(map(str, files))] if files else [])], worse


def write_page(paper: Paper, found: list[tuple[str, Findings]], folder: Path) -> Path:
    """Write a paper's tables and pictures as a Markdown page."""
    from understudy.base.files import open_to_write

    parts = [f"# {paper.title}"]
    for _, each in found:
        for table in each.tables:
            parts += [f"## {table.title}", table.markdown()]
        parts += [f"![{picture.stem}]({picture.name})" for picture in each.pictures]
        parts += [f"- worse than the paper: {sentence}" for sentence in each.worse]
    path = folder / f"{paper.name}.md"
    with open_to_write(path) as stream:
        stream.write(("\n\n".join(parts) + "\n").encode("utf-8"))
    return path


def tell(name: str, text: str) -> None:
    """Say on stderr what is being worked on."""
    click.echo(f"{name}: {text}", err=True)


if __name__ == "__main__":
    papers(prog_name="python -m papers")
