"""Recording and gradients, as the usual introductions to PyTorch show them."""
import threading

import numpy as np
import pytest

import dyadic as dy


def test_introduction():
    x = dy.ones(5)
    y = dy.zeros(3)
    w = dy.randn(5, 3, requires_grad=True)
    b = dy.randn(3, requires_grad=True)
    z = dy.matmul(x, w) + b
    assert z.requires_grad and z.grad_fn.name() == "AddBackward0" and w.is_leaf and not z.is_leaf
    loss = ((z - y) ** 2).mean()
    loss.backward()
    np.testing.assert_allclose(b.grad.numpy(), 2 / 3 * z.detach().numpy(), rtol=1e-5)
    np.testing.assert_allclose(w.grad.numpy(), np.tile(b.grad.numpy(), (5, 1)), rtol=1e-5)
    with dy.no_grad():
        assert not (dy.matmul(x, w) + b).requires_grad
    assert not z.detach().requires_grad


def test_accumulation_and_retain_graph():
    x = dy.eye(4, 5, requires_grad=True)
    out = (x + 1).pow(2).t()
    out.backward(dy.ones_like(out), retain_graph=True)
    first = x.grad.clone()
    assert first.tolist()[0] == [4, 2, 2, 2, 2]
    out.backward(dy.ones_like(out), retain_graph=True)
    assert (x.grad == 2 * first).all()
    x.grad.zero_()
    out.backward(dy.ones_like(out))
    assert (x.grad == first).all()
    with pytest.raises(RuntimeError, match="retain_graph"):
        out.backward(dy.ones_like(out))
    x.grad = None
    assert x.grad is None
    x.grad = dy.ones(4, 5)
    assert x.grad.sum().item() == 20


def test_backward_needs_a_scalar_or_a_gradient():
    x = dy.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="ones_like"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="does not require grad"):
        dy.ones(()).backward()
    with pytest.raises(RuntimeError, match="shape"):
        (x * 2).backward(dy.ones(2))
    with pytest.raises(RuntimeError, match="does not fit"):
        x.grad = dy.ones(2)
    with pytest.raises(TypeError):
        x.grad = 3


def test_grad_modes():
    x = dy.ones(2, requires_grad=True)

    @dy.no_grad()
    def frozen(y):
        assert not dy.is_grad_enabled()
        with dy.enable_grad():
            assert (y * 2).requires_grad
        return y * 2

    @dy.no_grad
    def bare(y):
        return y * 2

    def countdown(n):
        return frozen_countdown(n - 1) if n else x * 2

    frozen_countdown = dy.no_grad()(countdown)
    assert not frozen(x).requires_grad and not bare(x).requires_grad and not frozen_countdown(3).requires_grad
    assert frozen.__name__ == "frozen" and dy.is_grad_enabled()
    with dy.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    with pytest.raises(KeyError):
        with dy.no_grad():
            raise KeyError
    assert dy.is_grad_enabled()
    dy.set_grad_enabled(False)
    assert not dy.is_grad_enabled()
    seen = []
    thread = threading.Thread(target=lambda: seen.append(dy.is_grad_enabled()))
    thread.start()
    thread.join()
    dy.set_grad_enabled(True)
    assert seen == [True]


def test_requires_grad():
    x = dy.ones(2)
    x.requires_grad = True
    assert x.requires_grad and x.requires_grad_(False) is x and not x.requires_grad
    with pytest.raises(RuntimeError, match="floating"):
        dy.arange(3).requires_grad_()
    y = dy.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="leaf"):
        y.requires_grad_(False)
    with pytest.raises(TypeError):
        x.requires_grad = 1
    with pytest.raises(RuntimeError, match="leaf"):
        dy.ones(2, requires_grad=True).add_(1)


def test_gradients_as_values():
    x = dy.tensor([2.0, 3.0], dtype="f64", requires_grad=True)
    (g,) = dy.autograd.grad((x**3).sum(), x)
    assert g.tolist() == [12, 27] and x.grad is None
    (g,) = dy.autograd.grad((x**3).sum(), [x], create_graph=True)
    (h,) = dy.autograd.grad(g.sum(), x)
    np.testing.assert_allclose(h.numpy(), [12, 18])
    y = dy.ones(2, requires_grad=True)
    assert dy.autograd.grad(x.sum(), [x, y], allow_unused=True)[1] is None
    with pytest.raises(RuntimeError, match="input 1"):
        dy.autograd.grad(x.sum(), [x, y])
    (g,) = dy.autograd.grad(x * 2, x, grad_outputs=dy.tensor([1.0, 10.0], dtype="f64"))
    assert g.tolist() == [2, 20]
    assert dy.autograd.gradcheck(lambda a: (a.exp() * a).sum(), x)
    with pytest.raises(TypeError, match="inputs"):
        dy.autograd.grad(x.sum(), [3])


