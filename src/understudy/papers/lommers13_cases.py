"""The twelve configurations of [Lommers13, table 7.1], and what the thesis says came of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from understudy.bands import choose_spacing, rms_jerk
from understudy.body import leg_length
from understudy.constraints.balance import Balance
from understudy.constraints.base import Constraint, Spot
from understudy.constraints.presets import key_moment, key_moment_interpolated, original_position
from understudy.constraints.region import Region
from understudy.contacts import Contact
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.papers.lommers13_body import added_depths, clear_of_each_other, pass_through
from understudy.papers.lommers13_material import ANKLES, WRISTS, Material, parts_below, sampled
from understudy.pipeline import Options, Part, Plan, plan
from understudy.skeleton import Skeleton
from understudy.solvers.base import Solution, Watch
from understudy.solvers.spacetime import Spacetime

TRUNK = ("LowerBack", "Spine", "Spine1")
JOINTS = (*TRUNK, *(f"{side}{part}" for side in ("Left", "Right") for part in ("Arm", "ForeArm", "UpLeg", "Leg")))
"""What the thesis may turn: three joints of the spine, shoulders, elbows, hips and knees; the root moves and does not
turn [Lommers13, sec. 7.1.2]."""
TOLERANCE = 0.015
"""Metres a position may be off along an axis [Lommers13, sec. 7.1.2]."""
INTERVAL = 0.13
"""Seconds between two looks at a constraint [Lommers13, sec. 7.2]."""
SPACINGS = (8 / 30, 4 / 30, 2 / 30)
"""Seconds between keys; the thesis has an eighth of a second."""
STEADY = {"root": 100.0, "Hips": 100.0, **dict.fromkeys(TRUNK, 10.0)}
"""How much dearer than usual it is to move hips and trunk: the thesis found its oscillations to come from hips, and
turns that the original has not from a torso, that are cheap to move [Lommers13, sec. 7.3.2]."""
CROSSING = 0.05
"""Leg lengths that a body may be deeper inside itself for being smoother."""
PATIENCE = 40
"""Steps after which what cannot be met is not tried any further."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the thesis notes of a configuration [Lommers13, table 7.2]."""

    difference: float
    """Metres: sum of what is left beyond the tolerance."""
    hours: int
    balance: str
    flight: bool
    penetration: str
    path: str
    acceleration: str
    goal: bool

    @property
    def solved(self) -> bool:
        return self.difference == 0.0


@dataclass(frozen=True, kw_only=True)
class Case:
    """A configuration [Lommers13, table 7.1]."""

    name: str
    scale: float
    even: bool
    """Whether the body is scaled as a whole; else once more at every level of the hierarchy."""
    motion: str
    constraints: str
    said: Said

    material: Callable[[], Material] = sampled
    """The reach and the walk that it is run on."""

    def source(self) -> Motion:
        return self.material().reach if self.reaches else self.material().walk

    def contacts(self) -> tuple[Contact, ...]:
        return self.material().reach_contacts if self.reaches else self.material().walk_contacts

    @property
    def reaches(self) -> bool:
        return self.motion == "reach_low"

    def target(self) -> Skeleton:
        own = self.source().skeleton
        return own.scaled(self.scale if self.even else self.scale ** own.depths.astype(float))

    @property
    def points(self) -> tuple[str, ...]:
        """The points that are to be where the original's are."""
        return (*ANKLES, *WRISTS) if self.reaches else ANKLES


def asked(case: Case, points: Sequence[str]) -> list[Constraint]:
    """What a configuration asks of some of its points, word for word as in the thesis."""
    motion = case.source()
    if case.constraints == "original_position":
        return original_position(motion, points)
    feet = [name for name in points if name in ANKLES]
    hands = [name for name in points if name in WRISTS]
    # Key moments are footsteps and grasps: the feet have just been set down, and are about to be lifted.
    grip = case.material().grip
    moments = {"feet": (0.0, grip, motion.duration), "hands": (grip,)}
    preset = {"key_moment": key_moment, "key_moment_interpolated": key_moment_interpolated}[case.constraints]
    return [*preset(motion, feet, moments["feet"]), *preset(motion, hands, moments["hands"])]


