"""A child performs an adult's walk: the steps become shorter, and every foot stands as still as it did.

Copying the joint rotations keeps the look and loses the floor. Retargeting starts from the copy, scaled to the new
legs, and finds the least change that keeps every contact.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from understudy import Motion, fk, samples, write
from understudy.figure.contacts import Contact
from understudy.retarget.driver import retarget
from understudy.show.picture import draw

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)


def slide(motion: Motion, contacts: tuple[Contact, ...]) -> float:
    """Metres that the worst of the planted points strays from where it first stood."""
    pose, worst = fk(motion), 0.0
    for contact in contacts:
        # Points are taken by name: the same place on a body of other size.
        path = pose.points([contact.point.name])[contact.frames(motion.fps, motion.num_frames), 0]
        worst = max(worst, float(np.linalg.norm(path - path[0], axis=-1).max(initial=0.0)))
    return worst


scene = samples.motion("walk")
child = samples.character("child")

copied = replace(scene.motion, skeleton=child)
solution = retarget(scene.motion, child, contacts=scene.contacts)
print(solution.result)
print(f"planted feet slide by up to {100 * slide(copied, scene.contacts):.0f} cm where rotations are copied")
print(f"and by {1000 * slide(solution.motion, scene.contacts):.2f} mm after retargeting")
for name, motion in {"adult": scene.motion, "child": solution.motion}.items():
    way = float(np.linalg.norm(motion.root[-1] - motion.root[0]))
    print(f"the {name} walks {way:.2f} m in {motion.duration:.1f} s")

write(solution.motion, out / "child_walk.bvh", unit="cm")
draw([scene, solution.motion], out / "child_walk.png", labels=["adult", "child"], style="filmstrip", views="side")
print("written: child_walk.bvh, child_walk.png")
