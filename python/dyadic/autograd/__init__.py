"""Recording on and off, gradients as values, and their check against finite differences."""
import functools

from .._dyadic import _attach_function, _set_grad_enabled, is_grad_enabled
from .._dyadic import _backward as backward
from .._dyadic import _grad as grad
from .._dyadic import _gradcheck as gradcheck
from .._dyadic import _gradgradcheck as gradgradcheck

__all__ = [
    "Function",
    "backward",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
]


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


class FunctionCtx:
    """What a Function's forward leaves for its backward."""

    def __init__(self, needs_input_grad):
        self.needs_input_grad = needs_input_grad
        self._saved = ()
        self._versions = ()
        self._no_gradient = ()

    def save_for_backward(self, *tensors):
        self._saved = tensors
        self._versions = tuple(t._version if t is not None else 0 for t in tensors)

    def mark_non_differentiable(self, *tensors):
        """These outputs get no history."""
        self._no_gradient = tuple(id(t) for t in tensors)

    @property
    def saved_tensors(self):
        for i, (t, version) in enumerate(zip(self._saved, self._versions)):
            if t is not None and t._version != version:
                raise RuntimeError(
                    f"saved_tensors: a tensor needed for backward was overwritten: saved tensor {i} was written in place "
                    "after the forward; clone it before writing"
                )
        return self._saved


class Function:
    """A function with a gradient of its own: subclass it, write forward(ctx, *args) and backward(ctx, *grad_outputs) as static
    methods, call it by apply. forward runs unrecorded; backward returns a gradient (or None) for each argument of forward.
    """

    @classmethod
    def apply(cls, *args):
        from .._dyadic import Tensor

        tensors = [a for a in args if isinstance(a, Tensor)]
        needed = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        ctx = FunctionCtx(needed)
        with no_grad():
            result = cls.forward(ctx, *args)
        if not (is_grad_enabled() and any(needed)):
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        differentiable = [t for t in outputs if isinstance(t, Tensor) and id(t) not in ctx._no_gradient]

        def backward(*gradients):
            given = cls.backward(ctx, *_in_place_of(outputs, differentiable, gradients))
            given = given if isinstance(given, tuple) else (given,)
            if len(given) < len(args) or any(g is not None for g in given[len(args) :]):
                raise RuntimeError(
                    f"{cls.__name__}: its backward returns the wrong number of gradients: {len(given)} for {len(args)} arguments"
                )
            return [g for a, g in zip(args, given) if isinstance(a, Tensor)]

        attached = _attach_function(cls.__name__, tensors, differentiable, backward)
        results = _in_place_of(outputs, differentiable, attached, keep=True)
        return tuple(results) if isinstance(result, tuple) else results[0]

    @staticmethod
    def forward(ctx, *args):
        raise NotImplementedError("Function: forward(ctx, *args) is not written")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError("Function: backward(ctx, *grad_outputs) is not written")


def _in_place_of(outputs, some, values, keep=False):
    """`outputs` with those that are in `some` replaced by `values`, in order; others stay (keep) or become None."""
    values = iter(values)
    chosen = {id(t) for t in some}
    return [next(values) if id(t) in chosen else t if keep else None for t in outputs]


from . import functional  # noqa: E402  it needs the names above


def Variable(data, requires_grad=False):
    """data itself: tensors have been variables for long."""
    return data.requires_grad_() if requires_grad else data
