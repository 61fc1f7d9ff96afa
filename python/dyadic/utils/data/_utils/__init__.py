"""PyTorch's place of collation."""
from . import collate  # noqa: F401
