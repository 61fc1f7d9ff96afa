"""PyTorch's place of associative_scan."""
from .control_flow import associative_scan  # noqa: F401
