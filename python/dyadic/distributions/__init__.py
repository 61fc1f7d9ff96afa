"""Probability distributions: draws, log-probabilities, entropies and divergences, all made of ops, so that gradients go through."""
from . import constraint_registry, constraints, transforms, utils
from .composed import Independent, LogisticNormal, LogNormal, MixtureSameFamily, MultivariateNormal, Pareto, TransformedDistribution, Weibull
from .continuous import Cauchy, Exponential, GeneralizedPareto, Gumbel, HalfCauchy, HalfNormal, Laplace, Normal, Uniform
from .discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .gammas import Beta, Chi2, Dirichlet, Gamma, InverseGamma, NegativeBinomial, StudentT
from .matrices import LKJCholesky, Wishart
from .more import ContinuousBernoulli, FisherSnedecor, Kumaraswamy, LowRankMultivariateNormal, VonMises
from .constraint_registry import biject_to, transform_to
from .kl import kl_divergence, register_kl
from .transforms import *  # noqa: F401,F403
from . import _places  # noqa: E402,F401

for _class in (Beta, Chi2, HalfCauchy, HalfNormal, InverseGamma, Multinomial, OneHotCategorical, RelaxedBernoulli, RelaxedOneHotCategorical):
    _class._printed = ()  # as in PyTorch, where they have their parameters from another distribution
del _class
