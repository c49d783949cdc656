"""Batches: retarget a whole motion library to one character, unattended, with a row of measurements for each clip.

Imports `recipe` and what is below it. Only `app` imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.base.errors import refuse_unknown_keywords
from understudy.batch.model import DEFAULT_TIMEOUT_SECONDS, Row

if TYPE_CHECKING:
    from understudy.retarget.scale import Scale
    from understudy.retarget.spec import Recipe


__all__ = ["Row", "batch"]


@refuse_unknown_keywords
def batch(
    source: str | Path,
    target: str | Path | None = None,
    output: str | Path = "",
    *,
    scale: Scale | None = None,
    recipe: Recipe | str | Path | None = None,
    map: str | Path | None = None,
    pattern: str | Sequence[str] = (),
    format: str | None = None,
    workers: int | None = None,
    engine: str = "local",
    address: str = "",
    timeout: float | None = DEFAULT_TIMEOUT_SECONDS,
    memory: float | None = None,
    retry_failed: bool = False,
    skin: bool = False,
    table: str = "csv",
    shard: tuple[int, int] | None = None,
    accept: Sequence[str] = (),
    watch: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Retarget every motion of a folder to one character; returns a row of measurements for each clip.

    Finished clips are kept if a run is interrupted, and the next run skips them. Their rows are returned too.

    Args:
        source: The folder with the motions: a path, or a URL such as `s3://bucket/clips`.
        target: The character's file, or a sample as `sample:NAME`; None with a scale or a recipe.
        output: The folder for the results, with the sub-folders of the source folder.
        scale: Scales the target, or each source's character if there is no target: one factor, or factors by part.
        recipe: A recipe or its file, for all further options of a retarget.
        map: The correspondence file.
        pattern: Which files are taken, such as `*.bvh` or `walks/*`; empty for all motion files.
        format: The file format of results, such as `glb`; None for that of the target.
        workers: How many clips are processed at a time; None for one per core.
        engine: What runs the clips: `local`, `dask` or `inline`.
        address: The address of the engine's scheduler; empty for this machine.
        timeout: Seconds that a clip may take; None for no limit.
        memory: Megabytes that a worker may hold, imports included; None for an even share of memory, 0 for no limit.
        retry_failed: Whether failed clips are tried again although nothing has changed.
        skin: Whether limbs that pass through the body are measured with the target's skin, which takes longer.
        table: `csv` or `parquet`.
        shard: I and N to process only the I-th of N parts of the clips, counted from 1; `understudy merge` joins them.
        accept: Rules on figures and verdicts, such as `verdict<=noticeable`; results that break one are rejected.
        watch: Called with each row as its clip is finished.
    """
    from understudy.batch.location import parse_location
    from understudy.batch.run import Batch

    if not str(output):
        from understudy.base.errors import OptionError

        raise OptionError("A batch needs a folder for its results", hint='output="FOLDER"')
    batch_run = Batch(
        recipe=_make_recipe(source, target, scale, recipe, map),
        source=parse_location(source),
        output=parse_location(output),
        patterns=(pattern,) if isinstance(pattern, str) else tuple(pattern),
        format=format,
        workers=workers,
        engine=engine,
        address=address,
        timeout=timeout,
        memory=memory,
        retry_failed=retry_failed,
        skin=skin,
        table=table,
        shard=shard,
        accept=tuple(accept),
    )
    rows: list[Row] = []
    with closing(batch_run.run()) as steps:
        for step in steps:
            rows.append(step.row)
            if watch is not None:
                watch(step.row)
    return rows


def _make_recipe(
    source: str | Path,
    target: str | Path | None,
    scale: Scale | None,
    recipe: Recipe | str | Path | None,
    map: str | Path | None,
) -> Recipe:
    """The recipe for all clips: the given one or a default, changed by the other arguments."""
    from understudy.base.errors import OptionError
    from understudy.recipe import read_recipe
    from understudy.retarget.actor import ActorSpec
    from understudy.retarget.spec import Recipe

    if recipe is None:
        if target is None and scale is None:
            raise OptionError("A batch needs a target, a scale, or a recipe")
        recipe = Recipe(actors=(ActorSpec(source=str(source)),))
    elif not isinstance(recipe, Recipe):
        recipe = read_recipe(recipe)
    if len(recipe.actors) != 1:
        return recipe
    changes: dict[str, object] = {} if scale is None else {"scale": scale}
    if target is not None:
        changes["target"] = _absolute_name(target)
        changes.setdefault("scale", None)
    if map is not None:
        changes["map"] = _absolute_name(map)
    return replace(recipe, actors=(replace(recipe.actors[0], **changes),))  # type: ignore[arg-type]


def _absolute_name(path: str | Path) -> str:
    """A file as a recipe in any folder can name it: a sample, a URL, or an absolute path."""
    text = str(path)
    return text if text.startswith("sample:") or "://" in text else str(Path(text).absolute())