def test_hooks():
    x = dy.ones(3, requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.register_hook(lambda g: g * 10)
    (x * 2).sum().backward()
    assert seen == [[2, 2, 2]] and x.grad.tolist() == [20] * 3

    def broken(g):
        raise KeyError("in the hook")

    y = dy.ones(1, requires_grad=True)
    y.register_hook(broken)
    with pytest.raises(KeyError, match="in the hook"):
        y.sum().backward()


def test_threads_share_the_interpreter():
    def work(k):
        x = dy.full((200, 200), float(k), requires_grad=True)
        for _ in range(20):
            ((x @ x).sum()).backward()
        results[k] = x.grad.sum().item()

    results = {}
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == {k: 20 * 2 * 200 * 200 * 200 * k for k in range(4)}


def test_deep_graph():
    x = dy.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + 0
    y.backward()
    assert x.grad.item() == 1
    del y


def test_hooks_of_a_leaf_see_the_whole_gradient_once():
    x = dy.tensor([1.0, 2.0], requires_grad=True)
    seen, after = [], []
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.register_post_accumulate_grad_hook(lambda t: after.append(t.grad.tolist()))
    (x * x + x).sum().backward()
    assert seen == after == [[3, 5]] and x.grad.tolist() == [3, 5]
    y = dy.tensor(3.0, requires_grad=True)
    y.register_hook(lambda g: g.clamp(max=5.0))
    (y * y).backward()
    assert y.grad.item() == 5


def test_a_hook_runs_as_soon_as_its_gradient_is_complete():
    a, b = (dy.ones(2, requires_grad=True) for _ in range(2))
    order = []
    a.register_post_accumulate_grad_hook(lambda t: order.append("a"))
    b.register_post_accumulate_grad_hook(lambda t: order.append("b"))
    h = a * 2
    h.register_hook(lambda g: order.append("h"))
    (h * b).sum().backward()
    assert order == ["b", "h", "a"]


def test_grad_runs_the_hooks_of_its_inputs():
    x = dy.tensor(1.0, requires_grad=True)
    x.register_hook(lambda g: g * 2)
    assert dy.autograd.grad(x * 3, x)[0].item() == 6
    x = dy.tensor(1.0, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g * 5)
    assert dy.autograd.grad(y * 2, [y])[0].item() == 10
    assert dy.autograd.grad(x * 2 * 2, [x])[0].item() == 4


def test_a_hook_that_changes_the_shape_is_refused():
    x = dy.ones(3, requires_grad=True)
    x.register_hook(lambda g: g.sum())
    with pytest.raises(RuntimeError, match="a hook returns another kind of tensor"):
        x.sum().backward()
    y = dy.ones(3, requires_grad=True)
    y.register_hook(lambda g: 1.0)
    with pytest.raises(TypeError, match="hook"):
        y.sum().backward()


def test_retained_gradients_follow_a_write():
    x = dy.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y**2).sum().backward()
    assert y.grad.tolist() == [12, 24]


def test_gradients_where_a_factor_is_zero():
    x = dy.ones(3, requires_grad=True)
    x.std().backward()
    assert x.grad.tolist() == [0, 0, 0]
    z = dy.zeros(2, requires_grad=True)
    e = dy.tensor([0.0, 2.0], requires_grad=True)
    (z**e).sum().backward()
    assert z.grad.tolist() == [0, 0] and e.grad.tolist() == [0, 0]
    a, b = (dy.zeros(1, requires_grad=True) for _ in range(2))
    dy.atan2(a, b).backward()
    assert a.grad.item() == b.grad.item() == 0


def test_second_gradients_of_what_selects():
    x = dy.randn(5, dtype=dy.float64, requires_grad=True)
    g = (x.sort()[0] ** 3).sum()
    for _ in range(3):
        (g,) = dy.autograd.grad(g.sum(), x, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), np.full(5, 6.0))
    w = dy.randn(2, 3, 8, requires_grad=True)
    h = dy.nn.functional.max_pool1d(w**2, 2)
    (g,) = dy.autograd.grad(h.sum(), w, create_graph=True)
    g.pow(2).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), 8 * w.detach().numpy() * (g.detach().numpy() != 0), rtol=1e-5)


def test_second_gradient_of_a_complex_absolute_value():
    x = dy.randn(3, dtype=dy.float64, requires_grad=True)
    assert dy.autograd.gradgradcheck(lambda x: dy.complex(x, 2 * x * x).abs(), [x])


