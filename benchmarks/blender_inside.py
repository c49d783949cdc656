"""The side of `blender_check` that runs inside Blender: imports files, tells where bones are, and exports FBX.

    python blender_inside.py JOBS ANSWER

Needs nothing but `bpy`. Places are given in metres with Y up, as the library has them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import bpy
import numpy as np

FORWARD = {"Y": "-Z", "Z": "Y"}
IMPORTERS = {
    "bvh": lambda job: bpy.ops.import_anim.bvh(
        filepath=job["file"], global_scale=job["unit"], axis_up=job["up"], axis_forward=FORWARD[job["up"]]
    ),
    "gltf": lambda job: bpy.ops.import_scene.gltf(filepath=job["file"]),
    "usd": lambda job: bpy.ops.wm.usd_import(filepath=job["file"]),
    "fbx": lambda job: bpy.ops.import_scene.fbx(filepath=job["file"]),
    "fbx_new": lambda job: bpy.ops.wm.fbx_import(filepath=job["file"]),
}
"""Blender's importers; of FBX it has an old one of its own and a new one that rests on ufbx."""


def places(job: dict[str, Any]) -> dict[str, Any]:
    """Where every bone's head is at the job's frames, by name."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    # Importers turn seconds into frames at once, so the rate must be known before.
    scene.render.fps, scene.render.fps_base = job["fps"], 1.0
    IMPORTERS[job["importer"]](job)
    figures = [each for each in bpy.data.objects if each.type == "ARMATURE"]
    figure = max(figures, key=lambda each: len(each.pose.bones))
    if job["clip"]:
        action = next(each for each in bpy.data.actions if each.name.endswith(job["clip"]))
        figure.animation_data.action = action
        figure.animation_data.action_slot = action.slots[0]
    found: dict[str, list[list[float]]] = {bone.name: [] for bone in figure.pose.bones}
    for frame in job["frames"]:
        scene.frame_set(int(frame // 1), subframe=frame % 1)
        for bone in figure.pose.bones:
            x, y, z = figure.matrix_world @ bone.head
            found[bone.name].append([x, z, -y])
    return found


def skins(job: dict[str, Any]) -> None:
    """Save where the vertices of every mesh are at the job's frames, by name, after `places` has imported the file."""
    scene = bpy.context.scene
    bound = [each for each in bpy.data.objects if any(modifier.type == "ARMATURE" for modifier in each.modifiers)]
    meshes = [each for each in bound if each.type == "MESH"]
    out: dict[str, list[np.ndarray]] = {mesh.name: [] for mesh in meshes}
    for frame in job["frames"]:
        scene.frame_set(int(frame // 1), subframe=frame % 1)
        graph = bpy.context.evaluated_depsgraph_get()
        for mesh in meshes:
            posed = mesh.evaluated_get(graph)
            shape = posed.to_mesh()
            points = np.empty(3 * len(shape.vertices), np.float32)
            shape.vertices.foreach_get("co", points)
            matrix = np.array(posed.matrix_world)
            points = points.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]
            out[mesh.name].append(np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1))
            posed.to_mesh_clear()
    np.savez(job["skins"], **{name: np.array(frames) for name, frames in out.items()})


def exported(job: dict[str, Any]) -> dict[str, Any]:
    """Import a glTF file and export it as FBX, once for each of the job's settings."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps, scene.render.fps_base = job["fps"], 1.0
    bpy.ops.import_scene.gltf(filepath=job["file"])
    scene.frame_start, scene.frame_end = 0, job["last"]
    for path, settings in job["exports"].items():
        # Blender leaves out keys that it takes for needless, unless told not to.
        bpy.ops.export_scene.fbx(filepath=path, bake_anim_simplify_factor=0.0, **settings)
    return {}


def run(jobs: str, answer: str) -> None:
    """Work through a file of jobs; what fails is told in words."""
    told = []
    for job in json.loads(Path(jobs).read_text(encoding="utf-8")):
        try:
            told.append({"places": exported(job) if "exports" in job else places(job)})
            if "skins" in job:
                skins(job)
        except RuntimeError as error:
            told.append({"error": str(error).strip().splitlines()[-1]})
    Path(answer).write_text(json.dumps({"version": bpy.app.version_string, "jobs": told}), encoding="utf-8")


if __name__ == "__main__":
    run(*sys.argv[1:])
