"""Control flow as functions: what PyTorch's compiler keeps as one step is run here as the Python that it says."""
from .associative_scan import associative_scan
from .cond import cond
from .map import map
from .scan import scan
from .while_loop import while_loop

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]
