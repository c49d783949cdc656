"""What a viewer sees of an analogy: lift of the feet, crouch, path, stances and limits, compared with the source's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.analogy.posture import have_posture, posture_deviations
from understudy.analogy.stepping import FootPair, Stepping, foot_heights, hip_height, limb_top, standing_heights
from understudy.analogy.study import find_course
from understudy.base.quaternion import Array, conjugate, multiply, rotate
from understudy.base.records import record
from understudy.constraints.base import ConstraintInput
from understudy.constraints.joint_range import JointRange
from understudy.figure.contacts import Contact, held_frames
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import facing, leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton

LIFT_RANGE = (0.65, 1.5)
"""The lift of a foot, relative to the lift that the source's asks for, that looks like the source's."""

HABIT_RANGE = (0.8, 1.25)
"""Bounds of how much a body's own way of lifting its feet changes the lift that the source's asks for."""

MIN_LIFT_LEGS = 0.02
"""A smaller difference in lift is not seen."""

MAX_LIFT_SHARE = 0.8
"""No foot is lifted higher than this share of the height of its hip, unless the source's is."""

PATH_RANGE = (0.7, 1.4)
"""The length of the path, relative to the sum of its steps, at which feet do not seem to slide or to tread."""

MIN_PATH_LEGS = 0.5
"""A shorter path is not compared with its steps."""

MAX_SPOT_LEGS = 0.75
"""A body that stays within so small a square hops or turns in place."""

MAX_ABOVE_HIPS_LEGS = 0.1
"""A foot that is this much higher than its hip, and the source's is not, looks wrong."""

MIN_GOOD_FACTOR = 0.7
"""A measure with a smaller factor is named as a fault."""

MAX_CROUCH_LEGS = 0.15
"""A difference in crouch, in legs, that a viewer notices."""

MAX_LIMIT_EXCESS_RADIANS = np.radians(15.0)
"""An excess of a joint over its limits that a viewer notices."""

MAX_RAISED_LEGS = 0.08
"""A foot that never comes nearer to the ground, and the source's does, or the other way round, looks wrong."""

MAX_POSTURE_RADIANS = np.radians(50.0)
"""A difference in how arms are held that looks wrong; for a trunk half of it does."""

MAX_SUNK_LEGS = 0.06
"""A part that is this far below the floor looks wrong."""

MAX_ACCELERATION_LEGS_PER_S2, MAX_JUMP_LEGS = 60.0, 0.05
"""The largest acceleration of a body that lands, and a jump from one frame to the next, beyond it, that looks wrong."""

MAX_TURNED_RADIANS = np.radians(90.0)
"""A body that faces this far from where the source faces looks wrong."""

TURN_SMOOTHING_SECONDS = 0.25
"""Standard deviation of the filter that removes the swing of single steps from where a body faces."""

MAX_FLATTENED = 0.5
"""A leg whose highest joint comes down to this share of the height that it always has in the example looks wrong."""

MIN_CLEARANCE_LEGS = 0.05
"""A joint that is nearer to the floor in the example belongs to a foot, or is a helper of the rig."""

MAX_CROUCH_SHARE = 0.5
"""No body is lowered by more than this share of the height of its hips."""

FLOAT_LEGS = 0.06
"""A foot that is higher above its standing height does not stand."""


