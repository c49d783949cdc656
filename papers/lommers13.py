"""Lommers, "Evaluation of motion retargeting using spacetime constraints" (2013): its twelve configurations.

Each is solved twice. First with the thesis's constraints: ankles and wrists at the original's positions. Then as
Understudy would state it: feet planted, body balanced and free of self-penetration. The first is compared by the
remaining constraint error, the second by everything that the thesis judged by eye.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from math import degrees
from pathlib import Path

import numpy as np

from papers.base import Capture, Cell, Experiment, Findings, Table, Tell, capture, cmu
from papers.lommers13_sets import key_moment, key_moment_interpolated, original_position
from understudy import samples
from understudy.base.quaternion import Array
from understudy.constraints.apart import Apart
from understudy.constraints.balance import Balance
from understudy.constraints.base import Constraint, ConstraintInput, PointRef
from understudy.constraints.follow import Follow
from understudy.constraints.place import Place
from understudy.constraints.region import UP, Region
from understudy.constraints.same_place import SamePlace
from understudy.figure.bands import TRUNK_SPACING, choose_spacing
from understudy.figure.contacts import Contact, detect_contacts, held_frames
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.surface import capsules, resting_depths
from understudy.metrics.balance import (
    BALANCE_WORDS,
    MAX_STANDING_SPEED_LEGS_PER_S,
    MAX_UNBALANCED_SHARES,
    SOLE_MARGIN_LEGS,
    margins,
)
from understudy.metrics.base import Grade, Measurement, Report, Verdict, evaluate, metrics
from understudy.retarget.plan import Assignment, Options, Plan, plan
from understudy.show.picture import draw
from understudy.solve.solvers.base import ProgressCallback, Solution
from understudy.solve.solvers.spacetime import Spacetime

ANKLES, WRISTS = ("LeftFoot", "RightFoot"), ("LeftHand", "RightHand")

STANDS, GRIPS = 76, 106
"""Frames of the sample `pick_up`, at 30 fps: both feet stand; both hands are on the box."""

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
    """The sample `pick_up` from standing down to the box, then the same frames backwards; and the sample `walk`.

    The hands rest while they take the box, so that the reversed part joins smoothly.
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
    """CMU 115_06, a box picked up in front of the feet, until it is at the hips; and the walk 02_01; at 30 fps.

    The actor crouches on his toes, so the detected contacts are those of the balls of the feet.
    """
    reach = replace(capture(data, "115_06", rate=30.0)[: round(LIFTED * 30.0)], name="115_06")
    walk = replace(capture(data, "02_01", rate=30.0), name="02_01")
    floor = [tuple(c for c in detect_contacts(motion) if c.on == "floor") for motion in (reach, walk)]
    return Material(reach=reach, reach_contacts=floor[0], grip=LOWEST, walk=walk, walk_contacts=floor[1])


def parts_below(skeleton: Skeleton, joints: Sequence[str]) -> tuple[str, ...]:
    """Names of joints and of all joints and ends below them."""
    moved = np.any([skeleton.below(skeleton.joint(name)) for name in joints], axis=0)
    below = [name for name, moves in zip(skeleton.names, moved, strict=True) if moves]
    return (*below, *(end.name for end in skeleton.ends if end.joint in below))


ARMS, LEGS = ("upper_arm", "lower_arm", "hand"), ("upper_leg", "lower_leg", "foot")

FOOTING_SHARE = 0.95
"""The share of the distance between the original's ankles that its legs keep, if they are thicker."""

SOLE_SHARE = 0.8
"""The share of the sole's margin that the centre of mass may use."""


def of_arms(parts: tuple[str, str]) -> bool:
    """Whether one of two parts belongs to an arm."""
    return any(part.endswith(ARMS) for part in parts)


