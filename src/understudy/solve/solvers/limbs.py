"""The levels that move limbs only: they make contacts exact without moving root or trunk.

Root and trunk move only as far as the band-limited level moves them, so that hips and head never jump where a contact
begins or ends. Every constraint on the place of one point becomes a track: where the point should be at which frames.
The contacts of one step agree on their places, and the points of one foot move together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar

import numpy as np

from understudy.base.quaternion import Array, conjugate, cross, exp, multiply, rotate
from understudy.base.records import cached, distinct, record, unchecked
from understudy.constraints.base import Constraint, ConstraintInput, PointRef, Relation, Residuals, Unit, repeat_frames
from understudy.figure.contacts import find_runs
from understudy.figure.kinematics import pose_of
from understudy.figure.limbs import first_of_limb, limb_joints
from understudy.figure.skeleton import JointKind, Point
from understudy.solve.coordinates import MOTION_INDEPENDENT, Body, make_rest_body
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import DEFINING, Problem
from understudy.solve.steadiness import fast_part, frames_from

FADE_SECONDS = 0.1
"""The time over which the displacement of a held limb fades beside the frames at which it is held or slow."""

MAX_STEP_GAP_SECONDS, AGREEMENT_WEIGHT = 0.1, 100.0
"""Contacts of one limb with less time between them belong to one step; the weight of their agreement, in frames."""

SHAKING_SECONDS = 0.05
"""Changes of a held point over a shorter time than this are shaking, which stays as far as the slack allows."""

SOFT_TOLERANCE_METRES = 1e6
"""The tolerance of soft goals, which no distance exceeds."""

MIN_LINE_METRES, MAX_RIGID_METRES = 0.01, 1e-4
"""Two held points that are nearer than the first show no rotation of their foot. Two whose distance varies by more than
the second are not on one bone."""

DENSE_SLOW_WEIGHT, SLOW_WEIGHT = 5.0, 1e-2
"""The factors on the weight of soft constraints in the level with dense keys, whose stiffness is low, and in the last
level, whose stiffness is high."""


@record
class Track(Constraint):
    """A point is at given places at given frames. It exists only inside a solve."""

    kind: ClassVar[str] = ""
    unit: ClassVar[Unit] = Unit.METRE

    point: PointRef
    frame_times: Array
    """(n,) seconds of the frames, rising."""
    places: Array
    """(n, 3) metres, world."""
    axes: tuple[int, ...] = (0, 1, 2)
    """The axes that are constrained."""

    def point_refs(self) -> tuple[PointRef, ...]:
        return (self.point,)

    def ends(self, frames: np.ndarray) -> np.ndarray:
        gaps = np.flatnonzero(np.diff(frames) > 1)
        return frames[[0, *gaps, *(gaps + 1), -1]]

    def frames(self, times: Array) -> np.ndarray:
        return np.searchsorted(times, self.frame_times - 1e-6)

    def measure(self, view: ConstraintInput) -> Residuals:
        away = view.points[:, 0] - self.places[np.searchsorted(self.frame_times, view.times - 1e-6)]
        return Residuals(values=away if len(self.axes) == 3 else away[:, self.axes])

    def rows(self, view: ConstraintInput) -> Residuals:
        return replace(self.measure(view), d_points=repeat_frames(self.constant(), view))

    def constant(self) -> Array:
        return np.eye(3)[list(self.axes)][:, None]

    @classmethod
    def example(cls, rng: np.random.Generator) -> Track:
        times = np.arange(4) / 30.0
        return cls(point=PointRef(point="tip"), frame_times=times, places=rng.normal(size=(4, 3)))


@record
class LimbProblem:
    """A problem in which only limbs move, or only root and trunk."""

    problem: Problem
    groups: tuple[np.ndarray, ...]
    """The coordinates (d,) of its limbs: no constraint depends on two groups."""

    @staticmethod
    def of(
        problem: Problem, bodies: Sequence[Body], constraints: Sequence[int], *, final: bool, trunk: bool = False
    ) -> LimbProblem:
        """The limb problem of some constraints of a problem, around the motions of its bodies.

        Args:
            problem: The whole problem.
            bodies: Its bodies with the motion reached so far.
            constraints: The indices of the constraints to meet.
            final: Whether contacts become exact: slack stays, and points with soft constraints move with their limb.
            trunk: Whether root and trunk move instead of limbs.
        """
        made, held = _limb_constraints(problem, bodies, constraints, final=final)
        if final and not trunk:
            bodies = with_turned_feet(problem, bodies, held)
        is_used = [_limb_coordinates(problem, number) ^ trunk for number in range(len(bodies))]
        moved = Problem(actors=problem.actors, constraints=tuple(made), whole=problem.whole, first=problem.first)
        limb_problem = unchecked(
            moved,
            DEFINING,
            bodies=tuple(_part(body, used) for body, used in zip(bodies, is_used, strict=True)),
            metric=problem.metric[np.concatenate(is_used)],
        )
        return LimbProblem(problem=limb_problem, groups=_independent_groups(limb_problem))

    @staticmethod
    def whole_bodies(bodies: Sequence[Body], parts: Sequence[Body]) -> tuple[Body, ...]:
        """The bodies of the whole problem with the motions of the solved parts."""
        return tuple(body.with_motion(part.motion) for body, part in zip(bodies, parts, strict=True))


def _independent_groups(problem: Problem) -> tuple[np.ndarray, ...]:
    """The coordinates of a problem in groups, such that no constraint depends on two of them."""
    starts = np.cumsum([0, *(body.num_coordinates for body in problem.bodies)]).tolist()
    first_of = np.arange(starts[-1])
    """(D,) the first coordinate of the group that each coordinate is in; D for one that no constraint depends on."""
    is_used, coordinates = np.zeros(starts[-1], bool), dict[tuple[int, int], np.ndarray]()
    for point_refs, joint_refs in problem._resolved:
        used = list[np.ndarray]()
        for actor, point in (*point_refs, *joint_refs):
            body = problem.bodies[actor]
            joint = body.skeleton.index[point.joint]
            if (actor, joint) not in coordinates:
                turning = np.isin(body.joint_of, body.skeleton.chain(joint)).nonzero()[0]
                moved = np.concatenate([np.arange(body.num_shifts), body.num_shifts + turning]) + starts[actor]
                coordinates[actor, joint] = moved
                is_used[moved] = True
            used.append(coordinates[actor, joint])
        firsts = set(first_of[np.concatenate(used)].tolist()) if used else set()
        if len(firsts) > 1:
            first_of[np.isin(first_of, list(firsts))] = min(firsts)
    # Coordinates that no constraint depends on stay as they are: one group of them is enough.
    first_of[~is_used] = len(first_of)
    return tuple(np.flatnonzero(first_of == first) for first in distinct(first_of))


def _part(body: Body, used: np.ndarray) -> Body:
    """A body that moves by some of its coordinates (D,) only."""
    if used.all():
        return body
    joints = sorted({int(joint) for joint in body.joint_of[used[body.num_shifts :]]})
    part = make_rest_body(body.skeleton, tuple(joints), bool(used[: body.num_shifts].any()))
    return unchecked(part, MOTION_INDEPENDENT, motion=body.motion, frame_turns=body.frame_turns)


def limb_coordinates(problem: Problem) -> np.ndarray:
    """(D,) True for the coordinates of a problem that rotate joints of limbs."""
    return np.concatenate([_limb_coordinates(problem, number) for number in range(len(problem.actors))])


def _limb_coordinates(problem: Problem, number: int) -> np.ndarray:
    """(D,) True for the coordinates of an actor that rotate joints of limbs."""
    skeleton, body = problem.actors[number].motion.skeleton, problem.bodies[number]
    is_limb = limb_joints(skeleton)[[skeleton.index[name] for name in body.skeleton.names]]
    return np.concatenate([np.zeros(body.num_shifts, bool), is_limb[body.joint_of]])


def split_by_part(problem: Problem, constraints: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The constraints that only root and trunk can meet, and those that limbs can meet. A pose of joints of both is in
    both."""
    moving = []
    for number, body in enumerate(problem.bodies):
        moving.append(set(body.joint_of[_limb_coordinates(problem, number)[body.num_shifts :]].tolist()))
    fixed, movable = list[int](), list[int]()
    for number in constraints:
        constraint = problem.constraints[number]
        by_limbs = [
            _moves(problem, constraint, ref, moving) for ref in (*constraint.point_refs(), *constraint.joints())
        ]
        if not any(by_limbs) or not all(by_limbs[len(constraint.point_refs()) :]):
            fixed.append(number)
        if any(by_limbs):
            movable.append(number)
    return tuple(fixed), tuple(movable)


