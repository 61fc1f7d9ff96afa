"""What parameters and samples of distributions must be: check(value) says so element by element."""
from .. import _dyadic


class Constraint:
    """A condition; event_dim: over how many of the last dimensions together."""

    event_dim = 0
    is_discrete = False

    def __init__(self, name, check, event_dim=0, is_discrete=False):
        self.name, self.check, self.event_dim, self.is_discrete = name, check, event_dim, is_discrete

    def __repr__(self):
        return self.name


def is_dependent(constraint):
    """Whether it depends on parameters: none here says so by itself."""
    return False


def interval(lower_bound, upper_bound):
    """lower_bound <= v <= upper_bound."""
    return Constraint(f"Interval(lower_bound={lower_bound}, upper_bound={upper_bound})", lambda v: (lower_bound <= v) & (v <= upper_bound))


closed_interval = interval


def half_open_interval(lower_bound, upper_bound):
    """lower_bound <= v < upper_bound."""
    return Constraint(f"HalfOpenInterval({lower_bound}, {upper_bound})", lambda v: (lower_bound <= v) & (v < upper_bound))


def greater_than(lower_bound):
    """v > lower_bound."""
    return Constraint(f"GreaterThan(lower_bound={lower_bound})", lambda v: v > lower_bound)


def greater_than_eq(lower_bound):
    """v >= lower_bound."""
    return Constraint(f"GreaterThanEq(lower_bound={lower_bound})", lambda v: v >= lower_bound)


def less_than(upper_bound):
    """v < upper_bound."""
    return Constraint(f"LessThan(upper_bound={upper_bound})", lambda v: v < upper_bound)


def integer_interval(lower_bound, upper_bound):
    """Whole numbers from lower_bound to upper_bound."""
    check = lambda v: (v % 1 == 0) & (lower_bound <= v) & (v <= upper_bound)  # noqa: E731
    return Constraint(f"IntegerInterval(lower_bound={lower_bound}, upper_bound={upper_bound})", check, 0, True)


def _simplex(v):
    return (v >= 0).all(-1) & ((v.sum(-1) - 1).abs() < 1e-6 if v.dtype == _dyadic.float64 else (v.sum(-1) - 1).abs() < 1e-5)


def _lower(v):
    return (v.tril() == v).flatten(-2).all(-1)


def _positive_definite(v):
    return (v - v.mT).abs().le(1e-6 + 1e-5 * v.abs()).flatten(-2).all(-1) & (_dyadic.linalg_cholesky_ex(v)[1] == 0)


def independent(base, reinterpreted_batch_ndims):
    """base over further dimensions together."""

    def check(v):
        found = base.check(v)
        return found.flatten(-reinterpreted_batch_ndims).all(-1) if reinterpreted_batch_ndims else found

    return Constraint(f"IndependentConstraint({base}, {reinterpreted_batch_ndims})", check, base.event_dim + reinterpreted_batch_ndims, base.is_discrete)


real = Constraint("Real()", lambda v: v == v)
real_vector = independent(real, 1)
boolean = Constraint("Boolean()", lambda v: (v == 0) | (v == 1), 0, True)
positive, nonnegative = greater_than(0.0), greater_than_eq(0.0)
positive_integer = Constraint("IntegerGreaterThan(lower_bound=1)", lambda v: (v % 1 == 0) & (v >= 1), 0, True)
nonnegative_integer = Constraint("IntegerGreaterThan(lower_bound=0)", lambda v: (v % 1 == 0) & (v >= 0), 0, True)
unit_interval = interval(0.0, 1.0)
simplex = Constraint("Simplex()", _simplex, 1)
one_hot = Constraint("OneHot()", lambda v: ((v == 0) | (v == 1)).all(-1) & (v.sum(-1) == 1), 1, True)
lower_triangular = Constraint("LowerTriangular()", _lower, 2)
lower_cholesky = Constraint("LowerCholesky()", lambda v: _lower(v) & (v.diagonal(0, -2, -1) > 0).all(-1), 2)
positive_definite = Constraint("PositiveDefinite()", _positive_definite, 2)
dependent = Constraint("Dependent()", lambda v: v == v)
