"""CSV trajectories of robots: a row a frame, a column for the time, each part of the root's pose and every joint.

The first lines, which begin with `#`, say what the numbers are; then comes the row of the columns' names. The names
tell the quaternion's order too: `root_qw` is its real part. The robot itself is in a file of its own.
"""

from __future__ import annotations

import csv
import re
from typing import BinaryIO

import numpy as np

from understudy.errors import FileError, OptionError
from understudy.geometry.quaternion import Array
from understudy.io.clip import Clip, Format, ReadOptions, WriteOptions
from understudy.io.robot_trajectory import Trajectory, checked, clip_of, lost, trajectory_of
from understudy.io.robot_tree import RobotLayout

PLACE = ("root_x", "root_y", "root_z")
TURN = ("root_qw", "root_qx", "root_qy", "root_qz")
TIME = "time"
LARGEST = 2**29
"""Bytes that a file may have."""
_SAID = re.compile(r"#\s*([a-z_]+)\s*:\s*(.*)")


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a trajectory together with its robot's file."""
    data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise FileError(name, None, f"has more than {LARGEST // 2**20} MiB")
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise FileError(name, None, "is no text; expected a CSV trajectory") from None
    return clip_of(parse(lines, name), name, options, "csv")


def parse(lines: list[str], name: str) -> Trajectory:
    """The trajectory of a file's lines."""
    said: dict[str, str] = {}
    start = 0
    while start < len(lines) and (lines[start].startswith("#") or not lines[start].strip()):
        found = _SAID.fullmatch(lines[start].strip())
        if found:
            said[found[1]] = found[2].strip()
        start += 1
    if start >= len(lines):
        raise FileError(name, None, "holds no row of column names; expected a CSV trajectory")
    columns = [column.strip() for column in next(csv.reader([lines[start]]))]
    missing = [column for column in (*PLACE, *TURN) if column not in columns]
    if missing:
        raise FileError(
            name, start + 1, f"no column is named `{missing[0]}`; expected {', '.join((*PLACE, *TURN))} and the joints",
            hint="the first row that is no comment names the columns",
        )  # fmt: skip
    if len(set(columns)) < len(columns):
        twice = next(column for i, column in enumerate(columns) if column in columns[:i])
        raise FileError(name, start + 1, f"two columns are named `{twice}`")
    values = _values(lines[start + 1 :], start + 2, len(columns), name)
    at = {column: number for number, column in enumerate(columns)}
    joints = [column for column in columns if column not in (TIME, *PLACE, *TURN)]
    return checked(
        Trajectory(
            fps=_rate(said, values[:, at[TIME]] if TIME in at else None, name),
            root_position=values[:, [at[column] for column in PLACE]],
            root_quaternion=values[:, [at[column] for column in TURN]],
            joint_names=tuple(joints),
            joint_values=values[:, [at[column] for column in joints]],
            robot=said.get("robot", ""),
            robot_file=said.get("robot_file", ""),
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


def _rate(said: dict[str, str], times: Array | None, name: str) -> float:
    """Frames per second: as the file says, else by its times."""
    try:
        rate = float(said["fps"]) if "fps" in said else None
    except ValueError:
        raise FileError(name, None, f"`fps` is `{said['fps']}`; expected a number") from None
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
    path = trajectory_of(clip.motion, clip.layout)
    head = [
        "# understudy trajectory: 1",
        f"# fps: {path.fps!r}",
        "# units: metres, radians, seconds; Z up",
        "# quaternion_order: wxyz (root_qw is the real part; from the root link to the world)",
        f"# robot: {_one_line(path.robot)}",
        f"# robot_file: {_one_line(path.robot_file)}",
    ]
    times = clip.motion.times[:, None]
    whole = np.concatenate([times, path.root_position, path.root_quaternion, path.joint_values], axis=1)
    names = ",".join(_cell(name) for name in (TIME, *PLACE, *TURN, *path.joint_names))
    rows = [",".join(map(repr, row)) for row in whole.tolist()]
    stream.write(("\n".join([*head, names, *rows]) + "\n").encode())
    return lost(clip, clip.motion.skeleton)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cell(name: str) -> str:
    """A column's name, in quotes where it needs them."""
    return '"' + name.replace('"', '""') + '"' if re.search(r'[",\s]', name) else name


FORMAT = Format(name="csv", title="CSV trajectory", suffixes=(".csv",), read=read, write=write)
