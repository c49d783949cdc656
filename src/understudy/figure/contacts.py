"""Contacts: what touches what and when, given by the user or detected where a point of the body stays still.

**Motion in place**: a body that walks without moving on stands on a floor that moves under it, as on a treadmill. Its
contacts are detected as seen from that floor, and move with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, between, multiply, rotate, unrotate
from understudy.base.records import cached, median, percentile, record
from understudy.figure.kinematics import Pose, fk, pose_of
from understudy.figure.main_bones import main_bones
from understudy.figure.measures import feet, hands, is_humanoid, leg_length, sole_points
from understudy.figure.motion import Motion
from understudy.figure.roles import roles, words
from understudy.figure.skeleton import Point, Skeleton


@record
class Contact:
    """A point of a body touching something from one time to another, both included."""

    point: Point
    start: float
    """Seconds."""
    end: float
    """Seconds."""
    place: Array | None = None
    """(3,) metres, world, where the point stays; None where the touched thing moves."""
    actor: str = ""
    """The actor that the point belongs to, if there are several."""
    on: str = "floor"
    """What is touched: "floor", a prop's name or another actor's name."""
    other: Point | None = None
    """The point touched on the other actor."""
    confidence: float = 1.0
    """From 0 to 1; 1 for contacts given by a user or a sample."""
    velocity: Array | None = None
    """(3,) metres a second, world: how a moving floor carries the point, which is at `place` at the start; None for a
    floor at rest."""

    def __repr__(self) -> str:
        whose = f"{self.actor}'s " if self.actor else ""
        return f"<Contact {whose}{self.point.name} on {self.on}: {self.start:.2f} to {self.end:.2f} s>"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.start) and math.isfinite(self.end) and self.start <= self.end):
            raise OptionError(f"A contact must end after it starts; got {self.start} to {self.end} s")

    def frames(self, fps: float, num_frames: int) -> np.ndarray:
        """The frames of a motion during which the contact holds."""
        first = max(int(np.ceil(self.start * fps - 1e-6)), 0)
        last = min(int(np.floor(self.end * fps + 1e-6)), num_frames - 1)
        return np.arange(first, last + 1)


MIN_STEP_RADII = 3.0
"""Least distance of two places, in radii, for a move from one to the other to count as a step."""

MIN_REST_SHARE, MIN_PAUSE_SECONDS = 0.5, 0.1
"""A contact lasts for at least this share of the time in which its point is slow, or for that many seconds: a foot that
creeps along and pauses for less has no place there, while the whole stance of a runner may be as short."""

MAX_STRAY_RADII = 2.0
"""Greatest distance, in radii, that a point may stray between two rests in one place that are one contact."""

LOW_PERCENTILE = 5.0
"""Percentile of the heights of the ball of a foot that is taken as its height in stance."""

FAST_PERCENTILE = 95.0
"""Percentile of the speeds of a point that is taken as its fast movement."""

NUM_CANDIDATE_PLACES = 32
"""Number of places on the path of a point that are tried as the place it stays in."""

MAX_HEEL_COSINE = np.cos(np.radians(60.0))
"""Greatest cosine of the angle at the ankle between the ball of the foot and the heel."""


@record(eq=True)
class Detection:
    """Thresholds of contact detection. Lengths are in leg lengths, so that one setting fits every body."""

    speed: float = 0.12
    """Leg lengths a second below which a point is at rest."""
    share: float = 0.04
    """Share of a point's fast speed below which it is at rest too: a running foot never stands quite still."""
    release: float = 2.0
    """Factor on the rest speed that a point may reach between two moments of rest within one contact."""
    radius: float = 0.007
    """Leg lengths that a point may move from its place and still stay there."""
    window: float = 0.06
    """Seconds over which speed is measured."""
    shortest: float = 0.06
    """Least duration of a contact, seconds."""
    gap: float = 0.12
    """Least time between two contacts of a point, seconds; closer ones are joined or shortened."""


def contact_points(motion: Motion) -> tuple[Point, ...]:
    """The points to watch: heel and ball of each foot, or whatever else the body stands on."""
    main = main_bones(motion.skeleton)
    return tuple(main.point(point) for point in _stood_on(main.of_motion(motion))[0])