@record
class Quality:
    """How the result compares with the source, each in its own legs."""

    lifts: dict[str, float]
    """By foot of B: its lift relative to the wanted one."""
    above_hips: float
    """Legs by which the highest foot is above its hip, beyond what the source does; 0 or less if it is not."""
    crouch: float
    """Legs by which B is lowered from its example more than A from its own; 0 without examples."""
    path: float | None
    """Length of the path relative to the mean sum of the steps; None if A or B hardly travels."""
    source_path: float | None = None
    """The same of A's new motion: who hops on the spot goes less far than the sum of the hops."""
    stance: float
    """Share of the time, from 0 to 1, in which B's feet are down or up as their partners are."""
    limits: float
    """Largest excess of a joint over its limits, radians."""
    raised: float = 0.0
    """Legs by which the lowest height of a foot differs from its partner's: one hops on one leg, the other on two."""
    paired: float = 1.0
    """Share of B's feet, from 0 to 1, that step with a foot of the source."""
    posture: float = 0.0
    """Radians by which arms, or half the angle by which the trunk, are held otherwise than A's; 0 unless human."""
    sunk: float = 0.0
    """Legs by which a part of B that is above the floor in its example is below it."""
    flattened: float = 0.0
    """Share by which a leg, at its flattest, lies lower than ever in B's example, beyond what its partner's does."""
    turned: float = 0.0
    """Radians by which B faces elsewhere than A for a tenth of the time or more."""
    jump: float = 0.0
    """Legs by which the root of B jumps from one frame to the next, as where a capture begins with another pose."""

    @property
    def factors(self) -> dict[str, float]:
        """A factor from 0 to 1 for each measure, by its name; 0.5 or less where a viewer says no."""
        return {
            "lift": lift_factor(list(self.lifts.values())),
            "above hips": _falling(self.above_hips, 0.0, MAX_ABOVE_HIPS_LEGS),
            "crouch": _falling(abs(self.crouch), 0.5 * MAX_CROUCH_LEGS, MAX_CROUCH_LEGS),
            "path": self._path_factor,
            "stance": stance_factor(self.stance),
            "limits": _falling(self.limits, 0.5 * MAX_LIMIT_EXCESS_RADIANS, MAX_LIMIT_EXCESS_RADIANS),
            "raised": _falling(self.raised, 0.5 * MAX_RAISED_LEGS, MAX_RAISED_LEGS),
            "paired": self.paired**2,
            "posture": _falling(self.posture, 0.5 * MAX_POSTURE_RADIANS, MAX_POSTURE_RADIANS),
            "sunk": _falling(self.sunk, 0.5 * MAX_SUNK_LEGS, MAX_SUNK_LEGS),
            "flattened": _falling(self.flattened, 0.5 * MAX_FLATTENED, MAX_FLATTENED),
            "turned": _falling(self.turned, 0.5 * MAX_TURNED_RADIANS, MAX_TURNED_RADIANS),
            "jump": _falling(self.jump, 0.0, MAX_JUMP_LEGS),
        }

    @property
    def _path_factor(self) -> float:
        """1 if the path is about as long as its steps, or about as much shorter or longer as the source's."""
        if self.path is None:
            return 1.0
        ratios = (self.path, self.path / max(self.source_path or 1.0, 1e-6))
        return max(_ratio_factor(ratio, PATH_RANGE) for ratio in ratios)

    @property
    def score(self) -> float:
        """From 0 to 1: the product of the factors."""
        return float(np.prod(list(self.factors.values())))

    def faults(self) -> list[str]:
        """What a viewer would object to, a phrase each."""
        lifts = list(self.lifts.values())
        where = "lower" if self.crouch > 0.0 else "higher"
        phrases = {
            "lift": f"feet are lifted {np.mean(lifts):.2f} times as high as the source's, in legs"
            if lifts
            else "no foot steps with a foot of the source",
            "above hips": f"a foot is {self.above_hips:.2f} legs above its hip",
            "crouch": f"the hips are {abs(self.crouch):.2f} legs {where} than the source's",
            "path": f"the path is {self.path or 0.0:.2f} times as long as its steps",
            "stance": f"feet are down or up with the source's {100 * self.stance:.0f} % of the time",
            "limits": f"a joint is {np.degrees(self.limits):.0f} degrees beyond its limits",
            "raised": f"a foot comes {self.raised:.2f} legs less near to the ground than the source's, or nearer",
            "paired": f"{100 * (1.0 - self.paired):.0f} % of the feet step with no foot of the source",
            "posture": f"trunk or arms are held {np.degrees(self.posture):.0f} degrees otherwise than the source's",
            "sunk": f"the body is {self.sunk:.2f} legs in the floor",
            "flattened": f"a leg lies {100 * self.flattened:.0f} % nearer to the ground than ever in the example",
            "turned": f"the body faces {np.degrees(self.turned):.0f} degrees from where the source's faces",
            "jump": f"the body jumps by {self.jump:.2f} legs from one frame to the next",
        }
        return [phrases[name] for name, factor in self.factors.items() if factor < MIN_GOOD_FACTOR]

    def data(self) -> dict[str, Any]:
        """The measures, for JSON."""
        return {
            "score": self.score,
            "lifts": self.lifts,
            "above_hips": self.above_hips,
            "crouch": self.crouch,
            "path": self.path,
            "source_path": self.source_path,
            "stance": self.stance,
            "limits": self.limits,
            "raised": self.raised,
            "paired": self.paired,
            "posture": self.posture,
            "sunk": self.sunk,
            "flattened": self.flattened,
            "turned": self.turned,
            "jump": self.jump,
        }


