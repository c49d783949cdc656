"""Plans: a retarget laid out before it is solved, with everything in it open to be looked at and changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.base.errors import OptionError, SkeletonError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array
from understudy.constraints.base import Constraint
from understudy.correspondence.limits import joint_limits
from understudy.correspondence.pairs import ContactContext
from understudy.figure.bands import choose_spacing
from understudy.figure.contacts import Contact, Detection, Floor, detect_contacts, find_floor, stood_on
from understudy.figure.kinematics import Pose
from understudy.figure.measures import is_humanoid, leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import NUM_AXES, Skeleton
from understudy.retarget.plants import PLANTS, contact_constraints, floor_constraints, giving
from understudy.retarget.start import check_structure, morph_motion, pulled, start_motion
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.base import ProgressCallback, Solution, Solver
from understudy.solve.solvers.spacetime import Spacetime

if TYPE_CHECKING:
    from understudy.correspondence.alignment import Alignment
    from understudy.correspondence.landing import Landing

NEAR = 1.0
"""Seconds around a constraint of the user's within which the whole body is shifted for it to begin with, at least."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a retarget may choose."""

    plants: str = "free"
    """`free`: the solver places the steps; `fixed`: in the original's footsteps; `none`: contacts are not kept."""
    spacing: float | None = None
    """Seconds between the keys of the finest band-limited level; None to choose by the motion's own frequencies."""
    detection: Detection = field(default_factory=Detection)
    floor: bool = True
    """Keep the body above the floor, or as deep in it as the source's is."""
    limits: bool = True
    """Keep joints inside the skeleton's limits, or human ones where it has none."""
    keep: tuple[str, ...] = ()
    """Joints whose rotations stay as they are."""
    stiffness: dict[str, float] | None = None
    """How much dearer than usual it is to turn a joint, by name."""

    def __post_init__(self) -> None:
        if self.plants not in PLANTS:
            raise OptionError(f"Expected plants, one of {', '.join(PLANTS)}; got `{self.plants}`")
        if self.spacing is not None and not (np.isfinite(self.spacing) and self.spacing > 0.0):
            raise OptionError(f"Expected a key spacing above zero seconds, got {self.spacing}")


@dataclass(frozen=True, eq=False, kw_only=True)
class Assignment:
    """Who plays whom: a motion and the character that is to do it."""

    motion: Motion
    target: Skeleton
    """The same joints as the motion's skeleton with other lengths; or any others, with an alignment."""
    alignment: Alignment | None = None
    """How a target of another structure corresponds; None for one of the same."""
    landing: Landing | None = None
    """Where its contacts go, where that is known already: contacts are then given as it lists them."""
    name: str = ""
    moves: bool = True
    """False for one who keeps the motion as it is and is only reacted to."""
    joints: tuple[str, ...] | None = None
    """The joints that may turn; all if not given."""
    root_moves: bool = True
    share: Array | None = None
    """(F,) for a body that changes while it moves: how much of the target it is at each frame."""

    def __repr__(self) -> str:
        return f"<Assignment {self.name or 'unnamed'}: {self.motion!r} to {self.target!r}>"


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan:
    """A retarget laid out and not yet solved: everything in it can be looked at and changed."""

    assignments: tuple[Assignment, ...]
    starts: tuple[Motion, ...]
    """Where the solver starts, one for each part."""
    contacts: tuple[Contact, ...]
    """The sources'."""
    constraints: tuple[Constraint, ...]
    options: Options
    notes: tuple[str, ...] = ()
    """What was decided on the way, a sentence each."""
    _made: Problem | None = field(default=None, init=False, repr=False)
    """The problem, once it is made; a plan in which something is replaced makes its own."""

    def __repr__(self) -> str:
        counts = len(self.assignments), len(self.contacts), len(self.constraints)
        return "<Plan: {} actors, {} contacts, {} constraints>".format(*counts)

    def problem(self) -> Problem:
        """The problem that the solver gets."""
        if self._made is None:
            actors = tuple(self._actor(part, start) for part, start in zip(self.assignments, self.starts, strict=True))
            object.__setattr__(self, "_made", Problem(actors=actors, constraints=self.constraints))
        assert self._made is not None
        return self._made

    def with_problem(self, problem: Problem, *notes: str) -> Plan:
        """The plan whose problem is another, made from its own, and what there is to say about that."""
        starts = tuple(actor.motion for actor in problem.actors)
        found = replace(self, starts=starts, constraints=problem.constraints, notes=(*self.notes, *notes))
        object.__setattr__(found, "_made", problem)
        return found

    def _actor(self, part: Assignment, start: Motion) -> Actor:
        joints = part.joints
        if self.options.keep:
            kept = {start.skeleton.names[start.skeleton.joint(name)] for name in self.options.keep}
            joints = tuple(name for name in joints or start.skeleton.names if name not in kept)
        return Actor(
            motion=start,
            name=part.name,
            moves=part.moves,
            joints=joints,
            root_moves=part.root_moves,
            stiffness=giving(self.constraints, start, part.name) | dict(self.options.stiffness or {}),
        )

    def solve(self, solver: Solver | None = None, watch: ProgressCallback | None = None) -> Solution:
        """Solve it, by the spacetime solver if no other is given."""
        if solver is None:
            moving = [part.motion for part in self.assignments if part.moves] or [self.assignments[0].motion]
            spacing = self.options.spacing or min(choose_spacing(motion) for motion in moving)
            solver = Spacetime(spacing=spacing)
        return solver.solve(self.problem(), watch)


