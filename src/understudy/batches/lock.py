"""One run a folder: a lock that says who has it, and that ends with its owner, however that ends."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from contextlib import suppress
from typing import Any

from understudy.batches.model import STATE
from understudy.batches.places import Folder, Place
from understudy.errors import UnderstudyError

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

    def __init__(self, place: Place) -> None:
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
