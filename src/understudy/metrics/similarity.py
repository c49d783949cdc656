"""Similarity: how far a result is from doing what its source does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.base.quaternion import Array, angle_between, conjugate, cross, from_axis_angle, multiply, rotate
from understudy.correspondence.pairs import is_ancestor, is_chain
from understudy.figure.kinematics import forward
from understudy.figure.measures import height
from understudy.figure.symmetry import partners
from understudy.metrics.base import Curve, Figure, Grade, Measurement, Metric
from understudy.metrics.comparison import Comparison
from understudy.metrics.guard import compared

UP = np.array([0.0, 1.0, 0.0])

SHORTEST = 0.02
"""Body heights below which a bone's direction says nothing."""

MIRROR = np.array([-1.0, 1.0, 1.0])


@dataclass(frozen=True, eq=False, kw_only=True)
class Directions:
    """Unit directions of bones in the world, side by side."""

    bones: tuple[int, ...]
    """(B,) joints of the result's skeleton that turn them."""
    found: Array
    """(F, B, 3) as the result has them."""
    wanted: Array
    """(F, B, 3) as the source has them, seen on the result's body."""

    def angles(self, offset: Array | float) -> Array:
        """(F, B) radians between the two once the source is turned about the vertical by an angle, or (F,) angles."""
        turned = rotate(_about_up(offset), self.wanted)
        return angles_between(self.found, turned)

    def mirrored_angles(self, own: Array, theirs: Array, pair: np.ndarray) -> Array:
        """(F, B) radians in the bodies' own headings (F,) with the source's sides exchanged."""
        found, wanted = rotate(_about_up(-own), self.found), rotate(_about_up(-theirs), self.wanted)
        place = {joint: i for i, joint in enumerate(self.bones)}
        other = [place.get(int(pair[joint]), i) for i, joint in enumerate(self.bones)]
        return angles_between(found, wanted[:, other] * MIRROR)


def _about_up(angle: Array | float) -> Array:
    turn = from_axis_angle(UP, np.asarray(angle, float))
    return turn[:, None] if turn.ndim > 1 else turn


def angles_between(a: Array, b: Array) -> Array:
    """(...,) radians between unit vectors (..., 3)."""
    return np.arctan2(np.linalg.norm(cross(a, b), axis=-1), np.einsum("...i,...i->...", a, b))


def directions(take: Comparison) -> Directions:
    """Every bone that is long enough and has a partner."""
    return _alike(take) if take.alike else _mapped(take)


def _alike(take: Comparison) -> Directions:
    """Bones of one structure: from each joint's parent to it, in both."""
    assert take.shown_pose is not None
    skeleton = take.result.skeleton
    long = SHORTEST * height(skeleton)
    joints = [j for j in range(1, skeleton.num_joints) if skeleton.lengths[j] > long]
    joints = [j for j in joints if take.shown_pose.skeleton.lengths[j] > 1e-6]
    parents = skeleton.parents[joints]
    found, wanted = (pose.positions[:, joints] - pose.positions[:, parents] for pose in (take.pose, take.shown_pose))
    return Directions(bones=tuple(joints), found=_unit(found), wanted=_unit(wanted))


def _mapped(take: Comparison) -> Directions:
    """Bones of a correspondence: each turned from the reference pose as its partner is turned from its own."""
    assert take.shown_pose is not None
    whole, alignment = take.correspondence, take.alignment
    bones, found, wanted = [], [], []
    for pair in whole.pairs:
        # Bones that do not follow each other move one bone by their mean, which no one of them shows.
        if not (is_chain(whole.source, pair.source) and is_chain(whole.target, pair.target)):
            continue
        theirs, mine = whole.source.index[pair.source[-1]], whole.target.index[pair.target[-1]]
        along = _bone(take, mine)
        if along is None:
            continue
        rest = rotate(alignment.target_world[mine], along)
        turned = multiply(take.shown_pose.rotations[:, theirs], conjugate(alignment.source_world[theirs]))
        frame = alignment.frames[mine]
        bones.append(mine)
        found.append(rotate(take.pose.rotations[:, mine], along))
        wanted.append(rotate(multiply(multiply(frame, turned), conjugate(frame)), rest))
    shape = (take.result.num_frames, 0, 3)
    return Directions(
        bones=tuple(bones),
        found=np.stack(found, 1) if found else np.empty(shape),
        wanted=np.stack(wanted, 1) if wanted else np.empty(shape),
    )


def _bone(take: Comparison, joint: int) -> Array | None:
    """(3,) the unit direction in a joint's frame of the longest bone that it turns; None where there is none."""
    skeleton = take.result.skeleton
    ways = [skeleton.offsets[child] for child in skeleton.children[joint]]
    ways += [end.offset for end in skeleton.ends if end.joint == skeleton.names[joint]]
    longest = max(ways, key=lambda way: float(np.linalg.norm(way)), default=np.zeros(3))
    size = float(np.linalg.norm(longest))
    return longest / size if size > SHORTEST * height(skeleton) else None


def tips(take: Comparison) -> list[tuple[int, int]]:
    """Joints of the result and of the source at the ends of the limbs: pairs from which no other pair hangs."""
    assert take.source is not None
    if take.alike:
        skeleton = take.result.skeleton
        ends = [j for j in range(1, skeleton.num_joints) if not skeleton.children[j]]
        return [(j, j) for j in ends]
    whole = take.correspondence
    return [
        (whole.target.index[pair.target[-1]], whole.source.index[pair.source[-1]])
        for pair in whole.pairs
        if pair is not whole.root
        and not any(is_ancestor(whole.target, pair.target[-1], bone) for other in whole.pairs for bone in other.target)
    ]