def added_depths(motion: Motion, source: Motion) -> dict[tuple[str, str], float]:
    """Greatest penetration of each two parts, metres, beyond that of the rest pose and of the source's frame."""
    depths = []
    for body in (motion, source):
        resting = resting_depths(body.skeleton)
        current = capsules(body.skeleton).depths(fk(body))
        depths.append({parts: np.maximum(deep - resting.get(parts, 0.0), 0.0) for parts, deep in current.items()})
    size = leg_length(motion.skeleton) / leg_length(source.skeleton)
    zero = np.zeros(source.num_frames)
    return {parts: float((deep - size * depths[1].get(parts, zero)).max()) for parts, deep in depths[0].items()}


def residuals(motion: Motion, constraint: Constraint) -> Array:
    """(n, R) residuals of a position constraint at its frames: zero where an inequality holds."""
    frames = constraint.frames(motion.times)
    points = fk(motion[frames]).points([ref.point for ref in constraint.point_refs()])
    turns = np.empty((len(frames), 0, 4))
    values = constraint.rows(ConstraintInput(times=motion.times[frames], points=points, local_rotations=turns)).values
    return np.asarray(values if constraint.relation == "equal" else np.maximum(values, 0.0))


TRUNK = ("LowerBack", "Spine", "Spine1")

JOINTS = (*TRUNK, *(f"{side}{part}" for side in ("Left", "Right") for part in ("Arm", "ForeArm", "UpLeg", "Leg")))
"""Joints that the thesis rotates: three of the spine, shoulders, elbows, hips and knees; the root only translates
[Lommers13, sec. 7.1.2]."""

TOLERANCE = 0.015
"""Largest position error along an axis, metres [Lommers13, sec. 7.1.2]."""

MAX_MISSING_REACH_METRES = 2.0 * float(np.sqrt(3.0)) * TOLERANCE
"""Reach that may be missing between two places that may each be off by the tolerance along each axis."""

CHECK_INTERVAL_SECONDS = 0.13
"""Time between two evaluations of a constraint [Lommers13, sec. 7.2]."""

SPACINGS = (8 / 30, 4 / 30, 2 / 30)
"""Seconds between keys; the thesis uses an eighth of a second."""

MAX_GROWTHS = (1.15, 1.07)
"""The largest factors by which a bone changes its length from one solve to the next; the second if the first leaves
something unmet."""

MAX_STEPS = 40
"""Solver steps, after which unmet constraints are given up."""


@dataclass(frozen=True, kw_only=True)
class ThesisResult:
    """The thesis's result for a configuration [Lommers13, table 7.2]."""

    difference: float
    """Sum of the errors beyond the tolerance, metres."""
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
    """Whether the body is scaled uniformly; else once more at every level of the hierarchy."""
    motion: str
    constraints: str
    thesis: ThesisResult

    material: Callable[[], Material] = sampled
    """Returns the reach and the walk to run on."""

    def source(self) -> Motion:
        return self.material().reach if self.reaches else self.material().walk

    def contacts(self) -> tuple[Contact, ...]:
        return self.material().reach_contacts if self.reaches else self.material().walk_contacts

    @property
    def reaches(self) -> bool:
        return self.motion == "reach_low"

    def target(self) -> Skeleton:
        skeleton = self.source().skeleton
        return skeleton.scaled(self.scale if self.even else self.scale ** skeleton.depths.astype(float))

    @property
    def points(self) -> tuple[str, ...]:
        """The points that are constrained to the original's positions."""
        return (*ANKLES, *WRISTS) if self.reaches else ANKLES


def asked(case: Case, points: Sequence[str]) -> list[Constraint]:
    """The constraints of a configuration on some of its points, exactly as in the thesis."""
    motion = case.source()
    if case.constraints == "original_position":
        return original_position(motion, points)
    feet = [name for name in points if name in ANKLES]
    hands = [name for name in points if name in WRISTS]
    # Key moments are footsteps and grasps: the feet are set down at the start and lifted after the end.
    grip = case.material().grip
    moments = {"feet": (0.0, grip, motion.duration), "hands": (grip,)}
    preset = {"key_moment": key_moment, "key_moment_interpolated": key_moment_interpolated}[case.constraints]
    return [*preset(motion, feet, moments["feet"]), *preset(motion, hands, moments["hands"])]


