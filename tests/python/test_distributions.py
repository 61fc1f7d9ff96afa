"""dyadic.distributions: log-probabilities, entropies and divergences are PyTorch's numbers; draws have the moments they should."""
import math

import pytest

import dyadic as torch
from dyadic import distributions as dist
from dyadic.distributions import transforms

T = torch.tensor
LOC, SCALE, PROBS, K = T([0.0, 1.0]), T([1.0, 2.0]), T([0.2, 0.7]), T([1.0, 3.0])
ROWS, MATRIX, V = T([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]), T([[2.0, 0.5], [0.5, 1.0]]), T([0.3, 0.8])

# fmt: off
CASES = {  # arguments, a value, its log_prob, the entropy (None: there is none)
    "Normal": (lambda: (LOC, SCALE), V, [-0.963939, -1.61709], [1.41894, 2.11209]),
    "Laplace": (lambda: (LOC, SCALE), V, [-0.993147, -1.48629], [1.69315, 2.38629]),
    "Cauchy": (lambda: (LOC, SCALE), V, [-1.23091, -1.84783], [2.53102, 3.22417]),
    "Gumbel": (lambda: (LOC, SCALE), V, [-1.04082, -1.69832], [1.57722, 2.27036]),
    "HalfNormal": (lambda: (SCALE,), V, [-0.270791, -0.998939], [0.725791, 1.41894]),
    "HalfCauchy": (lambda: (SCALE,), V, [-0.53776, -1.29315], [1.83788, 2.53102]),
    "Uniform": (lambda: (LOC, LOC + 3), LOC + V, [-1.09861, -1.09861], [1.09861, 1.09861]),
    "Exponential": (lambda: (SCALE,), V, [-0.3, -0.906853], [1, 0.306853]),
    "Bernoulli": (lambda: (PROBS,), T([0.0, 1.0]), [-0.223144, -0.356675], [0.500402, 0.610864]),
    "Geometric": (lambda: (PROBS,), K, [-1.83258, -3.96859], [2.50201, 0.872663]),
    "Categorical": (lambda: (ROWS,), T([1, 2]), [-1.20397, -2.30259], [1.02965, 0.897946]),
    "OneHotCategorical": (lambda: (ROWS,), T([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), [-1.20397, -0.510826], [1.02965, 0.897946]),
    "Binomial": (lambda: (T([3.0, 4.0]), PROBS), K, [-0.957113, -0.887703], None),
    "Poisson": (lambda: (SCALE,), K, [-1, -1.71232], None),
    "Multinomial": (lambda: (4, ROWS), T([[1.0, 1.0, 2.0], [4.0, 0.0, 0.0]]), [-1.7148, -2.0433], [2.34908, 2.06945]),
    "Gamma": (lambda: (SCALE, SCALE + 1), V, [0.0931472, -0.425919], [0.306853, 0.478603]),
    "Chi2": (lambda: (SCALE + 2,), V, [-1.67092, -2.00944], [2.05412, 2.27036]),
    "InverseGamma": (lambda: (SCALE + 3, SCALE), V, [0.894771, -0.873456], [-0.488829, -0.165505]),
    "Dirichlet": (lambda: (ROWS * 5,), ROWS, [1.37245, 1.56098], [-1.0749, -1.86666]),
    "Beta": (lambda: (SCALE, SCALE + 1), V, [0.336472, -0.957113], [-0.193147, -0.234906]),
    "StudentT": (lambda: (SCALE + 3, LOC, SCALE), V, [-1.03646, -1.66776], [1.68176, 2.32065]),
    "NegativeBinomial": (lambda: (SCALE, PROBS), K, [-1.83258, -2.09168], None),
    "LogNormal": (lambda: (LOC, SCALE / 4), V, [-9.92508, -2.99481], [0.0326442, 1.72579]),
    "MultivariateNormal": (lambda: (LOC, MATRIX), V, [-2.1834], [3.11768]),
    "Pareto": (lambda: (SCALE, SCALE + 3), SCALE + V, [0.0744732, -1.10254], [-0.136294, 0.283709]),
    "Weibull": (lambda: (SCALE, SCALE + 1), V, [-0.600826, -1.49112], [0.595461, 0.979345]),
    "RelaxedBernoulli": (lambda: (0.5, PROBS), V, [-0.742037, -0.252795], None),
    "RelaxedOneHotCategorical": (lambda: (0.5, ROWS), ROWS, [-0.535356, -0.165885], None),
}
# fmt: on


def flat(t):
    return t.reshape(-1).tolist()


@pytest.mark.parametrize("name", CASES)
def test_log_probabilities_and_entropies(name):
    arguments, value, log_prob, entropy = CASES[name]
    d = getattr(dist, name)(*arguments())
    assert flat(d.log_prob(value)) == pytest.approx(log_prob, rel=2e-5)
    if entropy is None:
        with pytest.raises(NotImplementedError, match=f"{name}: there is no entropy"):
            d.entropy()
    else:
        assert flat(d.entropy()) == pytest.approx(entropy, rel=2e-5)
    wider = d.expand((5, *d.batch_shape))
    assert list(wider.batch_shape) == [5, *d.batch_shape] and wider.event_shape == d.event_shape
    assert flat(wider.log_prob(value)[3]) == pytest.approx(log_prob, rel=2e-5)
    assert name in repr(d)


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith(("Relaxed", "Cauchy", "HalfCauchy", "Categorical"))])
def test_moments_of_draws(name):
    torch.manual_seed(1)
    d = getattr(dist, name)(*CASES[name][0]())
    drawn = d.sample((20000,))
    assert list(drawn.shape) == [20000, *d.batch_shape, *d.event_shape] and not drawn.requires_grad
    assert drawn.dtype == torch.float32
    error = 6 * d.stddev / math.sqrt(20000)  # of a mean: six standard deviations
    assert ((drawn.mean(0) - d.mean).abs() <= error).all()
    assert ((drawn.var(0) / d.variance - 1).abs() < 0.35).all()
    if d.support is not None:
        assert d.support.check(drawn).all()


