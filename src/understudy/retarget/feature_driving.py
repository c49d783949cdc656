"""Feature driving: a body with fewer freedoms, or no limbs, performs another's motion [Gleicher98, sec. 8, fig. 11].

The source is first retargeted onto an intermediate body: its own skeleton with the target's proportions. Points of the
target then follow that body's features, in the least-squares sense with a band-limited change; at last the spacetime
solve makes the contacts hold that the target can keep, and keeps it above the floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import (
    Array,
    continuous,
    cross,
    from_axis_angle,
    from_matrix,
    multiply,
    normalize,
    rotate,
    to_matrix,
    unrotate,
)
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.follow import Follow
from understudy.constraints.region import Region
from understudy.constraints.same_place import SamePlace
from understudy.correspondence.limits import joint_limits
from understudy.correspondence.pairs import ContactContext, PointPair
from understudy.figure.bands import choose_spacing, low_pass
from understudy.figure.contacts import FLOOR_DEPTH_METRES, Contact, Floor, contact_points, detect_contacts, find_floor
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import UP, extent, facing, leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Point, Skeleton
from understudy.retarget.features import (
    BOTTOM,
    CENTRE,
    LEFT,
    RIGHT,
    Feature,
    chosen_features,
    crown_point,
    given_features,
    hip_centre,
    middle_point,
    rest_places,
    stands_on,
    supports,
    tips,
)
from understudy.retarget.plan import Assignment, Options, plan
from understudy.retarget.plants import contact_name
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.base import ProgressCallback, Solution
from understudy.solve.solvers.least_squares import LeastSquares
from understudy.solve.solvers.spacetime import Spacetime

SAME = 1e-3
"""Share by which measures may differ for the source to have the target's proportions already."""

LEGS = ("left_upper_leg", "right_upper_leg", "left_foot", "right_foot", "hips")
"""Roles without which a source is only made larger or smaller as a whole."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Proportions:
    """How the source's skeleton is changed so that its features lie about where the target's do.

    `leg`: the target's centre above its foot points, over the source's hip centre above its soles along the bones;
    it scales legs, feet and pelvis.
    `trunk`: the target's top above its centre, over the source's crown above its hip centre along the bones; it scales
    all above the hips, and is `leg` where no head is known or the target ends at its centre.
    `widening`: the target's foot points apart, less the source's soles apart to the side, in the median over the
    motion and scaled by `leg`; half of it is added to each hip joint's place, across. At most the legs meet.
    Points of the target that are in no pair are those it stands on and its middle. A source without legs that can be
    told, or pairs of which none is a foot, scale it as a whole: by how far the target's points spread, over the
    source's.
    """

    leg: float
    trunk: float
    widening: float = 0.0
    """Metres."""

    @property
    def changes(self) -> bool:
        """Whether there is anything to change."""
        return max(abs(self.leg - 1.0), abs(self.trunk - 1.0), abs(self.widening)) > SAME

    def __str__(self) -> str:
        widened = f", hips {1e3 * self.widening:+.0f} mm wide" if self.widening else ""
        return f"legs x {self.leg:.3g}, trunk x {self.trunk:.3g}{widened}"


def proportions(
    motion: Motion, features: Sequence[Feature], contacts: Sequence[Contact], target: Skeleton
) -> Proportions:
    """What makes the source's body one of the target's proportions."""
    source, by_part = motion.skeleton, {feature.part: feature for feature in features if feature.part}
    grounds = [by_part[part] for part in (LEFT, RIGHT, BOTTOM) if part in by_part]
    # A single pair says nothing of sizes: there, too, the whole body does.
    legged = all(role in roles(source) for role in LEGS) and (bool(grounds) or len(features) == 1)
    centre = by_part[CENTRE].target if CENTRE in by_part else middle_point(target)
    middle = rest_places(target, [centre])[0]
    stands = rest_places(target, [feature.target for feature in grounds] or stands_on(target))
    height = float(middle[1] - stands[:, 1].mean())
    if not legged or height <= 1e-3 * float(extent(target).max()):
        return _evenly(source, features, target)
    pose = fk(motion)
    leg = height / (leg_length(source) + _ankle_height(pose, motion, grounds, contacts))
    widening = 0.0
    if LEFT in by_part and RIGHT in by_part:
        left, right = by_part[LEFT], by_part[RIGHT]
        places = rest_places(target, [left.target, right.target])
        apart = float(np.linalg.norm((places[0] - places[1])[[0, 2]]))
        aside = np.einsum("fi,fi->f", left.path(pose) - right.path(pose), cross(UP, facing(motion)))
        widening = apart - leg * float(np.median(aside))
    top = float(rest_places(target, tips(target))[:, 1].max() - middle[1])
    crown = _crown_height(source)
    trunk = top / crown if min(top, crown) > 1e-3 * height else leg
    return Proportions(leg=leg, trunk=trunk, widening=widening)


def _evenly(source: Skeleton, features: Sequence[Feature], target: Skeleton) -> Proportions:
    places = np.stack([rest_places(source, feature.source).mean(axis=0) for feature in features])
    goals = rest_places(target, [feature.target for feature in features])
    spread, wanted = (float(np.linalg.norm(each - each.mean(axis=0))) for each in (places, goals))
    ratio = wanted / spread if min(spread, wanted) > 1e-6 else 1.0
    return Proportions(leg=ratio, trunk=ratio)


def _ankle_height(pose: Pose, motion: Motion, grounds: Sequence[Feature], contacts: Sequence[Contact]) -> float:
    """Metres from the ankles down to the soles' points, as the feet stand flattest."""
    skeleton, found = pose.skeleton, roles(pose.skeleton)
    drops = []
    for which in (LEFT, RIGHT):
        foot = found[f"{which}_foot"]
        below = skeleton.below(foot)
        soles = [p for f in grounds for p in f.source if below[skeleton.index[p.joint]]]
        if not soles:
            continue
        held = [c.frames(motion.fps, motion.num_frames) for c in contacts if below[skeleton.index[c.point.joint]]]
        frames = np.unique(np.concatenate(held)) if held else np.arange(motion.num_frames)
        above = pose.positions[:, foot, 1] - pose.points(soles)[..., 1].min(axis=1)
        drops.append(max(float(np.percentile(above[frames], 10.0)), 0.0) if len(frames) else 0.0)
    return float(np.mean(drops)) if drops else 0.0


