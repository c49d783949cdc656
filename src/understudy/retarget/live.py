"""Solves during a drag: the finished solver, on the part of the motion that changes.

A change that holds for a limited time, such as a hand target or the end of a footplant, is solved in a window around
that time: the whole motion if that is short. The window starts where the finished solve starts, from the planned
motion, with the same coordinates, costs and keys, and takes the same steps, so that both end alike. Any other change,
such as the leg length, is solved over the whole motion at a lower rate. No solution is carried over from one update to
the next, so that the way of a drag does not matter. Only the number of steps is limited, and after a slow update the
rate, so that updates do not take long where constraints contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, partial
from time import perf_counter, thread_time
from typing import Any

import numpy as np

from understudy.base.quaternion import Array, slerp
from understudy.base.records import cached, record
from understudy.constraints.base import Constraint, PointRef, Relation
from understudy.constraints.function import Function
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.figure.kinematics import Pose, fk
from understudy.figure.motion import Motion
from understudy.retarget.actor import ActorData
from understudy.retarget.driver import Prepared
from understudy.retarget.ease import easing_constraints
from understudy.retarget.plan import MIN_SHIFT_FADE_SECONDS, Plan, add_joint_limits, plan_of_contacts
from understudy.retarget.spec import Recipe
from understudy.solve.evaluation import shift_starts
from understudy.solve.problem import Problem
from understudy.solve.solvers import make_solver
from understudy.solve.solvers.base import ProgressCallback
from understudy.solve.solvers.spacetime import Spacetime

TIMING_FIELDS = ("start", "end", "instants", "pauses")


def compare(old: Sequence[Constraint], new: Sequence[Constraint], times: Array) -> tuple[int, int] | None:
    """The first frame at which two lists of constraints differ, and one past the last; None if they are alike.

    Args:
        old: Constraints.
        new: Others; those that are alike, but for their names, count as the same.
        times: (F,) seconds of the frames.
    """
    shared = {id(constraint) for constraint in old} & {id(constraint) for constraint in new}
    removed: dict[Hashable, list[Constraint]] = {}
    for constraint in old:
        if id(constraint) not in shared:
            removed.setdefault(signature(constraint), []).append(constraint)
    added = []
    for constraint in new:
        if id(constraint) not in shared:
            alike = removed.get(signature(constraint))
            if alike:
                alike.pop()
            else:
                added.append(constraint)
    frames = np.flatnonzero(_touched([constraint for group in removed.values() for constraint in group], added, times))
    return (int(frames[0]), int(frames[-1]) + 1) if len(frames) else None


def _touched(removed: list[Constraint], added: list[Constraint], times: Array) -> np.ndarray:
    """(F,) whether an added or removed constraint holds at a frame.

    An inequality whose time span alone changed differs only at the frames that were added or removed. An equality may
    move its target, so that it differs at all its frames.
    """
    touched = np.zeros(len(times), bool)
    partners: dict[Hashable, list[Constraint]] = {}
    for constraint in removed:
        if constraint.relation is Relation.AT_MOST:
            partners.setdefault(signature(constraint, timed=False), []).append(constraint)
    for constraint in added:
        is_bound = constraint.relation is Relation.AT_MOST
        candidates = partners.get(signature(constraint, timed=False)) if is_bound else None
        if candidates:
            partner = candidates.pop()
            removed = [other for other in removed if other is not partner]
            touched[np.setxor1d(constraint.frames(times), partner.frames(times))] = True
        else:
            touched[constraint.frames(times)] = True
    for constraint in removed:
        touched[constraint.frames(times)] = True
    return touched


def signature(constraint: Constraint, *, timed: bool = True) -> Hashable:
    """All fields of a constraint except its name, as a hashable value; without `timed` also except its times."""
    names = _compared_fields(type(constraint), timed)
    return constraint.kind, *[_hashable(getattr(constraint, name)) for name in names]


@cache
def _compared_fields(kind: type[Constraint], timed: bool) -> tuple[str, ...]:
    """The fields of a kind of constraint that its signature has."""
    ignored = ("name",) if timed else ("name", *TIMING_FIELDS)
    return tuple(field.name for field in fields(kind) if field.name not in ignored)


def _hashable(value: Any) -> Hashable:
    if value is None or isinstance(value, str | float | int):
        # Most are: a hundred constraints are compared in every update of a drag.
        plain: Hashable = value
        return plain
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return tuple(_hashable(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        return tuple(_hashable(getattr(value, item.name)) for item in fields(value))
    if callable(value):
        # User functions are loaded again with every recipe; they are compared by name.
        return getattr(value, "__module__", ""), getattr(value, "__qualname__", repr(value))
    hashable: Hashable = value
    return hashable


def shift_in_time(constraint: Constraint, begin: float, end: float) -> Constraint:
    """A constraint in the time of a window between two times in seconds."""
    start = max(constraint.start, begin) - begin
    values: dict[str, Any] = {
        "start": start,
        # Rounding must not let a constraint end before the window in whose first frame it ends.
        "end": max(min(constraint.end, end) - begin, start),
        "instants": tuple(t - begin for t in constraint.instants if begin - 1e-6 <= t <= end + 1e-6),
        "pauses": tuple((a - begin, b - begin) for a, b in constraint.pauses if b >= begin and a <= end),
    }
    if constraint.instants:
        values |= {"start": -np.inf, "end": np.inf}
    times = getattr(constraint, "times", None)
    if times is not None:
        values["times"] = times - begin
    if isinstance(constraint, Function) and constraint.timed:
        function = constraint.function
        values["function"] = lambda points, clock: function(points, clock + begin)
    return replace(constraint, **values)


MAX_LIVE_STEPS = 24
"""Steps after which an update makes no further attempt to meet constraints: about a third of a second."""

MAX_WHOLE_MOTION_FPS = 30.0
"""Frame rate at which the whole motion is solved during a drag; a window is solved at the motion's own, while its
updates are quick enough."""

MAX_UPDATE_SECONDS = 0.2
"""Processor seconds: after an update that took longer, windows are solved at a low rate until the drag's end. Joints
are some centimetres off then; at 120 frames a second a hand that was pulled out of its reach got two updates a
second."""

WINDOW_MARGIN_SECONDS = 4.0
"""Seconds before and after the dragged constraints that may change too. At this distance, hips that are held for a
moment while walking are felt by two centimetres."""

WINDOW_STEP_SECONDS = 0.4
"""About the seconds to whose multiples windows are widened."""

BLEND_SECONDS = 2.4
"""Seconds at an end of a window over which it blends into the shown motion."""

MAX_SOLVER_SECONDS = 0.12
"""Time limit of solvers other than spacetime during a drag."""

Prepare = Callable[[Recipe], Prepared]


@record
class LiveResult:
    """The motions of one update of a drag."""

    prepared: Prepared
    problem: Problem
    motions: tuple[Motion, ...]
    span: tuple[int, int] | None
    """First frame that differs from the finished solve, and one past the last; None for all."""
    seconds: float


@record
class DragBaseline:
    """The finished solve that a drag starts from."""

    prepared: Prepared
    motions: tuple[Motion, ...]
    spacing: float

    @property
    def plan(self) -> Plan:
        assert self.prepared.plan is not None
        return self.prepared.plan

    @cached
    def solver(self) -> Spacetime:
        """The solver of the finished solve."""
        solver = self.prepared.make_solver_at(self.spacing)
        assert isinstance(solver, Spacetime)
        return solver

    @cached
    def poses(self) -> tuple[Pose, ...]:
        return tuple(fk(motion) for motion in self.motions)

    def places(self, point_ref: PointRef) -> Array:
        """(F, 3) metres, world: path of a point."""
        names = [part.name for part in self.plan.assignments]
        return self.poses[names.index(point_ref.actor) if point_ref.actor else 0].points([point_ref.point])[:, 0]

    @cached
    def limits(self) -> tuple[Constraint, ...]:
        """The limits of joints that are not of the recipe."""
        recipe_ids = {id(constraint) for constraint in self.prepared.recipe.constraints}
        return tuple(c for c in self.plan.constraints if c.kind == "joint_range" and id(c) not in recipe_ids)

    @cached
    def constraints(self) -> tuple[Constraint, ...]:
        """All its constraints but those limits, which no drag of a window changes."""
        excluded = {id(constraint) for constraint in self.limits}
        return tuple(c for c in self.plan.constraints if id(c) not in excluded)

    @cached
    def constraint_ids(self) -> frozenset[int]:
        """The identities of its constraints, which last as long as it does."""
        return frozenset(id(constraint) for constraint in self.plan.constraints)

    @cached
    def plan_of_contacts(self) -> Plan:
        """Its plan with only what contacts ask for: plants, holds and the floor; starts are shifted by these alone."""
        return plan_of_contacts(self.plan, self.prepared.recipe.constraints)


@dataclass(eq=False, kw_only=True)
class LiveSession:
    """The drags that start from one finished solve, and what their updates share."""

    prepared: Prepared
    motions: tuple[Motion, ...]
    spacing: float
    step: int = 1
    """Windows are solved at every n-th frame."""
    baselines: dict[int, DragBaseline] = field(default_factory=dict)
    """The finished solve, by the step between its frames."""
    clear: bool | None = None
    """Whether the finished solve had no limb to move out of the body; None before that is known."""
    span: tuple[int, int] = (0, 0)
    """First frame of the last window, and one past its last."""
    windowed: dict[int, Constraint | None] = field(default_factory=dict)
    """Constraints of the finished solve in the time of the last window, by identity; None for one that does not hold
    there."""
    window: Problem | None = None
    """The problem of the last window; the next one may differ from it in some values only."""
    limits: dict[Hashable, tuple[Constraint, ...]] = field(default_factory=dict)
    """The limits of joints, by which joints move."""
    last: tuple[Plan, int, Problem] | None = None
    """A plan of contacts, the number of the recipe's constraints, and the problem of the whole motion that they gave;
    the next one may differ from it in some values only."""

    @property
    def baseline(self) -> DragBaseline:
        """The finished solve, of every frame or of some."""
        if self.step not in self.baselines:
            motions = tuple(motion[:: self.step] if self.step > 1 else motion for motion in self.motions)
            prepared = thin_prepared(self.prepared, self.step)
            self.baselines[self.step] = DragBaseline(prepared=prepared, motions=motions, spacing=self.spacing)
        return self.baselines[self.step]

    def _thin(self, step: int) -> None:
        """Solve windows at every n-th frame from now on."""
        self.step = step
        self.span, self.windowed, self.window, self.limits, self.last = (0, 0), {}, None, {}, None

    def update(
        self,
        recipe: Recipe,
        changed: Set[str],
        watch: ProgressCallback,
        prepare_at: Callable[[float, Recipe], Prepared],
        choose_spacing: Callable[[Prepared], float],
    ) -> LiveResult:
        """Solve a recipe that is being dragged.

        Args:
            recipe: The recipe as it is now.
            changed: Names of the recipe's tables that differ from the finished solve, and `pairs` if the bone pairs do.
            watch: Progress callback; may raise to stop the solve.
            prepare_at: Takes the most frames a second and a recipe, and prepares it with motions of that rate.
            choose_spacing: Chooses the seconds between keys if the options changed.
        """
        if recipe.contacts is None:
            recipe = replace(recipe, contacts=self.prepared.contacts)
        is_planned = self.prepared.plan is not None and recipe.solver == Spacetime.name
        if is_planned and changed <= {"contact", "constraint"}:
            return self._solve_window(recipe, changed, watch, partial(prepare_at, np.inf))
        prepare = partial(prepare_at, MAX_WHOLE_MOTION_FPS)
        if recipe.options.clearance and self._is_clear(prepare):
            recipe = replace(recipe, options=replace(recipe.options, clearance=False))
        prepared = prepare(recipe)
        spacing = choose_spacing(prepared) if "options" in changed else self.spacing
        return solve_whole(prepared, spacing, watch)

    def _is_clear(self, prepare: Prepare) -> bool:
        """Whether no limb had to be moved out of the body; looking for that takes longer than all else of an update."""
        if self.clear is None:
            recipe = replace(self.prepared.recipe, contacts=self.prepared.contacts)
            options = (replace(recipe.options, clearance=clearance) for clearance in (True, False))
            plans = [prepare(replace(recipe, options=each)).plan for each in options]
            starts = [() if plan is None else plan.starts for plan in plans]
            self.clear = all(np.array_equal(a.rotations, b.rotations) for a, b in zip(*starts, strict=True))
        return self.clear

    def _solve_window(self, recipe: Recipe, changed: Set[str], watch: ProgressCallback, prepare: Prepare) -> LiveResult:
        """Solve the frames that change, and those around them."""
        began, began_work, baseline = perf_counter(), thread_time(), self.baseline
        prepared, plan = baseline.prepared, baseline.plan_of_contacts
        if "contact" in changed:
            prepared = prepare(replace(recipe, constraints=(), options=replace(recipe.options, limits=False)))
            prepared = thin_prepared(prepared, self.step)
            assert prepared.plan is not None
            plan = prepared.plan
        starts = {c.actor: c.start for c in plan.contexts if c.start is not None}
        asked = (*recipe.constraints, *easing_constraints(recipe.constraints, starts))
        change = compare(baseline.constraints, (*plan.constraints, *asked), plan.starts[0].times)
        whole = self._whole_problem(plan, asked)
        motions, span = baseline.motions, (0, 0)
        if change is not None:
            span = _window(change, motions[0], self.spacing)
            indices = range(len(plan.constraints), len(plan.constraints) + len(asked))
            parts = self._solve_part(whole, indices, span, watch)
            weights = _blend_weights(parts[0], at_start=span[0] > 0, at_end=span[1] < motions[0].num_frames)
            motions = tuple(_splice(*pair, span, weights) for pair in zip(motions, parts, strict=True))
        prepared = replace(prepared, recipe=recipe, plan=plan.with_problem(whole))
        seconds, shown_span = perf_counter() - began, span if self.step == 1 else None
        step = frame_step(self.motions[0], MAX_WHOLE_MOTION_FPS)
        if self.step < step and thread_time() - began_work > MAX_UPDATE_SECONDS:
            self._thin(step)
        return LiveResult(prepared=prepared, problem=whole, motions=motions, span=shown_span, seconds=seconds)

    def _whole_problem(self, plan: Plan, asked: tuple[Constraint, ...]) -> Problem:
        """The problem of the whole motion: what contacts ask for, what a recipe asks for, and limits."""
        if self.last is not None and self.last[:2] == (plan, len(asked)) and plan.size_factor == 1.0:
            last = self.last[2]
            limits = last.constraints[len(plan.constraints) + len(asked) :]
            problem = last.with_values_of((*plan.constraints, *asked, *limits))
            if problem is not None:
                return problem
        unlimited = replace(plan, constraints=(*plan.constraints, *asked))
        limits = self._limits(unlimited) if self.prepared.recipe.options.limits else ()
        problem = replace(unlimited, constraints=(*unlimited.constraints, *limits)).problem()
        self.last = plan, len(asked), problem
        return problem

    def _limits(self, plan: Plan) -> tuple[Constraint, ...]:
        """The limits of the joints that a plan turns: those of the finished solve, and of joints that it left as they
        were, such as those of an arm whose hand is dragged now."""
        problem, limits = plan.problem(), self.baseline.limits
        key = tuple(frozenset(problem.movable_joints(number)) for number in range(len(problem.actors)))
        if key not in self.limits:
            known = {_joint(limit) for limit in limits}
            found = add_joint_limits(plan).constraints[len(plan.constraints) :]
            self.limits[key] = (*limits, *(limit for limit in found if _joint(limit) not in known))
        return self.limits[key]

    def _solve_part(
        self, whole: Problem, asked: range, span: tuple[int, int], watch: ProgressCallback
    ) -> tuple[Motion, ...]:
        """The motions in a window of the whole motion, solved as the finished solve is.

        Args:
            whole: The problem of the whole motion.
            asked: The indices of the constraints that the recipe asks for.
            span: The first frame of the window, and one past its last.
            watch: Progress callback.
        """
        inside = [self._in_window(constraint, span) for constraint in whole.constraints]
        kept = [index for index, constraint in enumerate(inside) if constraint is not None]
        # What is pinned at the ends of a window shifts nothing.
        as_asked = {
            number for number, index in enumerate(kept) if type(inside[index]) is type(whole.constraints[index])
        }
        problem, solver = whole, self.baseline.solver
        if span != (0, len(whole.times)):
            problem = self._window_problem(whole, tuple(each for each in inside if each is not None), span)
            begin = float(whole.times[span[0]])
            solver = replace(solver, hold=solver.hold - begin, until=solver.until - begin)
        pulling = (number for number, each in enumerate(problem.constraints) if type(each).pull is not Constraint.pull)
        fixing = tuple(number for number in pulling if number in as_asked)
        reaching = {number for number in fixing if kept[number] in asked}
        if reaching:
            problem = shift_starts(problem, fixing, reaching=reaching, fade_seconds=MIN_SHIFT_FADE_SECONDS)
        bodies, _ = replace(solver, iterations=min(solver.iterations, MAX_LIVE_STEPS)).move(problem, watch)
        return problem.restored(bodies)

    def _window_problem(self, whole: Problem, constraints: tuple[Constraint, ...], span: tuple[int, int]) -> Problem:
        """The problem of a window; it shares bodies and points with the last one where these are the same."""
        problem, last = None, self.window
        same_span = last is not None and (last.first, last.first + len(last.times)) == span
        if last is not None and same_span and last.whole is not None and last.whole.bodies is whole.bodies:
            problem = last.with_values_of(constraints)
        if problem is None:
            actors = tuple(replace(actor, motion=actor.motion[slice(*span)]) for actor in whole.actors)
            problem = Problem(actors=actors, constraints=constraints, whole=whole, first=span[0])
        self.window = problem
        return problem

    def _in_window(self, constraint: Constraint, span: tuple[int, int]) -> Constraint | None:
        """A constraint in the time of a window; None if it does not hold there.

        Most are those of the finished solve, and the same in every update of a drag.
        """
        if id(constraint) not in self.baseline.constraint_ids:
            return in_window(constraint, self.baseline, span)
        if span != self.span:
            self.span, self.windowed = span, {}
        if id(constraint) not in self.windowed:
            self.windowed[id(constraint)] = in_window(constraint, self.baseline, span)
        return self.windowed[id(constraint)]


def _joint(limit: Constraint) -> tuple[str, str]:
    """The actor and the joint of a limit."""
    (ref,) = limit.joints()
    return ref.actor, str(ref.point)


def thin_prepared(prepared: Prepared, step: int) -> Prepared:
    """A plan of which every n-th frame is kept, with the constraints that hold at one of them.

    A plan that is made from fewer frames starts up to 13 mm elsewhere.
    """
    plan = prepared.plan
    if plan is None or step == 1:
        return prepared
    contexts = tuple(
        context if context.start is None else replace(context, start=context.start[::step]) for context in plan.contexts
    )
    starts = tuple(start[::step] for start in plan.starts)
    held = tuple(constraint for constraint in plan.constraints if len(constraint.frames(starts[0].times)))
    return replace(prepared, plan=replace(plan, starts=starts, contexts=contexts, constraints=held))


def thin_actor(actor: ActorData, max_fps: float) -> ActorData:
    """An actor whose motion keeps every n-th frame, so that its rate is at most `max_fps`."""
    step = frame_step(actor.motion, max_fps)
    return actor if step == 1 else replace(actor, motion=actor.motion[::step])


def frame_step(motion: Motion, max_fps: float) -> int:
    """The step between kept frames that brings a motion to at most `max_fps`."""
    return max(int(np.ceil(motion.fps / max_fps - 1e-3)), 1)


def solve_whole(prepared: Prepared, spacing: float, watch: ProgressCallback) -> LiveResult:
    """Solve the whole motion again at a low rate."""
    began, recipe = perf_counter(), prepared.recipe
    if prepared.plan is None:
        solved = prepared.solve(spacing, watch)
        return LiveResult(
            prepared=prepared, problem=solved.problem, motions=solved.motions, span=None, seconds=solved.seconds
        )
    problem, solver = prepared.plan.problem(), prepared.make_solver_at(spacing)
    if isinstance(solver, Spacetime):
        solver = replace(solver, iterations=min(solver.iterations, MAX_LIVE_STEPS))
    else:
        solver = make_solver(recipe.solver, {**recipe.solver_options, "seconds": MAX_SOLVER_SECONDS}, spacing)
    bodies, _ = solver.move(problem, watch)
    motions, seconds = problem.restored(bodies), perf_counter() - began
    return LiveResult(prepared=prepared, problem=problem, motions=motions, span=None, seconds=seconds)


def _window(span: tuple[int, int], motion: Motion, spacing: float) -> tuple[int, int]:
    around = round(WINDOW_MARGIN_SECONDS * motion.fps)
    first, last = max(span[0] - around, 0), min(span[1] + around, motion.num_frames)
    # Rounding keeps the window the same while a dragged end moves by a frame or two, and lets it evaluate constraints
    # at the frames of the finished solve.
    step = max(round(spacing * motion.fps), 1) * max(round(WINDOW_STEP_SECONDS / spacing), 1)
    return first - first % step, min(last + (-last) % step + 1, motion.num_frames)


def in_window(constraint: Constraint, baseline: DragBaseline, span: tuple[int, int]) -> Constraint | None:
    """A constraint in the time of a window; None if it does not hold there.

    A SamePlace that extends past the window becomes a Place where it is held in the finished solve.
    """
    times = baseline.motions[0].times
    if span == (0, len(times)):
        return constraint
    held = constraint.frames(times)
    inside = held[(held >= span[0]) & (held < span[1])]
    if len(inside) == 0:
        return None
    if isinstance(constraint, SamePlace) and constraint.drift is None and len(inside) < len(held):
        place = baseline.places(constraint.point_refs()[0])[held].mean(axis=0)
        constraint = Place(
            point=constraint.point, target=place, start=constraint.start, end=constraint.end, name=constraint.name
        )
    return shift_in_time(constraint, float(times[span[0]]), float(times[span[1] - 1]))


def _blend_weights(motion: Motion, *, at_start: bool, at_end: bool) -> Array:
    """(F,) weights from 0 at the ends of a window within the motion to 1 inside it."""
    number, ease = np.arange(motion.num_frames), max(BLEND_SECONDS * motion.fps, 1.0)
    share = np.ones(motion.num_frames)
    if at_start:
        share = np.minimum(share, number / ease)
    if at_end:
        share = np.minimum(share, number[::-1] / ease)
    return share * share * (3.0 - 2.0 * share)


def _splice(shown: Motion, part: Motion, span: tuple[int, int], weights: Array) -> Motion:
    """The shown motion with a part of it replaced, by weights (F,) of the part's frames."""
    window, root, rotations = slice(*span), shown.root.copy(), shown.rotations.copy()
    root[window] += weights[:, None] * (part.root - root[window])
    rotations[window] = slerp(rotations[window], part.rotations, weights[:, None])
    return replace(shown, root=root, rotations=rotations)
