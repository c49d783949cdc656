"""What once ended or slowed a studio, or could be misused: it goes on, and tells what is wrong."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from understudy.studio.publisher import Page
from understudy.studio.server import TooLargeError, receive
from understudy.studio.session import SessionStore
from understudy.studio.solve_thread import SolveThread

SHOWN = {"x-understudy-token": "a-token"}

ENDINGS = """
import sys


def leave(points):
    sys.exit(3)


def give_up(points):
    raise GeneratorExit


def interrupt(points):
    raise KeyboardInterrupt
"""


@pytest.fixture
def trusting(studio: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A studio with a module of functions that try to end it, and a motion."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (studio.folder / "files" / "endings.py").write_text(ENDINGS)
    return studio


def ask_for(page: Any, function: str) -> dict[str, Any]:
    """Insert a constraint that names a function, and hear the question whether it may run."""
    value = {"kind": "function", "function": function, "points": ["RightHand"], "start": 1.0, "end": 1.2}
    change = {"op": "insert", "path": ["recipe", "constraint", 0], "value": value}
    page.events.clear()
    reply = page.ask("edit", label="end", changes=[change])
    assert reply["ok"], reply
    return page.heard("trouble")


@pytest.mark.parametrize("name", ["leave", "give_up", "interrupt"])
def test_a_function_that_ends_programs_ends_nothing(trusting: Any, name: str) -> None:
    with trusting.talk() as page:
        page.ask("hello")
        page.open("sample:walk", "source")
        page.solved(page.state["version"])
        trouble = ask_for(page, f"endings:{name}")
        page.events.clear()
        assert page.ask("trust", digest=trouble["consent"]["digest"])["ok"]
        told = page.heard("trouble", lambda trouble: "consent" not in trouble)
        assert {"leave": "SystemExit", "give_up": "GeneratorExit", "interrupt": "KeyboardInterrupt"}[name] in str(told)
        # The server is there, and what is sensible is solved again.
        page.events.clear()
        assert page.ask("undo")["ok"]
        assert page.solved(page.state["version"])["tracks"]
    assert trusting.thread.is_alive()


def test_no_function_of_any_module_runs_before_the_user_agreed(trusting: Any, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    (trusting.folder / "files" / "sly.py").write_text(
        f"open({str(mark)!r}, 'w').close()\ndef high(points):\n    return points[:, 0, 1:2]\n"
    )
    with trusting.talk() as page:
        page.ask("hello")
        page.open("sample:walk", "source")
        page.solved(page.state["version"])
        trouble = ask_for(page, "sly:high")
        assert trouble["consent"]["path"].endswith("sly.py")
        assert not mark.exists(), "not even the module is imported"
        assert page.ask("undo")["ok"]
        # A function without a file that the user could be shown is refused.
        trouble = ask_for(page, "sys:exit")
        assert trouble.get("consent") is None
        assert "sys" in trouble["message"]
    assert trusting.thread.is_alive()


def test_names_that_are_no_text_are_told_and_the_socket_stays_open(studio: Any) -> None:
    odd = os.fsdecode(b"\xff\xfe.bvh")
    try:
        (studio.folder / "files" / odd).write_bytes(b"HIERARCHY")
    except OSError:
        pytest.skip("this file system keeps no such name")
    with studio.talk() as page:
        listed = page.ask("browse", folder=str(studio.folder / "files"))
        assert listed["ok"], listed
        assert len(listed["value"]["files"]) == 1
        for sent in (
            '{"do": "open", "id": 900, "name": "\\ud800.bvh", "as": "source"}',
            '{"do": "browse", "id": 900, "folder": "\\udfff"}',
            '{"do": "edit", "id": 900, "label": "\\ud800", "changes": []}',
        ):
            page.connection.send(sent)
            page.until(lambda said: said.get("re") == 900)
        # What is sent back is valid text: the client refuses any other.
        assert page.ask("hello")["ok"]


def test_a_session_is_for_its_user_alone(studio: Any, tmp_path: Path) -> None:
    session = studio.folder / "session"
    with studio.talk() as page:
        page.ask("hello")
        page.open("sample:walk", "source")
        page.solved(page.state["version"])
        assert studio.put("a.bvh", b"HIERARCHY", SHOWN).status == 200
    for file in ("session.json", "lock", "uploads", "uploads/a.bvh"):
        assert stat.S_IMODE((session / file).stat().st_mode) & 0o077 == 0, file
    assert stat.S_IMODE(SessionStore(tmp_path / "new").folder.stat().st_mode) == 0o700
    # One that was saved while others could read it is closed to them.
    session.chmod(0o755)
    SessionStore(session)
    assert stat.S_IMODE(session.stat().st_mode) == 0o700


def test_uploads_together_are_capped(tmp_path: Path) -> None:
    async def chunks() -> Any:
        for _ in range(4):
            yield bytes(1000)

    asyncio.run(receive(chunks(), "a.bvh", tmp_path, 10_000, 9_000))
    asyncio.run(receive(chunks(), "b.bvh", tmp_path, 10_000, 9_000))
    with pytest.raises(TooLargeError, match="all uploads together would be larger than"):
        asyncio.run(receive(chunks(), "c.bvh", tmp_path, 10_000, 9_000))
    # Nothing of what was refused is left.
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 8_000


def test_a_slow_tab_slows_no_other(studio: Any) -> None:
    """One page takes nothing; the updates of a drag of the other come as fast as they are solved."""
    with studio.talk() as slow, studio.talk() as page:
        for each in (slow, page):
            each.ask("hello")
        page.open("sample:walk", "source")
        page.solved(page.state["version"])
        change = {"op": "set", "path": ["recipe", "actor", 0, "scale"], "value": {"legs": 1.05}}
        page.ask("drag", seq=1, changes=[change])
        page.heard("result", lambda result: result["seq"] == 1)
        others = [one for one in studio.session.pages if one is not studio.session.dragging_page]
        assert len(others) == 1
        stuck = others[0]

        async def never(message: str | bytes) -> None:
            await asyncio.sleep(3600.0)

        stuck._send = never
        began = time.monotonic()
        for seq in range(2, 8):
            change = {**change, "value": {"legs": 1.0 + 0.01 * seq}}
            page.ask("drag", seq=seq, changes=[change])
            page.heard("result", lambda result, seq=seq: result["seq"] == seq)
        assert time.monotonic() - began < 20.0
        assert not stuck.closed
        page.ask("release")


def test_nobody_ends_the_solve_thread() -> None:
    def leave() -> None:
        raise SystemExit(3)

    async def scenario() -> None:
        thread = SolveThread()
        for _ in range(2):
            with pytest.raises(RuntimeError, match="SystemExit: 3"):
                await thread.run_in_thread(leave)
        assert await thread.run_in_thread(lambda: 7) == 7
        thread.close()

    asyncio.run(scenario())


def test_a_page_that_is_slow_gets_the_newest_of_each_subject() -> None:
    async def scenario() -> list[str | bytes]:
        received: list[str | bytes] = []
        gate = asyncio.Event()

        async def send(message: str | bytes) -> None:
            received.append(message)
            await gate.wait()

        page = Page(send)
        running = asyncio.create_task(page.run())
        page.send("first", "result")
        await asyncio.sleep(0.01)
        for number in range(5):
            page.send(f"result {number}", "result")
        gate.set()
        await page.wait_until_sent()
        page.close()
        await asyncio.wait_for(running, 5.0)
        return received

    assert asyncio.run(scenario()) == ["first", "result 4"]