def _moves(problem: Problem, constraint: Constraint, ref: PointRef, moving: Sequence[set[int]]) -> bool:
    """Whether the moving joints of each actor move a point of a constraint, or are among those above one of its
    joints."""
    actor, point = problem.resolve(constraint, ref)
    skeleton = problem.bodies[actor].skeleton
    joint = skeleton.index.get(point.joint)
    return joint is not None and not moving[actor].isdisjoint(skeleton.chain(joint))


def _limb_constraints(
    problem: Problem, bodies: Sequence[Body], constraints: Sequence[int], *, final: bool
) -> tuple[list[Constraint], HeldLimbs]:
    """The constraints of the limb problem, and what contacts ask of each limb in the last level.

    In the level with dense keys, every place that the solver chooses is fixed where the bodies have it now: that makes
    the normal equations of the keys sparse. In the last level, places are fixed anew, and what slack allows stays.
    """
    fps = problem.actors[0].motion.fps
    tracks, held = TrackTable(problem=problem), HeldLimbs(problem=problem, bodies=bodies)
    goals, paths = contact_goals(problem, bodies, constraints)
    made = [problem.constraints[number] for number in constraints if number not in goals]
    for number, goal in sorted(goals.items(), key=lambda item: problem.constraints[item[0]].soft):
        constraint, path = problem.constraints[number], paths[number]
        if not final:
            if constraint.soft:
                tracks.add(number, tracks.joined(number, goal), DENSE_SLOW_WEIGHT)
            else:
                tracks.add(number, goal)
        elif constraint.soft:
            held.add_slow(number, path)
        else:
            goal = goal + remaining_shaking(known(path - goal), fps, constraint.slack)
            tracks.add(number, goal)
            held.add(number, goal - path)
    for number, path in held.slow_paths():
        tracks.add(number, path, SLOW_WEIGHT)
    return [*tracks.constraints(), *made], held


