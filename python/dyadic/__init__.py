"""Dyadic: tensors, training and quantization in which every byte, FLOP and rounding error is accounted for.

The functions and methods of this package are made from the op records of the C++ library: help(dyadic.softmax) shows a record's
signature and documentation.
"""
from ._dyadic import *  # noqa: F401,F403  ops, dtypes, constructors: computed there, listed nowhere
from ._dyadic import __version__
from . import amp, autograd, einops, fft, linalg, nn, optim
from ._default_dtype import default_dtype
from ._overloads import allclose, arange, einsum, equal, randint, tensordot, unique, unique_consecutive
from .amp import autocast
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import _einops as _einops_backend

_einops_backend.register()
