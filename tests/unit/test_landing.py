"""Landing points: the target's points for the source's contacts, their heights, and the step ratio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from understudy import samples
from understudy.base.quaternion import conjugate, from_axis_angle, multiply
from understudy.correspondence.alignment import Alignment, align
from understudy.correspondence.carry import transfer_motion
from understudy.correspondence.landing import Landing, Soles, find_landing, step_ratio
from understudy.correspondence.neutral_pose import pose_skeleton
from understudy.correspondence.pairs import Correspondence, Pair, PointPair
from understudy.figure.contacts import Contact, Floor, held_frames
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.retarget.driver import retarget
from understudy.retarget.plan import Options
from understudy.samples import Scene

LEVEL = Floor(slope=np.zeros(2))
SIDES = ("Left", "Right")


@cache
def scene(name: str) -> Scene:
    return samples.motion(name)


def mapped(
    source: Skeleton, target: Skeleton, pairs: Sequence[tuple[str, str]], points: Sequence[tuple[str, str]] = ()
) -> Correspondence:
    made = [Pair(source=tuple(a.split()), target=tuple(b.split())) for a, b in pairs]
    spots = [PointPair(source=a, target=b) for a, b in points]
    return Correspondence(source=source, target=target, pairs=tuple(made), points=tuple(spots))


def onto_other(points: Sequence[tuple[str, str]] = (), target: Skeleton | None = None) -> Correspondence:
    """The adult and the other rig."""
    pairs = [
        ("Hips", "pelvis"),
        ("LowerBack Spine Spine1", "spine_01 spine_02 spine_03 spine_04 spine_05"),
        ("Neck", "neck_01"),
        ("Head", "head"),
    ]
    body = target or samples.character("other")
    for side, end in zip(SIDES, "lr"):
        parts = [
            ("UpLeg", "thigh"), ("Leg", "calf"), ("Foot", "foot"), ("ToeBase", "ball"),
            ("Shoulder", "clavicle"), ("Arm", "upperarm"), ("ForeArm", "lowerarm"), ("Hand", "hand"),
        ]  # fmt: skip
        pairs += [(f"{side}{a}", f"{b}_{end}") for a, b in parts if f"{b}_{end}" in body.index]
    return mapped(samples.character("adult"), body, pairs, points)


def onto_dog() -> Correspondence:
    pairs = [("Hips", "Hips"), ("LowerBack Spine Spine1", "Spine Spine1 Spine2 Chest"), ("Neck", "Neck Neck1")]
    for side in SIDES:
        limbs = [("UpLeg", "Thigh"), ("Leg", "Shin"), ("Foot", "Metatarsus"), ("ToeBase", "HindPaw"),
                 ("Arm", "UpperArm"), ("ForeArm", "Forearm")]  # fmt: skip
        pairs += [(side + a, side + b) for a, b in limbs]
        pairs.append((f"{side}Hand", f"{side}Metacarpus {side}ForePaw"))
    return mapped(samples.character("adult"), samples.character("dog"), pairs)


def landed(motion: Motion, contacts: Sequence[Contact], aligned: Alignment) -> Landing:
    carried = transfer_motion(motion, aligned, floor=LEVEL, ratio=step_ratio(aligned))
    return find_landing(motion, contacts, aligned, carried, LEVEL)


def names(landing: Landing) -> dict[str, str]:
    """The target's point for each contact point, by name."""
    return {name: point.name for name, point in landing.points.items()}


def without(body: Skeleton, *gone: str) -> Skeleton:
    """A body without some joints and their descendants."""
    lost = np.any([body.below(body.joint(name)) for name in gone], axis=0)
    return body.pruned(np.flatnonzero(~lost))[0]


def test_heel_goes_to_heel_and_toe_to_toe() -> None:
    landing = landed(scene("walk").motion, scene("walk").contacts, align(onto_other()))
    assert {name: names(landing)[name] for name in ("LeftHeel", "RightHeel")} == {
        "LeftHeel": "heel_l",
        "RightHeel": "heel_r",
    }
    toes = {name: point for name, point in names(landing).items() if "Toe" in name}
    assert set(toes.values()) == {"ball_l", "ball_r"}
    assert all(point.endswith("l") == name.startswith("Left") for name, point in names(landing).items())
    assert landing.notes == ()
    assert landing.soles == ()


