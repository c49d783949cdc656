"""Solves documents of every mode."""

from __future__ import annotations

from pathlib import Path

from understudy.retarget.driver import ProgressCallback
from understudy.studio.analogies import ClipDocumentSolver
from understudy.studio.cache import Cache
from understudy.studio.performance import RetargetResult
from understudy.studio.retargets import RetargetDocumentSolver
from understudy.studio.scene import SolveResult, Table


class DocumentSolver:
    """Solves documents; all modes share one cache.

    Args:
        folder: The folder of the session, for temporary files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = Cache()
        self.retargets = RetargetDocumentSolver(self.cache)
        self.clips = ClipDocumentSolver(self.cache)

    def view(self, document: Table, base: Path) -> Table:
        """The scene of a document: bodies, props, floor, correspondence, notes."""
        mode_solver = self.retargets if document["mode"] == "retarget" else self.clips
        return mode_solver.view(document, base)

    def solve(
        self,
        document: Table,
        base: Path,
        *,
        watch: ProgressCallback,
        before: SolveResult | None = None,
        live: bool = False,
    ) -> SolveResult:
        """Solve a document; if `live`, fast and starting from `before`."""
        mode_solver = self.retargets if document["mode"] == "retarget" else self.clips
        return mode_solver.solve(document, base, watch=watch, before=before, live=live)

    def solve_at_rest(
        self, document: Table, base: Path, *, watch: ProgressCallback, shown: SolveResult | None
    ) -> SolveResult | None:
        """The finished solve of a document as an update of a drag, after the one that is shown; None in modes whose
        finished solve takes too long to follow a drag."""
        if document["mode"] != "retarget" or not isinstance(shown, RetargetResult):
            return None
        return self.retargets.solve_at_rest(document, base, watch=watch, shown=shown)

    def filled(self, document: Table, base: Path) -> Table:
        """The document with its contacts detected and listed."""
        return self.retargets.filled(document, base) if document["mode"] == "retarget" else document

    def placed(self, document: Table, base: Path) -> Table:
        """The document with the places of its contacts completed."""
        return self.retargets.placed(document, base) if document["mode"] == "retarget" else document

    def suggest_pairs(self, document: Table, base: Path) -> list[Table]:
        """The suggested bone pairs, as document tables."""
        mode_solver = self.retargets if document["mode"] == "retarget" else self.clips
        return mode_solver.suggest_pairs(document, base)

    def neutral(self, document: Table, base: Path) -> list[Table]:
        """The poses in which source and target count as the same; none in a mode without a target."""
        return self.retargets.neutral(document, base) if document["mode"] == "retarget" else []