def lift_factor(ratios: Sequence[float]) -> float:
    """1 if feet are lifted as much as wanted, and less the farther they are from it: the mean of all feet."""
    factors = [_ratio_factor(ratio, LIFT_RANGE) for ratio in ratios]
    return float(np.mean(factors)) if factors else 0.5


def stance_factor(share: float) -> float:
    """1 from a share of 0.8 of the time on, falling to 0 at half the time, which is chance."""
    return float(np.clip((share - 0.5) / 0.3, 0.0, 1.0))


def _ratio_factor(ratio: float, bounds: tuple[float, float]) -> float:
    """1 within bounds; outside it falls to a half at a further factor of 1.5, and towards zero."""
    low, high = bounds
    excess = max(low / max(ratio, 1e-6), ratio / high, 1.0)
    return float(np.exp2(-np.log(excess) / np.log(1.5)))


def _falling(value: float, start: float, half: float) -> float:
    """1 up to a value, a half at another, and towards zero."""
    return float(np.exp2(-max(value - start, 0.0) / (half - start)))


def measure_quality(
    motion: Motion,
    stepping: Stepping,
    source: Motion,
    contacts: Sequence[Contact],
    *,
    examples: tuple[Motion | None, Motion | None],
    rises: dict[str, float],
    floor: float,
    limits: Sequence[JointRange] = (),
) -> Quality:
    """Compare B's motion with A's new motion.

    Args:
        motion: B's motion.
        stepping: Its contacts, and which foot steps with which.
        source: A's new motion, in the time of B's.
        contacts: Its contacts.
        examples: The examples of A and of B, if there are any.
        rises: Standing height of B's points above the floor, metres, by name.
        floor: Height of the floor, metres.
        limits: B's joint limits.
    """
    stays = np.ptp(source.root[:, [0, 2]], axis=0).max() < MAX_SPOT_LEGS * leg_length(source.skeleton)
    return Quality(
        lifts={pair.name: lift_ratio(pair, motion, source, examples[1]) for pair in stepping.pairs},
        above_hips=_above_hips(stepping.pairs, motion, source),
        crouch=crouch(motion, source, examples, stepping),
        # The path of who turns or hops in place tells nothing of the steps.
        path=None if stays else _path_ratio(motion, [pair.foot for pair in stepping.pairs], stepping.contacts),
        source_path=_path_ratio(source, [pair.source for pair in stepping.pairs], contacts),
        stance=_stance_likeness(motion, stepping.pairs, source, contacts, rises, floor),
        limits=_limit_excess(motion, limits),
        raised=_raised(motion, stepping.pairs, source, rises, floor),
        paired=len(stepping.pairs) / stepping.num_feet if stepping.pairs and stepping.num_feet else 1.0,
        posture=_posture(motion, source, examples),
        sunk=_sunk(motion, stepping.pairs, examples[1], floor),
        flattened=flattened(motion, stepping.pairs, source, examples),
        turned=faces_elsewhere(motion, source),
        jump=largest_jump(motion),
    )


def largest_jump(motion: Motion) -> float:
    """Legs by which the root jumps between two frames, beyond what a body that lands does."""
    steps = np.linalg.norm(np.diff(motion.root, n=2, axis=0), axis=-1) / leg_length(motion.skeleton)
    return max(float(steps.max(initial=0.0)) - MAX_ACCELERATION_LEGS_PER_S2 / motion.fps**2, 0.0)


def _posture(motion: Motion, source: Motion, examples: tuple[Motion | None, Motion | None]) -> float:
    """The mean angle by which arms are held otherwise, or twice that of the trunk if it is larger, radians."""
    a, b = examples
    if a is None or b is None or not have_posture(motion.skeleton, source.skeleton):
        return 0.0
    # B goes A's way.
    course = find_course(source, like=a)
    examples_level = find_course(a).off(a), find_course(b).off(b)
    deviations = posture_deviations(examples_level, (course.off(source), course.off(motion)))
    if not deviations:
        return 0.0
    return max(2.0 * deviations[0], float(np.mean(deviations[1:])) if deviations[1:] else 0.0)