def test_contacts_that_fall_together_are_joined() -> None:
    """The ball and the tip of the toes both go to the other rig's ball: one contact that covers both times."""
    contacts = scene("walk").contacts
    landing = landed(scene("walk").motion, contacts, align(onto_other()))
    balls = [c for c in landing.contacts if landing.points[c.point.name].name == "ball_l"]
    toes = [c for c in contacts if "LeftToe" in c.point.name]
    assert len(balls) == 5
    assert len(toes) == 10
    for a, b in pairwise(balls):
        assert a.end < b.start
    for toe in toes:
        assert any(ball.start <= toe.start and toe.end <= ball.end for ball in balls)
    assert sum(c.end - c.start for c in balls) <= sum(c.end - c.start for c in toes)


def test_a_foot_of_one_point_makes_all_contacts_with_it() -> None:
    body = without(samples.character("other"), "ball_l", "ball_r")
    body = replace(body, ends=tuple(end for end in body.ends if not end.joint.startswith("foot")))
    landing = landed(scene("walk").motion, scene("walk").contacts, align(onto_other(target=body)))
    assert set(names(landing).values()) == {"foot_l", "foot_r"}
    for end, side in zip("lr", SIDES):
        stands = [c for c in landing.contacts if landing.points[c.point.name].name == f"foot_{end}"]
        steps = [c for c in scene("walk").contacts if c.point.name.startswith(side)]
        assert len({c.point.name for c in stands}) == 1
        assert all(any(s.start <= c.start and c.end <= s.end for s in stands) for c in steps)


def test_what_the_target_has_not_is_not_planted_and_said() -> None:
    """A target with one leg: the contacts of the other leg are left out, and a note names them."""
    body = without(samples.character("other"), "thigh_r")
    landing = landed(scene("walk").motion, scene("walk").contacts, align(onto_other(target=body)))
    assert set(names(landing).values()) == {"heel_l", "ball_l"}
    assert all(c.point.name.startswith("Left") for c in landing.contacts)
    assert landing.notes == (
        "The target has no point on the floor for `RightHeel`, `RightToeBase`, `RightToeTip`: not planted.",
    )


def test_points_that_the_map_names_go_where_it_says() -> None:
    points = [("LeftHeel", "toe_tip_r"), ("LeftToeTip", "toe_tip_l"), ("LeftToeTip", "ball_l")]
    landing = landed(scene("walk").motion, scene("walk").contacts, align(onto_other(points)))
    landed_names = names(landing)
    assert landed_names["LeftHeel"] == "toe_tip_r"
    assert {point for name, point in landed_names.items() if name.startswith("LeftToeTip")} >= {"toe_tip_l"}
    both = {p.name for n, p in landing.points.items() if n.split(">")[0] in ("LeftToeTip", "LeftToeBase")}
    assert both == {"toe_tip_l", "ball_l"}
    assert landed_names["RightHeel"] == "heel_r", "the others go as they would"


def test_every_landing_has_a_name_of_its_own() -> None:
    landing = landed(scene("march").motion, scene("march").contacts, align(onto_dog()))
    places = [point.name for point in landing.points.values()]
    assert len(set(places)) == len(places)
    assert {c.point.name for c in landing.contacts} == set(landing.points)
    assert {name for name in landing.points if ">" in name}, "a heel that sets down two feet goes by two names"
    for name, point in landing.points.items():
        assert ">" not in name or name.endswith(f">{point.name}")


def test_fore_feet_are_set_down_with_the_opposite_hind_feet() -> None:
    """A human's two feet on four legs give a trot: diagonal paws stand at the same time."""
    aligned = align(onto_dog())
    assert aligned.stance
    landing = landed(scene("march").motion, scene("march").contacts, aligned)
    steps: dict[str, set[tuple[float, float]]] = {}
    for contact in landing.contacts:
        leg = landing.points[contact.point.name].joint
        steps.setdefault(leg, set()).add((contact.start, contact.end))
    assert set(steps) == {f"{side}{end}Paw" for side in SIDES for end in ("Fore", "Hind")}
    for side, across in (("Left", "Right"), ("Right", "Left")):
        fore = {start for start, _ in steps[f"{side}ForePaw"]}
        assert fore <= {start for start, _ in steps[f"{across}HindPaw"]}
        assert not fore & {start for start, _ in steps[f"{side}HindPaw"]} - {0.0}
        pads = [
            sorted(
                (c.start, c.end) for c in landing.contacts if landing.points[c.point.name].name == f"{side}Fore{part}"
            )
            for part in ("Pad", "Toe")
        ]
        assert pads[0] == pads[1], "all of a paw at once: it has no heel to roll over"
        front = [c for c in landing.contacts if landing.points[c.point.name].name == f"{across}HindToe"]
        assert pads[0] == sorted((c.start, c.end) for c in front), "with the ball of the foot across"


