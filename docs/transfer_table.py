"""Prints, as Markdown, how well captured motion comes out on characters of other rigs and of another species.

    python docs/transfer_table.py [--data FOLDER]

Each row is one call of `understudy.retarget` with everything chosen by itself, on some seconds at about 30 Hz.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import understudy
from understudy.base.quaternion import Array, angle_between
from understudy.correspondence.alignment import PairTree
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing
from understudy.figure.motion import Motion
from understudy.retarget.actor import match_actor

HUMANS = {
    "Rokoko, bones in a row": ("humans/rokoko_jesse_dance.bvh", 1.0),
    "Xsens names": ("humans/xsens_like_pybvh_test2.bvh", 0.0),
    "MakeHuman, Z up": ("humans/makehuman_walk1.bvh", 0.0),
    "MakeHuman, 173 bones": ("humans/makehuman_tpose.bvh", 0.0),
    "Daz": ("humans/cmu_11_01_daz.bvh", 0.02),
    "zombie": ("humans/animdraw_fair1_zombie.bvh", 0.0),
    "five Euler orders": ("humans/pybvh_test1_mixed_orders.bvh", 0.0),
    "Perception Neuron": ("humans/milad_all_position_channels.bvh", 0.0),
    "3ds Max, arms down": ("humans/animdraw_cmu_jumping_jacks.bvh", 0.0),
    "Acclaim": ("cmu_asfamc/02_01.amc", 0.0),
    "mocapbank": ("bvh_conformance/bvhpython_test_mocapbank.bvh", 0.0),
}
"""Characters by what is particular about them: their file, and the seconds left out at its beginning."""
WALK, MARCH, DOG = "cmu_bvh/02_01.bvh", "cmu_bvh/138_01.bvh", "animals/dog_walk_30fps.bvh"
FRAMES = 100
FAR = 0.5
"""Metres of travel below which it has no direction to speak of."""
HEADINGS = (
    "source", "target", "constraints met", "plants, mm", "facing, degrees", "travel, degrees", "bones, degrees",
    "worst bone, degrees", "turns", "seconds",
)  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class Player:
    """A character, what it does, and what it is called in the table."""

    name: str
    motion: Motion


def load(folder: Path, name: str, file: str, *, start: float = 0.0, frames: int = FRAMES) -> Player:
    """Some seconds of a file at about 30 Hz."""
    motion = understudy.read(folder / file).motion
    assert motion is not None
    motion = motion[round(start * motion.fps) :: max(round(motion.fps / 30.0), 1)]
    return Player(name=name, motion=motion[:frames])


def apart(a: Array, b: Array) -> Array:
    """(...,) degrees between vectors."""
    size = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return np.degrees(np.arccos(np.clip(np.sum(a * b, axis=-1) / size, -1.0, 1.0)))


def bone_angles(source: Motion, found: Motion, reference: Motion) -> dict[str, float]:
    """Degrees, on average over the frames, between the bones of each pair that leads to a single next one."""
    aligned = match_actor(source, found.skeleton, target_motion=reference).alignment
    assert aligned is not None
    whole = aligned.correspondence
    layout = PairTree(correspondence=whole, source=aligned.source, target=aligned.target, upright=True)
    one, other = fk(source).positions, fk(found).positions
    angles = {}
    for pair in whole.pairs:
        below = layout.children[pair]
        if pair is whole.root or len(below) != 1:
            continue
        a = one[:, whole.source.index[below[0].source[0]]] - one[:, whole.source.index[pair.source[0]]]
        b = other[:, whole.target.index[below[0].target[0]]] - other[:, whole.target.index[pair.target[0]]]
        if min(np.linalg.norm(a, axis=-1).min(), np.linalg.norm(b, axis=-1).min()) > 1e-3:
            angles[pair.target[0]] = float(apart(a, b).mean())
    return angles


def row(source: Player, target: Player, *, alike: bool = True) -> tuple[str, ...]:
    """A line of the table.

    Args:
        source: Who does it.
        target: Who is to do it.
        alike: Whether the two stand alike, so that their bones can be compared in the world.
    """
    solution = understudy.retarget(source.motion, target.motion.skeleton, target_motion=target.motion)
    found = solution.motion
    plants = [o.worst for o in solution.outcomes if o.constraint.kind == "same_place"]
    ways = [motion.root[-1, [0, 2]] - motion.root[0, [0, 2]] for motion in (source.motion, found)]
    goes = np.linalg.norm(ways[0]) > FAR
    steps = [float(angle_between(m.rotations[1:], m.rotations[:-1]).max()) for m in (source.motion, found)]
    angles = bone_angles(source.motion, found, target.motion) if alike else {}
    worst = max(angles, key=lambda bone: angles[bone], default="")
    total = len(solution.outcomes)
    return (
        source.name,
        target.name,
        f"{total - len(solution.unmet)} of {total}" if total else "none to meet",
        f"{1e3 * max(plants):.2f}" if plants else "",
        f"{apart(facing(source.motion), facing(found)).max():.1f}" if alike else "",
        f"{apart(ways[0], ways[1]):.1f}" if goes else "",
        f"{np.mean(list(angles.values())):.1f}" if angles else "",
        f"{angles[worst]:.1f} `{worst}`" if angles else "",
        f"{steps[1] / steps[0]:.2f}",
        f"{solution.seconds:.2f}",
    )


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """Every line of the table."""
    walk = load(folder, "CMU", WALK, start=1.0 / 120.0)
    humans = [load(folder, name, file, start=start) for name, (file, start) in HUMANS.items()]
    for human in humans:
        yield row(walk, human)
    for human in humans:
        if human.motion.num_frames > 1:
            yield row(human, walk)
    dog = load(folder, "dog", DOG, frames=135)
    march = load(folder, "CMU, marching", MARCH, start=1.0, frames=110)
    yield row(dog, march, alike=False)
    yield row(march, dog, alike=False)


def main() -> None:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("UNDERSTUDY_DATA", beside)))
    folder = parser.parse_args().data
    if not folder.is_dir():
        parser.error(f"there is no folder of real data at `{folder}`; --data or UNDERSTUDY_DATA can name another")
    print("| " + " | ".join(HEADINGS) + " |")
    print("|" + "---|" * len(HEADINGS))
    for line in rows(folder):
        print("| " + " | ".join(line) + " |")


if __name__ == "__main__":
    main()
