"""Runs what the pages show, and writes what came out between the markers of the README and of the pages in docs.

    python docs/fill.py           rewrite the blocks
    python docs/fill.py --check   only say which are out of date

A block stands between `<!-- fill: KIND argument -->` and `<!-- /fill -->`. `run` takes commands, a line each, that run
one after another in one empty folder a page, and may be given a number of lines to show; `output` runs the Python block
above it; the other kinds take what they show from the program itself. Measured figures (millimetres, times taken,
ratios, powers of ten) may differ between machines and are not compared.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
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
    known = {"understudy": [sys.executable, "-c", COMMAND], "python": [sys.executable], "make": ["make", "-C", HOME]}
    if words[0] not in known:
        raise SystemExit(f"{line}: expected one of {', '.join(known)}")
    # A variable's own make would count as a part of ours and print where it is.
    settings = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    settings |= {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*known[words[0]], *words[1:]],
        cwd=folder, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{line}: failed with {done.returncode}\n{done.stdout}")
    return done.stdout.rstrip()


def fill_run(argument: str, folder: Path, _before: str) -> str:
    first, *lines = argument.rstrip().split("\n")
    most = int(first) if first.strip() else 0
    shown = []
    for line in lines:
        found = run_command(line, folder).splitlines()
        shown += [f"$ {line}", *(found if not most or len(found) <= most else [*found[:most], "..."])]
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
        (found.title, " ".join(f"`{s}`" for s in found.suffixes), yes(found.read), yes(found.write))
        for found in formats().values()
    ]
    return table(("format", "endings", "read", "written"), rows)


def fill_gallery(argument: str, _folder: Path, _before: str) -> str:
    from understudy import samples

    group = {"characters": samples.characters, "motions": samples.motions}[argument.strip()]()
    return "\n\n".join(
        f"### {name}\n\n{s.about}.\n\n![{name}](pictures/samples/{name}.png)" for name, s in group.items()
    )


def fill_layers(_argument: str, _folder: Path, _before: str) -> str:
    """The layers as the test enforces them, those parts that exist."""
    source = (HOME / "tests" / "unit" / "test_layers.py").read_text(encoding="utf-8")
    (layers,) = (
        ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "LAYERS"
    )
    home = HOME / "src" / "understudy"
    rows = []
    for number, members in enumerate(layers):
        for name in members:
            file = home / f"{name}.py" if (home / f"{name}.py").exists() else home / name / "__init__.py"
            if file.exists():
                rows.append((str(number), f"`{name}`", first_line(ast.get_docstring(ast.parse(file.read_text())))))
    return table(("layer", "part", "what it is"), rows)


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

    rows = []
    for name in understudy.__all__:
        value = getattr(understudy, name)
        home = getattr(value, "__module__", "understudy")
        rows.append((f"`{name}`", f"`{home}`", first_line(inspect.getdoc(value))))
    return table(("name", "from", "what it is"), rows)


KINDS: dict[str, Callable[[str, Path, str], str]] = {
    name.removeprefix("fill_"): value for name, value in list(globals().items()) if name.startswith("fill_")
}


def fenced(text: str, language: str = "text") -> str:
    """Text as a block of code; what has backquotes in a row of its own gets a longer fence."""
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
    """The text of a page with every block made anew."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:

        def block(found: re.Match[str]) -> str:
            opening, kind, argument, _, closing = found.groups()
            if kind not in KINDS:
                raise SystemExit(f"{page.name}: no kind `{kind}` of block; known: {', '.join(KINDS)}")
            return f"{opening}\n{KINDS[kind](argument, Path(folder), text[: found.start()])}\n\n{closing}"

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
    if stale:
        print(f"{'out of date' if chosen.check else 'filled'}: {', '.join(stale)}")
    return 1 if stale and chosen.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
