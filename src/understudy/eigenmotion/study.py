"""A motion studied: its course taken off, and both its eigenmotions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.eigenmotion.chart import Chart, mean_pose
from understudy.eigenmotion.eigenmotion import Eigenmotion, decompose
from understudy.eigenmotion.heading import Course, find_course
from understudy.eigenmotion.marker import marker_paths
from understudy.geometry.quaternion import Array
from understudy.motion import Motion
from understudy.skeleton import Point, Skeleton

IN_STEP = 0.5
"""Correlation from which on two courses count as going the same or the opposite way."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """What is known of one motion before it is compared with another."""

    motion: Motion
    course: Course
    markers: tuple[Point, ...]
    chart: Chart
    """Joint coordinates about the mean pose."""
    joint: Eigenmotion
    """In joint coordinates: coordinations F and execution N."""
    marker: Eigenmotion
    """In marker places: coordinations E and execution M."""

    def part(self, eigenvectors: Sequence[int], *, unit: bool = False) -> Array:
        """(P, 3 L) metres: how each marker moves in some eigenvectors, at the spread of their courses.

        The paper's eigenvectors are of unit length whatever the size of the body and the number of markers; times the
        spread of their courses they say how far markers really move, which is what scales compare. With `unit` they
        are as in the paper's equation 2.
        """
        some = list(eigenvectors)
        vectors = self.marker.vectors[:, some] * (1.0 if unit else self.marker.spread[some])
        return vectors.reshape(len(self.markers), 3 * len(some))

    def in_step_with(self, other: Study) -> Study:
        """The same with components whose signs go with another's, where the two are performed in step.

        An eigenvector's sign is chance; where courses tell it, left stays left.
        """
        count = min(self.marker.num_components, other.marker.num_components)
        flips = np.ones(self.marker.num_components)
        at = np.linspace(0.0, 1.0, 200)
        for i in range(count):
            mine, theirs = (
                np.interp(at, np.linspace(0.0, 1.0, len(c)), c)
                for c in (self.marker.course[:, i], other.marker.course[:, i])
            )
            together = float(np.corrcoef(mine, theirs)[0, 1])
            if together < -IN_STEP:
                flips[i] = -1.0
        return replace(self, marker=self.marker.turned(np.diag(flips)))


def make_study(
    motion: Motion,
    markers: Sequence[Point],
    *,
    what: str,
    like: Motion | None = None,
    components: int | None = None,
    energy: float | None = None,
    without: Sequence[str] = (),
) -> Study:
    """Study a motion.

    Args:
        motion: What a body does.
        markers: Points all over it.
        what: What the motion is called in errors.
        like: An example by the same body, to be headed as it is.
        components: How many components to keep in both spaces, or
        energy: what share of the movement.
        without: Joints that, with all below them, take no part in the components of the joint space.
    """
    course = find_course(motion, like=like)
    level = course.off(motion)
    chart = Chart(skeleton=motion.skeleton, base=mean_pose(level))
    places = marker_paths(level, markers)
    options = {"components": components, "energy": energy, "what": what}
    coordinates = chart.coordinates(level.rotations)
    coordinates[:, np.isin(chart.joint_of, np.flatnonzero(parts(motion.skeleton, without)))] = 0.0
    joint = decompose(coordinates, **options)  # type: ignore[arg-type]
    if energy is not None:
        options |= {"components": joint.num_components, "energy": None}
    marker = decompose(places.reshape(len(places), -1), **options)  # type: ignore[arg-type]
    return Study(motion=motion, course=course, markers=tuple(markers), chart=chart, joint=joint, marker=marker)


def parts(skeleton: Skeleton, names: Sequence[str]) -> np.ndarray:
    """(J,) True for the joints named, those of them that the skeleton has, and all below them."""
    found = np.zeros(skeleton.num_joints, bool)
    for name in names:
        if name in skeleton.index:
            found |= skeleton.below(skeleton.index[name])
    return found
