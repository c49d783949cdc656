"""Transitions from one motion into another, of the same body or of a different one [Hsieh05, sec. 4].

Both motions are put on one skeleton, matched in time and blended. A spacetime solve then holds the plants. Outside the
blend nothing changes, except that the second motion is turned about the vertical and shifted over the floor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from understudy.base.errors import MotionError, OptionError, refuse_unknown_keywords
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.correspondence.alignment import Alignment
from understudy.correspondence.pairs import Correspondence
from understudy.figure.bands import choose_spacing
from understudy.figure.contacts import Contact, detect_contacts
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion, frame_offsets
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.base import Outcome, ProgressCallback, Solution, make_solution
from understudy.solve.solvers.spacetime import Level, Spacetime, levels
from understudy.transition.blending import Blend, Steps, blend, blend_clocks, larger, worst_steps
from understudy.transition.meta_skeleton import SIDES, MetaSkeleton, SharedSkeleton, find_shared_skeleton
from understudy.transition.plants import BlendPlant, LimbContact, constraints, plants, shift_to_plants
from understudy.transition.timing import FrameMatch, compare, find_match, limb_name, standing_points

MIN_BLEND_SECONDS = (0.8, 1.2)
"""Shortest blend that is chosen automatically: on one body, and between two bodies."""

MIN_KEY_INTERVALS = 12
"""Fewest key intervals over a blend."""

STIFF_LEVEL_STIFFNESS = 1e4
"""Stiffness of the second band-limited level, which only the stiffer solve has."""

MAX_CONTACT_ERROR_METRES = 2e-3
"""A contact within this distance of its place counts as kept."""

MAX_STEP_RATIO = 1.1
"""Steps of a blend that are larger than those of the two motions by more than this cause another try."""

BLEND_TRIES = ((1.0, 0.2), (1.0, 0.05), (1.5, 0.05), (2.1, 0.05), (2.8, 0.05))
"""Blends that are tried until one is smooth: factors on the automatic length, and leg lengths from its final place at
which a point that stands at the end is planted."""

OTHER_LENGTHS = (2.1, 2.8)
"""Factors on the automatic length of blends that are tried from other times, where no time is given."""

NUM_OTHER_TIMES = 8
"""Number of times to leave the first motion that are tried, evenly over those from which there is room."""

Contacts = tuple[Sequence[Contact] | None, Sequence[Contact] | None]
"""Contacts of the first and of the second motion; None to detect them."""


@record
class Transition:
    """Two motions joined into one."""

    motion: Motion
    """On the body itself if both motions are of one body, else on the meta-skeleton with offsets per frame."""
    start: int
    """The frame at which the blend begins: the last unchanged frame of the first motion."""
    end: int
    """The frame at which the blend ends: the first unchanged frame of the second motion."""
    match: FrameMatch
    """Which times of the two motions coincide over the blend."""
    entry: int
    """The frame of the second motion, at the first one's rate, at which the blend ends."""
    turn: float
    """Radians about the vertical by which the second motion is turned."""
    shift: Array
    """(3,) metres by which it is then shifted over the floor."""
    plants: tuple[BlendPlant, ...]
    """Points that stand during the blend."""
    solution: Solution | None
    """The solve that holds them; None if nothing stands."""
    meta: MetaSkeleton | None
    """The meta-skeleton of both bodies; None if both motions are of one body."""
    steps: Steps
    """The largest steps of any joint over the blend, in leg lengths of the larger body."""
    allowed: Steps
    """The largest steps of any joint in the two input motions, each in leg lengths of its own body."""
    leg: float
    """Leg length of the larger body, metres."""
    notes: tuple[str, ...] = ()
    """Automatic decisions, a sentence each."""

    def __repr__(self) -> str:
        return f"<Transition {self.motion!r}, blend over frames {self.start} to {self.end}>"

    def _repr_html_(self) -> str:
        return self.motion._repr_html_()

    @property
    def lengths(self) -> Array:
        """(N + 1, J) metres: length of each bone at each frame of the blend."""
        return np.linalg.norm(frame_offsets(self.motion[self.start : self.end + 1]), axis=-1)

    @property
    def relapse(self) -> float:
        """The largest step of a bone's length against its overall change, metres: 0 if all lengths are monotonic."""
        lengths = self.lengths[:, 1:]
        trend = np.sign(lengths[-1] - lengths[0])
        return float(np.maximum(-trend * np.diff(lengths, axis=0), 0.0).max(initial=0.0))

    @property
    def contact_error(self) -> float:
        """The largest distance of a plant from its place, metres."""
        outcomes = () if self.solution is None else self.solution.outcomes
        return max((outcome.worst for outcome in outcomes if outcome.constraint.kind != "region"), default=0.0)

    def measure(self) -> tuple[Outcome, ...]:
        """How well the motion as it is now meets the constraints of the solve."""
        if self.solution is None:
            return ()
        constraints, num_frames = self.solution.problem.constraints, len(self.solution.problem.times)
        end = min(self.end + 2, self.motion.num_frames)
        problem = Problem(actors=(Actor(motion=self.motion[end - num_frames : end]),), constraints=constraints)
        return make_solution(problem, problem.bodies, solver="", steps=0, seconds=0.0).outcomes


