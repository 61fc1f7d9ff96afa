"""Decorators of code that PyTorch may translate. Nothing is translated here: functions and modules run as the Python that they are."""
from .._absent import names_of
from .._ignored import ignored as _ignored


@_ignored("optimize", "example_inputs", why="nothing is translated")
def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """obj itself."""
    return obj


def script_if_tracing(fn):
    """fn itself: nothing is traced."""
    return fn


_script_if_tracing = script_if_tracing


@_ignored("example_inputs", "options", why="nothing is translated")
def trace(func, example_inputs=None, **options):
    """func itself: it may take other ways for other inputs, which a trace would not."""
    return func


def interface(obj):
    """obj itself."""
    return obj


def _overload(func):
    """func itself: the last of several is the function."""
    return func


_overload_method = _overload


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


def _final(name):
    if name == "Final":
        from typing import Final

        return Final
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


__getattr__ = names_of(__name__, _final)
