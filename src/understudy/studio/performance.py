"""A retarget on the stage: everybody's motion, the timeline's tracks, and other ways to solve it beside the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, slerp
from understudy.base.records import cached
from understudy.correspondence.pairs import Correspondence
from understudy.figure.contacts import Contact
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io import Clip
from understudy.metrics import Curve, Measurement, evaluate
from understudy.recipe.props import load_course
from understudy.retarget.actor import SAMPLE, ActorData, clip_of, sample_scene
from understudy.retarget.driver import Prepared, naive
from understudy.retarget.plan import Plan
from understudy.retarget.quality import advice, measure
from understudy.retarget.spec import ALL, AUTO, KEY_RATE_HZ, SPACINGS_FRAMES, PropEntry
from understudy.samples import Prop
from understudy.solve.problem import Problem
from understudy.solve.solvers import has_keys, make_solver
from understudy.solve.solvers.base import Outcome, Solution, Watch, solution
from understudy.studio.scene import Message, Performer, Table, Work, empty_result, shown_frames, standing_of
from understudy.studio.tracks import Held, look, make_tracks, moved_bodies, standing_points

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])

SIZE = 0.1
"""Metres: how large a thing is shown that has no size."""


def stage_props(cast: Sequence[ActorData], entries: Sequence[PropEntry], folder: Path) -> tuple[Prop, ...]:
    """Everything that stands or moves around, by the frames of the first actor's motion; each name once."""
    found: dict[str, Prop] = {}
    for entry in entries:
        found[entry.name] = _of_recipe(entry, folder, cast[0].motion.times)
    for loaded in cast:
        for prop in loaded.props:
            if prop.name not in found:
                found[prop.name] = _of_sample(prop, loaded)
    return tuple(found.values())


def _of_sample(prop: Prop, loaded: ActorData) -> Prop:
    """A sample's thing, on the clock of the motion as it was cut and resampled."""
    if prop.positions.ndim == 2 or not loaded.spec.source.startswith(SAMPLE):
        return prop
    times = np.arange(len(prop.positions)) / _fps(loaded.spec.source)
    places, turns = at_times(times, prop.positions, prop.rotations, loaded.start + loaded.motion.times)
    return Prop(name=prop.name, sizes=prop.sizes, positions=places, rotations=turns)


@lru_cache(maxsize=64)
def _fps(source: str) -> float:
    """Frames a second of a sample as it is made, before anybody resamples it."""
    return sample_scene(source)[0].motion.fps


def _of_recipe(entry: PropEntry, folder: Path, clock: Array) -> Prop:
    """A thing of the recipe: its boxes where they stay, or its first box on its way."""
    sizes = np.atleast_2d(np.full(3, SIZE) if entry.sizes is None else entry.sizes)
    if entry.path is None:
        places = np.atleast_2d(entry.positions)  # type: ignore[arg-type]
        turns = np.broadcast_to(IDENTITY, (len(places), 4)) if entry.rotations is None else entry.rotations
        return Prop(
            name=entry.name,
            sizes=np.broadcast_to(sizes, places.shape) if len(sizes) == 1 else sizes[: len(places)],
            positions=places,
            rotations=np.broadcast_to(np.atleast_2d(turns), (len(places), 4)),
        )
    course = load_course(entry, folder)
    times = np.zeros(1) if course.times is None else course.times
    turns = np.broadcast_to(IDENTITY, (len(times), 4)) if course.rotations is None else course.rotations
    places, turned = at_times(times, course.positions[:, None], turns[:, None], clock)
    return Prop(name=entry.name, sizes=sizes[:1], positions=places, rotations=turned)


def carried(
    props: Sequence[Prop], contacts: Sequence[Contact], problem: Problem, source: Motion, result: Motion
) -> tuple[Prop, ...]:
    """Things that move, as the result carries them: with its hands while it does, and where it left them after that.

    Args:
        props: Things on the clock of the source, or of one of which every so many frames are left.
        contacts: What carries them: contacts without a place of their own.
        problem: What was solved, whose constraints name the result's points.
        source: What the source does.
        result: What the target does, at the same frames.
    """
    found = []
    for prop in props:
        if prop.positions.ndim == 2:
            continue
        step = max(round((len(prop.positions) - 1) / max(source.num_frames - 1, 1)), 1)
        places, turns = prop.positions[::step][: source.num_frames], prop.rotations[::step][: source.num_frames]
        holding = [c for c in contacts if c.on == prop.name and c.place is None and c.other is None]
        shift = _shift(holding, problem, source, result)[: len(places)]
        found.append(Prop(name=prop.name, sizes=prop.sizes, positions=places + shift[:, None], rotations=turns))
    return tuple(found)


