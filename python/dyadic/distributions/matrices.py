"""Random matrices: covariances and the Cholesky factors of correlations."""
import math

from .. import _dyadic, linalg
from .._construct import as_tensor
from .._functions import broadcast_shapes
from ..autograd.grad_mode import no_grad
from . import constraints
from .composed import COVARIANCE, MultivariateNormal, the_one_given
from .distribution import Distribution, broadcast_all
from .gammas import Beta, Gamma


class Wishart(Distribution):
    """Sums of x x^T of df normal vectors x, with a covariance_matrix, its inverse precision_matrix or its Cholesky factor scale_tril."""

    arg_constraints = {"df": constraints.positive, **COVARIANCE}
    support = constraints.positive_definite
    has_rsample = True

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        given = the_one_given("Wishart", covariance_matrix, precision_matrix, scale_tril)
        if given.dim() < 2:
            raise ValueError("Wishart: the matrix has two dimensions or more, batches of matrices")
        n = given.shape[-1]
        df = as_tensor(df, dtype=given.dtype)
        batch = broadcast_shapes(df.shape, given.shape[:-2])
        self.df = df.expand(batch)
        if bool((self.df <= n - 1).any()):
            raise ValueError(f"Wishart: df must be greater than {n - 1}, one less than the rows of the matrix; it is {self.df.tolist()}")
        zero = given.new_zeros([*batch, n])
        self._normal = MultivariateNormal(zero, covariance_matrix, precision_matrix, scale_tril, validate_args)
        super().__init__(batch, (n, n), validate_args)

    scale_tril = property(lambda self: self._normal.scale_tril, doc="The Cholesky factor of covariance_matrix.")
    covariance_matrix = property(lambda self: self._normal.covariance_matrix, doc="The covariance of the normal vectors.")
    precision_matrix = property(lambda self: self._normal.precision_matrix, doc="The inverse of covariance_matrix.")

    def expand(self, batch_shape, _instance=None):
        factor = self.scale_tril.expand([*batch_shape, *self.event_shape])
        return Wishart(self.df.expand(list(batch_shape)), scale_tril=factor, validate_args=False)

    def _df(self):
        return self.df.unsqueeze(-1).unsqueeze(-1)

    mean = property(lambda self: self._df() * self.covariance_matrix)

    @property
    def mode(self):
        factor = self._df() - self.event_shape[0] - 1
        return _dyadic.where(factor <= 0, math.nan, factor * self.covariance_matrix)

    @property
    def variance(self):
        matrix = self.covariance_matrix
        own = matrix.diagonal(0, -2, -1)
        return self._df() * (matrix**2 + own.unsqueeze(-1) * own.unsqueeze(-2))

    def rsample(self, sample_shape=()):
        """By Bartlett's decomposition: chi-distributed numbers on the diagonal, normal ones below."""
        shape, n = self._extended_shape(sample_shape), self.event_shape[0]
        squares = Gamma((self.df.unsqueeze(-1) - _dyadic.arange(0, n, dtype=self.df.dtype)) / 2, 0.5, validate_args=False)
        noise = _dyadic.randn(shape, dtype=self.df.dtype, device=self.df.device).tril(-1)
        factor = self.scale_tril @ (noise + squares.rsample(sample_shape).sqrt().diag_embed())
        return factor @ factor.mT

    def _log_gamma(self):
        return _dyadic.mvlgamma(self.df / 2, self.event_shape[0])

    def log_prob(self, value):
        self._check(value)
        n, scale = self.event_shape[0], self.scale_tril
        factor = linalg.cholesky(value)
        scale = scale.expand(broadcast_shapes(scale.shape, factor.shape))
        trace = (linalg.solve_triangular(scale, factor.expand(scale.shape), upper=False) ** 2).sum([-2, -1])
        log_det = 2 * factor.diagonal(0, -2, -1).log().sum(-1)
        norm = self.df * n * (math.log(2) / 2) + self.df * self._normal._half_log_det() + self._log_gamma()
        return (self.df - n - 1) / 2 * log_det - trace / 2 - norm

    def entropy(self):
        n = self.event_shape[0]
        digammas = ((self.df.unsqueeze(-1) - _dyadic.arange(0, n, dtype=self.df.dtype)) / 2).digamma().sum(-1)
        log_det = 2 * self._normal._half_log_det() + n * math.log(2)
        return (n + 1) / 2 * log_det + self._log_gamma() - (self.df - n - 1) / 2 * digammas + n * self.df / 2


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices with a density of det ** (concentration - 1): 1 is uniform (Lewandowski et al. 2009)."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"LKJCholesky: dim is 2 or more, not {dim}")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    def _further(self):
        return {"dim": self.dim}

    @no_grad()
    def sample(self, sample_shape=()):
        """Row by row: what is below the diagonal has a beta-distributed squared length and any direction."""
        row = _dyadic.arange(1, self.dim, dtype=self.concentration.dtype)
        rest = self.concentration.unsqueeze(-1) + (self.dim - 1 - row) / 2
        squares = Beta(row / 2, rest, validate_args=False).sample(sample_shape)
        noise = _dyadic.randn([*squares.shape, self.dim - 1], dtype=row.dtype).tril()
        below = noise / _dyadic.linalg_vector_norm(noise, 2, -1, True) * squares.sqrt().unsqueeze(-1)
        below = _dyadic.cat([below, _dyadic.zeros_like(below[..., :1])], -1)
        diagonal = (1 - squares).clamp(min=_dyadic.finfo(row.dtype).tiny).sqrt()
        rows = below + _dyadic.cat([_dyadic.zeros_like(below[..., :1]), diagonal.diag_embed()], -1)
        first = _dyadic.zeros_like(rows[..., :1, :])
        first[..., 0] = 1
        return _dyadic.cat([first, rows], -2)

    def log_prob(self, value):
        self._check(value)
        n = self.dim - 1
        row = _dyadic.arange(1, self.dim, dtype=self.concentration.dtype)
        powers = 2 * (self.concentration.unsqueeze(-1) - 1) + n - row
        density = (powers * value.diagonal(0, -2, -1)[..., 1:].log()).sum(-1)
        alpha = self.concentration + n / 2
        return density - n / 2 * math.log(math.pi) - _dyadic.mvlgamma(alpha - 0.5, n) + n * alpha.lgamma()
