"""Poses made by inverse kinematics: a body takes hold of places with its points [Analogies, sec. 5.4]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, rotate
from understudy.constraints.base import ConstraintInput, PointRef
from understudy.constraints.joint_range import JointRange
from understudy.constraints.place import Place
from understudy.correspondence.limits import joint_limits
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.solve.coordinates import Posture
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.base import Solution
from understudy.solve.solvers.spacetime import Spacetime

LOOSE = 0.02
"""Radians beyond a limit that are not worth a step: the clean-up keeps limits at every frame."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PoseAt:
    """B has a given pose at a frame of the new motion."""

    frame: int
    rotations: Array
    """(J, 4) local rotations; the root's heading does not count."""
    joints: tuple[str, ...] | None = None
    """The joints that are posed; None for all, the root's lean too."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MarkerAt:
    """A point of B is at a given place at a frame of the new motion."""

    frame: int
    point: Point | str
    place: Array
    """(3,) metres from the root: to the side (left is positive), up, and ahead along the heading."""

    def __post_init__(self) -> None:
        place = np.array(self.place, float)
        if place.shape != (3,) or not np.all(np.isfinite(place)):
            raise OptionError(f"A marker at frame {self.frame}: expected a place of three finite numbers, got {place}")
        object.__setattr__(self, "place", place)


@dataclass(frozen=True, eq=False, kw_only=True)
class ConditionResiduals:
    """Residuals of conditions at the frames they are on, and their derivatives by the frame's coordinates."""

    frames: np.ndarray
    """(R,) the row's frame among those in view."""
    values: Array
    """(R,) radians, or unit lengths."""
    one_sided: np.ndarray
    """(R,) True where the value must be at most zero, not zero."""
    columns: np.ndarray
    """(R, C) the coordinates that the row depends on, padded by -1."""
    slopes: Array | None
    """(R, C) its derivatives by them; None if not asked for."""
    size: int
    """How many coordinates there are."""

    def pushing(self, forces: Array) -> Iterator[tuple[int, Array, np.ndarray]]:
        """Frame by frame, the derivatives (N, D) of the rows that push by forces (R,), and which rows (N,) they are."""
        assert self.slopes is not None
        active = np.flatnonzero((forces != 0.0) | ~self.one_sided)
        active = active[np.argsort(self.frames[active], kind="stable")]
        for mine in np.split(active, np.flatnonzero(np.diff(self.frames[active])) + 1):
            if len(mine):
                lever = np.zeros((len(mine), self.size + 1))
                np.put_along_axis(lever, self.columns[mine], self.slopes[mine], axis=1)
                yield int(self.frames[mine[0]]), lever[:, : self.size], mine


