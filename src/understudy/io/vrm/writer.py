"""Writes VRM: a motion into the model's own file, with everything else untouched; and VRM animations of any human."""

from __future__ import annotations

from pathlib import PurePath
from typing import BinaryIO

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import conjugate, continuous, from_axis_angle, multiply, rotate, unrotate
from understudy.figure.kinematics import fk
from understudy.figure.measures import facing, rest_pose_kind
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.roles import roles
from understudy.figure.skeleton import Skeleton
from understudy.io.clip import Clip, WriteOptions
from understudy.io.gltf.writer import Builder, GltfLayout, build_joints
from understudy.io.gltf.writer import write as write_gltf
from understudy.io.matrices import local_from_world
from understudy.io.vrm.reader import ANIMATION, MODEL_0, MODEL_1, ROLE_OF_BONE, human_bones

UP = np.array([0.0, 1.0, 0.0])


def write(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write a motion into the VRM file that the character was read from.

    Expressions, spring bones, first-person settings and everything else stay as they are.
    """
    layout = clip.layout if isinstance(clip.layout, GltfLayout) and clip.layout.fits(clip.skeleton) else None
    extensions = layout.document.tree.get("extensions") if layout is not None else None
    if not isinstance(extensions, dict) or not (MODEL_0 in extensions or MODEL_1 in extensions):
        raise OptionError(
            "A VRM file is written only for a character that was read from one: it needs a licence and a face",
            hint="write .glb for any character, or .vrma for the motion of any human",
        )
    return write_gltf(clip, stream, options)


def write_animation(clip: Clip, stream: BinaryIO, options: WriteOptions) -> tuple[str, ...]:
    """Write the motion of the main bones of a human as a VRM animation.

    Args:
        clip: A human; without a motion its rest pose is written.
        stream: The file to write to.
        options: Unit and up axis, which are metres and Y by definition of the format.
    """
    motion = rest_motion(clip.skeleton) if clip.motion is None else clip.motion
    bones = _bones(clip)
    if "hips" not in bones:
        raise OptionError(
            "A VRM animation is of a human, and the hips of this body are not known",
            hint="`understudy info FILE` lists the joints; write .glb for any body",
        )
    reduced = _reduced(motion, sorted(set(bones.values())))
    number = {name: i for i, name in enumerate(reduced.skeleton.names)}
    table = {bone: {"node": number[motion.skeleton.names[joint]]} for bone, joint in bones.items()}
    builder: Builder = build_joints(
        reduced, options.unit or 1.0, options.up or "Y", motion.name or PurePath(options.path).stem or "motion"
    )
    builder.tree["extensionsUsed"] = [ANIMATION]
    builder.tree["extensions"] = {ANIMATION: {"specVersion": "1.0", "humanoid": {"humanBones": table}}}
    builder.write(stream, text=False)
    notes = []
    left = motion.skeleton.num_joints - reduced.skeleton.num_joints
    if left:
        notes.append(f"VRM animations hold the bones of a human: {left} other joints are left out")
    kind = rest_pose_kind(motion.skeleton)
    if kind != "T-pose":
        notes.append(f"VRM animations start from a T-pose, and the rest pose of this body is not one ({kind})")
    return tuple(notes)


def _bones(clip: Clip) -> dict[str, int]:
    """The joint of each bone of a human, fingers too where the clip's file names them."""
    joints = roles(clip.skeleton)
    bones = {bone: joints[role] for bone, role in ROLE_OF_BONE.items() if role in joints}
    layout = clip.layout
    if isinstance(layout, GltfLayout) and layout.fits(clip.skeleton):
        extensions = layout.document.tree.get("extensions")
        joint_of = {node: joint for joint, node in enumerate(layout.character.joints.nodes)}
        for key in (MODEL_1, ANIMATION):
            given = extensions.get(key) if isinstance(extensions, dict) else None
            for bone, node in (human_bones(given) if isinstance(given, dict) else {}).items():
                if node in joint_of:
                    bones[bone] = joint_of[node]
    hips = bones.get("hips")
    # Bones that do not hang from the hips have no place in the format.
    below = {joint for joint in bones.values() if hips is not None and hips in clip.skeleton.chain(joint)}
    return {bone: joint for bone, joint in bones.items() if joint in below}


def _reduced(motion: Motion, kept: list[int]) -> Motion:
    """The motion of some joints, the first the root of all others, turned so that the rest pose faces +Z."""
    old = motion.skeleton
    place = {joint: i for i, joint in enumerate(kept)}
    parents = []
    for joint in kept:
        parents.append(
            max((place[other] for other in old.chain(joint) if other in place and other != joint), default=-1)
        )
    above = np.array(parents[1:], np.intp)
    forward = facing(rest_motion(old))[0]
    turn = from_axis_angle(UP, -np.arctan2(forward[0], forward[2]))
    positions, rotations = rotate(turn, old.rest_world[0][kept]), multiply(turn, old.rest_world[1][kept])
    offsets, rest = positions.copy(), rotations.copy()
    offsets[1:] = unrotate(rotations[above], positions[1:] - positions[above])
    rest[1:] = multiply(conjugate(rotations[above]), rotations[1:])
    skeleton = Skeleton(
        names=tuple(old.names[joint] for joint in kept), parents=np.array(parents), offsets=offsets, rest=rest,
        name=old.name,
    )  # fmt: skip
    pose = fk(motion)
    places = rotate(turn, pose.positions[:, kept])
    local, _ = local_from_world(skeleton, places, multiply(turn, pose.rotations[:, kept]))
    return Motion(
        skeleton=skeleton, fps=motion.fps, root=places[:, 0], rotations=continuous(local), name=motion.name
    )  # fmt: skip
