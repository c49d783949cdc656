"""Keeps the paths of head and shoulders as smooth as the source's.

The rotations of a captured trunk jitter from bone to bone, and compensate: the neck moves smoothly although the bones
below it do not. On a body whose bones have other proportions they no longer compensate, and its head and hands shake. A
chord leads from one end of a run of bones to the other. Each run of the target is rotated as a whole so that its chord
makes the fast movements of the source's chord. The slow ones, the posture, stay those of the bones, but for the neck:
there the head is where the source's is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.base.quaternion import Array, between, conjugate, mean, multiply, rotate
from understudy.base.records import gaussian_smoothed
from understudy.correspondence.alignment import MIN_BONE_METRES, Alignment, PairTree, pose_skeleton
from understudy.correspondence.pairs import Pair, is_chain
from understudy.figure.kinematics import Pose
from understudy.figure.roles import roles
from understudy.figure.skeleton import Skeleton

POSTURE_SECONDS = 0.06
"""Standard deviation of the Gaussian low-pass filter that separates posture from fast movement."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Chord:
    """A line from one place of the body to another, on source and target, and the pairs that turn it."""

    pairs: tuple[Pair, ...]
    """The pairs that are rotated, from the body outwards."""
    start: tuple[Sequence[int], Sequence[int]]
    """Joints of the source and of the target whose centre is the start."""
    end: tuple[Sequence[int], Sequence[int]]
    """Joints of the source and of the target whose centre is the end."""


def find_chords(tree: PairTree, anchors: tuple[Sequence[int], Sequence[int]]) -> list[Chord]:
    """The chords of the trunk, the neck and the collars, from the body outwards.

    Args:
        tree: The pairs of two bodies.
        anchors: Joints of source and target whose centres follow the same path.
    """
    correspondence = tree.correspondence
    trunk = next((run for run in tree.limbs[1:] if _is_trunk(tree, run)), None)
    if trunk is None:
        return []
    top = _starts(tree, tree.children[trunk[-1]])
    chords = [Chord(pairs=tuple(trunk), start=anchors, end=top)]
    upper_arms = {roles(correspondence.target).get(f"{side}_upper_arm") for side in ("left", "right")}
    for run in tree.limbs[1:]:
        if tree.parents[run[0]] is not trunk[-1]:
            continue
        arm = next((n for n, p in enumerate(run) if correspondence.target.index[p.target[0]] in upper_arms), None)
        # A neck ends at the head, a collar at the upper arm. What follows is a limb, whose bones point as the source's.
        count = arm if tree.is_sided(run[0]) else len(run) - 1
        if count:
            chords.append(Chord(pairs=tuple(run[:count]), start=top, end=_starts(tree, [run[count]])))
    return chords


def _is_trunk(tree: PairTree, run: Sequence[Pair]) -> bool:
    return (
        tree.parents[run[0]] is tree.root
        and not tree.is_sided(run[0])
        and len(tree.children[run[-1]]) > 1
        and all(is_chain(tree.correspondence.target, pair.target) for pair in run)
    )


def _starts(tree: PairTree, pairs: Sequence[Pair]) -> tuple[list[int], list[int]]:
    """Joints of the source and of the target with which pairs begin."""
    source, target = tree.correspondence.source.index, tree.correspondence.target.index
    return [source[p.source[0]] for p in pairs], [target[p.target[0]] for p in pairs]


def follow_chords(
    rotations: dict[int, Array],
    pose: Pose,
    alignment: Alignment,
    tree: PairTree,
    anchors: tuple[Sequence[int], Sequence[int]],
    fps: float,
    ratio: float,
) -> dict[int, Array]:
    """World rotations away from the reference pose with which the chords of the target move as the source's do.

    Args:
        rotations: (F, 4) for each paired joint of the target.
        pose: The source's motion.
        alignment: How the two bodies correspond.
        tree: Its pairs.
        anchors: Joints of source and target whose centres follow the same path.
        fps: Frames a second.
        ratio: How much larger the target's steps are.
    """
    correspondence = alignment.correspondence
    source, target = correspondence.source, correspondence.target
    movement = multiply(pose.rotations, conjugate(alignment.source_world))
    references = [pose_skeleton(source, alignment.source).positions, pose_skeleton(target, alignment.target).positions]
    result = dict(rotations)
    for chord in find_chords(tree, anchors):
        before = tree.parents[chord.pairs[0]]
        assert before is not None
        turning = [source.index[bone] for pair in (before, *chord.pairs) for bone in pair.source[-1:]]
        usual = mean(movement[:, turning].transpose(1, 0, 2))
        at_rest = [
            places[0, list(end)].mean(0) - places[0, list(start)].mean(0)
            for places, start, end in zip(references, chord.start, chord.end, strict=True)
        ]
        line = pose.positions[:, list(chord.end[0])].mean(1) - pose.positions[:, list(chord.start[0])].mean(1)
        if min(*(np.linalg.norm(v) for v in at_rest), np.linalg.norm(line, axis=1).min()) < MIN_BONE_METRES:
            continue
        goal = rotate(multiply(between(rotate(usual, at_rest[0]), line), usual), at_rest[1])
        joints = [target.index[bone] for pair in chord.pairs for bone in pair.target]
        places = _places(target, alignment, result, [*chord.start[1], *chord.end[1], joints[0]])
        start = np.mean([places[j] for j in chord.start[1]], axis=0)
        end = np.mean([places[j] for j in chord.end[1]], axis=0)
        size = np.linalg.norm(end - start, axis=-1, keepdims=True) / np.linalg.norm(goal, axis=-1, keepdims=True)
        pivot = places[joints[0]]
        wanted = size * goal
        share = min(1.0, ratio * np.linalg.norm(at_rest[0]) / np.linalg.norm(at_rest[1]))
        carried = end - start
        # A neck of more or fewer bones than the source's shares the bend out, and the head would lean less or more.
        posture = carried if tree.is_sided(chord.pairs[0]) or before is tree.root else wanted
        wanted = _slow(posture, fps) + share * (wanted - _slow(wanted, fps))
        turn = between(end - pivot, start + wanted - pivot)
        for joint in joints:
            result[joint] = multiply(turn, result[joint])
    return result


def _slow(curve: Array, fps: float) -> Array:
    """A curve (F, C) without its fast movements."""
    return np.stack([gaussian_smoothed(column, POSTURE_SECONDS * fps) for column in curve.T], -1)


def _places(
    skeleton: Skeleton, alignment: Alignment, rotations: dict[int, Array], joints: Sequence[int]
) -> dict[int, Array]:
    """(F, 3) metres from the root: places of joints whose ancestors have world rotations away from the reference."""
    frames = len(next(iter(rotations.values())))
    world: dict[int, Array] = {}
    places: dict[int, Array] = {}
    for joint in sorted({j for last in joints for j in skeleton.chain(last)}):
        parent = int(skeleton.parents[joint])
        if joint in rotations:
            world[joint] = multiply(rotations[joint], alignment.target_world[joint])
        elif parent < 0:
            world[joint] = np.broadcast_to(alignment.target[joint], (frames, 4))
        else:
            world[joint] = multiply(world[parent], alignment.target[joint])
        offset = np.zeros((frames, 3)) if parent < 0 else rotate(world[parent], skeleton.offsets[joint])
        places[joint] = offset if parent < 0 else places[parent] + offset
    return places