def _crown_height(source: Skeleton) -> float:
    """Metres along the bones from the hips to the top of the head; 0 where there is none."""
    crown = crown_point(source)
    if crown is None:
        return 0.0
    path = source.chain(source.index[crown.joint])
    hips = roles(source)["hips"]
    bones = path[path.index(hips) + 1 :] if hips in path else path[1:]
    return float(source.lengths[bones].sum() + np.linalg.norm(crown.offset))


def intermediate(source: Skeleton, how: Proportions) -> Skeleton:
    """The source's skeleton with other proportions."""
    if not how.changes:
        return source
    found = roles(source)
    factors = np.full(source.num_joints, how.trunk)
    factors[0] = how.leg
    for role in (f"{which}_upper_leg" for which in (LEFT, RIGHT)):
        if role in found:
            factors[source.below(found[role])] = how.leg
            factors[source.chain(found[role])] = how.leg
    body = replace(source.scaled(factors), name=f"{source.name} of other proportions".strip())
    if how.widening == 0.0 or any(role not in found for role in LEGS):
        return body
    positions, rotations = body.rest_world
    uppers = [found["left_upper_leg"], found["right_upper_leg"]]
    across = positions[uppers[0]] - positions[uppers[1]]
    width = float(np.linalg.norm(across))
    across = across / width if width > 1e-9 else np.array([1.0, 0.0, 0.0])
    offsets = body.offsets.copy()
    for upper, sign in zip(uppers, (1.0, -1.0), strict=True):
        moved = 0.5 * sign * max(how.widening, -width) * across
        offsets[upper] += unrotate(rotations[source.parents[upper]], moved)
    return replace(body, offsets=offsets)


def moved_features(features: Sequence[Feature], motion: Motion, body: Skeleton) -> tuple[Feature, ...]:
    """The features with their source's points on the intermediate body instead."""
    stage = ContactContext(source=motion, target=body, floor=Floor(slope=np.zeros(2)))
    centre = hip_centre(motion.skeleton)

    def moved(point: Point) -> Point:
        if point.name == centre.name and point.joint == centre.joint:
            return hip_centre(body)
        return stage.point(point)

    return tuple(replace(f, source=tuple(moved(point) for point in f.source)) for f in features)


LOOKS = 3
"""At how many moments of a flight the body is held up at most; between them it follows."""

HIGH = 1e-3
"""Metres below which a flight is no hop."""


