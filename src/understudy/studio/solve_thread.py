"""One thread that computes: always the newest wish, never a queue of stale ones."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TypeVar

from understudy.studio.document import Document

Value = TypeVar("Value")


class SolveStoppedError(Exception):
    """Work that is not wanted any more; nobody is to see it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """Something to be computed that the next such wish makes pointless."""

    document: Document
    version: int
    seq: int | None = None
    """The drag that it answers; None for a finished change."""
    variants: tuple[str, ...] | None = None
    """Other ways to solve beside the result."""
    _stop: threading.Event = field(default_factory=threading.Event)
    _over: threading.Event = field(default_factory=threading.Event)

    @property
    def live(self) -> bool:
        """Whether somebody is dragging and waits for it."""
        return self.seq is not None

    @property
    def over(self) -> bool:
        """Whether nobody wants it any more."""
        return self._over.is_set()

    def pause(self) -> None:
        """Have it make way at the next opportunity, to be taken up again."""
        self._stop.set()

    def stop(self) -> None:
        """Have it end at the next opportunity."""
        self._over.set()
        self._stop.set()

    def check(self) -> None:
        """Raise if it is to end."""
        if self._stop.is_set():
            raise SolveStoppedError

    def again(self) -> Request:
        """The same wish, to be taken up again."""
        return replace(self, _stop=threading.Event())


class SolveThread:
    """The thread that computes, with the wish that comes next."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="studio-bench")
        self._next: Request | None = None
        self._current: Request | None = None
        self._wanted = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def want(self, wish: Request) -> None:
        """Have something computed next; what was to come next is forgotten.

        A finished change ends what is being computed. A drag only ends what is not an answer to a drag: ending those
        too would mean that while somebody drags nothing is ever seen.
        """
        self._next = wish
        if self._current is not None and not (wish.live and self._current.live):
            self._current.stop()
        self._idle.clear()
        self._wanted.set()

    def forget(self) -> None:
        """Want nothing any more; what is being computed ends."""
        self._next = None
        self._wanted.clear()
        if self._current is not None:
            self._current.stop()
        else:
            self._idle.set()

    @property
    def busy(self) -> bool:
        """Whether something is computed or waits to be."""
        return not self._idle.is_set()

    async def settled(self) -> None:
        """Wait until nothing is being computed."""
        await self._idle.wait()

    async def do(self, function: Callable[[], Value]) -> Value:
        """Something that must be done: what is being computed makes way, and is taken up again afterwards."""
        if self._current is not None:
            self._current.pause()
        return await self.inside(function)

    async def inside(self, function: Callable[[], Value]) -> Value:
        """Run a function in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    async def run(self, perform: Callable[[Request], Awaitable[None]], ready: Callable[[], Awaitable[None]]) -> None:
        """Fulfil wishes, for ever.

        Args:
            perform: What fulfils one; it deals with its errors but for `SolveStoppedError`.
            ready: Returns when the next answer can be taken; the wish that is newest then is fulfilled.
        """
        while True:
            await self._wanted.wait()
            await ready()
            self._wanted.clear()
            wish, self._next = self._next, None
            if wish is None:
                continue
            self._current = wish
            try:
                await perform(wish)
            except SolveStoppedError:
                if self._next is None and not wish.over:
                    self._next = wish.again()
            self._current = None
            if self._next is not None:
                self._wanted.set()
            else:
                self._idle.set()

    def close(self) -> None:
        """End what is being computed, and the thread."""
        self.forget()
        self._thread.shutdown(wait=False, cancel_futures=True)
