"""Preparation of an analogy: check and analyse the inputs; then attempts, with other choices if one scores low."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from understudy.analogy.attempt import AnalogyError, Attempt, AttemptInput, attempt, covered, find_matches
from understudy.analogy.conditions import MarkerAt, PoseAt
from understudy.analogy.limbs import LimbGoal, limb_goals, on_limbs, pair_limbs
from understudy.analogy.matching import (
    MATCH_THRESHOLDS,
    MIN_SIMILARITY,
    SIZE_PREFERENCE_WIDTH,
    MarkerMatch,
    MarkerPair,
    pair_matches,
    with_named,
)
from understudy.analogy.solving import PULL
from understudy.analogy.stepping import FootPair, same_on_both_sides, standing_heights, standing_points
from understudy.analogy.study import JointChart, Study, find_course, likeness, make_study, parts, spread_markers
from understudy.base.errors import MotionError, OptionError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array, angle_between
from understudy.base.records import cached, record
from understudy.constraints.joint_range import JointRange
from understudy.correspondence.limits import joint_limits
from understudy.figure.contacts import contact_points
from understudy.figure.kinematics import locate
from understudy.figure.measures import is_humanoid, leg_length
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Point, Skeleton


@record(eq=True)
class Settings:
    """Settings of an analogy; None means an automatic choice."""

    components: int | None = None
    """Number of components of each motion; the paper's 5 if neither this nor energy is given."""
    energy: float | None = None
    """Share of the variance of A's new motion that its components keep, in place of a number."""
    eigenvectors: int = 1
    """Number of eigenvectors by which markers are matched; each adds an objective."""
    together: bool = False
    """Match by several eigenvectors at once, as one direction, instead of one objective for each."""
    threshold: float | None = None
    """Least match score; None: 0.9 to 0.8, by the share of movement matched."""
    similar: float = MIN_SIMILARITY
    """Least similarity of A's markers in the refinement by A's new motion."""
    like_size: float | None = SIZE_PREFERENCE_WIDTH
    """Width, in logarithms of scale, of the preference for partners that move as far as the marker itself; None: equal
    weights, as in the paper."""
    refine: bool = True
    """Refine the matches by A's new motion."""
    unit_scales: bool = False
    """Compute scales from eigenvectors of unit length, exactly as in equation 2, not from distances moved."""
    orthonormal: bool | None = None
    """Whether B's basis vectors must be orthonormal; None: if B has an example and at most one pose is given."""
    aligned: bool = True
    """Rotate B's own basis vectors among themselves to fit the goal best before the solve."""
    pull: float = PULL
    """Weight of keeping B's own coordinations and mean pose."""
    mean_weight: float = 0.3
    """Weight with which B's mean pose follows the change of A's from example to new motion; 0 in the paper."""
    count: int | None = None
    """Number of markers spread over each body."""
    density: float | None = None
    """Number of markers per leg length of bone, in place of a count."""
    without: tuple[str, ...] = ()
    """Joints of either body that are left out, with all joints below them: they carry no markers, and on A drive
    nothing. Examples are a wagging tail, or an ankle that flips in a capture."""
    limits: bool = True
    """Keep joints inside their limits."""
    retries: bool = True
    """Try other thresholds and numbers of components if the score is low."""
    travel: str | float = "feet"
    """How far B travels: "feet", as far as its feet push; "legs", by leg length; or metres per metre of A."""
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


MAX_FRAME_TURN_DEGREES = 100.0
"""No joint turns farther within a thirtieth of a second."""

MAX_LENGTH_DIFFERENCE = 0.1
"""Largest difference in length of two examples, as a share of the longer."""


