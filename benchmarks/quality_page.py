"""The page of the quality matrix: tables of figures, pairs, and where own verdict and judge disagree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from quality_figures import OWN_BOUNDS
from quality_judge import Figures
from quality_pairs import REPORT_FIGURES, Row

HEAD = """# Quality

<!-- Made by `make quality`; not edited by hand. -->

Every figure here was measured by `benchmarks/quality.py`. Two measures stand side by side. The *own* figures come from
the package: the verdict is that of `understudy evaluate`, and the path figures (`hips_jerk`, `pops`, `drift_share`) are
those of `benchmarks/quality_figures.py`. The *judge* is a program outside of the repository, which reads the written
BVH file and the source's with its own code. *Carried* is the judge's figure of the motion that is only carried to the
target, with nothing solved: what is beyond its bound there too does not come from the solver. Lengths without a unit
are in legs (hip to ankle), ratios are to the source's own figure.
"""

SECTION = re.compile(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)

MATRIX, COLLECTION = "Matrix", "Collection"

MAIN_FIGURES = (
    ("hips jerk", "hips_jerk", "jerk_hips"),
    ("pops", "pops", "pops"),
    ("drift", "drift_share", "drift_share"),
)
"""Title, own figure and the judge's figure of those that both measure."""

JERKS = tuple(f"jerk_{joint}" for joint in ("hips", "head", "hand", "knee", "foot"))

SUBJECTS = {
    "smooth": (("smoothness",), (*JERKS, "pops", "flips")),
    "feet": (("foot_skate", "floor", "contact_timing"), ("drift_share", "sunk")),
    "pose": (("similarity",), ("facing", "direction", "lean", "balance", "backwards")),
}
"""What both look at: metrics of `understudy evaluate`, and figures of the judge."""

NUM_WORST = 10


