"""func.vmap: all entries in one call, against a loop over them."""
import numpy as np
import pytest

import dyadic as torch
from dyadic import func, nn
from dyadic.nn import functional as F

torch.manual_seed(5)


def looped(f, in_dims, out_dim, *args):
    """What vmap gives, by calling f for each entry."""
    count = next(a.size(d) for a, d in zip(args, in_dims) if d is not None)
    return torch.stack([f(*[a if d is None else a.select(d, i) for a, d in zip(args, in_dims)]) for i in range(count)], out_dim)


def agrees(f, *args, in_dims=None, out_dims=0, **kwargs):
    in_dims = in_dims or (0,) * len(args)
    torch.testing.assert_close(func.vmap(f, in_dims, out_dims, **kwargs)(*args), looped(f, in_dims, out_dims, *args))


A, B, V = torch.randn(4, 3, 5), torch.randn(4, 5, 2), torch.randn(4, 5)


def test_functions_of_several_tensors():
    agrees(lambda a, b: (a @ b).tanh().sum(0), A, B)
    agrees(lambda a, v: a @ v + v.mean(), A, V)
    agrees(lambda a, v: F.linear(v, a), A, V)
    agrees(lambda a, v: a * v, A.movedim(0, 1), V.t(), in_dims=(1, -1), out_dims=-1)
    agrees(lambda a: a.softmax(-1).cumsum(0).flip(1)[:, ::2].reshape(-1), A)
    agrees(lambda a, v: torch.cat([a, v[None], torch.zeros(1, 5)]).sort(0).values, A, V)
    agrees(lambda a: a.t().contiguous().view(-1).unfold(0, 3, 2), A)
    agrees(lambda v: torch.where(v > 0, v, 2.0).var(), V)
    agrees(lambda v: v.norm() + v.max() + v.argmax(), V)
    agrees(lambda a: torch.linalg.inv(a @ a.t() + torch.eye(3)), A)
    agrees(lambda v: torch.outer(v, torch.arange(3.0)), V, out_dims=1)


def test_indices():
    where = torch.tensor([[0, 2], [1, 1], [2, 0], [0, 0]])
    agrees(lambda a, i: a[i], A, where)
    agrees(lambda a, i: a[:, i], A, where)
    agrees(lambda a, i: a.index_select(1, i), A, where)
    agrees(lambda a, i: a[i, i + 1], A, where)
    agrees(lambda i: A[i, :, i], where, in_dims=(0,))
    agrees(lambda v, i: v.gather(0, i), V, where)
    agrees(lambda v, i: v.scatter_add(0, i, torch.ones(2)), V, where)
    agrees(lambda v, i: v.index_add(0, i, torch.ones(2)), V, where)
    agrees(lambda v, i: F.embedding(i, v.reshape(5, 1)), V, where)
    agrees(lambda i: F.one_hot(i, 4), where)
    agrees(lambda v, i: torch.index_put(v, (i,), v[:2], accumulate=True), V, where)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool, torch.complex64])
def test_dtypes(dtype):
    a, b = (torch.randint(0, 2, (3, 4)).to(dtype) for _ in range(2))
    agrees(lambda x, y: x * y, a, b)
    agrees(lambda x, y: (x == y).any(), a, b)
    agrees(lambda x: x.sum(), a)
    agrees(lambda x, y: x[0] + torch.ones(2, dtype=torch.float32), a, b)  # an entry is 0-d, and promotes as such


def test_numbers_and_nothing():
    agrees(lambda x: x * 2 + x.sum(), torch.arange(3.0))
    agrees(lambda x: x.softmax(0) + x.cumsum(0) + x.sort().values, torch.arange(3.0))
    assert func.vmap(lambda x: x.sum(0))(torch.ones(0, 3)).shape == (0,)
    assert func.vmap(lambda x: x.t() @ x)(torch.ones(2, 0, 3)).shape == (2, 3, 3)
    assert func.vmap(lambda x: x)(torch.ones(0)).shape == (0,)
    with pytest.raises(ValueError, match="in_dims is 0 for a tensor of 0 dim"):
        func.vmap(lambda x: x)(torch.tensor(1.0))


def test_vmaps_in_vmaps():
    x, y = torch.randn(2, 3, 4), torch.randn(3, 4)
    both = func.vmap(func.vmap(lambda a, b: (a * b).sum()))(x, x)
    torch.testing.assert_close(both, (x * x).sum(-1))
    outer = func.vmap(lambda a: func.vmap(lambda b: a @ b)(y), in_dims=1, out_dims=1)(x)  # entries of x are [2, 4]
    torch.testing.assert_close(outer, torch.einsum("aik,jk->jia", x, y).permute(0, 1, 2))
    other = func.vmap(func.vmap(lambda a, b: a + b, in_dims=(None, 0)), in_dims=(0, None))(y[:, 0], y[:, 1])
    torch.testing.assert_close(other, y[:, 0][:, None] + y[:, 1])
    deep = func.vmap(func.vmap(func.vmap(lambda v: v * 2 + 1)))(x)
    assert deep.equal(x * 2 + 1)


