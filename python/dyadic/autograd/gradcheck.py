"""Gradients against finite differences."""
from .. import _dyadic
from .._dyadic import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient is not what differences say."""


def _in_reals(func, inputs):
    """func and inputs with the real and imaginary parts of complex numbers side by side, as differences need them."""
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    is_complex = [isinstance(x, Tensor) and x.is_complex() for x in inputs]

    def apart(y):
        return _dyadic.view_as_real(y) if isinstance(y, Tensor) and y.is_complex() else y

    def call(*given):
        result = func(*(_dyadic.view_as_complex(x) if c else x for x, c in zip(given, is_complex)))
        return apart(result) if isinstance(result, Tensor) else tuple(map(apart, result))

    leaves = [apart(x.detach()).requires_grad_(x.requires_grad) if c else x for x, c in zip(inputs, is_complex)]
    return call, leaves


def _checked(check, func, inputs, eps, atol, rtol, raise_exception):
    try:
        return check(*_in_reals(func, inputs), eps, atol, rtol)
    except RuntimeError as e:
        if not raise_exception:
            return False
        if type(e) is RuntimeError and str(e).startswith("grad"):
            raise GradcheckError(str(e)) from None
        raise


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, **options):
    """Compares the gradient of func(*inputs), float64 or complex128, with central differences; a GradcheckError says where they differ
    (False without raise_exception). PyTorch's further options are accepted: gradients here are the same bits in every run."""
    return _checked(_dyadic._gradcheck, func, inputs, eps, atol, rtol, raise_exception)


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, **options):
    """gradcheck of the gradient of func(*inputs), as a function of the inputs and of random incoming gradients."""
    return _checked(_dyadic._gradgradcheck, func, inputs, eps, atol, rtol, raise_exception)
