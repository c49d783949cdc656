"""NPZ files that training code for motion tracking reads: joint positions and velocities, and states of all bodies.

Two layouts have the same arrays. `wbt`, of whole-body-tracking, has the joints alone, in Isaac's order. `holosoma` has
the root before the joints, as MuJoCo's `qpos` and `qvel`, in MJCF order, and the world as the first body. A third,
`qpos`, holds the rate and `qpos` alone. Names and orders are stated in further arrays, which other readers skip.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, continuous, unrotate
from understudy.figure.motion import Motion
from understudy.figure.robot import RobotLayout
from understudy.io.clip import Clip, ReadOptions, WriteOptions
from understudy.io.robot.order import (
    bodies_in_order,
    from_order,
    joints_in_order,
    refuse_other_joints,
    to_order,
)
from understudy.io.robot.trajectory import Trajectory, checked, clip_of, trajectory_of

if TYPE_CHECKING:
    from understudy.io.npz.archive import Archive

DEFAULT_FPS = 50.0
"""Frames a second that training code expects."""

DEFAULT_JOINT_ORDERS = {"wbt": "isaac", "holosoma": "mjcf", "qpos": "mjcf"}

TRACKING_ENDINGS = {f".{layout}.npz": layout for layout in DEFAULT_JOINT_ORDERS}
"""Endings of file names that request a layout."""

WORLD_BODY = "world"
"""The name of the first body of MuJoCo's models."""


def tracking_layout(path: str) -> str | None:
    """The layout that a file's name requests."""
    return next((layout for ending, layout in TRACKING_ENDINGS.items() if path.lower().endswith(ending)), None)


def is_tracking(keys: Collection[str]) -> bool:
    """Whether arrays with these names hold joint positions for training, or `qpos`."""
    return "qpos" in keys or {"joint_pos", "body_pos_w", "body_quat_w"} <= set(keys)


def tracking_arrays(clip: Clip, layout: str, options: WriteOptions) -> dict[str, Any]:
    """The arrays of a robot's motion in a layout."""
    robot, motion = clip.layout, clip.motion
    if not isinstance(robot, RobotLayout) or motion is None:
        raise OptionError(
            f"A file for training ({layout}) holds a robot's motion, and this is none",
            hint=f"retarget onto a robot first: understudy retarget MOTION robot.xml -o walk.{layout}.npz",
        )
    refuse_other_joints(robot, clip.skeleton, f"A file for training ({layout})")
    default = motion.fps if layout == "qpos" else DEFAULT_FPS
    fps = default if options.fps is None else options.fps
    if abs(motion.fps - fps) > 1e-9:
        motion = motion.resampled(fps)
    order = options.joint_order or DEFAULT_JOINT_ORDERS[layout]
    quaternion = options.quaternion_order or "wxyz"
    names = joints_in_order(robot, clip.skeleton, order)
    path = trajectory_of(motion, robot)
    columns = [path.joint_names.index(name) for name in names]
    values, root = path.joint_values[:, columns], path.root_quaternion
    qpos = np.concatenate([path.root_position, to_order(root, quaternion), values], axis=1)
    stated = {
        "joint_names": np.array(names, np.str_), "joint_order": order, "quaternion_order": quaternion,
        "robot": robot.robot, "robot_file": robot.file, "units": "metres, radians, seconds; Z up",
        "floor": robot.floor,
    }  # fmt: skip
    if layout == "qpos":
        return {"fps": np.array([fps]), "qpos": qpos, **stated}
    arrays = {"fps": np.array([int(fps) if fps == int(fps) else fps])}
    arrays |= _body_arrays(motion, robot, order, quaternion, world=layout == "holosoma")
    speeds = np.gradient(values, 1.0 / fps, axis=0) if len(values) > 1 else np.zeros_like(values)
    if layout == "holosoma":
        arrays |= {"joint_pos": qpos, "joint_vel": np.concatenate([_root_velocity(arrays, root), speeds], axis=1)}
    else:
        arrays |= {"joint_pos": values, "joint_vel": speeds}
    return arrays | stated | {"velocities": "of the bodies' centres of mass, in the world"}


