"""Distributions made of others, and the normal distribution of vectors."""
import math

from .. import _dyadic, linalg
from .._functions import broadcast_shapes
from .._size import Size
from ..autograd.grad_mode import no_grad
from . import constraints
from .continuous import Exponential, Normal
from .distribution import LOG_2PI, Distribution, broadcast_all
from .utils import sum_rightmost
from .transforms import AffineTransform, ComposeTransform, ExpTransform, PowerTransform, StickBreakingTransform, Transform


class Independent(Distribution):
    """The last dimensions of the batch as one event: log_prob is summed over them."""

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        n, batch = reinterpreted_batch_ndims, base_distribution.batch_shape
        if n > len(batch):
            raise ValueError(f"Independent: reinterpreted_batch_ndims is {n}, and the batch has {len(batch)} dimensions")
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, n
        super().__init__(batch[: len(batch) - n], batch[len(batch) - n :] + base_distribution.event_shape, validate_args)

    def expand(self, batch_shape, _instance=None):
        inner = self.base_dist.batch_shape[len(self.batch_shape) :]
        return Independent(self.base_dist.expand([*batch_shape, *inner]), self.reinterpreted_batch_ndims)

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    has_enumerate_support = property(lambda self: self.base_dist.has_enumerate_support and not self.reinterpreted_batch_ndims)
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    @property
    def support(self):
        """What samples are among."""
        base = self.base_dist.support
        return base and constraints.independent(base, self.reinterpreted_batch_ndims)

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """Draws of base_distribution behind transforms."""

    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        every = ComposeTransform(self.transforms)
        base, needed = base_distribution, every.domain.event_dim
        shape = base.batch_shape + base.event_shape
        if len(shape) < needed:
            raise ValueError(f"TransformedDistribution: the base has the shape {tuple(shape)}; the transforms take events of {needed} dimensions")
        made = every.forward_shape(shape)
        wider = Size(every.inverse_shape(made))
        if wider != shape:
            base = base.expand(wider[: len(wider) - len(base.event_shape)])
        more = needed - len(base.event_shape)
        self.base_dist = Independent(base, more) if more > 0 else base
        event = every.codomain.event_dim + max(len(base.event_shape) - needed, 0)
        at = len(made) - event
        super().__init__(made[:at], made[at:], validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    @property
    def support(self):
        """What samples are among."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self.event_shape) - found.event_dim
        return constraints.independent(found, more) if more else found

    def expand(self, batch_shape, _instance=None):
        shape = [*batch_shape, *self.event_shape]
        for t in reversed(self.transforms):
            shape = t.inverse_shape(shape)
        base = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return TransformedDistribution(base, self.transforms, False)

    def _through(self, x):
        for t in self.transforms:  # one by one: each may remember its last number
            x = t(x)
        return x

    @no_grad()
    def sample(self, sample_shape=()):
        return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        if self._validate_args and len(self.event_shape) == 0:
            self._validate_sample(value)
        total, event, y = 0.0, len(self.event_shape), value
        for t in reversed(self.transforms):
            x = t.inv(y)
            event += t.domain.event_dim - t.codomain.event_dim
            total = total - sum_rightmost(t.log_abs_det_jacobian(x, y), event - t.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), event - len(self.base_dist.event_shape))

    def cdf(self, value):
        sign = 1
        for t in reversed(self.transforms):
            value, sign = t.inv(value), sign * t.sign
        return (self.base_dist.cdf(value) - 0.5) * sign + 0.5

    def icdf(self, value):
        sign = 1
        for t in self.transforms:
            sign = sign * t.sign
        return self._through(self.base_dist.icdf((value - 0.5) * sign + 0.5))

class LogNormal(TransformedDistribution):
    """exp(x) of a normal x."""

    arg_constraints = Normal.arg_constraints
    support = constraints.positive

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args)
        super().__init__(base, ExpTransform(), validate_args)

    loc = property(lambda self: self.base_dist.loc, doc="The mean of the logarithm.")
    scale = property(lambda self: self.base_dist.scale, doc="The standard deviation of the logarithm.")
    mean = property(lambda self: (self.loc + self.scale**2 / 2).exp())
    mode = property(lambda self: (self.loc - self.scale**2).exp())
    variance = property(lambda self: (self.scale**2).expm1() * (2 * self.loc + self.scale**2).exp())

    def expand(self, batch_shape, _instance=None):
        return LogNormal(self.loc.expand(list(batch_shape)), self.scale.expand(list(batch_shape)))

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Points of the simplex: normal numbers that break parts off a stick, one after the other."""

    arg_constraints = Normal.arg_constraints
    support = constraints.simplex

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args)
        super().__init__(base if base.batch_shape else base.expand([1]), StickBreakingTransform(), validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc, doc="The mean of the normal numbers.")
    scale = property(lambda self: self.base_dist.base_dist.scale, doc="The standard deviation of the normal numbers.")

    def expand(self, batch_shape, _instance=None):
        shape = [*batch_shape, self.loc.size(-1)]
        return LogisticNormal(self.loc.expand(shape), self.scale.expand(shape), False)


