"""Guards: results spoiled on purpose are refused with the reason, sound ones are not."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from understudy import samples
from understudy.analogies import analogy
from understudy.casting import cast
from understudy.geometry.quaternion import from_axis_angle, multiply, rotate
from understudy.motion import Motion
from understudy.plan import plan
from understudy.recipe.guards import crossed, faults, frozen, scattered, transition_faults
from understudy.recipe.guards_analogy import analogy_faults
from understudy.symmetry import mirror
from understudy.transfer.correspondence import Correspondence
from understudy.transition import transition

BODIES = ("child", "giant", "dog", "spider", "shark")


def turned(motion: Motion, degrees: float) -> Motion:
    """A motion turned about the vertical."""
    turn = from_axis_angle(np.array([0.0, 1.0, 0.0]), np.array(np.radians(degrees)))
    rotations = motion.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    return replace(motion, root=rotate(turn, motion.root), rotations=rotations)


def still(motion: Motion) -> Motion:
    return motion[np.zeros(motion.num_frames, int)]


@pytest.fixture(scope="module")
def walk() -> Motion:
    return samples.motion("walk").motion[:90]


def performed(source: Motion, body: str) -> tuple[Motion, Correspondence | None]:
    """A motion carried over to another body, before it is solved, and by which bones."""
    part = cast(source, samples.character(body))
    made = plan([part]).starts[0]
    return made, None if part.alignment is None else part.alignment.correspondence


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", ["walk", "dance", "skip", "dog_walk", "march"])
def test_sound_results_pass(name: str, body: str) -> None:
    source = next(iter(samples.motion(name).actors.values()))[:120]
    result, correspondence = performed(source, body)
    assert faults(source, result, correspondence) == []


@pytest.mark.parametrize("body", ["child", "giant", "dog"])
def test_a_mirrored_result_is_told(walk: Motion, body: str) -> None:
    result, correspondence = performed(walk, body)
    said = faults(walk, mirror(result), correspondence)
    assert len(said) == 1
    assert "is mirrored: its left does what the source's right does (correlation of the sides -" in said[0]


def test_a_mirrored_result_is_told_whatever_its_heading(walk: Motion) -> None:
    """Left and right are the body's own: a path that turns the other way is not what tells."""
    source = turned(walk, 75.0)
    assert faults(source, turned(walk, 60.0)) == []
    assert any("is mirrored" in said for said in faults(source, turned(mirror(walk), 75.0)))


def test_movement_that_is_its_own_mirror_image_is_not_called_mirrored() -> None:
    squat = samples.motion("squat").motion
    assert faults(squat, mirror(squat)) == []


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("degrees", [180.0, 120.0, -100.0])
def test_a_result_that_faces_elsewhere_is_told(walk: Motion, body: str, degrees: float) -> None:
    result, correspondence = performed(walk, body)
    said = faults(walk, turned(result, degrees), correspondence)
    assert any("the other way" in sentence for sentence in said), said


@pytest.mark.parametrize("degrees", [45.0, -60.0])
def test_a_result_that_only_looks_aside_passes(walk: Motion, degrees: float) -> None:
    assert faults(walk, turned(walk, degrees)) == []


def test_walking_backwards_is_told_by_the_path(walk: Motion) -> None:
    said = faults(walk, replace(walk, root=walk.root[::-1].copy()))
    assert said == ["goes the other way: 180 degrees from where the source goes"]


def test_a_result_that_stands_still_is_told(walk: Motion) -> None:
    assert faults(walk, still(walk)) == ["stands still while the source moves"]
    assert frozen(walk, still(walk))
    assert not frozen(still(walk), still(walk)), "a source that stands still may stand still"
    assert faults(walk[:1], walk[:1]) == [], "one frame cannot move"


def test_a_result_that_is_thrown_away_is_told(walk: Motion) -> None:
    root = walk.root.copy()
    root[40] += 1e4
    said = faults(walk, replace(walk, root=root))
    assert len(said) == 1
    assert said[0].startswith("is thrown ")
    far = replace(walk, root=walk.root + 1e4)
    assert faults(far, far) == [], "a source that is far away may be followed there"


def test_numbers_that_are_none_are_told(walk: Motion) -> None:
    """A motion refuses them when it is made; what is spoiled later is found too."""
    spoiled = replace(walk, name="spoiled")
    root = walk.root.copy()
    root[3, 1] = np.nan
    object.__setattr__(spoiled, "root", root)
    assert scattered(walk, spoiled) == "holds numbers that are not finite"
    assert faults(walk, spoiled) == ["holds numbers that are not finite"]


def test_a_map_that_crosses_the_sides_is_told_unless_it_was_asked_for(walk: Motion) -> None:
    result, correspondence = performed(walk, "dog")
    assert correspondence is not None
    assert crossed(correspondence) == ""
    partner = {pair.source: pair.target for pair in correspondence.pairs}
    swapped = []
    for pair in correspondence.pairs:
        other = tuple(name.replace("Left", "*").replace("Right", "Left").replace("*", "Right") for name in pair.source)
        swapped.append(replace(pair, target=partner.get(other, pair.target)))
    across = replace(correspondence, pairs=tuple(swapped))
    assert "bones that are on a side play those of the other side" in crossed(across)
    assert any("play those of the other side" in said for said in faults(walk, result, across))
    assert not any("play those of the other side" in said for said in faults(walk, result, across, given=True))


def test_guards_are_cheap(walk: Motion) -> None:
    result, correspondence = performed(walk, "dog")
    faults(walk, result, correspondence)
    took = []
    for _ in range(5):
        began = time.perf_counter()
        faults(walk, result, correspondence)
        took.append(time.perf_counter() - began)
    assert min(took) < 0.02


def test_a_transition_is_its_two_motions(walk: Motion) -> None:
    dog = samples.motion("dog_walk").motion
    found = transition(walk, dog)
    assert transition_faults(found, walk, dog) == []
    assert "the first part stands still while the source moves" in transition_faults(
        replace(found, motion=still(found.motion)), walk, dog
    )
    back = transition_faults(replace(found, motion=turned(found.motion, 180.0)), walk, dog)
    assert [said.partition(":")[0] for said in back] == [
        "the first part faces the other way",
        "the last part faces the other way",
    ]


def test_a_transition_of_one_body_is_its_two_motions(walk: Motion) -> None:
    march = turned(samples.motion("march").motion[:90], 130.0)
    found = transition(walk, march)
    assert transition_faults(found, walk, march) == []
    spoiled = replace(found, motion=mirror(found.motion))
    assert any(said.startswith("the first part is mirrored") for said in transition_faults(spoiled, walk, march))


def test_an_analogy_keeps_facing_side_and_movement() -> None:
    walk, dog, march = (samples.motion(name).motion for name in ("walk", "dog_walk", "march"))
    found = analogy(walk, dog, march)
    assert analogy_faults(found) == []
    assert analogy_faults(replace(found, motion=still(found.motion))) == [
        "the result stands still while the source moves"
    ]
    (said,) = analogy_faults(replace(found, level=turned(found.level, 180.0)))
    assert said.startswith("the result faces the other way: 1")
    (said,) = analogy_faults(replace(found, motion=mirror(found.motion)))
    assert said.startswith("the result is mirrored: its left does what its right is to do (correlation of the sides -")
