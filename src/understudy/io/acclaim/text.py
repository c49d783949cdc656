"""What Acclaim's skeleton (ASF) and motion (AMC) files share: the bones as the files count them, and their meaning.

Sources: Acclaim Skeleton File Definition V1.10 (M. Schafer, 1994 and 1995) and Vicon's "Acclaim Format - ASF line
details". What they say, and the CMU files bear out:

- A bone starts where its parent ends. Its direction is given in the axes of the whole figure, in the base pose.
- `axis x y z XYZ` is the orientation C of the frame a bone's angles are counted in: about the figure's fixed axes,
  the first named first, so `C = Rz Ry Rx` for XYZ.
- Turns apply about the fixed axes of that frame in the order listed, as Vicon says of the root's `order`, so
  `dof rx ry rz` is `C Rz Ry Rx C^-1`, and the last one listed is our joint's first axis. CMU's files list x before y
  before z everywhere, which bears this out for that order only; others rest on the description.
- `units length` is a multiplier between the file's lengths and inches: one file unit is `1 / length` inches (CMU's
  0.45 gives 5.644 cm).
- Parentheses and commas are space, `#` begins a comment, and keywords may be of any case.

Where programs differ, as Vicon warns, is the root's preset position and orientation (zero in all CMU files). Here they
place and turn the figure before the motion moves it about the fixed axes: position p + t, rotation R C.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import BinaryIO, NoReturn

import numpy as np

from understudy.base.errors import FileError
from understudy.base.euler import from_euler
from understudy.base.quaternion import Array, conjugate, multiply, rotate
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.io.units import world_from_file

AXIS_ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")

LARGEST = 1e12
"""No length or angle of a character is larger; what is has been damaged."""


def read_lines(stream: BinaryIO) -> list[str]:
    """The lines of a text file, whatever ends them and however it is encoded."""
    data = stream.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def to_number(word: str) -> float | None:
    """The number a word stands for, infinite or NaN included; None where it is none."""
    try:
        return None if "_" in word else float(word)
    except ValueError:
        return None


@dataclass
class Section:
    """The words of a section, taken one after the other."""

    file: str
    keyword: str
    line: int
    """Where the section, and from then on the last word taken, stands."""
    words: list[tuple[str, int]] = field(default_factory=list)
    """Words and their lines; commas and parentheses count as space [ASF V1.10]."""
    first_line: str = ""
    """What follows the keyword in its line."""
    lines: list[str] = field(default_factory=list)
    """The lines after the first, without comments."""
    _next: int = 0

    def add(self, text: str, line: int) -> None:
        """Take in a line without its comment."""
        if line > self.line:
            self.lines.append(text)
        self.words += [(word, line) for word in re.sub(r"[(),]", " ", text).split()]

    def peek(self) -> str | None:
        """The next word, left where it is; None at the section's end."""
        return self.words[self._next][0] if self._next < len(self.words) else None

    def take(self, expected: str) -> str:
        """The next word."""
        if self._next >= len(self.words):
            self.fail(f"section `:{self.keyword}` ends where {expected} was expected")
        word, self.line = self.words[self._next]
        self._next += 1
        return word

    def rest_of_line(self) -> list[str]:
        """The words left in the line of the last word taken."""
        start = self._next
        while self._next < len(self.words) and self.words[self._next][1] == self.line:
            self._next += 1
        return [word for word, _ in self.words[start : self._next]]

    def number(self, expected: str) -> float:
        """The next word, a finite number."""
        word = self.take(expected)
        value = to_number(word)
        if value is None or not abs(value) < LARGEST:
            self.fail(f"expected {expected}, a number; found `{word}`")
        return value

    def three(self, expected: str) -> tuple[float, float, float]:
        """The next three words, numbers."""
        return self.number(expected), self.number(expected), self.number(expected)

    def axis_order(self, expected: str) -> str:
        """The next word, an order of three axes."""
        word = self.take(expected)
        if word.upper() not in AXIS_ORDERS:
            self.fail(f"expected {expected}, one of {', '.join(AXIS_ORDERS)}; found `{word}`")
        return word.upper()

    def channels(self, known: tuple[str, ...], until: tuple[str, ...], whose: str) -> tuple[str, ...]:
        """The next words up to one that ends them, channels, in lower case."""
        found: list[str] = []
        while (word := self.peek()) is not None and word.lower() not in until:
            self.take("a channel")
            if word.lower() not in known:
                self.fail(f"{whose} has a channel `{word}`; known: {', '.join(known)}")
            if word.lower() in found:
                self.fail(f"{whose} names its channel `{word}` twice")
            found.append(word.lower())
        return tuple(found)

    def limits(self) -> tuple[float, ...]:
        """The next words that are numbers; infinite ones are no limit."""
        found: list[float] = []
        while (value := to_number(self.peek() or "")) is not None:
            self.take("a limit")
            if np.isnan(value):
                self.fail("a limit is not a number: `nan`")
            found.append(value)
        return tuple(found)

    def fail(self, problem: str, *, line: int | None = None, hint: str = "") -> NoReturn:
        """An error at the last word taken, or at another line."""
        raise FileError(self.file, line or self.line, problem, hint=hint)


