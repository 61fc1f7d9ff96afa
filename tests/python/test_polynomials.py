"""Orthogonal polynomials of dyadic.special: numpy's series and trigonometric forms are the oracle."""
import numpy as np
import pytest
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre

import dyadic as torch

X = np.array([-0.9, -0.3, 0.0, 0.4, 0.99])
ANGLE = np.arccos(X)
ORACLES = {
    "chebyshev_polynomial_t": lambda n: chebyshev.chebval(X, [0] * n + [1]),
    "chebyshev_polynomial_u": lambda n: np.sin((n + 1) * ANGLE) / np.sin(ANGLE),
    "chebyshev_polynomial_v": lambda n: np.cos((n + 0.5) * ANGLE) / np.cos(ANGLE / 2),
    "chebyshev_polynomial_w": lambda n: np.sin((n + 0.5) * ANGLE) / np.sin(ANGLE / 2),
    "hermite_polynomial_h": lambda n: hermite.hermval(X, [0] * n + [1]),
    "hermite_polynomial_he": lambda n: hermite_e.hermeval(X, [0] * n + [1]),
    "laguerre_polynomial_l": lambda n: laguerre.lagval(X, [0] * n + [1]),
    "legendre_polynomial_p": lambda n: legendre.legval(X, [0] * n + [1]),
}


@pytest.mark.parametrize("name", ORACLES)
def test_values(name):
    f = getattr(torch.special, name)
    want = np.stack([ORACLES[name](n) for n in range(9)])
    got = np.stack([f(torch.tensor(X), n).numpy() for n in range(9)])
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(f(torch.tensor(X), torch.arange(9)[:, None]).numpy(), got)
    assert f(torch.tensor(X), -1).tolist() == [0] * 5


@pytest.mark.parametrize("letter", "tuvw")
def test_shifted(letter):
    x = torch.tensor(X)
    shifted = getattr(torch.special, f"shifted_chebyshev_polynomial_{letter}")
    plain = getattr(torch.special, f"chebyshev_polynomial_{letter}")
    for n in range(6):
        assert torch.allclose(shifted(x, n), plain(2 * x - 1, n), rtol=1e-12, atol=1e-12)


def test_operands():
    f = torch.special.legendre_polynomial_p
    assert f(2.0, torch.tensor([1, 2])).tolist() == [2, 5.5] and f(torch.tensor([1, 2]), 2).dtype is torch.float32
    assert f(torch.tensor([float("nan")]), 0).item() == 1 and f(torch.tensor([float("nan")]), 2).isnan().all()
    assert f(torch.zeros(0), 3).shape == (0,) and f(torch.ones(2), torch.zeros(0, 1, dtype=torch.int64)).shape == (0, 2)
    with pytest.raises(TypeError, match="one of them is a Tensor"):
        f(1.0, 2)
    x = torch.tensor([0.5], requires_grad=True)
    f(x, 3).backward()
    assert x.grad.item() == pytest.approx((15 * 0.25 - 3) / 2)
