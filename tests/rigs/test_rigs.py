"""Every main bone of every rig of the bank, onto the sample human and back, with names and without."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.rigs.bank import Rig
from tests.rigs.conventions import RIGS
from tests.variants import TRANSFORMS, Known, hash_names, marked, turn_world, walk

import understudy
from understudy import samples
from understudy.base.quaternion import between
from understudy.correspondence.detached import attach, change_parents
from understudy.correspondence.pairs import Correspondence, CorrespondenceError
from understudy.correspondence.suggest import suggest
from understudy.figure.measures import partners
from understudy.figure.skeleton import Skeleton
from understudy.io import Clip
from understudy.io.clip import name_unit
from understudy.io.guess import guess

SAMPLE = {
    "hips": "Hips", "spine": "LowerBack", "chest": "Spine1", "neck": "Neck", "head": "Head", "collar": "Shoulder",
    "arm": "Arm", "elbow": "ForeArm", "wrist": "Hand", "thigh": "UpLeg", "knee": "Leg", "ankle": "Foot",
    "ball": "ToeBase",
}  # fmt: skip
"""The sample human's bones for the parts of the bank's tables, the side left out."""

VARIED = (
    "Unreal 4", "Daz Genesis 3 and 8", "3ds Max Biped", "MMD", "SMPL", "LaFAN1", "OptiTrack", "Kinect",
    "By hand, part first", "German", "Bones with numbers",
)  # fmt: skip
"""Rigs that are also written in other ways: with names that say much, little and nothing."""

KNOWN_VARIED: Known = {}

KNOWN_NAMELESS: Known = {
    ("Advanced Skeleton",): "without names, a part of the hips is the first bone of the spine",
}

REFUSED_NAMELESS = {
    "Second Life Bento": "2 pairs of limbs that can be its arms",
    "Rigify deform bones, limbs apart": "pieces of the target hang from",
}
"""Rigs that are ambiguous without their names, and what the refusal says."""


def sample_bone(part: str) -> str:
    side, _, place = part.rpartition(" ")
    return side.capitalize() + SAMPLE[place]


def bones_of(found: Correspondence, part: str) -> tuple[str, ...]:
    """The rig's bones, the source of the map, that play a part of the sample human: the first or, for the chest, the
    last of its pair, and those of the pair that begin at the same place."""
    bone, index = sample_bone(part), -1 if part == "chest" else 0
    pair = next((pair for pair in found.pairs if pair.target[index] == bone), None)
    if pair is None:
        return ()
    places = found.source.rest_world[0][[found.source.index[name] for name in pair.source]]
    gaps = np.linalg.norm(places - places[index], axis=-1)
    return tuple(name for name, gap in zip(pair.source, gaps) if name == pair.source[index] or gap < 1e-6)


def wrong_bones(rig: Rig, clip: Clip, origin: dict[str, str]) -> list[str]:
    """The main bones that are not what the rig's table says, onto the sample human and back.

    As in a retarget and in `understudy map`, a rig that is cut into pieces is put together first.

    Args:
        rig: The rig.
        clip: The rig as a clip, or a variant of it.
        origin: The rig's bones by those of the clip; bones that were added are left out.
    """
    adult, body = samples.character("adult"), attach(clip.skeleton)
    motion = None if clip.motion is None else change_parents(clip.motion, body)
    maps = (
        suggest(body, adult, source_motion=motion),
        suggest(adult, body, target_motion=motion).reversed(),
    )
    wrong = []
    for way, found in zip(("onto", "back"), maps):
        for part, right in rig.table().items():
            names = [origin.get(bone, bone) for bone in bones_of(found, part)]
            if not set(names) & set(right):
                wrong.append(f"{way}: {part} is {' '.join(names) or None}, not {right[0]}")
    return wrong


def test_bank_is_large() -> None:
    assert len(RIGS) >= 40
    assert len({frozenset(rig.table().values()) for rig in RIGS.values()}) >= 40
    for rig in RIGS.values():
        assert len(rig.table()) >= 15, rig.name


@pytest.mark.parametrize("name", list(RIGS))
def test_main_bones(name: str) -> None:
    clip = RIGS[name].clip()
    wrong = wrong_bones(RIGS[name], clip, {bone: bone for bone in clip.skeleton.names})
    assert not wrong, "; ".join(wrong)


def tells_sides(rig: Rig) -> bool:
    """Whether anything but names tells left from right: toes that point forward, or a motion."""
    return rig.moves or rig.laid_out or "left ball" in rig.table()


NAMELESS_CASES = [(name,) for name, rig in RIGS.items() if tells_sides(rig) and name not in REFUSED_NAMELESS]


@pytest.mark.parametrize("name", marked(NAMELESS_CASES, KNOWN_NAMELESS))
def test_main_bones_without_names(name: str) -> None:
    variant = hash_names(RIGS[name].clip())
    wrong = wrong_bones(RIGS[name], variant.clip, variant.origin)
    assert not wrong, "; ".join(wrong)


@pytest.mark.parametrize("name", REFUSED_NAMELESS)
def test_ambiguous_rigs_without_names_are_refused(name: str) -> None:
    with pytest.raises(CorrespondenceError, match=REFUSED_NAMELESS[name]):
        understudy.retarget(walk(), hash_names(RIGS[name].clip()).clip)


def renamed(rig: Rig, names: dict[str, str]) -> Skeleton:
    """A rig's skeleton with other names for some of its bones."""
    skeleton = rig.clip().skeleton
    ends = tuple(replace(end, joint=names.get(end.joint, end.joint)) for end in skeleton.ends)
    return replace(skeleton, names=tuple(names.get(name, name) for name in skeleton.names), ends=ends)


