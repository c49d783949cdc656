"""MJCF, MuJoCo's models: nested bodies with joints, read as a skeleton; meshes are not needed.

A body's joints turn one after another, each about its own place in the body: they become a chain of joints at one
place. Angles are degrees unless the file says otherwise, lengths metres, Z is up. The body with most joints is the
robot; it moves freely, whether the file says so or leaves that to whoever puts it into a scene.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from understudy.base.errors import FileError
from understudy.base.quaternion import Array, between, from_axis_angle, from_matrix, multiply, normalize, rotate
from understudy.figure.skeleton import JointKind
from understudy.io.clip import Clip, ReadOptions
from understudy.io.robot.tree import ORIGIN, STRAIGHT, CollisionShape, Link, RobotJoint
from understudy.io.robot.urdf import finish, listed, read_robot
from understudy.io.robot.xml import Node, parse

MAIN = "main"
"""The class of what names none."""

DEEPEST_INCLUDE = 8

MOST_INCLUDES = 64

ORIENTATIONS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """How the file's numbers are meant."""

    degrees: bool = True
    order: str = "xyz"
    """Axes of `euler`: small letters turn with the body, capitals stay."""
    auto_limits: bool = True
    """Whether a joint that gives a range is limited without saying so."""

    def angle(self, value: Array | float) -> Array:
        """Radians of an angle of the file."""
        return np.deg2rad(value) if self.degrees else np.asarray(value, float)


def read_compiler(root: Node) -> Compiler:
    """The file's settings; of several elements each adds to those before."""
    found = Compiler()
    for node in root.all("compiler"):
        given = node.attributes
        if given.get("coordinate", "local") != "local":
            raise node.wrong(
                "coordinates are global, as in files before 2022", hint="save the model again with a newer MuJoCo"
            )
        if "angle" in given:
            if given["angle"] not in ("degree", "radian"):
                raise node.wrong(f"`angle` is `{given['angle']}`; expected `degree` or `radian`")
            found = replace(found, degrees=given["angle"] == "degree")
        if "eulerseq" in given:
            order = given["eulerseq"]
            if len(order) != 3 or set(order.lower()) - set("xyz"):
                raise node.wrong(f"`eulerseq` is `{order}`; expected three letters of x, y, z")
            found = replace(found, order=order)
        if "autolimits" in given:
            found = replace(found, auto_limits=given["autolimits"] == "true")
    return found


@dataclass(eq=False)
class Defaults:
    """What elements say that do not say it themselves, by class and tag."""

    classes: dict[str, dict[str, dict[str, str]]] = field(default_factory=lambda: {MAIN: {}})

    @staticmethod
    def of(root: Node) -> Defaults:
        found = Defaults()
        for node in root.all("default"):
            found._read(node, node.attributes.get("class", MAIN), {})
        return found

    def _read(self, node: Node, name: str, above: dict[str, dict[str, str]]) -> None:
        mine = {tag: dict(values) for tag, values in above.items()}
        for tag, values in self.classes.get(name, {}).items():
            mine.setdefault(tag, {}).update(values)
        for child in node.children:
            if child.tag != "default":
                mine.setdefault(child.tag, {}).update({k: v for k, v in child.attributes.items() if k != "class"})
        self.classes[name] = mine
        for child in node.all("default"):
            self._read(child, child.text("class"), mine)

    def filled(self, node: Node, child_class: str) -> Node:
        """An element with what its class adds to it."""
        name = node.attributes.get("class", child_class)
        if name not in self.classes:
            raise node.wrong(f"there is no default class `{name}`; known: {', '.join(list(self.classes)[:8])}")
        given = dict(node.attributes)
        added = dict(self.classes[name].get(node.tag, {}))
        # An element that gives one kind of orientation, or two ends, is not also turned by its class.
        if any(key in given for key in ORIENTATIONS):
            added = {key: value for key, value in added.items() if key not in ORIENTATIONS}
        return Node(tag=node.tag, attributes={**added, **given}, file=node.file, line=node.line, children=node.children)


def include(root: Node, name: str, notes: list[str]) -> None:
    """Put the content of included files in their place; those that are missing or lie outside the folder are said."""
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
            if depth >= DEEPEST_INCLUDE or count > MOST_INCLUDES or file in open_files:
                raise child.wrong(f"`{file}` is included over and over")
            found = _included(child, file, folder, notes)
            if found is not None:
                fill(found, depth + 1, (*open_files, file))
                children += found.children
        node.children[:] = children

    fill(root, 0, ())


