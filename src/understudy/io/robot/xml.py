"""Reads the XML of robot files safely: with line numbers, without entities, and with limits on its size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO
from xml.parsers import expat

import numpy as np

from understudy.base.errors import FileError
from understudy.base.quaternion import Array

MAX_FILE_BYTES = 32 * 2**20
"""Published robots have less than a hundredth of this."""

MAX_ELEMENTS = 200_000
"""Limit of the number of elements in a file."""

MAX_DEPTH = 200
"""Limit of the nesting of elements."""

MAX_NUMBER = 1e9
"""Larger lengths (metres) and angles (radians) are refused."""


@dataclass(eq=False, kw_only=True)
class Node:
    """An element of an XML file, with the line number of its start."""

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    children: list[Node] = field(default_factory=list)

    def all(self, *tags: str) -> Iterator[Node]:
        """The children with any of some tags, in the file's order."""
        return (child for child in self.children if child.tag in tags)

    def first(self, tag: str) -> Node | None:
        """The first child with a tag."""
        return next(self.all(tag), None)

    def wrong(self, problem: str, *, hint: str = "") -> FileError:
        """An error that names the file and line of the element."""
        return FileError(self.file, self.line, problem, hint=hint)

    def text(self, key: str) -> str:
        """The text of a required attribute."""
        if key not in self.attributes:
            raise self.wrong(f"`<{self.tag}>` has no `{key}`")
        return self.attributes[key]

    def numbers(self, key: str, count: int, default: Array | tuple[float, ...]) -> Array:
        """(count,) the numbers of an attribute, or the default if it is missing."""
        return np.array(default, float) if key not in self.attributes else self.required(key, (count,))

    def required(self, key: str, counts: tuple[int, ...]) -> Array:
        """The numbers of a required attribute. Their count must be one of `counts`."""
        words = self.text(key).split()
        try:
            values = np.array([float(word) for word in words])
        except ValueError:
            wrong = next(word for word in words if not _is_number(word))
            raise self.wrong(f"`{key}` of `<{self.tag}>`: expected numbers, got `{wrong[:40]}`") from None
        if len(values) not in counts:
            wanted = " or ".join(str(count) for count in counts)
            raise self.wrong(f"`{key}` of `<{self.tag}>`: expected {wanted} numbers, got {len(values)}")
        if not np.all(np.abs(values) <= MAX_NUMBER):
            raise self.wrong(f"`{key}` of `<{self.tag}>`: expected numbers up to {MAX_NUMBER:g}, got `{words}`")
        return values

    def number(self, key: str, default: float) -> float:
        """The number of an attribute, or the default if it is missing."""
        return float(self.numbers(key, 1, (default,))[0])

    def unit(self, key: str, default: tuple[float, ...]) -> Array:
        """(3,) the unit vector of an attribute, or of the default if it is missing."""
        value = self.numbers(key, 3, default)
        size = float(np.linalg.norm(value))
        if size < 1e-10:
            raise self.wrong(f"`{key}` of `<{self.tag}>`: expected a direction, got a vector of length zero")
        return value / size


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


class _Builder:
    """Builds the tree from the parser's events."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.EntityDeclHandler = self._entity
        self.stack: list[Node] = []
        self.root: Node | None = None
        self.count = 0

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        node = Node(tag=tag, attributes=attributes, file=self.name, line=self.parser.CurrentLineNumber)
        self.count += 1
        if self.count > MAX_ELEMENTS:
            raise node.wrong(f"the file has more than {MAX_ELEMENTS} elements")
        if len(self.stack) >= MAX_DEPTH:
            raise node.wrong(f"more than {MAX_DEPTH} elements stand inside each other")
        if self.stack:
            self.stack[-1].children.append(node)
        else:
            self.root = node
        self.stack.append(node)

    def _end(self, tag: str) -> None:
        self.stack.pop()

    def _entity(self, *declared: object) -> None:
        # Entities can refer to other files and expand without limit. No robot needs them.
        raise FileError(
            self.name,
            self.parser.CurrentLineNumber,
            f"declares the entity `{declared[0]}`; entities are not read",
            hint="write what it stands for in its place",
        )


def parse(stream: BinaryIO, name: str) -> Node:
    """The root element of an XML file.

    Args:
        stream: The file's bytes.
        name: The file as the user named it, for errors.
    """
    data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise FileError(name, None, f"has more than {MAX_FILE_BYTES // 2**20} MiB, too much for a robot's description")
    if not data.strip():
        raise FileError(name, 1, "the file is empty; expected XML")
    builder = _Builder(name)
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as error:
        raise FileError(name, error.lineno, f"no XML: {expat.ErrorString(error.code)}") from None
    except (ValueError, LookupError) as error:
        raise FileError(name, None, f"no XML: {error}") from None
    assert builder.root is not None
    return builder.root
