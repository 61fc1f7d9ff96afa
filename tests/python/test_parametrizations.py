"""Parameters that are computed from others: registration, forward, gradients, state, removal; weight and spectral norm."""
import copy
import pickle

import pytest

import dyadic as dy
from dyadic import nn
from dyadic.nn.utils import parametrizations, parametrize


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T

    def right_inverse(self, x):
        return x.triu()


class Double(nn.Module):
    def forward(self, x):
        return x * 2


@pytest.mark.parametrize("make", [lambda: nn.Linear(3, 3), lambda: nn.Sequential(nn.Linear(3, 3))])
def test_module_reads_what_is_computed(make):
    m = make()
    layer = m if isinstance(m, nn.Linear) else m[0]
    before = layer.weight.detach().clone()
    assert parametrize.register_parametrization(layer, "weight", Symmetric()) is layer
    assert repr(layer).startswith("ParametrizedLinear(")
    assert parametrize.is_parametrized(layer) and parametrize.is_parametrized(layer, "weight") and not parametrize.is_parametrized(layer, "bias")
    w = layer.weight
    assert (w == w.T).all() and (w.triu() == before.triu()).all()
    x = dy.randn(2, 3)
    assert dy.allclose(m(x), x @ w.T + layer.bias)
    names = [n.split(".", 1)[1] if layer is not m else n for n, _ in m.named_parameters()]
    assert names == ["bias", "parametrizations.weight.original"] and list(dict(m.named_buffers())) == []
    m(x).sum().backward()
    g = layer.parametrizations.weight.original.grad
    assert (g.tril(-1) == 0).all() and (g.triu() != 0).any()
    with dy.no_grad():
        layer.parametrizations["weight"].original.fill_(1.0)
    assert (layer.weight == 1).all() and dy.allclose(m(x), x.sum(1, keepdim=True) + layer.bias)
    layer.weight = dy.eye(3) * 3
    assert (layer.weight == dy.eye(3) * 3).all()
    parametrize.register_parametrization(layer, "weight", Double())
    assert (layer.weight == dy.eye(3) * 6).all()
    parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter) and (layer.weight == dy.eye(3) * 6).all()
    assert not parametrize.is_parametrized(layer) and {n for n, _ in layer.named_parameters()} == {"weight", "bias"}
    assert dy.allclose(m(x), x * 6 + layer.bias)


def test_state_goes_to_another_module():
    a, b = (parametrizations.weight_norm(nn.Conv1d(2, 3, 2)) for _ in range(2))
    assert list(a.state_dict()) == ["bias", "parametrizations.weight.original0", "parametrizations.weight.original1"]
    b.load_state_dict(a.state_dict())
    x = dy.randn(1, 2, 5)
    assert (a(x) == b(x)).all()


def test_weight_norm():
    m = nn.Linear(4, 3)
    before = m.weight.detach().clone()
    parametrizations.weight_norm(m)
    assert dy.allclose(m.weight, before) and m.parametrizations.weight.original0.shape == (3, 1)
    with dy.no_grad():
        m.parametrizations.weight.original0.fill_(2.0)
    assert dy.allclose((m.weight**2).sum(1), dy.full((3,), 4.0))
    m(dy.randn(2, 4)).sum().backward()
    g, v = (m.parametrizations.weight.original1.grad, m.parametrizations.weight.original1)
    assert (g * v).sum(1).abs().max() < 1e-5  # the direction's gradient is orthogonal to it
    assert dy.allclose(parametrizations.weight_norm(nn.Linear(4, 3), dim=None).parametrizations.weight.original0, dy.tensor(0.0)) is False


def test_spectral_norm():
    for m in (nn.Linear(6, 4), nn.Conv2d(3, 4, 2), nn.ConvTranspose2d(3, 4, 2)):
        parametrizations.spectral_norm(m, n_power_iterations=5)
        axis = 1 if "Transpose" in type(m).__name__ else 0
        for _ in range(8):
            m.weight
        top = dy.linalg.svdvals(m.weight.detach().movedim(axis, 0).flatten(1))[0]
        assert abs(top - 1) < 1e-3
        m.eval()
        assert (m.weight == m.weight).all() and len(dict(m.named_buffers())) == 2
        m.weight.sum().backward()
        assert m.parametrizations.weight.original.grad is not None


def test_cached_and_errors():
    m = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Double())
    with parametrize.cached():
        assert m.weight is m.weight
    assert m.weight is not m.weight
    with pytest.raises(RuntimeError, match="parametrization Double does not implement right_inverse."):
        m.weight = dy.ones(2, 2)
    with pytest.raises(ValueError, match="does not have a parameter, a buffer, or a parametrized element with name 'w'"):
        parametrize.register_parametrization(m, "w", Double())

    class Short(nn.Module):
        def forward(self, x):
            return x[:1]

    with pytest.raises(ValueError, match="may not change the shape or dtype"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Short())
    with pytest.raises(ValueError, match="does not have a parametrization on bias"):
        parametrize.remove_parametrizations(m, "bias")
    assert parametrize.remove_parametrizations(m, "weight", leave_parametrized=False) is m


def test_older_weight_norm():
    m = nn.utils.weight_norm(nn.Linear(3, 2))
    assert [n for n, _ in m.named_parameters()] == ["bias", "weight_g", "weight_v"] and m.weight_g.shape == (2, 1)
    before, x = m.weight.detach().clone(), dy.randn(4, 3)
    assert dy.allclose(before, m.weight_v)
    with dy.no_grad():
        m.weight_g.mul_(2)
    assert dy.allclose(nn.Sequential(m)(x), x @ (2 * before).T + m.bias) and dy.allclose(m.weight, 2 * before)
    m(x).sum().backward()
    assert (m.weight_g.grad != 0).any() and dy.allclose((m.weight_v.grad * m.weight_v).sum(1), dy.zeros(2), atol=1e-5)
    for other in (copy.deepcopy(m), pickle.loads(pickle.dumps(m)), nn.utils.weight_norm(nn.Linear(3, 2))):
        other.load_state_dict(m.state_dict())
        assert (other(x) == m(x)).all()
    assert nn.utils.remove_weight_norm(m) is m and [n for n, _ in m.named_parameters()] == ["bias", "weight"]
    assert dy.allclose(m(x), x @ (2 * before).T + m.bias) and not m._forward_pre_hooks
    with pytest.raises(ValueError, match="weight of Linear has none"):
        nn.utils.remove_weight_norm(m)
    assert nn.utils.weight_norm(m, dim=None).weight_g.shape == ()
    with pytest.raises(RuntimeError, match="has one already"):
        nn.utils.weight_norm(m)


def test_older_spectral_norm():
    m = nn.utils.spectral_norm(nn.Conv2d(2, 3, 2), n_power_iterations=2)
    assert list(m.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"] and [n for n, _ in m.named_buffers()] == ["weight_u", "weight_v"]
    x, u = dy.randn(1, 2, 4, 4), m.weight_u.clone()
    for _ in range(20):
        m(x)
    assert not dy.equal(m.weight_u, u) and abs(dy.linalg.svdvals(m.weight.detach().flatten(1))[0] - 1) < 1e-4
    m.eval()
    u = m.weight_u.clone()
    y = m(x)
    assert dy.equal(m.weight_u, u) and m.weight_u.shape == (3,) and m.weight_v.shape == (8,)
    nn.utils.remove_spectral_norm(m)
    assert list(m.state_dict()) == ["bias", "weight"] and dy.allclose(m(x), y)
