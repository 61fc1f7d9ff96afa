"""Names of functional, nn, nn.utils and torch itself that stand for what is there; numbers without a formula are PyTorch's."""
import importlib
import warnings

import numpy as np
import pytest

import dyadic as torch

F, nn, T = torch.nn.functional, torch.nn, torch.tensor
IMAGE = torch.arange(0, 32).reshape(1, 2, 4, 4) / 10
THETA = T([[[0.9, 0.1, 0.0], [-0.1, 0.8, 0.2]]])
LOGITS = T([[1.0, 2.0], [0.0, 1.0]])
CLASSES = T([1, 0])


def near(actual, expected):
    torch.testing.assert_close(actual, T(expected), rtol=1e-4, atol=1e-5)


def test_grids():
    near(torch.affine_grid_generator(THETA, [1, 2, 2, 2], True), F.affine_grid(THETA, (1, 2, 2, 2), align_corners=True).tolist())
    grid = F.affine_grid(THETA, [1, 2, 2, 2])
    for number, mode in enumerate(("bilinear", "nearest", "bicubic")):
        for k, padding in enumerate(("zeros", "border", "reflection")):
            expected = F.grid_sample(IMAGE, grid, mode, padding, False)
            assert torch.grid_sampler(IMAGE, grid, number, k, False).tolist() == expected.tolist()
    outside = F.grid_sample(IMAGE, T([[[[float("nan"), 0.0], [float("inf"), 0.0]]]]))
    assert outside.tolist() == [[[[0, 0]], [[0, 0]]]]


def test_fractional_pools():
    drawn = T([[[0.3, 0.7], [0.1, 0.5]]])
    values, at = F.fractional_max_pool2d(IMAGE, 2, output_size=(3, 3), _random_samples=drawn, return_indices=True)
    assert values.tolist() == IMAGE.flatten(2).gather(2, at.flatten(2)).reshape(1, 2, 3, 3).tolist()
    assert list(F.fractional_max_pool2d(IMAGE, 2, output_ratio=0.6).shape) == [1, 2, 2, 2]
    assert list(nn.FractionalMaxPool2d(2, output_size=2)(IMAGE).shape) == [1, 2, 2, 2]
    assert list(nn.FractionalMaxPool3d(2, output_ratio=(0.5, 0.5, 0.5), return_indices=True)(torch.ones(1, 1, 6, 6, 6))[1].shape) == [1, 1, 3, 3, 3]
    with pytest.raises(ValueError, match="one of output_size and output_ratio"):
        F.fractional_max_pool2d(IMAGE, 2)
    with pytest.raises(ValueError, match="between 0 and 1"):
        F.fractional_max_pool2d(IMAGE, 2, output_ratio=2.0)
    with pytest.raises(ValueError, match="FractionalMaxPool2d: one of"):
        nn.FractionalMaxPool2d(2)


def test_interpolation():
    two = F.interpolate(IMAGE, scale_factor=(2, 1.5), mode="bilinear")
    assert list(two.shape) == [1, 2, 8, 6] and two.tolist() == F.interpolate(IMAGE, size=(8, 6), mode="bilinear").tolist()
    bytes = (IMAGE * 10).to(torch.uint8)
    assert F.interpolate(bytes, size=3).tolist() == F.interpolate(bytes.float(), size=3).to(torch.uint8).tolist()
    smooth = F.interpolate(bytes, size=(5, 5), mode="bilinear")
    assert smooth.dtype == torch.uint8 and smooth[0, 0, 0].tolist() == [0, 1, 2, 2, 3]
    assert F.upsample_nearest(IMAGE, scale_factor=2)[0, 0, 0, :4].tolist() == IMAGE[0, 0, 0, [0, 0, 1, 1]].tolist()
    assert F.upsample_bilinear(IMAGE, scale_factor=2).sum().item() == pytest.approx(198.4)
    with pytest.raises(ValueError, match="antialias"):
        F.interpolate(IMAGE, size=2, antialias=True)
    halved = F.interpolate(bytes, size=(2, 2), mode="bilinear", antialias=True)
    assert halved.dtype == torch.uint8 and halved.tolist() == F.interpolate(bytes.float(), size=(2, 2), mode="bilinear", antialias=True).round().tolist()


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda: F.cross_entropy(LOGITS, CLASSES, size_average=False), lambda: F.cross_entropy(LOGITS, CLASSES, reduction="sum")),
        (lambda: F.mse_loss(LOGITS, LOGITS * 2, reduce=False), lambda: F.mse_loss(LOGITS, LOGITS * 2, reduction="none")),
        (lambda: nn.MSELoss(False)(LOGITS, LOGITS * 2), lambda: nn.MSELoss(reduction="sum")(LOGITS, LOGITS * 2)),
        (lambda: nn.MSELoss(True, True)(LOGITS, LOGITS * 2), lambda: nn.MSELoss()(LOGITS, LOGITS * 2)),
        (lambda: nn.CrossEntropyLoss(size_average=False)(LOGITS, CLASSES), lambda: nn.CrossEntropyLoss(reduction="sum")(LOGITS, CLASSES)),
    ],
)
def test_the_older_way_to_reduce(call, expected):
    with pytest.warns(UserWarning, match="size_average and reduce are deprecated"):
        assert call().tolist() == expected().tolist()