def _body_arrays(motion: Motion, robot: RobotLayout, order: str, quaternion: str, *, world: bool) -> dict[str, Any]:
    from understudy.io.robot.bodies import body_states, standing_feet

    bodies = bodies_in_order(robot, motion.skeleton, order)
    states = body_states(motion, bodies)
    feet, standing = standing_feet(motion, bodies)
    arrays = {
        "body_pos_w": states.positions,
        "body_quat_w": to_order(states.rotations, quaternion),
        "body_lin_vel_w": states.linear_velocities,
        "body_ang_vel_w": states.angular_velocities,
    }
    names = [body.name for body in bodies]
    if world:
        names.insert(0, WORLD_BODY)
        still = to_order(np.array([1.0, 0.0, 0.0, 0.0]), quaternion)
        arrays = {key: np.insert(value, 0, still if "quat" in key else 0.0, axis=1) for key, value in arrays.items()}
    return {
        **arrays, "body_names": np.array(names, np.str_),
        "contact": standing, "contact_names": np.array(feet, np.str_) if feet else np.zeros(0, "U1"),
    }  # fmt: skip


def _root_velocity(arrays: dict[str, Any], rotation: Array) -> Array:
    """(F, 6) linear velocity of the root's origin in the world and angular velocity in its own frame, as `qvel`."""
    fps, path = float(arrays["fps"][0]), arrays["body_pos_w"][:, 1]
    linear = np.gradient(path, 1.0 / fps, axis=0) if len(path) > 1 else np.zeros_like(path)
    return np.concatenate([linear, unrotate(rotation, arrays["body_ang_vel_w"][:, 1])], axis=1)


def read_tracking(archive: Archive, options: ReadOptions) -> Clip:
    """The robot's motion in an archive of one of the layouts."""
    keys = archive.keys
    values = archive.numbers("qpos" if "qpos" in keys else "joint_pos")
    names = archive.texts("joint_names") if "joint_names" in keys else ()
    stated = {
        key: archive.text(key) if key in keys else "" for key in ("joint_order", "quaternion_order", "robot_file")
    }
    with_root = "qpos" in keys or bool(names and values.ndim == 2 and values.shape[1] == len(names) + 7)
    quaternion = options.quaternion_order or stated["quaternion_order"] or "wxyz"
    if values.ndim != 2 or len(values) == 0:
        raise archive.wrong(f"expected rows of joint values, got shape {values.shape}")
    if with_root:
        position, rotation, values = values[:, :3], values[:, 3:7], values[:, 7:]
    else:
        places, turns = archive.numbers("body_pos_w"), archive.numbers("body_quat_w")
        if places.shape[:1] + places.shape[2:] != (len(values), 3) or turns.shape[2:] != (4,):
            raise archive.wrong(f"`body_pos_w`: expected shape ({len(values)}, bodies, 3), got {places.shape}")
        position, rotation = places[:, 0], turns[:, 0]
    if rotation.shape != (len(values), 4):
        raise archive.wrong(f"expected a position and a quaternion before the joints, got rows of {rotation.shape}")
    default = "mjcf" if with_root else "isaac"
    rate = archive.numbers("fps").reshape(-1) if "fps" in keys else np.array([options.fps or 30.0])
    if len(rate) != 1 or not (np.isfinite(rate[0]) and rate[0] > 0.0):
        raise archive.wrong(f"`fps` is {rate}; expected one rate above zero")
    path = Trajectory(
        fps=float(rate[0]),
        root_position=position,
        root_quaternion=continuous(from_order(rotation, quaternion)),
        joint_names=names if options.joint_order is None else (),
        joint_order=options.joint_order or stated["joint_order"] or default,
        joint_values=values,
        robot_file=stated["robot_file"],
    )
    return clip_of(checked(path, archive.name), archive.name, options, "npz")
