"""Transitions: one motion goes over into another, of the same body or of one built differently [Hsieh05, sec. 4].

Both motions are put on one skeleton, matched in time, blended, and what stands on the floor is kept there by the
spacetime solve. Outside the blend everything stays exactly as it was, but that the second motion is turned about the
vertical and shifted over the floor to follow the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.base.errors import MotionError, refuse_unknown_keywords
from understudy.base.quaternion import Array
from understudy.correspondence.alignment import Alignment
from understudy.correspondence.pairs import Correspondence
from understudy.figure.bands import choose_spacing
from understudy.figure.contacts import Contact, detect_contacts
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion, frame_offsets
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.base import Solution, Watch
from understudy.solve.solvers.spacetime import Level, Spacetime, levels
from understudy.transition.blending import Blend, Steps, blend, larger, passage, worst_steps
from understudy.transition.meta_skeleton import SIDES, Meta, Shared, share
from understudy.transition.plants import BlendPlant, Footing, constraints, plants, settled
from understudy.transition.timing import FrameMatch, compare, find_match, limb_name, standing_points

LEAST = (0.8, 1.2)
"""Seconds of a blend at least, if nobody says: of one body, and where a body turns into another."""

KEYS = 12
"""Spaces between keys over a blend at least."""

STIFF = 1e4
"""Stiffness of a second band-limited level."""

KEPT = 2e-3
"""Metres by which a contact may be off its place and count as kept."""

Contacts = tuple[Sequence[Contact] | None, Sequence[Contact] | None]
"""Of the first and of the second motion; None to find them."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Transition:
    """Two motions as one."""

    motion: Motion
    """On the body itself where both are of one build, else on the meta-skeleton with offsets for each frame."""
    start: int
    """The frame at which the blend begins: the last of the first motion as it was."""
    end: int
    """The frame at which it ends: the first of the second motion as it was."""
    match: FrameMatch
    """Which moments of the two motions coincide over the blend."""
    entry: int
    """The frame of the second motion, at the first one's rate, with which it goes on after the blend."""
    turn: float
    """Radians about the vertical by which the second motion is turned."""
    shift: Array
    """(3,) metres by which it is then shifted over the floor."""
    plants: tuple[BlendPlant, ...]
    """What stands over the blend."""
    solution: Solution | None
    """How well that is kept; None where nothing stands."""
    meta: Meta | None
    """The skeleton of both bodies; None where they are of one build."""
    steps: Steps
    """The largest steps of any joint over the blend, in leg lengths of the larger body."""
    allowed: Steps
    """The largest steps of any joint in the two motions themselves, each in its own body's leg lengths: what they would
    be if both were done by a body as large as the larger."""
    leg: float
    """Metres: the leg length of the larger body."""
    notes: tuple[str, ...] = ()
    """What was decided on the way, a sentence each."""

    def __repr__(self) -> str:
        return f"<Transition {self.motion!r}, blend over frames {self.start} to {self.end}>"

    def _repr_html_(self) -> str:
        return self.motion._repr_html_()

    @property
    def lengths(self) -> Array:
        """(N + 1, J) metres: how long each bone is at each frame of the blend."""
        return np.linalg.norm(frame_offsets(self.motion[self.start : self.end + 1]), axis=-1)

    @property
    def relapse(self) -> float:
        """Metres by which a bone at most shrinks while it is to grow, or grows while it is to shrink."""
        lengths = self.lengths[:, 1:]
        way = np.sign(lengths[-1] - lengths[0])
        return float(np.maximum(-way * np.diff(lengths, axis=0), 0.0).max(initial=0.0))

    @property
    def contact_error(self) -> float:
        """Metres by which what stands is off its place at most."""
        outcomes = () if self.solution is None else self.solution.outcomes
        return max((o.worst for o in outcomes if o.constraint.kind != "region"), default=0.0)


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
    watch: Watch | None = None,
) -> Transition:
    """Go over from one motion into another.

    Args:
        first: What is done at first.
        second: What is done in the end, by the same body or another; brought to the rate of the first.
        correspondence: Which bones of the first (source) and second (target) body correspond; suggested if not given.
        alignment: The reference poses in which both bodies' joint frames agree; found if not given.
        leave: Seconds of the first motion at which the blend begins; the best place if not given.
        enter: Seconds of the second motion at which it begins, likewise.
        seconds: How long it lasts; about a stride if not given.
        contacts: Of the first and of the second motion, where they are known; found otherwise.
        spacing: Seconds between the keys of what the solver changes; chosen by the motion if not given.
        watch: Told how far it is.
    """
    watch = watch or (lambda _text, _share: None)
    if min(first.num_frames, second.num_frames) < 4:
        raise MotionError(f"A transition needs motions of 4 frames or more; got {len(first)} and {len(second)}")
    watch("comparing", 0.0)
    second, notes = _at_rate(second, first.fps)
    known = _known(first, contacts[0]), _known(second, contacts[1])
    both = share(first, second, correspondence, alignment)
    features = compare(both.correspondence, (first, second), known, one_body=both.meta is None)
    least = LEAST[both.meta is not None]
    match = find_match(features, seconds=seconds, leave=leave, enter=enter, least=least)
    watch("blending", 0.1)
    joined, blended = _joined(both, (first, second), known, match, seconds)
    joined = replace(joined, notes=(*notes, *both.notes, *_matched_on(match), *_loose(both.meta), *joined.notes))
    return _solved(joined, blended, spacing, watch)


