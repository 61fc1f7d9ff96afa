"""PyTorch's places of the layers: what is here is dyadic.nn's."""
import sys
import types

from .. import _layers
from .. import __dict__ as _nn
from .._layers import bases

globals().update({name: value for name, value in _nn.items() if isinstance(value, type)})
globals().update(bases)
for _name in ("activation batchnorm container conv dropout embedding instancenorm linear loss module normalization pooling rnn sparse "
              "transformer upsampling").split():
    _module = types.ModuleType(f"{__name__}.{_name}", f"PyTorch's {_name}: dyadic.nn's layers.")
    _module.__dict__.update({name: value for name, value in globals().items() if isinstance(value, type)})
    globals()[_name] = sys.modules[_module.__name__] = _module