def test_losses_take_their_arguments_in_order():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nn.NLLLoss(None, None, 1)(LOGITS, CLASSES).item() == -LOGITS[1, 0].item()  # ignore_index is the third
        near(F.kl_div(LOGITS, LOGITS.exp(), None, None, "sum"), (LOGITS.exp() * 0).sum().item())
        sums = F.poisson_nll_loss(LOGITS, LOGITS, True, False, None, 1e-8, None, "sum")
        near(sums, (LOGITS.exp() - LOGITS * LOGITS).sum().item())
        assert nn.TripletMarginLoss(1.0, 2.0, 1e-6, True, None, None, "sum").swap
        assert F.l1_loss(LOGITS, LOGITS + 1, reduction="sum").item() == 4
        assert nn.NLLLoss2d()(LOGITS, CLASSES).item() == nn.NLLLoss()(LOGITS, CLASSES).item()


def attention():
    torch.manual_seed(0)
    return nn.MultiheadAttention(4, 2), torch.randn(3, 2, 4)


@pytest.mark.parametrize("options", [{}, {"average_attn_weights": False}, {"need_weights": False}])
def test_attention_as_a_function(options):
    m, x = attention()
    padding, mask = T([[False, False, True], [False, True, False]]), torch.ones(3, 3).triu(1).bool()
    given = (4, 2, m.in_proj_weight, m.in_proj_bias, None, None, False, 0.0, m.out_proj.weight, m.out_proj.bias)
    for masks in ({}, {"key_padding_mask": padding}, {"attn_mask": mask}, {"attn_mask": mask.float() * -5, "key_padding_mask": padding}):
        out, weights = F.multi_head_attention_forward(x, x, x * 2, *given, **masks, **options)
        expected = m(x, x, x * 2, **masks, **options)
        torch.testing.assert_close(out, expected[0])
        torch.testing.assert_close(weights, expected[1])
    one, _ = F.multi_head_attention_forward(x[:, 0], x[:, 0], x[:, 0], *given)
    torch.testing.assert_close(one, m(x, x, x)[0][:, 0])


def test_attention_with_more():
    m, x = attention()
    own = m.in_proj_weight.chunk(3)
    given = (4, 2, None, m.in_proj_bias, torch.zeros(1, 1, 4), torch.zeros(1, 1, 4), True, 0.0, m.out_proj.weight, m.out_proj.bias)
    named = dict(zip(("q_proj_weight", "k_proj_weight", "v_proj_weight"), own))
    _, weights = F.multi_head_attention_forward(x, x, x, *given, use_separate_proj_weight=True, **named, attn_mask=torch.zeros(3, 3))
    assert list(weights.shape) == [2, 3, 5] and weights.sum(-1).flatten().tolist() == pytest.approx([1] * 6)
    with pytest.raises(RuntimeError, match="the width does not fit"):
        F.multi_head_attention_forward(x, x, x, 5, *given[1:])
    with pytest.raises(RuntimeError, match="is_causal says what attn_mask is"):
        F.multi_head_attention_forward(x, x, x, *given, use_separate_proj_weight=True, **named, is_causal=True)


