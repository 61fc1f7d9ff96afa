"""Divergences between families, transforms of vectors and matrices and what constraints they lead to, random matrices: PyTorch's numbers."""
import math

import pytest

import dyadic as torch
from dyadic import distributions as dist
from dyadic.distributions import biject_to, constraints, transform_to, transforms

inf = math.inf


def T(*values):
    return torch.tensor(values, dtype=torch.float64)


def distributions():
    return {
        "Beta": dist.Beta(T(2, 0.5), T(1.5, 3)),
        "ContinuousBernoulli": dist.ContinuousBernoulli(T(0.2, 0.5)),
        "Exponential": dist.Exponential(T(1.5, 0.3)),
        "Gamma": dist.Gamma(T(2, 0.5), T(1.5, 3)),
        "Gumbel": dist.Gumbel(T(0.3, -1), T(1, 2)),
        "Laplace": dist.Laplace(T(0.3, -1), T(1, 2)),
        "Normal": dist.Normal(T(0.3, -1), T(1, 2)),
        "Pareto": dist.Pareto(T(1, 2), T(3, 1.5)),
        "Uniform": dist.Uniform(T(0.1, 0.2), T(0.7, 0.9)),
        "Bernoulli": dist.Bernoulli(T(0.2, 0.7)),
        "Poisson": dist.Poisson(T(1.5, 2.5)),
        "HalfCauchy": dist.HalfCauchy(T(1, 2)),
        "InverseGamma": dist.InverseGamma(T(2, 0.5), T(1.5, 3)),
    }


OTHERS = {  # from a distribution of the same family
    "Pareto": lambda: dist.Pareto(T(0.5, 3), T(1, 2.5)),
    "ContinuousBernoulli": lambda: dist.ContinuousBernoulli(T(0.7, 0.3)),
    "HalfCauchy": lambda: dist.HalfCauchy(T(2, 2)),
    "InverseGamma": lambda: dist.InverseGamma(T(1.2, 2.5), T(2.5, 1)),
}
DIVERGENCES = {
    "Beta ContinuousBernoulli": [0.285902075, 1.108050201],
    "Beta Exponential": [0.55972795, 2.354880148],
    "Beta Gamma": [0.834635148, 0.026347095],
    "Beta Normal": [1.091036353, 2.886802582],
    "ContinuousBernoulli ContinuousBernoulli": [0.201035916, 0.029736123],
    "ContinuousBernoulli Exponential": [0.252970625, 1.353972804],
    "ContinuousBernoulli Normal": [1.037175135, 1.90375238],
    "Exponential Gamma": [0.577215665, 8.132464564],
    "Exponential Gumbel": [0.582047059, 0.88329004],
    "Exponential Normal": [0.613848086, 3.144224021],
    "Gamma Exponential": [0.422784335, 2.261975163],
    "Gamma Gumbel": [0.347531947, 2.846021149],
    "Gamma Normal": [0.72552131, 2.797171406],
    "Gumbel Normal": [0.330778864, 0.330778864],
    "Laplace Normal": [0.225791353, 0.225791353],
    "Normal Gumbel": [0.229782737, 0.229782737],
    "Normal Laplace": [0.072093208, 0.072093208],
    "Pareto Exponential": [1.609813847, 1.049624065],
    "Pareto Gamma": [0.871015406, 16.748616983],
    "Pareto Normal": [1.779217489, inf],
    "Pareto Pareto": [1.125092803, inf],
    "Uniform Beta": [0.499453555, 1.935562355],
    "Uniform ContinuousBernoulli": [0.451027036, 0.356674944],
    "Uniform Exponential": [0.705360516, 1.725647748],
    "Uniform Gamma": [1.332251993, 1.691921684],
    "Uniform Gumbel": [1.529296811, 2.287881018],
    "Uniform Normal": [1.449764157, 2.274177324],
    "Bernoulli Poisson": [0.918504555, 1.247732186],
    "HalfCauchy HalfCauchy": [0.117783036, 0.0],
    "InverseGamma InverseGamma": [0.973195963, 6.052535368],
    **dict.fromkeys(["Beta Uniform", "Gumbel Gamma", "Normal Beta", "Poisson Bernoulli", "Uniform Pareto", "Exponential Pareto"], [inf, inf]),
}


