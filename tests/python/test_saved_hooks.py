"""saved_tensors_hooks: what backward reads goes through them; save_on_cpu."""
import gc
import weakref

import pytest

import dyadic as torch
from dyadic.autograd.graph import save_on_cpu, saved_tensors_hooks


def test_backward_reads_what_unpack_gives():
    a = torch.ones(5, requires_grad=True)
    with saved_tensors_hooks(lambda t: t * 3, lambda t: t):
        y = a**2
    z = a**2
    y.sum().backward()
    assert a.grad.tolist() == [6] * 5
    a.grad = None
    z.sum().backward()
    assert a.grad.tolist() == [2] * 5


def test_anything_may_be_kept():
    kept = []

    def pack(t):
        assert not t.requires_grad and t.grad_fn is None
        kept.append(t.numpy().copy())
        return len(kept) - 1

    x, w = torch.randn(3, 4, requires_grad=True), torch.randn(5, 4, requires_grad=True)
    with saved_tensors_hooks(pack, lambda i: torch.from_numpy(kept[i])):
        y = torch.nn.functional.softmax(torch.tanh(x @ w.T), -1)
        y = torch.nn.functional.layer_norm(y, [5]).exp()
    got = torch.autograd.grad(y.sum(), (x, w))
    want = torch.autograd.grad(torch.nn.functional.layer_norm(torch.nn.functional.softmax(torch.tanh(x @ w.T), -1), [5]).exp().sum(), (x, w))
    assert kept and all((g == v).all() for g, v in zip(got, want))


def test_second_derivatives_pass_through():
    x = torch.tensor([0.5, -2.0, 3.0], dtype=torch.float64, requires_grad=True)
    with saved_tensors_hooks(lambda t: t.tolist(), lambda v: torch.tensor(v, dtype=torch.float64)):
        inner = torch.sin(x)
        y = (inner.exp() * x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    (g2,) = torch.autograd.grad((torch.sin(x).exp() * x).sum(), x, create_graph=True)
    (h2,) = torch.autograd.grad(g2.sum(), x)
    assert torch.allclose(g, g2) and torch.allclose(h, h2)


def test_scopes_nest_and_end():
    seen = []
    named = lambda name: saved_tensors_hooks(lambda t: (seen.append(name), t)[1], lambda t: t)
    x = torch.ones(2, requires_grad=True)
    with named("outer"):
        x.exp()
        with named("inner"):
            x.exp()
        x.exp()
    x.exp()
    assert seen == ["outer", "inner", "outer"]
    with pytest.raises(ZeroDivisionError), saved_tensors_hooks(lambda t: 1 / 0, lambda t: t):
        x.exp()
    seen.clear()
    x.exp()
    assert seen == []


def test_wrong_returns_are_named():
    x = torch.ones(2, requires_grad=True)
    with saved_tensors_hooks(lambda t: t, lambda t: "no"):
        y = x.exp().sum()
    with pytest.raises(TypeError, match="unpack returned str"):
        y.backward()
    with saved_tensors_hooks(lambda t: t, lambda t: t[:1]):
        y = x.exp().sum()
    with pytest.raises(RuntimeError, match="what was packed is f32"):
        y.backward()


def test_what_is_kept_is_let_go_by_backward():
    class Kept:
        def __init__(self, t):
            self.t = t

    alive = []

    def pack(t):
        k = Kept(t)
        alive.append(weakref.ref(k))
        return k

    x = torch.ones(3, requires_grad=True)
    with saved_tensors_hooks(pack, lambda k: k.t):
        y = x.exp().sum()
    assert alive[0]() is not None
    y.backward()
    gc.collect()
    assert alive[0]() is None
    with pytest.raises(RuntimeError, match="used up"):
        y.backward()


def test_save_on_cpu():
    x = torch.randn(4, requires_grad=True)
    with save_on_cpu(pin_memory=True):
        y = (x.exp() * x).sum()
    y.backward()
    assert torch.allclose(x.grad, x.exp() * (x + 1))
