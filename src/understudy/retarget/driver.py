"""The driver of retargeting, from a source and a target to a result and its quality.

Users call `retarget`, which makes a `Recipe` of its arguments. `prepare` loads, matches and plans a recipe, and
`Prepared.solve` solves it. Command line, batches, studio and streams use the same two steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from understudy.base.errors import OptionError, UnknownNameError, nearest_names, refuse_unknown_keywords
from understudy.base.quaternion import Array
from understudy.base.records import cached, record
from understudy.constraints.base import Constraint
from understudy.correspondence.pairs import PointPair, check_structure
from understudy.figure.bands import TRUNK_SPACING, choose_spacing
from understudy.figure.contacts import (
    Contact,
    Floor,
    contact_points,
    detect_contacts,
    detect_on_treadmill,
    leg_ratio,
    on_level_floor,
)
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.io.clip import Clip, write
from understudy.retarget.actor import (
    ActorData,
    ActorSpec,
    CorrespondenceLike,
    Reading,
    Source,
    Target,
    assign,
    clip_of,
    in_memory,
    is_driven,
    label_of,
    load,
)
from understudy.retarget.loop import solve_loop
from understudy.retarget.plan import Assignment, Options, Plan, add_joint_limits, plan, plan_of_contacts
from understudy.retarget.scale import Scale
from understudy.retarget.shins import shin_constraints
from understudy.retarget.spec import ALL, AUTO, KEY_RATE_HZ, SPACINGS_FRAMES, PropEntry, Recipe, Spacing
from understudy.solve.problem import Problem
from understudy.solve.solvers import find_solver, has_keys, make_solver
from understudy.solve.solvers.base import Outcome, ProgressCallback, Solution, Solver, make_solution

if TYPE_CHECKING:
    from understudy.metrics.base import Report, Verdict
    from understudy.metrics.comparison import Comparison

MAX_LIKELY_LEG_RATIO = 4.0
"""Ratio of leg lengths, either way, above which the unit of a file was probably guessed wrong."""

MAX_ROBOT_CONTACT_ERROR_METRES = 0.005
"""A contact that a robot misses by more is left out, and the rest is solved again."""

Load = Callable[[ActorSpec, Reading, Path], ActorData]
Assign = Callable[[ActorData, Path], tuple[Assignment, list[str]]]


@refuse_unknown_keywords
def retarget(
    source: Source | Recipe,
    target: Target | None = None,
    *,
    scale: Scale | None = None,
    correspondence: CorrespondenceLike | None = None,
    constraints: Sequence[Constraint] = (),
    contacts: Sequence[Contact] | None = None,
    options: Options | None = None,
    reading: Reading | None = None,
    solver: Solver | str | None = None,
    align: Literal["direction", "stance"] | None = None,
    source_pose: Array | int | None = None,
    target_pose: Array | int | None = None,
    target_motion: Motion | None = None,
    watch: ProgressCallback | None = None,
) -> Retargeted:
    """Make a character perform a motion.

    Args:
        source: The motion: a file, a sample as `"sample:walk"`, a clip or a motion. Or a whole recipe.
        target: The character that performs it: a file, a sample, a clip or a skeleton, of any structure.
        scale: Size of the target, or of the source without a target: one factor (0.6) or by parts ({"legs": 1.3}).
        correspondence: Which bones correspond: a correspondence, names of the target's bones by names of the source's,
            or a map file; matched if not given.
        constraints: Constraints besides those from contacts.
        contacts: The source's contacts; the sample's, or detected, if not given.
        options: Settings of the retarget.
        reading: How files are read: units, frames, frame rate, whether an added reference frame is kept.
        solver: A solver or its name; the spacetime solver if not given.
        align: `direction`: bones point in the source's directions; `stance`: each body moves relative to its neutral
            pose; chosen if not given.
        source_pose: (J, 4) local rotations of the source's reference pose, or the frame that shows it.
        target_pose: (J, 4) local rotations of the target's reference pose, or the frame that shows it.
        target_motion: A motion of the target that shows its stance, if its skeleton alone does not.
        watch: Called with the current step and the share of the work that is done.

    Returns:
        The motion, with its constraints, notes and quality. Not meeting all constraints is a result, not an error.
    """
    if isinstance(source, Recipe):
        others = (target, scale, correspondence, contacts, options, reading, solver, align, source_pose, target_pose)
        if any(argument is not None for argument in (*others, target_motion)) or constraints:
            raise OptionError("A recipe says all there is to say about a retarget: give it alone")
        return prepare(source).solve(watch=watch)
    spec = ActorSpec(
        source=label_of(source), target=None if target is None else label_of(target), scale=scale, align=align
    )
    if target is None and scale is None:
        raise OptionError("Say who is to perform the motion: a target, or a scale such as 0.6 or {'legs': 1.3}")
    options = options or Options()
    recipe = Recipe(
        actors=(spec,),
        reading=reading or Reading(),
        options=options,
        spacing=AUTO if options.spacing is None else options.spacing,
        solver="spacetime" if solver is None else solver if isinstance(solver, str) else solver.name,
        contacts=None if contacts is None else tuple(contacts),
        constraints=tuple(constraints),
        # Only the names of the touched props are known for a motion in memory.
        props=tuple(PropEntry(name=name) for name in {contact.on for contact in contacts or ()} - {"floor", "hold"}),
    )
    prepared = prepare(
        recipe,
        load=lambda spec, reading, _folder: in_memory(
            spec, reading, source, target, target_motion=target_motion, poses=(source_pose, target_pose)
        ),
        assign=lambda data, folder: assign(data, folder, correspondence),
        drive_features=solver is None,
    )
    return prepared.solve(solver=solver if isinstance(solver, Solver) else None, watch=watch)


@refuse_unknown_keywords
def morph(
    source: Source,
    target: Target,
    *,
    share: Array | None = None,
    constraints: Sequence[Constraint] = (),
    contacts: Sequence[Contact] | None = None,
    options: Options | None = None,
    reading: Reading | None = None,
    solver: Solver | None = None,
    watch: ProgressCallback | None = None,
) -> Retargeted:
    """Make a body perform a motion while it changes from the source into the target [Gleicher98, sec. 5].

    Args:
        source: The motion: a file, a sample, a clip or a motion.
        target: The body at the end: the same joints, other lengths.
        share: (F,) blend from source (0) to target (1) body at each frame; rises linearly if not given.
        constraints: Constraints besides those from contacts.
        contacts: The source's contacts; detected if not given.
        options: Settings of the retarget.
        reading: How files are read.
        solver: The spacetime solver if not given.
        watch: Called with the current step and the share of the work that is done.
    """
    options = options or Options()

    def load_morphing(spec: ActorSpec, reading: Reading, _folder: Path) -> ActorData:
        data = in_memory(spec, reading, source, target)
        count = data.motion.num_frames
        shares = np.linspace(0.0, 1.0, count) if share is None else np.asarray(share, float)
        if shares.shape != (count,) or not np.all(np.isfinite(shares)):
            raise OptionError(f"Expected {count} finite shares, one for each frame; got shape {shares.shape}")
        check_structure(data.motion.skeleton, data.target)
        return replace(data, share=shares)

    recipe = Recipe(
        actors=(ActorSpec(source=label_of(source), target=label_of(target)),),
        reading=reading or Reading(),
        options=options,
        spacing=AUTO if options.spacing is None else options.spacing,
        contacts=None if contacts is None else tuple(contacts),
        constraints=tuple(constraints),
    )
    prepared = prepare(
        recipe,
        load=load_morphing,
        assign=lambda data, _folder: (Assignment(motion=data.motion, target=data.target, share=data.share), []),
    )
    return prepared.solve(solver=solver, watch=watch)


def naive(motion: Motion, target: Skeleton) -> Motion:
    """The source's angles and path copied to the target, without a solve."""
    check_structure(motion.skeleton, target)
    return replace(motion, skeleton=target, name=target.name)


