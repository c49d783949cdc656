"""The page of a batch: what came of it, the worst clips by metric, and all clips with a small picture each."""

from __future__ import annotations

import csv
import heapq
import io
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from importlib import import_module, resources
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import quote

from understudy.base.errors import MissingPackageError
from understudy.base.files import open_to_write
from understudy.batch.journal import Index
from understudy.batch.model import DONE, FAILED, Row
from understudy.batch.places import Folder, Location
from understudy.metrics import Verdict, metrics
from understudy.metrics.base import ORDER

WORST = 10
"""Clips that are named for each metric."""

SEEN = (Verdict.NOTICEABLE, Verdict.BAD)
"""Verdicts of clips that are among the worst; a good one is not, though there be none worse."""

LISTED = 1000
"""Failed clips that are named."""


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The metric's figure by which clips are ranked."""

    metric: str
    title: str
    figure: str
    sign: float
    """1 where a large figure is bad, -1 where a small one is."""

    @property
    def column(self) -> str:
        return f"{self.metric}.{self.figure}"


def rankings() -> list[Ranking]:
    """One for each metric that is graded: by its first figure with a threshold."""
    found = []
    for name, metric in metrics().items():
        for grade in metric.grades[:1]:
            sign = 1.0 if grade.bad >= grade.noticeable else -1.0
            found.append(Ranking(metric=name, title=metric.title, figure=grade.figure, sign=sign))
    return found


@dataclass(eq=False, kw_only=True)
class Summary:
    """Gathered row by row, in little memory."""

    counts: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    frames: int = 0
    duration: float = 0.0
    failures: list[tuple[str, str]] = field(default_factory=list)
    """Clips and reasons, the first thousand."""
    _worst: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    _rankings: list[Ranking] = field(default_factory=rankings)

    def add(self, row: Row) -> None:
        """Take a row into account."""
        self.counts[row["status"]] += 1
        if row["status"] == FAILED:
            if len(self.failures) < LISTED:
                self.failures.append((row["clip"], row["reason"]))
            return
        self.verdicts[row["verdict"]] += 1
        self.frames += row["frames"]
        self.duration += row["duration"]
        for each in self._rankings:
            value = row.get(each.column)
            if value is not None and row[f"{each.metric}.verdict"] in SEEN:
                # Of equal ones the first by name is named, in whatever order they come.
                entry = (each.sign * value, _Backwards(row["clip"]))
                heap: list[Any] = self._worst.setdefault(each.column, [])
                (heapq.heappush if len(heap) < WORST else heapq.heappushpop)(heap, entry)

    def worst(self) -> Iterator[tuple[Ranking, list[tuple[str, float]]]]:
        """For each metric the clips with the worst figures, worst first."""
        for each in self._rankings:
            entries = sorted(self._worst.get(each.column, []), reverse=True)
            if entries:
                yield each, [(str(clip), each.sign * value) for value, clip in entries]

    def verdict_counts(self) -> list[tuple[str, int]]:
        """How many clips got each verdict, the most alarming first."""
        return [(str(verdict), self.verdicts[verdict]) for verdict in reversed(ORDER) if self.verdicts[verdict]]

    def data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "clips": sum(self.counts.values()),
            DONE: self.counts[DONE],
            FAILED: self.counts[FAILED],
            "frames": self.frames,
            "duration": self.duration,
            "verdicts": dict(self.verdict_counts()),
            "failures": [{"clip": clip, "reason": reason} for clip, reason in self.failures],
            "worst": {
                each.column: [{"clip": clip, "value": value} for clip, value in clips] for each, clips in self.worst()
            },
        }


class _Backwards(str):
    """A text that sorts the other way round."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


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


def write_table(place: Location, name: str, rows: Callable[[], Iterable[Row]]) -> None:
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


POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""What the page may load: nothing but itself."""

SHOWN = 3000
"""Clips that the page lists; the table has all."""

PICTURES = 1000
"""Clips that the page shows a picture of."""

RANK = {"bad": 0, "noticeable": 1, "not graded": 2, "good": 3}


def write_page(
    place: Location, name: str, summary: Summary, rows: Callable[[], Iterable[Row]], pictures: Index
) -> None:
    """Write the page; the old one stays until the new one is whole.

    Args:
        place: The output's folder.
        name: The page's file in it.
        summary: What came of the clips.
        rows: Gives all rows, as often as it is called.
        pictures: The pictures, by clip.
    """
    parts = (part.encode("utf-8", "replace") for part in _parts(place, summary, rows, pictures))
    if isinstance(place, Folder):
        with open_to_write(place.path / name) as stream:
            stream.writelines(parts)
    else:
        place.write_bytes(name, b"".join(parts))


