"""Before an analogy is solved: everything checked and studied; then attempts, with other choices where one fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.analogy.attempt import AnalogyError, Attempt, Brief, attempt, covered, find_matches
from understudy.analogy.conditions import MarkerAt, PoseAt
from understudy.analogy.matching import (
    LIKE_SIZE,
    SIMILAR,
    THRESHOLDS,
    MarkerMatch,
    MarkerPair,
    pair_matches,
    with_named,
)
from understudy.analogy.solving import PULL
from understudy.analogy.stepping import rises
from understudy.analogy.study import JointChart, Study, find_course, likeness, make_study, parts, spread_markers
from understudy.base.errors import MotionError, OptionError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array, angle_between
from understudy.base.records import cached
from understudy.correspondence.limits import joint_limits
from understudy.figure.contacts import contact_points
from understudy.figure.kinematics import locate
from understudy.figure.measures import is_humanoid, leg_length
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Point, Skeleton


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How an analogy is made; what is None is chosen by itself."""

    components: int | None = None
    """How many components of each motion are used; the paper's 5 if neither this nor energy is given."""
    energy: float | None = None
    """In place of a number: the share of A's new motion that its components hold."""
    eigenvectors: int = 1
    """By how many eigenvectors markers are matched; every further one adds an objective of its own."""
    together: bool = False
    """Match by several eigenvectors as one direction of movement, instead of by each with an objective of its own."""
    threshold: float | None = None
    """Match score from which on markers match; None: 0.9 to 0.8, by how much is matched."""
    similar: float = SIMILAR
    """Similarity from which on A's markers stay matched to one of B's when A's new motion is looked at."""
    like_size: float | None = LIKE_SIZE
    """How much partners that move as far as a marker itself count more in their mean (the width of the preference, in
    logarithms of scale); None: all alike, as in the paper."""
    refine: bool = True
    """Look at A's new motion to select among the markers matched."""
    unit_scales: bool = False
    """Take scales from eigenvectors of unit length, to the letter of equation 2, not from how far markers move."""
    orthonormal: bool | None = None
    """Whether B's basis vectors must be orthonormal; None: where B has an example and at most one pose is asked for."""
    aligned: bool = True
    """Turn B's own basis vectors among themselves to where they serve best, before starting from them."""
    pull: float = PULL
    """How heavily it counts that B keeps its own coordinations and mean pose where markers ask for nothing else."""
    mean_weight: float = 0.3
    """How heavily B's mean pose follows the change of A's from example to new motion; 0: not, as in the paper."""
    count: int | None = None
    """How many markers are spread over each body."""
    density: float | None = None
    """Or how many on a leg's length of bone."""
    without: tuple[str, ...] = ()
    """Joints of either body that, with all below them, carry no markers and, on A, drive nothing: a wagging tail is no
    part of a walk, and an ankle that flips in a capture none of a march."""
    limits: bool = True
    """Keep joints inside their limits."""
    retries: bool = True
    """Try other thresholds and numbers of components where the score is low."""
    travel: str | float = "feet"
    """How far B goes: "feet", as far as its feet push; "legs", by leg length; or metres for each metre of A."""
    clean: bool = True
    """Plant the feet by the spacetime solve."""
    any_length: bool = False
    """Accept examples of different length."""

    def __post_init__(self) -> None:
        if not 0.0 < self.similar <= 1.0:
            raise OptionError(f"Expected a similarity above 0 and up to 1, got {self.similar}")
        if self.threshold is not None and not 0.0 < self.threshold <= 1.0:
            raise OptionError(f"Expected a match threshold above 0 and up to 1, got {self.threshold}")
        if self.eigenvectors < 1:
            raise OptionError(f"Expected at least one eigenvector, got {self.eigenvectors}")
        for name in ("pull", "mean_weight"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0.0):
                raise OptionError(f"Expected a {name} of zero or more, got {getattr(self, name)}")
        travel = self.travel
        if travel not in ("feet", "legs") and (isinstance(travel, str) or not (np.isfinite(travel) and travel >= 0.0)):
            raise OptionError(f'Expected travel "feet", "legs" or a number of zero or more, got {travel!r}')


JUMP = 100.0
"""Degrees that no joint turns within a thirtieth of a second."""

SAME_LENGTH = 0.1
"""Share by which the lengths of two examples may differ."""


