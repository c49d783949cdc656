"""Conditions on single frames: poses, positions and joint limits; and inverse kinematics [Analogies, sec. 5.4]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, rotate
from understudy.base.records import record
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

LIMIT_SLACK_RADIANS = 0.02
"""Tolerated violation of a limit: the clean-up enforces limits at every frame."""


@record
class PoseAt:
    """B has a given pose at a frame of the new motion."""

    frame: int
    rotations: Array
    """(J, 4) local rotations; the root's heading is ignored."""
    joints: tuple[str, ...] | None = None
    """The joints that are posed; None for all, including the root's lean."""


@record
class MarkerAt:
    """A point of B is at a given position at a frame of the new motion."""

    frame: int
    point: Point | str
    place: Array
    """(3,) metres from the root: to the side (left is positive), up, and ahead along the heading."""

    def __post_init__(self) -> None:
        place = np.array(self.place, float)
        if place.shape != (3,) or not np.all(np.isfinite(place)):
            raise OptionError(f"A marker at frame {self.frame}: expected a place of three finite numbers, got {place}")
        object.__setattr__(self, "place", place)


@record
class ConditionResiduals:
    """Residuals of conditions, and their derivatives by the coordinates of their frame."""

    frames: np.ndarray
    """(R,) the row's frame, an index into the sampled frames."""
    values: Array
    """(R,) radians or unit lengths."""
    one_sided: np.ndarray
    """(R,) True if the value must be at most zero, False if it must be zero."""
    columns: np.ndarray
    """(R, C) the coordinates that the row depends on, padded by -1."""
    slopes: Array | None
    """(R, C) derivatives by these coordinates; None if not requested."""
    size: int
    """Number of coordinates."""

    def active_jacobians(self, multipliers: Array) -> Iterator[tuple[int, Array, np.ndarray]]:
        """By frame: its index, the Jacobian (N, D) of the rows active at multipliers (R,), and those rows (N,)."""
        assert self.slopes is not None
        active = np.flatnonzero((multipliers != 0.0) | ~self.one_sided)
        active = active[np.argsort(self.frames[active], kind="stable")]
        for rows in np.split(active, np.flatnonzero(np.diff(self.frames[active])) + 1):
            if len(rows):
                jacobian = np.zeros((len(rows), self.size + 1))
                np.put_along_axis(jacobian, self.columns[rows], self.slopes[rows], axis=1)
                yield int(self.frames[rows[0]]), jacobian[:, : self.size], rows


