"""NPZ: our own lossless files of characters and motions, trajectories of robots, and motions of SMPL bodies.

The names of the arrays show what an NPZ file holds. A clip read from a robot's file is written as a trajectory of joint
values, a clip read from an SMPL file as an SMPL file, and any other clip in our own format, described in docs/npz.md.
Arrays are never unpickled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import FileError, MotionError, SkeletonError
from understudy.figure.motion import Motion
from understudy.figure.robot import RobotLayout
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.io.clip import UP_AXES, Clip, ReadOptions, WriteOptions
from understudy.io.npz import amass
from understudy.io.npz.archive import Archive, row, save
from understudy.io.robot.order import to_order
from understudy.io.robot.tracking import is_tracking, read_tracking, tracking_arrays, tracking_layout
from understudy.io.robot.trajectory import Trajectory, at_rate, checked, clip_of, in_order, lost, trajectory_of

VERSION = 1
"""Version of our own clips. Readers refuse newer versions and read all older ones."""

TRAJECTORY_VERSION = 1

CLIP, TRAJECTORY = "understudy_clip", "understudy_trajectory"
"""The arrays that identify a file; each holds a version."""

TRAJECTORY_ARRAYS = ("root_position", "root_quaternion", "joint_names", "joint_values")
"""The arrays of a trajectory."""

SMPL_ENDINGS = ("_poses.npz", ".amass.npz")
"""A file name with one of these endings requests an SMPL motion."""


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a clip, a robot's trajectory or a motion of an SMPL body.

    Args:
        stream: The file's bytes.
        name: The file as the user named it, for errors.
        options: The file of the robot or body, for motions without one.
    """
    archive = Archive.open(stream, name)
    keys = set(archive.keys)
    if CLIP in keys:
        _check_version(archive, CLIP, VERSION)
        return _clip(archive)
    if TRAJECTORY in keys or keys.issuperset(TRAJECTORY_ARRAYS):
        if TRAJECTORY in keys:
            _check_version(archive, TRAJECTORY, TRAJECTORY_VERSION)
        return clip_of(_trajectory(archive), name, options, "npz")
    if is_tracking(keys):
        return read_tracking(archive, options)
    if amass.is_amass(keys):
        return amass.read(archive, options)
    shown = ", ".join(f"`{key}`" for key in sorted(keys)[:6]) or "nothing"
    raise FileError(
        name, None, f"holds {shown}: neither a clip of ours, nor a robot's trajectory, nor an SMPL motion",
        hint="docs/npz.md lists the arrays of each",
    )  # fmt: skip


def _check_version(archive: Archive, key: str, newest: int) -> None:
    version = archive.number(key)
    if version > newest:
        raise archive.wrong(
            f"is of version {version:g}; this program reads up to {newest}", hint="install a newer understudy"
        )
    if version not in range(1, newest + 1):
        raise archive.wrong(f"`{key}` is {version:g}; expected a version from 1 to {newest}")


def _clip(archive: Archive) -> Clip:
    try:
        skeleton = _skeleton(archive)
        motion = _motion(archive, skeleton) if "rotations" in archive.keys else None
    except (SkeletonError, MotionError) as error:
        raise archive.wrong(f"the arrays make no character: {error.message}") from None
    unit, up = archive.number("unit"), archive.text("up")
    if not (np.isfinite(unit) and unit > 0.0) or up not in UP_AXES:
        raise archive.wrong(f"expected a unit above zero and an up axis; got {unit:g} and `{up[:40]}`")
    return Clip(
        skeleton=skeleton,
        motion=motion,
        format="npz",
        unit=unit,
        unit_reason=archive.text("unit_reason"),
        up=up,
        up_reason=archive.text("up_reason"),
        notes=archive.texts("notes"),
        dropped=archive.texts("dropped"),
    )


def _skeleton(archive: Archive) -> Skeleton:
    kinds = archive.texts("kinds")
    valid = [str(kind) for kind in JointKind]
    wrong = [kind for kind in kinds if kind not in valid]
    if wrong:
        raise archive.wrong(f"`kinds` names `{wrong[0][:40]}`; expected {', '.join(valid)}")
    names, joints = archive.texts("end_names"), archive.texts("end_joints")
    offsets = archive.numbers("end_offsets")
    if len(joints) != len(names) or offsets.shape != (len(names), 3):
        raise archive.wrong(f"{len(names)} ends, but {len(joints)} joints of ends and offsets of shape {offsets.shape}")
    parents = archive.array("parents")
    if parents.dtype.kind not in "iu" or np.any(np.abs(parents.astype(float)) > 2**31):
        raise archive.wrong(f"`parents`: expected whole numbers, got {parents.dtype}")
    joint_names = archive.texts("joint_names")
    if len(kinds) != len(joint_names):
        raise archive.wrong(f"{len(joint_names)} joints, but {len(kinds)} kinds")
    count = len(joint_names)
    shapes = {"rest": (count, 4), "axes": (count, 3, 3), "limits": (count, 3, 2)}
    arrays = {key: archive.numbers(key) for key in shapes}
    for key, shape in shapes.items():
        if arrays[key].shape != shape:
            raise archive.wrong(f"`{key}`: expected shape {shape}, got {arrays[key].shape}")
    return Skeleton(
        names=joint_names,
        parents=parents,
        offsets=archive.numbers("offsets"),
        kinds=tuple(JointKind(kind) for kind in kinds),
        ends=tuple(Point(name=n, joint=j, offset=o) for n, j, o in zip(names, joints, offsets, strict=True)),
        name=archive.text("skeleton_name"),
        rest=arrays["rest"],
        axes=arrays["axes"],
        limits=arrays["limits"],
    )


