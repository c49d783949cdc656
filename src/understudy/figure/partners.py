"""Partners: where the bodies of two actors touch each other, by capsules around their bones."""

from __future__ import annotations

from itertools import product

import numpy as np

from understudy.base.quaternion import Array, unrotate
from understudy.base.records import record
from understudy.figure.contacts import Contact, find_runs
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import height, is_humanoid
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point
from understudy.figure.surface import RADIUS_SHARES, capsules, closest_points

MAX_TOUCH_METRES = 0.03
"""Metres between the surfaces of two adults that touch each other."""

MIN_TOUCH_SECONDS = 0.2
"""A touch lasts at least this long."""

MAX_SLIDE_METRES = 0.06
"""Metres by which the place of a touch may move on either body. A touch that slides farther is several touches."""

MIN_HAND_HEIGHTS = 0.09
"""Least length of a hand in body heights; many captures have no fingers."""

OUTWARD = ("hand", "lower_arm", "upper_arm", "foot", "lower_leg", "upper_leg")
"""The parts of limbs. Of the parts of a limb that touch somebody at the same time, the first in this order counts."""


@record
class _Bones:
    """The bones of a body in motion, as capsules."""

    pose: Pose
    parts: tuple[str, ...]
    joints: tuple[str, ...]
    starts: Array
    """(C, F, 3) metres, world."""
    ends: Array
    """(C, F, 3) metres, world."""
    radii: Array
    """(C,) metres."""

    @staticmethod
    def of(motion: Motion) -> _Bones:
        skeleton, pose, shapes = motion.skeleton, fk(motion), capsules(motion.skeleton)
        size = height(skeleton)
        starts = np.moveaxis(pose.points([near for near, _ in shapes.ends]), 1, 0)
        ends = np.moveaxis(pose.points([far for _, far in shapes.ends]), 1, 0)
        parts, joints, radii = list(shapes.parts), [near.joint for near, _ in shapes.ends], shapes.radii.tolist()
        for side in ("left", "right"):
            arm = f"{side} lower_arm"
            if arm in parts:
                # The hand goes on from the forearm, at least as far as a hand is long.
                wrist = max((i for i, part in enumerate(parts) if part == arm), key=lambda i: joints[i])
                end = skeleton.children[skeleton.joint(joints[wrist])]
                along = ends[wrist] - starts[wrist]
                along /= np.maximum(np.linalg.norm(along, axis=-1, keepdims=True), 1e-9)
                if len(end):
                    parts.append(f"{side} hand")
                    joints.append(skeleton.names[end[0]])
                    start = pose.positions[:, end[0]]
                    starts = np.concatenate([starts, start[None]])
                    ends = np.concatenate([ends, (start + MIN_HAND_HEIGHTS * size * along)[None]])
                    radii.append(RADIUS_SHARES["hand"] * size)
        return _Bones(
            pose=pose, parts=tuple(parts), joints=tuple(joints), starts=starts, ends=ends, radii=np.array(radii)
        )

    def local(self, index: int, places: Array) -> Array:
        """(F, 3) metres: places (F, 3) in the frame of the joint of a bone."""
        joint = self.pose.skeleton.joint(self.joints[index])
        return unrotate(self.pose.rotations[:, joint], places - self.pose.positions[:, joint])


@record
class _Touch:
    """Two parts that touch, from one frame to another."""

    parts: tuple[str, str]
    frames: np.ndarray
    points: tuple[Point, Point]
    gap: float
    """Least metres between them."""


def find_touches(first: Motion, second: Motion, names: tuple[str, str]) -> list[Contact]:
    """The contacts between two actors: hands and forearms whose surface is within 3 cm of the other's for a while.

    Args:
        first: The motion of an actor.
        second: The motion of another, at the same frames a second.
        names: The names of the two.
    """
    if not (is_humanoid(first.skeleton) and is_humanoid(second.skeleton)):
        return []
    count = min(first.num_frames, second.num_frames)
    bones = _Bones.of(first[:count]), _Bones.of(second[:count])
    least = max(round(MIN_TOUCH_SECONDS * first.fps), 1)
    limit = MAX_TOUCH_METRES * height(first.skeleton) / 1.75
    touches: list[_Touch] = []
    for i, j in product(*(range(len(body.parts)) for body in bones)):
        # Bodies of different sizes cannot keep shoulders together, but hands on a shoulder.
        if min(_order(bones[0].parts[i]), _order(bones[1].parts[j])) <= OUTWARD.index("lower_arm"):
            touches += _touches_of(bones, i, j, limit, least)
    kept = _outermost(touches, count, least)
    return [
        Contact(
            point=touch.points[0],
            start=touch.frames[0] / first.fps,
            end=touch.frames[-1] / first.fps,
            actor=names[0],
            on=names[1],
            other=touch.points[1],
            confidence=float(np.clip(1.0 - max(touch.gap, 0.0) / (2.0 * limit), 0.0, 1.0)),
        )
        for touch in kept
    ]


