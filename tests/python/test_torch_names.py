"""What notebooks for PyTorch use beside the ops: functions of other names, arguments and modules; the values are PyTorch's."""
import math

import numpy as np
import pytest

import dyadic as torch
from dyadic import special

F = torch.nn.functional
T = torch.tensor


def test_special():
    x = T([0.25, 0.5])
    for name in ("expit", "gammaln", "psi", "ndtr", "xlog1py", "modified_bessel_i0"):
        assert hasattr(special, name)
    np.testing.assert_allclose(special.expit(x).numpy(), 1 / (1 + np.exp(-x.numpy())), rtol=1e-6)
    np.testing.assert_allclose(special.gammaln(x).numpy(), [math.lgamma(0.25), math.lgamma(0.5)], rtol=1e-6)
    assert x.polygamma(1).tolist() == torch.polygamma(1, x).tolist()


def test_in_place_functions():
    x = T([1.0, 4.0])
    assert torch.negative_(x) is x and x.tolist() == [-1, -4]
    assert torch.clip_(x, -2, 0).tolist() == [-1, -2]
    assert torch.fill_(x, 3).tolist() == [3, 3] and torch.zero_(x).tolist() == [0, 0]
    assert torch.fill(x, 2).tolist() == [2, 2] and x.tolist() == [0, 0]
    assert T([1, 2]).cumsum_(0).tolist() == [1, 3] and T([2.0, 3.0]).cumprod_(0).tolist() == [2, 6]
    y = torch.ones(2, requires_grad=True)
    (y * 1).cumsum_(0).sum().backward()
    assert y.grad.tolist() == [2, 1]
    n = T([5, 6])
    same = n
    n ^= 1
    n <<= 2
    n >>= 1
    assert same is n and same.tolist() == [8, 14]


def test_powers_and_products():
    assert torch.pow(T([2.0]), exponent=3).item() == 8
    assert torch.float_power(T([2, 3]), 2).tolist() == [4, 9] and torch.float_power(2, T([3])).dtype == torch.float64
    z = torch.float_power(T([1j]), 2)
    assert z.dtype == torch.complex128 and abs(z.item() + 1) < 1e-12
    with pytest.raises(RuntimeError, match="float_power_"):
        T([1.0]).float_power_(2)
    assert torch.vander(T([2j]), 3).tolist() == [[-4, 2j, 1]]
    a, b = torch.ones(2, 3), torch.ones(3, 2)
    assert torch.einsum(a, [0, 1], b, [1, 2], [0, 2]).tolist() == [[3, 3], [3, 3]]
    assert torch.einsum(a, [..., 1], [...]).tolist() == [3, 3]
    u, s, v = torch.svd(T([[3.0, 0.0], [4.0, 5.0]]))
    np.testing.assert_allclose((u @ torch.diag(s) @ v.T).numpy(), [[3, 0], [4, 5]], rtol=1e-5, atol=1e-5)
    assert torch.pdist(T([[0.0, 0.0], [3.0, 4.0]])).tolist() == [5]


def test_numbers_that_do_not_fit():
    for call in (
        lambda: torch.full_like(torch.ones(2), 1j),
        lambda: torch.ones(2).fill_(1j),
        lambda: torch.ones(2).__setitem__(0, 1j),
        lambda: torch.ones(2).masked_fill(T([True, False]), 1j),
        lambda: torch.ones(2).index_fill(0, T([0]), 1j),
        lambda: torch.full((2,), 300, dtype=torch.uint8),
        lambda: torch.full((2,), -129, dtype=torch.int8),
    ):
        with pytest.raises(RuntimeError, match="complex number|holds no such number"):
            call()
    assert torch.full((1,), -1, dtype=torch.uint8).item() == 255  # as in PyTorch


def test_masks_stay_masks():
    mask = torch.tril(torch.ones(2, 2, dtype=torch.bool))
    assert mask.dtype == torch.bool and mask.tolist() == [[True, False], [True, True]]
    assert torch.triu(torch.ones(2, 2, dtype=torch.uint8)).dtype == torch.uint8


