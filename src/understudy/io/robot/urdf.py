"""URDF, the unified robot description format: links and joints of a robot, read as a skeleton; meshes are not needed.

A joint's frame is its child link's: `origin` places it in the parent link, turned about fixed axes x, y, z by `rpy`,
and `axis` is counted in it. Angles are radians, lengths metres, Z is up. A URDF does not say whether the robot may
move about; it is taken to.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import BinaryIO

import numpy as np

from understudy.base.errors import FileError, SkeletonError
from understudy.base.euler import from_euler
from understudy.base.quaternion import Array
from understudy.figure.skeleton import JointKind
from understudy.io.clip import Clip, ReadOptions
from understudy.io.robot.tree import ORIGIN, STRAIGHT, CollisionShape, Link, Robot, RobotJoint, assemble, with_ends
from understudy.io.robot.xml import Node, parse

TURNING = {"revolute", "continuous"}

MOVING = TURNING | {"prismatic", "planar", "floating"}

KINDS = MOVING | {"fixed"}


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a robot.

    Args:
        stream: The file's bytes.
        name: The file as the user named it, for errors.
        options: The up axis of its rest pose, if it is not Z; lengths are metres unless a unit is given.
    """
    return read_robot(parse(stream, name), name, options)


def read_robot(root: Node, name: str, options: ReadOptions) -> Clip:
    """The robot of a file's root element."""
    if root.tag != "robot":
        raise root.wrong(f"expected `<robot>`, got `<{root.tag}>`: this is no URDF")
    _refuse_macros(root)
    notes: list[str] = []
    links, order, still = _links(root, notes)
    return finish(
        links, root.attributes.get("name", ""), name, options, format="urdf", order=order, still=still, notes=notes
    )


def finish(
    links: list[Link],
    robot: str,
    name: str,
    options: ReadOptions,
    *,
    format: str,
    notes: list[str],
    order: list[str] | None = None,
    still: list[str] | None = None,
    dropped: tuple[str, ...] = (),
) -> Clip:
    """A clip of a robot's links, whichever file they come from."""
    path = PurePath(name)
    try:
        found = assemble(
            links, robot=robot or path.stem, file=path.name, order=order or (), still=still or (), up=options.up
        )
        skeleton = with_ends(found)
    except SkeletonError as error:
        raise FileError(name, None, f"the links make no body: {error.message}") from None
    unit = 1.0 if options.unit is None else options.unit
    if unit != 1.0:
        skeleton = skeleton.scaled(unit)
    return Clip(
        skeleton=skeleton,
        format=format,
        unit=unit,
        unit_reason="m: as in all files of robots" if options.unit is None else f"{unit:g} m: given",
        up=found.up,
        up_reason=found.up_reason,
        notes=(*notes, *_remarks(found)),
        dropped=dropped,
        layout=found.layout,
    )


def _remarks(found: Robot) -> list[str]:
    said = []
    if found.left_out:
        said.append(f"Left out, since they only mark places: {listed(found.left_out, 'link')}.")
    if found.layout.still:
        said.append(f"Kept fixed, since a skeleton has no joints that slide: {listed(found.layout.still, 'joint')}.")
    return said


def listed(names: tuple[str, ...] | list[str], what: str) -> str:
    """The first of some names, and how many there are."""
    shown = ", ".join(f"`{name}`" for name in names[:4]) + (", ..." if len(names) > 4 else "")
    return f"{len(names)} {what}{'' if len(names) == 1 else 's'} ({shown})"


def _refuse_macros(root: Node) -> None:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.tag.startswith("xacro:"):
            raise node.wrong(f"`<{node.tag}>` is a macro, not yet a robot", hint="run `xacro FILE -o robot.urdf` first")
        stack += node.children


def _links(root: Node, notes: list[str]) -> tuple[list[Link], list[str], list[str]]:
    """The links, parents before children; the names of the joints that turn; those that slide."""
    named = _named(root, "link")
    if not named:
        raise root.wrong("the robot has no links")
    joints = _named(root, "joint")
    above, below = _tree(joints, named)
    tops = [link for link in named if link not in above]
    if len(tops) != 1:
        what = "every link hangs from another" if not tops else f"several links hang from nothing: {', '.join(tops)}"
        raise root.wrong(f"expected one root link; {what}")
    top, base = _base(tops[0], named, below, notes)
    still = [key for key, joint in joints.items() if joint.text("type") in ("prismatic", "planar")]
    found: list[Link] = []
    waiting: list[tuple[str, int, Node | None]] = [(top, -1, base)]
    while waiting:
        link, parent, joint = waiting.pop()
        found.append(_link(link, parent, joint, named[link], notes))
        number = len(found) - 1
        waiting += [(child.first("child").text("link"), number, child) for child in reversed(below.get(link, []))]  # type: ignore[union-attr]
    return found, list(joints), still


def _named(root: Node, tag: str) -> dict[str, Node]:
    found: dict[str, Node] = {}
    for node in root.all(tag):
        name = node.text("name")
        if name in found:
            raise node.wrong(f"the {tag} `{name}` is there already, in line {found[name].line}")
        found[name] = node
    return found


