"""What PyTorch's own calls mean at their edges: corrections that are no integers, gradients of steps, empty matrices, vectors as
weights, integers."""
import numpy as np
import pytest

import dyadic as dy
import dyadic.nn.functional as F


def close(tensor, expected):
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def test_a_vector_is_a_weight():
    x, w = dy.randn(2, 3, 4, dtype=dy.float64, requires_grad=True), dy.randn(4, dtype=dy.float64, requires_grad=True)
    y = F.linear(x, w)
    assert y.shape == (2, 3) and F.linear(x[0, 0], w).shape == ()
    close(y, (x.detach().numpy() * w.detach().numpy()).sum(-1))
    assert dy.autograd.gradcheck(F.linear, (x, w))
    wide = dy.randn(3, 64)
    close(F.linear(wide, dy.ones(64).to("q8_0")), wide.numpy() @ dy.ones(64).to("q8_0").float().numpy())
    with pytest.raises(RuntimeError, match="linear: sizes do not fit"):
        F.linear(dy.ones(2, 4), dy.ones(4), dy.ones(1))


@pytest.mark.parametrize("correction", [0, 0.5, 1, 1.5])
def test_corrections(correction):
    x = dy.randn(5, 4)
    close(x.var(1, correction=correction), x.numpy().var(1) * 4 / (4 - correction))
    close(dy.std_mean(x, dim=1, correction=correction)[0], x.numpy().std(1) * np.sqrt(4 / (4 - correction)))


@pytest.mark.parametrize("step", [
    lambda x: dy.div(x, 2.0, rounding_mode="floor"), lambda x: dy.div(x, 2.0, rounding_mode="trunc"), dy.angle,
    lambda x: dy.fill(x, 3.0), lambda x: dy.bernoulli(x.sigmoid())])
def test_steps_have_gradients_of_zero(step):
    x = dy.randn(6, requires_grad=True)
    step(x).sum().backward()
    assert (x.grad == 0).all()


def test_norms_of_nothing():
    for order in (2, "fro", "nuc"):
        assert dy.linalg.norm(dy.ones(0, 3), order).item() == 0
    assert dy.linalg.norm(dy.ones(3, 0), 1).item() == 0 and dy.linalg.norm(dy.ones(0, 3), float("inf")).item() == 0
    assert dy.linalg.matrix_norm(dy.ones(2, 0, 3), 2).tolist() == [0, 0]


def test_vectors_of_one():
    a, b = dy.tensor(2.0), dy.tensor(-3.0)
    assert F.cosine_similarity(a, b, dim=0).item() == -1
    assert F.multi_margin_loss(a, dy.tensor(0)).item() == 0 and F.multilabel_margin_loss(a, dy.tensor(0)).item() == 0


def test_tensors_as_tolerances_and_sections():
    a = dy.diag_embed(dy.tensor([[3.0, 1.0, 0.01], [3.0, 1.0, 0.01]]))
    assert dy.linalg.matrix_rank(a, atol=dy.tensor([0.001, 0.1])).tolist() == [3, 2]
    assert dy.linalg.matrix_rank(a, dy.tensor(2.0)).tolist() == [1, 1]
    close(dy.linalg.pinv(a, rtol=dy.tensor([0.0, 0.1])), np.stack([np.diag([1 / 3, 1, 100]), np.diag([1 / 3, 1, 0])]))
    assert [p.tolist() for p in dy.tensor_split(dy.arange(6), dy.tensor([2, 4]))] == [[0, 1], [2, 3], [4, 5]]
    assert [p.tolist() for p in dy.arange(4).tensor_split(dy.tensor(2))] == [[0, 1], [2, 3]]


def test_sizes_of_one_broadcast_in_tensordot():
    a, b = dy.randn(3, 1), dy.randn(4, 5)
    close(dy.tensordot(a, b, dims=1), a.numpy() * b.numpy().sum(0))
    close(dy.tensordot(b.T, a.T, dims=1), b.numpy().sum(0)[:, None] * a.numpy()[:, 0])


def test_full_singular_vectors_have_gradients():
    x = dy.randn(4, 3, requires_grad=True)
    u, s, vh = dy.linalg.svd(x, full_matrices=True)
    (u[:, :3].abs().sum() + s.sum() + vh.abs().sum()).backward()
    full = x.grad.clone()
    x.grad = None
    u, s, vh = dy.linalg.svd(x, full_matrices=False)
    (u.abs().sum() + s.sum() + vh.abs().sum()).backward()
    close(full, x.grad.numpy())


