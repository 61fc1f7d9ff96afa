"""Inner names of PyTorch's translator. Nothing is translated."""
from typing import Final  # noqa: F401

from .jit import _overload, _overload_method, export, ignore, is_scripting, unused  # noqa: F401


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """A function that calls if_true or if_false, as its argument arg_name says."""

    def fn(*args, **kwargs):
        chosen = kwargs[arg_name] if arg_name in kwargs else args[arg_index] if arg_index < len(args) else default
        return (if_true if chosen else if_false)(*args, **kwargs)

    fn.__name__, fn.__module__ = func_name or fn.__name__, module_name or fn.__module__
    return fn


def _copy_to_script_wrapper(fn):
    """fn itself."""
    return fn