def test_a_dog_stands_alike_on_both_sides() -> None:
    """Paws below lifted wrists stand; if one paw is turned up, both sides stand on their wrists."""
    dog = samples.character("dog")
    wrists = [dog.point(f"{side}Metacarpus") for side in SIDES]
    lifted = dog.rest.copy()
    paw = dog.joint("RightMetacarpus")
    lifted[paw] = multiply(lifted[paw], from_axis_angle([1.0, 0.0, 0.0], np.radians(-120.0)))
    for pose, kept in ((dog.rest, False), (lifted, True)):
        soles = Soles.of(align(onto_dog(), mode="stance", target_pose=pose), "target")
        assert (soles.ground_point(wrists[1]) is wrists[1]) is kept
        assert soles.ground_point(wrists[0]) is not wrists[0]
        assert [landing in wrists for landing in soles.ground_alike(wrists)] == [kept, kept]


def test_a_dog_that_rises_like_a_human_stands_on_its_hind_feet_alone() -> None:
    """With aligned directions the fore paws hang like hands: they are not planted and do not count for the height."""
    aligned = align(onto_dog(), mode="direction")
    landing = landed(scene("march").motion, scene("march").contacts, aligned)
    assert {point.joint for point in landing.points.values()} == {"LeftHindPaw", "RightHindPaw"}
    pose = pose_skeleton(aligned.correspondence.target, aligned.target)
    height = pose.points(["LeftThigh"])[0, 0, 1] - pose.points(["LeftHindPad", "LeftHindToe"])[0, :, 1].mean()
    adult = pose_skeleton(aligned.correspondence.source, aligned.source).points(["LeftUpLeg", "LeftHeel"])[0, :, 1]
    assert landing.ratio == pytest.approx(height / (adult[0] - adult[1]), rel=0.02)


def test_the_hands_of_one_who_stands_are_not_planted_by_fore_paws() -> None:
    aligned = align(onto_dog().reversed())
    assert aligned.stance
    landing = landed(scene("dog_walk").motion, scene("dog_walk").contacts, aligned)
    assert {point.joint for point in landing.points.values()} == {
        "LeftFoot",
        "LeftToeBase",
        "RightFoot",
        "RightToeBase",
    }
    assert len(landing.notes) == 1
    for name in ("LeftForePad", "LeftForeToe", "RightForePad", "RightForeToe"):
        assert f"`{name}`" in landing.notes[0]


def test_on_all_fours_the_hands_are_planted() -> None:
    """With the dog's directions the adult's arms reach down like fore legs, so the hands are planted."""
    landing = landed(
        scene("dog_walk").motion, scene("dog_walk").contacts, align(onto_dog().reversed(), mode="direction")
    )
    assert {point.joint for point in landing.points.values()} >= {
        "LeftHand",
        "RightHand",
        "LeftToeBase",
        "RightToeBase",
    }
    assert landing.notes == ()


@pytest.mark.parametrize("mode", ["stance", "direction"])
@pytest.mark.parametrize("back", [False, True])
def test_no_foot_is_asked_into_the_floor(mode: str, back: bool) -> None:
    """The lowest point of a foot stands as high as the source's; the others keep their heights in the foot."""
    whole, name = (onto_dog().reversed(), "dog_walk") if back else (onto_dog(), "march")
    landing = landed(scene(name).motion, scene(name).contacts, align(whole, mode=mode))
    assert landing.rises
    for name, (usual, rise) in landing.rises.items():
        assert usual == pytest.approx(0.0, abs=1e-6), "samples stand on the floor"
        assert rise > -2e-3, f"{name}: {rise:.3f} m"
    assert min(rise for _, rise in landing.rises.values()) < 2e-3


