"""Motions of SMPL bodies as AMASS publishes them: rotation vectors of a fixed tree of joints, and a translation.

`poses` (F, 3 J) holds one rotation vector per joint, `trans` (F, 3) the position of the body. Z is up in the world, Y
is up in the body's frames. The body's shape (`betas`) needs the SMPL model, which is not included here. The bone
lengths come from a skeleton file with the same joints, or from an average body.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import MotionError, OptionError
from understudy.base.quaternion import Array, conjugate, continuous, exp, log, multiply, rotate, unrotate
from understudy.base.records import record
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.io.clip import Clip, ReadOptions, world_from_file
from understudy.io.npz.archive import Archive, save

BODY = (
    ("pelvis", "", (0.0, 0.0, 0.0)),
    ("left_hip", "pelvis", (0.07, -0.09, -0.01)),
    ("right_hip", "pelvis", (-0.07, -0.09, -0.01)),
    ("spine1", "pelvis", (0.0, 0.11, -0.03)),
    ("left_knee", "left_hip", (0.03, -0.38, 0.0)),
    ("right_knee", "right_hip", (-0.03, -0.38, 0.0)),
    ("spine2", "spine1", (0.0, 0.14, 0.02)),
    ("left_ankle", "left_knee", (-0.01, -0.41, -0.04)),
    ("right_ankle", "right_knee", (0.01, -0.41, -0.04)),
    ("spine3", "spine2", (0.0, 0.06, 0.0)),
    ("left_foot", "left_ankle", (0.04, -0.06, 0.12)),
    ("right_foot", "right_ankle", (-0.04, -0.06, 0.12)),
    ("neck", "spine3", (0.0, 0.21, -0.03)),
    ("left_collar", "spine3", (0.08, 0.12, -0.02)),
    ("right_collar", "spine3", (-0.08, 0.12, -0.02)),
    ("head", "neck", (0.0, 0.09, 0.05)),
    ("left_shoulder", "left_collar", (0.11, 0.04, -0.02)),
    ("right_shoulder", "right_collar", (-0.11, 0.04, -0.02)),
    ("left_elbow", "left_shoulder", (0.26, -0.01, -0.02)),
    ("right_elbow", "right_shoulder", (-0.26, -0.01, -0.02)),
    ("left_wrist", "left_elbow", (0.25, 0.01, 0.0)),
    ("right_wrist", "right_elbow", (-0.25, 0.01, 0.0)),
)
"""Joint, parent and offset in metres, Y up, facing +Z, left at +X; the first 22 joints of every SMPL variant."""

HAND = (("left_hand", "left_wrist", (0.08, -0.01, -0.01)), ("right_hand", "right_wrist", (-0.08, -0.01, -0.01)))
"""The hands of SMPL, which has no fingers."""

FINGERS = (
    ("index", (0.10, 0.0, 0.02), (0.035, 0.0, 0.0), (0.025, 0.0, 0.0)),
    ("middle", (0.105, 0.0, 0.0), (0.035, 0.0, 0.0), (0.025, 0.0, 0.0)),
    ("pinky", (0.085, -0.005, -0.04), (0.02, 0.0, -0.005), (0.02, 0.0, -0.005)),
    ("ring", (0.095, 0.0, -0.02), (0.03, 0.0, 0.0), (0.025, 0.0, 0.0)),
    ("thumb", (0.03, -0.01, 0.03), (0.025, -0.005, 0.02), (0.025, 0.0, 0.015)),
)

FACE = (
    ("jaw", "head", (0.0, -0.01, 0.02)),
    ("left_eye_smplhf", "head", (0.03, 0.07, 0.08)),
    ("right_eye_smplhf", "head", (-0.03, 0.07, 0.08)),
)

TIPS = {
    "head": (0.0, 0.17, 0.02), "left_foot": (0.01, -0.01, 0.08), "right_foot": (-0.01, -0.01, 0.08),
    "left_hand": (0.09, 0.0, 0.0), "right_hand": (-0.09, 0.0, 0.0),
    "left_wrist": (0.17, 0.0, 0.0), "right_wrist": (-0.17, 0.0, 0.0),
}  # fmt: skip
"""End points of the last bones, in metres in their joints' frames."""

