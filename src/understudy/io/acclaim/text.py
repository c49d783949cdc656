"""Text and meaning of Acclaim's skeleton (ASF) and motion (AMC) files: sections, bones, channels and their columns.

Sources: Acclaim Skeleton File Definition V1.10 (M. Schafer, 1994 and 1995) and Vicon's "Acclaim Format - ASF line
details". The CMU files confirm what they say:

- A bone starts where its parent ends. Its direction is in the axes of the whole figure, in the base pose.
- `axis x y z XYZ` is the orientation C of the frame of a bone's angles: rotations about the figure's fixed axes, the
  first named first, so `C = Rz Ry Rx` for XYZ.
- Rotations apply about the fixed axes of that frame in the order listed, as Vicon says of the root's `order`. So
  `dof rx ry rz` is `C Rz Ry Rx C^-1`, and the last one listed is our joint's first axis. CMU's files always list x
  before y before z, so they confirm this for that order only.
- `units length` is a multiplier between the file's lengths and inches: one file unit is `1 / length` inches (CMU's
  0.45 gives 5.644 cm).
- Parentheses and commas are space, `#` begins a comment, and keywords may be of any case.

Vicon warns that programs differ in the root's preset position and orientation (zero in all CMU files). Here they apply
before the motion, which then moves the figure about the fixed axes: position p + t, rotation R C.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import BinaryIO, NoReturn

import numpy as np

from understudy.base.errors import FileError
from understudy.base.quaternion import Array, conjugate, from_euler, multiply, rotate
from understudy.base.records import record
from understudy.figure.skeleton import JointKind, Point, Skeleton
from understudy.io.clip import world_from_file

AXIS_ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")

MAX_NUMBER = 1e12
"""A larger length or angle counts as damage."""


def read_lines(stream: BinaryIO) -> list[str]:
    """The lines of a text file with any line ending, in UTF-8 or Latin-1."""
    data = stream.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def to_number(word: str) -> float | None:
    """The number in a word, which may be infinite or NaN; None if it is no number."""
    try:
        return None if "_" in word else float(word)
    except ValueError:
        return None


@dataclass
class Section:
    """The words of a section, read one after another."""

    file: str
    keyword: str
    line: int
    """The line of the last word that was taken; of the section's start before that."""
    words: list[tuple[str, int]] = field(default_factory=list)
    """Words and their lines; commas and parentheses count as space [ASF V1.10]."""
    first_line: str = ""
    """The text after the keyword in its line."""
    lines: list[str] = field(default_factory=list)
    """The lines after the first, without comments."""
    _next: int = 0

    def add(self, text: str, line: int) -> None:
        """Add a line, from which the comment is already removed."""
        if line > self.line:
            self.lines.append(text)
        self.words += [(word, line) for word in re.sub(r"[(),]", " ", text).split()]

    def peek(self) -> str | None:
        """The next word without taking it; None at the section's end."""
        return self.words[self._next][0] if self._next < len(self.words) else None

    def take(self, expected: str) -> str:
        """Take the next word."""
        if self._next >= len(self.words):
            self.fail(f"section `:{self.keyword}` ends where {expected} was expected")
        word, self.line = self.words[self._next]
        self._next += 1
        return word

    def rest_of_line(self) -> list[str]:
        """Take the remaining words in the line of the last word taken."""
        start = self._next
        while self._next < len(self.words) and self.words[self._next][1] == self.line:
            self._next += 1
        return [word for word, _ in self.words[start : self._next]]

    def number(self, expected: str) -> float:
        """Take the next word, which must be a finite number."""
        word = self.take(expected)
        value = to_number(word)
        if value is None or not abs(value) < MAX_NUMBER:
            self.fail(f"expected {expected}, a number; found `{word}`")
        return value

    def three(self, expected: str) -> tuple[float, float, float]:
        """Take three numbers."""
        return self.number(expected), self.number(expected), self.number(expected)

    def axis_order(self, expected: str) -> str:
        """Take the next word, which must be an order of three axes."""
        word = self.take(expected)
        if word.upper() not in AXIS_ORDERS:
            self.fail(f"expected {expected}, one of {', '.join(AXIS_ORDERS)}; found `{word}`")
        return word.upper()

    def channels(self, allowed: tuple[str, ...], until: tuple[str, ...], whose: str) -> tuple[str, ...]:
        """Take channels up to a word of `until`; returns them in lower case."""
        channels: list[str] = []
        while (word := self.peek()) is not None and word.lower() not in until:
            self.take("a channel")
            if word.lower() not in allowed:
                self.fail(f"{whose} has a channel `{word}`; known: {', '.join(allowed)}")
            if word.lower() in channels:
                self.fail(f"{whose} names its channel `{word}` twice")
            channels.append(word.lower())
        return tuple(channels)

    def limits(self) -> tuple[float, ...]:
        """Take the next words as long as they are numbers. An infinite number means no limit."""
        limits: list[float] = []
        while (value := to_number(self.peek() or "")) is not None:
            self.take("a limit")
            if np.isnan(value):
                self.fail("a limit is not a number: `nan`")
            limits.append(value)
        return tuple(limits)

    def fail(self, problem: str, *, line: int | None = None, hint: str = "") -> NoReturn:
        """Raise an error at the last word taken, or at another line."""
        raise FileError(self.file, line or self.line, problem, hint=hint)