def test_single_steps():
    h = torch.ones(2, 3)
    w = torch.arange(0, 36).reshape(12, 3) / 30 - 0.5
    cell = nn.LSTMCell(3, 3)
    new = torch.lstm_cell(h, (h, h * 0.5), cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    torch.testing.assert_close(new, cell(h, (h, h * 0.5)))
    for name, kind in (("gru_cell", nn.GRUCell(3, 3)), ("rnn_tanh_cell", nn.RNNCell(3, 3)), ("rnn_relu_cell", nn.RNNCell(3, 3, nonlinearity="relu"))):
        made = getattr(torch, name)(h, h * 0.3, kind.weight_ih, kind.weight_hh, kind.bias_ih, kind.bias_hh)
        torch.testing.assert_close(made, kind(h, h * 0.3))
    assert list(torch.rnn_tanh_cell(h, h, w[:3], w[3:6]).shape) == [2, 3] and isinstance(cell, nn.RNNCellBase)


def test_linear_algebra():
    a = T([[4.0, 1.0], [1.0, 3.0]])
    x, same = torch.triangular_solve(a[:, :1], a.triu())
    near(a.triu() @ x, [[4.0], [1.0]])
    assert same.tolist() == a.triu().tolist()
    near(a.triu().t() @ a[:, :1].triangular_solve(a.triu(), transpose=True).solution, [[4.0], [1.0]])
    torch.manual_seed(0)
    low = torch.randn(20, 3) @ torch.randn(3, 10)
    u, s, v = torch.svd_lowrank(low, q=3)
    torch.testing.assert_close(u @ torch.diag(s) @ v.t(), low, rtol=1e-4, atol=1e-4)
    _, s, _ = torch.pca_lowrank(low, q=3)
    torch.testing.assert_close(s, torch.linalg.svdvals(low - low.mean(0))[:3], rtol=1e-4, atol=1e-4)
    near(torch.norm_except_dim(a, 2, 0), [[17**0.5], [10**0.5]])


def test_histograms_of_points():
    points = T([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [2.0, 2.0]])
    hist, edges = torch.histogramdd(points, bins=[2, 2])
    assert hist.tolist() == [[0, 1], [1, 2]] and [e.tolist() for e in edges] == [[0, 1, 2], [0, 1, 2]]
    weighted = torch.histogramdd(points, bins=2, range=[0.0, 4.0, 0.0, 4.0], weight=T([1.0, 2.0, 3.0, 4.0]), density=True)
    near(weighted.hist.sum() * 4, 1.0)


def test_in_place_and_parts():
    assert F.leaky_relu_(T([-1.0, 1.0]), 0.1).tolist() == T([-0.1, 1.0]).tolist()
    x = torch.ones(2, 3, 4)
    assert torch.dropout_(x, 0.0, True) is x and torch.feature_dropout_(x, 1.0, True).tolist() == torch.zeros(2, 3, 4).tolist()
    assert torch.alpha_dropout_(torch.ones(2), 0.5, False).tolist() == [1, 1] and torch.rrelu_(T([-1.0]), 0.5, 0.5).item() == -0.5
    assert [t.tolist() for t in torch.unsafe_split(T([1, 2, 3]), 2)] == [[1, 2], [3]]
    assert [t.tolist() for t in T([1, 2, 3]).unsafe_split_with_sizes([1, 2])] == [[1], [2, 3]] and len(torch.unsafe_chunk(T([1, 2]), 2)) == 2
    copied = torch.narrow_copy(x, 0, 0, 1)
    copied.fill_(5)
    assert x.max() == 0 and torch.empty_permuted((2, 3, 4), (2, 0, 1)).stride() == (3, 1, 6)
    values, at = torch.max_pool1d_with_indices(T([[1.0, 3.0, 2.0, 0.0]]), 2)
    assert values.tolist() == [[3, 2]] and at.tolist() == [[1, 2]]


def test_layers_under_other_names():
    m = nn.DataParallel(nn.Linear(2, 2))
    assert list(m.state_dict()) == ["module.weight", "module.bias"] and list(m(torch.ones(1, 2)).shape) == [1, 2]
    x = torch.randn(1, 5, 2, 2)
    assert nn.CrossMapLRN2d(3)(x).tolist() == nn.LocalResponseNorm(3)(x).tolist()
    with nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH):
        assert nn.parallel.DataParallel is nn.DataParallel