def test_trees_and_keywords():
    found = func.vmap(lambda d, *, k: {"x": d["a"] + k, "y": (d["b"][0], d["a"])}, in_dims=({"a": 1, "b": [None]},), out_dims={"x": -1, "y": (None, 0)})(
        {"a": torch.ones(2, 3), "b": [torch.arange(2.0)]}, k=torch.arange(3.0)
    )
    assert found["x"].tolist() == [[1, 2, 3], [1, 2, 3]] and found["y"][0].tolist() == [0, 1] and found["y"][1].shape == (3, 2)
    assert func.vmap(lambda x: torch.ones(2))(torch.zeros(3)).shape == (3, 2)  # the same for all: expanded
    with pytest.raises(ValueError, match="out_dims is None for a result that differs"):
        func.vmap(lambda x: x, out_dims=None)(torch.zeros(3))


def test_chunks():
    calls = []

    def f(x, w):
        calls.append(x)
        return (x * w).sum(), x

    x, w = torch.randn(7, 3), torch.randn(3)
    whole, chunks = (func.vmap(f, (0, None), (0, 1), chunk_size=n)(x, w) for n in (None, 3))
    assert len(calls) == 4 and all(a.equal(b) for a, b in zip(whole, chunks)) and chunks[1].shape == (3, 7)
    with pytest.raises(ValueError, match="chunk_size is 0"):
        func.vmap(f, chunk_size=0)
    drawn = func.vmap(lambda x: torch.rand(()), randomness="same", chunk_size=2)(torch.zeros(5))
    assert len(set(drawn.tolist())) == 1
    drawn = func.vmap(lambda x: torch.rand(()), randomness="different", chunk_size=2)(torch.zeros(5))
    assert len(set(drawn.tolist())) == 5


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: torch.rand(2),
        lambda x: torch.randn_like(x),
        lambda x: torch.randperm(5)[:2].float(),
        lambda x: torch.bernoulli(torch.full((2,), 0.5)) + torch.rand(2),
        lambda x: F.dropout(torch.ones(64), 0.5),
        lambda x: torch.normal(x, 1.0),
        lambda x: torch.poisson(torch.full((8,), 30.0) + 0 * x[0]),
        lambda x: torch.randint(0, 1000, (3,)).float(),
    ],
)
def test_random_numbers(draw):
    x = torch.zeros(4, 2)
    with pytest.raises(RuntimeError, match="draws random numbers"):
        func.vmap(draw)(x)
    same, different = (func.vmap(draw, randomness=r)(x) for r in ("same", "different"))
    assert all(row.equal(same[0]) for row in same) and not all(row.equal(different[0]) for row in different)
    nested = func.vmap(func.vmap(draw, randomness="different"), randomness="same")(torch.zeros(2, 3, 2))
    assert nested[0].equal(nested[1]) and not nested[0, 0].equal(nested[0, 1])


def a_convnet():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3, groups=2), nn.SiLU(),
        nn.AvgPool2d(1), nn.Flatten(), nn.Linear(6, 8), nn.LayerNorm(8), nn.Dropout(0.0), nn.Linear(8, 5),
    )


def test_gradients_per_sample():
    net = a_convnet()
    params = {name: p.detach() for name, p in net.named_parameters()}
    x, t = torch.randn(4, 3, 6, 6), torch.randint(0, 5, (4,))

    def loss(params, x, t):
        return F.cross_entropy(func.functional_call(net, params, (x[None],)), t[None])

    with torch.no_grad():
        found = func.vmap(func.grad(loss), in_dims=(None, 0, 0), randomness="same")(params, x, t)
    for i in range(4):
        net.zero_grad()
        F.cross_entropy(net(x[i : i + 1]), t[i : i + 1]).backward()
        for name, p in net.named_parameters():
            torch.testing.assert_close(found[name][i], p.grad, atol=2e-5, rtol=2e-4)


def test_ensembles_of_convnets():
    nets = [a_convnet() for _ in range(3)]
    for i, net in enumerate(nets):
        for p in net.parameters():
            p.data += 0.1 * i
    params, buffers = func.stack_module_state(nets)
    x = torch.randn(2, 3, 6, 6)
    call = lambda p, x: func.functional_call(nets[0], p, (x,))  # noqa: E731
    out = func.vmap(call, (0, None), randomness="same")(params, x)
    torch.testing.assert_close(out, torch.stack([net(x) for net in nets]), atol=1e-5, rtol=1e-4)
    out = func.vmap(call, (0, 0), randomness="same")(params, torch.stack([x, x + 1, x + 2]))
    torch.testing.assert_close(out, torch.stack([net(x + i) for i, net in enumerate(nets)]), atol=1e-5, rtol=1e-4)
    out.sum().backward()  # into the stacked leaves
    sum(net(x + i).sum() for i, net in enumerate(nets)).backward()
    for name, p in params.items():
        torch.testing.assert_close(p.grad, torch.stack([dict(net.named_parameters())[name].grad for net in nets]), atol=1e-4, rtol=1e-3)


