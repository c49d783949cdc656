"""Live solving in the studio: how near every picture of a drag is to the finished solve, and updates a second.

    python benchmarks/studio.py [--data FOLDER] [--only WORDS]
    python benchmarks/studio.py --parts

An update is what the server does for one: read the document, solve, look at every constraint, work out where all
joints are and pack the messages. In each motion a hand, a swinging foot, the head and the hips are pulled by a fifth
of a leg in twenty steps, held for 0.4 s in the middle of the motion (a foot for 0.2 s). "Apart" is how far the joints
of an update are from those of the finished solve of the same document, over all joints and frames: the median and the
worst of twenty updates, and how many are within 2 cm. "Jump" is how far the finished solves of two neighbouring steps
are from each other at worst. "Processor" is the time of the processor alone, which other work on the machine disturbs
less: the median and the longest of the updates but the first, and as many updates a second as the median allows. Of
the walk of two minutes every fifth step is measured. Captures are taken from the folder of test data where there is
one. `--parts` shows what an update of a walk of ten seconds consists of: the hand's target, the end of a footplant and
the length of the legs are dragged, forty updates each.
"""

from __future__ import annotations

import argparse
import copy
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import understudy
from understudy import samples
from understudy.figure.kinematics import fk
from understudy.figure.measures import leg_length
from understudy.figure.roles import roles
from understudy.studio.document import empty_document
from understudy.studio.messages import json_text, pack
from understudy.studio.performance import RetargetResult
from understudy.studio.workshop import DocumentSolver

SHARE_OF_LEG, STEPS = 0.2, 20
HOLD_SECONDS, FOOT_SECONDS, SWING_SECONDS = 0.4, 0.2, 1.4
NEAR = 0.02
WAYS = {
    "hand": ("right_hand", [0.6, 0.75, 0.3]),
    "foot": ("right_foot", [0.3, 0.7, 0.6]),
    "head": ("head", [0.5, -0.6, 0.6]),
    "hips": ("hips", [0.6, -0.6, 0.5]),
}
SAMPLES: dict[str, dict[str, Any]] = {
    "walk, longer legs": {"source": "sample:walk", "scale": {"legs": 1.2}},
    "walk, child": {"source": "sample:walk", "target": "sample:child"},
    "walk, giant": {"source": "sample:walk", "target": "sample:giant"},
    "pick_up, other": {"source": "sample:pick_up", "target": "sample:other"},
    "squat, child": {"source": "sample:squat", "target": "sample:child"},
    "long walk, adult": {"source": "long.bvh", "scale": {"legs": 1.2}},
    "long walk, child": {"source": "long.bvh", "target": "sample:child"},
    "long walk, giant": {"source": "long.bvh", "target": "sample:giant"},
}
CAPTURES = {
    "02_01, m2m": ("cmu_bvh/02_01.bvh", "gltf/m2m_human_male.glb"),
    "131_03, Casual": ("cmu_bvh/131_03.bvh", "gltf/quaternius_man_Casual.glb"),
    "69_70, Cesium": ("cmu_bvh/69_70.bvh", "gltf/CesiumMan.glb"),
    "dog, Husky": ("animals/dog_walk_30fps.bvh", "animals/quaternius_Husky.glb"),
}
LONG_SECONDS = 120.0
DRAG_HEAD = (
    f"{'motion, body':<18} {'pulled':<6} {'step':>6} {'apart: median, worst':>22} {'near':>6} {'jump':>8} "
    f"{'processor':>16} {'updates/s':>9}"
)

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


def pulled(document: Document, full: RetargetResult, what: str) -> list[Document]:
    """The documents of a drag of a hand, foot, head or hips; none where the body has no such joint."""
    motion = full.motions_made[0]
    role, way = WAYS[what]
    joint = roles(motion.skeleton).get(role)
    if joint is None:
        return []
    path = fk(motion).positions[:, joint]
    frame, held = round(motion.duration / 2.0 * motion.fps), HOLD_SECONDS
    if what == "foot":
        # A foot that stands is moved by its contact.
        around, held = round(SWING_SECONDS / 2.0 * motion.fps), FOOT_SECONDS
        frame += int(np.argmax(path[frame - around : frame + around + 1, 1])) - around
    length = SHARE_OF_LEG * leg_length(motion.skeleton)
    time_held, direction = frame / motion.fps, np.array(way) / np.linalg.norm(way)
    return [
        changed(document, ["recipe", "constraint"], [{
            "kind": "place", "point": motion.skeleton.names[joint],
            "target": (path[frame] + length * step / STEPS * direction).tolist(),
            "start": time_held - held / 2.0, "end": time_held + held / 2.0,
        }])
        for step in range(1, STEPS + 1)
    ]  # fmt: skip


def dragged(shop: DocumentSolver, base: Path, full: RetargetResult, documents: list[Document]) -> str:
    """How near the updates of a drag are to the finished solves, and what they cost."""
    shown, away, jumps, cost, last = full, [], [], [], None
    for document in documents:
        shown, _, used = update(shop, base, document, shown)
        done = shop.solve(document, base, watch=quiet)
        assert isinstance(done, RetargetResult)
        away.append(1000.0 * apart(shown, done)[0])
        jumps += [] if last is None else [1000.0 * apart(last, done)[0]]
        cost.append(1000.0 * used)
        last = done
    step = 1000.0 * SHARE_OF_LEG * leg_length(full.motions_made[0].skeleton) / STEPS
    near, middle = sum(value <= 1000.0 * NEAR for value in away), float(np.median(cost[1:]))
    return (
        f"{step:>3.0f} mm {np.median(away):>9.1f}, {max(away):>6.1f} mm {near:>3}/{len(away)} {max(jumps):>5.0f} mm "
        f"{middle:>5.0f}, {max(cost[1:]):>4.0f} ms {1000.0 / middle:>9.1f}"
    )


def cases(data: Path) -> dict[str, dict[str, Any]]:
    """The actors whose motions are dragged."""
    captured = {
        name: {"source": str(data / source), "target": str(data / target)}
        for name, (source, target) in CAPTURES.items()
        if (data / source).exists() and (data / target).exists()
    }
    return SAMPLES | captured


def compare_drags(data: Path, only: str) -> None:
    """Print the table of drags."""
    print(DRAG_HEAD, flush=True)
    for name, actor in cases(data.resolve()).items():
        if not any(only in f"{name} {what}" for what in WAYS):
            continue
        with tempfile.TemporaryDirectory() as folder:
            base = Path(folder)
            if actor["source"] == "long.bvh":
                understudy.write(samples.motion("walk", fps=30.0, seconds=LONG_SECONDS).motion, base / "long.bvh")
            shop, made = DocumentSolver(base / "session"), empty_document()
            document = shop.filled({**made, "recipe": {**made["recipe"], "actor": [actor]}}, base)
            full = shop.solve(document, base, watch=quiet)
            assert isinstance(full, RetargetResult)
            for what in WAYS:
                documents = pulled(document, full, what) if only in f"{name} {what}" else []
                # Finished solves of the long walk take seconds each.
                documents = documents[4::5] if actor["source"] == "long.bvh" else documents
                if documents:
                    print(f"{name:<18} {what:<6} {dragged(shop, base, full, documents)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("UNDERSTUDY_DATA", "../shared/data")))
    parser.add_argument("--only", default="", help="only drags whose motion, body and joint contain this")
    parser.add_argument("--parts", action="store_true", help="show what an update consists of")
    options = parser.parse_args()
    if options.parts:
        show_parts()
    else:
        compare_drags(options.data, options.only)


def show_parts() -> None:
    """Print the table of the parts of updates."""
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
