"""Frozen records: cached properties, and copies without checks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from understudy.base.records import cached, evenly, unchecked


@dataclass(frozen=True)
class Square:
    side: float

    def __post_init__(self) -> None:
        assert self.side > 0.0, "checked"

    @cached
    def area(self) -> list[float]:
        """Its area, in a new list."""
        return [self.side**2]


def test_what_is_remembered_is_found_once_for_each_record() -> None:
    one, other = Square(2.0), Square(3.0)
    assert "area" not in one.__dict__
    first = one.area
    assert first == [4.0]
    assert one.area is first
    assert other.area == [9.0]
    assert isinstance(Square.area, cached)
    assert Square.area.__doc__ == "Its area, in a new list."


def test_records_made_of_others_keep_what_they_are_told_and_check_nothing() -> None:
    one = Square(2.0)
    assert unchecked(one, ("side",), side=-1.0).side == -1.0
    bare = unchecked(one, ("side", "area"))
    assert "area" not in bare.__dict__, "a value not cached in the original is not computed for the copy"
    value = one.area
    assert unchecked(one, ("side", "area")).area is value
    assert unchecked(one, ("side",)).area is not value


@pytest.mark.parametrize("numbers", [[3], [0, 1, 2], [1, 6], [2, 5, 8, 11]])
def test_numbers_evenly_apart_are_a_slice(numbers: list[int]) -> None:
    index = evenly(np.array(numbers))
    assert isinstance(index, slice)
    np.testing.assert_array_equal(np.arange(20)[index], numbers)


@pytest.mark.parametrize("numbers", [[], [0, 0], [0, 1, 3], [4, 2]])
def test_other_numbers_stay_as_they_are(numbers: list[int]) -> None:
    indices = np.array(numbers, dtype=np.intp)
    assert evenly(indices) is indices
