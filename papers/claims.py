"""Every claim of the five papers in one table: where the paper makes it, and whether it holds.

A claim is checked on the tables of the experiments: on samples, on the captures that the methods were developed on, and
on fresh captures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.base import UNMET, Cell, Findings, Table
from papers.lommers13 import MAX_MISSING_REACH_METRES

Rows = list[dict[str, Any]]
"""The rows of a table, by the heads of its columns."""

Judge = Callable[[Rows], tuple[bool, str]]
"""Takes the rows of a table; says whether the claim holds, and the figure that shows it."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """Where a claim is checked: the table of an experiment."""

    experiment: str
    judge: Judge
    table: int = 0
    """Which of the experiment's tables."""

    def cell(self, results: Mapping[str, Findings]) -> str:
        """The result in a few words; empty if the experiment was not run."""
        findings = results.get(self.experiment)
        if findings is None:
            return "not run"
        table = findings.tables[self.table]
        holds, figure = self.judge([dict(zip(table.head, row, strict=True)) for row in table.rows])
        return f"{'yes' if holds else 'no'}: {figure}"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A claim of a paper."""

    paper: str
    section: str
    text: str
    samples: Check | None = None
    developed: Check | None = None
    fresh: Check | None = None

    def row(self, results: Mapping[str, Findings]) -> tuple[Cell, ...]:
        """The row of the claim."""
        checks = (self.samples, self.developed, self.fresh)
        return (self.paper, self.section, self.text, *(None if c is None else c.cell(results) for c in checks))


HEAD = ("paper", "section", "claim", "samples", "captures developed on", "fresh captures")


def claims_table(results: Mapping[str, Findings]) -> Table:
    """The table of all claims of the papers that were run."""
    names = {name.partition(".")[0] for name in results}
    rows = tuple(claim.row(results) for claim in CLAIMS if claim.paper in names)
    return Table(title="Claims of the papers", head=HEAD, rows=rows)


def column(rows: Rows, name: str, **where: object) -> list[float]:
    """The figures of a column, in the rows in which other columns have given values; empty cells are left out."""
    return [float(row[name]) for row in rows if row[name] is not None and all(row[k] == v for k, v in where.items())]


def energies(rows: Rows, method: str) -> list[float]:
    """Energies above 4, 8 and 12 Hz of a method, of all rows."""
    texts = [row["energy above 4/8/12 Hz"] for row in rows if row["method"] == method]
    return [float(word) for text in texts for word in text.split(" / ")]


def below(name: str, limit: float, unit: str, **where: object) -> Judge:
    """Every figure of a column is below a limit."""

    def judge(rows: Rows) -> tuple[bool, str]:
        worst = max(column(rows, name, **where))
        return worst < limit, f"at most {worst:.3g} {unit}"

    return judge


def above(name: str, limit: float, unit: str, **where: object) -> Judge:
    """Every figure of a column is above a limit."""

    def judge(rows: Rows) -> tuple[bool, str]:
        least = min(column(rows, name, **where))
        return least > limit, f"at least {least:.3g} {unit}"

    return judge


def all_met(rows: Rows) -> tuple[bool, str]:
    """No sentence of a figure says that a constraint is not met."""
    missed = sum(UNMET in str(row["result"]) for row in rows)
    return missed == 0, f"{len(rows) - missed} of {len(rows)} cases are met"


def stated(pattern: str, holds: Callable[[float], bool]) -> Judge:
    """The figures that a pattern finds in the sentences of a figure hold; the first sentence is shown."""

    def judge(rows: Rows) -> tuple[bool, str]:
        values = [float(found) for row in rows for found in re.findall(pattern, str(row["result"]))]
        return bool(values) and all(map(holds, values)), str(rows[0]["result"])

    return judge


def no_added_energy_stated(rows: Rows) -> tuple[bool, str]:
    """The same in the sentences of a figure, one for inverse kinematics and one for ours."""
    energy = {
        str(row["case"]): max(map(float, str(row["result"]).split("Hz ")[1].split(" of ")[0].split(" / ")))
        for row in rows
    }
    ours, ik = energy["ours"], energy["inverse kinematics"]
    return ours < 1.05 and ik > 1.1, f"energy ours {ours:.2f}, frame by frame {ik:.2f} times"


def no_added_energy(rows: Rows) -> tuple[bool, str]:
    """Our method holds the plants and adds no high frequencies; inverse kinematics adds them."""
    plants = max(column(rows, "plants off (mm)", method="ours"))
    ours, ik = energies(rows, "ours"), energies(rows, "inverse kinematics")
    holds = plants < 1.0 and max(abs(each - 1.0) for each in ours) < 0.05 and max(ik) > 1.1
    return holds, f"plants off {plants:.2g} mm; energy ours {max(ours):.2f}, frame by frame {max(ik):.2f} times"


def slides_are_named(rows: Rows) -> tuple[bool, str]:
    """Held points stand still; what slides on a foot that changes its length is named."""
    held, unmet = max(column(rows, "held points off (mm)")), sum(column(rows, "not met"))
    named = sum(column(rows, "contacts that slide, named"))
    return held < 1.0 and unmet == 0, f"held points off {held:.2g} mm; {named:.0f} slides of growing feet are named"


def holds_found(rows: Rows) -> tuple[bool, str]:
    """Holds within reach are met, or a dense solve misses them too."""
    words = [str(row["hold"]) for row in rows]
    counts = ", ".join(f"{words.count(word)} {word}" for word in ("met", "impossible", "missed"))
    return "missed" not in words, f"of {len(words)}: {counts}"


def tighter(rows: Rows) -> tuple[bool, str]:
    """The study's claim, with its own keys."""
    means = _study_means(rows, "study")
    return means[0] > means[1] > means[2], "off on average " + ", ".join(f"{mean:.0f}" for mean in means) + " mm"