@pytest.mark.parametrize("name", ["Normal", "Laplace", "Cauchy", "Gumbel", "HalfNormal", "HalfCauchy", "Uniform", "Exponential", "LogNormal", "Pareto", "Weibull"])
def test_cdf_and_its_inverse(name):
    d = getattr(dist, name)(*CASES[name][0]())
    at = T([0.3, 0.6])
    assert flat(d.cdf(d.icdf(at))) == pytest.approx([0.3, 0.6], rel=1e-4)
    x = d.icdf(at).detach().requires_grad_()
    density = torch.autograd.grad(d.cdf(x).sum(), x)[0]
    assert flat(density.log()) == pytest.approx(flat(d.log_prob(x)), abs=1e-4)


@pytest.mark.parametrize("name", ["Normal", "Gumbel", "Uniform", "Exponential", "Gamma", "Beta", "InverseGamma", "LogNormal", "Weibull", "StudentT"])
def test_draws_have_gradients(name):
    """The gradient of the mean of many draws is about that of the mean."""
    torch.manual_seed(2)
    leaves = [a.clone().requires_grad_() for a in CASES[name][0]()]
    d = getattr(dist, name)(*leaves)
    assert d.has_rsample
    drawn = d.rsample((40000,))
    found = torch.autograd.grad(drawn.mean(0).sum(), leaves, retain_graph=True, allow_unused=True)
    expected = torch.autograd.grad((d.mean + 0 * sum(a.sum() for a in leaves)).sum(), leaves)
    for f, e in zip(found, expected):
        assert flat(torch.zeros_like(e) if f is None else f) == pytest.approx(flat(e), abs=0.06, rel=0.06)


def test_small_gammas():
    a = torch.full((1000,), 0.01, requires_grad=True)
    drawn = dist.Gamma(a, T(1.0)).rsample()
    (g,) = torch.autograd.grad(drawn.sum(), a)
    assert (drawn > 0).all() and g.isfinite().all() and (g >= 0).all()


def test_gradients_of_choices():
    w = T([1.0, 2.0], requires_grad=True)
    assert flat(torch.autograd.grad(dist.Categorical(logits=w).log_prob(T(1)), w)[0]) == pytest.approx([-0.268941, 0.268941], rel=1e-5)
    assert flat(torch.autograd.grad(dist.Categorical(logits=w).entropy(), w)[0]) == pytest.approx([0.196612, -0.196612], rel=1e-5)
    torch.manual_seed(0)
    soft = dist.OneHotCategoricalStraightThrough(logits=w).rsample((3,))
    assert sorted(flat(soft.sum(-1).round())) == [1, 1, 1]
    assert torch.autograd.grad(soft[0, 0], w)[0].tolist() != [0, 0]
    assert dist.RelaxedOneHotCategorical(T(0.5), logits=w).rsample().sum().item() == pytest.approx(1)
    assert 0 < dist.RelaxedBernoulli(T(0.5), logits=w).rsample()[0].item() < 1