def plan(
    parts: Sequence[Assignment],
    *,
    constraints: Sequence[Constraint] = (),
    contacts: Sequence[Contact] | None = None,
    options: Options | None = None,
    floor: Floor | None = None,
) -> Plan:
    """Everything a retarget of one or several characters is made of, before it is solved.

    Args:
        parts: Who plays whom.
        constraints: What must hold besides the contacts.
        contacts: The sources' contacts; found by themselves if not given.
        options: What to choose otherwise than by itself.
        floor: The ground; found from the contacts if not given.
    """
    options = options or Options()
    _check(parts)
    found, poses = _contacts(parts, options) if contacts is None else (tuple(contacts), [None] * len(parts))
    _check_contacts(found, parts)
    floor = floor or find_floor(found, leg_length(parts[0].motion.skeleton))
    stages = [_staged(part, _own(found, part, parts), floor, pose) for part, pose in zip(parts, poses, strict=True)]
    made: list[Constraint] = []
    for stage, part in zip(stages, parts, strict=True):
        mine = _own(found, part, parts)
        if stage.landing is not None and part.landing is None:
            mine = list(stage.landing.contacts)
        if not part.moves:
            # One who keeps the motion is still held on to by those who move.
            moving = {other.name for other in parts if other.moves}
            mine = [c for c in mine if c.other is not None and c.on in moving]
        if options.plants != "none":
            made += contact_constraints(stage, mine, stages, fixed=options.plants == "fixed")
        if options.floor and part.moves:
            made += floor_constraints(stage, mine)
    whole = Plan(
        assignments=tuple(parts),
        starts=tuple(stage.start for stage in stages if stage.start is not None),
        contacts=found,
        constraints=(*(c for c in made if _in_reach(c, parts)), *constraints),
        options=options,
        notes=tuple(note for stage in stages if stage.landing is not None for note in stage.landing.notes),
    )
    return _limited(shifted(whole, constraints))


def _own(contacts: Sequence[Contact], part: Assignment, parts: Sequence[Assignment]) -> list[Contact]:
    """The contacts of one part; those that name nobody are the first's."""
    return [c for c in contacts if c.actor == part.name or (not c.actor and part is parts[0])]


def _staged(part: Assignment, contacts: Sequence[Contact], floor: Floor, feet: Pose | None) -> ContactContext:
    """What a part is played on, and where the solver starts with it."""
    landing = None
    if part.share is not None:
        start = morph_motion(part.motion, part.target, part.share, floor)
    elif part.alignment is not None:
        from understudy.correspondence.carry import transfer_motion
        from understudy.correspondence.landing import find_landing, step_ratio

        start = transfer_motion(part.motion, part.alignment, floor=floor, ratio=step_ratio(part.alignment))
        landing = part.landing or find_landing(part.motion, contacts, part.alignment, start, floor)
    else:
        start = start_motion(part.motion, part.target, floor) if part.moves else part.motion
    return ContactContext(
        source=part.motion, target=part.target, floor=floor, actor=part.name, share=part.share, landing=landing,
        start=start, feet=feet,
    )  # fmt: skip