def test_transformer_layers_per_sample():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    x = torch.randn(3, 5, 8)
    agrees(layer, x)
    params = {name: p.detach() for name, p in layer.named_parameters()}
    found = func.vmap(func.grad(lambda p, x: func.functional_call(layer, p, (x,)).pow(2).sum()), (None, 0))(params, x)
    layer(x[1]).pow(2).sum().backward()
    for name, p in layer.named_parameters():
        torch.testing.assert_close(found[name][1], p.grad, atol=1e-4, rtol=1e-3)


def test_vmap_within_gradients():
    w, x = torch.randn(3, 5).requires_grad_(), torch.randn(4, 5)
    loss = func.vmap(lambda x: (w @ x).tanh().prod())(x).sum()
    (g,) = torch.autograd.grad(loss, w)
    (expected,) = torch.autograd.grad(sum((w @ row).tanh().prod() for row in x), w)
    torch.testing.assert_close(g, expected)
    f = lambda w: func.vmap(lambda x: (w @ x).sum() * x.sum())(x).sum()  # noqa: E731
    torch.testing.assert_close(func.grad(f)(w.detach()), torch.autograd.grad(sum((w @ row).sum() * row.sum() for row in x), w)[0])
    x.requires_grad_()
    func.vmap(lambda x: (x**2).sum())(x).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())
    bias = torch.zeros((), requires_grad=True)
    func.vmap(lambda x: bias * 3)(torch.ones(4)).sum().backward()  # the same for all entries counts for each
    assert bias.grad == 12


def test_second_derivatives_through_vmap():
    w, x = torch.randn(3), torch.randn(4, 3)
    f = lambda w, x: (w * x).sin().sum()  # noqa: E731
    per_sample = func.vmap(func.hessian(f), (None, 0))(w, x)
    torch.testing.assert_close(per_sample, torch.stack([torch.diag(-(row**2) * (w * row).sin()) for row in x]))
    outside = func.hessian(lambda w: func.vmap(f, (None, 0))(w, x).sum())(w)
    torch.testing.assert_close(outside, per_sample.sum(0))
    mixed = func.jacrev(func.vmap(func.grad(f), (None, 0)))(w, x)  # [4, 3, 3]
    torch.testing.assert_close(mixed, per_sample)
    p = w.clone().requires_grad_()
    (found,) = torch.autograd.grad(func.vmap(func.grad(f), (None, 0))(p, x).pow(2).sum(), p)
    expected = sum(2 * h @ (x[i] * (w * x[i]).cos()) for i, h in enumerate(per_sample))
    torch.testing.assert_close(found, expected)


def test_jacobians():
    w = torch.randn(6, 4)
    f = lambda x: torch.cat([(w @ x).tanh(), x * x])  # noqa: E731
    x = torch.randn(4)
    rows = torch.stack([torch.autograd.grad(f(y := x.clone().requires_grad_())[i], y)[0] for i in range(10)])
    for chunk in (None, 1, 4):
        torch.testing.assert_close(func.jacrev(f, chunk_size=chunk)(x), rows)
        torch.testing.assert_close(func.jacfwd(f, chunk_size=chunk)(x), rows)
    torch.testing.assert_close(torch.autograd.functional.jacobian(f, x), rows)
    torch.testing.assert_close(func.vmap(func.jacrev(f))(torch.stack([x, x]))[1], rows)
    torch.testing.assert_close(func.vmap(func.jacfwd(f))(torch.stack([x, x]))[1], rows)
    out, pull = func.vjp(f, x)
    torch.testing.assert_close(func.vmap(pull)(torch.eye(10))[0], rows)
    torch.testing.assert_close(func.vmap(lambda t: func.jvp(f, (x,), (t,))[1], out_dims=1)(torch.eye(4)), rows)
    assert func.jacrev(lambda x: x[:0])(x).shape == (0, 4) and func.jacrev(lambda x: x.sum())(torch.ones(0)).shape == (0,)