def test_enumerations():
    assert dist.Categorical(ROWS).enumerate_support().tolist() == [[0, 0], [1, 1], [2, 2]]
    assert dist.Bernoulli(PROBS).enumerate_support(False).tolist() == [[0], [1]]
    assert dist.OneHotCategorical(ROWS[0]).enumerate_support().tolist() == torch.eye(3).tolist()
    assert dist.Categorical(ROWS).perplexity().tolist() == pytest.approx([2.80009, 2.45456], rel=1e-5)
    assert dist.Categorical(ROWS * 7).probs[0].tolist() == pytest.approx([0.2, 0.3, 0.5])


def test_divergences():
    numbers = {  # PyTorch's
        "Normal": [0.00853332, 0.00956638], "Laplace": [0.00440109, 0.00551875], "Cauchy": [0.00227015, 0.00283688],
        "Gumbel": [0.00774852, 0.00716572], "Exponential": [0.00468982, 0.00468982], "Gamma": [0.00300793, 0.0027082],
    }
    for name, expected in numbers.items():
        given = [a.double() for a in CASES[name][0]()]
        p, q = getattr(dist, name)(*given), getattr(dist, name)(*(a * 1.1 for a in given))
        assert flat(dist.kl_divergence(p, q)) == pytest.approx(expected, rel=1e-5), name
        assert flat(dist.kl_divergence(p, p)) == pytest.approx([0, 0], abs=1e-6)
    assert flat(dist.kl_divergence(dist.Categorical(ROWS), dist.Categorical(ROWS.flip(0)))) == pytest.approx([0.584997, 0.498224], rel=1e-5)
    assert flat(dist.kl_divergence(dist.Uniform(LOC, LOC + 1), dist.Uniform(LOC - 1, LOC + 2))) == pytest.approx([math.log(3)] * 2)
    both = dist.Independent(dist.Normal(LOC, SCALE), 1), dist.Independent(dist.Normal(LOC + 1, SCALE), 1)
    assert dist.kl_divergence(*both).item() == pytest.approx(0.625)
    with pytest.raises(NotImplementedError, match="from Normal to Poisson"):
        dist.kl_divergence(dist.Normal(0.0, 1.0), dist.Poisson(1.0))


@pytest.mark.parametrize("name", ["HalfNormal", "Bernoulli", "Geometric", "Poisson", "Dirichlet", "Beta", "LogNormal", "MultivariateNormal", "Binomial", "OneHotCategorical"])
def test_divergences_are_means_of_differences(name):
    torch.manual_seed(3)
    p = getattr(dist, name)(*CASES[name][0]())
    other = {"Binomial": (T([3.0, 4.0]), PROBS * 0.8), "OneHotCategorical": (ROWS.flip(1),), "MultivariateNormal": (LOC, MATRIX + torch.eye(2))}
    q = getattr(dist, name)(*other.get(name, tuple(a * 0.8 for a in CASES[name][0]())))
    drawn = p.sample((40000,))
    differences = p.log_prob(drawn) - q.log_prob(drawn)
    error = 6 * differences.std(0) / math.sqrt(40000) + 1e-6
    assert ((differences.mean(0) - dist.kl_divergence(p, q)).abs() <= error).all()


def test_mixtures_and_events():
    mixture = dist.MixtureSameFamily(dist.Categorical(T([0.3, 0.7])), dist.Normal(LOC, SCALE))
    assert flat(mixture.log_prob(T([0.5, 1.0]))) == pytest.approx([-1.42315, -1.55013], rel=1e-5)
    assert mixture.mean.item() == pytest.approx(0.7) and mixture.variance.item() == pytest.approx(3.31)
    assert mixture.cdf(T(0.3)).item() == pytest.approx(0.439592, rel=1e-5) and list(mixture.sample((5,)).shape) == [5]
    vectors = dist.MixtureSameFamily(dist.Categorical(T([0.3, 0.7])), dist.Independent(dist.Normal(torch.ones(2, 3), torch.ones(2, 3)), 1))
    assert list(vectors.sample((5,)).shape) == [5, 3] and flat(vectors.log_prob(torch.ones(4, 3))) == pytest.approx([-2.75682] * 4, rel=1e-5)
    event = dist.Independent(dist.Normal(LOC, SCALE), 1)
    assert event.batch_shape == () and event.event_shape == (2,) and event.log_prob(V).item() == pytest.approx(-2.58102, rel=1e-5)
    with pytest.raises(ValueError, match="reinterpreted_batch_ndims"):
        dist.Independent(dist.Normal(LOC, SCALE), 2)


