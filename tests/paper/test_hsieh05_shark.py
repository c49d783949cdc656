"""Hsieh, Chen and Ouhyoung, "Motion retargetting and transition in different articulated figures" (2005), fig. 8(b).

A shark's motion on a man: many bones to one. Section 3.1: "we may map two legs of a human to the tail fin of a fish".
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import Array, angle, angle_between, conjugate, mean, multiply, rotate
from understudy.correspondence.alignment import Alignment, align
from understudy.correspondence.carry import transfer_motion
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, Pair
from understudy.figure.contacts import Floor
from understudy.figure.kinematics import Pose, fk
from understudy.figure.motion import Motion
from understudy.retarget.driver import retarget

TRUNK = ("Hips", "LowerBack", "Spine", "Spine1")
LEGS = ("LeftUpLeg", "RightUpLeg")
BEAT = 0.95
"""Seconds of a beat of the shark's tail."""
FLOOR = Floor(slope=np.zeros(2))


def pair(source: tuple[str, ...] | str, target: tuple[str, ...] | str) -> Pair:
    return Pair(source=(source,) if isinstance(source, str) else source, target=target)  # type: ignore[arg-type]


@cache
def shark_to_man() -> Correspondence:
    """The shark's stiff front is the trunk, its pectoral fins are the arms, its tail fin both legs at once."""
    return Correspondence(
        source=samples.character("shark"),
        target=samples.character("adult"),
        pairs=(
            pair("Body", TRUNK),
            pair("Head", ("Neck", "Head")),
            pair("LeftPectoralFin", "LeftArm"),
            pair("RightPectoralFin", "RightArm"),
            pair("TailFin", LEGS),
        ),
    )


@cache
def swim() -> Motion:
    return samples.motion("swim").motion


@cache
def swimming_man(mode: str) -> tuple[Motion, Alignment]:
    aligned = align(shark_to_man(), mode=mode)
    return transfer_motion(swim(), aligned, floor=FLOOR, ratio=1.0), aligned


def line(pose: Pose, start: str, end: str) -> Array:
    """(F, 3) unit directions from one point of a body to another."""
    places = pose.points([start, end])
    way = places[:, 1] - places[:, 0]
    return way / np.linalg.norm(way, axis=-1, keepdims=True)


def heading(way: Array) -> Array:
    """(F,) radians, seen from above, of directions that point backwards."""
    return np.arctan2(-way[:, 0], -way[:, 2])


def beat_of(signal: Array, fps: float) -> float:
    """Seconds of the strongest oscillation of a signal."""
    flat = (signal - signal.mean()) * np.hanning(len(signal))
    spectrum = np.abs(np.fft.rfft(flat, 8 * len(flat)))
    return 1.0 / float(np.fft.rfftfreq(8 * len(flat), 1.0 / fps)[np.argmax(spectrum)])


def test_two_legs_and_a_tail_fin_are_one_pair():
    """Sec. 3.1: many-to-one and no correspondence are allowed; a bone in two pairs is ambiguous, and refused."""
    whole = shark_to_man()
    legs = whole.pair_of("target", "LeftUpLeg")
    assert legs is not None
    assert legs is whole.pair_of("target", "RightUpLeg")
    assert legs.source == ("TailFin",)
    assert {"Spine1", "Spine4", "Jaw", "DorsalFin"} <= set(whole.unmatched("source"))
    with pytest.raises(CorrespondenceError, match="`TailFin` of the source is in two pairs"):
        Correspondence(
            source=whole.source,
            target=whole.target,
            pairs=(pair("Body", TRUNK), pair("TailFin", "LeftUpLeg"), pair("TailFin", "RightUpLeg")),
        )