@record
class Conditions:
    """All conditions on single frames, as arrays. Frames are indices into the sampled frames."""

    size: int
    """Number of coordinates."""
    unit: float
    """Unit length, metres."""
    poses: tuple[tuple[int, np.ndarray, Array], ...] = ()
    """(frame, coordinates (N,) that are posed, their values (N,))."""
    places: tuple[tuple[int, int, Array, Array], ...] = ()
    """(frame, joint, offset (3,), position (3,))."""
    limits: tuple[tuple[int, np.ndarray, JointRange], ...] = ()
    """(joint, its coordinates (N,), range)."""
    limited: np.ndarray = field(default_factory=lambda: np.zeros(0, np.intp))
    """(N,) the frames at which limits are checked."""

    def rows(
        self, posture: Posture, *, slopes: bool = True, watched: Sequence[int] | None = None
    ) -> ConditionResiduals:
        """Residuals at the sampled frames: poses, places, then limits in the order of `watched`.

        Args:
            posture: The body at those frames.
            slopes: Whether to compute derivatives.
            watched: Indices of the limits to include; all if not given.
        """
        parts = [self._pose(posture, *pose) for pose in self.poses]
        parts += [self._place(posture, *place, slopes=slopes) for place in self.places]
        chosen = range(len(self.limits)) if watched is None else watched
        parts += [self._limit(posture, *self.limits[number], slopes=slopes) for number in chosen]
        pad = max((part.columns.shape[1] for part in parts), default=1)
        empty = np.zeros(0, np.intp)
        return ConditionResiduals(
            frames=np.concatenate([empty, *(part.frames for part in parts)]),
            values=np.concatenate([np.zeros(0), *(part.values for part in parts)]),
            one_sided=np.concatenate([np.zeros(0, bool), *(part.one_sided for part in parts)]),
            columns=np.concatenate([np.zeros((0, pad), np.intp), *(_pad_columns(p.columns, pad, -1) for p in parts)]),
            slopes=np.concatenate([np.zeros((0, pad)), *(_pad_columns(p.slopes, pad, 0.0) for p in parts)])
            if slopes
            else None,
            size=self.size,
        )

    def _pose(self, posture: Posture, frame: int, columns: np.ndarray, goal: Array) -> ConditionResiduals:
        errors = posture.displacement[frame, columns] - goal
        return self._part(np.full(len(columns), frame), errors, columns[:, None], np.ones((len(columns), 1)))

    def _place(
        self, posture: Posture, frame: int, joint: int, offset: Array, place: Array, *, slopes: bool
    ) -> ConditionResiduals:
        position = posture.positions[frame, joint] + rotate(posture.rotations[frame, joint], offset)
        columns = np.tile(np.arange(self.size), (3, 1))
        jacobian = np.zeros((3, 0))
        if slopes:
            positions = posture.points(np.array([joint]), offset[None])
            jacobian = posture.point_jacobian(np.array([joint]), positions)[frame, 0] / self.unit
        return self._part(np.full(3, frame), (position - place) / self.unit, columns, jacobian)

    def _limit(
        self, posture: Posture, joint: int, columns: np.ndarray, limit: JointRange, *, slopes: bool
    ) -> ConditionResiduals:
        frames = self.limited
        rotations = posture.local[frames, joint][:, None]
        residuals = limit.rows(
            ConstraintInput(times=frames.astype(float), points=np.empty((len(frames), 0, 3)), local_rotations=rotations)
        )
        count = residuals.values.shape[1]
        slope_rows = np.zeros((len(frames), count, len(columns)))
        if slopes and residuals.d_rotations is not None:
            axes = posture.local_axes[frames[:, None], columns]
            slope_rows = np.einsum("frx,fcx->frc", residuals.d_rotations[:, :, 0], axes)
        indices = np.tile(columns, (len(frames) * count, 1))
        frames = np.repeat(frames, count)
        return self._part(
            frames, residuals.values.ravel(), indices, slope_rows.reshape(len(frames), -1), one_sided=True
        )

    def violated_limits(self, posture: Posture) -> list[int]:
        """Indices of the limits that are violated at any of their frames."""
        worst = [self._limit(posture, *limit, slopes=False).values.max(initial=-1.0) for limit in self.limits]
        return [number for number, violation in enumerate(worst) if violation > LIMIT_SLACK_RADIANS]

    def _part(
        self, frames: np.ndarray, values: Array, columns: np.ndarray, slopes: Array, *, one_sided: bool = False
    ) -> ConditionResiduals:
        sides = np.full(len(values), one_sided)
        return ConditionResiduals(
            frames=frames, values=values, one_sided=sides, columns=columns, slopes=slopes, size=self.size
        )


def _pad_columns(rows: Array | np.ndarray | None, width: int, fill: float) -> np.ndarray:
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
    """Find the pose nearest to another in which points of a body are at given positions.

    Args:
        skeleton: The body.
        goals: (3,) metres, world, by the names of joints or ends.
        start: (J, 4) local rotations of the pose to stay near; the rest pose if not given.
        root: (3,) metres, where the root is; as in the rest pose if not given. It does not move.
        keep: Names of joints that do not move.
        limits: Whether to keep joints inside their limits.

    Returns:
        A solution whose motion has the pose as its only frame; it reports positions that were not reached.
    """
    motion = Motion(
        skeleton=skeleton,
        fps=30.0,
        root=np.array([skeleton.offsets[0] if root is None else root], float),
        rotations=np.array([skeleton.rest if start is None else start], float),
    )
    fixed = {skeleton.names[skeleton.joint(name)] for name in keep}
    moving = tuple(name for name in skeleton.names if name not in fixed)
    places = [Place(point=PointRef(point=name), target=np.asarray(at, float), name=name) for name, at in goals.items()]
    involved = {above for place in places for above in _chain_names(skeleton, str(place.point_refs()[0].point))}
    ranges = joint_limits(motion, only=involved & set(moving))[0] if limits else []
    actor = Actor(motion=motion, joints=moving, root_moves=False)
    return Spacetime().solve(Problem(actors=(actor,), constraints=(*places, *ranges)))


def _chain_names(skeleton: Skeleton, name: str) -> set[str]:
    return {skeleton.names[j] for j in skeleton.chain(skeleton.joint(skeleton.point(name).joint))}
