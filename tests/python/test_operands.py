"""Kernels of gradients are callable by name: operands that do not belong together are refused, not read beyond their ends."""
import pytest

import dyadic as dy

ops = dy._dyadic._parts


def r(*sizes, dtype=dy.float32):
    return dy.randn(sizes, dtype=dtype)


i64 = dy.int64
BAD = [
    lambda: ops.lstm_scan_backward(r(3, 2, 5), None, None, r(20, 5), r(2, 5), r(3, 2, 5), r(1, 2, 20)),
    lambda: ops.lstm_scan_backward(r(3, 2, 4), None, None, r(20, 5), r(2, 5), r(3, 2, 5), r(3, 2, 20)),
    lambda: ops.gru_scan_backward(None, r(4, 1, 12), r(3), r(1, 3), r(4, 1, 3), r(4, 1, 12)),
    lambda: ops.gru_scan_backward(None, r(4, 1, 12), r(9, 3), r(1, 3), r(4, 1, 3), r(4, 1)),
    lambda: ops.attention_backward(r(1, 1, 3, 4), r(1, 1, 3, 4), r(1, 1, 5, 4), r(1, 1, 5, 4), r(1, 1, 3, 4), r(1, 1, 2), False, 1.0),
    lambda: ops.attention_backward(r(2, 4), r(1, 1, 3, 4), r(1, 1, 5, 4), r(1, 1, 5, 4), r(1, 1, 3, 4), r(1, 1, 3), False, 1.0),
    lambda: ops.packed_attention_backward(r(2, 5, 2, 4), r(2, 5, 3, 2, 4), r(2, 5, 2, 4), r(2, 5, 2), True),
    lambda: ops.cross_entropy_loss_backward(r(0), r(4, 5), dy.zeros(4, dtype=i64), r(4), 1, -100),
    lambda: ops.cross_entropy_loss_backward(r(), r(4, 5), dy.full([4], 5), r(4), 1, -100),
    lambda: ops.cross_entropy_loss_backward(r(), r(4, 5), dy.zeros(3, dtype=i64), r(4), 1, -100),
    lambda: ops.embedding_backward(r(2, 4, 3), dy.zeros(2, 3, 4, dtype=i64), 5),
    lambda: ops.embedding_backward(r(2, 3), dy.tensor([0, 5]), 5),
    lambda: ops.embedding_backward(r(2, 3), dy.tensor([0.0, 1.0]), 5),
    lambda: ops.softmax_backward(r(3), r(3, 5), 1, True),
    lambda: ops.native_layer_norm(r(3, 8), 5, None, None, 1e-5),
    lambda: ops.native_layer_norm(r(3, 8), 8, r(7), None, 1e-5),
    lambda: ops.native_layer_norm_backward(r(3, 8), r(3, 8), r(8), r(2), r(3), 8, True),
    lambda: ops.native_layer_norm_backward(r(3, 8), r(3, 8), r(8), r(3, dtype=dy.float64), r(3), 8, True),
    lambda: ops.native_channel_norm(r(2, 4, 3), r(3), None, 0, 1e-5),
    lambda: ops.native_channel_norm_backward(r(2, 4), r(2, 4, 3), r(4), r(4), r(4), 0, True),
    lambda: ops.native_channel_norm_backward(r(2, 4, 3), r(2, 4, 3), r(4), r(4), r(4), 3, True),
    lambda: dy._dyadic.copy(r(2, 3), r(0, 3)),
    lambda: ops.search_rows(dy.arange(3), r(3), False, False),
    lambda: ops.resample_backward(r(1, 3, 2), 1, 5, [4, 3, 2, 1 << 62, 1, 0]),
    lambda: ops.resample(r(1, 3, 2), 1, 5, [4]),
    lambda: dy.pixel_shuffle(r(1, 8, 2, 2), 1 << 40),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(BAD)))
def test_refused(i):
    with pytest.raises((RuntimeError, TypeError, IndexError)):
        BAD[i]()


@pytest.mark.parametrize("wide", ["input", "weight", "bias"])
def test_norms_of_mixed_dtypes(wide):
    """f64 beside narrower numbers is refused, as in PyTorch; f32 parameters with a bf16 input are not."""
    F = dy.nn.functional
    x, w, b = (r(*s, dtype=dy.float64 if n == wide else dy.float32) for n, s in (("input", (2, 6)), ("weight", (6,)), ("bias", (6,))))
    for call in (
        lambda: F.layer_norm(x, [6], w, b),
        lambda: F.group_norm(x, 2, w, b),
        lambda: F.batch_norm(x, None, None, w, b, True),
    ):
        with pytest.raises(TypeError, match="dtypes differ"):
            call()
    half = F.layer_norm(x.bfloat16(), [6], w.float(), b.float())
    assert half.dtype == dy.bfloat16 and half.isfinite().all()
