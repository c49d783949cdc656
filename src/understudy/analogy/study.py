"""Analysis of one motion: its course, and its eigenmotions in joint space and in marker space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from understudy.base.errors import MotionError, OptionError
from understudy.base.quaternion import Array, conjugate, from_axis_angle, log, mean, multiply, rotate, unrotate
from understudy.base.records import record
from understudy.figure.kinematics import fk, forward, joint_angle_curves, joint_angles, joint_rotations, locate
from understudy.figure.measures import facing, is_humanoid, leg_length
from understudy.figure.motion import Motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import NUM_AXES, Point, Skeleton
from understudy.solve.coordinates import Body, Posture


def period(path: Array, fps: float) -> float | None:
    """Seconds after which a movement (F, ...) repeats itself; None if it does not."""
    signal = path.reshape(len(path), -1)
    ramp = np.linspace(-1.0, 1.0, len(signal))[:, None]
    signal = signal - signal.mean(axis=0)
    signal = signal - ramp * (np.sum(ramp * signal, axis=0) / np.sum(ramp**2))
    count = len(signal)
    if count < 8 or float(np.abs(signal).max()) < 1e-6:
        return None
    likeness = np.zeros(3 * count // 4)
    for lag in range(len(likeness)):
        a, b = signal[: count - lag], signal[lag:]
        likeness[lag] = float(np.sum(a * b)) / max(float(np.sqrt(np.sum(a * a) * np.sum(b * b))), 1e-12)
    low = np.flatnonzero(likeness < 0.3)
    if not len(low):
        return None
    inner = np.arange(max(int(low[0]), 1), len(likeness) - 1)
    peaks = [i for i in inner if likeness[i] >= likeness[i - 1] and likeness[i] > likeness[i + 1]]
    best_peaks = [i for i in peaks if likeness[i] > 0.9 * max(likeness[j] for j in peaks)]
    if not best_peaks or likeness[best_peaks[0]] < 0.3:
        return None
    peak = best_peaks[0]
    before, top, after = likeness[peak - 1 : peak + 2]
    curvature = before - 2.0 * top + after
    return float((peak + (0.5 * (before - after) / curvature if curvature < 0.0 else 0.0)) / fps)


def likeness(a: Array, b: Array, fps: tuple[float, float]) -> float:
    """Similarity from 0 to 1 of the first courses (F,) of two examples: one cycle of each, at the best shift.

    Courses that do not repeat are compared as a whole.
    """
    cycles = []
    for course, rate in zip((a, b), fps, strict=True):
        cycle = period(course, rate)
        length = len(course) if cycle is None else max(min(round(cycle * rate), len(course)), 2)
        values = np.interp(np.linspace(0.0, length - 1.0, 128, endpoint=False), np.arange(len(course)), course)
        values = values - values.mean()
        cycles.append(values / max(float(np.linalg.norm(values)), 1e-12))
    shifts = np.fft.irfft(np.fft.rfft(cycles[0]) * np.conj(np.fft.rfft(cycles[1])), 128)
    return float(np.abs(shifts).max())


UP = np.array([0.0, 1.0, 0.0])

PATH_SMOOTHING_SECONDS = 0.5
"""Standard deviation of the filter that removes the swing of single steps from the direction of a path."""

MIN_TRAVEL_LEGS_PER_S = 0.1
"""A slower body does not travel."""

DRIFT_SMOOTHING_CYCLES = 0.6
"""Standard deviation of the filter that separates slow turning from turning that is part of every cycle."""

MIN_DRIFT_RADIANS = np.radians(10.0)
"""Slow turning against the path below this is ignored: uneven steps cause some."""

MIN_STEADINESS = 0.7
"""Length of the mean of the directions, of length 1, in which a body faces from its path: a body below it spins."""

MAX_STRAIGHT_TURN_RADIANS = np.radians(30.0)
"""A path that turns less counts as straight: its swings are part of the movement."""


@record
class HeadingCourse:
    """The path and heading of a body: everything in a motion that is not coordination."""

    root: Array
    """(F, 3) metres, world."""
    heading: Array
    """(F,) radians about the vertical from +Z to the heading, positive towards +X, without jumps."""

    def off(self, motion: Motion) -> Motion:
        """Remove this course from a motion: its root stays at the origin and its heading is +Z."""
        rotations = motion.rotations.copy()
        rotations[:, 0] = multiply(from_axis_angle(UP, -self.heading), rotations[:, 0])
        return replace(motion, root=np.zeros_like(motion.root), rotations=rotations)

    def on(self, motion: Motion) -> Motion:
        """Put a motion at the origin with heading +Z on this course."""
        rotations = motion.rotations.copy()
        rotations[:, 0] = multiply(from_axis_angle(UP, self.heading), rotations[:, 0])
        return replace(motion, root=self.root, rotations=rotations)


def find_course(motion: Motion, *, like: Motion | None = None) -> HeadingCourse:
    """Find the course of a motion: the direction of its path, or the facing direction if it does not travel.

    Args:
        motion: The motion.
        like: An example of the same body. The body then faces its heading as in the example, so that a body that walks
            backwards is not turned round.
    """
    heading = _forward_direction(motion)
    if like is not None:
        heading = heading + _mean_deviation(motion, heading) - _mean_deviation(like, _forward_direction(like))
    return HeadingCourse(root=motion.root, heading=heading + _drift(motion, heading))


def _facing(motion: Motion) -> Array:
    """(F,) radians: facing direction, without jumps."""
    forward = facing(motion)
    return np.unwrap(np.arctan2(forward[:, 0], forward[:, 2]))


def _mean_deviation(motion: Motion, heading: Array) -> float:
    """Mean angle from a heading to the facing direction, radians; 0 for a body that spins, which has none."""
    deviation = _facing(motion) - heading
    sine, cosine = float(np.sin(deviation).mean()), float(np.cos(deviation).mean())
    return float(np.arctan2(sine, cosine)) if np.hypot(sine, cosine) > MIN_STEADINESS else 0.0


def _forward_direction(motion: Motion) -> Array:
    """(F,) radians: the direction of a motion's path; of a human who walks backwards the opposite one.

    How an animal faces is less well known than where it goes.
    """
    heading = _path_direction(motion)
    backwards = is_humanoid(motion.skeleton) and abs(_mean_deviation(motion, heading)) > 0.75 * np.pi
    return heading + np.pi if backwards else heading


def _drift(motion: Motion, heading: Array) -> Array:
    """(F,) radians: slow turning of a body against its heading, with mean zero.

    Turning slower than the movement's cycle is not part of the movement. It would otherwise become the first
    coordination of an animal that looks about while it walks.
    """
    from scipy.ndimage import gaussian_filter1d

    if motion.num_frames < 8:
        return np.zeros(motion.num_frames)
    turns = log(multiply(conjugate(motion.rotations[:-1, 1:]), motion.rotations[1:, 1:]))
    cycle = period(turns.reshape(len(turns), -1), motion.fps)
    if cycle is None or cycle * motion.fps * 2.0 > motion.num_frames:
        return np.zeros(motion.num_frames)
    deviation = _facing(motion) - heading
    drift = gaussian_filter1d(deviation, DRIFT_SMOOTHING_CYCLES * cycle * motion.fps, mode="reflect")
    return drift - drift.mean() if np.ptp(drift) > MIN_DRIFT_RADIANS else np.zeros(motion.num_frames)


def _path_direction(motion: Motion) -> Array:
    """(F,) radians: the direction of a motion's path, constant for a straight path."""
    from scipy.ndimage import gaussian_filter1d

    min_speed = MIN_TRAVEL_LEGS_PER_S * leg_length(motion.skeleton)
    travel = motion.root[-1] - motion.root[0]
    path = gaussian_filter1d(motion.root[:, [0, 2]], PATH_SMOOTHING_SECONDS * motion.fps, axis=0, mode="nearest")
    velocity = np.gradient(path, axis=0) * motion.fps if len(path) > 1 else np.zeros((1, 2))
    moving = np.linalg.norm(velocity, axis=-1) > min_speed
    if moving.mean() < 0.5:
        mean = np.array([np.sin(_facing(motion)).mean(), np.cos(_facing(motion)).mean()])
        return np.full(motion.num_frames, np.arctan2(mean[0], mean[1]))
    angles = np.unwrap(np.arctan2(velocity[moving, 0], velocity[moving, 1]))
    heading = np.interp(np.arange(motion.num_frames), np.flatnonzero(moving), angles)
    # A path may turn while the body does not: who stands sways to and fro before a jump.
    turned = gaussian_filter1d(_facing(motion), PATH_SMOOTHING_SECONDS * motion.fps, mode="nearest")
    if min(np.ptp(heading), np.ptp(turned)) < MAX_STRAIGHT_TURN_RADIANS:
        return np.full(motion.num_frames, np.arctan2(travel[0], travel[2]))
    if is_humanoid(motion.skeleton):
        # A path says little of who turns on the spot, or stops: humans turn with their hips.
        return turned
    return gaussian_filter1d(heading, PATH_SMOOTHING_SECONDS * motion.fps, mode="nearest")


