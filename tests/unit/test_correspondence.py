"""Maps of bones: properties of valid maps, and every reason to refuse one."""

from __future__ import annotations

import math

import pytest

from understudy import samples
from understudy.base.errors import UnknownNameError
from understudy.correspondence.pairs import Correspondence, CorrespondenceError, Pair, PointPair, is_ancestor, is_chain

ADULT, DOG, SHARK = (samples.character(name) for name in ("adult", "dog", "shark"))


def pair(source: str, target: str, **more: object) -> Pair:
    return Pair(source=tuple(source.split()), target=tuple(target.split()), **more)  # type: ignore[arg-type]


def make_map(*pairs: Pair, points: tuple[PointPair, ...] = ()) -> Correspondence:
    return Correspondence(source=ADULT, target=DOG, pairs=pairs, points=points)


HIPS = pair("Hips", "Hips")


def test_one_bone_may_be_given_as_a_word() -> None:
    assert Pair(source="Hips", target="Hips") == HIPS  # type: ignore[arg-type]
    assert str(pair("LowerBack Spine", "Spine")) == "[`LowerBack`, `Spine`] -> `Spine`"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"source": (), "target": ("Hips",)}, "needs bones on both sides"),
        ({"source": ("Hips",), "target": ("Hips",), "align": "sideways"}, "one of direction, stance; got `sideways`"),
        ({"source": ("Hips",), "target": ("Hips",), "twist": math.nan}, "finite twist"),
        ({"source": ("Hips",), "target": ("Hips",), "confidence": 1.01}, "confidence from 0 to 1"),
    ],
)
def test_pairs_that_make_no_sense(given: dict[str, object], said: str) -> None:
    with pytest.raises(CorrespondenceError, match=said):
        Pair(**given)  # type: ignore[arg-type]


def test_unknown_bones_name_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="the target has no bone `Haed`; nearest: `Head`"):
        make_map(HIPS, pair("Head", "Haed"))
    with pytest.raises(UnknownNameError, match="the source has no bone `LeftThigh`"):
        make_map(HIPS, pair("LeftThigh", "LeftThigh"))


def test_a_bone_in_two_pairs_is_ambiguous() -> None:
    with pytest.raises(CorrespondenceError, match="ambiguous: `Head` of the source is in two pairs"):
        make_map(HIPS, pair("Head", "Head"), pair("Head", "Neck"))
    with pytest.raises(CorrespondenceError, match="a bone of the target is named twice"):
        make_map(HIPS, pair("Head", "Head Head"))


def test_turning_the_tree_over_is_refused() -> None:
    with pytest.raises(CorrespondenceError, match="cyclic: `LeftUpLeg` carries `LeftLeg`") as caught:
        make_map(HIPS, pair("LeftUpLeg", "LeftShin"), pair("LeftLeg", "LeftThigh"))
    assert "exchange the partners" in caught.value.hint


def test_bones_side_by_side_on_one_body_may_follow_each_other_on_the_other() -> None:
    """A head is below the spine on a human and beside it on a shark: the trees do not contradict each other."""
    whole = Correspondence(
        source=ADULT, target=SHARK, pairs=(pair("Hips", "Body"), pair("Spine", "Spine1"), pair("Head", "Head"))
    )
    assert whole.root == pair("Hips", "Body")


def test_a_map_needs_pairs_and_a_root() -> None:
    with pytest.raises(CorrespondenceError, match="no pairs") as caught:
        make_map()
    assert "understudy map" in caught.value.hint
    with pytest.raises(CorrespondenceError, match=r"no root.*topmost are `LeftUpLeg` -> `LeftThigh`, `Head` -> `Head`"):
        make_map(pair("LeftUpLeg", "LeftThigh"), pair("Head", "Head"))


def test_points_must_exist() -> None:
    with pytest.raises(UnknownNameError, match="`Nosse` is neither a joint nor an end; nearest: `Nose`"):
        make_map(HIPS, points=(PointPair(source="HeadTop", target="Nosse"),))


def test_what_a_map_says_of_itself() -> None:
    legs = pair("LeftUpLeg RightUpLeg", "Tail")
    spine = pair("LowerBack Spine Spine1", "Spine Spine1")
    whole = make_map(legs, spine, HIPS)
    assert whole.root is HIPS
    assert whole.ordered == (HIPS, spine, legs)
    assert whole.pair_of("source", "Spine1") is spine
    assert whole.pair_of("target", "Spine2") is None
    assert "Spine2" in whole.unmatched("target")
    assert set(whole.unmatched("source")) == set(ADULT.names) - {
        "Hips", "LowerBack", "Spine", "Spine1", "LeftUpLeg", "RightUpLeg"
    }  # fmt: skip


def test_reversed_twice_is_the_same() -> None:
    whole = make_map(HIPS, pair("Head", "Head", twist=0.3), points=(PointPair(source="HeadTop", target="Nose"),))
    back = whole.reversed()
    assert back.pairs[1] == pair("Head", "Head", twist=-0.3)
    assert back.points == (PointPair(source="Nose", target="HeadTop"),)
    assert back.reversed().pairs == whole.pairs


def test_chains() -> None:
    assert is_ancestor(ADULT, "Hips", "LeftHand")
    assert not is_ancestor(ADULT, "LeftHand", "Hips")
    assert not is_ancestor(ADULT, "Hips", "Hips")
    assert is_chain(ADULT, ("LowerBack", "Spine1", "Head"))
    assert not is_chain(ADULT, ("LeftUpLeg", "RightUpLeg"))
