"""Feature driving: a body with fewer freedoms, or no limbs, performs another's motion [Gleicher98, sec. 8, fig. 11]."""

from __future__ import annotations

from understudy.driving.drive import Driven, drive

__all__ = ["Driven", "drive"]
