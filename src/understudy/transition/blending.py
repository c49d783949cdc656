"""Blend one motion into another: poses, bone lengths, the root's path and the clock change smoothly.

The clock runs at the first motion's rate where the blend begins and at the second's where it ends. Matched frames
coincide throughout. The path is the sum of steps relative to the body's heading, so that the second motion is only
turned about the vertical and shifted over the floor [Gleicher98, sec. 5, for steps of a body that changes].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace

import numpy as np

from understudy.base.quaternion import (
    Array,
    between,
    conjugate,
    continuous,
    exp,
    from_axis_angle,
    log,
    multiply,
    rotate,
)
from understudy.base.records import record
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing
from understudy.figure.motion import Motion, frame_offsets
from understudy.transition.timing import PACES, FrameMatch


@record(eq=True)
class Steps:
    """The largest steps over all joints and frames, in leg lengths, so that bodies of different sizes compare."""

    turn: float
    """Radians a joint turns from one frame to the next."""
    turn_change: float
    """Radians by which that differs from the frame before."""
    move: float
    """Leg lengths a joint moves through the world from one frame to the next."""
    move_change: float
    """Leg lengths by which that differs from the frame before."""

    def over(self, other: Steps) -> float:
        """The largest ratio of these steps to another's: at most 1 if none is larger. Steps of zero are skipped."""
        pairs = zip(asdict(self).values(), asdict(other).values(), strict=True)
        return max((step / limit if limit > 0.0 else np.inf for step, limit in pairs if step > 1e-9), default=0.0)


def worst_steps(motion: Motion, legs: Array | float) -> Steps:
    """The largest steps of any joint in a motion.

    Args:
        motion: At least three frames.
        legs: Metres, one number or (F,): the body's leg length at each frame.
    """
    size = np.broadcast_to(legs, (motion.num_frames,))[:, None, None]
    moves = np.diff(fk(motion).positions, axis=0)
    turns = log(multiply(conjugate(motion.rotations[:-1]), motion.rotations[1:]))
    return Steps(
        turn=_largest(turns),
        turn_change=_largest(np.diff(turns, axis=0)),
        move=_largest(moves / size[1:]),
        move_change=_largest(np.diff(moves, axis=0) / size[1:-1]),
    )


def larger(a: Steps, b: Steps) -> Steps:
    """The larger value of each kind of step."""
    return Steps(**{key: max(value, getattr(b, key)) for key, value in asdict(a).items()})


def _largest(steps: Array) -> float:
    return float(np.linalg.norm(steps, axis=-1).max(initial=0.0))


UP = np.array([0.0, 1.0, 0.0])

PACE_SMOOTHING = 0.15
"""Share of a blend over which the pace of matched frames is smoothed."""

SUBSTEPS = 8
"""Integration steps of the clocks per frame."""

MIN_BONE_METRES = 1e-9
"""A shorter bone has no direction."""


def ease(share: Array) -> Array:
    """A quintic rise from 0 to 1 that starts and ends without speed or acceleration."""
    return share**3 * (10.0 - 15.0 * share + 6.0 * share**2)


@record
class BlendClocks:
    """The clocks of a blend. It starts on a frame of the first motion and ends on a frame of the second."""

    first: Array
    """(N + 1,) seconds of the first motion at each frame."""
    second: Array
    """(N + 1,) seconds of the second motion at each frame."""
    share: Array
    """(N + 1,) weight of the second motion, from 0 to 1."""
    fps: float

    @property
    def start(self) -> int:
        """The frame of the first motion at which the blend begins."""
        return round(float(self.first[0]) * self.fps)

    @property
    def entry(self) -> int:
        """The frame of the second motion at which the blend ends."""
        return round(float(self.second[-1]) * self.fps)


