"""linear_cross_entropy in bands of rows: the values and gradients of the whole, without its logits."""
import itertools

import dyadic as dy
import pytest
from dyadic import nn
from dyadic.nn import functional as F


def both(reduction="mean", rows=37, chunk=8, dtype=dy.float64, probabilities=False, **kwargs):
    """Loss and gradients, whole and in bands."""
    dy.manual_seed(3)
    x, w, b = (dy.randn(*shape, dtype=dy.float64).to(dtype).requires_grad_() for shape in ((rows, 6), (11, 6), (11,)))
    target = dy.randn(rows, 11, dtype=dy.float64).softmax(1).to(dtype) if probabilities else dy.randint(0, 11, (rows,))
    if not probabilities:
        target[2] = kwargs.get("ignore_index", -100)
    factor = dy.rand(rows, dtype=dy.float64).to(dtype) if reduction == "none" else 1
    results = []
    for options in (None, nn.LinearCrossEntropyOptions(batch_chunk_size=chunk)):
        loss = F.linear_cross_entropy(x, w, target, linear_bias=b, reduction=reduction, options=options, **kwargs)
        results.append([loss, *dy.autograd.grad((loss * factor).sum(), [x, w, b])])
    return results


@pytest.mark.parametrize("reduction, smoothing, weighted, probabilities", list(itertools.product(["mean", "sum", "none"], [0, 0.1], [False, True], [False, True])))
def test_bands_are_the_whole(reduction, smoothing, weighted, probabilities):
    weight = dy.linspace(0.5, 2, 11, dtype=dy.float64) if weighted else None
    for a, b in zip(*both(reduction, label_smoothing=smoothing, weight=weight, probabilities=probabilities)):
        assert a.shape == b.shape and a.dtype == b.dtype
        dy.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_bands_of_any_size():
    for chunk in (1, 36, 37, 1000):
        for a, b in zip(*both(chunk=chunk)):
            dy.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)


def test_sums_of_short_floats_are_wide():
    whole, bands = both("sum", rows=4000, chunk=64, dtype=dy.bfloat16)
    wide, _ = both("sum", rows=4000, dtype=dy.float64)
    assert bands[0].dtype == dy.bfloat16
    assert abs(bands[0].item() / wide[0].item() - 1) < 0.01


def test_other_ignored_labels_and_all_of_them():
    for a, b in zip(*both(ignore_index=4)):
        dy.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
    x, w = dy.randn(5, 6), dy.randn(11, 6)
    none = F.linear_cross_entropy(x, w, dy.full((5,), -100), options=nn.LinearCrossEntropyOptions())
    assert none.isnan().item()  # as cross_entropy's mean of nothing


def peak_of(options):
    x, w = dy.randn(2048, 16, requires_grad=True), dy.randn(4096, 16, requires_grad=True)
    target = dy.randint(0, 4096, (2048,))
    dy.reset_peak_memory_stats()
    before = dy.memory_allocated()
    F.linear_cross_entropy(x, w, target, options=options).backward()
    return dy.max_memory_allocated() - before


def test_the_logits_are_never_whole():
    logits = 2048 * 4096 * 4
    assert peak_of(None) > logits
    assert peak_of(nn.LinearCrossEntropyOptions(batch_chunk_size=128)) < logits / 4


def test_the_module_and_what_has_no_bands():
    m = nn.LinearCrossEntropyLoss(6, 11, bias=True, options=nn.LinearCrossEntropyOptions(batch_chunk_size=4))
    x, target = dy.randn(10, 6), dy.randint(0, 11, (10,))
    dy.testing.assert_close(m(x, target), F.cross_entropy(m.linear(x), target))
    with pytest.warns(UserWarning, match="the logits are made whole"):
        one = F.linear_cross_entropy(x[0], m.linear.weight, target[0], options=m.options)
    dy.testing.assert_close(one, F.cross_entropy(F.linear(x[0], m.linear.weight), target[0]))
    with pytest.raises(ValueError, match="1 row at least; batch_chunk_size is 0"):
        nn.LinearCrossEntropyOptions(batch_chunk_size=0)
