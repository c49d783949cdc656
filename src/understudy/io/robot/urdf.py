"""URDF, the unified robot description format: links and joints of a robot, read as a skeleton; meshes are not needed.

A joint has the frame of its child link. `origin` gives its position in the parent link and its rotation `rpy` about the
fixed axes x, y, z; `axis` is in the joint's frame. Angles are radians, lengths metres, Z is up. A URDF does not say
whether the root may move; it is read as free to move.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from typing import BinaryIO

import numpy as np

from understudy.base.errors import FileError, SkeletonError
from understudy.base.quaternion import IDENTITY, Array, from_euler, to_matrix
from understudy.figure.robot import CollisionShape, RobotBody
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.figure.skin import Mesh
from understudy.io.clip import Clip, ReadOptions
from understudy.io.robot.tree import ORIGIN, Link, Robot, RobotJoint, assemble, with_ends
from understudy.io.robot.xml import Node, parse

ROTATING_TYPES = {"revolute", "continuous"}

MOVING_TYPES = ROTATING_TYPES | {"prismatic", "planar", "floating"}

JOINT_TYPES = MOVING_TYPES | {"fixed"}


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a robot.

    Args:
        stream: The file's bytes.
        name: The file as the user named it, for errors.
        options: The up axis of the rest pose, if it is not Z; the unit, if it is not metres.
    """
    return read_robot(parse(stream, name), name, options)


Shapes = tuple[tuple[CollisionShape, ...], ...]
"""(J,) the shapes that move with each joint."""


def read_robot(root: Node, name: str, options: ReadOptions) -> Clip:
    """The robot of a file's root element."""
    if root.tag != "robot":
        raise root.wrong(f"expected `<robot>`, got `<{root.tag}>`: this is no URDF")
    _refuse_macros(root)
    notes: list[str] = []
    links, order, still = _links(root, notes)
    return make_clip(
        links, root.attributes.get("name", ""), name, options, format="urdf", order=order, still=still, notes=notes
    )


