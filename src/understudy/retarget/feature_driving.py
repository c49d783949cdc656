"""Feature driving: a body with few degrees of freedom performs another body's motion [Gleicher98, sec. 8, fig. 11].

First the motion is retargeted onto an intermediate body: the source's skeleton with the target's proportions. Then a
band-limited least-squares solve makes points of the target follow features of that body. Last, a spacetime solve holds
the contacts that the target can keep, and keeps the target above the floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
from understudy.base.records import record
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.follow import Follow
from understudy.constraints.region import Region
from understudy.constraints.same_place import SamePlace
from understudy.correspondence.limits import joint_limits
from understudy.correspondence.pairs import ContactContext, PointPair
from understudy.figure.bands import choose_spacing, low_pass
from understudy.figure.contacts import (
    FLOOR_DEPTH_METRES,
    Contact,
    Floor,
    contact_points,
    detect_contacts,
    find_floor,
    held_frames,
)
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import UP, crown_point, extent, facing, hip_centre, leg_length, rest_positions
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Point, Skeleton
from understudy.retarget.features import (
    BOTTOM,
    CENTRE,
    LEFT,
    RIGHT,
    Feature,
    choose_features,
    find_supports,
    ground_points,
    middle_point,
    named_features,
    tips,
)
from understudy.retarget.ground import contact_name
from understudy.retarget.plan import Assignment, Options, plan
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.base import ProgressCallback, Solution
from understudy.solve.solvers.least_squares import LeastSquares
from understudy.solve.solvers.spacetime import Spacetime

MIN_CHANGE = 1e-3
"""The source keeps its proportions if its factors differ from 1, and its width in metres from 0, by less than this."""

LEG_ROLES = ("left_upper_leg", "right_upper_leg", "left_foot", "right_foot", "hips")
"""Roles that a source needs for separate factors of legs and trunk; any other source is scaled uniformly."""


@record
class Proportions:
    """Changes of the source's skeleton that bring its features near the target's.

    The target's foot points and centre are those of the pairs, or else its ground points and its middle point. If the
    source's legs are unknown, or no pair has a foot, both factors are the ratio of the spreads of the paired points.
    """

    leg: float
    """Factor of legs, feet and pelvis: height of the target's centre above its foot points, over the distance along the
    bones from the source's soles to its hip centre."""
    trunk: float
    """Factor of everything above the hips: height of the target's top above its centre, over the distance along the
    bones from the source's hip centre to its crown. It equals `leg` if either length is zero."""
    widening: float = 0.0
    """Metres added between the hip joints, half on each side: distance of the target's foot points, less the median
    lateral distance of the source's soles times `leg`. Narrowing stops where the hip joints meet."""

    @property
    def changes(self) -> bool:
        """Whether any proportion changes."""
        return max(abs(self.leg - 1.0), abs(self.trunk - 1.0), abs(self.widening)) > MIN_CHANGE

    def __str__(self) -> str:
        widened = f", hips {1e3 * self.widening:+.0f} mm wide" if self.widening else ""
        return f"legs x {self.leg:.3g}, trunk x {self.trunk:.3g}{widened}"