def contact_goals(
    problem: Problem, bodies: Sequence[Body], constraints: Sequence[int]
) -> tuple[dict[int, Array], dict[int, Array]]:
    """By constraint on the place of one point: where the point should be, (n, 3) metres, nan along free axes, and where
    it is. Contacts of one limb agree on their places."""
    frames = np.arange(len(problem.times))
    single = tuple(i for i in constraints if len(problem.targets[i].points) == 1 and not problem.targets[i].joints)
    sample = ProblemAtFrames(problem=problem, bodies=tuple(bodies), frames=frames, constraint_indices=single)
    goals, paths = dict[int, Array](), dict[int, Array]()
    for number, view in zip(single, sample.inputs(tuple(body.posture for body in bodies)), strict=True):
        constraint = problem.constraints[number]
        goal = constraint.goal(view) if constraint.relation is Relation.EQUAL else None
        if goal is not None:
            goals[number], paths[number] = goal, view.points[:, 0]
    for number, shift in agreeing_shifts(problem, goals, paths).items():
        goals[number] = goals[number] + shift
    return goals, paths


def remaining_shaking(strays: Array, fps: float, slack: float) -> Array:
    """(n, 3) metres: the fast part of how a held point strays (n, 3) from its place, smoothly limited to the slack."""
    if slack <= 0.0:
        return np.zeros_like(strays)
    shaking = fast_part(strays, fps, SHAKING_SECONDS)
    return shaking * slack / np.sqrt(np.sum(shaking**2, axis=-1, keepdims=True) + slack**2)


