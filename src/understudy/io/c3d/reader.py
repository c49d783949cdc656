"""C3D files: labelled markers, fitted to a skeleton that is made for them.

The library `ezc3d` reads the file in a child process. The first estimate of the body comes from anatomy, its bones and
the places of its markers from a part of the frames, and the motion from the solver: every marker is a point that
follows its path wherever it was seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from understudy.base.errors import FileError
from understudy.base.quaternion import Array, continuous, rotate
from understudy.constraints.base import PointRef
from understudy.constraints.follow import Follow
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.io.c3d.calibration import Calibrated, calibrate, poses_of
from understudy.io.c3d.estimate import HALF_WIDTHS, MIN_RIGID, estimate
from understudy.io.c3d.markers import find_markers
from understudy.io.child import ask, need, refuse_bodies_of_bad_numbers
from understudy.io.clip import (
    MAX_FPS,
    UNITS,
    UP_AXES,
    Clip,
    ReadOptions,
    choose_clip_index,
    describe_clip_choice,
    name_unit,
    world_from_file,
)

PELVIS = ("LASI", "RASI", "LPSI", "RPSI", "SACR")
NEEDED = ("LASI", "RASI", "LKNE", "RKNE", "LANK", "RANK")
"""Markers without which no body can be made, besides one on the back of the pelvis."""

MIN_SEEN_SHARE = 0.5
"""Frames at the ends of a file that show less than this share of its markers are left out."""

MIN_MARKER_SHARE = 0.05
"""A marker that is seen at less than this share of the frames is not used."""

MEASURES = {"KNE": "KneeWidth", "ANK": "AnkleWidth"}
"""Measures of the subject that programs for gait keep in the file, by the marker beside the joint."""
MARKER_RADIUS_MM = 7.0

MAX_STEPS = 8
"""Steps of the solver: markers never fit exactly, and later steps gain nothing that could be seen."""

SOFTNESS = 1e-5
"""The weight of change against squared distance: enough to keep still what no marker shows."""


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read the markers of a file and fit a body to them."""
    need("ezc3d", "ezc3d", "c3d", "reading C3D files")
    info, arrays = ask("understudy.io.c3d.child", {}, stream.read(), name)
    subjects = find_markers(info["labels"])
    names = tuple(subjects) if len(subjects) > 1 else ()
    chosen = choose_clip_index(names, options.clip, name) or 0
    columns = list(subjects.values())[chosen] if subjects else {}
    unit, unit_reason = _unit(info, options, name)
    with refuse_bodies_of_bad_numbers(name):
        markers, notes = _usable(columns, arrays["places"] * unit, name, info["labels"])
        if not 0.0 < info["rate"] <= MAX_FPS:
            raise FileError(name, None, f"holds {info['rate']:g} frames a second; expected a rate above zero")
        up, up_reason = _up(markers, info, options)
        world = {marker: rotate(world_from_file(up), track) for marker, track in markers.items()}
        start = estimate(world, float(info["rate"]), {} if names else _measured(info["measures"]))
        body = calibrate(world, start)
        motion = _solve(body, world, poses_of(start, body.skeleton), float(info["rate"]))
    if chosen < len(names):
        motion = motion.derived(name=names[chosen])
    notes += describe_clip_choice(names, chosen if names else None, (), options.clip, name)
    notes.append(_describe_fit(body, world, motion))
    return Clip(
        skeleton=motion.skeleton, motion=motion, format="c3d", unit=unit, unit_reason=unit_reason, up=up,
        up_reason=up_reason, notes=tuple(notes), clips=names,
    )  # fmt: skip


def _unit(info: dict[str, Any], options: ReadOptions, name: str) -> tuple[float, str]:
    if options.unit is not None:
        return options.unit, f"{name_unit(options.unit)}: given"
    word = info["unit"].lower()
    known = {**UNITS, "in": UNITS["inch"], "ft": UNITS["foot"], "meters": 1.0, "millimeters": 0.001}
    if word not in known:
        raise FileError(name, None, f"is in the unknown unit `{info['unit']}`", hint="name it with `--unit mm`")
    return known[word], f"{name_unit(known[word])}: the file says so"


