"""Plans: the start motions, contacts and constraints of a retarget, to be inspected and changed before the solve."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.base.errors import OptionError, SkeletonError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array
from understudy.base.records import cached, record
from understudy.constraints.base import Constraint
from understudy.correspondence.limits import joint_limits
from understudy.correspondence.pairs import ContactContext, check_structure, morph_motion, start_motion
from understudy.correspondence.step_width import with_own_step_width
from understudy.figure.bands import choose_spacing
from understudy.figure.contacts import (
    Contact,
    Detection,
    Floor,
    detect_contacts,
    detect_on_treadmill,
    find_floor,
    find_period,
    stood_on,
)
from understudy.figure.kinematics import Pose
from understudy.figure.measures import is_humanoid, leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import NUM_AXES, Point, Skeleton
from understudy.retarget.clearance import keep_clear
from understudy.retarget.ground import (
    PLANTS,
    compliant_joints,
    contact_constraints,
    creep_constraints,
    feet_on_floor,
    floor_constraints,
    lift_toes,
)
from understudy.retarget.touch import find_touches, keep_touches
from understudy.solve.evaluation import shift_starts
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.base import ProgressCallback, Solution, Solver
from understudy.solve.solvers.spacetime import Spacetime
from understudy.solve.steadiness import head_path, steady_head

if TYPE_CHECKING:
    from understudy.correspondence.alignment import Alignment
    from understudy.correspondence.landing import Landing
    from understudy.figure.skin import Mesh

MIN_SHIFT_FADE_SECONDS = 1.0
"""A shift of the body towards a user's constraint fades to zero over at least this time before and after it."""


LEVELS = ("auto", "zero", "keep")
"""Where the floor of a result is."""

MIN_FULL_TOLERANCE_LEG_METRES = 0.1
"""Length of legs below which tolerances in metres shrink in proportion."""


@record(eq=True)
class Options:
    """Settings of a retarget."""

    plants: str = "free"
    """`free`: the solver places the footplants; `fixed`: at the source's places; `none`: no contact constraints."""
    spacing: float | None = None
    """Seconds between the keys of the finest band-limited level; None to choose by the motion's frequencies."""
    detection: Detection = field(default_factory=Detection)
    floor: bool = True
    """Keep the body above the floor, or no deeper in it than the source."""
    level: str = "auto"
    """Where the result's floor is: `zero`: level and at height zero; `keep`: where the source's is, tilted as it is;
    `auto`: `zero` for robots, else `keep`."""
    touch: bool = True
    """Keep hands as near to the body and to each other as the source's are."""
    clearance: bool = True
    """Keep arms and legs out of the body, and out of each other, where they are deeper than the source's."""
    limits: bool = True
    """Keep joints within the skeleton's limits, or within human limits if it has none."""
    collisions: bool = True
    """Keep the parts of a robot out of each other, by the collision shapes of its file."""
    speeds: bool = True
    """Keep a robot's joints slower than the speeds that its file states, or than 30 radians a second."""
    balance: bool = True
    """Keep the zero moment point of a legged robot over its feet, as far as small shifts of its body bring it there."""
    margin: float = 0.005
    """Metres that the parts of a robot keep between them."""
    keep: tuple[str, ...] = ()
    """Joints whose rotations do not change."""
    stiffness: dict[str, float] | None = None
    """Factors on the cost of rotating joints, by joint name."""

    def __post_init__(self) -> None:
        if self.plants not in PLANTS:
            raise OptionError(f"Expected plants, one of {', '.join(PLANTS)}; got `{self.plants}`")
        if not (np.isfinite(self.margin) and self.margin >= 0.0):
            raise OptionError(f"Expected a margin of zero or more metres, got {self.margin}")
        if self.level not in LEVELS:
            raise OptionError(f"Expected level, one of {', '.join(LEVELS)}; got `{self.level}`")
        if self.spacing is not None and not (np.isfinite(self.spacing) and self.spacing > 0.0):
            raise OptionError(f"Expected a key spacing above zero seconds, got {self.spacing}")


