"""Retargeting of long and live motions, window by window: output follows input with a fixed delay.

The solve of a window does not change frames that are already output: keys that reach them are zero. So new frames
continue them smoothly, and a foot that stands across the seam keeps its place. Only one window is in memory
[Lommers13, sec. 4.1 and 8.2].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, conjugate, exp, log, multiply
from understudy.base.records import record
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.place import Place
from understudy.correspondence.alignment import Alignment
from understudy.correspondence.carry import floor_carriers, put_on_floor, transfer_motion
from understudy.correspondence.detached import attach, change_parents
from understudy.correspondence.landing import Landing, find_landing, step_ratio
from understudy.correspondence.pairs import ContactContext
from understudy.figure.bands import TRUNK_SPACING, choose_spacing
from understudy.figure.contacts import Contact, Floor, contact_points, detect_contacts, find_floor
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion, join, rest_motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.retarget.actor import (
    ActorSpec,
    CorrespondenceLike,
    Reading,
    Source,
    Target,
    assign,
    in_memory,
    label_of,
)
from understudy.retarget.driver import find_contacts
from understudy.retarget.ground import contact_name, floor_constraints
from understudy.retarget.plan import Assignment, Options, plan
from understudy.solve.solvers.base import Solution
from understudy.solve.solvers.spacetime import Spacetime

FADE_SECONDS = 0.5
"""Time over which the offset from solved frames to the start of the new ones fades out."""


@record(eq=True)
class Window:
    """Lengths of the parts of one solve. Seconds."""

    step: float = 4.0
    """New frames that a window outputs."""
    ahead: float = 1.0
    """Look-ahead beyond these frames: the delay of a live stream is the step plus the look-ahead."""
    back: float = 1.0
    """Output frames that the window begins with, unchanged."""

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
    """Alignment with a target of another structure."""
    landing: Landing | None = None
    """Landing points of contacts on that target; found window by window if not given."""
    window: Window = field(default_factory=Window)
    options: Options = field(default_factory=Options)
    contacts: tuple[Contact, ...] | None = None
    """The source's contacts; detected in each window if not given."""
    floor: Floor | None = None
    """The ground; found in the first window with contacts if not given."""
    given_target: Skeleton | None = None
    """The target that the user gave; `target` may have feet attached to it for the solve."""
    unmet: list[str] = field(default_factory=list)
    """Constraints that a window did not meet, a sentence each."""
    _input: Motion | None = None
    """The source's frames that are still needed."""
    _input_start: int = 0
    """Frame number of the first of them."""
    _num_output: int = 0
    """Number of output frames."""
    _output: Motion | None = None
    """The last output frames, as many as a window begins with."""
    _look_ahead: Motion | None = None
    """The last window's solution of its look-ahead frames: the start of the next window's solve."""
    _points: tuple[Point, ...] = ()
    _lowest_contacts: list[Contact] = field(default_factory=list)
    """The lowest contact of each point so far."""

    def __repr__(self) -> str:
        names = f"{self.source.name or 'unnamed'} to {self.target.name or 'unnamed'}"
        return f"<Stream {names} at {self.fps:g} fps: {self._num_output} frames given out>"

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
        """Open a stream between two characters, matched as `retarget` matches them.

        Args:
            source: The character of the input: a file, a sample, a clip, a motion or a skeleton.
            target: The character of the output: a file, a sample, a clip or a skeleton.
            fps: Frame rate of the input; that of the source if not given.
            window: Lengths of the windows.
            options: Options of the retarget.
            correspondence: Which bones correspond; suggested if not given.
            align: Mode of the alignment; chosen if not given.
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
        """Add frames of the source, and return the target's frames that are ready, one motion per window."""
        if abs(frames.fps - self.fps) > 1e-6 * self.fps:
            raise OptionError(f"Expected frames at {self.fps:g} a second, got {frames.fps:g}")
        self._input = frames if self._input is None else join(self._input, frames)
        ready = []
        step, ahead = max(round(self.window.step * self.fps), 1), round(self.window.ahead * self.fps)
        while self._input_start + self._input.num_frames >= self._num_output + step + ahead:
            ready.append(self._on_given_target(self._solve(step, self._num_output + step + ahead)))
        return ready

    def finish(self) -> list[Motion]:
        """Solve and return the remaining frames."""
        if self._input is None or self._input_start + self._input.num_frames <= self._num_output:
            return []
        end = self._input_start + self._input.num_frames
        return [self._on_given_target(self._solve(end - self._num_output, end))]

    def _on_given_target(self, motion: Motion) -> Motion:
        """A window's motion on the target that the user gave."""
        given = self.given_target
        if given is not None and self.alignment is not None:
            motion = put_on_floor(motion, "follow")
        return motion if given is None or attach(given) is given else change_parents(motion, given)

    def _solve(self, count: int, end: int) -> Motion:
        """Solve the next window, up to frame `end`, and return its first `count` new frames."""
        assert self._input is not None
        back = min(round(self.window.back * self.fps), self._num_output)
        begin = self._num_output - back
        part = self._input[begin - self._input_start : end - self._input_start]
        result = self._retarget(part, begin, back)
        output = result[back : back + count]
        self._look_ahead = result[back + count :] if result.num_frames > back + count else None
        self._num_output += count
        back = min(round(self.window.back * self.fps), self._num_output)
        self._output = (output if self._output is None else join(self._output, output))[-back:] if back else None
        drop = self._num_output - back - self._input_start
        self._input = self._input[drop:] if drop < self._input.num_frames else None
        self._input_start += drop
        return output

    def _retarget(self, part: Motion, begin: int, back: int) -> Motion:
        """The target's motion over a window whose first `back` frames are already output."""
        contacts = self._window_contacts(part, begin)
        if self.floor is None and contacts:
            self.floor = find_floor(contacts, leg_length(part.skeleton))
        seam_names, seam_plants = self._seam_contacts(part, contacts, back)
        options = replace(self.options, floor=False)
        assignment = Assignment(
            motion=part, target=self.target, alignment=self.alignment, landing=self.landing,
            carriers=() if self.alignment is None else floor_carriers(self.alignment.correspondence),
        )  # fmt: skip
        window_plan = plan([assignment], contacts=contacts, options=options, floor=self.floor)
        start = window_plan.starts[0]
        hold = -np.inf
        if back and self._output is not None:
            hold = (back - 1) / self.fps
            solved = self._output[-back:] if self._look_ahead is None else join(self._output[-back:], self._look_ahead)
            start = continued(start, solved, round(FADE_SECONDS * self.fps))
        floor = self._floor_constraints(part, contacts, window_plan.starts[0]) if self.options.floor else ()
        constraints = (*(c for c in window_plan.constraints if c.name not in seam_names), *seam_plants, *floor)
        constraints = tuple(_from(c, back / self.fps) for c in constraints if len(c.frames(part.times[back:])))
        spacing = self.options.spacing or choose_spacing(part)
        # As in a whole solve. After a held part, keys so wide could not follow for a second.
        is_wide = self.options.spacing is None and self.options.plants != "fixed" and not np.isfinite(hold)
        solver = Spacetime(spacing=spacing, hold=hold, trunk_spacing=max(TRUNK_SPACING, spacing) if is_wide else None)
        solution = replace(window_plan, starts=(start,), constraints=constraints).solve(solver)
        self._record_unmet(solution, begin)
        return solution.motion

    def _window_contacts(self, part: Motion, begin: int) -> tuple[Contact, ...]:
        """The contacts of a window, in seconds from its first frame."""
        if self.contacts is None:
            self._points = self._points or contact_points(part)
            return self._land_contacts(part, detect_contacts(part, self._points, self.options.detection))
        shift, last = begin / self.fps, part.duration
        shifted = [replace(c, start=c.start - shift, end=c.end - shift) for c in self.contacts]
        inside = [c for c in shifted if c.end >= 0.0 and c.start <= last]
        return tuple(replace(c, start=max(c.start, 0.0), end=min(c.end, last)) for c in inside)

    def _land_contacts(self, part: Motion, contacts: tuple[Contact, ...]) -> tuple[Contact, ...]:
        """The contacts of a target of another structure. Their landing points stay the same in later windows."""
        if self.alignment is None:
            return contacts
        floor = self.floor or find_floor(contacts, leg_length(part.skeleton))
        landing = _transferred_landing(part, contacts, self.alignment, floor)
        last = self.landing or landing
        self.landing = replace(landing, points={**last.points, **landing.points}, rises={**landing.rises, **last.rises})
        return landing.contacts

    def _floor_constraints(self, part: Motion, contacts: Sequence[Contact], start: Motion) -> list[Constraint]:
        """Constraints that keep a body above the height of its lowest contacts so far, so that windows agree."""
        context = replace(self._contact_context(part), start=start)
        candidates = [*(self.contacts or self._lowest_contacts), *contacts]
        lowest = {c.point.name: c for c in sorted(candidates, key=_depth) if c.place is not None and c.on == "floor"}
        self._lowest_contacts = list(lowest.values())
        # Before the window they only set heights, and do not pause constraints.
        outside = [replace(c, start=-2.0, end=-1.0) for c in lowest.values()]
        return floor_constraints(context, [*outside, *contacts])

    def _contact_context(self, part: Motion) -> ContactContext:
        floor = self.floor or Floor(slope=np.zeros(2))
        return ContactContext(
            source=part, target=self.target, floor=floor, landing=self.landing, alignment=self.alignment
        )

    def _seam_contacts(
        self, part: Motion, contacts: Sequence[Contact], back: int
    ) -> tuple[set[str], tuple[Constraint, ...]]:
        """Names of the contacts that begin before the new frames, and constraints that hold those that continue."""
        seam = (back - 0.5) / self.fps
        if not back or self._output is None:
            return set(), ()
        context, last_pose = self._contact_context(part), fk(self._output[-1:])
        names, plants = set(), []
        for contact in contacts:
            if contact.start >= seam or contact.place is None:
                continue
            names.add(contact_name(contact))
            if contact.end > seam:
                point = context.point(contact.point)
                place = last_pose.points([point])[0, 0]
                name = f"{point.name} stays"
                plants.append(
                    Place(point=PointRef(point=point), target=place, start=contact.start, end=contact.end, name=name)
                )
        return names, tuple(plants)

    def _record_unmet(self, solution: Solution, begin: int) -> None:
        shift = begin / self.fps
        for outcome in solution.unmet:
            point = (*outcome.constraint.point_refs(), *outcome.constraint.joints())[0].point
            name = point if isinstance(point, str) else point.name
            self.unmet.append(
                f"{outcome.constraint.kind} of `{name}` is off by {outcome.worst:.3g} at {outcome.time + shift:.2f} s"
            )