def stood_on(motion: Motion) -> tuple[tuple[Point, ...], Pose | None]:
    """The `contact_points` of a motion and the pose of their joints; None if there are no points."""
    if main_bones(motion.skeleton).is_whole:
        points, pose = _stood_on(motion)
    else:
        points, pose = contact_points(motion), None
    if pose is None and points:
        pose = pose_of(motion, [motion.skeleton.joint(point.joint) for point in points])
    return points, pose


def _stood_on(motion: Motion) -> tuple[tuple[Point, ...], Pose | None]:
    """The `contact_points` of a motion, and the pose of the feet if it had to be computed.

    A foot without a heel point gets one: straight below the ankle, at the height of the ball of the foot, in the frames
    where the foot is stillest.
    """
    skeleton = motion.skeleton
    joint_of = roles(skeleton)
    ankles = [joint_of[f"{s}_foot"] for s in ("left", "right") if f"{s}_foot" in joint_of]
    if not is_humanoid(skeleton):
        if not ankles or any(point in skeleton.ends for point in feet(skeleton)[:1]):
            return feet(skeleton), None
        # A four-legged body without a standing rest pose is recognised by its names: it stands on its hands too.
        ankles += [joint_of[f"{s}_hand"] for s in ("left", "right") if f"{s}_hand" in joint_of]
    standing: list[list[Point]] = []
    bare: list[tuple[int, str, Point]] = []
    toe_joints = [joint_of[f"{s}_toe"] for s in ("left", "right") if f"{s}_toe" in joint_of]
    for ankle in ankles:
        below = skeleton.below(ankle)
        # Between the ankle and the ball of the foot there may be bones of the instep.
        balls = [j for j in toe_joints if below[j]] or [j for j in np.flatnonzero(below).tolist() if j != ankle]
        ends = [end for end in skeleton.ends if below[skeleton.index[end.joint]]]
        soles = [end for end in ends if "sole" in words(end.name)] or sole_points(skeleton, ankle)
        if soles:
            # The file of a robot gives the points that its feet stand on.
            standing.append(soles)
            continue
        heels = [end for end in ends if "heel" in end.name.lower()]
        heels = heels or [end for end in ends if balls and _behind(skeleton, end, ankle, int(balls[0]))]
        toes = [skeleton.point(skeleton.names[balls[0]])] if balls else [e for e in ends if e not in heels][:1]
        if not heels and toes:
            bare.append((len(standing), skeleton.names[ankle], toes[0]))
        standing.append((heels + toes) or [skeleton.point(skeleton.names[ankle])])
    pose: Pose | None = None
    if bare:
        pose = pose_of(motion, [int(j) for a in ankles for j in np.flatnonzero(skeleton.below(a))])
        heels = _heels(pose, [name for _, name, _ in bare], [ball for _, _, ball in bare])
        for (number, _, _), heel in zip(bare, heels, strict=True):
            standing[number].insert(0, heel)
    return tuple(point for points in standing for point in points), pose


def _behind(skeleton: Skeleton, end: Point, ankle: int, ball: int) -> bool:
    """Whether the shape says that an end of an ankle is a heel: formats such as BVH have unnamed ends."""
    lengths = np.linalg.norm(end.offset), np.linalg.norm(skeleton.offsets[ball])
    if end.joint != skeleton.names[ankle] or skeleton.parents[ball] != ankle or min(lengths) < 1e-6:
        return False
    return bool(end.offset @ skeleton.offsets[ball] < MAX_HEEL_COSINE * lengths[0] * lengths[1])