@record
class Assignment:
    """A motion and the character that performs it."""

    motion: Motion
    target: Skeleton
    """The joints of the motion's skeleton with other lengths; or, with an alignment, any skeleton."""
    alignment: Alignment | None = None
    """The alignment of a target of another structure; None for the same structure."""
    landing: Landing | None = None
    """The target's landing points, if known; the given contacts are then the landing's."""
    name: str = ""
    moves: bool = True
    """False for an actor that keeps its motion while others react to it."""
    joints: tuple[str, ...] | None = None
    """The joints that the solver may turn; all if not given."""
    carriers: tuple[str, ...] = ()
    """Joints that carry the body and are no part of it, as a root on the floor: the solver does not turn them."""
    root_moves: bool = True
    share: Array | None = None
    """(F,) blend from source (0) to target (1) body at each frame; None for the target body throughout."""
    meshes: tuple[Mesh, ...] = ()
    """The target's skin, bound to the joints of its skeleton."""

    def __repr__(self) -> str:
        return f"<Assignment {self.name or 'unnamed'}: {self.motion!r} to {self.target!r}>"

    @cached
    def starts(self) -> dict[Hashable, tuple[Motion, Motion | None]]:
        """Cache of `_start`: while contacts are dragged, the same start is asked for again and again."""
        return {}


@record
class Plan:
    """A retarget before the solve: everything in it can be inspected and changed."""

    assignments: tuple[Assignment, ...]
    starts: tuple[Motion, ...]
    """The start motion of each actor."""
    contacts: tuple[Contact, ...]
    """The sources' contacts."""
    constraints: tuple[Constraint, ...]
    options: Options
    floor: Floor | None = None
    """The ground on which sources and targets stand; None if a plan was made without."""
    notes: tuple[str, ...] = ()
    """Decisions made by the planner, one sentence each."""
    contexts: tuple[ContactContext, ...] = ()
    """What was found out about the contacts of each actor."""
    _problem: Problem | None = field(default=None, init=False, repr=False)
    """Cache of `problem`; `replace` clears it."""

    def __repr__(self) -> str:
        counts = len(self.assignments), len(self.contacts), len(self.constraints)
        return "<Plan: {} actors, {} contacts, {} constraints>".format(*counts)

    @property
    def is_loop(self) -> bool:
        """Whether the plan is of one body that moves in place, as far as is known, and whose motion repeats."""
        moving_floor = not self.contacts or any(contact.velocity is not None for contact in self.contacts)
        alone = len(self.assignments) == 1 and self.assignments[0].share is None
        return moving_floor and alone and find_period(self.assignments[0].motion) is not None

    def problem(self) -> Problem:
        """The problem to solve."""
        if self._problem is None:
            actors = tuple(self._actor(*pair) for pair in zip(self.assignments, self.starts, strict=True))
            constraints = self.constraints if self.size_factor == 1.0 else self._scaled_constraints()
            object.__setattr__(self, "_problem", Problem(actors=actors, constraints=constraints))
        assert self._problem is not None
        return self._problem

    @property
    def size_factor(self) -> float:
        """The factor on tolerances in metres: 1 for bodies of ordinary size, less for those with tiny legs."""
        leg = min(leg_length(start.skeleton) for start in self.starts)
        return min(1.0, leg / MIN_FULL_TOLERANCE_LEG_METRES)

    def _scaled_constraints(self) -> tuple[Constraint, ...]:
        """The constraints with tolerances that fit a tiny body: a millimetre would be more than all of it."""
        factor = self.size_factor
        return tuple(
            constraint if constraint.angular else replace(constraint, tolerance=factor * constraint.tolerance)
            for constraint in self.constraints
        )

    def with_problem(self, problem: Problem, *notes: str) -> Plan:
        """The plan with another problem, derived from its own, and with further notes."""
        starts = tuple(actor.motion for actor in problem.actors)
        changed = replace(self, starts=starts, constraints=problem.constraints, notes=(*self.notes, *notes))
        object.__setattr__(changed, "_problem", problem)
        return changed

    def _actor(self, assignment: Assignment, start: Motion) -> Actor:
        joints, skeleton = assignment.joints, start.skeleton
        if self.options.keep or assignment.carriers:
            excluded = {skeleton.names[skeleton.joint(name)] for name in (*self.options.keep, *assignment.carriers)}
            joints = tuple(name for name in joints or skeleton.names if name not in excluded)
        return Actor(
            motion=start,
            name=assignment.name,
            moves=assignment.moves,
            joints=joints,
            root_moves=assignment.root_moves,
            stiffness=compliant_joints(self.constraints, start, assignment.name) | dict(self.options.stiffness or {}),
        )

    def solve(self, solver: Solver | None = None, watch: ProgressCallback | None = None) -> Solution:
        """Solve the problem, with the spacetime solver if no other is given."""
        if solver is None:
            motions = [a.motion for a in self.assignments if a.moves] or [self.assignments[0].motion]
            spacing = self.options.spacing or min(map(choose_spacing, motions))
            solver = Spacetime(spacing=spacing)
        return solver.solve(self.problem(), watch)


