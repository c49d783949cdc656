"""The result of a retarget: motions, timeline tracks, measurements, props and variants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.records import cached, record
from understudy.correspondence.pairs import Correspondence
from understudy.figure.contacts import Contact
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io import Clip
from understudy.metrics.base import Curve, Measurement, evaluate
from understudy.retarget.actor import ActorData, clip_of
from understudy.retarget.driver import Outcome, Prepared, Problem, ProgressCallback, Solution
from understudy.retarget.quality import Violation, advice, measure, measure_violations, metric_figure
from understudy.retarget.spec import KEY_RATE_HZ, SPACINGS_FRAMES, has_keys
from understudy.samples import Prop
from understudy.studio.props import PROP, carry_props, prop_message
from understudy.studio.scene import Message, ShownBody, SolveResult, Table, empty_result, find_standing, shown_frames
from understudy.studio.tracks import make_tracks, standing_points
from understudy.studio.wording import REMEDIES, page_hint, page_hints

LOWEST_IS_WORST = ("margin",)
"""Curves whose lowest value is the worst."""


def quality_table(
    which: str,
    motion: Motion,
    *,
    source: Motion | None = None,
    correspondence: Correspondence | None = None,
    contacts: Sequence[Contact] | None = None,
    outcomes: Sequence[Outcome] = (),
    carried: Motion | None = None,
) -> dict[str, Any]:
    """The measurements of a motion, worst first, compared with its source if there is one."""
    report = evaluate(
        motion, source, correspondence=correspondence, contacts=contacts, outcomes=outcomes, carried=carried
    )
    frames = shown_frames(motion)
    return {
        "which": which,
        "verdict": str(report.verdict),
        "conclusion": report.conclusion,
        "measurements": [_measurement_table(measurement, motion, frames) for measurement in report.ranked],
        "faults": list(report.failures),
    }


def _measurement_table(measurement: Measurement, motion: Motion, frames: np.ndarray) -> dict[str, Any]:
    time, joint = _worst_place(measurement, motion)
    return {
        "metric": measurement.metric,
        "title": measurement.title,
        "verdict": str(measurement.verdict),
        "words": measurement.words,
        "hint": REMEDIES.get(measurement.title, measurement.hint) if measurement.hint else "",
        "figures": [
            {"name": item.name, "value": item.value, "unit": item.unit, "about": item.about}
            for item in measurement.figures
        ],
        "time": time,
        "joint": joint,
        "curves": [
            {"name": item.name, "unit": item.unit, "values": _shown_values(item, frames)} for item in measurement.curves
        ],
    }


def _shown_values(curve: Curve, frames: np.ndarray) -> list[float | None]:
    """A curve at the displayed frames; None where it is not finite."""
    return [float(v) if np.isfinite(v) else None for v in np.asarray(curve.values)[frames]]


def _worst_place(measurement: Measurement, motion: Motion) -> tuple[float | None, str | None]:
    """Time and joint of the worst value if the metric gives them; else the worst time of its first curve."""
    facts = {**measurement.facts, **(measurement.facts.get("worst") or {})}
    name = facts.get("joint") or facts.get("point") or next(iter(facts.get("parts") or ()), None)
    time = facts.get("time", facts.get("start"))
    if time is None and measurement.curves:
        values = np.asarray(measurement.curves[0].values, float)
        if np.isfinite(values).any():
            lowest = measurement.curves[0].name in LOWEST_IS_WORST
            time = float((np.nanargmin(values) if lowest else np.nanargmax(np.abs(values))) / motion.fps)
    return None if time is None else float(time), _named_joint(motion.skeleton, name)


def _named_joint(skeleton: Skeleton, name: str | None) -> str | None:
    """The joint or end with this name, else the longest joint name that contains it or is part of it."""
    if name is None or name in skeleton.index or any(end.name == name for end in skeleton.ends):
        return name
    similar = [joint for joint in skeleton.names if joint in name or name in joint]
    return max(similar, key=len) if similar else None


OTHER_SOLVERS = ("ik", "ik_lowpass", "naive")
"""Variants besides those by key spacing."""

SOLVER_LABELS = {"ik": "frame by frame", "ik_lowpass": "frame by frame, smoothed", "naive": "copied"}


@record
class Variant:
    """The same problem solved with another solver or key spacing."""

    name: str
    motions: tuple[Motion, ...]
    data: Table
    """Result of `measure`."""

    @property
    def label(self) -> str:
        return SOLVER_LABELS.get(self.name) or f"keys every {self.name} frames"


def solve_variants(
    prepared: Prepared,
    spacing: float,
    names: Sequence[str],
    finished: dict[str, Variant],
    watch: ProgressCallback,
) -> tuple[Variant, ...]:
    """Solve a plan once for each variant name, except for those in `finished`."""
    allowed = (*(str(spacing_frames) for spacing_frames in SPACINGS_FRAMES), *OTHER_SOLVERS)
    variants = dict(finished)
    for index, name in enumerate(names):
        if name not in allowed:
            raise OptionError(f"There is no variant `{name}`", hint=f"known: {', '.join(allowed)}")
        if name not in variants:
            start = index / len(names)
            watch(f"solving {SOLVER_LABELS.get(name, f'with keys every {name} frames')}", start)
            key_spacing = spacing if name in OTHER_SOLVERS else int(name) / KEY_RATE_HZ
            solved = _solve_variant(prepared, name, key_spacing, _sub_watch(watch, start, 1.0 / len(names)))
            variants[name] = Variant(name=name, motions=solved.motions, data=measure(prepared, solved, key_spacing))
    return tuple(variants[name] for name in names)


def _solve_variant(prepared: Prepared, name: str, spacing: float, watch: ProgressCallback) -> Solution:
    if name == "naive":
        return prepared.copied()
    solver = name if name in OTHER_SOLVERS else "spacetime"
    recipe = replace(prepared.recipe, solver=solver, solver_options={})
    return replace(prepared, recipe=recipe).solve(spacing, watch).solution


def variant_figures(data: Table) -> dict[str, float | None]:
    """The figures by which variants are compared."""
    return {
        "unmet": float(len(data["unmet"])),
        "contacts_m": float(data["contacts"]["worst"]),
        "floor_m": float(data["floor"]["worst"]),
        "limits_rad": float(data["limits"]["worst"]),
        "asked": float(data["asked"]["worst"]),
        "jerk": metric_figure(data, "path_jerk", "hips"),
        "pops": metric_figure(data, "pop", "rate"),
        "drift_m": metric_figure(data, "standing", "added_drift"),
    }


def _sub_watch(watch: ProgressCallback, start: float, length: float) -> ProgressCallback:
    """A progress callback for one part of the work."""
    return lambda text, share: watch(text, start + length * share)


@record
class RetargetResult(SolveResult):
    """A solved retarget."""

    tables: Table
    """The solved document."""
    prepared: Prepared
    motions_made: tuple[Motion, ...]
    """Motions of the targets, one for each actor."""
    problem: Problem
    spacing: float
    """Seconds between keys."""
    seconds: float
    """Duration of the solve."""
    solution: Solution | None = None
    """None during a drag."""
    solved_variants: tuple[Variant, ...] = ()
    skins: tuple[Clip, ...] = ()
    """Clips of the sources, for their meshes."""
    props: tuple[Prop, ...] = ()
    base: RetargetResult | None = None
    """During a drag: the finished solve that it started from."""
    span: tuple[int, int] | None = None
    """During a drag: first frame that differs from `base`, and one past the last; None for all."""
    part: tuple[int, int] | None = None
    """The same, compared with what was shown before; None for all."""

    @property
    def live(self) -> bool:
        return self.base is not None

    @cached
    def held(self) -> tuple[Violation, ...]:
        """Violation of every constraint."""
        return measure_violations(self.problem, self.motions_made, quickly=self.live)

    @property
    def contacts(self) -> tuple[Contact, ...]:
        return self.prepared.contacts

    @cached
    def data(self) -> Table:
        """All measurements of the result."""
        assert self.solution is not None
        return measure(self.prepared, self.solution, self.spacing)

    @cached
    def shown_bodies(self) -> tuple[ShownBody, ...]:
        actors = self.prepared.actors
        sources = [
            source_body(self.prepared, i, self.skins[i] if self.skins else None, self.contacts)
            for i in range(len(actors))
        ]
        sources[0] = replace(sources[0], props=self.props)
        results = [self._result(i, actor, self.motions_made[i], "result") for i, actor in enumerate(actors)]
        variants = [
            self._result(i, actor, variant.motions[i], f"variant:{variant.name}")
            for variant in self.solved_variants
            for i, actor in enumerate(actors)
        ]
        return (*sources, *results, *variants)

    def _which(self, kind: str, actor: ActorData) -> str:
        return f"{kind}:{actor.spec.name}" if len(self.prepared.actors) > 1 else kind

    def _result(self, index: int, actor: ActorData, motion: Motion, kind: str) -> ShownBody:
        name = actor.spec.name
        owners = {name, ""} if index == 0 else {name}
        props: tuple[Prop, ...] = ()
        if index == 0 and self.props:
            entries = self.prepared.recipe.props
            props = carry_props(self.props, entries, self.contacts, self.problem, actor.motion, motion)
        solved, motion = motion, on_shown_tree(actor, motion)
        return ShownBody(
            which=self._which(kind, actor),
            solved=solved,
            label=result_label(actor, several=len(self.prepared.actors) > 1),
            props=props,
            motion=motion,
            meshes=actor.clip.shown_meshes() if actor.clip.skeleton.names == motion.skeleton.names else (),
            skeleton=actor.clip.skeleton,
            standing=standing_points(self.problem, self.contacts, owners) if self.prepared.plan is not None else (),
        )

    def motions(self, live: bool = False) -> list[Message]:
        if not (live and self.live):
            return super().motions()
        results = [body for body in self.shown_bodies if body.which.partition(":")[0] == "result"]
        return [body.message(part=self.part) for body in results]

    def with_changed_part(self, shown: SolveResult) -> RetargetResult:
        """The same with `part` set to the frames that differ from what is shown now."""
        if self.span is None or not isinstance(shown, RetargetResult) or (shown.base or shown) is not self.base:
            return self
        if shown.live and shown.span is None:
            return self
        spans = [span for span in (self.span, shown.span if shown.live else None) if span and span[1] > span[0]]
        if not spans:
            return replace(self, part=(0, 0))
        return replace(self, part=(min(span[0] for span in spans), max(span[1] for span in spans)))

    def result(self, seq: int | None = None) -> Table:
        recipe, motion = self.prepared.recipe, self.motions_made[0]
        table = empty_result(seq, self._text(), self.seconds)
        tracks = make_tracks(
            self.held,
            self.contacts,
            recipe.constraints,
            motion.duration,
            listed=self._lists_contacts,
            first=self.prepared.actors[0].spec.name,
        )
        table |= {"tracks": tracks, "keys": self._keys(), "variants": self._variants()}
        if self.solution is not None:
            table |= {
                "conflicts": list(self.solution.conflicts),
                "faults": list(self.data["faults"]),
                "warnings": [
                    *page_hints(hint for evaluation in self.data["evaluations"] for hint in evaluation["hints"]),
                    *map(page_hint, advice(self.data, recipe.options.plants)),
                ],
            }
        return table

    @property
    def _lists_contacts(self) -> bool:
        """Whether the document lists its contacts; else they were detected."""
        tables = self.tables["recipe"]
        return bool(tables.get("contact")) or tables.get("options", {}).get("contacts") == "listed"

    def _text(self) -> str:
        if self.solution is not None:
            return f"{self.data['conclusion']}; {self._met(self.solution)}"
        missed = sum(not violation.outcome.met for violation in self.held)
        return f"{missed} of {len(self.held)} constraints are not met yet" if missed else "on the way"

    def _met(self, solution: Solution) -> str:
        """What the shown motion meets, in a sentence: a robot's is made possible for its motors after the solve."""
        shown = {id(violation.constraint): violation.outcome for violation in self.held}
        outcomes = tuple(shown.get(id(outcome.constraint), outcome) for outcome in solution.outcomes)
        return replace(solution, outcomes=outcomes).result

    def _keys(self) -> list[float]:
        recipe, duration = self.prepared.recipe, self.motions_made[0].duration
        times = recipe.solver_options.get("knots") or recipe.solver_options.get("keys")
        if isinstance(times, tuple | list) and times:
            return [float(time) for time in times]
        if not has_keys(recipe.solver):
            return []
        return [float(t) for t in np.arange(0.0, duration + 0.5 * self.spacing, self.spacing)]

    def _variants(self) -> list[Table]:
        finished = self.base or self
        if not finished.solved_variants:
            return []
        result_row = [("result", "the result", finished.data)] if finished.solution is not None else []
        variant_rows = [(f"variant:{v.name}", v.label, v.data) for v in finished.solved_variants]
        return [
            {"which": which, "label": label, "text": f"{data['conclusion']}; {data['result']}",
             "seconds": data["seconds"], "figures": variant_figures(data)}
            for which, label, data in (*result_row, *variant_rows)
        ]  # fmt: skip

    def mesh(self, which: str) -> Message | None:
        if which.startswith(PROP):
            recipe = self.prepared.recipe
            return prop_message(which, recipe.props, recipe.folder)
        return super().mesh(which)

    def clip(self, which: str) -> Clip:
        kind, _, rest = which.partition(":")
        body, actors = self.shown_body(which), self.prepared.actors
        name = rest.partition(":")[2] if kind == "variant" else rest
        actor = next((candidate for candidate in actors if len(actors) == 1 or candidate.spec.name == name), actors[0])
        if kind != "source":
            return clip_of(actor, body.solved or body.motion)
        source_clip = self.skins[actors.index(actor)] if self.skins else Clip.of(actor.motion)
        return replace(source_clip, skeleton=actor.motion.skeleton, motion=actor.motion, notes=(), dropped=())

    def quality(self, which: str) -> Table:
        body, actors = self.shown_body(which), self.prepared.actors
        name = which.rpartition(":")[2]
        index = next((i for i, actor in enumerate(actors) if len(actors) > 1 and actor.spec.name == name), 0)
        plan, actor = self.prepared.plan, actors[index]
        alignment = None if plan is None else plan.assignments[index].alignment
        contacts = [c for c in self.contacts if c.actor == actor.spec.name or (not c.actor and index == 0)]
        is_source = which.startswith("source")
        outcomes = () if self.solution is None or not which.startswith("result") else self.solution.outcomes
        return quality_table(
            which,
            body.solved or body.motion,
            source=None if is_source else actor.motion,
            correspondence=None if is_source or alignment is None else alignment.correspondence,
            contacts=contacts,
            outcomes=outcomes,
            carried=None if is_source or plan is None else self.prepared.start(index),
        )

    def variants(self, names: Sequence[str], watch: ProgressCallback) -> RetargetResult:
        if self.prepared.plan is None:
            raise OptionError("A target driven by features has no variants")
        finished = {variant.name: variant for variant in self.solved_variants}
        variants = solve_variants(self.prepared, self.spacing, names, finished, watch)
        return replace(self, solved_variants=variants)