def none_holds(rows: Rows) -> tuple[bool, str]:
    """No number of keys holds throughout."""
    few = [column(rows, "off at most (mm)", method=f"study, {count} keys")[0] for count in (4, 5, 6)]
    least = min(few)
    return least > 10.0, f"off by {least:.0f} mm or more somewhere"


def weights_matter_little(rows: Rows) -> tuple[bool, str]:
    """Equal weights hold about as tightly."""
    chosen, equal = _study_means(rows, "study"), _study_means(rows, "study, equal weights")
    ratios = [b / a for a, b in zip(chosen, equal, strict=True)]
    return max(abs(ratio - 1.0) for ratio in ratios) < 0.25, f"{min(ratios):.2f} to {max(ratios):.2f} times the error"


def less_believable(rows: Rows) -> tuple[bool, str]:
    """The arm wanders more with more keys."""
    ways = [column(rows, "arm goes (deg)", method=f"study, {count} keys")[0] for count in (4, 6)]
    return ways[1] > 1.1 * ways[0], f"arm goes {ways[0]:.0f} and {ways[1]:.0f} degrees (4 and 6 keys)"


def _study_means(rows: Rows, word: str) -> list[float]:
    return [column(rows, "off on average (mm)", method=f"{word}, {count} keys")[0] for count in (4, 5, 6)]


def trouble(rows: Rows) -> tuple[bool, str]:
    """There are frames that the study's solver does not meet."""
    where = str(rows[0]["frames that the study's solver misses alone"])
    return where != "none", where


def steps_small(rows: Rows) -> tuple[bool, str]:
    """Steps are at most 1.1 of the inputs', or a reason is given."""
    smooth = sum(bool(row["smooth"]) for row in rows)
    rough = [row for row in rows if not row["smooth"]]
    unexplained = [row for row in rough if "no reason" in str(row["why not"])]
    worst = max(float(row["steps, of the inputs'"] or np.inf) for row in rows)
    others = f", the others up to {worst:.2f} with a reason" if rough else f", at most {worst:.2f}"
    return not unexplained, f"{smooth} of {len(rows)} pairs{others}"


def solved(rows: Rows) -> tuple[bool, str]:
    """The thesis's constraints are met wherever the body reaches in any pose."""
    asked = [row for row in rows if row.get("way", "thesis") == "thesis"]
    left = {_row_name(row): float(row.get("left, ours (m)", row.get("left (m)"))) for row in asked}
    spare = {_row_name(row): float(row["reach to spare (m)"]) for row in asked}
    open_rows = [name for name, value in left.items() if value > 0.0]
    impossible = [name for name in open_rows if spare[name] < -MAX_MISSING_REACH_METRES]
    words = f"{len(left) - len(open_rows)} of {len(left)} solved"
    for name in impossible:
        words += f"; {name} is impossible: {-spare[name]:.2f} m of reach are missing in any pose"
    missed = [name for name in open_rows if name not in impossible]
    return not missed, words + (f"; not {', '.join(missed)}" if missed else "")


def _row_name(row: Mapping[str, Any]) -> str:
    """The configuration of a row, after the motion where a table has several."""
    return f"{row['motion']} {row['id']}" if "way" in row else str(row["id"])