def checked_body(
    a_example: Motion | None,
    b_example: Motion | None,
    a_new: Motion,
    target: Skeleton | None,
    pairs: Sequence[MarkerPair],
    settings: Settings,
) -> Skeleton:
    """B's skeleton, if what is given makes sense."""
    if b_example is None and target is None:
        raise OptionError("Expected an example motion of B, or B as a target with marker pairs; got neither")
    if b_example is None and not pairs:
        raise OptionError(
            "B has no example motion, so nothing tells what of it moves with what of A",
            hint="give an example, or pair markers by hand: MarkerPair(b=..., a=..., scale=...), --markers FILE",
        )
    if a_example is None and not pairs:
        raise OptionError("A has no example motion to compare B's with", hint="give one, or pair markers by hand")
    if a_example is not None and a_example.skeleton.names != a_new.skeleton.names:
        only = sorted(set(a_example.skeleton.names) ^ set(a_new.skeleton.names))[:3]
        raise OptionError(
            f"A's example and new motion must be by one body; their joints differ in {only or 'their order'}",
            hint="retarget one of them to the other's body first",
        )
    known = {*a_new.skeleton.names, *(target.names if b_example is None and target else ())}
    known |= set(b_example.skeleton.names) if b_example is not None else set()
    for name in settings.without:
        if name not in known:
            raise UnknownNameError(f"Joint `{name}` is on neither body; {nearest_names(name, sorted(known))}")
    if a_example is not None and b_example is not None and not pairs and not settings.any_length:
        lengths = a_example.duration, b_example.duration
        if abs(lengths[0] - lengths[1]) > SAME_LENGTH * max(lengths):
            raise AnalogyError(
                f"The examples are of different length: A's lasts {lengths[0]:.2f} s ({a_example.num_frames} frames), "
                f"B's {lengths[1]:.2f} s ({b_example.num_frames} frames)",
                hint="cut both to about the same steps, or accept it (any_length=True, --any-length): "
                "matching does not need one timing, only whole strides of one behaviour",
            )
    if b_example is not None:
        return b_example.skeleton
    assert target is not None
    return target


def jumping(motion: Motion) -> list[str]:
    """The joints that flip from frame to frame, as captures have them where markers were taken for each other."""
    if motion.num_frames < 2:
        return []
    steps = np.degrees(angle_between(motion.rotations[:-1], motion.rotations[1:])).max(axis=0)
    limit = JUMP * min(30.0 / motion.fps, 1.0)
    return [name for name, step in zip(motion.skeleton.names, steps, strict=True) if step > limit]


def chosen_markers(
    source: Skeleton,
    body: Skeleton,
    pairs: Sequence[MarkerPair],
    given: tuple[Sequence[Point], Sequence[Point]],
    settings: Settings,
) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """Markers of A and of B: those given, or spread; and what pairs name."""
    spread: dict[str, Any] = {"count": settings.count, "density": settings.density}
    found = [
        tuple(mine) or _without(skeleton, spread_markers(skeleton, **spread), settings)
        for skeleton, mine in zip((source, body), given, strict=True)
    ]
    a = with_named(found[0], source, [name for pair in pairs for name in pair.a])
    return a, with_named(found[1], body, [pair.b for pair in pairs])


def _without(skeleton: Skeleton, markers: Sequence[Point], settings: Settings) -> tuple[Point, ...]:
    """Markers without those on parts that are left out."""
    out = parts(skeleton, settings.without)
    kept = tuple(marker for marker in markers if not out[skeleton.index[marker.joint]])
    if not kept:
        raise OptionError(f"No marker is left on `{skeleton.name}` without {', '.join(settings.without)}")
    return kept


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
    chart: JointChart
    """B's joint coordinates."""
    mean: Array | None
    """(J, 4) the mean pose given, headed along +Z."""
    pairs: tuple[MarkerPair, ...]
    a_markers: tuple[Point, ...]
    b_markers: tuple[Point, ...]
    settings: Settings
    components: int

    @cached
    def likeness(self) -> float | None:
        """How alike the two examples are performed; None without them."""
        if self.a is None or self.b is None:
            return None
        fps = (self.a.motion.fps, self.b.motion.fps)
        return likeness(self.a.marker.course[:, 0], self.b.marker.course[:, 0], fps)

    @cached
    def points(self) -> tuple[Point, ...]:
        """What B stands on; animals walk on their toes, so that heels made up for rigs without one are left out."""
        found = contact_points(self._standing)
        if is_humanoid(self.body):
            return found
        known = {*self.body.names, *(end.name for end in self.body.ends)}
        return tuple(point for point in found if point.name in known) or found

    @cached
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

    def _matches(self, b: Study | None, new: Study, threshold: float | None) -> tuple[list[MarkerMatch], float | None]:
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

    @cached
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
        chart=JointChart(skeleton=body, base=base) if b is None else b.chart,
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
