"""Reads and writes files, one folder per format. Clips are always in metres, seconds and radians with Y up.

Imports `base` and `figure`, `correspondence` for the height of a body whose names say nothing, and `constraints` and
`solve` for marker files, to which a body has to be fitted. The rooms from `retarget` up import it.
"""

from __future__ import annotations

from understudy.io.clip import Clip, formats, read, write

__all__ = ["Clip", "formats", "read", "write"]
