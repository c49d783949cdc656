"""Runs every benchmark of this folder and writes what they print into docs/benchmarks.md.

    python benchmarks/run.py [--only NAME ...]

A benchmark is a file here with a `main()`; its docstring says what it measures. With `--only`, the others keep what
they printed last. The page is made by this program alone: it is never edited by hand.
"""

from __future__ import annotations

import argparse
import ast
import os
import platform
import re
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

<!-- Made by `make bench`; not edited by hand. -->

Every figure here was printed by a program in `benchmarks/`, with one thread for linear algebra. Times are the least of
several, which other work on the machine disturbs least. Compare figures of one section with each other: different
sections may come from different days.
"""
SECTION = re.compile(r"^## (\w+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


def found() -> dict[str, Path]:
    """Every benchmark by name: the files with a `main`, this one apart."""
    files = sorted(path for path in HERE.glob("*.py") if path != Path(__file__).resolve())
    return {path.stem: path for path in files if "main" in functions(path)}


def functions(path: Path) -> set[str]:
    """The names of a file's own functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def machine() -> str:
    """The machine and the packages that count, in a line."""
    names = re.findall(r"^model name\s*:\s*(.+)$", cpu_text(), re.MULTILINE)
    model = names[0].strip() if names else platform.processor() or platform.machine()
    packages = [f"{name} {installed(name)}" for name in ("numpy", "scipy") if installed(name)]
    parts = [f"{model}, {os.cpu_count()} cores", f"{platform.system()}", f"Python {platform.python_version()}"]
    return ", ".join([*parts, *packages])


def cpu_text() -> str:
    try:
        return Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def section(name: str, path: Path) -> tuple[str, int]:
    """What a benchmark measures and what it printed, as a section of the page; and its exit code."""
    about = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").strip()
    title, _, rest = about.partition("\n")
    # The lines that say how to call it are not for the page.
    rest = re.sub(r"(?m)^    .*\n?", "", rest).strip()
    settings = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(path)], env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
        check=False,
    )  # fmt: skip
    took = time.perf_counter() - began
    text = f"## {name}\n\n{title}\n\n{rest}\n\n```text\n{done.stdout.rstrip()}\n```\n\nOn {machine()}; {took:.0f} s.\n"
    return text, done.returncode


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", nargs="+", metavar="NAME", help="names of benchmarks")
    chosen = options.parse_args()
    known = found()
    unknown = sorted(set(chosen.only or ()) - set(known))
    if unknown:
        options.error(f"there is no {', '.join(unknown)}; known: {', '.join(known)}")
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    sections = {name: f"## {name}\n{text.rstrip()}\n" for name, text in SECTION.findall(old) if name in known}
    failed = []
    for name in chosen.only or known:
        print(f"{name} ...", flush=True)
        sections[name], code = section(name, known[name])
        print(sections[name])
        failed += [name] if code else []
    PAGE.write_text("\n".join([HEAD, *(sections[name] for name in sorted(sections))]), encoding="utf-8")
    if failed:
        print(f"did not reach what they ask for: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
