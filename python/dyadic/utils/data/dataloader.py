"""PyTorch's place of DataLoader and its collation."""
from . import DataLoader, default_collate, default_convert