MARKERS_PER_LEG = 7.0
"""Default number of markers per leg length of bone."""

MARKER_OFFSET = 0.12
"""Distance of a marker from its bone, as a share of the bone's length: it lies on the skin and moves as bones twist."""

MAX_MARKERS = 2000
"""Most markers on a body: each is compared with every marker of the other body."""

MIN_BONE_LEGS = 0.02
"""A shorter bone carries no marker."""


def spread_markers(skeleton: Skeleton, *, count: int | None = None, density: float | None = None) -> tuple[Point, ...]:
    """Markers all over a body, evenly along its bones, at least one on each.

    Args:
        skeleton: The body.
        count: Approximate total; every bone gets at least one marker even if that exceeds the total.
        density: Markers per leg length of bone, in place of a count.

    The last marker of a bone that ends in a tip (a toe, a nose) is that tip. The others lie beside the bone, in turn in
    front, outside, behind and inside, mirrored on the two sides of the body.
    """
    if count is not None and (density is not None or count < 1):
        raise OptionError(f"Expected a count of markers above zero or a density, not both; got {count} and {density}")
    if density is not None and not (np.isfinite(density) and density > 0.0):
        raise OptionError(f"Expected a density of markers above zero, got {density}")
    leg = leg_length(skeleton)
    bones = _bones(skeleton, MIN_BONE_LEGS * leg)
    if not bones:
        raise OptionError(
            f"Skeleton `{skeleton.name}` has no bone longer than {MIN_BONE_LEGS * leg:.2g} m to put a marker on",
            hint="give the markers yourself",
        )
    lengths = [float(np.linalg.norm(bone)) for _, bone, _ in bones]
    spacing = leg / (density or MARKERS_PER_LEG) if count is None else sum(lengths) / count
    if not sum(lengths) / spacing <= MAX_MARKERS:
        raise OptionError(
            f"Expected at most {MAX_MARKERS} markers on a body; a {'count' if count else 'density'} of "
            f"{count or density or MARKERS_PER_LEG:g} makes {sum(lengths) / spacing:.3g} on skeleton `{skeleton.name}`"
        )
    markers: list[Point] = []
    for (joint, bone, tip), length in zip(bones, lengths, strict=True):
        number = max(round(length / spacing), 1)
        around = _directions_across(skeleton, joint, bone)
        for i in range(number):
            along = bone * (i + 1) / number
            if tip and i == number - 1:
                markers.append(Point(name=tip, joint=skeleton.names[joint], offset=along))
                continue
            beside = MARKER_OFFSET * length * around[i % 4]
            name = f"{skeleton.names[joint]}~{len(markers)}"
            markers.append(Point(name=name, joint=skeleton.names[joint], offset=along + beside))
    return tuple(markers)


