"""A constraint of your own: a function of points that must be zero, or at most zero. It is differentiated for you."""

import numpy as np

import understudy as u


def apart(points):
    """(N, 2, 3) metres, the two hands in N frames -> (N,) metres by which they are further apart than 0.2 m."""
    return np.linalg.norm(points[:, 0] - points[:, 1], axis=-1) - 0.2


Function = u.constraints.kinds()["function"]
near = Function(function=apart, points=("LeftHand", "RightHand"), bound="at_most", start=2.0, end=3.0)
result = u.retarget("sample:walk", "sample:child", constraints=[near])
print(result.result)
left, right = np.moveaxis(u.fk(result.motion).points(["LeftHand", "RightHand"]), 1, 0)
gap = np.linalg.norm(left - right, axis=-1)
for frame in (30, 75, 120):
    print(f"after {frame / result.motion.fps:.1f} s the hands are {gap[frame]:.2f} m apart")
