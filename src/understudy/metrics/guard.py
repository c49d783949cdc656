"""The guard: a result that is of no use is called failed, with the reason, whatever the figures say.

It takes what was to be performed and what came out, and needs no more than both bodies' joints, at some of their
frames. What a result was solved for, plants and joint limits, is judged as the solver had it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.base.quaternion import Array, cross, rotate
from understudy.constraints.base import Constraint
from understudy.constraints.joint_range import JointRange
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.correspondence.pairs import Correspondence, CorrespondenceError
from understudy.figure.contacts import Contact
from understudy.figure.kinematics import Pose
from understudy.figure.measures import is_humanoid, leg_length
from understudy.figure.motion import Motion
from understudy.figure.naming import side
from understudy.figure.roles import roles
from understudy.figure.skeleton import Point
from understudy.figure.symmetry import partners
from understudy.metrics.base import ADULT, percent
from understudy.metrics.comparison import Comparison
from understudy.metrics.joint_limit import breach, ranges_of

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
class SidePairs:
    """The joints of a source's two sides and those of the result that play them, left and right, parents first."""

    source: np.ndarray
    """(2, K)"""
    result: np.ndarray
    """(2, K)"""


@dataclass(frozen=True, eq=False, kw_only=True)
class CheckInput:
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
    def of(motion: Motion, places: Array, count: int, pairs: np.ndarray) -> CheckInput:
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
        return CheckInput(motion=motion, places=places, leg=leg, forward=forward, told=told)


def find_sides(source: Motion, result: Motion, correspondence: Correspondence | None) -> SidePairs:
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
    return SidePairs(source=columns[0], result=columns[1])


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


def mirrored(source: CheckInput, result: CheckInput, sides: SidePairs, *, alike: bool) -> str:
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


def _busier(body: CheckInput, pairs: np.ndarray) -> Array:
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


def turned(source: CheckInput, result: CheckInput) -> str:
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


def _toes(body: CheckInput) -> tuple[Array, np.ndarray] | None:
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


RATE = 15.0
"""Frames a second at which a result is looked at, so that guarding every clip costs next to nothing."""

FROZEN = 1e-3
"""Share of the source's movement below which a result does not move."""

STILL = 1e-6
"""Radians and metres of movement below which there is none."""

SLOW = 0.1
"""Share of its mean movement below which a source counts as still, too."""

MOST = 0.5
"""Share of frames that makes a defect one of the whole result."""

THROWN = 100.0
"""Times as far from the origin as the source ever is, in leg lengths, from which on a body was thrown away."""

BROKEN = 45.0
"""Degrees beyond its range, and beyond what the source itself does, at which a joint is broken."""

NEAR = 0.05
"""Metres on an adult body within which a planted point is in its place."""

