"""PyTorch's place of collation."""
from .. import default_collate, default_convert  # noqa: F401
