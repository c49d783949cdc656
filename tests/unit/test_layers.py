"""A module imports only from its own layer or lower ones, as docs/design.md lists them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import understudy

LAYERS = (
    ("errors", "plugins", "records"),
    ("geometry", "naming", "anatomy"),
    ("skeleton", "motion"),
    (
        "angles",
        "kinematics",
        "coordinates",
        "ensemble",
        "usage",
        "cost",
        "roles",
        "symmetry",
        "body",
        "mass",
        "skin",
        "splines",
        "bands",
        "autodiff",
        "io",
    ),
    ("constraints",),
    ("problem", "register", "evaluation"),
    ("solvers",),
    ("contacts", "start", "stance", "limits", "plants", "ground", "transfer", "suggestion", "eigenmotion", "metrics"),
    (
        "samples",
        "picture",
        "plan",
        "casting",
        "pipeline",
        "driving",
        "transition",
        "analogies",
        "stream",
        "recipe",
        "page",
        "video",
        "papers",
        "batches",
    ),
    ("app", "studio"),
)
HOME = Path(understudy.__file__).parent
MODULES = sorted(path for path in HOME.rglob("*.py") if path != HOME / "__init__.py")


def layer(name: str) -> int:
    for number, members in enumerate(LAYERS):
        if name in members:
            return number
    raise AssertionError(f"`{name}` has no layer: put it into LAYERS and docs/design.md")


def imported(path: Path) -> set[str]:
    """The first-level parts of understudy that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names = [node.module] if node.module != "understudy" else [f"understudy.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("understudy.")}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(HOME)))
def test_imports_go_downwards(path: Path) -> None:
    mine = path.relative_to(HOME).parts[0].removesuffix(".py")
    for other in imported(path) - {"__version__"}:
        if (HOME / other).exists() or (HOME / f"{other}.py").exists():
            assert layer(other) <= layer(mine), f"{mine} (layer {layer(mine)}) imports {other} (layer {layer(other)})"
