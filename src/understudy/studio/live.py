"""Solving while something is dragged: only what a change touches, from what is known, at the rate that is shown.

A change that holds for some time only, such as a hand's target or the end of a footplant, is solved in a window around
that time. The window starts from the motion as it would be without what is dragged, so that every update of a drag
starts from the same and none inherits what an earlier one did; its ends are held. Any other change, such as the length
of the legs, is solved over the whole motion at a lower rate. When the drag ends everything is solved in full.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from understudy.base.quaternion import Array, slerp
from understudy.base.records import cached
from understudy.base.splines import Basis, Knots, every_frame
from understudy.constraints.base import Constraint, PointRef, Relation
from understudy.constraints.function import Function
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.figure.kinematics import Pose, fk
from understudy.figure.motion import Motion
from understudy.retarget.actor import ActorData
from understudy.retarget.driver import Prepared
from understudy.retarget.plan import Plan, shifted
from understudy.retarget.spec import Recipe
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import ProblemAtFrames, merged
from understudy.solve.problem import Problem
from understudy.solve.solvers import make_solver
from understudy.solve.solvers.base import Watch
from understudy.solve.solvers.dual import Curves
from understudy.solve.solvers.newton import AHEAD, GaussNewton, Keys, sampled_frames, worst_violation
from understudy.solve.solvers.spacetime import BROKEN, CHECKED, Spacetime, allowed, levels, near_broken, newly_broken
from understudy.studio.performance import Performance

TIMING = ("start", "end", "instants", "pauses")


@dataclass(frozen=True, eq=False, kw_only=True)
class Change:
    """How new constraints differ from old ones."""

    common: tuple[int, ...]
    """Those of the new that were there before."""
    span: tuple[int, int] | None
    """The first frame at which anything differs, and the one behind the last; None if nothing does."""


def compare(old: Sequence[Constraint], new: Sequence[Constraint], times: Array) -> Change:
    """What differs between constraints on frames at given times (F,)."""
    known = {id(constraint) for constraint in old}
    left: dict[Hashable, list[Constraint]] = {}
    same = known & {id(constraint) for constraint in new}
    for constraint in old:
        if id(constraint) not in same:
            left.setdefault(signature(constraint), []).append(constraint)
    common, fresh = [], []
    for number, constraint in enumerate(new):
        if id(constraint) in same:
            common.append(number)
        elif left.get(signature(constraint)):
            left[signature(constraint)].pop()
            common.append(number)
        else:
            fresh.append(constraint)
    gone = [constraint for group in left.values() for constraint in group]
    touched = _touched(gone, fresh, times)
    frames = np.flatnonzero(touched)
    return Change(common=tuple(common), span=(int(frames[0]), int(frames[-1]) + 1) if len(frames) else None)


def _touched(gone: list[Constraint], fresh: list[Constraint], times: Array) -> np.ndarray:
    """(F,) the frames at which one of the constraints that come or go holds.

    A bound that only holds at other times than before differs only there; what has a place differs all along.
    """
    touched = np.zeros(len(times), bool)
    partners: dict[Hashable, list[Constraint]] = {}
    for constraint in gone:
        if constraint.relation is Relation.AT_MOST:
            partners.setdefault(signature(constraint, timed=False), []).append(constraint)
    for constraint in fresh:
        before = partners.get(signature(constraint, timed=False)) if constraint.relation is Relation.AT_MOST else None
        if before:
            partner = before.pop()
            gone = [each for each in gone if each is not partner]
            touched[np.setxor1d(constraint.frames(times), partner.frames(times))] = True
        else:
            touched[constraint.frames(times)] = True
    for constraint in gone:
        touched[constraint.frames(times)] = True
    return touched


def signature(constraint: Constraint, *, timed: bool = True) -> Hashable:
    """What a constraint asks for, and when; its name apart."""
    leave = ("name",) if timed else ("name", *TIMING)
    values = [_plain(getattr(constraint, each.name)) for each in fields(constraint) if each.name not in leave]
    return constraint.kind, *values


def _plain(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return tuple(_plain(each) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        return tuple(_plain(getattr(value, each.name)) for each in fields(value))
    if callable(value):
        # A function of the user's is read anew with every recipe, and is the same for all that.
        return getattr(value, "__module__", ""), getattr(value, "__qualname__", repr(value))
    found: Hashable = value
    return found


def moved_in_time(constraint: Constraint, begin: float, end: float) -> Constraint:
    """A constraint on the clock of a window from one second to another."""
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


MARGIN = 1e-4
"""Metres or radians below zero from which on one-sided residuals take part."""

FAR = 3.0
"""Times what was left before at which known keys may be no good any more."""

SETTLED = 0.005
"""Gain below which a step from known keys is the last: they are nearly right, and are to be quite so."""

COLD, WARM, LAST = 8, 3, 2
"""Steps at most of the band-limited level, from nothing and from known keys, and of the last level."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Known:
    """What one update tells the next."""

    keys: Keys
    merit: float
    """Change and violation that were left with them."""
    watched: tuple[int, ...]
    """The constraints that had to be looked at."""
    size: tuple[int, ...]
    """How many constraints, coordinates and keys there were: of another problem nothing is known."""


