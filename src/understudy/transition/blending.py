"""One motion turned into another: poses, bone lengths, the path and the clock eased over a blend.

The clock runs at the first motion's rate where the blend begins and at the second's where it ends, and frames that
correspond coincide all the way. The path is added up from steps in the body's own heading, so that the second motion
is only turned about the vertical and shifted over the floor [Gleicher98, sec. 5, for steps of a body that changes].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

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
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing
from understudy.figure.motion import Motion, frame_offsets
from understudy.transition.timing import FrameMatch


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The largest over all joints and frames. Lengths are leg lengths, so that bodies of different sizes compare."""

    turn: float
    """Radians a joint turns from one frame to the next."""
    turn_change: float
    """Radians by which that differs from the frame before."""
    move: float
    """Leg lengths a joint moves through the world from one frame to the next."""
    move_change: float
    """Leg lengths by which that differs from the frame before."""

    def over(self, other: Steps) -> float:
        """The largest of these as a multiple of another's: at most 1 if none is larger. No step is no multiple."""
        pairs = zip(asdict(self).values(), asdict(other).values(), strict=True)
        return max((mine / theirs if theirs > 0.0 else np.inf for mine, theirs in pairs if mine > 1e-9), default=0.0)


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
    """The larger of each of two."""
    return Steps(**{key: max(value, getattr(b, key)) for key, value in asdict(a).items()})


def _largest(steps: Array) -> float:
    return float(np.linalg.norm(steps, axis=-1).max(initial=0.0))


UP = np.array([0.0, 1.0, 0.0])

SMOOTH = 0.15
"""Share of a blend over which the pace of corresponding frames is smoothed."""

PACES = (0.4, 2.5)
"""Least and greatest pace of the second motion against the first."""

SUBSTEPS = 8
"""Steps a frame in which the clocks are added up."""

SHORT = 1e-9
"""Metres below which a bone has no direction."""


def ease(share: Array) -> Array:
    """An even rise from 0 to 1 made to start and end without speed or acceleration."""
    return share**3 * (10.0 - 15.0 * share + 6.0 * share**2)


@dataclass(frozen=True, eq=False, kw_only=True)
class BlendedMotion:
    """The clocks of a blend. Its first frame is one of the first motion, its last one of the second."""

    first: Array
    """(N + 1,) seconds of the first motion at each frame."""
    second: Array
    """(N + 1,) seconds of the second."""
    share: Array
    """(N + 1,) how much of the second motion a frame is, from 0 to 1."""
    fps: float

    @property
    def start(self) -> int:
        """The frame of the first motion at which the blend begins."""
        return round(float(self.first[0]) * self.fps)

    @property
    def entry(self) -> int:
        """The frame of the second motion at which the blend ends."""
        return round(float(self.second[-1]) * self.fps)