def plan(
    assignments: Sequence[Assignment],
    *,
    constraints: Sequence[Constraint] = (),
    contacts: Sequence[Contact] | None = None,
    options: Options | None = None,
    floor: Floor | None = None,
) -> Plan:
    """The plan of a retarget of one or several characters.

    Args:
        assignments: One for each character.
        constraints: The user's constraints, besides those from contacts.
        contacts: The sources' contacts; detected if not given.
        options: The defaults if not given.
        floor: The ground; fitted to the contacts if not given.
    """
    options = options or Options()
    _check(assignments)
    poses: list[Pose | None] = [None] * len(assignments)
    if contacts is None:
        contacts, poses = _detect_contacts(assignments, options)
    contacts = tuple(contacts)
    _check_contacts(contacts, assignments)
    contacts_by_actor = _group_by_actor(contacts, assignments)
    if not contacts and options.floor and len(assignments) == 1 and assignments[0].landing is None:
        contacts_by_actor = [feet_on_floor(assignments[0].motion)]
    standing = [contact for actor_contacts in contacts_by_actor for contact in actor_contacts]
    floor = floor or find_floor(standing, leg_length(assignments[0].motion.skeleton))
    inputs = zip(assignments, contacts_by_actor, poses, strict=True)
    contexts = [_context(*parts, floor, touch=options.touch, clearance=options.clearance) for parts in inputs]
    generated: list[Constraint] = []
    for context, assignment, actor_contacts in zip(contexts, assignments, contacts_by_actor, strict=True):
        if context.landing is not None and assignment.landing is None:
            actor_contacts = list(context.landing.contacts)
        if not assignment.moves:
            # Actors that move still hold on to one that keeps its motion.
            moving = {other.name for other in assignments if other.moves}
            actor_contacts = [c for c in actor_contacts if c.other is not None and c.on in moving]
        if options.plants != "none" and contacts:
            generated += contact_constraints(context, actor_contacts, contexts, fixed=options.plants == "fixed")
            generated += creep_constraints(context, actor_contacts) if assignment.moves else []
        if options.floor and assignment.moves:
            generated += floor_constraints(context, actor_contacts)
    starts = {context.actor: context.start for context in contexts if context.start is not None}
    if constraints:
        from understudy.retarget.ease import easing_constraints

        constraints = (*constraints, *easing_constraints(constraints, starts))
    unshifted = Plan(
        assignments=tuple(assignments),
        starts=tuple(context.start for context in contexts if context.start is not None),
        contacts=contacts,
        constraints=(*(c for c in generated if _is_movable(c, assignments)), *constraints),
        options=options,
        floor=floor,
        notes=tuple(note for context in contexts if context.landing is not None for note in context.landing.notes),
        contexts=tuple(contexts),
    )
    return add_joint_limits(shift_plan_starts(unshifted, constraints))


def _group_by_actor(contacts: Sequence[Contact], assignments: Sequence[Assignment]) -> list[list[Contact]]:
    """The contacts of each actor; those without an actor's name belong to the first."""
    first = assignments[0]
    return [[c for c in contacts if c.actor == a.name or (not c.actor and a is first)] for a in assignments]


