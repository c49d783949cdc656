"""Mutated messages and odd file names, sent to a studio over its websocket, as a page would send them."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutants import mutate_value

TOKEN = "a-token-that-only-this-server-has"

REPLY_SECONDS = 120.0
"""A reply that takes longer is a fault."""

SOLVE_EVERY = 23
"""Messages after which the solve may end before more are sent."""

FRESH_EVERY = 20
"""Messages after which the document begins anew."""

ODD_NAMES = (
    os.fsdecode(b"\xff.bvh"), "a b.bvh", "-o.bvh", "%2e%2e.bvh", "<b>.bvh", "\u202egpj.bvh", "e\u0301.bvh",
    "l" * 200 + ".bvh", "\U0001f57a.bvh", "new\nline.bvh", "quote'\".bvh", "$(id).bvh",
)  # fmt: skip
"""Names of readable motions in the open folder."""

BEGINNINGS = ("plain.bvh", "plain.bvh", "plain.bvh", "sample:walk2d", "nothing")
"""What is open before the next messages are sent."""

NO_MESSAGES = (
    "", "{", "null", "[]", "0", '"do"', '{"do":1,"id":1}', '{"do":"hello"}', '{"do":"hello","id":true}', "NaN",
    '{"id":1e999}', "[" * 20000, '{"do":"browse","id":1,"folder":"\\ud800"}', "\0",
)  # fmt: skip
"""Texts that are no requests."""


@dataclass
class Sent:
    """What came of messages."""

    faults: list[str] = field(default_factory=list)
    """Unforeseen errors, and messages that were never answered."""
    replies: int = 0
    done: int = 0
    """Replies that say that something was done."""
    disconnects: int = 0


def make_messages(state: dict[str, Any]) -> list[dict[str, Any]]:
    """A valid message of every kind that neither writes files nor takes long."""
    constraint = {"kind": "place", "point": "LeftFoot", "target": [0.0, 0.0, 0.0], "start": 0.1, "end": 0.2}
    carried = {"name": "b", "shape": "cylinder", "positions": [[0, 1, 0]], "carried_by": "Root", "carried": [0.1, 0.3]}
    changes = [
        [{"op": "set", "path": ["recipe"], "value": state["recipe"]}],
        [{"op": "insert", "path": ["recipe", "constraint", 0], "value": constraint}],
        [{"op": "insert", "path": ["recipe", "contact", 0], "value": {"point": "LeftFoot", "start": 0.1, "end": 0.2}}],
        [{"op": "set", "path": ["recipe", "options", "plants"], "value": "free"}],
        [{"op": "insert", "path": ["recipe", "prop", 0], "value": {"name": "b", "sizes": [[1, 1, 1]]}}],
        [
            {
                "op": "insert",
                "path": ["recipe", "constraint", 0],
                "value": {**constraint, "ease_in": 0.1, "ease_out": 0.2},
            }
        ],
        [{"op": "insert", "path": ["recipe", "prop", 0], "value": carried}],
        [{"op": "insert", "path": ["recipe", "prop", 0], "value": {**carried, "mesh": "a.obj", "carried_by": ""}}],
        [{"op": "set", "path": ["mode"], "value": "transition"}],
        [{"op": "set", "path": ["transition", "first"], "value": "sample:walk2d"}],
        [{"op": "set", "path": ["analogy"], "value": state["analogy"]}],
        [{"op": "set", "path": ["pairs"], "value": [{"source": "LeftFoot", "target": "LeftFoot"}]}],
        [{"op": "set", "path": ["pairs"], "value": [{"source": "Hips", "target": "Hips", "turn": [0.0, 20.0, 0.0]}]}],
        [{"op": "remove", "path": ["recipe", "actor", 0]}],
    ]
    messages: list[dict[str, Any]] = [{"do": "edit", "label": "a", "changes": change} for change in changes]
    messages += [{"do": "drag", "seq": 1, "changes": change} for change in changes]
    messages += [
        {"do": "neutral"}, {"do": "hello"}, {"do": "undo"}, {"do": "redo"}, {"do": "release"}, {"do": "fresh"},
        {"do": "open", "name": "sample:walk2d", "as": "source"}, {"do": "browse", "folder": "files"},
        {"do": "remember", "view": {"camera": [1, 2, 3]}}, {"do": "variants", "names": ["ik"]},
        {"do": "batch", "folder": "nowhere", "into": ""}, {"do": "batch_stop"},
        {"do": "trust", "digest": "0" * 64}, {"do": "save", "path": "a.toml"},
        {"do": "export", "path": "a.bvh", "which": "result"}, {"do": "evaluate", "which": "result"},
    ]  # fmt: skip
    return messages


@contextmanager
def served(folder: Path) -> Iterator[tuple[Any, int]]:
    """A studio in a thread; gives its session and its port."""
    import uvicorn

    from understudy.studio.folders import Folders
    from understudy.studio.server import listen, make_app, settings
    from understudy.studio.session import Session, SessionStore
    from understudy.studio.workshop import DocumentSolver

    store = SessionStore(folder / "session")
    store.claim()
    folders = Folders((folder / "files",), store.folder / "uploads")
    session = Session(store, store.load()[0], folders, DocumentSolver(store.folder))
    listening = listen(0)
    port = listening.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(make_app(session, folder, port=port, token=TOKEN), **settings()))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield session, port
    finally:
        server.should_exit = True
        thread.join(60.0)


def put_odd_files(folder: Path) -> None:
    """Write motions with odd names."""
    from understudy import samples, write

    folder.mkdir(exist_ok=True)
    write(samples.motion("squat", fps=10.0, seconds=0.5).motion, folder / "plain.bvh")
    content = (folder / "plain.bvh").read_bytes()
    for name in ODD_NAMES:
        (folder / name).write_bytes(content)


def refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def text_of(message: Any) -> str:
    """JSON as a page sends it: infinity is a number that is too large."""
    return json.dumps(message).replace("Infinity", "1e999")


def request_id(text: str) -> int | None:
    """The number of a request; None where a text is no request."""
    try:
        table = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(table, dict) or not isinstance(table.get("do"), str) or type(table.get("id")) is not int:
        return None
    return int(table["id"])


def send_mutants(folder: Path, count: int, first: int = 0) -> Sent:
    """Send mutated messages over a websocket, each after the reply to the one before."""
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    from understudy.studio.document import empty_document

    put_odd_files(folder / "files")
    messages = make_messages(empty_document())
    messages += [{"do": "open", "name": name, "as": "source"} for name in ODD_NAMES]
    sent = Sent()
    with served(folder) as (session, port), ExitStack() as connections:

        def connected() -> Any:
            plain = socket.create_connection(("127.0.0.1", port), timeout=REPLY_SECONDS)
            address, shown = f"ws://127.0.0.1:{port}/live", {"x-understudy-token": TOKEN}
            # On a busy machine the thread that answers pings may wait for long: only the server may give up.
            given = {"max_size": None, "compression": None, "ping_interval": None}
            return connections.enter_context(connect(address, sock=plain, additional_headers=shown, **given))

        def ask(text: str) -> None:
            connection.send(text)
            wanted, until = request_id(text), time.monotonic() + REPLY_SECONDS
            while time.monotonic() < until:
                heard = connection.recv(timeout=REPLY_SECONDS)
                if isinstance(heard, bytes):
                    continue
                if "Unexpected error" in heard[:4000]:
                    sent.faults.append(f"{text[:300]} -> {heard[:300]}")
                table = json.loads(heard)
                # A text that is no request has no number to be answered by.
                refused = wanted is None and "solving" not in table.get("trouble", {"solving": True})
                if refused or (wanted is not None and table.get("re") == wanted):
                    sent.replies += 1
                    sent.done += bool(table.get("ok"))
                    return
            sent.faults.append(f"{text[:300]} -> no answer")

        connection = connected()
        for number in range(first, first + count):
            rng = random.Random(number)
            message = {**rng.choice(messages), "id": number}
            for _ in range(rng.choice((0, 1, 1, 2))):
                message = mutate_value(message, rng)
            text = rng.choice(NO_MESSAGES) if rng.random() < 0.02 else text_of(message)
            try:
                ask(text)
                if number % FRESH_EVERY == 0:
                    ask(json.dumps({"do": "fresh", "id": number}))
                    ask(json.dumps({"do": "open", "name": rng.choice(BEGINNINGS), "as": "source", "id": number}))
            except (ConnectionClosed, OSError) as error:
                sent.disconnects += 1
                sent.faults.append(f"{text[:300]} -> {error!r:.300}")
                connection = connected()
            if number % SOLVE_EVERY == 0:
                waited = time.monotonic() + REPLY_SECONDS
                while session.publisher.solve_thread.busy and time.monotonic() < waited:
                    time.sleep(0.002)
    return sent