def _in_reach(constraint: Constraint, parts: Sequence[Assignment]) -> bool:
    """Whether anything that may move can move one of a constraint's points."""
    for spot in constraint.point_refs():
        part = next((p for p in parts if p.name == spot.actor), parts[0])
        skeleton = part.target
        joint = skeleton.joint(spot.point if isinstance(spot.point, str) else spot.point.joint)
        free = part.joints is None or any(skeleton.names[j] in part.joints for j in skeleton.chain(joint))
        if part.moves and (part.root_moves or free):
            return True
    return False


def _check(parts: Sequence[Assignment]) -> None:
    names = [part.name for part in parts]
    if not parts:
        raise OptionError("A retarget needs at least one motion and one target")
    if len(set(names)) < len(names):
        raise OptionError(f"Each of several characters needs a name of its own; got {names}")
    for part in parts:
        if part.alignment is None:
            check_structure(part.motion.skeleton, part.target)
        elif part.share is not None or not part.moves:
            raise OptionError("Only a target of the same structure can be morphed into, or stand in unchanged")
        if float(part.target.lengths.sum()) <= 0.0 < float(part.motion.skeleton.lengths.sum()):
            raise SkeletonError("The target's bones all have length zero")


def _check_contacts(contacts: Sequence[Contact], parts: Sequence[Assignment]) -> None:
    names = [part.name for part in parts]
    for contact in contacts:
        wanted = [contact.actor] if contact.actor else []
        wanted += [contact.on] if contact.other is not None else []
        for name in wanted:
            if name not in names:
                raise UnknownNameError(
                    f"Contact of `{contact.point.name}` from {contact.start:.2f} s names `{name}`, who is not there; "
                    f"{nearest_names(name, names)}"
                )


def _contacts(parts: Sequence[Assignment], options: Options) -> tuple[tuple[Contact, ...], list[Pose | None]]:
    """The contacts of all who move, and for each part where the joints of the feet are, if it has any."""
    found: list[Contact] = []
    poses: list[Pose | None] = []
    for part in parts:
        points, pose = stood_on(part.motion) if part.moves else ((), None)
        poses.append(pose)
        seen = detect_contacts(part.motion, points, options.detection, pose=pose)
        found += [replace(contact, actor=part.name) for contact in seen] if part.name else seen
    return tuple(found), poses


def shifted(whole: Plan, own: Sequence[Constraint]) -> Plan:
    """A plan with its starts shifted to where constraints fix the actors in the world [Gleicher98, sec. 3.8].

    What the contacts ask for holds for the whole motion. The user's `own` constraints, the last of the plan, shift it
    only around the times they are for: a hand that is put somewhere does not take the walk before and after along.
    """
    given = len(whole.constraints) - len(own)
    fixing = tuple(i for i, each in enumerate(whole.constraints) if type(each).pull is not Constraint.pull)
    problem = pulled(whole.problem(), tuple(i for i in fixing if i < given))
    if any(i >= given for i in fixing):
        problem = pulled(problem, fixing, away=NEAR)
    return whole.with_problem(problem)


def _limited(whole: Plan) -> Plan:
    """The plan with the limits of the joints that it may turn."""
    if not whole.options.limits:
        return whole
    limits: list[Constraint] = []
    notes: list[str] = []
    problem = whole.problem()
    for number, (part, start) in enumerate(zip(whole.assignments, whole.starts, strict=True)):
        moving = [j for j in problem.movable_joints(number) if NUM_AXES[start.skeleton.kinds[j]] > 0]
        if not moving:
            continue
        turning: set[str] | None = {start.skeleton.names[j] for j in moving}
        done, human = part.motion.derived(skeleton=start.skeleton) if part.alignment is None else start, True
        if part.alignment is not None:
            # What a human does a human can do; what an animal's legs come to on a human's arms may be beyond them,
            # and in joints that nothing else asks to turn.
            human = is_humanoid(part.motion.skeleton)
            turning = turning if part.joints is not None or whole.options.keep else None
        ranges, said = joint_limits(done, actor=part.name, only=turning, widen=human)
        limits += ranges
        notes += said
    return whole.with_problem(problem.extended(limits), *notes)
