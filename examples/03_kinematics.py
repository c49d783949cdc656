"""Where everything on the body is: forward kinematics, points, mirror images, other body sizes.

A motion is arrays: the root's path and one local rotation a joint and frame. Nothing is a list of frames.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from understudy import Point, fk, mirror, samples
from understudy.base.quaternion import angle_between
from understudy.show.picture import draw

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

motion = samples.motion("walk").motion
print("root path", motion.root.shape, "local rotations", motion.rotations.shape)

# All frames at once: world places and orientations of every joint.
pose = fk(motion)
print("positions", pose.positions.shape, "orientations", pose.rotations.shape)
head = pose.points(["HeadTop"])[:, 0]
print(f"the top of the head is between {head[:, 1].min():.3f} and {head[:, 1].max():.3f} m high")

# A point need not be a joint: here a marker ten centimetres in front of the left wrist.
marker = Point(name="marker", joint="LeftHand", offset=np.array([0.1, 0.0, 0.0]))
speed = np.linalg.norm(np.diff(pose.points([marker])[:, 0], axis=0), axis=-1) * motion.fps
print(f"the marker moves at up to {speed.max():.2f} m/s")

# The mirror image is done by the same body: its left does what its right did.
other = mirror(motion)
there, back = fk(other).points(["RightHand"]), pose.points(["LeftHand"])
print(f"mirrored hands agree within {1000 * np.abs(there * [-1, 1, 1] - back).max():.6f} mm")
again = mirror(other)
print(f"mirrored twice, no joint turned by more than {angle_between(again.rotations, motion.rotations).max():.1e} rad")

# The same rotations on a smaller body: the feet no longer meet the floor. Mending that is what retargeting is for.
small = motion.skeleton.scaled(0.8)
copied = replace(motion, skeleton=small)
lowest = fk(copied).ends()[..., 1].min()
print(f"rotations copied to a body of 0.8 times the size leave its feet {100 * lowest:.0f} cm above the floor")

labels = ["the walk", "its mirror image", "copied to a smaller body"]
draw([motion, other, copied], out / "bodies.png", labels=labels, style="filmstrip", views="side", count=7)
print("drawn: bodies.png")
