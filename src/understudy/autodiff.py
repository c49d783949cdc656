"""Exact derivatives of plain numpy functions of points [Lommers13, sec. 5.5].

A `Dual` stands in for an array: it goes through ordinary numpy code and carries, beside each number, its derivatives by
all coordinates of the points of the same frame (forward mode). The first axis is always the frames, which never mix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from understudy.errors import OptionError
from understudy.geometry.quaternion import Array, cross

HINT = "write it with arithmetic, sums, norms, cross, einsum, where, stack and indexing; see understudy.autodiff"


def derive(function: Callable[..., Any], points: Array, *extra: Any) -> tuple[Array, Array]:
    """A function's values (N, R) at points (N, P, 3) and its derivatives (N, R, P, 3).

    Args:
        function: Takes points (N, P, 3) and the extra arguments, returns (N,) or (N, R); each frame's result depends
            on that frame's points alone.
        points: Where.
        extra: Passed on as they are.
    """
    frames, count = points.shape[:2]
    inputs = 3 * count
    slopes = np.broadcast_to(np.eye(inputs).reshape(inputs, 1, count, 3), (inputs, frames, count, 3))
    result = function(Dual(points, slopes), *extra)
    if not isinstance(result, Dual):
        raise OptionError(
            f"A function of points must return what it computed from them, got {type(result).__name__}",
            hint="its result does not depend on the points, or an array conversion cut it off from them",
        )
    if result.ndim not in (1, 2):
        raise OptionError(f"A function of points must return (frames,) or (frames, rows), got shape {result.shape}")
    value, slope = result.value.reshape(frames, -1), result.slope.reshape(inputs, frames, -1)
    return value, np.moveaxis(slope, 0, 2).reshape(frames, value.shape[1], count, 3)


class Dual(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of numbers (N, ...) and their derivatives (K, N, ...) by the K inputs of the same frame."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Array, slope: Array) -> None:
        self.value = value
        self.slope = slope

    shape = property(lambda self: self.value.shape)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)
    dtype = property(lambda self: self.value.dtype)

    def __repr__(self) -> str:
        return f"Dual({self.value!r})"

    def __len__(self) -> int:
        return len(self.value)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        _refuse("turning points into a plain array (np.asarray, np.array, float) loses the derivative")

    __float__ = __int__ = __bool__ = __iter__ = __array__

    def __setitem__(self, key: Any, item: Any) -> NoReturn:
        _refuse("points cannot be written into; build a new array with np.stack or np.where")

    def __getitem__(self, key: Any) -> Dual:
        keys = key if isinstance(key, tuple) else (key,)
        _check_keys(keys, self.ndim)
        return Dual(self.value[keys], self.slope[(slice(None), *keys)])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            _refuse(f"np.{ufunc.__name__} with {method if method != '__call__' else ', '.join(options)}")
        name = ufunc.__name__
        if name in COMPARISONS:
            return ufunc(*(_value(x) for x in inputs))
        if name in UNARY:
            x = inputs[0]
            return Dual(ufunc(x.value), x.slope * UNARY[name](x.value))
        if name == "matmul":
            return _matmul(*inputs)
        if name in BINARY:
            return _binary(ufunc, BINARY[name], *inputs)
        _refuse(f"np.{name}")

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        name = ("linalg." if "linalg" in (function.__module__ or "") else "") + function.__name__
        if name not in FUNCTIONS:
            _refuse(f"np.{name}")
        return FUNCTIONS[name](*args, **options)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Dual:
        return _reduced(np.sum, self, axis, keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Dual:
        return _reduced(np.mean, self, axis, keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Dual:
        return _extreme(np.argmax, self, axis, keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Dual:
        return _extreme(np.argmin, self, axis, keepdims)

    def reshape(self, *shape: Any) -> Dual:
        shape = shape[0] if len(shape) == 1 and not np.isscalar(shape[0]) else shape
        value = self.value.reshape(shape)
        if value.ndim == 0 or len(value) != len(self):
            _refuse(f"reshaping {self.shape} to {value.shape}, which mixes frames")
        return Dual(value, self.slope.reshape(len(self.slope), *value.shape))


COMPARISONS = {
    "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "isfinite", "isnan", "isinf", "signbit",
    "floor", "ceil", "rint", "trunc", "sign", "floor_divide",
}  # fmt: skip
"""What gives plain numbers: truths, and steps, whose derivative is zero wherever there is one."""


def _over(value: Array) -> Array:
    """One over, but zero at zero, where roots have no derivative: it is taken as zero there."""
    return np.where(value == 0.0, 0.0, 1.0 / np.where(value == 0.0, 1.0, value))


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
    "arcsinh": lambda x: 1.0 / np.sqrt(x**2 + 1.0), "arctanh": lambda x: 1.0 / (1.0 - x**2),
    "deg2rad": lambda x: np.pi / 180.0, "radians": lambda x: np.pi / 180.0,
    "rad2deg": lambda x: 180.0 / np.pi, "degrees": lambda x: 180.0 / np.pi,
}  # fmt: skip
"""Derivatives of functions of one number."""


def _by_power(x: Array, y: Array) -> tuple[Any, Any]:
    # A power of zero has no logarithm, and a power to zero no slope: both are zero, and must not come out as not a number.
    base, up = np.where(x == 0.0, 1.0, x), y - 1.0
    by_base = y * np.where((x == 0.0) & (up < 0.0), 0.0, np.power(np.where((x == 0.0) & (up < 0.0), 1.0, x), up))
    return by_base, np.where(x > 0.0, np.power(base, y) * np.log(np.abs(base)), 0.0)


BINARY: dict[str, Callable[[Array, Array], tuple[Any, Any]]] = {
    "add": lambda x, y: (1.0, 1.0), "subtract": lambda x, y: (1.0, -1.0), "multiply": lambda x, y: (y, x),
    "divide": lambda x, y: (1.0 / y, -x / y**2), "power": _by_power, "float_power": _by_power,
    "arctan2": lambda y, x: (x * _over(x**2 + y**2), -y * _over(x**2 + y**2)),
    "hypot": lambda x, y: (x * _over(np.hypot(x, y)), y * _over(np.hypot(x, y))),
    "maximum": lambda x, y: (x >= y, x < y), "minimum": lambda x, y: (x <= y, x > y),
    "fmax": lambda x, y: (x >= y, x < y), "fmin": lambda x, y: (x <= y, x > y),
    "remainder": lambda x, y: (1.0, -np.floor(x / y)), "fmod": lambda x, y: (1.0, -np.trunc(x / y)),
    "logaddexp": lambda x, y: (1.0 / (1.0 + np.exp(y - x)), 1.0 / (1.0 + np.exp(x - y))),
}  # fmt: skip
"""Derivatives of functions of two numbers, by each."""


def _refuse(what: str) -> NoReturn:
    raise OptionError(f"A function of points cannot be differentiated through {what}", hint=HINT)


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Dual) else x


def _checked(what: str, value: Array, *inputs: Any) -> Array:
    """A result, once it is sure that the frames of all that went in stand under each other."""
    duals = [x for x in inputs if isinstance(x, Dual)]
    deepest = max(np.ndim(_value(x)) for x in inputs)
    if any(x.ndim < deepest for x in duals) or value.shape[:1] != duals[0].shape[:1]:
        shapes = ", ".join(str(np.shape(_value(x))) for x in inputs)
        _refuse(f"{what} of shapes {shapes}: frames would not line up; add axes with [..., None]")
    return value


def _binary(ufunc: np.ufunc, rule: Callable[[Array, Array], tuple[Any, Any]], *inputs: Any) -> Dual:
    x, y = (np.asarray(_value(each), float) for each in inputs)
    value = _checked(f"np.{ufunc.__name__}", ufunc(x, y), *inputs)
    parts = []
    for each, by in zip(inputs, rule(x, y), strict=True):
        if isinstance(each, Dual):
            parts.append(each.slope if np.isscalar(by) and by == 1.0 else each.slope * by)
    slope = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    if slope.shape[1:] != value.shape:
        slope = np.broadcast_to(slope, (len(slope), *value.shape))
    return Dual(value, slope)


def _matmul(a: Any, b: Any) -> Dual:
    both = isinstance(a, Dual) and isinstance(b, Dual)
    if isinstance(b, Dual) and b.ndim < 3 or isinstance(a, Dual) and a.ndim < (3 if both else 2):
        _refuse("a matrix product over the frames; use np.einsum, e.g. 'nij,nj->ni'")
    value = np.matmul(_value(a), _value(b))
    duals = [x for x in (a, b) if isinstance(x, Dual)]
    if value.shape[:1] != duals[0].shape[:1] or max(np.ndim(_value(a)), np.ndim(_value(b))) > min(d.ndim for d in duals):
        _refuse("a matrix product whose frames do not line up; use np.einsum, e.g. 'nij,nj->ni'")
    parts = [np.matmul(a.slope, _value(b))] if isinstance(a, Dual) else []
    parts += [np.matmul(_value(a), b.slope)] if isinstance(b, Dual) else []
    return Dual(value, sum(parts[1:], start=parts[0]))


def _check_keys(keys: tuple[Any, ...], ndim: int) -> None:
    """Refuse what would take frames out or move them."""
    used = sum(1 for k in keys if k is not None and k is not Ellipsis)
    whole = isinstance(keys[0], slice) and keys[0] == slice(None)
    if not (whole or keys[0] is Ellipsis) or (keys[0] is Ellipsis and used >= ndim):
        _refuse("an index of frames; start with `[:, ` or `[..., `")
    picked = [i for i, k in enumerate(keys) if isinstance(k, (list, np.ndarray))]
    if picked:
        fixed = [i for i, k in enumerate(keys) if isinstance(k, (int, np.integer, list, np.ndarray))]
        if fixed[-1] - fixed[0] >= len(fixed):
            _refuse("lists of indices with others between them; index one axis at a time")


def _axes(x: Dual, axis: Any, what: str) -> tuple[int, ...]:
    if axis is None:
        _refuse(f"{what} over all axes; name one that is not the frames', e.g. axis=-1")
    found = tuple(a % x.ndim for a in (axis if isinstance(axis, tuple) else (axis,)))
    if 0 in found:
        _refuse(f"{what} over the frames (axis 0)")
    return found


def _reduced(function: Any, x: Dual, axis: Any, keepdims: bool = False) -> Dual:
    axes = _axes(x, axis, f"np.{function.__name__}")
    slope = function(x.slope, axis=tuple(a + 1 for a in axes), keepdims=keepdims)
    return Dual(function(x.value, axis=axes, keepdims=keepdims), slope)


def _extreme(function: Any, x: Dual, axis: Any, keepdims: bool = False) -> Dual:
    axes = _axes(x, axis, f"np.{function.__name__.removeprefix('arg')}")
    if len(axes) != 1:
        _refuse("an extreme over several axes at once")
    best = np.expand_dims(function(x.value, axis=axes[0]), axes[0])
    found = Dual(
        np.take_along_axis(x.value, best, axes[0]),
        np.take_along_axis(x.slope, np.broadcast_to(best, (len(x.slope), *best.shape)), axes[0] + 1),
    )
    return found if keepdims else _moved(np.squeeze)(found, axes[0])


def _norm(x: Dual, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Dual:
    if ord not in (None, 2) or isinstance(axis, tuple):
        _refuse("np.linalg.norm of another order than 2 or over several axes")
    return np.sqrt(_reduced(np.sum, x * x, axis, keepdims))


def _cross(a: Any, b: Any, axis: int = -1) -> Dual:
    if axis != -1 or np.shape(a)[-1] != 3 or np.shape(b)[-1] != 3:
        _refuse("np.cross of anything but three numbers on the last axis")
    value = _checked("np.cross", cross(_value(a), _value(b)), a, b)
    parts = [cross(a.slope, _value(b))] if isinstance(a, Dual) else []
    parts += [cross(_value(a), b.slope)] if isinstance(b, Dual) else []
    return Dual(value, sum(parts[1:], start=parts[0]))


def _einsum(subscripts: str, *operands: Any) -> Dual:
    pattern, arrow, out = subscripts.replace(" ", "").partition("->")
    terms = pattern.split(",")
    lead = {t[:3] if t.startswith(".") else t[:1] for t, x in zip(terms, operands, strict=True) if isinstance(x, Dual)}
    rank = {x.ndim - len(t) for t, x in zip(terms, operands, strict=True) if isinstance(x, Dual) and "..." in t}
    if not arrow or len(lead) != 1 or not out.startswith(lead.pop() or " ") or len(rank) > 1:
        _refuse(f"np.einsum('{subscripts}'): say the result after `->` and start it, and all points, with the frames")
    letter = next(c for c in "ZYXWVUTSRQPO" if c not in subscripts)
    values = [_value(x) for x in operands]
    slopes = []
    for i, x in enumerate(operands):
        if isinstance(x, Dual):
            mine = ",".join(letter + t if i == j else t for j, t in enumerate(terms))
            slopes.append(np.einsum(f"{mine}->{letter}{out}", *values[:i], x.slope, *values[i + 1 :]))
    return Dual(np.einsum(subscripts, *values), sum(slopes[1:], start=slopes[0]))


def _dot(a: Any, b: Any) -> Dual:
    if isinstance(a, Dual) and np.ndim(_value(b)) <= 2 and not isinstance(b, Dual) and a.ndim >= 2:
        return Dual(np.dot(a.value, b), np.dot(a.slope, b))
    _refuse("np.dot of these shapes; use np.einsum, e.g. 'ni,ni->n'")


def _where(condition: Any, x: Any, y: Any) -> Dual:
    value = _checked("np.where", np.where(_value(condition), _value(x), _value(y)), _as_dual(x, y), y, _value(condition))
    parts = [np.broadcast_to(_slope(each, x, y), (*_slope(x, x, y).shape[:1], *value.shape)) for each in (x, y)]
    return Dual(value, np.where(_value(condition), *parts))


def _as_dual(x: Any, y: Any) -> Any:
    return x if isinstance(x, Dual) or not isinstance(y, Dual) else x


def _slope(each: Any, *others: Any) -> Array:
    if isinstance(each, Dual):
        return each.slope
    return np.zeros((len(next(o.slope for o in others if isinstance(o, Dual))), *(1,) * np.ndim(each)))
