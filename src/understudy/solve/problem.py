"""The spacetime problem: change the motions of actors as little as possible so that every constraint holds.

Only joints that affect a constraint take part. All others keep their motion exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from understudy.base.errors import OptionError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array
from understudy.base.records import cached, record, unchecked
from understudy.constraints.base import Constraint, PointRef
from understudy.figure.limbs import limb_joints
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.solve.coordinates import Body, BodyPoints, find_costs, make_rest_body, prune_as_used


@record
class Actor:
    """A character to move: its starting motion, and the joints that may change."""

    motion: Motion
    name: str = ""
    moves: bool = True
    """False for an actor that keeps its motion while others react to it."""
    joints: tuple[str, ...] | None = None
    """Joints that may rotate; None for all."""
    root_moves: bool = True
    stiffness: dict[str, float] | None = None
    """Factors on the cost of rotating joints, by joint name."""


ResolvedRefs = tuple[list[tuple[int, Point]], list[tuple[int, Point]]]
"""The points and the joints that a constraint names, each with the index of its actor."""


@record
class Problem:
    """Actors and the constraints on them. All actors share one clock."""

    actors: tuple[Actor, ...]
    constraints: tuple[Constraint, ...]
    whole: Problem | None = None
    """The problem of the whole motion, if this one is a window of it: both have the same coordinates, at the same costs
    and with keys at the same times."""
    first: int = 0
    """The frame of the whole motion at which a window begins."""
    _resolved: tuple[ResolvedRefs, ...] = field(init=False, repr=False)
    """For each constraint, the points and joints that it names."""

    def __repr__(self) -> str:
        return f"<Problem: {len(self.actors)} actors, {len(self.constraints)} constraints, {len(self.times)} frames>"

    def __post_init__(self) -> None:
        if not self.actors:
            raise OptionError("A problem needs at least one actor")
        first = self.actors[0].motion
        for actor in self.actors[1:]:
            if actor.motion.num_frames != first.num_frames or abs(actor.motion.fps - first.fps) > 1e-9 * first.fps:
                raise OptionError("Actors must have the same number of frames and the same rate")
        object.__setattr__(self, "_resolved", self._resolve_all(self.constraints, self.constraint_frames))

    def _resolve_all(self, constraints: Sequence[Constraint], frames: Sequence[np.ndarray]) -> tuple[ResolvedRefs, ...]:
        """The points and joints that constraints name; an error if a constraint is invalid or holds at no frame."""
        resolved: list[ResolvedRefs] = []
        for constraint, holding in zip(constraints, frames, strict=True):
            constraint.check_times()
            points = [self.resolve(constraint, ref) for ref in constraint.point_refs()]
            resolved.append((points, [self.resolve(constraint, ref) for ref in constraint.joints()]))
            if len(holding) == 0:
                raise OptionError(
                    f"Constraint `{constraint.label}` holds at no frame: it spans {constraint.start:g} to "
                    f"{constraint.end:g} s, the motion 0 to {self.actors[0].motion.duration:g} s"
                )
        return tuple(resolved)

    def shifted(self, shifts: Sequence[Array | None]) -> Problem:
        """The problem with the starting motions of actors shifted by (F, 3) metres each; cached properties are kept."""
        actors, bodies = [], []
        for actor, body, shift in zip(self.actors, self.bodies, shifts, strict=True):
            motion = actor.motion if shift is None else actor.motion.derived(root=actor.motion.root + shift)
            actors.append(actor if shift is None else replace(actor, motion=motion))
            bodies.append(body if shift is None else body.shifted(shift))
        return unchecked(self, (*DEFINING, *POSITION_INDEPENDENT), actors=tuple(actors), bodies=tuple(bodies))

    def extended(self, constraints: Sequence[Constraint]) -> Problem:
        """The problem with more constraints; the bodies are reused if the new constraints affect no other joints."""
        frames = tuple(constraint.frames(self.times) for constraint in constraints)
        resolved = self._resolve_all(constraints, frames)
        movable = [self.movable_joints(number) for number in range(len(self.actors))]
        skeletons = [actor.motion.skeleton for actor in self.actors]
        refs = [ref for pair in resolved for side in pair for ref in side]
        can_reuse = all(skeletons[actor].joint(point.joint) in movable[actor] for actor, point in refs)
        return unchecked(
            self,
            (*DEFINING, *(("bodies",) if can_reuse else ())),
            constraints=(*self.constraints, *constraints),
            constraint_frames=(*self.constraint_frames, *frames),
            _resolved=(*self._resolved, *resolved),
        )

    def without_soft(self) -> Problem:
        """The problem without its soft constraints."""
        hard = [number for number, constraint in enumerate(self.constraints) if not constraint.soft]
        if len(hard) == len(self.constraints):
            return self
        return unchecked(
            self,
            ("actors", "whole", "first"),
            constraints=tuple(self.constraints[number] for number in hard),
            constraint_frames=tuple(self.constraint_frames[number] for number in hard),
            _resolved=tuple(self._resolved[number] for number in hard),
        )

    def resolve(self, constraint: Constraint, ref: PointRef) -> tuple[int, Point]:
        """The index of the actor and the point that a point reference names; errors name the constraint."""
        names = [actor.name for actor in self.actors]
        if ref.actor and ref.actor not in names:
            raise UnknownNameError(
                f"Constraint `{constraint.label}`: no actor `{ref.actor}`; {nearest_names(ref.actor, names)}"
            )
        number = names.index(ref.actor) if ref.actor else 0
        skeleton = self.actors[number].motion.skeleton
        try:
            point = skeleton.point(ref.point) if isinstance(ref.point, str) else ref.point
            skeleton.joint(point.joint)
        except UnknownNameError as error:
            raise UnknownNameError(f"Constraint `{constraint.label}`: {error.message}") from None
        return number, point

    @cached
    def leg(self) -> float:
        """Metres: the leg length of the first actor, which converts between angles and distances."""
        return leg_length(self.actors[0].motion.skeleton)

    @property
    def times(self) -> Array:
        """(F,) seconds of the frames."""
        return self.actors[0].motion.times

    @cached
    def constraint_frames(self) -> tuple[np.ndarray, ...]:
        """For each constraint, the frames (n,) at which it holds."""
        return tuple(constraint.frames(self.times) for constraint in self.constraints)

    @cached
    def held_frames(self) -> HeldFrames:
        """The frames at which constraints hold, as one array."""
        return HeldFrames.of(self.constraints, self.constraint_frames)

    @cached
    def targets(self) -> tuple[Target, ...]:
        """Each constraint with the indices of its points and joints."""
        indices: dict[tuple[int, str, bytes], int] = {}
        targets = []
        for constraint, (point_refs, joint_refs) in zip(self.constraints, self._resolved, strict=True):
            ids = [(actor, point.joint, point.offset.tobytes()) for actor, point in point_refs]
            columns = np.array([indices.setdefault(point_id, len(indices)) for point_id in ids], dtype=np.intp)
            joints = tuple((actor, point.joint) for actor, point in joint_refs)
            targets.append(Target(constraint=constraint, points=columns, joints=joints))
        return tuple(targets)

    @cached
    def points(self) -> tuple[tuple[int, Point], ...]:
        """The distinct points of all constraints: (actor, point)."""
        points: dict[tuple[int, str, bytes], tuple[int, Point]] = {}
        for point_refs, _ in self._resolved:
            for actor, point in point_refs:
                points.setdefault((actor, point.joint, point.offset.tobytes()), (actor, point))
        return tuple(points.values())

    @property
    def key_times(self) -> Array:
        """(W,) seconds of the frames of the whole motion, over which keys are spread."""
        return self.times if self.whole is None else self.whole.times

    def with_values_of(self, constraints: Sequence[Constraint]) -> Problem | None:
        """The problem with other constraints, number by number, such as with other targets; None if one of them names
        other points or joints. Cached properties are kept."""
        if len(constraints) != len(self.constraints):
            return None
        changed = [
            number for number, constraint in enumerate(constraints) if constraint is not self.constraints[number]
        ]
        frames = list(self.constraint_frames)
        for number in changed:
            frames[number] = constraints[number].frames(self.times)
        resolved = self._resolve_all([constraints[i] for i in changed], [frames[i] for i in changed])
        if any(_ids(new) != _ids(self._resolved[i]) for i, new in zip(changed, resolved, strict=True)):
            return None
        kept = (*DEFINING, "points", "body_points", "bodies", "metric")
        return unchecked(self, kept, constraints=tuple(constraints), constraint_frames=tuple(frames))

    @cached
    def bodies(self) -> tuple[Body, ...]:
        """The part of each actor that affects constraints, with the joints that may rotate.

        All other joints keep their motion exactly, so leaving them out only saves time.
        """
        bodies = []
        if self.whole is not None:
            frames = np.arange(self.first, self.first + len(self.times))
            for actor, body in zip(self.actors, self.whole.bodies, strict=True):
                moved = body.at(frames)
                used = [actor.motion.skeleton.index[name] for name in body.skeleton.names]
                motion = moved.motion.derived(root=actor.motion.root, rotations=actor.motion.rotations[:, used])
                bodies.append(moved.with_motion(motion))
            return tuple(bodies)
        for number, actor in enumerate(self.actors):
            point_joints, rotation_joints = self._constrained_joints(number)
            skeleton, indices = prune_as_used(actor.motion, point_joints | rotation_joints)
            offsets = None if actor.motion.offsets is None else actor.motion.offsets[:, indices]
            rotations = actor.motion.rotations[:, indices]
            motion = actor.motion.derived(skeleton=skeleton, rotations=rotations, offsets=offsets)
            joints = tuple(int(np.searchsorted(indices, j)) for j in sorted(self.movable_joints(number)))
            body = make_rest_body(skeleton, joints, actor.moves and actor.root_moves).with_motion(motion)
            bodies.append(body.with_steady_frames())
        return tuple(bodies)

    def movable_joints(self, number: int) -> set[int]:
        """The joints of an actor that affect constraints and may rotate."""
        if self.whole is not None:
            return self.whole.movable_joints(number)
        actor = self.actors[number]
        if not actor.moves:
            return set()
        skeleton = actor.motion.skeleton
        point_joints, rotation_joints = self._constrained_joints(number)
        joints = {ancestor for joint in point_joints for ancestor in skeleton.chain(joint)}
        joints = (joints if actor.joints else joints - rigid_joints(actor.motion)) | rotation_joints
        return joints if actor.joints is None else joints & {skeleton.joint(name) for name in actor.joints}

    def _constrained_joints(self, number: int) -> tuple[set[int], set[int]]:
        """The joints of an actor that carry points of constraints, and those whose rotations constraints read."""
        skeleton = self.actors[number].motion.skeleton
        point_joints = {skeleton.joint(point.joint) for actor, point in self.points if actor == number}
        names = [name for target in self.targets for actor, name in target.joints if actor == number]
        return point_joints, {skeleton.joint(name) for name in names}

    @cached
    def body_points(self) -> BodyPoints:
        """The points of all constraints as arrays."""
        return BodyPoints.of(self.bodies, self.points)

    @cached
    def metric(self) -> Array:
        """(D,) the cost of each coordinate: the mean squared movement of the body per unit."""
        if self.whole is not None:
            return self.whole.metric
        pairs = zip(self.actors, self.bodies, strict=True)
        parts = [find_costs(actor.motion, body, actor.stiffness or {}) for actor, body in pairs]
        return np.concatenate(parts) if parts else np.zeros(0)

    @cached
    def units(self) -> Array:
        """(D,) the unit of each coordinate: the leg length for shifts, 1 radian for rotations."""
        parts = [np.repeat([self.leg, 1.0], [body.num_shifts, len(body.joint_of)]) for body in self.bodies]
        return np.concatenate(parts)

    def restored(self, bodies: Sequence[Body]) -> tuple[Motion, ...]:
        """The motions of the whole actors, with the changes of the solved bodies."""
        out = []
        for actor, body in zip(self.actors, bodies, strict=True):
            joints = [actor.motion.skeleton.index[name] for name in body.skeleton.names]
            rotations = actor.motion.rotations.copy()
            rotations[:, joints] = body.motion.rotations
            out.append(replace(actor.motion, root=body.motion.root, rotations=rotations))
        return tuple(out)


def _ids(resolved: ResolvedRefs) -> list[list[tuple[int, str, bytes]]]:
    """What tells the points and joints of a constraint from others."""
    return [[(actor, point.joint, point.offset.tobytes()) for actor, point in refs] for refs in resolved]


DEFINING = ("actors", "constraints", "whole", "first", "_resolved", "constraint_frames")
"""The attributes that define a problem."""

POSITION_INDEPENDENT = ("targets", "points", "body_points", "held_frames", "metric", "units", "leg")
"""The cached properties that do not depend on the positions of the actors."""


MIN_TOES, MAX_SEGMENT_COSINE_GAP = 3, 0.02
"""From so many branches below a foot on, each is a toe. A joint whose bones deviate by less than this from a straight
line, in the cosine of their angle, divides one bone of the body."""


def rigid_joints(motion: Motion) -> set[int]:
    """Joints that no solve turns, because the body does not bend there.

    These are joints between the trunk and a thigh, since the pelvis is rigid, and joints that divide a bone of a limb,
    if the motion never turns them; and if a foot has several toes, all of their joints but one each.
    """
    skeleton, by_role = motion.skeleton, roles(motion.skeleton)
    main, is_limb = set(by_role.values()), limb_joints(motion.skeleton)
    still = {j for j in motion.still_joints if skeleton.kinds[j] is JointKind.BALL and is_limb[j] and j not in main}
    above_thighs, above_main = set[int](), set[int]()
    for role, joint in by_role.items():
        above_main |= set(skeleton.chain(joint))
        above_thighs |= set(skeleton.chain(joint)) if role.endswith("upper_leg") else set()
    rigid = still & above_thighs
    rigid |= {joint for joint in still & above_main if _divides_a_bone(skeleton, joint)}
    for foot, toe in ((f"{side}_foot", f"{side}_toe") for side in ("left", "right")):
        if foot in by_role and toe in by_role:
            rigid |= _bones_of_toes(skeleton, by_role[foot], by_role[toe])
    return rigid


def _divides_a_bone(skeleton: Skeleton, joint: int) -> bool:
    """Whether the bone from a joint goes on where the bone to it leads."""
    if len(skeleton.children[joint]) != 1:
        return False
    before, after = skeleton.offsets[[joint, skeleton.children[joint][0]]]
    lengths = float(np.linalg.norm(before) * np.linalg.norm(after))
    return lengths > 0.0 and float(before @ after) > (1.0 - MAX_SEGMENT_COSINE_GAP) * lengths


def _bones_of_toes(skeleton: Skeleton, foot: int, toe: int) -> set[int]:
    """The joints below a foot with several toes, but those beside the given one, where toes bend; none if it has fewer
    than three."""
    below = set(np.flatnonzero(skeleton.below(foot)).tolist()) - {foot}
    if sum(not skeleton.children[joint] for joint in below) < MIN_TOES:
        return set()
    return {joint for joint in below if skeleton.depths[joint] != skeleton.depths[toe]}


@record
class HeldFrames:
    """The frames at which constraints hold, of one constraint after the other."""

    frames: np.ndarray
    """(H,) frames, rising for each constraint."""
    bounds: np.ndarray
    """(C + 1,) where those of each constraint begin and end."""
    is_end: np.ndarray
    """(H,) whether the constraint begins or ends there."""

    @staticmethod
    def of(constraints: Sequence[Constraint], frames: Sequence[np.ndarray]) -> HeldFrames:
        """The frames (n,) of each of some constraints as one array."""
        bounds = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum([len(held) for held in frames], dtype=np.intp)])
        is_end = np.zeros(bounds[-1], bool)
        is_end[bounds[:-1][np.diff(bounds) > 0]] = True
        is_end[bounds[1:][np.diff(bounds) > 0] - 1] = True
        for constraint, held, first in zip(constraints, frames, bounds.tolist(), strict=False):
            if constraint.instants or type(constraint).ends is not Constraint.ends:
                is_end[first + np.searchsorted(held, constraint.ends(held))] = True
        every = np.concatenate([np.zeros(0, dtype=np.intp), *frames])
        return HeldFrames(frames=every, bounds=bounds, is_end=is_end)

    def select(self, indices: Sequence[int]) -> HeldFrames:
        """The frames of the constraints of some indices, in that order."""
        chosen = np.array(indices, dtype=np.intp)
        lengths = np.diff(self.bounds)[chosen]
        bounds = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(lengths)])
        at = np.arange(bounds[-1]) + np.repeat(self.bounds[:-1][chosen] - bounds[:-1], lengths)
        return HeldFrames(frames=self.frames[at], bounds=bounds, is_end=self.is_end[at])


@record
class Target:
    """A constraint with the indices of its points and joints."""

    constraint: Constraint
    points: np.ndarray
    """(P,) the indices of its points among the problem's points."""
    joints: tuple[tuple[int, str], ...]
    """Its joints: (actor, name)."""

    @cached
    def columns(self) -> slice | np.ndarray:
        """The indices as a slice if there is at most one, so that arrays are not copied; else as an array."""
        if len(self.points) > 1:
            return self.points
        first = int(self.points[0]) if len(self.points) else 0
        return slice(first, first + len(self.points))
