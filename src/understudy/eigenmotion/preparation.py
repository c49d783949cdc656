"""Before an analogy is solved: everything checked and studied; then attempts, with other choices where one fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.body import is_humanoid, leg_length
from understudy.contacts import contact_points
from understudy.eigenmotion.attempt import AnalogyError, Attempt, Brief, attempt, covered, find_matches
from understudy.eigenmotion.chart import Chart
from understudy.eigenmotion.checking import checked_body, chosen_markers
from understudy.eigenmotion.conditions import MarkerAt, PoseAt
from understudy.eigenmotion.heading import find_course
from understudy.eigenmotion.matching import THRESHOLDS, Match
from understudy.eigenmotion.pairs import MarkerPair, pair_matches
from understudy.eigenmotion.rhythm import likeness
from understudy.eigenmotion.settings import Settings
from understudy.eigenmotion.stepping import rises
from understudy.eigenmotion.study import Study, make_study
from understudy.errors import MotionError, OptionError
from understudy.geometry.quaternion import Array
from understudy.kinematics import locate
from understudy.limits import joint_limits
from understudy.motion import Motion, rest_motion
from understudy.records import remembered
from understudy.skeleton import Point, Skeleton

FLOOR = 0.01
"""Squared leg lengths per squared radian that any change of a joint counts as at least."""
GOOD = 0.6
"""Score from which on nothing else is tried."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Preparation:
    """What is known before anything is solved."""

    a: Study | None
    """A's example; None where pairs are given."""
    b: Study | None
    """B's example, if there is one."""
    a_example: Motion | None
    a_new: Motion
    body: Skeleton
    """B."""
    chart: Chart
    """B's joint coordinates."""
    mean: Array | None
    """(J, 4) the mean pose given, headed along +Z."""
    pairs: tuple[MarkerPair, ...]
    a_markers: tuple[Point, ...]
    b_markers: tuple[Point, ...]
    settings: Settings
    components: int

    @remembered
    def likeness(self) -> float | None:
        """How alike the two examples are performed; None without them."""
        if self.a is None or self.b is None:
            return None
        fps = (self.a.motion.fps, self.b.motion.fps)
        return likeness(self.a.marker.course[:, 0], self.b.marker.course[:, 0], fps)

    @remembered
    def points(self) -> tuple[Point, ...]:
        """What B stands on; animals walk on their toes, so that heels made up for rigs without one are left out."""
        found = contact_points(self._standing)
        if is_humanoid(self.body):
            return found
        known = {*self.body.names, *(end.name for end in self.body.ends)}
        return tuple(point for point in found if point.name in known) or found

    @remembered
    def rises(self) -> dict[str, float]:
        """Metres above the ground at which B's points stand, by name."""
        return rises(self._standing, self.points)

    @property
    def _standing(self) -> Motion:
        """A motion that shows how B stands: its example, or its rest pose."""
        return rest_motion(self.body) if self.b is None else self.b.motion

    def level_pose(self, rotations: Array) -> Array:
        """A pose (J, 4) of B headed along +Z, as its example is."""
        return _level(self.body, rotations, None if self.b is None else self.b.motion)

    def study_new(self, components: int) -> Study:
        """A's new motion in some components."""
        return make_study(
            self.a_new,
            self.a_markers,
            what="A's new motion",
            like=self.a_example,
            components=components,
            without=self.settings.without,
        )

    def attempts(self, poses: Sequence[PoseAt], places: Sequence[MarkerAt]) -> list[Attempt]:
        """Attempts, the first with the choices asked for; others follow only where the score stays low."""
        tried: list[Attempt] = []
        failed: AnalogyError | None = None
        for threshold, components in self._choices():
            try:
                tried.append(self._attempt(threshold, components, poses, places))
            except AnalogyError as error:
                failed = failed or error
                continue
            except MotionError:
                # Another number of components than asked for may be more than the examples hold.
                if components == self.components:
                    raise
                continue
            if tried[-1].score >= GOOD or not self.settings.retries:
                break
        if not tried:
            assert failed is not None
            raise failed
        return tried

    def _choices(self) -> Iterator[tuple[float | None, int]]:
        """Thresholds and numbers of components, in the order they are tried."""
        wanted, count = self.settings.threshold, self.components
        yield wanted, count
        if self.settings.retries:
            thresholds = [None] if self.pairs else [t for t in THRESHOLDS if t != wanted]
            others = [c for c in (count + 3, count - 2) if c >= 1]
            yield from ((threshold, count) for threshold in thresholds if threshold is not None)
            yield from ((wanted, components) for components in others)

    def _attempt(
        self, threshold: float | None, components: int, poses: Sequence[PoseAt], places: Sequence[MarkerAt]
    ) -> Attempt:
        chosen = self.settings
        new = self.study_new(components)
        b = self.b if self.b is None else self._studied(self.b, components)
        matches, used = self._matches(b, new, threshold)
        start, near = self._start(b, components)
        by_itself = b is not None and len(poses) <= 1
        return attempt(
            Brief(
                chart=self.chart,
                markers=self.b_markers,
                new=new,
                matches=tuple(matches),
                threshold=used,
                coverage=1.0 if b is None or self.pairs else covered(b, matches),
                start=start,
                near=near,
                metric=self.metric,
                pull=chosen.pull,
                means=self._means(new, b, poses),
                mean_weight=chosen.mean_weight,
                orthonormal=by_itself if chosen.orthonormal is None else chosen.orthonormal,
                poses=tuple(poses),
                places=tuple(places),
                limits=tuple(joint_limits(self._standing)[0]) if chosen.limits else (),
                aligned=chosen.aligned and b is not None,
            )
        )

    def _matches(self, b: Study | None, new: Study, threshold: float | None) -> tuple[list[Match], float | None]:
        """Which markers of B go with which of A, and the threshold used: the pairs given, or found."""
        chosen = self.settings
        if self.pairs:
            return pair_matches(self.pairs, self.b_markers, self.a_markers), None
        assert self.a is not None
        assert b is not None
        a = self._studied(self.a, new.joint.num_components)
        return find_matches(
            a,
            b.in_step_with(a),
            new,
            eigenvectors=chosen.eigenvectors,
            together=chosen.together,
            threshold=threshold,
            similar=chosen.similar,
            like_size=chosen.like_size,
            refine=chosen.refine,
            unit_scales=chosen.unit_scales,
        )

    def _means(self, new: Study, b: Study | None, poses: Sequence[PoseAt]) -> tuple[Array, Array] | None:
        """Mean places of B's markers, and how A's are shifted from its example to its new motion.

        None where a pose says already how B is to stand.
        """
        posed = self.mean is not None or any(pose.joints is None for pose in poses)
        if self.a is None or b is None or posed or self.settings.mean_weight == 0.0:
            return None
        return b.marker.mean, new.marker.mean - self.a.marker.mean

    @remembered
    def metric(self) -> Array:
        """(D, D) diagonal: mean square movement of all markers, in squared leg lengths, for a change of one coordinate.

        Coordinates are counted one by one: a turn of the root undone by the hips and the spine moves hardly a marker,
        and should still be dear.
        """
        posture = self.chart.posture(np.zeros((1, self.chart.size)))
        joints, offsets = locate(self.body, self.b_markers)
        by = posture.point_jacobian(joints, posture.points(joints, offsets))[0].reshape(-1, self.chart.size)
        return np.diag(np.einsum("rd,rd->d", by, by) / len(joints) / leg_length(self.body) ** 2 + FLOOR)

    def _studied(self, study: Study, components: int) -> Study:
        if study.joint.num_components == components:
            return study
        return make_study(study.motion, study.markers, what="an example", components=components)

    def _start(self, b: Study | None, components: int) -> tuple[Array, Array | None]:
        """(1 + K, D) where to start from, and what to stay near [Analogies, sec. 5.3 and 5.4]."""
        mean = np.zeros(self.chart.size) if self.mean is None else self.chart.coordinates(self.mean[None])[0]
        if b is not None:
            mean = b.joint.mean if self.mean is None else mean
            return np.concatenate([mean[None], b.joint.vectors.T]), None
        # Without an example no coordination is known: the paper's diagonal, which nothing should stay near to.
        basis = np.eye(components, self.chart.size)
        return np.concatenate([mean[None], basis]), np.concatenate([mean[None], np.zeros_like(basis)])