def number(value: float | None) -> str:
    """A cell: three digits that count."""
    if value is None or not np.isfinite(value):
        return "-"
    return "0" if abs(value) < 5e-5 else f"{value:.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown: columns of numbers to the right, others to the left."""
    numeric = [all(re.fullmatch(r"[-+.e\d/ ]*", row[i]) for row in rows) for i in range(len(columns))]
    lines = [columns, ["---:" if right else "---" for right in numeric], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def with_section(page: Path, title: str, text: str) -> str:
    """The text of the page with one section replaced or added."""
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    sections = {name: body.strip() for name, body in SECTION.findall(old)}
    sections[title] = text.strip()
    ordered = [name for name in (MATRIX, COLLECTION) if name in sections]
    return "\n".join([HEAD, *(f"## {name}\n\n{sections[name]}\n" for name in ordered)])


def section(rows: Sequence[Row], bounds: Figures, intro: str, *, worst_only: bool = False) -> str:
    """The text of a section.

    Args:
        rows: One for each pair.
        bounds: The judge's; empty without a judge.
        intro: What was run.
        worst_only: Only the worst pairs are listed, of many.
    """
    measured = [row for row in rows if not row.failure]
    ranked = sorted(measured, key=lambda row: -row.excess(bounds))
    listed = ranked[:NUM_WORST] if worst_only else list(rows)
    parts = [intro, conclusion(rows, bounds), "### Figures", summary_table(measured, bounds), own_table(measured)]
    parts += ["### The worst ten" if worst_only else "### Pairs", pair_table(listed, bounds)]
    if worst_only:
        parts += ["Ordered by how far all figures together are beyond their bounds."]
    parts += ["### Where own verdict and judge disagree", disagreement_table(measured, bounds, worst_only)]
    parts += [failure_table(rows)] if len(measured) < len(rows) else []
    return "\n\n".join(part for part in parts if part)


def conclusion(rows: Sequence[Row], bounds: Figures) -> str:
    """How many pairs are clean, in a sentence or two."""
    measured = [row for row in rows if not row.failure]
    judged = [row for row in measured if row.judged is not None]
    clean = sum(not row.beyond(bounds) for row in judged)
    own_clean = sum(not row.own_beyond() for row in measured)
    sentences = [f"{len(rows)} pairs, {len(rows) - len(measured)} without a result."]
    if bounds:
        carried = [row for row in judged if row.carried is not None]
        carried_clean = sum(not [k for k in bounds if not (row.carried or {})[k] <= bounds[k]] for row in carried)
        sentences.append(f"By the judge, {clean} of {len(judged)} have nothing beyond its bound;")
        sentences.append(f"of the carried motions, {carried_clean} of {len(carried)}.")
    else:
        sentences.append("The judge was not at hand.")
    sentences.append(f"By the own path figures, {own_clean} of {len(measured)} have nothing beyond.")
    verdicts = [
        f"{word} {sum(row.verdict == word for row in measured)}" for word in ("good", "noticeable", "bad", "failed")
    ]
    return " ".join([*sentences, f"Own verdicts: {', '.join(verdicts)}."])


def summary_table(rows: Sequence[Row], bounds: Figures) -> str:
    """The judge's figures: bound, pairs beyond, median and worst; and the same of the carried motions."""
    judged = [row for row in rows if row.judged is not None]
    if not bounds or not judged:
        return ""
    lines = []
    for name, bound in bounds.items():
        cells = [name, number(bound)]
        worst = max(judged, key=lambda row: (row.judged or {})[name])
        for figures in ([row.judged for row in judged], [row.carried for row in judged if row.carried is not None]):
            values = np.array([found[name] for found in figures if found is not None])
            cells += [str(int((values > bound).sum())), number(_median(values)), number(values.max(initial=0.0))]
        lines.append([*cells, worst.pair.name])
    columns = [
        "judge's figure",
        "bound",
        "beyond",
        "median",
        "worst",
        "carried: beyond",
        "median",
        "worst",
        "worst pair",
    ]
    return table(columns, lines)


def own_table(rows: Sequence[Row]) -> str:
    """The own figures: bound if there is one, pairs beyond, median, worst."""
    lines = []
    names = [*((name, "own") for name in OWN_BOUNDS), *((name, "report") for name in REPORT_FIGURES)]
    for name, kind in names:
        found = [(getattr(row, kind)[name], row) for row in rows if name in getattr(row, kind)]
        if not found:
            continue
        values = np.array([value for value, _ in found])
        bound = OWN_BOUNDS.get(name)
        worst = int(np.argmin(values) if name == "contacts recall" else np.argmax(values))
        beyond = "" if bound is None else str(int((values > bound).sum()))
        limit = "" if bound is None else number(bound)
        lines.append([name, limit, beyond, number(_median(values)), number(values[worst]), found[worst][1].pair.name])
    return table(["own figure", "bound", "beyond", "median", "worst", "worst pair"], lines)


def _median(values: np.ndarray) -> float:
    return float(np.median(values)) if values.size else np.nan


def pair_table(rows: Sequence[Row], bounds: Figures) -> str:
    """A row for each pair: the main figures by own measure, by the judge and carried, and all that is beyond."""
    columns = ["pair", "s", "own verdict"]
    columns += [f"{title}: own / judge / carried" for title, _, _ in MAIN_FIGURES]
    columns += ["plants, mm", "beyond, by the judge"]
    lines = []
    for row in rows:
        if row.failure:
            lines.append([row.pair.name, "", "no result", *[""] * len(MAIN_FIGURES), "", row.failure])
            continue
        faults = [metric for metric, verdict in row.verdicts.items() if verdict in ("noticeable", "bad")]
        cells = [row.pair.name, f"{row.seconds:.1f}", f"{row.verdict}{': ' if faults else ''}{', '.join(faults)}"]
        for _, own, judge in MAIN_FIGURES:
            values = (row.own.get(own), (row.judged or {}).get(judge), (row.carried or {}).get(judge))
            cells.append(" / ".join(map(number, values)))
        beyond = ", ".join(f"{name} {number((row.judged or {})[name])}" for name in row.beyond(bounds))
        if row.judged is None:
            beyond = f"not judged: {row.not_judged}"
        lines.append([*cells, number(row.own["plant_error_mm"]), beyond or "nothing"])
    return table(columns, lines)


def disagreement_table(rows: Sequence[Row], bounds: Figures, counts_only: bool) -> str:
    """The pairs in which one calls a subject good and the other does not, or how many they are."""
    lines = [[row.pair.name, *cells] for row in rows for cells in disagreements(row, bounds)]
    if not bounds:
        return "The judge was not at hand."
    if not lines:
        return "Nowhere."
    if counts_only:
        lines = [
            [subject, str(sum(line[1] == subject and line[3] != "nothing" for line in lines)),
             str(sum(line[1] == subject and line[3] == "nothing" for line in lines))]
            for subject in ("verdict", *SUBJECTS)
        ]  # fmt: skip
        return table(
            ["subject", "pairs that only the judge finds fault with", "pairs that only the package does"], lines
        )
    return table(["pair", "subject", "own verdict", "judge finds fault with"], lines)


def disagreements(row: Row, bounds: Figures) -> list[list[str]]:
    """Subject, own verdict and the judge's faults where only one of the two finds any; the verdict as a whole first."""
    if row.judged is None:
        return []
    beyond, found = row.beyond(bounds), []
    if (row.verdict == "good") == bool(beyond):
        found.append(["verdict", row.verdict, ", ".join(beyond) or "nothing"])
    for subject, (metrics, names) in SUBJECTS.items():
        faults = [f"{m} {row.verdicts[m]}" for m in metrics if row.verdicts.get(m) in ("noticeable", "bad")]
        judged = [f"{name} {number(row.judged[name])}" for name in beyond if name in names]
        if bool(faults) != bool(judged):
            found.append([subject, ", ".join(faults) or "good", ", ".join(judged) or "nothing"])
    return found


def failure_table(rows: Sequence[Row]) -> str:
    """The pairs without a result, with the reasons."""
    lines = [[row.pair.name, row.failure] for row in rows if row.failure]
    return "### Without a result\n\n" + table(["pair", "why"], lines)