@record
class Prepared:
    """A retarget that is ready to solve."""

    recipe: Recipe
    actors: tuple[ActorData, ...]
    contacts: tuple[Contact, ...]
    """The sources' contacts."""
    notes: tuple[str, ...]
    """Findings and decisions of the preparation, one sentence each."""
    plan: Plan | None
    """None for a body that features drive."""
    points: tuple[PointPair, ...] = ()
    """The points that drive it, if a map gives them."""

    def __repr__(self) -> str:
        return f"<Prepared {', '.join(map(repr, (actor.motion for actor in self.actors)))}>"

    def start(self, index: int) -> Motion:
        """The motion that an actor's result is compared with: the start motion, or the source's without a plan."""
        return self.actors[index].motion if self.plan is None else self.plan.starts[index]

    def spacings(self) -> tuple[float, ...]:
        """Seconds between keys: one value, or one for each variant if the recipe wants all."""
        if self.recipe.spacing == ALL:
            if not has_keys(self.recipe.solver):
                raise OptionError(
                    f"Solver `{self.recipe.solver}` has no evenly spaced keys: there are no variants of their spacing"
                )
            return tuple(frames / KEY_RATE_HZ for frames in SPACINGS_FRAMES)
        return (self.spacing(self.recipe.spacing),)

    def spacing(self, spacing: Spacing) -> float:
        """A key spacing in seconds; `auto` is chosen by the frequencies of the motions."""
        if not isinstance(spacing, str):
            return spacing
        assert spacing == AUTO
        motions = [actor.motion for actor in self.actors if actor.spec.moves] or [self.actors[0].motion]
        return min(map(choose_spacing, motions))

    def solve(
        self, spacing: float | None = None, watch: ProgressCallback | None = None, *, solver: Solver | None = None
    ) -> Retargeted:
        """Solve the retarget.

        Args:
            spacing: Seconds between keys, for solvers with evenly spaced keys; the recipe's if not given.
            watch: Called with the current step and the share of the work that is done.
            solver: The recipe's if not given.
        """
        spacing = self.spacings()[0] if spacing is None else spacing
        if self.plan is None:
            from understudy.retarget.feature_driving import drive

            actor = self.actors[0]
            options = replace(self.recipe.options, spacing=spacing)
            points = self.points or None
            driven = drive(actor.motion, actor.target, points, contacts=self.contacts, options=options, watch=watch)
            return Retargeted(prepared=self, solution=driven.solution, spacing=spacing)
        solver = solver or self.make_solver_at(spacing)
        prepared = self
        if not self.recipe.constraints and self.plan.is_loop:
            solution = solve_loop(self.plan, solver, watch)
        else:
            solution = self.plan.solve(solver, watch)
            if self._has_robot:
                solution = self._without_unreachable(solution, solver)
            else:
                prepared, solution = self._with_shins_apart(solution, solver, watch)
        return Retargeted(prepared=prepared, solution=self._for_machines(solution, spacing), spacing=spacing)

    def _with_shins_apart(
        self, solution: Solution, solver: Solver, watch: ProgressCallback | None
    ) -> tuple[Prepared, Solution]:
        """The solution whose shins are not in each other, where those of the start are not, and what was prepared with
        the constraints for it. The given ones if nothing is to be done, or if more would be missed.

        What the recipe asks for may bring shins together, as a drag shows it; what contacts bring about may not.
        """
        assert self.plan is not None
        constraints = shin_constraints(self.plan, solution.motions) if self.recipe.options.clearance else []
        if constraints and self.recipe.constraints:
            plain = add_joint_limits(plan_of_contacts(self.plan, self.recipe.constraints))
            constraints = shin_constraints(plain, plain.solve(solver, watch).motions)
        if not constraints:
            return self, solution
        plan = self.plan.with_problem(self.plan.problem().extended(constraints))
        again = plan.solve(solver, watch)
        if len(again.unmet) > len(solution.unmet):
            return self, solution
        again = replace(again, steps=solution.steps + again.steps, seconds=solution.seconds + again.seconds)
        return replace(self, plan=plan), again

    def make_solver_at(self, spacing: float) -> Solver:
        """The recipe's solver with a key spacing in seconds.

        Where the recipe leaves the spacing to the program, root and trunk move slowly. Footplants that may not move and
        legs of hinges alone need faster changes of them.
        """
        options, recipe = self._solver_options(), self.recipe
        is_free = recipe.options.plants != "fixed" and not self._has_machine
        if recipe.solver == "spacetime" and recipe.spacing == AUTO and is_free:
            options = {"trunk_spacing": max(TRUNK_SPACING, spacing), **options}
        return make_solver(self.recipe.solver, options, spacing)

    @property
    def _has_machine(self) -> bool:
        """Whether a target has no ball joint, as robots have none."""
        return any(JointKind.BALL not in actor.target.kinds for actor in self.actors)

    @property
    def _has_robot(self) -> bool:
        return any(getattr(actor.clip.layout, "is_robot", False) for actor in self.actors)

    def _without_unreachable(self, solution: Solution, solver: Solver) -> Solution:
        """A solution without the contacts that a robot cannot keep; they are measured as all others.

        Motors turn less far than a human's joints. A foot that cannot be flat throughout a squat throws its leg about
        where the solve insists.
        """
        from understudy.retarget.quality import measure_violations

        assert self.plan is not None
        asked = {id(constraint) for constraint in self.recipe.constraints}
        lost = {
            id(outcome.constraint)
            for outcome in solution.unmet
            if outcome.constraint.kind == "same_place" and outcome.worst > MAX_ROBOT_CONTACT_ERROR_METRES
        }
        if not lost - asked:
            return solution
        kept = tuple(c for c in self.plan.constraints if id(c) not in lost - asked)
        again = replace(self.plan, constraints=kept).solve(solver)
        if len(again.unmet) > len(solution.unmet):
            return solution
        hard = {id(outcome.constraint) for outcome in solution.outcomes}
        measured = measure_violations(solution.problem, again.motions)
        outcomes = tuple(violation.outcome for violation in measured if id(violation.constraint) in hard)
        return replace(again, problem=solution.problem, outcomes=outcomes)

    def _for_machines(self, solution: Solution, spacing: float) -> Solution:
        """A solution in which robots balance, keep their arms out of their bodies, and respect ranges and speeds."""
        if not self._has_robot:
            return solution
        from understudy.correspondence.detached import change_parents
        from understudy.retarget.balance import balance
        from understudy.retarget.machine import separate_arms, within_limits

        options, motions = self.recipe.options, list(solution.motions)
        for i, actor in enumerate(self.actors):
            layout: Any = actor.clip.layout
            if getattr(layout, "is_robot", False) and actor.spec.moves:
                motion = actor.on_given_tree(motions[i])
                if options.balance and not self.recipe.constraints and self.plan is not None:
                    motion = balance(motion, layout, self.plan.floor or Floor(slope=np.zeros(2)), self.contacts)
                if options.collisions:
                    motion = separate_arms(motion, layout, margin=options.margin, spacing=spacing)
                if options.speeds:
                    motion = within_limits(motion, layout)
                motions[i] = change_parents(motion, motions[i].skeleton)
        return replace(solution, motions=tuple(motions))

    def _solver_options(self) -> dict[str, object]:
        """The recipe's options of the solver; for a tiny body the margin of the floor and of limits shrinks with it."""
        assert self.plan is not None
        options, factor = dict(self.recipe.solver_options), self.plan.size_factor
        default = getattr(find_solver(self.recipe.solver), "margin", None)
        if factor < 1.0 and default is not None:
            options.setdefault("margin", factor * default)
        return options

    def copied(self) -> Solution:
        """The sources' angles on the targets, with nothing solved, and how well they meet the constraints."""
        from understudy.retarget.quality import bodies_of_motions

        assert self.plan is not None
        problem = self.plan.problem()
        motions = tuple(
            naive(assignment.motion, assignment.target)
            if assignment.alignment is None and assignment.share is None
            else start
            for assignment, start in zip(self.plan.assignments, self.plan.starts, strict=True)
        )
        solved = make_solution(problem, bodies_of_motions(problem, motions), solver="naive", steps=0, seconds=0.0)
        return replace(solved, motions=motions)


