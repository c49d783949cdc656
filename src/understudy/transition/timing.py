"""Corresponding frames: where to leave one motion, where to enter another, and which frames coincide between.

Dynamic time warping over what the two have in common finds them: no posture needs to be like another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, from_axis_angle, rotate
from understudy.correspondence.pairs import Correspondence, Pair
from understudy.figure.contacts import Contact, contact_points, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing, leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.figure.symmetry import partners


def standing_points(motion: Motion) -> tuple[Point, ...]:
    """The points a body stands on in a motion: its feet, and tips of other limbs that come down to where feet stand.

    Only what has a partner on the other side is a limb: a tail that hangs low carries nobody.
    """
    points = list(contact_points(motion))
    skeleton, pose = motion.skeleton, fk(motion)
    if not points:
        return ()
    floor = float(np.percentile(pose.points(points)[..., 1].min(axis=1), 20))
    other = partners(skeleton)
    covered = other == np.arange(skeleton.num_joints)
    for point in points:
        covered |= skeleton.below(skeleton.index[point.joint])
    ended = {end.joint for end in skeleton.ends}
    tips = [end for end in skeleton.ends if not covered[skeleton.index[end.joint]]]
    tips += [
        skeleton.point(name)
        for name, below, known in zip(skeleton.names, skeleton.children, covered, strict=True)
        if not (below or known or name in ended)
    ]
    if tips:
        low = np.percentile(pose.points(tips)[..., 1], 10, axis=0) < floor + 0.1 * leg_length(skeleton)
        points += [tip for tip, is_low in zip(tips, low, strict=True) if is_low]
    return tuple(points)


def limb_of(whole: Correspondence, side: str, joint: str) -> Pair | None:
    """The first pair of the limb that a joint of the source or target belongs to; None at the root and above."""
    skeleton: Skeleton = getattr(whole, side)
    owner = {bone: pair for pair in whole.pairs for bone in getattr(pair, side)}
    line: list[Pair] = []
    for above in skeleton.chain(skeleton.joint(joint)):
        pair = owner.get(skeleton.names[above])
        if pair is not None and pair not in line:
            line.append(pair)
    if not line or line[-1] is whole.root:
        return None
    for upper, lower in zip(reversed(line[:-1]), reversed(line[1:]), strict=True):
        if upper is whole.root or _branches(whole, side, upper):
            return lower
    return line[0]


def limb_name(whole: Correspondence, side: str, joint: str) -> str | None:
    """What the limb of a joint is called: the source's first bone of it; for one without partner its own first bone."""
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
    owner = {skeleton.index[bone]: other for other in whole.pairs for bone in getattr(other, side)}
    below = set()
    for other in whole.pairs:
        above = skeleton.chain(skeleton.index[getattr(other, side)[0]])[:-1]
        nearest = next((owner[j] for j in reversed(above) if j in owner and owner[j] is not other), None)
        if nearest is pair:
            below.add(other)
    return len(below) > 1


SOFT = 0.04
"""Seconds over which a limb that lands or leaves counts as on its way."""

STEADY = 0.25
"""Seconds over which speed and turning are smoothed: the body's course, not its sway."""

