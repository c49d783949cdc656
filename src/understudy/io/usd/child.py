"""Child process that reads a USD file with OpenUSD: skeletons, animations and skinned meshes.

The returned matrices are for column vectors. Everything stays in the stage's unit and axes.
"""

from __future__ import annotations

import math
import os
import re
import zipfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from understudy.io.child import Arrays, RefusedError, answer
from understudy.io.gltf.animation import find_timing

MAX_LAYERS = 1000


def open_stage(path: str) -> tuple[Any, list[str]]:
    """The composed stage of a file, and a note on each missing layer."""
    usd, sdf = import_module("pxr.Usd"), import_module("pxr.Sdf")
    path = os.path.realpath(path)
    folder = Path(path).parent
    # The library also looks up relative names in the working directory.
    os.chdir(folder)
    root = sdf.Layer.FindOrOpen(path)
    if root is None:
        raise RefusedError("is no USD that can be read")
    missing: list[str] = []
    held = _open_all(root, folder, missing)
    stage = usd.Stage.Open(root, usd.Stage.LoadAll)
    for layer in stage.GetUsedLayers():
        if layer.realPath:
            _check_folder(layer.realPath, layer.identifier, folder)
    # The layers must stay open until the stage is open. Otherwise the library reopens them without our checks.
    del held
    return stage, missing


def _open_all(root: Any, folder: Path, missing: list[str]) -> list[Any]:
    """Open a layer's sublayers, references and payloads, recursively. All of them must be inside a folder."""
    sdf, ar = import_module("pxr.Sdf"), import_module("pxr.Ar")
    layers, seen, stack = [root], {root.identifier}, [root]
    while stack:
        layer = stack.pop()
        _refuse_clips(layer)
        for asset in layer.GetCompositionAssetDependencies():
            if not asset:
                continue
            if "`" in asset:
                raise RefusedError(f"names a layer by an expression, {asset[:80]}, which is not followed")
            if "://" in asset:
                raise RefusedError(f"names the layer `{asset[:80]}`, which is not fetched")
            absolute = layer.ComputeAbsolutePath(asset)
            if absolute in seen:
                continue
            seen.add(absolute)
            _check_folder(ar.SplitPackageRelativePathOuter(absolute)[0], asset, folder)
            resolved = ar.GetResolver().Resolve(absolute).GetPathString()
            if not resolved:
                missing.append(f"the layer `{asset[:80]}` is not there")
                continue
            _check_folder(ar.SplitPackageRelativePathOuter(resolved)[0], asset, folder)
            opened = sdf.Layer.FindOrOpen(absolute)
            if opened is not None:
                layers.append(opened)
                stack.append(opened)
            if len(layers) > MAX_LAYERS:
                raise RefusedError(f"names more than {MAX_LAYERS} layers")
    return layers


def _check_folder(path: str, asset: str, folder: Path) -> None:
    """Refuse a file that is not in the folder or below it. Symbolic links are followed first."""
    if not Path(os.path.realpath(path)).is_relative_to(folder):
        raise RefusedError(f"names the layer `{asset[:80]}`, which is outside the file's folder and is not opened")


def _refuse_clips(layer: Any) -> None:
    """Refuse value clips, because the library opens their layers only when it reads a value."""
    prims: list[str] = []

    def look(path: Any) -> None:
        spec = layer.GetPrimAtPath(path) if path.IsPrimPath() or path.IsPrimVariantSelectionPath() else None
        if spec is not None and spec.HasInfo("clips"):
            prims.append(str(path))

    layer.Traverse("/", look)
    if prims:
        raise RefusedError(f"takes values of `{prims[0][:80]}` from other files (value clips), which is not supported")


