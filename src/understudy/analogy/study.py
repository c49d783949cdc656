"""A motion studied: its course taken off, and both its eigenmotions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from understudy.base.errors import MotionError, OptionError
from understudy.base.quaternion import Array, conjugate, from_axis_angle, log, mean, multiply, rotate, unrotate
from understudy.figure.angles import joint_angle_curves, joint_angles, joint_rotations
from understudy.figure.kinematics import forward, locate
from understudy.figure.measures import facing, leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import NUM_AXES, Point, Skeleton
from understudy.solve.coordinates import Body, Posture


def period(path: Array, fps: float) -> float | None:
    """Seconds after which a movement (F, ...) repeats itself; None where it does not."""
    signal = path.reshape(len(path), -1)
    at = np.linspace(-1.0, 1.0, len(signal))[:, None]
    signal = signal - signal.mean(axis=0)
    signal = signal - at * (np.sum(at * signal, axis=0) / np.sum(at**2))
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
    good = [i for i in peaks if likeness[i] > 0.9 * max(likeness[j] for j in peaks)]
    if not good or likeness[good[0]] < 0.3:
        return None
    peak = good[0]
    before, here, after = likeness[peak - 1 : peak + 2]
    bend = before - 2.0 * here + after
    return float((peak + (0.5 * (before - after) / bend if bend < 0.0 else 0.0)) / fps)


def likeness(a: Array, b: Array, fps: tuple[float, float]) -> float:
    """How alike the first courses (F,) of two examples are, one cycle of each, at the best shift; from 0 to 1.

    Courses that do not repeat are compared whole.
    """
    whole = []
    for course, rate in zip((a, b), fps, strict=True):
        cycle = period(course, rate)
        length = len(course) if cycle is None else max(min(round(cycle * rate), len(course)), 2)
        one = np.interp(np.linspace(0.0, length - 1.0, 128, endpoint=False), np.arange(len(course)), course)
        one = one - one.mean()
        whole.append(one / max(float(np.linalg.norm(one)), 1e-12))
    shifts = np.fft.irfft(np.fft.rfft(whole[0]) * np.conj(np.fft.rfft(whole[1])), 128)
    return float(np.abs(shifts).max())


UP = np.array([0.0, 1.0, 0.0])

STRIDE = 0.5
"""Seconds of the filter that takes the swing of single steps off the direction of a path."""

SLOW = 0.1
"""Leg lengths a second below which a body goes nowhere."""

SLOWER = 0.6
"""Cycles, the width of the filter that tells slow turning from what is part of every cycle."""

STEADY = np.radians(10.0)
"""Slow turning of a body against its path below which there is none: steps that do not come out even leave some."""

STRAIGHT = np.radians(30.0)
"""Turn of a path below which it counts as straight: its swings are part of the movement."""


@dataclass(frozen=True, eq=False, kw_only=True)
class HeadingCourse:
    """Where a body goes and which way it is headed: all of a motion that is not coordination."""

    root: Array
    """(F, 3) metres, world."""
    heading: Array
    """(F,) radians about the vertical from +Z to the heading, positive towards +X, without jumps."""

    def off(self, motion: Motion) -> Motion:
        """A motion with this course taken off: its root stays at the origin and is headed along +Z."""
        rotations = motion.rotations.copy()
        rotations[:, 0] = multiply(from_axis_angle(UP, -self.heading), rotations[:, 0])
        return replace(motion, root=np.zeros_like(motion.root), rotations=rotations)

    def on(self, motion: Motion) -> Motion:
        """A motion along +Z at the origin put on this course."""
        rotations = motion.rotations.copy()
        rotations[:, 0] = multiply(from_axis_angle(UP, self.heading), rotations[:, 0])
        return replace(motion, root=self.root, rotations=rotations)


def find_course(motion: Motion, *, like: Motion | None = None) -> HeadingCourse:
    """The course of a motion: the direction of its path, or where the body faces if it goes nowhere.

    Args:
        motion: What a body does.
        like: An example by the same body. The new motion is then headed so that the body faces as in it: somebody who
            walks backwards is not turned round.
    """
    heading = _going(motion)
    if like is not None:
        heading = heading + _turned(motion, heading) - _turned(like, _going(like))
    return HeadingCourse(root=motion.root, heading=heading + _drift(motion, heading))


def _facing(motion: Motion) -> Array:
    """(F,) radians: where a body faces, without jumps."""
    forward = facing(motion)
    return np.unwrap(np.arctan2(forward[:, 0], forward[:, 2]))


def _turned(motion: Motion, heading: Array) -> float:
    """Radians: how far a body faces away from a heading, on average."""
    away = _facing(motion) - heading
    return float(np.arctan2(np.sin(away).mean(), np.cos(away).mean()))


def _drift(motion: Motion, heading: Array) -> Array:
    """(F,) radians: how a body slowly turns this way and that against its heading, about zero.

    What is slower than the movement repeats itself is not part of it: an animal that looks about while it walks would
    have that for its first coordination.
    """
    from scipy.ndimage import gaussian_filter1d

    if motion.num_frames < 8:
        return np.zeros(motion.num_frames)
    turns = log(multiply(conjugate(motion.rotations[:-1, 1:]), motion.rotations[1:, 1:]))
    cycle = period(turns.reshape(len(turns), -1), motion.fps)
    if cycle is None or cycle * motion.fps * 2.0 > motion.num_frames:
        return np.zeros(motion.num_frames)
    away = _facing(motion) - heading
    slow = gaussian_filter1d(away, SLOWER * cycle * motion.fps, mode="reflect")
    return slow - slow.mean() if np.ptp(slow) > STEADY else np.zeros(motion.num_frames)


def _going(motion: Motion) -> Array:
    """(F,) radians: the direction of a motion's path, one and the same for a straight one."""
    from scipy.ndimage import gaussian_filter1d

    slow = SLOW * leg_length(motion.skeleton)
    across = motion.root[-1] - motion.root[0]
    path = gaussian_filter1d(motion.root[:, [0, 2]], STRIDE * motion.fps, axis=0, mode="nearest")
    velocity = np.gradient(path, axis=0) * motion.fps if len(path) > 1 else np.zeros((1, 2))
    moving = np.linalg.norm(velocity, axis=-1) > slow
    if moving.mean() < 0.5:
        mean = np.array([np.sin(_facing(motion)).mean(), np.cos(_facing(motion)).mean()])
        return np.full(motion.num_frames, np.arctan2(mean[0], mean[1]))
    angles = np.unwrap(np.arctan2(velocity[moving, 0], velocity[moving, 1]))
    heading = np.interp(np.arange(motion.num_frames), np.flatnonzero(moving), angles)
    if np.ptp(heading) < STRAIGHT:
        return np.full(motion.num_frames, np.arctan2(across[0], across[2]))
    return gaussian_filter1d(heading, STRIDE * motion.fps, mode="nearest")


