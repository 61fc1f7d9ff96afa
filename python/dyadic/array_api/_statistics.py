"""Sums and what is made of them."""
import math

from .. import _dyadic
from ._dtypes import SIGNED, UNSIGNED, result_type

__all__ = "all any cumulative_prod cumulative_sum diff max mean min prod std sum var".split()


def _axes(x, axis):
    return list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)


def _sum_dtype(x, dtype):
    """Whole numbers are summed in the default integer of their sign, all else in its own dtype."""
    if dtype is not None:
        return dtype
    if x.dtype in UNSIGNED:
        return _dyadic.uint64
    return _dyadic.int64 if x.dtype in SIGNED or x.dtype == _dyadic.bool else x.dtype


def _reduce(op, x, axis, keepdims):
    axes = _axes(x, axis)
    return op(x, axes, keepdims) if axes else x.clone()


def all(x, /, *, axis=None, keepdims=False):
    """Whether all elements are true."""
    return _reduce(_dyadic.all, x != 0, axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """Whether an element is true."""
    return _reduce(_dyadic.any, x != 0, axis, keepdims)


def max(x, /, *, axis=None, keepdims=False):
    """The largest element."""
    return _reduce(_dyadic.amax, x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest element."""
    return _reduce(_dyadic.amin, x, axis, keepdims)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum of the elements."""
    dtype = _sum_dtype(x, dtype)
    return _reduce(_dyadic.sum, x.to(dtype), axis, keepdims).to(dtype)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product of the elements."""
    dtype = _sum_dtype(x, dtype)
    return _reduce(_dyadic.prod, x.to(dtype), axis, keepdims).to(dtype)


def mean(x, /, *, axis=None, keepdims=False):
    """The mean of the elements."""
    return _reduce(_dyadic.mean, x, axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The mean squared distance from the mean; divided by n - correction."""
    axes = _axes(x, axis)
    if not axes:
        return _dyadic.zeros_like(x) if correction < 1 else _dyadic.full_like(x, math.nan)
    n = math.prod(x.shape[a] for a in axes)
    total = _dyadic.sum(_dyadic.square(x - _dyadic.mean(x, axes, True)), axes, keepdims)
    return total / (n - correction) if n > correction else _dyadic.full_like(total, math.nan)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The root of var."""
    return _dyadic.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def _cumulative(op, name, first, x, axis, dtype, include_initial):
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}: which axis? x is {list(x.shape)}")
        axis = 0
    dtype = _sum_dtype(x, dtype)
    out = op(x.to(dtype), axis).to(dtype)
    if not include_initial:
        return out
    shape = list(out.shape)
    shape[axis] = 1
    return _dyadic.cat([_dyadic.full(shape, first, dtype=dtype), out], axis)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """The sums so far; with include_initial a 0 before them."""
    return _cumulative(_dyadic.cumsum, "cumulative_sum", 0, x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """The products so far; with include_initial a 1 before them."""
    return _cumulative(_dyadic.cumprod, "cumulative_prod", 1, x, axis, dtype, include_initial)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """The differences of neighbours, n times."""
    dtype = result_type(*(a for a in (x, prepend, append) if a is not None))
    parts = [a.to(dtype) for a in (prepend, x, append) if a is not None]
    x = _dyadic.cat(parts, axis) if len(parts) > 1 else parts[0]
    for _ in range(n):
        size = x.shape[axis]
        later, earlier = (_dyadic.narrow(x, axis, at, size - 1 if size else 0) for at in ((1, 0) if size else (0, 0)))
        x = _dyadic.ne(later, earlier) if dtype == _dyadic.bool else later - earlier
    return x