def describe_error(error: Exception) -> str:
    """The message of a library error in one line, after the line number in the file if it has one."""
    try:
        parts = [str(getattr(part, "commentary", part)) for part in error.args]
    except UnicodeDecodeError:
        return "is no USD that can be read: it holds text that is not UTF-8"
    last = " ".join(parts[-1].split()) if parts else ""
    match = re.match(r".*?:(\d+):\d+: ", last)
    lead = f"line {match[1]}: " if match else ""
    last = last[match.end() if match else 0 :]
    # The library names the rules of its grammar, which do not help the user.
    last = re.sub(r"^parse error matching pxr.*?(?= at ')", "does not parse", re.sub(r"^</\S+> ", "", last))
    return f"{lead}is no USD that can be read: {last[:160] or 'it is damaged'}"


MAX_JOINTS = 20_000

MAX_MATRICES = 1 << 22
"""Joint matrices of a motion, all frames together."""

MAX_VERTICES = 1 << 24

MAX_CODES_PER_SECOND = 1000.0
"""Time codes count as frames up to this rate."""

MAX_TIME_CODE = 1e9
"""Larger time codes are refused."""


def read(request: dict[str, Any], _: bytes) -> tuple[dict[str, Any], Arrays]:
    """Open the stage and read what the parent needs of it.

    Args:
        request: `path`, the file; `clip`, the name of an animation, or None for the first.
    """
    try:
        return _read(request)
    except import_module("pxr.Tf").ErrorException as error:
        raise RefusedError(describe_error(error)) from None
    except TypeError:
        # An attribute may hold a value of any type, against the schema.
        raise RefusedError("is no USD that can be read: a value is of another kind than USD demands there") from None
    except UnicodeDecodeError:
        # The library decodes messages and names when they are read.
        raise RefusedError("is no USD that can be read: it holds text that is not UTF-8") from None