@dataclass(frozen=True, eq=False, kw_only=True)
class Conditions:
    """Everything that is asked of single frames, as arrays."""

    size: int
    """How many coordinates there are."""
    unit: float
    """Metres that count as one."""
    poses: tuple[tuple[int, np.ndarray, Array], ...] = ()
    """(frame in view, coordinates (N,) that are posed, their values (N,))."""
    places: tuple[tuple[int, int, Array, Array], ...] = ()
    """(frame in view, joint, offset (3,), place (3,))."""
    limits: tuple[tuple[int, np.ndarray, JointRange], ...] = ()
    """(joint, its coordinates (N,), range)."""
    limited: np.ndarray = field(default_factory=lambda: np.zeros(0, np.intp))
    """(N,) the frames in view at which limits are looked at."""

    def rows(
        self, posture: Posture, *, slopes: bool = True, watched: Sequence[int] | None = None
    ) -> ConditionResiduals:
        """All rows at a posture of the frames in view: poses, places, then limits in the order they are watched.

        Args:
            posture: The body at those frames.
            slopes: Whether derivatives are asked for.
            watched: Which limits are looked at; all if not given.
        """
        parts = [self._pose(posture, *pose) for pose in self.poses]
        parts += [self._place(posture, *place, slopes=slopes) for place in self.places]
        chosen = range(len(self.limits)) if watched is None else watched
        parts += [self._limit(posture, *self.limits[number], slopes=slopes) for number in chosen]
        wide = max((part.columns.shape[1] for part in parts), default=1)
        empty = np.zeros(0, np.intp)
        return ConditionResiduals(
            frames=np.concatenate([empty, *(part.frames for part in parts)]),
            values=np.concatenate([np.zeros(0), *(part.values for part in parts)]),
            one_sided=np.concatenate([np.zeros(0, bool), *(part.one_sided for part in parts)]),
            columns=np.concatenate([np.zeros((0, wide), np.intp), *(_wide(p.columns, wide, -1) for p in parts)]),
            slopes=np.concatenate([np.zeros((0, wide)), *(_wide(p.slopes, wide, 0.0) for p in parts)])
            if slopes
            else None,
            size=self.size,
        )

    def _pose(self, posture: Posture, frame: int, columns: np.ndarray, goal: Array) -> ConditionResiduals:
        off = posture.d[frame, columns] - goal
        return self._part(np.full(len(columns), frame), off, columns[:, None], np.ones((len(columns), 1)))

    def _place(
        self, posture: Posture, frame: int, joint: int, offset: Array, place: Array, *, slopes: bool
    ) -> ConditionResiduals:
        at = posture.positions[frame, joint] + rotate(posture.rotations[frame, joint], offset)
        every = np.tile(np.arange(self.size), (3, 1))
        by = np.zeros((3, 0))
        if slopes:
            every_frame = posture.points(np.array([joint]), offset[None])
            by = posture.point_jacobian(np.array([joint]), every_frame)[frame, 0] / self.unit
        return self._part(np.full(3, frame), (at - place) / self.unit, every, by)

    def _limit(
        self, posture: Posture, joint: int, columns: np.ndarray, limit: JointRange, *, slopes: bool
    ) -> ConditionResiduals:
        frames = self.limited
        turns = posture.local[frames, joint][:, None]
        found = limit.rows(
            ConstraintInput(times=frames.astype(float), points=np.empty((len(frames), 0, 3)), local_rotations=turns)
        )
        count = found.values.shape[1]
        by = np.zeros((len(frames), count, len(columns)))
        if slopes and found.d_rotations is not None:
            by = np.einsum("frx,fcx->frc", found.d_rotations[:, :, 0], posture.local_axes[frames[:, None], columns])
        places = np.tile(columns, (len(frames) * count, 1))
        frames = np.repeat(frames, count)
        return self._part(frames, found.values.ravel(), places, by.reshape(len(frames), -1), one_sided=True)

    def broken(self, posture: Posture) -> list[int]:
        """The limits that are broken at any of their frames."""
        worst = [self._limit(posture, *limit, slopes=False).values.max(initial=-1.0) for limit in self.limits]
        return [number for number, off in enumerate(worst) if off > LOOSE]

    def _part(
        self, frames: np.ndarray, values: Array, columns: np.ndarray, slopes: Array, *, one_sided: bool = False
    ) -> ConditionResiduals:
        sided = np.full(len(values), one_sided)
        return ConditionResiduals(
            frames=frames, values=values, one_sided=sided, columns=columns, slopes=slopes, size=self.size
        )


def _wide(rows: Array | np.ndarray | None, width: int, fill: float) -> np.ndarray:
    """Rows (R, C) padded to a width."""
    assert rows is not None
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=fill)


def reach(
    skeleton: Skeleton,
    goals: Mapping[str, Array],
    *,
    start: Array | None = None,
    root: Array | None = None,
    keep: tuple[str, ...] = (),
    limits: bool = True,
) -> Solution:
    """A pose in which points of a body are at given places, as near as can be to another pose.

    Args:
        skeleton: The body.
        goals: (3,) metres, world, by the names of joints or ends.
        start: (J, 4) local rotations of the pose to stay near; the rest pose if not given.
        root: (3,) metres, where the root is; as in the rest pose if not given. It does not move.
        keep: Joints that stay as they are, by name.
        limits: Keep joints inside their limits.

    Returns:
        A solution whose motion holds the pose in its only frame; it says which places were not reached.
    """
    motion = Motion(
        skeleton=skeleton,
        fps=30.0,
        root=np.array([skeleton.offsets[0] if root is None else root], float),
        rotations=np.array([skeleton.rest if start is None else start], float),
    )
    kept = {skeleton.names[skeleton.joint(name)] for name in keep}
    moving = tuple(name for name in skeleton.names if name not in kept)
    places = [Place(spot=PointRef(point=name), target=np.asarray(at, float), name=name) for name, at in goals.items()]
    felt = {above for place in places for above in _above(skeleton, str(place.point_refs()[0].point))}
    ranges = joint_limits(motion, only=felt & set(moving))[0] if limits else []
    actor = Actor(motion=motion, joints=moving, root_moves=False)
    return Spacetime().solve(Problem(actors=(actor,), constraints=(*places, *ranges)))


def _above(skeleton: Skeleton, name: str) -> set[str]:
    return {skeleton.names[j] for j in skeleton.chain(skeleton.joint(skeleton.point(name).joint))}
