"""A first estimate of a body from its markers: joint centres by published regressions, and a pose at every frame.

Hip centres follow Harrington et al. 2007 (regression on pelvis width and depth). Knees, ankles, elbows and shoulders
lie half a joint's width inside their markers. Frames of all joints are upright in a T-pose: X to the left, Y up, Z
forward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from understudy.base.quaternion import Array, between, exp, from_matrix, log, rotate, slerp, to_matrix
from understudy.base.records import record

TREE = (
    ("Hips", ""), ("Spine", "Hips"), ("Chest", "Spine"), ("Neck", "Chest"), ("Head", "Neck"),
    *(
        (f"{side}{joint}", parent if parent in ("Hips", "Chest") else f"{side}{parent}")
        for side in ("Left", "Right")
        for joint, parent in (
            ("Shoulder", "Chest"), ("Arm", "Shoulder"), ("ForeArm", "Arm"), ("Hand", "ForeArm"), ("UpLeg", "Hips"),
            ("Leg", "UpLeg"), ("Foot", "Leg"),
        )
    ),
)  # fmt: skip
"""Joints and their parents."""

HALF_WIDTHS = {"KNE": 0.058, "ANK": 0.044, "ELB": 0.043, "SHO": 0.048, "WRA": 0.036}
"""Metres from a joint's centre to the middle of its marker, on a body with legs of `LEG` metres."""
LEG = 0.85
"""Metres from hip to ankle of the body that `HALF_WIDTHS` are of."""

PELVIS_TILT_RADIANS = np.radians(11.0)
"""How far the plane of the pelvis' markers is tilted forward in a person who stands."""

HEAD_CENTRE = np.array([0.0, 0.09, 0.015])
"""(3,) metres from the joint of the head to the middle of its markers, on such a body."""
HEAD_TOP, NECK_HALF, CLAVICLE_START = 0.19, 0.5, 0.02
"""Metres from the joint of the head to its top; the share of a bend that the neck takes; metres from the middle of the
body to the inner end of a clavicle."""

MAX_STANDING_METRES_PER_S, MIN_STANDING_SECONDS, MAX_PITCH_RADIANS = 0.15, 0.1, np.radians(35.0)
"""The largest speed of the markers of a foot that stands, how long it stands at least so that its sole is known, and
how far the line through its markers is tilted at most."""

MAX_TWIST_RADIANS = np.radians(25.0)
"""How far a shank turns about its length at most."""

STRAIGHT_SINE = 0.3
"""Sine of the bend below which the plane of a limb is more and more that of the body it hangs on."""

MAX_CURVED_SECONDS, VELOCITY_FRAMES = 0.5, 4
"""The longest gap of a marker that is bridged by a curve, and the frames beside it that say how fast it moves."""

MIN_COMMON_FRAMES = 5
"""Frames at which two markers are seen, so that one can stand in for the other."""

MIN_RIGID = 3
"""Markers that say how a part of the body is turned."""


@record
class Size:
    """How large a body is, and how wide its joints are."""

    scale: float
    """Relative to a body with legs of `LEG` metres."""
    measured: Mapping[str, float]
    """Metres from a joint's centre to the middle of its marker, by marker, where they were measured on the subject."""

    def half_width(self, marker: str) -> float:
        """Metres from a joint's centre to the middle of its marker: as measured, else as on most bodies."""
        return self.measured.get(marker, self.scale * HALF_WIDTHS[marker[1:]])


@record
class Estimate:
    """A body and its poses as markers show them."""

    places: Mapping[str, Array]
    """(F, 3) metres, world: the joints."""
    frames: Mapping[str, Array]
    """(F, 3, 3) their axes in columns."""
    size: Size


def fill(track: Array, fps: float) -> Array:
    """(F, 3) a marker's path with its gaps bridged: short ones in the velocity before and after, others straight."""
    seen = np.flatnonzero(np.isfinite(track[:, 0]))
    out = _interpolate(track)
    for place in np.flatnonzero(np.diff(seen) > 1).tolist():
        first, last = int(seen[place]), int(seen[place + 1])
        before, after = seen[max(place - VELOCITY_FRAMES, 0)], seen[min(place + 1 + VELOCITY_FRAMES, len(seen) - 1)]
        if last - first > MAX_CURVED_SECONDS * fps or before == first or after == last:
            continue
        leaving = (track[first] - track[before]) / (first - before)
        coming = (track[after] - track[last]) / (after - last)
        gap = last - first
        share = (np.arange(1, gap) / gap)[:, None]
        # What a straight line lacks of the cubic with these velocities (Hermite).
        slope = (track[last] - track[first]) / gap
        out[first + 1 : last] += gap * (
            share * (1.0 - share) ** 2 * (leaving - slope) - share**2 * (1.0 - share) * (coming - slope)
        )
    return out


