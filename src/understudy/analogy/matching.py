"""Marker matching [Analogies, sec. 4], and marker pairs given by hand [Analogies, sec. 5.4] with their file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from understudy.base.errors import FileError, OptionError, UnknownNameError, nearest_names
from understudy.base.quaternion import Array
from understudy.base.records import record
from understudy.figure.skeleton import Point, Skeleton

MAX_CLIQUE_STEPS = 20_000
"""Most branches tried; the best set until then is taken."""


def largest_clique(edges: np.ndarray, weights: Array) -> np.ndarray:
    """The largest clique of a graph: its nodes in rising order.

    Args:
        edges: (N, N) bool, symmetric.
        weights: (N,) of cliques of one size the one with the greatest sum is taken.

    Branch and bound: the candidates are coloured so that neighbours differ in colour. A clique cannot grow by more
    nodes than the candidates have colours.
    """
    neighbours = [set(np.flatnonzero(row).tolist()) - {i} for i, row in enumerate(edges)]
    best: list[int] = []
    value = (0, -np.inf)
    steps = 0

    def grow(members: list[int], candidates: list[int]) -> None:
        nonlocal best, value, steps
        steps += 1
        reached = (len(members), float(weights[members].sum()))
        if reached > value:
            best, value = list(members), reached
        order, colours = _colour_nodes(candidates, neighbours, weights)
        for i in range(len(order) - 1, -1, -1):
            if len(members) + colours[i] < value[0] or steps > MAX_CLIQUE_STEPS:
                return
            node = order[i]
            grow([*members, node], [c for c in order[:i] if c in neighbours[node]])

    grow([], sorted(range(len(edges)), key=lambda i: weights[i]))
    return np.array(sorted(best), dtype=np.intp)


def _colour_nodes(candidates: list[int], neighbours: list[set[int]], weights: Array) -> tuple[list[int], list[int]]:
    """Candidates in order of their colour, counted from 1; within a colour by rising weight."""
    order: list[int] = []
    colours: list[int] = []
    remaining = sorted(candidates, key=lambda node: (-len(neighbours[node]), -weights[node]))
    colour = 0
    while remaining:
        colour += 1
        uncoloured = remaining
        remaining = []
        same_colour: list[int] = []
        for node in uncoloured:
            if any(other in neighbours[node] for other in same_colour):
                remaining.append(node)
            else:
                same_colour.append(node)
        order += sorted(same_colour, key=lambda node: weights[node])
        colours += [colour] * len(same_colour)
    return order, colours


MATCH_THRESHOLDS = (0.9, 0.85, 0.8)
"""Match scores that are tried, the strictest first: the paper's range."""

MIN_MATCHED_SHARE = 0.6
"""The threshold is lowered until this share of a body's movement is matched."""

MIN_SIMILARITY = 0.8
"""The paper's similarity threshold of the refinement, T_s."""

SIZE_PREFERENCE_WIDTH = 0.5
"""Width, in logarithms of scale, of the preference for partners that move as far as the marker itself."""

MAX_SCALE = 2.5
"""Largest scale of a partner relative to the bodies' proportion, if there is one: a shoulder that sways by a
centimetre does not explain a leg's swing."""

MIN_MOVEMENT = 0.03
"""Share of the largest movement in an eigenvector below which a marker counts as still, its direction as noise."""


@record
class MarkerMatch:
    """One marker of B and the markers of A that it moves with."""

    marker: int
    """B's marker."""
    partners: np.ndarray
    """(N,) A's markers."""
    scales: Array
    """(N,) movement of B's marker per movement of each partner; negative if opposite [eq. 2]."""
    scores: Array
    """(N,) match scores, from -1 to 1 [eq. 1]."""
    shares: Array
    """(N,) weights of the partners in their mean; their sum is 1."""
    eigenvector: int = 0
    """The eigenvector that matched them."""
    weight: float = 1.0
    """Weight among matches by other eigenvectors."""


