"""Trajectories of robots, and their CSV files: one row per frame, with columns for time, root pose and joint values.

The first lines start with `#` and describe the numbers. The row of column names follows. The names also give the order
of the quaternion: `root_qw` is its real part. The robot itself is in a separate file.
"""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from understudy.base.errors import FileError, MotionError, OptionError, nearest_names
from understudy.base.quaternion import (
    Array,
    conjugate,
    continuous,
    from_axis_angle,
    multiply,
    normalize,
    rotate,
    unrotate,
)
from understudy.base.records import record
from understudy.figure.kinematics import joint_angle_curves
from understudy.figure.motion import Motion
from understudy.figure.robot import RobotLayout
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.io.clip import Clip, ReadOptions, WriteOptions, world_from_file

WORLD = world_from_file("Z")
"""(4,) from the robot's world to ours."""

BALL_SUFFIXES = (".w", ".x", ".y", ".z")
"""Endings of the column names of a ball joint's quaternion."""

ROBOT_SUFFIXES = (".urdf", ".xml", ".mjcf")

HINT = "name the robot: --skeleton robot.xml"


@record
class Trajectory:
    """A robot's motion as plain arrays."""

    fps: float
    root_position: Array
    """(F, 3) metres, Z up."""
    root_quaternion: Array
    """(F, 4) w, x, y, z, from the root link's frame to the world."""
    joint_names: tuple[str, ...]
    """Empty if the file does not name them; `joint_order` tells them then."""
    joint_values: Array
    """(F, N) radians."""
    robot: str = ""
    """The model's name."""
    robot_file: str = ""
    floor: str = ""
    """Where the floor is, in words; empty if that is not known."""
    joint_order: str = ""
    """The order of values without names: `mjcf`, `urdf`, `isaac` or the file of a robot."""


def trajectory_of(motion: Motion, layout: RobotLayout) -> Trajectory:
    """The trajectory of a robot's motion.

    The values of a joint with limits lie within or nearest to them. The values of a joint without limits have no jumps.
    """
    skeleton = motion.skeleton
    missing = [name for name in layout.names if name not in skeleton.index]
    if missing:
        raise OptionError(f"The motion has no joint `{missing[0]}`, which the robot `{layout.robot}` has")
    curves = joint_angle_curves(skeleton, motion.rotations)[..., 0]
    names: list[str] = []
    columns: list[Array] = []
    for name in layout.names:
        joint = skeleton.index[name]
        if skeleton.kinds[joint] is JointKind.BALL:
            names += [name + part for part in BALL_SUFFIXES]
            columns += list(continuous(multiply(conjugate(skeleton.rest[joint]), motion.rotations[:, joint])).T)
        else:
            names.append(name)
            columns.append(_in_range(curves[:, joint], skeleton.limits[joint, 0]) + layout.references.get(name, 0.0))
    return Trajectory(
        fps=motion.fps,
        root_position=unrotate(WORLD, motion.root),
        root_quaternion=continuous(multiply(conjugate(WORLD), motion.rotations[:, 0])),
        joint_names=tuple(names),
        joint_values=np.stack(columns, axis=-1) if columns else np.zeros((motion.num_frames, 0)),
        robot=layout.robot,
        robot_file=layout.file,
        floor=layout.floor,
    )


def _in_range(angles: Array, limits: Array) -> Array:
    """Angles (F,) shifted by full turns so that they are nearest to the middle of the limits (2,)."""
    if not np.all(np.isfinite(limits)):
        return angles
    middle = 0.5 * float(limits.sum())
    return middle + np.remainder(angles - middle + np.pi, 2.0 * np.pi) - np.pi


