"""The text of Acclaim files: sections opened by `:keyword`, and their words with the lines they stand in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import BinaryIO, NoReturn

import numpy as np

from understudy.errors import FileError

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
