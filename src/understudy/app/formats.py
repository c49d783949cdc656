"""`understudy formats`: list the file formats."""

from __future__ import annotations

from typing import Any

import click

from understudy.app.options import json_option
from understudy.app.output import print_json


@click.command(short_help="List the file formats.", epilog="Example: understudy formats --json")
@json_option
def formats(as_json: bool) -> None:
    """List the formats that can be read and written, and what their files hold."""
    from understudy.io import formats as known

    rows: list[dict[str, Any]] = [
        {
            "name": item.name, "title": item.title, "endings": list(item.suffixes), "read": item.read is not None,
            "written": item.write is not None, "meshes": item.meshes, "several_clips": item.several,
        }
        for item in known().values()
    ]  # fmt: skip
    if as_json:
        print_json(rows)
        return
    click.echo(f"{'name':<8} {'title':<18} {'endings':<28} {'read':<5} {'written':<8} {'meshes':<7} several clips")
    for row in rows:
        marks = ["yes" if row[key] else "-" for key in ("read", "written", "meshes", "several_clips")]
        click.echo(
            f"{row['name']:<8} {row['title']:<18} {' '.join(row['endings']):<28} {marks[0]:<5} {marks[1]:<8} "
            f"{marks[2]:<7} {marks[3]}"
        )


COMMAND = formats
