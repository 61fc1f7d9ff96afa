"""Rarer distributions: between 0 and 1, on the circle, of quotients, and normal vectors of a covariance of low rank."""
import math

from .. import _dyadic, linalg
from .._construct import as_tensor
from .._functions import broadcast_shapes
from ..autograd.grad_mode import no_grad
from . import constraints
from .discrete import _OfProbs
from .distribution import LOG_2PI, Distribution, broadcast_all, clamp_probs, lazy_property
from .gammas import Gamma


def _drawn(self, sample_shape):
    """Numbers in (0, 1), as many as a draw needs."""
    like = next(iter(self.__dict__[name] for name in self.arg_constraints if name in self.__dict__))
    tiny = _dyadic.finfo(like.dtype).tiny
    return _dyadic.rand(self._extended_shape(sample_shape), dtype=like.dtype, device=like.device).clamp(min=tiny)


class Kumaraswamy(Distribution):
    """Numbers in (0, 1) with the cdf 1 - (1 - x^a)^b."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, (), validate_args)

    def _moment(self, n):
        """E[x^n] = b B(1 + n / a, b)."""
        a, b = self.concentration1, self.concentration0
        return (b.log() + (1 + n / a).lgamma() + b.lgamma() - (1 + n / a + b).lgamma()).exp()

    mean = property(lambda self: self._moment(1))
    variance = property(lambda self: self._moment(2) - self._moment(1) ** 2)

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        inside = ((a - 1) / (a * b - 1)) ** (1 / a)
        return _dyadic.where((a < 1) | (b < 1) | (a * b == 1), math.nan, inside)

    def rsample(self, sample_shape=()):
        return self.icdf(_drawn(self, sample_shape))

    def log_prob(self, value):
        value = as_tensor(value, dtype=self.concentration1.dtype)
        self._check(value)
        a, b = self.concentration1, self.concentration0
        return a.log() + b.log() + (a - 1) * value.log() + (b - 1) * (-(value**a)).log1p()

    def cdf(self, value):
        self._check(value)
        return -(self.concentration0 * (-(value**self.concentration1)).log1p()).expm1()

    def icdf(self, value):
        return (-((-value).log1p() / self.concentration0).expm1()) ** (1 / self.concentration1)

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + 0.5772156649015329
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - a.log() - b.log()


class FisherSnedecor(Distribution):
    """The quotient of two Chi2 numbers, each over its degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1.shape, (), validate_args)

    mean = property(lambda self: _dyadic.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan))
    mode = property(lambda self: _dyadic.where(self.df1 > 2, (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2), math.nan))

    @property
    def variance(self):
        m, n = self.df1, self.df2
        value = 2 * n**2 * (m + n - 2) / (m * (n - 2) ** 2 * (n - 4))
        return _dyadic.where(n > 4, value, math.nan)

    def rsample(self, sample_shape=()):
        above, below = (Gamma(df / 2, df / 2, validate_args=False).rsample(sample_shape) for df in (self.df1, self.df2))
        return above / below.clamp(min=_dyadic.finfo(below.dtype).tiny)

    def log_prob(self, value):
        value = as_tensor(value, dtype=self.df1.dtype)
        self._check(value)
        m, n = self.df1 / 2, self.df2 / 2
        ratio = self.df1 / self.df2
        constant = (m + n).lgamma() - m.lgamma() - n.lgamma() + m * ratio.log()
        return constant + (m - 1) * value.log() - (m + n) * (ratio * value).log1p()


