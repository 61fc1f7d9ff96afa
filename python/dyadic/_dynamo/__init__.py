"""PyTorch's place of the compiler's front, of which scripts set options. Nothing is compiled (dyadic.compiler)."""
from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset  # noqa: F401
from . import config  # noqa: F401


def mark_dynamic(t, index, **kwargs):
    """Accepted: sizes are those that tensors have."""


mark_static = maybe_mark_dynamic = mark_dynamic


def graph_break(msg=""):
    """Nothing: there are no graphs."""


def optimize(backend=None, **kwargs):
    """A decorator that changes nothing."""
    return lambda fn: fn
