"""Alignment: two characters brought into one reference pose, bone by bone from the root outwards [Hsieh05, sec. 3.2].

Bodies that stand alike are aligned by direction: each bone of the target points where its partner points, with the
least twist, so that from then on the world orientations of the two move alike. Bodies that stand differently (a human
and a dog) keep each its own stance: what a limb does is counted from how it hangs by itself, and carried over through
the directions of the two limbs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.errors import OptionError
from understudy.geometry.quaternion import (
    Array,
    between,
    conjugate,
    from_axis_angle,
    identity,
    multiply,
    rotate,
    unrotate,
)
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.naming import words
from understudy.records import remembered
from understudy.roles import roles
from understudy.skeleton import Skeleton
from understudy.transfer.correspondence import ALIGNMENTS, Correspondence, Pair, is_chain
from understudy.transfer.layout import Layout
from understudy.transfer.reference import posed, reference_pose, stands_at_rest

LEVEL = np.array([1.0, 0.0, 1.0])
UP = np.array([0.0, 1.0, 0.0])
LEAST_TILT, MOST_TILT = np.radians(8.0), np.radians(60.0)
"""How far feet must lean in a rest pose to be set right, and beyond which they do not stand at all."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Alignment:
    """Two reference poses that mean the same, and how movement is carried from one to the other."""

    correspondence: Correspondence
    source: Array
    """(J, 4) local rotations of the source's reference pose."""
    target: Array
    """(J, 4) local rotations of the target's, turned to face as the source's and posed like it."""
    frames: Array
    """(J, 4) for each bone of the target the turn from its partner's limb to its own, through which movement is seen;
    none where it points as its partner does."""
    stance: bool
    """Whether the two stand in ways of their own."""

    @remembered
    def source_world(self) -> Array:
        """(J, 4) orientations of the source's bones in its reference pose."""
        return posed(self.correspondence.source, self.source).rotations[0]

    @remembered
    def target_world(self) -> Array:
        """(J, 4) orientations of the target's bones in its reference pose."""
        return posed(self.correspondence.target, self.target).rotations[0]


def align(
    correspondence: Correspondence,
    *,
    source_motion: Motion | None = None,
    target_motion: Motion | None = None,
    source_pose: Array | None = None,
    target_pose: Array | None = None,
    mode: str | None = None,
) -> Alignment:
    """Bring two characters into one reference pose.

    Args:
        correspondence: Which bones belong together.
        source_motion: What the source does, for a skeleton whose zero rotations are no pose.
        target_motion: Something that the target does, likewise.
        source_pose: (J, 4) local rotations of the source's reference pose: its bind pose, a frame; its rest pose,
            or a frame in which it stands, if not given.
        target_pose: (J, 4) the target's.
        mode: "direction" or "stance" for all pairs that do not say it themselves; None to choose by how they stand.
    """
    if mode is not None and mode not in ALIGNMENTS:
        raise OptionError(f"Expected an alignment, one of {', '.join(ALIGNMENTS)}; got `{mode}`")
    source, target = correspondence.source, correspondence.target
    layout = Layout(
        correspondence=correspondence,
        source=reference_pose(source, source_motion) if source_pose is None else source_pose,
        target=reference_pose(target, target_motion) if target_pose is None else target_pose,
        upright=(stands_at_rest(source) or source_motion is not None or source_pose is not None)
        and (stands_at_rest(target) or target_motion is not None or target_pose is not None),
        level=stands_at_rest(source) and stands_at_rest(target) and source_pose is None and target_pose is None,
    )
    resting = layout.resting()
    stance = mode == "stance" if mode is not None else not resting.alike
    if stance:
        layout = resting
    ways = {pair: pair.align or ("stance" if stance else "direction") for pair in correspondence.pairs}
    return Alignment(
        correspondence=correspondence,
        source=layout.source,
        target=_pointed_pose(layout, ways, standing_tilts(layout, source_motion)),
        frames=_frames(layout, ways),
        stance=stance,
    )


