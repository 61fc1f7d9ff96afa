"""Hooks of modules: who calls, in which order, with what, and how often."""
import pickle

import pytest

import dyadic as dy
from dyadic import nn
from dyadic.nn import functional as F

LEAVES = {nn.Linear: (2, 2), nn.LayerNorm: (2,), nn.GELU: (), nn.ReLU: (), nn.Embedding: (3, 2)}


def test_hooks_run_whoever_calls():
    inner = nn.Linear(2, 2)
    m, seen = nn.Sequential(inner, nn.ReLU()), []
    x = dy.randn(3, 2)
    plain = m(x)
    first = inner.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    second = inner.register_forward_hook(lambda module, args, out: seen.append((module, args, out)))
    expected = F.relu(F.linear(x * 2, inner.weight, inner.bias))
    assert (m(x) == expected).all() and (F.relu(inner(x)) == expected).all()
    assert len(seen) == 2 and seen[0][0] is inner and (seen[0][1][0] == x * 2).all()
    with m.register_forward_hook(lambda module, args, out: out + 1):
        assert (m(x) == expected + 1).all()
    first.remove(), second.remove()
    assert (m(x) == plain).all() and len(seen) == 3


def test_hooks_inside_a_transformer_layer():
    layer, seen = nn.TransformerEncoderLayer(4, 2, 8), []
    layer.self_attn.register_forward_hook(lambda module, args, out: seen.append(out[0].shape))
    layer.linear1.register_forward_hook(lambda module, args, out: out * 0)
    layer(dy.randn(3, 1, 4))
    assert [tuple(s) for s in seen] == [(3, 1, 4)]


@pytest.mark.parametrize("make, shape", [(lambda: nn.Conv2d(1, 1, 1), (1, 1, 2, 2)), (lambda: nn.LSTM(2, 3), (4, 1, 2)), (nn.ReLU, (1,))])
def test_hooks_of_layers_run_once(make, shape):
    m, seen = make(), []
    m.register_forward_pre_hook(lambda module, args: seen.append("before"))
    m.register_forward_hook(lambda module, args, out: seen.append(type(out)))
    m.register_full_backward_hook(lambda module, into, out: seen.append("back"))
    out = m(dy.ones(shape, requires_grad=True))
    (out[0] if isinstance(out, tuple) else out).sum().backward()
    assert seen == ["before", tuple if isinstance(out, tuple) else dy.Tensor, "back"]


def test_hooks_with_keywords_and_order():
    class Scaled(nn.Module):
        def forward(self, x, by=1):
            return x * by

    m, order = Scaled(), []
    m.register_forward_pre_hook(lambda module, args, kwargs: (args, {"by": kwargs["by"] + 1}), with_kwargs=True)
    m.register_forward_hook(lambda module, args, kwargs, out: order.append(kwargs["by"]), with_kwargs=True)
    m.register_forward_hook(lambda module, args, out: order.append("first"), prepend=True)
    assert m(dy.ones(1), by=2).item() == 3 and order == ["first", 3]


def test_hooks_of_a_forward_that_fails():
    class Choosy(nn.Module):
        def forward(self, x):
            if x.size(0) == 2:
                raise ValueError("two")
            return x * 3

    m, seen = Choosy(), []
    m.register_forward_hook(lambda module, args, out: seen.append(out), always_call=True)
    m.register_forward_hook(lambda module, args, kwargs, out: seen.append(kwargs), with_kwargs=True, always_call=True)
    m.register_forward_hook(lambda module, args, out: seen.append("plain"))
    m.register_full_backward_hook(lambda module, into, out: seen.append(into[0].tolist()))
    with pytest.raises(ValueError, match="two"):
        m(dy.ones(2, requires_grad=True))
    assert seen == [None, {}]
    seen.clear()
    m(dy.ones(1, requires_grad=True)).sum().backward()  # the failed call has left nothing behind
    assert seen[1:] == [{}, "plain", [3.0]]


def test_backward_hooks():
    inner = nn.Linear(2, 2)
    m, seen = nn.Sequential(inner, nn.ReLU()), []
    handle = inner.register_full_backward_hook(lambda module, into, out: seen.append((module, into, out)))
    x = dy.randn(3, 2)
    x.requires_grad_()
    inner(x).sum().backward()
    plain = x.grad.clone()
    (module, into, out), x.grad = seen[0], None
    assert module is inner and (into[0] == plain).all() and (out[0] == 1).all() and len(seen) == 1
    m(x.detach()).sum().backward()
    assert len(seen) == 2 and seen[1][1] == (None,)
    handle.remove()
    x.grad = None
    with inner.register_full_backward_hook(lambda module, into, out: (into[0] * 2,)):
        inner(x).sum().backward()
    assert (x.grad == plain * 2).all()
    with dy.no_grad(), inner.register_full_backward_hook(lambda *a: seen.append(a)):
        assert not m(x).requires_grad
    assert len(seen) == 2


# pickle finds it by its name
def double(module, args, output):
    return output * 2


def test_hooks_are_copied_with_the_module():
    m = nn.Linear(1, 1)
    m.register_forward_hook(double)
    other = pickle.loads(pickle.dumps(m))
    assert (other(dy.ones(1)) == m(dy.ones(1))).all() and (other(dy.ones(1)) == F.linear(dy.ones(1), m.weight, m.bias) * 2).all()


@pytest.mark.parametrize("base", LEAVES, ids=lambda c: c.__name__)
def test_forward_of_a_derived_layer_runs_once(base):
    class Twice(base):
        def forward(self, x):
            return super().forward(x) * 2

    class Same(base):
        pass

    m, same, x = base(*LEAVES[base]), Same(*LEAVES[base]), dy.tensor([[0, 1], [2, 0]])
    x = x if base is nn.Embedding else x.float() - 1
    twice = Twice(*LEAVES[base])
    for other in (twice, same):
        other.load_state_dict(m.state_dict())
    for call in (twice, nn.Sequential(twice)):
        assert dy.allclose(call(x), m(x) * 2)
    assert dy.allclose(same(x), m(x)) and dy.allclose(nn.Sequential(same)(x), m(x))


def test_hooks_of_every_module():
    from dyadic.nn.modules import module as every

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(1, 1)

        def forward(self, x):
            return self.fc(x)

    m, log = nn.Sequential(Net(), nn.Sequential(nn.ReLU())), []
    x = dy.ones(1, 1, requires_grad=True)
    name = lambda module: type(module).__name__  # noqa: E731
    handles = [
        every.register_module_forward_pre_hook(lambda module, args: log.append(name(module))),
        every.register_module_forward_hook(lambda module, args, out: log.append((name(module), len(args)))),
        every.register_module_full_backward_hook(lambda module, into, out: log.append(into[0].shape)),
    ]
    m(x).sum().backward()
    order = ["Sequential", "Net", "Linear", ("Linear", 1), ("Net", 1), "Sequential", "ReLU", ("ReLU", 1), ("Sequential", 1), ("Sequential", 1)]
    assert log == order + [(1, 1)] * 5
    for handle in handles:
        handle.remove()
    log.clear()
    m(x).sum().backward()
    assert log == []
