"""BVH, the Biovision hierarchy: joints with offsets and channels, then one row of numbers per frame.

A BVH file gives neither its unit nor its up axis. Both are guessed from the body (`guess.py`) unless the user gives
them. The file's angles are kept besides the rotations, so that the writer can write the same file back.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import BinaryIO

import numpy as np

from understudy.base.errors import FileError, MotionError, SkeletonError, nearest_names
from understudy.base.quaternion import Array, from_euler, identity, multiply, rotate
from understudy.base.records import record
from understudy.figure.motion import Motion
from understudy.figure.skeleton import Point, Skeleton
from understudy.io.clip import Clip, ReadOptions, world_from_file
from understudy.io.guess import count_still_tail, find_reference_frame, guess

BLOCK_CHARACTERS = 1 << 18
"""Characters parsed at a time, so that the intermediate arrays stay in the processor's cache."""

Words = np.ndarray

_PAD = b" " * 9

_ZEROS = np.uint64(0x3030303030303030)

_HIGH = np.uint64(0x8080808080808080)

_TOO_BIG = np.uint64(0x7676767676767676)

_FIRST = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
"""At index n: a mask for the first n characters of an 8-byte word."""

_LAST = np.array([((1 << 64) - 1) ^ ((1 << 8 * (8 - n)) - 1) for n in range(9)], np.uint64)
"""At index n: a mask for the last n characters of an 8-byte word."""


@record(eq=True)
class Damage:
    """The first line of a number block that cannot be used."""

    line: int
    """Counted from 0 at the start of the block."""
    row: int
    """The number of complete rows before it."""
    problem: str
    extra: bool = False
    """Whether the row is one too many; then it is not examined further."""


