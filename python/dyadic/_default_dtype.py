"""The dtype of floating-point numbers that ask for none, for the length of a block."""
from ._dyadic import _DefaultDType
from .autograd import Scope


class default_dtype(Scope):
    """Inside, in this thread, what set_default_dtype(d) would set for all. A context manager or a decorator."""

    def __init__(self, d):
        self._dtype = d
        self._scope = _DefaultDType(d)

    def _again(self):
        return default_dtype(self._dtype)

    def __enter__(self):
        self._scope.enter()

    def __exit__(self, *exc):
        self._scope.exit()
