"""A constraint of your own: a function of points that must be zero, or at most zero. It is differentiated for you."""

import numpy as np

import understudy as u


def excess(hands):
    """(N, 2, 3) metres, both hands in N frames -> (N,) metres by which they are more than 0.2 m apart."""
    return np.linalg.norm(hands[:, 0] - hands[:, 1], axis=-1) - 0.2


names = ("LeftHand", "RightHand")
near = u.constraints.Function(function=excess, points=names, bound="at_most", start=2.0, end=3.0)
result = u.retarget("sample:walk", "sample:child", constraints=[near])
print(result.result)
gap = excess(u.fk(result.motion).points(names)) + 0.2
print("hands after 1, 2.5 and 4 s:", *gap[[30, 75, 120]].round(2), "m apart")
