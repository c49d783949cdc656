"""Lommers, "Evaluation of motion retargeting using spacetime constraints" (2013): its twelve configurations.

Each is solved twice: as the thesis asks it, ankles and wrists where the original's were; and as Understudy would ask
it, feet planted, body balanced and clear of itself. The first is compared by what is left of the constraints, the
second by everything that the thesis judged by eye.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from math import degrees
from pathlib import Path

import numpy as np

from papers.base import Capture, Cell, Experiment, Findings, Paper, Table, Tell, capture, cmu
from understudy import samples
from understudy.base.quaternion import Array
from understudy.constraints.apart import Apart
from understudy.constraints.balance import Balance
from understudy.constraints.base import Constraint, ConstraintInput, PointRef
from understudy.constraints.presets import key_moment, key_moment_interpolated, original_position
from understudy.constraints.region import Region
from understudy.figure.bands import choose_spacing, rms_jerk
from understudy.figure.contacts import Contact, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.metrics import Grade, Measurement, Report, Verdict, evaluate, metrics
from understudy.metrics.balance import TIERS, WORDS
from understudy.metrics.surface import capsules, resting_depths
from understudy.retarget.plan import Assignment, Options, Plan, plan
from understudy.show.picture import draw
from understudy.solve.solvers.base import Solution, Watch
from understudy.solve.solvers.spacetime import Spacetime

ANKLES, WRISTS = ("LeftFoot", "RightFoot"), ("LeftHand", "RightHand")

STANDS, GRIPS = 76, 106
"""Frames of the sample `pick_up`, at 30 a second: both feet stand; both hands are on the box."""

LIFTED, LOWEST = 1.25, 0.82
"""Seconds of the capture 115_06: the box is at the hips again; both hands are on it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Material:
    """A reach and a walk, with their contacts."""

    reach: Motion
    reach_contacts: tuple[Contact, ...]
    grip: float
    """Seconds into the reach at which the hands are at their goal."""
    walk: Motion
    walk_contacts: tuple[Contact, ...]


@cache
def sampled() -> Material:
    """From standing down to the box on the floor and the same way back, cut out of the sample `pick_up`; and `walk`.

    The sample's hands rest while they take the box, so that the way back joins smoothly.
    """
    whole, walk = samples.motion("pick_up"), samples.motion("walk")
    frames = np.concatenate([np.arange(STANDS, GRIPS + 1), np.arange(GRIPS - 1, STANDS - 1, -1)])
    motion = replace(whole.motion[frames], name="reach_low")
    first, last = STANDS / motion.fps, GRIPS / motion.fps
    stands = [c for c in whole.contacts if c.on == "floor" and c.start <= first + 0.05 and c.end >= last]
    return Material(
        reach=motion,
        reach_contacts=tuple(replace(c, start=0.0, end=motion.duration) for c in stands),
        grip=(GRIPS - STANDS) / motion.fps,
        walk=walk.motion,
        walk_contacts=walk.contacts,
    )


@cache
def captured(data: Path) -> Material:
    """A box picked up in front of the feet, CMU 115_06 until it is at the hips, and the walk 02_01; 30 frames a second.

    On the toes, as the actor is while he crouches, contacts are those of the balls of the feet that are found there.
    """
    reach = replace(capture(data, "115_06", rate=30.0)[: round(LIFTED * 30.0)], name="115_06")
    walk = replace(capture(data, "02_01", rate=30.0), name="02_01")
    floor = [tuple(c for c in detect_contacts(motion) if c.on == "floor") for motion in (reach, walk)]
    return Material(reach=reach, reach_contacts=floor[0], grip=LOWEST, walk=walk, walk_contacts=floor[1])


def parts_below(skeleton: Skeleton, joints: Sequence[str]) -> tuple[str, ...]:
    """Joints and ends that move with some joints, those themselves with them."""
    moved = np.any([skeleton.below(skeleton.joint(name)) for name in joints], axis=0)
    below = [name for name, moves in zip(skeleton.names, moved, strict=True) if moves]
    return (*below, *(end.name for end in skeleton.ends if end.joint in below))


ARMS = ("upper_arm", "lower_arm", "hand")