def _sunk(motion: Motion, pairs: Sequence[FootPair], example: Motion | None, floor: float) -> float:
    """Legs by which a part of B that is above the floor in its example is below it."""
    if example is None or not pairs:
        return 0.0
    floors = floors_of_parts(example, pairs)
    depths = floor + np.array(list(floors.values())) - fk(motion).points(list(floors))[..., 1]
    deepest = np.percentile(depths, 98, axis=0) if depths.size else np.zeros(0)
    return max(float(deepest.max(initial=0.0)), 0.0) / leg_length(motion.skeleton)


def floors_of_parts(example: Motion, pairs: Sequence[FootPair]) -> dict[Point, float]:
    """The joints and tips of B that must not be in the floor, with how high above it each must be, metres, 0 or less.

    What is above the floor all through the example stays above it. Toes, tails, and what else comes down to the floor
    but is no point on which B stands, go no deeper than in the example. The root of a rig may be a mark on the floor.
    """
    skeleton = example.skeleton
    # A joint on the root that nothing hangs on, such as a mark between the footsteps, is a helper of the rig.
    helpers = {j for j, parent in enumerate(skeleton.parents) if parent == 0 and not skeleton.children[j]}
    points = [*(skeleton.point(name) for name in skeleton.names), *skeleton.ends]
    points = [point for point in points if skeleton.joint(point.joint) not in helpers]
    ground = min(float(np.percentile(fk(example).points(pair.foot)[..., 1], 5)) for pair in pairs)
    usual = np.percentile(fk(example).points(points)[..., 1], 2, axis=0) - ground
    clearance = MIN_CLEARANCE_LEGS * leg_length(skeleton)
    soles = [point for pair in pairs for point in pair.foot]
    stands = {(point.joint, point.offset.tobytes()) for point in soles}
    # The points on which B stands are as high above the ground as the sole is thick.
    thick = ground - min(
        float(np.percentile(fk(example).points([sole])[..., 1], 5)) - height
        for sole, height in zip(soles, standing_heights(example, soles).values(), strict=True)
    )
    return {
        point: min(float(height) + thick, 0.0)
        for point, height in zip(points, usual, strict=True)
        if height > clearance
        or (skeleton.joint(point.joint) > 0 and (point.joint, point.offset.tobytes()) not in stands)
    }


def faces_elsewhere(motion: Motion, source: Motion) -> float:
    """Radians by which B faces elsewhere than A for a tenth of the time or more."""
    from scipy.ndimage import gaussian_filter1d

    one, other = facing(motion), facing(source)
    # The angle about the vertical, as a complex number.
    turns = (one[:, 2] + 1j * one[:, 0]) * (other[:, 2] - 1j * other[:, 0])
    width = TURN_SMOOTHING_SECONDS * motion.fps
    smooth = gaussian_filter1d(turns.real, width) + 1j * gaussian_filter1d(turns.imag, width)
    return float(np.percentile(np.abs(np.angle(smooth)), 90))


def flattened(
    motion: Motion, pairs: Sequence[FootPair], source: Motion, examples: tuple[Motion | None, Motion | None]
) -> float:
    """Share by which a leg of B lies lower than ever in its example, beyond what A's does; 0 without examples.

    A leg that is stretched out along the ground has its hip and knee near it. The hips of who crouches are low, too.
    """
    a, b = examples
    if a is None or b is None:
        return 0.0
    shares = []
    for pair in pairs:
        kept = [
            least_leg_height(new, foot) / max(least_leg_height(example, foot), 1e-6)
            for new, example, foot in ((motion, b, pair.foot), (source, a, pair.source))
        ]
        shares.append(1.0 - kept[0] / float(np.clip(kept[1], 1e-6, 1.0)))
    return max(0.0, *shares) if shares else 0.0


def least_leg_height(motion: Motion, foot: Sequence[Point]) -> float:
    """Legs from the lowest height of a foot to the highest joint of its leg, when that is lowest."""
    heights = fk(motion).positions[:, leg_joints(motion.skeleton, foot), 1].max(axis=1)
    ground = np.percentile(foot_heights(motion, foot), 5)
    return float(np.percentile(heights, 2) - ground) / leg_length(motion.skeleton)


def leg_joints(skeleton: Skeleton, foot: Sequence[Point]) -> list[int]:
    """The joints of the leg of a foot, from its top down."""
    below = skeleton.below(limb_top(skeleton, foot[0]))
    return [j for j in skeleton.chain(skeleton.joint(foot[-1].joint)) if below[j]]


