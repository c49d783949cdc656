"""Units of length and up axes: where files differ from the library's metres and Y up."""

from __future__ import annotations

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array

UNITS = {
    "m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "foot": 0.3048, "cmu": 0.0254 / 0.45,
}  # fmt: skip
"""Metres in a unit, by name; `cmu` is the unit of the CMU motion capture database."""

UP_AXES = ("X", "Y", "Z")

FASTEST = 10_000.0
"""Frames per second that are asked for at most."""

_HALF = np.sqrt(0.5)

_WORLD_FROM_FILE = {"X": [_HALF, 0.0, 0.0, _HALF], "Y": [1.0, 0.0, 0.0, 0.0], "Z": [_HALF, -_HALF, 0.0, 0.0]}


def parse_unit(text: str) -> float:
    """Metres in a unit given by name ("cm") or as a number of metres ("0.0254")."""
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
    """An up axis: X, Y or Z."""
    if text.upper() not in UP_AXES:
        raise OptionError(f"Expected an up axis, one of {', '.join(UP_AXES)}; got `{text}`")
    return text.upper()


def unit_name(unit: float) -> str:
    """A unit in words: its name if it has one."""
    for name, metres in UNITS.items():
        if abs(metres - unit) < 1e-4 * metres:
            return name
    return f"{unit:g} m"


def world_from_file(up: str) -> Array:
    """(4,) the rotation that takes a file's axes, with that axis up, to the library's, with Y up."""
    return np.array(_WORLD_FROM_FILE[up])


def check_fps(fps: float) -> None:
    """Refuse a rate that no motion has: one too many zeros would fill the memory with frames."""
    if not (np.isfinite(fps) and fps > 0.0):
        raise OptionError(f"Expected frames per second above zero, got {fps:g}")
    if fps > FASTEST:
        raise OptionError(f"Expected at most {FASTEST:g} frames per second, got {fps:g}")
