"""Batches: a whole motion library onto one body, unattended, with a row of figures for every clip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.base.errors import refuse_unknown_keywords
from understudy.batch.model import TIMEOUT, Row

if TYPE_CHECKING:
    from understudy.retarget.spec import Recipe, Scale


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
    timeout: float | None = TIMEOUT,
    memory: float | None = None,
    retry_failed: bool = False,
    skin: bool = False,
    table: str = "csv",
    watch: Callable[[Row], None] | None = None,
) -> list[Row]:
    """Put every motion of a folder onto one body; returns a row of figures for each clip, those done before among them.

    What is done is kept however a run ends, and the next one goes on from there.

    Args:
        source: The folder with the motions; a path, or with a protocol such as `s3://bucket/clips`.
        target: The character's file, or a sample as `sample:NAME`; None with a scale or a recipe.
        output: The folder that results go to, in sub-folders as the sources'.
        scale: In place of a target, or of it: how much larger, all of it or by parts.
        recipe: A recipe, or its file, for everything that can be chosen about a retarget.
        map: The file that says which bones correspond.
        pattern: Which files are taken, such as `*.bvh` or `walks/*`; all motion files if not given.
        format: What results are written as, such as `glb`; as the target's file if not given.
        workers: How many clips at a time; one for each core if not given.
        engine: Who does them: `local`, `dask` or `inline`.
        address: Where the engine's workers are; on this machine if not given.
        timeout: Seconds that a clip may take; None for as long as it likes.
        memory: Megabytes that a worker may hold; an even share of the machine's if not given, 0 for no limit.
        retry_failed: Whether clips that failed are tried again though nothing has changed.
        skin: Whether limbs that go through the body are told by the target's skin, which takes longer.
        table: `csv` or `parquet`.
        watch: Called with each row as its clip is finished.
    """
    from understudy.batch.places import place_of
    from understudy.batch.run import Batch

    if not str(output):
        from understudy.base.errors import OptionError

        raise OptionError("A batch needs a folder for its results", hint='output="FOLDER"')
    whole = Batch(
        recipe=_recipe(source, target, scale, recipe, map),
        source=place_of(source),
        output=place_of(output),
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
    )
    rows: list[Row] = []
    with closing(whole.run()) as steps:
        for step in steps:
            rows.append(step.row)
            if watch is not None:
                watch(step.row)
    return rows


def _recipe(
    source: str | Path,
    target: str | Path | None,
    scale: Scale | None,
    given: Recipe | str | Path | None,
    map: str | Path | None,
) -> Recipe:
    """The recipe of all clips, from what is said besides one."""
    from understudy.base.errors import OptionError
    from understudy.recipe import read_recipe
    from understudy.retarget.spec import ActorSpec, Recipe

    if given is None:
        if target is None and scale is None:
            raise OptionError("Say who is to perform the motions: a target, a scale, or a recipe")
        made = Recipe(actors=(ActorSpec(source=str(source)),))
    else:
        made = given if isinstance(given, Recipe) else read_recipe(given)
    if len(made.actors) != 1:
        return made
    changes: dict[str, object] = {} if scale is None else {"scale": scale}
    if target is not None:
        changes["target"] = named(target)
        changes.setdefault("scale", None)
    if map is not None:
        changes["map"] = named(map)
    return replace(made, actors=(replace(made.actors[0], **changes),))  # type: ignore[arg-type]


def named(path: str | Path) -> str:
    """A file as a recipe of any folder can name it."""
    text = str(path)
    return text if text.startswith("sample:") or "://" in text else str(Path(text).absolute())