def _included(node: Node, file: str, folder: Path, notes: list[str]) -> Node | None:
    try:
        path = (folder / file).resolve()
        if not path.is_relative_to(folder):
            notes.append(f"The included file `{file}` lies outside the robot's folder and is not read.")
            return None
        with open(path, "rb") as stream:
            return parse(stream, str(path))
    except (OSError, ValueError):
        notes.append(f"The included file `{file}` is not there; what it holds is left out.")
        return None
    except FileError as error:
        raise node.wrong(f"includes a file that cannot be read: {error.message}") from None


def orientation(node: Node, compiler: Compiler) -> Array:
    """(4,) how an element is turned, whichever way it says so."""
    given = [key for key in ORIENTATIONS if key in node.attributes]
    if not given:
        return STRAIGHT
    if len(given) > 1:
        raise node.wrong(f"`<{node.tag}>` is turned twice, by `{given[0]}` and `{given[1]}`")
    key = given[0]
    if key == "quat":
        value = node.given("quat", (4,))
        if np.linalg.norm(value) < 1e-10:
            raise node.wrong("`quat`: expected a quaternion, got one of length zero")
        return normalize(value)
    if key == "zaxis":
        return between(np.array([0.0, 0.0, 1.0]), node.unit("zaxis", (0.0, 0.0, 1.0)))
    if key == "axisangle":
        value = node.given("axisangle", (4,))
        size = float(np.linalg.norm(value[:3]))
        if size < 1e-10:
            raise node.wrong("`axisangle`: expected an axis, got one of length zero")
        return from_axis_angle(value[:3] / size, compiler.angle(value[3]))
    if key == "xyaxes":
        return _of_axes(node)
    found = STRAIGHT
    for letter, angle in zip(compiler.order, compiler.angle(node.given("euler", (3,))), strict=True):
        turn = from_axis_angle(np.eye(3)["xyz".index(letter.lower())], angle)
        found = multiply(found, turn) if letter.islower() else multiply(turn, found)
    return found


def _of_axes(node: Node) -> Array:
    value = node.given("xyaxes", (6,))
    x = value[:3] / max(float(np.linalg.norm(value[:3])), 1e-12)
    y = value[3:] - (value[3:] @ x) * x
    if min(float(np.linalg.norm(value[:3])), float(np.linalg.norm(y))) < 1e-10:
        raise node.wrong("`xyaxes`: expected two directions that differ")
    y = y / np.linalg.norm(y)
    return from_matrix(np.stack([x, y, np.cross(x, y)], axis=-1))


def shape(node: Node, compiler: Compiler) -> CollisionShape | None:
    """The form of a `geom`, with what its class adds; None for what is no part of a body."""
    kind = node.attributes.get("type", "sphere")
    if kind in ("plane", "hfield", "sdf"):
        return None
    place = node.numbers("pos", 3, (0.0, 0.0, 0.0))
    if "mesh" in node.attributes or kind == "mesh":
        return CollisionShape(kind="mesh", place=place, turn=orientation(node, compiler), size=ORIGIN)
    if kind not in ("sphere", "capsule", "cylinder", "box", "ellipsoid"):
        raise node.wrong(f"`<geom>` is of type `{kind}`, which is not known")
    size = np.zeros(3)
    if "size" in node.attributes:
        given = node.given("size", (1, 2, 3))
        size[: len(given)] = np.abs(given)
    if "fromto" not in node.attributes:
        return CollisionShape(kind=kind, place=place, turn=orientation(node, compiler), size=size)
    ends = node.given("fromto", (6,))
    along = ends[3:] - ends[:3]
    half = 0.5 * float(np.linalg.norm(along))
    if kind in ("capsule", "cylinder"):
        size[1] = half
    else:
        size = np.array([size[0], size[1] or size[0], half])
    turn = between(np.array([0.0, 0.0, 1.0]), along)
    return CollisionShape(kind=kind, place=0.5 * (ends[:3] + ends[3:]), turn=turn, size=size)


def mark(node: Node) -> CollisionShape:
    """A `site` as a mark."""
    return CollisionShape(kind="mark", place=node.numbers("pos", 3, (0.0, 0.0, 0.0)), turn=STRAIGHT, size=ORIGIN)


