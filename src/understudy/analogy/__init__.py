"""Eigenmotion: motions taken apart into coordinations, matched between bodies and put together anew [Analogies]."""

from __future__ import annotations
