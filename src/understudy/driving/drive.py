"""Feature driving: a body with fewer freedoms, or no limbs, performs another's motion [Gleicher98, sec. 8, fig. 11].

The source is first retargeted onto an intermediate body: its own skeleton with the target's proportions. Points of the
target then follow that body's features, in the least-squares sense with a band-limited change; at last the spacetime
solve makes the contacts hold that the target can keep, and keeps it above the floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.bands import choose_spacing, low_pass
from understudy.body import facing, leg_length
from understudy.constraints.base import Constraint, Spot
from understudy.constraints.follow import Follow
from understudy.contacts import Contact, contact_points, detect_contacts
from understudy.driving.body import Proportions, intermediate, moved_features, proportions
from understudy.driving.ground import above_floor, as_high, clearance, find_flights, off_floor, placed, plants
from understudy.driving.points import BOTTOM, CENTRE, LEFT, RIGHT, Feature, chosen_features, given_features, rest_places
from understudy.driving.support import supports
from understudy.errors import OptionError
from understudy.geometry.quaternion import (
    Array,
    continuous,
    from_axis_angle,
    from_matrix,
    multiply,
    normalize,
    rotate,
    to_matrix,
)
from understudy.kinematics import fk
from understudy.limits import joint_limits
from understudy.motion import Motion
from understudy.plan import Options, Part, plan
from understudy.problem import Actor, Problem
from understudy.skeleton import Skeleton
from understudy.solvers.base import Solution, Watch
from understudy.solvers.least_squares import LeastSquares
from understudy.solvers.spacetime import Spacetime
from understudy.start import Floor, find_floor
from understudy.transfer.correspondence import PointPair

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
    watch: Watch | None = None,
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


def _stage(watch: Watch, begin: float, end: float) -> Watch:
    """A watch for a part of the work."""
    return lambda text, share: watch(text, begin + share * (end - begin))


def _adapted(
    motion: Motion,
    features: tuple[Feature, ...],
    how: Proportions,
    contacts: tuple[Contact, ...],
    options: Options,
    watch: Watch,
) -> tuple[Motion, tuple[Feature, ...]]:
    """The motion on the intermediate body, and the features on it."""
    if not how.changes:
        return motion, features
    body = intermediate(motion.skeleton, how)
    # What is to be kept or stiff are joints of the target, which this body does not have.
    mine = replace(options, keep=(), stiffness=None)
    found = plan([Part(motion=motion, target=body)], contacts=contacts, options=mine).solve(watch=watch)
    return found.motion, moved_features(features, motion, body)


def _followed(
    middle: Motion, features: tuple[Feature, ...], target: Skeleton, spacing: float, options: Options, watch: Watch
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
        Follow(spot=Spot(point=feature.target), path=paths[:, i], times=clock, name=feature.label)
        for i, feature in enumerate(features)
    )
