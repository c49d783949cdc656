"""Run by Blender: makes Rigify's human and exports its deform bones alone to the file named last."""

from __future__ import annotations

import sys
from importlib import import_module


def main(path: str) -> None:
    import bpy

    # Blender's own modules can be found once it is loaded.
    addon_utils = import_module("addon_utils")
    bpy.ops.wm.read_factory_settings(use_empty=True)
    for addon in ("rigify", "io_scene_gltf2"):
        addon_utils.enable(addon, default_set=True)
    bpy.ops.object.armature_human_metarig_add()
    bpy.ops.pose.rigify_generate()
    rig = bpy.data.objects["rig"]
    bpy.ops.object.select_all(action="DESELECT")
    rig.select_set(True)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.export_scene.gltf(filepath=path, export_format="GLB", export_def_bones=True, use_selection=True)


if __name__ == "__main__":
    main(sys.argv[-1])
