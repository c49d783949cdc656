"""All solvers on the same problem: time, error, and what they do to the fast part of the motion."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from retarget_cases import CAPTURES, LEAST_REPEATS, REPEAT_SECONDS, Case, Table, captures, case, made, worst

from understudy.bands import energy_above, rms_jerk
from understudy.problem import Problem, Sample
from understudy.solvers.base import Solution, Solver, solution
from understudy.solvers.ik import Ik
from understudy.solvers.ik_lowpass import IkLowpass
from understudy.solvers.least_squares import LeastSquares
from understudy.solvers.lmult import Lmult
from understudy.solvers.reference import Reference
from understudy.solvers.rows import sampled_frames, violation
from understudy.solvers.spacetime import Spacetime
from understudy.solvers.sqp import Sqp

BANDS = (4.0, 8.0, 12.0)
LIMIT = 12.0
"""Seconds that each solver may take."""
REFERENCE_LIMIT = {"free": 60.0, "fixed": 45.0}
"""Seconds that the general solver may take."""
AHEAD = 1000.0
"""How many times as long as ours the general solver has to take, or be unfinished."""
CLOSER = 1e-6
"""Softness at which solvers with a key at every frame are as exact as ours."""


def solvers(fps: float, limit: float) -> dict[str, Solver]:
    """The solvers at their defaults, and those of one key spacing again with a key at every frame."""
    found: dict[str, Solver] = {"spacetime": Spacetime()}
    spaced: dict[str, type[Any]] = {"least_squares": LeastSquares, "lmult": Lmult, "sqp": Sqp}
    found |= {name: kind(seconds=limit) for name, kind in spaced.items()}
    found |= {"ik": Ik(seconds=limit), "ik_lowpass": IkLowpass(seconds=limit)}
    dense = {"spacing": 1.0 / fps, "rate": fps, "softness": CLOSER, "seconds": limit}
    return found | {f"{name}, key a frame": kind(**dense) for name, kind in spaced.items()}


def solved(one: Case, plants: str, solver: Solver) -> Solution:
    """The quickest of several solutions; one that takes long is not tried again."""
    best = solver.solve(one.plan(plants).problem())
    for _ in range(LEAST_REPEATS if best.seconds < REPEAT_SECONDS else 0):
        again = solver.solve(one.plan(plants).problem())
        best = again if again.seconds < best.seconds else best
    return best


def side_by_side(one: Case, plants: str, limit: float = LIMIT) -> Table:
    """Every solver on a retarget with free or fixed plants."""
    energy, jerk = energy_above(one.motion, BANDS), rms_jerk(one.motion)
    rows, missed, ours = [], [], np.inf
    for name, solver in solvers(one.motion.fps, limit).items():
        found = solved(one, plants, solver)
        ours = found.seconds if name == "spacetime" else ours
        above = 100.0 * (energy_above(found.motion, BANDS) / energy - 1.0)
        shaken = 100.0 * (rms_jerk(found.motion) / jerk - 1.0)
        changes = [f"{change:+.1f}" for change in (*above, shaken)]
        late = found.seconds >= limit
        time = f"{found.seconds:.3f}{' *' if late else ''}"
        rows.append((name, time, found.seconds / ours, found.steps, 1e3 * worst(found), len(found.unmet), *changes))
        if found.seconds < ours and not found.unmet:
            missed.append(
                f"{plants} plants: {name} meets everything in {found.seconds / ours:.2f} of the time of spacetime, "
                f"with the energy above {BANDS[1]:g} Hz {above[1]:+.0f} % off the source's"
            )
    return Table(
        title=f"Solvers on the same problem: {one.name}, {plants} plants",
        columns=(
            "solver", "time s", "x spacetime", "steps", "worst mm or mrad", "unmet",
            *(f">{hertz:g} Hz %" for hertz in BANDS), "jerk %",
        ),
        rows=tuple(rows),
        notes=(
            f"At their defaults; `key a frame`: keys and residuals at every frame, softness {CLOSER:g}: as exact.",
            f"Each may take {limit:g} s; * stopped then, with the best found. worst: at every frame, any constraint.",
            "Energy above frequencies and RMS jerk: percent more or less than the source's.",
        ),
        missed=tuple(missed),
    )  # fmt: skip


def against_reference(one: Case, limits: dict[str, float]) -> Table:
    """The general solver (NLopt) on the same problems, to the same tolerance, for a stated time."""
    rows, missed = [], []
    for plants, limit in limits.items():
        ours = solved(one, plants, Spacetime())
        found, own = with_reference(one.plan(plants).problem(), Reference(seconds=limit, iterations=10**9))
        done = found.seconds < limit and not found.unmet
        ratio = found.seconds / ours.seconds
        says = "met" if not found.unmet else "unfinished" if found.seconds >= limit else "gave up"
        rows.append(
            (plants, ours.seconds, 1e3 * worst(ours), len(ours.unmet), found.seconds, says, found.steps,
             1e3 * worst(found), len(found.unmet), 1e3 * own, f"{'' if done else '> '}{ratio:.0f}")
        )  # fmt: skip
        if done and ratio < AHEAD:
            missed.append(f"{plants} plants: `reference` takes {ratio:.0f} times as long, {AHEAD:.0f} asked for")
    return Table(
        title=f"Against `reference` (NLopt's augmented Lagrangian, L-BFGS inside): {one.name}",
        columns=(
            "plants", "ours s", "worst", "unmet", "reference s", "it is", "evaluations", "worst", "unmet", "at its own",
            "x ours",
        ),
        rows=tuple(rows),
        notes=(
            "worst: millimetres or milliradians at every frame; each constraint allows 1. at its own: at the 30 frames",
            "a second that `reference` looks at, which its keys every 4/30 s could meet. Where it was stopped before",
            "it met everything, the ratio is a lower bound.",
        ),
        missed=tuple(missed),
    )  # fmt: skip


def with_reference(problem: Problem, solver: Reference) -> tuple[Solution, float]:
    """What the general solver makes of a problem, and its worst error at the frames that it looks at itself."""
    began = time.perf_counter()
    bodies, steps = solver.move(problem, lambda _text, _share: None)
    found = solution(problem, bodies, solver=solver.name, steps=steps, seconds=time.perf_counter() - began)
    frames = sampled_frames(problem, solver.rate)
    seen = Sample(problem=problem, bodies=bodies, frames=frames)
    off = violation(seen.evaluate(np.zeros((len(frames), seen.ensemble.num_coordinates))))
    return found, max((float(each.max(initial=0.0)) for each in off), default=0.0)


def tables(limits: Sequence[float] = (LIMIT,)) -> list[Table]:
    """Side by side with free and with fixed plants, and against the general solver where it is installed."""
    real = captures()
    walk = case(CAPTURES[0], real[CAPTURES[0]], "60 %") if real else case("sample walk", made("walk"), "60 %")
    found = [side_by_side(walk, plants, limits[0]) for plants in ("free", "fixed")]
    return [*found, against_reference(walk, REFERENCE_LIMIT)] if find_spec("nlopt") else found
