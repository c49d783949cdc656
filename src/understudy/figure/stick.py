"""Stick figures: the bones of a motion with sides and widths, its head, the paths of feet and hands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array
from understudy.base.records import cached, record
from understudy.figure.kinematics import Pose, fk
from understudy.figure.measures import facing, feet, hands, partners
from understudy.figure.motion import Motion
from understudy.figure.roles import roles, side
from understudy.figure.skeleton import Point, Skeleton

VIEWS = ("side", "front", "top")
"""Every view: from the character's right, so that it walks from left to right; from its front; from above."""

_UP = np.array([0.0, 1.0, 0.0])


@record
class Viewpoint:
    """A drawing plane: the world directions right, up and towards the reader."""

    name: str
    page_from_world: Array
    """(3, 3) rows: right on the page, up on the page, out of the page towards the reader."""

    def project(self, places: ArrayLike) -> Array:
        """Project world positions (..., 3) to the page (..., 3): right, up, towards the reader; metres."""
        return np.asarray(places, float) @ self.page_from_world.T

    @property
    def upright(self) -> bool:
        """Whether up in the world is up on the page, so that the floor is a line."""
        return self.name != "top"


def view_of(name: str, facing: ArrayLike) -> Viewpoint:
    """A view of a character that faces a horizontal direction (3,)."""
    if name not in VIEWS:
        raise OptionError(f"Expected views among {', '.join(VIEWS)}; got `{name}`")
    forward = np.asarray(facing, float) * [1.0, 0.0, 1.0]
    length = float(np.linalg.norm(forward))
    forward = forward / length if length > 1e-9 else np.array([0.0, 0.0, 1.0])
    left = np.cross(_UP, forward)
    rows = {
        "side": [forward, _UP, -left],
        "front": [left, _UP, forward],
        "top": [forward, left, _UP],
    }[name]
    return Viewpoint(name=name, page_from_world=np.array(rows))


def check_views(views: str | Sequence[str]) -> tuple[str, ...]:
    """View names, from a sequence or from one text with commas, without duplicates, in the given order."""
    names = views.split(",") if isinstance(views, str) else list(views)
    chosen = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not chosen:
        raise OptionError(f"Expected at least one view among {', '.join(VIEWS)}; got none")
    for name in chosen:
        view_of(name, [0.0, 0.0, 1.0])
    return chosen


LEFT, MIDDLE, RIGHT = -1, 0, 1

_SIDES = {"left": LEFT, "right": RIGHT}

_TRUNK_WIDTH_SIZES = 0.047
"""Width of a bone that carries the whole body, in body sizes."""

_MAX_TRACES = 8

MIN_SIZE_METRES = 0.1
"""Size used for a body of no extent, such as a single joint."""


@record
class Trace:
    """The path of a foot, a hand or another point."""

    name: str
    side: int
    foot: bool
    places: Array
    """(F, 3) metres, world."""


@record
class Stick:
    """A motion as a stick figure, for all frames."""

    name: str
    fps: float
    nodes: Array
    """(F, N, 3) metres, world: positions of the joints, then of the ends."""
    bones: np.ndarray
    """(B, 2) the two nodes of each bone."""
    sides: np.ndarray
    """(B,) LEFT, MIDDLE or RIGHT."""
    widths: Array
    """(B,) metres."""
    head: Array | None
    """(F, 3) centre of the head's ball; None if the character has none."""
    head_radius: float
    rigid: bool
    """Whether the body is one piece, drawn as its outline."""
    traces: tuple[Trace, ...]
    facing: Array
    """(F, 3) horizontal direction."""
    size: float
    """Median diagonal of the body's bounding box over the frames, metres."""

    @property
    def drawn(self) -> np.ndarray:
        """The nodes on bones; all nodes for a rigid body or a body without bones."""
        return np.unique(self.bones) if len(self.bones) and not self.rigid else np.arange(self.nodes.shape[1])

    @cached
    def points(self) -> Array:
        """(F, P, 3) metres, world: the nodes, then the head's centre if there is a head."""
        return self.nodes if self.head is None else np.concatenate([self.nodes, self.head[:, None]], axis=1)

    @property
    def drawn_points(self) -> np.ndarray:
        """The indices of the drawn nodes, then of the head's centre if there is a head."""
        return self.drawn if self.head is None else np.append(self.drawn, self.nodes.shape[1])

    @cached
    def strokes(self) -> list[tuple[int, int, float, int]]:
        """Start and end point, width in metres and side of each bone, then of the head, a disc; none if rigid."""
        bones = [(a, b, w, s) for (a, b), w, s in zip(self.bones.tolist(), self.widths.tolist(), self.sides.tolist())]
        centre = self.nodes.shape[1]
        head = [(centre, centre, 2.0 * self.head_radius, MIDDLE)] if self.head is not None else []
        return [] if self.rigid else bones + head


