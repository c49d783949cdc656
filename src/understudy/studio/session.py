"""A session: one document, the pages that look at it, and its keeping."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.base.errors import FileError, UnderstudyError
from understudy.base.files import open_to_write
from understudy.studio.document import Document, History, changed, fresh, is_ready
from understudy.studio.export import Downloads
from understudy.studio.folders import Folders
from understudy.studio.forms import formats, forms
from understudy.studio.messages import RequestError, json_text
from understudy.studio.scene import Work
from understudy.studio.show import Page, Show
from understudy.studio.solve_thread import Request
from understudy.studio.workshop import Workshop

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


PATIENCE = 2.0
"""Seconds that computing waits for slow pages to take what they were told."""

SOON = 0.5
"""Seconds after which what a page asked to be remembered is written."""


class Session:
    """Everything that the server knows.

    Args:
        keeper: Where it is kept.
        kept: What was kept of it.
        folders: The open folders.
        workshop: What computes.
        notices: What the first page is to be told, a sentence each.
    """

    def __init__(
        self, keeper: Keeper, kept: Kept, folders: Folders, workshop: Workshop, notices: Iterable[str] = ()
    ) -> None:
        self.keeper, self.folders, self.workshop = keeper, folders, workshop
        self.history, self.view, self.opened = kept.history, kept.view, kept.opened
        self.notices = [sentence for sentence in notices if sentence]
        self.downloads = Downloads(keeper.folder / "downloads")
        # A page that comes back after a restart must see the version grow.
        self.version = time.time_ns() // 1_000_000
        self.pages: set[Page] = set()
        self.dragger: Page | None = None
        self.show = Show(workshop, folders.base, self.tell, self.tell_state)
        self.changing = asyncio.Lock()
        """Held by whoever changes the document, so that changes are made in the order they were asked for."""
        self._saving = asyncio.Lock()
        self._view_kept = True
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def document(self) -> Document:
        """What is edited."""
        return self.history.document

    # --------------------------------------------------------------------------------------- beginning and end

    def begin(self, label: str, document: Document, opened: list[list[Any]]) -> None:
        """Take a document before anything is served.

        Args:
            label: What was done.
            document: What came of it.
            opened: The files that were named for it, and when each was changed.
        """
        self.folders.check(document)
        self.history.push(label, document)
        self.opened = opened
        self.keeper.save(self._kept())

    def start(self) -> None:
        """Begin to compute."""
        self._spawn(self.show.bench.run(self.show.perform, self._ready))
        self._solve()

    async def stop(self) -> None:
        """Write what is not written yet, and end."""
        self.show.bench.close()
        for task in self._tasks:
            task.cancel()
        await self.save()
        self.keeper.close()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def save(self) -> None:
        """Write everything down; a full disk is told, and the session goes on."""
        async with self._saving:
            try:
                await asyncio.to_thread(self.keeper.save, self._kept())
            except UnderstudyError as error:
                self.show.trouble(error)

    def _kept(self) -> Kept:
        return Kept(history=self.history.copy(), view=self.view, opened=self.opened, base=str(self.folders.base))

    # --------------------------------------------------------------------------------------------------- pages

    def tell(self, message: str | bytes) -> None:
        """Tell all pages something."""
        for page in self.pages:
            page.tell(message)

    def tell_state(self) -> None:
        """Tell all pages everything but motions."""
        self.tell(self._state())

    def _state(self) -> str:
        state = {
            "version": self.version,
            "document": self.document,
            "undo": self.history.undo_label,
            "redo": self.history.redo_label,
            "view": self.view,
            **self.show.scene,
            "forms": forms(),
            "formats": formats(),
            "folders": [*map(str, self.folders.listed), str(self.keeper.folder)],
        }
        return json_text({"on": "state", "state": state})

    def greet(self, page: Page) -> None:
        """Tell a page everything there is."""
        page.tell(self._state())
        for message in self.show.messages():
            page.tell(message)
        for sentence in self.notices:
            page.tell(json_text({"on": "trouble", "trouble": {"message": sentence, "hint": ""}}))
        self.notices = []

    def leave(self, page: Page) -> None:
        """A page is gone; what it was dragging is forgotten."""
        self.pages.discard(page)
        page.close()
        if self.dragger is page:
            self.release()

    # ------------------------------------------------------------------------------------------------- changes

    async def commit(self, label: str, document: Document) -> None:
        """Take a new document: a step of undo, shown, solved and saved."""
        self.folders.check(document)
        if self.history.push(label, document):
            await self._moved()
        else:
            self.release()

    async def make(self, label: str, function: Callable[[Document], Document]) -> None:
        """Take a document that has to be computed; what is solved meanwhile makes way."""
        before = self.document
        await self.commit(label, await self.show.bench.do(lambda: function(before)))

    async def undo(self) -> None:
        """Take the last change back."""
        if self.history.undo():
            await self._moved()

    async def redo(self) -> None:
        """Do again what was taken back."""
        if self.history.redo():
            await self._moved()

    async def _moved(self) -> None:
        self.version += 1
        self.dragger = None
        self.tell_state()
        self._solve()
        await self.save()

    def drag(self, page: Page, seq: int, changes: Any) -> None:
        """Show what a change would give, without making it."""
        document = changed(self.document, changes)
        self.folders.check(document)
        if is_ready(document):
            self.dragger = page
            self.show.bench.want(Request(document=document, version=self.version, seq=seq))

    def release(self) -> None:
        """Forget a drag: the pages get what was solved before it."""
        if self.dragger is None:
            return
        self.dragger = None
        if self.show.version == self.version:
            self.show.bench.forget()
            self.show.restore()
        else:
            self._solve()

    def remember(self, view: dict[str, Any]) -> None:
        """Keep what a page shows; written soon, and not with every turn of the camera."""
        self.view = view
        if self._view_kept:
            self._view_kept = False
            self._spawn(self._save_soon())

    async def _save_soon(self) -> None:
        await asyncio.sleep(SOON)
        self._view_kept = True
        await self.save()

    # ----------------------------------------------------------------------------------------------- computing

    def _solve(self) -> None:
        self.show.bench.want(Request(document=self.document, version=self.version))

    async def work(self) -> Work:
        """What was solved of the document as it is; waits for it."""
        while self.dragger is None and self.show.version != self.version and self.show.bench.busy:
            await self.show.bench.settled()
        if self.show.work is None or self.show.version != self.version:
            raise RequestError("There is no result yet", hint="choose what is to be solved, or mend what is wrong")
        return self.show.work

    async def add_variants(self, names: tuple[str, ...]) -> None:
        """Have the document solved in other ways too."""
        await self.work()
        self.show.bench.want(Request(document=self.document, version=self.version, variants=names))

    async def _ready(self) -> None:
        """Wait for pages to take what they were told: answers would only pile up behind one another."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                for page in list(self.pages):
                    await page.told()
