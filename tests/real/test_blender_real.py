"""Files read by Blender and by us, where a Python with Blender is named (UNDERSTUDY_BLENDER)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def check() -> ModuleType:
    return load("blender_check")


@pytest.fixture(scope="module")
def python(check: ModuleType) -> str:
    """The Python that has Blender."""
    for needed in ("pxr", "ufbx"):
        pytest.importorskip(needed)
    found = check.blender()
    if found is None:
        pytest.skip("UNDERSTUDY_BLENDER names no Python with the package `bpy`")
    return str(found)


def test_blender_has_every_joint_within_a_tenth_of_a_millimetre(data: Path, check: ModuleType, python: str) -> None:
    _, found = check.compare(python)
    assert {each.case.importer for each in found} == {"bvh", "gltf", "usd", "fbx", "fbx_new"}
    for each in found:
        assert not each.problem, f"{each.case.file}: {each.problem}"
        # Kenney's root is no bone, and no bone of Blender's.
        assert each.missing == (1 if "kenney" in each.case.file else 0), each.case.file
        assert each.joints >= 3
        assert each.worst < 1e-4, each.case.file


def test_fbx_of_blender_is_read_with_any_axes_and_units(data: Path, check: ModuleType, python: str) -> None:
    found = check.exported(python)
    assert set(found) == set(check.EXPORTS)
    for title, off in found.items():
        assert off < 1e-4, title


def test_fbx_files_written_here_are_read_the_same_by_ufbx_blender_and_autodesk(
    data: Path, check: ModuleType, python: str
) -> None:
    readback = load("fbx_readback")
    rows = readback.compare(python, readback.find_converter())
    assert len(rows) >= 30
    for row in rows:
        assert row.ufbx < 5e-5, row
        assert row.blender < 5e-5, row
    skins = [row for row in rows if row.skin_blender == row.skin_blender]
    assert len(skins) >= 10
    assert max(max(row.skin_ufbx, row.skin_blender) for row in skins) < 1e-4
    if readback.find_converter() is not None:
        assert max(row.autodesk for row in rows) < 5e-5
        assert max(row.skin_autodesk for row in skins) < 1e-4
