"""The target of a batch: its file on this machine, fetched once for all clips where it is elsewhere."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath

from understudy.batches.identity import companions, order_key
from understudy.batches.model import Order
from understudy.batches.places import protocol_of, split
from understudy.errors import UnknownNameError, nearest_names
from understudy.io import read
from understudy.io.files import open_to_read, split_clip
from understudy.recipe import Recipe
from understudy.recipe.loading import SAMPLE
from understudy.samples import characters, motions


def fetch_target(recipe: Recipe, folder: Path) -> Path | None:
    """The target's file on this machine, put into the folder if it is elsewhere; None where the target is no file."""
    target = recipe.actors[0].target
    if target is None or target.startswith(SAMPLE):
        return None
    if not protocol_of(target):
        return split_clip(recipe.folder / target)[0]
    place, name = split(target)
    path = place.fetch(name, folder)
    for beside in companions(place, name, path):
        inner = folder / PurePosixPath(beside).parent
        inner.mkdir(parents=True, exist_ok=True)
        place.fetch(beside, inner)
    return path


def check_target(recipe: Recipe, path: Path | None) -> None:
    """Refuse a target that cannot be used, or a file about it that is not there, before any clip meets them.

    Args:
        recipe: With one actor.
        path: The target's file on this machine; None where it is no file.
    """
    target, reading = recipe.actors[0].target, recipe.reading
    for name in (recipe.actors[0].map, reading.skeleton, reading.target_skeleton):
        if name is not None:
            open_to_read(recipe.folder / name).close()
    if path is not None:
        skeleton = None if reading.target_skeleton is None else recipe.folder / reading.target_skeleton
        read(path, unit=reading.target_unit, up=reading.target_up, lenient=reading.lenient, skeleton=skeleton)
    elif target is not None:
        title = target.removeprefix(SAMPLE).partition("/")[0]
        if title not in characters() and title not in motions():
            known = [*characters(), *motions()]
            raise UnknownNameError(f"There is no sample `{title}`; {nearest_names(title, known)}")


@lru_cache(maxsize=1)
def localized(order: Order) -> Recipe:
    """The order's recipe with its target on this machine."""
    actor = order.recipe.actors[0]
    if actor.target is None or not protocol_of(actor.target):
        return order.recipe
    path = fetch_target(order.recipe, Path(tempfile.mkdtemp()))
    return replace(order.recipe, actors=(replace(actor, target=str(path)),))


@lru_cache(maxsize=1)
def key_of(order: Order) -> str:
    """The digest of all that makes results besides the clips."""
    return order_key(order.recipe, fetch_target(localized(order), Path()), order.ending, skin=order.skin)


def fetched_from(order: Order) -> dict[str, str]:
    """The folder that the target was fetched into, and the one it came from; nothing where it was here."""
    here, there = localized(order).actors[0].target, order.recipe.actors[0].target
    if here is None or there is None or here == there:
        return {}
    return {str(Path(here).parent): f"{there.rpartition('/')[0]}/"}
