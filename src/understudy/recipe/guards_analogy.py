"""Guards of analogies: B moves, faces as in its example, and its left does what is asked of its left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from understudy.body import facing, leg_length
from understudy.geometry.quaternion import Array, rotate
from understudy.kinematics import fk
from understudy.naming import side
from understudy.recipe.guards import OPPOSITE, UNLIKE, alike, away_from, frozen, scattered
from understudy.skeleton import Skeleton
from understudy.symmetry import partners

if TYPE_CHECKING:
    from understudy.eigenmotion.result import Analogy


def analogy_faults(found: Analogy) -> list[str]:
    """What makes an analogy no use, a sentence each; none for a sound one.

    B's facing is compared with its example's and its sides with what the matches ask of them, not with A's own: a crab
    may go sideways, and which leg of a dog steps with which of a man is for the examples to say.
    """
    said = scattered(found.new.motion, found.motion)
    if said:
        return [f"the result {said}"]
    if frozen(found.new.motion, found.motion):
        return ["the result stands still while the source moves"]
    if found.b is None:
        return []
    example = found.b.course.off(found.b.motion)
    ways = [facing(each).mean(axis=0) for each in (example, found.level)]
    if away := away_from(ways[0], ways[1], np.array([True])):
        return [f"the result faces the other way: {away:.0f} degrees from where B's example faces on its way"]
    return [] if found.motion.num_frames != len(found.wanted) else _sides(found)


def _sides(found: Analogy) -> list[str]:
    """Whether the markers of B's left do what those of its right are to do, where the two are not to do the same."""
    goal, skeleton = found.attempt.goal, found.motion.skeleton
    rows = _opposite(goal.joints, skeleton)
    if not len(rows):
        return []
    pose = fk(found.motion)
    made = pose.positions[:, goal.joints] + rotate(pose.rotations[:, goal.joints], goal.offsets)
    # What is wanted is told of a body without a way of its own, headed as the level motion is.
    forward = np.broadcast_to(facing(found.level).mean(axis=0), (len(made), 3))
    wanted, done = (
        _more(each, rows, way) / leg_length(skeleton)
        for each, way in ((found.wanted, forward), (made, facing(found.motion)))
    )
    if min(float(np.sqrt(np.mean(np.square(each)))) for each in (wanted, done)) < UNLIKE:
        return []
    together = alike(wanted, done)
    if together > OPPOSITE:
        return []
    return [f"the result is mirrored: its left does what its right is to do (correlation of the sides {together:.2f})"]


def _opposite(joints: np.ndarray, skeleton: Skeleton) -> np.ndarray:
    """(N, 2) rows of matched markers on a joint of the left and on its partner, as many as both have."""
    pair = partners(skeleton)
    found = []
    for joint in dict.fromkeys(joints.tolist()):
        if side(skeleton.names[joint]) == "left" and pair[joint] != joint:
            found += list(zip(np.flatnonzero(joints == joint), np.flatnonzero(joints == pair[joint])))
    return np.array(found, dtype=np.intp)


def _more(places: Array, rows: np.ndarray, forward: Array) -> Array:
    """(F, N, 2) metres that the left moves more than the right, forwards and upwards, about the mean over time."""
    apart = places[:, rows[:, 0]] - places[:, rows[:, 1]]
    more = np.stack([np.einsum("fki,fi->fk", apart, forward), apart[..., 1]], axis=-1)
    return more - more.mean(axis=0)
