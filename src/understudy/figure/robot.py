"""What a robot is made of: its bodies with their masses and collision shapes, and what its motors can do."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array, rotate, unrotate
from understudy.base.records import record

MAX_UNKNOWN_SPEED = 30.0
"""Radians a second: the greatest speed of a joint whose file states none. Motors of humanoids reach 10 to 37."""

MIN_SHAPE_SIZE_METRES = 0.004
"""A smaller shape only marks a point."""


@record
class CollisionShape:
    """A simple solid; or a mesh, whose shape is not read; or a mark, which is only a point."""

    kind: str
    """ "sphere", "capsule", "cylinder", "box", "ellipsoid", "mesh" or "mark"."""
    position: Array
    """(3,) metres, in its link's frame."""
    rotation: Array
    """(4,) in its link's frame. The length of a capsule or cylinder is along its z axis."""
    size: Array
    """(3,) metres: the radius, or radius and half length, or half sizes."""
    collides: bool = True
    """False for a shape that is only seen."""
    file: str = ""
    """The file of a mesh, as the robot's file names it; empty if it names none."""
    scale: Array = field(default_factory=lambda: np.ones(3))
    """(3,) factors on the coordinates of a mesh."""

    @property
    def is_solid(self) -> bool:
        """Whether the shape is a known solid that is large enough to count."""
        return self.kind not in ("mesh", "mark") and float(self.size.max()) >= MIN_SHAPE_SIZE_METRES

    @property
    def has_form(self) -> bool:
        """Whether the shape is a mesh or a solid."""
        return self.kind == "mesh" or self.is_solid

    def extreme_points(self, direction: Array) -> Array:
        """(N, 3) corners of the part of the surface that lies farthest in a direction (3,)."""
        towards = unrotate(self.rotation, direction / np.linalg.norm(direction))
        return self.position + rotate(self.rotation, self._extreme_points(towards))

    def _extreme_points(self, towards: Array) -> Array:
        radius, half = float(self.size[0]), float(self.size[1])
        if self.kind == "sphere":
            return radius * towards[None]
        if self.kind == "ellipsoid":
            stretched = self.size * towards
            return (self.size * stretched / max(float(np.linalg.norm(stretched)), 1e-12))[None]
        if self.kind == "capsule":
            return radius * towards + half * np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
        if self.kind == "cylinder":
            return _cylinder(radius, half, towards)
        if self.kind == "box":
            corners = np.stack(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]), -1).reshape(-1, 3) * self.size
            far = corners @ towards
            return corners[far > far.max() - 0.1 * float(self.size.max())]
        return np.zeros((1, 3))


def _cylinder(radius: float, half: float, towards: Array) -> Array:
    """The ends of the contact line of a cylinder on its side; else four points of the rim."""
    across = towards * [1.0, 1.0, 0.0]
    size = float(np.linalg.norm(across))
    if size > 0.7:
        return radius * across / size + half * np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    rim = radius * np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    return rim + np.array([0.0, 0.0, np.copysign(half, towards[2])])


@record
class RobotBody:
    """A link of a robot's file and the joint of the skeleton that it moves with."""

    name: str
    parent: int
    """The index of the parent body; -1 for the first."""
    joint: str
    """The joint of the skeleton that carries it."""
    position: Array
    """(3,) metres, in the joint's frame."""
    rotation: Array
    """(4,) in the joint's frame."""
    moves: bool
    """Whether it moves relative to its parent; the first body does."""
    centre: Array
    """(3,) metres, in the body's frame: the centre of mass; the origin if the file does not give it."""
    mass: float | None = None
    """Kilograms, if the file gives it."""
    inertia: Array | None = None
    """(3, 3) kilogram square metres about the centre of mass, in the body's frame, if the file gives it."""
    shapes: tuple[CollisionShape, ...] = ()
    """The shapes that collide, in the body's frame."""


@record
class RobotLayout:
    """What is needed to write a robot's motion as its joint values."""

    is_robot: ClassVar[bool] = True
    """Whether a clip with this layout is of a robot."""

    robot: str
    """The model's name."""
    file: str
    """The file's name, without its folder."""
    names: tuple[str, ...]
    """The joints that have a value, in the file's order."""
    references: dict[str, float]
    """The joint values in the rest pose, radians, where they are not zero."""
    still: tuple[str, ...] = ()
    """Sliding joints, which a skeleton cannot hold. They stay fixed."""
    format: str = "mjcf"
    """The format of the robot's file: "mjcf" or "urdf"."""
    bodies: tuple[RobotBody, ...] = ()
    """All links of the file, parents before children, depth first."""
    max_velocities: dict[str, float] = field(default_factory=dict)
    """Radians a second, by joint, where the file gives a limit."""
    max_torques: dict[str, float] = field(default_factory=dict)
    """Newton metres, by joint, where the file gives a limit."""
    armatures: dict[str, float] = field(default_factory=dict)
    """Kilogram square metres, by joint: the inertia of its motor, where the file gives it."""
    floor: str = ""
    """Where the floor of the motion is, in words; empty if that is not known."""

    def channels(self, name: str) -> list[str]:
        """The channels that a motion has for a joint."""
        return ["value"] if name in self.names else []