ALMOST = 0.9
"""Share of two parts' radii together that they are deep in each other from which on their lines as good as cross."""


def of_arms(parts: tuple[str, str]) -> bool:
    """Whether one of two parts belongs to an arm."""
    return any(part.endswith(ARMS) for part in parts)


def added_depths(motion: Motion, source: Motion) -> dict[tuple[str, str], float]:
    """Metres that each two parts are in each other at worst, beyond their rest pose and, frame by frame, the source."""
    depths = []
    for each in (motion, source):
        resting = resting_depths(each.skeleton)
        found = capsules(each.skeleton).depths(fk(each))
        depths.append({parts: np.maximum(deep - resting.get(parts, 0.0), 0.0) for parts, deep in found.items()})
    size = leg_length(motion.skeleton) / leg_length(source.skeleton)
    zero = np.zeros(source.num_frames)
    return {parts: float((deep - size * depths[1].get(parts, zero)).max()) for parts, deep in depths[0].items()}


def clear_of_each_other(target: Skeleton) -> list[Constraint]:
    """Keeps the arms of a body out of each other, its trunk, head and legs, but for what its rest pose has."""
    found, resting = capsules(target), resting_depths(target)
    made: list[Constraint] = []
    for one, other in combinations(range(len(found.ends)), 2):
        parts = found.parts[one], found.parts[other]
        key = (min(parts), max(parts))
        if parts[0] == parts[1] or key in found.joined or not of_arms(key):
            continue
        first, second = (tuple(PointRef(point=end) for end in found.ends[i]) for i in (one, other))
        apart = max(float(found.radii[one] + found.radii[other]) - resting.get(key, 0.0), 0.0)
        name = f"{parts[0]} clear of {parts[1]} ({found.ends[one][1].name}, {found.ends[other][1].name})"
        made.append(Apart(part=first, other=second, radius=apart, name=name))  # type: ignore[arg-type]
    return made


def pass_through(motion: Motion, clear: Sequence[Constraint]) -> bool:
    """Whether lines of parts that are to keep clear as good as cross: the way out is then not the nearest."""
    return any(
        isinstance(each, Apart) and float(residuals(motion, each).max()) > ALMOST * each.radius > 0.0 for each in clear
    )