@record
class Retargeted:
    """A finished retarget: its motions, how well they meet the constraints, and their quality."""

    prepared: Prepared
    solution: Solution
    spacing: float
    """Seconds between keys."""

    def __repr__(self) -> str:
        names = ", ".join(motion.name or "unnamed" for motion in self.motions)
        return f"<Retargeted {names}: {self.verdict}; {self.solution.result}>"

    def _repr_html_(self) -> str:
        return self.motion._repr_html_()

    @cached
    def clips(self) -> tuple[Clip, ...]:
        """The result of each actor, to be written in the conventions of its character's file."""
        pairs = zip(self.prepared.actors, self.solution.motions, strict=True)
        clips = (clip_of(actor, self._on_its_floor(actor, motion)) for actor, motion in pairs)
        return tuple(replace(clip, layout=self._with_floor(clip.layout)) for clip in clips)

    def _with_floor(self, layout: Any) -> Any:
        """What a clip is written with; that of a robot says where its floor is."""
        stays = self.prepared.plan is None or self.prepared.recipe.options.level == "keep"
        return layout if stays or not getattr(layout, "is_robot", False) else replace(layout, floor="level, z = 0")

    @property
    def clip(self) -> Clip:
        """The result of the first actor, to be written."""
        return self.clips[0]

    @cached
    def motions(self) -> tuple[Motion, ...]:
        """The motion of each actor, on its target's skeleton as given."""
        pairs = zip(self.prepared.actors, self.solution.motions, strict=True)
        return tuple(actor.on_given_target(self._on_its_floor(actor, motion)) for actor, motion in pairs)

    def _on_its_floor(self, actor: ActorData, motion: Motion) -> Motion:
        """The motion of an actor as it is given out: on a level floor at zero for a robot, unless asked otherwise."""
        planned, level = self.prepared.plan, self.prepared.recipe.options.level
        if level == "auto":
            level = "zero" if getattr(actor.clip.layout, "is_robot", False) else "keep"
        if planned is None or planned.floor is None or level == "keep":
            return motion
        return on_level_floor(motion, planned.floor)

    @property
    def motion(self) -> Motion:
        """The motion of the first actor."""
        return self.motions[0]

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """The sources' contacts."""
        return self.prepared.contacts

    @property
    def notes(self) -> tuple[str, ...]:
        """Findings and decisions of the preparation, one sentence each."""
        return self.prepared.notes

    @property
    def problem(self) -> Problem:
        """The problem that was solved."""
        return self.solution.problem

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """How well each constraint is met."""
        return self.solution.outcomes

    @property
    def unmet(self) -> tuple[Outcome, ...]:
        """The constraints that are not met, worst first."""
        return self.solution.unmet

    @property
    def conflicts(self) -> tuple[str, ...]:
        """The constraints that conflict with each other, one sentence each."""
        return self.solution.conflicts

    @property
    def result(self) -> str:
        """How well the constraints are met, in one sentence."""
        return self.solution.result

    @property
    def solver(self) -> str:
        """The solver's name."""
        return self.solution.solver

    @property
    def seconds(self) -> float:
        """Duration of the solve."""
        return self.solution.seconds

    @property
    def steps(self) -> int:
        """Number of linear steps."""
        return self.solution.steps

    @cached
    def quality(self) -> dict[str, Any]:
        """The quality of the result as plain data, as printed by `understudy retarget --json`."""
        from understudy.retarget.quality import advice, measure

        data = measure(self.prepared, self.solution, self.spacing, self.reports)
        return {**data, "warnings": advice(data, self.prepared.recipe.options.plants)}

    @cached
    def reports(self) -> tuple[Report, ...]:
        """The quick metrics of each moving actor against its source; `evaluate` measures all."""
        from understudy.retarget.quality import find_reports

        return find_reports(self.prepared, self.solution, self._cases)

    @cached
    def _cases(self) -> tuple[Comparison, ...]:
        """The comparison of each actor's result with its source, which all measurements share."""
        from understudy.retarget.quality import compare_with_sources

        return compare_with_sources(self.prepared, self.solution)

    @property
    def verdict(self) -> Verdict:
        """How visible the defects of the result are: the worst verdict of its reports."""
        from understudy.metrics.base import worst

        return worst(report.verdict for report in self.reports)

    def report(self) -> str:
        """The verdict with what to do about it, and how well the constraints of each kind are met."""
        return f"{self.summary()}\n{self.solution.report()}"

    def summary(self) -> str:
        """The verdict with what to do about it, how well constraints are met, and what the solve took."""
        from understudy.retarget.quality import summary

        return "\n".join(summary(self.quality))

    def evaluate(self, *, skin: bool = True) -> Report:
        """Every metric of the first actor's result against its source.

        Args:
            skin: Whether limbs inside the body are detected by the target's skin, if it has one.
        """
        from understudy.metrics.base import evaluate_comparison

        meshes = self.prepared.actors[0].clip.meshes if skin else ()
        return evaluate_comparison(self._cases[0].with_skin(tuple(meshes)))

    def write(self, path: str | Path) -> tuple[str, ...]:
        """Write the first actor's result; returns what the format could not store, one sentence each."""
        return write(self.clip, path)


