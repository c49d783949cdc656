"""The document, changes to it, and its undo history, which stores the differences between documents."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from understudy.base.records import record
from understudy.recipe import recipe_text
from understudy.recipe.reading import TABLES
from understudy.retarget.spec import Recipe
from understudy.studio.messages import RequestError

Document = dict[str, Any]

Change = dict[str, Any]

MODES = ("retarget", "transition", "analogy")

CLIPS = {"transition": ("first", "second"), "analogy": ("a_example", "b_example", "a_new")}
"""The clip keys of each mode."""

LISTS = ("actor", "prop", "contact", "constraint")
"""Tables of a recipe that are lists."""

MAX_NESTING_DEPTH = 24
"""Values nested deeper are refused."""


def empty_document() -> Document:
    """An empty document."""
    return {
        "mode": "retarget",
        "recipe": recipe_tables(Recipe(actors=())),
        "pairs": None,
        "transition": {"first": "", "second": "", "leave": None, "enter": None, "seconds": None},
        "analogy": {**dict.fromkeys(CLIPS["analogy"], ""), "settings": {}, "poses": []},
    }


def recipe_tables(recipe: Recipe) -> dict[str, Any]:
    """A recipe as the tables of its file, including empty ones."""
    return {key: [] if key in LISTS else {} for key in TABLES} | tomllib.loads(recipe_text(recipe))


def is_ready(document: Document) -> bool:
    """Whether a document has everything that a solve needs."""
    mode = document["mode"]
    if mode == "retarget":
        actors = document["recipe"]["actor"]
        return bool(actors) and all(actor.get("source") for actor in actors)
    return all(document[mode].get(clip) for clip in CLIPS[mode])


def apply_changes(document: Document, changes: Any) -> Document:
    """The document with changes applied in order; if one is invalid, none is applied.

    Unchanged tables are shared with the old document, which is not modified.
    """
    if not isinstance(changes, list):
        raise RequestError(f"Expected a list of changes; got {_short_repr(changes)}")
    for change in changes:
        document = _apply_change(document, change)
    check(document)
    return document


def _apply_change(document: Document, change: Any) -> Document:
    if not isinstance(change, dict) or change.get("op") not in tuple(OPERATIONS):
        raise RequestError(f"Expected a change with `op` one of {', '.join(OPERATIONS)}; got {_short_repr(change)}")
    path = change.get("path")
    if not isinstance(path, list) or not path or not all(_is_step(step) for step in path):
        raise RequestError(f"Expected a path of keys and indices into the document; got {_short_repr(path)}")
    value = change.get("value")
    _check_value(value, path, 0)
    if path[0] == "recipe":
        # TOML has no null: setting None removes the key.
        value = _without_none(value)
        if change["op"] == "set" and value is None and isinstance(path[-1], str):
            return _rebuild(document, path, lambda table, key: _without(table, key, path) if key in table else table)
    operation = OPERATIONS[change["op"]]
    return _rebuild(document, path, lambda table, key: operation(table, key, path, value))


def _rebuild(table: Any, path: list[Any], make: Callable[[Any, Any], Any], depth: int = 0) -> Any:
    """Copy the tables along a path, replacing the innermost by `make(table, key)`."""
    step = path[depth]
    if isinstance(table, dict) != isinstance(step, str) or not isinstance(table, dict | list):
        raise _no_such_path(path, depth)
    if depth == len(path) - 1:
        return make(table, step)
    if isinstance(table, dict):
        if step not in table:
            raise _no_such_path(path, depth)
        return {**table, step: _rebuild(table[step], path, make, depth + 1)}
    if not 0 <= step < len(table):
        raise _no_such_path(path, depth)
    return [*table[:step], _rebuild(table[step], path, make, depth + 1), *table[step + 1 :]]


def _set(table: Any, key: Any, path: list[Any], value: Any) -> Any:
    if isinstance(table, dict):
        return {**table, key: value}
    if not 0 <= key < len(table):
        raise _no_such_path(path, len(path) - 1)
    return [*table[:key], value, *table[key + 1 :]]


def _insert(table: Any, key: Any, path: list[Any], value: Any) -> Any:
    if isinstance(table, dict) or not 0 <= key <= len(table):
        raise _no_such_path(path, len(path) - 1)
    return [*table[:key], value, *table[key:]]


def _without(table: Any, key: Any, path: list[Any], value: Any = None) -> Any:
    if isinstance(table, dict) and key in table:
        return {name: kept for name, kept in table.items() if name != key}
    if isinstance(table, list) and 0 <= key < len(table):
        return [*table[:key], *table[key + 1 :]]
    raise _no_such_path(path, len(path) - 1)


OPERATIONS: dict[str, Callable[[Any, Any, list[Any], Any], Any]] = {
    "set": _set, "insert": _insert, "remove": _without,
}  # fmt: skip


def check(document: Any) -> None:
    """Check that a document has all its parts, each of the right type."""
    types = {"mode": str, "recipe": dict, "pairs": list | None, "transition": dict, "analogy": dict}
    if not isinstance(document, dict) or set(document) != set(types):
        raise RequestError(f"Expected a document with exactly the keys {', '.join(types)}")
    for part, type_ in types.items():
        _expect(document, (part,), type_)
    if document["mode"] not in MODES:
        raise RequestError(f"Expected one of {', '.join(MODES)} as `mode`; got `{document['mode']}`", ("mode",))
    for key in TABLES:
        _expect(document, ("recipe", key), list if key in LISTS else dict)
    for key in LISTS:
        for index in range(len(document["recipe"][key])):
            _expect(document, ("recipe", key, index), dict)
    for index in range(len(document["pairs"] or ())):
        _expect(document, ("pairs", index), dict)
    for mode, clips in CLIPS.items():
        for clip in clips:
            _expect(document, (mode, clip), str)
    for key, type_ in (("settings", dict), ("poses", list)):
        _expect(document, ("analogy", key), type_)


def _expect(document: Document, path: tuple[str | int, ...], type_: Any) -> None:
    value: Any = document
    for step in path:
        if isinstance(value, dict) and step not in value:
            raise RequestError(f"The document has no `{_path_text(path)}`, which is required", path)
        value = value[step]
    if not isinstance(value, type_):
        type_name = {dict: "a table", list: "a list", str: "a text"}.get(type_, "a list or nothing")
        raise RequestError(f"Expected {type_name} as `{_path_text(path)}`; got {_short_repr(value)}", path)


def _check_value(value: Any, path: list[Any], depth: int) -> None:
    """Check that a value is not nested too deeply."""
    if depth > MAX_NESTING_DEPTH:
        text = _path_text(path)
        raise RequestError(f"A value for `{text}` is nested more than {MAX_NESTING_DEPTH} deep", tuple(path))
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_value(item, path, depth + 1)


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value


def _is_step(step: Any) -> bool:
    return isinstance(step, str | int) and not isinstance(step, bool)


def _no_such_path(path: list[Any], depth: int) -> RequestError:
    return RequestError(
        f"The document has no `{_path_text(path[: depth + 1])}`",
        tuple(path[:depth]),
        hint="it may have been changed in another tab",
    )


def _path_text(path: Sequence[Any]) -> str:
    return ".".join(str(step) for step in path)


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "..."


MAX_UNDO_STEPS = 200
"""Older steps are dropped."""

MAX_LIST_CHANGES = 50
"""A list that differs in more entries is stored as a whole."""


@record(eq=True)
class EditStep:
    """One step of the history: the changes to undo and to redo it."""

    label: str
    back: list[Change]
    forth: list[Change]


class History:
    """The document with its undo and redo steps."""

    def __init__(self, document: Document, done: Iterable[EditStep] = (), undone: Iterable[EditStep] = ()) -> None:
        self.document = document
        self._done = list(done)[-MAX_UNDO_STEPS:]
        self._undone = list(undone)[-MAX_UNDO_STEPS:]

    @property
    def undo_label(self) -> str | None:
        """Label of the step that undo reverts."""
        return self._done[-1].label if self._done else None

    @property
    def redo_label(self) -> str | None:
        """Label of the step that redo repeats."""
        return self._undone[-1].label if self._undone else None

    def push(self, label: str, document: Document) -> bool:
        """Replace the document; returns whether it differs from the old one."""
        forth = differences(self.document, document)
        if not forth:
            return False
        self._done.append(EditStep(label=label, back=differences(document, self.document), forth=forth))
        del self._done[:-MAX_UNDO_STEPS]
        self._undone.clear()
        self.document = document
        return True

    def undo(self) -> bool:
        """Undo the last step; returns whether there was one."""
        return self._move(self._done, self._undone, "back")

    def redo(self) -> bool:
        """Redo the last undone step; returns whether there was one."""
        return self._move(self._undone, self._done, "forth")

    def _move(self, source: list[EditStep], target: list[EditStep], way: str) -> bool:
        if not source:
            return False
        self.document = apply_changes(self.document, getattr(source[-1], way))
        target.append(source.pop())
        return True

    def table(self) -> dict[str, Any]:
        """The history as JSON tables."""
        done, undone = ([vars(step) for step in steps] for steps in (self._done, self._undone))
        return {"document": self.document, "done": done, "undone": undone}

    def copy(self) -> History:
        """A copy that later changes do not affect."""
        return History(self.document, self._done, self._undone)

    @staticmethod
    def from_table(table: dict[str, Any]) -> History:
        """The history from its JSON tables; raises if they are damaged."""
        document = apply_changes(table["document"], [])
        done, undone = ([EditStep(**step) for step in table[key]] for key in ("done", "undone"))
        return History(document, done, undone)


def differences(before: Any, after: Any, path: tuple[str | int, ...] = ()) -> list[Change]:
    """The changes that turn one document into another."""
    if before is after:
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        removed = [_change("remove", (*path, key)) for key in before if key not in after]
        added = [_change("set", (*path, key), after[key]) for key in after if key not in before]
        common = [key for key in after if key in before]
        kept = [change for key in common for change in differences(before[key], after[key], (*path, key))]
        return removed + kept + added
    if isinstance(before, list) and isinstance(after, list):
        return _list_differences(before, after, path)
    # 1, 1.0 and True are equal in Python but differ in a file.
    return [] if repr(before) == repr(after) else [_change("set", path, after)]


def _list_differences(before: list[Any], after: list[Any], path: tuple[str | int, ...]) -> list[Change]:
    """Changes between two lists, without their common beginning and end."""
    shorter = min(len(before), len(after))
    head = 0
    while head < shorter and not differences(before[head], after[head]):
        head += 1
    tail = 0
    while tail < shorter - head and not differences(before[-1 - tail], after[-1 - tail]):
        tail += 1
    if len(before) == len(after):
        indices = range(head, len(before) - tail)
        return [change for i in indices for change in differences(before[i], after[i], (*path, i))]
    if path and max(len(before), len(after)) - head - tail > MAX_LIST_CHANGES:
        return [_change("set", path, after)]
    removed = [_change("remove", (*path, head)) for _ in range(head, len(before) - tail)]
    added = [_change("insert", (*path, i), after[i]) for i in range(head, len(after) - tail)]
    return removed + added


def _change(operation: str, path: tuple[str | int, ...], value: Any = None) -> Change:
    change: Change = {"op": operation, "path": list(path)}
    return change if operation == "remove" else {**change, "value": value}
