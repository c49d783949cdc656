"""Acclaim motion files (AMC): joint angles per frame, for a skeleton in a separate file (ASF)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np

from understudy.base.errors import FileError, OptionError, nearest_names
from understudy.base.files import open_to_read
from understudy.base.quaternion import Array, angle_between, rotate, unrotate
from understudy.figure.kinematics import joint_angle_curves, joint_angles, joint_rotations
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io.acclaim import asf
from understudy.io.acclaim.text import (
    MAX_NUMBER,
    ROTATION_CHANNELS,
    AcclaimLayout,
    ChannelColumns,
    angles_of_values,
    build_skeleton,
    find_columns,
    positions_of_values,
    read_lines,
    to_number,
)
from understudy.io.clip import Clip, ReadOptions, WriteOptions, name_unit, world_from_file

DEFAULT_FPS = 120.0
"""Frame rate of an AMC file that gives none."""

MAX_ROTATION_CHANGE_RADIANS = 1e-10
"""A rotation that differs less than this from the one that was read is written with the numbers that were read."""

MAX_POSITION_CHANGE_UNITS = 1e-9
"""The same for a coordinate of the root's position, in file units."""

MIN_REPORTED_ERROR_RADIANS = np.deg2rad(0.01)
"""A larger rotation that a bone's channels cannot express is reported."""