def motion_of(trajectory: Trajectory, robot: Clip, name: str) -> tuple[Motion, list[str]]:
    """The motion of a robot along a trajectory, and notes.

    Args:
        trajectory: The arrays, checked.
        robot: The robot's file.
        name: The trajectory's file, for errors.
    """
    skeleton, layout = robot.skeleton, robot.layout
    frames = len(trajectory.root_position)
    rotations = np.tile(skeleton.rest, (frames, 1, 1))
    rotations[:, 0] = multiply(WORLD, trajectory.root_quaternion)
    column = dict(zip(trajectory.joint_names, trajectory.joint_values.T, strict=True))
    notes: list[str] = []
    missing: list[str] = []
    for joint in layout.names:
        index = skeleton.index[joint]
        if skeleton.kinds[index] is JointKind.BALL and all(joint + part in column for part in BALL_SUFFIXES):
            rotation = normalize(np.stack([column.pop(joint + part) for part in BALL_SUFFIXES], axis=-1))
        elif joint in column and skeleton.kinds[index] is JointKind.HINGE:
            angles = column.pop(joint) - layout.references.get(joint, 0.0)
            rotation = from_axis_angle(skeleton.axes[index, 0], angles)
        else:
            missing.append(joint)
            continue
        rotations[:, index] = multiply(skeleton.rest[index], rotation)
    if column:
        first = next(iter(column))
        raise FileError(
            name, None, f"joint `{first}` is not in robot `{layout.robot}`; {nearest_names(first, layout.names)}",
            hint=HINT,
        )  # fmt: skip
    if missing:
        shown = ", ".join(f"`{joint}`" for joint in missing[:4])
        notes.append(f"{len(missing)} joints have no values ({shown}): they stay as in the robot's rest pose.")
    try:
        motion = Motion(
            skeleton=skeleton,
            fps=trajectory.fps,
            root=rotate(WORLD, trajectory.root_position),
            rotations=rotations,
            name=Path(name).stem,
        )
    except MotionError as error:
        raise FileError(name, None, f"the numbers make no motion: {error.message}") from None
    return motion, notes


def clip_of(trajectory: Trajectory, name: str, options: ReadOptions, format: str) -> Clip:
    """The clip of a trajectory, with the robot read from its own file."""
    robot = _read_robot(trajectory, name, options)
    if trajectory.joint_order and not trajectory.joint_names:
        trajectory = _with_names(trajectory, robot, name)
    motion, notes = motion_of(trajectory, robot, name)
    return replace(robot, motion=motion, format=format, notes=(*robot.notes, *notes))


def _with_names(trajectory: Trajectory, robot: Clip, name: str) -> Trajectory:
    """The trajectory with the names of its joints, from the robot and the order of the values."""
    from understudy.io.robot.order import joints_in_order, refuse_other_joints

    refuse_other_joints(robot.layout, robot.skeleton, f"`{Path(name).name}`")
    names = joints_in_order(robot.layout, robot.skeleton, trajectory.joint_order)
    width = trajectory.joint_values.shape[1]
    if len(names) != width:
        raise FileError(
            name, None, f"has {width} joint values in each frame; robot `{robot.layout.robot}` has {len(names)} joints",
            hint=HINT,
        )  # fmt: skip
    return replace(trajectory, joint_names=names)


def _read_robot(trajectory: Trajectory, name: str, options: ReadOptions) -> Clip:
    path = Path(options.skeleton) if options.skeleton else _find_robot_file(trajectory, Path(name))
    if path is None:
        raise FileError(name, None, "the robot that it moves was not found beside it", hint=HINT)
    from understudy.io.clip import read

    robot = read(path, up=options.up)
    if not isinstance(robot.layout, RobotLayout):
        raise FileError(
            str(path), None, f"is no robot; expected a file that ends in {', '.join(ROBOT_SUFFIXES)}", hint=HINT
        )
    return robot


def _find_robot_file(trajectory: Trajectory, path: Path) -> Path | None:
    """The robot's file in the trajectory's folder: the one it names, one with its name, or the only one."""
    stored_name = Path(trajectory.robot_file).name
    candidates = [path.with_name(stored_name)] if stored_name else []
    candidates += [path.with_suffix(suffix) for suffix in ROBOT_SUFFIXES]
    for file in candidates:
        if file.is_file() and file.suffix.lower() in ROBOT_SUFFIXES:
            return file
    robots = [file for file in path.parent.glob("*") if file.suffix.lower() in ROBOT_SUFFIXES and file.is_file()]
    return robots[0] if len(robots) == 1 else None


