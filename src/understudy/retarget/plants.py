"""Contacts made into constraints: the source's footplants and holds, on a target of other size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

import numpy as np

from understudy.base.quaternion import Array, rotate, unrotate
from understudy.constraints.attach import Attach
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.distance import Distance
from understudy.constraints.place import Place
from understudy.constraints.region import UP, Region
from understudy.constraints.same_place import SamePlace
from understudy.correspondence.pairs import ContactContext
from understudy.figure.contacts import FLOOR_DEPTH_METRES, Contact, scaled_places
from understudy.figure.kinematics import Pose, fk, pose_of
from understudy.figure.measures import is_humanoid, leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import side
from understudy.figure.skeleton import Point, Skeleton
from understudy.retarget.start import start_motion

PLANTS = ("free", "fixed", "none")
"""How footplants are kept: where the solver likes, where they were, or not."""


def contact_constraints(
    stage: ContactContext, contacts: Sequence[Contact], stages: Sequence[ContactContext], *, fixed: bool
) -> list[Constraint]:
    """What keeps a source's contacts on the target, named after point and time.

    Points on the floor stay where they land; points on things that stand fast are where they were; points on things
    that move keep their distance from each other and are there when the thing is picked up; points on other actors
    stay with the point they touch.
    """
    anchors = _anchors(contacts) if fixed or stage.share is not None else set()
    made: list[Constraint] = []
    carried: list[Contact] = []
    for number, contact in enumerate(contacts):
        if contact.other is not None:
            made.append(_attached(stage, contact, stages))
        elif contact.place is None:
            carried.append(contact)
        elif contact.on == "floor":
            made.append(_planted(stage, contact, anchor=number in anchors, fixed=fixed))
        elif contact.on == "hold":
            made.append(SamePlace(point=_point_ref(stage, contact), **_when(contact)))
        else:
            made.append(Place(point=_point_ref(stage, contact), target=contact.place, **_when(contact)))
    return made + _carried(stage, carried)


class _When(TypedDict):
    start: float
    end: float
    name: str


def _when(contact: Contact) -> _When:
    return {"start": contact.start, "end": contact.end, "name": contact_name(contact)}


def contact_name(contact: Contact) -> str:
    """What the constraint of a contact is called."""
    name = f"{contact.point.name} {contact.start:.2f}-{contact.end:.2f} s"
    return f"{contact.actor} {name}".strip()


def _point_ref(stage: ContactContext, contact: Contact) -> PointRef:
    if stage.share is None:
        return PointRef(point=stage.point(contact.point), actor=stage.actor)
    # On a body that changes size the point is where it is in the middle of the contact.
    ratio = stage.size(stage.bone_ratio(contact.point), 0.5 * (contact.start + contact.end))
    return PointRef(point=replace(contact.point, offset=ratio * contact.point.offset), actor=stage.actor)


def _planted(stage: ContactContext, contact: Contact, *, anchor: bool, fixed: bool) -> Constraint:
    """A footplant: pinned where it was, still wherever it lands, or, on a foot that changes size, only on the floor."""
    assert contact.place is not None
    place = contact.place if fixed else scaled_places(contact.place, stage.ratio, stage.floor)
    height = float(stage.floor.heights(place)) + stage.rise(contact)
    if stage.share is not None and not anchor:
        return Place(point=_point_ref(stage, contact), target=np.array([0.0, height, 0.0]), axes="y", **_when(contact))
    if anchor and fixed:
        return Place(point=_point_ref(stage, contact), target=np.array([place[0], height, place[2]]), **_when(contact))
    return SamePlace(point=_point_ref(stage, contact), height=height, **_when(contact))


def _attached(stage: ContactContext, contact: Contact, stages: Sequence[ContactContext]) -> Constraint:
    assert contact.other is not None
    other = next(s for s in stages if s.actor == contact.on)
    touched = PointRef(point=other.point(contact.other), actor=contact.on)
    return Attach(point=_point_ref(stage, contact), to=touched, **_when(contact))


def _carried(stage: ContactContext, contacts: Sequence[Contact]) -> list[Constraint]:
    """Points that carry a thing: as far apart as it is wide, and at its place when it is picked up."""
    if not contacts:
        return []
    pose = fk(stage.source)
    made: list[Constraint] = []
    for number, contact in enumerate(contacts):
        frames = contact.frames(stage.source.fps, stage.source.num_frames)
        if len(frames) == 0:
            continue
        path = pose.points([contact.point])[:, 0]
        grasp = Place(
            point=_point_ref(stage, contact),
            target=path[frames[0]],
            instants=(contact.start,),
            name=f"{contact.point.name} picks up {contact.on} at {contact.start:.2f} s",
        )
        made.append(grasp)
        for other in contacts[number + 1 :]:
            start, end = max(contact.start, other.start), min(contact.end, other.end)
            if other.on != contact.on or end <= start:
                continue
            gap = np.linalg.norm(path - pose.points([other.point])[:, 0], axis=-1)[frames]
            made.append(
                Distance(
                    first=_point_ref(stage, contact),
                    second=_point_ref(stage, other),
                    length=float(np.median(gap)),
                    start=start,
                    end=end,
                    name=f"{contact.point.name} and {other.point.name} carry {contact.on}",
                )
            )
    return made


def _anchors(contacts: Sequence[Contact]) -> set[int]:
    """Of contacts of one limb that overlap in time, the first: one point is pinned, the others only keep still.

    Pinning several points of a foot where they were asks the impossible of a foot of another length.
    """
    chosen: set[int] = set()
    for number, contact in sorted(enumerate(contacts), key=lambda item: item[1].start):
        limb = side(contact.point.joint) or contact.point.joint
        clash = any(
            (side(contacts[i].point.joint) or contacts[i].point.joint) == limb
            and contacts[i].start <= contact.end
            and contact.start <= contacts[i].end
            for i in chosen
        )
        if not clash:
            chosen.add(number)
    return chosen


LOW = 0.7
"""Leg lengths above the floor below which the hips kneel, crawl or lie, and any part of the body may touch it."""

TILTED = np.cos(np.radians(45.0))
"""How far up the hips' own way up points at least while only feet can touch the floor: no cartwheel, no deep bow."""

