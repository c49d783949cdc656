"""Undo and redo of everything: the steps between documents, small enough to be saved with every change."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.recipe import recipe_text
from understudy.recipe.reading import TABLES
from understudy.retarget.spec import Recipe
from understudy.studio.messages import RequestError

Document = dict[str, Any]

Change = dict[str, Any]

MODES = ("retarget", "transition", "analogy")

CLIPS = {"transition": ("first", "second"), "analogy": ("a_example", "b_example", "a_new")}
"""The clips that a mode is about."""

LISTS = ("actor", "prop", "contact", "constraint")
"""Tables of a recipe of which there are any number."""

DEEPEST = 24
"""How many tables may be inside of one another."""


def fresh() -> Document:
    """A document in which nothing is chosen yet."""
    return {
        "mode": "retarget",
        "recipe": tables_of(Recipe(actors=())),
        "pairs": None,
        "transition": {"first": "", "second": "", "leave": None, "enter": None, "seconds": None},
        "analogy": {**dict.fromkeys(CLIPS["analogy"], ""), "settings": {}, "poses": []},
    }


def tables_of(recipe: Recipe) -> dict[str, Any]:
    """A recipe as the tables of its file, with everything that can be chosen said."""
    return {key: [] if key in LISTS else {} for key in TABLES} | tomllib.loads(recipe_text(recipe))


def is_ready(document: Document) -> bool:
    """Whether enough is chosen for something to be solved."""
    mode = document["mode"]
    if mode == "retarget":
        actors = document["recipe"]["actor"]
        return bool(actors) and all(actor.get("source") for actor in actors)
    return all(document[mode].get(clip) for clip in CLIPS[mode])


def changed(document: Document, changes: Any) -> Document:
    """The document with changes applied in their order; all of them or, with an error, none.

    Tables that no change touches are shared with the old document, which stays as it was.
    """
    if not isinstance(changes, list):
        raise RequestError(f"Expected a list of changes; got {_found(changes)}")
    for change in changes:
        document = _applied(document, change)
    check(document)
    return document


def _applied(document: Document, change: Any) -> Document:
    if not isinstance(change, dict) or change.get("op") not in OPERATIONS:
        raise RequestError(f"Expected a change, whose `op` is one of {', '.join(OPERATIONS)}; got {_found(change)}")
    path = change.get("path")
    if not isinstance(path, list) or not path or not all(_is_step(step) for step in path):
        raise RequestError(f"Expected a path of keys and numbers into the document; got {_found(path)}")
    value = change.get("value")
    _check_value(value, path, 0)
    if path[0] == "recipe":
        # A recipe has no nothing: a key without a value is one that is not given.
        value = _given(value)
        if change["op"] == "set" and value is None and isinstance(path[-1], str):
            return _rebuilt(document, path, lambda table, key: _without(table, key, path) if key in table else table)
    operation = OPERATIONS[change["op"]]
    return _rebuilt(document, path, lambda table, key: operation(table, key, path, value))


def _rebuilt(table: Any, path: list[Any], make: Callable[[Any, Any], Any], depth: int = 0) -> Any:
    """A copy of the tables along a path, with the innermost made anew."""
    step = path[depth]
    if isinstance(table, dict) != isinstance(step, str) or not isinstance(table, dict | list):
        raise _no_place(path, depth)
    if depth == len(path) - 1:
        return make(table, step)
    if isinstance(table, dict):
        if step not in table:
            raise _no_place(path, depth)
        return {**table, step: _rebuilt(table[step], path, make, depth + 1)}
    if not 0 <= step < len(table):
        raise _no_place(path, depth)
    return [*table[:step], _rebuilt(table[step], path, make, depth + 1), *table[step + 1 :]]


def _set(table: Any, key: Any, path: list[Any], value: Any) -> Any:
    if isinstance(table, dict):
        return {**table, key: value}
    if not 0 <= key < len(table):
        raise _no_place(path, len(path) - 1)
    return [*table[:key], value, *table[key + 1 :]]


def _insert(table: Any, key: Any, path: list[Any], value: Any) -> Any:
    if isinstance(table, dict) or not 0 <= key <= len(table):
        raise _no_place(path, len(path) - 1)
    return [*table[:key], value, *table[key:]]


def _without(table: Any, key: Any, path: list[Any], value: Any = None) -> Any:
    if isinstance(table, dict) and key in table:
        return {name: each for name, each in table.items() if name != key}
    if isinstance(table, list) and 0 <= key < len(table):
        return [*table[:key], *table[key + 1 :]]
    raise _no_place(path, len(path) - 1)


OPERATIONS: dict[str, Callable[[Any, Any, list[Any], Any], Any]] = {
    "set": _set, "insert": _insert, "remove": _without,
}  # fmt: skip


def check(document: Any) -> None:
    """Refuse what is no document: parts missing, or of another kind than they must be."""
    shapes = {"mode": str, "recipe": dict, "pairs": list | None, "transition": dict, "analogy": dict}
    if not isinstance(document, dict) or set(document) != set(shapes):
        raise RequestError(f"A document has the parts {', '.join(shapes)} and no others")
    for part, shape in shapes.items():
        _expect(document, (part,), shape)
    if document["mode"] not in MODES:
        raise RequestError(f"Expected a mode, one of {', '.join(MODES)}; got `{document['mode']}`", ("mode",))
    for key in TABLES:
        _expect(document, ("recipe", key), list if key in LISTS else dict)
    for key in LISTS:
        for number in range(len(document["recipe"][key])):
            _expect(document, ("recipe", key, number), dict)
    for number in range(len(document["pairs"] or ())):
        _expect(document, ("pairs", number), dict)
    for mode, clips in CLIPS.items():
        for clip in clips:
            _expect(document, (mode, clip), str)
    for key, shape in (("settings", dict), ("poses", list)):
        _expect(document, ("analogy", key), shape)


def _expect(document: Document, path: tuple[str | int, ...], shape: Any) -> None:
    value: Any = document
    for step in path:
        if isinstance(value, dict) and step not in value:
            raise RequestError(f"The document has no `{_told(path)}`, which it must have", path)
        value = value[step]
    if not isinstance(value, shape):
        words = {dict: "a table", list: "a list", str: "a text"}.get(shape, "a list or nothing")
        raise RequestError(f"Expected {words} as `{_told(path)}`; got {_found(value)}", path)


def _check_value(value: Any, path: list[Any], depth: int) -> None:
    """Refuse values nested so deeply that no recipe has them."""
    if depth > DEEPEST:
        raise RequestError(f"A value for `{_told(path)}` is nested more than {DEEPEST} deep", tuple(path))
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            _check_value(each, path, depth + 1)


def _given(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _given(each) for key, each in value.items() if each is not None}
    return [_given(each) for each in value] if isinstance(value, list) else value


def _is_step(step: Any) -> bool:
    return isinstance(step, str | int) and not isinstance(step, bool)


def _no_place(path: list[Any], depth: int) -> RequestError:
    return RequestError(
        f"The document has no `{_told(path[: depth + 1])}`",
        tuple(path[:depth]),
        hint="somebody may have changed it meanwhile, in another tab",
    )


def _told(path: Sequence[Any]) -> str:
    return ".".join(str(step) for step in path)


def _found(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "..."


MOST = 200
"""Steps that can be taken back."""

MANY = 50
"""Entries of a list taken out or put in from which on the list is kept as a whole."""


@dataclass(frozen=True, kw_only=True)
class EditStep:
    """One change of the document, both ways."""

    label: str
    back: list[Change]
    forth: list[Change]


class History:
    """The document with what was done to it and what was taken back."""

    def __init__(self, document: Document, done: Iterable[EditStep] = (), undone: Iterable[EditStep] = ()) -> None:
        self.document = document
        self._done = list(done)[-MOST:]
        self._undone = list(undone)[-MOST:]

    @property
    def undo_label(self) -> str | None:
        """What undo would take back."""
        return self._done[-1].label if self._done else None

    @property
    def redo_label(self) -> str | None:
        """What redo would do again."""
        return self._undone[-1].label if self._undone else None

    def push(self, label: str, document: Document) -> bool:
        """Take a new document; returns whether it is another one."""
        forth = differences(self.document, document)
        if not forth:
            return False
        self._done.append(EditStep(label=label, back=differences(document, self.document), forth=forth))
        del self._done[:-MOST]
        self._undone.clear()
        self.document = document
        return True

    def undo(self) -> bool:
        """Take the last step back; returns whether there was one."""
        return self._move(self._done, self._undone, "back")

    def redo(self) -> bool:
        """Do again what was taken back last; returns whether there was something."""
        return self._move(self._undone, self._done, "forth")

    def _move(self, source: list[EditStep], target: list[EditStep], way: str) -> bool:
        if not source:
            return False
        self.document = changed(self.document, getattr(source[-1], way))
        target.append(source.pop())
        return True

    def table(self) -> dict[str, Any]:
        """All of it as plain tables."""
        done, undone = ([vars(step) for step in steps] for steps in (self._done, self._undone))
        return {"document": self.document, "done": done, "undone": undone}

    def copy(self) -> History:
        """The history as it is now."""
        return History(self.document, self._done, self._undone)

    @staticmethod
    def from_table(table: dict[str, Any]) -> History:
        """What `table` gave; raises where it is damaged."""
        document = changed(table["document"], [])
        done, undone = ([EditStep(**step) for step in table[key]] for key in ("done", "undone"))
        return History(document, done, undone)


def differences(before: Any, after: Any, path: tuple[str | int, ...] = ()) -> list[Change]:
    """The changes that make one document of another."""
    if before is after:
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        gone = [_change("remove", (*path, key)) for key in before if key not in after]
        made = [_change("set", (*path, key), after[key]) for key in after if key not in before]
        kept = [c for key in after if key in before for c in differences(before[key], after[key], (*path, key))]
        return gone + kept + made
    if isinstance(before, list) and isinstance(after, list):
        return _list_differences(before, after, path)
    # 1 and 1.0 and True are equal to Python, and not the same in a file.
    return [] if repr(before) == repr(after) else [_change("set", path, after)]


def _list_differences(before: list[Any], after: list[Any], path: tuple[str | int, ...]) -> list[Change]:
    """What lies between the equal beginnings and ends of two lists, taken out and put in."""
    shorter = min(len(before), len(after))
    head = 0
    while head < shorter and not differences(before[head], after[head]):
        head += 1
    tail = 0
    while tail < shorter - head and not differences(before[-1 - tail], after[-1 - tail]):
        tail += 1
    if len(before) == len(after):
        pairs = range(head, len(before) - tail)
        return [change for i in pairs for change in differences(before[i], after[i], (*path, i))]
    if path and max(len(before), len(after)) - head - tail > MANY:
        return [_change("set", path, after)]
    gone = [_change("remove", (*path, head)) for _ in range(head, len(before) - tail)]
    made = [_change("insert", (*path, i), after[i]) for i in range(head, len(after) - tail)]
    return gone + made


def _change(operation: str, path: tuple[str | int, ...], value: Any = None) -> Change:
    change: Change = {"op": operation, "path": list(path)}
    return change if operation == "remove" else {**change, "value": value}
