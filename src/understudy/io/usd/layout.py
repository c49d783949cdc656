"""A USD file as it was read, so that a motion can be written into it: names, materials and layers stay as they are.

Only the file's own layer is opened and changed. It gets an animation below the skeleton, which is bound to it. What it
refers to stays where it is; a package keeps all of its files.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from understudy.base.quaternion import Array, continuous, to_matrix
from understudy.base.records import record
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton
from understudy.io.matrices import extract_rotations, make_affine

MAX_SHEAR = 1e-4
"""Largest part of a joint's matrix, relative to its size, that place, rotation and scale may leave out."""


class NotInPlaceError(Exception):
    """A motion cannot be written into the file that the character came from."""


@record
class UsdLayout:
    """A USD file as it was read."""

    data: bytes
    """The whole file."""
    path: str
    """Where it was, absolute."""
    skeleton_path: str
    """The prim of the skeleton."""
    joints: list[str]
    """The joints as the file names them."""
    order: list[int]
    """The number in the file of each joint; -1 for a root that is not in the file."""
    joint_names: tuple[str, ...]
    parents: np.ndarray
    """(J,) the parent of each joint."""
    stretches: Array
    """(J, 3, 3) the rest of each joint's matrix without its rotation."""
    to_world: Array
    """(4, 4) our world, metres and Y up, from the skeleton's space."""
    codes_per_second: float
    problem: str
    """Why a motion cannot be written into the file; empty if it can."""
    motion: Motion | None = None
    """The motion that was read, to recognise a clip with an unchanged motion."""
    skeleton: Skeleton | None = None

    def fits(self, skeleton: Skeleton) -> bool:
        """Whether a skeleton has the joints of the file; bone lengths may differ."""
        return skeleton.names == self.joint_names and np.array_equal(skeleton.parents, self.parents)

    @property
    def packed(self) -> bool:
        return self.data[:4] == b"PK\x03\x04"


def insert_motion(motion: Motion, layout: UsdLayout, name: str, target: Path) -> tuple[bytes, list[str]]:
    """The bytes of the character's own file with a motion, and notes.

    Args:
        motion: The motion.
        layout: The file.
        name: The name of the animation.
        target: The file that will be written; its ending chooses text, binary or package.

    Raises:
        NotInPlaceError: The file cannot be changed.
    """
    if layout.problem:
        raise NotInPlaceError(layout.problem)
    ending = target.suffix.lower()
    if layout.packed and ending != ".usdz":
        raise NotInPlaceError(f"it is a package and {target.name} is none")
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        if layout.packed:
            return _change_package(motion, layout, name, folder), []
        layer = _open(layout.data, folder / f"own{Path(layout.path).suffix.lower()}")
        _insert(layer, motion, layout, name)
        if ending == ".usdz":
            return _packed(layer, folder), []
        notes = _keep_references(layer, Path(layout.path).parent, target.resolve().parent)
        out = folder / f"new{ending if ending in ('.usda', '.usdc') else '.usdc'}"
        if not layer.Export(str(out)):
            raise NotInPlaceError("its layer could not be written")
        return out.read_bytes(), notes


def _packed(layer: Any, folder: Path) -> bytes:
    """A package of one layer, which must refer to no other file: none is taken along unasked."""
    others: set[str] = set()

    def found(asset: str) -> str:
        others.add(asset)
        return asset

    import_module("pxr.UsdUtils").ModifyAssetPaths(layer, found)
    others -= {""}
    if others:
        listed = ", ".join(sorted(others))[:80]
        raise NotInPlaceError(f"it refers to other files ({listed}), and a package has all in it")
    plain, out = folder / "character.usdc", folder / "new.usdz"
    if not layer.Export(str(plain)):
        raise NotInPlaceError("its layer could not be written")
    writer = import_module("pxr.Sdf").ZipFileWriter.CreateNew(str(out))
    writer.AddFile(str(plain), plain.name)
    if not writer.Save():
        raise NotInPlaceError("the package could not be written")
    return out.read_bytes()


