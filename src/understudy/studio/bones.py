"""Correspondence as the page shows it: pairs with confidence and reason, what is left over, and pairs made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.base.errors import UnderstudyError, nearest_names
from understudy.base.fields import FieldError, convert, unknown_key
from understudy.correspondence.map_file import PAIR_KEYS
from understudy.correspondence.pairs import Correspondence, Pair, same_names, same_structure
from understudy.correspondence.suggest import suggest
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Skeleton

Table = dict[str, Any]

BY_HAND = Pair.reason
"""The reason of pairs that nobody gives one for."""


def suggested(
    source: Skeleton, target: Skeleton, source_motion: Motion | None = None, target_motion: Motion | None = None
) -> Correspondence:
    """The pairs that are found by themselves."""
    if same_structure(source, target):
        return same_names(source, target)
    return suggest(source, target, source_motion=source_motion, target_motion=target_motion)


def correspondence_of(pairs: Sequence[Any], source: Skeleton, target: Skeleton) -> Correspondence:
    """The map that pairs of a document make; what is wrong with it is told with the pair."""
    if not isinstance(pairs, list):
        raise FieldError(f"expected a list of pairs, got {type(pairs).__name__}", ("pairs",))
    made = []
    for number, table in enumerate(pairs):
        try:
            made.append(_pair(table, source, target))
        except FieldError as error:
            raise FieldError(error.message, ("pairs", number, *error.keys), hint=error.hint) from None
        except UnderstudyError as error:
            raise FieldError(error.message, ("pairs", number), hint=error.hint) from None
    try:
        return Correspondence(source=source, target=target, pairs=tuple(made))
    except UnderstudyError as error:
        spoken = [i for i, p in enumerate(made) if any(f"`{bone}`" in error.message for bone in (*p.source, *p.target))]
        raise FieldError(error.message, ("pairs", *spoken[-1:]), hint=error.hint) from None


def _pair(table: Any, source: Skeleton, target: Skeleton) -> Pair:
    if not isinstance(table, dict):
        raise FieldError(f"expected a pair with `source` and `target`, got {table!r}")
    for key in table:
        if key not in ("source", "target", *PAIR_KEYS):
            raise unknown_key(key, ["source", "target", *PAIR_KEYS])
    bones = {side: _bones(table, side, whose) for side, whose in (("source", source), ("target", target))}
    values = {}
    for key, kind in PAIR_KEYS.items():
        if table.get(key) is not None:
            try:
                values[key] = convert(table[key], kind)
            except FieldError as error:
                raise FieldError(f"{key}: {error.message}", (key,), hint=error.hint) from None
    if "twist" in values:
        values["twist"] = float(np.radians(values["twist"]))
    return Pair(source=bones["source"], target=bones["target"], **values)


def _bones(table: Table, side: str, skeleton: Skeleton) -> tuple[str, ...]:
    given = table.get(side)
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise FieldError(f"expected a bone of the {side} or a list of them, got {given!r}", (side,))
    for name in names:
        if name not in skeleton.index:
            raise FieldError(f"the {side} has no bone `{name}`; {nearest_names(name, skeleton.names)}", (side,))
    return tuple(names)


def pair_tables(correspondence: Correspondence) -> list[Table]:
    """Pairs as a document holds them; the twist in degrees."""
    found = []
    for pair in correspondence.pairs:
        table: Table = {
            "source": pair.source[0] if len(pair.source) == 1 else list(pair.source),
            "target": pair.target[0] if len(pair.target) == 1 else list(pair.target),
            "confidence": float(pair.confidence),
            "reason": pair.reason,
        }
        if pair.align is not None:
            table["align"] = pair.align
        if pair.twist:
            table["twist"] = float(np.degrees(pair.twist))
        found.append(table)
    return found


def correspondence_table(correspondence: Correspondence, source: str, target: str, *, own: bool) -> Table:
    """A correspondence as the page is told of it, between two bodies on the stage."""
    return {
        "source": source,
        "target": target,
        "pairs": pair_tables(correspondence),
        "source_left": list(correspondence.unmatched("source")),
        "target_left": list(correspondence.unmatched("target")),
        "own": own,
    }
