"""Pairs of a motion and a body, and the figures of one retarget: own and the judge's, solved and only carried."""

from __future__ import annotations

import os

# Before numpy is loaded: there is one process for each core.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"

import re
import shlex
import signal
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from quality_figures import OWN_BOUNDS, own_figures
from quality_judge import Figures, Judge

from understudy.app.options import make_recipe
from understudy.app.retarget import retarget as retarget_command
from understudy.base.errors import OptionError, UnderstudyError
from understudy.io import write
from understudy.retarget.actor import clip_of
from understudy.retarget.driver import Prepared, Retargeted, prepare

SAME_BODY = "-"
"""The target of a pair whose options scale the source's own body."""

REPORT_FIGURES = {
    "smoothness jerk": ("smoothness", "jerk_rms_ratio"),
    "smoothness added jump, mm": ("smoothness", "added_jump"),
    "foot skate added drift, mm": ("foot_skate", "added_drift"),
    "floor added depth, mm": ("floor", "added_depth"),
    "contacts recall": ("contact_timing", "recall"),
    "similarity direction, degrees": ("similarity", "direction"),
    "similarity heading, degrees": ("similarity", "heading"),
}
"""Figures of `understudy evaluate` in the tables: metric and figure; lengths are shown in millimetres."""

LARGEST_EXCESS = 10.0
"""The excess of a figure counts at most this much in the order of pairs."""

ZERO_BOUND_UNITS = {"pops": 10.0, "flips": 1.0, "backwards": 0.05}
"""What counts as an excess of 1 for figures whose bound is zero."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A motion and the body that is to perform it."""

    source: Path
    target: str
    """A file or a sample; `-` for the source's own body, scaled by the options."""
    options: tuple[str, ...] = ()
    """Options of `understudy retarget`."""
    max_seconds: float | None = None
    """Only the first seconds of the source's file, if it is longer."""
    skin: bool = True
    """Whether limbs inside the body are measured with the target's skin, which takes long."""

    def __str__(self) -> str:
        return "\t".join([str(self.source), self.target, *self.options, f"{self.max_seconds}"])

    @property
    def body(self) -> str:
        """The target and its options, in short."""
        scale = " ".join(self.options[1:] if self.options[:1] == ("--scale",) else self.options)
        target = "" if self.target == SAME_BODY else Path(self.target).stem
        return " ".join(part for part in (target, scale and f"x {scale}") if part)

    @property
    def name(self) -> str:
        return f"{self.source.stem} to {self.body}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """What was measured of a pair."""

    pair: Pair
    failure: str = ""
    """Why there is no result."""
    verdict: str = ""
    """The verdict of `understudy evaluate`."""
    verdicts: dict[str, str] = field(default_factory=dict)
    """The verdict of each metric."""
    report: Figures = field(default_factory=dict)
    """The figures named in `REPORT_FIGURES`."""
    own: Figures = field(default_factory=dict)
    """The figures named in `OWN_BOUNDS`."""
    judged: Figures | None = None
    carried: Figures | None = None
    """The judge's figures of the carried motion with nothing solved."""
    not_judged: str = ""
    """Why the judge has no figures."""
    seconds: float = 0.0
    """Duration of the motion."""

    def beyond(self, bounds: Figures) -> list[str]:
        """The judge's figures beyond their bounds."""
        return figures_beyond(self.judged, bounds)

    def own_beyond(self) -> list[str]:
        """The own figures beyond their bounds."""
        return figures_beyond(self.own, OWN_BOUNDS)

    def excess(self, bounds: Figures) -> float:
        """How far all figures are beyond their bounds, in bounds, each at most `LARGEST_EXCESS`."""
        figures, limits = (self.own, OWN_BOUNDS) if self.judged is None else (self.judged, bounds)
        total = 0.0
        for name in figures_beyond(figures, limits):
            unit = limits[name] or ZERO_BOUND_UNITS.get(name, 1.0)
            total += min((figures[name] - limits[name]) / unit, LARGEST_EXCESS)
        return total


def figures_beyond(figures: Figures | None, bounds: Figures) -> list[str]:
    """The names of figures beyond their bounds; one that is not a number is beyond."""
    figures = figures or {}
    return [name for name in bounds if name in figures and not figures[name] <= bounds[name]]


def read_matrix(file: Path, data: Path) -> list[Pair]:
    """The pairs of a matrix: source, target and options with tabs between, files relative to the folder of data."""
    pairs = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        source, target, *options = line.split("\t")
        own = target == SAME_BODY or target.startswith("sample:")
        pairs.append(
            Pair(
                source=data / source,
                target=target if own else str(data / target),
                options=tuple(shlex.split(options[0])) if options else (),
            )
        )
    return pairs


def draw_pairs(folder: Path, targets: Sequence[str], count: int, seed: int, max_seconds: float) -> list[Pair]:
    """Clips drawn at random from all BVH files of a folder, each onto every target.

    Args:
        folder: The collection, with folders in it.
        targets: Files or samples; or a scale such as `0.6` or `legs=1.3` of the clip's own body.
        count: How many clips; all if the collection has fewer.
        seed: The same seed draws the same clips of the same collection, a smaller count the first of them.
        max_seconds: Clips are cut to their first seconds.
    """
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".bvh" and path.is_file())
    if not files:
        raise OptionError(f"There are no BVH files in `{folder}`")
    chosen = np.random.default_rng(seed).permutation(len(files))[:count]
    pairs = []
    # In the order of the draw, so that the rows of an unfinished run are drawn at random too.
    for index in chosen:
        for target in targets:
            scaled = re.fullmatch(r"[\d.]+|\w+=.+", target) is not None
            options = ("--scale", target) if scaled else ()
            name = SAME_BODY if scaled else target
            pairs.append(
                Pair(source=files[index], target=name, options=options, max_seconds=max_seconds, skin=False)
            )  # fmt: skip
    return pairs