WEIGHTS = {"stance": 1.0, "phase": 0.7, "speed": 1.0, "turning": 0.5, "height": 2.0, "posture": 4.0}
"""How much a limb that stands against one that does not, a sixth of a stride, a leg length a second, a radian a second,
hips at the floor against hips at their highest, and joints a leg length apart count."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Features:
    """What can be compared about two motions, frame by frame and weighted."""

    values: tuple[Array, Array]
    """(F, C) for each motion at its own frames."""
    names: tuple[str, ...]
    fps: tuple[float, float]
    strides: tuple[float, float]
    """Seconds of a stride of each; nan where none is seen."""

    def at(self, which: int, times: Array) -> Array:
        """(N, C) of one motion at times (N,), seconds."""
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
    """What two motions have in common to be compared by.

    Args:
        whole: Which bones of the first (source) and second (target) body correspond.
        motions: Both.
        contacts: Theirs, where they are known; found otherwise.
        one_body: Whether both are of one body, whose postures can be compared too.

    Limbs count if both bodies stand on them at some time; without any, course and turning alone tell.
    """
    stands = tuple(
        _stances(whole, side, motion, detect_contacts(motion, standing_points(motion)) if known is None else known)
        for side, motion, known in zip(("source", "target"), motions, contacts, strict=True)
    )
    shared = [limb for limb in whole.pairs if limb in stands[0] and limb in stands[1]]
    phases = _phases(shared, stands, motions)
    names = [f"stance of {limb.source[0]}" for limb in shared]
    names += ["phase", "phase"] if phases is not None else []
    values = []
    for which, motion in enumerate(motions):
        columns = [WEIGHTS["stance"] * _soft(stands[which][limb], SOFT * motion.fps) for limb in shared]
        if phases is not None:
            turn = 2.0 * np.pi * phases[which][0]
            columns += [WEIGHTS["phase"] * np.cos(turn), WEIGHTS["phase"] * np.sin(turn)]
        values.append(np.stack([*columns, *_course(motion), *(_posture(motion) if one_body else ())], -1))
    strides = (np.nan, np.nan) if phases is None else (phases[0][1], phases[1][1])
    return Features(
        values=(values[0], values[1]),
        names=(*names, "speed", "turning", "height", *(["posture"] * (len(values[0].T) - len(names) - 3))),
        fps=(motions[0].fps, motions[1].fps),
        strides=strides,
    )


def _stances(whole: Correspondence, side: str, motion: Motion, contacts: Sequence[Contact]) -> dict[Pair, np.ndarray]:
    """By limb (F,) whether the body stands on it."""
    out: dict[Pair, np.ndarray] = {}
    for contact in contacts:
        limb = limb_of(whole, side, contact.point.joint) if contact.on == "floor" else None
        if limb is not None:
            held = out.setdefault(limb, np.zeros(motion.num_frames, bool))
            held[contact.frames(motion.fps, motion.num_frames)] = True
    return {limb: held for limb, held in out.items() if held.any()}


def _soft(values: np.ndarray, width: float) -> Array:
    from scipy.ndimage import gaussian_filter1d

    return gaussian_filter1d(np.asarray(values, float), max(width, 1e-3), mode="nearest")


def _phases(
    shared: list[Pair], stands: tuple[dict[Pair, np.ndarray], ...], motions: tuple[Motion, Motion]
) -> list[tuple[Array, float]] | None:
    """For each motion its phase (F,), in strides from a landing of one limb, and the seconds of a stride."""
    for limb in shared:
        out = []
        for held, motion in zip((each[limb] for each in stands), motions, strict=True):
            landings = np.flatnonzero(held[1:] & ~held[:-1]) + 1.0
            if len(landings) < 2:
                break
            stride = float(np.median(np.diff(landings)))
            frames = np.arange(motion.num_frames, dtype=float)
            inside = np.interp(frames, landings, np.arange(len(landings)))
            inside += np.minimum(frames - landings[0], 0.0) / stride + np.maximum(frames - landings[-1], 0.0) / stride
            out.append((inside, stride / motion.fps))
        if len(out) == 2:
            return out
    return None


def _posture(motion: Motion) -> Array:
    """(3 J, F) where the joints are, seen from the root and the way the body faces, weighted, in leg lengths."""
    forward = facing(motion)
    yaw = from_axis_angle(np.array([0.0, 1.0, 0.0]), -np.arctan2(forward[:, 0], forward[:, 2]))
    seen = rotate(yaw[:, None], fk(motion).positions - motion.root[:, None])
    size = leg_length(motion.skeleton) * np.sqrt(motion.skeleton.num_joints)
    return WEIGHTS["posture"] * seen.reshape(motion.num_frames, -1).T / size


def _course(motion: Motion) -> tuple[Array, Array, Array]:
    """Speed over the ground, turning rate and height (F,), weighted: in leg lengths, radians, and its own greatest."""
    if motion.num_frames < 2:
        return np.zeros(1), np.zeros(1), np.ones(1)
    width = STEADY * motion.fps
    smooth = np.stack([_soft(motion.root[:, axis], width) for axis in (0, 2)], -1)
    speed = np.linalg.norm(np.gradient(smooth, axis=0), axis=-1) * motion.fps / leg_length(motion.skeleton)
    forward = facing(motion)
    yaw = np.unwrap(np.arctan2(forward[:, 0], forward[:, 2]))
    turning = np.gradient(_soft(yaw, width)) * motion.fps
    positions = fk(motion).positions
    above = motion.root[:, 1] - np.percentile(positions[..., 1].min(axis=1), 5)
    height = above / max(float(np.percentile(above, 95)), 0.1 * leg_length(motion.skeleton))
    return WEIGHTS["speed"] * speed, WEIGHTS["turning"] * turning, WEIGHTS["height"] * height


def warp(
    a: Array, b: Array, *, band: int | None = None, free_end: bool = False, stray: float = 0.0
) -> tuple[np.ndarray, float]:
    """Dynamic time warping: the pairs of rows of a (N, C) and b (M, C) that coincide at the least mean difference.

    The path begins at both first rows and goes on by one and one, one and two, or two and one rows, so that neither
    runs more than twice as fast as the other. Memory is N times the band.

    Args:
        a: Rows of features.
        b: Rows of features.
        band: How many rows the path may stray from an even pace; half the longer one if not given.
        free_end: End at any row of b, not its last; an even pace is then one row for one.
        stray: What straying from an even pace by all of a adds to the squared difference; it grows with the square.

    Returns:
        The path (K, 2), rising, and the mean squared difference along it; no path and infinity if none leads there.
    """
    count, width = len(a), 2 * (band or max(len(a), len(b)) // 2 + 1) + 1
    pace = 1.0 if free_end or count < 2 else (len(b) - 1) / (count - 1)
    start = np.rint(np.arange(count) * pace).astype(int) - width // 2
    step = np.zeros((count, width), np.uint8)
    totals, costs = np.full((2, 2, width), np.inf)
    for i in range(count):
        cost = _row(a[i], b, start[i], width)
        if stray:
            cost = cost + stray * ((start[i] + np.arange(width) - pace * i) / count) ** 2
        if i == 0:
            now = np.where(np.arange(width) == -start[0], cost, np.inf)
        else:
            now, step[i] = _best(cost, totals, costs, start[i] - start[max(i - 2, 0) : i])
        totals, costs = np.stack([totals[1], now]), np.stack([costs[1], cost])
    rows = start[-1] + np.arange(width)
    shares = totals[1] / (0.5 * (count + np.clip(rows + 1, 1, None)))
    column = int(np.argmin(shares)) if free_end else len(b) - 1 - int(start[-1])
    if not (0 <= column < width and np.isfinite(shares[column])):
        return np.empty((0, 2), int), np.inf
    return _traced(step, start, column), float(shares[column])


def _best(cost: Array, totals: Array, costs: Array, shifts: np.ndarray) -> tuple[Array, np.ndarray]:
    """The least sums (width,) up to a row, and by which step: one and one (0), one and two (1), two and one (2).

    Args:
        cost: (width,) of the row itself.
        totals: (2, width) sums up to the rows two and one before.
        costs: (2, width) of these rows.
        shifts: How many places further on the band begins than at those rows that there are.
    """
    even = _moved(totals[1], shifts[-1] - 1) + cost
    second = _moved(totals[1], shifts[-1] - 2) + 0.75 * (cost + _moved(cost, -1))
    first = np.full(len(cost), np.inf)
    if len(shifts) > 1:
        first = _moved(totals[0], shifts[0] - 1) + 0.75 * (cost + _moved(costs[1], shifts[-1]))
    ways = np.stack([even, second, first])
    return np.min(ways, axis=0), np.argmin(ways, axis=0)


def _row(row: Array, b: Array, start: int, width: int) -> Array:
    """(width,) squared difference of a row from those of b from a start on; infinite outside b."""
    out = np.full(width, np.inf)
    low, high = max(start, 0), min(start + width, len(b))
    if low < high:
        out[low - start : high - start] = ((b[low:high] - row) ** 2).sum(axis=-1)
    return out


def _moved(values: Array, by: int) -> Array:
    """Values read `by` places further on; infinite outside."""
    out = np.full(len(values), np.inf)
    if by >= 0:
        out[: max(len(values) - by, 0)] = values[by:]
    else:
        out[-by:] = values[:by]
    return out


def _traced(step: np.ndarray, start: np.ndarray, column: int) -> np.ndarray:
    i, j = len(step) - 1, int(start[-1]) + column
    path = [(i, j)]
    while i > 0:
        back = int(step[i, j - start[i]])
        i, j = i - (2 if back == 2 else 1), j - (2 if back == 1 else 1)
        path.append((i, j))
    return np.array(path[::-1])


RATE = 30.0
"""Frames a second at which motions are compared."""

SEARCH = 15.0
"""Frames a second at which all places to leave and enter are tried."""

BLOCK = 32
"""Rows of differences worked out together."""

CANDIDATES = 16
"""How many of the best places are warped before one is taken."""

KEEP = 1.0
"""What leaving all of one motion out costs, beside the mean difference of frames, so that much of both is kept."""

SECONDS = (0.5, 2.0)
"""Least and most seconds of a blend whose length is chosen here."""

USUAL = 1.0
"""Seconds of a blend between motions without strides."""

LONGER = 1.3
"""How much further than at the pace of their strides frames that coincide may lead in the second motion."""

STRAY = 0.5
"""What it costs beside the differences of frames to be a whole blend ahead of that pace; it grows with the square."""

PACES = (0.4, 2.5)
"""Least and greatest pace of the second motion's strides against the first's that are taken as they are."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FrameMatch:
    """Where to go from one motion into another, and which moments coincide on the way."""

    first: Array
    """(N,) seconds of the first motion, rising: the blend begins at the first of them and ends at the last."""
    second: Array
    """(N,) seconds of the second motion that they correspond to."""
    cost: float
    """Mean squared difference of the frames that coincide; 0 for alike."""
    names: tuple[str, ...]
    """What was compared."""

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
    least: float = SECONDS[0],
) -> FrameMatch:
    """The best place to leave the first motion and enter the second, and what coincides over the blend between.

    Args:
        features: What is compared.
        seconds: How long the blend lasts; the mean stride if not given.
        leave: Seconds of the first motion at which it begins; the best place if not given.
        enter: Seconds of the second motion, likewise.
        least: Seconds of a blend at least, where its length is not given and there is room.
    """
    ends = [(len(values) - 1) / fps for values, fps in zip(features.values, features.fps, strict=True)]
    strides = np.array(features.strides)
    pace = float(np.clip(strides[1] / strides[0], *PACES)) if np.all(np.isfinite(strides)) else 1.0
    spans = _spans(features, seconds, least, pace, (ends[0] - (leave or 0.0), ends[1] - (enter or 0.0)))
    for name, given, end, span in (("leave", leave, ends[0], spans[0]), ("enter", enter, ends[1], spans[1])):
        if given is not None and not 0.0 <= given <= end - span + 1e-9:
            raise OptionError(
                f"Expected `{name}` from 0 to {max(end - span, 0.0):.2f} s, so that a blend of {span:.2f} s fits "
                f"before the motion's end at {end:.2f} s; got {given:g} s"
            )
    best: FrameMatch | None = None
    chosen = np.inf
    for a, b in _candidates(features, ends, spans, pace, leave, enter):
        match = _warped(features, (a, b), spans, ends[1])
        cost = match.cost + KEEP * ((ends[0] - spans[0] - a) / ends[0] + b / ends[1])
        if cost < chosen:
            best, chosen = match, cost
    assert best is not None
    return best


