"""Rotations: our quaternion and Euler functions beside scipy's Rotation, and what importing each costs.

    python benchmarks/rotations.py [--count 600000] [--json]

Times are the best of several in one process, on rotations held as arrays of quaternions, scalar first, before and
after: scipy's include making its objects and reading them out, since motions are arrays. Each pair is checked to give
the same answer first. Import times are of a fresh process each, less an empty one's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from understudy.base.quaternion import (
    Array,
    conjugate,
    exp,
    from_euler,
    log,
    multiply,
    normalize,
    rotate,
    slerp,
    to_euler,
    to_matrix,
)

IMPORTS = {
    "understudy.base.quaternion": "import understudy.base.quaternion",
    "numpy": "import numpy",
    "scipy.spatial.transform": "from scipy.spatial.transform import Rotation",
}
STEPS = 4
"""Places between two rotations at which they are interpolated."""


def best(work: Callable[[], object], times: int = 7) -> float:
    """The least of some times, seconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def pairs(count: int) -> dict[str, tuple[Callable[[], Array], Callable[[], Array]]]:
    """Each operation as we do it and as scipy does, on the same random rotations."""
    rng = np.random.default_rng(1)
    a, b = normalize(rng.normal(size=(2, count, 4)))
    v, turns, angles = rng.normal(size=(3, count, 3))
    shares = np.linspace(0.1, 0.9, STEPS)
    ends = normalize(rng.normal(size=(2, count // STEPS, 4)))

    def of(q: Array) -> Rotation:
        return Rotation.from_quat(q, scalar_first=True)

    def theirs_slerp() -> Array:
        # Its Slerp takes one curve through many keys: pairs are laid end to end, two keys each.
        keys = np.stack(ends, axis=1).reshape(-1, 4)
        times = 2.0 * np.arange(len(ends[0]))[:, None] + shares
        curve = Slerp(np.arange(len(keys), dtype=float), of(keys))
        return curve(times.ravel()).as_quat(scalar_first=True)

    return {
        "product": (lambda: multiply(a, b), lambda: (of(a) * of(b)).as_quat(scalar_first=True)),
        "inverse": (lambda: conjugate(a), lambda: of(a).inv().as_quat(scalar_first=True)),
        "turn vectors": (lambda: rotate(a, v), lambda: of(a).apply(v)),
        "from rotation vectors": (lambda: exp(turns), lambda: Rotation.from_rotvec(turns).as_quat(scalar_first=True)),
        "to rotation vectors": (lambda: log(a), lambda: of(a).as_rotvec()),
        "to matrices": (lambda: to_matrix(a), lambda: of(a).as_matrix()),
        "from Euler angles": (
            lambda: from_euler(angles, "ZXY"),
            lambda: Rotation.from_euler("ZXY", angles).as_quat(scalar_first=True),
        ),
        "to Euler angles": (lambda: to_euler(a, "ZXY"), lambda: of(a).as_euler("ZXY")),
        "slerp": (lambda: slerp(ends[0][:, None], ends[1][:, None], shares).reshape(-1, 4), theirs_slerp),
    }


def apart(ours: Array, theirs: Array) -> float:
    """The greatest difference, quaternions of either sign being the same rotation."""
    if ours.shape[-1] == 4:
        theirs = theirs * np.sign(np.einsum("...i,...i->...", ours, theirs))[..., None]
    return float(np.abs(ours - theirs).max())


def import_seconds(times: int = 5) -> dict[str, float]:
    """Seconds that importing takes in a fresh process, beyond an empty one."""

    def fresh(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), times)

    empty = fresh("pass")
    return {name: fresh(code) - empty for name, code in IMPORTS.items()}


def measure(count: int) -> dict[str, object]:
    """Everything, as one table of numbers."""
    ours, theirs, worst = {}, {}, 0.0
    for name, (mine, other) in pairs(count).items():
        worst = max(worst, apart(mine(), other()))
        ours[name], theirs[name] = best(mine), best(other)
    return {
        "rotations": count,
        "greatest_difference": worst,
        "understudy_milliseconds": {name: 1e3 * taken for name, taken in ours.items()},
        "scipy_milliseconds": {name: 1e3 * taken for name, taken in theirs.items()},
        "times_as_fast": {name: theirs[name] / ours[name] for name in ours},
        "import_seconds": import_seconds(),
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=600_000, help="rotations: 20,000 frames of 30 joints")
    options.add_argument("--json", action="store_true", help="print the numbers as JSON")
    chosen = options.parse_args()
    found = measure(chosen.count)
    if chosen.json:
        print(json.dumps(found, indent=2))
    else:
        print(f"{found['rotations']} rotations; greatest difference {found['greatest_difference']:.1e}")
        print(f"{'milliseconds':<24}{'understudy':>12}{'scipy':>12}{'times as fast':>15}")
        for name, ours in found["understudy_milliseconds"].items():
            theirs, ratio = found["scipy_milliseconds"][name], found["times_as_fast"][name]
            print(f"{name:<24}{ours:>12.1f}{theirs:>12.1f}{ratio:>15.2f}")
        print("\nimport, milliseconds")
        for name, taken in found["import_seconds"].items():
            print(f"{name:<32}{1e3 * taken:>8.0f}")
    wrong = found["greatest_difference"] > 1e-9
    if wrong:
        print("understudy and scipy do not agree", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
