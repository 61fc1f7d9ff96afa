"""The shape of a tensor: a tuple that knows its product."""
import math

from . import _dyadic


class Size(tuple):
    """Sizes of dimensions. A tuple; numel() is their product."""

    __slots__ = ()

    def numel(self):
        """The product of the sizes."""
        return math.prod(self)

    def __repr__(self):
        return f"{Size.__module__}.Size({list(self)})"

    def __getitem__(self, i):
        part = tuple.__getitem__(self, i)
        return Size(part) if isinstance(i, slice) else part

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other):
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, n):
        return Size(tuple.__mul__(self, n))

    __rmul__ = __mul__


Size.__module__ = "dyadic"
_dyadic._set_size_type(Size)
