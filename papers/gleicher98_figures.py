"""The figures of [Gleicher98], and its solvers compared with ours: time, error and difference of results."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from papers.base import (
    DOTS,
    SMALL,
    Findings,
    Table,
    Tell,
    carried,
    changed,
    drawn,
    in_scene,
    plot,
    save,
    scene,
    spectrum,
    worst,
)
from understudy import samples
from understudy.base.quaternion import Array
from understudy.constraints.base import Constraint, PointRef
from understudy.constraints.on_line import OnLine
from understudy.constraints.same_place import SamePlace
from understudy.figure.bands import choose_spacing, energy_above
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point
from understudy.retarget.driver import morph, naive, retarget
from understudy.retarget.feature_driving import Driven, drive
from understudy.retarget.plan import Assignment, Options, Plan, plan
from understudy.samples import Scene
from understudy.samples.can import HEIGHT, RADIUS
from understudy.solve.problem import Problem
from understudy.solve.solvers.base import Solution, Solver
from understudy.solve.solvers.ik import Ik
from understudy.solve.solvers.ik_lowpass import IkLowpass
from understudy.solve.solvers.least_squares import LeastSquares
from understudy.solve.solvers.lmult import Lmult
from understudy.solve.solvers.spacetime import Level, Spacetime
from understudy.solve.solvers.sqp import Sqp


def fixed_walk(name: str, solver: Solver | None = None, factor: float = SMALL) -> Solution:
    """Retarget a sample walk to a figure of another size in the original's footsteps."""
    given = scene(name)
    options = Options(plants="fixed")
    target = given.motion.skeleton.scaled(factor)
    return retarget(given.motion, target, contacts=given.contacts, options=options, solver=solver)


def fig02(path: Path | None) -> list[str]:
    """The result of copying: a planar walk and the same angles on a smaller figure."""
    given = scene("walk2d")
    copied = naive(given.motion, given.motion.skeleton.scaled(SMALL))
    pose, slides, heights = fk(copied), [], []
    for contact in given.contacts:
        place = pose.points([contact.point.name])[contact.frames(copied.fps, copied.num_frames), 0]
        if len(place):
            slides.append(float(np.linalg.norm((place - place[0])[:, [0, 2]], axis=-1).max()))
            heights.append(float(place[:, 1].min()))
    drawn(
        [given, in_scene(given, copied, "copied to 60%", marks=False)], path, labels=["original", "copied to 60%"],
        style="overlay", views="side", count=14, frames=slice(0, 100), dots_per_inch=DOTS,
    )  # fmt: skip
    return [
        f"planted points slide by up to {1e3 * max(slides):.0f} mm and float at least {1e3 * min(heights):.0f} mm high"
    ]


def fig03(path: Path | None) -> list[str]:
    """A heel strike, solved frame by frame and as a whole motion."""
    given = scene("walk2d")
    lines, rows = [], []
    for name, solver in {"inverse kinematics": Ik(), "ours": None}.items():
        solution = fixed_walk("walk2d", solver)
        held = worst(solution, "place", "same_place")
        energy = spectrum(solution.motion, given.motion)
        lines.append(f"{name}: plants within {held:.3f} mm, energy above 4/8/12 Hz {energy} of the original's")
        rows.append(in_scene(given, solution.motion, name))
    strike = round(2.2 * given.motion.fps)
    drawn(
        rows, path, labels=["inverse kinematics, frame by frame", "ours"], style="filmstrip", views="side", count=10,
        frames=slice(strike - 5, strike + 5), dots_per_inch=DOTS,
    )  # fmt: skip
    return lines


def fig06(path: Path | None) -> list[str]:
    """A walker who shrinks, with footplants fixed and free."""
    given = scene("walk2d")
    lines, rows = [], []
    for plants in ("fixed", "free"):
        options = Options(plants=plants)
        solution = morph(given.motion, given.motion.skeleton.scaled(SMALL), contacts=given.contacts, options=options)
        distance = (solution.motion.root[-1] - solution.motion.root[0])[2] / (
            given.motion.root[-1] - given.motion.root[0]
        )[2]
        held = worst(solution, "place", "same_place")
        energy = spectrum(solution.motion, given.motion)
        every = float(energy_above(solution.motion, 0.0)[0] / energy_above(given.motion, 0.0)[0])
        lines.append(
            f"{plants}: plants within {held:.3f} mm, {100 * distance:.0f}% of the way, energy {energy}, "
            f"of all rotations {every:.2f}; legs swing by {_swing(solution.motion):.0f} degrees, the original's by "
            f"{_swing(given.motion):.0f}"
        )
        rows.append(in_scene(given, solution.motion, plants, marks=plants == "fixed"))
    drawn(
        rows, path, labels=["footplants fixed", "footplants free"], style="overlay", views="side", count=16,
        dots_per_inch=DOTS,
    )  # fmt: skip
    return lines


