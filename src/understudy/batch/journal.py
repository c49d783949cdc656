"""One run a folder: a lock that says who has it, and that ends with its owner, however that ends."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from understudy.base.errors import UnderstudyError
from understudy.base.files import open_to_write
from understudy.batch.model import STATE, StopError
from understudy.batch.places import Folder, Location

EVERY = 1.0
"""Seconds after which lines are on the disk for sure; in a store, where every time is a new file, five."""

PART = 500
"""Lines in one file of a store, where nothing can be added to a file."""


class Journal:
    """Entries that belong to clips; the last one about a clip counts.

    Args:
        place: The output's folder.
        name: The file in it, such as `rows.jsonl`. A store gets further files of similar names until the run is over.
    """

    def __init__(self, place: Location, name: str) -> None:
        self.place, self.name = place, name
        self._stream: BinaryIO | None = None
        self._lines: list[bytes] = []
        self._part = f"{time.time_ns():020d}"
        self._number = 0
        self._synced = time.monotonic()

    def add(self, entry: dict[str, Any]) -> None:
        """Write an entry down."""
        line = json.dumps(entry, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            if isinstance(self.place, Folder):
                self._append(self.place, line)
            else:
                self._lines.append(line)
                if len(self._lines) >= PART or time.monotonic() - self._synced > 5.0 * EVERY:
                    self.flush()
        except OSError as error:
            raise StopError(f"{self.place.text(self.name)}: cannot be written: {error.strerror or error}") from None

    def _append(self, folder: Folder, line: bytes) -> None:
        if self._stream is None:
            path = folder.path / self.name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = open(path, "ab", buffering=0)  # noqa: SIM115
            if path.stat().st_size:
                # A run that was cut off may have left half a line, which must not swallow this one.
                line = b"\n" + line
        rest = line
        while rest:
            rest = rest[self._stream.write(rest) :]
        if time.monotonic() - self._synced > EVERY:
            self.flush()

    def flush(self) -> None:
        """See to it that everything is on the disk, or in the store."""
        self._synced = time.monotonic()
        if self._stream is not None:
            os.fsync(self._stream.fileno())
        if self._lines:
            self.place.write_bytes(f"{self.name}-{self._part}-{self._number:06d}", b"".join(self._lines))
            if len(self._lines) >= PART:
                self._lines, self._number = [], self._number + 1

    def close(self) -> None:
        """Flush, and let go of the file."""
        self.flush()
        self._lines, self._number = [], self._number + 1
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def parts(self) -> list[str]:
        """The files that hold entries, oldest first."""
        folder, _, own = self.name.rpartition("/")
        lead = f"{folder}/" if folder else ""
        names = self.place.names(folder)
        return [lead + name for name in names if name == own or name.startswith(f"{own}-")]


@dataclass(frozen=True, eq=False, kw_only=True)
class Index:
    """Where the last entry about each clip is, so that any can be read without keeping all."""

    place: Location
    found: dict[str, tuple[str, int, int]]
    """By clip: file, first byte, number of bytes."""
    _read: dict[str, bytes] = field(default_factory=dict)
    """The file of a store that was read last."""

    @staticmethod
    def of(journal: Journal) -> Index:
        """The index of what is written down so far; lines that were cut off are passed over."""
        found = {}
        for part in journal.parts():
            for clip, start, size in _entries(journal.place, part):
                found[clip] = (part, start, size)
        return Index(place=journal.place, found=found)

    def __contains__(self, clip: str) -> bool:
        return clip in self.found

    def __getitem__(self, clip: str) -> dict[str, Any]:
        part, start, size = self.found[clip]
        if isinstance(self.place, Folder):
            with open(self.place.path / part, "rb") as stream:
                stream.seek(start)
                line = stream.read(size)
        else:
            if part not in self._read:
                self._read.clear()
                self._read[part] = self.place.read_bytes(part) or b""
            line = self._read[part][start : start + size]
        found: dict[str, Any] = json.loads(line)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.found))


def _entries(place: Location, part: str) -> Iterator[tuple[str, int, int]]:
    """The clip, first byte and size of every whole entry of a file."""
    at = 0
    for line in _lines(place, part):
        try:
            entry = json.loads(line)
            yield entry["clip"], at, len(line)
        except (ValueError, TypeError, KeyError):
            pass
        at += len(line)


def _lines(place: Location, part: str) -> Iterator[bytes]:
    if isinstance(place, Folder):
        with open(place.path / part, "rb") as stream:
            yield from stream
    else:
        yield from (place.read_bytes(part) or b"").splitlines(keepends=True)


def compact(journal: Journal) -> None:
    """Rewrite what is written down, one entry a clip in the order of their names.

    Only for who holds the folder's lock. In a store the parts of the run are replaced by the one file.
    """
    journal.close()
    index, parts = Index.of(journal), journal.parts()
    lines = (json.dumps(index[clip], ensure_ascii=False, allow_nan=False).encode() + b"\n" for clip in index)
    if isinstance(journal.place, Folder):
        with open_to_write(journal.place.path / journal.name) as stream:
            stream.writelines(lines)
        return
    journal.place.write_bytes(journal.name, b"".join(lines))
    for part in parts:
        if part != journal.name:
            journal.place.remove(part)


def entries(journal: Journal) -> Iterator[dict[str, Any]]:
    """Every entry of a journal that is compact, one after another."""
    for line in _lines(journal.place, journal.name):
        yield json.loads(line)


LOCK = f"{STATE}/lock"

BEAT = 5.0
"""Seconds between two signs of life of an owner in a store, where the system cannot tell who lives."""

DEAD = 4.0
"""Beats without a sign of life after which a lock is taken over."""


class LockedError(UnderstudyError):
    """Another run writes into the folder."""


class Lock:
    """Held while a run writes into a folder.

    In a folder of this machine the system's own file lock holds it, which ends with the process, be it killed or the
    power cut. In a store the owner writes a sign of life every few seconds, and a lock without one is taken over.

    Args:
        place: The output's folder.
    """

    def __init__(self, place: Location) -> None:
        self.run = uuid.uuid4().hex
        self._place = place
        self._file = -1
        self._done = threading.Event()
        self._beats = 0
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Lock:
        if isinstance(self._place, Folder) and _has_flock():
            self._hold(self._place)
        else:
            self._take_over()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
            if self._owner().get("run") == self.run:
                self._place.remove(LOCK)
        if self._file >= 0:
            # The file stays: removing it would let two runs hold two files of one name.
            with suppress(OSError):
                os.ftruncate(self._file, 0)
            os.close(self._file)

    def _hold(self, folder: Folder) -> None:
        import fcntl

        path = folder.path / LOCK
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise UnderstudyError(f"{folder.text()}: cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            self._file = -1
            raise self._refusal(self._owner()) from None
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, json.dumps(self._card()).encode(), 0)
        except OSError as error:
            raise UnderstudyError(f"{folder.text()}: cannot be written: {error.strerror}") from None

    def _take_over(self) -> None:
        """Take the lock of a store, after its owner, if there is one, has shown no sign of life for a while."""
        before = self._owner()
        until = time.monotonic() + DEAD * BEAT
        while before and time.monotonic() < until:
            time.sleep(0.25 * BEAT)
            now = self._owner()
            if now and now != before:
                raise self._refusal(now)
            before = now
        self._beat()
        # Of two that come at once the later one's card stays: the other sees that, and leaves.
        time.sleep(0.25 * BEAT)
        found = self._owner()
        if found.get("run") != self.run:
            raise self._refusal(found)
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    def _live(self) -> None:
        while not self._done.wait(BEAT):
            if self._owner().get("run") == self.run:
                self._beat()

    def _beat(self) -> None:
        self._beats += 1
        self._place.write_bytes(LOCK, json.dumps(self._card()).encode())

    def _card(self) -> dict[str, Any]:
        return {"run": self.run, "host": socket.gethostname(), "process": os.getpid(), "beats": self._beats}

    def _owner(self) -> dict[str, Any]:
        """Who has the lock, as far as is written there."""
        try:
            found = json.loads(self._place.read_bytes(LOCK) or b"{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def _refusal(self, owner: dict[str, Any]) -> LockedError:
        who = f"process {owner.get('process', '?')} of {owner.get('host', '?')}" if owner else "another process"
        return LockedError(
            f"{self._place.text()}: another run, {who}, writes into this folder",
            hint="let it finish, or name another folder with -o",
        )


def _has_flock() -> bool:
    try:
        import fcntl  # noqa: F401
    except ImportError:
        return False
    return True
