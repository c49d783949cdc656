"""Guards: a result that has come apart, stands still, is mirrored or faces the other way is never called good.

Each takes what was to be performed and what came out, and answers with a sentence where something is wrong. They need
no more than both bodies' joints in the world, at some frames of long clips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.bands import rotation_curves
from understudy.body import is_humanoid, leg_length
from understudy.geometry.quaternion import Array, conjugate, cross, from_axis_angle, log, multiply, rotate
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.naming import side
from understudy.roles import roles
from understudy.symmetry import partners

if TYPE_CHECKING:
    from understudy.transfer.correspondence import Correspondence
    from understudy.transition import Transition

UP = np.array([0.0, 1.0, 0.0])
ENOUGH = 200
"""Frames that are looked at; of longer clips every so many."""
FROZEN = 1e-3
"""Share of the source's movement below which a result does not move."""
THROWN = 100.0
"""Times as far from the origin as the source ever is, in leg lengths, from which on a body was thrown away."""
APART = 0.02
"""Leg lengths between two sides, over the clip, above which the line between them tells left from right."""
UNLIKE = 0.05
"""Leg lengths, root mean square, by which the sides move differently where the source can be told from its image."""
OPPOSITE = -0.5
"""Correlation below which the sides move as the other ones should."""
TOLD = 0.5
"""Share of frames that must tell which way a body faces."""

Sides = tuple[int, int, int, int]
"""Joints of the left and right of the source, and of the joints that play them in the result."""