def solve_as_asked(case: Case, watch: ProgressCallback | None = None) -> Solution:
    """Solve the thesis's problem as stated: points at their positions, with its joints, inside human limits.

    Where exact positions cannot all be met, the thesis's tolerance is asked for instead of them.
    """
    wanted = asked(case, case.points)
    exact = _solve_asked(case, wanted, watch)
    if _farthest_off(exact.motion, wanted) <= TOLERANCE or missing_reach(case).impossible:
        return exact
    tolerated = _solve_asked(case, [_within_tolerance(constraint) for constraint in wanted], watch)
    best = min(exact, tolerated, key=lambda solution: _farthest_off(solution.motion, wanted))
    return replace(best, seconds=exact.seconds + tolerated.seconds)


def _solve_asked(case: Case, constraints: Sequence[Constraint], watch: ProgressCallback | None) -> Solution:
    parts = [Assignment(motion=case.source(), target=case.target(), joints=JOINTS)]
    options = Options(plants="none", floor=False)
    laid_out = plan(parts, constraints=constraints, contacts=(), options=options)
    return _first_met(laid_out, _spacings(case, (choose_spacing(case.source()), *SPACINGS)), watch)


def _within_tolerance(constraint: Constraint) -> Constraint:
    """A position that may be off by the thesis's tolerance along each axis, less our own tolerance."""
    if not isinstance(constraint, Follow) or constraint.within is not None:
        return constraint
    assert constraint.path is not None
    size = np.full(3, 2.0 * (TOLERANCE - constraint.tolerance))
    return Region(point=constraint.point, shape="box", centre=constraint.path, times=constraint.times, size=size)


def solve_as_ours(case: Case, watch: ProgressCallback | None = None) -> Solution:
    """Solve for the same goal as Understudy would state it, with its default weights and key spacings.

    Feet are planted where they stood and hands are where the thesis has them. The body is above the floor, its centre
    of mass over what stands, and its limbs do not penetrate each other or the trunk. Where no pose reaches, hands come
    as near as their arms alone bring them.

    From the original to a body 1.8 times as large it is so far that hands end up on the wrong side of a leg: the
    shortest way apart is then through it. So the original grows in small steps, each solved from the one before.
    """
    # Bodies between would not reach either: they are tried only where feet do not stand.
    growths = (np.inf, *MAX_GROWTHS[:1]) if missing_reach(case).impossible else MAX_GROWTHS
    seconds, best = 0.0, None
    for max_growth in growths:
        solution = _grow(case, max_growth, watch)
        seconds += solution.seconds
        if best is None or _off(solution) < _off(best):
            best = solution
        if all(outcome.constraint.priority < 0 for outcome in solution.unmet):
            break
    assert best is not None
    return replace(best, seconds=seconds)


def _grow(case: Case, max_growth: float, watch: ProgressCallback | None) -> Solution:
    """Solve for bodies between the original's and the target, each from the solution of the one before."""
    levels = case.source().skeleton.depths.max() if not case.even else 1
    count = max(int(np.ceil(levels * abs(np.log(case.scale)) / np.log(max_growth))), 1)
    seconds, solution = 0.0, None
    for share in np.arange(1, count + 1) / count:
        laid_out = _lay_out(replace(case, scale=case.scale**share))
        if solution is not None:
            (start,), grown = laid_out.starts, solution.motion
            up = np.array([1.0, leg_length(start.skeleton) / leg_length(grown.skeleton), 1.0])
            laid_out = replace(laid_out, starts=(replace(start, rotations=grown.rotations, root=up * grown.root),))
        solution = laid_out.solve(_solver(), watch)
        seconds += solution.seconds
    assert solution is not None
    return replace(solution, seconds=seconds)


