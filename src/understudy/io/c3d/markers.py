"""Marker sets: which label is which place on the body, in the words of Plug-in Gait.

Known are Plug-in Gait (full and lower body, also with medial markers), the set of 41 markers of the CMU database,
OptiTrack's sets by their long names, and Qualisys' labels after anatomical landmarks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

PARTS = {
    "Hips": ("LASI", "RASI", "LPSI", "RPSI", "SACR"),
    "Chest": ("C7", "T10", "CLAV", "STRN", "RBAK", "LBAK"),
    "Head": ("LFHD", "RFHD", "LBHD", "RBHD", "HTOP"),
    "Shoulder": ("SHO",),
    "Arm": ("UPA", "ELB", "ELM"),
    "ForeArm": ("FRM", "WRA", "WRB"),
    "Hand": ("FIN",),
    "UpLeg": ("THI", "KNE", "KNM"),
    "Leg": ("TIB", "ANK", "ANM"),
    "Foot": ("HEE", "TOE", "MT5", "MT1"),
}
"""The markers of each part of the body. Those of limbs come once for each side: `LSHO`, `RSHO`."""

LIMB_PARTS = ("Shoulder", "Arm", "ForeArm", "Hand", "UpLeg", "Leg", "Foot")

OTHER_LABELS = {
    # The CMU database, and sets of Vicon's software for entertainment.
    "LFWT": "LASI", "RFWT": "RASI", "LBWT": "LPSI", "RBWT": "RPSI", "RBAC": "RBAK",
    "SACRUM": "SACR", "SAC": "SACR", "VSAC": "SACR",
    # OptiTrack's long names.
    "WAISTLFRONT": "LASI", "WAISTRFRONT": "RASI", "WAISTLBACK": "LPSI", "WAISTRBACK": "RPSI", "BACKTOP": "C7",
    "CHEST": "STRN", "CHESTTOP": "CLAV", "HEADTOP": "HTOP",
    # Anatomical landmarks, as Qualisys labels them.
    "LIAS": "LASI", "RIAS": "RASI", "LIPS": "LPSI", "RIPS": "RPSI", "CV7": "C7", "TV10": "T10", "SJN": "CLAV",
    "SXS": "STRN", "LASIS": "LASI", "RASIS": "RASI", "LPSIS": "LPSI", "RPSIS": "RPSI", "CLAVICLE": "CLAV",
    "STERNUM": "STRN",
}  # fmt: skip
"""Labels of other sets for markers of the trunk, without punctuation."""

OTHER_LIMB_LABELS = {
    "SHN": "TIB", "SHIN": "TIB", "MT5": "MT5", "KNEEOUT": "KNE", "KNEEIN": "KNM", "ANKLEOUT": "ANK", "ANKLEIN": "ANM",
    "HEEL": "HEE", "TOEOUT": "MT5", "TOEIN": "MT1", "TOETIP": "TOE", "THIGH": "THI", "SHOULDERTOP": "SHO",
    "ELBOWOUT": "ELB", "ELBOWIN": "ELM", "UARMHIGH": "UPA", "WRISTIN": "WRA", "WRISTOUT": "WRB", "HANDOUT": "FIN",
    "FLE": "KNE", "FME": "KNM", "FAL": "ANK", "TAM": "ANM", "FCC": "HEE", "FM1": "MT1", "FM2": "TOE", "FM5": "MT5",
    "SAE": "SHO", "HLE": "ELB", "HME": "ELM", "RSP": "WRA", "USP": "WRB", "HM2": "FIN", "KNEM": "KNM", "MKNE": "KNM",
    "ANKM": "ANM", "MANK": "ANM", "MED": "ANM", "KAD": "", "TTUB": "TIB", "ACR": "SHO", "SHOULDER": "SHO",
    "ELBOW": "ELB", "KNEE": "KNE", "ANKLE": "ANK", "ELBM": "ELM", "MELB": "ELM", "ELL": "ELB",
    "KNEELAT": "KNE", "KNEEMED": "KNM", "ANKLELAT": "ANK", "ANKLEMED": "ANM", "ELBOWLAT": "ELB", "ELBOWMED": "ELM",
    "SHA": "TIB", "SHANK": "TIB", "TUBTIB": "TIB", "KNJNTLN": "KNE",
}  # fmt: skip
"""Labels of other sets for markers of limbs, without side and punctuation."""


def part_of(marker: str) -> str:
    """The joint that a marker moves with: `LeftUpLeg` for `LKNE`."""
    for part, markers in PARTS.items():
        if part not in LIMB_PARTS and marker in markers:
            return part
        if part in LIMB_PARTS and marker[1:] in markers:
            return f"{'Left' if marker[0] == 'L' else 'Right'}{part}"
    raise KeyError(marker)


KNOWN = frozenset(
    f"{side}{marker}"
    for part, markers in PARTS.items()
    for marker in markers
    for side in (("L", "R") if part in LIMB_PARTS else ("",))
)
"""Every marker that is used."""


def marker_of(label: str) -> str | None:
    """The marker of a label without its subject; None if the label is of no known set."""
    plain = re.sub(r"[^A-Z0-9]", "", label.upper())
    if plain in KNOWN:
        return plain
    if plain in OTHER_LABELS:
        return OTHER_LABELS[plain]
    sided = re.sub(r"^(LEFT|RIGHT)", lambda match: match[1][0], plain)
    limb = OTHER_LIMB_LABELS.get(sided[1:]) if sided[:1] in ("L", "R") else None
    return f"{sided[0]}{limb}" if limb else None


def split_subject(label: str) -> tuple[str, str]:
    """The subject and the label of `Anna:LASI`; the subject is empty where there is none."""
    subject, _, rest = label.rpartition(":")
    return subject, rest


def find_markers(labels: Sequence[str]) -> dict[str, dict[str, int]]:
    """For each subject, those with most markers first: the columns of its known markers, by marker."""
    subjects: dict[str, dict[str, int]] = {}
    for column, label in enumerate(labels):
        subject, plain = split_subject(label)
        marker = marker_of(plain)
        if marker is not None:
            subjects.setdefault(subject, {}).setdefault(marker, column)
    counts = Counter({subject: len(found) for subject, found in subjects.items()})
    return {subject: subjects[subject] for subject, _ in counts.most_common()}