def sides(take: Comparison) -> np.ndarray:
    """(J,) the joint of the result on the other side of each."""
    return partners(take.result.skeleton)


def _unit(vectors: Array) -> Array:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


TURNED = np.radians(15.0)
"""Radians from which on a heading that differs is told."""


@dataclass(frozen=True, kw_only=True)
class Similarity(Metric):
    """Angles of joints, directions of bones and paths of limbs' ends against the source's."""

    name: ClassVar[str] = "similarity"
    title: ClassVar[str] = "similarity"
    grades: ClassVar[tuple[Grade, ...]] = (
        Grade(figure="direction", noticeable=10.0, bad=30.0),
        Grade(figure="end_path", noticeable=0.12, bad=0.25),
        Grade(figure="end_shift", noticeable=0.05, bad=0.15),
        Grade(figure="heading", noticeable=15.0, bad=60.0),
    )

    def measure(self, take: Comparison) -> Measurement:
        if take.shown is None or take.headings is None:
            return self.absent("there is no source to compare with")
        own, theirs = take.headings
        turned = float(np.angle(np.mean(np.exp(1j * (own - theirs)))))
        found = directions(take)
        if not found.bones:
            return self.absent("no bone of the result corresponds to a single bone of the source")
        off = np.degrees(found.angles(turned))
        local = None
        if take.alike:
            apart = np.degrees(angle_between(take.result.rotations[:, 1:], take.shown.rotations[:, 1:]))
            local = float(apart.mean()) if apart.size else 0.0
        mirrored = float(np.degrees(found.mirrored_angles(own, theirs, sides(take))).mean())
        paths = self._ends(take, turned)
        figures = [
            Figure(name="local_angle", value=local, unit="degrees", about="mean difference of the joints' rotations"),
            Figure(name="direction", value=off.mean(), unit="degrees", about="mean angle between bones"),
            Figure(name="direction_p95", value=np.percentile(off, 95), unit="degrees", about="95th percentile of it"),
            Figure(name="end_path", value=None if paths is None else paths.mean(), unit="body heights",
                   about="mean distance of limbs' ends, seen from the root"),
            Figure(name="end_shift", value=self._shift(take, turned), unit="body heights",
                   about="mean distance of limbs' ends from where the source's angles have them on this body"),
            Figure(name="heading", value=np.degrees(abs(turned)), unit="degrees",
                   about="how far the whole result is turned about the vertical"),
            Figure(name="mirrored_direction", value=mirrored, unit="degrees",
                   about="mean angle between bones with the source's sides exchanged"),
        ]  # fmt: skip
        swapped = bool(compared(take)[0])
        joint = take.result.skeleton.names[found.bones[int(np.argmax(off.mean(axis=0)))]]
        said = [f"bones point {off.mean():.1f} degrees off the source's on average, `{joint}` most"]
        said += [] if paths is None else [f"limbs' ends are {100.0 * paths.mean():.1f}% of the body's height off"]
        said += [f"the whole result is turned by {np.degrees(turned):.0f} degrees"] if abs(turned) > TURNED else []
        said += ["left and right are exchanged"] if swapped else []
        curves = [Curve(name="direction", values=off.mean(axis=1), unit="degrees")]
        curves += [] if paths is None else [Curve(name="end_path", values=paths.mean(axis=1), unit="body heights")]
        judged = ("direction", "heading", *(() if take.loose else ("end_shift",) if take.alike else ("end_path",)))
        return self.made(take, "; ".join(said), figures, curves, judged=judged, mirrored=swapped, joint=joint)

    @staticmethod
    def _shift(take: Comparison, turned: float) -> float | None:
        """Body heights between limbs' ends and those of the source's angles on the same body: without proportions."""
        pairs = tips(take)
        if not pairs or not take.alike or take.shown is None:
            return None
        root = np.zeros((take.result.num_frames, 3))
        copied = forward(take.result.skeleton, root, take.shown.rotations, take.result.offsets)[0]
        ends = [a for a, _ in pairs]
        mine = take.pose.positions[:, ends] - take.pose.positions[:, :1]
        apart = np.linalg.norm(mine - rotate(from_axis_angle(UP, turned), copied[:, ends]), axis=-1)
        return float(apart.mean()) / height(take.result.skeleton)

    @staticmethod
    def _ends(take: Comparison, turned: float) -> Array | None:
        """(F, E) body heights between limbs' ends, from each body's root and in its own height."""
        pairs = tips(take)
        if not pairs or take.shown is None or take.shown_pose is None:
            return None
        root, other = 0, 0
        if not take.alike:
            whole = take.correspondence
            assert whole.root is not None
            root, other = whole.target.index[whole.root.target[0]], whole.source.index[whole.root.source[0]]
        mine = take.pose.positions[:, [a for a, _ in pairs]] - take.pose.positions[:, [root]]
        theirs = take.shown_pose.positions[:, [b for _, b in pairs]] - take.shown_pose.positions[:, [other]]
        theirs = rotate(from_axis_angle(UP, turned), theirs)
        return np.linalg.norm(mine / height(take.result.skeleton) - theirs / height(take.shown.skeleton), axis=-1)


METRIC = Similarity()