def _swing(motion: Motion) -> float:
    """Degrees between the foremost and the hindmost direction of a leg of the plane figure, from hip to foot."""
    hip, foot = np.moveaxis(fk(motion).points(["LeftThigh", "LeftFoot"]), 1, 0)
    return float(np.degrees(np.ptp(np.arctan2((foot - hip)[:, 2], (hip - foot)[:, 1]))))


def fig07(path: Path | None) -> list[str]:
    """Traces of the feet from above, with keys at several spacings."""
    given = scene("walk")
    part = Assignment(motion=given.motion, target=given.motion.skeleton.scaled(SMALL))
    laid_out = plan([part], contacts=given.contacts, options=Options(plants="fixed"))
    traces = {"original": given.motion}
    lines = []
    for frames in (2, 4, 8):
        level = Level(spacing=frames / 30.0, rate=30.0, stiffness=1e5, steps=8)
        solution = laid_out.solve(Spacetime(levels=(level,)))
        traces[f"keys every {frames} frames"] = solution.motion
        aside = np.ptp(fk(solution.motion).points(["LeftToeTip"])[:, 0, 0])
        lines.append(
            f"keys every {frames}: trace {1e3 * aside:.0f} mm wide, plants within "
            f"{worst(solution, 'place', 'same_place'):.1f} mm, energy above 4/8/12 Hz "
            f"{spectrum(solution.motion, given.motion)}"
        )
    ours = laid_out.solve()
    aside = np.ptp(fk(ours.motion).points(["LeftToeTip"])[:, 0, 0])
    lines.append(
        f"ours (keys every {30 * choose_spacing(given.motion):.0f}, then the finish): trace {1e3 * aside:.0f} mm wide, "
        f"plants within {worst(ours, 'place', 'same_place'):.3f} mm, energy {spectrum(ours.motion, given.motion)}"
    )
    if path is not None:
        plot_traces(traces, path)
    return lines


def plot_traces(motions: dict[str, Motion], path: Path) -> None:
    """Plot the paths of the toes of some walks, from above."""
    figure = plot(2.6)
    axes = figure.subplots()
    colours = ("purple", "tab:green", "tab:blue", "goldenrod")
    for (name, motion), colour in zip(motions.items(), colours, strict=True):
        for number, side in enumerate(("Left", "Right")):
            trace = fk(motion).points([f"{side}ToeTip"])[:, 0]
            axes.plot(trace[:, 2], trace[:, 0], color=colour, lw=1.4, label=name if number == 0 else None)
    axes.set(aspect="equal", xlabel="along the walk, m", ylabel="to the side, m")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    save(figure, path)


def fig08(path: Path | None) -> list[str]:
    """Short legs in long footsteps."""
    given = scene("walk")
    skeleton = given.motion.skeleton
    legs = skeleton.scaled(np.where([any(k in n for k in ("Leg", "Foot", "Toe")) for n in skeleton.names], SMALL, 1.0))
    solution = retarget(given.motion, legs, contacts=given.contacts, options=Options(plants="fixed"))
    opens = []
    for motion in (given.motion, solution.motion):
        pose = fk(motion)
        directions = pose.points(["LeftFoot", "RightFoot"]) - pose.points(["LeftUpLeg", "RightUpLeg"])
        directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
        opens.append(np.degrees(np.arccos(np.einsum("fi,fi->f", directions[:, 0], directions[:, 1])).max()))
    drawn(
        [given, in_scene(given, solution.motion, "short legs")], path, labels=["original", "legs 60% as long"],
        style="filmstrip", views="side", count=8, frames=slice(15, 75), dots_per_inch=DOTS,
    )  # fmt: skip
    return [f"{solution.result}; legs open to {opens[1]:.0f} degrees, the original's to {opens[0]:.0f}"]


