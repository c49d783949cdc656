"""Motions as the retargeter GMR stores them: a pickled dictionary of the root's path and the joint values.

`root_pos` (F, 3) is in metres with Z up, `root_rot` (F, 4) is x, y, z, w, `dof_pos` (F, N) has MuJoCo's joint order.
`local_body_pos` (F, B, 3) has the bodies of `link_body_list` in the root's frame. We add what readers skip: the names
of the joints and the orders. A file is read without unpickling it.
"""

from __future__ import annotations

import pickle
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import FileError, OptionError
from understudy.base.quaternion import Array, continuous, unrotate
from understudy.figure.robot import RobotLayout
from understudy.io.clip import Clip, ReadOptions, WriteOptions
from understudy.io.robot.bodies import body_states
from understudy.io.robot.order import from_order, joints_in_order, refuse_other_joints, to_order
from understudy.io.robot.pickles import MAX_BYTES, load
from understudy.io.robot.trajectory import Trajectory, at_rate, checked, clip_of, lost, trajectory_of

ARRAYS = ("root_pos", "root_rot", "dof_pos")


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a motion together with its robot's file."""
    data = load(stream.read(MAX_BYTES + 1), name)
    if not isinstance(data, dict) or any(key not in data for key in (*ARRAYS, "fps")):
        keys = ", ".join(f"`{key}`" for key in list(data)[:6]) if isinstance(data, dict) else type(data).__name__
        raise FileError(name, None, f"expected a dictionary with fps, {', '.join(ARRAYS)}; it holds {keys[:200]}")
    arrays = {key: _numbers(data[key], key, name) for key in ARRAYS}
    fps = data["fps"]
    if isinstance(fps, bool) or not isinstance(fps, int | float) or not (np.isfinite(fps) and fps > 0.0):
        raise FileError(name, None, f"`fps` is {str(fps)[:40]}; expected a rate above zero")
    texts = {key: value if isinstance(value := data.get(key, ""), str) else "" for key in ("robot", "robot_file")}
    names = data.get("joint_names") or ()
    known = isinstance(names, list | tuple) and all(isinstance(joint, str) for joint in names)
    order = options.quaternion_order or str(data.get("quaternion_order") or "xyzw")
    path = Trajectory(
        fps=float(fps),
        root_position=arrays["root_pos"],
        root_quaternion=continuous(from_order(arrays["root_rot"], order)),
        joint_names=tuple(names) if known and options.joint_order is None else (),
        joint_values=arrays["dof_pos"],
        joint_order=options.joint_order or "mjcf",
        **texts,
    )
    return clip_of(checked(path, name), name, options, "gmr")


def _numbers(value: Any, key: str, name: str) -> Array:
    try:
        array = np.array(value, float)
    except (ValueError, TypeError):
        raise FileError(name, None, f"`{key}`: expected numbers") from None
    if array.ndim != 2:
        raise FileError(name, None, f"`{key}`: expected rows of numbers, got shape {array.shape}")
    return array


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write a robot's motion; returns what the format could not hold."""
    layout, motion = clip.layout, clip.motion
    if not isinstance(layout, RobotLayout) or motion is None:
        what = "no motion" if isinstance(layout, RobotLayout) else "no robot"
        raise OptionError(
            f"A GMR file holds a robot's joint values, and this is {what}",
            hint="retarget onto a robot first: understudy retarget MOTION robot.xml -o walk.pkl",
        )
    refuse_other_joints(layout, clip.skeleton, "A GMR file")
    motion = at_rate(motion, options)
    path = trajectory_of(motion, layout)
    order, quaternion = options.joint_order or "mjcf", options.quaternion_order or "xyzw"
    names = joints_in_order(layout, clip.skeleton, order)
    from_root = body_states(motion, layout.bodies).positions - path.root_position[:, None]
    data = {
        "fps": int(path.fps) if path.fps == int(path.fps) else float(path.fps),
        "root_pos": path.root_position,
        "root_rot": np.ascontiguousarray(to_order(path.root_quaternion, quaternion)),
        "dof_pos": path.joint_values[:, [path.joint_names.index(name) for name in names]],
        "local_body_pos": unrotate(path.root_quaternion[:, None], from_root).astype(np.float32),
        "link_body_list": [body.name for body in layout.bodies],
        "joint_names": list(names),
        "joint_order": order,
        "quaternion_order": quaternion,
        "robot": layout.robot,
        "robot_file": layout.file,
        "units": "metres, radians; Z up",
        "floor": layout.floor,
    }
    # numpy 1 and 2 both know the array maker by its old name.
    stream.write(pickle.dumps(data, protocol=3).replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n"))
    return lost(clip, clip.skeleton)
