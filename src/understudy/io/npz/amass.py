"""Motions of SMPL bodies as AMASS publishes them: rotation vectors of a fixed tree of joints, and a translation.

`poses` (F, 3 J) are rotation vectors, joint by joint; `trans` (F, 3) places the body; Z is up in the world, Y in the
body's own frames. The body itself (`betas`) needs a model that is not ours to give: its lengths come from a skeleton
file with the same joints, or from an average body.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import MotionError, OptionError
from understudy.base.quaternion import Array, conjugate, continuous, exp, log, multiply, rotate, unrotate
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.io.clip import Clip, ReadOptions
from understudy.io.npz.archive import Archive, save
from understudy.io.units import world_from_file

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
"""Joint, parent and offset in metres, Y up, facing +Z, the left at +X; the first 22 joints of every kind of body."""

HAND = (("left_hand", "left_wrist", (0.08, -0.01, -0.01)), ("right_hand", "right_wrist", (-0.08, -0.01, -0.01)))
"""What SMPL has in place of fingers."""

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
"""Ends of the bones that lead to no joint."""

PELVIS = np.array([0.0, -0.22, 0.03])
"""(3,) metres: where the pelvis is when the translation is zero; bodies are placed by the middle of their surface."""

Bone = tuple[str, str, tuple[float, float, float]]


def _fingers(side: str) -> list[Bone]:
    out: list[Bone] = []
    for finger, *offsets in FINGERS:
        above = f"{side}_wrist"
        for number, (x, y, z) in enumerate(offsets, start=1):
            out.append((f"{side}_{finger}{number}", above, (x if side == "left" else -x, y, z)))
            above = out[-1][0]
    return out


def bones(count: int) -> tuple[Bone, ...] | None:
    """The bones of the kind of body that has so many joints; None where there is none such.

    22: the body alone. 24: SMPL. 52: SMPL+H, with fingers. 55: SMPL-X, with fingers and face.
    """
    hands = [*_fingers("left"), *_fingers("right")]
    kinds: dict[int, list[Bone]] = {22: [], 24: [*HAND], 52: hands, 55: [*FACE, *hands]}
    return (*BODY, *kinds[count]) if count in kinds else None


KINDS = {22: "SMPL body", 24: "SMPL", 52: "SMPL+H", 55: "SMPL-X"}


def plain(name: str) -> str:
    """A joint's name without what programs add: `L_Hip`, `Left Hip` and `m_avg_L_Hip` are `left_hip`."""
    low = name.rpartition(":")[2].casefold().replace(" ", "_").removeprefix("m_avg_").removeprefix("f_avg_")
    for short, whole in (("l_", "left_"), ("r_", "right_")):
        if low.startswith(short):
            low = whole + low[len(short) :]
    return low.removesuffix("_smplhf")


def end_offsets(names: tuple[str, ...]) -> dict[str, Array]:
    """Ends of the last bones, by joint."""
    with_below = {parent for count in KINDS for _, parent, _ in bones(count) or () if count == len(names)}
    return {joint: np.array(tip) for joint, tip in TIPS.items() if joint in names and joint not in with_below}


WORLD = world_from_file("Z")

RATES = ("mocap_framerate", "mocap_frame_rate", "fps")

PARTS = ("root_orient", "pose_body", "pose_jaw", "pose_eye", "pose_hand")

USUAL_RATE = 30.0


@dataclass(frozen=True, eq=False, kw_only=True)
class AmassLayout:
    """What an SMPL file holds beside the motion, to write such a file again."""

    rate: str = RATES[0]
    """The name of the array with the frame rate."""
    betas: Array | None = None
    """The body's shape, kept as it is."""
    gender: str = "neutral"


def is_amass(keys: Collection[str]) -> bool:
    """Whether arrays of these names are a motion of an SMPL body."""
    return "trans" in keys and ("poses" in keys or "pose_body" in keys)


