"""A character's movement: a root path and local rotations, frame by frame in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import MotionError, OptionError, SkeletonError
from understudy.base.quaternion import Array, continuous, normalize, slerp
from understudy.base.records import cached, read_only, record, set_fields, unchecked
from understudy.figure.skeleton import Skeleton

MAX_SAMPLED_FRAMES = 100
"""Frames sampled to see which joints a motion moves."""

MAX_STILL_RADIANS = 1e-6
"""Rotation of a joint over its motion, in radians, below which it counts as a fixed part of the build."""


@record
class Motion:
    """The movement of a skeleton over time. Frame f is at time f / fps."""

    skeleton: Skeleton
    fps: float
    root: Array
    """(F, 3) metres, world: position of the root joint."""
    rotations: Array
    """(F, J, 4) local rotations, from each joint's frame to its parent's."""
    offsets: Array | None = None
    """(F, J, 3) metres, in place of the skeleton's offsets, for bodies that change size; the root's are not used."""
    name: str = ""

    def __repr__(self) -> str:
        joints = self.skeleton.num_joints
        return f"<Motion {self.name or 'unnamed'}: {self.num_frames} frames at {self.fps:g} fps, {joints} joints>"

    def _repr_html_(self) -> str:
        from understudy.figure.sketch import captioned

        return captioned(self, repr(self))

    def __post_init__(self) -> None:
        joints = self.skeleton.num_joints
        fps = _rate(self.fps)
        try:
            rotations = read_only(self.rotations, (-1, joints, 4), "Motion rotations")
            frames = len(rotations)
            root = read_only(self.root, (frames, 3), "Motion root path")
            offsets = self.offsets
            if offsets is not None:
                offsets = read_only(offsets, (frames, joints, 3), "Motion offsets")
        except SkeletonError as error:
            raise MotionError(error.message) from None
        if frames == 0:
            raise MotionError("A motion needs at least one frame; got none")
        worst = float(np.max(np.abs(np.einsum("fji,fji->fj", rotations, rotations) - 1.0)))
        if worst > 1e-3:
            raise MotionError(f"Motion rotations must be unit quaternions; one is off by {0.5 * worst:.2g}")
        if worst > 1e-9:
            rotations = normalize(rotations)
            rotations.setflags(write=False)
        set_fields(self, fps=fps, rotations=rotations, root=root, offsets=offsets)

    @property
    def num_frames(self) -> int:
        return len(self.root)

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return (self.num_frames - 1) / self.fps

    @cached
    def times(self) -> Array:
        """(F,) seconds of each frame, from 0."""
        times = np.arange(self.num_frames) / self.fps
        times.setflags(write=False)
        return times

    @cached
    def still_joints(self) -> frozenset[int]:
        """Joints except the root that do not rotate while others do: they are fixed parts of the build."""
        some = self.rotations[:: max(self.num_frames // MAX_SAMPLED_FRAMES, 1), 1:]
        same_way = np.copysign(1.0, np.einsum("fji,ji->fj", some, some[0]))[..., None]
        # The difference of two unit quaternions is about half the angle between them, if that is small.
        # The maximum over frames comes first, because numpy is slower over two axes at once.
        turned = 2.0 * np.abs(same_way * some - some[0]).max(axis=0).max(axis=-1)
        still = frozenset((np.flatnonzero(turned < MAX_STILL_RADIANS) + 1).tolist())
        return still if len(still) < self.skeleton.num_joints - 1 else frozenset()

    def __len__(self) -> int:
        return self.num_frames

    def __getitem__(self, frames: slice | Sequence[int] | np.ndarray) -> Motion:
        """Some of the frames, as numpy slices; a step divides the frame rate."""
        if not isinstance(frames, slice):
            return self._taken(np.asarray(frames), self.fps)
        step = frames.step or 1
        if step < 1:
            raise OptionError(f"Expected a step of at least 1, got {step}")
        taken = np.arange(self.num_frames)[frames]
        if len(taken) == 0:
            raise MotionError(f"No frame in [{frames.start}:{frames.stop}]; the motion has {self.num_frames}")
        return self._taken(taken, self.fps / step)

    def _taken(self, frames: np.ndarray, fps: float) -> Motion:
        if len(frames) == 0:
            raise MotionError("A motion needs at least one frame; got none")
        offsets = None if self.offsets is None else self.offsets[frames]
        return self.derived(fps=_rate(fps), root=self.root[frames], rotations=self.rotations[frames], offsets=offsets)

    def derived(self, **parts: Any) -> Motion:
        """Like `dataclasses.replace`, without checks or copies: the new parts come from checked ones."""
        for part in parts.values():
            if isinstance(part, np.ndarray):
                part.setflags(write=False)
        caches = () if "rotations" in parts else ("still_joints",)
        return unchecked(self, (*PARTS, *caches), **parts)

    def resampled(self, fps: float, *, method: str = "cubic") -> Motion:
        """The same movement at another frame rate, first frame kept.

        Args:
            fps: The new rate.
            method: "cubic" (a smooth curve through the frames, exact to fourth order in the frame time) or
                "linear" (straight lines and slerp between them).
        """
        if not (np.isfinite(fps) and fps > 0.0):
            raise OptionError(f"Expected frames per second above zero, got {fps}")
        count = int(np.floor(self.duration * fps * (1.0 + 1e-9) + 1e-6)) + 1
        return self.at(np.arange(count) / fps, fps=fps, method=method)

    def at(self, times: ArrayLike, *, fps: float, method: str = "cubic") -> Motion:
        """The movement at times (N,), seconds, as the frames of a motion with the rate `fps`."""
        if method not in ("cubic", "linear"):
            raise OptionError(f"Expected method `cubic` or `linear`, got `{method}`")
        frames = np.clip(np.asarray(times, float) * self.fps, 0.0, self.num_frames - 1.0)
        whole = np.rint(frames)
        if np.all(np.abs(frames - whole) < 1e-6):
            return self._taken(whole.astype(int), fps)
        linear = method == "linear" or self.num_frames < 4
        turn = _slerp_frames if linear else _spline_rotations
        move = _lerp_frames if linear else _spline
        return replace(
            self,
            fps=fps,
            root=move(self.root, frames),
            rotations=turn(self.rotations, frames),
            offsets=None if self.offsets is None else move(self.offsets, frames),
        )


def _rate(fps: float) -> float:
    """The rate as a float, or an error if it is not above zero."""
    if not (np.isfinite(fps) and fps > 0.0):
        raise MotionError(f"Expected frames per second above zero, got {fps}")
    return float(fps)


PARTS = tuple(field.name for field in fields(Motion))


def rest_motion(skeleton: Skeleton, *, fps: float = 30.0, num_frames: int = 1) -> Motion:
    """The rest pose, held for some frames."""
    return Motion(
        skeleton=skeleton,
        fps=fps,
        root=np.tile(skeleton.offsets[0], (num_frames, 1)),
        rotations=np.tile(skeleton.rest, (num_frames, 1, 1)),
        name=skeleton.name,
    )


def join(first: Motion, second: Motion) -> Motion:
    """Concatenate the frames of two motions, unchanged.

    Both must have the same structure (names and tree) and frame rate. If the bone lengths differ, or one of them has
    offsets per frame, the result has offsets per frame.
    """
    a, b = first.skeleton, second.skeleton
    if a.names != b.names or not np.array_equal(a.parents, b.parents):
        only = sorted(set(a.names) ^ set(b.names))[:3]
        raise MotionError(
            f"Only motions of one skeleton structure can be joined; these differ in {only or 'their tree'}"
        )
    if abs(first.fps - second.fps) > 1e-6 * first.fps:
        raise MotionError(
            f"Motions to join must have one rate; got {first.fps:g} and {second.fps:g} frames per second",
            hint="resample one of them: motion.resampled(fps)",
        )
    offsets = None
    if first.offsets is not None or second.offsets is not None or not np.allclose(a.offsets, b.offsets, atol=1e-12):
        offsets = np.concatenate([frame_offsets(first), frame_offsets(second)])
    return replace(
        first,
        root=np.concatenate([first.root, second.root]),
        rotations=np.concatenate([first.rotations, second.rotations]),
        offsets=offsets,
    )


def frame_offsets(motion: Motion) -> Array:
    """(F, J, 3) the joint offsets at each frame."""
    if motion.offsets is not None:
        return motion.offsets
    return np.broadcast_to(motion.skeleton.offsets, (motion.num_frames, *motion.skeleton.offsets.shape))


def _parts(frames: Array, count: int) -> tuple[np.ndarray, Array]:
    first = np.clip(np.floor(frames).astype(int), 0, max(count - 2, 0))
    return first, frames - first


def _lerp_frames(values: Array, frames: Array) -> Array:
    first, share = _parts(frames, len(values))
    share = share.reshape((-1,) + (1,) * (values.ndim - 1))
    return (1.0 - share) * values[first] + share * values[np.minimum(first + 1, len(values) - 1)]


def _slerp_frames(rotations: Array, frames: Array) -> Array:
    first, share = _parts(frames, len(rotations))
    return slerp(rotations[first], rotations[np.minimum(first + 1, len(rotations) - 1)], share[:, None])


def _spline(values: Array, frames: Array) -> Array:
    from scipy.interpolate import CubicSpline

    return CubicSpline(np.arange(len(values)), values, axis=0)(frames)


def _spline_rotations(rotations: Array, frames: Array) -> Array:
    """A cubic spline of the quaternions' components, normalized.

    It has two continuous derivatives, more than squad, and is of fourth order. Like every interpolation it needs
    neighbouring frames less than a half turn apart.
    """
    return normalize(_spline(continuous(rotations), frames))
