"""The one driver of retargeting, from a source and a target to a result and its verdict.

`retarget` is what users call. It makes a `Recipe` of its arguments, `prepare` loads, matches and plans what a recipe
asks for, and `Prepared.solve` solves it. Command line, batches, studio and streams go through the same two steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from understudy.base.errors import OptionError, UnknownNameError, nearest_names, refuse_unknown_keywords
from understudy.base.quaternion import Array
from understudy.base.records import cached
from understudy.constraints.base import Constraint
from understudy.correspondence.pairs import PointPair
from understudy.figure.bands import choose_spacing
from understudy.figure.contacts import Contact, contact_points, detect_contacts, leg_ratio
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io.clip import Clip
from understudy.io.files import write
from understudy.retarget.actor import (
    ActorData,
    CorrespondenceLike,
    Source,
    Target,
    assign,
    clip_of,
    in_memory,
    is_driven,
    label_of,
    load,
)
from understudy.retarget.plan import Assignment, Options, Plan, plan
from understudy.retarget.spec import (
    ALL,
    AUTO,
    KEY_RATE_HZ,
    SPACINGS_FRAMES,
    ActorSpec,
    PropEntry,
    Reading,
    Recipe,
    Scale,
    Spacing,
)
from understudy.retarget.start import check_structure
from understudy.solve.problem import Problem
from understudy.solve.solvers import has_keys, make_solver
from understudy.solve.solvers.base import Outcome, ProgressCallback, Solution, Solver, make_solution

if TYPE_CHECKING:
    from understudy.metrics.report import Report

MAX_LIKELY_LEG_RATIO = 4.0
"""How many times longer or shorter a target's legs are from which on a unit was probably mistaken."""

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
        source: What is done: a file, a sample as `"sample:walk"`, a clip or a motion. Or a whole recipe.
        target: Who is to do it: a file, a sample, a clip or a skeleton, of any structure.
        scale: In place of a target, or of it: how much larger, all of it (0.6) or by parts ({"legs": 1.3}).
        correspondence: Which bones correspond: a correspondence, names of the target's bones by names of the source's,
            or a map file; found if not given.
        constraints: What must hold besides the contacts.
        contacts: The source's contacts; found, or the sample's own, if not given.
        options: What to keep and how.
        reading: How files are read: units, frames, frame rate, whether an added reference frame is kept.
        solver: How to solve, a solver or its name; the spacetime solver if not given.
        align: Whether bones point as the source's do or each body moves from how it stands; chosen if not given.
        source_pose: (J, 4) local rotations of the source's reference pose, or the frame that shows it.
        target_pose: The same of the target.
        target_motion: Something that the target does, where its skeleton alone does not show how it stands.
        watch: Called with what is being done and the share that is done.

    Returns:
        The motion, with its constraints, notes and quality. Not meeting all constraints is a result, not an error.
    """
    if isinstance(source, Recipe):
        besides = (target, scale, correspondence, contacts, options, reading, solver, align, source_pose, target_pose)
        if any(given is not None for given in (*besides, target_motion)) or constraints:
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
        # Of what contacts touch, a motion in memory knows no more than the name.
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
    """A motion by a body that turns from the source into the target while it moves [Gleicher98, sec. 5].

    Args:
        source: What is done: a file, a sample, a clip or a motion.
        target: What the body becomes: the same joints, other lengths.
        share: (F,) how much of the target it is at each frame; an even rise from 0 to 1 if not given.
        constraints: What must hold besides the contacts.
        contacts: The source's contacts; found if not given.
        options: What to keep and how.
        reading: How files are read.
        solver: How to solve; the spacetime solver if not given.
        watch: Called with what is being done and the share that is done.
    """
    options = options or Options()

    def load_morphing(spec: ActorSpec, reading: Reading, _folder: Path) -> ActorData:
        data = in_memory(spec, reading, source, target)
        count = data.motion.num_frames
        given = np.linspace(0.0, 1.0, count) if share is None else np.asarray(share, float)
        if given.shape != (count,) or not np.all(np.isfinite(given)):
            raise OptionError(f"Expected {count} finite shares, one for each frame; got shape {given.shape}")
        check_structure(data.motion.skeleton, data.target)
        return replace(data, share=given)

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
    """The source's angles and path on the target, with nothing solved: what copying gives."""
    check_structure(motion.skeleton, target)
    return replace(motion, skeleton=target, name=target.name)


