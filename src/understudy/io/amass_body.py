"""The tree of SMPL bodies and the lengths of an average one.

The tree and the names of its joints are those that motions of these bodies are published in. The lengths are rounded
measures of an average adult in a T-pose, made for this file: they carry a motion that comes without its body.
"""

from __future__ import annotations

import numpy as np

from understudy.geometry.quaternion import Array

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