def _bones(skeleton: Skeleton, min_length: float) -> list[tuple[int, Array, str]]:
    """For each bone its joint, the bone (3,) in the joint's frame, and the name of the tip it ends in, or ""."""
    bones = []
    for joint, children in enumerate(skeleton.children):
        bones += [(joint, skeleton.offsets[child], "") for child in children]
        bones += [(joint, end.offset, end.name) for end in skeleton.ends if end.joint == skeleton.names[joint]]
    return [bone for bone in bones if np.linalg.norm(bone[1]) > min_length]


def _directions_across(skeleton: Skeleton, joint: int, bone: Array) -> Array:
    """(4, 3) directions across a bone, in its joint's frame: front, outside, back, inside."""
    positions, rotations = skeleton.rest_world
    world = rotate(rotations[joint], bone)
    along = world / np.linalg.norm(world)
    middle = positions[joint] + 0.5 * world - positions[0]
    side = 1.0 if middle[0] >= -1e-6 else -1.0
    front = np.array([0.0, 0.0, 1.0]) if abs(along[2]) < 0.9 else np.array([0.0, 1.0, 0.0])
    front = front - (front @ along) * along
    front /= np.linalg.norm(front)
    outside = side * np.cross(front, along)
    return np.array([unrotate(rotations[joint], v) for v in (front, outside, -front, -outside)])


