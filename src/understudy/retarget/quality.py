"""The quality of a retarget: the verdict, how well constraints are met, a summary in words, and advice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.base.quaternion import Array
from understudy.base.records import cached, record
from understudy.constraints.base import Constraint
from understudy.figure.motion import Motion
from understudy.figure.robot import RobotLayout
from understudy.metrics.base import Report, evaluate_quickly, quick_metrics, worst
from understudy.metrics.comparison import Comparison
from understudy.metrics.guard import find_failures
from understudy.solve.coordinates import Body
from understudy.solve.evaluation import ProblemAtFrames
from understudy.solve.problem import Problem
from understudy.solve.solvers import has_keys
from understudy.solve.solvers.base import Outcome

if TYPE_CHECKING:
    from understudy.retarget.driver import Prepared
    from understudy.solve.solvers.base import Solution


MAX_LISTED_CONFLICTS = 3
"""Number of conflicts in the advice; the report lists all."""

MAX_QUICK_FPS = 30.0
"""Frame rate of measurements during a drag, and of the bins of short motions."""


def measure(
    prepared: Prepared, solution: Solution, spacing: float, reports: Sequence[Report] | None = None
) -> dict[str, Any]:
    """All figures of a result, as plain data; with the given reports of its moving actors, or those made here."""
    duration = solution.motion.duration
    groups = _group_outcomes(prepared, solution)
    moving = [i for i, actor in enumerate(prepared.actors) if actor.spec.moves]
    reports = find_reports(prepared, solution) if reports is None else reports
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
        "unmet": [_outcome_data(outcome) for outcome in solution.unmet],
        "conflicts": list(solution.conflicts),
        "keys": solution.keys,
        **{key: _group_data(outcomes) for key, outcomes in groups.items()},
        "verdict": str(worst(report.verdict for report in reports)),
        "conclusion": "; ".join(_conclusions(prepared, reports, moving)),
        "evaluations": [
            {"actor": prepared.actors[i].spec.name, **report.data()} for i, report in zip(moving, reports, strict=True)
        ],
        "report": _verdict_lines(prepared, reports, moving),
        "faults": [fault for report in reports for fault in report.failures],
    }


def find_reports(
    prepared: Prepared, solution: Solution, cases: Sequence[Comparison] | None = None
) -> tuple[Report, ...]:
    """The quick metrics of every moving actor; how well constraints are met is part of the first."""
    moving = [i for i, actor in enumerate(prepared.actors) if actor.spec.moves]
    cases = compare_with_sources(prepared, solution) if cases is None else cases
    return tuple(_report(prepared, solution, i, cases[i], with_goal=i == moving[0]) for i in moving)


def _report(prepared: Prepared, solution: Solution, index: int, case: Comparison, *, with_goal: bool) -> Report:
    """The quick metrics of an actor's result."""
    # A body that features drive has no joints that follow the source's.
    only = ["goal"] if prepared.plan is None else [name for name in quick_metrics() if with_goal or name != "goal"]
    return evaluate_quickly(case, _find_faults(prepared, solution, index), only=only)


def compare_with_sources(prepared: Prepared, solution: Solution) -> tuple[Comparison, ...]:
    """The comparison of each actor's result with its source, with all that the solve knows of them."""
    cases = []
    for index, (actor, result) in enumerate(zip(prepared.actors, solution.motions, strict=True)):
        plan, layout = prepared.plan, actor.clip.layout
        alignment = None if plan is None else plan.assignments[index].alignment
        # The contacts of several actors are not those of one, and without contacts a plan takes the floor of the feet.
        alone = plan is not None and len(prepared.actors) == 1 and prepared.contacts
        cases.append(
            Comparison(
                result=result,
                source=actor.motion,
                user_map=None if alignment is None else alignment.correspondence,
                contacts=prepared.contacts,
                outcomes=solution.outcomes,
                robot=layout if isinstance(layout, RobotLayout) else None,
                carried=None if plan is None else plan.starts[index],
                known_alignment=alignment,
                known_context=plan.contexts[index] if plan is not None and alone and plan.contexts else None,
            )
        )
    return tuple(cases)


def _conclusions(prepared: Prepared, reports: Sequence[Report], moving: Sequence[int]) -> list[str]:
    """The verdict on each actor, after the actor's name if there are several."""
    names = [f"{prepared.actors[i].spec.name}: " if len(moving) > 1 else "" for i in moving]
    return [f"{name}{report.conclusion}" for name, report in zip(names, reports, strict=True)]


