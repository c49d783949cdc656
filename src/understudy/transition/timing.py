"""Corresponding frames: where to leave one motion, where to enter another, and which frames coincide in between.

Dynamic time warping over features that both motions have finds them. The postures need not be alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, from_axis_angle, rotate
from understudy.base.records import record
from understudy.correspondence.pairs import Correspondence, Pair
from understudy.figure.contacts import Contact, contact_points, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing, leg_length, partners
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton


def standing_points(motion: Motion) -> tuple[Point, ...]:
    """The points a body stands on in a motion: its feet, and tips of other limbs that come down to foot height.

    Only a chain with a mirrored partner counts as a limb: a tail that hangs low carries no weight.
    """
    points = list(contact_points(motion))
    skeleton, pose = motion.skeleton, fk(motion)
    if not points:
        return ()
    floor = float(np.percentile(pose.points(points)[..., 1].min(axis=1), 20))
    partner = partners(skeleton)
    covered = partner == np.arange(skeleton.num_joints)
    for point in points:
        covered |= skeleton.below(skeleton.index[point.joint])
    joints_with_ends = {end.joint for end in skeleton.ends}
    tips = [end for end in skeleton.ends if not covered[skeleton.index[end.joint]]]
    tips += [
        skeleton.point(name)
        for name, children, is_covered in zip(skeleton.names, skeleton.children, covered, strict=True)
        if not (children or is_covered or name in joints_with_ends)
    ]
    if tips:
        low = np.percentile(pose.points(tips)[..., 1], 10, axis=0) < floor + 0.1 * leg_length(skeleton)
        points += [tip for tip, is_low in zip(tips, low, strict=True) if is_low]
    return tuple(points)


def limb_of(whole: Correspondence, side: str, joint: str) -> Pair | None:
    """The first pair of the limb that a joint of the source or target belongs to; None at the root and above."""
    skeleton: Skeleton = getattr(whole, side)
    pair_of = {bone: pair for pair in whole.pairs for bone in getattr(pair, side)}
    chain: list[Pair] = []
    for bone in skeleton.chain(skeleton.joint(joint)):
        pair = pair_of.get(skeleton.names[bone])
        if pair is not None and pair not in chain:
            chain.append(pair)
    if not chain or chain[-1] is whole.root:
        return None
    for upper, lower in zip(reversed(chain[:-1]), reversed(chain[1:]), strict=True):
        if upper is whole.root or _branches(whole, side, upper):
            return lower
    return chain[0]


def limb_name(whole: Correspondence, side: str, joint: str) -> str | None:
    """The name of a joint's limb: the limb's first bone on the source, or on its own body if it has no partner."""
    limb = limb_of(whole, side, joint)
    if limb is not None:
        return limb.source[0]
    skeleton: Skeleton = getattr(whole, side)
    paired = {bone for pair in whole.pairs for bone in getattr(pair, side)}
    names = [skeleton.names[above] for above in skeleton.chain(skeleton.joint(joint))]
    below = names[max((i for i, name in enumerate(names) if name in paired), default=0) + 1 :]
    return below[0] if below else None


def _branches(whole: Correspondence, side: str, pair: Pair) -> bool:
    """Whether more than one pair hangs directly from a pair."""
    skeleton: Skeleton = getattr(whole, side)
    pair_of = {skeleton.index[bone]: other for other in whole.pairs for bone in getattr(other, side)}
    below = set()
    for other in whole.pairs:
        above = skeleton.chain(skeleton.index[getattr(other, side)[0]])[:-1]
        nearest = next((pair_of[j] for j in reversed(above) if j in pair_of and pair_of[j] is not other), None)
        if nearest is pair:
            below.add(other)
    return len(below) > 1


STANCE_SMOOTHING_SECONDS = 0.04
"""Standard deviation of the filter that softens landings and lift-offs."""

COURSE_SMOOTHING_SECONDS = 0.25
"""Standard deviation of the filter on speed and turning: they describe the body's course, not its sway."""

WEIGHTS = {"stance": 1.0, "phase": 0.7, "speed": 1.0, "turning": 0.5, "height": 2.0, "posture": 4.0}
"""Weight of each feature for a difference of: stance against swing, a sixth of a stride, a leg length per second, a
radian per second, hips at the floor against hips at their highest, and joints a leg length apart."""


