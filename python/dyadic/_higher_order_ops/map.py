"""PyTorch's place of map."""
from .control_flow import map  # noqa: F401