def blend_clocks(match: FrameMatch, fps: float, num_frames: int, last: int) -> BlendClocks:
    """Compute the clocks of a blend over matched frames.

    Args:
        match: Which times of the two motions coincide.
        fps: Frame rate of both motions.
        num_frames: Frames of the blend, not counting the first.
        last: The last frame of the second motion.
    """
    from scipy.ndimage import gaussian_filter1d

    clock = np.linspace(match.first[0], match.first[-1], 200)
    even_pace = np.interp(clock, match.first[[0, -1]], match.second[[0, -1]])
    deviation = np.interp(clock, match.first, match.second) - even_pace
    deviation = gaussian_filter1d(deviation, PACE_SMOOTHING * len(clock), mode="nearest")
    pace = np.clip(np.gradient(even_pace + deviation, clock), *PACES)
    first, second = np.empty(num_frames + 1), np.empty(num_frames + 1)
    first[0], second[0] = round(match.first[0] * fps) / fps, match.second[0]
    first_time, second_time = float(first[0]), float(second[0])
    step = 1.0 / (fps * SUBSTEPS)
    for frame in range(num_frames):
        for substep in range(SUBSTEPS):
            share = float(ease(np.array((frame + (substep + 0.5) / SUBSTEPS) / num_frames)))
            rate = float(np.interp(first_time, clock, pace))
            first_time += step * ((1.0 - share) + share / rate)
            second_time += step * ((1.0 - share) * rate + share)
        first[frame + 1], second[frame + 1] = first_time, second_time
    # The blend ends on a frame of the second motion, so that the frames that follow need no resampling.
    end = min(round(float(second[-1]) * fps), last)
    second = second + (end / fps - second[-1])
    return BlendClocks(first=first, second=second, share=ease(np.linspace(0.0, 1.0, num_frames + 1)), fps=fps)


@record
class Blend:
    """Two motions joined, before anything is solved."""

    motion: Motion
    """The first motion up to the blend, the blend, then the second motion, turned and shifted to follow."""
    start: int
    """The frame at which the blend begins: the last unchanged frame of the first motion."""
    end: int
    """The frame at which the blend ends: the first unchanged frame of the second motion."""
    second: Motion
    """The whole second motion, turned and shifted; its frame `entry` is the frame `end`."""
    entry: int
    share: Array
    """(F,) weight of the second motion."""
    sources: tuple[Motion, Motion]
    """Both motions over the frames of the blend, each by its own clock, neither turned nor shifted."""
    turn: float
    """Radians by which the second motion is turned about the vertical."""
    shift: Array
    """(3,) metres by which it is then shifted horizontally."""


def blend(first: Motion, second: Motion, clocks: BlendClocks, to_shared: Callable[[int, Motion], Motion]) -> Blend:
    """Join two motions of the same frame rate by a blend.

    Args:
        first: The first motion, on its own skeleton.
        second: The second motion, on its own skeleton.
        clocks: The clocks of the blend.
        to_shared: Function that converts a motion of the first (0) or second (1) body to the shared skeleton.
    """
    resampled = first.at(clocks.first, fps=clocks.fps), second.at(clocks.second, fps=clocks.fps)
    headings = tuple(_heading(motion) for motion in resampled)
    a, b = to_shared(0, resampled[0]), to_shared(1, resampled[1])
    heading, root = _path((a.root, b.root), headings, clocks.share)
    level_rotations = [_turn_in_place(motion, -yaw).rotations for motion, yaw in zip((a, b), headings, strict=True)]
    rotations = blend_rotations(level_rotations[0], level_rotations[1], clocks.share)
    rotations[:, 0] = multiply(_yaw(heading), rotations[:, 0])
    offsets = None
    if a.offsets is not None or b.offsets is not None or not np.allclose(a.skeleton.offsets, b.skeleton.offsets):
        offsets = blend_offsets(frame_offsets(a), frame_offsets(b), clocks.share)
    turn = float(heading[-1] - headings[1][-1])
    placed = _turn_in_place(to_shared(1, second), np.full(second.num_frames, turn))
    path = rotate(_yaw(np.array(turn)), placed.root)
    shift = (root[-1] - path[clocks.entry]) * [1.0, 0.0, 1.0]
    placed = replace(placed, skeleton=a.skeleton, root=path + shift)
    first_part = to_shared(0, first)[: clocks.start + 1]
    parts = [first_part, replace(a, root=root, rotations=rotations, offsets=offsets)[1:-1], placed[clocks.entry :]]
    share = np.concatenate([np.zeros(clocks.start), clocks.share, np.ones(parts[2].num_frames - 1)])
    return Blend(
        motion=_concatenate(parts, offsets is not None),
        start=clocks.start,
        end=clocks.start + len(clocks.share) - 1,
        second=placed,
        entry=clocks.entry,
        share=share,
        sources=(a, b),
        turn=turn,
        shift=shift,
    )


