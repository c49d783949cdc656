"""Merge the shards of a batch: rows, pictures and results of several runs become those of one."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from understudy.base.errors import FileError, OptionError
from understudy.batch.identity import file_digest
from understudy.batch.journal import Index, Journal, compact, read_entries, row_journal
from understudy.batch.location import Location
from understudy.batch.lock import Lock, check_unlocked
from understudy.batch.model import SHARDS_FOLDER, STATE_FOLDER, Row, StopError
from understudy.batch.report import TABLE_FORMATS, Summary, write_reports

ROWS_FILE, PICTURES_FILE = "rows.jsonl", f"{STATE_FOLDER}/pictures.jsonl"

FINISHED_FILE = "finished"
"""The file in the state folder of a shard that has processed all its clips."""

SHARD_NAME = re.compile(r"(\d+)-of-(\d+)")


def shard_folder(shard: tuple[int, int]) -> str:
    """The state folder of a shard, inside the output folder."""
    return f"{SHARDS_FOLDER}/{shard[0]}-of-{shard[1]}"


def shard_journals(output: Location, state: str) -> tuple[Journal, Journal]:
    """The rows and the pictures of a shard."""
    return row_journal(output, f"{state}/rows.jsonl"), Journal(output, f"{state}/pictures.jsonl")


def find_shards(output: Location) -> list[str]:
    """The state folders of the shards that are in an output folder and not merged yet."""
    return [f"{SHARDS_FOLDER}/{name}" for name in output.names(SHARDS_FOLDER) if SHARD_NAME.fullmatch(name)]


@dataclass(eq=False, kw_only=True)
class Merged:
    """What was merged."""

    shards: int = 0
    """The number of shards and other output folders."""
    missing: list[str] = field(default_factory=list)
    """A sentence on each shard that has not run or not finished, and on each result that could not be copied."""


def merge(output: Location, others: Sequence[Location] = (), *, table: str = "csv", summary: Summary) -> Merged:
    """Join the shards in an output folder, and other output folders, to one batch, and write its reports.

    Args:
        output: The output folder.
        others: Output folders of other machines, whose results are copied.
        table: `csv` or `parquet`.
        summary: Filled from all rows.
    """
    if table not in TABLE_FORMATS:
        raise OptionError(f"Expected a table as {' or '.join(TABLE_FORMATS)}, got `{table}`")
    merged, states = Merged(), find_shards(output)
    rows, pictures = row_journal(output, ROWS_FILE), Journal(output, PICTURES_FILE)
    if not (states or others or rows.parts()):
        raise FileError(output.text(), None, "holds no shards of a batch", hint="`batch --shard 1/4` makes the first")
    try:
        with Lock(output):
            for state in states:
                check_unlocked(output, state)
            merged.missing += _unfinished(output, states)
            for other in others:
                check_unlocked(other, STATE_FOLDER)
                for journals in ((row_journal(other, ROWS_FILE), Journal(other, PICTURES_FILE)), *_of_shards(other)):
                    _copy(other, output, journals, (rows, pictures), merged)
            shards = _of_shards(output)
            compact(rows, others=[shard[0] for shard in shards])
            compact(pictures, others=[shard[1] for shard in shards])
            for row in read_entries(rows):
                summary.add(row)
            write_reports(output, table, summary, rows, pictures)
            for journals in shards:
                for part in (part for journal in journals for part in journal.parts()):
                    output.remove(part)
            for state in states:
                output.remove(f"{state}/{FINISHED_FILE}")
    except StopError as error:
        raise FileError(output.text(), None, str(error)) from None
    merged.shards = len(shards) + len(others)
    return merged


def _of_shards(output: Location) -> list[tuple[Journal, Journal]]:
    """The journals of all shards with rows."""
    journals = [shard_journals(output, state) for state in find_shards(output)]
    return [pair for pair in journals if pair[0].parts()]


def _unfinished(output: Location, states: list[str]) -> list[str]:
    """A sentence on each shard that has not run, or has not processed all its clips, since the last merge."""
    names = {PurePosixPath(state).name for state in states if Journal(output, f"{state}/rows.jsonl").parts()}
    sentences = []
    for count in sorted({int(name.partition("-of-")[2]) for name in names}):
        for number in range(1, count + 1):
            name = f"{number}-of-{count}"
            if name not in names:
                sentences.append(f"shard {number}/{count} has no rows here")
            elif output.size(f"{SHARDS_FOLDER}/{name}/{FINISHED_FILE}") is None:
                sentences.append(f"shard {number}/{count} has not finished; run it again to continue")
    return sentences


def _copy(
    other: Location,
    output: Location,
    sources: tuple[Journal, Journal],
    journals: tuple[Journal, Journal],
    merged: Merged,
) -> None:
    """Copy the results of another output folder with their rows and pictures."""
    entries, pictures = Index.of(sources[0]), Index.of(sources[1])
    for clip in entries:
        row = entries[clip]
        try:
            _copy_result(other, output, row)
        except FileError as error:
            merged.missing.append(error.message)
            continue
        if clip in pictures:
            journals[1].add(pictures[clip])
        journals[0].add(row)


def _copy_result(other: Location, output: Location, row: Row) -> None:
    """Copy the file of a result, if it has one and it is as it was written."""
    name = row.get("output", "")
    if not name:
        return
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        raise FileError(other.text(name), None, "is not inside its output folder, and is not copied")
    with tempfile.TemporaryDirectory() as folder:
        fetched, copied = other.fetch(name, Path(folder)), Path(folder) / "copied"
        if file_digest(fetched) != row.get("output_sha256"):
            raise FileError(other.text(name), None, "was changed after it was written, and is not copied")
        shutil.copyfile(fetched, copied)
        _put(output, copied, name)


def _put(output: Location, path: Path, name: str) -> None:
    from understudy.batch.location import Folder

    if isinstance(output, Folder):
        # The temporary folder may be on another disk, from which files cannot be moved in one step.
        output.write_bytes(name, path.read_bytes())
    else:
        output.put(path, name)
