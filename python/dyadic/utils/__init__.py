"""What surrounds training: data, checkpointing."""
from . import checkpoint, data

__all__ = ["checkpoint", "data"]
