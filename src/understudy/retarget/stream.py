"""Long motions and live ones: retargeting in windows, frames out as they come in, a fixed look-ahead behind.

A window is solved with what was already given out held as it is: keys that would change it are zero, so what follows
leaves it smoothly, and a foot that stands across the seam stays where it stands. Memory is that of one window
[Lommers13, sec. 4.1 and 8.2].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, conjugate, exp, log, multiply
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.place import Place
from understudy.correspondence.alignment import Alignment
from understudy.correspondence.carry import transfer_motion
from understudy.correspondence.detached import attach, change_parents
from understudy.correspondence.landing import Landing, find_landing, step_ratio
from understudy.correspondence.pairs import ContactContext
from understudy.figure.bands import choose_spacing
from understudy.figure.contacts import Contact, Floor, contact_points, detect_contacts, find_floor
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion, join, rest_motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.retarget.actor import CorrespondenceLike, Source, Target, assign, in_memory, label_of
from understudy.retarget.driver import find_contacts
from understudy.retarget.plan import Assignment, Options, plan
from understudy.retarget.plants import contact_name, floor_constraints
from understudy.retarget.spec import ActorSpec, Reading
from understudy.solve.solvers.base import Solution
from understudy.solve.solvers.spacetime import Spacetime

FADE = 0.5
"""Seconds over which the change of what is known eases into what is new."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """How much is solved at a time. Seconds."""

    step: float = 4.0
    """What each window adds."""
    ahead: float = 1.0
    """How far beyond that it looks: the delay of a live stream is the step and this."""
    back: float = 1.0
    """How much of what was given out it sees."""

    def __post_init__(self) -> None:
        if not (self.step > 0.0 and self.ahead >= 0.0 and self.back >= 0.0):
            raise OptionError(f"Expected window times above zero, got {self}")


@dataclass(eq=False, kw_only=True)
class Stream:
    """A retarget in progress: frames of the source in, frames of the target out."""

    source: Skeleton
    target: Skeleton
    fps: float
    alignment: Alignment | None = None
    """How a target of another structure corresponds."""
    landing: Landing | None = None
    """Where on it contacts go; found as they come if they are not known beforehand."""
    window: Window = field(default_factory=Window)
    options: Options = field(default_factory=Options)
    contacts: tuple[Contact, ...] | None = None
    """The source's contacts, if they are known beforehand; found in each window otherwise."""
    floor: Floor | None = None
    """The ground, if it is known; that of the first window with contacts otherwise."""
    given_target: Skeleton | None = None
    """The target as the user has it, where feet were attached to it for the solve."""
    unmet: list[str] = field(default_factory=list)
    """What windows could not meet, a sentence each."""
    _frames: Motion | None = None
    """The source's frames still needed."""
    _first: int = 0
    """Number of the first of them."""
    _done: int = 0
    """Frames given out."""
    _given: Motion | None = None
    """The last frames given out, as far as windows look back."""
    _ahead: Motion | None = None
    """What the last window made of the frames that it looked ahead to: where the next one starts."""
    _points: tuple[Point, ...] = ()
    _seen: list[Contact] = field(default_factory=list)
    """Of each point the lowest contact so far."""

    def __repr__(self) -> str:
        names = f"{self.source.name or 'unnamed'} to {self.target.name or 'unnamed'}"
        return f"<Stream {names} at {self.fps:g} fps: {self._done} frames given out>"

    @staticmethod
    def open(
        source: Source | Skeleton,
        target: Target,
        *,
        fps: float | None = None,
        window: Window | None = None,
        options: Options | None = None,
        correspondence: CorrespondenceLike | None = None,
        align: Literal["direction", "stance"] | None = None,
    ) -> Stream:
        """A stream between two characters, matched as `retarget` matches them.

        Args:
            source: Who will send frames: a file, a sample, a clip, a motion, or a skeleton.
            target: Who performs them: a file, a sample, a clip or a skeleton.
            fps: Frames a second that will be sent; the source's own if not given.
            window: How much is solved at a time.
            options: What to keep and how.
            correspondence: Which bones correspond; found if not given.
            align: How the two are aligned; chosen if not given.
        """
        if isinstance(source, Skeleton):
            if fps is None:
                raise OptionError("A skeleton has no frame rate: say how many frames a second will be sent (fps=30)")
            source = replace(rest_motion(source), fps=fps)
        spec = ActorSpec(source=label_of(source), target=label_of(target), align=align)
        actor = in_memory(spec, Reading(), source, target)
        assignment, _ = assign(actor, correspondence=correspondence)
        return Stream(
            source=actor.motion.skeleton,
            target=actor.target,
            fps=actor.motion.fps if fps is None else fps,
            window=window or Window(),
            options=options or Options(),
            alignment=assignment.alignment,
            given_target=actor.clip.skeleton,
        )

    def push(self, frames: Motion) -> list[Motion]:
        """Take more frames of the source; give the frames of the target that are ready, a motion each window."""
        if abs(frames.fps - self.fps) > 1e-6 * self.fps:
            raise OptionError(f"Expected frames at {self.fps:g} a second, got {frames.fps:g}")
        self._frames = frames if self._frames is None else join(self._frames, frames)
        ready = []
        step, ahead = max(round(self.window.step * self.fps), 1), round(self.window.ahead * self.fps)
        while self._first + self._frames.num_frames >= self._done + step + ahead:
            ready.append(self._given_out(self._solve(step, self._done + step + ahead)))
        return ready

    def finish(self) -> list[Motion]:
        """The frames that are left."""
        if self._frames is None or self._first + self._frames.num_frames <= self._done:
            return []
        end = self._first + self._frames.num_frames
        return [self._given_out(self._solve(end - self._done, end))]

    def _given_out(self, motion: Motion) -> Motion:
        """A window's motion on the target as the user has it."""
        given = self.given_target
        return motion if given is None or attach(given) is given else change_parents(motion, given)

    def _solve(self, count: int, end: int) -> Motion:
        """Solve the next window, up to a frame, and give out so many frames."""
        assert self._frames is not None
        back = min(round(self.window.back * self.fps), self._done)
        begin = self._done - back
        part = self._frames[begin - self._first : end - self._first]
        result = self._retarget(part, begin, back)
        given = result[back : back + count]
        self._ahead = result[back + count :] if result.num_frames > back + count else None
        self._done += count
        keep = min(round(self.window.back * self.fps), self._done)
        self._given = (given if self._given is None else join(self._given, given))[-keep:] if keep else None
        drop = self._done - keep - self._first
        self._frames = self._frames[drop:] if drop < self._frames.num_frames else None
        self._first += drop
        return given

    def _retarget(self, part: Motion, begin: int, back: int) -> Motion:
        """The target's motion over a window whose first frames are given out already."""
        contacts = self._window_contacts(part, begin)
        if self.floor is None and contacts:
            self.floor = find_floor(contacts, leg_length(part.skeleton))
        across, pinned = self._split(part, contacts, back)
        options = replace(self.options, floor=False)
        role = Assignment(motion=part, target=self.target, alignment=self.alignment, landing=self.landing)
        drawn = plan([role], contacts=contacts, options=options, floor=self.floor)
        start = drawn.starts[0]
        hold = -np.inf
        if back and self._given is not None:
            hold = (back - 1) / self.fps
            known = self._given[-back:] if self._ahead is None else join(self._given[-back:], self._ahead)
            start = continued(start, known, round(FADE * self.fps))
        kept = tuple(c for c in drawn.constraints if c.name not in across)
        made = (*kept, *pinned, *(self._floor(part, contacts, drawn.starts[0]) if self.options.floor else ()))
        constraints = tuple(_from(c, back / self.fps) for c in made if len(c.frames(part.times[back:])))
        solver = Spacetime(spacing=self.options.spacing or choose_spacing(part), hold=hold)
        solution = replace(drawn, starts=(start,), constraints=constraints).solve(solver)
        self._note(solution, begin)
        return solution.motion

    def _window_contacts(self, part: Motion, begin: int) -> tuple[Contact, ...]:
        """The contacts of a window, in its own time."""
        if self.contacts is None:
            self._points = self._points or contact_points(part)
            return self._landed(part, detect_contacts(part, self._points, self.options.detection))
        shift, last = begin / self.fps, part.duration
        moved = [replace(c, start=c.start - shift, end=c.end - shift) for c in self.contacts]
        inside = [c for c in moved if c.end >= 0.0 and c.start <= last]
        return tuple(replace(c, start=max(c.start, 0.0), end=min(c.end, last)) for c in inside)

    def _landed(self, part: Motion, contacts: tuple[Contact, ...]) -> tuple[Contact, ...]:
        """Contacts as a target of another structure makes them; where they go is kept for later windows."""
        if self.alignment is None:
            return contacts
        landing = landed(part, contacts, self.alignment, self.floor or find_floor(contacts, leg_length(part.skeleton)))
        before = self.landing or landing
        self.landing = replace(
            landing, points={**before.points, **landing.points}, rises={**landing.rises, **before.rises}
        )
        return landing.contacts

    def _floor(self, part: Motion, contacts: Sequence[Contact], start: Motion) -> list[Constraint]:
        """What keeps a body above the floor: as low as any contact so far stood, so that windows agree."""
        stage = replace(self._stage(part), start=start)
        everything = [*(self.contacts or self._seen), *contacts]
        lowest = {c.point.name: c for c in sorted(everything, key=_height) if c.place is not None and c.on == "floor"}
        self._seen = list(lowest.values())
        apart = [replace(c, start=-2.0, end=-1.0) for c in lowest.values()]
        return floor_constraints(stage, [*apart, *contacts])

    def _stage(self, part: Motion) -> ContactContext:
        floor = self.floor or Floor(slope=np.zeros(2))
        return ContactContext(source=part, target=self.target, floor=floor, landing=self.landing)

    def _split(self, part: Motion, contacts: Sequence[Contact], back: int) -> tuple[set[str], tuple[Constraint, ...]]:
        """The names of contacts that begin before what is new, and those that go on, pinned where they stand."""
        seam = (back - 0.5) / self.fps
        if not back or self._given is None:
            return set(), ()
        stage = self._stage(part)
        last = fk(self._given[-1:])
        across, pinned = set(), []
        for contact in contacts:
            if contact.start >= seam or contact.place is None:
                continue
            across.add(contact_name(contact))
            if contact.end > seam:
                point = stage.point(contact.point)
                place = last.points([point])[0, 0]
                name = f"{point.name} stays"
                pinned.append(
                    Place(point=PointRef(point=point), target=place, start=contact.start, end=contact.end, name=name)
                )
        return across, tuple(pinned)

    def _note(self, solution: Solution, begin: int) -> None:
        shift = begin / self.fps
        for outcome in solution.unmet:
            refs = (*outcome.constraint.point_refs(), *outcome.constraint.joints())
            named = refs[0].point if isinstance(refs[0].point, str) else refs[0].point.name
            self.unmet.append(
                f"{outcome.constraint.kind} of `{named}` is off by {outcome.worst:.3g} at {outcome.time + shift:.2f} s"
            )


