"""Sessions of the studio: drags never queue, solves are interrupted, and a crash loses nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import understudy
from understudy import samples
from understudy.studio.document import History, apply_changes, empty_document
from understudy.studio.publisher import MAX_QUEUED_BYTES, Page
from understudy.studio.session import SavedSession, SessionStore, default_folder
from understudy.studio.solve_thread import Request, SolveStoppedError, SolveThread
from understudy.studio.workshop import DocumentSolver

pytest.importorskip("websockets", reason="the studio's packages are not installed")

MANY = 100
"""Drag updates that are sent without waiting."""


def ended(number: int) -> list[dict[str, Any]]:
    return [{"op": "set", "path": ["recipe", "contact", 0, "end"], "value": 0.2 + 0.001 * number}]


@pytest.fixture
def walk(studio: Any) -> Iterator[Any]:
    """A page that shows a child's walk."""
    with studio.talk() as page:
        page.ask("hello")
        page.open("sample:walk", "source")
        page.open("sample:child", "target")
        page.solved(page.state["version"])
        page.until(lambda message: message.get("on") == "progress" and not message["busy"])
        yield page


# ----------------------------------------------------------------------------------------------------------- drags


def test_of_many_drags_few_are_answered_and_the_last_is(walk: Any) -> None:
    document, seen = walk.state["document"], len(walk.motions)
    for number in range(1, MANY + 1):
        walk.send("drag", seq=number, changes=ended(number))
    last = walk.heard("result", lambda result: result["seq"] == MANY)
    answered = [motion["seq"] for motion in walk.motions[seen:]]
    assert answered == sorted(answered)
    assert answered[-1] == MANY
    assert len(set(answered)) <= MANY // 4
    assert last["tracks"][0]["end"] == pytest.approx(0.2 + 0.001 * MANY)
    assert walk.document() == document
    assert walk.state["undo"] == "open child as target"


def test_a_drag_that_is_given_up_leaves_no_trace(walk: Any) -> None:
    def shown() -> bytes:
        return next(
            data for data, message in zip(walk.arrays[::-1], walk.motions[::-1]) if message["which"] == "result"
        )

    before, version = shown(), walk.state["version"]
    result = walk.solved(version)
    walk.ask("drag", seq=1, changes=ended(300))
    walk.heard("result", lambda result: result["seq"] == 1)
    assert shown() != before
    walk.events.clear()
    walk.ask("release")
    assert walk.solved(version) == result
    assert shown() == before
    walk.ask("hello")
    assert shown() == before


def test_a_drag_ends_with_an_edit(walk: Any) -> None:
    walk.ask("drag", seq=1, changes=ended(250))
    assert walk.ask("edit", label="end later", changes=ended(300))["ok"]
    assert walk.solved(walk.state["version"])["tracks"][0]["end"] == pytest.approx(0.5)
    assert walk.state["undo"] == "end later"


def test_a_page_that_goes_while_dragging_ends_its_drag(studio: Any, walk: Any) -> None:
    with studio.talk() as other:
        other.ask("hello")
        version = other.state["version"]
        walk.ask("drag", seq=1, changes=ended(250))
        other.heard("result", lambda result: result["seq"] == 1)
        other.events.clear()
        walk.__exit__()
        assert other.solved(version)["seq"] is None
        assert other.ask("export", path="a.bvh", which="result")["ok"]


def test_wrong_drags_are_told(walk: Any) -> None:
    assert (
        "The document has no" in walk.ask("drag", seq=1, changes=[{"op": "remove", "path": ["x"]}])["error"]["message"]
    )
    walk.ask("drag", seq=2, changes=[{"op": "set", "path": ["recipe", "contact", 0, "end"], "value": "late"}])
    assert walk.heard("trouble")["path"] == ["recipe", "contact", 0, "end"]
    assert walk.ask("release")["ok"]
    assert walk.ask("export", path="a.bvh", which="result")["ok"]


class SlowWorkshop(DocumentSolver):
    """A slow solver that counts the solves begun and finished."""

    slow = threading.Event()
    begun, done = 0, 0

    def solve(self, *arguments: Any, watch: Callable[[str, float], None], **named: Any) -> Any:
        type(self).begun += 1
        until = time.monotonic() + (20.0 if self.slow.is_set() else 0.0)
        while time.monotonic() < until and self.slow.is_set():
            watch("waiting", 0.5)
            time.sleep(0.005)
        result = super().solve(*arguments, watch=watch, **named)
        type(self).done += 1
        return result