@record
class Features:
    """Weighted features of two motions, frame by frame."""

    values: tuple[Array, Array]
    """(F, C) of each motion, at that motion's frames."""
    names: tuple[str, ...]
    fps: tuple[float, float]
    strides: tuple[float, float]
    """Seconds per stride of each motion; nan if it has no strides."""

    def at(self, which: int, times: Array) -> Array:
        """(N, C) features of one motion at times (N,), seconds."""
        values = self.values[which]
        frames = np.arange(len(values)) / self.fps[which]
        return np.stack([np.interp(times, frames, column) for column in values.T], -1)


def compare(
    whole: Correspondence,
    motions: tuple[Motion, Motion],
    contacts: tuple[Sequence[Contact] | None, Sequence[Contact] | None] = (None, None),
    *,
    one_body: bool = False,
) -> Features:
    """Compute the features by which two motions are compared.

    Args:
        whole: Which bones of the first (source) and second (target) body correspond.
        motions: The first and the second motion.
        contacts: Their contacts; detected where None.
        one_body: Whether both motions are of the same body, so that postures can be compared too.

    A limb counts if both bodies stand on it at some time. Without such a limb only course and posture are compared.
    """
    stances = tuple(
        _stances(whole, side, motion, detect_contacts(motion, standing_points(motion)) if known is None else known)
        for side, motion, known in zip(("source", "target"), motions, contacts, strict=True)
    )
    shared = [limb for limb in whole.pairs if limb in stances[0] and limb in stances[1]]
    phases = _phases(shared, stances, motions)
    names = [f"stance of {limb.source[0]}" for limb in shared]
    names += ["phase", "phase"] if phases is not None else []
    values = []
    for which, motion in enumerate(motions):
        deviation = STANCE_SMOOTHING_SECONDS * motion.fps
        columns = [WEIGHTS["stance"] * _smooth(stances[which][limb], deviation) for limb in shared]
        if phases is not None:
            angle = 2.0 * np.pi * phases[which][0]
            columns += [WEIGHTS["phase"] * np.cos(angle), WEIGHTS["phase"] * np.sin(angle)]
        values.append(np.stack([*columns, *_course(motion), *(_posture(motion) if one_body else ())], -1))
    strides = (np.nan, np.nan) if phases is None else (phases[0][1], phases[1][1])
    return Features(
        values=(values[0], values[1]),
        names=(*names, "speed", "turning", "height", *(["posture"] * (len(values[0].T) - len(names) - 3))),
        fps=(motions[0].fps, motions[1].fps),
        strides=strides,
    )


def _stances(whole: Correspondence, side: str, motion: Motion, contacts: Sequence[Contact]) -> dict[Pair, np.ndarray]:
    """For each limb (F,) whether the body stands on it."""
    stances: dict[Pair, np.ndarray] = {}
    for contact in contacts:
        limb = limb_of(whole, side, contact.point.joint) if contact.on == "floor" else None
        if limb is not None:
            stance = stances.setdefault(limb, np.zeros(motion.num_frames, bool))
            stance[contact.frames(motion.fps, motion.num_frames)] = True
    return {limb: stance for limb, stance in stances.items() if stance.any()}


def _smooth(values: np.ndarray, width: float) -> Array:
    from scipy.ndimage import gaussian_filter1d

    return gaussian_filter1d(np.asarray(values, float), max(width, 1e-3), mode="nearest")


def _phases(
    shared: list[Pair], stances: tuple[dict[Pair, np.ndarray], ...], motions: tuple[Motion, Motion]
) -> list[tuple[Array, float]] | None:
    """For each motion its phase (F,), in strides from a landing of one limb, and the seconds per stride."""
    for limb in shared:
        phases = []
        for stance, motion in zip((limb_stances[limb] for limb_stances in stances), motions, strict=True):
            landings = np.flatnonzero(stance[1:] & ~stance[:-1]) + 1.0
            if len(landings) < 2:
                break
            stride = float(np.median(np.diff(landings)))
            frames = np.arange(motion.num_frames, dtype=float)
            phase = np.interp(frames, landings, np.arange(len(landings)))
            phase += np.minimum(frames - landings[0], 0.0) / stride + np.maximum(frames - landings[-1], 0.0) / stride
            phases.append((phase, stride / motion.fps))
        if len(phases) == 2:
            return phases
    return None


def _posture(motion: Motion) -> Array:
    """(3 J, F) weighted joint positions relative to the root and the facing direction, in leg lengths."""
    forward = facing(motion)
    yaw = from_axis_angle(np.array([0.0, 1.0, 0.0]), -np.arctan2(forward[:, 0], forward[:, 2]))
    local = rotate(yaw[:, None], fk(motion).positions - motion.root[:, None])
    size = leg_length(motion.skeleton) * np.sqrt(motion.skeleton.num_joints)
    return WEIGHTS["posture"] * local.reshape(motion.num_frames, -1).T / size


