"""Frozen records: how they are declared, cached properties, and copies without checks."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.base.records import cached, distinct, evenly, record, unchecked


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


@record
class Place:
    """A record that is equal to itself alone."""

    name: str
    height: float = 0.0
    tags: list[str] = field(default_factory=list)


@record(eq=True)
class Span:
    """A record that is compared by its fields."""

    first: int
    last: int = field(default=9, compare=False)
    note: str = field(default="", repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Peak(Place):
    """A frozen dataclass below a record, as a user may write it."""

    snow: bool = True


@record
class Summit(Peak):
    """A record below a frozen dataclass."""

    climbed: int = 0


@pytest.mark.parametrize("kind", [Place, Peak, Summit])
def test_a_record_cannot_be_changed(kind: type[Place]) -> None:
    place = kind(name="here")
    for change in (
        lambda: setattr(place, "name", "there"),
        lambda: setattr(place, "unknown", 1),
        lambda: delattr(place, "name"),
    ):
        with pytest.raises(FrozenInstanceError):
            change()
    assert place.name == "here"
    assert replace(place, height=2.0).height == 2.0
    assert kind(name="here") != place
    assert copy.copy(place).name == "here"
    assert pickle.loads(pickle.dumps(place)).__dict__ == place.__dict__
    assert kind(name="a").tags is not kind(name="b").tags


def test_fields_of_a_record_are_given_by_name() -> None:
    with pytest.raises(TypeError):
        Place("here")  # type: ignore[misc]
    with pytest.raises(TypeError):
        Place()  # type: ignore[call-arg]


def test_a_record_is_described_by_its_fields() -> None:
    assert repr(Place(name="here")) == "Place(name='here', height=0.0, tags=[])"
    assert repr(Span(first=1, note="x")) == "Span(first=1, last=9)"


def test_records_are_compared_by_their_fields_where_asked() -> None:
    assert Span(first=1) == Span(first=1, last=3) != Span(first=2)
    assert hash(Span(first=1)) == hash(Span(first=1, last=3))
    assert len({Span(first=1), Span(first=1), Span(first=1, note="other")}) == 2
    assert Span(first=1) != (1, 9, "")


@given(st.lists(st.integers(-5, 5), max_size=12))
def test_distinct_values_are_those_of_numpy(values: list[int]) -> None:
    assert distinct(np.array(values, int)).tolist() == np.unique(np.array(values, int)).tolist()
