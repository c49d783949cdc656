"""The largest set of things of which every two are linked."""

from __future__ import annotations

import numpy as np

from understudy.geometry.quaternion import Array

STEPS = 20_000
"""Branches tried at most; the best set found by then is taken."""


def largest_clique(linked: np.ndarray, worth: Array) -> np.ndarray:
    """The members, in rising order, of the largest set of which every two are linked.

    Args:
        linked: (N, N) bool, symmetric.
        worth: (N,) of sets of one size the one with the greatest sum is taken.

    Branch and bound: things are painted so that linked ones differ in colour; a set cannot have more members than
    there are colours among what may still join it.
    """
    neighbours = [set(np.flatnonzero(row).tolist()) - {i} for i, row in enumerate(linked)]
    best: list[int] = []
    value = (0, -np.inf)
    steps = 0

    def grow(members: list[int], candidates: list[int]) -> None:
        nonlocal best, value, steps
        steps += 1
        reached = (len(members), float(worth[members].sum()))
        if reached > value:
            best, value = list(members), reached
        order, colours = _painted(candidates, neighbours, worth)
        for i in range(len(order) - 1, -1, -1):
            if len(members) + colours[i] < value[0] or steps > STEPS:
                return
            joined = order[i]
            grow([*members, joined], [c for c in order[:i] if c in neighbours[joined]])

    grow([], sorted(range(len(linked)), key=lambda i: worth[i]))
    return np.array(sorted(best), dtype=np.intp)


def _painted(candidates: list[int], neighbours: list[set[int]], worth: Array) -> tuple[list[int], list[int]]:
    """Candidates in order of their colour, counted from 1; the worthiest of a colour come last."""
    order: list[int] = []
    colours: list[int] = []
    left = sorted(candidates, key=lambda c: (-len(neighbours[c]), -worth[c]))
    colour = 0
    while left:
        colour += 1
        free = left
        left = []
        painted: list[int] = []
        for c in free:
            if any(p in neighbours[c] for p in painted):
                left.append(c)
            else:
                painted.append(c)
        order += sorted(painted, key=lambda c: worth[c])
        colours += [colour] * len(painted)
    return order, colours
