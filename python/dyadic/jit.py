"""Decorators of code that PyTorch may translate. Nothing is translated here: functions and modules run as the Python that they are."""
from ._ignored import ignored as _ignored


@_ignored("optimize", "example_inputs", why="nothing is translated")
def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """obj itself."""
    return obj


def script_if_tracing(fn):
    """fn itself: nothing is traced."""
    return fn


def export(fn):
    """fn itself."""
    return fn


@_ignored("kwargs", why="nothing is translated")
def ignore(drop=False, **kwargs):
    """A decorator that changes nothing."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn):
    """fn itself."""
    return fn


@_ignored("the_type", why="types are for readers")
def annotate(the_type, the_value):
    """the_value: types are for readers."""
    return the_value


def is_scripting():
    """False: Python runs."""
    return False


def is_tracing():
    """False: Python runs."""
    return False


def __getattr__(name):
    if name == "Final":
        from typing import Final

        return Final
    raise AttributeError(f"module 'dyadic.jit' has no attribute '{name}'")
