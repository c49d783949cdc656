"""Rigify's human, made by Blender where there is one, exported with its deform bones alone."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.rigs.conventions import RIGS
from tests.rigs.test_rigs import wrong_bones

import understudy

SCRIPT = Path(__file__).with_name("make_rigify.py")


def blender() -> list[str]:
    """The command that runs a script in Blender; UNDERSTUDY_BLENDER names a Blender, or a Python that has `bpy`."""
    named = shlex.split(os.environ.get("UNDERSTUDY_BLENDER", ""))
    if not named and importlib.util.find_spec("bpy"):
        named = [sys.executable]
    program = shutil.which(named[0] if named else "blender")
    if program is None:
        pytest.skip("there is no Blender here; UNDERSTUDY_BLENDER can name one, or a Python that has `bpy`")
    is_python = Path(program).name.startswith("python")
    return [program, *named[1:], *(() if is_python else ("--background", "--factory-startup", "--python"))]


def test_main_bones_of_deform_bones_alone(tmp_path: Path) -> None:
    path = tmp_path / "rigify.glb"
    subprocess.run([*blender(), str(SCRIPT), "--", str(path)], check=True, capture_output=True, timeout=300)
    clip = understudy.read(path)
    wrong = wrong_bones(RIGS["Rigify deform bones, limbs apart"], clip, {name: name for name in clip.skeleton.names})
    assert not wrong, "; ".join(wrong)
