"""The gamma distribution and what is made of gamma-distributed numbers."""
import math

from .. import _dyadic
from .._construct import as_tensor
from ..autograd import Function
from ..autograd.grad_mode import no_grad
from . import constraints
from .continuous import _LocationScale
from .distribution import Distribution, broadcast_all


def _drawn(alpha):
    """Gamma numbers of shape alpha >= 1 by rejection (Marsaglia and Tsang 2000)."""
    d = alpha - 1 / 3
    c = (9 * d).rsqrt()
    result, missing = _dyadic.zeros_like(d), _dyadic.ones_like(d, dtype=_dyadic.bool)
    while bool(missing.any()):
        x = _dyadic.randn_like(d)
        v = (1 + c * x) ** 3
        u = _dyadic.rand_like(d)
        fits = (v > 0) & (u.log() < 0.5 * x * x + d - d * v + d * v.clamp(min=1e-300).log())
        result = _dyadic.where(missing & fits, d * v, result)
        missing = missing & ~fits
    return result


class _StandardGamma(Function):
    """Draws of shape alpha; the gradient is that of a draw that keeps its place in the distribution: -(dF/dalpha) / density."""

    @staticmethod
    def forward(ctx, alpha):
        a = alpha.to(_dyadic.float64)
        small = a < 1
        drawn = _drawn(_dyadic.where(small, a + 1, a))
        drawn = _dyadic.where(small, drawn * _dyadic.rand_like(a) ** (1 / a), drawn)
        drawn = drawn.to(alpha.dtype).clamp(min=_dyadic.finfo(alpha.dtype).tiny)
        ctx.save_for_backward(alpha, drawn)
        return drawn

    @staticmethod
    def backward(ctx, g):
        alpha, drawn = ctx.saved_tensors
        a, x = alpha.to(_dyadic.float64), drawn.to(_dyadic.float64)
        step = 1e-5 * a  # differences of third order: (h^2, eps / h) are both about 1e-10
        slope = (_dyadic.igamma(a + step, x) - _dyadic.igamma(a - step, x)) / (2 * step)
        density = ((a - 1) * x.log() - x - a.lgamma()).exp()
        # Of tiny draws F is x^a / (a Gamma(a)), whose derivative needs no quotient of tiny numbers.
        near = -x / a * (x.log() - 1 / a - a.digamma())
        return g * _dyadic.where(x < 1e-6, near, -slope / density).to(g.dtype)


def _gamma(alpha):
    return _StandardGamma.apply(alpha)


class Gamma(Distribution):
    """Numbers above 0 of mean concentration / rate."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, (), validate_args)

    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate**2)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return _gamma(self.concentration.expand(shape)) / self.rate.expand(shape)

    def log_prob(self, value):
        value = as_tensor(value, dtype=self.rate.dtype)
        self._check(value)
        a, r = self.concentration, self.rate
        return _dyadic.xlogy(a, r) + _dyadic.xlogy(a - 1, value) - r * value - a.lgamma()

    def entropy(self):
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1 - a) * a.digamma()

    def cdf(self, value):
        self._check(value)
        return _dyadic.igamma(self.concentration, self.rate * value)


class Chi2(Gamma):
    """The sum of df squares of standard normal numbers."""

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df, validate_args=None):
        (self.df,) = broadcast_all(df)
        super().__init__(0.5 * self.df, 0.5, validate_args)


class InverseGamma(Distribution):
    """1 / x of a gamma-distributed x."""

    arg_constraints = Gamma.arg_constraints
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        self.base_dist = Gamma(self.concentration, self.rate, validate_args=False)
        super().__init__(self.concentration.shape, (), validate_args)

    mean = property(lambda self: _dyadic.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf))
    mode = property(lambda self: self.rate / (self.concentration + 1))

    @property
    def variance(self):
        a = self.concentration
        return _dyadic.where(a > 2, self.rate**2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape).reciprocal()

    def log_prob(self, value):
        self._check(value)
        return self.base_dist.log_prob(value.reciprocal()) - 2 * value.log()

    def cdf(self, value):
        self._check(value)
        return 1 - self.base_dist.cdf(value.reciprocal())

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Dirichlet(Distribution):
    """Points of the simplex: gamma-distributed numbers divided by their sum."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("Dirichlet: concentration must have a dimension of categories: it is 0-d")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    mean = property(lambda self: self.concentration / self.concentration.sum(-1, True))

    @property
    def mode(self):
        a = (self.concentration - 1).clamp(min=0)
        edge = (self.concentration < 1).all(-1, keepdim=True)
        corner = _dyadic.one_hot(self.concentration.argmax(-1), a.size(-1)).to(a.dtype)
        return _dyadic.where(edge, corner, a / a.sum(-1, True))

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total**2 * (total + 1))

    def rsample(self, sample_shape=()):
        x = _gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        return x / x.sum(-1, True)

    def log_prob(self, value):
        self._check(value)
        a = self.concentration
        return _dyadic.xlogy(a - 1, value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self):
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        return a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma() - ((a - 1) * a.digamma()).sum(-1)


