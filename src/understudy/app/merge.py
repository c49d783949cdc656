"""`understudy merge`: join the shards of a batch, and check results against their manifest."""

from __future__ import annotations

from typing import Any

import click

from understudy.app.options import json_option
from understudy.app.output import count_of, note, print_json


@click.command(
    short_help="Join the shards of a batch, or check its results.",
    epilog="Example: understudy merge hero_library --table parquet",
)
@click.argument("output")
@click.argument("others", nargs=-1, metavar="[FOLDER]...")
@click.option("--table", type=click.Choice(["csv", "parquet"]), default="csv", show_default=True)
@click.option("--check", is_flag=True, help="Merge nothing: compare every result with the digest in the manifest.")
@json_option
def merge(output: str, others: tuple[str, ...], table: str, check: bool, as_json: bool) -> None:
    """Join the shards that `batch --shard I/N` left in the folder OUTPUT, and write table, page and manifest.

    The results of each further FOLDER, the output of a batch on another machine, are copied into OUTPUT. A merge can be
    repeated, and shards can be run again after it. With --check, every result is compared with its digest in
    manifest.sha256; `sha256sum --check manifest.sha256` does the same. The exit code is 1 if something is missing.
    """
    from understudy.batch.location import parse_location

    location = parse_location(output)
    if check:
        from understudy.batch.manifest import check_manifest

        problems, count = check_manifest(location)
        data: dict[str, Any] = {"results": count, "problems": problems}
        text = f"{count_of(count, 'result')} checked, {count_of(len(problems), 'problem')}"
    else:
        from understudy.batch.merging import merge as merge_shards
        from understudy.batch.report import Summary

        summary = Summary()
        merged = merge_shards(location, [parse_location(other) for other in others], table=table, summary=summary)
        problems, data = merged.missing, {**summary.data(), "shards": merged.shards, "problems": merged.missing}
        counts = ", ".join(f"{count} {status}" for status, count in sorted(summary.counts.items()))
        text = f"{count_of(merged.shards, 'part')} merged: {counts}"
        text += f"\ntable {location.text(f'table.{table}')}\npage  {location.text('index.html')}"
    if as_json:
        print_json(data)
    else:
        click.echo(text)
        note(problems, "problem")
    if problems:
        click.get_current_context().exit(1)


COMMAND = merge
