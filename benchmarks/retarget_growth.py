"""How time and memory of retargeting grow with the length of a motion, at once and in windows.

Every length is measured in a process of its own, whose memory nothing else has touched.
"""

from __future__ import annotations

import multiprocessing
import re
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from retarget_cases import CAPTURES, Case, Table, best, captures, case, clock, made

from understudy.base.quaternion import angle_between
from understudy.figure.contacts import contact_points, detect_contacts
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.retarget.stream import Stream, Window, retarget_in_windows

LENGTHS = (5.0, 20.0, 60.0, 150.0, 300.0)
"""Seconds of motion."""
EVEN = 1.2
"""How far apart the dearest and the cheapest second of motion may be."""
ROUNDS = 4
"""How often all lengths are gone through: what else the machine does at a time is not to tell on one of them alone."""
SLACK = 10.0
"""Megabytes that the memory of a stream may differ by between a short and a long one: what the system rounds to."""
MEGABYTE = 1e6


def there_and_back(motion: Motion, seconds: float) -> Motion:
    """A motion played forwards and backwards in turn for so long: as long as is wanted, without a jump."""
    count, period = round(seconds * motion.fps) + 1, 2 * (motion.num_frames - 1)
    place = np.arange(count) % period
    return motion[np.where(place < motion.num_frames, place, period - place)]


def peak() -> float:
    """The most memory that this process has had, megabytes."""
    with suppress(OSError):
        # What `getrusage` says holds the parent's memory too, which the process began as a copy of.
        found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
        if found:
            return int(found[1]) * 1024 / MEGABYTE
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MEGABYTE


def forget_peak() -> None:
    """Let the peak be what the process has now, where the system can: loading and the first run are not to count."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def at_once(one: Case) -> int:
    """The whole motion, report included; the steps taken."""
    found = one.plan().solve()
    found.report()
    return found.steps


def in_windows(one: Case) -> int:
    """The motion in windows, the result kept; the frames given out."""
    return retarget_in_windows(one.motion, one.target)[0].num_frames


def streamed(one: Case) -> int:
    """The motion in windows, a second at a time, what comes out used up: a live stream; the frames given out."""
    stream = Stream(source=one.motion.skeleton, target=one.target, fps=one.motion.fps, window=Window())
    second, frames = round(one.motion.fps), 0
    for first in range(0, one.motion.num_frames, second):
        frames += sum(part.num_frames for part in stream.push(one.motion[first : first + second]))
    return frames + sum(part.num_frames for part in stream.finish())


WAYS = {"at once": at_once, "in windows": in_windows, "as a stream": streamed}


def measured(way: str, one: Case, repeats: int) -> tuple[float, float, int]:
    """In a fresh process: the least seconds that a way takes, the megabytes it adds at most, and what it returns."""
    WAYS[way](replace(one, motion=one.motion[: round(2 * one.motion.fps)]))
    forget_peak()
    before, began = peak(), time.perf_counter()
    result = WAYS[way](one)
    seconds = time.perf_counter() - began
    added = peak() - before

    def again() -> tuple[float]:
        fresh = one.anew()
        return (clock(lambda: WAYS[way](fresh)),)

    if repeats > 1:
        seconds = min(seconds, *best(again, repeats - 1))
    return seconds, added, result


def in_process(way: str, one: Case, repeats: int) -> tuple[float, float, int]:
    """`measured`, in a process made for it."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measured, (way, one, repeats))


