"""Memory that is used again and again, kept at hand."""

from __future__ import annotations

from functools import cache

import numpy as np

FREED = 32 * 2**20 - 2**14
"""Bytes: about the largest block that glibc learns from."""


@cache
def keep_freed() -> None:
    """Let the C library keep what is freed, some tens of megabytes at most, instead of giving it back to the system.

    Getting it again, page by page, takes up to a tenth of a solve. glibc keeps twice the largest block that was ever
    freed; one that is never written to takes no memory itself. Other libraries do as they did.
    """
    np.empty(FREED, np.uint8)
