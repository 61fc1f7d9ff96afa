"""Invertible functions of random numbers, with the logarithm of their derivative."""
import math

from .. import _dyadic
from .._construct import as_tensor
from . import constraints
from .distribution import sum_rightmost

__all__ = """
AbsTransform AffineTransform ComposeTransform ExpTransform PowerTransform SigmoidTransform SoftmaxTransform SoftplusTransform TanhTransform
Transform identity_transform
""".split()


class Transform:
    """y = t(x), x = t.inv(y); log_abs_det_jacobian(x, y) is log |dy/dx|. event_dim: over how many last dimensions together."""

    bijective = True
    sign = 1
    event_dim = 0
    domain = codomain = constraints.real

    def __init__(self, cache_size=0):
        self._cache_size = cache_size
        self._last = None, None  # so that an inverse that loses digits is not taken

    def __call__(self, x):
        if self._cache_size and self._last[0] is x:
            return self._last[1]
        y = self._call(x)
        self._last = (x, y) if self._cache_size else (None, None)
        return y

    def _inv_call(self, y):
        if self._cache_size and self._last[1] is y:
            return self._last[0]
        x = self._inverse(y)
        self._last = (x, y) if self._cache_size else (None, None)
        return x

    @property
    def inv(self):
        """The inverse as a transform."""
        return _Inverse(self)

    def forward_shape(self, shape):
        """The shape of y for that of x."""
        return shape

    inverse_shape = forward_shape

    def log_abs_det_jacobian(self, x, y):
        """log |dy/dx|, added up over the last event_dim dimensions."""
        raise NotImplementedError(f"{type(self).__name__}: there is no log_abs_det_jacobian")

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)

    def __repr__(self):
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    def __init__(self, transform):
        super().__init__()
        self._of, self.event_dim = transform, transform.event_dim
        self.domain, self.codomain = transform.codomain, transform.domain

    def __repr__(self):
        return f"_InverseTransform({self._of})"

    inv = property(lambda self: self._of)
    sign = property(lambda self: self._of.sign)

    def __call__(self, x):
        return self._of._inv_call(x)

    def _inv_call(self, y):
        return self._of(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._of.log_abs_det_jacobian(y, x)


class ComposeTransform(Transform):
    """Several, the first one first."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = list(parts)
        self.event_dim = max((p.event_dim for p in self.parts), default=0)
        if self.parts:
            self.domain, self.codomain = self.parts[0].domain, self.parts[-1].codomain

    def __repr__(self):
        return "ComposeTransform(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"

    def _call(self, x):
        for p in self.parts:
            x = p(x)
        return x

    def _inverse(self, y):
        for p in reversed(self.parts):
            y = p.inv(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        total = 0.0
        for p in self.parts:
            after = p(x)
            total = total + sum_rightmost(p.log_abs_det_jacobian(x, after), self.event_dim - p.event_dim)
            x = after
        return total if self.parts else _dyadic.zeros_like(x)


identity_transform = ComposeTransform([])


class ExpTransform(Transform):
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


class SigmoidTransform(Transform):
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


class SoftplusTransform(Transform):
    """log(1 + exp(x))"""

    codomain = constraints.positive

    def _call(self, x):
        return _dyadic.softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -_dyadic.softplus(-x)


class TanhTransform(Transform):
    """tanh(x)"""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2 * (math.log(2) - x - _dyadic.softplus(-2 * x))

    def __eq__(self, other):
        return isinstance(other, TanhTransform)

    __hash__ = Transform.__hash__


class AbsTransform(Transform):
    """|x|, whose inverse is the number above 0."""

    bijective = False
    codomain = constraints.nonnegative

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """loc + scale x"""

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    @property
    def sign(self):
        return self.scale.sign() if isinstance(self.scale, _dyadic.Tensor) else (self.scale > 0) - (self.scale < 0)

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        size = as_tensor(self.scale, dtype=x.dtype).abs().log()
        return sum_rightmost(size.expand(x.shape), self.event_dim)


class SoftmaxTransform(Transform):
    """exp(x) over its sum: points of the simplex; the logarithm takes one of many back."""

    bijective = False
    event_dim = 1
    codomain = constraints.simplex

    def _call(self, x):
        return _dyadic.softmax(x, -1)

    def _inverse(self, y):
        return y.log()
