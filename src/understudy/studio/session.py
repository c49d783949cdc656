"""A session: one document, the pages that show it, and the file it is saved in."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import field
from pathlib import Path
from typing import Any

from understudy.base.consent import agree, find_source, state_folder
from understudy.base.errors import FileError, UnderstudyError
from understudy.base.files import lock_handle, open_to_write, remove_parts
from understudy.base.records import record
from understudy.studio.batches import BatchRunner
from understudy.studio.document import Document, History, apply_changes, empty_document, is_ready
from understudy.studio.export import Downloads, Outputs
from understudy.studio.films import Films
from understudy.studio.folders import Folders
from understudy.studio.forms import formats, forms
from understudy.studio.messages import RequestError, json_text
from understudy.studio.publisher import Page, Publisher
from understudy.studio.scene import SolveResult
from understudy.studio.solve_thread import Request
from understudy.studio.workshop import DocumentSolver

SESSION_FILE = "session.json"

SESSION_FORMAT = 1
"""Version of the session file; it grows when older studios cannot read the new file."""


@record
class SavedSession:
    """The part of a session that is saved to disk."""

    history: History
    view: dict[str, Any] = field(default_factory=dict)
    """View settings of the page, such as camera and selection."""
    opened: list[list[Any]] = field(default_factory=list)
    """The files named on the command line, each with its time of last change."""
    base: str = ""
    """The folder that file names are relative to; empty for a new session."""


class SessionStore:
    """The folder in which a session is saved.

    Args:
        folder: Created if it does not exist.
    """

    def __init__(self, folder: Path) -> None:
        try:
            if not folder.exists() or (folder / SESSION_FILE).exists():
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                # Others may not read what is worked on. A folder that the user had before keeps its permissions.
                folder.chmod(0o700)
        except OSError as error:
            raise FileError(str(folder), None, f"cannot save a session there: {error.strerror}") from None
        self.folder = folder.resolve()
        for name in ("uploads", "downloads", "films"):
            remove_parts(self.folder / name)
        self.path = self.folder / SESSION_FILE
        self._lock: int | None = None

    def claim(self) -> None:
        """Lock the folder, or refuse it if another studio uses it; `close` or the end of the process unlocks it."""
        try:
            self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            lock_handle(self._lock)
        except OSError:
            self.close()
            raise UnderstudyError(
                f"{self.folder}: another studio is using this session",
                hint="end that one, or give this one a session of its own with `--session FOLDER`",
            ) from None

    def close(self) -> None:
        """Unlock the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def load(self) -> tuple[SavedSession, str]:
        """Read the saved session; also returns a notice if the file could not be read, else an empty text.

        A damaged file is renamed, never deleted.
        """
        try:
            return _saved(json.loads(self.path.read_text("utf-8"))), ""
        except FileNotFoundError:
            return SavedSession(history=History(empty_document())), ""
        except (OSError, ValueError, LookupError, TypeError, RecursionError, UnderstudyError) as error:
            aside = self._set_aside()
            reason = error.message if isinstance(error, UnderstudyError) else f"{type(error).__name__}: {error}"
            notice = f"The saved session could not be read ({reason}); it was renamed to `{aside}`, a new one begins"
            return SavedSession(history=History(empty_document())), notice

    def _set_aside(self) -> str:
        number = 1
        while (aside := self.path.with_name(f"{SESSION_FILE}.damaged-{number}")).exists():
            number += 1
        try:
            os.replace(self.path, aside)
        except OSError as error:
            raise FileError(str(self.path), None, f"can neither be read nor renamed: {error.strerror}") from None
        return str(aside)

    def save(self, saved: SavedSession) -> None:
        """Write the session; the old file stays until the new one is complete."""
        table = {"format": SESSION_FORMAT, **saved.history.table()}
        table |= {"view": saved.view, "opened": saved.opened, "base": saved.base}
        with open_to_write(self.path, mode=0o600) as stream:
            stream.write(json_text(table).encode())


def _saved(table: dict[str, Any]) -> SavedSession:
    """Check and convert the content of a session file; raises if it is damaged."""
    if table["format"] > SESSION_FORMAT:
        raise ValueError(f"its format is {table['format']}, from a newer studio; this one reads up to {SESSION_FORMAT}")
    for key, shape in (("view", dict), ("opened", list), ("base", str)):
        if not isinstance(table[key], shape):
            raise ValueError(f"`{key}` is not a {shape.__name__}")
    history = History.from_table(table)
    return SavedSession(history=history, view=table["view"], opened=table["opened"], base=table["base"])


