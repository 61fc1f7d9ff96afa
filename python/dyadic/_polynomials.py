"""Families of orthogonal polynomials by their recurrences: p(x, n) of elements x and degrees n."""
from . import _dyadic
from ._dyadic import Tensor

# The first polynomial is 1. A family is its second one, and the next of (x, p of degree k, p of degree k - 1, k).
_twice = lambda x, p, q, k: 2 * x * p - q
_shifted = lambda x, p, q, k: (4 * x - 2) * p - q
FAMILIES = {
    "chebyshev_polynomial_t": (lambda x: x, _twice, "T: cos(n t) of x = cos(t)"),
    "chebyshev_polynomial_u": (lambda x: 2 * x, _twice, "U: sin((n + 1) t) / sin(t) of x = cos(t)"),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, _twice, "V: cos((n + 1/2) t) / cos(t/2) of x = cos(t)"),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, _twice, "W: sin((n + 1/2) t) / sin(t/2) of x = cos(t)"),
    "shifted_chebyshev_polynomial_t": (lambda x: 2 * x - 1, _shifted, "T of 2x - 1"),
    "shifted_chebyshev_polynomial_u": (lambda x: 4 * x - 2, _shifted, "U of 2x - 1"),
    "shifted_chebyshev_polynomial_v": (lambda x: 4 * x - 3, _shifted, "V of 2x - 1"),
    "shifted_chebyshev_polynomial_w": (lambda x: 4 * x - 1, _shifted, "W of 2x - 1"),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda x, p, q, k: 2 * x * p - 2 * k * q, "H of physicists, for the weight exp(-x^2)"),
    "hermite_polynomial_he": (lambda x: x, lambda x, p, q, k: x * p - k * q, "He of probability, for the weight exp(-x^2 / 2)"),
    "laguerre_polynomial_l": (lambda x: 1 - x, lambda x, p, q, k: ((2 * k + 1 - x) * p - k * q) / (k + 1), "L, for the weight exp(-x)"),
    "legendre_polynomial_p": (lambda x: x, lambda x, p, q, k: ((2 * k + 1) * x * p - k * q) / (k + 1), "P, for the weight 1 on [-1, 1]"),
}


def _operands(name, input, n):
    if not isinstance(input, Tensor) and not isinstance(n, Tensor):
        raise TypeError(f"{name}: input is {type(input).__name__}, n is {type(n).__name__}; one of them is a Tensor")
    if not isinstance(input, Tensor):
        input = _dyadic.full([], float(input), dtype=n.dtype if n.dtype.is_floating_point else None)
    x = input if input.dtype.is_floating_point else input.to(_dyadic.get_default_dtype())
    return x, n.long() if isinstance(n, Tensor) else int(n)


def _made(name, second, following, doc):
    def polynomial(input, n, *, out=None):
        x, n = _operands(name, input, n)
        several = isinstance(n, Tensor)
        degree = (int(n.max()) if n.numel() else 0) if several else n
        one = _dyadic.ones_like(x)
        p, q = one, _dyadic.zeros_like(x)
        result = _dyadic.where(n == 0, one, 0) if several else p if degree == 0 else q
        for k in range(degree):
            p, q = (following(x, p, q, k), p) if k else (second(x), p)
            result = _dyadic.where(n == k + 1, p, result) if several else p
        return result if out is None else out.copy_(result)

    polynomial.__name__ = polynomial.__qualname__ = name
    polynomial.__doc__ = f"The polynomials {doc}, of degree n at input, by their recurrence; 0 for a negative n."
    return polynomial


globals().update({name: _made(name, *family) for name, family in FAMILIES.items()})
__all__ = list(FAMILIES)
