"""Limbs of two bodies: what each stands on, and which limb of one is which of the other."""

from __future__ import annotations

import numpy as np

from understudy.body import leg_length
from understudy.contacts import contact_points
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.skeleton import Point, Skeleton
from understudy.symmetry import partners
from understudy.transfer.correspondence import Correspondence, Pair


def standing_points(motion: Motion) -> tuple[Point, ...]:
    """The points a body stands on in a motion: its feet, and tips of other limbs that come down to where feet stand.

    Only what has a partner on the other side is a limb: a tail that hangs low carries nobody.
    """
    points = list(contact_points(motion))
    skeleton, pose = motion.skeleton, fk(motion)
    if not points:
        return ()
    floor = float(np.percentile(pose.points(points)[..., 1].min(axis=1), 20))
    other = partners(skeleton)
    covered = other == np.arange(skeleton.num_joints)
    for point in points:
        covered |= skeleton.below(skeleton.index[point.joint])
    ended = {end.joint for end in skeleton.ends}
    tips = [end for end in skeleton.ends if not covered[skeleton.index[end.joint]]]
    tips += [
        skeleton.point(name)
        for name, below, known in zip(skeleton.names, skeleton.children, covered, strict=True)
        if not (below or known or name in ended)
    ]
    if tips:
        low = np.percentile(pose.points(tips)[..., 1], 10, axis=0) < floor + 0.1 * leg_length(skeleton)
        points += [tip for tip, is_low in zip(tips, low, strict=True) if is_low]
    return tuple(points)


def limb_of(whole: Correspondence, side: str, joint: str) -> Pair | None:
    """The first pair of the limb that a joint of the source or target belongs to; None at the root and above."""
    skeleton: Skeleton = getattr(whole, side)
    owner = {bone: pair for pair in whole.pairs for bone in getattr(pair, side)}
    line: list[Pair] = []
    for above in skeleton.chain(skeleton.joint(joint)):
        pair = owner.get(skeleton.names[above])
        if pair is not None and pair not in line:
            line.append(pair)
    if not line or line[-1] is whole.root:
        return None
    for upper, lower in zip(reversed(line[:-1]), reversed(line[1:]), strict=True):
        if upper is whole.root or _branches(whole, side, upper):
            return lower
    return line[0]


def limb_name(whole: Correspondence, side: str, joint: str) -> str | None:
    """What the limb of a joint is called: the source's first bone of it; for one without partner its own first bone."""
    limb = limb_of(whole, side, joint)
    if limb is not None:
        return limb.source[0]
    skeleton: Skeleton = getattr(whole, side)
    paired = {bone for pair in whole.pairs for bone in getattr(pair, side)}
    names = [skeleton.names[above] for above in skeleton.chain(skeleton.joint(joint))]
    below = names[max((i for i, name in enumerate(names) if name in paired), default=0) + 1 :]
    return below[0] if below else None


def _branches(whole: Correspondence, side: str, pair: Pair) -> bool:
    """Whether more than one pair hangs directly from a pair."""
    skeleton: Skeleton = getattr(whole, side)
    owner = {skeleton.index[bone]: other for other in whole.pairs for bone in getattr(other, side)}
    below = set()
    for other in whole.pairs:
        above = skeleton.chain(skeleton.index[getattr(other, side)[0]])[:-1]
        nearest = next((owner[j] for j in reversed(above) if j in owner and owner[j] is not other), None)
        if nearest is pair:
            below.add(other)
    return len(below) > 1
