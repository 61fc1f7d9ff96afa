"""Invertible functions of random numbers, with the logarithm of their derivative: those of single numbers here."""
import math

from .. import _dyadic
from .._construct import as_tensor
from .._functions import broadcast_shapes
from . import constraints
from .transform import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    Transform,
    _over,
    _Rising,
    _same,
    identity_transform,
    sum_rightmost,
)
from .vector_transforms import (
    CatTransform,
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StackTransform,
    StickBreakingTransform,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class ExpTransform(_Rising):
    """exp(x)"""

    codomain = constraints.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """x ** exponent of numbers above 0."""

    domain = codomain = constraints.positive

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent = as_tensor(exponent)

    def _call(self, x):
        return x**self.exponent

    def _inverse(self, y):
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    sign = property(lambda self: self.exponent.sign())

    def forward_shape(self, shape):
        return broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and _same(self.exponent, other.exponent)

    __hash__ = Transform.__hash__


class SigmoidTransform(_Rising):
    """1 / (1 + exp(-x))"""

    codomain = constraints.unit_interval

    def _call(self, x):
        eps = _dyadic.finfo(x.dtype)
        return x.sigmoid().clamp(eps.tiny, 1 - eps.eps)

    def _inverse(self, y):
        eps = _dyadic.finfo(y.dtype)
        y = y.clamp(eps.tiny, 1 - eps.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -_dyadic.softplus(-x) - _dyadic.softplus(x)


class SoftplusTransform(_Rising):
    """log(1 + exp(x))"""

    codomain = constraints.positive

    def _call(self, x):
        return _dyadic.softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -_dyadic.softplus(-x)


class TanhTransform(_Rising):
    """tanh(x)"""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2 * (math.log(2) - x - _dyadic.softplus(-2 * x))


class AbsTransform(Transform):
    """|x|, whose inverse is the number above 0."""

    bijective = False
    codomain = constraints.nonnegative

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y

    def __eq__(self, other):
        return isinstance(other, AbsTransform)

    __hash__ = Transform.__hash__


class AffineTransform(Transform):
    """loc + scale x"""

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    domain = codomain = property(lambda self: _over(constraints.real, self._event_dim))

    @property
    def sign(self):
        return self.scale.sign() if isinstance(self.scale, _dyadic.Tensor) else (self.scale > 0) - (self.scale < 0)

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        size = as_tensor(self.scale, dtype=x.dtype).abs().log()
        return sum_rightmost(size.expand(x.shape), self._event_dim)

    def forward_shape(self, shape):
        return broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape

    def __eq__(self, other):
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = Transform.__hash__


class CumulativeDistributionTransform(Transform):
    """The cdf of a distribution of single numbers; its inverse makes draws of uniform numbers."""

    sign = 1
    codomain = constraints.unit_interval

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support)

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)