def prepare(recipe: Recipe, *, load: Load = load, assign: Assign = assign, drive_features: bool = True) -> Prepared:
    """Load the actors of a recipe, match them and make the plan.

    Args:
        recipe: The recipe.
        load: Loads an actor; a replacement may return known data.
        assign: Matches an actor with its target; a replacement may return a known match.
        drive_features: Whether features may drive a body without corresponding limbs.
    """
    if not recipe.actors:
        raise OptionError("A recipe needs at least one actor", hint="give it a source and a target")
    actors = tuple(load(spec, recipe.reading, recipe.folder) for spec in recipe.actors)
    notes = [note for actor in actors for note in actor.notes]
    assignments = []
    for actor in actors:
        assignment, match_notes = assign(actor, recipe.folder)
        assignments.append(assignment)
        notes += [*_warn_of_sizes(actor, assignment), *match_notes]
    contacts = recipe.contacts
    if contacts is None:
        contacts = find_contacts(actors, recipe.options)
        notes += _missing_partners(actors)
    _check_contacts(contacts, recipe, actors)
    if recipe.contacts is None:
        notes += _moving_floors(contacts)
    if not contacts and recipe.options.plants != "none":
        notes.append("no contacts are known: nothing is planted, and only the size of the movement is adapted")
    _check_joint_names(recipe.options, actors)
    if drive_features and any(is_driven(assignment) for assignment in assignments):
        return _prepare_driven(recipe, actors, assignments, contacts, notes)
    options = replace(recipe.options, spacing=None)
    planned = plan(assignments, constraints=recipe.constraints, contacts=contacts, options=options)
    notes += planned.notes
    return Prepared(recipe=recipe, actors=actors, contacts=planned.contacts, plan=planned, notes=tuple(notes))


