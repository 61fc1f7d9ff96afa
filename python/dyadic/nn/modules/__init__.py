"""PyTorch's places of the layers: dyadic.nn's classes, each in the module in which PyTorch has it."""
import sys
import types

from .. import __dict__ as _nn
from .._layers import bases

_PLACES = {
    "activation": "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid LogSoftmax Mish MultiheadAttention "
    "PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold",
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d SyncBatchNorm _BatchNorm _NormBase",
    "channelshuffle": "ChannelShuffle",
    "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d LazyConv2d LazyConv3d LazyConvTranspose1d "
    "LazyConvTranspose2d LazyConvTranspose3d _ConvNd _ConvTransposeNd",
    "distance": "CosineSimilarity PairwiseDistance",
    "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout _DropoutNd",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d _InstanceNorm",
    "lazy": "LazyModuleMixin",
    "linear": "Bilinear Identity LazyLinear Linear",
    "loss": "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss "
    "L1Loss LinearCrossEntropyLoss MSELoss MarginRankingLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss "
    "NLLLoss2d PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss",
    "module": "Module",
    "normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "padding": "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d "
    "ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "pooling": "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d "
    "AvgPool2d AvgPool3d FractionalMaxPool2d FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d "
    "MaxUnpool2d MaxUnpool3d _AdaptiveAvgPoolNd _AdaptiveMaxPoolNd _AvgPoolNd _LPPoolNd _MaxPoolNd _MaxUnpoolNd",
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "sparse": "Embedding EmbeddingBag",
    "transformer": "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder TransformerEncoderLayer",
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
}
_classes = {**{name: value for name, value in _nn.items() if isinstance(value, type)}, **bases}
globals().update(_classes)
for _name, _own in _PLACES.items():
    _module = types.ModuleType(f"{__name__}.{_name}", f"PyTorch's {_name}: dyadic.nn's layers.")
    _module.__dict__.update(_classes)  # modules of PyTorch import many of each other's
    globals()[_name] = sys.modules[_module.__name__] = _module
    for _class in _own.split():
        if _class in _classes:
            _classes[_class].__module__ = _module.__name__
from . import utils  # noqa: E402
from .. import _hooks, _state, losses as _losses, transformer as _transformer  # noqa: E402

# What PyTorch has beside layers in these places.
loss._Loss, loss._WeightedLoss = _losses._Loss, _losses._WeightedLoss  # noqa: F821
transformer._get_clones, transformer._get_activation_fn = _transformer._get_clones, _transformer._get_activation_fn  # noqa: F821
linear.NonDynamicallyQuantizableLinear = _nn["Linear"]  # noqa: F821
module._IncompatibleKeys, module._EXTRA_STATE_KEY_SUFFIX = _state._IncompatibleKeys, "_extra_state"  # noqa: F821
for _name in ("forward_pre", "forward", "full_backward_pre", "full_backward"):
    _name = f"register_module_{_name}_hook"
    setattr(module, _name, getattr(_hooks, _name))  # noqa: F821
