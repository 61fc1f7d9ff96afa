"""Modes of recording, anomalies, late hooks, gradients into chosen inputs, what a Function's context takes."""
import pytest

import dyadic as torch
from dyadic.autograd import Function
from dyadic.autograd.function import once_differentiable


def leaf():
    return torch.ones(2, requires_grad=True)


def test_inference_mode():
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not (leaf() * 2).requires_grad
        with torch.inference_mode(False):
            assert (leaf() * 2).requires_grad
    assert not torch.is_inference_mode_enabled()
    assert torch.inference_mode(mode=False)(lambda x: x * 2)(leaf()).requires_grad
    assert not torch.inference_mode(lambda x: x * 2)(leaf()).requires_grad
    assert not torch.set_grad_enabled(False)(lambda x: x * 2)(leaf()).requires_grad
    assert torch.is_grad_enabled()


def test_modes_of_generators():
    """Each step of the generator is inside, what its caller does in between is not."""

    def steps(x):
        while True:
            try:
                x = yield (x * 2).requires_grad
            except KeyError:
                yield "caught", torch.is_grad_enabled()
            finally:
                seen.append(torch.is_grad_enabled())

    for mode in (torch.no_grad, torch.inference_mode, lambda: torch.set_grad_enabled(False)):
        seen = []
        found = mode()(steps)(leaf())
        assert not next(found) and torch.is_grad_enabled()
        assert not found.send(leaf()) and torch.is_grad_enabled()
        assert found.throw(KeyError()) == ("caught", False) and torch.is_grad_enabled()
        found.close()
        assert seen == [False] * 2 and torch.is_grad_enabled()
    with torch.no_grad():
        found = torch.enable_grad()(steps)(leaf())
        assert next(found) and not torch.is_grad_enabled()

    @torch.no_grad
    def ending():
        yield 1
        return "end"

    def outer():
        return (yield from ending())

    values = outer()
    assert next(values) == 1
    with pytest.raises(StopIteration) as end:
        next(values)
    assert end.value.value == "end"


def test_anomaly_names_op_and_module():
    class Root(torch.nn.Module):
        def forward(self, x):
            return torch.sqrt(x)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Root()

        def forward(self, x):
            return self.inner(x) * 0

    x = torch.zeros(2, requires_grad=True)
    with torch.autograd.detect_anomaly():
        assert torch.is_anomaly_enabled()
        with pytest.raises(RuntimeError, match=r"a gradient is nan: sqrt gave it to input 0 in .*inner"):
            Net()(x).sum().backward()
    assert not torch.is_anomaly_enabled()
    Net()(x).sum().backward()  # outside nobody looks
    y = torch.tensor([-1.0], requires_grad=True)
    with torch.autograd.detect_anomaly():
        with pytest.raises(RuntimeError, match="first nan came of log"):
            torch.log(y).mul(y).sum().backward()
        masked = torch.zeros(2).masked_fill(torch.tensor([True, False]), float("-inf"))
        z = torch.ones(2, requires_grad=True)
        torch.softmax(z + masked, 0).sum().backward()  # infinities are no anomaly
    with torch.autograd.set_detect_anomaly(True):
        assert torch.is_anomaly_enabled()
    assert not torch.is_anomaly_enabled()


def test_late_hook():
    x, seen = leaf(), []
    handle = x.register_post_accumulate_grad_hook(lambda t: seen.append((t is x, t.grad.tolist())))
    (x * 3).sum().backward()
    handle.remove()
    (x * 3).sum().backward()
    assert seen == [(True, [3, 3])]
    with pytest.raises(RuntimeError, match="leaf"):
        (x * 2).register_post_accumulate_grad_hook(print)

    def step(t):  # an optimizer's step as soon as the gradient is there
        with torch.no_grad():
            t -= 0.5 * t.grad
        t.grad = None

    y = leaf()
    y.register_post_accumulate_grad_hook(step)
    (y * 2).sum().backward()
    assert y.tolist() == [0, 0] and y.grad is None


def test_backward_into_inputs():
    x, y = leaf(), leaf()
    (x * y).sum().backward(inputs=[x])
    assert x.grad.tolist() == [1, 1] and y.grad is None
    (x * y).sum().backward(inputs=x)
    assert x.grad.tolist() == [2, 2]
    middle = x * 2
    torch.autograd.backward([middle.sum()], inputs=[middle])
    assert middle.grad.tolist() == [1, 1] and x.grad.tolist() == [2, 2]
    assert (x * 2).retains_grad is False and middle.output_nr == 0
    with pytest.raises(RuntimeError, match="empty"):
        (x * y).sum().backward(inputs=[])


def test_grad_options():
    x, unused = leaf(), leaf()
    g, zero = torch.autograd.grad(x.sum(), [x, unused], materialize_grads=True)
    assert g.tolist() == [1, 1] and zero.tolist() == [0, 0]
    with pytest.raises(ValueError, match="materialize_grads"):
        torch.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)
    (rows,) = torch.autograd.grad(x * 2, x, grad_outputs=torch.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2, 0], [0, 2]]
    wrong = lambda t: t.detach() * t  # noqa: E731
    t = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(wrong, (t,), raise_exception=False) is False


def test_many_index_tensors():
    x = torch.randn([1] * 9, requires_grad=True)
    indices = tuple(torch.tensor([0, 0]) for _ in range(9))
    x[indices].sum().backward()
    assert x.grad.flatten().tolist() == [2]
    v = torch.ones(2, requires_grad=True)
    torch.zeros([1] * 9).index_put(indices, v, accumulate=True).sum().backward()
    assert v.grad.tolist() == [1, 1]


def test_setup_context():
    class Double(Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0], output)

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            assert not torch.is_grad_enabled()
            x, y = ctx.saved_tensors
            return g * (y / x)

    x = leaf()
    Double.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_undefined_gradients():
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            assert g is None
            return h * 3

    x = leaf()
    Two.apply(x)[1].sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_written_inputs():
    class AddOne(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx, g):
            return g * 5

    x = leaf()
    y = x * 1
    z = AddOne.apply(y)
    assert z is y and y.tolist() == [2, 2]
    (y * 2).sum().backward()
    assert x.grad.tolist() == [10, 10]
    with pytest.raises(RuntimeError, match="leaf"):
        AddOne.apply(leaf())
