"""Motions as game engines use them: a root on the floor, motions in place with their path beside, and loops.

The path of a body is a place on the floor and a heading at each frame, smoothed over a step so that the sway of the
pelvis stays with the pelvis. A motion is its path times a motion relative to the path. The split is exact: the root
takes the path, and what hangs from it is put where it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from understudy.base.errors import FileError, MotionError, OptionError
from understudy.base.files import open_to_read, open_to_write
from understudy.base.quaternion import Array, conjugate, exp, from_axis_angle, log, multiply, rotate, unrotate
from understudy.base.records import record
from understudy.figure.contacts import contact_points, find_period, floor_velocity
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing, leg_length
from understudy.figure.motion import Motion, frame_offsets, rest_motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import JointKind, Skeleton
from understudy.figure.skin import Mesh
from understudy.io import Clip
from understudy.retarget.loop_closing import Stride, find_stride, hold_plants, seam_jump, smooth_seam

UP = np.array([0.0, 1.0, 0.0])

SMOOTHING_SECONDS = 0.3
"""Standard deviation of the window over which a path is smoothed: about half a step of a walk."""

MAX_FLOOR_ROOT_HEIGHT_SHARE = 0.5
"""A root above the hips counts as a root on the floor if its height is at most this share of theirs."""

MIN_LOOP_SECONDS = 0.4
"""The shortest loop that is looked for."""

MAX_LOOP_CANDIDATES = 400
"""Frames that are compared when a loop is looked for."""

MAX_WORSE_FACTOR = 1.3
"""How much worse, as a factor of the squared distance, a longer loop may close than the best one."""

SLOW_LOOP_SHARE = 0.3
"""A loop below this share of the speed of the motion that it is cut from shows something else than most of it."""

VELOCITY_SECONDS = 0.2
"""How much a difference of velocities counts when a loop is looked for: metres for each metre a second."""

HEADER = "time_s,x_m,z_m,heading_deg"
"""The first line of a file with a path."""


@record
class FloorPath:
    """Where a body is on the floor and which way it faces, at each frame."""

    fps: float
    places: Array
    """(F, 2) metres along X and Z."""
    headings: Array
    """(F,) radians about the vertical, from the way the body faces in its rest pose; unwrapped."""

    @property
    def rotations(self) -> Array:
        """(F, 4) the headings as rotations."""
        return from_axis_angle(UP, self.headings)

    @property
    def positions(self) -> Array:
        """(F, 3) the places as positions on the floor."""
        return np.stack([self.places[:, 0], np.zeros(len(self.places)), self.places[:, 1]], axis=1)

    @property
    def speed(self) -> float:
        """The mean speed along the path, metres a second."""
        if len(self.places) < 2:
            return 0.0
        return float(np.linalg.norm(np.diff(self.places, axis=0), axis=1).sum() * self.fps / (len(self.places) - 1))

    def taken(self, frames: np.ndarray) -> FloorPath:
        """The path at some of its frames."""
        return replace(self, places=self.places[frames], headings=self.headings[frames])


def find_path(motion: Motion) -> FloorPath:
    """The path of the body of a motion."""
    hips = roles(motion.skeleton).get("hips", 0)
    positions = fk(motion).positions[:, hips]
    rest = facing(rest_motion(motion.skeleton))[0]
    forward = facing(motion)
    headings = np.unwrap(np.arctan2(forward[:, 0], forward[:, 2])) - np.arctan2(rest[0], rest[2])
    window = SMOOTHING_SECONDS * motion.fps
    stride = find_stride(motion)
    if stride is None:
        places, headings = _smooth(positions, window), _smooth(headings[:, None], window)[:, 0]
    else:
        places, headings = _smooth_loop(positions, headings, window, stride)
    return FloorPath(fps=motion.fps, places=places[:, [0, 2]], headings=headings)


def _smooth(values: Array, deviation: float) -> Array:
    """Values (F, n) smoothed by a Gaussian window; beyond their ends they go on as they came."""
    reach = min(_reach(deviation), len(values) - 1)
    if reach < 1:
        return values
    before = 2.0 * values[0] - values[reach:0:-1]
    after = 2.0 * values[-1] - values[-2 : -2 - reach : -1]
    return _smooth_inside(np.concatenate([before, values, after]), reach, deviation)


def _smooth_loop(places: Array, headings: Array, deviation: float, stride: Stride) -> tuple[Array, Array]:
    """Places (F, 3) and headings (F,) of a loop smoothed by a Gaussian window that goes on in the rounds beside it."""
    reach, period = _reach(deviation), len(places) - 1
    rounds = -(-reach // period)
    numbers = range(-rounds, rounds + 1)
    angle = headings[-1] - headings[0]
    wide = np.concatenate([*(stride.carry(places[:-1], n) for n in numbers), stride.carry(places[-1:], rounds)])
    turned = np.concatenate([*(headings[:-1] + n * angle for n in numbers), headings[-1:] + rounds * angle])
    inside = slice(rounds * period - reach, (rounds + 1) * period + 1 + reach)
    smooth = _smooth_inside(np.column_stack([wide, turned])[inside], reach, deviation)
    return smooth[:, :3], smooth[:, 3]


def _reach(deviation: float) -> int:
    return int(3.0 * deviation) + 1


def _smooth_inside(padded: Array, reach: int, deviation: float) -> Array:
    """Values (F + 2 reach, n) smoothed where the whole window is inside: (F, n)."""
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / max(deviation, 1e-9)) ** 2)
    weights /= weights.sum()
    return np.stack([np.convolve(column, weights, mode="valid") for column in padded.T], axis=1)


def has_floor_root(skeleton: Skeleton) -> bool:
    """Whether the root is a joint on the floor below the hips, as engines expect it."""
    hips = roles(skeleton).get("hips", 0)
    heights = skeleton.rest_world[0][:, 1]
    floor = heights.min()
    return hips != 0 and heights[0] - floor <= MAX_FLOOR_ROOT_HEIGHT_SHARE * (heights[hips] - floor)


def with_root_motion(clip: Clip, name: str = "root") -> tuple[Clip, FloorPath, list[str]]:
    """A clip whose root is on the floor and moves along the path of the body; nothing else moves in the world.

    Args:
        clip: With a motion.
        name: The name of the root that is made if the rig has none on the floor.

    Returns:
        The clip, the path, and notes.
    """
    motion = _motion_of(clip)
    path, notes = find_path(motion), []
    if not has_floor_root(motion.skeleton):
        clip = _with_root(clip, name)
        motion = _motion_of(clip)
        notes.append(f"a root `{motion.skeleton.names[0]}` on the floor was made: the rig had none")
    skeleton = motion.skeleton
    root = path.positions + skeleton.offsets[0] * UP
    moved = _move_root(motion, root, multiply(path.rotations, skeleton.rest[0]))
    return replace(clip, motion=moved), path, notes


def _move_root(motion: Motion, root: Array, turned: Array) -> Motion:
    """A motion whose root has other places (F, 3) and rotations (F, 4), while the rest stays in the world."""
    pose = fk(motion)
    rotations, offsets = motion.rotations.copy(), frame_offsets(motion).copy()
    for child in motion.skeleton.children[0]:
        rotations[:, child] = multiply(conjugate(turned), pose.rotations[:, child])
        offsets[:, child] = unrotate(turned, pose.positions[:, child] - root)
    rotations[:, 0] = turned
    return replace(motion, root=root, rotations=rotations, offsets=offsets)


def _motion_of(clip: Clip) -> Motion:
    if clip.motion is None:
        raise MotionError("A character without motion has no path")
    return clip.motion


def _with_root(clip: Clip, name: str) -> Clip:
    """A clip with one more joint, at the origin above its root."""
    motion, old = _motion_of(clip), clip.skeleton
    while name in old.names:
        name += "_floor"
    count = old.num_joints
    place = old.offsets[0]
    if not clip.meshes:
        # Files of captures put the hips of the rest pose at the origin. Engines show it standing on the floor.
        heights = np.concatenate([old.rest_world[0], old.rest_ends])[:, 1]
        place = place - heights.min() * UP
    kinds = (JointKind.FREE, JointKind.BALL, *old.kinds[1:])
    skeleton = replace(
        old, names=(name, *old.names), parents=np.concatenate([[-1], old.parents + 1]),
        offsets=np.concatenate([np.zeros((1, 3)), place[None], old.offsets[1:]]),
        rest=np.concatenate([[[1.0, 0.0, 0.0, 0.0]], old.rest]), kinds=kinds,
        axes=np.concatenate([old.axes[:1], np.eye(3)[None], old.axes[1:]]),
        limits=np.concatenate([old.limits[:1], np.broadcast_to([-np.inf, np.inf], (1, 3, 2)), old.limits[1:]]),
    )  # fmt: skip
    return replace(
        clip, skeleton=skeleton, motion=_below_root(skeleton, motion), others=_changed(clip, _below_root, skeleton),
        meshes=tuple(_shift_joints(mesh, count) for mesh in clip.meshes), layout=None,
    )  # fmt: skip


def _below_root(skeleton: Skeleton, motion: Motion) -> Motion:
    """A motion for a skeleton with one more joint above its root, which stays at the origin."""
    frames = motion.num_frames
    none = np.broadcast_to([1.0, 0.0, 0.0, 0.0], (frames, 1, 4))
    offsets = np.concatenate([np.zeros((frames, 1, 3)), motion.root[:, None], frame_offsets(motion)[:, 1:]], axis=1)
    return Motion(
        skeleton=skeleton, fps=motion.fps, root=np.zeros((frames, 3)),
        rotations=np.concatenate([none, motion.rotations], axis=1), offsets=offsets, name=motion.name,
    )  # fmt: skip


def _changed(
    clip: Clip, change: Callable[[Skeleton, Motion], Motion], skeleton: Skeleton
) -> Callable[[], tuple[Motion, ...]] | None:
    """What reads the other animations of a clip's file, for a changed skeleton; those of other bodies are left out."""
    if clip.others is None:
        return None
    read, names = clip.others, clip.skeleton.names
    return lambda: tuple(change(skeleton, motion) for motion in read() if motion.skeleton.names == names)


