"""Exact derivatives of plain numpy functions of points [Lommers13, sec. 5.5].

A `Dual` stands in for an array: it goes through ordinary numpy code and carries, beside each number, its derivatives by
all coordinates of the points of the same frame (forward mode). The first axis is always the frames, which never mix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, cross

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


def _axis(x: Dual, axis: Any, what: str, *, more: int = 0) -> Any:
    """An axis, or several, counted from the first, that are not the frames'."""
    if axis is None:
        refuse(f"{what} over all axes, frames among them; say which, e.g. axis=-1")
    if isinstance(axis, tuple):
        return tuple(_axis(x, each, what) for each in axis)
    if not -x.ndim - more <= axis < x.ndim + more:
        raise np.exceptions.AxisError(axis, x.ndim + more)
    found = int(axis) % (x.ndim + more)
    if found == 0:
        refuse(f"{what} over the frames (axis 0)")
    return found


def _shifted(axis: Any) -> Any:
    return tuple(a + 1 for a in axis) if isinstance(axis, tuple) else axis + 1


def _reducing(function: Any) -> Callable[..., Dual]:
    """A linear function along an axis."""

    def apply(x: Dual, axis: Any = None, *, keepdims: bool = False) -> Dual:
        axis = _axis(x, axis, f"np.{function.__name__}")
        slope = function(x.slope, axis=_shifted(axis), keepdims=keepdims)
        return Dual(function(x.value, axis=axis, keepdims=keepdims), slope)

    return apply


def _along(function: Any, *names: str, more: int = 0, default: Any = None) -> Callable[..., Dual]:
    """A function that moves or adds up numbers along an axis; `names` are its arguments after the array."""

    def apply(x: Dual, *args: Any, **options: Any) -> Dual:
        given = dict(zip(names, args, strict=False)) | options
        axis = _axis(x, given.pop("axis", default), f"np.{function.__name__}", more=more)
        return Dual(function(x.value, **given, axis=axis), function(x.slope, **given, axis=_shifted(axis)))

    return apply


def _extreme(argument: Any, name: str) -> Callable[..., Dual]:
    def apply(x: Dual, axis: Any = None, *, keepdims: bool = False) -> Dual:
        axis = _axis(x, axis, f"np.{name}")
        if isinstance(axis, tuple):
            refuse(f"np.{name} over several axes at once")
        best = np.expand_dims(argument(x.value, axis=axis), axis)
        value, slope = np.take_along_axis(x.value, best, axis), np.take_along_axis(x.slope, best[None], axis + 1)
        return Dual(value, slope) if keepdims else Dual(value.squeeze(axis), slope.squeeze(axis + 1))

    return apply