def landed(motion: Motion, contacts: Sequence[Contact], alignment: Alignment, floor: Floor) -> Landing:
    """Where the contacts of a motion go on a target of another structure."""
    return find_landing(
        motion, contacts, alignment, transfer_motion(motion, alignment, floor=floor, ratio=step_ratio(alignment)), floor
    )


def _height(contact: Contact) -> float:
    """For sorting, highest first: the last of a name is its lowest."""
    return 0.0 if contact.place is None else -float(contact.place[1])


def _from(constraint: Constraint, seam: float) -> Constraint:
    """A constraint that holds from the seam on."""
    if constraint.instants:
        return replace(constraint, instants=tuple(t for t in constraint.instants if t >= seam - 1e-6))
    return replace(constraint, start=max(constraint.start, seam))


def continued(start: Motion, known: Motion, fade: int) -> Motion:
    """A start whose first frames are those known, and that eases back to itself over `fade` frames."""
    frames = np.arange(start.num_frames)
    last = known.num_frames - 1
    turn = log(multiply(conjugate(start.rotations[last]), known.rotations[-1]))
    move = known.root[-1] - start.root[last]
    share = np.clip((frames - last) / max(fade, 1), 0.0, 1.0)
    ease: Array = 1.0 - share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    rotations = multiply(start.rotations, exp(ease[:, None, None] * turn))
    # The path keeps the offset: easing it back would slide the feet.
    root = start.root + move * np.where([True, False, True], 1.0, ease[:, None])
    rotations[: last + 1], root[: last + 1] = known.rotations, known.root
    return replace(start, rotations=rotations, root=root)


