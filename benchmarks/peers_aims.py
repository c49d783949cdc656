"""What a robot's links are asked to do, frame by frame, after a human: the input of per-frame inverse kinematics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.base.quaternion import Array, conjugate, multiply, rotate, unrotate
from understudy.correspondence.alignment import Alignment
from understudy.correspondence.landing import step_ratio
from understudy.figure.contacts import contact_points, find_floor, scaled_places
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.roles import roles, side
from understudy.figure.skeleton import Point
from understudy.io.robot.trajectory import WORLD
from understudy.retarget.plan import Plan

USUAL = 10.0
"""Percentile of a foot's heights at which it stands."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Aim:
    """Where a link should be at every frame, in the robot's own world, Z up."""

    joint: str
    """The joint that the link hangs from; the root link's own name."""
    kind: str
    places: Array
    """(F, 3) metres."""
    turns: Array
    """(F, 4)."""


def aims(whole: Plan, by: str) -> list[Aim]:
    """What GMR asks of a robot: links placed and turned like the human's, scaled.

    Orientations, and places that cost little, are those of the angles carried over, so that they suit the robot. Feet
    go where the human's went, scaled by the legs, and stand on the floor.

    Args:
        whole: The retarget.
        by: What of a foot is to be where the human's was: `ankle` or `ball`.
    """
    part, start = whole.assignments[0], whole.starts[0]
    assert part.alignment is not None
    pose, feet = fk(start), _feet(whole, part.alignment, by)
    found = []
    for name, kind in _links(part.alignment).items():
        joint = part.target.index[name]
        places = feet[name] if kind == "foot" else pose.positions[:, joint]
        turns = multiply(conjugate(WORLD), pose.rotations[:, joint])
        found.append(Aim(joint=name, kind=kind, places=unrotate(WORLD, places), turns=turns))
    return found


def _links(alignment: Alignment) -> dict[str, str]:
    """The robot's joints whose links have an aim, and their kind: the last of every pair, and of the trunk's the last
    alone."""
    whole = alignment.correspondence
    found: dict[str, str] = {}
    trunk = ""
    ankles = {joint for role, joint in roles(whole.source).items() if role.endswith("_foot")}
    for pair in whole.ordered:
        if pair is whole.root:
            found[pair.target[-1]] = "root"
        elif not side(pair.source[-1]):
            found.pop(trunk, None)
            trunk = pair.target[-1]
            found[trunk] = "trunk"
        else:
            foot = any(whole.source.index[bone] in ankles for bone in pair.source)
            found[pair.target[-1]] = "foot" if foot else "limb"
    return found


def _feet(whole: Plan, alignment: Alignment, by: str) -> dict[str, Array]:
    """(F, 3) for each foot's last joint: where it is when the ankle or ball of the robot's foot is where the human's
    was, scaled by the legs, as high above the floor as the robot's when it stands."""
    part, pose = whole.assignments[0], fk(whole.starts[0])
    source, floor = fk(part.motion), find_floor(whole.contacts, leg_length(part.motion.skeleton))
    standing = fk(rest_motion(part.target))
    found = {}
    for name, kind in _links(alignment).items():
        pair = alignment.correspondence.pair_of("target", name)
        if kind != "foot" or pair is None:
            continue
        point = _ball(part.motion, pair.source[-1]) if by == "ball" else part.motion.skeleton.point(pair.source[-1])
        places = scaled_places(source.points([point])[:, 0], step_ratio(alignment), floor)
        usual = float(np.percentile(places[:, 1] - floor.heights(places), USUAL))
        ends = [end for end in part.target.ends if end.joint == name]
        toes = [end.offset for end in ends if by == "ball" and "toe" in end.name]
        offset = np.mean(toes or [np.zeros(3)], axis=0)
        joint = part.target.index[name]
        stands = standing.positions[0, joint] + rotate(standing.rotations[0, joint], offset)
        sole = float(standing.points(ends)[0, :, 1].min()) if ends else float(stands[1])
        up = np.array([0.0, stands[1] - sole - usual, 0.0])
        found[name] = places + up - rotate(pose.rotations[:, joint], offset)
    return found


def _ball(motion: Motion, foot: str) -> Point:
    """The ball of a human's foot, or its ankle if it has none."""
    below = motion.skeleton.below(motion.skeleton.index[foot])
    balls = [p for p in contact_points(motion) if p.joint != foot and below[motion.skeleton.index[p.joint]]]
    return balls[0] if balls else motion.skeleton.point(foot)


def strayed(motion: Motion, wanted: list[Aim]) -> float:
    """Metres that a robot's feet are from their aims, on average."""
    positions = unrotate(WORLD, fk(motion).positions)
    feet = [aim for aim in wanted if aim.kind == "foot"]
    off = [np.linalg.norm(positions[:, motion.skeleton.index[aim.joint]] - aim.places, axis=1) for aim in feet]
    return float(np.mean(off))
