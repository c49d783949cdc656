"""Retarget frames that arrive over a network: a capture program sends poses, a robot's side receives them.

A frame is the root's position and the local rotations of all joints, as 64-bit numbers: x, y, z, then w, x, y, z of
each joint, metres and Y up.
"""

import socket
from threading import Thread

import numpy as np

import understudy as u
from understudy.retarget.stream import Window

walk = u.samples.motion("walk", seconds=6.0).motion
receiver, sender = socket.socketpair()


def capture() -> None:
    """Stands for the capture program."""
    with sender:
        for frame in range(walk.num_frames):
            sender.sendall(np.concatenate([walk.root[frame], walk.rotations[frame].ravel()]).astype("<f8").tobytes())


Thread(target=capture, daemon=True).start()
stream = u.Stream.open(
    walk.skeleton, u.samples.character("child"), fps=walk.fps, window=Window(step=0.5, ahead=0.25, back=0.5)
)
size, count = 8 * (3 + 4 * walk.skeleton.num_joints), 0
with receiver, receiver.makefile("rb") as frames:
    while data := frames.read(size):
        numbers = np.frombuffer(data, "<f8")
        pose = u.Motion(
            skeleton=walk.skeleton, fps=walk.fps, root=numbers[None, :3], rotations=numbers[3:].reshape(1, -1, 4)
        )
        count += sum(ready.num_frames for ready in stream.push(pose))
count += sum(ready.num_frames for ready in stream.finish())
print(f"{walk.num_frames} frames came, {count} frames were given out")
