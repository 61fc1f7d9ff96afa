"""PyTorch's place of the compiler's front, of which scripts set options. Nothing is compiled (dyadic.compiler)."""
from .._ignored import ignored as _ignored
from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset  # noqa: F401
from ..compiler import compile as _compile
from .._absent import refusal
from . import config, exc  # noqa: F401


@_ignored("t", "index", "kwargs", why="nothing is compiled for sizes")
def mark_dynamic(t, index, **kwargs):
    """Accepted: sizes are those that tensors have."""


mark_static = maybe_mark_dynamic = mark_dynamic


@_ignored("msg", why="there are no graphs")
def graph_break(msg=""):
    """Nothing: there are no graphs."""


def optimize(backend=None, **kwargs):
    """A decorator that changes nothing: compile(backend=...)."""
    return _compile(backend=backend, **kwargs)


class OptimizedModule:
    """For isinstance: no module is one, as compile() gives back what it is given."""

    def __init__(self, *args, **kwargs):
        raise refusal("_dynamo.OptimizedModule", "there is no compiler")


from . import eval_frame, utils  # noqa: E402,F401  of the class above