PELVIS_OFFSET = np.array([0.0, -0.22, 0.03])
"""(3,) metres: the pelvis when the translation is zero. SMPL places a body by the middle of its surface."""

Bone = tuple[str, str, tuple[float, float, float]]


def _fingers(side: str) -> list[Bone]:
    out: list[Bone] = []
    for finger, *offsets in FINGERS:
        parent = f"{side}_wrist"
        for number, (x, y, z) in enumerate(offsets, start=1):
            out.append((f"{side}_{finger}{number}", parent, (x if side == "left" else -x, y, z)))
            parent = out[-1][0]
    return out


def bones(count: int) -> tuple[Bone, ...] | None:
    """The bones of the SMPL variant with `count` joints; None if there is no such variant.

    22: the body alone. 24: SMPL. 52: SMPL+H, with fingers. 55: SMPL-X, with fingers and face.
    """
    hands = [*_fingers("left"), *_fingers("right")]
    kinds: dict[int, list[Bone]] = {22: [], 24: [*HAND], 52: hands, 55: [*FACE, *hands]}
    return (*BODY, *kinds[count]) if count in kinds else None


KINDS = {22: "SMPL body", 24: "SMPL", 52: "SMPL+H", 55: "SMPL-X"}


def normalize_name(name: str) -> str:
    """A joint's name in one spelling: `L_Hip`, `Left Hip` and `m_avg_L_Hip` become `left_hip`."""
    result = name.rpartition(":")[2].casefold().replace(" ", "_").removeprefix("m_avg_").removeprefix("f_avg_")
    for short, whole in (("l_", "left_"), ("r_", "right_")):
        if result.startswith(short):
            result = whole + result[len(short) :]
    return result.removesuffix("_smplhf")


def end_offsets(names: tuple[str, ...]) -> dict[str, Array]:
    """End points of the last bones, by joint."""
    with_children = {parent for count in KINDS for _, parent, _ in bones(count) or () if count == len(names)}
    return {joint: np.array(tip) for joint, tip in TIPS.items() if joint in names and joint not in with_children}


WORLD = world_from_file("Z")

RATE_KEYS = ("mocap_framerate", "mocap_frame_rate", "fps")

POSE_PART_KEYS = ("root_orient", "pose_body", "pose_jaw", "pose_eye", "pose_hand")

DEFAULT_FPS = 30.0


@record
class AmassLayout:
    """What an SMPL file holds besides the motion, kept to write such a file again."""

    rate: str = RATE_KEYS[0]
    """The name of the array with the frame rate."""
    betas: Array | None = None
    """The body's shape, kept unchanged."""
    gender: str = "neutral"


def is_amass(keys: Collection[str]) -> bool:
    """Whether arrays with these names form a motion of an SMPL body."""
    return "trans" in keys and ("poses" in keys or "pose_body" in keys)


def read(archive: Archive, options: ReadOptions) -> Clip:
    """The motion in an archive. The bone lengths come from the skeleton file in the options, if there is one."""
    notes: list[str] = []
    poses, positions = _poses(archive), archive.numbers("trans")
    if positions.shape != (len(poses), 3):
        raise archive.wrong(f"`trans`: expected shape ({len(poses)}, 3), got {positions.shape}")
    count = poses.shape[1]
    rate = next((key for key in RATE_KEYS if key in archive.keys), None)
    if rate is None:
        notes.append(f"The file gives no frame rate; {DEFAULT_FPS:g} frames per second are assumed.")
    layout = AmassLayout(
        rate=rate or RATE_KEYS[0],
        betas=archive.numbers("betas") if "betas" in archive.keys else None,
        gender=_gender(archive),
    )
    if layout.betas is not None and np.any(layout.betas):
        notes.append("The body's shape (`betas`) is not used: it needs the SMPL model.")
    if "dmpls" in archive.keys:
        notes.append("The soft-tissue motion (`dmpls`) is not used.")
    skeleton = _skeleton(count, options, notes)
    rotations = exp(poses)
    rotations[:, 0] = multiply(WORLD, rotations[:, 0])
    try:
        motion = Motion(
            skeleton=skeleton,
            fps=DEFAULT_FPS if rate is None else archive.number(rate),
            root=rotate(WORLD, positions + PELVIS_OFFSET),
            rotations=continuous(rotations),
            name=Path(archive.name).stem,
        )
    except MotionError as error:
        raise archive.wrong(f"the numbers make no motion: {error.message}") from None
    return Clip(
        skeleton=skeleton, motion=motion, format="npz", unit_reason=f"m: as in all {KINDS[count]} files",
        up="Z", up_reason="Z is up: as in AMASS", notes=tuple(notes), layout=layout,
    )  # fmt: skip


