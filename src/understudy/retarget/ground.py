"""Constraints from contacts and the floor, for a target of another size.

Contacts keep the source's footplants and holds. The floor keeps every part of the body above it, or no deeper in it
than the source's part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TypedDict

import numpy as np

from understudy.base.quaternion import Array, conjugate, cross, from_axis_angle, multiply
from understudy.base.records import median, record
from understudy.constraints.attach import Attach
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.distance import Distance
from understudy.constraints.place import Place
from understudy.constraints.region import UP, Region
from understudy.constraints.same_place import SamePlace
from understudy.correspondence.neutral_pose import pose_skeleton, stands_at_rest
from understudy.correspondence.pairs import ContactContext, Correspondence, Pair, start_motion
from understudy.figure.contacts import (
    FLOOR_DEPTH_METRES,
    MAX_STEP_ON_FLOOR_LEGS,
    Contact,
    Creep,
    Detection,
    contact_points,
    find_creeps,
    held_frames,
    scaled_places,
)
from understudy.figure.kinematics import Pose, fk, pose_of
from understudy.figure.measures import feet, is_humanoid, leg_length, rest_positions
from understudy.figure.motion import Motion
from understudy.figure.roles import is_end_bone, leaf_helpers, roles, side
from understudy.figure.skeleton import Point, Skeleton

PLANTS = ("free", "fixed", "none")
"""Footplants stay where the solver places them, stay at the source's places, or make no constraints."""


def contact_constraints(
    context: ContactContext, contacts: Sequence[Contact], contexts: Sequence[ContactContext], *, fixed: bool
) -> list[Constraint]:
    """The constraints that keep a source's contacts on the target, named after point and time.

    A point on the floor stays where it lands. A point on a prop that stands still is at the source's place. Points on a
    prop that moves keep their distance and are at the prop when it is picked up. A point on another actor stays with
    the point that it touches. `contexts` are those of all actors; `fixed` pins footplants at the source's places.
    """
    anchors = _anchors(contacts) if fixed or context.share is not None else set()
    rises = _footplant_rises(context, contacts)
    constraints: list[Constraint] = []
    carrying: list[Contact] = []
    for index, contact in enumerate(contacts):
        if contact.other is not None:
            constraints.append(_attach(context, contact, contexts))
        elif contact.place is None:
            carrying.append(contact)
        elif contact.on == "floor":
            constraints.append(_footplant(context, contact, rises[index], anchor=index in anchors, fixed=fixed))
            lifted = _anchor_end(contacts, anchors, index) if context.share is not None else None
            if lifted is not None and contact.velocity is None:
                constraints.append(_still_after(context, contact, rises[index], lifted, fixed=fixed))
        elif contact.on == "hold":
            constraints.append(SamePlace(point=_point_ref(context, contact), **_span(contact)))
        else:
            constraints.append(Place(point=_point_ref(context, contact), target=contact.place, **_span(contact)))
    return constraints + _carry(context, carrying)


CREEP_WEIGHT = 0.3
"""Weight of the constraint that a foot creeps as the source's foot does."""


def creep_constraints(context: ContactContext, contacts: Sequence[Contact]) -> list[Constraint]:
    """Soft constraints: where no contact holds a slow foot near the floor, it moves as far as the source's foot does.

    The ankles are included, so that a foot that stands on one point turns about it as the source's foot does.
    """
    if context.share is not None:
        return []
    standing = {contact.point.name: contact.point for contact in contacts if contact.on == "floor"}
    targets = {name: (point, context.point(point)) for name, point in standing.items()}
    for point, target in list(targets.values()):
        if point.offset.any() and target.offset.any():
            ankles = Point(name=point.joint, joint=point.joint), Point(name=target.joint, joint=target.joint)
            targets[point.joint] = ankles
    creeps = find_creeps(context.source, contacts, [point for point, _ in targets.values()], pose=context.feet)
    return [_creep_constraint(context, creep, targets[creep.point.name][1], contacts) for creep in creeps]


def _creep_constraint(context: ContactContext, creep: Creep, target: Point, contacts: Sequence[Contact]) -> Constraint:
    """The constraint that a point of the target creeps as the source's point does.

    A foot that turns about a held point moves by its own size. Any other moves by the length of the leg.
    """
    skeleton, (start, end) = context.source.skeleton, (float(creep.times[0]), float(creep.times[-1]))
    held = None
    for contact in contacts:
        if contact.start < end and start < contact.end and _is_same_limb(skeleton, creep.point, contact.point):
            held = contact
    return SamePlace(
        point=PointRef(point=target, actor=context.actor),
        drift=(context.ratio if held is None else context.bone_ratio(held.point)) * creep.path,
        times=creep.times,
        start=start,
        end=end,
        weight=CREEP_WEIGHT,
        soft=True,
        name=f"{context.actor} {creep.point.name} creeps {start:.2f}-{end:.2f} s".strip(),
    )


def _is_same_limb(skeleton: Skeleton, first: Point, second: Point) -> bool:
    """Whether one of two points is on the joint of the other, or on one that it carries."""
    joint, other = skeleton.joint(first.joint), skeleton.joint(second.joint)
    return bool(skeleton.above[joint, other] or skeleton.above[other, joint])