def _solver() -> Spacetime:
    """The solver with the keys of a plain retarget."""
    return Spacetime(spacing=SPACINGS[1], trunk_spacing=TRUNK_SPACING, iterations=MAX_STEPS)


def _lay_out(case: Case) -> Plan:
    """The plan of our own statement of the goal."""
    motion, target = case.source(), case.target()
    constraints = asked(case, [name for name in case.points if name in WRISTS])
    if missing_reach(case).impossible:
        constraints = [replace(constraint, priority=-1) for constraint in constraints]
    if case.reaches:
        hands = [name for name in parts_below(target, WRISTS) if name not in WRISTS]
        constraints += [
            Region(point=PointRef(point=tip), centre=np.zeros(3), name=f"{tip} above the floor") for tip in hands
        ]
    laid_out = plan(
        [Assignment(motion=motion, target=target)], constraints=constraints, contacts=case.contacts(),
        options=Options(plants="fixed"),
    )  # fmt: skip
    own = [*standing_balance(case, laid_out), *toes_above_floor(target, laid_out)] if case.reaches else []
    clear = limbs_apart(target, between_feet(case))
    return replace(laid_out, constraints=(*laid_out.constraints, *own, *clear))


def toes_above_floor(target: Skeleton, laid_out: Plan) -> list[Constraint]:
    """No end of a foot is below all that stands. The original's toes may be in the floor, and those of a foot four
    times as long would be four times as deep."""
    plants = [float(c.target[1]) for c in laid_out.constraints if isinstance(c, Place) and not c.instants]
    plants += [c.height for c in laid_out.constraints if isinstance(c, SamePlace) and c.height is not None]
    tips = [end.name for end in target.ends if end.name in parts_below(target, ANKLES)] if plants else []
    return [Region(point=PointRef(point=tip), centre=min(plants) * UP, name=f"{tip} above what stands") for tip in tips]


def between_feet(case: Case) -> float:
    """Metres between the ankles of the original where they are nearest while both feet stand."""
    motion = case.source()
    ankles = fk(motion).points(ANKLES)
    apart = np.linalg.norm(ankles[:, 0] - ankles[:, 1], axis=-1)
    stand = [
        held_frames(motion, [c for c in case.contacts() if c.point.name in parts_below(motion.skeleton, [ankle])])
        for ankle in ANKLES
    ]
    return float(apart[stand[0] & stand[1]].min(initial=np.inf))


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


def limbs_apart(target: Skeleton, footing: float = np.inf) -> list[Constraint]:
    """Arms and legs out of each other and of the trunk, except as in the rest pose.

    Shanks and feet that stand nearer to each other, by `footing` metres, than they are thick are asked for no more
    than that.
    """
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
        shanks = legs and not any(part.endswith("upper_leg") for part in parts)
        apart = min(apart, FOOTING_SHARE * footing) if shanks else apart
        name = f"{parts[0]} clear of {parts[1]} ({body.ends[one][1].name}, {body.ends[other][1].name})"
        constraints.append(Apart(part=first, other=second, radius=apart, name=name))  # type: ignore[arg-type]
    return constraints


def _spacings(case: Case, spacings: Sequence[float]) -> Sequence[float]:
    """The spacings to try: only the first if the case is impossible at any spacing."""
    return spacings[:1] if missing_reach(case).impossible else spacings


def _first_met(laid_out: Plan, spacings: Sequence[float], watch: ProgressCallback | None) -> Solution:
    """The solution at the first spacing that meets everything, else the one with the least error."""
    seconds, best = 0.0, None
    for spacing in dict.fromkeys(spacings):
        solution = laid_out.solve(Spacetime(spacing=spacing, iterations=60), watch)
        seconds += solution.seconds
        if best is None or _off(solution) < _off(best):
            best = solution
        if not solution.unmet:
            break
    assert best is not None
    return replace(best, seconds=seconds)


