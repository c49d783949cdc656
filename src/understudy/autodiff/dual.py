"""Numbers with their derivatives: arithmetic and functions of one and two numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from understudy.errors import OptionError
from understudy.geometry.quaternion import Array

HINT = "write it with arithmetic, np.sum, np.linalg.norm, np.cross, np.einsum, np.where, np.stack and indexing"

FUNCTIONS: dict[str, Callable[..., Any]] = {}
"""What numpy's functions do with Duals, by name; `autodiff.functions` fills it."""


class Dual(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of numbers (N, ...) and their derivatives (K, N, ...) by the K inputs of the same frame."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Array, slope: Array) -> None:
        self.value = value
        self.slope = slope

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def size(self) -> int:
        return self.value.size

    def __repr__(self) -> str:
        return f"Dual({self.value!r})"

    def __len__(self) -> int:
        return len(self.value)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        refuse("turning points into a plain array (np.asarray, np.array), which loses the derivative")

    def __float__(self) -> NoReturn:
        refuse("turning a point's coordinate into a plain number, which loses the derivative")

    def __bool__(self) -> NoReturn:
        refuse("`if` on points, which can go one way only for all frames; use np.where")

    def __iter__(self) -> NoReturn:
        refuse("a loop over frames; work on all frames at once, `points[:, 0]` is the first point at every frame")

    def __setitem__(self, key: Any, item: Any) -> NoReturn:
        refuse("writing into points; build a new array with np.stack or np.where")

    def __getitem__(self, key: Any) -> Dual:
        keys = key if isinstance(key, tuple) else (key,)
        _check_keys(keys, self.ndim)
        return Dual(self.value[keys], self.slope[(slice(None), *keys)])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        if method != "__call__" or options:
            refuse(f"np.{name} with {', '.join(options) if method == '__call__' else method}")
        if name in PLAIN:
            return ufunc(*(plain(x) for x in inputs))
        if name in UNARY:
            x = inputs[0]
            return Dual(ufunc(x.value), scaled(x.slope, UNARY[name](x.value)))
        if name in BINARY:
            return _binary(ufunc, inputs)
        if name != "matmul":
            refuse(f"np.{name}")
        return FUNCTIONS["matmul"](*inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        name = ("linalg." if "linalg" in (function.__module__ or "") else "") + function.__name__
        if name not in FUNCTIONS:
            refuse(f"np.{name}")
        return FUNCTIONS[name](*args, **options)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Dual:
        return np.sum(self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Dual:
        return np.mean(self, axis=axis, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Dual:
        return np.max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Dual:
        return np.min(self, axis=axis, keepdims=keepdims)

    def reshape(self, *shape: Any) -> Dual:
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        value = self.value.reshape(wanted)
        if value.shape[:1] != self.shape[:1]:
            refuse(f"reshaping {self.shape} to {value.shape}, which mixes frames")
        return Dual(value, self.slope.reshape(len(self.slope), *value.shape))


def refuse(what: str) -> NoReturn:
    """Say what cannot be differentiated."""
    raise OptionError(f"A function of points cannot be differentiated through {what}", hint=HINT)


def plain(x: Any) -> Any:
    """The numbers alone."""
    return x.value if isinstance(x, Dual) else x


def scaled(slope: Array, by: Any) -> Array:
    """A slope times an outer derivative; the common one of exactly one costs nothing."""
    return slope if isinstance(by, float) and by == 1.0 else slope * by


def aligned(what: str, value: Array, *inputs: Any) -> Array:
    """A result, once it is sure that the frames of all that went in stand under each other."""
    duals = [x for x in inputs if isinstance(x, Dual)]
    deepest = max(np.ndim(plain(x)) for x in inputs)
    if any(x.ndim < deepest for x in duals) or value.shape[:1] != duals[0].shape[:1]:
        shapes = " and ".join(str(np.shape(plain(x))) for x in inputs)
        refuse(f"{what} of shapes {shapes}, whose frames do not line up; add axes with [..., None]")
    return value


def total(slopes: list[Array], shape: tuple[int, ...]) -> Array:
    """The sum of slopes, brought to the shape of the result."""
    slope = slopes[0]
    for other in slopes[1:]:
        slope = slope + other
    return slope if slope.shape[1:] == shape else np.broadcast_to(slope, (len(slope), *shape))


def _binary(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Dual:
    x, y = (np.asarray(plain(each), float) for each in inputs)
    value = aligned(f"np.{ufunc.__name__}", ufunc(x, y), *inputs)
    rules = zip(inputs, BINARY[ufunc.__name__], strict=True)
    return Dual(value, total([scaled(d.slope, rule(x, y)) for d, rule in rules if isinstance(d, Dual)], value.shape))


def _check_keys(keys: tuple[Any, ...], ndim: int) -> None:
    """Refuse what would take frames out or move them."""
    used = sum(1 for k in keys if k is not None and k is not Ellipsis)
    every = isinstance(keys[0], slice) and keys[0] == slice(None)
    if not every and (keys[0] is not Ellipsis or used >= ndim):
        refuse("an index of frames; start with `[:, ` or `[..., `")
    if any(isinstance(k, list | np.ndarray) for k in keys):
        fixed = [i for i, k in enumerate(keys) if isinstance(k, int | np.integer | list | np.ndarray)]
        if fixed[-1] - fixed[0] >= len(fixed):
            refuse("lists of indices with other indices between them; index one axis at a time")


def _over(value: Array) -> Array:
    """One over, but zero at zero, where roots and angles have no derivative: it is taken as zero there."""
    return np.where(value == 0.0, 0.0, 1.0 / np.where(value == 0.0, 1.0, value))


def _power(x: Array, y: Array) -> Array:
    """A power that is zero, not infinite, where zero is raised to less than nothing."""
    none = (x == 0.0) & (y < 0.0)
    return np.where(none, 0.0, np.power(np.where(none, 1.0, x), y))


PLAIN = {
    "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "isfinite", "isnan", "isinf", "signbit",
    "floor", "ceil", "rint", "trunc", "sign", "floor_divide", "heaviside",
}  # fmt: skip
"""What gives plain arrays: truths, and steps, whose derivative is zero wherever there is one."""

UNARY: dict[str, Callable[[Array], Any]] = {
    "negative": lambda x: -1.0, "positive": lambda x: 1.0, "conjugate": lambda x: 1.0,
    "absolute": np.sign, "fabs": np.sign, "square": lambda x: 2.0 * x, "reciprocal": lambda x: -1.0 / x**2,
    "sqrt": lambda x: 0.5 * _over(np.sqrt(x)), "cbrt": lambda x: _over(np.cbrt(x) ** 2) / 3.0,
    "exp": np.exp, "exp2": lambda x: np.log(2.0) * np.exp2(x), "expm1": np.exp,
    "log": lambda x: 1.0 / x, "log2": lambda x: 1.0 / (x * np.log(2.0)), "log10": lambda x: 1.0 / (x * np.log(10.0)),
    "log1p": lambda x: 1.0 / (1.0 + x),
    "sin": np.cos, "cos": lambda x: -np.sin(x), "tan": lambda x: 1.0 / np.cos(x) ** 2,
    "arcsin": lambda x: _over(np.sqrt(1.0 - x**2)), "arccos": lambda x: -_over(np.sqrt(1.0 - x**2)),
    "arctan": lambda x: 1.0 / (1.0 + x**2),
    "sinh": np.cosh, "cosh": np.sinh, "tanh": lambda x: 1.0 - np.tanh(x) ** 2,
    "arcsinh": lambda x: 1.0 / np.sqrt(x**2 + 1.0), "arccosh": lambda x: _over(np.sqrt(x**2 - 1.0)),
    "arctanh": lambda x: 1.0 / (1.0 - x**2),
    "deg2rad": lambda x: np.pi / 180.0, "radians": lambda x: np.pi / 180.0,
    "rad2deg": lambda x: 180.0 / np.pi, "degrees": lambda x: 180.0 / np.pi,
}  # fmt: skip
"""Derivatives of functions of one number."""

Rule = Callable[[Array, Array], Any]

BINARY: dict[str, tuple[Rule, Rule]] = {
    "add": (lambda x, y: 1.0, lambda x, y: 1.0),
    "subtract": (lambda x, y: 1.0, lambda x, y: -1.0),
    "multiply": (lambda x, y: y, lambda x, y: x),
    "divide": (lambda x, y: 1.0 / y, lambda x, y: -x / y**2),
    "power": (
        lambda x, y: y * _power(x, y - 1.0),
        lambda x, y: np.where(x > 0.0, _power(x, y) * np.log(np.where(x > 0.0, x, 1.0)), 0.0),
    ),
    "arctan2": (lambda y, x: x * _over(x**2 + y**2), lambda y, x: -y * _over(x**2 + y**2)),
    "hypot": (lambda x, y: x * _over(np.hypot(x, y)), lambda x, y: y * _over(np.hypot(x, y))),
    "maximum": (lambda x, y: x >= y, lambda x, y: x < y),
    "minimum": (lambda x, y: x <= y, lambda x, y: x > y),
    "remainder": (lambda x, y: 1.0, lambda x, y: -np.floor(x / y)),
    "fmod": (lambda x, y: 1.0, lambda x, y: -np.trunc(x / y)),
    "logaddexp": (lambda x, y: 1.0 / (1.0 + np.exp(y - x)), lambda x, y: 1.0 / (1.0 + np.exp(x - y))),
}
"""Derivatives of functions of two numbers, by each."""

BINARY |= {"float_power": BINARY["power"], "fmax": BINARY["maximum"], "fmin": BINARY["minimum"]}