@pytest.fixture
def slow(serve_studio: Callable[..., Any]) -> Iterator[Any]:
    SlowWorkshop.slow.clear()
    SlowWorkshop.begun = SlowWorkshop.done = 0
    studio = serve_studio(workshop=SlowWorkshop)
    with studio.talk() as page:
        page.ask("hello")
        page.open("sample:walk", "source")
        page.solved(page.state["version"])
        yield page
    SlowWorkshop.slow.clear()


def test_an_edit_ends_what_is_being_solved(slow: Any) -> None:
    SlowWorkshop.slow.set()
    slow.ask("edit", label="one", changes=ended(100))
    first = slow.state["version"]
    slow.until(lambda message: message.get("text") == "waiting")
    began = time.monotonic()
    slow.ask("edit", label="two", changes=ended(110))
    slow.until(lambda message: message.get("text") == "waiting")
    SlowWorkshop.slow.clear()
    assert slow.solved(slow.state["version"])["tracks"][0]["end"] == pytest.approx(0.31)
    assert time.monotonic() - began < 15.0
    assert not any(message["result"]["version"] == first for message in slow.events if message.get("on") == "result")


def test_what_must_be_done_does_not_wait_and_solving_is_taken_up_again(slow: Any) -> None:
    SlowWorkshop.slow.set()
    slow.ask("edit", label="one", changes=ended(100))
    slow.until(lambda message: message.get("text") == "waiting")
    began = time.monotonic()
    assert not slow.open("sample:nothing", "source")["ok"]
    assert time.monotonic() - began < 10.0
    SlowWorkshop.slow.clear()
    assert slow.solved(slow.state["version"])["tracks"][0]["end"] == pytest.approx(0.3)


def test_changes_are_made_in_the_order_they_were_asked_for(slow: Any) -> None:
    numbers = [slow.send("open", name="sample:child", **{"as": "target"})]
    numbers += [slow.send("edit", label=f"edit {i}", changes=ended(i)) for i in range(5)]
    numbers.append(slow.send("undo"))
    slow.until(lambda message: message.get("re") == numbers[-1])
    assert all(message["ok"] for message in slow.events if "re" in message)
    assert slow.state["undo"] == "edit 3"
    assert slow.state["document"]["recipe"]["contact"][0]["end"] == pytest.approx(0.203)
    assert slow.state["document"]["recipe"]["actor"][0]["target"] == "sample:child"


def test_the_solve_thread_takes_the_newest_request_and_lets_drags_finish() -> None:
    done: list[int | str | None] = []

    async def scenario() -> None:
        solve_thread, free = SolveThread(), asyncio.Event()

        async def perform(request: Request) -> None:
            await free.wait()
            request.check()
            done.append("at rest" if request.at_rest else request.seq)

        async def ready() -> None:
            return None

        running = asyncio.create_task(solve_thread.run(perform, ready))
        requests = [Request(document={}, version=1, seq=i) for i in range(1, 6)]
        for request in requests:
            solve_thread.submit(request)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert solve_thread.busy
        free.set()
        await solve_thread.wait_until_idle()
        assert done == [1, 5, "at rest"]
        free.clear()
        solve_thread.submit(Request(document={}, version=1, seq=6))
        await asyncio.sleep(0.01)
        solve_thread.submit(Request(document={}, version=2))
        free.set()
        await solve_thread.wait_until_idle()
        assert done == [1, 5, "at rest", None]
        free.clear()
        solve_thread.submit(Request(document={}, version=2))
        await asyncio.sleep(0.01)
        solve_thread.cancel()
        free.set()
        await solve_thread.wait_until_idle()
        assert done == [1, 5, "at rest", None]
        running.cancel()
        solve_thread.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("further", [Request(document={}, version=1, seq=2), Request(document={}, version=2), None])
def test_what_follows_a_rest_stops_its_solve(further: Request | None) -> None:
    """A pointer that moves on is not kept waiting by the full solve that began while it rested."""
    done: list[int | None] = []

    async def scenario() -> None:
        solve_thread, began = SolveThread(), asyncio.Event()

        async def perform(request: Request) -> None:
            if request.at_rest and request.seq == 1:
                began.set()
                while True:
                    request.check()
                    await asyncio.sleep(0.005)
            done.append(request.seq)

        async def ready() -> None:
            return None

        running = asyncio.create_task(solve_thread.run(perform, ready))
        solve_thread.submit(Request(document={}, version=1, seq=1))
        await asyncio.wait_for(began.wait(), 10.0)
        if further is None:
            solve_thread.cancel()
        else:
            solve_thread.submit(further)
        await asyncio.wait_for(solve_thread.wait_until_idle(), 10.0)
        running.cancel()
        solve_thread.close()

    asyncio.run(scenario())
    assert done == [1] if further is None else [1, further.seq]


