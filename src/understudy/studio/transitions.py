"""Transitions on the stage: two clips and the one that goes over from the first into the second."""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import perf_counter

from understudy.base.errors import OptionError
from understudy.base.fields import FieldError
from understudy.correspondence.map_file import is_plain
from understudy.correspondence.pairs import Correspondence, Pair
from understudy.io import Clip
from understudy.recipe.guards import transition_failures
from understudy.retarget.actor import ActorData
from understudy.solve.solvers.base import Watch
from understudy.studio.bones import correspondence_of
from understudy.studio.live import WHOLE, thinned
from understudy.studio.performance import quality_table, title
from understudy.studio.scene import Message, Performer, Table, Work, empty_result, standing_of
from understudy.studio.tracks import look, plain_tracks
from understudy.transition import Transition, transition
from understudy.transition.meta_skeleton import mergeable

KEPT = 2e-3
"""Metres within which a contact counts as kept."""

STEP = 1.05
"""Times the motions' own worst step from which on a joint steps too far over the blend."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TransitionResult(Work):
    """A transition, made."""

    found: Transition
    clips: tuple[ActorData, ActorData]
    seconds: float
    notes: tuple[str, ...] = ()
    live: bool = False

    @property
    def performers(self) -> tuple[Performer, ...]:
        result = Performer(which="result", label=" into ".join(title(c.spec.source) for c in self.clips),
                           motion=self.found.motion)  # fmt: skip
        return (*(clip_performer(which, clip) for which, clip in zip(("first", "second"), self.clips)), result)

    def motions(self, live: bool = False) -> list[Message]:
        shown = self.performers[-1:] if live and self.live else self.performers
        return [each.message() for each in shown]

    def result(self, seq: int | None = None) -> Table:
        found, fps, duration = self.found, self.found.motion.fps, self.found.motion.duration
        match = found.match
        text = (
            f"leaves the first at {match.leave:.2f} s and enters the second at {match.enter:.2f} s; "
            f"{len(found.plants)} contacts kept, worst {1000 * found.contact_error:.2f} mm"
        )
        table = empty_result(seq, text, self.seconds)
        table["blend"] = {
            "start": found.start / fps, "end": found.end / fps, "leave": float(match.leave), "enter": float(match.enter)
        }  # fmt: skip
        if found.solution is not None:
            begin = max(found.start - 1, 0) / fps
            held = look(found.solution.problem, found.solution.motions, quickly=self.live)
            table["tracks"] = plain_tracks(held, duration, shift=begin)
            table["conflicts"] = list(found.solution.conflicts)
        if not self.live:
            first, second = (clip.motion for clip in self.clips)
            table["faults"] = list(transition_failures(found, first, second))
            table["warnings"] = self._warnings()
        return table

    def _warnings(self) -> list[str]:
        said = []
        if self.found.contact_error > KEPT:
            worst = 1000 * self.found.contact_error
            said.append(f"a contact is off by {worst:.1f} mm: other moments, or a longer blend, may suit it")
        step = self.found.steps.over(self.found.allowed)
        if step > STEP:
            said.append(f"a joint steps {step:.2f} times as far as in the motions themselves: try a longer blend")
        return said

    def clip(self, which: str) -> Clip:
        if which != "result":
            clip = self.clips[0 if self.performer(which).which == "first" else 1]
            return replace(clip.clip, skeleton=clip.motion.skeleton, motion=clip.motion, notes=(), dropped=())
        if self.found.meta is not None:
            return Clip.of(self.found.motion)
        first = self.clips[0].clip
        return replace(first, skeleton=self.found.motion.skeleton, motion=self.found.motion, notes=(), dropped=())

    def quality(self, which: str) -> Table:
        return quality_table(which, self.performer(which).motion)


def go_over(
    choice: Table, clips: tuple[ActorData, ActorData], pairs: object, watch: Watch, *, live: bool = False
) -> TransitionResult:
    """Make the transition that a document chooses; while a moment is dragged at a low rate."""
    began = perf_counter()
    whole = clips
    if live:
        clips = thinned(clips[0], WHOLE), thinned(clips[1], WHOLE)
    for key, clip in (("leave", clips[0]), ("enter", clips[1])):
        moment, last = choice.get(key), clip.motion.duration
        if moment is not None and not 0.0 <= moment <= last:
            raise FieldError(
                f"expected a moment from 0 to {last:.2f} s, where the motion ends; got {moment:g} s",
                ("transition", key),
            )
    given, said = given_pairs(pairs, clips)
    try:
        found = transition(
            clips[0].motion,
            clips[1].motion,
            correspondence=given,
            leave=choice.get("leave"),
            enter=choice.get("enter"),
            seconds=choice.get("seconds"),
            contacts=(clips[0].contacts, clips[1].contacts),
            watch=watch,
        )
    except OptionError as error:
        raise FieldError(error.message, ("transition",), hint=error.hint) from None
    notes = (*clips[0].notes, *clips[1].notes, *said, *found.notes)
    return TransitionResult(found=found, clips=whole, seconds=perf_counter() - began, notes=notes, live=live)


def given_pairs(pairs: object, clips: tuple[ActorData, ActorData]) -> tuple[Correspondence | None, tuple[str, ...]]:
    """The document's pairs where they are of these two bodies, narrowed to what can become one bone, and what is said.

    Pairs that somebody made by hand are left to be refused; those of other bodies are of another mode.
    """
    if not isinstance(pairs, list) or not pairs:
        return None, ()
    first, second = (clip.motion.skeleton for clip in clips)
    try:
        whole = correspondence_of(pairs, first, second)
    except FieldError as error:
        return None, (f"the bone pairs of the document are not of these bodies, and left aside ({error.message})",)
    if is_plain(whole):
        return None, ()
    narrowed, said = mergeable(whole)
    wide = [pair for pair in whole.pairs if pair not in narrowed.pairs]
    return (whole, ()) if any(pair.reason == Pair.reason for pair in wide) else (narrowed, said)


def clip_performer(which: str, loaded: ActorData) -> Performer:
    """A clip on the stage as it is."""
    fits = loaded.clip.skeleton.names == loaded.motion.skeleton.names
    return Performer(
        which=which,
        label=title(loaded.spec.source),
        motion=loaded.motion,
        meshes=loaded.clip.meshes if fits else (),
        standing=standing_of(loaded.contacts or (), loaded.motion),
    )
