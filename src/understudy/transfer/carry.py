"""Movement carried from one body to another of different structure [Hsieh05, sec. 3.3].

Every bone's turn away from the reference pose is taken in the world, so that joint frames do not matter, and given to
the partner: bone by bone, shared out along chains of different length, or as the mean of several bones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from understudy.errors import SkeletonError
from understudy.geometry.quaternion import (
    Array,
    conjugate,
    continuous,
    identity,
    mean,
    multiply,
    slerp,
)
from understudy.geometry.swing_twist import split
from understudy.kinematics import fk
from understudy.motion import Motion
from understudy.roles import roles
from understudy.skeleton import NUM_AXES
from understudy.start import Floor, scaled_places
from understudy.transfer.alignment import Alignment
from understudy.transfer.correspondence import Correspondence, Pair, is_chain
from understudy.transfer.hinges import hinge_groups, turn_hinges
from understudy.transfer.layout import Layout

ROOM = np.radians(2.0)
"""How far inside their limits hinges start, so that the solver can turn them to either side."""


def carry(motion: Motion, alignment: Alignment, *, floor: Floor, ratio: float) -> Motion:
    """A motion on the target of an alignment: its pose from the source's, its path scaled about the floor.

    Args:
        motion: What the source does.
        alignment: How the two bodies correspond.
        floor: The ground.
        ratio: How much larger the target's steps are.

    Bones of the target without a partner stay as they are in its reference pose.
    """
    source, target = alignment.correspondence.source, alignment.correspondence.target
    if motion.skeleton.names != source.names:
        raise SkeletonError("The motion is not of the character that the map was made for")
    pose = fk(motion)
    turns = _turns(pose.rotations, alignment)
    local = np.broadcast_to(alignment.target, (motion.num_frames, target.num_joints, 4)).copy()
    world = local.copy()
    groups = hinge_groups(alignment.correspondence)
    grouped = {joint for group in groups.values() for joint in group}
    for joint in range(target.num_joints):
        parent = int(target.parents[joint])
        above = identity(1) if parent < 0 else world[:, parent]
        group = groups.get(joint, (joint,))
        if NUM_AXES[target.kinds[joint]] == 0:
            local[:, joint] = target.rest[joint]
        elif group[-1] in turns and (joint in groups or joint not in grouped):
            wanted = multiply(conjugate(above), multiply(turns[group[-1]], alignment.target_world[group[-1]]))
            if joint in groups:
                # What a joint by itself lacks no other makes up for: bringing it inside its limits is the solver's.
                limited = len(group) > 1
                local[:, list(group)] = turn_hinges(target, group, wanted, inside=ROOM, limited=limited)
            else:
                local[:, joint] = wanted
        elif joint not in grouped and NUM_AXES[target.kinds[joint]] < 3:
            local[:, joint] = turn_hinges(target, (joint,), alignment.target[None, joint])[0]
        world[:, joint] = multiply(above, local[:, joint])
    made = Motion(
        skeleton=target,
        fps=motion.fps,
        root=np.zeros((motion.num_frames, 3)),
        rotations=continuous(local),
        name=target.name,
    )
    from_bones, to_bones = anchors(alignment.correspondence)
    wanted = scaled_places(pose.positions[:, from_bones].mean(1), ratio, floor)
    return replace(made, root=wanted - fk(made).positions[:, to_bones].mean(1))


def anchors(correspondence: Correspondence) -> tuple[list[int], list[int]]:
    """Joints of the source and of the target whose middles go the same way: the hip joints, else the roots."""
    sides: dict[str, list[int]] = {"source": [], "target": []}
    for side in ("left", "right"):
        joint = roles(correspondence.source).get(f"{side}_upper_leg")
        pair = None if joint is None else correspondence.pair_of("source", correspondence.source.names[joint])
        if pair is not None and roles(correspondence.target).get(f"{side}_upper_leg") == _joint(correspondence, pair):
            sides["source"].append(int(joint or 0))
            sides["target"].append(_joint(correspondence, pair))
    if len(sides["source"]) == 2:
        return sides["source"], sides["target"]
    root = correspondence.root
    assert root is not None
    return [correspondence.source.index[root.source[0]]], [_joint(correspondence, root)]


def _joint(correspondence: Correspondence, pair: Pair) -> int:
    return correspondence.target.index[pair.target[0]]


def _turns(world: Array, alignment: Alignment) -> dict[int, Array]:
    """For each bone of the target that has a partner, how it is turned (F, 4) in the world from its reference."""
    whole = alignment.correspondence
    layout = Layout(correspondence=whole, source=alignment.source, target=alignment.target, upright=True)
    moved = multiply(world, conjugate(alignment.source_world))
    root = moved[:, whole.source.index[layout.root.source[-1]]]
    last: dict[Pair, Array] = {}
    found: dict[int, Array] = {}
    for pair in whole.ordered:
        above = layout.parents[pair]
        start = last[above] if above is not None else root
        steps = [moved[:, whole.source.index[bone]] for bone in pair.source]
        if not is_chain(whole.source, pair.source):
            steps = [mean(np.stack(steps))]
        last[pair] = steps[-1]
        joints = [whole.target.index[bone] for bone in pair.target]
        if is_chain(whole.target, pair.target):
            axis = layout.chord(pair, "source")
            turned = _shared(start, steps, len(joints), axis if layout.sided(pair) else None)
        else:
            turned = [steps[-1]] * len(joints)
        for joint, turn in zip(joints, turned, strict=True):
            frame = alignment.frames[joint]
            relative = multiply(conjugate(root), turn)
            found[joint] = multiply(root, multiply(frame, multiply(relative, conjugate(frame))))
    return found


def _shared(start: Array, steps: list[Array], count: int, axis: Array | None) -> list[Array]:
    """Turns (F, 4) of a chain of some bones, given what they hang from and those of another chain, outermost last.

    Bones of the middle bend together, so the way from the start to the first is shared out; a limb bends at its joint
    and only twists along its length, about an axis (3,) of the reference pose, so there only the twist is.
    """
    if len(steps) == count:
        return steps
    if axis is not None:
        relative = multiply(conjugate(start), steps[0])
        start = multiply(start, split(relative, axis)[0])
    knots = [start, *steps]
    turned = []
    for at in np.arange(1, count + 1) * len(steps) / count:
        before = min(int(np.ceil(at - 1e-9)) - 1, len(steps) - 1)
        turned.append(slerp(knots[before], knots[before + 1], at - before))
    return turned
