"""Distributions of real numbers with a location and a scale, and their kin."""
import math

from .. import _dyadic
from . import constraints
from .distribution import LOG_2PI, Distribution, broadcast_all


class _LocationScale(Distribution):
    """loc + scale z for draws z of a standard distribution."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    def _uniform(self, sample_shape):
        """Numbers in (0, 1)."""
        tiny = _dyadic.finfo(self.loc.dtype).tiny
        return _dyadic.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device).clamp(min=tiny)

    def _standard(self, value):
        self._check(value)
        return (value - self.loc) / self.scale

    def rsample(self, sample_shape=()):
        return self.icdf(self._uniform(sample_shape))


class Normal(_LocationScale):
    """The normal distribution of mean loc and standard deviation scale."""

    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale**2)

    def rsample(self, sample_shape=()):
        return self.loc + _dyadic.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device) * self.scale

    def log_prob(self, value):
        return -(self._standard(value) ** 2) / 2 - self.scale.log() - LOG_2PI / 2

    def cdf(self, value):
        return 0.5 * (1 + _dyadic.erf(self._standard(value) / math.sqrt(2)))

    def icdf(self, value):
        return self.loc + self.scale * _dyadic.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + LOG_2PI / 2 + self.scale.log()


class Laplace(_LocationScale):
    """exp(-|x - loc| / scale) / (2 scale)."""

    variance = property(lambda self: 2 * self.scale**2)

    def log_prob(self, value):
        return -(2 * self.scale).log() - self._standard(value).abs()

    def cdf(self, value):
        z = self._standard(value)
        return 0.5 - 0.5 * z.sign() * (-z.abs()).expm1()

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self):
        return 1 + (2 * self.scale).log()


class Cauchy(_LocationScale):
    """The quotient of two normal numbers, scaled and moved: it has no mean."""

    mean = property(lambda self: _dyadic.full_like(self.loc, math.nan))
    variance = property(lambda self: _dyadic.full_like(self.loc, math.inf))

    def log_prob(self, value):
        return -math.log(math.pi) - self.scale.log() - (self._standard(value) ** 2).log1p()

    def cdf(self, value):
        return self._standard(value).atan() / math.pi + 0.5

    def icdf(self, value):
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class Gumbel(_LocationScale):
    """The distribution of extremes: cdf exp(-exp(-(x - loc) / scale))."""

    mean = property(lambda self: self.loc + self.scale * 0.5772156649015329)
    variance = property(lambda self: (math.pi**2 / 6) * self.scale**2)

    def log_prob(self, value):
        z = -self._standard(value)
        return z - z.exp() - self.scale.log()

    def cdf(self, value):
        return (-(-self._standard(value)).exp()).exp()

    def icdf(self, value):
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self):
        return self.scale.log() + (1 + 0.5772156649015329)


class _Half(Distribution):
    """The absolute value of a symmetric distribution at 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _whole: type

    def __init__(self, scale, validate_args=None):
        (self.scale,) = broadcast_all(scale)
        self.base_dist = self._whole(_dyadic.zeros_like(self.scale), self.scale, validate_args=False)
        super().__init__(self.scale.shape, (), validate_args)

    mode = property(lambda self: _dyadic.zeros_like(self.scale))

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape).abs()

    def log_prob(self, value):
        self._check(value)
        return _dyadic.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        self._check(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """|x| of a normal x of mean 0."""

    _whole = Normal
    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale**2 * (1 - 2 / math.pi))


class HalfCauchy(_Half):
    """|x| of a Cauchy-distributed x around 0."""

    _whole = Cauchy
    mean = property(lambda self: self.scale * math.inf)
    variance = property(lambda self: self.scale * math.inf)


class Uniform(Distribution):
    """Numbers in [low, high), all equally likely."""

    arg_constraints = {"low": constraints.real, "high": constraints.real}
    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, (), validate_args)
        if self._validate_args:
            _dyadic._demand(self.low < self.high, self.high - self.low, lambda: "Uniform: low must be below high; from low to high it is\n")

    mean = property(lambda self: (self.low + self.high) / 2)
    mode = property(lambda self: self.high * math.nan)
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)
    support = property(lambda self: constraints.interval(self.low, self.high), doc="What samples are among.")

    def rsample(self, sample_shape=()):
        r = _dyadic.rand(self._extended_shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + r * (self.high - self.low)

    def log_prob(self, value):
        self._check(value)
        inside = (self.low <= value) & (value < self.high)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value):
        self._check(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return (self.high - self.low).log()


class Exponential(Distribution):
    """rate exp(-rate x)."""

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, (), validate_args)

    mean = property(lambda self: self.rate.reciprocal())
    stddev = property(lambda self: self.rate.reciprocal())
    mode = property(lambda self: _dyadic.zeros_like(self.rate))
    variance = property(lambda self: self.rate**-2)

    def rsample(self, sample_shape=()):
        drawn = _dyadic.empty(self._extended_shape(sample_shape), dtype=self.rate.dtype, device=self.rate.device).exponential_()
        return drawn / self.rate

    def log_prob(self, value):
        self._check(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        self._check(value)
        return -(-self.rate * value).expm1()

    def icdf(self, value):
        return -(-value).log1p() / self.rate

    def entropy(self):
        return 1 - self.rate.log()


class GeneralizedPareto(Distribution):
    """What lies beyond a threshold loc: the density (1 + concentration z) ** -(1 + 1 / concentration) / scale of z = (x - loc) / scale,
    exp(-z) / scale for a concentration of 0."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    mode = property(lambda self: self.loc)

    @property
    def mean(self):
        k = self.concentration
        return _dyadic.where(k < 1, self.loc + self.scale / (1 - k), math.nan)

    @property
    def variance(self):
        k = self.concentration
        return _dyadic.where(k < 0.5, self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k)), math.nan)

    @property
    def support(self):
        """From loc on; of a negative concentration up to loc - scale / concentration."""
        k = self.concentration
        return constraints.interval(self.loc, _dyadic.where(k < 0, self.loc - self.scale / k, math.inf))

    def _by_concentration(self, of_zero, of_other):
        """of_zero where the concentration is 0, else of_other of one that is not."""
        zero = self.concentration.abs() < _dyadic.finfo(self.concentration.dtype).eps
        return _dyadic.where(zero, of_zero, of_other(_dyadic.where(zero, 1.0, self.concentration)))

    def rsample(self, sample_shape=()):
        return self.icdf(_dyadic.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device))

    def log_survival_function(self, value):
        """log(1 - cdf)."""
        self._check(value)
        z = (value - self.loc) / self.scale
        return self._by_concentration(-z, lambda k: -(k * z).log1p() / k)

    def log_prob(self, value):
        return (1 + self.concentration) * self.log_survival_function(value) - self.scale.log()

    def cdf(self, value):
        return -self.log_survival_function(value).expm1()

    def log_cdf(self, value):
        """log(cdf)."""
        return (-self.log_survival_function(value).exp()).log1p()

    def icdf(self, value):
        above = -(-value).log1p()
        return self.loc + self.scale * self._by_concentration(above, lambda k: (k * above).expm1() / k)

    def entropy(self):
        return self.scale.log() + self.concentration + 1
