"""dyadic.testing: what is close, and what is said where it is not (PyTorch's words)."""
import math

import numpy as np
import pytest

import dyadic as torch
from dyadic.testing import assert_allclose, assert_close, make_tensor

T = torch.tensor
X = T([1.0, 2.0, 3.0])


def said(*args, **options):
    with pytest.raises(AssertionError) as e:
        assert_close(*args, **options)
    return str(e.value)


def test_what_is_close():
    assert_close(X, X + 1e-7)
    assert_close([X, 1.0, {"a": (T(1),)}, None], [X, 1.0 + 1e-9, {"a": (T(1),)}, None])
    assert_close(X, X.double(), check_dtype=False)
    assert_close(T([math.nan]), T([math.nan]), equal_nan=True)
    assert_close(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    assert_close(T([1, 2]), T([1, 3]), rtol=0, atol=1)
    assert_close(T([1 + 1j]), T([1 + 1j]))
    assert_close(X.to(torch.bfloat16), (X * 1.01).to(torch.bfloat16))
    assert_allclose(X, X.double())


def test_what_is_said():
    assert said(X, T([1.0, 2.5, 3.0])) == (
        "1 of 3 elements differ (33.3 %)\nlargest absolute difference 0.5 at (1,), allowed 1e-05\n"
        "largest relative difference 0.2 at (1,), allowed 1.3e-06"
    )
    assert said(1.0, 2.0) == (
        "1.0, expected 2.0\nabsolute difference 1.0, allowed 1e-07\nrelative difference 0.5, allowed 1e-07"
    )
    assert said(T([1, 2]), T([1, 4])) == (
        "1 of 2 elements differ (50.0 %)\nlargest absolute difference 2 at (1,)\nlargest relative difference 0.5 at (1,)"
    )
    assert said([X, X], [X, X + 1]).startswith("[1]: 3 of 3 elements differ")
    assert said({"a": X}, {"a": X[:2]}) == "['a']: shape is (3,), expected (2,)"
    assert said(X, X.double()) == "dtype is dyadic.float32, expected dyadic.float64"
    assert "stride()" in said(torch.ones(2, 3), torch.ones(3, 2).t(), check_stride=True)
    assert "device" in said(X, torch.empty(3, device="meta"))
    assert said([X], [X, X]) == "1 items, expected 2" and "only one of the two has the keys" in said({"a": X}, {"b": X})
    assert said(None, X).startswith("None, expected tensor")
    assert said(X, X + 1, msg="mine") == "mine" and said(1.0, 2.0, msg=lambda text: text[:3]) == "1.0"
    assert said(T([True]), T([False])).startswith("1 of 1 elements differ")
    assert "differ" in said(T([math.nan]), T([math.nan]))
    with pytest.raises(ValueError, match="given together"):
        assert_close(X, X, rtol=1e-3)


def test_inputs_for_tests():
    t = make_tensor(2, 3, dtype=torch.float32)
    assert list(t.shape) == [2, 3] and t.abs().max() <= 9
    assert make_tensor((2,), dtype=torch.int64, low=3, high=4).tolist() == [3, 3]
    assert not make_tensor((2, 2), dtype=torch.float32, noncontiguous=True).is_contiguous()
    assert make_tensor((50,), dtype=torch.uint8, exclude_zero=True).min() > 0
    assert make_tensor(3, dtype=torch.complex64).is_complex() and make_tensor(3, dtype=torch.bool).dtype == torch.bool
    assert make_tensor(3, dtype=torch.float64, requires_grad=True).requires_grad
