"""What a USD file holds, told by OpenUSD in a child process: skeletons, animations and skinned meshes.

Matrices are given for column vectors; everything stays in the stage's own unit and axes.
"""

from __future__ import annotations

import math
import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from understudy.io.child import Arrays, RefusedError, answer
from understudy.io.gltf.animation import find_timing

MOST_LAYERS = 1000


def open_stage(path: str) -> tuple[Any, list[str]]:
    """The composed stage of a file, and a sentence about each layer that it names and that is not there."""
    usd, sdf = import_module("pxr.Usd"), import_module("pxr.Sdf")
    path = os.path.realpath(path)
    folder = Path(path).parent
    # The library looks for relative names where the process is, too.
    os.chdir(folder)
    root = sdf.Layer.FindOrOpen(path)
    if root is None:
        raise RefusedError("is no USD that can be read")
    missing: list[str] = []
    held = _open_all(root, folder, missing)
    stage = usd.Stage.Open(root, usd.Stage.LoadAll)
    for layer in stage.GetUsedLayers():
        if layer.realPath:
            _check_place(layer.realPath, layer.identifier, folder)
    # The layers must outlive the opening of the stage, or they would be opened anew, unseen.
    del held
    return stage, missing


def _open_all(root: Any, folder: Path, missing: list[str]) -> list[Any]:
    """Open every layer that one names by sublayers, references and payloads, and those name, all inside a folder."""
    sdf, ar = import_module("pxr.Sdf"), import_module("pxr.Ar")
    found, seen, waiting = [root], {root.identifier}, [root]
    while waiting:
        layer = waiting.pop()
        _refuse_clips(layer)
        for asset in layer.GetCompositionAssetDependencies():
            if not asset:
                continue
            if "`" in asset:
                raise RefusedError(f"names a layer by an expression, {asset[:80]}, which is not followed")
            if "://" in asset:
                raise RefusedError(f"names the layer `{asset[:80]}`, which is not fetched")
            whole = layer.ComputeAbsolutePath(asset)
            if whole in seen:
                continue
            seen.add(whole)
            _check_place(ar.SplitPackageRelativePathOuter(whole)[0], asset, folder)
            resolved = ar.GetResolver().Resolve(whole).GetPathString()
            if not resolved:
                missing.append(f"the layer `{asset[:80]}` is not there")
                continue
            _check_place(ar.SplitPackageRelativePathOuter(resolved)[0], asset, folder)
            opened = sdf.Layer.FindOrOpen(whole)
            if opened is not None:
                found.append(opened)
                waiting.append(opened)
            if len(found) > MOST_LAYERS:
                raise RefusedError(f"names more than {MOST_LAYERS} layers")
    return found


def _check_place(place: str, asset: str, folder: Path) -> None:
    """Refuse a file that is not in the folder or below it, links followed."""
    if not Path(os.path.realpath(place)).is_relative_to(folder):
        raise RefusedError(f"names the layer `{asset[:80]}`, which is outside the file's folder and is not opened")


def _refuse_clips(layer: Any) -> None:
    """Refuse value clips, whose layers are opened only when a value is asked for."""
    found: list[str] = []

    def look(path: Any) -> None:
        spec = layer.GetPrimAtPath(path) if path.IsPrimPath() or path.IsPrimVariantSelectionPath() else None
        if spec is not None and spec.HasInfo("clips"):
            found.append(str(path))

    layer.Traverse("/", look)
    if found:
        raise RefusedError(f"takes values of `{found[0][:80]}` from other files (value clips), which is not supported")


def told(error: Exception) -> str:
    """What an error of the library says, in one line, with the line of the file where it says it."""
    try:
        parts = [str(getattr(part, "commentary", part)) for part in error.args]
    except UnicodeDecodeError:
        return "is no USD that can be read: it holds text that is not UTF-8"
    last = " ".join(parts[-1].split()) if parts else ""
    place = re.match(r".*?:(\d+):\d+: ", last)
    lead = f"line {place[1]}: " if place else ""
    last = last[place.end() if place else 0 :]
    # The library names the rules of its grammar, which tell the user nothing.
    last = re.sub(r"^parse error matching pxr.*?(?= at ')", "does not parse", re.sub(r"^</\S+> ", "", last))
    return f"{lead}is no USD that can be read: {last[:160] or 'it is damaged'}"


MOST_JOINTS = 20_000

MOST_MATRICES = 1 << 22
"""Joint matrices of a motion, of all frames together."""

MOST_VERTICES = 1 << 24

FINEST = 1000.0
"""Time codes a second up to which they are taken for frames."""

LARGEST_TIME = 1e9
"""Time codes beyond this are not believed."""