def check_body(
    a_example: Motion | None,
    b_example: Motion | None,
    a_new: Motion,
    target: Skeleton | None,
    pairs: Sequence[MarkerPair],
    settings: Settings,
) -> Skeleton:
    """Check the inputs, and return B's skeleton."""
    if b_example is None and target is None:
        raise OptionError("Expected an example motion of B, or B as a target with marker pairs; got neither")
    if b_example is None and not pairs:
        raise OptionError(
            "B has no example motion, so its markers cannot be matched with A's",
            hint="give an example, or pair markers by hand: MarkerPair(b=..., a=..., scale=...), --markers FILE",
        )
    if a_example is None and not pairs:
        raise OptionError("A has no example motion to compare B's with", hint="give one, or pair markers by hand")
    if a_example is not None and a_example.skeleton.names != a_new.skeleton.names:
        differing = sorted(set(a_example.skeleton.names) ^ set(a_new.skeleton.names))[:3]
        raise OptionError(
            f"A's example and new motion must be by one body; their joints differ in {differing or 'their order'}",
            hint="retarget one of them to the other's body first",
        )
    joint_names = {*a_new.skeleton.names, *(target.names if b_example is None and target else ())}
    joint_names |= set(b_example.skeleton.names) if b_example is not None else set()
    for name in settings.without:
        if name not in joint_names:
            raise UnknownNameError(f"Joint `{name}` is on neither body; {nearest_names(name, sorted(joint_names))}")
    if a_example is not None and b_example is not None and not pairs and not settings.any_length:
        lengths = a_example.duration, b_example.duration
        if abs(lengths[0] - lengths[1]) > MAX_LENGTH_DIFFERENCE * max(lengths):
            raise AnalogyError(
                f"The examples are of different length: A's lasts {lengths[0]:.2f} s ({a_example.num_frames} frames), "
                f"B's {lengths[1]:.2f} s ({b_example.num_frames} frames)",
                hint="cut both to about the same steps, or accept it (any_length=True, --any-length): "
                "matching needs whole strides of one behaviour, not the same timing",
            )
    if b_example is not None:
        return b_example.skeleton
    assert target is not None
    return target


def find_jumps(motion: Motion) -> list[str]:
    """The joints that flip from frame to frame, as in captures in which markers were confused."""
    if motion.num_frames < 2:
        return []
    steps = np.degrees(angle_between(motion.rotations[:-1], motion.rotations[1:])).max(axis=0)
    limit = MAX_FRAME_TURN_DEGREES * min(30.0 / motion.fps, 1.0)
    return [name for name, step in zip(motion.skeleton.names, steps, strict=True) if step > limit]


MAX_END_LEGS = 0.5
"""Longest chain of bones below a joint that flips, such as an ankle or a thumb, that is left out by itself."""


def flipping_ends(motion: Motion) -> tuple[str, ...]:
    """The joints near the ends of limbs that flip from frame to frame: what they do is no movement to learn."""
    skeleton, names = motion.skeleton, []
    for name in find_jumps(motion):
        joint = skeleton.index[name]
        below = [int(j) for j in np.flatnonzero(skeleton.below(joint))]
        chains = [skeleton.lengths[[k for k in skeleton.chain(j) if k in below and k != joint]].sum() for j in below]
        if joint != 0 and max(chains) <= MAX_END_LEGS * leg_length(skeleton):
            names.append(name)
    return tuple(names)


def choose_markers(
    source: Skeleton,
    body: Skeleton,
    pairs: Sequence[MarkerPair],
    given: tuple[Sequence[Point], Sequence[Point]],
    settings: Settings,
) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """Markers of A and of B: those given, else spread over the body; and the markers that pairs name."""
    spread: dict[str, Any] = {"count": settings.count, "density": settings.density}
    markers = [
        tuple(points) or _without(skeleton, spread_markers(skeleton, **spread), settings)
        for skeleton, points in zip((source, body), given, strict=True)
    ]
    a = with_named(markers[0], source, [name for pair in pairs for name in pair.a])
    return a, with_named(markers[1], body, [pair.b for pair in pairs])


def _without(skeleton: Skeleton, markers: Sequence[Point], settings: Settings) -> tuple[Point, ...]:
    """Markers that are not on parts left out by the settings."""
    left_out = parts(skeleton, settings.without)
    remaining = tuple(marker for marker in markers if not left_out[skeleton.index[marker.joint]])
    if not remaining:
        raise OptionError(f"No marker is left on `{skeleton.name}` without {', '.join(settings.without)}")
    return remaining


MIN_METRIC_WEIGHT = 0.01
"""Least weight of a change of a coordinate, squared leg lengths per squared radian."""

GOOD_SCORE = 0.6
"""From this score on no further attempts are made."""


_Limbs = Literal["matched", "paired", "alone"]
"""Limbs that step follow matched markers, or the limbs that they are paired with; alone, nothing else of B moves but by
them."""