def read(archive: Archive, options: ReadOptions) -> Clip:
    """The motion of an archive, its body from the skeleton file that the options name, if any."""
    notes: list[str] = []
    poses, places = _poses(archive), archive.numbers("trans")
    if places.shape != (len(poses), 3):
        raise archive.wrong(f"`trans`: expected shape ({len(poses)}, 3), got {places.shape}")
    count = poses.shape[1]
    rate = next((key for key in RATES if key in archive.keys), None)
    if rate is None:
        notes.append(f"The file gives no frame rate; {USUAL_RATE:g} frames per second are assumed.")
    layout = AmassLayout(
        rate=rate or RATES[0],
        betas=archive.numbers("betas") if "betas" in archive.keys else None,
        gender=_gender(archive),
    )
    if layout.betas is not None and np.any(layout.betas):
        notes.append("The body's shape (`betas`) is not used: it needs the SMPL model.")
    if "dmpls" in archive.keys:
        notes.append("The shaking of soft parts (`dmpls`) is not used.")
    skeleton = _skeleton(count, options, notes)
    rotations = exp(poses)
    rotations[:, 0] = multiply(WORLD, rotations[:, 0])
    try:
        motion = Motion(
            skeleton=skeleton,
            fps=USUAL_RATE if rate is None else archive.number(rate),
            root=rotate(WORLD, places + PELVIS),
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
        rows = [archive.numbers(key) for key in PARTS if key in archive.keys]
        if any(row.ndim != 2 or len(row) != len(rows[0]) for row in rows):
            raise archive.wrong("the parts of the pose have different numbers of frames")
        flat = np.concatenate(rows, axis=1)
    width = flat.shape[1] if flat.ndim == 2 else 0
    if flat.ndim == 3 and flat.shape[2] == 3:
        width = 3 * flat.shape[1]
    if width % 3 or width // 3 not in KINDS:
        known = ", ".join(f"{3 * count} ({name})" for count, name in KINDS.items())
        raise archive.wrong(f"`poses` has shape {flat.shape}; expected rows of {known} numbers")
    if len(flat) == 0 or not np.all(np.isfinite(flat)):
        raise archive.wrong("`poses`: expected finite numbers and at least one frame")
    return flat.reshape(len(flat), -1, 3)


def _gender(archive: Archive) -> str:
    if "gender" not in archive.keys:
        return "neutral"
    found = archive.array("gender")
    if found.size != 1 or found.dtype.kind not in "US":
        return "neutral"
    return archive.text("gender")


def _skeleton(count: int, options: ReadOptions, notes: list[str]) -> Skeleton:
    """The body: the standard tree, its lengths those of a skeleton file, or average ones."""
    tree = bones(count)
    assert tree is not None
    names = tuple(name for name, _, _ in tree)
    offsets = np.array([offset for _, _, offset in tree])
    ends = end_offsets(names)
    if options.skeleton is None:
        notes.append("The body's lengths are those of an average one; --skeleton FILE gives others.")
    else:
        offsets, ends = _measured(names, tree, options.skeleton, offsets, ends, notes)
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
    """Metres that the pelvis is above the soles, so that the rest pose stands on the floor."""
    row = [names.index(name) for name in ("left_hip", "left_knee", "left_ankle", "left_foot")]
    return float(-offsets[row, 1].sum())


def _measured(
    names: tuple[str, ...], tree: Any, file: str, offsets: Array, ends: dict[str, Array], notes: list[str]
) -> tuple[Array, dict[str, Array]]:
    """Offsets and ends of a skeleton file that stands in a T-pose; what it does not have stays as it is."""
    from understudy.io.files import read as read_any

    body = read_any(file).skeleton
    places = body.rest_world[0]
    known = {plain(name): number for number, name in enumerate(body.names)}
    found = [name for name in names if plain(name) in known]
    if "pelvis" not in found or len(found) < 15:
        raise OptionError(
            f"{file}: has {len(found)} of the {len(names)} joints of an {KINDS[len(names)]} body; expected them all",
            hint=f"its joints must be named {', '.join(names[:4])}, ...",
        )
    out = offsets.copy()
    for number, (name, parent, _) in enumerate(tree):
        if number and name in found and parent in found:
            out[number] = places[known[plain(name)]] - places[known[plain(parent)]]
    missing = [name for name in names if name not in found]
    if missing:
        notes.append(f"{len(missing)} joints are not in {file}, from `{missing[0]}`: an average body's are taken.")
    tips = dict(ends)
    for end, place in zip(body.ends, body.rest_ends, strict=True):
        joint = plain(end.joint)
        if joint in tips:
            tips[joint] = place - places[body.index[end.joint]]
    return out, tips


def write(clip: Clip, stream: BinaryIO) -> tuple[str, ...]:
    """Write a motion of a body with the joints of SMPL; returns what the format could not hold."""
    motion = clip.motion
    names = [plain(name) for name in clip.skeleton.names]
    count = next((n for n in (55, 52, 24, 22) if all(plain(bone[0]) in names for bone in bones(n) or ())), None)
    if motion is None or count is None:
        lacks = next((bone[0] for bone in bones(22) or () if plain(bone[0]) not in names), "")
        what = "it holds no motion" if motion is None else f"its skeleton has no `{lacks}`"
        raise OptionError(
            f"An SMPL file holds a motion of that body's joints; {what}",
            hint="retarget onto a motion file of that body, or write a clip: a name that does not end in _poses.npz",
        )
    tree = bones(count) or ()
    vectors = _vectors(motion, [names.index(plain(name)) for name, _, _ in tree], tree)
    layout = clip.layout if isinstance(clip.layout, AmassLayout) else AmassLayout()
    betas = np.zeros(16) if layout.betas is None else layout.betas
    arrays = {
        "poses": vectors.reshape(len(vectors), -1),
        "trans": unrotate(WORLD, motion.root) - PELVIS,
        layout.rate: motion.fps,
        "betas": betas,
        "gender": layout.gender,
    }
    save(arrays, stream)
    return _lost(clip, count, names)


def _vectors(motion: Motion, joints: list[int], tree: Any) -> Array:
    """(F, J, 3) rotation vectors against the parent, in frames that are all alike in the rest pose."""
    world = fk(motion).rotations
    # In the rest pose of these bodies every frame is turned as the world is: turns are counted from there.
    still = motion.skeleton.rest_world[1]
    turned = multiply(world[:, joints], conjugate(still[joints]))
    index = {name: number for number, (name, _, _) in enumerate(tree)}
    local = turned.copy()
    for number, (_, parent, _) in enumerate(tree):
        if number:
            local[:, number] = multiply(conjugate(turned[:, index[parent]]), turned[:, number])
    local[:, 0] = multiply(conjugate(WORLD), turned[:, 0])
    return log(local)


def _lost(clip: Clip, count: int, names: list[str]) -> tuple[str, ...]:
    said = ["The body's lengths: an SMPL file has its shape as `betas`, which are written unchanged."]
    kept = {plain(name) for name, _, _ in bones(count) or ()}
    more = [joint for joint, name in zip(clip.skeleton.names, names, strict=True) if name not in kept]
    if more:
        said.append(f"{len(more)} joints that the body does not have: {', '.join(f'`{name}`' for name in more[:4])}.")
    if clip.motion is not None and clip.motion.offsets is not None:
        said.append("Bones that change their lengths.")
    return tuple(said)
