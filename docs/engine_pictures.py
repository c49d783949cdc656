"""Draws the way of a file from one program's dialog through a command to another's: docs/pictures/way_NAME.svg.

    python docs/engine_pictures.py            the ways, as SVG
    python docs/engine_pictures.py --render   besides, a walk as Blender shows it, and the same walk as engines use it:
                                              with root motion and in place (UNDERSTUDY_BLENDER, UNDERSTUDY_DATA)

The dialogs are drawn after the programs' public documentation; only settings that matter are shown.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from html import escape
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]
PICTURES = HOME / "docs" / "pictures"
PANEL, ROW, GAP, HEAD = 300, 26, 44, 34
"""Width of a dialog, height of a row, space between two dialogs, and height of a title, in dots."""

LETTER = 6.2
"""The width of a letter, in dots."""

Dialog = tuple[str, tuple[tuple[str, str], ...]]
"""A title, and settings with their values; `on` and `off` are drawn as boxes."""

WAYS: dict[str, tuple[Dialog, ...]] = {
    "blender": (
        ("Blender: File, Export, FBX", (
            ("Limit to: Selected Objects", "on"), ("Object Types", "Armature, Mesh"), ("Transform: Scale", "1.00"),
            ("Forward / Up", "-Z / Y"), ("Armature: Add Leaf Bones", "off"), ("Bake Animation", "on"),
            ("Simplify", "0.0"),
        )),
        ("understudy retarget", (("SOURCE", "walk.bvh"), ("TARGET", "hero.fbx"), ("-o", "hero_walk.fbx"))),
        ("Blender: File, Import, FBX", (
            ("Automatic Bone Orientation", "off"), ("Animation", "on"), ("Scene frame rate, before", "the clip's"),
        )),
    ),
    "unreal": (
        ("Unreal: Asset Actions, Export", (
            ("FBX Export Compatibility", "FBX 2020"), ("Export Morph Targets", "on"), ("Level of Detail", "off"),
        )),
        ("understudy retarget", (
            ("SOURCE", "walk.bvh"), ("TARGET", "SK_Mannequin.fbx"), ("--preset", "unreal5"), ("-o", "MM_Walk.fbx"),
        )),
        ("Unreal: FBX Import Options", (
            ("Skeleton", "SK_Mannequin"), ("Import Mesh", "off"), ("Import Animations", "on"),
            ("Animation Length", "Exported Time"), ("Use Default Sample Rate", "off"), ("Convert Scene", "on"),
        )),
    ),
    "unity": (
        ("Your modelling program: FBX", (("Format", "FBX Binary"), ("Units", "Centimetres"), ("Up", "Y"))),
        ("understudy retarget", (
            ("SOURCE", "walk.bvh"), ("TARGET", "hero.fbx"), ("--loop", "on"), ("--preset", "unity"),
            ("-o", "hero@walk.fbx"),
        )),
        ("Unity: Inspector of the file", (
            ("Rig: Animation Type", "Humanoid"), ("Rig: Avatar Definition", "Copy From Other Avatar"),
            ("Animation: Loop Time", "on"), ("Animation: Loop Pose", "off"),
            ("Root Transform Rotation: Bake", "on"), ("Root Transform Position Y: Bake", "on"),
            ("Root Transform Position XZ: Bake", "off"),
        )),
    ),
    "godot": (
        ("Blender: File, Export, glTF", (("Format", "glTF Binary (.glb)"), ("+Y Up", "on"), ("Animation", "on"))),
        ("understudy retarget", (
            ("SOURCE", "walk.bvh"), ("TARGET", "hero.glb"), ("--loop", "on"), ("--preset", "godot"),
            ("-o", "hero_walk.glb"),
        )),
        ("Godot: Advanced Import Settings", (
            ("Animation: Import", "on"), ("walk: Loop Mode", "Linear"), ("Skeleton3D: Bone Map", "as needed"),
            ("Root Motion Track", "Skeleton3D:Root"),
        )),
    ),
    "mixamo": (
        ("Mixamo: Download Settings", (
            ("Format", "FBX Binary (.fbx)"), ("Skin", "With Skin"), ("Frames per Second", "30"),
            ("Keyframe Reduction", "none"),
        )),
        ("understudy retarget", (
            ("SOURCE", "walk.bvh"), ("TARGET", "character.fbx"), ("-o", "character_walk.fbx"),
        )),
        ("Any program that takes FBX", (("Take", "walk"), ("Other takes", "kept"), ("Names", "mixamorig:Hips"))),
    ),
}  # fmt: skip


def draw(way: tuple[Dialog, ...]) -> str:
    """The SVG text of a way."""
    height = HEAD + ROW * max(len(rows) for _, rows in way) + 30
    width = len(way) * PANEL + (len(way) - 1) * GAP + 20
    style = 'font-family="sans-serif" font-size="12"'
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {style}>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, (title, rows) in enumerate(way):
        x, tall = 10 + number * (PANEL + GAP), HEAD + ROW * len(rows) + 10
        ours = title.startswith("understudy")
        head = "#1f3b4d" if ours else "#5a6b75"
        out.append(f'<rect x="{x}" y="10" width="{PANEL}" height="{tall}" rx="5" fill="#f3f6f8" stroke="{head}"/>')
        out.append(
            f'<path d="M{x} {10 + HEAD} v{5 - HEAD} q0 -5 5 -5 h{PANEL - 10} q5 0 5 5 v{HEAD - 5} z" fill="{head}"/>'
        )
        out.append(f'<text x="{x + 12}" y="32" fill="#ffffff" font-weight="bold">{escape(title)}</text>')
        for place, (name, value) in enumerate(rows):
            y = 10 + HEAD + ROW * place + 20
            if value not in ("on", "off") and LETTER * len(name + value) > PANEL - 24:
                raise ValueError(f"{title}: `{name}` and `{value}` do not fit into a row")
            out.append(f'<text x="{x + 12}" y="{y}" fill="#26323a">{escape(name)}</text>')
            out.extend(_value(x + PANEL - 12, y, value))
        if number + 1 < len(way):
            middle = x + PANEL + GAP / 2
            out.append(
                f'<path d="M{middle - 15} 60 h22 m-8 -7 l8 7 l-8 7" stroke="#d55e00" stroke-width="3" fill="none"/>'
            )
    return "\n".join([*out, "</svg>"]) + "\n"


def _value(right: float, y: float, value: str) -> list[str]:
    if value not in ("on", "off"):
        return [f'<text x="{right}" y="{y}" text-anchor="end" fill="#0b5a8a">{escape(value)}</text>']
    box = f'<rect x="{right - 14}" y="{y - 11}" width="14" height="14" fill="#ffffff" stroke="#5a6b75"/>'
    tick = f'<path d="M{right - 11} {y - 4} l3 4 l6 -9" stroke="#0b5a8a" stroke-width="2" fill="none"/>'
    return [box, tick] if value == "on" else [box]


SCENE = """
import bpy, math, sys
from mathutils import Vector
file, picture, first, last = sys.argv[-4:]
bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
scene.render.fps = 30
bpy.ops.wm.fbx_import(filepath=file)
scene.render.engine = "CYCLES"
scene.cycles.device, scene.cycles.samples = "CPU", 24
scene.world = bpy.data.worlds.new("sky")
scene.world.use_nodes = True
scene.world.node_tree.nodes["Background"].inputs[0].default_value = (0.75, 0.8, 0.85, 1.0)
rig = max((o for o in bpy.data.objects if o.type == "ARMATURE"), key=lambda o: len(o.pose.bones))
sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
sun.data.energy, sun.rotation_euler = 3.0, (0.7, 0.2, 0.5)
camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
for thing in (sun, camera):
    scene.collection.objects.link(thing)
