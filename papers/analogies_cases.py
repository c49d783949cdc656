"""The seven results of [Analogies, sec. 6] on our samples: examples, poses by inverse kinematics, marker pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from understudy import samples
from understudy.analogy.conditions import PoseAt, reach
from understudy.analogy.make import analogy
from understudy.analogy.matching import MarkerPair
from understudy.analogy.preparation import Settings
from understudy.analogy.result import Analogy
from understudy.base.quaternion import Array, from_axis_angle, multiply
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.samples import Scene
from understudy.samples.gait import walk as walk_of

SIDES = ("Left", "Right")

SPIDER_SETS = {
    "Left": ("LeftLeg1", "RightLeg2", "LeftLeg3", "RightLeg4"),
    "Right": ("RightLeg1", "LeftLeg2", "RightLeg3", "LeftLeg4"),
}
"""Alternate legs of the spider, and the foot of the human that each set follows."""

SCALE = 0.8
"""The paper's scale of pairs given by hand; here relative to the leg lengths of the bodies."""


@cache
def scene(name: str, seconds: float = 4.0) -> Scene:
    """A sample motion at 30 fps; all examples have the same length."""
    return samples.motion(name, fps=30.0, seconds=seconds)


@cache
def child_walk() -> Motion:
    return walk_of(samples.character("child"), 30.0, 4.0).motion


def march(b: Motion, **options: object) -> Analogy:
    """B's march, from walks of A and B."""
    new = scene("march")
    return analogy(scene("walk").motion, b, new.motion, contacts=new.contacts, **options)  # type: ignore[arg-type]


@cache
def child_march_plain() -> Analogy:
    return march(child_walk())


@cache
def child_poses() -> tuple[PoseAt, PoseAt]:
    """Poses at frames 44 and 80 with arms stretched as the adult's, by inverse kinematics from the plain result."""
    plain, adult = child_march_plain().motion, scene("march").motion
    body = plain.skeleton
    joints = tuple(name for name in body.names if "Arm" in name or "Hand" in name)
    keep = tuple(name for name in body.names if name not in joints)
    poses = []
    for frame in (44, 80):
        child_pose, adult_pose = fk(plain[frame : frame + 1]), fk(adult[frame : frame + 1])
        goals = {}
        for side in SIDES:
            direction = adult_pose.points([f"{side}Fingertips"])[0, 0] - adult_pose.points([f"{side}Arm"])[0, 0]
            bones = [body.offsets[body.index[f"{side}{part}"]] for part in ("ForeArm", "Hand")]
            bones.append(body.point(f"{side}Fingertips").offset)
            length = 0.99 * sum(float(np.linalg.norm(bone)) for bone in bones)
            goals[f"{side}Fingertips"] = child_pose.points([f"{side}Arm"])[0, 0] + length * direction / np.linalg.norm(
                direction
            )
        pose = reach(body, goals, start=plain.rotations[frame], root=plain.root[frame], keep=keep)
        poses.append(PoseAt(frame=frame, rotations=pose.motion.rotations[0], joints=joints))
    return poses[0], poses[1]


@cache
def child_march() -> Analogy:
    """The paper's child march: two poses stretch the arms, orthonormality is relaxed."""
    return march(child_walk(), poses=child_poses())


@cache
def dog_march() -> Analogy:
    return march(scene("dog_walk").motion)


@cache
def upright() -> Array:
    """(J, 4) the dog on its hind legs, fore paws in front of its chest."""
    dog = samples.character("dog")
    ends = {end.name: place for end, place in zip(dog.ends, dog.rest_ends)}
    start = dog.rest.copy()
    start[0] = multiply(from_axis_angle(np.array([1.0, 0.0, 0.0]), np.radians(-55.0)), start[0])
    hips = dog.offsets[0] + [0.0, 0.05, 0.02]
    hind = {name: ends[name] + [0.0, 0.0, 0.06] for side in SIDES for name in (f"{side}HindToe", f"{side}HindPad")}
    standing = reach(dog, hind, start=start, root=hips, keep=("Hips",))
    pose = fk(standing.motion)
    fore = {f"{side}ForeToe": pose.points([f"{side}UpperArm"])[0, 0] + [0.0, -0.22, 0.16] for side in SIDES}
    trunk = ("Hips", "Spine", "Spine1", "Spine2", "Chest")
    return reach(dog, fore, start=standing.motion.rotations[0], root=hips, keep=trunk).motion.rotations[0]


