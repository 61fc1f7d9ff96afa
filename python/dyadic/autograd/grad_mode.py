"""Recording for backward: on and off."""
import functools
import inspect

from .._dyadic import _enter_inference, _leave_inference, _set_grad_enabled, is_inference_mode_enabled

__all__ = ["enable_grad", "inference_mode", "is_inference_mode_enabled", "no_grad", "set_grad_enabled"]


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


class Mode(Scope):
    """A scope for generators too: each of their steps runs inside, and what their caller does between two steps does not."""

    def __call__(self, function):
        if not inspect.isgeneratorfunction(function):
            return super().__call__(function)

        @functools.wraps(function)
        def inside(*args, **kwargs):
            generator = function(*args, **kwargs)
            step, given = generator.send, None
            try:
                while True:
                    try:
                        with self._again():
                            value = step(given)
                    except StopIteration as end:
                        return end.value
                    try:
                        step, given = generator.send, (yield value)
                    except Exception as e:
                        step, given = generator.throw, e
            finally:
                with self._again():
                    generator.close()

        return inside


class _GradMode(Mode):
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


class inference_mode(Mode):
    """no_grad whose new tensors stay out of gradients for good: using one where backward would need it, or writing one outside, is an
    error; clone() gives an ordinary one. inference_mode(False) records, whatever is around it."""

    def __new__(cls, mode=True):
        scope = super().__new__(cls)
        return scope if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode=True):
        self._mode = mode

    def __enter__(self):
        self._before = _enter_inference(self._mode)

    def __exit__(self, *exc):
        _leave_inference(self._before)

    def _again(self):
        return inference_mode(self._mode)


class set_grad_enabled(Mode):
    """Recording on or off: from now on, or inside of a with statement or a decorated function."""

    def __init__(self, mode):
        self._mode = mode
        self._before = _set_grad_enabled(mode)

    def __enter__(self):
        _set_grad_enabled(self._mode)
        return self

    def __exit__(self, *exc):
        _set_grad_enabled(self._before)

    def __call__(self, function):
        _set_grad_enabled(self._before)
        return super().__call__(function)

    def _again(self):
        return set_grad_enabled(self._mode)
