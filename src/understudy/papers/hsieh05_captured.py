"""[Hsieh05] on captures: a dog and a human play each other, and each goes over into the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from understudy.body import facing
from understudy.geometry.quaternion import Array
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.papers.base import UNMET, Capture, Cell, Findings, Table, Tell
from understudy.papers.captured import DOG, capture, cmu, moving
from understudy.papers.scenes import DOTS, drawn
from understudy.pipeline import retarget
from understudy.transfer.correspondence import Correspondence, Pair
from understudy.transition import transition

MARCH = slice(120, 560)
"""Frames of 138_01, at 120 a second, of steady marching."""
WALKED = 135
"""Frames of the dog's clip, at 30 a second, before it breaks into a run."""
WALKS = ("02_01", "16_15")
NAMED = (("b_Hips", "Hips"), ("b_Spine b_Spine1 b_Spine2 b_Spine3", "LowerBack Spine Spine1"),
         ("b__Neck b__Neck1 b__Neck2", "Neck Neck1"), ("b_Head", "Head"))  # fmt: skip
LIMBS = (("b_{}LegUpper", "{}UpLeg"), ("b_{0}Leg b_{0}Leg1", "{}Leg"), ("b_{}Ankle", "{}Foot"),
         ("b_{}Toe", "{}ToeBase"), ("b_{}Clav", "{}Shoulder"), ("b_{}Arm", "{}Arm"), ("b_{}ForeArm", "{}ForeArm"),
         ("b_{}Hand", "{}Hand"))  # fmt: skip
"""Bones of the dog and of the human that belong together, as a user would write it; of both sides."""


def dog_and_human(data: Path) -> tuple[Motion, Motion, Correspondence]:
    """The dog's walk, the march, both at about 30 frames a second, and the map from one to the other."""
    dog, march = moving(data / DOG), capture(data, "138_01")
    named = [*NAMED, *((a.format(side), b.format(side)) for side in ("Left", "Right") for a, b in LIMBS)]
    pairs = tuple(Pair(source=tuple(a.split()), target=tuple(b.split())) for a, b in named)
    whole = Correspondence(source=dog.skeleton, target=march.skeleton, pairs=pairs)
    return dog[:WALKED], march[MARCH][::4], whole


def swing(motion: Motion, first: str, last: str) -> Array:
    """(F,) radians that a limb is swung forward of straight down."""
    line = fk(motion).points([last])[:, 0] - fk(motion).points([first])[:, 0]
    return np.asarray(np.unwrap(np.arctan2(np.sum(line * facing(motion), axis=1), -line[:, 1])))


def in_step(source: Motion, result: Motion) -> float:
    """How well the legs swing with the source's: the lesser of the two sides' correlations."""
    found = []
    for side in ("Left", "Right"):
        paths = []
        for motion in (source, result):
            ends = ("b_{}LegUpper", "b_{}Ankle") if "b_Hips" in motion.skeleton.index else ("{}UpLeg", "{}Foot")
            paths.append(swing(motion, *(end.format(side) for end in ends)))
        found.append(float(np.corrcoef(paths[0], paths[1])[0, 1]))
    return min(found)


def played(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Figure 8 (a): a captured dog's walk on a man, and a man's march on the dog, aligned both ways."""
    dog, march, whole = dog_and_human(data)
    rows: list[tuple[Cell, ...]] = []
    pictures: list[Path] = []
    for name, source, target, given in (
        ("a dog's walk on a man", dog, march, whole),
        ("a man's march on a dog", march, dog, whole.reversed()),
    ):
        strips = [source]
        for mode in ("stance", "direction"):
            tell(f"{name}, by {mode}")
            found = retarget(source, target.skeleton, correspondence=given, target_motion=target, alignment=mode)
            held = max((o.worst for o in found.outcomes if o.constraint.kind == "same_place"), default=0.0)
            rows.append((name, mode, found.result, 1e3 * held, in_step(source, found.motion), found.seconds))
            strips.append(found.motion)
        if folder is not None:
            pictures.append(folder / f"hsieh08_captured_{'dog' if source is dog else 'march'}.png")
            labels = ["source", f"{name}, by stance", f"{name}, by direction"]
            drawn(
                strips, pictures[-1], labels=labels, style="filmstrip", views="side", count=8, frames=slice(30, 90),
                dots_per_inch=DOTS,
            )  # fmt: skip
    head = ("case", "alignment", "result", "plants off (mm)", "legs in step (correlation)", "seconds")
    worse = tuple(f"{row[0]}, by {row[1]}: {row[2]}" for row in rows if UNMET in str(row[2]))
    table = Table(title="Figure 8 (a) on captures: a dog and a man play each other", head=head, rows=tuple(rows))
    return Findings(tables=(table,), pictures=tuple(pictures), worse=worse)


def turned(data: Path, folder: Path | None, tell: Tell) -> Findings:
    """Figure 9: captured walks of men go over into the dog's and back, with maps that are suggested."""
    dog = moving(data / DOG)
    rows: list[tuple[Cell, ...]] = []
    for name in WALKS:
        human = capture(data, name)
        for words, first, second in ((f"{name} into a dog", human, dog), (f"a dog into {name}", dog, human)):
            tell(words)
            found = transition(first, second)
            frames = found.end - found.start
            rows.append((
                words, frames, frames / first.fps, 1e3 * found.contact_error, 1e3 * found.relapse,
                found.steps.over(found.allowed),
            ))  # fmt: skip
    head = ("case", "frames blended", "seconds blended", "contacts off (mm)", "bones go back (mm)",
            "fastest step, of what is allowed")  # fmt: skip
    return Findings(tables=(Table(title="Figure 9 on captures: men and a dog", head=head, rows=tuple(rows)),))


CAPTURES = (
    Capture(name="played", about="A captured dog and man play each other", files=(DOG, cmu("138_01")), run=played),
    Capture(name="turned", about="Captured men become a dog", files=(DOG, *map(cmu, WALKS)), run=turned),
)
"""The experiments on captured motion."""