DENSITY = 7.0
"""Markers on a leg's length of bone, if nobody says."""

GIRTH = 0.12
"""How far beside its bone a marker lies, as a share of the bone: as on the skin, so that it feels the bone's twist."""

MOST = 2000
"""Markers that a body carries at most: every one is compared with every one of the other body."""

SHORT = 0.02
"""Leg lengths below which a bone is too short to carry a marker of its own."""


def spread_markers(skeleton: Skeleton, *, count: int | None = None, density: float | None = None) -> tuple[Point, ...]:
    """Markers all over a body, evenly along its bones, at least one on each.

    Args:
        skeleton: The body.
        count: About how many in all; bones too many for it still get one each.
        density: How many on a leg's length of bone, in place of a count.

    The last marker of a bone that ends in a tip (a toe, a nose) is that tip; the others lie a little beside the bone,
    in turn before it, outside, behind and inside, mirrored on the two sides of the body.
    """
    if count is not None and (density is not None or count < 1):
        raise OptionError(f"Expected a count of markers above zero or a density, not both; got {count} and {density}")
    if density is not None and not (np.isfinite(density) and density > 0.0):
        raise OptionError(f"Expected a density of markers above zero, got {density}")
    leg = leg_length(skeleton)
    bones = _bones(skeleton, SHORT * leg)
    if not bones:
        raise OptionError(
            f"Skeleton `{skeleton.name}` has no bone longer than {SHORT * leg:.2g} m to put a marker on",
            hint="give the markers yourself",
        )
    lengths = [float(np.linalg.norm(bone)) for _, bone, _ in bones]
    spacing = leg / (density or DENSITY) if count is None else sum(lengths) / count
    if not sum(lengths) / spacing <= MOST:
        raise OptionError(
            f"Expected at most {MOST} markers on a body; a {'count' if count else 'density'} of "
            f"{count or density or DENSITY:g} makes {sum(lengths) / spacing:.3g} on skeleton `{skeleton.name}`"
        )
    made: list[Point] = []
    for (joint, bone, tip), length in zip(bones, lengths, strict=True):
        number = max(round(length / spacing), 1)
        around = _around(skeleton, joint, bone)
        for i in range(number):
            along = bone * (i + 1) / number
            if tip and i == number - 1:
                made.append(Point(name=tip, joint=skeleton.names[joint], offset=along))
                continue
            beside = GIRTH * length * around[i % 4]
            made.append(
                Point(name=f"{skeleton.names[joint]}~{len(made)}", joint=skeleton.names[joint], offset=along + beside)
            )
    return tuple(made)


def _bones(skeleton: Skeleton, short: float) -> list[tuple[int, Array, str]]:
    """The joint each bone turns with, the bone (3,) in its frame, and the name of the tip it ends in, if it does."""
    found = []
    for joint, children in enumerate(skeleton.children):
        found += [(joint, skeleton.offsets[child], "") for child in children]
        found += [(joint, end.offset, end.name) for end in skeleton.ends if end.joint == skeleton.names[joint]]
    return [bone for bone in found if np.linalg.norm(bone[1]) > short]


