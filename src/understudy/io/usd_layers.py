"""Opening a USD file with nothing from outside its own folder: every layer it names is looked at before it is opened.

This runs in the child process. Once all layers are checked and open, composing the stage opens no others.
"""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from understudy.io.child import RefusedError

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
