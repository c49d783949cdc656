"""What the pages are sent: bodies, motions and results, each only if it changed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from understudy.base.errors import UnderstudyError
from understudy.studio.document import is_ready
from understudy.studio.messages import Arrays, error_table, json_text, pack
from understudy.studio.scene import EMPTY_SCENE, Message, SolveResult, empty_result
from understudy.studio.solve_thread import Request, SolveStoppedError, SolveThread
from understudy.studio.wording import page_words
from understudy.studio.workshop import DocumentSolver

MAX_QUEUED_BYTES = 256 << 20
"""A page with more than this in its queue is disconnected; it reconnects and loads everything again."""


class Page:
    """The connection to one browser tab, with its queue of messages.

    Args:
        send: Sends one message; returns when the next can be sent.
    """

    def __init__(self, send: Callable[[str | bytes], Awaitable[None]]) -> None:
        self._send = send
        self._waiting: deque[tuple[str | bytes, str]] = deque()
        self._size = 0
        self._more = asyncio.Event()
        self._done = asyncio.Event()
        self._done.set()
        self.closed = False

    def send(self, message: str | bytes, subject: str = "") -> None:
        """Append a message to the queue.

        Args:
            message: The message.
            subject: What it is about; it replaces an unsent message on the same subject. Empty for one that stays.
        """
        if self.closed:
            return
        for old in [entry for entry in self._waiting if subject and entry[1] == subject]:
            self._waiting.remove(old)
            self._size -= len(old[0])
        self._waiting.append((message, subject))
        self._size += len(message)
        self._done.clear()
        self._more.set()
        if self._size > MAX_QUEUED_BYTES:
            self.close()

    def close(self) -> None:
        """Drop the queue and send nothing more."""
        self.closed = True
        self._waiting.clear()
        self._more.set()
        self._done.set()

    async def wait_until_sent(self) -> None:
        """Wait until the queue is empty or the page is closed."""
        await self._done.wait()

    async def run(self) -> None:
        """Send queued messages until the page is closed."""
        while not self.closed:
            await self._more.wait()
            while self._waiting:
                message, _ = self._waiting.popleft()
                await self._send(message)
                self._size -= len(message)
            self._more.clear()
            self._done.set()


PROGRESS_INTERVAL_SECONDS = 0.1
"""Least time between two progress events."""

IDLE_EVENT = {"on": "progress", "text": "", "share": 1.0, "busy": False}

Send = Callable[[str | bytes, str], None]

log = logging.getLogger(__name__)


class Publisher:
    """Runs solve requests and sends scenes, motions and results to all pages.

    Args:
        document_solver: Solves documents.
        base: The folder that file names are relative to.
        send: Sends a message to all pages.
        on_scene_change: Called when bodies, props or notes of the document changed.
    """

    def __init__(
        self, document_solver: DocumentSolver, base: Path, send: Send, on_scene_change: Callable[[], None]
    ) -> None:
        self.document_solver, self.base, self.send, self.on_scene_change = document_solver, base, send, on_scene_change
        self.solve_thread = SolveThread()
        self.scene: dict[str, Any] = EMPTY_SCENE
        self.solve_result: SolveResult | None = None
        """The newest finished solve."""
        self.version: int | None = None
        """The document version that it solves."""
        self._shown: SolveResult | None = None
        self._motions: dict[str, Message] = {}
        """Motion messages of the finished solve, by body."""
        self._sent: dict[str, Arrays] = {}
        """Arrays that all pages have, by body; without those that a drag replaced."""
        self._result: dict[str, Any] | None = None
        self._trouble: dict[str, Any] | None = None
        """Why the current document has no result."""
        self._progress_sent = 0.0

    def send_event(self, event: dict[str, Any]) -> None:
        """Send an event to all pages."""
        subject = str(event["on"]) if event["on"] in ("progress", "result") else ""
        self.send(json_text(event), subject)

    def report(self, error: Exception) -> None:
        """Send an error to all pages."""
        self.send_event({"on": "trouble", "trouble": error_report(error)})

    def send_idle(self) -> None:
        """Tell all pages that nothing is running, unless the solve thread is busy."""
        if not self.solve_thread.busy:
            self.send_event(IDLE_EVENT)

    def current_messages(self) -> Iterator[str | bytes]:
        """Everything that a newly connected page needs, apart from the state."""
        for header, arrays in self._motions.values():
            yield pack(header, arrays)
        if self._result is not None:
            yield json_text({"on": "result", "result": self._result})
        if self._trouble is not None:
            yield json_text({"on": "trouble", "trouble": self._trouble})
        if not self.solve_thread.busy:
            yield json_text(IDLE_EVENT)

    # ------------------------------------------------------------------------------------------------- solving

    async def run_request(self, request: Request) -> None:
        """Run a request; errors are sent to the pages, not raised."""
        trouble = None
        try:
            if request.variants is not None:
                await self._add_variants(request)
            elif request.at_rest:
                await self._solve_at_rest(request)
            elif request.live or await self._update_scene(request):
                await self._solve(request)
        except SolveStoppedError:
            if request.cancelled and not request.live:
                self.send_event(IDLE_EVENT)
            raise
        except Exception as error:
            trouble = {**error_report(error), "solving": True}
            self.send_event({"on": "trouble", "trouble": trouble})
        if not request.live:
            self._trouble = trouble
            self.send_event(IDLE_EVENT)

    async def _update_scene(self, request: Request) -> bool:
        """Compute bodies, props and notes of the document; returns whether it can be solved."""
        scene = await self.solve_thread.run_in_thread(lambda: self.document_solver.view(request.document, self.base))
        request.check()
        self._set_scene(scene)
        if is_ready(request.document):
            return True
        self.solve_result, self._shown, self.version, self._motions = None, None, None, {}
        self._send_result(empty_result(None, "", 0.0), request)
        return False

    def _set_scene(self, scene: dict[str, Any]) -> None:
        scene = {**scene, "notes": [page_words(note) for note in scene["notes"]]}
        if scene != self.scene:
            self.scene = scene
            self.on_scene_change()
        # Pages drop the motions of bodies that are gone.
        shown = {body["which"] for body in scene["bodies"]}
        for which in [which for which in self._sent if which not in shown]:
            del self._sent[which]

    async def _solve(self, request: Request) -> None:
        before, watch = self._shown, self.watch(request)

        def solve() -> tuple[SolveResult, list[Message], dict[str, Any], dict[str, Any]]:
            solve_result = self.document_solver.solve(
                request.document, self.base, watch=watch, before=before, live=request.live
            )
            # The view of a solved document has more notes.
            scene = self.scene if request.live else self.document_solver.view(request.document, self.base)
            return solve_result, solve_result.motions(request.live), solve_result.result(request.seq), scene

        solve_result, motions, result, scene = await self.solve_thread.run_in_thread(solve)
        request.check()
        self._set_scene(scene)
        self._publish(solve_result, motions, result, request)

    async def _solve_at_rest(self, request: Request) -> None:
        """Show the finished solve of a drag that rests, in place of its preview."""
        shown, watch = self._shown, self.watch(request)

        def solve() -> tuple[SolveResult, list[Message], dict[str, Any]] | None:
            update = self.document_solver.solve_at_rest(request.document, self.base, watch=watch, shown=shown)
            return None if update is None else (update, update.motions(True), update.result(request.seq))

        if (solved := await self.solve_thread.run_in_thread(solve)) is not None:
            request.check()
            self._publish(*solved, request)

    async def _add_variants(self, request: Request) -> None:
        solve_result, watch = self.solve_result, self.watch(request)
        assert solve_result is not None
        assert request.variants is not None
        names = request.variants
        extended = await self.solve_thread.run_in_thread(lambda: solve_result.variants(names, watch))
        request.check()
        motions, result = await self.solve_thread.run_in_thread(
            lambda: (extended.motions(False), extended.result(None))
        )
        self._publish(extended, motions, result, request)

    def watch(self, request: Request | None = None) -> Callable[[str, float], None]:
        """A progress callback for the solve thread; it raises SolveStoppedError if the request was stopped."""
        loop = asyncio.get_running_loop()

        def watched(text: str, share: float) -> None:
            if request is not None:
                request.check()
            now = time.monotonic()
            if now - self._progress_sent > PROGRESS_INTERVAL_SECONDS and not (request is not None and request.live):
                self._progress_sent = now
                event = {"on": "progress", "text": text, "share": min(max(share, 0.0), 1.0), "busy": True}
                loop.call_soon_threadsafe(self.send_event, event)

        return watched

    # ---------------------------------------------------------------------------------------------- publishing

    def _publish(
        self, solve_result: SolveResult, motions: list[Message], result: dict[str, Any], request: Request
    ) -> None:
        self._shown = solve_result
        stamped = [({**header, "version": request.version, "seq": request.seq}, arrays) for header, arrays in motions]
        if request.live:
            for header, arrays in stamped:
                self._sent.pop(header["which"], None)
                self.send(pack(header, arrays), f"motion of {header['which']}")
        else:
            self.solve_result, self.version = solve_result, request.version
            self._motions = {header["which"]: (header, arrays) for header, arrays in stamped}
            self._send_changed()
        self._send_result(result, request)

    def _send_changed(self) -> None:
        """Send the motions of the finished solve that the pages do not have yet."""
        for which, (header, arrays) in self._motions.items():
            if not _same(self._sent.get(which), arrays):
                self.send(pack(header, arrays), f"motion of {which}")
                self._sent[which] = arrays

    def _send_result(self, result: dict[str, Any], request: Request) -> None:
        result = {**result, "version": request.version, "seq": request.seq}
        if not request.live:
            self._result = result
        self.send_event({"on": "result", "result": result})

    def restore(self) -> None:
        """Show the finished solve again after a cancelled drag."""
        self._shown = self.solve_result
        self._send_changed()
        if self._result is not None:
            self.send_event({"on": "result", "result": self._result})


def _same(one: Arrays | None, other: Arrays) -> bool:
    if one is None or one.keys() != other.keys():
        return False
    return all(one[name] is other[name] or np.array_equal(one[name], other[name]) for name in other)


def error_report(error: BaseException) -> dict[str, Any]:
    """An error as the page shows it; unexpected errors are also logged with their traceback."""
    if isinstance(error, UnderstudyError):
        return error_table(error)
    if isinstance(error, OSError):
        # For example a name that is too long for the system.
        return {"message": f"{error.filename or 'The system'}: {error.strerror or error}", "hint": ""}
    log.error("unexpected error in the studio", exc_info=error)
    return {
        "message": f"Unexpected error: {type(error).__name__}: {error}",
        "hint": "nothing is lost; the terminal that runs the studio shows the traceback, please report it",
    }