bpy.ops.mesh.primitive_plane_add(size=60)
scene.camera = camera
"""
"""What Blender does first: a character of an FBX file on the ground, in daylight, before a camera."""

RENDER = """
scene.render.resolution_x, scene.render.resolution_y = 260, 300
camera.data.lens = 50
hips = max(rig.pose.bones, key=lambda b: len(b.children_recursive) * (len(b.children) > 1))
for k in range(5):
    scene.frame_set(int(float(first) + k * (float(last) - float(first)) / 4))
    x, y, z = rig.matrix_world @ hips.head
    camera.location = (x + 3.4, y - 2.6, 1.5)
    camera.rotation_euler = (math.radians(82), 0, math.atan2(3.4, 2.6))
    scene.render.filepath = f"{picture}{k}.png"
    bpy.ops.render.render(write_still=True)
"""


def run_blender(script: str, file: str | Path, picture: str, first: int, last: int) -> None:
    """Run a script in Blender on a scene of a file's character, for pictures named after `picture` and their number."""
    settings = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "render.py"
        program.write_text(SCENE + script, encoding="utf-8")
        command = [os.environ["UNDERSTUDY_BLENDER"], str(program), str(file), picture, str(first), str(last)]
        subprocess.run(command, check=True, timeout=900, env=settings, capture_output=True)


