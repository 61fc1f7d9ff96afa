"""PyTorch's place of cond."""
from .control_flow import cond  # noqa: F401
