"""dyadic.array_api: the standard's signatures, and numpy, whose main namespace follows the standard too, as the oracle of values,
dtypes and shapes."""
import inspect
import math
from pathlib import Path

import numpy as np
import pytest

import dyadic as dy
from dyadic import array_api as xp

SIGNATURES = [
    line.split("(", 1) for line in (Path(__file__).parent / "data" / "array_api_signatures.txt").read_text().splitlines() if line[0] != "#"
]
WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REAL, COMPLEX = ["float32", "float64"], ["complex64", "complex128"]
NUMERIC = WHOLE + REAL + COMPLEX


@pytest.mark.parametrize("name, signature", SIGNATURES)
def test_signature(name, signature):
    extension, _, name = name.rpartition(".")
    function = getattr(getattr(xp, extension) if extension else xp, name)
    assert str(inspect.signature(function)) == "(" + signature
    assert function.__doc__


def array(shape, dtype, seed=0, low=-4, high=4):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in WHOLE:
        return rng.integers(0 if dtype[0] == "u" else low, high, shape).astype(dtype)
    x = rng.uniform(low, high, shape)
    return (x + 1j * rng.uniform(low, high, shape)).astype(dtype) if dtype in COMPLEX else x.astype(dtype)


def both(call, *arrays, tolerance=None):
    """call(namespace, arrays...) of numpy and of dyadic; compares them."""
    with np.errstate(all="ignore"):
        want = call(np, *arrays)
    got = call(xp, *[dy.tensor(a) if isinstance(a, np.ndarray) else a for a in arrays])
    several = isinstance(want, (tuple, list))
    assert several == isinstance(got, (tuple, list))
    for w, g in zip(want, got, strict=True) if several else [(want, got)]:
        w = np.asarray(w)
        assert g.shape == w.shape and g.dtype.long_name == w.dtype.name
        eps = np.finfo(w.dtype).eps if w.dtype.kind in "fc" else 0
        np.testing.assert_allclose(g.numpy(), w, rtol=(tolerance or 8) * eps, atol=(tolerance or 8) * eps)


UNARY = {
    "abs": NUMERIC, "acos": REAL, "acosh": REAL, "asin": REAL, "asinh": REAL, "atan": REAL, "atanh": REAL, "bitwise_invert": WHOLE + ["bool"],
    "ceil": WHOLE + REAL, "conj": COMPLEX, "cos": REAL + COMPLEX, "cosh": REAL, "exp": REAL + COMPLEX, "expm1": REAL, "floor": WHOLE + REAL, "imag": COMPLEX,
    "isfinite": NUMERIC, "isinf": NUMERIC, "isnan": NUMERIC, "log": REAL, "log1p": REAL, "log2": REAL, "log10": REAL, "logical_not": ["bool"],
    "negative": REAL + COMPLEX + WHOLE[:4], "positive": NUMERIC, "real": COMPLEX, "reciprocal": REAL, "round": REAL + COMPLEX + WHOLE, "sign": NUMERIC,
    "signbit": REAL, "sin": REAL, "sinh": REAL, "square": NUMERIC, "sqrt": REAL, "tan": REAL, "tanh": REAL, "trunc": REAL + WHOLE,
}  # fmt: skip
BINARY = {
    "add": NUMERIC, "atan2": REAL, "bitwise_and": WHOLE + ["bool"], "bitwise_or": WHOLE + ["bool"], "bitwise_xor": WHOLE + ["bool"], "copysign": REAL,
    "divide": REAL + COMPLEX, "equal": NUMERIC + ["bool"], "floor_divide": REAL, "greater": WHOLE + REAL, "greater_equal": WHOLE + REAL, "hypot": REAL,
    "less": WHOLE + REAL, "less_equal": WHOLE + REAL, "logaddexp": REAL, "logical_and": ["bool"], "logical_or": ["bool"], "logical_xor": ["bool"],
    "maximum": WHOLE + REAL, "minimum": WHOLE + REAL, "multiply": NUMERIC, "nextafter": REAL, "not_equal": NUMERIC, "remainder": REAL,
    "subtract": WHOLE[:4] + REAL + COMPLEX,
}  # fmt: skip


@pytest.mark.parametrize("name, dtype", [(n, d) for n, ds in UNARY.items() for d in ds])
def test_unary(name, dtype):
    low, high = {"acosh": (1, 4), "acos": (-1, 1), "asin": (-1, 1), "atanh": (-0.9, 0.9), "log1p": (0, 4), "log": (0.1, 4), "sqrt": (0, 4)}.get(name, (-4, 4))
    both(lambda np, x: getattr(np, name)(x), array((3, 4), dtype, low=low, high=high))


