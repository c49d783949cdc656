"""Read many mutants of every format in processes of bounded memory: `python tests/fuzz/run.py --count 100000`.

With `--messages` mutated messages are sent to a studio instead, over its websocket.

A mutant that raises anything but an error of ours, takes too long or needs too much memory is a finding. It is kept in
`tests/fuzz/cases`, where `test_fuzz.py` reads it from then on, unless it is made of a file of others:
`--seed FILE --format .fbx` (`.text.fbx` if the file is text).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from mutants import find_faults, forked_readers, make_seeds, mutants

MAX_BYTES = 3 << 30
"""Address space of a process that reads mutants."""

BLOCK = 500
"""Mutants that one process reads."""


def main() -> int:
    """Read the mutants, block by block; returns 1 if there are findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="mutants of all formats together")
    parser.add_argument("--first", type=int, default=0, help="the number of the first mutant")
    parser.add_argument("--format", default="", help="only this suffix, such as .bvh")
    parser.add_argument("--seed", type=Path, help="mutants of this file, instead of one that is made here")
    parser.add_argument("--messages", action="store_true", help="mutated messages to a studio instead of files")
    parser.add_argument("--block", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seed is not None and not options.format:
        parser.error("--seed needs --format")
    if options.messages:
        return send_messages(options.count, options.first)
    if options.block:
        return read_block(options.format, options.count, options.first, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        suffixes = [options.format] if options.format else sorted(make_seeds(Path(folder)))
    if importlib.util.find_spec("ufbx") is None and any(suffix.endswith(".fbx") for suffix in suffixes):
        print("FBX is left out: without the package `ufbx` every file is refused")
        suffixes = [suffix for suffix in suffixes if not suffix.endswith(".fbx")]
        if not suffixes:
            return 1
    findings, each = 0, -(-options.count // len(suffixes))
    for suffix in suffixes:
        for first in range(options.first, options.first + each, BLOCK):
            count = min(BLOCK, options.first + each - first)
            command = [sys.executable, __file__, "--block", "--format", suffix]
            command += [] if options.seed is None else ["--seed", str(options.seed)]
            result = subprocess.run(
                [*command, "--count", str(count), "--first", str(first)], capture_output=True, text=True, check=False
            )
            if result.returncode:
                findings += 1
                last = (result.stdout or result.stderr).strip().splitlines()[-8:]
                print(f"{suffix} {first}-{first + count}: " + "\n  ".join(last or [f"status {result.returncode}"]))
        print(f"{suffix}: {each} mutants", flush=True)
    print(f"{each * len(suffixes)} mutants, {findings} blocks with findings")
    return int(findings > 0)


def send_messages(count: int, first: int) -> int:
    """Send mutated messages, block by block to a new studio; returns 1 if there are findings."""
    from messages import send_mutants

    findings = replies = done = disconnects = 0
    for start in range(first, first + count, BLOCK):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["XDG_STATE_HOME"] = str(Path(folder) / "state")
            sent = send_mutants(Path(folder), min(BLOCK, first + count - start), start)
        for fault in sent.faults:
            print(fault, flush=True)
        findings, replies, done = findings + len(sent.faults), replies + sent.replies, done + sent.done
        disconnects += sent.disconnects
        print(f"{start - first + BLOCK} sent, {findings} findings", flush=True)
    print(f"{count} messages, {replies} replies, {done} done, {disconnects} disconnects, {findings} findings")
    return int(findings > 0)


def read_block(suffix: str, count: int, first: int, seed: Path | None = None) -> int:
    """Read some mutants in this process, whose memory is limited; keep what is found as a case."""
    if sys.platform.startswith("linux"):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    with tempfile.TemporaryDirectory() as folder, forked_readers():
        faults = find_faults(suffix, count, Path(folder), first, seed)
    cases = Path(__file__).parent / "cases"
    for number, data, beside in mutants(suffix, count, first, seed):
        if number in faults:
            print(f"{suffix} {number}: {faults[number]}")
            if not beside and seed is None:
                cases.mkdir(exist_ok=True)
                (cases / f"{number:06d}{suffix}").write_bytes(data)
    return int(bool(faults))


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main())
