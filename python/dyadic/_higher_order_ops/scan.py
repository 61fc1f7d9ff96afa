"""PyTorch's place of scan."""
from .control_flow import scan  # noqa: F401
