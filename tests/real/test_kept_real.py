"""The table of docs/formats.md: what each format keeps of every character, made anew and compared with the page."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

HOME = Path(__file__).resolve().parents[2]
MAX_METRES, MAX_BVH_METRES = 5e-5, 1e-4
"""How far a joint may be off, as ufbx, this library and Blender read it; and a joint of BVH in Blender, which adds up
the angles of long chains in single precision."""


@pytest.fixture(scope="module")
def table() -> ModuleType:
    for needed in ("pxr", "ufbx"):
        pytest.importorskip(needed)
    spec = importlib.util.spec_from_file_location("kept_table", HOME / "docs" / "kept_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["kept_table"] = module
    spec.loader.exec_module(module)
    return module


def test_the_table_of_the_page_is_true(data: Path, table: ModuleType, tmp_path: Path) -> None:
    rows = table.rows_of(data, tmp_path)
    page = (HOME / "docs" / "formats.md").read_text(encoding="utf-8")
    start = page.index(table.table(rows).splitlines()[0])
    lines = page[start:].split("\n\n")[0].splitlines()[2:]
    columns = len(table.FORMATS)
    parts = [rows[first : first + columns] for first in range(0, len(rows), columns)]
    assert [line.split(" | ")[0] for line in lines] == [f"| {part[0].file}" for part in parts]
    for line, part in zip(lines, parts):
        cells = [cell.strip(" |").split(";")[0] for cell in line.split(" | ")[1:]]
        assert cells == [row.kept or "-" for row in part], line
        for row in part:
            bound = MAX_BVH_METRES if row.format == "BVH" else MAX_METRES
            assert not np.isfinite(row.error) or row.error < MAX_METRES, row
            assert not np.isfinite(row.blender) or row.blender < bound, row
