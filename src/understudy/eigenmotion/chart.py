"""Charts: joint coordinates of a body, counted from a pose of its own, and back.

A ball joint is told by the rotation vector from where the base pose has it, a hinge or universal joint by its angles.
Rotation vectors are continuous and nearly linear as long as a joint stays within half a turn of the base, so the
base is the mean pose; where one goes farther the vector is followed past half a turn, not folded back. Euler angles
would jump and couple near their poles, and quaternions would need constraints to stay of unit length.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from understudy.angles import joint_angle_curves, joint_angles, joint_rotations
from understudy.coordinates import Body, Posture
from understudy.geometry.quaternion import Array, conjugate, log, mean, multiply
from understudy.motion import Motion
from understudy.skeleton import NUM_AXES, Skeleton


@dataclass(frozen=True, eq=False, kw_only=True)
class Chart:
    """Joint coordinates of a body about a base pose. The root turns and stays at the origin."""

    skeleton: Skeleton
    base: Array
    """(J, 4) local rotations of the base pose."""
    _bodies: dict[int, Body] = field(default_factory=dict, repr=False)

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return self.body(1).num_coordinates

    @property
    def joint_of(self) -> np.ndarray:
        """(D,) the joint that each coordinate turns."""
        return self.body(1).joint_of

    def body(self, frames: int) -> Body:
        """The body held in the base pose for some frames, to be displaced by coordinates."""
        if frames not in self._bodies:
            held = Motion(
                skeleton=self.skeleton,
                fps=30.0,
                root=np.zeros((frames, 3)),
                rotations=np.tile(self.base, (frames, 1, 1)),
            )
            self._bodies[frames] = Body(motion=held, root_moves=False)
        return self._bodies[frames]

    def posture(self, q: Array) -> Posture:
        """The body at coordinates q (F, D), with the derivatives of everything on it."""
        return self.body(len(q)).displaced(q)

    def rotations(self, q: Array) -> Array:
        """(F, J, 4) local rotations at coordinates q (F, D)."""
        return self.body(len(q)).moved(q)[1]

    def coordinates(self, rotations: Array) -> Array:
        """(F, D) the coordinates of local rotations (F, J, 4), continuous over the frames."""
        body = self.body(1)
        angles = joint_angle_curves(self.skeleton, rotations, joint_angles(self.skeleton, self.base))
        angles = angles - joint_angles(self.skeleton, self.base)
        vectors = followed(log(multiply(conjugate(self.base), rotations)))
        out = np.empty((len(rotations), body.num_coordinates))
        column = 0
        for joint in body.joints or ():
            count = NUM_AXES[self.skeleton.kinds[joint]]
            out[:, column : column + count] = (vectors if count == 3 else angles)[:, joint, :count]
            column += count
        return out


def followed(vectors: Array) -> Array:
    """Rotation vectors (F, ..., 3) followed over the frames: past half a turn they go on instead of turning over."""
    out = vectors.copy()
    size = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if float(size.max(initial=0.0)) < 0.5 * np.pi:
        return out
    full = 2.0 * np.pi * vectors / np.where(size > 1e-9, size, 1.0)
    for frame in range(1, len(out)):
        # The same rotation turned on by whole turns about its axis: take the nearest to the frame before.
        turns = np.arange(-2, 3)[:, None] if out.ndim == 2 else np.arange(-2, 3).reshape(-1, *(1,) * (out.ndim - 1))
        choices = vectors[frame] + turns * full[frame]
        best = np.argmin(np.linalg.norm(choices - out[frame - 1], axis=-1), axis=0)
        out[frame] = np.take_along_axis(choices, best[None, ..., None], 0)[0]
    return out


def mean_pose(motion: Motion) -> Array:
    """(J, 4) the mean of a motion's local rotations, such as its joints can take."""
    middle = mean(motion.rotations)
    few = [j for j, kind in enumerate(motion.skeleton.kinds) if NUM_AXES[kind] < 3]
    if few:
        curves = joint_angle_curves(motion.skeleton, motion.rotations)
        middle[few] = joint_rotations(motion.skeleton, curves.mean(axis=0))[few]
    return middle
