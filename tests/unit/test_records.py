"""Frozen records: what is found once, and records made of others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from understudy.base.arrays import evenly
from understudy.base.records import cached, unchecked


@dataclass(frozen=True)
class Square:
    side: float

    def __post_init__(self) -> None:
        assert self.side > 0.0, "checked"

    @cached
    def asked(self) -> list[float]:
        """Its area, in a list of its own."""
        return [self.side**2]


def test_what_is_remembered_is_found_once_for_each_record() -> None:
    one, other = Square(2.0), Square(3.0)
    assert "asked" not in one.__dict__
    first = one.asked
    assert first == [4.0]
    assert one.asked is first
    assert other.asked == [9.0]
    assert isinstance(Square.asked, cached)
    assert Square.asked.__doc__ == "Its area, in a list of its own."


def test_records_made_of_others_keep_what_they_are_told_and_check_nothing() -> None:
    one = Square(2.0)
    assert unchecked(one, ("side",), side=-1.0).side == -1.0
    bare = unchecked(one, ("side", "asked"))
    assert "asked" not in bare.__dict__, "what the other does not know is not found out for this"
    known = one.asked
    assert unchecked(one, ("side", "asked")).asked is known
    assert unchecked(one, ("side",)).asked is not known


@pytest.mark.parametrize("numbers", [[3], [0, 1, 2], [1, 6], [2, 5, 8, 11]])
def test_numbers_evenly_apart_are_a_slice(numbers: list[int]) -> None:
    found = evenly(np.array(numbers))
    assert isinstance(found, slice)
    np.testing.assert_array_equal(np.arange(20)[found], numbers)


@pytest.mark.parametrize("numbers", [[], [0, 0], [0, 1, 3], [4, 2]])
def test_other_numbers_stay_as_they_are(numbers: list[int]) -> None:
    given = np.array(numbers, dtype=np.intp)
    assert evenly(given) is given
