"""The vmaps that a thread is in: their functions see tensors that stand for all entries (func.vmap)."""
import threading
from typing import NamedTuple

from . import _dyadic
from ._dyadic import Tensor

_running = threading.local()  # .levels: the entries of each vmap that runs, the innermost last


def levels():
    """The entries of each vmap that this thread is in, the innermost last."""
    if not hasattr(_running, "levels"):
        _running.levels = []
    return _running.levels


class Info(NamedTuple):
    """What a rule is told of a vmap."""

    batch_size: int
    randomness: str


class Level:
    """While it is entered, what its enter() gives stands for all entries."""

    def __init__(self, count, randomness):
        self.count, self.randomness = count, randomness
        self._entries = _dyadic._Entries(count, randomness)
        levels().append(self)
        self.enter, self.leave, self.holds = self._entries.enter, self._entries.leave, self._entries.holds

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        levels().remove(self)
        self._entries.end()


class Outside:
    """While it is entered, the innermost vmap is not there: the function of a rule sees all its entries."""

    def __enter__(self):
        self._level = levels().pop()
        return self._level

    def __exit__(self, *exc):
        levels().append(self._level)


def differs(leaves):
    """Whether the leaves hold tensors that differ between the entries of the innermost vmap."""
    return bool(levels()) and any(isinstance(x, Tensor) and levels()[-1].holds(x) for x in leaves)