@pytest.mark.parametrize("name, dtype", [(n, d) for n, ds in BINARY.items() for d in ds])
def test_binary(name, dtype):
    both(lambda np, x, y: getattr(np, name)(x, y), array((3, 4), dtype), array((4,), dtype, 1), tolerance=16)


def test_binary_with_numbers_and_whole_division():
    both(lambda np, x: np.add(x, 2), array(3, "float32"))
    both(lambda np, x: np.multiply(2, x), array(3, "int16"))
    both(lambda np, x: np.pow(x, 2), array(3, "float64"))
    both(lambda np, x, y: np.pow(x, y), array(4, "int64"), array(4, "uint8"))
    for name in ("floor_divide", "remainder"):
        both(lambda np, x, y: getattr(np, name)(x, y), array(4, "int32"), array(4, "int32", 1, 1, 5))
    both(lambda np, x, y: np.bitwise_left_shift(x, y), array(4, "int32", 0, 0), array(4, "int32", 1, 0))
    both(lambda np, x: np.clip(x, -1, 2), array(9, "int8"))
    both(lambda np, x: np.clip(x, 0.5, None), array(9, "float32"))
    both(lambda np, x, y: np.clip(x, y, None), array(9, "float64"), array(9, "float64", 1))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "all", "any", "argmax", "argmin", "count_nonzero", "std", "var"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(name, axis, keepdims):
    if isinstance(axis, tuple) and name.startswith("arg"):
        with pytest.raises(TypeError):
            getattr(xp, name)(dy.ones(2, 3, 4), axis=axis)
        return
    for dtype in (["float64"] if name in ("mean", "std", "var") else ["int64", "float64"]):
        both(lambda np, x: getattr(np, name)(x, axis=axis, keepdims=keepdims), array((2, 3, 4), dtype), tolerance=64)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint64", "float32", "complex64"])
def test_dtypes_of_sums(dtype):
    x = array((2, 3), dtype)
    both(lambda np, x: np.sum(x), x, tolerance=32)
    both(lambda np, x: np.prod(x, axis=0), x, tolerance=32)
    both(lambda np, x: np.cumulative_sum(x, axis=1, include_initial=True), x, tolerance=32)
    both(lambda np, x: np.cumulative_prod(x, axis=0), x, tolerance=32)
    if dtype != "complex64":
        both(lambda np, x: np.sum(x, dtype=np.float64), x)
    both(lambda np, x: np.std(x, correction=1), array((4, 5), "float32"), tolerance=32)


CALLS = [
    lambda np, x: np.concat([x, x], axis=1),
    lambda np, x: np.concat([x, x], axis=None),
    lambda np, x: np.stack([x, x], axis=1),
    lambda np, x: np.unstack(x, axis=1),
    lambda np, x: np.expand_dims(x, axis=-1),
    lambda np, x: np.squeeze(np.expand_dims(x, axis=1), axis=1),
    lambda np, x: np.flip(x),
    lambda np, x: np.flip(x, axis=0),
    lambda np, x: np.roll(x, 2),
    lambda np, x: np.roll(x, (1, -1), axis=(0, 1)),
    lambda np, x: np.repeat(x, 2),
    lambda np, x: np.repeat(x, 2, axis=1),
    lambda np, x: np.tile(x, (2, 1, 2)),
    lambda np, x: np.reshape(x, (2, 6)),
    lambda np, x: np.permute_dims(x, (1, 0)),
    lambda np, x: np.matrix_transpose(x),
    lambda np, x: np.moveaxis(x, 0, 1),
    lambda np, x: np.broadcast_to(x, (2, 3, 4)),
    lambda np, x: np.broadcast_arrays(x, x[:1]),
    lambda np, x: np.meshgrid(x[0], x[1]),
    lambda np, x: np.meshgrid(x[0], x[1], indexing="ij"),
    lambda np, x: np.tril(x, k=1),
    lambda np, x: np.triu(x, k=-1),
    lambda np, x: np.diff(x),
    lambda np, x: np.diff(x, axis=0, n=2),
    lambda np, x: np.diff(x, prepend=x[:, :1], append=x[:, :2]),
    lambda np, x: np.sort(x, axis=0),
    lambda np, x: np.sort(x, descending=True) if np is xp else -np.sort(-x),
    lambda np, x: np.argsort(x, axis=0, stable=True),
    lambda np, x: np.nonzero(x > 0),
    lambda np, x: np.where(x > 0, x, -x),
    lambda np, x: np.where(x > 0, x, 0),
    lambda np, x: np.searchsorted(np.sort(x[0]), x[1]),
    lambda np, x: np.searchsorted(np.sort(x[0]), x[0], side="right"),
    lambda np, x: np.take(x, np.asarray([0, -1, 1]), axis=1),
    lambda np, x: np.take_along_axis(x, np.argsort(x, axis=0, stable=True), axis=0),
    lambda np, x: np.matmul(x, np.matrix_transpose(x)),
    lambda np, x: np.tensordot(x, np.matrix_transpose(x), axes=1),
    lambda np, x: np.tensordot(x, x, axes=((0, 1), (0, 1))),
    lambda np, x: np.vecdot(x, x, axis=0) if np is xp else np.sum(x * x, axis=0),
    lambda np, x: np.sort(np.unique_values(x)),
    lambda np, x: tuple(np.unique_counts(x)),
    lambda np, x: tuple(np.unique_inverse(x)),
    lambda np, x: tuple(np.unique_all(x)),
    lambda np, x: np.astype(x, np.float32),
    lambda np, x: np.zeros_like(x),
    lambda np, x: np.full_like(x, 3),
    lambda np, x: np.ones_like(x, dtype=np.int16),
]


