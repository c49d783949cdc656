"""Reads plain data and numpy arrays from pickle files without running anything.

A pickle is a program for a small machine, which can call any function. The machine here knows no functions: it builds
numbers, texts, tuples, lists and dictionaries, and it recognises the few names with which numpy describes an array. Any
other name is refused, so that a file from a stranger can do no harm.
"""

from __future__ import annotations

import pickletools
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from understudy.base.errors import FileError

MAX_BYTES = 2**29
"""Larger files are refused."""

MAX_STEPS = 10**7
"""A file with more instructions is refused."""

ARRAY_MAKERS = {("numpy._core.multiarray", "_reconstruct"), ("numpy.core.multiarray", "_reconstruct")}
SCALAR_MAKERS = {("numpy._core.multiarray", "scalar"), ("numpy.core.multiarray", "scalar")}
BUFFER_MAKERS = {("numpy._core.numeric", "_frombuffer"), ("numpy.core.numeric", "_frombuffer")}
NAMES = {
    *ARRAY_MAKERS, *SCALAR_MAKERS, *BUFFER_MAKERS, ("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode"),
}  # fmt: skip
"""Module and name of everything that a file may mention."""

_MARK, _IN_WORK = object(), object()


@dataclass(frozen=True)
class _Name:
    """A name that a file mentions, never looked up."""

    module: str
    name: str

    @property
    def key(self) -> tuple[str, str]:
        return self.module, self.name


@dataclass(eq=False)
class _Type:
    """A numpy type, described by its code and its byte order."""

    code: str
    order: str = "="

    def dtype(self) -> np.dtype[Any]:
        kind, size = self.code[:1], self.code[1:]
        if kind not in "fiub" or size not in ("1", "2", "4", "8"):
            raise ValueError(f"arrays of type `{self.code[:20]}` are not read")
        return np.dtype(f"{self.order if self.order in '<>' else '='}{self.code}")


@dataclass(eq=False)
class _Array:
    """A numpy array whose numbers follow."""

    value: np.ndarray | None = None


def load(data: bytes, name: str) -> Any:
    """The data of a pickle.

    Args:
        data: The file's bytes.
        name: The file as the user named it, for errors.
    """
    if len(data) > MAX_BYTES:
        raise FileError(name, None, f"has more than {MAX_BYTES // 2**20} MiB")
    machine = _Machine()
    try:
        for step, (code, argument, _) in enumerate(pickletools.genops(data)):
            if step > MAX_STEPS:
                raise ValueError(f"it has more than {MAX_STEPS} instructions")
            machine.run(code.name, argument)
        if not machine.is_done:
            raise ValueError("it ends too early")
        return _plain(machine.stack[-1], {})
    except (ValueError, TypeError, IndexError, KeyError, OverflowError, RecursionError, UnicodeDecodeError) as error:
        raise FileError(
            name, None, f"is no pickle of plain numbers, texts and arrays: {str(error)[:200]}",
            hint="nothing in a pickle is ever run; convert it to NPZ with the program that wrote it",
        ) from None  # fmt: skip


