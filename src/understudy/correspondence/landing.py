"""Landing points: where on the target the source's contacts go, and how much larger its steps are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from understudy.base.quaternion import Array, rotate, unrotate
from understudy.correspondence.alignment import Alignment, PairTree, posed, stands_at_rest
from understudy.correspondence.carry import anchors
from understudy.correspondence.pairs import Correspondence, carries
from understudy.figure.contacts import Contact, contact_points
from understudy.figure.floor import Floor, leg_ratio
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import facing, feet, is_humanoid, leg_length
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.naming import side, words
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.symmetry import partners

BESIDE = 0.1
"""Share of a sole's length along which points lie beside each other."""

OFF_GROUND = 0.05
"""Share of a leg's length above what its limb ends in from which on a point does not stand on the ground."""

LOW = 0.3
"""Share of the hips' height below which a limb may stand on the floor too."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Soles:
    """What one of two aligned bodies stands on, limb by limb of the map."""

    pose: Pose
    forward: Array
    limbs: dict[int, list[Point]]
    """Points by the number of their limb; -1 for limbs without a partner."""
    layout: PairTree
    alignment: Alignment
    which: str
    stood: list[Point]
    """What of them the reference pose stands on."""

    @staticmethod
    def of(alignment: Alignment, which: str, motion: Motion | None = None) -> Soles:
        skeleton: Skeleton = getattr(alignment.correspondence, which)
        local: Array = getattr(alignment, which)
        layout = PairTree(
            correspondence=alignment.correspondence, source=alignment.source, target=alignment.target, upright=True
        )
        still = replace(rest_motion(skeleton), rotations=local[None])
        soles = Soles(
            pose=posed(skeleton, local),
            forward=facing(still)[0],
            limbs={},
            layout=layout,
            alignment=alignment,
            which=which,
            stood=[],
        )
        # A body that keeps its own stance shows there what it stands on; what is carried to it may wave a paw for good.
        shown = still if motion is None or (alignment.stance and which == "target") else motion
        animal = which == "target" and not is_humanoid(skeleton)
        found = contact_points(shown)
        for point in soles.alike(found) if animal else found:
            row = soles.limbs.setdefault(soles.limb_of(point), [])
            if point.name not in {other.name for other in row}:
                row.append(point)
        soles.stood.extend(soles.lowest([p for p in contact_points(still) if soles.limb_of(p) >= 0]))
        return soles

    def lowest(self, points: list[Point]) -> list[Point]:
        """Those of some points that are down where the body stands: what hangs high in the pose is not stood on."""
        if not points:
            return []
        heights = self.pose.points(points)[0, :, 1]
        hips = anchors(self.layout.correspondence)[0 if self.which == "source" else 1]
        above = max(float(self.pose.positions[0, hips, 1].mean() - heights.min()), 0.0)
        return [point for point, at in zip(points, heights, strict=True) if at <= heights.min() + LOW * above]

    def foremost(self, point: Point) -> Point:
        """What hangs lowest in the reference pose of a point and all that is beyond it on its limb."""
        skeleton = self.pose.skeleton
        below = skeleton.below(skeleton.index[point.joint])
        beyond = [skeleton.point(skeleton.names[j]) for j in np.flatnonzero(below)]
        beyond += [end for end in skeleton.ends if below[skeleton.index[end.joint]]]
        return min([point, *beyond], key=lambda p: float(self.pose.points([p])[0, 0, 1]))

    def grounded(self, point: Point) -> Point:
        """A point, or where it is off the ground, as what is called an animal's foot may be, what it stands on."""
        lower = self.foremost(point)
        heights = self.pose.points([point, lower])[0, :, 1]
        return lower if heights[0] - heights[1] > OFF_GROUND * leg_length(self.pose.skeleton) else point

    def alike(self, points: Sequence[Point]) -> list[Point]:
        """Points grounded where those of the other side are too: a paw that hangs lower by itself is a lifted one."""
        lower = [self.grounded(point) for point in points]
        skeleton = self.pose.skeleton
        twins = {name: skeleton.names[j] for name, j in zip(skeleton.names, partners(skeleton), strict=True)}
        standing = {twins[point.joint] for point, low in zip(points, lower, strict=True) if low is point}
        paired = {name for name, twin in twins.items() if name != twin}
        return [point if point.joint in standing & paired else low for point, low in zip(points, lower, strict=True)]

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
        """The point of a limb that lies as far along its sole, or those that do, side by side."""
        points = self.limbs.get(limb, []) if limb >= 0 else []
        if not points:
            return []
        nearest = self.along(min(points, key=lambda point: abs(self.along(point) - along)))
        return [point for point in points if abs(self.along(point) - nearest) < BESIDE]

    def flat(self, points: list[Point]) -> Array | None:
        """(P,) how high above the floor points of one limb are where the body stands on all of them in its rest pose.

        None unless they are ends named as parts of a sole, as a robot's are, and lie level there.
        """
        skeleton = self.pose.skeleton
        spots = posed(skeleton, skeleton.rest).points(points)[0]
        named = all("sole" in words(point.name) and point in skeleton.ends for point in points)
        level = float(np.ptp(spots[:, 1])) < 0.1 * leg_length(skeleton)
        return spots[:, 1] - spots[:, 1].min() if named and level and stands_at_rest(skeleton) else None

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
    """By the same names, metres above the floor at which the source's point usually stands, and the target's; not a
    number for the source's where the target's has a flat sole and stands on all of it."""
    soles: tuple[tuple[Point, float], ...] = ()
    """Where not both are human: further points of the target's feet, and how far below what it stands on they
    may be, metres. They must not go into the floor either."""
    notes: tuple[str, ...] = ()


