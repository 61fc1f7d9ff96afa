"""Invertible functions of random numbers, with the logarithm of their derivative."""
import math

import copy
import math

from .. import _dyadic, linalg
from .._construct import as_tensor
from .._functions import broadcast_shapes
from . import constraints
from .utils import tril_matrix_to_vec, vec_to_tril_matrix

__all__ = """
AbsTransform AffineTransform CatTransform ComposeTransform CorrCholeskyTransform CumulativeDistributionTransform ExpTransform
IndependentTransform LowerCholeskyTransform PositiveDefiniteTransform PowerTransform ReshapeTransform SigmoidTransform SoftmaxTransform
SoftplusTransform StackTransform StickBreakingTransform TanhTransform Transform identity_transform
""".split()


def sum_rightmost(value, n):
    """Summed over the last n dimensions."""
    return value.flatten(-n).sum(-1) if n else value


def _over(constraint, n):
    """The constraint over n further dimensions together."""
    return constraints.independent(constraint, n) if n else constraint


class Transform:
    """y = t(x), x = t.inv(y); log_abs_det_jacobian(x, y) is log |dy/dx|, one number for domain.event_dim dimensions of x."""

    bijective = True
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

    def _call(self, x):
        raise NotImplementedError(f"{type(self).__name__}: there is no _call")

    def _inverse(self, y):
        raise NotImplementedError(f"{type(self).__name__}: there is no _inverse")

    @property
    def inv(self):
        """The inverse as a transform."""
        return _Inverse(self)

    @property
    def sign(self):
        """1 where it rises, -1 where it falls."""
        raise NotImplementedError(f"{type(self).__name__}: there is no sign")

    @property
    def event_dim(self):
        """Over how many last dimensions together."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError(f"{type(self).__name__}: x and y differ in event_dim; ask domain.event_dim and codomain.event_dim")
        return self.domain.event_dim

    def with_cache(self, cache_size=1):
        """The transform with a memory of its last x and y, or without (0)."""
        if cache_size == self._cache_size:
            return self
        made = copy.copy(self)
        made._cache_size, made._last = cache_size, (None, None)
        return made

    def forward_shape(self, shape):
        """The shape of y for that of x."""
        return shape

    def inverse_shape(self, shape):
        """The shape of x for that of y."""
        return shape

    def log_abs_det_jacobian(self, x, y):
        """log |dy/dx|, added up over the last event_dim dimensions."""
        raise NotImplementedError(f"{type(self).__name__}: there is no log_abs_det_jacobian")

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)

    def __repr__(self):
        return f"{type(self).__name__}()"


def _same(a, b):
    """Whether two parameters, numbers or tensors, are equal."""
    return a is b or bool(_dyadic.eq(as_tensor(a), as_tensor(b)).all())


class _Rising(Transform):
    """A rising function of single numbers without parameters: all of its kind are equal."""

    sign = 1

    def __eq__(self, other):
        return type(self) is type(other)

    __hash__ = Transform.__hash__


class _Inverse(Transform):
    def __init__(self, transform):
        super().__init__()
        self._of = transform

    def __repr__(self):
        return f"_InverseTransform({self._of})"

    inv = property(lambda self: self._of)
    sign = property(lambda self: self._of.sign)
    bijective = property(lambda self: self._of.bijective)
    domain = property(lambda self: self._of.codomain)
    codomain = property(lambda self: self._of.domain)

    def __call__(self, x):
        return self._of._inv_call(x)

    def _inv_call(self, y):
        return self._of(y)

    def with_cache(self, cache_size=1):
        return self._of.with_cache(cache_size).inv

    def forward_shape(self, shape):
        return self._of.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._of.forward_shape(shape)

    def log_abs_det_jacobian(self, x, y):
        return -self._of.log_abs_det_jacobian(y, x)

    def __eq__(self, other):
        return isinstance(other, _Inverse) and self._of == other._of

    __hash__ = Transform.__hash__


class ComposeTransform(Transform):
    """Several, the first one first."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = [p.with_cache(cache_size) if cache_size else p for p in parts]

    bijective = property(lambda self: all(p.bijective for p in self.parts))

    @property
    def sign(self):
        sign = 1
        for p in self.parts:
            sign = sign * p.sign
        return sign

    def _ends(self):
        """The dimensions of x and of y that belong together: each part gets the most that any of them needs."""
        first = 0
        for p in reversed(self.parts):
            first = max(first + p.domain.event_dim - p.codomain.event_dim, p.domain.event_dim)
        last = first
        for p in self.parts:
            last += p.codomain.event_dim - p.domain.event_dim
        return first, last

    @property
    def domain(self):
        if not self.parts:
            return constraints.real
        first = self.parts[0].domain
        return _over(first, self._ends()[0] - first.event_dim)

    @property
    def codomain(self):
        if not self.parts:
            return constraints.real
        last = self.parts[-1].codomain
        return _over(last, self._ends()[1] - last.event_dim)

    def with_cache(self, cache_size=1):
        return self if cache_size == self._cache_size else ComposeTransform([p.with_cache(cache_size) for p in self.parts], cache_size)

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

    def forward_shape(self, shape):
        for p in self.parts:
            shape = p.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for p in reversed(self.parts):
            shape = p.inverse_shape(shape)
        return shape

    def log_abs_det_jacobian(self, x, y):
        total, event = 0.0, self._ends()[0]
        for p in self.parts:
            after = p(x)
            total = total + sum_rightmost(p.log_abs_det_jacobian(x, after), event - p.domain.event_dim)
            event += p.codomain.event_dim - p.domain.event_dim
            x = after
        return total if self.parts else _dyadic.zeros_like(x)

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = Transform.__hash__


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """base_transform whose last reinterpreted_batch_ndims batch dimensions belong to the event too."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size)
        self.base_transform, self.reinterpreted_batch_ndims = base_transform.with_cache(cache_size), reinterpreted_batch_ndims

    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)
    domain = property(lambda self: _over(self.base_transform.domain, self.reinterpreted_batch_ndims))
    codomain = property(lambda self: _over(self.base_transform.codomain, self.reinterpreted_batch_ndims))

    def with_cache(self, cache_size=1):
        return self if cache_size == self._cache_size else IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    def _call(self, x):
        return self.base_transform(x)

    def _inverse(self, y):
        return self.base_transform.inv(y)

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)

    def log_abs_det_jacobian(self, x, y):
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Events of shape in_shape as events of shape out_shape."""

    def __init__(self, in_shape, out_shape, cache_size=0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError(f"ReshapeTransform: the shapes have different numbers of elements: {self.in_shape}, {self.out_shape}")

    domain = property(lambda self: _over(constraints.real, len(self.in_shape)))
    codomain = property(lambda self: _over(constraints.real, len(self.out_shape)))

    def _batch(self, shape, event):
        at = len(shape) - len(event)
        if at < 0 or tuple(shape[at:]) != event:
            raise ValueError(f"ReshapeTransform: the value's shape {tuple(shape)} does not end with {event}")
        return tuple(shape[:at])

    def _call(self, x):
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y):
        return y.reshape(self.inverse_shape(y.shape))

    def forward_shape(self, shape):
        return self._batch(shape, self.in_shape) + self.out_shape

    def inverse_shape(self, shape):
        return self._batch(shape, self.out_shape) + self.in_shape

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(self._batch(x.shape, self.in_shape))


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