@pytest.mark.parametrize("names", DIVERGENCES)
def test_divergences_between_families(names):
    p, q = names.split()
    there = distributions()
    other = OTHERS[q]() if p == q else there[q]
    assert dist.kl_divergence(there[p], other).tolist() == pytest.approx(DIVERGENCES[names], rel=1e-7)


def test_divergences_of_normal_vectors():
    low = dist.LowRankMultivariateNormal(T(0, 1), T(1, 2).unsqueeze(-1), T(1, 2))
    full = dist.MultivariateNormal(T(1, 1), torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64))
    assert dist.kl_divergence(low, full).item() == pytest.approx(1.9543728374135076)
    assert dist.kl_divergence(low, low).item() == pytest.approx(0, abs=1e-12)
    a, b = (dist.TransformedDistribution(dist.Normal(T(m), T(1.0)), [transforms.AffineTransform(1.0, 2.0), transforms.ExpTransform()]) for m in (0.0, 1.0))
    assert dist.kl_divergence(a, b).item() == pytest.approx(0.5)
    with pytest.raises(NotImplementedError, match="different transforms"):
        dist.kl_divergence(a, dist.TransformedDistribution(dist.Normal(T(0.0), T(1.0)), [transforms.AffineTransform(1.0, 3.0), transforms.ExpTransform()]))


def test_gradients_of_lazy_parameters():
    """Whoever asks for probs and logits first, a sample or no_grad, their gradients are there afterwards."""
    p = T(0.2, 0.7).requires_grad_()
    soft = dist.RelaxedBernoulli(T(0.5), probs=p)
    soft.sample()
    assert soft.rsample().requires_grad
    for d in (dist.Bernoulli(logits=p), dist.Bernoulli(probs=p), dist.ContinuousBernoulli(logits=p), dist.Categorical(probs=p)):
        with torch.no_grad():
            assert d.probs.requires_grad and d.logits.requires_grad


def test_expanded_distributions():
    mixture = dist.MixtureSameFamily(dist.Categorical(T(0.3, 0.7)), dist.Normal(T(0, 1), T(1, 2)))
    wide = mixture.expand((4,))
    assert wide.sample((3,)).shape == (3, 4) and wide.log_prob(T(0.5)).tolist() == [mixture.log_prob(T(0.5)).item()] * 4
    bounded = dist.MixtureSameFamily(dist.Categorical(T(0.3, 0.7)), dist.Uniform(T(0, 0), T(1, 1)))
    with pytest.raises(ValueError, match="MixtureSameFamilyConstraint"):
        bounded.log_prob(T(2.0))
    assert dist.ContinuousBernoulli(T(0.2, 0.5)).expand((3, 2)).mean.shape == (3, 2)
    d = dist.TransformedDistribution(dist.Normal(T(0.0), T(1.0)), transforms.AffineTransform(T(0, 1, 2), 1.0))
    assert d.batch_shape == (3,) and d.expand((2, 3)).sample().shape == (2, 3)
    counts = dist.Multinomial(4, T(0.2, 0.8))
    assert counts.support.check(counts.sample((10,))).all() and not counts.support.check(T(4, 4))