def land(motion: Motion, contacts: Sequence[Contact], alignment: Alignment, carried: Motion, floor: Floor) -> Landing:
    """Find where on the target the contacts of a motion go, given the motion as carried over to the target.

    A limb's contact points go to those of the partner limb, heel to heel and toe to toe; points that the map itself
    names go where it says. A four-legged target of a two-legged source sets its fore feet down with the opposite hind
    feet, as in a trot.
    """
    whole = alignment.correspondence
    own = Soles.of(alignment, "source", motion)
    theirs = Soles.of(alignment, "target", carried)
    given = {pair.source: [whole.target.point(p.target) for p in whole.points if p.source == pair.source]
             for pair in whole.points}  # fmt: skip
    table: dict[str, list[Point]] = {}
    for contact in contacts:
        point = contact.point
        if point.name in table:
            continue
        table[point.name] = given.get(point.name, []) or theirs.like(own.limb_of(point), own.along(point))
        if not table[point.name]:
            table[point.name] = _carried_over(point, alignment)
            if contact.on == "floor":
                table[point.name] = [p for p in map(theirs.foremost, table[point.name]) if theirs.near_floor(p)]
    if not given and not is_humanoid(whole.target):
        _set_down_the_rest(table, theirs)
    _as_one(table)
    lost = sorted(name for name, points in table.items() if not points)
    notes = [
        f"What the target has for {', '.join(f'`{name}`' for name in lost)} does not stand on the floor: not planted."
    ][: len(lost)]
    notes += _unnailed(table, {c.point.name: c.point.joint for c in contacts if c.point.name not in given}, whole)
    made, places = _expanded(contacts, table)
    human = is_humanoid(whole.source) and is_humanoid(whole.target)
    return Landing(
        contacts=made,
        points=places,
        ratio=step_ratio(alignment),
        rises=_rises(made, places, theirs, (motion, carried), floor),
        soles=() if human else theirs.others({point.name for point in places.values()}),
        notes=tuple(notes),
    )


def _as_one(table: dict[str, list[Point]]) -> None:
    """Let landings in one place of one bone be one point: two of different heights could not both stand."""
    known: dict[tuple[str, bytes], Point] = {}
    for name, points in table.items():
        same = [known.setdefault((point.joint, np.round(point.offset, 6).tobytes()), point) for point in points]
        table[name] = list({point.name: point for point in same}.values())


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
    if above[0] != joint:
        inner = whole.source.names[above[0]]
        branches = any(carries(whole.source, inner, other) for each in whole.pairs for other in each.source)
        # From where others hang as well, a limb that the target has not is no part of the bone's own end.
        return [] if branches else ends[:1]
    lever = rotate(alignment.frames[target], rotate(alignment.source_world[joint], point.offset))
    offset = leg_ratio(whole.source, whole.target) * unrotate(alignment.target_world[target], lever)
    return [Point(name=f"{bone} for {point.name}", joint=bone, offset=offset)]