@dataclass(frozen=True, eq=False, kw_only=True)
class Prepared:
    """A retarget that is ready to be solved."""

    recipe: Recipe
    actors: tuple[ActorData, ...]
    contacts: tuple[Contact, ...]
    """The sources'."""
    notes: tuple[str, ...]
    """What was found and decided on the way, a sentence each."""
    plan: Plan | None
    """None for a body that is driven by features."""
    points: tuple[PointPair, ...] = ()
    """Which points drive it, where a map says so."""

    def __repr__(self) -> str:
        return f"<Prepared {', '.join(map(repr, (actor.motion for actor in self.actors)))}>"

    def start(self, which: int) -> Motion:
        """The motion that an actor's result is compared with: the source's on a body of the target's size."""
        return self.actors[which].motion if self.plan is None else self.plan.starts[which]

    def spacings(self) -> tuple[float, ...]:
        """Seconds between keys: one, or three where all variants are asked for."""
        if self.recipe.spacing == ALL:
            if not has_keys(self.recipe.solver):
                raise OptionError(
                    f"Solver `{self.recipe.solver}` has no evenly spaced keys: there are no variants of their spacing"
                )
            return tuple(frames / KEY_RATE_HZ for frames in SPACINGS_FRAMES)
        return (self.spacing(self.recipe.spacing),)

    def spacing(self, wanted: Spacing) -> float:
        """A key spacing in seconds, chosen by the motions' own frequencies if it is left open."""
        if not isinstance(wanted, str):
            return wanted
        assert wanted == AUTO
        moving = [actor.motion for actor in self.actors if actor.spec.moves] or [self.actors[0].motion]
        return min(choose_spacing(motion) for motion in moving)

    def solve(
        self, spacing: float | None = None, watch: ProgressCallback | None = None, *, solver: Solver | None = None
    ) -> Retargeted:
        """Solve it.

        Args:
            spacing: Seconds between keys, where the solver has evenly spaced keys; as the recipe says if not given.
            watch: Called with what is being done and the share that is done.
            solver: How to solve; as the recipe says if not given.
        """
        spacing = self.spacings()[0] if spacing is None else spacing
        if self.plan is None:
            from understudy.retarget.feature_driving import drive

            actor = self.actors[0]
            options = replace(self.recipe.options, spacing=spacing)
            points = self.points or None
            found = drive(actor.motion, actor.target, points, contacts=self.contacts, options=options, watch=watch)
            return Retargeted(prepared=self, solution=found.solution, spacing=spacing)
        solver = solver or make_solver(self.recipe.solver, self.recipe.solver_options, spacing)
        return Retargeted(prepared=self, solution=self.plan.solve(solver, watch), spacing=spacing)

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


