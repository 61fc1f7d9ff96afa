"""dyadic.linalg against numpy.linalg, on random matrices of every kind; what numpy lacks by what must hold."""
import numpy as np
import pytest

import dyadic as dy

KINDS = [np.float32, np.float64, np.complex64, np.complex128]
EPS = {np.float32: 2e-4, np.complex64: 2e-4, np.float64: 1e-10, np.complex128: 1e-10}


def random(kind, *shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape)).astype(kind) if np.issubdtype(kind, np.complexfloating) else x.astype(kind)


def positive_definite(kind, *shape):
    x = random(kind, *shape)
    return (x @ x.conj().swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])).astype(kind)


def close(actual, expected, kind, scale=1.0):
    expected = np.asarray(expected)
    actual = actual.numpy()
    assert actual.shape == expected.shape
    largest = max(1.0, float(np.abs(expected).max(initial=0.0)))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=EPS[kind] * scale * largest)


@pytest.mark.parametrize("kind", KINDS)
class TestAgainstNumpy:
    def test_determinants(self, kind):
        a = random(kind, 2, 3, 5, 5)
        close(dy.linalg.det(dy.from_numpy(a)), np.linalg.det(a), kind)
        sign, log = dy.linalg.slogdet(dy.from_numpy(a))
        close(sign, np.linalg.slogdet(a)[0], kind)
        close(log, np.linalg.slogdet(a)[1], kind)

    def test_inverse_and_solutions(self, kind):
        a, b = positive_definite(kind, 3, 6, 6), random(kind, 3, 6, 2, seed=1)
        t = dy.from_numpy(a)
        close(dy.linalg.inv(t), np.linalg.inv(a), kind)
        close(dy.linalg.solve(t, dy.from_numpy(b)), np.linalg.solve(a, b), kind)
        close(dy.linalg.solve(t[0], dy.from_numpy(b[0, :, 0].copy())), np.linalg.solve(a[0], b[0, :, 0]), kind)
        close(dy.linalg.cholesky(t), np.linalg.cholesky(a), kind)
        close(dy.cholesky_inverse(dy.linalg.cholesky(t)), np.linalg.inv(a), kind)
        close(dy.cholesky_solve(dy.from_numpy(b), dy.linalg.cholesky(t)), np.linalg.solve(a, b), kind)

    @pytest.mark.parametrize("shape", [(5, 5), (7, 4), (4, 7), (2, 6, 3)])
    def test_factors(self, kind, shape):
        a = random(kind, *shape)
        t = dy.from_numpy(a)
        close(dy.linalg.svdvals(t), np.linalg.svd(a, compute_uv=False), kind)
        u, s, vh = (x.numpy() for x in dy.linalg.svd(t, full_matrices=False))
        np.testing.assert_allclose((u * s[..., None, :]) @ vh, a, atol=EPS[kind] * 10)
        close(dy.linalg.qr(t)[1].abs(), np.abs(np.linalg.qr(a)[1]), kind)
        close(dy.linalg.pinv(t), np.linalg.pinv(a), kind, 10)
        assert dy.linalg.matrix_rank(t).tolist() == np.linalg.matrix_rank(a).tolist()
        close(dy.linalg.cond(t), np.linalg.cond(a), kind, 10)

    def test_eigenvalues(self, kind):
        a, h = random(kind, 2, 5, 5), positive_definite(kind, 2, 5, 5)
        close(dy.linalg.eigvalsh(dy.from_numpy(h)), np.linalg.eigvalsh(h), kind)
        by_size = lambda x: np.sort_complex(np.round(x.astype(np.complex128), 3))  # noqa: E731
        np.testing.assert_allclose(by_size(dy.linalg.eigvals(dy.from_numpy(a)).numpy()), by_size(np.linalg.eigvals(a)), atol=2e-3)
        values, vectors = (x.numpy() for x in dy.linalg.eig(dy.from_numpy(a)))
        np.testing.assert_allclose(a @ vectors, vectors * values[..., None, :], atol=EPS[kind] * 10)

    @pytest.mark.parametrize("order", [None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"])
    def test_norms(self, kind, order):
        a = random(kind, 4, 6)
        close(dy.linalg.norm(dy.from_numpy(a), order), np.linalg.norm(a, order), kind)
        if order is not None:
            b = random(kind, 3, 4, 2)
            actual = dy.linalg.matrix_norm(dy.from_numpy(b), order, dim=(2, 0), keepdim=True)
            close(actual, np.linalg.norm(b, order, axis=(2, 0), keepdims=True), kind)

    def test_vector_norms(self, kind):
        a = random(kind, 3, 5)
        for order in (0, 1, 2, 3.5, np.inf, -np.inf):
            close(dy.linalg.vector_norm(dy.from_numpy(a), order, dim=1), np.linalg.norm(a, order, axis=1), kind)

    def test_products(self, kind):
        a = random(kind, 4, 4)
        t = dy.from_numpy(a)
        for n in (-2, 0, 1, 5):
            close(dy.linalg.matrix_power(t, n), np.linalg.matrix_power(a, n), kind, 10)
        chain = [random(kind, 3, 7), random(kind, 7, 2), random(kind, 2, 5), random(kind, 5)]
        close(dy.linalg.multi_dot([dy.from_numpy(x) for x in chain]), np.linalg.multi_dot(chain), kind)
        b = random(kind, 2, 3, 6)
        close(dy.linalg.tensorinv(dy.from_numpy(b)), np.linalg.tensorinv(b), kind, 10)
        close(dy.linalg.tensorsolve(dy.from_numpy(b), dy.from_numpy(b[..., 0].copy())), np.linalg.tensorsolve(b, b[..., 0]), kind, 10)
        x, y = random(kind, 4, 3), random(kind, 4, 3, seed=2)
        close(dy.linalg.cross(dy.from_numpy(x), dy.from_numpy(y)), np.cross(x, y), kind)
        close(dy.linalg.vecdot(dy.from_numpy(x), dy.from_numpy(y)), (x.conj() * y).sum(-1), kind)

    @pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
    def test_least_squares(self, kind, driver):
        for m, n in ((6, 4), (4, 6), (5, 5)):
            a, b = random(kind, m, n), random(kind, m, 2, seed=1)
            solution, residuals, rank, values = dy.linalg.lstsq(dy.from_numpy(a), dy.from_numpy(b), driver=driver)
            expected = np.linalg.lstsq(a, b, rcond=None)
            close(solution, expected[0], kind, 10)
            if m > n and driver != "gelsy":
                close(residuals, expected[1], kind, 10)
            assert driver == "gels" or int(rank) == expected[2]
            if driver in ("gelsd", "gelss"):
                close(values, expected[3], kind)

    def test_exponential(self, kind):
        h = positive_definite(kind, 4, 4) / 4
        values, vectors = np.linalg.eigh(h)
        close(dy.linalg.matrix_exp(dy.from_numpy(h.astype(kind))), (vectors * np.exp(values)) @ vectors.conj().T, kind)


def test_strided_and_empty():
    a = dy.from_numpy(random(np.float64, 4, 3, 4)).permute(1, 2, 0)
    np.testing.assert_allclose(dy.linalg.inv(a).numpy(), np.linalg.inv(a.numpy()), atol=1e-10)
    assert dy.linalg.det(dy.zeros(0, 0)).item() == 1
    assert dy.linalg.inv(dy.zeros(0, 3, 3)).shape == (0, 3, 3) and dy.linalg.solve(dy.zeros(2, 0, 0), dy.zeros(2, 0, 3)).shape == (2, 0, 3)
    u, s, vh = dy.linalg.svd(dy.zeros(0, 3))
    assert u.shape == (0, 0) and s.shape == (0,) and vh.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_errors_are_linalg_errors():
    assert issubclass(dy.linalg.LinAlgError, RuntimeError)
    with pytest.raises(dy.linalg.LinAlgError, match=r"linalg.inv: the matrix is singular: A is f32\[2, 2, 2\], batch element \[1\]"):
        dy.linalg.inv(dy.tensor([[[1.0, 0], [0, 1]], [[1, 1], [1, 1]]]))
    with pytest.raises(dy.linalg.LinAlgError, match="not positive definite"):
        dy.linalg.cholesky(-dy.eye(2))
    with pytest.raises(TypeError, match="needs floating-point or complex numbers"):
        dy.linalg.det(dy.ones(2, 2, dtype=dy.int64))
    assert dy.linalg.cholesky_ex(-dy.eye(2)).info.item() == 1


def test_names():
    """torch.linalg's names are here, and no others of the family in the package itself."""
    names = """cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh householder_product inv inv_ex lstsq lu lu_factor
        lu_factor_ex lu_solve matmul matrix_exp matrix_norm matrix_power matrix_rank multi_dot norm pinv qr slogdet solve solve_ex
        solve_triangular svd svdvals tensorinv tensorsolve vander vecdot vector_norm"""
    assert all(callable(getattr(dy.linalg, name)) for name in names.split())
    assert not [name for name in dir(dy) if name.startswith(("linalg_", "fft_"))]
    assert not [name for name in dir(dy.Tensor) if name.startswith(("linalg_", "fft_"))]
    a = dy.from_numpy(positive_definite(np.float64, 3, 3))
    assert a.det().item() == dy.linalg.det(a).item() == dy.det(a).item()
    np.testing.assert_allclose(a.logdet().item(), np.linalg.slogdet(a.numpy())[1])
    np.testing.assert_allclose((a.inverse() @ a).numpy(), np.eye(3), atol=1e-12)
    assert a.slogdet().sign.item() == 1 and a.matrix_power(2).shape == a.matrix_exp().shape == a.pinverse().shape
    p, l, u = dy.lu_unpack(*dy.linalg.lu_factor(a))
    np.testing.assert_allclose((p @ l @ u).numpy(), a.numpy(), atol=1e-12)


def test_gradient_through_a_solution():
    a = dy.from_numpy(positive_definite(np.float64, 3, 3)).requires_grad_()
    b = dy.from_numpy(random(np.float64, 3))
    x = dy.linalg.solve(a, b)
    x.sum().backward()
    inverse = np.linalg.inv(a.detach().numpy())
    np.testing.assert_allclose(a.grad.numpy(), -np.outer(inverse.T @ np.ones(3), x.detach().numpy()), atol=1e-12)


def test_a_wrong_dtype_is_caught_as_either_error():
    for error in (TypeError, RuntimeError, dy.DtypeError):
        with pytest.raises(error, match="^linalg|^cholesky|dtype"):
            dy.linalg.cholesky(dy.zeros(2, 2, dtype=dy.int64))
