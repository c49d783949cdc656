"""Frame times in wrong units are refused: they would ask for gigabytes or overflow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from understudy import samples
from understudy.base.errors import FileError
from understudy.io import read, write


@pytest.fixture
def text(tmp_path: Path) -> str:
    write(samples.motion("walk2d").motion.resampled(30.0)[:3], tmp_path / "walk.bvh")
    return (tmp_path / "walk.bvh").read_text()


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        ("33.3333", "a frame lasts 33.33 s; expected 0.0001 to 2.5 s"),
        ("33.3333", "counted in milliseconds that makes 30 frames a second: write the time of a frame"),
        ("8.333", "counted in milliseconds that makes 120 frames a second"),
        ("8333", "counted in microseconds that makes 120 frames a second"),
        ("1e300", "a frame lasts 1e+300 s"),
        ("1e-300", "a frame lasts 1e-300 s"),
        ("5.5e-4", ""),
    ],
)
def test_a_frame_that_lasts_hours_or_nothing_is_refused(tmp_path: Path, text: str, seconds: str, message: str) -> None:
    path = tmp_path / "wrong.bvh"
    path.write_text(re.sub("Frame Time: .*", f"Frame Time: {seconds}", text))
    if not message:
        assert read(path).motion is not None
        return
    with pytest.raises(FileError, match=re.escape(message)):
        read(path)


def test_the_frame_time_of_a_single_frame_means_nothing(tmp_path: Path, text: str) -> None:
    head, _, frames = text.partition("MOTION\n")
    path = tmp_path / "pose.bvh"
    path.write_text(f"{head}MOTION\nFrames: 1\nFrame Time: 1000\n{frames.splitlines()[2]}\n")
    assert read(path).motion is not None