@cache
def dog_march_upright() -> Analogy:
    """The paper's second dog march: one pose, on two feet, at frame 10."""
    return march(scene("dog_walk").motion, poses=(PoseAt(frame=10, rotations=upright()),))


@cache
def crouch() -> Array:
    """(J, 4) the dog low over its paws, nose to the ground."""
    dog = samples.character("dog")
    ends = {end.name: place for end, place in zip(dog.ends, dog.rest_ends)}
    goals = {name: place for name, place in ends.items() if "Toe" in name or "Pad" in name}
    goals["Nose"] = ends["Nose"] - [0.0, 0.30, -0.05]
    return reach(dog, goals, root=dog.offsets[0] - [0.0, 0.14, 0.0], keep=("Hips",)).motion.rotations[0]


@cache
def dog_sneak() -> Analogy:
    """The paper's sneaky dog: a crouch at the first frame."""
    new = scene("sneak", 7.0)
    poses = (PoseAt(frame=0, rotations=crouch()),)
    return analogy(
        scene("walk").motion, scene("dog_walk").motion, new.motion, contacts=new.contacts, poses=poses
    )  # fmt: skip


@cache
def spider_pairs() -> tuple[MarkerPair, ...]:
    """Tips of alternate legs follow the left and the right foot of the human."""
    ratio = leg_length(samples.character("spider")) / leg_length(samples.character("adult"))
    return tuple(
        MarkerPair(b=f"{leg}Tip", a=(f"{side}ToeTip", f"{side}Heel"), scale=SCALE * ratio)
        for side, legs in SPIDER_SETS.items()
        for leg in legs
    )


def by_hand(body: str, pairs: tuple[MarkerPair, ...], **options: object) -> Analogy:
    """A walk of a body without an example, from marker pairs and its rest pose."""
    new = scene("walk")
    settings = Settings(**options)  # type: ignore[arg-type]
    return analogy(
        None, None, new.motion, target=samples.character(body), pairs=pairs, contacts=new.contacts, settings=settings
    )  # fmt: skip


@cache
def spider_walk() -> Analogy:
    return by_hand("spider", spider_pairs())


@cache
def spider_march() -> Analogy:
    """A march with the spider's walk by pairs as example."""
    return march(spider_walk().motion)


@cache
def dog_pairs() -> tuple[MarkerPair, ...]:
    """Pairs that treat a dog as a human on all fours: paws with feet and hands, and the joints in between."""
    ratio = leg_length(samples.character("dog")) / leg_length(samples.character("adult"))
    limbs = (("HindToe", "ToeTip"), ("Metatarsus", "Foot"), ("Shin", "Leg"), ("ForeToe", "Fingertips"),
             ("Metacarpus", "Hand"), ("Forearm", "ForeArm"))  # fmt: skip
    return tuple(MarkerPair(b=f"{side}{b}", a=(f"{side}{a}",), scale=SCALE * ratio) for side in SIDES for b, a in limbs)


@cache
def dog_walk_by_hand() -> Analogy:
    return by_hand("dog", dog_pairs())


@cache
def dog_walk_by_example() -> Analogy:
    """The same walk with the dog's own example, to compare."""
    new = scene("walk")
    return analogy(new.motion, scene("dog_walk").motion, new.motion, contacts=new.contacts)


SEVEN: dict[str, Callable[[], Analogy]] = {
    "child march, two poses": child_march,
    "dog march": dog_march,
    "dog march, one pose": dog_march_upright,
    "dog sneak, crouch": dog_sneak,
    "spider walk by hand": spider_walk,
    "spider march": spider_march,
    "dog walk by hand": dog_walk_by_hand,
}
"""The results of the paper, in its order."""
