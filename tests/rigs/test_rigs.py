"""Every main bone of every rig of the bank, onto the sample human and back, with names and without."""

from __future__ import annotations

import pytest
from tests.rigs.bank import Rig
from tests.rigs.conventions import RIGS
from tests.variants import TRANSFORMS, Known, hash_names, marked

from understudy import samples
from understudy.correspondence.pairs import Correspondence
from understudy.correspondence.suggest import suggest
from understudy.io import Clip

SAMPLE = {
    "hips": "Hips", "spine": "LowerBack", "chest": "Spine1", "neck": "Neck", "head": "Head", "collar": "Shoulder",
    "arm": "Arm", "elbow": "ForeArm", "wrist": "Hand", "thigh": "UpLeg", "knee": "Leg", "ankle": "Foot",
    "ball": "ToeBase",
}  # fmt: skip
"""The sample human's bones for the parts of the bank's tables, the side left out."""

# Rigs with main bones that are wrong today, and which. A rig that is mended fails here until it is taken out.
KNOWN: Known = {
    ("Second Life Bento",): "left ball is mToeLeft, not mFootLeft; right ball is mToeRight, not mFootRight",
    ("Rigify deform bones, limbs apart",): "spine is None, not DEF-spine.001; 5 more",
    ("Advanced Skeleton",): "spine is RootPart1_M, not Spine1_M",
    ("By hand, numbered limbs",): "left collar is None, not Arm1L; left arm is Arm1L, not Arm2L; 6 more",
}

VARIED = (
    "Unreal 4", "Daz Genesis 3 and 8", "3ds Max Biped", "MMD", "SMPL", "LaFAN1", "OptiTrack", "Kinect",
    "By hand, part first", "German", "Bones with numbers",
)  # fmt: skip
"""Rigs that are also written in other ways: with names that say much, little and nothing."""

KNOWN_VARIED: Known = {}

KNOWN_NAMELESS: Known = {
    ("MetaHuman",): "head is neck_02, not head",
    ("Source engine",): "left wrist is None, not ValveBiped.Bip01_L_Hand; 1 more",
    ("Second Life Bento",): "chest is mWingsRoot, not mChest; neck is None, not mNeck; 11 more",
    ("Rigify deform bones",): "left elbow is DEF-upper_arm.L.001, not DEF-forearm.L; 7 more",
    ("Rigify deform bones on the rig",): "left elbow is DEF-upper_arm.L.001, not DEF-forearm.L; 7 more",
    ("Rigify deform bones, limbs apart",): "spine is None, not DEF-spine.001; 16 more",
    ("Advanced Skeleton",): "spine is RootPart1_M, not Spine1_M; 8 more",
    ("3ds Max Biped, legs on the spine",): "chest is Bip01 Neck, not Bip01 Spine2; 2 more",
    ("Daz Genesis 3 and 8",): "left elbow is lShldrTwist, not lForearmBend; 8 more",
    ("Daz Genesis 9",): "left ball is l_bigtoe1, not l_toes; right ball is r_bigtoe1, not r_toes",
    ("Reallusion Character Creator",): "head is CC_Base_FacialBone, not CC_Base_Head; 2 more",
    ("AccuRIG",): "head is CC_Base_NeckTwist02, not CC_Base_Head; 2 more",
    ("MakeHuman",): "left elbow is upperarm02.L, not lowerarm01.L; 8 more",
    ("Truebones-like",): "head is jt_JawHinge_C, not jt_Head_C",
}


def sample_bone(part: str) -> str:
    side, _, place = part.rpartition(" ")
    return side.capitalize() + SAMPLE[place]


def bone_of(found: Correspondence, part: str) -> str | None:
    """The rig's bone, the source of the map, that plays a part of the sample human: the first or, for the chest, the
    last of its pair."""
    bone, index = sample_bone(part), -1 if part == "chest" else 0
    pair = next((pair for pair in found.pairs if pair.target[index] == bone), None)
    return None if pair is None else pair.source[index]


def wrong_bones(rig: Rig, clip: Clip, origin: dict[str, str]) -> list[str]:
    """The main bones that are not what the rig's table says, onto the sample human and back.

    Args:
        rig: The rig.
        clip: The rig as a clip, or a variant of it.
        origin: The rig's bones by those of the clip; bones that were added are left out.
    """
    adult = samples.character("adult")
    maps = (
        suggest(clip.skeleton, adult, source_motion=clip.motion),
        suggest(adult, clip.skeleton, target_motion=clip.motion).reversed(),
    )
    wrong = []
    for way, found in zip(("onto", "back"), maps):
        for part, right in rig.table().items():
            bone = bone_of(found, part)
            name = None if bone is None else origin.get(bone, bone)
            if name not in right:
                wrong.append(f"{way}: {part} is {name}, not {right[0]}")
    return wrong


def test_bank_is_large() -> None:
    assert len(RIGS) >= 40
    assert len({frozenset(rig.table().values()) for rig in RIGS.values()}) >= 40
    for rig in RIGS.values():
        assert len(rig.table()) >= 15, rig.name


@pytest.mark.parametrize("name", marked([(name,) for name in RIGS], KNOWN))
def test_main_bones(name: str) -> None:
    clip = RIGS[name].clip()
    wrong = wrong_bones(RIGS[name], clip, {bone: bone for bone in clip.skeleton.names})
    assert not wrong, "; ".join(wrong)


def tells_sides(rig: Rig) -> bool:
    """Whether anything but names tells left from right: toes that point forward, or a motion."""
    return rig.moves or rig.laid_out or "left ball" in rig.table()


@pytest.mark.parametrize("name", marked([(name,) for name, rig in RIGS.items() if tells_sides(rig)], KNOWN_NAMELESS))
def test_main_bones_without_names(name: str) -> None:
    variant = hash_names(RIGS[name].clip())
    wrong = wrong_bones(RIGS[name], variant.clip, variant.origin)
    assert not wrong, "; ".join(wrong)


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
