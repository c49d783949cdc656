"""Building blocks for sample animals: skeletons from drawn joints, steady gaits, and legs of many segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import MotionError, OptionError
from understudy.base.quaternion import Array, continuous, cross, from_axis_angle, multiply, rotate
from understudy.base.records import record
from understudy.figure.contacts import Contact
from understudy.figure.kinematics import forward
from understudy.figure.motion import Motion
from understudy.figure.skeleton import NUM_AXES, JointKind, Point, Skeleton
from understudy.samples.limbs import bend, local, turned, unit

Vector = tuple[float, float, float]

X: Vector = (1.0, 0.0, 0.0)

Y: Vector = (0.0, 1.0, 0.0)

Z: Vector = (0.0, 0.0, 1.0)


@record(eq=True)
class BodySegment:
    """A joint in the rest pose, where every joint's frame is aligned with the world."""

    name: str
    parent: str
    place: Vector
    """Metres, world."""
    kind: JointKind = JointKind.BALL
    axes: tuple[Vector, ...] = (X, Y, Z)
    limits: tuple[tuple[float, float], ...] = ()
    """Least and greatest angle about each axis, degrees from the rest pose; empty: no limits."""


def ball(name: str, parent: str, place: Vector, *limits: float) -> BodySegment:
    """A ball joint with a limit (degrees) to both sides for each axis: pitch X, yaw Y, roll Z."""
    return BodySegment(name=name, parent=parent, place=place, limits=tuple((-limit, limit) for limit in limits))


def hinge(name: str, parent: str, place: Vector, low: float, high: float, axis: Vector = X) -> BodySegment:
    """A hinge about one axis between two angles (degrees)."""
    return BodySegment(name=name, parent=parent, place=place, kind=JointKind.HINGE, axes=(axis,), limits=((low, high),))


def universal(
    name: str, parent: str, place: Vector, first: float, second: float, axes: tuple[Vector, Vector]
) -> BodySegment:
    """A universal joint about two axes, each with a limit (degrees) to both sides."""
    limits = ((-first, first), (-second, second))
    return BodySegment(name=name, parent=parent, place=place, kind=JointKind.UNIVERSAL, axes=axes, limits=limits)


def both_sides(parts: Sequence[BodySegment]) -> list[BodySegment]:
    """The left parts (names with `Left`, x above zero) and their mirror images on the right.

    A mirror at x = 0 keeps the sense of rotations about X and reverses those about Y and Z. The axes of a hinge or
    universal joint are mirrored by reversing their Y and Z, so that both sides have the same angles and limits. Ball
    joints, whose limits are symmetric, keep their axes.
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


def assemble(
    name: str, root: BodySegment, parts: Sequence[BodySegment], ends: Mapping[str, tuple[str, Vector]]
) -> Skeleton:
    """Assemble a skeleton from joints in the rest pose.

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


def frame_times(fps: float, seconds: float) -> Array:
    """(F,) times of the frames of a motion, seconds, both ends included."""
    if not (np.isfinite(fps) and fps > 0.0):
        raise OptionError(f"Expected frames per second above zero, got {fps}")
    if not (np.isfinite(seconds) and seconds >= 0.0):
        raise OptionError(f"Expected a length of zero or more seconds, got {seconds}")
    return np.arange(int(np.floor(seconds * fps + 1e-6)) + 1) / fps


def smooth(share: ArrayLike) -> Array:
    """A step from 0 to 1 for shares from 0 to 1, with zero speed and acceleration at both ends."""
    s = np.clip(np.asarray(share, float), 0.0, 1.0)
    return s**3 * (10.0 + s * (6.0 * s - 15.0))


def arch(share: ArrayLike) -> Array:
    """From 0 up to 1 and back for shares from 0 to 1, with zero speed and acceleration at both ends."""
    s = np.clip(np.asarray(share, float), 0.0, 1.0)
    return 64.0 * (s * (1.0 - s)) ** 3


def cycle_curve(keys: Mapping[float, float], phase: Array) -> Array:
    """A periodic curve with continuous acceleration through values at phases in [0, 1)."""
    from scipy.interpolate import CubicSpline

    at = np.array(sorted(keys))
    values = np.array([keys[phase] for phase in at])
    spline = CubicSpline(np.append(at, at[0] + 1.0), np.append(values, values[0]), bc_type="periodic")
    return spline(at[0] + (phase - at[0]) % 1.0)


