"""The manifest of a batch: check that the results are those that were written, on this machine or another."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path, PurePosixPath

from understudy.base.errors import FileError
from understudy.batch.identity import file_digest
from understudy.batch.location import Location

MANIFEST_FILE = "manifest.sha256"

LINE = re.compile(r"(\\?)([0-9a-f]{64}) [ *](.+)")
"""A line as `sha256sum` writes it; a backslash in front says that the name has escapes."""


def check_manifest(location: Location) -> tuple[list[str], int]:
    """Compare every result with its digest: a sentence on each that is missing or changed, and the number of results.

    Args:
        location: The output folder of a batch.
    """
    data = location.read_bytes(MANIFEST_FILE)
    if data is None:
        raise FileError(location.text(MANIFEST_FILE), None, "there is no such file", hint="a finished batch writes it")
    problems, count = [], 0
    for number, line in enumerate(data.decode("utf-8", "surrogateescape").split("\n"), start=1):
        if not line or line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if match is None:
            raise FileError(location.text(MANIFEST_FILE), number, "expected a SHA-256, two spaces and a file name")
        name = _unescape(match[3]) if match[1] else match[3]
        count += 1
        problem = _find_problem(location, name, match[2])
        if problem:
            problems.append(f"{location.text(name)}: {problem}")
    return problems, count


def _find_problem(location: Location, name: str, digest: str) -> str:
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        return "is not inside the folder"
    if location.size(name) is None:
        return "is missing"
    with tempfile.TemporaryDirectory() as folder:
        try:
            return "" if file_digest(location.fetch(name, Path(folder))) == digest else "was changed"
        except FileError as error:
            return error.problem


def _unescape(name: str) -> str:
    letters = {"\\": "\\", "n": "\n", "r": "\r"}
    return re.sub(r"\\([\\nr])", lambda match: letters[match[1]], name)
