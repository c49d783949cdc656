"""Rules that results must meet: `--accept foot_skate.added_drift<0.01` keeps only clips whose feet stand."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any

from understudy.base.errors import OptionError, nearest_names
from understudy.batch.model import Row
from understudy.metrics.base import VERDICT_ORDER, metrics

RULE = re.compile(r"\s*([a-z_]+(?:\.[a-z_0-9]+)?)\s*(<=|>=|<|>|=)\s*(\S(?:.*\S)?)\s*")
"""A column of the table, a comparison, and a number or verdict."""

COMPARISONS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "<=": (operator.le, "at most"),
    ">=": (operator.ge, "at least"),
    "<": (operator.lt, "below"),
    ">": (operator.gt, "above"),
    "=": (operator.eq, "exactly"),
}

VERDICTS = [str(verdict) for verdict in VERDICT_ORDER]
"""From best to worst."""

PLAIN_COLUMNS = ("unmet", "frames", "duration")
"""Columns besides verdicts and the figures of metrics that a rule may name."""


def check_rules(rules: Iterable[str]) -> None:
    """Refuse rules that cannot be understood, before any clip is processed."""
    for rule in rules:
        column, _, value = _parse(rule)
        metric, _, figure = column.partition(".")
        if metric not in metrics() and column not in ("verdict", *PLAIN_COLUMNS):
            raise OptionError(f"`{rule}`: there is no metric `{metric}`; {nearest_names(metric, metrics())}")
        if metric in metrics() and not figure:
            raise OptionError(f"`{rule}`: expected a figure of `{metric}`, such as `{metric}.verdict`")
        if column.endswith("verdict"):
            if value not in VERDICTS:
                raise OptionError(f"`{rule}`: expected a verdict, one of {', '.join(VERDICTS)}; got `{value}`")
        elif _number(value) is None:
            raise OptionError(f"`{rule}`: expected a finite number after the comparison, got `{value}`")


def broken_rules(rules: Iterable[str], row: Row) -> list[str]:
    """A sentence on every rule that a row breaks. A figure that was not measured breaks none.

    Args:
        rules: As `check_rules` takes them.
        row: With the columns of the measurements.
    """
    sentences = []
    for rule in rules:
        column, sign, value = _parse(rule)
        actual, (compare, words) = row.get(column), COMPARISONS[sign]
        if actual is None or actual == "not graded":
            continue
        if column.endswith("verdict"):
            accepted = compare(VERDICTS.index(str(actual)), VERDICTS.index(value))
        else:
            accepted = compare(actual, _number(value))
        if not accepted:
            shown = actual if isinstance(actual, str) else f"{actual:.4g}"
            sentences.append(f"not accepted: {column} is {shown}, expected {words} {value}")
    return sentences


def _parse(rule: str) -> tuple[str, str, str]:
    match = RULE.fullmatch(rule)
    if match is None:
        raise OptionError(
            f"Expected a rule such as `foot_skate.added_drift<0.01` or `verdict<=noticeable`, got `{rule}`",
            hint="the columns of the table that a batch writes are the names that rules may use",
        )
    return match[1], match[2], match[3]


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None