def solve_as_asked(case: Case, watch: Watch | None = None) -> Solution:
    """The thesis's problem and nothing else: points where they were, by the joints it moves, inside human limits."""
    options = Options(plants="none", floor=False)
    parts = [Part(motion=case.source(), target=case.target(), joints=JOINTS)]
    laid_out = plan(parts, constraints=asked(case, case.points), contacts=(), options=options)
    return _first_met(laid_out, _spacings(case, (choose_spacing(case.source()), *SPACINGS)), watch)


def solve_as_ours(case: Case, watch: Watch | None = None) -> Solution:
    """The same goal as Understudy would state it.

    Feet are planted where they stood, hands are where the thesis has them, the body is above the floor with its centre
    of mass over the feet, and its arms stay out of the rest of it. Where without that last they go clean through the
    body, or with it more is missed than without, it is left out. Of two spacings of keys the smoother result is kept,
    unless its legs or arms go much deeper into each other.
    """
    motion, target = case.source(), case.target()
    constraints = asked(case, [name for name in case.points if name in WRISTS])
    if case.reaches:
        constraints.append(Balance.of(target, feet=parts_below(target, ANKLES), name="balance"))
        hands = [name for name in parts_below(target, WRISTS) if name not in WRISTS]
        constraints += [
            Region(spot=Spot(point=tip), centre=np.zeros(3), name=f"{tip} above the floor") for tip in hands
        ]
    laid_out = plan(
        [Part(motion=motion, target=target)], constraints=constraints, contacts=case.contacts(),
        options=Options(plants="fixed", stiffness=STEADY),
    )  # fmt: skip
    clear = tuple(clear_of_each_other(target))
    tried = [_solve_clear(laid_out, clear, spacing, watch) for spacing in _spacings(case, SPACINGS[:2])]
    depths = [max(added_depths(found.motion, motion).values(), default=0.0) for found in tried]
    most = min(depths) + CROSSING * leg_length(target)
    _, best = min(
        zip(depths, tried, strict=True), key=lambda pair: (len(pair[1].unmet), pair[0] > most, rms_jerk(pair[1].motion))
    )
    return replace(best, seconds=sum(found.seconds for found in tried))


def _solve_clear(laid_out: Plan, clear: tuple[Constraint, ...], spacing: float, watch: Watch | None) -> Solution:
    """The solution with parts clear of each other, or without where that is too much to ask."""
    solver = Spacetime(spacing=spacing, iterations=PATIENCE)
    found = laid_out.solve(solver, watch)
    if pass_through(found.motion, clear):
        return found
    again = replace(laid_out, constraints=(*laid_out.constraints, *clear)).solve(solver, watch)
    kept = found if len(again.unmet) > len(found.unmet) else again
    return replace(kept, seconds=found.seconds + again.seconds)


def _spacings(case: Case, spacings: Sequence[float]) -> Sequence[float]:
    """What is impossible at one spacing is so at every other."""
    return spacings[:1] if missing_reach(case).impossible else spacings


def _first_met(laid_out: Plan, spacings: Sequence[float], watch: Watch | None) -> Solution:
    """The solution at the first spacing at which everything is met, else the one that misses least."""
    seconds, best = 0.0, None
    for spacing in dict.fromkeys(spacings):
        found = laid_out.solve(Spacetime(spacing=spacing, iterations=60), watch)
        seconds += found.seconds
        if best is None or _off(found) < _off(best):
            best = found
        if not found.unmet:
            break
    assert best is not None
    return replace(best, seconds=seconds)


def _off(found: Solution) -> float:
    return max((o.worst / o.constraint.tolerance for o in found.outcomes), default=0.0)


