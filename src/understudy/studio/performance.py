"""A retarget on the stage: everybody's motion, the timeline's tracks, and other ways to solve it beside the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.contacts import Contact
from understudy.errors import OptionError
from understudy.io import Clip
from understudy.motion import Motion
from understudy.problem import Problem
from understudy.recipe.loading import Loaded, clip_of
from understudy.recipe.model import ALL, AUTO
from understudy.recipe.prepare import Prepared, has_keys
from understudy.recipe.quality import advice, measure
from understudy.records import remembered
from understudy.samples import Prop
from understudy.solvers.base import Solution, Watch
from understudy.studio.figures import quality_table
from understudy.studio.props import carried
from understudy.studio.scene import Message, Performer, standing_of
from understudy.studio.tracks import Held, look, make_tracks, standing_points
from understudy.studio.variants import Variant, solve_variants, variant_figures
from understudy.studio.work import Table, Work, empty_result


@dataclass(frozen=True, eq=False, kw_only=True)
class Performance(Work):
    """A retarget, solved."""

    tables: Table
    """The document that it is of."""
    prepared: Prepared
    motions_made: tuple[Motion, ...]
    """What the targets do, one motion for each actor."""
    problem: Problem
    spacing: float
    """Seconds between keys."""
    seconds: float
    """What solving took."""
    solution: Solution | None = None
    """All that the solver says; None while something is dragged."""
    others: tuple[Variant, ...] = ()
    skins: tuple[Clip, ...] = ()
    """The sources' own files, for their meshes."""
    props: tuple[Prop, ...] = ()
    base: Performance | None = None
    """While something is dragged: the finished solve that this one starts from."""
    span: tuple[int, int] | None = None
    """The frames in which it differs from that; None for all."""
    part: tuple[int, int] | None = None
    """The frames in which it differs from what was shown before; None for all."""

    @property
    def live(self) -> bool:
        return self.base is not None

    @remembered
    def held(self) -> tuple[Held, ...]:
        """How well everything is met."""
        return look(self.problem, self.motions_made, quickly=self.live)

    @property
    def contacts(self) -> tuple[Contact, ...]:
        return self.prepared.contacts

    @remembered
    def data(self) -> Table:
        """Everything worth knowing about the result."""
        assert self.solution is not None
        return measure(self.prepared, self.solution, self.spacing)

    @remembered
    def performers(self) -> tuple[Performer, ...]:
        cast = self.prepared.cast
        sources = [
            source_performer(self.prepared, i, self.skins[i] if self.skins else None, self.contacts)
            for i in range(len(cast))
        ]
        sources[0] = replace(sources[0], props=self.props)
        results = [self._result(i, each, self.motions_made[i], "result") for i, each in enumerate(cast)]
        variants = [
            self._result(i, each, other.motions[i], f"variant:{other.name}")
            for other in self.others
            for i, each in enumerate(cast)
        ]
        return (*sources, *results, *variants)

    def _which(self, kind: str, loaded: Loaded) -> str:
        return f"{kind}:{loaded.cast.name}" if len(self.prepared.cast) > 1 else kind

    def _result(self, number: int, loaded: Loaded, motion: Motion, kind: str) -> Performer:
        name = loaded.cast.name
        whose = {name, ""} if number == 0 else {name}
        props: tuple[Prop, ...] = ()
        if number == 0 and self.props:
            props = carried(self.props, self.contacts, self.problem, loaded.motion, motion)
        return Performer(
            which=self._which(kind, loaded),
            label=result_label(loaded, several=len(self.prepared.cast) > 1),
            props=props,
            motion=motion,
            meshes=loaded.clip.meshes if loaded.clip.skeleton.names == motion.skeleton.names else (),
            skeleton=loaded.clip.skeleton,
            standing=standing_points(self.problem, self.contacts, whose) if self.prepared.plan is not None else (),
        )

    def motions(self, live: bool = False) -> list[Message]:
        if not (live and self.live):
            return super().motions()
        results = [each for each in self.performers if each.which.partition(":")[0] == "result"]
        return [each.message(part=self.part) for each in results]

    def after(self, shown: Work) -> Performance:
        """The same, knowing what is shown so far: only what differs from that has to be shown anew."""
        if self.span is None or not isinstance(shown, Performance) or (shown.base or shown) is not self.base:
            return self
        if shown.live and shown.span is None:
            return self
        spans = [span for span in (self.span, shown.span if shown.live else None) if span and span[1] > span[0]]
        if not spans:
            return replace(self, part=(0, 0))
        return replace(self, part=(min(span[0] for span in spans), max(span[1] for span in spans)))

    def result(self, seq: int | None = None) -> Table:
        recipe, motion = self.prepared.recipe, self.motions_made[0]
        found = empty_result(seq, self._text(), self.seconds)
        tracks = make_tracks(
            self.held,
            self.contacts,
            recipe.constraints,
            motion.duration,
            listed=self._listed,
            first=self.prepared.cast[0].cast.name,
        )
        found |= {"tracks": tracks, "keys": self._keys(), "variants": self._variants()}
        if self.solution is not None:
            found |= {
                "conflicts": list(self.solution.conflicts),
                "faults": list(self.data["faults"]),
                "warnings": advice(self.data, recipe.options.plants),
            }
        return found

    @property
    def _listed(self) -> bool:
        """Whether the document lists its contacts, or they were found."""
        tables = self.tables["recipe"]
        return bool(tables.get("contact")) or tables.get("options", {}).get("contacts") == "listed"

    def _text(self) -> str:
        if self.solution is not None:
            return self.solution.result
        missed = sum(not each.outcome.met for each in self.held)
        return f"{missed} of {len(self.held)} constraints are not met yet" if missed else "on the way"

    def _keys(self) -> list[float]:
        recipe, duration = self.prepared.recipe, self.motions_made[0].duration
        given = recipe.solver_options.get("knots") or recipe.solver_options.get("keys")
        if isinstance(given, tuple | list) and given:
            return [float(each) for each in given]
        if not has_keys(recipe.solver):
            return []
        return [float(t) for t in np.arange(0.0, duration + 0.5 * self.spacing, self.spacing)]

    def _variants(self) -> list[Table]:
        kept = self.base or self
        if not kept.others:
            return []
        own = [("result", "the result", kept.data)] if kept.solution is not None else []
        beside = [(f"variant:{each.name}", each.label, each.data) for each in kept.others]
        return [
            {"which": which, "label": label, "text": data["result"], "seconds": data["seconds"],
             "figures": variant_figures(data)}
            for which, label, data in (*own, *beside)
        ]  # fmt: skip

    def clip(self, which: str) -> Clip:
        kind, _, rest = which.partition(":")
        performer, cast = self.performer(which), self.prepared.cast
        name = rest.partition(":")[2] if kind == "variant" else rest
        loaded = next((each for each in cast if len(cast) == 1 or each.cast.name == name), cast[0])
        if kind != "source":
            return clip_of(loaded, performer.motion)
        own = self.skins[cast.index(loaded)] if self.skins else Clip.of(loaded.motion)
        return replace(own, skeleton=loaded.motion.skeleton, motion=loaded.motion, notes=(), dropped=())

    def quality(self, which: str) -> Table:
        performer, cast = self.performer(which), self.prepared.cast
        name = which.rpartition(":")[2]
        number = next((i for i, each in enumerate(cast) if len(cast) > 1 and each.cast.name == name), 0)
        plan, loaded = self.prepared.plan, cast[number]
        alignment = None if plan is None else plan.parts[number].alignment
        mine = [c for c in self.contacts if c.actor == loaded.cast.name or (not c.actor and number == 0)]
        is_source = which.startswith("source")
        outcomes = () if self.solution is None or not which.startswith("result") else self.solution.outcomes
        return quality_table(
            which,
            performer.motion,
            source=None if is_source else loaded.motion,
            correspondence=None if is_source or alignment is None else alignment.correspondence,
            contacts=mine,
            outcomes=outcomes,
        )

    def variants(self, names: Sequence[str], watch: Watch) -> Performance:
        plan = self.prepared.plan
        if plan is None:
            raise OptionError("A body that features drive is solved in one way only")
        known = {each.name: each for each in self.others}
        made = solve_variants(self.prepared, plan, self.problem, self.spacing, names, known, watch)
        return replace(self, others=made)


