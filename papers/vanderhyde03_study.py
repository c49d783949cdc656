"""[Vanderhyde03] as the study did it: its parameters, weights and key frames, on a half squat of 139 frames.

At each key the shoulder has a quaternion, elbow and wrist one angle each. The hand must be near its hold at the keys;
between keys the shoulder is interpolated by slerp, the angles linearly. A general solver by sequential quadratic
programming (SLSQP, in place of the study's CFSQP) minimises the weighted displacement. Nothing of Understudy's solvers
is used.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from papers.base import Cell, Findings, Table
from understudy.base.quaternion import (
    Array,
    angle_between,
    conjugate,
    from_axis_angle,
    multiply,
    normalize,
    rotate,
    slerp,
)
from understudy.constraints.base import PointRef, twist_angles
from understudy.constraints.place import Place
from understudy.correspondence.limits import human_limits
from understudy.figure.bands import choose_spacing
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import JointKind, Point
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.base import Solver
from understudy.solve.solvers.keyed import Keyed
from understudy.solve.solvers.spacetime import Spacetime

ARM = ("LeftArm", "LeftForeArm", "LeftHand")
"""Shoulder, elbow and wrist: the joints that may move."""

FRAMES = 139
"""Frames of the study's squat, counted from 1."""

TROUBLE = (58, 76)
"""The study's frames in which its solver found no hold: the hand goes over from reaching down to reaching up."""

KEY_FRAMES: dict[int, tuple[int, ...]] = {
    4: (1, 57, 77, 139),
    5: (1, 20, 39, 57, 139),
    6: (1, 29, 57, 77, 108, 139),
}
"""The study's keys: at both ends, and just before and after the trouble; three before it; two before and two after it.
The text gives no frames for those between, so these are spread evenly."""

WEIGHTS = (0.2, 0.1, 0.05)
"""Factors of the displacements of shoulder, elbow and wrist."""

EQUAL_WEIGHTS = (0.1, 0.1, 0.1)

HOLD_RADIUS_METRES = 0.01
"""How near the hand must be to its hold at a key; the study says `within a certain distance`."""

WRIST_RANGE_RADIANS = np.radians([-80.0, 80.0])
"""Flexion of a wrist."""

ELBOW_RANGE_RADIANS = np.radians([-10.0, 150.0])
"""Flexion of an elbow, for a hinge without a range."""

PALM_SHARE = 0.35
"""Where the palm is on a body without hands: beyond the wrist by this share of the forearm."""

DRAWS, DRAW_SEED = 20, 3
"""Random placements of keys, and their seed."""

MORE_KEYS = (12, 24)
"""Larger numbers of keys, evenly spread."""

DIFFERENCE = 1e-6
"""Step of the finite differences."""

EVERY = 6
"""Frames between those at which the study's solver is tried alone."""

NUM_PARAMETERS = 6
"""Parameters of a key: a quaternion and two angles."""