def _context(
    assignment: Assignment,
    contacts: Sequence[Contact],
    feet: Pose | None,
    floor: Floor,
    *,
    touch: bool,
    clearance: bool,
) -> ContactContext:
    """The contact context of an actor, with its start motion."""
    landing = None
    motion, target, alignment = assignment.motion, assignment.target, assignment.alignment
    points = [contact.point for contact in contacts]
    held = frozenset(point.joint for point in points)
    key = (floor.height, floor.slope.tobytes(), held, touch, clearance)
    if key not in assignment.starts:
        if len(assignment.starts) >= MAX_CACHED_STARTS:
            assignment.starts.clear()
        assignment.starts[key] = _start(assignment, points, floor, touch=touch, clearance=clearance)
    start, transferred = assignment.starts[key]
    if alignment is not None and transferred is not None:
        from understudy.correspondence.landing import find_landing

        landing = assignment.landing or find_landing(motion, contacts, alignment, transferred, floor)
    context = ContactContext(
        source=motion, target=target, floor=floor, actor=assignment.name, share=assignment.share, landing=landing,
        alignment=alignment, start=start, transferred=transferred, feet=feet,
        contacts=tuple(contacts if landing is None else landing.contacts),
    )  # fmt: skip
    return context if landing is None else replace(context, start=lift_toes(context, landing.contacts))


MAX_CACHED_STARTS = 4
"""Start motions that are kept of an assignment."""


def _start(
    assignment: Assignment, points: Sequence[Point], floor: Floor, *, touch: bool, clearance: bool
) -> tuple[Motion, Motion | None]:
    """The start motion of an actor whose source has contacts at points, and the motion as it was transferred."""
    transferred = None
    motion, target, alignment = assignment.motion, assignment.target, assignment.alignment
    if assignment.share is not None:
        return morph_motion(motion, target, assignment.share, floor), None
    if alignment is not None:
        from understudy.correspondence.carry import transfer_motion
        from understudy.correspondence.landing import step_ratio

        start = transferred = transfer_motion(motion, alignment, floor=floor, ratio=step_ratio(alignment))
        if clearance:
            start = transferred = keep_clear(motion, start, assignment.meshes, kind="leg")
    else:
        start = with_own_step_width(motion, start_motion(motion, target, floor)) if assignment.moves else motion
    if not assignment.moves:
        return start, transferred
    start = _with_steady_head(motion, start)
    touched = None if alignment is None else alignment.correspondence, points
    if clearance:
        touches = find_touches(motion, start, *touched) if touch else None
        start = keep_clear(motion, start, assignment.meshes, kind="arm", touches=touches)
    elif touch:
        start = keep_touches(motion, start, *touched)
    return start, transferred


def _with_steady_head(source: Motion, start: Motion) -> Motion:
    """The start motion with a head that is no faster than the source's on its own body."""
    path, leg = head_path(source), leg_length(start.skeleton)
    return start if path is None else steady_head(start, path * (leg / leg_length(source.skeleton)), leg)


def _is_movable(constraint: Constraint, assignments: Sequence[Assignment]) -> bool:
    """Whether the solver can move one of a constraint's points."""
    for point_ref in constraint.point_refs():
        assignment = next((a for a in assignments if a.name == point_ref.actor), assignments[0])
        skeleton, joints = assignment.target, assignment.joints
        joint = skeleton.joint(point_ref.point if isinstance(point_ref.point, str) else point_ref.point.joint)
        turns = joints is None or any(skeleton.names[j] in joints for j in skeleton.chain(joint))
        if assignment.moves and (assignment.root_moves or turns):
            return True
    return False


def _check(assignments: Sequence[Assignment]) -> None:
    names = [assignment.name for assignment in assignments]
    if not assignments:
        raise OptionError("A retarget needs at least one motion and one target")
    if len(set(names)) < len(names):
        raise OptionError(f"Each of several characters needs a name of its own; got {names}")
    for assignment in assignments:
        source, target = assignment.motion.skeleton, assignment.target
        if assignment.alignment is None:
            check_structure(source, target)
        elif assignment.share is not None or not assignment.moves:
            raise OptionError("Only a target of the same structure can be morphed into, or stand in unchanged")
        sizes = {"source": float(source.lengths.sum()), "target": float(target.lengths.sum())}
        for who, size in sizes.items():
            if size <= 0.0 < max(sizes.values()):
                raise SkeletonError(
                    f"The {who}'s bones all have length zero: its joints lie at one point and show no body",
                    hint=f"`understudy info {who.upper()}` lists the joints; a file that holds only rotations needs "
                    "its skeleton",
                )