def hurry(
    problem: Problem, spacing: float, watch: Watch, *, hold: float, until: float, known: Known | None = None
) -> tuple[tuple[Body, ...], Known | None]:
    """The bodies of a problem moved nearly as well as a finished solve would, and what the next update may start from.

    Args:
        problem: What is asked for.
        spacing: Seconds between the keys of the band-limited level.
        watch: Told how far it is, and may stop it.
        hold: Seconds up to which the motion stays as it is.
        until: Seconds from which on it does.
        known: What the update before found.
    """
    if not problem.constraints or len(problem.metric) == 0:
        return problem.bodies, None
    moved, found = _band_limited(problem, spacing, (hold, until), known)
    watch("solving", 0.5)
    seen = ProblemAtFrames(problem=problem, bodies=moved, frames=sampled_frames(problem, CHECKED)).measure()
    worst = worst_violation(seen)
    watched = tuple(sorted({*found.watched, *newly_broken(problem, found.watched, worst, MARGIN)}))
    # What cannot be reached yet is not chased from frame to frame.
    most = allowed(problem, BROKEN)
    bodies = _finished(problem, moved, tuple(i for i in watched if worst[i] <= most[i]), (hold, until))
    return bodies, replace(found, watched=watched)


def _band_limited(
    problem: Problem, spacing: float, ends: tuple[float, float], known: Known | None
) -> tuple[tuple[Body, ...], Known]:
    """The bodies after the band-limited level, and what was found on the way."""
    level = levels(spacing, problem.actors[0].motion.fps)[0]
    knots = Knots.uniform(problem.times[-1], spacing)
    everywhere = _curves(problem, knots.basis(problem.times, *ends))
    size = len(problem.constraints), len(problem.metric), everywhere.bases[0].num_keys
    if known is not None and known.size != size:
        known = None
    watched = near_broken(problem, problem.bodies, AHEAD * MARGIN) if known is None else known.watched
    frames = sampled_frames(problem, level.rate, watched)
    frames = frames[(problem.times[frames] > ends[0] + spacing) | (frames == frames[-1])]
    sample = ProblemAtFrames(problem=problem, bodies=problem.bodies, frames=frames, only=watched)
    descent = GaussNewton(
        sample=sample,
        curves=_curves(problem, knots.basis(sample.times, *ends)),
        stiffness=level.stiffness,
        weights=np.ones(len(watched)),
        margin=MARGIN,
        gain=level.gain if known is None else SETTLED,
    )
    begin = None if known is None else _better(descent, known)
    keys, reached, _ = descent.run(COLD if begin is None else WARM, begin)
    found = Known(keys=keys, merit=descent.merit(reached, keys), watched=watched, size=size)
    return merged(problem.bodies, sample, everywhere.values(keys)), found