def constraints_are_not_enough(rows: Rows) -> tuple[bool, str]:
    """Met constraints of the thesis still sink, penetrate or lose balance."""
    thesis = [row for row in rows if row["way"] == "thesis" and row["left (m)"] == 0.0]
    bad = [
        row
        for row in thesis
        if max(row["sunk (mm)"], row["arm inside (mm)"]) > 10 or str(row["balance"]).startswith(("no", "unlikely"))
    ]
    return len(bad) > 0, f"{len(bad)} of {len(thesis)} solved rows sink, penetrate or lose balance"


def balanced(rows: Rows) -> tuple[bool, str]:
    """Our restatement keeps balance wherever the body reaches; rows that no pose reaches are counted beside."""
    kept: dict[bool, list[bool]] = {True: [], False: []}
    for row in rows:
        if row["way"] == "ours":
            reaches = row["reach to spare (m)"] >= -MAX_MISSING_REACH_METRES
            kept[reaches].append(str(row["balance"]).startswith(("yes", "plausible")))
    words = f"{sum(kept[True])} of {len(kept[True])} rows in balance"
    return all(kept[True]), words + f"; of {len(kept[False])} that no pose reaches {sum(kept[False])}"


def above_the_floor(rows: Rows) -> tuple[bool, str]:
    """Our restatement keeps every part above the floor."""
    depths = {f"{row['motion']} {row['id']}": float(row["sunk (mm)"]) for row in rows if row["way"] == "ours"}
    deep = {name: depth for name, depth in depths.items() if depth > 10.0}
    text = ", ".join(f"{name} by {depth:.0f} mm" for name, depth in deep.items())
    return not deep, f"{len(depths) - len(deep)} of {len(depths)} rows" + (f"; below: {text}" if text else "")


def hands_outside(rows: Rows) -> tuple[bool, str]:
    """Our restatement keeps arms out of the rest of the body."""
    depths = {f"{row['motion']} {row['id']}": float(row["arm inside (mm)"]) for row in rows if row["way"] == "ours"}
    deep = {name: depth for name, depth in depths.items() if depth > 10.0}
    text = ", ".join(f"{name} by {depth:.0f} mm" for name, depth in deep.items())
    return not deep, f"{len(depths) - len(deep)} of {len(depths)} rows" + (f"; inside: {text}" if text else "")


def within(name: str, low: float, high: float) -> Judge:
    """A column is within bounds in all rows whose score is not low; the count of all rows is said, too."""

    def judge(rows: Rows) -> tuple[bool, str]:
        every = [float(row[name]) for row in rows if row[name] is not None]
        values = [float(row[name]) for row in rows if row[name] is not None and float(row["score"] or 0.0) >= 0.5]
        counts = [sum(low <= value <= high for value in group) for group in (values, every)]
        figure = f"{counts[0]} of {len(values)} not scored low, {min(values):.2g} to {max(values):.2g}"
        return counts[0] == len(values), f"{figure}; {counts[1]} of {len(every)} of all"

    return judge


def path_as_steps(rows: Rows) -> tuple[bool, str]:
    """The path is 0.7 to 1.4 times as long as its steps, or as the source's is against its own; of all rows."""
    paths = [
        (float(row["path / steps"]), float(row["the same of A"] or 1.0))
        for row in rows
        if row["path / steps"] is not None
    ]
    plain = sum(0.7 <= path <= 1.4 for path, _ in paths)
    kept = sum(any(0.7 <= each <= 1.4 for each in (path, path / source)) for path, source in paths)
    values = [path for path, _ in paths]
    figure = f"{plain} of {len(paths)}, {min(values):.2g} to {max(values):.2g}"
    return kept == len(paths), f"{figure}; {kept} with those whose source does as they do"


def scored_low(rows: Rows) -> tuple[bool, str]:
    """Whatever a viewer said no to has a low score."""
    from papers.analogies_variety import SEEN

    numbers = {number: float(row["score"] or 0.0) for number, row in enumerate(rows, 1)}
    refused = [number for number, (word, _) in SEEN.items() if word == "no"]
    high = [number for number in refused if numbers.get(number, 0.0) >= 0.5]
    return not high, f"{len(refused)} of {len(SEEN)} strips refused, {len(high)} of them scored 0.5 or more"


