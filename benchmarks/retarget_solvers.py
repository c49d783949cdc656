"""All solvers on the same problem: time, error, and what they do to the fast part of the motion."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from retarget_cases import CAPTURES, LEAST_REPEATS, REPEAT_SECONDS, Case, Table, captures, case, made, worst

from understudy.figure.bands import energy_above, rms_jerk
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import Solution, Solver
from understudy.solve.solvers.ik import Ik
from understudy.solve.solvers.ik_lowpass import IkLowpass
from understudy.solve.solvers.least_squares import LeastSquares
from understudy.solve.solvers.lmult import Lmult
from understudy.solve.solvers.reference import Reference
from understudy.solve.solvers.spacetime import Spacetime
from understudy.solve.solvers.sqp import Sqp

BANDS = (4.0, 8.0, 12.0)
LIMIT = 8.0
"""Seconds that each solver may take."""
AHEAD = 1000.0
"""How many times as long as ours the general solver has to take, or be unfinished."""
TOLERANCE = 1e-3
"""Metres or radians that a constraint may be off by and count as met."""
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Race:
    """What the general solver is given to do."""

    plants: str
    frames: str
    """`every`: keys and residuals at every frame, as ours; `some`: its defaults, far fewer of both."""
    limit: float
    """Seconds that it may take."""

    def solver(self, fps: float) -> Reference:
        found = Reference(seconds=self.limit, iterations=10**9)
        return replace(found, spacing=1.0 / fps, rate=fps) if self.frames == "every" else found


def against_reference(one: Case, races: Sequence[Race]) -> Table:
    """The general solver (NLopt) on the same problems, to the same tolerance, for a stated time."""
    rows, missed, allowed = [], [], 1e3 * TOLERANCE
    for race in races:
        ours = solved(one, race.plants, Spacetime())
        found, reached, own = followed(one.plan(race.plants).problem(), race.solver(one.motion.fps))
        done = np.isfinite(reached)
        ratio = (reached if done else found.seconds) / ours.seconds
        says = f"met after {reached:.1f} s" if done else f"unfinished after {found.seconds:.0f} s"
        errors = 1e3 * worst(ours), 1e3 * own, 1e3 * worst(found)
        rows.append(
            (race.plants, race.frames, ours.seconds, says, found.steps, f"{'' if done else '> '}{ratio:.0f}", *errors)
        )
        if done and race.frames == "every" and ratio < AHEAD:
            missed.append(f"{race.plants} plants: `reference` takes {ratio:.0f} times as long, {AHEAD:.0f} asked for")
    return Table(
        title=f"Against `reference` (NLopt's augmented Lagrangian, L-BFGS inside): {one.name}",
        columns=(
            "plants", "frames", "ours s", "reference", "evaluations", "x ours",
            "ours off by", "it, at its own", "it, at every",
        ),
        rows=tuple(rows),
        notes=(
            f"Met: no constraint off by more than {allowed:g} mm or mrad at the frames looked at. frames: `every`,",
            "keys and residuals at every frame as ours in the end; `some`, a far smaller problem, its defaults: keys",
            "every 4/30 s, 30 frames a second. off by: mm or mrad, ours at every frame; it at the frames it looks at",
            "and at every frame. `>`: it was stopped before it met everything, a lower bound.",
        ),
        missed=tuple(missed),
    )  # fmt: skip


def followed(problem: Problem, solver: Reference) -> tuple[Solution, float, float]:
    """What the general solver makes of a problem; when it first met the tolerance at its own frames, seconds; and
    the least that it was off there."""
    began = time.perf_counter()
    times, errors = [], [np.inf]

    def watch(text: str, _share: float) -> None:
        # It says how far it is off, and nothing else, as it goes.
        errors.append(float(text.rpartition(" ")[2]))
        times.append(time.perf_counter() - began)

    found = solver.solve(problem, watch)
    reached = next((t for t, off in zip(times, errors[1:], strict=True) if off <= TOLERANCE), np.inf)
    return found, reached, min(errors)


RACES = (
    Race(plants="free", frames="every", limit=45.0),
    Race(plants="free", frames="some", limit=45.0),
    Race(plants="fixed", frames="every", limit=20.0),
)


def tables(limits: Sequence[float] = (LIMIT,)) -> list[Table]:
    """Side by side with free and with fixed plants, and against the general solver where it is installed."""
    real = captures()
    walk = case(CAPTURES[0], real[CAPTURES[0]], "60 %") if real else case("sample walk", made("walk"), "60 %")
    found = [side_by_side(walk, plants, limits[0]) for plants in ("free", "fixed")]
    return [*found, against_reference(walk, RACES)] if find_spec("nlopt") else found
