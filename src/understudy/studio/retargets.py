"""Documents of mode retarget: solved in full, or fast during a drag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from understudy.base.errors import MotionError
from understudy.base.fields import FieldError
from understudy.correspondence.pairs import CorrespondenceError, pair_same_names
from understudy.figure.contacts import Contact, find_floor
from understudy.figure.measures import leg_length
from understudy.figure.motion import rest_motion
from understudy.figure.skeleton import Skeleton
from understudy.io import Clip
from understudy.io.clip import format_of
from understudy.recipe import recipe_from
from understudy.retarget.actor import SAMPLE, ActorData, ActorSpec, Reading
from understudy.retarget.driver import Assign, Load, Prepared, ProgressCallback, find_contacts, prepare
from understudy.retarget.live import LiveSession, thin_actor
from understudy.retarget.plan import Assignment
from understudy.retarget.spec import ALL, AUTO, Recipe
from understudy.samples import skin
from understudy.studio.bones import (
    correspondence_table,
    pair_tables,
    read_correspondence,
    reference_poses,
    suggest_pairs,
)
from understudy.studio.cache import Cache, content_key
from understudy.studio.document import recipe_tables
from understudy.studio.painting import lacks_places, touch_tables, with_places
from understudy.studio.performance import RetargetResult, on_shown_tree, result_label, source_label
from understudy.studio.props import load_props, prop_tables
from understudy.studio.scene import EMPTY_SCENE, ShownBody, SolveResult, Table, body_table

INDEPENDENT_TABLES = {
    "actor": ("actors", ()),
    "contact": ("contacts", ("options", "detection")),
    "constraint": ("constraints", ("prop",)),
}
"""Recipe tables that can be read alone: the recipe field, and the other tables needed for it."""


def shown_target(actor: ActorData) -> Skeleton:
    """The skeleton of a result as it is displayed."""
    if actor.clip.skeleton.names == actor.target.names:
        return actor.target
    return on_shown_tree(actor, rest_motion(actor.target)).skeleton


class RetargetDocumentSolver:
    """Solves documents whose mode is retarget.

    Args:
        cache: Shared by all documents of a session.
    """

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self._notes: tuple[str, tuple[str, ...]] = ("", ())
        self._last_read: tuple[Table, Recipe | None] = ({}, None)
        """The recipe tables read last, and the recipe they gave."""

    def view(self, document: Table, base: Path) -> Table:
        """The scene of a document: bodies, props, floor, correspondence, notes."""
        actor_tables = [actor for actor in document["recipe"].get("actor", []) if actor.get("source")]
        if not actor_tables:
            return dict(EMPTY_SCENE)
        recipe = self._recipe(document, base, actor_tables)
        actors = [self._make_load(recipe)(spec, recipe.reading, base) for spec in recipe.actors]
        contacts = self._find_contacts(recipe, actors)
        correspondence, pair_notes = self._correspondence(document, recipe, actors[0])
        notes = [note for actor in actors for note in actor.notes] + pair_notes
        if self._notes[0] == content_key(document["recipe"], document["pairs"]):
            notes = list(self._notes[1])
        return {
            "fps": actors[0].motion.fps,
            "duration": actors[0].motion.duration,
            "bodies": self._bodies(recipe, actors),
            "props": prop_tables(load_props(actors, recipe.props, base), recipe.props, base),
            "floor": float(find_floor(contacts, leg_length(actors[0].motion.skeleton)).height),
            "correspondence": correspondence,
            "notes": notes,
        }

    def _bodies(self, recipe: Recipe, actors: Sequence[ActorData]) -> list[Table]:
        several, bodies = len(actors) > 1, []
        for kind in ("source", "result"):
            for actor, worn in zip(actors, self._skins(recipe, actors), strict=True):
                which = f"{kind}:{actor.spec.name}" if several else kind
                skeleton, clip = actor.motion.skeleton, worn
                if kind == "result":
                    skeleton, clip = shown_target(actor), actor.clip
                label = (source_label if kind == "source" else result_label)(actor, several=several)
                fits = clip.skeleton.names == skeleton.names
                body = body_table(which, label, skeleton, clip.shown_meshes() if fits else ())
                if kind == "source":
                    touches = self.cache.get(("touches", id(actor)), partial(touch_tables, actor.motion), actor)
                    body |= {"file": self._file_frames(recipe, actor), "touches": touches}
                bodies.append(body)
        return bodies

    def _file_frames(self, recipe: Recipe, actor: ActorData) -> Table:
        """The file's number of the first frame shown, and the file's frames per second."""
        fps, reading = actor.motion.fps, recipe.reading
        if reading.fps is not None:
            spec = ActorSpec(source=actor.spec.source)
            fps = self.cache.load_actor(spec, replace(reading, fps=None), recipe.folder).motion.fps
        return {"first_frame": round(actor.start * fps), "fps": fps}

    def _skins(self, recipe: Recipe, actors: Sequence[ActorData]) -> tuple[Clip, ...]:
        """The clips with the meshes of the sources; without meshes if the format has none."""
        skins = []
        for actor in actors:
            source, target = actor.spec.source, actor.spec.target
            same_file = target is None or target == source
            if same_file or source.startswith(SAMPLE) or not format_of(source.partition("#")[0]).meshes:
                made = Clip(skeleton=actor.motion.skeleton, make_skin=skin if source.startswith(SAMPLE) else None)
                skins.append(actor.clip if same_file else made)
            else:
                skins.append(self.cache.load_actor(ActorSpec(source=source), recipe.reading, recipe.folder).clip)
        return tuple(skins)

    def _correspondence(self, document: Table, recipe: Recipe, first: ActorData) -> tuple[Table, list[str]]:
        """The correspondence of the first actor, without pairs if none is found, and notes on it."""
        suffix = f":{first.spec.name}" if len(recipe.actors) > 1 else ""
        source, target = f"source{suffix}", f"result{suffix}"
        chosen = document["pairs"] is not None or first.spec.map is not None
        try:
            assignment, notes = self._make_assign(document, recipe)(first, recipe.folder)
        except (FieldError, CorrespondenceError) as error:
            if document["pairs"] is not None:
                raise
            bare = {"source_left": list(first.motion.skeleton.names), "target_left": list(first.target.names)}
            return {"source": source, "target": target, "pairs": [], "own": chosen, **bare}, [error.message]
        if assignment.alignment is None:
            correspondence = pair_same_names(first.motion.skeleton, first.target)
        else:
            correspondence = assignment.alignment.correspondence
        return correspondence_table(correspondence, source, target, given=chosen), notes

    def solve(
        self,
        document: Table,
        base: Path,
        *,
        watch: ProgressCallback,
        before: SolveResult | None = None,
        live: bool = False,
    ) -> SolveResult:
        """Solve a document; if `live`, fast and starting from `before`."""
        if live:
            document = self.placed(document, base)
        recipe = self._recipe(document, base, quickly=live)
        if live and isinstance(before, RetargetResult):
            return self._solve_dragged(document, recipe, before, watch).with_changed_part(before)
        watch("reading", 0.0)
        prepared = prepare(recipe, load=self._make_load(recipe), assign=self._make_assign(document, recipe))
        watch("solving", 0.1)
        self._notes = content_key(document["recipe"], document["pairs"]), prepared.notes
        spacing = self._spacing(prepared)
        solved = prepared.solve(spacing, watch)
        solution = solved.solution
        return RetargetResult(
            tables=document,
            prepared=solved.prepared,
            motions_made=solution.motions,
            problem=solution.problem,
            spacing=spacing,
            seconds=solution.seconds,
            solution=solution,
            skins=self._skins(recipe, prepared.actors),
            props=load_props(prepared.actors, recipe.props, base),
        )

    def solve_at_rest(
        self, document: Table, base: Path, *, watch: ProgressCallback, shown: RetargetResult
    ) -> RetargetResult:
        """The finished solve of a document as an update of a drag, after the one that is shown."""
        solved = self.solve(self.placed(document, base), base, watch=watch)
        assert isinstance(solved, RetargetResult)
        return replace(solved, base=shown.base or shown, solution=None)

    def _solve_dragged(
        self, document: Table, recipe: Recipe, before: RetargetResult, watch: ProgressCallback
    ) -> RetargetResult:
        """Solve a document that is being dragged, starting from the last finished solve."""
        base = before.base or before
        tables = document["recipe"], base.tables["recipe"]
        changed_keys = {key for key in {*tables[0], *tables[1]} if tables[0].get(key) != tables[1].get(key)}
        if document["pairs"] != base.tables["pairs"]:
            changed_keys.add("pairs")
        make_session = partial(LiveSession, prepared=base.prepared, motions=base.motions_made, spacing=base.spacing)
        session = self.cache.get(("drags", id(base)), make_session, base)
        prepare_at = partial(self._prepare_thinned, document)
        update = session.update(recipe, changed_keys, watch, prepare_at, self._spacing)
        return replace(
            base,
            prepared=update.prepared,
            problem=update.problem,
            motions_made=update.motions,
            seconds=update.seconds,
            solution=None,
            base=base,
            span=update.span,
        )

    def _prepare_thinned(self, document: Table, max_fps: float, recipe: Recipe) -> Prepared:
        """Prepare a recipe with motions of at most `max_fps` frames a second."""
        load_whole = self._make_load(recipe)

        def load_thinned(spec: ActorSpec, reading: Reading, folder: Path) -> ActorData:
            whole = load_whole(spec, reading, folder)
            return self.cache.get(("thinned", id(whole), max_fps), lambda: thin_actor(whole, max_fps), whole)

        return prepare(recipe, load=load_thinned, assign=self._make_assign(document, recipe))

    def filled(self, document: Table, base: Path) -> Table:
        """The document with its contacts detected and listed."""
        actor_tables = [actor for actor in document["recipe"].get("actor", []) if actor.get("source")]
        if not actor_tables:
            return document
        recipe = self._recipe(document, base, actor_tables)
        actors = [self._make_load(recipe)(spec, recipe.reading, base) for spec in recipe.actors]
        contacts = self._find_contacts(replace(recipe, contacts=None), actors)
        listed = recipe_tables(Recipe(actors=(), contacts=contacts))["contact"]
        options = {**document["recipe"].get("options", {}), "contacts": "listed"}
        return {**document, "recipe": {**document["recipe"], "contact": listed, "options": options}}

    def placed(self, document: Table, base: Path) -> Table:
        """The document with the places of its contacts completed, such as one that was painted."""
        actor_tables = [actor for actor in document["recipe"].get("actor", []) if actor.get("source")]
        if not lacks_places(document) or not actor_tables:
            return document
        kept = {**document["recipe"], "contact": [], "constraint": []}
        recipe = recipe_from({**kept, "actor": actor_tables}, base)
        actors = [self._make_load(recipe)(spec, recipe.reading, base) for spec in recipe.actors]
        return with_places(document, {actor.spec.name: actor.motion for actor in actors})

    def suggest_pairs(self, document: Table, base: Path) -> list[Table]:
        """The suggested bone pairs of the first actor, as document tables."""
        recipe = self._recipe(document, base)
        first = self._make_load(recipe)(recipe.actors[0], recipe.reading, base)
        return pair_tables(suggest_pairs(first.motion.skeleton, first.target, first.motion, first.target_motion))

    def neutral(self, document: Table, base: Path) -> list[Table]:
        """The poses in which source and target of the first actor count as the same, as the page draws them."""
        recipe = self._recipe(document, base)
        first = self._make_load(recipe)(recipe.actors[0], recipe.reading, base)
        source, target = reference_poses(self._make_assign(document, recipe)(first, base)[0])
        several = len(recipe.actors) > 1
        bodies = [
            ShownBody(which=f"{kind}:{first.spec.name}" if several else kind, label="", motion=motion)
            for kind, motion in (("source", source), ("result", on_shown_tree(first, target)))
        ]
        return [
            {"which": body.which, **{key: arrays[key][0].ravel().tolist() for key in ("positions", "rotations")}}
            for body, arrays in ((body, body.message()[1]) for body in bodies)
        ]

    def _recipe(
        self, document: Table, base: Path, actors: list[Table] | None = None, *, quickly: bool = False
    ) -> Recipe:
        """The recipe of a document; if `quickly`, unchanged tables are not read again, nor are their files."""
        tables = document["recipe"] if actors is None else {**document["recipe"], "actor": actors}
        last_tables, recipe = self._last_read
        changed_keys = {key for key in {*tables, *last_tables} if tables.get(key) != last_tables.get(key)}
        same_folder = recipe is not None and recipe.folder == base
        if quickly and same_folder and len(changed_keys) < 2 and changed_keys <= set(INDEPENDENT_TABLES):
            assert recipe is not None
            for key in changed_keys:
                field, needed = INDEPENDENT_TABLES[key]
                partial_recipe = recipe_from({name: tables[name] for name in (key, *needed) if name in tables}, base)
                recipe = replace(recipe, **{field: getattr(partial_recipe, field)})
        else:
            recipe = recipe_from(tables, base)
        self._last_read = tables, recipe
        return recipe

    def _make_load(self, recipe: Recipe) -> Load:
        """A function that loads actors through the cache and reports a wrong reference frame with its document path."""

        def load_actor(spec: ActorSpec, reading: Reading, folder: Path) -> ActorData:
            try:
                return self.cache.load_actor(spec, reading, folder)
            except MotionError as error:
                if "reference pose" not in error.message:
                    raise
                index = next(i for i, actor in enumerate(recipe.actors) if actor is spec)
                of_source = spec.source_reference is not None and error.message.startswith(f"{spec.source}:")
                key = "source_reference" if of_source else "target_reference"
                raise FieldError(error.message, ("actor", index, key), hint=error.hint) from None

        return load_actor

    def _make_assign(self, document: Table, recipe: Recipe) -> Assign:
        """A function that assigns actors, the first one by the document's pairs if it has any."""
        pairs, first = document["pairs"], repr(recipe.actors[0])

        def assign_actor(actor: ActorData, folder: Path) -> tuple[Assignment, list[str]]:
            if pairs is None or repr(actor.spec) != first:
                return self.cache.load_assignment(actor, folder)
            correspondence = self.cache.get(
                ("pairs", content_key(pairs), id(actor)),
                lambda: read_correspondence(pairs, actor.motion.skeleton, actor.target),
                actor,
            )
            return self.cache.load_assignment(actor, folder, correspondence)

        return assign_actor

    def _find_contacts(self, recipe: Recipe, actors: Sequence[ActorData]) -> tuple[Contact, ...]:
        """The contacts of the document, detected if it lists none."""
        if recipe.contacts is not None:
            return recipe.contacts
        key = ("contacts", recipe.options.detection, *(id(actor) for actor in actors))
        return self.cache.get(key, lambda: find_contacts(actors, recipe.options), *actors)

    def _spacing(self, prepared: Prepared) -> float:
        """Seconds between keys; the frequency analysis is cached."""
        # A document that asks for all spacings is solved with the automatic one.
        spacing = AUTO if prepared.recipe.spacing == ALL else prepared.recipe.spacing
        key = ("spacing", spacing, *(id(actor.motion) for actor in prepared.actors))
        return self.cache.get(key, lambda: prepared.spacing(spacing), *prepared.actors)