def find_proportions(
    motion: Motion, features: Sequence[Feature], contacts: Sequence[Contact], target: Skeleton
) -> Proportions:
    """Find the changes that give the source's body the target's proportions."""
    source, by_part = motion.skeleton, {feature.part: feature for feature in features if feature.part}
    grounds = [by_part[part] for part in (LEFT, RIGHT, BOTTOM) if part in by_part]
    # A single pair has no spread to compare, so the sizes of the bodies are compared instead.
    has_legs = all(role in roles(source) for role in LEG_ROLES) and (bool(grounds) or len(features) == 1)
    centre_point = by_part[CENTRE].target if CENTRE in by_part else middle_point(target)
    centre = rest_positions(target, [centre_point])[0]
    feet = rest_positions(target, [feature.target for feature in grounds] or ground_points(target))
    height = float(centre[1] - feet[:, 1].mean())
    if not has_legs or height <= 1e-3 * float(extent(target).max()):
        return _uniform_proportions(source, features, target)
    pose = fk(motion)
    leg = height / (leg_length(source) + _ankle_height(pose, motion, grounds, contacts))
    widening = 0.0
    if LEFT in by_part and RIGHT in by_part:
        left, right = by_part[LEFT], by_part[RIGHT]
        positions = rest_positions(target, [left.target, right.target])
        distance = float(np.linalg.norm((positions[0] - positions[1])[[0, 2]]))
        lateral = np.einsum("fi,fi->f", left.path(pose) - right.path(pose), cross(UP, facing(motion)))
        widening = distance - leg * float(np.median(lateral))
    top = float(rest_positions(target, tips(target))[:, 1].max() - centre[1])
    crown = _crown_height(source)
    trunk = top / crown if min(top, crown) > 1e-3 * height else leg
    return Proportions(leg=leg, trunk=trunk, widening=widening)


def _uniform_proportions(source: Skeleton, features: Sequence[Feature], target: Skeleton) -> Proportions:
    positions = np.stack([rest_positions(source, feature.source).mean(axis=0) for feature in features])
    goals = rest_positions(target, [feature.target for feature in features])
    spread, goal_spread = (float(np.linalg.norm(cloud - cloud.mean(axis=0))) for cloud in (positions, goals))
    ratio = goal_spread / spread if min(spread, goal_spread) > 1e-6 else 1.0
    return Proportions(leg=ratio, trunk=ratio)


def _ankle_height(pose: Pose, motion: Motion, grounds: Sequence[Feature], contacts: Sequence[Contact]) -> float:
    """Height of the ankles above the points of the soles while the feet stand flat, metres."""
    skeleton, joint_roles = pose.skeleton, roles(pose.skeleton)
    heights = []
    for which in (LEFT, RIGHT):
        foot = joint_roles[f"{which}_foot"]
        below = skeleton.below(foot)
        soles = [p for f in grounds for p in f.source if below[skeleton.index[p.joint]]]
        if not soles:
            continue
        stances = [c.frames(motion.fps, motion.num_frames) for c in contacts if below[skeleton.index[c.point.joint]]]
        frames = np.unique(np.concatenate(stances)) if stances else np.arange(motion.num_frames)
        above = pose.positions[:, foot, 1] - pose.points(soles)[..., 1].min(axis=1)
        heights.append(max(float(np.percentile(above[frames], 10.0)), 0.0) if len(frames) else 0.0)
    return float(np.mean(heights)) if heights else 0.0


def _crown_height(source: Skeleton) -> float:
    """Metres along the bones from the hips to the top of the head; 0 if there is no head."""
    crown = crown_point(source)
    if crown is None:
        return 0.0
    chain = source.chain(source.index[crown.joint])
    hips = roles(source)["hips"]
    bones = chain[chain.index(hips) + 1 :] if hips in chain else chain[1:]
    return float(source.lengths[bones].sum() + np.linalg.norm(crown.offset))


def intermediate_body(source: Skeleton, proportions: Proportions) -> Skeleton:
    """The source's skeleton with other proportions."""
    if not proportions.changes:
        return source
    joint_roles = roles(source)
    factors = np.full(source.num_joints, proportions.trunk)
    factors[0] = proportions.leg
    for role in (f"{which}_upper_leg" for which in (LEFT, RIGHT)):
        if role in joint_roles:
            factors[source.below(joint_roles[role])] = proportions.leg
            factors[source.chain(joint_roles[role])] = proportions.leg
    body = replace(source.scaled(factors), name=f"{source.name} of other proportions".strip())
    if proportions.widening == 0.0 or any(role not in joint_roles for role in LEG_ROLES):
        return body
    positions, rotations = body.rest_world
    uppers = [joint_roles["left_upper_leg"], joint_roles["right_upper_leg"]]
    across = positions[uppers[0]] - positions[uppers[1]]
    width = float(np.linalg.norm(across))
    across = across / width if width > 1e-9 else np.array([1.0, 0.0, 0.0])
    offsets = body.offsets.copy()
    for upper, sign in zip(uppers, (1.0, -1.0), strict=True):
        shift = 0.5 * sign * max(proportions.widening, -width) * across
        offsets[upper] += unrotate(rotations[source.parents[upper]], shift)
    return replace(body, offsets=offsets)


