"""Ops of complex numbers: values and gradients from their formulas; complex numbers as arguments."""
import cmath
import math

import pytest

import dyadic as torch


def gradient(function, *values):
    """Of re + 2 im: what autograd makes of it."""
    given = [torch.tensor([v], dtype=torch.complex128, requires_grad=True) for v in values]
    (torch.view_as_real(function(*given)) @ torch.tensor([1.0, 2.0], dtype=torch.float64)).sum().backward()
    return [x.grad.item() for x in given]


def by_derivative(derivative):
    return pytest.approx((1 + 2j) * derivative.conjugate(), rel=1e-9)


@pytest.mark.parametrize("x", [2, -2, 0.5, 0, 2j, 1 + 1j])
def test_gradients_on_the_axes(x):
    e = cmath.exp(x)
    assert gradient(torch.exp, x)[0] == by_derivative(e)
    assert gradient(torch.exp2, x)[0] == by_derivative(2**x * math.log(2) + 0j)
    assert gradient(torch.sigmoid, x)[0] == by_derivative(e / (1 + e) ** 2)
    assert gradient(lambda z: 3**z, x)[0] == by_derivative(3**x * math.log(3) + 0j)
    if x:
        assert gradient(lambda z: z**4, x)[0] == by_derivative(4 * x**3 + 0j)
        assert gradient(torch.sinc, x)[0] == by_derivative((cmath.cos(math.pi * x) - cmath.sin(math.pi * x) / (math.pi * x)) / x)


def test_logarithms_of_sums():
    a, b = torch.tensor([1 + 1j, 1000 + 1j, 0.5j]), torch.tensor([2j, 1 + 2j, 0.5j])
    assert torch.logaddexp(a, b)[1].item() == 1000 + 1j
    assert torch.logaddexp(a, b)[2].item() == pytest.approx(math.log(2) + 0.5j)
    both = torch.stack([a, b])
    torch.testing.assert_close(torch.logsumexp(both, 0), torch.logaddexp(a, b))
    assert torch.logsumexp(both, (0, 1), True).shape == (1, 1)
    first = cmath.exp(1 + 1j) / (cmath.exp(1 + 1j) + cmath.exp(2j))
    assert gradient(torch.logaddexp, 1 + 1j, 2j)[0] == by_derivative(first)
    assert gradient(lambda x, y: torch.logsumexp(torch.cat([x, y]), 0), 1 + 1j, 2j)[0] == by_derivative(first)


def test_truth_of_complex_numbers():
    z, w = torch.tensor([1j, 0j, 2]), torch.tensor([0.0, 0.0, 1.0])
    assert torch.isreal(z).tolist() == [False, True, True]
    assert torch.logical_and(z, w).tolist() == [False, False, True]
    assert torch.logical_or(z, w).tolist() == [True, False, True]
    assert torch.logical_xor(w, z).tolist() == [True, False, False]


def test_parts_that_are_no_numbers():
    nan, inf = math.nan, math.inf
    z = torch.tensor([complex(nan, inf), complex(-inf, nan), 1], requires_grad=True)
    assert torch.nan_to_num(z, 1.0, 2.0, 3.0).tolist() == [1 + 2j, 3 + 1j, 1]
    torch.view_as_real(torch.nan_to_num(z)).sum().backward()
    assert z.grad.tolist() == [0, 0, 1 + 1j]


def test_complex_numbers_as_arguments():
    z, one = torch.tensor([1j]), torch.tensor([1.0])
    assert torch.addcmul(z, z, one, value=2j).item() == 1j - 2
    assert torch.add(z, one, alpha=2j).item() == 3j and torch.sub(z, one, alpha=2j).item() == -1j
    assert torch.lerp(z, 2 * z, 0.5j).item() == pytest.approx(1j - 0.5)
    assert torch.tensor([1j, 2]).scatter(0, torch.tensor([0]), 3j).tolist() == [3j, 2]
    assert torch.index_fill(z, 0, torch.tensor([0]), 3j).item() == 3j
    assert gradient(lambda x, y: torch.lerp(x, y, 0.3 + 1j), 1 + 1j, 2j) == [by_derivative(0.7 - 1j), by_derivative(0.3 + 1j)]
    assert gradient(lambda x, y: torch.addcmul(x, x, y, value=2j), 1 + 1j, 3)[0] == by_derivative(1 + 6j)
    x = torch.tensor([2.0 + 1j], requires_grad=True)
    g = torch.autograd.grad(torch.view_as_real(torch.addcmul(x, x, x, value=2j)).sum(), x, create_graph=True)[0]
    assert g.item() == pytest.approx((1 + 1j) * (1 + 4j * (2 + 1j)).conjugate())
    for call in (
        lambda: torch.norm(z, 2j),
        lambda: torch.linalg.norm(z, 2j),
        lambda: one.scatter(0, torch.tensor([0]), 3j),
        lambda: torch.linspace(0, 1j, 3, dtype=torch.float32),
        lambda: torch.logspace(0, 1j, 3, dtype=torch.float32),
    ):
        with pytest.raises(RuntimeError, match="complex"):
            call()
    with pytest.raises(TypeError):
        torch.logspace(0, 1, 3, base=2j)


def test_rows_between_complex_ends():
    assert torch.linspace(0, 1 + 1j, 3).tolist() == [0, 0.5 + 0.5j, 1 + 1j]
    assert torch.linspace(1j, 2, 1).tolist() == [1j] and torch.linspace(0j, 1, 2).dtype == torch.complex64
    assert torch.logspace(0, 1 + 1j, 2, dtype=torch.complex128)[1].item() == pytest.approx(10 ** (1 + 1j))


def test_layers_of_complex_numbers():
    z = torch.tensor([[3 + 4j, 12j]])
    torch.testing.assert_close(torch.nn.functional.normalize(z), z / 13)
    torch.testing.assert_close(torch.renorm(z, 2, 0, 1.0), z / 13, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(torch.nn.functional.silu(z), z * torch.sigmoid(z))
    torch.testing.assert_close(torch.nn.functional.softsign(z), z / torch.tensor([[6.0, 13.0]]))
    torch.testing.assert_close(torch.nn.functional.tanhshrink(z), z - torch.tanh(z))
    assert torch.ldexp(z, torch.tensor([1, 2])).tolist() == [[6 + 8j, 48j]]
