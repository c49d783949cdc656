"""Left and right of a source and its result: who plays which, whether they are exchanged, and where bodies face."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.body import is_humanoid, leg_length
from understudy.geometry.quaternion import Array, cross
from understudy.motion import Motion
from understudy.naming import side
from understudy.roles import roles
from understudy.symmetry import partners
from understudy.transfer.correspondence import Correspondence

UP = np.array([0.0, 1.0, 0.0])
LEVEL = np.array([1.0, 0.0, 1.0])
APART = 0.02
"""Leg lengths between two sides, over the clip, above which the line between them tells left from right."""
STEADY = 0.5
"""Share of their usual distance that two sides always have where the line between them tells left from right."""
UNLIKE = 0.05
"""Leg lengths, root mean square, by which the sides must differ for a body to be told from its mirror image."""
OPPOSITE = -0.5
"""Correlation below which the sides do what the other ones should."""
TOLD = 0.5
"""Share of frames that must tell which way a body faces."""
TURNED = 90.0
"""Degrees from which on a result faces or goes another way."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Sides:
    """The joints of a source's two sides and those of the result that play them, left and right, parents first."""

    source: np.ndarray
    """(2, K)"""
    result: np.ndarray
    """(2, K)"""


@dataclass(frozen=True, eq=False, kw_only=True)
class View:
    """A body over the first frames of its motion."""

    motion: Motion
    places: Array
    """(F, J, 3) metres, world: its joints."""
    leg: float
    """Metres."""
    forward: Array
    """(F, 3) where it faces by the joints of its sides that nothing else of a side carries."""
    told: np.ndarray
    """(F,) whether they tell."""

    @staticmethod
    def of(motion: Motion, places: Array, count: int, pairs: np.ndarray) -> View:
        """A body over so many frames, whose joints of the left and right are known (2, K)."""
        left, right = pairs
        places = places[:count]
        leg = leg_length(motion.skeleton)
        apart = places[:, left] - places[:, right]
        widths = np.linalg.norm(apart, axis=-1)
        # Limbs of a flat figure are only apart where they swing, and that is no line from right to left.
        wide = widths.min(axis=0) > np.maximum(APART * leg, STEADY * widths.mean(axis=0))
        joints = set(left[wide].tolist())
        first = [not joints.intersection(motion.skeleton.chain(int(joint))[:-1]) for joint in left]
        across = apart[:, wide & np.array(first, bool)].sum(axis=1)
        forward = cross(across, UP)
        size = np.linalg.norm(forward, axis=-1)
        # Somebody who lies on the side has the left above the right: that says nothing about where they face.
        told = (size > 0.5 * np.linalg.norm(across, axis=-1)) & (size > 0.0)
        forward = forward / np.maximum(size, 1e-12)[:, None]
        return View(motion=motion, places=places, leg=leg, forward=forward, told=told)


def find_sides(source: Motion, result: Motion, correspondence: Correspondence | None) -> Sides:
    """Who plays whom on the two sides; joints play those of their name where no correspondence says otherwise."""
    names, into = source.skeleton.names, result.skeleton.index
    player: dict[str, str] = dict(zip(names, names))
    if correspondence is not None:
        player = {each.source[0]: each.target[0] for each in correspondence.pairs}
    theirs, played = [], []
    for joint, other in enumerate(partners(source.skeleton)):
        if side(names[joint]) == "right" or (side(names[joint]) != "left" and joint >= other):
            continue
        mine, its = player.get(names[joint], ""), player.get(names[other], "")
        if joint == other or mine not in into or its not in into or mine == its:
            continue
        theirs.append((joint, int(other)))
        played.append((into[mine], into[its]))
    columns = [np.array(each, np.intp).reshape(-1, 2).T for each in (theirs, played)]
    return Sides(source=columns[0], result=columns[1])


def crossed(correspondence: Correspondence) -> str:
    """Whether a map has left play right, in words."""
    straight = across = 0
    for pair in correspondence.pairs:
        mine, its = ({side(bone) for bone in bones} for bones in (pair.source, pair.target))
        if len(mine) == 1 and len(its) == 1 and "" not in mine | its:
            straight, across = straight + (mine == its), across + (mine != its)
    if across <= straight:
        return ""
    return f"is mirrored: {across} of {across + straight} bones that are on a side play those of the other side"