def match_scores(b: Array, a: Array) -> Array:
    """(I, J) cosines between parts of eigenvectors (I, 3) and (J, 3); zero for still markers [eq. 1].

    Parts of several eigenvectors at once, (I, 3 L) and (J, 3 L), are compared as one direction.
    """
    units = []
    for part in (b, a):
        size = np.linalg.norm(part, axis=-1)
        moves = size > MIN_MOVEMENT * size.max(initial=0.0)
        units.append(part / np.where(moves, size, 1.0)[:, None] * moves[:, None])
    return np.clip(units[0] @ units[1].T, -1.0, 1.0)


def match_scales(b: Array, a: Array) -> Array:
    """(I, J) signed movement of the markers (I, 3) per movement of the others (J, 3) [eq. 2]."""
    sizes = [np.linalg.norm(part, axis=-1) for part in (b, a)]
    return sizes[0][:, None] / np.where(sizes[1] > 0.0, sizes[1], np.inf) * match_scores(b, a)


def find_correspondence(scores: Array, threshold: float) -> list[np.ndarray]:
    """For each marker of B the markers of A whose match score reaches a threshold: FINDCORRESPONDENCE."""
    if not 0.0 < threshold <= 1.0:
        raise OptionError(f"Expected a match threshold above 0 and up to 1, got {threshold}")
    return [np.flatnonzero(np.abs(row) >= threshold) for row in scores]


def choose_threshold(scores: Array, b: Array, thresholds: Sequence[float] = MATCH_THRESHOLDS) -> float:
    """The strictest threshold that matches enough of B's movement (I, 3), else the loosest."""
    energy = np.einsum("ic,ic->i", b, b)
    for threshold in thresholds:
        matched = np.abs(scores).max(axis=1, initial=0.0) >= threshold
        if energy[matched].sum() >= MIN_MATCHED_SHARE * energy.sum():
            return threshold
    return thresholds[-1]


def similarity(example: Array, new: Array) -> Array:
    """(J, J) similarity of the relative movement of A's markers in its example and its new motion, at most 1 [eq. 3].

    Args:
        example: (J, 3) parts of an eigenvector of the example.
        new: (J, 3) parts of the eigenvector of the new motion.

    A pair that moves together in one and in opposite directions in the other has no similarity. The paper's scale score
    takes absolute values and would not notice.
    """
    before, after = match_scales(example, example), match_scales(new, new)
    low, high = np.minimum(np.abs(before), np.abs(after)), np.maximum(np.abs(before), np.abs(after))
    ratio = np.where(high > 0.0, low / np.where(high > 0.0, high, 1.0), 0.0)
    return match_scores(new, new) * ratio * (before * after > 0.0)


def refine(candidates: np.ndarray, scores: Array, similarities: Array, threshold: float = MIN_SIMILARITY) -> np.ndarray:
    """The largest set of mutually similar markers among the markers of A that one marker of B matched.

    Args:
        candidates: (N,) the matched markers of A.
        scores: (J,) the match scores of B's marker with A's.
        similarities: (J, J) similarity of A's markers.
        threshold: Least similarity of two similar markers.

    Markers that move in the direction of B's marker are preferred to those that move in the opposite direction: lifting
    a foot would otherwise be matched with putting down another. Of sets of one size the best match is taken.
    """
    same_direction = candidates[scores[candidates] > 0.0]
    pool = same_direction if len(same_direction) else candidates
    pool_similarities = similarities[np.ix_(pool, pool)]
    edges = (np.minimum(pool_similarities, pool_similarities.T) >= threshold) & ~np.eye(len(pool), dtype=bool)
    return pool[largest_clique(edges, np.abs(scores[pool]))]


