"""One thread that solves: it always takes the newest request and drops older ones."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import field, replace
from typing import TypeVar

from understudy.base.records import record
from understudy.studio.document import Document

Value = TypeVar("Value")


class SolveStoppedError(Exception):
    """Raised inside a solve whose result is not wanted any more."""


@record
class Request:
    """A document to solve; the next request replaces it."""

    document: Document
    version: int
    seq: int | None = None
    """Number of the drag update that it answers; None for a finished change."""
    at_rest: bool = False
    """Whether it answers a drag that rests: the document is solved in full, without being kept."""
    variants: tuple[str, ...] | None = None
    """Names of variants to solve beside the result."""
    _stop: threading.Event = field(default_factory=threading.Event)
    _cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def live(self) -> bool:
        """Whether it answers a drag."""
        return self.seq is not None

    @property
    def cancelled(self) -> bool:
        """Whether it was stopped for good."""
        return self._cancelled.is_set()

    def pause(self) -> None:
        """Interrupt it at its next check; it is resumed later."""
        self._stop.set()

    def stop(self) -> None:
        """End it for good at its next check."""
        self._cancelled.set()
        self._stop.set()

    def check(self) -> None:
        """Raise SolveStoppedError if it was paused or stopped."""
        if self._stop.is_set():
            raise SolveStoppedError

    def resumed(self) -> Request:
        """A copy that is not paused."""
        return replace(self, _stop=threading.Event())


REST_SECONDS = 0.25
"""Seconds without a further update after which a drag rests."""


class SolveThread:
    """The thread that solves, with the current and the next request."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="studio-solve")
        self._next: Request | None = None
        self._current: Request | None = None
        self._pending = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def submit(self, request: Request) -> None:
        """Set the next request; one that has not started yet is dropped.

        A finished change stops the current request. A drag update stops it only if it is not a drag update itself, or
        if that drag rested: otherwise no update would ever finish while the user drags.
        """
        self._next = request
        if self._current is not None and not (request.live and self._current.live and not self._current.at_rest):
            self._current.stop()
        self._idle.clear()
        self._pending.set()

    def cancel(self) -> None:
        """Drop the next request and stop the current one."""
        self._next = None
        self._pending.clear()
        if self._current is not None:
            self._current.stop()
        else:
            self._idle.set()

    @property
    def busy(self) -> bool:
        """Whether a request runs or waits."""
        return not self._idle.is_set()

    async def wait_until_idle(self) -> None:
        """Wait until no request runs or waits."""
        await self._idle.wait()

    async def interrupt_with(self, function: Callable[[], Value]) -> Value:
        """Run a function in the thread, pausing the current request, which is resumed afterwards."""
        if self._current is not None:
            self._current.pause()
        return await self.run_in_thread(function)

    async def run_in_thread(self, function: Callable[[], Value]) -> Value:
        """Run a function in the thread. If it tries to end the program, it raises an ordinary error instead."""

        def guarded() -> Value:
            try:
                return function()
            except (SystemExit, GeneratorExit, KeyboardInterrupt) as error:
                raise RuntimeError(f"{type(error).__name__}: {error}") from error

        return await asyncio.get_running_loop().run_in_executor(self._thread, guarded)

    async def run(self, perform: Callable[[Request], Awaitable[None]], ready: Callable[[], Awaitable[None]]) -> None:
        """Run requests until cancelled.

        Args:
            perform: Runs one request; handles all its errors except `SolveStoppedError`.
            ready: Returns when the next result can be sent; the request that is newest then is run.
        """
        while True:
            await self._pending.wait()
            await ready()
            self._pending.clear()
            request, self._next = self._next, None
            if request is None:
                continue
            self._current = request
            try:
                await perform(request)
                if request.live and not request.at_rest:
                    await self._rest(request)
            except SolveStoppedError:
                if self._next is None and not request.cancelled:
                    self._next = request.resumed()
            self._current = None
            if self._next is not None:
                self._pending.set()
            else:
                self._idle.set()

    async def _rest(self, request: Request) -> None:
        """Wait for what follows an update of a drag; if nothing does, the same document is solved in full."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._pending.wait(), REST_SECONDS)
        if self._next is None and not request.cancelled:
            self._next = replace(request, at_rest=True)

    def close(self) -> None:
        """Stop the current request and the thread."""
        self.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)
