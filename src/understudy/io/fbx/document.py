"""The node tree of an FBX file: read from binary files, written as binary or text, and spliced into text files.

A binary file is a header, records and a footer. A record holds the place of its end, its properties and the records
below it. Places are counted in 32 bits up to version 7.4 and in 64 bits from 7.5 on. Properties that nobody changes
are kept as the bytes they are, so that a file that is written again differs only where something was added.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np

from understudy.base.records import record

MAGIC = b"Kaydara FBX Binary  \x00\x1a\x00"

WIDE_VERSION = 7500
"""From this version on, places and counts have 64 bits."""

MAX_DEPTH = 64
"""Records inside each other in a file that is believed."""

MAX_RECORDS = 4_000_000

SECOND, NEW_SECOND = 46186158000, 141120000
"""Units of time in a second, of files up to version 7.7 and of later ones; a file may say that it has the others."""

FIRST_NEW_VERSION = 8000
FIRST_TIMED_HEADER = 1004
"""The first version of a file's header that says which units of time it has."""

OLD_TIME_DEFINITION = 127
"""What a header says for the old units."""

FOOTER_ID = bytes.fromhex("fabcab09d0c8d466b176fb831cf7267e")
"""The code in the footer that readers of the format's owner expect with the fixed date and file number below."""

FOOTER_END = bytes.fromhex("f85a8c6adef5d97eece90ce3758f290b")

FILE_ID = bytes.fromhex("28b32aebb624ccc2bfc8b02aa92bfcf1")

CREATION_TIME = "1970-01-01 10:00:00:000"
"""The date that belongs to the file number and the footer; a true date would need another footer."""

_SCALARS = {"Y": "<h", "C": "<?", "I": "<i", "F": "<f", "D": "<d", "L": "<q"}

_ARRAYS = {"f": "<f4", "d": "<f8", "l": "<i8", "i": "<i4", "b": "u1"}


class DocumentError(Exception):
    """The bytes are no tree of FBX records."""


@dataclass(eq=False, kw_only=True)
class FbxRecord:
    """A record: a name, properties, and the records below it."""

    name: str
    codes: list[str] = field(default_factory=list)
    """The type of each property: Y C I F D L for numbers, S for text, R for bytes, f d l i b for arrays."""
    packed: list[bytes] = field(default_factory=list)
    """The bytes of each property, without the code."""
    children: list[FbxRecord] = field(default_factory=list)
    braces: bool = False
    """Whether the record has a list of records below it, which may be empty."""
    span: tuple[int, int] = (0, 0)
    """Where the record begins and ends in a text file."""
    inside: tuple[int, int] = (0, 0)
    """Where the list of a record in a text file begins and ends, without the braces."""

    def value(self, number: int) -> Any:
        """A property as a Python value; None if there is none of this number."""
        return _unpack(self.codes[number], self.packed[number]) if number < len(self.codes) else None

    def numbers(self) -> np.ndarray:
        """(n,) the array of the record, as binary and text files have it; NaN for what is no number."""
        source = self.child("a") or self
        values = [source.value(i) for i in range(len(source.codes))]
        if len(values) == 1 and isinstance(values[0], np.ndarray):
            return values[0].astype(float)
        return np.array([value if isinstance(value, int | float) else np.nan for value in values], float)

    def child(self, name: str) -> FbxRecord | None:
        """The first record of this name directly below."""
        return next((record for record in self.children if record.name == name), None)

    def all(self, name: str) -> Iterator[FbxRecord]:
        """The records of this name directly below."""
        return (record for record in self.children if record.name == name)

    def add(self, name: str, *values: Any, children: Sequence[FbxRecord] | None = None) -> FbxRecord:
        """Append a record and return it."""
        made = fbx_record(name, *values, children=children)
        self.children.append(made)
        self.braces = True
        return made


@dataclass(frozen=True)
class Typed:
    """A value with its type in the file, where it does not follow from the type in Python."""

    code: str
    value: Any


def fbx_record(name: str, *values: Any, children: Sequence[FbxRecord] | None = None) -> FbxRecord:
    """Make a record. Whole numbers become 32-bit ones, or 64-bit ones where they are large; arrays keep their kind."""
    made = FbxRecord(name=name, children=list(children or ()), braces=children is not None)
    for value in values:
        code, packed = _pack(value)
        made.codes.append(code)
        made.packed.append(packed)
    return made


def _pack(value: Any) -> tuple[str, bytes]:
    if isinstance(value, Typed):
        return value.code, struct.pack(_SCALARS[value.code], value.value)
    if isinstance(value, np.ndarray):
        code = {"f4": "f", "f8": "d", "i8": "l", "i4": "i"}[value.dtype.str[1:]]
        data = np.ascontiguousarray(value, _ARRAYS[code]).tobytes()
        squeezed = zlib.compress(data, 1) if len(data) > 128 else data
        return code, struct.pack("<III", value.size, int(len(data) > 128), len(squeezed)) + squeezed
    if isinstance(value, bool):
        return "C", struct.pack("<?", value)
    if isinstance(value, int):
        return ("I", struct.pack("<i", value)) if -(2**31) <= value < 2**31 else ("L", struct.pack("<q", value))
    if isinstance(value, float):
        return "D", struct.pack("<d", value)
    if isinstance(value, bytes):
        return "R", struct.pack("<I", len(value)) + value
    data = str(value).encode()
    return "S", struct.pack("<I", len(data)) + data