def _shift(holding: Sequence[Contact], problem: Problem, source: Motion, result: Motion) -> Array:
    """(F, 3) metres by which a thing is elsewhere than with the source: as the hands on it are, on average."""
    total, count = np.zeros((source.num_frames, 3)), np.zeros(source.num_frames)
    poses = fk(source), fk(result)
    for contact in holding:
        name = f"{contact.point.name} picks up {contact.on} at {contact.start:.2f} s"
        grasp = next((c for c in problem.constraints if c.name == name), None)
        frames = contact.frames(source.fps, source.num_frames)
        if grasp is None or len(frames) == 0:
            continue
        _, point = problem.resolve(grasp, grasp.point_refs()[0])
        away = poses[1].points([point])[frames, 0] - poses[0].points([contact.point])[frames, 0]
        total[frames] += away
        count[frames] += 1
    held = np.flatnonzero(count)
    if len(held) == 0:
        return total
    shift = total[held] / count[held, None]
    # Before anybody takes it a thing stands where it stood; put down, it stays where it was left.
    last = np.searchsorted(held, np.arange(source.num_frames), side="right") - 1
    return np.where(last[:, None] >= 0, shift[np.maximum(last, 0)], 0.0)


def at_times(times: Array, places: Array, turns: Array, clock: Array) -> tuple[Array, Array]:
    """Places (T, B, 3) and rotations (T, B, 4) read at other times (F,), held outside their own."""
    after = np.clip(np.searchsorted(times, clock, side="right"), 1, max(len(times) - 1, 1))
    before, after = np.minimum(after - 1, len(times) - 1), np.minimum(after, len(times) - 1)
    gap = np.maximum(times[after] - times[before], 1e-9)
    share = np.clip((clock - times[before]) / gap, 0.0, 1.0)[:, None]
    mixed = places[before] + share[..., None] * (places[after] - places[before])
    return mixed, slerp(turns[before], turns[after], share)


LOW = ("margin",)
"""Curves whose worst is their least."""


def quality_table(
    which: str,
    motion: Motion,
    *,
    source: Motion | None = None,
    correspondence: Correspondence | None = None,
    contacts: Sequence[Contact] | None = None,
    outcomes: Sequence[Outcome] = (),
) -> dict[str, Any]:
    """A motion measured, against its source where there is one."""
    report = evaluate(motion, source, correspondence=correspondence, contacts=contacts, outcomes=outcomes)
    frames = shown_frames(motion)
    return {
        "which": which,
        "measurements": [_table(each, motion, frames) for each in report.measurements],
        "faults": list(report.failures),
    }


def _table(measurement: Measurement, motion: Motion, frames: np.ndarray) -> dict[str, Any]:
    time, joint = _where(measurement, motion)
    return {
        "metric": measurement.metric,
        "title": measurement.title,
        "verdict": str(measurement.verdict),
        "words": measurement.words,
        "figures": [
            {"name": each.name, "value": each.value, "unit": each.unit, "about": each.about}
            for each in measurement.figures
        ],
        "time": time,
        "joint": joint,
        "curves": [
            {"name": each.name, "unit": each.unit, "values": _values(each, frames)} for each in measurement.curves
        ],
    }


def _values(curve: Curve, frames: np.ndarray) -> list[float | None]:
    """A curve at the frames that are shown; the page draws one value for each."""
    return [float(v) if np.isfinite(v) else None for v in np.asarray(curve.values)[frames]]


def _where(measurement: Measurement, motion: Motion) -> tuple[float | None, str | None]:
    """The time and the joint of the worst, as far as the metric tells; else where its first curve is worst."""
    facts = {**measurement.facts, **(measurement.facts.get("worst") or {})}
    named = facts.get("joint") or facts.get("point") or next(iter(facts.get("parts") or ()), None)
    time = facts.get("time", facts.get("start"))
    if time is None and measurement.curves:
        values = np.asarray(measurement.curves[0].values, float)
        if np.isfinite(values).any():
            low = measurement.curves[0].name in LOW
            time = float((np.nanargmin(values) if low else np.nanargmax(np.abs(values))) / motion.fps)
    return None if time is None else float(time), _joint(motion.skeleton, named)


def _joint(skeleton: Skeleton, name: str | None) -> str | None:
    """The joint or end that a name means: itself, or the joint that a point of that name is on."""
    if name is None or name in skeleton.index or any(end.name == name for end in skeleton.ends):
        return name
    near = [joint for joint in skeleton.names if joint in name or name in joint]
    return max(near, key=len) if near else None


WAYS = ("ik", "ik_lowpass", "naive")
"""Other ways to solve, besides the spacings of keys."""