def _features_on(features: Sequence[Feature], motion: Motion, body: Skeleton) -> tuple[Feature, ...]:
    """The features with their source points moved onto the intermediate body."""
    context = ContactContext(source=motion, target=body, floor=Floor(slope=np.zeros(2)))
    centre = hip_centre(motion.skeleton)

    def point_on_body(point: Point) -> Point:
        if point.name == centre.name and point.joint == centre.joint:
            return hip_centre(body)
        return context.point(point)

    return tuple(replace(f, source=tuple(point_on_body(point) for point in f.source)) for f in features)


MAX_FLIGHT_INSTANTS = 3
"""Most instants of a flight at which constraints keep the body off the floor."""

MIN_FLIGHT_HEIGHT_METRES = 1e-3
"""An instant of a flight with less clearance gets no constraint."""


def find_flights(contacts: Sequence[Contact], motion: Motion) -> list[tuple[int, int]]:
    """First and last frame of each span between two floor contacts in which nothing touches the floor."""
    down = held_frames(motion, [contact for contact in contacts if contact.on == "floor"])
    edges = np.flatnonzero(np.diff(down.astype(np.int8)))
    return [(int(lift) + 1, int(last)) for lift, last in pairwise(edges) if not down[lift + 1]]


def clearances(motion: Motion, centre: Array, flights: Sequence[tuple[int, int]], floor: Floor) -> Array:
    """(F,) metres: wanted height of a driven body's lowest point above the floor.

    It is the height of the followed body's lowest point. A driven body has no legs to draw up, so in a flight it is
    also at least the rise of the followed body's centre above the line from take-off to landing.

    Args:
        motion: The motion of the followed body.
        centre: (F, 3) metres, world: path of that body's centre.
        flights: First and last frames of the source's flights.
        floor: The ground.
    """
    heights = np.maximum(lowest_heights(motion, floor), 0.0)
    for first, last in flights:
        frames = np.arange(first - 1, last + 2)
        rise = centre[frames, 1] - np.interp(frames, frames[[0, -1]], centre[frames[[0, -1]], 1])
        heights[frames] = np.maximum(heights[frames], rise)
    return heights


def lowest_heights(motion: Motion, floor: Floor) -> Array:
    """(F,) metres: height above the floor of the lowest tip or contact point of a body."""
    positions = fk(motion).points((*tips(motion.skeleton), *contact_points(motion)))
    return np.asarray((positions[..., 1] - floor.heights(positions)).min(axis=1) * floor.normal[1])


def _raise_to(motion: Motion, heights: Array, floor: Floor) -> Motion:
    """Shift a motion at each frame so that its lowest point is at a height (F,) above the floor.

    A least-squares fit splits the error between points: a body that lifts one side pushes the other into the floor.
    """
    rise = heights - lowest_heights(motion, floor)
    return replace(motion, root=motion.root + rise[:, None] * floor.normal)


def _plants(motion: Motion, supports: Sequence[Contact], floor: Floor) -> list[Constraint]:
    """Constraints that keep each supporting point in one place on the floor; the solve chooses the place."""
    constraints: list[Constraint] = []
    for contact in _with_places(motion, supports):
        assert contact.place is not None
        constraints.append(
            SamePlace(
                point=PointRef(point=contact.point),
                height=float(floor.heights(contact.place)),
                start=contact.start,
                end=contact.end,
                name=contact_name(contact),
            )
        )
    return constraints


