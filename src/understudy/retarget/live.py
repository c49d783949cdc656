"""Fast solves during a drag: only the part of the motion that changes, warm-started, at the displayed rate.

A change that holds for a limited time, such as a hand target or the end of a footplant, is solved in a window around
that time. The window starts where the finished solve starts, from the planned motion, so that both end alike; its ends
are blended into the shown motion. Any other change, such as the leg length, is solved over the whole motion at a lower
rate. When the drag ends, everything is solved in full.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, partial
from time import perf_counter
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
from understudy.retarget.ease import easing_constraints, is_easing
from understudy.retarget.plan import Plan, shift_plan_starts
from understudy.retarget.spec import Recipe
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import Evaluation, ProblemAtFrames, displace_bodies
from understudy.solve.problem import Problem
from understudy.solve.solvers import make_solver
from understudy.solve.solvers.base import CHECK_RATE_HZ, ProgressCallback
from understudy.solve.solvers.dual import Curves
from understudy.solve.solvers.newton import (
    LAYOUT_MARGINS,
    GaussNewton,
    Keys,
    regular_frames,
    sampled_frames,
    worst_violation,
)
from understudy.solve.solvers.reach import lowered
from understudy.solve.solvers.spacetime import (
    Level,
    Spacetime,
    broken_limits,
    levels,
    newly_violated,
    select_working_set,
    stiffened,
    unfinished_limits,
)
from understudy.solve.steadiness import steadied, with_steady_heads

TIMING_FIELDS = ("start", "end", "instants", "pauses")


@record
class Change:
    """How new constraints differ from old ones."""

    matches: tuple[tuple[int, int], ...]
    """Constraints that exist in both lists: index among the old, index among the new."""
    span: tuple[int, int] | None
    """The first frame that differs, and one past the last; None if nothing differs."""


def compare(old: Sequence[Constraint], new: Sequence[Constraint], times: Array) -> Change:
    """Compare two lists of constraints at frame times (F,) in seconds."""
    old_indices = {id(constraint): index for index, constraint in enumerate(old)}
    unmatched: dict[Hashable, list[int]] = {}
    shared = old_indices.keys() & {id(constraint) for constraint in new}
    for index, constraint in enumerate(old):
        if id(constraint) not in shared:
            unmatched.setdefault(signature(constraint), []).append(index)
    matches, added = [], []
    for index, constraint in enumerate(new):
        if id(constraint) in shared:
            matches.append((old_indices[id(constraint)], index))
        elif unmatched.get(signature(constraint)):
            matches.append((unmatched[signature(constraint)].pop(), index))
        else:
            added.append(constraint)
    removed = [old[index] for group in unmatched.values() for index in group]
    touched = _touched(removed, added, times)
    frames = np.flatnonzero(touched)
    return Change(matches=tuple(matches), span=(int(frames[0]), int(frames[-1]) + 1) if len(frames) else None)


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


ACTIVE_MARGIN = 1e-4
"""Metres or radians: inequality residuals above minus this are in the active set."""

MAX_MERIT_RATIO = 3.0
"""If the merit of the warm start grew by more than this ratio, starting from zero keys is tried too."""

MIN_WARM_GAIN = 0.005
"""Least relative gain of a step after a warm start; small, because warm-started keys are nearly right."""

MAX_COLD_STEPS, MAX_WARM_STEPS, MAX_LIMB_STEPS = 8, 3, 1
"""Most steps of a band-limited level, cold and warm-started, and of each level that moves limbs."""


@record
class LevelStart:
    """Keys with which a band-limited level of the next update starts."""

    keys: Keys
    merit: float
    """Merit of these keys: cost of the change plus violation."""


@record
class WarmStart:
    """What the next update of a drag starts with."""

    levels: tuple[LevelStart, ...]
    """For each band-limited level that was needed so far."""
    active: tuple[int, ...]
    """Indices of the constraints in the active set."""
    size: tuple[int, ...]
    """Numbers of constraints, coordinates and frames; a problem of another size cannot use the warm start."""


def solve_quickly(
    problem: Problem,
    solver: Spacetime,
    watch: ProgressCallback,
    *,
    times: Array | None = None,
    first: int = 0,
    warm_start: WarmStart | None,
) -> tuple[tuple[Body, ...], WarmStart | None]:
    """Solve a problem approximately and fast.

    Args:
        problem: The problem to solve.
        solver: The solver of the finished solve.
        watch: Progress callback; may raise to stop the solve.
        times: (F,) seconds of the whole motion, if the problem is a window of it: both then have the same keys.
        first: The frame at which the window begins.
        warm_start: Result of the previous update.

    Returns:
        The moved bodies, and the warm start for the next update.
    """
    if not problem.constraints or len(problem.metric) == 0:
        return problem.bodies, None
    problem = steadied(problem)
    size = len(problem.constraints), len(problem.metric), len(problem.times)
    if warm_start is not None and warm_start.size != size:
        warm_start = None
    active = warm_start.active if warm_start else _first_active(problem)
    band, *limb_levels = levels(solver.spacing, problem.actors[0].motion.fps)
    bands, broken, unfinished = (band, *stiffened(band)), broken_limits(problem), unfinished_limits(problem)
    known = list(warm_start.levels) if warm_start else []
    moved = problem.bodies
    # What few frames do not show, or a low stiffness does not meet, takes further levels, as in the finished solve: the
    # second starts anew, others where the one before ends. The next update need not find out that the first is too few.
    for number in range(1 if len(known) > 1 else 0, len(bands)):
        curves = solver.curves(problem, bands[number], times=times).at(first + np.arange(len(problem.times)))
        descent = _descent(problem, moved if number > 1 else problem.bodies, bands[number], curves, active)
        keys, reached = _run(descent, known[number] if number < len(known) else None)
        known[number : number + 1] = [LevelStart(keys=keys, merit=descent.merit(reached, keys))]
        moved = displace_bodies(descent.sample.bodies, descent.sample, curves.values(keys))
        at_frames = np.zeros(len(problem.constraints))
        at_frames[list(active)] = worst_violation(reached)
        sample = ProblemAtFrames(problem=problem, bodies=moved, frames=sampled_frames(problem, CHECK_RATE_HZ))
        worst = worst_violation(sample.measure())
        seen = at_frames if number else worst
        # What is broken at the frames of the level is out of reach.
        if not ((seen > unfinished) & (at_frames <= broken))[list(active)].any():
            break
    watch("solving", 0.5)
    active = tuple(sorted({*active, *newly_violated(problem, active, worst, ACTIVE_MARGIN)}))
    # Constraints that cannot be met are left out of the levels that move limbs.
    soft = tuple(i for i, constraint in enumerate(problem.constraints) if constraint.soft)
    holding = (*(i for i in active if worst[i] <= broken[i] and i not in set(soft)), *soft)
    bodies = lowered(problem, with_steady_heads(problem, moved, -np.inf, np.inf), holding, -np.inf, np.inf)
    for level in limb_levels:
        bodies = solver.solve_limbs(problem, bodies, holding, replace(level, steps=MAX_LIMB_STEPS))
    return bodies, WarmStart(levels=tuple(known), active=active, size=size)


def _first_active(problem: Problem) -> tuple[int, ...]:
    """The constraints with which the first update begins. Soft ones of a priority below zero shape only the levels that
    move limbs, as in the finished solve."""
    near = select_working_set(problem, problem.bodies, LAYOUT_MARGINS * ACTIVE_MARGIN)
    return tuple(i for i in near if not problem.constraints[i].soft or problem.constraints[i].priority >= 0)


def _descent(
    problem: Problem, bodies: tuple[Body, ...], level: Level, curves: Curves, active: tuple[int, ...]
) -> GaussNewton:
    """The steps of a band-limited level, with its curves at all frames of the problem."""
    frames = sampled_frames(problem, level.rate, active)
    sample = ProblemAtFrames(
        problem=problem,
        bodies=bodies,
        frames=frames,
        constraint_indices=active,
        shared_frames=regular_frames(problem, level.rate),
    )
    return GaussNewton(
        sample=sample,
        curves=curves.at(frames),
        stiffness=level.stiffness,
        weights=np.ones(len(active)),
        margin=ACTIVE_MARGIN,
        gain=level.gain,
    )


def _run(descent: GaussNewton, warm_start: LevelStart | None) -> tuple[Keys, Evaluation]:
    """The keys after the steps of a level, and their evaluation."""
    keys = None
    if warm_start is not None:
        descent = replace(descent, gain=MIN_WARM_GAIN)
        keys = _starting_keys(descent, warm_start)
    keys, evaluation, _ = descent.run(MAX_COLD_STEPS if keys is None else MAX_WARM_STEPS, keys)
    return keys, evaluation


def _starting_keys(descent: GaussNewton, warm_start: LevelStart) -> Keys | None:
    """The warm-start keys, or None if zero keys are a better start."""
    merit = descent.merit(descent.sample.measure(descent.curves.values(warm_start.keys)), warm_start.keys)
    if merit < MAX_MERIT_RATIO * warm_start.merit:
        return warm_start.keys
    zero_keys = tuple(np.zeros_like(group) for group in warm_start.keys)
    zero_merit = descent.merit(descent.sample.measure(descent.curves.values(zero_keys)), zero_keys)
    return warm_start.keys if merit < zero_merit else None


Prepare = Callable[[Recipe], Prepared]

MAX_WHOLE_MOTION_FPS = 30.0
"""Frame rate at which the whole motion is solved during a drag; a window is solved at the displayed rate."""

WINDOW_MARGIN_SECONDS = 2.0
"""Seconds before and after the dragged constraints that may change too."""

WINDOW_STEP_SECONDS = 0.4
"""About the seconds to whose multiples windows are widened."""

BLEND_SECONDS = 0.4
"""Seconds at an end of a window over which it blends into the shown motion."""

MAX_SOLVER_SECONDS = 0.12
"""Time limit of solvers other than spacetime during a drag."""


@dataclass(eq=False)
class DragState:
    """State shared by the updates of one drag."""

    matches: tuple[tuple[int, int], ...] | None = None
    """The constraints that are not dragged: index among those of the baseline, index among the new ones."""
    span: tuple[int, int] = (0, 0)
    """First frame of the last window, and one past its last."""
    warm_start: WarmStart | None = None
    windowed: dict[int, Constraint | None] = field(default_factory=dict)
    """The constraints of the baseline in the time of the last window, by identity; None for one that ends before it."""

    def choose_window(self, span: tuple[int, int]) -> tuple[int, int]:
        """The last window if it contains the span and has a warm start, else the span as a new window."""
        if self.warm_start is None or span[0] < self.span[0] or span[1] > self.span[1]:
            self.span, self.warm_start, self.windowed = span, None, {}
        return self.span

    def in_window(
        self, constraint: Constraint, baseline: DragBaseline, times: tuple[float, float]
    ) -> Constraint | None:
        """A constraint in the time of the last window; None if it does not hold there.

        Most are the baseline's own, and the same in every update of a drag.
        """
        if id(constraint) not in baseline.constraint_ids:
            return _in_window(constraint, baseline, self.span, times)
        if id(constraint) not in self.windowed:
            self.windowed[id(constraint)] = _in_window(constraint, baseline, self.span, times)
        return self.windowed[id(constraint)]


@record
class DragBaseline:
    """The finished solve that a drag starts from, at the displayed frame rate."""

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

    def places(self, point_ref: PointRef) -> Array:
        """(F, 3) metres, world: path of a point."""
        names = [part.name for part in self.plan.assignments]
        return self.poses[names.index(point_ref.actor) if point_ref.actor else 0].points([point_ref.point])[:, 0]

    @cached
    def constraint_ids(self) -> frozenset[int]:
        """The identities of its constraints, which last as long as it does."""
        return frozenset(id(constraint) for constraint in self.plan.constraints)

    @cached
    def poses(self) -> tuple[Pose, ...]:
        return tuple(fk(motion) for motion in self.motions)

    @cached
    def limits(self) -> tuple[Constraint, ...]:
        recipe_ids = {id(constraint) for constraint in self.prepared.recipe.constraints}
        return tuple(c for c in self.plan.constraints if c.kind == "joint_range" and id(c) not in recipe_ids)

    @cached
    def from_contacts(self) -> tuple[Constraint, ...]:
        """Constraints derived from contacts: plants, holds and the floor."""
        excluded = {id(constraint) for constraint in (*self.prepared.recipe.constraints, *self.limits)}
        return tuple(c for c in self.plan.constraints if id(c) not in excluded and not is_easing(c))


@record
class LiveResult:
    """The motions of one update of a drag."""

    prepared: Prepared
    problem: Problem
    motions: tuple[Motion, ...]
    span: tuple[int, int] | None
    """First frame that differs from the finished solve, and one past the last; None for all."""
    seconds: float


@dataclass(eq=False, kw_only=True)
class LiveSession:
    """The drags that start from one finished solve, and their state."""

    prepared: Prepared
    motions: tuple[Motion, ...]
    spacing: float
    fps: float
    """The most frames a second that are displayed; windows are solved at this rate."""
    whole_drag: DragState = field(default_factory=DragState)
    window_drag: DragState = field(default_factory=DragState)
    baseline: DragBaseline | None = None
    """The finished solve at the displayed rate; made by the first update that needs it."""
    clear: bool | None = None
    """Whether the finished solve had no limb to move out of the body; None before that is known."""

    def update(
        self,
        recipe: Recipe,
        changed: Set[str],
        watch: ProgressCallback,
        prepare_at: Callable[[float, Recipe], Prepared],
        choose_spacing: Callable[[Prepared], float],
        *,
        is_first: bool,
    ) -> LiveResult:
        """Solve a recipe that is being dragged.

        Args:
            recipe: The recipe as it is now.
            changed: Names of the recipe's tables that differ from the finished solve, and `pairs` if the bone pairs do.
            watch: Progress callback; may raise to stop the solve.
            prepare_at: Takes the most frames a second and a recipe, and prepares it with motions of that rate.
            choose_spacing: Chooses the seconds between keys if the options changed.
            is_first: Whether this is the first update of a drag; it has no warm start.
        """
        if recipe.contacts is None:
            recipe = replace(recipe, contacts=self.prepared.contacts)
        in_window = self.prepared.plan is not None and recipe.solver == Spacetime.name
        in_window = in_window and changed <= {"contact", "constraint"}
        drag = self.window_drag if in_window else self.whole_drag
        if is_first:
            drag.warm_start = None
        if in_window:
            self.baseline = self.baseline or self._make_baseline()
            prepared = _prepare_window(self.baseline, recipe, changed, partial(prepare_at, np.inf), self.fps)
            return solve_window(self.baseline, prepared, watch, drag)
        prepare = partial(prepare_at, MAX_WHOLE_MOTION_FPS)
        if recipe.options.clearance and self._is_clear(prepare):
            recipe = replace(recipe, options=replace(recipe.options, clearance=False))
        prepared = prepare(recipe)
        spacing = choose_spacing(prepared) if "options" in changed else self.spacing
        return solve_whole(prepared, spacing, watch, drag)

    def _is_clear(self, prepare: Prepare) -> bool:
        """Whether no limb had to be moved out of the body; looking for that takes longer than all else of an update."""
        if self.clear is None:
            recipe = replace(self.prepared.recipe, contacts=self.prepared.contacts)
            options = (replace(recipe.options, clearance=clearance) for clearance in (True, False))
            plans = [prepare(replace(recipe, options=each)).plan for each in options]
            starts = [() if plan is None else plan.starts for plan in plans]
            self.clear = all(np.array_equal(a.rotations, b.rotations) for a, b in zip(*starts, strict=True))
        return self.clear

    def _make_baseline(self) -> DragBaseline:
        """The finished solve at the displayed frame rate."""
        step = frame_step(self.motions[0], self.fps)
        prepared = thin_prepared(self.prepared, self.fps)
        return DragBaseline(
            prepared=prepared, motions=tuple(motion[::step] for motion in self.motions), spacing=self.spacing
        )


def _prepare_window(
    baseline: DragBaseline, recipe: Recipe, changed: Set[str], prepare: Prepare, max_fps: float
) -> Prepared:
    """Prepare a recipe at the displayed rate; what the change leaves as it was is taken from the baseline."""
    if "contact" not in changed:
        starts = {context.actor: context.start for context in baseline.plan.contexts if context.start is not None}
        asked = (*recipe.constraints, *easing_constraints(recipe.constraints, starts))
        unshifted = replace(baseline.plan, starts=tuple(starts.values()), constraints=(*baseline.from_contacts, *asked))
        plan = shift_plan_starts(unshifted, asked)
        plan = replace(plan, constraints=(*plan.constraints, *baseline.limits))
        return replace(baseline.prepared, recipe=recipe, plan=plan)
    prepared = thin_prepared(prepare(replace(recipe, options=replace(recipe.options, limits=False))), max_fps)
    assert prepared.plan is not None
    constraints = (*prepared.plan.constraints, *baseline.limits)
    return replace(prepared, recipe=recipe, plan=replace(prepared.plan, constraints=constraints))


def thin_prepared(prepared: Prepared, max_fps: float) -> Prepared:
    """A plan of which every n-th frame is kept, so that its rate is at most `max_fps`.

    A plan that is made from fewer frames starts up to 13 mm elsewhere.
    """
    plan = prepared.plan
    step = 1 if plan is None else frame_step(plan.starts[0], max_fps)
    if plan is None or step == 1:
        return prepared
    contexts = tuple(
        context if context.start is None else replace(context, start=context.start[::step]) for context in plan.contexts
    )
    starts = tuple(start[::step] for start in plan.starts)
    return replace(prepared, plan=replace(plan, starts=starts, contexts=contexts))


def thin_actor(actor: ActorData, max_fps: float) -> ActorData:
    """An actor whose motion keeps every n-th frame, so that its rate is at most `max_fps`."""
    step = frame_step(actor.motion, max_fps)
    return actor if step == 1 else replace(actor, motion=actor.motion[::step])


def frame_step(motion: Motion, max_fps: float) -> int:
    """The step between kept frames that brings a motion to at most `max_fps`."""
    return max(int(np.ceil(motion.fps / max_fps - 1e-3)), 1)


def solve_window(baseline: DragBaseline, prepared: Prepared, watch: ProgressCallback, drag: DragState) -> LiveResult:
    """Solve the baseline again in a window around the frames that change; all is at the displayed rate."""
    began, plan = perf_counter(), prepared.plan
    assert plan is not None
    motions, span = baseline.motions, (0, 0)
    problem = plan.problem()
    change = compare(baseline.plan.constraints, plan.constraints, problem.times)
    if change.span is not None:
        span = _window(change.span, motions[0], baseline.spacing)
        if change.matches != drag.matches:
            drag.matches, drag.warm_start = change.matches, None
        span = drag.choose_window(span)
        motions = _resolve_window(baseline, plan, drag, watch)
    return LiveResult(prepared=prepared, problem=problem, motions=motions, span=span, seconds=perf_counter() - began)


def solve_whole(prepared: Prepared, spacing: float, watch: ProgressCallback, drag: DragState) -> LiveResult:
    """Solve the whole motion again at a low rate, with few steps."""
    began, recipe = perf_counter(), prepared.recipe
    if prepared.plan is None:
        solved = prepared.solve(spacing, watch)
        return LiveResult(
            prepared=prepared, problem=solved.problem, motions=solved.motions, span=None, seconds=solved.seconds
        )
    problem = prepared.plan.problem()
    solver = prepared.make_solver_at(spacing)
    if isinstance(solver, Spacetime):
        bodies, drag.warm_start = solve_quickly(problem, solver, watch, warm_start=drag.warm_start)
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


def _resolve_window(baseline: DragBaseline, plan: Plan, drag: DragState, watch: ProgressCallback) -> tuple[Motion, ...]:
    """The motions of the baseline with one window solved again."""
    first, last = drag.span
    motions = baseline.motions
    fps, num_frames = motions[0].fps, motions[0].num_frames
    begin, end = first / fps, (last - 1) / fps
    inside = (drag.in_window(constraint, baseline, (begin, end)) for constraint in plan.constraints)
    problem = replace(
        plan,
        starts=tuple(start[first:last] for start in plan.starts),
        constraints=tuple(constraint for constraint in inside if constraint is not None),
    ).problem()
    bodies, drag.warm_start = solve_quickly(
        problem,
        baseline.solver,
        watch,
        times=motions[0].times,
        first=first,
        warm_start=drag.warm_start,
    )
    weights = _blend_weights(motions[0][first:last], at_start=first > 0, at_end=last < num_frames)
    return tuple(_splice(a, b, drag.span, weights) for a, b in zip(motions, problem.restored(bodies), strict=True))


def _in_window(
    constraint: Constraint, baseline: DragBaseline, span: tuple[int, int], times: tuple[float, float]
) -> Constraint | None:
    """A constraint in the time of a window; None if it does not hold there.

    A SamePlace that extends past the window becomes a Place at its position outside.
    """
    held = constraint.frames(baseline.motions[0].times)
    inside = held[(held >= span[0]) & (held < span[1])]
    if len(inside) == 0:
        return None
    if isinstance(constraint, SamePlace) and len(inside) < len(held):
        outside = held[(held < span[0]) | (held >= span[1])]
        constraint = Place(
            point=constraint.point,
            target=baseline.places(constraint.point_refs()[0])[outside].mean(axis=0),
            start=constraint.start,
            end=constraint.end,
            name=constraint.name,
        )
    return shift_in_time(constraint, *times)


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
