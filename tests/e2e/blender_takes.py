"""Run by Blender: makes FBX files whose takes are as Mixamo and its like write them.

    python blender_takes.py WALK.glb FOLDER

WALK.glb holds a person with one animation. In FOLDER come `mixamo.fbx` (prefixed names, a `Take 001` without movement
before `Walking`), `several.fbx` (three takes, the first without movement), `others.fbx` (a second skeleton with a take
of its own) and `scaled.fbx` (bones and their leaves alone, under an armature of scale 2). Beside each of `turned.fbx`,
`mirrored.fbx`, `carried.fbx`, `late.fbx`, `film_rate.fbx`, `odd_names.fbx` and `odd_axes.fbx` comes a file `.json` with
the places of the bones as Blender has them, in metres and Y up.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
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


def save_places(bpy, rig, path: Path) -> None:  # type: ignore[no-untyped-def]
    """Save the places of all bones at every frame."""
    scene, places = bpy.context.scene, {bone.name: [] for bone in rig.pose.bones}
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        posed = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for bone in posed.pose.bones:
            x, y, z = posed.matrix_world @ bone.head
            places[bone.name].append((x, z, -y))
    path.write_text(json.dumps(places), encoding="utf-8")


def turn(bpy, rig) -> None:  # type: ignore[no-untyped-def]
    """An armature that stands aside and leans."""
    rig.rotation_mode = "XYZ"
    rig.rotation_euler, rig.location = (math.radians(-80), 0.3, 0.6), (1.0, 2.0, 3.0)


def mirror(bpy, rig) -> None:  # type: ignore[no-untyped-def]
    rig.scale = (-1.0, 1.0, 1.0)


def carry(bpy, rig) -> None:  # type: ignore[no-untyped-def]
    """A node above the armature that moves and turns."""
    cart = bpy.data.objects.new("Cart", None)
    bpy.context.scene.collection.objects.link(cart)
    rig.parent = cart
    for frame, place in ((bpy.context.scene.frame_start, 0.0), (bpy.context.scene.frame_end, 3.0)):
        cart.location, cart.rotation_euler = (place, 0.0, 0.0), (0.0, 0.0, 0.4 * place)
        cart.keyframe_insert("location", frame=frame)
        cart.keyframe_insert("rotation_euler", frame=frame)


def begin_late(bpy, rig) -> None:  # type: ignore[no-untyped-def]
    """A part of the motion that begins after the first frame."""
    bpy.context.scene.frame_start += 7


def slow_down(bpy, rig) -> None:  # type: ignore[no-untyped-def]
    bpy.context.scene.render.fps_base = 1.001


def rename(bpy, rig) -> None:  # type: ignore[no-untyped-def]
    for number, bone in enumerate(rig.data.bones):
        bone.name = f"K\u00f6rper {number}:a|{bone.name}"


def leave(bpy, rig) -> None:  # type: ignore[no-untyped-def]
    """Nothing."""


ODD: dict[str, tuple[Callable[..., None], dict[str, object]]] = {
    "turned": (turn, {}), "mirrored": (mirror, {}), "carried": (carry, {}), "late": (begin_late, {}),
    "film_rate": (slow_down, {}), "odd_names": (rename, {}),
    "odd_axes": (leave, {"primary_bone_axis": "X", "secondary_bone_axis": "Y", "axis_up": "Z", "axis_forward": "Y"}),
}  # fmt: skip
"""By the name of the file: what is changed before it is exported, and options of the export."""


def odd(path: str, folder: Path) -> None:
    for name, (change, options) in ODD.items():
        bpy, rig, _ = load(path)
        change(bpy, rig)
        save_places(bpy, rig, folder / f"{name}.json")
        export(bpy, folder / f"{name}.fbx", bake_anim_use_all_actions=False, **options)


if __name__ == "__main__":
    for make in (mixamo, several, others, scaled, odd):
        make(sys.argv[1], Path(sys.argv[2]))
