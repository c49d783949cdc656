"""`understudy map`: suggest the correspondence between the bones of two characters."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.app.options import json_option, reading_options
from understudy.app.output import count_of, note, print_json

if TYPE_CHECKING:
    from understudy.correspondence.pairs import Correspondence
    from understudy.io.clip import Clip


MIN_CONFIDENCE = 0.6
"""Confidence below which a pair should be checked by the user."""

MAX_TABLE_WIDTH = 100
"""Characters of a line of the table; long names may exceed it."""

MAX_COLUMN_WIDTH = 30
"""Characters of a column of names."""


@click.command(
    name="map",
    short_help="Suggest which bones of two characters correspond.",
    epilog="Example: understudy map sample:walk sample:dog -o walk_to_dog.toml",
)
@click.argument("source")
@click.argument("target")
@click.option("-o", "--output", metavar="FILE", help="Where to write the map for editing: .toml.")
@reading_options
@click.option("--target-unit", help="Unit of TARGET, as --unit.")
@click.option("--target-up", help="Up axis of TARGET.")
@click.option("--target-skeleton", metavar="FILE", help="The skeleton's file of TARGET (AMC).")
@json_option
def map_(source: str, target: str, output: str | None, as_json: bool, **reading: Any) -> None:
    """Suggest which bones of SOURCE correspond to which bones of TARGET: files, or samples as sample:NAME.

    Each pair comes with a confidence from 0 to 1 and a reason. With -o the map is written to a file for editing.
    """
    from understudy.correspondence.map_file import write_map
    from understudy.correspondence.suggest import suggest

    if output is not None and Path(output).suffix.lower() != ".toml":
        raise click.UsageError(f"A map is written as .toml; got `{output}`.")
    source_clip, target_clip = (with_ordinary_tree(clip) for clip in load_both(source, target, reading))
    correspondence = suggest(
        source_clip.skeleton,
        target_clip.skeleton,
        source_motion=source_clip.motion,
        target_motion=target_clip.motion,
    )
    if output is not None:
        write_map(correspondence, output, source, target)
    data = describe(correspondence, source, target)
    if as_json:
        print_json(data)
    else:
        click.echo("\n".join(report(data)))
        if output is not None:
            click.echo(f"\n{output}: {count_of(len(correspondence.pairs), 'pair')}")
    note(doubts(data))


def load_both(source: str, target: str, reading: dict[str, Any]) -> tuple[Clip, Clip]:
    """Both characters, with their motions if they have any."""
    common = {"lenient": reading["lenient"]}
    source_reading = {key: reading[key] for key in ("unit", "up", "skeleton", "clip")}
    target_reading = {key: reading[f"target_{key}"] for key in ("unit", "up", "skeleton")}
    return load_character(source, **source_reading, **common), load_character(target, **target_reading, **common)


def with_ordinary_tree(clip: Clip) -> Clip:
    """A character as a retarget maps it, if its chest carries its hips."""
    from dataclasses import replace

    from understudy.correspondence.detached import attach, change_parents, find_waist

    if not find_waist(clip.skeleton):
        return clip
    skeleton = attach(clip.skeleton)
    return replace(
        clip, skeleton=skeleton, motion=None if clip.motion is None else change_parents(clip.motion, skeleton)
    )


def load_character(name: str, **reading: Any) -> Clip:
    """The character of a file or sample; of a sample motion the named actor, else the first."""
    from understudy.base.errors import UnknownNameError, nearest_names
    from understudy.io import Clip, read
    from understudy.retarget.actor import SAMPLE, sample_scene
    from understudy.samples import character, characters, motions

    if not name.startswith(SAMPLE):
        return read(name, **reading)
    title = name.removeprefix(SAMPLE).partition("/")[0]
    if title in motions():
        scene, actor = sample_scene(name)
        return Clip.of(scene.actors[actor])
    if title not in characters():
        raise UnknownNameError(
            f"There is no sample `{title}`; {nearest_names(title, [*characters(), *motions()])}",
            hint="`understudy samples` lists them",
        )
    return Clip.of(character(title))


def describe(correspondence: Correspondence, source: str, target: str) -> dict[str, Any]:
    """A map as plain data."""
    from understudy.correspondence.by_name import convention

    assert correspondence.root is not None
    return {
        "source": {
            "file": source,
            "bones": correspondence.source.num_joints,
            "names": convention(correspondence.source),
        },
        "target": {
            "file": target,
            "bones": correspondence.target.num_joints,
            "names": convention(correspondence.target),
        },
        "root": {"source": list(correspondence.root.source), "target": list(correspondence.root.target)},
        "pairs": [
            {
                "source": list(pair.source),
                "target": list(pair.target),
                "confidence": pair.confidence,
                "reason": pair.reason,
            }
            for pair in correspondence.pairs
        ],
        "unmatched": {
            "source": list(correspondence.unmatched("source")),
            "target": list(correspondence.unmatched("target")),
        },
    }


def report(data: dict[str, Any]) -> list[str]:
    """The map as a table, and below it the unmatched bones."""
    lines = []
    for side in ("source", "target"):
        character = data[side]
        bones = count_of(character["bones"], "bone")
        lines.append(f"{side:<10} {character['file']}: {bones}, names: {character['names']}")
    rows = [
        (", ".join(pair["source"]), ", ".join(pair["target"]), f"{pair['confidence']:.2f}", _short(pair["reason"]))
        for pair in data["pairs"]
    ]
    lines += ["", *_table(("source", "target", "confidence", "reason"), rows)]
    for side in ("source", "target"):
        unmatched = data["unmatched"][side]
        lines += ["", f"unmatched bones of the {side}: {'none' if not unmatched else ''}".rstrip()]
        lines += textwrap.wrap(", ".join(unmatched), MAX_TABLE_WIDTH, initial_indent="  ", subsequent_indent="  ")
    return lines


def _short(reason: str) -> str:
    """A reason without the names in brackets at its end, which the table already shows."""
    return reason.partition(" (")[0]


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The lines of a table with four columns; long cells are wrapped."""
    widths = [min(max(len(row[i]) for row in [header, *rows]), MAX_COLUMN_WIDTH) for i in range(3)]
    last_width = max(MAX_TABLE_WIDTH - sum(widths) - 6, MAX_COLUMN_WIDTH)
    lines = []
    for row in [header, *rows]:
        cells = [
            textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
            for text, width in zip(row, [*widths, last_width])
        ]
        for i in range(max(len(cell) for cell in cells)):
            parts = [cell[i] if i < len(cell) else "" for cell in cells]
            spaced = [f"{part:<{width}}" for part, width in zip(parts[:3], widths)]
            lines.append("  ".join([*spaced, parts[3]]).rstrip())
    return lines


def doubts(data: dict[str, Any]) -> list[str]:
    """A note on the pairs of low confidence, if there are any."""
    doubtful = [pair for pair in data["pairs"] if pair["confidence"] < MIN_CONFIDENCE]
    if not doubtful:
        return []
    worst = min(doubtful, key=lambda pair: float(pair["confidence"]))
    bones = f"{', '.join(worst['source'])} -> {', '.join(worst['target'])}"
    lowest = f"the lowest is {bones} ({worst['confidence']:.2f})"
    return [f"{count_of(len(doubtful), 'pair')} of confidence below {MIN_CONFIDENCE}: check the map; {lowest}"]


COMMAND = map_
