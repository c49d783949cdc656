"""Batches: what a second worker gains, and what a batch costs beside the work itself.

    python benchmarks/batch.py [--repeats N] [--clips N] [--json]
    python benchmarks/batch.py --throughput [--collection FOLDER] [--clips N]

The captured motions of the CMU collection where they are at hand, else samples, onto three targets: the captured body
itself at 70 %, a child of another structure, and, where it is at hand, a character with skin in a GLB file. Every run
is the command itself, in processes of its own, from start to page. `gain` is the time of one worker over that of two,
the least of several runs each, starting and ending included; it is only what it should be on a machine that does
nothing else. `overhead` is what the processors did beside reading (of which laying the problem out is a part), solving,
measuring and writing, in percent of those: digests, folders, small pictures, rows, table and page. Starting the
program is not in it, which costs every process once; it is counted by a run of one clip.

`--throughput` measures one thing instead: how many seconds of motion a second of two workers makes, onto a character
with skin, from start to page. It takes clips at random from a collection, once without hands that keep near the body
and limbs that are kept out of it, and once with everything on: both, and the skin for limbs that pass through the body.
`processor` is the same against the seconds of processor of both workers, which other programs on the machine change
less. The parts follow as shares, then the clips whose verdict differs from that of `evaluate` on the finished file.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from retarget_cases import Table, data_folder, load

from understudy import samples
from understudy.io import write

GAIN = 1.7
"""How many times as fast two workers have to be as one."""
OVERHEAD = 10.0
"""Percent of the work that the rest may take."""
PARTS = ("reading", "solving", "measuring", "writing")
REAL_TIME = {"without touch and clearance": 90.0, "everything on": 45.0}
"""How many seconds of motion two workers have to make in a second."""
MEASURING = 15.0
"""Percent of the work that measuring may take."""
SEED = 26
"""Of the choice of clips."""
RECIPE = '[[actor]]\nsource = "any.bvh"\ntarget = "any.glb"\n\n[options]\ntouch = false\nclearance = false\n'
"""A recipe without hands that keep near the body and without limbs that are kept out of it; the command line names the
files."""
COMMAND = "from understudy.app.cli import main; main()"


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one run of the command took."""

    wall: float
    cpu: float
    rows: list[dict[str, float]]

    def total(self, name: str) -> float:
        """Seconds of one kind over all clips."""
        return sum(row[name] for row in self.rows)

    @property
    def work(self) -> float:
        """Seconds of processor that the parts of the work took."""
        share = sum(self.total(f"seconds_{part}") for part in PARTS) / self.total("seconds")
        return self.total("seconds_cpu") * share


def run(source: Path, target: list[str], workers: int, pattern: str = "", folder: Path | None = None) -> Run:
    """Run the command once, into an empty folder, or into a new folder inside a given one, where it stays."""
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            return run(source, target, workers, pattern, Path(temporary))
    output = folder / "out"
    words = ["batch", str(source), *target, "-o", str(output), "--workers", str(workers)]
    words += ["--pattern", pattern] if pattern else []
    before, began = used(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    wall, cpu = time.perf_counter() - began, used() - before
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout.decode())
    rows = [json.loads(line) for line in (output / "rows.jsonl").read_text().splitlines()]
    return Run(wall=wall, cpu=cpu, rows=[row for row in rows if "seconds_solving" in row])


def used() -> float:
    """Seconds of processor of all processes that were started from here and have ended."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def library(folder: Path, count: int | None) -> Path:
    """A folder with the motions: the captures, or samples where there are none."""
    captured = data_folder()
    if captured is not None:
        for path in sorted(captured.glob("*.bvh"))[:count]:
            (folder / path.name).symlink_to(path)
    else:
        for number in range(count or 12):
            name = ("walk", "march", "dance", "run")[number % 4]
            write(samples.motion(name, fps=120.0, seconds=3.0 + number).motion, folder / f"{name}_{number:02d}.bvh")
    return folder


def targets() -> dict[str, list[str]]:
    """Who performs the motions, as words of the command."""
    found = {"itself at 70 %": ["--scale", "0.7"], "sample child": ["sample:child"]}
    captured = data_folder()
    character = None if captured is None else captured.parent / "gltf" / "m2m_rig_human.glb"
    if character is not None and character.is_file():
        return {**found, "character in a GLB": [str(character)]}
    return {**found, "sample giant": ["sample:giant"]}


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was measured of one target: the runs that took least."""

    one: Run
    """By one worker, with the least processor."""
    walls: tuple[float, float]
    """Seconds from start to end by one worker and by two."""
    fixed: float
    """Seconds of processor that a run takes whatever its clips."""
    more: float
    """Times as much processor that two workers need for the same."""

    @property
    def overhead(self) -> float:
        """Percent of the work that everything besides takes."""
        return 100.0 * (self.one.cpu - self.fixed - self.one.work) / self.one.work

    def row(self, name: str) -> tuple[object, ...]:
        """The row of a target."""
        parts = [self.one.total(f"seconds_{part}") for part in PARTS]
        shares = [f"{100.0 * part / sum(parts):.0f} %" for part in parts]
        clips = len(self.one.rows)
        return (
            name, clips, *self.walls, self.walls[0] / self.walls[1], 1e3 * self.one.work / clips, *shares,
            f"{self.overhead:.1f} %", f"{self.fixed:.2f}", self.more,
        )  # fmt: skip