def _touches_of(bones: tuple[_Bones, _Bones], i: int, j: int, limit: float, least: int) -> list[_Touch]:
    """The times at which two bones touch, cut where the place of the touch slides."""
    one, two = bones
    ends = one.starts[i], one.ends[i], two.starts[j], two.ends[j]
    middle = 0.5 * (ends[0] + ends[1] - ends[2] - ends[3])
    reach = 0.5 * sum(np.linalg.norm(b - a, axis=-1) for a, b in (ends[:2], ends[2:]))
    if np.all(np.linalg.norm(middle, axis=-1) - reach > one.radii[i] + two.radii[j] + limit):
        return []
    share, other = closest_points(*ends)
    near = ends[0] + share[:, None] * (ends[1] - ends[0])
    far = ends[2] + other[:, None] * (ends[3] - ends[2])
    distance = np.linalg.norm(far - near, axis=-1)
    gap = distance - one.radii[i] - two.radii[j]
    weight = (one.radii[i] + 0.5 * gap) / np.maximum(distance, 1e-9)
    place = near + weight[:, None] * (far - near)
    locals_ = one.local(i, place), two.local(j, place)
    touches = []
    for first, last in find_runs(gap < limit):
        for frames in _steady_pieces(np.arange(first, last + 1), locals_):
            if len(frames) >= least:
                points = (
                    _point(one.joints[i], locals_[0][frames], frames),
                    _point(two.joints[j], locals_[1][frames], frames),
                )
                parts = one.parts[i], two.parts[j]
                touches.append(_Touch(parts=parts, frames=frames, points=points, gap=float(gap[frames].min())))
    return touches


def _point(joint: str, path: Array, frames: np.ndarray) -> Point:
    """The mean place of a path (F, 3) in the frame of a joint."""
    return Point(name=f"{joint} at frame {frames[0]}", joint=joint, offset=path.mean(axis=0))


def _steady_pieces(frames: np.ndarray, paths: tuple[Array, Array]) -> list[np.ndarray]:
    """Frames cut into pieces during which each of two places (F, 3) stays within a radius."""
    pieces, start = [], 0
    for end in range(1, len(frames) + 1):
        cut = end == len(frames) or any(
            np.linalg.norm(path[frames[end]] - path[frames[start]]) > MAX_SLIDE_METRES for path in paths
        )
        if cut:
            pieces.append(frames[start:end])
            start = end
    return pieces


def _outermost(touches: list[_Touch], count: int, least: int) -> list[_Touch]:
    """The touches of the outermost parts: at one time, each limb of either actor touches with one part only."""
    taken: dict[tuple[int, str], np.ndarray] = {}
    kept = []
    for touch in sorted(touches, key=lambda t: (min(map(_order, t.parts)), sum(map(_order, t.parts)), t.gap)):
        limbs = [(who, _limb(part)) for who, part in enumerate(touch.parts)]
        free = np.ones(len(touch.frames), bool)
        for limb in limbs:
            free &= ~taken.setdefault(limb, np.zeros(count, bool))[touch.frames]
        if free.mean() < 0.5 or free.sum() < least:
            continue
        kept.append(touch)
        for limb in limbs:
            taken[limb][touch.frames] = True
    return sorted(kept, key=lambda touch: touch.frames[0])


def _limb(part: str) -> str:
    """The limb of a part, or `trunk`."""
    side, _, name = part.partition(" ")
    return f"{side} arm" if name in OUTWARD[:3] else f"{side} leg" if name in OUTWARD[3:] else "trunk"


def _order(part: str) -> int:
    name = part.partition(" ")[2]
    return OUTWARD.index(name) if name in OUTWARD else len(OUTWARD)
