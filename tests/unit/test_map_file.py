"""Map files: written and read back the same; every mistake is reported with its line."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np
import pytest

from understudy import samples
from understudy.base.errors import FileError
from understudy.correspondence.map_file import map_text, read_map, write_map
from understudy.correspondence.pairs import Correspondence, Pair, PointPair
from understudy.correspondence.suggest import suggest
from understudy.figure.skeleton import Skeleton

ADULT, DOG = samples.character("adult"), samples.character("dog")


def same(one: Correspondence, other: Correspondence) -> bool:
    return one.pairs == other.pairs and one.points == other.points


def hand_made() -> Correspondence:
    return Correspondence(
        source=ADULT,
        target=DOG,
        pairs=(
            Pair(source=("Hips",), target=("Hips",), confidence=0.123456789, reason='said "so"\nby hand \\ # x'),
            Pair(source=("LowerBack", "Spine"), target=("Spine", "Spine1", "Spine2"), align="stance"),
            Pair(source=("LeftUpLeg", "RightUpLeg"), target=("Tail",), twist=math.radians(-37.5), align="direction"),
            Pair(source=("Head",), target=("Head",), twist=0.1, turn=(0.1, -1.0 / 3.0, math.radians(20.0))),
        ),
        points=(PointPair(source="HeadTop", target="Nose"), PointPair(source="LeftHand", target="LeftForeToe")),
    )


def test_a_map_read_back_is_the_same(tmp_path: Path) -> None:
    for number, correspondence in enumerate(
        (hand_made(), suggest(ADULT, DOG), suggest(DOG, samples.character("spider")))
    ):
        first, second = tmp_path / f"{number}a.toml", tmp_path / f"{number}b.toml"
        write_map(correspondence, first, "walk.bvh", "dog.bvh")
        read = read_map(first, correspondence.source, correspondence.target)
        assert same(read, correspondence)
        write_map(read, second, "walk.bvh", "dog.bvh")
        assert second.read_text() == first.read_text()


@pytest.mark.parametrize("angle", [1e-7, 0.1, 1.0 / 3.0, -2.0, math.pi, 12.3456789012345])
def test_any_twist_comes_back_to_the_last_bit(tmp_path: Path, angle: float) -> None:
    pairs = (Pair(source=("Hips",), target=("Hips",), twist=angle),)
    write_map(Correspondence(source=ADULT, target=DOG, pairs=pairs), tmp_path / "map.toml")
    read = read_map(tmp_path / "map.toml", ADULT, DOG)
    assert math.isclose(read.pairs[0].twist, angle, rel_tol=3e-16)
    write_map(read, tmp_path / "again.toml")
    assert read_map(tmp_path / "again.toml", ADULT, DOG).pairs == read.pairs


def test_the_text_explains_itself_and_lists_what_is_left() -> None:
    text = map_text(hand_made(), "walk.bvh", "dog\nof two lines.bvh")
    assert "# source: walk.bvh" in text
    assert "# target: dog of two lines.bvh" in text
    assert "twist = -37.5" in text
    left = text[text.index("# In no pair, of dog of two lines.bvh:") :]
    assert '"Tail1"' in left
    assert '"Tail",' not in left
    assert all(len(line) <= 120 for line in text.splitlines())
    assert set(tomllib.loads(text)) == {"pair", "point"}


def test_names_with_blanks_quotes_and_other_letters(tmp_path: Path) -> None:
    names = ("Bip01 Pelvis", 'the "knee"', "左足首", "back\\slash")
    rig = Skeleton(names=names, parents=np.array([-1, 0, 1, 2]), offsets=np.ones((4, 3)))
    correspondence = Correspondence(
        source=rig, target=rig, pairs=tuple(Pair(source=(n,), target=(n,)) for n in names[:3])
    )
    write_map(correspondence, tmp_path / "map.toml")
    assert same(read_map(tmp_path / "map.toml", rig, rig), correspondence)


def test_what_people_write_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text('[[pair]]\nsource = "Hips"\ntarget = ["Hips"]\ntwist = 90\n')
    read = read_map(path, ADULT, DOG)
    assert read.pairs == (Pair(source=("Hips",), target=("Hips",), twist=math.pi / 2),)
    assert read.pairs[0].confidence == 1.0
    assert read.pairs[0].reason == "given"


ROOT = '[[pair]]\nsource = "Hips"\ntarget = "Hips"\n'
TWO = '[[pair]]\nsource = "{}"\ntarget = "{}"\n[[pair]]\nsource = "{}"\ntarget = "{}"\n'
WRONG = {
    "not TOML": (ROOT + "source = Hips\n", 4, "not valid TOML", "quotes"),
    "no end": (ROOT + '[[pair]]\nsource = "Hips', 5, "not valid TOML", "quotes"),
    "unknown table": (ROOT + "[pairs]\na = 1\n", 4, "no key `pairs`", "`pair`"),
    "one table": ('[pair]\nsource = "Hips"\n', 1, "expected a list of `pair` tables", "[[pair]]"),
    "no tables": ("pair = [1]\n", 1, "expected a table", "[[pair]]"),
    "unknown key": (ROOT + "confidense = 1.0\n", 4, "no key `confidense`; nearest: `confidence`", "known"),
    "no target": ('[[pair]]\nsource = "Hips"\n', 1, "`target` is missing", "target = NAME"),
    "unknown bone": (TWO.format("Hips", "Hips", "Head", "Haed"), 6, "no bone `Haed`; nearest: `Head`", ""),
    "wrong type": ('[[pair]]\nsource = 5\ntarget = "Hips"\n', 2, "source: expected a text in quotes, got the", ""),
    "wrong entry": ('[[pair]]\nsource = ["Hips", 5]\ntarget = "Hips"\n', 2, "entry 2: expected a text in quotes", ""),
    "empty list": ('[[pair]]\nsource = []\ntarget = "Hips"\n', 2, "expected at least one bone", ""),
    "wrong confidence": (ROOT + 'confidence = "high"\n', 4, "confidence: expected a number", ""),
    "confidence above 1": (ROOT + "confidence = 1.5\n", 1, "a confidence from 0 to 1", ""),
    "wrong twist": (ROOT + "twist = inf\n", 1, "expected a finite twist", ""),
    "wrong alignment": (ROOT + 'align = "sideways"\n', 1, "expected alignment, one of direction, stance", ""),
    "claimed twice": (TWO.format("Hips", "Hips", "Hips", "Spine"), 5, "already in the pair of line 2", "join them"),
    "twice in a pair": (
        ROOT + '[[pair]]\nsource = "Head"\ntarget = ["Neck", "Neck"]\n', 6, "`Neck` of the target is named already", "",
    ),
    "no root": (TWO.format("LeftArm", "LeftThigh", "Head", "Head"), 4, "The map has no root", "the hips of both"),
    "cyclic": (
        ROOT + "\n" + TWO.format("LeftUpLeg", "LeftShin", "LeftLeg", "LeftThigh"), 8, "The map is cyclic", "exchange",
    ),
    "nothing": ("# only words\n", None, "The map has no pairs", "understudy map"),
    "unknown point": (
        ROOT + '[[point]]\nsource = "HeadTop"\ntarget = "Nosse"\n', 6, "no joint or end `Nosse`; nearest: `Nose`", "",
    ),
    "point of two": (
        ROOT + '[[point]]\nsource = ["HeadTop"]\ntarget = "Nose"\n', 5, "source: expected a text in quotes", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_are_told_with_their_line(tmp_path: Path, mistake: str) -> None:
    text, line, problem, hint = WRONG[mistake]
    path = tmp_path / "map.toml"
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        read_map(path, ADULT, DOG)
    assert problem in caught.value.message
    assert caught.value.message.startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert hint in caught.value.hint


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_bytes(b'[[pair]]\nsource = "\xff"\n')
    with pytest.raises(FileError, match="not UTF-8"):
        read_map(path, ADULT, DOG)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        read_map(tmp_path / "map.toml", ADULT, DOG)


def test_a_failed_write_leaves_the_old_map(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text("old")
    with pytest.raises(FileError):
        write_map(hand_made(), tmp_path / "missing" / "map.toml")
    bad = hand_made()
    object.__setattr__(bad.pairs[0], "reason", object())
    with pytest.raises(TypeError):
        write_map(bad, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
