"""Run by Blender: makes FBX files whose takes are as Mixamo and its like write them.

    python blender_takes.py WALK.glb FOLDER

WALK.glb holds a person with one animation. In FOLDER come `mixamo.fbx` (prefixed names, a `Take 001` without movement
before `Walking`), `several.fbx` (three takes, the first without movement), `others.fbx` (a second skeleton with a take
of its own) and `scaled.fbx` (bones and their leaves alone, under an armature of scale 2).
"""

from __future__ import annotations

import sys
from pathlib import Path


def load(path: str):  # type: ignore[no-untyped-def]
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = 30
    bpy.ops.import_scene.gltf(filepath=path)
    rig = next(thing for thing in bpy.data.objects if thing.type == "ARMATURE")
    action = rig.animation_data.action
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = (int(value) for value in action.frame_range)
    return bpy, rig, action


def export(bpy, path: Path, **options: object) -> None:  # type: ignore[no-untyped-def]
    settings = {"bake_anim_simplify_factor": 0.0, "add_leaf_bones": False, "bake_anim_use_nla_strips": False}
    bpy.ops.export_scene.fbx(filepath=str(path), **(settings | options))


def still(bpy, rig, name: str, last: int):  # type: ignore[no-untyped-def]
    """An action in which the hips stay where they are."""
    action = bpy.data.actions.new(name)
    rig.animation_data.action = action
    bone = rig.pose.bones[0]
    for frame in (1, last):
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    return action


def mixamo(path: str, folder: Path) -> None:
    bpy, rig, action = load(path)
    for bone in rig.data.bones:
        bone.name = f"mixamorig:{bone.name}"
    # Blender writes actions in the order of their names.
    action.name = "Walking"
    empty = still(bpy, rig, "Take 001", 2)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 0, int(action.frame_range[1])
    rig.animation_data.action = empty
    export(bpy, folder / "mixamo.fbx", bake_anim_use_all_actions=True)


def several(path: str, folder: Path) -> None:
    bpy, rig, action = load(path)
    action.name = "B walk"
    still(bpy, rig, "A still", 10)
    half = action.copy()
    half.name = "C walk again"
    export(bpy, folder / "several.fbx", bake_anim_use_all_actions=True)


def others(path: str, folder: Path) -> None:
    bpy, _, action = load(path)
    action.name = "person"
    before = set(bpy.data.objects)
    bpy.ops.object.armature_add(location=(3.0, 0.0, 0.0))
    lamp = next(thing for thing in set(bpy.data.objects) - before if thing.type == "ARMATURE")
    lamp.name = "Lamp"
    swing = bpy.data.actions.new("A lamp")
    lamp.animation_data_create().action = swing
    bone = lamp.pose.bones[0]
    bone.rotation_mode = "QUATERNION"
    for frame, turn in ((1, 0.0), (20, 0.5)):
        bone.rotation_quaternion = (1.0 - turn, turn, 0.0, 0.0)
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    export(bpy, folder / "others.fbx", bake_anim_use_all_actions=True)


def scaled(path: str, folder: Path) -> None:
    bpy, rig, _ = load(path)
    for thing in list(bpy.data.objects):
        if thing.type == "MESH":
            bpy.data.objects.remove(thing)
    rig.scale = (2.0, 2.0, 2.0)
    export(bpy, folder / "scaled.fbx", add_leaf_bones=True, bake_anim_use_all_actions=False)


if __name__ == "__main__":
    for make in (mixamo, several, others, scaled):
        make(sys.argv[1], Path(sys.argv[2]))
