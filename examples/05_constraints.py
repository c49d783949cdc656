"""Change a motion by saying what must hold: the walker now pats a dog in passing, and nothing else is lost.

The whole motion is solved at once. Feet keep their plants because constraints say so, and all frames share the change:
the arm begins to reach out before the touch and comes back after it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from understudy import fk, samples
from understudy.constraints import Constraint, PointRef
from understudy.constraints.place import Place
from understudy.constraints.same_place import SamePlace
from understudy.show.picture import draw
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.spacetime import Spacetime

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

scene = samples.motion("walk")
motion = scene.motion

# Every planted point stays in one place on the floor; where on the floor is left to the solver.
constraints: list[Constraint] = [
    SamePlace(point=PointRef(point=contact.point), start=contact.start, end=contact.end, height=scene.floor)
    for contact in scene.contacts
]
dog = fk(motion).points(["RightUpLeg"])[75, 0] + np.array([-0.35, -0.2, 0.3])
constraints.append(Place(point=PointRef(point="RightFingertips"), target=dog, instants=(2.5,), name="pat the dog"))

solution = Spacetime().solve(Problem(actors=(Actor(motion=motion),), constraints=tuple(constraints)))
print(solution.result)

before, after = fk(motion), fk(solution.motion)
reach = np.linalg.norm(before.points(["RightFingertips"])[75, 0] - dog)
print(f"the hand passed the dog at {100 * reach:.0f} cm, and now touches it")
moved = np.linalg.norm(after.positions - before.positions, axis=-1)
print(f"a second before the touch, the body is within {100 * moved[45].max():.0f} cm of where it was")
print(f"two seconds before, within {100 * moved[15].max():.0f} cm")

rows, near = [motion, solution.motion], slice(60, 91)
draw(
    rows, out / "pat.png", labels=["before", "after"], frames=near, style="filmstrip", views=("side", "front"), count=7
)
print("drawn: pat.png")
