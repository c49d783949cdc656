"""Turns of limbs: arms or legs turn at shoulder and elbow, or at hip and knee, by as little as is asked for.

What is asked for are residuals of the turns at each frame. The turns of the whole motion are solved for at once: the
bones keep their directions as well as the residuals allow, and the turns are smooth in time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np

from understudy.base.quaternion import Array, conjugate, cross, exp, from_axis_angle, multiply, rotate, unrotate
from understudy.base.records import gaussian_smoothed, record
from understudy.correspondence.alignment import MIN_BONE_METRES
from understudy.correspondence.hinge import turn_hinges
from understudy.figure.kinematics import Pose, fk
from understudy.figure.main_bones import main_bones
from understudy.figure.motion import Motion
from understudy.figure.roles import balls_of_hinges, roles
from understudy.figure.skeleton import JointKind, Skeleton

LIMBS = {"arm": ("upper_arm", "lower_arm", "hand"), "leg": ("upper_leg", "lower_leg", "foot")}
"""The bones of a limb, by their roles without the side."""

KEYS_HZ = 30.0
"""Most frames a second at which turns are solved for; they are interpolated between."""

SMOOTHING_SECONDS = {"arm": 0.12, "leg": 1.0}
"""Time over which a limb turns out of the way. Legs are slower, because feet that stand must not slide."""

BEND_COST = {"arm": 0.0, "leg": 100.0}
"""Cost of bending elbow or knee, besides that of the directions of the bones."""

TWIST_COST = {"arm": 0.3, "leg": 10.0}
"""Cost of the turn of a whole limb, besides that of the directions of its bones. Knees that turn in or out are seen."""

BEND_STIFFNESS = 1e3
"""Cost of a radian, squared, by which an elbow or a knee is bent beyond its range."""

MIN_BEND, MAX_BEND = np.radians(3.0), np.radians(150.0)
"""Radians between which elbows and knees stay, or where they are in the start motion if that is beyond."""

MAX_TURN = {"arm": 1.2, "leg": 0.7}
"""Radians to which the turns of a limb are smoothly limited."""

MAX_TURN_STEP = 0.7
"""Radians that a limb turns at most in one step of the solve."""

MIN_TURN_STEP = 5e-3
"""Radians below which a further step is left out."""

MIN_GAIN = 3e-3
"""Share of the cost that a step must save for another to follow."""

MIN_DAMPING, MAX_DAMPING = 0.1, 1e5
"""Least and greatest cost of changing a turn in one step, against that of the turn."""

AXIS_SECONDS, MIN_WIDTH_FRAMES = 0.05, 0.1
"""Standard deviation of the Gaussian window that smooths the axes of elbows and knees, and its least width."""

STRAIGHT_SINE = 0.1
"""Sine of the bend of an elbow below which the usual axis of the elbow counts more than that of the frame."""

NUM_STEPS, NUM_ACTIVE_ROUNDS = 12, 4
"""Gauss-Newton steps for one limb, and most linear solves in each."""


@record
class Residuals:
    """What is asked of the turns of a limb."""

    frames: np.ndarray
    """(N,)"""
    gradients: Array
    """(N, 4) how much a residual falls with each radian of the turns."""
    values: Array
    """(N,) residuals that should be zero, or at most zero."""
    weights: Array
    """(N,) costs of their squares, against that of a radian, squared."""
    at_most: np.ndarray
    """(N,) whether a residual below zero asks for nothing."""

    @staticmethod
    def joined(parts: Sequence[Residuals]) -> Residuals:
        names = ("frames", "gradients", "values", "weights", "at_most")
        return Residuals(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    @staticmethod
    def none() -> Residuals:
        """Residuals that ask for nothing."""
        empty = np.zeros(0)
        return Residuals(frames=np.zeros(0, np.intp), gradients=np.zeros((0, 4)), values=empty, weights=empty,
                         at_most=np.zeros(0, bool))  # fmt: skip

    @property
    def cost(self) -> float:
        return float(self.weights @ np.square(np.where(self.at_most, np.maximum(self.values, 0.0), self.values)))


@record
class Limb:
    """An arm or a leg as it is in the start motion."""

    kind: str
    side: str
    bones: tuple[tuple[int, ...], ...]
    """The joints of its three bones, top first."""
    top: Array
    """(F, 3) metres, world: the shoulder or the hip."""
    middle: Array
    end: Array
    axis: Array
    """(F, 3) the axis about which elbow or knee bends, world."""
    bend: Array
    """(F,) radians by which it is bent."""

    @staticmethod
    def of(skeleton: Skeleton, pose: Pose, kind: str, side: str, rate: float) -> Limb:
        """A limb of a body, from a pose that holds its joints, with so many frames a second."""
        joint_of, main, index = roles(skeleton), main_bones(skeleton), pose.skeleton.index
        bones = tuple(tuple(main.members_of(joint_of[f"{side}_{part}"])) for part in LIMBS[kind])
        firsts = [index[skeleton.names[bone[0]]] for bone in bones]
        top, middle, end = (pose.positions[:, joint] for joint in firsts)
        above = pose.rotations[:, index[skeleton.names[bones[0][-1]]]]
        axis = elbow_axes(middle - top, end - middle, above, AXIS_SECONDS * rate)
        if _is_hinge(skeleton, bones[1]):
            hinge = rotate(pose.rotations[:, firsts[1]], skeleton.axes[bones[1][0]][0])
            axis = hinge * np.sign(np.einsum("fi,fi->", hinge, axis))
        upper, lower = _unit(middle - top), _unit(end - middle)
        bend = np.arctan2(np.einsum("fi,fi->f", axis, cross(upper, lower)), np.einsum("fi,fi->f", upper, lower))
        return Limb(kind=kind, side=side, bones=bones, top=top, middle=middle, end=end, axis=axis, bend=bend)

    @property
    def name(self) -> str:
        return f"{self.side} {self.kind}"

    def limited(self, turn: Array) -> Array:
        """Turns (F, 4), smoothly limited."""
        scale = np.sqrt(1.0 + np.einsum("fi,fi->f", turn, turn) / MAX_TURN[self.kind] ** 2)
        limited: Array = turn / scale[:, None]
        return limited

    def rotations(self, turn: Array) -> tuple[Array, Array]:
        """(F, 4) world rotations of the lower part at the middle joint, and then of the limb, by turns (F, 4)."""
        turn = self.limited(turn)
        return from_axis_angle(self.axis, turn[:, 3]), exp(turn[:, :3])

    def turned(self, turn: Array) -> TurnedLimb:
        """The limb after turns (F, 4)."""
        bend, swing = self.rotations(turn)
        middle = self.top + rotate(swing, self.middle - self.top)
        end = middle + rotate(swing, rotate(bend, self.end - self.middle))
        axis = rotate(swing, self.axis)
        return TurnedLimb(limb=self, turn=turn, bend=bend, swing=swing, middle=middle, end=end, axis=axis)

    def costs(self) -> Array:
        """(F, 4, 4) the cost of turns: the angles by which the directions of the two bones change, squared."""
        bones = _unit(self.middle - self.top), _unit(self.end - self.middle)
        across = [np.eye(3) - bone[:, :, None] * bone[:, None] for bone in bones]
        costs = np.zeros((len(self.top), 4, 4))
        costs[:, :3, :3] = across[0] + across[1] + TWIST_COST[self.kind] * np.eye(3)
        by_bend = np.einsum("fij,fj->fi", across[1], self.axis)
        costs[:, :3, 3] = costs[:, 3, :3] = by_bend
        costs[:, 3, 3] = np.einsum("fi,fi->f", by_bend, by_bend) + BEND_COST[self.kind] + 1e-3
        return costs


@record
class TurnedLimb:
    """A limb after turns."""

    limb: Limb
    turn: Array
    """(F, 4) radians: a rotation vector of the limb, world, and the bend of its middle joint."""
    bend: Array
    """(F, 4) world rotations of the lower part at the middle joint, before those of the limb."""
    swing: Array
    """(F, 4) world rotations of the limb."""
    middle: Array
    """(F, 3) metres, world."""
    end: Array
    axis: Array
    """(F, 3) the axis of the bend, world."""

    def residuals(
        self,
        frames: np.ndarray,
        away: Array,
        places: Array,
        *,
        bends: np.ndarray,
        values: Array,
        weights: Array,
        at_most: bool,
    ) -> Residuals:
        """Residuals (N,) that fall as places (N, 3) of the limb move away along directions (N, 3).

        Args:
            frames: (N,) the frame of each.
            away: (N, 3) unit directions, world.
            places: (N, 3) metres, world.
            bends: (N,) whether a place goes with the lower part, which bends.
            values: (N,) metres.
            weights: (N,) their costs.
            at_most: Whether values below zero ask for nothing.
        """
        gradients = np.zeros((len(frames), 4))
        gradients[:, :3] = cross(places - self.limb.top[frames], away)
        by_bend = np.einsum("ni,ni->n", away, cross(self.axis[frames], places - self.middle[frames]))
        gradients[:, 3] = np.where(bends, by_bend, 0.0)
        kinds = np.full(len(frames), at_most)
        return Residuals(frames=frames, gradients=gradients, values=values, weights=weights, at_most=kinds)

    def bend_residuals(self) -> Residuals:
        """Residuals that keep elbow or knee within its range."""
        bend, count = self.limb.bend, len(self.limb.bend)
        now, low, high = bend + self.limb.limited(self.turn)[:, 3], bend.clip(max=MIN_BEND), bend.clip(min=MAX_BEND)
        by_bend = np.zeros((2 * count, 4))
        by_bend[:count, 3], by_bend[count:, 3] = 1.0, -1.0
        return Residuals(
            frames=np.tile(np.arange(count), 2), gradients=by_bend, values=np.concatenate([low - now, now - high]),
            weights=np.full(2 * count, BEND_STIFFNESS), at_most=np.ones(2 * count, bool),
        )  # fmt: skip


def _unit(vectors: Array) -> Array:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def key_frames(motion: Motion) -> np.ndarray:
    """(K,) the frames at which turns are solved for."""
    step = round(motion.fps / key_rate(motion))
    return np.unique(np.r_[np.arange(0, motion.num_frames, step), motion.num_frames - 1])


def key_rate(motion: Motion) -> float:
    """How many of those frames there are a second."""
    return motion.fps / max(int(motion.fps / KEYS_HZ), 1)


def least_turns(limb: Limb, evaluate: Callable[[TurnedLimb], Residuals], turn: Array, rate: float) -> Array:
    """The turns (F, 4) of a limb that meet residuals at the least cost; the same if nothing is asked for.

    Args:
        limb: The limb.
        evaluate: The residuals of the turned limb.
        turn: (F, 4) radians: a rotation vector of the limb, world, and the bend of its middle joint, so far.
        rate: Frames a second.
    """
    smoothness = (SMOOTHING_SECONDS[limb.kind] * rate) ** 4
    costs = limb.costs()
    damping, least, trial = 1.0, np.inf, turn
    residuals: Residuals | None = None
    for _ in range(NUM_STEPS + 1):
        moved = limb.turned(trial)
        found = Residuals.joined([evaluate(moved), moved.bend_residuals()])
        if residuals is None and not turn.any() and found.cost == 0.0:
            return turn
        total = found.cost + _turn_cost(trial, costs, smoothness)
        # A step that costs more is taken back, and a shorter one tried.
        if total < least:
            gain, least, turn, residuals = least - total, total, trial, found
            damping = max(damping / 4.0, MIN_DAMPING)
            if gain < MIN_GAIN * total:
                break
        else:
            damping *= 8.0
        if damping > MAX_DAMPING:
            break
        assert residuals is not None
        trial = _step(limb, residuals, turn, costs, smoothness, damping)
        if np.abs(trial - turn).max() < MIN_TURN_STEP:
            break
    return turn


def _turn_cost(turn: Array, costs: Array, smoothness: float) -> float:
    second = np.diff(turn, 2, axis=0)
    return float(np.einsum("fi,fij,fj->", turn, costs, turn) + smoothness * np.square(second).sum())


def _step(limb: Limb, rows: Residuals, turn: Array, costs: Array, smoothness: float, damping: float) -> Array:
    """The turns (F, 4) after a damped Gauss-Newton step from some turns."""
    # Turns are limited smoothly: the derivative of the limited turns by the turns.
    frames, at = rows.frames, turn[rows.frames]
    scale = 1.0 / np.sqrt(1.0 + np.einsum("ni,ni->n", at, at) / MAX_TURN[limb.kind] ** 2)
    along = np.einsum("ni,ni->n", rows.gradients, at) * scale**3 / MAX_TURN[limb.kind] ** 2
    gradients = rows.gradients * scale[:, None] - along[:, None] * at
    # A residual asks for its value to be made up for, from where the limb is now. Those that the turns more than make
    # up for ask for nothing, and the turns are solved for again.
    wanted = rows.values + np.einsum("ni,ni->n", gradients, at)
    active = ~rows.at_most | (rows.values > 0.0)
    for _ in range(NUM_ACTIVE_ROUNDS):
        solved = _smooth_solve(
            frames[active], gradients[active], wanted[active], rows.weights[active], costs, smoothness, damping, turn
        )
        before, active = active, ~rows.at_most | (wanted > np.einsum("ni,ni->n", gradients, solved[frames]))
        if np.array_equal(before, active):
            break
    change = solved - turn
    moved: Array = turn + change * np.minimum(1.0, MAX_TURN_STEP / max(float(np.abs(change).max()), 1e-9))
    return moved


def _smooth_solve(
    frames: np.ndarray,
    gradients: Array,
    wanted: Array,
    weights: Array,
    costs: Array,
    smoothness: float,
    damping: float,
    near: Array,
) -> Array:
    """(F, D) the smallest and smoothest values that bring about what is wanted.

    Args:
        frames: (N,) the frame of each row.
        gradients: (N, D) what a row changes by with the values of its frame.
        wanted: (N,) what each row should be.
        weights: (N,) the cost of the square of what is left of it.
        costs: (F, D, D) costs of the values.
        smoothness: The cost of squared second differences.
        damping: The cost of the squared distance from other values.
        near: (F, D) those values.
    """
    from scipy.linalg import solveh_banded

    num_frames, width = near.shape
    band = np.zeros((2 * width + 1, num_frames, width))
    for row in range(width):
        for column in range(row + 1):
            products = weights * gradients[:, row] * gradients[:, column]
            band[row - column, :, column] += np.bincount(frames, products, num_frames) + costs[:, row, column]
    asked = np.stack([np.bincount(frames, weights * wanted * g, num_frames) for g in gradients.T], axis=-1)
    vector = asked + damping * near
    second, diagonal = np.array([1.0, -2.0, 1.0]), np.zeros((3, num_frames))
    for i in range(3 if num_frames > 2 else 0):
        for j in range(i + 1):
            diagonal[i - j, j : j + num_frames - 2] += smoothness * second[i] * second[j]
    diagonal[0] += damping
    for step in range(3):
        band[step * width] += diagonal[step][:, None]
    return np.asarray(solveh_banded(band.reshape(2 * width + 1, -1), vector.ravel(), lower=True)).reshape(-1, width)


def turned(motion: Motion, limbs: Sequence[Limb], turns: Sequence[Array]) -> Motion:
    """A motion with its limbs turned, by turns (F, 4) each; hands and feet keep their rotations in the world."""
    pose, rotations, skeleton = fk(motion), motion.rotations.copy(), motion.skeleton
    for limb, turn in zip(limbs, turns, strict=True):
        if not turn.any():
            continue
        bend, swing = limb.rotations(turn)
        still = np.broadcast_to([1.0, 0.0, 0.0, 0.0], swing.shape)
        turn_above = still
        for bone, turn_here in zip(limb.bones, (swing, multiply(swing, bend), still), strict=True):
            joints = list(bone[:3] if _is_ball_of_hinges(skeleton, bone) else bone[:1])
            parent = pose.rotations[:, skeleton.parents[bone[0]]]
            # Other bones between the bone above and this one go with the bone above.
            change = multiply(conjugate(multiply(turn_above, parent)), multiply(turn_here, parent))
            wanted = multiply(change, reduce(multiply, rotations[:, joints].swapaxes(0, 1)))
            is_one = len(joints) == 1
            rotations[:, joints] = wanted[:, None] if is_one else turn_hinges(skeleton, joints, wanted)
            turn_above = turn_here
    return motion.derived(rotations=rotations)


def turned_between(motion: Motion, frames: np.ndarray, limbs: Sequence[Limb], turns: Sequence[Array]) -> Motion:
    """A motion with its limbs turned, by turns (K, 4) at some of its frames (K,), interpolated between."""
    if not any(turn.any() for turn in turns):
        return motion
    if len(frames) == motion.num_frames:
        return turned(motion, limbs, turns)
    from scipy.interpolate import CubicSpline

    pose, every = fk(motion), np.arange(motion.num_frames)
    limbs = [Limb.of(motion.skeleton, pose, limb.kind, limb.side, motion.fps) for limb in limbs]
    return turned(motion, limbs, [CubicSpline(frames, turn)(every) for turn in turns])


def has_free_limbs(skeleton: Skeleton, kind: str = "arm") -> bool:
    """Whether both arms, or legs, can turn any way at both ends, as those of characters do and those of robots do not,
    and their bones have a length."""
    joint_of, main = roles(skeleton), main_bones(skeleton)
    for side in ("left", "right"):
        if any(f"{side}_{part}" not in joint_of for part in LIMBS[kind]):
            return False
        bones = [main.members_of(joint_of[f"{side}_{part}"]) for part in LIMBS[kind]]
        if not all(_is_ball(skeleton, bone) for bone in (bones[0], bones[2])):
            return False
        if not (_is_ball(skeleton, bones[1]) or _is_hinge(skeleton, bones[1])):
            return False
        if any(skeleton.lengths[bone[0]] < MIN_BONE_METRES for bone in bones[1:]):
            return False
    return True


def _is_ball(skeleton: Skeleton, bone: Sequence[int]) -> bool:
    return skeleton.kinds[bone[0]] is JointKind.BALL or _is_ball_of_hinges(skeleton, bone)


def _is_hinge(skeleton: Skeleton, bone: Sequence[int]) -> bool:
    return skeleton.kinds[bone[0]] is JointKind.HINGE and not _is_ball_of_hinges(skeleton, bone)


def _is_ball_of_hinges(skeleton: Skeleton, bone: Sequence[int]) -> bool:
    """Whether a main bone begins with three hinges at one point that turn without limits."""
    return tuple(bone[:3]) in balls_of_hinges(skeleton) and not np.isfinite(skeleton.limits[list(bone[:3]), 0]).any()


def elbow_axes(upper: Array, lower: Array, upper_arm: Array, width: float) -> Array:
    """(F, 3) unit axes about which the elbow bends, world: those of the frames, or the usual one where it is straight.

    They turn smoothly: the axis of an arm that is nearly straight shakes with the capture, and so would a hand that is
    bent about it.

    Args:
        upper: (F, 3) the upper arm, world.
        lower: (F, 3) the lower arm, world.
        upper_arm: (F, 4) world rotations of the upper arm.
        width: The standard deviation, in frames, of the Gaussian window that smooths the axes.
    """
    normal = cross(_unit(upper), _unit(lower))
    usual = rotate(upper_arm, _unit(unrotate(upper_arm, normal).sum(axis=0)))
    # An elbow that bends the other way has the same axis.
    axis = normal * np.where(np.einsum("fi,fi->f", normal, usual) < 0.0, -1.0, 1.0)[:, None] + STRAIGHT_SINE * usual
    axis = np.stack([gaussian_smoothed(column, max(width, MIN_WIDTH_FRAMES)) for column in axis.T], axis=-1)
    along = _unit(upper)
    return _unit(axis - np.einsum("fi,fi->f", axis, along)[:, None] * along)
