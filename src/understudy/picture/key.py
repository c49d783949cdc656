"""What the strokes of a picture mean, in lines at the foot of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from understudy.picture.act import Act
from understudy.picture.layout import MARGIN, PAGE_WIDTH
from understudy.picture.pen import DOTTED, GREY, INK, PALETTES
from understudy.picture.stick import LEFT, RIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE, _LETTER, _SAMPLE, _SPACE = 0.24, 0.061, 0.42, 0.3
"""Inches: height of a line, width of a letter, of a stroke shown, and of the space after a word."""


@dataclass(frozen=True)
class Entry:
    """A stroke and what it means."""

    mark: str
    """"left", "right", "foot", "hand", "spot" or "" for words alone."""
    word: str
    colour: str = GREY

    @property
    def width(self) -> float:
        return (_SAMPLE if self.mark else 0.0) + _LETTER * len(self.word) + _SPACE


@dataclass(frozen=True)
class Key:
    """Entries in lines that fit the page."""

    lines: tuple[tuple[Entry, ...], ...]

    @property
    def height(self) -> float:
        return _LINE * len(self.lines) + 0.06


def key_of(acts: Sequence[Act], *, overlay: bool) -> Key:
    """The key to what acts show, broken into lines."""
    lines: list[list[Entry]] = [[]]
    used = 0.0
    for entry in [*_sides(acts), *_marks(acts, overlay)]:
        if lines[-1] and used + entry.width - _SPACE > PAGE_WIDTH - 2 * MARGIN:
            lines.append([])
            used = 0.0
        lines[-1].append(entry)
        used += entry.width
    return Key(tuple(tuple(line) for line in lines if line))


def _sides(acts: Sequence[Act]) -> list[Entry]:
    """Left and right for each character drawn together with others; once where each has a row of its own."""
    fullest = max(acts, key=lambda act: len(act.sticks))
    sides = {int(side) for act in acts for figure in act.sticks for side in figure.sides}
    found = []
    for number, figure in enumerate(fullest.sticks):
        palette = PALETTES[number % len(PALETTES)]
        whose = f"{figure.name}: " if len(fullest.sticks) > 1 else ""
        if LEFT in sides:
            found.append(Entry("left", f"{whose}left (hollow)", palette.left))
        if RIGHT in sides:
            found.append(Entry("right", f"{whose}right (solid)", palette.right))
    return found


def _marks(acts: Sequence[Act], overlay: bool) -> list[Entry]:
    found = []
    if any(len(act.spots()) for act in acts):
        found.append(Entry("spot", "planted here"))
    if overlay and max(len(act.times) for act in acts) > 1:
        feet = {trace.foot for act in acts for figure in act.sticks for trace in figure.traces}
        if True in feet:
            found.append(Entry("foot", "path of a foot"))
        if False in feet:
            found.append(Entry("hand", "path of a hand or other end"))
        found.append(Entry("", "lighter is earlier"))
    return found


def draw_key(axes: Axes, key: Key) -> None:
    """Draw the key, its last line at the lower margin."""
    for row, line in enumerate(reversed(key.lines)):
        x, y = MARGIN, MARGIN - 0.1 + row * _LINE
        for entry in line:
            _draw_mark(axes, entry, x, y)
            start = x + (_SAMPLE if entry.mark else 0.0)
            axes.text(start, y, entry.word, ha="left", va="center", fontsize=8, color=INK)
            x += entry.width


def _draw_mark(axes: Axes, entry: Entry, x: float, y: float) -> None:
    across, level = [x + 0.03, x + 0.3], [y, y]
    if entry.mark in ("left", "right"):
        axes.plot(across, level, color=entry.colour, linewidth=5, solid_capstyle="round")
        if entry.mark == "left":
            axes.plot(across, level, color="white", linewidth=2.4, solid_capstyle="round")
    elif entry.mark == "spot":
        axes.plot([x + 0.2], [y], marker="^", markersize=4, color=INK, linestyle="none")
    elif entry.mark:
        axes.plot(across, level, color=entry.colour, linewidth=1.2, linestyle="-" if entry.mark == "foot" else DOTTED)
