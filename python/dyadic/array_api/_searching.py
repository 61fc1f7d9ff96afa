"""Where things are; order; different values."""
from collections import namedtuple

from .. import _dyadic
from .._dyadic import Tensor
from ._dtypes import result_type
from .._ignored import ignored as _ignored

__all__ = """
argmax argmin argsort count_nonzero nonzero searchsorted sort unique_all unique_counts unique_inverse unique_values where
""".split()


def _arg(op, x, axis, keepdims):
    if axis is None:
        place = op(x.reshape(-1), 0)
        return place.reshape([1] * x.ndim) if keepdims else place
    return op(x, axis, keepdims)


def argmax(x, /, *, axis=None, keepdims=False):
    """The place of the first largest element."""
    return _arg(_dyadic.argmax, x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The place of the first smallest element."""
    return _arg(_dyadic.argmin, x, axis, keepdims)


@_ignored("stable", why="every order is stable")
def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The places of the elements in order."""
    return _dyadic.argsort(x, dim=axis, descending=descending)


@_ignored("stable", why="every order is stable")
def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order."""
    return _dyadic.sort(x, dim=axis, descending=descending).values


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements are not zero."""
    axes = list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    return _dyadic.sum(x != 0, axes, keepdims) if axes else (x != 0).to(_dyadic.int64)


def nonzero(x, /):
    """The coordinates of what is not zero, one array per axis."""
    if x.ndim == 0:
        raise ValueError("nonzero: a 0-d array has no coordinates")
    return tuple(_dyadic.nonzero(x).unbind(1))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where the values of x2 go into the sorted x1."""
    if side not in ("left", "right"):
        raise ValueError(f'searchsorted: side is "left" or "right", not "{side}"')
    x1 = x1 if sorter is None else x1[sorter]
    dtype = result_type(x1, x2)
    return _dyadic.searchsorted(x1.to(dtype), x2.to(dtype), right=side == "right")


def where(condition, x1, x2, /):
    """x1 where the condition holds, else x2."""
    dtype = result_type(x1, x2)
    x1, x2 = (x.to(dtype) if isinstance(x, Tensor) else _dyadic.full([], x, dtype=dtype) for x in (x1, x2))
    return _dyadic.where(condition, x1, x2)


_All = namedtuple("unique_all_result", ["values", "indices", "inverse_indices", "counts"])
_Counts = namedtuple("unique_counts_result", ["values", "counts"])
_Inverse = namedtuple("unique_inverse_result", ["values", "inverse_indices"])


def unique_all(x, /):
    """Different values in order, where each stands first, which of them each element is, how often each occurs. NaN differs from
    itself."""
    flat = x.reshape(-1)
    if x.is_complex():  # by the real part, then by the imaginary one
        order = _dyadic.argsort(flat.imag, stable=True)
        order = order[_dyadic.argsort(flat.real[order], stable=True)]
    else:
        order = _dyadic.argsort(flat, stable=True)
    row = flat[order]
    begins = _dyadic.ones(flat.shape[0], dtype=_dyadic.bool)
    if flat.shape[0] > 1:
        begins[1:] = row[1:] != row[:-1]
    starts = _dyadic.nonzero(begins).reshape(-1)
    ends = _dyadic.cat([starts[1:], _dyadic.tensor([flat.shape[0]])]) if starts.shape[0] else starts
    inverse = _dyadic.empty(flat.shape[0], dtype=_dyadic.int64)
    inverse[order] = _dyadic.cumsum(begins.to(_dyadic.int64), 0) - 1
    return _All(row[starts], order[starts], inverse.reshape(x.shape), ends - starts)


def unique_counts(x, /):
    """Different values in order, and how often each occurs."""
    every = unique_all(x)
    return _Counts(every.values, every.counts)


def unique_inverse(x, /):
    """Different values in order, and which of them each element is."""
    every = unique_all(x)
    return _Inverse(every.values, every.inverse_indices)


def unique_values(x, /):
    """Different values in order."""
    return unique_all(x).values