class _Span(TypedDict):
    start: float
    end: float
    name: str


def _span(contact: Contact) -> _Span:
    return {"start": contact.start, "end": contact.end, "name": contact_name(contact)}


class _PlantSpan(_Span):
    slack: float


MAX_PLANT_SLACK_LEGS = 3e-4
"""Largest distance, in leg lengths of the target, by which a planted point may shake: 0.3 mm for an adult."""


def _plant_span(context: ContactContext, contact: Contact) -> _PlantSpan:
    """The time of a footplant, and the shaking that it leaves in the point: at most the source's own.

    A foot that is held more closely than it was captured passes its shaking on to a straight knee, many times as large.
    """
    strays = 4.0 * (1.0 - contact.confidence) * Detection().radius
    return {**_span(contact), "slack": min(strays, MAX_PLANT_SLACK_LEGS) * leg_length(context.target)}


def contact_name(contact: Contact) -> str:
    """The name of a contact's constraint."""
    name = f"{contact.point.name} {contact.start:.2f}-{contact.end:.2f} s"
    return f"{contact.actor} {name}".strip()


def _point_ref(context: ContactContext, contact: Contact) -> PointRef:
    if context.share is None:
        return PointRef(point=context.point(contact.point), actor=context.actor)
    # A body that changes size has the size of the middle of the contact throughout the contact.
    ratio = context.size(context.bone_ratio(contact.point), 0.5 * (contact.start + contact.end))
    return PointRef(point=replace(contact.point, offset=ratio * contact.point.offset), actor=context.actor)


def _footplant_rises(context: ContactContext, contacts: Sequence[Contact]) -> dict[int, float]:
    """By index, metres above the floor of the target's point of each footplant.

    Two points of one foot that are held at the same time have distances from the floor that the foot can have: a
    tilted foot keeps the source's tilt, whatever its length against the leg's.
    """
    rises = {
        i: context.rise(contact)
        for i, contact in enumerate(contacts)
        if contact.on == "floor" and contact.place is not None and contact.other is None
    }
    if context.landing is None or context.share is not None:
        return rises
    source = context.source.skeleton
    if context.landing.is_level:
        return rises | _carried_tilts(context, {i: (contacts[i], rise) for i, rise in rises.items()})
    usual = {i: context.landing.rises.get(contacts[i].point.name, (np.nan, np.nan)) for i in rises}
    for i in sorted(rises, key=lambda i: rises[i]):
        contact, (source_rise, target_rise) = contacts[i], usual[i]
        for j in sorted(rises, key=lambda j: rises[j]):
            other = contacts[j]
            overlaps = contact.start <= other.end and other.start <= contact.end
            if j == i or rises[j] > rises[i] or not overlaps or np.isnan(source_rise + usual[j][0]):
                continue
            if not _is_same_limb(source, contact.point, other.point):
                continue
            assert contact.place is not None
            assert other.place is not None
            length = _distance(context, "source", contact.point, other.point)
            tilt = _angle(contact.place[1] - other.place[1], length) - _angle(source_rise - usual[j][0], length)
            length = _distance(context, "target", context.point(contact.point), context.point(other.point))
            rises[i] = rises[j] + length * float(np.sin(_angle(target_rise - usual[j][1], length) + tilt))
            break
    return rises


def _carried_tilts(context: ContactContext, plants: dict[int, tuple[Contact, float]]) -> dict[int, float]:
    """By index, the rises of footplants whose foot is held at another point, too: tilted as the foot was carried over.

    Of the two the ball of the foot counts, and then the lower one: where a capture has no heel, its place is guessed.
    """
    assert context.transferred is not None
    source, fps, num_frames = context.source.skeleton, context.source.fps, context.source.num_frames
    points = {contact.point.name: context.point(contact.point) for contact, _ in plants.values()}
    pose = pose_of(context.transferred, [context.target.index[point.joint] for point in points.values()])
    heights = dict(zip(points, _heights(context, pose, list(points.values())).T, strict=True))
    known = _known_points(source)
    order = sorted(plants, key=lambda i: (plants[i][0].point.name not in known, plants[i][1]))
    rises: dict[int, float] = {}
    spans = {i: contact.frames(fps, num_frames) for i, (contact, _) in plants.items()}
    is_same: dict[tuple[str, str], bool] = {}
    for number, i in enumerate(order):
        contact, span = plants[i][0], spans[i]
        for j in order[:number]:
            other, other_span = plants[j][0], spans[j]
            if len(span) == 0 or len(other_span) == 0 or other_span[0] > span[-1] or span[0] > other_span[-1]:
                continue
            if other.point.name == contact.point.name:
                continue
            key = contact.point.name, other.point.name
            if key not in is_same:
                is_same[key] = _is_same_limb(source, contact.point, other.point)
            if is_same[key]:
                both = np.arange(max(span[0], other_span[0]), min(span[-1], other_span[-1]) + 1)
                tilt = heights[contact.point.name][both] - heights[other.point.name][both]
                rises[i] = rises.get(j, plants[j][1]) + float(median(tilt))
                break
    return rises


