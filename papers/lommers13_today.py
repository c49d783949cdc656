"""[Lommers13] rows that came out worst, asked in three ways: as the thesis does, restated, and with today's means.

The thesis's places and constraints are used as they are in the first way. The other two are restatements of ours. The
second has weights that were searched on these rows; the third has none: default weights, the hands where the thesis has
them, balance over the points that stand at each time, arms and legs out of each other, and hands as near to the body
as the original's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import combinations
from pathlib import Path

import numpy as np

from papers.base import Capture, Cell, Experiment, Findings, Fresh, Paper, Table, Tell, cmu, collected
from papers.lommers13 import (
    ARMS,
    CASES,
    EXPERIMENTS,
    MAX_STEPS,
    SPACINGS,
    WRISTS,
    Case,
    Columns,
    Material,
    asked,
    captured,
    measure,
    missing_reach,
    parts_below,
    pass_through,
    sampled,
    solve_as_asked,
    solve_as_ours,
)
from papers.lommers13 import CAPTURES as TABLES
from understudy.constraints.apart import Apart
from understudy.constraints.balance import Balance
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.region import Region
from understudy.figure.contacts import Contact, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.surface import capsules, resting_depths
from understudy.metrics.balance import MAX_STANDING_SPEED_LEGS_PER_S, SOLE_MARGIN_LEGS, margins
from understudy.retarget.plan import Assignment, Options, Plan, plan
from understudy.solve.solvers.base import Solution
from understudy.solve.solvers.spacetime import Spacetime

ROWS = ("04", "05", "06", "09", "12")
"""The rows that came out worst on captures."""

LEGS = ("upper_leg", "lower_leg", "foot")

SOLE_SHARE = 0.8
"""The share of the sole's margin that the centre of mass may use."""

FRESH_REACHES = {"115_08": (4, 34, 48), "111_17": (22, 52, 66)}
"""Reaches on which nothing was developed: first frame, frame of the grasp and end, at 30 frames per second."""

WAYS: dict[str, str] = {
    "thesis": "the thesis's constraints as they are",
    "restated": "ours, weights searched on these rows",
    "today": "ours, default weights, balance over what stands, legs apart, touch",
}


def standing_balance(case: Case, laid_out: Plan) -> list[Constraint]:
    """The centre of mass over the points that stand, at the frames at which the original's is over its own."""
    motion, target = case.source(), case.target()
    plants = _planted(laid_out)
    if not plants:
        return []
    held = np.zeros((motion.num_frames, len(plants)), bool)
    for column, (_, start, end) in enumerate(plants):
        held[(motion.times >= start - 1e-6) & (motion.times <= end + 1e-6), column] = True
    leg = leg_length(motion.skeleton)
    contacts = [(c.point, c.frames(motion.fps, motion.num_frames)) for c in case.contacts()]
    inside, _ = margins(fk(motion), motion.fps, contacts, SOLE_MARGIN_LEGS * leg, MAX_STANDING_SPEED_LEGS_PER_S * leg)
    held[~(inside > 0.0)] = False
    allowed = -SOLE_SHARE * SOLE_MARGIN_LEGS * leg_length(target)
    constraints: list[Constraint] = []
    changes = np.flatnonzero(np.any(held[1:] != held[:-1], axis=1)) + 1
    for first, last in zip([0, *changes], [*changes, motion.num_frames], strict=True):
        feet = list({plants[i][0].name: plants[i][0] for i in np.flatnonzero(held[first])}.values())
        if feet:
            times = {"start": float(motion.times[first]), "end": float(motion.times[last - 1])}
            constraints.append(Balance.of(target, feet=feet, margin=allowed, name=f"balance {first}", **times))
    return constraints


def _planted(laid_out: Plan) -> list[tuple[Point, float, float]]:
    """The points of the target that stand, with the seconds of their start and end."""
    plants = []
    for constraint in laid_out.constraints:
        refs = constraint.point_refs()
        if constraint.kind not in ("place", "same_place") or len(refs) != 1 or not isinstance(refs[0].point, Point):
            continue
        start, end = constraint.start, constraint.end
        plants.append((refs[0].point, float(start or 0.0), float(np.inf if end is None else end)))
    return plants


def all_apart(target: Skeleton) -> tuple[Constraint, ...]:
    """Arms and legs out of each other and of the trunk, except as in the rest pose."""
    body, resting = capsules(target), resting_depths(target)
    constraints: list[Constraint] = []
    for one, other in combinations(range(len(body.ends)), 2):
        parts = body.parts[one], body.parts[other]
        key = (min(parts), max(parts))
        legs = all(part.endswith(LEGS) for part in parts) and parts[0][:4] != parts[1][:4]
        if parts[0] == parts[1] or key in body.joined or not (legs or any(part.endswith(ARMS) for part in parts)):
            continue
        first, second = (tuple(PointRef(point=end) for end in body.ends[i]) for i in (one, other))
        apart = max(float(body.radii[one] + body.radii[other]) - resting.get(key, 0.0), 0.0)
        name = f"{parts[0]} clear of {parts[1]} ({body.ends[one][1].name}, {body.ends[other][1].name})"
        constraints.append(Apart(part=first, other=second, radius=apart, name=name))  # type: ignore[arg-type]
    return tuple(constraints)


