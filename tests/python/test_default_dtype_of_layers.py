"""Parameters and buffers are made in the default dtype, unless another is given."""
import pytest

import dyadic as dy
from dyadic import nn

MADE = [
    lambda **o: nn.Linear(2, 2, **o),
    lambda **o: nn.Conv2d(1, 1, 1, **o),
    lambda **o: nn.ConvTranspose1d(1, 1, 1, **o),
    lambda **o: nn.BatchNorm1d(2, **o),
    lambda **o: nn.InstanceNorm2d(2, affine=True, track_running_stats=True, **o),
    lambda **o: nn.GroupNorm(1, 2, **o),
    lambda **o: nn.LayerNorm(2, **o),
    lambda **o: nn.RMSNorm(2, **o),
    lambda **o: nn.LSTM(2, 2, **o),
    lambda **o: nn.GRUCell(2, 2, **o),
    lambda **o: nn.Embedding(2, 2, **o),
    lambda **o: nn.EmbeddingBag(2, 2, **o),
    lambda **o: nn.Bilinear(2, 2, 2, **o),
    lambda **o: nn.PReLU(**o),
    lambda **o: nn.MultiheadAttention(2, 1, add_bias_kv=True, **o),
    lambda **o: nn.TransformerDecoderLayer(2, 1, 2, **o),
    lambda **o: nn.Transformer(2, 1, 1, 1, 2, **o),
    lambda **o: nn.LazyLinear(2, **o),
    lambda **o: nn.LazyBatchNorm1d(**o),
]


def dtypes(m):
    return {t.dtype for t in (*m.parameters(), *m.buffers()) if t.is_floating_point()}


@pytest.mark.parametrize("made", MADE, ids=lambda made: type(made()).__name__)
def test_of_every_layer(made):
    dy.set_default_dtype(dy.float64)
    try:
        assert dtypes(made()) == {dy.float64}
        assert dtypes(made(dtype=dy.float32)) == {dy.float32}
    finally:
        dy.set_default_dtype(dy.float32)
    assert dtypes(made()) == {dy.float32}
