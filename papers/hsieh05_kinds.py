"""[Hsieh05] between any two of seven kinds of bodies: what steps, what sinks, and what stays as it was."""

from __future__ import annotations

from functools import partial
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

BODIES: dict[str, dict[str, str]] = {
    "kinds": {
        "human": "07_05",
        "dog": DOG,
        "wolf": "animals/quaternius_Husky.glb#AnimalArmature|Walk",
        "bird": "animals/m2m_bird_animated.glb#Walk",
        "horse": "animals/m2m_horse_animated.glb#Walk",
        "spider": "sample:spider_walk",
        "shark": "sample:swim",
    },
    "kinds_other": {
        "human": "105_34",
        "dog": "animals/dog_run_30fps.bvh",
        "wolf": "animals/m2m_fox_animated.glb#Walk",
        "bird": "sample:bird_walk",
        "horse": "animals/m2m_horse_animated.glb#Trot",
        "spider": "animals/m2m_spider_animated.glb#Walk",
        "shark": "animals/quaternius_Fish1.glb#Armature|Swim",
    },
}
"""Motions of each kind: a clip of the collection, a file with its animation, or a sample. That a transition is tried
from other times was decided on the first set; on the second nothing was developed."""

DOG_WALKS = slice(30, 135)
"""Frames of the captured dog in which it walks."""

MAX_STEP_RATIO = 1.1
"""Steps of a smooth transition, relative to the largest of the two motions."""


def bodies(chosen: dict[str, str], collection: Path, data: Path) -> dict[str, Motion]:
    """The motion of each kind of body; loops are repeated."""
    return {kind: _body(name, collection, data) for kind, name in chosen.items()}


def _body(name: str, collection: Path, data: Path) -> Motion:
    if name.startswith("sample:"):
        return samples.motion(name.removeprefix("sample:"), fps=FPS, seconds=SECONDS).motion
    if "/" not in name:
        return collected(collection, name, rate=FPS)[: round(SECONDS * FPS)]
    if "#" not in name:
        return moving(data / name)[DOG_WALKS]
    motion = clip(Path(f"{data / name}")).motion
    assert motion is not None
    motion = motion.resampled(FPS)
    cycles = [np.arange(motion.num_frames - 1)] * max(round(SECONDS * FPS / motion.num_frames), 2)
    return motion[np.concatenate([*cycles, [0]])]


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


def kinds(name: str, collection: Path, data: Path | None, folder: Path | None, tell: Tell) -> Findings:
    """Transitions between every two kinds."""
    assert data is not None
    motions = bodies(BODIES[name], collection, data)
    rows = []
    for first, second in permutations(motions, 2):
        tell(f"{first} into {second}")
        rows.append(row((first, second), motions[first], motions[second]))
    others = "animals" if name == "kinds" else "other animals and another bird"
    title = f"Transitions between kinds: CMU {BODIES[name]['human']}, a dog, and {others}"
    return Findings(tables=(Table(title=title, head=HEAD, rows=tuple(rows)),))


FRESH = tuple(
    Fresh(
        name=name,
        about=about,
        clips=(chosen["human"],),
        files=tuple(file.partition("#")[0] for file in chosen.values() if "/" in file),
        run=partial(kinds, name),
    )
    for (name, chosen), about in zip(
        BODIES.items(),
        ("Transitions between any two kinds of bodies", "Transitions between other bodies of these kinds"),
        strict=True,
    )
)