def _shift_joints(mesh: Mesh, count: int) -> Mesh:
    """A mesh for a skeleton with one more joint in front of its own."""
    if mesh.num_joints != count:
        return mesh
    binds = np.concatenate([np.eye(4)[None], mesh.joint_from_mesh])
    return replace(mesh, joints=mesh.joints + 1, joint_from_mesh=binds)


def in_place(motion: Motion, path: FloorPath | None = None) -> tuple[Motion, FloorPath]:
    """A motion relative to its path: at the origin, facing as in the rest pose. Returns it with the path."""
    path = find_path(motion) if path is None else path
    root = unrotate(path.rotations, motion.root - path.positions)
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(conjugate(path.rotations), rotations[:, 0])
    return motion.derived(root=root, rotations=rotations), path


def along_path(motion: Motion, path: FloorPath) -> Motion:
    """The opposite of `in_place`: a motion that travels along a path, which is read at the motion's frames."""
    times = np.arange(motion.num_frames) / motion.fps
    known = np.arange(len(path.places)) / path.fps
    if len(path.places) != motion.num_frames or abs(path.fps - motion.fps) > 1e-6 * motion.fps:
        if times[-1] > known[-1] + 1.5 / path.fps:
            raise OptionError(f"The path ends at {known[-1]:.2f} s, before the motion does at {times[-1]:.2f} s")
        columns = [np.interp(times, known, column) for column in (*path.places.T, path.headings)]
        path = FloorPath(fps=motion.fps, places=np.stack(columns[:2], axis=1), headings=columns[2])
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(path.rotations, rotations[:, 0])
    return motion.derived(root=rotate(path.rotations, motion.root) + path.positions, rotations=rotations)


