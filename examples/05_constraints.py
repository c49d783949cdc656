"""Change a motion by saying what must hold: the walker now touches a lamp in passing, and nothing else is lost.

The whole motion is solved at once. Feet keep their plants because constraints say so, and all frames share the change:
the arm begins to rise before the touch and comes down after it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from understudy import fk, samples
from understudy.constraints import Constraint, Spot
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.picture import draw
from understudy.problem import Actor, Problem
from understudy.solvers.spacetime import Spacetime

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

scene = samples.motion("walk")
motion = scene.motion

# Every planted point stays in one place on the floor; where on the floor is left to the solver.
constraints: list[Constraint] = [
    SamePlace(spot=Spot(point=contact.point), start=contact.start, end=contact.end, height=scene.floor)
    for contact in scene.contacts
]
lamp = fk(motion).points(["Head"])[75, 0] + np.array([-0.25, 0.15, 0.35])
constraints.append(Place(spot=Spot(point="RightFingertips"), target=lamp, instants=(2.5,), name="touch the lamp"))

solution = Spacetime().solve(Problem(actors=(Actor(motion=motion),), constraints=tuple(constraints)))
print(solution.report())

before, after = fk(motion), fk(solution.motion)
reach = np.linalg.norm(before.points(["RightFingertips"])[75, 0] - lamp)
print(f"the hand passed the lamp at {100 * reach:.0f} cm, and now touches it")
moved = np.linalg.norm(after.positions - before.positions, axis=-1)
print(f"one second before the touch, the body is within {100 * moved[45].max():.1f} cm of where it was")
print(f"two seconds before, within {100 * moved[15].max():.1f} cm")

draw([motion, solution.motion], out / "lamp.png", labels=["before", "after"], style="filmstrip", views="side")
print("drawn: lamp.png")
