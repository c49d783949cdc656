"""MJCF, MuJoCo's models: nested bodies with joints, read as a skeleton; meshes are not needed.

A body with several joints becomes a chain of joints, in the order in which they are applied. Angles are degrees unless
the file says otherwise, lengths are metres, Z is up. The top-level body with the most joints is the robot. It moves
freely, whether or not the file gives it a free joint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import numpy as np

from understudy.base.errors import FileError
from understudy.base.files import open_to_read
from understudy.base.quaternion import (
    IDENTITY,
    Array,
    between,
    from_axis_angle,
    from_matrix,
    multiply,
    normalize,
    rotate,
    to_matrix,
)
from understudy.base.records import record
from understudy.figure.robot import CollisionShape
from understudy.figure.skeleton import JointKind
from understudy.io.clip import Clip, ReadOptions
from understudy.io.robot.tree import ORIGIN, Link, RobotJoint
from understudy.io.robot.urdf import list_names, make_clip, read_robot
from understudy.io.robot.xml import Node, parse

MAIN = "main"
"""The default class of elements that name none."""

MAX_INCLUDE_DEPTH = 8

MAX_INCLUDES = 64

ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")


@record(eq=True)
class Compiler:
    """The settings that say how the file's numbers are meant."""

    degrees: bool = True
    order: str = "xyz"
    """Axes of `euler`: lower case for axes that rotate with the body, upper case for fixed axes."""
    auto_limits: bool = True
    """Whether a joint with a range is limited even if it does not say so."""
    meshes: dict[str, tuple[str, Array]] = field(default_factory=dict)
    """The file and the scale of each mesh, by its name."""

    def angle(self, value: Array | float) -> Array:
        """Radians of an angle of the file."""
        return np.deg2rad(value) if self.degrees else np.asarray(value, float)


def read_compiler(root: Node) -> Compiler:
    """The file's settings. Later `compiler` elements override earlier ones."""
    compiler = Compiler()
    for node in root.all("compiler"):
        attributes = node.attributes
        if attributes.get("coordinate", "local") != "local":
            raise node.wrong(
                "coordinates are global, as in files before 2022", hint="save the model again with a newer MuJoCo"
            )
        if "angle" in attributes:
            if attributes["angle"] not in ("degree", "radian"):
                raise node.wrong(f"`angle` is `{attributes['angle']}`; expected `degree` or `radian`")
            compiler = replace(compiler, degrees=attributes["angle"] == "degree")
        if "eulerseq" in attributes:
            order = attributes["eulerseq"]
            if len(order) != 3 or set(order.lower()) - set("xyz"):
                raise node.wrong(f"`eulerseq` is `{order}`; expected three letters of x, y, z")
            compiler = replace(compiler, order=order)
        if "autolimits" in attributes:
            compiler = replace(compiler, auto_limits=attributes["autolimits"] == "true")
    return replace(compiler, meshes=_read_meshes(root))


def _read_meshes(root: Node) -> dict[str, tuple[str, Array]]:
    """The file and the scale of each mesh, by its name."""
    folder = ""
    for node in root.all("compiler"):
        folder = node.attributes.get("meshdir", node.attributes.get("assetdir", folder))
    meshes = {}
    for node in (child for assets in root.all("asset") for child in assets.all("mesh")):
        file = node.attributes.get("file", "")
        name = node.attributes.get("name") or PurePosixPath(file).stem
        meshes[name] = (str(PurePosixPath(folder, file)), node.numbers("scale", 3, (1.0, 1.0, 1.0)))
    return meshes


