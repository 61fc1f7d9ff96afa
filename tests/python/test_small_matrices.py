"""Batches of matrices small enough to be factored many at a time, against numpy: sizes, layouts, singular and broken ones."""
import numpy as np
import pytest

import dyadic as dy

KINDS = {"f32": (np.float32, 2e-4), "f64": (np.float64, 1e-10), "c64": (np.complex64, 2e-4), "c128": (np.complex128, 1e-10)}
L = dy.linalg


def random(rng, sizes, kind):
    x = rng.standard_normal(sizes)
    if np.issubdtype(kind, np.complexfloating):
        x = x + 1j * rng.standard_normal(sizes)
    return x.astype(kind)


def layouts(a):
    """Tensors of a's matrices that lie in different ways."""
    yield dy.from_numpy(a)
    yield dy.from_numpy(np.ascontiguousarray(a.swapaxes(-1, -2))).mT
    yield dy.from_numpy(np.ascontiguousarray(np.repeat(a, 2, 0)))[::2]
    yield dy.from_numpy(np.ascontiguousarray(np.moveaxis(a, 0, -1))).permute(2, 0, 1)


def pivots_of(a):
    """LAPACK's pivots and factors: the first largest magnitude, for complex numbers the sum of the parts'."""
    a, pivots = a.copy(), []
    for j in range(min(a.shape)):
        size = np.abs(a[j:, j].real) + np.abs(a[j:, j].imag)
        p = j + int(np.argmax(size))
        pivots.append(p + 1)
        a[[j, p]] = a[[p, j]]
        if a[j, j] != 0:
            a[j + 1:, j] /= a[j, j]
            a[j + 1:, j + 1:] -= np.outer(a[j + 1:, j], a[j, j + 1:])
    return pivots, a


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [*range(1, 10), 15, 16, 17])
@pytest.mark.parametrize("batch", [0, 1, 5, 37])
def test_against_numpy(batch, n, kind):
    dtype, tolerance = KINDS[kind]
    rng = np.random.default_rng(n)
    a = random(rng, (batch, n, n), dtype) + 2 * np.eye(n, dtype=dtype)
    b, v = random(rng, (batch, n, 5), dtype), random(rng, (batch, n), dtype)

    def close(x, y):
        assert x.shape == y.shape
        np.testing.assert_allclose(x.numpy(), y, rtol=tolerance, atol=tolerance * max(1, np.abs(y).max(initial=0)))

    wide = a.astype(np.result_type(dtype, np.float64))
    for t in layouts(a):
        close(L.det(t), np.linalg.det(wide))
        sign, log = L.slogdet(t)
        close(sign, np.linalg.slogdet(wide)[0])
        close(log, np.linalg.slogdet(wide)[1])
        condition = np.linalg.cond(wide).max(initial=1)
        if condition < 1e3:
            close(L.inv(t), np.linalg.inv(wide))
            close(L.solve(t, dy.from_numpy(b)), np.linalg.solve(wide, b))
            close(L.solve(t, dy.from_numpy(v)), np.linalg.solve(wide, v[..., None])[..., 0])
            for y in layouts(b):
                assert dy.equal(L.solve(t, y), L.solve(t, dy.from_numpy(b)))
        lu, pivots = L.lu_factor(t)
        for i in range(batch):
            p, f = pivots_of(wide[i])
            assert pivots[i].tolist() == p
            close(lu[i], f)
    alone = [L.inv(dy.from_numpy(x)) for x in a]
    assert all(dy.equal(x, y) for x, y in zip(alone, L.inv(dy.from_numpy(a))))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (3, 7), (7, 3), (16, 2), (9, 16), (17, 3)])
