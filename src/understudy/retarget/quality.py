"""How good a retarget is, in figures, words, and what to do about each that is bad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.base.quaternion import Array
from understudy.constraints.base import Constraint
from understudy.figure.bands import energy_above, rms_jerk
from understudy.figure.motion import Motion
from understudy.metrics.guard import find_failures
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Problem
from understudy.solve.solvers import has_keys
from understudy.solve.solvers.base import Outcome

if TYPE_CHECKING:
    from understudy.retarget.driver import Prepared
    from understudy.solve.solvers.base import Solution


HERTZ = (4.0, 8.0, 12.0)

ROUGHER = 1.1
"""Times the source's high-frequency energy or jerk from which on a result is called rougher."""

NOTICED = np.radians(0.2)
"""Radians, root mean square over all joints, of added fast movement below which nobody sees it."""

MOST = 3
"""Conflicts that are told; the report has them all."""

MAX_QUICK_FPS = 30.0
"""Frame rate of measurements during a drag, and of the bins of short motions."""


def measure(prepared: Prepared, solution: Solution, spacing: float) -> dict[str, Any]:
    """Everything worth knowing about a result, as plain data."""
    duration = solution.motion.duration
    groups = _groups(prepared, solution)
    moving = [i for i, each in enumerate(prepared.actors) if each.spec.moves]
    return {
        "result": solution.result,
        "solver": solution.solver,
        "spacing": spacing if has_keys(prepared.recipe.solver) else None,
        "steps": solution.steps,
        "seconds": solution.seconds,
        "real_time_factor": duration / solution.seconds if solution.seconds > 0.0 else None,
        "frames": solution.motion.num_frames,
        "fps": solution.motion.fps,
        "constraints": len(solution.outcomes),
        "unmet": [_outcome(each) for each in solution.unmet],
        "conflicts": list(solution.conflicts),
        **{key: _worst(outcomes) for key, outcomes in groups.items()},
        "smoothness": [_smoothness(prepared, solution, i) for i in moving],
        "faults": [sentence for i in moving for sentence in _faults(prepared, solution, i)],
    }


def _faults(prepared: Prepared, solution: Solution, which: int) -> list[str]:
    """What makes an actor's result no use, a sentence each."""
    each = prepared.actors[which]
    part = None if prepared.plan is None else prepared.plan.assignments[which]
    correspondence = None if part is None or part.alignment is None else part.alignment.correspondence
    own = {id(constraint) for constraint in prepared.recipe.constraints}
    found = find_failures(
        solution.motions[which],
        each.motion,
        correspondence,
        constraints=(c for c in solution.problem.constraints if id(c) not in own),
        actors=(each.spec.name, *([""] if which == 0 else [])),
        given=each.spec.map is not None,
    )
    return [f"{each.spec.name or 'the result'} {sentence}" for sentence in found]


def _groups(prepared: Prepared, solution: Solution) -> dict[str, list[Outcome]]:
    """Outcomes by what they are: contacts, floor, joint limits, and what the user asks for besides."""
    own = {id(constraint) for constraint in prepared.recipe.constraints}
    found: dict[str, list[Outcome]] = {"contacts": [], "floor": [], "limits": [], "asked": []}
    for outcome in solution.outcomes:
        kind = outcome.constraint.kind
        if id(outcome.constraint) in own:
            found["asked"].append(outcome)
        else:
            found[{"region": "floor", "joint_range": "limits"}.get(kind, "contacts")].append(outcome)
    return found


def _worst(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    if not outcomes:
        return {"count": 0, "worst": 0.0, "unmet": 0}
    worst = max(outcomes, key=lambda each: each.worst / each.constraint.tolerance)
    return {"count": len(outcomes), "unmet": sum(not each.met for each in outcomes), **_outcome(worst)}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.constraint.label,
        "kind": outcome.constraint.kind,
        "worst": outcome.worst,
        "at": outcome.time,
        "tolerance": outcome.constraint.tolerance,
    }


