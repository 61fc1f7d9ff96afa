"""Views that go downwards, and writes into views while gradients are recorded."""
import numpy as np
import pytest

import dyadic as dy


def test_negative_steps_are_numpy_s():
    a = np.arange(24.0).reshape(4, 6)
    x = dy.from_numpy(a)
    for key in (np.s_[::-1], np.s_[:, ::-2], np.s_[2::-1, 4:0:-3], np.s_[1:3, None, ::-1], np.s_[-1:-4:-1, 5], np.s_[0:3:-1]):
        assert np.array_equal(x[key].numpy(), a[key])
    down = x[::-1, ::-1]
    assert down.stride() == (-6, -1) and down.data_ptr() == x[3, 5].data_ptr() and not down.is_contiguous()
    assert np.array_equal((down @ down.T).numpy(), a[::-1, ::-1] @ a[::-1, ::-1].T)
    down[0] = -1
    assert (x[3] == -1).all()
    with pytest.raises(ValueError, match="step cannot be zero"):
        x[::0]


def test_gradients_of_what_goes_downwards():
    x = dy.arange(5.0).requires_grad_()
    (x[::-2] * dy.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [100, 0, 10, 0, 1]


def test_rows_written_into_a_buffer():
    w = dy.tensor([1.0, 2.0], requires_grad=True)
    out = dy.zeros(3, 2)
    for i in range(3):
        out[i] = w * i
    out[:, 1] *= 2
    out[0, 0] += w.sum()
    assert out.tolist() == [[3, 0], [1, 4], [2, 8]] and out.grad_fn is not None
    out.sum().backward()
    assert w.grad.tolist() == [1 + 2 + 1, 2 * (1 + 2) + 1]


def test_masks_and_indices_written_through_a_view():
    x = dy.ones(2, 3, requires_grad=True)
    y = x * 2
    y[0][dy.tensor([0, 2])] = 0
    y[1][dy.tensor([True, False, False])] = 5
    y.sum().backward()
    assert x.grad.tolist() == [[0, 2, 0], [0, 2, 2]]


def test_a_view_knows_its_base():
    x = dy.zeros(2, 3)
    assert x._base is None and x[0]._base is x and x[0].view(3, 1)._base is x and x.detach()[0]._base is not x
    with dy.no_grad():
        assert x[0]._base is None
    w = dy.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a view of a leaf that requires grad"):
        w[0] = 1
    with dy.no_grad():
        w[0] = 3
    assert w.tolist() == [3, 1]
    with pytest.raises(RuntimeError, match="clone"):
        dy.zeros(1).expand(3).add_(1)


def test_comparisons_in_place():
    x = dy.tensor([1.0, 2.0, 3.0])
    assert x.gt_(1.5) is x and x.tolist() == [0, 1, 1] and x.dtype is dy.float32
    assert x.eq_(1).tolist() == [0, 1, 1] and x.logical_not_().tolist() == [1, 0, 0]


def test_ctc_of_one_path():
    # one step per label and no room for blanks: the only path is the target itself
    p = dy.log_softmax(dy.randn(3, 1, 4, dtype=dy.float64), 2).requires_grad_()
    loss = dy.nn.functional.ctc_loss(p, dy.tensor([[1, 2, 3]]), (3,), (3,), reduction="sum")
    assert abs(loss.item() + sum(p[t, 0, t + 1].item() for t in range(3))) < 1e-12
    loss.backward()
    assert dy.allclose(p.grad[:, 0], -dy.eye(4, dtype=dy.float64)[1:], rtol=0, atol=1e-14)
    both = dy.cat([p, p], 1)
    rows, row = dy.tensor([[1, 2, 0], [3, 0, 0]]), dy.tensor([1, 2, 3])
    lengths = dy.tensor([3, 3]), dy.tensor([2, 1])
    assert dy.ctc_loss(both, rows, *lengths).item() == dy.ctc_loss(both, row, *lengths).item()
    impossible = dy.nn.CTCLoss(zero_infinity=True)(p, dy.tensor([[1, 1, 3]]), dy.tensor([3]), dy.tensor([3]))
    assert impossible.item() == 0


@pytest.mark.parametrize("rate", [0.3, 5.0, 12.0, 300.0])
def test_poisson_has_its_moments(rate):
    dy.manual_seed(0)
    x = dy.poisson(dy.full((20000,), rate)).numpy()
    assert abs(x.mean() - rate) < 5 * np.sqrt(rate / 20000) and abs(x.var() / rate - 1) < 0.08 and (x == np.floor(x)).all()


@pytest.mark.parametrize("count, p", [(1, 0.3), (20, 0.1), (100, 0.4), (1000, 0.93)])
def test_binomial_has_its_moments(count, p):
    dy.manual_seed(0)
    x = dy.binomial(dy.full((20000,), float(count)), dy.tensor(p)).numpy()
    variance = count * p * (1 - p)
    assert abs(x.mean() - count * p) < 5 * np.sqrt(variance / 20000) and abs(x.var() / variance - 1) < 0.08
    assert x.min() >= 0 and x.max() <= count


def test_the_default_generator():
    g = dy.default_generator
    g.manual_seed(5)
    a = dy.rand(3)
    dy.manual_seed(5)
    assert dy.rand(3, generator=g).tolist() == a.tolist() and dy.initial_seed() == g.initial_seed() == 5
    assert dy.device("cpu", 0) == dy.device("cpu:0") != dy.device("cpu")


def test_qr_of_large_matrices():
    for shape in ((150, 130), (80, 200), (200, 90)):
        a = dy.randn(*shape, dtype=dy.float64)
        for mode in ("reduced", "complete"):
            q, r = dy.linalg.qr(a, mode)
            assert (q @ r - a).abs().max() < 1e-12 and (q.T @ q - dy.eye(q.shape[1], dtype=dy.float64)).abs().max() < 1e-13
            assert (r.tril(-1) == 0).all()
        assert (dy.linalg.qr(a, "r").R - dy.linalg.qr(a).R).abs().max() == 0
