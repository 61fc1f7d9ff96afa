"""Divergences of one distribution from another."""
import math

from .. import _dyadic, linalg
from .._functions import broadcast_shapes
from .composed import Independent, LogNormal, MultivariateNormal, TransformedDistribution
from .continuous import Cauchy, Exponential, Gumbel, HalfNormal, Laplace, Normal, Uniform
from .discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from .distribution import sum_rightmost
from .gammas import Beta, Dirichlet, Gamma

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
def _half_normals(p, q):
    return _normals(p.base_dist, q.base_dist)


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
def _vectors(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(f"kl_divergence: the events differ in shape: {tuple(p.event_shape)} and {tuple(q.event_shape)}")
    half = q._factor.diagonal(0, -2, -1).log().sum(-1) - p._factor.diagonal(0, -2, -1).log().sum(-1)
    batch = list(broadcast_shapes(p.batch_shape, q.batch_shape))
    factor, other = (m.expand(batch + list(m.shape[-2:])) for m in (q._factor, p._factor))
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
