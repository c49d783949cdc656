"""Retargeting: one character performs another's motion, with everything chosen by itself and open to change."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from understudy.bands import choose_spacing
from understudy.body import leg_length
from understudy.constraints.base import Constraint, Spot
from understudy.constraints.place import Place
from understudy.constraints.region import Region
from understudy.constraints.same_place import SamePlace
from understudy.contacts import Contact, Detection, contact_points, detect_contacts
from understudy.errors import OptionError, SkeletonError
from understudy.motion import Motion
from understudy.naming import side
from understudy.problem import Actor, Problem
from understudy.skeleton import Point, Skeleton
from understudy.solvers.base import Solution, Solver, Watch
from understudy.solvers.spacetime import Spacetime
from understudy.start import (
    Floor,
    check_structure,
    find_floor,
    leg_ratio,
    scaled_places,
    start_motion,
    translation_signal,
)

log = logging.getLogger(__name__)

SUNK = 1e-3
"""Metres below where a point stands at which the floor stops it, so that plants and floor do not ask the same twice."""

PLANTS = ("free", "fixed", "none")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a retarget may choose."""

    plants: str = "free"
    """`free`: the solver places the steps; `fixed`: in the original's footsteps; `none`: contacts are not kept."""
    spacing: float | None = None
    """Seconds between keys; None to choose by the motion's own frequencies."""
    detection: Detection = field(default_factory=Detection)
    floor: bool = True
    """Keep feet above the floor."""
    limits: bool = True
    """Keep joints inside the skeleton's limits, or human ones where it has none."""
    keep: tuple[str, ...] = ()
    """Joints whose rotations stay as they are."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """A retarget laid out and not yet solved: everything in it can be looked at and changed."""

    source: Motion
    start: Motion
    floor: Floor
    contacts: tuple[Contact, ...]
    """The source's."""
    constraints: tuple[Constraint, ...]
    options: Options
    notes: tuple[str, ...] = ()

    def problem(self) -> Problem:
        joints = None
        if self.options.keep:
            skeleton = self.start.skeleton
            kept = {skeleton.names[skeleton.joint(name)] for name in self.options.keep}
            joints = tuple(name for name in skeleton.names if name not in kept)
        return Problem(actors=(Actor(motion=self.start, joints=joints),), constraints=self.constraints)


