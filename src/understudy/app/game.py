"""Options for game engines, which `retarget` and `convert` share: root motion, in place, loops, names, presets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from understudy.io.clip import Clip
    from understudy.retarget.root_motion import FloorPath

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Preset:
    """What an engine expects of a file."""

    title: str
    suffixes: tuple[str, ...]
    """Endings of files that it imports."""
    unit: str | None = None
    """Unit of new files; None for the format's own."""
    up: str | None = None
    root: str = ""
    """The name of the root that moves along the path; empty if the engine takes the path from the hips."""
    in_place: bool = False
    fps: float | None = None
    """Frames a second that it imports; None for any."""


PRESETS = {
    "unreal5": Preset(title="Unreal Engine 5", suffixes=(".fbx",), unit="cm", up="Z", root="root"),
    "unity": Preset(title="Unity, humanoid", suffixes=(".fbx",), unit="cm", up="Y"),
    "godot": Preset(title="Godot 4", suffixes=(".glb", ".gltf", ".fbx"), root="Root"),
    "roblox": Preset(title="Roblox", suffixes=(".fbx",), unit="cm", up="Y", in_place=True, fps=30.0),
}


MOVING_OPTIONS = ("root_motion", "in_place", "loop", "path", "speed")
"""Options that change how a clip moves."""

MAX_SPEED = 100.0
"""Metres a second that a body in place may be given."""


def game_options(command: Command) -> Command:
    """Options for game engines."""
    options = [
        click.option("--root-motion", is_flag=True, help="Move a root on the floor along the path; made if missing."),
        click.option("--in-place", is_flag=True, help="Take the path out, and write it beside OUT as OUT.path.csv."),
        click.option("--path", metavar="FILE", help="Put a path back in, as --in-place wrote it."),
        click.option(
            "--speed", metavar="M/S", help="Let a motion in place travel: metres a second, or `auto` by its feet."
        ),
        click.option("--loop", is_flag=True, help="Cut out what repeats best, and close it."),
        click.option("--bake", is_flag=True, help="Write a key for place and rotation of every joint at every frame."),
        click.option("--prefix", default="", metavar="TEXT", help="Put TEXT before the names of joints."),
        click.option("--strip-prefix", default="", metavar="TEXT", help="Remove TEXT from the names of joints."),
        click.option(
            "--preset", type=click.Choice(list(PRESETS)), help="Unit, axes, root and rate as an engine expects them."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def check_game_options(arguments: dict[str, Any], output: str) -> None:
    """Refuse options that contradict each other, and apply a preset's choices where the user made none."""
    preset = PRESETS.get(arguments.get("preset") or "")
    if preset is not None:
        if Path(output).suffix.lower() not in preset.suffixes:
            raise click.UsageError(f"{preset.title} imports {', '.join(preset.suffixes)}; got `{output}`.")
        if preset.root:
            arguments["root_motion"] = True
        if preset.in_place and not arguments["root_motion"]:
            arguments["in_place"] = True
        if preset.fps is not None and arguments.get("fps") is None:
            arguments["fps"] = preset.fps
    if arguments.get("speed") and arguments.get("path"):
        raise click.UsageError("--path gives a path, and --speed a straight one: choose one.")
    if arguments.get("root_motion") and arguments["in_place"] and arguments.get("path"):
        raise click.UsageError("--path puts a path in, and --in-place takes it out: choose one.")


def moves_differently(arguments: dict[str, Any]) -> bool:
    """Whether a clip is made into one for an engine: by a preset, or by an option that changes how it moves."""
    return any(arguments.get(name) for name in (*MOVING_OPTIONS, "preset"))


def new_file_option(clip: Clip, arguments: dict[str, Any]) -> str:
    """The option that asks for joints that a character's own file does not have; empty if none does."""
    from understudy.retarget.root_motion import has_floor_root

    names = clip.skeleton.names
    stripped = arguments.get("strip_prefix")
    if arguments.get("prefix"):
        return "--prefix"
    if stripped and any(name.startswith(stripped) for name in names):
        return "--strip-prefix"
    if arguments.get("root_motion") and not has_floor_root(clip.skeleton):
        preset = arguments.get("preset")
        return f"--preset {preset}" if preset and PRESETS[preset].root else "--root-motion"
    return ""


def writing_options(arguments: dict[str, Any]) -> dict[str, Any]:
    """Keywords for `write`: the preset's unit and axes where the user gave none, whether to bake, whether a new file
    gets the other animations of the character's, and for robots their rate and orders."""
    preset = PRESETS.get(arguments.get("preset") or "")
    unit, up = arguments.get("to_unit"), arguments.get("to_up")
    if preset is not None:
        unit, up = unit or preset.unit, up or preset.up
    robot = {key: arguments.get(key) for key in ("fps", "joint_order", "quaternion_order")}
    # Engines make an asset of every take.
    return {"unit": unit, "up": up, "bake": bool(arguments.get("bake")), "others": preset is None, **robot}


def apply_game_options(clip: Clip, arguments: dict[str, Any]) -> tuple[Clip, FloorPath | None, list[str]]:
    """A clip as the options ask for it, the path that was taken out, and notes."""
    if not any(arguments.get(name) for name in (*MOVING_OPTIONS, "prefix", "strip_prefix")):
        return clip, None, []
    from understudy.base.errors import OptionError
    from understudy.retarget import root_motion

    motion, notes, path = clip.motion, [], None
    if motion is None:
        raise OptionError("A character without motion has no path and no loop")
    if arguments.get("path"):
        motion = root_motion.along_path(motion, root_motion.read_path(arguments["path"]))
    if arguments.get("speed"):
        treadmill = root_motion.treadmill_path(motion, _speed(arguments["speed"]))
        motion = root_motion.along_path(motion, treadmill)
        notes.append(f"the motion in place travels at {treadmill.speed:.2f} m/s")
    if arguments.get("loop"):
        motion, more = root_motion.make_loop(motion)
        notes += more
    clip = replace(clip, motion=motion)
    if arguments.get("root_motion"):
        preset = PRESETS.get(arguments.get("preset") or "")
        name = preset.root if preset is not None and preset.root else "root"
        clip, path, more = root_motion.with_root_motion(clip, name)
        notes += more
    if arguments.get("in_place") and clip.motion is not None:
        moved, path = root_motion.in_place(clip.motion, path)
        clip = replace(clip, motion=moved)
        notes.append(f"the path is taken out: {path.speed:.2f} m/s on average")
    if arguments.get("prefix") or arguments.get("strip_prefix"):
        clip = root_motion.rename_joints(clip, add=arguments["prefix"], remove=arguments["strip_prefix"])
    return clip, path if arguments.get("in_place") else None, notes


def _speed(text: str) -> float | None:
    """Metres a second; None for `auto`."""
    try:
        value = None if text == "auto" else float(text)
    except ValueError:
        value = float("nan")
    if value is not None and not 0.0 < value < MAX_SPEED:
        raise click.UsageError(f"--speed takes metres a second, or `auto`; got `{text}`.")
    return value


def write_path_beside(path: FloorPath, output: str | Path) -> str:
    """Write the path of a motion in place beside its file; returns the file of the path."""
    from understudy.retarget.root_motion import write_path

    file = Path(output).with_suffix(".path.csv")
    write_path(path, file)
    return str(file)