def _read(request: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
    stage, missing = open_stage(request["path"])
    usd, skel, geometry = import_module("pxr.Usd"), import_module("pxr.UsdSkel"), import_module("pxr.UsdGeom")
    prims = list(usd.PrimRange.Stage(stage, usd.TraverseInstanceProxies()))
    skeletons = [skel.Skeleton(prim) for prim in prims if prim.IsA(skel.Skeleton)]
    skeletons = [skeleton for skeleton in skeletons if len(skeleton.GetJointsAttr().Get() or ())]
    if not skeletons:
        raise RefusedError(f"holds no skeleton with joints; it has {len(prims)} prims")
    cache = skel.Cache()
    for prim in prims:
        if prim.IsA(skel.Root):
            cache.Populate(skel.Root(prim), usd.TraverseInstanceProxies())
    chosen = _choose(skeletons, cache)
    arrays: Arrays = {}
    info = _describe(stage, chosen, geometry, arrays)
    info |= {"missing": missing, "skeletons": [str(skeleton.GetPath()) for skeleton in skeletons]}
    info["problem_in_place"] = _problem_in_place(chosen, geometry)
    info["layers"] = sorted({layer.realPath for layer in stage.GetUsedLayers() if layer.realPath})
    animations = _animations(prims, cache.GetSkelQuery(chosen), skel)
    info["clips"] = _make_unique([_title(animation.GetPrim()) for animation in animations])
    info["meshes"] = _meshes(prims, chosen, cache, skel, geometry, arrays)
    if animations and (request["clip"] is None or request["clip"] in info["clips"]):
        number = info["clips"].index(request["clip"]) if request["clip"] else 0
        info |= {"clip": info["clips"][number]}
        info |= _sample(cache.GetAnimQuery(animations[number]), chosen, info, arrays, geometry)
    return info, arrays


def _choose(skeletons: list[Any], cache: Any) -> Any:
    """An animated skeleton if there is one; of several, the one with the most joints."""

    def rank(skeleton: Any) -> tuple[bool, int]:
        query = cache.GetSkelQuery(skeleton)
        moved = bool(query) and bool(query.GetAnimQuery()) and bool(query.GetAnimQuery().GetJointTransformTimeSamples())
        return moved, len(skeleton.GetJointsAttr().Get())

    return max(skeletons, key=rank)


def _describe(stage: Any, skeleton: Any, geometry: Any, arrays: Arrays) -> dict[str, Any]:
    """The stage's conventions and the chosen skeleton."""
    joints = [str(joint) for joint in skeleton.GetJointsAttr().Get()]
    if len(joints) > MAX_JOINTS:
        raise RefusedError(f"`{skeleton.GetPath()}` has {len(joints)} joints; at most {MAX_JOINTS} are read")
    for key, attribute in (("bind", skeleton.GetBindTransformsAttr()), ("rest", skeleton.GetRestTransformsAttr())):
        matrices = attribute.Get()
        if matrices is not None and len(matrices) == len(joints):
            arrays[key] = _for_columns(matrices)
    imageable = geometry.Imageable(skeleton.GetPrim())
    arrays["world"] = _for_columns([imageable.ComputeLocalToWorldTransform(_first_time(stage))])[0]
    names = skeleton.GetJointNamesAttr().Get()
    ends = {}
    for key in ("Names", "Joints", "Offsets"):
        attribute = skeleton.GetPrim().GetAttribute(f"understudy:end{key}")
        value = attribute.Get() if attribute else None
        ends[key.lower()] = None if value is None else [list(v) if key == "Offsets" else str(v) for v in value]
    return {
        "joints": joints,
        "names": [str(name) for name in names] if names is not None and len(names) == len(joints) else None,
        "ends": ends,
        "skeleton": str(skeleton.GetPath()),
        "unit": float(geometry.GetStageMetersPerUnit(stage)),
        "unit_given": bool(geometry.StageHasAuthoredMetersPerUnit(stage)),
        "up": str(geometry.GetStageUpAxis(stage)),
        "up_given": stage.HasAuthoredMetadata("upAxis"),
        "codes_per_second": float(stage.GetTimeCodesPerSecond()),
    }


def _first_time(stage: Any) -> Any:
    usd = import_module("pxr.Usd")
    return usd.TimeCode(stage.GetStartTimeCode()) if stage.HasAuthoredTimeCodeRange() else usd.TimeCode.EarliestTime()


def _for_columns(matrices: Any) -> np.ndarray:
    """(n, 4, 4) matrices for column vectors, from the library's matrices for row vectors."""
    return np.array([np.array(matrix) for matrix in matrices], float).reshape(-1, 4, 4).transpose(0, 2, 1)


def _animations(prims: list[Any], query: Any, skel: Any) -> list[Any]:
    """The animations of a skeleton's joints. The one that is bound to the skeleton comes first."""
    bound = query.GetAnimQuery().GetPrim() if query and query.GetAnimQuery() else None
    skeleton_joints = {str(joint) for joint in query.GetJointOrder()} if query else set()
    animations = [skel.Animation(bound)] if bound is not None and bound.IsA(skel.Animation) else []
    for prim in prims:
        if prim.IsA(skel.Animation) and prim != bound:
            joints = {str(joint) for joint in skel.Animation(prim).GetJointsAttr().Get() or ()}
            if joints & skeleton_joints:
                animations.append(skel.Animation(prim))
    return animations


def _title(prim: Any) -> str:
    """The display name of a prim, which keeps names that USD does not allow, else its name."""
    return str(prim.GetDisplayName() or prim.GetName())


def _make_unique(names: list[str]) -> list[str]:
    out: list[str] = []
    for name in names:
        unique, number = name, 2
        while unique in out:
            unique, number = f"{name}_{number}", number + 1
        out.append(unique)
    return out


def _sample(query: Any, skeleton: Any, info: dict[str, Any], arrays: Arrays, geometry: Any) -> dict[str, Any]:
    """Add the joints' local matrices and the skeleton's transform at every frame to the arrays; returns the timing."""
    usd = import_module("pxr.Usd")
    rate = info["codes_per_second"]
    if not (math.isfinite(rate) and rate > 0.0):
        raise RefusedError(f"has {rate:g} time codes a second")
    keys = set(query.GetJointTransformTimeSamples()) | set(_transform_times(skeleton.GetPrim(), geometry))
    if not keys:
        keys = {0.0}
    if not all(math.isfinite(key) and abs(key) < MAX_TIME_CODE for key in keys):
        raise RefusedError("has time samples that are no times")
    timing = find_timing([np.array(sorted(keys)) / rate], _wanted_rate(query.GetPrim(), rate))
    joints = [str(joint) for joint in query.GetJointOrder()]
    if timing.num_frames * max(len(joints), len(info["joints"])) > MAX_MATRICES:
        raise RefusedError(f"the animation makes {timing.num_frames} frames of {len(joints)} joints")
    moved, worlds = np.empty((timing.num_frames, len(joints), 4, 4)), np.empty((timing.num_frames, 4, 4))
    imageable = geometry.Imageable(skeleton.GetPrim())
    for frame, seconds in enumerate(timing.times):
        # Rounding must not put a frame next to the time sample that it belongs to.
        code = seconds * rate
        code = float(round(code)) if abs(code - round(code)) < 1e-6 * max(1.0, abs(code)) else code
        local = query.ComputeJointLocalTransforms(usd.TimeCode(code))
        if local is None or len(local) != len(joints):
            raise RefusedError(f"the animation `{query.GetPrim().GetPath()}` does not have a transform for every joint")
        moved[frame] = _for_columns(local)
        worlds[frame] = _for_columns([imageable.ComputeLocalToWorldTransform(usd.TimeCode(code))])[0]
    arrays["moved"], arrays["moved_worlds"] = moved, worlds
    return {"moved_joints": joints, "fps": timing.fps, "exact": timing.exact, "begin": timing.start}


def _wanted_rate(prim: Any, codes_per_second: float) -> float | None:
    """The frame rate that our own writer stored with an animation, else that of the stage."""
    stored = prim.GetAttribute("understudy:fps")
    fps = stored.Get() if stored else None
    if isinstance(fps, float) and math.isfinite(fps) and 0.0 < fps <= MAX_CODES_PER_SECOND:
        return fps
    return codes_per_second if codes_per_second <= MAX_CODES_PER_SECOND else None


def _problem_in_place(skeleton: Any, geometry: Any) -> str:
    """Why an animation cannot be added to the skeleton in its own file; empty if it can."""
    if skeleton.GetPrim().IsInstanceProxy():
        return "its skeleton is part of an instance"
    if len(_transform_times(skeleton.GetPrim(), geometry)) > 1:
        return "its skeleton is carried by an animation"
    return ""


def _transform_times(prim: Any, geometry: Any) -> list[float]:
    """The time codes at which the transform of a prim or of an ancestor has a sample."""
    times: list[float] = []
    while prim and not prim.IsPseudoRoot():
        form = geometry.Xformable(prim)
        if form:
            times += form.GetTimeSamples()
        prim = prim.GetParent()
    return times


def _meshes(prims: list[Any], skeleton: Any, cache: Any, skel: Any, geometry: Any, arrays: Arrays) -> dict[str, Any]:
    """A description of each mesh of a skeleton, and the number of other skinned prims. Adds numbers to the arrays."""
    meshes: list[dict[str, Any]] = []
    others, total = 0, 0
    for prim in prims:
        query = cache.GetSkinningQuery(prim)
        if not query or not query.HasJointInfluences() or _skeleton_of(prim, skel) != skeleton.GetPath():
            continue
        if not prim.IsA(geometry.Mesh):
            others += 1
            continue
        mesh = geometry.Mesh(prim)
        points = mesh.GetPointsAttr().Get(import_module("pxr.Usd").TimeCode.EarliestTime())
        if not points:
            continue
        total += len(points)
        if total > MAX_VERTICES:
            raise RefusedError(f"its meshes have more than {MAX_VERTICES} vertices")
        key = f"mesh{len(meshes)}"
        arrays[f"{key}_vertices"] = np.array(points, float).reshape(-1, 3)
        arrays[f"{key}_counts"] = np.array(mesh.GetFaceVertexCountsAttr().Get() or (), np.int64)
        arrays[f"{key}_corners"] = np.array(mesh.GetFaceVertexIndicesAttr().Get() or (), np.int64)
        arrays[f"{key}_joints"] = np.array(query.GetJointIndicesPrimvar().Get() or (), np.int64)
        arrays[f"{key}_weights"] = np.array(query.GetJointWeightsPrimvar().Get() or (), float)
        arrays[f"{key}_bind"] = _for_columns([query.GetGeomBindTransform()])[0]
        order = query.GetJointOrder()
        meshes.append(
            {
                "name": _title(prim), "per_vertex": int(query.GetNumInfluencesPerComponent()),
                "rigid": bool(query.IsRigidlyDeformed()), "order": None if order is None else [str(j) for j in order],
                "left_handed": str(mesh.GetOrientationAttr().Get()) == "leftHanded",
                "method": str(query.GetSkinningMethod()), "shapes": _shapes(prim, query, key, skel, arrays),
                "materials": _add_look(mesh, key, geometry, arrays),
            }
        )  # fmt: skip
    return {"meshes": meshes, "others": others}


def _add_look(mesh: Any, key: str, geometry: Any, arrays: Arrays) -> list[dict[str, Any]]:
    """Add the normals, texture coordinates and face materials of a mesh to the arrays; returns its materials."""
    corners, counts = arrays[f"{key}_corners"], arrays[f"{key}_counts"]
    primvars = geometry.PrimvarsAPI(mesh)
    normals = primvars.GetPrimvar("normals")
    values = {
        "normal": (normals.ComputeFlattened(), normals.GetInterpolation())
        if normals and normals.HasValue()
        else (mesh.GetNormalsAttr().Get(), mesh.GetNormalsInterpolation()),
    }
    coordinates = primvars.GetPrimvar("st")
    if coordinates and coordinates.HasValue():
        values["uv"] = (coordinates.ComputeFlattened(), coordinates.GetInterpolation())
    for name, (numbers, interpolation) in values.items():
        if not numbers:
            continue
        places = {
            "faceVarying": np.arange(len(corners)), "vertex": corners, "varying": corners,
            "uniform": np.repeat(np.arange(len(counts)), np.clip(counts, 0, len(corners))),
            "constant": np.zeros(len(corners), np.int64),
        }.get(str(interpolation), np.arange(0))  # fmt: skip
        arrays[f"{key}_{name}s"] = np.array(numbers, float).reshape(len(numbers), -1)
        arrays[f"{key}_{name}_corners"] = places
    faces = np.zeros(len(counts), np.int64)
    materials = _materials(mesh.GetPrim(), faces, arrays)
    for material in materials:
        material["double_sided"] = bool(mesh.GetDoubleSidedAttr().Get())
    arrays[f"{key}_face_materials"] = faces
    return materials


def _materials(prim: Any, faces: np.ndarray, arrays: Arrays) -> list[dict[str, Any]]:
    """The materials of a mesh. The number of each face's is put into `faces`."""
    shade = import_module("pxr.UsdShade")
    binding = shade.MaterialBindingAPI(prim)
    whole = binding.ComputeBoundMaterial()[0]
    materials = [_material(whole, arrays)] if whole else []
    for subset in binding.GetMaterialBindSubsets():
        material = shade.MaterialBindingAPI(subset.GetPrim()).ComputeBoundMaterial()[0]
        if not material:
            continue
        chosen = np.array(subset.GetIndicesAttr().Get() or (), np.int64)
        faces[chosen[(chosen >= 0) & (chosen < len(faces))]] = len(materials)
        materials.append(_material(material, arrays))
    return materials


IMAGE_INPUTS = {
    "image": "diffuseColor", "emission_image": "emissiveColor", "normal_image": "normal",
    "roughness_image": "roughness", "occlusion_image": "occlusion",
}  # fmt: skip
"""By the field of a material: the input of a preview surface that its image is connected to."""


def _material(material: Any, arrays: Arrays) -> dict[str, Any]:
    """A material as `read_look` expects it. Images inside a package are added to the arrays."""
    out: dict[str, Any] = {"name": _title(material.GetPrim()), "images": {}}
    surface = material.ComputeSurfaceSource()[0]
    if not surface:
        return out
    for field, name in (
        ("metallic", "metallic"), ("roughness", "roughness"), ("opacity", "opacity"), ("cutoff", "opacityThreshold"),
    ):  # fmt: skip
        share = surface.GetInput(name).Get() if surface.GetInput(name) else None
        if isinstance(share, float) and np.isfinite(share):
            out[field] = share
    for field, name in (("colour", "diffuseColor"), ("emission", "emissiveColor")):
        value = surface.GetInput(name).Get() if surface.GetInput(name) else None
        if value is not None:
            out[field] = [float(part) for part in value]
    for field, name in IMAGE_INPUTS.items():
        texture = _texture(surface, name)
        if texture is None:
            continue
        out["images"][field] = _image_file(texture, arrays)
        scale = texture.GetAttribute("inputs:scale").Get() if texture.GetAttribute("inputs:scale") else None
        factors = [1.0] * 4 if scale is None else [float(part) for part in scale]
        if field == "emission_image":
            out["emission"] = factors[:3]
        if field == "roughness_image":
            out["roughness"] = factors[1]
            out["metallic"] = factors[2] if _texture(surface, "metallic") else out.get("metallic", 0.0)
    if _texture(surface, "opacity") is not None:
        out["blended"] = not out.get("cutoff")
    elif out.get("opacity", 1.0) < 1.0:
        out["blended"] = True
    return out


def _texture(surface: Any, name: str) -> Any:
    """The prim with the image that an input of a surface is connected to; None if it is not."""
    put = surface.GetInput(name)
    source = put.GetConnectedSources()[0] if put else None
    return source[0].source.GetPrim() if source else None


def _image_file(texture: Any, arrays: Arrays) -> dict[str, str]:
    """The name of an image's file, and the array that holds it if it is inside a package."""
    sdf = import_module("pxr.Sdf")
    image = texture.GetAttribute("inputs:file")
    file = image.Get() if image else None
    out = {"name": "", "embedded": ""}
    if not isinstance(file, sdf.AssetPath) or not file.path:
        return out
    package, mark, inner = str(file.resolvedPath).partition("[")
    out["name"] = inner[:-1] if mark else str(file.path)
    if mark and package.lower().endswith(".usdz") and Path(package).is_file():
        key = f"image {file.resolvedPath}"
        with suppress(KeyError, OSError, zipfile.BadZipFile), zipfile.ZipFile(package) as archive:
            entry = archive.getinfo(inner[:-1])
            if key not in arrays:
                data = archive.read(entry) if entry.file_size <= MAX_IMAGE_BYTES else b""
                arrays[key] = np.frombuffer(data, np.uint8)
            out["embedded"] = key
    return out


MAX_IMAGE_BYTES = 1 << 26


def _shapes(prim: Any, query: Any, key: str, skel: Any, arrays: Arrays) -> list[dict[str, Any]]:
    """The blend shapes of a mesh by name. The vertices that they move are added to the arrays."""
    out: list[dict[str, Any]] = []
    if not query.HasBlendShapes():
        return out
    names = query.GetBlendShapeOrder() or ()
    targets = query.GetBlendShapeTargetsRel().GetTargets()
    for name, target in zip(names, targets):
        shape = skel.BlendShape(prim.GetStage().GetPrimAtPath(target))
        offsets = shape.GetOffsetsAttr().Get() if shape else None
        if offsets is None:
            continue
        numbers = shape.GetPointIndicesAttr().Get()
        offsets = np.array(offsets, float).reshape(-1, 3)
        arrays[f"{key}_shape{len(out)}_offsets"] = offsets
        vertices = np.arange(len(offsets)) if numbers is None or not len(numbers) else np.array(numbers, np.int64)
        arrays[f"{key}_shape{len(out)}_vertices"] = vertices
        out.append({"name": str(name), "weight": 0.0})
    return out


def _skeleton_of(prim: Any, skel: Any) -> Any:
    """The path of the skeleton to which a prim or an ancestor is bound."""
    skeleton = skel.BindingAPI(prim).GetInheritedSkeleton()
    return skeleton.GetPath() if skeleton else None


if __name__ == "__main__":
    answer(read)