def test_steps_are_as_much_larger_as_the_hips_are_higher() -> None:
    aligned = align(onto_other())
    source, target = (pose_skeleton(s, local) for s, local in ((aligned.correspondence.source, aligned.source),
                                                       (aligned.correspondence.target, aligned.target)))  # fmt: skip
    high = source.points(["LeftUpLeg", "LeftHeel"])[0, :, 1], target.points(["thigh_l", "heel_l"])[0, :, 1]
    assert step_ratio(aligned) == pytest.approx((high[1][0] - high[1][1]) / (high[0][0] - high[0][1]), rel=0.02)
    body = samples.character("adult")
    every = mapped(body, body.scaled(0.4), [(name, name) for name in body.names])
    assert step_ratio(align(every)) == pytest.approx(0.4, rel=1e-9)


def test_a_point_of_a_bone_goes_to_the_bones_partner() -> None:
    """A grip without an end on the target keeps its place on the bone, scaled by the legs."""
    grip = Point(name="grip", joint="LeftForeArm", offset=np.array([0.0, 0.0, 0.07]))
    contact = Contact(point=grip, start=0.5, end=1.0, place=np.zeros(3), on="rail")
    aligned = align(onto_other())
    landing = landed(scene("walk").motion, [contact], aligned)
    point = landing.points["grip"]
    assert point.joint == "lowerarm_l"
    assert np.linalg.norm(point.offset) == pytest.approx(0.07 * 0.885 / 0.85, rel=1e-9)
    one, other = (pose_skeleton(s, local) for s, local in ((aligned.correspondence.source, aligned.source),
                                                   (aligned.correspondence.target, aligned.target)))  # fmt: skip
    levers = [pose.points([p])[0, 0] - pose.points([p.joint])[0, 0] for pose, p in ((one, grip), (other, point))]
    np.testing.assert_allclose(levers[1], levers[0] * 0.885 / 0.85, atol=1e-9)


def test_no_contacts_land_nowhere() -> None:
    landing = landed(scene("walk").motion, [], align(onto_other()))
    assert (landing.contacts, landing.points, landing.notes) == ((), {}, ())


def test_holds_are_kept_on_another_rig() -> None:
    """The ladder on another body: every hand and every foot is on its rung to a millimetre."""
    sample = scene("ladder")
    landing = retarget(sample.motion, samples.character("other"), correspondence=onto_other(), contacts=sample.contacts)
    assert not landing.unmet
    pose = fk(landing.motion)
    held = [c for c in sample.contacts if c.on == "ladder"]
    assert len(held) == 16
    for contact in held:
        end = "l" if contact.point.name.startswith("Left") else "r"
        frames = contact.frames(sample.motion.fps, sample.motion.num_frames)
        assert contact.place is not None
        if contact.point.name.endswith("ToeBase"):
            apart = pose.points([f"ball_{end}"])[frames, 0] - contact.place
            assert np.abs(apart).max() < 1e-3, contact.point.name
        else:
            hand = pose.points([f"palm_{end}"])[frames, 0]
            assert np.linalg.norm(hand - contact.place, axis=-1).max() < 0.05, "the palm, as far as hands differ"
            assert np.ptp(hand, axis=0).max() < 0.04


def test_feet_stand_where_they_land_and_do_not_slide() -> None:
    sample = scene("walk")
    landing = retarget(sample.motion, samples.character("other"), correspondence=onto_other(), contacts=sample.contacts)
    assert not landing.unmet
    pose = fk(landing.motion)
    for contact in (c for c in sample.contacts if "Heel" in c.point.name):
        frames = contact.frames(sample.motion.fps, sample.motion.num_frames)
        heel = pose.points([f"heel_{'l' if contact.point.name.startswith('Left') else 'r'}"])[frames, 0]
        assert np.linalg.norm(heel - heel[0], axis=-1).max() < 1e-3
        assert np.abs(heel[:, 1]).max() < 2e-3


def test_without_plants_nothing_is_landed_on() -> None:
    sample = scene("walk")
    options = Options(plants="none", floor=False, limits=False)
    landing = retarget(
        sample.motion,
        samples.character("other"),
        correspondence=onto_other(),
        contacts=sample.contacts,
        options=options,
    )
    assert landing.outcomes == ()


