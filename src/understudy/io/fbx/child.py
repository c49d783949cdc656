"""What an FBX file holds, told by the library `ufbx` in a child process: nodes, bind poses, skins and moving nodes.

Everything stays in the file's own unit and axes. Pre and post rotations, pivots, rotation orders and inherit types
are in the world matrices, which the library evaluates.
"""

from __future__ import annotations

import ctypes
import gc
import math
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from understudy.io.child import Arrays, RefusedError, answer

MOST_NODES = 100_000

MOST_MATRICES = 1 << 22
"""Node matrices of a motion, of all frames together."""

SLOWEST, FASTEST = 1.0, 1000.0
"""Frames per second that a file is believed to mean."""

DENSER = 1.01
"""How many times more often than once a frame keys must be set for their own rate to be taken."""

Thing = TypeVar("Thing")


def _keep(thing: Thing) -> Thing:
    """Hold an object of the library for ever.

    Its wrappers count their references too few: one that is handed out twice is freed while it is in use. The child
    ends soon, so nothing is lost by never freeing any.
    """
    if thing is not None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing


def read(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], Arrays]:
    """All that is needed of an FBX file.

    Args:
        request: `clip`, the name of the animation stack, or None for the first.
        data: The file's bytes.
    """
    ufbx = import_module("ufbx")
    # The garbage collector walks into the same wrappers and falls.
    gc.disable()
    try:
        scene = _keep(
            ufbx.load_memory(
                data,
                load_external_files=False,
                ignore_embedded=True,
                generate_missing_normals=False,
                file_format=ufbx.FileFormat.FBX,
            )
        )
    except ufbx.UfbxError as error:
        raise RefusedError(f"is no FBX file that can be read: {_words(error)}") from None
    nodes = [_keep(node) for node in _keep(scene.nodes)]
    if len(nodes) > MOST_NODES:
        raise RefusedError(f"holds {len(nodes)} nodes; at most {MOST_NODES} are read")
    said, arrays = _nodes(ufbx, nodes)
    said |= _settings(scene)
    arrays["bind_nodes"], arrays["bind_worlds"] = _bind_poses(scene)
    said["meshes"] = _meshes(scene, arrays)
    skinned = {cluster["node"] for mesh in said["meshes"] for cluster in mesh["clusters"]}
    moving = _above([i for i, kind in enumerate(said["kinds"]) if kind == "BONE"] + sorted(skinned), said["parents"])
    stacks = [_keep(stack) for stack in _keep(scene.anim_stacks)]
    names = said["stacks"] = _differing([str(stack.name) for stack in stacks])
    if stacks and (request["clip"] is None or request["clip"] in names):
        chosen = stacks[names.index(request["clip"]) if request["clip"] else 0]
        said |= _sample(ufbx, scene, chosen, moving or list(range(1, len(nodes))), said["fps"], arrays)
        driven, places = said.pop("driven"), {int(node.element_id): i for i, node in enumerate(nodes)}
        said["animated"] = sorted(places[element] for element in driven if element in places)
    return said, arrays


