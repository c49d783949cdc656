"""Rigs that no animator would build: heads beside hips, bodies without extent, chains of thousands of joints."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from understudy.app.cli import cli
from understudy.base.quaternion import identity, normalize
from understudy.figure.measures import chain_length, height
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io import read, write
from understudy.retarget.driver import retarget

LEGS = [
    ("LeftUpLeg", "Hips", (0.1, -0.05, 0.0)), ("LeftLeg", "LeftUpLeg", (0.4, 0.0, 0.0)),
    ("LeftFoot", "LeftLeg", (0.4, 0.0, 0.0)), ("LeftToe", "LeftFoot", (0.0, -0.08, 0.15)),
    ("RightUpLeg", "Hips", (-0.1, -0.05, 0.0)), ("RightLeg", "RightUpLeg", (-0.2, 0.3, 0.0)),
    ("RightFoot", "RightLeg", (0.0, 0.2, 0.2)), ("RightToe", "RightFoot", (0.0, -0.08, 0.15)),
]  # fmt: skip

Bone = tuple[str, str | None, tuple[float, float, float]]


def make(bones: list[Bone], frames: int = 12) -> Motion:
    names = [name for name, _, _ in bones]
    parents = [-1 if above is None else names.index(above) for _, above, _ in bones]
    skeleton = Skeleton(names=tuple(names), parents=np.array(parents), offsets=np.array([bone[2] for bone in bones]))
    turns = identity(frames, len(names)).copy()
    turns[..., 1:] += 0.05 * np.sin(np.arange(frames)[:, None, None] / 5 + np.arange(len(names))[:, None])
    return Motion(skeleton=skeleton, fps=30.0, root=np.zeros((frames, 3)), rotations=normalize(turns))


def arms(above: str) -> list[Bone]:
    out: list[Bone] = []
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        out += [
            (f"{side}Arm", above, (0.2 * sign, 0.0, 0.0)),
            (f"{side}ForeArm", f"{side}Arm", (0.3 * sign, 0.0, 0.0)),
            (f"{side}Hand", f"{side}ForeArm", (0.25 * sign, 0.0, 0.0)),
        ]
    return out


@pytest.mark.parametrize("holds_arms", ["Hips", "Head"])
def test_a_head_beside_the_hips_is_measured_and_judged(tmp_path: Path, holds_arms: str) -> None:
    hips: list[Bone] = [("Root", None, (0.0, 0.0, 0.0)), ("Hips", "Root", (0.0, 0.95, 0.0)), *LEGS]
    motion = make([*hips, ("Head", "Root", (0.0, 1.1, 0.0)), *arms(holds_arms)])
    index = motion.skeleton.index
    assert chain_length(motion.skeleton, index["Hips"], index["Head"]) == pytest.approx(0.95 + 1.1)
    assert height(motion.skeleton) > 1.0
    write(motion, tmp_path / "odd.bvh")
    for command in (["info", str(tmp_path / "odd.bvh")], ["evaluate", str(tmp_path / "odd.bvh")]):
        result = CliRunner().invoke(cli, ["--debug", *command])
        assert result.exit_code in (0, 1), result.exception
        assert result.stdout


def test_a_body_without_extent_is_no_fault_of_ours(tmp_path: Path) -> None:
    motion = make([("Hips", None, (0.0, 0.0, 0.0)), *LEGS, ("Head", "Hips", (0.0, 0.0, 0.0)), *arms("Head")])
    write(motion, tmp_path / "flat.bvh")
    result = CliRunner().invoke(cli, ["--debug", "evaluate", str(tmp_path / "flat.bvh")])
    assert result.exit_code in (0, 1), result.stderr
    assert "nan" not in result.stderr


def chain(count: int) -> str:
    """A BVH of joints that hang from one another, as text."""
    lines = ["HIERARCHY", "ROOT j0", "{", "OFFSET 0 0 0"]
    lines.append("CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation")
    for number in range(1, count):
        lines += [f"JOINT j{number}", "{", "OFFSET 0 1 0", "CHANNELS 3 Zrotation Xrotation Yrotation"]
    lines += ["End Site", "{", "OFFSET 0 1 0", "}", *["}"] * count, "MOTION", "Frames: 2", "Frame Time: 0.0333"]
    return "\n".join([*lines, *[" ".join(["0"] * (3 * count + 3))] * 2]) + "\n"


def test_long_chains_take_time_in_proportion(tmp_path: Path) -> None:
    seconds, sizes = {}, {}
    for count in (1250, 5000):
        path = tmp_path / f"{count}.bvh"
        path.write_text(chain(count))
        start = time.process_time()
        clip = read(path)
        assert clip.skeleton.num_joints == count
        write(clip, tmp_path / "again.bvh")
        info = CliRunner().invoke(cli, ["--debug", "info", str(path)])
        assert info.exit_code == 0
        seconds[count], sizes[count] = time.process_time() - start, len(info.stdout)
    # Four times the joints may take four times as long, and the noise of a busy machine; quadratic would be 16 times.
    assert seconds[5000] < 9.0 * seconds[1250]
    assert sizes[5000] < 5.0 * sizes[1250]


def test_a_retarget_of_a_deep_chain_does_not_exceed_the_recursion_limit(tmp_path: Path) -> None:
    from understudy.correspondence.parts import _similar_branches

    (tmp_path / "chain.bvh").write_text(chain(3000))
    skeleton = read(tmp_path / "chain.bvh").skeleton
    assert _similar_branches(skeleton, np.ones(skeleton.num_joints)) == []


def test_long_chains_are_retargeted_in_time_in_proportion(tmp_path: Path) -> None:
    seconds = {}
    for count in (1250, 5000):
        path = tmp_path / f"{count}.bvh"
        path.write_text(chain(count))
        start = time.process_time()
        retarget(path, scale=0.9)
        seconds[count] = time.process_time() - start
    assert seconds[5000] < 9.0 * seconds[1250]


def test_a_long_chain_can_be_a_target(tmp_path: Path) -> None:
    """Rotations of a hundred bones in a row keep their length; rounding doubled at every joint before."""
    (tmp_path / "chain.bvh").write_text(chain(100))
    rotations = retarget("sample:walk", tmp_path / "chain.bvh").motion.rotations
    assert np.allclose(np.linalg.norm(rotations, axis=-1), 1.0)