def make_clip(
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
    """A clip of the links of a robot, read from URDF or MJCF."""
    path = PurePath(name)
    try:
        assembled = assemble(
            links, robot=robot or path.stem, file=path.name, order=order or (), still=still or (), up=options.up,
            format=format,
        )  # fmt: skip
        skeleton = with_ends(assembled)
    except SkeletonError as error:
        raise FileError(name, None, f"the links make no body: {error.message}") from None
    unit = 1.0 if options.unit is None else options.unit
    layout = assembled.layout
    if unit != 1.0:
        skeleton = skeleton.scaled(unit)
        layout = replace(layout, bodies=tuple(_scaled_body(body, unit) for body in layout.bodies))
    return Clip(
        skeleton=skeleton,
        format=format,
        unit=unit,
        unit_reason="m: as in all files of robots" if options.unit is None else f"{unit:g} m: given",
        up=assembled.up,
        up_reason=assembled.up_reason,
        notes=(*notes, *_notes(assembled)),
        dropped=dropped,
        make_skin=partial(_make_skin, shapes=assembled.shapes, folder=Path(name).parent, unit=unit),
        layout=layout,
    )


def _make_skin(skeleton: Skeleton, *, shapes: Shapes, folder: Path, unit: float) -> tuple[Mesh, ...]:
    from understudy.io.robot.look import robot_meshes

    return robot_meshes(skeleton, shapes, folder, unit)


def _scaled_body(body: RobotBody, unit: float) -> RobotBody:
    shapes = tuple(replace(s, position=unit * s.position, size=unit * s.size) for s in body.shapes)
    inertia = None if body.inertia is None else unit**2 * body.inertia
    return replace(body, position=unit * body.position, centre=unit * body.centre, inertia=inertia, shapes=shapes)


def _notes(robot: Robot) -> list[str]:
    notes = []
    if robot.left_out:
        notes.append(f"Left out, since they only mark places: {list_names(robot.left_out, 'link')}.")
    if robot.layout.still:
        notes.append(
            f"Kept fixed, since a skeleton has no joints that slide: {list_names(robot.layout.still, 'joint')}."
        )
    return notes


def list_names(names: tuple[str, ...] | list[str], what: str) -> str:
    """The number of names and the first four of them, as text."""
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
    """The links, parents before children; the names of all joints; the names of the sliding joints."""
    elements = _elements_by_name(root, "link")
    if not elements:
        raise root.wrong("the robot has no links")
    joints = _elements_by_name(root, "joint")
    above, below = _tree(joints, elements)
    roots = [link for link in elements if link not in above]
    if len(roots) != 1:
        what = "every link hangs from another" if not roots else f"several links hang from nothing: {', '.join(roots)}"
        raise root.wrong(f"expected one root link; {what}")
    top, base = _base(roots[0], elements, below, notes)
    still = [key for key, joint in joints.items() if joint.text("type") in ("prismatic", "planar")]
    links: list[Link] = []
    stack: list[tuple[str, int, Node | None]] = [(top, -1, base)]
    while stack:
        link, parent, joint = stack.pop()
        links.append(_link(link, parent, joint, elements[link], notes))
        number = len(links) - 1
        stack += [(child.first("child").text("link"), number, child) for child in reversed(below.get(link, []))]  # type: ignore[union-attr]
    return links, list(joints), still


def _elements_by_name(root: Node, tag: str) -> dict[str, Node]:
    elements: dict[str, Node] = {}
    for node in root.all(tag):
        name = node.text("name")
        if name in elements:
            raise node.wrong(f"the {tag} `{name}` is there already, in line {elements[name].line}")
        elements[name] = node
    return elements


def _tree(joints: dict[str, Node], links: dict[str, Node]) -> tuple[dict[str, Node], dict[str, list[Node]]]:
    """By link, the joint to its parent and the joints to its children."""
    above: dict[str, Node] = {}
    below: dict[str, list[Node]] = {}
    for name, joint in joints.items():
        kind = joint.text("type")
        if kind not in JOINT_TYPES:
            raise joint.wrong(f"joint `{name}` is of type `{kind}`; expected one of {', '.join(sorted(JOINT_TYPES))}")
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
                raise above[link].wrong(f"link `{link}` is its own ancestor")
            path.add(link)
            parent = above[link].first("parent")
            link = "" if parent is None else parent.text("link")
        safe |= path


def _base(top: str, links: dict[str, Node], below: dict[str, list[Node]], notes: list[str]) -> tuple[str, Node | None]:
    """The robot's root link and the joint that positions it. A first link without content stands for the world."""
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
    offset, rotation = (ORIGIN, IDENTITY) if joint is None else _origin(joint.first("origin"))
    joints: tuple[RobotJoint, ...] = ()
    if parent >= 0 and joint is not None:
        joints = _joint(joint, notes)
    inertial = node.first("inertial")
    weight = None if inertial is None else inertial.first("mass")
    mass = None if weight is None else weight.number("value", 0.0)
    heavy = mass is not None and mass > 0.01
    return Link(
        name=name,
        parent=parent,
        offset=offset,
        rotation=rotation,
        joints=joints,
        fixed_name="" if joint is None else joint.text("name"),
        shapes=tuple(shape for part in node.all("collision", "visual") if (shape := _shape(part)) is not None),
        centre=_origin(inertial.first("origin"))[0] if heavy and inertial is not None else None,
        mass=mass,
        inertia=None if inertial is None else _inertia(inertial),
    )


def _inertia(inertial: Node) -> Array | None:
    """(3, 3) the inertia about the centre of mass, in the link's frame."""
    node = inertial.first("inertia")
    if node is None:
        return None
    xx, xy, xz, yy, yz, zz = (node.number(key, 0.0) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    turn = to_matrix(_origin(inertial.first("origin"))[1])
    return turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T


def _joint(joint: Node, notes: list[str]) -> tuple[RobotJoint, ...]:
    name, kind = joint.text("name"), joint.text("type")
    if kind == "floating":
        notes.append(f"Joint `{name}` lets a part float about the robot: it is kept fixed.")
    if joint.first("mimic") is not None and kind in ROTATING_TYPES:
        notes.append(f"Joint `{name}` mimics another in the file; here it turns by itself.")
    if kind not in ROTATING_TYPES:
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
    velocity, effort = (0.0, 0.0) if limit is None else (limit.number("velocity", 0.0), limit.number("effort", 0.0))
    # Exporters write zero for what they do not know.
    return (
        RobotJoint(
            name=name, kind=JointKind.HINGE, axis=direction, limits=limits,
            max_velocity=velocity if velocity > 0.0 else np.inf, max_torque=effort if effort > 0.0 else np.inf,
        ),
    )  # fmt: skip


def _origin(node: Node | None) -> tuple[Array, Array]:
    """Position (3,) and rotation (4,) of an `origin`."""
    if node is None:
        return ORIGIN, IDENTITY
    roll, pitch, yaw = node.numbers("rpy", 3, (0.0, 0.0, 0.0))
    return node.numbers("xyz", 3, (0.0, 0.0, 0.0)), from_euler([yaw, pitch, roll], "ZYX")


def _shape(part: Node) -> CollisionShape | None:
    position, rotation = _origin(part.first("origin"))
    geometry = part.first("geometry")
    form = None if geometry is None else next(geometry.all("sphere", "cylinder", "capsule", "box", "mesh"), None)
    if form is None:
        return None
    size = np.zeros(3)
    if form.tag == "box":
        size = 0.5 * form.required("size", (3,))
    elif form.tag != "mesh":
        size[0] = form.number("radius", 0.0)
        size[1] = 0.5 * form.number("length", 0.0)
    file = form.attributes.get("filename", "") if form.tag == "mesh" else ""
    scale = form.numbers("scale", 3, (1.0, 1.0, 1.0)) if file else np.ones(3)
    return CollisionShape(
        kind=form.tag, position=position, rotation=rotation, size=np.abs(size), collides=part.tag == "collision",
        file=file, scale=scale,
    )  # fmt: skip