def _unpack(code: str, packed: bytes) -> Any:
    if code in _SCALARS:
        return struct.unpack(_SCALARS[code], packed)[0]
    if code == "S":
        return packed[4:].decode("utf-8", errors="replace")
    if code == "R":
        return packed[4:]
    count, encoding, length = struct.unpack_from("<III", packed)
    data = packed[12 : 12 + length]
    size = count * np.dtype(_ARRAYS[code]).itemsize
    if encoding:
        try:
            data = zlib.decompressobj().decompress(data, size + 1)
        except zlib.error as error:
            raise DocumentError(f"an array is damaged: {error}") from None
    if len(data) != size:
        raise DocumentError(f"an array has {len(data)} bytes; expected {size}")
    return np.frombuffer(data, _ARRAYS[code])


def join_name(name: str, kind: str) -> str:
    """The full name of an object as binary files have it: the name, two special characters, and its class."""
    return f"{name}\x00\x01{kind}"


def is_binary(data: bytes) -> bool:
    return data.startswith(MAGIC)


@record
class FbxDocument:
    """An FBX file as a tree of records."""

    root: FbxRecord
    """A record without a name; its children are the records at the top of the file."""
    version: int
    """Such as 7400."""
    footer: bytes = FOOTER_ID
    """The code of a binary file's footer, 16 bytes."""
    text: str | None = None
    """The content of a text file; None for a binary one."""

    def top(self, name: str) -> FbxRecord | None:
        """The first record of this name at the top of the file."""
        return self.root.child(name)

    @property
    def second(self) -> int:
        """The file's units of time in a second."""
        old = self.version < FIRST_NEW_VERSION
        header = self.top("FBXHeaderExtension")
        number, flags = (None if header is None else header.child(name) for name in ("FBXHeaderVersion", "OtherFlags"))
        said = None if flags is None else flags.child("TCDefinition")
        timed = number.value(0) if number is not None else None
        if said is not None and isinstance(timed, int) and timed >= FIRST_TIMED_HEADER:
            old = said.value(0) == OLD_TIME_DEFINITION
        return SECOND if old else NEW_SECOND


def parse(data: bytes) -> FbxDocument:
    """The tree of records of a binary or text file.

    Raises:
        DocumentError: The bytes are no such tree.
    """
    return parse_binary(data) if is_binary(data) else parse_text(data.decode("utf-8", errors="surrogateescape"))


def parse_binary(data: bytes) -> FbxDocument:
    """The tree of records of a binary file."""
    if not is_binary(data) or len(data) < 27:
        raise DocumentError("the header is missing")
    version = struct.unpack_from("<I", data, 23)[0]
    wide = version >= WIDE_VERSION
    head = struct.Struct("<QQQB" if wide else "<IIIB")
    root = FbxRecord(name="", braces=True)
    # A stack instead of recursion: the depth of a damaged file is not known.
    stack, place, count = [(root, len(data))], 27, 0
    while stack:
        parent, limit = stack[-1]
        if place + head.size > limit:
            if len(stack) == 1 or place != limit:
                raise DocumentError(f"a record begins at byte {place} and ends beyond its parent")
            stack.pop()
            continue
        end, num_properties, length, name_length = head.unpack_from(data, place)
        if end == 0:
            place += head.size
            stack.pop()
            if stack and place != limit:
                raise DocumentError(f"the records at byte {place} do not end with their parent")
            continue
        count += 1
        start = place + head.size + name_length
        if not start + length <= end <= limit or count > MAX_RECORDS or len(stack) > MAX_DEPTH:
            raise DocumentError(f"the record at byte {place} makes no sense")
        made = FbxRecord(name=data[place + head.size : start].decode("latin-1"))
        made.codes, made.packed = _read_properties(data, start, start + length, num_properties)
        parent.children.append(made)
        place = start + length
        if end > place:
            made.braces = True
            stack.append((made, end))
    footer = data[place : place + 16]
    return FbxDocument(root=root, version=version, footer=footer if len(footer) == 16 else FOOTER_ID)


def _read_properties(data: bytes, place: int, end: int, count: int) -> tuple[list[str], list[bytes]]:
    """The codes and bytes of the properties of a record."""
    codes, packed = [], []
    for _ in range(count):
        if place >= end:
            raise DocumentError(f"the properties at byte {place} end too early")
        code = chr(data[place])
        place += 1
        if code in _SCALARS:
            size = struct.calcsize(_SCALARS[code])
        elif code in "SR" and place + 4 <= end:
            size = 4 + struct.unpack_from("<I", data, place)[0]
        elif code in _ARRAYS and place + 12 <= end:
            size = 12 + struct.unpack_from("<I", data, place + 8)[0]
        else:
            raise DocumentError(f"the property at byte {place} has the type {code!r}, which does not exist")
        if place + size > end:
            raise DocumentError(f"the property at byte {place} is longer than its record")
        codes.append(code)
        packed.append(data[place : place + size])
        place += size
    if place != end:
        raise DocumentError(f"the properties at byte {place} end too early")
    return codes, packed


