"""Undo and redo of everything: the steps between documents, small enough to be saved with every change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from understudy.studio.document import Change, Document, changed

MOST = 200
"""Steps that can be taken back."""
MANY = 50
"""Entries of a list taken out or put in from which on the list is kept as a whole."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One change of the document, both ways."""

    label: str
    back: list[Change]
    forth: list[Change]


class History:
    """The document with what was done to it and what was taken back."""

    def __init__(self, document: Document, done: Iterable[Step] = (), undone: Iterable[Step] = ()) -> None:
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
        self._done.append(Step(label=label, back=differences(document, self.document), forth=forth))
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

    def _move(self, source: list[Step], target: list[Step], way: str) -> bool:
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
        done, undone = ([Step(**step) for step in table[key]] for key in ("done", "undone"))
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
