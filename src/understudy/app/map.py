"""`understudy map`: which bones of one character play which bones of another."""

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


DOUBTFUL = 0.6
"""Confidence below which a pair is worth a look."""

WIDTH = 100
"""Columns that the table fits into where names allow."""


@click.command(
    name="map",
    short_help="Suggest which bones of two characters correspond.",
    epilog="Example: understudy map sample:walk sample:dog -o walk_to_dog.toml",
)
@click.argument("source")
@click.argument("target")
@click.option("-o", "--output", metavar="FILE", help="Where to write the map to be edited: .toml.")
@reading_options
@click.option("--target-unit", help="Unit of TARGET, as --unit.")
@click.option("--target-up", help="Up axis of TARGET.")
@click.option("--target-skeleton", metavar="FILE", help="The skeleton's file of TARGET (AMC).")
@json_option
def map_(source: str, target: str, output: str | None, as_json: bool, **reading: Any) -> None:
    """Suggest which bones of SOURCE correspond to which bones of TARGET: files, or samples as sample:NAME.

    Each pair comes with how sure it is, from 0 to 1, and why. With -o the map is written as a file to be edited.
    """
    from understudy.correspondence.map_file import write_map
    from understudy.correspondence.suggest import suggest

    if output is not None and Path(output).suffix.lower() != ".toml":
        raise click.UsageError(f"A map is written as .toml; got `{output}`.")
    mine, its = load_both(source, target, reading)
    found = suggest(mine.skeleton, its.skeleton, source_motion=mine.motion, target_motion=its.motion)
    if output is not None:
        write_map(found, output, source, target)
    data = describe(found, source, target)
    if as_json:
        print_json(data)
    else:
        click.echo("\n".join(report(data)))
        if output is not None:
            click.echo(f"\n{output}: {count_of(len(found.pairs), 'pair')}")
    note(doubts(data))


def load_both(source: str, target: str, reading: dict[str, Any]) -> tuple[Clip, Clip]:
    """Both characters, with their motion where there is one."""
    common = {"lenient": reading["lenient"]}
    mine = {key: reading[key] for key in ("unit", "up", "skeleton")}
    its = {key: reading[f"target_{key}"] for key in ("unit", "up", "skeleton")}
    return load_character(source, **mine, **common), load_character(target, **its, **common)


def load_character(name: str, **reading: Any) -> Clip:
    """A character by the name of its file or sample; a sample motion brings its first actor, or the one named."""
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


def describe(found: Correspondence, source: str, target: str) -> dict[str, Any]:
    """A map as plain data."""
    from understudy.correspondence.by_name import convention

    assert found.root is not None
    return {
        "source": {"file": source, "bones": found.source.num_joints, "names": convention(found.source)},
        "target": {"file": target, "bones": found.target.num_joints, "names": convention(found.target)},
        "root": {"source": list(found.root.source), "target": list(found.root.target)},
        "pairs": [
            {
                "source": list(pair.source),
                "target": list(pair.target),
                "confidence": pair.confidence,
                "reason": pair.reason,
            }
            for pair in found.pairs
        ],
        "unmatched": {"source": list(found.unmatched("source")), "target": list(found.unmatched("target"))},
    }


def report(data: dict[str, Any]) -> list[str]:
    """The map as a table, and below it the bones in no pair."""
    lines = []
    for side in ("source", "target"):
        who = data[side]
        lines.append(f"{side:<10} {who['file']}: {count_of(who['bones'], 'bone')}, names: {who['names']}")
    rows = [
        (", ".join(pair["source"]), ", ".join(pair["target"]), f"{pair['confidence']:.2f}", _short(pair["reason"]))
        for pair in data["pairs"]
    ]
    lines += ["", *_table(("source", "target", "sure", "why"), rows)]
    for side in ("source", "target"):
        left = data["unmatched"][side]
        lines += ["", f"in no pair, of the {side}: {'none' if not left else ''}".rstrip()]
        lines += textwrap.wrap(", ".join(left), WIDTH, initial_indent="  ", subsequent_indent="  ")
    return lines


def _short(reason: str) -> str:
    """A reason without the names in brackets at its end, which the table shows."""
    return reason.partition(" (")[0]


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows under their heads; long lists of bones and reasons are continued on lines of their own."""
    widths = [min(max(len(row[i]) for row in [head, *rows]), 30) for i in range(3)]
    last = max(WIDTH - sum(widths) - 6, 30)
    lines = []
    for row in [head, *rows]:
        cells = [
            textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
            for text, width in zip(row, [*widths, last])
        ]
        for i in range(max(len(cell) for cell in cells)):
            parts = [cell[i] if i < len(cell) else "" for cell in cells]
            spaced = [f"{part:<{width}}" for part, width in zip(parts[:3], widths)]
            lines.append("  ".join([*spaced, parts[3]]).rstrip())
    return lines


def doubts(data: dict[str, Any]) -> list[str]:
    """What is worth a look before the map is used."""
    doubtful = [pair for pair in data["pairs"] if pair["confidence"] < DOUBTFUL]
    if not doubtful:
        return []
    worst = min(doubtful, key=lambda pair: float(pair["confidence"]))
    named = f"{', '.join(worst['source'])} -> {', '.join(worst['target'])}"
    least = f"least sure is {named} ({worst['confidence']:.2f})"
    return [f"{count_of(len(doubtful), 'pair')} below {DOUBTFUL}: look at the map and edit it; {least}"]


COMMAND = map_
