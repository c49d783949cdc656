"""Retarget frames that a capture program sends: the root's x, y, z, then w, x, y, z of each joint, 64-bit numbers."""

import socket
from threading import Thread

import numpy as np

import understudy as u

walk = u.samples.motion("walk", seconds=6.0).motion
poses = np.concatenate([walk.root, walk.rotations.reshape(walk.num_frames, -1)], axis=1)
receiver, sender = socket.socketpair()
Thread(target=lambda: (sender.sendall(poses.tobytes()), sender.close())).start()
stream, count = u.Stream.open(walk.skeleton, u.samples.character("child"), fps=walk.fps), 0
with receiver, receiver.makefile("rb") as frames:
    while data := frames.read(8 * poses.shape[1]):
        pose = np.frombuffer(data)
        frame = u.Motion(skeleton=walk.skeleton, fps=30.0, root=pose[None, :3], rotations=pose[3:].reshape(1, -1, 4))
        count += sum(ready.num_frames for ready in stream.push(frame))
count += sum(ready.num_frames for ready in stream.finish())
print(f"{walk.num_frames} frames came, {count} frames were given out")
