"""[Hsieh05] between any two of seven kinds of bodies: what steps, what sinks, and what stays as it was."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np

from papers.base import DOG, Cell, Findings, Fresh, Table, Tell, clip, collected, moving
from understudy import samples
from understudy.base.errors import UnderstudyError
from understudy.base.quaternion import angle_between
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.transition import transition
from understudy.transition.make import Transition

FPS = 30.0
"""Frames per second of all motions."""

SECONDS = 4.0
"""Length of a motion."""

HUMAN = "07_05"
"""A walk on which no transition was developed."""

FILES: dict[str, str] = {
    "wolf": "animals/quaternius_Husky.glb#AnimalArmature|Walk",
    "bird": "animals/m2m_bird_animated.glb#Walk",
    "horse": "animals/m2m_horse_animated.glb#Walk",
}
"""Animals whose walk is a loop: file and animation."""

SAMPLES = {"spider": "spider_walk", "shark": "swim"}

DOG_WALKS = slice(30, 135)
"""Frames of the captured dog in which it walks."""

MAX_STEP_RATIO = 1.1
"""Steps of a smooth transition, relative to the largest of the two motions."""


def bodies(collection: Path, data: Path) -> dict[str, Motion]:
    """A walk of each kind of body; the shark swims."""
    human = collected(collection, HUMAN, rate=FPS)[: round(SECONDS * FPS)]
    motions = {"human": human, "dog": moving(data / DOG)[DOG_WALKS]}
    for name, file in FILES.items():
        motion = clip(Path(f"{data / file.partition('#')[0]}#{file.partition('#')[2]}")).motion
        assert motion is not None
        motion = motion.resampled(FPS)
        cycles = [np.arange(motion.num_frames - 1)] * max(round(SECONDS * FPS / motion.num_frames), 2)
        motions[name] = motion[np.concatenate([*cycles, [0]])]
    motions |= {name: samples.motion(scene, fps=FPS, seconds=SECONDS).motion for name, scene in SAMPLES.items()}
    return motions


def sunk(result: Transition, motions: tuple[Motion, Motion]) -> float:
    """Metres by which a joint is lower during the blend than the lowest joint of the two motions."""
    if result.meta is not None:
        # Tips of bones are joints of the meta-skeleton: they count in the two motions, too.
        motions = result.meta.from_source(motions[0]), result.meta.from_target(motions[1])
    lowest = min(float(fk(motion).positions[..., 1].min()) for motion in motions)
    blend = fk(result.motion[result.start : result.end + 1]).positions[..., 1]
    return max(lowest - float(blend.min()), 0.0)


def unchanged(result: Transition, first: Motion) -> float:
    """Degrees: the largest difference of the part up to the blend from the first motion."""
    part = first[: result.start + 1]
    part = part if result.meta is None else result.meta.from_source(part)
    return float(np.degrees(angle_between(result.motion[: result.start + 1].rotations, part.rotations)).max())


HEAD = ("from", "into", "seconds blended", "steps, of the inputs'", "contacts off (mm)", "sunk (mm)",
        "first part changed (deg)", "smooth", "why not")  # fmt: skip


def row(names: tuple[str, str], first: Motion, second: Motion) -> tuple[Cell, ...]:
    """The row of a transition; if there is none, its reason."""
    try:
        result = transition(first, second)
    except UnderstudyError as error:
        return (*names, None, None, None, None, None, False, error.message.splitlines()[0])
    over = float(result.steps.over(result.allowed))
    smooth = over <= MAX_STEP_RATIO
    return (
        *names, (result.end - result.start) / FPS, over, 1e3 * result.contact_error,
        1e3 * sunk(result, (first, second)), unchanged(result, first), smooth,
        "" if smooth else next((note for note in result.notes if "times as far" in note), "no reason is given"),
    )  # fmt: skip


def kinds(collection: Path, data: Path | None, folder: Path | None, tell: Tell) -> Findings:
    """Transitions between every two kinds."""
    assert data is not None
    motions = bodies(collection, data)
    rows = []
    for first, second in permutations(motions, 2):
        tell(f"{first} into {second}")
        rows.append(row((first, second), motions[first], motions[second]))
    title = f"Transitions between kinds: CMU {HUMAN}, a captured dog, and animals"
    return Findings(tables=(Table(title=title, head=HEAD, rows=tuple(rows)),))


FRESH = (
    Fresh(
        name="kinds",
        about="Transitions between any two kinds of bodies",
        clips=(HUMAN,),
        files=(DOG, *(file.partition("#")[0] for file in FILES.values())),
        run=kinds,
    ),
)