@record
class Preparation:
    """The checked and analysed inputs."""

    a: Study | None
    """A's example; None if pairs are given."""
    b: Study | None
    """B's example, if there is one."""
    a_example: Motion | None
    a_new: Motion
    body: Skeleton
    """B."""
    chart: JointChart
    """B's joint coordinates."""
    mean: Array | None
    """(J, 4) the given mean pose, with heading +Z."""
    pairs: tuple[MarkerPair, ...]
    a_markers: tuple[Point, ...]
    b_markers: tuple[Point, ...]
    settings: Settings
    flipping: tuple[str, ...] = ()
    """Joints of A that flip in its new motion, and are left out for it."""
    components: int

    @cached
    def likeness(self) -> float | None:
        """Similarity of the courses of the two examples, from 0 to 1; None without examples."""
        if self.a is None or self.b is None:
            return None
        fps = (self.a.motion.fps, self.b.motion.fps)
        return likeness(self.a.marker.course[:, 0], self.b.marker.course[:, 0], fps)

    @cached
    def points(self) -> tuple[Point, ...]:
        """Points on which B stands. Animals walk on their toes, so heels added to a rig without heels are left out."""
        points = contact_points(self._standing)
        if is_humanoid(self.body):
            return points
        names = {*self.body.names, *(end.name for end in self.body.ends)}
        points = tuple(point for point in points if point.name in names) or points
        return standing_points(self._standing, points)

    @cached
    def rises(self) -> dict[str, float]:
        """Standing height of B's points, metres, by name: the same on both sides, though one may stand on a bump."""
        return same_on_both_sides(self.body, self.points, standing_heights(self._standing, self.points))

    @cached
    def limits(self) -> tuple[JointRange, ...]:
        """B's joint limits, widened to what it does in its example; none if they are not wanted."""
        return tuple(joint_limits(self._standing)[0]) if self.settings.limits else ()

    @property
    def _standing(self) -> Motion:
        """A motion that shows how B stands: its example, or its rest pose."""
        return rest_motion(self.body) if self.b is None else self.b.motion

    def level_pose(self, rotations: Array) -> Array:
        """A pose (J, 4) of B with heading +Z, as in its example."""
        return _level(self.body, rotations, None if self.b is None else self.b.motion)

    def study_new(self, components: int) -> Study:
        """A's new motion, with a number of components."""
        return make_study(
            self.a_new,
            self.a_markers,
            what="A's new motion",
            like=self.a_example,
            components=components,
            without=self.settings.without,
        )

    def attempts(
        self, poses: Sequence[PoseAt], places: Sequence[MarkerAt], judge: Callable[[Attempt], float]
    ) -> list[Attempt]:
        """Make attempts, the first with the choices in the settings, until one is judged good.

        Args:
            poses: Poses that B must have.
            places: Positions at which points of B must be.
            judge: Gives the score of an attempt, from 0 to 1.
        """
        attempts: list[Attempt] = []
        first_error: AnalogyError | None = None
        for threshold, components, limbs in self._choices(posed=bool(poses or places)):
            try:
                attempts.append(self._attempt(threshold, components, poses, places, limbs=limbs))
            except AnalogyError as error:
                first_error = first_error or error
                continue
            except MotionError:
                # Other numbers of components may exceed what the examples have.
                if components == self.components:
                    raise
                continue
            if judge(attempts[-1]) >= GOOD_SCORE or not self.settings.retries:
                break
        if not attempts:
            assert first_error is not None
            raise first_error
        return attempts

    def _choices(self, *, posed: bool) -> Iterator[tuple[float | None, int, _Limbs]]:
        """Thresholds, numbers of components, and whether limbs that step are paired, in the order they are tried."""
        first_threshold, count = self.settings.threshold, self.components
        yield first_threshold, count, "matched"
        if self.settings.retries:
            # A given pose, or a mean pose that must not follow A's, determines how B's legs stand.
            posed = posed or self.mean is not None or self.settings.mean_weight == 0.0
            if self.a is not None and self.b is not None and not posed:
                yield first_threshold, count, "paired"
                yield first_threshold, count + 3, "paired"
                yield first_threshold, count + 3, "alone"
            thresholds = [None] if self.pairs else [t for t in MATCH_THRESHOLDS if t != first_threshold]
            other_counts = [c for c in (count + 3, count - 2) if c >= 1]
            yield from ((threshold, count, "matched") for threshold in thresholds if threshold is not None)
            yield from ((first_threshold, components, "matched") for components in other_counts)

    def _attempt(
        self,
        threshold: float | None,
        components: int,
        poses: Sequence[PoseAt],
        places: Sequence[MarkerAt],
        *,
        limbs: _Limbs,
    ) -> Attempt:
        settings = self.settings
        new = self.study_new(components)
        b = self.b if self.b is None else self._with_components(self.b, components)
        matches, match_threshold = ([], threshold) if limbs == "alone" else self._matches(b, new, threshold)
        start, near = self._start(b, components)
        feet, goals = self._limbs(b, new) if limbs != "matched" else ((), ())
        keeps_orthonormal = b is not None and len(poses) <= 1 and limbs == "matched"
        return attempt(
            AttemptInput(
                chart=self.chart,
                markers=self.b_markers,
                new=new,
                matches=tuple(matches),
                threshold=match_threshold,
                coverage=1.0 if b is None or self.pairs else covered(b, matches, on_limbs(self.body, feet)),
                start=start,
                near=near,
                metric=self.metric,
                pull=settings.pull,
                means=self._means(new, b, poses),
                mean_weight=settings.mean_weight,
                orthonormal=keeps_orthonormal if settings.orthonormal is None else settings.orthonormal,
                poses=tuple(poses),
                places=tuple(places),
                # The planting keeps limits: those that keep a body from what its limbs should do are left to it.
                limits=() if limbs == "alone" else self.limits,
                aligned=settings.aligned and b is not None,
                feet=feet,
                limbs=goals,
            )
        )

    def _limbs(self, b: Study | None, new: Study) -> tuple[tuple[FootPair, ...], tuple[LimbGoal, ...]]:
        """Feet paired by the examples, and what their limbs should do in A's new motion."""
        assert self.a is not None
        assert b is not None
        a = self._with_components(self.a, new.joint.num_components)
        feet = pair_limbs(a, b.in_step_with(a), contact_points(self.a_new), self.points)
        if not feet:
            raise AnalogyError("No foot of one body steps with a foot of the other")
        return feet, tuple(limb_goals(a, b, new, feet))

    def _matches(self, b: Study | None, new: Study, threshold: float | None) -> tuple[list[MarkerMatch], float | None]:
        """Matches of B's markers with A's, given as pairs or computed, and the threshold used."""
        settings = self.settings
        if self.pairs:
            return pair_matches(self.pairs, self.b_markers, self.a_markers), None
        assert self.a is not None
        assert b is not None
        a = self._with_components(self.a, new.joint.num_components)
        return find_matches(
            a,
            b.in_step_with(a),
            new,
            eigenvectors=settings.eigenvectors,
            together=settings.together,
            threshold=threshold,
            similar=settings.similar,
            like_size=settings.like_size,
            refine=settings.refine,
            unit_scales=settings.unit_scales,
        )

    def _means(self, new: Study, b: Study | None, poses: Sequence[PoseAt]) -> tuple[Array, Array] | None:
        """Mean positions of B's markers, and the shift of A's from its example to its new motion.

        None if a given pose determines B's mean pose.
        """
        posed = self.mean is not None or any(pose.joints is None for pose in poses)
        if self.a is None or b is None or posed or self.settings.mean_weight == 0.0:
            return None
        return b.marker.mean, new.marker.mean - self.a.marker.mean

    @cached
    def metric(self) -> Array:
        """(D, D) diagonal: mean square movement of all markers, in squared leg lengths, per change of one coordinate.

        Off-diagonal terms are left out: a turn of the root that hips and spine undo moves hardly a marker, but must
        still have a cost.
        """
        posture = self.chart.posture(np.zeros((1, self.chart.size)))
        joints, offsets = locate(self.body, self.b_markers)
        jacobian = posture.point_jacobian(joints, posture.points(joints, offsets))[0].reshape(-1, self.chart.size)
        energy = np.einsum("rd,rd->d", jacobian, jacobian) / len(joints)
        return np.diag(energy / leg_length(self.body) ** 2 + MIN_METRIC_WEIGHT)

    def _with_components(self, study: Study, components: int) -> Study:
        if study.joint.num_components == components:
            return study
        return make_study(study.motion, study.markers, what="an example", components=components)

    def _start(self, b: Study | None, components: int) -> tuple[Array, Array | None]:
        """(1 + K, D) the table to start from, and the table to stay near [Analogies, sec. 5.3 and 5.4]."""
        mean = np.zeros(self.chart.size) if self.mean is None else self.chart.coordinates(self.mean[None])[0]
        if b is not None:
            mean = b.joint.mean if self.mean is None else mean
            return np.concatenate([mean[None], b.joint.vectors.T]), None
        # Without an example no coordination is known: start from the paper's diagonal, but do not stay near it.
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
    """Check the inputs and analyse the motions; arguments as in `understudy.analogy`."""
    body = check_body(a_example, b_example, a_new, target, pairs, settings)
    flipping = tuple(name for name in flipping_ends(a_new) if name not in settings.without)
    settings = replace(settings, without=(*settings.without, *flipping))
    a_markers, b_markers = choose_markers(a_new.skeleton, body, pairs, markers, settings)
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
        flipping=flipping,
        components=count,
    )


def _level(body: Skeleton, rotations: Array, like: Motion | None) -> Array:
    """A pose (J, 4) turned about the vertical to face as in an example, or along +Z."""
    if rotations.shape != (body.num_joints, 4):
        raise OptionError(f"Expected a pose of {body.num_joints} rotations, got shape {rotations.shape}")
    pose_motion = Motion(skeleton=body, fps=30.0, root=np.zeros((1, 3)), rotations=rotations[None])
    return find_course(pose_motion, like=like).off(pose_motion).rotations[0]