def _transferred_landing(motion: Motion, contacts: Sequence[Contact], alignment: Alignment, floor: Floor) -> Landing:
    """Landing points of a motion's contacts on a target of another structure."""
    transferred = transfer_motion(motion, alignment, floor=floor, ratio=step_ratio(alignment))
    return find_landing(motion, contacts, alignment, transferred, floor)


def _depth(contact: Contact) -> float:
    """Sort key that puts the lowest contact last."""
    return 0.0 if contact.place is None else -float(contact.place[1])


def _from(constraint: Constraint, seam: float) -> Constraint:
    """The constraint restricted to times from the seam on."""
    if constraint.instants:
        return replace(constraint, instants=tuple(t for t in constraint.instants if t >= seam - 1e-6))
    return replace(constraint, start=max(constraint.start, seam))


def continued(start: Motion, solved: Motion, fade: int) -> Motion:
    """A start with its first frames replaced by solved ones; the offset at the seam fades out over `fade` frames."""
    frames = np.arange(start.num_frames)
    last = solved.num_frames - 1
    turn = log(multiply(conjugate(start.rotations[last]), solved.rotations[-1]))
    shift = solved.root[-1] - start.root[last]
    share = np.clip((frames - last) / max(fade, 1), 0.0, 1.0)
    ease: Array = 1.0 - share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    rotations = multiply(start.rotations, exp(ease[:, None, None] * turn))
    # The horizontal offset does not fade: fading it would slide the feet.
    root = start.root + shift * np.where([True, False, True], 1.0, ease[:, None])
    rotations[: last + 1], root[: last + 1] = solved.rotations, solved.root
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
        window: Lengths of the windows.
        options: Options of the retarget.
        reading: Options for reading files.
        contacts: The source's contacts; detected if not given.
        correspondence: Which bones correspond; suggested if not given.
        align: Mode of the alignment; chosen if not given.
        target_motion: A motion of the target that shows how it stands, if its skeleton does not.

    Returns:
        The target's motion, and a sentence for each constraint that is not met.
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
        landing = _transferred_landing(motion, contacts, alignment, floor or Floor(slope=np.zeros(2)))
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