@refuse_unknown_keywords
def transition(
    first: Motion,
    second: Motion,
    *,
    correspondence: Correspondence | None = None,
    alignment: Alignment | None = None,
    leave: float | None = None,
    enter: float | None = None,
    seconds: float | None = None,
    contacts: Contacts = (None, None),
    spacing: float | None = None,
    watch: ProgressCallback | None = None,
) -> Transition:
    """Make a transition from one motion into another.

    Args:
        first: The motion to leave.
        second: The motion to enter, of the same body or another; resampled to the rate of the first.
        correspondence: Which bones of the first (source) and second (target) body correspond; suggested if not given.
        alignment: The reference poses in which both bodies' joint frames agree; computed if not given.
        leave: Seconds of the first motion at which the blend begins; the best time if not given.
        enter: Seconds of the second motion at which the blend begins; the best time if not given.
        seconds: Length of the blend; about a stride if not given.
        contacts: Contacts of the first and of the second motion; detected where None.
        spacing: Seconds between the keys of the solver's displacement; chosen from the motion if not given.
        watch: Called with the current step and the share of the work done.
    """
    watch = watch or (lambda _text, _share: None)
    if min(first.num_frames, second.num_frames) < 4:
        raise MotionError(f"A transition needs motions of 4 frames or more; got {len(first)} and {len(second)}")
    watch("comparing", 0.0)
    second, notes = _resample(second, first.fps)
    all_contacts = _contacts_of(first, contacts[0]), _contacts_of(second, contacts[1])
    shared = find_shared_skeleton(first, second, correspondence, alignment)
    features = compare(shared.correspondence, (first, second), all_contacts, one_body=shared.meta is None)
    min_seconds = MIN_BLEND_SECONDS[shared.meta is not None]
    match = find_match(features, seconds=seconds, leave=leave, enter=enter, min_seconds=min_seconds)
    results: list[Transition] = []
    tries = _tries(match, first, seconds=seconds, leave=leave)
    for number, (length, max_distance, begin) in enumerate(tries):
        share = min(number / len(BLEND_TRIES), 1.0)
        watch("blending", 0.1 + 0.8 * share)
        tried = match
        if length is not None or begin != leave:
            try:
                tried = find_match(features, seconds=length, leave=begin, enter=enter, min_seconds=min_seconds)
            except OptionError:
                # There is no room for a blend of that length.
                continue
        joined, blended = _join(shared, (first, second), all_contacts, tried, seconds or length, max_distance)
        all_notes = [*notes, *shared.notes, *_match_notes(tried), *_loose_notes(shared.meta)]
        joined = replace(joined, notes=(*all_notes, *joined.notes))
        watch("solving", min(0.1 + 0.8 * (share + 0.5 / len(BLEND_TRIES)), 0.9))
        results.append(_solve(joined, blended, spacing))
        if _is_smooth(results[-1]):
            break
    return _with_speed_note(min(results, key=_roughness))