def cut_bvh(text: str, max_seconds: float) -> str | None:
    """A BVH file's text with the frames of its first seconds; None if it has no more."""
    parts = re.split(r"(\bMOTION\s+Frames:\s*)(\d+)(\s+Frame Time:\s*)(\S+)", text, maxsplit=1, flags=re.IGNORECASE)
    if len(parts) != 6:
        return None
    head, motion, count, label, frame_time, numbers = parts
    frames = max(round(max_seconds / float(frame_time)), 2)
    if int(count) <= frames:
        return None
    width = sum(int(n) for n in re.findall(r"\bCHANNELS\s+(\d+)", head, re.IGNORECASE))
    values = numbers.split(maxsplit=frames * width)[: frames * width]
    rows = (" ".join(values[i : i + width]) for i in range(0, len(values), width))
    return "".join([head, motion, str(frames), label, frame_time, "\n", "\n".join(rows), "\n"])


@contextmanager
def source_file(pair: Pair) -> Iterator[Path]:
    """The file of a pair's source, cut if it is too long."""
    text = None
    if pair.max_seconds is not None:
        text = cut_bvh(pair.source.read_text(encoding="latin-1"), pair.max_seconds)
    if text is None:
        yield pair.source
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / pair.source.name
        file.write_text(text, encoding="latin-1")
        yield file


def prepare_pair(pair: Pair, source: Path) -> Prepared:
    """The retarget that `understudy retarget` would make of a pair."""
    target = () if pair.target == SAME_BODY else (pair.target,)
    arguments = [str(source), *target, *pair.options, "--output", "result.bvh"]
    with retarget_command.make_context("retarget", arguments) as context:
        return prepare(make_recipe(context.params))


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TimeoutError after some seconds, on systems with alarms."""
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeoutError(f"took more than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def measure_pair(pair: Pair, judge: Judge | None, limit: float | None = None) -> Row:
    """Retarget a pair and measure it; a pair that fails is a row with the reason."""
    try:
        with time_limit(limit), source_file(pair) as source:
            prepared = prepare_pair(pair, source)
            return measure_result(pair, source, prepared.solve(), judge)
    except Exception as error:
        # Any fault is a finding of this program, and the other pairs go on.
        kind = "" if isinstance(error, UnderstudyError | TimeoutError) else f"{type(error).__name__}: "
        words = str(error).partition("\n")[0].replace(f"{pair.source.parent}{os.sep}", "")
        return Row(pair=pair, failure=f"{kind}{words}")


def measure_result(pair: Pair, source: Path, retargeted: Retargeted, judge: Judge | None) -> Row:
    """The row of a finished retarget."""
    report = retargeted.evaluate(skin=pair.skin)
    by_metric = {m.metric: {figure.name: figure for figure in m.figures} for m in report.measurements}
    figures = {}
    for name, (metric, key) in REPORT_FIGURES.items():
        figure = by_metric.get(metric, {}).get(key)
        if figure is not None and figure.value is not None:
            figures[name] = figure.value * (1000.0 if figure.unit == "m" else 1.0)
    judged, carried, not_judged = None, None, "the judge is not at hand"
    if judge is not None:
        judged, carried, not_judged = judge_result(source, retargeted, judge)
    return Row(
        pair=pair,
        verdict=str(report.verdict) if report.usable else "failed",
        verdicts={m.metric: str(m.verdict) for m in report.measurements},
        report=figures,
        own=own_figures(retargeted),
        judged=judged,
        carried=carried,
        not_judged=not_judged,
        seconds=retargeted.motion.duration,
    )


def judge_result(source: Path, retargeted: Retargeted, judge: Judge) -> tuple[Figures | None, Figures | None, str]:
    """The judge's figures of a result and of the carried motion, and why there are none."""
    prepared = retargeted.prepared
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.bvh"
        write(retargeted.clip, result)
        judged = judge.measure(source, result)
        if isinstance(judged, str):
            return None, None, judged
        if prepared.plan is None:
            return judged, None, ""
        start = Path(folder) / "carried.bvh"
        write(clip_of(prepared.actors[0], prepared.plan.starts[0]), start)
        carried = judge.measure(source, start)
        return judged, None if isinstance(carried, str) else carried, ""


def measure_pairs(
    pairs: Sequence[Pair], judge: Judge | None, *, processes: int, limit: float | None = None
) -> Iterator[Row]:
    """The rows of all pairs in their order, made by several processes."""
    if processes <= 1:
        yield from (measure_pair(pair, judge, limit) for pair in pairs)
        return
    with ProcessPoolExecutor(processes) as pool:
        futures = [pool.submit(measure_pair, pair, judge, limit) for pair in pairs]
        for pair, future in zip(pairs, futures, strict=True):
            try:
                row = future.result()
            except BrokenProcessPool:
                # One process that ends abruptly takes all pairs with it: those left are measured one by one.
                row = _measure_alone(pair, judge, limit)
            yield row


def _measure_alone(pair: Pair, judge: Judge | None, limit: float | None) -> Row:
    """The row of a pair, made by a process of its own."""
    try:
        with ProcessPoolExecutor(1) as pool:
            return pool.submit(measure_pair, pair, judge, limit).result()
    except BrokenProcessPool:
        return Row(pair=pair, failure="its process ended abruptly")