def retarget_in_windows(
    source: Source,
    target: Target,
    *,
    window: Window | None = None,
    options: Options | None = None,
    reading: Reading | None = None,
    contacts: Sequence[Contact] | None = None,
    correspondence: CorrespondenceLike | None = None,
    align: Literal["direction", "stance"] | None = None,
    target_motion: Motion | None = None,
) -> tuple[Motion, list[str]]:
    """Retarget a long motion window by window.

    Args:
        source: The motion: a file, a sample, a clip or a motion.
        target: The character: a file, a sample, a clip or a skeleton.
        window: How much is solved at a time.
        options: What to keep and how.
        reading: How files are read.
        contacts: The source's contacts; found if not given.
        correspondence: Which bones correspond; found if not given.
        align: How the two are aligned; chosen if not given.
        target_motion: Something that the target does, where its skeleton alone does not show how it stands.

    Returns:
        The target's motion, and what could not be met, a sentence each.
    """
    options = options or Options()
    spec = ActorSpec(source=label_of(source), target=label_of(target), align=align)
    actor = in_memory(spec, reading or Reading(), source, target, target_motion=target_motion)
    assignment, _ = assign(actor, correspondence=correspondence)
    motion, alignment, landing = actor.motion, assignment.alignment, None
    if contacts is None:
        contacts = find_contacts([actor], options)
    floor = find_floor(contacts, leg_length(motion.skeleton)) if contacts else None
    if alignment is not None:
        landing = landed(motion, contacts, alignment, floor or Floor(slope=np.zeros(2)))
        contacts = landing.contacts
    stream = Stream(
        source=motion.skeleton,
        target=actor.target,
        fps=motion.fps,
        window=window or Window(),
        options=options,
        contacts=tuple(contacts),
        floor=floor,
        alignment=alignment,
        landing=landing,
    )
    parts: list[Motion] = []
    step = max(round(stream.window.step * motion.fps), 1)
    for first in range(0, motion.num_frames, step):
        parts += stream.push(motion[first : first + step])
    parts += stream.finish()
    whole = parts[0]
    for part in parts[1:]:
        whole = join(whole, part)
    return actor.on_given_target(whole), stream.unmet