def agreeing_shifts(problem: Problem, goals: dict[int, Array], paths: dict[int, Array]) -> dict[int, Array]:
    """By constraint, the shift (3,) of its goal (n, 3) that makes the contacts of one limb agree, from paths (n, 3).

    A foot rolls from its heel to its toes: where it stands on both, or on one just after the other, both places must be
    those of one foot, or it would jump from one to the other. Goals shift along the axes that the solver chooses.
    """
    limbs: dict[tuple[int, int], list[int]] = {}
    for number in goals:
        constraint = problem.constraints[number]
        if not constraint.soft and not constraint.instants and len(problem.constraint_frames[number]):
            limbs.setdefault(limb_of(problem, number), []).append(number)
    gap = round(MAX_STEP_GAP_SECONDS * problem.actors[0].motion.fps)
    shifts: dict[int, Array] = {}
    for numbers in limbs.values():
        numbers.sort(key=lambda number: int(problem.constraint_frames[number][0]))
        spans = [problem.constraint_frames[number] for number in numbers]
        needs = [known(goals[number] - paths[number]) for number in numbers]
        matrix, wanted = np.diag([float(len(span)) for span in spans]), np.zeros((len(numbers), 3))
        for i, j in itertools.combinations(range(len(numbers)), 2):
            if spans[j][0] > spans[i][-1] + gap:
                continue
            in_i, in_j = shared_frames(spans[i], spans[j])
            line, goal = (of[numbers[i]][in_i] - of[numbers[j]][in_j] for of in (paths, goals))
            weight = AGREEMENT_WEIGHT * max(len(line), gap)
            force = needs[i][in_i].sum(axis=0) - needs[j][in_j].sum(axis=0)
            force = weight * (force / len(line) - stretch_of_tilted_foot(line, goal))
            matrix[[i, j], [i, j]] += weight
            matrix[[i, j], [j, i]] -= weight
            wanted[i] -= force
            wanted[j] += force
        free = np.array([problem.constraints[number].chosen_axes() for number in numbers])
        for axis in np.flatnonzero(free.any(axis=0)).tolist():
            some = np.flatnonzero(free[:, axis])
            values = np.linalg.solve(matrix[np.ix_(some, some)], wanted[some, axis])
            for i, value in zip(some.tolist(), values.tolist(), strict=True):
                shifts.setdefault(numbers[i], np.zeros(3))[axis] = value
    return shifts


def shared_frames(first: np.ndarray, second: np.ndarray) -> tuple[slice | np.ndarray, slice | np.ndarray]:
    """Where the frames (n,) of one contact and those (m,) of one that begins later are the same; the last of the one
    and the first of the other if none are."""
    if second[0] > first[-1]:
        return slice(len(first) - 1, len(first)), slice(0, 1)
    if all(frames[-1] - frames[0] == len(frames) - 1 for frames in (first, second)):
        last = min(first[-1], second[-1]) + 1
        return slice(second[0] - first[0], last - first[0]), slice(0, last - second[0])
    _, in_first, in_second = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    if len(in_first) == 0:
        return slice(len(first) - 1, len(first)), slice(0, 1)
    return in_first, in_second


def known(values: Array) -> Array:
    """The values (n, 3), zero along free axes, where they are nan."""
    return np.where(np.isnan(values), 0.0, values)