def find_flights(contacts: Sequence[Contact], motion: Motion) -> list[tuple[int, int]]:
    """First and last frames of the spans, between two contacts with the floor, in which there is none."""
    down = np.zeros(motion.num_frames, bool)
    for contact in contacts:
        if contact.on == "floor":
            down[contact.frames(motion.fps, motion.num_frames)] = True
    edges = np.flatnonzero(np.diff(down.astype(np.int8)))
    return [(int(a) + 1, int(b)) for a, b in pairwise(edges) if not down[a + 1]]


def clearance(middle: Motion, centre: Array, flights: Sequence[tuple[int, int]], floor: Floor) -> Array:
    """(F,) metres above the floor that the lowest point of a driven body is to be.

    As high as the lowest point of the body that it follows; and, as it has no legs to draw up or stretch out, at least
    as high in each flight as that body's middle rises over a straight line from where it takes off to where it lands.

    Args:
        middle: The motion of the body followed.
        centre: (F, 3) metres, world: the way of that body's middle.
        flights: First and last frames of the source's flights.
        floor: The ground.
    """
    height = np.maximum(lowest(middle, floor), 0.0)
    for first, last in flights:
        frames = np.arange(first - 1, last + 2)
        rise = centre[frames, 1] - np.interp(frames, frames[[0, -1]], centre[frames[[0, -1]], 1])
        height[frames] = np.maximum(height[frames], rise)
    return height


def lowest(motion: Motion, floor: Floor) -> Array:
    """(F,) metres above the floor of the lowest end or point worth watching of a body."""
    places = fk(motion).points((*tips(motion.skeleton), *contact_points(motion)))
    return np.asarray((places[..., 1] - floor.heights(places)).min(axis=1) * floor.normal[1])


def as_high(motion: Motion, height: Array, floor: Floor) -> Motion:
    """A motion raised or lowered at each frame so that its lowest point is at a height (F,) above the floor.

    Points that are followed in the least-squares sense end up between each other: a body that lifts one side pushes
    the other into the floor.
    """
    raised = height - lowest(motion, floor)
    return replace(motion, root=motion.root + raised[:, None] * floor.normal)


def plants(motion: Motion, kept: Sequence[Contact], floor: Floor) -> list[Constraint]:
    """Points stay where they stand, not said where."""
    made: list[Constraint] = []
    for contact in placed(motion, kept):
        assert contact.place is not None
        made.append(
            SamePlace(
                point=PointRef(point=contact.point),
                height=float(floor.heights(contact.place)),
                start=contact.start,
                end=contact.end,
                name=contact_name(contact),
            )
        )
    return made


def placed(motion: Motion, kept: Sequence[Contact]) -> tuple[Contact, ...]:
    """The contacts with the places where their points are in a motion."""
    pose = fk(motion)
    return tuple(
        replace(c, place=pose.points([c.point])[c.frames(motion.fps, motion.num_frames), 0].mean(axis=0)) for c in kept
    )


def above_floor(motion: Motion, kept: Sequence[Contact], floor: Floor) -> list[Constraint]:
    """Every end of the body stays above the floor; while it stands its plant says so already."""
    made: list[Constraint] = []
    for tip in tips(motion.skeleton):
        pauses = tuple((c.start, c.end) for c in kept if c.point.name == tip.name)
        above = replace(_over(tip, floor, -FLOOR_DEPTH_METRES, f"{tip.name} above the floor"), pauses=pauses)
        if len(above.frames(motion.times)):
            made.append(above)
    return made


def off_floor(motion: Motion, flights: Sequence[tuple[int, int]], height: Array, floor: Floor) -> list[Constraint]:
    """What the body stands on is off the floor while the source is: at moments of each flight, by a height (F,)."""
    made: list[Constraint] = []
    for first, last in flights:
        frames = np.unique(np.linspace(first, last, LOOKS + 2).round().astype(int)[1:-1])
        for frame in frames[height[frames] > HIGH]:
            time = float(motion.times[frame])
            for point in stands_on(motion.skeleton):
                held = _over(point, floor, float(height[frame]), f"{point.name} in the air at {time:.2f} s")
                made.append(replace(held, instants=(time,)))
    return made


def _over(point: Point, floor: Floor, height: float, name: str) -> Region:
    """A point that stays at a height above the floor or higher."""
    return Region(
        point=PointRef(point=point),
        shape="half_space",
        centre=np.array([0.0, floor.height, 0.0]) + height * floor.normal,
        normal=floor.normal,
        name=name,
    )


