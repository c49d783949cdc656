"""Read a motion file, look at what is in it, and draw it.

Files say little about themselves: BVH gives neither a unit nor which way is up. Both are guessed from the body and
the guess comes with its reason, so that a wrong one can be seen and overruled with `unit=` and `up=`.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from understudy import read, samples, write
from understudy.figure.measures import height, leg_length
from understudy.show.picture import draw

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

# A file to read. Any BVH, or an Acclaim motion with its skeleton beside it, would do.
file = out / "walk.bvh"
for loss in write(samples.motion("walk").motion, file, unit="cm"):
    print("the file does not keep:", loss)

clip = read(file)
motion = clip.motion
assert motion is not None, "the file holds a character only"
print(f"{motion.num_frames} frames at {motion.fps:g} fps, {motion.duration:.2f} s")
print(f"{clip.skeleton.num_joints} joints, from {clip.skeleton.names[0]} to {clip.skeleton.names[-1]}")
print("unit:", clip.unit_reason)
print(f"height {height(clip.skeleton):.2f} m, leg {leg_length(clip.skeleton):.2f} m")
for note in clip.notes:
    print("note:", note)

# The second half, at half the rate, written back: unit, axes, Euler orders and names stay as the file had them.
half = motion[motion.num_frames // 2 :].resampled(15.0)
write(replace(clip, motion=half), out / "second_half.bvh")
print("written:", len(half), "frames")

draw(half, out / "second_half.png", count=6, views="side")
print("drawn:", (out / "second_half.png").name)
