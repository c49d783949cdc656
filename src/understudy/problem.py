"""The spacetime problem: actors to be moved as little as possible so that every constraint holds.

Only what constraints can feel takes part: the rest of a body keeps its motion exactly, at no cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np

from understudy.body import leg_length
from understudy.constraints.base import Constraint, Spot
from understudy.coordinates import Body, Ensemble, Places
from understudy.errors import OptionError, UnknownNameError, nearest_names
from understudy.geometry.quaternion import Array, conjugate, log, multiply
from understudy.kinematics import locate
from understudy.mass import masses
from understudy.motion import Motion, rest_motion
from understudy.roles import roles
from understudy.skeleton import JointKind, Point, Skeleton

METRIC_FLOOR = 0.2
"""What turning a joint by a radian costs at least, as moving the body by this share of a leg squared would."""

STILL = 1e-6
"""Radians a joint turns in its motion below which it is part of the build, not a joint that moves the body."""
UNUSED = 100.0
"""How much dearer it is to turn a joint that the motion never turns."""
BENDING = ("lower_leg", "lower_arm")
"""The parts whose joints bend about one axis by nature."""
SEEN = 100
"""Frames of a motion that are looked at to tell how its joints are used."""
FEW = 4
"""Frames of it that tell, on average, how far each joint moves the body."""
ONE_AXIS = 0.02
"""A joint whose turning about other axes stays below this share of its main one is used as a hinge."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Actor:
    """A character to be moved: its starting motion, and what of it may change."""

    motion: Motion
    name: str = ""
    moves: bool = True
    """False for an actor that others react to but who keeps its motion."""
    joints: tuple[str, ...] | None = None
    """Joints that may turn; None for all."""
    root_moves: bool = True
    stiffness: dict[str, float] | None = None
    """How much dearer than usual it is to turn a joint, by name."""


