"""What every result is measured by, whoever made it: skate, sink, limits, fast movement, jerk, frames a second."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from retarget_cases import Table

from understudy.base.quaternion import Array
from understudy.constraints.joint_range import JointRange
from understudy.constraints.region import Region
from understudy.constraints.same_place import SamePlace
from understudy.correspondence.limits import skeleton_limits
from understudy.figure.bands import low_pass, rms_jerk
from understudy.figure.contacts import FLOOR_DEPTH_METRES, Contact
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point
from understudy.metrics.constraint import measure_breaches
from understudy.metrics.foot_skate import measure_slides
from understudy.metrics.smoothness import Derivatives, summary
from understudy.retarget.plan import Plan

FAST = 8.0
"""Hertz above which movement counts as fast."""
LESS_JERK = 2.0
"""How many times our jerk inverse kinematics frame by frame must have where it keeps the same contacts."""
INSTALL = "pip install 'understudy-motion[peers]'"


@dataclass(frozen=True, eq=False, kw_only=True)
class Stance:
    """A point of the target that stands, as the source's does, at some frames."""

    point: Point
    frames: np.ndarray
    """(n,)."""
    height: float
    """Metres, world: where it stands."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Ground:
    """The plane that a point of the target stands on at its lowest."""

    point: Point
    centre: Array
    """(3,) metres, on the plane."""
    normal: Array
    """(3,) unit vector away from the ground."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What was measured of a motion."""

    skate: float
    """cm/s: mean horizontal speed of standing points over the source's stance frames."""
    drift: float
    """cm: farthest that a point goes, horizontally, from where its stance began."""
    sink: float
    """mm: deepest that any point of a foot goes below where it stands."""
    off: float
    """mm: mean of how far standing points are above or below where they stand."""
    breach: float
    """Degrees: farthest that a joint goes beyond its limits."""
    fast: float
    """Percent: movement above 8 Hz, more or less than the source's; of joints' paths in leg lengths, mean square."""
    jerk: float
    """Times the source's: RMS jerk of the same paths."""
    joint_jerk: float
    """Times that of the angles carried over unsolved: RMS jerk of the joints' turning."""


COLUMNS = (
    "skate cm/s", "drift cm", "sink mm", "off floor mm", "limits deg", ">8 Hz %", "jerk x", "joint jerk x",
)  # fmt: skip
EXPLAINED = (
    "skate: mean horizontal speed of a foot's points over the source's stance frames; drift: farthest in one stance.",
    "sink: deepest below where it stands, any frame; off floor: mean height error while it stands.",
    "limits: farthest beyond a joint's range. >8 Hz, jerk: of joints' paths in leg lengths, against the source's;",
    "joint jerk: of the turning, against the same angles with nothing solved.",
)


def row(name: str, frames_per_second: float, figures: Figures) -> tuple[object, ...]:
    """A table's row: who, how quick, and what came of it."""
    numbers = (figures.skate, figures.drift, figures.sink, figures.off, figures.breach)
    return (name, frames_per_second, *numbers, f"{figures.fast:+.1f}", figures.jerk, figures.joint_jerk)


