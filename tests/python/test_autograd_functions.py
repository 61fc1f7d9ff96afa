"""Functions with a gradient in Python, hooks, the graph seen from outside, Jacobians."""
import gc
import weakref

import numpy as np
import pytest

import dyadic as dy
from dyadic.autograd import Function, functional, gradcheck, gradgradcheck


class Cube(Function):
    @staticmethod
    def forward(ctx, x, power):
        ctx.save_for_backward(x)
        ctx.power = power
        return x**power

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return ctx.power * g * x ** (ctx.power - 1), None


class Both(Function):
    @staticmethod
    def forward(ctx, a, b):
        index = a.argmax()
        ctx.mark_non_differentiable(index)
        return a + b, a - b, index

    @staticmethod
    def backward(ctx, g, h, _):
        return g + h, g - h


def test_function():
    x = dy.randn(3, dtype=dy.float64, requires_grad=True)
    y = Cube.apply(x, 3)
    assert y.grad_fn.name() == "CubeBackward" and "grad_fn=<CubeBackward>" in repr(y)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 * x.detach().numpy() ** 2)
    assert gradcheck(lambda t: Cube.apply(t, 3), x) and gradgradcheck(lambda t: Cube.apply(t, 3), x)
    with dy.no_grad():
        assert Cube.apply(x, 3).is_leaf
    a, b = dy.ones(2, requires_grad=True), dy.ones(2, requires_grad=True)
    s, d, i = Both.apply(a, b)
    assert not i.requires_grad
    (s * 3 + d).sum().backward()
    assert a.grad.tolist() == [4, 4] and b.grad.tolist() == [2, 2]


def test_function_mistakes():
    class Few(Cube):
        @staticmethod
        def backward(ctx, g):
            return (g,)

    x = dy.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="number of gradients"):
        Few.apply(x, 2).sum().backward()
    with pytest.raises(NotImplementedError):
        Function.apply(x)

    class Raises(Cube):
        @staticmethod
        def backward(ctx, g):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Raises.apply(x, 2).sum().backward()


def test_the_graph():
    x = dy.ones(2, requires_grad=True)
    y = (x * 2).sum()
    assert y.grad_fn.name() == "SumBackward0" and x.grad_fn is None
    (mul, index), = y.grad_fn.next_functions
    assert mul.name() == "MulBackward0" and index == 0
    leaf = mul.next_functions[0][0]
    assert leaf.name() == "torch::autograd::AccumulateGrad" and leaf.variable is x
    assert y.grad_fn == y.grad_fn and hash(mul) == hash(y.grad_fn.next_functions[0][0])


def test_hooks_and_retain_grad():
    x = dy.ones(3, requires_grad=True)
    y = x * 2
    y.retain_grad()
    seen = []
    handle = y.register_hook(seen.append)
    (y * y).sum().backward(retain_graph=True)
    assert y.grad.tolist() == [4, 4, 4] and seen[0].tolist() == [4, 4, 4]
    handle.remove()
    (y * y).sum().backward()
    assert len(seen) == 1


def test_create_graph_and_several_roots():
    x = dy.tensor(3.0, requires_grad=True)
    (x**3).backward(create_graph=True)
    assert x.grad.item() == 27
    (second,) = dy.autograd.grad(x.grad, x)
    assert second.item() == 18
    x.grad = None
    dy.autograd.backward([x * x, x * 5], [dy.tensor(1.0), dy.tensor(2.0)])
    assert x.grad.item() == 16


def test_jacobians():
    x, w = dy.randn(3, dtype=dy.float64), dy.randn(2, 3, dtype=dy.float64)
    f = lambda t: dy.matmul(w, dy.exp(t))  # noqa: E731
    j = functional.jacobian(f, x)
    want = w.numpy() * np.exp(x.numpy())
    np.testing.assert_allclose(j.numpy(), want)
    u, v = dy.randn(3, dtype=dy.float64), dy.randn(2, dtype=dy.float64)
    out, jv = functional.jvp(f, x, u)
    np.testing.assert_allclose(out.numpy(), f(x).numpy())
    np.testing.assert_allclose(jv.numpy(), want @ u.numpy())
    np.testing.assert_allclose(functional.vjp(f, x, v)[1].numpy(), v.numpy() @ want)
    g = lambda t: (dy.exp(t) * t).sum()  # noqa: E731
    h = functional.hessian(g, x)
    np.testing.assert_allclose(h.numpy(), np.diag(np.exp(x.numpy()) * (x.numpy() + 2)))
    np.testing.assert_allclose(functional.hvp(g, x, u)[1].numpy(), h.numpy() @ u.numpy())
    rows = functional.jacobian(lambda a, b: (a * b, a.sum()), (x, u))
    assert len(rows) == 2 and len(rows[0]) == 2 and rows[1][1].tolist() == [0, 0, 0]


