"""Builds a skeleton from the links of a robot, with end points: heels and toes, tips of hands and heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import IDENTITY, Array, from_axis_angle, multiply, rotate, unrotate
from understudy.base.records import record
from understudy.figure.roles import words
from understudy.figure.skeleton import NUM_AXES, JointKind, Point, Skeleton
from understudy.io.clip import world_from_file

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


LOWER_LEG_WORDS = {"foot", "feet", "ankle", "toe", "toes", "calf", "shank", "shin", "tibia"}

ORIGIN = np.zeros(3)


@record
class RobotJoint:
    """One movable joint between a link and its parent."""

    name: str
    kind: JointKind
    """HINGE or BALL."""
    axis: Array
    """(3,) unit, in the link's frame; not used for a ball."""
    limits: tuple[float, float] = (-np.inf, np.inf)
    """Radians, limits of the joint value."""
    position: Array = field(default_factory=lambda: ORIGIN)
    """(3,) metres, in the link's frame: the centre of rotation."""
    reference: float = 0.0
    """The joint value, radians, in the pose in which the file defines its links."""
    rest: float | None = None
    """The joint value in the rest pose; `reference` if not given."""
    max_velocity: float = np.inf
    """Radians a second."""
    max_torque: float = np.inf
    """Newton metres."""


@record
class Link:
    """A rigid part of a robot."""

    name: str
    parent: int
    """The index of the parent link, which comes before it in the list; -1 for the first."""
    offset: Array = field(default_factory=lambda: ORIGIN)
    """(3,) metres, in the parent's frame."""
    rotation: Array = field(default_factory=lambda: IDENTITY)
    """(4,) in the parent's frame, with all joints at rest."""
    joints: tuple[RobotJoint, ...] = ()
    """From the parent outwards; empty for a link that is fixed or moves freely."""
    fixed_name: str = ""
    """The joint's name in the skeleton if the link has no joints; the link's name if empty."""
    shapes: tuple[CollisionShape, ...] = ()
    centre: Array | None = None
    """(3,) the centre of mass, if the file gives it."""
    mass: float | None = None
    """Kilograms, if the file gives it."""


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
    floor: str = ""
    """Where the floor of the motion is, in words; empty if that is not known."""

    def channels(self, name: str) -> list[str]:
        """The channels that a motion has for a joint."""
        return ["value"] if name in self.names else []


@record
class Robot:
    """A robot assembled from its links."""

    skeleton: Skeleton
    """Without end points."""
    layout: RobotLayout
    shapes: tuple[tuple[CollisionShape, ...], ...]
    """(J,) the shapes that move with each joint, in its frame."""
    links: tuple[str, ...]
    """(J,) the name of the link that each joint carries."""
    left_out: tuple[str, ...]
    """Names of the links that only mark points."""
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
    format: str = "mjcf",
) -> Robot:
    """Build the skeleton of a robot's links.

    Args:
        links: Parents before children; the first is the root, which moves freely.
        robot: The model's name.
        file: The file's name.
        order: The joints in the file's order; the order of the links if not given.
        still: Joints that are kept fixed.
        up: The up axis of the rest pose; if not given, Z, or the axis along which its legs stand.
        format: The format of the file.
    """
    axis, reason = (up, f"{up} is up: given") if up else _find_up(links)
    tree = _LinkTree(links)
    tree.add_links(world_from_file(axis))
    moving = [name for name, kind in zip(tree.names, tree.kinds) if kind in (JointKind.HINGE, JointKind.BALL)]
    rank = {name: i for i, name in enumerate(order)}
    layout = RobotLayout(
        robot=robot,
        file=file,
        names=tuple(sorted(moving, key=lambda name: rank.get(name, len(rank)))),
        references=tree.references,
        still=tuple(still),
        format=format,
        bodies=tree.bodies(),
        max_velocities={j.name: j.max_velocity for link in links for j in link.joints if np.isfinite(j.max_velocity)},
        max_torques={j.name: j.max_torque for link in links for j in link.joints if np.isfinite(j.max_torque)},
    )
    return Robot(
        skeleton=tree.skeleton(robot),
        layout=layout,
        shapes=tuple(tuple(shapes) for shapes in tree.shapes),
        links=tuple(tree.carried),
        left_out=tuple(links[i].name for i in range(len(links)) if not tree.kept[i]),
        up=axis,
        up_reason=reason,
    )