def lift(motion: Motion, foot: Sequence[Point]) -> float:
    """Metres that a foot is lifted, from stance to the top of its swing."""
    heights = foot_heights(motion, foot)
    return float(np.percentile(heights, 98) - np.percentile(heights, 5))


def wanted_lift(pair: FootPair, motion: Motion, source: Motion, example: Motion | None) -> float:
    """Metres that a foot of B should be lifted: as much as its partner in legs, as far as its limb allows."""
    source_leg, leg = leg_length(source.skeleton), leg_length(motion.skeleton)
    source_lift = lift(source, pair.source)
    wanted = source_lift / source_leg * leg
    tops = [hip_height(body, foot) for body, foot in ((source, pair.source), (example or motion, pair.foot))]
    share = max(MAX_LIFT_SHARE, source_lift / max(tops[0], 1e-6))
    return min(wanted, share * tops[1])


def lift_habit(pair: FootPair, examples: tuple[Motion, Motion]) -> float:
    """How high B's foot is lifted in its example relative to A's in its own, in legs; within narrow bounds."""
    lifts = [
        lift(example, foot) / leg_length(example.skeleton)
        for example, foot in zip(examples, (pair.source, pair.foot), strict=True)
    ]
    return float(np.clip(lifts[1] / max(lifts[0], 1e-6), *HABIT_RANGE))


def lift_ratio(pair: FootPair, motion: Motion, source: Motion, example: Motion | None) -> float:
    """Lift of a foot of B relative to the wanted lift; 1 if the difference cannot be seen."""
    wanted, made = wanted_lift(pair, motion, source, example), lift(motion, pair.foot)
    if abs(made - wanted) < MIN_LIFT_LEGS * leg_length(motion.skeleton):
        return 1.0
    return made / max(wanted, 1e-6)


def _above_hips(pairs: Sequence[FootPair], motion: Motion, source: Motion) -> float:
    """Legs by which a foot of B is above its hip at most, less what its partner is."""
    worst = -np.inf
    for pair in pairs:
        excess = [
            float(above_hip(body, foot)[0].max()) / leg_length(body.skeleton)
            for body, foot in ((motion, pair.foot), (source, pair.source))
        ]
        worst = max(worst, excess[0] - max(excess[1], 0.0))
    return worst if np.isfinite(worst) else 0.0


def above_hip(motion: Motion, foot: Sequence[Point]) -> tuple[Array, Array]:
    """(F,) metres by which a foot is above its hip, and (F,) metres, the height of that hip."""
    hips = fk(motion).positions[:, limb_top(motion.skeleton, foot[0]), 1]
    return foot_heights(motion, foot) - hips, hips


def crouch(motion: Motion, source: Motion, examples: tuple[Motion | None, Motion | None], stepping: Stepping) -> float:
    """Legs by which B's hips are lowered from its example to its new motion, less those of A; 0 without examples."""
    if examples[0] is None or examples[1] is None or not stepping.pairs:
        return 0.0
    lowered = []
    for new, example, feet in (
        (source, examples[0], [pair.source for pair in stepping.pairs]),
        (motion, examples[1], [pair.foot for pair in stepping.pairs]),
    ):
        # A's example and its new motion may be of two people: each height is in the legs of its own body.
        heights = [
            np.mean([hip_height(body, foot) for foot in feet]) / leg_length(body.skeleton) for body in (example, new)
        ]
        lowered.append(float(heights[0] - heights[1]))
    # A body that hangs low between long legs has little room below it.
    return lowered[1] - min(lowered[0], MAX_CROUCH_SHARE * float(heights[0]))


def _path_ratio(motion: Motion, feet: Sequence[Sequence[Point]], contacts: Sequence[Contact]) -> float | None:
    """Length of the root's path between the first and last plants relative to the way of the feet; of each foot the
    point that goes farthest counts."""
    leg = leg_length(motion.skeleton)
    pose = fk(motion)
    ratios = []
    for foot in feet:
        ways = [steps_and_path(motion, pose, point, contacts) for point in foot]
        steps, path = max(ways, default=(0.0, 0.0))
        if max(path, steps) > MIN_PATH_LEGS * leg:
            ratios.append(path / max(steps, 1e-6))
    return float(np.median(ratios)) if ratios else None


