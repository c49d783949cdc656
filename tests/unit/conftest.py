"""A studio that listens, for tests that talk to it as browsers do."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

TOKEN = "a-token"
SHOWN = {"x-understudy-token": TOKEN}
LONG = 30.0
"""Seconds after which a test does not wait any more."""


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return json.loads(self.content)


class Talk:
    """One page's websocket: asks, and gathers what it is told."""

    def __init__(self, opening: Any) -> None:
        self._opening, self.number = opening, 0
        self.connection = opening.__enter__()
        self.events: list[dict[str, Any]] = []
        self.motions: list[dict[str, Any]] = []
        self.arrays: list[bytes] = []

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, *error: object) -> None:
        self._opening.__exit__(None, None, None)

    def send(self, command: str, **arguments: Any) -> int:
        self.number += 1
        self.connection.send(json.dumps({"id": self.number, "do": command, **arguments}))
        return self.number

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        number = self.send(command, **arguments)
        return self.until(lambda said: said.get("re") == number)

    def until(self, fits: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        while True:
            try:
                message = self.connection.recv(timeout=LONG)
            except TimeoutError:
                raise AssertionError(f"waited in vain; last heard: {self.events[-3:]}"[:3000]) from None
            if isinstance(message, bytes):
                said = json.loads(message[4 : 4 + int.from_bytes(message[:4], "little")])
                self.motions.append(said)
                self.arrays.append(message)
            else:
                said = json.loads(message)
                self.events.append(said)
            if fits(said):
                return said

    def heard(self, kind: str, fits: Callable[[Any], Any] = lambda said: True) -> Any:
        """What an event of a kind told, which came already or is waited for."""

        def wanted(said: dict[str, Any]) -> bool:
            return said.get("on") == kind and bool(fits(said[kind]))

        came = [said for said in self.events if wanted(said)]
        return (came[-1] if came else self.until(wanted))[kind]

    def solved(self, version: int) -> dict[str, Any]:
        """The finished result of a version."""
        return self.heard("result", lambda result: result["version"] == version and result["seq"] is None)

    @property
    def state(self) -> dict[str, Any]:
        return [said["state"] for said in self.events if said.get("on") == "state"][-1]

    def open(self, name: str, role: str) -> dict[str, Any]:
        return self.ask("open", name=name, **{"as": role})

    def document(self) -> dict[str, Any]:
        """The document as a page that comes anew gets it."""
        self.ask("hello")
        return self.state["document"]


@dataclass
class Studio:
    """A server in a thread of its own."""

    folder: Path
    session: Any
    server: Any
    port: int
    thread: threading.Thread = field(repr=False, default_factory=threading.Thread)

    @property
    def here(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def fetch(self, method: str, path: str, headers: dict[str, str] | None = None, content: bytes = b"") -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        given = {"host": f"127.0.0.1:{self.port}", **(headers or {})}
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for key, value in {**given, "content-length": str(len(content))}.items():
                connection.putheader(key, value)
            connection.endheaders(content)
            found = connection.getresponse()
            return Answer(found.status, {key.lower(): value for key, value in found.getheaders()}, found.read())
        finally:
            connection.close()

    def get(self, path: str, headers: dict[str, str] | None = None) -> Answer:
        return self.fetch("GET", path, headers)

    def put(self, name: str, content: bytes, headers: dict[str, str] | None = None) -> Answer:
        return self.fetch("PUT", f"/upload?name={quote(name)}", headers, content)

    def talk(self, path: str = "/live", *, host: str = "", **given: Any) -> Talk:
        """Connect as a page; raises where the server refuses."""
        from websockets.sync.client import connect

        given.setdefault("additional_headers", SHOWN)
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=LONG)
        try:
            url = f"ws://{host or f'127.0.0.1:{self.port}'}{path}"
            return Talk(connect(url, sock=plain, max_size=None, compression=None, **given))
        except BaseException:
            plain.close()
            raise

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(LONG)
        assert not self.thread.is_alive()


@pytest.fixture
def serve_studio(tmp_path: Path) -> Iterator[Callable[..., Studio]]:
    """Starts studios; they end with the test."""
    pytest.importorskip("starlette", reason="the studio's packages are not installed")
    uvicorn = pytest.importorskip("uvicorn", reason="the studio's packages are not installed")
    pytest.importorskip("websockets", reason="the studio's packages are not installed")
    from understudy.studio.folders import Folders
    from understudy.studio.server import listen, make_app, settings
    from understudy.studio.session import Session, SessionStore
    from understudy.studio.workshop import DocumentSolver

    running: list[Studio] = []

    def serve(*, largest: int = 1 << 20, workshop: Any = None) -> Studio:
        for name in ("page/assets", "files", "session"):
            (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "page" / "index.html").write_text("<!doctype html><title>studio</title>")
        (tmp_path / "page" / "assets" / "a.js").write_text("export {};")
        keeper = SessionStore(tmp_path / "session")
        keeper.claim()
        kept, said = keeper.load()
        folders = Folders((tmp_path / "files",), keeper.folder / "uploads", kept.base)
        session = Session(keeper, kept, folders, (workshop or DocumentSolver)(keeper.folder), [said])
        listening = listen(0)
        port = listening.getsockname()[1]
        app = make_app(session, tmp_path / "page", port=port, token=TOKEN, largest=largest)
        server = uvicorn.Server(uvicorn.Config(app, **settings()))
        studio = Studio(tmp_path, session, server, port)
        studio.thread = threading.Thread(target=server.run, args=([listening],))
        studio.thread.start()
        running.append(studio)
        return studio

    yield serve
    for studio in running:
        studio.stop()


@pytest.fixture
def studio(serve_studio: Callable[..., Studio]) -> Studio:
    return serve_studio()


@pytest.fixture
def studio_talk() -> type[Talk]:
    """Talks over a connection that is being opened."""
    return Talk
