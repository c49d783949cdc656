"""The spacetime problem: actors to be moved as little as possible so that every constraint holds.

Only what constraints can feel takes part: the rest of a body keeps its motion exactly, at no cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from understudy.base.errors import OptionError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array
from understudy.base.records import cached, unchecked
from understudy.constraints.base import Constraint, PointRef
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point
from understudy.solve.coordinates import Bodies, Body, Places, as_used, built, cost_of_moving


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

    def __repr__(self) -> str:
        return f"<Problem: {len(self.actors)} actors, {len(self.constraints)} constraints, {len(self.times)} frames>"

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
            found = [self.resolve(constraint, spot) for spot in constraint.point_refs()]
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
        return unchecked(self, (*PARTS, *UNMOVED), actors=tuple(actors), bodies=tuple(bodies))

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
        return unchecked(
            self,
            (*PARTS, *known),
            constraints=(*self.constraints, *more),
            held=(*self.held, *held),
            _resolved=(*self._resolved, *named),
        )

    def resolve(self, constraint: Constraint, spot: PointRef) -> tuple[int, Point]:
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

    @cached
    def leg(self) -> float:
        """Metres: the leg length of the first actor, by which angles are weighed against distances."""
        return leg_length(self.actors[0].motion.skeleton)

    @property
    def times(self) -> Array:
        """(F,) seconds of the frames."""
        return self.actors[0].motion.times

    @cached
    def held(self) -> tuple[np.ndarray, ...]:
        """For each constraint, the frames (n,) at which it holds."""
        return tuple(constraint.frames(self.times) for constraint in self.constraints)

    @cached
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

    @cached
    def points(self) -> tuple[tuple[int, Point], ...]:
        """Every point any constraint looks at, once: (actor, point)."""
        seen: dict[tuple[int, str, bytes], tuple[int, Point]] = {}
        for spots, _ in self._resolved:
            for which, point in spots:
                seen.setdefault((which, point.joint, point.offset.tobytes()), (which, point))
        return tuple(seen.values())

    @cached
    def bodies(self) -> tuple[Body, ...]:
        """The part of each actor that constraints can feel, with the joints that may turn.

        What no constraint feels keeps its motion exactly: leaving it out changes nothing but the cost.
        """
        found = []
        for which, actor in enumerate(self.actors):
            felt, turned = self._named(which)
            small, kept = as_used(actor.motion, felt | turned)
            offsets = None if actor.motion.offsets is None else actor.motion.offsets[:, kept]
            turns = actor.motion.rotations[:, kept]
            motion = actor.motion.derived(skeleton=small, rotations=turns, offsets=offsets)
            joints = tuple(int(np.searchsorted(kept, j)) for j in sorted(self.moving(which)))
            found.append(built(small, joints, actor.moves and actor.root_moves).doing(motion))
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

    @cached
    def places(self) -> Places:
        """The points as arrays."""
        return Places.of(Bodies(bodies=self.bodies), self.points)

    @cached
    def metric(self) -> Array:
        """(D,) what a unit of each coordinate costs: how much of the body it moves, squared, on average."""
        pairs = zip(self.actors, self.bodies, strict=True)
        parts = [cost_of_moving(actor.motion, body, actor.stiffness or {}) for actor, body in pairs]
        return np.concatenate(parts) if parts else np.zeros(0)

    @cached
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


PARTS = ("actors", "constraints", "_resolved", "held")
"""What makes a problem."""

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

    @cached
    def columns(self) -> slice | np.ndarray:
        """Its columns as a slice, which is seen without copying, if there is one or none."""
        if len(self.points) > 1:
            return self.points
        first = int(self.points[0]) if len(self.points) else 0
        return slice(first, first + len(self.points))
