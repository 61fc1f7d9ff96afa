"""torch.compile's names; names of optimizers' files; what is warned of."""
import inspect
import types
import warnings

import pytest

import dyadic as torch
from dyadic import nn
from dyadic.optim import swa_utils


def test_compile_takes_what_pytorch_takes():
    model = nn.Linear(2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # test_ignored.py has them
        assert torch.compile(model, fullgraph=True, dynamic=False, backend="inductor", mode="max-autotune") is model

    @torch.compile
    def plain(x):
        return x

    @torch.compile(mode="reduce-overhead")
    def given(x):
        return x

    @torch.compiler.disable(recursive=False)
    @torch.compiler.disable
    def disabled(x):
        return x

    with torch.compiler.set_stance("force_eager"):
        assert plain(1) == given(1) == disabled(1) == 1 and not torch.compiler.is_compiling()
    with pytest.raises(TypeError):
        torch.compile(model, speed="high")


def test_what_is_no_function_is_refused():
    for compile in (torch.compile, torch.compile(fullgraph=True)):
        with pytest.raises(TypeError, match="compile: it takes a function or a module: model is int$"):
            compile(3)


def test_options_of_the_compiler_can_be_set():
    import dyadic._dynamo as dynamo
    import dyadic._inductor.config as config

    dynamo.config.suppress_errors = config.triton.cudagraphs = True
    assert dynamo.is_compiling() is False and torch._dynamo is dynamo and dynamo.optimize("inductor")(len)([1, 2]) == 2
    dynamo.config.suppress_errors = config.triton.cudagraphs = False
    dynamo.reset()


def test_functional_adam():
    from dyadic.optim.adam import adam
    from dyadic.optim.adamw import adamw

    for function, kind in ((adam, torch.optim.Adam), (adamw, torch.optim.AdamW)):
        for amsgrad in (False, True):
            p, q = nn.Parameter(torch.ones(3)), torch.ones(3)
            optimizer = kind([p], lr=0.1, weight_decay=0.1, amsgrad=amsgrad)
            state = [[torch.zeros(3)] for _ in range(3)] + [[torch.tensor(0.0)]]
            for _ in range(3):
                p.grad = torch.tensor([1.0, -2.0, 0.5]) * (1 + state[-1][0])
                function([q], [p.grad], *state, amsgrad=amsgrad, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0.1, eps=1e-8, maximize=False)
                optimizer.step()
            torch.testing.assert_close(p.detach(), q)


def test_names_of_optimizers():
    from dyadic.optim.optimizer import StateDict, _default_to_fused_or_foreach, _get_value, _use_grad_for_differentiable

    class Plain(torch.optim.Optimizer):
        @_use_grad_for_differentiable
        def step(self, closure=None):
            return torch.is_grad_enabled()

    p = nn.Parameter(torch.ones(1))
    assert not Plain([p], {"differentiable": False}).step() and Plain([p], {"differentiable": True}).step()
    assert _get_value(torch.tensor(2.0)) == _get_value(2) == 2 and _default_to_fused_or_foreach([], False) == (False, False) and StateDict


def test_other_names():
    x, weight = torch.randn(3, 4), torch.randn(12, 4)
    packed = nn.functional._in_projection_packed(x, x, x, weight)
    separate = nn.functional._in_projection(x, x, x, *weight.chunk(3))
    assert all(a.equal(b) for a, b in zip(packed, separate)) and not isinstance(3, torch.SymInt)
    with torch.backends.cuda.sdp_kernel(enable_flash=False):
        assert nn.init._no_grad_trunc_normal_(torch.zeros(5), 0.0, 1.0, -2.0, 2.0).abs().max() <= 2


def test_generators():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    for name in "parameters named_parameters children named_children modules named_modules buffers named_buffers".split():
        made = getattr(model, name)()
        assert inspect.isgenerator(made) and isinstance(made, types.GeneratorType) and list(made)


def test_an_empty_dict_of_modules_updates_nothing():
    class Watched(nn.ModuleDict):
        def update(self, modules):
            assert modules
            super().update(modules)

    assert len(Watched()) == 0 and len(Watched({"a": nn.ReLU()})) == 1


def test_averages_of_counts():
    model = nn.BatchNorm1d(2)
    counts = []
    for multi in (swa_utils.get_ema_multi_avg_fn(0.9), None):
        average = swa_utils.AveragedModel(model, multi_avg_fn=multi, use_buffers=True)
        for _ in range(3):
            model(torch.randn(4, 2))
            average.update_parameters(model)
        counts.append(average.module.num_batches_tracked.item())
    assert counts == [1, 4]  # PyTorch's: averages of integers are cut off


def test_warnings():
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="reference cycle"):
        (x * x).sum().backward(create_graph=True)
    x.grad = None
    with pytest.warns(UserWarning, match="detach"):
        assert float((x * x).sum()) == 2
    with pytest.warns(UserWarning, match="zero-element"):
        nn.init.kaiming_uniform_(torch.empty(0, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.sum().item() == 2 and float(x.detach().sum()) == 2
        (x * x).sum().backward()


def test_sparse_gradients_are_dense(monkeypatch):
    monkeypatch.setattr("dyadic._ignored._said", set())
    for kind in (nn.Embedding, nn.EmbeddingBag):
        with pytest.warns(UserWarning, match="gradients are dense"):
            layer = kind(4, 2, sparse=True)
        assert layer.sparse and (kind is nn.EmbeddingBag or "sparse=True" in repr(layer))
