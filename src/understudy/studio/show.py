"""What the pages see of what is computed: bodies, motions and results, each sent when it is another than before."""

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
from understudy.studio.messages import Arrays, json_text, pack, trouble
from understudy.studio.scene import Message, Work, empty_result
from understudy.studio.solve_thread import Request, SolveStoppedError, SolveThread
from understudy.studio.workshop import Workshop

FULL = 256 << 20
"""Bytes that may wait for a page; one that takes nothing any more is given up, and asks anew when it is back."""


class Page:
    """One tab of a browser.

    Args:
        send: Sends one message; returns when there is room for the next.
    """

    def __init__(self, send: Callable[[str | bytes], Awaitable[None]]) -> None:
        self._send = send
        self._waiting: deque[str | bytes] = deque()
        self._size = 0
        self._more = asyncio.Event()
        self._done = asyncio.Event()
        self._done.set()
        self.closed = False

    def tell(self, message: str | bytes) -> None:
        """Send a message after those that wait already."""
        if self.closed:
            return
        self._waiting.append(message)
        self._size += len(message)
        self._done.clear()
        self._more.set()
        if self._size > FULL:
            self.close()

    def close(self) -> None:
        """Tell it nothing any more."""
        self.closed = True
        self._waiting.clear()
        self._more.set()
        self._done.set()

    async def told(self) -> None:
        """Wait until everything is sent."""
        await self._done.wait()

    async def run(self) -> None:
        """Send what there is, until the page is closed."""
        while not self.closed:
            await self._more.wait()
            while self._waiting:
                message = self._waiting.popleft()
                await self._send(message)
                self._size -= len(message)
            self._more.clear()
            self._done.set()


EVERY = 0.1
"""Seconds between two words on how far work is."""

NOTHING: dict[str, Any] = {
    "fps": 30.0, "duration": 0.0, "bodies": [], "props": [], "floor": 0.0, "correspondence": None, "notes": [],
}  # fmt: skip
"""What follows from a document that holds nothing."""

OVER = {"on": "progress", "text": "", "share": 1.0, "busy": False}

Tell = Callable[[str | bytes], None]

log = logging.getLogger(__name__)


