"""Hooks on the nodes of the graph, and on several tensors."""
import pytest

import dyadic as torch
from dyadic.autograd import graph

T = torch.tensor


def leaves():
    return T([1.0, 2.0], requires_grad=True), T([3.0, 4.0])


def test_hooks_see_and_replace():
    a, b = leaves()
    y, seen = a * b, []
    after = y.grad_fn.register_hook(lambda inputs, outputs: seen.append((inputs, outputs)))
    before = y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10,))
    z = (y * a).sum()  # d/da: y + 10 a b
    z.backward(retain_graph=True)
    assert a.grad.tolist() == [3 + 30, 8 + 80]
    inputs, outputs = seen[0]
    assert outputs[0].tolist() == [10, 20] and inputs[0].tolist() == [30, 80] and inputs[1] is None
    after.remove(), before.remove()
    a.grad = None
    z.backward()
    assert a.grad.tolist() == [6, 16] and len(seen) == 1


def test_results_replace_the_inputs_gradients():
    a, b = leaves()
    y = (a * b).exp()
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 0 + 7,))
    y.sum().backward()
    assert a.grad.tolist() == [21, 28]


def test_what_hooks_may_not_do():
    a, b = leaves()
    y = a * b
    y.grad_fn.register_hook(lambda inputs, outputs: inputs[:1])
    with pytest.raises(RuntimeError, match="mul: a hook returns the wrong number of gradients: 1 for 2"):
        y.sum().backward()
    leaf = y.grad_fn.next_functions[0][0]
    with pytest.raises(RuntimeError, match="AccumulateGrad has no hooks"):
        leaf.register_prehook(lambda outputs: None)
    z = a * 2
    z.grad_fn.register_prehook(lambda outputs: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        z.sum().backward()


def test_several_tensors():
    a, b = leaves()
    c = T([5.0], requires_grad=True)
    together, first = [], []
    handle = graph.register_multi_grad_hook((a, c), lambda gradients: together.append([g.sum().item() for g in gradients]))
    graph.register_multi_grad_hook((a, c), first.append, mode="any")
    ((a * b).sum() + 3 * c).backward()
    assert together == [[7, 3]] and len(first) == 1
    handle.remove()
    ((a * b).sum() + 3 * c).backward()
    assert len(together) == 1
    with pytest.raises(ValueError, match="mode is 'some'"):
        graph.register_multi_grad_hook((a,), print, mode="some")
    assert isinstance((a * b).grad_fn, graph.Node)
    with graph.save_on_cpu():
        assert torch.autograd.grad((a * b).sum(), a)[0].tolist() == [3, 4]