class _Machine:
    """The stack and the memory of a pickle while it is read."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}
        self.is_done = False

    def run(self, code: str, argument: Any) -> None:
        """Do one instruction."""
        if code in _CONSTANTS:
            self.stack.append(_CONSTANTS[code]())
        elif code in _ARGUMENTS:
            self.stack.append(argument)
        elif code in ("PROTO", "FRAME"):
            return
        elif code == "STOP":
            self.is_done = bool(self.stack)
        else:
            method = getattr(self, f"_{code.lower()}", None)
            if method is None:
                raise ValueError(f"the instruction `{code}` is not read")
            method(argument)

    def _items(self) -> list[Any]:
        """The items above the last mark, taken off the stack with it."""
        position = next(i for i in range(len(self.stack) - 1, -2, -1) if i < 0 or self.stack[i] is _MARK)
        if position < 0:
            raise ValueError("the stack has no mark")
        items = self.stack[position + 1 :]
        del self.stack[position:]
        return items

    def _tuple(self, _: Any) -> None:
        self.stack.append(tuple(self._items()))

    def _list(self, _: Any) -> None:
        self.stack.append(self._items())

    def _dict(self, _: Any) -> None:
        self.stack.append(_pairs(self._items()))

    def _tuple1(self, _: Any) -> None:
        self.stack[-1:] = [tuple(self.stack[-1:])]

    def _tuple2(self, _: Any) -> None:
        self.stack[-2:] = [tuple(self.stack[-2:])]

    def _tuple3(self, _: Any) -> None:
        self.stack[-3:] = [tuple(self.stack[-3:])]

    def _append(self, _: Any) -> None:
        value = self.stack.pop()
        _expect(self.stack[-1], list).append(value)

    def _appends(self, _: Any) -> None:
        items = self._items()
        _expect(self.stack[-1], list).extend(items)

    def _setitem(self, _: Any) -> None:
        key, value = self.stack[-2:]
        del self.stack[-2:]
        _expect(self.stack[-1], dict).update(_pairs([key, value]))

    def _setitems(self, _: Any) -> None:
        items = self._items()
        _expect(self.stack[-1], dict).update(_pairs(items))

    def _pop(self, _: Any) -> None:
        self.stack.pop()

    def _dup(self, _: Any) -> None:
        self.stack.append(self.stack[-1])

    def _pop_mark(self, _: Any) -> None:
        self._items()

    def _memoize(self, _: Any) -> None:
        self.memory[len(self.memory)] = self.stack[-1]

    def _binput(self, argument: int) -> None:
        self.memory[int(argument)] = self.stack[-1]

    _put = _long_binput = _binput

    def _binget(self, argument: int) -> None:
        self.stack.append(self.memory[int(argument)])

    _get = _long_binget = _binget

    def _global(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self._mention(module, name)

    def _stack_global(self, _: Any) -> None:
        module, name = self.stack[-2:]
        del self.stack[-2:]
        self._mention(_expect(module, str), _expect(name, str))

    def _mention(self, module: str, name: str) -> None:
        if (module, name) not in NAMES:
            raise ValueError(f"it asks for `{module[:60]}.{name[:60]}`, which plain data has no need of")
        self.stack.append(_Name(module, name))

    def _reduce(self, _: Any) -> None:
        called, arguments = self.stack[-2:]
        del self.stack[-2:]
        self.stack.append(_make(_expect(called, _Name), _expect(arguments, tuple)))

    def _build(self, _: Any) -> None:
        state = _expect(self.stack.pop(), tuple)
        thing = self.stack[-1]
        if isinstance(thing, _Type):
            thing.order = _expect(state[1], str)
        elif isinstance(thing, _Array):
            _, shape, kind, by_columns, data = state
            thing.value = _array(data, kind, shape, "F" if by_columns else "C")
        else:
            raise ValueError("a thing is given a state that plain data does not have")


def _expect(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"expected a {kind.__name__.strip('_').lower()}, got a {type(value).__name__.strip('_')}")
    return value


def _pairs(items: list[Any]) -> dict[Any, Any]:
    keys = items[::2]
    if len(items) % 2 or not all(isinstance(key, str | int) for key in keys):
        raise ValueError("the keys of a dictionary must be texts or whole numbers")
    return dict(zip(keys, items[1::2], strict=True))


def _make(called: _Name, arguments: tuple[Any, ...]) -> Any:
    """What numpy's description of an array, a type or a number stands for."""
    if called.key in ARRAY_MAKERS:
        return _Array()
    if called.key == ("numpy", "dtype"):
        return _Type(_expect(arguments[0], str))
    if called.key in SCALAR_MAKERS:
        return _array(arguments[1], arguments[0], (), "C")[()].item()
    if called.key in BUFFER_MAKERS:
        data, kind, shape, order = arguments
        return _Array(_array(data, kind, shape, _expect(order, str)))
    if called.key == ("_codecs", "encode") and arguments[1:] == ("latin1",):
        return _expect(arguments[0], str).encode("latin1")
    raise ValueError(f"`{called.name}` cannot be made")


def _array(data: Any, kind: Any, shape: Any, order: str) -> np.ndarray:
    """An array of its bytes, which must be as many as its shape asks for."""
    if not isinstance(data, bytes | bytearray):
        raise ValueError("arrays of objects are not read")
    dtype = _expect(kind, _Type).dtype()
    sizes = _expect(shape, tuple)
    if not all(isinstance(size, int) and size >= 0 for size in sizes) or prod(sizes) * dtype.itemsize != len(data):
        raise ValueError(f"an array of shape {str(sizes)[:60]} has {len(data)} bytes")
    return np.frombuffer(data, dtype).reshape(sizes, order="F" if order == "F" else "C").copy()


def _plain(value: Any, known: dict[int, Any]) -> Any:
    """Data with its arrays in place of their descriptions. What is mentioned twice is converted once."""
    if isinstance(value, _Array):
        return np.zeros(0) if value.value is None else value.value
    if isinstance(value, _Name | _Type):
        return None
    if not isinstance(value, dict | list | tuple):
        return value
    if id(value) not in known:
        known[id(value)] = _IN_WORK
        items = value.values() if isinstance(value, dict) else value
        plain = [_plain(item, known) for item in items]
        known[id(value)] = dict(zip(value, plain, strict=True)) if isinstance(value, dict) else type(value)(plain)
    if known[id(value)] is _IN_WORK:
        raise ValueError("a list contains itself")
    return known[id(value)]


_CONSTANTS: dict[str, Any] = {
    "NONE": lambda: None, "NEWTRUE": lambda: True, "NEWFALSE": lambda: False, "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list, "EMPTY_DICT": dict, "MARK": lambda: _MARK,
}  # fmt: skip

_ARGUMENTS = {
    "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "INT", "FLOAT", "BINFLOAT", "UNICODE", "BINUNICODE",
    "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8", "STRING", "BINSTRING",
    "SHORT_BINSTRING",
}  # fmt: skip