def _with_places(motion: Motion, contacts: Sequence[Contact]) -> tuple[Contact, ...]:
    """The contacts with the mean positions of their points in a motion as places."""
    pose, clock = fk(motion), (motion.fps, motion.num_frames)
    return tuple(replace(c, place=pose.points([c.point])[c.frames(*clock), 0].mean(axis=0)) for c in contacts)


def _above_floor(motion: Motion, supports: Sequence[Contact], floor: Floor) -> list[Constraint]:
    """Constraints that keep every tip of the body above the floor, except while a plant holds it."""
    constraints: list[Constraint] = []
    for tip in tips(motion.skeleton):
        pauses = tuple((c.start, c.end) for c in supports if c.point.name == tip.name)
        region = replace(_region_above(tip, floor, -FLOOR_DEPTH_METRES, f"{tip.name} above the floor"), pauses=pauses)
        if len(region.frames(motion.times)):
            constraints.append(region)
    return constraints


def _off_floor(motion: Motion, flights: Sequence[tuple[int, int]], heights: Array, floor: Floor) -> list[Constraint]:
    """Constraints that lift the ground points to heights (F,) at some instants of each flight of the source."""
    constraints: list[Constraint] = []
    for first, last in flights:
        frames = np.unique(np.linspace(first, last, MAX_FLIGHT_INSTANTS + 2).round().astype(int)[1:-1])
        for frame in frames[heights[frames] > MIN_FLIGHT_HEIGHT_METRES]:
            time = float(motion.times[frame])
            for point in ground_points(motion.skeleton):
                region = _region_above(point, floor, float(heights[frame]), f"{point.name} in the air at {time:.2f} s")
                constraints.append(replace(region, instants=(time,)))
    return constraints


def _region_above(point: Point, floor: Floor, height: float, name: str) -> Region:
    """A constraint that keeps a point at least at a height above the floor, metres."""
    return Region(
        point=PointRef(point=point),
        shape="half_space",
        centre=np.array([0.0, floor.height, 0.0]) + height * floor.normal,
        normal=floor.normal,
        name=name,
    )


FACING_WEIGHT = 1e-6
"""Weight of the source's facing direction relative to the points: it decides rotations that the points leave open."""


