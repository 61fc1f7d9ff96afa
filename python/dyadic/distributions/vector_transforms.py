"""Transforms of vectors and matrices, and of parts of a tensor."""
import math

from .. import _dyadic, linalg
from . import constraints
from .transform import Transform, sum_rightmost
from .utils import tril_matrix_to_vec, vec_to_tril_matrix


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