NAMED = {
    "StickBreakingTransform()": [0.109231773, 0.296922742, 0.434135836, 0.159709649],
    "CorrCholeskyTransform()": [1, 0, 0, -0.761594156, 0.648054274, 0, 0, 0.761594156, 0.648054274],
}
STEPS = {  # shapes of x, and over how many dimensions x and y are one
    "StickBreakingTransform()": ([3], 1, 1),
    "CorrCholeskyTransform()": ([3], 1, 2),
    "LowerCholeskyTransform()": ([2, 2], 2, 2),
    "PositiveDefiniteTransform()": ([2, 2], 2, 2),
    "CatTransform([ExpTransform(), AffineTransform(1.0, 2.0)], -1, [1, 2])": ([3], 0, 0),
    "StackTransform([ExpTransform(), SigmoidTransform()], 0)": ([2], 0, 0),
    "ReshapeTransform((2, 3), (6,))": ([2, 3], 2, 1),
    "IndependentTransform(ExpTransform(), 1)": ([3], 1, 1),
    "CumulativeDistributionTransform(Normal(0.0, 1.0))": ([3], 0, 0),
    "ComposeTransform([ReshapeTransform((2, 2), (4,)), AffineTransform(0.0, 2.0), StickBreakingTransform(), SoftplusTransform()])": ([2, 2], 2, 1),
}


@pytest.mark.parametrize("text", STEPS)
def test_transforms_of_vectors(text):
    t = eval(text, {**vars(transforms), "Normal": dist.Normal})
    shape, first, last = STEPS[text]
    x = torch.linspace(-1, 1, math.prod(shape), dtype=torch.float64).reshape(shape)
    y = t(x)
    assert (t.domain.event_dim, t.codomain.event_dim) == (first, last) and t.codomain.check(y).all()
    assert tuple(t.forward_shape((5, *shape))) == (5, *y.shape) and tuple(t.inverse_shape((5, *y.shape))) == (5, *shape)
    if text in NAMED:
        assert y.reshape(-1).tolist() == pytest.approx(NAMED[text], abs=1e-8)
    torch.testing.assert_close(t(t.inv(y)), y)
    if text.startswith(("Lower", "Positive")):
        return
    torch.testing.assert_close(t.inv(y), x)
    jacobian = torch.autograd.functional.jacobian(t, x).reshape(y.numel(), x.numel())
    if "Corr" in text:  # what is below the diagonal is free
        jacobian = jacobian.reshape(3, 3, 3)[[1, 2, 2], [0, 0, 1]]
    elif "Stick" in text:
        jacobian = jacobian[:-1] if "Compose" not in text else None
    if jacobian is not None:
        found = t.log_abs_det_jacobian(x, y)
        assert found.shape == x.shape[: x.dim() - first]
        assert found.sum().item() == pytest.approx(torch.linalg.slogdet(jacobian)[1].item())


CONSTRAINTS = ["real", "positive", "nonnegative", "greater_than(2.0)", "less_than(-1.0)", "unit_interval", "interval(-1.0, 2.0)", "half_open_interval(1.0, 2.0)"]
CONSTRAINTS += ["simplex", "corr_cholesky", "independent(positive, 1)", "cat([real, positive], -1, [1, 2])", "real_vector"]
ONE_WAY = ["lower_cholesky", "positive_definite", "positive_semidefinite"]


@pytest.mark.parametrize("text", CONSTRAINTS + ONE_WAY)
def test_transforms_to_constraints(text):
    constraint = eval(text, vars(constraints))
    x = torch.linspace(-1.5, 2, 9 if text in ONE_WAY else 3, dtype=torch.float64).reshape([3, 3] if text in ONE_WAY else [3])
    for registry in (transform_to,) if text in ONE_WAY else (transform_to, biject_to):
        t = registry(constraint)
        y = t(x)
        assert constraint.check(y).all()
        torch.testing.assert_close(t(t.inv(y)), y)
        if registry is biject_to:
            torch.testing.assert_close(t.inv(y), x)


def test_registries():
    with pytest.raises(NotImplementedError, match=r"no transform is known to Boolean\(\)"):
        biject_to(constraints.boolean)

    class Even(constraints.Constraint):
        def check(self, value):
            return value % 2 == 0

    registry = dist.constraint_registry.ConstraintRegistry()
    registry.register(Even(), lambda constraint: transforms.AffineTransform(0.0, 2.0))
    assert registry(Even())(T(3.0)).tolist() == [6] and repr(Even()) == "Even()"

    class Bounded(dist.Distribution):
        @constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return constraints.interval(0.0, 1.0)

    assert constraints.is_dependent(Bounded.support) and constraints.is_dependent(constraints.dependent)
    assert Bounded().support.upper_bound == 1.0 and not constraints.is_dependent(Bounded().support)


