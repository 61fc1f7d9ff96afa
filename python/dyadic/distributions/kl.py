"""Divergences of one distribution from another."""
import math

from .. import _dyadic, linalg
from .._functions import broadcast_shapes
from .composed import Independent, LogNormal, MultivariateNormal, Pareto, TransformedDistribution
from .continuous import Cauchy, Exponential, Gumbel, HalfCauchy, HalfNormal, Laplace, Normal, Uniform
from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from .distribution import Distribution
from .utils import sum_rightmost
from .gammas import Beta, Dirichlet, Gamma, InverseGamma
from .more import ContinuousBernoulli, LowRankMultivariateNormal

_formulas = {}


def register_kl(type_p, type_q):
    """Decorator: the function computes kl_divergence(p, q) for these types and those derived from them."""

    def register(function):
        _formulas[type_p, type_q] = function
        return function

    return register


def kl_divergence(p, q):
    """The expectation of log p(x) - log q(x) under p."""
    for a in type(p).__mro__:
        for b in type(q).__mro__:
            if (a, b) in _formulas:
                return _formulas[a, b](p, q)
    raise NotImplementedError(f"kl_divergence: no formula from {type(p).__name__} to {type(q).__name__}; add one with register_kl")


@register_kl(Normal, Normal)
def _normals(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
@register_kl(HalfCauchy, HalfCauchy)
def _halves(p, q):
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplaces(p, q):
    ratio, gap = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + gap / q.scale + ratio * (-gap / p.scale).exp() - 1


@register_kl(Cauchy, Cauchy)
def _cauchys(p, q):
    return (((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2) / (4 * p.scale * q.scale)).log()


@register_kl(Gumbel, Gumbel)
def _gumbels(p, q):
    ratio, euler = p.scale / q.scale, 0.5772156649015329
    between, at = q.loc / q.scale, p.loc / q.scale
    return -ratio.log() - between + at + ratio * euler + (between + (1 + ratio).lgamma() - at).exp() - (1 + euler)


@register_kl(Uniform, Uniform)
def _uniforms(p, q):
    inside = (q.low <= p.low) & (p.high <= q.high)
    return _dyadic.where(inside, ((q.high - q.low) / (p.high - p.low)).log(), math.inf)


@register_kl(Exponential, Exponential)
def _exponentials(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def _gammas(p, q):
    ratio = (p.rate / q.rate).log() * q.concentration
    shapes = q.concentration.lgamma() - p.concentration.lgamma()
    return ratio + shapes + (p.concentration - q.concentration) * p.concentration.digamma() + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Dirichlet, Dirichlet)
def _dirichlets(p, q):
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    apart = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return apart + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Beta, Beta)
def _betas(p, q):
    return _dirichlets(p._dirichlet, q._dirichlet)


def _term(p, weight, difference):
    """weight * difference, 0 where the weight is."""
    return _dyadic.where(weight == 0, 0.0, weight * difference)


@register_kl(Bernoulli, Bernoulli)
def _bernoullis(p, q):
    sure = _term(p, p.probs, _dyadic.logsigmoid(p.logits) - _dyadic.logsigmoid(q.logits))
    return sure + _term(p, 1 - p.probs, _dyadic.logsigmoid(-p.logits) - _dyadic.logsigmoid(-q.logits))


@register_kl(Binomial, Binomial)
def _binomials(p, q):
    return _dyadic.where(p.total_count == q.total_count, p.total_count * _bernoullis(p, q), math.inf)


@register_kl(Geometric, Geometric)
def _geometrics(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poissons(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Categorical, Categorical)
def _categoricals(p, q):
    difference = _dyadic.where(q.probs == 0, math.inf, p.logits - q.logits)
    return _dyadic.where(p.probs == 0, 0.0, p.probs * difference).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hots(p, q):
    return _categoricals(p._categorical, q._categorical)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _vectors(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(f"kl_divergence: the events differ in shape: {tuple(p.event_shape)} and {tuple(q.event_shape)}")
    batch = list(broadcast_shapes(p.batch_shape, q.batch_shape))
    factor, other = (d.scale_tril.expand(batch + list(d.scale_tril.shape[-2:])) for d in (q, p))
    half = factor.diagonal(0, -2, -1).log().sum(-1) - other.diagonal(0, -2, -1).log().sum(-1)
    spread = (linalg.solve_triangular(factor, other, upper=False) ** 2).sum([-2, -1])
    gap = (q.loc - p.loc).expand(batch + list(p.event_shape)).unsqueeze(-1)
    square = (linalg.solve_triangular(factor, gap, upper=False) ** 2).sum([-2, -1])
    return half + 0.5 * (spread + square - p.event_shape[0])


@register_kl(Independent, Independent)
def _independents(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence: the two Independent distributions have different numbers of event dimensions")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(LogNormal, LogNormal)
def _log_normals(p, q):
    return _normals(p.base_dist, q.base_dist)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("kl_divergence: the two distributions have different transforms")
    return kl_divergence(p.base_dist, q.base_dist)


# Of one family from another: -entropy of p - E[log q], whose expectation is one of what q's density is made of.

_EULER = 0.5772156649015329


_MEAN_LOG = {  # E[log x]
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Gamma: lambda p: p.concentration.digamma() - p.rate.log(),
    Exponential: lambda p: -_EULER - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: (_dyadic.xlogy(p.high, p.high) - _dyadic.xlogy(p.low, p.low)) / (p.high - p.low) - 1,
}
_MEAN_EXP = {  # E[exp(-x / s)]
    Exponential: lambda p, s: p.rate / (p.rate + 1 / s),
    Gamma: lambda p, s: (p.rate / (p.rate + 1 / s)) ** p.concentration,
    Normal: lambda p, s: (-p.loc / s + (p.scale / s) ** 2 / 2).exp(),
    Uniform: lambda p, s: s * ((-p.low / s).exp() - (-p.high / s).exp()) / (p.high - p.low),
}


def _of(table, p):
    """The entry of p's class or of the nearest one that it is made from."""
    return next(table[kind] for kind in type(p).__mro__ if kind in table)


def _mean_log(p):
    return _of(_MEAN_LOG, p)(p)


def _mean_log_rest(p):
    """E[log(1 - x)] of a uniform x between 0 and 1."""
    return _mean_log(Uniform(1 - p.high, 1 - p.low, validate_args=False))


def _mean_distance(p, at):
    """E|x - at| of a normal x."""
    z = (p.loc - at) / p.scale
    return p.scale * math.sqrt(2 / math.pi) * (-z * z / 2).exp() + (p.loc - at) * _dyadic.erf(z / math.sqrt(2))


def _gumbel(p, q):
    return -q.scale.log() - (p.mean - q.loc) / q.scale - (q.loc / q.scale).exp() * _of(_MEAN_EXP, p)(p, q.scale)


_MEAN_LOG_DENSITY = {  # E[log q] of what lies in q's support
    Beta: lambda p, q: (q.concentration1 - 1) * _mean_log(p)
    + (q.concentration0 - 1) * _mean_log_rest(p)
    + (q.concentration1 + q.concentration0).lgamma()
    - q.concentration1.lgamma()
    - q.concentration0.lgamma(),
    ContinuousBernoulli: lambda p, q: p.mean * q.logits + (-q.probs).log1p() + q._log_norm(),
    Exponential: lambda p, q: q.rate.log() - q.rate * p.mean,
    Gamma: lambda p, q: q.concentration * q.rate.log() - q.concentration.lgamma() + (q.concentration - 1) * _mean_log(p) - q.rate * p.mean,
    Gumbel: _gumbel,
    Laplace: lambda p, q: -(2 * q.scale).log() - _mean_distance(p, q.loc) / q.scale,
    Normal: lambda p, q: -q.scale.log() - 0.5 * math.log(2 * math.pi) - (p.variance + (p.mean - q.loc) ** 2) / (2 * q.scale**2),
    Pareto: lambda p, q: q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p),
    Poisson: lambda p, q: p.mean * q.rate.log() - q.rate,
    Uniform: lambda p, q: -(q.high - q.low).log(),
}
_CLOSED = {
    Bernoulli: [Poisson],
    Beta: [ContinuousBernoulli, Exponential, Gamma, Normal, Uniform],
    ContinuousBernoulli: [ContinuousBernoulli, Exponential, Normal, Uniform],
    Exponential: [Gamma, Gumbel, Normal],
    Gamma: [Exponential, Gumbel, Normal],
    Gumbel: [Normal],
    Laplace: [Normal],
    Normal: [Gumbel, Laplace],
    Pareto: [Exponential, Gamma, Normal, Pareto],
    Uniform: [Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto],
}
_BEYOND = {  # p reaches beyond q's support, whatever their parameters
    Beta: [Pareto],
    ContinuousBernoulli: [Pareto],
    Exponential: [Beta, ContinuousBernoulli, Pareto, Uniform],
    Gamma: [Beta, ContinuousBernoulli, Pareto, Uniform],
    Gumbel: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Laplace: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Normal: [Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform],
    Pareto: [Beta, ContinuousBernoulli, Uniform],
    Poisson: [Bernoulli, Binomial],
}
_ENDS = {  # of supports; the others are all real numbers
    Bernoulli: lambda d: (0.0, 1.0),
    Beta: lambda d: (0.0, 1.0),
    ContinuousBernoulli: lambda d: (0.0, 1.0),
    Exponential: lambda d: (0.0, math.inf),
    Gamma: lambda d: (0.0, math.inf),
    Pareto: lambda d: (d.scale, math.inf),
    Poisson: lambda d: (0.0, math.inf),
    Uniform: lambda d: (d.low, d.high),
    Distribution: lambda d: (-math.inf, math.inf),
}


def _across(log_density):
    def divergence(p, q):
        value = -p.entropy() - log_density(p, q)
        low, high = _of(_ENDS, p)(p)
        least, most = _of(_ENDS, q)(q)
        outside = _dyadic.zeros_like(value, dtype=_dyadic.bool) | (low < least) | (high > most)
        return _dyadic.where(outside, math.inf, value)

    return divergence


def _infinite(p, q):
    return _dyadic.full(broadcast_shapes(p.batch_shape, q.batch_shape), math.inf, dtype=p.mean.dtype)


for _p, _kinds in _CLOSED.items():
    for _q in _kinds:
        register_kl(_p, _q)(_across(_MEAN_LOG_DENSITY[_q]))
for _p, _kinds in _BEYOND.items():
    for _q in _kinds:
        register_kl(_p, _q)(_infinite)


@register_kl(InverseGamma, InverseGamma)
def _inverse_gammas(p, q):
    return _gammas(p.base_dist, q.base_dist)
