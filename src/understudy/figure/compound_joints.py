"""Compound joints: hinges and universal joints that together form one joint of the body.

Robots build a hip, shoulder, ankle or wrist of several motors in a row, a little apart and in any order. Their axes and
positions show which of them belong together, whatever their names: a hinge about the length of its limb twists the bone
that it is in, wherever along the bone it sits; hinges close together about different axes are one joint; a hinge
parallel to the one before it, or far from it, is the next joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from understudy.base.quaternion import rotate
from understudy.figure.skeleton import NUM_AXES, JointKind, Skeleton

MIN_TWIST_COSINE = 0.85
"""Cosine between the axis of a hinge and its limb above which the hinge twists the limb and does not bend it."""

MIN_PARALLEL_COSINE = 0.9
"""Cosine above which two axes are parallel."""

MAX_AXES = 3
"""Axes that bend one joint."""

MAX_GAP_REMAINING_SHARE, MAX_GAP_LIMB_SHARE = 0.26, 0.15
"""Gap between hinges of one joint, as a share of the limb beyond them, or of the whole limb."""

MIN_DIRECTION_SHARE = 0.08
"""Share of a limb's length over which its direction at a joint is taken."""

MIN_FIXED_BONE_SHARE = 0.2
"""Share of a limb's length from which a bone without a joint of its own counts as a part."""

MAX_POINT_SIZES = 1e-4
"""Distance, in sizes of the body, within which hinges meet in one point."""

MIN_BALL_VOLUME = 0.5
"""Volume that the unit axes of three hinges span above which they form a ball; 1 if they are at right angles."""

_MOTORS = (JointKind.HINGE, JointKind.UNIVERSAL)


@dataclass(frozen=True, kw_only=True)
class CompoundJoint:
    """Joints of a skeleton that form one joint of the body."""

    joints: tuple[int, ...]
    """From the body outwards, without joints that cannot move, unless there are no others."""
    centre: int
    """The joint at which the bone below begins: the last one that bends the limb."""


@lru_cache(maxsize=64)
def balls_of_hinges(skeleton: Skeleton) -> tuple[tuple[int, int, int], ...]:
    """Triples of hinges in a row that meet in one point and turn about different axes: balls, however they are written.

    A robot's hinges that meet in a point only by chance of its build belong together just as well.
    """
    axes = rotate(skeleton.rest_world[1], skeleton.axes[:, 0])
    size = max(float(np.ptp(skeleton.rest_world[0], axis=0).max()), 1e-9)
    balls: list[tuple[int, int, int]] = []
    taken: set[int] = set()
    for first in range(1, skeleton.num_joints):
        row = [first]
        while len(row) < MAX_AXES and len(skeleton.children[row[-1]]) == 1:
            row.append(skeleton.children[row[-1]][0])
        if len(row) < MAX_AXES or taken & set(row) or any(skeleton.kinds[j] is not JointKind.HINGE for j in row):
            continue
        volume = abs(float(np.linalg.det(axes[row])))
        if skeleton.lengths[row[1:]].max() <= MAX_POINT_SIZES * size and volume > MIN_BALL_VOLUME:
            balls.append((row[0], row[1], row[2]))
            taken |= set(row)
    return tuple(balls)


def compound_joints(skeleton: Skeleton, row: Sequence[int]) -> list[CompoundJoint]:
    """Divide a chain of joints into compound joints; ball joints stay by themselves.

    Args:
        skeleton: The body.
        row: The joints from the body outwards, each below the one before.
    """
    if not any(skeleton.kinds[joint] in (*_MOTORS, JointKind.FIXED) for joint in row):
        return [CompoundJoint(joints=(joint,), centre=joint) for joint in row]
    chain = _Chain(skeleton, row)
    groups: list[list[int]] = []
    for number in range(len(row)):
        if groups and chain.continues(groups[-1], number):
            groups[-1].append(number)
        else:
            groups.append([number])
    return [
        CompoundJoint(joints=tuple(row[i] for i in chain.moving(group)), centre=row[chain.centre_of(group)])
        for group in groups
    ]


