"""dyadic.func: derivatives, batches and modules as functions. Numbers without a formula beside them are PyTorch's."""
import math

import pytest

import dyadic as torch
from dyadic import func

T = torch.tensor
X = T([1.0, 2.0, 3.0])
W = T([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]])


def close(actual, expected):
    torch.testing.assert_close(actual, T(expected))


def test_gradients_of_trees():
    close(func.grad(lambda x: (x**3).sum())(X), [3.0, 12.0, 27.0])
    first, second = func.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(X, X + 1)
    close(first, [2.0, 3.0, 4.0]), close(second, [1.0, 2.0, 3.0])
    found = func.grad(lambda p: (p["w"] * p["b"][0]).sum())({"w": X, "b": [X + 1]})
    close(found["w"], [2.0, 3.0, 4.0]), close(found["b"][0], [1.0, 2.0, 3.0])
    gradient, (value, aux) = func.grad_and_value(lambda x: (x.sum(), x * 2), has_aux=True)(X)
    assert value.item() == 6 and aux.tolist() == [2, 4, 6] and gradient.tolist() == [1, 1, 1]
    assert func.grad(lambda x, y: x.sum(), argnums=1)(X, X).tolist() == [0, 0, 0]


def test_gradients_of_gradients():
    cube = func.grad(func.grad(func.grad(lambda t: t**4)))
    assert cube(T(2.0)).item() == 48
    with torch.no_grad():
        assert cube(T(2.0)).item() == 48
    close(func.hessian(lambda x: (x**3).sum())(X), [[6.0, 0.0, 0.0], [0.0, 12.0, 0.0], [0.0, 0.0, 18.0]])


def test_a_history_is_kept_where_others_have_one():
    w = T([1.0, 2.0, 3.0], requires_grad=True)
    assert not func.grad(lambda x: (x * x).sum())(X).requires_grad
    g = func.grad(lambda x: (x * w * x).sum())(X)  # 2 x w
    assert torch.autograd.grad(g.sum(), w)[0].tolist() == [2, 4, 6]
    g = func.grad(lambda x: (x**3).sum())(w)
    assert torch.autograd.grad(g.sum(), w)[0].tolist() == [6, 12, 18]
    with torch.no_grad():
        assert not func.grad(lambda x: (x * w * x).sum())(X).requires_grad


def test_products_with_jacobians():
    out, pull = func.vjp(lambda x: x @ W, X)
    close(out, [8.0, 0.0])
    close(pull(T([1.0, 1.0]))[0], [3.0, -0.5, 2.0])
    out, pull = func.vjp(lambda x, y: (x * y, x + y), X, X)
    assert [g.tolist() for g in pull((X, X))] == [[2, 6, 12], [2, 6, 12]]
    out, push = func.jvp(lambda x, y: {"a": x * y, "b": x}, (X, X + 1), (torch.ones(3), X))
    assert out["a"].tolist() == [2, 6, 12] and push["a"].tolist() == [3, 7, 13] and push["b"].tolist() == [1, 1, 1]
    value, push = func.linearize(lambda x: x**2, X)
    assert value.tolist() == [1, 4, 9] and push(torch.ones(3)).tolist() == [2, 4, 6] and push(X).tolist() == [2, 8, 18]


def test_jacobians():
    close(func.jacrev(lambda x: x @ W)(X), W.t().tolist())
    close(func.jacfwd(lambda x: x**2)(X), [[2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]])
    (ab, aa), (sb, sa) = func.jacrev(lambda a, b: (a * b, a.sum()), argnums=(0, 1))(X, X + 1)
    assert ab.diagonal().tolist() == [2, 3, 4] and aa.diagonal().tolist() == [1, 2, 3]
    assert sb.tolist() == [1, 1, 1] and sa.tolist() == [0, 0, 0]


