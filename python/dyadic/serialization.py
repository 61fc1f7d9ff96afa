"""save and load, and which classes load may make of what a file holds besides plain data."""
import json
import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from . import _dyadic
from ._dyadic import device
from ._serialization import load, save

__all__ = ["TensorFile", "add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "open", "safe_globals", "save"]
MAP_LOCATION: TypeAlias = Callable | device | str | dict[str, str] | None  # of load
FILE_LIKE: TypeAlias = str | os.PathLike
_safe = {}  # (module, name): the class or function


class TensorFile(Mapping):
    """The tensors of a file by their names, each read when it is asked for: serialization.open. What lies in the file as in memory is mapped,
    and not to be written."""

    def __init__(self, path):
        self._file = _dyadic._open_tensors(os.fspath(path))
        self.kind = self._file.kind  # "safetensors", "gguf", "torch", "npz", "npy"
        self.metadata = json.loads(self._file.metadata())  # what else the file says

    def __getitem__(self, name):
        if name not in self:
            raise KeyError(name)
        return self._file.get(name)

    def __contains__(self, name):
        return isinstance(name, str) and self._file.has(name)

    def __iter__(self):
        return iter(self._file.names())

    def __len__(self):
        return len(self._file.names())


def open(path):
    """A file of tensors of any kind (safetensors or its index, GGUF, PyTorch's, .npy, .npz), or a model's folder, as TensorFile."""
    return TensorFile(path)


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