def render() -> None:
    """A walk of the CMU database on a character of Mesh2Motion, as FBX, rendered by Blender."""
    import numpy as np
    from matplotlib import image as pictures

    from understudy import read, retarget, write

    data = Path(os.environ["UNDERSTUDY_DATA"])
    source = read(data / "cmu_bvh" / "02_01.bvh").motion
    assert source is not None
    result = retarget(source[1:].resampled(30.0), data / "gltf" / "m2m_human_male.glb")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "walk.fbx"
        write(result.clip, file)
        run_blender(RENDER, file, f"{folder}/walk", 2, result.motion.num_frames - 2)
        parts = [pictures.imread(f"{folder}/walk{k}.png")[..., :3] for k in range(5)]
    pictures.imsave(PICTURES / "blender_walk.png", np.concatenate(parts, axis=1))


RENDER_ROOT = """
scene.render.resolution_x, scene.render.resolution_y = 300, 190
camera.data.lens = 42
red = bpy.data.materials.new("red")
red.use_nodes = True
red.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (0.85, 0.12, 0.0, 1.0)
bpy.ops.mesh.primitive_cone_add(radius1=0.14, depth=0.5, vertices=24)
arrow = bpy.context.object
arrow.data.materials.append(red)
arrow.rotation_mode = "QUATERNION"
root = next(bone for bone in rig.pose.bones if bone.name.lower() == "root")
frames = [round(float(first) + k * (float(last) - float(first)) / 4) for k in range(5)]
path = []
for frame in frames:
    scene.frame_set(frame)
    path.append(rig.matrix_world @ root.head)
middle = (min(p.y for p in path) + max(p.y for p in path)) / 2
far = 4.4 + 0.5 * (max(p.y for p in path) - min(p.y for p in path))
camera.location, camera.rotation_euler = (path[0].x + far, middle, 1.25), (math.radians(86), 0, math.radians(90))
for k, frame in enumerate(frames):
    scene.frame_set(frame)
    turn = (rig.matrix_world @ root.matrix).to_quaternion()
    rest = (rig.matrix_world @ root.bone.matrix_local).to_quaternion()
    ahead = turn @ rest.inverted() @ Vector((0, -1, 0))
    arrow.location = rig.matrix_world @ root.head + 0.25 * ahead + Vector((0, 0, 0.03))
    arrow.rotation_quaternion = Vector((0, 0, 1)).rotation_difference(ahead)
    scene.render.filepath = f"{picture}{k}.png"
    bpy.ops.render.render(write_still=True)
"""


def render_root() -> None:
    """The walk as FBX for an engine, with an arrow where its root is and faces: moving, and in place as a loop."""
    import sys

    import numpy as np
    from matplotlib import image as pictures

    from understudy import read

    data = Path(os.environ["UNDERSTUDY_DATA"])
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, options in enumerate((["--preset", "unreal5"], ["--preset", "unreal5", "--loop", "--in-place"])):
            file = f"{folder}/walk{number}.fbx"
            files = [str(data / "cmu_bvh" / "02_01.bvh"), str(data / "gltf" / "m2m_human_male.glb"), "-o", file]
            command = [sys.executable, "-m", "understudy", "retarget", *files, "--fps", "30", "--quiet", *options]
            subprocess.run(command, check=True, capture_output=True)
            motion = read(file).motion
            assert motion is not None
            run_blender(RENDER_ROOT, file, f"{folder}/{number}_", 1, motion.num_frames)
            parts = [pictures.imread(f"{folder}/{number}_{k}.png")[..., :3] for k in range(5)]
            rows.append(np.concatenate(parts, axis=1))
    pictures.imsave(PICTURES / "engine_root.png", np.concatenate(rows, axis=0))


def main() -> None:
    """Draw the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--render", action="store_true", help="also let Blender render a walk")
    for name, way in WAYS.items():
        (PICTURES / f"way_{name}.svg").write_text(draw(way), encoding="utf-8")
    if parser.parse_args().render:
        render()
        render_root()


if __name__ == "__main__":
    main()
