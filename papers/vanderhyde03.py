"""Vanderhyde, "Retargeting motion capture data using spacetime constraints" (2003): a handhold during a squat."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from papers.base import (
    Capture,
    Experiment,
    Findings,
    Fresh,
    Paper,
    Table,
    Tell,
    capture,
    cmu,
    collected,
    plot,
    save,
    scene,
)
from papers.vanderhyde03_study import HalfSquat
from papers.vanderhyde03_study import findings as study_findings
from understudy.base.quaternion import Array
from understudy.constraints.base import PointRef
from understudy.constraints.joint_range import JointRange
from understudy.constraints.place import Place
from understudy.correspondence.limits import human_limits
from understudy.figure.bands import choose_spacing
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.solve.problem import Actor, Problem
from understudy.solve.solvers.base import Solution, Solver
from understudy.solve.solvers.keyed import Keyed
from understudy.solve.solvers.spacetime import Spacetime

ARM, PALM = ("LeftArm", "LeftForeArm", "LeftHand"), "LeftPalm"
"""The joints that may move, and the point that holds."""

KEYS = (4, 5, 6)
"""The study's numbers of keys."""

OURS = "ours"

SQUAT = slice(3768, 4164)
"""Frames of one squat of the capture 13_29, which ends in several."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Handhold:
    """A squat during which one hand must stay in place."""

    motion: Motion
    hand: str
    """The joint or end that holds."""
    place: Array
    """(3,) metres."""

    @property
    def constraint(self) -> Place:
        return Place(point=PointRef(point=self.hand), target=self.place, name="handhold")

    @property
    def limits(self) -> list[JointRange]:
        """Human limits of the arm: swing and twist for the shoulder."""
        return [limit for limit in human_limits(self.motion)[0] if limit.joints()[0].point in ARM]

    def solve(self, solver: Solver, *, limited: bool = True) -> Solution:
        """Solve; only the arm may move."""
        actor = Actor(motion=self.motion, joints=ARM, root_moves=False)
        constraints = (self.constraint, *(self.limits if limited else ()))
        return solver.solve(Problem(actors=(actor,), constraints=constraints))

    def off(self, solution: Solution) -> Array:
        """(F,) distance of the hand from its place, metres."""
        return np.asarray(np.linalg.norm(fk(solution.motion).points([self.hand])[:, 0] - self.place, axis=-1))


@dataclass(frozen=True, eq=False, kw_only=True)
class Hold:
    """The error of one method."""

    off: Array
    """(F,) metres from the hold."""
    seconds: float


def half_way(motion: Motion, hand: str, aside: tuple[float, float, float]) -> Handhold:
    """A place half-way between the highest and lowest shoulder, offset by shares of the arm's length."""
    shoulder, skeleton = fk(motion).points([ARM[0]])[:, 0], motion.skeleton
    reach = skeleton.lengths[[skeleton.joint(name) for name in ARM[1:]]].sum()
    if hand not in skeleton.index:
        reach += float(np.linalg.norm(skeleton.point(hand).offset))
    place = 0.5 * (shoulder.max(0) + shoulder.min(0)) + reach * np.array(aside)
    return Handhold(motion=motion, hand=hand, place=np.asarray(place))


def railing() -> Handhold:
    """A railing beside the body, during one squat of the sample: standing, down and up again."""
    return half_way(scene("squat").motion[:79], PALM, (0.6, 0.0, 0.2))


def captured_hold(data: Path) -> Handhold:
    """A place in front of the body, during one squat of 13_29, 3.3 s at 120 fps.

    The conversion lost the hands, so the wrist holds.
    """
    return half_way(capture(data, "13_29")[SQUAT], ARM[-1], (0.1, 0.0, 0.5))


def holds(handhold: Handhold) -> dict[str, Hold]:
    """The errors of the study's method with few keys, and of ours."""
    solvers: dict[str, Solver] = {f"{count} keys": Keyed(count=count) for count in KEYS}
    solvers[OURS] = Spacetime(spacing=choose_spacing(handhold.motion))
    results = {}
    for name, solver in solvers.items():
        # The study left the shoulder without limits; ours has them.
        solution = handhold.solve(solver, limited=name == OURS)
        results[name] = Hold(off=handhold.off(solution), seconds=solution.seconds)
    return results


