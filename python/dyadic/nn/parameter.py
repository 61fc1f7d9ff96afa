"""PyTorch's place of Parameter."""
from .._dyadic import Parameter  # noqa: F401
from .lazy import UninitializedBuffer, UninitializedParameter  # noqa: F401


def is_lazy(param):
    """Whether a parameter still waits for its size."""
    return isinstance(param, UninitializedParameter)
