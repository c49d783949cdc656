"""Writes motions for MikuMikuDance (VMD): keys at 30 frames a second for bones with Japanese names.

Rotations are those that a PMX model of the same bones needs: relative to the rest pose, in axes of the world. Inverse
kinematics of legs and toes are switched off, because legs are written as they move.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, conjugate, multiply, rotate, unrotate
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, frame_offsets, rest_motion
from understudy.io.clip import Clip, WriteOptions
from understudy.io.mmd.pmx import MIRROR, UNIT_METRES, PmxLayout

FPS = 30.0
"""Frames a second, by definition of the format."""

MAGIC, NAME_BYTES, MODEL_BYTES, IK_BYTES = b"Vocaloid Motion Data 0002", 15, 20, 20

IK_BONES = ("左足ＩＫ", "右足ＩＫ", "左つま先ＩＫ", "右つま先ＩＫ")
"""The usual bones of inverse kinematics."""

ALWAYS_THERE = ("上半身", "頭", "左足", "右足")
"""Bones by which a rig is known as one of MikuMikuDance."""

MOVABLE, CENTRE = ("全ての親", "センター", "グルーブ"), "センター"
"""Bones that leave their places, and the one that does so for all others."""

MOVED_METRES, MOVED_SINE = 1e-5, 1e-7
"""A bone that stays within this of its place, and turns by less than this, gets no keys."""

LINEAR = bytes(
    [20] * 8 + [107] * 8 + [20] * 7 + [107] * 8 + [1] + [20] * 6 + [107] * 8 + [1, 0] + [20] * 5 + [107] * 8 + [1, 0, 0]
)
"""Interpolation of a key by straight lines."""


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write the motion of a rig with Japanese names; without a motion, its rest pose."""
    skeleton = clip.skeleton
    lacking = [name for name in ALWAYS_THERE if name not in skeleton.names]
    if lacking:
        raise OptionError(
            f"VMD is for rigs of MikuMikuDance, whose bones have Japanese names; {', '.join(lacking)} is missing",
            hint="retarget onto the .pmx of the model, and write the result as .vmd",
        )
    unit = options.unit or (clip.unit if clip.format == "pmx" else UNIT_METRES)
    motion = rest_motion(skeleton) if clip.motion is None else clip.motion
    notes = []
    if abs(motion.fps - FPS) > 1e-6 and motion.num_frames > 1:
        notes.append(f"VMD has {FPS:g} frames a second: {motion.fps:g} are resampled")
        motion = motion.resampled(FPS)
    names: list[tuple[int, bytes]] = []
    long: list[tuple[int, bytes]] = []
    for joint, name in enumerate(skeleton.names):
        raw = name.encode("shift_jis", errors="ignore")
        (names if 0 < len(raw) <= NAME_BYTES else long).append((joint, raw))
    if long:
        notes.append(f"{len(long)} bones have names that VMD cannot hold, and are left out")
    layout = clip.layout if isinstance(clip.layout, PmxLayout) else None
    ik_bones = layout.ik_bones if layout is not None else IK_BONES
    model = (layout.model_name if layout is not None else skeleton.name).encode("shift_jis", errors="ignore")
    stream.write(struct.pack(f"<30s{MODEL_BYTES}s", MAGIC, model[:MODEL_BYTES]))
    _write_bones(stream, motion, names, unit)
    # No keys of morphs, cameras, lights and shadows; then inverse kinematics, which are off from the first frame on.
    stream.write(struct.pack("<4I", 0, 0, 0, 0))
    raw_names = [name.encode("shift_jis", errors="ignore")[:IK_BYTES] for name in ik_bones]
    stream.write(struct.pack("<IIBI", 1, 0, 1, len(raw_names)))
    for raw in raw_names:
        stream.write(struct.pack(f"<{IK_BYTES}sB", raw, 0))
    return tuple(notes)


def _move_centre(motion: Motion, turned: Array, moved: Array) -> None:
    """Let the centre carry how far bones below it leave their places: other bones of a model only turn.

    Args:
        motion: The motion.
        turned: (F, J, 4) how joints are turned in the world since the rest pose.
        moved: (F, J, 3) metres from their places, in axes that turn with the parent; changed in place.
    """
    skeleton = motion.skeleton
    centre = skeleton.index.get(CENTRE)
    for joint, name in enumerate(skeleton.names):
        if centre is None or joint == 0 or name in MOVABLE or np.abs(moved[:, joint]).max() <= MOVED_METRES:
            continue
        if centre in skeleton.chain(joint):
            shift = rotate(turned[:, skeleton.parents[joint]], moved[:, joint])
            above = skeleton.parents[centre]
            moved[:, centre] += shift if above < 0 else unrotate(turned[:, above], shift)
            moved[:, joint] = 0.0


def _write_bones(stream: BinaryIO, motion: Motion, names: list[tuple[int, bytes]], unit: float) -> None:
    """Keys of all bones that move, frame by frame."""
    skeleton = motion.skeleton
    rest = skeleton.rest_world[1]
    world = multiply(fk(motion).rotations, conjugate(rest))
    local = world.copy()
    local[:, 1:] = multiply(conjugate(world[:, skeleton.parents[1:]]), world[:, 1:])
    moved = np.array(frame_offsets(motion) - skeleton.offsets)
    moved[:, 0] = motion.root - skeleton.offsets[0]
    # Offsets are in the parent's own frame; a model's are in axes of the world.
    moved[:, 1:] = rotate(rest[skeleton.parents[1:]], moved[:, 1:])
    _move_centre(motion, world, moved)
    turned = np.abs(local[..., 1:]).max(axis=(0, 2)) > MOVED_SINE
    moving = turned | (np.abs(moved).max(axis=(0, 2)) > MOVED_METRES)
    kept = [(joint, raw) for joint, raw in names if moving[joint] or joint == 0]
    kind = np.dtype(
        [("name", f"S{NAME_BYTES}"), ("frame", "<u4"), ("place", "<f4", 3), ("turn", "<f4", 4), ("curve", "u1", 64)]
    )
    keys = np.zeros((motion.num_frames, len(kept)), kind)
    joints = [joint for joint, _ in kept]
    keys["name"] = [raw for _, raw in kept]
    keys["frame"] = np.arange(motion.num_frames)[:, None]
    places = moved[:, joints] * MIRROR / unit
    keys["place"] = np.where(np.abs(moved[:, joints]).max(axis=-1, keepdims=True) > MOVED_METRES, places, 0.0)
    # Mirrored in Z, rotations about X and Y turn the other way; x, y, z, w.
    keys["turn"] = local[:, joints][..., [1, 2, 3, 0]] * [-1.0, -1.0, 1.0, 1.0]
    keys["curve"] = np.frombuffer(LINEAR, np.uint8)
    stream.write(struct.pack("<I", keys.size))
    stream.write(keys.tobytes())