def _smoothness(prepared: Prepared, solution: Solution, which: int) -> dict[str, Any]:
    """Fast movement against the source's, as ratios; the jerk against the source's motion on a body of this size."""
    source, result = prepared.actors[which].motion, solution.motions[which]
    before, after = energy_above(source, HERTZ), energy_above(result, HERTZ)
    still = rms_jerk(prepared.start(which))
    return {
        "actor": prepared.actors[which].spec.name,
        "jerk": rms_jerk(result) / still if still > 1e-9 else None,
        "energy": {f"{h:g}": float(b / a) if a > 1e-12 else None for h, a, b in zip(HERTZ, before, after)},
        "added": {f"{h:g}": float(b - a) for h, a, b in zip(HERTZ, before, after)},
    }


def summary(data: dict[str, Any]) -> list[str]:
    """The figures in words, a line each."""
    keys = f", keys every {1000 * data['spacing']:.0f} ms" if data["spacing"] else ""
    lines = [f"{data['result']} ({data['solver']}{keys})"]
    contacts, floor, limits, asked = (data[key] for key in ("contacts", "floor", "limits", "asked"))
    if contacts["count"]:
        lines.append(_line("contacts", contacts, f"off by {_length(contacts['worst'])}"))
    if floor["count"]:
        lines.append(_line("floor", floor, f"{_length(floor['worst'])} below"))
    if limits["count"]:
        lines.append(_line("joint limits", limits, f"{np.degrees(limits['worst']):.2g} degrees over"))
    if asked["count"]:
        lines.append(_line("asked for", asked, f"off by {asked['worst']:.2g}"))
    for each in data["smoothness"]:
        energy = " / ".join("-" if r is None else f"{r:.2f}" for r in each["energy"].values())
        jerk = "-" if each["jerk"] is None else f"{each['jerk']:.2f}"
        whose = f"{each['actor']}: " if each["actor"] else ""
        lines.append(f"  {'smoothness':<13} {whose}jerk {jerk} x the source's; energy above 4 / 8 / 12 Hz {energy} x")
    factor = f", {data['real_time_factor']:.0f} x real time" if data["real_time_factor"] else ""
    length = (data["frames"] - 1) / data["fps"]
    return [*lines, f"  {'time':<13} {data['seconds']:.2f} s for {length:.2f} s of motion{factor}"]


def _line(title: str, group: dict[str, Any], off: str) -> str:
    at = f": `{group['name']}` at {group['at']:.2f} s" if group["worst"] > 0.1 * group["tolerance"] else ""
    return f"  {title:<13} {group['count']}, worst {off}{at}"


def _length(metres: float) -> str:
    if metres < 0.1:
        return f"{1000 * metres:.2g} mm" if metres > 1e-6 else "0 mm"
    return f"{metres:.3g} m"


def advice(data: dict[str, Any], plants: str) -> list[str]:
    """For each bad figure, what it is and what to do about it."""
    said = [f"{sentence}: no use; {_remedy(sentence)}" for sentence in data["faults"]]
    if data["contacts"].get("unmet"):
        what = f"{data['contacts']['unmet']} contacts are not kept, `{data['contacts']['name']}` worst"
        if plants == "fixed":
            said.append(f"{what}: the target may not reach them; --plants free lets it step where it can")
        else:
            said.append(f"{what}: `understudy recipe` writes them down, to be shortened or removed where they are none")
    if data["floor"].get("unmet"):
        said.append(
            f"`{data['floor']['name']}` fails by {_length(data['floor']['worst'])}: closer keys reach it "
            "(--spacing 2f), or the floor is none there (floor = false in a recipe)"
        )
    if data["limits"].get("unmet"):
        said.append(
            f"a joint goes {np.degrees(data['limits']['worst']):.1f} degrees beyond its limit "
            f"(`{data['limits']['name']}`): what it must reach is too far; limits = false in a recipe lifts them all"
        )
    if data["asked"].get("unmet"):
        said.append(
            f"{data['asked']['unmet']} constraints of the recipe are not met, `{data['asked']['name']}` worst, off by "
            f"{data['asked']['worst']:.3g}: out of reach or against others; a priority of 1 puts one before them"
        )
    said += [sentence for each in data["smoothness"] for sentence in _rough(each)]
    more = len(data["conflicts"]) - MOST
    return [
        *said,
        *data["conflicts"][:MOST],
        *([f"and {more} more conflicts (--report tells all)"] if more > 0 else []),
    ]


