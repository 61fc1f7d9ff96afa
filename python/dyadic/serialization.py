"""save and load, and which classes load may make of what a file holds besides plain data."""
import os
from collections.abc import Callable
from typing import TypeAlias

from ._dyadic import device
from ._serialization import load, save

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]
MAP_LOCATION: TypeAlias = Callable | device | str | dict[str, str] | None  # of load
FILE_LIKE: TypeAlias = str | os.PathLike
_safe = {}  # (module, name): the class or function


def _place(entry):
    """((module, name), value) of a class or function, or of a pair of it and its name in files."""
    value, path = entry if isinstance(entry, tuple) else (entry, f"{entry.__module__}.{entry.__qualname__}")
    module, _, name = path.rpartition(".")
    return (module, name), value


def add_safe_globals(safe_globals):
    """Classes and functions that load may call with weights_only=True for what a file says is made by them."""
    _safe.update(map(_place, safe_globals))


def get_safe_globals():
    """Those that were added."""
    return list(_safe.values())


def clear_safe_globals():
    """None of them from now on."""
    _safe.clear()


class safe_globals:
    """add_safe_globals for the time of a with statement."""

    def __init__(self, safe_globals):
        self._added = list(safe_globals)

    def __enter__(self):
        self._before = dict(_safe)
        add_safe_globals(self._added)

    def __exit__(self, *exc):
        _safe.clear()
        _safe.update(self._before)


def _names():
    """Of all that was added, with dots."""
    return [f"{module}.{name}" for module, name in _safe]


def _find(module, name):
    """What was added by this name, or None."""
    return _safe.get((module, name))
