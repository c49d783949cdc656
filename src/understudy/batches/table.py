"""The table of a batch: one row a clip, as CSV or Parquet."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Iterable
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from understudy.batches.model import Row
from understudy.batches.places import Folder, Place
from understudy.errors import MissingPackageError
from understudy.io.files import open_to_write

KINDS = ("csv", "parquet")
FIRST = (
    "clip", "status", "reason", "output", "verdict", "frames", "fps", "duration", "joints", "solver", "spacing",
    "steps", "constraints", "unmet",
)  # fmt: skip
"""Columns that come first; then the metrics in the order of their names."""
LAST = ("notes", "not_kept", "source_sha256", "output_sha256", "bytes", "key", "version_", "seconds")
"""Beginnings of the columns that come last."""
GROUP = 2000
"""Rows that are held in memory at once."""


def columns_of(rows: Iterable[Row]) -> dict[str, type]:
    """Every column of a table, in order, with the kind of its values."""
    kinds: dict[str, type] = {}
    for row in rows:
        for name, value in row.items():
            kind = str if value is None or isinstance(value, list) else type(value)
            before = kinds.get(name)
            if before is None or value is not None:
                kinds[name] = float if {before, kind} == {int, float} else kind
    rest = sorted(name for name in kinds if name not in FIRST)
    last = [name for lead in LAST for name in rest if name.startswith(lead)]
    order = [*FIRST, *(name for name in rest if name not in last), *last]
    return {name: kinds.get(name, str) for name in order}


def write_table(place: Place, name: str, rows: Callable[[], Iterable[Row]]) -> None:
    """Write a table; the old one stays until the new one is whole.

    Args:
        place: The output's folder.
        name: The file in it; its ending tells the kind.
        rows: Gives all rows, as often as it is called.
    """
    columns = columns_of(rows())
    write = _write_parquet if name.endswith(".parquet") else _write_csv
    if isinstance(place, Folder):
        with open_to_write(place.path / name) as stream:
            write(stream, columns, rows())
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        with open(path, "wb") as stream:
            write(stream, columns, rows())
        place.put(path, name)


def _write_csv(stream: BinaryIO, columns: dict[str, type], rows: Iterable[Row]) -> None:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    for row in rows:
        table.writerow([_cell(row.get(name)) for name in columns])
    # The stream is not ours to close.
    text.detach()


def _cell(value: Any) -> Any:
    return "; ".join(value) if isinstance(value, list) else value


def _write_parquet(stream: BinaryIO, columns: dict[str, type], rows: Iterable[Row]) -> None:
    arrow, parquet = load_parquet()
    kinds = {int: arrow.int64(), float: arrow.float64(), str: arrow.string()}
    schema = arrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
    with parquet.ParquetWriter(stream, schema) as writer:
        waiting = iter(rows)
        while group := list(islice(waiting, GROUP)):
            cells = {name: [_cell(row.get(name)) for row in group] for name in columns}
            writer.write_table(arrow.table(cells, schema=schema))


def load_parquet() -> tuple[Any, Any]:
    """The package that writes Parquet, or an error that says how to get it."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise MissingPackageError("pyarrow", "parquet", "Writing tables as Parquet") from None