LOST = 0.25
"""Share of contacts, weighed by their frames, below which a result is without its source's."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Stand:
    """A point of a result while it is to stay where it is."""

    point: Point
    frames: np.ndarray
    """(n,) of the result."""
    height: Array | float | None
    """(n,) or one, metres, world: how high it is to be; None where that is left open."""
    still: bool = True
    """Whether it may not move over the floor."""


def failures(
    result: Motion,
    source: Motion | None = None,
    correspondence: Correspondence | None = None,
    *,
    contacts: Sequence[Contact] | None = None,
    limits: Sequence[JointRange] | None = None,
    constraints: Iterable[Constraint] = (),
    actors: Sequence[str] = ("",),
    given: bool = False,
) -> tuple[str, ...]:
    """Why a result must not be called a success, a sentence without its subject each; none for a sound one.

    Args:
        result: What came out.
        source: What was to be performed.
        correspondence: Which bones play which; None for a body of the same joints.
        contacts: The source's contacts that the result should have; None for those of the constraints.
        limits: The ranges of its joints; None for those of the constraints.
        constraints: What it was solved for, without what a user asks for besides: plants and limits are told by it.
        actors: The names under which constraints speak of the result.
        given: Whether the user chose the correspondence: one that crosses left and right is then what was asked for.
    """
    own = list(constraints)
    if limits is None:
        limits = [each for each in own if isinstance(each, JointRange) and each.joints()[0].actor in actors]
    if said := scattered(source, result):
        return (said,)
    thin = result[:: max(round(result.fps / RATE), 1)]
    take = Comparison(
        result=thin, source=source, given=correspondence, contacts=None if contacts is None else (*contacts,)
    )
    if said := _at_rest(take):
        return (said,)
    stands = stands_of(own, thin, actors) if contacts is None else _taken(take)
    return judged(take, stands, limits, made_by=None if given else correspondence)


def take_failures(take: Comparison) -> tuple[str, ...]:
    """The same for a result of any program, by what its source has; limits that are only a guess are left out."""
    if said := scattered(take.source, take.result) or _at_rest(take):
        return (said,)
    ranges, sure = ranges_of(take)
    return judged(take, _taken(take), ranges if sure else ()) if take.source is not None else ()


def judged(
    take: Comparison, stands: Sequence[Stand], limits: Sequence[JointRange], *, made_by: Correspondence | None = None
) -> tuple[str, ...]:
    """Why a result that moves is of no use, given what it was to keep and the map by which it was made."""
    exchanged, away = compared(take)
    found = [crossed(made_by) if made_by is not None else "", exchanged, away, off_limits(take, limits)]
    if not exchanged:
        # The feet of a mirror image stand when the others should: that says the same again.
        found.append(uprooted(take.pose, stands))
    return tuple(sentence for sentence in found if sentence)


def _at_rest(take: Comparison) -> str:
    """Whether a result does not move though it should, in words."""
    if take.source is None:
        if take.result.num_frames < 2:
            return "is a single frame"
        steps = sum(float(each(take.result).sum()) for each in (turning, travel))
        return "stands still: nothing in it moves" if steps < STILL else ""
    assert take.shown is not None
    joints = None
    if take.given is not None:
        joints = [take.source.skeleton.joint(bone) for pair in take.given.pairs for bone in pair.source]
    return "stands still while the source moves" if frozen(take.shown, take.result, joints) else ""


def scattered(source: Motion | None, result: Motion) -> str:
    """Whether numbers of a result are none, or so large that the body was thrown away, in words."""
    arrays = [result.root, result.rotations, *([] if result.offsets is None else [result.offsets])]
    if not all(np.all(np.isfinite(array)) for array in arrays):
        return "holds numbers that are not finite"
    if source is None:
        return ""
    far = [float(np.abs(each.root).max()) / leg_length(each.skeleton) for each in (source, result)]
    if far[1] > THROWN * (1.0 + far[0]):
        return f"is thrown {far[1]:.3g} leg lengths away; the source stays within {far[0]:.3g}"
    return ""


def frozen(source: Motion, result: Motion, joints: Sequence[int] | None = None) -> bool:
    """Whether a result stands still for most of the time in which its source moves.

    Args:
        source: What was to be performed, at the frames of the result.
        result: What came out.
        joints: Those of the source that the result plays; all if not given.
    """
    count = max(min(source.num_frames, result.num_frames) - 1, 0)
    steps = turning(source, joints)[:count], turning(result)[:count]
    if steps[0].sum() < FROZEN:
        steps = travel(source)[:count], travel(result)[:count]
    moving = steps[0] > max(SLOW * float(steps[0].mean()), STILL) if steps[0].size else np.zeros(0, bool)
    return bool(moving.any()) and float(np.mean(steps[1][moving] < FROZEN * steps[0][moving])) > MOST


def turning(motion: Motion, joints: Sequence[int] | None = None) -> Array:
    """(F - 1,) radians that joints turn from frame to frame, all together."""
    return turns(motion, slice(None) if joints is None else np.array(joints, np.intp)).sum(axis=-1)


def travel(motion: Motion) -> Array:
    """(F - 1,) metres that a body goes from frame to frame."""
    return np.linalg.norm(np.diff(motion.root, axis=0), axis=-1)


def compared(take: Comparison) -> tuple[str, str]:
    """Whether a result is mirrored against its source, and whether it faces another way; in words, empty if not."""
    # Who says by a map that left plays right asks for it.
    if take.source is None or take.shown is None or (take.given is not None and crossed(take.given)):
        return "", ""
    late = 0.5 / take.result.fps
    count = int(np.sum(take.result.times <= take.source.duration + late))
    sides = _sides(take)
    assert take.shown_pose is not None
    before = CheckInput.of(take.shown, take.shown_pose.positions, count, sides.source)
    after = CheckInput.of(take.result, take.pose.positions, count, sides.result)
    # Steps that begin half a cycle later are those of a mirror image.
    exchanged = mirrored(before, after, sides, alike=take.alike) if take.as_long else ""
    return exchanged, turned(before, after)


def _sides(take: Comparison) -> SidePairs:
    assert take.source is not None
    known = take.given
    if known is None and take.source.skeleton.names != take.result.skeleton.names:
        try:
            known = take.correspondence
        except CorrespondenceError:
            known = None
    return find_sides(take.source, take.result, known)


def off_limits(take: Comparison, limits: Sequence[JointRange]) -> str:
    """Whether a joint is far outside its range for most of the time, and the source's own is not, in words."""
    for limit in limits:
        over = np.degrees(breach(limit, take.result))
        if np.mean(over > BROKEN) <= MOST:
            continue
        if take.alike and take.shown is not None:
            # A capture often leaves the limits of its own file, and doing the same is no fault.
            over = over - np.degrees(breach(limit, take.shown))
        if np.mean(over > BROKEN) > MOST:
            far = float(np.median(over))
            joint = limit.joints()[0].point
            return f"is off its joint limits: `{joint}` is {far:.0f} degrees beyond its range most of the time"
    return ""


