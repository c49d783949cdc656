"""What an evaluation says, as a table of verdicts with the figures behind each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

GRADES = ("good", "noticeable", "bad")


def measured(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names and plain data of the measurements of a report."""
    for name, entry in report.get("metrics", {}).items():
        yield str(name), entry


def verdict_table(report: Mapping[str, Any]) -> str:
    """The verdicts as an HTML table; each row opens to its figures."""
    rows = [_row(name, entry) for name, entry in measured(report)]
    if not rows:
        return '<p class="note">Nothing was measured.</p>'
    counts = {grade: sum(str(e["verdict"]) == grade for _, e in measured(report)) for grade in GRADES}
    said = ", ".join(f"{count} {grade}" for grade, count in counts.items() if count)
    head = "<tr><th>Measured</th><th>Verdict</th><th>In words</th></tr>"
    return f'<p class="about">{said or "nothing graded"}</p><table>{head}{"".join(rows)}</table>'


def problems(report: Mapping[str, Any]) -> str:
    """Why a result is not usable, and remarks on how it was measured; empty where there are neither."""
    failures = "".join(f"<li>{escape(str(each))}</li>" for each in report.get("failures") or ())
    notes = "".join(f'<p class="note">{escape(str(each))}</p>' for each in report.get("notes") or ())
    failed = f'<p class="verdict bad">This result is not usable:</p><ul>{failures}</ul>' if failures else ""
    return failed + notes


def _row(name: str, entry: Mapping[str, Any]) -> str:
    verdict = str(entry["verdict"])
    kind = verdict if verdict in GRADES else "none"
    words = escape(str(entry.get("words", "")))
    figures = _figures(entry)
    inner = f"<details><summary>{words}</summary>{figures}</details>" if figures else words
    title = escape(str(entry.get("title") or name))
    return f'<tr><td>{title}</td><td class="verdict {kind}">{escape(verdict)}</td><td>{inner}</td></tr>'


def _figures(entry: Mapping[str, Any]) -> str:
    """The figures of a measurement as a table, with the thresholds of those that are graded."""
    limits = entry.get("thresholds", {})
    rows = []
    for name, figure in entry.get("figures", {}).items():
        value, unit = figure.get("value"), str(figure.get("unit", ""))
        shown = "-" if value is None else f"{value:.4g} {unit}"
        limit = limits.get(name)
        told = ""
        if limit:
            told = f"noticeable from {limit['noticeable']:.3g}, bad from {limit['bad']:.3g} ({limit.get('source', '')})"
        about = escape(str(figure.get("about") or name))
        rows.append(f"<tr><td>{about}</td><td>{escape(shown)}</td><td>{escape(told)}</td></tr>")
    return f"<table>{''.join(rows)}</table>" if rows else ""