@pytest.mark.parametrize("i", range(len(CALLS)))
@pytest.mark.parametrize("dtype", ["int64", "float64", "float32"])
def test_calls(i, dtype):
    both(CALLS[i], array((3, 4), dtype), tolerance=64)


CREATED = [
    lambda np: np.arange(5),
    lambda np: np.arange(2, 9, 3),
    lambda np: np.arange(5, 0, -2),
    lambda np: np.arange(3, 1),
    lambda np: np.linspace(0.0, 1.0, 5),
    lambda np: np.linspace(0.0, 1.0, 5, endpoint=False),
    lambda np: np.linspace(0.0, 1.0, 1),
    lambda np: np.eye(3),
    lambda np: np.eye(3, 4, k=1),
    lambda np: np.eye(3, 2, k=-5),
    lambda np: np.zeros((2, 3)),
    lambda np: np.ones(3, dtype=np.int8),
    lambda np: np.full((2,), 7),
    lambda np: np.full((2,), True),
    lambda np: np.full((2,), 1 + 2j),
    lambda np: np.asarray([[1, 2], [3, 4]]),
    lambda np: np.asarray([1.5, 2], dtype=np.float32),
]


@pytest.mark.parametrize("i", range(len(CREATED)))
def test_creation(i):
    with dy.default_dtype("f64"):  # numpy's default
        both(CREATED[i])


def test_default_dtypes():
    assert xp.zeros(2).dtype == dy.float32 and xp.full(2, 1j).dtype == dy.complex64 and xp.full(2, 1).dtype == dy.int64
    assert xp.asarray(1.0).dtype == dy.float32 and xp.linspace(0, 1, 3).dtype == dy.float32


@pytest.mark.parametrize("a", NUMERIC + ["bool"])
@pytest.mark.parametrize("b", NUMERIC + ["bool"])
def test_promotion(a, b):
    kinds = {"u": "i", "i": "i", "f": "f", "c": "f", "b": "b"}
    if kinds[np.dtype(a).kind] != kinds[np.dtype(b).kind] or {a[0], b[0]} == {"u", "i"} and "uint64" in (a, b):
        return  # the standard leaves it open
    want = np.result_type(np.dtype(a), np.dtype(b)).name
    assert xp.result_type(getattr(xp, a), getattr(xp, b)).long_name == want
    assert xp.can_cast(getattr(xp, a), getattr(xp, b)) == (want == b)


def test_dtype_functions():
    assert xp.isdtype(xp.int8, "signed integer") and not xp.isdtype(xp.int8, ("bool", "real floating")) and xp.isdtype(xp.float32, xp.float32)
    with pytest.raises(ValueError, match="unknown kind"):
        xp.isdtype(xp.int8, "ints")
    for name in REAL + COMPLEX:
        i, want = xp.finfo(getattr(xp, name)), np.finfo(name)
        assert (i.bits, i.eps, i.max, i.min, i.smallest_normal) == tuple(float(v) for v in (want.bits, want.eps, want.max, want.min, want.smallest_normal))
        assert isinstance(i.eps, float) and isinstance(i.bits, int) and not i.dtype.is_complex
    for name in WHOLE:
        i, want = xp.iinfo(getattr(xp, name)), np.iinfo(name)
        assert (i.bits, i.max, i.min) == (want.bits, want.max, want.min)
    assert xp.result_type(dy.ones(1), 1) == xp.float32 and xp.result_type(xp.int8, 1.0) == xp.float32 and xp.result_type(xp.float64, 1j) == xp.complex128


def test_info():
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}
    assert info.default_device() in info.devices()
    assert info.default_dtypes() == {"real floating": xp.float32, "complex floating": xp.complex64, "integral": xp.int64, "indexing": xp.int64}
    assert set(info.dtypes()) == set(NUMERIC + ["bool"]) and set(info.dtypes(kind=("bool", "complex floating"))) == {"bool", *COMPLEX}


