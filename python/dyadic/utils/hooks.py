"""PyTorch's place of what registering a hook gives back."""
from .._handle import RemovableHandle  # noqa: F401
