"""The workshop: everything that the studio computes, from a document to motions, tracks and figures."""

from __future__ import annotations

from pathlib import Path

from understudy.solve.solvers.base import Watch
from understudy.studio.analogies import ClipWork
from understudy.studio.cache import Cache
from understudy.studio.forms import formats, forms
from understudy.studio.retargets import Retargets
from understudy.studio.scene import Table, Work

__all__ = ["Work", "Workshop", "formats", "forms"]


class Workshop:
    """Solves documents, and remembers what documents have in common.

    Args:
        folder: Where by-products of a session may be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shelf = Cache()
        self.retargets = Retargets(self.shelf)
        self.clips = ClipWork(self.shelf)

    def view(self, document: Table, base: Path) -> Table:
        """What the page is told of a document besides itself: bodies, props, floor, correspondence, notes."""
        by_mode = self.retargets if document["mode"] == "retarget" else self.clips
        return by_mode.view(document, base)

    def solve(
        self, document: Table, base: Path, *, watch: Watch, before: Work | None = None, live: bool = False
    ) -> Work:
        """Solve a document; while something is dragged quickly, from what was shown before."""
        by_mode = self.retargets if document["mode"] == "retarget" else self.clips
        return by_mode.solve(document, base, watch=watch, before=before, live=live)

    def filled(self, document: Table, base: Path) -> Table:
        """A document with its contacts found and listed."""
        return self.retargets.filled(document, base) if document["mode"] == "retarget" else document

    def suggested(self, document: Table, base: Path) -> list[Table]:
        """The bone pairs that are found by themselves, as a document holds them."""
        by_mode = self.retargets if document["mode"] == "retarget" else self.clips
        return by_mode.suggested(document, base)
