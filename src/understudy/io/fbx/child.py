"""Child process that reads an FBX file with the library `ufbx`: nodes, bind poses, skins and animated nodes.

Everything stays in the file's unit and axes. The world matrices, which the library evaluates, already include pre and
post rotations, pivots, rotation orders and inherit types.
"""

from __future__ import annotations

import ctypes
import gc
import math
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from understudy.io.child import Arrays, RefusedError, answer
from understudy.io.fbx.joints import effect_of

MAX_NODES = 100_000

MAX_MATRICES = 1 << 22
"""Node matrices of a motion, all frames together."""

MIN_FPS, MAX_FPS = 1.0, 1000.0
"""Limits between which the file's frame rate is believed."""

MIN_KEYS_PER_FRAME = 0.999
"""The rate of the keys replaces the file's frame rate if it is higher, or about the same, by this factor."""

Thing = TypeVar("Thing")


def _keep(thing: Thing) -> Thing:
    """Add a reference to an object of the library, so that it is never freed.

    The library's wrappers miscount references: an object returned twice is freed while in use. The child process ends
    soon, so the leak does no harm.
    """
    if thing is not None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing


def read(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Read what the parent needs of an FBX file.

    Args:
        request: `clip`, the name of the animation stack, or None for the first that moves the character.
        data: The file's bytes.
    """
    ufbx = import_module("ufbx")
    # The garbage collector would crash on the same wrappers.
    gc.disable()
    try:
        scene = _keep(
            ufbx.load_memory(
                data,
                load_external_files=False,
                ignore_embedded=False,
                generate_missing_normals=False,
                file_format=ufbx.FileFormat.FBX,
            )
        )
    except ufbx.UfbxError as error:
        raise RefusedError(f"is no FBX file that can be read: {_one_line(error)}") from None
    nodes = [_keep(node) for node in _keep(scene.nodes)]
    if len(nodes) > MAX_NODES:
        raise RefusedError(f"holds {len(nodes)} nodes; at most {MAX_NODES} are read")
    info, arrays = _nodes(ufbx, nodes)
    info |= _settings(scene)
    arrays["bind_nodes"], arrays["bind_worlds"] = _bind_poses(scene)
    info["meshes"] = _meshes(scene, arrays)
    skinned = {cluster["node"] for mesh in info["meshes"] for cluster in mesh["clusters"]}
    moving = _with_ancestors(
        [i for i, kind in enumerate(info["kinds"]) if kind == "BONE"] + sorted(skinned), info["parents"]
    )
    stacks = [_keep(stack) for stack in _keep(scene.anim_stacks)]
    names = info["stacks"] = _make_unique([str(stack.name) for stack in stacks])
    node_of = {int(node.element_id): i for i, node in enumerate(nodes)}
    curves = [_curves(stack, node_of) for stack in stacks]
    info["effects"] = [effect_of(info, arrays, each.driven, each.changing) for each in curves]
    if stacks and (request["clip"] is None or request["clip"] in names):
        number = names.index(request["clip"]) if request["clip"] else info["effects"].index(max(info["effects"]))
        chosen, used = stacks[number], curves[number]
        info |= _sample(ufbx, scene, chosen, used, moving or list(range(1, len(nodes))), info["fps"], arrays)
        info["animated"] = sorted(used.driven)
    return info, arrays


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _nodes(ufbx: Any, nodes: list[Any]) -> tuple[dict[str, Any], Arrays]:
    """Names, parents and kinds of nodes, and their world matrices when no animation plays."""
    parents, kinds = [], []
    for node in nodes:
        parent, attribute = _keep(node.parent), _keep(node.attrib)
        parents.append(-1 if parent is None else int(parent.typed_id))
        kinds.append("" if attribute is None else ufbx.ElementType(node.attrib_type).name)
    info = {"names": [str(node.name) for node in nodes], "parents": parents, "kinds": kinds}
    return info, {"worlds": np.array([_matrix(node.node_to_world) for node in nodes])}


def _matrix(matrix: Any) -> list[list[float]]:
    """A matrix of the library as four rows."""
    columns = (matrix.c0, matrix.c1, matrix.c2, matrix.c3)
    return [[getattr(column, axis) for column in columns] for axis in "xyz"] + [[0.0, 0.0, 0.0, 1.0]]


def _settings(scene: Any) -> dict[str, Any]:
    settings = _keep(scene.settings)
    axes = settings.axes
    fps = float(settings.frames_per_second)
    return {
        "unit": float(settings.unit_meters),
        "axes": [int(axes.right), int(axes.up), int(axes.front)],
        "fps": fps if MIN_FPS <= fps <= MAX_FPS else 30.0,
    }


def _bind_poses(scene: Any) -> tuple[np.ndarray, np.ndarray]:
    """The nodes (n,) and their world matrices (n, 4, 4) in the file's bind poses; the first pose of each node."""
    poses: dict[int, list[list[float]]] = {}
    for pose in _keep(scene.poses):
        if not _keep(pose).is_bind_pose:
            continue
        for bone in _keep(pose.bone_poses):
            node = _keep(_keep(bone).bone_node)
            if node is not None:
                poses.setdefault(int(node.typed_id), _matrix(bone.bone_to_world))
    return np.array(list(poses), np.intp), np.array(list(poses.values()), float).reshape(-1, 4, 4)


def _meshes(scene: Any, arrays: Arrays) -> list[dict[str, Any]]:
    """A description of each mesh. Its numbers are added to the arrays."""
    meshes, creator = [], str(_keep(scene.metadata).creator)
    for i, mesh in enumerate(_keep(scene.meshes)):
        _keep(mesh)
        nodes = [int(_keep(node).typed_id) for node in _keep(mesh.instances)]
        if not nodes:
            continue
        vertices = np.array([(v.x, v.y, v.z) for v in _keep(mesh.vertices)], float).reshape(-1, 3)
        faces = np.array([(f.index_begin, f.num_indices) for f in _keep(mesh.faces)], np.int64).reshape(-1, 2)
        corners = np.array(list(_keep(mesh.vertex_indices)), np.int64)
        arrays |= {f"mesh{i}_vertices": vertices, f"mesh{i}_faces": faces, f"mesh{i}_corners": corners}
        geometry = _keep(_keep(scene.nodes)[nodes[0]])
        arrays[f"mesh{i}_world"] = np.array(_matrix(geometry.geometry_to_world))
        _add_corners(mesh, i, arrays)
        skins = [_keep(skin) for skin in _keep(mesh.skin_deformers)]
        clusters = _clusters(skins[0], i, arrays) if skins else []
        meshes.append(
            {
                "number": i, "name": str(mesh.name) or str(geometry.name), "node": nodes[0],
                "clusters": clusters, "skins": len(skins), "method": int(skins[0].skinning_method) if skins else 0,
                "shapes": _shapes(mesh, i, arrays),
                "materials": [_material(_keep(material), arrays, creator) for material in _keep(mesh.materials)],
            }
        )  # fmt: skip
    return meshes


def _shapes(mesh: Any, number: int, arrays: Arrays) -> list[dict[str, Any]]:
    """The blend shapes of a mesh: names and weights. The vertices that they move are added to the arrays."""
    shapes: list[dict[str, Any]] = []
    for deformer in _keep(mesh.blend_deformers):
        for channel in _keep(_keep(deformer).channels):
            shape = _keep(_keep(channel).target_shape)
            if shape is None:
                continue
            key = f"mesh{number}_shape{len(shapes)}"
            offsets = [(v.x, v.y, v.z) for v in _keep(shape.position_offsets)]
            arrays[f"{key}_offsets"] = np.array(offsets, float).reshape(-1, 3)
            arrays[f"{key}_vertices"] = np.array(list(_keep(shape.offset_vertices)), np.int64)
            shapes.append({"name": str(channel.name) or str(shape.name), "weight": float(channel.weight)})
    return shapes


def _add_corners(mesh: Any, number: int, arrays: Arrays) -> None:
    """Add the normals, texture coordinates and materials of a mesh to the arrays."""
    for key, values, axes in (("normal", _keep(mesh.vertex_normal), "xyz"), ("uv", _keep(mesh.vertex_uv), "xy")):
        if values.exists:
            numbers = [[getattr(value, axis) for axis in axes] for value in _keep(values.values)]
            arrays[f"mesh{number}_{key}s"] = np.array(numbers, float).reshape(-1, len(axes))
            arrays[f"mesh{number}_{key}_corners"] = np.array(list(_keep(values.indices)), np.int64)
    arrays[f"mesh{number}_face_materials"] = np.array(list(_keep(mesh.face_material)), np.int64)


OWN_WORDS = ("Blender", "Understudy")
"""Creators of files whose materials of Phong's kind give the metal as reflection and the roughness by the exponent."""


def _material(material: Any, arrays: Arrays, creator: str) -> dict[str, Any]:
    """A material as `read_look` expects it. Images inside the FBX file are added to the arrays."""
    old, new = _keep(material.fbx), _keep(material.pbr)
    physical = bool(_keep(_keep(material.features).pbr).enabled)
    colour = _keep(new.base_color if physical else old.diffuse_color)
    out: dict[str, Any] = {"name": str(material.name), "images": {}}
    maps = {
        "image": colour, "normal_image": _keep(new.normal_map if physical else old.normal_map),
        "emission_image": _keep(new.emission_color if physical else old.emission_color),
    }  # fmt: skip
    bump = _keep(old.bump)
    if _keep(maps["normal_image"].texture) is None and "normal" in _texture_name(bump).lower():
        # Several programs hang maps of normals where maps of heights belong.
        maps["normal_image"] = bump
    roughness, metal = _keep(new.roughness), _keep(new.metalness)
    if physical and _texture_name(roughness) and _texture_name(roughness) == _texture_name(metal):
        maps["roughness_image"] = roughness
    for name, place in maps.items():
        texture = _keep(place.texture)
        if texture is not None:
            out["images"][name] = _image(texture, arrays)
    if colour.has_value:
        out["colour"] = _numbers(colour)[:3]
    emission, factor = _numbers(maps["emission_image"]), _keep(new.emission_factor if physical else old.emission_factor)
    out["emission"] = [part * (_numbers(factor)[0] if factor.has_value else 1.0) for part in emission[:3]]
    if "emission_image" in out["images"] and not any(out["emission"]):
        out["emission"] = [1.0, 1.0, 1.0]
    if physical:
        out |= {key: _numbers(value)[0] for key, value in (("metallic", metal), ("roughness", roughness))}
        opacity = _keep(new.opacity)
        out["opacity"] = _numbers(opacity)[0] if opacity.has_value else 1.0
        out["blended"] = out["opacity"] < 1.0 or _keep(opacity.texture) is not None
        return out
    if creator.startswith(OWN_WORDS):
        exponent, reflection = _keep(old.specular_exponent), _keep(old.reflection_factor)
        if exponent.has_value:
            out["roughness"] = 1.0 - math.sqrt(max(_numbers(exponent)[0], 0.0)) / 10.0
        if reflection.has_value:
            out["metallic"] = _numbers(reflection)[0]
    return out | _opacity(old, creator)


def _opacity(old: Any, creator: str) -> dict[str, Any]:
    """The opacity of a material of Phong's or Lambert's kind: what is not transparent."""
    colour, factor = _keep(old.transparency_color), _keep(old.transparency_factor)
    share = _numbers(factor)[0] if factor.has_value else float(colour.has_value)
    # Blender puts the colour of the surface where that of the transparency belongs.
    tint = 1.0 if creator.startswith(OWN_WORDS) or not colour.has_value else float(np.mean(_numbers(colour)[:3]))
    images = [_keep(place.texture) for place in (colour, factor)]
    opacity = 1.0 - share * tint
    # What cannot be seen at all was not meant: programs disagree on what these numbers mean.
    opacity = opacity if 0.0 < opacity < 1.0 else 1.0
    return {"opacity": opacity, "blended": opacity < 1.0 or any(image is not None for image in images)}


def _numbers(place: Any) -> list[float]:
    """The four numbers of a property of a material."""
    value = _keep(place.value_vec4)
    return [float(value.x), float(value.y), float(value.z), float(value.w)]


def _texture_name(place: Any) -> str:
    """The file of the image of a property of a material; empty if it has none."""
    texture = _keep(place.texture)
    return "" if texture is None else str(texture.relative_filename) or str(texture.filename) or str(texture.name)


def _image(texture: Any, arrays: Arrays) -> dict[str, str]:
    """The name of an image's file, and the array that holds it if it is inside the FBX file."""
    content, key = bytes(texture.content or b""), f"image{int(texture.typed_id)}"
    if content:
        arrays[key] = np.frombuffer(content, np.uint8)
    return {"name": str(texture.relative_filename) or str(texture.filename), "embedded": key if content else ""}


def _clusters(skin: Any, mesh: int, arrays: Arrays) -> list[dict[str, Any]]:
    clusters: list[dict[str, Any]] = []
    for cluster in _keep(skin.clusters):
        node = _keep(_keep(cluster).bone_node)
        if node is None:
            continue
        key = f"mesh{mesh}_cluster{len(clusters)}"
        arrays[f"{key}_vertices"] = np.array(list(_keep(cluster.vertices)), np.int64)
        arrays[f"{key}_weights"] = np.array(list(_keep(cluster.weights)), float)
        arrays[f"{key}_bone_from_mesh"] = np.array(_matrix(cluster.geometry_to_bone))
        arrays[f"{key}_bind"] = np.array(_matrix(cluster.bind_to_world))
        clusters.append({"node": int(node.typed_id)})
    return clusters


def _with_ancestors(nodes: list[int], parents: list[int]) -> list[int]:
    """Some nodes and all their ancestors, without the scene's root."""
    result: set[int] = set()
    for node in nodes:
        while node > 0 and node not in result:
            result.add(node)
            node = parents[node]
    return sorted(result)


def _make_unique(names: list[str]) -> list[str]:
    """Names of animations, all different and none empty."""
    out: list[str] = []
    for i, name in enumerate(names):
        unique, number = name.strip() or f"animation{i}", 2
        while unique in out:
            unique, number = f"{name}_{number}", number + 1
        out.append(unique)
    return out


def _sample(
    ufbx: Any, scene: Any, stack: Any, curves: _Curves, moving: list[int], fps: float, arrays: Arrays
) -> dict[str, Any]:
    """Add the world matrices of the moving nodes at every frame of a stack to the arrays; returns its timing."""
    begin, end = float(stack.time_begin), float(stack.time_end)
    animation = _keep(stack.anim)
    if end <= begin and curves.spans:
        # Not every writer stores the length of a stack. Then the first and last key give it.
        begin, end = min(span[0] for span in curves.spans), max(span[1] for span in curves.spans)
    if not (math.isfinite(begin) and math.isfinite(end)) or end < begin:
        raise RefusedError(f"the animation `{stack.name}` runs from {begin} to {end} s")
    key_rate = _even_rate(curves.densest)
    rate = key_rate if key_rate is not None and key_rate > MIN_KEYS_PER_FRAME * fps else fps
    frames = math.floor((end - begin) * rate + 1e-3) + 1
    if frames * len(moving) > MAX_MATRICES:
        raise RefusedError(
            f"the animation `{stack.name}` lasts {end - begin:.3g} s: {frames} frames of {len(moving)} nodes"
        )
    out = np.empty((frames, len(moving), 4, 4))
    for frame in range(frames):
        posed = _keep(ufbx.evaluate_scene(scene, animation, begin + frame / rate))
        nodes = _keep(posed.nodes)
        for i, node in enumerate(moving):
            out[frame, i] = _matrix(_keep(nodes[node]).node_to_world)
        posed.free()
    arrays["moving"], arrays["moved"] = np.array(moving, np.intp), out
    return {"fps": rate, "begin": begin, "scene_fps": fps}


@dataclass(eq=False, kw_only=True)
class _Curves:
    """What the curves of a stack animate."""

    driven: set[int] = field(default_factory=set)
    """The nodes whose place, rotation or scale has a curve."""
    changing: set[int] = field(default_factory=set)
    """Those of them with a curve that is not constant."""
    densest: Any = None
    """The curve with the most keys."""
    spans: list[tuple[float, float]] = field(default_factory=list)
    """The time of the first and last key of each curve."""


def _curves(stack: Any, node_of: dict[int, int]) -> _Curves:
    """What the curves of a stack animate.

    Args:
        stack: The library's animation stack.
        node_of: Numbers of nodes by the library's element numbers.
    """
    out, max_keys = _Curves(), 1
    for layer in _keep(stack.layers):
        for prop in _keep(_keep(layer).anim_props):
            element, value = _keep(_keep(prop).element), _keep(prop.anim_value)
            node = None if element is None else node_of.get(int(element.element_id))
            moves = node is not None and str(prop.prop_name).startswith("Lcl ")
            if moves and node is not None:
                out.driven.add(node)
            for curve in _keep(value.curves) if value is not None else ():
                keys: Any = () if curve is None else _keep(_keep(curve).keyframes)
                if len(keys):
                    out.spans.append((float(keys[0].time), float(keys[len(keys) - 1].time)))
                if moves and node is not None and len(keys) > 1 and curve.max_value > curve.min_value:
                    out.changing.add(node)
                if len(keys) > max_keys:
                    out.densest, max_keys = curve, len(keys)
    return out


def _even_rate(curve: Any) -> float | None:
    """The keys per second of a curve with evenly spaced keys; None for other curves."""
    if curve is None:
        return None
    times = np.array([key.time for key in _keep(curve.keyframes)])
    steps = np.diff(times)
    if len(steps) < 2 or not np.all(steps > 0.0) or np.ptp(steps) > 1e-3 * steps.mean():
        return None
    rate = float(1.0 / steps.mean())
    whole = round(rate)
    rate = float(whole) if abs(rate - whole) < 1e-4 * rate else rate
    return rate if MIN_FPS <= rate <= MAX_FPS else None


if __name__ == "__main__":
    answer(read)