def test_a_stopped_request_raises() -> None:
    request = Request(document={}, version=1)
    request.check()
    request.pause()
    with pytest.raises(SolveStoppedError):
        request.check()
    assert not request.cancelled
    request.resumed().check()
    request.stop()
    assert request.cancelled


def test_a_page_that_takes_nothing_is_given_up() -> None:
    async def scenario() -> None:
        stuck = asyncio.Event()

        async def send(message: str | bytes) -> None:
            await stuck.wait()

        page = Page(send)
        running = asyncio.create_task(page.run())
        large = bytes(1 << 25)
        for _ in range(MAX_QUEUED_BYTES // len(large)):
            page.send(large)
            await asyncio.sleep(0)
        assert not page.closed
        page.send("one more")
        assert page.closed
        await page.wait_until_sent()
        stuck.set()
        await asyncio.wait_for(running, 5.0)

    asyncio.run(scenario())


# ---------------------------------------------------------------------------------------------------------- saving


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "deep" / "session")
    saved, notice = store.load()
    assert notice == ""
    assert saved.history.document == empty_document()
    history = History(empty_document())
    history.push("mode", apply_changes(empty_document(), [{"op": "set", "path": ["mode"], "value": "analogy"}]))
    store.save(SavedSession(history=history, view={"a": 1}, opened=[["sample:walk", 0]], base="/x"))
    saved, notice = store.load()
    assert notice == ""
    assert (saved.view, saved.opened, saved.base) == ({"a": 1}, [["sample:walk", 0]], "/x")
    assert saved.history.table() == history.table()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: "null",
        lambda text: text.replace('"format":1', '"format":99'),
        lambda text: text.replace('"mode":"retarget"', '"mode":"sleep"'),
        lambda text: text.replace('"view":{}', '"view":3'),
        lambda text: text.replace('"done":[]', '"done":[{}]'),
        lambda text: "[" * 100000,
        lambda text: "\udcff",
    ],
    ids=["half", "empty", "list", "null", "newer", "document", "view", "steps", "deep", "bytes"],
)
def test_a_damaged_session_is_set_aside(tmp_path: Path, damage: Callable[[str], str]) -> None:
    store = SessionStore(tmp_path)
    store.save(SavedSession(history=History(empty_document())))
    damaged = damage(store.path.read_text()).encode("utf-8", "surrogateescape")
    for number in (1, 2):
        store.path.write_bytes(damaged)
        saved, notice = store.load()
        assert saved.history.document == empty_document()
        assert f"session.json.damaged-{number}" in notice
        assert (tmp_path / f"session.json.damaged-{number}").read_bytes() == damaged
        assert not store.path.exists()


def test_sessions_belong_to_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert default_folder(Path("/a/walk cycles")).parent == tmp_path / "understudy" / "studio"
    assert default_folder(Path("/a/b")) != default_folder(Path("/c/b"))
    assert default_folder(Path("/a/b")) == default_folder(Path("/a/b"))


def test_a_file_that_is_gone_is_told_to_pages_that_come_later(serve_studio: Callable[..., Any], tmp_path: Path) -> None:
    studio = serve_studio()
    path = tmp_path / "files" / "walk.bvh"
    understudy.write(samples.motion("walk").motion, path)
    with studio.talk() as page:
        page.ask("hello")
        page.open("walk.bvh", "source")
        document = page.state["document"]
    studio.stop()
    saved = path.rename(tmp_path / "elsewhere.bvh")
    again = serve_studio()
    with again.talk() as page:
        page.ask("hello")
        assert "walk.bvh: there is no such file" in page.heard("trouble")["message"]
        assert page.state["document"] == document
    with again.talk() as page:
        page.ask("hello")
        assert "walk.bvh: there is no such file" in page.heard("trouble")["message"]
        saved.rename(path)
        page.ask("detect")
        change = {"op": "set", "path": ["recipe", "contact", 0, "end"], "value": 0.3}
        page.ask("edit", label="x", changes=[change])
        page.solved(page.state["version"])
    with again.talk() as page:
        page.ask("hello")
        assert not [message for message in page.events if message.get("on") == "trouble"]


# -------------------------------------------------------------------------------------------------------- starting


START = """
import sys
from pathlib import Path
from understudy.app import studio
page = Path(sys.argv.pop(1))
studio.find_page = lambda: page
from understudy.app.cli import main
sys.argv[0] = "understudy"
main()
"""