CLIMBER, PARTNER = 0.85, 0.85
"""Sizes of the climber and the follower, as shares of the original's."""

UPPER = ("LowerBack", "Spine", "Spine1", "Neck", "Head")

ARMS = tuple(f"{side}{part}" for side in ("Left", "Right") for part in ("Shoulder", "Arm", "ForeArm", "Hand"))


def fig01(path: Path | None) -> list[str]:
    """Differently sized figures pick up the same box."""
    given, lines, rows = scene("pick_up"), [], [scene("pick_up")]
    skeleton = given.motion.skeleton
    short = {"Leg": 0.55, "Foot": 0.55, "Toe": 0.55, "Arm": 0.55, "Hand": 0.55, "Spine": 1.5, "LowerBack": 1.5}
    odd = skeleton.scaled(np.array([next((f for k, f in short.items() if k in n), 1.0) for n in skeleton.names]))
    for name, target in {"60% as large": skeleton.scaled(SMALL), "short limbs, long body": odd}.items():
        solution = retarget(given.motion, target, contacts=given.contacts)
        lines.append(f"{name}: {solution.result}; energy above 4/8/12 Hz {spectrum(solution.motion, given.motion)}")
        rows.append(
            replace(given, name=name, actors={name: solution.motion}, contacts=(), props=carried(solution.motion))
        )
    labels = ["original", "60% as large", "short limbs, long body"]
    drawn(
        rows, path, labels=labels, style="filmstrip", views="side", count=7, frames=slice(60, 150), dots_per_inch=DOTS
    )
    return lines


def fig04(path: Path | None) -> list[str]:
    """A handhold on the ladder: frame by frame, filtered, and as a whole motion."""
    given = scene("ladder")
    target = given.motion.skeleton.scaled(CLIMBER)
    lines, rows = [], [given]
    solvers = {"B inverse kinematics": Ik(), "C low-pass filtered": IkLowpass(), "D ours": None}
    for name, solver in solvers.items():
        solution = retarget(given.motion, target, contacts=given.contacts, solver=solver)
        energy = spectrum(solution.motion, given.motion)
        lines.append(f"{name}: holds within {worst(solution, 'place'):.3f} mm, energy above 4/8/12 Hz {energy}")
        rows.append(in_scene(given, solution.motion, name))
    grasp = round(2.79 * given.motion.fps)
    drawn(
        rows, path, labels=["A original", *solvers], style="filmstrip", views="side", count=10,
        frames=slice(grasp - 5, grasp + 5), dots_per_inch=0.8 * DOTS,
    )  # fmt: skip
    return lines


def sliding(given: Scene) -> list[Constraint]:
    """Feet may be anywhere along their rung and hands anywhere along the rail, but do not move while they hold."""
    half = 0.5 * given.props[0].sizes[0, 0]
    constraints: list[Constraint] = []
    for contact in (c for c in given.contacts if c.on == "ladder"):
        assert contact.place is not None
        ref, start, end = PointRef(point=contact.point.name), contact.start, contact.end
        hand = "Palm" in contact.point.name
        aside, up = np.array([half, 0.0, 0.0]), np.array([0.0, 0.4, 0.0])
        middle = contact.place if hand else contact.place * [0.0, 1.0, 1.0]
        along = up if hand else aside
        constraints.append(OnLine(point=ref, first=middle - along, last=middle + along, start=start, end=end))
        constraints.append(SamePlace(point=ref, start=start, end=end))
    return constraints


def ladder(path: Path | None) -> list[str]:
    """The ladder with holds that are fixed, and holds that slide."""
    given = scene("ladder")
    target = given.motion.skeleton.scaled(CLIMBER)
    floor = [c for c in given.contacts if c.on == "floor"]
    solutions = {
        "holds fixed": retarget(given.motion, target, contacts=given.contacts),
        "holds slide": retarget(given.motion, target, contacts=floor, constraints=sliding(given)),
    }
    rows = [given, *(in_scene(given, solution.motion, name, marks=False) for name, solution in solutions.items())]
    drawn(
        rows, path, labels=["original", *solutions], style="filmstrip", views="side", count=9, dots_per_inch=0.8 * DOTS
    )
    return [
        f"{name}: {solution.result}; changed by {changed(solution.motion, given.motion):.1f} degrees, "
        f"energy above 4/8/12 Hz {spectrum(solution.motion, given.motion)}"
        for name, solution in solutions.items()
    ]


