"""Sample characters and motions, computed by formula with exactly known contacts: nothing has to be downloaded.

A folder scan finds every module with `CHARACTERS = (...)` or `MOTIONS = (...)`.

Imports `base` and `figure`. The rooms from `retarget` up import it.
"""

from __future__ import annotations

from functools import cache

from understudy.base.errors import UnknownNameError, nearest_names
from understudy.base.plugins import scan
from understudy.figure.skeleton import Skeleton
from understudy.samples.scene import CharacterSample, MotionSample, Prop, Scene

__all__ = ["Prop", "Scene", "character", "characters", "motion", "motions"]


@cache
def characters() -> dict[str, CharacterSample]:
    """Every sample character by name."""
    return {sample.name: sample for _, group in scan(__name__, "CHARACTERS") for sample in group}


@cache
def motions() -> dict[str, MotionSample]:
    """Every sample motion by name."""
    return {sample.name: sample for _, group in scan(__name__, "MOTIONS") for sample in group}


@cache
def character(name: str) -> Skeleton:
    """A sample character."""
    if name not in characters():
        raise UnknownNameError(f"There is no sample character `{name}`; {nearest_names(name, characters())}")
    return characters()[name].make()


def motion(name: str, *, fps: float = 30.0, seconds: float | None = None) -> Scene:
    """A sample motion at a frame rate (frames per second) and length (seconds; the sample's default if not given)."""
    if name not in motions():
        raise UnknownNameError(f"There is no sample motion `{name}`; {nearest_names(name, motions())}")
    sample = motions()[name]
    return sample.make(fps, sample.seconds if seconds is None else seconds)
