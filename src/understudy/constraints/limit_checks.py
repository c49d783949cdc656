"""What users give as limits of a joint, checked and in one form, or an error that says what is wrong with it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from understudy.angles import SQUARE
from understudy.constraints.base import world
from understudy.constraints.turning import across
from understudy.errors import OptionError
from understudy.geometry.quaternion import Array


def checked_axes(given: Any, where: str) -> Array:
    """(1, 3) to (3, 3) unit axes to turn about."""
    axes = np.array(given, float)
    if axes.ndim != 2 or axes.shape[1] != 3 or len(axes) not in (1, 2, 3) or not np.all(np.isfinite(axes)):
        raise OptionError(f"{where}: expected one to three axes of three finite numbers, got shape {axes.shape}")
    size = np.linalg.norm(axes, axis=-1, keepdims=True)
    if np.any(size < 1e-12):
        raise OptionError(f"{where}: every axis must have a direction")
    axes /= size
    if len(axes) == 3 and max(abs(axes[1] @ axes[0]), abs(axes[1] @ axes[2])) > SQUARE:
        raise OptionError(f"{where}: of three axes the second must be at right angles to both others")
    if len(axes) == 2 and abs(axes[0] @ axes[1]) > 1.0 - 1e-6:
        raise OptionError(f"{where}: two axes must not be parallel")
    return axes


def checked_ranges(given: Any, axes: int, where: str) -> Array:
    """(A, 2) radians: the ranges of angles about so many axes."""
    ranges = checked_range(given, (axes, 2), f"{where}: ranges")
    if not np.any(np.isfinite(ranges)):
        raise OptionError(f"{where}: expected at least one finite limit, got none")
    return ranges


def checked_range(given: Any, shape: tuple[int, ...], where: str) -> Array:
    """Least and greatest angles, radians."""
    out = np.array(np.full(shape, np.nan) if given is None else given, float)
    if out.shape != shape or np.any(np.isnan(out)):
        raise OptionError(f"{where}: expected a least and a greatest angle each, shape {shape}; got {out.tolist()}")
    if np.any(out[..., 0] > out[..., 1]):
        raise OptionError(f"{where}: the least angle is above the greatest: {out.tolist()}")
    return out


def checked_bone(axis: Any, reference: Any, where: str) -> tuple[Array, Array]:
    """(3,) the unit direction of a bone, and (3,) one across it: any, if none is given."""
    bone = world(axis, f"{where}: bone axis")
    size = math.sqrt(bone @ bone)
    if size < 1e-12:
        raise OptionError(f"{where}: the bone axis must have a direction")
    bone = bone / size
    if reference is None:
        return bone, across(bone)[0]
    side = world(reference, f"{where}: reference")
    side = side - (side @ bone) * bone
    size = math.sqrt(side @ side)
    if size < 1e-6:
        raise OptionError(f"{where}: the reference must not be along the bone axis")
    return bone, side / size


def checked_cone(given: Any, where: str) -> Array:
    """(2, 2) radians: a cone of swing, from one half-angle, two, or all four."""
    cone = np.array(given, float)
    if cone.shape in ((), (2,)):
        half = cone * np.ones(2)
        cone = np.array([-half, half]).T
    if cone.shape != (2, 2) or not np.all(np.isfinite(cone)) or np.any(cone * [-1.0, 1.0] <= 0.0):
        raise OptionError(
            f"{where}: swing must reach to both sides of zero; expected half-angles above zero or (2, 2) "
            f"least and greatest angles, got {np.array(given).tolist()}"
        )
    return cone
