"""Pictures of matched markers: two bodies side by side, matched markers in the same colour."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.base.quaternion import Array
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing
from understudy.figure.stick import check_views, stick, view_of
from understudy.show.picture import check_picture

if TYPE_CHECKING:
    from understudy.analogy.matching import MarkerMatch
    from understudy.figure.motion import Motion
    from understudy.figure.skeleton import Point


COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c6d31")
"""Colours that colour-blind readers can distinguish."""

SHAPES = ("o", "s", "^", "D")
"""Marker shapes; the next one is used when the colours run out."""

BONE, STILL = "#c9c9c9", "#9a9a9a"


def draw_markers(
    bodies: tuple[Motion, Motion],
    markers: tuple[Sequence[Point], Sequence[Point]],
    matches: Sequence[MarkerMatch],
    path: str | Path,
    *,
    labels: tuple[str, str] = ("", ""),
    views: str | Sequence[str] = ("side", "front"),
    title: str = "",
    dots_per_inch: float = 150.0,
) -> None:
    """Draw A and B with their matched markers into a PNG or SVG file.

    Args:
        bodies: Motions of A and B; the pose in the middle of each is drawn.
        markers: Their markers.
        matches: Which of B's go with which of A's.
        path: The file, `.png` or `.svg`.
        labels: Names of the two; those of their skeletons if empty.
        views: Among "side", "front" and "top".
        title: A title at the top.
        dots_per_inch: Resolution of a PNG.

    Markers of A that are partners of one marker of B form a group; groups that share a marker are merged. A marker of B
    has the colour of its partners' group. It is hollow if it moves in the opposite direction. Unmatched markers are
    grey dots.
    """
    suffix = check_picture(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from understudy.base.files import open_to_write

    chosen = check_views(views)
    sides = _group_markers(markers, matches)
    settings: dict[Any, Any] = {"svg.hashsalt": "understudy", "svg.fonttype": "none", "font.family": "DejaVu Sans"}
    with rc_context(settings):
        figure = Figure(figsize=(10.0, 4.2 * len(chosen)), layout="constrained")
        axes = figure.subplots(len(chosen), 2, squeeze=False)
        for column, (motion, points, (group, hollow)) in enumerate(zip(bodies, markers, sides, strict=True)):
            for row, view in enumerate(chosen):
                _draw_body(axes[row, column], motion, points, group, hollow, view)
            name = labels[column] or motion.skeleton.name or "AB"[column]
            axes[0, column].set_title(name, loc="left", fontweight="bold")
        figure.suptitle(title or "Markers of one colour move together; hollow ones the opposite way", fontsize=10)
        metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
        with open_to_write(path) as stream:
            figure.savefig(stream, format=suffix[1:], dpi=dots_per_inch, metadata=metadata)


def _group_markers(
    markers: tuple[Sequence[Point], Sequence[Point]], matches: Sequence[MarkerMatch]
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """For each body the group of every marker, -1 for none, and whether it moves opposite to its partners."""
    groups = marker_groups(len(markers[0]), matches)
    b_groups, against = np.full(len(markers[1]), -1), np.zeros(len(markers[1]), bool)
    for match in matches:
        b_groups[match.marker] = groups[match.partners[0]]
        against[match.marker] = float(match.scales.sum()) < 0.0
    return (groups, np.zeros(len(groups), bool)), (b_groups, against)


def marker_groups(count: int, matches: Sequence[MarkerMatch]) -> np.ndarray:
    """(N,) the group of each of A's markers, numbered by size from 0; -1 for those in no match."""
    parent = list(range(count))

    def top(i: int) -> int:
        while parent[i] != i:
            i = parent[i]
        return i

    used: set[int] = set()
    for match in matches:
        members = [int(j) for j in match.partners]
        used |= set(members)
        for other in members[1:]:
            parent[top(other)] = top(members[0])
    tops = [top(i) if i in used else -1 for i in range(count)]
    order = sorted({t for t in tops if t >= 0}, key=lambda t: (-tops.count(t), t))
    return np.array([order.index(t) if t >= 0 else -1 for t in tops])


def _draw_body(
    axis: Any, motion: Motion, points: Sequence[Point], group: np.ndarray, hollow: np.ndarray, name: str
) -> None:
    """Draw one body in one view with its markers."""
    middle = motion[motion.num_frames // 2 : motion.num_frames // 2 + 1]
    figure = stick(middle)
    view = view_of(name, facing(motion).mean(axis=0))
    nodes = view.project(figure.nodes[0])
    for first, second in figure.bones:
        axis.plot(*nodes[[first, second], :2].T, color=BONE, linewidth=4.0, solid_capstyle="round", zorder=1)
    places: Array = view.project(fk(middle).points(list(points))[0])
    loose = group < 0
    axis.scatter(*places[loose, :2].T, s=8, color=STILL, zorder=2)
    for number in range(int(group.max(initial=-1)) + 1):
        colour, shape = COLOURS[number % len(COLOURS)], SHAPES[number // len(COLOURS) % len(SHAPES)]
        for empty in (False, True):
            some = (group == number) & (hollow == empty)
            face = "none" if empty else colour
            axis.scatter(
                *places[some, :2].T, s=42, marker=shape, facecolors=face, edgecolors=colour, linewidths=1.4, zorder=3
            )
    axis.set_aspect("equal")
    axis.set_axis_off()
    axis.text(0.0, 0.0, f"{name} view", transform=axis.transAxes, fontsize=8, style="italic", color=STILL)