def _known_points(skeleton: Skeleton) -> set[str]:
    """The names of joints and ends: the place of any other point, such as a heel, is guessed."""
    return {end.name for end in skeleton.ends} | set(skeleton.names)


def _angle(rise: float, length: float) -> float:
    """Radians above the level of a line that rises by `rise` over its length."""
    return float(np.arcsin(np.clip(rise / max(length, 1e-9), -1.0, 1.0)))


def _distance(context: ContactContext, side: str, first: Point, second: Point) -> float:
    """Metres between two points of the source or the target in its reference pose, or in its rest pose without one."""
    skeleton = context.source.skeleton if side == "source" else context.target
    local = skeleton.rest if context.alignment is None else getattr(context.alignment, side)
    places = pose_skeleton(skeleton, local).points([first, second])[0]
    return float(np.linalg.norm(places[0] - places[1]))


def _footplant(context: ContactContext, contact: Contact, rise: float, *, anchor: bool, fixed: bool) -> Constraint:
    """A footplant at a rise above the floor, metres: pinned at the source's place, still wherever it lands,
    carried by a floor that moves, or, on a foot that changes size, only at the height of the floor."""
    assert contact.place is not None
    place = contact.place if fixed else scaled_places(contact.place, context.ratio, context.floor)
    height = float(context.floor.heights(place)) + rise
    point_ref, span = _point_ref(context, contact), _plant_span(context, contact)
    if contact.velocity is not None and contact.end > contact.start:
        way = context.size(context.ratio, contact.start) * (contact.end - contact.start) * contact.velocity
        times = np.array([contact.start, contact.end])
        return SamePlace(point=point_ref, height=height, drift=np.stack([0.0 * way, way]), times=times, **span)
    if context.share is not None and not anchor:
        return Place(point=point_ref, target=np.array([0.0, height, 0.0]), axes="y", **span)
    if anchor and fixed:
        return Place(point=point_ref, target=np.array([place[0], height, place[2]]), **span)
    return SamePlace(point=point_ref, height=height, **span)


def _anchor_end(contacts: Sequence[Contact], anchors: set[int], index: int) -> float | None:
    """Seconds at which the last anchor on the limb of a contact lifts while the contact still stands; None if none."""
    if index in anchors:
        return None
    contact, limbs = contacts[index], [side(c.point.joint) or c.point.joint for c in contacts]
    same = [contacts[i] for i in anchors if limbs[i] == limbs[index]]
    ends = [anchor.end for anchor in same if anchor.start <= contact.end and contact.start <= anchor.end]
    return max(ends) if ends and max(ends) < contact.end else None


def _still_after(context: ContactContext, contact: Contact, rise: float, start: float, *, fixed: bool) -> Constraint:
    """A point of a foot that changes size stands still once the point that held the foot has lifted."""
    assert contact.place is not None
    later = replace(contact, start=start)
    place = contact.place if fixed else scaled_places(contact.place, context.ratio, context.floor)
    height = float(context.floor.heights(place)) + rise
    return SamePlace(point=_point_ref(context, contact), height=height, **_plant_span(context, later))


def _attach(context: ContactContext, contact: Contact, contexts: Sequence[ContactContext]) -> Constraint:
    assert contact.other is not None
    partner = next(other for other in contexts if other.actor == contact.on)
    touched = PointRef(point=partner.point(contact.other), actor=contact.on)
    return Attach(point=_point_ref(context, contact), to=touched, **_span(contact))


def _carry(context: ContactContext, contacts: Sequence[Contact]) -> list[Constraint]:
    """Points that carry a prop: each is at the source's place at the pick-up, and their distances stay the same."""
    if not contacts:
        return []
    pose = fk(context.source)
    constraints: list[Constraint] = []
    for index, contact in enumerate(contacts):
        frames = contact.frames(context.source.fps, context.source.num_frames)
        if len(frames) == 0:
            continue
        path = pose.points([contact.point])[:, 0]
        name = f"{contact.point.name} picks up {contact.on} at {contact.start:.2f} s"
        point_ref = _point_ref(context, contact)
        constraints.append(Place(point=point_ref, target=path[frames[0]], instants=(contact.start,), name=name))
        for other in contacts[index + 1 :]:
            start, end = max(contact.start, other.start), min(contact.end, other.end)
            if other.on != contact.on or end <= start:
                continue
            distances = np.linalg.norm(path - pose.points([other.point])[:, 0], axis=-1)[frames]
            length, second = float(median(distances)), _point_ref(context, other)
            name = f"{contact.point.name} and {other.point.name} carry {contact.on}"
            constraints.append(Distance(first=point_ref, second=second, length=length, start=start, end=end, name=name))
    return constraints


def _anchors(contacts: Sequence[Contact]) -> set[int]:
    """The indices of the contacts to pin: of those of one limb that overlap in time, the first.

    A foot of another length cannot keep several points at the source's places; the others only keep still.
    """
    anchors: set[int] = set()
    limbs = [side(contact.point.joint) or contact.point.joint for contact in contacts]
    for index, contact in sorted(enumerate(contacts), key=lambda item: item[1].start):
        overlaps = any(
            limbs[i] == limbs[index] and contacts[i].start <= contact.end and contact.start <= contacts[i].end
            for i in anchors
        )
        if not overlaps:
            anchors.add(index)
    return anchors