def test_integers_where_pytorch_takes_them():
    target = dy.tensor([1, -1, 1])
    assert F.margin_ranking_loss(dy.tensor([1, 2, 3]), dy.tensor([0, 5, 3]), target, margin=1).item() == pytest.approx(1 / 3)
    assert dy.linalg.matrix_power(dy.tensor([[1, 1], [1, 0]]), 5).tolist() == [[8, 5], [5, 3]]
    logits = dy.randn(3, 4)
    close(F.cross_entropy(logits, dy.tensor([0, 1, 2], dtype=dy.uint8)), F.cross_entropy(logits, dy.tensor([0, 1, 2])).numpy())


def some(*shape, dtype=dy.int64):
    return (dy.arange(int(np.prod(shape))).reshape(shape) * 5 % 7 - 3).to(dtype)


CONVOLUTIONS = [(1, 4, 2, dict()), (2, 4, 2, dict(stride=2, padding=1, dilation=2)), (2, 4, 4, dict(stride=(1, 2), padding=(2, 0), groups=2)),
                (3, 2, 2, dict(padding=1, groups=2))]


@pytest.mark.parametrize("dtype", [dy.int64, dy.int32, dy.int8])
@pytest.mark.parametrize("rank, channels, filters, options", CONVOLUTIONS)
def test_convolutions_of_integers(rank, channels, filters, options, dtype):
    """The sums are small: in f64 they are exact."""
    size = (6, 7, 5)[:rank]
    x, bias = some(2, channels, *size, dtype=dtype), some(filters, dtype=dtype)
    for name, shape in (f"conv{rank}d", (filters, channels // options.get("groups", 1))), (
            f"conv_transpose{rank}d", (channels, filters // options.get("groups", 1))):
        conv, w = getattr(F, name), some(*shape, *(3, 2, 2)[:rank], dtype=dtype)
        for batch in x, x[0]:
            y = conv(batch, w, bias, **options)
            assert y.dtype == dtype and y.shape == conv(batch.double(), w.double(), bias.double(), **options).shape
            assert (y == conv(batch.double(), w.double(), bias.double(), **options).to(dtype)).all()


def test_convolutions_of_integers_wrap_around_and_refuse_others():
    big = dy.full((1, 1, 3), 2 ** 62)
    assert F.conv1d(big, dy.tensor([[[2, 2, 1]]])).tolist() == [[[2 ** 62]]]
    with pytest.raises(TypeError, match="conv1d: dtypes differ: input is i64.*weight is i32"):
        F.conv1d(big, dy.ones(1, 1, 3, dtype=dy.int32))


@pytest.mark.parametrize("dtype", [dy.int64, dy.int16, dy.uint8])
def test_linear_maps_of_integers(dtype):
    """What PyTorch 2.15 gives for these numbers."""
    i = lambda *s: (dy.arange(int(np.prod(s))).reshape(s) % 7 - 3).to(dtype)
    y = F.linear(i(2, 3), i(4, 3), i(4))
    assert y.dtype == dtype and (y.flatten() == dy.tensor([11, -6, -2, 2, -7, 3, -8, 2]).to(dtype)).all()
    y = F.bilinear(i(2, 3), i(2, 4), i(5, 3, 4), i(5))
    assert y.dtype == dtype and (y.flatten()[:8] == dy.tensor([-33, 22, -7, -8, -2, 6, -18, 35]).to(dtype)).all()


def test_means_of_integers():
    """What PyTorch 2.15 gives for these numbers."""
    x = dy.arange(25).reshape(1, 1, 5, 5) - 9
    assert F.avg_pool2d(x, 2, 2, 1, ceil_mode=True).flatten().tolist() == [-2, -3, -2, 0, 0, 2, 4, 10, 12]
    assert F.avg_pool2d(x, 2, 2, 1, ceil_mode=True, count_include_pad=False).flatten().tolist() == [-9, -7, -5, -1, 0, 2, 8, 10, 12]
    assert F.avg_pool2d(x, 2, divisor_override=3).flatten().tolist() == [-8, -5, 5, 8]


def test_powers_of_integers():
    """The norms of the windows; PyTorch cuts off the mean of the powers on the way, and gives 3.46 for the first."""
    x = dy.arange(48).reshape(2, 3, 8) % 7 - 3
    close(F.lp_pool1d(x, 2, 3).flatten()[:2], [14 ** .5, 5 ** .5])


def test_numbers_beside_integers_are_cut_off():
    """As PyTorch 2.15 does."""
    assert dy.linspace(0.5, 10.7, 5, dtype=dy.int64).tolist() == [0, 2, 5, 7, 10]
    assert dy.linspace(10.7, 0, 7, dtype=dy.int32).tolist() == [10, 8, 6, 5, 3, 1, 0]
    one = lambda *values: dy.tensor([values])
    assert dy.addmm(one(5, 7), one(3), one(4, 5), alpha=2.5).tolist() == [[29, 37]]
    assert dy.addmm(one(5, 7), one(3), one(4, 5), alpha=-1.5, beta=.9).tolist() == [[-12, -15]]
    assert dy.baddbmm(one([5]), one([3]), one([4]), alpha=2.5).tolist() == [[[29]]]


def test_the_next_number_moves_with_its_neighbour():
    a, b = dy.tensor([1.0, 2.0], requires_grad=True), dy.tensor([2.0, 1.0], requires_grad=True)
    y = dy.nextafter(a, b)
    y.sum().backward()
    assert y.tolist() == [np.nextafter(np.float32(1), np.float32(2)), np.nextafter(np.float32(2), np.float32(1))]
    assert a.grad.tolist() == [1, 1] and b.grad.tolist() == [0, 0]


def gradients(result, *inputs):
    return dy.autograd.grad(result.sum(), inputs)


def test_a_tensor_that_fills_has_a_gradient():
    x, value = dy.ones(2, 3, requires_grad=True), dy.tensor(2.0, requires_grad=True)
    y = x.index_fill(1, dy.tensor([0, 2, 0]), value)
    assert y.tolist() == [[2, 1, 2], [2, 1, 2]]
    dx, dvalue = gradients(y, x, value)
    assert dx.tolist() == [[0, 1, 0], [0, 1, 0]] and dvalue.item() == 4
    assert dy.tensor(5.0).index_fill(0, dy.tensor([0]), dy.tensor(3.0)).item() == 3


def test_gradients_that_are_zeros_are_there():
    x = dy.tensor([3.0, 0.0, float("inf")], requires_grad=True)
    assert dy.linalg.vector_norm(x, 0).item() == 2
    assert gradients(dy.linalg.vector_norm(x, 0), x)[0].tolist() == [0, 0, 0]
    a = dy.tensor([[2.0, float("nan")], [0.0, 1.0]], requires_grad=True)
    assert dy.linalg.matrix_power(a, 0).tolist() == [[1, 0], [0, 1]]
    assert gradients(dy.linalg.matrix_power(a, 0), a)[0].tolist() == [[0, 0], [0, 0]]
    b, c = dy.ones(5, 5, 0, requires_grad=True), dy.ones(0, 5, requires_grad=True)
    assert [g.shape for g in gradients(b @ c, b, c)] == [(5, 5, 0), (0, 5)]
    s, source = dy.tensor(2.0, requires_grad=True), dy.tensor(3.0, requires_grad=True)
    largest = dy.index_reduce(s, 0, dy.tensor([0]), source, "amax")
    assert largest.shape == () and [g.item() for g in gradients(largest, s, source)] == [0, 1]


def test_windows_that_overlap_name_a_place_twice():
    x = dy.tensor([[[1.0, 5.0, 2.0]]])
    values, places = F.max_pool1d(x, 2, 1, return_indices=True)
    assert F.max_unpool1d(values, places, 2, 1).tolist() == [[[0, 5, 0]]]
    whole, at = F.max_pool2d(dy.arange(16, dtype=dy.int32).reshape(1, 4, 4), 2, return_indices=True)
    assert whole.tolist() == [[[5, 7], [13, 15]]] and whole.dtype == dy.int32 and at.tolist() == whole.tolist()


def test_what_is_cut_and_padded_in_a_circle():
    x = dy.arange(16.0).reshape(1, 1, 4, 4)
    assert F.pad(x, (-1, 1, -2, 1), "circular")[0, 0].tolist() == [[9, 10, 11, 9], [13, 14, 15, 13], [9, 10, 11, 9]]


def test_numbers_at_their_edges():
    assert dy.diff(dy.ones(3), n=0, prepend=dy.zeros(1)).tolist() == [1, 1, 1]
    close(dy.logit(dy.tensor([0.1, 0.5, 0.7]), 0.6), np.log([1.5, 1.5, 2 / 3]))
    assert dy.linalg.vander(dy.tensor(2.0), N=3).tolist() == [[1, 2, 4]]
    assert dy.linalg.pinv(dy.ones(0, 0), rtol=dy.tensor(1.0)).shape == (0, 0)
    assert F.feature_alpha_dropout(dy.ones(5)).tolist() == [1] * 5
    assert dy.gradient(dy.tensor([1.0, 2.0, 4.0]), spacing=None, dim=None)[0].tolist() == [1, 1.5, 2]
    assert dy.normal(1.5, 0.0, [2], dtype=dy.float64, layout=dy.strided).tolist() == [1.5, 1.5]


def test_flags_by_place():
    x = dy.ones(2)
    assert x.to("cpu", dy.float64, False, True).dtype == dy.float64
    assert x.to(dy.float32, False, True) is not x and x.to(dy.float32, False) is x and x.to("cpu", dy.float32, True) is x
    assert x.to(x.double(), True, False).dtype == dy.float64 and x.to("cpu", dy.float32, False, True) is not x
    assert x.byte(memory_format=dy.preserve_format).dtype == dy.uint8 and x.cfloat().dtype == dy.complex64
    with pytest.raises(TypeError, match="dtype"):
        x.to("cpu", 3)


def test_two_sides_of_a_spectrum_are_taken_for_mirrors():
    spectrum = dy.randn(10, 2, dtype=dy.complex128)
    window = dy.ones(10, dtype=dy.float64)
    close(dy.istft(spectrum, 10, window=window, onesided=False), dy.istft(spectrum[:6], 10, window=window, onesided=True).numpy())


@pytest.mark.parametrize("name, sizes", [("conv1d", (5,)), ("conv2d", (5, 4)), ("conv_transpose1d", (5,)), ("conv_transpose2d", (5, 4))])
def test_convolutions_of_complex_numbers(name, sizes):
    op = getattr(F, name)
    x, w, b = (dy.randn(*n, dtype=dy.complex128, requires_grad=True) for n in ((2, 4, *sizes), (4, 2, *[3] * len(sizes)), (4,)))
    options = dict(stride=2, padding=1, groups=2)
    parts = lambda p, q: op(getattr(x, p), getattr(w, q), **options)
    y = op(x, w, b, **options)
    column = b.detach().reshape(-1, *[1] * len(sizes)).numpy()
    close(y, dy.complex(parts("real", "real") - parts("imag", "imag"), parts("real", "imag") + parts("imag", "real")).detach().numpy() + column)
    assert op(x[0], w, b, **options).shape == y.shape[1:]
    assert dy.autograd.gradcheck(lambda *a: op(*a, **options), (x, w, b))
    with pytest.raises(TypeError, match="dtypes differ"):
        op(x, w.real, b)


def test_lengths_may_be_lists():
    chances, targets = dy.randn(50, 3, 15).log_softmax(2), dy.randint(1, 15, (3, 30))
    loss = dy.nn.CTCLoss()
    whole = loss(chances, targets, dy.tensor([50, 50, 50]), dy.tensor([30, 25, 20]))
    assert loss(chances, targets, (50, 50, 50), [30, 25, 20]) == whole and whole.isfinite()


def test_an_empty_batch_is_normalized():
    layer = dy.nn.BatchNorm1d(5)
    y = layer(dy.ones(0, 5, 9, requires_grad=True))
    y.sum().backward()
    assert y.shape == (0, 5, 9) and layer.weight.grad.tolist() == [0] * 5 and layer.running_mean.tolist() == [0] * 5


def test_a_divergence_of_what_is_no_probability():
    assert F.kl_div(dy.tensor([0.5]), dy.tensor([-1.0])).isnan() and F.kl_div(dy.tensor([0.5]), dy.tensor([0.0])).item() == 0
