"""PyTorch's place of Parameter."""
from .._dyadic import Parameter  # noqa: F401
from .lazy import UninitializedBuffer, UninitializedParameter  # noqa: F401