def partner_shares(scales: Array, proportion: float, width: float | None) -> Array:
    """(N,) weights of partners with scales (N,) in their mean.

    The paper uses equal weights. But a thigh that moves a quarter as far as a foot in a walk, scaled by four, throws
    the foot up when the new motion lifts the knee. So partners weigh more the nearer their scale is to the ratio of the
    bodies' movements.
    """
    if width is None:
        return np.full(len(scales), 1.0 / len(scales))
    deviations = np.log(np.maximum(np.abs(scales), 1e-9) / max(proportion, 1e-9)) / width
    weights = np.exp(-0.5 * (deviations**2 - np.min(deviations**2)))
    return weights / weights.sum()


def bound_scales(candidates: np.ndarray, scales: Array, proportion: float) -> np.ndarray:
    """The candidates (N,) whose scales, of (J,), are not too large; all if none is."""
    bounded = candidates[np.abs(scales[candidates]) <= MAX_SCALE * proportion]
    return bounded if len(bounded) else candidates


def match(
    b: Array,
    a: Array,
    new: Array | None = None,
    *,
    threshold: float | None = None,
    similar: float = MIN_SIMILARITY,
    like_size: float | None = SIZE_PREFERENCE_WIDTH,
    eigenvector: int = 0,
    weight: float = 1.0,
) -> tuple[list[MarkerMatch], float]:
    """Match B's markers with A's by one eigenvector of each.

    Args:
        b: (I, 3) B's example, each marker's part times the spread of its course.
        a: (J, 3) A's example.
        new: (J, 3) A's new motion, for the refinement; no refinement if not given.
        threshold: Least match score; chosen by the share of movement matched if not given.
        similar: T_s of the refinement.
        like_size: Width, in logarithms of scale, of the preference for partners that move as far as B's marker,
            relative to the bodies' proportions; None for the paper's plain mean.
        eigenvector: Its number, recorded in the matches.
        weight: Weight of these matches.

    Returns:
        The matches, one for each marker of B that has partners, and the threshold.
    """
    scores, scales = match_scores(b, a), match_scales(b, a)
    match_threshold = choose_threshold(scores, b) if threshold is None else threshold
    similarities = None if new is None else similarity(a, new)
    proportion = float(np.sqrt(np.mean(np.sum(b * b, axis=1)) / np.mean(np.sum(a * a, axis=1))))
    matches = []
    for marker, candidates in enumerate(find_correspondence(scores, match_threshold)):
        if len(candidates) == 0:
            continue
        candidates = bound_scales(candidates, scales[marker], proportion)
        partners = candidates if similarities is None else refine(candidates, scores[marker], similarities, similar)
        matches.append(
            MarkerMatch(
                marker=marker,
                partners=partners,
                scales=np.clip(scales[marker, partners], -MAX_SCALE * proportion, MAX_SCALE * proportion)
                if like_size is not None
                else scales[marker, partners],
                scores=scores[marker, partners],
                shares=partner_shares(scales[marker, partners], proportion, like_size),
                eigenvector=eigenvector,
                weight=weight,
            )
        )
    return matches, match_threshold


