"""Journals of a run: one JSON entry a line, readable even if the run is cut off at any moment."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from understudy.base.files import open_to_write
from understudy.batch.location import Folder, Location
from understudy.batch.model import StopError

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
    """

    def __init__(self, location: Location, name: str) -> None:
        self.location, self.name = location, name
        self._stream: BinaryIO | None = None
        self._lines: list[bytes] = []
        self._start = f"{time.time_ns():020d}"
        self._part_number = 0
        self._flushed_at = time.monotonic()

    def add(self, entry: dict[str, Any]) -> None:
        """Append an entry."""
        line = json.dumps(entry, ensure_ascii=False, allow_nan=False).encode() + b"\n"
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Index:
    """Where the last entry about each clip is, so that entries are read without keeping all of them in memory."""

    location: Location
    positions: dict[str, tuple[str, int, int]]
    """By clip: file, first byte, number of bytes."""
    _cache: dict[str, bytes] = field(default_factory=dict)
    """The part of a store that was read last, by its name."""

    @staticmethod
    def of(journal: Journal) -> Index:
        """The index of all entries so far; incomplete lines are skipped."""
        positions = {}
        for part in journal.parts():
            for clip, start, size in _find_entries(journal.location, part):
                positions[clip] = (part, start, size)
        return Index(location=journal.location, positions=positions)

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


def _find_entries(location: Location, part: str) -> Iterator[tuple[str, int, int]]:
    """The clip, first byte and size of every complete entry of a file."""
    start = 0
    for line in _read_lines(location, part):
        try:
            entry = json.loads(line)
            yield entry["clip"], start, len(line)
        except (ValueError, TypeError, KeyError):
            pass
        start += len(line)


def _read_lines(location: Location, part: str) -> Iterator[bytes]:
    if isinstance(location, Folder):
        with open(location.path / part, "rb") as stream:
            yield from stream
    else:
        yield from (location.read_bytes(part) or b"").splitlines(keepends=True)


def compact(journal: Journal) -> None:
    """Rewrite a journal with one entry a clip, sorted by clip. In a store, one file replaces all parts.

    Only the run that holds the folder's lock may call this.
    """
    journal.close()
    index, parts = Index.of(journal), journal.parts()
    lines = (json.dumps(index[clip], ensure_ascii=False, allow_nan=False).encode() + b"\n" for clip in index)
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
