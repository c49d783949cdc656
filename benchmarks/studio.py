"""Live solving in the studio: updates a second while something is dragged on a walk of ten seconds.

    python benchmarks/studio.py

An update is what the server does for one: read the document, solve, look at every constraint, work out where all
joints are and pack the messages. The hand's target, the end of a footplant and the length of the legs are dragged,
forty updates each. "Apart" is how far the joints of the last update are from those of the finished solve that follows
it, at worst and on average over all joints and frames; "hand" how far the hand is from its target in the worst frame
of its interval, while it is dragged and when it is finished. "Processor" is the time of the processor alone, which
other work on the machine disturbs less.
"""

from __future__ import annotations

import copy
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import understudy
from understudy import samples
from understudy.figure.kinematics import fk
from understudy.studio.document import empty_document
from understudy.studio.messages import json_text, pack
from understudy.studio.performance import RetargetResult
from understudy.studio.workshop import DocumentSolver

UPDATES = 40
SECONDS = 10.0
PARTS = ("solving", "tracks", "places", "packing")
HEAD = (
    f"{'clip':<8} {'dragged':<10} {'updates/s':>9} {'p50':>7} {'p95':>7} {'processor':>9} {'first':>7}  "
    f"{'solving/tracks/places/packing':<30} {'apart':>14} {'hand':>13}"
)

Document = dict[str, Any]


def quiet(_text: str, _share: float) -> None:
    """Watches nothing."""


def changed(document: Document, path: list[Any], value: Any) -> Document:
    """A document with one thing changed."""
    made = copy.deepcopy(document)
    table = made
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value
    return made


def drags(walk: RetargetResult, document: Document) -> dict[str, list[Document]]:
    """What is dragged, update by update; the first of each list is where the drag begins."""
    motion = walk.motions_made[0]
    hand = fk(motion).points(["RightHand"])[round(5.0 * motion.fps), 0]
    ways = np.linspace(0.0, 1.0, UPDATES + 1)

    def place(share: float) -> Document:
        target = (hand + share * np.array([0.2, 0.15, 0.05])).tolist()
        asked = {"kind": "place", "point": "RightHand", "target": target, "start": 4.7, "end": 5.3}
        return changed(document, ["recipe", "constraint"], [asked])

    contacts = document["recipe"]["contact"]
    number = next(i for i, contact in enumerate(contacts) if 4.0 < contact["start"] < 6.0)
    path, end = ["recipe", "contact", number, "end"], contacts[number]["end"]
    return {
        "hand": [place(way) for way in ways],
        "plant end": [changed(document, path, end - 0.15 * way) for way in ways],
        "legs": [changed(document, ["recipe", "actor", 0, "scale"], {"legs": 1.2 - 0.3 * way}) for way in ways],
    }


def update(
    shop: DocumentSolver, base: Path, document: Document, shown: RetargetResult
) -> tuple[RetargetResult, list[float], float]:
    """One update: what it made, the seconds of its parts, and its processor time."""
    began, marks = time.process_time(), [time.perf_counter()]
    work = shop.solve(document, base, watch=quiet, before=shown, live=True)
    marks.append(time.perf_counter())
    told = work.result(1)
    marks.append(time.perf_counter())
    motions = work.motions(True)
    marks.append(time.perf_counter())
    sent = [json_text(told), *(pack(header, arrays) for header, arrays in motions)]
    marks.append(time.perf_counter())
    assert isinstance(work, RetargetResult)
    assert sent
    return work, np.diff(marks).tolist(), time.process_time() - began


def measured(shop: DocumentSolver, base: Path, clip: str, what: str, documents: list[Document]) -> str:
    """A line of the table."""
    full = shop.solve(documents[0], base, watch=quiet)
    assert isinstance(full, RetargetResult)
    shown, times, cost = full, [], []
    for document in documents[1:]:
        shown, parts, used = update(shop, base, document, shown)
        times.append(parts)
        cost.append(used)
    seconds = np.array(times)
    whole, later = 1000.0 * seconds.sum(axis=1), seconds[1:]
    done = shop.solve(documents[-1], base, watch=quiet)
    assert isinstance(done, RetargetResult)
    shares = 100.0 * later.sum(axis=0) / later.sum()
    worst, mean = apart(shown, done)
    hand = f"{1000 * missed(shown):.1f} / {1000 * missed(done):.1f} mm" if what == "hand" else "-"
    rate, middle, slow = 1000.0 / whole[1:].mean(), np.median(whole[1:]), np.percentile(whole[1:], 95)
    return (
        f"{clip:<8} {what:<10} {rate:>9.1f} {middle:>4.0f} ms {slow:>4.0f} ms {1000 * np.median(cost[1:]):>6.0f} ms "
        f"{whole[0]:>4.0f} ms  {' / '.join(f'{share:.0f}' for share in shares) + ' %':<30} "
        f"{1000 * worst:>4.0f} / {1000 * mean:>4.1f} mm {hand:>13}"
    )


def apart(live: RetargetResult, done: RetargetResult) -> tuple[float, float]:
    """Metres between the joints of an update and of the finished solve, at worst and on average."""
    step = round(done.motions_made[0].fps / live.motions_made[0].fps)
    away = fk(live.motions_made[0]).positions - fk(done.motions_made[0][::step]).positions
    distance = np.linalg.norm(away, axis=-1)
    return float(distance.max()), float(distance.mean())


def missed(work: RetargetResult) -> float:
    """Metres from the hand to its target, in the worst frame."""
    return max(float(each.off.max()) for each in work.held if each.constraint.kind == "place")


def main() -> None:
    print(HEAD)
    for fps in (30.0, 120.0):
        with tempfile.TemporaryDirectory() as name:
            base = Path(name)
            understudy.write(samples.motion("walk", fps=fps, seconds=SECONDS).motion, base / "walk.bvh")
            shop, made = DocumentSolver(base / "session"), empty_document()
            actor = {"source": "walk.bvh", "scale": {"legs": 1.2}}
            document = shop.filled({**made, "recipe": {**made["recipe"], "actor": [actor]}}, base)
            walk = shop.solve(document, base, watch=quiet)
            assert isinstance(walk, RetargetResult)
            for what, documents in drags(walk, document).items():
                print(measured(shop, base, f"{fps:g} fps", what, documents), flush=True)


if __name__ == "__main__":
    main()
