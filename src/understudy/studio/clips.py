"""Transitions and analogies in the studio: clips as they are chosen, and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from understudy.body import leg_length
from understudy.errors import UnderstudyError
from understudy.plan import Options
from understudy.recipe import Cast, recipe_from
from understudy.recipe.loading import Loaded
from understudy.recipe.prepare import find_contacts
from understudy.solvers.base import Watch
from understudy.start import find_floor
from understudy.studio.bones import correspondence_table, suggested
from understudy.studio.likeness import CLIPS, Likeness, liken, preview
from understudy.studio.passage import Passage, clip_performer, given_pairs, go_over
from understudy.studio.shelf import Shelf, content
from understudy.studio.work import EMPTY, Table, Work


class ClipWork:
    """Solves documents whose mode is transition or analogy.

    Args:
        shelf: What documents have in common.
    """

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._made: tuple[str, Passage | Likeness] | None = None
        """The last transition or analogy, with what it was made from."""

    def solve(self, document: Table, base: Path, *, watch: Watch, before: Work | None, live: bool) -> Work:
        """Make the transition or analogy that a document chooses."""
        if document["mode"] == "transition":
            return self._transition(document, base, watch, live=live)
        return self._analogy(document, base, watch, before if live else None)

    def _transition(self, document: Table, base: Path, watch: Watch, *, live: bool) -> Passage:
        first, second = self._clips(document, base, ("first", "second"))
        work = go_over(document["transition"], (first, second), document["pairs"], watch, live=live)
        self._made = self._made if live else (self._key(document), work)
        return work

    def _analogy(self, document: Table, base: Path, watch: Watch, before: Work | None) -> Likeness:
        a, b, new = self._clips(document, base, CLIPS)
        choice = document["analogy"]
        if isinstance(before, Likeness):
            return preview(before, choice)
        # Without its poses an analogy is what dragged poses start from.
        plain = self.shelf.keep(
            ("plain", content(choice["settings"]), id(a), id(b), id(new)),
            lambda: liken({**choice, "poses": []}, (a, b, new), watch),
            a, b, new,
        )  # fmt: skip
        work = liken(choice, (a, b, new), watch, plain) if choice.get("poses") else plain
        self._made = self._key(document), work
        return work

    def _clips(self, document: Table, base: Path, names: Sequence[str]) -> list[Loaded]:
        """The clips that a mode is about, as far as they are chosen."""
        chosen = document[document["mode"]]
        reading = recipe_from({"reading": document["recipe"].get("reading", {})}, base).reading
        found = []
        for name in names:
            if chosen.get(name):
                found.append(self.shelf.loaded(Cast(source=chosen[name]), reading, base))
        return found

    def view(self, document: Table, base: Path) -> Table:
        """The view of a transition or an analogy: its clips, and the result once there is one."""
        mode = document["mode"]
        names = [name for name in (("first", "second") if mode == "transition" else CLIPS) if document[mode].get(name)]
        clips = self._clips(document, base, names)
        if not clips:
            return dict(EMPTY)
        bodies = [clip_performer(name, clip).body() for name, clip in zip(names, clips, strict=True)]
        shown = clips[-1] if mode == "analogy" else clips[0]
        motion, notes = shown.motion, [note for clip in clips for note in clip.notes]
        if self._made is not None and self._made[0] == self._key(document):
            work = self._made[1]
            bodies, motion, notes = work.bodies(), work.performer("result").motion, list(work.notes)
        contacts = self.shelf.keep(("stands", id(shown)), lambda: find_contacts([shown], Options()), shown)
        matched = None
        if mode == "transition" and len(clips) == 2:
            matched = self._between(clips[0], clips[1], document["pairs"])
        return {
            "fps": motion.fps,
            "duration": motion.duration,
            "bodies": bodies,
            "props": [],
            "floor": float(find_floor(contacts, leg_length(shown.motion.skeleton)).height),
            "correspondence": matched,
            "notes": notes,
        }

    def suggested(self, document: Table, base: Path) -> list[Table]:
        """The pairs of the two bodies of a transition; an analogy has none."""
        clips = self._clips(document, base, ("first", "second")) if document["mode"] == "transition" else []
        found = self._between(clips[0], clips[1], None) if len(clips) == 2 else None
        pairs: list[Table] = [] if found is None else found["pairs"]
        return pairs

    def _between(self, first: Loaded, second: Loaded, pairs: object) -> Table | None:
        """The correspondence of the two bodies of a transition."""
        given = given_pairs(pairs, (first, second))[0]
        found = given
        if found is None:
            key = ("between", id(first), id(second))
            try:
                found = self.shelf.keep(
                    key,
                    lambda: suggested(first.motion.skeleton, second.motion.skeleton, first.motion, second.motion),
                    first, second,
                )  # fmt: skip
            except UnderstudyError:
                return None
        return correspondence_table(found, "first", "second", own=given is not None)

    def _key(self, document: Table) -> str:
        mode = document["mode"]
        return content(mode, document[mode], document["recipe"].get("reading"), document["pairs"])
