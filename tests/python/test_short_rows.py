"""Shapes whose last dimensions are short, against numpy: boxes, points, pixels, small matrices; in tiles of many rows."""
import itertools

import numpy as np
import pytest

import dyadic as dy

SHAPES = [(700, 3), (1500, 2), (90, 7, 5), (5, 300, 4), (3, 50, 3, 3), (40, 255), (2, 3, 40, 50), (1000, 1, 6), (33, 31), (6, 2, 1, 130)]
DTYPES = [dy.float32, dy.float64, dy.bfloat16, dy.float16, dy.int32, dy.uint8, dy.int64]


def views(shape, dtype):
    """Tensors of the shape that lie in different ways, small integers that every dtype holds."""
    rng = np.random.default_rng(0)

    def made(sizes):
        return dy.from_numpy(rng.integers(0, 5, sizes)).to(dtype)

    yield made(shape)
    yield made(shape[::-1]).permute(*reversed(range(len(shape))))
    yield made([2 * s for s in shape])[tuple(slice(None, None, 2) for _ in shape)]
    yield made([s + 3 for s in shape])[tuple(slice(1, 1 + s) for s in shape)]
    yield made(shape).flip(list(range(len(shape))))
    for d in range(len(shape)):
        yield made([1 if d == k else s for k, s in enumerate(shape)]).expand(shape)
        yield made([s if d == k else 1 for k, s in enumerate(shape)])
    yield made(())


def array(t):
    return t.double().numpy()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_elementwise(shape, dtype):
    for x, y in itertools.islice(itertools.product(views(shape, dtype), repeat=2), 0, None, 3):
        np.testing.assert_array_equal(array(x * y), array(x) * array(y))
        np.testing.assert_array_equal((x > y).numpy(), array(x) > array(y))
        np.testing.assert_array_equal(array(x.to(dy.float32) + y), array(x) + array(y))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_written_where_it_lies(shape, dtype):
    for number, x in enumerate(views(shape, dtype)):
        if tuple(x.shape) != shape or number > 4:
            continue
        for y in views(shape, dtype):
            expected = array(x) + array(y)
            z = x.clone() if number == 0 else dy.empty_like(x)
            out = {1: lambda: dy.empty(shape[::-1], dtype=dtype).permute(*reversed(range(len(shape)))),
                   2: lambda: dy.zeros([2 * s for s in shape], dtype=dtype)[tuple(slice(None, None, 2) for _ in shape)],
                   3: lambda: dy.zeros([s + 3 for s in shape], dtype=dtype)[tuple(slice(1, 1 + s) for s in shape)]}.get(number)
            z = out() if out else z
            z.copy_(x)
            z += y
            np.testing.assert_array_equal(array(z), expected)