def _poses(archive: Archive) -> Array:
    """(F, J, 3) rotation vectors."""
    if "poses" in archive.keys:
        flat = archive.numbers("poses")
    else:
        rows = [archive.numbers(key) for key in POSE_PART_KEYS if key in archive.keys]
        if any(row.ndim != 2 or len(row) != len(rows[0]) for row in rows):
            raise archive.wrong("the parts of the pose have different numbers of frames")
        flat = np.concatenate(rows, axis=1)
    width = flat.shape[1] if flat.ndim == 2 else 0
    if flat.ndim == 3 and flat.shape[2] == 3:
        width = 3 * flat.shape[1]
    if width % 3 or width // 3 not in KINDS:
        widths = ", ".join(f"{3 * count} ({name})" for count, name in KINDS.items())
        raise archive.wrong(f"`poses` has shape {flat.shape}; expected rows of {widths} numbers")
    if len(flat) == 0 or not np.all(np.isfinite(flat)):
        raise archive.wrong("`poses`: expected finite numbers and at least one frame")
    return flat.reshape(len(flat), -1, 3)


def _gender(archive: Archive) -> str:
    if "gender" not in archive.keys:
        return "neutral"
    gender = archive.array("gender")
    if gender.size != 1 or gender.dtype.kind not in "US":
        return "neutral"
    return archive.text("gender")


def _skeleton(count: int, options: ReadOptions, notes: list[str]) -> Skeleton:
    """The body: the standard tree with the lengths of a skeleton file, or with average lengths."""
    tree = bones(count)
    assert tree is not None
    names = tuple(name for name, _, _ in tree)
    offsets = np.array([offset for _, _, offset in tree])
    ends = end_offsets(names)
    if options.skeleton is None:
        notes.append("The bone lengths are those of an average body; --skeleton FILE gives others.")
    else:
        offsets, ends = _measure_skeleton(names, tree, options.skeleton, offsets, ends, notes)
    index = {name: number for number, name in enumerate(names)}
    offsets[0] = [0.0, _leg(names, offsets), 0.0]
    return Skeleton(
        names=names,
        parents=np.array([index.get(parent, -1) for _, parent, _ in tree]),
        offsets=offsets,
        ends=tuple(Point(name=f"{joint}_end", joint=joint, offset=tip) for joint, tip in ends.items()),
        name=KINDS[count],
    )


def _leg(names: tuple[str, ...], offsets: Array) -> float:
    """Height of the pelvis above the soles, in metres, with which the rest pose stands on the floor."""
    row = [names.index(name) for name in ("left_hip", "left_knee", "left_ankle", "left_foot")]
    return float(-offsets[row, 1].sum())


