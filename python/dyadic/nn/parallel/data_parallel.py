"""PyTorch's place of DataParallel."""
from .._more import DataParallel

DataParallel.__module__ = __name__