def _off(solution: Solution) -> float:
    """The largest violation in tolerances, of what is not only tried."""
    outcomes = [outcome for outcome in solution.outcomes if outcome.constraint.priority >= 0]
    return max((o.worst / o.constraint.tolerance for o in outcomes), default=0.0)


@dataclass(frozen=True, kw_only=True)
class Reach:
    """The distance of two positions that a body must touch at once, and how far the body can stretch."""

    points: tuple[str, str]
    time: float
    """Seconds: when the distance is greatest."""
    apart: float
    """Metres between the positions."""
    span: float
    """Metres along the bones from point to point with every joint stretched."""

    @property
    def missing(self) -> float:
        """Metres; negative if the body reaches further."""
        return self.apart - self.span

    @property
    def impossible(self) -> bool:
        """Whether no pose can be within the thesis's tolerance, 1.5 cm along each axis at both points."""
        return self.missing > MAX_MISSING_REACH_METRES


def span(skeleton: Skeleton, first: str, second: str) -> float:
    """Greatest possible distance of two joints, metres: all joints between them are stretched.

    The first bones below the common ancestor turn together, so the distance of their ends is constant.
    """
    chains = [skeleton.chain(skeleton.joint(name)) for name in (first, second)]
    shared = sum(a == b for a, b in zip(*chains, strict=False))
    below = [chain[shared:] for chain in chains]
    fork = [skeleton.offsets[chain[0]] if chain else np.zeros(3) for chain in below]
    stretched = sum(float(skeleton.lengths[chain[1:]].sum()) for chain in below)
    return float(np.linalg.norm(fork[0] - fork[1])) + stretched


def missing_reach(case: Case) -> Reach:
    """Of the positions constrained at the same time, the pair for which the body is the most too short."""
    motion, target = case.source(), case.target()
    places = fk(motion).points(case.points)
    times = motion.times if case.constraints == "original_position" else np.array([case.material().grip])
    frames = np.searchsorted(motion.times, times - 1e-6)
    reaches = []
    for i, j in combinations(range(len(case.points)), 2):
        apart = np.linalg.norm(places[frames, i] - places[frames, j], axis=-1)
        widest = int(np.argmax(apart))
        names = (case.points[i], case.points[j])
        reaches.append(
            Reach(points=names, time=float(times[widest]), apart=float(apart[widest]), span=span(target, *names))
        )
    return max(reaches, key=lambda reach: reach.missing)


def _case(
    name: str, scale: float, even: bool, said: tuple[object, ...], motion: str = "reach_low", kind: str = ""
) -> Case:
    fields = ("difference", "hours", "balance", "flight", "penetration", "path", "acceleration", "goal")
    result = ThesisResult(**dict(zip(fields, said, strict=True)))  # type: ignore[arg-type]
    return Case(
        name=name, scale=scale, even=even, motion=motion, constraints=kind or "original_position", thesis=result
    )


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
"""In the thesis's order; an empty text means `no` or `natural`."""

PARTS = {
    "hips": ("Hips",),
    "head": ("Head",),
    "elbow": ("LeftForeArm", "RightForeArm"),
    "hand": ("LeftHand", "RightHand"),
}
"""Parts to which the thesis ascribes an unnatural path or acceleration."""

MEASURED = ("balance", "floor", "foot_skate", "self_penetration", "smoothness")


def grade(metric: str, figure: str) -> Grade:
    """The thresholds of a metric's figure."""
    return next(candidate for candidate in metrics()[metric].grades if candidate.figure == figure)