def _open(data: bytes, path: Path) -> Any:
    """The layer of some bytes, which are written to a file first. Layers that it names are not opened."""
    path.write_bytes(data)
    layer = import_module("pxr.Sdf").Layer.OpenAsAnonymous(str(path))
    if layer is None:
        raise NotInPlaceError("its layer could not be opened")
    return layer


def _change_package(motion: Motion, layout: UsdLayout, name: str, folder: Path) -> bytes:
    """A package whose first layer has the motion; its other files are the same."""
    sdf = import_module("pxr.Sdf")
    source = folder / "own.usdz"
    source.write_bytes(layout.data)
    with zipfile.ZipFile(source) as archive:
        entries = [(entry.filename, archive.read(entry)) for entry in archive.infolist() if not entry.is_dir()]
    first, data = entries[0]
    layer = _open(data, folder / f"first{Path(first).suffix.lower()}")
    _insert(layer, motion, layout, name)
    changed = folder / f"changed{Path(first).suffix.lower()}"
    if not layer.Export(str(changed)):
        raise NotInPlaceError("its layer could not be written")
    out = folder / "new.usdz"
    # The library's own writer aligns the files as packages demand.
    writer = sdf.ZipFileWriter.CreateNew(str(out))
    for number, (entry, content) in enumerate(entries):
        file = changed if number == 0 else folder / f"entry{number}"
        if number:
            file.write_bytes(content)
        writer.AddFile(str(file), entry)
    if not writer.Save():
        raise NotInPlaceError("the package could not be written")
    return out.read_bytes()


def _keep_references(layer: Any, before: Path, after: Path) -> list[str]:
    """Let the relative names of other files in a layer lead to the same files from another folder; returns a note."""
    if before == after:
        return []
    files: set[str] = set()

    def moved(asset: str) -> str:
        if not asset or os.path.isabs(asset) or "://" in asset or "`" in asset:
            return asset
        file = before / asset
        if not file.exists():
            return asset
        files.add(asset)
        return os.path.relpath(file, after)

    import_module("pxr.UsdUtils").ModifyAssetPaths(layer, moved)
    return [f"it refers to {len(files)} files of the character's folder, which must stay there"] if files else []


def _insert(layer: Any, motion: Motion, layout: UsdLayout, name: str) -> None:
    """Add the animation to a layer, bind the skeleton to it, and set the times of the stage."""
    sdf, tf, vt, gf = (import_module(f"pxr.{part}") for part in ("Sdf", "Tf", "Vt", "Gf"))
    skeleton = sdf.CreatePrimInLayer(layer, layout.skeleton_path)
    path = skeleton.path.AppendChild(_free_name(layer, skeleton.path, tf.MakeValidIdentifier(name)))
    prim = sdf.CreatePrimInLayer(layer, path)
    prim.specifier, prim.typeName = sdf.SpecifierDef, "SkelAnimation"
    prim.SetInfo("displayName", name)
    timed = bool(layer.ListAllTimeSamples())
    rate = layout.codes_per_second if timed else motion.fps
    kinds = sdf.ValueTypeNames

    def attribute(key: str, kind: Any, uniform: bool = False) -> Any:
        variability = sdf.VariabilityUniform if uniform else sdf.VariabilityVarying
        return sdf.AttributeSpec(prim, key, kind, variability)

    attribute("joints", kinds.TokenArray, True).default = vt.TokenArray(layout.joints)
    attribute("understudy:fps", kinds.Double, True).default = float(motion.fps)
    translations, rotations, scales = _local_values(motion, layout)
    places, turns = attribute("translations", kinds.Float3Array), attribute("rotations", kinds.QuatfArray)
    sizes = attribute("scales", kinds.Half3Array)
    sizes.default = vt.Vec3hArray([gf.Vec3h(*scale) for scale in scales.tolist()])
    for frame in range(motion.num_frames):
        code = frame * rate / motion.fps
        code = float(round(code)) if abs(code - round(code)) < 1e-9 * max(1.0, code) else code
        layer.SetTimeSample(places.path, code, vt.Vec3fArray.FromNumpy(translations[frame].astype(np.float32)))
        quaternions = [gf.Quatf(*rotation) for rotation in rotations[frame].tolist()]
        layer.SetTimeSample(turns.path, code, vt.QuatfArray(quaternions))
    _bind(skeleton, path)
    if not timed:
        layer.timeCodesPerSecond = layer.framesPerSecond = float(motion.fps)
    layer.startTimeCode, layer.endTimeCode = 0.0, (motion.num_frames - 1) * rate / motion.fps


