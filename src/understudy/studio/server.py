"""The server: the page, the websocket it talks through, uploads, downloads and skins, on this machine alone."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from understudy.errors import UnderstudyError
from understudy.studio.commands import answer
from understudy.studio.messages import RequestError, pack, trouble
from understudy.studio.pages import Page
from understudy.studio.security import Guard
from understudy.studio.session import Session
from understudy.studio.uploads import LARGEST, TooLargeError, receive, upload_name

MESSAGE = 16 << 20
"""Bytes of a websocket message from which on the connection is cut; smaller ones that are too large are answered."""
AT_ONCE = 64
"""Requests of one page that are worked on at the same time."""


def make_app(session: Session, page: Path, *, port: int, token: str, largest: int = LARGEST) -> Guard:
    """The studio as an ASGI application.

    Args:
        session: What it serves.
        page: The folder with the built page.
        port: Where it will be reached.
        token: What pages must show.
        largest: Bytes of an uploaded file at most.
    """
    mimetypes.add_type("text/javascript", ".js")
    doors = _Doors(session, page, largest)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        session.start()
        try:
            yield
        finally:
            await session.stop()

    routes = [
        Route("/", doors.index),
        Route("/upload", doors.upload, methods=["PUT"]),
        Route("/mesh/{which:path}", doors.mesh),
        Route("/download/{place}/{name}", doors.download),
        WebSocketRoute("/live", doors.live),
        Mount("/", StaticFiles(directory=page)),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    guard = Guard(app, port=port, token=token)
    doors.cookie = (guard.cookie, token)
    return guard


class _Doors:
    """What answers at each address."""

    def __init__(self, session: Session, page: Path, largest: int) -> None:
        self.session, self.page, self.largest = session, page, largest
        self.cookie = ("", "")

    async def index(self, request: Request) -> Response:
        if "token" not in request.query_params:
            return FileResponse(self.page / "index.html")
        # The token goes into a cookie and out of the address, where it would be seen and kept.
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(*self.cookie, httponly=True, samesite="strict", path="/")
        return response

    async def mesh(self, request: Request) -> Response:
        which = request.path_params["which"]
        try:
            work = await self.session.work()
            found = await asyncio.to_thread(work.mesh, which)
        except UnderstudyError as error:
            return JSONResponse({"error": trouble(error)}, status_code=404)
        if found is None:
            missing = trouble(RequestError(f"`{which}` has no skin"))
            return JSONResponse({"error": missing}, status_code=404)
        return Response(pack(*found), media_type="application/octet-stream")

    async def download(self, request: Request) -> Response:
        path = self.session.downloads.find(request.path_params["place"], request.path_params["name"])
        if path is None:
            error = RequestError("This download is gone", hint="ask for it again")
            return JSONResponse({"error": trouble(error)}, status_code=404)
        return FileResponse(path, filename=path.name, content_disposition_type="attachment")

    async def upload(self, request: Request) -> Response:
        """A file from the page, taken only when all of it has come."""
        name = request.query_params.get("name", "")
        try:
            plain = upload_name(name)
            kept = await receive(request.stream(), plain, self.session.folders.uploads, self.largest)
        except UnderstudyError as error:
            status = 413 if isinstance(error, TooLargeError) else 400
            return JSONResponse({"error": trouble(error)}, status_code=status)
        return JSONResponse({"name": self.session.folders.called(kept)})

    async def live(self, connection: WebSocket) -> None:
        """The websocket of one page: requests in, answers and events out."""
        await connection.accept()

        async def send(message: str | bytes) -> None:
            await (connection.send_bytes(message) if isinstance(message, bytes) else connection.send_text(message))

        page = Page(send)
        room = asyncio.Semaphore(AT_ONCE)
        tasks: set[asyncio.Task[None]] = set()

        def done(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            room.release()

        sending = asyncio.create_task(_sending(page, connection))
        try:
            while not page.closed:
                message = await connection.receive()
                if message["type"] == "websocket.disconnect":
                    break
                await room.acquire()
                # Each by itself, so that one that takes long does not hold up the others; they begin in their order.
                task = asyncio.create_task(answer(self.session, page, message.get("text") or ""))
                tasks.add(task)
                task.add_done_callback(done)
        finally:
            self.session.leave(page)
            sending.cancel()


async def _sending(page: Page, connection: WebSocket) -> None:
    """Send what a page is told; one that cannot be reached any more is given up."""
    gone = (WebSocketDisconnect, RuntimeError, OSError)
    with suppress(*gone):
        await page.run()
    page.close()
    with suppress(*gone):
        await connection.close()


def listen(port: int) -> socket.socket:
    """A socket on this machine's own address; port 0 takes any that is free."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            # A studio that ended a moment ago must not keep the port from the next one.
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(("127.0.0.1", port))
        found.listen(128)
    except (OSError, OverflowError) as error:
        found.close()
        said = getattr(error, "strerror", None) or str(error)
        raise UnderstudyError(
            f"Port {port} cannot be listened on: {said}", hint="leave --port out, and a free one is taken"
        ) from None
    return found


def serve(app: Guard, listening: socket.socket, started: Callable[[], None]) -> None:
    """Serve until Ctrl-C or a signal to end.

    Args:
        app: What `make_app` gave.
        listening: Where requests come in.
        started: Called when the first can be answered.
    """
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                started()

    config = uvicorn.Config(app, **settings())
    with suppress(KeyboardInterrupt):
        Server(config).run([listening])


def settings() -> dict[str, Any]:
    """How requests are taken: quietly, without compressing what never leaves the machine."""
    return {
        "log_level": "error",
        "access_log": False,
        "ws": "websockets-sansio",
        "ws_max_size": MESSAGE,
        "ws_per_message_deflate": False,
        "timeout_graceful_shutdown": 2,
        "server_header": False,
    }