def stretch_of_tilted_foot(line: Array, goal: Array) -> Array:
    """(3,) metres: how much further apart along the ground two points of a rigid foot must stand than they are.

    Args:
        line: (n, 3) metres from one point to the other at the frames at which both are held.
        goal: (n, 3) metres from the goal of one to that of the other, whose heights are given.
    """
    lengths, out = np.linalg.norm(line, axis=-1), np.zeros(3)
    rise = float(known(goal[:, 1]).mean())
    flat = line.mean(axis=0) * [1.0, 0.0, 1.0]
    if np.ptp(lengths) > MAX_RIGID_METRES or np.linalg.norm(flat) < MIN_LINE_METRES:
        return out
    reach = np.sqrt(max(float(lengths.mean()) ** 2 - rise**2, 0.0))
    return flat * (reach / float(np.linalg.norm(flat)) - 1.0)


def limb_of(problem: Problem, number: int) -> tuple[int, int]:
    """The actor and the first joint of the limb of a constraint's only point; of the trunk, the point's joint."""
    actor, point = problem.points[int(problem.targets[number].points[0])]
    skeleton = problem.actors[actor].motion.skeleton
    return actor, first_of_limb(skeleton, skeleton.joint(point.joint))


@record
class TrackTable:
    """The places where points should be, merged into few tracks, because few large constraints are cheap."""

    problem: Problem
    places: dict[tuple[Any, ...], Array] = field(default_factory=dict)
    """(F, 3) metres, world, nan where there is none; by point, axes, weight, priority and tolerance."""

    def add(self, number: int, goal: Array, factor: float = 1.0) -> None:
        """Add where the point of a constraint should be, (n, 3) metres, nan along free axes, with a factor on its
        weight."""
        constraint, frames = self.problem.constraints[number], self.problem.constraint_frames[number]
        axes = tuple(np.flatnonzero(np.isfinite(goal[0])).tolist())
        for copy in itertools.count():
            # A point with several constraints at a frame gets several tracks.
            point, weight = int(self.problem.targets[number].points[0]), factor * constraint.weight
            # No distance from a soft goal keeps a level from ending.
            tolerance = SOFT_TOLERANCE_METRES if constraint.soft else constraint.tolerance
            key = point, axes, weight, constraint.priority, tolerance, copy
            if key not in self.places:
                self.places[key] = np.full((len(self.problem.times), 3), np.nan)
            places = self.places[key]
            free = np.isnan(places[frames, 0])
            if free.all() or constraint.soft:
                places[frames[free]] = known(goal)[free]
                return

    def joined(self, number: int, goal: Array) -> Array:
        """A soft goal (n, 3), shifted so that it joins the places of the same point at its first and last frame."""
        point, frames = int(self.problem.targets[number].points[0]), self.problem.constraint_frames[number]
        shifts: dict[int, Array] = {}
        for (other, *_), places in self.places.items():
            for end in (0, len(frames) - 1):
                if other == point and np.isfinite(places[frames[end], 0]):
                    shifts[end] = places[frames[end]] - goal[end]
        if not shifts:
            return goal
        ends = sorted(shifts)
        return goal + np.stack(
            [np.interp(np.arange(len(frames)), ends, [shifts[end][axis] for end in ends]) for axis in range(3)], axis=1
        )

    def constraints(self) -> list[Constraint]:
        """The tracks."""
        return [
            make_track(self.problem, point, places, axes=axes, weight=weight, priority=priority, tolerance=tolerance)
            for (point, axes, weight, priority, tolerance, _), places in self.places.items()
        ]


def make_track(problem: Problem, point: int, places: Array, **fields: Any) -> Track:
    """The track of a point of a problem through places (F, 3), nan where there is none."""
    actor, where = problem.points[point]
    frames = np.flatnonzero(np.isfinite(places[:, 0]))
    ref = PointRef(point=where, actor=problem.actors[actor].name)
    return Track(point=ref, frame_times=problem.times[frames], places=places[frames], **fields)


