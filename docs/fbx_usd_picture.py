"""Draws a captured walk on characters that were read from FBX and USD.

    python docs/fbx_usd_picture.py --data FOLDER [--output docs/pictures/fbx_usd.png]

Rigs have bones for their animator's hands among those of the body. What carries no skin, hangs from nothing that does
and leads to nothing that does is left out of the picture.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from gallery import DOTS, FOLDER, shrink

import understudy
from understudy.figure.motion import Motion
from understudy.io import Clip
from understudy.show.picture import draw

WALK = "cmu_bvh/02_01.bvh"
CHARACTERS = {
    "HumanIK's character (FBX)": "maya_human_ik_7400_binary.fbx",
    "Kenney's character (FBX)": "maya_kenney_character_7700_binary.fbx",
    "100STYLE's character (FBX)": "100style_character.fbx",
    "RiggedFigure (USD)": "RiggedFigure.usdz",
}


def of_the_body(motion: Motion, character: Clip) -> Motion:
    """A motion without the bones that have nothing to do with the skin; as it is where there is no skin."""
    skeleton = motion.skeleton
    carried = {int(j) for mesh in character.meshes for j in np.unique(mesh.joints[mesh.weights > 0.0])}
    if not carried:
        return motion
    kept = [j for j in range(skeleton.num_joints) if carried & {int(above) for above in skeleton.chain(j)}]
    small, rows = skeleton.pruned([*carried, *kept])
    offsets = None if motion.offsets is None else motion.offsets[:, rows]
    return replace(motion, skeleton=small, rotations=motion.rotations[:, rows], offsets=offsets)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="captured motion and characters")
    options.add_argument("--output", type=Path, default=FOLDER / "fbx_usd.png")
    chosen = options.parse_args()
    walk = understudy.read(chosen.data / WALK).motion
    assert walk is not None
    rows = []
    for name, file in CHARACTERS.items():
        character = understudy.read(chosen.data / "fbx_usd" / file)
        played = understudy.retarget(walk[1:], character.skeleton).motion
        rows.append(of_the_body(played, character))
        print(f"{name}: {rows[-1].skeleton.num_joints} of {played.skeleton.num_joints} bones drawn")
    draw(rows, chosen.output, labels=list(CHARACTERS), style="filmstrip", views="side", count=8, dots_per_inch=DOTS)
    shrink(chosen.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
