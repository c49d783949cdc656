"""`understudy info`: show the content of a file."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import json_option, reading_options, stdin_option
from understudy.app.output import count_of, input_file, note, print_json

if TYPE_CHECKING:
    from understudy.figure.motion import Motion
    from understudy.io.clip import Clip


@click.command(short_help="Show the content of a file.", epilog="Example: understudy info walk.bvh --unit cm")
@click.argument("file")
@reading_options
@stdin_option("FILE")
@json_option
def info(file: str, as_json: bool, stdin_kind: str | None, **reading: Any) -> None:
    """Show the content of a character or motion FILE: joints, frames, animations, meshes, unit, size, oddities."""
    from understudy.io import read

    with input_file(file, stdin_kind) as path:
        data = describe(read(path, **reading), file)
    if as_json:
        print_json(data)
        return
    click.echo(summary(data))
    click.echo("\n".join(tree(data["joints"])))
    note(data["notes"])
    note(data["dropped"], "left out")


def describe(clip: Clip, name: str) -> dict[str, Any]:
    """Everything that `info` prints about a clip, as plain data."""
    from understudy.figure.measures import height, leg_length, rest_pose_kind

    motion = clip.motion
    return {
        "file": name,
        "format": clip.format,
        "frames": 0 if motion is None else motion.num_frames,
        "fps": None if motion is None else motion.fps,
        "duration": None if motion is None else motion.duration,
        "clips": list(clip.clips),
        "clip": motion.name if motion is not None and motion.name in clip.clips else None,
        "meshes": [
            {"name": mesh.name, "vertices": mesh.num_vertices, "triangles": len(mesh.triangles)} for mesh in clip.meshes
        ],
        "unit": {"metres": clip.unit, "reason": clip.unit_reason},
        "up": {"axis": clip.up, "reason": clip.up_reason},
        "height": height(clip.skeleton),
        "leg_length": leg_length(clip.skeleton),
        "posed_height": None if motion is None else posed_height(motion),
        "rest_pose": rest_pose_kind(clip.skeleton),
        "joints": joints_of(clip),
        "notes": list(clip.notes),
        "dropped": list(clip.dropped),
    }


def posed_height(motion: Motion) -> float:
    """Median over the motion of the distance in metres from the lowest to the highest point of the body."""
    import numpy as np

    from understudy.figure.kinematics import fk

    frames = np.unique(np.linspace(0, motion.num_frames - 1, 64).astype(int))
    pose = fk(motion[frames])
    heights = np.concatenate([pose.positions, pose.ends()], axis=1)[..., 1]
    return float(np.median(np.ptp(heights, axis=1)))


def joints_of(clip: Clip) -> list[dict[str, Any]]:
    """Each joint with its parent, kind, bone length, file channels and ends."""
    skeleton = clip.skeleton
    channels = _channels(clip)
    ends: dict[str, list[str]] = {}
    for end in skeleton.ends:
        ends.setdefault(end.joint, []).append(end.name)
    return [
        {
            "name": name,
            "parent": None if parent < 0 else skeleton.names[parent],
            "kind": str(skeleton.kinds[joint]),
            "length": float(skeleton.lengths[joint]),
            "channels": channels[joint],
            "ends": ends.get(name, []),
        }
        for joint, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents.tolist()))
    ]


def summary(data: dict[str, Any]) -> str:
    """The properties of a clip, one a line."""
    frames = "none: a character only"
    if data["frames"]:
        frames = f"{data['frames']} at {data['fps']:.6g} fps, {data['duration']:.2f} s"
    size = f"height {data['height']:.3f} m, leg {data['leg_length']:.3f} m"
    if data["posed_height"] is not None:
        size += f", {data['posed_height']:.3f} m high while moving"
    ends = sum(len(joint["ends"]) for joint in data["joints"])
    lines = {
        "file": f"{data['file']} ({data['format'].upper()})",
        "frames": frames,
        "unit": data["unit"]["reason"],
        "up": data["up"]["reason"],
        "size": size,
        "rest pose": data["rest_pose"],
        "joints": f"{len(data['joints'])}, and {count_of(ends, 'end')}",
    }
    if data["clips"]:
        lines["clips"] = ", ".join(f"{name} (shown here)" if name == data["clip"] else name for name in data["clips"])
    if data["meshes"]:
        lines["meshes"] = ", ".join(f"{m['name']} ({m['vertices']} vertices)" for m in data["meshes"])
    return "\n".join(f"{key:<10} {value}" for key, value in lines.items())


MAX_INDENT = 120
"""Characters by which the joints of a tree are indented at most."""


def tree(joints: list[dict[str, Any]]) -> list[str]:
    """The joints as a tree, one a line: name, kind, length in metres, channels, ends."""
    fork, last, bar = ("├─ ", "└─ ", "│  ") if _can_print("├└│") else ("+- ", "`- ", "|  ")
    children: dict[str | None, list[dict[str, Any]]] = {}
    for joint in joints:
        children.setdefault(joint["parent"], []).append(joint)
    rows: list[tuple[str, dict[str, Any]]] = []
    # A stack instead of recursion: a chain may have more joints than the recursion limit of Python.
    stack = [(root, "", "") for root in reversed(children[None])]
    while stack:
        joint, prefix, indent = stack.pop()
        rows.append((prefix + joint["name"], joint))
        siblings = children.get(joint["name"], [])
        for i, child in reversed(list(enumerate(siblings))):
            is_last = i == len(siblings) - 1
            below = indent + ("   " if is_last else bar)
            # Deep chains are not indented further: their lines would together grow with the square of their length.
            stack.append((child, indent + (last if is_last else fork), below if len(below) <= MAX_INDENT else indent))
    width = min(max(len(text) for text, _ in rows), 60)
    return [f"  {text:<{width}}  {_columns(joint)}".rstrip() for text, joint in rows]


def _columns(joint: dict[str, Any]) -> str:
    length = "" if joint["parent"] is None else f"{joint['length']:.3f} m"
    ends = f"-> {', '.join(joint['ends'])}" if joint["ends"] else ""
    return f"{joint['kind']:<9} {length:>8}  {_short(joint['channels']):<8} {ends}"


def _channels(clip: Clip) -> list[list[str]]:
    """The channels of each joint as the file names them; empty if the format has no channels."""
    layout = getattr(clip.layout, "channels", None)
    if layout is None:
        return [[] for _ in clip.skeleton.names]
    if not callable(layout):
        return [list(names) for names in layout]
    channels: list[list[str]] = []
    for name in clip.skeleton.names:
        try:
            channels.append(list(layout(name)))
        except (KeyError, StopIteration):
            channels.append([])
    return channels


def _short(channels: list[str]) -> str:
    """Channels as letters in the file's order: lower case for positions, upper case for rotations."""
    letters = []
    for name in channels:
        lower = name.lower()
        rotates = lower.endswith("rotation") or lower in ("rx", "ry", "rz")
        axis = lower[0] if len(lower) > 2 else lower[-1]
        letters.append(axis.upper() if rotates else axis)
    return "".join(letters)


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


COMMAND = info