def faults(
    source: Motion, result: Motion, correspondence: Correspondence | None = None, *, given: bool = False
) -> list[str]:
    """What makes a result no use, a sentence each; none for a sound one.

    Args:
        source: What was to be performed.
        result: What came out, frame by frame.
        correspondence: Which bones play which; None for a body of the same joints.
        given: Whether the user chose the correspondence: one that crosses left and right is then what was asked for.
    """
    said = scattered(source, result)
    if said:
        return [said]
    if frozen(source, result):
        return ["stands still while the source moves"]
    if source.num_frames != result.num_frames:
        return []
    step = max(source.num_frames // ENOUGH, 1)
    before, after = (fk(motion[::step]).positions for motion in (source, result))
    sides = sided(source, result, correspondence)
    found = [crossed(correspondence) if correspondence is not None and not given else ""]
    found += [mirrored(source, result, sides, before, after), turned(source, result, sides, before, after)]
    return [sentence for sentence in found if sentence]


def scattered(source: Motion, result: Motion) -> str:
    """Whether numbers of a result are none, or so large that the body was thrown away."""
    arrays = [result.root, result.rotations, *([] if result.offsets is None else [result.offsets])]
    if not all(np.all(np.isfinite(array)) for array in arrays):
        return "holds numbers that are not finite"
    far = [float(np.abs(each.root).max()) / leg_length(each.skeleton) for each in (source, result)]
    if far[1] > THROWN * (1.0 + far[0]):
        return f"is thrown {far[1]:.3g} leg lengths away; the source stays within {far[0]:.3g}"
    return ""


def frozen(source: Motion, result: Motion) -> bool:
    """Whether a result stands still while its source moves."""
    before, after = (float(np.std(rotation_curves(each), axis=0).sum()) for each in (source, result))
    return before > 1e-3 and after < FROZEN * before


def sided(source: Motion, result: Motion, correspondence: Correspondence | None) -> list[Sides]:
    """The joints of the two sides of both bodies, parents first."""
    pair = partners(source.skeleton)
    names, into = source.skeleton.names, result.skeleton.index
    player: dict[str, str] = dict(zip(names, names))
    if correspondence is not None:
        player = {each.source[0]: each.target[0] for each in correspondence.pairs}
    found = []
    for joint, other in enumerate(pair):
        if side(names[joint]) == "right" or (side(names[joint]) != "left" and joint >= other):
            continue
        mine, its = player.get(names[joint]), player.get(names[other])
        if joint != other and mine in into and its in into and mine != its:
            found.append((joint, int(other), into[mine], into[its]))
    return found


def crossed(correspondence: Correspondence) -> str:
    """Whether a suggested map has left play right."""
    straight = across = 0
    for pair in correspondence.pairs:
        mine, its = ({side(bone) for bone in bones} for bones in (pair.source, pair.target))
        if len(mine) == 1 and len(its) == 1 and "" not in mine | its:
            straight, across = straight + (mine == its), across + (mine != its)
    if across <= straight:
        return ""
    return f"is mirrored: {across} of {across + straight} bones that are on a side play those of the other side"


def mirrored(source: Motion, result: Motion, sides: Sequence[Sides], before: Array, after: Array) -> str:
    """Whether the left of a result does what the source's right does.

    What the left does more than the right, forwards and upwards, is turned round in a mirror image. Movement that is
    the same on both sides is its own mirror image and tells nothing.

    Args:
        source: What was to be performed.
        result: What came out.
        sides: Which joints are on which side.
        before: (F, J, 3) metres, world: the source's joints.
        after: (F, J, 3) the result's.
    """
    if not sides:
        return ""
    left, right, its_left, its_right = np.array(sides).T
    moves = []
    for motion, places, pairs in ((source, before, (left, right)), (result, after, (its_left, its_right))):
        forward, told = _forward(motion, places, pairs)
        apart = places[:, pairs[0]] - places[:, pairs[1]]
        more = np.stack([np.einsum("fki,fi->fk", apart, forward), apart[..., 1]], axis=-1)
        moves.append((more, told))
    told = moves[0][1] & moves[1][1]
    if told.mean() < TOLD:
        return ""
    legs = [leg_length(each.skeleton) for each in (source, result)]
    a, b = ((more[told] - more[told].mean(axis=0)) / leg for (more, _), leg in zip(moves, legs))
    if min(float(np.sqrt(np.mean(np.square(each)))) for each in (a, b)) < UNLIKE:
        return ""
    together = alike(a, b)
    # A leg that sticks out sideways swings otherwise than one that hangs; but it turns when its partner turns.
    if together > OPPOSITE or alike(_busier(source, left, right), _busier(result, its_left, its_right)) > 0.0:
        return ""
    return f"is mirrored: its left does what the source's right does (correlation of the sides {together:.2f})"


def _busier(motion: Motion, left: np.ndarray, right: np.ndarray) -> Array:
    """(F - 1, K) how much faster joints of the left turn than those of the right, about their mean over time."""
    q = motion.rotations[:, np.concatenate([left, right])]
    speeds = np.linalg.norm(log(multiply(conjugate(q[:-1]), q[1:])), axis=-1)
    more = speeds[:, : len(left)] - speeds[:, len(left) :]
    return more - more.mean(axis=0)


def alike(a: Array, b: Array) -> float:
    """Correlation of what is about its mean already; 0 where one of them is nothing."""
    size = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    return float(np.sum(a * b)) / size if size > 0.0 else 0.0


def turned(source: Motion, result: Motion, sides: Sequence[Sides], before: Array, after: Array) -> str:
    """Whether a result faces or goes another way than its source, by body, feet or path; arguments as mirrored's."""
    if sides:
        left, right, its_left, its_right = np.array(sides).T
        first, told = _forward(source, before, (left, right))
        second, too = _forward(result, after, (its_left, its_right))
        if away := away_from(first, second, told & too):
            return f"faces the other way: {away:.0f} degrees from where the source faces"
    toes = [_toes(motion, places) for motion, places in ((source, before), (result, after))]
    if (
        toes[0] is not None
        and toes[1] is not None
        and (away := away_from(toes[0][0], toes[1][0], toes[0][1] & toes[1][1]))
    ):
        return f"faces the other way: its feet point {away:.0f} degrees from where the source's do"
    ways = [(each.root[-1] - each.root[0]) * [1.0, 0.0, 1.0] / leg_length(each.skeleton) for each in (source, result)]
    if min(float(np.linalg.norm(way)) for way in ways) > 1.0 and (
        away := away_from(ways[0], ways[1], np.array([True]))
    ):
        return f"goes the other way: {away:.0f} degrees from where the source goes"
    return ""


def _forward(motion: Motion, places: Array, pairs: tuple[np.ndarray, np.ndarray]) -> tuple[Array, np.ndarray]:
    """(F, 3) where a body faces by the joints of its sides that nothing else of a side carries, and (F,) where told."""
    left, right = pairs
    skeleton = motion.skeleton
    apart = places[:, left] - places[:, right]
    wide = np.linalg.norm(apart, axis=-1).mean(axis=0) > APART * leg_length(skeleton)
    carried = np.zeros(len(left), bool)
    for number, joint in enumerate(left):
        chain = set(skeleton.chain(int(joint))[:-1])
        carried[number] = any(wide[other] and int(left[other]) in chain for other in range(len(left)))
    across = apart[:, wide & ~carried].sum(axis=1)
    forward = cross(across, UP)
    size = np.linalg.norm(forward, axis=-1)
    # Somebody who lies on the side has the left above the right: that says nothing about where they face.
    told = (size > 0.5 * np.linalg.norm(across, axis=-1)) & (size > 0.0)
    return forward / np.maximum(size, 1e-12)[:, None], told


def _toes(motion: Motion, places: Array) -> tuple[Array, np.ndarray] | None:
    """(F, 3) where the feet of a body point, and (F,) where that is told; None for no human ones."""
    # An animal's digits point anywhere in a stance that is not its own.
    found = roles(motion.skeleton) if is_humanoid(motion.skeleton) else {}
    feet = [(found.get(f"{which}_foot"), found.get(f"{which}_toe")) for which in ("left", "right")]
    ways = [places[:, toe] - places[:, foot] for foot, toe in feet if foot is not None and toe is not None]
    if not ways:
        return None
    way = np.sum(ways, axis=0)
    level = way * [1.0, 0.0, 1.0]
    size = np.linalg.norm(level, axis=-1)
    told = (size > 0.5 * np.linalg.norm(way, axis=-1)) & (size > APART * leg_length(motion.skeleton))
    return level / np.maximum(size, 1e-12)[:, None], told


def away_from(first: Array, second: Array, told: np.ndarray) -> float:
    """Degrees between directions over most frames where that is a quarter turn or more, else 0."""
    if told.mean() < TOLD:
        return 0.0
    first, second = np.atleast_2d(first)[told], np.atleast_2d(second)[told]
    sizes = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
    cosines = np.einsum("fi,fi->f", first, second) / np.maximum(sizes, 1e-12)
    away = float(np.degrees(np.arccos(np.clip(np.median(cosines), -1.0, 1.0))))
    return away if away > 90.0 else 0.0


def transition_faults(found: Transition, first: Motion, second: Motion) -> list[str]:
    """What makes a transition no use: before and after the blend it must be the two motions, and move between them."""
    count = found.end - found.start
    if second.fps != first.fps:
        second = second.resampled(first.fps)
    parts = (
        (0, "the first part", found.motion[: found.start + 1], first[: found.start + 1]),
        (0, "the blend", found.motion[found.start : found.end + 1], first[found.start : found.start + count + 1]),
        (1, "the last part", found.motion[found.end :], _turned_by(second[found.entry :], found.turn)),
    )
    said = []
    for which, name, result, source in parts:
        own = result
        if found.meta is not None:
            own = (found.meta.to_source, found.meta.to_target)[which](result)
        if name == "the blend":
            # Over the blend only the beginning is the first motion's: all that is asked is that it moves.
            own_faults = [scattered(source, own), "stands still" if frozen(source, own) else ""]
        else:
            own_faults = faults(source, own)
        said += [f"{name} {sentence}" for sentence in own_faults if sentence]
    return said


def _turned_by(motion: Motion, angle: float) -> Motion:
    """A motion turned about the vertical, radians."""
    turn = from_axis_angle(UP, np.array(angle))
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    return replace(motion, root=rotate(turn, motion.root), rotations=rotations)
