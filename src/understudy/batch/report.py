"""The report of a batch: counts and worst clips, the table of all clips, and the HTML page with a picture of each."""

from __future__ import annotations

import csv
import heapq
import io
import shlex
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import import_module, resources
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO
from urllib.parse import quote

import understudy
from understudy.base.errors import MissingPackageError
from understudy.base.files import open_to_write
from understudy.base.records import record
from understudy.batch.journal import Index, Journal, read_entries
from understudy.batch.location import Folder, Location
from understudy.batch.model import DONE, FAILED, STATE_FOLDER, Row
from understudy.metrics.base import VERDICT_ORDER, Verdict, metrics

MAX_WORST_CLIPS = 10
"""Clips that the summary lists for each metric."""

MAX_PICTURED_WORST_CLIPS = 5
"""Clips that the page shows for each metric."""

WORST_VERDICTS = (Verdict.NOTICEABLE, Verdict.BAD)
"""Verdicts of clips that count among the worst; a good clip never does."""

MAX_LISTED_FAILURES = 1000
"""Failed clips that the summary lists."""


@record(eq=True)
class Ranking:
    """The figure of a metric by which clips are ranked."""

    metric: str
    title: str
    figure: str
    sign: float
    """1 where a large figure is bad, -1 where a small one is."""
    remedy: str
    """What to do about it."""

    @property
    def column(self) -> str:
        return f"{self.metric}.{self.figure}"


def rankings() -> list[Ranking]:
    """One ranking for each graded metric: by its first figure with a threshold."""
    result = []
    for name, metric in metrics().items():
        for grade in metric.grades[:1]:
            sign = 1.0 if grade.bad >= grade.noticeable else -1.0
            result.append(
                Ranking(metric=name, title=metric.title, figure=grade.figure, sign=sign, remedy=metric.remedy)
            )
    return result


@dataclass(eq=False, kw_only=True)
class Summary:
    """Counts, failures and worst clips of a batch, collected row by row in bounded memory."""

    counts: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    frames: int = 0
    duration: float = 0.0
    failures: list[tuple[str, str]] = field(default_factory=list)
    """Clips and reasons of the first failed clips."""
    metric_verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of clips by metric and verdict."""
    skipped: list[str] = field(default_factory=list)
    """A sentence on each folder of the source that could not be read."""
    empty: list[str] = field(default_factory=list)
    """Clips that were left out because they move nothing, while others of their file do."""
    gone: list[str] = field(default_factory=list)
    """Clips of earlier runs that are not in the source any more; their results were removed."""
    _worst: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    _rankings: list[Ranking] = field(default_factory=rankings)

    def add(self, row: Row) -> None:
        """Add a row."""
        self.counts[row["status"]] += 1
        if row["status"] == FAILED:
            if len(self.failures) < MAX_LISTED_FAILURES:
                self.failures.append((row["clip"], row["reason"]))
            return
        self.verdicts[row["verdict"]] += 1
        self.frames += row["frames"]
        self.duration += row["duration"]
        for ranking in self._rankings:
            self.metric_verdicts[ranking.metric, row.get(f"{ranking.metric}.verdict", Verdict.UNGRADED)] += 1
            value = row.get(ranking.column)
            if value is not None and row.get(f"{ranking.metric}.verdict") in WORST_VERDICTS:
                # Equal figures are ranked by name, so that the order of the rows does not matter.
                entry = (ranking.sign * value, _ReverseOrder(row["clip"]))
                heap: list[Any] = self._worst.setdefault(ranking.column, [])
                (heapq.heappush if len(heap) < MAX_WORST_CLIPS else heapq.heappushpop)(heap, entry)

    def worst(self) -> Iterator[tuple[Ranking, list[tuple[str, float]]]]:
        """The clips with the worst figures of each metric, worst first; the metric that is bad in most clips first."""
        for ranking in sorted(self._rankings, key=lambda ranking: [-count for count in self.defects(ranking)]):
            entries = sorted(self._worst.get(ranking.column, []), reverse=True)
            if entries:
                yield ranking, [(str(clip), ranking.sign * value) for value, clip in entries]

    def defects(self, ranking: Ranking) -> tuple[int, int]:
        """The numbers of clips in which a metric is bad and noticeable."""
        bad, noticeable = (self.metric_verdicts[ranking.metric, verdict] for verdict in reversed(WORST_VERDICTS))
        return bad, noticeable

    def verdict_counts(self) -> list[tuple[str, int]]:
        """The number of clips with each verdict, worst verdict first."""
        return [(str(verdict), self.verdicts[verdict]) for verdict in reversed(VERDICT_ORDER) if self.verdicts[verdict]]

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
            "skipped": self.skipped,
            "empty": self.empty,
            "gone": self.gone,
            "worst": {
                ranking.column: [{"clip": clip, "value": value} for clip, value in clips]
                for ranking, clips in self.worst()
            },
            "defects": {
                ranking.metric: {
                    **dict(zip(("bad", "noticeable"), self.defects(ranking), strict=True)),
                    "hint": ranking.remedy,
                }
                for ranking, _ in self.worst()
            },
        }


class _ReverseOrder(str):
    """A text that sorts in reverse order."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