def test_vmap():
    assert torch.vmap(torch.dot)(torch.ones(4, 3), torch.ones(4, 3)).tolist() == [3] * 4
    assert torch.vmap(torch.dot, in_dims=(1, None))(W, X).tolist() == [8, 0]
    rows, sums = torch.vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(W)
    assert rows.tolist() == W.t().tolist() and sums.tolist() == [3, -0.5, 2]
    both = torch.vmap(lambda d: d["a"] + d["b"], in_dims=({"a": 0, "b": None},))({"a": W, "b": torch.ones(2)})
    assert both.tolist() == (W + 1).tolist()
    assert torch.vmap(torch.vmap(lambda a: a * 2))(W).tolist() == (W * 2).tolist()
    per_sample = torch.vmap(func.grad(lambda w, x: (w @ x) ** 2), in_dims=(None, 0))(X, torch.stack([X, -X]))
    assert per_sample.tolist() == [[28, 56, 84], [28, 56, 84]]
    w = X.clone().requires_grad_()
    torch.vmap(lambda row: (row * w[:2]).sum())(W).sum().backward()
    assert w.grad.tolist() == [3.5, 1, 0]


def test_vmap_draws():
    with pytest.raises(RuntimeError, match="draws random numbers"):
        torch.vmap(lambda x: x + torch.rand(2))(torch.zeros(3))
    same = torch.vmap(lambda x: x + torch.rand(2), randomness="same")(torch.zeros(3))
    other = torch.vmap(lambda x: x + torch.rand(2), randomness="different")(torch.zeros(3))
    assert same[0].tolist() == same[1].tolist() and other[0].tolist() != other[1].tolist()


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: torch.vmap(torch.add)(torch.ones(2), torch.ones(3)), "of different sizes"),
        (lambda: torch.vmap(lambda a: a)(3), "of no tensor"),
        (lambda: torch.vmap(lambda a: a, in_dims=2)(X), "in_dims is 2 for a tensor of 1 dim"),
        (lambda: torch.vmap(lambda a: a, in_dims=(0, 0))(X), "does not look like"),
        (lambda: torch.vmap(lambda a: 1.0)(X), "returns tensors, not float"),
    ],
)
def test_vmap_refuses(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: func.grad(lambda x: x)(X), r"one 0-d tensor: its results have the shapes \[\[3\]\]"),
        (lambda: func.grad(lambda x: x.sum(), argnums=1)(X), "argument 1 is not there"),
        (lambda: func.grad(lambda x: x.sum())(T([1, 2])), "no floating-point numbers"),
        (lambda: func.grad(lambda x: x.sum(), has_aux=True)(X), r"returns a pair"),
        (lambda: func.vjp(lambda x: 1.0, X), "returns tensors, not float"),
        (lambda: func.vjp(lambda x: (x, x), X)[1](X), "1 for 2 tensors"),
        (lambda: func.jvp(lambda x: x, X, X), "tuples of one length"),
    ],
)
def test_derivatives_refuse(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()


def a_model():
    m = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    return m, {name: p.detach().clone() for name, p in m.named_parameters()}


def test_modules_as_functions():
    m, params = a_model()
    assert func.functional_call(m, params, X).tolist() == m(X).tolist()
    zero = {name: torch.zeros_like(p) for name, p in params.items()}
    assert func.functional_call(m, zero, (X,)).tolist() == [0]
    assert not isinstance(zero["0.weight"], torch.nn.Parameter)
    assert [name for name, _ in m.named_parameters()] == list(params) and all(isinstance(p, torch.nn.Parameter) for p in m.parameters())
    found = func.grad(lambda p: func.functional_call(m, p, X).sum())(params)
    m(X).sum().backward()
    for name, p in m.named_parameters():
        torch.testing.assert_close(found[name], p.grad)
    rows = torch.vmap(func.grad(lambda p, x: func.functional_call(m, p, x).sum()), in_dims=(None, 0))(params, torch.stack([X, -X]))
    torch.testing.assert_close(rows["0.weight"][0], m[0].weight.grad)


def test_buffers_are_written_where_they_are_given():
    norm = torch.nn.BatchNorm1d(3)
    mean, var = torch.zeros(3), torch.ones(3)
    func.functional_call(norm, {"running_mean": mean, "running_var": var}, torch.ones(4, 3))
    assert mean.tolist() == T([0.1] * 3).tolist() and norm.running_mean.tolist() == [0, 0, 0]


def test_names_that_do_not_fit():
    m, params = a_model()
    with pytest.raises(RuntimeError, match="unknown are .'9.weight'."):
        func.functional_call(m, {**params, "9.weight": X}, X, strict=True)
    with pytest.raises(ValueError, match="in more than one dict"):
        func.functional_call(m, (params, params), X)
    tied = torch.nn.Sequential(torch.nn.Linear(3, 3, bias=False), torch.nn.Linear(3, 3, bias=False))
    tied[1].weight = tied[0].weight
    assert func.functional_call(tied, {"0.weight": torch.eye(3) * 2}, X).tolist() == [4, 8, 12]
    with pytest.raises(ValueError, match="are one tensor of the module"):
        func.functional_call(tied, {"0.weight": torch.eye(3), "1.weight": torch.ones(3, 3)}, X)
    with pytest.raises(ZeroDivisionError):  # what was swapped is put back
        func.functional_call(type("M", (torch.nn.Linear,), {"forward": lambda self, x: 1 / 0})(3, 2), {"weight": torch.ones(2, 3)}, X)


def test_ensembles():
    models = [a_model()[0] for _ in range(3)]
    params, buffers = func.stack_module_state(models)
    assert list(params["0.weight"].shape) == [3, 2, 3] and params["0.weight"].requires_grad and buffers == {}
    out = torch.vmap(lambda p, x: func.functional_call(models[0], p, x), in_dims=(0, None))(params, X)
    torch.testing.assert_close(out, torch.stack([m(X) for m in models]))
    with pytest.raises(RuntimeError, match="of one class"):
        func.stack_module_state([models[0], torch.nn.Linear(1, 1)])
    tree = func.replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm1d(2)))
    assert tree[0].running_mean is None and tree.eval()(T([[1.0, 0.0], [3.0, 4.0]]))[0, 0].item() == pytest.approx(-1, abs=1e-4)


