"""The residuals of many constraints in one row, so that what is asked of all of them is asked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.constraints.base import Constraint, Relation, Rows
from understudy.records import remembered


@dataclass(frozen=True, eq=False, kw_only=True)
class Register:
    """All residuals of some constraints in one row: constraint by constraint, residual by residual, each with all its
    frames. Whatever is asked of all of them is asked once, not constraint by constraint."""

    constraint: np.ndarray
    """(T,) which of the constraints looked at."""
    time: np.ndarray
    """(T,) which of the frames looked at."""
    one_sided: np.ndarray
    """(T,) whether it only must not be above zero."""
    before: np.ndarray
    """(T,) the entry whose value it is to equal, being linked; -1 for none, -2 for the first of a chain."""
    starts: np.ndarray
    """(S,) the first entry of each residual."""
    sizes: np.ndarray
    """(S,) how many entries it has."""
    linked: np.ndarray
    """(S,) whether it is to equal its value one frame before."""

    @remembered
    def row(self) -> np.ndarray:
        """(T,) which of its constraint's residuals each entry is of."""
        of = self.constraint[self.starts]
        return np.repeat(np.arange(len(of)) - np.searchsorted(of, of), self.sizes)

    @remembered
    def at(self) -> np.ndarray:
        """(T,) at which of its own frames."""
        return np.arange(len(self.time)) - np.repeat(self.starts, self.sizes)

    @staticmethod
    def of(constraints: Sequence[Constraint], rows: Sequence[Rows], holds: Sequence[np.ndarray]) -> Register:
        """The residuals of constraints, by what they make of the frames (n,) at which each holds."""
        linked: list[bool] = []
        counts, lengths = [], []
        held: list[np.ndarray] = [np.zeros(0, dtype=np.intp)]
        for own, frames in zip(rows, holds, strict=True):
            count, length = own.values.shape[1], len(frames)
            counts.append(count if length else 0)
            lengths.append(length)
            linked += [False] * counts[-1] if own.linked is None else own.linked.tolist()[: counts[-1]]
            held += [frames] * counts[-1]
        relations = [constraint.relation is Relation.AT_MOST for constraint in constraints]
        of = np.repeat(np.arange(len(counts)), counts)
        sizes, chained = np.array(lengths, dtype=np.intp)[of], np.array(linked, dtype=bool)
        starts = sizes.cumsum() - sizes
        before = np.where(np.repeat(chained, sizes), np.arange(-1, int(sizes.sum()) - 1), -1)
        before[starts[chained]] = -2
        return Register(
            constraint=np.repeat(of, sizes),
            time=np.concatenate(held),
            one_sided=np.repeat(np.array(relations, dtype=bool)[of], sizes),
            before=before,
            starts=starts,
            sizes=sizes,
            linked=chained,
        )
