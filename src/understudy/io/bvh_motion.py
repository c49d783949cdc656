"""The MOTION section of a BVH file: how many frames, how far apart, and their numbers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from understudy.errors import FileError
from understudy.geometry.quaternion import Array
from understudy.io.bvh_numbers import Damage, read_rows

_FRAMES = re.compile(r"\s*frames\s*:?\s*(.*?)\s*", re.IGNORECASE)
_FRAME_TIME = re.compile(r"\s*frame[\s_]*time\s*:?\s*(.*?)\s*", re.IGNORECASE)


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """The numbers of a MOTION section, as they stand in the file."""

    values: Array
    """(F, C) one row a frame."""
    frame_time: str
    """Seconds between frames, as the file writes them."""
    dropped: tuple[str, ...] = ()
    """What was left out, a sentence each."""


def parse_motion(data: bytes, line: int, width: int, name: str, *, lenient: bool) -> Block:
    """Read a MOTION section.

    Args:
        data: What follows the word MOTION, lines ended by a line feed.
        line: The line of that word, from 1.
        width: How many numbers make a frame.
        name: The file, for errors.
        lenient: Read up to the first damage and say what was dropped.
    """
    at, line, text = _next_line(data, 0, line)
    if not (match := _FRAMES.fullmatch(text)):
        raise FileError(name, line, f"expected `Frames:` and how many there are, found {_shown(text)}")
    promised = _frame_count(match.group(1), line, name)
    at, line, text = _next_line(data, at, line)
    if not (match := _FRAME_TIME.fullmatch(text)):
        raise FileError(name, line, f"expected `Frame Time:` and the seconds of a frame, found {_shown(text)}")
    frame_time = _frame_time(match.group(1), line, name)
    if width == 0:
        raise FileError(name, line, "there is a MOTION section, but no joint has a channel")
    values, damage = read_rows(data, width, promised, at)
    values.setflags(write=False)
    problem = _problem(damage, len(values), promised)
    if problem is None:
        return Block(values=values, frame_time=frame_time)
    last = _last_line(data, at, line + 1) if damage is None else line + 1 + damage.line
    if lenient and len(values):
        sentence = f"line {last}: {problem}; {_left_out(damage, len(values), promised)}"
        return Block(values=values, frame_time=frame_time, dropped=(sentence,))
    hint = "lenient reading keeps the frames before the damage" if len(values) else ""
    raise FileError(name, last, problem, hint=hint)


def _next_line(data: bytes, at: int, line: int) -> tuple[int, int, str]:
    """Where the next line that is not blank ends, its number, and its text; empty at the end.

    Only what follows the word MOTION on its own line has that line's number.
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
    """The number of the last line that is not blank, the one at `at` having the given number."""
    return line + data[at:].rstrip().count(b"\n")


def _frame_count(text: str, line: int, name: str) -> int:
    try:
        count = int(text) if "_" not in text and len(text) < 20 else -1
    except ValueError:
        raise FileError(name, line, f"`Frames:` needs a whole number, found {_shown(text)}") from None
    if count < 1:
        raise FileError(name, line, f"`Frames:` says {_shown(text)}; expected at least 1")
    return count


def _frame_time(text: str, line: int, name: str) -> str:
    try:
        seconds = float(text) if "_" not in text else math.nan
    except ValueError:
        raise FileError(name, line, f"`Frame Time:` needs a number of seconds, found {_shown(text)}") from None
    if not (math.isfinite(seconds) and seconds > 0.0 and math.isfinite(1.0 / seconds)):
        raise FileError(name, line, f"`Frame Time:` says {_shown(text)}; expected seconds above zero")
    return text


def _problem(damage: Damage | None, found: int, promised: int) -> str | None:
    """What is wrong with the rows, in words."""
    if damage is None:
        if found == promised:
            return None
        return f"the motion ends after {found} frames; `Frames:` promises {promised}"
    if damage.extra:
        return f"there is more after the {promised} frames that `Frames:` promises"
    return (
        f"frame {damage.row} {damage.problem}"
        if damage.problem.startswith("has")
        else (f"frame {damage.row}: {damage.problem}")
    )


def _left_out(damage: Damage | None, found: int, promised: int) -> str:
    """What a lenient reading does about it."""
    if damage is None:
        return f"the missing {promised - found} frames were left out"
    if damage.extra:
        return "it was left out"
    missing = promised - found
    return f"that frame and all after it were left out: {missing} of {promised}"


def _shown(text: str) -> str:
    text = text.strip()
    return f"`{text[:40]}`" if text else "nothing"