def _course(motion: Motion) -> tuple[Array, Array, Array]:
    """Weighted ground speed (leg lengths per second), turning rate and height (share of its maximum), (F,) each."""
    if motion.num_frames < 2:
        return np.zeros(1), np.zeros(1), np.ones(1)
    width = COURSE_SMOOTHING_SECONDS * motion.fps
    smooth = np.stack([_smooth(motion.root[:, axis], width) for axis in (0, 2)], -1)
    speed = np.linalg.norm(np.gradient(smooth, axis=0), axis=-1) * motion.fps / leg_length(motion.skeleton)
    forward = facing(motion)
    yaw = np.unwrap(np.arctan2(forward[:, 0], forward[:, 2]))
    turning = np.gradient(_smooth(yaw, width)) * motion.fps
    positions = fk(motion).positions
    above = motion.root[:, 1] - np.percentile(positions[..., 1].min(axis=1), 5)
    height = above / max(float(np.percentile(above, 95)), 0.1 * leg_length(motion.skeleton))
    return WEIGHTS["speed"] * speed, WEIGHTS["turning"] * turning, WEIGHTS["height"] * height


def warp(
    a: Array, b: Array, *, band: int | None = None, free_end: bool = False, stray: float = 0.0
) -> tuple[np.ndarray, float]:
    """Dynamic time warping: match rows of a (N, C) to rows of b (M, C) at the least mean difference.

    The path begins at both first rows and advances by (1, 1), (1, 2) or (2, 1) rows, so that neither side runs more
    than twice as fast as the other. Memory is N times the band.

    Args:
        a: Rows of features.
        b: Rows of features.
        band: How many rows the path may stray from an even pace; half the longer input if not given.
        free_end: Whether the path may end at any row of b instead of the last; an even pace is then one row for one.
        stray: Penalty added to the squared difference for straying by the length of a; grows with the square.

    Returns:
        The path (K, 2), rising, and the mean squared difference along it; an empty path and infinity if there is none.
    """
    count, width = len(a), 2 * (band or max(len(a), len(b)) // 2 + 1) + 1
    pace = 1.0 if free_end or count < 2 else (len(b) - 1) / (count - 1)
    start = np.rint(np.arange(count) * pace).astype(int) - width // 2
    step = np.zeros((count, width), np.uint8)
    totals, costs = np.full((2, 2, width), np.inf)
    for i in range(count):
        cost = _row_costs(a[i], b, start[i], width)
        if stray:
            cost = cost + stray * ((start[i] + np.arange(width) - pace * i) / count) ** 2
        if i == 0:
            total = np.where(np.arange(width) == -start[0], cost, np.inf)
        else:
            total, step[i] = _least_sums(cost, totals, costs, start[i] - start[max(i - 2, 0) : i])
        totals, costs = np.stack([totals[1], total]), np.stack([costs[1], cost])
    rows = start[-1] + np.arange(width)
    shares = totals[1] / (0.5 * (count + np.clip(rows + 1, 1, None)))
    column = int(np.argmin(shares)) if free_end else len(b) - 1 - int(start[-1])
    if not (0 <= column < width and np.isfinite(shares[column])):
        return np.empty((0, 2), int), np.inf
    return _trace_path(step, start, column), float(shares[column])


def _least_sums(cost: Array, totals: Array, costs: Array, shifts: np.ndarray) -> tuple[Array, np.ndarray]:
    """The least sums (width,) up to a row, and the step that leads there: (1, 1) is 0, (1, 2) is 1, (2, 1) is 2.

    Args:
        cost: (width,) cost of this row.
        totals: (2, width) sums up to the second-last and the last row.
        costs: (2, width) costs of those rows.
        shifts: How many columns later the band begins than at those rows, as far as they exist.
    """
    one_one = _shift_left(totals[1], shifts[-1] - 1) + cost
    one_two = _shift_left(totals[1], shifts[-1] - 2) + 0.75 * (cost + _shift_left(cost, -1))
    two_one = np.full(len(cost), np.inf)
    if len(shifts) > 1:
        two_one = _shift_left(totals[0], shifts[0] - 1) + 0.75 * (cost + _shift_left(costs[1], shifts[-1]))
    sums = np.stack([one_one, one_two, two_one])
    return np.min(sums, axis=0), np.argmin(sums, axis=0)


def _row_costs(row: Array, b: Array, start: int, width: int) -> Array:
    """(width,) squared differences between a row and the rows of b from `start` on; infinite outside b."""
    costs = np.full(width, np.inf)
    low, high = max(start, 0), min(start + width, len(b))
    if low < high:
        costs[low - start : high - start] = ((b[low:high] - row) ** 2).sum(axis=-1)
    return costs


def _shift_left(values: Array, places: int) -> Array:
    """Values shifted left by some places; infinity is shifted in."""
    shifted = np.full(len(values), np.inf)
    if places >= 0:
        shifted[: max(len(values) - places, 0)] = values[places:]
    else:
        shifted[-places:] = values[:places]
    return shifted


def _trace_path(step: np.ndarray, start: np.ndarray, column: int) -> np.ndarray:
    i, j = len(step) - 1, int(start[-1]) + column
    path = [(i, j)]
    while i > 0:
        move = int(step[i, j - start[i]])
        i, j = i - (2 if move == 2 else 1), j - (2 if move == 1 else 1)
        path.append((i, j))
    return np.array(path[::-1])


WARP_FPS = 30.0
"""Frame rate at which motions are warped."""

SEARCH_FPS = 15.0
"""Frame rate at which all pairs of leaving and entering times are tried."""

BLOCK_ROWS = 32
"""Rows of the difference matrix that are computed together."""

MAX_CANDIDATES = 16
"""How many of the best pairs are warped before one is chosen."""

CUT_PENALTY = 1.0
"""Cost of cutting all of one motion, added to the mean difference of frames, so that most of both is kept."""

BLEND_SECONDS = (0.5, 2.0)
"""Shortest and longest blend that is chosen automatically."""

DEFAULT_BLEND_SECONDS = 1.0
"""Length of a blend between motions without strides."""

MAX_OVERRUN = 1.3
"""How much more of the second motion than its strides' pace gives may be matched, as a factor."""

STRAY_PENALTY = 0.5
"""Cost of being a whole blend ahead of that pace, added to the mean difference; grows with the square."""

PACES = (0.4, 2.5)
"""Slowest and fastest pace of the second motion relative to the first."""


@record
class FrameMatch:
    """Where to leave one motion and enter another, and which times coincide in between."""

    first: Array
    """(N,) seconds of the first motion, rising: the blend begins at the first of them and ends at the last."""
    second: Array
    """(N,) the corresponding seconds of the second motion."""
    cost: float
    """Mean squared difference of the matched frames; 0 if they are alike."""
    names: tuple[str, ...]
    """The features that were compared."""

    @property
    def leave(self) -> float:
        """Seconds of the first motion at which the blend begins."""
        return float(self.first[0])

    @property
    def enter(self) -> float:
        """Seconds of the second motion at which the blend begins."""
        return float(self.second[0])


def find_match(
    features: Features,
    *,
    seconds: float | None = None,
    leave: float | None = None,
    enter: float | None = None,
    min_seconds: float = BLEND_SECONDS[0],
) -> FrameMatch:
    """Find the best time to leave the first motion and to enter the second, and match the frames of the blend.

    Args:
        features: The features of both motions.
        seconds: Length of the blend; the mean stride if not given.
        leave: Seconds of the first motion at which the blend begins; the best time if not given.
        enter: Seconds of the second motion at which the blend begins; the best time if not given.
        min_seconds: Shortest blend in seconds, if `seconds` is not given and there is room.
    """
    ends = [(len(values) - 1) / fps for values, fps in zip(features.values, features.fps, strict=True)]
    strides = np.array(features.strides)
    pace = float(np.clip(strides[1] / strides[0], *PACES)) if np.all(np.isfinite(strides)) else 1.0
    spans = _spans(features, seconds, min_seconds, pace, (ends[0] - (leave or 0.0), ends[1] - (enter or 0.0)))
    for name, time, end, span in (("leave", leave, ends[0], spans[0]), ("enter", enter, ends[1], spans[1])):
        if time is not None and not 0.0 <= time <= end - span + 1e-9:
            raise OptionError(
                f"Expected `{name}` from 0 to {max(end - span, 0.0):.2f} s, so that a blend of {span:.2f} s fits "
                f"before the motion's end at {end:.2f} s; got {time:g} s"
            )
    best: FrameMatch | None = None
    least_cost = np.inf
    for leave_time, enter_time in _candidates(features, ends, spans, pace, leave, enter):
        match = _warp_from(features, (leave_time, enter_time), spans, ends[1])
        cost = match.cost + CUT_PENALTY * ((ends[0] - spans[0] - leave_time) / ends[0] + enter_time / ends[1])
        if cost < least_cost:
            best, least_cost = match, cost
    assert best is not None
    return best


def _spans(
    features: Features, seconds: float | None, min_seconds: float, pace: float, room: tuple[float, float]
) -> tuple[float, float]:
    """Seconds of each motion that a blend takes; their ratio is the pace."""
    longest = min(room[0] * 0.5 * (1.0 + pace), room[1] * 0.5 * (1.0 + 1.0 / pace))
    if seconds is None:
        stride = float(np.mean(features.strides)) if np.isfinite(features.strides[0]) else DEFAULT_BLEND_SECONDS
        seconds = min(max(min(stride, BLEND_SECONDS[1]), min_seconds), 0.8 * longest)
    if not (np.isfinite(seconds) and 0.0 < seconds <= longest + 1e-9):
        raise OptionError(
            f"Expected a blend of more than zero and at most {longest:.2f} s, for which both motions have room; "
            f"got {seconds:g} s"
        )
    first = 2.0 * seconds / (1.0 + pace)
    return first, pace * first


def _candidates(
    features: Features,
    ends: Sequence[float],
    spans: tuple[float, float],
    pace: float,
    leave: float | None,
    enter: float | None,
) -> list[tuple[float, float]]:
    """Pairs of times (first motion, second motion) from which both differ least at an even pace, best first.

    Sums along the diagonals of the difference matrix are updated row by row, so that only one window is in memory.
    """
    first_start = 0.0 if leave is None else leave
    second_start = 0.0 if enter is None else enter
    window = round(spans[0] * SEARCH_FPS) + 1
    tops = np.arange(1 if leave is not None else int((ends[0] - spans[0]) * SEARCH_FPS + 1e-6) + 1)
    lefts = np.arange(1 if enter is not None else int((ends[1] - spans[1]) * SEARCH_FPS / pace + 1e-6) + 1)
    clock = np.arange(max(len(tops), len(lefts)) + window - 1, dtype=float) / SEARCH_FPS
    a = features.at(0, first_start + clock[: len(tops) + window - 1])
    b = features.at(1, second_start + pace * clock[: len(lefts) + window - 1])
    candidates: list[tuple[float, int, int]] = []
    recent_costs = np.zeros((window, len(b)))
    running = np.zeros(len(b))
    cut_costs = CUT_PENALTY * pace * lefts / (SEARCH_FPS * ends[1])
    for i in range(len(a)):
        if i % BLOCK_ROWS == 0:
            block = _differences(a[i : i + BLOCK_ROWS], b)
        cost = block[i % BLOCK_ROWS]
        running = np.concatenate([[0.0], running[:-1]]) + cost
        if i >= window:
            running[window:] -= recent_costs[i % window][: len(b) - window]
        recent_costs[i % window] = cost
        if i >= window - 1:
            top = i - window + 1
            means = (
                running[window - 1 :] / window
                + cut_costs
                + CUT_PENALTY * (ends[0] - spans[0] - first_start - top / SEARCH_FPS) / ends[0]
            )
            left = int(np.argmin(means))
            candidates.append((float(means[left]), top, left))
    candidates.sort()
    return [
        (first_start + top / SEARCH_FPS, second_start + left * pace / SEARCH_FPS)
        for _, top, left in candidates[:MAX_CANDIDATES]
    ]


def _differences(a: Array, b: Array) -> Array:
    """(N, M) squared differences of rows a (N, C) and b (M, C)."""
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2.0 * (a @ b.T)
    return np.maximum(squares, 0.0)


def _warp_from(features: Features, begin: tuple[float, float], spans: tuple[float, float], last: float) -> FrameMatch:
    """Match frames from a pair of times on; `last` is the last time of the second motion, seconds."""
    # Both have the same number of rows, so that an even pace of the warp is the pace of the strides.
    count = max(round(0.5 * sum(spans) * WARP_FPS), 2) + 1
    clock = np.arange(round(MAX_OVERRUN * count), dtype=float) / (count - 1)
    second = begin[1] + spans[1] * clock
    second = second[second <= max(last, begin[1] + spans[1]) + 1e-9]
    first = begin[0] + spans[0] * clock[:count]
    path, cost = warp(features.at(0, first), features.at(1, second), free_end=True, stray=STRAY_PENALTY)
    return FrameMatch(first=first[path[:, 0]], second=second[path[:, 1]], cost=cost, names=features.names)