def test_two_feet_on_one_landing_do_not_nail_it_down() -> None:
    """Alternating legs would hold a single tip forever: it is not planted, and the body moves on."""
    body = without(samples.character("other"), "thigh_l", "thigh_r")
    names_of = [name for name in body.names if name.startswith("spine")]
    tail = replace(
        body,
        names=(*body.names, "tail"),
        parents=np.array([*body.parents, body.joint("pelvis")]),
        offsets=np.concatenate([body.offsets, [[0.0, -0.1, 0.0]]]),
        rest=np.concatenate([body.rest, [[1.0, 0.0, 0.0, 0.0]]]),
        kinds=(*body.kinds, body.kinds[2]),
        axes=np.concatenate([body.axes, np.eye(3)[None]]),
        limits=np.concatenate([body.limits, np.tile([-np.inf, np.inf], (1, 3, 1))]),
        ends=(*body.ends, Point(name="tail_tip", joint="tail", offset=np.array([0.0, -0.8, 0.0]))),
    )
    legs = " ".join(f"{side}UpLeg" for side in SIDES)
    pairs = [("Hips", "pelvis"), ("LowerBack Spine Spine1", " ".join(names_of)), (legs, "tail")]
    whole = mapped(samples.character("adult"), tail, pairs)
    sample = scene("walk")
    landing = landed(sample.motion, sample.contacts, align(whole))
    assert landing.contacts == ()
    assert any("`tail_tip`: not planted" in note for note in landing.notes)
    moved = retarget(sample.motion, tail, correspondence=whole, contacts=sample.contacts).motion
    way = [m.root[-1, [0, 2]] - m.root[0, [0, 2]] for m in (sample.motion, moved)]
    assert np.linalg.norm(way[1]) == pytest.approx(landing.ratio * np.linalg.norm(way[0]), rel=0.1)


def test_a_limb_without_a_partner_lands_nowhere_on_the_trunk() -> None:
    """Unpaired legs on a target without legs do not land on its hips, however low those are."""
    body = without(samples.character("other"), "thigh_l", "thigh_r")
    pairs = [("Hips", "pelvis"), ("LowerBack Spine Spine1", "spine_01 spine_02 spine_03 spine_04 spine_05")]
    landing = landed(
        scene("walk").motion, scene("walk").contacts, align(mapped(samples.character("adult"), body, pairs))
    )
    assert landing.points == {}
    assert "`LeftHeel`" in landing.notes[0]


def test_a_foot_that_is_captured_steeper_than_the_other_stands_flat() -> None:
    """The markers of a capture put the right foot 6 degrees steeper: on another body both feet stand flat."""
    walk = scene("walk").motion
    foot, toe = (walk.skeleton.joint(name) for name in ("RightFoot", "RightToeBase"))
    steeper = from_axis_angle([1.0, 0.0, 0.0], 0.1)
    rotations = walk.rotations.copy()
    rotations[:, foot] = multiply(rotations[:, foot], steeper)
    rotations[:, toe] = multiply(conjugate(steeper), rotations[:, toe])
    result = retarget(replace(walk, rotations=rotations), samples.character("other"), correspondence=onto_other())
    plants = [c for c in result.contacts if c.on == "floor"]
    for side, end in zip(SIDES, "lr", strict=True):
        toes = held_frames(walk, [c for c in plants if c.point.name == f"{side}ToeBase"])
        heels = held_frames(walk, [c for c in plants if c.point.name.startswith(side) and "eel" in c.point.name])
        assert np.any(toes & heels)
        heel, ball = fk(result.motion).points([f"heel_{end}", f"ball_{end}"])[toes & heels].swapaxes(0, 1)
        tilts = np.degrees(np.arcsin((heel - ball)[:, 1] / np.linalg.norm(heel - ball, axis=-1)))
        assert np.abs(tilts - np.median(tilts)).max() < 3.0
        level = fk(rest_motion(samples.character("other"))).points([f"heel_{end}", f"ball_{end}"])[0]
        flat = np.degrees(np.arcsin((level[0] - level[1])[1] / np.linalg.norm(level[0] - level[1])))
        assert abs(float(np.median(tilts)) - flat) < 1.5, side
