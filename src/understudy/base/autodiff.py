"""Exact derivatives of plain numpy functions of points [Lommers13, sec. 5.5].

A `Dual` takes the place of an array in ordinary numpy code (forward-mode automatic differentiation). Beside each number
it carries the derivatives by all coordinates of the points of the same frame. The first axis is always the frames; an
operation that would mix frames is refused. `RULES` lists the numpy functions that can be differentiated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NoReturn

import numpy as np

from understudy.base.errors import OptionError
from understudy.base.quaternion import Array, cross

HINT = "write it with arithmetic, np.sum, np.linalg.norm, np.cross, np.einsum, np.where, np.stack and indexing"


def derive(function: Callable[..., Any], points: Array, *extra: Any) -> tuple[Array, Array]:
    """A function's values (N, R) at points (N, P, 3) and its derivatives (N, R, P, 3).

    Args:
        function: Takes points (N, P, 3) and the extra arguments, returns (N,) or (N, R). The result of a frame depends
            on that frame's points alone.
        points: Where to evaluate the function and its derivatives.
        extra: Passed on unchanged.
    """
    frames, count = points.shape[:2]
    result = function(Dual(points, np.eye(3 * count).reshape(3 * count, 1, count, 3)), *extra)
    if not isinstance(result, Dual):
        raise OptionError(
            f"A function of points must return what it computed from them, got {type(result).__name__}",
            hint="its result does not depend on the points, or it was made into a plain array on the way",
        )
    if result.ndim not in (1, 2):
        raise OptionError(f"A function of points must return (frames,) or (frames, rows), got shape {result.shape}")
    rows = 1 if result.ndim == 1 else result.shape[1]
    slope = np.moveaxis(result.slope.reshape(3 * count, frames, rows), 0, 2)
    return result.value.reshape(frames, rows), slope.reshape(frames, rows, count, 3)


def _refuse(what: str) -> NoReturn:
    raise OptionError(f"A function of points cannot be differentiated through {what}", hint=HINT)


def _refusing(what: str) -> Any:
    return lambda *args, **options: _refuse(what)


class Dual(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of numbers (N, ...) and their derivatives (K, N, ...) by the K inputs of the same frame."""

    def __init__(self, value: Array, slope: Array) -> None:
        self.value = value
        self.slope = slope if slope.shape[1:] == value.shape else np.broadcast_to(slope, (len(slope), *value.shape))
        self.shape, self.ndim, self.size = value.shape, value.ndim, value.size

    sum, mean, max, min = np.sum, np.mean, np.max, np.min  # As methods, they get the Dual as their first argument.

    __array__ = _refusing("turning points into a plain array (np.asarray, np.array), which loses the derivative")
    __float__ = _refusing("turning a point's coordinate into a plain number, which loses the derivative")
    __bool__ = _refusing("`if` on points, which can go one way only for all frames; use np.where")
    __iter__ = _refusing("a loop over frames; `points[:, 0]` is the first point at every frame")
    __setitem__ = _refusing("writing into points; build a new array with np.stack or np.where")

    def __repr__(self) -> str:
        return f"Dual({self.value!r})"

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, key: Any) -> Dual:
        keys = key if isinstance(key, tuple) else (key,)
        value, slope, numbers = self.value[keys], self.slope[(slice(None), *keys)], np.arange(len(self))
        frames = np.broadcast_to(numbers, self.shape[::-1]).T[keys]  # The frame that each number of the result is from.
        kept = frames.shape[:1] == self.shape[:1] and np.all(numbers == frames.T)
        if not kept or slope.shape != (len(self.slope), *value.shape):
            _refuse("an index of frames; start with `[:, ` or `[..., ` and put lists of indices on one axis at a time")
        return Dual(value, slope)

    def reshape(self, *shape: Any) -> Dual:
        value = self.value.reshape(*shape)
        if value.shape[:1] != self.shape[:1]:
            _refuse(f"reshaping {self.shape} to {value.shape}, which mixes frames")
        return Dual(value, self.slope.reshape(len(self.slope), *value.shape))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            _refuse(f"{_name(ufunc)} with {', '.join(options) if method == '__call__' else method}")
        return self.__array_function__(ufunc, (), inputs, {})

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        if function not in RULES:
            _refuse(_name(function))
        return RULES[function](*args, **options)


def _name(function: Any) -> str:
    return f"np.{'linalg.' if 'linalg' in str(getattr(function, '__module__', '')) else ''}{function.__name__}"


def _plain(x: Any) -> Any:
    return x.value if isinstance(x, Dual) else x


