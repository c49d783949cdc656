"""`python -m papers` runs the experiments of the papers behind Understudy on samples and captures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.app.cli import print_errors
from understudy.app.options import json_option
from understudy.app.output import note, print_json

if TYPE_CHECKING:
    from papers import Findings, Paper, Table


class PaperCommand(click.Command):
    """A command that reports errors as `understudy` does."""

    def invoke(self, ctx: click.Context) -> Any:
        with print_errors(ctx):
            return super().invoke(ctx)


@click.command(
    cls=PaperCommand,
    epilog="Example: python -m papers lommers13 vanderhyde03 -o papers",
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("-o", "--output", metavar="FOLDER", help="Write a page of tables and the pictures of each paper there.")
@click.option(
    "--data",
    "captures",
    metavar="FOLDER",
    help="Also run the experiments on captured motion whose files are there; the others are listed as skipped.",
)
@click.option(
    "--cmu",
    "collection",
    metavar="FOLDER",
    envvar="UNDERSTUDY_CMU",
    help="Also run the experiments on clips of the whole CMU collection on which nothing was developed.",
)
@json_option
def papers(
    names: tuple[str, ...], output: str | None, captures: str | None, collection: str | None, as_json: bool
) -> None:
    """Run every experiment of the papers NAME, or of all papers, on samples, and compare with the paper's results.

    A table of all claims of the papers comes last. Exits with 1 if a paper did better than Understudy, and says where.
    """
    from papers import paper
    from papers import papers as all_papers
    from papers.claims import claims_table

    chosen = [paper(name) for name in dict.fromkeys(names)] or list(all_papers().values())
    source = None if captures is None else find_folder(captures, "--data takes a folder of captured motion")
    clips = None if collection is None else find_folder(collection, "--cmu takes a folder of the CMU collection")
    folder = None if output is None else make_folder(output)
    report, worse, skipped = [], [], []
    results: dict[str, Findings] = {}
    for study in chosen:
        data, texts, remarks = run_paper(study, folder, source, clips, results)
        report.append(data)
        worse += remarks
        skipped += data["skipped"]
        if not as_json:
            click.echo("\n\n".join([study.title, *texts]) + "\n")
    table = claims_table(results)
    if folder is not None and table.rows:
        write_claims(table, folder)
    if as_json:
        claims = table.data()["rows"]
        print_json([{**data, "claims": [row for row in claims if row["paper"] == data["name"]]} for data in report])
    elif table.rows:
        click.echo(table.text() + "\n")
    note(skipped, "skipped")
    note(worse, "worse than the paper")
    if worse:
        raise click.exceptions.Exit(1)


def find_folder(captures: str, hint: str) -> Path:
    """The folder of captured motion."""
    from understudy.base.errors import FileError

    folder = Path(captures)
    if not folder.is_dir():
        raise FileError(captures, None, "there is no such folder", hint=hint)
    return folder


def make_folder(output: str) -> Path:
    """The folder to write to, created if needed."""
    from understudy.base.errors import FileError

    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(output, None, f"the folder cannot be made: {error.strerror}") from None
    return folder


def write_claims(table: Table, folder: Path) -> None:
    """Write the table of all claims as a Markdown page."""
    from understudy.base.files import open_to_write

    with open_to_write(folder / "claims.md") as stream:
        stream.write(f"# {table.title}\n\n{table.markdown()}\n".encode())


def run_paper(
    paper: Paper,
    folder: Path | None,
    captures: Path | None = None,
    collection: Path | None = None,
    collected: dict[str, Findings] | None = None,
) -> tuple[dict[str, Any], list[str], list[str]]:
    """Run a paper's experiments. Returns the JSON data, the tables as text, and where the paper did better.

    Args:
        paper: The paper.
        folder: For pages and pictures; None for neither.
        captures: Captured motion; None to leave it out.
        collection: The whole CMU collection; None to leave it out.
        collected: Takes the findings, by `PAPER.EXPERIMENT`.
    """
    began = time.perf_counter()
    results: list[tuple[str, Findings]] = []
    skipped: list[str] = []
    for experiment in paper.experiments:
        results.append((experiment.name, experiment.run(folder, lambda text: tell(paper.name, text))))
    for capture in paper.captures if captures is not None else ():
        assert captures is not None
        missing = capture.missing(captures)
        if missing:
            skipped.append(f"{paper.name}: {capture.about}: there is no {', '.join(missing)} in {captures}")
        else:
            results.append((capture.name, capture.run(captures, folder, lambda text: tell(paper.name, text))))
    for fresh in paper.fresh if collection is not None else ():
        assert collection is not None
        missing = fresh.missing(collection, captures)
        if missing:
            skipped.append(f"{paper.name}: {fresh.about}: there is no {', '.join(missing[:4])} in {collection}")
        else:
            made = fresh.run(collection, captures, folder, lambda text: tell(paper.name, text))
            results.append((fresh.name, made))
    if collected is not None:
        collected.update({f"{paper.name}.{name}": findings for name, findings in results})
    files = (
        []
        if folder is None
        else [write_page(paper, results, folder), *(p for _, findings in results for p in findings.pictures)]
    )
    worse = [sentence for _, findings in results for sentence in findings.worse]
    data = {
        "name": paper.name,
        "title": paper.title,
        "experiments": [
            {"name": name, "tables": [table.data() for table in findings.tables]} for name, findings in results
        ],
        "skipped": skipped,
        "worse": worse,
        "files": [str(file) for file in files],
        "seconds": time.perf_counter() - began,
    }
    texts = [table.text() for _, findings in results for table in findings.tables]
    return data, [*texts, *(["\n".join(map(str, files))] if files else [])], worse


def write_page(paper: Paper, results: list[tuple[str, Findings]], folder: Path) -> Path:
    """Write a paper's tables and pictures as a Markdown page."""
    from understudy.base.files import open_to_write

    parts = [f"# {paper.title}"]
    for _, findings in results:
        for table in findings.tables:
            parts += [f"## {table.title}", table.markdown()]
        parts += [f"![{picture.stem}]({picture.name})" for picture in findings.pictures]
        parts += [f"- worse than the paper: {sentence}" for sentence in findings.worse]
    path = folder / f"{paper.name}.md"
    with open_to_write(path) as stream:
        stream.write(("\n\n".join(parts) + "\n").encode("utf-8"))
    return path


def tell(name: str, text: str) -> None:
    """Report the current step on stderr."""
    click.echo(f"{name}: {text}", err=True)


if __name__ == "__main__":
    papers(prog_name="python -m papers")
