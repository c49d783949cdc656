"""A bounded number of mutants of every format, of recipes and of messages: nothing but errors of ours.

`make fuzz` reads many more. What it finds is kept in `cases`.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import mutants as fuzz
from messages import send_mutants
from mutants import check_file, find_faults, make_seeds

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


def test_mutated_messages_are_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("websockets", reason="the studio's packages are not installed")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    sent = send_mutants(tmp_path, MESSAGES)
    assert sent.faults == []
    assert sent.disconnects == 0
    assert sent.replies >= MESSAGES
    assert sent.done > 0.3 * MESSAGES


def test_an_unforeseen_error_of_a_message_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("websockets", reason="the studio's packages are not installed")
    from understudy.studio import commands

    async def broken(*given: Any) -> None:
        raise KeyError("nobody foresaw this")

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setitem(commands.COMMANDS, "browse", broken)
    sent = send_mutants(tmp_path, 60)
    assert any("nobody foresaw this" in fault for fault in sent.faults)