def _heels(pose: Pose, names: Sequence[str], balls: Sequence[Point]) -> list[Point]:
    """A heel point for each foot, given the names of the ankles and the balls of the feet."""
    ankles = [pose.skeleton.index[name] for name in names]
    place = pose.points(balls)
    step = _length(np.gradient(place, axis=0)) if len(place) > 1 else np.zeros(place.shape[:2])
    low = percentile(place[..., 1], LOW_PERCENTILE)
    still = np.argsort(step + np.abs(place[..., 1] - low), axis=0)[: max(len(place) // 10, 1)]
    columns = np.arange(len(ankles))
    up = unrotate(pose.rotations[still, ankles], np.array([0.0, 1.0, 0.0])).mean(axis=0)
    drop = median(pose.positions[still, ankles, 1] - place[still, columns, 1])
    offsets = -np.maximum(drop, 0.0)[:, None] * up / _length(up)[:, None]
    return [Point(name=f"{name}_heel", joint=name, offset=offset) for name, offset in zip(names, offsets, strict=True)]


def detect_contacts(
    motion: Motion,
    points: Sequence[Point] | None = None,
    how: Detection | None = None,
    *,
    pose: Pose | None = None,
) -> tuple[Contact, ...]:
    """Detect the contacts of a motion: intervals in which a point stays still.

    A foot that is still above the floor stands on something; a hand that is still holds something.

    Args:
        motion: The motion.
        points: The points to watch; heels, toes and hands if not given.
        how: The thresholds.
        pose: The pose of the points' joints, if already computed.
    """
    how = how or Detection()
    watched = list(points) if points is not None else [*contact_points(motion), *hands(motion.skeleton)]
    if motion.num_frames < 2 or not watched:
        return ()
    leg = leg_length(motion.skeleton)
    pose = pose or pose_of(motion, [motion.skeleton.joint(point.joint) for point in watched])
    places = pose.points(watched)
    holding = {point.name for point in hands(motion.skeleton)}
    speeds = _speeds(places, motion.fps, how)
    usual = np.maximum(how.speed * leg, how.share * percentile(speeds, FAST_PERCENTILE))
    contacts: list[Contact] = []
    for column, point in enumerate(watched):
        for first, last in _still(places[:, column], speeds[:, column], usual[column], motion.fps, leg, how):
            place = median(places[first : last + 1, column])
            strays = float(_length(places[first : last + 1, column] - place).max())
            contacts.append(
                Contact(
                    point=point,
                    start=first / motion.fps,
                    end=last / motion.fps,
                    place=place,
                    on="hold" if point.name in holding else "floor",
                    confidence=round(min(max(1.0 - strays / (2.0 * how.radius * leg), 0.0), 1.0), 3),
                )
            )
    return tuple(contacts)


def _length(vectors: Array) -> Array:
    """(...,) lengths of vectors (..., 3)."""
    return np.sqrt(np.einsum("...i,...i->...", vectors, vectors))


def _within(places: Array, centres: Array, radius: float) -> np.ndarray:
    """(N, C) whether places (N, 3) are within a radius of centres (C, 3), by matrix products, which are fast."""
    a, b = places - places[0], centres - places[0]
    squares = np.einsum("ni,ni->n", a, a)[:, None] + np.einsum("ci,ci->c", b, b) - 2.0 * (a @ b.T)
    return squares <= radius**2


def _speeds(places: Array, fps: float, how: Detection) -> Array:
    """(F, P) metres a second of places (F, P, 3)."""
    frames, half = np.arange(len(places)), max(round(0.5 * how.window * fps), 1)
    moved = places[np.minimum(frames + half, len(places) - 1)] - places[np.maximum(frames - half, 0)]
    return _length(moved) * fps / (2 * half)


def _still(path: Array, speed: Array, rest: float, fps: float, leg: float, how: Detection) -> list[tuple[int, int]]:
    """First and last frames of the intervals in which a path (F, 3) at speeds (F,) stays in one place."""
    rests = []
    for a, b in find_runs(speed < how.release * rest):
        resting = a + np.flatnonzero(speed[a : b + 1] < rest)
        if len(resting):
            rests.append((int(resting[0]), int(resting[-1])))
    shortest = max(round(how.shortest * fps), 2)
    cut = [
        (c, d)
        for a, b in rests
        for c, d in _settled(path, a, b, how.radius * leg, shortest)
        if d - c + 1 >= min(MIN_REST_SHARE * (b - a + 1), MIN_PAUSE_SECONDS * fps)
    ]
    return _apart(path, sorted(cut), max(round(how.gap * fps), 1), shortest, how.radius * leg)


def find_runs(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of true entries."""
    edges = (np.flatnonzero(mask[1:] != mask[:-1]) + 1).tolist()
    edges = [*([0] if len(mask) and mask[0] else []), *edges, *([len(mask)] if len(mask) and mask[-1] else [])]
    return [(a, b - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _settled(path: Array, first: int, last: int, radius: float, shortest: int) -> list[tuple[int, int]]:
    """The parts of an interval in which a path stays within a radius of one place.

    The place where it spends most time comes first; the remaining frames are then searched again. Another place counts
    only if it is a step away, so that a slowly creeping point stays in one place as long as possible and then moves.
    """
    pending, intervals = [(first, last)], []
    places = np.empty((0, 3))
    while pending:
        a, b = pending.pop(0)
        part = path[a : b + 1]
        centre = median(part)
        settled = _length(part - centre) <= radius
        if not settled.all():
            some = part[np.arange(NUM_CANDIDATE_PLACES) * (b - a) // (NUM_CANDIDATE_PLACES - 1)]
            near = _within(part, np.concatenate([some, centre[None]]), radius)
            centre = median(part[near[:, np.count_nonzero(near, axis=0).argmax()]])
            settled = _length(part - centre) <= radius
        if _length(places - centre).min(initial=np.inf) < MIN_STEP_RADII * radius:
            continue
        places = np.concatenate([places, centre[None]])
        if settled.all():
            intervals += [(a, b)] if b - a + 1 >= shortest else []
            continue
        intervals += [(a + c, a + d) for c, d in find_runs(settled) if d - c + 1 >= shortest]
        pending += [(a + c, a + d) for c, d in find_runs(~settled) if d - c + 1 >= shortest]
    return intervals


def _apart(
    path: Array, intervals: list[tuple[int, int]], gap: int, shortest: int, radius: float
) -> list[tuple[int, int]]:
    """Intervals joined where the point returned to the same place, else shortened so that it has time to move."""
    out: list[tuple[int, int]] = []
    for a, b in intervals:
        if out and a - out[-1][1] < gap:
            c, d = out[-1]
            whole = path[c : b + 1]
            same = _length(median(path[c : d + 1]) - median(path[a : b + 1])) < radius
            if same and _length(whole - median(whole)).max() < MAX_STRAY_RADII * radius:
                out[-1] = (c, b)
                continue
            missing = gap - (a - d)
            back = min(missing // 2, max(d - c + 1 - shortest, 0))
            out[-1], a = (c, d - back), a + (missing - back)
        if b - a + 1 >= shortest:
            out.append((a, b))
    return out


MAX_CREEP_SPEED_LEGS_PER_S, CREEP_WINDOW_SECONDS = 0.12, 0.1
"""A point near the floor creeps while its mean speed over the window is lower."""

MAX_CREEP_HEIGHT_LEGS = 0.12
"""A point is near the floor below this height above its lowest places."""

MAX_CREEP_LEGS, MIN_CREEP_SECONDS = 0.02, 0.08
"""A creep that goes farther than the first is cut there. A shorter one counts only beside a contact of its point."""


@record
class Creep:
    """A point of a foot that moves slowly near the floor without a contact: it rolls, settles or slides a little."""

    point: Point
    times: Array
    """(T,) seconds, at least two."""
    path: Array
    """(T, 3) metres, world."""


def find_creeps(
    motion: Motion, contacts: Sequence[Contact], points: Sequence[Point], *, pose: Pose | None = None
) -> list[Creep]:
    """Find where points creep. A creep next to a contact of its point includes the nearest frame of the contact."""
    if motion.num_frames < 4 or not points:
        return []
    leg, fps = leg_length(motion.skeleton), motion.fps
    if pose is None or any(point.joint not in pose.skeleton.index for point in points):
        pose = pose_of(motion, [motion.skeleton.joint(point.joint) for point in points])
    paths = pose.points(points)
    lowest = percentile(paths[..., 1], LOW_PERCENTILE)
    slow = _mean_speeds(paths, fps, CREEP_WINDOW_SECONDS) < MAX_CREEP_SPEED_LEGS_PER_S * leg
    slow &= paths[..., 1] < lowest + MAX_CREEP_HEIGHT_LEGS * leg
    shortest, creeps = max(round(MIN_CREEP_SECONDS * fps), 2), []
    for column, point in enumerate(points):
        of_point = [contact for contact in contacts if contact.point.name == point.name]
        holder = np.full(motion.num_frames + 2, -1)
        for number, contact in enumerate(of_point):
            holder[1 + contact.frames(fps, motion.num_frames)] = number
        held = holder[1:-1] >= 0
        # The frame after a contact may be still where the window around it is not, and so may the one before.
        steps = _length(np.diff(paths[:, column], axis=0)) * fps < MAX_CREEP_SPEED_LEGS_PER_S * leg
        slow[1:, column] |= held[:-1] & steps
        slow[:-1, column] |= held[1:] & steps
        for first, last in find_runs(slow[:, column] & ~held):
            before, after = holder[first] >= 0, holder[last + 2] >= 0
            if last - first + 1 < shortest and not before and not after:
                continue
            frames = np.arange(first - before, last + 1 + after)
            path = paths[frames, column]
            for piece in _cut_path(path, MAX_CREEP_LEGS * leg):
                creeps.append(Creep(point=point, times=motion.times[frames[piece]], path=path[piece]))
    return creeps


def _mean_speeds(paths: Array, fps: float, seconds: float) -> Array:
    """(F, P) metres a second: the mean speed of points along their paths (F, P, 3) over a window in time."""
    lengths = np.concatenate([np.zeros((1, paths.shape[1])), np.cumsum(_length(np.diff(paths, axis=0)), axis=0)])
    frames, half = np.arange(len(paths)), max(round(0.5 * seconds * fps), 1)
    first, last = np.maximum(frames - half, 0), np.minimum(frames + half, len(paths) - 1)
    speeds: Array = (lengths[last] - lengths[first]) * fps / (last - first)[:, None]
    return speeds


def _cut_path(path: Array, longest: float) -> list[slice]:
    """Pieces of a path (n, 3), each of two points or more that are at most that far from its first point."""
    pieces, first = [], 0
    while first < len(path) - 1:
        away = _length(path[first:] - path[first]) > longest
        last = max(first + int(np.argmax(away)), first + 1) if away.any() else len(path) - 1
        pieces.append(slice(first, last + 1))
        first = last
    return pieces


MIN_DEPTH_LEGS = 0.06
"""Leg lengths below a floor at which a contact disproves that floor."""

MIN_SPREAD_RATIO = 0.2
"""Least ratio of the spreads of contacts along two directions at which the narrower one determines a tilt."""

LOWEST_PERCENTILE = 10.0
"""Percentile of the contact heights taken as the floor; contacts below it count as capture errors."""


@record
class Floor:
    """The ground: a plane, level or nearly level (captured floors are often tilted by a degree)."""

    height: float = 0.0
    """Metres at x = z = 0."""
    slope: Array
    """(2,) rise per metre along x and z."""

    def heights(self, places: Array) -> Array:
        """(...,) metres: height of the floor at places (..., 3)."""
        return self.height + places[..., ::2] @ self.slope

    @cached
    def normal(self) -> Array:
        """(3,) unit normal, upwards."""
        up = np.array([-self.slope[0], 1.0, -self.slope[1]])
        return up / np.linalg.norm(up)


def on_level_floor(motion: Motion, floor: Floor) -> Motion:
    """A motion seen from its floor: the floor is level and at height zero, and all else keeps its height above it."""
    turn = between(floor.normal, np.array([0.0, 1.0, 0.0]))
    origin = np.array([0.0, floor.height, 0.0])
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    return replace(motion, root=rotate(turn, motion.root - origin), rotations=rotations)


def find_floor(contacts: Sequence[Contact], leg: float) -> Floor:
    """Fit the floor to contacts: a plane through the lower half of their places.

    A tilt is accepted only if the contacts spread over more than a leg length and fit one plane well. If some contacts
    are far below the median, the others are on steps or rungs or are wrong in the capture; then the lowest contacts
    define the floor.
    """
    places = np.array([c.place for c in contacts if c.place is not None and c.on == "floor"]).reshape(-1, 3)
    flat = np.zeros(2)
    if len(places) == 0:
        return Floor(slope=flat)
    low = places[places[:, 1] <= median(places[:, 1]) + 0.1 * leg]
    level = float(median(low[:, 1]))
    if len(low) >= 4 and (low.max(axis=0) - low.min(axis=0))[[0, 2]].max() > leg:
        centre = low.sum(axis=0) / len(low)
        flat_around, rise = (low - centre)[:, [0, 2]], low[:, 1] - centre[1]
        # A straight path does not determine the tilt across it: directions of small spread stay level.
        squares, ways = np.linalg.eigh(flat_around.T @ flat_around)
        steep = np.where(squares > MIN_SPREAD_RATIO**2 * squares[1], 1.0 / np.maximum(squares, 1e-12), 0.0)
        tilt = (ways * steep) @ (ways.T @ (flat_around.T @ rise))
        left = rise - flat_around @ tilt
        if left @ left < 0.25 * (rise @ rise) and np.hypot(*tilt) < 0.1:
            return Floor(height=float(centre[1] - centre[[0, 2]] @ tilt), slope=tilt)
    lowest = float(percentile(low[:, 1], LOWEST_PERCENTILE))
    return Floor(height=lowest if level - lowest > MIN_DEPTH_LEGS * leg else level, slope=flat)


MAX_STEP_ON_FLOOR_LEGS = 0.05
"""Leg lengths above or below the floor within which a foot stands on the floor, and not on a step. Feet whose steps
differ by no more than this stand on the same step."""


def step_heights(skeleton: Skeleton, contacts: Sequence[Contact], floor: Floor) -> list[float]:
    """Metres above the floor of what each contact stands on: 0 for the floor, else a stair, box, rung or slope.

    What a foot stands on shows in its lowest point: the others may be raised because the foot is tilted. Contacts of
    one limb that overlap in time have the same step.
    """
    standing = [i for i, c in enumerate(contacts) if c.on == "floor" and c.place is not None and c.other is None]
    heights = {i: float(contacts[i].place[1] - floor.heights(contacts[i].place)) for i in standing}  # type: ignore[index,arg-type]
    near, steps = MAX_STEP_ON_FLOOR_LEGS * leg_length(skeleton), [0.0] * len(contacts)
    chains = {i: set(skeleton.chain(skeleton.joint(contacts[i].point.joint))) for i in standing}
    usual: dict[str, float] = {}
    for name in {contacts[i].point.name for i in standing}:
        low = [heights[i] for i in standing if contacts[i].point.name == name and abs(heights[i]) < near]
        usual[name] = float(median(np.array(low))) if low else 0.0
    supports = {}
    for i in standing:
        a = contacts[i]
        stance = [
            j for j in standing
            if (chains[i] <= chains[j] or chains[j] <= chains[i])
            and contacts[j].start <= a.end and a.start <= contacts[j].end
        ]  # fmt: skip
        supports[i] = min(heights[j] - usual[contacts[j].point.name] for j in stance)
    group: list[int] = []
    for i in [*sorted((i for i in standing if abs(supports[i]) >= near), key=lambda i: supports[i]), -1]:
        if group and (i < 0 or supports[i] - supports[group[0]] > near):
            level = float(median(np.array([supports[j] for j in group])))
            for j in group:
                steps[j] = level
            group = []
        group.append(i)
    return steps


def leg_ratio(source: Skeleton, target: Skeleton) -> float:
    """Ratio of the leg lengths, target to source."""
    return leg_length(target) / leg_length(source)


def scaled_places(places: Array, ratio: float, floor: Floor) -> Array:
    """Places (..., 3) scaled about the point of the floor below the world's origin."""
    centre = np.array([0.0, floor.height, 0.0])
    return centre + ratio * (places - centre)


FLOOR_DEPTH_METRES = 1e-3
"""Metres that the floor constraint lies below a contact, so that it does not duplicate the contact constraint."""


def held_frames(motion: Motion, contacts: Sequence[Contact]) -> np.ndarray:
    """(F,) True at the frames of a motion at which one of some contacts holds."""
    held = np.zeros(motion.num_frames, bool)
    for contact in contacts:
        held[contact.frames(motion.fps, motion.num_frames)] = True
    return held


MAX_TRAVEL_LEGS = 0.5
"""Leg lengths between the first and the last place of the root within which a motion is in place."""

MAX_HELD_SHARE = 0.1
"""Share of the time with a contact on a floor at rest above which the floor does not move."""

MAX_LOW_LEGS = 0.04
"""Leg lengths above its lowest place within which a point of a foot is on the floor."""

MIN_SPEED_LEGS_PER_S = 0.3
"""Least speed of a moving floor."""

STEADY_SHARE, MIN_STEADY = 0.25, 0.5
"""Share of the floor's speed by which a low foot may be faster or slower and still be steady, and the least share of
the low frames in which it must be."""

LOOSE_RADIUS_FACTOR = 3.0
"""Factor on how far a point may stray from its place on the floor: game loops are keyed by hand, and their feet are
not as steady as captured ones."""


MIN_STEP_SECONDS = 0.3
"""Seconds: a shorter motion shows no steps on a floor that moves."""


def floor_velocity(motion: Motion, points: Sequence[Point]) -> Array | None:
    """(3,) metres a second, world, horizontal: how the floor moves under a motion in place; None if it does not.

    Args:
        motion: The motion.
        points: The points of the feet.
    """
    if motion.duration < MIN_STEP_SECONDS or not points:
        return None
    leg = leg_length(motion.skeleton)
    if np.linalg.norm((motion.root[-1] - motion.root[0])[[0, 2]]) > MAX_TRAVEL_LEGS * leg:
        return None
    paths = pose_of(motion, [motion.skeleton.joint(point.joint) for point in points]).points(points)
    lowest = paths[..., 1].min(axis=0)
    standing = lowest < lowest.min() + 2.0 * MAX_LOW_LEGS * leg
    low = (paths[..., 1] < lowest + MAX_LOW_LEGS * leg) & standing
    velocities = (np.gradient(paths, axis=0) * motion.fps)[low] * [1.0, 0.0, 1.0]
    usual: Array = np.median(velocities, axis=0)
    speed = float(np.linalg.norm(usual))
    steady = np.linalg.norm(velocities - usual, axis=-1) < STEADY_SHARE * speed
    if speed < MIN_SPEED_LEGS_PER_S * leg or np.mean(steady) < MIN_STEADY:
        return None
    return np.median(velocities[steady], axis=0)


def detect_on_treadmill(
    motion: Motion, contacts: Sequence[Contact], points: Sequence[Point], how: Detection | None = None
) -> tuple[Contact, ...]:
    """The contacts of a motion with a floor that moves, if it is in place and the floor at rest is hardly touched.

    Args:
        motion: The motion.
        contacts: The contacts with a floor at rest.
        points: The points of the feet.
        how: The thresholds.

    Returns:
        The contacts with the moving floor, or the given ones.
    """
    held = held_frames(motion, contacts)
    velocity = floor_velocity(motion, points) if np.mean(held) < MAX_HELD_SHARE else None
    if velocity is None:
        return tuple(contacts)
    how = how or Detection()
    travelling = replace(motion, root=motion.root - motion.times[:, None] * velocity)
    for radius in (how.radius, LOOSE_RADIUS_FACTOR * how.radius):
        speed = max(how.speed, STEADY_SHARE * float(np.linalg.norm(velocity)) / leg_length(motion.skeleton))
        found = detect_contacts(travelling, points, replace(how, radius=radius, speed=speed))
        on_floor = _on_floor(found, leg_length(motion.skeleton))
        if on_floor:
            return tuple(_moving(contact, velocity) for contact in on_floor)
    return tuple(contacts)


def _on_floor(contacts: Sequence[Contact], leg: float) -> list[Contact]:
    """The contacts near the lowest one: a foot that swings may also move back steadily for a moment."""
    heights = [float(c.place[1]) for c in contacts if c.place is not None]
    highest = min(heights, default=0.0) + 2.0 * MAX_LOW_LEGS * leg
    return [c for c in contacts if c.place is not None and c.place[1] < highest]


def _moving(contact: Contact, velocity: Array) -> Contact:
    """A contact found while travelling, as seen in place."""
    assert contact.place is not None
    return replace(contact, place=contact.place + contact.start * velocity, velocity=velocity)


MAX_SAME_STEP, MAX_NEXT_STEP = 0.5, 2.5
"""Share of a usual step from frame to frame by which the last frame of a loop may differ from the first: it is the
same frame below the first number, and the frame before it below the second."""


def find_period(motion: Motion) -> int | None:
    """The number of frames after which a motion repeats, or None if its end does not join its beginning."""
    if motion.num_frames < 4:
        return None
    positions = fk(motion).positions
    step = float(np.median(np.linalg.norm(np.diff(positions, axis=0), axis=-1).max(axis=-1)))
    seam = float(np.linalg.norm(positions[-1] - positions[0], axis=-1).max())
    if step <= 0.0 or seam > MAX_NEXT_STEP * step:
        return None
    return motion.num_frames - 1 if seam < MAX_SAME_STEP * step else motion.num_frames