@dataclass(frozen=True, eq=False, kw_only=True)
class Retargeted:
    """A finished retarget: its motions, how well they meet what was asked, and how good they are."""

    prepared: Prepared
    solution: Solution
    spacing: float
    """Seconds between keys."""

    def __repr__(self) -> str:
        names = ", ".join(motion.name or "unnamed" for motion in self.motions)
        return f"<Retargeted {names}: {self.solution.result}>"

    def _repr_html_(self) -> str:
        return self.motion._repr_html_()

    @cached
    def clips(self) -> tuple[Clip, ...]:
        """The result of each actor, to be written: in the conventions of the file that its character came from."""
        return tuple(clip_of(*pair) for pair in zip(self.prepared.actors, self.solution.motions, strict=True))

    @property
    def clip(self) -> Clip:
        """The result of the first actor, to be written."""
        return self.clips[0]

    @cached
    def motions(self) -> tuple[Motion, ...]:
        """The motion of each actor, on the skeleton that was given as its target."""
        everything = zip(self.prepared.actors, self.solution.motions, strict=True)
        return tuple(actor.on_given_target(motion) for actor, motion in everything)

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
        """What was found and decided on the way, a sentence each."""
        return self.prepared.notes

    @property
    def problem(self) -> Problem:
        """What was solved."""
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
        """Which constraints fight each other, a sentence each."""
        return self.solution.conflicts

    @property
    def result(self) -> str:
        """What came of the constraints, in a sentence."""
        return self.solution.result

    @property
    def solver(self) -> str:
        """The solver's name."""
        return self.solution.solver

    @property
    def seconds(self) -> float:
        """How long the solve took."""
        return self.solution.seconds

    @property
    def steps(self) -> int:
        """Linear steps taken."""
        return self.solution.steps

    @cached
    def quality(self) -> dict[str, Any]:
        """How good the result is, as plain data: what `understudy retarget --json` prints."""
        from understudy.retarget.quality import advice, measure

        data = measure(self.prepared, self.solution, self.spacing)
        return {**data, "warnings": advice(data, self.prepared.recipe.options.plants)}

    def report(self) -> str:
        """How well the constraints of each kind are met, a line each."""
        return self.solution.report()

    def summary(self) -> str:
        """How good the result is, in a few lines."""
        from understudy.retarget.quality import summary

        return "\n".join(summary(self.quality))

    def evaluate(self, *, skin: bool = True) -> Report:
        """Every metric of the first actor's result against its source.

        Args:
            skin: Whether limbs that go through the body are told by the target's skin, where it has one.
        """
        from understudy.metrics.report import evaluate

        data = self.prepared.actors[0]
        assignment = None if self.prepared.plan is None else self.prepared.plan.assignments[0]
        alignment = None if assignment is None else assignment.alignment
        return evaluate(
            self.solution.motion,
            data.motion,
            correspondence=None if alignment is None else alignment.correspondence,
            contacts=self.contacts,
            outcomes=self.outcomes,
            meshes=data.clip.meshes if skin else (),
        )

    def write(self, path: str | Path) -> tuple[str, ...]:
        """Write the first actor's result; returns what the format could not hold, a sentence each."""
        return write(self.clip, path)


def prepare(recipe: Recipe, *, load: Load = load, assign: Assign = assign, drive_features: bool = True) -> Prepared:
    """Load what a recipe names, match it and lay out its plan.

    Args:
        recipe: What is asked for.
        load: How an actor's data are had, where they are known already.
        assign: How an actor is matched with its target, where that is known already.
        drive_features: Whether a body to which nothing corresponds may be driven by features.
    """
    if not recipe.actors:
        raise OptionError("A recipe needs at least one actor", hint="give it a source and a target")
    actors = tuple(load(spec, recipe.reading, recipe.folder) for spec in recipe.actors)
    notes = [note for actor in actors for note in actor.notes]
    assignments = []
    for actor in actors:
        assignment, remarks = assign(actor, recipe.folder)
        assignments.append(assignment)
        notes += [*_oddities(actor, assignment), *remarks]
    contacts = recipe.contacts
    if contacts is None:
        contacts = find_contacts(actors, recipe.options)
        notes += _missing_partners(actors)
    _check_contacts(contacts, recipe, actors)
    if not contacts and recipe.options.plants != "none":
        notes.append("no contacts are known: nothing is planted, and only the size of the movement is adapted")
    _check_joint_names(recipe.options, actors)
    if drive_features and any(is_driven(assignment) for assignment in assignments):
        return _driven(recipe, actors, assignments, contacts, notes)
    whole = plan(
        assignments, constraints=recipe.constraints, contacts=contacts, options=replace(recipe.options, spacing=None)
    )
    return Prepared(recipe=recipe, actors=actors, contacts=whole.contacts, plan=whole, notes=(*notes, *whole.notes))


