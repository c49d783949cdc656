"""The modules of Understudy that one retarget runs through: `python benchmarks/modules.py [SOURCE] [TARGET]`.

A module counts if any of its functions is called between reading the source and writing the result. Modules that are
only imported do not.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from types import FrameType

import understudy

HOME = Path(understudy.__file__).parent
MAX_MODULES = 50


def modules_run(source: str, target: str) -> list[str]:
    """The modules whose functions are called in a retarget, by name."""
    files: set[str] = set()
    # Once before, so that what importing alone calls is not counted.
    _retarget(source, target)

    def trace(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    sys.setprofile(trace)
    try:
        _retarget(source, target)
    finally:
        sys.setprofile(None)
    inside = (Path(file) for file in files if file.startswith(str(HOME)))
    return sorted(path.relative_to(HOME).with_suffix("").as_posix().replace("/", ".") for path in inside)


def _retarget(source: str, target: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        result = understudy.retarget(source, target)
        result.write(Path(folder) / "result.bvh")
        result.summary()


def main() -> int:
    """Print the modules; fail if there are too many."""
    source, target = (
        (*sys.argv[1:3], "sample:walk", "sample:child")[:2] if len(sys.argv) > 2 else ("sample:walk", "sample:child")
    )
    names = modules_run(source, target)
    print("\n".join(names))
    print(f"{len(names)} modules (at most {MAX_MODULES})")
    return int(len(names) > MAX_MODULES)


if __name__ == "__main__":
    sys.exit(main())
