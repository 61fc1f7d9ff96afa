"""PyTorch's place of the compiler's back, of which scripts set options. Nothing is compiled (dyadic.compiler)."""
from . import config  # noqa: F401
