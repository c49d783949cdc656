"""Journals of a run: one JSON entry a line, readable even if the run is cut off at any moment."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import field
from typing import Any, BinaryIO

from understudy.base.files import open_to_write
from understudy.base.records import record
from understudy.batch.location import Folder, Location
from understudy.batch.model import DONE, FAILED, StopError

FLUSH_SECONDS = 1.0
"""Time after which entries are flushed to the disk; five times as long in a store, where each flush writes a file."""

MAX_PART_LINES = 500
"""Lines in one part of a journal in a store, where files cannot be appended to."""


class Journal:
    """Entries about clips; the last entry about a clip counts.

    Args:
        location: The output folder.
        name: The file in it, such as `rows.jsonl`. In a store the entries go to parts, files whose names begin with
            this one, until the journal is compacted.
        is_valid: Whether an entry has all that it needs; other entries are ignored.
    """

    def __init__(
        self, location: Location, name: str, is_valid: Callable[[dict[str, Any]], bool] = lambda _: True
    ) -> None:
        self.location, self.name, self.is_valid = location, name, is_valid
        self._stream: BinaryIO | None = None
        self._lines: list[bytes] = []
        self._start = f"{time.time_ns():020d}"
        self._part_number = 0
        self._flushed_at = time.monotonic()

    def add(self, entry: dict[str, Any]) -> None:
        """Append an entry."""
        line = entry_line(entry)
        try:
            if isinstance(self.location, Folder):
                self._append(self.location, line)
            else:
                self._lines.append(line)
                overdue = time.monotonic() - self._flushed_at > 5.0 * FLUSH_SECONDS
                if len(self._lines) >= MAX_PART_LINES or overdue:
                    self.flush()
        except OSError as error:
            raise StopError(f"{self.location.text(self.name)}: cannot be written: {error.strerror or error}") from None

    def _append(self, folder: Folder, line: bytes) -> None:
        if self._stream is None:
            path = folder.path / self.name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = open(path, "ab", buffering=0)  # noqa: SIM115
            if path.stat().st_size:
                # An interrupted run may have left half a line; this entry must not be joined to it.
                line = b"\n" + line
        while line:
            line = line[self._stream.write(line) :]
        if time.monotonic() - self._flushed_at > FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Force all entries to the disk or the store."""
        self._flushed_at = time.monotonic()
        if self._stream is not None:
            os.fsync(self._stream.fileno())
        if self._lines:
            self.location.write_bytes(f"{self.name}-{self._start}-{self._part_number:06d}", b"".join(self._lines))
            if len(self._lines) >= MAX_PART_LINES:
                self._lines, self._part_number = [], self._part_number + 1

    def close(self) -> None:
        """Flush, and close the file."""
        self.flush()
        self._lines, self._part_number = [], self._part_number + 1
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def parts(self) -> list[str]:
        """The files that hold entries, oldest first."""
        folder, _, file = self.name.rpartition("/")
        prefix = f"{folder}/" if folder else ""
        return [prefix + name for name in self.location.names(folder) if name == file or name.startswith(f"{file}-")]


def entry_line(entry: dict[str, Any]) -> bytes:
    """An entry as a line of UTF-8. File names that are not UTF-8 are escaped, so that they can be read back."""
    try:
        return json.dumps(entry, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(entry, ensure_ascii=True, allow_nan=False).encode() + b"\n"


def row_journal(location: Location, name: str) -> Journal:
    """A journal of rows; rows without what a resumed run and the reports need are ignored."""
    return Journal(location, name, is_row)


def is_row(entry: dict[str, Any]) -> bool:
    """Whether an entry is the row of a clip that is done or failed, with all that reports need."""
    texts = ("reason",) if entry.get("status") == FAILED else ("verdict",)
    numbers = () if entry.get("status") == FAILED else ("frames", "duration")
    return entry.get("status") in (DONE, FAILED) and (
        all(isinstance(entry.get(key), str) for key in (*texts, *("output",) * ("output" in entry)))
        and all(isinstance(entry.get(key), int | float) for key in numbers)
    )


@record
class Index:
    """Where the last entry about each clip is, so that entries are read without keeping all of them in memory."""

    location: Location
    positions: dict[str, tuple[str, int, int]]
    """By clip: file, first byte, number of bytes."""
    _cache: dict[str, bytes] = field(default_factory=dict)
    """The part of a store that was read last, by its name."""

    @staticmethod
    def of(*journals: Journal) -> Index:
        """The index of all entries so far; a later journal counts more. Incomplete and damaged lines are skipped."""
        positions = {}
        for journal in journals:
            for part in journal.parts():
                for clip, start, size in _find_entries(journal, part):
                    positions[clip] = (part, start, size)
        return Index(location=journals[0].location, positions=positions)

    def __contains__(self, clip: str) -> bool:
        return clip in self.positions

    def __getitem__(self, clip: str) -> dict[str, Any]:
        part, start, size = self.positions[clip]
        if isinstance(self.location, Folder):
            with open(self.location.path / part, "rb") as stream:
                stream.seek(start)
                line = stream.read(size)
        else:
            if part not in self._cache:
                self._cache.clear()
                self._cache[part] = self.location.read_bytes(part) or b""
            line = self._cache[part][start : start + size]
        entry: dict[str, Any] = json.loads(line)
        return entry

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.positions))


def _find_entries(journal: Journal, part: str) -> Iterator[tuple[str, int, int]]:
    """The clip, first byte and size of every complete and valid entry of a file."""
    start = 0
    for line in _read_lines(journal.location, part):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if isinstance(entry, dict) and isinstance(entry.get("clip"), str) and journal.is_valid(entry):
            yield entry["clip"], start, len(line)
        start += len(line)


def _read_lines(location: Location, part: str) -> Iterator[bytes]:
    if isinstance(location, Folder):
        with open(location.path / part, "rb") as stream:
            yield from stream
    else:
        yield from (location.read_bytes(part) or b"").splitlines(keepends=True)


def compact(journal: Journal, left_out: Container[str] = (), others: Sequence[Journal] = ()) -> None:
    """Rewrite a journal with one entry a clip, sorted by clip. In a store, one file replaces all parts.

    Only the run that holds the folder's lock may call this.

    Args:
        journal: The journal to rewrite.
        left_out: Clips whose entries are removed.
        others: Journals of the same location whose entries are added; they count more.
    """
    journal.close()
    index, parts = Index.of(journal, *others), journal.parts()
    lines = (entry_line(index[clip]) for clip in index if clip not in left_out)
    if isinstance(journal.location, Folder):
        with open_to_write(journal.location.path / journal.name) as stream:
            stream.writelines(lines)
        return
    journal.location.write_bytes(journal.name, b"".join(lines))
    for part in parts:
        if part != journal.name:
            journal.location.remove(part)


def read_entries(journal: Journal) -> Iterator[dict[str, Any]]:
    """Every entry of a compacted journal, in order."""
    for line in _read_lines(journal.location, journal.name):
        yield json.loads(line)
