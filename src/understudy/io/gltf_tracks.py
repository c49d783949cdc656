"""From a motion back to the nodes of a file: what each joint's node must do to be where the motion says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from understudy.geometry.quaternion import Array, conjugate, continuous, multiply, rotate, to_matrix
from understudy.io.gltf_animation import block_of
from understudy.io.gltf_character import Character
from understudy.io.gltf_joints import MADE_UP
from understudy.io.gltf_nodes import Nodes, affine, composed, turned
from understudy.io.units import world_from_file
from understudy.kinematics import fk
from understudy.motion import Motion

STILL = 1e-6
"""Share of the body's size by which a node may be off its own place before its translation is written too."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Track:
    """What a node does."""

    node: int
    rotations: Array
    """(F, 4) local, scalar first, neighbours on one hemisphere."""
    translations: Array | None
    """(F, 3) local; None where the node stays where it is in the file."""


def make_tracks(nodes: Nodes, character: Character, motion: Motion, unit: float, up: str) -> list[Track]:
    """A track for each joint that has a node.

    Places are exact whatever scales the nodes have: each node is moved against where its parent will really be.
    """
    pose = fk(motion)
    back = conjugate(world_from_file(up))
    places, turns = rotate(back, pose.positions) / unit, multiply(back, pose.rotations)
    joints = character.joints.nodes
    frames = motion.num_frames
    rotations = {node: np.empty((frames, 4)) for node in joints if node != MADE_UP}
    translations = {node: np.empty((frames, 3)) for node in rotations}
    gaps = dict.fromkeys(rotations, 0.0)
    step = block_of(len(joints))
    for start in range(0, frames, step):
        part = slice(start, start + step)
        worlds: dict[int, Array] = {}
        for joint, node in enumerate(joints):
            if node == MADE_UP:
                continue
            above = _above(nodes, node, worlds)
            inverse = np.linalg.inv(above)
            linear = inverse[..., :3, :3] @ to_matrix(turns[part, joint]) @ character.stretches[joint]
            scale = np.where(np.abs(nodes.scales[node]) > 1e-12, nodes.scales[node], 1.0)
            turn = turned(linear / scale)
            move = np.einsum("...ij,...j->...i", inverse[..., :3, :3], places[part, joint]) + inverse[..., :3, 3]
            worlds[node] = above @ composed(move, turn, nodes.scales[node])
            rotations[node][part], translations[node][part] = turn, move
            size = np.cbrt(np.abs(np.linalg.det(above[..., :3, :3]))).max() * unit
            gaps[node] = max(gaps[node], float(size * np.abs(move - nodes.translations[node]).max()))
    still = STILL * float(np.ptp(motion.skeleton.rest_world[0], axis=0).max())
    return [
        Track(
            node=node,
            rotations=continuous(rotations[node]),
            translations=translations[node] if gaps[node] > still else None,
        )
        for node in rotations
    ]


def _above(nodes: Nodes, node: int, worlds: dict[int, Array]) -> Array:
    """World from the parent of a node, (F, 4, 4) if it moves, else (4, 4): through nodes that are no joints."""
    between = np.eye(4)
    parent = int(nodes.parents[node])
    while parent >= 0 and parent not in worlds:
        between = nodes.locals[parent] @ between
        parent = int(nodes.parents[parent])
    found = between if parent < 0 else worlds[parent] @ between
    if np.any(np.abs(np.linalg.det(found[..., :3, :3])) < 1e-30):
        # A node that shrinks everything below it to a point leaves nothing to move there.
        return affine(np.eye(3), found[..., :3, 3])
    return found
