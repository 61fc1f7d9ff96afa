"""Dyadic: tensors, training and quantization in which every byte, FLOP and rounding error is accounted for.

The functions and methods of this package are made from the op records of the C++ library: help(dyadic.softmax) shows a record's
signature and documentation.
"""
from ._dyadic import *  # noqa: F401,F403  ops, dtypes, constructors: computed there, listed nowhere
from ._dyadic import __version__
from . import _signatures  # noqa: F401
from ._size import Size
from . import amp, autograd, backends, compiler, cpu, cuda, einops, fft, func, linalg, nn, optim, random, special, train, utils, version
from ._construct import TYPES as _TYPES
from ._construct import as_tensor, asarray, scalar_tensor
from ._default_dtype import default_dtype
from ._functions import *  # noqa: F401,F403
from ._more_functions import *  # noqa: F401,F403
from ._overloads import (
    allclose,
    arange,
    bucketize,
    cross,
    einsum,
    equal,
    nonzero,
    randint,
    repeat_interleave,
    std,
    std_mean,
    tensor_split,
    tensordot,
    unique,
    unique_consecutive,
    var,
    var_mean,
)
from ._overloads import all_ as all
from ._overloads import any_ as any
from ._random import bernoulli, normal, poisson, randint_like
from ._seed import seed_everything
from ._pretrained import LoraConfig, from_pretrained
from ._serialization import load, save
from ._torch_names import *  # noqa: F401,F403
from ._storage import TypedStorage, UntypedStorage, frombuffer, is_storage, memmap
from .amp import GradScaler, autocast, is_autocast_available
from .amp.switches import *  # noqa: F401,F403
from .compiler import compile
from .func import vmap
from .nn.functional import conv1d, conv2d, conv3d
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from .autograd.grad_mode import is_inference_mode_enabled
from . import _copying  # noqa: F401
from . import _foreach
from . import _einops as _einops_backend
from . import _other_names

_einops_backend.register()
_other_names.register()
globals().update(_TYPES)

_LATER = """
__config__ _dynamo _inductor _utils accelerator array_api distributed distributions evaluate functional hub jit mps multiprocessing overrides quant
serialization signal storage study testing transformers types xpu
""".split()  # modules that are imported when they are asked for


def __getattr__(name):
    if name in _LATER:
        import importlib

        return importlib.import_module("." + name, __name__)
    if name.startswith(_foreach.PREFIX):
        return _foreach.foreach(name)
    raise AttributeError(f"module 'dyadic' has no attribute '{name}'")
