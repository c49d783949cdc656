"""A bounded number of mutants of every format, of recipes and of messages: nothing but errors of ours.

`make fuzz` reads many more. What it finds is kept in `cases`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import mutants as fuzz
from mutants import check_file, find_faults, make_seeds, mutate_value

COUNT = 40
"""Mutants of each format that this test reads."""

MESSAGES = 200
"""Mutated messages that this test sends."""

CASES = sorted(path for path in (Path(__file__).parent / "cases").glob("*") if path.suffix in fuzz.TEXT_SUFFIXES)

SUFFIXES = (".amc", ".asf", ".bvh", ".csv", ".fbx", ".glb", ".gltf", fuzz.TEXT_FBX, ".npz", ".toml", ".xml")

FBX_COUNT = 6
"""The same for FBX, where every file is read by a new process."""


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_mutants_of_a_format_are_read_or_refused(suffix: str, tmp_path: Path) -> None:
    if suffix.endswith(".fbx"):
        pytest.importorskip("ufbx")
    assert find_faults(suffix, FBX_COUNT if suffix.endswith(".fbx") else COUNT, tmp_path) == {}


def test_the_seeds_themselves_are_read(tmp_path: Path) -> None:
    seeds = make_seeds(tmp_path)
    assert sorted(seeds) == sorted(SUFFIXES)
    if importlib.util.find_spec("ufbx") is None:
        seeds = {suffix: seed for suffix, seed in seeds.items() if not suffix.endswith(".fbx")}
    for suffix, (data, beside) in seeds.items():
        for name, content in beside.items():
            (tmp_path / name).write_bytes(content)
        (tmp_path / f"whole{suffix}").write_bytes(data)
        fuzz.read_recipe(tmp_path / "whole.toml") if suffix == ".toml" else fuzz.read(tmp_path / f"whole{suffix}")


def test_a_fault_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path) -> Any:
        raise KeyError(path.name)

    monkeypatch.setattr(fuzz, "read", broken)
    assert find_faults(".bvh", 2, tmp_path)[1].startswith("KeyError: 'mutant.bvh' (")


@pytest.mark.parametrize("path", CASES, ids=[path.name for path in CASES])
def test_earlier_findings_stay_mended(path: Path) -> None:
    assert check_file(path) == ""


# Messages to the studio


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


async def send_mutants(folder: Path, count: int, first: int = 0) -> tuple[list[str], int]:
    """Send mutated messages to a session without a network: unforeseen errors, and the number of replies."""
    from understudy.studio.commands import answer
    from understudy.studio.document import empty_document
    from understudy.studio.folders import Folders
    from understudy.studio.publisher import Page
    from understudy.studio.session import Session, SessionStore
    from understudy.studio.workshop import DocumentSolver

    (folder / "files").mkdir(exist_ok=True)
    (folder / "files" / os.fsdecode(b"\xff.bvh")).write_text("odd")
    replies: list[str | bytes] = []

    async def receive(message: str | bytes) -> None:
        # As a socket does it.
        replies.append(message if isinstance(message, bytes) else message.encode())

    store = SessionStore(folder / "session")
    store.claim()
    session = Session(
        store, store.load()[0], Folders((folder / "files",), store.folder / "uploads"), DocumentSolver(folder)
    )
    session.start()
    page = Page(receive)
    sending = asyncio.ensure_future(page.run())
    session.pages.add(page)
    messages = make_messages(empty_document())
    sent: list[str] = []
    for number in range(first, first + count):
        rng = random.Random(number)
        message = {**rng.choice(messages), "id": number}
        for _ in range(rng.choice((0, 1, 1, 2))):
            message = mutate_value(message, rng)
        sent.append(json.dumps(message))
        async with asyncio.timeout(300.0):
            await answer(session, page, sent[-1])
        if number % 7 == 0:
            async with asyncio.timeout(300.0):
                await session.publisher.solve_thread.wait_until_idle()
        if number % 20 == 0:
            await answer(session, page, json.dumps({"do": "fresh", "id": 0}))
    await asyncio.sleep(0.2)
    assert not sending.done()
    sending.cancel()
    await session.stop()
    faults = [bytes(reply).decode()[:300] for reply in replies if b"Unexpected error" in reply[:2000]]
    return faults, len(
        [reply for reply in replies if reply.startswith(b'{"re"' if isinstance(reply, bytes) else '{"re"')]
    )


def test_mutated_messages_are_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("websockets", reason="the studio's packages are not installed")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    faults, answered = asyncio.run(send_mutants(tmp_path, MESSAGES))
    assert faults == []
    assert answered > 0.5 * MESSAGES