def checked(trajectory: Trajectory, name: str) -> Trajectory:
    """The trajectory with unit quaternions. Raises an error if the arrays do not fit together."""
    frames = len(trajectory.root_position)
    width = len(trajectory.joint_names)
    if trajectory.joint_order and not trajectory.joint_names and trajectory.joint_values.ndim == 2:
        width = trajectory.joint_values.shape[1]
    shapes = {
        "root_position": (trajectory.root_position, (frames, 3)),
        "root_quaternion": (trajectory.root_quaternion, (frames, 4)),
        "joint_values": (trajectory.joint_values, (frames, width)),
    }
    for key, (value, shape) in shapes.items():
        if value.shape != shape:
            raise FileError(name, None, f"`{key}`: expected shape {shape}, got {value.shape}")
        if not np.all(np.isfinite(value)):
            raise FileError(name, None, f"`{key}`: expected finite numbers")
    if frames == 0:
        raise FileError(name, None, "holds no frame")
    if len(set(trajectory.joint_names)) < len(trajectory.joint_names):
        raise FileError(name, None, "a joint is named twice")
    sizes = np.linalg.norm(trajectory.root_quaternion, axis=-1)
    if np.any(np.abs(sizes - 1.0) > 1e-2):
        raise FileError(
            name, None, f"`root_quaternion`: expected length 1, got {sizes[np.argmax(np.abs(sizes - 1.0))]:g}"
        )
    return replace(trajectory, root_quaternion=normalize(trajectory.root_quaternion))


def lost(clip: Clip, skeleton: Skeleton) -> tuple[str, ...]:
    """Notes on what a trajectory cannot hold of a robot's clip."""
    notes = []
    if clip.motion is not None and clip.motion.offsets is not None:
        notes.append("Bones that change their lengths: a trajectory holds joint values only.")
    if clip.layout.still:
        notes.append(f"Values of the sliding joints {', '.join(f'`{name}`' for name in clip.layout.still)}.")
    unknown = [
        name for name, kind in zip(skeleton.names[1:], skeleton.kinds[1:])
        if kind is not JointKind.FIXED and name not in clip.layout.names
    ]  # fmt: skip
    if unknown:
        notes.append(f"Joints that the robot's file does not have: {', '.join(f'`{name}`' for name in unknown[:4])}.")
    return tuple(notes)


POSITION_COLUMNS = ("root_x", "root_y", "root_z")

QUATERNION_COLUMNS = ("root_qw", "root_qx", "root_qy", "root_qz")

TIME_COLUMN = "time"

MAX_FILE_BYTES = 2**29
"""Larger files are refused."""

_COMMENT = re.compile(r"#\s*([a-z_]+)\s*:\s*(.*)")


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a trajectory together with its robot's file."""
    data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise FileError(name, None, f"has more than {MAX_FILE_BYTES // 2**20} MiB")
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise FileError(name, None, "is no text; expected a CSV trajectory") from None
    bare = _bare_values(lines, name)
    if bare is not None:
        return read_rows(bare, name, options, kind="csv", title="A CSV without names", order="xyzw")
    return clip_of(parse(lines, name), name, options, "csv")


BARE_ENDING = ".lafan1.csv"
"""A file name with this ending requests a CSV without names, as the LaFAN1 retargeting datasets have them."""

BARE_FPS = 30.0
"""Frames a second of a CSV without names, unless another rate is given."""


def _bare_values(lines: list[str], name: str) -> Array | None:
    """(F, C) the numbers of a file whose first row is one of numbers, not of names; None for any other file."""
    first = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if first is None:
        return None
    cells = lines[first].split(",")
    try:
        [float(cell) for cell in cells]
    except ValueError:
        return None
    return _values(lines[first:], first + 1, len(cells), name)