def test_joining_nothing():
    grown = torch.tensor([])
    for _ in range(2):
        grown = torch.cat([grown, torch.ones(1, 3)])
    assert grown.shape == (2, 3)
    x = torch.zeros(0, requires_grad=True)
    torch.cat([x, torch.ones(1, 2)]).sum().backward()
    assert x.grad.shape == (0,)
    assert torch.topk(T(0.5), 0).indices.item() == 0


def test_comparisons():
    assert torch.isin(T([1, 2]), 1).tolist() == [True, False] and torch.isin(1, T([1])).item()
    assert torch.allclose(T([1j]), T([1j + 1e-9])) and not torch.allclose(T([1j]), T([1.0 + 0j]))
    assert torch.isclose(T([complex(math.inf, 0)]), T([complex(math.inf, 0)])).item()
    near = torch.lerp(T([1.0, 2.0]), T([3.0, 4.0]), T([0.5, 1.0]))
    assert near.tolist() == [2, 4]
    x = torch.ones(2, 3)
    assert torch.cosine_similarity(x, T(0.5)).tolist() == pytest.approx([1, 1])
    assert torch.pairwise_distance(T([3j, 0]), T([0j, 4]), eps=0).item() == pytest.approx(5)


def test_index_reduce():
    x, index, source = torch.ones(3), T([0, 0, 2]), T([2.0, 3.0, 5.0])
    assert torch.index_reduce(x, 0, index, source, "prod").tolist() == [6, 1, 5]
    assert x.index_reduce_(0, index, source, "amax", include_self=False).tolist() == [3, 1, 5]
    rows = torch.zeros(2, 2).index_reduce(0, T([1]), T([[4.0, 6.0]]), "mean")
    assert rows.tolist() == [[0, 0], [2, 3]]
    with pytest.raises(RuntimeError, match="reduce"):
        torch.index_reduce(x, 0, index, source, "sum")


def test_memory_formats():
    x = torch.zeros(1, 2, 3, 4)
    assert x.to(memory_format=torch.channels_last).shape == x.shape
    assert x.contiguous(memory_format=torch.contiguous_format) is not None and x.clone(memory_format=torch.preserve_format).shape == x.shape
    assert not x.is_contiguous(memory_format=torch.channels_last)
    assert x.permute(0, 3, 1, 2).is_contiguous(memory_format=torch.channels_last)
    t = torch.empty_strided((2, 3), (1, 2))
    assert t.stride() == (1, 2) and t.dim_order() == (1, 0)
    assert torch.manual_seed(3) is torch.default_generator


@pytest.mark.parametrize("name", "relu relu6 selu elu celu silu mish hardswish hardsigmoid hardtanh leaky_relu rrelu".split())
def test_activations_in_place(name):
    x = T([-1.0, 2.0])
    expected = getattr(F, name)(x.clone())
    assert getattr(F, name)(x, inplace=True) is x and x.tolist() == expected.tolist()


def test_activations_by_position():
    x = T([-1.0])
    F.leaky_relu(x, 0.5, True)
    assert x.item() == -0.5
    assert F.threshold(T([0.0, 2.0]), 1, 5, inplace=True).tolist() == [5, 2]
    x = torch.ones(1000)
    assert F.dropout(x, 0.5, True, True) is x and set(x.tolist()) == {0.0, 2.0}


def test_embedding_options():
    weight = torch.full((3, 2), 3.0, requires_grad=True)
    rows = F.embedding(T([0, 0, 1]), weight, max_norm=1.0, scale_grad_by_freq=True)
    assert rows.tolist()[0] == pytest.approx([math.sqrt(0.5)] * 2, abs=1e-5) and weight[2].tolist() == [3, 3]
    rows.sum().backward()
    assert weight.grad.tolist() == [[1, 1], [1, 1], [0, 0]]