def _words(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _nodes(ufbx: Any, nodes: list[Any]) -> tuple[dict[str, Any], Arrays]:
    """Names, parents and kinds of nodes, and where they are while nothing is animated."""
    parents, kinds = [], []
    for node in nodes:
        parent, attribute = _keep(node.parent), _keep(node.attrib)
        parents.append(-1 if parent is None else int(parent.typed_id))
        kinds.append("" if attribute is None else ufbx.ElementType(node.attrib_type).name)
    modes = [ufbx.InheritMode(node.original_inherit_mode).name for node in nodes]
    said = {"names": [str(node.name) for node in nodes], "parents": parents, "kinds": kinds, "inherit": modes}
    return said, {"worlds": np.array([_matrix(node.node_to_world) for node in nodes])}


def _matrix(given: Any) -> list[list[float]]:
    """A matrix of the library as four rows."""
    columns = (given.c0, given.c1, given.c2, given.c3)
    return [[getattr(column, axis) for column in columns] for axis in "xyz"] + [[0.0, 0.0, 0.0, 1.0]]


def _settings(scene: Any) -> dict[str, Any]:
    settings, metadata = _keep(scene.settings), _keep(scene.metadata)
    axes = settings.axes
    fps = float(settings.frames_per_second)
    return {
        "unit": float(settings.unit_meters),
        "axes": [int(axes.right), int(axes.up), int(axes.front)],
        "fps": fps if SLOWEST <= fps <= FASTEST else 30.0,
        "version": int(metadata.version),
        "ascii": bool(metadata.ascii),
        "blend_shapes": len(_keep(scene.blend_shapes)),
        "constraints": len(_keep(scene.constraints)),
    }


def _bind_poses(scene: Any) -> tuple[np.ndarray, np.ndarray]:
    """The nodes (n,) and their world matrices (n, 4, 4) in the file's bind poses, the first of each node."""
    found: dict[int, list[list[float]]] = {}
    for pose in _keep(scene.poses):
        if not _keep(pose).is_bind_pose:
            continue
        for bone in _keep(pose.bone_poses):
            node = _keep(_keep(bone).bone_node)
            if node is not None:
                found.setdefault(int(node.typed_id), _matrix(bone.bone_to_world))
    return np.array(list(found), np.intp), np.array(list(found.values()), float).reshape(-1, 4, 4)


def _meshes(scene: Any, arrays: Arrays) -> list[dict[str, Any]]:
    """What each mesh is, its numbers put among the arrays."""
    told = []
    for i, mesh in enumerate(_keep(scene.meshes)):
        _keep(mesh)
        homes = [int(_keep(node).typed_id) for node in _keep(mesh.instances)]
        if not homes:
            continue
        vertices = np.array([(v.x, v.y, v.z) for v in _keep(mesh.vertices)], float).reshape(-1, 3)
        faces = np.array([(f.index_begin, f.num_indices) for f in _keep(mesh.faces)], np.int64).reshape(-1, 2)
        corners = np.array(list(_keep(mesh.vertex_indices)), np.int64)
        arrays |= {f"mesh{i}_vertices": vertices, f"mesh{i}_faces": faces, f"mesh{i}_corners": corners}
        geometry = _keep(_keep(scene.nodes)[homes[0]])
        arrays[f"mesh{i}_world"] = np.array(_matrix(geometry.geometry_to_world))
        skins = [_keep(skin) for skin in _keep(mesh.skin_deformers)]
        clusters = _clusters(skins[0], i, arrays) if skins else []
        told.append(
            {
                "number": i, "name": str(mesh.name) or str(geometry.name), "node": homes[0], "copies": len(homes) - 1,
                "clusters": clusters, "skins": len(skins), "method": int(skins[0].skinning_method) if skins else 0,
            }
        )  # fmt: skip
    return told


def _clusters(skin: Any, mesh: int, arrays: Arrays) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    for cluster in _keep(skin.clusters):
        node = _keep(_keep(cluster).bone_node)
        if node is None:
            continue
        key = f"mesh{mesh}_cluster{len(told)}"
        arrays[f"{key}_vertices"] = np.array(list(_keep(cluster.vertices)), np.int64)
        arrays[f"{key}_weights"] = np.array(list(_keep(cluster.weights)), float)
        arrays[f"{key}_bone_from_mesh"] = np.array(_matrix(cluster.geometry_to_bone))
        arrays[f"{key}_bind"] = np.array(_matrix(cluster.bind_to_world))
        told.append({"node": int(node.typed_id)})
    return told


def _above(nodes: list[int], parents: list[int]) -> list[int]:
    """Some nodes and all above them, but for the scene's own root."""
    found: set[int] = set()
    for node in nodes:
        while node > 0 and node not in found:
            found.add(node)
            node = parents[node]
    return sorted(found)


def _differing(names: list[str]) -> list[str]:
    """Names of animations, all different and none empty."""
    found: list[str] = []
    for i, name in enumerate(names):
        fresh, number = name.strip() or f"animation{i}", 2
        while fresh in found:
            fresh, number = f"{name}_{number}", number + 1
        found.append(fresh)
    return found


def _sample(ufbx: Any, scene: Any, stack: Any, moving: list[int], fps: float, arrays: Arrays) -> dict[str, Any]:
    """The world matrices of the moving nodes at every frame of a stack, and what its frames are."""
    begin, end = float(stack.time_begin), float(stack.time_end)
    animation = _keep(stack.anim)
    driven, densest, spans = _curves(stack)
    if end <= begin and spans:
        # Not every writer says how long a stack is; then it lasts as long as its keys do.
        begin, end = min(span[0] for span in spans), max(span[1] for span in spans)
    if not (math.isfinite(begin) and math.isfinite(end)) or end < begin:
        raise RefusedError(f"the animation `{stack.name}` runs from {begin} to {end} s")
    key_rate = _even_rate(densest)
    rate = key_rate if key_rate is not None and key_rate > DENSER * fps else fps
    frames = math.floor((end - begin) * rate + 1e-3) + 1
    if frames * len(moving) > MOST_MATRICES:
        raise RefusedError(
            f"the animation `{stack.name}` lasts {end - begin:.3g} s: {frames} frames of {len(moving)} nodes"
        )
    out = np.empty((frames, len(moving), 4, 4))
    for frame in range(frames):
        posed = _keep(ufbx.evaluate_scene(scene, animation, begin + frame / rate))
        nodes = _keep(posed.nodes)
        out[frame] = [_matrix(_keep(nodes[node]).node_to_world) for node in moving]
        posed.free()
    arrays["moving"], arrays["moved"] = np.array(moving, np.intp), out
    return {"fps": rate, "begin": begin, "driven": driven, "scene_fps": fps}


def _curves(stack: Any) -> tuple[list[int], Any, list[tuple[float, float]]]:
    """The elements that a stack has curves for, its curve with most keys, and the first and last key of each."""
    found: set[int] = set()
    spans: list[tuple[float, float]] = []
    densest, most = None, 1
    for layer in _keep(stack.layers):
        for prop in _keep(_keep(layer).anim_props):
            element, value = _keep(_keep(prop).element), _keep(prop.anim_value)
            if str(prop.prop_name).startswith("Lcl ") and element is not None:
                found.add(int(element.element_id))
            for curve in _keep(value.curves) if value is not None else ():
                keys: Any = () if curve is None else _keep(_keep(curve).keyframes)
                if len(keys):
                    spans.append((float(keys[0].time), float(keys[len(keys) - 1].time)))
                if len(keys) > most:
                    densest, most = curve, len(keys)
    return sorted(found), densest, spans


def _even_rate(curve: Any) -> float | None:
    """The keys per second of a curve whose keys are evenly spaced."""
    if curve is None:
        return None
    times = np.array([key.time for key in _keep(curve.keyframes)])
    steps = np.diff(times)
    if len(steps) < 2 or not np.all(steps > 0.0) or np.ptp(steps) > 1e-3 * steps.mean():
        return None
    rate = float(1.0 / steps.mean())
    whole = round(rate)
    rate = float(whole) if abs(rate - whole) < 1e-4 * rate else rate
    return rate if SLOWEST <= rate <= FASTEST else None


if __name__ == "__main__":
    answer(read)
