"""Modules. Derive from Module, assign parameters and modules as attributes in __init__, and write forward."""
from .._dyadic import (
    GELU,
    Dropout,
    Embedding,
    LayerNorm,
    Linear,
    Module,
    ModuleList,
    Parameter,
    ReLU,
    Sequential,
)
from . import _hooks, _state, functional, init, utils
from ._layers import classes as _classes
from ._module import *  # noqa: F403
from .containers import Identity, ModuleDict, ParameterDict, ParameterList
from .padding import *  # noqa: F403
from .transformer import Transformer, TransformerDecoder, TransformerEncoder

globals().update(_classes)
