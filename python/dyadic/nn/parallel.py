"""PyTorch's place of DataParallel."""
from ._more import DataParallel  # noqa: F401