def treadmill_path(motion: Motion, speed: float | None = None) -> FloorPath:
    """The straight path of a body that walks or runs in place: against the way its floor moves.

    Args:
        motion: In place.
        speed: Metres a second, as a treadmill showed it; None for the speed at which planted feet are carried back. A
            body whose feet do not show a direction goes where it faces.
    """
    carried = floor_velocity(motion, contact_points(motion))
    if carried is None and speed is None:
        raise OptionError(
            "The planted feet show no steady floor that moves, so there is no speed to go by",
            hint="give the speed in metres a second: --speed 1.3",
        )
    ahead = facing(motion).mean(axis=0) if carried is None else -carried
    ahead = ahead[[0, 2]] / max(float(np.linalg.norm(ahead[[0, 2]])), 1e-9)
    metres = float(np.linalg.norm(carried)) if speed is None and carried is not None else float(speed or 0.0)
    places = motion.times[:, None] * metres * ahead
    return FloorPath(fps=motion.fps, places=places, headings=np.zeros(motion.num_frames))


def write_path(path: FloorPath, file: str | Path) -> None:
    """Write a path as text, a line a frame."""
    times = np.arange(len(path.places)) / path.fps
    table = np.column_stack([times, path.places, np.degrees(path.headings)])
    with open_to_write(file) as stream:
        np.savetxt(stream, table, fmt="%.9g", delimiter=",", header=HEADER, comments="")