def write_binary(document: FbxDocument, stream: BinaryIO) -> None:
    """Write a document as a binary file."""
    version = document.version
    wide = version >= WIDE_VERSION
    out = bytearray(MAGIC + struct.pack("<I", version))
    for top in document.root.children:
        _write_record(top, out, wide)
    out += bytes(25 if wide else 13)
    out += document.footer
    out += bytes(-len(out) % 16 or 16)
    out += struct.pack("<II", 0, version) + bytes(120) + FOOTER_END
    stream.write(out)


def _write_record(item: FbxRecord, out: bytearray, wide: bool) -> None:
    """Append a record and those below it. Depth is that of a file that was parsed, so recursion is safe."""
    head = struct.Struct("<QQQB" if wide else "<IIIB")
    place, name = len(out), item.name.encode("latin-1")
    out += bytes(head.size) + name
    start = len(out)
    for code, packed in zip(item.codes, item.packed):
        out += code.encode("latin-1") + packed
    length = len(out) - start
    for below in item.children:
        _write_record(below, out, wide)
    if item.children or item.braces:
        out += bytes(head.size)
    head.pack_into(out, place, len(out), len(item.codes), length, len(name))


_TOKEN = re.compile(
    r"""(?P<blank>[\s,]+|;[^\n]*)|(?P<name>[A-Za-z_][\w|.]*)\s*:(?!:)|(?P<text>"[^"]*")|(?P<count>\*\d+)"""
    r"""|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))|(?P<word>[^\s,{}":;]+)|(?P<brace>[{}])"""
)


def parse_text(text: str) -> FbxDocument:
    """The tree of records of a text file, with the place of each record in the text."""
    root = FbxRecord(name="", braces=True, inside=(0, len(text)))
    stack, last = [root], root
    place = count = 0
    for match in _TOKEN.finditer(text):
        if match.start() != place:
            break
        place, kind, token = match.end(), match.lastgroup, match.group()
        if kind in ("blank", "count"):
            continue
        count += 1
        if count > 20 * MAX_RECORDS:
            raise DocumentError("there are more records than are read")
        if kind == "name":
            last = FbxRecord(name=match["name"], span=(match.start(), match.end()))
            stack[-1].children.append(last)
        elif token == "{":
            if last is stack[-1] or last.braces or len(stack) > MAX_DEPTH:
                raise DocumentError(f"an unexpected brace at character {match.start()}")
            last.braces, last.inside = True, (match.end(), match.end())
            stack.append(last)
        elif token == "}":
            if len(stack) == 1:
                raise DocumentError(f"an unexpected brace at character {match.start()}")
            last = stack.pop()
            last.inside = (last.inside[0], match.start())
            last.span = (last.span[0], match.end())
        elif last is not root and not last.braces:
            code, packed = _pack(_text_value(kind, token))
            last.codes.append(code)
            last.packed.append(packed)
            last.span = (last.span[0], match.end())
    if len(stack) > 1 or place < len(text.rstrip()):
        raise DocumentError(f"the text makes no sense from character {place} on")
    header = root.child("FBXHeaderExtension")
    version = None if header is None else header.child("FBXVersion")
    number = None if version is None else version.value(0)
    return FbxDocument(root=root, version=number if isinstance(number, int) else 0, text=text)


def _text_value(kind: str | None, token: str) -> Any:
    if kind == "text":
        return token[1:-1].replace("&quot;", '"')
    if kind == "number":
        return Typed("L", int(token)) if re.fullmatch(r"[-+]?\d{1,18}", token) else float(token)
    return token


def to_text(item: FbxRecord, depth: int) -> str:
    """A record as text, indented by tabs, with a line end."""
    tabs = "\t" * depth
    if len(item.codes) == 1 and item.codes[0] in _ARRAYS:
        values = item.value(0)
        numbers = ",".join(repr(number) for number in values.tolist())
        return f"{tabs}{item.name}: *{len(values)} {{\n{tabs}\ta: {numbers}\n{tabs}}} \n"
    values = ", ".join(_value_text(code, item.value(i)) for i, code in enumerate(item.codes))
    if not (item.children or item.braces):
        return f"{tabs}{item.name}: {values}\n"
    return f"{tabs}{item.name}: {values} {{\n{''.join(to_text(below, depth + 1) for below in item.children)}{tabs}}}\n"


def _value_text(code: str, value: Any) -> str:
    if code == "S":
        name, mark, kind = value.partition("\x00\x01")
        text = f"{kind}::{name}" if mark else value
        return '"' + text.replace('"', "&quot;") + '"'
    if code == "C":
        return "T" if value else "F"
    return repr(value)
