"""Marks for a compiler: functions run as they are written."""
from ._torch_names import compile  # noqa: F401


def disable(fn=None, recursive=True, *, reason=None):
    """The function itself."""
    return fn if fn is not None else lambda function: function


def reset():
    """Nothing has been compiled."""


def is_compiling():
    return False


def cudagraph_mark_step_begin():
    """No graph is captured."""