def ramps(phase: Array, *parts: tuple[float, float, float]) -> Array:
    """A periodic sum of smooth steps, exactly zero where none has begun or all are done.

    Args:
        phase: (F,) shares of the cycle, in [0, 1).
        parts: (start, end, rise) of each step; a step may end after 1. The rises add up to zero.
    """
    total = np.zeros(phase.shape)
    for start, end, rise in parts:
        # The second term is the same step of the previous cycle, which may not have ended.
        total += rise * (smooth((phase - start) / (end - start)) + smooth((phase + 1.0 - start) / (end - start)))
    return total


@record(eq=True)
class FootfallPattern:
    """A steady gait along +Z."""

    cycle: float
    """Seconds from one footfall to the next of the same foot."""
    stride: float
    """Metres travelled in a cycle."""
    duty: float
    """Share of the cycle in which a foot stands."""

    @property
    def speed(self) -> float:
        """Metres per second."""
        return self.stride / self.cycle

    def phase(self, part: float) -> float:
        """The share of the cycle at a part of it: 0 to 1 is stance, 1 to 2 is swing."""
        return self.duty * part if part < 1.0 else self.duty + (part - 1.0) * (1.0 - self.duty)

    def keys(self, values: Mapping[float, float]) -> dict[float, float]:
        """Convert the keys of values from parts (0 to 1 stance, 1 to 2 swing) to shares of the cycle."""
        return {self.phase(part): value for part, value in values.items()}


@record(eq=True)
class AnimalFoot:
    """When and where one foot stands in a gait."""

    gait: FootfallPattern
    offset: float
    """When it touches, as a share of the cycle."""
    x: float
    """Metres, to the side."""
    z: float
    """Metres ahead of the moving body's middle at mid-stance."""
    lift: float
    """Metres, height of the swing."""

    def count(self, times: Array) -> tuple[Array, Array]:
        """The number of the step (F,) and the share of that step that has passed, in [0, 1)."""
        cycles = times / self.gait.cycle - self.offset
        step = np.floor(cycles)
        return step, cycles - step

    def place(self, step: ArrayLike) -> Array:
        """(..., 3) metres, world: where the foot stands at a step."""
        step = np.asarray(step, float)
        middle = self.offset * self.gait.stride + 0.5 * self.gait.duty * self.gait.stride
        z = self.z + middle + step * self.gait.stride
        return np.stack([np.full(step.shape, self.x), np.zeros(step.shape), z], -1)

    def swing(self, phase: Array) -> Array:
        """(F,) the share of the swing that has passed; 0 in stance."""
        return np.clip((phase - self.gait.duty) / (1.0 - self.gait.duty), 0.0, 1.0)

    def path(self, times: Array) -> Array:
        """(F, 3) metres, world: the path of the foot."""
        step, phase = self.count(times)
        swing = self.swing(phase)
        out = self.place(step)
        out[:, 2] += self.gait.stride * smooth(swing)
        out[:, 1] += self.lift * arch(swing)
        return out

    def contacts(self, point: Point, offset: ArrayLike, times: Array, first: float, last: float) -> list[Contact]:
        """The contacts of a point of the foot within the motion.

        Args:
            point: The point that stands.
            offset: (3,) metres from the foot's place to where the point stands.
            times: (F,) seconds of the frames.
            first: When the point comes down, as a share of the cycle.
            last: When it leaves.
        """
        contacts = []
        begin, end = float(times[0]), float(times[-1])
        for step in range(int(np.floor(begin / self.gait.cycle - self.offset)) - 1, int(end / self.gait.cycle) + 2):
            start, stop = (self.gait.cycle * (step + self.offset + share) for share in (first, last))
            start, stop = max(start, begin), min(stop, end)
            if start <= stop:
                place = self.place(step) + np.asarray(offset, float)
                contacts.append(Contact(point=point, start=start, end=stop, place=place))
        return contacts


MAX_STRETCH = 0.999
"""Greatest distance of a limb's target, as a share of the limb's length: closer to straight, the joint would snap."""


@record(eq=True)
class Leg:
    """A leg whose first two bones reach for the start of its distal bones."""

    upper: str
    """The thigh or upper arm: a ball, or in a plane figure a hinge."""
    lower: str
    """The shin or forearm."""
    distal: tuple[str, ...]
    """The joints below, from the ankle down to the foot."""
    tip: str
    """The end point that follows a path."""
    bend_to: float
    """+1 where the middle joint points forward (a knee), -1 where it points back (an elbow)."""


