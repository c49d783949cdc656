"""The seam of a loop: velocities go on smoothly from one round to the next, and planted feet stay planted.

A loop is closed by taking out evenly what its ends differ by. That leaves a change of velocity at the seam, which is
spread over some frames on both sides, and makes planted feet slide. Three rounds of the loop, one where the other ends,
are a motion like any other: the solver holds its plants. The middle round is the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.base.quaternion import (
    Array,
    angle_between,
    conjugate,
    exp,
    from_axis_angle,
    log,
    multiply,
    rotate,
    unrotate,
)
from understudy.base.records import record
from understudy.figure.contacts import Contact, contact_points, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, frame_offsets
from understudy.figure.skeleton import Skeleton

NUM_ROUNDS = 3

MAX_SLIDE_METRES = 5e-4
"""A loop whose planted feet slide by less than this is left as it is."""

MAX_ROUNDS_FRAMES = 20_000
"""Frames of all rounds together up to which plants are solved for."""


MAX_OPEN_RADIANS, MAX_OPEN_METRES = 5e-4, 1e-4
"""How far the last pose of a loop may be from its first: joints, and the height of the root."""

UP = np.array([0.0, 1.0, 0.0])

SEAM_SECONDS = 0.2
"""Seconds on each side of the seam over which a change of velocity is spread."""


@record
class Stride:
    """How a round is placed relative to the one before: turned about the vertical axis through a point, and moved."""

    turn: Array
    """(4,)"""
    start: Array
    """(3,) metres, where a round begins on the floor."""
    end: Array
    """(3,) metres, where it ends."""

    @property
    def angle(self) -> float:
        """Radians of the turn about the vertical."""
        return float(2.0 * np.arctan2(self.turn[2], self.turn[0]))

    def carry(self, points: Array, rounds: int) -> Array:
        """Points (..., 3) some rounds later, or earlier if negative."""
        for _ in range(abs(rounds)):
            if rounds > 0:
                points = rotate(self.turn, points - self.start) + self.end
            else:
                points = unrotate(self.turn, points - self.end) + self.start
        return points

    def move(self, motion: Motion, rounds: int) -> Motion:
        """A motion some rounds later, or earlier if negative."""
        turn = from_axis_angle(UP, rounds * self.angle)
        turned = np.concatenate([multiply(turn, motion.rotations[:, :1]), motion.rotations[:, 1:]], axis=1)
        return motion.derived(root=np.array(self.carry(motion.root, rounds)), rotations=turned)


def find_stride(motion: Motion) -> Stride | None:
    """How a loop follows itself; None for a motion whose last pose is not its first one, turned and moved."""
    first, last = motion.rotations[0], motion.rotations[-1]
    turn = multiply(last[0], conjugate(first[0]))
    angle = 2.0 * np.arctan2(turn[2], turn[0])
    upright = from_axis_angle(UP, angle)
    ends = motion.root[[0, -1]]
    same = (
        motion.num_frames > 2
        and angle_between(upright, turn) < MAX_OPEN_RADIANS
        and angle_between(first[1:], last[1:]).max(initial=0.0) < MAX_OPEN_RADIANS
        and abs(ends[1, 1] - ends[0, 1]) < MAX_OPEN_METRES
    )
    if motion.offsets is not None:
        same = same and np.abs(motion.offsets[-1, 1:] - motion.offsets[0, 1:]).max(initial=0.0) < MAX_OPEN_METRES
    if not same:
        return None
    return Stride(turn=upright, start=ends[0] * (1.0 - UP), end=ends[1] * (1.0 - UP))


def smooth_seam(loop: Motion, stride: Stride) -> Motion:
    """A closed loop whose velocities at the seam change no more than in the frames next to it.

    A loop whose seam is no worse than its inner frames is left as it is.
    """
    seam, inner = seam_jump(loop, stride)
    width = min(round(SEAM_SECONDS * loop.fps), (loop.num_frames - 1) // 2)
    if seam <= inner or width < 2:
        return loop
    # The frames around the seam: three before it, the seam, and three after it.
    near = [stride.move(loop[-4:], 0), stride.move(loop[1:4], 1)]
    root = np.concatenate([part.root for part in near])
    rotations = np.concatenate([part.rotations for part in near])
    steps = np.diff(root, axis=0)
    turns = log(multiply(conjugate(rotations[:-1]), rotations[1:]))
    moved, turned = (_excess(values) for values in (steps, turns))
    shares = _bump(width)
    new_root, new_rotations = loop.root.copy(), loop.rotations.copy()
    # Frames before the seam speed up by half of the change, those after it slow down by the other half.
    new_root[-width - 1 : -1] -= 0.5 * shares[::-1, None] * moved
    new_root[1 : width + 1] -= 0.5 * shares[:, None] * unrotate(stride.turn, moved)
    for frames, order in ((slice(-width - 1, -1), slice(None, None, -1)), (slice(1, width + 1), slice(None))):
        change = exp(-0.5 * shares[order][:, None, None] * turned)
        new_rotations[frames] = multiply(new_rotations[frames], change)
    if loop.offsets is None:
        return loop.derived(root=new_root, rotations=new_rotations)
    new_offsets = loop.offsets.copy()
    stretched = _excess(np.diff(np.concatenate([part.offsets for part in near if part.offsets is not None]), axis=0))
    new_offsets[-width - 1 : -1] -= 0.5 * shares[::-1, None, None] * stretched
    new_offsets[1 : width + 1] -= 0.5 * shares[:, None, None] * stretched
    return loop.derived(root=new_root, rotations=new_rotations, offsets=new_offsets)


def _excess(steps: Array) -> Array:
    """By how much the change of steps (6, ...) at the middle differs from the changes next to it."""
    changes = np.diff(steps, axis=0)
    return np.asarray(changes[2] - 0.5 * (changes[1] + changes[3]))


def _bump(width: int) -> Array:
    """(width,) a smooth curve that is one at the first frame after the seam and zero, with no slope, at the last."""
    distance = np.arange(1, width + 1) / width
    bump = distance * (1.0 - distance) ** 2
    return np.asarray(bump / bump[0])


def seam_jump(loop: Motion, stride: Stride) -> tuple[float, float]:
    """The largest change of a joint's velocity, m/s, between frames at the seam and inside the loop."""
    # The next round begins with the last frame of this one.
    following = fk(stride.move(loop[1:3], 1)).positions
    positions = np.concatenate([fk(loop).positions, following])
    changes = np.linalg.norm(np.diff(positions, n=2, axis=0), axis=-1).max(axis=1) * loop.fps
    inside = loop.num_frames - 2
    return float(changes[inside]), float(changes[:inside].max(initial=0.0))


