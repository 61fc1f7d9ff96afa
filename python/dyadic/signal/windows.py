"""Windows: M weights that fall off to both sides, symmetric, or (sym=False) one period of a periodic one."""
import math

from .. import _dyadic
from .._dyadic import Tensor
from .._ignored import about_memory

__all__ = """
bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall
""".split()


def _window(name, M, sym, weights, options):
    """weights(k, last) of the places k = 0 ... last, where last is M - 1, or M of a periodic window."""
    dtype, device, grad = options.pop("dtype", None) or _dyadic.get_default_dtype(), options.pop("device", None), options.pop("requires_grad", False)
    about_memory(name, "layout", options.pop("layout", None))
    if options:
        raise TypeError(f"{name}: unknown keyword {sorted(options)[0]!r}")
    if M < 0:
        raise ValueError(f"{name}: M is not negative, not {M}")
    if not dtype.is_floating_point:
        raise ValueError(f"{name}: the dtype is floating-point, not {dtype}")
    k = _dyadic.arange(0, M, dtype=_dyadic.float64)
    values = _dyadic.ones([M], dtype=_dyadic.float64) if M <= 1 else weights(k, M - 1 if sym else M)
    values = values.to(dtype=dtype, device=device)
    return values.requires_grad_() if grad else values


def general_cosine(M, *, a, sym=True, **options):
    """a[0] - a[1] cos(x) + a[2] cos(2 x) - ... over one turn x."""
    if not isinstance(a, (list, tuple, Tensor)) or not len(a):
        raise TypeError("general_cosine: a is a list of coefficients, at least one")

    def weights(k, last):
        return sum((-1) ** i * float(c) * (2 * math.pi * i / last * k).cos() for i, c in enumerate(a))

    return _window("general_cosine", M, sym, weights, options)


def general_hamming(M, *, alpha=0.54, sym=True, **options):
    """alpha - (1 - alpha) cos(x) over one turn x."""
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, **options)


def hamming(M, *, sym=True, **options):
    """general_hamming with alpha 0.54."""
    return general_hamming(M, sym=sym, **options)


def hann(M, *, sym=True, **options):
    """general_hamming with alpha 0.5: a squared sine."""
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M, *, sym=True, **options):
    """general_cosine with 0.42, 0.5, 0.08."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M, *, sym=True, **options):
    """general_cosine with Nuttall's four coefficients of least side lobes."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


def bartlett(M, *, sym=True, **options):
    """A triangle with zeros at its ends."""
    return _window("bartlett", M, sym, lambda k, last: 1 - (2 * k / last - 1).abs(), options)


def cosine(M, *, sym=True, **options):
    """Half a turn of a sine."""
    return _window("cosine", M, sym, lambda k, last: (math.pi * (k + 0.5) / (last + 1)).sin(), options)


def exponential(M, *, center=None, tau=1.0, sym=True, **options):
    """exp(-|k - center| / tau); the center is the middle unless a periodic window has another one."""
    if tau <= 0:
        raise ValueError(f"exponential: tau is positive, not {tau}")
    if sym and center is not None:
        raise ValueError("exponential: a symmetric window has its center in the middle; leave center out")
    return _window("exponential", M, sym, lambda k, last: (-(k - (last / 2 if center is None else center)).abs() / tau).exp(), options)


def gaussian(M, *, std=1.0, sym=True, **options):
    """A bell of standard deviation std."""
    if std <= 0:
        raise ValueError(f"gaussian: std is positive, not {std}")
    return _window("gaussian", M, sym, lambda k, last: (-(((k - last / 2) / std) ** 2) / 2).exp(), options)


def kaiser(M, *, beta=12.0, sym=True, **options):
    """I0(beta sqrt(1 - x^2)) / I0(beta) of x from -1 to 1."""
    if beta < 0:
        raise ValueError(f"kaiser: beta is not negative, not {beta}")

    def weights(k, last):
        root = (1 - (2 * k / last - 1) ** 2).clamp(min=0).sqrt()
        return _dyadic.i0e(beta * root) * (beta * (root - 1)).exp() / _dyadic.i0e(_dyadic.tensor(beta, dtype=k.dtype))

    return _window("kaiser", M, sym, weights, options)
