"""Map files: the correspondence of two characters as TOML that people can read and edit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from understudy.base.errors import FileError, UnderstudyError, nearest_names
from understudy.base.fields import FieldError, convert, unknown_key
from understudy.base.toml import COMMENT_COLUMNS, Place, comment, entry, line_of, read_toml, value_text, write_toml
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, Pair, PointPair, same_structure
from understudy.figure.skeleton import Skeleton

PAIR_KEYS = {"confidence": float, "reason": str, "align": str, "twist": float, "turn": tuple[float, ...]}
"""Keys of a pair besides its bones, and their types; twist and turn in degrees."""

ANGLE_KEYS = ("twist", "turn")

HEADER = (
    "A map of understudy: which bones of one character play which bones of another. Edit it, then give it with "
    "`--map FILE`. A [[pair]] has one bone on each side, or a list from the body outwards: lists of different lengths "
    'share the movement out. Bones in no pair stay as they rest. Further keys: align = "direction" (the target\'s '
    'bone points as the source\'s does) or "stance" (each moves from how it stands by itself); twist = degrees to '
    "turn the target's bones about their length; turn = [x, y, z] degrees about the own axes of the target's first "
    "bone, to pose it with all that hangs from it. A [[point]] names points, ends or joints, that land together."
)


def write_map(correspondence: Correspondence, path: str | Path, source_name: str = "", target_name: str = "") -> None:
    """Write a map; an old file is replaced only when the new one is complete.

    Args:
        correspondence: The map.
        path: The map file.
        source_name: The name of the source in the comments, such as its file.
        target_name: The name of the target.
    """
    write_toml(path, map_text(correspondence, source_name, target_name))


def map_text(correspondence: Correspondence, source_name: str = "", target_name: str = "") -> str:
    """A map as commented TOML that reads back as the same map."""
    names = {
        "source": source_name or correspondence.source.name or "the source",
        "target": target_name or correspondence.target.name or "the target",
    }
    lines = [*comment(HEADER), ""]
    lines += [line for side, name in names.items() for line in comment(f"{side}: {_one_line(name)}")]
    for pair in correspondence.pairs:
        lines += ["", "[[pair]]", *_bones_entry("source", pair.source), *_bones_entry("target", pair.target)]
        lines += entry("confidence", float(pair.confidence)) + entry("reason", pair.reason)
        lines += entry("align", pair.align) if pair.align is not None else []
        lines += entry("twist", _short_degrees(pair.twist)) if pair.twist else []
        lines += entry("turn", [_short_degrees(angle) for angle in pair.turn]) if any(pair.turn) else []
    for points in correspondence.points:
        lines += ["", "[[point]]", *entry("source", points.source), *entry("target", points.target)]
    for side, name in names.items():
        unmatched = correspondence.unmatched(side)
        if unmatched:
            lines += ["", *comment(f"In no pair, of {_one_line(name)}:"), *_bone_list(unmatched)]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def _bone_list(bones: Sequence[str]) -> list[str]:
    """Bones as comment lines, in quotes, ready to be copied into a pair."""
    lines = ["#  "]
    for bone in bones:
        word = f" {value_text(bone)},"
        if len(lines[-1]) + len(word) > COMMENT_COLUMNS:
            lines.append("#  ")
        lines[-1] += word
    return [*lines[:-1], lines[-1].rstrip(",")]


def _bones_entry(key: str, bones: Sequence[str]) -> list[str]:
    return entry(key, bones[0] if len(bones) == 1 else list(bones))


def _short_degrees(angle: float) -> float:
    """Radians as degrees with the fewest digits that read back as the same angle."""
    degrees = float(np.degrees(angle))
    for candidate in (degrees, float(np.nextafter(degrees, np.inf)), float(np.nextafter(degrees, -np.inf))):
        for figures in range(3, 18):
            short = float(f"{candidate:.{figures}g}")
            if float(np.radians(short)) == angle:
                return short
    return degrees


def read_map(path: str | Path, source: Skeleton, target: Skeleton) -> Correspondence:
    """Read a map between two characters; errors name the line.

    Args:
        path: The map file.
        source: The character that moves.
        target: The character to move.
    """
    table, lines = read_toml(path, hint="bones are written in quotes, lists in brackets")
    return _MapReader(str(path), table, lines, source, target).correspondence()


class _MapReader:
    """Turns the tables of one map file into a correspondence."""

    def __init__(
        self, name: str, table: dict[str, Any], lines: dict[Place, int], source: Skeleton, target: Skeleton
    ) -> None:
        self.name, self.table, self.lines = name, table, lines
        self.skeletons = {"source": source, "target": target}

    def correspondence(self) -> Correspondence:
        """The map, checked pair by pair, so that errors name the line."""
        for key in self.table:
            if key not in ("pair", "point"):
                raise self._error((key,), unknown_key(key, ["pair", "point"]))
        pairs = [self._pair(number, entry) for number, entry in enumerate(self._entries("pair"))]
        points = [self._point(number, entry) for number, entry in enumerate(self._entries("point"))]
        self._check_claims(pairs)
        source, target = self.skeletons["source"], self.skeletons["target"]
        try:
            return Correspondence(source=source, target=target, pairs=tuple(pairs), points=tuple(points))
        except CorrespondenceError as error:
            place = self._pair_in_message(error.message, pairs)
            raise FileError(self.name, line_of(self.lines, place), error.message, hint=error.hint) from None

    def _error(self, place: Place, error: UnderstudyError) -> FileError:
        where = (*place, *error.keys) if isinstance(error, FieldError) else place
        return FileError(self.name, line_of(self.lines, where), error.message, hint=error.hint)

    def _entries(self, key: str) -> list[Any]:
        entries = self.table.get(key, [])
        if not isinstance(entries, list):
            problem = FieldError(f"expected a list of `{key}` tables", hint=f"begin each with [[{key}]]")
            raise self._error((key,), problem)
        return entries

    def _pair(self, number: int, table: Any) -> Pair:
        place: Place = ("pair", number)
        try:
            self._check_keys(table, ("source", "target", *PAIR_KEYS))
            bones = {side: self._names(side, table[side], bones=True) for side in ("source", "target")}
            values = {key: _convert(key, table[key], kind) for key, kind in PAIR_KEYS.items() if key in table}
            values |= {key: np.radians(values[key]).tolist() for key in ANGLE_KEYS if key in values}
            return Pair(source=bones["source"], target=bones["target"], **values)
        except UnderstudyError as error:
            raise self._error(place, error) from None

    def _point(self, number: int, table: Any) -> PointPair:
        try:
            self._check_keys(table, ("source", "target"))
            names = {side: self._names(side, table[side], bones=False)[0] for side in ("source", "target")}
            return PointPair(source=names["source"], target=names["target"])
        except UnderstudyError as error:
            raise self._error(("point", number), error) from None

    def _check_keys(self, table: Any, keys: tuple[str, ...]) -> None:
        if not isinstance(table, dict):
            raise FieldError("expected a table with `source` and `target`", hint="begin it with [[pair]] or [[point]]")
        for key in table:
            if key not in keys:
                raise unknown_key(key, list(keys))
        for key in ("source", "target"):
            if key not in table:
                raise FieldError(f"`{key}` is missing", hint="a pair has bones of both: source = NAME, target = NAME")

    def _names(self, side: str, value: Any, *, bones: bool) -> tuple[str, ...]:
        """The bones or the point of one side, which must exist."""
        kind: Any = tuple[str, ...] if isinstance(value, list) and bones else str
        converted = _convert(side, value, kind)
        names = converted if isinstance(converted, tuple) else (converted,)
        skeleton = self.skeletons[side]
        choices = list(skeleton.names) if bones else [*skeleton.names, *(end.name for end in skeleton.ends)]
        for name in names:
            if name not in choices:
                what = "bone" if bones else "joint or end"
                raise FieldError(f"the {side} has no {what} `{name}`; {nearest_names(name, choices)}", (side,))
        if not names:
            raise FieldError("expected at least one bone, got an empty list", (side,))
        return names

    def _check_claims(self, pairs: list[Pair]) -> None:
        for side in ("source", "target"):
            taken: dict[str, int] = {}
            for number, pair in enumerate(pairs):
                for bone in getattr(pair, side):
                    if bone in taken:
                        line = line_of(self.lines, ("pair", number, side))
                        before = line_of(self.lines, ("pair", taken[bone], side))
                        where = "in the same pair" if taken[bone] == number else f"in the pair of line {before}"
                        raise FileError(
                            self.name, line, f"bone `{bone}` of the {side} is named already {where}",
                            hint="take it out of one of them, or join them into one pair that lists all their bones",
                        )  # fmt: skip
                    taken[bone] = number

    def _pair_in_message(self, message: str, pairs: list[Pair]) -> Place:
        """The pair that a message is about: the last pair whose bones it names."""
        numbers = [i for i, p in enumerate(pairs) if any(f"`{bone}`" in message for bone in (*p.source, *p.target))]
        return ("pair", numbers[-1]) if numbers else ("pair", 0)


def _convert(key: str, value: Any, kind: Any) -> Any:
    try:
        return convert(value, kind)
    except FieldError as error:
        raise FieldError(f"{key}: {error.message}", (key,), hint=error.hint) from None


def pairs_only_namesakes(correspondence: Correspondence) -> bool:
    """Whether a map only pairs every bone of two bodies of one structure with the bone of the same name."""
    if not same_structure(correspondence.source, correspondence.target) or correspondence.points:
        return False
    by_source = {pair.source: pair for pair in correspondence.pairs}
    namesakes = (by_source.get((name,)) for name in correspondence.source.names)
    return all(p is not None and p.target == p.source and p.align is None and not p.is_posed for p in namesakes)
