"""Bodies drawn in the rest pose: joints and ends given by their places in the world, sides mirrored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.skeleton import NUM_AXES, JointKind, Point, Skeleton

Vector = tuple[float, float, float]

X: Vector = (1.0, 0.0, 0.0)
Y: Vector = (0.0, 1.0, 0.0)
Z: Vector = (0.0, 0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A joint as it is drawn in the rest pose, where every joint's frame is the world's."""

    name: str
    parent: str
    place: Vector
    """Metres, world."""
    kind: JointKind = JointKind.BALL
    axes: tuple[Vector, ...] = (X, Y, Z)
    limits: tuple[tuple[float, float], ...] = ()
    """Least and greatest angle about each axis, degrees from the rest pose; none if empty."""


def ball(name: str, parent: str, place: Vector, *limits: float) -> Part:
    """A joint that turns any way, each axis by its limit (degrees) to both sides: pitch X, yaw Y, roll Z."""
    return Part(name=name, parent=parent, place=place, limits=tuple((-limit, limit) for limit in limits))


def hinge(name: str, parent: str, place: Vector, low: float, high: float, axis: Vector = X) -> Part:
    """A joint that turns about one axis between two angles (degrees)."""
    return Part(name=name, parent=parent, place=place, kind=JointKind.HINGE, axes=(axis,), limits=((low, high),))


def universal(name: str, parent: str, place: Vector, first: float, second: float, axes: tuple[Vector, Vector]) -> Part:
    """A joint that turns about two axes, each by its limit (degrees) to both sides."""
    limits = ((-first, first), (-second, second))
    return Part(name=name, parent=parent, place=place, kind=JointKind.UNIVERSAL, axes=axes, limits=limits)


def both_sides(parts: Sequence[Part]) -> list[Part]:
    """The left parts (names with `Left`, x above zero) and their mirror images on the right.

    A mirror at x = 0 keeps the sense of turns about X and reverses those about Y and Z, so the axis of a hinge or
    universal joint is mirrored by reversing its Y and Z: the angles and limits of both sides are then the same
    numbers. Balls, whose limits are even to both sides, keep their axes.
    """
    right = [
        replace(
            part,
            name=_right(part.name),
            parent=_right(part.parent),
            place=(-part.place[0], part.place[1], part.place[2]),
            axes=part.axes if part.kind is JointKind.BALL else tuple((x, 0.0 - y, 0.0 - z) for x, y, z in part.axes),
        )
        for part in parts
    ]
    return [*parts, *right]


def both_ends(ends: Mapping[str, tuple[str, Vector]]) -> dict[str, tuple[str, Vector]]:
    """The left ends and their mirror images on the right."""
    right = {_right(name): (_right(joint), (-x, y, z)) for name, (joint, (x, y, z)) in ends.items()}
    return {**ends, **right}


def assemble(name: str, root: Part, parts: Sequence[Part], ends: Mapping[str, tuple[str, Vector]]) -> Skeleton:
    """The skeleton of a body drawn in the rest pose.

    Args:
        name: The character's name.
        root: The free joint.
        parts: All other joints, parents before children.
        ends: Name -> (joint, place in metres, world) of the far ends.
    """
    parts = [replace(root, kind=JointKind.FREE, axes=(X, Y, Z), limits=()), *parts]
    index = {part.name: i for i, part in enumerate(parts)}
    places = {part.name: np.array(part.place) for part in parts}
    axes, limits = np.zeros((len(parts), 3, 3)), np.tile([-np.inf, np.inf], (len(parts), 3, 1))
    for i, part in enumerate(parts):
        used = NUM_AXES[part.kind]
        axes[i, :used] = part.axes[:used]
        if part.limits:
            limits[i, :used] = np.radians(part.limits)
    return Skeleton(
        name=name,
        names=tuple(index),
        parents=np.array([index.get(part.parent, -1) for part in parts]),
        offsets=np.array([places[part.name] - places.get(part.parent, np.zeros(3)) for part in parts]),
        kinds=tuple(part.kind for part in parts),
        axes=axes,
        limits=limits,
        ends=tuple(
            Point(name=end, joint=joint, offset=np.array(at) - places[joint]) for end, (joint, at) in ends.items()
        ),
    )


def _right(name: str) -> str:
    return name.replace("Left", "Right")