def prepare(
    a_example: Motion | None,
    b_example: Motion | None,
    a_new: Motion,
    *,
    target: Skeleton | None,
    pairs: Sequence[MarkerPair],
    mean_pose: Array | None,
    markers: tuple[Sequence[Point], Sequence[Point]],
    settings: Settings,
) -> Preparation:
    """Check what is given and study the motions; arguments as of `understudy.analogy`."""
    body = checked_body(a_example, b_example, a_new, target, pairs, settings)
    a_markers, b_markers = chosen_markers(a_new.skeleton, body, pairs, markers, settings)
    new = make_study(
        a_new,
        a_markers,
        what="A's new motion",
        like=a_example,
        components=settings.components,
        energy=settings.energy,
        without=settings.without,
    )
    count = new.joint.num_components
    a = b = None
    if a_example is not None and not pairs:
        a = make_study(a_example, a_markers, what="A's example", components=count)
    if b_example is not None:
        b = make_study(b_example, b_markers, what="B's example", components=count)
    mean = None if mean_pose is None else _level(body, np.asarray(mean_pose, float), b_example)
    base = _level(body, body.rest, None) if mean is None else mean
    return Preparation(
        a=a,
        b=b,
        a_example=a_example,
        a_new=a_new,
        body=body,
        chart=Chart(skeleton=body, base=base) if b is None else b.chart,
        mean=mean,
        pairs=tuple(pairs),
        a_markers=a_markers,
        b_markers=b_markers,
        settings=settings,
        components=count,
    )


def _level(body: Skeleton, rotations: Array, like: Motion | None) -> Array:
    """A pose (J, 4) turned about the vertical so that it faces as an example does, or along +Z."""
    if rotations.shape != (body.num_joints, 4):
        raise OptionError(f"Expected a pose of {body.num_joints} rotations, got shape {rotations.shape}")
    still = Motion(skeleton=body, fps=30.0, root=np.zeros((1, 3)), rotations=rotations[None])
    return find_course(still, like=like).off(still).rotations[0]
