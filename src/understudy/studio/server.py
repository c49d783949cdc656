"""The HTTP server: page, websocket, uploads, downloads and skins, on this machine only."""

from __future__ import annotations

import asyncio
import filecmp
import hmac
import logging
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
from understudy.studio.messages import RequestError, error_table, pack
from understudy.studio.publisher import Page
from understudy.studio.session import Session
from understudy.studio.skins import image_type

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")
"""Host names that reach only this machine."""

PUBLIC_PREFIX = "/assets/"
"""Paths served without a token: static files of the page."""

REFUSALS = {
    400: "The request has another host or origin than this studio.\n",
    403: "The address has no valid token. Open the one that `understudy studio` printed when it started.\n",
}


class Guard:
    """ASGI middleware that refuses requests from other origins or without the token, and adds security headers.

    Args:
        app: Handles the accepted requests.
        port: Port of the studio.
        token: Required in the address, a cookie or a header.
    """

    def __init__(self, app: App, *, port: int, token: str) -> None:
        self.app, self.port, self.token = app, port, token
        self.hosts = tuple(f"{name}:{port}" for name in LOCAL_HOSTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        status = self.refusal_status(scope)
        if status and scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": REFUSALS[status].strip()[:120]})
        elif status:
            await _send_refusal(status, self._add_headers(send))
        else:
            await self.app(scope, receive, self._add_headers(send, cacheable=_is_public(scope["path"])))

    def refusal_status(self, scope: Scope) -> int:
        """The HTTP status of a refused request; 0 if it is accepted."""
        headers = {key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]}
        # DNS rebinding: a foreign name that resolves to this machine is refused.
        if headers.get("host", "").lower() not in self.hosts:
            return 400
        origin = headers.get("origin")
        changes = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if origin is None and scope["type"] == "websocket":
            # Browsers always send an origin with websockets; programs need not, but must send the token explicitly.
            return 0 if self._has_token(scope, {**headers, "cookie": ""}) else 403
        if origin is not None and changes and origin.lower() not in {f"http://{host}" for host in self.hosts}:
            return 400
        if _is_public(scope["path"]) and not changes:
            return 0
        return 0 if self._has_token(scope, headers) else 403

    def _has_token(self, scope: Scope, headers: dict[str, str]) -> bool:
        """Whether the token is in the address, a header or a cookie."""
        tokens = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        tokens.append(headers.get("x-understudy-token", ""))
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            cookie = None
        if cookie is not None:
            tokens.append(cookie.value)
        return any(hmac.compare_digest(token.encode(), self.token.encode()) for token in tokens)

    @property
    def cookie(self) -> str:
        """Name of the cookie; it has the port, because browsers send cookies to all ports of a host."""
        return f"understudy_studio_{self.port}"

    def _add_headers(self, send: Send, *, cacheable: bool = False) -> Send:
        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                cache_it = cacheable and message["status"] == 200
                message = {**message, "headers": [*message.get("headers", []), *self._headers(cache_it)]}
            await send(message)

        return send_with_headers

    def _headers(self, cacheable: bool) -> list[tuple[bytes, bytes]]:
        # Policies do not allow addresses in brackets; `self` covers them in browsers that apply it to websockets.
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
            # Names of the page's static files contain a hash; nothing else may be cached.
            "cache-control": "max-age=31536000, immutable" if cacheable else "no-store",
        }
        return [(key.encode(), value.encode()) for key, value in headers.items()]


def _is_public(path: str) -> bool:
    return path.startswith(PUBLIC_PREFIX) and ".." not in path.split("/")


def new_token() -> str:
    """A random token."""
    return secrets.token_urlsafe(24)


async def _send_refusal(status: int, send: Send) -> None:
    body = REFUSALS[status].encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


MAX_UPLOAD_BYTES = 256 << 20
"""Larger uploads are refused."""

MAX_TOTAL_UPLOAD_BYTES = 4 << 30
"""What all uploads of a session may hold together."""

COMPANION_SUFFIXES = (".toml", ".json", ".csv", ".bin", ".obj", ".stl")
"""Suffixes of accepted files besides motions and characters: recipes, maps, contacts, prop paths, buffers, meshes."""


class TooLargeError(FileError):
    """An upload that is too large."""


