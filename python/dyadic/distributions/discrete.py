"""Distributions of whole numbers and of choices."""
import math

from .. import _dyadic
from .._construct import as_tensor
from ..autograd.grad_mode import no_grad
from . import constraints
from .distribution import Distribution, broadcast_all, clamp_probs, lazy_property, logits_to_probs, probs_to_logits


class _OfProbs(Distribution):
    """A distribution that is given probabilities or their logits."""

    def _begin(self, probs, logits, binary=True):
        if (probs is None) == (logits is None):
            raise ValueError("give probs or logits, one of the two")
        self._binary = binary
        return "logits" if probs is None else "probs"

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits, self._binary)

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs, self._binary)

    param_shape = property(lambda self: (self.__dict__.get("_param")).shape)

    def expand(self, batch_shape, _instance=None):
        last = list(self._param.shape[self._param.dim() - (not self._binary) :]) if not self._binary else []
        made = {self._kind: self._param.expand(list(batch_shape) + last)}
        return type(self)(**self._expanded(batch_shape), **made, validate_args=False)

    def _expanded(self, batch_shape):
        return {}


class Bernoulli(_OfProbs):
    """1 with probability probs, else 0."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._kind = self._begin(probs, logits)
        (self._param,) = broadcast_all(probs if logits is None else logits)
        self.__dict__[self._kind] = self._param
        super().__init__(self._param.shape, (), validate_args)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    @property
    def mode(self):
        return _dyadic.where(self.probs == 0.5, math.nan, (self.probs >= 0.5).to(self.probs.dtype))

    @no_grad()
    def sample(self, sample_shape=()):
        return _dyadic.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        return -_dyadic.binary_cross_entropy_with_logits(logits, value.to(logits.dtype), reduction="none")

    def entropy(self):
        return _dyadic.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand=True):
        values = _dyadic.arange(0, 2, dtype=self._param.dtype).reshape([2] + [1] * len(self._batch_shape))
        return values.expand([2, *self._batch_shape]) if expand else values


class Geometric(_OfProbs):
    """How often it fails before it succeeds, with probability probs each time."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._kind = self._begin(probs, logits)
        (self._param,) = broadcast_all(probs if logits is None else logits)
        self.__dict__[self._kind] = self._param
        super().__init__(self._param.shape, (), validate_args)

    mean = property(lambda self: 1 / self.probs - 1)
    mode = property(lambda self: _dyadic.zeros_like(self.probs))
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)

    @no_grad()
    def sample(self, sample_shape=()):
        u = _dyadic.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)
        return (u.clamp(min=_dyadic.finfo(u.dtype).tiny).log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        self._check(value)
        value, probs = broadcast_all(value, self.probs)
        probs = _dyadic.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self):
        return _dyadic.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class Categorical(_OfProbs):
    """One of the last dimension's choices by its number; probs need not add to 1."""

    arg_constraints = {"probs": constraints.independent(constraints.nonnegative, 1), "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._kind = self._begin(probs, logits, False)
        given = probs if logits is None else logits
        if given.dim() < 1:
            raise ValueError(f"{self._kind} must have a dimension of categories: it is 0-d")
        self.__dict__[self._kind] = given  # checked as it is given
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], (), validate_args)
        self._param = given / given.sum(-1, True) if logits is None else given - given.logsumexp(-1, True)
        self.__dict__[self._kind] = self._param

    mean = property(lambda self: self.probs[..., 0] * math.nan)
    variance = property(lambda self: self.probs[..., 0] * math.nan)
    mode = property(lambda self: self.probs.argmax(-1))
    support = property(lambda self: constraints.integer_interval(0, self._num_events - 1), doc="What samples are among.")

    @no_grad()
    def sample(self, sample_shape=()):
        count = math.prod(sample_shape)
        rows = _dyadic.multinomial(self.probs.reshape(-1, self._num_events), count, True).t()
        return rows.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        self._check(value)
        value, logits = _dyadic.broadcast_tensors(value.to(_dyadic.int64).unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1].contiguous()).squeeze(-1)

    def entropy(self):
        return -(self.logits.clamp(min=_dyadic.finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        values = _dyadic.arange(0, self._num_events).reshape([-1] + [1] * len(self._batch_shape))
        return values.expand([self._num_events, *self._batch_shape]) if expand else values


class OneHotCategorical(_OfProbs):
    """One of the last dimension's choices: a 1 in its place, zeros else."""

    arg_constraints = {"probs": constraints.independent(constraints.nonnegative, 1), "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._kind = self._begin(probs, logits, False)
        self._categorical = Categorical(probs, logits, validate_args)
        self._param = self.__dict__[self._kind] = self._categorical._param
        super().__init__(self._param.shape[:-1], self._param.shape[-1:], False)
        self._validate_args = self._categorical._validate_args

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    mode = property(lambda self: self._one_hot(self._categorical.mode))

    def _one_hot(self, at):
        return _dyadic.one_hot(at, self._param.shape[-1]).to(self._param.dtype)

    @no_grad()
    def sample(self, sample_shape=()):
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value):
        self._check(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self._param.shape[-1]
        values = _dyadic.eye(n, dtype=self._param.dtype).reshape([n] + [1] * len(self._batch_shape) + [n])
        return values.expand([n, *self._batch_shape, n]) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose draws have the gradient of the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape=()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class Binomial(_OfProbs):
    """How often of total_count times it succeeds, with probability probs each time."""

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        self._kind = self._begin(probs, logits)
        self.total_count, self._param = broadcast_all(total_count, probs if logits is None else logits)
        self.total_count = self.total_count.to(self._param.dtype)
        self.__dict__[self._kind] = self._param
        super().__init__(self._param.shape, (), validate_args)

    mean = property(lambda self: self.total_count * self.probs)
    mode = property(lambda self: ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count))
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))
    support = property(lambda self: constraints.integer_interval(0, self.total_count), doc="What samples are among.")

    def _expanded(self, batch_shape):
        return {"total_count": self.total_count.expand(list(batch_shape))}

    @no_grad()
    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return _dyadic.binomial(self.total_count.expand(shape).contiguous(), self.probs.expand(shape).contiguous())

    def log_prob(self, value):
        self._check(value)
        n, logits = self.total_count, self.logits
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * logits - n * _dyadic.softplus(logits)

    has_enumerate_support = True

    def enumerate_support(self, expand=True):
        """0 to total_count, which is the same for all."""
        total = int(self.total_count.max())
        if self.total_count.min() != total:
            raise NotImplementedError("Binomial: there is no entropy and no common support: the counts differ within the batch")
        values = _dyadic.arange(0, total + 1, dtype=self._param.dtype).reshape([-1] + [1] * len(self.batch_shape))
        return values.expand([-1, *self.batch_shape]) if expand else values

    def entropy(self):
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)