def _motion(archive: Archive, skeleton: Skeleton) -> Motion:
    return Motion(
        skeleton=skeleton,
        fps=archive.number("fps"),
        root=archive.numbers("root"),
        rotations=archive.numbers("rotations"),
        offsets=archive.numbers("motion_offsets") if "motion_offsets" in archive.keys else None,
        name=archive.text("motion_name"),
    )


def _trajectory(archive: Archive) -> Trajectory:
    order = archive.text("quaternion_order") if "quaternion_order" in archive.keys else "wxyz"
    if order not in ("wxyz", "xyzw"):
        raise archive.wrong(f"`quaternion_order` is `{order[:40]}`; expected wxyz or xyzw")
    rotation = archive.numbers("root_quaternion")
    fps = archive.number("fps")
    if not (np.isfinite(fps) and fps > 0.0):
        raise archive.wrong(f"`fps` is {fps:g}; expected a rate above zero")
    texts = {key: archive.text(key) if key in archive.keys else "" for key in ("robot", "robot_file")}
    position = archive.numbers("root_position")
    if position.ndim != 2 or rotation.ndim != 2:
        raise archive.wrong(f"expected the root as rows of numbers; got shapes {position.shape} and {rotation.shape}")
    return checked(
        Trajectory(
            fps=fps,
            root_position=position,
            root_quaternion=np.roll(rotation, 1, axis=-1) if order == "xyzw" else rotation,
            joint_names=archive.texts("joint_names"),
            joint_values=archive.numbers("joint_values"),
            **texts,
        ),
        archive.name,
    )


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write a clip; returns what the format could not hold."""
    tracking = tracking_layout(options.path)
    if tracking is not None:
        save(tracking_arrays(clip, tracking, options), stream)
        return lost(clip, clip.skeleton)
    if isinstance(clip.layout, RobotLayout) and clip.motion is not None:
        path = in_order(trajectory_of(at_rate(clip.motion, options), clip.layout), clip, options.joint_order)
        save(trajectory_arrays(path, options.joint_order, options.quaternion_order or "wxyz"), stream)
        return lost(clip, clip.motion.skeleton)
    if isinstance(clip.layout, amass.AmassLayout) and clip.motion is not None:
        return amass.write(clip, stream)
    if options.path.lower().endswith(SMPL_ENDINGS):
        return amass.write(clip, stream)
    unit = clip.unit if options.unit is None else options.unit
    changed = replace(clip, unit=unit, up=clip.up if options.up is None else options.up)
    save(clip_arrays(changed), stream)
    return _lost(clip, options)


def clip_arrays(clip: Clip) -> dict[str, Any]:
    """The arrays of a clip in our own format."""
    skeleton = clip.skeleton
    arrays: dict[str, Any] = {
        CLIP: VERSION,
        "about": "understudy clip: metres, seconds, radians, Y up, quaternions w x y z; see docs/npz.md",
        "skeleton_name": skeleton.name,
        "joint_names": row(skeleton.names),
        "parents": np.array(skeleton.parents, np.int64),
        "offsets": skeleton.offsets,
        "rest": skeleton.rest,
        "kinds": row([str(kind) for kind in skeleton.kinds]),
        "axes": skeleton.axes,
        "limits": skeleton.limits,
        "end_names": row([end.name for end in skeleton.ends]),
        "end_joints": row([end.joint for end in skeleton.ends]),
        "end_offsets": np.array([end.offset for end in skeleton.ends]).reshape(-1, 3),
        "format": clip.format,
        "unit": clip.unit,
        "unit_reason": clip.unit_reason,
        "up": clip.up,
        "up_reason": clip.up_reason,
        "notes": row(clip.notes),
        "dropped": row(clip.dropped),
    }
    if clip.motion is not None:
        motion = clip.motion
        arrays |= {"fps": motion.fps, "root": motion.root, "rotations": motion.rotations, "motion_name": motion.name}
        if motion.offsets is not None:
            arrays["motion_offsets"] = motion.offsets
    return arrays


def trajectory_arrays(path: Trajectory, joint_order: str | None = None, quaternion: str = "wxyz") -> dict[str, Any]:
    """The arrays of a robot's trajectory, whose joints are in an order already."""
    return {
        **({"joint_order": joint_order} if joint_order else {}),
        **({"floor": path.floor} if path.floor else {}),
        TRAJECTORY: TRAJECTORY_VERSION,
        "fps": path.fps,
        "root_position": path.root_position,
        "root_quaternion": to_order(path.root_quaternion, quaternion),
        "quaternion_order": quaternion,
        "joint_names": row(path.joint_names),
        "joint_values": path.joint_values,
        "units": "metres, radians; Z up",
        "robot": path.robot,
        "robot_file": path.robot_file,
    }


def _lost(clip: Clip, options: WriteOptions) -> tuple[str, ...]:
    notes = []
    if (options.unit or 1.0) != 1.0 or (options.up or "Y") != "Y":
        notes.append("Another unit or up axis: an NPZ clip is in metres with Y up, and only notes what was asked for.")
    if clip.layout is not None:
        notes.append(
            f"What {clip.format.upper() or 'its'} files hold beside the character: an NPZ clip has no place for it."
        )
    return tuple(notes)
