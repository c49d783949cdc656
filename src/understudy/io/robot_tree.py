"""Robots as skeletons: links and joints of a URDF or MJCF file, put together.

Joint frames stay as the file has them, so that a joint's angle is the robot's own joint value; only the root's rest
pose turns the file's axes into ours. A link with several joints becomes a chain of joints at one place. A link that
moves against nothing and carries nothing is a fixed joint in the middle of its own form, since the frames of such
links (a head's) often lie far from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from understudy.geometry.quaternion import Array, from_axis_angle, multiply, rotate
from understudy.io.robot_shapes import Shape
from understudy.io.units import world_from_file
from understudy.naming import words
from understudy.skeleton import JointKind, Skeleton

LOWER_LEG = {"foot", "feet", "ankle", "toe", "toes", "calf", "shank", "shin", "tibia"}
ORIGIN = np.zeros(3)
STRAIGHT = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False, kw_only=True)
class RobotJoint:
    """One movable joint between a link and its parent."""

    name: str
    kind: JointKind
    """HINGE or BALL."""
    axis: Array
    """(3,) unit, in the link's frame; not used for a ball."""
    limits: tuple[float, float] = (-np.inf, np.inf)
    """Radians, as the robot counts them."""
    place: Array = field(default_factory=lambda: ORIGIN)
    """(3,) metres, in the link's frame: what the joint turns about."""
    reference: float = 0.0
    """The joint value, radians, of the pose in which the file lays out its links."""
    rest: float | None = None
    """The joint value of the pose that the robot rests in; as it is laid out if not given."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Link:
    """A rigid part of a robot."""

    name: str
    parent: int
    """The number of the link it hangs from, before it in the list; -1 for the first."""
    offset: Array = field(default_factory=lambda: ORIGIN)
    """(3,) metres, in the parent's frame."""
    rotation: Array = field(default_factory=lambda: STRAIGHT)
    """(4,) in the parent's frame, with all joints at rest."""
    joints: tuple[RobotJoint, ...] = ()
    """From the parent outwards; none for a link that is fixed, or moves freely."""
    fixed_name: str = ""
    """What a link without joints is called: the fixed joint's name; its own if empty."""
    shapes: tuple[Shape, ...] = ()
    centre: Array | None = None
    """(3,) the centre of its mass, if given."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RobotLayout:
    """What is needed to write a robot's motion as its joint values."""

    robot: str
    """The model's name."""
    file: str
    """The file's name, without its folder."""
    names: tuple[str, ...]
    """The joints that have a value, in the file's order."""
    references: dict[str, float]
    """The joint values in the rest pose, radians, where they are not zero."""
    still: tuple[str, ...] = ()
    """Joints of the robot that the skeleton cannot hold and that stay as they are: sliding ones."""

    def channels(self, name: str) -> list[str]:
        """What a motion says of a joint."""
        return ["value"] if name in self.names else []


@dataclass(frozen=True, eq=False, kw_only=True)
class Robot:
    """A robot put together."""

    skeleton: Skeleton
    """Without ends."""
    layout: RobotLayout
    forms: tuple[tuple[Shape, ...], ...]
    """(J,) the shapes that move with each joint, in its frame."""
    links: tuple[str, ...]
    """(J,) the link that each joint carries."""
    left_out: tuple[str, ...]
    """Links that only mark places."""
    up: str
    up_reason: str


def assemble(
    links: Sequence[Link],
    *,
    robot: str,
    file: str,
    order: Sequence[str] = (),
    still: Sequence[str] = (),
    up: str | None = None,
) -> Robot:
    """A skeleton of a robot's links.

    Args:
        links: Parents before children; the first is the root, which moves freely.
        robot: The model's name.
        file: The file's name.
        order: The joints in the file's order; that of the links if not given.
        still: Joints that had to be left fixed.
        up: The axis that is up in the rest pose; Z, or what its legs stand along, if not given.
    """
    axis, reason = (up, f"{up} is up: given") if up else _standing(links)
    tree = _Tree(links)
    tree.grow(world_from_file(axis))
    moving = [name for name, kind in zip(tree.names, tree.kinds) if kind in (JointKind.HINGE, JointKind.BALL)]
    known = {name: place for place, name in enumerate(order)}
    layout = RobotLayout(
        robot=robot,
        file=file,
        names=tuple(sorted(moving, key=lambda name: known.get(name, len(known)))),
        references=tree.references,
        still=tuple(still),
    )
    return Robot(
        skeleton=tree.skeleton(robot),
        layout=layout,
        forms=tuple(tuple(shapes) for shapes in tree.forms),
        links=tuple(tree.carried),
        left_out=tuple(links[i].name for i in range(len(links)) if not tree.kept[i]),
        up=axis,
        up_reason=reason,
    )