def on_shown_tree(actor: ActorData, motion: Motion) -> Motion:
    """A result as it is displayed: on the joints of the target's file if its meshes hang on them, in their order."""
    given, made = actor.clip.skeleton.names, motion.skeleton.names
    return actor.on_given_tree(motion) if given != made and set(given) == set(made) else motion


def source_body(prepared: Prepared, index: int, skin: Clip | None, contacts: Sequence[Contact]) -> ShownBody:
    """A source as it is displayed."""
    actor, several = prepared.actors[index], len(prepared.actors) > 1
    name = actor.spec.name
    actor_contacts = [c for c in contacts if c.actor == name or (not c.actor and index == 0)]
    fits = skin is not None and skin.skeleton.names == actor.motion.skeleton.names
    return ShownBody(
        which=f"source:{name}" if several else "source",
        label=source_label(actor, several=several),
        motion=actor.motion,
        meshes=skin.shown_meshes() if skin is not None and fits else (),
        skeleton=skin.skeleton if skin is not None and fits else None,
        standing=find_standing(actor_contacts, actor.motion),
    )


def title(name: str) -> str:
    """Display name of a file or sample: without prefix and folders."""
    return name.removeprefix("sample:").rpartition("/")[2] or name


def source_label(actor: ActorData, *, several: bool) -> str:
    """Label of a source: its file, with the actor's name if there are several actors."""
    name, file_title = actor.spec.name, title(actor.spec.source)
    return f"{name}: {'source' if file_title == name else file_title}" if several else file_title


def result_label(actor: ActorData, *, several: bool) -> str:
    """Label of a result: the target's file, with the actor's name if there are several actors."""
    if actor.spec.target is not None:
        label = title(actor.spec.target)
    elif several or actor.spec.scale is None:
        label = "result"
    else:
        label = f"{title(actor.spec.source)}, other proportions"
    return f"{actor.spec.name}: {label}" if several else label