@record
class Driven:
    """The motion of a target that follows a source's features, and the inputs of its solve."""

    solution: Solution
    """The last solve, for contacts and floor."""
    intermediate: Motion
    """The source's motion on the intermediate body, which has the target's proportions."""
    features: tuple[Feature, ...]
    """Which point of the target follows which points of the intermediate body."""
    proportions: Proportions
    contacts: tuple[Contact, ...]
    """The contacts that the target's points keep, with their places."""
    notes: tuple[str, ...]
    """Automatic decisions, a sentence each."""

    @property
    def motion(self) -> Motion:
        """The target's motion."""
        return self.solution.motion

    def distances(self) -> Array:
        """(F, P) metres: distance of each point of the target from the points that it follows."""
        positions = fk(self.motion).points([feature.target for feature in self.features])
        return np.linalg.norm(positions - _paths(self.intermediate, self.features), axis=-1)


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
        motion: The source's motion.
        target: The character that follows: a rigid body, a chain, any body with points.
        points: Which points of the target follow which points of the source. If not given, the lowest points on its
            left and right follow the feet, and its centre follows the hips.
        contacts: The source's contacts; detected if not given.
        options: Choices that differ from the automatic ones; plants are `free` or `none`.
        watch: Called with the current step and the share of the work done.
    """
    options, watch = options or Options(), watch or (lambda _text, _share: None)
    if options.plants == "fixed":
        raise OptionError(
            "Expected plants `free` or `none` for feature driving, got `fixed`: a body of another structure cannot "
            "stand in the original's footsteps"
        )
    if contacts is None:
        contacts = detect_contacts(motion, contact_points(motion), options.detection)
    contacts = _contacts_of_source(contacts)
    if points is None:
        features = choose_features(motion, target)
    else:
        features = named_features(motion.skeleton, target, points)
    proportions = find_proportions(motion, features, contacts, target)
    supports, notes = find_supports(features, motion, contacts, target, _centre(motion, features))
    if options.plants == "none":
        supports, notes = (), ()
    progress = _progress_range(watch, 0.0, 0.4)
    intermediate, features = _retarget_to_intermediate(motion, features, proportions, contacts, options, progress)
    spacing = options.spacing or choose_spacing(motion, follow=True)
    progress = _progress_range(watch, 0.4, 0.7)
    followed, limits = _follow_features(intermediate, features, target, spacing, options, progress)
    floor = find_floor(contacts, leg_length(motion.skeleton))
    start, ground = _constrain_to_floor(followed, intermediate, features, contacts, supports, floor, options)
    problem = _problem(start, (*ground, *limits), options)
    solution = Spacetime(spacing=spacing).solve(problem, _progress_range(watch, 0.7, 1.0))
    return Driven(
        solution=solution,
        intermediate=intermediate,
        features=features,
        proportions=proportions,
        contacts=_with_places(solution.motion, supports),
        notes=(f"The intermediate body has {proportions}", *notes) if proportions.changes else notes,
    )


def _contacts_of_source(contacts: Sequence[Contact]) -> tuple[Contact, ...]:
    """The contacts of the only source, without its contacts with other actors."""
    actors = sorted({contact.actor for contact in contacts})
    if len(actors) > 1:
        raise OptionError(
            f"Expected the contacts of one source; these are of {', '.join(f'`{name}`' for name in actors)}",
            hint="give only those of the motion that drives",
        )
    return tuple(replace(contact, actor="") for contact in contacts if contact.other is None)


def _progress_range(watch: ProgressCallback, begin: float, end: float) -> ProgressCallback:
    """A callback for one step of the work, which takes the shares from `begin` to `end`."""
    return lambda text, share: watch(text, begin + share * (end - begin))


def _retarget_to_intermediate(
    motion: Motion,
    features: tuple[Feature, ...],
    proportions: Proportions,
    contacts: tuple[Contact, ...],
    options: Options,
    watch: ProgressCallback,
) -> tuple[Motion, tuple[Feature, ...]]:
    """The motion on the intermediate body, and the features on it."""
    if not proportions.changes:
        return motion, features
    body = intermediate_body(motion.skeleton, proportions)
    # These options name joints of the target, which the intermediate body does not have.
    options = replace(options, keep=(), stiffness=None)
    solution = plan([Assignment(motion=motion, target=body)], contacts=contacts, options=options).solve(watch=watch)
    return solution.motion, _features_on(features, motion, body)


def _follow_features(
    intermediate: Motion,
    features: tuple[Feature, ...],
    target: Skeleton,
    spacing: float,
    options: Options,
    watch: ProgressCallback,
) -> tuple[Motion, tuple[Constraint, ...]]:
    """The target's motion with points as near as possible to those they follow, and the limits of its joints."""
    start = fit_rest_pose(intermediate, features, target, cutoff=0.5 / spacing)
    limits = _limits(start, options)
    follows = _follows(features, _paths(intermediate, features), intermediate.times)
    solution = LeastSquares(spacing=spacing).solve(_problem(start, (*follows, *limits), options), watch)
    return solution.motion, limits


