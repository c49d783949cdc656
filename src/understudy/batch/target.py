"""The target of a batch on this machine: fetched, checked, and identified once for all clips."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath

from understudy.base.errors import UnknownNameError, nearest_names
from understudy.base.files import open_to_read
from understudy.batch.identity import companions, file_digest, make_spec_key, recipe_files, text_digest
from understudy.batch.location import protocol_of, split_file
from understudy.batch.model import JobSpec, Row
from understudy.io.clip import split_clip
from understudy.retarget.actor import SAMPLE, read_target
from understudy.retarget.spec import Recipe
from understudy.samples import characters, motions


def fetch_target(recipe: Recipe, folder: Path) -> Path | None:
    """The target's file on this machine, copied into the folder if it is remote; None where the target is no file."""
    target = recipe.actors[0].target
    if target is None or target.startswith(SAMPLE):
        return None
    if not protocol_of(target):
        return split_clip(recipe.folder / target)[0]
    location, name = split_file(target)
    path = location.fetch(name, folder)
    for companion in companions(location, name):
        subfolder = folder / PurePosixPath(companion).parent
        subfolder.mkdir(parents=True, exist_ok=True)
        location.fetch(companion, subfolder)
    return path


def check_target(recipe: Recipe, path: Path | None) -> None:
    """Refuse an unusable target, or a missing file that the recipe names for it, before any clip is processed.

    Args:
        recipe: With one actor.
        path: The target's file on this machine; None where the target is no file.
    """
    target, reading = recipe.actors[0].target, recipe.reading
    for file in recipe_files(recipe):
        if file is not None:
            open_to_read(file).close()
    if path is not None:
        read_target(str(path.absolute()), reading, recipe.folder)
    elif target is not None:
        title = target.removeprefix(SAMPLE).partition("/")[0]
        samples = [*characters(), *motions()]
        if title not in samples:
            raise UnknownNameError(f"There is no sample `{title}`; {nearest_names(title, samples)}")


@lru_cache(maxsize=1)
def local_recipe(spec: JobSpec) -> Recipe:
    """The spec's recipe with the target's file on this machine."""
    actor = spec.recipe.actors[0]
    if actor.target is None or not protocol_of(actor.target):
        return spec.recipe
    path = fetch_target(spec.recipe, Path(tempfile.mkdtemp()))
    return replace(spec.recipe, actors=(replace(actor, target=str(path)),))


@lru_cache(maxsize=1)
def spec_key(spec: JobSpec) -> str:
    """The digest of everything that affects results besides the clips."""
    recipe = local_recipe(spec)
    target = fetch_target(recipe, Path())
    return text_digest(make_spec_key(recipe, target, spec.suffix, skin=spec.skin), *spec.accept)


@lru_cache(maxsize=1)
def provenance(spec: JobSpec) -> Row:
    """The digests of what all results are made with, as columns: the target's files, and the recipe with its files."""
    recipe = local_recipe(spec)
    columns = {"recipe_sha256": make_spec_key(recipe, None, None)}
    target = recipe.actors[0].target
    if fetch_target(recipe, Path()) is not None:
        assert target is not None
        files = read_target(target, recipe.reading, recipe.folder)[1]
        columns["target_sha256"] = text_digest(*(file_digest(path) for path in files))
    options = [str(spec.suffix), str(spec.skin), *spec.accept]
    return {**columns, "options_sha256": text_digest(*options)}


def shared_files(spec: JobSpec) -> set[str]:
    """The absolute paths of the files that are opened for every clip: the target's and those that the recipe names."""
    recipe = local_recipe(spec)
    paths = {str(path.absolute()) for path in recipe_files(recipe) if path is not None}
    if fetch_target(recipe, Path()) is not None:
        assert recipe.actors[0].target is not None
        paths |= set(read_target(recipe.actors[0].target, recipe.reading, recipe.folder)[1])
    return paths


def fetched_folders(spec: JobSpec) -> dict[str, str]:
    """The remote folder of a fetched target, by the local folder it was copied to; empty for a local target."""
    local, remote = local_recipe(spec).actors[0].target, spec.recipe.actors[0].target
    if local is None or remote is None or local == remote:
        return {}
    return {str(Path(local).parent): f"{remote.rpartition('/')[0]}/"}