DECIMALS = 9
"""Decimals of numbers that were not read from a file."""


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write a motion for the skeleton file that the clip's character was read from.

    Returns:
        What the file does not hold, a sentence each.
    """
    motion, layout = _check(clip, options)
    figure = build_skeleton(layout, "", clip.unit, clip.up)
    columns = find_columns(layout, figure)
    before = layout.values if layout.values is not None and len(layout.values) == motion.num_frames else None
    values = np.zeros((motion.num_frames, columns.count)) if before is None else before.copy()
    _fill_angles(values, before, motion, figure, layout, columns)
    positions = unrotate(world_from_file(clip.up), motion.root) / clip.unit - layout.position
    column, coordinate = columns.translations.T
    moved = np.abs(positions[:, coordinate] - values[:, column]) > MAX_POSITION_CHANGE_UNITS
    values[:, column] = np.where(moved, np.round(positions[:, coordinate], DECIMALS), values[:, column])
    _write_text(stream, layout, motion.fps, values + 0.0)
    return tuple(_losses(clip, motion, figure, layout, values))


def _check(clip: Clip, options: WriteOptions) -> tuple[Motion, AcclaimLayout]:
    layout, motion = clip.layout, clip.motion
    if not isinstance(layout, AcclaimLayout):
        raise OptionError(
            f"An AMC file goes with a skeleton file (ASF), and this character is from {clip.format or 'no file'}",
            hint="retarget the motion onto a character read from an ASF file, or write BVH",
        )
    if motion is None:
        raise OptionError("An AMC file holds a motion, and this clip has none")
    names = ("root", *layout.parents)
    if clip.skeleton.names != names:
        differing = sorted(set(names) ^ set(clip.skeleton.names))[:3]
        raise OptionError(
            f"The character's joints are no longer those of its ASF file; they differ in {differing or 'order'}"
        )
    if options.unit is not None and not np.isclose(options.unit, clip.unit, rtol=1e-6):
        raise OptionError(
            f"An AMC file has the unit of its ASF file, {name_unit(clip.unit)}; cannot write {name_unit(options.unit)}"
        )
    if options.up is not None and options.up != clip.up:
        raise OptionError(f"An AMC file has the up axis of its ASF file, {clip.up}; cannot write {options.up}")
    return motion, layout


def _fill_angles(
    values: Array,
    before: Array | None,
    motion: Motion,
    figure: Skeleton,
    layout: AcclaimLayout,
    columns: ChannelColumns,
) -> None:
    """Fill in the angles: those that were read if unchanged, else those nearest to them, else smooth curves."""
    column, joint, axis = columns.rotations.T
    scale = 180.0 / np.pi if layout.motion_in_degrees else 1.0
    if before is None:
        angles = joint_angle_curves(figure, motion.rotations)
        values[:, column] = np.round(angles[:, joint, axis] * scale, DECIMALS)
        return
    hint = angles_of_values(before, columns, layout, figure.num_joints)
    angles = joint_angles(figure, motion.rotations, near=hint)
    changed = angle_between(joint_rotations(figure, hint), motion.rotations) > MAX_ROTATION_CHANGE_RADIANS
    values[:, column] = np.where(
        changed[:, joint], np.round(angles[:, joint, axis] * scale, DECIMALS), before[:, column]
    )


def _write_text(stream: BinaryIO, layout: AcclaimLayout, fps: float, values: Array) -> None:
    lines = [*layout.comments, ":FULLY-SPECIFIED", ":DEGREES" if layout.motion_in_degrees else ":RADIANS"]
    if _writes_rate(layout, fps):
        lines.insert(len(layout.comments), f":SAMPLES-PER-SECOND {fps!r}")
    bounds = np.cumsum([0, *(len(layout.channels(bone)) for bone in layout.motion_lines)]).tolist()
    parts = list(zip(layout.motion_lines, bounds[:-1], bounds[1:], strict=True))
    for number, row in enumerate(values.tolist(), start=layout.first_frame):
        words = [repr(value) for value in row]
        lines.append(str(number))
        lines += [" ".join([bone, *words[start:end]]) for bone, start, end in parts]
    stream.write(("\n".join(lines) + "\n").encode())


def _writes_rate(layout: AcclaimLayout, fps: float) -> bool:
    return layout.has_rate or fps != DEFAULT_FPS


def _losses(clip: Clip, motion: Motion, figure: Skeleton, layout: AcclaimLayout, values: Array) -> list[str]:
    """Notes on what the file does not hold as it is in the clip."""
    columns = find_columns(layout, figure)
    notes = []
    written = joint_rotations(figure, angles_of_values(values, columns, layout, figure.num_joints))
    error = angle_between(written, motion.rotations)
    for joint in np.flatnonzero(error.max(axis=0) > MIN_REPORTED_ERROR_RADIANS):
        frame = int(np.argmax(error[:, joint]))
        freedoms = ", ".join(c for c in layout.channels(figure.names[joint]) if c in ROTATION_CHANNELS) or "none"
        notes.append(
            f"Bone `{figure.names[joint]}` is rotated up to {np.rad2deg(error[frame, joint]):.3g} degrees out of its"
            f" freedoms ({freedoms}), most in frame {layout.first_frame + frame}; the nearest they allow was written."
        )
    if len(columns.other):
        notes.append("Channels that do not rotate a bone are not part of the motion; they are as they were, or zero.")
    if not np.allclose(figure.offsets[1:], clip.skeleton.offsets[1:], atol=1e-6 * clip.unit):
        notes.append(
            "The character's bones are not as long as in the ASF file it was read from, which AMC cannot hold."
        )
    if motion.offsets is not None:
        notes.append("The motion changes the lengths of bones, which AMC cannot hold.")
    if _writes_rate(layout, motion.fps) and not layout.has_rate:
        notes.append(
            f"The rate of {motion.fps:g} frames per second is in a line `:SAMPLES-PER-SECOND`, which many readers skip:"
            f" they take AMC files for {DEFAULT_FPS:g}."
        )
    return notes


HINT = "a lenient reading keeps the frames before it"

Row = tuple[int, list[str]]
"""A line that is neither empty nor a comment: its number and its words."""


@dataclass
class _Header:
    """The lines before the first frame."""

    comments: tuple[str, ...] = ()
    degrees: bool | None = None
    fps: float | None = None
    skeleton: str | None = None
    full: bool = False
    end: int = 0
    """The number of its lines."""


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a motion and its skeleton file."""
    lines = read_lines(stream)
    header = _read_header(lines, name)
    figure = _read_skeleton(name, header, options)
    layout: AcclaimLayout = figure.layout
    body = lines[header.end :]
    if any("#" in line for line in body):
        body = [line.split("#", 1)[0] for line in body]
    bone_of_word = {bone.casefold(): bone for bone in ("root", *layout.parents)} | {
        bone: bone for bone in layout.parents
    }
    frames = _read_uniform_frames(body, layout, bone_of_word)
    if frames is None:
        rows = [(number, words) for number, line in enumerate(body, start=header.end + 1) if (words := line.split())]
        frames = _read_line_by_line(rows, layout, bone_of_word, name, options.lenient)
    order, values, first, dropped = frames
    values.setflags(write=False)
    layout = replace(
        layout,
        lines=order,
        values=values,
        first_frame=first,
        motion_degrees=header.degrees,
        comments=header.comments,
        has_rate=header.fps is not None,
    )
    return replace(
        figure,
        motion=_motion(figure, layout, values, header.fps or DEFAULT_FPS, name),
        format="amc",
        notes=(*figure.notes, *_notes(header, layout)),
        dropped=(*figure.dropped, *dropped),
        layout=layout,
    )