def _concatenate(parts: list[Motion], bones_change: bool) -> Motion:
    return replace(
        parts[0],
        root=np.concatenate([part.root for part in parts]),
        rotations=np.concatenate([part.rotations for part in parts]),
        offsets=np.concatenate([frame_offsets(part) for part in parts]) if bones_change else None,
    )


def _yaw(angle: Array) -> Array:
    return from_axis_angle(UP, angle)


def _heading(motion: Motion) -> Array:
    """(F,) radians about the vertical, from +Z: the facing direction."""
    forward = facing(motion)
    return np.unwrap(np.arctan2(forward[:, 0], forward[:, 2]))


def _turn_in_place(motion: Motion, turn: Array) -> Motion:
    """A motion turned in place about the vertical by (F,) radians."""
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(_yaw(turn), rotations[:, 0])
    return replace(motion, rotations=rotations)


def _path(roots: tuple[Array, Array], headings: tuple[Array, ...], share: Array) -> tuple[Array, Array]:
    """Heading (N,) and path (N, 3) that blend the turns and steps of both motions, relative to the heading."""
    mean_share = 0.5 * (share[1:] + share[:-1])
    turns = (1.0 - mean_share) * np.diff(headings[0]) + mean_share * np.diff(headings[1])
    heading = headings[0][0] + np.concatenate([[0.0], np.cumsum(turns)])
    steps = np.zeros((len(mean_share), 3))
    for root, motion_heading, weight in zip(roots, headings, (1.0 - mean_share, mean_share), strict=True):
        turn = 0.5 * (heading[1:] + heading[:-1] - motion_heading[1:] - motion_heading[:-1])
        steps += weight[:, None] * rotate(_yaw(turn), np.diff(root, axis=0))
    path = roots[0][0] + np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    path[:, 1] = (1.0 - share) * roots[0][:, 1] + share * roots[1][:, 1]
    return heading, path


def blend_rotations(a: Array, b: Array, share: Array) -> Array:
    """(N, J, 4) rotations interpolated from a to b by a share (N,), turning the same way round at all frames.

    The shortest way round could flip between two frames where a and b are about half a turn apart.
    """
    difference = continuous(multiply(conjugate(a), b))
    difference = difference * np.where(difference[..., :1].sum(axis=0) < 0.0, -1.0, 1.0)
    sine = np.linalg.norm(difference[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, difference[..., :1])
    vector = np.where(sine < 1e-9, log(difference), angle * difference[..., 1:] / np.maximum(sine, 1e-9))
    return multiply(a, exp(share[:, None, None] * vector))


def blend_offsets(a: Array, b: Array, share: Array) -> Array:
    """(N, J, 3) bones interpolated from a to b, length and direction separately, so that lengths change monotonically.

    A bone without length takes the direction of the other.
    """
    lengths = [np.linalg.norm(bones, axis=-1, keepdims=True) for bones in (a, b)]
    start = np.where(lengths[0] > MIN_BONE_METRES, a, b)
    end = np.where(lengths[1] > MIN_BONE_METRES, b, start)
    bone_share = share[:, None, None]
    direction = rotate(exp(bone_share * log(between(start, end))), start)
    size = np.linalg.norm(direction, axis=-1, keepdims=True)
    length = (1.0 - bone_share) * lengths[0] + bone_share * lengths[1]
    return np.where(size > MIN_BONE_METRES, direction * length / np.maximum(size, MIN_BONE_METRES), 0.0)
