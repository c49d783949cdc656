"""Corresponding frames: which moment of one motion is like which of another, told by what unlike bodies share.

Postures of a human and a dog cannot be compared [Hsieh05, sec. 4.2]. What can: which of the limbs that correspond stand
on the floor, where in a stride the body is, how low it crouches, how fast it goes and how fast it turns, in its own leg
lengths. Dynamic time warping over these finds where to leave one motion, where to enter the other, and which frames
coincide between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.body import facing, leg_length
from understudy.contacts import Contact, detect_contacts
from understudy.errors import OptionError
from understudy.geometry.quaternion import Array
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.transfer.correspondence import Correspondence, Pair
from understudy.transfer.limbs import limb_of, standing_points
from understudy.transfer.warping import warp

RATE = 30.0
"""Frames a second at which motions are compared."""
SEARCH = 15.0
"""Frames a second at which all places to leave and enter are tried."""
CANDIDATES = 16
"""How many of the best places are warped before one is taken."""
KEEP = 0.5
"""What leaving all of one motion out costs, beside the mean difference of frames, so that much of both is kept."""
SECONDS = (0.5, 2.0)
"""Least and most seconds of a blend whose length is chosen here."""
USUAL = 1.0
"""Seconds of a blend between motions without strides."""
PACES = (0.4, 2.5)
"""Least and greatest pace of the second motion's strides against the first's that are taken as they are."""
SOFT = 0.04
"""Seconds over which a limb that lands or leaves counts as on its way."""
STEADY = 0.25
"""Seconds over which speed and turning are smoothed: the body's course, not its sway."""
WEIGHTS = {"stance": 1.0, "phase": 0.7, "speed": 1.0, "turning": 0.5, "height": 2.0}
"""How much a limb that stands against one that does not, a sixth of a stride, a leg length a second, a radian a second
and hips at the floor against hips at their highest count."""


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Match:
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


def compare(
    whole: Correspondence,
    motions: tuple[Motion, Motion],
    contacts: tuple[Sequence[Contact] | None, Sequence[Contact] | None] = (None, None),
) -> Features:
    """What two motions have in common to be compared by.

    Args:
        whole: Which bones of the first (source) and second (target) body correspond.
        motions: Both.
        contacts: Theirs, where they are known; found otherwise.

    Limbs count if both bodies stand on them at some time; without any, course and turning alone tell.
    """
    found = tuple(
        detect_contacts(motion, standing_points(motion)) if known is None else tuple(known)
        for motion, known in zip(motions, contacts, strict=True)
    )
    stands = tuple(
        _stances(whole, side, motion, mine)
        for side, motion, mine in zip(("source", "target"), motions, found, strict=True)
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
        values.append(np.stack([*columns, *_course(motion)], -1))
    strides = (np.nan, np.nan) if phases is None else (phases[0][1], phases[1][1])
    return Features(
        values=(values[0], values[1]),
        names=(*names, "speed", "turning", "height"),
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


def find_match(
    features: Features, *, seconds: float | None = None, leave: float | None = None, enter: float | None = None
) -> Match:
    """The best place to leave the first motion and enter the second, and what coincides over the blend between.

    Args:
        features: What is compared.
        seconds: How long the blend lasts; the mean stride if not given.
        leave: Seconds of the first motion at which it begins; the best place if not given.
        enter: Seconds of the second motion, likewise.
    """
    ends = [(len(values) - 1) / fps for values, fps in zip(features.values, features.fps, strict=True)]
    strides = np.array(features.strides)
    pace = float(np.clip(strides[1] / strides[0], *PACES)) if np.all(np.isfinite(strides)) else 1.0
    spans = _spans(features, seconds, pace, (ends[0] - (leave or 0.0), ends[1] - (enter or 0.0)))
    for name, given, end, span in (("leave", leave, ends[0], spans[0]), ("enter", enter, ends[1], spans[1])):
        if given is not None and not 0.0 <= given <= end - span + 1e-9:
            raise OptionError(
                f"Expected `{name}` from 0 to {max(end - span, 0.0):.2f} s, so that a blend of {span:.2f} s fits "
                f"before the motion's end at {end:.2f} s; got {given:g} s"
            )
    best: Match | None = None
    chosen = np.inf
    for a, b in _candidates(features, ends, spans, pace, leave, enter):
        match = _warped(features, (a, b), spans)
        cost = match.cost + KEEP * ((ends[0] - spans[0] - a) / ends[0] + b / ends[1])
        if cost < chosen:
            best, chosen = match, cost
    assert best is not None
    return best


def _spans(features: Features, seconds: float | None, pace: float, room: tuple[float, float]) -> tuple[float, float]:
    """Seconds of each motion that a blend takes, in the pace of the second's strides to the first's."""
    most = min(room[0] * 0.5 * (1.0 + pace), room[1] * 0.5 * (1.0 + 1.0 / pace))
    if seconds is None:
        usual = float(np.clip(np.nanmean(features.strides), *SECONDS)) if np.isfinite(features.strides[0]) else USUAL
        seconds = min(usual, 0.8 * most)
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
    for i, row in enumerate(a):
        cost = ((b - row) ** 2).sum(axis=-1)
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


def _warped(features: Features, begin: tuple[float, float], spans: tuple[float, float]) -> Match:
    """The frames that coincide from a place on, for about so long."""
    # As many rows of both, so that how far the path may stray is counted from the pace of their strides.
    count = max(round(0.5 * sum(spans) * RATE), 2) + 1
    first, second = (
        start + np.linspace(0.0, span, count, dtype=float) for start, span in zip(begin, spans, strict=True)
    )
    path, cost = warp(features.at(0, first), features.at(1, second))
    return Match(first=first[path[:, 0]], second=second[path[:, 1]], cost=cost, names=features.names)