def test_writes():
    def f(x, y):
        z = x * 1
        z.add_(y)
        z[0] = 7
        z[1:].mul_(2)
        z.t_() if z.dim() > 1 else z
        return z

    agrees(f, V, V + 1)
    agrees(lambda x, y: x.clone().copy_(y[0]).clamp_(min=0).index_fill_(0, torch.tensor([1]), 9.0), V, V)
    x = torch.zeros(3, 2)
    func.vmap(lambda row, n: row.add_(n))(x, torch.arange(3.0))
    assert x.tolist() == [[0, 0], [1, 1], [2, 2]]  # an argument is written where it lies
    with pytest.raises(RuntimeError, match="writes entries into a tensor that is the same for all"):
        func.vmap(lambda row: torch.zeros(2).add_(row))(x)
    shared = torch.zeros(2)
    with pytest.raises(RuntimeError, match="add_ writes entries"):
        func.vmap(lambda row: shared.add_(row))(x)
    assert shared.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="out="):
        func.vmap(lambda row: torch.add(row, 1, out=torch.zeros(2)))(x)
    g = func.vmap(func.grad(lambda row: (row * 1).mul_(row).sum()))(x)
    torch.testing.assert_close(g, 2 * x)


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x.sum().item(), lambda x: x if x.sum() > 0 else -x, lambda x: x.nonzero(), lambda x: x[x > 0], lambda x: x.tolist(),
        lambda x: np.asarray(x), lambda x: float(x[0]), lambda x: x.unique(), lambda x: x.masked_select(x > 0), lambda x: list(range(int(x[0]))),
    ],
)
def test_values_are_not_there(ask):
    with pytest.raises(RuntimeError, match="the values of a batched tensor are asked for"):
        func.vmap(ask)(torch.ones(2, 3))


def test_errors_are_those_of_an_entry():
    with pytest.raises(RuntimeError, match=r"inner sizes differ: a is f32\[3, 5\], b is f32\[3, 5\]"):
        func.vmap(lambda a: a @ a)(A)
    with pytest.raises(RuntimeError, match="inside of vmap"):
        func.vmap(lambda x: (x * torch.ones(3, requires_grad=True)).sum().backward())(torch.ones(2, 3))
    kept = []
    func.vmap(lambda x: (kept.append(x), x)[1])(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="kept, and is read after the end"):
        kept[0].tolist()
    with pytest.raises(ZeroDivisionError):
        func.vmap(lambda x: 1 / 0)(torch.ones(2))
    assert torch.rand(1).shape == (1,)  # the level has ended


def test_batched_tensors_are_shown():
    shown = []
    func.vmap(lambda x: (shown.append(repr(x)), x)[1])(torch.ones(2, 3))
    assert shown[0].startswith("BatchedTensor(lvl=1, bdim=0, value=") and "[1., 1., 1.]" in shown[0]


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] ** 2 * g


class Sine(torch.autograd.Function):  # asks for values, and has a rule
    seen = []

    @staticmethod
    def forward(x):
        return torch.from_numpy(np.sin(x.numpy()))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()

    @staticmethod
    def vmap(info, in_dims, x):
        Sine.seen.append((info.batch_size, info.randomness, in_dims))
        return Sine.apply(x.movedim(in_dims[0], 0)), 0


def test_functions_with_their_own_gradient():
    agrees(Cube.apply, V)
    torch.testing.assert_close(func.vmap(func.grad(lambda x: Cube.apply(x).sum()))(V), 3 * V**2)
    torch.testing.assert_close(func.jacrev(Cube.apply)(V[0]), torch.diag(3 * V[0] ** 2))
    agrees(lambda x: Sine.apply(x), V)
    assert Sine.seen == [(4, "error", (0,))]
    x = V.clone().requires_grad_()
    func.vmap(Sine.apply)(x).sum().backward()
    torch.testing.assert_close(x.grad, V.cos())
    torch.testing.assert_close(func.vmap(func.vmap(Sine.apply))(A), A.sin())


def test_own_ops():
    @torch.library.custom_op("vmapped::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(x.numpy() * 2)

    agrees(double, V)
    ruled = []

    @double.register_vmap
    def rule(info, in_dims, x):
        ruled.append(info.batch_size)
        return double(x), in_dims[0]

    agrees(double, V)
    agrees(double, V, in_dims=(1,), out_dims=1)
    assert ruled == [4, 5]


def test_modes():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = func.vmap(lambda a, b: a @ b)(A, B)
    assert out.dtype == torch.bfloat16
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert out.equal(torch.stack([a @ b for a, b in zip(A, B)]))
    on_meta = func.vmap(lambda a, b: a @ b)(A.to("meta"), B.to("meta"))
    assert on_meta.is_meta and on_meta.shape == (4, 3, 2)
    with torch.inference_mode():
        assert func.vmap(lambda a: a + 1)(A).is_inference()
    compiled = torch.compile(lambda x: func.vmap(lambda a: (a * 2 + 1).relu().sum(0))(x))
    for _ in range(3):
        torch.testing.assert_close(compiled(A), (A * 2 + 1).relu().sum(1))