def test_fused_layers():
    torch.manual_seed(0)
    conv, norm = nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4)
    x = torch.randn(2, 3, 5, 5)
    norm(conv(x))
    with pytest.raises(AssertionError, match="only for eval"):
        nn.utils.fuse_conv_bn_eval(conv, norm)
    fused = nn.utils.fuse_conv_bn_eval(conv.eval(), norm.eval())
    torch.testing.assert_close(fused(x), norm(conv(x)), rtol=1e-4, atol=1e-5)
    linear, flat = nn.Linear(3, 4).eval(), nn.BatchNorm1d(4).eval()
    rows = torch.randn(2, 3)
    torch.testing.assert_close(nn.utils.fuse_linear_bn_eval(linear, flat)(rows), flat(linear(rows)), rtol=1e-4, atol=1e-5)


def test_older_names():
    t = torch.empty(2, 2)
    with pytest.warns(FutureWarning, match="nn.init.constant_"):
        assert nn.init.constant(t, 3).tolist() == [[3, 3], [3, 3]]
    p = nn.Parameter(T([3.0, 4.0]))
    p.grad = T([3.0, 4.0])
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        assert nn.utils.clip_grad_norm([p], 1.0).item() == 5
    assert nn.utils.skip_init(nn.Linear, 2, 3).weight.shape == (3, 2) and not nn.utils.skip_init(nn.Linear, 2, 3).weight.is_meta


def test_switches():
    assert not torch.accelerator.is_available() and torch.accelerator.current_accelerator() is None
    assert not torch.xpu.is_available() and torch.mps.device_count() == 0 and torch.get_num_interop_threads() == 1
    try:
        torch.set_default_tensor_type("torch.DoubleTensor")
        assert torch.ones(1).dtype == torch.float64
        torch.set_default_tensor_type(torch.FloatTensor)
        assert torch.ones(1).dtype == torch.float32
        with pytest.raises(TypeError, match="no type of floating-point tensors"):
            torch.set_default_tensor_type("torch.LongTensor")
    finally:
        torch.set_default_dtype(torch.float32)
    torch.set_anomaly_enabled(True)
    assert torch.is_anomaly_enabled()
    torch.set_anomaly_enabled(False)
    assert torch.set_flush_denormal(False) and not torch.set_flush_denormal(True) and torch.get_deterministic_debug_mode() == 2
    assert not torch.ones(1).is_xpu


@pytest.mark.parametrize(
    "place, name",
    [
        ("utils.data.sampler", "SubsetRandomSampler"), ("utils.data.dataset", "TensorDataset"), ("utils.data.dataloader", "DataLoader"),
        ("nn.utils.clip_grad", "clip_grad_norm_"), ("nn.utils.convert_parameters", "parameters_to_vector"), ("utils.hooks", "RemovableHandle"),
        ("nn.utils.stateless", "functional_call"), ("autograd.variable", "Variable"), ("nn.parameter", "UninitializedParameter"),
        ("utils.dlpack", "to_dlpack"), ("nn.modules.batchnorm", "_BatchNorm"),
    ],
)  # fmt: skip
def test_places(place, name):
    assert hasattr(importlib.import_module(f"dyadic.{place}"), name)


