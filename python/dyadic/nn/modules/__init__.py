"""PyTorch's places of the layers: what is here is dyadic.nn's."""
import sys
import types

from .. import _layers
from .. import __dict__ as _nn
from .._layers import bases

globals().update({name: value for name, value in _nn.items() if isinstance(value, type)})
globals().update(bases)
for _name in ("activation adaptive batchnorm channelshuffle container conv distance dropout embedding flatten fold instancenorm lazy linear "
              "loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling").split():
    _module = types.ModuleType(f"{__name__}.{_name}", f"PyTorch's {_name}: dyadic.nn's layers.")
    _module.__dict__.update({name: value for name, value in globals().items() if isinstance(value, type)})
    globals()[_name] = sys.modules[_module.__name__] = _module
from . import utils  # noqa: E402
from .. import _hooks, _state, losses as _losses, transformer as _transformer  # noqa: E402

# What PyTorch has beside layers in these places.
loss._Loss, loss._WeightedLoss = _losses._Loss, _losses._WeightedLoss  # noqa: F821
transformer._get_clones, transformer._get_activation_fn = _transformer._get_clones, _transformer._get_activation_fn  # noqa: F821
linear.NonDynamicallyQuantizableLinear = _nn["Linear"]  # noqa: F821
module._IncompatibleKeys = _state._IncompatibleKeys  # noqa: F821
for _name in ("forward_pre", "forward", "full_backward_pre", "full_backward"):
    _name = f"register_module_{_name}_hook"
    setattr(module, _name, getattr(_hooks, _name))  # noqa: F821