SEARCH_FPS = 30.0
"""Frames a second at which a motion is searched for points near the floor."""

MAX_NEAR_FLOOR_LEGS = 0.08
"""Leg lengths above the floor: a point that is never lower before the solve gets no floor constraint."""

NEAR_FLOOR_SECONDS = 0.2
"""The floor constraint of a point holds this long before and after the point is near the floor."""

MIN_DOWN_SHARE = 0.2
"""Share of the frames in which a foot must be down for a motion without contacts to have a floor."""

BEFORE_SECONDS = -1.0
"""Seconds: the end of contacts before the beginning of a motion, which only show where the floor is."""

MIN_HELD_SHARE = 0.2
"""Share of the time with a footplant that shows a floor, whatever is below it."""

MAX_SOURCE_DEPTH_LEGS, MAX_DEEP_SHARE = 0.06, 0.05
"""Rarer footplants show no floor if a joint of the source is deeper than the first, in leg lengths, below the lowest
of them for more than this share of the time."""

TOE_CLEARANCE_LEGS = 0.005
"""Leg lengths above its floor to which a toe is bent up, so that the floor rarely has to act on it."""

TOE_BEND_SMOOTHING = np.radians(1.5)
"""Radians over which a toe starts to bend up from the floor."""

MAX_FINGERS = 3
"""Number of fingertips of a hand that are kept off the floor at a time; the others are above them."""

COMPLIANT_STIFFNESS = 0.01
"""Stiffness, 1 by default, of toes that only the floor bends. The leg moves a tip by its whole length, the toe by its
own: at an equal stiffness the leg would do nearly all of the work, and its movement is seen."""


def floor_constraints(context: ContactContext, contacts: Sequence[Contact]) -> list[Constraint]:
    """The constraints that keep the body above the floor.

    A point with footplants stays above its lowest footplant; during a footplant the plant's constraint holds instead.
    Every other joint or end that comes near the floor goes no deeper into it than the same part of the source.
    """
    constraints: list[Constraint] = []
    times = context.source.times
    footplants = _footplants(contacts)
    if not _stands_on_floor(context.source, footplants):
        return []
    # The heights of the plants themselves: a floor above them would make a foot jump where its plant ends.
    rises = _footplant_rises(context, footplants)
    for name, point in {c.point.name: c.point for c in footplants}.items():
        indices = [i for i, c in enumerate(footplants) if c.point.name == name]
        pauses = tuple((footplants[i].start, footplants[i].end) for i in indices)
        height = np.array(min(rises[i] for i in indices) - FLOOR_DEPTH_METRES)
        above = _above(context, context.point(point), height, pauses)
        if len(above.frames(times)):
            constraints.append(above)
    if context.landing is not None:
        soles = context.landing.soles
        constraints += [_above(context, point, np.array(depth - FLOOR_DEPTH_METRES)) for point, depth in soles]
    if footplants:
        constraints += _low_points(context, footplants, rises)
    return constraints


def _footplants(contacts: Sequence[Contact]) -> list[Contact]:
    return [c for c in contacts if c.on == "floor" and c.place is not None]


def _floor_plant(context: ContactContext, footplants: Sequence[Contact]) -> Contact:
    """The footplant that shows the height of the floor on the target: of the points, the one that usually stands
    lowest, not counting plants on steps. A single plant may be too low in the capture, and so may heels be whose place
    is guessed, where the target's feet stand flat."""
    if context.landing is not None and context.landing.is_level:
        known = _known_points(context.source.skeleton)
        footplants = [c for c in footplants if c.point.name in known] or footplants
    rises = np.array([context.rise(c) for c in footplants])
    names = np.array([c.point.name for c in footplants])
    on_floor = np.array([context.step(c) == 0.0 for c in footplants])
    if not on_floor.any():
        on_floor = rises < rises.min() + MAX_STEP_ON_FLOOR_LEGS * leg_length(context.target)
    level = min(float(median(rises[on_floor & (names == name)])) for name in set(names[on_floor].tolist()))
    away = np.abs(rises - level)
    # Of two plants the median is in the middle: the lower one counts, and not the last digit of a number.
    return footplants[int(np.argmin(np.where(away < away.min() + 1e-9, rises, np.inf)))]


def lift_toes(context: ContactContext, contacts: Sequence[Contact]) -> Motion:
    """The start motion with the toes of another structure bent up from the floor, as far as the floor will ask for.

    Their directions come from the source, and on longer toes they lead into the floor. Only a toe's own angle changes,
    which no other part of the body follows, so the solver need not move the leg for it.
    """
    assert context.start is not None
    footplants = _footplants(contacts)
    if context.landing is None or not _stands_on_floor(context.source, footplants):
        return context.start
    start, target = context.start, context.target
    standing = {target.index[point.joint] for point in feet(target)}
    bendable = _undriven_toes(context)
    toes: dict[int, _FloorPoint] = {}
    for point in _candidates(context, footplants):
        mover = _turned_by(target, point.target)
        if mover in standing and (mover not in start.still_joints or mover in bendable):
            toes.setdefault(mover, point)
    if not toes:
        return start
    rotations = start.rotations.copy()
    pose = fk(start)
    for mover, point in toes.items():
        bent = _bend_up(context, pose, mover, point, footplants, is_undriven=mover in bendable)
        if bent is not None:
            parent = pose.rotations[:, target.parents[mover]]
            rotations[:, mover] = multiply(conjugate(parent), multiply(bent, pose.rotations[:, mover]))
    return start.derived(rotations=rotations)