def split_sections(lines: list[str], file: str) -> dict[str, Section]:
    """The sections by keyword, lower case, in the file's order."""
    sections: dict[str, Section] = {}
    starts: dict[str, int] = {}
    section: Section | None = None
    for line, text in enumerate(lines, start=1):
        text = text.split("#", 1)[0].strip()
        if text.startswith(":"):
            words = text[1:].split(None, 1)
            if not words:
                raise FileError(file, line, "expected a keyword after `:`, such as `:root`")
            keyword = words[0].lower()
            if keyword in sections:
                raise FileError(file, line, f"a second section `:{keyword}`; the first is in line {starts[keyword]}")
            text = words[1].strip() if len(words) > 1 else ""
            section = sections[keyword] = Section(file=file, keyword=keyword, line=line, first_line=text)
            starts[keyword] = line
        if section is not None:
            section.add(text, line)
        elif text:
            raise FileError(file, line, f"expected a section such as `:root`; found `{text.split()[0]}`")
    if not sections:
        raise FileError(file, None, "holds no section; expected an Acclaim file")
    return sections


INCH = 0.0254

TURNS = ("rx", "ry", "rz")

MOVES = ("tx", "ty", "tz")

STRETCH = "l"

KINDS = (JointKind.FIXED, JointKind.HINGE, JointKind.UNIVERSAL, JointKind.BALL)
"""A bone's kind by its number of turns."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Bone:
    """A bone as an ASF file gives it, in the file's own numbers."""

    name: str
    direction: tuple[float, float, float]
    length: float
    axis: tuple[float, float, float] = (0.0, 0.0, 0.0)
    order: str = "XYZ"
    """The order of `axis`."""
    dof: tuple[str, ...] = ()
    """The channels of an AMC line, lower case, in the file's order."""
    limits: tuple[tuple[float, float], ...] = ()
    """Least and greatest value of each channel, in the order of `dof`; empty if the file gives none."""
    extras: tuple[tuple[str, str], ...] = ()
    """Properties that are only kept: `id`, `bodymass`, `cofmass`."""

    @property
    def turns(self) -> tuple[str, ...]:
        """The channels that are angles."""
        return tuple(channel for channel in self.dof if channel in TURNS)

    @property
    def vector(self) -> Array:
        """(3,) from the bone's start to its end, file units."""
        return np.array(self.direction) * self.length


@dataclass(frozen=True, eq=False, kw_only=True)
class AcclaimLayout:
    """A skeleton and motion file as they stand, to write the same again."""

    bones: tuple[Bone, ...]
    """In the file's order."""
    parents: dict[str, str]
    """The parent of each bone, in the order of the hierarchy from the root down."""
    order: tuple[str, ...]
    """The root's channels, lower case."""
    root_axis: str = "XYZ"
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    degrees: bool = True
    """Whether the skeleton file's angles are degrees."""
    length: float | None = None
    """The skeleton file's unit of length: one is `1 / length` inches; None where it gives none."""
    mass: float | None = None
    """Its unit of mass."""
    documentation: tuple[str, ...] = ()
    """Its remarks, line by line."""
    lines: tuple[str, ...] = ()
    """The bones of an AMC frame in their order; empty before a motion was read."""
    motion_degrees: bool | None = None
    """Whether the motion's angles are degrees; None where it does not say: as the skeleton file."""
    comments: tuple[str, ...] = ()
    """The motion file's opening comments."""
    says_rate: bool = False
    """Whether the motion file gives its frames per second."""
    first_frame: int = 1
    values: Array | None = None
    """(F, C) the motion file's numbers, line after line."""

    def channels(self, bone: str) -> tuple[str, ...]:
        """The channels of a bone's line, the root's included."""
        return self.order if bone == "root" else next(b.dof for b in self.bones if b.name == bone)

    @property
    def turns_in_degrees(self) -> bool:
        """Whether the motion file's angles are degrees."""
        return self.degrees if self.motion_degrees is None else self.motion_degrees

    @property
    def motion_lines(self) -> tuple[str, ...]:
        """The lines of a motion frame: as read, else the root and every bone that moves."""
        return self.lines or ("root", *(bone.name for bone in self.bones if bone.dof))


