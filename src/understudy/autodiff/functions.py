"""What numpy's functions of whole arrays do with derivatives. Frames, the first axis, are never mixed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from understudy.autodiff.dual import FUNCTIONS, Dual, aligned, plain, refuse, total
from understudy.geometry.quaternion import Array, cross


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