class Process:
    """`understudy studio` started as users do, with a stub page."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        page = folder / "page"
        page.mkdir(exist_ok=True)
        (page / "index.html").write_text("<!doctype html>")
        (folder / "files").mkdir(exist_ok=True)
        self.running = subprocess.Popen(
            [sys.executable, "-c", START, str(page), "studio", "--no-browser", "--json", "--session",
             str(folder / "session"), *arguments],
            cwd=folder / "files", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def started(self) -> dict[str, Any]:
        """The JSON that it prints when it has started."""
        assert self.running.stdout is not None
        lines = []
        while not lines or lines[-1] != "}":
            line = self.running.stdout.readline()
            assert line, f"it ended: {self.running.communicate()[1]}"
            lines.append(line.rstrip())
        started: dict[str, Any] = json.loads("\n".join(lines))
        return started

    def end(self, how: int) -> tuple[int, str]:
        self.running.send_signal(how)
        _, errors = self.running.communicate(timeout=30)
        return self.running.returncode, errors


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    running: list[Process] = []

    def begin(*arguments: str) -> Process:
        running.append(Process(tmp_path, *arguments))
        return running[-1]

    yield begin
    for process in running:
        if process.running.poll() is None:
            process.running.kill()
        process.running.communicate()


def connected(started: dict[str, Any]) -> Any:
    from websockets.sync.client import connect

    token = started["url"].partition("?")[2]
    return connect(f"ws://127.0.0.1:{started['port']}/live?{token}", max_size=None)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_killed_studio_is_as_it_was(start: Callable[..., Process], tmp_path: Path, studio_talk: Any) -> None:
    files = ("sample:walk", "sample:child")
    first = start(*files)
    started = first.started()
    assert started["folders"] == [str(tmp_path / "files")]
    assert Path(started["session"]) == tmp_path / "session"
    with studio_talk(connected(started)) as page:
        page.ask("hello")
        assert page.state["document"]["recipe"]["actor"][0] == {"source": "sample:walk", "target": "sample:child"}
        page.ask("edit", label="one", changes=ended(100))
        page.ask("edit", label="two", changes=ended(110))
        page.ask("undo")
        page.ask("remember", view={"panel": "quality"})
        deadline = time.monotonic() + 20.0
        while '"quality"' not in (tmp_path / "session" / "session.json").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        page.ask("edit", label="three", changes=ended(120))
        before = page.state
        first.end(signal.SIGKILL)
    again = start(*files)
    with studio_talk(connected(again.started())) as page:
        page.ask("hello")
        after = page.state
        for key in ("document", "undo", "redo", "view"):
            assert json.dumps(after[key], sort_keys=True) == json.dumps(before[key], sort_keys=True)
        assert after["version"] > before["version"]
        page.ask("undo")
        page.ask("undo")
        assert page.state["undo"] == "open sample:walk, sample:child"
        page.solved(page.state["version"])
    code, errors = again.end(signal.SIGINT)
    assert (code, errors) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_damaged_session_and_one_in_use_are_told(start: Callable[..., Process], tmp_path: Path) -> None:
    (tmp_path / "session").mkdir()
    (tmp_path / "session" / "session.json").write_text("{")
    first = start()
    first.started()
    second = start()
    _, errors = second.running.communicate(timeout=60)
    assert second.running.returncode == 1
    assert "another studio is using this session" in errors
    assert "--session FOLDER" in errors
    code, errors = first.end(signal.SIGTERM)
    assert code in (0, -signal.SIGTERM)
    assert "note: The saved session could not be read" in errors
    assert "Traceback" not in errors


def test_wrong_starts_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from understudy.app import studio
    from understudy.app.cli import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(studio, "find_page", lambda: tmp_path)
    (tmp_path / "broken.bvh").write_text("HIERARCHY\nROOT")
    wrong = [
        (("broken.bvh",), 1, "broken.bvh:2"),
        (("none.bvh",), 1, "none.bvh: there is no such file"),
        (("a", "b", "c"), 2, "Expected one recipe, or a motion and perhaps a character."),
        (("--folder", "nowhere"), 1, "nowhere: is not a folder"),
        (("--port", "70000"), 2, "70000"),
        (("sample:wolk",), 2, "nearest: `walk`"),
    ]
    for arguments, code, words in wrong:
        command = ["studio", "--no-browser", "--session", str(tmp_path / "session"), *arguments]
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == code, result.output
        assert words in result.output


def test_a_missing_page_or_package_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    from click.testing import CliRunner

    import understudy.studio
    from understudy.app.cli import cli

    monkeypatch.setattr(understudy.studio, "__file__", str(tmp_path / "__init__.py"))
    missing = CliRunner().invoke(cli, ["studio"])
    assert missing.exit_code == 1
    assert "The studio's page is missing" in missing.output
    assert "make page" in missing.output
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").write_text("")
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "uvicorn" else find_spec(name, *rest)
    )
    lacking = CliRunner().invoke(cli, ["studio"])
    assert lacking.exit_code == 1
    assert "The studio needs the package `uvicorn`" in lacking.output
    assert "pip install 'understudy-motion[studio]'" in lacking.output