def test_array_object():
    x = dy.ones(2, 3)
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2024.12") is xp and x.to_device(x.device) is x
    with pytest.raises(ValueError, match="is not known"):
        x.__array_namespace__(api_version="1999.01")
    assert xp.from_dlpack(np.ones(3)).shape == (3,) and xp.asarray(x, copy=False) is x and xp.asarray(x, copy=True) is not x
    with pytest.raises(ValueError, match="without a copy"):
        xp.asarray([1], copy=False)
    assert (xp.pi, xp.e, xp.inf, xp.newaxis) == (math.pi, math.e, math.inf, None) and math.isnan(xp.nan)


def test_nan_is_different_from_itself():
    x = dy.tensor([1.0, math.nan, 1.0, math.nan])
    every = xp.unique_all(x)
    assert every.counts.tolist() == [2, 1, 1] and every.values.shape == (3,) and xp.unique_values(dy.zeros(0)).shape == (0,)


def positive(shape=(2, 3, 3)):
    a = array(shape, "float64")
    return a @ a.swapaxes(-1, -2) + np.eye(shape[-1])


LINALG = [
    lambda np, s, b: np.linalg.cholesky(s),
    lambda np, s, b: np.linalg.cholesky(s, upper=True),
    lambda np, s, b: np.linalg.det(s),
    lambda np, s, b: np.linalg.inv(s),
    lambda np, s, b: np.linalg.eigvalsh(s),
    lambda np, s, b: np.linalg.matrix_norm(s),
    lambda np, s, b: np.linalg.matrix_norm(s, ord=2, keepdims=True),
    lambda np, s, b: np.linalg.matrix_norm(s, ord="nuc"),
    lambda np, s, b: np.linalg.matrix_power(s, 3),
    lambda np, s, b: np.linalg.matrix_rank(s),
    lambda np, s, b: np.linalg.pinv(b),
    lambda np, s, b: np.linalg.svdvals(b),
    lambda np, s, b: np.linalg.solve(s, b),
    lambda np, s, b: np.linalg.solve(s[0], b[0, :, 0]),
    lambda np, s, b: np.linalg.trace(s),
    lambda np, s, b: np.linalg.diagonal(s, offset=1),
    lambda np, s, b: np.linalg.outer(b[0, 0], b[0, 1]),
    lambda np, s, b: np.linalg.cross(s, np.flip(s, axis=1)),
    lambda np, s, b: np.linalg.vector_norm(s),
    lambda np, s, b: np.linalg.vector_norm(s, axis=(0, 1), ord=1, keepdims=True),
]


@pytest.mark.parametrize("i", range(len(LINALG)))
def test_linalg(i):
    both(LINALG[i], positive(), array((2, 3, 4), "float64"), tolerance=1e5)


def test_linalg_factors():
    a, s = dy.tensor(array((2, 4, 3), "float64")), dy.tensor(positive())
    u, e, q = xp.linalg.svd(a, full_matrices=False), xp.linalg.eigh(s), xp.linalg.qr(a)
    assert dy.allclose((u.U * u.S.unsqueeze(-2)) @ u.Vh, a) and dy.allclose(q.Q @ q.R, a)
    assert dy.allclose((e.eigenvectors * e.eigenvalues.unsqueeze(-2)) @ e.eigenvectors.mT, s)
    sign, size = xp.linalg.slogdet(s)
    assert dy.allclose(sign * dy.exp(size), xp.linalg.det(s))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn"])
def test_fft(name):
    x = array((4, 6), "float64" if name in ("rfft", "ihfft", "rfftn") else "complex128")
    several = {"axes": (0,)}, {"s": (3, 4), "axes": (0, 1)}
    for options in ({}, {"norm": "ortho"}, *(several if name.endswith("n") else ({"n": 5}, {"axis": 0}))):
        both(lambda np, x: getattr(np.fft, name)(x, **options), x, tolerance=1e4)


def test_fft_helpers():
    with dy.default_dtype("f64"):
        both(lambda np: np.fft.fftfreq(5, d=0.5))
        both(lambda np: np.fft.rfftfreq(6))
    both(lambda np, x: np.fft.fftshift(x), array((4, 5), "float64"))
    both(lambda np, x: np.fft.ifftshift(x, axes=1), array((4, 5), "float64"))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: xp.squeeze(x, 0),
        lambda x: xp.nonzero(dy.tensor(1)),
        lambda x: xp.take(x, dy.tensor([0])),
        lambda x: xp.cumulative_sum(x),
        lambda x: xp.vecdot(x, x[:, :2]),
        lambda x: xp.searchsorted(x[0], x[0], side="middle"),
    ],
)
def test_refusals(call):
    with pytest.raises((ValueError, RuntimeError)):
        call(dy.zeros(2, 3))