class SoftmaxTransform(Transform):
    """exp(x) over its sum: points of the simplex; the logarithm takes one of many back."""

    bijective = False
    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x):
        return _dyadic.softmax(x, -1)

    def _inverse(self, y):
        return y.log()

class StickBreakingTransform(Transform):
    """K - 1 numbers as a point of the simplex of K: each breaks its part off what the ones before have left. 0 is the middle."""

    domain, codomain = constraints.real_vector, constraints.simplex

    @staticmethod
    def _shifted(x):
        return x - _dyadic.arange(x.size(-1), 0, -1, dtype=x.dtype).log()

    def _call(self, x):
        broken = self._shifted(x).sigmoid()
        one = _dyadic.ones_like(x[..., :1])
        left = (1 - broken).cumprod(-1)
        return _dyadic.cat([broken, one], -1) * _dyadic.cat([one, left], -1)

    def _inverse(self, y):
        parts = y[..., :-1]
        left = (1 - parts.cumsum(-1)).clamp(min=_dyadic.finfo(y.dtype).tiny)
        return parts.log() - left.log() + _dyadic.arange(parts.size(-1), 0, -1, dtype=y.dtype).log()

    def log_abs_det_jacobian(self, x, y):
        return (_dyadic.logsigmoid(-self._shifted(x)) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape):
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """The lower triangle of a matrix, its diagonal behind exp."""

    bijective = False
    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + x.diagonal(0, -2, -1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(0, -2, -1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """L L^T of the lower Cholesky factor L of a matrix's lower triangle."""

    bijective = False
    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """n (n - 1) / 2 numbers as the Cholesky factor of a correlation matrix: each row breaks its squares off a stick of length 1."""

    domain, codomain = constraints.real_vector, constraints.corr_cholesky

    @staticmethod
    def _left_before(squares):
        """What is left of the stick before each entry of a row."""
        left = 1 - squares.cumsum(-1)
        return _dyadic.cat([_dyadic.ones_like(left[..., :1]), left[..., :-1]], -1)

    def _call(self, x):
        eps = _dyadic.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(-1 + eps, 1 - eps), -1)
        left = (1 - partial**2).sqrt().cumprod(-1)
        left = _dyadic.cat([_dyadic.ones_like(left[..., :1]), left[..., :-1]], -1)
        return (partial + _dyadic.eye(partial.size(-1), dtype=x.dtype)) * left

    def _inverse(self, y):
        left = tril_matrix_to_vec(self._left_before(y * y), -1)
        return (tril_matrix_to_vec(y, -1) / left.sqrt()).atanh()

    def log_abs_det_jacobian(self, x, y):
        left = tril_matrix_to_vec(self._left_before(y * y), -1)
        slope = 2 * (math.log(2) - x - _dyadic.softplus(-2 * x))  # of tanh
        return (0.5 * left.log() + slope).sum(-1)

    def forward_shape(self, shape):
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError(f"CorrCholeskyTransform: {shape[-1]} numbers fill no triangle")
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape):
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ValueError(f"CorrCholeskyTransform: a square matrix is needed; the shape is {tuple(shape)}")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


