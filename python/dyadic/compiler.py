"""torch.compile and what belongs to it. Nothing is compiled: functions and modules run as the Python that they are, so results are those of
eager code, and nothing is faster."""
import contextlib

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling"]
__all__ += ["is_exporting", "list_backends", "reset", "set_stance"]


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend=None,
    mode=None,
    options=None,
    name=None,
    disable=False,
    recompile_limit=None,
    isolate_recompiles=False,
    dynamic_shapes=None,
):
    """model itself, a function or a module; without one a decorator that changes nothing. There is no compiler here: the keywords are those of
    PyTorch, and have no effect."""
    return _unchanged if model is None else model


def _unchanged(model):
    return model


def disable(fn=None, recursive=True, *, reason=None):
    """fn itself, or a decorator that changes nothing: nothing is compiled."""
    return _unchanged if fn is None else fn


def allow_in_graph(fn):
    """fn itself: there are no graphs."""
    return fn


assume_constant_result = allow_in_graph


class set_stance(contextlib.ContextDecorator):
    """Accepted, as a call, a context and a decorator: code runs as it is."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        self.stance = stance

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        """Nothing was changed."""


def is_compiling():
    """False: Python runs."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def list_backends(exclude_tags=("debug", "experimental")):
    """[]: there is no compiler."""
    return []


def reset():
    """Nothing has been compiled."""


def cudagraph_mark_step_begin():
    """No GPU records graphs."""