LABELS = {"ik": "frame by frame", "ik_lowpass": "frame by frame, smoothed", "naive": "copied"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Variant:
    """Another way to solve the same, and what came of it."""

    name: str
    motions: tuple[Motion, ...]
    data: Table
    """What `measure` says."""

    @property
    def label(self) -> str:
        return LABELS.get(self.name) or f"keys every {self.name} frames"


def solve_variants(
    prepared: Prepared,
    plan: Plan,
    problem: Problem,
    spacing: float,
    names: Sequence[str],
    known: dict[str, Variant],
    watch: Watch,
) -> tuple[Variant, ...]:
    """Solve a plan in other ways by name, those that are known apart."""
    allowed = (*(str(each) for each in SPACINGS_FRAMES), *WAYS)
    made = dict(known)
    for number, name in enumerate(names):
        if name not in allowed:
            raise OptionError(f"There is no other way to solve called `{name}`", hint=f"known: {', '.join(allowed)}")
        if name not in made:
            share = number / len(names)
            watch(f"solving {LABELS.get(name, f'with keys every {name} frames')}", share)
            keys = spacing if name in WAYS else int(name) / KEY_RATE_HZ
            found = _solved(plan, problem, name, keys, _within(watch, share, 1.0 / len(names)))
            made[name] = Variant(name=name, motions=found.motions, data=measure(prepared, found, keys))
    return tuple(made[name] for name in names)


def _solved(plan: Plan, problem: Problem, name: str, spacing: float, watch: Watch) -> Solution:
    if name == "naive":
        copied = tuple(
            naive(part.motion, part.target) if part.alignment is None and part.share is None else start
            for part, start in zip(plan.assignments, plan.starts, strict=True)
        )
        found = solution(problem, moved_bodies(problem, copied), solver=name, steps=0, seconds=0.0)
        return replace(found, motions=copied)
    return plan.solve(make_solver(name if name in WAYS else "spacetime", {}, spacing), watch)


def variant_figures(data: Table) -> dict[str, float | None]:
    """What variants are compared by."""
    smooth: dict[str, Any] = (data["smoothness"] or [{"jerk": None, "energy": {}}])[0]
    return {
        "unmet": float(len(data["unmet"])),
        "contacts_m": float(data["contacts"]["worst"]),
        "floor_m": float(data["floor"]["worst"]),
        "limits_rad": float(data["limits"]["worst"]),
        "asked": float(data["asked"]["worst"]),
        "jerk": smooth["jerk"],
        "above_4_hz": smooth["energy"].get("4"),
        "above_8_hz": smooth["energy"].get("8"),
    }


def _within(watch: Watch, start: float, length: float) -> Watch:
    """A watch that is told of a part of the work."""
    return lambda text, share: watch(text, start + length * share)


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

    @cached
    def held(self) -> tuple[Held, ...]:
        """How well everything is met."""
        return look(self.problem, self.motions_made, quickly=self.live)

    @property
    def contacts(self) -> tuple[Contact, ...]:
        return self.prepared.contacts

    @cached
    def data(self) -> Table:
        """Everything worth knowing about the result."""
        assert self.solution is not None
        return measure(self.prepared, self.solution, self.spacing)

    @cached
    def performers(self) -> tuple[Performer, ...]:
        cast = self.prepared.actors
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

    def _which(self, kind: str, loaded: ActorData) -> str:
        return f"{kind}:{loaded.spec.name}" if len(self.prepared.actors) > 1 else kind

    def _result(self, number: int, loaded: ActorData, motion: Motion, kind: str) -> Performer:
        name = loaded.spec.name
        whose = {name, ""} if number == 0 else {name}
        props: tuple[Prop, ...] = ()
        if number == 0 and self.props:
            props = carried(self.props, self.contacts, self.problem, loaded.motion, motion)
        return Performer(
            which=self._which(kind, loaded),
            label=result_label(loaded, several=len(self.prepared.actors) > 1),
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
            first=self.prepared.actors[0].spec.name,
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
        performer, cast = self.performer(which), self.prepared.actors
        name = rest.partition(":")[2] if kind == "variant" else rest
        loaded = next((each for each in cast if len(cast) == 1 or each.spec.name == name), cast[0])
        if kind != "source":
            return clip_of(loaded, performer.motion)
        own = self.skins[cast.index(loaded)] if self.skins else Clip.of(loaded.motion)
        return replace(own, skeleton=loaded.motion.skeleton, motion=loaded.motion, notes=(), dropped=())

    def quality(self, which: str) -> Table:
        performer, cast = self.performer(which), self.prepared.actors
        name = which.rpartition(":")[2]
        number = next((i for i, each in enumerate(cast) if len(cast) > 1 and each.spec.name == name), 0)
        plan, loaded = self.prepared.plan, cast[number]
        alignment = None if plan is None else plan.assignments[number].alignment
        mine = [c for c in self.contacts if c.actor == loaded.spec.name or (not c.actor and number == 0)]
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
    found = prepared.solve(spacing, watch).solution
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
    loaded, several = prepared.actors[number], len(prepared.actors) > 1
    name = loaded.spec.name
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


def source_label(loaded: ActorData, *, several: bool) -> str:
    """What a source's body is called: by its file, and where there are several by the actor too."""
    name, found = loaded.spec.name, title(loaded.spec.source)
    return f"{name}: {'source' if found == name else found}" if several else found


def result_label(loaded: ActorData, *, several: bool) -> str:
    """What a result's body is called: by the character's file, and where there are several by the actor too."""
    if loaded.spec.target is not None:
        found = title(loaded.spec.target)
    elif several or loaded.spec.scale is None:
        found = "result"
    else:
        found = f"{title(loaded.spec.source)}, other proportions"
    return f"{loaded.spec.name}: {found}" if several else found