class Show:
    """What is on for all pages.

    Args:
        workshop: What computes.
        base: What files are named from.
        tell: Tells all pages something.
        changed: Called when what follows from the document is another than before.
    """

    def __init__(self, workshop: Workshop, base: Path, tell: Tell, changed: Callable[[], None]) -> None:
        self.workshop, self.base, self.tell, self.changed = workshop, base, tell, changed
        self.bench = SolveThread()
        self.scene: dict[str, Any] = NOTHING
        self.work: Work | None = None
        """The newest finished solve."""
        self.version: int | None = None
        """What it is a solve of."""
        self._shown: Work | None = None
        self._motions: dict[str, Message] = {}
        """Of the finished solve, by what they go by."""
        self._held: dict[str, Arrays] = {}
        """What the pages are known to hold; what a drag has changed is not in it."""
        self._result: dict[str, Any] | None = None
        self._trouble: dict[str, Any] | None = None
        """Why the document as it is has no result."""
        self._told = 0.0

    def event(self, event: dict[str, Any]) -> None:
        """Tell all pages of something."""
        self.tell(json_text(event))

    def trouble(self, error: Exception) -> None:
        """Tell all pages what went wrong; what nobody foresaw is logged in full."""
        self.event({"on": "trouble", "trouble": told(error)})

    def rest(self) -> None:
        """Tell all pages that nothing is being done, if that is so."""
        if not self.bench.busy:
            self.event(OVER)

    def messages(self) -> Iterator[str | bytes]:
        """All that a page must hear that was not there before."""
        for header, arrays in self._motions.values():
            yield pack(header, arrays)
        if self._result is not None:
            yield json_text({"on": "result", "result": self._result})
        if self._trouble is not None:
            yield json_text({"on": "trouble", "trouble": self._trouble})
        if not self.bench.busy:
            yield json_text(OVER)

    # ----------------------------------------------------------------------------------------------- computing

    async def perform(self, wish: Request) -> None:
        """Fulfil a wish; what goes wrong is told, and all goes on."""
        found = None
        try:
            if wish.variants is not None:
                await self._add_variants(wish)
            elif wish.live or await self._look(wish):
                await self._solve(wish)
        except SolveStoppedError:
            if wish.over and not wish.live:
                self.event(OVER)
            raise
        except Exception as error:
            found = {**told(error), "solving": True}
            self.event({"on": "trouble", "trouble": found})
        if not wish.live:
            self._trouble = found
            self.event(OVER)

    async def _look(self, wish: Request) -> bool:
        """Find out what follows from the document; returns whether it can be solved."""
        scene = await self.bench.inside(lambda: self.workshop.view(wish.document, self.base))
        wish.check()
        self._set_scene(scene)
        if is_ready(wish.document):
            return True
        self.work, self._shown, self.version, self._motions = None, None, None, {}
        self._tell_result(empty_result(None, "", 0.0), wish)
        return False

    def _set_scene(self, scene: dict[str, Any]) -> None:
        if scene != self.scene:
            self.scene = scene
            self.changed()
        # Pages forget the motions of bodies that are gone.
        kept = {body["which"] for body in scene["bodies"]}
        for which in [which for which in self._held if which not in kept]:
            del self._held[which]

    async def _solve(self, wish: Request) -> None:
        before, watch = self._shown, self.watch(wish)

        def solve() -> tuple[Work, list[Message], dict[str, Any], dict[str, Any]]:
            work = self.workshop.solve(wish.document, self.base, watch=watch, before=before, live=wish.live)
            # More is known of a document that was solved.
            scene = self.scene if wish.live else self.workshop.view(wish.document, self.base)
            return work, work.motions(wish.live), work.result(wish.seq), scene

        work, motions, result, scene = await self.bench.inside(solve)
        wish.check()
        self._set_scene(scene)
        self._publish(work, motions, result, wish)

    async def _add_variants(self, wish: Request) -> None:
        work, watch = self.work, self.watch(wish)
        assert work is not None
        assert wish.variants is not None
        names = wish.variants
        found = await self.bench.inside(lambda: work.variants(names, watch))
        wish.check()
        motions, result = await self.bench.inside(lambda: (found.motions(False), found.result(None)))
        self._publish(found, motions, result, wish)

    def watch(self, wish: Request | None = None) -> Callable[[str, float], None]:
        """What computing tells how far it is; called from the thread that computes, and raises where it is to stop."""
        loop = asyncio.get_running_loop()

        def watched(text: str, share: float) -> None:
            if wish is not None:
                wish.check()
            now = time.monotonic()
            if now - self._told > EVERY and not (wish is not None and wish.live):
                self._told = now
                event = {"on": "progress", "text": text, "share": min(max(share, 0.0), 1.0), "busy": True}
                loop.call_soon_threadsafe(self.event, event)

        return watched

    # ---------------------------------------------------------------------------------------------- publishing

    def _publish(self, work: Work, motions: list[Message], result: dict[str, Any], wish: Request) -> None:
        self._shown = work
        stamped = [({**header, "version": wish.version, "seq": wish.seq}, arrays) for header, arrays in motions]
        if wish.live:
            for header, arrays in stamped:
                self._held.pop(header["which"], None)
                self.tell(pack(header, arrays))
        else:
            self.work, self.version = work, wish.version
            self._motions = {header["which"]: (header, arrays) for header, arrays in stamped}
            self._send_changed()
        self._tell_result(result, wish)

    def _send_changed(self) -> None:
        """Send the motions of the finished solve that the pages do not hold."""
        for which, (header, arrays) in self._motions.items():
            if not _same(self._held.get(which), arrays):
                self.tell(pack(header, arrays))
                self._held[which] = arrays

    def _tell_result(self, result: dict[str, Any], wish: Request) -> None:
        result = {**result, "version": wish.version, "seq": wish.seq}
        if not wish.live:
            self._result = result
        self.event({"on": "result", "result": result})

    def restore(self) -> None:
        """Show the finished solve again, after a drag that was given up."""
        self._shown = self.work
        self._send_changed()
        if self._result is not None:
            self.event({"on": "result", "result": self._result})


def _same(one: Arrays | None, other: Arrays) -> bool:
    if one is None or one.keys() != other.keys():
        return False
    return all(one[name] is other[name] or np.array_equal(one[name], other[name]) for name in other)


def told(error: Exception) -> dict[str, Any]:
    """An error as a trouble; one that nobody foresaw is logged in full."""
    if isinstance(error, UnderstudyError):
        return trouble(error)
    log.error("something nobody foresaw", exc_info=error)
    return {
        "message": f"Something went wrong that nobody foresaw: {type(error).__name__}: {error}",
        "hint": "nothing is lost; the terminal that runs the studio shows more, please report it",
    }