def bend_inside(start: Array, goal: Array, upper: float, lower: float, pole: Array, what: str) -> Array:
    """The middle joint (F, 3) of a two-bone limb, or an error where the goal is out of its reach."""
    reach = np.linalg.norm(goal - start, axis=-1)
    worst = int(np.argmax(reach))
    if reach[worst] > MAX_STRETCH * (upper + lower) or np.min(reach) < abs(upper - lower) / MAX_STRETCH:
        raise MotionError(
            f"`{what}` cannot reach its goal: it is {reach.min():.4f} to {reach.max():.4f} m away (farthest at frame "
            f"{worst}), and the limb spans {abs(upper - lower):.4f} to {upper + lower:.4f} m"
        )
    return bend(start, goal, upper, lower, pole)[0]


def place_leg(skeleton: Skeleton, leg: Leg, hip: Array, tip: Array, turns: Sequence[Array]) -> dict[str, Array]:
    """World orientations of a leg's joints that put its tip on a path.

    The leg lies in the plane through the hip and the tip that contains +Z; all hinges rotate about its normal.

    Args:
        skeleton: The character; the leg's joints and tip share one x in the rest pose.
        leg: The joints.
        hip: (F, 3) metres, world.
        tip: (F, 3) metres, world.
        turns: (F,) radians for each distal joint: its world rotation about the normal from the rest pose.
    """
    across = unit(cross(hip - tip, Z))
    plane = turned(Z, X, np.broadcast_to(Z, across.shape), across)
    orientations = {}
    at, below = tip, skeleton.point(leg.tip).offset
    for name, turn in zip(reversed(leg.distal), reversed(turns), strict=True):
        orientations[name] = multiply(plane, from_axis_angle(X, turn))
        at = at - rotate(orientations[name], below)
        below = skeleton.offsets[skeleton.joint(name)]
    thigh, shin = (skeleton.offsets[skeleton.joint(name)] for name in (leg.lower, leg.distal[0]))
    pole = np.broadcast_to(np.array([0.0, 0.0, leg.bend_to]), hip.shape)
    middle = bend_inside(hip, at, float(np.linalg.norm(thigh)), float(np.linalg.norm(shin)), pole, leg.upper)
    orientations[leg.upper] = turned(thigh, X, middle - hip, across)
    orientations[leg.lower] = turned(shin, X, at - middle, across)
    return orientations


class Puppet:
    """A character while it is posed: local rotations for all frames, set joint by joint from the root down."""

    def __init__(self, skeleton: Skeleton, root: Array) -> None:
        self.skeleton = skeleton
        self.root = root
        self.rotations = np.tile(skeleton.rest, (len(root), 1, 1))

    def turn(self, joint: str, rotation: Array) -> None:
        """Set a joint's local rotations (F, 4)."""
        self.rotations[:, self.skeleton.joint(joint)] = rotation

    def world(self, joint: str) -> tuple[Array, Array]:
        """World position (F, 3) and orientation (F, 4) of a joint, as posed so far."""
        positions, rotations = forward(self.skeleton, self.root, self.rotations)
        number = self.skeleton.joint(joint)
        return positions[:, number], rotations[:, number]

    def aim(self, joint: str, rotation: Array) -> None:
        """Set the world orientation (F, 4) of a joint whose parent is posed."""
        parent = self.skeleton.names[self.skeleton.parents[self.skeleton.joint(joint)]]
        self.turn(joint, local(self.world(parent)[1], rotation))

    def step(self, leg: Leg, tip: Array, turns: Sequence[Array]) -> None:
        """Put a leg's tip on a path (F, 3), with rotations of its distal joints (see `place_leg`)."""
        orientations = place_leg(self.skeleton, leg, self.world(leg.upper)[0], tip, turns)
        above = self.world(self.skeleton.names[self.skeleton.parents[self.skeleton.joint(leg.upper)]])[1]
        for joint in (leg.upper, leg.lower, *leg.distal):
            self.turn(joint, local(above, orientations[joint]))
            above = orientations[joint]

    def motion(self, fps: float, name: str) -> Motion:
        """The motion as posed."""
        rotations = continuous(self.rotations)
        return Motion(skeleton=self.skeleton, fps=fps, root=self.root, rotations=rotations, name=name)