def _set_down_the_rest(table: dict[str, list[Point]], theirs: Soles) -> None:
    """Give feet that no contact goes to the contacts of others, so that neighbours take turns as in a trot.

    Feet of one side are counted from front to back: every second one goes with the source's foot of the same side,
    those between with its foot of the other.
    """
    landed = {point.name: name for name, points in table.items() for point in points}
    rows: dict[str, list[list[Point]]] = {"left": [], "right": []}
    for points in theirs.limbs.values():
        # A dog that rises like a human stands on its hind feet alone.
        if side(points[0].joint) in rows and all(theirs.near_floor(point) for point in points):
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
                # All of it at once, with the ball of the other: rolling over a heel is for a foot that the source has.
                front = max((p for p in rows[other][at] if p.name in landed), key=theirs.along)
                table[landed[front.name]].extend(points)


def _unnailed(table: dict[str, list[Point]], joints: dict[str, str], whole: Correspondence) -> list[str]:
    """Take out landings that several limbs of the source share: taking turns, they would nail the target down."""
    users: dict[str, list[str]] = {}
    for name, bone in joints.items():
        for landing in table[name]:
            users.setdefault(landing.name, []).append(bone)
    chains = {bone: set(whole.source.chain(whole.source.index[bone])) for bone in joints.values()}
    shared = [
        landing
        for landing, bones in users.items()
        if not all(chains[a] <= chains[b] or chains[b] <= chains[a] for a, b in combinations(bones, 2))
    ]
    for name in joints:
        table[name] = [point for point in table[name] if point.name not in shared]
    return [f"Several limbs of the source would stand on `{landing}`: not planted." for landing in shared]


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
    contacts: Sequence[Contact], places: dict[str, Point], theirs: Soles, motions: tuple[Motion, Motion], floor: Floor
) -> dict[str, tuple[float, float]]:
    """How high points usually stand: the source's as they do, the target's in a foot of its own shape.

    A foot of the target stands as high as the source's, scaled. How its points lie in it is seen in its own stance or,
    where bones point alike, in the motions of both, source and target, while all of the foot's points are down.
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
        stood = theirs.flat([places[name] for name in points])
        if stood is not None:
            found |= {name: (np.nan, float(rise)) for name, rise in zip(points, stood, strict=True)}
            continue
        flat = np.ones(frames, bool)
        usual = np.zeros(len(points))
        for row, name in enumerate(points):
            down = np.zeros(frames, bool)
            mine = [c for c in standing if c.point.name == name and c.place is not None]
            for contact in mine:
                down[contact.frames(motions[0].fps, frames)] = True
            flat &= down
            usual[row] = np.median([float(c.place[1] - floor.heights(c.place)) for c in mine if c.place is not None])
        landed = [places[name] for name in points]
        if theirs.alignment.stance:
            own = ratio * usual.mean() + _shape(theirs.pose.points(landed), floor)
        elif flat.any():
            own = ratio * usual + _shape(poses[1].points(landed)[flat], floor)
            own -= ratio * _shape(poses[0].points(list(points.values()))[flat], floor)
        else:
            own = ratio * usual
        found |= {name: (float(a), float(b)) for name, a, b in zip(points, usual, own, strict=True)}
    return found


def _shape(path: Array, floor: Floor) -> Array:
    """(P,) metres: how high points (F, P, 3) usually lie above the lowest of them, which is what a foot stands on."""
    heights = np.median(path[..., 1] - floor.heights(path), axis=0)
    return heights - heights.min()


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


def step_ratio(alignment: Alignment) -> float:
    """How much larger the target's steps are: by the height of its hips where both stand, else by its legs."""
    ratio = leg_ratio(alignment.correspondence.source, alignment.correspondence.target)
    a, b = (Soles.of(alignment, side).height() for side in ("source", "target"))
    return b / a if a > 0.0 and b > 0.0 and 0.5 < b / a / ratio < 2.0 else ratio
