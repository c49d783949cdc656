"""The lock of an output folder: one run at a time writes there, and the lock ends when its owner dies."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from contextlib import suppress
from typing import Any

from understudy.base.errors import UnderstudyError
from understudy.base.files import can_lock, lock_handle
from understudy.batch.location import Folder, Location
from understudy.batch.model import STATE_FOLDER, JobSpec, StopError

LOCK_NAME = "lock"
"""The file, in a state folder, that names the run that writes into the output folder."""

LOCK_FILE = f"{STATE_FOLDER}/{LOCK_NAME}"
"""The lock of a run that is no shard."""

HEARTBEAT_SECONDS = 5.0
"""Time between two heartbeats of an owner in a store, where the system cannot tell whether a process lives."""

MAX_MISSED_HEARTBEATS = 4.0
"""Heartbeats that may be missing before a lock is taken over."""


class LockedError(UnderstudyError):
    """Another run writes into the folder."""


class Lock:
    """Held while a run writes into a folder.

    A local folder is locked by the system's file lock, which ends with the process, even if the process is killed or
    the power fails. In a store the owner writes a heartbeat every few seconds; a lock without one is taken over.

    Args:
        location: The output folder.
        state: The state folder in it; each shard of a batch has one and can be locked by itself.
    """

    def __init__(self, location: Location, state: str = STATE_FOLDER) -> None:
        self.run_id = uuid.uuid4().hex
        self._location, self._state = location, state
        self._name = f"{state}/{LOCK_NAME}"
        self._file = -1
        self._released = threading.Event()
        self._beats = 0
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Lock:
        if isinstance(self._location, Folder) and can_lock():
            self._lock_file(self._location)
        else:
            self._take_over()
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        if self._thread is not None:
            self._thread.join()
            if read_owner(self._location, self._state).get("run") == self.run_id:
                self._location.remove(self._name)
        if self._file >= 0:
            # The file stays: if it were removed, two runs could each lock a different file of this name.
            with suppress(OSError):
                os.ftruncate(self._file, 0)
            os.close(self._file)

    def _lock_file(self, folder: Folder) -> None:
        path = folder.path / self._name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        except OSError as error:
            raise UnderstudyError(f"{folder.text()}: cannot be written: {error.strerror}") from None
        try:
            lock_handle(self._file)
        except OSError:
            os.close(self._file)
            self._file = -1
            raise self._refusal(read_owner(self._location, self._state)) from None
        try:
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
            os.write(self._file, json.dumps(self._content()).encode())
        except OSError as error:
            raise UnderstudyError(f"{folder.text()}: cannot be written: {error.strerror}") from None

    def _take_over(self) -> None:
        """Take the lock of a store once its owner, if there is one, has missed its heartbeats."""
        before = read_owner(self._location, self._state)
        deadline = time.monotonic() + MAX_MISSED_HEARTBEATS * HEARTBEAT_SECONDS
        while before and time.monotonic() < deadline:
            time.sleep(0.25 * HEARTBEAT_SECONDS)
            now = read_owner(self._location, self._state)
            if now and now != before:
                raise self._refusal(now)
            before = now
        self._beat()
        # If two runs write the lock at once, the later content stays. The other run reads it and gives up.
        time.sleep(0.25 * HEARTBEAT_SECONDS)
        owner = read_owner(self._location, self._state)
        if owner.get("run") != self.run_id:
            raise self._refusal(owner)
        self._thread = threading.Thread(target=self._keep_beating, daemon=True)
        self._thread.start()

    def _keep_beating(self) -> None:
        while not self._released.wait(HEARTBEAT_SECONDS):
            if read_owner(self._location, self._state).get("run") == self.run_id:
                self._beat()

    def _beat(self) -> None:
        self._beats += 1
        self._location.write_bytes(self._name, json.dumps(self._content()).encode())

    def _content(self) -> dict[str, Any]:
        return {"run": self.run_id, "host": socket.gethostname(), "process": os.getpid(), "beats": self._beats}

    def _refusal(self, owner: dict[str, Any]) -> LockedError:
        who = f"process {owner.get('process', '?')} of {owner.get('host', '?')}" if owner else "another process"
        return LockedError(
            f"{self._location.text()}: another run, {who}, writes into this folder",
            hint="let it finish, or name another folder with -o",
        )


def read_owner(location: Location, state: str = STATE_FOLDER) -> dict[str, Any]:
    """The content of the lock file: run, host and process of the owner; empty where nobody holds the lock."""
    try:
        owner = json.loads(location.read_bytes(f"{state}/{LOCK_NAME}") or b"{}")
    except ValueError:
        return {}
    return owner if isinstance(owner, dict) else {}


def check_lock(spec: JobSpec) -> None:
    """Refuse to write results for a run that has lost the folder to another run."""
    if spec.run_id and read_owner(spec.output, spec.state).get("run") != spec.run_id:
        raise StopError(f"{spec.output.text()}: another run has taken over this folder")


def check_unlocked(location: Location, state: str) -> None:
    """Refuse to go on where a run holds the lock of a state folder."""
    if read_owner(location, state):
        with Lock(location, state):
            pass