def dance_plan(given: Scene, *, both: bool, size: float, share: Array | None = None) -> Plan:
    """A dance whose follower has another size; her partner adapts too, or keeps his motion."""
    lead, follow = given.actors["lead"], given.actors["follow"]
    joints = (*UPPER, *ARMS) if both else None
    leader = Assignment(motion=lead, target=lead.skeleton, name="lead", moves=both, joints=joints, root_moves=False)
    follower = Assignment(motion=follow, target=follow.skeleton.scaled(size), name="follow", share=share)
    return plan([leader, follower], contacts=given.contacts)


def pair(solution: Solution, name: str) -> Scene:
    """Two dancers as a scene."""
    return Scene(name=name, actors=dict(zip(("lead", "follow"), solution.motions, strict=True)), contacts=())


def fig09(path: Path | None) -> list[str]:
    """A dance for two, one or both adapted."""
    given = scene("dance")
    names = {"only the follower adapted": False, "both adapted": True}
    solutions = {name: dance_plan(given, both=both, size=PARTNER).solve() for name, both in names.items()}
    rows = [given, *(pair(solution, name) for name, solution in solutions.items())]
    drawn(
        rows, path, labels=["original", *solutions], style="filmstrip", views="side", count=7, frames=slice(60, 150),
        dots_per_inch=DOTS,
    )  # fmt: skip
    before = (given.actors["lead"], given.actors["follow"])
    return [
        f"{name}: hands within {worst(solution, 'attach'):.3f} mm, changed by "
        + " and ".join(f"{changed(m, b):.1f}" for m, b in zip(solution.motions, before, strict=True))
        + " degrees (leader, follower)"
        for name, solution in solutions.items()
    ]


def fig10(path: Path | None) -> list[str]:
    """The follower shrinks during her spin."""
    given = scene("dance")
    share = np.clip((given.motion.times - 2.6) / 2.0, 0.0, 1.0)
    solution = dance_plan(given, both=True, size=0.75, share=share * share * (3.0 - 2.0 * share)).solve()
    drawn(
        [given, pair(solution, "shrinks")], path, labels=["original", "she shrinks to 75% while she spins"],
        style="filmstrip", views="side", count=9, frames=slice(60, 156), dots_per_inch=DOTS,
    )  # fmt: skip
    return [f"{solution.result}; hands within {worst(solution, 'attach'):.3f} mm"]


GAITS = {"walk": slice(28, 61), "skip": slice(63, 105), "run": slice(40, 62)}
"""A stride or so of each."""


def outlined(motion: Motion) -> Motion:
    """The can with points around its rims, so that its outline is a cylinder's."""
    around = np.linspace(0.0, 2.0 * np.pi, 32, endpoint=False)
    rims = [
        Point(
            name=f"rim {number}",
            joint="Can",
            offset=np.array([RADIUS * np.cos(angle), height, RADIUS * np.sin(angle)]),
        )
        for number, (height, angle) in enumerate((h, a) for h in (-0.5 * HEIGHT, 0.5 * HEIGHT) for a in around)
    ]
    return replace(motion, skeleton=replace(motion.skeleton, ends=tuple(rims)))


def describe(name: str, driven: Driven, seconds: float) -> str:
    """A line that summarises a gait's result."""
    pose = fk(driven.motion)
    across = pose.directions("Can", np.array([1.0, 0.0, 0.0]))
    down = np.zeros(driven.motion.num_frames, bool)
    for contact in driven.contacts:
        down[contact.frames(driven.motion.fps, driven.motion.num_frames)] = True
    went, path = (np.linalg.norm(m.root[-1] - m.root[0]) for m in (driven.motion, driven.intermediate))
    tips = np.degrees(np.abs(np.arcsin(across[:, 1])).max())
    return (
        f"{name}: {driven.solution.result}; planted points within {worst(driven.solution, 'same_place'):.3f} mm, no "
        f"end deeper than {-1e3 * min(pose.ends()[..., 1].min(), 0.0):.1f} mm; tips by {tips:.0f} degrees; goes "
        f"{went / path:.2f} times as far as the human of its proportions; in the air for {100 * np.mean(~down):.0f}% "
        f"of the time; {seconds:.1f} s of work for {driven.motion.duration:.0f} s of motion"
    )