class MixtureSameFamily(Distribution):
    """One of the distributions along the last dimension of component_distribution's batch, chosen by a Categorical."""

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        self._mixture, self._component = mixture_distribution, component_distribution
        count = component_distribution.batch_shape[-1]
        if mixture_distribution.logits.shape[-1] != count:
            raise ValueError(f"MixtureSameFamily: the mixture chooses among {mixture_distribution.logits.shape[-1]}, and there are {count} components")
        super().__init__(component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self._mixture},\n  {self._component})"

    mixture_distribution = property(lambda self: self._mixture, doc="What chooses.")
    component_distribution = property(lambda self: self._component, doc="What it chooses among.")
    support = property(lambda self: constraints.MixtureSameFamilyConstraint(self._component.support), doc="What samples are among.")

    def expand(self, batch_shape, _instance=None):
        component = self._component.expand([*batch_shape, self._component.batch_shape[-1]])
        return MixtureSameFamily(self._mixture.expand(batch_shape), component, False)

    def _weights(self):
        return self._mixture.probs.reshape(list(self._mixture.probs.shape) + [1] * len(self.event_shape))

    @property
    def mean(self):
        return (self._weights() * self._component.mean).sum(-1 - len(self.event_shape))

    @property
    def variance(self):
        dim, w = -1 - len(self.event_shape), self._weights()
        apart = self._component.mean - self.mean.unsqueeze(dim)
        return (w * self._component.variance).sum(dim) + (w * apart**2).sum(dim)

    def log_prob(self, value):
        self._check(value)
        at = value.unsqueeze(-1 - len(self.event_shape))
        return (self._component.log_prob(at) + _dyadic.log_softmax(self._mixture.logits, -1)).logsumexp(-1)

    def cdf(self, value):
        return (self._component.cdf(value.unsqueeze(-1)) * self._mixture.probs).sum(-1)

    @no_grad()
    def sample(self, sample_shape=()):
        chosen, drawn = self._mixture.sample(sample_shape), self._component.sample(sample_shape)
        dim = len(sample_shape) + len(self.batch_shape)
        at = chosen.reshape(list(chosen.shape) + [1] * (drawn.dim() - dim))
        return drawn.gather(dim, at.expand(list(drawn.shape[:dim]) + [1] + list(drawn.shape[dim + 1 :])).contiguous()).squeeze(dim)


COVARIANCE = {  # the forms in which a covariance may be given
    "covariance_matrix": constraints.positive_definite,
    "precision_matrix": constraints.positive_definite,
    "scale_tril": constraints.lower_cholesky,
}


def the_one_given(who, *matrices):
    """The matrix among the forms of COVARIANCE that is not None."""
    given = [m for m in matrices if m is not None]
    if len(given) != 1:
        raise ValueError(f"{who}: give one of covariance_matrix, precision_matrix and scale_tril")
    return given[0]