def _tries(
    match: FrameMatch, first: Motion, *, seconds: float | None, leave: float | None
) -> Iterator[tuple[float | None, float, float | None]]:
    """Blends to try: seconds, if not those of the best match, leg lengths at which a point is planted, and the time
    to leave the first motion."""
    usual = 0.5 * float(np.ptp(match.first) + np.ptp(match.second))
    for factor, max_distance in BLEND_TRIES:
        if factor == 1.0:
            yield None, max_distance, leave
        elif seconds is None:
            yield factor * usual, max_distance, leave
    # Where frames are alike steps may still be large: a limb may just then be on its way.
    for factor in OTHER_LENGTHS if seconds is None and leave is None else ():
        room = (first.num_frames - 1) / first.fps - factor * usual
        for begin in np.linspace(0.0, room, NUM_OTHER_TIMES + 2)[1:-1] if room > 0.0 else ():
            yield factor * usual, BLEND_TRIES[-1][1], float(begin)


def _is_smooth(result: Transition) -> bool:
    """Whether contacts hold and no step is much larger than those of the two motions."""
    return result.contact_error <= MAX_CONTACT_ERROR_METRES and result.steps.over(result.allowed) <= MAX_STEP_RATIO


def _roughness(result: Transition) -> tuple[bool, float]:
    """A key by which results are compared: contacts first, then steps."""
    return result.contact_error > MAX_CONTACT_ERROR_METRES, result.steps.over(result.allowed)


def _with_speed_note(result: Transition) -> Transition:
    """The result, with a note that says why its steps are large if they are."""
    over = result.steps.over(result.allowed)
    if over <= MAX_STEP_RATIO:
        return result
    if result.meta is None:
        reason = "the two motions differ too much there; another time to leave or enter may be smoother"
    else:
        reason = "limbs of one body have to go far to become limbs of the other"
    note = f"during the blend a joint steps {over:.2f} times as far or as suddenly as in the two motions: {reason}"
    return replace(result, notes=(*result.notes, note))


def _join(
    shared: SharedSkeleton,
    motions: tuple[Motion, Motion],
    contacts: tuple[Sequence[Contact], Sequence[Contact]],
    match: FrameMatch,
    seconds: float | None,
    max_distance: float,
) -> tuple[Transition, Blend]:
    """The transition before the solve, and its blend."""
    first, second = motions
    length = seconds or 0.5 * float(np.ptp(match.first) + np.ptp(match.second))
    clocks = blend_clocks(match, first.fps, max(round(length * first.fps), 2), second.num_frames - 1)
    blended = blend(first, second, clocks, shared.convert)
    legs = leg_length(first.skeleton), leg_length(second.skeleton)
    limb_contacts = _limb_contacts(shared, 0, contacts[0]), _limb_contacts(shared, 1, contacts[1])
    standing = plants(blended, clocks, limb_contacts, min(legs), max_distance)
    blended, notes = shift_to_plants(blended, standing)
    result = Transition(
        motion=blended.motion,
        start=blended.start,
        end=blended.end,
        match=match,
        entry=blended.entry,
        turn=blended.turn,
        shift=blended.shift,
        plants=standing,
        solution=None,
        meta=shared.meta,
        steps=_steps(blended.motion, blended, max(legs)),
        allowed=larger(worst_steps(shared.convert(0, first), legs[0]), worst_steps(shared.convert(1, second), legs[1])),
        leg=max(legs),
        notes=notes,
    )
    return result, blended


def _resample(motion: Motion, fps: float) -> tuple[Motion, list[str]]:
    """A motion at a frame rate, and a note if it was resampled."""
    if abs(motion.fps - fps) <= 1e-4 * fps:
        return replace(motion, fps=fps), []
    note = f"the second motion is resampled from {motion.fps:g} to {fps:g} frames a second, the first one's rate"
    return motion.resampled(fps), [note]