def _finished(
    problem: Problem, bodies: tuple[Body, ...], holding: tuple[int, ...], ends: tuple[float, float]
) -> tuple[Body, ...]:
    """The bodies after the last level, whose keys are the frames, with the constraints that can be met."""
    level = levels(1.0, problem.actors[0].motion.fps)[1]
    every = ProblemAtFrames(problem=problem, bodies=bodies, frames=np.arange(len(problem.times)), only=holding)
    descent = GaussNewton(
        sample=every,
        curves=_curves(problem, every_frame(problem.times, *ends)),
        stiffness=level.stiffness,
        weights=np.ones(len(holding)),
        margin=MARGIN,
        gain=level.gain,
        exact=True,
    )
    return descent.run(LAST)[1].bodies()


def _better(descent: GaussNewton, known: Known) -> Keys | None:
    """Keys that were found before, unless something was moved so far away that none are a better beginning."""
    merit = descent.merit(descent.sample.measure(descent.curves.values(known.keys)), known.keys)
    if merit < FAR * known.merit:
        return known.keys
    none = tuple(np.zeros_like(group) for group in known.keys)
    return known.keys if merit < descent.merit(descent.sample.measure(descent.curves.values(none)), none) else None


def _curves(problem: Problem, basis: Basis) -> Curves:
    return Curves(bases=(basis,), groups=(np.arange(len(problem.metric)),), cost=problem.metric)


Planning = Callable[[Recipe], Prepared]

SHOWN, WHOLE = 60.0, 30.0
"""Frames a second at most that are worked at while something is dragged: in a window, and over the whole motion."""

AROUND = 1.5
"""Seconds before and after what is dragged that may change with it."""

EASE = 0.4
"""Seconds over which a window's start goes over from what is shown to what it would be without what is dragged."""

STEPS = 24
"""Steps at most of the solve that a drag begins with: what cannot be reached is not tried for long."""

PATIENCE = 0.12
"""Seconds after which another solver than the usual one stops trying."""


@dataclass(eq=False)
class Memory:
    """What updates of a drag tell those that follow."""

    common: tuple[int, ...] | None = None
    """The constraints that are not dragged."""
    rest: tuple[Motion, ...] = ()
    """The motions without what is dragged."""
    span: tuple[int, int] = (0, 0)
    """The window that was solved last."""
    known: Known | None = None

    def begin(self, shown: Performance) -> None:
        """Forget what another drag has found, if this is the first update of one."""
        if not shown.live:
            self.known = None

    def widened(self, span: tuple[int, int]) -> tuple[int, int]:
        """The window for a span: the last one while it is wide enough, since of another nothing is known yet."""
        if self.known is None or span[0] < self.span[0] or span[1] > self.span[1]:
            self.span, self.known = span, None
        return self.span


@dataclass(frozen=True, eq=False, kw_only=True)
class Rehearsal:
    """What the updates of a drag have in common: the finished solve at the rate that is shown."""

    prepared: Prepared
    motions: tuple[Motion, ...]
    spacing: float

    @property
    def plan(self) -> Plan:
        assert self.prepared.plan is not None
        return self.prepared.plan

    def places(self, spot: PointRef) -> Array:
        """(F, 3) metres, world: where a point is."""
        names = [part.name for part in self.plan.assignments]
        return self.poses[names.index(spot.actor) if spot.actor else 0].points([spot.point])[:, 0]

    @cached
    def poses(self) -> tuple[Pose, ...]:
        return tuple(fk(motion) for motion in self.motions)

    @cached
    def limits(self) -> tuple[Constraint, ...]:
        own = {id(constraint) for constraint in self.prepared.recipe.constraints}
        return tuple(c for c in self.plan.constraints if c.kind == "joint_range" and id(c) not in own)

    @cached
    def made(self) -> tuple[Constraint, ...]:
        """What follows from contacts: plants, holds and the floor."""
        own = {id(constraint) for constraint in (*self.prepared.recipe.constraints, *self.limits)}
        return tuple(c for c in self.plan.constraints if id(c) not in own)


def thinned(loaded: ActorData, most: float) -> ActorData:
    """An actor's motion at no more than so many frames a second: every so many of its own frames."""
    step = thinning(loaded.motion, most)
    return loaded if step == 1 else replace(loaded, motion=loaded.motion[::step])


