"""The seven results of [Analogies, sec. 6] on our own samples, on one core: as `papers` has them."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from papers.analogies_cases import *  # noqa: F403