def marker_paths(motion: Motion, markers: Sequence[Point]) -> Array:
    """(F, P, 3) metres, world: marker positions in a motion."""
    joints, offsets = locate(motion.skeleton, markers)
    positions, rotations = forward(motion.skeleton, motion.root, motion.rotations, motion.offsets)
    return positions[:, joints] + rotate(rotations[:, joints], offsets)


@record
class JointChart:
    """Joint coordinates of a body about a base pose. The root rotates but stays at the origin."""

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
        """(D,) the joint that each coordinate rotates."""
        return self.body(1).joint_of

    def body(self, frames: int) -> Body:
        """The body held in the base pose for some frames, to be displaced by coordinates."""
        if frames not in self._bodies:
            base_motion = Motion(
                skeleton=self.skeleton,
                fps=30.0,
                root=np.zeros((frames, 3)),
                rotations=np.tile(self.base, (frames, 1, 1)),
            )
            self._bodies[frames] = Body(motion=base_motion, root_moves=False)
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
        vectors = unwrap_rotations(log(multiply(conjugate(self.base), rotations)))
        coordinates = np.empty((len(rotations), body.num_coordinates))
        column = 0
        for joint in body.joints or ():
            count = NUM_AXES[self.skeleton.kinds[joint]]
            coordinates[:, column : column + count] = (vectors if count == 3 else angles)[:, joint, :count]
            column += count
        return coordinates


def unwrap_rotations(vectors: Array) -> Array:
    """Rotation vectors (F, ..., 3) made continuous over the frames: past half a turn they grow instead of flipping."""
    unwrapped = vectors.copy()
    size = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if float(size.max(initial=0.0)) < 0.5 * np.pi:
        return unwrapped
    full_turns = 2.0 * np.pi * vectors / np.where(size > 1e-9, size, 1.0)
    for frame in range(1, len(unwrapped)):
        # Whole turns about the axis give the same rotation: take the vector nearest to the previous frame's.
        turns = np.arange(-2, 3).reshape(-1, *(1,) * (unwrapped.ndim - 1))
        choices = vectors[frame] + turns * full_turns[frame]
        best = np.argmin(np.linalg.norm(choices - unwrapped[frame - 1], axis=-1), axis=0)
        unwrapped[frame] = np.take_along_axis(choices, best[None, ..., None], 0)[0]
    return unwrapped