LOOKED = 30.0
"""Frames a second at which it is looked for what comes close to the floor."""

CLOSE = 0.03
"""Leg lengths: what comes no closer to the floor than this need not be kept off it."""

GIVING = 0.2
"""What turning a last joint costs that nothing but the floor asks to turn, against usual: toes give way before legs."""

Falling = list[tuple[Point, Array]]
"""Points of the target, and how high (F,) above the floor each would be as the source does it, metres."""


def floor_constraints(stage: ContactContext, contacts: Sequence[Contact]) -> list[Constraint]:
    """Every point that ever stands on the floor stays above it, at least as high as where it stands lowest.

    While it stands its plant says so already. What else of a body comes down to the floor, above all the tips of its
    feet, goes no deeper into it than the source's does.
    """
    made: list[Constraint] = []
    times = stage.source.times
    standing = [c for c in contacts if c.on == "floor" and c.place is not None]
    rises = [stage.rise(c) for c in standing]
    for name, point in {c.point.name: c.point for c in standing}.items():
        mine = [i for i, c in enumerate(standing) if c.point.name == name]
        pauses = tuple((standing[i].start, standing[i].end) for i in mine)
        above = _above(stage, stage.point(point), np.array(min(rises[i] for i in mine) - FLOOR_DEPTH_METRES), pauses)
        if len(above.frames(times)):
            made.append(above)
    if stage.landing is not None:
        made += [_above(stage, point, np.array(depth - FLOOR_DEPTH_METRES)) for point, depth in stage.landing.soles]
    if standing:
        lowest = standing[int(np.argmin(rises))]
        falling = _falling(stage, standing, lowest) if stage.landing is None else _tips(stage, standing)
        made += [
            _above(stage, point, np.minimum(heights, min(rises)) - FLOOR_DEPTH_METRES) for point, heights in falling
        ]
    return made


def giving(constraints: Sequence[Constraint], motion: Motion, actor: str = "") -> dict[str, float]:
    """The joints at the far ends of an actor's limbs that its motion turns and that nothing but the floor asks to turn
    otherwise, with what that costs."""
    skeleton = motion.skeleton
    ends = {end.name: end for end in skeleton.ends}
    asked: dict[str, bool] = {}
    for constraint in constraints:
        for ref in (*constraint.point_refs(), *constraint.joints()):
            point = ends.get(ref.point) if isinstance(ref.point, str) else ref.point
            if point is not None and point.offset.any() and ref.actor in ("", actor):
                asked[point.joint] = asked.get(point.joint, True) and isinstance(constraint, Region)
    last = [name for name, floor in asked.items() if floor and not skeleton.children[skeleton.joint(name)]]
    still = motion.still_joints if last else frozenset()
    return {name: GIVING for name in last if skeleton.index[name] not in still}


def _above(stage: ContactContext, point: Point, height: Array, pauses: tuple[tuple[float, float], ...] = ()) -> Region:
    """A point of the target stays above a height over the floor, metres: one number, or (F,) for one that changes."""
    return Region(
        point=PointRef(point=point, actor=stage.actor),
        shape="half_space",
        centre=np.array([0.0, stage.floor.height, 0.0]) + height[..., None] * UP,
        times=stage.source.times if height.ndim else None,
        normal=stage.floor.normal,
        pauses=pauses,
        name=f"{stage.actor} {point.name} above the floor".strip(),
    )