def open_in_studio(place: Location, output: str) -> tuple[str, str]:
    """How a result is opened: a link to its file, and the command that shows it in the studio."""
    return quote(output), f"understudy studio {shlex.quote(place.address(output))}"


def _parts(place: Location, summary: Summary, rows: Callable[[], Iterable[Row]], pictures: Index) -> Iterator[str]:
    """The page, piece by piece."""
    where = place.address()
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Batch: {escape(where)}</title><style>{_asset('page.css')}</style></head>\n<body>\n"
        f"<h1>{escape(where)}</h1>{_counts(summary)}\n"
    )
    yield from _worst(place, summary, pictures)
    yield (
        '<section><h2>Clips</h2><p class="controls"><input id="filter" type="search" aria-label="filter" '
        'placeholder="filter by name, status, reason"></p><table id="clips"><thead><tr><th>clip</th><th>status</th>'
        "<th>frames</th><th>verdicts</th><th>open</th></tr></thead>\n<tbody>\n"
    )
    shown = 0
    for row in _ordered(rows):
        yield _line(place, row, pictures if shown < PICTURES else None)
        shown += 1
    yield "</tbody></table>"
    left = sum(1 for _ in rows()) - shown
    if left > 0:
        yield f'<p class="note">and {left} more, which the table has</p>'
    yield f"</section>\n<script>{_asset('page.js')}</script>\n</body></html>\n"


def _asset(name: str) -> str:
    return (resources.files("understudy.batch") / name).read_text(encoding="utf-8")


def _ordered(rows: Callable[[], Iterable[Row]]) -> Iterator[Row]:
    """Rows in the order of the page, failed ones first, then by verdict; only so many."""
    left = SHOWN
    for wanted in (FAILED, *RANK):
        for row in rows():
            rank = FAILED if row["status"] == FAILED else row["verdict"]
            if rank == wanted and left > 0:
                left -= 1
                yield row


def _counts(summary: Summary) -> str:
    parts = [
        f'<b class="done">{summary.counts[DONE]}</b> done',
        f'<b class="failed">{summary.counts[FAILED]}</b> failed',
        f"{summary.frames} frames, {summary.duration:.1f} s of motion",
    ]
    parts += [f'<span class="verdict {name}">{name} {n}</span>' for name, n in summary.verdict_counts()]
    return f'<p class="about">{" · ".join(parts)}</p>'


def _worst(place: Location, summary: Summary, pictures: Index) -> Iterator[str]:
    """A strip of pictures for each metric, the worst clip first."""
    yield "<section><h2>Worst by metric</h2>"
    for ranking, clips in summary.worst():
        yield f"<h3>{escape(ranking.title)} <small>{escape(ranking.figure.replace('_', ' '))}</small></h3>"
        yield '<div class="strip">'
        for clip, value in clips[:5]:
            yield f"<figure>{_picture(pictures, clip)}<figcaption>{escape(clip)}<br>{value:.4g}</figcaption></figure>"
        yield "</div>\n"
    yield "</section>\n"


def _picture(pictures: Index | None, clip: str) -> str:
    return "" if pictures is None or clip not in pictures else str(pictures[clip]["picture"])


def _line(place: Location, row: Row, pictures: Index | None) -> str:
    """A clip's row of the page."""
    output = row.get("output", "")
    opened = ""
    if output:
        link, command = open_in_studio(place, output)
        name = PurePosixPath(output).name
        opened = (
            f'<a href="{escape(link)}">{escape(name)}</a>'
            f'<button type="button" data-copy="{escape(command)}" title="{escape(command)}">'
            "copy studio command</button>"
        )
    said = escape(row["reason"]) if row["status"] == FAILED else _verdicts(row)
    return (
        f'<tr class="{row["status"]}"><td>{_picture(pictures, row["clip"])}{escape(row["clip"])}</td>'
        f"<td>{row['status']}</td><td>{row.get('frames', '')}</td><td>{said}</td><td>{opened}</td></tr>\n"
    )


def _verdicts(row: Row) -> str:
    """The metrics that are not good, by verdict; or that all are."""
    found: dict[str, list[str]] = {}
    for name, metric in metrics().items():
        verdict: Any = row.get(f"{name}.verdict")
        if verdict in ("bad", "noticeable"):
            found.setdefault(verdict, []).append(metric.title)
    lines = [
        f'<span class="verdict {verdict}">{verdict}</span> {escape(", ".join(found[verdict]))}'
        for verdict in ("bad", "noticeable")
        if verdict in found
    ]
    return "<br>".join(lines) or '<span class="verdict good">good</span>'