def test_the_man_lies_in_the_water_as_the_shark_does():
    """Fig. 8(b): aligned by direction his trunk lies along the shark's, face down, within 20 degrees throughout, and
    his legs stretch out behind him, within 10 degrees of level: the lobes of the fin, of different length, point up and
    down, the fin itself straight back."""
    pose = fk(swimming_man("direction")[0])
    shark = line(fk(swim()), "Spine1", "Head")
    trunk = line(pose, "Hips", "Neck")
    assert np.degrees(np.arccos(np.clip(np.einsum("fi,fi->f", shark, trunk), -1.0, 1.0))).max() < 20.0
    face = pose.directions("Spine1", np.array([0.0, 0.0, 1.0]))
    assert face[:, 1].max() < -0.9
    for side in ("Left", "Right"):
        leg = line(pose, f"{side}UpLeg", f"{side}Foot")
        assert np.einsum("fi,fi->f", leg, trunk).max() < -0.6
        assert np.degrees(np.abs(np.arcsin(leg[:, 1]))).max() < 10.0


@pytest.mark.parametrize("mode", ["direction", "stance"])
def test_both_legs_move_as_one_fin(mode):
    """They stay parallel to a millionth of a radian, and both turn, against the trunk, by just the angle by which the
    tail fin turns against the body: nothing is lost or halved by there being two."""
    motion, aligned = swimming_man(mode)
    man, shark = fk(motion), fk(swim())
    left, right = (line(man, f"{side}UpLeg", f"{side}Leg") for side in ("Left", "Right"))
    assert np.abs(left - right).max() < 1e-6
    fin = multiply(shark.rotations, conjugate(aligned.source_world))
    leg = multiply(man.rotations, conjugate(aligned.target_world))
    source, target = swim().skeleton, motion.skeleton
    turned = angle_between(fin[:, source.joint("Body")], fin[:, source.joint("TailFin")])
    for name in LEGS:
        mine = angle_between(leg[:, target.joint("Hips")], leg[:, target.joint(name)])
        assert mine == pytest.approx(turned, abs=1e-6)
    assert np.degrees(turned.max()) > 20.0


def test_the_legs_beat_in_time_with_the_tail():
    """Once in 0.95 s, together with the fin (correlation above 0.99), as far to either side within 5%."""
    man, shark = fk(swimming_man("direction")[0]), fk(swim())
    legs = heading(line(man, "LeftUpLeg", "LeftLeg"))
    tail = heading(shark.directions("TailFin", np.array([0.0, 0.0, -1.0])))
    assert np.corrcoef(legs, tail)[0, 1] > 0.99
    assert np.ptp(legs) == pytest.approx(np.ptp(tail), rel=0.05)
    assert beat_of(legs, 30.0) == pytest.approx(BEAT, rel=0.03)
    assert np.degrees(np.ptp(legs)) > 30.0


def test_the_man_goes_where_the_shark_goes():
    """His way is the shark's, shifted: he neither stays nor drifts, and his hands trail like the fins."""
    man = fk(swimming_man("direction")[0])
    gone, way = (place - place[0] for place in (man.points(["Hips"])[:, 0], fk(swim()).points(["Body"])[:, 0]))
    assert np.abs(gone - way).max() < 1e-9
    assert way[-1, 2] > 8.0
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        arm = line(man, f"{side}Arm", f"{side}Hand")
        assert (sign * arm[:, 0]).min() > 0.3


def test_in_his_own_stance_the_man_stands_and_sways_with_his_legs():
    """Where each keeps the way it stands, he is upright within 25 degrees, and his legs sway from side to side."""
    man = fk(swimming_man("stance")[0])
    assert line(man, "Hips", "Neck")[:, 1].min() > np.cos(np.radians(25.0))
    leg = line(man, "LeftUpLeg", "LeftLeg")
    assert leg[:, 1].max() < -0.7
    across = rotate(conjugate(man.rotations[:, 0]), leg)[:, 0]
    assert np.ptp(across) > 2.0 * np.ptp(rotate(conjugate(man.rotations[:, 0]), leg)[:, 2])
    assert beat_of(across, 30.0) == pytest.approx(BEAT, rel=0.03)