def _spans(
    features: Features, seconds: float | None, least: float, pace: float, room: tuple[float, float]
) -> tuple[float, float]:
    """Seconds of each motion that a blend takes, in the pace of the second's strides to the first's."""
    most = min(room[0] * 0.5 * (1.0 + pace), room[1] * 0.5 * (1.0 + 1.0 / pace))
    if seconds is None:
        usual = float(np.mean(features.strides)) if np.isfinite(features.strides[0]) else USUAL
        seconds = min(max(min(usual, SECONDS[1]), least), 0.8 * most)
    if not (np.isfinite(seconds) and 0.0 < seconds <= most + 1e-9):
        raise OptionError(
            f"Expected a blend of more than zero and at most {most:.2f} s, which is what both motions have room for; "
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
    """Places (seconds of the first, of the second) from which both at an even pace differ least, best first.

    Sums along the diagonals of the differences are carried from row to row, so that memory is one window of rows.
    """
    rows = 0.0 if leave is None else leave
    columns = 0.0 if enter is None else enter
    window = round(spans[0] * SEARCH) + 1
    tops = np.arange(1 if leave is not None else int((ends[0] - spans[0]) * SEARCH + 1e-6) + 1)
    lefts = np.arange(1 if enter is not None else int((ends[1] - spans[1]) * SEARCH / pace + 1e-6) + 1)
    clock = np.arange(max(len(tops), len(lefts)) + window - 1, dtype=float) / SEARCH
    a = features.at(0, rows + clock[: len(tops) + window - 1])
    b = features.at(1, columns + pace * clock[: len(lefts) + window - 1])
    found: list[tuple[float, int, int]] = []
    kept = np.zeros((window, len(b)))
    running = np.zeros(len(b))
    lost = KEEP * pace * lefts / (SEARCH * ends[1])
    for i in range(len(a)):
        if i % BLOCK == 0:
            block = _differences(a[i : i + BLOCK], b)
        cost = block[i % BLOCK]
        running = np.concatenate([[0.0], running[:-1]]) + cost
        if i >= window:
            running[window:] -= kept[i % window][: len(b) - window]
        kept[i % window] = cost
        if i >= window - 1:
            top = i - window + 1
            means = running[window - 1 :] / window + lost + KEEP * (ends[0] - spans[0] - rows - top / SEARCH) / ends[0]
            left = int(np.argmin(means))
            found.append((float(means[left]), top, left))
    found.sort()
    return [(rows + top / SEARCH, columns + left * pace / SEARCH) for _, top, left in found[:CANDIDATES]]


def _differences(a: Array, b: Array) -> Array:
    """(N, M) squared differences of rows a (N, C) and b (M, C)."""
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2.0 * (a @ b.T)
    return np.maximum(squares, 0.0)


def _warped(features: Features, begin: tuple[float, float], spans: tuple[float, float], last: float) -> FrameMatch:
    """The frames that coincide from a place on: for so long in the first, in the second up to a time at most."""
    # As many rows of both, so that how far the path may stray is counted from the pace of their strides.
    count = max(round(0.5 * sum(spans) * RATE), 2) + 1
    clock = np.arange(round(LONGER * count), dtype=float) / (count - 1)
    second = begin[1] + spans[1] * clock
    second = second[second <= max(last, begin[1] + spans[1]) + 1e-9]
    first = begin[0] + spans[0] * clock[:count]
    path, cost = warp(features.at(0, first), features.at(1, second), free_end=True, stray=STRAY)
    return FrameMatch(first=first[path[:, 0]], second=second[path[:, 1]], cost=cost, names=features.names)
