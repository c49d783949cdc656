"""Motion retargetting between different articulated figures [Hsieh05, sec. 3 and 5]: a dog and a human, both ways.

Figure 8a shows a human who walks as the dog does. Ours are the dog's walk and trot on the human and the human's walk
and march on the dog, by maps given as in figure 4, in both ways of alignment: by direction, as in the paper, and each
from its own stance. Where the paper stops at the transferred angles, ours has to stand on its feet as well: contacts
within 1 mm, the floor within 2 mm.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import (
    Array,
    angle_between,
    conjugate,
    from_axis_angle,
    identity,
    multiply,
    normalize,
    unrotate,
)
from understudy.correspondence.alignment import align
from understudy.correspondence.carry import transfer_motion
from understudy.correspondence.neutral_pose import pose_skeleton
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, Pair
from understudy.figure.contacts import Floor
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.retarget.driver import retarget
from understudy.retarget.plan import Options
from understudy.solve.solvers.base import Solution

SIDES = ("Left", "Right")
LIMBS = {"hind": (("Thigh", "HindPaw"), ("UpLeg", "ToeBase")), "fore": (("UpperArm", "ForePaw"), ("Arm", "Hand"))}
"""First and last joint of the limbs that correspond, of the dog and of the human."""
CONTACT, FLOOR, IN_STEP = 1e-3, 2e-3, 0.8


def figure4(**details: dict[str, object]) -> Correspondence:
    """The map of figure 4: trunks, necks and heads, hind legs to legs, fore legs to arms; no tail, jaw or scapula.

    Details of a pair by the first bone of the human in it.
    """
    named = [
        ("Hips", "Hips"),
        ("Spine Spine1 Spine2 Chest", "LowerBack Spine Spine1"),
        ("Neck Neck1", "Neck"),
        ("Head", "Head"),
    ]
    for side in SIDES:
        named += [
            (side + dog, side + human)
            for dog, human in (
                ("Thigh", "UpLeg"),
                ("Shin", "Leg"),
                ("Metatarsus", "Foot"),
                ("HindPaw", "ToeBase"),
                ("UpperArm", "Arm"),
                ("Forearm", "ForeArm"),
            )
        ]
        named.append((f"{side}Metacarpus {side}ForePaw", f"{side}Hand"))
    pairs = [
        Pair(source=tuple(a.split()), target=tuple(b.split()), **details.get(b.split()[0], {}))  # type: ignore[arg-type]
        for a, b in named
    ]
    return Correspondence(source=samples.character("dog"), target=samples.character("adult"), pairs=tuple(pairs))


@cache
def played(name: str, mode: str) -> Solution:
    """A sample by the other figure. Its own limits are left aside by direction: there a back lies that never did."""
    scene = samples.motion(name)
    whole = figure4() if scene.motion.skeleton.name == "dog" else figure4().reversed()
    options = Options(limits=mode == "stance")
    return retarget(
        scene.motion, whole.target, correspondence=whole, contacts=scene.contacts, align=mode, options=options
    )


def swing(motion: Motion, limb: str, side: str) -> Array:
    """(F,) swing angle of a limb in the sagittal plane, radians: 0 is straight down, forward is positive."""
    first, last = (side + name for name in LIMBS[limb][0 if motion.skeleton.name == "dog" else 1])
    line = fk(motion).points([last])[:, 0] - fk(motion).points([first])[:, 0]
    return np.unwrap(np.arctan2(np.einsum("fi,fi->f", line, facing(motion)), -line[:, 1]))


def in_step(one: Motion, other: Motion, limb: str, side: str) -> float:
    return float(np.corrcoef(swing(one, limb, side), swing(other, limb, side))[0, 1])


CASES = [(name, mode) for name in ("dog_walk", "dog_trot", "march", "walk") for mode in ("stance", "direction")]


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_figure_8_the_other_figure_stands_on_its_feet(name: str, mode: str) -> None:
    found = played(name, mode)
    assert not found.unmet, found.result
    kinds = {o.constraint.kind for o in found.outcomes}
    assert {"same_place", "region"} <= kinds
    assert max(o.worst for o in found.outcomes if o.constraint.kind == "same_place") < CONTACT
    pose = fk(found.motion)
    planted = {o.constraint.point_refs()[0].point for o in found.outcomes if o.constraint.kind == "same_place"}
    lowest = min(float(pose.points([point])[..., 1].min()) for point in planted)
    assert lowest > -FLOOR, f"{1e3 * lowest:.1f} mm"


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_figure_8_legs_swing_in_step(name: str, mode: str) -> None:
    source, found = samples.motion(name).motion, played(name, mode).motion
    for side in SIDES:
        assert in_step(source, found, "hind", side) > IN_STEP, f"{side} hind"


@pytest.mark.parametrize("name", ["dog_walk", "dog_trot"])
def test_figure_8_arms_swing_as_the_fore_legs_do(name: str) -> None:
    """Checked on the standing human; on all fours the hands are on the floor anyway."""
    source = samples.motion(name).motion
    for mode in ("stance", "direction"):
        for side in SIDES:
            assert in_step(source, played(name, mode).motion, "fore", side) > IN_STEP, f"{mode} {side}"
    for side in SIDES:
        shoulder, hand = np.moveaxis(fk(played(name, "stance").motion).points([f"{side}Arm", f"{side}Hand"]), 1, 0)
        hangs = (shoulder - hand)[:, 1] / np.linalg.norm(shoulder - hand, axis=-1)
        assert np.degrees(np.arccos(hangs)).max() < 60.0, f"{side}: an arm that walks is never level"


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_nothing_is_frozen_and_nothing_jumps(name: str, mode: str) -> None:
    """Every bone with a partner that moves, moves; from frame to frame no joint turns much faster than the source's."""
    source, found = samples.motion(name).motion, played(name, mode).motion
    turns = [angle_between(m.rotations[1:], m.rotations[:-1]) for m in (source, found)]
    assert turns[1].max() < 1.5 * turns[0].max()
    for limb, side in ((limb, side) for limb in LIMBS for side in SIDES):
        wide = [float(np.ptp(swing(m, limb, side))) for m in (source, found)]
        assert wide[1] > 0.3 * wide[0], f"{side} {limb}: {np.degrees(wide).round()}"
    way = [m.root[-1, [0, 2]] - m.root[0, [0, 2]] for m in (source, found)]
    sizes = [float(np.linalg.norm(w)) for w in way]
    assert way[0] @ way[1] > np.cos(np.radians(3.0)) * sizes[0] * sizes[1]
    # The dog's shoulder blades swing to and fro, so that the way it goes tells better than they where it faces.
    ahead = facing(found)[:, [0, 2]] @ (way[0] / sizes[0])
    # On all fours the adult's arms are short for the steps: shoulders and hips turn to reach.
    widest = 30.0 if mode == "direction" and name.startswith("dog") else 15.0
    assert np.degrees(np.arccos(np.clip(ahead, -1.0, 1.0))).max() < widest