def carry(markers: Mapping[str, Array], fps: float) -> dict[str, Array]:
    """Markers whose gaps are partly filled: where one is long unseen, it keeps its offset from a marker that is seen.

    A subject walks into view and out of it. A marker that were left where it was last seen would stay behind. The
    marker to which the distance changes least is on the same part of the body, or next to it.

    Args:
        markers: (F, 3) metres by marker; NaN where one was not seen.
        fps: Frames per second.
    """
    seen = {name: np.isfinite(track[:, 0]) for name, track in markers.items()}
    out = {}
    for name, track in markers.items():
        wanted = _long_gaps(seen[name], int(MAX_CURVED_SECONDS * fps))
        out[name] = track.copy() if wanted.any() else track
        if not wanted.any():
            continue
        spreads = {}
        for other, path in markers.items():
            both = seen[name] & seen[other]
            if other != name and both.sum() >= MIN_COMMON_FRAMES and (wanted & seen[other]).any():
                spreads[other] = float(np.linalg.norm(track[both] - path[both], axis=1).std())
        for other in sorted(spreads, key=spreads.__getitem__):
            both, frames = seen[name] & seen[other], wanted & seen[other]
            away = np.where(both[:, None], track - markers[other], np.nan)
            out[name][frames] = (markers[other] + _interpolate(away))[frames]
            wanted &= ~frames
    return out