def stand(root: Node, widths: dict[str, int]) -> dict[str, Array] | None:
    """The numbers of each joint in the pose that a file keeps for standing, or in its first; None if it keeps none.

    Args:
        root: The file's root element.
        widths: How many numbers of a pose each joint takes, in their order.
    """
    keys = [key for frames in root.all("keyframe") for key in frames.all("key") if "qpos" in key.attributes]
    keys.sort(key=lambda key: key.attributes.get("name", "") not in ("home", "stand", "standing"))
    for key in keys:
        if len(key.text("qpos").split()) == sum(widths.values()):
            values = key.given("qpos", (sum(widths.values()),))
            ends = np.cumsum(list(widths.values()))[:-1]
            return dict(zip(widths, np.split(values, ends), strict=True))
    return None


WIDTHS = {"hinge": 1, "slide": 1, "ball": 4, "free": 7}
"""How many numbers of a pose a joint of each type takes."""

SLIGHTLY = 0.02
"""Radians by which a pose may lie outside of limits and still be one."""

NOT_READ = ("attach", "replicate", "composite", "flexcomp")
"""Elements that make bodies by themselves."""


@dataclass(frozen=True, eq=False, kw_only=True)
class _MjcfPart:
    """An element of a body, with the frame that it stands in."""

    node: Node
    """Completed by its class."""
    place: Array
    turn: Array
    child_class: str

    def put(self, place: Array) -> Array:
        """(3,) a place of the element's frame in the body's."""
        return self.place + rotate(self.turn, place)


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a model.

    Args:
        stream: The file's bytes.
        name: The file as the user named it, for errors; included files are looked for in its folder.
        options: The up axis of its rest pose, if it is not Z; lengths are metres unless a unit is given.
    """
    root = parse(stream, name)
    if root.tag == "robot":
        return read_robot(root, name, options)
    if root.tag != "mujoco":
        raise root.wrong(f"expected `<mujoco>` or `<robot>`, got `<{root.tag}>`: this is no robot")
    reader = _MjcfReader()
    include(root, name, reader.notes)
    reader.compiler, reader.defaults = read_compiler(root), Defaults.of(root)
    dropped = reader.read(root)
    reader.rest_in(stand(root, reader.widths))
    if reader.skipped:
        reader.notes.append(
            f"Not read, since they make bodies by rules: {listed(sorted(set(reader.skipped)), 'element')}."
        )
    return finish(
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
    widths: dict[str, int] = field(default_factory=dict)
    """How many numbers of a pose each joint takes, in the file's order; the root's first."""

    def read(self, root: Node) -> tuple[str, ...]:
        """Collect the links of the body with most joints; returns what was left out."""
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
        self, node: Node, child_class: str, place: Array = ORIGIN, turn: Array = STRAIGHT
    ) -> Iterator[_MjcfPart]:
        """The elements of a body, those inside frames too."""
        for child in node.children:
            if child.tag == "frame":
                inner = place + rotate(turn, child.numbers("pos", 3, (0.0, 0.0, 0.0)))
                turned = multiply(turn, orientation(child, self.compiler))
                yield from self._parts(child, child.attributes.get("childclass", child_class), inner, turned)
            elif child.tag in NOT_READ:
                self.skipped.append(child.tag)
            elif child.tag == "body":
                yield _MjcfPart(node=child, place=place, turn=turn, child_class=child_class)
            elif child.tag in ("joint", "geom", "site", "freejoint", "inertial"):
                known = child.tag in ("freejoint", "inertial")
                whole = child if known else self.defaults.filled(child, child_class)
                yield _MjcfPart(node=whole, place=place, turn=turn, child_class=child_class)

    def _body(self, part: _MjcfPart, parent: int) -> None:
        node = part.node
        name = self._named(node, self.bodies, f"body{len(self.links)}")
        child_class = node.attributes.get("childclass", part.child_class)
        parts = list(self._parts(node, child_class))
        joints = self._joints(parts, name, top=parent < 0)
        inertial = next((p for p in parts if p.node.tag == "inertial"), None)
        self.links.append(
            Link(
                name=name,
                parent=parent,
                offset=part.put(node.numbers("pos", 3, (0.0, 0.0, 0.0))),
                rotation=multiply(part.turn, orientation(node, self.compiler)),
                joints=joints,
                shapes=tuple(found for p in parts if (found := self._shape(p)) is not None),
                centre=None if inertial is None else inertial.put(inertial.node.numbers("pos", 3, (0.0, 0.0, 0.0))),
            )
        )
        number = len(self.links) - 1
        for below in parts:
            if below.node.tag == "body":
                self._body(below, number)

    def _named(self, node: Node, known: dict[str, Node], spare: str) -> str:
        name = node.attributes.get("name") or spare
        if name in known:
            raise node.wrong(f"the {node.tag} `{name}` is there already, in line {known[name].line}")
        known[name] = node
        return name

    def _joints(self, parts: list[_MjcfPart], body: str, *, top: bool) -> tuple[RobotJoint, ...]:
        """The joints of a body that turn; those of the first body only say that the robot may move about."""
        given = [part for part in parts if part.node.tag in ("joint", "freejoint")]
        free = [p for p in given if p.node.tag == "freejoint" or p.node.attributes.get("type") == "free"]
        if top:
            self.widths[body] = 7 if free else sum(WIDTHS.get(p.node.attributes.get("type", "hinge"), 1) for p in given)
            if not given:
                self.notes.append(f"`{body}` is fixed to the world in the file; it is read as free to move.")
            elif not free:
                names = [part.node.attributes.get("name", body) for part in given]
                self.notes.append(f"`{body}` is read as free to move, in place of {listed(names, 'joint')}.")
            return ()
        if free:
            raise free[0].node.wrong(f"`{body}` moves freely, but only a body that hangs from nothing can")
        found: list[RobotJoint] = []
        for number, part in enumerate(given):
            spare = body if len(given) == 1 else f"{body}_{number + 1}"
            name = self._named(part.node, self.joints, spare)
            kind = part.node.attributes.get("type", "hinge")
            self.widths[name] = WIDTHS.get(kind, 1)
            if kind == "slide":
                self.still.append(name)
            elif kind in ("hinge", "ball"):
                found.append(self._joint(part, name, kind))
            else:
                raise part.node.wrong(f"joint `{name}` is of type `{kind}`; expected hinge, slide, ball or free")
        return tuple(found)

    def _joint(self, part: _MjcfPart, name: str, kind: str) -> RobotJoint:
        node = part.node
        place = part.put(node.numbers("pos", 3, (0.0, 0.0, 0.0)))
        if kind == "ball":
            if self._limited(node):
                self.notes.append(f"`{name}` is a ball with a limit on its whole angle, which is not kept.")
            return RobotJoint(name=name, kind=JointKind.BALL, axis=np.array([0.0, 0.0, 1.0]), place=place)
        limits = (-np.inf, np.inf)
        if self._limited(node):
            low, high = self.compiler.angle(node.numbers("range", 2, (0.0, 0.0)))
            if low > high:
                raise node.wrong(f"joint `{name}`: its range runs from {low:g} down to {high:g} radians")
            limits = (float(low), float(high))
        return RobotJoint(
            name=name,
            kind=JointKind.HINGE,
            axis=rotate(part.turn, node.unit("axis", (0.0, 0.0, 1.0))),
            limits=limits,
            place=place,
            reference=float(self.compiler.angle(node.number("ref", 0.0))),
        )

    def rest_in(self, pose: dict[str, Array] | None) -> None:
        """Let the robot rest in a pose that its file keeps, where the pose it is laid out in breaks its limits."""
        turning = [joint for link in self.links for joint in link.joints if joint.kind is JointKind.HINGE]
        broken = [
            j.name for j in turning if not j.limits[0] - SLIGHTLY <= j.reference <= j.limits[1] + SLIGHTLY
        ]  # fmt: skip
        if not broken:
            return
        said = f"The pose the robot is laid out in breaks the limits of {listed(broken, 'joint')}"
        if pose is None:
            self.notes.append(f"{said}.")
            return
        self.notes.append(f"{said}; it rests as in the file's keyframe instead.")
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
        said = node.attributes.get("limited", "auto")
        return said == "true" or (said == "auto" and self.compiler.auto_limits and "range" in node.attributes)

    def _shape(self, part: _MjcfPart) -> CollisionShape | None:
        if part.node.tag not in ("geom", "site"):
            return None
        found = mark(part.node) if part.node.tag == "site" else shape(part.node, self.compiler)
        if found is None:
            return None
        return CollisionShape(
            kind=found.kind, place=part.put(found.place), turn=multiply(part.turn, found.turn), size=found.size
        )


def _count_joints(node: Node) -> int:
    return sum((child.tag == "joint") + _count_joints(child) for child in node.children)
