"""Landing points: where on the target the source's contacts go, and how much larger its steps are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from understudy.body import facing, feet, is_humanoid
from understudy.contacts import Contact, contact_points
from understudy.geometry.quaternion import Array, rotate, unrotate
from understudy.kinematics import Pose, fk
from understudy.motion import Motion, rest_motion
from understudy.naming import side
from understudy.skeleton import Point, Skeleton
from understudy.start import Floor, leg_ratio
from understudy.transfer.alignment import Alignment
from understudy.transfer.carry import anchors
from understudy.transfer.layout import Layout
from understudy.transfer.reference import posed

LOW = 0.3
"""Share of the hips' height below which a limb may stand on the floor too."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Landing:
    """The source's contacts as the target makes them."""

    contacts: tuple[Contact, ...]
    """The source's own, those that fall together on the target joined; a point that moves several of the target's is
    there once for each, by a name of its own."""
    points: dict[str, Point]
    """The target's point for each of their points, by name."""
    ratio: float
    """How much larger the target's steps are."""
    rises: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By the same names, metres above the floor at which the source's point usually stands, and the target's."""
    soles: tuple[tuple[Point, float], ...] = ()
    """Where the two stand differently: further points of the target's feet, and how far below what it stands on they
    may be, metres. They must not go into the floor either."""
    notes: tuple[str, ...] = ()


def land(motion: Motion, contacts: Sequence[Contact], alignment: Alignment, carried: Motion, floor: Floor) -> Landing:
    """Find where on the target the contacts of a motion go, given the motion as carried over to the target.

    A limb's contact points go to those of the partner limb, heel to heel and toe to toe; points that the map itself
    names go where it says. A four-legged target of a two-legged source sets its fore feet down with the opposite hind
    feet, as in a trot.
    """
    whole = alignment.correspondence
    own = _Soles.of(alignment, "source", motion)
    theirs = _Soles.of(alignment, "target", carried)
    given = {pair.source: [whole.target.point(p.target) for p in whole.points if p.source == pair.source]
             for pair in whole.points}  # fmt: skip
    table: dict[str, list[Point]] = {}
    for contact in contacts:
        point = contact.point
        if point.name in table:
            continue
        table[point.name] = given.get(point.name, []) or theirs.like(own.limb_of(point), own.along(point))
        if not table[point.name]:
            spare = _carried_over(point, alignment)
            table[point.name] = [p for p in spare if contact.on != "floor" or theirs.near_floor(p)]
    if not given and not is_humanoid(whole.target):
        _set_down_the_rest(table, theirs)
    lost = sorted(name for name, points in table.items() if not points)
    said = (
        f"What the target has for {', '.join(f'`{name}`' for name in lost)} does not stand on the floor: not planted."
    )
    made, places = _expanded(contacts, table)
    return Landing(
        contacts=made,
        points=places,
        ratio=step_ratio(alignment),
        rises=_rises(made, places, theirs, (motion, carried), floor),
        soles=theirs.others({point.name for point in places.values()}) if alignment.stance else (),
        notes=(said,) if lost else (),
    )


def _carried_over(point: Point, alignment: Alignment) -> list[Point]:
    """A point of a bone as a point of the bone's partner; one of a bone without a partner as the limb's end."""
    whole = alignment.correspondence
    joint = whole.source.index[point.joint]
    above = [j for j in reversed(whole.source.chain(joint)) if whole.pair_of("source", whole.source.names[j])]
    if not above:
        return []
    pair = whole.pair_of("source", whole.source.names[above[0]])
    assert pair is not None
    bone = pair.target[-1]
    target = whole.target.index[bone]
    ends = [end for end in whole.target.ends if end.joint == bone]
    if above[0] != joint and ends:
        return ends[:1]
    lever = rotate(alignment.frames[target], rotate(alignment.source_world[joint], point.offset))
    offset = leg_ratio(whole.source, whole.target) * unrotate(alignment.target_world[target], lever)
    return [Point(name=f"{bone} for {point.name}", joint=bone, offset=offset)]


def _set_down_the_rest(table: dict[str, list[Point]], theirs: _Soles) -> None:
    """Give feet that no contact goes to the contacts of others, so that neighbours take turns as in a trot.

    Feet of one side are counted from front to back: every second one goes with the source's foot of the same side,
    those between with its foot of the other.
    """
    landed = {point.name: name for name, points in table.items() for point in points}
    rows: dict[str, list[list[Point]]] = {"left": [], "right": []}
    for points in theirs.limbs.values():
        if side(points[0].joint) in rows:
            rows[side(points[0].joint)].append(points)
    for row in rows.values():
        row.sort(key=lambda points: -float(theirs.pose.points(points[:1])[0, 0] @ theirs.forward))
    reached = {
        which: next((i for i, points in enumerate(row) if any(p.name in landed for p in points)), None)
        for which, row in rows.items()
    }
    for which, row in rows.items():
        for number, points in enumerate(row):
            first = reached[which]
            if first is None or any(p.name in landed for p in points):
                continue
            same = (number - first) % 2 == 0
            other = which if same else {"left": "right", "right": "left"}[which]
            at = reached[other]
            if at is not None:
                leading = [p for p in rows[other][at] if p.name in landed]
                for point in points:
                    nearest = min(leading, key=lambda p: abs(theirs.along(p) - theirs.along(point)))
                    table[landed[nearest.name]].append(point)


def _expanded(
    contacts: Sequence[Contact], table: dict[str, list[Point]]
) -> tuple[tuple[Contact, ...], dict[str, Point]]:
    """Contacts with one landing each; those of one landing that touch in time are one."""
    made: list[Contact] = []
    places: dict[str, Point] = {}
    first: dict[tuple[str, str], str] = {}
    for contact in contacts:
        for landing in table[contact.point.name]:
            name = first.setdefault((landing.name, contact.actor), contact.point.name)
            if places.get(name, landing) is not landing:
                # One point of the source that moves several of the target's goes by the names of both.
                name = first[landing.name, contact.actor] = f"{contact.point.name}>{landing.name}"
            places[name] = landing
            made.append(replace(contact, point=replace(contact.point, name=name)))
    return _joined(made), places


def _rises(
    contacts: Sequence[Contact], places: dict[str, Point], theirs: _Soles, motions: tuple[Motion, Motion], floor: Floor
) -> dict[str, tuple[float, float]]:
    """How high points usually stand: the source's as they do, the target's in a foot of its own shape.

    A foot of the target stands as high as the source's, scaled; how its points lie in it is seen in the motions of
    both, source and target, while all of the foot's points are down.
    """
    ratio = step_ratio(theirs.alignment)
    standing = [c for c in contacts if c.on == "floor" and c.place is not None]
    feet_of: dict[int, dict[str, Point]] = {}
    for contact in standing:
        limb = feet_of.setdefault(theirs.limb_of(places[contact.point.name]), {})
        limb[contact.point.name] = contact.point
    poses = [fk(motion) for motion in motions]
    frames = motions[0].num_frames
    found: dict[str, tuple[float, float]] = {}
    for points in feet_of.values():
        flat = np.ones(frames, bool)
        usual = np.zeros(len(points))
        for row, name in enumerate(points):
            down = np.zeros(frames, bool)
            mine = [c for c in standing if c.point.name == name and c.place is not None]
            for contact in mine:
                down[contact.frames(motions[0].fps, frames)] = True
            flat &= down
            usual[row] = np.median([float(c.place[1] - floor.heights(c.place)) for c in mine if c.place is not None])
        shape = np.zeros(len(points))
        if flat.any():
            for pose, spots, sign in (
                (poses[0], list(points.values()), -ratio),
                (poses[1], [places[n] for n in points], 1.0),
            ):
                path = pose.points(spots)[flat]
                heights = np.median(path[..., 1] - floor.heights(path), axis=0)
                shape += sign * (heights - heights.mean())
        found |= {name: (float(a), float(b)) for name, a, b in zip(points, usual, ratio * usual + shape, strict=True)}
    return found


def _joined(contacts: Sequence[Contact]) -> tuple[Contact, ...]:
    out: list[Contact] = []
    for contact in sorted(contacts, key=lambda c: (c.actor, c.point.name, c.on, c.start)):
        last = out[-1] if out else None
        same = last is not None and (last.actor, last.point.name, last.on) == (
            contact.actor,
            contact.point.name,
            contact.on,
        )
        if same and last is not None and contact.start <= last.end:
            out[-1] = replace(last, end=max(last.end, contact.end))
        else:
            out.append(contact)
    return tuple(sorted(out, key=lambda c: c.start))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Soles:
    """What one of two aligned bodies stands on, limb by limb of the map."""

    pose: Pose
    forward: Array
    limbs: dict[int, list[Point]]
    """Points by the number of their limb; -1 for limbs without a partner."""
    layout: Layout
    alignment: Alignment
    which: str
    stood: list[Point]
    """What of them the reference pose stands on."""

    @staticmethod
    def of(alignment: Alignment, which: str, motion: Motion | None = None) -> _Soles:
        skeleton: Skeleton = getattr(alignment.correspondence, which)
        local: Array = getattr(alignment, which)
        layout = Layout(
            correspondence=alignment.correspondence, source=alignment.source, target=alignment.target, upright=True
        )
        still = replace(rest_motion(skeleton), rotations=local[None])
        soles = _Soles(
            pose=posed(skeleton, local),
            forward=facing(still)[0],
            limbs={},
            layout=layout,
            alignment=alignment,
            which=which,
            stood=[],
        )
        for point in contact_points(motion or still):
            soles.limbs.setdefault(soles.limb_of(point), []).append(point)
        soles.stood.extend(point for point in contact_points(still) if soles.limb_of(point) >= 0)
        return soles

    def limb_of(self, point: Point) -> int:
        """The number of the limb that a point is on; -1 for one without a partner."""
        skeleton = self.pose.skeleton
        for joint in reversed(skeleton.chain(skeleton.index[point.joint])):
            pair = self.layout.correspondence.pair_of(self.which, skeleton.names[joint])
            if pair is not None:
                return next((i for i, run in enumerate(self.layout.limbs) if pair in run), -1)
        return -1

    def along(self, point: Point) -> float:
        """Where a point is on its sole: 0 at its back, 1 at its front."""
        places = self.pose.points([*self.limbs.get(self.limb_of(point), ()), point])[0] @ self.forward
        spread = float(np.ptp(places))
        return 0.5 if spread < 1e-6 else float((places[-1] - places.min()) / spread)

    def like(self, limb: int, along: float) -> list[Point]:
        """The point of a limb that lies as far along its sole."""
        points = self.limbs.get(limb, []) if limb >= 0 else []
        return sorted(points, key=lambda point: abs(self.along(point) - along))[:1]

    def others(self, known: set[str]) -> tuple[tuple[Point, float], ...]:
        """The tips of a human's feet if they are not known, and how far below the soles they are in the reference pose.

        Below an animal's paws rigs hang joints of all sorts, which are no part of the body.
        """
        if not self.stood or not known or not is_humanoid(self.pose.skeleton):
            return ()
        floor = float(self.pose.points(self.stood)[0, :, 1].mean())
        tips: dict[int, Point] = {}
        for point in sorted(feet(self.pose.skeleton), key=lambda p: float(self.pose.points([p])[0, 0] @ self.forward)):
            tips[self.limb_of(point)] = point
        more = [point for limb, point in tips.items() if limb >= 0 and point.name not in known]
        heights = self.pose.points(more)[0, :, 1] - floor
        return tuple((point, min(float(height), 0.0)) for point, height in zip(more, heights, strict=True))

    def near_floor(self, point: Point) -> bool:
        """Whether a point hangs so low in the reference pose that it may stand on the floor."""
        if not self.stood:
            return True
        floor = float(self.pose.points(self.stood)[0, :, 1].mean())
        return bool(self.pose.points([point])[0, 0, 1] - floor < LOW * self.height())

    def height(self) -> float:
        """Metres from what the body stands on up to its hip joints."""
        hips = anchors(self.layout.correspondence)[0 if self.which == "source" else 1]
        if not self.stood:
            return 0.0
        return float(self.pose.positions[0, hips, 1].mean() - self.pose.points(self.stood)[0, :, 1].mean())


def step_ratio(alignment: Alignment) -> float:
    """How much larger the target's steps are: by the height of its hips where both stand, else by its legs."""
    ratio = leg_ratio(alignment.correspondence.source, alignment.correspondence.target)
    a, b = (_Soles.of(alignment, side).height() for side in ("source", "target"))
    return b / a if a > 0.0 and b > 0.0 and 0.5 < b / a / ratio < 2.0 else ratio
