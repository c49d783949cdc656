"""Match scores, scales, the threshold, similarity and the largest similar set, on cases with known answers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.analogy.matching import (
    choose_threshold,
    find_correspondence,
    largest_clique,
    match,
    match_scales,
    match_scores,
    partner_shares,
    refine,
    similarity,
)
from understudy.base.errors import OptionError

A = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -2.0], [0.0, 0.5, 0.0], [0.0, 0.0, 1e-4]])
B = np.array([[0.0, 0.0, 0.5], [0.0, 0.1, 0.5], [1.0, 0.0, 0.0]])


def test_scores_are_cosines_and_markers_that_stand_still_match_nothing() -> None:
    scores = match_scores(B, A)
    slanted = 0.5 / np.hypot(0.1, 0.5)
    assert scores[0] == pytest.approx([1.0, -1.0, 0.0, 0.0])
    assert scores[1] == pytest.approx([slanted, -slanted, 0.1 / np.hypot(0.1, 0.5), 0.0])
    assert scores[2] == pytest.approx([0.0, 0.0, 0.0, 0.0])


def test_scales_compare_movement_and_carry_its_sign() -> None:
    scales = match_scales(B, A)
    assert scales[0, :3] == pytest.approx([0.5, -0.25, 0.0])
    assert scales[1, 0] == pytest.approx(0.5)  # |b| / |a| times the cosine is the part along a's direction


def test_correspondence_takes_all_that_reach_the_threshold() -> None:
    found = find_correspondence(match_scores(B, A), 0.9)
    assert [each.tolist() for each in found] == [[0, 1], [0, 1], []]
    with pytest.raises(OptionError, match=r"match threshold above 0 and up to 1, got 1\.2"):
        find_correspondence(match_scores(B, A), 1.2)


def test_threshold_falls_until_enough_of_the_movement_matches() -> None:
    angles = np.arccos([0.95, 0.87, 0.82])
    b = np.stack([np.sin(angles), np.zeros(3), np.cos(angles)], -1)
    a = np.array([[0.0, 0.0, 1.0]])
    for sizes, wanted in (((9.0, 1.0, 1.0), 0.9), ((1.0, 2.0, 1.0), 0.85), ((1.0, 1.0, 9.0), 0.8)):
        some = b * np.array(sizes)[:, None]
        assert choose_threshold(match_scores(some, a), some) == wanted


def test_similarity_needs_direction_scale_and_sense_to_stay() -> None:
    example = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [0.0, 0.0, -1.0]])
    assert similarity(example, 3.0 * example)[0, :2] == pytest.approx([1.0, 1.0])
    # Twice the ratio of movement: half as similar.
    assert similarity(example, example * [[1.0], [2.0], [1.0]])[0, 1] == pytest.approx(0.5)
    # Turned by sixty degrees: the cosine, and the scale, which has the cosine in it, each halve.
    bent = example.copy()
    bent[1] = 2.0 * np.array([0.0, np.sin(np.pi / 3), 0.5])
    assert similarity(example, bent)[0, 1] == pytest.approx(0.25)
    # Opposite in both motions is the paper's negative score; from together to opposite is none.
    assert similarity(example, example)[0, 2] == pytest.approx(-1.0)
    assert similarity(example, example * [[1.0], [-1.0], [1.0]])[0, 1] == pytest.approx(0.0)


def test_refinement_keeps_the_largest_similar_set_that_moves_the_same_way() -> None:
    alike = np.full((6, 6), 0.1)
    for group in ((0, 1), (2, 3, 4, 5)):
        alike[np.ix_(group, group)] = 0.9
    np.fill_diagonal(alike, 1.0)
    every = np.arange(6)
    assert refine(every, np.full(6, 0.95), alike).tolist() == [2, 3, 4, 5]
    # A larger set that moves against the marker gives way to a smaller one that moves with it.
    assert refine(every, np.array([0.95, 0.95, -0.95, -0.95, -0.95, -0.95]), alike).tolist() == [0, 1]
    assert refine(every, np.full(6, -0.95), alike).tolist() == [2, 3, 4, 5]
    # Of two sets of one size the better match wins.
    alike[:] = 0.1
    np.fill_diagonal(alike, 1.0)
    assert refine(every, np.array([0.9, 0.91, 0.99, 0.92, 0.9, 0.9]), alike).tolist() == [2]


def test_a_body_matches_itself_marker_by_marker(rng: np.random.Generator) -> None:
    part = rng.normal(size=(30, 3))
    matches, used = match(part, part, part, threshold=0.9999)
    assert used == 0.9999
    assert [found.marker for found in matches] == list(range(30))
    for found in matches:
        assert found.partners.tolist() == [found.marker]
        assert found.scales == pytest.approx([1.0])
        assert found.scores == pytest.approx([1.0])


def test_partners_that_move_as_far_count_more() -> None:
    scales = np.array([0.25, 1.0, 4.0, -1.0])
    assert partner_shares(scales, 1.0, None) == pytest.approx([0.25] * 4)
    shares = partner_shares(scales, 1.0, 0.5)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[1] == pytest.approx(shares[3])
    assert shares[0] == pytest.approx(shares[2])
    assert shares[0] == pytest.approx(shares[1] * np.exp(-0.5 * (np.log(4.0) / 0.5) ** 2))
    # Seen in the proportions of a body of half the size the first is as far off as the second.
    assert partner_shares(scales[:2], 0.5, 0.5) == pytest.approx([0.5, 0.5])
    assert partner_shares(np.array([1e6]), 1.0, 0.5) == pytest.approx([1.0])


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.floats(0.1, 0.9), st.integers(0, 10_000))
def test_largest_clique_is_that_of_trying_all(count: int, density: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    linked = np.triu(rng.random((count, count)) < density, 1)
    linked = linked | linked.T
    worth = rng.random(count)
    found = largest_clique(linked, worth)
    best = max(
        (
            (size, float(worth[list(some)].sum()))
            for size in range(1, count + 1)
            for some in combinations(range(count), size)
            if all(linked[i, j] for i, j in combinations(some, 2))
        ),
    )
    assert all(linked[i, j] for i, j in combinations(found, 2))
    assert (len(found), float(worth[found].sum())) == pytest.approx(best)