class ContinuousBernoulli(_OfProbs):
    """Numbers in [0, 1] with a density of probs^x (1 - probs)^(1 - x) over its integral."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._kind, self._lims = self._begin(probs, logits), lims
        self._printed = (self._kind,)
        (given,) = broadcast_all(probs if logits is None else logits)
        self.__dict__[self._kind] = given  # checked as it is given
        super().__init__(given.shape, (), validate_args)
        self._param = self.__dict__[self._kind] = clamp_probs(given) if logits is None else given

    def _expanded(self, batch_shape):
        return {"lims": self._lims}

    @lazy_property
    def probs(self):
        return clamp_probs(self.logits.sigmoid())

    def _apart(self):
        """Where probs is far enough from 1/2 for the formulas, and probs with 1/2 kept away."""
        far = (self.probs < self._lims[0]) | (self.probs > self._lims[1])
        return far, _dyadic.where(far, self.probs, self._lims[0])

    def _log_norm(self):
        far, p = self._apart()
        exact = (((-p).log1p() - p.log()).abs()).log() - (1 - 2 * p).abs().log()
        x = (self.probs - 0.5) ** 2
        return _dyadic.where(far, exact, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self):
        far, p = self._apart()
        x = self.probs - 0.5
        return _dyadic.where(far, p / (2 * p - 1) + 1 / ((-p).log1p() - p.log()), 0.5 + (1 / 3 + 16 / 45 * x**2) * x)

    @property
    def variance(self):
        far, p = self._apart()
        x = (self.probs - 0.5) ** 2
        exact = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2
        return _dyadic.where(far, exact, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape=()):
        return self.icdf(_drawn(self, sample_shape))

    def log_prob(self, value):
        self._check(value)
        return value * self.logits - _dyadic.softplus(self.logits) + self._log_norm()

    def cdf(self, value):
        self._check(value)
        far, p = self._apart()
        inside = _dyadic.where(far, (p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1), value)
        return _dyadic.where(value <= 0, 0.0, _dyadic.where(value >= 1, 1.0, inside))

    def icdf(self, value):
        far, p = self._apart()
        exact = ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return _dyadic.where(far, exact, value)

    def entropy(self):
        logs = (-self.probs).log1p()
        return self.mean * (logs - self.probs.log()) - self._log_norm() - logs


class VonMises(Distribution):
    """Angles around loc, the closer the larger concentration: the normal distribution of the circle."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, (), validate_args)

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: 1 - _dyadic.i1e(self.concentration) / _dyadic.i0e(self.concentration))

    def log_prob(self, value):
        self._check(value)
        k = self.concentration
        return k * ((value - self.loc).cos() - 1) - LOG_2PI - _dyadic.i0e(k).log()

    def sample(self, sample_shape=()):
        """By rejection from a wrapped Cauchy distribution (Best and Fisher, 1979), in double precision."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            k = self.concentration.double().clamp(min=1e-5).expand(shape)
            tau = 1 + (1 + 4 * k**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            r = (1 + rho**2) / (2 * rho)
            angle, done = _dyadic.zeros_like(r), _dyadic.zeros(shape, dtype=_dyadic.bool)
            while not bool(done.all()):
                u = [_dyadic.rand(shape, dtype=_dyadic.float64) for _ in range(3)]
                z = (math.pi * u[0]).cos()
                f = ((1 + r * z) / (r + z)).clamp(-1, 1)
                c = k * (r - f)
                accept = ((c * (2 - c) - u[1]) > 0) | ((c / u[1]).log() + 1 - c >= 0)
                angle = _dyadic.where(accept & ~done, (u[2] - 0.5).sign() * f.acos(), angle)
                done = done | accept
            turned = (angle + math.pi + self.loc.double()) % (2 * math.pi) - math.pi
            return turned.to(self.loc.dtype)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of mean loc and covariance cov_factor cov_factor^T + diag(cov_diag)."""

    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2), "cov_diag": constraints.independent(constraints.positive, 1)}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        n, rank = cov_factor.shape[-2:]
        batch = broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc, self.cov_diag = loc.expand([*batch, n]), cov_diag.expand([*batch, n])
        self.cov_factor = cov_factor.expand([*batch, n, rank])
        super().__init__(batch, (n,), validate_args)
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)  # W^T D^-1; the capacitance is I + W^T D^-1 W
        self._capacitance = linalg.cholesky(scaled @ self.cov_factor + _dyadic.eye(rank, dtype=loc.dtype))

    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: (self.cov_factor**2).sum(-1) + self.cov_diag)
    covariance_matrix = property(lambda self: self.cov_factor @ self.cov_factor.mT + _dyadic.diag_embed(self.cov_diag), doc="cov_factor cov_factor^T + diag(cov_diag).")
    scale_tril = property(lambda self: linalg.cholesky(self.covariance_matrix), doc="The Cholesky factor of covariance_matrix.")
    precision_matrix = property(lambda self: linalg.inv(self.covariance_matrix), doc="The inverse of covariance_matrix.")

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        draw = lambda n: _dyadic.randn([*shape[:-1], n], dtype=self.loc.dtype, device=self.loc.device)
        low = (self.cov_factor @ draw(self.cov_factor.size(-1)).unsqueeze(-1)).squeeze(-1)
        return self.loc + low + self.cov_diag.sqrt() * draw(self.loc.size(-1))

    def _log_det(self):
        return 2 * self._capacitance.diagonal(0, -2, -1).log().sum(-1) + self.cov_diag.log().sum(-1)

    def log_prob(self, value):
        self._check(value)
        gap = value - self.loc
        low = (self.cov_factor.mT @ (gap / self.cov_diag).unsqueeze(-1))
        factor = self._capacitance.expand([*low.shape[:-2], *self._capacitance.shape[-2:]])
        solved = linalg.solve_triangular(factor, low, upper=False)
        distance = (gap**2 / self.cov_diag).sum(-1) - (solved**2).sum([-2, -1])
        return -0.5 * (self.event_shape[0] * LOG_2PI + self._log_det() + distance)

    def entropy(self):
        return (0.5 * (self.event_shape[0] * (1 + LOG_2PI) + self._log_det())).expand(self.batch_shape)