def test_losses_of_a_distance():
    a, p, n = torch.ones(2, 3), torch.zeros(2, 3), torch.ones(2, 3)
    loss = F.triplet_margin_with_distance_loss(a, p, n, distance_function=lambda x, y: (x - y).abs().sum(1), margin=0.5)
    assert loss.item() == 3.5
    none = F.triplet_margin_with_distance_loss(a, p, n, swap=True, reduction="none")
    assert none.tolist() == pytest.approx([1 + math.sqrt(3)] * 2, abs=1e-4)


def test_attention_of_other_sizes():
    """Causal: query i sees keys up to i, whatever their numbers; values of another width; heads shared; sizes that broadcast."""
    torch.manual_seed(0)
    for queries, keys in ((2, 4), (4, 2), (3, 3)):
        q, k, v = torch.randn(1, 2, queries, 4), torch.randn(1, 2, keys, 4), torch.randn(1, 2, keys, 4)
        mask = torch.ones(queries, keys, dtype=torch.bool).tril()
        with_mask = F.scaled_dot_product_attention(q, k, v, mask)
        np.testing.assert_allclose(F.scaled_dot_product_attention(q, k, v, is_causal=True).numpy(), with_mask.numpy(), atol=1e-6)
    q, k, v = torch.randn(2, 1, 4, 3, 8), torch.randn(4, 5, 8), torch.randn(4, 5, 6)
    expected = torch.softmax(q @ k.mT / math.sqrt(8), -1) @ v
    np.testing.assert_allclose(F.scaled_dot_product_attention(q, k, v).numpy(), expected.numpy(), atol=1e-6)
    k, v = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 3, 4)
    q = torch.randn(1, 4, 3, 4)
    shared = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    each = F.scaled_dot_product_attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))
    assert shared.tolist() == each.tolist()
    with pytest.raises(RuntimeError, match="heads"):
        F.scaled_dot_product_attention(torch.randn(1, 3, 3, 4), k, v, enable_gqa=True)


def test_places_of_layers_and_optimizers():
    import sys

    from dyadic import nn, optim

    for place in "distance fold flatten padding utils pixelshuffle adaptive".split():
        assert sys.modules[f"dyadic.nn.modules.{place}"]
    assert optim.adam.Adam is optim.Adam and sys.modules["dyadic.optim.sgd"].SGD is optim.SGD
    assert optim.lr_scheduler._LRScheduler is optim.lr_scheduler.LRScheduler and optim.optimizer.ParamsT and optim.optimizer.required
    assert nn.modules.utils._pair(3) == (3, 3) and nn.modules.utils._triple([1, 2, 3]) == (1, 2, 3)
    assert nn.modules.utils._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    clones = nn.modules.transformer._get_clones(nn.Linear(1, 1), 2)
    assert len(clones) == 2 and clones[0].weight is not clones[1].weight
    assert isinstance(nn.ConvTranspose2d(1, 1, 1), nn.modules.conv._ConvNd) and isinstance(nn.BatchNorm1d(1), nn.modules.batchnorm._NormBase)

    class Weighted(nn.modules.loss._WeightedLoss):
        def forward(self, x):
            return (x * self.weight).sum() if self.reduction == "sum" else x * self.weight

    loss = Weighted(torch.ones(2) * 2, reduction="sum")
    assert loss(torch.ones(2)) == 4 and [n for n, _ in loss.named_buffers()] == ["weight"] and Weighted().weight is None
    state = nn.Sequential(nn.Linear(1, 1)).state_dict(prefix="module.")
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["0.weight", "0.bias"] and list(state._metadata) == ["", "0"]


def test_initializations_from_a_generator():
    from dyadic.nn import init

    for name in "uniform_ normal_ trunc_normal_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_ orthogonal_".split():
        generator = torch.Generator().manual_seed(3)
        before = torch.get_rng_state()
        first, second = (getattr(init, name)(torch.empty(3, 3), generator=generator) for _ in range(2))
        assert torch.equal(torch.get_rng_state(), before) and not torch.equal(first, second)
        assert torch.equal(getattr(init, name)(torch.empty(3, 3), generator=generator.manual_seed(3)), first)
    assert init._calculate_fan_in_and_fan_out(torch.zeros(3, 4, 5)) == (20, 15)
