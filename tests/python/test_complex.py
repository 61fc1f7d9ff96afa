"""Complex numbers and uint64: numpy is the oracle."""
import cmath
import math

import numpy as np
import pytest

import dyadic as dy

R = np.random.default_rng(5)


def numbers(*shape, dtype=np.complex64):
    return (R.standard_normal(shape) + 1j * R.standard_normal(shape)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_numpy_shares_memory(dtype):
    a = numbers(3, 4, dtype=dtype)
    t = dy.from_numpy(a)
    assert t.dtype is (dy.complex64 if dtype is np.complex64 else dy.complex128) and t.dtype.is_complex
    t[1, 2] = 5 - 2j
    assert a[1, 2] == 5 - 2j
    np.testing.assert_array_equal(t.numpy(), a)
    np.testing.assert_array_equal(np.from_dlpack(t), a)
    assert dy.from_dlpack(a).data_ptr() == t.data_ptr()
    assert t.tolist() == a.tolist()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(
    "name, oracle",
    [
        ("add", np.add),
        ("sub", np.subtract),
        ("mul", np.multiply),
        ("div", np.divide),
        ("eq", np.equal),
        ("ne", np.not_equal),
    ],
)
def test_binary(name, oracle, dtype):
    a, b = numbers(5, 7, dtype=dtype), numbers(7, dtype=dtype)
    got = getattr(dy, name)(dy.from_numpy(a), dy.from_numpy(b)).numpy()
    np.testing.assert_allclose(got, oracle(a, b), rtol=1e-5 if dtype is np.complex64 else 1e-13)


@pytest.mark.parametrize("name", ["exp", "sqrt", "square", "reciprocal", "conj", "real", "imag", "abs", "isnan", "isfinite", "isinf", "log", "log2", "log10", "log1p",
                                  "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "angle"])
def test_unary(name):
    a = numbers(33, dtype=np.complex128)
    got = getattr(dy, name)(dy.from_numpy(a)).numpy()
    want = getattr(np, name)(a)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-14)


def test_square_root_on_the_branch_cut():
    a = np.array([-4 + 0j, complex(-4, -0.0), 0j, complex(-0.0, -0.0), 1e-320j, 1e300 + 1e300j, -1e300 + 1j])
    got = dy.sqrt(dy.from_numpy(a)).numpy()
    np.testing.assert_allclose(got, np.sqrt(a), rtol=1e-12)
    np.testing.assert_array_equal(np.signbit(got.imag), np.signbit(np.sqrt(a).imag))


def test_reductions_and_products():
    a, b = numbers(4, 5, 6, dtype=np.complex128), numbers(6, 3, dtype=np.complex128)
    t = dy.from_numpy(a)
    np.testing.assert_allclose(dy.sum(t, [0, 2]).numpy(), a.sum((0, 2)))
    np.testing.assert_allclose(dy.mean(t, [1], True).numpy(), a.mean(1, keepdims=True))
    np.testing.assert_allclose(dy.prod(t, [2]).numpy(), a.prod(2))
    np.testing.assert_allclose(dy.var(t).item(), a.var(ddof=1))
    np.testing.assert_allclose((t @ dy.from_numpy(b)).numpy(), a @ b)
    assert dy.any(t).item() is True and not t.is_meta


def test_numbers_of_python():
    t = dy.tensor([1 + 2j, 3, True])
    assert t.dtype is dy.complex64 and t.tolist() == [1 + 2j, 3, 1]
    assert dy.tensor(1j, dtype=complex).dtype is dy.complex128
    assert (t * 1j).tolist() == [-2 + 1j, 3j, 1j]
    assert dy.ones(2, dtype=dy.float64).mul(2j).dtype is dy.complex128
    assert complex(t[0]) == 1 + 2j and t[0].item() == 1 + 2j and bool(t[0]) and float(t[1]) == 3
    with pytest.raises(ValueError, match="not real"):
        float(t[0])
    with pytest.raises(TypeError, match="complex"):
        dy.argmax(t)
    assert repr(t) == "tensor([1.+2.j, 3.+0.j, 1.+0.j])"
    assert np.complex64(2j) * dy.ones(1) is not None


def test_gradient():
    z = dy.tensor([1 + 2j, -0.5j], requires_grad=True)
    dy.abs(z).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), np.array([1 + 2j, -0.5j]) / np.abs([1 + 2j, -0.5j]), rtol=1e-6)


def test_files(tmp_path):
    a = dy.from_numpy(numbers(3, 2))
    dy.save({"a": a, "b": dy.full([2], 2**64 - 1, dtype=dy.uint64)}, str(tmp_path / "f"))
    back = dy.load(str(tmp_path / "f"))
    assert back["a"].tolist() == a.tolist() and back["b"].tolist() == [2**64 - 1] * 2