def growth(cases: Mapping[str, Sequence[Case]]) -> Table:
    """Time and memory of whole solves over length, for each of some motions."""
    rows, missed, notes = [], [], []
    for name, lengths in cases.items():
        rounds = [[in_process("at once", one, 2) for one in lengths] for _ in range(ROUNDS)]
        found = [
            (one.motion.duration, min(taken for taken, _, _ in each), *each[0][1:])
            for one, each in zip(lengths, zip(*rounds, strict=True), strict=True)
        ]
        costs = [taken / seconds for seconds, taken, _, _ in found]
        rows += [
            (name, seconds, taken, 1e3 * cost, cost / costs[-1], steps, added, added / seconds)
            for (seconds, taken, added, steps), cost in zip(found, costs, strict=True)
        ]
        least, most = min(costs), max(costs)
        if most > EVEN * least:
            missed.append(
                f"{name}: a second of motion costs up to {most / least:.2f} times as much at one length as at another, "
                f"{EVEN:g} asked for"
            )
        if len(found) > 1:
            seconds, times = (1e3**power * np.array([one[power] for one in found]) for power in (0, 1))
            slope, fixed = np.polyfit(seconds, times, 1, w=1.0 / times)
            notes.append(
                f"{name}: about {fixed:.1f} ms for any clip and {slope:.2f} ms for each of its seconds; the dearest "
                f"second costs {most / least:.2f} times the cheapest, {100 * (most - least) / (most + least):.0f} % to "
                f"either side of {500 * (most + least):.2f} ms."
            )
        sizes = [added / seconds for seconds, _, added, _ in found]
        if sizes[-1] > EVEN * max(sizes[:-1], default=np.inf):
            missed.append(f"{name}: memory grows faster than the length, to {sizes[-1]:.2f} MB for each second")
    return Table(
        title="Time and memory over length: everything, free plants, body of 60 %, 120 Hz",
        columns=(
            "motion",
            "seconds",
            "time s",
            "ms for each second",
            "against longest",
            "steps",
            "memory MB",
            "MB for each second",
        ),
        rows=tuple(rows),
        notes=(*notes, "memory: what a fresh process takes at most, beyond what it had with the motion loaded."),
        missed=tuple(missed),
    )


def windows(short: Case, long: Case) -> Table:
    """Time and memory of windows against a whole solve, on a short and a long motion."""
    rows = []
    for way in WAYS:
        near, far = in_process(way, short, 1), in_process(way, long, 1)
        rows.append((way, near[0], far[0], near[1], far[1]))
    lengths = short.motion.duration, long.motion.duration
    grown = rows[-1][4] - rows[-1][3]
    missed = f"a stream takes {grown:.0f} MB more for {lengths[1]:.0f} s than for {lengths[0]:.0f} s"
    return Table(
        title=f"Windows of 4 s that look 1 s ahead and 1 s back: {long.name}",
        columns=("way", *(f"{what} for {seconds:.0f} s" for what in ("time s,", "memory MB,") for seconds in lengths)),
        rows=tuple(rows),
        notes=(
            "in windows: the result is kept whole. as a stream: a second goes in at a time, and what comes out is used",
            "up. memory: beyond what the process had with the motion loaded.",
        ),
        missed=(missed,) if grown > SLACK else (),
    )


def agreement(one: Case) -> Table:
    """How far the windows' result is from that of the whole solve."""
    whole = one.plan().solve().motion
    contacts = detect_contacts(one.motion, contact_points(one.motion))
    parts, unmet = retarget_in_windows(one.motion, one.target, contacts=contacts)
    a, b = fk(whole).positions, fk(parts).positions
    apart = {
        "places in the world, mm": 1e3 * np.linalg.norm(a - b, axis=-1),
        "places from the root, mm": 1e3 * np.linalg.norm((a - a[:, :1]) - (b - b[:, :1]), axis=-1)[:, 1:],
        "joint rotations, degrees": np.degrees(angle_between(whole.rotations, parts.rotations)),
    }
    rows = [(name, float(off.mean()), float(np.percentile(off, 99)), float(off.max())) for name, off in apart.items()]
    return Table(
        title=f"Windows against the whole solve: {one.name}, {one.motion.duration:.0f} s",
        columns=("what differs", "mean", "99 %", "most"),
        rows=tuple(rows),
        notes=(f"{len(unmet)} constraints are not met in some window.",),
    )


def tables(lengths: Sequence[float] = LENGTHS) -> list[Table]:
    """Growth, windows and how they agree: on the sample walk, and on captured squats where they are."""
    cases = {"sample walk": [case("sample walk", made("walk", seconds), "60 %") for seconds in lengths]}
    real = captures()
    for name in CAPTURES if real else ():
        cases[f"{name} there and back"] = [
            case(name, there_and_back(real[name], seconds), "60 %") for seconds in lengths
        ]
    walks = cases["sample walk"]
    return [growth(cases), windows(walks[min(1, len(walks) - 1)], walks[-1]), agreement(walks[-1])]