def read_rows(values: Array, name: str, options: ReadOptions, *, kind: str, title: str, order: str) -> Clip:
    """The motion of bare rows (F, C) of root position, root quaternion and joint values.

    Args:
        values: The rows.
        name: The file.
        options: The rate and the orders, where they are given.
        kind: The name of the file's format.
        title: What the file is, for the note on what it does not state.
        order: The order of the quaternion if none is given.
    """
    from understudy.io.robot.order import from_order

    if values.shape[1] < 8:
        raise FileError(name, 1, f"expected a position, a quaternion and joint values; got {values.shape[1]} numbers")
    order = options.quaternion_order or order
    path = Trajectory(
        fps=options.fps or BARE_FPS,
        root_position=values[:, :3],
        root_quaternion=continuous(from_order(values[:, 3:7], order)),
        joint_names=(),
        joint_values=values[:, 7:],
        joint_order=options.joint_order or "mjcf",
    )
    clip = clip_of(checked(path, name), name, options, kind)
    note = f"{title}: read as {path.fps:g} frames per second, {order}, joints in {path.joint_order} order."
    return replace(clip, notes=(*clip.notes, note))


def parse(lines: list[str], name: str) -> Trajectory:
    """The trajectory of a file's lines."""
    settings: dict[str, str] = {}
    start = 0
    while start < len(lines) and (lines[start].startswith("#") or not lines[start].strip()):
        match = _COMMENT.fullmatch(lines[start].strip())
        if match:
            settings[match[1]] = match[2].strip()
        start += 1
    if start >= len(lines):
        raise FileError(name, None, "holds no row of column names; expected a CSV trajectory")
    try:
        columns = [column.strip() for column in next(csv.reader([lines[start]]))]
    except csv.Error as error:
        raise FileError(name, start + 1, f"the names of the columns are no CSV: {error}") from None
    missing = [column for column in (*POSITION_COLUMNS, *QUATERNION_COLUMNS) if column not in columns]
    if missing:
        expected = ", ".join((*POSITION_COLUMNS, *QUATERNION_COLUMNS))
        raise FileError(
            name, start + 1, f"no column is named `{missing[0]}`; expected {expected} and the joints",
            hint="the first row that is no comment names the columns",
        )  # fmt: skip
    if len(set(columns)) < len(columns):
        repeated = next(column for i, column in enumerate(columns) if column in columns[:i])
        raise FileError(name, start + 1, f"two columns are named `{repeated}`")
    values = _values(lines[start + 1 :], start + 2, len(columns), name)
    index = {column: number for number, column in enumerate(columns)}
    joints = [column for column in columns if column not in (TIME_COLUMN, *POSITION_COLUMNS, *QUATERNION_COLUMNS)]
    return checked(
        Trajectory(
            fps=_rate(settings, values[:, index[TIME_COLUMN]] if TIME_COLUMN in index else None, name),
            root_position=values[:, [index[column] for column in POSITION_COLUMNS]],
            root_quaternion=values[:, [index[column] for column in QUATERNION_COLUMNS]],
            joint_names=tuple(joints),
            joint_values=values[:, [index[column] for column in joints]],
            robot=settings.get("robot", ""),
            robot_file=settings.get("robot_file", ""),
        ),
        name,
    )


def _values(lines: list[str], first: int, count: int, name: str) -> Array:
    """(F, C) the numbers of the rows."""
    rows: list[list[str]] = []
    for number, line in enumerate(lines, start=first):
        if line.strip() and not line.startswith("#"):
            rows.append(line.split(","))
            if len(rows[-1]) != count:
                raise FileError(name, number, f"expected {count} numbers, one for each column; got {len(rows[-1])}")
    if not rows:
        raise FileError(name, None, "holds no frame")
    try:
        return np.array(rows, dtype=float)
    except ValueError:
        pass
    for number, line in enumerate(lines, start=first):
        for cell in line.split(",") if line.strip() and not line.startswith("#") else ():
            try:
                float(cell)
            except ValueError:
                raise FileError(name, number, f"expected a number, got `{cell.strip()[:40]}`") from None
    raise FileError(name, None, "the numbers cannot be read")