def residuals(motion: Motion, constraint: Constraint) -> Array:
    """(n, R) what is left of a constraint of places at its frames: zero where an inequality holds."""
    frames = constraint.frames(motion.times)
    points = fk(motion[frames]).points([spot.point for spot in constraint.point_refs()])
    turns = np.empty((len(frames), 0, 4))
    values = constraint.rows(ConstraintInput(times=motion.times[frames], points=points, local_rotations=turns)).values
    return np.asarray(values if constraint.relation == "equal" else np.maximum(values, 0.0))


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
    parts = [Assignment(motion=case.source(), target=case.target(), joints=JOINTS)]
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
            Region(spot=PointRef(point=tip), centre=np.zeros(3), name=f"{tip} above the floor") for tip in hands
        ]
    laid_out = plan(
        [Assignment(motion=motion, target=target)], constraints=constraints, contacts=case.contacts(),
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

PARTS = {
    "hips": ("Hips",),
    "head": ("Head",),
    "elbow": ("LeftForeArm", "RightForeArm"),
    "hand": ("LeftHand", "RightHand"),
}
"""What the thesis says has a strange path, or strange speed."""

MEASURED = ("balance", "floor", "foot_skate", "self_penetration", "smoothness")


def grade(metric: str, figure: str) -> Grade:
    """From where on a figure of a metric is noticeable and bad."""
    return next(each for each in metrics()[metric].grades if each.figure == figure)


STRANGE = grade("smoothness", "jerk_rms_ratio")
"""Ratios to the original from which on a path is a detour and an acceleration unnatural: those for jerk."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What is measured of one result."""

    difference: float
    """Metres: the thesis's own figure, the sum over the instants it looks at of what is beyond its tolerance."""
    worst: float
    """Metres: the largest distance of a constrained point from its place, at any frame."""
    size: float
    """How many times an adult's the legs are, with which thresholds in metres grow."""
    outside: float
    """Share of the frames that are out of balance, beyond the original's."""
    flight: float
    """Metres that the lowest point of the feet is above the floor, beyond the original."""
    sunk: float
    """Metres that any part is below the floor, beyond the original."""
    inside: float
    """Metres that an arm or hand is inside another part, beyond the original."""
    legs: float
    """Metres that other parts are inside each other, beyond the original; the thesis has no word for it."""
    longer: dict[str, float]
    """By part, how many times as long as the original's, or as that of an original of its size, its path is."""
    faster: dict[str, float]
    """By part, its peak acceleration as a ratio to the original's, or that of an original of its size."""
    missed: float
    """Metres that the hands are from their goal; of a walk, the feet from their steps."""
    skate: float
    """Metres a second: the fastest that a planted point slides."""
    jerk: float
    """RMS jerk of the joints, in leg lengths, as a ratio to the original's."""
    breach: float
    """Radians outside the joints' limits."""
    seconds: float

    @property
    def solved(self) -> bool:
        return self.difference == 0.0

    @property
    def balance(self) -> str:
        return WORDS[sum(self.outside > most for most in TIERS["added_share"])]

    @property
    def penetration(self) -> str:
        """What is noticeably inside what."""
        named = (
            ("hand", self.inside, grade("self_penetration", "added_depth")),
            ("ground", self.sunk, grade("floor", "added_depth")),
        )
        return ", ".join(word for word, deep, by in named if by.verdict(deep, self.size) != Verdict.GOOD)

    @property
    def flies(self) -> bool:
        return grade("floor", "mean_float").verdict(self.flight, self.size) != Verdict.GOOD

    @property
    def path(self) -> str:
        """The parts with a detour, or nothing."""
        return ", ".join(part for part, ratio in self.longer.items() if STRANGE.verdict(ratio) != Verdict.GOOD)

    @property
    def acceleration(self) -> str:
        """The parts with an unnatural acceleration, or nothing."""
        return ", ".join(part for part, ratio in self.faster.items() if STRANGE.verdict(ratio) != Verdict.GOOD)

    @property
    def smoothness(self) -> Verdict:
        return STRANGE.verdict(self.jerk)

    @property
    def reached(self) -> bool:
        return self.missed <= TOLERANCE * np.sqrt(3.0)


def measure(case: Case, solution: Solution, wanted: list[Constraint]) -> Columns:
    """All columns of a result.

    Args:
        case: The configuration.
        solution: What came of it.
        wanted: The position constraints of the configuration that the result is held to.
    """
    source, motion = case.source(), solution.motion
    offs = [residuals(motion, constraint) for constraint in wanted]
    report = evaluate(motion, source, contacts=case.contacts(), only=MEASURED)
    depths = added_depths(motion, source)
    soles = [fk(each).points(parts_below(each.skeleton, ANKLES))[..., 1].min(axis=1) for each in (motion, source)]
    limits = [o.worst for o in solution.outcomes if o.constraint.kind == "joint_range"]
    return Columns(
        difference=sum(_left(motion, constraint) for constraint in wanted),
        worst=max((float(np.linalg.norm(off, axis=-1).max()) for off in offs if off.size), default=0.0),
        size=report["floor"].size,
        outside=_outside(case, report),
        flight=float(soles[0].max() - soles[1].max()),
        sunk=_figure(report["floor"], "added_depth"),
        inside=max((deep for parts, deep in depths.items() if of_arms(parts)), default=0.0),
        legs=max((deep for parts, deep in depths.items() if not of_arms(parts)), default=0.0),
        longer=_ratios(case, source, motion, order=1),
        faster=_ratios(case, source, motion, order=2),
        missed=_missed(case, solution),
        skate=_figure(report["foot_skate"], "worst_speed"),
        jerk=_figure(report["smoothness"], "jerk_rms_ratio"),
        breach=max(limits, default=0.0),
        seconds=solution.seconds,
    )


def _figure(measurement: Measurement, name: str) -> float:
    value = measurement[name]
    assert value is not None, f"{measurement.metric}: {measurement.words}"
    return value


def _outside(case: Case, report: Report) -> float:
    """Share of the frames out of balance beyond the original's: of those that stand; where none does, of all."""
    found = report["balance"]
    if found["added_share"] is not None:
        return _figure(found, "added_share")
    own = evaluate(case.source(), contacts=case.contacts(), only=("balance",))["balance"]
    return max(_figure(found, "outside_share") - _figure(own, "outside_share"), 0.0)


def _left(motion: Motion, constraint: Constraint) -> float:
    """Metres beyond the tolerance, summed over axes and the instants that the thesis looks at."""
    frames = constraint.frames(motion.times)
    instants = np.arange(0.0, motion.duration + 1e-6, INTERVAL)
    looked_at = np.unique(np.searchsorted(motion.times, instants - 0.5 / motion.fps))
    kept = np.isin(frames, looked_at) if len(frames) > 1 else np.ones(len(frames), bool)
    return float(np.maximum(np.abs(residuals(motion, constraint)[kept]) - TOLERANCE, 0.0).sum())


def _ratios(case: Case, source: Motion, motion: Motion, *, order: int) -> dict[str, float]:
    """By part, the length of its path (order 1) or its peak acceleration (order 2) against the original's.

    The thesis calls natural what a larger body does at its own size in the original's time (its rows 10 and 12), and
    what a smaller one does in the original's places (its rows 02, 06 and 07): either may move as much as that. Hands
    that have to follow the original's path have no say in it.
    """
    size = max(leg_length(motion.skeleton) / leg_length(source.skeleton), 1.0)
    held = case.constraints == "original_position" and case.reaches
    found = {}
    for part, names in PARTS.items():
        if not (held and part == "hand"):
            moved, before = (_travel(each, names, order) for each in (motion, source))
            found[part] = float((moved / before).max() / size)
    return found


def _travel(motion: Motion, names: tuple[str, ...], order: int) -> np.ndarray:
    """(P,) lengths of paths, metres, or peak accelerations, metres per second squared."""
    steps = np.linalg.norm(np.diff(fk(motion).points(names), n=order, axis=0), axis=-1)
    return np.asarray(steps.sum(axis=0) if order == 1 else steps.max(axis=0) * motion.fps**2)


def _missed(case: Case, solution: Solution) -> float:
    """Metres that the hands are from where they take hold; of a walk, the feet from where they are to be."""
    if not case.reaches:
        kinds = ("follow", "place", "same_place")
        return max(o.worst for o in solution.outcomes if o.constraint.kind in kinds)
    motion, source = solution.motion, case.source()
    frame = int(np.argmin(np.abs(motion.times - case.material().grip)))
    away = (fk(motion).points(WRISTS) - fk(source).points(WRISTS))[frame]
    return float(np.linalg.norm(away, axis=-1).max())


HOUR = 3600.0


@dataclass(frozen=True, kw_only=True)
class Row:
    """A configuration with all that was measured of it."""

    case: Case
    reach: Reach
    asked: Columns
    """Of the thesis's own constraints."""
    ours: Columns
    """Of the same goal as Understudy would state it."""
    solutions: tuple[Solution, Solution]


def run_case(case: Case) -> Row:
    """Solve and measure a configuration both ways."""
    found = solve_as_asked(case), solve_as_ours(case)
    hands = [name for name in case.points if name in WRISTS]
    return Row(
        case=case,
        reach=missing_reach(case),
        asked=measure(case, found[0], asked(case, case.points)),
        ours=measure(case, found[1], asked(case, hands)),
        solutions=found,
    )


def worse_than_the_thesis(row: Row) -> tuple[str, ...]:
    """Where the thesis did better than we, a sentence each: never, if all is well."""
    said, ours, where = row.case.said, row.ours, f"configuration {row.case.name}"
    found = []
    if row.asked.difference > said.difference:
        found.append(f"{where}: {row.asked.difference:.3g} m are left, {said.difference:.3g} in the thesis")
    if row.asked.seconds + ours.seconds > said.hours * HOUR:
        found.append(f"{where}: took {row.asked.seconds + ours.seconds:.0f} s, {said.hours} h in the thesis")
    if WORDS.index(ours.balance) > WORDS.index(said.balance):
        found.append(f"{where}: balance is `{ours.balance}`, `{said.balance}` in the thesis")
    if ours.flies and not said.flight:
        found.append(f"{where}: the feet fly {1e3 * ours.flight:.0f} mm high")
    for word in filter(None, ours.penetration.split(", ")):
        if word not in said.penetration:
            found.append(f"{where}: {word} penetration, which the thesis has not")
    for column in ("path", "acceleration"):
        if getattr(ours, column) and not getattr(said, column):
            found.append(f"{where}: the {column} of the {getattr(ours, column)} is not natural")
    if said.goal and not ours.reached:
        found.append(f"{where}: the goal is missed by {1e3 * ours.missed:.0f} mm")
    return tuple(found)


def explanation(row: Row) -> str:
    """What became of a configuration that the thesis could not solve, in a sentence."""
    reach, first, second = row.reach, *row.reach.points
    if row.asked.solved:
        if reach.missing > 0.0:
            return f"solved: {1e3 * reach.missing:.0f} mm of reach are missing, less than the tolerance"
        return f"solved: the body reaches {1e3 * -reach.missing:.0f} mm further than it has to"
    if reach.impossible:
        return (
            f"impossible: {first} and {second} are {reach.apart:.3f} m apart at {reach.time:.2f} s and the body "
            f"between them stretches to {reach.span:.3f} m: {reach.missing:.3f} m are missing in any pose"
        )
    return "not solved"


def tables(rows: tuple[Row, ...]) -> tuple[Table, ...]:
    """What is left of the constraints, what the result is like, and what the thesis could not solve."""
    unsolved = tuple(
        (row.case.name, row.case.said.difference, explanation(row)) for row in rows if not row.case.said.solved
    )
    return (
        Table(
            title="The thesis's constraints: what is left, and how long it takes",
            head=(
                "id", "scale", "motion", "constraints", "left, thesis (m)", "left, ours (m)", "worst, ours (mm)",
                "thesis (h)", "ours (s)", "reach to spare (m)", "balance", "flight (mm)", "sunk (mm)", "inside (mm)",
                "skate (mm/s)", "jerk", "limits (deg)",
            ),
            rows=tuple(_left_row(row) for row in rows),
        ),
        Table(
            title="The result, in the thesis's words and in figures; thesis / ours",
            head=(
                "id", "balance", "flight", "penetration", "path", "acceleration", "goal", "legs in legs (mm)",
                "skate (mm/s)", "jerk", "limits (deg)", "ours (s)",
            ),
            rows=tuple(_seen_row(row) for row in rows),
        ),
        Table(title="Unsolved in the thesis", head=("id", "left, thesis (m)", "ours"), rows=unsolved),
    )  # fmt: skip


def _scale(case: Case) -> str:
    return f"{case.scale:g}{'' if case.even else ' a level'}"


def _left_row(row: Row) -> tuple[Cell, ...]:
    case, found = row.case, row.asked
    return (
        case.name, _scale(case), case.motion, case.constraints,
        case.said.difference, found.difference, 1e3 * found.worst, case.said.hours, found.seconds, -row.reach.missing,
        found.balance, *(round(1e3 * max(deep, 0.0)) for deep in (found.flight, found.sunk, found.inside)),
        1e3 * found.skate, found.jerk, degrees(found.breach),
    )  # fmt: skip


def _seen_row(row: Row) -> tuple[Cell, ...]:
    said, ours = row.case.said, row.ours

    def both(theirs: str, mine: str, empty: str, figure: str) -> str:
        return f"{theirs or empty} / {mine or empty} ({figure})"

    flight = both(
        "yes" if said.flight else "no", "yes" if ours.flies else "no", "no", f"{1e3 * max(ours.flight, 0):.0f} mm"
    )
    deep = f"{1e3 * max(ours.inside, ours.sunk):.0f} mm"
    reached = both("yes" if said.goal else "no", "yes" if ours.reached else "no", "no", f"{1e3 * ours.missed:.2f} mm")
    return (
        row.case.name, both(said.balance, ours.balance, "", f"{100 * ours.outside:.0f}%"), flight,
        both(said.penetration, ours.penetration, "none", deep),
        both(said.path, ours.path, "natural", f"{max(ours.longer.values()):.2f}"),
        both(said.acceleration, ours.acceleration, "natural", f"{max(ours.faster.values()):.2f}"), reached,
        round(1e3 * ours.legs), 1e3 * ours.skate, f"{ours.smoothness} ({ours.jerk:.2f})", degrees(ours.breach),
        ours.seconds,
    )  # fmt: skip


def picture(row: Row, path: Path) -> None:
    """Draw the original, the thesis's constraints solved, and ours."""
    motions = [row.case.source(), *(found.motion for found in row.solutions)]
    kinds = {outcome.constraint.kind for outcome in row.solutions[1].outcomes}
    kept = [
        "planted",
        *(word for kind, word in (("balance", "balanced"), ("apart", "clear of itself")) if kind in kinds),
    ]
    labels = ["original", "the thesis's constraints", f"ours: {', '.join(kept)}"]
    count, frames = (7, None) if row.case.motion == "reach_low" else (9, slice(30, 90))
    size = f"{row.case.scale:g} {'evenly' if row.case.even else 'at every level'}"
    title = f"{row.case.name}: {row.case.motion}, scaled by {size}, {row.case.constraints}"
    draw(
        motions, path, labels=labels, style="filmstrip", views="side", count=count, frames=frames, title=title,
        dots_per_inch=70.0,
    )  # fmt: skip


def _run(folder: Path | None, tell: Tell) -> Findings:
    rows, pictures = [], []
    for case in CASES:
        tell(f"configuration {case.name}")
        rows.append(run_case(case))
        if folder is not None:
            pictures.append(folder / f"lommers13_{case.name}.png")
            picture(rows[-1], pictures[-1])
    worse = tuple(sentence for row in rows for sentence in worse_than_the_thesis(row))
    return Findings(tables=tables(tuple(rows)), pictures=tuple(pictures), worse=worse)


def captured_table(rows: tuple[Row, ...]) -> Table:
    """What came of the configurations on captures: as the thesis asks, and as we do.

    The thesis's words are of another reach, so that only our own stand here.
    """
    head = (
        "id", "scale", "motion", "constraints", "left (m)", "worst (mm)", "balance", "flight (mm)", "penetration",
        "path", "acceleration", "goal (mm)", "legs in legs (mm)", "skate (mm/s)", "jerk", "not met", "seconds",
    )  # fmt: skip
    found = []
    for row in rows:
        case, ours = row.case, row.ours
        found.append((
            case.name, _scale(case), case.source().name, case.constraints, row.asked.difference, 1e3 * row.asked.worst,
            f"{ours.balance} ({100 * ours.outside:.0f}%)", round(1e3 * max(ours.flight, 0.0)),
            f"{ours.penetration or 'none'} ({1e3 * max(ours.inside, ours.sunk):.0f} mm)",
            f"{ours.path or 'natural'} ({max(ours.longer.values()):.2f})",
            f"{ours.acceleration or 'natural'} ({max(ours.faster.values()):.2f})", 1e3 * ours.missed,
            round(1e3 * ours.legs), 1e3 * ours.skate, f"{ours.smoothness} ({ours.jerk:.2f})",
            len(row.solutions[1].unmet), row.asked.seconds + ours.seconds,
        ))  # fmt: skip
    title = "On captures: left and worst of the thesis's constraints, then our own result"
    return Table(title=title, head=head, rows=tuple(found))


def _run_captured(data: Path, folder: Path | None, tell: Tell) -> Findings:
    rows = []
    for case in CASES:
        tell(f"configuration {case.name} on captures")
        rows.append(run_case(replace(case, material=partial(captured, data))))
    return Findings(tables=(captured_table(tuple(rows)),))


PAPER = Paper(
    name="lommers13",
    title="Lommers: Evaluation of motion retargeting using spacetime constraints (2013)",
    experiments=(Experiment(name="table", about="Tables 7.1 and 7.2: twelve configurations", run=_run),),
    captures=(
        Capture(
            name="table_captured",
            about="The twelve configurations on a captured reach and walk",
            files=(cmu("115_06"), cmu("02_01")),
            run=_run_captured,
        ),
    ),
)