MAX_SAME_TOE_RATIO = 1.02
"""Ratio of a toe's length to the source's, scaled, below which it leads no deeper into the floor."""


def _bend_up(
    context: ContactContext,
    pose: Pose,
    mover: int,
    point: _FloorPoint,
    footplants: Sequence[Contact],
    *,
    is_undriven: bool,
) -> Array | None:
    """(F, 4) world rotations of a toe that lift its tip to its floor, where the foot will stand; None for a toe that
    hangs from no planted point."""
    landing, target = context.landing, context.target
    assert landing is not None
    chain = target.chain(mover)
    planted = [c for c in footplants if target.index[context.point(c.point).joint] in chain]
    if not planted:
        return None
    nearest = max(planted, key=lambda c: target.index[context.point(c.point).joint])
    own_length = _distance(context, "target", context.point(nearest.point), point.target)
    source = context.source.skeleton
    beyond = [tip for tip in point.sources if _is_beyond(source, nearest.point, tip)]
    lengths = [_distance(context, "source", nearest.point, tip) for tip in beyond]
    if not is_undriven and own_length < MAX_SAME_TOE_RATIO * context.ratio * max(lengths, default=0.0):
        # A toe no longer than the source's leads no deeper.
        return None
    lowest = _floor_plant(context, footplants)
    toe = pose.points([point.target])[:, 0] - pose.positions[:, mover]
    length = np.maximum(np.linalg.norm(toe, axis=-1), 1e-9)
    joint = Point(name=target.names[mover], joint=target.names[mover])
    joint_height, planted_height = _heights(context, pose, [joint, context.point(nearest.point)]).T
    planned = _scaled_heights(context, [nearest.point], nearest)[:, 0] + joint_height - planted_height
    floor = _floor_heights(context, point, [*_scaled_heights(context, point.sources, lowest).T], lowest)
    floor += TOE_CLEARANCE_LEGS * leg_length(target)
    needed = np.arcsin(np.clip((floor - planned) / length, -1.0, 1.0)) - np.arcsin(np.clip(toe[:, 1] / length, -1, 1))
    # A smooth maximum of zero and the angle, so that the toe starts to bend without a jerk.
    angle = TOE_BEND_SMOOTHING * np.logaddexp(0.0, needed / TOE_BEND_SMOOTHING)
    axis = cross(toe, np.broadcast_to(UP, toe.shape))
    return from_axis_angle(axis / np.maximum(np.linalg.norm(axis, axis=-1, keepdims=True), 1e-9), angle)


def _is_beyond(skeleton: Skeleton, planted: Point, tip: Point) -> bool:
    """Whether a planted point carries a tip."""
    joint, other = skeleton.index[planted.joint], skeleton.index[tip.joint]
    return tip.name != planted.name and joint in skeleton.chain(other) and (joint != other or not planted.offset.any())


def feet_on_floor(motion: Motion) -> list[Contact]:
    """Where the feet of a motion without contacts are lowest, as contacts before its beginning: they show the floor,
    and plant nothing. Empty if the feet are seldom that low."""
    points = contact_points(motion)
    if not points or motion.num_frames < 2:
        return []
    paths = pose_of(motion, [motion.skeleton.joint(point.joint) for point in points]).points(points)
    lowest = paths[..., 1].min(axis=0)
    near = MAX_NEAR_FLOOR_LEGS * leg_length(motion.skeleton)
    down = (paths[..., 1] < lowest + 0.5 * near) & (lowest < lowest.min() + near)
    if np.mean(down.any(axis=1)) < MIN_DOWN_SHARE:
        return []
    start, end = BEFORE_SECONDS - 1.0, BEFORE_SECONDS
    return [
        Contact(point=point, start=start, end=end, place=path[np.argmin(path[:, 1])], confidence=0.0)
        for point, path, some in zip(points, paths.transpose(1, 0, 2), down.any(axis=0), strict=True)
        if some
    ]


def _stands_on_floor(motion: Motion, footplants: Sequence[Contact]) -> bool:
    """Whether footplants show a floor: not those of a swimmer, whose foot seldom rests and whose hands are deeper."""
    if not footplants:
        return False
    if np.mean(held_frames(motion, footplants)) > MIN_HELD_SHARE:
        return True
    lowest = min(float(c.place[1]) for c in footplants if c.place is not None)
    frames = slice(None, None, max(round(motion.fps / SEARCH_FPS), 1))
    depths = lowest - fk(motion[frames]).positions[..., 1].min(axis=1)
    return bool(np.mean(depths > MAX_SOURCE_DEPTH_LEGS * leg_length(motion.skeleton)) < MAX_DEEP_SHARE)