def default_folder(directory: Path) -> Path:
    """The session folder of a working directory, below the user's state folder."""
    directory = directory.resolve()
    digest = hashlib.sha256(str(directory).encode("utf-8", "surrogateescape")).hexdigest()[:10]
    name = re.sub(r"[^\w-]", "_", directory.name)[:40]
    return state_folder() / "understudy" / "studio" / f"{name}-{digest}"


MAX_PAGE_WAIT_SECONDS = 2.0
"""How long the next solve waits for slow pages to receive what was sent."""

VIEW_SAVE_DELAY_SECONDS = 0.5
"""Delay before view settings are written to disk."""


class Session:
    """The state of the server: document, history, pages and the latest solve.

    Args:
        store: The folder in which it is saved.
        saved: What was read from that folder.
        folders: The open folders.
        document_solver: Solves documents.
        notices: Sentences that the first page shows; empty ones are skipped.
    """

    def __init__(
        self,
        store: SessionStore,
        saved: SavedSession,
        folders: Folders,
        document_solver: DocumentSolver,
        notices: Iterable[str] = (),
    ) -> None:
        self.store, self.folders, self.document_solver = store, folders, document_solver
        self.history, self.view, self.opened = saved.history, saved.view, saved.opened
        self.notices = [sentence for sentence in notices if sentence]
        self.downloads = Downloads(store.folder / "downloads")
        self.films = Films(store.folder / "films")
        self.outputs = Outputs()
        # A page that reconnects after a restart must see a larger version.
        self.version = time.time_ns() // 1_000_000
        self.pages: set[Page] = set()
        self.dragging_page: Page | None = None
        self.publisher = Publisher(document_solver, folders.base, self.send, self.send_state)
        self.batches = BatchRunner(store.folder / "batches", self.publisher.send_event)
        self.change_lock = asyncio.Lock()
        """Held while the document is changed, so that changes are applied in the order of their requests."""
        self._saving = asyncio.Lock()
        self._view_saved = True
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def document(self) -> Document:
        """The document as it is now."""
        return self.history.document

    # ------------------------------------------------------------------------------------------ start and stop

    def set_first_document(self, label: str, document: Document, opened: list[list[Any]]) -> None:
        """Set the first document, before the server starts.

        Args:
            label: Name of this step in the undo history.
            document: The new document.
            opened: The files named on the command line, each with its time of last change.
        """
        self.folders.check(document)
        self.history.push(label, document)
        self.opened = opened
        self.store.save(self._saved())

    def start(self) -> None:
        """Start solving."""
        self._spawn(self.publisher.solve_thread.run(self.publisher.run_request, self._ready))
        self._solve()

    async def stop(self) -> None:
        """Stop solving, save, and unlock the folder."""
        self.publisher.solve_thread.close()
        self.batches.stop()
        for task in self._tasks:
            task.cancel()
        await self.save()
        self.store.close()

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def save(self) -> None:
        """Save the session; pages are told of an error, such as a full disk, and the session continues."""
        async with self._saving:
            try:
                await asyncio.to_thread(self.store.save, self._saved())
            except UnderstudyError as error:
                self.publisher.report(error)

    def _saved(self) -> SavedSession:
        history, base = self.history.copy(), str(self.folders.base)
        return SavedSession(history=history, view=self.view, opened=self.opened, base=base)

    # --------------------------------------------------------------------------------------------------- pages

    def send(self, message: str | bytes, subject: str = "") -> None:
        """Send a message to all pages; it replaces an unsent one on the same subject."""
        for page in self.pages:
            page.send(message, subject)

    def send_state(self) -> None:
        """Send the state, which is everything except motions, to all pages."""
        self.send(self._state(), "state")

    def _state(self) -> str:
        state = {
            "version": self.version,
            "document": self.document,
            "undo": self.history.undo_label,
            "redo": self.history.redo_label,
            "view": self.view,
            **self.publisher.scene,
            "forms": forms(),
            "formats": formats(),
            "folders": [*map(str, self.folders.listed), str(self.store.folder)],
        }
        return json_text({"on": "state", "state": state})

    def send_everything(self, page: Page) -> None:
        """Send the state, all motions and the latest result to one page."""
        page.send(self._state())
        for message in self.publisher.current_messages():
            page.send(message)
        if (batch := self.batches.table()) is not None:
            page.send(json_text({"on": "batch", "batch": batch}))
        for sentence in self.notices:
            page.send(json_text({"on": "trouble", "trouble": {"message": sentence, "hint": ""}}))
        self.notices = []

    def remove_page(self, page: Page) -> None:
        """Remove a page that disconnected, and cancel its drag."""
        self.pages.discard(page)
        page.close()
        if self.dragging_page is page:
            self.release()

    # ------------------------------------------------------------------------------------------------- changes

    async def commit(self, label: str, document: Document) -> None:
        """Replace the document: add an undo step, show, solve and save."""
        self.folders.check(document)
        if self.history.push(label, document):
            await self._document_changed()
        else:
            self.release()

    async def commit_computed(self, label: str, function: Callable[[Document], Document]) -> None:
        """Compute a new document in the solve thread, pausing the current solve, and commit it."""
        before = self.document
        await self.commit(label, await self.publisher.solve_thread.interrupt_with(lambda: function(before)))

    async def undo(self) -> None:
        """Undo the last change."""
        if self.history.undo():
            await self._document_changed()

    async def redo(self) -> None:
        """Redo the last change that was undone."""
        if self.history.redo():
            await self._document_changed()

    async def _document_changed(self) -> None:
        self.version += 1
        self.dragging_page = None
        self.send_state()
        self._solve()
        await self.save()

    def drag(self, page: Page, seq: int, changes: Any) -> None:
        """Solve and show a change without committing it."""
        document = apply_changes(self.document, changes)
        self.folders.check(document)
        if is_ready(document):
            self.dragging_page = page
            self.publisher.solve_thread.submit(Request(document=document, version=self.version, seq=seq))

    def release(self) -> None:
        """Cancel a drag; pages show the last finished solve again."""
        if self.dragging_page is None:
            return
        self.dragging_page = None
        if self.publisher.version == self.version:
            self.publisher.solve_thread.cancel()
            self.publisher.restore()
        else:
            self._solve()

    def remember(self, view: dict[str, Any]) -> None:
        """Keep the view settings of a page; they are written after a delay, not with every camera move."""
        self.view = view
        if self._view_saved:
            self._view_saved = False
            self._spawn(self._save_soon())

    async def _save_soon(self) -> None:
        await asyncio.sleep(VIEW_SAVE_DELAY_SECONDS)
        self._view_saved = True
        await self.save()

    # ------------------------------------------------------------------------------------------------- solving

    def _solve(self) -> None:
        self.publisher.solve_thread.submit(Request(document=self.document, version=self.version))

    async def finished_result(self) -> SolveResult:
        """The finished solve of the current document; waits until there is one."""
        publisher = self.publisher
        while self.dragging_page is None and publisher.version != self.version and publisher.solve_thread.busy:
            await publisher.solve_thread.wait_until_idle()
        if publisher.solve_result is None or publisher.version != self.version:
            raise RequestError("There is no result yet", hint="choose what to solve, or fix the error shown")
        return publisher.solve_result

    async def add_variants(self, names: tuple[str, ...]) -> None:
        """Solve the document with other solvers or key spacings too."""
        await self.finished_result()
        self.publisher.solve_thread.submit(Request(document=self.document, version=self.version, variants=names))

    async def _ready(self) -> None:
        """Wait until the page that drags, or else any page, received what was sent, so that results do not queue up.

        A slow page slows no other: what it has not received yet is replaced by what is newer.
        """
        pages = [self.dragging_page] if self.dragging_page in self.pages else list(self.pages)
        waiting = [asyncio.ensure_future(page.wait_until_sent()) for page in pages if page is not None]
        if waiting:
            await asyncio.wait(waiting, timeout=MAX_PAGE_WAIT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            for task in waiting:
                task.cancel()

    async def trust(self, digest: str) -> None:
        """Remember the user's consent to run a function that the document names, and solve again.

        Args:
            digest: The SHA-256 of the file that the user has seen.
        """
        for entry in self.document["recipe"]["constraint"]:
            module, _, name = str(entry.get("function", "")).partition(":")
            source = find_source(module, name, self.folders.base) if module and name else None
            if source is not None and source.digest == digest:
                await asyncio.to_thread(agree, source)
                self.version += 1
                self.send_state()
                self._solve()
                return
        raise RequestError("The document names no function with this content", hint="its file may have changed")