def _rate(settings: dict[str, str], times: Array | None, name: str) -> float:
    """Frames per second: from the file's comments, else from its times."""
    try:
        rate = float(settings["fps"]) if "fps" in settings else None
    except ValueError:
        raise FileError(name, None, f"`fps` is `{settings['fps']}`; expected a number") from None
    if rate is None:
        if times is None or len(times) < 2 or not times[-1] > times[0]:
            raise FileError(
                name, None, "does not say its frame rate", hint="add a line `# fps: 30`, or a column `time` in seconds"
            )
        rate = (len(times) - 1) / float(times[-1] - times[0])
    if not (np.isfinite(rate) and rate > 0.0):
        raise FileError(name, None, f"the frame rate is {rate:g}; expected one above zero")
    return rate


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write a robot's motion; returns what the format could not hold."""
    if not isinstance(clip.layout, RobotLayout) or clip.motion is None:
        what = "no motion" if isinstance(clip.layout, RobotLayout) else "no robot"
        raise OptionError(
            f"A CSV trajectory holds a robot's joint values, and this is {what}",
            hint="retarget onto a robot first: understudy retarget MOTION robot.urdf -o walk.csv",
        )
    if options.path.lower().endswith(BARE_ENDING):
        return _write_bare(clip, stream, options)
    motion = at_rate(clip.motion, options)
    path = in_order(trajectory_of(motion, clip.layout), clip, options.joint_order)
    order = options.quaternion_order or "wxyz"
    columns = QUATERNION_COLUMNS if order == "wxyz" else (*QUATERNION_COLUMNS[1:], QUATERNION_COLUMNS[0])
    head = [
        "# understudy trajectory: 1",
        f"# fps: {path.fps!r}",
        "# units: metres, radians, seconds; Z up",
        f"# quaternion_order: {order} (root_qw is the real part; from the root link to the world)",
        *([f"# joint_order: {options.joint_order}"] if options.joint_order else []),
        f"# robot: {_one_line(path.robot)}",
        f"# robot_file: {_one_line(path.robot_file)}",
        *([f"# floor: {path.floor}"] if path.floor else []),
    ]
    from understudy.io.robot.order import to_order

    turns = to_order(path.root_quaternion, order)
    values = np.concatenate([motion.times[:, None], path.root_position, turns, path.joint_values], axis=1)
    names = ",".join(_cell(name) for name in (TIME_COLUMN, *POSITION_COLUMNS, *columns, *path.joint_names))
    rows = [",".join(map(repr, row)) for row in values.tolist()]
    stream.write(("\n".join([*head, names, *rows]) + "\n").encode())
    return lost(clip, clip.motion.skeleton)


def at_rate(motion: Motion, options: WriteOptions) -> Motion:
    """The motion at the rate that the options ask for."""
    same = options.fps is None or abs(options.fps - motion.fps) < 1e-9
    return motion if same or options.fps is None else motion.resampled(options.fps)


def in_order(path: Trajectory, clip: Clip, order: str | None) -> Trajectory:
    """A trajectory with its joints in another order."""
    if order is None:
        return path
    from understudy.io.robot.order import joints_in_order, refuse_other_joints

    refuse_other_joints(clip.layout, clip.skeleton, "A joint order")
    names = joints_in_order(clip.layout, clip.skeleton, order)
    columns = [path.joint_names.index(name) for name in names]
    return replace(path, joint_names=names, joint_values=path.joint_values[:, columns])


def _write_bare(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write rows of root position, root quaternion x, y, z, w and joint values, and nothing else."""
    from understudy.io.robot.order import refuse_other_joints

    assert clip.motion is not None
    if options.quaternion_order not in (None, "xyzw"):
        raise OptionError(
            "A CSV without names always has quaternions as x, y, z, w: it has no place to state another order",
            hint=f"a name that does not end in {BARE_ENDING} gives a CSV that names its columns",
        )
    refuse_other_joints(clip.layout, clip.skeleton, "A CSV without names")
    motion = at_rate(clip.motion, replace(options, fps=options.fps or BARE_FPS))
    path = in_order(trajectory_of(motion, clip.layout), clip, options.joint_order or "mjcf")
    turns = np.roll(path.root_quaternion, -1, axis=-1)
    values = np.concatenate([path.root_position, turns, path.joint_values], axis=1)
    stream.write(("\n".join(",".join(map(repr, row)) for row in values.tolist()) + "\n").encode())
    stated = f"The rate ({motion.fps:g} frames per second), the joints' names: a CSV of this kind holds numbers alone."
    return (*lost(clip, clip.motion.skeleton), stated)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cell(name: str) -> str:
    """A column's name, quoted if needed."""
    return '"' + name.replace('"', '""') + '"' if re.search(r'[",\s]', name) else name