class _Chain:
    """The joints of a limb in the rest pose, with their axes."""

    def __init__(self, skeleton: Skeleton, row: Sequence[int]) -> None:
        # Names are read by a module that needs this one.
        from understudy.figure.helper_bones import leaf_helpers

        positions, rotations = skeleton.rest_world
        bones = [[j for j in skeleton.children[joint] if j not in leaf_helpers(skeleton)] for joint in row]
        tips = [tip for end, tip in zip(skeleton.ends, skeleton.rest_ends) if end.joint == skeleton.names[row[-1]]]
        tips += [positions[child] for child in bones[-1]]
        self.kinds = [skeleton.kinds[joint] for joint in row]
        ball_of = {joint: ball[0] for ball in balls_of_hinges(skeleton) for joint in ball}
        self.balls = [ball_of.get(joint) for joint in row]
        points = positions[list(row)]
        # A last bone without an end is taken to be as long as the one before it.
        tip = np.mean(tips, axis=0) if tips else 2.0 * points[-1] - points[-2 if len(row) > 1 else -1]
        self.points = np.array([*points, tip])
        steps = np.linalg.norm(np.diff(self.points, axis=0), axis=-1)
        self.remaining = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
        self.axes = [
            rotate(rotations[joint], skeleton.axes[joint, : NUM_AXES[kind]]) for joint, kind in zip(row, self.kinds)
        ]
        self.twists = [self._twists(number) for number in range(len(row))]
        self.branches = [len(children) > 1 for children in bones]

    def _twists(self, number: int) -> bool:
        """Whether a hinge turns about the length of its limb."""
        if self.kinds[number] is not JointKind.HINGE:
            return False
        offsets = self.points[number + 1 :] - self.points[number]
        distances = np.linalg.norm(offsets, axis=-1)
        distant = np.flatnonzero(distances > MIN_DIRECTION_SHARE * self.remaining[0])
        far = int(distant[0]) if len(distant) else len(offsets) - 1
        along = abs(float(self.axes[number][0] @ offsets[far]))
        return along > MIN_TWIST_COSINE * float(distances[far]) > 0.0

    def _bending(self, group: list[int]) -> list[int]:
        return [i for i in group if self.kinds[i] is not JointKind.FIXED and not self.twists[i]]

    def moving(self, group: list[int]) -> list[int]:
        """The joints of a group that can move; all of them if none can."""
        return [i for i in group if self.kinds[i] is not JointKind.FIXED] or group

    def centre_of(self, group: list[int]) -> int:
        return (self._bending(group) or group)[-1]

    def continues(self, group: list[int], number: int) -> bool:
        """Whether a joint belongs to the compound joint before it."""
        if self.balls[number] is not None or self.balls[group[-1]] is not None:
            return self.balls[number] == self.balls[group[-1]]
        gap = float(np.linalg.norm(self.points[number] - self.points[group[-1]]))
        if self.kinds[number] is JointKind.FIXED:
            return gap < MIN_FIXED_BONE_SHARE * self.remaining[0]
        # A ball needs no more axes: a hinge after it is a joint of its own, however its bones lie at rest.
        if self.kinds[number] not in _MOTORS or any(self.kinds[i] not in _MOTORS for i in group):
            return False
        bending = self._bending(group)
        if self.twists[number]:
            # What carries several bones is a hand or foot, even if it can only twist.
            return not self.branches[number] and (bool(bending) or self._is_close(group[-1], number))
        if not bending:
            return self._is_close(group[-1], number)
        axes = sum(len(self.axes[i]) for i in bending) + len(self.axes[number])
        crossing = not np.any(np.abs(self.axes[bending[-1]] @ self.axes[number].T) > MIN_PARALLEL_COSINE)
        return axes <= MAX_AXES and crossing and self._is_close(bending[-1], number)

    def _is_close(self, first: int, second: int) -> bool:
        gap = float(np.linalg.norm(self.points[second] - self.points[first]))
        limit = max(MAX_GAP_REMAINING_SHARE * self.remaining[second], MAX_GAP_LIMB_SHARE * self.remaining[0])
        return gap <= limit
