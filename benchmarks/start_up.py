"""How long `understudy retarget` of a short clip takes from start to end, beside another checkout in the same run.

    python benchmarks/start_up.py --against OTHER_CHECKOUT [--clip CLIP.bvh] [--rounds 9]

Both are run in turns by the same interpreter, so that a busy minute hits both. The figure is the ratio of the medians
of processor time, imports included.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
COMMAND = "from understudy.app.cli import main; main()"


def seconds(checkout: Path, arguments: list[str]) -> float:
    """Processor seconds of one run of the command, with the sources of a checkout."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OPENBLAS_NUM_THREADS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", COMMAND, *arguments], env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="a checkout to compare with; none if not given")
    parser.add_argument("--clip", default="sample:walk", help="the motion")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["retarget", given.clip, "--scale", "0.6", "-o", str(Path(folder) / "result.bvh")]
        checkouts = [HERE] if given.against is None else [HERE, given.against]
        rounds = [[seconds(checkout, arguments) for checkout in checkouts] for _ in range(given.rounds)]
    ours, *others = (statistics.median(times) for times in zip(*rounds, strict=True))
    print(f"`understudy retarget {given.clip} --scale 0.6` takes {ours:.3f} s of processor time from start to end.")
    for other in others:
        print(f"{given.against} takes {other:.3f} s: ratio {ours / other:.2f}.")


if __name__ == "__main__":
    main()
