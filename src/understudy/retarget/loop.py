"""Loops: a motion in place that repeats is solved several times in a row, so that its end still joins its beginning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from understudy.base.quaternion import Array, conjugate, exp, log, multiply
from understudy.figure.contacts import Contact, find_period, leg_ratio
from understudy.figure.measures import leg_length
from understudy.figure.motion import Motion
from understudy.retarget.plan import Plan, plan
from understudy.solve.solvers.base import ProgressCallback, Solution, Solver, make_solution

if TYPE_CHECKING:
    from understudy.solve.problem import Problem

MAX_DRIFT_LEGS = 1e-3
"""Leg lengths by which a body in place may move on in one round."""

NUM_ROUNDS = 3
"""Number of rounds that are solved; the middle one is kept."""


def solve_loop(drawn: Plan, solver: Solver, watch: ProgressCallback | None = None) -> Solution:
    """Solve several rounds of a loop and keep the middle one, so that contacts hold across its ends."""
    assignment = drawn.assignments[0]
    motion = assignment.motion
    period = find_period(motion)
    assert period is not None
    solved, drift = _solve_rounds(drawn, drawn.contacts, period, solver, watch)
    if np.linalg.norm(drift) > MAX_DRIFT_LEGS * leg_length(assignment.target):
        # The feet of a loop are not quite steady. What carries the body away is a floor of a slightly wrong speed.
        ratio = leg_ratio(motion.skeleton, assignment.target)
        contacts = [
            c if c.velocity is None else replace(c, velocity=c.velocity - drift * motion.fps / (period * ratio))
            for c in drawn.contacts
        ]
        drawn = plan([replace(assignment, landing=None)], contacts=contacts, options=drawn.options)
        again, _ = _solve_rounds(drawn, contacts, period, solver, watch)
        solved = replace(again, steps=solved.steps + again.steps, seconds=solved.seconds + again.seconds)
    closed = tuple(_closed(each, period, motion.num_frames) for each in solved.motions)
    return _measured(drawn.problem(), closed, solved)


def _closed(motion: Motion, period: int, num_frames: int) -> Motion:
    """The middle round, with what its two ends differ by taken out evenly over the round.

    The solver's keys lie elsewhere in each round, so rounds are not quite alike.
    """
    middle = motion[period + np.arange(num_frames)]
    share = np.arange(num_frames) / period - 0.5
    root = middle.root - share[:, None] * (motion.root[2 * period] - motion.root[period])
    turned = log(multiply(conjugate(motion.rotations[period]), motion.rotations[2 * period]))
    rotations = multiply(middle.rotations, exp(-share[:, None, None] * turned))
    return middle.derived(root=root, rotations=rotations)


def _solve_rounds(
    drawn: Plan, contacts: Sequence[Contact], period: int, solver: Solver, watch: ProgressCallback | None
) -> tuple[Solution, Array]:
    """The solution of all rounds, and how far (3,) metres the body has moved on after the middle one."""
    assignment = drawn.assignments[0]
    fps = assignment.motion.fps
    frames = np.tile(np.arange(period), NUM_ROUNDS)
    repeated = repeat_contacts(contacts, period / fps, 1.0 / fps)
    looped = replace(assignment, motion=assignment.motion[frames], landing=None)
    solved = plan([looped], contacts=repeated, options=drawn.options).solve(solver, watch)
    root = solved.motion.root
    return solved, (root[2 * period] - root[period]) * [1.0, 0.0, 1.0]


def repeat_contacts(contacts: Sequence[Contact], period: float, frame: float) -> list[Contact]:
    """The contacts of several rounds; those that reach an end of a round are joined with those of the next.

    Args:
        contacts: The contacts of one round.
        period: Seconds of a round.
        frame: Seconds of a frame.
    """
    repeated: list[Contact] = []
    for point in {contact.point.name for contact in contacts}:
        mine = sorted((c for c in contacts if c.point.name == point), key=lambda c: c.start)
        row: list[Contact] = []
        for shift in period * np.arange(NUM_ROUNDS):
            for contact in mine:
                moved = replace(contact, start=contact.start + shift, end=min(contact.end, period - frame) + shift)
                if row and moved.start - row[-1].end < 1.5 * frame:
                    row[-1] = replace(row[-1], end=max(moved.end, row[-1].end))
                elif moved.end > moved.start:
                    row.append(moved)
        repeated += row
    return sorted(repeated, key=lambda contact: contact.start)


def _measured(problem: Problem, motions: tuple[Motion, ...], solved: Solution) -> Solution:
    """The solution of one round, with the constraints of that round measured."""
    from understudy.retarget.quality import bodies_of_motions

    bodies = bodies_of_motions(problem, motions)
    measured = make_solution(problem, bodies, solver=solved.solver, steps=solved.steps, seconds=solved.seconds)
    return replace(measured, motions=motions)
