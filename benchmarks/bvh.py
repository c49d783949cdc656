"""Reading and writing BVH: time against the packages bvh, bvhtoolbox and bvhio, ways to read numbers, and memory.

    python benchmarks/bvh.py [--frames 20000] [--json]

All times are the best of three in one run on one generated file of 31 joints. Our time is the whole way to a motion
with quaternions, guesses and checks included; the packages' times are for their own parsing alone.
Memory is the most that is taken while reading (as tracemalloc counts it), against the numbers of the file as doubles.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from understudy.base.quaternion import exp
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.io.bvh.reader import read, read_rows
from understudy.io.bvh.writer import write
from understudy.io.clip import Clip, ReadOptions, WriteOptions

# This file has the name of one of the packages it measures, and would be found in its place.
sys.path[:] = [folder for folder in sys.path if Path(folder).resolve() != Path(__file__).resolve().parent]

WANTED = {"bvh": 4.0, "bvhtoolbox": 4.0, "bvhio": 8.0}
"""How many times as fast as each package reading has to be."""
MOST_MEMORY = 6.0
"""How many times the size of the numbers reading may take."""
POSED = 100
"""Frames over which the slow forward kinematics of bvhio is timed; scaled up to all."""


def made_motion(frames: int) -> Motion:
    """A body of 31 joints that turns all of them slowly and at random, in metres."""
    rng = np.random.default_rng(1)
    parents = [-1, 0, 1, 2, 3, 4, 0, 6, 7, 8, 9, 0, 11, 12, 13, 14, 15, 13, 17, 18, 19, 20, 21, 20, 13]
    parents += [24, 25, 26, 27, 28, 27]
    names = [f"Joint{number}" for number in range(31)]
    names[4], names[9], names[16] = "LeftFoot", "RightFoot", "Head"
    offsets = rng.normal(size=(31, 3)) * 0.1
    skeleton = Skeleton(
        names=tuple(names),
        parents=np.array(parents),
        offsets=offsets,
        ends=tuple(Point(name=f"{names[j]}_end", joint=names[j], offset=np.full(3, 0.05)) for j in (5, 10, 16, 22, 23)),
    )
    turns = np.cumsum(rng.normal(size=(frames, 31, 3)) * 0.01, axis=0)
    root = np.cumsum(rng.normal(size=(frames, 3)) * 0.001, axis=0) + np.array([0.0, 1.0, 0.0])
    return Motion(skeleton=skeleton, fps=120.0, root=root, rotations=exp(turns))


def best(work: Callable[[], object], times: int = 3) -> float:
    """The least of some times, seconds."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def readers(path: Path) -> dict[str, float]:
    """Seconds for reading the file, ours and the packages that are installed."""
    data = path.read_bytes()
    text = data.decode()
    times = {"understudy": best(lambda: read(io.BytesIO(data), "made.bvh", ReadOptions()))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import bvh

            times["bvh"] = best(lambda: bvh.Bvh(text))
        except ImportError:
            pass
        try:
            import bvhtoolbox

            times["bvhtoolbox"] = best(lambda: bvhtoolbox.BvhTree(text))
        except ImportError:
            pass
        try:
            import bvhio

            times["bvhio"] = best(lambda: bvhio.readAsBvh(str(path)), times=2)
        except ImportError:
            pass
    return times


def posing(path: Path, frames: int) -> dict[str, float]:
    """Seconds for the world positions of all joints at all frames."""
    with path.open("rb") as stream:
        motion = read(stream, "made.bvh", ReadOptions()).motion
    assert motion is not None
    times = {"understudy": best(lambda: fk(motion))}
    try:
        import bvhio
    except ImportError:
        return times
    root = bvhio.readAsHierarchy(str(path))
    joints = [joint for joint, _, _ in root.layout()]

    def pose() -> None:
        for frame in range(POSED):
            root.loadPose(frame)
            for joint in joints:
                _ = joint.PositionWorld

    times["bvhio"] = best(pose, times=1) * frames / POSED
    return times


def number_readers(data: bytes, width: int, frames: int) -> dict[str, float]:
    """Seconds for the motion rows alone, by each way that was tried."""
    start = data.index(b"\n", data.index(b"Frame Time")) + 1
    rows = data[start:]
    text = rows.decode()
    return {
        "eight characters at once (used)": best(lambda: read_rows(rows, width, frames)),
        "numpy.fromstring": best(lambda: np.fromstring(text, sep=" ")),
        "numpy.loadtxt": best(lambda: np.loadtxt(io.StringIO(text)), times=1),
        "split and float": best(lambda: np.fromiter(map(float, rows.split()), float), times=1),
    }


def memory_to_read(path: Path) -> int:
    """The most bytes held at any time while the file is read, the file's own text and the result included."""
    tracemalloc.start()
    try:
        with path.open("rb") as stream:
            clip = read(stream, "made.bvh", ReadOptions())
        assert clip.motion is not None
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def measure(frames: int) -> dict[str, object]:
    """Everything, as one table of numbers."""
    clip = Clip.of(made_motion(frames))
    buffer = io.BytesIO()
    write(clip, buffer, WriteOptions())
    data = buffer.getvalue()
    width = 3 + 3 * 31
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.bvh"
        path.write_bytes(data)
        seconds = readers(path)
        posed = posing(path, frames)
        memory = memory_to_read(path)
    return {
        "frames": frames,
        "megabytes": len(data) / 1e6,
        "read_seconds": seconds,
        "times_as_fast": {name: taken / seconds["understudy"] for name, taken in seconds.items() if name in WANTED},
        "forward_kinematics_seconds": posed,
        "write_seconds": best(lambda: write(clip, io.BytesIO(), WriteOptions())),
        "number_reading_seconds": number_readers(data, width, frames),
        "memory_times_numbers": memory / (frames * width * 8),
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--frames", type=int, default=20_000)
    options.add_argument("--json", action="store_true", help="print the numbers as JSON")
    chosen = options.parse_args()
    found = measure(chosen.frames)
    if chosen.json:
        print(json.dumps(found, indent=2))
    else:
        for key, value in found.items():
            if isinstance(value, dict):
                print(key.replace("_", " "))
                for name, number in value.items():
                    print(f"  {name:34s} {number:9.3f}")
            else:
                print(f"{key.replace('_', ' '):36s} {value:9.3f}")
    ratios = found["times_as_fast"]
    slow = [name for name, wanted in WANTED.items() if name in ratios and ratios[name] < wanted]
    if found["memory_times_numbers"] > MOST_MEMORY:
        slow.append("memory")
    print(f"not reached: {', '.join(slow)}" if slow else "all wanted figures reached", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