def _joined(
    both: Shared,
    motions: tuple[Motion, Motion],
    contacts: tuple[Sequence[Contact], Sequence[Contact]],
    match: FrameMatch,
    seconds: float | None,
) -> tuple[Transition, Blend]:
    """The transition before what stands is kept standing, and its blend."""
    first, second = motions
    length = seconds or 0.5 * float(np.ptp(match.first) + np.ptp(match.second))
    way = passage(match, first.fps, max(round(length * first.fps), 2), second.num_frames - 1)
    blended = blend(first, second, way, (lambda motion: both.home(0, motion), lambda motion: both.home(1, motion)))
    legs = leg_length(first.skeleton), leg_length(second.skeleton)
    standing = plants(blended, way, (_footings(both, 0, contacts[0]), _footings(both, 1, contacts[1])), min(legs))
    blended, notes = settled(blended, standing)
    found = Transition(
        motion=blended.motion,
        start=blended.start,
        end=blended.end,
        match=match,
        entry=blended.entry,
        turn=blended.turn,
        shift=blended.shift,
        plants=standing,
        solution=None,
        meta=both.meta,
        steps=_steps(blended.motion, blended, max(legs)),
        allowed=larger(worst_steps(both.home(0, first), legs[0]), worst_steps(both.home(1, second), legs[1])),
        leg=max(legs),
        notes=notes,
    )
    return found, blended


def _at_rate(motion: Motion, fps: float) -> tuple[Motion, list[str]]:
    """A motion at a rate, and what there is to say about it."""
    if abs(motion.fps - fps) <= 1e-4 * fps:
        return replace(motion, fps=fps), []
    said = f"the second motion is read at {fps:g} frames a second, the first one's rate, in place of {motion.fps:g}"
    return motion.resampled(fps), [said]


def _known(motion: Motion, given: Sequence[Contact] | None) -> tuple[Contact, ...]:
    return tuple(given) if given is not None else detect_contacts(motion, standing_points(motion))


def _footings(both: Shared, which: int, contacts: Sequence[Contact]) -> list[Footing]:
    """Contacts of limbs with the floor, on the skeleton of the result."""
    found = []
    for contact in contacts:
        limb = limb_name(both.correspondence, SIDES[which], contact.point.joint) if contact.on == "floor" else None
        if limb is not None:
            found.append(Footing(limb=limb, point=both.point(which, contact.point), contact=contact))
    return found


def _solved(joined: Transition, blended: Blend, spacing: float | None, watch: Watch) -> Transition:
    """The transition with what stands kept standing: of a softer and a stiffer solve, the one that steps least.

    Stiff keys leave less to be mended frame by frame, soft ones follow less of what cannot be followed; which is
    smoother depends on the motions, and trying both costs less than the rest.
    """
    begin = max(blended.start - 1, 0)
    asked = constraints(blended, joined.plants, begin)
    if not asked:
        return joined
    window = blended.motion[begin : blended.end + 2]
    problem, fps = Problem(actors=(Actor(motion=window),), constraints=asked), window.fps
    # Keys that reach out of the blend count for nothing: there must be enough that do not.
    spacing = spacing or min(choose_spacing(window), (blended.end - blended.start) / (KEYS * fps))
    between = Spacetime(spacing=spacing, hold=(blended.start - begin) / fps, until=(blended.end - begin) / fps)
    found = []
    for number, solves in enumerate(passes(spacing, fps)):
        watch("solving", 0.2 + 0.4 * number)
        now = problem
        for each in solves:
            solution = replace(between, levels=each).solve(now)
            now = replace(problem, actors=(Actor(motion=solution.motion),))
        motion = _spliced(blended, solution)
        found.append(replace(joined, motion=motion, solution=solution, steps=_steps(motion, blended, joined.leg)))
    return min(found, key=lambda each: (each.contact_error > KEPT, each.steps.over(each.allowed)))


def passes(spacing: float, fps: float) -> tuple[tuple[tuple[Level, ...], ...], ...]:
    """Two ways to solve, each of one or more solves after each other, with their levels.

    The usual one; and one with a stiffer band-limited level before the last. Where plants begin and end the last
    level, whose keys are the frames, changes suddenly: the less is left to it, the better.
    """
    soft, last = levels(spacing, fps)
    stiff = replace(soft, stiffness=STIFF, rate=min(4.0 / spacing, fps), gain=0.02)
    return ((soft, last),), ((soft,), (stiff, last))


def _spliced(blended: Blend, solution: Solution) -> Motion:
    """The whole motion with the frames between the ends of the blend as solved, and all others untouched."""
    inner = slice(blended.start + 1, blended.end)
    begin = max(blended.start - 1, 0)
    solved = solution.motion[inner.start - begin : inner.stop - begin]
    root, rotations = blended.motion.root.copy(), blended.motion.rotations.copy()
    root[inner], rotations[inner] = solved.root, solved.rotations
    return replace(blended.motion, root=root, rotations=rotations)


def _steps(motion: Motion, blended: Blend, leg: float) -> Steps:
    """The largest steps over the blend and into and out of it."""
    return worst_steps(motion[max(blended.start - 2, 0) : blended.end + 3], leg)


def _matched_on(match: FrameMatch) -> list[str]:
    if any(name.startswith("stance") for name in match.names):
        return []
    told = "posture, speed" if "posture" in match.names else "speed"
    return [f"no limb that both bodies have stands on the floor in both motions: matched by {told} and turning alone"]


def _loose(meta: Meta | None) -> list[str]:
    if meta is None or not meta.loose:
        return []
    named = ", ".join(f"`{name}`" for name in meta.loose[:6])
    return [f"the bodies hang {named} from different bones: those bones change length as they move"]