def correlated(rows: Rows) -> tuple[bool, str]:
    """Matched markers move as their partners do."""
    values = column(rows, "correlation")
    return min(values) > 0.8, f"correlation {min(values):.2f} to {max(values):.2f}, contacts off {_worst_contact(rows)}"


def _worst_contact(rows: Rows) -> str:
    return f"{max(column(rows, 'contacts after (mm)')):.2g} mm"


def quickest(rows: Rows) -> tuple[bool, str]:
    """Our solver is nearer and quicker than the paper's."""
    ours = next(row for row in rows if row["solver"] == "spacetime")
    others = [row for row in rows if row["paper (s)"] is not None]
    holds = all(ours["ours (s)"] < row["paper (s)"] for row in others)
    return holds, f"{ours['ours (s)']:.2g} s, worst {ours['ours, worst (mm)']:.2g} mm"


def median_score(rows: Rows) -> tuple[bool, str]:
    """Most combinations come out well."""
    scores = [float(row["score"] or 0.0) for row in rows]
    middle = float(np.median(scores))
    return middle > 0.6, f"scores {min(scores):.2f} to {max(scores):.2f}, median {middle:.2f}"


def check(experiment: str, judge: Judge, table: int = 0) -> Check:
    return Check(experiment=experiment, judge=judge, table=table)


def _gleicher() -> Iterable[Claim]:
    name = "gleicher98"
    yield Claim(
        paper=name, section="1.1, fig. 1", text="Figures of other sizes pick up the same box",
        samples=check(f"{name}.fig01", all_met), developed=check(f"{name}.boxes", below("hands off (mm)", 1.0, "mm")),
    )  # fmt: skip
    yield Claim(
        paper=name, section="fig. 2", text="A copied walk slides",
        samples=check(f"{name}.fig02", stated(r"slide by up to (\d+) mm", lambda mm: mm > 10)),
        developed=check(f"{name}.walks", above("plants off (mm)", 10.0, "mm", method="copied")),
        fresh=check(f"{name}.walks_fresh", above("plants off (mm)", 10.0, "mm", method="copied")),
    )  # fmt: skip
    yield Claim(
        paper=name, section="3, fig. 3", text="Solving frame by frame adds high frequencies, the whole motion does not",
        samples=check(f"{name}.fig03", no_added_energy_stated), developed=check(f"{name}.walks", no_added_energy),
        fresh=check(f"{name}.walks_fresh", no_added_energy),
    )  # fmt: skip
    yield Claim(
        paper=name, section="3.6, step 5", text="Denser keys meet what wide keys cannot",
        fresh=check(f"{name}.holds", holds_found),
    )  # fmt: skip
    yield Claim(
        paper=name, section="5, fig. 6", text="A body may change while it moves, and its contacts hold",
        samples=check(f"{name}.fig06", all_met), developed=check(f"{name}.morphs_captured", slides_are_named),
        fresh=check(f"{name}.morphs_fresh", slides_are_named),
    )  # fmt: skip
    yield Claim(
        paper=name, section="6, 7.2", text="The motion is solved in seconds",
        samples=check(f"{name}.solvers", quickest), developed=check(f"{name}.solvers_captured", quickest),
    )  # fmt: skip
    yield Claim(
        paper=name, section="7.2, fig. 4", text="Holds on a ladder are kept, fixed or sliding",
        samples=check(f"{name}.ladder", all_met),
        developed=check(f"{name}.ladder_captured", below("holds off (mm)", 1.0, "mm", method="ours")),
    )  # fmt: skip
    yield Claim(
        paper=name, section="7.3, fig. 9", text="Two dancers of other sizes keep their holds, adapting one or both",
        samples=check(f"{name}.fig09", all_met),
        developed=check(f"{name}.dance_captured", below("out of holds (mm)", 1.0, "mm", case="both adapted")),
    )  # fmt: skip
    yield Claim(
        paper=name, section="7.4, fig. 11", text="A soda can moves as a human does",
        samples=check(f"{name}.fig11_walk", all_met),
    )  # fmt: skip


def _vanderhyde() -> Iterable[Claim]:
    name = "vanderhyde03"
    places = {"samples": f"{name}.study", "developed": f"{name}.study_captured", "fresh": f"{name}.study_fresh"}
    for section, text, judge, table in (
        ("Results", "More keys hold more tightly (4, 5, 6 keys)", tighter, 0),
        ("Results", "More keys look less believable", less_believable, 0),
        ("Results", "With few keys no hold is kept throughout", none_holds, 0),
        ("Approach", "Weights of the joints make no great difference", weights_matter_little, 0),
        ("Results", "In a range of frames no hold is found", trouble, 2),
        (
            "Conclusions", "A solver as Gleicher's holds throughout: ours, by the arm alone, limited",
            below("off at most (mm)", 1.0, "mm", method="ours"), 0,
        ),
    ):  # fmt: skip
        checks = {place: check(experiment, judge, table) for place, experiment in places.items()}
        yield Claim(paper=name, section=section, text=text, **checks)