def test_rectangular_factors(shape, kind):
    dtype, tolerance = KINDS[kind]
    a = random(np.random.default_rng(1), (6, *shape), dtype)
    lu, pivots = L.lu_factor(dy.from_numpy(a))
    for i in range(6):
        p, f = pivots_of(a[i])
        assert pivots[i].tolist() == p
        np.testing.assert_allclose(lu[i].numpy(), f, rtol=tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_broadcast_batches(n, kind):
    dtype, tolerance = KINDS[kind]
    rng = np.random.default_rng(2)
    for left, right in [((), (7,)), ((7,), ()), ((3, 1), (1, 5)), ((2, 3), (3,)), ((1, 3), (2, 1)), ((0,), (1,))]:
        a = random(rng, (*left, n, n), dtype) + 3 * np.eye(n, dtype=dtype)
        b = random(rng, (*right, n, 2), dtype)
        x = L.solve(dy.from_numpy(a), dy.from_numpy(b))
        np.testing.assert_allclose(x.numpy(), np.linalg.inv(a) @ b, rtol=tolerance, atol=tolerance)
        y = L.solve(dy.from_numpy(a), dy.from_numpy(np.ascontiguousarray(b.swapaxes(-1, -2))), left=False)
        product = y.numpy() @ a
        np.testing.assert_allclose(product, np.broadcast_to(b.swapaxes(-1, -2), product.shape), rtol=10 * tolerance, atol=10 * tolerance)
    same = dy.from_numpy(a[:0].reshape(0, n, n)).new_ones(n, n) + dy.eye(n, dtype=x.dtype)
    assert dy.equal(L.inv(same.expand(19, n, n)), L.inv(same).expand(19, n, n))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_singular_matrices(n, kind):
    dtype, _ = KINDS[kind]
    a = np.tile(np.eye(n, dtype=dtype), (33, 1, 1))
    a[4] = 0
    a[20] = 1
    a[32, n - 1] = 0
    t = dy.from_numpy(a)
    expected = [0] * 33
    expected[4], expected[20], expected[32] = 1, 2, n
    inverse, info = L.inv_ex(t)
    assert info.tolist() == expected
    regular = [i for i in range(33) if expected[i] == 0]
    assert dy.equal(inverse[regular], t[regular])
    assert not np.isfinite(inverse[4].numpy()).any()
    assert L.lu_factor_ex(t)[2].tolist() == expected
    assert L.solve_ex(t, t)[1].tolist() == expected
    assert L.det(t).tolist() == [0 if i else 1 for i in expected]
    sign, log = L.slogdet(t)
    assert [x == 0 for x in sign.tolist()] == [i > 0 for i in expected]
    assert [x == -np.inf for x in log.tolist()] == [i > 0 for i in expected]
    for refused in (lambda: L.inv(t), lambda: L.solve(t, t), lambda: L.lu_factor_ex(t, check_errors=True)):
        with pytest.raises(L.LinAlgError, match=r"batch element \[4\]: element 1 of the diagonal of U is zero"):
            refused()


def test_zero_columns_are_passed_over():
    lu, pivots, info = L.lu_factor_ex(dy.tensor([[[0.0, 2.0, 1.0], [0.0, 1.0, 3.0], [0.0, 4.0, 4.0]]]))
    assert info.tolist() == [1] and pivots.tolist() == [[1, 3, 3]]
    assert lu.tolist() == [[[0, 2, 1], [0, 4, 4], [0, 0.25, 2]]]


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_nan_and_infinity_stay_in_their_matrix(n):
    a = np.tile(np.eye(n), (21, 1, 1)) + np.random.default_rng(3).standard_normal((21, n, n)) / 8
    clean = L.inv(dy.from_numpy(a))
    a[3] = np.nan
    a[10, n - 1, 0] = np.nan
    a[20, 0, 0] = np.inf
    t = dy.from_numpy(a)
    rest = [i for i in range(21) if i not in (3, 10, 20)]
    inverse, info = L.inv_ex(t)
    assert dy.equal(inverse[rest], clean[rest]) and info.tolist() == [0] * 21
    assert inverse[3].isnan().all() and inverse[10].isnan().any()
    assert L.det(t)[3].isnan() and L.det(t)[10].isnan()
    # NaN is no pivot unless it is the first.
    assert L.lu_factor(dy.tensor([[1.0, 2.0], [np.nan, 3.0]]))[1].tolist() == [1, 2]
    assert L.lu_factor(dy.tensor([[np.nan, 2.0], [5.0, 3.0]]))[1].tolist() == [1, 2]


def test_far_apart_magnitudes():
    for scale in (1e-44, 1e-39, 1e-30, 1e30, 3e38):
        a = dy.tensor([[scale, 0.0], [0.0, 1.0]])
        assert L.solve(a, dy.tensor([scale, 1.0])).tolist() == [1, 1]
    a = dy.tensor([[1e-300 + 1e-300j, 0], [0, 1e300 + 1e300j]], dtype=dy.complex128)
    assert np.allclose((a @ L.inv(a)).numpy(), np.eye(2))


@pytest.mark.parametrize("dtype", [dy.bfloat16, dy.float16])
def test_rounded_once(dtype):
    a = (dy.randn(9, 3, 3) + 3 * dy.eye(3)).to(dtype)
    assert dy.equal(L.inv(a), L.inv(a.float()).to(dtype))
    assert dy.equal(L.det(a), L.det(a.float()).to(dtype))


@pytest.mark.parametrize("n", [1, 3, 5])
def test_gradients(n):
    rng = np.random.default_rng(4)
    a = dy.from_numpy(rng.standard_normal((3, n, n)) + 2 * np.eye(n)).requires_grad_()
    b = dy.from_numpy(rng.standard_normal((3, n, 2))).requires_grad_()
    for f, given in [(L.det, (a,)), (L.inv, (a,)), (L.solve, (a, b)), (lambda x: L.slogdet(x)[1], (a,)),
                     (lambda x: L.lu_factor(x)[0], (a,)), (lambda x: L.inv(x.mT), (a,))]:
        assert dy.autograd.gradcheck(f, given)


def test_any_number_of_threads():
    a, before = dy.randn(5001, 3, 3), dy.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            dy.set_num_threads(threads)
            results.append((L.inv(a), L.det(a), L.solve(a, a), L.lu_factor(a)[0]))
    finally:
        dy.set_num_threads(before)
    assert all(dy.equal(x, y) for other in results[1:] for x, y in zip(results[0], other))


def test_products_of_64_bit_integers_keep_them():
    for dtype in (dy.int64, dy.uint64):
        x = dy.tensor([[1 << 40, 3]], dtype=dtype)
        assert (x @ dy.tensor([[5], [7]], dtype=dtype)).tolist() == [[(5 << 40) + 21]]