def test_vectors_by_any_matrix():
    by_precision = dist.MultivariateNormal(LOC, precision_matrix=MATRIX)
    assert flat(by_precision.covariance_matrix) == pytest.approx([0.571429, -0.285714, -0.285714, 1.14286], rel=1e-4)
    assert by_precision.log_prob(V).item() == pytest.approx(-1.63807, rel=1e-5)
    assert flat(by_precision.precision_matrix) == pytest.approx(flat(MATRIX))
    rows = dist.MultivariateNormal(torch.zeros(3, 2), scale_tril=torch.eye(2))
    assert list(rows.log_prob(torch.ones(5, 3, 2)).shape) == [5, 3] and list(rows.rsample().shape) == [3, 2]
    with pytest.raises(ValueError, match="give one of"):
        dist.MultivariateNormal(LOC)


@pytest.mark.parametrize(
    "steps, value, expected",
    [
        ([transforms.TanhTransform()], [0.1, -0.4], [-0.913922, -1.69108]),
        ([transforms.AffineTransform(2.0, 3.0), transforms.SigmoidTransform()], [0.1, 0.4], [-0.58831, -1.6894]),
        ([transforms.SoftplusTransform()], [0.3, 0.8], [-0.1202, -1.09479]),
        ([transforms.ExpTransform().inv], [0.3, 0.8], None),
    ],
)
def test_transforms(steps, value, expected):
    base = dist.Normal(LOC, SCALE)
    if expected is None:  # log x of a log-normal x is normal
        base, expected = dist.LogNormal(LOC, SCALE), flat(dist.Normal(LOC, SCALE).log_prob(T(value)))
    d = dist.TransformedDistribution(base, steps)
    assert flat(d.log_prob(T(value))) == pytest.approx(expected, rel=1e-4)
    x = T([0.2, 0.7])
    for t in steps:
        torch.testing.assert_close(t.inv(t(x)), x, rtol=1e-4, atol=1e-5)
        y = x.clone().requires_grad_()
        slope = torch.autograd.grad(t(y).sum(), y)[0]
        torch.testing.assert_close(t.log_abs_det_jacobian(x, t(x)), slope.abs().log(), rtol=1e-4, atol=1e-5)
    drawn = d.rsample((4,))
    assert list(drawn.shape) == [4, 2] and torch.isfinite(d.log_prob(drawn)).all()