def _motion(figure: Clip, layout: AcclaimLayout, values: Array, fps: float, name: str) -> Motion:
    columns = find_columns(layout, figure.skeleton)
    angles = angles_of_values(values, columns, layout, figure.skeleton.num_joints)
    positions = positions_of_values(values, columns, layout)
    return Motion(
        skeleton=figure.skeleton,
        fps=fps,
        root=rotate(world_from_file(figure.up), positions * figure.unit),
        rotations=joint_rotations(figure.skeleton, angles),
        name=Path(name).stem,
    )


def _notes(header: _Header, layout: AcclaimLayout) -> list[str]:
    notes = []
    if header.fps is None:
        notes.append(f"The file gives no frame rate; {DEFAULT_FPS:g} frames per second are assumed.")
    if header.degrees is None:
        unit = "degrees" if layout.degrees else "radians"
        notes.append(f"The file does not say what its angles are; {unit} are assumed, as in the skeleton file.")
    if not header.full:
        notes.append("The file does not say `:FULLY-SPECIFIED`; every frame was checked to be so.")
    return notes


def _read_header(lines: list[str], name: str) -> _Header:
    header, comments = _Header(), []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text.startswith("#"):
            comments.append(text)
        elif text.startswith(":"):
            _read_keyword(text.split("#", 1)[0].split(), header, name, number)
        elif text:
            header.end = number - 1
            header.comments = tuple(comments)
            return header
    raise FileError(name, None, "holds no frame; expected an Acclaim motion (AMC) file")


def _read_keyword(words: list[str], header: _Header, name: str, line: int) -> None:
    keyword = words[0].lower()
    if keyword in (":degrees", ":radians"):
        header.degrees = keyword == ":degrees"
    elif keyword == ":fully-specified":
        header.full = True
    elif keyword == ":samples-per-second":
        rate = to_number(words[1]) if len(words) > 1 else None
        if rate is None or not 0.0 < rate < MAX_NUMBER:
            raise FileError(name, line, "expected a number of samples per second above zero")
        header.fps = rate
    elif keyword == ":asf-file" and len(words) > 1:
        header.skeleton = words[1]


def _read_skeleton(name: str, header: _Header, options: ReadOptions) -> Clip:
    path = options.skeleton or _find_skeleton_file(Path(name), header)
    if path is None:
        raise FileError(
            name, None, "its skeleton file was not found beside it", hint="name the skeleton: --skeleton FILE.asf"
        )
    try:
        stream = open_to_read(path)
    except FileError as error:
        problem = f"its skeleton file `{path}` cannot be opened: {error.problem}"
        raise FileError(name, None, problem, hint="name the skeleton: --skeleton FILE.asf") from None
    with stream:
        return asf.read(stream, str(path), options)


def _find_skeleton_file(path: Path, header: _Header) -> str | None:
    """The skeleton file in the folder: the one the motion names, one of its name or subject (02), or the only one."""
    wanted = [path.stem, path.stem.rpartition("_")[0]]
    if header.skeleton:
        wanted.insert(0, Path(header.skeleton.replace("\\", "/")).stem)
    try:
        files = sorted(entry for entry in path.parent.iterdir() if entry.suffix.lower() == ".asf")
    except OSError:
        return None
    stems = {entry.stem.casefold(): entry for entry in files}
    for stem in wanted:
        if stem and stem.casefold() in stems:
            return str(stems[stem.casefold()])
    return str(files[0]) if len(files) == 1 else None


_Frames = tuple[tuple[str, ...], Array, int, list[str]]
"""The bones of a frame in order, the numbers (F, C), the first frame's number, and what was dropped."""