def thinning(motion: Motion, most: float) -> int:
    """How many frames of a motion there are for one that is kept."""
    return max(int(np.ceil(motion.fps / most - 1e-3)), 1)


def update(
    rehearsal: Rehearsal, base: Performance, prepared: Prepared, watch: Watch, memory: Memory, planning: Planning
) -> Performance:
    """The base solved again around the times at which it changes.

    Args:
        rehearsal: The finished solve, at the rate that is shown.
        base: The same at its own rate.
        prepared: What is asked for now, at the rate that is shown.
        watch: Told how far it is, and may stop it.
        memory: What earlier updates tell.
        planning: How a recipe is made ready at the rate that is shown.
    """
    began, plan = perf_counter(), prepared.plan
    assert plan is not None
    motions, span = rehearsal.motions, (0, 0)
    problem = plan.problem()
    change = compare(rehearsal.plan.constraints, plan.constraints, problem.times)
    if change.span is not None:
        span = _window(change.span, motions[0])
        if change.common != memory.common:
            memory.rest = _without(rehearsal, prepared, change, watch, planning)
            memory.common, memory.known = change.common, None
        span = memory.widened(span)
        motions = _solved(rehearsal, plan, change, memory, watch)
    return _on_the_way(base, prepared, problem, motions, span, perf_counter() - began)


def sketch(base: Performance, prepared: Prepared, spacing: float, watch: Watch, memory: Memory) -> Performance:
    """The whole motion solved again, at a low rate and without much patience."""
    began, recipe = perf_counter(), prepared.recipe
    if prepared.plan is None:
        found = prepared.solve(spacing, watch)
        return _on_the_way(base, prepared, found.problem, found.motions, None, found.seconds)
    problem = prepared.plan.problem()
    if recipe.solver == Spacetime.name:
        bodies, memory.known = hurry(problem, spacing, watch, hold=-np.inf, until=np.inf, known=memory.known)
    else:
        solver = make_solver(recipe.solver, {**recipe.solver_options, "seconds": PATIENCE}, spacing)
        bodies, _ = solver.move(problem, watch)
    return _on_the_way(base, prepared, problem, problem.restored(bodies), None, perf_counter() - began)


def _on_the_way(
    base: Performance,
    prepared: Prepared,
    problem: Problem,
    motions: tuple[Motion, ...],
    span: tuple[int, int] | None,
    seconds: float,
) -> Performance:
    return replace(
        base,
        prepared=prepared,
        problem=problem,
        motions_made=motions,
        seconds=seconds,
        solution=None,
        base=base,
        span=span,
    )