class _OfParts(Transform):
    """Transforms of the parts of a value along dim."""

    def __init__(self, tseq, dim, cache_size):
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in tseq], dim

    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def _joined(self, parts):
        raise NotImplementedError

    def _parts(self, x):
        raise NotImplementedError

    def _call(self, x):
        return self._joined([t(part) for t, part in zip(self.transforms, self._parts(x))])

    def _inverse(self, y):
        return self._joined([t.inv(part) for t, part in zip(self.transforms, self._parts(y))])


class CatTransform(_OfParts):
    """Transforms of parts that lie one behind the other along dim, of the lengths given (1 each)."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)

    length = property(lambda self: sum(self.lengths), doc="The size of dim.")
    domain = property(lambda self: constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths))
    codomain = property(lambda self: constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths))

    def with_cache(self, cache_size=1):
        return self if cache_size == self._cache_size else CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, x):
        return x.split(self.lengths, self.dim)

    def _joined(self, parts):
        return _dyadic.cat(list(parts), self.dim)

    def log_abs_det_jacobian(self, x, y):
        event = max(t.domain.event_dim for t in self.transforms)
        logs = [
            sum_rightmost(t.log_abs_det_jacobian(a, b), event - t.domain.event_dim)
            for t, a, b in zip(self.transforms, self._parts(x), self._parts(y))
        ]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + event  # from the end, without the event
        return _dyadic.cat(logs, dim) if dim < 0 else sum(logs)


class StackTransform(_OfParts):
    """Transforms of what is at index 0, 1, ... of dim."""

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(tseq, dim, cache_size)

    domain = property(lambda self: constraints.stack([t.domain for t in self.transforms], self.dim))
    codomain = property(lambda self: constraints.stack([t.codomain for t in self.transforms], self.dim))

    def with_cache(self, cache_size=1):
        return self if cache_size == self._cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, x):
        if x.size(self.dim) != len(self.transforms):
            raise ValueError(f"StackTransform: dimension {self.dim} has {x.size(self.dim)} entries for {len(self.transforms)} transforms")
        return x.unbind(self.dim)

    def _joined(self, parts):
        return _dyadic.stack(list(parts), self.dim)

    def log_abs_det_jacobian(self, x, y):
        return self._joined([t.log_abs_det_jacobian(a, b) for t, a, b in zip(self.transforms, self._parts(x), self._parts(y))])


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
