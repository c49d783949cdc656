"""Inverse kinematics frame by frame, with its changes smoothed afterwards [Gleicher98, sec. 3.2, figure 4 C].

The snaps go, and with them the constraints that they met.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.bands import low_pass
from understudy.coordinates import Body
from understudy.errors import OptionError
from understudy.problem import Problem, Sample, merged
from understudy.solvers.base import Solver, Watch
from understudy.solvers.ik import Ik, frame_by_frame


@dataclass(frozen=True, kw_only=True)
class IkLowpass(Solver):
    """What `ik` changes, without the fast part of it."""

    name: ClassVar[str] = "ik_lowpass"

    cutoff: float = 3.75
    """Hertz above which changes are taken away: the fastest that keys 4 frames apart at 30 Hz can follow."""
    frames: Ik = Ik()
    """How each frame is solved."""

    def __post_init__(self) -> None:
        if not self.cutoff > 0.0:
            raise OptionError(f"Solver `ik_lowpass`: expected a cutoff above zero hertz, got {self.cutoff}")

    def move(self, problem: Problem, watch: Watch) -> tuple[tuple[Body, ...], int]:
        change, steps = frame_by_frame(problem, self.frames, watch)
        if steps == 0:
            return problem.bodies, 0
        change = low_pass(change, problem.actors[0].motion.fps, self.cutoff)
        whole = Sample(problem=problem, bodies=problem.bodies, frames=np.arange(len(problem.times)))
        return merged(problem.bodies, whole, change), steps


SOLVER = IkLowpass