@dataclass(frozen=True, eq=False, kw_only=True)
class HalfSquat:
    """A body that goes down from standing, in the study's frames, with a hold for the left hand."""

    name: str
    motion: Motion
    palm: Point
    place: Array
    """(3,) metres: the hold."""

    @staticmethod
    def of(name: str, motion: Motion, aside: tuple[float, float, float]) -> HalfSquat:
        """Cut a motion so that it ends at the bottom and the shoulder passes the hold in the middle of the trouble.

        Args:
            name: The name of the motion.
            motion: Standing, then down; what follows the lowest point of the shoulder is cut.
            aside: The hold, from half-way between the shoulder's ends of its way, in shares of the arm's length.
        """
        palm = find_palm(motion)
        skeleton = motion.skeleton
        bones = skeleton.lengths[[skeleton.joint(joint) for joint in ARM[1:]]]
        reach = float(bones.sum() + np.linalg.norm(palm.offset))
        shoulder = fk(motion).points([ARM[0]])[:, 0]
        bottom = int(np.argmin(shoulder[:, 1]))
        way = shoulder[: bottom + 1]
        place = 0.5 * (way.max(0) + way.min(0)) + reach * np.array(aside)
        passing = int(np.flatnonzero(way[:, 1] > place[1])[-1])
        # The study's solver was in trouble until frame 76 and the motion ends at frame 139.
        middle = (sum(TROUBLE) / 2 - 1) / (FRAMES - 1)
        length = (bottom - passing) / motion.fps / (1.0 - middle)
        start = max(bottom / motion.fps - length, 0.0)
        times = np.linspace(start, bottom / motion.fps, FRAMES)
        cut = motion.at(times, fps=(FRAMES - 1) / (times[-1] - times[0]))
        return HalfSquat(name=name, motion=cut, palm=palm, place=np.asarray(place))

    @cached_property
    def arm(self) -> Arm:
        return Arm.of(self.motion, self.palm)

    def off(self, motion: Motion) -> Array:
        """(F,) metres from the palm to the hold."""
        return np.asarray(np.linalg.norm(fk(motion).points([self.palm])[:, 0] - self.place, axis=-1))

    def solve(self, solver: Solver, *, limited: bool) -> tuple[Motion, float]:
        """The arm moved by one of Understudy's solvers, and the seconds it took; the hold counts at every frame."""
        actor = Actor(motion=self.motion, joints=ARM, root_moves=False)
        hold = Place(point=PointRef(point=self.palm), target=self.place, name="handhold")
        limits = [limit for limit in human_limits(self.motion)[0] if limit.joints()[0].point in ARM] if limited else []
        solution = solver.solve(Problem(actors=(actor,), constraints=(hold, *limits)))
        return solution.motion, solution.seconds


def find_palm(motion: Motion) -> Point:
    """The palm of the left hand, or a place beyond the wrist in the direction of the forearm."""
    skeleton = motion.skeleton
    if any(end.name == "LeftPalm" for end in skeleton.ends):
        return skeleton.point("LeftPalm")
    forearm = skeleton.offsets[skeleton.joint(ARM[-1])]
    return Point(name="LeftPalm", joint=ARM[-1], offset=PALM_SHARE * forearm)


@dataclass(frozen=True, eq=False, kw_only=True)
class Arm:
    """The left arm of a motion: forward kinematics from the study's parameters."""

    collar: Array
    """(F, 4) world rotations above the shoulder."""
    shoulder: Array
    """(F, 3) metres, world."""
    rotations: tuple[Array, Array, Array]
    """(F, 4) local rotations of shoulder, elbow and wrist in the source."""
    bones: tuple[Array, Array, Array]
    """(3,) metres: upper arm, forearm, and wrist to palm."""
    axis: Array
    """(3,) the axis about which elbow and wrist bend."""
    elbow_range: Array
    """(2,) radians."""

    @staticmethod
    def of(motion: Motion, palm: Point) -> Arm:
        skeleton, pose = motion.skeleton, fk(motion)
        joints = [skeleton.joint(name) for name in ARM]
        axis, elbow_range = find_elbow(motion)
        return Arm(
            collar=pose.rotations[:, skeleton.parents[joints[0]]],
            shoulder=pose.positions[:, joints[0]],
            rotations=tuple(motion.rotations[:, joint] for joint in joints),  # type: ignore[arg-type]
            bones=(skeleton.offsets[joints[1]], skeleton.offsets[joints[2]], palm.offset),
            axis=axis,
            elbow_range=elbow_range,
        )

    def turned(self, frames: np.ndarray, shoulder: Array, angles: Array) -> tuple[Array, Array, Array]:
        """Local rotations at frames (N,) with displacements of the shoulder (N, 4) and of elbow and wrist (N, 2)."""
        upper = multiply(self.rotations[0][frames], shoulder)
        lower, hand = (
            multiply(self.rotations[1 + i][frames], from_axis_angle(self.axis, angles[:, i])) for i in range(2)
        )
        return upper, lower, hand

    def palm(self, frames: np.ndarray, shoulder: Array, angles: Array) -> Array:
        """(N, 3) metres: where the palm is."""
        world, place = self.collar[frames], self.shoulder[frames]
        for rotation, bone in zip(self.turned(frames, shoulder, angles), self.bones, strict=True):
            world = multiply(world, rotation)
            place = place + rotate(world, np.broadcast_to(bone, place.shape))
        return np.asarray(place)

    def angle_bounds(self, frames: np.ndarray) -> Array:
        """(N, 2, 2) radians: how far elbow and wrist may be turned down and up; the source itself is always allowed."""
        bent = [twist_angles(self.rotations[1 + i][frames], self.axis) for i in range(2)]
        bounds = [np.stack([r[0] - b, r[1] - b], -1) for r, b in zip((self.elbow_range, WRIST_RANGE_RADIANS), bent)]
        both = np.stack(bounds, axis=1)
        return np.stack([np.minimum(both[..., 0], 0.0), np.maximum(both[..., 1], 0.0)], axis=-1)


