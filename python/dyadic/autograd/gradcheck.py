"""Gradients against finite differences."""
from .. import _dyadic
from .._dyadic import Tensor
from .._ignored import ignored as _ignored

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


def _tuple(tensors):
    return (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)


def _gradient_of(func, count):
    """The gradient of func as a function of its inputs, `count` of them, and of incoming gradients."""

    def gradient(*given):
        inputs = [x for x in given[:count] if isinstance(x, Tensor) and x.requires_grad]
        return _dyadic._grad(func(*given[:count]), inputs, list(given[count:]), True, True)

    return gradient


def _checked(check, func, inputs, eps, atol, rtol, raise_exception):
    try:
        return check(*_in_reals(func, inputs), eps, atol, rtol)
    except RuntimeError as e:
        if not raise_exception:
            return False
        if type(e) is RuntimeError and str(e).startswith("grad"):
            raise GradcheckError(str(e)) from None
        raise


_BITS = "gradients are the same bits in every run, of floats alone and of dense tensors"
_BATCHES = "batches of gradients and forward differentiation are backward passes, which are checked"


@_ignored("nondet_tol", "check_undefined_grad", "check_grad_dtypes", "check_backward_ad", "fast_mode", "masked", why=_BITS)
@_ignored("check_batched_grad", "check_batched_forward_grad", "check_forward_ad", why=_BATCHES)
def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked=None,
):
    """Compares the gradient of func(*inputs), float64 or complex128, with central differences; a GradcheckError says where they differ
    (False without raise_exception)."""
    return _checked(_dyadic._gradcheck, func, inputs, eps, atol, rtol, raise_exception)


@_ignored("nondet_tol", "check_undefined_grad", "check_grad_dtypes", "gen_non_contig_grad_outputs", "fast_mode", "masked", why=_BITS)
@_ignored("check_batched_grad", "check_fwd_over_rev", "check_rev_over_rev", why=_BATCHES)
def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    gen_non_contig_grad_outputs=False,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_fwd_over_rev=False,
    check_rev_over_rev=True,
    fast_mode=False,
    masked=False,
):
    """gradcheck of the gradient of func(*inputs), as a function of the inputs and of the incoming gradients: grad_outputs, or random ones."""
    if grad_outputs is not None:
        inputs, seeds = _tuple(inputs), _tuple(grad_outputs)
        return gradcheck(_gradient_of(func, len(inputs)), inputs + seeds, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
    return _checked(_dyadic._gradgradcheck, func, inputs, eps, atol, rtol, raise_exception)
