"""What parameters and samples of distributions must be: check(value) says so element by element."""
from .. import _dyadic

__all__ = """
Constraint MixtureSameFamilyConstraint boolean cat corr_cholesky dependent dependent_property greater_than greater_than_eq half_open_interval
independent integer_interval interval is_dependent less_than lower_cholesky lower_triangular multinomial nonnegative nonnegative_integer one_hot
positive positive_definite positive_integer positive_semidefinite real real_vector simplex square stack symmetric unit_interval
""".split()


class Constraint:
    """A condition; event_dim: over how many of the last dimensions together."""

    event_dim = 0
    is_discrete = False

    def check(self, value):
        """A bool tensor: where value is as it must be."""
        raise NotImplementedError(f"{type(self).__name__}: there is no check")

    def __repr__(self):
        return f"{type(self).__name__.lstrip('_')}()"


class _Dependent(Constraint):
    """Of what depends on other parameters: a distribution's property says which constraint it is."""

    def __init__(self, *, is_discrete=False, event_dim=0):
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, *, is_discrete=False, event_dim=0):
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value):
        raise ValueError("constraints: a dependent constraint has no check of its own")


class dependent_property(property, _Dependent):
    """A property of a distribution that is a constraint; a decorator, with is_discrete and event_dim or without."""

    def __init__(self, function=None, *, is_discrete=False, event_dim=0):
        super().__init__(function)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, function):
        return dependent_property(function, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint):
    """Whether it depends on parameters, so that it has no check of its own."""
    return isinstance(constraint, _Dependent)


class _Between(Constraint):
    """With a lower and an upper bound, numbers or tensors."""

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def __repr__(self):
        return f"{type(self).__name__}(lower_bound={self.lower_bound}, upper_bound={self.upper_bound})"


class _Above(Constraint):
    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def __repr__(self):
        return f"{type(self).__name__}(lower_bound={self.lower_bound})"


class Interval(_Between):
    """lower_bound <= v <= upper_bound."""

    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class HalfOpenInterval(_Between):
    """lower_bound <= v < upper_bound."""

    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)


class IntegerInterval(_Between):
    """Whole numbers from lower_bound to upper_bound."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class GreaterThan(_Above):
    """v > lower_bound."""

    def check(self, value):
        return value > self.lower_bound


class GreaterThanEq(_Above):
    """v >= lower_bound."""

    def check(self, value):
        return value >= self.lower_bound


class IntegerGreaterThan(_Above):
    """Whole numbers from lower_bound on."""

    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound)


class LessThan(Constraint):
    """v < upper_bound."""

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return value < self.upper_bound

    def __repr__(self):
        return f"LessThan(upper_bound={self.upper_bound})"


class Real(Constraint):
    """Any number, but not nan."""

    def check(self, value):
        return value == value


class Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class OneHot(Constraint):
    """Vectors of zeros and a single 1."""

    event_dim = 1
    is_discrete = True

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class Simplex(Constraint):
    """Vectors of numbers >= 0 that add to 1."""

    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < (1e-6 if value.dtype == _dyadic.float64 else 1e-5))


class Multinomial(Constraint):
    """Vectors of counts that add to at most upper_bound."""

    event_dim = 1
    is_discrete = True

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _Matrix(Constraint):
    event_dim = 2


class LowerTriangular(_Matrix):
    """Square matrices with zeros above the diagonal."""

    def check(self, value):
        return (value.tril() == value).flatten(-2).all(-1)


class LowerCholesky(LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    def check(self, value):
        return super().check(value) & (value.diagonal(0, -2, -1) > 0).all(-1)


class CorrCholesky(LowerCholesky):
    """Cholesky factors of correlation matrices: rows of norm 1."""

    def check(self, value):
        allowed = _dyadic.finfo(value.dtype).eps * value.size(-1) * 10
        return super().check(value) & ((_dyadic.linalg_vector_norm(value, 2, -1) - 1).abs() <= allowed).all(-1)


class Square(_Matrix):
    """Matrices of as many rows as columns."""

    def check(self, value):
        return _dyadic.full(value.shape[:-2], value.size(-2) == value.size(-1), dtype=_dyadic.bool)


class Symmetric(_Matrix):
    """Matrices that are their transpose."""

    def check(self, value):
        return (value - value.mT).abs().le(1e-6 + 1e-5 * value.abs()).flatten(-2).all(-1)


class PositiveSemidefinite(Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value):
        return super().check(value) & (_dyadic.linalg_eigvalsh(value) >= 0).all(-1)


class PositiveDefinite(Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value):
        return super().check(value) & (_dyadic.linalg_cholesky_ex(value)[1] == 0)


class IndependentConstraint(Constraint):
    """base_constraint over reinterpreted_batch_ndims further dimensions together."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.event_dim, self.is_discrete = base_constraint.event_dim + reinterpreted_batch_ndims, base_constraint.is_discrete

    def check(self, value):
        found = self.base_constraint.check(value)
        return found.flatten(-self.reinterpreted_batch_ndims).all(-1) if self.reinterpreted_batch_ndims else found

    def __repr__(self):
        return f"IndependentConstraint({self.base_constraint}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """What each component of a mixture has in its support."""

    def __init__(self, base_constraint):
        self.base_constraint = base_constraint
        self.event_dim, self.is_discrete = base_constraint.event_dim, base_constraint.is_discrete

    def check(self, value):
        found = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return found.all(-1)

    def __repr__(self):
        return f"MixtureSameFamilyConstraint({self.base_constraint})"


class _Parts(Constraint):
    """Constraints of the parts of a value along dim."""

    def __init__(self, constraints, dim):
        self.cseq, self.dim = list(constraints), dim
        self.is_discrete = any(c.is_discrete for c in self.cseq)

    def __repr__(self):
        return f"{type(self).__name__}({self.cseq}, dim={self.dim})"


class Cat(_Parts):
    """Constraints of parts that lie one behind the other along dim, of the lengths given."""

    def __init__(self, cseq, dim=0, lengths=None):
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        self.event_dim = max(c.event_dim for c in self.cseq)

    def check(self, value):
        return _dyadic.cat([c.check(part) for c, part in zip(self.cseq, value.split(self.lengths, self.dim))], self.dim)


class Stack(_Parts):
    """Constraints of what is at index 0, 1, ... of dim."""

    def __init__(self, cseq, dim=0):
        super().__init__(cseq, dim)
        self.event_dim = max(c.event_dim for c in self.cseq) + (dim + max(c.event_dim for c in self.cseq) < 0)

    def check(self, value):
        return _dyadic.stack([c.check(part) for c, part in zip(self.cseq, value.unbind(self.dim))], self.dim)


interval, half_open_interval, integer_interval = Interval, HalfOpenInterval, IntegerInterval
greater_than, greater_than_eq, less_than = GreaterThan, GreaterThanEq, LessThan
independent, multinomial, cat, stack = IndependentConstraint, Multinomial, Cat, Stack
closed_interval = interval
dependent = _Dependent()
real, boolean, one_hot, simplex = Real(), Boolean(), OneHot(), Simplex()
real_vector = independent(real, 1)
positive, nonnegative, unit_interval = greater_than(0.0), greater_than_eq(0.0), interval(0.0, 1.0)
positive_integer, nonnegative_integer = IntegerGreaterThan(1), IntegerGreaterThan(0)
lower_triangular, lower_cholesky, corr_cholesky = LowerTriangular(), LowerCholesky(), CorrCholesky()
square, symmetric, positive_semidefinite, positive_definite = Square(), Symmetric(), PositiveSemidefinite(), PositiveDefinite()