def _remedy(fault: str) -> str:
    """What to do about a result that is no use."""
    if any(word in fault for word in ("stands still", "not finite", "is thrown", "joint limits", "contacts")):
        return "try --solver spacetime, or fewer constraints"
    return "look at which bones correspond (`understudy map`) and give the right ones with --map"


def _rough(each: dict[str, Any]) -> list[str]:
    """What there is to say where a result shakes more than its source."""
    whose = f"{each['actor']} " if each["actor"] else ""
    worse = [h for h, ratio in each["energy"].items() if ratio and ratio > ROUGHER and each["added"][h] > NOTICED**2]
    if worse:
        more = f"{whose}moves more above {worse[0]} Hz than the source ({each['energy'][worse[0]]:.2f} x)"
        return [f"{more}: wider keys smooth it (--spacing 8f), or short contacts pull at it (see them in a recipe)"]
    if each["jerk"] and each["jerk"] > 1.5:
        return [f"{whose}jerks {each['jerk']:.2f} x as much as the source: wider keys smooth it (--spacing 8f)"]
    return []


@dataclass(frozen=True, eq=False, kw_only=True)
class Violation:
    """Violation of a constraint at each frame at which it holds."""

    constraint: Constraint
    times: Array
    """(n,) seconds."""
    off: Array
    """(n,) metres or radians."""
    place: Array | None
    """(3,) metres, world: mean place of its first point."""

    @property
    def outcome(self) -> Outcome:
        """The worst and mean violation."""
        if len(self.off) == 0:
            return Outcome(constraint=self.constraint, worst=0.0, time=0.0, mean=0.0)
        worst = int(np.argmax(self.off))
        return Outcome(
            constraint=self.constraint,
            worst=float(self.off[worst]),
            time=float(self.times[worst]),
            mean=float(self.off.mean()),
        )


def bodies_of_motions(problem: Problem, motions: Sequence[Motion]) -> tuple[Body, ...]:
    """The bodies of a problem, moved as in motions of its actors."""
    bodies = []
    for body, motion in zip(problem.bodies, motions, strict=True):
        joints = [motion.skeleton.index[name] for name in body.skeleton.names]
        moved = replace(body.motion, root=motion.root, rotations=motion.rotations[:, joints])
        bodies.append(replace(body, motion=moved))
    return tuple(bodies)


def measure_violations(problem: Problem, motions: Sequence[Motion], *, quickly: bool = False) -> tuple[Violation, ...]:
    """Measure how well motions meet each constraint of a problem.

    Args:
        problem: The constraints.
        motions: One for each actor.
        quickly: Measure at most 30 frames a second, and the first and last frame of each constraint.
    """
    frames = np.arange(len(problem.times))
    step = int(motions[0].fps // MAX_QUICK_FPS)
    if quickly and step > 1:
        ends = [frames_held[[0, -1]] if len(frames_held) else frames_held for frames_held in problem.held]
        frames = np.unique(np.concatenate([frames[::step], *ends]))
    sample = ProblemAtFrames(problem=problem, bodies=bodies_of_motions(problem, motions), frames=frames)
    evaluation = sample.measure()
    violations = []
    for target, frames_held, inputs, off in zip(
        sample.targets, sample.holds, evaluation.views, evaluation.violation, strict=True
    ):
        times, place = sample.times[frames_held], None
        if inputs.points.shape[1] and len(frames_held):
            place = inputs.points[:, 0].mean(axis=0)
        off = off.max(axis=1) if off.shape[1] else np.zeros(len(frames_held))
        violations.append(Violation(constraint=target.constraint, times=times, off=off, place=place))
    return tuple(violations)