def _free_name(layer: Any, above: Any, wanted: str) -> str:
    """A name for the animation. An animation of the same name that the layer defines there is replaced."""
    existing = layer.GetPrimAtPath(above.AppendChild(wanted))
    if existing is not None and existing.typeName == "SkelAnimation":
        del layer.GetPrimAtPath(above).nameChildren[wanted]
        return wanted
    name, number = wanted, 2
    while layer.GetPrimAtPath(above.AppendChild(name)) is not None:
        name, number = f"{wanted}_{number}", number + 1
    return name


def _bind(skeleton: Any, animation: Any) -> None:
    """Let a skeleton be moved by an animation."""
    sdf = import_module("pxr.Sdf")
    relation = skeleton.relationships.get("skel:animationSource")
    if relation is None:
        relation = sdf.RelationshipSpec(skeleton, "skel:animationSource", False)
    relation.targetPathList.ClearEdits()
    relation.targetPathList.explicitItems = [animation]
    schemas = skeleton.GetInfo("apiSchemas") if skeleton.HasInfo("apiSchemas") else sdf.TokenListOp()
    listed = [*schemas.explicitItems, *schemas.prependedItems, *schemas.appendedItems]
    if "SkelBindingAPI" in listed:
        return
    if schemas.isExplicit:
        schemas.explicitItems = [*schemas.explicitItems, "SkelBindingAPI"]
    else:
        schemas.prependedItems = [*schemas.prependedItems, "SkelBindingAPI"]
    skeleton.SetInfo("apiSchemas", schemas)


def _local_values(motion: Motion, layout: UsdLayout) -> tuple[Array, Array, Array]:
    """(F, n, 3) places and (F, n, 4) rotations of the file's joints at each frame, and (n, 3) their scales."""
    pose = fk(motion)
    worlds = make_affine(to_matrix(pose.rotations) @ layout.stretches, pose.positions)
    worlds = np.linalg.inv(layout.to_world) @ worlds
    frames, count = motion.num_frames, len(layout.joints)
    translations, rotations = np.empty((frames, count, 3)), np.empty((frames, count, 4))
    scales = np.empty((count, 3))
    for joint, number in enumerate(layout.order):
        if number < 0:
            continue
        parent = int(layout.parents[joint])
        above = worlds[:, parent] if parent >= 0 and layout.order[parent] >= 0 else np.eye(4)[None]
        local = np.linalg.inv(above) @ worlds[:, joint]
        turns = extract_rotations(local[:, :3, :3])
        matrices = to_matrix(turns)
        scales[number] = np.einsum("fij,fij->fj", matrices, local[:, :3, :3]).mean(axis=0)
        left_out = np.abs(local[:, :3, :3] - matrices * scales[number]).max()
        if left_out > MAX_SHEAR * np.abs(scales[number]).max():
            raise NotInPlaceError(f"joint `{layout.joint_names[joint]}` is scaled unevenly below one that turns")
        translations[:, number], rotations[:, number] = local[:, :3, 3], turns
    return translations, continuous(rotations), scales