def _check_frames(what: str, value: Array, inputs: Sequence[Any], depths: Sequence[int] | None = None) -> None:
    """Refuse inputs that numpy would broadcast with their frames on different axes."""
    depths = depths or [np.ndim(_plain(x)) for x in inputs]
    duals = [(x, depth) for x, depth in zip(inputs, depths, strict=True) if isinstance(x, Dual)]
    if any(depth < max(depths) or x.shape[:1] != value.shape[:1] for x, depth in duals):
        shapes = " and ".join(str(np.shape(_plain(x))) for x in inputs)
        _refuse(f"{what} of shapes {shapes}, whose frames do not line up; add axes with [..., None]")


def _from_last(axis: Any, ndim: int, function: Any) -> Any:
    """Axes counted from the last, which are the same for values and slopes; the frames' axis is refused."""
    if axis is None:
        _refuse(f"{_name(function)} over all axes, frames among them; say which, e.g. axis=-1")
    if isinstance(axis, tuple | list):
        return tuple(_from_last(a, ndim, function) for a in axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    if axis in (0, -ndim):
        _refuse(f"{_name(function)} over the frames (axis 0)")
    return axis - ndim if axis >= 0 else axis


def _call_on_values(function: Any, *args: Any, **options: Any) -> Any:
    return function(*map(_plain, args), **options)


def _elementwise(ufunc: Any, *inputs: Any) -> Dual:
    """Apply the chain rule, with the partial derivatives of the table."""
    values = [np.asarray(_plain(x), float) for x in inputs]
    value = ufunc(*values)
    _check_frames(_name(ufunc), value, inputs)
    partials = [(x, by) for x, by in zip(inputs, DERIVATIVES[ufunc], strict=True) if isinstance(x, Dual)]
    return Dual(value, reduce(np.add, [x.slope * (by(*values) if callable(by) else by) for x, by in partials]))


def _multilinear(what: str, function: Any, *inputs: Any, depths: Sequence[int] | None = None) -> Dual:
    """Apply the product rule."""
    values = [_plain(x) for x in inputs]
    value = function(*values)
    _check_frames(what, value, inputs, depths)
    duals = [(i, x.slope) for i, x in enumerate(inputs) if isinstance(x, Dual)]
    return Dual(value, reduce(np.add, [function(*values[:i], slope, *values[i + 1 :]) for i, slope in duals]))


def _linear(function: Any, signature: inspect.Signature, *args: Any, **options: Any) -> Dual:
    """Apply a linear function of one array along axes, to its values and to its slopes."""
    (_, x), *others = signature.bind(*args, **options).arguments.items()
    named = dict(others)
    unsupported = sorted(named.keys() & {"out", "dtype", "initial", "where", "prepend", "append"})
    if unsupported or not isinstance(x, Dual):
        _refuse(f"{_name(function)} with {', '.join(unsupported) or 'points as indices'}")
    for name in signature.parameters.keys() & {"axis", "axis1", "axis2", "source", "destination"}:
        axis = named.get(name, signature.parameters[name].default)
        added = np.size(axis) if function is np.expand_dims else 0
        named[name] = _from_last(axis, x.ndim + added, function)
    return Dual(function(x.value, **named), function(x.slope, **named))


def _extreme(function: Any, argument: Any, x: Dual, axis: Any = None, *, keepdims: bool = False) -> Dual:
    axis = _from_last(axis, x.ndim, function)
    if isinstance(axis, tuple):
        _refuse(f"{_name(function)} over several axes at once")
    best = argument(x.value, axis=axis, keepdims=True)
    value, slope = np.take_along_axis(x.value, best, axis), np.take_along_axis(x.slope, best[None], axis)
    return Dual(value, slope) if keepdims else Dual(value.squeeze(axis), slope.squeeze(axis))


def _norm(x: Dual, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Dual:
    if ord not in (None, 2) or isinstance(axis, tuple):
        _refuse("np.linalg.norm of another order than 2 or over several axes")
    return np.sqrt(np.sum(np.square(x), axis=_from_last(axis, x.ndim, np.linalg.norm), keepdims=keepdims))


def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Dual:
    axes = {axisa, axisb, axisc, -1 if axis is None else axis}
    if axes != {-1} or {np.shape(_plain(x))[-1] for x in (a, b)} != {3}:
        _refuse("np.cross of anything but three numbers on the last axis")
    return _multilinear("np.cross", cross, a, b)


def _matmul(a: Any, b: Any) -> Dual:
    # A plain matrix may multiply rows (N, i) from the right; otherwise numpy would multiply over the frames.
    if any(x.ndim < (3 if isinstance(b, Dual) else 2) for x in (a, b) if isinstance(x, Dual)):
        _refuse("a matrix product over the frames; use np.einsum, e.g. 'nij,nj->ni'")
    return _multilinear("np.matmul", np.matmul, a, b)


def _dot(a: Any, b: Any) -> Dual:
    if isinstance(b, Dual) or a.ndim < 2 or np.ndim(b) not in (1, 2):
        _refuse("np.dot of these shapes; use np.einsum, e.g. 'ni,ni->n'")
    return _matmul(a, b)


def _einsum(subscripts: Any, *operands: Any) -> Dual:
    if not isinstance(subscripts, str) or "->" not in subscripts:
        _refuse("np.einsum without the result's letters; write it as 'nij,nj->ni'")
    pattern, _, out = subscripts.replace(" ", "").partition("->")
    # The first axis of a slope goes into an ellipsis, which is added where there is none.
    dots = "" if "..." in pattern else "..."
    terms = list(zip(pattern.split(","), operands, strict=True))
    depths = [0 if dots else np.ndim(_plain(x)) - len(term.replace("...", "")) for term, x in terms]
    starts = [term for term, x in terms if isinstance(x, Dual)] + [out]
    if not all(start.startswith(starts[0][:1] if dots else "...") for start in starts) or not (dots or max(depths)):
        _refuse(f"np.einsum('{subscripts}'), unless all points and the result start with the frames")
    function = partial(np.einsum, ",".join(dots + term for term, _ in terms) + "->" + dots + out)
    return _multilinear("np.einsum", function, *operands, depths=depths)


def _inverse(x: Dual) -> Dual:
    if x.ndim < 3:
        _refuse("np.linalg.inv of anything but matrices per frame")
    value = np.asarray(np.linalg.inv(x.value), float)
    return Dual(value, -value @ x.slope @ value)


def _determinant(x: Dual) -> Dual:
    value = np.asarray(np.linalg.det(x.value), float)
    return Dual(value, value * np.einsum("...ij,...ji->...", _inverse(x).value, x.slope))


def _where(condition: Any, x: Any, y: Any) -> Dual:
    value = np.where(condition, _plain(x), _plain(y))
    _check_frames("np.where", value, (condition, x, y))
    return Dual(value, np.where(condition, *(z.slope if isinstance(z, Dual) else np.float64(0.0) for z in (x, y))))


def _join(function: Any, parts: Sequence[Any], axis: int = 0) -> Dual:
    """Stack or concatenate; plain arrays among the parts are constants."""
    first = next(part for part in parts if isinstance(part, Dual))
    if any(np.shape(_plain(part))[:1] != first.shape[:1] for part in parts):
        _refuse(f"{_name(function)} of parts with other frames; use np.broadcast_to for constants")
    axis = _from_last(axis, first.ndim + (function is np.stack), function)
    inputs = len(first.slope)
    slopes = [part.slope if isinstance(part, Dual) else np.zeros((inputs, *np.shape(part))) for part in parts]
    return Dual(function([_plain(part) for part in parts], axis=axis), function(slopes, axis=axis))


def _reciprocal(x: Array) -> Array:
    """1 / x, and 0 at 0. Roots and angles have no derivative there; it is taken as zero."""
    return np.where(x == 0.0, 0.0, 1.0 / np.where(x == 0.0, 1.0, x))


def _power(x: Array, y: Array) -> Array:
    """x ** y, and 0 where it is infinite: where x is zero and y is negative."""
    infinite = (x == 0.0) & (y < 0.0)
    return np.where(infinite, 0.0, np.power(np.where(infinite, 1.0, x), y))


DERIVATIVES: dict[Any, tuple[Any, ...]] = {
    np.negative: (-1.0,), np.positive: (1.0,), np.conjugate: (1.0,), np.absolute: (np.sign,), np.fabs: (np.sign,),
    np.deg2rad: (np.pi / 180.0,), np.radians: (np.pi / 180.0,),
    np.rad2deg: (180.0 / np.pi,), np.degrees: (180.0 / np.pi,),
    np.square: (lambda x: 2.0 * x,), np.reciprocal: (lambda x: -1.0 / x**2,),
    np.sqrt: (lambda x: 0.5 * _reciprocal(np.sqrt(x)),), np.cbrt: (lambda x: _reciprocal(np.cbrt(x) ** 2) / 3.0,),
    np.exp: (np.exp,), np.expm1: (np.exp,), np.exp2: (lambda x: np.log(2.0) * np.exp2(x),),
    np.log: (lambda x: 1.0 / x,), np.log1p: (lambda x: 1.0 / (1.0 + x),),
    np.log2: (lambda x: 1.0 / (x * np.log(2.0)),), np.log10: (lambda x: 1.0 / (x * np.log(10.0)),),
    np.sin: (np.cos,), np.cos: (lambda x: -np.sin(x),), np.tan: (lambda x: 1.0 / np.cos(x) ** 2,),
    np.arcsin: (lambda x: _reciprocal(np.sqrt(1.0 - x**2)),), np.arctan: (lambda x: 1.0 / (1.0 + x**2),),
    np.arccos: (lambda x: -_reciprocal(np.sqrt(1.0 - x**2)),),
    np.sinh: (np.cosh,), np.cosh: (np.sinh,), np.tanh: (lambda x: 1.0 - np.tanh(x) ** 2,),
    np.arcsinh: (lambda x: 1.0 / np.sqrt(x**2 + 1.0),), np.arctanh: (lambda x: 1.0 / (1.0 - x**2),),
    np.arccosh: (lambda x: _reciprocal(np.sqrt(x**2 - 1.0)),),
    np.add: (1.0, 1.0), np.subtract: (1.0, -1.0), np.multiply: (lambda x, y: y, lambda x, y: x),
    np.divide: (lambda x, y: 1.0 / y, lambda x, y: -x / y**2),
    np.arctan2: (lambda y, x: x * _reciprocal(x**2 + y**2), lambda y, x: -y * _reciprocal(x**2 + y**2)),
    np.hypot: (lambda x, y: x * _reciprocal(np.hypot(x, y)), lambda x, y: y * _reciprocal(np.hypot(x, y))),
    np.remainder: (1.0, lambda x, y: -np.floor(x / y)), np.fmod: (1.0, lambda x, y: -np.trunc(x / y)),
    np.logaddexp: (lambda x, y: 1.0 / (1.0 + np.exp(y - x)), lambda x, y: 1.0 / (1.0 + np.exp(x - y))),
    **dict.fromkeys((np.maximum, np.fmax), (np.greater_equal, np.less)),
    **dict.fromkeys((np.minimum, np.fmin), (np.less_equal, np.greater)),
    **dict.fromkeys((np.power, np.float_power), (
        lambda x, y: y * _power(x, y - 1.0),
        lambda x, y: np.where(x > 0.0, _power(x, y) * np.log(np.where(x > 0.0, x, 1.0)), 0.0),
    )),
}  # fmt: skip
"""The partial derivatives of elementwise functions by each input: a number, or a function of all inputs."""

WITHOUT_DERIVATIVE: tuple[Any, ...] = (
    np.greater, np.greater_equal, np.less, np.less_equal, np.equal, np.not_equal, np.isfinite, np.isnan, np.isinf,
    np.signbit, np.floor, np.ceil, np.rint, np.trunc, np.sign, np.floor_divide, np.heaviside,
    np.shape, np.ndim, np.size, np.zeros_like, np.ones_like, np.full_like,
)  # fmt: skip
"""Comparisons, shapes and step functions: they return plain arrays, as their derivative is zero where it exists."""

LINEAR: tuple[Any, ...] = (
    np.sum, np.mean, np.cumsum, np.diff, np.flip, np.roll, np.take, np.repeat, np.squeeze, np.expand_dims,
    np.swapaxes, np.moveaxis, np.copy,
)  # fmt: skip

RULES: dict[Any, Callable[..., Any]] = {
    **{function: partial(_call_on_values, function) for function in WITHOUT_DERIVATIVE},
    **{function: partial(_elementwise, function) for function in DERIVATIVES},
    **{function: partial(_linear, function, inspect.signature(function)) for function in LINEAR},
    **dict.fromkeys((np.max, np.amax), partial(_extreme, np.max, np.argmax)),
    **dict.fromkeys((np.min, np.amin), partial(_extreme, np.min, np.argmin)),
    **{function: partial(_join, function) for function in (np.stack, np.concatenate)},
    **dict.fromkeys((np.cross, getattr(np.linalg, "cross", np.cross)), _cross),
    np.linalg.norm: _norm, np.linalg.inv: _inverse, np.linalg.det: _determinant,
    np.matmul: _matmul, np.dot: _dot, np.einsum: _einsum, np.where: _where, np.reshape: Dual.reshape,
    np.broadcast_to: lambda x, shape: x + np.broadcast_to(np.zeros(x.shape), shape),
    np.clip: lambda x, a_min=None, a_max=None: np.minimum(
        np.maximum(x, -np.inf if a_min is None else a_min), np.inf if a_max is None else a_max
    ),
}  # fmt: skip
"""How each numpy function is differentiated."""