class MultivariateNormal(Distribution):
    """Normal vectors of mean loc and a covariance_matrix, its inverse precision_matrix or its Cholesky factor scale_tril."""

    arg_constraints = {"loc": constraints.real_vector, **COVARIANCE}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        given = the_one_given("MultivariateNormal", covariance_matrix, precision_matrix, scale_tril)
        if loc.dim() < 1 or given.dim() < 2:
            raise ValueError("MultivariateNormal: loc is a vector, and the other one a matrix, or batches of them")
        n = loc.shape[-1]
        batch = broadcast_shapes(loc.shape[:-1], given.shape[:-2])
        self.loc, matrix = loc.expand([*batch, n]), given.expand([*batch, n, n])
        kinds = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        self._printed = ("loc", *(name for name, m in kinds.items() if m is not None))
        if scale_tril is not None:
            self.scale_tril = self._unbroadcasted_scale_tril = matrix
        elif covariance_matrix is not None:
            self.covariance_matrix = matrix
        else:
            self.precision_matrix = matrix
        super().__init__(batch, (n,), validate_args)
        if covariance_matrix is not None:
            self._unbroadcasted_scale_tril = linalg.cholesky(matrix)
        elif precision_matrix is not None:
            flipped = linalg.cholesky(matrix.flip([-2, -1])).flip([-2, -1]).mT
            self._unbroadcasted_scale_tril = linalg.solve_triangular(flipped, _dyadic.eye(n, dtype=matrix.dtype), upper=False)
        self.__dict__.setdefault("scale_tril", self._unbroadcasted_scale_tril)

    def __getattr__(self, name):
        if name == "covariance_matrix":
            return self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT
        if name == "precision_matrix":
            return _dyadic.cholesky_inverse(self._unbroadcasted_scale_tril)
        raise AttributeError(f"'MultivariateNormal' object has no attribute '{name}'")

    def expand(self, batch_shape, _instance=None):
        n = self.event_shape[0]
        return MultivariateNormal(self.loc.expand([*batch_shape, n]), scale_tril=self._unbroadcasted_scale_tril.expand([*batch_shape, n, n]), validate_args=False)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
    variance = property(lambda self: (self._unbroadcasted_scale_tril**2).sum(-1))

    def rsample(self, sample_shape=()):
        z = _dyadic.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + (self._unbroadcasted_scale_tril @ z.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def log_prob(self, value):
        self._check(value)
        gap = (value - self.loc).unsqueeze(-1)
        factor = self._unbroadcasted_scale_tril.expand([*gap.shape[:-2], *self._unbroadcasted_scale_tril.shape[-2:]])
        square = (linalg.solve_triangular(factor, gap, upper=False) ** 2).sum([-2, -1])
        return -0.5 * (self.event_shape[0] * LOG_2PI + square) - self._half_log_det()

    def entropy(self):
        return 0.5 * self.event_shape[0] * (1.0 + LOG_2PI) + self._half_log_det()


class Pareto(TransformedDistribution):
    """scale exp(x / alpha) of an exponentially distributed x: numbers from scale on."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        super().__init__(Exponential(self.alpha, validate_args), [ExpTransform(), AffineTransform(0, self.scale)], validate_args)

    support = property(lambda self: constraints.greater_than_eq(self.scale), doc="What samples are among.")
    mean = property(lambda self: _dyadic.where(self.alpha > 1, self.alpha * self.scale / (self.alpha - 1), math.inf))
    mode = property(lambda self: self.scale)

    @property
    def variance(self):
        a = self.alpha
        return _dyadic.where(a > 2, self.scale**2 * a / ((a - 1) ** 2 * (a - 2)), math.inf)

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """scale x ** (1 / concentration) of an exponentially distributed x."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(_dyadic.ones_like(self.scale), validate_args)
        super().__init__(base, [PowerTransform(1 / self.concentration), AffineTransform(0, self.scale)], validate_args)

    mean = property(lambda self: self.scale * (1 + 1 / self.concentration).lgamma().exp())
    mode = property(lambda self: self.scale * (1 - 1 / self.concentration).clamp(min=0) ** (1 / self.concentration))

    @property
    def variance(self):
        k = 1 / self.concentration
        return self.scale**2 * ((1 + 2 * k).lgamma().exp() - (2 * (1 + k).lgamma()).exp())

    def entropy(self):
        k = 1 / self.concentration
        return 0.5772156649015329 * (1 - k) + (self.scale * k).log() + 1