def reframed(motion: Motion, seed: int) -> Motion:
    """The same movement with the joints' local frames rotated at random."""
    body = motion.skeleton
    turns = normalize(np.random.default_rng(seed).normal(size=(body.num_joints, 4)))
    above = np.concatenate([identity(1), turns])[body.parents + 1]
    other = replace(
        body,
        offsets=unrotate(above, body.offsets),
        rest=multiply(conjugate(above), multiply(body.rest, turns)),
        axes=unrotate(turns[:, None], body.axes),
        ends=tuple(replace(e, offset=unrotate(turns[body.index[e.joint]], e.offset)) for e in body.ends),
    )
    return replace(motion, skeleton=other, rotations=multiply(conjugate(above), multiply(motion.rotations, turns)))


@pytest.mark.parametrize("mode", ["stance", "direction"])
def test_section_33_local_frames_do_not_matter(mode: str) -> None:
    """Figure 5: the local frames of corresponding bones differ, and what is transferred does not (1e-6 m)."""
    motion = samples.motion("dog_walk", seconds=1.0).motion
    other = reframed(motion, 12)
    whole, floor = figure4(), Floor(slope=np.zeros(2))
    plain = transfer_motion(motion, align(whole, mode=mode), floor=floor, ratio=1.5)
    odd = replace(whole, source=other.skeleton)
    found = transfer_motion(other, align(odd, mode=mode), floor=floor, ratio=1.5)
    np.testing.assert_allclose(fk(found).positions, fk(plain).positions, atol=1e-6)


def directions(skeleton: Skeleton, local: Array, *bones: tuple[str, str]) -> Array:
    """(N, 3) unit directions from one joint to another in a pose."""
    pose = pose_skeleton(skeleton, local)
    lines = np.array([pose.points([b])[0, 0] - pose.points([a])[0, 0] for a, b in bones])
    return lines / np.linalg.norm(lines, axis=-1, keepdims=True)