def test_trees():
    from dyadic.utils import _pytree as tree

    nested = {"a": [1, (2, 3)], "b": 4}
    leaves, spec = tree.tree_flatten(nested)
    assert leaves == [1, 2, 3, 4] and tree.tree_unflatten(leaves, spec) == nested
    assert tree.tree_map(lambda a, b: a + b, nested, nested) == {"a": [2, (4, 6)], "b": 8}
    assert math.prod(tree.tree_leaves(nested)) == 24 and tree.tree_map_only(int, str, [1, "x"]) == ["1", "x"]


def test_jacobians_of_more_results_than_arguments():
    calls = []

    def wide(x, d):
        calls.append(1)
        return {"a": x["p"] * d, "b": x["p"].sum().exp()}, x["p"].sum()

    factors = torch.arange(6.0).reshape(3, 2)
    forward, aux = func.jacfwd(wide, has_aux=True)({"p": torch.ones(2)}, factors)
    assert len(calls) == 1 and aux == 2 and not forward["a"]["p"].requires_grad
    backward, _ = func.jacrev(wide, has_aux=True)({"p": torch.ones(2)}, factors)
    assert all(forward[name]["p"].equal(backward[name]["p"]) for name in "ab") and forward["a"]["p"].shape == (3, 2, 2)
    cubes = lambda x: torch.cat([x**3, x**2, x])  # noqa: E731
    close(func.jacfwd(func.jacfwd(cubes))(T([2.0])).flatten(), [12.0, 2.0, 0.0])
    close(func.vmap(func.jacfwd(lambda x: torch.cat([x, x * x])))(T([[2.0], [3.0]])).flatten(), [1.0, 4.0, 1.0, 6.0])
    p = T([3.0]).requires_grad_()
    found = func.jacfwd(lambda x: torch.cat([x * p, x * x * p]))(T([2.0]))
    close(torch.autograd.grad(found.sum(), p)[0], [5.0])  # a history of what else took part
    weight, bias, x = torch.randn(3, 4), torch.randn(3), torch.randn(4)
    predict = lambda w, b, x: torch.tanh(w @ x + b)  # noqa: E731
    found = func.hessian(predict, argnums=2)(weight, bias, x)
    y = predict(weight, bias, x)
    torch.testing.assert_close(found, (-2 * y * (1 - y**2))[:, None, None] * weight[:, :, None] * weight[:, None, :])
