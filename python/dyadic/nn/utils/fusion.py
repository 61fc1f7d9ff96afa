"""Layers with the batch norm behind them folded into their weights, for inference."""
import copy

from ..._dyadic import Parameter, ones_like, rsqrt, zeros_like
from ...autograd import no_grad

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


@no_grad()
def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """(weight, bias) of a convolution that gives what the batch norm makes of the old one's results."""
    bias = zeros_like(bn_rm) if conv_b is None else conv_b
    scale = (ones_like(bn_rm) if bn_w is None else bn_w) * rsqrt(bn_rv + bn_eps)
    shift = zeros_like(bn_rm) if bn_b is None else bn_b
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
    bias = ((bias - bn_rm) * scale + shift).to(bias.dtype)
    return Parameter(weight, conv_w.requires_grad), Parameter(bias, conv_w.requires_grad if conv_b is None else conv_b.requires_grad)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """fuse_conv_bn_weights of a linear layer."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def _fused(layer, norm, transpose):
    if layer.training or norm.training:
        raise AssertionError("Fusion only for eval!")
    made = copy.deepcopy(layer)
    made.weight, made.bias = fuse_conv_bn_weights(
        layer.weight, layer.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias, transpose
    )
    return made


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A convolution that computes bn(conv(x)); both in eval mode."""
    return _fused(conv, bn, transpose)


def fuse_linear_bn_eval(linear, bn):
    """A linear layer that computes bn(linear(x)); both in eval mode."""
    return _fused(linear, bn, False)