def test_gradients_of_f64_keep_its_digits_when_they_are_recorded():
    x = dy.tensor([0.3, 1.7, 2.9], dtype=dy.float64, requires_grad=True)
    plain = dy.autograd.grad(x.norm(3), x)[0]
    recorded = dy.autograd.grad(x.norm(3), x, create_graph=True)[0]
    np.testing.assert_allclose(recorded.detach().numpy(), plain.numpy(), rtol=1e-14)
    q = dy.randn(1, 1, 2, 3, dtype=dy.float64)
    n = q.numpy()[0, 0]
    p = np.exp(n @ n.T * 3**-0.5)
    np.testing.assert_allclose(dy.nn.functional.scaled_dot_product_attention(q, q, q).numpy()[0, 0], p / p.sum(1, keepdims=True) @ n, rtol=1e-13)


def test_backward_does_not_hear_of_writes_through_data():
    w, x = dy.ones(2, requires_grad=True), dy.ones(2)
    loss = (w * x * w).sum()
    version = w._version
    w.data.clamp_(-0.5, 0.5)
    w.data[0] = 0.25
    assert w._version == version and w.tolist() == [0.25, 0.5]
    loss.backward()


def test_a_gradient_fits_its_tensor():
    x = dy.ones(3, requires_grad=True)
    for g in [dy.ones(2), dy.ones(3, dtype=dy.float64), x]:
        with pytest.raises(RuntimeError, match="it does not fit"):
            x.grad = g
    with pytest.raises(RuntimeError, match="real number"):
        (dy.ones((), dtype=dy.complex64, requires_grad=True) * 1j).backward()


def test_a_view_made_under_no_grad_is_not_written_while_recording():
    x = dy.ones(3, requires_grad=True)
    y = x * 1
    with dy.no_grad():
        v = y[:2]
        w = x[:2]
        v.mul_(1)
        w.mul_(1)
    for view in (v, w):
        for write in (lambda t: t.mul_(2), lambda t: t.zero_(), lambda t: t.copy_(dy.ones(2))):
            with pytest.raises(RuntimeError, match="made under no_grad"):
                write(view)
    assert y.tolist() == [1, 1, 1]


def test_only_what_leads_to_the_inputs_runs():
    x = dy.ones(2, requires_grad=True)
    middle = x.exp()
    (g,) = dy.autograd.grad(middle.exp().sum(), middle)  # leaves the way from middle to x as it is
    middle.backward(g)
    np.testing.assert_allclose(x.grad.numpy(), np.exp(np.exp(1)) * np.e * np.ones(2), rtol=1e-6)

    class Square(dy.autograd.Function):
        runs = 0

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            Square.runs += 1
            return g * 2 * ctx.saved_tensors[0]

    a, b = dy.ones(2, requires_grad=True), dy.ones(2, requires_grad=True)
    y = (Square.apply(a) * b).sum()
    assert dy.autograd.grad(y, b, retain_graph=True)[0].tolist() == [1, 1] and Square.runs == 0
    assert dy.autograd.grad(y, a)[0].tolist() == [2, 2] and Square.runs == 1
    with pytest.raises(RuntimeError, match="inputs is empty"):
        dy.autograd.grad((a * 2).sum(), [])
    assert a.grad is None


def test_hooks_of_named_inputs_run_once():
    x, seen = dy.ones(2, requires_grad=True), []
    x.register_hook(lambda g: seen.append(g.tolist()) or g * 2)
    (x * 3).sum().backward(inputs=[x])
    assert x.grad.tolist() == [6, 6] and seen == [[3, 3]]
    y = x * 2
    y.retain_grad()
    z = (y * 2).sum()
    z.backward(retain_graph=True)
    z.backward(inputs=[y])
    assert y.grad.tolist() == [4, 4] and x.grad.tolist() == [14, 14]


def test_a_functions_gradient_may_be_of_the_broadcast_shape():
    class Spread(dy.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.expand(3, 2) * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = dy.ones(2, requires_grad=True)
    Spread.apply(x).sum().backward()
    assert x.grad.tolist() == [6, 6]


def test_fill_keeps_the_history_of_a_number():
    value = dy.tensor(2.0, requires_grad=True)
    filled = dy.zeros(3).fill_(value)
    filled.sum().backward()
    assert filled.tolist() == [2, 2, 2] and value.grad == 3
    with pytest.raises(RuntimeError, match=r"fill_: it takes one number: value is f32\[1\]"):
        dy.zeros(3).fill_(dy.ones(1))