Named = tuple[list[tuple[int, Point]], list[tuple[int, Point]]]
"""The actors and points that a constraint's spots and its joints name."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Actors and the constraints on them. All actors share one clock."""

    actors: tuple[Actor, ...]
    constraints: tuple[Constraint, ...]
    _resolved: tuple[Named, ...] = field(init=False, repr=False)
    """For each constraint, the actors and points that its spots and its joints name."""

    def __post_init__(self) -> None:
        if not self.actors:
            raise OptionError("A problem needs at least one actor")
        first = self.actors[0].motion
        for actor in self.actors[1:]:
            if actor.motion.num_frames != first.num_frames or abs(actor.motion.fps - first.fps) > 1e-9 * first.fps:
                raise OptionError("Actors must have the same number of frames and the same rate")
        object.__setattr__(self, "_resolved", self._checked(self.constraints, self.held))

    def _checked(self, constraints: Sequence[Constraint], held: Sequence[np.ndarray]) -> tuple[Named, ...]:
        """What constraints name, each of which holds at some frames (n,), or an error."""
        resolved: list[Named] = []
        for constraint, frames in zip(constraints, held, strict=True):
            constraint.check_times()
            found = [self.resolve(constraint, spot) for spot in constraint.spots()]
            resolved.append((found, [self.resolve(constraint, spot) for spot in constraint.joints()]))
            if len(frames) == 0:
                raise OptionError(
                    f"Constraint `{constraint.label}` holds at no frame: it spans {constraint.start:g} to "
                    f"{constraint.end:g} s, the motion 0 to {self.actors[0].motion.duration:g} s"
                )
        return tuple(resolved)

    def shifted(self, shifts: Sequence[Array | None]) -> Problem:
        """The same with the starting motions of actors shifted, by (F, 3) each; what is known of it stays known."""
        actors, bodies = [], []
        for actor, body, shift in zip(self.actors, self.bodies, shifts, strict=True):
            motion = actor.motion if shift is None else actor.motion.derived(root=actor.motion.root + shift)
            actors.append(actor if shift is None else replace(actor, motion=motion))
            bodies.append(body if shift is None else body.shifted(shift))
        return self._like(UNMOVED, actors=tuple(actors), bodies=tuple(bodies))

    def extended(self, more: Sequence[Constraint]) -> Problem:
        """The same with more constraints; the bodies stay as they are if those feel nothing else of them."""
        held = tuple(constraint.frames(self.times) for constraint in more)
        named = self._checked(more, held)
        joints = [
            (which, self.actors[which].motion.skeleton.joint(p.joint))
            for pair in named
            for each in pair
            for which, p in each
        ]
        felt = [self.moving(which) for which in range(len(self.actors))]
        known = ("bodies",) if all(joint in felt[which] for which, joint in joints) else ()
        return self._like(
            known, constraints=(*self.constraints, *more), held=(*self.held, *held), _resolved=(*self._resolved, *named)
        )

    def _like(self, known: Sequence[str], **parts: object) -> Problem:
        """One with some parts of its own, and of this one all that makes it a problem and some of what is known."""
        found = object.__new__(Problem)
        kept = ("actors", "constraints", "_resolved", "held", *known)
        found.__dict__.update({name: self.__dict__[name] for name in kept if name in self.__dict__}, **parts)
        return found

    def resolve(self, constraint: Constraint, spot: Spot) -> tuple[int, Point]:
        """The actor and point that a constraint's spot names, or an error in the constraint's name."""
        names = [actor.name for actor in self.actors]
        if spot.actor and spot.actor not in names:
            raise UnknownNameError(
                f"Constraint `{constraint.label}`: no actor `{spot.actor}`; {nearest_names(spot.actor, names)}"
            )
        which = names.index(spot.actor) if spot.actor else 0
        skeleton = self.actors[which].motion.skeleton
        try:
            point = skeleton.point(spot.point) if isinstance(spot.point, str) else spot.point
            skeleton.joint(point.joint)
        except UnknownNameError as error:
            raise UnknownNameError(f"Constraint `{constraint.label}`: {error.message}") from None
        return which, point

    @cached_property
    def leg(self) -> float:
        """Metres: the leg length of the first actor, by which angles are weighed against distances."""
        return leg_length(self.actors[0].motion.skeleton)

    @property
    def times(self) -> Array:
        """(F,) seconds of the frames."""
        return self.actors[0].motion.times

    @cached_property
    def held(self) -> tuple[np.ndarray, ...]:
        """For each constraint, the frames (n,) at which it holds."""
        return tuple(constraint.frames(self.times) for constraint in self.constraints)

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """Each constraint with its points and joints found."""
        points: dict[tuple[int, str, bytes], int] = {}
        found = []
        for constraint, (spots, turned) in zip(self.constraints, self._resolved, strict=True):
            names = [(which, point.joint, point.offset.tobytes()) for which, point in spots]
            columns = np.array([points.setdefault(name, len(points)) for name in names], dtype=np.intp)
            joints = tuple((which, point.joint) for which, point in turned)
            found.append(Target(constraint=constraint, points=columns, joints=joints))
        return tuple(found)

    @cached_property
    def points(self) -> tuple[tuple[int, Point], ...]:
        """Every point any constraint looks at, once: (actor, point)."""
        seen: dict[tuple[int, str, bytes], tuple[int, Point]] = {}
        for spots, _ in self._resolved:
            for which, point in spots:
                seen.setdefault((which, point.joint, point.offset.tobytes()), (which, point))
        return tuple(seen.values())

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """The part of each actor that constraints can feel, with the joints that may turn.

        What no constraint feels keeps its motion exactly: leaving it out changes nothing but the cost.
        """
        found = []
        for which, actor in enumerate(self.actors):
            felt, turned = self._named(which)
            small, kept = _as_used(actor.motion, felt | turned)
            offsets = None if actor.motion.offsets is None else actor.motion.offsets[:, kept]
            turns = actor.motion.rotations[:, kept]
            motion = actor.motion.derived(skeleton=small, rotations=turns, offsets=offsets)
            joints = tuple(int(np.searchsorted(kept, j)) for j in sorted(self.moving(which)))
            found.append(Body(motion=motion, joints=joints, root_moves=actor.moves and actor.root_moves))
        return tuple(found)

    def moving(self, which: int) -> set[int]:
        """The joints of an actor that constraints can feel and that may turn."""
        actor = self.actors[which]
        if not actor.moves:
            return set()
        skeleton = actor.motion.skeleton
        felt, turned = self._named(which)
        found = {above for joint in felt for above in skeleton.chain(joint)} | turned
        return found if actor.joints is None else found & {skeleton.joint(name) for name in actor.joints}

    def _named(self, which: int) -> tuple[set[int], set[int]]:
        """The joints of an actor that constraints name: those that carry points, and those whose turns they look at."""
        skeleton = self.actors[which].motion.skeleton
        felt = {skeleton.joint(p.joint) for w, p in self.points if w == which}
        return felt, {skeleton.joint(j) for t in self.targets for w, j in t.joints if w == which}

    @cached_property
    def places(self) -> Places:
        """The points as arrays."""
        return Places.of(Ensemble(bodies=self.bodies), self.points)

    @cached_property
    def metric(self) -> Array:
        """(D,) what a unit of each coordinate costs: how much of the body it moves, squared, on average."""
        parts = [_metric(actor, body) for actor, body in zip(self.actors, self.bodies, strict=True)]
        return np.concatenate(parts) if parts else np.zeros(0)

    @cached_property
    def units(self) -> Array:
        """(D,) what a coordinate is counted in: leg lengths for shifts, radians for turns."""
        parts = [np.repeat([self.leg, 1.0], [body.num_shifts, len(body.joint_of)]) for body in self.bodies]
        return np.concatenate(parts)

    def restored(self, bodies: Sequence[Body]) -> tuple[Motion, ...]:
        """The actors' whole motions with what was changed on the solved parts put back."""
        out = []
        for actor, body in zip(self.actors, bodies, strict=True):
            kept = [actor.motion.skeleton.index[name] for name in body.skeleton.names]
            rotations = actor.motion.rotations.copy()
            rotations[:, kept] = body.motion.rotations
            out.append(replace(actor.motion, root=body.motion.root, rotations=rotations))
        return tuple(out)


