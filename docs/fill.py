"""Runs the commands and programs that the README and the pages of docs show, and writes their output into the pages.

    python docs/fill.py           rewrite the blocks
    python docs/fill.py --check   only list the pages that are out of date

A block stands between `<!-- fill: KIND argument -->` and `<!-- /fill -->`. `run` takes commands, a line each, and runs
them one after another in a folder that is empty at the start of a page; a number limits the lines shown of each.
`output` runs the Python block above it. `example` shows and runs a program of `examples`. The other kinds show what the
package says about itself. Measured figures (millimetres, times, ratios, powers of ten) differ between machines and are
not compared. The picture of the package's rooms is drawn by this program, too, from the imports in the source.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import enum
import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

HOME = Path(__file__).resolve().parents[1]
SOURCE = HOME / "src" / "understudy"
ROOMS_PICTURE = HOME / "docs" / "pictures" / "rooms.svg"
BLOCK = re.compile(r"(<!-- fill: (\w+)(.*?)-->\n)(.*?)(<!-- /fill -->)", re.DOTALL)
FENCE = re.compile(r"```python\n(.*?)```", re.DOTALL)
UNITS = r"mm|ms|x|/|degrees over|degrees, shifted|m in [xz]|of the motions'|s for"
MEASURED = re.compile(rf"\d[\d.]*e[-+]\d+|\d[\d.e+-]*(?= (?:{UNITS})(?:\s|$))", re.MULTILINE)
COMMAND = "from understudy.app.cli import main; main()"


def pages() -> list[Path]:
    """The README and every page of the documentation."""
    return [HOME / "README.md", HOME / "CONTRIBUTING.md", *sorted((HOME / "docs").glob("*.md"))]


def run_command(line: str, folder: Path) -> str:
    """What a command prints, as a terminal would show it; an error if it fails."""
    words = shlex.split(line)
    programs = {"understudy": [sys.executable, "-c", COMMAND], "python": [sys.executable], "make": ["make", "-C", HOME]}
    if words[0] not in programs:
        raise SystemExit(f"{line}: expected one of {', '.join(programs)}")
    # With the variables of an outer make, `make` would print the folders that it enters.
    settings = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    settings |= {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*programs[words[0]], *words[1:]],
        cwd=folder, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{line}: failed with {done.returncode}\n{done.stdout}")
    return done.stdout.rstrip()


def fill_run(argument: str, folder: Path, _before: str) -> str:
    first, *lines = argument.rstrip().split("\n")
    limit = int(first) if first.strip() else 0
    shown = []
    for line in lines:
        printed = run_command(line, folder).splitlines()
        shown += [f"$ {line}", *(printed if not limit or len(printed) <= limit else [*printed[:limit], "..."])]
    return fenced("\n".join(shown), "console")


def fill_output(_argument: str, folder: Path, before: str) -> str:
    blocks = FENCE.findall(before)
    if not blocks:
        raise SystemExit("`fill: output` has no Python block above it")
    (folder / "block.py").write_text(blocks[-1], encoding="utf-8")
    return fenced(run_command("python -W error block.py", folder))


def fill_example(argument: str, folder: Path, _before: str) -> str:
    name = argument.strip()
    path = HOME / "examples" / name
    printed = run_command(f"python -W error {shlex.quote(str(path))}", folder)
    return f"{fenced(path.read_text(encoding='utf-8').rstrip(), 'python')}\n\nIt prints\n\n{fenced(printed)}"


def fill_help(_argument: str, folder: Path, _before: str) -> str:
    from understudy.app.cli import PACKAGE
    from understudy.base.plugins import scan

    parts = [fenced(run_command("understudy --help", folder))]
    for name, _ in scan(PACKAGE, "COMMAND"):
        parts.append(f"## {name}\n\n{fenced(run_command(f'understudy {name} --help', folder))}")
    return "\n\n".join(parts)


def fill_formats(_argument: str, _folder: Path, _before: str) -> str:
    from understudy.io import formats

    rows = [
        (form.title, " ".join(f"`{suffix}`" for suffix in form.suffixes), yes(form.read), yes(form.write))
        for form in formats().values()
    ]
    return table(("format", "endings", "read", "written"), rows)


def fill_gallery(argument: str, _folder: Path, _before: str) -> str:
    from understudy import samples

    group = {"characters": samples.characters, "motions": samples.motions}[argument.strip()]()
    return "\n\n".join(
        f"### {name}\n\n{s.about}.\n\n![{name}](pictures/samples/{name}.png)" for name, s in group.items()
    )


def fill_layers(_argument: str, _folder: Path, _before: str) -> str:
    """The rooms of the package from the lowest, with what each is for and what it imports."""
    rows = []
    for name in sorted(room_levels(), key=_height):
        about = first_line(ast.get_docstring(parse(SOURCE / name / "__init__.py")))
        imports = ", ".join(f"`{other}`" for other in sorted(room_imports()[name], key=_height))
        rows.append((str(room_levels()[name]), f"`{name}`", about, imports or "none"))
    return table(("layer", "room", "what it is", "imports"), rows)


def fill_constraints(_argument: str, _folder: Path, _before: str) -> str:
    from understudy.constraints import kinds

    rows = [(f"`{name}`", kind.__name__, first_line(kind.__doc__)) for name, kind in kinds().items()]
    return table(("kind", "class", "what it asks"), rows)


def fill_solvers(_argument: str, _folder: Path, _before: str) -> str:
    from understudy.base.plugins import scan

    rows = []
    for module, solver in scan("understudy.solve.solvers", "SOLVER"):
        about = importlib.import_module(f"understudy.solve.solvers.{module}").__doc__
        rows.append((f"`{solver.name}`", first_line(about)))
    return table(("solver", "what it does"), rows)


def fill_api(_argument: str, _folder: Path, _before: str) -> str:
    import understudy

    names = sorted(understudy.__all__, key=lambda name: name != "retarget")
    values = {name: getattr(understudy, name) for name in names}
    shown = set(map(id, values.values()))
    parts = []
    for title, chosen in (("Functions", inspect.isfunction), ("Classes", inspect.isclass)):
        parts.append(f"## {title}")
        for name, value in values.items():
            if not chosen(value):
                continue
            parts.append(f"### `u.{name}`\n\n{described(value, name)}")
            result = returned_class(value)
            if result is not None and id(result) not in shown:
                shown.add(id(result))
                parts.append(f"#### `{result.__name__}`\n\n{described(result, result.__name__)}")
    for room, value in values.items():
        if isinstance(value, ModuleType):
            parts.append(f"## `u.{room}`\n\n{first_line(inspect.getdoc(value))}")
            members = [(name, getattr(value, name)) for name in value.__all__]
            parts += [f"### `u.{room}.{name}`\n\n{described(member, name)}" for name, member in members]
    return "\n\n".join(parts)


KINDS: dict[str, Callable[[str, Path, str], str]] = {
    name.removeprefix("fill_"): value for name, value in list(globals().items()) if name.startswith("fill_")
}


def parse(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def room_imports() -> dict[str, frozenset[str]]:
    """The rooms that each room of the package imports, wherever in its modules."""
    rooms = sorted(file.parent.name for file in SOURCE.glob("*/__init__.py"))
    found: dict[str, set[str]] = {name: set() for name in rooms}
    for name in rooms:
        for file in (SOURCE / name).rglob("*.py"):
            for node in ast.walk(parse(file)):
                if isinstance(node, ast.ImportFrom) and node.module == "understudy":
                    modules = [f"understudy.{alias.name}" for alias in node.names]
                elif isinstance(node, ast.ImportFrom):
                    modules = [node.module or ""]
                else:
                    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                found[name] |= {module.split(".")[1] for module in modules if module.startswith("understudy.")}
    return {name: frozenset(found[name] & found.keys() - {name}) for name in rooms}


@cache
def room_levels() -> dict[str, int]:
    """How far above the lowest room each room stands: one above the highest that it imports."""
    levels: dict[str, int] = {}
    waiting = dict(room_imports())
    while waiting:
        ready = [name for name, imports in waiting.items() if imports <= levels.keys()]
        if not ready:
            raise SystemExit(f"rooms import each other in a circle: {', '.join(waiting)}")
        levels |= {name: 1 + max((levels[other] for other in waiting[name]), default=-1) for name in ready}
        waiting = {name: imports for name, imports in waiting.items() if name not in levels}
    return levels


def _height(name: str) -> tuple[int, str]:
    """For sorting rooms, the lowest first."""
    return room_levels()[name], name


def direct_imports() -> list[tuple[str, str]]:
    """Pairs of a room and one that it imports, without those that follow from others."""
    below: dict[str, set[str]] = {}
    pairs = []
    for name in sorted(room_levels(), key=_height):
        imports = room_imports()[name]
        reached = {far for other in imports for far in below[other]}
        below[name] = imports | reached
        pairs += [(name, other) for other in sorted(imports - reached)]
    return pairs


def rooms_picture() -> str:
    """The rooms as boxes, the lowest at the bottom, with a line from each to those it imports, as SVG.

    A line that passes other layers gets a place of its own in each, so that it runs between the boxes.
    """
    width, height, across, down, margin = 118, 30, 146, 72, 24
    levels = room_levels()
    rows: list[list[str]] = [[] for _ in range(1 + max(levels.values()))]
    for name, level in levels.items():
        rows[level].append(name)
    lines, neighbours = [], {name: set[str]() for name in levels}
    for upper, lower in direct_imports():
        between = [f"{upper}>{lower}@{level}" for level in range(levels[upper] - 1, levels[lower], -1)]
        for place in between:
            rows[int(place.rpartition("@")[2])].append(place)
            neighbours[place] = set()
        line = [upper, *between, lower]
        lines.append(line)
        for one, other in pairwise(line):
            neighbours[one].add(other)
            neighbours[other].add(one)
    places = {name: float(i - (len(row) - 1) / 2) for row in rows for i, name in enumerate(row)}
    for sweep in range(40):
        # Each row is ordered by where the neighbours in the row before it are, upwards and downwards in turn.
        order = range(1, len(rows)) if sweep % 2 == 0 else range(len(rows) - 2, -1, -1)
        for level in order:
            beside = set(rows[level - 1 if sweep % 2 == 0 else level + 1])
            middle = {name: _mean([places[other] for other in sorted(neighbours[name] & beside)], places[name])
                      for name in rows[level]}  # fmt: skip
            rows[level].sort(key=lambda name, middle=middle: (middle[name], name))
            places |= {name: i - (len(rows[level]) - 1) / 2 for i, name in enumerate(rows[level])}
    widest = max(len(row) for row in rows)
    size = (2 * margin + across * (widest - 1) + width, 2 * margin + down * (len(rows) - 1) + height)
    where = {
        name: (size[0] / 2 + across * places[name], size[1] - margin - height / 2 - down * level)
        for level, row in enumerate(rows)
        for name in row
    }
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" font-family="sans-serif">',
        "<title>The rooms of the package, each above those that it imports</title>",
        f'<rect width="{size[0]}" height="{size[1]}" fill="#ffffff"/>',
    ]
    parts += [f'<path d="{_curve([where[name] for name in line])}" fill="none" stroke="#8a9aa5" stroke-width="1.5"/>'
              for line in lines]  # fmt: skip
    for name in levels:
        x, y = where[name]
        about = first_line(ast.get_docstring(parse(SOURCE / name / "__init__.py")))
        parts.append(
            f"<g><title>{escape(about, quote=False)}</title>"
            f'<rect x="{x - width / 2:g}" y="{y - height / 2:g}" width="{width}" height="{height}" rx="4" '
            f'fill="#e8eef2" stroke="#46606f"/>'
            f'<text x="{x:g}" y="{y + 5:g}" text-anchor="middle" font-size="14" fill="#1c2a33">{name}</text></g>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _curve(points: list[tuple[float, float]]) -> str:
    """A smooth path through points, upright at each of them."""
    path = f"M{points[0][0]:g},{points[0][1]:g}"
    for (x0, y0), (x1, y1) in pairwise(points):
        middle = (y0 + y1) / 2
        path += f" C{x0:g},{middle:g} {x1:g},{middle:g} {x1:g},{y1:g}"
    return path


def described(value: Any, name: str) -> str:
    """The signature of a public name, what it is, and its arguments, fields and methods."""
    text = inspect.getdoc(value) or ""
    about, _, _ = re.split(r"(\n+(?:Args|Returns|Raises):\n)", text + "\n\nArgs:\n", maxsplit=1)[:3]
    parts = [] if isinstance(value, type) and issubclass(value, enum.Enum) else [fenced(signature(value, name), "py")]
    parts.append(about.strip())
    notes = field_notes(value) if isinstance(value, type) else {}
    notes |= argument_notes(text)
    if notes:
        parts.append("\n".join(f"- `{key}`: {note}" for key, note in notes.items()))
    if returned := re.search(r"^Returns:\n(.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL):
        parts.append(f"Returns: {' '.join(returned[1].split())}")
    if isinstance(value, type):
        rows = list(member_rows(value))
        parts += [table(("method or property", "what it does"), rows)] if rows else []
    return "\n\n".join(parts)


def returned_class(value: Any) -> type | None:
    """The class of this package that a function returns; None for any other."""
    function = inspect.unwrap(value)
    if not inspect.isfunction(function):
        return None
    found = function.__globals__.get(str(inspect.signature(function).return_annotation))
    return found if isinstance(found, type) and found.__module__.startswith("understudy") else None


def signature(value: Any, name: str) -> str:
    """How a function or class is called, on one line or a line for each argument."""
    found = inspect.signature(value)
    arguments, starred = [], False
    for key, argument in found.parameters.items():
        if key.startswith("_") or key == "self":
            continue
        if argument.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            arguments.append("*")
            starred = True
        text = {argument.VAR_POSITIONAL: "*", argument.VAR_KEYWORD: "**"}.get(argument.kind, "") + key
        if argument.annotation is not argument.empty:
            text += f": {_annotation(argument.annotation)}"
        if argument.default is not argument.empty:
            text += f" = {_default(argument.default)}"
        arguments.append(text)
    back = found.return_annotation
    end = (
        f") -> {_annotation(back)}" if back not in (found.empty, None, "None") and not isinstance(value, type) else ")"
    )
    line = f"{name}({', '.join(arguments)}{end}"
    return line if len(line) <= 100 else "\n".join([f"{name}(", *(f"    {text}," for text in arguments), end])


def _annotation(found: Any) -> str:
    return found if isinstance(found, str) else getattr(found, "__name__", str(found))


def _default(value: Any) -> str:
    text = repr(value)
    return "..." if text.startswith("<") else text


def field_notes(kind: type) -> dict[str, str]:
    """What the docstrings below the fields of a dataclass, or the members of an enumeration, say, by name."""
    if not (dataclasses.is_dataclass(kind) or issubclass(kind, enum.Enum)):
        return {}
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    notes = {}
    for node, after in zip(tree.body, [*tree.body[1:], None]):
        target = (
            node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else 0
        )
        if not isinstance(target, ast.Name) or target.id.startswith("_"):
            continue
        said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and after.value.value
        if isinstance(said, str):
            notes[target.id] = " ".join(said.split())
        elif isinstance(node, ast.Assign):
            notes[target.id] = ast.unparse(node.value)
    return notes


def argument_notes(text: str) -> dict[str, str]:
    """What a docstring says about each argument, by name."""
    found = re.search(r"^Args:\n(.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    entries = re.findall(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", found[1], re.MULTILINE | re.DOTALL) if found else []
    return {name: " ".join(note.split()) for name, note in entries}


def member_rows(kind: type) -> Iterator[tuple[str, str]]:
    """A row for each public method and property of a class of ours: how it is called and its first line."""
    owners = [owner for owner in kind.__mro__ if owner.__module__.startswith("understudy")]
    members = {name: value for owner in reversed(owners) for name, value in vars(owner).items()}
    for name, value in members.items():
        if name.startswith("_"):
            continue
        inner = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if inspect.isfunction(inner):
            shown = (
                " ".join(signature(inner, name).split()).replace("( ", "(").replace(",)", ")").replace("(cls, ", "(")
            )
            yield f"`{shown.replace('(cls)', '()')}`", first_line(inspect.getdoc(inner))
        elif isinstance(value, property) or hasattr(value, "__set_name__"):
            yield f"`{name}`", first_line(inspect.getdoc(value))


def fenced(text: str, language: str = "text") -> str:
    """Text as a block of code; text that contains a fence gets a longer one."""
    fence = "````" if "```" in text else "```"
    return f"{fence}{language}\n{text}\n{fence}"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def first_line(text: str | None) -> str:
    """The first sentence or line of a docstring."""
    return (text or "").strip().split("\n\n")[0].replace("\n", " ").strip()


def yes(value: object) -> str:
    return "yes" if value is not None else "no"


def filled(page: Path) -> str:
    """The text of a page with every block filled again."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:

        def block(match: re.Match[str]) -> str:
            opening, kind, argument, _, closing = match.groups()
            if kind not in KINDS:
                raise SystemExit(f"{page.name}: there is no kind `{kind}` of block; kinds: {', '.join(KINDS)}")
            return f"{opening}\n{KINDS[kind](argument, Path(folder), text[: match.start()])}\n\n{closing}"

        return BLOCK.sub(block, text)


def steady(text: str) -> str:
    """Text without what differs between machines."""
    return MEASURED.sub("#", text)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true", help="change nothing; fail if a page is out of date")
    options.add_argument("pages", nargs="*", type=Path, help="only these")
    chosen = options.parse_args()
    stale = []
    for page in chosen.pages or pages():
        new = filled(page.resolve())
        if steady(new) == steady(page.read_text(encoding="utf-8")):
            continue
        stale.append(page.name)
        if not chosen.check:
            page.write_text(new, encoding="utf-8")
    if not chosen.pages and (
        not ROOMS_PICTURE.exists() or ROOMS_PICTURE.read_text(encoding="utf-8") != rooms_picture()
    ):
        stale.append(ROOMS_PICTURE.name)
        if not chosen.check:
            ROOMS_PICTURE.write_text(rooms_picture(), encoding="utf-8")
    if stale:
        print(f"{'out of date' if chosen.check else 'filled'}: {', '.join(stale)}")
    return 1 if stale and chosen.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