def mean_pose(motion: Motion) -> Array:
    """(J, 4) the mean of a motion's local rotations, within the degrees of freedom of its joints."""
    pose = mean(motion.rotations)
    limited = [j for j, kind in enumerate(motion.skeleton.kinds) if NUM_AXES[kind] < 3]
    if limited:
        curves = joint_angle_curves(motion.skeleton, motion.rotations)
        pose[limited] = joint_rotations(motion.skeleton, curves.mean(axis=0))[limited]
    return pose


DEFAULT_COMPONENTS = 5
"""Number of components, as in the paper."""

MIN_VARIANCE = 1e-9
"""Squared metres or radians: below it nothing moves."""


@record
class Eigenmotion:
    """A motion as `mean + vectors @ course[frame]`, its components ordered by variance."""

    mean: Array
    """(N,) the mean pose."""
    vectors: Array
    """(N, K) coordinations, orthonormal columns."""
    course: Array
    """(F, K) coefficient of each coordination at each frame; mean zero."""
    variances: Array
    """(R,) mean square of every component's course, dropped components included, greatest first."""

    @property
    def num_components(self) -> int:
        return self.vectors.shape[1]

    @property
    def kept(self) -> float:
        """The share of the variance in the components that are kept."""
        return float(self.variances[: self.num_components].sum() / self.variances.sum())

    @property
    def spread(self) -> Array:
        """(K,) root mean square of each component's course."""
        return np.sqrt(self.variances[: self.num_components])

    def rebuilt(self) -> Array:
        """(F, N) the motion rebuilt from its components [Analogies, eq. 7]."""
        return self.mean + self.course @ self.vectors.T

    def turned(self, turn: Array) -> Eigenmotion:
        """The same motion with components mixed by an orthogonal matrix (K, K)."""
        return replace(self, vectors=self.vectors @ turn, course=self.course @ turn)


def decompose(
    data: Array, *, components: int | None = None, energy: float | None = None, what: str = "the motion"
) -> Eigenmotion:
    """Decompose a motion into its principal components.

    Args:
        data: (F, N) one pose per row, as joint coordinates or marker positions.
        components: How many to keep; 5 if neither this nor energy is given.
        energy: The share of the variance to keep, above 0 and up to 1.
        what: Name of the motion for error messages.
    """
    frames, size = data.shape
    if components is not None and energy is not None:
        raise OptionError(f"Expected components or energy, not both; got {components} and {energy}")
    if energy is not None and not 0.0 < energy <= 1.0:
        raise OptionError(f"Expected a share of energy above 0 and up to 1, got {energy}")
    count = DEFAULT_COMPONENTS if components is None else components
    if energy is None and count < 1:
        raise OptionError(f"Expected at least one component, got {count}")
    mean = data.mean(axis=0)
    centred = data - mean
    if float(np.einsum("fn,fn->", centred, centred)) / frames < MIN_VARIANCE:
        raise MotionError(
            f"Nothing moves in {what}: {frames} frames of one pose hold no coordination to learn from",
            hint="choose a part of the clip in which the body moves",
        )
    left, sizes, right = np.linalg.svd(centred / np.sqrt(frames), full_matrices=False)
    variances = sizes**2
    if energy is not None:
        count = int(np.searchsorted(np.cumsum(variances) / variances.sum(), energy - 1e-12) + 1)
    if count > min(frames - 1, size):
        raise MotionError(
            f"{count} components cannot be had from {what}: it has {frames} frames of {size} numbers, "
            f"which give at most {max(min(frames - 1, size), 0)}",
            hint="use more frames or fewer components",
        )
    # The sign of an eigenvector is arbitrary: the largest component is made positive, so that results repeat.
    vectors = right[:count].T
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(count)])
    course = np.sqrt(frames) * left[:, :count] * sizes[:count]
    return Eigenmotion(mean=mean, vectors=vectors * signs, course=course * signs, variances=variances)