def read_rows(data: bytes, width: int, max_rows: int, start: int = 0) -> tuple[Array, Damage | None]:
    """Rows of numbers, one per line, up to the first damage. Blank lines are skipped.

    Args:
        data: ASCII text with line feeds.
        width: The number of values in a row.
        max_rows: The largest allowed number of rows; one more counts as damage.
        start: The start of the rows in the text.

    Returns:
        (R, width) the complete rows, and the damage that stopped the reading, if any.
    """
    # A number takes at least two characters. This bounds the memory by the file's size, not by its frame count.
    rows = np.empty((min(max_rows, (len(data) - start) // (2 * width) + 1), width))
    done = line = 0
    while start < len(data):
        stop = len(data) if start + BLOCK_CHARACTERS >= len(data) else data.find(b"\n", start + BLOCK_CHARACTERS) + 1
        stop = stop or len(data)
        values, counts, problem = _read_block(data[start:stop], width)
        count = len(values)
        if done + count > max_rows:
            bad = int(np.flatnonzero(counts)[max_rows - done])
            rows[done:max_rows] = values[: max_rows - done]
            return rows[:max_rows], Damage(line=line + bad, row=max_rows, problem="", extra=True)
        rows[done : done + count] = values
        done += count
        if problem is not None:
            bad, text = problem
            extra = done == max_rows
            return rows[:done], Damage(line=line + bad, row=done, problem=text, extra=extra)
        line += len(counts)
        start = stop
    return rows[:done], None


def _read_block(block: bytes, width: int) -> tuple[Array, np.ndarray, tuple[int, str] | None]:
    """The complete rows of some lines, the count of numbers in each line, and the first bad line with its fault."""
    text = _PAD + block + _PAD
    raw = np.frombuffer(text, np.uint8)
    space = raw <= 32
    edges = np.flatnonzero(space[1:] != space[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    newlines = np.flatnonzero(raw == 10)
    if not block.endswith(b"\n"):
        newlines = np.append(newlines, len(text) - 1)
    counts = np.diff(np.searchsorted(starts, newlines), prepend=0)
    problem = None
    wrong = np.flatnonzero((counts != width) & (counts != 0))
    usable = len(starts)
    if len(wrong):
        bad = int(wrong[0])
        usable = int(counts[:bad].sum())
        problem = (bad, f"has {counts[bad]} values; expected {width}, one for each channel")
        token_fault = _first_fault(text, starts[usable : usable + counts[bad]], ends[usable : usable + counts[bad]])
        if token_fault is not None:
            problem = (bad, token_fault)
    values, fault = _numbers(text, raw, starts[:usable], ends[:usable])
    if fault is not None:
        number, description = fault
        bad = int(np.searchsorted(np.cumsum(counts), number, side="right"))
        problem = (bad, description)
        values = values[: number // width * width]
    return values.reshape(-1, width), counts, problem


def _numbers(text: bytes, raw: np.ndarray, starts: Words, ends: Words) -> tuple[Array, tuple[int, str] | None]:
    """The numbers between starts and ends, and the index and fault of the first that is not a number."""
    if len(starts) == 0:
        return np.empty(0), None
    first = raw[starts]
    minus = first == 45
    digits = starts + (minus | (first == 43))
    points = _decimal_points(raw, starts, ends)
    num_integer_digits, num_fraction_digits = points - digits, ends - points - 1
    slow = (num_integer_digits > 7) | (num_fraction_digits > 8) | (num_integer_digits + num_fraction_digits < 1)
    np.maximum(num_fraction_digits, 0, out=num_fraction_digits)
    np.minimum(num_fraction_digits, 8, out=num_fraction_digits)
    np.minimum(num_integer_digits, 8, out=num_integer_digits)
    words: Words = np.ndarray((len(text) - 7,), "<u8", text, strides=(1,))
    integer_digits = (words[points - 8] ^ _ZEROS) & _LAST[num_integer_digits]
    fraction_digits = (words[points + 1] ^ _ZEROS) & _FIRST[num_fraction_digits]
    flags = (integer_digits + _TOO_BIG) | integer_digits | (fraction_digits + _TOO_BIG) | fraction_digits
    slow |= (flags & _HIGH) != 0
    values = (_eight_digits(integer_digits) * np.uint64(100_000_000) + _eight_digits(fraction_digits)).astype(float)
    values /= 1e8
    np.negative(values, out=values, where=minus)
    for number in np.flatnonzero(slow).tolist():
        token = text[starts[number] : ends[number]]
        value = _one_number(token)
        if value is None:
            return values[:number], (number, _fault(token))
        values[number] = value
    return values, None


def _decimal_points(raw: np.ndarray, starts: Words, ends: Words) -> Words:
    """The position of each number's decimal point, or of its end if it has none."""
    all_points = np.flatnonzero(raw == 46)
    if len(all_points) >= len(starts):
        first = all_points[: len(starts)]
        if np.all((starts <= first) & (first < ends)):
            return first
    points = ends.copy()
    owner = np.searchsorted(starts, all_points, side="right") - 1
    kept = owner < len(starts)
    # In reverse, so that the first of two points in a number is kept. The second then fails as a digit.
    points[owner[kept][::-1]] = all_points[kept][::-1]
    return np.minimum(points, ends)


def _eight_digits(word: Words) -> Words:
    """The values of eight decimal digits each, with the first digit in the lowest byte."""
    word = (word * np.uint64(10) + (word >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    word = (word * np.uint64(100) + (word >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (word * np.uint64(10000) + (word >> np.uint64(32))) & np.uint64(0xFFFFFFFF)


def _one_number(token: bytes) -> float | None:
    """The value of a token; None if it is no finite number."""
    try:
        value = float(token)
    except ValueError:
        return None
    return value if np.isfinite(value) and b"_" not in token else None


def _fault(token: bytes) -> str:
    shown = token[:40].decode("ascii", "backslashreplace")
    return f"`{shown}` is not a finite number"


def _first_fault(text: bytes, starts: Words, ends: Words) -> str | None:
    """The fault of the first token that is not a number; None if all are numbers."""
    for start, end in zip(starts.tolist(), ends.tolist()):
        token = text[start:end]
        if _one_number(token) is None:
            return _fault(token)
    return None


CHANNELS = ("Xposition", "Yposition", "Zposition", "Xrotation", "Yrotation", "Zrotation")
"""The channels a BVH joint can have."""

MAX_LENGTH = 1e30
"""Larger lengths are refused: no body has them, and their squares could overflow."""

_CHANNEL_BY_WORD = {name.casefold(): name for name in CHANNELS}

_KEYWORDS = frozenset({"hierarchy", "root", "joint", "end", "offset", "channels", "motion"})

_PIECE = re.compile(r"[{}]|[^\s{}]+")


@record(eq=True)
class Site:
    """An End Site: the end point of a joint."""

    joint: int
    offset: tuple[float, float, float]
    label: str
    """The text after `End`, usually `Site`."""


@record(eq=True)
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
        """The number of values in a frame."""
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
    """The words and braces of a section in order, with their lines."""

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
        """The next word and its line, without taking it; an empty word at the end."""
        return self.words[self.at] if self.at < len(self.words) else ("", self.last_line)

    def take(self) -> tuple[str, int]:
        """Take the next word; returns it and its line."""
        word = self.peek()
        self.at += 1
        return word

    def rest_of_line(self, line: int) -> Iterator[str]:
        """Take the remaining words of a line, up to a brace."""
        while True:
            word, word_line = self.peek()
            if not word or word_line != line or word in "{}":
                return
            self.at += 1
            yield word

    def error(self, line: int, problem: str, hint: str = "") -> FileError:
        return FileError(self.name, line, problem, hint=hint)


def parse_hierarchy(text: str, name: str) -> Hierarchy:
    """Read the text of a HIERARCHY section.

    Args:
        text: The file up to and including the word MOTION, or all of it if there is none, with line feeds.
        name: The file, for errors.
    """
    words = _Words(name, text)
    word, line = words.take()
    if word.casefold() != "hierarchy":
        raise words.error(line, f"expected `HIERARCHY`, found {_quoted_word(word)}; this is not a BVH file")
    word, line = words.take()
    if word.casefold() != "root":
        raise words.error(line, f"expected `ROOT` and the name of the first joint, found {_quoted_word(word)}")
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
        raise words.error(
            line, f"found {_quoted_word(word)} after the closing brace of joint `{joints[0].name}`; {expected}"
        )
    return Hierarchy(
        names=tuple(joint.name for joint in joints),
        parents=tuple(joint.parent for joint in joints),
        offsets=tuple(joint.offset or (0.0, 0.0, 0.0) for joint in joints),
        channels=tuple(joint.channels or () for joint in joints),
        sites=tuple(sites),
    )


def _begin(words: _Words, joints: list[_Joint], line: int, parent: int) -> int:
    """Take a joint's name and opening brace; returns the joint's index."""
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
        raise words.error(line, f"expected `{{` to open {block.title}, found {_quoted_word(word)}")


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
        event = "`MOTION` begins" if word else "the file ends"
        joints_are = f"{len(open_blocks)} joints are" if len(open_blocks) > 1 else f"joint `{joint.name}` is"
        raise words.error(line, f"{event} while {joints_are} still open: a closing brace `}}` is missing")
    elif word == "{":
        raise words.error(line, f"a second `{{` in {joint.title}; expected OFFSET, CHANNELS, JOINT, End Site or `}}`")
    else:
        expected = "expected OFFSET, CHANNELS, JOINT, End Site or `}`"
        raise words.error(line, f"found {_quoted_word(word)} in {joint.title}; {expected}")


def _offset(words: _Words, joint: _Joint, line: int) -> None:
    if joint.offset is not None:
        raise words.error(line, f"{joint.title} has a second OFFSET")
    values: list[float] = []
    for _ in range(3):
        word, word_line = words.peek()
        number = _number(word)
        if number is None:
            if not word or word in "{}" or word.casefold() in _KEYWORDS:
                raise words.error(line, f"OFFSET of {joint.title} has {len(values)} numbers; expected 3")
            raise words.error(word_line, f"OFFSET of {joint.title}: {_quoted_word(word)} is not a finite number")
        if abs(number) > MAX_LENGTH:
            raise words.error(word_line, f"OFFSET of {joint.title}: {_quoted_word(word)} is too large for a body")
        values.append(number)
        words.at += 1
    word, word_line = words.peek()
    if word_line == line and _number(word) is not None:
        raise words.error(line, f"OFFSET of {joint.title} has more than 3 numbers")
    joint.offset = (values[0], values[1], values[2])


def _channels(words: _Words, joint: _Joint, line: int) -> None:
    if joint.channels is not None:
        raise words.error(line, f"{joint.title} has a second CHANNELS line")
    word, word_line = words.take()
    if not word.isdecimal():
        raise words.error(
            word_line, f"CHANNELS of {joint.title}: expected how many there are, found {_quoted_word(word)}"
        )
    declared = int(word) if len(word) < 9 else 10**9
    named: list[str] = []
    while True:
        word, word_line = words.peek()
        channel = _CHANNEL_BY_WORD.get(word.casefold())
        if channel is None:
            if word and word not in "{}" and word.casefold() not in _KEYWORDS:
                raise words.error(
                    word_line,
                    f"{joint.title} has no channel {_quoted_word(word)} known to BVH; {nearest_names(word, CHANNELS)}",
                )
            break
        if channel in named:
            raise words.error(word_line, f"{joint.title} names the channel `{channel}` twice")
        named.append(channel)
        words.at += 1
    if declared != len(named):
        raise words.error(line, f"{joint.title} declares {declared} channels but names {len(named)}")
    joint.channels = tuple(named)


def _site(words: _Words, joint: int, joint_name: str, line: int) -> Site:
    label = " ".join(words.rest_of_line(line)) or "Site"
    site = _Joint(joint_name, joint, line, label=label)
    _open(words, site)
    while True:
        word, word_line = words.take()
        if word.casefold() == "offset":
            _offset(words, site, word_line)
        elif word == "}":
            if site.offset is None:
                raise words.error(word_line, f"{site.title} has no OFFSET")
            return Site(joint=joint, offset=site.offset, label=label)
        else:
            raise words.error(word_line, f"found {_quoted_word(word)} in {site.title}; expected OFFSET or `}}`")


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


def _quoted_word(word: str) -> str:
    return f"`{word[:40]}`" if word else "the end of the file"


_FRAMES = re.compile(r"\s*frames\s*:?\s*(.*?)\s*", re.IGNORECASE)

_FRAME_TIME = re.compile(r"\s*frame[\s_]*time\s*:?\s*(.*?)\s*", re.IGNORECASE)


@record
class Block:
    """The numbers of a MOTION section, unchanged."""

    values: Array
    """(F, C) one row per frame."""
    frame_time: str
    """Seconds between frames, as written in the file."""
    dropped: tuple[str, ...] = ()
    """What was left out, a sentence each."""


def parse_motion(data: bytes, line: int, width: int, name: str, *, lenient: bool) -> Block:
    """Read a MOTION section.

    Args:
        data: The text after the word MOTION, with line feeds.
        line: The line of that word, from 1.
        width: The number of values in a frame.
        name: The file, for errors.
        lenient: Read up to the first damage and report what was dropped.
    """
    at, line, text = _next_line(data, 0, line)
    if not (match := _FRAMES.fullmatch(text)):
        raise FileError(name, line, f"expected `Frames:` and how many there are, found {_quoted_bytes(text)}")
    declared_frames = _frame_count(match.group(1), line, name)
    at, line, text = _next_line(data, at, line)
    if not (match := _FRAME_TIME.fullmatch(text)):
        raise FileError(name, line, f"expected `Frame Time:` and the seconds of a frame, found {_quoted_bytes(text)}")
    frame_time = _frame_time(match.group(1), line, name)
    if width == 0:
        raise FileError(name, line, "there is a MOTION section, but no joint has a channel")
    values, damage = read_rows(data, width, declared_frames, at)
    values.setflags(write=False)
    problem = _problem(damage, len(values), declared_frames)
    if problem is None:
        return Block(values=values, frame_time=frame_time)
    last = _last_line(data, at, line + 1) if damage is None else line + 1 + damage.line
    if lenient and len(values):
        sentence = f"line {last}: {problem}; {_left_out(damage, len(values), declared_frames)}"
        return Block(values=values, frame_time=frame_time, dropped=(sentence,))
    hint = "lenient reading keeps the frames before the damage" if len(values) else ""
    raise FileError(name, last, problem, hint=hint)


def _next_line(data: bytes, at: int, line: int) -> tuple[int, int, str]:
    """The end of the next line that is not blank, its number and its text; the text is empty at the file's end.

    At the start of the data, the line is the rest of the line with the word MOTION, and has its number.
    """
    first = at == 0
    while at < len(data):
        end = data.find(b"\n", at)
        stop = len(data) if end < 0 else end
        text = data[at:stop].decode("latin-1")
        line += 0 if first else 1
        first = False
        at = stop + 1
        if text.strip():
            return at, line, text
    return at, line, ""


def _last_line(data: bytes, at: int, line: int) -> int:
    """The number of the last line that is not blank, given that `line` is the number of the line at `at`."""
    return line + data[at:].rstrip().count(b"\n")


def _frame_count(text: str, line: int, name: str) -> int:
    try:
        count = int(text) if "_" not in text and len(text) < 20 else -1
    except ValueError:
        raise FileError(name, line, f"`Frames:` needs a whole number, found {_quoted_bytes(text)}") from None
    if count < 1:
        raise FileError(name, line, f"`Frames:` says {_quoted_bytes(text)}; expected at least 1")
    return count


def _frame_time(text: str, line: int, name: str) -> str:
    try:
        seconds = float(text) if "_" not in text else math.nan
    except ValueError:
        raise FileError(name, line, f"`Frame Time:` needs a number of seconds, found {_quoted_bytes(text)}") from None
    if not (math.isfinite(seconds) and seconds > 0.0 and math.isfinite(1.0 / seconds)):
        raise FileError(name, line, f"`Frame Time:` says {_quoted_bytes(text)}; expected seconds above zero")
    return text


def _problem(damage: Damage | None, num_frames: int, declared_frames: int) -> str | None:
    """A description of the damage; None if there is none."""
    if damage is None:
        if num_frames == declared_frames:
            return None
        return f"the motion ends after {num_frames} frames; `Frames:` promises {declared_frames}"
    if damage.extra:
        return f"there is more after the {declared_frames} frames that `Frames:` promises"
    return (
        f"frame {damage.row} {damage.problem}"
        if damage.problem.startswith("has")
        else (f"frame {damage.row}: {damage.problem}")
    )


def _left_out(damage: Damage | None, num_frames: int, declared_frames: int) -> str:
    """What lenient reading leaves out because of the damage."""
    if damage is None:
        return f"the missing {declared_frames - num_frames} frames were left out"
    if damage.extra:
        return "it was left out"
    missing = declared_frames - num_frames
    return f"that frame and all after it were left out: {missing} of {declared_frames}"


def _quoted_bytes(text: str) -> str:
    text = text.strip()
    return f"`{text[:40]}`" if text else "nothing"


FRAMES_PER_BLOCK = 256
"""Frames converted together, so that the intermediate arrays stay in the processor's cache."""

MAX_OFFSET_ROUNDING_PER_BODY_SIZE = 2e-5
"""A position channel that differs less than this from OFFSET or from zero, in body sizes, differs by rounding only."""


@record
class BvhLayout:
    """The names, channels and numbers of a BVH file, kept to write the same file again."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    channels: tuple[tuple[str, ...], ...]
    """Each joint's channels, in the file's order."""
    site_labels: tuple[str, ...] = ()
    """The text after `End`, for each End Site."""
    adds: np.ndarray
    """(J,) True if position channels are added to OFFSET; False if they replace it."""
    frame_time: str = ""
    """Seconds between frames, as written in the file."""
    values: Array | None = None
    """(F, C) every number of the motion, in the file's unit, axes and degrees."""
    encoding: str = "utf-8"
    reference_frame: int | None = None
    """A frame that shows a reference pose and does not belong to the movement."""

    def fits(self, skeleton: Skeleton) -> bool:
        """Whether a skeleton has the names and tree of the file."""
        return self.names == skeleton.names and np.array_equal(self.parents, skeleton.parents)


@record
class BvhColumns:
    """The columns of each joint's position and rotation."""

    positions: np.ndarray
    """(J, 3) columns of each joint's x, y, z; -1 if there is none."""
    rotations: np.ndarray
    """(J, 3) columns of each joint's angles in Euler order; -1 after the last."""
    orders: tuple[str, ...]
    """(J,) each joint's Euler order; axes without a channel come last, and their angles are zero."""

    def groups(self) -> dict[str, np.ndarray]:
        """Joint indices by Euler order."""
        groups: dict[str, list[int]] = {}
        for joint, order in enumerate(self.orders):
            groups.setdefault(order, []).append(joint)
        return {order: np.array(joints) for order, joints in groups.items()}


def columns_of(channels: tuple[tuple[str, ...], ...]) -> BvhColumns:
    """The columns of joints with these channels."""
    count = len(channels)
    positions, rotations = np.full((count, 3), -1), np.full((count, 3), -1)
    orders = []
    column = 0
    for joint, names in enumerate(channels):
        used_axes = ""
        for name in names:
            if name.endswith("position"):
                positions[joint, "XYZ".index(name[0])] = column
            else:
                rotations[joint, len(used_axes)] = column
                used_axes += name[0]
            column += 1
        orders.append(used_axes + "".join(axis for axis in "ZXY" if axis not in used_axes))
    return BvhColumns(positions=positions, rotations=rotations, orders=tuple(orders))


def rotations_of(values: Array, columns: BvhColumns) -> Array:
    """(F, J, 4) local rotations from rows of numbers (F, C). Joints of one Euler order are converted together."""
    frames, joints = len(values), len(columns.orders)
    out = np.empty((frames, joints, 4))
    for order, members in columns.groups().items():
        used = columns.rotations[members]
        moving = used[:, 0] >= 0
        if not moving.all():
            out[:, members[~moving]] = identity()
            members, used = members[moving], used[moving]
        if len(members) == 0:
            continue
        missing = used < 0
        all_joints = len(members) == joints
        for start in range(0, frames, FRAMES_PER_BLOCK):
            part = slice(start, start + FRAMES_PER_BLOCK)
            angles = np.radians(values[part].take(used.ravel(), axis=1)).reshape(-1, len(members), 3)
            if missing.any():
                angles[:, missing] = 0.0
            if all_joints:
                out[part] = from_euler(angles, order)
            else:
                out[part, members] = from_euler(angles, order)
    return out


def decide_adds(hierarchy: Hierarchy, columns: BvhColumns, values: Array) -> tuple[np.ndarray, list[str]]:
    """Decide which joints' position channels are added to OFFSET, and explain it in notes.

    In nearly every file the channels replace OFFSET. They are added if the body would otherwise collapse: if the root's
    channels stay at zero but its OFFSET is not zero, or if most other position channels do so.
    """
    adds = np.zeros(len(hierarchy.names), bool)
    notes = []
    offsets = np.array(hierarchy.offsets)
    placed = np.flatnonzero((columns.positions >= 0).any(axis=1) & (offsets != 0.0).any(axis=1))
    tolerance = MAX_OFFSET_ROUNDING_PER_BODY_SIZE * body_size(hierarchy)
    zero = [joint for joint in placed.tolist() if np.abs(values[:, _used(columns, joint)]).max() <= tolerance]
    if 0 in zero:
        adds[0] = True
        notes.append("the root's position channels stay at zero and are added to its OFFSET")
    below_root, still = placed[placed > 0], [joint for joint in zero if joint > 0]
    if 2 * len(still) > len(below_root):
        adds[1:] = (columns.positions[1:] >= 0).any(axis=1)
        notes.append(
            f"the position channels of {len(still)} of {len(below_root)} joints below the root stay at zero and are "
            "added to OFFSET"
        )
    return adds, notes


def _used(columns: BvhColumns, joint: int) -> np.ndarray:
    cols = columns.positions[joint]
    return cols[cols >= 0]


def root_of(values: Array, hierarchy: Hierarchy, columns: BvhColumns, adds: np.ndarray) -> Array:
    """(F, 3) root positions in the file's unit and axes."""
    return _positions(values, np.array(hierarchy.offsets[0]), columns.positions[0], bool(adds[0]))


def offsets_of(values: Array, hierarchy: Hierarchy, columns: BvhColumns, adds: np.ndarray) -> Array | None:
    """(F, J, 3) the offsets of each frame in the file's unit; None if they are always those of the skeleton."""
    offsets = np.array(hierarchy.offsets)
    tolerance = MAX_OFFSET_ROUNDING_PER_BODY_SIZE * body_size(hierarchy)
    moving = {}
    for joint in np.flatnonzero((columns.positions >= 0).any(axis=1)).tolist():
        if joint == 0:
            continue
        positions = _positions(values, offsets[joint], columns.positions[joint], bool(adds[joint]))
        if np.max(np.abs(positions - offsets[joint]), initial=0.0) > tolerance:
            moving[joint] = positions
    if not moving:
        return None
    out = np.tile(offsets, (len(values), 1, 1))
    for joint, positions in moving.items():
        out[:, joint] = positions
    return out


def body_size(hierarchy: Hierarchy) -> float:
    """The longest path from the root to a joint or end point along the bones, in the file's unit."""
    reach = np.zeros(len(hierarchy.names))
    lengths = np.linalg.norm(np.array(hierarchy.offsets), axis=1)
    for joint, parent in enumerate(hierarchy.parents[1:], start=1):
        reach[joint] = reach[parent] + lengths[joint]
    ends = [reach[site.joint] + float(np.linalg.norm(site.offset)) for site in hierarchy.sites]
    return float(max(reach.max(), max(ends, default=0.0)))


def _positions(values: Array, offset: Array, columns: np.ndarray, add: bool) -> Array:
    out = np.tile(offset, (len(values), 1))
    for axis, column in enumerate(columns.tolist()):
        if column >= 0:
            out[:, axis] = values[:, column] + (offset[axis] if add else 0.0)
    return out


def skeleton_of(hierarchy: Hierarchy, orders: tuple[str, ...], title: str) -> Skeleton:
    """The skeleton in the file's unit and axes. An End Site becomes an end point with the name `<joint>_end`."""
    taken = set(hierarchy.names)
    numbers: dict[int, int] = {}
    ends = []
    for site in hierarchy.sites:
        joint = hierarchy.names[site.joint]
        number = numbers.get(site.joint, 0) + 1
        while (name := f"{joint}_end{number if number > 1 else ''}") in taken:
            number += 1
        numbers[site.joint] = number
        taken.add(name)
        ends.append(Point(name=name, joint=joint, offset=np.array(site.offset)))
    return Skeleton(
        names=hierarchy.names,
        parents=np.array(hierarchy.parents),
        offsets=np.array(hierarchy.offsets),
        axes=np.eye(3)[[["XYZ".index(axis) for axis in order] for order in orders]],
        ends=tuple(ends),
        name=title,
    )


def motion_of(skeleton: Skeleton, hierarchy: Hierarchy, block: Block, columns: BvhColumns, adds: np.ndarray) -> Motion:
    """The motion in the file's unit and axes."""
    positions = block.values[:, columns.positions[columns.positions >= 0]]
    if np.max(np.abs(positions), initial=0.0) > MAX_LENGTH:
        frame = int(np.argmax(np.abs(positions).max(axis=1)))
        raise MotionError(f"a position in frame {frame} is {np.abs(positions).max():.3g}")
    frame_offsets = offsets_of(block.values, hierarchy, columns, adds)
    return Motion(
        skeleton=skeleton,
        fps=1.0 / float(block.frame_time),
        root=_frozen(root_of(block.values, hierarchy, columns, adds)),
        rotations=_frozen(rotations_of(block.values, columns)),
        offsets=None if frame_offsets is None else _frozen(frame_offsets),
        name=skeleton.name,
    )


def in_metres(skeleton: Skeleton, motion: Motion | None, unit: float, up: str) -> tuple[Skeleton, Motion | None]:
    """The skeleton and motion in metres with Y up. Only the root is rotated; the rest is relative to it."""
    world = world_from_file(up)
    offsets = skeleton.offsets * unit
    rest = skeleton.rest.copy()
    if up != "Y":
        offsets[0] = rotate(world, offsets[0])
        rest[0] = world
    ends = tuple(replace(end, offset=end.offset * unit) for end in skeleton.ends)
    skeleton = replace(skeleton, offsets=offsets, rest=rest, ends=ends)
    if motion is None:
        return skeleton, None
    root, rotations = motion.root * unit, motion.rotations
    if up != "Y":
        root = rotate(world, root)
        rotations = np.array(rotations)
        rotations[:, 0] = multiply(world, rotations[:, 0])
    frame_offsets = None if motion.offsets is None else _frozen(motion.offsets * unit)
    motion = replace(motion, skeleton=skeleton, root=_frozen(root), rotations=_frozen(rotations), offsets=frame_offsets)
    return skeleton, motion


def _frozen(array: Array) -> Array:
    """Make an array read-only, so that a motion uses it without a copy."""
    array.setflags(write=False)
    return array


_MOTION = re.compile(rb"(?im)(?:^|\})[ \t]*(MOTION)(?![^\s:])")


def read(stream: BinaryIO, name: str, options: ReadOptions) -> Clip:
    """Read a BVH file.

    Args:
        stream: The file's bytes.
        name: The file as the user named it, for errors.
        options: Unit and up axis, if known, and whether to read a damaged motion up to the damage.
    """
    hierarchy, block, encoding = _parse(stream.read(), name, lenient=options.lenient)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return _clip(hierarchy, block, encoding, PurePath(name).stem, options)
    except (SkeletonError, MotionError) as error:
        raise FileError(name, None, f"the numbers make no body: {error.message}") from None


def _parse(data: bytes, name: str, *, lenient: bool) -> tuple[Hierarchy, Block | None, str]:
    """The two sections of the file, and the encoding of its names."""
    if not data or data.isspace():
        raise FileError(name, 1, "the file is empty; expected `HIERARCHY`")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(name, 1, "the text is UTF-16", hint="save it as UTF-8")
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise FileError(name, line, "found a zero byte: this is a binary file, not a BVH")
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    match = _MOTION.search(data)
    header = data if match is None else data[: match.start(1)]
    text, encoding = _decoded(header.removeprefix(b"\xef\xbb\xbf"))
    hierarchy = parse_hierarchy(text + ("" if match is None else "MOTION"), name)
    if match is None:
        return hierarchy, None, encoding
    line = header.count(b"\n") + 1
    motion = data[match.end(1) :]
    del data
    return hierarchy, parse_motion(motion, line, hierarchy.width, name, lenient=lenient), encoding


def _decoded(data: bytes) -> tuple[str, str]:
    try:
        return data.decode("utf-8").replace("\r\n", "\n"), "utf-8"
    except UnicodeDecodeError:
        return data.decode("latin-1").replace("\r\n", "\n"), "latin-1"


def _clip(hierarchy: Hierarchy, block: Block | None, encoding: str, title: str, options: ReadOptions) -> Clip:
    columns = columns_of(hierarchy.channels)
    skeleton = skeleton_of(hierarchy, columns.orders, title)
    motion, reference, adds = None, None, np.zeros(len(hierarchy.names), bool)
    notes: list[str] = []
    if block is not None:
        adds, notes = decide_adds(hierarchy, columns, block.values)
        motion = motion_of(skeleton, hierarchy, block, columns, adds)
        reference = find_reference_frame(motion)
        notes += _notes(motion, reference)
    guessed = guess(skeleton, motion, unit=options.unit, up=options.up)
    skeleton, motion = in_metres(skeleton, motion, guessed.unit, guessed.up)
    return Clip(
        skeleton=skeleton,
        motion=motion,
        format="bvh",
        unit=guessed.unit,
        unit_reason=guessed.unit_reason,
        up=guessed.up,
        up_reason=guessed.up_reason,
        notes=tuple(notes),
        dropped=block.dropped if block else (),
        layout=BvhLayout(
            names=hierarchy.names,
            parents=hierarchy.parents,
            channels=hierarchy.channels,
            site_labels=tuple(site.label for site in hierarchy.sites),
            adds=adds,
            frame_time=block.frame_time if block else "",
            values=block.values if block else None,
            encoding=encoding,
            reference_frame=reference,
        ),
    )


def _notes(motion: Motion, reference: int | None) -> list[str]:
    notes = []
    if motion.offsets is not None:
        moving = int(np.count_nonzero(np.any(motion.offsets != motion.skeleton.offsets, axis=(0, 2))[1:]))
        notes.append(f"{moving} joints below the root have position channels that differ from OFFSET")
    if reference is not None:
        notes.append(
            f"frame {reference} is a reference pose, not part of the movement: the pose leaps from it to the next"
        )
    copies = count_still_tail(motion)
    if copies >= 5:
        notes.append(f"the last {copies} frames are copies of frame {motion.num_frames - 1 - copies}")
    return notes
