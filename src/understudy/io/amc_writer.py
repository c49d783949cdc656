"""Writing Acclaim motion files: a motion as angles of the skeleton file it belongs to."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from understudy.angles import joint_angle_curves, joint_angles, joint_rotations
from understudy.errors import OptionError
from understudy.geometry.quaternion import Array, angle_between, unrotate
from understudy.io.acclaim import TURNS, AcclaimLayout, Columns, angles_of_values, build_skeleton, find_columns
from understudy.io.clip import Clip, WriteOptions
from understudy.io.units import unit_name, world_from_file
from understudy.motion import Motion
from understudy.skeleton import Skeleton

USUAL_RATE = 120.0
"""Frames per second of an AMC file that does not say."""

SAME_TURN = 1e-10
"""Radians within which a rotation is still the one that was read, so that its own numbers are written."""
SAME_PLACE = 1e-9
"""File units, likewise."""
TOLD_TURN = np.deg2rad(0.01)
"""Radians a bone may be turned out of its freedoms before it is reported."""
DIGITS = 9
"""Decimals of a number that was not read from a file."""


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write a motion for the skeleton file that the clip's character was read from.

    Returns:
        What the file does not hold, a sentence each.
    """
    motion, layout = _checked(clip, options)
    figure = build_skeleton(layout, "", clip.unit, clip.up)
    columns = find_columns(layout, figure)
    before = layout.values if layout.values is not None and len(layout.values) == motion.num_frames else None
    values = np.zeros((motion.num_frames, columns.count)) if before is None else before.copy()
    _fill_turns(values, before, motion, figure, layout, columns)
    places = unrotate(world_from_file(clip.up), motion.root) / clip.unit - layout.position
    column, coordinate = columns.move.T
    moved = np.abs(places[:, coordinate] - values[:, column]) > SAME_PLACE
    values[:, column] = np.where(moved, np.round(places[:, coordinate], DIGITS), values[:, column])
    _write_text(stream, layout, motion.fps, values + 0.0)
    return tuple(_losses(clip, motion, figure, layout, values))


def _checked(clip: Clip, options: WriteOptions) -> tuple[Motion, AcclaimLayout]:
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
        odd = sorted(set(names) ^ set(clip.skeleton.names))[:3]
        raise OptionError(
            f"The character's joints are no longer those of its ASF file; they differ in {odd or 'order'}"
        )
    if options.unit is not None and not np.isclose(options.unit, clip.unit, rtol=1e-6):
        raise OptionError(
            f"An AMC file has the unit of its ASF file, {unit_name(clip.unit)}; cannot write {unit_name(options.unit)}"
        )
    if options.up is not None and options.up != clip.up:
        raise OptionError(f"An AMC file has the up axis of its ASF file, {clip.up}; cannot write {options.up}")
    return motion, layout


def _fill_turns(
    values: Array, before: Array | None, motion: Motion, figure: Skeleton, layout: AcclaimLayout, columns: Columns
) -> None:
    """Fill in the angles: the file's own where they still hold, else the nearest to them, else a smooth course."""
    column, joint, axis = columns.turn.T
    scale = 180.0 / np.pi if layout.turns_in_degrees else 1.0
    if before is None:
        angles = joint_angle_curves(figure, motion.rotations)
        values[:, column] = np.round(angles[:, joint, axis] * scale, DIGITS)
        return
    hint = angles_of_values(before, columns, layout, figure.num_joints)
    angles = joint_angles(figure, motion.rotations, near=hint)
    turned = angle_between(joint_rotations(figure, hint), motion.rotations) > SAME_TURN
    values[:, column] = np.where(turned[:, joint], np.round(angles[:, joint, axis] * scale, DIGITS), before[:, column])


def _write_text(stream: BinaryIO, layout: AcclaimLayout, fps: float, values: Array) -> None:
    lines = [*layout.comments, ":FULLY-SPECIFIED", ":DEGREES" if layout.turns_in_degrees else ":RADIANS"]
    if _tells_rate(layout, fps):
        lines.insert(len(layout.comments), f":SAMPLES-PER-SECOND {fps!r}")
    bounds = np.cumsum([0, *(len(layout.channels(bone)) for bone in layout.motion_lines)]).tolist()
    parts = list(zip(layout.motion_lines, bounds[:-1], bounds[1:], strict=True))
    for number, row in enumerate(values.tolist(), start=layout.first_frame):
        words = [repr(value) for value in row]
        lines.append(str(number))
        lines += [" ".join([bone, *words[start:end]]) for bone, start, end in parts]
    stream.write(("\n".join(lines) + "\n").encode())


def _tells_rate(layout: AcclaimLayout, fps: float) -> bool:
    return layout.says_rate or fps != USUAL_RATE


def _losses(clip: Clip, motion: Motion, figure: Skeleton, layout: AcclaimLayout, values: Array) -> list[str]:
    """What is not in the file as it is in the clip."""
    columns = find_columns(layout, figure)
    told = []
    written = joint_rotations(figure, angles_of_values(values, columns, layout, figure.num_joints))
    out = angle_between(written, motion.rotations)
    for joint in np.flatnonzero(out.max(axis=0) > TOLD_TURN):
        frame = int(np.argmax(out[:, joint]))
        freedoms = ", ".join(c for c in layout.channels(figure.names[joint]) if c in TURNS) or "none"
        told.append(
            f"Bone `{figure.names[joint]}` is turned up to {np.rad2deg(out[frame, joint]):.3g} degrees out of its"
            f" freedoms ({freedoms}), most in frame {layout.first_frame + frame}; the nearest they allow was written."
        )
    if len(columns.other):
        told.append("Channels that do not turn a bone were not part of the motion; they are as they were, or zero.")
    if not np.allclose(figure.offsets[1:], clip.skeleton.offsets[1:], atol=1e-6 * clip.unit):
        told.append("The character's bones are not as long as in the ASF file it was read from, which AMC cannot hold.")
    if motion.offsets is not None:
        told.append("The motion changes the lengths of bones, which AMC cannot hold.")
    if _tells_rate(layout, motion.fps) and not layout.says_rate:
        told.append(
            f"The rate of {motion.fps:g} frames per second is in a line `:SAMPLES-PER-SECOND`, which many readers skip:"
            f" they take AMC files for {USUAL_RATE:g}."
        )
    return told