@dataclass(frozen=True, kw_only=True)
class Reach:
    """How far two places that a body is to touch at once are apart, against how far it can stretch."""

    points: tuple[str, str]
    time: float
    """Seconds: when most is missing."""
    apart: float
    """Metres between the places."""
    span: float
    """Metres along the bones from point to point with every joint stretched."""

    @property
    def missing(self) -> float:
        """Metres; below zero there is slack."""
        return self.apart - self.span

    @property
    def impossible(self) -> bool:
        """Whether no pose at all can be within the thesis's tolerance, 1.5 cm an axis at either point."""
        return self.missing > 2.0 * np.sqrt(3.0) * TOLERANCE


def span(skeleton: Skeleton, first: str, second: str) -> float:
    """Metres between two joints with everything between them stretched: no pose has them further apart.

    The bones that leave the joint above both turn together, so that their ends are as far apart as they always are.
    """
    chains = [skeleton.chain(skeleton.joint(name)) for name in (first, second)]
    shared = sum(a == b for a, b in zip(*chains, strict=False))
    own = [chain[shared:] for chain in chains]
    fork = [skeleton.offsets[chain[0]] if chain else np.zeros(3) for chain in own]
    stretched = sum(float(skeleton.lengths[chain[1:]].sum()) for chain in own)
    return float(np.linalg.norm(fork[0] - fork[1])) + stretched


def missing_reach(case: Case) -> Reach:
    """The pair of places for which the body is shortest, of those asked for at the same time."""
    motion, target = case.source(), case.target()
    places = fk(motion).points(case.points)
    times = motion.times if case.constraints == "original_position" else np.array([case.material().grip])
    frames = np.searchsorted(motion.times, times - 1e-6)
    found = []
    for i, j in combinations(range(len(case.points)), 2):
        apart = np.linalg.norm(places[frames, i] - places[frames, j], axis=-1)
        most = int(np.argmax(apart))
        names = (case.points[i], case.points[j])
        found.append(Reach(points=names, time=float(times[most]), apart=float(apart[most]), span=span(target, *names)))
    return max(found, key=lambda reach: reach.missing)


def _case(
    name: str, scale: float, even: bool, said: tuple[object, ...], motion: str = "reach_low", kind: str = ""
) -> Case:
    fields = ("difference", "hours", "balance", "flight", "penetration", "path", "acceleration", "goal")
    told = Said(**dict(zip(fields, said, strict=True)))  # type: ignore[arg-type]
    return Case(name=name, scale=scale, even=even, motion=motion, constraints=kind or "original_position", said=told)


CASES = (
    _case("01", 0.5, True, (0.452511, 24, "plausible", True, "", "detour", "head", False)),
    _case("02", 0.8, True, (0.0, 1, "plausible", True, "", "", "", True)),
    _case("03", 1.1, True, (0.0, 1, "yes", False, "ground", "", "", True)),
    _case("04", 1.4, True, (0.0121173, 24, "unlikely", False, "hand, ground", "hips", "hips", True)),
    _case("05", 1.8, True, (0.0, 21, "unlikely", False, "hand, ground", "hips", "hips", True)),
    _case("06", 0.7, False, (14.5786, 24, "plausible", True, "", "", "", False)),
    _case("07", 0.9, False, (0.876182, 24, "no", False, "", "", "", False)),
    _case("08", 1.1, False, (0.0, 1, "no", False, "hand, ground", "", "", True)),
    _case("09", 1.3, False, (0.0, 1, "unlikely", False, "hand, ground", "elbow", "elbow", True)),
    _case("10", 1.4, True, (0.0, 1, "yes", False, "", "", "", True), motion="walk"),
    _case("11", 1.4, True, (0.0, 1, "plausible", False, "", "hand", "touch", True), kind="key_moment"),
    _case("12", 1.4, True, (6.63005, 24, "plausible", True, "ground", "", "", False), kind="key_moment_interpolated"),
)
"""In the thesis's order; an empty word stands for its `no` or `natural`."""
