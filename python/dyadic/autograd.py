"""Recording on and off, gradients as values, and their check against finite differences."""
import functools

from ._dyadic import _grad as grad
from ._dyadic import _gradcheck as gradcheck
from ._dyadic import _set_grad_enabled

__all__ = ["enable_grad", "grad", "gradcheck", "inference_mode", "no_grad", "set_grad_enabled"]


class Scope:
    """A context manager that is a decorator too; each call of the decorated function enters a scope of its own."""

    def __call__(self, function):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            with self._again():
                return function(*args, **kwargs)

        return inside

    def _again(self):
        return type(self)()


class _GradMode(Scope):
    _mode: bool

    def __new__(cls, function=None):
        scope = super().__new__(cls)
        return scope if function is None else scope(function)

    def __enter__(self):
        self._before = _set_grad_enabled(self._mode)

    def __exit__(self, *exc):
        _set_grad_enabled(self._before)


class no_grad(_GradMode):
    """Nothing is recorded for backward inside. A context manager or a decorator."""

    _mode = False


class enable_grad(_GradMode):
    """Operations are recorded again, inside of no_grad."""

    _mode = True


inference_mode = no_grad


class set_grad_enabled:
    """Recording on or off: from now on, or inside of a with statement."""

    def __init__(self, mode):
        self._before = _set_grad_enabled(mode)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        _set_grad_enabled(self._before)
