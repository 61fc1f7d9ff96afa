"""Transforms from all real numbers to what a constraint allows: biject_to, one to one; transform_to, for optimizers."""
from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Makers of transforms by the type of constraint; registry(constraint) is a transform whose codomain it is."""

    def __init__(self):
        self._makers = {}

    def register(self, constraint, factory=None):
        """factory(constraint) makes the transform of constraints of this type (or of this one's type); a decorator without it."""
        if factory is None:
            return lambda maker: self.register(constraint, maker)
        kind = constraint if isinstance(constraint, type) else type(constraint)
        if not issubclass(kind, constraints.Constraint):
            raise TypeError(f"ConstraintRegistry: register takes a constraint or its class, not {constraint!r}")
        self._makers[kind] = factory
        return factory

    def __call__(self, constraint):
        maker = self._makers.get(type(constraint))
        if maker is None:
            raise NotImplementedError(f"no transform is known to {constraint!r}; register one")
        return maker(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _both(*kinds):
    """Registers maker(registry, constraint) in both."""

    def register(maker):
        for kind in kinds:
            for registry in (biject_to, transform_to):
                registry.register(kind, lambda constraint, registry=registry: maker(registry, constraint))
        return maker

    return register


def _moved(transform, loc, scale):
    """transform, then loc + scale y, if that is anything."""
    if isinstance(loc, (int, float)) and isinstance(scale, (int, float)) and (loc, scale) == (0, 1):
        return transform
    return transforms.ComposeTransform([transform, transforms.AffineTransform(loc, scale)])


@_both(constraints.real)
def _to_real(registry, constraint):
    return transforms.identity_transform


@_both(constraints.independent)
def _to_independent(registry, constraint):
    return transforms.IndependentTransform(registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@_both(constraints.greater_than, constraints.greater_than_eq)
def _to_above(registry, constraint):
    return _moved(transforms.ExpTransform(), constraint.lower_bound, 1)


@_both(constraints.less_than)
def _to_below(registry, constraint):
    return _moved(transforms.ExpTransform(), constraint.upper_bound, -1)


@_both(constraints.interval, constraints.half_open_interval)
def _to_interval(registry, constraint):
    return _moved(transforms.SigmoidTransform(), constraint.lower_bound, constraint.upper_bound - constraint.lower_bound)


@_both(constraints.corr_cholesky)
def _to_corr_cholesky(registry, constraint):
    return transforms.CorrCholeskyTransform()


@_both(constraints.cat)
def _to_cat(registry, constraint):
    return transforms.CatTransform([registry(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


@_both(constraints.stack)
def _to_stack(registry, constraint):
    return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)


@biject_to.register(constraints.simplex)
def _bijection_to_simplex(constraint):
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _to_simplex(constraint):
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _to_lower_cholesky(constraint):
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _to_positive_definite(constraint):
    return transforms.PositiveDefiniteTransform()