def solve_today(case: Case) -> Solution:
    """Solve with default weights; limbs are kept apart only if that breaks nothing else."""
    motion, target = case.source(), case.target()
    constraints = asked(case, [name for name in case.points if name in WRISTS])
    hands = [name for name in parts_below(target, WRISTS) if name not in WRISTS]
    constraints += [
        Region(point=PointRef(point=tip), centre=np.zeros(3), name=f"{tip} above the floor") for tip in hands
    ]
    laid_out = plan(
        [Assignment(motion=motion, target=target)], constraints=constraints, contacts=case.contacts(),
        options=Options(plants="fixed"),
    )  # fmt: skip
    solver = Spacetime(spacing=SPACINGS[1], iterations=MAX_STEPS)
    balance = tuple(standing_balance(case, laid_out))
    plain = replace(laid_out, constraints=(*laid_out.constraints, *balance)).solve(solver)
    clear = all_apart(target)
    if missing_reach(case).impossible or pass_through(plain.motion, clear):
        return plain
    cleared = replace(laid_out, constraints=(*laid_out.constraints, *balance, *clear)).solve(solver)
    best = plain if len(cleared.unmet) > len(plain.unmet) else cleared
    return replace(best, seconds=plain.seconds + cleared.seconds)


def fresh_material(collection: Path, name: str) -> Material:
    """A reach on which nothing was developed; the walk is not used."""
    first, grasp, last = FRESH_REACHES[name]
    reach = replace(collected(collection, name, rate=30.0)[first:last], name=name)
    floor: tuple[Contact, ...] = tuple(c for c in detect_contacts(reach) if c.on == "floor")
    grip = (grasp - first) / 30.0
    return Material(reach=reach, reach_contacts=floor, grip=grip, walk=reach, walk_contacts=floor)


def three_ways(case: Case) -> dict[str, tuple[Columns, Solution]]:
    """A row asked in the three ways, and what is seen of each."""
    hands = [name for name in case.points if name in WRISTS]
    solutions = {"thesis": solve_as_asked(case), "restated": solve_as_ours(case), "today": solve_today(case)}
    return {
        way: (measure(case, solution, asked(case, case.points if way == "thesis" else hands)), solution)
        for way, solution in solutions.items()
    }


HEAD = (
    "motion", "id", "way", "left (m)", "goal (mm)", "balance", "sunk (mm)", "arm inside (mm)", "legs inside (mm)",
    "skate (mm/s)", "path", "acceleration", "jerk", "not met", "seconds",
)  # fmt: skip


def rows_of(case: Case) -> list[tuple[Cell, ...]]:
    """The table rows of a configuration."""
    rows = []
    for way, (seen, solution) in three_ways(case).items():
        rows.append((
            case.source().name, case.name, way, seen.difference, 1e3 * seen.missed,
            f"{seen.balance} ({100 * seen.outside:.0f}%)", round(1e3 * max(seen.sunk, 0.0)),
            round(1e3 * max(seen.inside, 0.0)), round(1e3 * max(seen.legs, 0.0)), 1e3 * seen.skate,
            f"{max(seen.longer.values()):.2f}", f"{max(seen.faster.values()):.2f}", f"{seen.jerk:.2f}",
            len(solution.unmet), solution.seconds,
        ))  # fmt: skip
    return rows


def table(materials: Sequence[Callable[[], Material]], title: str, tell: Tell) -> Findings:
    """The table of the chosen rows on some materials."""
    rows = []
    for material in materials:
        for case in CASES:
            if case.name in ROWS:
                tell(f"configuration {case.name} in three ways")
                rows += rows_of(replace(case, material=material))
    return Findings(tables=(Table(title=title, head=HEAD, rows=tuple(rows)),))


TITLE = "Rows 04, 05, 06, 09 and 12 in three ways"


def run_samples(folder: Path | None, tell: Tell) -> Findings:
    """The rows on the sample."""
    return table([sampled], TITLE, tell)


def _run_captured(data: Path, folder: Path | None, tell: Tell) -> Findings:
    return table([partial(captured, data)], f"{TITLE}: CMU 115_06", tell)


def _run_fresh(collection: Path, data: Path | None, folder: Path | None, tell: Tell) -> Findings:
    materials = [cache(partial(fresh_material, collection, name)) for name in FRESH_REACHES]
    return table(materials, f"{TITLE}: CMU {' and '.join(FRESH_REACHES)}", tell)


CAPTURES = (
    Capture(
        name="today_captured",
        about="The worst rows in three ways, on a captured reach",
        files=(cmu("115_06"), cmu("02_01")),
        run=_run_captured,
    ),
)

FRESH = (
    Fresh(
        name="today_fresh",
        about="The worst rows in three ways, on reaches on which nothing was developed",
        clips=tuple(FRESH_REACHES),
        run=_run_fresh,
    ),
)

PAPER = Paper(
    name="lommers13",
    title="Lommers: Evaluation of motion retargeting using spacetime constraints (2013)",
    experiments=(*EXPERIMENTS, Experiment(name="today", about="The worst rows in three ways", run=run_samples)),
    captures=(*TABLES, *CAPTURES),
    fresh=FRESH,
)