RATIO_GRADE = grade("smoothness", "jerk_rms_ratio")
"""Thresholds for ratios of path length and acceleration to the original's: those of jerk."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The measures of one result. "Added" means in excess of the original's."""

    difference: float
    """The thesis's measure: sum of the errors beyond its tolerance at the times it checks, metres."""
    worst: float
    """Largest distance of a constrained point from its position at any frame, metres."""
    size: float
    """Leg length relative to an adult's, by which thresholds in metres are scaled."""
    outside: float
    """Added share of frames out of balance."""
    flight: float
    """Added height of the lowest point of the feet above the floor, metres."""
    sunk: float
    """Added depth of any part below the floor, metres."""
    inside: float
    """Added penetration of an arm or hand into another part, metres."""
    legs: float
    """Added penetration of other parts, metres; the thesis does not report it."""
    longer: dict[str, float]
    """By part, path length relative to the original's, or to an original of its size."""
    faster: dict[str, float]
    """By part, peak acceleration relative to the original's, or to an original of its size."""
    missed: float
    """Distance of the hands from their goal; for a walk, of the feet from their steps; metres."""
    skate: float
    """Highest sliding speed of a planted point, metres per second."""
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
        return BALANCE_WORDS[sum(self.outside > most for most in MAX_UNBALANCED_SHARES["added_share"])]

    @property
    def penetration(self) -> str:
        """The noticeable penetrations: of a hand, or of the ground."""
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
        """The parts with a detour."""
        return ", ".join(part for part, ratio in self.longer.items() if RATIO_GRADE.verdict(ratio) != Verdict.GOOD)

    @property
    def acceleration(self) -> str:
        """The parts with an unnatural acceleration."""
        return ", ".join(part for part, ratio in self.faster.items() if RATIO_GRADE.verdict(ratio) != Verdict.GOOD)

    @property
    def smoothness(self) -> Verdict:
        return RATIO_GRADE.verdict(self.jerk)

    @property
    def reached(self) -> bool:
        return self.missed <= TOLERANCE * np.sqrt(3.0)


def measure(case: Case, solution: Solution, wanted: list[Constraint]) -> Columns:
    """Measure a result.

    Args:
        case: The configuration.
        solution: Its solution.
        wanted: The position constraints against which the result is measured.
    """
    source, motion = case.source(), solution.motion
    offs = [residuals(motion, constraint) for constraint in wanted]
    report = evaluate(motion, source, contacts=case.contacts(), only=MEASURED)
    depths = added_depths(motion, source)
    soles = [fk(body).points(parts_below(body.skeleton, ANKLES))[..., 1].min(axis=1) for body in (motion, source)]
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
    """Added share of frames out of balance: of the standing frames, or of all if no frame stands."""
    result = report["balance"]
    if result["added_share"] is not None:
        return _figure(result, "added_share")
    original = evaluate(case.source(), contacts=case.contacts(), only=("balance",))["balance"]
    return max(_figure(result, "outside_share") - _figure(original, "outside_share"), 0.0)


def _farthest_off(motion: Motion, constraints: Sequence[Constraint]) -> float:
    """The largest error along an axis at any frame, metres."""
    return max(
        (float(np.abs(residuals(motion, constraint)).max(initial=0.0)) for constraint in constraints), default=0.0
    )


def _left(motion: Motion, constraint: Constraint) -> float:
    """Errors beyond the tolerance, summed over axes and the times that the thesis checks, metres."""
    frames = constraint.frames(motion.times)
    instants = np.arange(0.0, motion.duration + 1e-6, CHECK_INTERVAL_SECONDS)
    checked_frames = np.unique(np.searchsorted(motion.times, instants - 0.5 / motion.fps))
    checked = np.isin(frames, checked_frames) if len(frames) > 1 else np.ones(len(frames), bool)
    return float(np.maximum(np.abs(residuals(motion, constraint)[checked]) - TOLERANCE, 0.0).sum())


def _ratios(case: Case, source: Motion, motion: Motion, *, order: int) -> dict[str, float]:
    """By part, path length (order 1) or peak acceleration (order 2) relative to the original's.

    The thesis calls it natural if a larger body moves in proportion to its size (rows 10 and 12), or a smaller body as
    far as the original (rows 02, 06 and 07). So the larger of both is the reference. Hands that must follow the
    original's path are left out.
    """
    size = max(leg_length(motion.skeleton) / leg_length(source.skeleton), 1.0)
    held = case.constraints == "original_position" and case.reaches
    ratios = {}
    for part, names in PARTS.items():
        if not (held and part == "hand"):
            moved, before = (_travel(body, names, order) for body in (motion, source))
            ratios[part] = float((moved / before).max() / size)
    return ratios