def _usable(columns: dict[str, int], places: Array, name: str, labels: list[str]) -> tuple[dict[str, Array], list[str]]:
    """The paths of the markers that can be used, over the frames that show the body, and notes."""
    places = np.where((places == 0.0).all(axis=-1, keepdims=True), np.nan, places)
    tracks = {marker: places[:, column] for marker, column in columns.items()}
    rare = [m for m, track in tracks.items() if np.isfinite(track[:, 0]).mean() < MIN_MARKER_SHARE]
    tracks = {marker: track for marker, track in tracks.items() if marker not in rare}
    lacking = [marker for marker in NEEDED if marker not in tracks]
    pelvis = [marker for marker in PELVIS if marker in tracks]
    if lacking or len(pelvis) < MIN_RIGID:
        lacking = lacking or ["LPSI, RPSI or SACR"]
        listed = ", ".join(labels[:12]) + (", ..." if len(labels) > 12 else "")
        raise FileError(
            name, None, f"holds no marker set that is known: {', '.join(lacking)} is missing; its labels: {listed}",
            hint="label the markers after Plug-in Gait; docs/formats.md lists the other sets that are known",
        )  # fmt: skip
    seen = np.stack([np.isfinite(track[:, 0]) for track in tracks.values()], axis=1)
    enough = np.flatnonzero(seen.mean(axis=1) >= MIN_SEEN_SHARE)
    together = np.stack([np.isfinite(tracks[marker][:, 0]) for marker in pelvis], axis=1).sum(axis=1)
    if len(enough) == 0 or together[enough].max(initial=0) < MIN_RIGID:
        raise FileError(name, None, "no frame shows half of the markers and three of the pelvis")
    first, last = int(enough[0]), int(enough[-1])
    notes = []
    if first > 0 or last < len(places) - 1:
        notes.append(
            f"frames {first + 1} to {last + 1} of {len(places)} are read: the others show less than half of the markers"
        )
    if rare:
        notes.append(f"markers that are hardly seen are not used: {', '.join(rare)}")
    cut = {marker: track[first : last + 1] for marker, track in tracks.items()}
    return {marker: track for marker, track in cut.items() if np.isfinite(track[:, 0]).any()}, notes


def _measured(measures: dict[str, float]) -> dict[str, float]:
    """Metres from a joint's centre to the middle of its marker, by marker: half the joint's width as Plug-in Gait's
    measures of the subject give it, in millimetres, and half a marker."""
    out = {}
    for side in "LR":
        for kind, key in MEASURES.items():
            metres = 0.001 * (0.5 * measures.get(f"{side}{key}", 0.0) + MARKER_RADIUS_MM)
            if 0.5 < metres / HALF_WIDTHS[kind] < 2.0:
                out[f"{side}{kind}"] = metres
    return out


def _up(markers: dict[str, Array], info: dict[str, Any], options: ReadOptions) -> tuple[str, str]:
    """The up axis: as given, or the one along which the pelvis is above the ankles, on average."""
    if options.up is not None:
        return options.up, f"{options.up} is up: given"
    pelvis = np.nanmean([np.nanmean(markers[name], axis=0) for name in ("LASI", "RASI")], axis=0)
    ankles = np.nanmean([np.nanmean(markers[name], axis=0) for name in ("LANK", "RANK")], axis=0)
    away = (pelvis - ankles) / max(float(np.linalg.norm(pelvis - ankles)), 1e-9)
    axis = int(np.argmax(np.abs(away)))
    found = f"{'' if away[axis] > 0.0 else '-'}{'XYZ'[axis]}"
    screen = info["screen_up"].replace("+", "")
    if abs(away[axis]) < 0.8 and screen in UP_AXES:
        return screen, f"{screen} is up: the file shows it so on a screen"
    return found, f"{found} is up: the pelvis is above the ankles"


def _intervals(seen: np.ndarray) -> Iterator[tuple[int, int]]:
    """The first and last frame of every stretch at which a marker is seen."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], seen, [False]]).astype(int)))
    yield from zip(edges[::2].tolist(), (edges[1::2] - 1).tolist())


def _solve(body: Calibrated, markers: dict[str, Array], start: tuple[Array, Array], fps: float) -> Motion:
    """The motion whose markers follow their paths."""
    from understudy.solve.problem import Actor, Problem
    from understudy.solve.solvers.ik import Ik

    motion = Motion(skeleton=body.skeleton, fps=fps, root=start[0], rotations=continuous(start[1]))
    constraints = []
    for point in body.points:
        track = markers[point.name]
        for first, last in _intervals(np.isfinite(track[:, 0])):
            times = motion.times[first : last + 1]
            constraints.append(
                Follow(
                    point=PointRef(point=point), path=track[first : last + 1], times=times if len(times) > 1 else None,
                    start=float(times[0]), end=float(times[-1]), name=point.name,
                )
            )  # fmt: skip
    problem = Problem(actors=(Actor(motion=motion),), constraints=tuple(constraints))
    return Ik(softness=SOFTNESS, iterations=MAX_STEPS).solve(problem).motions[0]


def _describe_fit(body: Calibrated, markers: dict[str, Array], motion: Motion) -> str:
    places = fk(motion).points(body.points)
    tracks = np.stack([markers[point.name] for point in body.points], axis=1)
    away = np.linalg.norm(places - tracks, axis=-1)
    means = np.nanmean(away, axis=0)
    worst = int(np.argmax(means))
    return (
        f"{len(body.points)} markers fitted to {1000.0 * np.nanmean(away):.1f} mm on average; "
        f"`{body.points[worst].name}` worst, to {1000.0 * means[worst]:.1f} mm"
    )
