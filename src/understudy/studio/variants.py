"""Other ways to solve the same retarget, beside the result: key spacings, frame by frame, or nothing solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from understudy.errors import OptionError
from understudy.motion import Motion
from understudy.pipeline import naive
from understudy.plan import Plan
from understudy.problem import Problem
from understudy.recipe.model import RATE, SPACINGS
from understudy.recipe.prepare import Prepared, make_solver
from understudy.recipe.quality import measure
from understudy.solvers.base import Solution, Watch, solution
from understudy.studio.tracks import moved_bodies
from understudy.studio.work import Table

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
    allowed = (*(str(each) for each in SPACINGS), *WAYS)
    made = dict(known)
    for number, name in enumerate(names):
        if name not in allowed:
            raise OptionError(f"There is no other way to solve called `{name}`", hint=f"known: {', '.join(allowed)}")
        if name not in made:
            share = number / len(names)
            watch(f"solving {LABELS.get(name, f'with keys every {name} frames')}", share)
            keys = spacing if name in WAYS else int(name) / RATE
            found = _solved(plan, problem, name, keys, _within(watch, share, 1.0 / len(names)))
            made[name] = Variant(name=name, motions=found.motions, data=measure(prepared, found, keys))
    return tuple(made[name] for name in names)


def _solved(plan: Plan, problem: Problem, name: str, spacing: float, watch: Watch) -> Solution:
    if name == "naive":
        copied = tuple(
            naive(part.motion, part.target) if part.alignment is None and part.share is None else start
            for part, start in zip(plan.parts, plan.starts, strict=True)
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