def _long_gaps(seen: np.ndarray, longest: int) -> np.ndarray:
    """(F,) whether a frame is in a gap at an end, or in one of more than `longest` frames."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], seen, [True]]).astype(int)))
    out = np.zeros(len(seen), bool)
    for first, last in zip(edges[::2], edges[1::2]):
        out[first:last] = first == 0 or last == len(seen) or last - first > longest
    return out


def _interpolate(track: Array) -> Array:
    """(F, 3) a path with straight lines over its gaps, constant beyond its ends."""
    known, numbers = np.flatnonzero(np.isfinite(track[:, 0])), np.arange(len(track))
    return np.stack([np.interp(numbers, known, track[known, axis]) for axis in range(3)], axis=1)


def follow_rigidly(tracks: Array, fps: float) -> tuple[Array, Array, Array]:
    """How a rigid part moves: (M, 3) its markers in its frame, (F, 3) its middle, and (F, 3, 3) how it is turned.

    Args:
        tracks: (F, M, 3) metres; NaN where a marker was not seen. Some frame shows at least `MIN_RIGID`.
        fps: Frames per second.
    """
    seen = np.isfinite(tracks[..., 0])
    best = int(np.argmax(seen.sum(axis=1)))
    shape = np.where(seen[best][:, None], tracks[best], np.nan)
    for _ in range(3):
        known = np.isfinite(shape[:, 0])
        usable = (seen & known).sum(axis=1) >= MIN_RIGID
        if not usable.any():
            break
        centres, turns = _align(shape, tracks, seen & known)
        local = np.einsum("fji,fmj->fmi", turns, tracks - centres[:, None])
        with np.errstate(all="ignore"):
            shape = _mean_seen(local[usable])
    centres, turns = _bridge(centres, turns, usable, fps)
    return shape, centres, turns


def _mean_seen(values: Array) -> Array:
    count = np.isfinite(values).sum(axis=0)
    return np.where(count > 0, np.nansum(values, axis=0) / np.maximum(count, 1), np.nan)


def _align(shape: Array, tracks: Array, seen: np.ndarray) -> tuple[Array, Array]:
    """Where a shape is and how it is turned, by least squares over the markers that are seen (Kabsch)."""
    weights = seen[..., None].astype(float)
    total = np.maximum(weights.sum(axis=1), 1.0)
    there, here = np.where(weights > 0, tracks, 0.0), np.where(weights > 0, shape, 0.0)
    middle, origin = there.sum(axis=1) / total, here.sum(axis=1) / total
    covariance = np.einsum("fmi,fmj->fij", weights * (there - middle[:, None]), here - origin[:, None])
    u, _, vt = np.linalg.svd(covariance)
    flip = np.ones((len(u), 3))
    flip[:, 2] = np.sign(np.linalg.det(u @ vt))
    turns = (u * flip[:, None]) @ vt
    return middle - np.einsum("fij,fj->fi", turns, origin), turns


def _bridge(centres: Array, turns: Array, usable: np.ndarray, fps: float) -> tuple[Array, Array]:
    """Fill in the frames at which a part was not seen."""
    known, numbers = np.flatnonzero(usable), np.arange(len(usable))
    if len(known) in (0, len(usable)):
        return centres, turns
    after = np.clip(np.searchsorted(known, numbers), 0, len(known) - 1)
    before = np.clip(np.searchsorted(known, numbers, side="right") - 1, 0, len(known) - 1)
    gap = np.maximum(known[after] - known[before], 1)
    share = np.clip((numbers - known[before]) / gap, 0.0, 1.0)
    quaternions = from_matrix(turns)
    filled = slerp(quaternions[known[before]], quaternions[known[after]], share)
    return fill(np.where(usable[:, None], centres, np.nan), fps), to_matrix(filled)


def axes(along: Array, towards: Array, order: str) -> Array:
    """(..., 3, 3) right-handed axes in columns: one exactly along a direction, another as near to one as it can be.

    Args:
        along: (..., 3) the direction of the axis that `order` names first.
        towards: (..., 3) the direction that the second axis is near to.
        order: The two axes, such as `xy`.
    """
    first, second = ("xyz".index(axis) for axis in order)
    third = 3 - first - second
    a = along / np.linalg.norm(along, axis=-1, keepdims=True)
    b = towards - (towards * a).sum(axis=-1, keepdims=True) * a
    b = b / np.maximum(np.linalg.norm(b, axis=-1, keepdims=True), 1e-9)
    sign = 1.0 if (first, second) in ((0, 1), (1, 2), (2, 0)) else -1.0
    out = np.empty((*a.shape, 3))
    out[..., first], out[..., second], out[..., third] = a, b, sign * np.cross(a, b)
    return out


class _Tracks:
    """Paths of markers; a marker that the file lacks is None."""

    def __init__(self, markers: Mapping[str, Array], fps: float) -> None:
        self.markers, self.fps = markers, fps
        self.filled = {name: fill(track, fps) for name, track in carry(markers, fps).items()}

    def __getitem__(self, name: str) -> Array | None:
        return self.filled.get(name)

    def has(self, *names: str) -> bool:
        return all(name in self.markers for name in names)

    def rigid(self, names: Sequence[str]) -> tuple[dict[str, Array], Array, Array] | None:
        """The shape of a part by marker, its middle and its turns; None if too few markers are ever seen together."""
        names = [name for name in names if name in self.markers]
        if len(names) < MIN_RIGID:
            return None
        tracks = np.stack([self.markers[name] for name in names], axis=1)
        if np.isfinite(tracks[..., 0]).sum(axis=1).max() < MIN_RIGID:
            return None
        shape, centres, turns = follow_rigidly(tracks, self.fps)
        known = {name: place for name, place in zip(names, shape) if np.isfinite(place[0])}
        return known, centres, turns


def estimate(markers: Mapping[str, Array], fps: float, measured: Mapping[str, float]) -> Estimate:
    """A body's joints at every frame. The markers are at least those that the reader needs.

    Args:
        markers: (F, 3) metres, world with Y up, by marker; NaN where one was not seen.
        fps: Frames per second.
        measured: Metres from a joint's centre to the middle of its marker, by marker, where they are known.
    """
    tracks = _Tracks(markers, fps)
    hips, pelvis, hip_centres = _pelvis(tracks)
    legs = [
        np.linalg.norm(tracks.filled[f"{side}KNE"] - hip_centres[side], axis=1)
        + np.linalg.norm(tracks.filled[f"{side}ANK"] - tracks.filled[f"{side}KNE"], axis=1)
        for side in "LR"
    ]
    size = Size(scale=float(np.clip(np.median(legs) / LEG, 0.2, 3.0)), measured=measured)
    places: dict[str, Array] = {"Hips": hips}
    frames: dict[str, Array] = {"Hips": pelvis}
    for side in "LR":
        _leg(tracks, side, hip_centres[side], pelvis, size, places, frames)
    _trunk(tracks, size.scale, places, frames)
    _head(tracks, size.scale, places, frames)
    for side in "LR":
        _arm(tracks, side, size, places, frames)
    return Estimate(places=places, frames=frames, size=size)


def _pelvis(tracks: _Tracks) -> tuple[Array, Array, dict[str, Array]]:
    """The middle of the hips, the axes of the pelvis, and the centres of both hips."""
    rigid = tracks.rigid(("LASI", "RASI", "LPSI", "RPSI", "SACR"))
    assert rigid is not None
    shape, centres, turns = rigid
    front = 0.5 * (shape["LASI"] + shape["RASI"])
    back = [shape[name] for name in ("LPSI", "RPSI", "SACR") if name in shape]
    behind = np.mean(back[:2], axis=0)
    local = axes(shape["LASI"] - shape["RASI"], front - behind, "xz")
    width, depth = np.linalg.norm(shape["LASI"] - shape["RASI"]), np.linalg.norm(front - behind)
    # Harrington et al. 2007, in metres: lateral, up and forward from the middle of the two front markers.
    hip = np.array([0.33 * width + 0.0073, -0.30 * width - 0.0109, -0.24 * depth - 0.0099])
    world = turns @ local
    centre = {
        side: np.einsum("fij,j->fi", turns, front + local @ (hip * [sign, 1.0, 1.0])) + centres
        for side, sign in (("L", 1.0), ("R", -1.0))
    }
    tilt = to_matrix(exp(np.array([-PELVIS_TILT_RADIANS, 0.0, 0.0])))
    return 0.5 * (centre["L"] + centre["R"]), world @ tilt, centre


def _hinge(upper: Array, lower: Array, across: Array, sign: float) -> Array:
    """(F, 3) the axis that a limb bends about; for a straight limb that of the body it hangs on.

    Args:
        upper: (F, 3) the direction of its upper bone.
        lower: (F, 3) the direction of its lower bone.
        across: (F, 3) the axis for a straight limb.
        sign: 1 if the axis is the upper direction times the lower one, -1 for the opposite.
    """
    upper, lower = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (upper, lower))
    bend = sign * np.cross(upper, lower)
    share = np.clip((np.linalg.norm(bend, axis=1, keepdims=True) / STRAIGHT_SINE) ** 2, 0.0, 1.0)
    bend /= np.maximum(np.linalg.norm(bend, axis=1, keepdims=True), 1e-9)
    return share * bend + (1.0 - share) * across


def _carried(frame: Array, rest: Array, direction: Array, axis: Array) -> Array:
    """(F, 3) an axis of a body part after the shortest swing that takes a direction of its rest pose to another."""
    parent = from_matrix(frame)
    swing = between(rotate(parent, np.broadcast_to(rest, direction.shape)), direction)
    return rotate(swing, rotate(parent, np.broadcast_to(axis, direction.shape)))


def _leg(
    tracks: _Tracks, side: str, hip: Array, pelvis: Array, size: Size,
    places: dict[str, Array], frames: dict[str, Array],
) -> None:  # fmt: skip
    sign, word = (1.0, "Left") if side == "L" else (-1.0, "Right")
    x, down = np.array([1.0, 0.0, 0.0]), np.array([0.0, -1.0, 0.0])
    knee, ankle = tracks.filled[f"{side}KNE"], tracks.filled[f"{side}ANK"]
    for _ in range(2):
        # A knee bends backwards: the axis to the left is the upper bone times the lower one.
        across = _hinge(knee - hip, ankle - knee, _carried(pelvis, down, knee - hip, x), 1.0)
        thigh = axes(hip - knee, across, "yx")
        shank = axes(knee - ankle, across, "yx")
        knee = _inside(tracks, f"{side}KNE", f"{side}KNM", thigh[..., 0], sign * size.half_width(f"{side}KNE"))
        ankle = _inside(tracks, f"{side}ANK", f"{side}ANM", shank[..., 0], sign * size.half_width(f"{side}ANK"))
    thigh, shank = axes(hip - knee, thigh[..., 0], "yx"), axes(knee - ankle, thigh[..., 0], "yx")
    if tracks.has(f"{side}TIB"):
        shank = _turned_with(shank, tracks.filled[f"{side}TIB"] - ankle)
    toe, heel = tracks[f"{side}TOE"], tracks[f"{side}HEE"]
    if toe is None:
        toe = tracks[f"{side}MT5"]
    forward = shank[..., 2] if toe is None else toe - (ankle if heel is None else heel)
    if toe is not None and heel is None:
        # From the ankle, the toe is lower than along the sole.
        forward = forward + 0.06 * size.scale * shank[..., 1]
    places |= {f"{word}UpLeg": hip, f"{word}Leg": knee, f"{word}Foot": ankle}
    foot = axes(forward, shank[..., 0], "zx")
    if toe is not None and heel is not None:
        foot = foot @ _pitch_of_sole(foot, np.stack([toe, heel]), tracks.fps)
    frames |= {f"{word}UpLeg": thigh, f"{word}Leg": shank, f"{word}Foot": foot}


def _pitch_of_sole(foot: Array, markers: Array, fps: float) -> Array:
    """(3, 3) a rotation about the X axis of a foot, after which the foot is level while it stands.

    The markers at heel and toe are seldom at the same height above the sole.

    Args:
        foot: (F, 3, 3) axes of the foot, Z along its markers.
        markers: (2, F, 3) metres, world: toe and heel.
        fps: Frames per second.
    """
    if markers.shape[1] < 2:
        return np.eye(3)
    speeds = np.linalg.norm(np.gradient(markers, axis=1), axis=-1).max(axis=0) * fps
    stands = speeds < MAX_STANDING_METRES_PER_S
    if stands.sum() < MIN_STANDING_SECONDS * fps:
        return np.eye(3)
    up = np.median(foot[stands][:, 1], axis=0)
    pitch = np.clip(np.arctan2(up[2], up[1]), -MAX_PITCH_RADIANS, MAX_PITCH_RADIANS)
    return to_matrix(exp(np.array([pitch, 0.0, 0.0])))


def _turned_with(shank: Array, marker: Array) -> Array:
    """(F, 3, 3) the axes of a shank, turned about its length so that a marker on it stays where it is on average.

    A knee is no hinge: a shank turns about its length by some degrees.
    """
    local = np.einsum("fji,fj->fi", shank, marker)
    angles = np.arctan2(local[:, 0], local[:, 2])
    mean = np.arctan2(np.mean(np.sin(angles)), np.mean(np.cos(angles)))
    change = np.arctan2(np.sin(angles - mean), np.cos(angles - mean))
    twist = np.stack([np.zeros_like(change), np.clip(change, -MAX_TWIST_RADIANS, MAX_TWIST_RADIANS), 0.0 * change], 1)
    return shank @ to_matrix(exp(twist))


def _inside(tracks: _Tracks, outer: str, inner: str, across: Array, width: float) -> Array:
    """(F, 3) a joint's centre: between its two markers, or a width inside the outer one."""
    if tracks.has(inner):
        return 0.5 * (tracks.filled[outer] + tracks.filled[inner])
    return tracks.filled[outer] - width * across