def steps_and_path(motion: Motion, pose: Pose, point: Point, contacts: Sequence[Contact]) -> tuple[float, float]:
    """Metres that a point takes the body from plant to plant, and that the root goes in that time.

    Where the body turns, a foot beside it goes farther than the body or less far, and where it turns on the spot not
    for its way: what turning alone makes of a step is left out.
    """
    plants = [c for c in contacts if c.point.name == point.name and c.on == "floor"]
    if len(plants) < 2:
        return 0.0, 0.0
    frames = [int(np.mean(c.frames(motion.fps, motion.num_frames))) for c in plants]
    feet, roots = pose.points([point])[frames, 0], motion.root[frames]
    turned = heading_turns(motion)[frames]
    beside = rotate(conjugate(turned), feet - roots).mean(axis=0)
    # The sway of single frames is not part of the path.
    ways = (feet - rotate(turned, np.broadcast_to(beside, feet.shape)), roots)
    steps, path = (float(np.linalg.norm(np.diff(way[:, [0, 2]], axis=0), axis=-1).sum()) for way in ways)
    return steps, path


def heading_turns(motion: Motion) -> Array:
    """(F, 4) the rotation of the root about the vertical, since the first frame."""
    turns = multiply(motion.rotations[:, 0], conjugate(motion.rotations[:1, 0]))
    upright = turns * [1.0, 0.0, 1.0, 0.0]
    return np.asarray(upright / np.maximum(np.linalg.norm(upright, axis=-1, keepdims=True), 1e-12))


def _stance_likeness(
    motion: Motion,
    pairs: Sequence[FootPair],
    source: Motion,
    contacts: Sequence[Contact],
    rises: dict[str, float],
    floor: float,
) -> float:
    """Balanced share of frames at which B's feet are down while their partners stand, and up while they do not."""
    shares = []
    leg = leg_length(motion.skeleton)
    pose = fk(motion)
    for pair in pairs:
        names = {point.name for point in pair.source}
        stands = held_frames(source, [c for c in contacts if c.point.name in names and c.on == "floor"])
        heights = np.stack([p - floor - rises.get(point.name, 0.0) for point, p in _heights(pose, pair.foot)])
        down = heights.min(axis=0) < FLOAT_LEGS * leg
        parts = [down[stands].mean()] if stands.any() else []
        shares.append(float(np.mean(parts)) if parts else 1.0)
        if not stands.all():
            # In swing a foot must leave the ground; how high is the lift's matter.
            swing = heights.min(axis=0)[~stands]
            shares.append(float((swing > 0.2 * min(FLOAT_LEGS * leg, max(np.percentile(swing, 90), 1e-6))).mean()))
    return float(np.mean(shares)) if shares else 0.0


def _raised(motion: Motion, pairs: Sequence[FootPair], source: Motion, rises: dict[str, float], floor: float) -> float:
    """Legs by which the lowest height of a foot of B above the floor differs from that of its partner."""
    if not pairs:
        return 0.0
    source_lows = np.array([np.percentile(fk(source).points(pair.source)[..., 1].min(axis=1), 5) for pair in pairs])
    source_lows = (source_lows - source_lows.min()) / leg_length(source.skeleton)
    pose = fk(motion)
    lows = np.array(
        [
            np.percentile(np.min([h - rises.get(p.name, 0.0) for p, h in _heights(pose, pair.foot)], axis=0), 5)
            for pair in pairs
        ]
    )
    # A whole body that floats is seen by its stances.
    lows = (lows - max(floor, float(lows.min()))) / leg_length(motion.skeleton)
    return float(np.abs(np.maximum(lows, 0.0) - source_lows).max())


def _heights(pose: Any, foot: Sequence[Point]) -> list[tuple[Point, Array]]:
    heights = pose.points(list(foot))[..., 1]
    return [(point, heights[:, i]) for i, point in enumerate(foot)]


def _limit_excess(motion: Motion, limits: Sequence[JointRange]) -> float:
    """The largest excess of a joint over its limits, radians."""
    worst = 0.0
    for limit in limits:
        point = limit.joints()[0].point
        joint = motion.skeleton.joint(point if isinstance(point, str) else point.joint)
        view = ConstraintInput(
            times=np.arange(motion.num_frames) / motion.fps,
            points=np.zeros((motion.num_frames, 0, 3)),
            local_rotations=motion.rotations[:, [joint]],
        )
        worst = max(worst, float(limit.measure(view).values.max(initial=0.0)))
    return worst
