"""End points of robots: heels and toes where their shapes stand on the floor, tips of hands and heads."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from understudy.geometry.quaternion import Array, rotate, unrotate
from understudy.io.robot_shapes import Shape
from understudy.io.robot_tree import Robot
from understudy.naming import words
from understudy.skeleton import NUM_AXES, JointKind, Point, Skeleton

LOW = 0.03
"""Share of the body's height above its lowest place up to which a link stands on the floor."""
FLAT = 0.01
"""Share of the body's height by which a link may stand higher than those that hang from it, and stand on it too."""
LONG = 0.02
"""Metres from which on a sole has a heel and a toe."""
WIDE = 0.01
"""Metres from which on a heel or toe has two sides."""
NEAR = 0.1
"""Share of the body's height up the leg within which a hinge belongs to the foot."""
UP = np.array([0.0, 1.0, 0.0])
TIPS = {"foot", "sole", "toe", "heel", "hand", "palm", "tip", "contact", "tool", "ee", "gripper", "tcp", "head"}


def with_ends(robot: Robot) -> Skeleton:
    """A robot's skeleton with end points on its feet, its hands and whatever else ends somewhere."""
    standing = _Standing.of(robot)
    ends: list[Point] = []
    taken = set(robot.skeleton.names)
    for joint in range(1, robot.skeleton.num_joints):
        found = standing.sole(joint)
        if not found and not robot.skeleton.children[joint]:
            found = _tip(robot, joint)
        for name, offset in found:
            title = f"{robot.links[joint]}_{name}"
            if title not in taken:
                ends.append(Point(name=title, joint=robot.skeleton.names[joint], offset=offset))
                taken.add(title)
    return replace(robot.skeleton, ends=tuple(ends))


@dataclass(frozen=True, eq=False, kw_only=True)
class _Standing:
    """A robot in its rest pose, and what of it is on the floor."""

    robot: Robot
    lows: dict[int, Array]
    """(N, 3) by joint: the lowest places of its shapes, world."""
    height: float
    forward: Array

    @staticmethod
    def of(robot: Robot) -> _Standing:
        positions, rotations = robot.skeleton.rest_world
        lows: dict[int, Array] = {}
        for joint, shapes in enumerate(robot.forms):
            real = [shape for shape in shapes if shape.is_real]
            if joint > 0 and real:
                down = unrotate(rotations[joint], -UP)
                spots = np.concatenate([shape.touching(down) for shape in real])
                lows[joint] = positions[joint] + rotate(rotations[joint], spots)
        every = np.concatenate([positions, *lows.values()])
        height = float(np.ptp(every[:, 1]))
        floor = float(every[:, 1].min())
        lowest = {joint: float(spots[:, 1].min()) for joint, spots in lows.items()}
        feet = {}
        for joint, spots in lows.items():
            below = robot.skeleton.below(joint)
            under = min(low for other, low in lowest.items() if below[other])
            if lowest[joint] < floor + LOW * height and lowest[joint] < under + FLAT * height:
                feet[joint] = spots[spots[:, 1] < lowest[joint] + LOW * height]
        ahead = sum((spots.mean(0) - positions[joint] for joint, spots in feet.items()), np.zeros(3)) * [1.0, 0.0, 1.0]
        size = float(np.linalg.norm(ahead))
        # Robots are built to face along X.
        forward = ahead / size if size > 0.25 * LONG * max(len(feet), 1) else np.array([1.0, 0.0, 0.0])
        return _Standing(robot=robot, lows=feet, height=height, forward=forward)

    def sole(self, joint: int) -> list[tuple[str, Array]]:
        """Names and places, in its own frame, of the corners of what a joint stands on; none if it does not."""
        spots = self.lows.get(joint)
        if spots is None:
            return []
        along, leans = spots @ self.forward, self._leans(joint)
        if np.ptp(along) < LONG:
            named = self._sides("sole", spots, leans)
        else:
            middle = 0.5 * (along.min() + along.max())
            named = self._sides("sole_heel", _outer(spots[along < middle], self.forward, -1.0), leans)
            named += self._sides("sole_toe", _outer(spots[along >= middle], self.forward, 1.0), leans)
        positions, rotations = self.robot.skeleton.rest_world
        return [(name, unrotate(rotations[joint], spot - positions[joint])) for name, spot in named]

    def _leans(self, joint: int) -> bool:
        """Whether a foot can lean sideways of itself: a hinge of it, or close above it, points forwards."""
        skeleton = self.robot.skeleton
        rotations, near = skeleton.rest_world[1], NEAR * self.height
        while joint > 0:
            if skeleton.kinds[joint] is not JointKind.FIXED:
                axes = rotate(rotations[joint], skeleton.axes[joint, : NUM_AXES[skeleton.kinds[joint]]])
                if np.abs(axes @ self.forward).max() > 0.5:
                    return True
            near -= float(skeleton.lengths[joint])
            if near < 0.0:
                return False
            joint = int(skeleton.parents[joint])
        return False

    def _sides(self, name: str, spots: Array, leans: bool) -> list[tuple[str, Array]]:
        """The inner and outer of some places; their middle where they are not far apart, or cannot both stand."""
        left = np.cross(UP, self.forward)
        across = (spots - self.robot.skeleton.rest_world[0][0]) @ left
        if np.ptp(across) < WIDE or not leans:
            return [(name, spots.mean(0))]
        order = np.argsort(across if across.mean() > 0.0 else -across)
        return [(f"{name}_inner", spots[order[0]]), (f"{name}_outer", spots[order[-1]])]


def _outer(spots: Array, forward: Array, sign: float) -> Array:
    """Of places of one half of a sole those at its end, or nearly."""
    along = sign * (spots @ forward)
    return spots[along > along.max() - LONG]


def _tip(robot: Robot, joint: int) -> list[tuple[str, Array]]:
    """The far end of what a joint carries, where its shapes or marks tell."""
    shapes = robot.forms[joint]
    real = [shape for shape in shapes if shape.is_real]
    if real:
        middle = np.mean([shape.place for shape in real], axis=0)
        towards = middle if np.linalg.norm(middle) > 1e-3 else _bone(robot.skeleton, joint)
        if np.linalg.norm(towards) < 1e-3:
            return []
        spots = np.concatenate([shape.touching(towards) for shape in real])
        return [("end", spots[np.argmax(spots @ towards)])]
    marks = _marks(shapes, robot.links[joint])
    if not marks:
        return []
    far = max(marks, key=lambda shape: float(np.linalg.norm(shape.place)))
    return [("end", far.place)] if np.linalg.norm(far.place) > 1e-2 else []


def _marks(shapes: tuple[Shape, ...], link: str) -> list[Shape]:
    """Where meshes are put; places that are only marked count on what is named as an end of the body."""
    meshes = [shape for shape in shapes if shape.kind == "mesh"]
    return meshes or (list(shapes) if TIPS & set(words(link)) else [])


def _bone(skeleton: Skeleton, joint: int) -> Array:
    """(3,) the direction, in a joint's own frame, in which the bone to it leads on."""
    while joint > 0 and skeleton.lengths[joint] < 1e-3:
        joint = int(skeleton.parents[joint])
    return unrotate(skeleton.rest[joint], skeleton.offsets[joint])