def mirrored(source: View, result: View, sides: Sides, *, alike: bool) -> str:
    """Whether the left of a result does what the source's right does, in words.

    What the left is ahead of the right, and above it, is turned round in a mirror image. What is the same on both
    sides is its own mirror image and tells nothing.

    Args:
        source: What was to be performed, at the frames of the result.
        result: What came out.
        sides: Which joints are on which side.
        alike: Whether a pose is the same in both bodies; of bodies that stand in ways of their own only movement is.
    """
    told = source.told & result.told
    if not sides.source.size or told.mean() < TOLD:
        return ""
    ahead = []
    for body, joints in ((source, sides.source), (result, sides.result)):
        more = ahead_of(body.places, joints, body.forward)[told] / body.leg
        ahead.append(more if alike else more - more.mean(axis=0))
    together = opposite(*ahead)
    # A leg that sticks out sideways swings otherwise than one that hangs; but it turns when its partner turns.
    if together is None or alike_by(_busier(source, sides.source), _busier(result, sides.result)) > 0.0:
        return ""
    return f"is mirrored: its left does what the source's right does (correlation of the sides {together:.2f})"


def ahead_of(places: Array, pairs: np.ndarray, forward: Array) -> Array:
    """(F, K, 2) metres by which the first of pairs of columns (2, K) are ahead of and above the second."""
    apart = places[:, pairs[0]] - places[:, pairs[1]]
    return np.stack([np.einsum("fki,fi->fk", apart, forward), apart[..., 1]], axis=-1)


def opposite(wanted: Array, done: Array) -> float | None:
    """The correlation of what the sides are to do and what they do where it is the opposite; else None."""
    if min(float(np.sqrt(np.mean(np.square(each)))) for each in (wanted, done)) < UNLIKE:
        return None
    together = alike_by(wanted, done)
    return together if together < OPPOSITE else None


def _busier(body: View, pairs: np.ndarray) -> Array:
    """(F - 1, K) how much faster joints of the left turn than those of the right, about their mean over time."""
    speeds = turns(body.motion, pairs.ravel())[: len(body.places) - 1].reshape(-1, *pairs.shape)
    more = speeds[:, 0] - speeds[:, 1]
    return more - more.mean(axis=0) if len(more) else more


def turns(motion: Motion, joints: np.ndarray | slice = slice(None)) -> Array:
    """(F - 1, J) radians that joints turn from frame to frame, as the chord has them."""
    q = motion.rotations[:, joints]
    squares = np.square(np.diff(q, axis=0)).sum(axis=-1)
    # A quaternion and its negative are the same rotation.
    return 2.0 * np.sqrt(np.maximum(np.minimum(squares, 4.0 - squares), 0.0))


def alike_by(a: Array, b: Array) -> float:
    """Correlation of two arrays about zero; 0 where one of them is nothing."""
    size = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    return float(np.sum(a * b)) / size if size > 0.0 else 0.0


def turned(source: View, result: View) -> str:
    """Whether a result faces or goes another way than its source, by body, feet or path, in words."""
    if away := away_from(source.forward, result.forward, source.told & result.told):
        return f"faces the other way: {away:.0f} degrees from where the source faces"
    toes = _toes(source), _toes(result)
    if toes[0] is not None and toes[1] is not None:
        (first, told), (second, too) = toes[0], toes[1]
        if away := away_from(first, second, told & too):
            return f"faces the other way: its feet point {away:.0f} degrees from where the source's do"
    ways = [(each.places[-1, 0] - each.places[0, 0]) * LEVEL / each.leg for each in (source, result)]
    if min(float(np.linalg.norm(way)) for way in ways) > 1.0 and (
        away := away_from(ways[0], ways[1], np.array([True]))
    ):
        return f"goes the other way: {away:.0f} degrees from where the source goes"
    return ""


def _toes(body: View) -> tuple[Array, np.ndarray] | None:
    """(F, 3) where the feet of a body point, and (F,) where that is told; None for no human ones."""
    # An animal's digits point anywhere in a stance that is not its own.
    found = roles(body.motion.skeleton) if is_humanoid(body.motion.skeleton) else {}
    feet = [(found.get(f"{which}_foot"), found.get(f"{which}_toe")) for which in ("left", "right")]
    ways = [body.places[:, toe] - body.places[:, foot] for foot, toe in feet if foot is not None and toe is not None]
    if not ways:
        return None
    way = np.sum(ways, axis=0)
    level = way * LEVEL
    size = np.linalg.norm(level, axis=-1)
    told = (size > 0.5 * np.linalg.norm(way, axis=-1)) & (size > APART * body.leg)
    return level / np.maximum(size, 1e-12)[:, None], told


def away_from(first: Array, second: Array, told: np.ndarray) -> float:
    """Degrees between directions over most frames where that is a quarter turn or more, else 0."""
    if told.mean() < TOLD:
        return 0.0
    first, second = np.atleast_2d(first)[told], np.atleast_2d(second)[told]
    sizes = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
    cosines = np.einsum("fi,fi->f", first, second) / np.maximum(sizes, 1e-12)
    away = float(np.degrees(np.arccos(np.clip(np.median(cosines), -1.0, 1.0))))
    return away if away > TURNED else 0.0
