"""Modules. Derive from Module, assign parameters and modules as attributes in __init__, and write forward."""
from .._dyadic import (
    LayerNorm,
    Linear,
    Module,
    ModuleList,
    Parameter,
    Sequential,
)
from . import _begin, _forward, _hooks, _saving, _state, functional, init, utils
from ._layers import classes as _classes
from ._module import *  # noqa: F403
from ._more import *  # noqa: F403
from .containers import Identity, ModuleDict, ParameterDict, ParameterList
from .embedding import Embedding
from .losses import *  # noqa: F403
from .padding import *  # noqa: F403
from .transformer import Transformer, TransformerDecoder, TransformerEncoder

globals().update(_classes)
from . import modules, parameter  # noqa: E402
from .embedding import EmbeddingBag  # noqa: E402
from .lazy import *  # noqa: E402,F403
from . import _attributes, _conv, _getattr, _inner, _repr, _transformer_layers, attention, common_types, grad, parallel  # noqa: E402
from .parameter import Buffer  # noqa: E402
from .modules import RNNBase, RNNCellBase  # noqa: E402

_forward.settle()