def perform(
    document: Table,
    prepared: Prepared,
    spacing: float,
    watch: Watch,
    *,
    skins: tuple[Clip, ...] = (),
    props: tuple[Prop, ...] = (),
) -> Performance:
    """Solve a retarget in full."""
    found = prepared.solve(spacing, watch)
    return Performance(
        tables=document,
        prepared=prepared,
        motions_made=found.motions,
        problem=found.problem,
        spacing=spacing,
        seconds=found.seconds,
        solution=found,
        skins=skins,
        props=props,
    )


def chosen_spacing(prepared: Prepared) -> float:
    """Seconds between keys: as the recipe says, by the motion's own frequencies where it wants all."""
    wanted = prepared.recipe.spacing
    return prepared.spacing(AUTO if wanted == ALL else wanted)


def source_performer(prepared: Prepared, number: int, skin: Clip | None, contacts: Sequence[Contact]) -> Performer:
    """A source on the stage."""
    loaded, several = prepared.cast[number], len(prepared.cast) > 1
    name = loaded.cast.name
    mine = [c for c in contacts if c.actor == name or (not c.actor and number == 0)]
    fits = skin is not None and skin.skeleton.names == loaded.motion.skeleton.names
    return Performer(
        which=f"source:{name}" if several else "source",
        label=source_label(loaded, several=several),
        motion=loaded.motion,
        meshes=skin.meshes if skin is not None and fits else (),
        skeleton=skin.skeleton if skin is not None and fits else None,
        standing=standing_of(mine, loaded.motion),
    )


def title(name: str) -> str:
    """A file or sample as people call it."""
    return name.removeprefix("sample:").rpartition("/")[2] or name


def source_label(loaded: Loaded, *, several: bool) -> str:
    """What a source's body is called: by its file, and where there are several by the actor too."""
    name, found = loaded.cast.name, title(loaded.cast.source)
    return f"{name}: {'source' if found == name else found}" if several else found


def result_label(loaded: Loaded, *, several: bool) -> str:
    """What a result's body is called: by the character's file, and where there are several by the actor too."""
    if loaded.cast.target is not None:
        found = title(loaded.cast.target)
    elif several or loaded.cast.scale is None:
        found = "result"
    else:
        found = f"{title(loaded.cast.source)}, other proportions"
    return f"{loaded.cast.name}: {found}" if several else found