def _verdict_lines(prepared: Prepared, reports: Sequence[Report], moving: Sequence[int]) -> list[str]:
    """The verdicts in words, each after the name of its actor if there are several."""
    conclusions = _conclusions(prepared, reports, moving)
    return [
        line
        for conclusion, report in zip(conclusions, reports, strict=True)
        for line in (conclusion, *report.lines()[1:])
    ]


def _find_faults(prepared: Prepared, solution: Solution, index: int) -> list[str]:
    """The reasons why an actor's result is unusable, one sentence each."""
    actor = prepared.actors[index]
    alignment = None if prepared.plan is None else prepared.plan.assignments[index].alignment
    user_constraints = {id(constraint) for constraint in prepared.recipe.constraints}
    failures = find_failures(
        solution.motions[index],
        actor.motion,
        None if alignment is None else alignment.correspondence,
        constraints=(c for c in solution.problem.constraints if id(c) not in user_constraints),
        actors=(actor.spec.name, *([""] if index == 0 else [])),
        given=actor.spec.map is not None,
    )
    return [f"{actor.spec.name or 'the result'} {failure}" for failure in failures]


def _group_outcomes(prepared: Prepared, solution: Solution) -> dict[str, list[Outcome]]:
    """The outcomes of contacts, of the floor, of joint limits, of parts that are kept apart, and of the user's
    constraints (`asked`)."""
    user_constraints = {id(constraint) for constraint in prepared.recipe.constraints}
    groups: dict[str, list[Outcome]] = {"contacts": [], "floor": [], "limits": [], "apart": [], "asked": []}
    for outcome in solution.outcomes:
        group = {"region": "floor", "joint_range": "limits", "apart": "apart"}.get(outcome.constraint.kind, "contacts")
        groups["asked" if id(outcome.constraint) in user_constraints else group].append(outcome)
    return groups