def standing_tilts(layout: Layout, motion: Motion | None) -> dict[Pair, Array]:
    """(4,) for each pair of feet how a level foot of the target leans in the source's reference pose.

    Rest poses with spread legs often tilt the feet with them, which no bone shows; how the source stands while its
    feet are still and low does. A foot that is level then is to be level on the target too, where that has a sole that
    tells what level is: a robot's.
    """
    found: dict[Pair, Array] = {}
    if motion is None or not any("sole" in words(end.name) for end in layout.correspondence.target.ends):
        return found
    pose = fk(motion)
    for pair in layout.correspondence.pairs:
        if _level(layout, pair) != "heading":
            continue
        joint = motion.skeleton.index[pair.source[0]]
        below = motion.skeleton.children[joint]
        place = pose.positions[:, below[0] if below else joint]
        step = np.linalg.norm(np.gradient(place, axis=0), axis=-1) if len(place) > 1 else np.zeros(1)
        still = np.argsort(step + np.abs(place[:, 1] - np.percentile(place[:, 1], 5)))[: max(len(place) // 10, 1)]
        moved = multiply(pose.rotations[still, joint], conjugate(layout.poses["source"].rotations[0, joint]))
        up = unrotate(moved, UP).mean(0)
        lean = float(np.arccos(np.clip(up[1] / np.linalg.norm(up), -1.0, 1.0)))
        if LEAST_TILT < lean < MOST_TILT:
            found[pair] = between(UP, up)
    return found


def _pointed_pose(layout: Layout, ways: dict[Pair, str], tilts: dict[Pair, Array]) -> Array:
    """(J, 4) the target's local rotations when its bones point as they are to, feet leaning as given."""
    skeleton = layout.correspondence.target
    tops = {}
    for pair in layout.correspondence.pairs:
        # The first bone of a chain points all of it; bones side by side point each for itself.
        for bone in pair.target[:1] if is_chain(skeleton, pair.target) else pair.target:
            tops[skeleton.index[bone]] = pair
    held = {skeleton.index[bone] for pair, way in ways.items() if way == "stance" for bone in pair.target}
    reference = layout.poses["target"].rotations[0]
    world = reference.copy()
    for joint in range(skeleton.num_joints):
        parent = int(skeleton.parents[joint])
        if parent >= 0 and joint not in held:
            world[joint] = multiply(multiply(world[parent], conjugate(reference[parent])), reference[joint])
        if joint in tops and joint not in held:
            world[joint] = _pointed(layout, tops[joint], joint, world[joint])
            if tops[joint] in tilts:
                world[joint] = multiply(tilts[tops[joint]], world[joint])
        if joint in tops and tops[joint].twist:
            own = layout.bone("target", skeleton.names[joint])
            if own is not None:
                axis = rotate(multiply(world[joint], conjugate(reference[joint])), own)
                world[joint] = multiply(from_axis_angle(axis, tops[joint].twist), world[joint])
    above = np.concatenate([identity(1), world])[skeleton.parents + 1]
    return multiply(conjugate(above), world)


def _pointed(layout: Layout, pair: Pair, joint: int, world: Array) -> Array:
    """(4,) the orientation in which a bone of the target, now turned like that, points as its partner does."""
    skeleton, pose = layout.correspondence.target, layout.poses["target"]
    reference = pose.rotations[0, joint]
    level = _level(layout, pair)
    if level:
        world = reference
    wanted = layout.chord(pair, "source")
    chain = is_chain(skeleton, pair.target)
    own = layout.chord(pair, "target") if chain else layout.bone("target", skeleton.names[joint])
    if wanted is None or own is None or level == "all":
        return world
    now = rotate(multiply(world, conjugate(reference)), own)
    if level == "heading":
        now, wanted = now * LEVEL, wanted * LEVEL
        if min(np.linalg.norm(now), np.linalg.norm(wanted)) < 0.3:
            return world
    return multiply(between(now, wanted), world)


def _level(layout: Layout, pair: Pair) -> str:
    """What of a bone stays as it stands instead of being pointed: "all", all but the "heading", or nothing.

    Upright bodies stand level on their feet, carry their heads level, and have hips and chests whose several bones
    say nothing of how they are turned.
    """
    if not (layout.upright and layout.trunks_alike):
        return ""
    if pair is layout.root or (len(layout.children[pair]) > 1 and not layout.sided(pair)):
        return "all"
    whole = layout.correspondence
    part = _part(whole.source, pair.source[0])
    if not layout.level or part != _part(whole.target, pair.target[0]):
        return ""
    return {"head": "all", "foot": "heading", "toe": "heading"}.get(part, "")


def _part(skeleton: Skeleton, bone: str) -> str:
    joint = skeleton.index[bone]
    name = next((role for role, j in roles(skeleton).items() if j == joint), "")
    return name.removeprefix("left_").removeprefix("right_")


def _frames(layout: Layout, ways: dict[Pair, str]) -> Array:
    """(J, 4) the turns from the source's limbs to the target's, for those that keep their own stance."""
    skeleton = layout.correspondence.target
    out = identity(skeleton.num_joints)
    for run in layout.limbs[1:]:
        a, b = (layout.chord(run[0], side, run[-1]) for side in ("source", "target"))
        if a is None or b is None:
            continue
        for pair in run:
            if ways[pair] == "stance":
                out[[skeleton.index[bone] for bone in pair.target]] = between(a, b)
    return out
