"""Sample characters and motions, computed by formula with exactly known contacts: nothing has to be downloaded.

A folder scan finds every module with `CHARACTERS = (...)` or `MOTIONS = (...)`.

Imports `base` and `figure`. The rooms from `retarget` up import it.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from understudy.base.errors import UnknownNameError, nearest_names
from understudy.base.plugins import scan
from understudy.figure.skeleton import Skeleton
from understudy.samples.scene import CharacterSample, MotionSample, Prop, Scene

if TYPE_CHECKING:
    from understudy.figure.skin import Mesh

__all__ = ["Prop", "Scene", "character", "characters", "motion", "motions", "skin"]


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


@lru_cache(maxsize=16)
def skin(skeleton: Skeleton) -> tuple[Mesh, ...]:
    """The skin of a sample character, by the skeleton's name and joints; empty if it is no sample or has no skin.

    Args:
        skeleton: A sample character, perhaps with bones of other lengths or with joints above its own.
    """
    from understudy.samples.skins import DESIGNS

    name = skeleton.name
    model = name if name in characters() else "adult"
    if name not in DESIGNS or not set(character(model).names) <= set(skeleton.names):
        return ()
    return (DESIGNS[name](skeleton),)


def motion(name: str, *, fps: float = 30.0, seconds: float | None = None) -> Scene:
    """A sample motion at a frame rate (frames per second) and length (seconds; the sample's default if not given)."""
    if name not in motions():
        raise UnknownNameError(f"There is no sample motion `{name}`; {nearest_names(name, motions())}")
    sample = motions()[name]
    return sample.make(fps, sample.seconds if seconds is None else seconds)