@record
class HeldLimbs:
    """What contacts of the last level ask of each limb, and which of its points move slowly beside them.

    A foot moves as one body: where some of its points are held, the others get the displacement of a rigid foot, and so
    do the frames beside it in which the foot moves slowly. Otherwise a heel that is held would pull against an ankle
    that only creeps, and a foot that is held at heel and toe would roll about the line between them.
    """

    problem: Problem
    bodies: Sequence[Body]
    needs: dict[tuple[int, int], dict[int, Array]] = field(default_factory=dict)
    """By actor and limb, and by point: the displacement (F, 3) that a held point needs, nan where it is not held."""
    slow: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    """By actor and limb (F,): the frames at which a point moves slowly, as a soft constraint says."""
    paths: dict[int, Array] = field(default_factory=dict)
    """By soft constraint (n, 3) metres: the path of its point."""

    def add(self, number: int, need: Array) -> None:
        """Add the displacement (n, 3) that the held point of a constraint needs."""
        if np.isfinite(need).all() and not self.problem.constraints[number].instants:
            points = self.needs.setdefault(limb_of(self.problem, number), {})
            point = int(self.problem.targets[number].points[0])
            if point not in points:
                points[point] = np.full((len(self.problem.times), 3), np.nan)
            points[point][self.problem.constraint_frames[number]] = need

    def add_slow(self, number: int, path: Array) -> None:
        """Add a soft constraint, which says how a point moves slowly, and the path (n, 3) of the point."""
        slow = self.slow.setdefault(limb_of(self.problem, number), np.zeros(len(self.problem.times), bool))
        slow[self.problem.constraint_frames[number]] = True
        self.paths[number] = path

    def slow_paths(self) -> Iterator[tuple[int, Array]]:
        """The soft constraints, and where their points (n, 3) should be: on their paths, displaced with the limb."""
        fade = max(round(FADE_SECONDS * self.problem.actors[0].motion.fps), 1)
        turns: dict[tuple[int, int], Array] = {}
        moved: dict[tuple[tuple[int, int], int], Array] = {}
        for number, path in self.paths.items():
            limb, point = limb_of(self.problem, number), int(self.problem.targets[number].points[0])
            if limb not in self.needs:
                yield number, path
                continue
            if limb not in turns:
                turns[limb] = self._turn(limb, fade)
            if (limb, point) not in moved:
                displacement, held = self._rigid_displacement(limb, turns[limb], point)
                rigid = known(faded(displacement, held, self.slow[limb], fade))
                moved[limb, point] = self._steadied(limb, point, rigid, fade)
            yield number, path + moved[limb, point][self.problem.constraint_frames[number]]

    def _steadied(self, limb: tuple[int, int], point: int, change: Array, fade: int) -> Array:
        """A change (F, 3) of a slow point that keeps it as still as it can, but joins its own contacts."""
        slow, path = np.zeros(len(change), bool), self._path(point)
        for number in self.paths:
            if int(self.problem.targets[number].points[0]) == point:
                slow[self.problem.constraint_frames[number]] = True
        out = change.copy()
        for first, last in find_runs(slow):
            run = slice(first, last + 1)
            out[run] = steadying_part(path[run], change[run])
        if point not in self.needs[limb]:
            return out
        held = np.flatnonzero(np.isfinite(self.needs[limb][point][:, 0]))
        near = smooth_fall(frames_from(held, len(change)) / fade)[:, None]
        steadied: Array = near * change + (1.0 - near) * out
        return steadied

    def _turn(self, limb: tuple[int, int], fade: int) -> Array:
        """(F, 3) radians: the small rotation that a limb's two held points ask for, fading beside these frames."""
        turn = np.full((len(self.problem.times), 3), np.nan)
        for first, second in itertools.combinations(self.needs[limb].items(), 2):
            line = self._path(second[0]) - self._path(first[0])
            change = second[1] - first[1]
            squared = np.sum(line**2, axis=-1, keepdims=True)
            both = np.isfinite(change[:, 0]) & np.isnan(turn[:, 0]) & (squared[:, 0] > MIN_LINE_METRES**2)
            turn[both] = cross(line[both], change[both]) / squared[both]
        held = np.isfinite(turn[:, 0])
        if not held.any():
            return np.zeros_like(turn)
        return known(faded(turn, held, ~held & False, fade))

    def _rigid_displacement(self, limb: tuple[int, int], turn: Array, point: int) -> tuple[Array, np.ndarray]:
        """(F, 3) metres: the displacement of a point of a limb that moves as one body with its held points; and (F,)
        the frames at which one of these is held."""
        total, count = np.zeros_like(turn), np.zeros(len(turn))
        for other, need in self.needs[limb].items():
            held = np.isfinite(need[:, 0])
            total[held] += need[held]
            if other != point:
                total[held] += cross(turn[held], (self._path(point) - self._path(other))[held])
            count += held
        return np.where(count[:, None] > 0, total / np.maximum(count, 1.0)[:, None], np.nan), count > 0.0

    def _path(self, point: int) -> Array:
        """(F, 3) metres, world: the path of a point of the problem before this level."""
        return self._all_paths[point]

    @cached
    def _all_paths(self) -> dict[int, Array]:
        used = {point for points in self.needs.values() for point in points}
        used |= {int(self.problem.targets[number].points[0]) for number in self.paths}
        paths: dict[int, Array] = {}
        for number, body in enumerate(self.bodies):
            some = [point for point in sorted(used) if self.problem.points[point][0] == number]
            refs = [self.problem.points[point][1] for point in some]
            if refs:
                motion = body.motion
                pose = pose_of(motion, [motion.skeleton.index[ref.joint] for ref in refs])
                paths |= dict(zip(some, pose.points(refs).transpose(1, 0, 2), strict=True))
        return paths