class _Tree:
    """The joints of a skeleton while they are being found."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.links = links
        self.names: list[str] = []
        self.parents: list[int] = []
        self.offsets: list[Array] = []
        self.rest: list[Array] = []
        self.kinds: list[JointKind] = []
        self.axes: list[Array] = []
        self.limits: list[tuple[float, float]] = []
        self.forms: list[list[Shape]] = []
        self.carried: list[str] = []
        self.references: dict[str, float] = {}
        self.at: list[tuple[int, Array, Array]] = []
        """For each link the joint that carries it, and its frame in the joint's: place (3,) and turn (4,)."""
        self.kept = self._kept()

    def _kept(self) -> list[bool]:
        """Whether each link becomes a joint: those that move, carry what moves, or have a form."""
        kept = [bool(link.joints) or any(shape.has_form for shape in link.shapes) for link in self.links]
        for i in range(len(self.links) - 1, 0, -1):
            kept[self.links[i].parent] |= kept[i]
        kept[0] = True
        return kept

    def grow(self, world: Array) -> None:
        """Find the joints of all links, the root turned into the world (4,)."""
        used = {joint.name for link in self.links for joint in link.joints}
        for number, link in enumerate(self.links):
            if link.parent < 0:
                self._add(_unused(link.name, used), -1, rotate(world, link.offset), multiply(world, link.rotation))
                self.kinds[-1] = JointKind.FREE
                self.axes[-1] = np.eye(3)
                self._carry(link, ORIGIN, STRAIGHT)
                continue
            joint, place, turn = self.at[link.parent]
            offset, rotation = place + rotate(turn, link.offset), multiply(turn, link.rotation)
            if not self.kept[number]:
                self.at.append((joint, offset, rotation))
                self.forms[joint] += [_placed(shape, offset, rotation) for shape in self._marks(link)]
            elif link.joints:
                self._chain(link, joint, offset, rotation)
            else:
                centre = self._centre(number)
                title = _unused(link.fixed_name or link.name, used)
                self._add(title, joint, offset + rotate(rotation, centre), rotation)
                self._carry(link, -centre, STRAIGHT)
                if np.any(centre):
                    # Where the mesh is put says no more than the link's own place did.
                    self.forms[-1] = [shape for shape in self.forms[-1] if shape.kind != "mesh"]

    def _marks(self, link: Link) -> list[Shape]:
        here = Shape(kind="mark", place=ORIGIN, turn=STRAIGHT, size=ORIGIN)
        return [here, *link.shapes]

    def _centre(self, number: int) -> Array:
        """(3,) the middle of the form of a link that carries no other; the link's own place where that is not known."""
        link = self.links[number]
        if any(self.kept[i] and self.links[i].parent == number for i in range(number + 1, len(self.links))):
            return ORIGIN
        places = [shape.place for shape in link.shapes if shape.is_real]
        return np.mean(places, axis=0) if places else ORIGIN if link.centre is None else link.centre

    def _chain(self, link: Link, parent: int, offset: Array, rotation: Array) -> None:
        """The joints of one link, one after another."""
        before = ORIGIN
        for number, joint in enumerate(link.joints):
            if number == 0:
                self._add(joint.name, parent, offset + rotate(rotation, joint.place), rotation)
            else:
                self._add(joint.name, len(self.names) - 1, joint.place - before, STRAIGHT)
            before = joint.place
            self.kinds[-1] = joint.kind
            self.axes[-1] = np.eye(3) if joint.kind is JointKind.BALL else np.stack([joint.axis, ORIGIN, ORIGIN])
            value = joint.reference if joint.rest is None else joint.rest
            self.limits[-1] = (joint.limits[0] - value, joint.limits[1] - value)
            self.rest[-1] = multiply(self.rest[-1], from_axis_angle(joint.axis, value - joint.reference))
            self.carried[-1] = link.name
            if value:
                self.references[joint.name] = value
        self._carry(link, -before, STRAIGHT)

    def _add(self, name: str, parent: int, offset: Array, rotation: Array) -> None:
        self.names.append(name)
        self.parents.append(parent)
        self.offsets.append(offset)
        self.rest.append(rotation)
        self.kinds.append(JointKind.FIXED)
        self.axes.append(np.zeros((3, 3)))
        self.limits.append((-np.inf, np.inf))
        self.forms.append([])
        self.carried.append("")

    def _carry(self, link: Link, place: Array, turn: Array) -> None:
        """Let the last joint carry a link whose frame is somewhere in its own."""
        self.at.append((len(self.names) - 1, place, turn))
        self.forms[-1] += [_placed(shape, place, turn) for shape in link.shapes]
        self.carried[-1] = link.name

    def skeleton(self, name: str) -> Skeleton:
        limits = np.tile([-np.inf, np.inf], (len(self.names), 3, 1))
        limits[:, 0] = self.limits
        return Skeleton(
            names=tuple(self.names), parents=np.array(self.parents), offsets=np.array(self.offsets),
            rest=np.array(self.rest), kinds=tuple(self.kinds), axes=np.array(self.axes), limits=limits, name=name,
        )  # fmt: skip


def _placed(shape: Shape, place: Array, turn: Array) -> Shape:
    """A shape of a link's frame in another, in which that frame is at a place (3,) and turned (4,)."""
    return replace(shape, place=place + rotate(turn, shape.place), turn=multiply(turn, shape.turn))


def _unused(name: str, used: set[str]) -> str:
    """A name that nothing else has."""
    found, number = name, 2
    while found in used:
        found, number = f"{name}_{number}", number + 1
    used.add(found)
    return found


def _standing(links: Sequence[Link]) -> tuple[str, str]:
    """The up axis of the rest pose, and why: Z, unless the legs hang down along another."""
    places, turns = [ORIGIN], [links[0].rotation]
    for link in links[1:]:
        places.append(places[link.parent] + rotate(turns[link.parent], link.offset))
        turns.append(multiply(turns[link.parent], link.rotation))
    legs = [place for place, link in zip(places, links, strict=True) if LOWER_LEG & set(words(link.name))]
    drop = np.mean(legs, axis=0) if legs else ORIGIN
    for axis, name in ((0, "X"), (1, "Y")):
        if -drop[axis] > 0.8 * float(np.linalg.norm(drop)):
            return name, f"{name} is up: its legs hang down along -{name}, although robots' files have Z up"
    return "Z", "Z is up: as in all files of robots"