UNSAID = 1e-6
"""How much facing forward counts against the points, where they leave a turn open."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Driven:
    """A target's motion that follows a source's features, and what it was made from."""

    solution: Solution
    """The last solve: contacts and floor."""
    intermediate: Motion
    """The source's motion on a body of its own structure and the target's proportions."""
    features: tuple[Feature, ...]
    """Which point of the target follows which points of the intermediate body."""
    proportions: Proportions
    contacts: tuple[Contact, ...]
    """The contacts that the target's points keep, with the places where they stand."""
    notes: tuple[str, ...]
    """What was decided on the way, a sentence each."""

    @property
    def motion(self) -> Motion:
        """What the target does."""
        return self.solution.motion

    def distances(self) -> Array:
        """(F, P) metres between each point of the target and what it follows."""
        followed, own = fk(self.intermediate), fk(self.motion)
        paths = np.stack([feature.path(followed) for feature in self.features], axis=1)
        return np.linalg.norm(own.points([feature.target for feature in self.features]) - paths, axis=-1)


def drive(
    motion: Motion,
    target: Skeleton,
    points: Sequence[PointPair] | None = None,
    *,
    contacts: Sequence[Contact] | None = None,
    options: Options | None = None,
    watch: ProgressCallback | None = None,
) -> Driven:
    """Make a body of any structure follow the features of a motion.

    Args:
        motion: What the source does.
        target: The character that is to follow: a rigid body, a chain, anything with points.
        points: Which points of the target follow which of the source; if not given, its lowest points on the left and
            right follow the feet and its centre the hips.
        contacts: The source's contacts; found by themselves if not given.
        options: What to choose otherwise than by itself; plants are `free` or `none`.
        watch: Told how far the solvers are.
    """
    options, watch = options or Options(), watch or (lambda _text, _share: None)
    if options.plants == "fixed":
        raise OptionError(
            "Expected plants `free` or `none` for feature driving, got `fixed`: a body of another structure cannot "
            "stand in the original's footsteps"
        )
    if contacts is None:
        contacts = detect_contacts(motion, contact_points(motion), options.detection)
    contacts = _own(contacts)
    if points is None:
        features = chosen_features(motion, target)
    else:
        features = given_features(motion.skeleton, target, points)
    how = proportions(motion, features, contacts, target)
    kept, notes = supports(features, motion, contacts, target, _centre(motion, features))
    if options.plants == "none":
        kept, notes = (), ()
    middle, features = _adapted(motion, features, how, contacts, options, _stage(watch, 0.0, 0.4))
    spacing = options.spacing or choose_spacing(motion)
    followed, limits = _followed(middle, features, target, spacing, options, _stage(watch, 0.4, 0.7))
    floor = find_floor(contacts, leg_length(motion.skeleton))
    start, hard = _grounded(followed, middle, features, contacts, kept, floor, options)
    solution = Spacetime(spacing=spacing).solve(_problem(start, (*hard, *limits), options), _stage(watch, 0.7, 1.0))
    return Driven(
        solution=solution,
        intermediate=middle,
        features=features,
        proportions=how,
        contacts=placed(solution.motion, kept),
        notes=(f"The intermediate body has {how}", *notes) if how.changes else notes,
    )


def _own(contacts: Sequence[Contact]) -> tuple[Contact, ...]:
    """The contacts of the one source with things that are no other actors."""
    actors = sorted({contact.actor for contact in contacts})
    if len(actors) > 1:
        raise OptionError(
            f"Expected the contacts of one source; these are of {', '.join(f'`{name}`' for name in actors)}",
            hint="give only those of the motion that drives",
        )
    return tuple(replace(contact, actor="") for contact in contacts if contact.other is None)


def _stage(watch: ProgressCallback, begin: float, end: float) -> ProgressCallback:
    """A watch for a part of the work."""
    return lambda text, share: watch(text, begin + share * (end - begin))


def _adapted(
    motion: Motion,
    features: tuple[Feature, ...],
    how: Proportions,
    contacts: tuple[Contact, ...],
    options: Options,
    watch: ProgressCallback,
) -> tuple[Motion, tuple[Feature, ...]]:
    """The motion on the intermediate body, and the features on it."""
    if not how.changes:
        return motion, features
    body = intermediate(motion.skeleton, how)
    # What is to be kept or stiff are joints of the target, which this body does not have.
    mine = replace(options, keep=(), stiffness=None)
    found = plan([Assignment(motion=motion, target=body)], contacts=contacts, options=mine).solve(watch=watch)
    return found.motion, moved_features(features, motion, body)


