"""What goes over the wire: JSON that browsers can read, arrays packed behind a header, and errors as troubles."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np

from understudy.base.errors import UnderstudyError

TYPES: dict[str, np.dtype[Any]] = {"float32": np.dtype("<f4"), "uint32": np.dtype("<u4"), "uint16": np.dtype("<u2")}
"""The types of numbers that arrays are sent as, little-endian."""

PARTS = ("mode", "recipe", "pairs", "transition", "analogy")
"""The outermost keys of a document."""

LARGEST = 1 << 20
"""Letters of a request at most."""

Header = dict[str, Any]

Arrays = Mapping[str, np.ndarray]

Place = tuple[str | int, ...]


class RequestError(UnderstudyError):
    """A request that cannot be done as it is.

    Args:
        message: What was found and what was expected.
        path: What of the document it is about.
        hint: What to do next.
    """

    def __init__(self, message: str, path: Place | None = None, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path


def json_text(value: Any) -> str:
    """JSON that browsers read too: what is no number is null, and infinity a number too large for any."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        # A word that is in no document stands for infinity until the text is made.
        word = secrets.token_hex(8)
        text = json.dumps(_finite(value, word), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.replace(f'"{word}"', "1e999").replace(f'"-{word}"', "-1e999")


def _finite(value: Any, word: str) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: word, -math.inf: f"-{word}"}.get(value)
    if isinstance(value, dict):
        return {key: _finite(each, word) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each, word) for each in value]
    return value


def pack(header: Header, arrays: Arrays) -> bytes:
    """A binary message: the header's length and text, then the arrays one after the other, aligned to 8 bytes.

    Args:
        header: What the message is; the list of its arrays is added.
        arrays: By name. Whole numbers are sent as uint32, those of 16 bits as uint16, all others as float32.
    """
    sent = {name: _typed(array) for name, array in arrays.items()}
    listed = [
        {"name": name, "type": kind, "shape": list(array.shape)} for name, (kind, array) in sent.items()
    ]  # fmt: skip
    text = json_text({**header, "arrays": listed}).encode()
    text += b" " * (-(4 + len(text)) % 8)
    parts = [len(text).to_bytes(4, "little"), text]
    for _, array in sent.values():
        parts += [array.tobytes(), bytes(-array.nbytes % 8)]
    return b"".join(parts)


def _typed(array: np.ndarray) -> tuple[str, np.ndarray]:
    kind = "float32"
    if array.dtype.kind in "iu":
        kind = "uint16" if array.dtype.itemsize == 2 else "uint32"
    return kind, np.ascontiguousarray(array, TYPES[kind])


def parse_request(text: str) -> dict[str, Any]:
    """A request of the page, or an error that says what is wrong with it."""
    if len(text) > LARGEST:
        raise RequestError(
            f"A request has {len(text)} letters; at most {LARGEST} are taken", hint="send a file instead"
        )
    try:
        request = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"A request is no JSON: {error}") from None
    if not isinstance(request, dict) or not isinstance(request.get("do"), str):
        raise RequestError("A request must be a table with what to `do`")
    number = request.get("id")
    if isinstance(number, bool) or not isinstance(number, int):
        raise RequestError("A request must carry a whole number as its `id`")
    return request


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def trouble(error: UnderstudyError) -> dict[str, Any]:
    """An error as the page shows it, with what of the document it is about where that is known."""
    said: dict[str, Any] = {"message": error.message, "hint": error.hint}
    path = getattr(error, "path", None)
    keys = getattr(error, "keys", None)
    if path is None and keys:
        path = keys if keys[0] in PARTS else ("recipe", *keys)
    if path is not None:
        said["path"] = list(path)
    return said
