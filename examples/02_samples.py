"""Characters and motions that come with the program, whose contacts are exactly known.

They are computed, not recorded: a foot that is planted stays where it is to the last digit, at any frame rate. So they
show what a method does to a motion without the noise of a capture.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from understudy import fk, samples
from understudy.show.picture import draw

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

print("characters:", ", ".join(samples.characters()))
print("motions:", ", ".join(samples.motions()))

# The same walk at another rate and length is the same walk, looked at more or less often.
coarse = samples.motion("walk", fps=30.0).motion
fine = samples.motion("walk", fps=120.0).motion
apart = fk(fine).positions[::4] - fk(coarse).positions
print(f"30 and 120 fps agree within {1000 * np.abs(apart).max():.6f} mm")

# A scene says what touches what, where and when.
scene = samples.motion("pick_up")
print(scene.about)
print("things:", ", ".join(prop.name for prop in scene.props))
for contact in scene.contacts[:3]:
    print(f"  {contact.point.name} on {contact.on} from {contact.start:.2f} to {contact.end:.2f} s")

# And how still each planted point really is.
pose = fk(scene.motion)
worst = 0.0
for contact in scene.contacts:
    if contact.place is not None:
        frames = contact.frames(scene.motion.fps, scene.motion.num_frames)
        places = pose.points([contact.point])[frames, 0]
        worst = max(worst, float(np.abs(places - contact.place).max()))
print(f"planted points stay within {1000 * worst:.6f} mm of their places")

draw(scene, out / "pick_up.png", style="filmstrip", views="side", count=7)
print("drawn: pick_up.png")
