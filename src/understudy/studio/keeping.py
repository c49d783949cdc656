"""Where a session is kept: written whole after every change, found again after a crash, used by one at a time."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.errors import FileError, UnderstudyError
from understudy.io.files import open_to_write
from understudy.studio.document import fresh
from understudy.studio.history import History
from understudy.studio.messages import json_text

FILE = "session.json"
FORMAT = 1
"""Grows when older studios could not read what is kept."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Kept:
    """What is kept of a session."""

    history: History
    view: dict[str, Any] = field(default_factory=dict)
    """What the page asked to be remembered."""
    opened: list[list[Any]] = field(default_factory=list)
    """The files that the command line named, each with when it was changed last."""
    base: str = ""
    """The folder that files are named from; empty for a session that is new."""


class Keeper:
    """The folder of a session.

    Args:
        folder: Made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise FileError(str(folder), None, f"no session can be kept there: {error.strerror}") from None
        self.folder = folder.resolve()
        self.path = self.folder / FILE
        self._lock: int | None = None

    def claim(self) -> None:
        """Refuse a folder that another studio is using; released by `close`, and by the system after a crash."""
        try:
            self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            _lock(self._lock)
        except OSError:
            self.close()
            raise UnderstudyError(
                f"{self.folder}: another studio is using this session",
                hint="end that one, or give this one a session of its own with `--session FOLDER`",
            ) from None

    def close(self) -> None:
        """Let others have the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def load(self) -> tuple[Kept, str]:
        """What is kept, and a sentence where it could not be read.

        What is damaged is set aside under another name, never thrown away.
        """
        try:
            return _kept(json.loads(self.path.read_text("utf-8"))), ""
        except FileNotFoundError:
            return Kept(history=History(fresh())), ""
        except (OSError, ValueError, LookupError, TypeError, RecursionError, UnderstudyError) as error:
            aside = self._set_aside()
            said = error.message if isinstance(error, UnderstudyError) else f"{type(error).__name__}: {error}"
            notice = f"The kept session could not be read ({said}); it is now `{aside}`, and a fresh one is begun"
            return Kept(history=History(fresh())), notice

    def _set_aside(self) -> str:
        number = 1
        while (aside := self.path.with_name(f"{FILE}.damaged-{number}")).exists():
            number += 1
        try:
            os.replace(self.path, aside)
        except OSError as error:
            raise FileError(str(self.path), None, f"cannot be read nor set aside: {error.strerror}") from None
        return str(aside)

    def save(self, kept: Kept) -> None:
        """Write everything; the old file stays until the new one is whole."""
        table = {"format": FORMAT, **kept.history.table(), "view": kept.view, "opened": kept.opened, "base": kept.base}
        with open_to_write(self.path) as stream:
            stream.write(json_text(table).encode())


def _kept(table: dict[str, Any]) -> Kept:
    """What a file holds; raises where it is damaged."""
    if table["format"] > FORMAT:
        raise ValueError(f"it is of format {table['format']}, of a newer studio; this one knows {FORMAT}")
    for key, shape in (("view", dict), ("opened", list), ("base", str)):
        if not isinstance(table[key], shape):
            raise ValueError(f"`{key}` is no {shape.__name__}")
    history = History.from_table(table)
    return Kept(history=history, view=table["view"], opened=table["opened"], base=table["base"])


def default_folder(where: Path) -> Path:
    """The folder of the session that belongs to a working directory, below the user's state folder."""
    where = where.resolve()
    digest = hashlib.sha256(str(where).encode("utf-8", "surrogateescape")).hexdigest()[:10]
    name = re.sub(r"[^\w-]", "_", where.name)[:40]
    return _state_folder() / "understudy" / "studio" / f"{name}-{digest}"


def _state_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
