"""End points of robots: heels and toes where their shapes stand on the floor, tips of hands and heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from understudy.base.quaternion import Array, from_axis_angle, multiply, rotate, unrotate
from understudy.figure.naming import words
from understudy.figure.skeleton import NUM_AXES, JointKind, Point, Skeleton
from understudy.io.units import world_from_file

SMALLEST = 0.004
"""Metres below which a shape only marks a place."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CollisionShape:
    """A simple form; or a mesh, whose form is not known; or a mark, which has none."""

    kind: str
    """ "sphere", "capsule", "cylinder", "box", "ellipsoid", "mesh" or "mark"."""
    place: Array
    """(3,) metres, in its link's frame."""
    turn: Array
    """(4,) its orientation in its link's frame; a capsule's and cylinder's length is along its z axis."""
    size: Array
    """(3,) metres: the radius, or radius and half length, or half sizes."""

    @property
    def is_real(self) -> bool:
        """Whether its form is known and large enough to be one."""
        return self.kind not in ("mesh", "mark") and float(self.size.max()) >= SMALLEST

    @property
    def has_form(self) -> bool:
        """Whether it is more than a mark."""
        return self.kind == "mesh" or self.is_real

    def touching(self, direction: Array) -> Array:
        """(N, 3) places of the surface that lie farthest in a direction (3,): the corners of what it can stand on."""
        towards = unrotate(self.turn, direction / np.linalg.norm(direction))
        return self.place + rotate(self.turn, self._touching(towards))

    def _touching(self, towards: Array) -> Array:
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
    """Lying on its side, the ends of the line it touches along; else four places of the rim."""
    across = towards * [1.0, 1.0, 0.0]
    size = float(np.linalg.norm(across))
    if size > 0.7:
        return radius * across / size + half * np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    rim = radius * np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    return rim + np.array([0.0, 0.0, np.copysign(half, towards[2])])


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
    shapes: tuple[CollisionShape, ...] = ()
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
    forms: tuple[tuple[CollisionShape, ...], ...]
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
    tree = _LinkTree(links)
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


class _LinkTree:
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
        self.forms: list[list[CollisionShape]] = []
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

    def _marks(self, link: Link) -> list[CollisionShape]:
        here = CollisionShape(kind="mark", place=ORIGIN, turn=STRAIGHT, size=ORIGIN)
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


def _placed(shape: CollisionShape, place: Array, turn: Array) -> CollisionShape:
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


LOW = 0.03
"""Share of the body's height above its lowest place up to which a link stands on the floor."""

FLAT = 0.01
"""Share of the body's height by which a link may stand higher than those that hang from it, and stand on it too."""

LONG = 0.02
"""Metres from which on a sole has a heel and a toe."""

WIDE = 0.01
"""Metres from which on a heel or toe has two sides."""

NEAR = 0.1
"""Share of the body's height up the leg within which a hinge belongs to the foot."""

UP = np.array([0.0, 1.0, 0.0])

TIPS = {"foot", "sole", "toe", "heel", "hand", "palm", "tip", "contact", "tool", "ee", "gripper", "tcp", "head"}