def test_a_remembered_inverse():
    t = transforms.TanhTransform(cache_size=1)
    d = dist.TransformedDistribution(dist.Normal(T(20.0), T(1.0)), [t])
    drawn = d.rsample()  # 1 in f32, of which atanh is infinite
    assert drawn.item() == 1 and torch.isfinite(d.log_prob(drawn))
    falling = dist.TransformedDistribution(dist.Normal(LOC, SCALE), [transforms.AffineTransform(2.0, -3.0)])
    assert flat(falling.cdf(T([0.1, 0.4]))) == pytest.approx([0.263258, 0.592249], rel=1e-5)
    joined = transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(1.0, 2.0)])
    assert flat(joined.log_abs_det_jacobian(V, joined(V))) == pytest.approx([0.993147, 1.49315], rel=1e-5)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: dist.Normal(0.0, -1.0), r"Normal: scale must be GreaterThan\(lower_bound=0.0\)"),
        (lambda: dist.Normal(T(math.nan), 1.0), r"Normal: loc must be Real\(\)"),
        (lambda: dist.Bernoulli(T(1.5)), "Bernoulli: probs must be"),
        (lambda: dist.Categorical(T([-1.0, 2.0])), "Categorical: probs must be"),
        (lambda: dist.Bernoulli(), "probs or logits, one of the two"),
        (lambda: dist.Categorical(T(1.0)), "a dimension of categories"),
        (lambda: dist.Uniform(1.0, 0.0), "low must be below high"),
        (lambda: dist.MultivariateNormal(LOC, -MATRIX), "covariance_matrix must be"),
        (lambda: dist.Normal(LOC, SCALE).log_prob(torch.ones(3)), "does not broadcast"),
        (lambda: dist.Exponential(1.0).log_prob(T(-1.0)), "the value must be"),
        (lambda: dist.Categorical(ROWS).log_prob(T([5, 0])), "the value must be"),
        (lambda: dist.Normal(0.0, 1.0).log_prob(1.0), "must be a tensor, not float"),
    ],
)
def test_refusals(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_without_checks():
    assert dist.Normal(0.0, -1.0, validate_args=False).mean.item() == 0
    assert dist.normal.Normal is dist.Normal and dist.multivariate_normal.MultivariateNormal is dist.MultivariateNormal
    with pytest.raises(NotImplementedError, match="Categorical: there is no rsample"):
        dist.Categorical(ROWS).rsample()


RARE = [  # a value, its log_prob, mean and variance, in float64 as PyTorch 2.15 has them
    (lambda t: dist.Kumaraswamy(t([2.0, 0.5]), t([3.0, 0.7])), [0.2, 0.4], [0.10067756775344461, -0.29140346864748035], [0.457142857, 0.435729847], [0.041020408, 0.110815645]),
    (lambda t: dist.FisherSnedecor(t([3.0, 1.0]), t([5.0, 9.0])), [0.2, 1.4], [-0.39641329670366793, -1.8378022344534508], [1.666666667, 1.285714286], [11.111111111, 5.289795918]),
    (lambda t: dist.ContinuousBernoulli(t([0.1, 0.5])), [0.2, 0.4], [0.465533128365784, 0.0], [0.330119613, 0.5], [0.066508862, 0.083333333]),
    (lambda t: dist.VonMises(t([0.0, 1.0]), t([0.1, 3.0])), [0.2, -1.0], [-1.7423688463883764, -4.671625193596089], [0.0, 1.0], [0.950062396, 0.190014703]),
]  # fmt: skip


@pytest.mark.parametrize("make, at, log_prob, mean, variance", RARE)
def test_rare_distributions(make, at, log_prob, mean, variance):
    t = lambda v: torch.tensor(v, dtype=torch.float64)
    d = make(t)
    assert d.log_prob(t(at)).tolist() == pytest.approx(log_prob, abs=1e-8)
    assert d.mean.tolist() == pytest.approx(mean, rel=1e-8) and d.variance.tolist() == pytest.approx(variance, rel=1e-7)
    torch.manual_seed(3)
    draws = d.sample((20000,))
    assert bool(d.support.check(draws).all())
    if not isinstance(d, dist.VonMises):
        assert (draws.mean(0) - d.mean).abs().max() < 0.1 and d.has_rsample
    else:
        assert (1 - ((draws - d.loc).cos().mean(0)) - d.variance).abs().max() < 0.02


def test_normal_vectors_of_low_rank():
    factor, diagonal, loc = torch.tensor([[1.0, 0.5], [0.2, 0.3], [0.0, 2.0]]), torch.tensor([1.0, 2.0, 0.5]), torch.tensor([0.0, 1.0, 2.0])
    d = dist.LowRankMultivariateNormal(loc, factor, diagonal)
    same = dist.MultivariateNormal(loc, factor @ factor.T + torch.diag(diagonal))
    x = torch.randn(5, 3)
    assert torch.allclose(d.log_prob(x), same.log_prob(x), atol=1e-5) and torch.allclose(d.entropy(), same.entropy(), atol=1e-5)
    assert torch.allclose(d.covariance_matrix, same.covariance_matrix) and d.rsample((4, 2)).shape == (4, 2, 3)


def test_entropy_of_binomial():
    d = dist.Binomial(5, T([0.3, 0.5]))
    assert d.entropy().tolist() == pytest.approx([1.4136, 1.5236], abs=1e-4)
    assert d.enumerate_support().shape == (6, 2) and d.enumerate_support(False).shape == (6, 1)
    with pytest.raises(NotImplementedError, match="counts differ"):
        dist.Binomial(T([2.0, 3.0]), 0.5).entropy()


def test_what_is_printed():
    zero, one = torch.zeros(2), torch.ones(2)
    D = torch.distributions
    assert repr(D.NegativeBinomial(3.0, 0.5)) == "NegativeBinomial(total_count: 3.0, probs: 0.5)"
    assert repr(D.Pareto(1.0, 2.0)) == "Pareto(alpha: 2.0, scale: 1.0)"
    assert repr(D.Beta(1.0, 2.0)) == "Beta()" and repr(D.LogNormal(0.0, 1.0)) == "LogNormal()"
    mixture = D.MixtureSameFamily(D.Categorical(logits=zero), D.Normal(zero, one))
    assert repr(mixture) == f"MixtureSameFamily(\n  {mixture.mixture_distribution},\n  {mixture.component_distribution})"
    normal = D.MultivariateNormal(zero, scale_tril=torch.eye(2))
    assert "scale_tril" in repr(normal) and "covariance" not in repr(normal)
    assert repr(D.ExpTransform().inv) == "_InverseTransform(ExpTransform())"
    assert repr(D.ComposeTransform([D.ExpTransform(), D.TanhTransform()])) == "ComposeTransform(\n    ExpTransform(),\n    TanhTransform()\n)"