def shaken(ours: Figures, frame_by_frame: Figures) -> list[str]:
    """What there is to say if ours is hardly smoother than frames solved alone."""
    if frame_by_frame.jerk >= LESS_JERK * ours.jerk:
        return []
    return [f"ik has {frame_by_frame.jerk:.3g} times the source's jerk, ours {ours.jerk:.3g}: not {LESS_JERK:g} times"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Yardstick:
    """The source's motion, and what of it the target has to keep."""

    source: Motion
    start: Motion
    """The source's angles on the target, nothing solved."""
    contacts: tuple[Contact, ...]
    """The source's."""
    stances: tuple[Stance, ...]
    """The target's."""
    grounds: tuple[Ground, ...]
    limits: tuple[JointRange, ...]
    pairs: tuple[tuple[int, int], ...]
    """Joints of source and target that belong together."""

    @staticmethod
    def of(plan: Plan) -> Yardstick:
        """What a retarget of one character keeps: its plants, its floor, its joints' limits."""
        part, start = plan.assignments[0], plan.starts[0]
        pairs = [(joint, joint) for joint in range(part.target.num_joints)]
        if part.alignment is not None:
            source, target = part.motion.skeleton.index, part.target.index
            pairs = [(source[p.source[0]], target[p.target[0]]) for p in part.alignment.correspondence.pairs]
        stances = [
            Stance(point=_point(c, start), frames=c.frames(start.times), height=c.height)
            for c in plan.constraints
            if isinstance(c, SamePlace) and c.height is not None
        ]
        grounds = [
            Ground(point=_point(c, start), centre=c.centre + FLOOR_DEPTH_METRES * c.normal, normal=c.normal)
            for c in plan.constraints
            if isinstance(c, Region) and c.normal is not None
        ]
        # A robot has limits at joints too that the plan leaves alone and others may turn.
        limits = skeleton_limits(part.target) or [c for c in plan.constraints if isinstance(c, JointRange)]
        return Yardstick(
            source=part.motion, start=start, contacts=plan.contacts, stances=tuple(stances), grounds=tuple(grounds),
            limits=tuple(limits), pairs=tuple(pairs),
        )  # fmt: skip

    @property
    def own(self) -> str:
        """How much the source's own feet skate at the same times, as a sentence: captures are not perfect."""
        plants = [
            (c.point, c.frames(self.source.fps, self.source.num_frames)) for c in self.contacts if c.on == "floor"
        ]
        speed = _mean(measure_slides(fk(self.source), self.source.fps, plants).all)
        return f"The source's own feet skate {100.0 * speed:.2g} cm/s."

    def measure(self, motion: Motion) -> Figures:
        """Every figure of a motion of the target."""
        pose = fk(motion)
        slid = measure_slides(pose, motion.fps, [(stance.point, stance.frames) for stance in self.stances])
        heights = [np.abs(pose.points([stance.point])[stance.frames, 0, 1] - stance.height) for stance in self.stances]
        depths = [
            float(((ground.centre - pose.points([ground.point])[:, 0]) @ ground.normal).max())
            for ground in self.grounds
        ]
        theirs, ours = self._paths(self.source, 0), self._paths(motion, 1)
        breaches = measure_breaches(self.limits, motion).max(axis=0)
        return Figures(
            skate=100.0 * _mean(slid.all),
            drift=100.0 * float(slid.drifts.max(initial=0.0)),
            sink=1e3 * max([0.0, *depths]),
            off=1e3 * _mean(np.concatenate([np.zeros(0), *heights])),
            breach=float(np.degrees(max([0.0, *breaches]))),
            fast=100.0 * (_fast(ours, motion.fps) / _fast(theirs, motion.fps) - 1.0),
            jerk=_jerk(ours, motion.fps) / _jerk(theirs, motion.fps),
            joint_jerk=rms_jerk(motion) / rms_jerk(self.start),
        )

    def _paths(self, motion: Motion, side: int) -> Array:
        """(F, P, 3) the paths of the joints that have a partner, in leg lengths."""
        return fk(motion).positions[:, [pair[side] for pair in self.pairs]] / leg_length(motion.skeleton)


def _point(constraint: SamePlace | Region, motion: Motion) -> Point:
    place = constraint.point_refs()[0].point
    return motion.skeleton.point(place) if isinstance(place, str) else place


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else 0.0


def _fast(paths: Array, fps: float) -> float:
    curves = paths.reshape(len(paths), -1)
    return float(np.mean((curves - low_pass(curves, fps, FAST)) ** 2))


def _jerk(paths: Array, fps: float) -> float:
    return summary(Derivatives.of(paths, fps, leg=1.0).jerk)["rms"]


@dataclass(frozen=True, kw_only=True)
class Missing:
    """Packages that a comparison needs and that are not there, or do not load."""

    packages: tuple[str, ...]

    def table(self, title: str) -> Table:
        """A table that says why it is empty."""
        return Table(title=title, columns=("skipped",), rows=((self.note,),))

    @property
    def note(self) -> str:
        are = "is" if len(self.packages) == 1 else "are"
        return f"{', '.join(self.packages)} {are} not installed: {INSTALL}"


def packages(names: Sequence[str]) -> tuple[ModuleType, ...] | Missing:
    """Packages by name, or what is missing of them."""
    found, missing = [], []
    for name in names:
        try:
            found.append(importlib.import_module(name))
        except ImportError:
            missing.append(name)
    return Missing(packages=tuple(missing)) if missing else tuple(found)
