"""Orders in which files list a robot's joints and the parts of a quaternion, chosen by name.

`mjcf` is depth first, as MuJoCo counts joints. `urdf` is the order of the joints in a URDF file. `isaac` is breadth
first, as Isaac Lab counts joints after it has merged fixed links. A file of a robot stands for its own order.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from understudy.base.errors import OptionError, nearest_names
from understudy.base.quaternion import Array
from understudy.figure.robot import RobotBody, RobotLayout
from understudy.figure.skeleton import JointKind, Skeleton

JOINT_ORDERS = ("mjcf", "urdf", "isaac")

QUATERNION_ORDERS = ("wxyz", "xyzw")


def check_quaternion_order(order: str) -> str:
    """The order of a quaternion's parts; raises an error for any other text."""
    if order not in QUATERNION_ORDERS:
        raise OptionError(f"Expected a quaternion order, one of {', '.join(QUATERNION_ORDERS)}; got `{order[:40]}`")
    return order


def to_order(quaternions: Array, order: str) -> Array:
    """Quaternions (..., 4) w, x, y, z in another order."""
    return quaternions if check_quaternion_order(order) == "wxyz" else np.roll(quaternions, -1, axis=-1)


def from_order(quaternions: Array, order: str) -> Array:
    """Quaternions (..., 4) of a known order as w, x, y, z."""
    return quaternions if check_quaternion_order(order) == "wxyz" else np.roll(quaternions, 1, axis=-1)


def joints_in_order(layout: RobotLayout, skeleton: Skeleton, order: str) -> tuple[str, ...]:
    """The joints that have a value, in an order: a name of `JOINT_ORDERS`, or the file of a robot."""
    depth_first = tuple(name for name in skeleton.names if name in set(layout.names))
    if order == "mjcf":
        return layout.names if layout.format == "mjcf" else depth_first
    if order == "urdf":
        if layout.format != "urdf":
            raise OptionError(
                f"`{layout.file}` is MJCF and does not show the order of a URDF",
                hint="name the URDF file itself as the joint order",
            )
        return layout.names
    if order == "isaac":
        return _breadth_first(skeleton, depth_first)
    return _order_of_file(layout, order)


def _breadth_first(skeleton: Skeleton, names: tuple[str, ...]) -> tuple[str, ...]:
    """The joints level by level; fixed joints count as no level."""
    levels = np.zeros(skeleton.num_joints, int)
    for joint in range(1, skeleton.num_joints):
        levels[joint] = levels[skeleton.parents[joint]] + (skeleton.names[joint] in names)
    # Joints of one level stand in the order of their parents, which is the depth-first order.
    return tuple(sorted(names, key=lambda name: int(levels[skeleton.index[name]])))


def _order_of_file(layout: RobotLayout, order: str) -> tuple[str, ...]:
    if not Path(order).is_file():
        raise OptionError(
            f"Expected a joint order, one of {', '.join(JOINT_ORDERS)} or the file of a robot; got `{order[:80]}`"
        )
    from understudy.io.clip import read

    other = read(order).layout
    if not isinstance(other, RobotLayout):
        raise OptionError(f"{order}: is no robot, so it has no joint order")
    missing = [name for name in layout.names if name not in other.names]
    if missing:
        raise OptionError(f"{order}: has no joint `{missing[0]}`; {nearest_names(missing[0], other.names)}")
    return tuple(name for name in other.names if name in layout.names)


def bodies_in_order(layout: RobotLayout, skeleton: Skeleton, order: str) -> tuple[RobotBody, ...]:
    """The bodies in the order that belongs to a joint order: for `isaac`, those that move, breadth first; else all."""
    if order != "isaac":
        return layout.bodies
    moving = {body.joint: body for body in layout.bodies if body.moves}
    joints = joints_in_order(layout, skeleton, order)
    return (layout.bodies[0], *(moving[joint] for joint in joints if joint in moving))


def refuse_other_joints(layout: RobotLayout, skeleton: Skeleton, title: str) -> None:
    """Refuse a robot with joints that have no single value in radians."""
    balls = [name for name in layout.names if skeleton.kinds[skeleton.index[name]] is JointKind.BALL]
    if balls:
        raise OptionError(
            f"{title} holds one angle for each joint, and `{balls[0]}` is a ball", hint="write NPZ or CSV"
        )
    if layout.still:
        raise OptionError(
            f"{title} has a column for each joint, and the sliding joint `{layout.still[0]}` is not read",
            hint="write NPZ or CSV, which name their columns",
        )
