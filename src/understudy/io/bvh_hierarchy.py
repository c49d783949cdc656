"""The HIERARCHY section of a BVH file: joints, offsets, channels and End Sites, without recursion."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from understudy.errors import FileError, nearest_names

CHANNELS = ("Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation")
"""The channels a BVH joint can have."""

LARGEST = 1e30
"""A length beyond this is no body's, and its square may be beyond any number."""

_CHANNEL_BY_WORD = {name.casefold(): name for name in CHANNELS}
_KEYWORDS = frozenset({"hierarchy", "root", "joint", "end", "offset", "channels", "motion"})
_PIECE = re.compile(r"[{}]|[^\s{}]+")


@dataclass(frozen=True, kw_only=True)
class Site:
    """An End Site: the far end of a joint that has no joint there."""

    joint: int
    offset: tuple[float, float, float]
    label: str
    """What stands after `End`: as a rule `Site`."""


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """The tree of a BVH file in parallel lists, in the file's order, unit and axes."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    offsets: tuple[tuple[float, float, float], ...]
    channels: tuple[tuple[str, ...], ...]
    """Each joint's channels, in the file's order."""
    sites: tuple[Site, ...]

    @property
    def width(self) -> int:
        """How many numbers make a frame."""
        return sum(len(channels) for channels in self.channels)


@dataclass
class _Joint:
    """A joint while its block is being read."""

    name: str
    parent: int
    line: int
    offset: tuple[float, float, float] | None = None
    channels: tuple[str, ...] | None = None
    label: str | None = None
    """Set for an End Site."""

    @property
    def title(self) -> str:
        return f"joint `{self.name}`" if self.label is None else f"the End Site of joint `{self.name}`"


@dataclass
class _Words:
    """The words and braces of the section, one after another, with their lines."""

    name: str
    text: str
    first_line: int = 1
    words: list[tuple[str, int]] = field(default_factory=list)
    at: int = 0
    named: dict[str, int] = field(default_factory=dict)
    """The line of each joint's name so far."""

    def __post_init__(self) -> None:
        lines = self.text.split("\n")
        self.words = [(m.group(), n) for n, line in enumerate(lines, self.first_line) for m in _PIECE.finditer(line)]
        self.last_line = self.first_line + len(lines) - 1

    def peek(self) -> tuple[str, int]:
        """The next word and its line; an empty word at the end."""
        return self.words[self.at] if self.at < len(self.words) else ("", self.last_line)

    def take(self) -> tuple[str, int]:
        found = self.peek()
        self.at += 1
        return found

    def rest_of_line(self, line: int) -> Iterator[str]:
        """Take the words still on a line, up to a brace."""
        while True:
            word, here = self.peek()
            if not word or here != line or word in "{}":
                return
            self.at += 1
            yield word

    def error(self, line: int, problem: str, hint: str = "") -> FileError:
        return FileError(self.name, line, problem, hint=hint)


def parse_hierarchy(text: str, name: str) -> Hierarchy:
    """Read the text of a HIERARCHY section.

    Args:
        text: Everything up to and with the word MOTION, or the whole file without one; lines end in a line feed.
        name: The file, for errors.
    """
    words = _Words(name, text)
    word, line = words.take()
    if word.casefold() != "hierarchy":
        raise words.error(line, f"expected `HIERARCHY`, found {_shown(word)}; this is not a BVH file")
    word, line = words.take()
    if word.casefold() != "root":
        raise words.error(line, f"expected `ROOT` and the name of the first joint, found {_shown(word)}")
    joints: list[_Joint] = []
    sites: list[Site] = []
    open_blocks = [_begin(words, joints, line, parent=-1)]
    while open_blocks:
        _statement(words, open_blocks, joints, sites)
    word, line = words.peek()
    if word.casefold() == "root":
        raise words.error(
            line,
            f"a second `ROOT` begins here; the first is on line {joints[0].line}, and a skeleton has one",
            "split the file, one character each",
        )
    if word and word.casefold() != "motion":
        expected = "expected `MOTION` or the end of the file"
        raise words.error(line, f"found {_shown(word)} after the closing brace of joint `{joints[0].name}`; {expected}")
    return Hierarchy(
        names=tuple(joint.name for joint in joints),
        parents=tuple(joint.parent for joint in joints),
        offsets=tuple(joint.offset or (0.0, 0.0, 0.0) for joint in joints),
        channels=tuple(joint.channels or () for joint in joints),
        sites=tuple(sites),
    )


def _begin(words: _Words, joints: list[_Joint], line: int, parent: int) -> int:
    """Take a joint's name and opening brace; the joint's number."""
    joint_name = " ".join(words.rest_of_line(line))
    if not joint_name:
        raise words.error(line, "a joint needs a name here; found none")
    if joint_name in words.named:
        before = words.named[joint_name]
        raise words.error(line, f"joint `{joint_name}` has the name of the joint on line {before}; names must differ")
    words.named[joint_name] = line
    joints.append(_Joint(joint_name, parent, line))
    _open(words, joints[-1])
    return len(joints) - 1