def _prepare_driven(
    recipe: Recipe,
    actors: tuple[ActorData, ...],
    assignments: Sequence[Assignment],
    contacts: tuple[Contact, ...],
    notes: list[str],
) -> Prepared:
    """Prepare a body without limbs, which features drive."""
    if len(actors) > 1 or recipe.constraints:
        raise OptionError(
            f"{actors[0].spec.target}: nothing corresponds but the body as a whole, so features drive it: only "
            "one actor at a time, and without constraints of a recipe",
            hint="say in a map which bones correspond (`understudy map`, --map)",
        )
    alignment = assignments[0].alignment
    assert alignment is not None
    note = f"{actors[0].spec.target}: no limbs correspond, so its points follow the source's feet and hips"
    points = alignment.correspondence.points
    return Prepared(recipe=recipe, actors=actors, contacts=contacts, plan=None, points=points, notes=(*notes, note))


def find_contacts(actors: Sequence[ActorData], options: Options) -> tuple[Contact, ...]:
    """The contacts of all actors that move: those of samples, or else those detected in their motions."""
    several, contacts = len(actors) > 1, []
    names = {actor.spec.name for actor in actors}
    for actor in actors:
        if not actor.spec.moves:
            continue
        candidates = actor.contacts
        if candidates is None:
            points = contact_points(actor.motion)
            candidates = detect_contacts(actor.motion, points, options.detection)
            candidates = detect_on_treadmill(actor.motion, candidates, points, options.detection)
        # A contact with a partner that is not among the actors cannot hold.
        valid = [c for c in candidates if c.other is None or (several and c.on in names)]
        contacts += [replace(contact, actor=actor.spec.name) for contact in valid]
    return (*contacts, *_touches_between(actors))