@dataclass(eq=False)
class Defaults:
    """Default attributes of elements, by class and tag."""

    classes: dict[str, dict[str, dict[str, str]]] = field(default_factory=lambda: {MAIN: {}})

    @staticmethod
    def of(root: Node) -> Defaults:
        defaults = Defaults()
        for node in root.all("default"):
            defaults._read(node, node.attributes.get("class", MAIN), {})
        return defaults

    def _read(self, node: Node, name: str, inherited: dict[str, dict[str, str]]) -> None:
        by_tag = {tag: dict(values) for tag, values in inherited.items()}
        for tag, values in self.classes.get(name, {}).items():
            by_tag.setdefault(tag, {}).update(values)
        for child in node.children:
            if child.tag != "default":
                by_tag.setdefault(child.tag, {}).update({k: v for k, v in child.attributes.items() if k != "class"})
        self.classes[name] = by_tag
        for child in node.all("default"):
            self._read(child, child.text("class"), by_tag)

    def apply(self, node: Node, child_class: str) -> Node:
        """An element with the default attributes of its class."""
        name = node.attributes.get("class", child_class)
        if name not in self.classes:
            raise node.wrong(f"there is no default class `{name}`; known: {', '.join(list(self.classes)[:8])}")
        defaults = dict(self.classes[name].get(node.tag, {}))
        # An element with an orientation of its own does not take another kind of orientation from its class.
        if any(key in node.attributes for key in ORIENTATIONS):
            defaults = {key: value for key, value in defaults.items() if key not in ORIENTATIONS}
        attributes = {**defaults, **node.attributes}
        return Node(tag=node.tag, attributes=attributes, file=node.file, line=node.line, children=node.children)


def insert_includes(root: Node, name: str, notes: list[str]) -> None:
    """Replace `include` elements by the content of their files. A note reports files that cannot be used."""
    folder = Path(name).parent.resolve()
    count = 0

    def fill(node: Node, depth: int, open_files: tuple[str, ...]) -> None:
        nonlocal count
        children: list[Node] = []
        for child in node.children:
            if child.tag != "include":
                fill(child, depth, open_files)
                children.append(child)
                continue
            file = child.text("file")
            count += 1
            if depth >= MAX_INCLUDE_DEPTH or count > MAX_INCLUDES or file in open_files:
                raise child.wrong(f"`{file}` is included again and again")
            included = _read_included(child, file, folder, notes)
            if included is not None:
                fill(included, depth + 1, (*open_files, file))
                children += included.children
        node.children[:] = children

    fill(root, 0, ())


def _read_included(node: Node, file: str, folder: Path, notes: list[str]) -> Node | None:
    try:
        path = (folder / file).resolve()
        if not path.is_relative_to(folder):
            notes.append(f"The included file `{file}` lies outside the robot's folder and is not read.")
            return None
        if not path.is_file():
            raise FileNotFoundError
        with open_to_read(path) as stream:
            return parse(stream, str(path))
    except (OSError, ValueError):
        notes.append(f"The included file `{file}` is not there; what it holds is left out.")
        return None
    except FileError as error:
        raise node.wrong(f"includes a file that cannot be read: {error.message}") from None


def read_orientation(node: Node, compiler: Compiler) -> Array:
    """(4,) rotation of an element, from any of MJCF's attributes for it."""
    keys = [key for key in ORIENTATIONS if key in node.attributes]
    if not keys:
        return IDENTITY
    if len(keys) > 1:
        raise node.wrong(f"`<{node.tag}>` is rotated twice, by `{keys[0]}` and `{keys[1]}`")
    key = keys[0]
    if key == "quat":
        value = node.required("quat", (4,))
        if np.linalg.norm(value) < 1e-10:
            raise node.wrong("`quat`: expected a quaternion, got one of length zero")
        return normalize(value)
    if key == "zaxis":
        return between(np.array([0.0, 0.0, 1.0]), node.unit("zaxis", (0.0, 0.0, 1.0)))
    if key == "axisangle":
        value = node.required("axisangle", (4,))
        size = float(np.linalg.norm(value[:3]))
        if size < 1e-10:
            raise node.wrong("`axisangle`: expected an axis, got one of length zero")
        return from_axis_angle(value[:3] / size, compiler.angle(value[3]))
    if key == "xyaxes":
        return _read_axes(node)
    rotation = IDENTITY
    for letter, angle in zip(compiler.order, compiler.angle(node.required("euler", (3,))), strict=True):
        step = from_axis_angle(np.eye(3)["xyz".index(letter.lower())], angle)
        rotation = multiply(rotation, step) if letter.islower() else multiply(step, rotation)
    return rotation