UNMOVED = ("targets", "points", "places")
"""What is known of a problem wherever its actors are."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Target:
    """A constraint with what it names found."""

    constraint: Constraint
    points: np.ndarray
    """(P,) its columns among the problem's points."""
    joints: tuple[tuple[int, str], ...]
    """Its joints: (actor, name)."""


def still_joints(motion: Motion) -> set[int]:
    """Joints, the root apart, that do not turn in a motion while others do: they join parts of the build."""
    some = motion.rotations[:: max(motion.num_frames // SEEN, 1), 1:]
    same_way = np.copysign(1.0, np.einsum("fji,ji->fj", some, some[0]))[..., None]
    # The quaternions of a small turn apart are half its angle apart.
    # Frames first: numpy finds the greatest over two axes at once more slowly.
    turned = 2.0 * np.abs(same_way * some - some[0]).max(axis=0).max(axis=-1)
    still = {int(j) + 1 for j in np.flatnonzero(turned < STILL)}
    return still if len(still) < motion.skeleton.num_joints - 1 else set()


def _as_used(motion: Motion, joints: set[int]) -> tuple[Skeleton, np.ndarray]:
    """The skeleton of some joints and all above them, without limits, and which joints (N,) of the whole they are.

    Knees and elbows that the motion only ever turns about one axis are taken as hinges: files without joint kinds (BVH)
    hold them as balls; the motion itself tells that they are not.
    """
    whole = motion.skeleton
    found = roles(whole)
    bending = {found[f"{s}_{part}"] for s in ("left", "right") for part in BENDING if f"{s}_{part}" in found}
    needed = {above for joint in joints for above in whole.chain(joint)}
    hinges = {j: _only_axis(motion, j) for j in sorted(bending & needed) if whole.kinds[j] is JointKind.BALL}
    named = tuple((joint, *axis.tolist()) for joint, axis in hinges.items() if axis is not None)
    return _with_hinges(whole, frozenset(joints), named)


@lru_cache(maxsize=64)
def _with_hinges(
    whole: Skeleton, joints: frozenset[int], hinges: tuple[tuple[int, float, float, float], ...]
) -> tuple[Skeleton, np.ndarray]:
    """The skeleton of some joints and all above them, without limits, some of them hinges (joint, axis); and which
    joints (N,) of the whole they are."""
    small, kept = whole.pruned(joints)
    kinds, axes = list(small.kinds), small.axes.copy()
    for joint, *axis in hinges:
        number = int(np.searchsorted(kept, joint))
        kinds[number] = JointKind.HINGE
        axes[number] = 0.0
        axes[number, 0] = axis
    return replace(small, kinds=tuple(kinds), axes=axes, limits=np.empty((0, 3, 2))), kept


def _only_axis(motion: Motion, joint: int) -> Array | None:
    """(3,) the axis that a joint only ever turns about; None if there is no such one."""
    some = motion.rotations[:: max(motion.num_frames // SEEN, 1), joint]
    turns = log(multiply(conjugate(some[:1]), some))
    # What the turns' singular values would say, of a matrix of three rows.
    squares, directions = np.linalg.eigh(turns.T @ turns)
    first = directions[:, 2]
    sizes = np.sqrt(np.maximum(squares[::-1], 0.0))
    if len(turns) < 2 or np.ptp(turns @ first) <= 0.1 or sizes[1] >= ONE_AXIS * sizes[0]:
        return None
    return np.asarray(first)


def _metric(actor: Actor, body: Body) -> Array:
    """(D,) mean squared movement of the actor's points per unit of each coordinate of its body."""
    motion, skeleton = actor.motion, actor.motion.skeleton
    some = np.linspace(0, motion.num_frames - 1, min(FEW, motion.num_frames)).astype(int)
    whole, joints, offsets = _weighed(skeleton)
    costs = whole.doing(motion[some]).posture.moved_by(joints, offsets)
    costs[3:] += METRIC_FLOOR * leg_length(skeleton) ** 2
    dearer = {skeleton.names[j]: UNUSED for j in still_joints(motion)} | (actor.stiffness or {})
    shifts = costs[:3] * dearer.get("root", 1.0)
    turns = _costs_of(body, whole, costs[3:])
    if dearer:
        turns = turns * np.array([dearer.get(name, 1.0) for name in body.skeleton.names])[body.joint_of]
    return np.concatenate([shifts[: body.num_shifts], turns])


@lru_cache(maxsize=64)
def _weighed(skeleton: Skeleton) -> tuple[Body, np.ndarray, Array]:
    """A whole body, in its rest pose, and the points that stand for it: joints (P,) and offsets (P, 3)."""
    body = Body(motion=rest_motion(skeleton))
    # What is known of the build of one body is known of all that do its motions.
    _ = body.base_axes
    return body, *locate(skeleton, masses(skeleton).points)


def _costs_of(body: Body, whole: Body, costs: Array) -> Array:
    """(R,) what the turns of part of a body cost, by the costs of the whole's; a ball used as a hinge costs what its
    dearest axis would."""
    joint, place, alone = _among(body.skeleton, body.joints, whole)
    if not alone.any():
        return costs[place]
    dearest = np.zeros(whole.skeleton.num_joints)
    np.maximum.at(dearest, whole.joint_of, costs)
    return np.where(alone, dearest[joint], costs[place])


@lru_cache(maxsize=64)
def _among(part: Skeleton, joints: tuple[int, ...] | None, whole: Body) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each turn (R,) of some joints of part of a body: its joint in the whole, its place among the turns of the
    whole, and whether it is the only one of its joint."""
    joint_of = Body(motion=rest_motion(part), joints=joints).joint_of
    joint = np.array([whole.skeleton.index[name] for name in part.names], dtype=np.intp)[joint_of]
    axis = np.arange(len(joint)) - np.searchsorted(joint_of, joint_of)
    alone = np.bincount(joint_of, minlength=1)[joint_of] == 1
    return joint, np.searchsorted(whole.joint_of, joint) + axis, alone
