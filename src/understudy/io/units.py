"""Units of length, up axes and frame rates of files. Inside the library everything is in metres with Y up."""

from __future__ import annotations

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array

UNITS = {
    "m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "foot": 0.3048, "cmu": 0.0254 / 0.45,
}  # fmt: skip
"""Metres in a unit, by name; `cmu` is the unit of the CMU motion capture database."""

UP_AXES = ("X", "Y", "Z")

MAX_FPS = 10_000.0
"""The highest frame rate that a user may request."""

_HALF = np.sqrt(0.5)

_WORLD_FROM_FILE = {"X": [_HALF, 0.0, 0.0, _HALF], "Y": [1.0, 0.0, 0.0, 0.0], "Z": [_HALF, -_HALF, 0.0, 0.0]}


def parse_unit(text: str) -> float:
    """Metres in a unit, which is a name ("cm") or a number of metres ("0.0254")."""
    if text.lower() in UNITS:
        return UNITS[text.lower()]
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not (np.isfinite(value) and value > 0.0):
        raise OptionError(f"Expected a unit, one of {', '.join(UNITS)} or a number of metres; got `{text}`")
    return value


def parse_up(text: str) -> str:
    """The up axis X, Y or Z in upper case; raises for other texts."""
    if text.upper() not in UP_AXES:
        raise OptionError(f"Expected an up axis, one of {', '.join(UP_AXES)}; got `{text}`")
    return text.upper()


def name_unit(unit: float) -> str:
    """The name of a unit, or its number of metres if it has no name."""
    for name, metres in UNITS.items():
        if abs(metres - unit) < 1e-4 * metres:
            return name
    return f"{unit:g} m"


def world_from_file(up: str) -> Array:
    """(4,) rotation from a file's world, with that axis up, to the library's world with Y up."""
    return np.array(_WORLD_FROM_FILE[up])


def check_fps(fps: float) -> None:
    """Refuse an impossible frame rate: a rate that is far too high would fill the memory with frames."""
    if not (np.isfinite(fps) and fps > 0.0):
        raise OptionError(f"Expected frames per second above zero, got {fps:g}")
    if fps > MAX_FPS:
        raise OptionError(f"Expected at most {MAX_FPS:g} frames per second, got {fps:g}")