def _read_uniform_frames(lines: list[str], layout: AcclaimLayout, bone_of_word: dict[str, str]) -> _Frames | None:
    """All frames at once, if every frame has the layout of the first and there is no error; else None."""
    rows = [words for line in lines if (words := line.split())]
    period = next((k for k in range(1, len(rows)) if _is_frame(rows[k])), len(rows))
    if len(rows) % period or not _is_frame(rows[0]):
        return None
    order = tuple(_bone(words[0], bone_of_word) for words in rows[1:period])
    if len(set(order)) < len(order) or "" in order or not set(_required_bones(layout)) <= set(order):
        return None
    heads = [words[0] for words in rows]
    counts = [len(words) for words in rows]
    num_frames = len(rows) // period
    for k, bone in enumerate(order, start=1):
        if heads[k::period] != [heads[k]] * num_frames:
            return None
        if counts[k::period] != [1 + len(layout.channels(bone))] * num_frames:
            return None
    flat = list(chain.from_iterable(words[1:] for words in rows))
    try:
        frames = [int(number) for number in heads[::period]]
        values = np.array(list(map(float, flat)))
    except ValueError:
        return None
    if frames != list(range(frames[0], frames[0] + num_frames)) or not np.all(np.abs(values) < MAX_NUMBER):
        return None
    # Python reads `1_000` as a number, but AMC does not allow it.
    if "_" in "".join(flat):
        return None
    return order, values.reshape(num_frames, -1), frames[0], []


def _bone(word: str, bone_of_word: dict[str, str]) -> str:
    """The bone at the start of a line, in the skeleton file's spelling; case may differ. Empty if there is none."""
    return bone_of_word.get(word) or bone_of_word.get(word.casefold(), "")


def _is_frame(words: list[str]) -> bool:
    """Whether a line is the number of a frame."""
    return len(words) == 1 and words[0].isdecimal() and len(words[0]) < 16


def _required_bones(layout: AcclaimLayout) -> tuple[str, ...]:
    """The bones that every frame must have."""
    return ("root", *(bone.name for bone in layout.bones if bone.dof))


def _read_line_by_line(
    rows: list[Row], layout: AcclaimLayout, bone_of_word: dict[str, str], name: str, lenient: bool
) -> _Frames:
    """Read frame by frame. This finds the line of an error, and allows frames with different layouts."""
    starts = [k for k, (_, words) in enumerate(rows) if _is_frame(words)]
    if not starts or starts[0] != 0:
        text = " ".join(rows[0][1])[:40]
        raise FileError(name, rows[0][0], f"expected the number of the first frame; found `{text}`")
    frames: list[dict[str, list[float]]] = []
    dropped: list[str] = []
    first = int(rows[0][1][0])
    for k, (start, end) in enumerate(zip(starts, [*starts[1:], len(rows)], strict=True)):
        try:
            if (number := int(rows[start][1][0])) != first + k:
                raise FileError(name, rows[start][0], f"expected frame {first + k}; found frame {number}", hint=HINT)
            frames.append(_read_frame(rows[start:end], layout, bone_of_word, name, last=end == len(rows)))
        except FileError as error:
            if not lenient or not frames:
                raise
            left = f"Frames from {first + k} on ({len(starts) - k} of {len(starts)}) were left out"
            dropped.append(f"{left}: {error.message}.")
            break
    order = tuple(bone for bone in frames[0] if all(bone in frame for frame in frames))
    values = np.array([list(chain.from_iterable(frame[bone] for bone in order)) for frame in frames])
    return order, values, first, dropped


def _read_frame(
    rows: list[Row], layout: AcclaimLayout, bone_of_word: dict[str, str], name: str, *, last: bool
) -> dict[str, list[float]]:
    """The numbers of a frame by bone. The first row holds the frame's number."""
    numbers: dict[str, list[float]] = {}
    number = rows[0][1][0]
    for line, words in rows[1:]:
        bone = _bone(words[0], bone_of_word)
        if not bone:
            nearest = nearest_names(words[0], dict.fromkeys(bone_of_word.values()))
            raise FileError(name, line, f"`{words[0][:40]}` is not a bone of the skeleton; {nearest}", hint=HINT)
        if bone in numbers:
            raise FileError(name, line, f"bone `{bone}` stands twice in frame {number}", hint=HINT)
        channels = layout.channels(bone)
        if len(words) - 1 != len(channels):
            wanted = f"{len(channels)} ({', '.join(channels)})" if channels else "none"
            problem = f"expected the numbers of bone `{bone}`, {wanted}; found {len(words) - 1}"
            raise FileError(name, line, problem, hint=HINT)
        numbers[bone] = []
        for word in words[1:]:
            value = to_number(word)
            if value is None or not abs(value) < MAX_NUMBER:
                raise FileError(name, line, f"expected a number of bone `{bone}`; found `{word[:40]}`", hint=HINT)
            numbers[bone].append(value)
    missing = [bone for bone in _required_bones(layout) if bone not in numbers]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        problem = f"frame {number} has no line for bone `{missing[0]}`{more}"
        raise FileError(name, rows[-1][0], f"the file ends early: {problem}" if last else problem, hint=HINT)
    return numbers