TABLE_FORMATS = ("csv", "parquet")

FIRST_COLUMNS = (
    "clip", "status", "reason", "output", "verdict", "frames", "fps", "duration", "joints", "solver", "spacing",
    "steps", "constraints", "unmet",
)  # fmt: skip
"""Columns that come first; the metrics follow, sorted by name."""

LAST_COLUMNS = ("notes", "not_kept", "source_sha256", "output_sha256", "bytes", "key", "version_", "seconds")
"""Prefixes of the columns that come last."""

PARQUET_GROUP_ROWS = 2000
"""Rows that are held in memory at a time."""


def columns_of(rows: Iterable[Row]) -> dict[str, type]:
    """The columns of a table, in order, with the type of their values."""
    types: dict[str, type] = {}
    for row in rows:
        for name, value in row.items():
            value_type = str if value is None or isinstance(value, list) else type(value)
            previous = types.get(name)
            if previous is None or value is not None:
                types[name] = float if {previous, value_type} == {int, float} else value_type
    others = sorted(name for name in types if name not in FIRST_COLUMNS)
    last = [name for prefix in LAST_COLUMNS for name in others if name.startswith(prefix)]
    names = [*FIRST_COLUMNS, *(name for name in others if name not in last), *last]
    return {name: types.get(name, str) for name in names}


REPORT_FILES = ("rows.jsonl", "table.csv", "table.parquet", "index.html", "manifest.sha256")
"""The files of a report in the output folder."""

MAX_PARQUET_ROWS = 100_000
"""Rows of one Parquet file; a larger table is a folder of several files."""


def write_reports(location: Location, table: str, summary: Summary, rows: Journal, pictures: Journal) -> None:
    """Write the table, the page and the manifest of a batch whose journals are compacted.

    Args:
        location: The output folder.
        table: `csv` or `parquet`.
        summary: Of the clips that the page counts.
        rows: The rows.
        pictures: The pictures.
    """

    def read_rows() -> Iterator[Row]:
        return read_entries(rows)

    write_table(location, f"table.{table}", read_rows)
    write_page(location, "index.html", summary, read_rows, Index.of(pictures))
    write_manifest(location, "manifest.sha256", read_rows)