def test_memory_of_others():
    x = T([1.0, 2.0])
    same = torch.utils.dlpack.from_dlpack(x)
    same[0] = 5
    assert x.tolist() == [5, 2] and "dltensor" in repr(torch.utils.dlpack.to_dlpack(x))


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda: torch.amax(torch.ones(0, 2), 0), IndexError), (lambda: torch.ones(0, 2).max(0), IndexError),
        (lambda: torch.ones(0).argmax(), IndexError), (lambda: torch.ones(0).max(), RuntimeError),
        (lambda: torch.amin(torch.ones(0)), RuntimeError), (lambda: torch.kthvalue(torch.ones(0), 1), IndexError),
        (lambda: T([True]) - T([True]), NotImplementedError), (lambda: 1 - T([True]), NotImplementedError),
        (lambda: -T([True]), NotImplementedError), (lambda: +T([True]), NotImplementedError),
        (lambda: T([1.0]) & T([1.0]), NotImplementedError), (lambda: T([1, 2]).mean(), NotImplementedError),
        (lambda: torch.ones(2).gather(0, T([5])), RuntimeError), (lambda: torch.ones(2).index_select(0, T([5])), IndexError),
        (lambda: torch.zeros(2, -1), RuntimeError), (lambda: torch.arange(0, 5, -1), RuntimeError),
        (lambda: torch.randint(3, 3, (2,)), RuntimeError), (lambda: torch.normal(0.0, -1.0, (2,)), RuntimeError),
        (lambda: torch.ones(2).bernoulli_(2.0), RuntimeError), (lambda: torch.ones(2).exponential_(-1), RuntimeError),
        (lambda: torch.device("foo"), RuntimeError), (lambda: torch.ones(2).clamp(), RuntimeError), (lambda: int(torch.ones(2)), ValueError),
        (lambda: float(torch.ones(2)), ValueError), (lambda: torch.ones(2).item(), RuntimeError), (lambda: torch.load("/nowhere"), FileNotFoundError),
        (lambda: torch.ones(2).narrow(0, 1, 5), RuntimeError), (lambda: torch.ones(2).narrow(0, 5, 1), IndexError),
        (lambda: F.cross_entropy(torch.ones(2, 3), T([0])), ValueError), (lambda: F.nll_loss(torch.ones(2, 3), T([0])), ValueError),
        (lambda: torch.tril_indices(10**18, 10**18), RuntimeError), (lambda: torch.mvlgamma(T([3.0]), 10**15), RuntimeError),
    ],
)  # fmt: skip
def test_kinds_of_errors(call, kind):
    with pytest.raises(kind):
        call()


def test_dtypes_of_results():
    flags, bytes = T([True, False]), T([0, 3], dtype=torch.uint8)
    assert torch.square(flags).dtype == torch.int64 and torch.nan_to_num(flags).tolist() == [True, False]
    assert bytes.any().dtype == torch.uint8 and bytes.all(0).dtype == torch.uint8 and flags.any().dtype == torch.bool
    assert F.hardtanh(T([5, 0]), -0.5, 2.9).tolist() == [2, 0] and F.threshold(T([5, 0]), 0.9, 20.7).tolist() == [5, 20]
    assert torch.logsumexp(T([5, 0]), 0).item() == pytest.approx(5.006715) and T([1, 2]).logsumexp(0).dtype == torch.float32
    assert F.max_pool2d(T([[[1, 5], [3, 2]]]), 2).tolist() == [[[5]]] and torch.ones(0).median().isnan()
    assert torch.inner(torch.ones(0), torch.ones(0)).item() == 0


def test_what_an_op_in_place_reads():
    x = T([1.0, 2.0], requires_grad=True)
    for call, slope in ((lambda y: y.mul_(x), [2, 4]), (lambda y: y.pow_(2), [2, 4]), (lambda y: F.silu(y, inplace=True), None)):
        y = call(x * 1)
        expected = slope or torch.autograd.grad(F.silu(x).sum(), x)[0].tolist()
        assert torch.autograd.grad(y.sum(), x)[0].tolist() == expected


def test_sizes_make_tensors():
    size = torch.ones(2, 3).size()
    assert torch.FloatTensor(size).normal_().shape == size and torch.LongTensor(torch.Size([4])).dtype is torch.int64
    assert torch.FloatTensor(np.int64(3)).shape == (3,) and torch.FloatTensor(2, np.int32(3)).shape == (2, 3)
    assert torch.FloatTensor(torch.Size([])).shape == () and torch.ones(3).double().new(size).shape == size
    assert torch.FloatTensor((2, 3)).tolist() == [2, 3] and torch.IntTensor(np.array([1, 2])).tolist() == [1, 2]
    for longer in ((1,) + size, size + (1,), 2 * size, size * 2, size[1:]):
        assert type(longer) is torch.Size
    assert (1,) + size == (1, 2, 3) and 2 * size == (2, 3, 2, 3)
