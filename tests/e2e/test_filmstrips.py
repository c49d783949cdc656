"""Every sample can be drawn, and what is drawn is a figure and no empty page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from understudy import samples
from understudy.figure.motion import rest_motion
from understudy.show.picture import draw

DOTS = 40.0


def ink(path: Path) -> tuple[float, float]:
    """The share of a PNG's dots that are not white, and of those with a colour that is no grey."""
    dots = imread(path)[..., :3]
    drawn = dots.min(axis=-1) < 0.9
    coloured = np.ptp(dots, axis=-1) > 0.15
    return float(drawn.mean()), float(coloured.mean())


@pytest.mark.parametrize("name", list(samples.motions()))
def test_motion_is_drawn(name: str, tmp_path: Path) -> None:
    path = tmp_path / "strip.png"
    draw(samples.motion(name), path, style="filmstrip", views="side", count=4, dots_per_inch=DOTS)
    drawn, coloured = ink(path)
    assert 0.01 < drawn < 0.5
    assert coloured > 0.001, "left and right have colours"


@pytest.mark.parametrize("name", list(samples.characters()))
def test_character_is_drawn(name: str, tmp_path: Path) -> None:
    path = tmp_path / "rest.png"
    draw(rest_motion(samples.character(name)), path, style="overlay", dots_per_inch=DOTS)
    drawn, coloured = ink(path)
    assert 0.01 < drawn < 0.5
    assert coloured > 0.001


def test_an_empty_page_would_be_noticed(tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    Figure(figsize=(4, 2), facecolor="white").savefig(tmp_path / "white.png", dpi=DOTS)
    assert ink(tmp_path / "white.png") == (0.0, 0.0)


def test_poses_of_a_strip_differ(tmp_path: Path) -> None:
    """Two halves of a walk give other pictures: time is drawn, and not one pose over and over."""
    scene = samples.motion("walk")
    for name, frames in {"a.png": slice(0, 20), "b.png": slice(20, 40), "c.png": slice(0, 20)}.items():
        draw(scene.motion, tmp_path / name, frames=frames, style="filmstrip", views="side", count=3, dots_per_inch=DOTS)
    first, second, again = ((tmp_path / name).read_bytes() for name in ("a.png", "b.png", "c.png"))
    assert first == again
    assert first != second
