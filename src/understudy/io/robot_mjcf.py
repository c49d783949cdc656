"""What MJCF files say beside the tree of bodies: defaults by class, angles, included files, orientations, forms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from understudy.errors import FileError
from understudy.geometry.quaternion import Array, between, from_axis_angle, from_matrix, multiply, normalize
from understudy.io.robot_shapes import Shape
from understudy.io.robot_tree import ORIGIN, STRAIGHT
from understudy.io.robot_xml import Node, parse

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


def shape(node: Node, compiler: Compiler) -> Shape | None:
    """The form of a `geom`, with what its class adds; None for what is no part of a body."""
    kind = node.attributes.get("type", "sphere")
    if kind in ("plane", "hfield", "sdf"):
        return None
    place = node.numbers("pos", 3, (0.0, 0.0, 0.0))
    if "mesh" in node.attributes or kind == "mesh":
        return Shape(kind="mesh", place=place, turn=orientation(node, compiler), size=ORIGIN)
    if kind not in ("sphere", "capsule", "cylinder", "box", "ellipsoid"):
        raise node.wrong(f"`<geom>` is of type `{kind}`, which is not known")
    size = np.zeros(3)
    if "size" in node.attributes:
        given = node.given("size", (1, 2, 3))
        size[: len(given)] = np.abs(given)
    if "fromto" not in node.attributes:
        return Shape(kind=kind, place=place, turn=orientation(node, compiler), size=size)
    ends = node.given("fromto", (6,))
    along = ends[3:] - ends[:3]
    half = 0.5 * float(np.linalg.norm(along))
    if kind in ("capsule", "cylinder"):
        size[1] = half
    else:
        size = np.array([size[0], size[1] or size[0], half])
    turn = between(np.array([0.0, 0.0, 1.0]), along)
    return Shape(kind=kind, place=0.5 * (ends[:3] + ends[3:]), turn=turn, size=size)


def mark(node: Node) -> Shape:
    """A `site` as a mark."""
    return Shape(kind="mark", place=node.numbers("pos", 3, (0.0, 0.0, 0.0)), turn=STRAIGHT, size=ORIGIN)


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
