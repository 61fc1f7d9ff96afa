"""PyTorch's place of the memory under tensors."""
from ._storage import TypedStorage, UntypedStorage  # noqa: F401