def read(request: dict[str, Any], _: bytes) -> tuple[dict[str, Any], Arrays]:
    """Open the stage and tell what is needed of it.

    Args:
        request: `path`, the file; `clip`, the name of an animation, or None for the first.
    """
    try:
        return _read(request)
    except import_module("pxr.Tf").ErrorException as error:
        raise RefusedError(told(error)) from None
    except TypeError:
        # An attribute may hold anything, whatever the schema says.
        raise RefusedError("is no USD that can be read: a value is of another kind than USD demands there") from None
    except UnicodeDecodeError:
        # The library's messages and names are turned into text wherever they come up.
        raise RefusedError("is no USD that can be read: it holds text that is not UTF-8") from None


def _read(request: dict[str, Any]) -> tuple[dict[str, Any], Arrays]:
    stage, missing = open_stage(request["path"])
    usd, skel, geometry = import_module("pxr.Usd"), import_module("pxr.UsdSkel"), import_module("pxr.UsdGeom")
    prims = list(usd.PrimRange.Stage(stage, usd.TraverseInstanceProxies()))
    skeletons = [skel.Skeleton(prim) for prim in prims if prim.IsA(skel.Skeleton)]
    skeletons = [each for each in skeletons if len(each.GetJointsAttr().Get() or ())]
    if not skeletons:
        raise RefusedError(f"holds no skeleton with joints; it has {len(prims)} prims")
    cache = skel.Cache()
    for prim in prims:
        if prim.IsA(skel.Root):
            cache.Populate(skel.Root(prim), usd.TraverseInstanceProxies())
    chosen = _choose(skeletons, cache)
    arrays: Arrays = {}
    said = _told(stage, chosen, geometry, arrays)
    said |= {"missing": missing, "skeletons": [str(each.GetPath()) for each in skeletons]}
    animations = _animations(prims, cache.GetSkelQuery(chosen), skel)
    said["clips"] = _differing([_title(animation.GetPrim()) for animation in animations])
    said["meshes"] = _meshes(prims, chosen, cache, skel, geometry, arrays)
    if animations and (request["clip"] is None or request["clip"] in said["clips"]):
        number = said["clips"].index(request["clip"]) if request["clip"] else 0
        said |= {"clip": said["clips"][number]}
        said |= _sample(cache.GetAnimQuery(animations[number]), chosen, said, arrays, geometry)
    return said, arrays


def _choose(skeletons: list[Any], cache: Any) -> Any:
    """The skeleton that is animated; of several, and where none is, the one with most joints."""

    def worth(skeleton: Any) -> tuple[bool, int]:
        query = cache.GetSkelQuery(skeleton)
        moved = bool(query) and bool(query.GetAnimQuery()) and bool(query.GetAnimQuery().GetJointTransformTimeSamples())
        return moved, len(skeleton.GetJointsAttr().Get())

    return max(skeletons, key=worth)


def _told(stage: Any, skeleton: Any, geometry: Any, arrays: Arrays) -> dict[str, Any]:
    """The stage's conventions and the chosen skeleton."""
    joints = [str(joint) for joint in skeleton.GetJointsAttr().Get()]
    if len(joints) > MOST_JOINTS:
        raise RefusedError(f"`{skeleton.GetPath()}` has {len(joints)} joints; at most {MOST_JOINTS} are read")
    for key, attribute in (("bind", skeleton.GetBindTransformsAttr()), ("rest", skeleton.GetRestTransformsAttr())):
        found = attribute.Get()
        if found is not None and len(found) == len(joints):
            arrays[key] = _columns(found)
    imageable = geometry.Imageable(skeleton.GetPrim())
    arrays["world"] = _columns([imageable.ComputeLocalToWorldTransform(_first_time(stage))])[0]
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


def _columns(matrices: Any) -> np.ndarray:
    """(n, 4, 4) matrices for column vectors of the library's, which are for rows."""
    return np.array([np.array(matrix) for matrix in matrices], float).reshape(-1, 4, 4).transpose(0, 2, 1)


def _animations(prims: list[Any], query: Any, skel: Any) -> list[Any]:
    """The animations that have joints of a skeleton, the one bound to it first."""
    own = query.GetAnimQuery().GetPrim() if query and query.GetAnimQuery() else None
    known = {str(joint) for joint in query.GetJointOrder()} if query else set()
    found = [skel.Animation(own)] if own is not None and own.IsA(skel.Animation) else []
    for prim in prims:
        if prim.IsA(skel.Animation) and prim != own:
            joints = {str(joint) for joint in skel.Animation(prim).GetJointsAttr().Get() or ()}
            if joints & known:
                found.append(skel.Animation(prim))
    return found


