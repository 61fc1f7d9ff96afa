"""What PyTorch's own calls mean at their edges: corrections that are no integers, gradients of steps, empty matrices, vectors as weights."""
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