def _check_contacts(contacts: Sequence[Contact], assignments: Sequence[Assignment]) -> None:
    known = [assignment.name for assignment in assignments]
    for contact in contacts:
        names = [contact.actor] if contact.actor else []
        names += [contact.on] if contact.other is not None else []
        for name in names:
            if name not in known:
                raise UnknownNameError(
                    f"Contact of `{contact.point.name}` from {contact.start:.2f} s names `{name}`, who is not there; "
                    f"{nearest_names(name, known)}"
                )


def _detect_contacts(
    assignments: Sequence[Assignment], options: Options
) -> tuple[tuple[Contact, ...], list[Pose | None]]:
    """The contacts of all actors that move, and each actor's pose of the joints of its feet, if it has any."""
    contacts: list[Contact] = []
    poses: list[Pose | None] = []
    for assignment in assignments:
        points, pose = stood_on(assignment.motion) if assignment.moves else ((), None)
        poses.append(pose)
        detected = detect_contacts(assignment.motion, points, options.detection, pose=pose)
        detected = detect_on_treadmill(assignment.motion, detected, points, options.detection)
        contacts += [replace(c, actor=assignment.name) for c in detected] if assignment.name else detected
    return tuple(contacts), poses


def shift_plan_starts(plan: Plan, user_constraints: Sequence[Constraint]) -> Plan:
    """A plan with its start motions shifted to where constraints fix the actors in the world [Gleicher98, sec. 3.8].

    Contacts shift the whole motion. The user's constraints, the last of the plan, shift it only around their times: a
    target for a hand does not move the walk before and after it, and in flight the body follows only where the arm does
    not reach.
    """
    num_generated = len(plan.constraints) - len(user_constraints)
    fixing = tuple(i for i, c in enumerate(plan.constraints) if type(c).pull is not Constraint.pull)
    problem = shift_starts(plan.problem(), tuple(i for i in fixing if i < num_generated))
    asked = {i for i in fixing if i >= num_generated}
    if asked:
        problem = shift_starts(problem, fixing, reaching=asked, fade_seconds=MIN_SHIFT_FADE_SECONDS)
    return plan.with_problem(problem)


def plan_of_contacts(plan: Plan, asked: Sequence[Constraint]) -> Plan:
    """A plan with only what contacts ask for: plants, holds and the floor, without limits; starts are shifted by these
    alone.

    Args:
        plan: The plan.
        asked: The user's constraints in it.
    """
    from understudy.retarget.ease import is_easing

    excluded = {id(constraint) for constraint in asked}
    kept = tuple(c for c in plan.constraints if id(c) not in excluded and not is_easing(c) and c.kind != "joint_range")
    starts = tuple(context.start for context in plan.contexts if context.start is not None)
    return shift_plan_starts(replace(plan, starts=starts, constraints=kept), ())


def add_joint_limits(plan: Plan) -> Plan:
    """A plan with the limits of the joints that the solver may turn."""
    if not plan.options.limits:
        return plan
    limits: list[Constraint] = []
    notes: list[str] = []
    problem = plan.problem()
    for index, (assignment, start) in enumerate(zip(plan.assignments, plan.starts, strict=True)):
        joints = [j for j in problem.movable_joints(index) if NUM_AXES[start.skeleton.kinds[j]] > 0]
        if not joints:
            continue
        names: set[str] | None = {start.skeleton.names[j] for j in joints}
        if assignment.alignment is None:
            motion, widen = assignment.motion.derived(skeleton=start.skeleton), True
        else:
            # A human can do what another human does. An animal's motion may exceed a human's limits, also in joints
            # that no constraint turns.
            motion, widen = start, is_humanoid(assignment.motion.skeleton)
            names = names if assignment.joints is not None or plan.options.keep else None
        ranges, range_notes = joint_limits(motion, actor=assignment.name, only=names, widen=widen)
        limits += ranges
        notes += range_notes
    return plan.with_problem(problem.extended(limits), *notes)