def _around(skeleton: Skeleton, joint: int, bone: Array) -> Array:
    """(4, 3) directions across a bone, in its joint's frame: before, outside, behind, inside."""
    positions, rotations = skeleton.rest_world
    world = rotate(rotations[joint], bone)
    along = world / np.linalg.norm(world)
    middle = positions[joint] + 0.5 * world - positions[0]
    side = 1.0 if middle[0] >= -1e-6 else -1.0
    before = np.array([0.0, 0.0, 1.0]) if abs(along[2]) < 0.9 else np.array([0.0, 1.0, 0.0])
    before = before - (before @ along) * along
    before /= np.linalg.norm(before)
    outside = side * np.cross(before, along)
    return np.array([unrotate(rotations[joint], v) for v in (before, outside, -before, -outside)])


def marker_paths(motion: Motion, markers: Sequence[Point]) -> Array:
    """(F, P, 3) metres, world: where markers are in a motion."""
    joints, offsets = locate(motion.skeleton, markers)
    positions, rotations = forward(motion.skeleton, motion.root, motion.rotations, motion.offsets)
    return positions[:, joints] + rotate(rotations[:, joints], offsets)


@dataclass(frozen=True, eq=False, kw_only=True)
class JointChart:
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


COMPONENTS = 5
"""How many components are kept, as in the paper."""

STILL = 1e-9
"""Variance, in squared metres or radians, below which nothing moves."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Eigenmotion:
    """A motion as `mean + vectors @ course[frame]`, in order of how much of the movement each part carries."""

    mean: Array
    """(N,) the mean pose."""
    vectors: Array
    """(N, K) coordinations, orthonormal columns."""
    course: Array
    """(F, K) how much of each is done at each frame; mean zero."""
    variances: Array
    """(R,) mean square of every component's course, those left out too, greatest first."""

    @property
    def num_components(self) -> int:
        return self.vectors.shape[1]

    @property
    def kept(self) -> float:
        """The share of the movement that the components hold."""
        return float(self.variances[: self.num_components].sum() / self.variances.sum())

    @property
    def spread(self) -> Array:
        """(K,) root mean square of each component's course."""
        return np.sqrt(self.variances[: self.num_components])

    def rebuilt(self) -> Array:
        """(F, N) the motion that the components give [Analogies, eq. 7]."""
        return self.mean + self.course @ self.vectors.T

    def turned(self, turn: Array) -> Eigenmotion:
        """The same motion told in components mixed by an orthogonal matrix (K, K)."""
        return replace(self, vectors=self.vectors @ turn, course=self.course @ turn)


def decompose(
    data: Array, *, components: int | None = None, energy: float | None = None, what: str = "the motion"
) -> Eigenmotion:
    """Take a motion apart into its principal components.

    Args:
        data: (F, N) a pose in each row, in joint coordinates or marker places.
        components: How many to keep; 5 if neither is given.
        energy: Or the share of the movement to keep, above 0 and up to 1.
        what: Whose movement it is, for error messages.
    """
    frames, size = data.shape
    if components is not None and energy is not None:
        raise OptionError(f"Expected components or energy, not both; got {components} and {energy}")
    if energy is not None and not 0.0 < energy <= 1.0:
        raise OptionError(f"Expected a share of energy above 0 and up to 1, got {energy}")
    wanted = COMPONENTS if components is None else components
    if energy is None and wanted < 1:
        raise OptionError(f"Expected at least one component, got {wanted}")
    mean = data.mean(axis=0)
    moved = data - mean
    if float(np.einsum("fn,fn->", moved, moved)) / frames < STILL:
        raise MotionError(
            f"Nothing moves in {what}: {frames} frames of one pose hold no coordination to learn from",
            hint="choose a stretch of the clip in which the body moves",
        )
    left, sizes, right = np.linalg.svd(moved / np.sqrt(frames), full_matrices=False)
    variances = sizes**2
    if energy is not None:
        wanted = int(np.searchsorted(np.cumsum(variances) / variances.sum(), energy - 1e-12) + 1)
    if wanted > min(frames - 1, size):
        raise MotionError(
            f"{wanted} components cannot be had from {what}: it has {frames} frames of {size} numbers, "
            f"which give at most {max(min(frames - 1, size), 0)}",
            hint="give more frames, or ask for fewer components",
        )
    # The sign of an eigenvector says nothing: the largest number is made positive, so that results repeat.
    vectors = right[:wanted].T
    signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(wanted)])
    course = np.sqrt(frames) * left[:, :wanted] * sizes[:wanted]
    return Eigenmotion(mean=mean, vectors=vectors * signs, course=course * signs, variances=variances)


IN_STEP = 0.5
"""Correlation from which on two courses count as going the same or the opposite way."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """What is known of one motion before it is compared with another."""

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
    """(J,) True for the joints named, those of them that the skeleton has, and all below them."""
    found = np.zeros(skeleton.num_joints, bool)
    for name in names:
        if name in skeleton.index:
            found |= skeleton.below(skeleton.index[name])
    return found