def write_table(location: Location, name: str, rows: Callable[[], Iterable[Row]]) -> None:
    """Write a table; an old one is replaced when the new one is complete.

    A Parquet table with more rows than one file should hold becomes a folder of that name, with files in it that
    readers of Parquet take as one table.

    Args:
        location: The output folder.
        name: The file in it; its suffix determines the format.
        rows: Returns all rows; called more than once.
    """
    columns = columns_of(rows())
    if not name.endswith(".parquet"):
        _write_file(location, name, lambda stream: _write_csv(stream, columns, rows()))
        return
    num_parts = max(1, -(-sum(1 for _ in rows()) // MAX_PARQUET_ROWS))
    remaining, parts = iter(rows()), [f"part-{number:05d}.parquet" for number in range(num_parts)]
    if num_parts == 1:
        _remove_folder(location, name, keep=())
        _write_file(location, name, lambda stream: _write_parquet(stream, columns, remaining))
        return
    if location.size(name) is not None:
        location.remove(name)
    for part in parts:
        taken = islice(remaining, MAX_PARQUET_ROWS)
        _write_file(location, f"{name}/{part}", lambda stream, taken=taken: _write_parquet(stream, columns, taken))  # type: ignore[misc]
    _remove_folder(location, name, keep=parts)


def _remove_folder(location: Location, name: str, keep: Sequence[str]) -> None:
    """Remove the files of a folder, and a local folder itself if none is kept."""
    for other in location.names(name):
        if other not in keep:
            location.remove(f"{name}/{other}")
    if isinstance(location, Folder) and not keep and (location.path / name).is_dir():
        (location.path / name).rmdir()


def _write_file(location: Location, name: str, write: Callable[[BinaryIO], None]) -> None:
    """Write a file of a report, whole or not at all."""
    if isinstance(location, Folder):
        path = location.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_to_write(path) as stream:
            write(stream)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "file"
        with open(copy, "wb") as stream:
            write(stream)
        location.put(copy, name)


def write_manifest(location: Location, name: str, rows: Callable[[], Iterable[Row]]) -> None:
    """Write the SHA-256 of every result, in the form that `sha256sum --check` reads."""

    def write(stream: BinaryIO) -> None:
        stream.write(f"# results of understudy {understudy.__version__}; rows.jsonl says what made each\n".encode())
        for row in rows():
            if row.get("output") and row.get("output_sha256"):
                stream.write(manifest_line(row["output_sha256"], row["output"]))

    _write_file(location, name, write)


def manifest_line(digest: str, name: str) -> bytes:
    """A line of a manifest. Line ends and backslashes in names are escaped as `sha256sum` does it."""
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    mark = "\\" if escaped != name else ""
    return f"{mark}{digest}  {escaped}\n".encode("utf-8", "surrogateescape")


def _write_csv(stream: BinaryIO, columns: dict[str, type], rows: Iterable[Row]) -> None:
    # Bytes of file names that are not UTF-8 are written as escapes.
    text = io.TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace", newline="", write_through=True)
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    for row in rows:
        table.writerow([_cell(row.get(name)) for name in columns])
    # The caller closes the stream.
    text.detach()


def _cell(value: Any) -> Any:
    return "; ".join(value) if isinstance(value, list) else value


def _valid_text(value: Any) -> Any:
    """A cell for Parquet, whose texts are UTF-8: other bytes of file names are written as escapes."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _write_parquet(stream: BinaryIO, columns: dict[str, type], rows: Iterable[Row]) -> None:
    arrow, parquet = load_parquet()
    types = {int: arrow.int64(), float: arrow.float64(), str: arrow.string()}
    schema = arrow.schema([(name, types[column_type]) for name, column_type in columns.items()])
    with parquet.ParquetWriter(stream, schema) as writer:
        remaining = iter(rows)
        while group := list(islice(remaining, PARQUET_GROUP_ROWS)):
            cells = {name: [_valid_text(_cell(row.get(name))) for row in group] for name in columns}
            writer.write_table(arrow.table(cells, schema=schema))


def load_parquet() -> tuple[Any, Any]:
    """Import the package that writes Parquet; raises an error that says how to install it."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise MissingPackageError("pyarrow", "parquet", "Writing tables as Parquet") from None


CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""The page may load nothing from elsewhere."""

MAX_PAGE_CLIPS = 1000
"""Clips that one page lists; further clips are on further pages."""

PAGES_FOLDER = f"{STATE_FOLDER}/pages"
"""The folder of the pages after the first. It is no folder that results can be in."""

FROM_PAGES = "../../"
"""Leads from the folder of pages to the output folder."""

PAGE_ORDER = (FAILED, "bad", "noticeable", "not graded", "good")
"""The order of clips on the page, by status or verdict."""


def write_page(
    location: Location, name: str, summary: Summary, rows: Callable[[], Iterable[Row]], pictures: Index
) -> None:
    """Write the page, and further ones for the clips beyond its end; old ones are replaced by complete new ones.

    Args:
        location: The output folder.
        name: The page's file in it.
        summary: Of all clips.
        rows: Returns all rows; called more than once.
        pictures: The pictures, by clip.
    """
    num_pages = max(1, -(-sum(1 for _ in rows()) // MAX_PAGE_CLIPS))
    ordered, files = _page_rows(rows), [name, *(f"{PAGES_FOLDER}/{n:05d}.html" for n in range(2, num_pages + 1))]
    for number, file in enumerate(files):
        page_rows = islice(ordered, MAX_PAGE_CLIPS)
        parts = _page_parts(location, summary if number == 0 else None, page_rows, pictures, _page_links(files, number))
        _write_file(location, file, lambda stream, parts=parts: _write_text(stream, parts))  # type: ignore[misc]
    _remove_folder(location, PAGES_FOLDER, keep=[PurePosixPath(file).name for file in files[1:]])


def _write_text(stream: BinaryIO, parts: Iterable[str]) -> None:
    stream.writelines(part.encode("utf-8", "replace") for part in parts)


def _page_links(files: list[str], number: int) -> str:
    """Links from a page to the previous and the next one; empty where there is only one."""
    if len(files) == 1:
        return ""
    up = "" if number == 0 else FROM_PAGES
    ends = (("first", 0), ("previous", number - 1), ("next", number + 1), ("last", len(files) - 1))
    links = [f'<a href="{up}{escape(files[i])}">{word}</a>' for word, i in ends if 0 <= i < len(files) and i != number]
    return f'<p class="note">page {number + 1} of {len(files)}: {" · ".join(links)}</p>'


def open_in_studio(location: Location, output: str) -> tuple[str, str]:
    """The link to the file of a result, and the command that opens it in the studio."""
    return quote(output, errors="surrogateescape"), f"understudy studio {shlex.quote(location.address(output))}"


def _page_parts(
    location: Location, summary: Summary | None, rows: Iterable[Row], pictures: Index, links: str
) -> Iterator[str]:
    """A page, part by part; only the first one has a summary."""
    address = location.address()
    yield (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Batch: {escape(address)}</title><style>{_asset('page.css')}</style></head>\n<body>\n"
        f"<h1>{escape(address)}</h1>{'' if summary is None else _counts_line(summary)}\n"
    )
    if summary is not None:
        yield from _worst_section(summary, pictures)
    yield (
        f"{links}<section>"
        '<h2>Clips</h2><p class="controls"><input id="filter" type="search" aria-label="filter" '
        'placeholder="filter by name, status, reason"></p><table id="clips"><thead><tr><th>clip</th><th>status</th>'
        "<th>frames</th><th>verdicts</th><th>open</th></tr></thead>\n<tbody>\n"
    )
    for row in rows:
        yield _clip_row(location, row, pictures, "" if summary is not None else FROM_PAGES)
    yield "</tbody></table>"
    yield f"</section>{links}\n<script>{_asset('page.js')}</script>\n</body></html>\n"


def _asset(name: str) -> str:
    return (resources.files("understudy.batch") / name).read_text(encoding="utf-8")


def _page_rows(rows: Callable[[], Iterable[Row]]) -> Iterator[Row]:
    """The rows in the order of the pages: failed clips first, then by verdict."""
    for group in PAGE_ORDER:
        for row in rows():
            row_group = FAILED if row["status"] == FAILED else row["verdict"]
            if row_group == group:
                yield row


def _counts_line(summary: Summary) -> str:
    parts = [
        f'<b class="done">{summary.counts[DONE]}</b> done',
        f'<b class="failed">{summary.counts[FAILED]}</b> failed',
        f"{summary.frames} frames, {summary.duration:.1f} s of motion",
    ]
    parts += [f'<span class="verdict {name}">{name} {count}</span>' for name, count in summary.verdict_counts()]
    return f'<p class="about">{" · ".join(parts)}</p>'


def _worst_section(summary: Summary, pictures: Index) -> Iterator[str]:
    """A row of pictures for each metric, worst clip first."""
    yield "<section><h2>Worst by metric</h2>"
    for ranking, clips in summary.worst():
        yield f"<h3>{escape(ranking.title)} <small>{escape(ranking.figure.replace('_', ' '))}</small></h3>"
        bad, noticeable = summary.defects(ranking)
        yield f"<p>bad in {bad}, noticeable in {noticeable}; {escape(ranking.remedy)}</p>"
        yield '<div class="strip">'
        for clip, value in clips[:MAX_PICTURED_WORST_CLIPS]:
            yield f"<figure>{_picture(pictures, clip)}<figcaption>{escape(clip)}<br>{value:.4g}</figcaption></figure>"
        yield "</div>\n"
    yield "</section>\n"


def _picture(pictures: Index, clip: str) -> str:
    return "" if clip not in pictures else str(pictures[clip]["picture"])


def _clip_row(location: Location, row: Row, pictures: Index, up: str) -> str:
    """The table row of a clip; `up` leads from the page's folder to the output folder."""
    output = row.get("output", "")
    links = ""
    if output:
        link, command = open_in_studio(location, output)
        name = PurePosixPath(output).name
        links = (
            f'<a href="{up}{escape(link)}">{escape(name)}</a>'
            f'<button type="button" data-copy="{escape(command)}" title="{escape(command)}">'
            "copy studio command</button>"
        )
    remarks = escape(row["reason"]) if row["status"] == FAILED else _verdicts(row)
    return (
        f'<tr class="{row["status"]}"><td>{_picture(pictures, row["clip"])}{escape(row["clip"])}</td>'
        f"<td>{row['status']}</td><td>{row.get('frames', '')}</td><td>{remarks}</td><td>{links}</td></tr>\n"
    )


def _verdicts(row: Row) -> str:
    """The metrics that are bad or noticeable; `good` if there are none."""
    titles: dict[str, list[str]] = {}
    for name, metric in metrics().items():
        verdict: Any = row.get(f"{name}.verdict")
        if verdict in ("bad", "noticeable"):
            titles.setdefault(verdict, []).append(metric.title)
    lines = [
        f'<span class="verdict {verdict}">{verdict}</span> {escape(", ".join(titles[verdict]))}'
        for verdict in ("bad", "noticeable")
        if verdict in titles
    ]
    return "<br>".join(lines) or '<span class="verdict good">good</span>'
