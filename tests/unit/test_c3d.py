"""Markers of a known motion, written as C3D: the body and its joints come back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy import fk, read, samples
from understudy.base.errors import FileError, UnderstudyError, UnknownNameError
from understudy.base.quaternion import Array, exp, log, multiply, unrotate
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point
from understudy.io.c3d.markers import KNOWN, find_markers, marker_of
from understudy.io.clip import world_from_file

ezc3d = pytest.importorskip("ezc3d")

MARKERS = {
    "ASI": ("Hips", (0.125, 0.045, 0.065)), "PSI": ("Hips", (0.045, 0.075, -0.105)),
    "THI": ("UpLeg", (0.085, -0.21, 0.015)), "KNE": ("UpLeg", (0.055, -0.425, 0.005)),
    "TIB": ("Leg", (0.06, -0.2, 0.01)), "ANK": ("Leg", (0.04, -0.415, -0.005)),
    "HEE": ("Foot", (0.0, -0.045, -0.06)), "TOE": ("Foot", (0.005, -0.05, 0.14)),
    "SHO": ("Shoulder", (0.145, 0.045, 0.005)), "UPA": ("Arm", (0.15, 0.045, 0.02)),
    "ELB": ("Arm", (0.295, 0.042, 0.0)), "FRM": ("ForeArm", (0.13, 0.03, -0.02)),
    "WRA": ("ForeArm", (0.262, 0.0, 0.034)), "WRB": ("ForeArm", (0.258, 0.0, -0.034)),
    "FIN": ("Hand", (0.085, 0.018, 0.005)), "FHD": ("Head", (0.06, 0.1, 0.1)), "BHD": ("Head", (0.055, 0.1, -0.08)),
}  # fmt: skip
"""Markers of Plug-in Gait on the left side of the sample adult: the joint, and metres in its frame."""
MIDDLE = {
    "C7": ("Spine1", (0.0, 0.17, -0.06)), "T10": ("Spine1", (0.0, -0.06, -0.11)),
    "CLAV": ("Spine1", (0.0, 0.11, 0.075)), "STRN": ("Spine1", (0.0, -0.04, 0.115)),
    "RBAK": ("Spine1", (-0.08, 0.05, -0.105)),
}  # fmt: skip
ASIDE = np.array([1.0, 0.0, 0.0])
COMPARED = (
    "Hips", "LeftUpLeg", "RightUpLeg", "LeftLeg", "RightLeg", "LeftFoot", "RightFoot", "LeftArm", "RightArm",
    "LeftForeArm", "RightForeArm", "LeftHand", "RightHand", "Head",
)  # fmt: skip


Places = dict[str, tuple[str, tuple[float, float, float]]]


def points(changed: Places) -> list[Point]:
    out = [Point(name=name, joint=joint, offset=np.array(offset)) for name, (joint, offset) in MIDDLE.items()]
    for name, (joint, offset) in (MARKERS | changed).items():
        for side, word, sign in (("L", "Left", 1.0), ("R", "Right", -1.0)):
            where = joint if joint in ("Hips", "Head") else f"{word}{joint}"
            out.append(Point(name=f"{side}{name}", joint=where, offset=np.array(offset) * [sign, 1.0, 1.0]))
    return out


def markers_of(motion: Motion, changed: Places | None = None) -> dict[str, Array]:
    """(F, 3) metres, Y up, by marker; some may be in other places."""
    placed = points(changed or {})
    places = fk(motion).points(placed)
    return {point.name: places[:, number] for number, point in enumerate(placed)}


def write_c3d(path: Path, markers: dict[str, Array], fps: float = 60.0, up: str = "Z", **parameters: Any) -> Path:
    """Write markers as C3D, in millimetres."""
    file = ezc3d.c3d()
    data = np.stack([unrotate(world_from_file(up), track) for track in markers.values()], axis=1) * 1000.0
    file["parameters"]["POINT"]["RATE"]["value"] = [fps]
    file["parameters"]["POINT"]["UNITS"]["value"] = [parameters.get("unit", "mm")]
    file["parameters"]["POINT"]["LABELS"]["value"] = tuple(markers)
    missing = np.isnan(data[..., 0])
    whole = np.concatenate([data, np.ones((*data.shape[:2], 1))], axis=2)
    file["data"]["points"] = np.moveaxis(whole, 2, 0).transpose(0, 2, 1)
    for name, number in parameters.get("measures", {}).items():
        file.add_parameter("PROCESSING", name, [number])
    residuals = np.where(missing, -1.0, 0.0).T[None]
    file["data"]["meta_points"]["residuals"] = residuals
    file.write(str(path))
    return path


def walk(name: str = "walk", fps: float = 60.0) -> Motion:
    return samples.motion(name).motion.resampled(fps)


def distances(clip: Any, motion: Motion) -> dict[str, float]:
    """Metres between a joint as it was and as it is read, at most, by joint. The hips are between the two thighs."""
    before, after = fk(motion), fk(clip.motion)
    out = {}
    for name in COMPARED[1:]:
        out[name] = float(np.linalg.norm(before[name] - after[name], axis=1).max())
    middle = 0.5 * (before["LeftUpLeg"] + before["RightUpLeg"])
    out["Hips"] = float(np.linalg.norm(middle - after["Hips"], axis=1).max())
    return out


def check(clip: Any, motion: Motion, metres: float = 0.02) -> None:
    assert clip.motion is not None
    assert clip.motion.num_frames == motion.num_frames
    assert clip.motion.fps == pytest.approx(motion.fps)
    for name, distance in distances(clip, motion).items():
        assert distance < metres, f"{name}: {1000 * distance:.1f} mm"


@pytest.mark.parametrize("name", ["walk", "run", "squat", "sneak"])
def test_joints_of_a_known_motion_come_back(tmp_path: Path, name: str) -> None:
    motion = walk(name)[:150]
    clip = read(write_c3d(tmp_path / "a.c3d", markers_of(motion)))
    check(clip, motion)
    assert clip.up == "Z"
    assert clip.unit == pytest.approx(0.001)
    assert any(note.startswith("39 markers fitted to 0.") for note in clip.notes)
    for bone in ("LeftLeg", "RightFoot", "LeftForeArm", "RightHand"):
        length, known = (body.lengths[body.joint(bone)] for body in (clip.skeleton, motion.skeleton))
        assert length == pytest.approx(known, rel=0.04), bone


@pytest.mark.parametrize("forward", [-0.06, 0.1])
def test_thigh_markers_in_front_or_behind_do_not_move_the_knee(tmp_path: Path, forward: float) -> None:
    # Plug-in Gait takes the axis of the knee from this marker: its knee would be 3 to 6 cm off.
    motion = walk()[:150]
    clip = read(write_c3d(tmp_path / "a.c3d", markers_of(motion, {"THI": ("UpLeg", (0.06, -0.21, forward))})))
    check(clip, motion)


def test_measured_widths_of_joints_are_used(tmp_path: Path) -> None:
    motion = walk()[:150]
    wide: Places = {"KNE": ("UpLeg", (0.08, -0.425, 0.005)), "ANK": ("Leg", (0.055, -0.415, -0.005))}
    markers = markers_of(motion, wide)
    measures = {f"{side}{name}": width for side in "LR" for name, width in (("KneeWidth", 146.0), ("AnkleWidth", 96.0))}
    knees = []
    for given in ({}, measures):
        clip = read(write_c3d(tmp_path / "a.c3d", markers, measures=given))
        knees.append(max(distances(clip, motion)[f"{side}Leg"] for side in ("Left", "Right")))
    assert knees[1] < 0.02
    assert knees[1] < knees[0] - 0.005, knees


def test_a_foot_that_stands_is_level_wherever_its_markers_are(tmp_path: Path) -> None:
    motion = walk()[:150]
    clip = read(write_c3d(tmp_path / "a.c3d", markers_of(motion, {"HEE": ("Foot", (0.0, 0.01, -0.06))})))
    assert clip.motion is not None
    before, after = fk(motion), fk(clip.motion)
    speeds = np.linalg.norm(np.gradient(before["LeftFoot"], axis=0), axis=1) * motion.fps
    toe, heel = (after.points([clip.skeleton.point(f"Left{name}")])[:, 0, 1] for name in ("Toe", "Heel"))
    assert np.abs(np.median((toe - heel)[speeds < 0.05])) < 0.015
    check(clip, motion)


def test_a_shank_turns_about_its_length(tmp_path: Path) -> None:
    motion = walk()[:150]
    knee = motion.skeleton.joint("LeftLeg")
    twist = np.radians(12.0) * np.sin(2.0 * np.pi * motion.times)
    rotations = motion.rotations.copy()
    rotations[:, knee] = multiply(rotations[:, knee], exp(twist[:, None] * np.array([0.0, 1.0, 0.0])))
    motion = motion.derived(rotations=rotations)
    clip = read(write_c3d(tmp_path / "a.c3d", markers_of(motion)))
    check(clip, motion)
    assert clip.motion is not None
    found = log(clip.motion.rotations[:, clip.skeleton.joint("LeftLeg")])[:, 1]
    assert np.corrcoef(found, twist)[0, 1] > 0.9
    assert np.ptp(found) > 0.7 * np.ptp(twist)


def test_noise_gaps_and_mislabelled_frames_do_no_harm(tmp_path: Path) -> None:
    motion = walk()[:150]
    rng = np.random.default_rng(4)
    markers = {name: track + rng.normal(0.0, 0.001, track.shape) for name, track in markers_of(motion).items()}
    for number, name in enumerate(sorted(markers)):
        if number % 3 == 0:
            first = int(rng.integers(0, 120))
            markers[name][first : first + 25] = np.nan
    # Two markers are exchanged for a while.
    markers["LWRA"][40:45], markers["LELB"][40:45] = markers["LELB"][40:45].copy(), markers["LWRA"][40:45].copy()
    clip = read(write_c3d(tmp_path / "a.c3d", markers))
    steady = [frame for frame in range(150) if not 38 <= frame < 47]
    assert clip.motion is not None
    check(read_frames(clip, steady), motion[steady], 0.03)


def read_frames(clip: Any, frames: list[int]) -> Any:
    return replace(clip, motion=clip.motion[frames])


def test_lower_body_sets_and_other_labels_are_known(tmp_path: Path) -> None:
    motion = walk()[:60]
    markers = markers_of(motion)
    lower = {
        name: track for name, track in markers.items() if name[1:] in ("ASI", "PSI", "THI", "KNE", "TIB", "ANK", "TOE")
    }
    clip = read(write_c3d(tmp_path / "lower.c3d", lower))
    legs = [name for name in COMPARED if "Leg" in name or "Foot" in name]
    assert max(distances(clip, motion)[name] for name in legs) < 0.02
    other = {"ASI": "FWT", "PSI": "BWT", "TIB": "SHN"}
    cmu = {f"{name[0]}{other.get(name[1:], name[1:])}": track for name, track in markers.items()}
    assert "LFWT" in cmu
    check(read(write_c3d(tmp_path / "cmu.c3d", cmu, up="Y")), motion)


def test_of_several_subjects_one_is_chosen(tmp_path: Path) -> None:
    first, second = walk()[:40], walk("run")[:40]
    both = {f"Anna:{name}": track for name, track in markers_of(first).items()}
    both |= {f"Ben:{name}": track + ASIDE for name, track in markers_of(second).items()}
    both["*17"] = np.zeros((40, 3))
    path = write_c3d(tmp_path / "two.c3d", both)
    clip = read(path)
    assert clip.clips == ("Anna", "Ben")
    check(clip, first)
    other = read(f"{path}#Ben")
    check(other, second.derived(root=second.root + ASIDE))
    with pytest.raises(UnknownNameError, match="Ann"):
        read(f"{path}#Ana")


def test_frames_without_the_body_are_left_out(tmp_path: Path) -> None:
    motion = walk()[:80]
    markers = markers_of(motion)
    for track in markers.values():
        track[:20] = track[70:] = np.nan
    clip = read(write_c3d(tmp_path / "a.c3d", markers))
    assert any("frames 21 to 70 of 80 are read" in note for note in clip.notes)
    check(clip, motion[20:70])


def test_a_marker_that_is_first_seen_later_does_not_stay_behind(tmp_path: Path) -> None:
    motion = walk()[:150]
    markers = markers_of(motion)
    markers["RANK"][:60] = markers["LHEE"][100:] = np.nan
    check(read(write_c3d(tmp_path / "a.c3d", markers)), motion, 0.03)


def test_what_cannot_be_fitted_is_said(tmp_path: Path) -> None:
    markers = markers_of(walk()[:10])
    few = {name: track for name, track in markers.items() if name not in ("LKNE", "RANK")}
    with pytest.raises(FileError, match="LKNE, RANK is missing") as caught:
        read(write_c3d(tmp_path / "few.c3d", few))
    assert "Plug-in Gait" in str(caught.value.hint)
    with pytest.raises(FileError, match="unknown unit `furlong`") as caught:
        read(write_c3d(tmp_path / "unit.c3d", markers, unit="furlong"))
    assert "--unit" in str(caught.value.hint)
    (tmp_path / "text.c3d").write_text("no markers here")
    with pytest.raises(FileError, match="C3D"):
        read(tmp_path / "text.c3d")


@pytest.mark.parametrize("seed", range(3))
def test_mutated_files_end_in_an_error_in_words_or_a_body(tmp_path: Path, seed: int) -> None:
    data = bytearray(write_c3d(tmp_path / "a.c3d", markers_of(walk()[:12])).read_bytes())
    rng = np.random.default_rng(seed)
    for number in range(8):
        mutant = bytearray(data)
        for place in rng.integers(0, len(data) if number % 2 else 2000, 4):
            mutant[place] = int(rng.integers(256))
        path = tmp_path / "mutant.c3d"
        path.write_bytes(mutant[: int(rng.integers(100, len(mutant)))] if number % 4 == 3 else mutant)
        try:
            clip = read(path)
        except UnderstudyError:
            continue
        assert clip.motion is not None
        assert np.isfinite(fk(clip.motion).positions).all()


@pytest.mark.parametrize(
    ("label", "marker"),
    [
        ("LASI", "LASI"), ("l_kne", "LKNE"), ("RFWT", "RASI"), ("WaistLFront", "LASI"), ("RKneeOut", "RKNE"),
        ("L_FLE", "LKNE"), ("R_KNEE_MED", "RKNM"), ("L_ANKLE_LAT", "LANK"), ("VSAC", "SACR"),
        ("R_IPS", "RPSI"), ("Left Knee", "LKNE"), ("LFEO", None), ("CentreOfMass", None),
        ("*21", None), ("", None),
    ],
)  # fmt: skip
def test_labels_of_several_sets_are_known(label: str, marker: str | None) -> None:
    assert marker_of(label) == marker


def test_the_subject_with_most_markers_comes_first() -> None:
    labels = ["Ben:LASI", *(f"Anna:{name}" for name in sorted(KNOWN))]
    assert list(find_markers(labels)) == ["Anna", "Ben"]
