"""PyTorch's place of while_loop."""
from .control_flow import while_loop  # noqa: F401