def _contacts_of(motion: Motion, contacts: Sequence[Contact] | None) -> tuple[Contact, ...]:
    return tuple(contacts) if contacts is not None else detect_contacts(motion, standing_points(motion))


def _limb_contacts(shared: SharedSkeleton, which: int, contacts: Sequence[Contact]) -> list[LimbContact]:
    """Contacts of limbs with the floor, on the shared skeleton."""
    limb_contacts = []
    for contact in contacts:
        limb = limb_name(shared.correspondence, SIDES[which], contact.point.joint) if contact.on == "floor" else None
        if limb is not None:
            limb_contacts.append(LimbContact(limb=limb, point=shared.point(which, contact.point), contact=contact))
    return limb_contacts


def _solve(joined: Transition, blended: Blend, spacing: float | None) -> Transition:
    """The transition with its plants held: of a softer and a stiffer solve, the one with the smaller steps.

    Stiff keys leave less for the last level to correct frame by frame; soft keys bend less to constraints that cannot
    all be met. Which is smoother depends on the motions, and trying both costs less than the rest.
    """
    begin = max(blended.start - 1, 0)
    plant_constraints = constraints(blended, joined.plants, begin)
    if not plant_constraints:
        return joined
    window = blended.motion[begin : blended.end + 2]
    problem, fps = Problem(actors=(Actor(motion=window),), constraints=plant_constraints), window.fps
    # Keys that reach beyond the blend have no effect, so enough keys must lie inside it.
    spacing = spacing or min(choose_spacing(window), (blended.end - blended.start) / (MIN_KEY_INTERVALS * fps))
    solver = Spacetime(spacing=spacing, hold=(blended.start - begin) / fps, until=(blended.end - begin) / fps)
    results = []
    for solves in passes(spacing, fps):
        current = problem
        for solve_levels in solves:
            solution = replace(solver, levels=solve_levels).solve(current)
            current = replace(problem, actors=(Actor(motion=solution.motion),))
        motion = _splice(blended, solution)
        results.append(replace(joined, motion=motion, solution=solution, steps=_steps(motion, blended, joined.leg)))
    return min(
        results, key=lambda result: (result.contact_error > MAX_CONTACT_ERROR_METRES, result.steps.over(result.allowed))
    )


def passes(spacing: float, fps: float) -> tuple[tuple[tuple[Level, ...], ...], ...]:
    """Two ways to solve, each a sequence of solves with their levels: the usual one, and one with a stiffer
    band-limited level before the last.

    The last levels move limbs only, so little should be left to them.
    """
    soft, *of_limbs = levels(spacing, fps)
    stiff = replace(soft, stiffness=STIFF_LEVEL_STIFFNESS, rate=min(4.0 / spacing, fps), gain=0.02)
    return ((soft, *of_limbs),), ((soft,), (stiff, *of_limbs))


def _splice(blended: Blend, solution: Solution) -> Motion:
    """The joined motion with the frames inside the blend replaced by the solution."""
    inner = slice(blended.start + 1, blended.end)
    begin = max(blended.start - 1, 0)
    solved = solution.motion[inner.start - begin : inner.stop - begin]
    root, rotations = blended.motion.root.copy(), blended.motion.rotations.copy()
    root[inner], rotations[inner] = solved.root, solved.rotations
    return replace(blended.motion, root=root, rotations=rotations)


def _steps(motion: Motion, blended: Blend, leg: float) -> Steps:
    """The largest steps over the blend, including those into and out of it."""
    return worst_steps(motion[max(blended.start - 2, 0) : blended.end + 3], leg)


def _match_notes(match: FrameMatch) -> list[str]:
    if any(name.startswith("stance") for name in match.names):
        return []
    features = "posture, speed" if "posture" in match.names else "speed"
    return [f"no shared limb stands on the floor in both motions: frames are matched by {features} and turning alone"]


def _loose_notes(meta: MetaSkeleton | None) -> list[str]:
    if meta is None or not meta.loose:
        return []
    names = ", ".join(f"`{name}`" for name in meta.loose[:6])
    return [f"{names} hang from different bones in the two bodies: their bones change length during the motion"]