TURN_RIDGE = 0.3
"""The weight against turning a foot, in squared distances of its held points from the ankle. With a thousandth, feet
on their toes, whose points are nearly in line with the ankle, shook about that line."""


def with_turned_feet(problem: Problem, bodies: Sequence[Body], held: HeldLimbs) -> tuple[Body, ...]:
    """Bodies whose feet are turned at the ankle to be nearer to their contacts, where two of their points are held and
    no pose of them is given.

    A captured foot that stands turns by a degree for a frame or two. To take that back is a rough change. The last
    level avoids those, and would swing a bent knee aside for half a second instead. A turn of the foot moves no knee.
    """
    out = list(bodies)
    fade = max(round(FADE_SECONDS * problem.actors[0].motion.fps), 1)
    posed = {ref for target in problem.targets if target.constraint.relation is Relation.EQUAL for ref in target.joints}
    for (actor, _), needs in held.needs.items():
        body = out[actor]
        movers = {_mover(body, problem.points[point][1]) for point in needs}
        joint = movers.pop()
        is_ball = body.skeleton.kinds[joint] is JointKind.BALL and joint in body.joint_of
        is_free = joint > 0 and (actor, body.skeleton.names[joint]) not in posed
        if len(needs) > 1 and not movers and is_free and is_ball:
            origin = body.world[0][:, joint]
            arms = np.array([held._path(point) - origin for point in needs])
            turn = turn_towards(arms, np.array(list(needs.values())), fade)
            out[actor] = turned_joint(body, joint, turn)
    return tuple(out)


