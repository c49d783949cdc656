"""Captured motions for the papers' experiments: where they are in a folder of real data, and which are missing."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from understudy.errors import FileError
from understudy.io import Clip, read
from understudy.motion import Motion

DOG = "animals/dog_walk_30fps.bvh"
"""A dog that stands, walks and runs."""


def cmu(name: str) -> str:
    """Where a clip of the CMU database is in a folder of real data."""
    return f"cmu_bvh/{name}.bvh"


@lru_cache(maxsize=64)
def clip(path: Path) -> Clip:
    """A file, read once."""
    return read(path)


def moving(path: Path) -> Motion:
    """The motion of a file; an error where it holds a character only."""
    motion = clip(path).motion
    if motion is None:
        raise FileError(str(path), None, "there is no motion in it")
    return motion


def capture(data: Path, name: str, *, rate: float | None = None) -> Motion:
    """A clip of the CMU database without the T-pose that the conversion put before it.

    Args:
        data: The folder of real data.
        name: The clip's name, as in `02_01`.
        rate: Frames a second; its own, 120, if not given.
    """
    motion = moving(data / cmu(name))[1:]
    return motion if rate is None else motion.resampled(rate)