def stick(motion: Motion, name: str = "") -> Stick:
    """The stick figure of a motion."""
    skeleton, pose = motion.skeleton, fk(motion)
    nodes = np.concatenate([pose.positions, pose.ends()], axis=1) if skeleton.ends else pose.positions
    joint_of = roles(skeleton)
    sides = joint_sides(skeleton, joint_of)
    spread = np.ptp(nodes, axis=1)
    size = float(np.median(np.linalg.norm(spread, axis=-1))) or MIN_SIZE_METRES
    ball = _head(skeleton, pose, joint_of, size)
    bones = _bones(skeleton, nodes, joint_of, hidden_below=joint_of.get("head") if ball is not None else None)
    return Stick(
        name=name or motion.name or skeleton.name,
        fps=motion.fps,
        nodes=nodes,
        bones=bones,
        sides=_bone_sides(skeleton, bones, sides),
        widths=_widths(skeleton, nodes, bones, size),
        head=None if ball is None else ball[0],
        head_radius=0.0 if ball is None else ball[1],
        rigid=len(bones) == 0 or (skeleton.num_joints == 1 and len(skeleton.ends) > 2),
        traces=_traces(skeleton, pose, sides, joint_of, size),
        facing=facing(motion),
        size=size,
    )


def joint_sides(skeleton: Skeleton, joint_of: dict[str, int]) -> np.ndarray:
    """(J,) the side of each joint: from its role or name, else from its partner's position, else from its parent."""
    sides = np.array([_SIDES.get(side(name), MIDDLE) for name in skeleton.names], np.intp)
    for role, joint in joint_of.items():
        sides[joint] = _SIDES.get(role.partition("_")[0], sides[joint])
    if not sides.any():
        pair, across = partners(skeleton), skeleton.rest_world[0][:, 0]
        sides = np.sign(across[pair] - across).astype(np.intp)
    for joint, parent in enumerate(skeleton.parents[1:], start=1):
        sides[joint] = sides[joint] or sides[parent]
    return sides


def _bones(skeleton: Skeleton, nodes: Array, joint_of: dict[str, int], hidden_below: int | None) -> np.ndarray:
    """(B, 2) bones to draw: longer than zero, not above the hips, not inside the head's ball."""
    count = skeleton.num_joints
    pairs = [(int(parent), joint) for joint, parent in enumerate(skeleton.parents) if parent >= 0]
    pairs += [(skeleton.index[end.joint], count + i) for i, end in enumerate(skeleton.ends)]
    hidden = np.zeros(count, bool) if hidden_below is None else skeleton.below(hidden_below)
    above = np.zeros(count, bool)
    above[skeleton.chain(joint_of.get("hips", 0))[:-1]] = True
    lengths = np.linalg.norm(np.diff(nodes[:, np.array(pairs, np.intp).reshape(-1, 2)], axis=2)[:, :, 0], axis=-1)
    long = lengths.max(axis=0, initial=0.0) > 1e-6
    kept = [pair for pair, drawn in zip(pairs, long) if drawn and not hidden[pair[0]] and not above[pair[0]]]
    return np.array(kept, np.intp).reshape(-1, 2)