def _touches_between(actors: Sequence[ActorData]) -> list[Contact]:
    """The contacts between actors, found in their motions; those of samples are known."""
    from itertools import combinations

    touches: list[Contact] = []
    for one, two in combinations(actors, 2):
        known = one.contacts is not None or two.contacts is not None
        if not known and (one.spec.moves or two.spec.moves) and one.motion.fps == two.motion.fps:
            from understudy.figure.partners import find_touches

            touches += find_touches(one.motion, two.motion, (one.spec.name, two.spec.name))
    return touches


def _moving_floors(contacts: Sequence[Contact]) -> list[str]:
    """A note for each actor that moves in place."""
    speeds = {c.actor: float(np.linalg.norm(c.velocity)) for c in contacts if c.velocity is not None}
    return [
        f"{f'{actor}: ' if actor else ''}feet move back at {speed:.2f} m/s: they are planted on a floor that moves"
        for actor, speed in speeds.items()
    ]


def _missing_partners(actors: Sequence[ActorData]) -> list[str]:
    """A note for each actor whose partner is not among the actors."""
    names = {actor.spec.name for actor in actors}
    return [
        f"{actor.spec.source}: who it holds on to is not among the actors, so those contacts are left out"
        for actor in actors
        if actor.spec.moves and any(c.other is not None and c.on not in names for c in actor.contacts or ())
    ]


