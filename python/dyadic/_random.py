"""Random numbers that PyTorch spells with the same name and other arguments, and those that are drawn into a tensor."""
import math

from . import _dyadic
from ._dyadic import Tensor


def normal(mean, std=1.0, size=None, *, generator=None, out=None, dtype=None, device=None, requires_grad=False, **memory):
    """Normal numbers: each element of `mean` and `std` has its own; of two numbers `size` of them."""
    if not isinstance(std, Tensor) and std < 0:
        raise RuntimeError(f"normal: std is not negative: it is {std}")
    if size is not None:
        t = _dyadic.randn(size, dtype=dtype, device=device, generator=generator, out=out, **memory)
        with_std = t.mul_(std).add_(mean)
        return with_std.requires_grad_() if requires_grad else with_std
    tensors = [t for t in (mean, std) if isinstance(t, Tensor)]
    if not tensors:
        raise TypeError("normal: mean and std are numbers; give the size, as in normal(0.0, 1.0, (2, 3))")
    mean, std = (t if isinstance(t, Tensor) else _dyadic.full_like(tensors[0], t) for t in (mean, std))
    return _dyadic.normal(mean, std, generator=generator, out=out)


def randint_like(input, low=None, high=None, *, dtype=None, device=None, requires_grad=False, generator=None, **memory):
    """randint_like(input, high) or randint_like(input, low, high): integers in [low, high) in the shape of input."""
    low, high = (0, low) if high is None else (low or 0, high)
    if high is None:
        raise TypeError("randint_like: an argument is missing: high; randint_like(input, high) or randint_like(input, low, high)")
    return _dyadic.randint_like(input, low, high, dtype=dtype, device=device, generator=generator, requires_grad=requires_grad, **memory)


def _uniform(self, generator):
    """In (0, 1], so that it has a logarithm."""
    wide = _dyadic.float64 if self.dtype == _dyadic.float64 else _dyadic.float32
    return 1 - _dyadic.rand(list(self.shape), dtype=wide, device=self.device, generator=generator)


def bernoulli(input, p=None, *, generator=None, out=None):
    """1 with the probability that input holds, or with p in the shape of input; else 0."""
    if p is not None:
        input = _dyadic.full_like(input, p)
    return _dyadic.bernoulli(input, generator=generator, out=out)


def poisson(input, generator=None):
    """Poisson numbers, each of the rate that input holds. No gradient."""
    return _dyadic.poisson(input, generator=generator)


def _bernoulli(self, p=None, *, generator=None):
    """dyadic.bernoulli(self, p)."""
    return bernoulli(self, p, generator=generator)


Tensor.bernoulli = _bernoulli


def bernoulli_(self, p=0.5, *, generator=None):
    """1 with probability p (a number, or a tensor of probabilities), else 0."""
    if not isinstance(p, Tensor) and not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_: p is a probability: it is {p}")
    chances = p.expand(self.shape) if isinstance(p, Tensor) else _dyadic.full(list(self.shape), float(p), device=self.device)
    return self.copy_(_dyadic.bernoulli(chances, generator=generator))


def cauchy_(self, median=0, sigma=1, *, generator=None):
    """Cauchy's distribution around the median."""
    if not sigma > 0:
        raise RuntimeError(f"cauchy_: sigma is positive: it is {sigma}")
    return self.copy_(median + sigma * _dyadic.tan(math.pi * (_uniform(self, generator) - 0.5)))


def exponential_(self, lambd=1, *, generator=None):
    """Waiting times of the rate lambd."""
    if not lambd > 0:
        raise RuntimeError(f"exponential_: lambd is positive: it is {lambd}")
    return self.copy_(-_dyadic.log(_uniform(self, generator)) / lambd)


def geometric_(self, p, *, generator=None):
    """The number of trials of probability p until one succeeds."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_: p is between 0 and 1, not {p}")
    return self.copy_(_dyadic.clamp(_dyadic.ceil(_dyadic.log(_uniform(self, generator)) / math.log1p(-p)), min=1))


def log_normal_(self, mean=1, std=2, *, generator=None):
    """Numbers whose logarithms are normal."""
    if not std > 0:
        raise RuntimeError(f"log_normal_: std is positive: it is {std}")
    return self.copy_(_dyadic.exp(_dyadic.randn(list(self.shape), device=self.device, generator=generator) * std + mean))


def random_(self, low=None, high=None, *, generator=None):
    """Integers in [low, high), from 0 if one number is given; without, all that the dtype holds exactly."""
    if low is None:
        exact = {_dyadic.float64: 53, _dyadic.float32: 24, _dyadic.float16: 11, _dyadic.bfloat16: 8, _dyadic.bool: 1}.get(self.dtype)
        low, high = 0, 2**exact + (self.dtype != _dyadic.bool) if exact else _dyadic.iinfo(self.dtype).max
    elif high is None:
        low, high = 0, low
    return self.copy_(_dyadic.randint(low, high, list(self.shape), device=self.device, generator=generator))


def _add(f):
    def draw(self, *args, **kwargs):
        with _no_grad():
            return f(self, *args, **kwargs)

    draw.__name__, draw.__doc__ = f.__name__, "Fills self with random numbers: " + f.__doc__
    setattr(Tensor, f.__name__, draw)


def _no_grad():
    from .autograd import no_grad

    return no_grad()


for _f in (bernoulli_, cauchy_, exponential_, geometric_, log_normal_, random_):
    _add(_f)