def _falling(stage: ContactContext, standing: Sequence[Contact], lowest: Contact) -> Falling:
    """What of a body of the same structure comes down to the floor besides the points that stand: the ends of its feet,
    and of one that does not just stand all that comes close."""
    motion, skeleton = stage.source, stage.source.skeleton
    stood = {c.point.name: c.point for c in standing}
    tips, bound = _ends_beyond(motion, list(stood.values()))
    near = (point for point in _near(stage, stage.rise(lowest)) if point not in bound and point.name not in stood)
    points = list({point.name: point for point in (*tips, *near)}.values())
    if not points:
        return []
    known = stage.feet is not None and all(point.joint in stage.feet.skeleton.index for point in points)
    pose = stage.feet if known else pose_of(motion, [skeleton.index[point.joint] for point in points])
    assert pose is not None
    # The floor is as far below a foot's joints as the foot is large.
    heights = stage.sizes(stage.bone_ratio(lowest.point)) * _heights(stage, pose, points).T
    return [(stage.point(point), row) for point, row in zip(points, heights, strict=True)]


def _ends_beyond(motion: Motion, stood: Sequence[Point]) -> tuple[list[Point], list[Point]]:
    """The ends of a body beyond points that it stands on: those that it turns without moving these, as toes, and those
    that are where the foot that stands puts them, because what carries them moves it too or never turns."""
    skeleton = motion.skeleton
    chains = [skeleton.chain(skeleton.index[point.joint]) for point in stood]
    bound = set(motion.still_joints)
    for point, chain in zip(stood, chains, strict=True):
        bound |= set(chain if point.offset.any() else chain[:-1])
    feet = {chain[-1] for chain in chains}
    names = {point.name for point in stood}
    beyond = [end for end in skeleton.ends if end.name not in names
              and feet & set(skeleton.chain(skeleton.index[end.joint]))]  # fmt: skip
    held = [skeleton.index[end.joint] in bound for end in beyond]
    return ([end for end, stuck in zip(beyond, held) if not stuck], [end for end, stuck in zip(beyond, held) if stuck])


def _near(stage: ContactContext, lowest: float) -> list[Point]:
    """The joints and ends of the source that come close to the floor, on its own body or the target's, while it does
    not just stand."""
    motion, skeleton, leg = stage.source, stage.source.skeleton, leg_length(stage.source.skeleton)
    up = rotate(motion.rotations[:, 0], unrotate(skeleton.rest_world[1][0], UP))[:, 1]
    hips = motion.root[:, 1] - stage.floor.heights(motion.root)
    frames = np.flatnonzero((up < TILTED) | (hips < LOW * leg))
    if len(frames) == 0:
        return []
    some = frames[:: max(round(motion.fps / LOOKED), 1)]
    points = _places(skeleton)
    sizes = np.broadcast_to(stage.sizes(stage.ratio), motion.num_frames)[some, None]
    heights = sizes * _heights(stage, fk(motion[some]), points)
    # A body of other proportions may bring other parts down than the source's.
    start = stage.start or start_motion(motion, stage.target, stage.floor)
    own = _heights(stage, fk(start[some]), [stage.point(point) for point in points])
    near = np.minimum(own, heights).min(axis=0) < lowest + CLOSE * stage.ratio * leg
    return [points[i] for i in np.flatnonzero(near)]


def _tips(stage: ContactContext, standing: Sequence[Contact]) -> Falling:
    """The ends of a human's feet beyond the points that it stands on, in place of another human.

    Each is as high as the point next to it should be, by the source's, and by as much lower as the carried motion has
    it.
    """
    landing, start, motion, target = stage.landing, stage.start, stage.source, stage.target
    if landing is None or start is None or not (is_humanoid(motion.skeleton) and is_humanoid(target)):
        return []
    stood = {landing.points[c.point.name]: c.point for c in standing if np.isfinite(landing.rises[c.point.name][0])}
    found: Falling = []
    for end in _ends_beyond(start, list(stood))[0]:
        chain = target.chain(target.index[end.joint])
        beside = [point for point in stood if target.index[point.joint] in chain]
        next_to = max(beside, key=lambda point: target.index[point.joint])
        source = stood[next_to]
        usual, rise = landing.rises[source.name]
        its = _heights(stage, pose_of(motion, [motion.skeleton.index[source.joint]]), [source])[:, 0]
        carried = pose_of(start, [target.index[point.joint] for point in (end, next_to)])
        lower = np.diff(_heights(stage, carried, [next_to, end]), axis=1)[:, 0]
        found.append((end, rise + stage.ratio * (its - usual) + lower))
    return found


def _places(skeleton: Skeleton) -> list[Point]:
    """The joints and ends of a body, without joints in the place of their parent."""
    apart = [Point(name=name, joint=name) for name, length in zip(skeleton.names, skeleton.lengths) if length > 1e-6]
    return [*apart, *skeleton.ends]


def _heights(stage: ContactContext, pose: Pose, points: Sequence[Point]) -> Array:
    """(F, P) metres: how high points are above the floor."""
    places = pose.points(points)
    heights: Array = places[..., 1] - stage.floor.heights(places)
    return heights
