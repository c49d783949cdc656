"""Easing: how far a constraint moves its point fades in before it begins, and fades out after it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.constraints.base import Constraint, ConstraintInput
from understudy.constraints.follow import Follow
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point

EASE_NAME = "easing of "
"""How the names of constraints begin that only ease another one."""

EASE_WEIGHT = 3.0
"""Weight of these constraints, which are soft and move limbs only."""


UNMOVED_SECONDS = 0.4
"""Time before an ease begins and after it ends in which the point is held where it would be: slow changes of the whole
body would move it further away."""


def is_easing(constraint: Constraint) -> bool:
    """Whether a constraint only eases another one."""
    return constraint.name.startswith(EASE_NAME)


def easing_constraints(constraints: Sequence[Constraint], starts: dict[str, Motion]) -> list[Constraint]:
    """The soft constraints that ease others in and out.

    Args:
        constraints: Those with an `ease_in` or `ease_out` get them.
        starts: The actors' motions before the solve, by name; they show where a point would be otherwise.
    """
    return [
        easing
        for constraint in constraints
        if constraint.ease_in > 0.0 or constraint.ease_out > 0.0
        for easing in _easings(constraint, starts)
    ]


def _easings(constraint: Constraint, starts: dict[str, Motion]) -> Iterator[Constraint]:
    refs = constraint.point_refs()
    if len(refs) != 1 or constraint.joints() or constraint.chosen_axes().any():
        raise _cannot_be_eased(constraint)
    motion = starts.get(refs[0].actor) or next(iter(starts.values()))
    point = refs[0].point
    spans = [(t, t) for t in constraint.instants] or [(constraint.start, constraint.end)]
    for start, end in spans:
        for edge, seconds, way in ((start, constraint.ease_in, -1.0), (end, constraint.ease_out, 1.0)):
            away = way * (motion.times - edge)
            frames = np.flatnonzero((away > 1e-6) & (away < seconds + UNMOVED_SECONDS))
            if seconds <= 0.0 or len(frames) == 0:
                continue
            offset = _offset(constraint, motion, point, edge)
            held, times = np.isfinite(offset), motion.times[frames]
            share = smooth_step(np.clip(1.0 - away[frames] / seconds, 0.0, 1.0))
            path = fk(motion[frames]).points([point])[:, 0] + share[:, None] * np.where(held, offset, 0.0)
            axes = "".join(axis for axis, is_held in zip("xyz", held, strict=True) if is_held)
            yield Follow(
                point=refs[0], path=path, times=times, axes=axes, start=float(times[0]), end=float(times[-1]),
                soft=True, priority=-1, weight=EASE_WEIGHT, name=f"{EASE_NAME}{constraint.label}",
            )  # fmt: skip


def _offset(constraint: Constraint, motion: Motion, point: Point | str, time: float) -> Array:
    """(3,) metres from where a point would be at a time to where a constraint puts it; nan along free axes."""
    frame = int(np.clip(np.rint(time * motion.fps), 0, motion.num_frames - 1))
    places = fk(motion[frame : frame + 1]).points([point])
    view = ConstraintInput(times=motion.times[[frame]], points=places, local_rotations=np.zeros((1, 0, 4)))
    goal = constraint.goal(view)
    if goal is None:
        residuals = constraint.measure(view).values
        if residuals.shape[1] != 3 or constraint.constant() is None:
            raise _cannot_be_eased(constraint)
        goal = places[:, 0] - residuals
    return np.asarray(goal[0] - places[0, 0])


def smooth_step(share: Array) -> Array:
    """A step from 0 to 1 for shares from 0 to 1, with zero speed and acceleration at both ends."""
    return share**3 * (10.0 + share * (6.0 * share - 15.0))


def _cannot_be_eased(constraint: Constraint) -> OptionError:
    return OptionError(
        f"Constraint `{constraint.label}` of kind `{constraint.kind}` cannot be eased",
        hint="only a constraint that says where one point is can be, such as `place` or `attach` to a prop",
    )
