"""The command line and Python give the same files, to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import understudy as u
from understudy.app.cli import cli

PAIRS = (
    ("cmu_bvh/02_01.bvh", None, 0.6),
    ("cmu_bvh/02_01.bvh", None, {"legs": 1.3}),
    ("cmu_bvh/16_15.bvh", None, {"legs": 0.8}),
    ("cmu_bvh/131_03.bvh", None, {"arms": 1.5}),
    ("cmu_bvh/49_06.bvh", None, {"arms": 0.7}),
    ("cmu_bvh/02_01.bvh", "gltf/m2m_human_male.glb", None),
    ("cmu_bvh/16_15.bvh", "gltf/quaternius_man_Casual.glb", None),
    ("cmu_bvh/09_01.bvh", "humans/rokoko_jesse_dance.bvh", None),
    ("cmu_bvh/131_03.bvh", "gltf/m2m_human_male.glb", None),
    ("cmu_bvh/02_03.bvh", "humans/makehuman_tpose.bvh", None),
    ("cmu_bvh/02_04.bvh", "gltf/quaternius_man_Casual.glb", None),
    ("cmu_bvh/55_04.bvh", "humans/rokoko_jesse_dance.bvh", None),
    ("cmu_bvh/13_29.bvh", "gltf/m2m_human_male.glb", None),
    ("cmu_bvh/02_01.bvh", "sample:child", None),
    ("cmu_bvh/131_03.bvh", "sample:giant", None),
    ("cmu_bvh/02_01.bvh", "sample:dog", None),
    ("humans/rokoko_jesse_dance.bvh", "cmu_bvh/02_01.bvh", None),
    ("humans/pybvh_test1_mixed_orders.bvh", "gltf/m2m_human_male.glb", None),
    ("humans/makehuman_walk1.bvh", "cmu_bvh/02_01.bvh", None),
    ("sample:walk", "sample:can", None),
)


def place(data: Path, name: str) -> str:
    return name if name.startswith("sample:") else str(data / name)


@pytest.mark.parametrize(("source", "target", "scale"), PAIRS, ids=lambda value: str(value).replace("/", "_"))
def test_the_command_and_python_write_the_same_bytes(
    data: Path, tmp_path: Path, source: str, target: str | None, scale: float | dict[str, float] | None
) -> None:
    source, target = place(data, source), None if target is None else place(data, target)
    text = scale if not isinstance(scale, dict) else ",".join(f"{part}={factor}" for part, factor in scale.items())
    arguments = [source, *([] if target is None else [target]), *([] if scale is None else ["--scale", str(text)])]
    result = CliRunner().invoke(cli, ["retarget", *arguments, "-o", str(tmp_path / "command.bvh")])
    assert (tmp_path / "command.bvh").is_file(), result.output
    u.retarget(source, target, scale=scale).write(tmp_path / "python.bvh")
    u.retarget(u.read(source) if not source.startswith("sample:") else source, target, scale=scale).write(
        tmp_path / "clip.bvh"
    )
    command = (tmp_path / "command.bvh").read_bytes()
    assert (tmp_path / "python.bvh").read_bytes() == command
    assert (tmp_path / "clip.bvh").read_bytes() == command