def compliant_joints(constraints: Sequence[Constraint], motion: Motion, actor: str = "") -> dict[str, float]:
    """The stiffness of an actor's compliant joints, by name: last joints of its feet that turn in the motion and that
    no constraint but the floor's reads."""
    skeleton = motion.skeleton
    ends = {end.name: end for end in skeleton.ends}
    only_floor: dict[int, bool] = {}
    for constraint in constraints:
        for point_ref in (*constraint.point_refs(), *constraint.joints()):
            point = ends.get(point_ref.point) if isinstance(point_ref.point, str) else point_ref.point
            joint = None if point is None or point_ref.actor not in ("", actor) else _turned_by(skeleton, point)
            if joint is not None:
                only_floor[joint] = only_floor.get(joint, True) and isinstance(constraint, Region)
    standing = {skeleton.index[point.joint] for point in feet(skeleton)} if only_floor else set()
    last = [joint for joint, only in only_floor.items() if only and joint in standing]
    still = motion.still_joints if last else frozenset()
    return {skeleton.names[joint]: COMPLIANT_STIFFNESS for joint in last if joint not in still}


def _turned_by(skeleton: Skeleton, point: Point) -> int | None:
    """The last joint of a limb if it turns a point: an end of the limb, or a joint that only marks its end."""
    joint = skeleton.joint(point.joint)
    if skeleton.children[joint]:
        return None
    if point.offset.any():
        return joint
    parent = int(skeleton.parents[joint])
    return parent if parent > 0 and not any(skeleton.children[child] for child in skeleton.children[parent]) else None


def _above(
    context: ContactContext, point: Point, height: Array, pauses: tuple[tuple[float, float], ...] = ()
) -> Region:
    """A point of the target stays above a height, () or (F,) metres over the floor."""
    return Region(
        point=PointRef(point=point, actor=context.actor),
        shape="half_space",
        centre=np.array([0.0, context.floor.height, 0.0]) + height[..., None] * UP,
        times=context.source.times if height.ndim else None,
        normal=context.floor.normal,
        pauses=pauses,
        name=f"{context.actor} {point.name} above the floor".strip(),
    )


@record
class _FloorPoint:
    """A point of the target that must not sink, and the points of the source whose depth it may have."""

    target: Point
    sources: tuple[Point, ...]
    depth: float = 0.0
    """Metres that it may be below the lowest point that the target stands on."""
    plant: Contact | None = None
    """The usual footplant of the joint that carries it, as the ball of the foot carries a toe."""
    plant_depth: float = 0.0
    """Metres, zero or below, that it lies below that joint at rest."""


def _low_points(context: ContactContext, footplants: Sequence[Contact], rises: dict[int, float]) -> list[Constraint]:
    """The floor constraints of the points without footplants that come near the floor, from the rise of each footplant
    by its index."""
    candidates = _candidates(context, footplants)
    if not candidates:
        return []
    lowest = _floor_plant(context, footplants)
    motion, leg = context.source, leg_length(context.target)
    start = context.start or start_motion(motion, context.target, context.floor)
    frames = np.arange(0, motion.num_frames, max(round(motion.fps / SEARCH_FPS), 1))
    level = context.rise(lowest)
    heights = _heights(context, fk(start[frames]), [point.target for point in candidates])
    near = heights < level + MAX_NEAR_FLOOR_LEGS * leg + np.minimum([point.depth for point in candidates], 0.0)
    near = _lowest_fingers(context.target, [point.target for point in candidates], heights, near)
    low = [(point, column) for point, column in zip(candidates, near.T, strict=True) if column.any()]
    sources = {source.name: source for point, _ in low for source in point.sources}
    scaled = dict(zip(sources, _scaled_heights(context, list(sources.values()), lowest).T, strict=True))
    drops = _plant_drops(context, footplants, rises)
    constraints: list[Constraint] = []
    for point, column in low:
        height = _floor_heights(context, point, [scaled[source.name] for source in point.sources], lowest)
        for carrier, during, drop in drops:
            if point.target.joint == carrier and not point.target.offset.any():
                height[during] -= drop
        constraints.append(_above(context, point.target, height, _pauses(column, motion.times[frames])))
    return constraints


def _plant_drops(
    context: ContactContext, footplants: Sequence[Contact], rises: dict[int, float]
) -> list[tuple[str, np.ndarray, Array]]:
    """By footplant: the joint of the target that moves its point, its frames (n,), and by how much (n,) metres it holds
    the point lower than the source has it at the frame.

    The joint goes down with the point: an ankle that may sink no deeper than the source's would lift the heel.
    """
    drops = []
    for index, contact in enumerate(footplants):
        frames = contact.frames(context.source.fps, context.source.num_frames)
        if len(frames):
            point = context.point(contact.point)
            joint = context.target.index[point.joint]
            carrier = joint if point.offset.any() else max(int(context.target.parents[joint]), 0)
            drop = _scaled_heights(context, [contact.point], contact)[frames, 0] - rises[index]
            drops.append((context.target.names[carrier], frames, np.maximum(drop, 0.0)))
    return drops


