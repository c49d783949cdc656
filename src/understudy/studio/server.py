"""The server: the page, the websocket it talks through, uploads, downloads and skins, on this machine alone."""

from __future__ import annotations

import asyncio
import filecmp
import hmac
import mimetypes
import os
import re
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from understudy.base.errors import FileError, UnderstudyError
from understudy.io import formats
from understudy.studio.commands import answer
from understudy.studio.messages import RequestError, pack, trouble
from understudy.studio.session import Session
from understudy.studio.show import Page

Scope = MutableMapping[str, Any]

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

App = Callable[[Scope, Receive, Send], Awaitable[None]]

NAMES = ("127.0.0.1", "localhost", "[::1]")
"""What this machine is called in addresses that reach it alone."""

OPEN = "/assets/"
"""What may be fetched without a token: files of the page, the same for everybody."""

REFUSALS = {
    400: "The request is not addressed to this studio.\n",
    403: "This address lacks the token. Open the one that `understudy studio` printed when it started.\n",
}


class Guard:
    """Refuses requests from elsewhere, and adds to every answer what keeps the page to itself.

    Args:
        app: What answers those that are let through.
        port: Where the studio listens.
        token: What a page must show: in its address, a cookie or a header.
    """

    def __init__(self, app: App, *, port: int, token: str) -> None:
        self.app, self.port, self.token = app, port, token
        self.hosts = tuple(f"{name}:{port}" for name in NAMES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        status = self.refusal(scope)
        if status and scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": REFUSALS[status].strip()[:120]})
        elif status:
            await _answer(status, self._guarded(send))
        else:
            await self.app(scope, receive, self._guarded(send, lasting=_is_open(scope["path"])))

    def refusal(self, scope: Scope) -> int:
        """The status that a request is refused with; 0 for one that is let through."""
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        # A name that somebody else's server resolves to this machine must not get in.
        if headers.get("host", "").lower() not in self.hosts:
            return 400
        origin = headers.get("origin")
        changes = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if origin is None and scope["type"] == "websocket":
            # Browsers always say where a websocket comes from; programs need not, but then show the token themselves.
            return 0 if self._shown(scope, {**headers, "cookie": ""}) else 403
        if origin is not None and changes and origin.lower() not in {f"http://{host}" for host in self.hosts}:
            return 400
        if _is_open(scope["path"]) and not changes:
            return 0
        return 0 if self._shown(scope, headers) else 403

    def _shown(self, scope: Scope, headers: dict[str, str]) -> bool:
        """Whether the token is in the address, a header or a cookie."""
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        given.append(headers.get("x-understudy-token", ""))
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            cookie = None
        if cookie is not None:
            given.append(cookie.value)
        return any(hmac.compare_digest(each.encode(), self.token.encode()) for each in given)

    @property
    def cookie(self) -> str:
        """The cookie's name: browsers send cookies to every port of a host, so that each studio has its own."""
        return f"understudy_studio_{self.port}"

    def _guarded(self, send: Send, *, lasting: bool = False) -> Send:
        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                lasts = lasting and message["status"] == 200
                message = {**message, "headers": [*message.get("headers", []), *self._headers(lasts)]}
            await send(message)

        return guarded

    def _headers(self, lasting: bool) -> list[tuple[bytes, bytes]]:
        # Policies know no addresses in brackets; `self` stands for those too where browsers have sockets in it.
        sockets = " ".join(f"ws://{host}" for host in self.hosts if not host.startswith("["))
        policy = (
            f"default-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; connect-src 'self' {sockets}; "
            "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        headers = {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), microphone=(), geolocation=()",
            # The page's own files are named by what is in them; nothing else may be found in a cache.
            "cache-control": "max-age=31536000, immutable" if lasting else "no-store",
        }
        return [(key.encode(), value.encode()) for key, value in headers.items()]


def _is_open(path: str) -> bool:
    return path.startswith(OPEN) and ".." not in path.split("/")


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(24)


async def _answer(status: int, send: Send) -> None:
    body = REFUSALS[status].encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


LARGEST = 256 << 20
"""Bytes of a file at most."""

BESIDES = (".toml", ".json", ".csv", ".bin")
"""Endings of files that go with motions and characters: recipes and maps, contacts, paths of props, buffers."""


class TooLargeError(FileError):
    """A file that is larger than what is taken."""


def upload_name(name: str) -> str:
    """The name that a file is kept by: without folders, of plain letters, with an ending that the studio knows."""
    plain = re.sub(r"[^\w .()+-]", "_", name.replace("\\", "/").rpartition("/")[2]).strip(" .")
    suffix = Path(plain).suffix.lower()
    known = dict.fromkeys([*(s for found in formats().values() for s in found.suffixes if found.read), *BESIDES])
    if suffix not in known:
        raise FileError(plain or "?", None, f"the studio takes no such files; known: {', '.join(known)}")
    return Path(plain).stem[:100] + suffix


async def receive(chunks: AsyncIterator[bytes], name: str, folder: Path, largest: int) -> Path:
    """Take a file in; one of the same name and other content gets a number, the same file is the same file.

    Args:
        chunks: What it holds.
        name: As `upload_name` gives it.
        folder: Where it goes.
        largest: Bytes at most.
    """
    size = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=folder, prefix=".", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as stream:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > largest:
                        problem = f"is larger than the {largest / (1 << 20):g} MB that the studio takes"
                        raise TooLargeError(name, None, problem, hint="put it into an open folder instead")
                    stream.write(chunk)
            return await asyncio.to_thread(_settle, Path(part), folder / name)
        finally:
            Path(part).unlink(missing_ok=True)
    except OSError as error:
        raise FileError(name, None, f"cannot be kept: {error.strerror}") from None


def _settle(part: Path, path: Path) -> Path:
    number, found = 2, path
    while found.exists():
        if filecmp.cmp(part, found, shallow=False):
            return found
        found, number = path.with_name(f"{path.stem}-{number}{path.suffix}"), number + 1
    os.replace(part, found)
    return found


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
