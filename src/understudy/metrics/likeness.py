"""Where the bones of a result should point if it did exactly as its source does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.body import height
from understudy.geometry.quaternion import Array, conjugate, cross, from_axis_angle, multiply, rotate
from understudy.metrics.take import Take
from understudy.symmetry import partners
from understudy.transfer.correspondence import carries, is_chain

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


def directions(take: Take) -> Directions:
    """Every bone that is long enough and has a partner."""
    return _alike(take) if take.alike else _mapped(take)


def _alike(take: Take) -> Directions:
    """Bones of one structure: from each joint's parent to it, in both."""
    assert take.shown_pose is not None
    skeleton = take.result.skeleton
    long = SHORTEST * height(skeleton)
    joints = [j for j in range(1, skeleton.num_joints) if skeleton.lengths[j] > long]
    joints = [j for j in joints if take.shown_pose.skeleton.lengths[j] > 1e-6]
    parents = skeleton.parents[joints]
    found, wanted = (pose.positions[:, joints] - pose.positions[:, parents] for pose in (take.pose, take.shown_pose))
    return Directions(bones=tuple(joints), found=_unit(found), wanted=_unit(wanted))


def _mapped(take: Take) -> Directions:
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


def _bone(take: Take, joint: int) -> Array | None:
    """(3,) the unit direction in a joint's frame of the longest bone that it turns; None where there is none."""
    skeleton = take.result.skeleton
    ways = [skeleton.offsets[child] for child in skeleton.children[joint]]
    ways += [end.offset for end in skeleton.ends if end.joint == skeleton.names[joint]]
    longest = max(ways, key=lambda way: float(np.linalg.norm(way)), default=np.zeros(3))
    size = float(np.linalg.norm(longest))
    return longest / size if size > SHORTEST * height(skeleton) else None


def tips(take: Take) -> list[tuple[int, int]]:
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
        and not any(carries(whole.target, pair.target[-1], bone) for other in whole.pairs for bone in other.target)
    ]


def sides(take: Take) -> np.ndarray:
    """(J,) the joint of the result on the other side of each."""
    return partners(take.result.skeleton)


def _unit(vectors: Array) -> Array:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