def _constrain_to_floor(
    followed: Motion,
    intermediate: Motion,
    features: tuple[Feature, ...],
    contacts: tuple[Contact, ...],
    supports: tuple[Contact, ...],
    floor: Floor,
    options: Options,
) -> tuple[Motion, list[Constraint]]:
    """The motion shifted to its clearances, and the constraints that plant it, keep it above the floor or lift it."""
    constraints = _plants(followed, supports, floor)
    if not options.floor or all(contact.on != "floor" for contact in contacts):
        return followed, constraints
    if any(feature.part in (LEFT, RIGHT, BOTTOM) for feature in features):
        flights = find_flights(contacts, intermediate)
        heights = clearances(intermediate, _centre(intermediate, features), flights, floor)
        followed = _raise_to(followed, heights, floor)
        constraints += _off_floor(followed, flights, heights, floor)
    return followed, constraints + _above_floor(followed, supports, floor)


def _paths(motion: Motion, features: Sequence[Feature]) -> Array:
    """(F, P, 3) metres, world: the path that each feature's target point follows."""
    pose = fk(motion)
    return np.stack([feature.path(pose) for feature in features], axis=1)


def _centre(motion: Motion, features: Sequence[Feature]) -> Array:
    """(F, 3) metres, world: path of the features that are the centre, or else the mean path of all features."""
    centres = [feature for feature in features if feature.part == CENTRE]
    return _paths(motion, centres or features).mean(axis=1)


def fit_rest_pose(motion: Motion, features: Sequence[Feature], target: Skeleton, *, cutoff: float) -> Motion:
    """Fit the target's rest pose rigidly to the features at each frame, and smooth it: the start of the solve.

    The rotation minimises the squared distances [Kabsch 1976]. Two points leave a rotation open; the body then faces
    as the source does.

    Args:
        motion: The motion that is followed.
        features: Which points follow which.
        target: The body that is fitted.
        cutoff: Frequency of the low-pass filter, hertz.
    """
    goals = _paths(motion, features)
    positions = rest_positions(target, [feature.target for feature in features])
    centred_goals, origin = goals - goals.mean(axis=1, keepdims=True), positions.mean(axis=0)
    forward = facing(motion)
    yaw = from_axis_angle(UP, np.arctan2(forward[:, 0], forward[:, 2]))
    square_size = max(float(np.square(positions - origin).sum()), 1e-12)
    covariance = np.einsum("fpi,pj->fij", centred_goals, positions - origin)
    u, _, vt = np.linalg.svd(covariance + FACING_WEIGHT * square_size * to_matrix(yaw))
    signs = np.ones((len(u), 3))
    signs[:, 2] = np.linalg.det(u) * np.linalg.det(vt)
    turns = continuous(from_matrix((u * signs[:, None]) @ vt))
    turns = normalize(low_pass(turns, motion.fps, cutoff))
    centres = low_pass(goals.mean(axis=1), motion.fps, cutoff)
    rotations = np.tile(target.rest, (motion.num_frames, 1, 1))
    rotations[:, 0] = multiply(turns, target.rest[0])
    root = centres + rotate(turns, target.offsets[0] - origin)
    return Motion(skeleton=target, fps=motion.fps, root=root, rotations=rotations, name=target.name)


def _limits(start: Motion, options: Options) -> tuple[Constraint, ...]:
    if not options.limits or start.skeleton.num_joints == 1:
        return ()
    return tuple(joint_limits(start)[0])


def _problem(start: Motion, constraints: tuple[Constraint, ...], options: Options) -> Problem:
    """The solve of the driven body: its start, its constraints, and which of its joints are fixed or stiff."""
    skeleton = start.skeleton
    fixed = {skeleton.names[skeleton.joint(name)] for name in options.keep}
    joints = tuple(name for name in skeleton.names if name not in fixed) if fixed else None
    return Problem(actors=(Actor(motion=start, joints=joints, stiffness=options.stiffness),), constraints=constraints)


def _follows(features: Sequence[Feature], paths: Array, times: Array) -> tuple[Constraint, ...]:
    clock = times if len(times) > 1 else None
    return tuple(
        Follow(point=PointRef(point=feature.target), path=paths[:, i], times=clock, name=feature.label)
        for i, feature in enumerate(features)
    )