def _driven(
    recipe: Recipe,
    actors: tuple[ActorData, ...],
    assignments: Sequence[Assignment],
    contacts: tuple[Contact, ...],
    notes: list[str],
) -> Prepared:
    """A body without limbs, which features drive."""
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
    """The contacts of all actors that move: those that samples bring, else found in their motions."""
    several, contacts = len(actors) > 1, []
    names = {actor.spec.name for actor in actors}
    for actor in actors:
        if not actor.spec.moves:
            continue
        known = actor.contacts
        if known is None:
            known = detect_contacts(actor.motion, contact_points(actor.motion), options.detection)
        # A partner who is not among the actors cannot be held on to.
        known = tuple(c for c in known if c.other is None or (several and c.on in names))
        contacts += [replace(contact, actor=actor.spec.name) for contact in known]
    return tuple(contacts)


def _missing_partners(actors: Sequence[ActorData]) -> list[str]:
    """A sentence for each actor whose partner is not there."""
    names = {actor.spec.name for actor in actors}
    return [
        f"{actor.spec.source}: who it holds on to is not among the actors, so those contacts are left out"
        for actor in actors
        if actor.spec.moves and any(c.other is not None and c.on not in names for c in actor.contacts or ())
    ]


def _oddities(actor: ActorData, assignment: Assignment) -> list[str]:
    """What about a pair of characters may be a mistake."""
    notes, name = [], actor.spec.target or actor.spec.source
    ratio = leg_ratio(actor.motion.skeleton, actor.target)
    if actor.spec.target is not None and not 1.0 / MAX_LIKELY_LEG_RATIO < ratio < MAX_LIKELY_LEG_RATIO:
        notes.append(
            f"{name}: its legs are {ratio:.3g} times as long as the source's; if that is no wonder of its own, "
            "the unit of one file was guessed wrong (--unit, --target-unit)"
        )
    if assignment.alignment is not None:
        return notes
    lost = actor.motion.skeleton.lengths[1:] > 1e-2 * actor.motion.skeleton.lengths.max()
    lost &= actor.target.lengths[1:] < 1e-9
    if lost.any():
        names = [actor.target.names[j + 1] for j in np.flatnonzero(lost)[:3]]
        notes.append(f"{name}: the bone to `{'`, `'.join(names)}` has length zero: what hangs there moves as one point")
    return notes


def _check_contacts(contacts: Sequence[Contact], recipe: Recipe, actors: Sequence[ActorData]) -> None:
    """Refuse contacts of or with what there is not."""
    named = {actor.spec.name: actor for actor in actors}
    props = [prop.name for prop in recipe.props] + [prop.name for actor in actors for prop in actor.props]
    for contact in contacts:
        what = f"Contact of `{contact.point.name}` at {contact.start:g} s"
        if contact.actor and contact.actor not in named:
            raise UnknownNameError(f"{what}: no actor `{contact.actor}`; {nearest_names(contact.actor, named)}")
        whose = named.get(contact.actor, actors[0])
        if contact.point.joint not in whose.motion.skeleton.index:
            names = whose.motion.skeleton.names
            raise UnknownNameError(
                f"{what}: no joint `{contact.point.joint}`; {nearest_names(contact.point.joint, names)}",
                hint=f"`understudy info {whose.spec.source}` lists the joints",
            )
        if contact.other is not None and contact.on not in named:
            raise UnknownNameError(f"{what}: no actor `{contact.on}` to touch; {nearest_names(contact.on, named)}")
        known = ["floor", "hold", *props, *named]
        if contact.on not in known:
            raise UnknownNameError(
                f"{what}: nothing here is called `{contact.on}`; {nearest_names(contact.on, known)}",
                hint="a contact is on the floor, a hold, a prop or another actor",
            )
        duration = whose.motion.duration
        if contact.start > duration or contact.end < 0.0:
            raise OptionError(
                f"{what}: it spans {contact.start:g} to {contact.end:g} s, the motion 0 to {duration:g} s",
                hint="times count from the first frame kept",
            )


def _check_joint_names(options: Options, actors: Sequence[ActorData]) -> None:
    """Refuse joints that are kept or stiff and that no actor has."""
    known = list(dict.fromkeys(name for actor in actors for name in actor.target.names))
    for what, names in (("keep", options.keep), ("stiffness", options.stiffness or {})):
        for name in names:
            if name not in known:
                raise UnknownNameError(f"Option {what}: no joint `{name}`; {nearest_names(name, known)}")
