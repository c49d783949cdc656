"""How fast retargeting is against the motion's own time, and where the time goes."""

from __future__ import annotations

import cProfile
import pstats
import time
from collections.abc import Iterable
from pathlib import Path

from retarget_cases import BODIES, CAPTURES, Case, Table, best, captures, case, motions, worst

from understudy.figure.bands import choose_spacing
from understudy.figure.motion import Motion
from understudy.solve.solvers.spacetime import Spacetime

REAL_TIME = 100.0
"""How many times faster than real time free-plant retargeting of the captures has to be."""
PLANTS = ("same_place", "place")
PARTS = {
    "evaluation": (("evaluation.py", "measure"),),
    "derivatives": (("newton.py", "jacobian"),),
    "band": (("dual.py", "band"), ("dual.py", "add_compliance")),
    "factor": (("dual.py", "cholesky_factor"), ("dual.py", "solve_factored")),
    "forces to keys": (("dual.py", "keys_of_forces"),),
    "layout of rows": (("newton.py", "from_evaluation"), ("newton.py", "active_rows")),
    "motion from keys": (("evaluation.py", "displace_bodies"),),
    "costs of the body": (("problem.py", "metric"),),
}
"""By what is shown: the functions whose time it is, by file and name; none of them calls another."""


def real_time(motions: dict[str, Motion], wanted: Iterable[str] = ()) -> Table:
    """Real-time factors of motions on every body; those of the wanted ones have to be high."""
    rows, missed = [], []
    for name, motion in motions.items():
        for body in BODIES:
            one = case(name, motion, body)
            row = timed(one)
            rows.append(row)
            if name in wanted and row[3] < REAL_TIME:
                missed.append(f"{one.name}: {row[3]:.0f} x real time when solving, {REAL_TIME:.0f} asked for")
    return Table(
        title="Real-time factor: seconds of motion for each second of work, free plants, 120 Hz",
        columns=(
            "motion, body",
            "seconds",
            "solve ms",
            "solve x",
            "all ms",
            "all x",
            "steps",
            "worst plant mm",
            "unmet",
        ),
        rows=tuple(rows),
        notes=(
            "solve: the solver alone. all: contacts, floor, limits, start, solve and report; not reading the file.",
            "worst plant: at every frame of the original rate. unmet: constraints beyond their tolerance, of any kind.",
        ),
        missed=tuple(missed),
    )


def timed(one: Case) -> tuple[str, float, float, float, float, float, int, float, int]:
    """A row of the table."""
    found = one.plan().solve()

    def work() -> tuple[float, float]:
        fresh = one.anew()
        began = time.perf_counter()
        solution = fresh.plan().solve()
        solution.report()
        return solution.seconds, time.perf_counter() - began

    solving, everything = best(work)
    seconds, plant = one.motion.duration, 1e3 * worst(found, PLANTS)
    return (
        one.name, seconds, 1e3 * solving, seconds / solving, 1e3 * everything, seconds / everything, found.steps,
        plant, len(found.unmet),
    )  # fmt: skip


def breakdown(cases: Iterable[Case]) -> Table:
    """Percent of the solver's time in each of its parts."""
    shares = {one.name: shares_of(one) for one in cases}
    rows = [(part, *(f"{100.0 * found[part]:.0f} %" for found in shares.values())) for part in [*PARTS, "the rest"]]
    return Table(
        title="Where the solver's time goes, by profile",
        columns=("part", *shares),
        rows=tuple(rows),
        notes=("The profiler makes Python calls dearer than they are: small motions look more like `the rest`.",),
    )


def shares_of(one: Case) -> dict[str, float]:
    """The share of the time of solving that each part takes."""
    solver = Spacetime(spacing=choose_spacing(one.motion))
    solver.solve(one.plan().problem())
    profile = cProfile.Profile()
    profile.runcall(solver.move, one.plan().problem(), lambda _text, _share: None)
    times: dict[tuple[str, str], float] = {}
    for (file, _, name), entry in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        key = (Path(file).name, name)
        times[key] = times.get(key, 0.0) + entry[3]
    absent = [f"{name} in {file}" for part in PARTS.values() for file, name in part if (file, name) not in times]
    if absent:
        raise LookupError(f"The profile has no {', '.join(absent)}: the solver's parts are named otherwise now")
    total = times["spacetime.py", "move"]
    found = {part: sum(times[key] for key in keys) / total for part, keys in PARTS.items()}
    return found | {"the rest": 1.0 - sum(found.values())}


def tables() -> list[Table]:
    """Speed and where it goes: on the captures where they are, and on samples always."""
    clips, real = motions(), captures()
    walk, squat = CAPTURES if real else ("sample walk", "sample squat")
    chosen = [case(walk, clips[walk], "60 %"), *(case(squat, clips[squat], body) for body in BODIES)]
    return [real_time(clips, real), breakdown(chosen)]
