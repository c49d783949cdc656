"""Who may talk to the studio: pages that this start gave its token to, from this machine, and nobody else."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

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