def passage(match: FrameMatch, fps: float, num_frames: int, last: int) -> BlendedMotion:
    """The clocks of a blend over frames that correspond.

    Args:
        match: Which moments of the two motions coincide.
        fps: Frames a second of both.
        num_frames: Frames that the blend takes, its first not counted.
        last: The last frame of the second motion.
    """
    from scipy.ndimage import gaussian_filter1d

    clock = np.linspace(match.first[0], match.first[-1], 200)
    even = np.interp(clock, match.first[[0, -1]], match.second[[0, -1]])
    stray = gaussian_filter1d(np.interp(clock, match.first, match.second) - even, SMOOTH * len(clock), mode="nearest")
    pace = np.clip(np.gradient(even + stray, clock), *PACES)
    a, b = np.empty(num_frames + 1), np.empty(num_frames + 1)
    a[0], b[0] = round(match.first[0] * fps) / fps, match.second[0]
    now, then = float(a[0]), float(b[0])
    step = 1.0 / (fps * SUBSTEPS)
    for frame in range(num_frames):
        for part in range(SUBSTEPS):
            share = float(ease(np.array((frame + (part + 0.5) / SUBSTEPS) / num_frames)))
            rate = float(np.interp(now, clock, pace))
            now += step * ((1.0 - share) + share / rate)
            then += step * ((1.0 - share) * rate + share)
        a[frame + 1], b[frame + 1] = now, then
    # The blend ends on a frame of the second motion, so that what follows is that motion's own frames.
    end = min(round(float(b[-1]) * fps), last)
    return BlendedMotion(
        first=a, second=b + (end / fps - b[-1]), share=ease(np.linspace(0.0, 1.0, num_frames + 1)), fps=fps
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Blend:
    """Two motions joined, before anything is solved."""

    motion: Motion
    """The first up to the blend, the blend, and the second from there on, turned and shifted to follow."""
    start: int
    """The frame at which the blend begins: the last of the first motion as it was."""
    end: int
    """The frame at which it ends: the first of the second motion as it was."""
    second: Motion
    """The whole second motion as it is placed; its frame `entry` is the frame `end`."""
    entry: int
    share: Array
    """(F,) how much of the second motion each frame is."""
    sources: tuple[Motion, Motion]
    """Both motions over the frames of the blend, each by its own clock, as they were before."""
    turn: float
    """Radians by which the second motion is turned about the vertical."""
    shift: Array
    """(3,) metres by which it is then shifted; the height stays."""


def blend(
    first: Motion, second: Motion, way: BlendedMotion, on: tuple[Callable[[Motion], Motion], Callable[[Motion], Motion]]
) -> Blend:
    """Join two motions of one rate by a blend.

    Args:
        first: A motion on its own body.
        second: A motion on its own body.
        way: The clocks.
        on: What puts a motion of the first body, and one of the second, on the skeleton that holds both.
    """
    own = first.at(way.first, fps=way.fps), second.at(way.second, fps=way.fps)
    headings = tuple(_heading(motion) for motion in own)
    a, b = on[0](own[0]), on[1](own[1])
    heading, root = _path((a.root, b.root), headings, way.share)
    ahead = [_headed(motion, -yaw).rotations for motion, yaw in zip((a, b), headings, strict=True)]
    rotations = blend_rotations(ahead[0], ahead[1], way.share)
    rotations[:, 0] = multiply(_yaw(heading), rotations[:, 0])
    offsets = None
    if a.offsets is not None or b.offsets is not None or not np.allclose(a.skeleton.offsets, b.skeleton.offsets):
        offsets = blend_offsets(frame_offsets(a), frame_offsets(b), way.share)
    turn = float(heading[-1] - headings[1][-1])
    follows = _headed(on[1](second), np.full(second.num_frames, turn))
    path = rotate(_yaw(np.array(turn)), follows.root)
    shift = (root[-1] - path[way.entry]) * [1.0, 0.0, 1.0]
    follows = replace(follows, skeleton=a.skeleton, root=path + shift)
    before = on[0](first)[: way.start + 1]
    parts = [before, replace(a, root=root, rotations=rotations, offsets=offsets)[1:-1], follows[way.entry :]]
    share = np.concatenate([np.zeros(way.start), way.share, np.ones(parts[2].num_frames - 1)])
    return Blend(
        motion=_joined(parts, offsets is not None),
        start=way.start,
        end=way.start + len(way.share) - 1,
        second=follows,
        entry=way.entry,
        share=share,
        sources=(a, b),
        turn=turn,
        shift=shift,
    )


def _joined(parts: list[Motion], changes: bool) -> Motion:
    return replace(
        parts[0],
        root=np.concatenate([part.root for part in parts]),
        rotations=np.concatenate([part.rotations for part in parts]),
        offsets=np.concatenate([frame_offsets(part) for part in parts]) if changes else None,
    )


def _yaw(angle: Array) -> Array:
    return from_axis_angle(UP, angle)


def _heading(motion: Motion) -> Array:
    """(F,) radians about the vertical, from +Z: where a body faces."""
    forward = facing(motion)
    return np.unwrap(np.arctan2(forward[:, 0], forward[:, 2]))


def _headed(motion: Motion, turn: Array) -> Motion:
    """A motion turned about the vertical where it stands, by (F,) radians."""
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(_yaw(turn), rotations[:, 0])
    return replace(motion, rotations=rotations)


def _path(roots: tuple[Array, Array], headings: tuple[Array, ...], share: Array) -> tuple[Array, Array]:
    """Heading (N,) and path (N, 3) whose turns and steps, in the body's own heading, go over from one to the other."""
    middle = 0.5 * (share[1:] + share[:-1])
    turns = (1.0 - middle) * np.diff(headings[0]) + middle * np.diff(headings[1])
    heading = headings[0][0] + np.concatenate([[0.0], np.cumsum(turns)])
    steps = np.zeros((len(middle), 3))
    for root, own, part in zip(roots, headings, (1.0 - middle, middle), strict=True):
        facing_there = 0.5 * (heading[1:] + heading[:-1] - own[1:] - own[:-1])
        steps += part[:, None] * rotate(_yaw(facing_there), np.diff(root, axis=0))
    path = roots[0][0] + np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    path[:, 1] = (1.0 - share) * roots[0][:, 1] + share * roots[1][:, 1]
    return heading, path


def blend_rotations(a: Array, b: Array, share: Array) -> Array:
    """(N, J, 4) the rotations at a share (N,) of the way from a to b, which way round being the same at all frames.

    The shortest way may go over to the other side between two frames where it is near a half turn.
    """
    apart = continuous(multiply(conjugate(a), b))
    apart = apart * np.where(apart[..., :1].sum(axis=0) < 0.0, -1.0, 1.0)
    sine = np.linalg.norm(apart[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, apart[..., :1])
    vector = np.where(sine < 1e-9, log(apart), angle * apart[..., 1:] / np.maximum(sine, 1e-9))
    return multiply(a, exp(share[:, None, None] * vector))


def blend_offsets(a: Array, b: Array, share: Array) -> Array:
    """(N, J, 3) bones that go over from a to b, length and direction apart, so that every length only grows or shrinks.

    A bone without length takes the other's direction.
    """
    lengths = [np.linalg.norm(bones, axis=-1, keepdims=True) for bones in (a, b)]
    start = np.where(lengths[0] > SHORT, a, b)
    end = np.where(lengths[1] > SHORT, b, start)
    mix = share[:, None, None]
    way = rotate(exp(mix * log(between(start, end))), start)
    size = np.linalg.norm(way, axis=-1, keepdims=True)
    length = (1.0 - mix) * lengths[0] + mix * lengths[1]
    return np.where(size > SHORT, way * length / np.maximum(size, SHORT), 0.0)
