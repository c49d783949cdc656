"""The result of a transition: two clips, and the motion that blends from the first into the second."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from understudy.base.errors import OptionError
from understudy.base.fields import FieldError, convert
from understudy.base.records import record
from understudy.correspondence.map_file import pairs_only_namesakes
from understudy.correspondence.pairs import Correspondence, Pair
from understudy.io import Clip
from understudy.recipe.guards import transition_failures, transition_report
from understudy.retarget.actor import ActorData
from understudy.retarget.driver import ProgressCallback
from understudy.retarget.live import MAX_WHOLE_MOTION_FPS, thin_actor
from understudy.retarget.quality import measure_violations
from understudy.studio.bones import read_correspondence
from understudy.studio.performance import quality_table, title
from understudy.studio.scene import Message, ShownBody, SolveResult, Table, empty_result, find_standing
from understudy.studio.tracks import plain_tracks
from understudy.studio.wording import page_hints, page_words
from understudy.transition import Transition, transition
from understudy.transition.meta_skeleton import mergeable

MAX_CONTACT_ERROR_METRES = 2e-3
"""A larger error of a kept contact gives a warning."""

MAX_STEP_RATIO = 1.05
"""Largest step of a joint in the blend, relative to the largest in the two motions, without a warning."""


@record
class TransitionResult(SolveResult):
    """A finished transition."""

    transition: Transition
    clips: tuple[ActorData, ActorData]
    seconds: float
    notes: tuple[str, ...] = ()
    live: bool = False

    @property
    def shown_bodies(self) -> tuple[ShownBody, ...]:
        label = " into ".join(title(clip.spec.source) for clip in self.clips)
        first, second = (clip_body(which, clip) for which, clip in zip(("first", "second"), self.clips, strict=True))
        motion = self.transition.motion
        # Between bodies of different structure the result changes from one into the other, and no skin fits it.
        meshes = first.meshes if self.transition.meta is None and motion.skeleton.names == first.bound.names else ()
        result = ShownBody(
            which="result", label=label, motion=motion, meshes=meshes, skeleton=first.bound if meshes else None
        )
        return first, second, result

    def motions(self, live: bool = False) -> list[Message]:
        shown = self.shown_bodies[-1:] if live and self.live else self.shown_bodies
        return [body.message() for body in shown]

    def result(self, seq: int | None = None) -> Table:
        transition, fps, duration = self.transition, self.transition.motion.fps, self.transition.motion.duration
        match = transition.match
        text = (
            f"leaves the first at {match.leave:.2f} s and enters the second at {match.enter:.2f} s; "
            f"{len(transition.plants)} contacts kept, worst {1000 * transition.contact_error:.2f} mm"
        )
        table = empty_result(seq, text, self.seconds)
        table["blend"] = {
            "start": transition.start / fps,
            "end": transition.end / fps,
            "leave": float(match.leave),
            "enter": float(match.enter),
        }
        if transition.solution is not None:
            begin = max(transition.start - 1, 0) / fps
            violations = measure_violations(transition.solution.problem, transition.solution.motions, quickly=self.live)
            table["tracks"] = plain_tracks(violations, duration, shift=begin)
            table["conflicts"] = list(transition.solution.conflicts)
        if not self.live:
            first, second = (clip.motion for clip in self.clips)
            faults = transition_failures(transition, first, second)
            report = transition_report(transition, first, second, faults)
            table["faults"] = faults
            table["text"] = f"{report.conclusion}; {text}"
            table["warnings"] = [*page_hints(report.hints, page_words), *self._warnings()]
        return table

    def _warnings(self) -> list[str]:
        warnings = []
        if self.transition.contact_error > MAX_CONTACT_ERROR_METRES:
            worst = 1000 * self.transition.contact_error
            warnings.append(f"a contact is off by {worst:.1f} mm: try other times or a longer blend")
        step = self.transition.steps.over(self.transition.allowed)
        if step > MAX_STEP_RATIO:
            warnings.append(f"a joint moves {step:.2f} times as far per frame as in both motions: try a longer blend")
        return warnings

    def clip(self, which: str) -> Clip:
        if which != "result":
            actor = self.clips[0 if self.shown_body(which).which == "first" else 1]
            return replace(actor.clip, skeleton=actor.motion.skeleton, motion=actor.motion, notes=(), dropped=())
        if self.transition.meta is not None:
            return Clip.of(self.transition.motion)
        first_clip, motion = self.clips[0].clip, self.transition.motion
        return replace(first_clip, skeleton=motion.skeleton, motion=motion, notes=(), dropped=())

    def quality(self, which: str) -> Table:
        return quality_table(which, self.shown_body(which).motion)


def make_transition(
    choice: Table, clips: tuple[ActorData, ActorData], pairs: object, watch: ProgressCallback, *, live: bool = False
) -> TransitionResult:
    """Make the transition of a document; during a drag at a low frame rate."""
    began = perf_counter()
    full_clips = clips
    if live:
        clips = thin_actor(clips[0], MAX_WHOLE_MOTION_FPS), thin_actor(clips[1], MAX_WHOLE_MOTION_FPS)
    times = {key: _read_seconds(choice, key) for key in ("leave", "enter", "seconds")}
    for key, clip in (("leave", clips[0]), ("enter", clips[1])):
        time, last = times[key], clip.motion.duration
        if time is not None and not 0.0 <= time <= last:
            message = f"expected a time from 0 to {last:.2f} s, the end of the motion; got {time:g} s"
            raise FieldError(message, ("transition", key))
    correspondence, pair_notes = fit_pairs(pairs, clips)
    try:
        blended = transition(
            clips[0].motion,
            clips[1].motion,
            correspondence=correspondence,
            leave=times["leave"],
            enter=times["enter"],
            seconds=times["seconds"],
            contacts=(clips[0].contacts, clips[1].contacts),
            watch=watch,
        )
    except OptionError as error:
        raise FieldError(error.message, ("transition",), hint=error.hint) from None
    notes = (*clips[0].notes, *clips[1].notes, *pair_notes, *blended.notes)
    seconds = perf_counter() - began
    return TransitionResult(transition=blended, clips=full_clips, seconds=seconds, notes=notes, live=live)


def _read_seconds(choice: Table, key: str) -> float | None:
    try:
        return None if choice.get(key) is None else float(convert(choice[key], float))
    except FieldError as error:
        raise FieldError(error.message, ("transition", key)) from None


def fit_pairs(pairs: object, clips: tuple[ActorData, ActorData]) -> tuple[Correspondence | None, tuple[str, ...]]:
    """The document's pairs, reduced to those that a common skeleton can merge, and notes.

    Pairs made by hand are not dropped, so that the transition reports them. Pairs that do not fit the two bodies belong
    to another mode and are ignored.
    """
    if not isinstance(pairs, list) or not pairs:
        return None, ()
    first, second = (clip.motion.skeleton for clip in clips)
    try:
        correspondence = read_correspondence(pairs, first, second)
    except FieldError as error:
        return None, (f"the bone pairs of the document do not fit these bodies and are ignored ({error.message})",)
    if pairs_only_namesakes(correspondence):
        return None, ()
    mergeable_pairs, notes = mergeable(correspondence)
    dropped = [pair for pair in correspondence.pairs if pair not in mergeable_pairs.pairs]
    return (correspondence, ()) if any(pair.reason == Pair.reason for pair in dropped) else (mergeable_pairs, notes)


def clip_body(which: str, actor: ActorData) -> ShownBody:
    """A clip as it is displayed, unchanged."""
    fits = actor.clip.skeleton.names == actor.motion.skeleton.names
    return ShownBody(
        which=which,
        label=title(actor.spec.source),
        motion=actor.motion,
        meshes=actor.clip.shown_meshes() if fits else (),
        standing=find_standing(actor.contacts or (), actor.motion),
    )
