"""An open page: what it is told, in order, and how far it has got with it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

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