class Exponential(Function):
    @staticmethod
    def forward(ctx, x, note):
        y = x.exp()
        ctx.note = note
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y, None


def test_a_function_without_backward_is_forgotten():
    """What it saved of its outputs has no history while it waits, else it would hold itself; in backward it has."""

    class Note:
        pass

    for run in (False, True):
        note = Note()
        alive = weakref.ref(note)
        x = dy.ones(3).requires_grad_()
        y = Exponential.apply(x, note)
        if run:
            y.sum().backward()
        del note, y
        gc.collect()
        assert alive() is None
    x = dy.randn(3, dtype=dy.float64, requires_grad=True)
    assert gradgradcheck(lambda t: Exponential.apply(t, None), x)
    y = Exponential.apply(x, None) * 1
    (first,) = dy.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = dy.autograd.grad(first.sum(), x)
    np.testing.assert_allclose(second.numpy(), np.exp(x.detach().numpy()))


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda f, x: f.jacobian(lambda x: dy.ones(2), x, strict=True), "jacobian: output 0 is independent of input 0"),
        (lambda f, x: f.jacobian(lambda x, y: (x * y, x), (x, x), strict=True), "jacobian: output 1 is independent of input 1"),
        (lambda f, x: f.jacobian(lambda x: x * 2, x, strict=True, create_graph=True), "jacobian: it does not depend on the input"),
        (lambda f, x: f.hessian(lambda x: x.sum(), x, strict=True), "hessian, of the gradient: output 0"),
        (lambda f, x: f.hessian(lambda x, y: (x**2).sum() + (y**2).sum(), (x, x), strict=True), "of the gradient: output 0 is independent of input 1"),
        (lambda f, x: f.hvp(lambda x: x.sum(), x, x, strict=True), "hvp, of the gradient: output 0"),
        (lambda f, x: f.vjp(lambda x: dy.ones(()), x, strict=True), "vjp: output 0 is independent of input 0"),
        (lambda f, x: f.hvp(lambda x: (x**2).sum(), x), "hvp: v is missing"),
        (lambda f, x: f.vhp(lambda x: (x**2).sum(), x), "vhp: v is missing"),
    ],
)
def test_strict_products(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(dy.autograd.functional, dy.tensor([1.0, 2.0, 3.0]))


def test_values_of_hessian_products_have_gradients():
    x = dy.tensor([1.0, 2.0], requires_grad=True)
    for product in (dy.autograd.functional.hvp, dy.autograd.functional.vhp):
        value, found = product(lambda x: (x**3).sum(), x, dy.ones(2), create_graph=True)
        assert value.requires_grad and found.requires_grad
        assert dy.autograd.grad(value, x)[0].tolist() == [3, 12] and not product(lambda x: (x**3).sum(), x, dy.ones(2))[0].requires_grad
    assert dy.autograd.functional.jacobian(lambda x: x**2, x, strict=True).tolist() == [[2, 0], [0, 4]]
    assert dy.autograd.functional.hessian(lambda x: (x**3).sum(), x, strict=True).tolist() == [[6, 0], [0, 12]]


def test_gradcheck_of_complex_numbers():
    from dyadic.autograd.gradcheck import GradcheckError

    z = dy.tensor([1 + 2j, -0.5 + 1j], dtype=dy.complex128, requires_grad=True)
    x = dy.tensor([1.0, 2.0], dtype=dy.float64, requires_grad=True)
    for function in (lambda z, x: z * z.conj() * x, lambda z, x: (z * x).abs(), lambda z, x: (z.exp(), x * z.real)):
        assert dy.autograd.gradcheck(function, (z, x))
    assert dy.autograd.gradgradcheck(lambda z: z * z * z, (z,))

    class Wrong(dy.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            return z * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    for leaf in (z, x):
        with pytest.raises(GradcheckError, match="^gradcheck"):
            dy.autograd.gradcheck(Wrong.apply, (leaf,))