def _trunk(tracks: _Tracks, scale: float, places: dict[str, Array], frames: dict[str, Array]) -> None:
    pelvis, hips = frames["Hips"], places["Hips"]
    rigid = tracks.rigid(("C7", "T10", "CLAV", "STRN", "RBAK", "LBAK"))
    up = np.array([0.0, 1.0, 0.0])
    if rigid is None:
        chest, low = pelvis, hips + scale * 0.22 * pelvis[..., 1]
        neck = hips + scale * 0.48 * pelvis[..., 1]
    else:
        shape, centres, turns = rigid
        local = _chest_axes(shape, turns, pelvis)
        chest = turns @ local
        upper = [(shape[name], weight) for name, weight in (("C7", 0.7), ("CLAV", 0.3)) if name in shape]
        lower = [(shape[name], weight) for name, weight in (("T10", 0.7), ("STRN", 0.3)) if name in shape]
        top = _weighted(upper) if upper else _weighted(lower) + scale * 0.2 * local @ up
        bottom = _weighted(lower) if lower else top - scale * 0.2 * local @ up
        neck, low = (np.einsum("fij,j->fi", turns, place) + centres for place in (top, bottom))
    places |= {"Spine": 0.5 * (hips + low), "Chest": low, "Neck": neck}
    frames |= {"Spine": _between(pelvis, chest, 0.5), "Chest": chest}