def _measure_skeleton(
    names: tuple[str, ...], tree: Any, file: str, offsets: Array, ends: dict[str, Array], notes: list[str]
) -> tuple[Array, dict[str, Array]]:
    """Offsets and end points from a skeleton file in a T-pose. Joints that the file lacks keep their values."""
    from understudy.io.clip import read as read_any

    body = read_any(file).skeleton
    positions = body.rest_world[0]
    joint_of = {normalize_name(name): number for number, name in enumerate(body.names)}
    present = [name for name in names if normalize_name(name) in joint_of]
    if "pelvis" not in present or len(present) < 15:
        raise OptionError(
            f"{file}: has {len(present)} of the {len(names)} joints of an {KINDS[len(names)]} body; expected them all",
            hint=f"its joints must be named {', '.join(names[:4])}, ...",
        )
    out = offsets.copy()
    for number, (name, parent, _) in enumerate(tree):
        if number and name in present and parent in present:
            out[number] = positions[joint_of[normalize_name(name)]] - positions[joint_of[normalize_name(parent)]]
    missing = [name for name in names if name not in present]
    if missing:
        notes.append(f"{len(missing)} joints are not in {file}, from `{missing[0]}`: an average body's are taken.")
    out_ends = dict(ends)
    for end, position in zip(body.ends, body.rest_ends, strict=True):
        joint = normalize_name(end.joint)
        if joint in out_ends:
            out_ends[joint] = position - positions[body.index[end.joint]]
    return out, out_ends


def write(clip: Clip, stream: BinaryIO) -> tuple[str, ...]:
    """Write a motion of a body with SMPL's joints; returns notes on what the format cannot hold."""
    motion = clip.motion
    names = [normalize_name(name) for name in clip.skeleton.names]
    count = next(
        (n for n in (55, 52, 24, 22) if all(normalize_name(bone[0]) in names for bone in bones(n) or ())), None
    )
    if motion is None or count is None:
        missing = next((bone[0] for bone in bones(22) or () if normalize_name(bone[0]) not in names), "")
        what = "it holds no motion" if motion is None else f"its skeleton has no `{missing}`"
        raise OptionError(
            f"An SMPL file holds a motion of that body's joints; {what}",
            hint="retarget onto a motion file of that body, or write a clip: a name that does not end in _poses.npz",
        )
    tree = bones(count) or ()
    vectors = _vectors(motion, [names.index(normalize_name(name)) for name, _, _ in tree], tree)
    layout = clip.layout if isinstance(clip.layout, AmassLayout) else AmassLayout()
    betas = np.zeros(16) if layout.betas is None else layout.betas
    arrays = {
        "poses": vectors.reshape(len(vectors), -1),
        "trans": unrotate(WORLD, motion.root) - PELVIS_OFFSET,
        layout.rate: motion.fps,
        "betas": betas,
        "gender": layout.gender,
    }
    save(arrays, stream)
    return _losses(clip, count, names)


def _vectors(motion: Motion, joints: list[int], tree: Any) -> Array:
    """(F, J, 3) rotation vectors relative to the parent, in frames that are parallel in the rest pose."""
    world = fk(motion).rotations
    # In the rest pose of SMPL all joint frames are parallel to the world, so rotations are relative to that pose.
    rest = motion.skeleton.rest_world[1]
    from_rest = multiply(world[:, joints], conjugate(rest[joints]))
    index = {name: number for number, (name, _, _) in enumerate(tree)}
    local = from_rest.copy()
    for number, (_, parent, _) in enumerate(tree):
        if number:
            local[:, number] = multiply(conjugate(from_rest[:, index[parent]]), from_rest[:, number])
    local[:, 0] = multiply(conjugate(WORLD), from_rest[:, 0])
    return log(local)


def _losses(clip: Clip, count: int, names: list[str]) -> tuple[str, ...]:
    notes = ["The bone lengths: an SMPL file holds the body's shape as `betas`, which are written unchanged."]
    kept = {normalize_name(name) for name, _, _ in bones(count) or ()}
    more = [joint for joint, name in zip(clip.skeleton.names, names, strict=True) if name not in kept]
    if more:
        notes.append(f"{len(more)} joints that the body does not have: {', '.join(f'`{name}`' for name in more[:4])}.")
    if clip.motion is not None and clip.motion.offsets is not None:
        notes.append("Bones that change their lengths.")
    return tuple(notes)