@dataclass(frozen=True, eq=False, kw_only=True)
class ChannelColumns:
    """Where the numbers of a motion frame go."""

    move: np.ndarray
    """(M, 2) column and coordinate of the root's place."""
    turn: np.ndarray
    """(N, 3) column, joint and axis of each angle."""
    other: tuple[int, ...]
    """Columns of channels that are not read."""
    count: int


def find_columns(layout: AcclaimLayout, skeleton: Skeleton) -> ChannelColumns:
    """The meaning of the columns of a motion frame, line after line."""
    move, turn, other = [], [], []
    column = 0
    for name in layout.motion_lines:
        channels = layout.channels(name)
        turns = [channel for channel in channels if channel in TURNS]
        for channel in channels:
            if channel in TURNS:
                turn.append((column, skeleton.index[name], len(turns) - 1 - turns.index(channel)))
            elif channel in MOVES and name == "root":
                move.append((column, MOVES.index(channel)))
            else:
                other.append(column)
            column += 1
    return ChannelColumns(
        move=np.array(move, dtype=np.intp).reshape(-1, 2),
        turn=np.array(turn, dtype=np.intp).reshape(-1, 3),
        other=tuple(other),
        count=column,
    )


def angles_of_values(values: Array, columns: ChannelColumns, layout: AcclaimLayout, num_joints: int) -> Array:
    """(F, J, 3) radians, about the joints' axes, of a motion file's numbers (F, C)."""
    angles = np.zeros((len(values), num_joints, 3))
    column, joint, axis = columns.turn.T
    angles[:, joint, axis] = np.deg2rad(values[:, column]) if layout.turns_in_degrees else values[:, column]
    return angles


def places_of_values(values: Array, columns: ChannelColumns, layout: AcclaimLayout) -> Array:
    """(F, 3) where the root is, file units and axes, of a motion file's numbers (F, C)."""
    places = np.tile(np.array(layout.position, float), (len(values), 1))
    column, coordinate = columns.move.T
    places[:, coordinate] += values[:, column]
    return places


def orientation_of(angles: tuple[float, float, float], order: str, degrees: bool) -> Array:
    """(4,) the rotation of angles about fixed axes, the first named first."""
    radians = np.deg2rad(angles) if degrees else np.array(angles)
    # Angles are listed x, y, z whatever the order; turns about fixed axes are turns about moving ones in reverse.
    chosen = [radians["XYZ".index(axis)] for axis in order]
    return from_euler(chosen[::-1], order[::-1])


def build_skeleton(layout: AcclaimLayout, name: str, unit: float, up: str) -> Skeleton:
    """The skeleton of an Acclaim file: a joint where each bone starts, named after it, and end points at the leaves."""
    bones = {bone.name: bone for bone in layout.bones}
    names = ["root", *layout.parents]
    count = len(names)
    preset = orientation_of(layout.orientation, layout.root_axis, layout.degrees)
    world = world_from_file(up)
    offsets, axes = np.zeros((count, 3)), np.zeros((count, 3, 3))
    limits = np.tile([-np.inf, np.inf], (count, 3, 1))
    rest = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    offsets[0], rest[0] = rotate(world, np.array(layout.position) * unit), multiply(world, preset)
    turns = [channel for channel in layout.order if channel in TURNS]
    turns_of_root = turns[::-1] + [channel for channel in TURNS if channel not in turns]
    axes[0] = rotate(conjugate(preset), np.eye(3)[[TURNS.index(channel) for channel in turns_of_root]])
    kinds = [JointKind.FREE]
    for joint, (name_, parent) in enumerate(layout.parents.items(), start=1):
        bone = bones[name_]
        offsets[joint] = bones[parent].vector * unit if parent != "root" else 0.0
        frame = orientation_of(bone.axis, bone.order, layout.degrees)
        for k, channel in enumerate(reversed(bone.turns)):
            axes[joint, k] = rotate(frame, np.eye(3)[TURNS.index(channel)])
            if bone.limits:
                pair = np.sort(bone.limits[bone.dof.index(channel)])
                limits[joint, k] = np.deg2rad(pair) if layout.degrees else pair
        kinds.append(KINDS[len(bone.turns)])
    leaves = [bone for bone in names[1:] if bone not in layout.parents.values()]
    return Skeleton(
        names=tuple(names),
        parents=np.array([-1, *(names.index(parent) for parent in layout.parents.values())]),
        offsets=offsets, rest=rest, kinds=tuple(kinds), axes=axes, limits=limits, name=name,
        ends=tuple(Point(name=f"{leaf}_end", joint=leaf, offset=bones[leaf].vector * unit) for leaf in leaves),
    )  # fmt: skip