LIMB_BONES = {
    "dog": [(s + a, s + b) for s in SIDES for a, b in (("Thigh", "Shin"), ("Shin", "Metatarsus"),
            ("Metatarsus", "HindPaw"), ("UpperArm", "Forearm"), ("Forearm", "Metacarpus"))],
    "adult": [(s + a, s + b) for s in SIDES for a, b in (("UpLeg", "Leg"), ("Leg", "Foot"),
              ("Foot", "ToeBase"), ("Arm", "ForeArm"), ("ForeArm", "Hand"))],
}  # fmt: skip


@pytest.mark.parametrize("back", [False, True])
def test_section_32_directions_agree_after_alignment(back: bool) -> None:
    """From root to leaf every bone of the limbs points as its partner does, to 1e-6, though before none did."""
    whole = figure4().reversed() if back else figure4()
    aligned = align(whole, mode="direction")
    of, to = LIMB_BONES[whole.source.name], LIMB_BONES[whole.target.name]
    source = directions(whole.source, aligned.source, *of)
    np.testing.assert_allclose(directions(whole.target, aligned.target, *to), source, atol=1e-6)
    before = np.einsum("ni,ni->n", directions(whole.target, whole.target.rest, *to), source)
    assert (before < np.cos(np.radians(5.0))).mean() > 0.5


def test_section_32_twist_is_the_users_to_adjust() -> None:
    """Figure 5's hand: turned about the arm by what the user gives, pointing where it pointed."""
    plain, other = (align(figure4(LeftHand={"twist": twist}), mode="direction") for twist in (0.0, np.pi / 2))
    joint = plain.correspondence.target.joint("LeftHand")
    assert angle_between(plain.target_world[joint], other.target_world[joint]) == pytest.approx(np.pi / 2)
    body = plain.correspondence.target
    tips = [
        pose_skeleton(body, each.target).points(["LeftPalm", "LeftFingertips"])[0].mean(0)
        - pose_skeleton(body, each.target).points(["LeftHand"])[0, 0]
        for each in (plain, other)
    ]
    np.testing.assert_allclose(tips[0], tips[1], atol=1e-9)


def test_section_31_two_legs_move_one_fin() -> None:
    """Many to one: the shark's tail fin swings as the mean of the legs does; bones without a partner stay."""
    motion = samples.motion("walk", seconds=2.0).motion
    shark = samples.character("shark")
    pairs = [("Hips", "Body"), ("LeftUpLeg RightUpLeg", "Spine1"), ("Head", "Head")]
    whole = Correspondence(
        source=motion.skeleton,
        target=shark,
        pairs=tuple(Pair(source=tuple(a.split()), target=tuple(b.split())) for a, b in pairs),
    )
    aligned = align(whole)
    found = transfer_motion(motion, aligned, floor=Floor(slope=np.zeros(2)), ratio=0.5)
    fin = found.rotations[:, shark.joint("Spine1")]
    legs = fk(motion).rotations[:, [motion.skeleton.joint(f"{side}UpLeg") for side in SIDES]]
    apart = angle_between(legs[:, 0], legs[:, 1])
    moved = angle_between(fin, fin[:1])
    assert 0.02 < moved.max() < 0.5 * apart.max(), "legs that swing against each other nearly cancel"
    jaw = shark.joint("Jaw")
    assert angle_between(found.rotations[:, jaw], shark.rest[jaw]).max() < 1e-9


def test_section_31_ambiguous_maps_are_refused() -> None:
    whole = figure4()
    with pytest.raises(CorrespondenceError, match="The map is ambiguous: `Hips` of the source is in two pairs"):
        replace(whole, pairs=(*whole.pairs, Pair(source=("Hips",), target=("LeftShoulder",))))


def test_a_turn_of_the_whole_dog_turns_the_human_as_much() -> None:
    """The world does not matter either: a dog that walks another way is played by a human who goes that way."""
    motion = samples.motion("dog_walk", seconds=1.0).motion
    turn = from_axis_angle(np.array([0.0, 1.0, 0.0]), 2.0)
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    away = replace(motion, rotations=rotations, root=unrotate(conjugate(turn), motion.root))
    aligned, floor = align(figure4()), Floor(slope=np.zeros(2))
    plain, found = (fk(transfer_motion(m, aligned, floor=floor, ratio=1.5)).positions for m in (motion, away))
    np.testing.assert_allclose(found, unrotate(conjugate(turn), plain), atol=1e-9)