def find_elbow(motion: Motion) -> tuple[Array, Array]:
    """The axis (3,) about which the left elbow bends, and its range (2,), radians."""
    skeleton, joint = motion.skeleton, motion.skeleton.joint(ARM[1])
    if skeleton.kinds[joint] == JointKind.HINGE:
        return skeleton.axes[joint][0], np.clip(skeleton.limits[joint][0], *ELBOW_RANGE_RADIANS)
    limit = next(limit for limit in human_limits(motion)[0] if limit.joints()[0].point == ARM[1])
    assert limit.axis is not None
    assert limit.twist is not None
    return limit.axis, np.asarray(limit.twist)


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyedArm:
    """The solution of the study's method."""

    motion: Motion
    met: bool
    """Whether the hand is near its hold at every key."""
    seconds: float


def solve_keys(squat: HalfSquat, key_frames: Sequence[int], weights: tuple[float, float, float]) -> KeyedArm:
    """Minimise the weighted displacement at the keys, with the hand near its hold at the keys.

    Args:
        squat: The motion and the hold.
        key_frames: Frames of the keys, counted from 1.
        weights: Factors of the displacements of shoulder, elbow and wrist.
    """
    start, arm, frames = time.perf_counter(), squat.arm, np.array(key_frames) - 1
    count = len(frames)
    at_rest = np.zeros((count, NUM_PARAMETERS))
    at_rest[:, 0] = 1.0
    factors = np.repeat(weights, (4, 1, 1)) ** 2

    def cost(x: Array) -> tuple[float, Array]:
        displacement = x.reshape(count, -1) - at_rest
        return float((factors * displacement**2).sum()), (2.0 * factors * displacement).ravel()

    def inside(x: Array) -> Array:
        return HOLD_RADIUS_METRES**2 - _squared_distance(squat, frames, x.reshape(count, -1))

    def d_inside(x: Array) -> Array:
        keys = x.reshape(count, -1)
        # The hand at a key depends on the parameters of this key alone. All differences are evaluated at once.
        steps = DIFFERENCE * np.concatenate([np.eye(NUM_PARAMETERS), -np.eye(NUM_PARAMETERS)])
        moved = (keys[:, None] + steps).reshape(-1, NUM_PARAMETERS)
        ends = _squared_distance(squat, np.repeat(frames, len(steps)), moved).reshape(count, 2, NUM_PARAMETERS)
        out = np.zeros((count, count, NUM_PARAMETERS))
        out[np.arange(count), np.arange(count)] = (ends[:, 1] - ends[:, 0]) / (2.0 * DIFFERENCE)
        return out.reshape(count, -1)

    ranges = arm.angle_bounds(frames)
    bounds = [pair for key in range(count) for pair in (*[(-1.0, 1.0)] * 4, *map(tuple, ranges[key]))]
    result = minimize(
        cost, at_rest.ravel(), jac=True, method="SLSQP", bounds=bounds,
        constraints=[{"type": "ineq", "fun": inside, "jac": d_inside}], options={"maxiter": 500, "ftol": 1e-10},
    )  # fmt: skip
    keys = result.x.reshape(count, -1)
    met = bool(_squared_distance(squat, frames, keys).max() < (1.05 * HOLD_RADIUS_METRES) ** 2)
    motion = _between_keys(squat, frames, keys)
    return KeyedArm(motion=motion, met=met, seconds=time.perf_counter() - start)


