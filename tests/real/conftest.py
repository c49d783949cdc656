"""Where the real motions and characters are, for tests that need them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data; tests that ask for it are skipped where it is missing."""
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get("UNDERSTUDY_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"there is no folder of real data at `{folder}`; UNDERSTUDY_DATA can name another")
    return folder