def _weighted(places: Sequence[tuple[Array, float]]) -> Array:
    return np.asarray(sum(weight * place for place, weight in places) / sum(weight for _, weight in places))


def _chest_axes(shape: dict[str, Array], turns: Array, pelvis: Array) -> Array:
    """(3, 3) the axes of the chest in the frame of its markers."""
    if all(name in shape for name in ("C7", "T10", "CLAV", "STRN")):
        front, back = 0.5 * (shape["CLAV"] + shape["STRN"]), 0.5 * (shape["C7"] + shape["T10"])
        upper, lower = 0.5 * (shape["C7"] + shape["CLAV"]), 0.5 * (shape["T10"] + shape["STRN"])
        return axes(upper - lower, front - back, "yz")
    # Without one of the four, the chest is upright when the pelvis is, on average.
    relative = log(from_matrix(np.swapaxes(turns, 1, 2) @ pelvis))
    return to_matrix(exp(np.median(relative, axis=0)))


def _between(a: Array, b: Array, share: float) -> Array:
    return to_matrix(slerp(from_matrix(a), from_matrix(b), np.full(len(a), share)))


def _head(tracks: _Tracks, scale: float, places: dict[str, Array], frames: dict[str, Array]) -> None:
    chest, neck = frames["Chest"], places["Neck"]
    rigid = tracks.rigid(("LFHD", "RFHD", "LBHD", "RBHD", "HTOP"))
    if rigid is None or not all(name in rigid[0] for name in ("LFHD", "RFHD", "LBHD", "RBHD")):
        frames |= {"Neck": chest, "Head": chest}
        places["Head"] = neck + scale * 0.1 * chest[..., 1]
        return
    shape, centres, turns = rigid
    left, right = 0.5 * (shape["LFHD"] + shape["LBHD"]), 0.5 * (shape["RFHD"] + shape["RBHD"])
    front, back = 0.5 * (shape["LFHD"] + shape["RFHD"]), 0.5 * (shape["LBHD"] + shape["RBHD"])
    local = axes(left - right, front - back, "xz")
    middle = 0.25 * (shape["LFHD"] + shape["RFHD"] + shape["LBHD"] + shape["RBHD"])
    head = turns @ local
    frames |= {"Neck": _between(chest, head, NECK_HALF), "Head": head}
    places["Head"] = centres + np.einsum("fij,j->fi", turns, middle - scale * local @ HEAD_CENTRE)