class _LinkTree:
    """Converts links to the joints of a skeleton."""

    def __init__(self, links: Sequence[Link]) -> None:
        self.links = links
        self.names: list[str] = []
        self.parents: list[int] = []
        self.offsets: list[Array] = []
        self.rest: list[Array] = []
        self.kinds: list[JointKind] = []
        self.axes: list[Array] = []
        self.limits: list[tuple[float, float]] = []
        self.shapes: list[list[CollisionShape]] = []
        self.carried: list[str] = []
        self.references: dict[str, float] = {}
        self.pose_in_joint: list[tuple[int, Array, Array]] = []
        """By link, the joint that carries it, and the link's position (3,) and rotation (4,) in the joint's frame."""
        self.kept = self._find_kept()

    def _find_kept(self) -> list[bool]:
        """Whether each link becomes a joint: links that move or have a shape, and their ancestors."""
        kept = [bool(link.joints) or any(shape.has_form for shape in link.shapes) for link in self.links]
        for i in range(len(self.links) - 1, 0, -1):
            kept[self.links[i].parent] |= kept[i]
        kept[0] = True
        return kept

    def add_links(self, world: Array) -> None:
        """Add the joints of all links. The rotation (4,) takes the robot's world to ours."""
        used = {joint.name for link in self.links for joint in link.joints}
        for number, link in enumerate(self.links):
            if link.parent < 0:
                self._add(_make_unused(link.name, used), -1, rotate(world, link.offset), multiply(world, link.rotation))
                self.kinds[-1] = JointKind.FREE
                self.axes[-1] = np.eye(3)
                self._carry(link, ORIGIN, IDENTITY)
                continue
            joint, parent_position, parent_rotation = self.pose_in_joint[link.parent]
            offset = parent_position + rotate(parent_rotation, link.offset)
            rotation = multiply(parent_rotation, link.rotation)
            if not self.kept[number]:
                self.pose_in_joint.append((joint, offset, rotation))
                self.shapes[joint] += [_move_shape(shape, offset, rotation) for shape in self._marks(link)]
            elif link.joints:
                self._chain(link, joint, offset, rotation)
            else:
                centre = self._centre(number)
                title = _make_unused(link.fixed_name or link.name, used)
                self._add(title, joint, offset + rotate(rotation, centre), rotation)
                self._carry(link, -centre, IDENTITY)
                if np.any(centre):
                    # The position of a mesh says no more about its shape than the position of the link does.
                    self.shapes[-1] = [shape for shape in self.shapes[-1] if shape.kind != "mesh"]

    def _marks(self, link: Link) -> list[CollisionShape]:
        """The link's shapes and a mark at its origin."""
        return [CollisionShape(kind="mark", position=ORIGIN, rotation=IDENTITY, size=ORIGIN), *link.shapes]

    def _centre(self, number: int) -> Array:
        """(3,) the middle of the solids of a link without children, else its centre of mass, else its origin."""
        link = self.links[number]
        if any(self.kept[i] and self.links[i].parent == number for i in range(number + 1, len(self.links))):
            return ORIGIN
        positions = [shape.position for shape in link.shapes if shape.is_solid]
        return np.mean(positions, axis=0) if positions else ORIGIN if link.centre is None else link.centre

    def _chain(self, link: Link, parent: int, offset: Array, rotation: Array) -> None:
        """Add the joints of one link as a chain."""
        before = ORIGIN
        for number, joint in enumerate(link.joints):
            if number == 0:
                self._add(joint.name, parent, offset + rotate(rotation, joint.position), rotation)
            else:
                self._add(joint.name, len(self.names) - 1, joint.position - before, IDENTITY)
            before = joint.position
            self.kinds[-1] = joint.kind
            self.axes[-1] = np.eye(3) if joint.kind is JointKind.BALL else np.stack([joint.axis, ORIGIN, ORIGIN])
            value = joint.reference if joint.rest is None else joint.rest
            self.limits[-1] = (joint.limits[0] - value, joint.limits[1] - value)
            self.rest[-1] = multiply(self.rest[-1], from_axis_angle(joint.axis, value - joint.reference))
            self.carried[-1] = link.name
            if value:
                self.references[joint.name] = value
        self._carry(link, -before, IDENTITY)

    def _add(self, name: str, parent: int, offset: Array, rotation: Array) -> None:
        self.names.append(name)
        self.parents.append(parent)
        self.offsets.append(offset)
        self.rest.append(rotation)
        self.kinds.append(JointKind.FIXED)
        self.axes.append(np.zeros((3, 3)))
        self.limits.append((-np.inf, np.inf))
        self.shapes.append([])
        self.carried.append("")

    def _carry(self, link: Link, position: Array, rotation: Array) -> None:
        """Attach a link to the last joint, at a position (3,) and rotation (4,) in its frame."""
        self.pose_in_joint.append((len(self.names) - 1, position, rotation))
        self.shapes[-1] += [_move_shape(shape, position, rotation) for shape in link.shapes]
        self.carried[-1] = link.name

    def bodies(self) -> tuple[RobotBody, ...]:
        """All links, with the joints that carry them."""
        return tuple(
            RobotBody(
                name=link.name,
                parent=link.parent,
                joint=self.names[joint],
                position=position,
                rotation=rotation,
                moves=link.parent < 0 or bool(link.joints),
                centre=ORIGIN if link.centre is None else link.centre,
                mass=link.mass,
                shapes=tuple(shape for shape in link.shapes if shape.is_solid and shape.collides),
            )
            for link, (joint, position, rotation) in zip(self.links, self.pose_in_joint, strict=True)
        )

    def skeleton(self, name: str) -> Skeleton:
        limits = np.tile([-np.inf, np.inf], (len(self.names), 3, 1))
        limits[:, 0] = self.limits
        return Skeleton(
            names=tuple(self.names), parents=np.array(self.parents), offsets=np.array(self.offsets),
            rest=np.array(self.rest), kinds=tuple(self.kinds), axes=np.array(self.axes), limits=limits, name=name,
        )  # fmt: skip