MIN_STEP_CORRELATION = 0.5
"""From this correlation on two courses have the same sign, or opposite signs."""

LEG_ROLES = (("left_foot", "right_foot"), ("left_lower_leg", "right_lower_leg"))
"""Roles of joints that tell which leg is before the other; the first of which a body has both."""


@record
class Study:
    """The analysis of one motion, before it is compared with another."""

    motion: Motion
    course: HeadingCourse
    markers: tuple[Point, ...]
    chart: JointChart
    """Joint coordinates about the mean pose."""
    joint: Eigenmotion
    """In joint coordinates: coordinations F and execution N."""
    marker: Eigenmotion
    """In marker places: coordinations E and execution M."""

    def part(self, eigenvectors: Sequence[int], *, unit: bool = False) -> Array:
        """(P, 3 L) metres: movement of each marker in some eigenvectors, at the spread of their courses.

        The paper's eigenvectors have unit length whatever the size of the body and the number of markers. Times the
        spread of their courses they are actual distances, which the scales compare. With `unit` they are as in the
        paper's equation 2.
        """
        chosen = list(eigenvectors)
        vectors = self.marker.vectors[:, chosen] * (1.0 if unit else self.marker.spread[chosen])
        return vectors.reshape(len(self.markers), 3 * len(chosen))

    def in_step_with(self, other: Study) -> Study:
        """The same study with component signs flipped to agree with another's, so that left stays left.

        The sign of an eigenvector is arbitrary. Where the first component swings the legs of both bodies, it is that in
        which the left leg is before the right one. The signs of other components are those with which the courses
        correlate, if the two are performed in step.
        """
        count = min(self.marker.num_components, other.marker.num_components)
        flips = np.ones(self.marker.num_components)
        samples = np.linspace(0.0, 1.0, 200)
        for i in range(count):
            swings = (self._swing(i), other._swing(i))
            if i == 0 and min(map(abs, swings)) > MIN_STEP_CORRELATION:
                flips[i] = np.sign(swings[0] * swings[1])
                continue
            courses = [
                np.interp(samples, np.linspace(0.0, 1.0, len(c)), c)
                for c in (self.marker.course[:, i], other.marker.course[:, i])
            ]
            if float(np.corrcoef(courses[0], courses[1])[0, 1]) < -MIN_STEP_CORRELATION:
                flips[i] = -1.0
        return replace(self, marker=self.marker.turned(np.diag(flips)))

    def _swing(self, component: int) -> float:
        """Correlation of a component with how far the left leg is before the right one; 0 without such legs."""
        joint_of = roles(self.motion.skeleton)
        legs = next((pair for pair in LEG_ROLES if all(role in joint_of for role in pair)), None)
        course = self.marker.course[:, component]
        if legs is None or len(course) < 2:
            return 0.0
        places = fk(self.course.off(self.motion)).positions[..., 2]
        ahead = places[:, joint_of[legs[0]]] - places[:, joint_of[legs[1]]]
        if min(float(np.std(ahead)), float(np.std(course))) < 1e-9:
            return 0.0
        return float(np.corrcoef(ahead, course)[0, 1])


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
    """Analyse a motion.

    Args:
        motion: The motion.
        markers: Points all over the body.
        what: Name of the motion for error messages.
        like: An example of the same body, whose facing relative to its heading is adopted.
        components: How many components to keep in both spaces.
        energy: The share of the variance to keep, in place of a number.
        without: Joints that are left out of the joint space, with all joints below them.
    """
    course = find_course(motion, like=like)
    level = course.off(motion)
    chart = JointChart(skeleton=motion.skeleton, base=mean_pose(level))
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
    """(J,) True for the named joints that the skeleton has, and all joints below them."""
    selected = np.zeros(skeleton.num_joints, bool)
    for name in names:
        if name in skeleton.index:
            selected |= skeleton.below(skeleton.index[name])
    return selected
