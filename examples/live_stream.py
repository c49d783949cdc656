"""Retarget while the source is still moving: frames go in as they are captured, frames come out some seconds later."""

import understudy as u

walk = u.samples.motion("walk", seconds=12.0).motion
stream = u.Stream(source=walk.skeleton, target=u.samples.character("child"), fps=walk.fps)
for first in range(0, walk.num_frames, 10):
    for ready in stream.push(walk[first : first + 10]):
        print(f"after frame {min(first + 9, walk.num_frames - 1)}: {ready.num_frames} frames are ready")
for ready in stream.finish():
    print(f"at the end: {ready.num_frames} frames")
print(stream)