def _move_shape(shape: CollisionShape, position: Array, rotation: Array) -> CollisionShape:
    """A shape in another frame, given the position (3,) and rotation (4,) of its own frame in it."""
    moved = position + rotate(rotation, shape.position)
    return replace(shape, position=moved, rotation=multiply(rotation, shape.rotation))


def _make_unused(name: str, used: set[str]) -> str:
    """A name that is not used yet. It is added to the used names."""
    unused, number = name, 2
    while unused in used:
        unused, number = f"{name}_{number}", number + 1
    used.add(unused)
    return unused


def _find_up(links: Sequence[Link]) -> tuple[str, str]:
    """The up axis of the rest pose, and the reason: Z, unless the legs hang down along another axis."""
    positions, rotations = [ORIGIN], [links[0].rotation]
    for link in links[1:]:
        positions.append(positions[link.parent] + rotate(rotations[link.parent], link.offset))
        rotations.append(multiply(rotations[link.parent], link.rotation))
    legs = [point for point, link in zip(positions, links, strict=True) if LOWER_LEG_WORDS & set(words(link.name))]
    drop = np.mean(legs, axis=0) if legs else ORIGIN
    for axis, name in ((0, "X"), (1, "Y")):
        if -drop[axis] > 0.8 * float(np.linalg.norm(drop)):
            return name, f"{name} is up: its legs hang down along -{name}, although robots' files have Z up"
    return "Z", "Z is up: as in all files of robots"


MAX_FLOOR_DISTANCE_PER_HEIGHT = 0.03
"""A link stands on the floor up to this height above the body's lowest point, in body heights."""

MAX_STEP_PER_HEIGHT = 0.01
"""A link stands on the floor only if it is at most this much higher than the links below it, in body heights."""

MIN_SOLE_LENGTH_METRES = 0.02
"""A longer sole has a heel and a toe."""

MIN_SOLE_WIDTH_METRES = 0.01
"""A wider heel or toe has two sides."""

MAX_FOOT_HINGE_DISTANCE_PER_HEIGHT = 0.1
"""A hinge within this distance up the leg belongs to the foot, in body heights."""

UP = np.array([0.0, 1.0, 0.0])

TIP_WORDS = {"foot", "sole", "toe", "heel", "hand", "palm", "tip", "contact", "tool", "ee", "gripper", "tcp", "head"}


def with_ends(robot: Robot) -> Skeleton:
    """A robot's skeleton with end points on its feet, its hands and its other last links."""
    standing = _StandingRobot.of(robot)
    ends: list[Point] = []
    taken = set(robot.skeleton.names)
    for joint in range(1, robot.skeleton.num_joints):
        joint_ends = standing.sole(joint)
        if not joint_ends and not robot.skeleton.children[joint]:
            joint_ends = _tip(robot, joint)
        for name, offset in joint_ends:
            title = f"{robot.links[joint]}_{name}"
            if title not in taken:
                ends.append(Point(name=title, joint=robot.skeleton.names[joint], offset=offset))
                taken.add(title)
    return replace(robot.skeleton, ends=tuple(ends))


