"""Inverse kinematics frame by frame, with its changes low-pass filtered [Gleicher98, sec. 3.2, figure 4 C].

The filter removes the snaps, but the result no longer meets the constraints.
"""

from __future__ import annotations

from typing import ClassVar

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.bands import low_pass
from understudy.solve.solvers.ik import FrameByFrame


@record(eq=True)
class IkLowpass(FrameByFrame):
    """Solves like `ik`, then applies a low-pass filter to the changes."""

    name: ClassVar[str] = "ik_lowpass"

    cutoff: float = 3.75
    """Hertz: the cutoff of the filter. The default is the fastest that keys 4 frames apart at 30 Hz can follow."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.cutoff > 0.0:
            raise OptionError(f"Solver `ik_lowpass`: expected a cutoff above zero hertz, got {self.cutoff}")

    def finished(self, change: Array, fps: float) -> Array:
        return low_pass(change, fps, self.cutoff)


SOLVER = IkLowpass