def uprooted(pose: Pose, stands: Sequence[Stand]) -> str:
    """Whether a result is without its source's contacts, in words: of what should stand little does.

    A contact is kept if its point is near its place, and as high as it should be, for half of its frames or more.
    """
    some = [stand for stand in stands if len(stand.frames)]
    held = [stand for stand in some if stand.still] or some
    if not held:
        return ""
    counts = np.array([len(stand.frames) for stand in held])
    starts = np.cumsum(counts) - counts
    frames = np.concatenate([stand.frames for stand in held])
    joints = np.repeat([pose.skeleton.joint(stand.point.joint) for stand in held], counts)
    offsets = np.repeat([stand.point.offset for stand in held], counts, axis=0)
    paths = pose.positions[frames, joints] + rotate(pose.rotations[frames, joints], offsets)
    place = np.add.reduceat(paths, starts) / counts[:, None]
    off = paths - np.repeat(place, counts, axis=0)
    off[np.repeat([not stand.still for stand in held], counts)] = 0.0
    off[:, 1] = paths[:, 1] - np.concatenate([_heights(stand, counts[i], place[i, 1]) for i, stand in enumerate(held)])
    near = NEAR * leg_length(pose.skeleton) / ADULT
    there = (np.hypot(off[:, 0], off[:, 2]) <= near) & (np.abs(off[:, 1]) <= near)
    kept = np.add.reduceat(there.astype(float), starts) >= MOST * counts
    share = float(counts[kept].sum() / counts.sum())
    if share >= LOST:
        return ""
    return f"is without its source's contacts: {percent(1.0 - share)} of what should stand does not stay there"


def _heights(stand: Stand, count: int, otherwise: float) -> Array:
    """(n,) metres, world: how high a point is to be, or how high it is where that is left open."""
    return np.full(count, otherwise if stand.height is None else stand.height)


def stands_of(constraints: Iterable[Constraint], result: Motion, actors: Sequence[str] = ("",)) -> list[Stand]:
    """What constraints keep standing: points that stay in one place, or at one height, over some time.

    Whether a given place is reached is for the report of the solve to say: what is left of it here is to stay there.
    """
    found = []
    for each in constraints:
        if not isinstance(each, SamePlace | Place) or each.instants or each.point_refs()[0].actor not in actors:
            continue
        axes = each.axes if isinstance(each, Place) else "xyz"
        still = {"x", "z"} <= set(axes)
        height = each.height if isinstance(each, SamePlace) else None if still else float(each.target[1])
        if still or "y" in axes:
            point = each.point_refs()[0].point
            point = result.skeleton.point(point) if isinstance(point, str) else point
            found.append(Stand(point=point, frames=each.frames(result.times), height=height, still=still))
    return found


def _path(pose: Pose, point: Point, frames: np.ndarray) -> Array:
    """(n, 3) metres, world: where a point is at some frames."""
    joint = pose.skeleton.joint(point.joint)
    return pose.positions[frames, joint] + rotate(pose.rotations[frames, joint], point.offset)


def _taken(take: Comparison) -> list[Stand]:
    """What stands by the contacts of a source: where they land on the result, as high as they stand there."""
    found = []
    for plant in take.plants:
        height = None
        if plant.level is not None:
            height = plant.level + take.floor.heights(_path(take.pose, plant.point, plant.frames))
        found.append(Stand(point=plant.point, frames=plant.frames, height=height))
    return found