def _followed(
    middle: Motion,
    features: tuple[Feature, ...],
    target: Skeleton,
    spacing: float,
    options: Options,
    watch: ProgressCallback,
) -> tuple[Motion, tuple[Constraint, ...]]:
    """The target's points as near to what they follow as they come, and the limits of its joints."""
    start = fitted(middle, features, target, cutoff=0.5 / spacing)
    limits = _limits(start, options)
    follows = _follows(features, _paths(middle, features), middle.times)
    found = LeastSquares(spacing=spacing).solve(_problem(start, (*follows, *limits), options), watch)
    return found.motion, limits


def _grounded(
    followed: Motion,
    middle: Motion,
    features: tuple[Feature, ...],
    contacts: tuple[Contact, ...],
    kept: tuple[Contact, ...],
    floor: Floor,
    options: Options,
) -> tuple[Motion, list[Constraint]]:
    """A motion as high above the floor as what it follows, and what keeps it standing there, above it or off it."""
    hard = plants(followed, kept, floor)
    if not options.floor or all(contact.on != "floor" for contact in contacts):
        return followed, hard
    if any(feature.part in (LEFT, RIGHT, BOTTOM) for feature in features):
        flights = find_flights(contacts, middle)
        height = clearance(middle, _centre(middle, features), flights, floor)
        followed = as_high(followed, height, floor)
        hard += off_floor(followed, flights, height, floor)
    return followed, hard + above_floor(followed, kept, floor)


def _paths(middle: Motion, features: Sequence[Feature]) -> Array:
    """(F, P, 3) metres, world: what each feature's point is to follow."""
    pose = fk(middle)
    return np.stack([feature.path(pose) for feature in features], axis=1)


def _centre(motion: Motion, features: Sequence[Feature]) -> Array:
    """(F, 3) metres, world: the way of the source's middle."""
    middles = [feature for feature in features if feature.part == CENTRE]
    return _paths(motion, middles or features).mean(axis=1)


def fitted(middle: Motion, features: Sequence[Feature], target: Skeleton, *, cutoff: float) -> Motion:
    """The target's rest pose laid onto the features at each frame, rigidly, and smoothed: where the solver starts.

    The turn of each frame is the one of least squared distances [Kabsch 1976]; where the points leave a turn open, as
    two points do, the body faces as the source does.

    Args:
        middle: The motion followed.
        features: What follows what.
        target: The body laid onto them.
        cutoff: Hertz above which nothing is followed.
    """
    goals = _paths(middle, features)
    places = rest_places(target, [feature.target for feature in features])
    around, origin = goals - goals.mean(axis=1, keepdims=True), places.mean(axis=0)
    ahead = facing(middle)
    yaw = from_axis_angle(np.array([0.0, 1.0, 0.0]), np.arctan2(ahead[:, 0], ahead[:, 2]))
    size = max(float(np.square(places - origin).sum()), 1e-12)
    spread = np.einsum("fpi,pj->fij", around, places - origin) + UNSAID * size * to_matrix(yaw)
    u, _, vt = np.linalg.svd(spread)
    proper = np.ones((len(u), 3))
    proper[:, 2] = np.linalg.det(u) * np.linalg.det(vt)
    turns = continuous(from_matrix((u * proper[:, None]) @ vt))
    turns = normalize(low_pass(turns, middle.fps, cutoff))
    middles = low_pass(goals.mean(axis=1), middle.fps, cutoff)
    rotations = np.tile(target.rest, (middle.num_frames, 1, 1))
    rotations[:, 0] = multiply(turns, target.rest[0])
    root = middles + rotate(turns, target.offsets[0] - origin)
    return Motion(skeleton=target, fps=middle.fps, root=root, rotations=rotations, name=target.name)


def _limits(start: Motion, options: Options) -> tuple[Constraint, ...]:
    if not options.limits or start.skeleton.num_joints == 1:
        return ()
    return tuple(joint_limits(start)[0])


def _problem(start: Motion, constraints: tuple[Constraint, ...], options: Options) -> Problem:
    """The driven body with what it is to meet, and what the options say of its joints."""
    skeleton = start.skeleton
    kept = {skeleton.names[skeleton.joint(name)] for name in options.keep}
    joints = tuple(name for name in skeleton.names if name not in kept) if kept else None
    return Problem(actors=(Actor(motion=start, joints=joints, stiffness=options.stiffness),), constraints=constraints)


def _follows(features: Sequence[Feature], paths: Array, times: Array) -> tuple[Constraint, ...]:
    clock = times if len(times) > 1 else None
    return tuple(
        Follow(point=PointRef(point=feature.target), path=paths[:, i], times=clock, name=feature.label)
        for i, feature in enumerate(features)
    )