def turn_towards(arms: Array, needs: Array, fade: int) -> Array:
    """(F, 3) radians: the rotation that moves points, on arms (P, F, 3) from its centre, nearer to where they have to
    be, by needs (P, F, 3), nan where they are not held. It fades beside the frames at which two of them are held."""
    held = np.isfinite(needs[..., :1])
    lines, turn = np.where(held, arms, 0.0), np.zeros(arms.shape[1:])
    squares = np.sum(lines**2, axis=(0, 2))
    both = (held.sum(axis=0)[:, 0] > 1) & (squares > 0.0)
    if not both.any():
        return turn
    matrix = (1.0 + TURN_RIDGE) * squares[both, None, None] * np.eye(3)
    matrix -= np.einsum("pfi,pfj->fij", lines[:, both], lines[:, both])
    wanted = np.sum(cross(lines, known(needs)), axis=0)
    turn[both] = np.linalg.solve(matrix, wanted[both, :, None])[..., 0]
    return known(faded(turn, both, np.zeros_like(both), fade))


def _mover(body: Body, point: Point) -> int:
    """The joint whose rotation moves a point first: that of the point, or its parent for the joint itself."""
    joint = body.skeleton.index[point.joint]
    return joint if np.any(point.offset) else int(body.skeleton.parents[joint])


def turned_joint(body: Body, joint: int, turn: Array) -> Body:
    """A body with a joint turned in the world by rotation vectors (F, 3)."""
    positions, world = body.world
    above, change = world[:, body.skeleton.parents[joint]], exp(turn)
    rotations = body.motion.rotations.copy()
    rotations[:, joint] = multiply(conjugate(above), multiply(change, world[:, joint]))
    turned = body.with_motion(body.motion.derived(rotations=rotations))
    # What hangs from the joint turns with it: no other place is computed anew.
    below, origin = np.flatnonzero(body.skeleton.below(joint)), positions[:, joint, None]
    positions, world = positions.copy(), world.copy()
    positions[:, below] = origin + rotate(change[:, None], positions[:, below] - origin)
    world[:, below] = multiply(change[:, None], world[:, below])
    turned.__dict__["world"] = positions, world
    return turned


def steadying_part(path: Array, change: Array) -> Array:
    """(n, 3) metres: the mean of a change (n, 3), and as much of the rest as keeps a path (n, 3) still.

    Where a foot slides, all of its points do, and what stops the held one stops the others. Where it turns about a
    point that is nearly still, that point would move with what stops another.
    """
    mean = change.mean(axis=0)
    rest = change - mean
    share = -np.sum((path - path.mean(axis=0)) * rest) / max(float(np.sum(rest**2)), 1e-18)
    return mean + float(np.clip(share, 0.0, 1.0)) * rest


def faded(change: Array, held: np.ndarray, slow: np.ndarray, fade: int) -> Array:
    """(F, d) a change that falls to zero over `fade` frames beside the held frames (F,); nan farther away.

    The change (F, d) is given at the held frames. It stays as it is at the slow frames (F,) next to them.
    """
    steady = held | slow
    edges = np.flatnonzero(np.diff(np.concatenate([[False], steady, [False]])))
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        steady[first:last] = held[first:last].any()
    given, frames, every = np.flatnonzero(held), np.flatnonzero(steady), np.arange(len(change))
    whole = np.stack([np.interp(every, given, column) for column in change[given].T], axis=1)
    earlier = frames[np.maximum(np.searchsorted(frames, every, side="right") - 1, 0)]
    later = frames[np.minimum(np.searchsorted(frames, every), len(frames) - 1)]
    shares = [smooth_fall(np.abs(every - earlier) / fade), smooth_fall(np.abs(later - every) / fade)]
    shares[0][: frames[0]] = 0.0
    shares[1][frames[-1] + 1 :] = 0.0
    total = shares[0] + shares[1]
    shares = [share / np.maximum(total, 1.0) for share in shares]
    out: Array = shares[0][:, None] * whole[earlier] + shares[1][:, None] * whole[later]
    out[steady] = whole[steady]
    out[total <= 0.0] = np.nan
    return out


def smooth_fall(share: Array) -> Array:
    """1 at 0, 0 from 1 on, level at both ends."""
    share = np.minimum(share, 1.0)
    fall: Array = 1.0 - share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    return fall
