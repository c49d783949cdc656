"""Messages between page and server: JSON, packed arrays, and errors."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np

from understudy.base.consent import ConsentError
from understudy.base.errors import UnderstudyError

DTYPES: dict[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "uint32": np.dtype("<u4"), "uint16": np.dtype("<u2")}
"""Number types of arrays in messages, little-endian."""

DOCUMENT_KEYS = ("mode", "recipe", "pairs", "transition", "analogy")
"""The top-level keys of a document."""

MAX_REQUEST_CHARACTERS = 1 << 20
"""Longer requests are refused."""

Header = dict[str, Any]

Arrays = Mapping[str, np.ndarray]

DocumentPath = tuple[str | int, ...]


class RequestError(UnderstudyError):
    """A request of the page that is invalid or cannot be done.

    Args:
        message: What was found and what was expected.
        path: The part of the document that it concerns.
        hint: What to do next.
    """

    def __init__(self, message: str, path: DocumentPath | None = None, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path


def json_text(value: Any) -> str:
    """JSON that browsers can read: NaN becomes null, and infinity a number too large for a float.

    Half characters, which stand for bytes of file names that are not UTF-8, are escaped: no socket could send them.
    """
    try:
        return _encodable(value)
    except ValueError:
        # A random text that is in no document stands for infinity until the JSON is made.
        placeholder = secrets.token_hex(8)
        text = _encodable(_replace_non_finite(value, placeholder))
        return text.replace(f'"{placeholder}"', "1e999").replace(f'"-{placeholder}"', "-1e999")


def _encodable(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text


def _replace_non_finite(value: Any, placeholder: str) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: placeholder, -math.inf: f"-{placeholder}"}.get(value)
    if isinstance(value, dict):
        return {key: _replace_non_finite(item, placeholder) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_non_finite(item, placeholder) for item in value]
    return value


def pack(header: Header, arrays: Arrays) -> bytes:
    """A binary message: length and text of the header, then the arrays, each aligned to 8 bytes.

    Args:
        header: The message without its list of arrays, which is added.
        arrays: By name. Integers of 16 bits are sent as uint16, other integers as uint32, all others as float32.
    """
    typed = {name: _typed(array) for name, array in arrays.items()}
    array_tables = [
        {"name": name, "type": type_name, "shape": list(array.shape)} for name, (type_name, array) in typed.items()
    ]
    text = json_text({**header, "arrays": array_tables}).encode()
    text += b" " * (-(4 + len(text)) % 8)
    pieces = [len(text).to_bytes(4, "little"), text]
    for _, array in typed.values():
        pieces += [array.tobytes(), bytes(-array.nbytes % 8)]
    return b"".join(pieces)


def _typed(array: np.ndarray) -> tuple[str, np.ndarray]:
    type_name = "float32"
    if array.dtype.kind in "iu":
        type_name = "uint16" if array.dtype.itemsize == 2 else "uint32"
    return type_name, np.ascontiguousarray(array, DTYPES[type_name])


def parse_request(text: str) -> dict[str, Any]:
    """Parse and check a request of the page."""
    if len(text) > MAX_REQUEST_CHARACTERS:
        message = f"A request has {len(text)} characters; expected at most {MAX_REQUEST_CHARACTERS}"
        raise RequestError(message, hint="send a file instead")
    try:
        request = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"A request is not valid JSON: {error}") from None
    if not isinstance(request, dict) or not isinstance(request.get("do"), str):
        raise RequestError("A request must be a table with a text as `do`")
    request_id = request.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, int):
        raise RequestError("A request must have a whole number as `id`")
    return request


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def error_table(error: UnderstudyError) -> dict[str, Any]:
    """An error as the page shows it, with the part of the document that it concerns if that is known."""
    table: dict[str, Any] = {"message": error.message, "hint": error.hint}
    path = getattr(error, "path", None)
    keys = getattr(error, "keys", None)
    if path is None and keys:
        path = keys if keys[0] in DOCUMENT_KEYS else ("recipe", *keys)
    if path is not None:
        table["path"] = list(path)
    if isinstance(error, ConsentError):
        table["consent"] = error.source.table()
        table["hint"] = "read it: with your consent it runs, now and later, until the file changes"
    return table