def read_path(file: str | Path) -> FloorPath:
    """Read a path that `write_path` wrote."""
    with open_to_read(file) as stream:
        lines = stream.read().decode("utf-8", errors="replace").splitlines()
    if not lines or lines[0].strip() != HEADER:
        raise FileError(str(file), 1, f"expected the line `{HEADER}`")
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            rows.append([float(part) for part in line.split(",")])
        except ValueError:
            raise FileError(str(file), number, "expected four numbers with commas between them") from None
        if len(rows[-1]) != 4 or not np.all(np.isfinite(rows[-1])):
            raise FileError(str(file), number, "expected four numbers with commas between them")
    table = np.array(rows).reshape(-1, 4)
    steps = np.diff(table[:, 0])
    if len(table) < 2 or np.any(steps <= 0.0) or np.ptp(steps) > 1e-3 * steps.mean():
        raise FileError(str(file), None, "expected two lines or more, evenly spaced in time")
    return FloorPath(fps=float(1.0 / steps.mean()), places=table[:, 1:3], headings=np.radians(table[:, 3]))


def make_loop(motion: Motion) -> tuple[Motion, list[str]]:
    """The part of a motion that repeats best, closed so that its last pose is its first, seen from the path.

    What the two ends still differ by is taken out evenly over the loop. Planted feet are then held again.

    Returns:
        The loop, and sentences on where it was cut and how well it closes.
    """
    period = find_period(motion)
    if period is not None and period >= motion.num_frames - 1:
        frames = np.append(np.arange(period), 0)
        return motion[frames], [f"the motion repeats already, every {period / motion.fps:.2f} s"]
    relative, path = in_place(motion)
    first, last = _find_loop(relative, path)
    frames = np.arange(first, last + 1)
    cut, way = relative[frames], path.taken(frames)
    ends = fk(cut[[0, -1]]).positions
    gap = float(np.linalg.norm(ends[1] - ends[0], axis=-1).max())
    share = np.linspace(-0.5, 0.5, len(frames))
    turned = log(multiply(conjugate(cut.rotations[0]), cut.rotations[-1]))
    rotations = multiply(cut.rotations, exp(-share[:, None, None] * turned))
    root = cut.root - share[:, None] * (cut.root[-1] - cut.root[0])
    parts = {"root": root, "rotations": rotations}
    if cut.offsets is not None:
        parts["offsets"] = cut.offsets - share[:, None, None] * (cut.offsets[-1] - cut.offsets[0])
    closed = along_path(cut.derived(**parts), way)
    stride = Stride(
        turn=from_axis_angle(UP, way.headings[-1] - way.headings[0]), start=way.positions[0], end=way.positions[-1]
    )
    smooth = smooth_seam(closed, stride)
    closed, plant_notes = hold_plants(smooth, stride)
    if closed is not smooth and has_floor_root(motion.skeleton):
        # The solver moves the whole body; a root on the floor stays there.
        closed = _move_root(closed, smooth.root, smooth.rotations[:, 0])
    seam, inner = seam_jump(closed, stride)
    where = f"frames {first} to {last} repeat best, {(last - first) / motion.fps:.2f} s"
    each_frame = 1000 * gap / (last - first)
    notes = [
        f"{where}; their ends differed by up to {1000 * gap:.1f} mm, taken out evenly: {each_frame:.2f} mm a frame",
        f"at the seam a joint's speed changes by up to {seam:.2f} m/s in a frame, elsewhere by up to {inner:.2f} m/s",
        *plant_notes,
    ]
    if gap > 0.1 * leg_length(motion.skeleton):
        notes.append(
            "the motion does not repeat itself: the ends were far apart, and limbs drift while they are joined"
        )
    if way.speed < SLOW_LOOP_SHARE * path.speed:
        notes.append(
            f"the loop travels at {way.speed:.2f} m/s and the whole motion at {path.speed:.2f} m/s: "
            "--frames A:B chooses where to look"
        )
    return closed, notes


