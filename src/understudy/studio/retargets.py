"""Retargets in the studio: from a document to what is shown, solved in full or while something is dragged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from understudy.base.errors import MotionError
from understudy.base.fields import FieldError
from understudy.correspondence.pairs import CorrespondenceError, same_names
from understudy.figure.contacts import Contact
from understudy.figure.floor import find_floor
from understudy.figure.measures import leg_length
from understudy.io import Clip
from understudy.io.files import format_of
from understudy.recipe import recipe_from
from understudy.retarget.actor import SAMPLE, ActorData
from understudy.retarget.driver import Assign, Load, Prepared, find_contacts, prepare
from understudy.retarget.plan import Assignment
from understudy.retarget.spec import ActorSpec, Reading, Recipe
from understudy.solve.solvers.base import Watch
from understudy.studio.bones import correspondence_of, correspondence_table, pair_tables, suggested
from understudy.studio.cache import Cache, content
from understudy.studio.document import tables_of
from understudy.studio.live import SHOWN, WHOLE, Memory, Rehearsal, sketch, thinned, thinning, update
from understudy.studio.performance import Performance, chosen_spacing, perform, result_label, source_label, stage_props
from understudy.studio.scene import EMPTY, Table, Work, body_table, prop_tables

ALONE = {
    "actor": ("actors", ()),
    "contact": ("contacts", ("options", "detection")),
    "constraint": ("constraints", ("prop",)),
}
"""Tables of a recipe that can be read by themselves: what they become, and what else must be known for it."""


class Retargets:
    """Solves documents whose mode is retarget.

    Args:
        shelf: What documents have in common.
    """

    def __init__(self, shelf: Cache) -> None:
        self.shelf = shelf
        self._notes: tuple[str, tuple[str, ...]] = ("", ())
        self._read: tuple[Table, Recipe | None] = ({}, None)
        """The last tables of a recipe, and what they say."""

    def view(self, document: Table, base: Path) -> Table:
        """What the page is told of a document besides itself: bodies, props, floor, correspondence, notes."""
        chosen = [actor for actor in document["recipe"].get("actor", []) if actor.get("source")]
        if not chosen:
            return dict(EMPTY)
        recipe = self._recipe(document, base, chosen)
        cast = [self._loading(recipe)(each, recipe.reading, base) for each in recipe.actors]
        contacts = self._contacts(recipe, cast)
        correspondence, said = self._matched(document, recipe, cast[0])
        notes = [note for each in cast for note in each.notes] + said
        if self._notes[0] == content(document["recipe"], document["pairs"]):
            notes = list(self._notes[1])
        return {
            "fps": cast[0].motion.fps,
            "duration": cast[0].motion.duration,
            "bodies": self._bodies(recipe, cast),
            "props": prop_tables(stage_props(cast, recipe.props, base)),
            "floor": float(find_floor(contacts, leg_length(cast[0].motion.skeleton)).height),
            "correspondence": correspondence,
            "notes": notes,
        }

    def _bodies(self, recipe: Recipe, cast: Sequence[ActorData]) -> list[Table]:
        several, found = len(cast) > 1, []
        for kind in ("source", "result"):
            for each, skin in zip(cast, self._skins(recipe, cast), strict=True):
                which = f"{kind}:{each.spec.name}" if several else kind
                skeleton, clip = (each.motion.skeleton, skin) if kind == "source" else (each.target, each.clip)
                label = (source_label if kind == "source" else result_label)(each, several=several)
                fits = clip.skeleton.names == skeleton.names
                body = body_table(which, label, skeleton, clip.meshes if fits else ())
                found.append(body | {"file": self._counting(recipe, each)} if kind == "source" else body)
        return found

    def _counting(self, recipe: Recipe, loaded: ActorData) -> Table:
        """How a source's file counts its frames: the number of the first that is shown, and how many a second."""
        fps, reading = loaded.motion.fps, recipe.reading
        if reading.fps is not None:
            own = self.shelf.loaded(ActorSpec(source=loaded.spec.source), replace(reading, fps=None), recipe.folder)
            fps = own.motion.fps
        return {"first_frame": round(loaded.start * fps), "fps": fps}

    def _skins(self, recipe: Recipe, cast: Sequence[ActorData]) -> tuple[Clip, ...]:
        """The sources' own files, where their formats have meshes; else without any."""
        found = []
        for each in cast:
            own = each.spec.target is None or each.spec.target == each.spec.source
            if own or each.spec.source.startswith(SAMPLE) or not format_of(each.spec.source.partition("#")[0]).meshes:
                found.append(each.clip if own else Clip.of(each.motion.skeleton))
            else:
                found.append(self.shelf.loaded(ActorSpec(source=each.spec.source), recipe.reading, recipe.folder).clip)
        return tuple(found)

    def _matched(self, document: Table, recipe: Recipe, first: ActorData) -> tuple[Table, list[str]]:
        """The correspondence of the first actor, and what there is to say of it; bare where nothing corresponds."""
        names = (f"{kind}:{first.spec.name}" if len(recipe.actors) > 1 else kind for kind in ("source", "result"))
        source, target = names
        own = document["pairs"] is not None or first.spec.map is not None
        try:
            part, said = self._cast(document, recipe)(first, recipe.folder)
        except (FieldError, CorrespondenceError) as error:
            if document["pairs"] is not None:
                raise
            bare = {"source_left": list(first.motion.skeleton.names), "target_left": list(first.target.names)}
            return {"source": source, "target": target, "pairs": [], "own": own, **bare}, [error.message]
        found = same_names(first.motion.skeleton, first.target) if part.alignment is None else None
        if part.alignment is not None:
            found = part.alignment.correspondence
        assert found is not None
        return correspondence_table(found, source, target, own=own), said

    def solve(
        self, document: Table, base: Path, *, watch: Watch, before: Work | None = None, live: bool = False
    ) -> Work:
        """Solve a document; while something is dragged quickly, from what was shown before."""
        recipe = self._recipe(document, base, quickly=live)
        if live and isinstance(before, Performance):
            return self._dragged(document, recipe, before, watch).after(before)
        watch("reading", 0.0)
        prepared = prepare(recipe, load=self._loading(recipe), assign=self._cast(document, recipe))
        watch("solving", 0.1)
        self._notes = content(document["recipe"], document["pairs"]), prepared.notes
        return perform(
            document,
            prepared,
            self._spacing(prepared),
            watch,
            skins=self._skins(recipe, prepared.actors),
            props=stage_props(prepared.actors, recipe.props, base),
        )

    def _dragged(self, document: Table, recipe: Recipe, before: Performance, watch: Watch) -> Performance:
        """A document on its way to be changed, solved quickly from the last finished one."""
        base = before.base or before
        known = base.prepared
        if recipe.contacts is None:
            recipe = replace(recipe, contacts=known.contacts)
        tables = document["recipe"], base.tables["recipe"]
        differ = {key for key in {*tables[0], *tables[1]} if tables[0].get(key) != tables[1].get(key)}
        kept = document["pairs"] == base.tables["pairs"] and known.plan is not None and recipe.solver == "spacetime"
        if not (kept and differ <= {"contact", "constraint"}):
            prepared = self._quickly(document, recipe, WHOLE)
            spacing = self._spacing(prepared) if "options" in differ else base.spacing
            memory = self.shelf.keep(("memory", id(base)), Memory, base)
            memory.begin(before)
            return sketch(base, prepared, spacing, watch, memory)
        rehearsal, memory = self.shelf.keep(("rehearsal", id(base)), lambda: self._rehearsal(base), base)
        if "contact" not in differ:
            made = (*rehearsal.made, *recipe.constraints, *rehearsal.limits)
            prepared = replace(rehearsal.prepared, recipe=recipe, plan=replace(rehearsal.plan, constraints=made))
        else:
            bare = replace(recipe, options=replace(recipe.options, limits=False))
            prepared = self._quickly(document, bare, SHOWN)
            assert prepared.plan is not None
            made = (*prepared.plan.constraints, *rehearsal.limits)
            prepared = replace(prepared, recipe=recipe, plan=replace(prepared.plan, constraints=made))
        memory.begin(before)
        planning = partial(self._quickly, document, most=SHOWN)
        return update(rehearsal, base, prepared, watch, memory, planning)

    def _rehearsal(self, base: Performance) -> tuple[Rehearsal, Memory]:
        """A finished solve at the rate that is shown."""
        step = thinning(base.motions_made[0], SHOWN)
        prepared = base.prepared
        if step > 1:
            recipe = replace(prepared.recipe, contacts=prepared.contacts)
            prepared = self._quickly(base.tables, recipe, SHOWN)
        motions = tuple(motion[::step] for motion in base.motions_made)
        return Rehearsal(prepared=prepared, motions=motions, spacing=base.spacing), Memory()

    def _quickly(self, document: Table, recipe: Recipe, most: float) -> Prepared:
        """A recipe made ready at no more than so many frames a second."""

        known = self._loading(recipe)

        def loading(cast: ActorSpec, reading: Reading, folder: Path) -> ActorData:
            whole = known(cast, reading, folder)
            return self.shelf.keep(("thinned", id(whole), most), lambda: thinned(whole, most), whole)

        return prepare(recipe, load=loading, assign=self._cast(document, recipe))

    def filled(self, document: Table, base: Path) -> Table:
        """A document with its contacts found and listed."""
        chosen = [actor for actor in document["recipe"].get("actor", []) if actor.get("source")]
        if not chosen:
            return document
        recipe = self._recipe(document, base, chosen)
        cast = [self._loading(recipe)(each, recipe.reading, base) for each in recipe.actors]
        found = self._contacts(replace(recipe, contacts=None), cast)
        listed = tables_of(Recipe(actors=(), contacts=found))["contact"]
        options = {**document["recipe"].get("options", {}), "contacts": "listed"}
        return {**document, "recipe": {**document["recipe"], "contact": listed, "options": options}}

    def suggested(self, document: Table, base: Path) -> list[Table]:
        """The bone pairs of the first actor that are found by themselves, as a document holds them."""
        recipe = self._recipe(document, base)
        first = self._loading(recipe)(recipe.actors[0], recipe.reading, base)
        return pair_tables(suggested(first.motion.skeleton, first.target, first.motion, first.target_motion))

    def _recipe(
        self, document: Table, base: Path, actors: list[Table] | None = None, *, quickly: bool = False
    ) -> Recipe:
        """A document's recipe; quickly: of tables that are as they were nothing is read anew, files neither."""
        tables = document["recipe"] if actors is None else {**document["recipe"], "actor": actors}
        known, recipe = self._read
        differ = {key for key in {*tables, *known} if tables.get(key) != known.get(key)}
        same = recipe is not None and recipe.folder == base
        if quickly and same and len(differ) < 2 and differ <= set(ALONE):
            assert recipe is not None
            for key in differ:
                field, needed = ALONE[key]
                part = recipe_from({each: tables[each] for each in (key, *needed) if each in tables}, base)
                recipe = replace(recipe, **{field: getattr(part, field)})
        else:
            recipe = recipe_from(tables, base)
        self._read = tables, recipe
        return recipe

    def _loading(self, recipe: Recipe) -> Load:
        """How actors are loaded: what was read before is known, and a wrong reference frame is told with its place."""

        def loading(cast: ActorSpec, reading: Reading, folder: Path) -> ActorData:
            try:
                return self.shelf.loaded(cast, reading, folder)
            except MotionError as error:
                if "reference pose" not in error.message:
                    raise
                number = next(i for i, actor in enumerate(recipe.actors) if actor is cast)
                of_source = cast.source_reference is not None and error.message.startswith(f"{cast.source}:")
                key = "source_reference" if of_source else "target_reference"
                raise FieldError(error.message, ("actor", number, key), hint=error.hint) from None

        return loading

    def _cast(self, document: Table, recipe: Recipe) -> Assign:
        """How actors are given their parts: the first by the document's own pairs, where it has any."""
        pairs, first = document["pairs"], repr(recipe.actors[0])

        def cast(loaded: ActorData, folder: Path) -> tuple[Assignment, list[str]]:
            if pairs is None or repr(loaded.spec) != first:
                return self.shelf.part(loaded, folder)
            given = self.shelf.keep(
                ("pairs", content(pairs), id(loaded)),
                lambda: correspondence_of(pairs, loaded.motion.skeleton, loaded.target),
                loaded,
            )
            return self.shelf.part(loaded, folder, given)

        return cast

    def _contacts(self, recipe: Recipe, cast: Sequence[ActorData]) -> tuple[Contact, ...]:
        """The document's contacts, or those that are found."""
        if recipe.contacts is not None:
            return recipe.contacts
        key = ("contacts", recipe.options.detection, *(id(each) for each in cast))
        return self.shelf.keep(key, lambda: find_contacts(cast, recipe.options), *cast)

    def _spacing(self, prepared: Prepared) -> float:
        """Seconds between keys; the motions' own frequencies are looked at once."""
        key = ("spacing", prepared.recipe.spacing, *(id(each.motion) for each in prepared.actors))
        return self.shelf.keep(key, lambda: chosen_spacing(prepared), *prepared.actors)