def hold_plants(loop: Motion, stride: Stride) -> tuple[Motion, list[str]]:
    """A closed loop with its footplants held, and a sentence on how well they hold.

    Args:
        loop: Its last frame is its first, one round later.
        stride: How a round follows the one before.
    """
    period = loop.num_frames - 1
    if NUM_ROUNDS * period > MAX_ROUNDS_FRAMES:
        return loop, []
    rounds = _repeat(loop, stride, period)
    contacts = detect_contacts(rounds, contact_points(rounds))
    inside = [_frames_inside(contact, loop.fps, period) for contact in contacts]
    plants = [plant for plant in inside if plant is not None]
    if not plants:
        return loop, []
    before = _slide(rounds, plants)
    unchanged = [f"planted feet slide by up to {1000 * before:.1f} mm in the loop"]
    if before < MAX_SLIDE_METRES:
        return loop, unchanged
    result = _solve(rounds, loop.skeleton, contacts)
    held = _close(stride.move(result[period + np.arange(period + 1)], -1), stride)
    after = _slide(_repeat(held, stride, period), plants)
    if after >= before:
        return loop, unchanged
    slides = f"they slide by up to {1000 * after:.1f} mm, before by up to {1000 * before:.1f} mm"
    count = "1 footplant is" if len(plants) == 1 else f"{len(plants)} footplants are"
    return held, [f"{count} solved for again, across the seam too: {slides}"]


def _repeat(loop: Motion, stride: Stride, period: int) -> Motion:
    """All rounds as one motion."""
    parts = [stride.move(loop[:period], number) for number in range(NUM_ROUNDS)]
    parts.append(stride.move(loop[:1], NUM_ROUNDS))
    return loop.derived(
        root=np.concatenate([part.root for part in parts]),
        rotations=np.concatenate([part.rotations for part in parts]),
        offsets=None if loop.offsets is None else np.concatenate([frame_offsets(part) for part in parts]),
    )


def _frames_inside(contact: Contact, fps: float, period: int) -> tuple[Contact, np.ndarray] | None:
    """The frames of a contact that begins in the middle round and does not reach the end of all rounds."""
    frames = contact.frames(fps, NUM_ROUNDS * period + 1)
    inside = len(frames) > 1 and period <= frames[0] < 2 * period and frames[-1] < NUM_ROUNDS * period
    return (contact, frames) if inside else None


def _solve(rounds: Motion, skeleton: Skeleton, contacts: Sequence[Contact]) -> Motion:
    """The rounds with their contacts held. Nothing else is changed: the body is the same."""
    from understudy.retarget.driver import retarget
    from understudy.retarget.plan import Options

    options = Options(touch=False, limits=False, floor=False)
    return retarget(rounds, skeleton, contacts=contacts, options=options).motion


def _close(motion: Motion, stride: Stride) -> Motion:
    """A round whose ends differ a little, with that taken out evenly."""
    ahead = stride.move(motion[:1], 1)
    share = np.linspace(-0.5, 0.5, motion.num_frames)
    turned = log(multiply(conjugate(ahead.rotations[0]), motion.rotations[-1]))
    offsets = motion.offsets
    if offsets is not None:
        offsets = offsets - share[:, None, None] * (offsets[-1] - offsets[0])
    return motion.derived(
        root=motion.root - share[:, None] * (motion.root[-1] - ahead.root[0]),
        rotations=multiply(motion.rotations, exp(-share[:, None, None] * turned)),
        offsets=offsets,
    )


def _slide(rounds: Motion, plants: Sequence[tuple[Contact, np.ndarray]]) -> float:
    """Metres that a planted point is at most away, on the floor, from where it landed."""
    pose = fk(rounds)
    paths = [pose.points([contact.point])[frames, 0][:, [0, 2]] for contact, frames in plants]
    return max(float(np.linalg.norm(path - path[0], axis=-1).max()) for path in paths)
