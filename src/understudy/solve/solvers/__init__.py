"""Ways to solve a spacetime problem, one file each; a module with a `SOLVER` is found by itself."""

from __future__ import annotations