def _squared_distance(squat: HalfSquat, frames: np.ndarray, keys: Array) -> Array:
    palms = squat.arm.palm(frames, normalize(keys[:, :4]), keys[:, 4:])
    return np.asarray(((palms - squat.place) ** 2).sum(axis=-1))


def _between_keys(squat: HalfSquat, frames: np.ndarray, keys: Array) -> Motion:
    """The motion with displacements interpolated between keys."""
    every = np.arange(squat.motion.num_frames)
    before = np.clip(np.searchsorted(frames, every, side="right") - 1, 0, len(frames) - 2)
    share = (every - frames[before]) / np.diff(frames)[before]
    quaternions = normalize(keys[:, :4])
    shoulder = slerp(quaternions[before], quaternions[before + 1], share)
    angles = keys[before, 4:] + share[:, None] * (keys[before + 1, 4:] - keys[before, 4:])
    rotations = squat.motion.rotations.copy()
    for name, turned in zip(ARM, squat.arm.turned(every, shoulder, angles), strict=True):
        rotations[:, squat.motion.skeleton.joint(name)] = turned
    return squat.motion.derived(rotations=rotations)


def wander(motion: Motion, source: Motion) -> float:
    """Degrees that the displacements of shoulder, elbow and wrist go from frame to frame, in all."""
    joints = [source.skeleton.joint(name) for name in ARM]
    displacement = multiply(conjugate(source.rotations[:, joints]), motion.rotations[:, joints])
    return float(np.degrees(angle_between(displacement[1:], displacement[:-1]).sum()))


HEAD = (
    "squat", "method", "keys at frames", "met at its keys", "off at most (mm)", "off on average (mm)",
    "before 58 (mm)", "58-76 (mm)", "after 76 (mm)", "arm goes (deg)", "seconds",
)  # fmt: skip


def row(squat: HalfSquat, method: str, keys: str, met: bool | None, motion: Motion, seconds: float) -> tuple[Cell, ...]:
    """The table row of a result."""
    off = 1e3 * squat.off(motion)
    first, last = TROUBLE
    parts = (off[: first - 1], off[first - 1 : last], off[last:])
    return (
        squat.name, method, keys, met, float(off.max()), float(off.mean()), *(float(part.mean()) for part in parts),
        wander(motion, squat.motion), seconds,
    )  # fmt: skip


def compare(squat: HalfSquat) -> list[tuple[Cell, ...]]:
    """Rows of the study's method with its keys and weights, with equal weights and more keys, and of ours."""
    rows = []
    for weights, word in ((WEIGHTS, "study"), (EQUAL_WEIGHTS, "study, equal weights")):
        for count, frames in KEY_FRAMES.items():
            result = solve_keys(squat, frames, weights)
            keys = " ".join(map(str, frames))
            rows.append(row(squat, f"{word}, {count} keys", keys, result.met, result.motion, result.seconds))
    for count in MORE_KEYS:
        frames = np.rint(np.linspace(1, FRAMES, count)).astype(int)
        result = solve_keys(squat, frames, WEIGHTS)
        rows.append(row(squat, f"study, {count} keys", "even", result.met, result.motion, result.seconds))
    for count, chosen in KEY_FRAMES.items():
        solver = Keyed(keys=tuple((np.array(chosen) - 1) / squat.motion.fps))
        motion, seconds = squat.solve(solver, limited=False)
        rows.append(row(squat, f"keyed, {count} keys", " ".join(map(str, chosen)), None, motion, seconds))
    motion, seconds = squat.solve(Spacetime(spacing=choose_spacing(squat.motion)), limited=True)
    rows.append(row(squat, "ours", "-", None, motion, seconds))
    return rows