@pytest.mark.parametrize("dtype", [dy.float32, dy.float64, dy.bfloat16, dy.int64, dy.uint8], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reductions(shape, dtype):
    for x in views(shape, dtype):
        if tuple(x.shape) != shape:
            continue
        a = array(x)
        for count in range(1, len(shape) + 1):
            for dims in itertools.combinations(range(len(shape)), count):
                wide = dy.float64 if dtype.is_floating_point else None
                np.testing.assert_array_equal(array(x.sum(dims, dtype=wide)), a.sum(dims))
                np.testing.assert_array_equal(array(x.amax(dims)), a.max(dims))
                np.testing.assert_array_equal((x > 3).any(dims).numpy(), (a > 3).any(dims))
                if dtype == dy.float64:
                    np.testing.assert_allclose(x.mean(dims).numpy(), a.mean(dims), rtol=1e-13)
                    np.testing.assert_allclose(x.var(dims, correction=0).numpy(), a.var(dims), rtol=1e-12, atol=1e-12)
        for dim in range(len(shape)):
            values, at = x.max(dim)
            np.testing.assert_array_equal(at.numpy(), a.argmax(dim))
            np.testing.assert_array_equal(array(values), a.max(dim))


def rows_to_reduce(n, inner, dtype):
    """[outer, n, inner] in several ways: dense, cut out of wider rows, every second element, on a diagonal; with ties and NaN."""
    rng = np.random.default_rng(n + inner)
    for outer in (1, 15, 67, 300):
        a = rng.integers(0, 100, (outer, n, inner)).astype(np.float64)
        if n > 1:
            a[::3, n // 2] = a[::3, 0]
        if dtype.is_floating_point:
            a[1::5, n - 1, 0] = a[2::7, 0, inner - 1] = np.nan
        yield dy.from_numpy(a).to(dtype)
    yield dy.from_numpy(a).to(dtype)[:, :, : (inner + 1) // 2]
    yield dy.from_numpy(a).to(dtype)[3::2]
    yield dy.from_numpy(np.repeat(a, 2, 2)).to(dtype)[..., ::2]
    yield dy.from_numpy(a).to(dtype).unsqueeze(2).expand(-1, -1, n, -1).diagonal(dim1=1, dim2=2).transpose(1, 2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("inner", [1, 2, 3, 8, 9, 12, 31])
def test_reductions_of_every_length(inner, dtype):
    for n in [*range(1, 10), 15, 16, 17, 31, 32, 33, 63, 64, 70] if inner > 1 else range(1, 71):
        for x in rows_to_reduce(n, inner, dtype):
            a = array(x)
            np.testing.assert_array_equal(array(x.amax(1)), a.max(1))
            np.testing.assert_array_equal(array(x.amin(1)), a.min(1))
            np.testing.assert_array_equal(x.argmax(1).numpy(), a.argmax(1))
            np.testing.assert_array_equal(x.argmin(1).numpy(), a.argmin(1))
            low, high = x.aminmax(dim=1)
            np.testing.assert_array_equal(array(low), a.min(1))
            np.testing.assert_array_equal(array(high), a.max(1))
            np.testing.assert_array_equal((x > 50).all(1).numpy(), (a > 50).all(1))
            wide = dy.float64 if dtype == dy.float64 else dy.float32 if dtype.is_floating_point else None
            np.testing.assert_array_equal(array(x.sum(1, dtype=wide)), a.sum(1))
            np.testing.assert_array_equal(array(x.sum((0, 2), dtype=wide)), a.sum((0, 2)))
            if wide == dtype:
                np.testing.assert_array_equal(array(x.nansum(1)), np.nansum(a, 1))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_few_columns(dtype):
    rng = np.random.default_rng(0)
    for width, rows in itertools.product([*range(1, 20), 24, 32, 33, 64, 128, 130], [1, 3, 5, 64, 257, 3001]):
        x = dy.from_numpy(rng.integers(0, 100, (rows, width))).to(dtype)
        a = array(x)
        wide = dy.float64 if dtype.is_floating_point else None
        np.testing.assert_array_equal(array(x.sum(0, dtype=wide)), a.sum(0))
        np.testing.assert_array_equal(array(x.amax(0)), a.max(0))
        if dtype == dy.float32:
            np.testing.assert_array_equal(array(x.sum(0)), a.sum(0))


def test_sums_are_the_same_for_any_number_of_threads():
    threads = dy.get_num_threads()
    for sizes, dim in [((3000, 17), 1), ((5000, 3), 0), ((700, 30, 3), 1), ((64, 7, 33), (0, 2)), ((9000, 40, 5), (0, 2)), ((8, 3, 9000), 1)]:
        x = dy.randn(*sizes)
        seen = []
        for count in (1, 2, 3):
            dy.set_num_threads(count)
            seen.append(x.sum(dim).numpy())
        dy.set_num_threads(threads)
        assert all(np.array_equal(seen[0], other) for other in seen)
        np.testing.assert_allclose(seen[0], x.double().numpy().sum(dim), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [dy.float32, dy.float64, dy.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [*SHAPES, (2, 1100, 9), (1, 40, 1030), (3, 0, 5), (0, 3, 9)], ids=str)
def test_softmax_along_each_dimension(shape, dtype):
    x = dy.randn(shape, dtype=dy.float64).mul(3).to(dtype)
    g = dy.randn(shape, dtype=dy.float64).to(dtype)
    tolerance = {dy.float64: 1e-13, dy.float32: 2e-6, dy.bfloat16: 1e-2}[dtype]
    for dim in range(len(shape)):
        a = array(x)
        if x.numel():
            e = np.exp(a - a.max(dim, keepdims=True))
            expected = e / e.sum(dim, keepdims=True)
        else:
            expected = a
        leaf = x.clone().requires_grad_()
        y = leaf.softmax(dim)
        assert y.is_contiguous()
        np.testing.assert_allclose(array(y.detach()), expected, rtol=tolerance, atol=tolerance)
        y.backward(g)
        by = array(g) - (array(g) * expected).sum(dim, keepdims=True)
        np.testing.assert_allclose(array(leaf.grad), expected * by, rtol=tolerance, atol=tolerance * 4)
        logs = x.clone().requires_grad_()
        y = logs.log_softmax(dim)
        np.testing.assert_allclose(array(y.detach()), np.log(expected), rtol=tolerance, atol=tolerance * 4)
        y.backward(g)
        by = array(g) - expected * array(g).sum(dim, keepdims=True)
        np.testing.assert_allclose(array(logs.grad), by, rtol=tolerance, atol=tolerance * 30)


@pytest.mark.parametrize("dtype", [dy.float32, dy.float64, dy.bfloat16, dy.float16, dy.int64, dy.complex64], ids=str)
def test_products_of_small_matrices(dtype):
    rng = np.random.default_rng(0)
    for batch, m, k, n in itertools.product([(), (3,), (2, 1, 4)], [1, 2, 3, 5, 17, 1030], [0, 1, 2, 3, 4, 16, 17], [1, 2, 3, 4, 9, 16, 17]):
        if m > 100 and batch:
            continue
        a, b = (dy.from_numpy(rng.integers(-2, 3, (*batch, *sizes))).to(dtype) for sizes in ((m, k), (n, k)))
        real = [t.double() if t.dtype.is_floating_point else t for t in (a, b)]
        expected = np.matmul(real[0].numpy(), real[1].mT.numpy())
        for left, right in [(a, b.mT), (a.mT.contiguous().mT, b.mT.contiguous()), (a, b.mT.contiguous())]:
            product = left @ right
            np.testing.assert_array_equal((product.double() if dtype.is_floating_point else product).numpy(), expected)


def test_batches_that_step_in_parts():
    def r(*sizes):
        return dy.randn(sizes, dtype=dy.float64)

    for a, b in [(r(2, 3, 4, 5, 6), r(2, 3, 4, 6, 7)), (r(2, 1, 4, 5, 6), r(3, 1, 6, 7)),
                 (r(4, 3, 2, 5, 6).transpose(0, 2), r(2, 3, 4, 6, 7)),
                 (r(2, 5, 3, 6).transpose(1, 2), r(2, 7, 3, 6).permute(0, 2, 3, 1)), (r(1, 3, 5, 6), r(4, 1, 6, 2)),
                 (r(5, 6), r(3, 2, 6, 2)), (r(3, 2, 6), r(6)), (r(6), r(3, 2, 6, 4)), (r(0, 3, 4), r(0, 4, 2)),
                 (r(2, 0, 4), r(2, 4, 2)), (r(3, 3, 5, 6)[::2], r(3, 6, 2)[:1]), (r(4, 1, 5, 6).expand(4, 2, 5, 6), r(4, 2, 6, 3))]:
        np.testing.assert_allclose((a @ b).numpy(), a.numpy() @ b.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [dy.uint8, dy.int16, dy.float32, dy.float64, dy.complex64, dy.complex128], ids=str)
def test_pixels_to_channels_and_back(dtype):
    for channels, size in itertools.product((1, 2, 3, 4, 5), (1, 7, 64, 1000, 70001)):
        x = dy.from_numpy(np.random.default_rng(0).integers(0, 100, (2, size, channels))).to(dtype)
        planes = x.transpose(1, 2).contiguous()
        np.testing.assert_array_equal(planes.numpy(), np.ascontiguousarray(x.numpy().transpose(0, 2, 1)))
        np.testing.assert_array_equal(planes.transpose(1, 2).contiguous().numpy(), x.numpy())
        np.testing.assert_array_equal(x[:, 1:].transpose(1, 2).contiguous().numpy(), x.numpy()[:, 1:].transpose(0, 2, 1))


@pytest.mark.parametrize("sizes", [(2, 3), (700, 3), (3, 700), (2, 3, 5), (4, 300)], ids=str)
def test_one_value_into_places_that_are_one(sizes):
    for d in range(len(sizes)):
        x = dy.ones([1 if d == k else s for k, s in enumerate(sizes)])
        x.expand(sizes).fill_(3)
        assert (x == 3).all()
    dy.ones(()).expand(sizes).zero_()
