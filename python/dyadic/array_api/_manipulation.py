"""Shapes, and products of matrices."""
import operator

from .. import _dyadic
from .._dyadic import Tensor
from ._dtypes import result_type

__all__ = """
broadcast_arrays broadcast_to concat expand_dims flip matmul matrix_transpose moveaxis permute_dims repeat reshape roll squeeze stack
tensordot tile unstack vecdot take take_along_axis
""".split()


def broadcast_arrays(*arrays):
    """The arrays in their common shape."""
    return list(_dyadic.broadcast_tensors(list(arrays))) if arrays else []


def broadcast_to(x, /, shape):
    """x in a larger shape."""
    return _dyadic.broadcast_to(x, list(shape))


def concat(arrays, /, *, axis=0):
    """Arrays joined along an axis; flattened first if it is None."""
    arrays = list(arrays)
    if axis is None:
        arrays, axis = [x.reshape(-1) for x in arrays], 0
    dtype = result_type(*arrays)
    return _dyadic.cat([x.to(dtype) for x in arrays], axis)


def expand_dims(x, /, *, axis=0):
    """x with a new axis of size 1."""
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise IndexError(f"expand_dims: the axis is out of range: axis is {axis}, x has {x.ndim}")
    return x.unsqueeze(axis)


def flip(x, /, *, axis=None):
    """x backwards along axes, all of them if None."""
    axes = list(range(x.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)
    return _dyadic.flip(x, axes) if x.ndim else x.clone()


def matmul(x1, x2, /):
    """The product of matrices, stacks of them, and vectors."""
    dtype = result_type(x1, x2)
    return _dyadic.matmul(x1.to(dtype), x2.to(dtype))


def matrix_transpose(x, /):
    """The last two axes exchanged."""
    return x.mT


def moveaxis(x, source, destination, /):
    """Axes at other places."""
    return _dyadic.movedim(x, source, destination)


def permute_dims(x, /, axes):
    """The axes in another order."""
    return x.permute(list(axes))


def repeat(x, repeats, /, *, axis=None):
    """Each element (or slice of an axis) several times."""
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    if isinstance(repeats, Tensor) and repeats.numel() == 1:
        repeats = int(repeats)
    return _dyadic.repeat_interleave(x, repeats if isinstance(repeats, int) else repeats.to(_dyadic.int64), dim=axis)


def reshape(x, /, shape, *, copy=None):
    """The same elements in another shape."""
    if copy is False:
        return x.view(list(shape))
    y = x.reshape(list(shape))
    return y.clone() if copy and y.data_ptr() == x.data_ptr() else y


def roll(x, /, shift, *, axis=None):
    """Elements moved along axes, around the end."""
    return _dyadic.roll(x, shift) if axis is None else _dyadic.roll(x, shift, axis)


def squeeze(x, /, axis):
    """x without axes of size 1."""
    axes = [axis] if isinstance(axis, int) else list(axis)
    for a in axes:
        if not -x.ndim <= a < x.ndim or x.shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} is not of size 1: x is {list(x.shape)}")
    return x.squeeze(axes) if axes else x


def stack(arrays, /, *, axis=0):
    """Arrays side by side along a new axis."""
    arrays = list(arrays)
    dtype = result_type(*arrays)
    return _dyadic.stack([x.to(dtype) for x in arrays], axis)


def tensordot(x1, x2, /, *, axes=2):
    """Sums of products over the last axes of x1 and the first of x2, or over pairs of axes."""
    dtype = result_type(x1, x2)
    first, last = (list(range(x1.ndim - axes, x1.ndim)), list(range(axes))) if isinstance(axes, int) else (list(axes[0]), list(axes[1]))
    return _dyadic.tensordot(x1.to(dtype), x2.to(dtype), [operator.index(a) for a in first], [operator.index(a) for a in last])


def tile(x, repetitions, /):
    """Copies of x side by side."""
    return _dyadic.tile(x, list(repetitions)) if len(repetitions) else x.clone()


def unstack(x, /, *, axis=0):
    """The slices of an axis."""
    return tuple(_dyadic.unbind(x, axis))


def vecdot(x1, x2, /, *, axis=-1):
    """Sums of products along an axis, x1 conjugated."""
    dtype = result_type(x1, x2)
    first, second = _dyadic.broadcast_tensors([x1.to(dtype).movedim(axis, -1), x2.to(dtype).movedim(axis, -1)])
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"vecdot: the sizes of axis {axis} differ: x1 is {list(x1.shape)}, x2 is {list(x2.shape)}")
    return _dyadic.matmul(_dyadic.conj_physical(first).unsqueeze(-2), second.unsqueeze(-1)).squeeze(-1).squeeze(-1)


def take(x, indices, /, *, axis=None):
    """Slices of an axis by number; the axis may be left out where there is one."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: which axis? x is {list(x.shape)}")
        axis = 0
    rows = x.shape[axis]
    if indices.ndim != 1:
        raise ValueError(f"take: indices are one row: they are {list(indices.shape)}")
    return _dyadic.index_select(x, axis, _dyadic.where(indices < 0, indices + rows, indices))


def take_along_axis(x, indices, /, *, axis=-1):
    """Elements of an axis by number, as many as indices has there."""
    rows = x.shape[axis]
    return _dyadic.take_along_dim(x, _dyadic.where(indices < 0, indices + rows, indices).to(_dyadic.int64), axis)
