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
    numbers: np.ndarray
    """(S,) which of its constraint's residuals it is."""

    @remembered
    def row(self) -> np.ndarray:
        """(T,) which of its constraint's residuals each entry is of."""
        return np.repeat(self.numbers, self.sizes)

    @remembered
    def at(self) -> np.ndarray:
        """(T,) at which of its own frames."""
        return np.arange(len(self.time)) - np.repeat(self.starts, self.sizes)

    @staticmethod
    def of(constraints: Sequence[Constraint], rows: Sequence[Rows], holds: Sequence[np.ndarray]) -> Register:
        """The residuals of constraints, by what they make of the frames (n,) at which each holds."""
        which: list[int] = []
        numbers: list[int] = []
        linked: list[bool] = []
        held: list[np.ndarray] = [np.zeros(0, dtype=np.intp)]
        for number, (own, frames) in enumerate(zip(rows, holds, strict=True)):
            count = own.values.shape[1] if len(frames) else 0
            which += [number] * count
            numbers += range(count)
            linked += [False] * count if own.linked is None else own.linked.tolist()[:count]
            held += [frames] * count
        relations = [constraint.relation is Relation.AT_MOST for constraint in constraints]
        sizes = np.array([len(each) for each in held[1:]], dtype=np.intp)
        starts = np.cumsum(sizes) - sizes
        of, chained = np.array(which, dtype=np.intp), np.array(linked, dtype=bool)
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
            numbers=np.array(numbers, dtype=np.intp),
        )
