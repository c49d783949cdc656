"""Figure 11 of [Gleicher98]: a soda can that walks, skips and runs, driven by the human inside it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from understudy import samples
from understudy.driving import Driven, drive
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.papers.scenes import DOTS, drawn, scene, worst
from understudy.samples.can import HEIGHT, RADIUS
from understudy.skeleton import Point

GAITS = {"walk": slice(28, 61), "skip": slice(63, 105), "run": slice(40, 62)}
"""A stride or so of each."""


def outlined(motion: Motion) -> Motion:
    """The can with points all round its rims, so that its outline is a cylinder's."""
    around = np.linspace(0.0, 2.0 * np.pi, 32, endpoint=False)
    rims = [
        Point(
            name=f"rim {number}",
            joint="Can",
            offset=np.array([RADIUS * np.cos(angle), height, RADIUS * np.sin(angle)]),
        )
        for number, (height, angle) in enumerate((h, a) for h in (-0.5 * HEIGHT, 0.5 * HEIGHT) for a in around)
    ]
    return replace(motion, skeleton=replace(motion.skeleton, ends=tuple(rims)))


def said(name: str, found: Driven, seconds: float) -> str:
    """A gait's figures in a line."""
    pose = fk(found.motion)
    across = pose.directions("Can", np.array([1.0, 0.0, 0.0]))
    down = np.zeros(found.motion.num_frames, bool)
    for contact in found.contacts:
        down[contact.frames(found.motion.fps, found.motion.num_frames)] = True
    went, path = (np.linalg.norm(m.root[-1] - m.root[0]) for m in (found.motion, found.intermediate))
    tips = np.degrees(np.abs(np.arcsin(across[:, 1])).max())
    return (
        f"{name}: {found.solution.result}; planted points within {worst(found.solution, 'same_place'):.3f} mm, no end "
        f"deeper than {-1e3 * min(pose.ends()[..., 1].min(), 0.0):.1f} mm; tips by {tips:.0f} degrees; goes "
        f"{went / path:.2f} times as far as the human of its proportions; in the air for {100 * np.mean(~down):.0f}% "
        f"of the time; {seconds:.1f} s of work for {found.motion.duration:.0f} s of motion"
    )


def fig11(gait: str) -> Callable[[Path | None], list[str]]:
    """What draws the can in one of its gaits, transparently around the human that drives it, and says its figures."""

    def make(path: Path | None) -> list[str]:
        given = scene(gait)
        began = time.perf_counter()
        found = drive(given.motion, samples.character("can"), contacts=given.contacts)
        seconds = time.perf_counter() - began
        drawn(
            [replace(found.intermediate, name="the human of its proportions"), outlined(found.motion)], path,
            style="filmstrip", views=("side", "front"), count=9, frames=GAITS[gait], together=True,
            contacts=found.contacts, title=f"The can {gait}s", dots_per_inch=DOTS,
        )  # fmt: skip
        return [said(gait, found, seconds)]

    return make
