"""PyTorch's place of Parameter; Buffer."""
from .._dyadic import Parameter as Parameter
from .._dyadic import Tensor, empty
from .lazy import UninitializedBuffer, UninitializedParameter  # noqa: F401


class _Marked(type):
    def __instancecheck__(cls, t):
        return isinstance(t, Tensor) and getattr(t, "_is_buffer", False)


class Buffer(metaclass=_Marked):
    """A tensor that a module registers as a buffer when it becomes its attribute."""

    def __new__(cls, data=None, *, persistent=True):
        t = empty(0) if data is None else data.detach().requires_grad_(data.requires_grad)
        t.persistent, t._is_buffer = persistent, True
        return t


def is_lazy(param):
    """Whether a parameter or buffer still waits for its size."""
    return isinstance(param, (UninitializedParameter, UninitializedBuffer))
