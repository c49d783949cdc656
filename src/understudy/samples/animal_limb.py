"""Legs of many segments placed by formula: every joint below the hip turns about one common axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.errors import MotionError
from understudy.geometry.quaternion import Array, continuous, cross, from_axis_angle, multiply, rotate
from understudy.kinematics import forward
from understudy.motion import Motion
from understudy.samples.animals import X, Z
from understudy.samples.limbs import bend, local, turned, unit
from understudy.skeleton import Skeleton

STRETCH = 0.999
"""Share of a limb's whole length that its target may be away: straighter, the middle joint would snap."""


@dataclass(frozen=True, kw_only=True)
class Leg:
    """A leg whose first two bones reach for where its last bones have been put."""

    upper: str
    """The thigh or upper arm: a ball, or in a plane figure a hinge."""
    lower: str
    """The shin or forearm."""
    distal: tuple[str, ...]
    """The joints below, from the ankle down to the foot."""
    tip: str
    """The end point that is led along a path."""
    bend_to: float
    """+1 where the middle joint points forward (a knee), -1 where it points back (an elbow)."""


def bend_inside(start: Array, goal: Array, upper: float, lower: float, pole: Array, what: str) -> Array:
    """The middle joint (F, 3) of a two-bone limb, or an error where the goal is out of its reach."""
    reach = np.linalg.norm(goal - start, axis=-1)
    worst = int(np.argmax(reach))
    if reach[worst] > STRETCH * (upper + lower) or np.min(reach) < abs(upper - lower) / STRETCH:
        raise MotionError(
            f"`{what}` cannot reach its goal: it is {reach.min():.4f} to {reach.max():.4f} m away (farthest at frame "
            f"{worst}), and the limb spans {abs(upper - lower):.4f} to {upper + lower:.4f} m"
        )
    return bend(start, goal, upper, lower, pole)[0]


def place_leg(skeleton: Skeleton, leg: Leg, hip: Array, tip: Array, turns: Sequence[Array]) -> dict[str, Array]:
    """World orientations of a leg's joints that put its tip on a path.

    The leg lies in the plane through the hip, the tip and the way it goes (+Z); all hinges turn about its normal.

    Args:
        skeleton: The character; the leg's joints and tip share one x in the rest pose.
        leg: Which joints.
        hip: (F, 3) metres, world, where the leg begins.
        tip: (F, 3) metres, world.
        turns: (F,) radians for each distal joint: how far it is turned about the normal from the rest pose, in
            the world.
    """
    across = unit(cross(hip - tip, Z))
    plane = turned(Z, X, np.broadcast_to(Z, across.shape), across)
    found = {}
    at, below = tip, skeleton.point(leg.tip).offset
    for name, turn in zip(reversed(leg.distal), reversed(turns), strict=True):
        found[name] = multiply(plane, from_axis_angle(X, turn))
        at = at - rotate(found[name], below)
        below = skeleton.offsets[skeleton.joint(name)]
    thigh, shin = (skeleton.offsets[skeleton.joint(name)] for name in (leg.lower, leg.distal[0]))
    pole = np.broadcast_to(np.array([0.0, 0.0, leg.bend_to]), hip.shape)
    middle = bend_inside(hip, at, float(np.linalg.norm(thigh)), float(np.linalg.norm(shin)), pole, leg.upper)
    found[leg.upper] = turned(thigh, X, middle - hip, across)
    found[leg.lower] = turned(shin, X, at - middle, across)
    return found


class Puppet:
    """A character being posed: local rotations for all frames, set joint by joint from the root down."""

    def __init__(self, skeleton: Skeleton, root: Array) -> None:
        self.skeleton = skeleton
        self.root = root
        self.rotations = np.tile(skeleton.rest, (len(root), 1, 1))

    def turn(self, joint: str, rotation: Array) -> None:
        """Set a joint's local rotations (F, 4)."""
        self.rotations[:, self.skeleton.joint(joint)] = rotation

    def world(self, joint: str) -> tuple[Array, Array]:
        """Where a joint is (F, 3) and how it is turned (F, 4), as posed so far."""
        positions, rotations = forward(self.skeleton, self.root, self.rotations)
        number = self.skeleton.joint(joint)
        return positions[:, number], rotations[:, number]

    def aim(self, joint: str, rotation: Array) -> None:
        """Set a joint so that its world orientation is (F, 4), under its parent as posed so far."""
        parent = self.skeleton.names[self.skeleton.parents[self.skeleton.joint(joint)]]
        self.turn(joint, local(self.world(parent)[1], rotation))

    def step(self, leg: Leg, tip: Array, turns: Sequence[Array]) -> None:
        """Put a leg's tip on a path (F, 3), its distal joints turned as given (see `place_leg`)."""
        found = place_leg(self.skeleton, leg, self.world(leg.upper)[0], tip, turns)
        above = self.world(self.skeleton.names[self.skeleton.parents[self.skeleton.joint(leg.upper)]])[1]
        for joint in (leg.upper, leg.lower, *leg.distal):
            self.turn(joint, local(above, found[joint]))
            above = found[joint]

    def motion(self, fps: float, name: str) -> Motion:
        """The motion as posed."""
        rotations = continuous(self.rotations)
        return Motion(skeleton=self.skeleton, fps=fps, root=self.root, rotations=rotations, name=name)