def split_sections(lines: list[str], file: str) -> dict[str, Section]:
    """The sections by lower-case keyword, in the file's order."""
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


INCH_METRES = 0.0254

ROTATION_CHANNELS = ("rx", "ry", "rz")

TRANSLATION_CHANNELS = ("tx", "ty", "tz")

LENGTH_CHANNEL = "l"

KIND_BY_NUM_ROTATIONS = (JointKind.FIXED, JointKind.HINGE, JointKind.UNIVERSAL, JointKind.BALL)
"""A joint's kind by its number of rotation channels."""


@record
class Bone:
    """A bone of an ASF file, with the file's own numbers."""

    name: str
    direction: tuple[float, float, float]
    length: float
    axis: tuple[float, float, float] = (0.0, 0.0, 0.0)
    order: str = "XYZ"
    """The order of `axis`."""
    dof: tuple[str, ...] = ()
    """The channels of an AMC line, lower case, in the file's order."""
    limits: tuple[tuple[float, float], ...] = ()
    """Smallest and largest value of each channel, in the order of `dof`; empty if the file gives none."""
    extras: tuple[tuple[str, str], ...] = ()
    """Properties that are kept but not used: `id`, `bodymass`, `cofmass`."""

    @property
    def rotation_channels(self) -> tuple[str, ...]:
        """The channels that are angles."""
        return tuple(channel for channel in self.dof if channel in ROTATION_CHANNELS)

    @property
    def vector(self) -> Array:
        """(3,) vector from the bone's start to its end, file units."""
        return np.array(self.direction) * self.length


@record
class AcclaimLayout:
    """The contents of a skeleton and motion file, kept to write the same files again."""

    bones: tuple[Bone, ...]
    """In the file's order."""
    parents: dict[str, str]
    """The parent of each bone, in depth-first order from the root."""
    order: tuple[str, ...]
    """The root's channels, lower case."""
    root_axis: str = "XYZ"
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    orientation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    degrees: bool = True
    """Whether the skeleton file's angles are degrees."""
    length: float | None = None
    """The skeleton file's unit of length is `1 / length` inches; None if the file gives none."""
    mass: float | None = None
    """The skeleton file's unit of mass."""
    documentation: tuple[str, ...] = ()
    """The lines of the skeleton file's documentation section."""
    lines: tuple[str, ...] = ()
    """The bones of an AMC frame in the file's order; empty if no motion was read."""
    motion_degrees: bool | None = None
    """Whether the motion's angles are degrees; None if the motion file does not say."""
    comments: tuple[str, ...] = ()
    """The comments at the start of the motion file."""
    has_rate: bool = False
    """Whether the motion file gives its frames per second."""
    first_frame: int = 1
    values: Array | None = None
    """(F, C) the motion file's numbers, in the order of its lines."""

    def channels(self, bone: str) -> tuple[str, ...]:
        """The channels of the line of a bone or of the root."""
        return self.order if bone == "root" else next(b.dof for b in self.bones if b.name == bone)

    @property
    def motion_in_degrees(self) -> bool:
        """Whether the motion file's angles are degrees."""
        return self.degrees if self.motion_degrees is None else self.motion_degrees

    @property
    def motion_lines(self) -> tuple[str, ...]:
        """The bones of a motion frame: as read, else the root and every bone with channels."""
        return self.lines or ("root", *(bone.name for bone in self.bones if bone.dof))


@record
class ChannelColumns:
    """The meaning of the columns of a motion frame."""

    translations: np.ndarray
    """(M, 2) column and coordinate of the root's position."""
    rotations: np.ndarray
    """(N, 3) column, joint and axis of each angle."""
    other: tuple[int, ...]
    """Columns of channels that are not read."""
    count: int


