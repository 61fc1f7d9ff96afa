"""PyTorch's place of what its compiler makes of modules, for isinstance."""
from . import OptimizedModule  # noqa: F401
