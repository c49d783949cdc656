"""Fast solves during a drag: only the part of the motion that changes, warm-started, at the displayed rate.

A change that holds for a limited time, such as a hand target or the end of a footplant, is solved in a window around
that time. The window starts from the motion without the dragged constraints, so that every update of a drag has the
same start and does not depend on earlier updates; the ends of the window are held. Any other change, such as the leg
length, is solved over the whole motion at a lower rate. When the drag ends, everything is solved in full.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from understudy.base.quaternion import Array, slerp
from understudy.base.records import cached, record
from understudy.base.splines import Basis, Knots, every_frame
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
from understudy.solve.evaluation import ProblemAtFrames, displace_bodies
from understudy.solve.problem import Problem
from understudy.solve.solvers import make_solver
from understudy.solve.solvers.base import CHECK_RATE_HZ, ProgressCallback
from understudy.solve.solvers.dual import Curves
from understudy.solve.solvers.limbs import LimbProblem
from understudy.solve.solvers.newton import LAYOUT_MARGINS, GaussNewton, Keys, sampled_frames, worst_violation
from understudy.solve.solvers.spacetime import Spacetime, broken_limits, levels, newly_violated, select_working_set

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
    ignored = ("name",) if timed else ("name", *TIMING_FIELDS)
    values = [_hashable(getattr(constraint, field.name)) for field in fields(constraint) if field.name not in ignored]
    return constraint.kind, *values


def _hashable(value: Any) -> Hashable:
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
    values: dict[str, Any] = {
        "start": max(constraint.start, begin) - begin,
        "end": min(constraint.end, end) - begin,
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

MAX_COLD_STEPS, MAX_WARM_STEPS, MAX_FRAME_STEPS = 8, 3, 2
"""Most steps of the band-limited level, cold and warm-started, and of the level with a key at every frame."""


@record
class WarmStart:
    """Keys and active constraints with which the next update of a drag starts."""

    keys: Keys
    merit: float
    """Merit of these keys: cost of the change plus violation."""
    active: tuple[int, ...]
    """Indices of the constraints in the active set."""
    size: tuple[int, ...]
    """Numbers of constraints, coordinates and keys; a problem of another size cannot use the warm start."""


def solve_quickly(
    problem: Problem,
    spacing: float,
    watch: ProgressCallback,
    *,
    hold: float = -np.inf,
    until: float = np.inf,
    warm_start: WarmStart | None,
) -> tuple[tuple[Body, ...], WarmStart | None]:
    """Solve a problem approximately and fast.

    Args:
        problem: The problem to solve.
        spacing: Seconds between the keys of the band-limited level.
        watch: Progress callback; may raise to stop the solve.
        hold: Seconds up to which the motion is not changed.
        until: Seconds from which on it is not changed.
        warm_start: Result of the previous update.

    Returns:
        The moved bodies, and the warm start for the next update.
    """
    if not problem.constraints or len(problem.metric) == 0:
        return problem.bodies, None
    moved, next_start = _solve_band_limited(problem, spacing, (hold, until), warm_start)
    watch("solving", 0.5)
    sample = ProblemAtFrames(problem=problem, bodies=moved, frames=sampled_frames(problem, CHECK_RATE_HZ))
    worst = worst_violation(sample.measure())
    active = tuple(sorted({*next_start.active, *newly_violated(problem, next_start.active, worst, ACTIVE_MARGIN)}))
    # Constraints that cannot be met are left out of the last level.
    limits = broken_limits(problem)
    bodies = _solve_frames(problem, moved, tuple(i for i in active if worst[i] <= limits[i]), (hold, until))
    return bodies, replace(next_start, active=active)


def _solve_band_limited(
    problem: Problem, spacing: float, ends: tuple[float, float], warm_start: WarmStart | None
) -> tuple[tuple[Body, ...], WarmStart]:
    """Solve the level with smooth displacement curves; returns the bodies and the next warm start."""
    level = levels(spacing, problem.actors[0].motion.fps)[0]
    knots = Knots.uniform(problem.times[-1], spacing)
    everywhere = _curves(problem, knots.basis(problem.times, *ends))
    size = len(problem.constraints), len(problem.metric), everywhere.bases[0].num_keys
    if warm_start is not None and warm_start.size != size:
        warm_start = None
    margin = LAYOUT_MARGINS * ACTIVE_MARGIN
    working_set = warm_start.active if warm_start else select_working_set(problem, problem.bodies, margin)
    active = tuple(i for i in working_set if not problem.constraints[i].soft)
    frames = sampled_frames(problem, level.rate, active)
    frames = frames[(problem.times[frames] > ends[0] + spacing) | (frames == frames[-1])]
    sample = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=frames, constraint_indices=active)
    descent = GaussNewton(
        sample=sample,
        curves=_curves(problem, knots.basis(sample.times, *ends)),
        stiffness=level.stiffness,
        weights=np.ones(len(active)),
        margin=ACTIVE_MARGIN,
        gain=level.gain if warm_start is None else MIN_WARM_GAIN,
    )
    keys_before = None if warm_start is None else _starting_keys(descent, warm_start)
    keys, reached, _ = descent.run(MAX_COLD_STEPS if keys_before is None else MAX_WARM_STEPS, keys_before)
    next_start = WarmStart(keys=keys, merit=descent.merit(reached, keys), active=active, size=size)
    return displace_bodies(problem.bodies, sample, everywhere.values(keys)), next_start


def _solve_frames(
    problem: Problem, bodies: tuple[Body, ...], constraints: tuple[int, ...], ends: tuple[float, float]
) -> tuple[Body, ...]:
    """Solve the level that moves limbs with a key at every frame, for some constraints."""
    level = levels(1.0, problem.actors[0].motion.fps)[-1]
    limb = LimbProblem.of(problem, bodies, constraints, final=True)
    frames = np.arange(len(problem.times))
    sample = ProblemAtFrames(problem=limb.problem, bodies=limb.problem.bodies, frames=frames)
    descent = GaussNewton(
        sample=sample,
        curves=_curves(limb.problem, every_frame(problem.times, *ends)),
        stiffness=level.stiffness,
        weights=limb.weights,
        margin=ACTIVE_MARGIN,
        gain=level.gain,
        exact=True,
    )
    return limb.whole_bodies(bodies, descent.run(MAX_FRAME_STEPS)[1].displaced_bodies())


def _starting_keys(descent: GaussNewton, warm_start: WarmStart) -> Keys | None:
    """The warm-start keys, or None if zero keys are a better start."""
    merit = descent.merit(descent.sample.measure(descent.curves.values(warm_start.keys)), warm_start.keys)
    if merit < MAX_MERIT_RATIO * warm_start.merit:
        return warm_start.keys
    zero_keys = tuple(np.zeros_like(group) for group in warm_start.keys)
    zero_merit = descent.merit(descent.sample.measure(descent.curves.values(zero_keys)), zero_keys)
    return warm_start.keys if merit < zero_merit else None


def _curves(problem: Problem, basis: Basis) -> Curves:
    return Curves(bases=(basis,), groups=(np.arange(len(problem.metric)),), cost=problem.metric)


Prepare = Callable[[Recipe], Prepared]

MAX_WHOLE_MOTION_FPS = 30.0
"""Frame rate at which the whole motion is solved during a drag; a window is solved at the displayed rate."""

WINDOW_MARGIN_SECONDS = 1.5
"""Seconds before and after the dragged constraints that may change too."""

BLEND_SECONDS = 0.4
"""Seconds at a held end of a window over which its start blends from the shown motion to the one without the drag."""

MAX_UNDRAGGED_STEPS = 24
"""Most steps of the solve without the dragged constraints, which starts a drag."""

MAX_SOLVER_SECONDS = 0.12
"""Time limit of solvers other than spacetime during a drag."""


@dataclass(eq=False)
class DragState:
    """State shared by the updates of one drag."""

    matches: tuple[tuple[int, int], ...] | None = None
    """The constraints that are not dragged: index among those of the baseline, index among the new ones."""
    undragged: tuple[Motion, ...] = ()
    """The motions solved without the dragged constraints."""
    span: tuple[int, int] = (0, 0)
    """First frame of the last window, and one past its last."""
    warm_start: WarmStart | None = None

    def choose_window(self, span: tuple[int, int]) -> tuple[int, int]:
        """The last window if it contains the span and has a warm start, else the span as a new window."""
        if self.warm_start is None or span[0] < self.span[0] or span[1] > self.span[1]:
            self.span, self.warm_start = span, None
        return self.span


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

    def places(self, point_ref: PointRef) -> Array:
        """(F, 3) metres, world: path of a point."""
        names = [part.name for part in self.plan.assignments]
        return self.poses[names.index(point_ref.actor) if point_ref.actor else 0].points([point_ref.point])[:, 0]

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
            prepare = partial(prepare_at, self.fps)
            self.baseline = self.baseline or self._make_baseline(prepare)
            prepared = _prepare_window(self.baseline, recipe, changed, prepare)
            return solve_window(self.baseline, prepared, watch, drag, prepare)
        prepared = prepare_at(MAX_WHOLE_MOTION_FPS, recipe)
        spacing = choose_spacing(prepared) if "options" in changed else self.spacing
        return solve_whole(prepared, spacing, watch, drag)

    def _make_baseline(self, prepare: Prepare) -> DragBaseline:
        """The finished solve at the displayed frame rate."""
        step = frame_step(self.motions[0], self.fps)
        prepared = self.prepared
        if step > 1:
            prepared = prepare(replace(prepared.recipe, contacts=prepared.contacts))
        motions = tuple(motion[::step] for motion in self.motions)
        return DragBaseline(prepared=prepared, motions=motions, spacing=self.spacing)


def _prepare_window(baseline: DragBaseline, recipe: Recipe, changed: Set[str], prepare: Prepare) -> Prepared:
    """Prepare a recipe at the displayed rate; what the change leaves as it was is taken from the baseline."""
    if "contact" not in changed:
        starts = {context.actor: context.start for context in baseline.plan.contexts if context.start is not None}
        easings = easing_constraints(recipe.constraints, starts)
        constraints = (*baseline.from_contacts, *recipe.constraints, *easings, *baseline.limits)
        return replace(baseline.prepared, recipe=recipe, plan=replace(baseline.plan, constraints=constraints))
    prepared = prepare(replace(recipe, options=replace(recipe.options, limits=False)))
    assert prepared.plan is not None
    constraints = (*prepared.plan.constraints, *baseline.limits)
    return replace(prepared, recipe=recipe, plan=replace(prepared.plan, constraints=constraints))


def thin_actor(actor: ActorData, max_fps: float) -> ActorData:
    """An actor whose motion keeps every n-th frame, so that its rate is at most `max_fps`."""
    step = frame_step(actor.motion, max_fps)
    return actor if step == 1 else replace(actor, motion=actor.motion[::step])


def frame_step(motion: Motion, max_fps: float) -> int:
    """The step between kept frames that brings a motion to at most `max_fps`."""
    return max(int(np.ceil(motion.fps / max_fps - 1e-3)), 1)


def solve_window(
    baseline: DragBaseline, prepared: Prepared, watch: ProgressCallback, drag: DragState, prepare: Prepare
) -> LiveResult:
    """Solve the baseline again in a window around the frames that change; all is at the displayed rate."""
    began, plan = perf_counter(), prepared.plan
    assert plan is not None
    motions, span = baseline.motions, (0, 0)
    problem = plan.problem()
    change = compare(baseline.plan.constraints, plan.constraints, problem.times)
    if change.span is not None:
        span = _window(change.span, motions[0])
        if change.matches != drag.matches:
            drag.undragged = _solve_without_dragged(baseline, prepared, change, watch, prepare)
            drag.matches, drag.warm_start = change.matches, None
        span = drag.choose_window(span)
        motions = _resolve_window(baseline, plan, change, drag, watch)
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
    if recipe.solver == Spacetime.name:
        bodies, drag.warm_start = solve_quickly(problem, spacing, watch, warm_start=drag.warm_start)
    else:
        solver = make_solver(recipe.solver, {**recipe.solver_options, "seconds": MAX_SOLVER_SECONDS}, spacing)
        bodies, _ = solver.move(problem, watch)
    motions, seconds = problem.restored(bodies), perf_counter() - began
    return LiveResult(prepared=prepared, problem=problem, motions=motions, span=None, seconds=seconds)


def _window(span: tuple[int, int], motion: Motion) -> tuple[int, int]:
    around = round(WINDOW_MARGIN_SECONDS * motion.fps)
    # Rounding keeps the window the same while a dragged end moves by a frame or two.
    span = span[0] - span[0] % max(around // 4, 1), span[1] + (-span[1]) % max(around // 4, 1)
    return max(span[0] - around, 0), min(span[1] + around, motion.num_frames)


def _solve_without_dragged(
    baseline: DragBaseline, prepared: Prepared, change: Change, watch: ProgressCallback, prepare: Prepare
) -> tuple[Motion, ...]:
    """Solve the motions without the dragged constraints."""
    assert prepared.plan is not None
    kept = tuple(prepared.plan.constraints[i] for _, i in change.matches)
    kept_ids = {id(constraint) for constraint in kept}
    recipe = prepared.recipe
    constraints = tuple(constraint for constraint in recipe.constraints if id(constraint) in kept_ids)
    # The plan chooses its start by the constraints, so that it is planned again without the dragged ones.
    bare = prepare(replace(recipe, constraints=constraints, options=replace(recipe.options, limits=False))).plan
    assert bare is not None
    watch("solving", 0.2)
    problem = replace(bare, constraints=kept).problem()
    bodies, _ = Spacetime(spacing=baseline.spacing, iterations=MAX_UNDRAGGED_STEPS).move(problem, watch)
    return problem.restored(bodies)


def _resolve_window(
    baseline: DragBaseline, plan: Plan, change: Change, drag: DragState, watch: ProgressCallback
) -> tuple[Motion, ...]:
    """The motions of the baseline with one window solved again."""
    first, last = drag.span
    motions = baseline.motions
    fps, num_frames = motions[0].fps, motions[0].num_frames
    begin, end = first / fps, (last - 1) / fps
    weights = _blend_weights(motions[0][first:last], at_start=first > 0, at_end=last < num_frames)
    pairs = zip(motions, drag.undragged, strict=True)
    starts = tuple(_blend(a[first:last], b[first:last], weights) for a, b in pairs)
    common = {i for _, i in change.matches}
    others: list[Constraint] = []
    dragged: list[Constraint] = []
    attracting: list[Constraint] = []
    for index, constraint in enumerate(plan.constraints):
        inside = _in_window(constraint, baseline, drag.span, (begin, end))
        if inside is not None:
            (others if index in common else dragged).append(inside)
            # A constraint pinned only because the window cuts it does not attract the body.
            attracting += [inside] if index in common and inside.kind == constraint.kind else []
    starts = _shift_starts(plan, starts, attracting, dragged, weights)
    problem = replace(plan, starts=starts, constraints=(*others, *dragged)).problem()
    bodies, drag.warm_start = solve_quickly(
        problem,
        baseline.spacing,
        watch,
        hold=0.0 if first > 0 else -np.inf,
        until=end - begin if last < num_frames else np.inf,
        warm_start=drag.warm_start,
    )
    return tuple(_splice(a, b, drag.span) for a, b in zip(motions, problem.restored(bodies), strict=True))


def _shift_starts(
    plan: Plan, starts: Sequence[Motion], others: Sequence[Constraint], dragged: Sequence[Constraint], weights: Array
) -> tuple[Motion, ...]:
    """Starts shifted towards the dragged constraints, as a plan does, except where they are held."""
    whole = replace(plan, starts=tuple(starts), constraints=(*others, *dragged))
    moved = shift_plan_starts(whole, dragged).starts
    return tuple(replace(a, root=a.root + weights[:, None] * (b.root - a.root)) for a, b in zip(starts, moved))


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
    """(F,) weights from 0 at held ends of a window to 1 inside it."""
    number, ease = np.arange(motion.num_frames), max(BLEND_SECONDS * motion.fps, 1.0)
    share = np.ones(motion.num_frames)
    if at_start:
        share = np.minimum(share, number / ease)
    if at_end:
        share = np.minimum(share, number[::-1] / ease)
    return share * share * (3.0 - 2.0 * share)


def _blend(shown: Motion, undragged: Motion, weights: Array) -> Motion:
    """Interpolate from the shown motion to the one without the drag by weights (F,)."""
    return replace(
        undragged,
        root=shown.root + weights[:, None] * (undragged.root - shown.root),
        rotations=slerp(shown.rotations, undragged.rotations, weights[:, None]),
    )


def _splice(shown: Motion, part: Motion, span: tuple[int, int]) -> Motion:
    root, rotations = shown.root.copy(), shown.rotations.copy()
    root[slice(*span)], rotations[slice(*span)] = part.root, part.rotations
    return replace(shown, root=root, rotations=rotations)
