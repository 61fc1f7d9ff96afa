"""What all distributions have."""
import math

from .._dyadic import Tensor, _demand
from .._size import Size
from ..autograd.grad_mode import no_grad
from .constraints import is_dependent
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs, probs_to_logits  # noqa: F401


class Distribution:
    """Random tensors: samples have the shape sample_shape + batch_shape (one distribution each) + event_shape (one draw)."""

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: dict = {}
    support = None
    _validate_args = True

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if not self._validate_args:
            return
        for name, constraint in self.arg_constraints.items():
            value = self.__dict__.get(name)
            if is_dependent(constraint):
                continue
            if isinstance(value, Tensor) and not value.is_meta:
                _demand(constraint.check(value), value, lambda: f"{type(self).__name__}: {name} must be {constraint!r}; it is\n")

    @staticmethod
    def set_default_validate_args(value):
        """Whether distributions check their parameters, and log_prob its value, unless told otherwise."""
        Distribution._validate_args = bool(value)

    batch_shape = property(lambda self: self._batch_shape, doc="The shape of independent distributions.")
    event_shape = property(lambda self: self._event_shape, doc="The shape of one draw of one distribution.")

    def _missing(self, what):
        return NotImplementedError(f"{type(self).__name__}: there is no {what}")

    def expand(self, batch_shape, _instance=None):
        """The distribution with its parameters expanded to batch_shape."""
        own = {name: v for name, v in self.__dict__.items() if name in self.arg_constraints and isinstance(v, Tensor)}
        made = {n: v.expand(list(batch_shape) + list(v.shape[v.dim() - self.arg_constraints[n].event_dim :])) for n, v in own.items()}
        return type(self)(**made, **self._further(), validate_args=False)

    def _further(self):
        """Arguments beside the parameters."""
        return {}

    @property
    def mean(self):
        """The expectation, [*batch_shape, *event_shape]."""
        raise self._missing("mean")

    @property
    def mode(self):
        """The most probable value."""
        raise self._missing("mode")

    @property
    def variance(self):
        """The variance, [*batch_shape, *event_shape]."""
        raise self._missing("variance")

    @property
    def stddev(self):
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """Draws without a history."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Draws that are differentiable functions of the parameters."""
        raise self._missing("rsample; use sample and log_prob")

    def sample_n(self, n):
        """sample((n,))."""
        return self.sample((n,))

    def log_prob(self, value):
        """The logarithm of the density (or probability) at value: [*sample_shape, *batch_shape]."""
        raise self._missing("log_prob")

    def cdf(self, value):
        """The probability of what is at most value."""
        raise self._missing("cdf")

    def icdf(self, value):
        """The value below which the probability is value: cdf's inverse."""
        raise self._missing("icdf")

    def entropy(self):
        """The expectation of -log_prob in nats, [*batch_shape]."""
        raise self._missing("entropy")

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution along a new first dimension; expand: for each distribution of the batch."""
        raise self._missing("list of its values")

    def perplexity(self):
        """exp(entropy)."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape=()):
        return list(sample_shape) + list(self._batch_shape) + list(self._event_shape)

    def _validate_sample(self, value):
        if not isinstance(value, Tensor):
            raise ValueError(f"{type(self).__name__}: the value must be a tensor, not {type(value).__name__}")
        for mine, its in zip(reversed(self._batch_shape + self._event_shape), reversed(value.shape)):
            if mine != its and mine != 1 and its != 1:
                raise ValueError(f"{type(self).__name__}: a value {list(value.shape)} does not broadcast with the distribution's {self._extended_shape()}")
        if self.support is not None:
            _demand(self.support.check(value), value, lambda: f"{type(self).__name__}: the value must be {self.support!r}; it is\n")

    def _check(self, value):
        if self._validate_args:
            self._validate_sample(value)

    _printed = None  # which parameters, if not all

    def __repr__(self):
        names = self.arg_constraints if self._printed is None else self._printed
        own = {n: self.__dict__[n] for n in names if isinstance(self.__dict__.get(n), Tensor)}
        return f"{type(self).__name__}({', '.join(f'{n}: {v.item() if v.numel() == 1 else v.shape}' for n, v in own.items())})"


LOG_2PI = math.log(2 * math.pi)