def _tree(joints: dict[str, Node], links: dict[str, Node]) -> tuple[dict[str, Node], dict[str, list[Node]]]:
    """For each link the joint above it and those below it."""
    above: dict[str, Node] = {}
    below: dict[str, list[Node]] = {}
    for name, joint in joints.items():
        kind = joint.text("type")
        if kind not in KINDS:
            raise joint.wrong(f"joint `{name}` is of type `{kind}`; expected one of {', '.join(sorted(KINDS))}")
        ends = []
        for tag in ("parent", "child"):
            node = joint.first(tag)
            if node is None:
                raise joint.wrong(f"joint `{name}` names no {tag} link")
            if node.text("link") not in links:
                raise node.wrong(f"joint `{name}`: there is no link `{node.text('link')}`")
            ends.append(node.text("link"))
        if ends[1] in above:
            raise joint.wrong(f"link `{ends[1]}` hangs from two joints, `{above[ends[1]].text('name')}` and `{name}`")
        above[ends[1]] = joint
        below.setdefault(ends[0], []).append(joint)
    _refuse_loops(above)
    return above, below


def _refuse_loops(above: dict[str, Node]) -> None:
    safe: set[str] = set()
    for link in above:
        path: set[str] = set()
        while link in above and link not in safe:
            if link in path:
                raise above[link].wrong(f"link `{link}` hangs, over others, from itself")
            path.add(link)
            parent = above[link].first("parent")
            link = "" if parent is None else parent.text("link")
        safe |= path


def _base(top: str, links: dict[str, Node], below: dict[str, list[Node]], notes: list[str]) -> tuple[str, Node | None]:
    """The robot's own root link and the joint that places it: a first link without a body stands for the world."""
    joints = below.get(top, [])
    empty = not any(True for _ in links[top].all("visual", "collision", "inertial"))
    if len(joints) != 1 or not empty or joints[0].text("type") not in ("fixed", "floating"):
        return top, None
    child = joints[0].first("child")
    assert child is not None
    if joints[0].text("type") == "fixed" and top == "world":
        notes.append(f"`{child.text('link')}` is fixed to the world in the file; it is read as free to move.")
    elif joints[0].text("type") == "fixed":
        return top, None
    return child.text("link"), joints[0]


def _link(name: str, parent: int, joint: Node | None, node: Node, notes: list[str]) -> Link:
    offset, rotation = (ORIGIN, STRAIGHT) if joint is None else _origin(joint.first("origin"))
    turning: tuple[RobotJoint, ...] = ()
    if parent >= 0 and joint is not None:
        turning = _joint(joint, notes)
    inertial = node.first("inertial")
    heavy = inertial is not None and (mass := inertial.first("mass")) is not None and mass.number("value", 0.0) > 0.01
    return Link(
        name=name,
        parent=parent,
        offset=offset,
        rotation=rotation,
        joints=turning,
        fixed_name="" if joint is None else joint.text("name"),
        shapes=tuple(shape for part in node.all("collision", "visual") if (shape := _shape(part)) is not None),
        centre=_origin(inertial.first("origin"))[0] if heavy and inertial is not None else None,
    )


def _joint(joint: Node, notes: list[str]) -> tuple[RobotJoint, ...]:
    name, kind = joint.text("name"), joint.text("type")
    if kind == "floating":
        notes.append(f"Joint `{name}` lets a part float about the robot: it is kept fixed.")
    if joint.first("mimic") is not None and kind in TURNING:
        notes.append(f"Joint `{name}` mimics another in the file; here it turns by itself.")
    if kind not in TURNING:
        return ()
    axis = joint.first("axis")
    limits, limit = (-np.inf, np.inf), joint.first("limit")
    if kind == "revolute":
        if limit is None or not {"lower", "upper"} & set(limit.attributes):
            notes.append(f"Joint `{name}` gives no limits: it turns without.")
        else:
            limits = (limit.number("lower", 0.0), limit.number("upper", 0.0))
            if limits[0] > limits[1]:
                raise limit.wrong(f"joint `{name}`: limits run from {limits[0]:g} down to {limits[1]:g}")
    direction = np.array([1.0, 0.0, 0.0]) if axis is None else axis.unit("xyz", (1.0, 0.0, 0.0))
    return (RobotJoint(name=name, kind=JointKind.HINGE, axis=direction, limits=limits),)


def _origin(node: Node | None) -> tuple[Array, Array]:
    """Place (3,) and turn (4,) of an `origin`."""
    if node is None:
        return ORIGIN, STRAIGHT
    roll, pitch, yaw = node.numbers("rpy", 3, (0.0, 0.0, 0.0))
    return node.numbers("xyz", 3, (0.0, 0.0, 0.0)), from_euler([yaw, pitch, roll], "ZYX")


def _shape(part: Node) -> CollisionShape | None:
    place, turn = _origin(part.first("origin"))
    geometry = part.first("geometry")
    form = None if geometry is None else next(geometry.all("sphere", "cylinder", "capsule", "box", "mesh"), None)
    if form is None:
        return None
    size = np.zeros(3)
    if form.tag == "box":
        size = 0.5 * form.given("size", (3,))
    elif form.tag != "mesh":
        size[0] = form.number("radius", 0.0)
        size[1] = 0.5 * form.number("length", 0.0)
    return CollisionShape(kind=form.tag, place=place, turn=turn, size=np.abs(size))