@record
class _StandingRobot:
    """A robot in its rest pose, with the points of its feet on the floor."""

    robot: Robot
    soles: dict[int, Array]
    """By foot joint, (N, 3) the lowest points of its shapes, world."""
    height: float
    forward: Array

    @staticmethod
    def of(robot: Robot) -> _StandingRobot:
        positions, rotations = robot.skeleton.rest_world
        soles: dict[int, Array] = {}
        for joint, shapes in enumerate(robot.shapes):
            solid = [shape for shape in shapes if shape.is_solid]
            if joint > 0 and solid:
                down = unrotate(rotations[joint], -UP)
                points = np.concatenate([shape.extreme_points(down) for shape in solid])
                soles[joint] = positions[joint] + rotate(rotations[joint], points)
        all_points = np.concatenate([positions, *soles.values()])
        height = float(np.ptp(all_points[:, 1]))
        floor = float(all_points[:, 1].min())
        lowest = {joint: float(points[:, 1].min()) for joint, points in soles.items()}
        feet = {}
        for joint, points in soles.items():
            below = robot.skeleton.below(joint)
            lowest_below = min(low for other, low in lowest.items() if below[other])
            tolerance = MAX_FLOOR_DISTANCE_PER_HEIGHT * height
            if lowest[joint] < floor + tolerance and lowest[joint] < lowest_below + MAX_STEP_PER_HEIGHT * height:
                feet[joint] = points[points[:, 1] < lowest[joint] + tolerance]
        ahead = sum((points.mean(0) - positions[joint] for joint, points in feet.items()), np.zeros(3))
        ahead = ahead * [1.0, 0.0, 1.0]
        size = float(np.linalg.norm(ahead))
        # Robot models face along X by convention.
        forward = (
            ahead / size if size > 0.25 * MIN_SOLE_LENGTH_METRES * max(len(feet), 1) else np.array([1.0, 0.0, 0.0])
        )
        return _StandingRobot(robot=robot, soles=feet, height=height, forward=forward)

    def sole(self, joint: int) -> list[tuple[str, Array]]:
        """Names and positions, in the joint's frame, of the corners of its sole; empty if it does not stand."""
        points = self.soles.get(joint)
        if points is None:
            return []
        along, can_roll = points @ self.forward, self._can_roll(joint)
        if np.ptp(along) < MIN_SOLE_LENGTH_METRES:
            named = self._sides("sole", points, can_roll)
        else:
            middle = 0.5 * (along.min() + along.max())
            named = self._sides("sole_heel", _outer(points[along < middle], self.forward, -1.0), can_roll)
            named += self._sides("sole_toe", _outer(points[along >= middle], self.forward, 1.0), can_roll)
        positions, rotations = self.robot.skeleton.rest_world
        return [(name, unrotate(rotations[joint], point - positions[joint])) for name, point in named]

    def _can_roll(self, joint: int) -> bool:
        """Whether a foot can roll sideways: one of its hinges, or one close above it, has a forward axis."""
        skeleton = self.robot.skeleton
        rotations, near = skeleton.rest_world[1], MAX_FOOT_HINGE_DISTANCE_PER_HEIGHT * self.height
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

    def _sides(self, name: str, points: Array, can_roll: bool) -> list[tuple[str, Array]]:
        """The innermost and outermost of some points; their mean if they are close together or the foot cannot roll."""
        left = np.cross(UP, self.forward)
        across = (points - self.robot.skeleton.rest_world[0][0]) @ left
        if np.ptp(across) < MIN_SOLE_WIDTH_METRES or not can_roll:
            return [(name, points.mean(0))]
        order = np.argsort(across if across.mean() > 0.0 else -across)
        return [(f"{name}_inner", points[order[0]]), (f"{name}_outer", points[order[-1]])]


def _outer(points: Array, forward: Array, sign: float) -> Array:
    """The points of one half of a sole that are near its end."""
    along = sign * (points @ forward)
    return points[along > along.max() - MIN_SOLE_LENGTH_METRES]


def _tip(robot: Robot, joint: int) -> list[tuple[str, Array]]:
    """The far end of what a joint carries, from its shapes or marks; empty if they do not show it."""
    shapes = robot.shapes[joint]
    solid = [shape for shape in shapes if shape.is_solid]
    if solid:
        middle = np.mean([shape.position for shape in solid], axis=0)
        towards = middle if np.linalg.norm(middle) > 1e-3 else _bone(robot.skeleton, joint)
        if np.linalg.norm(towards) < 1e-3:
            return []
        points = np.concatenate([shape.extreme_points(towards) for shape in solid])
        return [("end", points[np.argmax(points @ towards)])]
    marks = _marks(shapes, robot.links[joint])
    if not marks:
        return []
    far = max(marks, key=lambda shape: float(np.linalg.norm(shape.position)))
    return [("end", far.position)] if np.linalg.norm(far.position) > 1e-2 else []


def _marks(shapes: tuple[CollisionShape, ...], link: str) -> list[CollisionShape]:
    """The meshes of a link; if it has none and its name says that it ends a limb, all its shapes."""
    meshes = [shape for shape in shapes if shape.kind == "mesh"]
    return meshes or (list(shapes) if TIP_WORDS & set(words(link)) else [])


def _bone(skeleton: Skeleton, joint: int) -> Array:
    """(3,) the direction of the bone to a joint, in the joint's frame."""
    while joint > 0 and skeleton.lengths[joint] < 1e-3:
        joint = int(skeleton.parents[joint])
    return unrotate(skeleton.rest[joint], skeleton.offsets[joint])