def _travel(motion: Motion, names: tuple[str, ...], order: int) -> np.ndarray:
    """(P,) lengths of paths, metres, or peak accelerations, metres per second squared."""
    steps = np.linalg.norm(np.diff(fk(motion).points(names), n=order, axis=0), axis=-1)
    return np.asarray(steps.sum(axis=0) if order == 1 else steps.max(axis=0) * motion.fps**2)


def _missed(case: Case, solution: Solution) -> float:
    """Distance of the hands from the grasp; for a walk, of the feet from their positions; metres."""
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
    """A configuration with its measures."""

    case: Case
    reach: Reach
    asked: Columns
    """With the thesis's constraints."""
    ours: Columns
    """With the same goal as Understudy would state it."""
    solutions: tuple[Solution, Solution]


def run_case(case: Case) -> Row:
    """Solve and measure a configuration both ways."""
    solutions = solve_as_asked(case), solve_as_ours(case)
    hands = [name for name in case.points if name in WRISTS]
    return Row(
        case=case,
        reach=missing_reach(case),
        asked=measure(case, solutions[0], asked(case, case.points)),
        ours=measure(case, solutions[1], asked(case, hands)),
        solutions=solutions,
    )


def worse_than_the_thesis(row: Row) -> tuple[str, ...]:
    """Where the thesis did better than we, a sentence each."""
    thesis, ours, where = row.case.thesis, row.ours, f"configuration {row.case.name}"
    sentences = []
    if row.asked.difference > thesis.difference:
        sentences.append(f"{where}: {row.asked.difference:.3g} m are left, {thesis.difference:.3g} in the thesis")
    if row.asked.seconds + ours.seconds > thesis.hours * HOUR:
        sentences.append(f"{where}: took {row.asked.seconds + ours.seconds:.0f} s, {thesis.hours} h in the thesis")
    if BALANCE_WORDS.index(ours.balance) > BALANCE_WORDS.index(thesis.balance):
        sentences.append(f"{where}: balance is `{ours.balance}`, `{thesis.balance}` in the thesis")
    if ours.flies and not thesis.flight:
        sentences.append(f"{where}: the feet fly {1e3 * ours.flight:.0f} mm high")
    for word in filter(None, ours.penetration.split(", ")):
        if word not in thesis.penetration:
            sentences.append(f"{where}: {word} penetration, which the thesis does not have")
    for column in ("path", "acceleration"):
        if getattr(ours, column) and not getattr(thesis, column):
            sentences.append(f"{where}: the {column} of the {getattr(ours, column)} is not natural")
    if thesis.goal and not ours.reached:
        sentences.append(f"{where}: the goal is missed by {1e3 * ours.missed:.0f} mm")
    return tuple(sentences)


