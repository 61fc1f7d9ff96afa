"""What training loops do to gradients and parameters."""
import functools
import math
import warnings

from ... import _dyadic, linalg
from ..._dyadic import Tensor, _clip_grad_norm_, _clip_grad_value_, _total_norm, tensor
from ...autograd import no_grad
from . import fusion, parametrizations, parametrize, prune, rnn, stateless
from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm
from ..._ignored import ignored as _ignored

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_grads_with_norm_", "convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format", "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "fusion", "get_total_norm", "parameters_to_vector", "parametrizations", "parametrize", "prune", "remove_spectral_norm", "remove_weight_norm", "rnn", "skip_init", "spectral_norm", "stateless", "vector_to_parameters", "weight_norm"]


def _list(x):
    return [x] if isinstance(x, Tensor) else list(x)


def _dtype_of(gradients):
    """The dtype of their norm."""
    common = functools.reduce(_dyadic.promote_types, [g.dtype for g in gradients]) if gradients else _dyadic.get_default_dtype()
    return common.to_real()


@_ignored("foreach", why="there is one way")
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all elements together; for a norm_type that is not positive the norm of the tensors' norms."""
    tensors, norm_type = _list(tensors), float(norm_type)
    if norm_type > 0:
        norm = tensor(_total_norm(tensors, norm_type), dtype=_dtype_of(tensors))
    else:
        each = [linalg.vector_norm(t.detach(), norm_type).to(_dtype_of(tensors)) for t in tensors]
        norm = linalg.vector_norm(_dyadic.stack(each), norm_type) if each else tensor(0.0)
    if error_if_nonfinite and not math.isfinite(norm):
        raise RuntimeError(f"get_total_norm: the norm is {norm}; pass error_if_nonfinite=False to go on")
    return norm


@_ignored("foreach", why="there is one way")
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales the gradients in place so that their common norm is at most max_norm; returns the norm they had. Without a pass
    over memory of its own: optimizer.step(grad_scale=clip_factor(grad_norm(parameters), max_norm)). Of parameters that are spread
    over ranks (distributed.fsdp) the norm is that of all ranks, each of which calls it.
    """
    parameters, norm_type = _list(parameters), float(norm_type)
    gradients = [p.grad for p in parameters if p.grad is not None]
    if _dyadic._distributed.launched() > 1 and any(map(_dyadic._distributed.is_spread, parameters)):
        if norm_type != 2:
            raise ValueError(f"clip_grad_norm_: norm_type is {norm_type}; of parameters that are spread over ranks there is the 2-norm")
        norm = tensor(_dyadic._distributed.spread_norm(parameters), dtype=_dtype_of(parameters))
        if error_if_nonfinite and not math.isfinite(norm):
            raise RuntimeError(f"clip_grad_norm_: the norm is {norm}; pass error_if_nonfinite=False to go on")
        clip_grads_with_norm_(parameters, max_norm, norm)
        return norm
    if error_if_nonfinite or norm_type < 0:
        norm = get_total_norm(gradients, norm_type, error_if_nonfinite)
    if norm_type >= 0:
        return _clip_grad_norm_(parameters, float(max_norm), norm_type).to(_dtype_of(gradients))
    clip_grads_with_norm_(parameters, max_norm, norm)
    return norm


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """clip_grad_norm_ under its older name."""
    warnings.warn("clip_grad_norm is an older name: use clip_grad_norm_", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@_ignored("foreach", why="there is one way")
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales the gradients in place by max_norm / total_norm where that is below 1: clip_grad_norm_ with a norm that is known."""
    factor = min(float(max_norm) / (float(total_norm) + 1e-6), 1.0)
    for p in _list(parameters):
        if p.grad is not None:
            p.grad.mul_(factor)


@_ignored("foreach", why="there is one way")
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Bounds every element of the gradients by clip_value, in place."""
    _clip_grad_value_(_list(parameters), float(clip_value))


def parameters_to_vector(parameters):
    """All parameters behind each other in one dimension."""
    return _dyadic.cat([p.reshape(-1) for p in parameters])


@no_grad()
def vector_to_parameters(vec, parameters):
    """Copies the parts of a vector into the parameters, in order."""
    parameters = list(parameters)
    total = sum(p.numel() for p in parameters)
    if vec.numel() != total:
        raise ValueError(f"vector_to_parameters: the parameters have {total} elements, the vector has {vec.numel()}")
    at = 0
    for p in parameters:
        p.copy_(vec[at : at + p.numel()].view(p.shape))
        at += p.numel()


def skip_init(module_cls, *args, **kwargs):
    """The module with parameters that nobody has initialized."""
    return module_cls(*args, **{**kwargs, "device": "meta"}).to_empty(device=kwargs.get("device") or "cpu")


@_ignored("memory_format", why="results are dense in the order of their sizes", warn=True)
def convert_conv2d_weight_memory_format(module, memory_format):
    """The module as it is: there is one layout."""
    return module


convert_conv3d_weight_memory_format = convert_conv2d_weight_memory_format
