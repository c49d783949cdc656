"""`python -m papers` runs the experiments of the papers behind Understudy on samples and captures."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.app.cli import print_errors
from understudy.app.options import json_option
from understudy.app.output import note, print_json
from understudy.base.errors import UnknownNameError, nearest_names

if TYPE_CHECKING:
    from papers import Findings, Paper, Table
    from papers.base import Tell


class PaperCommand(click.Command):
    """A command that reports errors as `understudy` does."""

    def invoke(self, ctx: click.Context) -> Any:
        with print_errors(ctx):
            return super().invoke(ctx)


@click.command(
    cls=PaperCommand,
    epilog="Example: python -m papers lommers13 vanderhyde03.study -o papers",
)
@click.argument("names", nargs=-1, metavar="[NAME[.EXPERIMENT]]...")
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    help="Write a page of tables, the pictures and the results of each paper there, beside results that are there.",
)
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
    """Run the experiments of the papers NAME, or of all papers, on samples, and compare with the paper's results.

    A table of all claims of the papers comes last. Exits with 1 if a paper did better than Understudy, and says where.
    """
    from papers import papers as all_papers
    from papers.claims import claims_table

    source = None if captures is None else find_folder(captures, "--data takes a folder of captured motion")
    clips = None if collection is None else find_folder(collection, "--cmu takes a folder of the CMU collection")
    folder = None if output is None else make_folder(output)
    report = []
    claimed: dict[str, Findings] = {}
    if folder is not None:
        for study in all_papers().values():
            claimed |= {f"{study.name}.{name}": found for name, found in saved_results(study, folder).items()}
    for study, only in choose(names):
        data, results = run_paper(study, folder, source, clips, only)
        report.append(data)
        claimed |= {f"{study.name}.{name}": found for name, found in results.items()}
        if not as_json:
            texts = [table.text() for found in results.values() for table in found.tables]
            files = ["\n".join(data["files"])] if data["files"] else []
            click.echo("\n\n".join([study.title, *texts, *files]) + "\n")
    table = claims_table(claimed)
    if folder is not None and table.rows:
        write_claims(table, folder)
    if as_json:
        claims = table.data()["rows"]
        print_json([{**data, "claims": [row for row in claims if row["paper"] == data["name"]]} for data in report])
    elif table.rows:
        click.echo(table.text() + "\n")
    note([sentence for data in report for sentence in data["skipped"]], "skipped")
    worse = [sentence for data in report for sentence in data["worse"]]
    note(worse, "worse than the paper")
    if worse:
        raise click.exceptions.Exit(1)


def choose(names: Iterable[str]) -> list[tuple[Paper, set[str]]]:
    """The papers that names tell, each with the names of the chosen experiments; none chosen means all."""
    from papers import paper
    from papers import papers as all_papers

    chosen: dict[str, set[str]] = {}
    for name in names or all_papers():
        study, _, experiment = name.partition(".")
        known = [e.name for kind in ("experiments", "captures", "fresh") for e in getattr(paper(study), kind)]
        if experiment and experiment not in known:
            raise UnknownNameError(f"`{study}` has no experiment `{experiment}`; {nearest_names(experiment, known)}")
        chosen.setdefault(study, set())
        chosen[study] |= {experiment} if experiment else set(known)
    return [(paper(name), only) for name, only in chosen.items()]


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
    only: Collection[str] = (),
) -> tuple[dict[str, Any], dict[str, Findings]]:
    """Run a paper's experiments. Returns the JSON data, and the findings by experiment.

    Args:
        paper: The paper.
        folder: For pages, results and pictures; None for neither. Results that are there of other experiments are kept.
        captures: Captured motion; None to leave it out.
        collection: The whole CMU collection; None to leave it out.
        only: Names of experiments; all if empty.
    """
    began = time.perf_counter()
    results: dict[str, Findings] = {}
    skipped: list[str] = []
    for name, about, missing, run in experiments(paper, captures, collection):
        if only and name not in only:
            continue
        if missing:
            skipped.append(f"{paper.name}: {about}: there is no {missing}")
        else:
            results[name] = run(folder, lambda text: tell(paper.name, text))
            if folder is not None:
                write_results(paper, results, folder)
    files = (
        []
        if folder is None
        else [write_page(paper, folder), *(p for findings in results.values() for p in findings.pictures)]
    )
    data = {
        "name": paper.name,
        "title": paper.title,
        "experiments": [
            {"name": name, "tables": [table.data() for table in findings.tables]} for name, findings in results.items()
        ],
        "skipped": skipped,
        "worse": [sentence for findings in results.values() for sentence in findings.worse],
        "files": [str(file) for file in files],
        "seconds": time.perf_counter() - began,
    }
    return data, results


def experiments(
    paper: Paper, captures: Path | None, collection: Path | None
) -> Iterator[tuple[str, str, str, Callable[[Path | None, Tell], Findings]]]:
    """Every experiment of a paper: its name, what it shows, what is missing for it, and what runs it."""
    for experiment in paper.experiments:
        yield experiment.name, experiment.about, "", experiment.run
    for capture in paper.captures if captures is not None else ():
        assert captures is not None
        missing = capture.missing(captures)
        where = f"{', '.join(missing)} in {captures}" if missing else ""
        yield capture.name, capture.about, where, partial(capture.run, captures)
    for fresh in paper.fresh if collection is not None else ():
        assert collection is not None
        missing = fresh.missing(collection, captures)
        where = f"{', '.join(missing[:4])} in {collection}" if missing else ""
        yield fresh.name, fresh.about, where, partial(fresh.run, collection, captures)


def write_results(paper: Paper, results: Mapping[str, Findings], folder: Path) -> None:
    """Write findings to a paper's file of results, beside those of its other experiments that are there."""
    from understudy.base.files import open_to_write

    kept = {**saved_results(paper, folder), **results}
    data = {name: findings.data() for name, findings in kept.items()}
    with open_to_write(folder / f"{paper.name}.json") as stream:
        stream.write((json.dumps(data, indent=1, default=float) + "\n").encode())


def write_page(paper: Paper, folder: Path) -> Path:
    """Write a paper's tables and pictures as a Markdown page."""
    from understudy.base.files import open_to_write

    parts = [f"# {paper.title}"]
    for findings in saved_results(paper, folder).values():
        for table in findings.tables:
            parts += [f"## {table.title}", table.markdown()]
        parts += [f"![{picture.stem}]({picture.name})" for picture in findings.pictures]
        parts += [f"- worse than the paper: {sentence}" for sentence in findings.worse]
    path = folder / f"{paper.name}.md"
    with open_to_write(path) as stream:
        stream.write(("\n\n".join(parts) + "\n").encode("utf-8"))
    return path


def saved_results(paper: Paper, folder: Path) -> dict[str, Findings]:
    """The findings of a paper in a folder, by experiment and in its order; none if it was not run there."""
    from papers import Findings

    path = folder / f"{paper.name}.json"
    if not path.is_file():
        return {}
    data = json.loads(path.read_text(encoding="utf-8"))
    order = [each.name for each in (*paper.experiments, *paper.captures, *paper.fresh)]
    return {name: Findings.from_data(data[name], folder) for name in order if name in data}


def tell(name: str, text: str) -> None:
    """Report the current step on stderr."""
    click.echo(f"{name}: {text}", err=True)


if __name__ == "__main__":
    papers(prog_name="python -m papers")