def draw_keys(count: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Keys at both ends and, as in the study, before and after the trouble, at random frames there."""
    before = {4: 1, 5: 3, 6: 2}[count]
    first = rng.choice(np.arange(8, TROUBLE[0]), size=before, replace=False)
    last = rng.choice(np.arange(TROUBLE[1] + 1, FRAMES - 6), size=count - 2 - before, replace=False)
    return (1, *sorted(map(int, first)), *sorted(map(int, last)), FRAMES)


def drawn_placements(squat: HalfSquat) -> list[tuple[Cell, ...]]:
    """A row for each number of keys: the errors over random placements, and how often more keys hold more tightly."""
    rng = np.random.default_rng(DRAW_SEED)
    means: dict[int, Array] = {}
    travel: dict[int, float] = {}
    for count in KEY_FRAMES:
        results = [solve_keys(squat, draw_keys(count, rng), WEIGHTS).motion for _ in range(DRAWS)]
        means[count] = 1e3 * np.array([squat.off(motion).mean() for motion in results])
        travel[count] = float(np.median([wander(motion, squat.motion) for motion in results]))
    rows = []
    for count, off in means.items():
        fewer = means.get(count - 1)
        tighter = None if fewer is None else f"{int((off < fewer).sum())} of {DRAWS}"
        rows.append(
            (squat.name, count, float(np.median(off)), float(off.min()), float(off.max()), travel[count], tighter)
        )
    return rows


def unreached(squat: HalfSquat) -> list[int]:
    """Frames, counted from 1, at which the study's solver finds no hold from the source's pose."""
    return [frame for frame in range(1, FRAMES + 1, EVERY) if not solve_single(squat, frame)]


def solve_single(squat: HalfSquat, frame: int) -> bool:
    """Whether the study's method meets the hold at one frame."""
    # Two keys at neighbouring frames are the fewest that the interpolation takes.
    other = frame + 1 if frame < FRAMES else frame - 1
    return solve_keys(squat, sorted((frame, other)), WEIGHTS).met


DRAWN_HEAD = (
    "squat", "keys", "off on average, median (mm)", "least (mm)", "most (mm)", "arm goes, median (deg)",
    "tighter than with one key fewer",
)  # fmt: skip


def verdict(squat: HalfSquat, rows: Sequence[tuple[Cell, ...]], drawn: Sequence[tuple[Cell, ...]]) -> tuple[Cell, ...]:
    """Whether more keys hold more tightly: with the study's keys, with random ones of its kind, and where they fail."""
    table = {str(cells[1]): float(cells[5] or 0.0) for cells in rows}
    means = [table[f"study, {count} keys"] for count in (*KEY_FRAMES, *MORE_KEYS)]
    medians = [float(cells[2] or 0.0) for cells in drawn]
    missed = unreached(squat)
    where = f"{len(missed)} of {len(range(1, FRAMES + 1, EVERY))}, {missed[0]} to {missed[-1]}" if missed else "none"
    return (
        squat.name, means[0] > means[1] > means[2], medians[0] > medians[1] > medians[2],
        means[2] > means[3] > means[4], where, table["ours"] < 1.0,
    )  # fmt: skip


VERDICT_HEAD = (
    "squat", "tighter from 4 to 5 to 6, the study's keys", "medians of random keys", "from 6 to 12 to 24",
    "frames that the study's solver misses alone", "ours within 1 mm",
)  # fmt: skip


def findings(squats: Sequence[HalfSquat], title: str) -> Findings:
    """The tables of some squats."""
    rows = {squat.name: compare(squat) for squat in squats}
    drawn = {squat.name: drawn_placements(squat) for squat in squats}
    verdicts = tuple(verdict(squat, rows[squat.name], drawn[squat.name]) for squat in squats)
    worse = tuple(f"{cells[0]}: ours does not hold within 1 mm" for cells in verdicts if not cells[-1])
    return Findings(
        tables=(
            Table(title=title, head=HEAD, rows=tuple(cells for part in rows.values() for cells in part)),
            Table(
                title=f"{DRAWS} random placements of the study's kind for each number of keys, seed {DRAW_SEED}",
                head=DRAWN_HEAD, rows=tuple(cells for part in drawn.values() for cells in part),
            ),
            Table(title="The claim `more keys hold more tightly`", head=VERDICT_HEAD, rows=verdicts),
        ),
        worse=worse,
    )  # fmt: skip
