"""Analogies: motions are decomposed into coordinations, which are matched between bodies and recombined [Analogies]."""

from __future__ import annotations