def test_the_whole_pipeline_takes_the_same_map():
    """No contacts, nothing to solve: what is carried is the result."""
    found = retarget(swim(), samples.character("adult"), correspondence=shark_to_man(), align="direction")
    man, plain = (
        fk(motion).points(["LeftFoot", "RightHand", "Head"]) for motion in (found.motion, swimming_man("direction")[0])
    )
    assert np.abs((man - man[:, :1]) - (plain - plain[:, :1])).max() < 0.02


@cache
def walking_shark(name: str = "walk") -> tuple[Motion, Alignment]:
    back = shark_to_man().reversed()
    # Joints start inside their limits, which a fin's are not made for a man's legs; without them nothing is lost.
    limitless = replace(back.target, limits=np.tile([-np.inf, np.inf], (back.target.num_joints, 3, 1)))
    aligned = align(Correspondence(source=back.source, target=limitless, pairs=back.pairs), mode="stance")
    return transfer_motion(samples.motion(name).motion, aligned, floor=FLOOR, ratio=1.0), aligned


@pytest.mark.parametrize("name", ["walk", "squat"])
def test_the_tail_fin_takes_the_mean_of_both_legs(name):
    """The other way round: its turn against the body is the mean of the legs' turns against the chest, where the chain
    that the body takes ends, as far as a joint that cannot roll lets it: within 3 degrees."""
    motion, aligned = walking_shark(name)
    human = samples.motion(name).motion
    pose = fk(human)
    turns = multiply(pose.rotations, conjugate(aligned.source_world))
    legs = [turns[:, human.skeleton.joint(leg)] for leg in LEGS]
    chest = turns[:, human.skeleton.joint(TRUNK[-1])]
    wanted = angle(multiply(conjugate(chest), mean(np.stack(legs))))
    shark = multiply(fk(motion).rotations, conjugate(aligned.target_world))
    got = angle_between(shark[:, motion.skeleton.joint("Body")], shark[:, motion.skeleton.joint("TailFin")])
    assert np.degrees(np.abs(got - wanted)).max() < 3.0


def test_legs_that_swing_against_each_other_hardly_move_the_tail_and_together_they_do():
    """A walk's legs are opposed: the tail goes up and down by as much as their mean goes forth and back, under half of
    what one does. In a squat both fold alike, and the tail goes all the way with them."""

    def range_of(tail_or_legs: list[Array]) -> float:
        return float(np.ptp(np.mean(tail_or_legs, axis=0)))

    ratios = {}
    for name in ("walk", "squat"):
        human, shark = fk(samples.motion(name).motion), fk(walking_shark(name)[0])
        thighs = [line(human, leg, leg.replace("Up", "")) for leg in LEGS]
        swings = [np.arctan2(thigh[:, 2], -thigh[:, 1]) for thigh in thighs]
        tail = shark.directions("TailFin", np.array([0.0, 0.0, -1.0]))
        lift = np.arctan2(tail[:, 1], -tail[:, 2])
        assert range_of([lift]) == pytest.approx(range_of(swings), rel=0.1)
        ratios[name] = range_of([lift]) / range_of(swings[:1])
    assert ratios["walk"] < 0.5
    assert ratios["squat"] == pytest.approx(1.0, abs=0.1)


def test_there_and_back_the_tail_beats_as_it_did():
    """Shark to man to shark: the tail fin's heading comes back within 3 degrees."""
    man, _ = swimming_man("direction")
    back = transfer_motion(man, align(shark_to_man().reversed(), mode="direction"), floor=FLOOR, ratio=1.0)
    first, second = (
        np.unwrap(heading(fk(motion).directions("TailFin", np.array([0.0, 0.0, -1.0])))) for motion in (swim(), back)
    )
    assert np.degrees(np.abs(first - second)).max() < 3.0