def _open(words: _Words, block: _Joint) -> None:
    word, line = words.take()
    if word != "{":
        raise words.error(line, f"expected `{{` to open {block.title}, found {_shown(word)}")


def _statement(words: _Words, open_blocks: list[int], joints: list[_Joint], sites: list[Site]) -> None:
    """Read one statement of the innermost open joint."""
    joint = joints[open_blocks[-1]]
    word, line = words.take()
    key = word.casefold()
    if key == "offset":
        _offset(words, joint, line)
    elif key == "channels":
        _channels(words, joint, line)
    elif key == "joint":
        open_blocks.append(_begin(words, joints, line, parent=open_blocks[-1]))
    elif key == "end":
        sites.append(_site(words, open_blocks[-1], joint.name, line))
    elif key == "}":
        _check_complete(words, joint, line)
        open_blocks.pop()
    elif not word or key == "motion":
        found = "`MOTION` begins" if word else "the file ends"
        many = f"{len(open_blocks)} joints are" if len(open_blocks) > 1 else f"joint `{joint.name}` is"
        raise words.error(line, f"{found} while {many} still open: a closing brace `}}` is missing")
    elif word == "{":
        raise words.error(line, f"a second `{{` in {joint.title}; expected OFFSET, CHANNELS, JOINT, End Site or `}}`")
    else:
        expected = "expected OFFSET, CHANNELS, JOINT, End Site or `}`"
        raise words.error(line, f"found {_shown(word)} in {joint.title}; {expected}")


def _offset(words: _Words, joint: _Joint, line: int) -> None:
    if joint.offset is not None:
        raise words.error(line, f"{joint.title} has a second OFFSET")
    values: list[float] = []
    for _ in range(3):
        word, here = words.peek()
        number = _number(word)
        if number is None:
            if not word or word in "{}" or word.casefold() in _KEYWORDS:
                raise words.error(line, f"OFFSET of {joint.title} has {len(values)} numbers; expected 3")
            raise words.error(here, f"OFFSET of {joint.title}: {_shown(word)} is not a finite number")
        if abs(number) > LARGEST:
            raise words.error(here, f"OFFSET of {joint.title}: {_shown(word)} is too large for a body")
        values.append(number)
        words.at += 1
    word, here = words.peek()
    if here == line and _number(word) is not None:
        raise words.error(line, f"OFFSET of {joint.title} has more than 3 numbers")
    joint.offset = (values[0], values[1], values[2])


def _channels(words: _Words, joint: _Joint, line: int) -> None:
    if joint.channels is not None:
        raise words.error(line, f"{joint.title} has a second CHANNELS line")
    word, here = words.take()
    if not word.isdecimal():
        raise words.error(here, f"CHANNELS of {joint.title}: expected how many there are, found {_shown(word)}")
    declared = int(word) if len(word) < 9 else 10**9
    named: list[str] = []
    while True:
        word, here = words.peek()
        known = _CHANNEL_BY_WORD.get(word.casefold())
        if known is None:
            if word and word not in "{}" and word.casefold() not in _KEYWORDS:
                raise words.error(
                    here, f"{joint.title} has no channel {_shown(word)} known to BVH; {nearest_names(word, CHANNELS)}"
                )
            break
        if known in named:
            raise words.error(here, f"{joint.title} names the channel `{known}` twice")
        named.append(known)
        words.at += 1
    if declared != len(named):
        raise words.error(line, f"{joint.title} declares {declared} channels but names {len(named)}")
    joint.channels = tuple(named)


def _site(words: _Words, joint: int, joint_name: str, line: int) -> Site:
    label = " ".join(words.rest_of_line(line)) or "Site"
    site = _Joint(joint_name, joint, line, label=label)
    _open(words, site)
    while True:
        word, here = words.take()
        if word.casefold() == "offset":
            _offset(words, site, here)
        elif word == "}":
            if site.offset is None:
                raise words.error(here, f"{site.title} has no OFFSET")
            return Site(joint=joint, offset=site.offset, label=label)
        else:
            raise words.error(here, f"found {_shown(word)} in {site.title}; expected OFFSET or `}}`")


def _check_complete(words: _Words, joint: _Joint, line: int) -> None:
    if joint.offset is None:
        raise words.error(joint.line, f"{joint.title} has no OFFSET before its closing brace on line {line}")
    if joint.channels is None:
        raise words.error(
            joint.line,
            f"{joint.title} has no CHANNELS before its closing brace on line {line}",
            "a joint that does not move says `CHANNELS 0`",
        )


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in word else None


def _shown(word: str) -> str:
    return f"`{word[:40]}`" if word else "the end of the file"
