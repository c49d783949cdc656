"""The guard: a result that is of no use is called failed, with the reason, whatever the figures say.

It takes what was to be performed and what came out, and needs no more than both bodies' joints, at some of their
frames. What a result was solved for, plants and joint limits, is judged as the solver had it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.body import leg_length
from understudy.constraints.base import Constraint
from understudy.constraints.joint_range import JointRange
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.contacts import Contact
from understudy.geometry.quaternion import Array, rotate
from understudy.kinematics import Pose
from understudy.metrics.base import ADULT, percent
from understudy.metrics.joint_limit import breach, ranges_of
from understudy.metrics.sides import Sides, View, crossed, find_sides, mirrored, turned, turns
from understudy.metrics.take import Take
from understudy.motion import Motion
from understudy.skeleton import Point
from understudy.transfer.correspondence import Correspondence, CorrespondenceError

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
        limits = [each for each in own if isinstance(each, JointRange) and each.joint.actor in actors]
    if said := scattered(source, result):
        return (said,)
    thin = result[:: max(round(result.fps / RATE), 1)]
    take = Take(result=thin, source=source, given=correspondence, contacts=None if contacts is None else (*contacts,))
    if said := _at_rest(take):
        return (said,)
    stands = stands_of(own, thin, actors) if contacts is None else _taken(take)
    return judged(take, stands, limits, made_by=None if given else correspondence)


def take_failures(take: Take) -> tuple[str, ...]:
    """The same for a result of any program, by what its source has; limits that are only a guess are left out."""
    if said := scattered(take.source, take.result) or _at_rest(take):
        return (said,)
    ranges, sure = ranges_of(take)
    return judged(take, _taken(take), ranges if sure else ()) if take.source is not None else ()


def judged(
    take: Take, stands: Sequence[Stand], limits: Sequence[JointRange], *, made_by: Correspondence | None = None
) -> tuple[str, ...]:
    """Why a result that moves is of no use, given what it was to keep and the map by which it was made."""
    exchanged, away = compared(take)
    found = [crossed(made_by) if made_by is not None else "", exchanged, away, off_limits(take, limits)]
    if not exchanged:
        # The feet of a mirror image stand when the others should: that says the same again.
        found.append(uprooted(take.pose, stands))
    return tuple(sentence for sentence in found if sentence)


def _at_rest(take: Take) -> str:
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


def compared(take: Take) -> tuple[str, str]:
    """Whether a result is mirrored against its source, and whether it faces another way; in words, empty if not."""
    # Who says by a map that left plays right asks for it.
    if take.source is None or take.shown is None or (take.given is not None and crossed(take.given)):
        return "", ""
    late = 0.5 / take.result.fps
    count = int(np.sum(take.result.times <= take.source.duration + late))
    sides = _sides(take)
    assert take.shown_pose is not None
    before = View.of(take.shown, take.shown_pose.positions, count, sides.source)
    after = View.of(take.result, take.pose.positions, count, sides.result)
    # Steps that begin half a cycle later are those of a mirror image.
    exchanged = mirrored(before, after, sides, alike=take.alike) if take.as_long else ""
    return exchanged, turned(before, after)


def _sides(take: Take) -> Sides:
    assert take.source is not None
    known = take.given
    if known is None and take.source.skeleton.names != take.result.skeleton.names:
        try:
            known = take.correspondence
        except CorrespondenceError:
            known = None
    return find_sides(take.source, take.result, known)


def off_limits(take: Take, limits: Sequence[JointRange]) -> str:
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
            return (
                f"is off its joint limits: `{limit.joint.point}` is {far:.0f} degrees beyond its range most of the time"
            )
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
        if not isinstance(each, SamePlace | Place) or each.instants or each.spot.actor not in actors:
            continue
        axes = each.axes if isinstance(each, Place) else "xyz"
        still = {"x", "z"} <= set(axes)
        height = each.height if isinstance(each, SamePlace) else None if still else float(each.target[1])
        if still or "y" in axes:
            point = result.skeleton.point(each.spot.point) if isinstance(each.spot.point, str) else each.spot.point
            found.append(Stand(point=point, frames=each.frames(result.times), height=height, still=still))
    return found


def _path(pose: Pose, point: Point, frames: np.ndarray) -> Array:
    """(n, 3) metres, world: where a point is at some frames."""
    joint = pose.skeleton.joint(point.joint)
    return pose.positions[frames, joint] + rotate(pose.rotations[frames, joint], point.offset)


def _taken(take: Take) -> list[Stand]:
    """What stands by the contacts of a source: where they land on the result, as high as they stand there."""
    found = []
    for plant in take.plants:
        height = None
        if plant.level is not None:
            height = plant.level + take.floor.heights(_path(take.pose, plant.point, plant.frames))
        found.append(Stand(point=plant.point, frames=plant.frames, height=height))
    return found