def _warn_of_sizes(actor: ActorData, assignment: Assignment) -> list[str]:
    """Notes on sizes of two characters that are probably a mistake."""
    notes, name = [], actor.spec.target or actor.spec.source
    ratio = leg_ratio(actor.motion.skeleton, actor.target)
    if actor.spec.target is not None and not 1.0 / MAX_LIKELY_LEG_RATIO < ratio < MAX_LIKELY_LEG_RATIO:
        notes.append(
            f"{name}: its legs are {ratio:.3g} times as long as the source's; if that is no wonder of its own, "
            "the unit of one file was guessed wrong (--unit, --target-unit)"
        )
    if assignment.alignment is not None:
        return notes
    collapsed = actor.motion.skeleton.lengths[1:] > 1e-2 * actor.motion.skeleton.lengths.max()
    collapsed &= actor.target.lengths[1:] < 1e-9
    if collapsed.any():
        names = [actor.target.names[j + 1] for j in np.flatnonzero(collapsed)[:3]]
        notes.append(f"{name}: the bone to `{'`, `'.join(names)}` has length zero: what hangs there moves as one point")
    return notes


def _check_contacts(contacts: Sequence[Contact], recipe: Recipe, actors: Sequence[ActorData]) -> None:
    """Refuse contacts with unknown actors, joints or props, and those outside the motion."""
    by_name = {actor.spec.name: actor for actor in actors}
    props = [prop.name for prop in recipe.props] + [prop.name for actor in actors for prop in actor.props]
    for contact in contacts:
        label = f"Contact of `{contact.point.name}` at {contact.start:g} s"
        if contact.actor and contact.actor not in by_name:
            raise UnknownNameError(f"{label}: no actor `{contact.actor}`; {nearest_names(contact.actor, by_name)}")
        actor = by_name.get(contact.actor, actors[0])
        if contact.point.joint not in actor.motion.skeleton.index:
            names = actor.motion.skeleton.names
            raise UnknownNameError(
                f"{label}: no joint `{contact.point.joint}`; {nearest_names(contact.point.joint, names)}",
                hint=f"`understudy info {actor.spec.source}` lists the joints",
            )
        if contact.other is not None and contact.on not in by_name:
            raise UnknownNameError(f"{label}: no actor `{contact.on}` to touch; {nearest_names(contact.on, by_name)}")
        known = ["floor", "hold", *props, *by_name]
        if contact.on not in known:
            raise UnknownNameError(
                f"{label}: nothing here is called `{contact.on}`; {nearest_names(contact.on, known)}",
                hint="a contact is on the floor, a hold, a prop or another actor",
            )
        duration = actor.motion.duration
        if contact.start > duration or contact.end < 0.0:
            raise OptionError(
                f"{label}: it spans {contact.start:g} to {contact.end:g} s, the motion 0 to {duration:g} s",
                hint="times count from the first frame kept",
            )


def _check_joint_names(options: Options, actors: Sequence[ActorData]) -> None:
    """Refuse unknown joints in the options `keep` and `stiffness`."""
    known = list(dict.fromkeys(name for actor in actors for name in actor.target.names))
    for option, names in (("keep", options.keep), ("stiffness", options.stiffness or {})):
        for name in names:
            if name not in known:
                raise UnknownNameError(f"Option {option}: no joint `{name}`; {nearest_names(name, known)}")