def plot_holds(handhold: Handhold, results: dict[str, Hold], path: Path) -> None:
    """Plot the distance of the hand from its hold over time."""
    figure = plot(2.8)
    axes = figure.subplots()
    for name, hold in results.items():
        axes.plot(handhold.motion.times, 1e3 * hold.off, label=name, lw=2.0 if name == OURS else 1.2)
    axes.set(xlabel="s", ylabel="hand from its hold, mm")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    save(figure, path)


def study(handhold: Handhold, title: str, path: Path | None) -> Findings:
    """Compare 4, 5 and 6 keys with our method: a table, and a picture if there is a path."""
    results = holds(handhold)
    rows = tuple((name, 1e3 * h.off.max(), 1e3 * h.off.mean(), h.seconds) for name, h in results.items())
    head = ("method", "off at most (mm)", "off on average (mm)", "seconds")
    if path is not None:
        plot_holds(handhold, results, path)
    best = min(h.off.max() for name, h in results.items() if name != OURS)
    worse = (f"few keys hold within {1e3 * best:.3g} mm, ours does not",) if results[OURS].off.max() > best else ()
    table = Table(title=title, head=head, rows=rows)
    return Findings(tables=(table,), pictures=() if path is None else (path,), worse=worse)


def _run(folder: Path | None, tell: Tell) -> Findings:
    tell("a handhold with 4, 5 and 6 keys, and ours")
    title = "A handhold during a squat; the study: more keys hold more tightly, none holds throughout"
    return study(railing(), title, None if folder is None else folder / "handhold.png")


def _run_captured(data: Path, folder: Path | None, tell: Tell) -> Findings:
    tell("a handhold during the squat of 13_29")
    title = "The same on a capture: the squat of CMU 13_29"
    return study(captured_hold(data), title, None if folder is None else folder / "handhold_captured.png")


DESCENT, FRESH_SQUAT, FRESH_DESCENT = slice(3700, 4100), "14_06", slice(1000, 1230)
"""Frames of a way down in 13_29; another squat of another person, and frames of its way down."""

BESIDE, IN_FRONT = (0.6, 0.0, 0.2), (0.1, 0.0, 0.5)
"""Places of a hold, in shares of the arm's length."""

STUDY_TITLE = "The study's keys and weights on a half squat in its 139 frames"


def _run_study(folder: Path | None, tell: Tell) -> Findings:
    tell("the study's own keys and weights")
    squat = HalfSquat.of("sample squat", scene("squat").motion[:79], BESIDE)
    return study_findings([squat], STUDY_TITLE)


def _run_study_captured(data: Path, folder: Path | None, tell: Tell) -> Findings:
    tell("the study's own keys and weights on 13_29")
    squat = HalfSquat.of("13_29", capture(data, "13_29")[DESCENT], IN_FRONT)
    return study_findings([squat], f"{STUDY_TITLE}: CMU 13_29")


def _run_study_fresh(collection: Path, data: Path | None, folder: Path | None, tell: Tell) -> Findings:
    tell(f"the study's own keys and weights on {FRESH_SQUAT}")
    squat = HalfSquat.of(FRESH_SQUAT, collected(collection, FRESH_SQUAT)[FRESH_DESCENT], IN_FRONT)
    return study_findings([squat], f"{STUDY_TITLE}: CMU {FRESH_SQUAT}")


PAPER = Paper(
    name="vanderhyde03",
    title="Vanderhyde: Retargeting motion capture data using spacetime constraints (2003)",
    experiments=(
        Experiment(name="handhold", about="A handhold with few keys", run=_run),
        Experiment(name="study", about="The study's own keys and weights", run=_run_study),
    ),
    captures=(
        Capture(
            name="handhold_captured",
            about="A handhold during a captured squat",
            files=(cmu("13_29"),),
            run=_run_captured,
        ),
        Capture(
            name="study_captured",
            about="The study's own keys and weights on a captured squat",
            files=(cmu("13_29"),),
            run=_run_study_captured,
        ),
    ),
    fresh=(
        Fresh(
            name="study_fresh",
            about="The study's own keys and weights on another person's squat",
            clips=(FRESH_SQUAT,),
            run=_run_study_fresh,
        ),
    ),
)