def _lowest_fingers(skeleton: Skeleton, points: Sequence[Point], heights: Array, near: np.ndarray) -> np.ndarray:
    """(n, P) whether points are near the floor; of the fingers of a hand only those that are lowest at the time.

    Args:
        skeleton: The body.
        points: Its points.
        heights: (n, P) metres of the points above the floor.
        near: (n, P) whether each is near it.
    """
    near = near.copy()
    for hand in (joint for role, joint in roles(skeleton).items() if role.endswith("_hand")):
        beyond = skeleton.below(hand)
        beyond[hand] = False
        fingers = [i for i, point in enumerate(points) if beyond[skeleton.index[point.joint]]]
        if len(fingers) > MAX_FINGERS:
            ranks = np.argsort(np.argsort(heights[:, fingers], axis=1, kind="stable"), axis=1, kind="stable")
            near[:, fingers] &= ranks < MAX_FINGERS
    return near


def _floor_heights(context: ContactContext, point: _FloorPoint, scaled: Sequence[Array], lowest: Contact) -> Array:
    """(F,) metres above the floor that a point must keep, given the scaled heights of its points of the source."""
    level = context.rise(lowest) + point.depth
    allowed: Array = np.min([np.full(context.source.num_frames, level), *scaled], axis=0)
    if point.plant is not None:
        # A tip goes no deeper below the ball of its foot than the source's either.
        level = context.rise(point.plant) + point.plant_depth
        scaled = [*_scaled_heights(context, point.sources, point.plant).T]
        allowed = np.maximum(allowed, np.min([np.full(len(allowed), level), *scaled], axis=0))
    return allowed - FLOOR_DEPTH_METRES


def _candidates(context: ContactContext, footplants: Sequence[Contact]) -> list[_FloorPoint]:
    """The target's joints and ends that may come near the floor and have no footplants."""
    start = context.start or context.source
    planted = {point.name: point for point in (context.point(c.point) for c in footplants)}
    rigid = {point.name for point in _rigid_tips(start, list(planted.values()), _undriven_toes(context))}
    if context.landing is None:
        points = _distinct_points(context.source.skeleton)
        free = [point for point in points if point.name not in planted and point.name not in rigid]
        return [_FloorPoint(target=context.point(point), sources=(point,)) for point in free]
    if context.alignment is None or not (is_humanoid(context.source.skeleton) and is_humanoid(context.target)):
        return []
    correspondence = context.alignment.correspondence
    parts, depths = _source_parts(correspondence), _sole_depths(context.target, list(planted.values()))
    candidates: list[_FloorPoint] = []
    for point in _outline(context.target):
        pair = _nearest_pair(correspondence, "target", point.joint)
        if pair is not None and point.name not in planted and point.name not in rigid:
            sources, depth = tuple(parts.get(pair.source, ())), depths.get(point.name, 0.0)
            plant, plant_depth = _carrying_plant(context, footplants, point), 0.0
            if plant is not None and stands_at_rest(context.target):
                heights = rest_positions(context.target, [point, context.point(plant.point)])[:, 1]
                plant_depth = min(float(heights[0] - heights[1]), 0.0)
            candidates.append(
                _FloorPoint(target=point, sources=sources, depth=depth, plant=plant, plant_depth=plant_depth)
            )
    return candidates


def _carrying_plant(context: ContactContext, footplants: Sequence[Contact], tip: Point) -> Contact | None:
    """The usual footplant of the joint that stands on the floor and carries a tip, as the ball of the foot carries the
    toe; None if no such joint does."""
    target = context.target
    chain = target.chain(target.index[tip.joint])
    carrying = [c for c in footplants if not context.point(c.point).offset.any()]
    carrying = [c for c in carrying if target.index[context.point(c.point).joint] in chain]
    if not carrying:
        return None
    nearest = max(target.index[context.point(c.point).joint] for c in carrying)
    carrying = [c for c in carrying if target.index[context.point(c.point).joint] == nearest]
    return _floor_plant(context, carrying)


def _undriven_toes(context: ContactContext) -> set[int]:
    """The toes of a target whose source has none, or none that ever turns: they may bend where the foot presses them
    into the floor."""
    if context.alignment is None:
        return set()
    target, correspondence = context.target, context.alignment.correspondence
    toes = {joint for role, joint in roles(target).items() if role in ("left_toe", "right_toe")}
    still = (context.start or context.source).still_joints
    return {j for j in toes if j in still or correspondence.pair_of("target", target.names[j]) is None}


def _rigid_tips(motion: Motion, planted: Sequence[Point], bendable: set[int]) -> list[Point]:
    """The joints and ends beyond planted points that are rigid with the foot, because the joint that moves them moves
    a planted point too, or never turns and is not bendable: the plants say where they are."""
    skeleton = motion.skeleton
    chains = [skeleton.chain(skeleton.index[point.joint]) for point in planted]
    still, rigid = set(motion.still_joints) - bendable, set[int]()
    for point, chain in zip(planted, chains, strict=True):
        rigid |= set(chain if point.offset.any() else chain[:-1])
    standing = {chain[-1] for chain in chains}
    tips = _between_plants(skeleton, planted)
    for point in _distinct_points(skeleton):
        joint = skeleton.index[point.joint]
        carrier = joint if point.offset.any() else int(skeleton.parents[joint])
        chain = skeleton.chain(carrier) if carrier >= 0 else []
        # A still bone moves with the one that carries it: the last bone of a toe with its first.
        movers = [mover for mover in chain if mover not in still]
        if standing & set(chain) and (not movers or movers[-1] in rigid):
            tips.append(point)
    return tips