@record(eq=True)
class MarkerPair:
    """A marker of B and the markers of A that it moves with, given by the user."""

    b: str
    """A marker, joint or end of B, by name."""
    a: tuple[str, ...]
    """Markers, joints or ends of A."""
    scale: float = 1.0
    """Movement of B's marker per movement of A's; negative if opposite."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", (self.a,) if isinstance(self.a, str) else tuple(self.a))
        if not self.a:
            raise OptionError(f"Marker `{self.b}` is paired with nothing")
        if not np.isfinite(self.scale) or self.scale == 0.0:
            raise OptionError(f"Marker `{self.b}`: expected a finite scale other than zero, got {self.scale}")


@record
class MarkerFile:
    """The contents of a marker file."""

    a: tuple[Point, ...] = ()
    b: tuple[Point, ...] = ()
    pairs: tuple[MarkerPair, ...] = ()


def with_named(markers: Sequence[Point], skeleton: Skeleton, names: Sequence[str]) -> tuple[Point, ...]:
    """Markers, followed by the named joints and ends that are not among them."""
    marker_names = {marker.name for marker in markers}
    missing = dict.fromkeys(name for name in names if name not in marker_names)
    points = []
    for name in missing:
        try:
            points.append(skeleton.point(name))
        except UnknownNameError:
            all_names = [*marker_names, *skeleton.names, *(end.name for end in skeleton.ends)]
            raise UnknownNameError(
                f"Marker `{name}` is neither a marker nor a joint or end of `{skeleton.name}`; "
                f"{nearest_names(name, all_names)}"
            ) from None
    return (*markers, *points)


def pair_matches(pairs: Sequence[MarkerPair], b: Sequence[Point], a: Sequence[Point]) -> list[MarkerMatch]:
    """Pairs as matches between markers of B and of A, with scores of 1 or -1."""
    b_index, a_index = ({marker.name: i for i, marker in enumerate(markers)} for markers in (b, a))
    return [
        MarkerMatch(
            marker=b_index[pair.b],
            partners=np.array([a_index[name] for name in pair.a], dtype=np.intp),
            scales=np.full(len(pair.a), pair.scale),
            scores=np.full(len(pair.a), np.sign(pair.scale)),
            shares=np.full(len(pair.a), 1.0 / len(pair.a)),
        )
        for pair in pairs
    ]


def read_markers(path: str | Path) -> MarkerFile:
    """Read markers and pairs from a TOML or JSON file.

    Tables `a` and `b` list markers (`name`, `joint`, and `offset` in metres in the joint's frame); `pair` lists pairs
    (`b`, a name; `a`, a name or several; `scale`).
    """
    name = str(path)
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise FileError(name, None, f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileError(name, None, "is not a text file") from None
    try:
        data = json.loads(text) if Path(path).suffix.lower() == ".json" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(name, None, f"is not well formed: {error}") from None
    if not isinstance(data, dict) or not set(data) <= {"a", "b", "pair"}:
        keys = ", ".join(f"`{key}`" for key in data) if isinstance(data, dict) else "no tables"
        raise FileError(name, None, f"expected tables `a`, `b` and `pair`; got {keys}")
    return MarkerFile(
        a=tuple(_point(row, name) for row in _rows(data, "a", name)),
        b=tuple(_point(row, name) for row in _rows(data, "b", name)),
        pairs=tuple(_pair(row, name) for row in _rows(data, "pair", name)),
    )


def _rows(data: Mapping[str, Any], key: str, name: str) -> list[Mapping[str, Any]]:
    rows = data.get(key, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise FileError(name, None, f"`{key}` must be a list of tables", hint=f"write each as [[{key}]]")
    return rows


def _point(row: Mapping[str, Any], name: str) -> Point:
    offset = row.get("offset", [0.0, 0.0, 0.0])
    offset_valid = isinstance(offset, list) and len(offset) == 3 and all(isinstance(x, int | float) for x in offset)
    if not isinstance(row.get("joint"), str) or not offset_valid or set(row) - {"name", "joint", "offset"}:
        raise FileError(name, None, f"expected a marker with `joint` and perhaps `name` and `offset`; got {dict(row)}")
    return Point(name=str(row.get("name", row["joint"])), joint=row["joint"], offset=np.array(offset, float))


def _pair(row: Mapping[str, Any], name: str) -> MarkerPair:
    partners = row.get("a")
    partners = [partners] if isinstance(partners, str) else partners
    named = isinstance(row.get("b"), str) and isinstance(partners, list) and all(isinstance(a, str) for a in partners)
    scale = row.get("scale", 1.0)
    if not named or not isinstance(scale, int | float) or set(row) - {"a", "b", "scale"}:
        raise FileError(name, None, f"expected a pair with `b`, `a` and perhaps `scale`; got {dict(row)}")
    return MarkerPair(b=row["b"], a=tuple(partners or ()), scale=float(scale))