def _bone_sides(skeleton: Skeleton, bones: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """(B,) sides of the bones: that of the limb; a bone from the trunk to a limb belongs to the trunk."""
    count = skeleton.num_joints
    bone_sides = []
    for parent, child in bones:
        bone_side = sides[parent]
        if child >= count:
            bone_side = bone_side or _SIDES.get(side(skeleton.ends[child - count].name), MIDDLE)
        bone_sides.append(bone_side)
    return np.array(bone_sides, np.intp)


def _widths(skeleton: Skeleton, nodes: Array, bones: np.ndarray, size: float) -> Array:
    """(B,) metres: the width grows with the total length of the bones below, as in a tree."""
    above = np.array([*skeleton.parents, *(skeleton.index[end.joint] for end in skeleton.ends)], np.intp)
    middle = nodes[len(nodes) // 2]
    carried = np.linalg.norm(middle - middle[above], axis=-1)
    carried[0] = 0.0
    total = max(float(carried.sum()), 1e-9)
    for node in reversed(range(1, len(carried))):
        carried[above[node]] += carried[node]
    return _TRUNK_WIDTH_SIZES * size * np.sqrt(np.clip(carried[bones[:, 1]] / total, 0.03, 1.0))


def _head(skeleton: Skeleton, pose: Pose, joint_of: dict[str, int], size: float) -> tuple[Array, float] | None:
    """The centre (F, 3) and radius of the head's ball around the head's bone; None if there is no head."""
    if "head" not in joint_of or skeleton.num_joints < 4:
        return None
    head = joint_of["head"]
    below = skeleton.below(head)
    tips = [end for end in skeleton.ends if below[skeleton.index[end.joint]]]
    places = [pose.positions[:, joint] for joint in np.flatnonzero(below) if joint != head]
    if tips:
        places += list(np.moveaxis(pose.points(tips), 1, 0))
    base = pose.positions[:, head]
    up = _unit(base - pose.positions[:, int(skeleton.parents[head])])
    length, along = 0.0, up
    if places:
        reach = [float(np.median(np.linalg.norm(place - base, axis=-1))) for place in places]
        length = max(reach)
        # Halfway between the directions of neck and farthest bone: a jaw or nose alone would pull it forward.
        along = _unit(up + _unit(places[int(np.argmax(reach))] - base))
    length = length if length > 0.02 * size else 0.1 * size
    radius = float(np.clip(0.5 * length, 0.035 * size, 0.065 * size))
    return base + along * radius, radius


def _unit(vectors: Array) -> Array:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)


def _traces(
    skeleton: Skeleton, pose: Pose, sides: np.ndarray, joint_of: dict[str, int], size: float
) -> tuple[Trace, ...]:
    """Paths of feet and hands, else of the ends, else of the root."""
    ankles = [joint_of[role] for role in ("left_foot", "right_foot") if role in joint_of]
    soles = [skeleton.point(skeleton.names[joint]) for joint in ankles] or _one_each(skeleton, feet(skeleton))
    chosen = [(point, True) for point in soles[:_MAX_TRACES]]
    chosen += [(point, False) for point in hands(skeleton)]
    if not chosen:
        ends = skeleton.ends if 0 < len(skeleton.ends) <= _MAX_TRACES else ()
        chosen = [(point, False) for point in ends] or [(Point(name="root", joint=skeleton.names[0]), False)]
    places = pose.points([point for point, _ in chosen])
    # A foot not identified by name must come down to the floor: the lowest fin of a fish does not.
    low = places[..., 1].min(axis=0) < 0.08 * size
    return tuple(
        Trace(
            name=point.name,
            side=int(sides[skeleton.index[point.joint]]),
            foot=foot and (bool(ankles) or bool(low[i])),
            places=places[:, i],
        )
        for i, (point, foot) in enumerate(chosen)
    )


def _one_each(skeleton: Skeleton, points: Sequence[Point]) -> list[Point]:
    """One point per limb: the first of those on one chain of joints."""
    kept: list[Point] = []
    for point in points:
        chain = {skeleton.names[joint] for joint in skeleton.chain(skeleton.index[point.joint])}
        if skeleton.num_joints == 1 or not any(other.joint in chain for other in kept):
            kept.append(point)
    return kept


@dataclass(frozen=True)
class Palette:
    """The colours of one character."""

    left: str
    middle: str
    right: str

    def of(self, side: int) -> str:
        return {LEFT: self.left, MIDDLE: self.middle, RIGHT: self.right}[side]


PALETTES = (
    Palette("#0072b2", "#3a3a3a", "#d55e00"),
    Palette("#00916a", "#5a5046", "#aa3377"),
    Palette("#3f8fb5", "#4d4d4d", "#997700"),
)
"""Blue and vermilion, green and purple, sky and ochre: distinguishable for colour-blind readers."""


def hull(points: ArrayLike) -> Array:
    """The corners (H, 2) of the smallest convex shape around points (N, 2), in order."""
    ordered = np.unique(np.asarray(points, float), axis=0)
    if len(ordered) < 3:
        return ordered

    def half(sequence: Sequence[Array]) -> list[Array]:
        chain: list[Array] = []
        for point in sequence:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0.0:
                chain.pop()
            chain.append(point)
        return chain[:-1]

    return np.array(half(list(ordered)) + half(list(ordered[::-1])))


def _turn(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