def _between_plants(skeleton: Skeleton, planted: Sequence[Point]) -> list[Point]:
    """The joints whose bone has two planted points, neither of them higher: low ankles, as of feet without toes."""
    joints = []
    for joint in sorted({skeleton.index[point.joint] for point in planted}):
        origin = Point(name=skeleton.names[joint], joint=skeleton.names[joint])
        on_bone = [point for point in planted if point.joint == origin.joint and point.name != origin.name]
        heights = rest_positions(skeleton, [origin, *on_bone])[:, 1]
        if len(on_bone) > 1 and heights[0] >= heights[1:].min() - FLOOR_DEPTH_METRES:
            joints.append(origin)
    return joints


def _source_parts(correspondence: Correspondence) -> dict[tuple[str, ...], list[Point]]:
    """The source's joints and ends that belong to each pair, by the pair's bones of the source."""
    parts: dict[tuple[str, ...], list[Point]] = {}
    for point in _distinct_points(correspondence.source):
        pair = _nearest_pair(correspondence, "source", point.joint)
        if pair is not None:
            parts.setdefault(pair.source, []).append(point)
    return parts


def _nearest_pair(correspondence: Correspondence, side: str, name: str) -> Pair | None:
    """The pair of a bone, or of the nearest bone that carries it."""
    skeleton: Skeleton = getattr(correspondence, side)
    chain = reversed(skeleton.chain(skeleton.index[name]))
    return next((pair for j in chain if (pair := correspondence.pair_of(side, skeleton.names[j])) is not None), None)


def _sole_depths(target: Skeleton, planted: Sequence[Point]) -> dict[str, float]:
    """Metres, zero or below, that points of the feet lie below the lowest planted point in a rest pose that stands."""
    if not planted or not stands_at_rest(target):
        return {}
    points = feet(target)
    level = float(rest_positions(target, list(planted))[:, 1].min())
    heights = rest_positions(target, list(points))[:, 1] - level
    return {point.name: min(float(height), 0.0) for point, height in zip(points, heights, strict=True)}


def _outline(skeleton: Skeleton) -> list[Point]:
    """The distinct points of a body without the inner joints of its fingers, which lie between others."""
    joint_of = roles(skeleton)
    fingers = np.zeros(skeleton.num_joints, bool)
    for hand in ("left_hand", "right_hand"):
        if hand in joint_of:
            fingers |= skeleton.below(joint_of[hand])
            fingers[joint_of[hand]] = False
    return [
        point
        for point in _distinct_points(skeleton)
        if point.offset.any() or not (fingers[joint := skeleton.index[point.joint]] and skeleton.children[joint])
    ]


@lru_cache(maxsize=8)
def _distinct_points(skeleton: Skeleton) -> tuple[Point, ...]:
    """The joints and ends of a body, without joints that coincide with their parent.

    Helper bones are no part of the body, wherever they point; the ends of bones are.
    """
    helpers = {skeleton.names[j] for j in leaf_helpers(skeleton) if not is_end_bone(skeleton, j)}
    joints = [
        Point(name=name, joint=name)
        for name, length in zip(skeleton.names, skeleton.lengths)
        if length > 1e-6 and name not in helpers
    ]
    return (*joints, *(end for end in skeleton.ends if end.joint not in helpers))


def _scaled_heights(context: ContactContext, points: Sequence[Point], lowest: Contact) -> Array:
    """(F, P) metres: the heights of the source's points above the floor, scaled to the target.

    The heights of joints above the floor scale with the foot. On another structure they count from the height at which
    the lowest footplant usually is.
    """
    motion, skeleton = context.source, context.source.skeleton
    known = context.feet is not None and all(point.joint in context.feet.skeleton.index for point in points)
    pose = context.feet if known else pose_of(motion, [skeleton.index[point.joint] for point in points])
    assert pose is not None
    assert lowest.place is not None
    heights = _heights(context, pose, points)
    if context.landing is None:
        return context.sizes(context.bone_ratio(lowest.point))[..., None] * heights
    source_level = float(lowest.place[1] - context.floor.heights(lowest.place))
    return context.rise(lowest) + context.ratio * (heights - source_level)


def _heights(context: ContactContext, pose: Pose, points: Sequence[Point]) -> Array:
    """(F, P) metres of points above the floor."""
    positions = pose.points(points)
    heights: Array = positions[..., 1] - context.floor.heights(positions)
    return heights


def _pauses(near: np.ndarray, times: Array) -> tuple[tuple[float, float], ...]:
    """The intervals, ends inclusive, that are far from all times (n,) at which a point is near the floor (n,)."""
    stays = times[near]
    edges = [-np.inf, *stays.tolist(), np.inf]
    far = [(a + NEAR_FLOOR_SECONDS, b - NEAR_FLOOR_SECONDS) for a, b in pairwise(edges)]
    return tuple((a, b) for a, b in far if a < b and b > times[0] and a < times[-1])