def _title(prim: Any) -> str:
    """The name to show of a prim: names that USD does not allow are kept as display names."""
    return str(prim.GetDisplayName() or prim.GetName())


def _differing(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        fresh, number = name, 2
        while fresh in found:
            fresh, number = f"{name}_{number}", number + 1
        found.append(fresh)
    return found


def _sample(query: Any, skeleton: Any, said: dict[str, Any], arrays: Arrays, geometry: Any) -> dict[str, Any]:
    """Put the joints' local matrices and the skeleton's place at every frame among the arrays; tell of the frames."""
    usd = import_module("pxr.Usd")
    rate = said["codes_per_second"]
    if not (math.isfinite(rate) and rate > 0.0):
        raise RefusedError(f"has {rate:g} time codes a second")
    keys = set(query.GetJointTransformTimeSamples()) | set(_moves(skeleton.GetPrim(), geometry))
    if not keys:
        keys = {0.0}
    if not all(math.isfinite(key) and abs(key) < LARGEST_TIME for key in keys):
        raise RefusedError("has time samples that are no times")
    timing = find_timing([np.array(sorted(keys)) / rate], rate if rate <= FINEST else None)
    joints = [str(joint) for joint in query.GetJointOrder()]
    if timing.num_frames * max(len(joints), len(said["joints"])) > MOST_MATRICES:
        raise RefusedError(f"the animation makes {timing.num_frames} frames of {len(joints)} joints")
    moved, worlds = np.empty((timing.num_frames, len(joints), 4, 4)), np.empty((timing.num_frames, 4, 4))
    imageable = geometry.Imageable(skeleton.GetPrim())
    for frame, seconds in enumerate(timing.times):
        # Rounding must not put a frame beside the sample it is meant to hit.
        code = seconds * rate
        code = float(round(code)) if abs(code - round(code)) < 1e-6 * max(1.0, abs(code)) else code
        local = query.ComputeJointLocalTransforms(usd.TimeCode(code))
        if local is None or len(local) != len(joints):
            raise RefusedError(f"the animation `{query.GetPrim().GetPath()}` does not have a transform for every joint")
        moved[frame] = _columns(local)
        worlds[frame] = _columns([imageable.ComputeLocalToWorldTransform(usd.TimeCode(code))])[0]
    arrays["moved"], arrays["moved_worlds"] = moved, worlds
    return {"moved_joints": joints, "fps": timing.fps, "exact": timing.exact, "begin": timing.start}


def _moves(prim: Any, geometry: Any) -> list[float]:
    """The time codes at which a prim or one above it is moved."""
    found: list[float] = []
    while prim and not prim.IsPseudoRoot():
        form = geometry.Xformable(prim)
        if form:
            found += form.GetTimeSamples()
        prim = prim.GetParent()
    return found


def _meshes(prims: list[Any], skeleton: Any, cache: Any, skel: Any, geometry: Any, arrays: Arrays) -> dict[str, Any]:
    """What each mesh of a skeleton is, its numbers put among the arrays; and what is no mesh."""
    told: list[dict[str, Any]] = []
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
        if total > MOST_VERTICES:
            raise RefusedError(f"its meshes have more than {MOST_VERTICES} vertices")
        key = f"mesh{len(told)}"
        arrays[f"{key}_vertices"] = np.array(points, float).reshape(-1, 3)
        arrays[f"{key}_counts"] = np.array(mesh.GetFaceVertexCountsAttr().Get() or (), np.int64)
        arrays[f"{key}_corners"] = np.array(mesh.GetFaceVertexIndicesAttr().Get() or (), np.int64)
        arrays[f"{key}_joints"] = np.array(query.GetJointIndicesPrimvar().Get() or (), np.int64)
        arrays[f"{key}_weights"] = np.array(query.GetJointWeightsPrimvar().Get() or (), float)
        arrays[f"{key}_bind"] = _columns([query.GetGeomBindTransform()])[0]
        order = query.GetJointOrder()
        told.append(
            {
                "name": _title(prim), "per_vertex": int(query.GetNumInfluencesPerComponent()),
                "rigid": bool(query.IsRigidlyDeformed()), "order": None if order is None else [str(j) for j in order],
                "left_handed": str(mesh.GetOrientationAttr().Get()) == "leftHanded",
                "method": str(query.GetSkinningMethod()), "blend_shapes": bool(query.HasBlendShapes()),
            }
        )  # fmt: skip
    return {"told": told, "others": others}


def _skeleton_of(prim: Any, skel: Any) -> Any:
    """The path of the skeleton that a prim is bound to, by itself or by a prim above it."""
    found = skel.BindingAPI(prim).GetInheritedSkeleton()
    return found.GetPath() if found else None


if __name__ == "__main__":
    answer(read)