def _read_axes(node: Node) -> Array:
    value = node.required("xyaxes", (6,))
    x = value[:3] / max(float(np.linalg.norm(value[:3])), 1e-12)
    y = value[3:] - (value[3:] @ x) * x
    if min(float(np.linalg.norm(value[:3])), float(np.linalg.norm(y))) < 1e-10:
        raise node.wrong("`xyaxes`: expected two directions that differ")
    y = y / np.linalg.norm(y)
    return from_matrix(np.stack([x, y, np.cross(x, y)], axis=-1))


def read_shape(node: Node, compiler: Compiler) -> CollisionShape | None:
    """The shape of a `geom` with its class defaults; None for one that is not part of a body."""
    kind = node.attributes.get("type", "sphere")
    if kind in ("plane", "hfield", "sdf"):
        return None
    position = node.numbers("pos", 3, (0.0, 0.0, 0.0))
    if "mesh" in node.attributes or kind == "mesh":
        file, scale = compiler.meshes.get(node.attributes.get("mesh", ""), ("", np.ones(3)))
        return CollisionShape(
            kind="mesh",
            position=position,
            rotation=read_orientation(node, compiler),
            size=ORIGIN,
            file=file,
            scale=scale,
        )
    if kind not in ("sphere", "capsule", "cylinder", "box", "ellipsoid"):
        raise node.wrong(f"`<geom>` is of type `{kind}`, which is not known")
    size = np.zeros(3)
    if "size" in node.attributes:
        sizes = node.required("size", (1, 2, 3))
        size[: len(sizes)] = np.abs(sizes)
    if "fromto" not in node.attributes:
        return CollisionShape(kind=kind, position=position, rotation=read_orientation(node, compiler), size=size)
    ends = node.required("fromto", (6,))
    along = ends[3:] - ends[:3]
    half = 0.5 * float(np.linalg.norm(along))
    if kind in ("capsule", "cylinder"):
        size[1] = half
    else:
        size = np.array([size[0], size[1] or size[0], half])
    rotation = between(np.array([0.0, 0.0, 1.0]), along)
    return CollisionShape(kind=kind, position=0.5 * (ends[:3] + ends[3:]), rotation=rotation, size=size)


def read_mark(node: Node) -> CollisionShape:
    """The point of a `site`."""
    return CollisionShape(kind="mark", position=node.numbers("pos", 3, (0.0, 0.0, 0.0)), rotation=IDENTITY, size=ORIGIN)


def read_standing_pose(root: Node, widths: dict[str, int]) -> dict[str, Array] | None:
    """The values of each joint in the file's keyframe for standing, or in its first keyframe; None if it has none.

    Args:
        root: The file's root element.
        widths: How many numbers of `qpos` each joint takes, in order.
    """
    keys = [key for frames in root.all("keyframe") for key in frames.all("key") if "qpos" in key.attributes]
    keys.sort(key=lambda key: key.attributes.get("name", "") not in ("home", "stand", "standing"))
    for key in keys:
        if len(key.text("qpos").split()) == sum(widths.values()):
            values = key.required("qpos", (sum(widths.values()),))
            ends = np.cumsum(list(widths.values()))[:-1]
            return dict(zip(widths, np.split(values, ends), strict=True))
    return None


def read_torques(root: Node, defaults: Defaults) -> dict[str, float]:
    """The largest torque of the actuators of each joint, newton metres, where the file limits it."""
    torques: dict[str, float] = {}
    for node in (child for actuators in root.all("actuator") for child in actuators.children):
        full = defaults.apply(node, MAIN).attributes
        joint, key = full.get("joint"), "forcerange" if "forcerange" in full else "ctrlrange"
        # The control of a motor is its force; that of a position or velocity servo is not.
        if joint is None or key not in full or (key == "ctrlrange" and node.tag not in ("motor", "general")):
            continue
        if key == "ctrlrange" and "gainprm" in full and "biasprm" in full:
            continue
        node = Node(tag=node.tag, attributes=full, file=node.file, line=node.line)
        gear = abs(float(node.required("gear", (1, 2, 3, 4, 5, 6))[0])) if "gear" in full else 1.0
        torques[joint] = gear * float(np.abs(node.required(key, (2,))).max())
    return torques