def fig11(gait: str) -> Callable[[Path | None], list[str]]:
    """A function that draws the can in one of its gaits, together with the human that drives it."""

    def make(path: Path | None) -> list[str]:
        given = scene(gait)
        began = time.perf_counter()
        driven = drive(given.motion, samples.character("can"), contacts=given.contacts)
        seconds = time.perf_counter() - began
        drawn(
            [replace(driven.intermediate, name="the human of its proportions"), outlined(driven.motion)], path,
            style="filmstrip", views=("side", "front"), count=9, frames=GAITS[gait], together=True,
            contacts=driven.contacts, title=f"The can {gait}s", dots_per_inch=DOTS,
        )  # fmt: skip
        return [describe(gait, driven, seconds)]

    return make


INCH_MM = 25.4

Published = dict[str, tuple[float | None, float | None]]
"""The paper's seconds and worst error (mm) by solver; None if it gives none."""

LADDER: Published = {"lmult": (4.0, 0.5 * INCH_MM), "least_squares": (7.0, 0.25 * INCH_MM)}
"""On its ladder with keys every fourth frame; LMULT's error was above this [Gleicher98, sec. 7.2]."""

DANCE: Published = {"lmult": (60.0, 0.125 * INCH_MM), "least_squares": (14.0, None)}
"""On its dance with both adapted; LMULT took slightly longer than this [Gleicher98, sec. 7.3]."""

HELD = ("place", "same_place", "attach")
"""Kinds of constraints whose errors the paper reports as lengths."""


def ladder_problem() -> Problem:
    """Three seconds of the ladder by a figure 85% as large, hands and feet where the original's held."""
    given = samples.motion("ladder", seconds=3.0)
    part = Assignment(motion=given.motion, target=given.motion.skeleton.scaled(CLIMBER))
    return plan([part], contacts=given.contacts).problem()


def dance_problem() -> Problem:
    """The first two seconds of the dance by a follower 85% as large, both adapted."""
    return dance_plan(samples.motion("dance", seconds=2.0), both=True, size=PARTNER).problem()


def compare_solvers(problem: Problem, tell: Tell) -> dict[str, Solution]:
    """Solve a problem by each of the paper's three solvers and ours, with keys every fourth frame."""
    solvers: tuple[Solver, ...] = (Sqp(), Lmult(), LeastSquares(), Spacetime())
    solutions = {}
    for solver in solvers:
        tell(f"by {solver.name}")
        solutions[solver.name] = solver.solve(problem)
    return solutions


def solver_table(solutions: dict[str, Solution], published: Published, title: str) -> Table:
    """Time and worst error of each solver, with the paper's."""
    first = solutions["sqp"]
    rows = []
    for name, solution in solutions.items():
        seconds, off = published.get(name, (None, None))
        limits, floor = (
            max((o.worst for o in solution.outcomes if o.constraint.kind == kind), default=0.0)
            for kind in ("joint_range", "region")
        )
        apart = max(changed(a, b) for a, b in zip(solution.motions, first.motions, strict=True))
        rows.append(
            (name, seconds, solution.seconds, solution.steps, off, worst(solution, *HELD), 1e3 * floor,
             float(np.degrees(limits)), apart)
        )  # fmt: skip
    head = ("solver", "paper (s)", "ours (s)", "steps", "paper, worst (mm)", "ours, worst (mm)", "floor (mm)",
            "limits (deg)", "from sqp (deg)")  # fmt: skip
    return Table(title=title, head=head, rows=tuple(rows))


def worse_than_the_paper(solutions: dict[str, Solution], published: Published) -> tuple[str, ...]:
    """Where the paper's solver had a smaller error, a sentence each; times are of another machine and not compared."""
    return tuple(
        f"{name}: off by {worst(solutions[name], *HELD):.3g} mm, the paper's by {off:.3g}"
        for name, (_, off) in published.items()
        if off is not None and worst(solutions[name], *HELD) > off
    )


def run_solvers(problem: Problem, published: Published, title: str, tell: Tell) -> Findings:
    """Compare the solvers on a problem with the paper's results."""
    solutions = compare_solvers(problem, tell)
    return Findings(
        tables=(solver_table(solutions, published, title),), worse=worse_than_the_paper(solutions, published)
    )
