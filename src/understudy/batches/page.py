"""The page of a batch: what came of it, the worst clips by metric, and all clips with a small picture each."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from html import escape
from importlib import resources
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from understudy.batches.journal import Index
from understudy.batches.model import DONE, FAILED, Row
from understudy.batches.places import Folder, Place
from understudy.batches.summary import Summary
from understudy.io.files import open_to_write
from understudy.metrics import metrics

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""What the page may load: nothing but itself."""
SHOWN = 3000
"""Clips that the page lists; the table has all."""
PICTURES = 1000
"""Clips that the page shows a picture of."""
RANK = {"bad": 0, "noticeable": 1, "not graded": 2, "good": 3}


def write_page(place: Place, name: str, summary: Summary, rows: Callable[[], Iterable[Row]], pictures: Index) -> None:
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


def open_in_studio(place: Place, output: str) -> tuple[str, str]:
    """How a result is opened: a link to its file, and the command that shows it in the studio."""
    return quote(output), f"understudy studio {shlex.quote(place.address(output))}"


def _parts(place: Place, summary: Summary, rows: Callable[[], Iterable[Row]], pictures: Index) -> Iterator[str]:
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
    return (resources.files("understudy.batches") / name).read_text(encoding="utf-8")


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


def _worst(place: Place, summary: Summary, pictures: Index) -> Iterator[str]:
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


def _line(place: Place, row: Row, pictures: Index | None) -> str:
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