def with_ends(robot: Robot) -> Skeleton:
    """A robot's skeleton with end points on its feet, its hands and whatever else ends somewhere."""
    standing = _Standing.of(robot)
    ends: list[Point] = []
    taken = set(robot.skeleton.names)
    for joint in range(1, robot.skeleton.num_joints):
        found = standing.sole(joint)
        if not found and not robot.skeleton.children[joint]:
            found = _tip(robot, joint)
        for name, offset in found:
            title = f"{robot.links[joint]}_{name}"
            if title not in taken:
                ends.append(Point(name=title, joint=robot.skeleton.names[joint], offset=offset))
                taken.add(title)
    return replace(robot.skeleton, ends=tuple(ends))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Standing:
    """A robot in its rest pose, and what of it is on the floor."""

    robot: Robot
    lows: dict[int, Array]
    """(N, 3) by joint: the lowest places of its shapes, world."""
    height: float
    forward: Array

    @staticmethod
    def of(robot: Robot) -> _Standing:
        positions, rotations = robot.skeleton.rest_world
        lows: dict[int, Array] = {}
        for joint, shapes in enumerate(robot.forms):
            real = [shape for shape in shapes if shape.is_real]
            if joint > 0 and real:
                down = unrotate(rotations[joint], -UP)
                spots = np.concatenate([shape.touching(down) for shape in real])
                lows[joint] = positions[joint] + rotate(rotations[joint], spots)
        every = np.concatenate([positions, *lows.values()])
        height = float(np.ptp(every[:, 1]))
        floor = float(every[:, 1].min())
        lowest = {joint: float(spots[:, 1].min()) for joint, spots in lows.items()}
        feet = {}
        for joint, spots in lows.items():
            below = robot.skeleton.below(joint)
            under = min(low for other, low in lowest.items() if below[other])
            if lowest[joint] < floor + LOW * height and lowest[joint] < under + FLAT * height:
                feet[joint] = spots[spots[:, 1] < lowest[joint] + LOW * height]
        ahead = sum((spots.mean(0) - positions[joint] for joint, spots in feet.items()), np.zeros(3)) * [1.0, 0.0, 1.0]
        size = float(np.linalg.norm(ahead))
        # Robots are built to face along X.
        forward = ahead / size if size > 0.25 * LONG * max(len(feet), 1) else np.array([1.0, 0.0, 0.0])
        return _Standing(robot=robot, lows=feet, height=height, forward=forward)

    def sole(self, joint: int) -> list[tuple[str, Array]]:
        """Names and places, in its own frame, of the corners of what a joint stands on; none if it does not."""
        spots = self.lows.get(joint)
        if spots is None:
            return []
        along, leans = spots @ self.forward, self._leans(joint)
        if np.ptp(along) < LONG:
            named = self._sides("sole", spots, leans)
        else:
            middle = 0.5 * (along.min() + along.max())
            named = self._sides("sole_heel", _outer(spots[along < middle], self.forward, -1.0), leans)
            named += self._sides("sole_toe", _outer(spots[along >= middle], self.forward, 1.0), leans)
        positions, rotations = self.robot.skeleton.rest_world
        return [(name, unrotate(rotations[joint], spot - positions[joint])) for name, spot in named]

    def _leans(self, joint: int) -> bool:
        """Whether a foot can lean sideways of itself: a hinge of it, or close above it, points forwards."""
        skeleton = self.robot.skeleton
        rotations, near = skeleton.rest_world[1], NEAR * self.height
        while joint > 0:
            if skeleton.kinds[joint] is not JointKind.FIXED:
                axes = rotate(rotations[joint], skeleton.axes[joint, : NUM_AXES[skeleton.kinds[joint]]])
                if np.abs(axes @ self.forward).max() > 0.5:
                    return True
            near -= float(skeleton.lengths[joint])
            if near < 0.0:
                return False
            joint = int(skeleton.parents[joint])
        return False

    def _sides(self, name: str, spots: Array, leans: bool) -> list[tuple[str, Array]]:
        """The inner and outer of some places; their middle where they are not far apart, or cannot both stand."""
        left = np.cross(UP, self.forward)
        across = (spots - self.robot.skeleton.rest_world[0][0]) @ left
        if np.ptp(across) < WIDE or not leans:
            return [(name, spots.mean(0))]
        order = np.argsort(across if across.mean() > 0.0 else -across)
        return [(f"{name}_inner", spots[order[0]]), (f"{name}_outer", spots[order[-1]])]


def _outer(spots: Array, forward: Array, sign: float) -> Array:
    """Of places of one half of a sole those at its end, or nearly."""
    along = sign * (spots @ forward)
    return spots[along > along.max() - LONG]


def _tip(robot: Robot, joint: int) -> list[tuple[str, Array]]:
    """The far end of what a joint carries, where its shapes or marks tell."""
    shapes = robot.forms[joint]
    real = [shape for shape in shapes if shape.is_real]
    if real:
        middle = np.mean([shape.place for shape in real], axis=0)
        towards = middle if np.linalg.norm(middle) > 1e-3 else _bone(robot.skeleton, joint)
        if np.linalg.norm(towards) < 1e-3:
            return []
        spots = np.concatenate([shape.touching(towards) for shape in real])
        return [("end", spots[np.argmax(spots @ towards)])]
    marks = _marks(shapes, robot.links[joint])
    if not marks:
        return []
    far = max(marks, key=lambda shape: float(np.linalg.norm(shape.place)))
    return [("end", far.place)] if np.linalg.norm(far.place) > 1e-2 else []


def _marks(shapes: tuple[CollisionShape, ...], link: str) -> list[CollisionShape]:
    """Where meshes are put; places that are only marked count on what is named as an end of the body."""
    meshes = [shape for shape in shapes if shape.kind == "mesh"]
    return meshes or (list(shapes) if TIPS & set(words(link)) else [])


def _bone(skeleton: Skeleton, joint: int) -> Array:
    """(3,) the direction, in a joint's own frame, in which the bone to it leads on."""
    while joint > 0 and skeleton.lengths[joint] < 1e-3:
        joint = int(skeleton.parents[joint])
    return unrotate(skeleton.rest[joint], skeleton.offsets[joint])