def _norm(x: Dual, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Dual:
    if ord not in (None, 2) or isinstance(axis, tuple):
        refuse("np.linalg.norm of another order than 2 or over several axes")
    axis = _axis(x, axis, "np.linalg.norm")
    size = np.linalg.norm(x.value, axis=axis, keepdims=True)
    # A vector of no length has no direction to grow in: its derivative is taken as zero.
    unit = x.value / np.where(size > 0.0, size, 1.0)
    slope = np.sum(x.slope * unit, axis=axis + 1, keepdims=keepdims)
    return Dual(size if keepdims else size.squeeze(axis), slope)


def _bilinear(product: Any, what: str, a: Any, b: Any, value: Array) -> Dual:
    slopes = [product(a.slope, plain(b))] if isinstance(a, Dual) else []
    slopes += [product(plain(a), b.slope)] if isinstance(b, Dual) else []
    return Dual(value, total(slopes, value.shape))


def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Dual:
    shapes = np.shape(plain(a)), np.shape(plain(b))
    if {axisa, axisb, axisc} != {-1} or axis not in (None, -1) or shapes[0][-1] != 3 or shapes[1][-1] != 3:
        refuse("np.cross of anything but three numbers on the last axis")
    return _bilinear(cross, "np.cross", a, b, aligned("np.cross", cross(plain(a), plain(b)), a, b))


def _matmul(a: Any, b: Any) -> Dual:
    both = isinstance(a, Dual) and isinstance(b, Dual)
    depth = [x.ndim for x in (a, b) if isinstance(x, Dual)]
    # With fewer axes, numpy would multiply over the frames.
    short = (isinstance(b, Dual) and b.ndim < 3) or (isinstance(a, Dual) and a.ndim < (3 if both else 2))
    if short or max(np.ndim(plain(a)), np.ndim(plain(b))) > min(depth):
        refuse("a matrix product over the frames; use np.einsum, e.g. 'nij,nj->ni'")
    value = np.matmul(plain(a), plain(b))
    first = a if isinstance(a, Dual) else b
    if value.shape[:1] != first.shape[:1]:
        refuse("a matrix product whose frames do not line up; use np.einsum, e.g. 'nij,nj->ni'")
    return _bilinear(np.matmul, "np.matmul", a, b, value)


def _dot(a: Any, b: Any) -> Dual:
    if not isinstance(a, Dual) or isinstance(b, Dual) or a.ndim < 2 or np.ndim(b) not in (1, 2):
        refuse("np.dot of these shapes; use np.einsum, e.g. 'ni,ni->n'")
    return Dual(np.dot(a.value, b), np.dot(a.slope, b))


def _einsum(subscripts: Any, *operands: Any) -> Dual:
    if not isinstance(subscripts, str) or "->" not in subscripts:
        refuse("np.einsum without the result's letters; write it as 'nij,nj->ni'")
    pattern, _, out = subscripts.replace(" ", "").partition("->")
    terms = list(zip(pattern.split(","), operands, strict=True))
    mine = [(term, x) for term, x in terms if isinstance(x, Dual)]
    leads = {term[:3] if term.startswith("...") else term[:1] for term, _ in mine}
    ranks = {x.ndim - len(term.replace("...", "")) for term, x in mine if "..." in term}
    if len(leads) != 1 or not out.startswith(leads.pop() or " ") or len(ranks) > 1 or ranks == {0}:
        refuse(f"np.einsum('{subscripts}'), unless all points and the result start with the frames")
    letter = next(c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in subscripts)
    values = [plain(x) for x in operands]
    value = np.einsum(subscripts, *values)
    slopes = []
    for i, (_, x) in enumerate(terms):
        if isinstance(x, Dual):
            named = ",".join(letter + term if i == j else term for j, (term, _) in enumerate(terms))
            slopes.append(np.einsum(f"{named}->{letter}{out}", *values[:i], x.slope, *values[i + 1 :]))
    return Dual(value, total(slopes, value.shape))


def _where(condition: Any, x: Any, y: Any) -> Dual:
    value = aligned("np.where", np.where(condition, plain(x), plain(y)), condition, x, y)
    inputs = len(x.slope if isinstance(x, Dual) else y.slope)
    slopes = [each.slope if isinstance(each, Dual) else np.float64(0.0) for each in (x, y)]
    slope = np.where(condition, *slopes)
    return Dual(value, np.broadcast_to(slope, (inputs, *value.shape)))


def _clip(x: Any, a_min: Any = None, a_max: Any = None) -> Any:
    x = x if a_min is None else np.maximum(x, a_min)
    return x if a_max is None else np.minimum(x, a_max)


def _joining(function: Any) -> Callable[..., Dual]:
    """Stack or concatenate; plain arrays among the parts are constants."""

    def apply(parts: Sequence[Any], axis: int = 0) -> Dual:
        first = next(part for part in parts if isinstance(part, Dual))
        more = 1 if function is np.stack else 0
        axis = _axis(first, axis, f"np.{function.__name__}", more=more)
        slopes = []
        for part in parts:
            value = plain(part)
            if np.shape(value)[:1] != first.shape[:1]:
                refuse(f"np.{function.__name__} of parts with other frames; use np.broadcast_to for constants")
            zero = np.zeros((len(first.slope), *np.shape(value)))
            slopes.append(part.slope if isinstance(part, Dual) else zero)
        return Dual(function([plain(part) for part in parts], axis=axis), function(slopes, axis=axis + 1))

    return apply


def _broadcast(x: Dual, shape: Any) -> Dual:
    value = np.broadcast_to(x.value, shape)
    if value.ndim != x.ndim or len(value) != len(x):
        refuse(f"np.broadcast_to from {x.shape} to {value.shape}, which moves the frames")
    return Dual(value, np.broadcast_to(x.slope, (len(x.slope), *value.shape)))


def _swapped(x: Dual, axis1: int, axis2: int) -> Dual:
    a, b = _axis(x, axis1, "np.swapaxes"), _axis(x, axis2, "np.swapaxes")
    return Dual(np.swapaxes(x.value, a, b), np.swapaxes(x.slope, a + 1, b + 1))


def _moved(x: Dual, source: Any, destination: Any) -> Dual:
    a, b = _axis(x, source, "np.moveaxis"), _axis(x, destination, "np.moveaxis")
    return Dual(np.moveaxis(x.value, a, b), np.moveaxis(x.slope, _shifted(a), _shifted(b)))


def _inverse(x: Dual) -> Dual:
    if x.ndim < 3:
        refuse("np.linalg.inv of anything but matrices per frame")
    value: Array = np.asarray(np.linalg.inv(x.value), float)
    return Dual(value, -value @ x.slope @ value)


def _determinant(x: Dual) -> Dual:
    inverse = _inverse(x).value
    value: Array = np.asarray(np.linalg.det(x.value), float)
    return Dual(value, value * np.einsum("...ij,...ji->...", inverse, x.slope))


FUNCTIONS |= {
    "sum": _reducing(np.sum), "mean": _reducing(np.mean),
    "max": _extreme(np.argmax, "max"), "amax": _extreme(np.argmax, "max"),
    "min": _extreme(np.argmin, "min"), "amin": _extreme(np.argmin, "min"),
    "cumsum": _along(np.cumsum, "axis"), "diff": _along(np.diff, "n", "axis", default=-1),
    "flip": _along(np.flip, "axis"), "roll": _along(np.roll, "shift", "axis"),
    "take": _along(np.take, "indices", "axis"), "repeat": _along(np.repeat, "repeats", "axis"),
    "squeeze": _along(np.squeeze, "axis"), "expand_dims": _along(np.expand_dims, "axis", more=1),
    "linalg.norm": _norm, "linalg.inv": _inverse, "linalg.det": _determinant, "linalg.cross": _cross,
    "cross": _cross, "matmul": _matmul, "dot": _dot, "einsum": _einsum, "where": _where, "clip": _clip,
    "stack": _joining(np.stack), "concatenate": _joining(np.concatenate),
    "broadcast_to": _broadcast, "swapaxes": _swapped, "moveaxis": _moved,
    "reshape": lambda x, shape: x.reshape(shape), "shape": lambda x: x.shape, "ndim": lambda x: x.ndim,
    "size": lambda x: x.size, "copy": lambda x: x,
    "zeros_like": lambda x: np.zeros(x.shape), "ones_like": lambda x: np.ones(x.shape),
    "full_like": lambda x, fill_value: np.full(x.shape, fill_value),
}  # fmt: skip

__all__ = ["Dual", "derive"]


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
            hint="its result does not depend on the points, or it was made into a plain array on the way",
        )
    if result.ndim not in (1, 2):
        raise OptionError(f"A function of points must return (frames,) or (frames, rows), got shape {result.shape}")
    rows = 1 if result.ndim == 1 else result.shape[1]
    slope = result.slope.reshape(inputs, frames, rows)
    return result.value.reshape(frames, rows), np.moveaxis(slope, 0, 2).reshape(frames, rows, count, 3)