class Poisson(Distribution):
    """How many events there are at a mean of rate."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, (), validate_args)

    mean = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())
    variance = property(lambda self: self.rate)

    @no_grad()
    def sample(self, sample_shape=()):
        return _dyadic.poisson(self.rate.expand(self._extended_shape(sample_shape)).contiguous())

    def log_prob(self, value):
        self._check(value)
        return _dyadic.xlogy(value, self.rate) - self.rate - (value + 1).lgamma()


class Multinomial(_OfProbs):
    """How often each of the last dimension's choices comes in total_count draws."""

    arg_constraints = Categorical.arg_constraints
    support = property(lambda self: constraints.multinomial(self.total_count), doc="What samples are among.")

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        self._kind = self._begin(probs, logits, False)
        self.total_count = total_count
        self._categorical = Categorical(probs, logits, validate_args)
        self._param = self.__dict__[self._kind] = self._categorical._param
        super().__init__(self._param.shape[:-1], self._param.shape[-1:], False)
        self._validate_args = self._categorical._validate_args

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def _expanded(self, batch_shape):
        return {"total_count": self.total_count}

    @no_grad()
    def sample(self, sample_shape=()):
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        return _dyadic.one_hot(drawn, self._param.shape[-1]).to(self._param.dtype).sum(0)

    def entropy(self):
        """That of the draws in their order, less what their order says: each count alone is binomial."""
        n = self.total_count
        counts = Binomial(n, probs=self.probs, validate_args=False)
        values = counts.enumerate_support(False)
        orders = (counts.log_prob(values).exp() * (values + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - math.lgamma(n + 1) + orders

    def log_prob(self, value):
        self._check(value)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        logits, value = _dyadic.broadcast_tensors(self.logits, value)
        return ways + _dyadic.where((value == 0) & (logits == -math.inf), 0.0, logits * value).sum(-1)


class RelaxedBernoulli(_OfProbs):
    """A Bernoulli draw made soft by a temperature, with a gradient (Maddison et al. 2017)."""

    arg_constraints = Bernoulli.arg_constraints
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._kind, self.temperature = self._begin(probs, logits), temperature
        (self._param,) = broadcast_all(probs if logits is None else logits)
        self.__dict__[self._kind] = self._param
        super().__init__(self._param.shape, (), validate_args)

    def _expanded(self, batch_shape):
        return {"temperature": self.temperature}

    def rsample(self, sample_shape=()):
        u = clamp_probs(_dyadic.rand(self._extended_shape(sample_shape), dtype=self._param.dtype))
        return ((u.log() - (-u).log1p() + self.logits) / self.temperature).sigmoid()

    def log_prob(self, value):
        self._check(value)
        v = clamp_probs(value)
        spread = self.logits - (v.log() - (-v).log1p()) * self.temperature
        return as_tensor(self.temperature).log() + spread - 2 * _dyadic.softplus(spread) - v.log() - (-v).log1p()


class RelaxedOneHotCategorical(_OfProbs):
    """A one-hot draw made soft by a temperature, with a gradient (Jang et al. 2017)."""

    arg_constraints = Categorical.arg_constraints
    support = constraints.simplex
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self._kind, self.temperature = self._begin(probs, logits, False), temperature
        self._categorical = Categorical(probs, logits, validate_args)
        self._param = self.__dict__[self._kind] = self._categorical._param
        super().__init__(self._param.shape[:-1], self._param.shape[-1:], False)

    def _expanded(self, batch_shape):
        return {"temperature": self.temperature}

    def rsample(self, sample_shape=()):
        u = clamp_probs(_dyadic.rand(self._extended_shape(sample_shape), dtype=self._param.dtype))
        return _dyadic.softmax((self.logits - (-u.log()).log()) / self.temperature, -1)

    def log_prob(self, value):
        n, t = self._param.shape[-1], as_tensor(self.temperature, dtype=self._param.dtype)
        score = self.logits - value.log() * t
        score = (score - score.logsumexp(-1, True)).sum(-1)
        return score + math.lgamma(n) + (n - 1) * t.log() - value.log().sum(-1)