def test_caches():
    t = transforms.ComposeTransform([transforms.ExpTransform(), transforms.TanhTransform()])
    x = T(50.0)
    assert t.inv(t(x)).item() == inf
    t = t.with_cache()
    assert t.inv(t(x)) is x and t.with_cache(1) is t and t.sign == 1 and t == t.with_cache(0)
    assert transforms.ExpTransform() == transforms.ExpTransform() != transforms.TanhTransform()


def test_random_matrices():
    torch.manual_seed(0)
    matrix = torch.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=torch.float64)
    d = dist.Wishart(T(3.5), matrix)
    assert d.log_prob(torch.eye(2, dtype=torch.float64)).tolist() == pytest.approx([-4.652177603472057])
    assert d.entropy().tolist() == pytest.approx([6.803552479022723]) and d.expand((3,)).rsample((2,)).shape == (2, 3, 2, 2)
    drawn = d.sample((20000,))
    assert ((drawn.mean(0) - d.mean).abs() <= 6 * (d.variance / 20000).sqrt()).all()
    assert ((drawn.var(0) / d.variance - 1).abs() < 0.1).all() and d.support.check(drawn).all()
    with pytest.raises(ValueError, match="df must be greater than 1"):
        dist.Wishart(T(1.0), matrix)
    d = dist.LKJCholesky(3, T(1, 2.5))
    assert d.log_prob(torch.eye(3, dtype=torch.float64)).tolist() == pytest.approx([-1.596312591138855, -0.2929776751128159])
    factors = d.expand((4, 2)).sample((10000,))
    assert d.support.check(factors).all()
    squares = ((factors @ factors.mT)[..., [1, 2, 2], [0, 0, 1]] ** 2).mean((0, 1))
    expected = 1 / (2 * (d.concentration + 0.5) + 1)  # correlations are beta-distributed between -1 and 1
    assert (squares / expected.unsqueeze(-1) - 1).abs().max() < 0.05
    assert dist.LogisticNormal(T(0.3, -1), T(1, 2)).log_prob(T(0.2, 0.3, 0.5)).item() == pytest.approx(0.4524515429281153)
    assert dist.LogisticNormal(T(0.3, -1), T(1, 2)).sample((5,)).sum(-1).tolist() == pytest.approx([1] * 5)


def test_generalized_pareto():
    torch.manual_seed(0)
    d = dist.GeneralizedPareto(T(0, 1, 1), T(1, 2, 2), T(0.3, -0.4, 0))
    assert d.log_prob(T(0.5, 2, 2)).tolist() == pytest.approx([-0.6056351065635681, -1.027862548828125, -1.1931471805599454], rel=1e-6)
    at = T(0.2, 0.5, 0.9)
    assert d.cdf(d.icdf(at)).tolist() == pytest.approx(at.tolist())
    assert d.log_cdf(d.icdf(at)).exp().tolist() == pytest.approx(at.tolist())
    drawn = d.sample((40000,))
    assert d.support.check(drawn).all() and (drawn.mean(0) - d.mean).abs().max() < 0.1
    assert (-d.log_prob(drawn).mean(0) - d.entropy()).abs().max() < 0.05


def test_utilities():
    utils = dist.utils
    vec = T(1, 2, 3, 4, 5, 6)
    assert utils.vec_to_tril_matrix(vec).tolist() == [[1, 0, 0], [2, 3, 0], [4, 5, 6]]
    assert utils.tril_matrix_to_vec(utils.vec_to_tril_matrix(vec, -1), -1).tolist() == vec.tolist()
    assert utils.logits_to_probs(utils.probs_to_logits(T(0.2, 0.8))).tolist() == pytest.approx([0.2, 0.8])
    assert [t.shape for t in utils.broadcast_all(T(1, 2), 3)] == [(2,), (2,)]