def explanation(row: Row) -> str:
    """Our result for a configuration that the thesis could not solve, in a sentence."""
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
    """Tables of the remaining errors, of the quality of the results, and of the cases that the thesis did not solve."""
    unsolved = tuple(
        (row.case.name, row.case.thesis.difference, explanation(row)) for row in rows if not row.case.thesis.solved
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
    case, columns = row.case, row.asked
    return (
        case.name, _scale(case), case.motion, case.constraints,
        case.thesis.difference, columns.difference, 1e3 * columns.worst, case.thesis.hours, columns.seconds,
        -row.reach.missing, columns.balance,
        *(round(1e3 * max(deep, 0.0)) for deep in (columns.flight, columns.sunk, columns.inside)),
        1e3 * columns.skate, columns.jerk, degrees(columns.breach),
    )  # fmt: skip


def _seen_row(row: Row) -> tuple[Cell, ...]:
    thesis, ours = row.case.thesis, row.ours

    def both(theirs: str, mine: str, empty: str, figure: str) -> str:
        return f"{theirs or empty} / {mine or empty} ({figure})"

    flight = both(
        "yes" if thesis.flight else "no", "yes" if ours.flies else "no", "no", f"{1e3 * max(ours.flight, 0):.0f} mm"
    )
    deep = f"{1e3 * max(ours.inside, ours.sunk):.0f} mm"
    reached = both("yes" if thesis.goal else "no", "yes" if ours.reached else "no", "no", f"{1e3 * ours.missed:.2f} mm")
    return (
        row.case.name, both(thesis.balance, ours.balance, "", f"{100 * ours.outside:.0f}%"), flight,
        both(thesis.penetration, ours.penetration, "none", deep),
        both(thesis.path, ours.path, "natural", f"{max(ours.longer.values()):.2f}"),
        both(thesis.acceleration, ours.acceleration, "natural", f"{max(ours.faster.values()):.2f}"), reached,
        round(1e3 * ours.legs), 1e3 * ours.skate, f"{ours.smoothness} ({ours.jerk:.2f})", degrees(ours.breach),
        ours.seconds,
    )  # fmt: skip


def picture(row: Row, path: Path) -> None:
    """Draw the original, the thesis's constraints solved, and ours."""
    motions = [row.case.source(), *(solution.motion for solution in row.solutions)]
    kinds = {outcome.constraint.kind for outcome in row.solutions[1].outcomes}
    features = [
        "planted",
        *(word for kind, word in (("balance", "balanced"), ("apart", "clear of itself")) if kind in kinds),
    ]
    labels = ["original", "the thesis's constraints", f"ours: {', '.join(features)}"]
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
    """The results on captures: with the thesis's constraints, and with ours.

    The thesis judged another reach, so its verdicts are not listed.
    """
    head = (
        "id", "scale", "motion", "constraints", "left (m)", "worst (mm)", "balance", "flight (mm)", "penetration",
        "path", "acceleration", "goal (mm)", "legs in legs (mm)", "skate (mm/s)", "jerk", "not met", "seconds",
        "reach to spare (m)",
    )  # fmt: skip
    cells = []
    for row in rows:
        case, ours = row.case, row.ours
        cells.append((
            case.name, _scale(case), case.source().name, case.constraints, row.asked.difference, 1e3 * row.asked.worst,
            f"{ours.balance} ({100 * ours.outside:.0f}%)", round(1e3 * max(ours.flight, 0.0)),
            f"{ours.penetration or 'none'} ({1e3 * max(ours.inside, ours.sunk):.0f} mm)",
            f"{ours.path or 'natural'} ({max(ours.longer.values()):.2f})",
            f"{ours.acceleration or 'natural'} ({max(ours.faster.values()):.2f})", 1e3 * ours.missed,
            round(1e3 * ours.legs), 1e3 * ours.skate, f"{ours.smoothness} ({ours.jerk:.2f})",
            len(row.solutions[1].unmet), row.asked.seconds + ours.seconds, -row.reach.missing,
        ))  # fmt: skip
    title = "On captures: left and worst of the thesis's constraints, then our own result"
    return Table(title=title, head=head, rows=tuple(cells))


def _run_captured(data: Path, folder: Path | None, tell: Tell) -> Findings:
    rows = []
    for case in CASES:
        tell(f"configuration {case.name} on captures")
        rows.append(run_case(replace(case, material=partial(captured, data))))
    return Findings(tables=(captured_table(tuple(rows)),))


CAPTURES = (
    Capture(
        name="table_captured",
        about="The twelve configurations on a captured reach and walk",
        files=(cmu("115_06"), cmu("02_01")),
        run=_run_captured,
    ),
)

EXPERIMENTS = (Experiment(name="table", about="Tables 7.1 and 7.2: twelve configurations", run=_run),)