def _window(span: tuple[int, int], motion: Motion) -> tuple[int, int]:
    around = round(AROUND * motion.fps)
    # Ends that move by a frame or two as they are dragged leave the window as it is.
    span = span[0] - span[0] % max(around // 4, 1), span[1] + (-span[1]) % max(around // 4, 1)
    return max(span[0] - around, 0), min(span[1] + around, motion.num_frames)


def _without(
    rehearsal: Rehearsal, prepared: Prepared, change: Change, watch: Watch, planning: Planning
) -> tuple[Motion, ...]:
    """What the actors would do without what is dragged."""
    assert prepared.plan is not None
    kept = tuple(prepared.plan.constraints[i] for i in change.common)
    left = {id(constraint) for constraint in kept}
    recipe = prepared.recipe
    asked = tuple(constraint for constraint in recipe.constraints if id(constraint) in left)
    # Where the solver starts depends on what is asked for: planned anew, it starts without what is dragged too.
    bare = planning(replace(recipe, constraints=asked, options=replace(recipe.options, limits=False))).plan
    assert bare is not None
    watch("solving", 0.2)
    rest = replace(bare, constraints=kept).problem()
    bodies, _ = Spacetime(spacing=rehearsal.spacing, iterations=STEPS).move(rest, watch)
    return rest.restored(bodies)


def _solved(rehearsal: Rehearsal, plan: Plan, change: Change, memory: Memory, watch: Watch) -> tuple[Motion, ...]:
    """The motions of the rehearsal with a window of them solved again."""
    first, last = memory.span
    shown = rehearsal.motions
    fps, whole = shown[0].fps, shown[0].num_frames
    begin, end = first / fps, (last - 1) / fps
    shares = _ease(shown[0][first:last], at_start=first > 0, at_end=last < whole)
    starts = tuple(_between(a[first:last], b[first:last], shares) for a, b in zip(shown, memory.rest, strict=True))
    common = set(change.common)
    others: list[Constraint] = []
    dragged: list[Constraint] = []
    asking: list[Constraint] = []
    for number, constraint in enumerate(plan.constraints):
        inside = _inside(constraint, rehearsal, memory.span, (begin, end))
        if inside is not None:
            (others if number in common else dragged).append(inside)
            # What is pinned only because the window cuts it off says nothing about where the body should be.
            asking += [inside] if number in common and inside.kind == constraint.kind else []
    problem = _problem(plan, _shifted(plan, starts, asking, dragged, shares), (*others, *dragged))
    bodies, memory.known = hurry(
        problem,
        rehearsal.spacing,
        watch,
        hold=0.0 if first > 0 else -np.inf,
        until=end - begin if last < whole else np.inf,
        known=memory.known,
    )
    return tuple(_spliced(a, b, memory.span) for a, b in zip(shown, problem.restored(bodies), strict=True))


def _problem(plan: Plan, starts: Sequence[Motion], constraints: Sequence[Constraint]) -> Problem:
    return replace(plan, starts=tuple(starts), constraints=tuple(constraints)).problem()


def _shifted(
    plan: Plan, starts: Sequence[Motion], others: Sequence[Constraint], dragged: Sequence[Constraint], shares: Array
) -> tuple[Motion, ...]:
    """Starts shifted to where what is dragged wants the body, as a plan does it, but not where they are held."""
    whole = replace(plan, starts=tuple(starts), constraints=(*others, *dragged))
    moved = shifted(whole, dragged).starts
    return tuple(replace(a, root=a.root + shares[:, None] * (b.root - a.root)) for a, b in zip(starts, moved))


def _inside(
    constraint: Constraint, rehearsal: Rehearsal, span: tuple[int, int], times: tuple[float, float]
) -> Constraint | None:
    """A constraint in the time of a window; None if it does not hold there.

    What keeps still across an end of the window is kept where it stands.
    """
    held = constraint.frames(rehearsal.motions[0].times)
    inside = held[(held >= span[0]) & (held < span[1])]
    if len(inside) == 0:
        return None
    if isinstance(constraint, SamePlace) and len(inside) < len(held):
        outside = held[(held < span[0]) | (held >= span[1])]
        constraint = Place(
            spot=constraint.spot,
            target=rehearsal.places(constraint.point_refs()[0])[outside].mean(axis=0),
            start=constraint.start,
            end=constraint.end,
            name=constraint.name,
        )
    return moved_in_time(constraint, *times)


def _ease(motion: Motion, *, at_start: bool, at_end: bool) -> Array:
    """(F,) from 0 at the ends of a window that are held to 1 inside it."""
    number, ease = np.arange(motion.num_frames), max(EASE * motion.fps, 1.0)
    share = np.ones(motion.num_frames)
    if at_start:
        share = np.minimum(share, number / ease)
    if at_end:
        share = np.minimum(share, number[::-1] / ease)
    return share * share * (3.0 - 2.0 * share)


def _between(shown: Motion, rest: Motion, shares: Array) -> Motion:
    """A motion with shares (F,) of one that would be in place of what is shown."""
    return replace(
        rest,
        root=shown.root + shares[:, None] * (rest.root - shown.root),
        rotations=slerp(shown.rotations, rest.rotations, shares[:, None]),
    )


def _spliced(shown: Motion, part: Motion, span: tuple[int, int]) -> Motion:
    root, rotations = shown.root.copy(), shown.rotations.copy()
    root[slice(*span)], rotations[slice(*span)] = part.root, part.rotations
    return replace(shown, root=root, rotations=rotations)