def retarget(
    motion: Motion,
    target: Skeleton,
    *,
    constraints: Sequence[Constraint] = (),
    contacts: Sequence[Contact] | None = None,
    options: Options | None = None,
    solver: Solver | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Make a target of the same structure perform a motion.

    Args:
        motion: What the source does.
        target: The character that is to do it: the same joints, other lengths.
        constraints: What must hold besides the contacts.
        contacts: The source's contacts; found by themselves if not given.
        options: What to choose otherwise than by itself.
        solver: How to solve; `Spacetime()` if not given.
        watch: Told how far the solver is.
    """
    plan = plan_retarget(motion, target, constraints=constraints, contacts=contacts, options=options)
    spacing = plan.options.spacing or choose_spacing(motion)
    return (solver or Spacetime(spacing=spacing)).solve(plan.problem(), watch)


def plan_retarget(
    motion: Motion,
    target: Skeleton,
    *,
    constraints: Sequence[Constraint] = (),
    contacts: Sequence[Contact] | None = None,
    options: Options | None = None,
) -> Plan:
    """Everything a retarget is made of, before it is solved."""
    options = options or Options()
    if options.plants not in PLANTS:
        raise OptionError(f"Expected plants, one of {', '.join(PLANTS)}; got `{options.plants}`")
    check_structure(motion.skeleton, target)
    if float(target.lengths.sum()) <= 0.0:
        raise SkeletonError("The target's bones all have length zero")
    if contacts is None:
        found = detect_contacts(motion, contact_points(motion), options.detection)
    else:
        found = tuple(contacts)
    floor = find_floor(found, leg_length(motion.skeleton))
    start = start_motion(motion, target, floor)
    made: list[Constraint] = []
    if options.plants != "none":
        made += plant_constraints(motion, target, found, floor, fixed=options.plants == "fixed")
    if options.floor:
        made += floor_constraints(motion, target, found, floor)
    plan = Plan(
        source=motion,
        start=start,
        floor=floor,
        contacts=found,
        constraints=(*made, *constraints),
        options=options,
    )
    shift = translation_signal(plan.problem().pulls()[0], motion.fps)
    return replace(plan, start=replace(start, root=start.root + shift))


def target_point(point: Point, source: Skeleton, target: Skeleton) -> Point:
    """The same place on the target's body: an end of its own of that name, else the offset grown as its bones are."""
    for end in target.ends:
        if end.name == point.name and end.joint == point.joint:
            return end
    return replace(point, offset=point.offset * _bone_ratio(source, target, source.joint(point.joint)))


def _bone_ratio(source: Skeleton, target: Skeleton, joint: int) -> float:
    """How much longer the target's bones at a joint are: those that leave it, else the one that leads to it."""
    near = [j for j in (*source.children[joint], joint) if source.lengths[j] > 1e-9]
    if not near:
        return leg_ratio(source, target)
    bones = list(source.children[joint]) if any(source.lengths[j] > 1e-9 for j in source.children[joint]) else near
    return float(target.lengths[bones].sum() / source.lengths[bones].sum())


def plant_constraints(
    motion: Motion, target: Skeleton, contacts: Sequence[Contact], floor: Floor, *, fixed: bool
) -> list[Constraint]:
    """What keeps the source's contacts on the target: a constraint each, named after its point and time."""
    source = motion.skeleton
    ratio = leg_ratio(source, target)
    pinned = _anchors(contacts) if fixed else set()
    made: list[Constraint] = []
    for number, contact in enumerate(contacts):
        if contact.place is None:
            continue
        name = f"{contact.point.name} {contact.start:.2f}-{contact.end:.2f} s"
        spot = Spot(point=target_point(contact.point, source, target), actor=contact.actor)
        joint = source.joint(contact.point.joint)
        rise = float(contact.place[1] - floor.heights(contact.place)) * _bone_ratio(source, target, joint)
        place = contact.place if fixed else scaled_places(contact.place, ratio, floor)
        height = float(floor.heights(place)) + rise
        if number in pinned:
            where = np.array([contact.place[0], height, contact.place[2]])
            made.append(Place(spot=spot, target=where, start=contact.start, end=contact.end, name=name))
        else:
            made.append(SamePlace(spot=spot, height=height, start=contact.start, end=contact.end, name=name))
    return made


def _anchors(contacts: Sequence[Contact]) -> set[int]:
    """Of contacts of one limb that overlap in time, the first: one point is pinned, the others only keep still.

    Pinning several points of a foot where they were asks the impossible of a foot of another length.
    """
    chosen: set[int] = set()
    for number, contact in sorted(enumerate(contacts), key=lambda item: item[1].start):
        limb = _limb(contact.point)
        clash = any(
            _limb(contacts[i].point) == limb
            and contacts[i].start <= contact.end
            and contact.start <= contacts[i].end
            and contacts[i].actor == contact.actor
            for i in chosen
        )
        if not clash:
            chosen.add(number)
    return chosen


def _limb(point: Point) -> str:
    return side(point.joint) or point.joint


def floor_constraints(motion: Motion, target: Skeleton, contacts: Sequence[Contact], floor: Floor) -> list[Constraint]:
    """Every point that ever stands on the floor stays above it, at least as high as it stands."""
    source = motion.skeleton
    points = {c.point.name: c.point for c in contacts if c.on == "floor" and c.place is not None and not c.actor}
    made: list[Constraint] = []
    for name, point in points.items():
        stands = [c.place for c in contacts if c.point.name == name and c.place is not None]
        rise = min(float(place[1] - floor.heights(place)) for place in stands)
        grown = rise * _bone_ratio(source, target, source.joint(point.joint)) - SUNK
        made.append(
            Region(
                spot=Spot(point=target_point(point, source, target)),
                shape="half_space",
                centre=np.array([0.0, floor.height + grown, 0.0]),
                normal=floor.normal,
                tolerance=1e-3,
                name=f"{name} above the floor",
            )
        )
    return made


def naive(motion: Motion, target: Skeleton) -> Motion:
    """The source's angles and path on the target, with nothing solved: what copying gives."""
    check_structure(motion.skeleton, target)
    return replace(motion, skeleton=target, name=target.name)