def _hsieh() -> Iterable[Claim]:
    name = "hsieh05"
    yield Claim(
        paper=name, section="3.2, fig. 8 (a)", text="A dog's motion plays on a man, and back",
        samples=check(f"{name}.hsieh08a", all_met),
        developed=check(f"{name}.played", below("plants off (mm)", 2.0, "mm")),
    )  # fmt: skip
    yield Claim(
        paper=name, section="fig. 8 (b)", text="A shark's motion plays on a man, by a map of several bones to one",
        samples=check(f"{name}.hsieh08b", stated(r"(\d+) off level", lambda degrees: degrees < 15)),
    )  # fmt: skip
    yield Claim(
        paper=name, section="4, fig. 9", text="One body turns into another while it moves; what stands stays",
        samples=check(f"{name}.hsieh09", stated(r"contacts within ([\d.]+) mm", lambda mm: mm < 2)),
        developed=check(f"{name}.turned", below("contacts off (mm)", 2.0, "mm")),
        fresh=check(f"{name}.kinds", below("contacts off (mm)", 1.0, "mm")),
    )  # fmt: skip
    yield Claim(
        paper=name, section="4", text="Steps of a transition are no larger than those of the inputs",
        developed=check(f"{name}.kinds", steps_small), fresh=check(f"{name}.kinds_other", steps_small),
    )  # fmt: skip
    yield Claim(
        paper=name, section="4", text="Nothing goes below the floor during a transition",
        developed=check(f"{name}.kinds", below("sunk (mm)", 5.0, "mm")),
        fresh=check(f"{name}.kinds_other", below("sunk (mm)", 5.0, "mm")),
    )  # fmt: skip


def _lommers() -> Iterable[Claim]:
    name = "lommers13"
    places = {"samples": f"{name}.today", "developed": f"{name}.today_captured", "fresh": f"{name}.today_fresh"}
    yield Claim(
        paper=name, section="7.2", text="Five of twelve configurations are not solved: all are here that can be",
        samples=check(f"{name}.table", solved), developed=check(f"{name}.table_captured", solved),
        fresh=check(f"{name}.today_fresh", solved),
    )  # fmt: skip
    for section, text, judge in (
        ("8", "Constraints that are met do not make a good motion by themselves", constraints_are_not_enough),
        ("7.3", "Restated by us, default weights: in balance", balanced),
        ("7.3", "Restated by us, default weights: hands outside the body", hands_outside),
        ("7.3", "Restated by us, default weights: nothing below the floor", above_the_floor),
    ):
        checks = {place: check(experiment, judge) for place, experiment in places.items()}
        yield Claim(paper=name, section=section, text=text, **checks)


def _analogies() -> Iterable[Claim]:
    name = "analogies"
    variety = f"{name}.variety"
    yield Claim(
        paper=name, section="6", text="Motions are carried to other morphologies by one example pair",
        samples=check(f"{name}.seven", correlated), developed=check(f"{name}.captured", correlated),
        fresh=check(variety, median_score),
    )  # fmt: skip
    yield Claim(
        paper=name, section="5", text="A result takes under a minute",
        samples=check(f"{name}.seven", below("seconds", 60.0, "s")),
        developed=check(f"{name}.captured", below("seconds", 60.0, "s")),
    )  # fmt: skip
    for text, judge in (
        ("Feet are lifted as much as the source's, in legs (0.6 to 1.6)", within("lift", 0.6, 1.6)),
        (
            "No foot is more than 0.1 legs above its hip unless the source's is",
            within("foot above hips (legs)", -np.inf, 0.1),
        ),
        ("Plants stand within 1 mm", within("plants (mm)", 0.0, 1.0)),
        ("The path is as long as its steps (0.7 to 1.4)", path_as_steps),
        ("What a viewer refuses is scored low", scored_low),
    ):
        yield Claim(paper=name, section="6, as seen", text=text, fresh=check(variety, judge))


CLAIMS: tuple[Claim, ...] = (*_gleicher(), *_vanderhyde(), *_hsieh(), *_lommers(), *_analogies())
"""In the order of the papers."""