def upload_name(name: str) -> str:
    """A safe file name: without folders, with plain characters and a known suffix."""
    safe_name = re.sub(r"[^\w .()+-]", "_", name.replace("\\", "/").rpartition("/")[2]).strip(" .")
    suffix = Path(safe_name).suffix.lower()
    readable = [s for file_format in formats().values() for s in file_format.suffixes if file_format.read]
    suffixes = dict.fromkeys([*readable, *COMPANION_SUFFIXES])
    if suffix not in suffixes:
        raise FileError(safe_name or "?", None, f"files of this kind are not accepted; known: {', '.join(suffixes)}")
    return Path(safe_name).stem[:100] + suffix


async def receive(
    chunks: AsyncIterator[bytes], name: str, folder: Path, max_bytes: int, max_total: int | None = None
) -> Path:
    """Save an upload; a number is added to its name if another file with other content has it.

    Args:
        chunks: Its content.
        name: As `upload_name` gives it.
        folder: Target folder.
        max_bytes: Largest accepted size.
        max_total: Largest size of all uploads together; None for `MAX_TOTAL_UPLOAD_BYTES`.
    """
    size = 0
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        present = await asyncio.to_thread(_folder_size, folder)
        max_total = MAX_TOTAL_UPLOAD_BYTES if max_total is None else max_total
        handle, part_path = tempfile.mkstemp(dir=folder, prefix=".", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as stream:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > max_bytes:
                        problem = f"is larger than {max_bytes / (1 << 20):g} MB, the largest accepted size"
                        raise TooLargeError(name, None, problem, hint="put it into an open folder instead")
                    if present + size > max_total:
                        problem = f"all uploads together would be larger than {max_total / (1 << 20):g} MB"
                        raise TooLargeError(name, None, problem, hint=f"remove files from {folder}")
                    stream.write(chunk)
            return await asyncio.to_thread(_keep_upload, Path(part_path), folder / name)
        finally:
            Path(part_path).unlink(missing_ok=True)
    except OSError as error:
        raise FileError(name, None, f"cannot be saved: {error.strerror}") from None


def _folder_size(folder: Path) -> int:
    """The bytes of all files in a folder, those that are still arriving included."""
    with os.scandir(folder) as entries:
        return sum(entry.stat(follow_symlinks=False).st_size for entry in entries if entry.is_file())


def _keep_upload(part_path: Path, path: Path) -> Path:
    suffix_number, target = 2, path
    while target.exists():
        if filecmp.cmp(part_path, target, shallow=False):
            return target
        target, suffix_number = path.with_name(f"{path.stem}-{suffix_number}{path.suffix}"), suffix_number + 1
    os.replace(part_path, target)
    return target


MAX_WEBSOCKET_MESSAGE_BYTES = 16 << 20
"""A larger websocket message closes the connection; a smaller one over the request limit gets an error reply."""

MAX_CONCURRENT_REQUESTS = 64
"""Most requests of one page that run at the same time."""


def make_app(session: Session, page: Path, *, port: int, token: str, largest: int = MAX_UPLOAD_BYTES) -> Guard:
    """The studio as an ASGI application.

    Args:
        session: The session to serve.
        page: The folder with the built page.
        port: Port of the server.
        token: Required from pages.
        largest: Largest accepted upload in bytes.
    """
    mimetypes.add_type("text/javascript", ".js")
    endpoints = _Endpoints(session, page, largest)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        session.start()
        try:
            yield
        finally:
            await session.stop()

    routes = [
        Route("/", endpoints.index),
        Route("/upload", endpoints.upload, methods=["PUT"]),
        Route("/film/{film}/{frame}", endpoints.film, methods=["PUT"]),
        Route("/mesh/{which:path}", endpoints.mesh),
        Route("/image/{digest}", endpoints.image),
        Route("/download/{place}/{name}", endpoints.download),
        WebSocketRoute("/live", endpoints.live),
        Mount("/", StaticFiles(directory=page)),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    guard = Guard(app, port=port, token=token)
    endpoints.cookie = (guard.cookie, token)
    return guard


class _Endpoints:
    """The request handlers."""

    def __init__(self, session: Session, page: Path, largest: int) -> None:
        self.session, self.page, self.largest = session, page, largest
        self.cookie = ("", "")

    async def index(self, request: Request) -> Response:
        if "token" not in request.query_params:
            return FileResponse(self.page / "index.html")
        # The token moves from the address, where it would be visible, into a cookie.
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(*self.cookie, httponly=True, samesite="strict", path="/")
        return response

    async def mesh(self, request: Request) -> Response:
        which = request.path_params["which"]
        try:
            solve_result = await self.session.finished_result()
            message = await asyncio.to_thread(solve_result.mesh, which)
        except UnderstudyError as error:
            message, problem = None, error
        else:
            problem = RequestError(f"`{which}` has no skin")
        if message is None and "v" in request.query_params:
            # The page has drawn a scene that is no longer shown.
            return Response(status_code=204)
        if message is None:
            return JSONResponse({"error": error_table(problem)}, status_code=404)
        return Response(pack(*message), media_type="application/octet-stream")

    async def image(self, request: Request) -> Response:
        """An image of a displayed skin."""
        digest = request.path_params["digest"]
        try:
            solve_result = await self.session.finished_result()
            image = await asyncio.to_thread(solve_result.image, digest)
        except UnderstudyError:
            image = None
        # As with skins: the page may have drawn a scene that is no longer shown.
        return Response(status_code=204) if image is None else Response(image, media_type=image_type(image))

    async def download(self, request: Request) -> Response:
        path = self.session.downloads.find(request.path_params["place"], request.path_params["name"])
        if path is None:
            error = RequestError("This download does not exist any more", hint="request it again")
            return JSONResponse({"error": error_table(error)}, status_code=404)
        return FileResponse(path, filename=path.name, content_disposition_type="attachment")

    async def upload(self, request: Request) -> Response:
        """Receive a file; it is kept only if it arrived completely."""
        name = request.query_params.get("name", "")
        try:
            safe_name = upload_name(name)
            path = await receive(request.stream(), safe_name, self.session.folders.uploads, self.largest)
        except UnderstudyError as error:
            status = 413 if isinstance(error, TooLargeError) else 400
            return JSONResponse({"error": error_table(error)}, status_code=status)
        return JSONResponse({"name": self.session.folders.name_of(path)})

    async def film(self, request: Request) -> Response:
        """Receive a frame of a film of the stage."""
        film, frame = request.path_params["film"], request.path_params["frame"]
        try:
            await self.session.films.add(film, frame, request.stream())
        except UnderstudyError as error:
            return JSONResponse({"error": error_table(error)}, status_code=400)
        return Response(status_code=204)

    async def live(self, connection: WebSocket) -> None:
        """The websocket of one page: receives requests, sends replies and events."""
        await connection.accept()

        async def send(message: str | bytes) -> None:
            await (connection.send_bytes(message) if isinstance(message, bytes) else connection.send_text(message))

        page = Page(send)
        slots = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)
        tasks: set[asyncio.Task[None]] = set()

        def done(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            slots.release()

        sending = asyncio.create_task(_send_queue(page, connection))
        try:
            while not page.closed:
                message = await connection.receive()
                if message["type"] == "websocket.disconnect":
                    break
                await slots.acquire()
                # Each request is a task, so that a slow one does not delay the others; they start in order.
                task = asyncio.create_task(answer(self.session, page, message.get("text") or ""))
                tasks.add(task)
                task.add_done_callback(done)
        finally:
            self.session.remove_page(page)
            sending.cancel()


async def _send_queue(page: Page, connection: WebSocket) -> None:
    """Send a page's queue; close the connection if the page is gone or a message cannot be sent.

    A page whose connection closes connects again and gets everything anew.
    """
    disconnected = (WebSocketDisconnect, RuntimeError, OSError)
    try:
        await page.run()
    except disconnected:
        pass
    except Exception as error:
        log.error("a message could not be sent to a page", exc_info=error)
    page.close()
    with suppress(*disconnected):
        await connection.close()


def listen(port: int) -> socket.socket:
    """A listening socket on localhost; port 0 takes any free port."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            # Without this the port stays blocked for a while after a studio ended.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(128)
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        hint = "without --port a free one is used"
        raise UnderstudyError(f"Cannot listen on port {port}: {reason}", hint=hint) from None
    return listening


def serve(app: Guard, listening: socket.socket, started: Callable[[], None]) -> None:
    """Serve until Ctrl-C or a termination signal.

    Args:
        app: From `make_app`.
        listening: From `listen`.
        started: Called when the server accepts requests.
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
    """Settings of uvicorn: quiet, and without compression, since all traffic is local."""
    return {
        "log_level": "error",
        "access_log": False,
        "ws": "websockets-sansio",
        "ws_max_size": MAX_WEBSOCKET_MESSAGE_BYTES,
        "ws_per_message_deflate": False,
        "timeout_graceful_shutdown": 2,
        "server_header": False,
    }