def measure(source: Path, words: list[str], repeats: int) -> Found:
    """One worker and two by turns, so that what else the machine does meets both."""
    first = sorted(path.name for path in source.iterdir())[0]
    alone = min((run(source, words, 1, first) for _ in range(repeats)), key=lambda each: each.cpu)
    pairs = [(run(source, words, 1), run(source, words, 2)) for _ in range(repeats)]
    one, two = (min((pair[k] for pair in pairs), key=lambda each: each.cpu) for k in (0, 1))
    walls = min(a.wall for a, _ in pairs), min(b.wall for _, b in pairs)
    return Found(one=one, walls=walls, fixed=alone.cpu - alone.total("seconds_cpu"), more=two.cpu / one.cpu)


def measured(source: Path, repeats: int) -> Table:
    """A row for each target, and one for all of them."""
    found = {name: measure(source, words, repeats) for name, words in targets().items()}
    walls = [sum(each.walls[k] for each in found.values()) for k in (0, 1)]
    gain = walls[0] / walls[1]
    total = ("all", sum(len(each.one.rows) for each in found.values()), *walls, gain, *[""] * (len(PARTS) + 4))
    missed = [f"gain {gain:.2f}, {GAIN} asked for"] if gain < GAIN else []
    missed += [
        f"{name}: overhead {each.overhead:.1f} %, {OVERHEAD:.0f} % at most"
        for name, each in found.items()
        if each.overhead > OVERHEAD
    ]
    return Table(
        title="A library onto one body, by one worker and by two",
        columns=("target", "clips", "1: s", "2: s", "gain", "ms a clip", *PARTS, "overhead", "start s", "cpu 2/1"),
        rows=(*(each.row(name) for name, each in found.items()), total),
        notes=(
            "ms a clip: of processor, for the four parts; their shares follow. start: of processor, once a run.",
            "cpu 2/1: how much more processor two workers need for the same; above 1 they are in each other's way.",
        ),
        missed=tuple(missed),
    )


def collection(folder: Path, clips: Path | None, count: int) -> Path:
    """A folder with links to some motions of a collection, chosen at random."""
    if clips is None:
        return library(folder, count)
    found = sorted(clips.rglob("*.bvh"))
    for path in random.Random(SEED).sample(found, min(count, len(found))):
        (folder / path.name).symlink_to(path)
    return folder


def verdicts_that_differ(source: Path, output: Path) -> list[str]:
    """The clips whose row has another verdict than `evaluate` gives the finished file."""
    differing = []
    for row in map(json.loads, (output / "rows.jsonl").read_text().splitlines()):
        if row["status"] == "done":
            words = ["evaluate", str(output / row["output"]), "--source", str(source / row["clip"]), "--json"]
            done = subprocess.run([sys.executable, "-c", COMMAND, *words], stdout=subprocess.PIPE, check=False)
            verdict = json.loads(done.stdout)["verdict"]
            if verdict != row["verdict"]:
                differing.append(f"{row['clip']}: {row['verdict']} in the batch, {verdict} by evaluate")
    return differing


def throughput(source: Path, *, compared: bool) -> Table:
    """A row without what may be left off, and one with everything on."""
    character = targets().get("character in a GLB", ["sample:giant"])
    rows, missed = [], []
    for name, words in (("without touch and clearance", ["--recipe", "recipe.toml"]), ("everything on", ["--skin"])):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            (folder / "recipe.toml").write_text(RECIPE)
            words = [str(folder / word) if word == "recipe.toml" else word for word in words]
            one = run(source, [*character, *words], 2, folder=folder)
            differing = verdicts_that_differ(source, folder / "out") if compared else []
        motion, parts = one.total("duration"), [one.total(f"seconds_{part}") for part in PARTS]
        shares, factor = [100.0 * part / sum(parts) for part in parts], motion / one.wall
        rows.append(
            (name, len(one.rows), f"{motion:.0f}", one.wall, f"{factor:.1f}", f"{2.0 * motion / one.cpu:.1f}",
             *(f"{share:.0f} %" for share in shares), len(differing) if compared else "-")
        )  # fmt: skip
        if factor < REAL_TIME[name]:
            missed.append(f"{name}: {factor:.1f} times real time, {REAL_TIME[name]:.0f} asked for")
        if shares[PARTS.index("measuring")] > MEASURING:
            missed.append(f"{name}: measuring takes {shares[2]:.0f} %, {MEASURING:.0f} % at most")
        missed += differing
    return Table(
        title="Seconds of motion in a second, by two workers",
        columns=("what", "clips", "motion s", "wall s", "times real time", "processor", *PARTS, "other verdicts"),
        rows=tuple(rows),
        notes=("processor: times real time if two cores did nothing else.",),
        missed=tuple(missed),
    )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeats", type=int, default=3, help="runs of each kind")
    options.add_argument("--clips", type=int, help="only so many of the motions")
    options.add_argument("--json", action="store_true", help="print the table as JSON")
    options.add_argument("--throughput", action="store_true", help="measure only how fast two workers are")
    options.add_argument("--collection", type=Path, help="a folder with many BVH files to choose clips from")
    options.add_argument("--verdicts", action="store_true", help="compare verdicts with those of evaluate")
    chosen = options.parse_args()
    before = load()
    with tempfile.TemporaryDirectory() as folder:
        if chosen.throughput:
            clips = collection(Path(folder), chosen.collection, chosen.clips or 150)
            table = throughput(clips, compared=chosen.verdicts)
        else:
            table = measured(library(Path(folder), chosen.clips), chosen.repeats)
    if chosen.json:
        print(json.dumps({"title": table.title, "columns": table.columns, "rows": table.rows}, indent=2))
    else:
        print("captures" if data_folder() else "samples: there are no captures", end="; ")
        print(f"{before} before, {load()} after\n\n{table.text()}")
    print(
        "\nnot reached:" if table.missed else "\nall wanted figures reached", *table.missed, sep="\n  ", file=sys.stderr
    )
    return 1 if table.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