def test_uint64():
    t = dy.tensor([2**64 - 1, 2**63, 5], dtype=dy.uint64)
    assert t.tolist() == [2**64 - 1, 2**63, 5] and t[0].item() == 2**64 - 1
    a = np.array([2**64 - 1, 2**63, 5], np.uint64)
    np.testing.assert_array_equal(t.numpy(), a)
    np.testing.assert_array_equal((t + t).numpy(), a + a)
    np.testing.assert_array_equal((t > 2**63).numpy(), a > 2**63)
    np.testing.assert_array_equal(t.to(dy.float32).numpy(), a.astype(np.float32))
    assert dy.amax(t).item() == 2**64 - 1 and dy.argmin(t).item() == 2
    with pytest.raises(ValueError, match="uint64"):
        dy.tensor([2**63])


def test_default_dtype_in_a_scope():
    with dy.default_dtype(dy.float64):
        assert dy.ones(1).dtype is dy.float64 and dy.tensor(1j).dtype is dy.complex128
        with dy.default_dtype("bf16"):
            assert dy.tensor([1.5]).dtype is dy.bfloat16
        assert dy.get_default_dtype() is dy.float64

    @dy.default_dtype(dy.float64)
    def made():
        return dy.zeros(2).dtype

    assert made() is dy.float64 and dy.ones(1).dtype is dy.float32
    with pytest.raises(TypeError):
        with dy.default_dtype(dy.int32):
            pass


def test_printoptions():
    t = dy.tensor([1.5, 2.25])
    dy.set_printoptions(precision=2)
    assert repr(t) == "tensor([1.50, 2.25])"
    dy.set_printoptions(sci_mode=True, precision=4)
    assert repr(t) == "tensor([1.5000e+00, 2.2500e+00])"
    dy.set_printoptions(threshold=3, edgeitems=1)
    assert repr(dy.arange(10)) == "tensor([0,  ..., 9])"
    dy.set_printoptions(profile="default")
    assert repr(t) == "tensor([1.5000, 2.2500])"
    with pytest.raises(ValueError, match="profile"):
        dy.set_printoptions(profile="loud")


@pytest.mark.parametrize("name", ["asin", "acos", "atan", "asinh", "acosh", "atanh", "exp", "log", "sqrt"])
def test_branch_cuts_lie_where_c99_has_them(name):
    parts = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0]
    for z in (complex(x, y) for x in parts for y in parts):
        try:
            expected = getattr(cmath, name)(z)
        except ValueError:  # a pole
            continue
        got = getattr(dy, name)(dy.tensor([z], dtype=dy.complex128)).tolist()[0]
        for a, b in ((got.real, expected.real), (got.imag, expected.imag)):
            assert math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-14) and math.copysign(1, a) == math.copysign(1, b), (z, got, expected)


def test_exp_of_infinite_numbers():
    inf, nan = math.inf, math.nan
    got = dy.exp(dy.tensor([complex(-inf, inf), complex(-inf, nan), complex(inf, inf), complex(inf, nan)], dtype=dy.complex128)).tolist()
    assert got[:2] == [0, 0]
    assert all(z.real == inf and math.isnan(z.imag) for z in got[2:])


SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan]
SPECIAL = np.array([complex(a, b) for a in SPECIAL for b in SPECIAL])


@pytest.mark.parametrize("name", "acos acosh asin asinh atan atanh cos cosh exp expm1 log log2 log10 sin sinh sqrt tan tanh".split())
def test_special_values_are_those_of_c99(name):
    op = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh"}.get(name, name)
    with np.errstate(all="ignore"):
        want = getattr(np, op)(SPECIAL)
    got = getattr(dy, name)(dy.from_numpy(SPECIAL)).numpy()
    for part in ("real", "imag"):
        w, g = getattr(want, part), getattr(got, part)
        unsure = np.isinf(w) & (np.isnan(want.real) | np.isnan(want.imag))  # beside NaN the sign of infinity is open
        np.testing.assert_allclose(np.where(unsure, np.abs(g), g), np.where(unsure, np.abs(w), w), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    "name, slope",
    [
        ("sqrt", lambda z: 0.5 / np.sqrt(z)),
        ("asin", lambda z: 1 / np.sqrt(1 - z * z)),
        ("acos", lambda z: -1 / np.sqrt(1 - z * z)),
        ("asinh", lambda z: 1 / np.sqrt(1 + z * z)),
        ("acosh", lambda z: 1 / (np.sqrt(z - 1) * np.sqrt(z + 1))),
        ("atanh", lambda z: 1 / (1 - z * z)),
        ("sinh", np.cosh),
        ("cosh", np.sinh),
        ("sin", np.cos),
        ("tanh", lambda z: 1 / np.cosh(z) ** 2),
    ],
)
def test_gradients_on_the_axes(name, slope):
    z = np.array([0.5 + 0j, 0.3j, -0.4j, 0.7 + 0.2j, -0.5 + 0j])
    if name in ("sqrt", "acosh"):
        z = z[:4]  # the last lies on the cut
    x = dy.tensor(z, requires_grad=True)
    (g,) = dy.autograd.grad(getattr(dy, name)(x).real.sum(), x, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), np.conj(slope(z)), rtol=1e-12)
    eps = 1e-6
    (second,) = dy.autograd.grad(g.real.sum(), x)
    numeric = (np.conj(slope(z + eps)) - np.conj(slope(z - eps))).real / (2 * eps)
    np.testing.assert_allclose(second.numpy().real, numeric, rtol=1e-6, atol=1e-8)
