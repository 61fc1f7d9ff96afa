"""Dyadic: tensors, training and quantization in which every byte, FLOP and rounding error is accounted for.

The functions and methods of this package are made from the op records of the C++ library: help(dyadic.softmax) shows a record's
signature and documentation.
"""
from ._dyadic import *  # noqa: F401,F403  ops, dtypes, constructors: computed there, listed nowhere
from ._dyadic import __version__
from . import _signatures  # noqa: F401
from ._size import Size
from . import amp, autograd, compiler, cuda, einops, fft, func, linalg, nn, optim, random, special, utils, version
from ._checks import *  # noqa: F401,F403
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
from ._ops import ops
from ._serialization import load, save
from ._torch_names import *  # noqa: F401,F403
from ._storage import TypedStorage, UntypedStorage, from_file, frombuffer, is_storage, memmap
from .amp import GradScaler, autocast, is_autocast_available
from .amp.switches import *  # noqa: F401,F403
from ._plan import plan
from .compiler import compile
from .func import vmap
from .nn.functional import conv1d, conv2d, conv3d
from .nn.functional import grouped_mm as _grouped_mm
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from .autograd.grad_mode import is_inference_mode_enabled
from . import _copying, _own_classes, _shared  # noqa: F401
from . import _absent, _foreach
from . import _einops as _einops_backend
from . import _other_names

_einops_backend.register()
_other_names.register()
_absent.register()
globals().update(_TYPES)

TensorType = Tensor  # for annotations
_LATER = """
_C __config__ _dynamo _higher_order_ops _inductor _jit_internal _prims_common _utils accelerate accelerator array_api backends cpu distill
distributed distributions evaluate functional futures fx hub jit library mps multiprocessing nested overrides profiler prune quant
quasirandom serialization signal sparse storage study testing torch_version train transformers types xpu
""".split()  # modules that are imported when they are asked for
_NAMES_LATER = {"finetune": "_finetune", "from_pretrained": "_pretrained", "KVFormats": "_pretrained", "LoraConfig": "_pretrained"}
_NAMES_LATER |= {"sparse_coo_tensor": "sparse", "sparse_csr_tensor": "sparse", "smm": "sparse", "spmm": "sparse"}
_NAMES_LATER |= {"cond": "_higher_order_ops", "while_loop": "_higher_order_ops"}  # and names out of such modules


def as_torch():
    """From now on `import torch` is this package, in all that runs in this process: python -m dyadic script.py begins so."""
    from ._as_torch import as_torch

    return as_torch()


def __getattr__(name):
    if name in _LATER or name in _absent._PLACES:
        import importlib

        return importlib.import_module("." + name, __package__)
    if name.startswith(_foreach.PREFIX):
        return _foreach.foreach(name)
    if name in _NAMES_LATER:
        import importlib

        globals()[name] = value = getattr(importlib.import_module("." + _NAMES_LATER[name], __package__), name)
        return value
    if (absent := _absent.placeholder("", name)) is not None:
        return absent
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


__all__ = [name for name in globals() if not name.startswith("_")] + ["backends", "cpu", "train", *_NAMES_LATER]