def _arm(tracks: _Tracks, side: str, size: Size, places: dict[str, Array], frames: dict[str, Array]) -> None:
    sign, word, scale = (1.0, "Left", size.scale) if side == "L" else (-1.0, "Right", size.scale)
    chest, neck = frames["Chest"], places["Neck"]
    x, up = np.array([sign, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    inner = neck + sign * CLAVICLE_START * scale * chest[..., 0]
    marker = tracks[f"{side}SHO"]
    shoulder = inner + scale * 0.16 * sign * chest[..., 0] if marker is None else marker
    shoulder = shoulder - (0.0 if marker is None else size.half_width(f"{side}SHO")) * chest[..., 1]
    elbow, wrists = tracks[f"{side}ELB"], [tracks[f"{side}WR{letter}"] for letter in "AB"]
    seen = [wrist for wrist in wrists if wrist is not None]
    elbow = shoulder - scale * 0.28 * chest[..., 1] if elbow is None else elbow
    fore = elbow - shoulder
    wrist = elbow + scale * 0.25 * fore / np.linalg.norm(fore, axis=1, keepdims=True)
    wrist = np.mean(seen, axis=0) if seen else wrist
    for _ in range(2):
        # In a T-pose elbows bend forward about the vertical, and their markers are on top.
        across = _carried(chest, x, elbow - shoulder, up)
        hinge = _hinge(elbow - shoulder, wrist - elbow, across, -sign)
        if tracks.has(f"{side}ELB"):
            elbow = _inside(tracks, f"{side}ELB", f"{side}ELM", hinge / _norm(hinge), size.half_width(f"{side}ELB"))
    upper = axes(sign * (elbow - shoulder), hinge, "xy")
    lower = axes(sign * (wrist - elbow), hinge, "xy")
    if len(seen) == 2:
        lower = axes(sign * (wrist - elbow), seen[0] - seen[1], "xz")
    knuckle = tracks[f"{side}FIN"]
    hand = lower
    if knuckle is not None:
        # The marker lies on the back of the hand.
        below = knuckle - scale * 0.015 * lower[..., 1]
        hand = axes(sign * (below - wrist), lower[..., 2], "xz")
    clavicle = axes(sign * (shoulder - inner), chest[..., 1], "xy")
    places |= dict(zip((f"{word}Shoulder", f"{word}Arm", f"{word}ForeArm", f"{word}Hand"),
                       (inner, shoulder, elbow, wrist)))  # fmt: skip
    frames |= dict(zip((f"{word}Shoulder", f"{word}Arm", f"{word}ForeArm", f"{word}Hand"),
                       (clavicle, upper, lower, hand)))  # fmt: skip


def _norm(vectors: Array) -> Array:
    return np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