QPOS_WIDTHS = {"hinge": 1, "slide": 1, "ball": 4, "free": 7}
"""How many numbers of `qpos` a joint of each type takes."""

MAX_LIMIT_VIOLATION_RADIANS = 0.02
"""A pose may exceed the joint limits by this much."""

GENERATING_ELEMENTS = ("attach", "replicate", "composite", "flexcomp")
"""Elements that generate bodies. They are not read."""


@record
class _MjcfPart:
    """An element of a body, with the pose of the `frame` elements around it."""

    node: Node
    """With the defaults of its class."""
    position: Array
    rotation: Array
    child_class: str

    def to_body(self, position: Array) -> Array:
        """(3,) a point of the element's frame in the body's frame."""
        return self.position + rotate(self.rotation, position)


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a model.

    Args:
        stream: The file's bytes.
        name: The file as the user named it, for errors. Included files are looked up in its folder.
        options: The up axis of the rest pose, if it is not Z; the unit, if it is not metres.
    """
    root = parse(stream, name)
    if root.tag == "robot":
        return read_robot(root, name, options)
    if root.tag != "mujoco":
        raise root.wrong(f"expected `<mujoco>` or `<robot>`, got `<{root.tag}>`: this is no robot")
    reader = _MjcfReader()
    insert_includes(root, name, reader.notes)
    reader.compiler, reader.defaults = read_compiler(root), Defaults.of(root)
    reader.torques = read_torques(root, reader.defaults)
    dropped = reader.read(root)
    reader.set_rest_pose(read_standing_pose(root, reader.widths))
    if reader.skipped:
        reader.notes.append(
            f"Not read, since they make bodies by rules: {list_names(sorted(set(reader.skipped)), 'element')}."
        )
    return make_clip(
        reader.links,
        root.attributes.get("model", ""),
        name,
        options,
        format="mjcf",
        still=reader.still,
        notes=reader.notes,
        dropped=dropped,
    )


@dataclass(eq=False)
class _MjcfReader:
    """Walks the bodies of a model and collects its links."""

    compiler: Compiler = field(default_factory=Compiler)
    defaults: Defaults = field(default_factory=Defaults)
    links: list[Link] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    still: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    bodies: dict[str, Node] = field(default_factory=dict)
    joints: dict[str, Node] = field(default_factory=dict)
    torques: dict[str, float] = field(default_factory=dict)
    """Newton metres, by joint: the largest torque of its actuators."""
    widths: dict[str, int] = field(default_factory=dict)
    """How many numbers of `qpos` each joint takes, in the file's order, the root first."""

    def read(self, root: Node) -> tuple[str, ...]:
        """Collect the links of the top-level body with the most joints; returns what was left out."""
        tops: list[_MjcfPart] = []
        for world in root.all("worldbody"):
            tops += [part for part in self._parts(world, MAIN) if part.node.tag == "body"]
        if not tops:
            raise root.wrong("the model has no bodies")
        top = max(tops, key=lambda part: _count_joints(part.node))
        self._body(top, -1)
        others = [part.node.attributes.get("name", "a body without a name") for part in tops if part is not top]
        shown = ", ".join(f"`{name}`" for name in others[:4])
        return (f"{len(others)} more in the scene beside the robot, such as {shown}.",) if others else ()

    def _parts(
        self, node: Node, child_class: str, position: Array = ORIGIN, rotation: Array = IDENTITY
    ) -> Iterator[_MjcfPart]:
        """The elements of a body, including those inside `frame` elements."""
        for child in node.children:
            if child.tag == "frame":
                inner_position = position + rotate(rotation, child.numbers("pos", 3, (0.0, 0.0, 0.0)))
                inner_rotation = multiply(rotation, read_orientation(child, self.compiler))
                inner_class = child.attributes.get("childclass", child_class)
                yield from self._parts(child, inner_class, inner_position, inner_rotation)
            elif child.tag in GENERATING_ELEMENTS:
                self.skipped.append(child.tag)
            elif child.tag == "body":
                yield _MjcfPart(node=child, position=position, rotation=rotation, child_class=child_class)
            elif child.tag in ("joint", "geom", "site", "freejoint", "inertial"):
                without_defaults = child.tag in ("freejoint", "inertial")
                completed = child if without_defaults else self.defaults.apply(child, child_class)
                yield _MjcfPart(node=completed, position=position, rotation=rotation, child_class=child_class)

    def _body(self, part: _MjcfPart, parent: int) -> None:
        node = part.node
        name = self._register(node, self.bodies, f"body{len(self.links)}")
        child_class = node.attributes.get("childclass", part.child_class)
        parts = list(self._parts(node, child_class))
        joints = self._joints(parts, name, top=parent < 0)
        inertial = next((p for p in parts if p.node.tag == "inertial"), None)
        self.links.append(
            Link(
                name=name,
                parent=parent,
                offset=part.to_body(node.numbers("pos", 3, (0.0, 0.0, 0.0))),
                rotation=multiply(part.rotation, read_orientation(node, self.compiler)),
                joints=joints,
                shapes=tuple(shape for p in parts if (shape := self._shape(p)) is not None),
                centre=None if inertial is None else inertial.to_body(inertial.node.numbers("pos", 3, (0.0, 0.0, 0.0))),
                mass=None if inertial is None else inertial.node.number("mass", 0.0),
                inertia=None if inertial is None else self._inertia(inertial),
            )
        )
        number = len(self.links) - 1
        for child in parts:
            if child.node.tag == "body":
                self._body(child, number)

    def _inertia(self, part: _MjcfPart) -> Array | None:
        """(3, 3) the inertia of an `inertial` about its centre of mass, in the body's frame."""
        node = part.node
        if "fullinertia" in node.attributes:
            xx, yy, zz, xy, xz, yz = node.required("fullinertia", (6,))
            inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        elif "diaginertia" in node.attributes:
            inertia = np.diag(node.required("diaginertia", (3,)))
        else:
            return None
        turn = to_matrix(multiply(part.rotation, read_orientation(node, self.compiler)))
        return turn @ inertia @ turn.T

    def _register(self, node: Node, registered: dict[str, Node], default: str) -> str:
        """Register an element under its name, or under a default; returns the name, which must be new."""
        name = node.attributes.get("name") or default
        if name in registered:
            raise node.wrong(f"the {node.tag} `{name}` is there already, in line {registered[name].line}")
        registered[name] = node
        return name

    def _joints(self, parts: list[_MjcfPart], body: str, *, top: bool) -> tuple[RobotJoint, ...]:
        """The rotating joints of a body. The root body's joints are dropped, because the root moves freely."""
        nodes = [part for part in parts if part.node.tag in ("joint", "freejoint")]
        free = [p for p in nodes if p.node.tag == "freejoint" or p.node.attributes.get("type") == "free"]
        if top:
            kinds = [p.node.attributes.get("type", "hinge") for p in nodes]
            self.widths[body] = 7 if free else sum(QPOS_WIDTHS.get(kind, 1) for kind in kinds)
            if not nodes:
                self.notes.append(f"`{body}` is fixed to the world in the file; it is read as free to move.")
            elif not free:
                names = [part.node.attributes.get("name", body) for part in nodes]
                self.notes.append(f"`{body}` is read as free to move, in place of {list_names(names, 'joint')}.")
            return ()
        if free:
            raise free[0].node.wrong(f"`{body}` moves freely, but only a body that hangs from nothing can")
        joints: list[RobotJoint] = []
        for number, part in enumerate(nodes):
            default = body if len(nodes) == 1 else f"{body}_{number + 1}"
            name = self._register(part.node, self.joints, default)
            kind = part.node.attributes.get("type", "hinge")
            self.widths[name] = QPOS_WIDTHS.get(kind, 1)
            if kind == "slide":
                self.still.append(name)
            elif kind in ("hinge", "ball"):
                joints.append(self._joint(part, name, kind))
            else:
                raise part.node.wrong(f"joint `{name}` is of type `{kind}`; expected hinge, slide, ball or free")
        return tuple(joints)

    def _joint(self, part: _MjcfPart, name: str, kind: str) -> RobotJoint:
        node = part.node
        position = part.to_body(node.numbers("pos", 3, (0.0, 0.0, 0.0)))
        if kind == "ball":
            if self._limited(node):
                self.notes.append(f"`{name}` is a ball with a limit on its whole angle, which is not kept.")
            return RobotJoint(name=name, kind=JointKind.BALL, axis=np.array([0.0, 0.0, 1.0]), position=position)
        limits = (-np.inf, np.inf)
        if self._limited(node):
            low, high = self.compiler.angle(node.numbers("range", 2, (0.0, 0.0)))
            if low > high:
                raise node.wrong(f"joint `{name}`: its range runs from {low:g} down to {high:g} radians")
            limits = (float(low), float(high))
        return RobotJoint(
            name=name,
            kind=JointKind.HINGE,
            axis=rotate(part.rotation, node.unit("axis", (0.0, 0.0, 1.0))),
            limits=limits,
            position=position,
            reference=float(self.compiler.angle(node.number("ref", 0.0))),
            max_torque=self._max_torque(node, name),
            armature=node.number("armature", 0.0),
        )

    def _max_torque(self, node: Node, name: str) -> float:
        """Newton metres: the largest torque that a joint's motor gives, from the joint or from its actuators."""
        ranges = [self.torques[name]] if name in self.torques else []
        if "actuatorfrcrange" in node.attributes:
            ranges.append(float(np.abs(node.required("actuatorfrcrange", (2,))).max()))
        return min((value for value in ranges if value > 0.0), default=np.inf)

    def set_rest_pose(self, pose: dict[str, Array] | None) -> None:
        """Use a keyframe as the rest pose if the pose in which the file defines the links breaks joint limits."""
        hinges = [joint for link in self.links for joint in link.joints if joint.kind is JointKind.HINGE]
        slack = MAX_LIMIT_VIOLATION_RADIANS
        broken = [j.name for j in hinges if not j.limits[0] - slack <= j.reference <= j.limits[1] + slack]
        if not broken:
            return
        problem = f"The pose the robot is laid out in breaks the limits of {list_names(broken, 'joint')}"
        if pose is None:
            self.notes.append(f"{problem}.")
            return
        self.notes.append(f"{problem}; it rests as in the file's keyframe instead.")
        for number, link in enumerate(self.links):
            joints = tuple(
                replace(joint, rest=float(pose[joint.name][0])) if joint.kind is JointKind.HINGE else joint
                for joint in link.joints
            )
            self.links[number] = replace(link, joints=joints)
        root = pose[self.links[0].name]
        if len(root) == 7 and np.linalg.norm(root[3:]) > 0.5:
            self.links[0] = replace(self.links[0], offset=root[:3], rotation=normalize(root[3:]))

    def _limited(self, node: Node) -> bool:
        limited = node.attributes.get("limited", "auto")
        return limited == "true" or (limited == "auto" and self.compiler.auto_limits and "range" in node.attributes)

    def _shape(self, part: _MjcfPart) -> CollisionShape | None:
        if part.node.tag not in ("geom", "site"):
            return None
        shape = read_mark(part.node) if part.node.tag == "site" else read_shape(part.node, self.compiler)
        if shape is None:
            return None
        position, rotation = part.to_body(shape.position), multiply(part.rotation, shape.rotation)
        return replace(shape, position=position, rotation=rotation, collides=_collides(part.node))


def _collides(node: Node) -> bool:
    """Whether a `geom` takes part in collisions."""
    masks = (node.attributes.get(key, "1").strip() for key in ("contype", "conaffinity"))
    return node.tag == "geom" and any(mask != "0" for mask in masks)


def _count_joints(node: Node) -> int:
    return sum((child.tag == "joint") + _count_joints(child) for child in node.children)