def _group_data(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    if not outcomes:
        return {"count": 0, "worst": 0.0, "unmet": 0}
    worst_outcome = max(outcomes, key=lambda outcome: outcome.worst / outcome.constraint.tolerance)
    return {"count": len(outcomes), "unmet": sum(not o.met for o in outcomes), **_outcome_data(worst_outcome)}


def _outcome_data(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.constraint.label,
        "kind": outcome.constraint.kind,
        "worst": outcome.worst,
        "at": outcome.time,
        "tolerance": outcome.constraint.tolerance,
    }


def summary(data: dict[str, Any]) -> list[str]:
    """The verdict with what to do about it, then how well constraints are met and what the solve took."""
    keys = f", keys every {1000 * data['spacing']:.0f} ms" if data["spacing"] else ""
    unmet = f"; {data['result']}" if data["unmet"] else ""
    lines = [*data["report"], f"  {'solver':<13} {data['solver']}{keys}{unmet}"]
    contacts, floor, limits, apart, asked = (data[key] for key in ("contacts", "floor", "limits", "apart", "asked"))
    if contacts["count"]:
        lines.append(_line("contacts", contacts, f"off by {_length(contacts['worst'])}"))
    if floor["count"]:
        lines.append(_line("floor", floor, f"{_length(floor['worst'])} below"))
    if limits["count"]:
        lines.append(_line("joint limits", limits, f"{np.degrees(limits['worst']):.2g} degrees over"))
    if apart["count"]:
        lines.append(_line("shins apart", apart, f"{_length(apart['worst'])} too near"))
    if asked["count"]:
        lines.append(_line("asked for", asked, f"off by {asked['worst']:.2g}"))
    factor = f", {data['real_time_factor']:.0f} x real time" if data["real_time_factor"] else ""
    duration = (data["frames"] - 1) / data["fps"]
    return [*lines, f"  {'time':<13} {data['seconds']:.2f} s for {duration:.2f} s of motion{factor}"]


def metric_figure(data: dict[str, Any], metric: str, figure: str) -> float | None:
    """A figure of a metric of the first actor; None if it was not measured."""
    measured = data["evaluations"][0]["metrics"].get(metric) if data["evaluations"] else None
    return None if measured is None else measured["figures"].get(figure, {}).get("value")


def _line(title: str, group: dict[str, Any], violation: str) -> str:
    at = f": `{group['name']}` at {group['at']:.2f} s" if group["worst"] > 0.1 * group["tolerance"] else ""
    return f"  {title:<13} {group['count']}, worst {violation}{at}"


def _length(metres: float) -> str:
    if metres < 0.1:
        return f"{1000 * metres:.2g} mm" if metres > 1e-6 else "0 mm"
    return f"{metres:.3g} m"


def advice(data: dict[str, Any], plants: str) -> list[str]:
    """Each bad figure, with what to do about it."""
    sentences = [f"{fault}: no use; {_remedy(fault)}" for fault in data["faults"]]
    if data["contacts"].get("unmet"):
        unmet = f"{data['contacts']['unmet']} contacts are not kept, `{data['contacts']['name']}` worst"
        if plants == "fixed":
            sentences.append(f"{unmet}: the target may not reach them; --plants free lets it step where it can")
        else:
            sentences.append(
                f"{unmet}: `understudy recipe` writes them down, to be shortened or removed where they are none"
            )
    if data["floor"].get("unmet"):
        sentences.append(
            f"`{data['floor']['name']}` fails by {_length(data['floor']['worst'])}: closer keys reach it "
            "(--spacing 2f), or the floor is none there (floor = false in a recipe)"
        )
    if data["limits"].get("unmet"):
        sentences.append(
            f"a joint goes {np.degrees(data['limits']['worst']):.1f} degrees beyond its limit "
            f"(`{data['limits']['name']}`): what it must reach is too far; limits = false in a recipe lifts them all"
        )
    if data["asked"].get("unmet"):
        sentences.append(
            f"{data['asked']['unmet']} constraints of the recipe are not met, `{data['asked']['name']}` worst, off by "
            f"{data['asked']['worst']:.3g}: out of reach or against others; a priority of 1 puts one before them"
        )
    sentences += data["conflicts"][:MAX_LISTED_CONFLICTS]
    unlisted = len(data["conflicts"]) - MAX_LISTED_CONFLICTS
    sentences += [f"and {unlisted} more conflicts (--report tells all)"] if unlisted > 0 else []
    return [*sentences, data["keys"]] if data["conflicts"] and data.get("keys") else sentences


def _remedy(fault: str) -> str:
    """What to do about an unusable result."""
    if any(word in fault for word in ("stands still", "not finite", "is thrown", "joint limits", "contacts")):
        return "try --solver spacetime, or fewer constraints"
    return "look at which bones correspond (`understudy map`) and give the right ones with --map"


@record
class Violation:
    """Violation of a constraint at each frame at which it holds."""

    constraint: Constraint
    times: Array
    """(n,) seconds."""
    off: Array
    """(n,) metres or radians."""
    place: Array | None
    """(3,) metres, world: mean place of its first point."""

    @cached
    def outcome(self) -> Outcome:
        """The worst and mean violation."""
        if len(self.off) == 0:
            return Outcome(constraint=self.constraint, worst=0.0, time=0.0, mean=0.0)
        worst = int(np.argmax(self.off))
        return Outcome(
            constraint=self.constraint,
            worst=float(self.off[worst]),
            time=float(self.times[worst]),
            mean=float(np.add.reduce(self.off) / len(self.off)),
        )


def bodies_of_motions(problem: Problem, motions: Sequence[Motion]) -> tuple[Body, ...]:
    """The bodies of a problem, moved as in motions of its actors."""
    bodies = []
    for body, motion in zip(problem.bodies, motions, strict=True):
        joints = [motion.skeleton.index[name] for name in body.skeleton.names]
        bodies.append(body.with_motion(body.motion.derived(root=motion.root, rotations=motion.rotations[:, joints])))
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
        ends = [frames_held[[0, -1]] if len(frames_held) else frames_held for frames_held in problem.constraint_frames]
        frames = np.unique(np.concatenate([frames[::step], *ends]))
    sample = ProblemAtFrames(problem=problem, bodies=bodies_of_motions(problem, motions), frames=frames)
    evaluation = sample.measure()
    violations = []
    for target, frames_held, inputs, off in zip(
        sample.targets, sample.frame_indices, evaluation.inputs, evaluation.violation, strict=True
    ):
        times, place = sample.times[frames_held], None
        if inputs.points.shape[1] and len(frames_held):
            # `mean` takes three times as long for so few.
            place = np.add.reduce(inputs.points[:, 0]) / len(frames_held)
        off = off.max(axis=1) if off.shape[1] else np.zeros(len(frames_held))
        violations.append(Violation(constraint=target.constraint, times=times, off=off, place=place))
    return tuple(violations)
