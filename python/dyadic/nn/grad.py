"""Gradients of convolutions by their names: of the input, from the weight and the result's gradient; of the weight, from the input."""
from .. import _dyadic
from ..autograd import enable_grad, grad
from . import functional as F


def _of(conv, input, weight, wanted, grad_output, options):
    with enable_grad():
        output = conv(input, weight, None, *options)
        return grad(output, wanted, grad_output)[0]


def _input(n):
    def gradient(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        input = _dyadic.zeros(list(input_size), dtype=weight.dtype).requires_grad_()
        return _of(getattr(F, f"conv{n}d"), input, weight.detach(), input, grad_output, (stride, padding, dilation, groups))

    gradient.__name__, gradient.__doc__ = f"conv{n}d_input", f"The gradient of conv{n}d's input, of input_size."
    return gradient


def _weight(n):
    def gradient(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        weight = _dyadic.zeros(list(weight_size), dtype=input.dtype).requires_grad_()
        return _of(getattr(F, f"conv{n}d"), input.detach(), weight, weight, grad_output, (stride, padding, dilation, groups))

    gradient.__name__, gradient.__doc__ = f"conv{n}d_weight", f"The gradient of conv{n}d's weight, of weight_size."
    return gradient


conv1d_input, conv2d_input, conv3d_input = map(_input, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(_weight, (1, 2, 3))
