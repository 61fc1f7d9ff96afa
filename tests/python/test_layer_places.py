"""device and dtype by position, where PyTorch's layers have them."""
import inspect

import pytest

import dyadic as dy
from dyadic import nn

NORM = (1e-5, 0.1, True, True)
CONV = (1, 1, 1, 1, 0, 1, 1, True, "zeros")
TRANSPOSED = (1, 1, 1, 1, 0, 0, 1, True, 1, "zeros")
ENCODER = (2, 1, 4, 0.1, "relu", 1e-5, False, False, True)
AHEAD = {
    "Linear": (2, 3, True),
    "Bilinear": (2, 2, 2, True),
    "LayerNorm": (2, 1e-5, True, True),
    "RMSNorm": (2, 1e-5, True),
    "GroupNorm": (1, 2, 1e-5, True),
    "PReLU": (1, 0.25),
    "Embedding": (3, 2, None, None, 2.0, False, False, None, False),
    "EmbeddingBag": (3, 2, None, 2.0, False, "mean", False, None, False, None),
    "LSTM": (2, 2, 2, True, False, 0.0, False, 0),
    "RNNCell": (2, 2, True, "tanh"),
    "LSTMCell": (2, 2, True),
    "GRUCell": (2, 2, True),
    "MultiheadAttention": (2, 1, 0.0, True, False, False, None, None, False),
    "TransformerEncoderLayer": ENCODER,
    "TransformerDecoderLayer": ENCODER,
    "Transformer": (2, 1, 1, 1, 4, 0.1, "relu", None, None, 1e-5, False, False, True),
    "AdaptiveLogSoftmaxWithLoss": (2, 4, [2], 4.0, False),
    "LazyLinear": (2, True),
} | {name + rank: arguments for rank in ("1d", "2d", "3d") for name, arguments in {
    "Conv": CONV,
    "ConvTranspose": TRANSPOSED,
    "LazyConv": CONV[1:],
    "LazyConvTranspose": TRANSPOSED[1:],
    "BatchNorm": (2, *NORM),
    "InstanceNorm": (2, *NORM),
    "LazyBatchNorm": NORM,
    "LazyInstanceNorm": NORM,
}.items()}


def tensors(m):
    return [t for t in (*m.parameters(), *m.buffers()) if t.is_floating_point()]


@pytest.mark.parametrize("name", AHEAD)
def test_behind_the_other_arguments(name):
    made = getattr(nn, name)
    on_meta = made(*AHEAD[name], "meta")
    assert {t.device.type for t in tensors(on_meta)} == {"meta"}
    assert {t.dtype for t in tensors(made(*AHEAD[name], None, dy.float64))} == {dy.float64}
    with pytest.raises(TypeError):
        made(*AHEAD[name], None, dy.float64, 1, 1)
    with pytest.raises(TypeError):
        made(*AHEAD[name], "cpu", device="cpu")


@pytest.mark.parametrize("name", ["EmbeddingBag", "LazyConv2d", "LazyBatchNorm1d", "BatchNorm2d", "ConvTranspose2d", "LSTM"])
def test_the_signature_is_in_that_order(name):
    of = inspect.signature(getattr(nn, name)).parameters.values()
    positional = [p.name for p in of if p.kind is not p.KEYWORD_ONLY]
    assert len(positional) == len(AHEAD[name]) + 2 and positional[-2:] == ["device", "dtype"]