def _find_loop(relative: Motion, path: FloorPath) -> tuple[int, int]:
    """The first and last frame of the part whose ends are most alike in pose and velocity."""
    count, shortest = relative.num_frames, max(int(MIN_LOOP_SECONDS * relative.fps), 2)
    if count < shortest + 2:
        raise MotionError(f"A loop needs {shortest + 2} frames or more; the motion has {count}")
    step = max(1, -(-count // MAX_LOOP_CANDIDATES))
    positions = fk(relative).positions
    speeds = np.gradient(positions, 1.0 / relative.fps, axis=0)
    travel = unrotate(path.rotations, np.gradient(path.positions, 1.0 / path.fps, axis=0))
    features = np.concatenate(
        [positions.reshape(count, -1), VELOCITY_SECONDS * (speeds + travel[:, None]).reshape(count, -1)], axis=1
    )
    coarse = np.arange(0, count, step)
    first, last = _closest_pair(features, coarse, coarse, shortest)
    if step > 1:
        near = [np.clip(np.arange(frame - step, frame + step + 1), 0, count - 1) for frame in (first, last)]
        first, last = _closest_pair(features, np.unique(near[0]), np.unique(near[1]), shortest)
    return first, last


def _closest_pair(features: Array, starts: np.ndarray, ends: np.ndarray, shortest: int) -> tuple[int, int]:
    squares = np.einsum("ij,ij->i", features, features)
    distances = squares[starts][:, None] + squares[ends][None] - 2.0 * features[starts] @ features[ends].T
    lengths = ends[None] - starts[:, None]
    distances[lengths < shortest] = np.inf
    # Of those that are about as good as the best, the longest shows most of the motion.
    good = distances <= MAX_WORSE_FACTOR * distances.min() + 1e-12
    first, last = np.unravel_index(int(np.argmax(np.where(good, lengths, 0))), distances.shape)
    return int(starts[first]), int(ends[last])


def rename_joints(clip: Clip, *, add: str = "", remove: str = "") -> Clip:
    """A clip with a prefix removed from and another added to the names of its joints and ends."""
    old = clip.skeleton

    def renamed(name: str) -> str:
        return add + (name.removeprefix(remove) or name)

    names = tuple(renamed(name) for name in old.names)
    if len(set(names)) < len(names):
        raise OptionError(f"Without the prefix `{remove}` two joints would have one name")
    if names == old.names:
        return clip
    skeleton = replace(
        old, names=names,
        ends=tuple(replace(end, name=renamed(end.name), joint=renamed(end.joint)) for end in old.ends),
        role_joints={role: renamed(name) for role, name in old.role_joints.items()},
    )  # fmt: skip

    def with_names(skeleton: Skeleton, motion: Motion) -> Motion:
        return replace(motion, skeleton=skeleton)

    motion = None if clip.motion is None else with_names(skeleton, clip.motion)
    return replace(clip, skeleton=skeleton, motion=motion, others=_changed(clip, with_names, skeleton), layout=None)
