"""Rooms import downwards only: no room imports one that stands above it, and few pairs of rooms know each other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import understudy

ROOMS = (
    "base",
    "figure",
    "samples",
    "constraints",
    "solve",
    "correspondence",
    "io",
    "metrics",
    "retarget",
    "transition",
    "analogy",
    "show",
    "recipe",
    "batch",
    "studio",
    "app",
)
"""From the ground up: a room may import those before it."""

MAX_EDGES = 100
HOME = Path(understudy.__file__).parent


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a file imports, wherever in it."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names = [node.module] if node.module != "understudy" else [f"understudy.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("understudy.")}
    return rooms & set(ROOMS)


def edges() -> set[tuple[str, str]]:
    """Pairs of rooms of which the first imports the second."""
    return {
        (room, other)
        for room in ROOMS
        for path in (HOME / room).rglob("*.py")
        for other in imported_rooms(path)
        if other != room
    }


def test_there_are_these_rooms_and_no_others() -> None:
    assert {path.parent.name for path in HOME.glob("*/__init__.py")} == set(ROOMS)
    assert {path.name for path in HOME.glob("*.py")} == {"__init__.py", "__main__.py"}, "modules live in rooms"


def test_imports_go_downwards() -> None:
    upwards = [f"{room} imports {other}" for room, other in edges() if ROOMS.index(other) > ROOMS.index(room)]
    assert not upwards, upwards


def test_few_rooms_know_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    count = len(edges())
    with capsys.disabled():
        print(f"\n{len(ROOMS)} rooms, {count} edges between them (at most {MAX_EDGES})")
    assert count <= MAX_EDGES


@pytest.mark.parametrize("room", ["recipe", "batch", "studio", "app"])
def test_rooms_above_the_driver_do_not_solve_by_themselves(room: str) -> None:
    assert (room, "solve") not in edges()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for(room: str) -> None:
    docstring = ast.get_docstring(ast.parse((HOME / room / "__init__.py").read_text(encoding="utf-8")))
    assert docstring
    assert "mport" in docstring, "a room says what it imports or who may import it"