class Beta(Distribution):
    """Numbers in (0, 1): the first of a Dirichlet's two."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        self._dirichlet = Dirichlet(_dyadic.stack([self.concentration1, self.concentration0], -1), validate_args=False)
        super().__init__(self.concentration1.shape, (), validate_args)

    mean = property(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = property(lambda self: self._dirichlet.mode[..., 0])

    @property
    def variance(self):
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total**2 * (total + 1))

    def rsample(self, sample_shape=()):
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_prob(self, value):
        self._check(value)
        return self._dirichlet.log_prob(_dyadic.stack([value, 1 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()


class StudentT(_LocationScale):
    """A normal number divided by the root of a Chi2 number over its df."""

    arg_constraints = {"df": constraints.positive, **_LocationScale.arg_constraints}

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        Distribution.__init__(self, self.df.shape, (), validate_args)

    mean = property(lambda self: _dyadic.where(self.df > 1, self.loc, math.nan))

    @property
    def variance(self):
        v = _dyadic.where(self.df > 2, self.scale**2 * self.df / (self.df - 2), math.inf)
        return _dyadic.where(self.df > 1, v, math.nan)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        z = _gamma((self.df / 2).expand(shape)) * 2
        return self.loc + self.scale * _dyadic.randn(shape, dtype=self.df.dtype) * (z / self.df).rsqrt()

    def log_prob(self, value):
        y, n = self._standard(value), self.df
        norm = self.scale.log() + 0.5 * n.log() + 0.5 * math.log(math.pi) + (n / 2).lgamma() - ((n + 1) / 2).lgamma()
        return -0.5 * (n + 1) * (y * y / n).log1p() - norm

    def entropy(self):
        n = self.df
        beta = (n / 2).lgamma() + math.lgamma(0.5) - ((n + 1) / 2).lgamma()
        return self.scale.log() + 0.5 * (n + 1) * (((n + 1) / 2).digamma() - (n / 2).digamma()) + 0.5 * n.log() + beta


class NegativeBinomial(Distribution):
    """Successes, of probability probs each, before total_count failures."""

    arg_constraints = {"total_count": constraints.nonnegative, "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("give probs or logits, one of the two")
        self.total_count, given = broadcast_all(total_count, probs if logits is None else logits)
        self.probs = given.sigmoid() if probs is None else given
        self.logits = given if probs is None else given.log() - (-given).log1p()
        self._printed = ("total_count", "logits" if probs is None else "probs")
        super().__init__(given.shape, (), validate_args)

    def expand(self, batch_shape, _instance=None):
        return NegativeBinomial(self.total_count.expand(list(batch_shape)), self.probs.expand(list(batch_shape)), validate_args=False)

    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0))
    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    @no_grad()
    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return _dyadic.poisson(_gamma(self.total_count.expand(shape)) * self.logits.exp().expand(shape))

    def log_prob(self, value):
        self._check(value)
        n = self.total_count
        plain = n * _dyadic.logsigmoid(-self.logits) + value * _dyadic.logsigmoid(self.logits)
        return plain + (n + value).lgamma() - (1 + value).lgamma() - n.lgamma()
