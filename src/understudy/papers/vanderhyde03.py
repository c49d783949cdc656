"""Vanderhyde, "Retargeting motion capture data using spacetime constraints" (2003): a handhold during a squat."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from understudy.bands import choose_spacing
from understudy.constraints.base import Spot
from understudy.constraints.place import Place
from understudy.geometry.quaternion import Array
from understudy.kinematics import fk
from understudy.limits import human_limits
from understudy.motion import Motion
from understudy.papers.base import Experiment, Findings, Paper, Table, Tell
from understudy.papers.scenes import plot, save, scene
from understudy.problem import Actor, Problem
from understudy.solvers.base import Solver
from understudy.solvers.keyed import Keyed
from understudy.solvers.spacetime import Spacetime

ARM, HAND = ("LeftArm", "LeftForeArm", "LeftHand"), "LeftPalm"
"""What may move, and what holds."""
KEYS = (4, 5, 6)
"""The study's numbers of keys."""
OURS = "ours"


@dataclass(frozen=True, eq=False, kw_only=True)
class Hold:
    """How well one method keeps the hand at its hold."""

    off: Array
    """(F,) metres from the hold."""
    seconds: float


def squat() -> Motion:
    """One squat: standing, down and up again."""
    return scene("squat").motion[:79]


def railing(motion: Motion) -> Array:
    """(3,) metres: a place to hold on to beside the body, half-way between where the shoulder is high and low."""
    shoulder, skeleton = fk(motion).points([ARM[0]])[:, 0], motion.skeleton
    reach = skeleton.lengths[[skeleton.joint(name) for name in ARM[1:]]].sum()
    reach += float(np.linalg.norm(skeleton.point(HAND).offset))
    return np.asarray(0.5 * (shoulder.max(0) + shoulder.min(0)) + reach * np.array([0.6, 0.0, 0.2]))


def holds() -> dict[str, Hold]:
    """The hold by the study's method with few keys, and by ours."""
    motion = squat()
    place = railing(motion)
    limits = [each for each in human_limits(motion)[0] if each.joints()[0].point in ARM]
    actor = Actor(motion=motion, joints=ARM, root_moves=False)
    hold = Place(spot=Spot(point=HAND), target=place, name="hold")
    solvers: dict[str, Solver] = {f"{count} keys": Keyed(count=count) for count in KEYS}
    solvers[OURS] = Spacetime(spacing=choose_spacing(motion))
    found = {}
    for name, solver in solvers.items():
        # The study left the shoulder without limits; ours has them.
        ranges = limits if name == OURS else []
        solution = solver.solve(Problem(actors=(actor,), constraints=(hold, *ranges)))
        off = np.linalg.norm(fk(solution.motion).points([HAND])[:, 0] - place, axis=-1)
        found[name] = Hold(off=off, seconds=solution.seconds)
    return found


def plot_holds(found: dict[str, Hold], path: Path) -> None:
    """Draw how far the hand is from its hold over time."""
    figure = plot(2.8)
    axes = figure.subplots()
    for name, hold in found.items():
        axes.plot(squat().times, 1e3 * hold.off, label=name, lw=2.0 if name == OURS else 1.2)
    axes.set(xlabel="s", ylabel="hand from its hold, mm")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    save(figure, path)


def handhold(path: Path | None) -> list[str]:
    """The hold with 4, 5 and 6 keys and with ours, in a sentence each."""
    found = holds()
    if path is not None:
        plot_holds(found, path)
    return [
        f"{name}: off by {1e3 * hold.off.max():.3g} mm at most, {1e3 * hold.off.mean():.3g} on average"
        for name, hold in found.items()
    ]


def _run(folder: Path | None, tell: Tell) -> Findings:
    tell("a handhold with 4, 5 and 6 keys, and ours")
    found = holds()
    rows = tuple((name, 1e3 * h.off.max(), 1e3 * h.off.mean(), h.seconds) for name, h in found.items())
    head = ("method", "off at most (mm)", "off on average (mm)", "seconds")
    pictures: tuple[Path, ...] = ()
    if folder is not None:
        pictures = (folder / "handhold.png",)
        plot_holds(found, pictures[0])
    best = min(h.off.max() for name, h in found.items() if name != OURS)
    worse = (f"few keys hold within {1e3 * best:.3g} mm, ours does not",) if found[OURS].off.max() > best else ()
    title = "A handhold during a squat; the study: more keys hold more tightly, none holds throughout"
    return Findings(tables=(Table(title=title, head=head, rows=rows),), pictures=pictures, worse=worse)


PAPER = Paper(
    name="vanderhyde03",
    title="Vanderhyde: Retargeting motion capture data using spacetime constraints (2003)",
    experiments=(Experiment(name="handhold", about="A handhold with few keys", run=_run),),
)