def find_columns(layout: AcclaimLayout, skeleton: Skeleton) -> ChannelColumns:
    """Find the meaning of the columns of a motion frame, in the order of its lines."""
    translations, rotations, other = [], [], []
    column = 0
    for name in layout.motion_lines:
        channels = layout.channels(name)
        rotation_channels = [channel for channel in channels if channel in ROTATION_CHANNELS]
        for channel in channels:
            if channel in ROTATION_CHANNELS:
                axis = len(rotation_channels) - 1 - rotation_channels.index(channel)
                rotations.append((column, skeleton.index[name], axis))
            elif channel in TRANSLATION_CHANNELS and name == "root":
                translations.append((column, TRANSLATION_CHANNELS.index(channel)))
            else:
                other.append(column)
            column += 1
    return ChannelColumns(
        translations=np.array(translations, dtype=np.intp).reshape(-1, 2),
        rotations=np.array(rotations, dtype=np.intp).reshape(-1, 3),
        other=tuple(other),
        count=column,
    )


def angles_of_values(values: Array, columns: ChannelColumns, layout: AcclaimLayout, num_joints: int) -> Array:
    """(F, J, 3) joint angles in radians from a motion file's numbers (F, C)."""
    angles = np.zeros((len(values), num_joints, 3))
    column, joint, axis = columns.rotations.T
    angles[:, joint, axis] = np.deg2rad(values[:, column]) if layout.motion_in_degrees else values[:, column]
    return angles


def positions_of_values(values: Array, columns: ChannelColumns, layout: AcclaimLayout) -> Array:
    """(F, 3) root positions in the file's unit and axes, from a motion file's numbers (F, C)."""
    positions = np.tile(np.array(layout.position, float), (len(values), 1))
    column, coordinate = columns.translations.T
    positions[:, coordinate] += values[:, column]
    return positions


def orientation_of(angles: tuple[float, float, float], order: str, degrees: bool) -> Array:
    """(4,) rotation from angles about fixed axes, the first named first."""
    radians = np.deg2rad(angles) if degrees else np.array(angles)
    # Angles are always listed x, y, z. Rotations about fixed axes equal rotations about moving axes in reverse order.
    ordered = [radians["XYZ".index(axis)] for axis in order]
    return from_euler(ordered[::-1], order[::-1])


def build_skeleton(layout: AcclaimLayout, name: str, unit: float, up: str) -> Skeleton:
    """The skeleton of an Acclaim file: a joint at the start of each bone, named after it, and end points at leaves."""
    bones = {bone.name: bone for bone in layout.bones}
    names = ["root", *layout.parents]
    count = len(names)
    preset = orientation_of(layout.orientation, layout.root_axis, layout.degrees)
    world = world_from_file(up)
    offsets, axes = np.zeros((count, 3)), np.zeros((count, 3, 3))
    limits = np.tile([-np.inf, np.inf], (count, 3, 1))
    rest = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    offsets[0], rest[0] = rotate(world, np.array(layout.position) * unit), multiply(world, preset)
    used = [channel for channel in layout.order if channel in ROTATION_CHANNELS]
    root_channels = used[::-1] + [channel for channel in ROTATION_CHANNELS if channel not in used]
    axes[0] = rotate(conjugate(preset), np.eye(3)[[ROTATION_CHANNELS.index(channel) for channel in root_channels]])
    kinds = [JointKind.FREE]
    for joint, (name_, parent) in enumerate(layout.parents.items(), start=1):
        bone = bones[name_]
        offsets[joint] = bones[parent].vector * unit if parent != "root" else 0.0
        frame = orientation_of(bone.axis, bone.order, layout.degrees)
        for k, channel in enumerate(reversed(bone.rotation_channels)):
            axes[joint, k] = rotate(frame, np.eye(3)[ROTATION_CHANNELS.index(channel)])
            if bone.limits:
                pair = np.sort(bone.limits[bone.dof.index(channel)])
                limits[joint, k] = np.deg2rad(pair) if layout.degrees else pair
        kinds.append(KIND_BY_NUM_ROTATIONS[len(bone.rotation_channels)])
    leaves = [bone for bone in names[1:] if bone not in layout.parents.values()]
    return Skeleton(
        names=tuple(names),
        parents=np.array([-1, *(names.index(parent) for parent in layout.parents.values())]),
        offsets=offsets, rest=rest, kinds=tuple(kinds), axes=axes, limits=limits, name=name,
        ends=tuple(Point(name=f"{leaf}_end", joint=leaf, offset=bones[leaf].vector * unit) for leaf in leaves),
    )  # fmt: skip
