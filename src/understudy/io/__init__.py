"""Reading and writing files. One module a format; inside the library everything is metres, seconds, radians, Y up."""

from __future__ import annotations

from understudy.io.clip import Clip
from understudy.io.files import formats, read, write

__all__ = ["Clip", "formats", "read", "write"]
