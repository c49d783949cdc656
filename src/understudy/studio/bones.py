"""Correspondences as the page shows and edits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.base.errors import UnderstudyError, nearest_names
from understudy.base.fields import FieldError, convert, unknown_key
from understudy.base.quaternion import Array
from understudy.correspondence.map_file import ANGLE_KEYS, PAIR_KEYS
from understudy.correspondence.pairs import Correspondence, Pair, pair_same_names, same_structure
from understudy.correspondence.suggest import suggest
from understudy.figure.kinematics import fk
from understudy.figure.motion import Motion, rest_motion
from understudy.figure.skeleton import Skeleton
from understudy.retarget.plan import Assignment

Table = dict[str, Any]


def suggest_pairs(
    source: Skeleton, target: Skeleton, source_motion: Motion | None = None, target_motion: Motion | None = None
) -> Correspondence:
    """The automatic correspondence: by equal names if the structure is the same, else suggested."""
    if same_structure(source, target):
        return pair_same_names(source, target)
    return suggest(source, target, source_motion=source_motion, target_motion=target_motion)


def read_correspondence(pairs: Sequence[Any], source: Skeleton, target: Skeleton) -> Correspondence:
    """The correspondence of a document's pairs; errors carry the path of the pair."""
    if not isinstance(pairs, list):
        raise FieldError(f"expected a list of pairs, got {type(pairs).__name__}", ("pairs",))
    checked = []
    for index, table in enumerate(pairs):
        try:
            checked.append(_pair(table, source, target))
        except FieldError as error:
            raise FieldError(error.message, ("pairs", index, *error.keys), hint=error.hint) from None
        except UnderstudyError as error:
            raise FieldError(error.message, ("pairs", index), hint=error.hint) from None
    try:
        return Correspondence(source=source, target=target, pairs=tuple(checked))
    except UnderstudyError as error:
        bones = [(*pair.source, *pair.target) for pair in checked]
        mentioned = [i for i, names in enumerate(bones) if any(f"`{name}`" in error.message for name in names)]
        raise FieldError(error.message, ("pairs", *mentioned[-1:]), hint=error.hint) from None


def _pair(table: Any, source: Skeleton, target: Skeleton) -> Pair:
    if not isinstance(table, dict):
        raise FieldError(f"expected a pair with `source` and `target`, got {table!r}")
    for key in table:
        if key not in ("source", "target", *PAIR_KEYS):
            raise unknown_key(key, ["source", "target", *PAIR_KEYS])
    bones = {side: _bones(table, side, skeleton) for side, skeleton in (("source", source), ("target", target))}
    values = {}
    for key, kind in PAIR_KEYS.items():
        if table.get(key) is not None:
            try:
                values[key] = convert(table[key], kind)
            except FieldError as error:
                raise FieldError(f"{key}: {error.message}", (key,), hint=error.hint) from None
    values |= {key: np.radians(values[key]).tolist() for key in ANGLE_KEYS if key in values}
    return Pair(source=bones["source"], target=bones["target"], **values)


def _bones(table: Table, side: str, skeleton: Skeleton) -> tuple[str, ...]:
    value = table.get(side)
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise FieldError(f"expected a bone of the {side} or a list of them, got {value!r}", (side,))
    for name in names:
        if name not in skeleton.index:
            raise FieldError(f"the {side} has no bone `{name}`; {nearest_names(name, skeleton.names)}", (side,))
    return tuple(names)


def pair_tables(correspondence: Correspondence) -> list[Table]:
    """Pairs as document tables; twist and turn in degrees."""
    tables = []
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
        if any(pair.turn):
            table["turn"] = np.degrees(pair.turn).tolist()
        tables.append(table)
    return tables


def reference_poses(assignment: Assignment) -> tuple[Motion, Motion]:
    """The poses in which source and target count as the same, a frame each: both stand at the origin."""
    source, target = assignment.motion.skeleton, assignment.target
    alignment = assignment.alignment
    poses = (source.rest, target.rest) if alignment is None else (alignment.source, alignment.target)
    return _standing(source, poses[0]), _standing(target, poses[1])


def _standing(skeleton: Skeleton, local: Array) -> Motion:
    """A pose of local rotations (J, 4) with its lowest point at height zero and its root over the origin."""
    posed = replace(rest_motion(skeleton), rotations=local[None])
    pose = fk(posed)
    lowest = float(np.concatenate([pose.positions[0], pose.ends()[0]])[:, 1].min())
    return replace(posed, root=posed.root - np.array([*posed.root[0, :1], lowest, *posed.root[0, 2:]]))


def correspondence_table(correspondence: Correspondence, source: str, target: str, *, given: bool) -> Table:
    """A correspondence of two displayed bodies for the page; `given` is whether the user chose it."""
    return {
        "source": source,
        "target": target,
        "pairs": pair_tables(correspondence),
        "source_left": list(correspondence.unmatched("source")),
        "target_left": list(correspondence.unmatched("target")),
        "own": given,
    }