HONEST = ("Mixamo", "Unreal 4", "Unity humanoid", "SMPL", "Daz Genesis 9", "HumanIK with rolls", "OptiTrack", "VRoid")


@pytest.mark.parametrize("name", HONEST)
def test_names_that_exchange_left_and_right_are_not_believed(name: str) -> None:
    rig = RIGS[name]
    skeleton = rig.clip().skeleton
    other = {bone: skeleton.names[j] for bone, j in zip(skeleton.names, partners(skeleton))}
    found = suggest(samples.character("adult"), renamed(rig, other)).reversed()
    origin = {new: old for old, new in other.items()}
    for part, right in rig.table().items():
        bones = {origin[bone] for bone in bones_of(found, part)}
        assert bones & set(right), f"{part} is {bones}"
        pair = next(pair for pair in found.pairs if sample_bone(part) in pair.target)
        assert pair.confidence < 0.9 or " " not in part


@pytest.mark.parametrize("name", HONEST)
def test_names_one_bone_down_the_leg_are_not_believed(name: str) -> None:
    rig = RIGS[name]
    new = {}
    for side in ("left", "right"):
        row = [rig.table()[f"{side} {part}"][0] for part in ("thigh", "knee", "ankle", "ball")]
        new |= dict(zip(row, (f"q{side[0]}7", *row[:-1])))
    found = suggest(samples.character("adult"), renamed(rig, new)).reversed()
    origin = {after: before for before, after in new.items()}
    for part in ("left thigh", "left knee", "right thigh", "right knee"):
        pair = next((pair for pair in found.pairs if sample_bone(part) in pair.target), None)
        if pair is None:
            continue
        is_right = origin.get(pair.source[0], pair.source[0]) in rig.table()[part]
        assert is_right or pair.confidence <= 0.9


VARIED_CASES = [
    (name, transform)
    for name in VARIED
    for transform in TRANSFORMS
    # Without a motion nothing shows a body whose zero pose says nothing; names without words have their own test.
    if transform != "names hashed" and (transform != "zero pose changed" or RIGS[name].moves or RIGS[name].laid_out)
]


@pytest.mark.parametrize(("name", "transform"), marked(VARIED_CASES, KNOWN_VARIED))
def test_main_bones_of_rigs_written_in_other_ways(name: str, transform: str) -> None:
    variant = TRANSFORMS[transform](RIGS[name].clip(), 1)
    wrong = wrong_bones(RIGS[name], variant.clip, variant.origin)
    assert not wrong, "; ".join(wrong)


STANDING = [name for name, rig in RIGS.items() if not rig.laid_out]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("up", ["Y", "Z", "X"])
@pytest.mark.parametrize("name", STANDING)
def test_characters_without_a_motion_stand(name: str, up: str, named: bool) -> None:
    """Which way is up shows in the rest pose, whatever the joints are called, in any language."""
    if not named and (name in REFUSED_NAMELESS or (name, up) == ("Roblox R15", "X")):
        pytest.skip("ambiguous without its names")
    body = Clip(skeleton=RIGS[name].clip().skeleton)
    clip = body if named else hash_names(body).clip
    away = between(np.array([0.0, 1.0, 0.0]), np.eye(3)["XYZ".index(up)])
    found = guess(turn_world(clip, away).clip.skeleton)
    assert (found.up, name_unit(found.unit)) == (up, "m"), found.up_reason
